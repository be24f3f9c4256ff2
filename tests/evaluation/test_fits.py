"""The fits of estimators, against a row for each exact rank, and in rational arithmetic."""

import tracemalloc
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln

from sampled_metrics import (
    AUC,
    NDCG,
    AveragePrecision,
    BiasVariance,
    Draw,
    RankEstimate,
    Recall,
    Uncorrected,
)
from sampled_metrics.corrections import ConstrainedLeastSquares
from shared import (
    ESTIMATORS,
    METRICS,
    RankBiasedPrecision,
    all_ranks,
    equation_25,
    fitted_slowly,
    least_squares,
    objective,
    ways,
)

N, M = 3541, 100
SMOOTH = [AUC(), Recall(k=10), Recall(k=2000), AveragePrecision(), NDCG(), NDCG(k=10)]
both_kinds = pytest.mark.parametrize("replacement", [True, False])


# --- all estimators of all metrics


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@both_kinds
@pytest.mark.parametrize(("n", "m"), [(2, 1), (8, 3), (600, 6)])
def test_every_fit_against_a_row_for_each_rank(estimator, replacement, n, m):
    draw = Draw(m, n_items=n, replacement=replacement)
    for metric in METRICS:
        got = estimator.fit(metric, draw).values
        want = fitted_slowly(estimator, metric, draw)
        # the interior method of the slow constrained fit stops early
        rough = 1e-5 if isinstance(estimator, ConstrainedLeastSquares) else 1e-7
        size = max(1e-2, np.abs(want).max())
        np.testing.assert_allclose(got, want, atol=rough * size, err_msg=str(metric))


@pytest.mark.parametrize(
    "estimator",
    [e for e in ESTIMATORS if hasattr(type(e), "prior") and "prior" in vars(e)],
    ids=str,
)
@both_kinds
def test_every_fit_with_a_prior(estimator, replacement):
    draw = Draw(5, n_items=300, replacement=replacement)
    prior = 1 / np.arange(1, 301) ** 1.2
    prior /= prior.sum()
    believed = type(estimator)(**{**vars(estimator), "prior": prior})
    for metric in METRICS:
        got, want = believed.fit(metric, draw).values, fitted_slowly(believed, metric, draw)
        rough = 1e-5 if isinstance(estimator, ConstrainedLeastSquares) else 1e-7
        np.testing.assert_allclose(
            got, want, atol=rough * max(1e-2, np.abs(want).max()), err_msg=str(metric)
        )


# --- estimates from the sampled rank alone


@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_uncorrected_is_the_metric_of_the_sampled_rank(metric):
    sampled = np.arange(1, M + 2)
    values = Uncorrected().fit(metric, Draw(M, n_items=N)).values
    np.testing.assert_allclose(values, metric(sampled, n_items=M + 1), rtol=1e-15)


@pytest.mark.parametrize(("divisor", "d"), [("m", M), ("m+1", M + 1)])
def test_rank_estimate_is_equation_20_rounded_down(divisor, d):
    fitted = RankEstimate(divisor).fit(AveragePrecision(), Draw(M, n_items=N))
    want = [1 / (1 + ((N - 1) * (i - 1)) // d) for i in range(1, M + 2)]
    np.testing.assert_allclose(fitted.values, want)


def test_rank_estimate_on_a_straight_line():
    """Between 1/2 and 1/3 at rank 2.5, and so on; the last rank has none behind it."""
    fitted = RankEstimate(interpolation="linear").fit(AveragePrecision(), Draw(4, n_items=7))
    want = [1, (1 / 2 + 1 / 3) / 2, 1 / 4, (1 / 5 + 1 / 6) / 2, 1 / 7]
    np.testing.assert_allclose(fitted.values, want)


def test_rank_estimate_is_unbiased_for_the_rank():
    """Section 5.1, where no rounding interferes: m divides n - 1, and AUC is linear."""
    n, m = 1001, 50
    fitted = RankEstimate().fit(AUC(), Draw(m, n_items=n))
    ranks = np.arange(1, n + 1)
    np.testing.assert_allclose(fitted.expectation(ranks), AUC()(ranks, n), atol=1e-12)


def test_rank_estimate_keeps_the_best_and_the_worst_rank():
    assert RankEstimate().fit(AUC(), Draw(M, n_items=N)).values[[0, -1]].tolist() == [1, 0]
    assert RankEstimate().fit(AUC(), Draw(M, n_items=2**52)).values[[0, -1]].tolist() == [1, 0]


# --- bias and variance


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
        (1000, 990, False),
        (1000, 999, False),
        (990, 1000, True),
    ],
)
def test_bias_variance_is_equation_25(metric, gamma, n, m, replacement):
    draw = Draw(m, n_items=n, replacement=replacement)
    want = equation_25(gamma, all_ranks(metric, draw))
    got = BiasVariance(gamma).fit(metric, draw).values
    np.testing.assert_allclose(got, want, atol=1e-9 * np.abs(want).max())


