"""Make the tables on what could have been otherwise: other readings, other seeds, other samples.

    make more-ranks     # or: python scripts/make_more_ranks.py; about three minutes

From the same data as make_ranks.py, four tables of one row per user, and again no user and no
item. Their rows are sorted, so that their order says nothing about users either.

movielens_readings.csv: best possible rank and ties under other readings of the paper's Section 9.
movielens_seeds.csv: best possible ranks of X from 20 random starts, and ties, the same for all.
movielens_overlap.csv: of the other candidates, how many stand above (a), level with (l) or below
(b) the held-out movie for X, Y and Z: "abb" counts those that only X puts above it.
movielens_popularity.csv: training events of the other candidates, all together, and of those that
stand above the held-out movie or level with it.
"""

import os
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from make_ranks import RECOMMENDERS
from tqdm import tqdm

from sampled_metrics import Ranks
from sampled_metrics.experiments import ItemKNN, MatrixFactorization, load_movielens_1m

FOLDER = Path(__file__).parents[1] / "book" / "data"
READINGS = {
    "y_divided": ItemKNN(exponent=3, divide_by_row_sum=True),
    "y_without_self": ItemKNN(exponent=3, self_similarity=False),
    "z_divided": ItemKNN(column_neighbors=10, divide_by_row_sum=True),
    "z_with_self": ItemKNN(column_neighbors=10, counts_itself=True),
    "z_rows": ItemKNN(row_neighbors=10),
    "z_rows_divided": ItemKNN(row_neighbors=10, divide_by_row_sum=True),
}
N_SEEDS = 20


def readings(split):
    table = pd.DataFrame({"n_items": split.n_candidates})
    for name, model in tqdm(READINGS.items(), "readings"):
        ranks = Ranks.from_model(model.fit(split.train), split)
        table[f"{name}_best"], table[f"{name}_tied"] = ranks.best, ranks.n_tied
    return table


def seeds(split):
    table = pd.DataFrame({"n_items": split.n_candidates})
    for seed in tqdm(range(N_SEEDS), "seeds"):
        model = MatrixFactorization(
            n_factors=16, regularization=10, unobserved_weight=0.2, rng=seed
        )
        ranks = Ranks.from_model(model.fit(split.train), split)
        # Movies without training events tie, at the score 0, whatever the start.
        assert "tied" not in table or (table["tied"] == ranks.n_tied).all()
        table["tied"] = ranks.n_tied
        table[f"best_{seed}"] = ranks.best
    return table


def overlap(split):
    """Return numbers of the other candidates, and of their training events, by place."""
    models = {name: model.fit(split.train) for name, model in RECOMMENDERS.items()}
    names = ["".join(letters) for letters in product("alb", repeat=3)]
    popularity = np.bincount(split.train.indices, minlength=split.n_items)
    counts, events = np.zeros((2, len(split.users), 27), dtype=np.int64)
    for x, (user, item) in enumerate(zip(tqdm(split.users, "overlap"), split.items, strict=True)):
        place = np.zeros(split.n_items, dtype=np.int64)
        for model in models.values():
            scores = model.scores([user])[0]
            place = 3 * place + 1 + np.sign(scores[item] - scores).astype(np.int64)
        others = np.ones(split.n_items, dtype=bool)
        others[split.train[[user]].indices] = False
        others[item] = False
        counts[x] = np.bincount(place[others], minlength=27)
        events[x] = np.bincount(place[others], popularity[others], minlength=27)
    counts, events = (pd.DataFrame(table, columns=names) for table in (counts, events))
    popular = pd.DataFrame({"total": events.sum(axis=1)})
    for i, model in enumerate(models):
        for letter, word in (("a", "above"), ("l", "tied")):
            columns = [name for name in names if name[i] == letter]
            popular[f"{model}_{word}"] = events[columns].sum(axis=1)
    return counts.loc[:, counts.any()], popular


def write(name, table):
    """Sort and write a table; an interrupted run leaves no half file."""
    path = FOLDER / name
    unfinished = path.with_suffix(".tmp")
    table.sort_values(list(table.columns)).to_csv(unfinished, index=False, lineterminator="\n")
    os.replace(unfinished, path)
    print(f"{len(table):,} rows in {name}")


def main():
    split = load_movielens_1m()
    write("movielens_readings.csv", readings(split))
    counts, popular = overlap(split)
    write("movielens_overlap.csv", counts)
    write("movielens_popularity.csv", popular)
    write("movielens_seeds.csv", seeds(split))


if __name__ == "__main__":
    main()
