"""From the sampled rank back: tables of estimates."""

import numpy as np
import pytest

from sampled_metrics import (
    AUC,
    NDCG,
    AveragePrecision,
    RankEstimate,
    Recall,
    Uncorrected,
    expected_metric,
    rank_distribution,
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


@pytest.mark.parametrize("estimator", [Uncorrected(), RankEstimate()])
def test_bad_input(estimator):
    fitted = estimator.fit(Recall(k=10), n_items=N, n_samples=M)
    with pytest.raises(ValueError, match=r"sampled_ranks\[1\] is 102; .* at most n_samples \+ 1"):
        fitted([1, 102])
    with pytest.raises(ValueError, match=r"sampled_ranks\[0\] is 0"):
        fitted([0])
    with pytest.raises(ValueError, match="n_items is 1; n_items must be at least 2"):
        estimator.fit(Recall(k=10), n_items=1, n_samples=M)
    with pytest.raises(ValueError, match="n_samples is 0; n_samples must be at least 1"):
        estimator.fit(Recall(k=10), n_items=N, n_samples=0)
    with pytest.raises(ValueError, match="divisor is 'n'; divisor must be one of m, m\\+1"):
        RankEstimate(divisor="n")