def rational_equation_25(gamma, metric, draw):
    """Equation 25 solved exactly, by elimination; only the metric's values are floats."""
    n, m = draw.n_items, draw.n_samples
    rows = []
    for r in range(1, n + 1):
        counts, total = ways(r, n, m, draw.replacement)
        rows.append([Fraction(count, total) for count in counts])
    exact = [Fraction(float(value)) for value in metric(np.arange(1, n + 1), n)]
    g, size = Fraction(gamma), m + 1
    system: Any = [
        [(1 - g) * sum(row[i] * row[j] for row in rows) for j in range(size)]
        + [sum(row[i] * value for row, value in zip(rows, exact, strict=True))]
        for i in range(size)
    ]
    for i in range(size):
        system[i][i] += g * sum(row[i] for row in rows)
    for i in range(size):
        for j in range(size):
            if j != i:
                factor = system[j][i] / system[i][i]
                system[j] = [a - factor * b for a, b in zip(system[j], system[i], strict=True)]
    return np.array([float(row[-1] / row[i]) for i, row in enumerate(system)])


@pytest.mark.parametrize("metric", [Recall(k=3), NDCG(), RankBiasedPrecision()], ids=str)
@pytest.mark.parametrize("gamma", [0.1, 1e-4, 9.9e-5, 1e-6, 1e-9, 1e-12])
@both_kinds
def test_a_small_gamma_in_rational_arithmetic(metric, gamma, replacement):
    draw = Draw(7, n_items=40, replacement=replacement)
    want = rational_equation_25(gamma, metric, draw)
    got = BiasVariance(gamma).fit(metric, draw).values
    np.testing.assert_allclose(got, want, atol=1e-8 * np.abs(want).max())


@pytest.mark.parametrize("gamma", [1e-5, 1e-8])
def test_a_small_gamma_with_many_samples_is_the_least_of_its_objective(gamma):
    """No step in any direction is better; neither are the neighbors among the gammas."""
    draw, metric = Draw(M, n_items=N), NDCG(k=10)
    rows = all_ranks(metric, draw)
    values = BiasVariance(gamma).fit(metric, draw).values
    least, rng = objective(values, gamma, rows), np.random.default_rng(0)
    for other in (gamma / 2, gamma * 2, 1e-4, 0):
        assert objective(BiasVariance(other).fit(metric, draw).values, gamma, rows) > least
    for size in (1, 1e-2, 1e-4):
        step = size * rng.normal(size=M + 1) * np.abs(values)
        assert objective(values + step, gamma, rows) > least


@pytest.mark.slow
@pytest.mark.parametrize("metric", [AveragePrecision(), NDCG(), Recall(k=10)], ids=str)
@both_kinds
def test_bias_variance_of_many_items_and_samples(metric, replacement):
    """n = 50,000 and m = 400, where all ranks need 160 MB: block by block."""
    n, m, gamma = 50_000, 400, 0.1
    draw = Draw(m, n_items=n, replacement=replacement)
    matrix, target, share = np.zeros((m + 1, m + 1)), np.zeros(m + 1), np.zeros(m + 1)
    for ranks in np.array_split(np.arange(1, n + 1), 20):
        p_sampled = draw.pmf(ranks)
        matrix += p_sampled.T @ p_sampled / n
        target += p_sampled.T @ metric(ranks) / n
        share += p_sampled.sum(axis=0) / n
    want = np.linalg.solve((1 - gamma) * matrix + gamma * np.diag(share), target)
    got = BiasVariance(gamma).fit(metric, draw).values
    np.testing.assert_allclose(got, want, atol=1e-9 * np.abs(want).max())


@settings(max_examples=50)
@given(data=st.data())
def test_bias_variance_minimizes_its_objective(data):
    """Whatever the prior: no step in any direction is better."""
    n = data.draw(st.integers(3, 12))
    replacement = data.draw(st.booleans())
    m = data.draw(st.integers(1, 6 if replacement else min(6, n - 1)))
    prior = np.array(data.draw(st.lists(st.floats(0.01, 1), min_size=n, max_size=n)))
    prior /= prior.sum()
    gamma = data.draw(st.floats(0.01, 1))
    metric, draw = data.draw(st.sampled_from(METRICS)), Draw(m, n_items=n, replacement=replacement)
    fitted = BiasVariance(gamma, prior).fit(metric, draw)
    rows = all_ranks(metric, draw, prior)
    best = objective(fitted.values, gamma, rows)
    step = np.array(data.draw(st.lists(st.floats(-1, 1), min_size=m + 1, max_size=m + 1)))
    for size in (1, 1e-2, -1e-2):
        assert objective(fitted.values + size * step, gamma, rows) >= best - 1e-12


