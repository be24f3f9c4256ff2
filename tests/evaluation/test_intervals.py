"""Intervals hold with few users and stay in the range; clusters, groups, randomization, LaTeX."""

import shutil
import subprocess
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from sampled_metrics import (
    NDCG,
    BiasVariance,
    Draw,
    Metric,
    Ranks,
    Recall,
    ReciprocalRank,
    evaluate,
)

N_ITEMS = 3706
SHARE = np.arange(1, N_ITEMS + 1) ** -0.65  # of ranks, such that NDCG@10 is .054 and RR is .04
SHARE /= SHARE.sum()


def skewed(rng, size):
    """Ranks as those of a fair recommender: some at the top, and a long tail."""
    return np.minimum(np.searchsorted(SHARE.cumsum(), rng.random(size)), N_ITEMS - 1) + 1


def even(rng, size):
    return rng.integers(1, 101, size)


def hits(p):
    return lambda rng, size: np.where(rng.random(size) < p, 1, 1000)


# What is evaluated, how ranks are drawn, and the mean of all users.
CASES = {f"Recall {p}": (Recall(k=10), hits(p), p) for p in (0.01, 0.03, 0.05, 0.2, 0.5)} | {
    f"{metric}, {name}": (metric, draw, float(share @ metric(np.arange(1, len(share) + 1))))
    for name, draw, share in (("skewed", skewed, SHARE), ("even", even, np.full(100, 0.01)))
    for metric in (NDCG(k=10), NDCG(), ReciprocalRank())
}


def covered(case, n_users, repeats):
    """Return in what share of evaluations, which are groups of one, the interval has the mean."""
    metric, draw, mean = CASES[case]
    ranks = draw(np.random.default_rng(0), n_users * repeats)
    groups = np.repeat(np.arange(repeats), n_users)
    found = evaluate({"A": ranks}, [metric], groups=groups, n_items=N_ITEMS).by_group
    assert found["low"].min() >= 0
    assert found["high"].max() <= 1
    return np.mean((found["low"] <= mean + 1e-12) & (found["high"] >= mean - 1e-12))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("n_users", [8, 50])
def test_intervals_cover_with_few_users(case, n_users):
    """Of 1,000, 90 percent or more: at the true 93, one false alarm in 10,000."""
    assert covered(case, n_users, 1000) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("n_users", "least"), [(20, 0.9), (100, 0.9), (500, 0.93)])
def test_intervals_cover(case, n_users, least):
    """Of 2,000; the standard error of a share near .95 is .005, and they cover .94 and more."""
    assert covered(case, n_users, 2000) >= least


@pytest.mark.slow
@pytest.mark.parametrize("n_users", [8, 50, 500])
@pytest.mark.parametrize("case", CASES)
def test_intervals_of_differences_cover(case, n_users):
    """B is worse for one user in ten; 1,000 evaluations, as above."""
    metric, draw, _ = CASES[case]
    rng = np.random.default_rng(1)

    def pair(size):
        a = draw(rng, size)
        return a, np.where(rng.random(size) < 0.1, 1000, a)

    a, b = pair(n_users * 1000)
    one, other = pair(10**5)
    found = evaluate(
        {"A": a, "B": b}, [metric], n_items=N_ITEMS, groups=np.repeat(np.arange(1000), n_users)
    ).comparisons(by_group=True, n_resamples=2, rng=0, progress=False)
    mean = 0.1 * CASES[case][2] - 0.1 * metric(np.array([1000]))[0]
    assert abs((metric(one) - metric(other)).mean() - mean) < 0.005
    share = np.mean((found["low"] <= mean) & (found["high"] >= mean))
    assert share >= (0.9 if n_users < 500 else 0.93)
    assert found["low"].min() >= -1
    assert found["high"].max() <= 1


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ["uncorrected", "corrected"])
@pytest.mark.parametrize("metric", [Recall(k=10), NDCG(k=10)], ids=str)
def test_intervals_of_sampled_ranks_cover_the_mean_estimate(metric, estimator):
    """1,000 evaluations of 20 users with samples; the mean is that of the draw's distribution."""
    rng, draw = np.random.default_rng(3), Draw(50, n_items=N_ITEMS, replacement=False)
    sampled = draw.rvs(skewed(rng, 20_000), rng=rng)
    ranks = Ranks(sampled, n_items=51, catalog=N_ITEMS)
    found = evaluate({"A": ranks}, [metric], groups=np.repeat(np.arange(1000), 20)).by_group
    found = found[found["estimator"] == estimator]
    exact = Ranks(np.arange(1, N_ITEMS + 1), n_items=N_ITEMS)
    expected = evaluate({"A": exact}, [metric], Draw(50, replacement=False)).per_user
    mean = SHARE @ expected.loc[expected["estimator"] == estimator, "value"].to_numpy()
    assert np.mean((found["low"] <= mean) & (found["high"] >= mean)) >= 0.9
    assert found["low"].min() >= 0
    assert found["high"].max() <= 1


