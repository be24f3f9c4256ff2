"""Make elsewhere_*.csv.gz: how recommenders rank three data sets, and what samples say of it.

    make elsewhere-ranks        # or: python scripts/make_elsewhere.py; about half an hour
    python scripts/make_elsewhere.py games          # one data set

MovieLens 1M, Amazon Video Games and Amazon Beauty are downloaded from their publishers, unless all
are in the folder that the variable SAMPLED_METRICS_DATA names. One table for each, one row for each
evaluated user: the number of candidates and, for each recommender, the best possible rank and the
number of other candidates with exactly the same score. A table holds no user and no item, and its
rows are sorted, so that their order says nothing about users either.

The recommender that scores all items equally needs no column: its best possible rank is 1. The
linear autoencoder is left out where a matrix of all pairs of items takes much memory and time.

elsewhere_*_expected.csv.gz: computed from these ranks alone, what an evaluation among a
sample reports on average, over all samples and all ways to break ties. elsewhere_*_orders.csv.gz:
for each pair of recommenders, how probably one evaluation among 100 puts the two in the right
order.
"""

import gc
import os
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import linalg

from sampled_metrics import (
    AUC,
    NDCG,
    BiasVariance,
    Draw,
    Ranks,
    Recall,
    ReciprocalRank,
    Uncorrected,
    evaluate,
)
from sampled_metrics.experiments import ItemKNN, MatrixFactorization, load_amazon, load_movielens_1m

FOLDER = Path(__file__).parents[1] / "book" / "data"
DATA_SETS = {
    "movielens": load_movielens_1m,
    "games": lambda: load_amazon("games"),
    "beauty": lambda: load_amazon("beauty"),
}
METRICS = (Recall(k=10), NDCG(k=10), ReciprocalRank(), AUC())
ESTIMATORS = {"uncorrected": Uncorrected(), "corrected": BiasVariance(gamma=0.1)}
SIZES = (20, 50, 100, 200, 500, 1000)
LARGEST_AUTOENCODER = 10_000  # items, whose pairs make 400 MB in single precision


class Popular:
    """The number of training events is an item's score, for everyone."""

    def fit(self, train):
        self.events = train.sum(axis=0)
        return self

    def scores(self, users):
        return np.broadcast_to(self.events, (len(users), len(self.events)))


class Autoencoder:
    """The linear autoencoder EASE (Steck, WWW 2019): each item predicted from all others.

    With G = X'X + weight * I and P its inverse, the weights are B = -P / diag(P), by column, with
    zeros on the diagonal, and the scores X B. Training items may have any score.
    """

    def __init__(self, weight):
        self.weight = weight

    def fit(self, train):
        self.train = train.astype(np.float32)
        gram = (self.train.T @ self.train).toarray(order="F")
        gram[np.diag_indices_from(gram)] += self.weight
        factor, failed = linalg.lapack.spotrf(gram, overwrite_a=True, clean=True)
        inverse, failed_too = linalg.lapack.spotri(factor, overwrite_c=True)
        assert failed == failed_too == 0
        for i in range(len(inverse)):  # LAPACK fills one triangle
            inverse[i + 1 :, i] = inverse[i, i + 1 :]
        diagonal = inverse.diagonal().copy()
        inverse[np.diag_indices_from(inverse)] = 0
        inverse /= -diagonal
        self.weights = inverse
        return self

    def scores(self, users):
        return self.train[users] @ self.weights


def recommenders(n_items):
    """Return fresh recommenders by the names of their columns."""
    factors = {
        f"x{d}": MatrixFactorization(d, regularization=10, unobserved_weight=0.2, progress=False)
        for d in (8, 16, 32, 64)
    }
    found = {"popular": Popular()} | factors
    found["y"] = ItemKNN(exponent=3)
    found["z"] = ItemKNN(column_neighbors=10)
    found["zrow"] = ItemKNN(row_neighbors=10)
    if n_items <= LARGEST_AUTOENCODER:
        found["autoencoder"] = Autoencoder(weight=100)
    return found


def rank_all(split, names=None):
    """Return the table of a data set, of some or all recommenders, in the order of the split."""
    table = pd.DataFrame({"n_items": split.n_candidates})
    models = recommenders(split.n_items)
    for name in names or list(models):
        start = time.perf_counter()
        model = models.pop(name).fit(split.train)
        ranks = Ranks.from_model(model, split, progress=False)
        table[f"{name}_best"], table[f"{name}_tied"] = ranks.best, ranks.n_tied
        recall = 100 * Recall(10).mean(ranks)
        seconds = time.perf_counter() - start
        print(f"{name}: {seconds:.0f} s; exact Recall@10 {recall:.2f} percent", flush=True)
        del model
        gc.collect()
    return table


def sort_rows(table):
    return table.sort_values(list(table.columns), ignore_index=True)


def as_ranks(table):
    """Return the ranks of all ten recommenders by name; in "random", every item ties."""
    n_items = table["n_items"].to_numpy()
    names = [name.removesuffix("_best") for name in table if name.endswith("_best")]
    ranks = {"random": Ranks(np.ones_like(n_items), n_items - 1, n_items)}
    return ranks | {
        name: Ranks(table[f"{name}_best"], table[f"{name}_tied"], n_items) for name in names
    }


def expected(ranks):
    """Return the expected value of each estimate, one row per size of sample and recommender."""
    tables = []
    for size in SIZES:
        how = {"estimators": ESTIMATORS, "fit": "paper", "progress": False}
        rows = evaluate(ranks, METRICS, Draw(size), **how).table
        rows = rows[rows["estimator"] != "exact"]
        index = ["recommender", "estimator"]
        wide = rows.pivot(index=index, columns="metric", values="value").reset_index()
        tables.append(wide.assign(n_samples=size))
        print(f"expected among {size}", flush=True)
    return pd.concat(tables)[["n_samples", *index, *map(str, METRICS)]]


def orders(ranks):
    """Return how probably one evaluation among 100 orders each pair rightly, by Recall@10."""
    found = evaluate(ranks, METRICS[:1], Draw(100), estimators=ESTIMATORS, fit="paper")
    columns = ["first", "second", "estimator", "exact_difference", "difference"]
    return found.orders()[[*columns, "standard_error", "right_order"]]


def write(name, table, prefix="elsewhere"):
    """Write a table; an interrupted run leaves no half file, and equal tables are equal files."""
    path = FOLDER / f"{prefix}_{name}.csv.gz"
    unfinished = path.with_suffix(".tmp")
    without_time = {"method": "gzip", "compresslevel": 9, "mtime": 0}
    table.to_csv(
        unfinished,
        index=False,
        lineterminator="\n",
        float_format="%.10g",
        compression=without_time,
    )
    os.replace(unfinished, path)
    print(f"{len(table):,} rows, {path.stat().st_size / 1e6:.2f} MB in {path.name}", flush=True)


def main(names):
    for name in names or DATA_SETS:
        split = DATA_SETS[name]()
        print(f"{name}: {len(split.items):,} instances, {split.n_items:,} items", flush=True)
        table = sort_rows(rank_all(split))
        write(name, table)
        ranks = as_ranks(table)
        write(f"{name}_expected", expected(ranks))
        write(f"{name}_orders", orders(ranks))


if __name__ == "__main__":
    main(sys.argv[1:])
