"""Two recommenders, one difference: what moves it, and how often its sign is right."""

from dataclasses import astuple
from itertools import combinations, product
from math import inf, isnan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sampled_metrics import (
    AUC,
    NDCG,
    AveragePrecision,
    BiasVariance,
    Comparison,
    RankEstimate,
    Recall,
    TiedRanks,
    Uncorrected,
    compare,
    expected_evaluation,
    plan,
    rank_distribution,
    sample_ranks,
)

METRICS = [Recall(k=10), NDCG(k=10), AveragePrecision(), AUC()]


def some_ranks(rng, n_users, mean, n_items, ties=0):
    """Return ranks that scatter around `mean`, some with ties behind them."""
    best = np.minimum(1 + rng.geometric(1 / mean, n_users), n_items)
    tied = np.where(rng.random(n_users) < 0.3, rng.integers(ties + 1, size=n_users), 0)
    return TiedRanks(best, np.minimum(tied, n_items - best), n_items)


@pytest.fixture(scope="module")
def pilot():
    """400 users with about 600 items each; a is better at the top, b on the whole; both tie."""
    rng = np.random.default_rng(0)
    n_items = rng.integers(500, 700, size=400)
    a = some_ranks(rng, 400, mean=90, n_items=n_items, ties=300)
    b = some_ranks(rng, 400, mean=60, n_items=n_items, ties=50)
    at_top = rng.random(400) < 0.2
    best = np.where(at_top, 1, a.best)
    return TiedRanks(best, np.where(at_top, 0, a.n_tied), n_items), b


def evaluate(ranks, fitted, replacement, repeats, rng):
    """Return the estimates of `repeats` evaluations, each with its own ties and samples."""
    shape = (repeats, len(ranks))
    broken = ranks.best + rng.integers(np.broadcast_to(ranks.n_tied, shape), endpoint=True)
    n = np.broadcast_to(ranks.n_items, shape)
    m = len(fitted.values) - 1
    return fitted(sample_ranks(broken, n, m, replacement, rng=rng))


# --- the mean and the parts of the variance


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("estimator", [Uncorrected(), BiasVariance(0.1)], ids=str)
def test_every_sample_and_every_tie(replacement, estimator):
    """Five items, two draws, three users: all that can happen, weighed by its probability."""
    n, m, metric = 5, 2, AveragePrecision()
    a = TiedRanks([1, 2, 3], [2, 0, 2], n)
    b = TiedRanks([2, 1, 1], [0, 1, 4], n)
    table = estimator.fit(metric, n, m).values
    others = range(n - 1)
    draws = list(product(others, repeat=m) if replacement else combinations(others, m))

    def moments(best, tied):
        """Mean of one user's estimate, its variance by ties, its mean variance by samples."""
        values = np.array(
            [
                [table[sum(item < rank - 1 for item in draw)] for draw in draws]
                for rank in range(best, best + tied + 1)
            ]
        )
        return values.mean(), values.mean(axis=1).var(), values.var(axis=1).mean()

    of_a, of_b = (
        np.array([moments(*one) for one in zip(r.best, r.n_tied, strict=True)]) for r in (a, b)
    )
    difference = of_a[:, 0] - of_b[:, 0]
    found = compare(a, b, metric, n_samples=m, estimator=estimator, replacement=replacement)
    want = [
        3,
        (a.expected(metric) - b.expected(metric)).mean(),
        difference.mean(),
        difference.var(ddof=1) / 3,
        (of_a + of_b)[:, 1].mean() / 3,
        (of_a + of_b)[:, 2].mean() / 3,
    ]
    np.testing.assert_allclose(astuple(found), want, atol=1e-15)
    assert (np.array(want[3:]) > 0.001).all()  # none of the parts is idle


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("metric", METRICS, ids=str)
@pytest.mark.parametrize("estimator", [Uncorrected(), BiasVariance(0.01)], ids=str)
def test_mean_and_variance_of_many_evaluations(pilot, metric, replacement, estimator):
    """2,000 evaluations of the same users: ties and samples are all that moves them.

    Six standard errors of a mean; for the variance, a chi-square with 1,999 degrees of freedom
    at 1e-6 on either side: a false alarm in about 30,000 runs of all 16 cases.
    """
    a, b = pilot
    found = compare(a, b, metric, n_samples=30, estimator=estimator, replacement=replacement)
    fitted = estimator.fit(metric, round(a.n_items.mean()), 30)
    rng = np.random.default_rng(1)
    each = [evaluate(ranks, fitted, replacement, 2000, rng).mean(axis=1) for ranks in (a, b)]
    reported = each[0] - each[1]
    variance = found.variance_ties + found.variance_sampling
    assert abs(reported.mean() - found.difference) < 6 * sqrt(variance / 2000)
    low, high = stats.chi2.ppf([1e-6, 1 - 1e-6], 1999) / 1999
    assert low < reported.var(ddof=1) / variance < high