@given(
    st.lists(st.integers(1, 60), min_size=2, max_size=30),
    st.floats(0.01, 0.999),
    st.sampled_from([Recall(k=10), NDCG(), ReciprocalRank()]),
)
@settings(max_examples=50, deadline=None)
def test_an_interval_has_the_value_and_stays_in_the_range(ranks, confidence, metric):
    row = evaluate({"A": ranks}, [metric], confidence=confidence).table.iloc[0]
    assert 0 <= row["low"] <= row["value"] <= row["high"] <= 1
    assert row["low"] < row["high"]


def test_where_nobody_has_a_hit_some_may():
    """No hit among n users: a share of 3 / n may have one (the rule of three)."""
    row = evaluate({"A": [50] * 1000}, [Recall(k=10)]).table.iloc[0]
    assert row["low"] == row["value"] == 0
    assert row["high"] == pytest.approx(0.003, rel=0.02)


@dataclass(frozen=True)
class Reach(Metric):
    """A metric of one's own, without ends that are known."""

    k: int | None = None

    def gain(self, rank, order, n_relevant, n_items):
        return 100.0 / rank

    def normalizer(self, ranks):
        return 1


@dataclass(frozen=True)
class Bounded(Reach):
    """The same as a share."""

    bounded = True

    def gain(self, rank, order, n_relevant, n_items):
        return 1.0 / rank


def test_a_metric_without_ends_has_students_interval():
    ranks = [1, 2, 9, 4]
    row = evaluate({"A": ranks}, [Reach()]).table.iloc[0]
    each = 100 / np.array(ranks)
    want = stats.t.interval(0.95, 3, each.mean(), stats.sem(each))
    np.testing.assert_allclose([row["low"], row["high"]], want)
    other: Any = type("Other", (NDCG,), {"gain": Reach.gain})
    assert not other.bounded
    other = type("Other", (NDCG,), {"normalizer": Reach.normalizer})
    assert not other.bounded
    one, same = (
        evaluate({"A": ranks}, [metric]).table.drop(columns="metric")
        for metric in (Bounded(), ReciprocalRank())
    )
    pd.testing.assert_frame_equal(one, same)


def test_an_estimate_ends_where_its_table_ends():
    draw = Draw(20, n_items=300, replacement=False)
    best = [1, 2, 2, 9, 21]
    ranks = {"A": Ranks(best, n_items=21, catalog=300)}
    found = evaluate(ranks, [NDCG(k=10)]).table
    row = found[found["estimator"] == "corrected"].iloc[0]
    values = BiasVariance(0.1).fit(NDCG(k=10), draw).values
    more = [*values[np.array(best) - 1], values.min(), values.max()]
    want = stats.t.interval(0.95, 6, np.mean(more), stats.sem(more))
    np.testing.assert_allclose([row["low"], row["high"]], np.clip(want, 0, 1))


