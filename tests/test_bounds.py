"""Who is better by every metric, and what a sample leaves open."""

from dataclasses import FrozenInstanceError
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import binom

from sampled_metrics import (
    AUC,
    NDCG,
    AveragePrecision,
    Recall,
    TiedRanks,
    bounds,
    dominates,
    identified_set,
    metric_bounds,
    rank_distribution,
    sample_ranks,
)

TOY = {
    "A": [100, 100, 100, 100, 100],
    "B": [40, 40, 8437, 9266, 4482],
    "C": [212, 2, 743, 5342, 1548],
}
METRICS = [AUC(), Recall(k=1), Recall(k=3), AveragePrecision(), NDCG(k=2), NDCG()]

# --- dominance

ranks_of_eight = st.lists(st.integers(1, 8), min_size=1, max_size=6)


def curve(ranks, n):
    """Share of the ranks at 1, ..., n or better, by counting."""
    return np.array([np.mean([r <= k for r in ranks]) for k in range(1, n + 1)])


@given(a=ranks_of_eight, b=ranks_of_eight)
def test_dominance_against_counting(a, b):
    lead = curve(a, 8) - curve(b, 8)
    found = dominates(a, b)
    assert bool(found) == (lead > -1e-9).all()
    assert found.ahead == pytest.approx(max(lead.max(), 0))
    assert found.behind == pytest.approx(max(-lead.min(), 0))
    if found.ahead:
        assert found.ahead_at == 1 + np.flatnonzero(lead > found.ahead - 1e-9)[0]
    else:
        assert found.ahead_at is None
    if found.behind:
        assert found.behind_at == 1 + np.flatnonzero(lead < 1e-9 - found.behind)[0]
    else:
        assert found.behind_at is None
    crossings, side = [], 0
    for k, difference in enumerate(lead, start=1):
        if abs(difference) > 1e-9:
            if side * difference < 0:
                crossings.append(k)
            side = difference
    assert list(found.crossings) == crossings


same_length = st.integers(1, 6).flatmap(
    lambda size: st.tuples(*[st.lists(st.integers(1, 8), min_size=size, max_size=size)] * 2)
)


@given(pair=same_length)
def test_dominance_is_a_better_rank_for_each_once_sorted(pair):
    a, b = pair
    assert bool(dominates(a, b)) == (np.sort(a) <= np.sort(b)).all()


@given(pair=same_length, data=st.data())
def test_what_dominates_is_better_by_every_metric_exact_or_sampled(pair, data):
    """And where the curves cross, recall at two ranks disagrees."""
    a, b = pair
    found = dominates(a, b)
    if found:
        drops = data.draw(st.lists(st.floats(0, 1), min_size=8, max_size=8))
        metric = np.cumsum(drops)[::-1]  # any that does not rise with the rank
        assert metric[np.array(a) - 1].mean() >= metric[np.array(b) - 1].mean() - 1e-12
        m, replacement = data.draw(st.integers(1, 7)), data.draw(st.booleans())
        sampled = [rank_distribution(x, 8, m, replacement).mean(axis=0) for x in (a, b)]
        assert (np.cumsum(sampled[0]) >= np.cumsum(sampled[1]) - 1e-12).all()
    else:
        worse = Recall(k=found.behind_at)
        gap = worse(b, n_items=8).mean() - worse(a, n_items=8).mean()
        assert gap == pytest.approx(found.behind)
        assert gap > 0
    if found.ahead:
        better = Recall(k=found.ahead_at)
        gap = better(a, n_items=8).mean() - better(b, n_items=8).mean()
        assert gap == pytest.approx(found.ahead)


def test_the_toy_example_crosses_everywhere():
    assert dominates(TOY["A"], TOY["B"]).crossings == (100,)
    assert dominates(TOY["A"], TOY["C"]).crossings == (100,)
    assert dominates(TOY["B"], TOY["C"]).crossings == (40, 743)
    assert not any(dominates(TOY[a], TOY[b]) for a in TOY for b in TOY if a != b)
    assert all(dominates(ranks, ranks) for ranks in TOY.values())


