"""Several relevant items: everything against all samples there are, and against one item's path."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import lsq_linear

from sampled_metrics import (
    AUC,
    F1,
    NDCG,
    AveragePrecision,
    BiasVariance,
    ConstrainedLeastSquares,
    LeastSquares,
    Precision,
    RankEstimate,
    Ranks,
    Recall,
    ReciprocalRank,
    Uncorrected,
    expected_metric,
    rank_distribution,
    sample_ranks,
)

METRICS = [
    AUC(),
    Precision(k=2),
    Recall(k=3),
    Recall(k=2, denominator="capped"),
    F1(k=2),
    AveragePrecision(),
    AveragePrecision(k=2),
    AveragePrecision(k=2, denominator="relevant"),
    AveragePrecision(denominator="hits"),
    ReciprocalRank(),
    ReciprocalRank(k=2),
    NDCG(),
    NDCG(k=3),
    NDCG(k=3, ideal="full"),
]
ESTIMATORS = [
    Uncorrected(),
    RankEstimate(),
    RankEstimate("m+1", interpolation="linear"),
    LeastSquares(),
    ConstrainedLeastSquares(),
    BiasVariance(0.1),
    BiasVariance(1e-6),
]


def every_sampled_rank(ranks, n, m, replacement):
    """The sampled ranks of one instance in all equally likely samples, a row for each sample."""
    ranks = np.array(ranks)
    others = np.setdiff1d(np.arange(1, n + 1), ranks)
    samples = product(others, repeat=m) if replacement else combinations(others, m)
    above = np.array(list(samples))[:, :, None] < ranks
    return np.arange(1, len(ranks) + 1) + above.sum(axis=1)


def each_sample(ranks, n, m, replacement, gains=None):
    """The same as Ranks of one instance per sample."""
    rows = every_sampled_rank(ranks, n, m, replacement)
    return Ranks.from_lists(rows, None if gains is None else [gains] * len(rows))


def all_placements(n, counts):
    """Every set of ranks of so many relevant items among n."""
    return [row for q in counts for row in combinations(range(1, n + 1), q)]


# --- expectation


@pytest.mark.parametrize("metric", METRICS, ids=str)
@pytest.mark.parametrize("replacement", [True, False])
def test_expectation_is_the_mean_over_all_samples(metric, replacement):
    n, m = 6, 3
    placements = all_placements(n, [1, 2, 3])
    want = [
        metric(each_sample(row, n, m, replacement), n_items=m + len(row)).mean()
        for row in placements
    ]
    got = expected_metric(metric, Ranks.from_lists(placements), n, m, replacement)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("gain", ["linear", "exponential"])
@pytest.mark.parametrize("k", [None, 2])
@pytest.mark.parametrize("replacement", [True, False])
def test_graded_gains(gain, k, replacement):
    """The gain stays with its item, wherever the sample puts it."""
    n, m, metric = 7, 3, NDCG(k=k, gain=gain)
    placements = [(1, 2, 7), (2, 5, 6), (3, 4), (6,)]
    gains = [[0.5, 3, 1], [4, 1, 2], [1, 3], [2]]
    graded = Ranks.from_lists(placements, gains)
    want = [
        metric(each_sample(row, n, m, replacement, gain), n_items=m + len(row)).mean()
        for row, gain in zip(placements, gains, strict=True)
    ]
    np.testing.assert_allclose(expected_metric(metric, graded, n, m, replacement), want, rtol=1e-12)
    plain = expected_metric(Recall(k=2), Ranks.from_lists(placements), n, m, replacement)
    np.testing.assert_allclose(expected_metric(Recall(k=2), graded, n, m, replacement), plain)


def some_ranks(n, most, least=1):
    rows = st.lists(st.integers(1, n), min_size=least, max_size=most, unique=True)
    return st.lists(rows, min_size=1, max_size=6).map(Ranks.from_lists)


@settings(max_examples=50)
@given(data=st.data(), n=st.integers(6, 10**6), m=st.integers(1, 200), replacement=st.booleans())
def test_sampled_auc_is_unbiased_for_any_number_of_relevant_items(data, n, m, replacement):
    ranks = data.draw(some_ranks(n, most=5))
    m = m if replacement else min(m, n - 5)
    got = expected_metric(AUC(), ranks, n, m, replacement)
    np.testing.assert_allclose(got, AUC()(ranks, n), atol=1e-11)


@settings(max_examples=50)
@given(data=st.data(), n=st.integers(4, 20))
def test_a_sample_of_all_irrelevant_items_is_exact(data, n):
    q = data.draw(st.integers(1, n - 1))
    rows = st.permutations(range(1, n + 1)).map(lambda order: order[:q])
    ranks = Ranks.from_lists(data.draw(st.lists(rows, min_size=1, max_size=4)))
    for metric in (NDCG(), AveragePrecision(k=5), Recall(k=3)):
        got = expected_metric(metric, ranks, n, n - q, replacement=False)
        np.testing.assert_allclose(got, metric(ranks, n), atol=1e-12)
    np.testing.assert_array_equal(
        sample_ranks(ranks, n, n - q, replacement=False, rng=0).values, ranks.values
    )


def test_an_instance_without_relevant_items_has_no_value():
    ranks, m = Ranks.from_lists([[], [3, 1], []]), 4
    values = expected_metric(NDCG(), ranks, [2, 9, 9], m, replacement=False)
    assert np.isnan(values).tolist() == [True, False, True]
    fitted = BiasVariance(0.1).fit(NDCG(), 9, m)
    for result in (fitted.expectation(ranks), fitted.variance(ranks), fitted.bias(ranks)):
        assert np.isnan(result).tolist() == [True, False, True]
    drawn = sample_ranks(ranks, 9, m, rng=0)
    assert drawn.n_relevant.tolist() == [0, 2, 0]
    assert np.isnan(fitted(drawn)).tolist() == [True, False, True]


def test_number_of_items_of_each_instance():
    ranks = Ranks.from_lists([[2, 9], [2, 9], [1, 4, 30]])
    got = expected_metric(AveragePrecision(), ranks, [10, 40, 40], 7)
    for x, n in enumerate([10, 40, 40]):
        one = Ranks.from_lists([ranks.values[ranks.offsets[x] : ranks.offsets[x + 1]]])
        assert got[x] == pytest.approx(expected_metric(AveragePrecision(), one, n, 7)[0], rel=1e-14)


# --- one relevant item


@settings(max_examples=50)
@given(data=st.data(), n=st.integers(2, 5000), m=st.integers(1, 100), replacement=st.booleans())
def test_one_relevant_item_is_the_path_of_plain_arrays(data, n, m, replacement):
    m = m if replacement else min(m, n - 1)
    plain = np.array(data.draw(st.lists(st.integers(1, n), min_size=1, max_size=8)))
    ranks = Ranks.coerce(plain)
    metric = data.draw(st.sampled_from([*METRICS, AveragePrecision(k=2, denominator="hits")]))
    np.testing.assert_array_equal(
        expected_metric(metric, ranks, n, m, replacement),
        expected_metric(metric, plain, n, m, replacement),
    )
    fitted = Uncorrected().fit(metric, n, m, replacement)
    for name in ("expectation", "bias"):
        of = getattr(fitted, name)
        np.testing.assert_array_equal(of(ranks), of(plain))
    np.testing.assert_allclose(fitted.variance(ranks), fitted.variance(plain), atol=1e-12)
    drawn = sample_ranks(plain, n, m, replacement, repeats=3, rng=1)
    for row, several in zip(
        drawn, sample_ranks(ranks, n, m, replacement, repeats=3, rng=1), strict=True
    ):
        np.testing.assert_array_equal(several.values, row)
        np.testing.assert_array_equal(fitted(several), fitted(row))


# --- corrections


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize("metric", [AUC(), Recall(k=3), AveragePrecision(), NDCG(k=2)], ids=str)
@pytest.mark.parametrize("replacement", [True, False])
def test_moments_of_a_correction_are_those_over_all_samples(estimator, metric, replacement):
    n, m = 7, 3
    placements = [(1,), (7,), (1, 2), (3, 7), (1, 2, 3), (2, 3, 6), (5, 6, 7), (1, 4, 5, 7)]
    ranks = Ranks.from_lists(placements)
    fitted = estimator.fit(metric, n, m, replacement)
    values = [fitted(each_sample(row, n, m, replacement)) for row in placements]
    mean, variance = np.array([(v.mean(), v.var()) for v in values]).T
    size = max(np.abs(v).max() for v in values)
    np.testing.assert_allclose(fitted.expectation(ranks), mean, atol=1e-13 * size)
    np.testing.assert_allclose(fitted.bias(ranks), mean - metric(ranks, n), atol=1e-13 * size)
    np.testing.assert_allclose(fitted.variance(ranks), variance, atol=1e-13 * size**2)


@pytest.mark.parametrize("estimator", [Uncorrected(), BiasVariance(0.1)], ids=str)
def test_moments_of_a_correction_with_graded_gains(estimator):
    n, m, row, gains = 8, 3, (2, 4, 7), [1, 5, 2]
    fitted = estimator.fit(NDCG(k=4), n, m)
    values = fitted(each_sample(row, n, m, True, gains))
    graded = Ranks.from_lists([row], [gains])
    assert fitted.expectation(graded)[0] == pytest.approx(values.mean(), rel=1e-12)
    assert fitted.variance(graded)[0] == pytest.approx(values.var(), rel=1e-12)
    plain = Ranks.from_lists([row])
    assert fitted.variance(graded)[0] != pytest.approx(fitted.variance(plain)[0])


def test_expectation_follows_how_the_ranks_were_really_sampled():
    row, n, m = (2, 5, 6), 9, 3
    fitted = BiasVariance(0.1).fit(NDCG(), 30, m)
    values = fitted(each_sample(row, n, m, replacement=False))
    ranks = Ranks.from_lists([row])
    assert fitted.expectation(ranks, n, replacement=False)[0] == pytest.approx(values.mean())
    assert fitted.variance(ranks, n, replacement=False)[0] == pytest.approx(values.var())


@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_uncorrected_is_the_metric_of_the_sampled_ranks(metric):
    n, m = 50, 10
    ranks = Ranks.from_lists([[3, 10, 11, 40], [1], [2, 50], [7, 8]])
    fitted = Uncorrected().fit(metric, n, m)
    np.testing.assert_allclose(fitted.expectation(ranks), expected_metric(metric, ranks, n, m))
    for drawn in sample_ranks(ranks, n, m, repeats=20, rng=3):
        np.testing.assert_allclose(fitted(drawn), metric(drawn, n_items=m + ranks.n_relevant))


def the_term(metric, j, q, n):
    """What the j-th best of q items adds to the metric, at its ranks j, ..., n - q + j."""
    before = [[*range(1, j), r, *range(n - q + j + 1, n + 1)] for r in range(j, n - q + j + 1)]
    rows = Ranks.from_lists(before)
    gain = metric._gain(rows, np.full(len(rows), n)).reshape(-1, q)[:, j - 1]
    return gain / metric._normalizer(rows, np.full(len(rows), n))


@pytest.mark.parametrize("metric", [AUC(), Recall(k=4), AveragePrecision(), NDCG(k=9)], ids=str)
@pytest.mark.parametrize("replacement", [True, False])
def test_terms_are_fitted_as_one_item_each(metric, replacement):
    """The normal equations of each term, and the bounds of its differences, a row for each rank."""
    n, q, m = 400, 4, 9
    tables = {
        e: e.fit(metric, n, m, replacement).terms(q)
        for e in (BiasVariance(0.1), LeastSquares(), ConstrainedLeastSquares())
    }
    p = rank_distribution(np.arange(1, n - q + 2), n - q + 1, m, replacement)
    for j in range(1, q + 1):
        target = the_term(metric, j, q, n)
        matrix = 0.9 * p.T @ p + 0.1 * np.diag(p.sum(axis=0))
        want = np.linalg.solve(matrix, p.T @ target)
        np.testing.assert_allclose(tables[BiasVariance(0.1)][j - 1], want, atol=1e-11)
        want = np.linalg.lstsq(p, target)[0]
        got = tables[LeastSquares()][j - 1]
        np.testing.assert_allclose(got, want, atol=1e-8 * np.abs(want).max() + 1e-15)
        sums = np.triu(np.ones((m + 1, m + 1)))
        want = sums @ lsq_linear(p @ sums, target, (0, np.inf), tol=1e-15).x
        np.testing.assert_allclose(tables[ConstrainedLeastSquares()][j - 1], want, atol=1e-5)


def test_rank_estimate_scales_the_hits_up():
    """The j-th best: j and its share of the irrelevant items, rounded down."""
    n, q, m = 1003, 3, 10
    table = RankEstimate().fit(AveragePrecision(), n, m).terms(q)
    for j in range(1, q + 1):
        want = [j / (j + (n - q) * h // m) / q for h in range(m + 1)]
        np.testing.assert_allclose(table[j - 1], want)


def test_rank_estimate_of_auc_is_unbiased_for_several():
    ranks = Ranks.from_lists([[1, 2, 3], [50, 600, 998], [999, 1000]])
    fitted = RankEstimate(interpolation="linear").fit(AUC(), n_items=1000, n_samples=30)
    np.testing.assert_allclose(fitted.bias(ranks), 0, atol=1e-13)


@pytest.mark.parametrize("estimator", [LeastSquares(), BiasVariance(1e-3)], ids=str)
def test_least_bias_of_all_corrections_of_a_term(estimator):
    """Averaged over the ranks of one of two items, no other estimator has less."""
    n, m, metric = 60, 5, AveragePrecision()
    ranks = Ranks.from_lists([(r, 60) for r in range(1, 60)])
    bias = {
        e: np.sum((e.fit(metric, n, m).expectation(ranks) - metric(ranks)) ** 2)
        for e in (estimator, Uncorrected(), RankEstimate(), BiasVariance(1))
    }
    assert min(bias, key=bias.get) == estimator


def test_tables_are_fitted_once():
    fits = []

    class Counted(BiasVariance):
        def _values(self, *args):
            fits.append(args[0])
            return super()._values(*args)

    fitted = Counted(0.1).fit(Recall(k=3), 1000, 10)
    ranks = Ranks.from_lists([[1, 4, 6, 8, 9], [3], [2, 5, 10, 90, 600]])
    assert fitted.terms(5) is fitted.terms(5)
    fitted.expectation(ranks), fitted.variance(ranks), fitted(sample_ranks(ranks, 1000, 10, rng=0))
    assert len(fits) == 4  # of one relevant item, and of the first three of five
    assert not fitted.terms(5)[3:].any()
    with pytest.raises(ValueError, match="read-only"):
        fitted.terms(5)[0, 0] = 1


def test_variance_of_many_samples_of_many_items():
    """Against the other path: one relevant item of a million, where the chain has one link."""
    for replacement in (True, False):
        fitted = BiasVariance(0.01).fit(NDCG(), 10**6, 300, replacement)
        plain = np.array([1, 2, 1000, 10**6 - 5, 10**6])
        want = fitted.variance(plain)
        got = fitted.variance(Ranks.coerce(plain))
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-16)


def test_variance_of_blocks_is_that_of_each(monkeypatch):
    ranks = Ranks.from_lists([(r, r + 3, 90) for r in range(1, 50)])
    fitted = Uncorrected().fit(NDCG(), 100, 10)
    whole = fitted.variance(ranks)
    monkeypatch.setattr("sampled_metrics.sampling._BLOCK", 500)
    np.testing.assert_allclose(fitted.variance(ranks), whole, rtol=1e-12)
    assert len(set(whole)) == 49


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
    counts_beside = np.tile([1, 3, 2], repeats)  # other instances change nothing
    users = Ranks(
        np.tile([6, *row, 2, 7], repeats), np.append(0, np.cumsum(counts_beside)), counts_beside
    )
    drawn = sample_ranks(users, n, m, replacement, rng=5).values.reshape(repeats, 6)
    found, observed = np.unique(drawn[:, 1:4], axis=0, return_counts=True)
    frequency = dict(zip(map(tuple, found), observed, strict=True))
    assert set(frequency) <= set(map(tuple, possible))
    seen = np.array([frequency.get(tuple(p), 0) for p in possible])
    expected = repeats * counts / counts.sum()
    # Outcomes of small expectation go into one, so that the chi-square law holds.
    rare = expected < 10
    seen, expected = (np.append(v[~rare], v[rare].sum()) for v in (seen, expected))
    seen, expected = seen[expected > 0], expected[expected > 0]
    if len(expected) > 1:
        assert stats.chisquare(seen, expected).pvalue > 1e-7


def test_instances_are_drawn_independently_of_each_other():
    """Three correlations of standard error 1/100: 5.4 of them has chance below 1e-6."""
    users = Ranks.from_lists([[40, 300], [40, 300], [90, 400]])
    first = np.array([d.values[::2] for d in sample_ranks(users, 500, 50, repeats=10_000, rng=9)])
    correlation = np.corrcoef(first.T) - np.eye(3)
    assert np.abs(correlation).max() < 5.4 / 100
    assert first.std(axis=0).min() > 1


def test_draws_keep_what_belongs_to_the_instance():
    users = Ranks.from_lists([[3, 9], [], [4]], gains=[[1, 5], [], [2]])
    drawn = sample_ranks(users, 20, 5, rng=0)
    assert drawn.gains.tolist() == [1, 5, 2]
    assert drawn.ideal_gains.tolist() == [5, 1, 2]
    assert drawn.n_relevant.tolist() == [2, 0, 1]
    assert drawn.values.tolist() == sample_ranks(users, 20, 5, repeats=1, rng=0)[0].values.tolist()
    assert NDCG()(drawn).shape == (3,)


def test_the_expectation_is_the_mean_of_draws():
    """Six standard errors, of the exact variance: one false alarm in 10**8 a mean, of 120 means.

    One run in 2,000 is added for what hardly ever occurs, as a mean of such is not normal.
    """
    rng = np.random.default_rng(4)
    rows = [rng.choice(2000, size=q, replace=False) + 1 for q in rng.integers(1, 9, size=40)]
    users = Ranks.from_lists(rows)
    n_items = rng.integers(2000, 3000, size=40)
    drawn = sample_ranks(users, n_items, 60, replacement=False, repeats=2000, rng=rng)
    for metric in (NDCG(k=10), AveragePrecision(), Recall(k=5)):
        values = np.array([metric(d) for d in drawn])
        want = expected_metric(metric, users, n_items, 60, replacement=False)
        exact = Uncorrected().fit(metric, 2000, 60, replacement=False).variance(users, n_items)
        assert (np.abs(values.mean(axis=0) - want) < 6 * np.sqrt(exact / 2000) + 1 / 2000).all()


# --- what cannot be


SHORT = Ranks.from_recommendations([[1, 2, 3], [5]], [[3], [5, 6]])
BAD_DRAWS = [
    ({"ranks": SHORT}, r"ranks\[1\] has 2 relevant items but 1 ranks; each relevant item must"),
    ({"ranks": Ranks.from_lists([[1], [3, 11]])}, r"ranks\[1\] holds rank 11; .* at most n_items"),
    ({"ranks": Ranks.from_lists([[1], [11]])}, r"ranks\[1\] is 11; ranks must be at most n_items"),
    ({"n_items": [5, 2]}, "n_items is 2 for instance 1, which has 3 relevant items"),
    ({"n_items": [9, 3]}, "n_items is 3 for instance 1; some items must be irrelevant"),
    ({"n_items": [9, 9, 9]}, r"n_items has shape \(3,\), ranks has shape \(2,\)"),
    ({"n_items": 9.5}, "n_items is 9.5; n_items must be whole"),
    ({"n_samples": 0}, "n_samples is 0; n_samples must be at least 1"),
    ({"n_samples": 8, "replacement": False}, "n_samples is 8; .* irrelevant items, 7 for inst"),
    ({"replacement": "no"}, "replacement is 'no'; replacement must be True or False"),
]


@pytest.mark.parametrize(("change", "message"), BAD_DRAWS)
def test_bad_draws(change, message):
    ranks = Ranks.from_lists([[1], [1, 2, 3]])
    draw = {"ranks": ranks, "n_items": 10, "n_samples": 5, "replacement": True, **change}
    for function in (
        lambda **kwargs: sample_ranks(**kwargs, rng=0),
        lambda **kwargs: expected_metric(NDCG(), **kwargs),
        lambda n_samples, **kwargs: Uncorrected().fit(NDCG(), 20, n_samples).expectation(**kwargs),
        lambda n_samples, **kwargs: Uncorrected().fit(NDCG(), 20, n_samples).variance(**kwargs),
    ):
        with pytest.raises(ValueError, match=message):
            function(**draw)


def test_bad_samples():
    two = Ranks.from_lists([[1, 2]])
    with pytest.raises(ValueError, match="rng is None"):
        sample_ranks(two, 10, 5, rng=None)
    with pytest.raises(ValueError, match="repeats is 0"):
        sample_ranks(two, 10, 5, repeats=0, rng=0)
    with pytest.raises(ValueError, match=r"n_items\[0\] is 2000000000; .* at most 10\*\*9"):
        sample_ranks(two, 2 * 10**9, 5, replacement=False, rng=0)


@pytest.mark.parametrize(
    "metric", [AveragePrecision(k=2, denominator="hits"), NDCG(k=3, ideal="hits")], ids=str
)
def test_a_metric_that_is_no_sum_over_its_items(metric):
    two = Ranks.from_lists([[1, 2]])
    for estimate in (
        lambda: expected_metric(metric, two, 10, 5),
        lambda: BiasVariance(0.1).fit(metric, 10, 5).expectation(two),
        lambda: Uncorrected().fit(metric, 10, 5)(two),
    ):
        with pytest.raises(ValueError, match=r"metric is .*hits\); .* must be a sum over them"):
            estimate()


def test_bad_gains():
    graded = Ranks.from_lists([[1, 2]], gains=[[3, 1]])
    with pytest.raises(ValueError, match='ideal is "full", k items of gain 1'):
        expected_metric(NDCG(k=2, ideal="full"), graded, 10, 5)


def test_bad_sampled_ranks():
    fitted = BiasVariance(0.1).fit(Recall(k=2), n_items=100, n_samples=10)
    with pytest.raises(ValueError, match=r"sampled_ranks\[1\] has 2 relevant items but 1 ranks"):
        fitted(SHORT)
    assert fitted(Ranks.from_lists([[3, 12]])).shape == (1,)
    with pytest.raises(ValueError, match=r"sampled_ranks.values\[1\] is 13; .* n_samples \+ q"):
        fitted(Ranks.from_lists([[3, 13]]))


def test_bad_terms():
    with pytest.raises(ValueError, match="n_relevant is 0; n_relevant must be at least 1"):
        Uncorrected().fit(Recall(k=2), 20, 10).terms(0)
    with pytest.raises(ValueError, match="n_relevant is 20; of 20 items, one or more must be irr"):
        Uncorrected().fit(Recall(k=2), 20, 10).terms(20)
    with pytest.raises(ValueError, match="n_relevant is 11; of 20 items, 10 or more must be irr"):
        Uncorrected().fit(Recall(k=2), 20, 10, replacement=False).terms(11)
    assert Uncorrected().fit(Recall(k=2), 20, 10, replacement=False).terms(10).shape == (10, 11)
    believed = BiasVariance(0.1).fit(Recall(k=2), 20, 10, prior=np.full(20, 0.05))
    assert believed.terms(1).shape == (1, 11)
    with pytest.raises(ValueError, match="n_relevant is 2; what is fitted with a prior is for one"):
        believed.expectation(Ranks.from_lists([[1, 2]]))