# --- clusters and groups


@pytest.fixture(scope="module")
def sessions():
    """Ranks of two recommenders in 300 sessions of 60 persons, who are alike in their own."""
    rng = np.random.default_rng(4)
    person = rng.integers(60, size=300)
    level = rng.geometric(0.05, 60)[person]
    return {name: level + rng.integers(0, 9, 300) for name in "AB"}, person


def test_clustered_errors_are_those_of_statsmodels(sessions):
    ranks, person = sessions
    found = evaluate(ranks, [NDCG()], clusters=person)
    a, b = (NDCG()(ranks[name]) for name in "AB")
    for each, error in (
        (a, found.table["standard_error"][0]),
        (a - b, found.comparisons(n_resamples=9, rng=0)["standard_error"][0]),
    ):
        fit = sm.OLS(each, np.ones(300)).fit(cov_type="cluster", cov_kwds={"groups": person})
        assert error == pytest.approx(fit.bse[0])
    assert (
        found.table["standard_error"][0]
        > 1.5 * evaluate(ranks, [NDCG()]).table["standard_error"][0]
    ), "persons differ more than their sessions"
    names = pd.Series(person, dtype=str).map(lambda p: f"person {p}").tolist()
    assert evaluate(ranks, [NDCG()], clusters=names).table.equals(found.table)


def test_what_is_there_four_times_is_known_no_better():
    a, b = np.array([3, 1, 8, 2, 30]), np.array([4, 6, 7, 2, 90])
    once = evaluate({"A": a, "B": b}, [NDCG(), Recall(5)])
    again = evaluate(
        {"A": np.tile(a, 4), "B": np.tile(b, 4)},
        [NDCG(), Recall(5)],
        clusters=np.tile(np.arange(5), 4),
    )
    for one, other in (
        (once.table, again.table),
        (once.comparisons(rng=0), again.comparisons(rng=0)),
    ):
        pd.testing.assert_frame_equal(
            one.drop(columns="users"),
            other.drop(columns="users").assign(
                **({"effect_size": one["effect_size"]} if "effect_size" in one else {})
            ),
        )
    assert "if 5 clusters of users are independent" in str(again)
    assert "if users are independent" in str(once)


def test_orders_of_clusters():
    a, b = Ranks([3, 1, 8, 2, 30], 0, 99), Ranks([4, 6, 7, 2, 90], 0, 99)
    twice = {"A": a[np.repeat(np.arange(5), 2)], "B": b[np.repeat(np.arange(5), 2)]}
    once = evaluate({"A": a, "B": b}, [NDCG()], Draw(9)).orders()
    again = evaluate(twice, [NDCG()], Draw(9), clusters=np.repeat(np.arange(5), 2)).orders()
    np.testing.assert_allclose(again["variance_users"], once["variance_users"])
    np.testing.assert_allclose(again["variance_sampling"], once["variance_sampling"] / 2)


@pytest.mark.slow
def test_clustered_tests_and_intervals_keep_their_level(sessions):
    """400 true hypotheses at .05 for 40 persons of 1 to 9 sessions: between 6 and 38 rejected.

    That is so in all but 1 of 5,000 runs. Without clusters, far more are rejected.
    """
    rng = np.random.default_rng(5)
    group, cluster, a, b = [], [], [], []
    for run in range(400):
        person = np.repeat(np.arange(40), rng.integers(1, 10, 40))
        better = rng.random(40) < 0.5
        first, second = rng.integers(1, 20, (2, 40))
        a.append(np.where(better, first, second)[person])
        b.append(np.where(better, second, first)[person])
        group.append(np.full(len(person), run))
        cluster.append(person + 40 * run)
    ranks = {"A": np.concatenate(a), "B": np.concatenate(b)}
    groups, clusters = np.concatenate(group), np.concatenate(cluster)
    options: Any = {"by_group": True, "n_resamples": 199, "rng": 0, "progress": False}
    tests = evaluate(ranks, [NDCG()], groups=groups, clusters=clusters).comparisons(**options)
    for p in ("p_t", "p_randomization"):
        assert 6 <= (tests[p] <= 0.05).sum() <= 38
    assert ((tests["low"] > 0) | (tests["high"] < 0)).sum() <= 38
    loose = evaluate(ranks, [NDCG()], groups=groups).comparisons(**options)
    assert (loose["p_t"] <= 0.05).sum() > 80


