"""Draws in proportion to weights: against all ordered draws, and the closed forms there are."""

from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from sampled_metrics import AUC, NDCG, Draw, Recall, WeightedDraw

METRICS = [Recall(k=1), Recall(k=10), NDCG(), AUC()]


def by_all_ordered_draws(weights, above, m):
    """Return P(H = 0), ..., P(H = m) without replacement."""
    p = np.zeros(m + 1)
    for drawn in permutations(np.flatnonzero(weights), m):
        left, chance = list(weights), 1.0
        for item in drawn:
            chance *= weights[item] / sum(left)
            left[item] = 0
        p[np.asarray(above)[list(drawn)].sum()] += chance
    return p


def random_mask(n, share=0.3, seed=0):
    return np.random.default_rng(seed).random(n) < share


# --- with replacement


@given(data=st.data())
def test_with_replacement_is_a_draw_of_events(data):
    """W events above of W in all: rank W above + 1 of W + 1."""
    weights = np.array(data.draw(st.lists(st.integers(0, 10**6), min_size=1, max_size=30)))
    weights[data.draw(st.integers(0, len(weights) - 1))] += 1
    above = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(weights), max_size=len(weights)))
    )
    m = data.draw(st.integers(1, 60))
    want = Draw(m, n_items=weights.sum() + 1)
    rank = weights[above].sum() + 1
    draw = WeightedDraw(m, weights)
    np.testing.assert_allclose(draw.pmf(above), want.pmf(rank), rtol=1e-12, atol=1e-300)
    for metric in METRICS:
        assert draw.expect(above, metric) == pytest.approx(want.expect(rank, metric), rel=1e-12)


@pytest.mark.parametrize("unit", [1e-300, 1e-30, 0.001, 1e300])
@pytest.mark.parametrize("replacement", [True, False, "merged"])
def test_the_unit_of_the_weights_does_not_matter(unit, replacement):
    weights, above = np.arange(1.0, 31), random_mask(30)
    want = WeightedDraw(10, weights, replacement=replacement)
    got = WeightedDraw(10, weights * unit, replacement=replacement)
    np.testing.assert_allclose(got.pmf(above), want.pmf(above), rtol=1e-12)
    np.testing.assert_array_equal(
        got.rvs(above, repeats=50, rng=0), want.rvs(above, repeats=50, rng=0)
    )


def some_items(data, most):
    """Draw the weights of a few items, one of them surely not 0, and which are above."""
    weight = st.one_of(st.integers(0, 5), st.floats(1e-4, 1e4))
    weights = np.array(data.draw(st.lists(weight, min_size=1, max_size=most)), dtype=float)
    weights[0] += 1
    n = len(weights)
    return weights, np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))


# --- with repeats merged


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_merged_against_all_draws(data):
    weights, above = some_items(data, most=5)
    m = data.draw(st.integers(1, 5))
    want = np.zeros(m + 1)
    for drawn in product(range(len(weights)), repeat=m):
        want[above[[*set(drawn)]].sum()] += np.prod(weights[[*drawn]] / weights.sum())
    draw = WeightedDraw(m, weights, replacement="merged")
    np.testing.assert_allclose(draw.pmf(above), want, atol=1e-13)
    np.testing.assert_allclose(draw.expect(above, NDCG()), want @ NDCG()(np.arange(m + 1) + 1))