def test_ties_count_as_all_the_ranks_they_allow():
    """A tie of three is one of three instances, each once, if all others come three times."""
    tied = TiedRanks(best=[2, 5], n_tied=[2, 0], n_items=[9, 9])
    spread_out = [2, 3, 4, 5, 5, 5]
    others = [[3, 3, 4, 4, 5, 5], [1, 9], [2, 3, 4, 5, 5, 5], [4, 4]]
    for other in others:
        for scale in ("rank", "share"):
            pairs = [(tied, other), (spread_out, other), (other, tied), (other, spread_out)]
            found = [dominates(a, b, n_items=9, scale=scale) for a, b in pairs]
            for with_ties, without in (found[:2], found[2:]):
                assert with_ties.crossings == without.crossings
                assert with_ties.ahead == pytest.approx(without.ahead)
                assert with_ties.behind == pytest.approx(without.behind)
                assert with_ties.behind_at == without.behind_at


def test_rounding_makes_no_crossing():
    rng = np.random.default_rng(0)
    best, n_tied = rng.integers(1, 500, 2000), rng.integers(0, 500, 2000)
    order = rng.permutation(2000)
    here = TiedRanks(best, n_tied, 1000)
    there = TiedRanks(best[order], n_tied[order], 1000)
    for scale in ("rank", "share"):
        assert dominates(here, there, scale=scale) == bounds.Dominance((), 0.0, None, 0.0, None)


@given(data=st.data())
def test_on_the_scale_of_shares_it_holds_for_sampling_with_replacement(data):
    """Whatever the numbers of items."""
    n_items = data.draw(st.lists(st.integers(2, 7), min_size=1, max_size=5))
    a, b = (np.array([data.draw(st.integers(1, n)) for n in n_items]) for _ in range(2))
    found = dominates(a, b, n_items, scale="share")
    m = data.draw(st.integers(1, 9))
    sampled = [rank_distribution(x, n_items, m).mean(axis=0).cumsum() for x in (a, b)]
    if found:
        assert (sampled[0] >= sampled[1] - 1e-12).all()
        assert AUC()(a, n_items).mean() >= AUC()(b, n_items).mean() - 1e-12
    else:
        share = (a - 1) / (np.array(n_items) - 1), (b - 1) / (np.array(n_items) - 1)
        gap = np.mean(share[1] <= found.behind_at) - np.mean(share[0] <= found.behind_at)
        assert gap == pytest.approx(found.behind)


def test_neither_scale_suffices_without_replacement():
    """The middle of three and the middle of five: equal on one scale, ahead on the other."""
    a, b, n_a, n_b = 2, 3, 3, 5
    middle_of_three = TiedRanks([a], [0], [n_a])
    middle_of_five = TiedRanks([b], [0], [n_b])
    assert dominates(middle_of_three, middle_of_five)
    assert dominates(middle_of_three, middle_of_five, scale="share")
    first = [rank_distribution(r, n, 2, replacement=False)[0] for r, n in ((a, n_a), (b, n_b))]
    assert first == pytest.approx([0, 1 / 6])


@given(pair=same_length, m=st.integers(1, 6), replacement=st.booleans())
def test_a_smaller_sample_never_has_more_crossings(pair, m, replacement):
    """Dropping a drawn item averages neighbors, and averages change signs no more often."""
    curves = [
        np.subtract(
            *(rank_distribution(x, 8, size, replacement).mean(axis=0).cumsum()[:-1] for x in pair)
        )
        for size in (m, m + 1)
    ]
    j = np.arange(1, m + 1)
    dropped = (1 - j / (m + 1)) * curves[1][:-1] + j / (m + 1) * curves[1][1:]
    np.testing.assert_allclose(curves[0], dropped, atol=1e-12)
    signs = [np.sign(x[np.abs(x) > 1e-12]) for x in curves]
    assert np.count_nonzero(np.diff(signs[0])) <= np.count_nonzero(np.diff(signs[1]))
    assert curves[0].mean() == pytest.approx(curves[1].mean(), abs=1e-12)  # the AUC


def test_dominance_is_a_value():
    found = dominates([1, 2], [2, 3])
    assert found == dominates([2, 1], [3, 2])
    assert len({found, dominates([2, 1], [3, 2])}) == 1
    with pytest.raises(FrozenInstanceError):
        found.behind = 0.5


