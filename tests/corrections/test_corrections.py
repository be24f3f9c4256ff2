"""Tables of estimates: looked up at sampled ranks; their mean, bias and variance at exact ranks."""

from dataclasses import FrozenInstanceError, dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampled_metrics import (
    NDCG,
    AveragePrecision,
    BiasVariance,
    Draw,
    RankEstimate,
    Ranks,
    Recall,
    Uncorrected,
)
from sampled_metrics.corrections import ConstrainedLeastSquares, Estimator
from shared import ESTIMATORS, METRICS, Clipped, enumerated_pmf, known, tied_places

N, M = 500, 30
both_kinds = pytest.mark.parametrize("replacement", [True, False])
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)


def variances(p, values):
    """Return the variance of a table under each row of probabilities."""
    mean = p @ values
    return (p * (values - mean[:, None]) ** 2).sum(axis=1)


# --- looked up


@every_estimator
def test_a_table_is_looked_up(estimator):
    fitted = estimator.fit(NDCG(k=3), Draw(3, n_items=20))
    assert fitted.values.shape == (4,)
    np.testing.assert_array_equal(fitted([[1, 2], [4, 1]]), fitted.values[[[0, 1], [3, 0]]])
    assert fitted(2) == fitted.values[1]
    assert fitted([]).shape == (0,)
    several = Ranks.from_lists([[2], [], [4]])
    np.testing.assert_array_equal(fitted(several), [fitted.values[1], np.nan, fitted.values[3]])


@every_estimator
def test_tied_sampled_ranks_are_averaged(estimator):
    fitted = estimator.fit(NDCG(k=3), Draw(3, n_items=20))
    tied = Ranks([1, 2, 4, 1], [0, 1, 0, 3], 4)
    want = [fitted(np.array(places)).mean() for places in tied_places(tied)]
    size = np.abs(fitted.values).max()
    np.testing.assert_allclose(fitted(tied), want, atol=1e-14 * size)


# --- mean and variance


@every_estimator
@both_kinds
def test_expectation_bias_and_variance(estimator, replacement):
    """Against the sums, and against draws: six standard errors, one false alarm in 10**8."""
    metric, draw = NDCG(k=10), Draw(M, n_items=N, replacement=replacement)
    fitted, ranks = estimator.fit(metric, draw), np.array([1, 2, 10, 11, 77, 499, 500])
    p, size = draw.pmf(ranks), np.abs(fitted.values).max()
    mean, variance = p @ fitted.values, variances(p, fitted.values)
    np.testing.assert_allclose(fitted.expectation(ranks), mean, atol=1e-14 * size)
    np.testing.assert_allclose(fitted.bias(ranks), mean - metric(ranks), atol=1e-14 * size)
    np.testing.assert_allclose(fitted.variance(ranks), variance, atol=1e-12 * size**2)
    drawn = fitted(draw.rvs(ranks, repeats=20_000, rng=0))
    error = np.sqrt(variance / 20_000) + 1e-12 * size
    assert (np.abs(drawn.mean(axis=0) - mean) < 6 * error).all()


@every_estimator
@both_kinds
def test_moments_over_every_sample_and_every_way_to_break_ties(estimator, replacement):
    n, m = 6, 3
    draw = Draw(m, n_items=n, replacement=replacement)
    tied = Ranks([1, 2, 3, 6, 1], [0, 3, 1, 0, 5], n)
    each = [[enumerated_pmf(r, n, m, replacement) for r in row] for row in tied_places(tied)]
    p = np.array([np.mean(rows, axis=0) for rows in each])
    for metric in METRICS:
        fitted = estimator.fit(metric, draw)
        size = np.abs(fitted.values).max()
        mean, variance = p @ fitted.values, variances(p, fitted.values)
        np.testing.assert_allclose(fitted.expectation(tied), mean, atol=1e-13 * size)
        np.testing.assert_allclose(fitted.bias(tied), mean - metric(tied), atol=1e-13 * size)
        np.testing.assert_allclose(fitted.variance(tied), variance, atol=1e-13 * size**2)