def test_the_variance_over_users_is_that_of_new_users():
    """Each evaluation has its own 50 users, drawn from a known law of ranks.

    The variance of 4,000 evaluations is that of the law, computed with the pooled ranks as the
    pilot; chi-square as above, at 1e-6 on either side (the differences are not normal, but a mean
    of 50 nearly is).
    """
    rng = np.random.default_rng(2)
    a, b = (some_ranks(rng, 50 * 4000, mean, 300).best.reshape(4000, 50) for mean in (20, 40))
    found = compare(a.ravel(), b.ravel(), NDCG(), 300, n_samples=20).at(n_users=50)
    fitted = Uncorrected().fit(NDCG(), 300, 20)
    values = [fitted(sample_ranks(r, 300, 20, rng=rng)).mean(axis=1) for r in (a, b)]
    ratio = (values[0] - values[1]).var(ddof=1) / found.standard_error**2
    low, high = stats.chi2.ppf([1e-6, 1 - 1e-6], 3999) / 3999
    assert low < ratio < high


@pytest.mark.parametrize(
    ("n", "m", "replacement"),
    [(700, 10, True), (700, 100, True), (700, 340, False), (700, 690, False), (60, 55, False)],
)
@pytest.mark.parametrize("metric", [Recall(k=1), Recall(k=10), AveragePrecision()], ids=str)
def test_long_ties_against_all_their_ranks(metric, n, m, replacement):
    """The rule for averages over ties, with a step of the estimate anywhere."""
    a = TiedRanks([1, 5, n // 2, n - 9, 1], [n - 1, n // 2, n // 2, 9, 29], n)
    b = TiedRanks([1] * 5, 0, n)
    table = Uncorrected().fit(metric, n, m).values
    mean, ties, sampling = np.empty((3, 5))
    for x, (best, tied) in enumerate(zip(a.best, a.n_tied, strict=True)):
        p = rank_distribution(np.arange(best, best + tied + 1), n, m, replacement)
        first, second = p @ table, p @ table**2
        mean[x], ties[x], sampling[x] = first.mean(), first.var(), (second - first**2).mean()
    found = compare(a, b, metric, n_samples=m, replacement=replacement)
    np.testing.assert_allclose(found.difference, mean.mean() - 1, rtol=1e-9)
    np.testing.assert_allclose(found.variance_users, mean.var(ddof=1) / 5, rtol=1e-9)
    np.testing.assert_allclose(found.variance_ties, ties.mean() / 5, rtol=1e-5)
    np.testing.assert_allclose(found.variance_sampling, sampling.mean() / 5, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("replacement", [True, False])
def test_the_difference_is_that_of_the_expected_evaluations(pilot, replacement):
    estimators = {"plain": Uncorrected(), "rank": RankEstimate(), "bv": BiasVariance(0.1)}
    both = dict(zip("ab", pilot, strict=True))
    got = plan(both, METRICS, estimators, [30], replacement=replacement)
    want = expected_evaluation(both, METRICS, estimators, 30, replacement=replacement)
    want = want.pivot(index=["metric", "estimator"], columns="recommender", values="value")
    got = got.set_index(["metric", "estimator"])["difference"]
    np.testing.assert_allclose(got, (want["a"] - want["b"]).loc[got.index], atol=1e-12)


def test_an_exact_evaluation_is_the_paired_t_test(pilot):
    a, b = (ranks.break_ties("random", rng=0) for ranks in pilot)
    n_items = pilot[0].n_items
    found = compare(a, b, NDCG(k=10), n_items)
    test = stats.ttest_rel(NDCG(k=10)(a), NDCG(k=10)(b))
    assert found.difference == found.exact_difference
    assert found.difference / found.standard_error == pytest.approx(test.statistic)
    # quantiles of t with 399 degrees of freedom are a little larger than the normal ones
    np.testing.assert_allclose(found.interval(), test.confidence_interval(), atol=2e-4)


def test_an_exact_evaluation_averages_over_ties(pilot):
    a, b = pilot
    each = a.expected(Recall(k=10)) - b.expected(Recall(k=10))
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
    a, b = (TiedRanks(r.best, 0, r.n_items) for r in pilot)
    found = compare(a, b, metric, n_samples=50).at(n_users)
    fitted = Uncorrected().fit(metric, round(a.n_items.mean()), 50)
    rng = np.random.default_rng(3)
    x = rng.integers(400, size=(4000, n_users))
    values = [fitted(sample_ranks(r.best[x], r.n_items[x], 50, rng=rng)) for r in (a, b)]
    each = (values[0] - values[1]) * np.sign(found.exact_difference)
    lead = each.mean(axis=1)
    z = lead / stats.sem(each, axis=1)
    right, (certain, wrong) = found.right_order(), found.significant()
    assert 0.02 < right < 0.98  # a case that tells something
    for share, p in [
        ((lead > 0).mean(), right),
        ((z > 1.96).mean(), certain),
        ((z < -1.96).mean(), wrong),
    ]:
        assert abs(share - p) < 4.5 * sqrt(p * (1 - p) / 4000) + 0.01


def test_right_order_of_the_same_users(pilot):
    """4,000 evaluations of the same users: 4.5 standard errors, one false alarm in 150,000."""
    a, b = pilot
    found = compare(a, b, AveragePrecision(), n_samples=40)
    fitted = Uncorrected().fit(AveragePrecision(), round(a.n_items.mean()), 40)
    rng = np.random.default_rng(4)
    each = [evaluate(r, fitted, True, 4000, rng).mean(axis=1) for r in (a, b)]
    share = ((each[0] - each[1]) * found.exact_difference > 0).mean()
    p = found.right_order(same_users=True)
    assert 0.02 < p < 0.98
    assert abs(share - p) < 4.5 * sqrt(p * (1 - p) / 4000) + 0.005


def test_intervals_cover_the_reported_mean_as_often_as_they_say():
    """2,000 exact evaluations of 200 users each, of a law with a known difference.

    The 95 percent intervals cover it in 95 percent, within five standard errors (0.024), which
    leaves room for the normal approximation: one false alarm in a million.
    """
    rng = np.random.default_rng(5)
    share = 1 / np.arange(1, 101)
    share /= share.sum()
    truth = share @ NDCG()(np.arange(1, 101)) - NDCG()(np.arange(1, 101)).mean()
    covered = 0
    for _ in range(2000):
        a = 1 + rng.choice(100, size=200, p=share)
        b = rng.integers(1, 101, size=200)
        low, high = compare(a, b, NDCG(), 100).interval()
        covered += low < truth < high
    assert abs(covered / 2000 - 0.95) < 5 * sqrt(0.95 * 0.05 / 2000)


def test_intervals_of_sampled_evaluations_hold_what_is_reported(pilot):
    """20,000 evaluations of 100 users from the pilot.

    Five standard errors, one false alarm in a million, and 0.005 for what is not normal.
    """
    a, b = (TiedRanks(r.best, 0, r.n_items) for r in pilot)
    found = compare(a, b, NDCG(), n_samples=50).at(100)
    fitted = Uncorrected().fit(NDCG(), round(a.n_items.mean()), 50)
    rng = np.random.default_rng(6)
    x = rng.integers(400, size=(20_000, 100))
    values = [fitted(sample_ranks(r.best[x], r.n_items[x], 50, rng=rng)) for r in (a, b)]
    reported = (values[0] - values[1]).mean(axis=1)
    for confidence in (0.5, 0.95):
        low, high = found.interval(confidence)
        share = ((low < reported) & (reported < high)).mean()
        error = sqrt(confidence * (1 - confidence) / 20_000)
        assert abs(share - confidence) < 5 * error + 0.005


@pytest.mark.parametrize("probability", [0.5, 0.8, 0.95, 0.999])
def test_users_needed_are_just_enough(pilot, probability):
    found = compare(*pilot, NDCG(), n_samples=50)
    assert found.survives
    needed = found.users_needed(probability)
    assert found.at(needed).right_order() >= probability
    assert needed == 1 or found.at(needed - 1).right_order() < probability


def test_with_a_wrong_sign_more_users_are_more_certainly_wrong(pilot):
    found = compare(*pilot, Recall(k=10), n_samples=20)
    assert not found.survives
    assert found.users_needed() == inf
    right = [found.at(n).right_order() for n in (100, 1000, 10_000, 100_000)]
    wrong = [found.at(n).significant()[1] for n in (100, 1000, 10_000, 100_000)]
    assert (np.diff(right) < 0).all()
    assert right[-1] < 1e-6
    assert (np.diff(wrong) >= 0).all()
    assert wrong[-1] > 1 - 1e-6


def test_repeats_leave_the_users():
    rng = np.random.default_rng(7)
    a, b = (some_ranks(rng, 100, mean, 500, ties=200) for mean in (20, 40))
    one = compare(a, b, NDCG(), n_samples=20)
    ten = one.at(repeats=10)
    assert ten.variance_users == one.variance_users
    assert ten.variance_ties == pytest.approx(one.variance_ties / 10)
    assert ten.variance_sampling == pytest.approx(one.variance_sampling / 10)
    assert ten.difference == one.difference


ranks = st.integers(1, 30)


@given(
    pairs=st.lists(st.tuples(ranks, ranks), min_size=2, max_size=12),
    metric=st.sampled_from(METRICS),
    n_samples=st.sampled_from([None, 1, 5, 29]),
    replacement=st.booleans(),
)
def test_the_two_ways_round(pairs, metric, n_samples, replacement):
    a, b = np.array(pairs).T
    kind = {"n_samples": n_samples, "replacement": replacement}
    ab, ba = compare(a, b, metric, 30, **kind), compare(b, a, metric, 30, **kind)
    assert ab.difference == -ba.difference
    assert ab.standard_error == ba.standard_error
    assert ab.survives == ba.survives
    assert np.array_equal(ab.right_order(), ba.right_order(), equal_nan=True)
    assert ab.users_needed() == ba.users_needed()


@given(
    pairs=st.lists(st.tuples(ranks, ranks), min_size=2, max_size=12),
    metric=st.sampled_from(METRICS),
    n_samples=st.integers(1, 29),
    replacement=st.booleans(),
)
def test_who_is_never_behind_is_never_behind_on_average(pairs, metric, n_samples, replacement):
    """Better ranks for every user: no sample size turns that around."""
    a, b = np.sort(pairs, axis=1).T
    found = compare(a, b, metric, 30, n_samples=n_samples, replacement=replacement)
    assert found.exact_difference >= 0
    assert found.difference >= -1e-12


def test_auc_keeps_its_order(pilot):
    found = compare(*pilot, AUC(), n_samples=20)
    assert found.survives
    assert found.difference == pytest.approx(found.exact_difference)


def test_all_items_drawn_is_the_exact_evaluation():
    rng = np.random.default_rng(8)
    a, b = (some_ranks(rng, 50, mean, 40).best for mean in (5, 9))
    exact = compare(a, b, AveragePrecision(), 40)
    drawn = compare(a, b, AveragePrecision(), 40, n_samples=39, replacement=False)
    np.testing.assert_allclose(astuple(drawn), astuple(exact), atol=1e-14)


def test_nothing_to_order():
    same = compare([3, 5, 9], [3, 5, 9], NDCG(), 10, n_samples=4)
    assert same.difference == 0
    assert same.survives
    assert isnan(same.right_order())
    assert all(map(isnan, same.significant()))
    assert same.users_needed() == inf


@pytest.mark.parametrize("n_samples", [None, 5])
def test_the_same_ranks_of_other_users(n_samples):
    """Nobody is better, and rounding errors do not say otherwise."""
    ranks = np.arange(1, 100)
    found = compare(ranks, np.roll(ranks, 7), AveragePrecision(), 100, n_samples=n_samples)
    assert found.exact_difference == found.difference == 0
    assert found.variance_users > 0
    assert isnan(found.right_order())


def test_a_sample_too_small_to_tell():
    """Among 10 items every Recall@10 is 1."""
    found = compare([1, 5, 9], [1, 7, 30], Recall(k=10), 100, n_samples=9)
    assert found.exact_difference > 0
    assert found.difference == found.standard_error == 0
    assert not found.survives
    assert isnan(found.right_order())
    assert found.users_needed() == inf


def test_nothing_left_to_chance():
    """All users alike, and exactly evaluated: no variance at all."""
    sure = compare([1, 1], [2, 2], NDCG(), 10)
    assert sure.standard_error == 0
    assert sure.right_order() == 1
    assert sure.significant() == (1, 0)
    assert sure.users_needed() == 1


def test_plan_is_a_table_of_comparisons(pilot):
    a, b = pilot
    recommenders = {"a": a, "b": b, "c": TiedRanks(a.best, 0, a.n_items)}
    estimators = {"plain": Uncorrected(), "bv": BiasVariance(0.1)}
    table = plan(recommenders, METRICS[:2], estimators, [5, None], [100, 400], replacement=False)
    assert len(table) == 3 * 2 * 2 * 2 + 3 * 2 * 2
    assert table["n_users"].value_counts().to_dict() == {100: 18, 400: 18}
    assert table["n_samples"].isna().equals(table["estimator"] == "exact")
    for row in table.itertuples():
        metric = {str(metric): metric for metric in METRICS}[row.metric]
        how = {"n_samples": None, "replacement": False}
        if row.estimator != "exact":
            how |= {"n_samples": row.n_samples, "estimator": estimators[row.estimator]}
        want = compare(recommenders[row.first], recommenders[row.second], metric, **how)
        want = want.at(row.n_users)
        got = Comparison(*row[6:12])
        np.testing.assert_allclose(astuple(got), astuple(want), rtol=1e-12)
        right = want.right_order(), want.right_order(same_users=True)
        want = [want.standard_error, *right, *want.significant(), want.users_needed()]
        np.testing.assert_allclose(row[12:], want, rtol=1e-9)


# --- bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [1, 2, 3], NDCG(), 9), "b has 3 users, a has 2; they must be the same users"),
        (([1], [2], NDCG(), 9), "a has 1 users; a variance needs two or more"),
        (([1, 2], [1, 2], NDCG()), "n_items is None; plain ranks such as a need the number of"),
        (([1, 2], [0, 2], NDCG(), 9), r"b\[0\] is 0; b must be at least 1"),
        (([1, 9], [1, 2], NDCG(), [9, 8]), r"a\[1\] is 9; a must be at most n_items"),
        (([[1, 2]], [[1, 2]], NDCG(), 9), r"a has shape \(1, 2\); a must be one rank per user"),
        (([1, 1], [1, 1], NDCG(), 1), "n_items is 1; n_items must be at least 2"),
        (([1, 2], [1, 2], NDCG(), [9, 9, 9]), r"n_items has shape \(3,\)"),
    ],
)
def test_ranks_that_cannot_be_compared(arguments, message):
    with pytest.raises(ValueError, match=message):
        compare(*arguments)


def test_tied_ranks_that_cannot_be_compared():
    a, b = TiedRanks([1, 2], 0, [9, 9]), TiedRanks([1, 2], 0, [9, 8])
    with pytest.raises(ValueError, match=r"b.n_items\[1\] is 8; b.n_items must be that of a"):
        compare(a, b, NDCG())
    with pytest.raises(ValueError, match="n_items is 9; a, a TiedRanks, has its own"):
        compare(a, a, NDCG(), 9)
    single = TiedRanks([1, 1], 0, [1, 2])
    with pytest.raises(ValueError, match=r"a.n_items\[0\] is 1; a.n_items must be at least 2"):
        compare(single, single, NDCG())


def test_bad_numbers():
    a, b = [1, 2], [3, 4]
    with pytest.raises(ValueError, match="n_samples is 0; n_samples must be at least 1"):
        compare(a, b, NDCG(), 9, n_samples=0)
    with pytest.raises(ValueError, match="n_samples is 9; without replacement it must be at most"):
        compare(a, b, NDCG(), 9, n_samples=9, replacement=False)
    with pytest.raises(ValueError, match="n_samples is None; without samples, BiasVariance"):
        compare(a, b, NDCG(), 9, estimator=BiasVariance(0.1))
    with pytest.raises(ValueError, match="replacement is 1; replacement must be True or False"):
        compare(a, b, NDCG(), 9, n_samples=3, replacement=1)
    found = compare(a, b, NDCG(), 9, n_samples=3)
    with pytest.raises(ValueError, match="confidence is 1; confidence must be below 1"):
        found.interval(1)
    with pytest.raises(ValueError, match="confidence is 0; confidence must be positive"):
        found.significant(0)
    with pytest.raises(ValueError, match=r"probability is 0\.4; probability must be at least 0\.5"):
        found.users_needed(0.4)
    with pytest.raises(ValueError, match="n_users is 0; n_users must be at least 1"):
        found.at(0)
    with pytest.raises(ValueError, match="repeats is 0; repeats must be at least 1"):
        found.at(repeats=0)
    with pytest.raises(ValueError, match="same_users is 1; same_users must be True or False"):
        found.right_order(same_users=1)


@pytest.mark.parametrize("name", ["metrics", "estimators", "n_samples", "n_users"])
def test_nothing_to_plan(name):
    toy = {"a": TiedRanks([1, 2], 0, 9), "b": TiedRanks([3, 4], 0, 9)}
    given = {"metrics": [NDCG()], "estimators": {"": Uncorrected()}, "n_samples": [3]}
    with pytest.raises(ValueError, match=f"{name} is empty; there is nothing to compare"):
        plan(toy, **{**given, name: []})
    with pytest.raises(ValueError, match="recommenders has 1 names; it must have two or more"):
        plan({"a": toy["a"]}, **given)


def test_plan_needs_ranks_that_know_their_items():
    with pytest.raises(ValueError, match=r"A is \[1, 2\]; A must be a TiedRanks"):
        plan({"A": [1, 2], "B": [2, 3]}, [Recall(k=1)], {"u": Uncorrected()}, [9])


def test_no_number_of_users_is_too_large():
    assert Comparison(1000, 1e-160, 1e-160, 1.0, 0, 0).users_needed() == np.inf