def test_sizes_may_differ():
    assert dominates([1, 3], [1, 1, 3, 3]) == dominates([1, 1, 3, 3], [1, 3])
    assert dominates([1, 3], [1, 3, 3]).ahead == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"a": [1, 0]}, r"a\[1\] is 0; a must be at least 1"),
        ({"b": [2.5]}, r"b\[0\] is 2.5; b must be whole"),
        ({"a": []}, "a is empty; a must hold a rank"),
        ({"b": [4, 9], "n_items": 8}, r"b\[1\] is 9; b must be at most n_items"),
        ({"n_items": [8, 8, 8]}, r"n_items has shape \(3,\)"),
        ({"scale": "share"}, 'n_items is None; scale "share" needs the number'),
        ({"scale": "share", "n_items": 1, "a": [1]}, "n_items.* is 1; n_items must be at least 2"),
        ({"scale": "log"}, "scale is 'log'; scale must be one of rank, share"),
    ],
)
def test_dominance_of_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        dominates(**({"a": [1, 2], "b": [4, 5]} | arguments))


# --- bounds


def vertices(constraints, limits, n):
    """Corners of the probabilities on n ranks with constraints @ pi <= limits, one by one."""
    for active in combinations(range(len(limits)), n - 1):
        matrix = np.vstack([np.ones(n), constraints[list(active)]])
        if abs(np.linalg.det(matrix)) > 1e-12:
            pi = np.linalg.solve(matrix, np.append(1, limits[list(active)]))
            if (constraints @ pi <= limits + 1e-9).all():
                yield pi


def brute_force(shares, metric, n, replacement, band, shape=None, max_share=1.0):
    """The extremes over the corners of every shape's polytope: no linear programming."""
    m = len(shares) - 1
    cumulative = rank_distribution(np.arange(1, n + 1), n, m, replacement).cumsum(axis=1)[:, :-1].T
    observed = np.cumsum(shares)[:-1]
    rises = np.eye(n)[:-1] - np.eye(n)[1:]  # rises @ pi <= 0: pi never falls
    modes = {None: [None], "decreasing": [0], "unimodal": range(n)}[shape]
    found = []
    for mode in modes:
        up = [] if mode is None else [*rises[:mode], *-rises[mode:]]
        constraints = np.array([*-np.eye(n), *np.eye(n), *cumulative, *-cumulative, *up])
        limits = np.concatenate(
            [
                np.zeros(n),
                np.full(n, max_share),
                observed + band,
                band - observed,
                np.zeros(len(up)),
            ]
        )
        found += [pi @ metric(np.arange(1, n + 1), n) for pi in vertices(constraints, limits, n)]
    return min(found), max(found)


@pytest.mark.parametrize("metric", METRICS, ids=str)
@pytest.mark.parametrize(
    ("n", "shares", "band", "replacement", "assumed"),
    [
        (4, [0.5, 0.3, 0.2], 0.1, True, {}),
        (5, [0.6, 0.2, 0.2], 0.02, False, {}),
        (5, [0.9, 0.1], 0.0, True, {}),
        (5, [0.5, 0.3, 0.2], 0.05, True, {"shape": "decreasing"}),
        (4, [0.2, 0.6, 0.2], 0.15, False, {"shape": "unimodal"}),
        (4, [0.4, 0.3, 0.3], 0.1, True, {"max_share": 0.35}),
        (4, [0.5, 0.3, 0.2], 0.1, False, {"shape": "decreasing", "max_share": 0.4}),
        (3, [0.2, 0.6, 0.2], 0.15, True, {"shape": "unimodal", "max_share": 0.65}),
    ],
)
def test_bounds_against_all_corners(n, shares, band, replacement, assumed, metric):
    got = identified_set(shares, metric, n, replacement, band, **assumed)
    want = brute_force(shares, metric, n, replacement, band, **assumed)
    assert got == pytest.approx(want, abs=1e-6)
    assert got.low <= got.high + 1e-9


@pytest.mark.parametrize("n", [20, 3541])
@pytest.mark.parametrize("share", [0.3, 0.97])
@pytest.mark.parametrize("replacement", [True, False])
def test_one_sample_in_closed_form(n, share, replacement):
    """It shows the mean of 1 - (r - 1)/(n - 1), which is the AUC, and nothing else.

    The top k hold most if all of them is at rank k and the others are last, and least if all are
    at ranks 1 and k + 1, or k + 1 and n.
    """
    band = 0.01
    found = identified_set([share, 1 - share], AUC(), n, replacement, band)
    assert found == pytest.approx((share - band, share + band), abs=1e-6)
    for k in (1, 5):
        at, behind = 1 - (k - 1) / (n - 1), 1 - k / (n - 1)
        want = max(0, (share - band - behind) / (1 - behind)), min(1, (share + band) / at)
        got = identified_set([share, 1 - share], Recall(k=k), n, replacement, band)
        assert got == pytest.approx(want, abs=2e-6)


