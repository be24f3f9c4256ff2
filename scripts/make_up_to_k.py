"""Make up_to_k.csv: what exact ranks up to k cost on three data sets, beside a sample of 100.

    make up-to-k        # or: python scripts/make_up_to_k.py; a quarter of an hour, one core

MovieLens 1M, Amazon Video Games and Amazon Beauty are downloaded from their publishers, unless all
are in the folder that the variable SAMPLED_METRICS_DATA names. The model is X, the matrix
factorization of the chapters, with 64 numbers for each user and item; "cosine" is the same model
with all items' vectors of length 1.

Scores are those that were computed for a user, on average: by both rules; by the first rule alone,
popular items first (for k = 10); and items, which are all. Seconds are the processor's, for all
users, the shortest of three: "ours" ranks up to k, its set-up included; "product" is the bare
product of all vectors, in blocks over one buffer; "counted" is `Ranks.from_model` on these
products; "sample" draws 100 items for each user, gathers their vectors, multiplies and counts,
for as many users at once as is fastest.
"""

import time
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from sampled_metrics import InnerProduct, Ranks
from sampled_metrics.experiments import MatrixFactorization, load_amazon, load_movielens_1m

TABLE = Path(__file__).parents[1] / "book" / "data" / "up_to_k.csv"
DATA_SETS = {
    "MovieLens 1M": load_movielens_1m,
    "Video Games": lambda: load_amazon("games"),
    "Beauty": lambda: load_amazon("beauty"),
}
N_FACTORS, N_SAMPLES, BLOCK, REPEATS = 64, 100, 256, 3
BLOCKS = (4, 16, 64, 1000)  # users that are sampled at once: the fastest counts


class OnlyPairs:
    """A model that can give the score of a pair, and nothing else."""

    def __init__(self, model):
        self.model = model

    def scores(self, users, items):
        return self.model.scores(users, items)


class Products:
    """All scores of some users, each block written over the last one."""

    def __init__(self, users, items):
        self.users, self.items = users, items
        self.buffer = np.empty((BLOCK, len(items)), dtype=np.float32)

    def scores(self, users):
        return np.matmul(self.users[users], self.items.T, out=self.buffer[: len(users)])

    def all(self):
        for start in range(0, len(self.users), BLOCK):
            self.scores(np.arange(start, min(start + BLOCK, len(self.users))))


def sampled(users, items, split, block):
    """Rank each held-out item among 100 drawn ones, training items included."""
    rng, ranks = np.random.default_rng(1), []
    for start in range(0, len(split.users), block):
        own = users[split.users[start : start + block], :, None]
        drawn = items[rng.integers(len(items), size=(len(own), N_SAMPLES))]
        target = items[split.items[start : start + block], None] @ own
        ranks.append(1 + np.count_nonzero(drawn @ own > target, axis=1))
    return np.concatenate(ranks)


def seconds(task):
    """Return the processor time of the shortest of some runs."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        task()
        times.append(time.process_time() - start)
    return min(times)


def measured(split, users, items):
    """Yield what is measured for each cutoff."""
    model, products = InnerProduct(users, items), Products(users, items)
    every = {
        "product": seconds(products.all),
        "counted": seconds(
            lambda: Ranks.from_model(products, split, block_size=BLOCK, progress=False)
        ),
        "sample": min(
            seconds(lambda block=block: sampled(users, items, split, block)) for block in BLOCKS
        ),
    }
    n = len(split.users)
    for k in (1, 10, 100):
        ranks = Ranks.from_model(model, split, up_to=k, progress=False)
        found = {"k": k, "hits": len(ranks.best) / n, "scores": ranks.n_scores / n}
        if k == 10:
            pairs = Ranks.from_model(OnlyPairs(model), split, up_to=k, progress=False)
            assert np.array_equal(ranks.best, pairs.best)
            found["scores_rule_1"] = pairs.n_scores / n
        ours = seconds(
            lambda k=k: Ranks.from_model(InnerProduct(users, items), split, up_to=k, progress=False)
        )
        yield found | {"ours": ours} | every


def main():
    rows = []
    for name, load in DATA_SETS.items():
        split = load()
        x = MatrixFactorization(
            N_FACTORS, regularization=10, unobserved_weight=0.2, progress=False
        ).fit(split.train)
        users, items = (factors.astype(np.float32) for factors in (x.user_factors, x.item_factors))
        lengths = np.linalg.norm(items, axis=1, keepdims=True)
        for model, vectors in (("X", items), ("cosine", items / np.maximum(lengths, 1e-30))):
            for row in measured(split, users, vectors):
                of = {"data": name, "model": model}
                of |= {"users": len(split.users), "items": split.n_items}
                rows.append(of | row)
                print(rows[-1], flush=True)
    pd.DataFrame(rows).to_csv(TABLE, index=False, float_format="%.4g")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
