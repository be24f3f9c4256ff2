"""From the sampled rank back: tables of estimates."""

import tracemalloc
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import lsq_linear
from scipy.special import gammaln

from sampled_metrics import (
    AUC,
    NDCG,
    AveragePrecision,
    BiasVariance,
    ConstrainedLeastSquares,
    LeastSquares,
    RankEstimate,
    Recall,
    Uncorrected,
    expected_metric,
    rank_distribution,
    sample_ranks,
)

N, M = 3541, 100


@pytest.mark.parametrize("metric", [AUC(), Recall(k=10), AveragePrecision(), NDCG(k=10)], ids=str)
def test_uncorrected_is_the_metric_of_the_sampled_rank(metric):
    fitted = Uncorrected().fit(metric, n_items=N, n_samples=M)
    sampled = np.arange(1, M + 2)
    np.testing.assert_array_equal(fitted(sampled), metric(sampled, n_items=M + 1))
    ranks = np.array([1, 7, 100, N])
    for replacement in (True, False):
        np.testing.assert_array_equal(
            fitted.expectation(ranks, replacement=replacement),
            expected_metric(metric, ranks, N, M, replacement),
        )


@pytest.mark.parametrize(("divisor", "d"), [("m", M), ("m+1", M + 1)])
def test_rank_estimate_is_equation_20_rounded_down(divisor, d):
    fitted = RankEstimate(divisor).fit(AveragePrecision(), n_items=N, n_samples=M)
    want = [1 / (1 + ((N - 1) * (i - 1)) // d) for i in range(1, M + 2)]
    np.testing.assert_allclose(fitted.values, want)


def test_rank_estimate_is_unbiased_for_the_rank():
    """Section 5.1, where no rounding interferes: m divides n - 1, and AUC is linear."""
    n, m = 1001, 50
    fitted = RankEstimate().fit(AUC(), n_items=n, n_samples=m)
    ranks = np.arange(1, n + 1)
    np.testing.assert_allclose(fitted.expectation(ranks), AUC()(ranks, n), atol=1e-12)


def test_rank_estimate_keeps_the_best_and_the_worst_rank():
    fitted = RankEstimate().fit(AUC(), n_items=N, n_samples=M)
    assert fitted.values[[0, -1]].tolist() == [1, 0]


def test_expectation_follows_how_the_ranks_were_really_sampled():
    fitted = RankEstimate().fit(Recall(k=10), n_items=N, n_samples=M)
    ranks, n_items = np.array([5, 50]), np.array([3000, 3600])
    want = rank_distribution(ranks, n_items, M, replacement=False) @ fitted.values
    np.testing.assert_allclose(fitted.expectation(ranks, n_items, replacement=False), want)


def test_lookup_keeps_the_shape():
    fitted = Uncorrected().fit(Recall(k=1), n_items=N, n_samples=M)
    assert fitted([[1, 2], [3, 1]]).tolist() == [[1, 0], [0, 1]]


def test_rank_estimate_on_a_straight_line():
    """Between 1/2 and 1/3 at rank 2.5, and so on; the last rank has none behind it."""
    fitted = RankEstimate(interpolation="linear").fit(AveragePrecision(), n_items=7, n_samples=4)
    want = [1, (1 / 2 + 1 / 3) / 2, 1 / 4, (1 / 5 + 1 / 6) / 2, 1 / 7]
    np.testing.assert_allclose(fitted.values, want)


# --- least squares, constrained least squares, bias and variance

SMOOTH = [AUC(), Recall(k=10), Recall(k=2000), AveragePrecision(), NDCG(), NDCG(k=10)]


def all_ranks(metric, n, m, replacement=True, prior=None):
    """Equation 21 with a row for each of the n ranks: P(i | r), M(r) and p(r)."""
    ranks = np.arange(1, n + 1)
    p = np.full(n, 1 / n) if prior is None else prior
    return rank_distribution(ranks, n, m, replacement), metric(ranks, n_items=n), p


def objective(values, gamma, problem):
    """Equation 24."""
    p_sampled, exact, prior = problem
    mean = p_sampled @ values
    variance = p_sampled @ values**2 - mean**2
    return prior @ ((mean - exact) ** 2 + gamma * variance)


def equation_25(gamma, problem):
    p_sampled, exact, prior = problem
    weighted = p_sampled.T * prior
    matrix = (1 - gamma) * weighted @ p_sampled + gamma * np.diag(weighted.sum(axis=1))
    return np.linalg.solve(matrix, weighted @ exact)


@pytest.mark.parametrize("metric", SMOOTH, ids=str)
@pytest.mark.parametrize("gamma", [1, 0.1, 0.001])
@pytest.mark.parametrize(
    ("n", "m", "replacement"),
    [
        (3541, 100, True),
        (3541, 100, False),
        (30_000, 50, True),
        (300, 299, False),
        (900, 400, False),
    ],
)
def test_bias_variance_is_equation_25(metric, gamma, n, m, replacement):
    fitted = BiasVariance(gamma).fit(metric, n, m, replacement)
    want = equation_25(gamma, all_ranks(metric, n, m, replacement))
    np.testing.assert_allclose(fitted.values, want, atol=1e-9 * np.abs(want).max())


@pytest.mark.slow
@pytest.mark.parametrize("metric", [AveragePrecision(), NDCG(), Recall(k=10)], ids=str)
@pytest.mark.parametrize("replacement", [True, False])
def test_bias_variance_of_many_items_and_samples(metric, replacement):
    """n = 100,000 and m = 500, where all ranks need 400 MB: block by block."""
    n, m, gamma = 100_000, 500, 0.1
    matrix, target, share = np.zeros((m + 1, m + 1)), np.zeros(m + 1), np.zeros(m + 1)
    for ranks in np.array_split(np.arange(1, n + 1), 20):
        p_sampled = rank_distribution(ranks, n, m, replacement)
        matrix += p_sampled.T @ p_sampled / n
        target += p_sampled.T @ metric(ranks) / n
        share += p_sampled.sum(axis=0) / n
    want = np.linalg.solve((1 - gamma) * matrix + gamma * np.diag(share), target)
    got = BiasVariance(gamma).fit(metric, n, m, replacement).values
    np.testing.assert_allclose(got, want, atol=1e-9 * np.abs(want).max())


@given(data=st.data())
def test_bias_variance_minimizes_its_objective(data):
    """Whatever the prior: no step in any direction is better."""
    n = data.draw(st.integers(3, 12))
    replacement = data.draw(st.booleans())
    m = data.draw(st.integers(1, 6 if replacement else min(6, n - 1)))
    weight = st.floats(0.01, 1)
    prior = np.array(data.draw(st.lists(weight, min_size=n, max_size=n)))
    prior /= prior.sum()
    gamma = data.draw(st.floats(0.01, 1))
    metric = data.draw(st.sampled_from([Recall(k=1), AveragePrecision(), NDCG(), AUC()]))
    fitted = BiasVariance(gamma).fit(metric, n, m, replacement, prior)
    problem = all_ranks(metric, n, m, replacement, prior)
    best = objective(fitted.values, gamma, problem)
    step = np.array(data.draw(st.lists(st.floats(-1, 1), min_size=m + 1, max_size=m + 1)))
    for size in (1, 1e-2, -1e-2):
        assert objective(fitted.values + size * step, gamma, problem) >= best - 1e-12


def test_gamma_one_is_the_mean_of_the_metric_given_the_sampled_rank():
    """Equation 26, with a prior that is not uniform."""
    prior = 1 / np.arange(1, N + 1)
    prior /= prior.sum()
    fitted = BiasVariance(gamma=1).fit(NDCG(), N, M, prior=prior)
    p_sampled, exact, _ = all_ranks(NDCG(), N, M)
    posterior = p_sampled.T * prior
    want = posterior @ exact / posterior.sum(axis=1)
    np.testing.assert_allclose(fitted.values, want, rtol=1e-12)


@pytest.mark.parametrize("decay", [0.9, 0.95, 0.999])
@pytest.mark.parametrize("gamma", [1, 0.1])
def test_sampled_ranks_that_hardly_occur_have_accurate_estimates_too(decay, gamma):
    """A prior that leaves next to nothing for most ranks; compared in units of one estimate."""
    n, m = 1000, 50
    prior = decay ** np.arange(n)
    prior /= prior.sum()
    p_sampled, exact, _ = all_ranks(AveragePrecision(), n, m)
    posterior = p_sampled.T * prior
    posterior /= posterior.sum(axis=1, keepdims=True)  # p(r | i), a row for each i
    got = BiasVariance(gamma).fit(AveragePrecision(), n, m, prior=prior).values
    left = gamma * got + (1 - gamma) * posterior @ (p_sampled @ got)
    np.testing.assert_allclose(left, posterior @ exact, rtol=1e-9)


def test_three_items_and_many_samples():
    """Only the second of three ranks is ever between the first and the last sampled rank."""
    got = BiasVariance(gamma=1).fit(AveragePrecision(), n_items=3, n_samples=200).values
    np.testing.assert_allclose(got, [1, *[1 / 2] * 199, 1 / 3], rtol=1e-12)


def test_nearly_as_many_samples_as_items():
    """The last node of the quadrature stays within the ranks."""
    got = BiasVariance(0.1).fit(Recall(k=10), n_items=491, n_samples=300)
    want = BiasVariance(0.1).fit(Recall(k=10), 491, 300, prior=np.full(491, 1 / 491))
    np.testing.assert_allclose(got.values, want.values, rtol=1e-8, atol=1e-12)


def test_a_prior_of_many_ranks_needs_little_memory():
    n, m = 300_000, 100
    fit = partial(LeastSquares().fit, Recall(k=10), n, m, prior=np.full(n, 1 / n))
    tracemalloc.start()
    fit()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.6 * 8 * n * (m + 1)  # bytes of all probabilities at once


def test_uniform_prior_is_the_default():
    for estimator in (BiasVariance(0.1), ConstrainedLeastSquares()):
        fitted = estimator.fit(Recall(k=10), N, M)
        given_prior = estimator.fit(Recall(k=10), N, M, prior=np.full(N, 1 / N))
        np.testing.assert_allclose(fitted.values, given_prior.values, atol=1e-11)


@pytest.mark.parametrize("metric", SMOOTH, ids=str)
@pytest.mark.parametrize("replacement", [True, False])
def test_least_squares(metric, replacement):
    """Few samples: the solution of equation 22. Small gamma tends to it."""
    n, m = 5000, 6
    p_sampled, exact, _ = all_ranks(metric, n, m, replacement)
    want = np.linalg.lstsq(p_sampled, exact)[0]
    got = LeastSquares().fit(metric, n, m, replacement).values
    np.testing.assert_allclose(got, want, atol=1e-9 * np.abs(want).max())
    near = BiasVariance(gamma=1e-12).fit(metric, n, m, replacement).values
    np.testing.assert_allclose(near, want, atol=1e-5 * np.abs(want).max())


def test_least_squares_of_many_samples_is_no_worse_than_of_few():
    """Double precision cannot hold the solution; the estimates are still the least biased."""
    problem = all_ranks(AveragePrecision(), N, M)
    bias = objective(LeastSquares().fit(AveragePrecision(), N, M).values, 0, problem)
    for m in (10, 30):
        few = all_ranks(AveragePrecision(), N, m)
        assert bias < objective(LeastSquares().fit(AveragePrecision(), N, m).values, 0, few)
    for gamma in (1e-3, 1e-6):
        assert bias < objective(
            BiasVariance(gamma).fit(AveragePrecision(), N, M).values, 0, problem
        )


def test_without_replacement_all_items_leave_no_bias():
    """m = n - 1: the sample is everything, and so is the sampled rank."""
    for metric in (Recall(k=3), AveragePrecision(), NDCG()):
        fitted = LeastSquares().fit(metric, n_items=20, n_samples=19, replacement=False)
        np.testing.assert_allclose(fitted.values, metric(np.arange(1, 21)), atol=1e-12)


@pytest.mark.parametrize("non_negative", [True, False])
@pytest.mark.parametrize("metric", [Recall(k=10), AveragePrecision(), NDCG(k=10), AUC()], ids=str)
def test_constrained_least_squares_against_another_solver(metric, non_negative):
    """Bounds on the differences of neighbors, by an interior method and with a row per rank."""
    n, m = 200, 8
    problem = all_ranks(metric, n, m)
    got = ConstrainedLeastSquares(non_negative).fit(metric, n, m).values
    assert (np.diff(got) <= 1e-12).all()
    assert not non_negative or got[-1] >= 0
    lowest = np.append(np.zeros(m), 0 if non_negative else -np.inf)
    sums = np.triu(np.ones((m + 1, m + 1)))
    solved = lsq_linear(problem[0] @ sums, problem[1], (lowest, np.inf), method="trf", tol=1e-15)
    np.testing.assert_allclose(got, sums @ solved.x, atol=1e-5)
    assert objective(got, 0, problem) <= objective(sums @ solved.x, 0, problem) + 1e-14


@pytest.mark.parametrize("n", [N, 10**9])
@pytest.mark.parametrize("non_negative", [True, False])
def test_constrained_least_squares_at_scale_is_optimal(n, non_negative):
    """The conditions of Karush, Kuhn and Tucker, in units of the largest entry of A'b."""
    m = 100
    got = ConstrainedLeastSquares(non_negative).fit(Recall(k=10), n, m).values
    assert (np.diff(got) <= 0).all()
    # All of Recall@10 is in the first ranks; A'A is known for a uniform prior, for large n.
    p_head = rank_distribution(np.arange(1, 11), n, m)
    if n == N:
        p_sampled, _, _ = all_ranks(Recall(k=10), n, m)
        matrix = p_sampled.T @ p_sampled / n
    else:
        i = np.arange(m + 1)
        log_choose = gammaln(m + 1) - gammaln(i + 1) - gammaln(m - i + 1)
        both = i[:, None] + i
        log_beta = gammaln(both + 1) + gammaln(2 * m - both + 1) - gammaln(2 * m + 2)
        matrix = np.exp(log_choose[:, None] + log_choose + log_beta)  # of a continuous rank
    target = p_head.sum(axis=0) / n
    gradient = np.cumsum(matrix @ got - target) / target.max()  # of a rise of all up to i
    drops = -np.diff(np.append(got, 0))
    tolerance = 1e-6
    free = np.append(drops[:-1] > 0, drops[-1] > 0 or not non_negative)
    assert (np.abs(gradient[free]) < tolerance).all()
    assert (gradient > -tolerance).all()


@pytest.mark.parametrize("estimator", [LeastSquares(), ConstrainedLeastSquares()], ids=str)
def test_no_bias_where_none_is_needed(estimator):
    """AUC is linear in the rank, and its sampled value has no bias to begin with."""
    ranks = np.arange(1, N + 1)
    np.testing.assert_allclose(estimator.fit(AUC(), N, M).bias(ranks), 0, atol=1e-12)


ESTIMATORS = [
    Uncorrected(),
    RankEstimate(),
    RankEstimate(interpolation="linear"),
    BiasVariance(0.1),
    ConstrainedLeastSquares(),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize("replacement", [True, False])
def test_expectation_bias_and_variance(estimator, replacement):
    """Against the sums, and against draws: six standard errors, one false alarm in 10**8."""
    fitted = estimator.fit(NDCG(k=10), n_items=500, n_samples=30, replacement=replacement)
    ranks = np.array([1, 2, 10, 11, 77, 499, 500])
    p = rank_distribution(ranks, 500, 30, replacement)
    mean = p @ fitted.values
    variance = (p * (fitted.values - mean[:, None]) ** 2).sum(axis=1)
    np.testing.assert_allclose(fitted.expectation(ranks), mean, atol=1e-14)
    np.testing.assert_allclose(fitted.bias(ranks), mean - NDCG(k=10)(ranks), atol=1e-14)
    np.testing.assert_allclose(fitted.variance(ranks), variance, atol=1e-12)
    drawn = fitted(sample_ranks(ranks, 500, 30, replacement, repeats=20_000, rng=0))
    error = np.sqrt(variance / 20_000) + 1e-12
    assert (np.abs(drawn.mean(axis=0) - mean) < 6 * error).all()


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_bad_input(estimator):
    fitted = estimator.fit(Recall(k=10), n_items=N, n_samples=M)
    with pytest.raises(ValueError, match=r"sampled_ranks\[1\] is 102; .* at most n_samples \+ 1"):
        fitted([1, 102])
    with pytest.raises(ValueError, match=r"sampled_ranks\[0\] is 0"):
        fitted([0])
    with pytest.raises(ValueError, match=r"ranks\[1\] is 3542; ranks must be at most n_items"):
        fitted.bias([1, 3542])
    with pytest.raises(ValueError, match="n_items is 1; n_items must be at least 2"):
        estimator.fit(Recall(k=10), n_items=1, n_samples=M)
    with pytest.raises(ValueError, match="n_samples is 0; n_samples must be at least 1"):
        estimator.fit(Recall(k=10), n_items=N, n_samples=0)
    with pytest.raises(ValueError, match="n_samples is 9; without replacement it must be at most"):
        estimator.fit(Recall(k=10), n_items=9, n_samples=9, replacement=False)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ([0.5, 0.5, 0.5], "prior sums to 1.5; it must sum to 1"),
        ([0.5, 0.7, -0.2], r"prior\[2\] is -0.2; prior must be 0 or above"),
        ([0.5, np.nan, 0.5], r"prior\[1\] is nan"),
        ([0.5, 0.5], r"prior has shape \(2,\); it must have one entry per rank, \(3,\)"),
        (["1", "0", "0"], "prior has dtype <U1; it must be one array of numbers"),
        ([[1], [0, 0]], "prior is ragged"),
    ],
)
def test_bad_prior(estimator, prior, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(Recall(k=1), n_items=3, n_samples=2, prior=prior)


@pytest.mark.parametrize("estimator", [BiasVariance(0.1), LeastSquares()], ids=str)
def test_prior_that_makes_a_sampled_rank_impossible(estimator):
    with pytest.raises(ValueError, match="no rank that the prior allows leads to sampled rank 2"):
        estimator.fit(Recall(k=1), n_items=3, n_samples=2, prior=[1, 0, 0])


def test_bad_parameters():
    with pytest.raises(ValueError, match="divisor is 'n'; divisor must be one of m, m\\+1"):
        RankEstimate(divisor="n")
    with pytest.raises(ValueError, match="interpolation is 'cubic'; interpolation must be one of"):
        RankEstimate(interpolation="cubic")
    with pytest.raises(ValueError, match=r"gamma is -0\.1; gamma must be positive or 0"):
        BiasVariance(gamma=-0.1)
    with pytest.raises(ValueError, match=r"gamma is 1\.5; gamma must be at most 1"):
        BiasVariance(gamma=1.5)
    with pytest.raises(ValueError, match="gamma is 'small'; gamma must be a number"):
        BiasVariance(gamma="small")
    with pytest.raises(ValueError, match="non_negative is 1; non_negative must be True or False"):
        ConstrainedLeastSquares(non_negative=1)