@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_all_other_items_drawn_leave_only_the_band(confidence):
    """Without replacement the sampled rank is then the exact one; Massart's band."""
    n, users = 12, 400
    ranks = np.random.default_rng(1).integers(1, n + 1, users)
    band = np.sqrt(np.log(2 / (1 - confidence)) / (2 * users))
    for k in (1, 4, 11):
        exact = Recall(k=k)(ranks).mean()
        want = max(exact - band, 0), min(exact + band, 1)
        got = metric_bounds(ranks, Recall(k=k), n, n - 1, False, confidence)
        assert got == pytest.approx(want, abs=1e-6)
        sharp = identified_set(np.bincount(ranks - 1) / users, Recall(k=k), n, replacement=False)
        assert sharp == pytest.approx((exact, exact), abs=1e-6)


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("users", ["of a population", "these"])
def test_the_truth_lies_within_at_the_stated_confidence(users, replacement):
    """250 laws each, 50 %; what is right fails with a probability below one in a million.

    The band is for a population of which the users are a sample, and the mean of that. For the
    mean of the users themselves only the items drawn are random, and all the more lies within.
    """
    n, m, size, confidence, laws = 12, 11, 60, 0.5, 250
    rng = np.random.default_rng(7)
    outside = 0
    for _ in range(laws):
        law = rng.dirichlet(np.full(n, 0.3))
        ranks = 1 + rng.choice(n, size, p=law)
        metric = Recall(k=int(rng.integers(1, n)))
        all_ = ranks if users == "these" else np.arange(1, n + 1)
        truth = np.average(metric(all_), weights=None if users == "these" else law)
        sampled = sample_ranks(ranks, n, m, replacement, rng=rng)
        low, high = metric_bounds(sampled, metric, n, m, replacement, confidence)
        outside += not low - 1e-6 <= truth <= high + 1e-6
    assert outside <= binom.ppf(1 - 1e-6, laws, 1 - confidence)
    if users == "of a population" and not replacement:
        assert outside >= 3  # there the bounds are the band, and it is not much too wide


decreasing = st.lists(st.floats(0.01, 1), min_size=30, max_size=30).map(
    lambda x: np.sort(x)[::-1] / np.sum(x)
)


@settings(max_examples=15)
@given(law=decreasing, split=st.integers(0, 30), data=st.data())
def test_the_law_itself_is_always_within(law, split, data):
    """For a band of 0, and any shape that it has."""
    unimodal = np.concatenate([np.sort(law[:split]), law[split:]])
    if 0 < split < 30:  # a permutation that rises up to `split` and falls from there
        kept = data.draw(st.permutations(range(30)))[:split]
        left = np.sort(law[kept])
        unimodal = np.concatenate([left, np.sort(np.delete(law, kept))[::-1]])
    m = data.draw(st.integers(1, 5))
    metric = data.draw(st.sampled_from(METRICS))
    exact = metric(np.arange(1, 31), n_items=30)
    p = rank_distribution(np.arange(1, 31), 30, m)
    for pi, shapes in ((law, (None, "unimodal", "decreasing")), (unimodal, (None, "unimodal"))):
        for shape in shapes:
            low, high = identified_set(pi @ p, metric, 30, shape=shape, max_share=pi.max())
            assert low - 1e-6 <= pi @ exact <= high + 1e-6


