"""Two recommenders, one difference: what moves it, and how often its sign is right."""

from dataclasses import FrozenInstanceError, astuple, dataclass
from math import inf, isnan, sqrt
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import sampled_metrics
from sampled_metrics import (
    AUC,
    NDCG,
    AveragePrecision,
    BiasVariance,
    Draw,
    Metric,
    RankEstimate,
    Ranks,
    Recall,
    Uncorrected,
    compare,
)
from sampled_metrics.corrections import Estimator
from sampled_metrics.evaluation import Comparison
from shared import (
    USUAL,
    by_definition,
    each_sample,
    every_sample,
    expected_values,
    known,
    tied_places,
)


def some_ranks(rng, n_users, mean, n_items, ties=0):
    """Return ranks that scatter around `mean`, some with ties behind them."""
    best = np.minimum(1 + rng.geometric(1 / mean, n_users), n_items)
    tied = np.where(rng.random(n_users) < 0.3, rng.integers(ties + 1, size=n_users), 0)
    return Ranks(best, np.minimum(tied, n_items - best), n_items)


@pytest.fixture(scope="module")
def pilot():
    """400 users with about 600 items each; a is better at the top, b on the whole; both tie."""
    rng = np.random.default_rng(0)
    n_items = rng.integers(500, 700, size=400)
    a = some_ranks(rng, 400, mean=90, n_items=n_items, ties=300)
    b = some_ranks(rng, 400, mean=60, n_items=n_items, ties=50)
    at_top = rng.random(400) < 0.2
    best = np.where(at_top, 1, a.best)
    return Ranks(best, np.where(at_top, 0, a.n_tied), n_items), b


def evaluate(ranks, fitted, replacement, repeats, rng):
    """Return the estimates of `repeats` evaluations, each with its own ties and samples."""
    broken = np.array([ranks.break_ties("random", rng=rng).best for _ in range(repeats)])
    m = fitted.draw.n_samples
    return fitted(Draw(m, n_items=ranks.n_items, replacement=replacement).rvs(broken, rng=rng))


# --- the mean and the parts of the variance


