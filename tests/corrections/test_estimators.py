"""Estimators of Li, Jin and colleagues: learned priors and mapped cutoffs."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from sampled_metrics import (
    AUC,
    NDCG,
    AveragePrecision,
    BiasVariance,
    Draw,
    Precision,
    RankEstimate,
    Recall,
)
from sampled_metrics.corrections import (
    Estimator,
    MappedCutoff,
    Multinomial,
    estimate_rank_distribution,
)
from shared import MORE_CUTOFFS

N, M = 3706, 100
DRAW = Draw(M, n_items=N)


def shares_of(sampled, m):
    return np.bincount(sampled - 1, minlength=m + 1) / len(sampled)


# --- estimators with a learned prior


@given(data=st.data())
def test_a_prior_that_explains_the_shares_is_believed(data):
    """If f = A'p, then the bias-variance and the multinomial estimate are the prior's metric."""
    n = data.draw(st.integers(3, 30))
    draw = Draw(data.draw(st.integers(1, 6)), n_items=n)
    prior = np.array(data.draw(st.lists(st.floats(0.01, 1), min_size=n, max_size=n)))
    prior /= prior.sum()
    metric = data.draw(st.sampled_from(MORE_CUTOFFS))
    gamma = data.draw(st.floats(0.01, 1))
    every = np.arange(1, n + 1)
    f, want = prior @ draw.pmf(every), prior @ metric(every, n)
    for estimator in (BiasVariance(gamma, prior), Multinomial(round(1 / gamma), prior)):
        got = f @ estimator.fit(metric, draw).values
        assert got == pytest.approx(want, abs=1e-9)


def test_the_mean_given_the_sampled_rank_is_one_more_step():
    """Equation 26 with a learned prior multiplies it by its factors."""
    n, draw = 200, Draw(10, n_items=200)
    sampled = draw.rvs(np.minimum(np.geomspace(1, N, 3000).astype(int), n), rng=0)
    pi = estimate_rank_distribution(sampled, draw, tolerance=0.1)
    every = np.arange(1, n + 1)
    p = draw.pmf(every)
    step = pi * (p @ (shares_of(sampled, 10) / (pi @ p)))
    for metric in MORE_CUTOFFS:
        got = BiasVariance(gamma=1, prior=pi).fit(metric, draw)(sampled).mean()
        assert got == pytest.approx(step @ metric(every, n), abs=1e-12)


@pytest.mark.parametrize("metric", [Recall(k=1), AveragePrecision(), NDCG(k=2)], ids=str)
@pytest.mark.parametrize("replacement", [True, False])
def test_multinomial_minimizes_the_expected_loss(metric, replacement):
    """All samples of four users, one by one; the loss of each rank's part in the mean."""
    n, m, exact = 3, 2, np.array([1, 1, 2, 3])
    prior = np.bincount(exact - 1) / len(exact)
    draw = Draw(m, n_items=n, replacement=replacement)
    p = draw.pmf(exact)
    outcomes = np.array(list(product(range(m + 1), repeat=len(exact))))
    chance = np.prod(p[np.arange(len(exact)), outcomes], axis=1)

    def loss(values):
        total = 0
        for rank in range(1, n + 1):
            part = values[outcomes[:, exact == rank]].sum(axis=1) / len(exact)
            wanted = prior[rank - 1] * metric(rank)
            total += chance @ (part - wanted) ** 2 / prior[rank - 1]
        return total

    want = minimize(loss, np.zeros(m + 1), options={"gtol": 1e-10}).x
    got = Multinomial(len(exact), prior).fit(metric, draw).values
    np.testing.assert_allclose(got, want, atol=1e-6)


@pytest.mark.parametrize("metric", MORE_CUTOFFS, ids=str)
@pytest.mark.parametrize("replacement", [True, False])
def test_multinomial_under_a_uniform_prior_is_bias_variance(metric, replacement):
    n, users = 3541, 10_000
    draw = Draw(100, n_items=n, replacement=replacement)
    got = Multinomial(users).fit(metric, draw).values
    want = BiasVariance(gamma=n / users).fit(metric, draw).values
    np.testing.assert_allclose(got, want, atol=1e-9 * np.abs(want).max())
    every_rank = Multinomial(users, np.full(n, 1 / n)).fit(metric, draw).values
    np.testing.assert_allclose(every_rank, want, atol=1e-9 * np.abs(want).max())


def test_multinomial_is_the_formula_of_its_authors():
    """Also where the prior leaves nothing: W = (A'DA - A'A / M + diag(A'1) / M)^-1 A'D."""
    n, users, draw = 400, 5000, Draw(20, n_items=400)
    prior = np.where(np.arange(n) % 3, 1 / np.arange(1, n + 1), 0)
    prior /= prior.sum()
    a = draw.pmf(np.arange(1, n + 1))
    matrix = a.T * prior @ a - a.T @ a / users + np.diag(a.sum(axis=0)) / users
    w = np.linalg.solve(matrix, a.T * prior)
    for metric in MORE_CUTOFFS:
        want = w @ metric(np.arange(1, n + 1), n)
        got = Multinomial(users, prior).fit(metric, draw).values
        np.testing.assert_allclose(got, want, atol=1e-9)


