"""Make the small tables behind two explorers from the ranks in book/data.

    make explorers-data             # or: python scripts/make_explorers.py; half an hour

explorer_elsewhere.csv has the exact mean of each data set, metric and recommender, the others that
are surely behind it, and what an evaluation among m sampled items reports on average.
explorer_plan.csv has what `compare` finds for each pair of X, Y and Z, metric, estimator and m.
"""

from dataclasses import asdict
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from make_elsewhere import DATA_SETS, as_ranks

from sampled_metrics import (
    AUC,
    NDCG,
    AveragePrecision,
    BiasVariance,
    Draw,
    Ranks,
    Recall,
    ReciprocalRank,
    Uncorrected,
    compare,
    evaluate,
)

FOLDER = Path(__file__).parents[1] / "book" / "data"
METRICS = (Recall(k=10), NDCG(k=10), ReciprocalRank(), AUC())
SIZES = [digit * 10**power for power in range(1, 5) for digit in (1, 2, 5)]


def by_rank(n_items, m=None):
    """Return all metrics at all ranks, exact or expected among m sampled items, by column.

    The package would take hours for 50,000 samples, as it keeps the probabilities of all sampled
    ranks. Here ten of them are enough.
    """
    ranks = np.arange(1, n_items + 1)
    if m is None:
        return np.stack([metric(ranks, n_items) for metric in METRICS], axis=1)
    share = np.clip((ranks - 1) / (n_items - 1), 1e-12, 1 - 1e-12)  # of the others, those above it
    none = m * np.log1p(-share)  # logarithm of the probability that none of them is drawn
    probability, recall, ndcg = np.exp(none), 0, 0
    for hits in range(min(10, m + 1)):
        recall, ndcg = recall + probability, ndcg + probability / np.log2(hits + 2)
        probability = probability * share / (1 - share) * (m - hits) / (hits + 1)
    rr = -np.expm1(none + np.log1p(-share)) / ((m + 1) * share)
    return np.stack([recall, ndcg, rr, 1 - share], axis=1)


def means(ranks, m=None):
    """Return the mean of each metric (columns) for each recommender (rows), over users and ties."""
    total, n_each = 0, ranks["random"].n_items
    for n in np.unique(n_each):
        users = n_each == n
        sums = np.concatenate([np.zeros((1, len(METRICS))), by_rank(n, m).cumsum(axis=0)])
        rows = []
        for given in ranks.values():
            best, tied = given.best[users], given.n_tied[users]
            rows.append(((sums[best + tied] - sums[best - 1]) / (tied + 1)[:, None]).sum(axis=0))
        total = total + np.array(rows)
    return total / len(n_each)


def surely_behind(ranks, metric):
    """Name, for each recommender, those that it beats by more than four standard errors."""
    each = np.array([metric(given) for given in ranks.values()])
    cov = np.cov(each) / each.shape[1]
    gap = np.subtract.outer(each.mean(axis=1), each.mean(axis=1))
    variance = np.add.outer(cov.diagonal(), cov.diagonal()) - 2 * cov
    ahead = (gap > 0) & (gap**2 > 16 * variance)
    return [" ".join(np.array(list(ranks))[row]) for row in ahead]


def elsewhere():
    """Return one row for each data set, metric and recommender, with a column for each m."""
    tables = []
    for name in DATA_SETS:
        ranks = as_ranks(pd.read_csv(FOLDER / f"elsewhere_{name}.csv.gz"))
        found = {m or "exact": means(ranks, m) for m in (None, *SIZES)}
        for i, metric in enumerate(METRICS):
            columns = {"data": name, "metric": str(metric), "recommender": list(ranks)}
            columns["ahead_of"] = surely_behind(ranks, metric)
            columns |= {m: values[:, i] for m, values in found.items()}
            tables.append(pd.DataFrame(columns))
        print(name, flush=True)
    return pd.concat(tables)


def plan():
    """Return what the comparison of each pair finds, for one evaluation of 6,040 users."""
    data = pd.read_csv(FOLDER / "movielens_ranks.csv")
    recommenders = {
        name.upper(): Ranks(data[f"{name}_best"], data[f"{name}_tied"], data["n_items"])
        for name in "xyz"
    }
    metrics = [Recall(k=10), NDCG(k=10), AveragePrecision(), AUC()]
    draws = [*(Draw(m, replacement=False) for m in (10, 20, 50, 100, 200, 500)), None]
    estimators = {"uncorrected": Uncorrected(), "corrected": BiasVariance(0.1)}
    tables = []
    for draw in draws:
        if draw is not None:
            found = evaluate(recommenders, metrics, draw, estimators=estimators).orders()
            tables.append(found.loc[:, :"variance_sampling"].assign(n_samples=draw.n_samples))
            continue
        for one, other in combinations(recommenders, 2):
            for metric in metrics:
                found = asdict(compare(recommenders[one], recommenders[other], metric))
                names = {"first": one, "second": other, "metric": str(metric)}
                tables.append(pd.DataFrame([names | {"estimator": "exact"} | found]))
    table = pd.concat(tables, ignore_index=True).astype({"n_samples": "Int64"})
    names = ["first", "second", "metric", "estimator", "n_samples"]
    return table[[*names, *table.columns.difference(names, sort=False)]]


if __name__ == "__main__":
    for make, digits in ((elsewhere, 8), (plan, 10)):  # so many that none shown is off
        path = FOLDER / f"explorer_{make.__name__}.csv"
        make().to_csv(path, index=False, lineterminator="\n", float_format=f"%.{digits}g")
        print(f"{path.stat().st_size / 1e3:.0f} KB in {path.name}", flush=True)