@pytest.mark.parametrize(("n", "m"), [(1, 1), (9, 40), (300, 20), (300, 1000), (5000, 100)])
def test_equal_weights_merged_are_a_merged_draw(n, m):
    got = WeightedDraw(m, np.full(n, 0.7), replacement="merged").pmf(np.arange(n) < n // 3)
    want = Draw(m, n_items=n + 1, replacement="merged").pmf(n // 3 + 1)
    np.testing.assert_allclose(got, want, atol=1e-13)


def test_a_metric_of_how_many_different_items_there_are_is_refused():
    draw = WeightedDraw(2, [3, 2, 1], replacement="merged")
    with pytest.raises(ValueError, match=r"metric is AUC, which .* different items .* draw them"):
        draw.expect([True, False, False], AUC())


# --- without replacement


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_exact_against_all_ordered_draws(data):
    weights, above = some_items(data, most=6)
    m = data.draw(st.integers(1, int(np.count_nonzero(weights))))
    got = WeightedDraw(m, weights, replacement=False).pmf(above)
    np.testing.assert_allclose(
        got, by_all_ordered_draws(weights, above, m), rtol=1e-11, atol=1e-300
    )
    assert got.sum() == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize(
    ("n", "n_above", "m"),
    [(1, 1, 1), (10, 3, 4), (1000, 300, 100), (1000, 5, 999), (300, 150, 300), (3000, 2900, 1000)],
)
@pytest.mark.parametrize("method", ["exact", "approximate"])
def test_equal_weights_are_hypergeometric(n, n_above, m, method):
    draw, above = WeightedDraw(m, np.full(n, 0.7), replacement=False), np.arange(n) < n_above
    want = Draw(m, n_items=n + 1, replacement=False).pmf(n_above + 1)
    np.testing.assert_allclose(draw.pmf(above, method=method), want, rtol=1e-10, atol=1e-200)


@pytest.mark.parametrize("method", ["exact", "approximate"])
def test_one_draw_is_the_share_of_the_weight(method):
    weights, above = np.geomspace(1, 1e8, 50), random_mask(50)
    got = WeightedDraw(1, weights, replacement=False).pmf(above, method=method)
    np.testing.assert_allclose(got[1], weights[above].sum() / weights.sum(), rtol=1e-11)


@pytest.mark.parametrize("ratio", [1e-3, 1e-9, 1e-30])
@pytest.mark.parametrize("m", [1, 2, 3, 5, 6])
def test_weights_of_any_ratio(ratio, m):
    """Items whose order is all but certain: only the first order of the ratio matters."""
    weights, above = ratio ** np.arange(6.0), np.array([0, 1, 1, 0, 1, 0], bool)
    draw = WeightedDraw(m, weights, replacement=False)
    certain = np.eye(m + 1)[above[:m].sum()]
    np.testing.assert_allclose(draw.pmf(above), certain, atol=10 * ratio + 1e-14)
    np.testing.assert_allclose(
        draw.pmf(above, method="approximate"), certain, atol=10 * ratio + 1e-13
    )


def test_two_scales_of_weights_are_two_draws():
    """All 5 heavy items are drawn, and then 4 of the 30 light ones."""
    weights = np.repeat([1, 1e-150], [5, 30])
    above = np.isin(np.arange(35), [0, 1, *range(5, 15)])
    light = Draw(4, n_items=31, replacement=False).pmf(11)
    got = WeightedDraw(9, weights, replacement=False).pmf(above)
    np.testing.assert_allclose(got, np.pad(light, (2, 3)), rtol=1e-10, atol=1e-100)


def test_all_items_are_drawn():
    weights, above = 1 / np.arange(1, 101) ** 2, random_mask(100)
    for method in ("exact", "approximate"):
        p = WeightedDraw(100, weights, replacement=False).pmf(above, method=method)
        np.testing.assert_allclose(p, np.eye(101)[above.sum()], atol=1e-14)


@pytest.mark.parametrize("m", [30, 180])
def test_the_mean_of_a_large_catalog_against_inclusion_probabilities(m):
    """E[H] is the sum over the items above of the chance to be drawn, with the others below."""
    n = 200
    weights, above = 1 / np.arange(1.0, n + 1), np.arange(n) % 7 == 0
    draw = WeightedDraw(m, weights, replacement=False)
    alone = draw.pmf(np.eye(n, dtype=bool))[:, 1]
    np.testing.assert_allclose(alone.sum(), m, rtol=1e-12)
    assert draw.pmf(above) @ np.arange(m + 1) == pytest.approx(alone[above].sum(), rel=1e-12)
    assert (np.diff(alone) < 1e-14).all()


@pytest.mark.parametrize(
    ("n", "m", "error"),
    [(6, 3, 0.02), (50, 10, 0.02), (50, 49, 0.02), (200, 20, 0.004), (2000, 100, 0.004)],
)
@pytest.mark.parametrize("shape", ["1/i", "1/i^2", "flat", "lognormal", "geometric"])
def test_the_error_of_the_approximation(n, m, error, shape):
    i = np.arange(1, n + 1)
    weights = {
        "1/i": 1 / i,
        "1/i^2": 1 / i**2,
        "flat": 1 / (i + n / 10),
        "lognormal": np.exp(2 * np.random.default_rng(0).normal(size=n)),
        "geometric": np.geomspace(1, 1e-12, n),
    }[shape]
    draw = WeightedDraw(m, weights, replacement=False)
    above = np.array([i % 4 == 1, i % 2 == 0, i <= n // 3])
    off = np.abs(draw.pmf(above) - draw.pmf(above, method="approximate")).sum(axis=1) / 2
    assert (off < error).all()


def test_where_the_approximation_is_worst():
    weights = np.exp(5 * np.random.default_rng(0).normal(size=200))
    above = weights > np.median(weights)
    draw = WeightedDraw(100, weights, replacement=False)
    off = np.abs(draw.pmf(above) - draw.pmf(above, method="approximate")).sum() / 2
    assert off == pytest.approx(0.013, abs=0.0005)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_items_above_and_below_change_places(seed):
    rng = np.random.default_rng(seed)
    n, replacement = int(rng.integers(2, 60)), bool(rng.integers(2))
    weights, above = np.exp(3 * rng.normal(size=n)), random_mask(n, rng.random(), seed)
    draw = WeightedDraw(int(rng.integers(1, n + 1)), weights, replacement=replacement)
    np.testing.assert_allclose(draw.pmf(above), draw.pmf(~above)[::-1], rtol=1e-9, atol=1e-16)


# --- many instances


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("method", ["exact", "approximate"])
def test_instances_are_computed_one_by_one_or_together(replacement, method):
    rng = np.random.default_rng(0)
    above, weights = rng.random((2, 3, 40)) < 0.4, rng.integers(0, 20, (2, 3, 40))
    each = WeightedDraw(15, weights, replacement=replacement)
    together = each.pmf(above, method=method)
    shared = WeightedDraw(15, weights[0, 0], replacement=replacement).pmf(above, method=method)
    assert together.shape == shared.shape == (2, 3, 16)
    for at in np.ndindex(2, 3):
        alone = WeightedDraw(15, weights[at], replacement=replacement)
        np.testing.assert_allclose(together[at], alone.pmf(above[at], method=method), rtol=1e-12)
        one = WeightedDraw(15, weights[0, 0], replacement=replacement)
        np.testing.assert_allclose(shared[at], one.pmf(above[at], method=method), rtol=1e-12)
    np.testing.assert_allclose(
        each.expect(above, NDCG(), method=method), together @ NDCG()(np.arange(1, 17))
    )


@pytest.mark.parametrize("replacement", [True, False, "merged"])
def test_items_without_weight_are_never_drawn(replacement):
    rng = np.random.default_rng(1)
    weights, above = rng.integers(1, 9, 30), random_mask(30)
    gone = rng.random(30) < 0.5
    few = WeightedDraw(8, weights[~gone], replacement=replacement)
    all_ = WeightedDraw(8, np.where(gone, 0, weights), replacement=replacement)
    np.testing.assert_allclose(all_.pmf(above | gone), few.pmf(above[~gone]), rtol=1e-12)
    np.testing.assert_allclose(all_.pmf(above & ~gone), few.pmf(above[~gone]), rtol=1e-12)
    assert (all_.rvs(gone, repeats=100, rng=0) == 1).all()
    full = all_.rvs(~gone, repeats=100, rng=0)
    assert (full <= 9).all() if replacement == "merged" else (full == 9).all()


@pytest.mark.parametrize("replacement", [True, False, "merged"])
def test_no_instances(replacement):
    draw, none = WeightedDraw(2, [1, 2, 3], replacement=replacement), np.zeros((0, 3), bool)
    assert draw.pmf(none).shape == (0, 3)
    assert draw.rvs(none, rng=0).shape == (0,)
    assert draw.rvs(none, repeats=4, rng=0).shape == (4, 0)


# --- draws


@pytest.mark.parametrize("replacement", [True, False, "merged"])
def test_draws_follow_the_distribution(replacement):
    """Chi-square tests of 20,000 draws with fixed seeds, at a false alarm in 10**4 each."""
    weights = 1 / np.arange(1.0, 13)
    above = np.array([np.arange(12) % 4 == 0, np.arange(12) > 5])
    draw = WeightedDraw(4, weights, replacement=replacement)
    sampled, p = draw.rvs(above, repeats=20_000, rng=3), draw.pmf(above)
    assert sampled.shape == (20_000, 2)
    for x in range(2):
        possible = p[x] > 0
        counted = np.bincount(sampled[:, x] - 1, minlength=5)
        assert counted[~possible].sum() == 0
        assert chisquare(counted[possible], 20_000 * p[x][possible]).pvalue > 1e-4


def test_draws_with_weights_for_each_instance():
    weights, above = np.array([[1, 0, 2], [0, 5, 1]]), np.array([False, True, False])
    draw = WeightedDraw(2, weights, replacement=False)
    np.testing.assert_array_equal(draw.rvs(above, repeats=20, rng=0), np.tile([1, 2], (20, 1)))
    assert draw.rvs(above, rng=0).shape == (2,)


def test_a_seed_and_its_generator():
    draw, above = WeightedDraw(3, np.arange(1, 9), replacement=False), random_mask(8)
    seeds = 5, np.random.default_rng(5), np.random.SeedSequence(5)
    one, *others = [draw.rvs(above, repeats=30, rng=seed) for seed in seeds]
    for other in others:
        np.testing.assert_array_equal(one, other)


# --- values and bad input


def test_a_draw_cannot_be_changed():
    given_ = np.array([1.0, 2.0])
    draw = WeightedDraw(1, given_)
    given_[0] = 100
    np.testing.assert_array_equal(draw.weights, [1, 2])
    with pytest.raises(ValueError, match="read-only"):
        draw.weights[0] = 5
    with pytest.raises(AttributeError):
        draw.n_samples = 2  # type: ignore[misc]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 0}, "n_samples is 0; n_samples must be at least 1"),
        ({"n_samples": 1.5}, "n_samples is 1.5; n_samples must be whole"),
        ({"weights": [1, -2, 3]}, r"weights\[1\] is -2; weights must be finite and 0 or above"),
        ({"weights": [1, np.nan]}, r"weights\[1\] is nan; weights must be finite"),
        ({"weights": [[1, 2], [np.inf, 1]]}, r"weights\[1, 0\] is inf; weights must be finite"),
        ({"weights": ["a"]}, r"weights is \['a'\]; weights must be one number per item"),
        ({"weights": [True, False]}, "weights must be one number per item"),
        ({"weights": 3}, "weights is 3; weights must be one number per item"),
        ({"weights": []}, r"weights is \[\]; weights must be one number per item"),
        (
            {"weights": [[1, 2], [0, 0]]},
            r"weights\[1\] holds no positive weight; some item must have one",
        ),
        ({"weights": [0, 0]}, "weights holds no positive weight; some item must have one"),
        ({"weights": pd.Series([1, 2])}, r"weights has an index; pass weights.to_num"),
        ({"replacement": 1}, 'replacement is 1; .* must be True, False or "merged"'),
        ({"replacement": "merge"}, "replacement is 'merge'; .* must be True, False or \"merged\""),
        (
            {"weights": [[1, 1], [5, 0]], "replacement": False},
            "n_samples is 2; without .* at most the number of positive weights, 1",
        ),
        (
            {"weights": [1, 1e-201], "replacement": False},
            r"weights\[1\] is 1e-201; weights must be 0 or at least 1e-200 times the largest",
        ),
    ],
)
def test_bad_draws(arguments, message):
    with pytest.raises(ValueError, match=message):
        WeightedDraw(**{"n_samples": 2, "weights": [3, 2, 1], **arguments})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"above": [1, 0, 0]}, "above is of type int64; above must hold True or False"),
        ({"above": [True, False]}, r"above has shape \(2,\), weights has shape \(3,\); above must"),
        ({"above": True}, r"above has shape \(\), weights has shape \(3,\)"),
        ({"above": [[True], [False]]}, r"above has shape \(2, 1\), weights has shape \(3,\)"),
        ({"above": pd.Series([True, False, True])}, "above has an index; pass above"),
        ({"method": "clocks"}, "method is 'clocks'; method must be one of 'exact', 'approximate'"),
        ({"metric": "NDCG"}, "metric is 'NDCG'; metric must be a Metric"),
    ],
)
def test_bad_masks(arguments, message):
    good = {"above": [True, False, False], "metric": Recall(k=1)}
    with pytest.raises(ValueError, match=message):
        WeightedDraw(2, [3, 2, 1]).expect(**{**good, **arguments})


def test_bad_repeats():
    with pytest.raises(ValueError, match="repeats is 0; repeats must be at least 1"):
        WeightedDraw(2, [3, 2, 1]).rvs([True, False, False], repeats=0)
    with pytest.raises(ValueError, match="above has shape"):
        WeightedDraw(2, np.ones((2, 3))).rvs(np.zeros((4, 3), bool))