@every_estimator
@pytest.mark.parametrize(
    ("n", "m", "replacement"), [(700, 40, True), (700, 200, False), (700, 650, False)]
)
def test_long_ties_against_all_their_ranks(estimator, n, m, replacement):
    draw, metric = Draw(m, n_items=n, replacement=replacement), NDCG(k=10)
    tied = Ranks([1, 5, n // 2, n - 9], [n - 1, n // 2, n // 2, 9], n)
    fitted, every = estimator.fit(metric, draw), draw.pmf(np.arange(1, n + 1))
    p = np.array([every[np.array(places) - 1].mean(axis=0) for places in tied_places(tied)])
    size = np.abs(fitted.values).max()
    np.testing.assert_allclose(fitted.expectation(tied), p @ fitted.values, atol=1e-13 * size)
    want = variances(p, fitted.values)
    np.testing.assert_allclose(fitted.variance(tied), want, atol=1e-12 * size**2)


def test_expectation_follows_how_the_ranks_were_really_sampled():
    fitted = RankEstimate().fit(Recall(k=10), Draw(M, n_items=N))
    ranks = np.array([5, 50])
    real = Draw(M, n_items=[3000, 3600], replacement=False)
    want = real.pmf(ranks) @ fitted.values
    np.testing.assert_allclose(fitted.expectation(ranks, real), want)
    np.testing.assert_allclose(fitted.bias(ranks, real), want - Recall(k=10)(ranks))
    np.testing.assert_allclose(
        fitted.variance(ranks, real), variances(real.pmf(ranks), fitted.values)
    )
    tied = Ranks(ranks, 0, [3000, 3600])
    free = Draw(M, replacement=False)
    np.testing.assert_allclose(fitted.expectation(tied, free), want)
    with pytest.raises(ValueError, match=r"draw.n_samples is 29; it was fitted for 30"):
        fitted.expectation(ranks, Draw(29, n_items=3000))


# --- one table for each number of items


SIZES = np.array([40, 500, 40, 77, 500])


@every_estimator
@both_kinds
@given(data=st.data())
@settings(max_examples=3)
def test_each_instance_has_the_table_of_its_number_of_items(estimator, replacement, data):
    """As if each were fitted alone, whatever is given: the last axis are the instances."""
    metric = data.draw(st.sampled_from(METRICS))
    draw = Draw(9, n_items=SIZES, replacement=replacement)
    fitted = estimator.fit(metric, draw)
    alone = [estimator.fit(metric, Draw(9, n_items=int(n), replacement=replacement)) for n in SIZES]
    np.testing.assert_array_equal(fitted.values, [one.values for one in alone])
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    flat = rng.integers(1, SIZES + 1)
    for ranks in (flat, rng.integers(1, SIZES + 1, (5, 5)), rng.integers(1, SIZES + 1, (2, 3, 5))):
        for name in ("expectation", "bias", "variance"):
            want = np.stack([getattr(one, name)(ranks[..., x]) for x, one in enumerate(alone)], -1)
            got = getattr(fitted, name)(ranks)
            assert got.shape == ranks.shape
            size = np.abs(fitted.values).max() ** 2
            np.testing.assert_allclose(got, want, atol=1e-13 * size)
        sampled = draw.rvs(ranks, rng=0)
        want = np.stack([one(sampled[..., x]) for x, one in enumerate(alone)], -1)
        np.testing.assert_array_equal(fitted(sampled), want)
    tied = Ranks(flat, rng.integers(0, SIZES - flat + 1), SIZES)
    for name in ("expectation", "bias", "variance"):
        want = np.array([getattr(one, name)(tied[[x]])[0] for x, one in enumerate(alone)])
        got = getattr(fitted, name)(tied)
        np.testing.assert_allclose(got, want, atol=1e-12 * np.abs(fitted.values).max() ** 2)
    few = Ranks([1, 3, 5, 1, 9], [9, 2, 0, 4, 1], 10)
    want = np.array([one(few[[x]])[0] for x, one in enumerate(alone)])
    np.testing.assert_allclose(fitted(few), want, atol=1e-13 * np.abs(fitted.values).max())


def test_instances_that_are_not_those_of_the_draw():
    fitted = Uncorrected().fit(NDCG(), Draw(9, n_items=SIZES))
    for given_ranks in ([1, 2], 3, [[1, 2], [3, 4]], np.ones((5, 2), int)):
        for call in (fitted, fitted.expectation, fitted.bias, fitted.variance):
            with pytest.raises(ValueError, match=r"ranks has shape|n_items has shape"):
                call(given_ranks)
    for several in (Ranks.from_lists([[1], [2, 3]]), Ranks([1], 0, 10)):
        with pytest.raises(
            ValueError, match=r"sampled_ranks has shape .*; its last axis must hold the draw's 5"
        ):
            fitted(several)
    with pytest.raises(ValueError, match=r"draw.n_items has shape \(2,\); it was fitted for shape"):
        fitted.expectation([1, 2, 3, 4, 5], Draw(9, n_items=[50, 60]))
    with pytest.raises(ValueError, match=r"draw.n_items is one per instance; give n_items"):
        fitted.terms(2)
    assert fitted.terms(2, n_items=40).shape == (2, 10)
    with pytest.raises(
        ValueError, match=r"draw.n_items has shape \(1, 2\); draw.n_items must be flat"
    ):
        Uncorrected().fit(NDCG(), Draw(9, n_items=[[40, 50]]))


# --- estimators are values


@every_estimator
def test_estimators_are_values(estimator):
    again = replace(estimator)
    assert again == estimator
    assert hash(again) == hash(estimator)
    assert str(again) == str(estimator)
    with pytest.raises(FrozenInstanceError):
        estimator.gamma = 0.2
    assert sum(estimator == other for other in ESTIMATORS) == 1


def test_priors_are_part_of_the_value():
    prior = np.array([0.5, 0.3, 0.2])
    one, other = BiasVariance(0.1, prior), BiasVariance(0.1, prior.copy())
    assert one == other != BiasVariance(0.1)
    assert hash(one) == hash(other)
    prior[:] = 0
    assert known(one.prior).tolist() == [0.5, 0.3, 0.2]
    with pytest.raises(ValueError, match="read-only"):
        known(one.prior)[0] = 1


def test_fitted_tables_cannot_be_changed():
    fitted = Uncorrected().fit(NDCG(), Draw(3, n_items=9))
    with pytest.raises(ValueError, match="read-only"):
        fitted.values[0] = 2
    assert (fitted.metric, fitted.estimator, fitted.draw.n_items) == (NDCG(), Uncorrected(), 9)


def test_an_estimator_that_is_not_frozen_works_too():
    @dataclass
    class Loose(Estimator):
        size: float = 1.0

        def solve(self, problem):
            return self.size * problem.sampled_values()

    fitted = Loose(2.0).fit(Recall(k=1), Draw(3, n_items=9))
    assert fitted([1, 2]).tolist() == [2, 0]


def test_an_estimator_without_its_method_is_none():
    @dataclass(frozen=True, eq=False)
    class Half(Estimator):
        pass

    with pytest.raises(TypeError, match="solve"):
        Half()  # type: ignore[abstract]


@pytest.mark.parametrize(
    "wrong", [None, "abc", 1.0, np.ones(3), np.ones((2, 4)), [1, 2, 3, np.nan]]
)
def test_what_an_estimator_of_ones_own_returns_is_checked(wrong):
    @dataclass(frozen=True, eq=False)
    class Wrong(Estimator):
        def solve(self, problem):
            return wrong

    with pytest.raises(ValueError, match=r"Wrong\.solve\(\) is .*; .* must be 4 numbers"):
        Wrong().fit(Recall(k=1), Draw(3, n_items=9))


# --- wrong input


@every_estimator
def test_bad_sampled_and_exact_ranks(estimator):
    fitted = estimator.fit(Recall(k=10), Draw(M, n_items=N))
    with pytest.raises(
        ValueError, match=r"sampled_ranks\[1\] is 32; .* at most n_samples \+ .*, 31"
    ):
        fitted([1, 32])
    with pytest.raises(ValueError, match=r"sampled_ranks\[0\] is 0; .* at least 1"):
        fitted([0])
    with pytest.raises(ValueError, match="sampled_ranks is a masked or sparse array"):
        fitted(np.ma.masked_equal([1, 2], 2))
    with pytest.raises(
        ValueError, match=r"sampled_ranks.n_items\[0\] is 30; .* n_samples \+ .*, 31"
    ):
        fitted(Ranks([1], 0, 30))
    with pytest.raises(ValueError, match="sampled_ranks has ties and users with several"):
        fitted(Ranks([1, 1], 1, 32, users=[0, 0]))
    for call in (fitted.expectation, fitted.bias, fitted.variance):
        with pytest.raises(ValueError, match=r"ranks\[1\] is 501; ranks must be at most n_items"):
            call([1, 501])
        with pytest.raises(ValueError, match=r"n_items.* is 500; .* what ranks knows, 400"):
            call(Ranks([1], 0, 400))
        with pytest.raises(ValueError, match="draw is 30; draw must be a Draw"):
            call([1], 30)


@every_estimator
@pytest.mark.parametrize(
    ("metric", "draw", "message"),
    [
        ("Recall", Draw(M, n_items=N), "metric is 'Recall'; metric must be a Metric, such as"),
        (
            Recall,
            Draw(M, n_items=N),
            r"metric is .*; metric must be a Metric; call the class, as in",
        ),
        (None, Draw(M, n_items=N), "metric is None; metric must be a Metric"),
        ([Recall(k=1)], Draw(M, n_items=N), r"metric is \[.*; metric must be a Metric"),
        (Draw(M, n_items=N), Recall(k=1), r"metric is Draw\(.*; metric must be a Metric"),
        (Recall(k=1), Draw, r"draw is .*; draw must be a Draw; call the class"),
        (Recall(k=1), 100, "draw is 100; draw must be a Draw, such as"),
        (Recall(k=1), None, "draw is None; draw must be a Draw"),
        (Recall(k=1), Draw(M), "draw.n_items is None; give the number of items: Draw"),
    ],
)
def test_bad_fits(estimator, metric, draw, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(metric, draw)


def test_bad_terms():
    fitted = Uncorrected().fit(Recall(k=2), Draw(10, n_items=20))
    with pytest.raises(ValueError, match="n_relevant is 0; n_relevant must be at least 1"):
        fitted.terms(0)
    with pytest.raises(ValueError, match=r"n_relevant is 2.5; n_relevant must be whole"):
        fitted.terms(2.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="n_relevant is 20; too few of 20 items are irrelevant"):
        fitted.terms(20)
    assert fitted.terms(19).shape == (19, 11)
    without = Uncorrected().fit(Recall(k=2), Draw(10, n_items=20, replacement=False))
    with pytest.raises(ValueError, match="n_relevant is 11; too few of 20 items are irr"):
        without.terms(11)
    assert without.terms(10).shape == (10, 11)
    believed = BiasVariance(0.1, np.full(20, 0.05)).fit(Recall(k=2), Draw(10, n_items=20))
    assert believed.terms(1).shape == (1, 11)
    for call in (lambda: believed.terms(2), lambda: believed.bias(Ranks.from_lists([[1, 2]]))):
        with pytest.raises(
            ValueError, match="n_relevant is 2; the estimator's prior is for 1 rele"
        ):
            call()


@pytest.mark.parametrize(
    "estimator",
    [BiasVariance(0), ConstrainedLeastSquares(), BiasVariance(0.1), Clipped(0.1)],
    ids=str,
)
@pytest.mark.parametrize("metric", [AveragePrecision(), NDCG()], ids=str)
def test_less_bias_than_uncorrected(estimator, metric):
    draw, ranks = Draw(M, n_items=N), np.arange(1, N + 1)
    plain = Uncorrected().fit(metric, draw).bias(ranks)
    assert (estimator.fit(metric, draw).bias(ranks) ** 2).sum() < (plain**2).sum() / 10


def test_exact_ranks_are_not_sampled_ones():
    exact, draw = Ranks.from_lists([[1], [7], [15]], n_items=1000), Draw(20, n_items=1000)
    with pytest.raises(ValueError, match=r"sampled_ranks\.n_items\[0\] is 1000; .* n_samples \+"):
        Uncorrected().fit(Recall(k=10), draw)(exact)