def moments(table, best, tied, n, m, replacement):
    """Mean of one user's estimate, its variance by ties, its mean variance by samples."""
    values = np.array(
        [
            [table[sum(i < rank - 1 for i in s)] for s in every_sample(n, m, replacement)]
            for rank in range(best, best + tied + 1)
        ]
    )
    return values.mean(), values.mean(axis=1).var(), values.var(axis=1).mean()


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("estimator", [Uncorrected(), BiasVariance(0.1)], ids=str)
@pytest.mark.parametrize("fit", ["each", "paper"])
@pytest.mark.parametrize("n_items", [[5, 5, 5], [4, 6, 6]], ids=str)
def test_every_sample_and_every_tie(replacement, estimator, fit, n_items):
    """Few items, two draws, three users: all that can happen, weighed by its probability."""
    m, metric = 2, AveragePrecision()
    a = Ranks([1, 2, 3], [2, 0, 2], n_items)
    b = Ranks([2, 1, 1], [0, 1, 4], n_items)
    fits = [Draw(m, n_items=n, replacement=replacement) for n in n_items]
    if fit == "paper":
        fits = [Draw(m, n_items=5)] * 3  # the mean, 16 / 3 or 5, rounded, and with replacement
    tables = [estimator.fit(metric, draw).values for draw in fits]
    of_a, of_b = (
        np.array(
            [
                moments(*one, m, replacement)
                for one in zip(tables, r.best, r.n_tied, n_items, strict=True)
            ]
        )
        for r in (a, b)
    )
    exact = [
        np.mean([np.mean([by_definition(metric, [x], n) for x in places]) for places in each])
        for each, n in ((tied_places(a), 6), (tied_places(b), 6))
    ]
    difference = of_a[:, 0] - of_b[:, 0]
    draw = Draw(m, replacement=replacement)
    found = compare(a, b, metric, draw, estimator=estimator, fit=fit)
    want = [
        3,
        exact[0] - exact[1],
        difference.mean(),
        difference.var(ddof=1) / 3,
        (of_a + of_b)[:, 1].mean() / 3,
        (of_a + of_b)[:, 2].mean() / 3,
    ]
    np.testing.assert_allclose(astuple(found), want, atol=1e-15)
    assert (np.array(want[3:]) > 0.001).all()  # none of the parts is idle


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("estimator", [Uncorrected(), BiasVariance(0.1)], ids=str)
@pytest.mark.parametrize("fit", ["each", "paper"])
def test_every_sample_of_several_relevant_items(replacement, estimator, fit):
    m, metric, n_items = 2, NDCG(k=3), [7, 5, 9]
    rows = {"a": [(1, 4), (2,), (3, 5, 6)], "b": [(2, 7), (1,), (1, 5, 9)]}
    a, b = (Ranks.from_lists(each, n_items=n_items) for each in rows.values())
    fits = [Draw(m, n_items=n, replacement=replacement) for n in n_items]
    if fit == "paper":
        fits = [Draw(m, n_items=7)] * 3
    of: dict[str, list[Any]] = {name: [] for name in rows}
    for name, each in rows.items():
        for row, n, draw in zip(each, n_items, fits, strict=True):
            values = estimator.fit(metric, draw)(each_sample(row, n, m, replacement))
            of[name].append((values.mean(), values.var()))
    (mean_a, var_a), (mean_b, var_b) = (np.array(of[name]).T for name in "ab")
    found = compare(a, b, metric, Draw(m, replacement=replacement), estimator=estimator, fit=fit)
    want = [
        3,
        (metric(a) - metric(b)).mean(),
        (mean_a - mean_b).mean(),
        (mean_a - mean_b).var(ddof=1) / 3,
        0,
        (var_a + var_b).mean() / 3,
    ]
    np.testing.assert_allclose(astuple(found), want, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("metric", USUAL, ids=str)
@pytest.mark.parametrize("estimator", [Uncorrected(), BiasVariance(0.01)], ids=str)
def test_mean_and_variance_of_many_evaluations(pilot, metric, replacement, estimator):
    """1,000 evaluations of the same users: ties and samples are all that moves them.

    Six standard errors of a mean; for the variance, a chi-square with 999 degrees of freedom
    at 1e-6 on either side: a false alarm in about 30,000 runs of all 16 cases.
    """
    a, b = pilot
    draw = Draw(30, replacement=replacement)
    found = compare(a, b, metric, draw, estimator=estimator, fit="paper")
    fitted = estimator.fit(metric, Draw(30, n_items=round(a.n_items.mean())))
    rng = np.random.default_rng(1)
    each = [evaluate(ranks, fitted, replacement, 1000, rng).mean(axis=1) for ranks in (a, b)]
    reported = each[0] - each[1]
    variance = found.variance_ties + found.variance_sampling
    assert abs(reported.mean() - found.difference) < 6 * sqrt(variance / 1000)
    low, high = (stats.chi2.ppf(p, 999) / 999 for p in (1e-6, 1 - 1e-6))
    assert low < reported.var(ddof=1) / variance < high


@pytest.mark.parametrize("replacement", [True, False])
def test_fits_for_each_number_of_items_and_evaluations_of_them(pilot, replacement):
    """The same where every user has the fit of her own number of items."""
    a, b = pilot
    estimator, metric = BiasVariance(0.1), NDCG(k=10)
    draw = Draw(30, n_items=a.n_items, replacement=replacement)
    found = compare(a, b, metric, Draw(30, replacement=replacement), estimator=estimator)
    fitted, rng = estimator.fit(metric, draw), np.random.default_rng(1)
    each = [evaluate(ranks, fitted, replacement, 1000, rng).mean(axis=1) for ranks in (a, b)]
    reported = each[0] - each[1]
    variance = found.variance_ties + found.variance_sampling
    assert abs(reported.mean() - found.difference) < 6 * sqrt(variance / 1000)
    low, high = (stats.chi2.ppf(p, 999) / 999 for p in (1e-6, 1 - 1e-6))
    assert low < reported.var(ddof=1) / variance < high


def test_the_variance_over_users_is_that_of_new_users():
    """Each evaluation has its own 50 users, drawn from a known distribution of ranks.

    The variance of 4,000 evaluations is that of this distribution, computed with the pooled ranks
    as the pilot; chi-square as above, at 1e-6 on either side (the differences are not normal, but
    a mean of 50 nearly is).
    """
    rng = np.random.default_rng(2)
    a, b = (some_ranks(rng, 50 * 4000, mean, 300).best.reshape(4000, 50) for mean in (20, 40))
    draw = Draw(20, n_items=300)
    found = compare(a.ravel(), b.ravel(), NDCG(), draw).at(n_users=50)
    fitted = Uncorrected().fit(NDCG(), draw)
    values = [fitted(draw.rvs(r, rng=rng)).mean(axis=1) for r in (a, b)]
    ratio = (values[0] - values[1]).var(ddof=1) / found.standard_error**2
    low, high = (stats.chi2.ppf(p, 3999) / 3999 for p in (1e-6, 1 - 1e-6))
    assert low < ratio < high


@pytest.mark.parametrize(
    ("n", "m", "replacement"),
    [(700, 10, True), (700, 100, True), (700, 340, False), (700, 690, False), (60, 55, False)],
)
@pytest.mark.parametrize("metric", [Recall(k=1), Recall(k=10), AveragePrecision()], ids=str)
def test_long_ties_against_all_their_ranks(metric, n, m, replacement):
    """The rule for averages over ties, with a step of the estimate anywhere."""
    a = Ranks([1, 5, n // 2, n - 9, 1], [n - 1, n // 2, n // 2, 9, 29], n)
    b = Ranks([1] * 5, 0, n)
    draw = Draw(m, n_items=n, replacement=replacement)
    table = Uncorrected().fit(metric, draw).values
    mean, ties, sampling = np.empty((3, 5))
    for x, (best, tied) in enumerate(zip(a.best, a.n_tied, strict=True)):
        p = draw.pmf(np.arange(best, best + tied + 1))
        first, second = p @ table, p @ table**2
        mean[x], ties[x], sampling[x] = first.mean(), first.var(), (second - first**2).mean()
    found = compare(a, b, metric, Draw(m, replacement=replacement))
    np.testing.assert_allclose(found.difference, mean.mean() - 1, rtol=1e-9)
    np.testing.assert_allclose(found.variance_users, mean.var(ddof=1) / 5, rtol=1e-9)
    np.testing.assert_allclose(found.variance_ties, ties.mean() / 5, rtol=1e-5)
    np.testing.assert_allclose(found.variance_sampling, sampling.mean() / 5, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("fit", ["each", "paper"])
def test_the_difference_is_that_of_the_expected_evaluations(pilot, replacement, fit):
    estimators = {"plain": Uncorrected(), "rank": RankEstimate(), "bv": BiasVariance(0.1)}
    a, b = (ranks[:100] for ranks in pilot)
    both, draw = {"a": a, "b": b}, Draw(30, replacement=replacement)
    want = expected_values(both, USUAL, draw, estimators, fit=fit)
    want = want.pivot(index=["metric", "estimator"], columns="recommender", values="value")
    for metric in USUAL:
        for name, estimator in estimators.items():
            found = compare(a, b, metric, draw, estimator=estimator, fit=fit).difference
            one, other = want.loc[str(metric), name][["a", "b"]]
            assert found == pytest.approx(one - other, abs=1e-12)


def test_an_exact_evaluation_is_the_paired_t_test(pilot):
    a, b = (ranks.break_ties("random", rng=0).best for ranks in pilot)
    n_items = pilot[0].n_items
    found = compare(a, b, NDCG(k=10), n_items=n_items)
    test = stats.ttest_rel(NDCG(k=10)(a), NDCG(k=10)(b))
    assert found.difference == found.exact_difference
    assert found.difference / found.standard_error == pytest.approx(test.statistic)
    # quantiles of t with 399 degrees of freedom are a little larger than the normal ones
    np.testing.assert_allclose(found.interval(), test.confidence_interval(), atol=2e-4)


def test_an_exact_evaluation_averages_over_ties(pilot):
    a, b = pilot
    each = [
        [Recall(k=10)(np.array(places)).mean() for places in tied_places(ranks)] for ranks in (a, b)
    ]
    each = np.array(each[0]) - each[1]
    found = compare(a, b, Recall(k=10))
    assert found.exact_difference == found.difference == pytest.approx(each.mean())
    assert found.standard_error == pytest.approx(stats.sem(each))
    assert found.variance_ties == found.variance_sampling == 0


# --- what follows from them


@pytest.mark.parametrize("n_users", [30, 120])
@pytest.mark.parametrize("metric", [NDCG(), AveragePrecision()], ids=str)
def test_power_is_the_share_of_right_evaluations(pilot, metric, n_users):
    """4,000 evaluations of users drawn from the pilot: 4.5 standard errors and the normal's.

    The normal approximation is off by up to 0.01 here; without that, one false alarm in about
    30,000 runs of all four cases.
    """
    a, b = (Ranks(r.best, 0, r.n_items) for r in pilot)
    found = compare(a, b, metric, Draw(50)).at(n_users=n_users)
    fitted = Uncorrected().fit(metric, Draw(50, n_items=600))
    rng = np.random.default_rng(3)
    x = rng.integers(400, size=(4000, n_users))
    draw = Draw(50, n_items=known(a.n_items)[x])
    values = [fitted(draw.rvs(r.best[x], rng=rng)) for r in (a, b)]
    each = (values[0] - values[1]) * np.sign(found.exact_difference)
    lead = each.mean(axis=1)
    z = lead / stats.sem(each, axis=1)
    right, (certain, wrong) = found.right_order(), found.power()
    assert 0.02 < right < 0.98  # a case that tells something
    for share, p in [
        ((lead > 0).mean(), right),
        ((z > 1.96).mean(), certain),
        ((z < -1.96).mean(), wrong),
    ]:
        assert abs(share - p) < 4.5 * sqrt(p * (1 - p) / 4000) + 0.01


def test_a_comparison_has_three_variances_and_cannot_be_changed():
    found = Comparison(10, 0.1, 0.1, 1e-4, 4e-4, 4e-4)
    assert found.standard_error == pytest.approx(0.03)
    with pytest.raises(FrozenInstanceError):
        found.difference = 0  # type: ignore[misc]


def test_right_order_of_the_same_users(pilot):
    """2,000 evaluations of the same users: 4.5 standard errors, one false alarm in 150,000."""
    a, b = pilot
    found = compare(a, b, AveragePrecision(), Draw(40))
    fitted = Uncorrected().fit(AveragePrecision(), Draw(40, n_items=600))
    rng = np.random.default_rng(4)
    each = [evaluate(r, fitted, True, 2000, rng).mean(axis=1) for r in (a, b)]
    share = ((each[0] - each[1]) * found.exact_difference > 0).mean()
    p = found.right_order(same_users=True)
    assert 0.02 < p < 0.98
    assert abs(share - p) < 4.5 * sqrt(p * (1 - p) / 2000) + 0.005


def test_intervals_cover_the_reported_mean_as_often_as_they_say():
    """1,000 exact evaluations of 200 users each, whose ranks have a known distribution.

    The 95 percent intervals cover it in 95 percent, within five standard errors (0.034), which
    leaves room for the normal approximation: one false alarm in a million.
    """
    rng = np.random.default_rng(5)
    share = 1 / np.arange(1, 101)
    share /= share.sum()
    truth = share @ NDCG()(np.arange(1, 101)) - NDCG()(np.arange(1, 101)).mean()
    covered = 0
    for _ in range(1000):
        a = 1 + rng.choice(100, size=200, p=share)
        b = rng.integers(1, 101, size=200)
        low, high = compare(a, b, NDCG(), n_items=100).interval()
        covered += low < truth < high
    assert abs(covered / 1000 - 0.95) < 5 * sqrt(0.95 * 0.05 / 1000)


def test_intervals_of_sampled_evaluations_hold_what_is_reported(pilot):
    """10,000 evaluations of 100 users from the pilot.

    Five standard errors, one false alarm in a million, and 0.005 for what is not normal.
    """
    a, b = (Ranks(r.best, 0, r.n_items) for r in pilot)
    found = compare(a, b, NDCG(), Draw(50)).at(n_users=100)
    fitted = Uncorrected().fit(NDCG(), Draw(50, n_items=600))
    rng = np.random.default_rng(6)
    x = rng.integers(400, size=(10_000, 100))
    draw = Draw(50, n_items=known(a.n_items)[x])
    values = [fitted(draw.rvs(r.best[x], rng=rng)) for r in (a, b)]
    reported = (values[0] - values[1]).mean(axis=1)
    for confidence in (0.5, 0.95):
        low, high = found.interval(confidence)
        share = ((low < reported) & (reported < high)).mean()
        error = sqrt(confidence * (1 - confidence) / 10_000)
        assert abs(share - confidence) < 5 * error + 0.005


@pytest.mark.parametrize("probability", [0.5, 0.8, 0.95, 0.999])
def test_users_needed_are_just_enough(pilot, probability):
    a, b = pilot
    found = compare(a, b, NDCG(), Draw(50))
    assert found.order_kept
    needed = int(found.users_needed(probability))
    assert found.at(n_users=needed).right_order() >= probability
    assert needed == 1 or found.at(n_users=needed - 1).right_order() < probability


def test_with_a_wrong_sign_more_users_are_more_certainly_wrong(pilot):
    a, b = pilot
    found = compare(a, b, Recall(k=10), Draw(20))
    assert not found.order_kept
    assert found.users_needed() == inf
    right = [found.at(n_users=n).right_order() for n in (100, 1000, 10_000, 100_000)]
    wrong = [found.at(n_users=n).power().wrong for n in (100, 1000, 10_000, 100_000)]
    assert (np.diff(right) < 0).all()
    assert right[-1] < 1e-6
    assert (np.diff(wrong) >= 0).all()
    assert wrong[-1] > 1 - 1e-6


def test_repeats_leave_the_users():
    rng = np.random.default_rng(7)
    a, b = (some_ranks(rng, 100, mean, 500, ties=200) for mean in (20, 40))
    one = compare(a, b, NDCG(), Draw(20))
    ten = one.at(repeats=10)
    assert ten.variance_users == one.variance_users
    assert ten.variance_ties == pytest.approx(one.variance_ties / 10)
    assert ten.variance_sampling == pytest.approx(one.variance_sampling / 10)
    assert ten.difference == one.difference


ranks = st.integers(1, 30)


@given(
    pairs=st.lists(st.tuples(ranks, ranks), min_size=2, max_size=12),
    metric=st.sampled_from(USUAL),
    n_samples=st.sampled_from([None, 1, 5, 28]),
    replacement=st.booleans(),
)
def test_the_two_ways_round(pairs, metric, n_samples, replacement):
    a, b = np.array(pairs).T
    how: dict[str, Any] = {"n_items": 30}
    if n_samples:
        how = {"draw": Draw(n_samples, n_items=30, replacement=replacement)}
    ab, ba = compare(a, b, metric, **how), compare(b, a, metric, **how)
    assert ab.difference == -ba.difference
    assert ab.standard_error == ba.standard_error
    assert ab.order_kept == ba.order_kept
    assert np.array_equal(ab.right_order(), ba.right_order(), equal_nan=True)
    assert ab.users_needed() == ba.users_needed()


@given(
    pairs=st.lists(st.tuples(ranks, ranks), min_size=2, max_size=12),
    metric=st.sampled_from(USUAL),
    n_samples=st.integers(1, 29),
    replacement=st.booleans(),
)
def test_who_is_never_behind_is_never_behind_on_average(pairs, metric, n_samples, replacement):
    """Better ranks for every user: no sample size turns that around."""
    a, b = np.sort(pairs, axis=1).T
    found = compare(a, b, metric, Draw(n_samples, n_items=30, replacement=replacement))
    assert found.exact_difference >= 0
    assert found.difference >= -1e-12


def test_auc_keeps_its_order(pilot):
    a, b = pilot
    found = compare(a, b, AUC(), Draw(20))
    assert found.order_kept
    assert found.difference == pytest.approx(found.exact_difference)


def test_nothing_to_order():
    same = compare([3, 5, 9], [3, 5, 9], NDCG(), Draw(4, n_items=10))
    assert same.difference == 0
    assert same.order_kept
    assert isnan(same.right_order())
    assert all(map(isnan, same.power()))
    assert same.users_needed() == inf


@pytest.mark.parametrize("draw", [None, Draw(5), Draw(5, replacement=False)], ids=str)
def test_the_same_ranks_of_other_users(draw):
    """Nobody is better, and rounding errors do not say otherwise."""
    ranks = np.arange(1, 100)
    a, b = Ranks(ranks, 0, 100), Ranks(np.roll(ranks, 7), 0, 100)
    found = compare(a, b, AveragePrecision(), draw)
    assert found.exact_difference == found.difference == 0
    assert found.variance_users > 0
    assert isnan(found.right_order())


def test_a_sample_too_small_to_tell():
    """Among 10 items every Recall@10 is 1."""
    found = compare([1, 5, 9], [1, 7, 30], Recall(k=10), Draw(9, n_items=100))
    assert found.exact_difference > 0
    assert found.difference == found.standard_error == 0
    assert not found.order_kept
    assert isnan(found.right_order())
    assert found.users_needed() == inf


def test_nothing_left_to_chance():
    """All users alike, and exactly evaluated: no variance at all."""
    sure = compare([1, 1], [2, 2], NDCG())
    assert sure.standard_error == 0
    assert sure.right_order() == 1
    assert sure.interval() == (sure.difference, sure.difference)
    assert sure.power() == (1, 0)
    assert sure.users_needed() == 1


def test_equal_recommenders_with_few_and_with_many_items():
    """Catalogs of 200 and 20,000 items: who is equal within each is equal on the whole."""
    n = np.repeat([200, 20_000], 500)
    a = np.repeat([5, 5000], 500)
    a[:100], a[500:600] = 80, 7
    b = np.concatenate([a[500:][::-1], a[:500][::-1]])[::-1]  # shuffled among users of a size
    same = [Ranks(ranks, 0, n) for ranks in (a, a)]
    other = [Ranks(ranks, 0, n) for ranks in (a, np.concatenate([b[:500], b[500:]]))]
    for one, another in (same, other):
        found = compare(one, another, Recall(k=10), Draw(99), estimator=BiasVariance(0.1))
        assert found.exact_difference == 0
        assert found.difference == 0
        assert isnan(found.right_order())


def test_pooled_catalogs_need_the_fit_of_each_size():
    """`a` finds the items of the small catalog, and `b` nobody's: .5 against 0 exactly."""
    n = np.repeat([200, 20_000], 500)
    a, b = (Ranks(np.repeat([r, 5000], 500), 0, n) for r in (5, 100))
    how: dict[str, Any] = {"estimator": BiasVariance(0.1)}
    found = compare(a, b, Recall(k=10), Draw(99), **how)
    assert found.exact_difference == 0.5
    assert found.difference == pytest.approx(0.5, abs=0.03)
    misled = compare(a, b, Recall(k=10), Draw(99), fit="paper", **how)
    assert misled.exact_difference == 0.5
    assert abs(misled.difference) < 0.03


@pytest.mark.parametrize("kind", ["plain", "Ranks", "Series"])
def test_every_kind_of_ranks(kind):
    a, b = [3, 9, 1, 30], [2, 40, 4, 4]
    given: Any = {
        "plain": lambda r: np.array(r),
        "Ranks": lambda r: Ranks.from_lists([[x] for x in r]),
        "Series": lambda r: pd.Series(r, index=list("wxyz")),
    }[kind]
    want = compare(Ranks(a, 0, 50), Ranks(b, 0, 50), NDCG(k=5), Draw(9))
    got = compare(given(a), given(b), NDCG(k=5), Draw(9, n_items=50))
    np.testing.assert_allclose(astuple(got), astuple(want), rtol=1e-12)


# --- bad input


NOBODY = Ranks.from_lists([[], []], n_items=9)
SEVERAL = Ranks([1, 1, 2], 1, 9, users=[4, 4, 5])
TWO = Ranks.from_lists([[1, 2], [3]], n_items=9)


@pytest.mark.parametrize(
    ("a", "b", "how", "message"),
    [
        ([1, 2], [1, 2, 3], {}, "b has 3 users, a has 2; they must have the same users"),
        ([1], [2], {}, "there are 1 users; a comparison needs two or more"),
        (NOBODY, NOBODY, {}, "ranks holds no user with a relevant item; there is nothing to"),
        (NOBODY, NOBODY, {"draw": Draw(3)}, "ranks holds no user with a relevant item"),
        ([1, 2], [0, 2], {}, r"b\[0\] is 0; b must be at least 1"),
        ([1, 9], [1, 2], {"n_items": [9, 8]}, r"a\[1\] is 9; .* at most n_items, 8"),
        ([1, 2], [1, 9], {"draw": Draw(3, n_items=8)}, r"b\[1\] is 9; .* at most n_items"),
        ([[1, 2]], [[1, 2]], {}, r"a has shape \(1, 2\); a must be one rank per user"),
        (
            [1, 2],
            [1, 2],
            {"n_items": [9, 9, 9]},
            r"n_items has shape \(3,\); .* one entry per",
        ),
        ([1, 2], [1, 2], {"draw": Draw(3)}, r"n_items is None, and .* Draw\(3, n_items=...\)"),
        (SEVERAL, SEVERAL, {"draw": Draw(3)}, r"a has ties .*; break .* as in a\.break_ties"),
        (TWO, [1, 2], {}, "b has 1 relevant items for user 0, a has 2; they must have the same"),
        (TWO, Ranks.from_lists([[1], [3]]), {}, "b has 1 relevant items for user 0, a has 2"),
        (TWO, TWO, {"n_items": 10}, "n_items.* is 10; .* what a knows, 9"),
        (TWO, TWO, {"draw": Draw(3, n_items=10)}, "n_items.* is 10; .* what a knows, 9"),
        ("xy", [1, 2], {}, "a is 'xy'; a must be whole numbers"),
        (None, [1, 2], {}, "a is None; a must be whole numbers"),
    ],
)
def test_ranks_that_cannot_be_compared(a, b, how, message):
    with pytest.raises(ValueError, match=message):
        compare(a, b, NDCG(), **how)


@pytest.mark.parametrize(
    "draw",
    [None, Draw(3), Draw([3, 9, 4, 2, 5]), Draw(3, n_items=[9, 99, 19, 29, 39])],
    ids=["none", "one", "own", "items"],
)
def test_users_without_relevant_items_are_left_out_as_in_evaluate(draw):
    """The same as for the others alone, whose numbers of samples and items stay theirs."""
    n = None if draw is not None and draw.n_items is not None else [9, 99, 19, 29, 39]
    a = Ranks.from_lists([[2], [], [3], [8], [1]], n_items=n, users=list("uvwxy"))
    b = Ranks.from_lists(
        [[1], [9], [8], [2], []], n_items=n and [39, 29, 19, 9, 99], users=list("yxwuv")
    )
    some = [0, 2, 3, 4]
    got = compare(a, b, NDCG(k=5), draw)
    alone = None if draw is None else draw.take(some)
    assert got == compare(a[some], b[[3, 2, 1, 0]], NDCG(k=5), alone)
    assert got.n_users == 4
    table = sampled_metrics.evaluate({"a": a, "b": b}, [NDCG(k=5)], draw).table
    assert set(table["users"]) == {4}
    first, other = table[table["estimator"] == "exact"]["value"]
    assert got.exact_difference == pytest.approx(first - other)


def test_users_who_cannot_be_evaluated():
    single = Ranks([1, 1], 0, [2, 1])
    with pytest.raises(ValueError, match="AUC is not defined for user 1; leave out users with"):
        compare(single, single, AUC())
    with pytest.raises(
        ValueError, match=r"a\[0\] is among 2 items, and draw.n_samples is 3, no less"
    ):
        compare(single, single, NDCG(), Draw(3))
    with pytest.raises(ValueError, match="n_items is None; AUC needs the number of ranked items"):
        compare([1, 2], [2, 1], AUC())


def test_tied_ranks_of_other_users():
    a, b = Ranks([1, 2], 0, [9, 9]), Ranks([1, 2], 0, [9, 8])
    with pytest.raises(
        ValueError, match="b has 8 items for user 1, a has 9; they must have the same"
    ):
        compare(a, b, NDCG())


def test_series_are_paired_by_their_users():
    a, b = pd.Series([1, 5, 9], index=list("xyz")), pd.Series([1, 5, 9], index=list("zyx"))
    sizes = pd.Series([10, 20, 30], index=list("xyz"))
    draw = Draw(3, n_items=30)
    assert compare(a, b, NDCG(), draw) == compare(a, b.reindex(a.index), NDCG(), draw)
    assert compare(a, b, NDCG(), draw).exact_difference == 0
    assert compare(b, b, AUC(), n_items=sizes) == compare(b, b, AUC(), n_items=[30, 20, 10])
    with pytest.raises(ValueError, match=r"n_items has an index; pass n_items\.to_nu"):
        compare(a, a, AUC(), Draw(3, n_items=sizes))


FITTED = BiasVariance(0.1).fit(NDCG(), Draw(3, n_items=9))
WRONG = [
    ("metric", "NDCG", "metric is 'NDCG'; metric must be a Metric, such as"),
    ("metric", NDCG, r"metric is <class .*NDCG'>; .* call the class, as in Recall\(k=10\)"),
    ("metric", None, "metric is None; metric must be a Metric"),
    ("metric", [NDCG()], "metric is .*; metric must be a Metric"),
    ("draw", 3, r"draw is 3; draw must be a Draw, such as Draw\(n_samples=100, "),
    ("draw", Draw, "draw is <class .*; draw must be a Draw; call the class"),
    ("draw", [Draw(3)], "draw is .*; draw must be a Draw, such as"),
    ("estimator", "bv", "estimator is 'bv'; estimator must be an Estimator, such as"),
    ("estimator", BiasVariance, "estimator is <class .*; call the class, as in BiasVariance"),
    ("estimator", FITTED, "estimator is <.*CorrectedMetric.*; estimator must be an Estimator"),
    ("estimator", {"bv": BiasVariance(0.1)}, "estimator is {.*; estimator must be an Estimator"),
    ("fit", "mean", "fit is 'mean'; fit must be one of 'each', 'paper'"),
    ("fit", None, "fit is None; fit must be one of 'each', 'paper'"),
    ("n_items", 9, r"n_items is given beside a draw; use Draw\(3, n_items=...\)"),
]


@pytest.mark.parametrize(("name", "value", "message"), WRONG)
def test_wrong_arguments(name, value, message):
    how = {"metric": NDCG(), "draw": Draw(3, n_items=9), "estimator": Uncorrected(), name: value}
    with pytest.raises(ValueError, match=message):
        compare([1, 2], [3, 4], **how)


def test_wrong_fits_are_refused_where_nothing_is_fitted():
    with pytest.raises(ValueError, match="fit is 'mean'; fit must be one of 'each', 'paper'"):
        compare([1, 2], [3, 4], NDCG(), fit="mean")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="draw is None; without samples, BiasVariance"):
        compare([1, 2], [3, 4], NDCG(), estimator=BiasVariance(0.1))
    with pytest.raises(ValueError, match="n_samples is 9; without replacement it must be at most"):
        compare([1, 2], [3, 4], NDCG(), Draw(9, n_items=9, replacement=False))


def test_bad_numbers():
    found = compare([1, 2], [3, 4], NDCG(), Draw(3, n_items=9))
    with pytest.raises(ValueError, match="confidence is 1; confidence must be above 0 and below 1"):
        found.interval(1)
    with pytest.raises(ValueError, match="confidence is 0; confidence must be positive"):
        found.power(0)
    with pytest.raises(ValueError, match="confidence is '95%'; confidence must be a number"):
        found.power("95%")  # type: ignore[arg-type]
    for p in (0.4, 1, 1.5, 95):
        message = rf"probability is {p}; probability must be at least 0\.5 and below 1"
        with pytest.raises(ValueError, match=message):
            found.users_needed(p)
    with pytest.raises(ValueError, match="n_users is 0; n_users must be at least 1"):
        found.at(n_users=0)
    with pytest.raises(ValueError, match="repeats is 0; repeats must be at least 1"):
        found.at(repeats=0)
    with pytest.raises(ValueError, match="same_users is 1; same_users must be True or False"):
        found.right_order(same_users=1)  # type: ignore[arg-type]


TOY = {"A": Ranks([1, 2], 0, 9), "B": Ranks([3, 4], 0, 9)}


def test_metrics_and_estimators_that_can_change():
    """They are no keys of a dict, and are compared all the same."""

    @dataclass
    class Found(Metric):
        symbol = "Found"
        k: int = 10

        def gain(self, rank, order, n_relevant, n_items):
            return np.ones(np.shape(rank))

        def normalizer(self, ranks):
            return 1

    @dataclass
    class Same(Estimator):
        def solve(self, problem):
            return problem.sampled_values()

    a, b, draw = [3, 30, 5], [40, 2, 1], Draw(9, n_items=50)
    want = compare(a, b, Recall(k=10), draw)
    assert compare(a, b, Found(), draw, estimator=Same()) == want


def test_no_number_of_users_is_too_large():
    assert Comparison(1000, 1e-160, 1e-160, 1.0, 0, 0).users_needed() == np.inf


def test_ranks_of_another_kind_are_the_same_ranks():
    """A `Ranks`, a `Ranks` and an array with the same ranks differ by nothing at all."""
    values, draw = [1, 4, 30], Draw(10, n_items=50)
    kinds = Ranks.from_lists([[r] for r in values], n_items=50), Ranks(values, 0, 50), values
    worse = [50, 50, 40]
    expected = compare(worse, values, NDCG(10), draw)
    for kind in kinds:
        for other in kinds:
            found = compare(kind, other, NDCG(10), draw)
            assert found.difference == found.exact_difference == 0
        assert compare(worse, kind, NDCG(10), draw).difference == pytest.approx(expected.difference)


def test_graded_ranks_against_plain_ones():
    """Of one item each, a grade changes no value of these metrics."""
    values, draw = [1, 4, 30], Draw(10, n_items=50)
    graded = Ranks.from_lists([[r] for r in values], [[2.0]] * 3, n_items=50)
    found = compare(graded, values, Recall(5), draw)
    assert found.difference == pytest.approx(0, abs=1e-12)


NAMED = Ranks([1, 3], 0, 50, users=["ann", "bob"])


@pytest.mark.parametrize(
    "other",
    [
        Ranks([3, 1], 0, 50, users=["bob", "ann"]),
        Ranks.from_lists([[3], [1]], n_items=50, users=["bob", "ann"]),
        pd.Series([3, 1], index=["bob", "ann"]),
    ],
    ids=["Ranks", "lists", "Series"],
)
def test_users_are_paired_by_name(other):
    paired = Ranks([1, 3], 0, 50, users=["ann", "bob"])
    assert compare(NAMED, other, Recall(1)) == compare(NAMED, paired, Recall(1))


def test_other_users_are_refused():
    with pytest.raises(ValueError, match="b lacks user 'ann', whom a has; give all the same users"):
        compare(NAMED, Ranks([3, 1], 0, 50, users=["eve", "joe"]), Recall(1))


def test_users_of_the_same_names_are_paired():
    series = pd.Series([3, 1], index=["ann", "bob"])
    assert (
        compare(NAMED, series, Recall(1)).variance_users
        == compare([1, 3], [3, 1], Recall(1)).variance_users
    )