def test_gamma_one_is_the_mean_of_the_metric_given_the_sampled_rank():
    """Equation 26, with a prior that is not uniform."""
    prior = 1 / np.arange(1, N + 1)
    prior /= prior.sum()
    fitted = BiasVariance(1, prior).fit(NDCG(), Draw(M, n_items=N))
    p_sampled, exact, _ = all_ranks(NDCG(), Draw(M, n_items=N))
    posterior = p_sampled.T * prior
    want = posterior @ exact / posterior.sum(axis=1)
    np.testing.assert_allclose(fitted.values, want, rtol=1e-12)


@pytest.mark.parametrize("decay", [0.9, 0.95, 0.999])
@pytest.mark.parametrize("gamma", [1, 0.1])
def test_sampled_ranks_that_hardly_occur_have_accurate_estimates_too(decay, gamma):
    """A prior that leaves next to nothing for most ranks; compared in units of one estimate.

    What no evaluation will ever see, once in 10**16 users, has fewer digits.
    """
    draw = Draw(50, n_items=1000)
    prior = decay ** np.arange(1000)
    prior /= prior.sum()
    p_sampled, exact, _ = all_ranks(AveragePrecision(), draw)
    posterior = p_sampled.T * prior
    share = posterior.sum(axis=1)
    posterior /= share[:, None]  # p(r | i), a row for each i
    got = BiasVariance(gamma, prior).fit(AveragePrecision(), draw).values
    left, right = gamma * got + (1 - gamma) * posterior @ (p_sampled @ got), posterior @ exact
    seen = share > 1e-16
    np.testing.assert_allclose(left[seen], right[seen], rtol=1e-9)
    np.testing.assert_allclose(left, right, rtol=1e-4)


def test_three_items_and_many_samples():
    """Only the second of three ranks is ever between the first and the last sampled rank."""
    got = BiasVariance(gamma=1).fit(AveragePrecision(), Draw(200, n_items=3)).values
    np.testing.assert_allclose(got, [1, *[1 / 2] * 199, 1 / 3], rtol=1e-12)


def test_nearly_as_many_samples_as_items():
    """The last node of the quadrature stays within the ranks."""
    got = BiasVariance(0.1).fit(Recall(k=10), Draw(300, n_items=491))
    want = BiasVariance(0.1, np.full(491, 1 / 491)).fit(Recall(k=10), Draw(300, n_items=491))
    np.testing.assert_allclose(got.values, want.values, rtol=1e-8, atol=1e-12)


def test_a_prior_of_many_ranks_needs_little_memory():
    n, m = 300_000, 100
    fit = partial(BiasVariance(0, np.full(n, 1 / n)).fit, Recall(k=10), Draw(m, n_items=n))
    tracemalloc.start()
    fit()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.6 * 8 * n * (m + 1)  # bytes of all probabilities at once


@pytest.mark.parametrize("kind", [partial(BiasVariance, 0.1), ConstrainedLeastSquares])
def test_uniform_prior_is_the_default(kind):
    fitted = kind().fit(Recall(k=10), Draw(M, n_items=N))
    same = kind(prior=np.full(N, 1 / N)).fit(Recall(k=10), Draw(M, n_items=N))
    np.testing.assert_allclose(fitted.values, same.values, atol=1e-11)


# --- least squares


@pytest.mark.parametrize("metric", SMOOTH, ids=str)
@both_kinds
def test_least_squares(metric, replacement):
    """Few samples: the solution of equation 22. Small gamma tends to it."""
    draw = Draw(6, n_items=5000, replacement=replacement)
    want = least_squares(all_ranks(metric, draw))
    got = BiasVariance(0).fit(metric, draw).values
    np.testing.assert_allclose(got, want, atol=1e-9 * np.abs(want).max())
    near = BiasVariance(gamma=1e-12).fit(metric, draw).values
    np.testing.assert_allclose(near, want, atol=1e-5 * np.abs(want).max())


def test_least_squares_of_many_samples_is_no_worse_than_of_few():
    """Double precision cannot hold the solution; the estimates are still the least biased."""
    metric = AveragePrecision()
    rows = all_ranks(metric, Draw(M, n_items=N))
    bias = objective(BiasVariance(0).fit(metric, Draw(M, n_items=N)).values, 0, rows)
    for m in (10, 30):
        few = BiasVariance(0).fit(metric, Draw(m, n_items=N)).values
        assert bias < objective(few, 0, all_ranks(metric, Draw(m, n_items=N)))
    for gamma in (1e-3, 1e-6):
        assert bias < objective(BiasVariance(gamma).fit(metric, Draw(M, n_items=N)).values, 0, rows)