def test_multinomial_where_a_sampled_rank_is_impossible():
    with pytest.raises(ValueError, match="leads to sampled rank 2; leave out users with few items"):
        Multinomial(100).fit(Recall(k=1), Draw(3, n_items=2))


# --- mapped cutoffs


@pytest.mark.parametrize("a", [1, 0.5, 0.2])
def test_the_beta_mapping_is_exact_for_its_distribution(a):
    """(r - 1)/(n - 1) at the quantiles of Beta(a, 1), whose distribution function is x^a."""
    n, draw = 10**7, Draw(20, n_items=10**7)
    quantile = ((np.arange(2000) + 0.5) / 2000) ** (1 / a)
    ranks = 1 + np.round((n - 1) * quantile).astype(int)
    for k, cutoff in enumerate(MappedCutoff("beta", a).cutoffs(draw), start=1):
        sampled = draw.expect(ranks, Recall(k)).mean()
        assert sampled == pytest.approx(Recall(max(int(cutoff), 1)).mean(ranks), abs=1.5e-3)


def test_cutoffs():
    k, draw = np.arange(1, 11), Draw(9, n_items=100)
    want = 1 + 99 * k / 10
    np.testing.assert_allclose(MappedCutoff("beta", a=1).cutoffs(draw), want)
    np.testing.assert_allclose(MappedCutoff("linear").cutoffs(draw), 1 + 11 * (k - 1))
    np.testing.assert_allclose(MappedCutoff("bound").cutoffs(draw), 1 + 11 * (k - 0.5))
    np.testing.assert_allclose(MappedCutoff("linear").cutoffs(Draw(1, n_items=2)), [1, 2])
    for a in (0.01, 0.2, 3):
        cutoffs = MappedCutoff("beta", a).cutoffs(Draw(1000, n_items=10**6))
        assert (np.diff(cutoffs) > 0).all()
        assert cutoffs[-1] == pytest.approx(10**6)


@pytest.mark.parametrize("mapping", ["linear", "bound", "beta"])
@pytest.mark.parametrize("k", [1, 10, 50, 500, N])
def test_mapped_cutoff_is_recall_at_the_nearest(mapping, k):
    estimator = MappedCutoff(mapping, a=0.5)
    values = estimator.fit(Recall(k), DRAW).values
    nearest = int(values.sum())
    np.testing.assert_array_equal(values, Recall(nearest)(np.arange(1, M + 2)))
    off = np.abs(estimator.cutoffs(DRAW) - k)
    assert off[nearest - 1] == off.min()


def test_linear_mapping_of_the_first_cutoff_is_the_rank_estimate():
    """Both count sampled rank 1 only, for any cutoff below the second one mapped."""
    for k in (1, 10, 18):
        mapped = MappedCutoff("linear").fit(Recall(k), DRAW)
        np.testing.assert_array_equal(mapped.values, RankEstimate().fit(Recall(k), DRAW).values)


def test_cutoffs_of_a_steep_beta():
    cutoffs = MappedCutoff("beta", 150.0).cutoffs(Draw(1000, n_items=1000))
    assert (np.diff(cutoffs) > 0).all()
    assert cutoffs[-1] == pytest.approx(1000)


def test_bad_estimators():
    with pytest.raises(ValueError, match="n_users is 0; n_users must be at least 1"):
        Multinomial(n_users=0)
    with pytest.raises(ValueError, match=r"prior sums to 2\.0; prior must sum to 1"):
        Multinomial(n_users=10, prior=[1, 1])
    with pytest.raises(ValueError, match="mapping is 'cubic'; mapping must be one of 'linear'"):
        MappedCutoff("cubic")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a is 0; a must be positive"):
        MappedCutoff(a=0)
    for metric in (NDCG(k=10), AveragePrecision(), AUC(), Precision(k=10)):
        with pytest.raises(
            ValueError, match=r"metric is .*; metric must be Recall for MappedCutoff"
        ):
            MappedCutoff().fit(metric, DRAW)
    with pytest.raises(ValueError, match=r"draw\.n_items is None; give the number of"):
        MappedCutoff().cutoffs(Draw(5))
    with pytest.raises(ValueError, match=r"draw.n_items is .*; draw.n_items must be one whole"):
        MappedCutoff().cutoffs(Draw(5, n_items=[10, 20]))


@pytest.mark.parametrize("kind", [BiasVariance, Multinomial])
def test_a_prior_with_labels_is_sorted_by_rank(kind):
    prior = pd.Series([0.6, 0.3, 0.1, 0.0, 0.0], index=[5, 2, 1, 3, 4])
    with pytest.raises(ValueError, match=r"prior has an index that is not 1, 2, .*reindex\(range"):
        kind(1, prior=prior)  # gamma, or the number of users
    kind(1, prior=prior.sort_index())


def test_estimators_that_are_no_dataclass_are_compared_by_their_parameters():
    class Constant(Estimator):
        def __init__(self, value):
            self.value = value

        def solve(self, problem):
            return np.full(problem.n_samples + 1, self.value)

    assert Constant(1.0) == Constant(1.0) != Constant(2.0)
    assert Constant(1.0) != RankEstimate()