def test_more_confidence_is_wider_and_more_assumptions_are_narrower():
    ranks = np.random.default_rng(2).geometric(0.01, 800).clip(1, 1000)
    sampled = sample_ranks(ranks, 1000, 30, rng=3)
    inside_out = (
        [
            {"confidence": 0.5},
            {"confidence": 0.95},
            {"confidence": 0.999},
        ],
        [
            {"shape": "decreasing", "max_share": 0.02},
            {"shape": "decreasing"},
            {"shape": "unimodal"},
            {},
        ],
        [{"max_share": 0.012}, {"max_share": 0.02}, {}],
    )
    for metric in (Recall(k=10), NDCG()):
        for settings_ in inside_out:
            found = [metric_bounds(sampled, metric, 1000, 30, **kind) for kind in settings_]
            lows, highs = np.transpose(found)
            assert (np.diff(lows) < 1e-6).all()
            assert (np.diff(highs) > -1e-6).all()
            assert (np.diff(highs - lows) > 1e-6).all()  # each makes a difference here


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize(
    ("n", "m", "nodes"),
    [
        (2000, 2, None),
        (2000, 20, None),
        (1000, 60, None),
        (61, 40, np.arange(1, 62, 3)),
        (61, 10, np.arange(1, 62, 10)),
        (60, 59, np.arange(1, 61)),
    ],
)
def test_interpolation_error(n, m, nodes, replacement):
    """Its bound holds at every rank, and is not ten times too large."""
    if nodes is None:
        nodes = bounds._nodes(n, m, 10, band=0.2)
        assert len(nodes) < n / 2
    every = np.arange(1, n + 1)
    cumulative = rank_distribution(every, n, m, replacement).cumsum(axis=1)[:, :-1]
    between = np.stack([np.interp(every, nodes, row[nodes - 1]) for row in cumulative.T])
    error = np.abs(cumulative.T - between).max(axis=1)
    bound = bounds._interpolation_error(nodes, n, m, replacement)
    assert (error <= bound + 1e-13).all()
    assert bound.max() <= 10 * error.max()


@pytest.mark.parametrize("n", [10**4, 10**6])
def test_metrics_between_the_ranks_looked_at(n):
    for metric in (AveragePrecision(), NDCG(), NDCG(k=50), Recall(k=2500), AUC()):
        nodes = bounds._nodes(n, 50, metric.k, band=0.02)
        assert len(nodes) < 2000
        every = np.arange(1, n + 1)
        between = np.interp(every, nodes, metric(nodes, n_items=n))
        assert np.abs(metric(every, n_items=n) - between).max() < 2e-5


@pytest.mark.parametrize("assumed", [{}, {"shape": "decreasing"}, {"max_share": 0.02}], ids=str)
@pytest.mark.parametrize("replacement", [True, False])
def test_some_ranks_instead_of_all(monkeypatch, assumed, replacement):
    """Never narrower than with all ranks, and hardly wider."""
    n, m, band = 2000, 20, 0.02
    ranks = np.random.default_rng(4).geometric(0.005, 3000).clip(1, n)
    shares = rank_distribution(ranks, n, m, replacement).mean(axis=0)
    assert len(bounds._nodes(n, m, 10, band)) < n / 2
    for metric in (Recall(k=10), Recall(k=300), AveragePrecision(), NDCG(), AUC()):
        some = identified_set(shares, metric, n, replacement, band, **assumed)
        with monkeypatch.context() as patch:
            patch.setattr(bounds, "_nodes", lambda n, m, cut, band: np.arange(1, n + 1))
            all_ = identified_set(shares, metric, n, replacement, band, **assumed)
        assert some.low <= all_.low + 1e-7
        assert some.high >= all_.high - 1e-7
        assert some == pytest.approx(all_, abs=0.1 * band)


def test_a_handful_of_ranks_instead_of_all(monkeypatch):
    """The errors of interpolation are then large, on both sides, and all counted."""
    n, m, band = 60, 4, 0.03
    ranks = np.random.default_rng(9).geometric(0.08, 3000).clip(1, n)
    shares = rank_distribution(ranks, n, m).mean(axis=0)
    for metric in (Recall(k=6), AveragePrecision(), NDCG(k=30), AUC()):
        for assumed in ({}, {"shape": "unimodal"}, {"shape": "decreasing"}, {"max_share": 0.1}):
            every = identified_set(shares, metric, n, band=band, **assumed)
            with monkeypatch.context() as patch:
                few = np.array([1, 3, 9, 20, 35, n])
                patch.setattr(bounds, "_nodes", lambda *_, few=few: few)
                found = identified_set(shares, metric, n, band=band, **assumed)
            assert found.low <= every.low + 1e-7
            assert found.high >= every.high - 1e-7