def test_bounds_are_for_independent_users():
    ranks = {"A": Ranks([1, 5, 2, 9], n_items=21, catalog=300)}
    assert "bounds" in set(evaluate(ranks, [Recall(5)]).table["estimator"])
    found = evaluate(ranks, [Recall(5)], clusters=[1, 1, 2, 2])
    assert "bounds" not in set(found.table["estimator"])


def test_comparisons_within_groups_are_those_of_their_users(sessions):
    ranks, person = sessions
    half = np.where(person < 20, "few", "many")
    found = evaluate(ranks, [NDCG(), Recall(9)], groups=half, clusters=person)
    tests = found.comparisons(by_group=True, n_resamples=99, rng=0)
    assert tests["group"].tolist() == ["few", "few", "many", "many"]
    for name in ("few", "many"):
        some = {key: each[half == name] for key, each in ranks.items()}
        alone = evaluate(some, [NDCG(), Recall(9)], clusters=person[half == name])
        want = alone.comparisons(n_resamples=99, rng=1)
        here = tests[tests["group"] == name].reset_index(drop=True)
        kept = ["metric", "difference", "standard_error", "low", "high", "p_t", "users"]
        pd.testing.assert_frame_equal(here[kept], want[kept])
    np.testing.assert_allclose(tests["p_holm"], multipletests(tests["p_t"], method="holm")[1])
    with pytest.raises(ValueError, match="there are no groups; give them as evaluate"):
        evaluate(ranks, [NDCG()]).comparisons(by_group=True)


def test_a_macro_mean_is_that_of_the_groups_means():
    rng = np.random.default_rng(6)
    group = np.repeat([0, 1, 2], [50, 20, 5])
    ranks = {"A": rng.geometric(0.1, 75), "B": rng.geometric(0.2, 75)}
    found = evaluate(ranks, [NDCG(), Recall(5)], groups=group)
    parts = found.by_group.groupby(["recommender", "metric"], sort=False)
    macro = found.macro
    np.testing.assert_allclose(macro["value"], parts["value"].mean())
    errors = parts["standard_error"].agg(lambda each: np.sqrt((each**2).sum()) / 3)
    np.testing.assert_allclose(macro["standard_error"], errors)
    assert ((macro["low"] < macro["value"]) & (macro["value"] < macro["high"])).all()
    one = evaluate(ranks, [NDCG(), Recall(5)], groups=np.zeros(75))
    pd.testing.assert_frame_equal(one.macro, one.table)
    with pytest.raises(ValueError, match="there are no groups; give them as evaluate"):
        evaluate(ranks, [NDCG()]).macro  # noqa: B018


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [[2, 200], [8, 8, 8], [10] * 20, [50, 500]], ids=str)
def test_intervals_of_macro_means_cover(sizes):
    """1,000 evaluations, of which 90 percent or more cover; they cover .94 and more."""
    p = np.linspace(0.03, 0.3, len(sizes))
    group, rng, count = np.repeat(np.arange(len(sizes)), sizes), np.random.default_rng(7), 0
    for _ in range(1000):
        ranks = np.where(rng.random(len(group)) < p[group], 1, 1000)
        row = evaluate({"A": ranks}, [Recall(k=10)], groups=group).macro.iloc[0]
        count += row["low"] <= p.mean() <= row["high"]
    assert count >= 900


