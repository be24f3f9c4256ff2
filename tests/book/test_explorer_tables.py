"""The small tables behind two explorers are what the package finds on the full data."""

import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sampled_metrics import (
    AUC,
    NDCG,
    AveragePrecision,
    BiasVariance,
    Draw,
    Ranks,
    Recall,
    Uncorrected,
    compare,
)

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "book" / "data"
sys.path.insert(0, str(ROOT / "scripts"))
import make_explorers as module  # noqa: E402

DATA_SETS = ["movielens", "games", "beauty"]
METRICS = {str(metric): metric for metric in module.METRICS}


@pytest.fixture(scope="module", params=DATA_SETS)
def shown(request):
    """The name of a data set, the ranks of its recommenders, and what the explorer shows."""
    table = pd.read_csv(DATA / "explorer_elsewhere.csv", keep_default_na=False)
    ranks = module.as_ranks(pd.read_csv(DATA / f"elsewhere_{request.param}.csv.gz"))
    return request.param, ranks, table[table["data"] == request.param]


def test_each_recommender_stands_there_for_each_metric(shown):
    _, ranks, table = shown
    pairs = list(zip(table["metric"], table["recommender"], strict=True))
    assert pairs == [(metric, name) for metric in METRICS for name in ranks]


def test_exact_means(shown):
    _, ranks, table = shown
    theirs = [METRICS[row.metric].mean(ranks[row.recommender]) for row in table.itertuples()]
    np.testing.assert_allclose(table["exact"], theirs, rtol=1e-7)


def test_expected_means_are_those_that_the_package_found(shown):
    """Where `make elsewhere-ranks` has them, from the package, which takes long."""
    name, _, table = shown
    found = pd.read_csv(DATA / f"elsewhere_{name}_expected.csv.gz")
    found = found[found["estimator"] == "uncorrected"]
    for m, those in found.groupby("n_samples"):
        those = those.set_index("recommender")
        theirs = [those.loc[row.recommender, row.metric] for row in table.itertuples()]
        np.testing.assert_allclose(table[str(m)], theirs, rtol=1e-7)


def test_the_formulas_for_large_samples_are_the_packages():
    """A few users, long ties and short ones, at sizes where all of them would take hours."""
    rng = np.random.default_rng(1)
    n = rng.integers(20_000, 20_003, 12)
    best = np.minimum(np.array([1, 2, 3, 9, 50, 300, 2000, 9999, 19_000, 1, 40, 20_000]), n)
    tied = np.where(np.arange(12) < 6, 0, rng.integers(0, 500, 12)).clip(max=n - best)
    ranks = {"random": Ranks(np.ones_like(n), n - 1, n), "some": Ranks(best, tied, n)}
    for m in (10, 30, 2000):
        ours = module.means(ranks, m)
        for row, given in zip(ours, ranks.values(), strict=True):
            theirs = [Draw(m).expect(given, metric).mean() for metric in METRICS.values()]
            np.testing.assert_allclose(row, theirs, rtol=1e-8)


def test_more_samples_bring_the_recall_down_to_the_exact_one_or_below(shown):
    _, _, table = shown
    sizes = [str(m) for m in module.SIZES]
    recall = table.loc[table["metric"] == "Recall@10", sizes].to_numpy()
    assert list(table.columns[5:]) == sizes
    assert (np.diff(recall, axis=1) < 0).all()


@pytest.mark.parametrize("metric", ["Recall@10", "AUC"])
def test_pairs_that_the_exact_metric_tells_apart(shown, metric):
    name, ranks, table = shown
    if name == "beauty":
        ranks = {who: ranks[who] for who in ("random", "popular", "x64", "z", "zrow")}
    rows = table[table["metric"] == metric].set_index("recommender")
    for one, other in combinations(ranks, 2):
        found = compare(ranks[one], ranks[other], METRICS[metric])
        clear = found.exact_difference**2 > 16 * found.variance_users
        ahead = [
            (other in rows.loc[one, "ahead_of"].split()),
            (one in rows.loc[other, "ahead_of"].split()),
        ]
        sign = found.exact_difference > 0
        assert ahead == [clear and sign, clear and not sign]


PLANNED = {"Recall@10": Recall(10), "NDCG@10": NDCG(10), "AP": AveragePrecision(), "AUC": AUC()}


@pytest.fixture(scope="module")
def plan():
    return pd.read_csv(DATA / "explorer_plan.csv")


@pytest.fixture(scope="module")
def recommenders():
    data = pd.read_csv(DATA / "movielens_ranks.csv")
    return {
        name.upper(): Ranks(data[f"{name}_best"], data[f"{name}_tied"], data["n_items"])
        for name in "xyz"
    }


@pytest.mark.parametrize(
    ("draw", "name", "estimator"),
    [
        (None, "exact", None),
        (Draw(20, replacement=False), "uncorrected", Uncorrected()),
        (Draw(10, replacement=False), "corrected", BiasVariance(0.1)),
    ],
)
@pytest.mark.slow
def test_comparisons_of_the_plan(plan, recommenders, draw, name, estimator):
    rows = plan[plan["estimator"] == name]
    rows = rows[rows["n_samples"] == draw.n_samples] if draw else rows
    assert len(rows) == 3 * len(PLANNED)
    for row in rows.itertuples():
        if name == "corrected" and row.metric != "Recall@10":
            continue  # each takes seconds
        pair = recommenders[row.first], recommenders[row.second]
        found = compare(*pair, PLANNED[row.metric], draw, estimator=estimator)
        for field in list(plan.columns)[5:]:
            assert getattr(row, field) == pytest.approx(getattr(found, field), rel=1e-7, abs=1e-15)


def test_the_plan_has_each_comparison_once(plan):
    cells = ["first", "second", "metric", "estimator", "n_samples"]
    sizes = plan["n_samples"].dropna().unique()
    assert not plan.duplicated(cells).any()
    assert len(plan) == 3 * len(PLANNED) * (2 * len(sizes) + 1)