def test_a_million_items():
    """Close to what can be reached on the ranks looked at alone, which is too narrow."""
    n, m, band = 10**6, 50, 0.01
    ranks = np.unique(np.geomspace(1, n, 1000).astype(int))
    shares = rank_distribution(ranks, n, m).mean(axis=0)
    for metric in (Recall(k=10), AveragePrecision()):
        outer = identified_set(shares, metric, n, band=band)
        nodes = bounds._nodes(n, m, metric.k, band)
        assert len(nodes) < 3000
        p = rank_distribution(nodes, n, m).cumsum(axis=1)[:, :-1]
        observed = np.cumsum(shares)[:-1]
        for sign, reached in ((1, outer.low), (-1, outer.high)):
            inner = (
                sign
                * linprog(
                    sign * metric(nodes),
                    A_ub=np.vstack([p.T, -p.T]),
                    b_ub=np.concatenate([observed + band, band - observed]),
                    A_eq=np.ones((1, len(nodes))),
                    b_eq=[1],
                ).fun
            )
            assert -1e-6 <= sign * (inner - reached) < 0.1 * band


@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_the_other_side_of_the_program(metric):
    """The upper bound is the mean of the best table that nowhere underestimates the metric.

    Less its price: the band times all its ups and downs. (Linear programming's duality.)
    """
    n, m, band = 40, 6, 0.03
    ranks = np.random.default_rng(5).geometric(0.1, 500).clip(1, n)
    shares = np.bincount(sample_ranks(ranks, n, m, rng=6) - 1, minlength=m + 1) / 500
    p = rank_distribution(np.arange(1, n + 1), n, m)
    exact = metric(np.arange(1, n + 1), n_items=n)
    steps = np.diff(np.eye(m + 1), axis=0)
    found = identified_set(shares, metric, n, band=band)
    for sign, want in ((1, found.high), (-1, found.low)):
        # unknown: the table, and how far each step goes at most, up or down
        solution = linprog(
            np.append(shares, np.full(m, band)),
            A_ub=np.block([[-p, np.zeros((n, m))], [steps, -np.eye(m)], [-steps, -np.eye(m)]]),
            b_ub=np.concatenate([-sign * exact, np.zeros(2 * m)]),
            bounds=(None, None),
        )
        assert sign * solution.fun == pytest.approx(want, abs=1e-6)


def test_another_method_finds_the_same(monkeypatch):
    sampled = sample_ranks(np.arange(1, 900), 1000, 40, rng=8)
    for shape in (None, "decreasing"):
        simplex = metric_bounds(sampled, NDCG(k=10), 1000, 40, shape=shape)
        with monkeypatch.context() as patch:
            patch.setattr(bounds, "METHODS", ("highs-ipm",))
            interior = metric_bounds(sampled, NDCG(k=10), 1000, 40, shape=shape)
        assert simplex == pytest.approx(interior, abs=1e-6)


@pytest.mark.parametrize(("name", "high"), [("x", 0.236), ("y", 0.233), ("z", 0.251)])
def test_movielens(name, high):
    """As found before by another program, for another draw (so two standard deviations off)."""
    table = pd.read_csv(Path(__file__).parents[1] / "book/data/movielens_ranks.csv")
    tied = TiedRanks(table[f"{name}_best"], table[f"{name}_tied"], table["n_items"])
    rng = np.random.default_rng(2020)
    sampled = sample_ranks(tied.break_ties("random", rng), tied.n_items, 100, False, rng=rng)
    found = metric_bounds(sampled, Recall(k=10), n_items=3541, n_samples=100)
    assert found.low == pytest.approx(0, abs=1e-6)
    assert found.high == pytest.approx(high, abs=0.012)
    assert found.low <= tied.expected(Recall(k=10)).mean() <= found.high


def test_what_no_distribution_explains():
    """A hundred draws scatter; and a list that is best at the bottom does not decrease."""
    with pytest.raises(ValueError, match=r"no distribution of the ranks 1, \.\.\., 1000 explains"):
        metric_bounds([51] * 1000, Recall(k=10), n_items=1000, n_samples=100)
    sampled = sample_ranks([900] * 1000, 1000, 100, rng=0)
    for shape in (None, "unimodal"):
        assert metric_bounds(sampled, AUC(), 1000, 100, shape=shape).high < 0.2
    with pytest.raises(ValueError, match="no decreasing distribution of the ranks"):
        metric_bounds(sampled, AUC(), 1000, 100, shape="decreasing")