@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_without_replacement_all_items_leave_no_bias(metric):
    """m = n - 1: the sample is everything, and so is the sampled rank."""
    fitted = BiasVariance(0).fit(metric, Draw(19, n_items=20, replacement=False))
    np.testing.assert_allclose(fitted.values, metric(np.arange(1, 21), 20), atol=1e-12)


@pytest.mark.parametrize("n", [N, 10**9])
@pytest.mark.parametrize("non_negative", [True, False])
def test_constrained_least_squares_at_scale_is_optimal(n, non_negative):
    """The conditions of Karush, Kuhn and Tucker, in units of the largest entry of A'b."""
    m = 100
    estimator = ConstrainedLeastSquares(non_negative=non_negative)
    got = estimator.fit(Recall(k=10), Draw(m, n_items=n)).values
    assert (np.diff(got) <= 0).all()
    # All of Recall@10 is in the first ranks; A'A is known for a uniform prior, for large n.
    p_head = Draw(m, n_items=n).pmf(np.arange(1, 11))
    if n == N:
        p_sampled, _, _ = all_ranks(Recall(k=10), Draw(m, n_items=n))
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


@pytest.mark.parametrize("estimator", [BiasVariance(0), ConstrainedLeastSquares()], ids=str)
def test_no_bias_where_none_is_needed(estimator):
    """AUC is linear in the rank, and its sampled value has no bias to begin with."""
    bias = estimator.fit(AUC(), Draw(M, n_items=N)).bias(np.arange(1, N + 1))
    np.testing.assert_allclose(bias, 0, atol=1e-12)


# --- wrong input


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RankEstimate(divisor="n"), r"divisor is 'n'; divisor must be one of 'm', 'm\+1'"),  # type: ignore[arg-type]
        (
            lambda: RankEstimate(interpolation="cubic"),  # type: ignore[arg-type]
            "interpolation is 'cubic'; .* one of 'floor'",
        ),
        (lambda: BiasVariance(gamma=-0.1), r"gamma is -0\.1; gamma must be positive or 0"),
        (lambda: BiasVariance(gamma=1.5), r"gamma is 1\.5; gamma must be at most 1"),
        (lambda: BiasVariance(gamma="small"), "gamma is 'small'; gamma must be a number"),  # type: ignore[arg-type]
        (lambda: BiasVariance(gamma=np.nan), "gamma is nan; gamma must be positive or 0"),
        (lambda: BiasVariance(gamma=True), "gamma is True; gamma must be a number"),
        (lambda: BiasVariance(gamma=[0.1]), r"gamma is \[0.1\]; gamma must be a number"),  # type: ignore[arg-type]
        (lambda: ConstrainedLeastSquares(non_negative=1), "non_negative is 1; .* be True or False"),  # type: ignore[arg-type]
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("kind", [partial(BiasVariance, 0.1), ConstrainedLeastSquares], ids=str)
@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ([0.5, 0.5, 0.5], "prior sums to 1.5; prior must sum to 1"),
        ([0.5, 0.7, -0.2], r"prior\[2\] is -0.2; prior must be finite and 0 or above"),
        ([0.5, np.nan, 0.5], r"prior\[1\] is nan"),
        (["1", "0", "0"], "prior is .*; prior must be numbers"),
        ([[1], [0, 0]], "prior is ragged"),
        ([[0.5, 0.5]], r"prior has shape \(1, 2\); prior must be one flat list"),
        (1, r"prior has shape \(\); prior must be one flat list"),
        ("uniform", r"prior has shape \(\); prior must be one flat list"),
        (np.ma.masked_equal([0.5, 0.5], 2), "prior is a masked or sparse array"),
        ([], "prior sums to 0.0; prior must sum to 1"),
    ],
)
def test_bad_prior(kind, prior, message):
    with pytest.raises(ValueError, match=message):
        kind(prior=prior)


@pytest.mark.parametrize("kind", [partial(BiasVariance, 0.1), ConstrainedLeastSquares], ids=str)
def test_a_prior_of_another_catalog(kind):
    with pytest.raises(ValueError, match=r"prior has 2 entries; .* one per rank, 3"):
        kind(prior=[0.5, 0.5]).fit(Recall(k=1), Draw(2, n_items=3))


@pytest.mark.parametrize("kind", [partial(BiasVariance, 0), partial(BiasVariance, 0.1)], ids=str)
def test_prior_that_makes_a_sampled_rank_impossible(kind):
    with pytest.raises(ValueError, match="no rank that the prior allows leads to sampled rank 2"):
        kind(prior=[1, 0, 0]).fit(Recall(k=1), Draw(2, n_items=3))


def test_only_estimators_with_a_use_for_it_take_a_prior():
    for kind in (Uncorrected, RankEstimate):
        with pytest.raises(TypeError, match="prior"):
            kind(prior=[0.5, 0.5])  # type: ignore[call-arg]
