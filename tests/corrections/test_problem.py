"""What an estimator solves: few ranks that represent all, and the metric at any rank."""

from dataclasses import dataclass

import numpy as np
import pytest

from sampled_metrics import NDCG, BiasVariance, Draw, Metric, Recall
from sampled_metrics.corrections import Problem
from shared import METRICS, SUMS, the_term

both_kinds = pytest.mark.parametrize("replacement", [True, False])


def some_prior(n):
    prior = 1 / np.arange(3, n + 3)
    return prior / prior.sum()


@both_kinds
@pytest.mark.parametrize(("n", "m"), [(2, 1), (9, 8), (700, 30), (600, 300)])
@pytest.mark.parametrize("believed", [False, True])
def test_weighted_sums_are_means_over_all_ranks(replacement, n, m, believed):
    prior, every = some_prior(n) if believed else None, np.arange(1, n + 1)
    all_weights = np.full(n, 1 / n) if prior is None else prior
    all_p = Draw(m, n_items=n, replacement=replacement).pmf(every)
    both = (all_p.T * all_weights) @ all_p
    for metric in METRICS:
        weights, p, exact = Problem(
            metric, Draw(m, n_items=n, replacement=replacement), prior
        ).design
        all_exact = metric(every, n)
        assert p.shape == (len(weights), m + 1)
        assert exact.shape == weights.shape
        for got, want in [
            (weights.sum(), 1),
            (weights @ p, all_weights @ all_p),
            (weights @ exact, all_weights @ all_exact),
            ((weights * exact) @ p, (all_weights * all_exact) @ all_p),
            ((p.T * weights) @ p, both),
        ]:
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-13, err_msg=str(metric))


@both_kinds
@pytest.mark.parametrize("n", [10**6, 10**9, 2**52])
def test_few_ranks_serve_any_catalog(n, replacement):
    """All ranks alike: each sampled rank is as likely, if items are drawn only once."""
    m = 100
    weights, p, exact = Problem(Recall(k=10), Draw(m, n_items=n, replacement=replacement)).design
    assert len(weights) < 3000
    if not replacement:
        np.testing.assert_allclose(weights @ p, 1 / (m + 1), rtol=1e-9)
    assert weights @ exact == pytest.approx(10 / n, rel=1e-9)


@pytest.mark.parametrize("metric", SUMS, ids=str)
def test_terms_of_several_relevant_items(metric):
    """The rank of a problem counts irrelevant items; its number of items, too."""
    n, q, m = 12, 3, 4
    for j in range(1, q + 1):
        problem = Problem(metric, Draw(m, n_items=n - q + 1), order=j, n_relevant=q)
        got = problem.exact_values(np.arange(1, n - q + 2))
        np.testing.assert_allclose(got, the_term(metric, j, q, n), rtol=1e-12)
        want = the_term(metric, j, q, m + q)
        np.testing.assert_allclose(problem.sampled_values(), want, rtol=1e-12)


@pytest.mark.parametrize("k", [256, 257, 258, 259, 900])
@pytest.mark.parametrize("order", [1, 3])
@pytest.mark.parametrize("believed", [False, True])
def test_a_cutoff_far_down_is_met(k, order, believed):
    """Few ranks represent all, on both sides of the last one that counts."""
    n = 5000
    prior = some_prior(n) if believed else None
    problem = Problem(Recall(k=k), Draw(9, n_items=n), prior, order=order, n_relevant=3)
    weights, _, exact = problem.design
    want = np.average(problem.exact_values(np.arange(1, n + 1)), weights=prior)
    assert len(weights) < n / 10
    assert weights @ exact == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize("rank", [0, 0.99, 9.01, 10])
def test_ranks_of_no_item(rank):
    with pytest.raises(ValueError, match=r"ranks\[1\] is .*; ranks must be from 1 to n_items, 9"):
        Problem(NDCG(), Draw(2, n_items=9)).exact_values([1, rank, 9])
    with pytest.raises(ValueError, match=r"ranks\[0\] is nan; ranks must be finite"):
        Problem(NDCG(), Draw(2, n_items=9)).exact_values([np.nan])


def test_a_problem_can_be_a_key():
    """An estimator of one's own may remember what it has solved, whatever the prior."""
    problem = Problem(NDCG(), Draw(2, n_items=5), some_prior(5))
    assert {problem: 1}[problem] == 1


def test_a_problem_without_its_prior():
    problem = Problem(NDCG(), Draw(2, n_items=5), some_prior(5))
    assert problem.uniform.prior is None
    np.testing.assert_allclose(problem.uniform.design[0], 0.2)
    np.testing.assert_allclose(problem.design[0], some_prior(5))


def test_designs_cannot_be_changed():
    weights, p, _ = Problem(NDCG(), Draw(2, n_items=50)).design
    for array in (weights, p):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


# --- metrics that are not smooth between whole ranks


@dataclass(frozen=True)
class Jump(Metric):
    """A gain with a jump, and no cutoff that would tell."""

    k: int | None = None

    def gain(self, rank, order, n_relevant, n_items):
        return np.where(np.asarray(rank) <= 500, 1.0, 0.2)

    def normalizer(self, ranks):
        return 1


@dataclass(frozen=True)
class JumpOfOurs(NDCG):
    def gain(self, rank, order, n_relevant, n_items):
        return np.where(np.asarray(rank) <= 500, 1.0, 0.2)


@pytest.mark.parametrize("metric", [Jump(), JumpOfOurs()], ids=["own", "derived"])
@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("uniform", [True, False])
def test_a_gain_with_a_jump_is_summed_over_all_ranks(metric, replacement, uniform):
    n, gamma, draw = 3706, 0.1, Draw(100, n_items=3706, replacement=replacement)
    prior = np.full(n, 1 / n) if uniform else np.arange(n, 0, -1) / (n * (n + 1) / 2)
    estimator = BiasVariance(gamma, None if uniform else prior)
    p, exact = draw.pmf(np.arange(1, n + 1)), np.where(np.arange(n) < 500, 1.0, 0.2)
    weights, of_ranks = prior, prior @ p
    gram = (weights[:, None] * p).T @ p
    want = np.linalg.solve(
        (1 - gamma) * gram + gamma * np.diag(of_ranks), (weights * exact) @ p
    )  # equation 25, with a row for each of the n ranks
    np.testing.assert_allclose(estimator.fit(metric, draw).values, want, rtol=1e-9)
    found, _, at = Problem(metric, draw, estimator.prior).design
    assert found @ at == pytest.approx(weights @ exact, abs=1e-12)


def test_a_smooth_gain_of_ones_own_needs_no_more_ranks_than_ours():
    @dataclass(frozen=True)
    class Own(Metric):
        k: int | None = None

        def gain(self, rank, order, n_relevant, n_items):
            return 1 / np.log2(rank + 1.0)

        def normalizer(self, ranks):
            return 1

    draw = Draw(100, n_items=100_000)
    assert len(Problem(Own(), draw).design[0]) == len(Problem(NDCG(), draw).design[0]) < 2000
    np.testing.assert_array_equal(
        BiasVariance(0.1).fit(Own(), draw).values, BiasVariance(0.1).fit(NDCG(), draw).values
    )


def test_a_jump_among_too_many_items_is_refused():
    with pytest.raises(ValueError, match="not smooth in the rank, and memory does not hold"):
        BiasVariance(0.1).fit(Jump(), Draw(100, n_items=2_000_000))