def test_what_no_method_solves(monkeypatch):
    class Failed:
        status, message = 4, "numerical trouble"

    monkeypatch.setattr(bounds, "linprog", lambda *args, **kwargs: Failed)
    with pytest.raises(RuntimeError, match="numerical trouble"):
        identified_set([0.5, 0.5], AUC(), 10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sampled_ranks": [1, 7]}, r"sampled_ranks\[1\] is 7; .* at most n_samples \+ 1"),
        ({"sampled_ranks": [0]}, r"sampled_ranks\[0\] is 0"),
        ({"sampled_ranks": []}, "sampled_ranks is empty; sampled_ranks must hold a rank"),
        ({"n_items": 1}, "n_items is 1; n_items must be at least 2"),
        ({"n_samples": 0}, "n_samples is 0; n_samples must be at least 1"),
        ({"n_items": 5, "replacement": False}, "n_samples is 5; without replacement it must be"),
        ({"replacement": 1}, "replacement is 1; replacement must be True or False"),
        ({"confidence": 1}, "confidence is 1; confidence must be below 1"),
        ({"confidence": 0}, "confidence is 0; confidence must be positive"),
        ({"confidence": None}, "confidence is None; confidence must be a number"),
        ({"shape": "convex"}, "shape is 'convex'; shape must be one of unimodal, decreasing"),
        ({"max_share": 0}, "max_share is 0; max_share must be positive"),
        ({"max_share": 1.5}, r"max_share is 1\.5; max_share must be at most 1"),
    ],
)
def test_bounds_of_bad_input(arguments, message):
    usual = {"sampled_ranks": [1, 2, 6], "metric": AUC(), "n_items": 100, "n_samples": 5}
    with pytest.raises(ValueError, match=message):
        metric_bounds(**(usual | arguments))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"shares": [0.5, 0.6]}, r"shares sums to 1\.1; it must sum to 1"),
        ({"shares": [1.5, -0.5]}, r"shares\[1\] is -0.5; shares must be 0 or above"),
        ({"shares": [0.5, np.nan]}, r"shares\[1\] is nan"),
        ({"shares": [1.0]}, r"shares has shape \(1,\); it must have at least two entries"),
        ({"shares": [[0.5, 0.5]]}, r"shares has shape \(1, 2\); it must be one flat array"),
        ({"shares": ["0.5", "0.5"]}, "shares has dtype <U3; it must be one array of numbers"),
        ({"shares": [[0.5], [0.5, 0]]}, "shares is ragged; it must be one array of numbers"),
        ({"band": -0.1}, r"band is -0\.1; band must be positive or 0"),
    ],
)
def test_identified_set_of_bad_input(arguments, message):
    usual = {"shares": [0.5, 0.5], "metric": AUC(), "n_items": 100}
    with pytest.raises(ValueError, match=message):
        identified_set(**(usual | arguments))


@pytest.mark.parametrize(("rank", "n_items", "n_samples"), [(100, 1000, 20), (100, 300, 15)])
@pytest.mark.parametrize("flat", [True, False])
def test_exact_shares_are_explained(rank, n_items, n_samples, flat):
    """All at one rank, or evenly at the ranks up to it: a set of width zero is not an empty one."""
    shares = np.zeros(n_items)
    shares[(0 if flat else rank - 1) : rank] = 1
    shares /= shares.sum()
    seen = shares @ rank_distribution(np.arange(1, n_items + 1), n_items, n_samples)
    for metric in (AUC(), Recall(k=10)):
        low, high = identified_set(seen, metric, n_items)
        truth = shares @ metric(np.arange(1, n_items + 1), n_items)
        assert low - 1e-9 <= truth <= high + 1e-9


def test_shapes_stay_inside_each_other_without_a_band():
    n = 300
    shares = np.exp(-np.arange(n) / 11)
    shares = 0.5 * shares / shares.sum() + 0.5 * (np.arange(n) < 11) / 11
    seen = shares @ rank_distribution(np.arange(1, n + 1), n, 15)
    truth = shares @ NDCG()(np.arange(1, n + 1))
    falling, humped, free = (
        identified_set(seen, NDCG(), n, shape=s) for s in ("decreasing", "unimodal", None)
    )
    assert free.low <= humped.low <= falling.low <= truth <= falling.high
    assert falling.high <= humped.high + 1e-6 <= free.high + 2e-6


def test_place_of_the_largest_lead_is_the_first():
    found = dominates(TiedRanks([2, 3], [2, 0], 4), TiedRanks([3, 1], [0, 2], 4))
    assert found.behind == pytest.approx(1 / 6)
    assert found.behind_at == 1
