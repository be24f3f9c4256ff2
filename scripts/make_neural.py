"""Make neural_*.csv.gz: how two neural recommenders rank three data sets, beside four others.

    make neural-ranks           # or: .venv-neural/bin/python scripts/make_neural.py; two hours
    .venv-neural/bin/python scripts/make_neural.py games          # one data set

SASRec (Kang and McAuley, ICDM 2018) reads a user's items in the order of time through two layers of
attention. "tower" is a two-tower network that is told no order: the mean of some of the user's
items, through a small network, is the user's vector. Both score an item by the inner product of two
vectors, so that `InnerProduct` ranks by them; both are trained to tell another item of the user,
SASRec the next one, from 1,024 random items. Nothing was tuned: the settings below come from one
earlier trial of SASRec on Video Games, and the number of epochs, too.

The data sets are those of make_elsewhere.py, with the same events held out, and so are the other
recommenders of a table: one row for each evaluated user, the number of candidates and, for each
recommender, the best possible rank and the number of other candidates with exactly the same score.
A table holds no user and no item, and its rows are sorted.

On MovieLens, SASRec needs the times of the publishers' file, its fourth column. From a copy without
it only the tower is trained: book/data/neural_movielens.csv.gz was made so, and has no SASRec.

neural_cost.csv: what the exact ranks up to k of the neural recommenders cost, with the columns of
make_up_to_k.py. Training uses one thread and fixed seeds: another machine or another torch rounds
otherwise, and then ranks differ a little.
"""

import sys
import time
from pathlib import Path

import make_elsewhere
import make_up_to_k
import numpy as np
import pandas as pd
import torch
from threadpoolctl import threadpool_limits
from torch import nn

from sampled_metrics import InnerProduct, Ranks, Recall
from sampled_metrics.experiments import read_sequences
from sampled_metrics.experiments.datasets import SOURCES, published_files

FOLDER = Path(__file__).parents[1] / "book" / "data"
OTHERS = ["popular", "x64", "y", "z"]
WIDTH, LAYERS, HEADS, DROPOUT = 64, 2, 2, 0.3
NEGATIVES, LEARNING_RATE = 1024, 0.002
LONGEST = {"movielens": 200, "games": 50, "beauty": 50}  # of a history, in items
EPOCHS = 12
USERS_AT_ONCE = {"movielens": 32, "games": 128, "beauty": 128}


class SASRec(nn.Module):
    """Two layers of attention: each item looks at itself and at those before it."""

    needs_order = True

    def __init__(self, n_items, longest):
        super().__init__()
        self.items = nn.Embedding(n_items, WIDTH)
        self.places = nn.Embedding(longest, WIDTH)
        for table in (self.items, self.places):
            nn.init.normal_(table.weight, std=0.02)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, items, is_item):
        length = items.shape[1]
        places = torch.arange(length - 1, -1, -1)  # 0 is the last item
        x = self.dropout(self.items(items) * WIDTH**0.5 + self.places(places))
        seen = torch.ones(length, length, dtype=torch.bool).tril()
        # What is no item is seen by itself only, as a mean of nothing is no number.
        seen = seen & is_item[:, None, :] | torch.eye(length, dtype=torch.bool)
        for layer in self.layers:
            x = layer(x, seen[:, None])
        return self.norm(x)


class Layer(nn.Module):
    """Attention, then two linear maps at each place; each is added to what it is given."""

    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.questions, self.keys, self.values, self.out = (
            nn.Linear(WIDTH, WIDTH) for _ in range(4)
        )
        self.wide = nn.Sequential(
            nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Dropout(DROPOUT), nn.Linear(WIDTH, WIDTH)
        )
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x, seen):
        def by_head(y):
            return y.unflatten(2, (HEADS, -1)).transpose(1, 2)

        y = self.norms[0](x)
        of_heads = nn.functional.scaled_dot_product_attention(
            by_head(self.questions(y)), by_head(self.keys(y)), by_head(self.values(y)), seen
        )
        x = x + self.dropout(self.out(of_heads.transpose(1, 2).flatten(2)))
        return x + self.dropout(self.wide(self.norms[1](x)))


class Tower(nn.Module):
    """The mean of the items so far, in random order, through a network with one hidden layer."""

    needs_order = False

    def __init__(self, n_items, longest):
        super().__init__()
        self.items = nn.Embedding(n_items, WIDTH)
        nn.init.normal_(self.items.weight, std=0.02)
        self.user = nn.Sequential(
            nn.Dropout(DROPOUT),
            nn.Linear(WIDTH, 2 * WIDTH),
            nn.ReLU(),
            nn.Linear(2 * WIDTH, WIDTH),
            nn.LayerNorm(WIDTH),
        )

    def forward(self, items, is_item):
        x = self.items(items) * WIDTH**0.5 * is_item[:, :, None]
        return self.user(x.cumsum(1) / is_item.cumsum(1).clamp(min=1)[:, :, None])


MODELS = {"sasrec": SASRec, "tower": Tower}


