"""Make movielens_ranks.csv: how recommenders X, Y and Z of the paper rank MovieLens 1M.

    make ranks          # or: python scripts/make_ranks.py

Loads the data (downloads it, unless a copy is at hand: see `load_movielens_1m`), fits the three
recommenders and ranks each user's held-out item among the items the user has no training event
with. One row per user: the number of candidates and, for each recommender, the best possible rank
and the number of other candidates with exactly the same score.

The MovieLens license does not allow passing the data on. The file holds no user and no item, and
its rows are sorted, so that their order says nothing about users either.
"""

import os
import time
from pathlib import Path

import pandas as pd

from sampled_metrics import AUC, NDCG, AveragePrecision, Ranks, Recall
from sampled_metrics.experiments import ItemKNN, MatrixFactorization, load_movielens_1m

PATH = Path(__file__).parents[1] / "book" / "data" / "movielens_ranks.csv"
RECOMMENDERS = {
    "x": MatrixFactorization(n_factors=16, regularization=10, unobserved_weight=0.2, rng=0),
    "y": ItemKNN(exponent=3),
    "z": ItemKNN(exponent=1, column_neighbors=10),
}
METRICS = (Recall(k=10), NDCG(k=10), AveragePrecision(), AUC())


def main():
    begin = time.perf_counter()
    split = load_movielens_1m()
    print(f"load {time.perf_counter() - begin:6.1f} s")
    table = pd.DataFrame({"n_items": split.n_candidates})
    for name, model in RECOMMENDERS.items():
        start = time.perf_counter()
        model.fit(split.train)
        fitted = time.perf_counter()
        ranks = Ranks.from_model(model, split)
        ranked = time.perf_counter()
        table[f"{name}_best"], table[f"{name}_tied"] = ranks.best, ranks.n_tied
        values = (f"{metric} {100 * metric.mean(ranks):.2f}" for metric in METRICS)
        print(
            f"{name.upper()}: fit {fitted - start:4.1f} s, rank {ranked - fitted:4.1f} s; "
            f"exact, in percent: {', '.join(values)}"
        )
    rows = table.sort_values(list(table.columns))
    unfinished = PATH.with_suffix(".tmp")  # so that an interrupted run leaves no half file
    rows.to_csv(unfinished, index=False, lineterminator="\n")
    os.replace(unfinished, PATH)
    print(f"{len(rows):,} rows in {PATH.name}; {time.perf_counter() - begin:.1f} s in all")


if __name__ == "__main__":
    main()
