"""Several relevant items: everything against all samples there are, and against one item's path."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sampled_metrics import (
    AUC,
    NDCG,
    AveragePrecision,
    BiasVariance,
    Draw,
    RankEstimate,
    Ranks,
    Recall,
    Uncorrected,
)
from sampled_metrics.corrections import (
    ConstrainedLeastSquares,
    Estimator,
    MappedCutoff,
    Multinomial,
)
from shared import (
    ESTIMATORS,
    METRICS,
    SUMS,
    each_sample,
    every_sampled_rank,
    known,
    solved_slowly,
    the_term,
)

# Without a cutoff all relevant items are hits, so these are sums, too.
ALL_SUMS = [*SUMS, AveragePrecision(denominator="hits"), NDCG(ideal="hits")]
NO_SUMS = [metric for metric in METRICS if metric not in SUMS]


def all_placements(n, counts):
    """Every set of ranks of so many relevant items among n."""
    return [row for q in counts for row in combinations(range(1, n + 1), q)]


# --- expectation


@pytest.mark.parametrize("metric", ALL_SUMS, ids=str)
@pytest.mark.parametrize("replacement", [True, False])
def test_expectation_is_the_mean_over_all_samples(metric, replacement):
    n, m = 6, 3
    placements = all_placements(n, [1, 2, 3])
    want = [metric(each_sample(row, n, m, replacement)).mean() for row in placements]
    got = Draw(m, n_items=n, replacement=replacement).expect(Ranks.from_lists(placements), metric)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("gains", ["linear", "exponential"])
@pytest.mark.parametrize("k", [None, 2])
@pytest.mark.parametrize("replacement", [True, False])
def test_graded_gains(gains, k, replacement):
    """The gain stays with its item, wherever the sample puts it."""
    n, m, metric = 7, 3, NDCG(k=k, gains=gains)
    draw = Draw(m, n_items=n, replacement=replacement)
    placements = [(1, 2, 7), (2, 5, 6), (3, 4), (6,)]
    grades: list[list[float]] = [[0.5, 3, 1], [4, 1, 2], [1, 3], [2]]
    graded = Ranks.from_lists(placements, grades)
    want = [
        metric(each_sample(row, n, m, replacement, grade)).mean()
        for row, grade in zip(placements, grades, strict=True)
    ]
    np.testing.assert_allclose(draw.expect(graded, metric), want, rtol=1e-12)
    plain = draw.expect(Ranks.from_lists(placements), Recall(k=2))
    np.testing.assert_allclose(draw.expect(graded, Recall(k=2)), plain)


def some_ranks(n, most, least=1):
    rows = st.lists(st.integers(1, n), min_size=least, max_size=most, unique=True)
    return st.lists(rows, min_size=1, max_size=6).map(Ranks.from_lists)


@settings(max_examples=50)
@given(data=st.data(), n=st.integers(6, 10**6), m=st.integers(1, 200), replacement=st.booleans())
def test_sampled_auc_is_unbiased_for_any_number_of_relevant_items(data, n, m, replacement):
    ranks = data.draw(some_ranks(n, most=5))
    draw = Draw(m if replacement else min(m, n - 5), n_items=n, replacement=replacement)
    np.testing.assert_allclose(draw.expect(ranks, AUC()), AUC()(ranks, n), atol=1e-11)


@settings(max_examples=50)
@given(data=st.data(), n=st.integers(4, 20))
def test_a_sample_of_all_irrelevant_items_is_exact(data, n):
    q = data.draw(st.integers(1, n - 1))
    rows = st.permutations(range(1, n + 1)).map(lambda order: order[:q])
    ranks = Ranks.from_lists(data.draw(st.lists(rows, min_size=1, max_size=4)))
    draw = Draw(n - q, n_items=n, replacement=False)
    for metric in (NDCG(), AveragePrecision(k=5), Recall(k=3)):
        np.testing.assert_allclose(draw.expect(ranks, metric), metric(ranks, n), atol=1e-12)
    np.testing.assert_array_equal(draw.rvs(ranks, rng=0).best, ranks.best)


def test_an_instance_without_relevant_items_has_no_value():
    ranks = Ranks.from_lists([[], [3, 1], []])
    # also where there would be too few items to draw from
    values = Draw(4, n_items=[9, 9, 5], replacement=False).expect(ranks, NDCG())
    assert np.isnan(values).tolist() == [True, False, True]
    draw = Draw(4, n_items=9)
    fitted = BiasVariance(0.1).fit(NDCG(), draw)
    for result in (fitted.expectation(ranks), fitted.variance(ranks), fitted.bias(ranks)):
        assert np.isnan(result).tolist() == [True, False, True]
    drawn = draw.rvs(ranks, rng=0)
    assert drawn.n_relevant.tolist() == [0, 2, 0]
    assert np.isnan(fitted(drawn)).tolist() == [True, False, True]


def test_number_of_items_of_each_instance():
    rows, sizes = [[2, 9], [2, 9], [1, 4, 30]], [10, 40, 40]
    got = Draw(7, n_items=sizes).expect(Ranks.from_lists(rows), AveragePrecision())
    for value, row, n in zip(got, rows, sizes, strict=True):
        one = Draw(7, n_items=n).expect(Ranks.from_lists([row]), AveragePrecision())
        assert value == pytest.approx(one[0], rel=1e-14)
    known = Ranks.from_lists(rows, n_items=sizes)
    np.testing.assert_array_equal(Draw(7).expect(known, AveragePrecision()), got)


# --- one relevant item


@settings(max_examples=50)
@given(data=st.data(), n=st.integers(2, 5000), m=st.integers(1, 100), replacement=st.booleans())
def test_one_relevant_item_is_the_path_of_plain_arrays(data, n, m, replacement):
    draw = Draw(m if replacement else min(m, n - 1), n_items=n, replacement=replacement)
    plain = np.array(data.draw(st.lists(st.integers(1, n), min_size=1, max_size=8)))
    ranks, tied = Ranks.from_lists(plain[:, None]), Ranks(plain)
    metric = data.draw(st.sampled_from(METRICS))
    np.testing.assert_array_equal(draw.expect(ranks, metric), draw.expect(plain, metric))
    np.testing.assert_array_equal(draw.expect(tied, metric), draw.expect(plain, metric))
    fitted = Uncorrected().fit(metric, draw)
    for name in ("expectation", "bias"):
        of = getattr(fitted, name)
        np.testing.assert_array_equal(of(ranks), of(plain))
        np.testing.assert_array_equal(of(tied), of(plain))
    np.testing.assert_allclose(fitted.variance(ranks), fitted.variance(plain), atol=1e-12)
    drawn = draw.rvs(plain, repeats=3, rng=1)
    for row, several in zip(drawn, draw.rvs(ranks, repeats=3, rng=1), strict=True):
        np.testing.assert_array_equal(several.best, row)
        np.testing.assert_array_equal(fitted(several), fitted(row))


# --- corrections


PLACEMENTS = [(1,), (7,), (1, 2), (3, 7), (1, 2, 3), (2, 3, 6), (5, 6, 7), (1, 4, 5, 7)]


def moments_over_all_samples(fitted, rows, sizes, m, replacement):
    """Mean and variance of the estimates of each row, from every sample."""
    values = [
        fit(each_sample(row, n, m, replacement))
        for fit, row, n in zip(fitted, rows, sizes, strict=True)
    ]
    size = max(np.abs(v).max() for v in values)
    return *np.array([(v.mean(), v.var()) for v in values]).T, size


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize("metric", [AUC(), Recall(k=3), AveragePrecision(), NDCG(k=2)], ids=str)
@pytest.mark.parametrize("replacement", [True, False])
def test_moments_of_a_correction_are_those_over_all_samples(estimator, metric, replacement):
    n, m = 7, 3
    ranks = Ranks.from_lists(PLACEMENTS)
    fitted = estimator.fit(metric, Draw(m, n_items=n, replacement=replacement))
    same = [fitted] * len(PLACEMENTS), PLACEMENTS, [n] * len(PLACEMENTS)
    mean, variance, size = moments_over_all_samples(*same, m, replacement)
    np.testing.assert_allclose(fitted.expectation(ranks), mean, atol=1e-13 * size)
    np.testing.assert_allclose(fitted.bias(ranks), mean - metric(ranks, n), atol=1e-13 * size)
    np.testing.assert_allclose(fitted.variance(ranks), variance, atol=1e-13 * size**2)


@pytest.mark.parametrize(
    "estimator", [Uncorrected(), BiasVariance(0.1), ConstrainedLeastSquares()], ids=str
)
@pytest.mark.parametrize("replacement", [True, False])
def test_each_instance_has_the_fit_of_its_own_number_of_items(estimator, replacement):
    m, metric = 3, AveragePrecision()
    sizes = [9, 7, 8, 7, 9, 9, 8, 7]
    ranks = Ranks.from_lists(PLACEMENTS)
    draw = Draw(m, n_items=sizes, replacement=replacement)
    fitted = estimator.fit(metric, draw)
    alone = [estimator.fit(metric, Draw(m, n_items=n, replacement=replacement)) for n in sizes]
    mean, variance, size = moments_over_all_samples(alone, PLACEMENTS, sizes, m, replacement)
    np.testing.assert_allclose(fitted.expectation(ranks), mean, atol=1e-13 * size)
    np.testing.assert_allclose(fitted.bias(ranks), mean - metric(ranks, sizes), atol=1e-13 * size)
    np.testing.assert_allclose(fitted.variance(ranks), variance, atol=1e-13 * size**2)
    drawn = draw.rvs(ranks, rng=0)
    want = [fit(drawn[x])[0] for x, fit in enumerate(alone)]
    np.testing.assert_array_equal(fitted(drawn), want)
    for q in (1, 3):
        np.testing.assert_array_equal(fitted.terms(q, n_items=8), alone[2].terms(q))


@pytest.mark.parametrize("estimator", [Uncorrected(), BiasVariance(0.1)], ids=str)
def test_moments_of_a_correction_with_graded_gains(estimator):
    n, m, row, gains = 8, 3, (2, 4, 7), [1, 5, 2]
    fitted = estimator.fit(NDCG(k=4), Draw(m, n_items=n))
    values = fitted(each_sample(row, n, m, True, gains))
    graded = Ranks.from_lists([row], [gains])
    assert fitted.expectation(graded)[0] == pytest.approx(values.mean(), rel=1e-12)
    assert fitted.variance(graded)[0] == pytest.approx(values.var(), rel=1e-12)
    plain = Ranks.from_lists([row])
    assert fitted.variance(graded)[0] != pytest.approx(fitted.variance(plain)[0])


def test_expectation_follows_how_the_ranks_were_really_sampled():
    row, n, m = (2, 5, 6), 9, 3
    fitted = BiasVariance(0.1).fit(NDCG(), Draw(m, n_items=30))
    values = fitted(each_sample(row, n, m, replacement=False))
    ranks, real = Ranks.from_lists([row]), Draw(m, n_items=n, replacement=False)
    assert fitted.expectation(ranks, real)[0] == pytest.approx(values.mean())
    assert fitted.variance(ranks, real)[0] == pytest.approx(values.var())
    assert fitted.bias(ranks, real)[0] == pytest.approx(values.mean() - NDCG()(ranks)[0])
    with pytest.raises(ValueError, match=r"draw\.n_samples is 4; it was fitted for 3"):
        fitted.expectation(ranks, Draw(4, n_items=n))


@pytest.mark.parametrize("metric", ALL_SUMS, ids=str)
def test_uncorrected_is_the_metric_of_the_sampled_ranks(metric):
    draw = Draw(10, n_items=50)
    ranks = Ranks.from_lists([[3, 10, 11, 40], [1], [2, 50], [7, 8]])
    fitted = Uncorrected().fit(metric, draw)
    np.testing.assert_allclose(fitted.expectation(ranks), draw.expect(ranks, metric))
    for drawn in draw.rvs(ranks, repeats=20, rng=3):
        assert known(drawn.n_items).tolist() == [14, 11, 12, 12]
        np.testing.assert_allclose(fitted(drawn), metric(drawn))


@pytest.mark.parametrize("metric", [AUC(), Recall(k=4), AveragePrecision(), NDCG(k=9)], ids=str)
@pytest.mark.parametrize("replacement", [True, False])
def test_terms_are_fitted_as_one_item_each(metric, replacement):
    """Every fit of each term, from a row for each of its ranks."""
    n, q, m = 400, 4, 9
    draw = Draw(m, n_items=n, replacement=replacement)
    alone = Draw(m, n_items=n - q + 1, replacement=replacement)
    p = alone.pmf(np.arange(1, n - q + 2))
    uniform = np.full(n - q + 1, 1 / (n - q + 1))
    for estimator, tolerance in (
        (BiasVariance(0.1), 1e-11),
        (Multinomial(n_users=50), 1e-11),
        (BiasVariance(0), 1e-8),
        (ConstrainedLeastSquares(), 1e-4),  # as far as an interior method gets
    ):
        table = estimator.fit(metric, draw).terms(q)
        for j in range(1, q + 1):
            want = solved_slowly(estimator, None, (p, the_term(metric, j, q, n), uniform))
            size = np.abs(want).max()
            np.testing.assert_allclose(table[j - 1], want, atol=tolerance * size + 1e-15)


def test_rank_estimate_scales_the_hits_up():
    """The j-th best: j and its share of the irrelevant items, rounded down."""
    n, q, m = 1003, 3, 10
    table = RankEstimate().fit(AveragePrecision(), Draw(m, n_items=n)).terms(q)
    for j in range(1, q + 1):
        want = [j / (j + (n - q) * h // m) / q for h in range(m + 1)]
        np.testing.assert_allclose(table[j - 1], want)


def test_rank_estimate_of_auc_is_unbiased_for_several():
    ranks = Ranks.from_lists([[1, 2, 3], [50, 600, 998], [999, 1000]])
    fitted = RankEstimate(interpolation="linear").fit(AUC(), Draw(30, n_items=1000))
    np.testing.assert_allclose(fitted.bias(ranks), 0, atol=1e-13)


@pytest.mark.parametrize("estimator", [BiasVariance(0), BiasVariance(1e-3)], ids=str)
def test_least_bias_of_all_corrections_of_a_term(estimator):
    """Averaged over the ranks of one of two items, no other estimator has less."""
    draw, metric = Draw(5, n_items=60), AveragePrecision()
    ranks = Ranks.from_lists([(r, 60) for r in range(1, 60)])
    bias = {
        e: np.sum((e.fit(metric, draw).expectation(ranks) - metric(ranks)) ** 2)
        for e in (estimator, Uncorrected(), RankEstimate(), BiasVariance(1))
    }
    assert min(bias, key=lambda e: bias[e]) == estimator


def test_tables_are_fitted_once():
    fits = []

    @dataclass(frozen=True, eq=False)
    class Counted(Estimator):
        def solve(self, problem):
            fits.append((problem.order, problem.n_relevant, problem.n_items))
            return BiasVariance(0.1).solve(problem)

    draw = Draw(10, n_items=1000)
    fitted = Counted().fit(Recall(k=3), draw)
    ranks = Ranks.from_lists([[1, 4, 6, 8, 9], [3], [2, 5, 10, 90, 600]])
    assert fitted.terms(5) is fitted.terms(5)
    fitted.expectation(ranks), fitted.variance(ranks), fitted(draw.rvs(ranks, rng=0))
    # One relevant item, and the first three of five: the others are behind the cutoff.
    assert fits == [(1, 1, 1000), (1, 5, 996), (2, 5, 996), (3, 5, 996)]
    assert not fitted.terms(5)[3:].any()
    with pytest.raises(ValueError, match="read-only"):
        fitted.terms(5)[0, 0] = 1


@pytest.mark.parametrize("replacement", [True, False])
def test_variance_of_many_samples_of_many_items(replacement):
    """Against the other path: one relevant item of a million, where the chain has one link."""
    draw = Draw(300, n_items=10**6, replacement=replacement)
    fitted = BiasVariance(0.01).fit(NDCG(), draw)
    plain = np.array([1, 2, 1000, 10**6 - 5, 10**6])
    want = fitted.variance(plain)
    got = fitted.variance(Ranks.from_lists(plain[:, None]))
    np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-16)


def test_variance_of_thousands_of_instances_is_that_of_each():
    """So many that they are computed in several pieces."""
    few = Ranks.from_lists([(r, r + 3, 90) for r in range(1, 50)])
    fitted = Uncorrected().fit(NDCG(), Draw(10, n_items=100))
    each = fitted.variance(few)
    many = fitted.variance(few[np.arange(10_000) % 49])
    np.testing.assert_allclose(many, each[np.arange(10_000) % 49], rtol=1e-12)
    assert len(set(each)) == 49


# --- draws


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("row", [(1, 2, 3), (2, 5, 9), (3, 4, 8), (1, 8, 10)])
def test_draws_follow_the_joint_distribution(row, replacement):
    """Chi-square over all outcomes; a right sampler fails one test in ten million.

    The seed is fixed, so what passes once passes always.
    """
    n, m, repeats = 10, 4, 30_000
    possible, counts = np.unique(
        every_sampled_rank(row, n, m, replacement), axis=0, return_counts=True
    )
    # Other instances change nothing.
    users = Ranks.from_lists([[6], row, [2, 7]], n_items=n)[np.tile(np.arange(3), repeats)]
    drawn = Draw(m, replacement=replacement).rvs(users, rng=5).best.reshape(repeats, 6)
    found, observed = np.unique(drawn[:, 1:4], axis=0, return_counts=True)
    frequency = dict(zip(map(tuple, found), observed, strict=True))
    assert set(frequency) <= set(map(tuple, possible))
    seen = np.array([frequency.get(tuple(p), 0) for p in possible])
    expected = repeats * counts / counts.sum()
    # Outcomes of small expectation go into one, so that the chi-square distribution holds.
    rare = expected < 10
    seen, expected = (np.append(v[~rare], v[rare].sum()) for v in (seen, expected))
    seen, expected = seen[expected > 0], expected[expected > 0]
    if len(expected) > 1:
        assert stats.chisquare(seen, expected).pvalue > 1e-7


def test_instances_are_drawn_independently_of_each_other():
    """Three correlations of standard error 1/100: 5.4 of them has chance below 1e-6."""
    users = Ranks.from_lists([[40, 300], [40, 300], [90, 400]])
    draws = Draw(50, n_items=500).rvs(users, repeats=10_000, rng=9)
    first = np.array([drawn.best[::2] for drawn in draws])
    correlation = np.corrcoef(first.T) - np.eye(3)
    assert np.abs(correlation).max() < 5.4 / 100
    assert first.std(axis=0).min() > 1


def test_draws_keep_what_belongs_to_the_instance():
    users = Ranks.from_lists([[3, 9], [], [4]], gains=[[1, 5], [], [2]])
    draw = Draw(5, n_items=20)
    drawn = draw.rvs(users, rng=0)
    assert known(drawn.gains).tolist() == [1, 5, 2]
    assert known(drawn.ideal_gains).tolist() == [5, 1, 2]
    assert drawn.n_relevant.tolist() == [2, 0, 1]
    assert known(drawn.n_items).tolist() == [7, 5, 6]
    assert drawn.best.tolist() == draw.rvs(users, repeats=1, rng=0)[0].best.tolist()
    assert NDCG()(drawn).shape == (3,)


def test_the_expectation_is_the_mean_of_draws():
    """Six standard errors, of the exact variance: one false alarm in 10**8 a mean, of 120 means.

    One run in 2,000 is added for what hardly ever occurs, as a mean of such is not normal.
    """
    rng = np.random.default_rng(4)
    rows = [rng.choice(2000, size=q, replace=False) + 1 for q in rng.integers(1, 9, size=40)]
    users = Ranks.from_lists(rows, n_items=rng.integers(2000, 3000, size=40))
    draw = Draw(60, replacement=False)
    drawn = draw.rvs(users, repeats=2000, rng=rng)
    for metric in (NDCG(k=10), AveragePrecision(), Recall(k=5)):
        values = np.array([metric(d) for d in drawn])
        want = draw.expect(users, metric)
        fitted = Uncorrected().fit(metric, Draw(60, n_items=2000, replacement=False))
        exact = fitted.variance(users, draw)
        assert (np.abs(values.mean(axis=0) - want) < 6 * np.sqrt(exact / 2000) + 1 / 2000).all()


# --- what cannot be


SHORT = Ranks.from_recommendations([[1, 2, 3], [5]], [[3], [5, 6]])
BAD_DRAWS = [
    ({"ranks": SHORT}, r"ranks\[1\] has 2 relevant items but 1 ranks; each relevant item must"),
    ({"ranks": Ranks.from_lists([[1], [3, 11]])}, r"ranks\[1\] is 11; .* at most n_items"),
    ({"ranks": Ranks.from_lists([[1], [11]])}, r"ranks\[1\] is 11; .* at most n_items"),
    ({"n_items": [5, 2]}, r"n_items\[1\] is 2; .* relevant items, 3"),
    ({"n_items": [9, 3]}, "n_items is 3 for instance 1; some items must be irrelevant"),
    ({"n_items": [9, 9, 9]}, r"n_items has shape \(3,\), ranks has shape \(2,\)"),
    ({"n_items": 9.5}, "n_items is 9.5; n_items must be whole"),
    (
        {"n_items": None},
        r"n_items is None, .*; give it: Draw\(5, n_items=...\)",
    ),
    ({"n_samples": 0}, "n_samples is 0; n_samples must be at least 1"),
    ({"n_samples": 8, "replacement": False}, "n_samples is 8; .* irrelevant items, 7 for inst"),
    ({"replacement": "no"}, "replacement is 'no'; replacement must be True, False or"),
    (
        {"ranks": Ranks.from_lists([[1], [3]], n_items=[10, 11])},
        r"n_items\[1\] is 10; n_items must be left out, .* or what ranks knows, 11",
    ),
]


def fitted_for(draw):
    return Uncorrected().fit(NDCG(), Draw(draw.n_samples, n_items=20))


CALLS = {
    "rvs": lambda ranks, draw: draw.rvs(ranks, rng=0),
    "expect": lambda ranks, draw: draw.expect(ranks, NDCG()),
    "expectation": lambda ranks, draw: fitted_for(draw).expectation(ranks, draw),
    "bias": lambda ranks, draw: fitted_for(draw).bias(ranks, draw),
    "variance": lambda ranks, draw: fitted_for(draw).variance(ranks, draw),
}


@pytest.mark.parametrize(("change", "message"), BAD_DRAWS)
@pytest.mark.parametrize("function", CALLS)
def test_bad_draws(change, message, function):
    given = {"ranks": Ranks.from_lists([[1], [1, 2, 3]]), "n_samples": 5, "n_items": 10, **change}
    ranks, m = given.pop("ranks"), given.pop("n_samples")
    with pytest.raises(ValueError, match=message):
        CALLS[function](ranks, Draw(m, **given))


@pytest.mark.parametrize("metric", NO_SUMS, ids=str)
@pytest.mark.parametrize("n_items", [5, 10])  # of five, only the last two ranks hold no hit
def test_a_metric_that_is_no_sum_over_its_items(metric, n_items):
    two, draw = Ranks.from_lists([[1, 2]]), Draw(5, n_items=n_items)
    for estimate in (
        lambda: draw.expect(two, metric),
        lambda: BiasVariance(0.1).fit(metric, draw).expectation(two),
        lambda: Uncorrected().fit(metric, draw)(two),
    ):
        with pytest.raises(
            ValueError, match=r"metric is .*hits\); it must be a sum over the relevant"
        ):
            estimate()


def test_bad_gains():
    graded = Ranks.from_lists([[1, 2]], gains=[[3, 1]])
    with pytest.raises(ValueError, match='ideal is "full", k items of gain 1'):
        Draw(5, n_items=10).expect(graded, NDCG(k=2, ideal="full"))


def test_bad_sampled_ranks():
    fitted = BiasVariance(0.1).fit(Recall(k=2), Draw(10, n_items=100))
    with pytest.raises(ValueError, match=r"sampled_ranks\[1\] has 2 relevant items but 1 ranks"):
        fitted(SHORT)
    assert fitted(Ranks.from_lists([[3, 12]])).shape == (1,)
    with pytest.raises(ValueError, match=r"sampled_ranks\[1\] is 13; .* n_samples \+ the number"):
        fitted(Ranks.from_lists([[3, 13]]))


def test_estimates_of_other_instances_than_those_of_the_draw():
    fitted = BiasVariance(0.1).fit(Recall(k=2), Draw(10, n_items=[20, 30]))
    three, real = Ranks.from_lists([[1, 2], [3, 4], [5, 6]]), Draw(10, n_items=40)
    with pytest.raises(ValueError, match="must hold the draw's 2 instances"):
        fitted(three)
    for call in (fitted.expectation, fitted.bias, fitted.variance):
        with pytest.raises(
            ValueError, match=r"must hold the draw's 2 instances|n_items has shape \(2,\)"
        ):
            call(three)
        with pytest.raises(ValueError, match="must hold the draw's 2 instances"):
            call(three, real)


def test_a_mapped_cutoff_is_for_one_relevant_item():
    with pytest.raises(ValueError, match="n_relevant is 2; n_relevant must be 1 for MappedCutoff"):
        MappedCutoff().fit(Recall(k=2), Draw(10, n_items=20)).terms(2)