def histories(name, split):
    """Return the training items of each user number in the order of time, and if it is known."""
    timed = True
    if name == "movielens":
        columns = ["user", "item", "rating", "timestamp"]
        path = published_files(*SOURCES["ncf"])[0]
        events = pd.read_csv(path, sep="\t", header=None)
        timed = events.shape[1] == len(columns)
        events = events.set_axis(columns[: events.shape[1]], axis=1)
        if not timed:
            print(f"{path} has no times: no model that needs them", flush=True)
            events["timestamp"] = 0
        users, items = events["user"].to_numpy(), events["item"].to_numpy()
    else:
        events = read_sequences(published_files(*SOURCES[name])[0])
        users = pd.Index(split.user_names).get_indexer(events["user"])
        items = pd.Index(split.item_names).get_indexer(events["item"])
    order = np.lexsort((events["timestamp"].to_numpy(), users))  # equal times: as in the file
    users, items = users[order], items[order]
    known = split.train[users, items] > 0
    users, items = users[known], items[known]
    assert len(items) == split.train.nnz
    return np.split(items, np.searchsorted(users, np.arange(1, split.n_users))), timed


def padded(lists):
    """Return lists of items as the ends of the rows of a table, and where the table has items."""
    lengths = torch.tensor([len(x) for x in lists])
    is_item = torch.arange(int(lengths.max())) >= lengths.max() - lengths[:, None]
    table = torch.zeros(is_item.shape, dtype=torch.long)
    table[is_item] = torch.from_numpy(np.concatenate(lists))
    return table, is_item


def batches(chosen, size, rng):
    """Yield lists of similar lengths together, in random order."""
    lengths = np.array([len(x) for x in chosen]) + rng.random(len(chosen))
    starts = np.arange(0, len(chosen), size)
    order = np.argsort(lengths)
    for start in rng.permutation(starts):
        yield [chosen[i] for i in order[start : start + size]]


def loss_of(model, lists, n_items):
    """Return the mean loss of telling each item after the first from 1,024 random ones."""
    before, is_item = padded([x[:-1] for x in lists])
    after = torch.from_numpy(np.concatenate([x[1:] for x in lists]))
    vectors = model(before, is_item)[is_item]
    wrong = torch.randint(n_items, (NEGATIVES,))
    right = (vectors * model.items(after)).sum(1, keepdim=True)
    scores = vectors @ model.items(wrong).T
    scores = scores.masked_fill(wrong == after[:, None], -torch.inf)
    scores = torch.cat([right, scores], dim=1)
    return (scores.logsumexp(1) - right[:, 0]).mean()


def train(model, lists, n_items, *, epochs, users_at_once, longest, seed=1):
    rng = np.random.default_rng(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.98))
    lists = [x for x in lists if len(x) > 1]
    for epoch in range(epochs):
        start, losses = time.perf_counter(), []
        whole = lists if model.needs_order else [rng.permutation(x) for x in lists]
        firsts = [rng.integers(max(len(x) - longest, 1)) for x in whole]
        windows = [x[i : i + longest + 1] for x, i in zip(whole, firsts, strict=True)]
        model.train()
        for some in batches(windows, users_at_once, rng):
            loss = loss_of(model, some, n_items)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        seconds = time.perf_counter() - start
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}, {seconds:.0f} s", flush=True)
    return model.eval()


@torch.no_grad()
def vectors_of(model, lists, longest):
    """Return each user's last vector and the items' vectors; nobody without items gets a vector."""
    users = np.zeros((len(lists), WIDTH), dtype=np.float32)
    known = np.flatnonzero([len(x) > 0 for x in lists])
    known = known[np.argsort([len(lists[i]) for i in known], kind="stable")]
    for start in range(0, len(known), 128):
        some = known[start : start + 128]
        read = [lists[i][-longest:] if model.needs_order else lists[i] for i in some]
        users[some] = model(*padded(read))[:, -1].numpy()
    return users, model.items.weight.numpy()


def rank_neural(name, split):
    """Yield each neural recommender's name, ranks and rows of the table of costs."""
    lists, timed = histories(name, split)
    longest = LONGEST[name]
    for which, kind in MODELS.items():
        if kind.needs_order and not timed:
            continue
        torch.manual_seed(1)
        model = kind(split.n_items, longest)
        how = {"epochs": EPOCHS, "users_at_once": USERS_AT_ONCE[name], "longest": longest}
        users, items = vectors_of(train(model, lists, split.n_items, **how), lists, longest)
        ranks = Ranks.from_model(InnerProduct(users, items), split, progress=False)
        recall = 100 * Recall(10).mean(ranks)
        print(f"{name}, {which}: exact Recall@10 {recall:.2f} percent", flush=True)
        of = {"data": name, "model": which, "users": len(split.users), "items": split.n_items}
        yield which, ranks, [of | row for row in make_up_to_k.measured(split, users, items)]


def main(names):
    torch.set_num_threads(1)
    costs = FOLDER / "neural_cost.csv"
    for name in names or make_elsewhere.DATA_SETS:
        split = make_elsewhere.DATA_SETS[name]()
        table = pd.DataFrame({"n_items": split.n_candidates})
        rows = []
        for which, ranks, more in rank_neural(name, split):
            table[f"{which}_best"], table[f"{which}_tied"] = ranks.best, ranks.n_tied
            rows += more
        others = make_elsewhere.rank_all(split, OTHERS).drop(columns="n_items")
        table = make_elsewhere.sort_rows(pd.concat([table, others], axis=1))
        make_elsewhere.write(name, table, "neural")
        old = pd.read_csv(costs).query("data != @name") if costs.is_file() else None
        rows = pd.concat([old, pd.DataFrame(rows)])
        rows.to_csv(costs, index=False, float_format="%.4g", lineterminator="\n")


if __name__ == "__main__":
    with threadpool_limits(1):
        main(sys.argv[1:])