def test_one_cluster_cannot_be_compared():
    found = evaluate({"A": [1, 2], "B": [2, 3]}, [NDCG()], clusters=["same", "same"])
    assert found.table[["standard_error", "low", "high"]].isna().all(axis=None)
    with pytest.raises(ValueError, match="there are 1 clusters; a comparison needs two or more"):
        found.comparisons()
    with pytest.raises(ValueError, match=r"clusters has shape \(3,\); clusters must have one"):
        evaluate({"A": [1, 2]}, [NDCG()], clusters=[1, 2, 3])


def test_one_sample_for_all_gives_no_orders():
    ranks = {"A": Ranks([1, 5], 0, 300), "B": Ranks([2, 50], 0, 300)}
    with pytest.raises(ValueError, match=r"draw.shared is True; how far one sample for all users"):
        evaluate(ranks, [Recall(10)], Draw(20, shared=True)).orders()


# --- the randomization test


def p_of(a, b, metric, n_resamples=9999):
    tests = evaluate({"A": a, "B": b}, [metric], n_items=N_ITEMS).comparisons(
        n_resamples=n_resamples, rng=0, progress=False
    )
    return tests["p_randomization"][0]


@pytest.mark.parametrize("metric", [NDCG(), NDCG(k=10), Recall(k=10), ReciprocalRank()], ids=str)
@pytest.mark.parametrize("size", [9, 60, 400])
def test_the_randomization_test_is_that_of_scipy(metric, size):
    """Both estimate the same p from 9,999 signs; 4.5 standard errors of the difference.

    SciPy doubles the smaller of two tails, of which each has an error of its own.
    """
    rng = np.random.default_rng(size)
    a = rng.geometric(0.05, size)
    b = np.maximum(1, a + rng.integers(-2, 4, size))
    found, d = p_of(a, b, metric), metric(a) - metric(b)
    want = stats.permutation_test(
        (d,), np.mean, permutation_type="samples", n_resamples=9999, rng=1
    ).pvalue
    error = np.sqrt(3 * max(want * (1 - want), 1e-4) / 9999)
    assert abs(found - want) < (1e-9 if size == 9 else 4.5 * error)


def test_differences_of_one_size_have_the_binomial_p_value():
    a = np.repeat([1, 50, 1], [70, 40, 500])
    b = np.repeat([50, 1, 1], [70, 40, 500])
    assert p_of(a, b, Recall(k=10), 2) == stats.binomtest(70, 110).pvalue


def test_few_differences_are_swapped_in_all_ways():
    """Of 1,000 users, 11 differ: 2 ** 11 ways are fewer than 9,999."""
    rng = np.random.default_rng(9)
    a = rng.geometric(0.1, 1000)
    b = a.copy()
    b[:11] += rng.integers(1, 9, 11)
    b[3], b[7] = 1, 1
    d = (1 / a - 1 / b)[:11]
    signs = 1 - 2 * (np.arange(2**11)[:, None] >> np.arange(11) & 1)
    want = np.mean(np.abs(signs @ d) >= abs(d.sum()) - 1e-12)
    assert p_of(a, b, ReciprocalRank()) == want


# --- LaTeX


def test_latex_needs_no_more_than_booktabs(tmp_path):
    rng = np.random.default_rng(10)
    ranks = {f"item_{name}": Ranks(rng.integers(1, 9, 30), 0, 300) for name in ("knn", "50%")}
    text = evaluate(ranks, [NDCG(k=10), Recall(k=5)], Draw(30)).to_latex()
    assert r"\multirow" not in text
    assert r"\cline" not in text
    assert text.count(r"item\_knn") == 1
    if (latex := shutil.which("pdflatex")) is None:
        return
    page = (
        "\\documentclass{article}\\usepackage{booktabs}\\begin{document}" + text + "\\end{document}"
    )
    (tmp_path / "page.tex").write_text(page, encoding="utf-8")
    done = subprocess.run(
        [latex, "-interaction=nonstopmode", "-halt-on-error", "page.tex"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
