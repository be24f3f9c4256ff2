"""What a sample leaves open."""

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, linprog, milp
from scipy.stats import binom

from sampled_metrics import (
    AUC,
    NDCG,
    AveragePrecision,
    Draw,
    Metric,
    Ranks,
    Recall,
    WeightedDraw,
    metric_bounds,
)
from sampled_metrics.bounds import Bounds, identified_set
from shared import known

METRICS = [AUC(), Recall(k=1), Recall(k=3), AveragePrecision(), NDCG(k=2), NDCG()]


def every_rank(draw):
    return np.arange(1, draw.n_items + 1)


def vertices(constraints, limits, n):
    """Corners of the probabilities on n ranks with constraints @ pi <= limits, one by one."""
    for active in combinations(range(len(limits)), n - 1):
        matrix = np.vstack([np.ones(n), constraints[list(active)]])
        if abs(np.linalg.det(matrix)) > 1e-12:
            pi = np.linalg.solve(matrix, np.append(1, limits[list(active)]))
            if (constraints @ pi <= limits + 1e-9).all():
                yield pi


def brute_force(shares, metric, draw, band, shape=None, max_share=1.0):
    """The extremes over the corners of every shape's polytope: no linear programming."""
    n = draw.n_items
    cumulative = draw.pmf(every_rank(draw)).cumsum(axis=1)[:, :-1].T
    observed = np.cumsum(shares)[:-1]
    rises = np.eye(n)[:-1] - np.eye(n)[1:]  # rises @ pi <= 0: pi never falls
    modes: Any = {None: [None], "decreasing": [0], "unimodal": range(n)}[shape]
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
        found += [pi @ metric(every_rank(draw), n) for pi in vertices(constraints, limits, n)]
    return min(found), max(found)


def over_all_pairs(shares, metric, draw, band, *, max_share=1.0, decreasing=False):
    """The extremes over all distributions of the number of items and the rank: one big program."""
    n_items, counts = np.unique(draw.n_items, return_counts=True)
    draws = [
        Draw(draw.n_samples, n_items=n, replacement=draw.replacement) for n in n_items.tolist()
    ]
    p = np.concatenate([d.pmf(every_rank(d)).cumsum(axis=1)[:, :-1] for d in draws])
    exact = np.concatenate([metric(every_rank(d), d.n_items) for d in draws])
    if decreasing:  # mixtures of uniform distributions on the first ranks
        p, exact = (np.cumsum(x, axis=0).T / np.arange(1, len(x) + 1) for x in (p, exact))
        p = p.T
    which = np.repeat(np.arange(len(n_items)), n_items)
    observed = np.cumsum(shares)[:-1]
    explained = [
        LinearConstraint(p.T, observed - band, observed + band),
        LinearConstraint(np.eye(len(n_items))[which].T, *[counts / counts.sum()] * 2),
    ]
    possible = scipy.optimize.Bounds(0, max_share)
    found = [
        sign * known(milp(sign * exact, constraints=explained, bounds=possible).fun)
        for sign in (1, -1)
    ]
    return Bounds(*found)


@pytest.mark.parametrize("metric", METRICS, ids=str)
@pytest.mark.parametrize(
    ("n", "shares", "band", "replacement", "assumed"),
    [
        (2, [0.6, 0.4], 0.05, False, {}),
        (2, [0.5, 0.1, 0.4], 0.15, True, {}),
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
    draw = Draw(len(shares) - 1, n_items=n, replacement=replacement)
    got = identified_set(shares, metric, draw, band=band, **assumed)
    want = brute_force(shares, metric, draw, band, **assumed)
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
    band, draw = 0.01, Draw(1, n_items=n, replacement=replacement)
    found = identified_set([share, 1 - share], AUC(), draw, band=band)
    assert found == pytest.approx((share - band, share + band), abs=1e-6)
    for k in (1, 5):
        at, behind = 1 - (k - 1) / (n - 1), 1 - k / (n - 1)
        want = max(0, (share - band - behind) / (1 - behind)), min(1, (share + band) / at)
        got = identified_set([share, 1 - share], Recall(k=k), draw, band=band)
        assert got == pytest.approx(want, abs=2e-6)


@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_all_other_items_drawn_leave_only_the_band(confidence):
    """Without replacement the sampled rank is then the exact one; Massart's band."""
    n, users = 12, 400
    draw = Draw(n - 1, n_items=n, replacement=False)
    ranks = np.random.default_rng(1).integers(1, n + 1, users)
    band = np.sqrt(np.log(2 / (1 - confidence)) / (2 * users))
    for k in (1, 4, 11):
        exact = Recall(k=k)(ranks).mean()
        want = max(exact - band, 0), min(exact + band, 1)
        got = metric_bounds(ranks, Recall(k=k), draw, confidence=confidence)
        assert got == pytest.approx(want, abs=1e-6)
        sharp = identified_set(np.bincount(ranks - 1) / users, Recall(k=k), draw)
        assert sharp == pytest.approx((exact, exact), abs=1e-6)


def test_two_items_have_two_sampled_ranks():
    """Drawn with replacement, the other item is above in all draws or in none."""
    draw = Draw(5, n_items=2)
    shares = np.array([0.7, 0, 0, 0, 0, 0.3])
    assert identified_set(shares, Recall(k=1), draw) == pytest.approx((0.7, 0.7), abs=1e-5)
    assert identified_set(shares, AUC(), draw) == pytest.approx((0.7, 0.7), abs=1e-5)
    assert identified_set([0.7, 0, 0, 0, 0.3, 0], Recall(k=1), draw).is_empty


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("users", ["of a population", "these"])
def test_the_truth_lies_within_at_the_stated_confidence(users, replacement):
    """250 distributions each, 50 %; what is right fails once in a million times.

    The band is for a population of which the users are a sample, and the mean of that. For the
    mean of the users themselves only the items drawn are random, and all the more lies within.
    """
    n, m, size, confidence, repeats = 12, 11, 60, 0.5, 250
    draw = Draw(m, n_items=n, replacement=replacement)
    rng = np.random.default_rng(7)
    outside = 0
    for _ in range(repeats):
        pi = rng.dirichlet(np.full(n, 0.3))
        ranks = 1 + rng.choice(n, size, p=pi)
        metric = Recall(k=int(rng.integers(1, n)))
        all_ = ranks if users == "these" else np.arange(1, n + 1)
        truth = np.average(metric(all_), weights=None if users == "these" else pi)
        low, high = metric_bounds(draw.rvs(ranks, rng=rng), metric, draw, confidence=confidence)
        outside += not low - 1e-6 <= truth <= high + 1e-6
    assert outside <= binom.ppf(1 - 1e-6, repeats, 1 - confidence)
    if users == "of a population" and not replacement:
        assert outside >= 3  # there the bounds are the band, and it is not much too wide


decreasing = st.lists(st.floats(0.01, 1), min_size=30, max_size=30).map(
    lambda x: np.sort(x)[::-1] / np.sum(x)
)


@settings(max_examples=15)
@given(pi=decreasing, split=st.integers(0, 30), data=st.data())
def test_the_distribution_itself_is_always_within(pi, split, data):
    """For a band of 0, and any shape that it has."""
    unimodal = np.concatenate([np.sort(pi[:split]), pi[split:]])
    if 0 < split < 30:  # a permutation that rises up to `split` and falls from there
        kept = data.draw(st.permutations(range(30)))[:split]
        left = np.sort(pi[kept])
        unimodal = np.concatenate([left, np.sort(np.delete(pi, kept))[::-1]])
    draw = Draw(data.draw(st.integers(1, 5)), n_items=30)
    metric = data.draw(st.sampled_from(METRICS))
    exact, p = metric(every_rank(draw), 30), draw.pmf(every_rank(draw))
    shapes: list[Any] = [None, "unimodal", "decreasing"]
    for truth, fitting in ((pi, shapes), (unimodal, shapes[:2])):
        for shape in fitting:
            found = identified_set(truth @ p, metric, draw, shape=shape, max_share=truth.max())
            assert found.low - 1e-6 <= truth @ exact <= found.high + 1e-6


def test_more_confidence_is_wider_and_more_assumptions_are_narrower():
    ranks = np.random.default_rng(2).geometric(0.01, 800).clip(1, 1000)
    draw = Draw(30, n_items=1000)
    sampled = draw.rvs(ranks, rng=3)
    inside_out: Any = (
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
            found = [metric_bounds(sampled, metric, draw, **kind) for kind in settings_]
            lows, highs = np.transpose(found)
            assert (np.diff(lows) < 1e-6).all()
            assert (np.diff(highs) > -1e-6).all()
            assert (np.diff(highs - lows) > 1e-6).all()  # each makes a difference here


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize(
    ("n", "m", "band"),
    [
        (2000, 20, 0.02),
        (2000, 2, 0.5),
        (1000, 60, 0.2),
        pytest.param(3000, 100, 0.05, marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_some_ranks_instead_of_all(n, m, band, replacement):
    """Never narrower than with all ranks, and hardly wider: interpolation pays for its errors."""
    draw = Draw(m, n_items=n, replacement=replacement)
    ranks = np.random.default_rng(4).geometric(0.005, 3000).clip(1, n)
    shares = draw.pmf(ranks).mean(axis=0)
    for metric in (Recall(k=10), Recall(k=300), AveragePrecision(), NDCG(), AUC()):
        some = identified_set(shares, metric, draw, band=band)
        all_ = over_all_pairs(shares, metric, draw, band)
        assert some.low <= all_.low + 1e-7
        assert some.high >= all_.high - 1e-7
        assert some == pytest.approx(all_, abs=0.1 * band)


@pytest.mark.parametrize("assumed", [{"shape": "decreasing"}, {"max_share": 0.02}], ids=str)
def test_some_ranks_keep_what_is_assumed(assumed):
    n, band, draw = 2000, 0.02, Draw(20, n_items=2000)
    ranks = np.random.default_rng(4).geometric(0.005, 3000).clip(1, n)
    shares = draw.pmf(ranks).mean(axis=0)
    for metric in (Recall(k=10), Recall(k=300), NDCG(), AUC()):
        some = identified_set(shares, metric, draw, band=band, **assumed)
        kind = {"decreasing": True} if "shape" in assumed else assumed
        all_ = over_all_pairs(shares, metric, draw, band, **kind)
        assert some.low <= all_.low + 1e-7
        assert some.high >= all_.high - 1e-7
        assert some == pytest.approx(all_, abs=0.1 * band)


def test_a_million_items():
    """Close to what can be reached on other ranks alone, which is too narrow."""
    n, band, draw = 10**6, 0.01, Draw(50, n_items=10**6)
    ranks = np.unique(np.geomspace(1, n, 1000).astype(int))
    shares = draw.pmf(ranks).mean(axis=0)
    nodes = np.unique(np.append(np.arange(1, 64), np.geomspace(64, n, 1500).astype(int)))
    p = draw.pmf(nodes).cumsum(axis=1)[:, :-1]
    observed = np.cumsum(shares)[:-1]
    for metric in (Recall(k=10), AveragePrecision()):
        outer = identified_set(shares, metric, draw, band=band)
        for sign, reached in ((1, outer.low), (-1, outer.high)):
            inner = sign * known(
                linprog(
                    sign * metric(nodes),
                    A_ub=np.vstack([p.T, -p.T]),
                    b_ub=np.concatenate([observed + band, band - observed]),
                    A_eq=np.ones((1, len(nodes))),
                    b_eq=[1],
                ).fun
            )
            assert -1e-6 <= sign * (inner - reached) < 0.1 * band


def test_so_many_items_that_their_ranks_fit_in_no_memory():
    """The share of the items above is what matters: 10 of 10^6 are as many as 10^6 of 10^11."""
    shares = [0.9, 0.1, 0.0]
    fewer = identified_set(shares, Recall(k=10), Draw(2, n_items=10**6), band=0.02)
    more = identified_set(shares, Recall(k=10), Draw(2, n_items=10**11), band=0.02)
    assert more == pytest.approx(fewer, abs=1e-3)


@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_the_other_side_of_the_program(metric):
    """The upper bound is the mean of the best table that nowhere underestimates the metric.

    Less its price: the band times all its ups and downs. (Linear programming's duality.)
    """
    m, band, draw = 6, 0.03, Draw(6, n_items=40)
    ranks = np.random.default_rng(5).geometric(0.1, 500).clip(1, 40)
    shares = np.bincount(draw.rvs(ranks, rng=6) - 1, minlength=m + 1) / 500
    p, exact = draw.pmf(every_rank(draw)), metric(every_rank(draw), n_items=40)
    steps = np.diff(np.eye(m + 1), axis=0)
    found = identified_set(shares, metric, draw, band=band)
    for sign, want in ((1, found.high), (-1, found.low)):
        # unknown: the table, and how far each step goes at most, up or down
        solution = linprog(
            np.append(shares, np.full(m, band)),
            A_ub=np.block([[-p, np.zeros((40, m))], [steps, -np.eye(m)], [-steps, -np.eye(m)]]),
            b_ub=np.concatenate([-sign * exact, np.zeros(2 * m)]),
            bounds=(None, None),
        )
        assert sign * known(solution.fun) == pytest.approx(want, abs=1e-6)


def test_another_method_finds_the_same(monkeypatch):
    draw = Draw(40, n_items=1000)
    sampled = draw.rvs(np.arange(1, 900), rng=8)

    def interior_point(method, **program):
        return linprog(method="highs-ipm", **program)

    for shape in (None, "decreasing"):
        simplex = metric_bounds(sampled, NDCG(k=10), draw, shape=shape)
        with monkeypatch.context() as patch:
            patch.setattr(scipy.optimize, "linprog", interior_point)
            interior = metric_bounds(sampled, NDCG(k=10), draw, shape=shape)
        assert simplex == pytest.approx(interior, abs=1e-6)


@pytest.mark.parametrize(("name", "high"), [("x", 0.236), ("y", 0.233), ("z", 0.251)])
def test_movielens(name, high):
    """As found before by another program, for another draw (so two standard deviations off)."""
    table = pd.read_csv(Path(__file__).parents[2] / "book/data/movielens_ranks.csv")
    tied = Ranks(table[f"{name}_best"], table[f"{name}_tied"], table["n_items"])
    sampled = Draw(100, replacement=False).rvs(tied, rng=2020).best  # as if all had one catalog
    found = metric_bounds(sampled, Recall(k=10), Draw(100, n_items=3541))
    assert found.low == pytest.approx(0, abs=1e-6)
    assert found.high == pytest.approx(high, abs=0.012)
    assert found.low <= Recall(k=10).mean(tied) <= found.high


# --- several numbers of items


def test_equal_numbers_are_one_number():
    one, many = Draw(6, n_items=40), Draw(6, n_items=np.full(300, 40))
    sampled = one.rvs(np.random.default_rng(1).integers(1, 20, 300), rng=2)
    shares = np.bincount(sampled - 1, minlength=7) / 300
    for kind in ({}, {"shape": "decreasing"}, {"max_share": 0.2}):
        assert metric_bounds(sampled, NDCG(), many, **kind) == metric_bounds(
            sampled, NDCG(), one, **kind
        )
        assert identified_set(shares, NDCG(), many, band=0.1, **kind) == identified_set(
            shares, NDCG(), one, band=0.1, **kind
        )


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("n_items", [[5, 9], [4, 4, 30], [7, 8, 9, 20, 40]])
def test_few_numbers_against_one_big_program(n_items, replacement):
    draw = Draw(3, n_items=n_items, replacement=replacement)
    ranks = 1 + (np.random.default_rng(3).random((400, len(n_items))) ** 2 * n_items).astype(int)
    shares = np.mean([draw.pmf(row).mean(axis=0) for row in ranks], axis=0)
    for metric in METRICS:
        for band in (0.0, 0.05):
            got = identified_set(shares, metric, draw, band=band)
            want = over_all_pairs(shares, metric, draw, band)
            assert got == pytest.approx(want, abs=1e-4 if band == 0 else 1e-6)


@settings(max_examples=10)
@given(data=st.data())
@pytest.mark.slow
def test_many_numbers_contain_one_big_program(data):
    """And the users themselves, if the cumulative shares are exact."""
    sizes = data.draw(st.lists(st.integers(8, 60), min_size=17, max_size=25, unique=True))
    replacement, m = data.draw(st.booleans()), data.draw(st.integers(1, 6))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    n = np.repeat(sizes, rng.integers(1, 5, len(sizes)))
    ranks = 1 + (rng.random(len(n)) ** rng.uniform(0.3, 5) * n).astype(int)
    draw = Draw(m, n_items=n, replacement=replacement)
    shares, band = draw.pmf(ranks).mean(axis=0), data.draw(st.sampled_from([0.0, 0.03]))
    for metric in METRICS:
        got = identified_set(shares, metric, draw, band=band)
        assert got.low - 1e-6 <= metric(ranks, n).mean() <= got.high + 1e-6
        want = over_all_pairs(shares, metric, draw, band + 1e-7)
        assert got.low <= want.low + 1e-6
        assert got.high >= want.high - 1e-6


def test_many_numbers_that_hardly_differ_are_hardly_wider():
    n = np.arange(1000, 1100)
    ranks = np.random.default_rng(5).geometric(0.02, 100).clip(1, 900)
    shares = Draw(20, n_items=n).pmf(ranks).mean(axis=0)
    for metric in (Recall(k=300), AUC()):
        many = identified_set(shares, metric, Draw(20, n_items=n), band=0.05)
        one = identified_set(shares, metric, Draw(20, n_items=1050), band=0.05)
        assert tuple(many) == pytest.approx(tuple(one), abs=0.02)


def test_many_numbers_that_differ_are_not_much_wider():
    n = np.arange(20, 60)
    ranks = 1 + np.random.default_rng(6).geometric(0.1, 40).clip(1, 19)
    draw = Draw(5, n_items=n)
    shares = draw.pmf(ranks).mean(axis=0)
    got = identified_set(shares, AUC(), draw, band=0.02)
    assert got == pytest.approx(over_all_pairs(shares, AUC(), draw, 0.02), abs=0.03)


def test_the_number_of_items_is_as_random_as_the_rank():
    """All of the small catalog are hits; how many they are in the population is not known."""
    draw = Draw(1, n_items=[10] * 100 + [1000] * 100)
    low, high = metric_bounds([1] * 120 + [2] * 80, Recall(k=10), draw)
    band = np.sqrt(np.log(2 / 0.025) / 400)
    assert (low, high) == pytest.approx((0.5 - band, 1), abs=1e-3)


def test_a_metric_that_jumps_from_rank_to_rank():
    """Not all ranks are looked at one by one, and still all that it can be is within."""

    @dataclass(frozen=True)
    class EveryThird(Metric):
        symbol = "Third"
        k: int | None = None

        def gain(self, rank, order, n_relevant, n_items):
            return np.where(rank % 3 == 0, 1.0, 0.0)

        def normalizer(self, ranks):
            return 1

    seen = np.full(6, 1 / 6)
    got = identified_set(seen, EveryThird(), Draw(5, n_items=2000), band=0.5)
    assert got == pytest.approx((0, 1), abs=1e-6)


POPULATIONS = {  # very different catalogs pooled; those of MovieLens; and all sizes between
    "two": np.array([200, 20_000]),
    "MovieLens": np.arange(1392, 3687),
    "wide": np.unique(np.geomspace(50, 5000, 400).astype(int)),
}


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize(
    "sizes",
    [
        "two",
        pytest.param("MovieLens", marks=pytest.mark.slow),
        pytest.param("wide", marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_the_truth_of_different_catalogs_lies_within(sizes, replacement):
    """Where the metric of one number of items for all, their mean, can be far off."""
    rng = np.random.default_rng(11)
    for skew in (1, 4, 12):
        n = rng.choice(POPULATIONS[sizes], 2000)
        # The larger the catalog, the worse: what pooling makes hardest.
        ranks = 1 + (n * rng.random(2000) ** (skew * (n < np.median(n)) + 1)).astype(int)
        draw = Draw(40, n_items=n, replacement=replacement)
        sampled = draw.rvs(ranks, rng=rng)
        for metric in (Recall(k=10), NDCG(k=10), AUC()):
            low, high = metric_bounds(sampled, metric, draw)
            assert low <= metric(ranks, n).mean() <= high


def test_pooled_catalogs_as_if_they_were_one_are_refuted():
    """Half have few items and are near the top, the others are far down."""
    n = np.repeat([200, 20_000], 1500)
    ranks = np.repeat([9, 10_000], 1500)
    sampled = Draw(99, n_items=n).rvs(ranks, rng=1)
    truth = Recall(k=10)(ranks).mean()
    low, high = metric_bounds(sampled, Recall(k=10), Draw(99, n_items=n))
    assert low <= truth <= high
    assert metric_bounds(sampled, Recall(k=10), Draw(99, n_items=round(n.mean()))).high < truth


@pytest.mark.parametrize("distinct", [3, 25])
def test_coverage_with_several_numbers(distinct):
    """Of 60 populations at 50 %; what is right fails once in a million times."""
    rng = np.random.default_rng(8)
    sizes = np.arange(12, 12 + distinct)
    outside = 0
    for _ in range(60):
        of_rank = [rng.dirichlet(np.full(n, 0.3)) for n in sizes]
        of_size = rng.dirichlet(np.ones(distinct))
        metric = Recall(k=int(rng.integers(1, 12)))
        each = [pi @ metric(np.arange(1, n + 1)) for pi, n in zip(of_rank, sizes, strict=True)]
        which = rng.choice(distinct, 80, p=of_size)
        ranks = np.array([1 + rng.choice(sizes[i], p=of_rank[i]) for i in which])
        draw = Draw(11, n_items=sizes[which], replacement=False)
        low, high = metric_bounds(draw.rvs(ranks, rng=rng), metric, draw, confidence=0.5)
        outside += not low - 1e-6 <= of_size @ each <= high + 1e-6
    assert outside <= binom.ppf(1 - 1e-6, 60, 0.5)


def test_max_share_narrows_also_with_several_numbers():
    draw = Draw(4, n_items=[20, 30])
    shares = [0.5, 0.2, 0.1, 0.1, 0.1]
    free = identified_set(shares, Recall(k=1), draw, band=0.02)
    held = identified_set(shares, Recall(k=1), draw, band=0.02, max_share=0.1)
    assert held.high == pytest.approx(0.2, abs=1e-3)
    assert held.high < free.high


# --- what no ranks explain, and errors


def test_what_no_distribution_explains():
    """A hundred draws scatter; and a list that is best at the bottom does not decrease."""
    draw = Draw(100, n_items=1000)
    nothing = metric_bounds([51] * 1000, Recall(k=10), draw)
    assert nothing.is_empty
    assert np.isnan(nothing).all()
    sampled = draw.rvs([900] * 1000, rng=0)
    for shape in (None, "unimodal"):
        assert metric_bounds(sampled, AUC(), draw, shape=shape).high < 0.2
    assert metric_bounds(sampled, AUC(), draw, shape="decreasing").is_empty


def test_a_sample_that_was_not_uniform_is_found_out():
    """All 100 negatives are the most popular ones: nobody is first, and many are just behind.

    Of 20 right samples at 95 percent, 5 and more are empty once in 400 times at most.
    """
    rng, draw = np.random.default_rng(8), Draw(100, n_items=1000)
    ranks = np.repeat([1, 500], 2000)
    assert not metric_bounds(draw.rvs(ranks, rng=rng), Recall(k=10), draw).is_empty
    popular = np.where(ranks == 1, 1, rng.choice([95, 101], ranks.size))
    assert metric_bounds(popular, Recall(k=10), draw).is_empty
    right = [metric_bounds(draw.rvs(ranks, rng=rng), AUC(), draw).is_empty for _ in range(20)]
    assert sum(right) < 5


def test_sampled_ranks_that_know_their_catalog():
    """It stands in for the draw's number of items, and must not contradict it."""
    sizes = np.array([20, 30, 30, 40])
    exact = Ranks([1, 5, 9, 12], n_items=sizes)
    sampled, metric = Draw(5).rvs(exact, rng=0), Recall(k=3)
    each = Draw(5, n_items=sizes)
    found = metric_bounds(sampled, metric, Draw(5))
    assert (
        found == metric_bounds(sampled, metric, each) == metric_bounds(sampled.best, metric, each)
    )
    for wrong, place in ((30, 0), ([20, 30, 30, 41], 3)):
        with pytest.raises(
            ValueError, match=rf"catalog\[{place}\] is .*; .* must be draw\.n_items"
        ):
            metric_bounds(sampled, metric, Draw(5, n_items=wrong))


def test_what_no_method_solves(monkeypatch):
    class Failed:
        status, message = 4, "numerical trouble"

    monkeypatch.setattr(scipy.optimize, "linprog", lambda *args, **kwargs: Failed)
    with pytest.raises(RuntimeError, match="numerical trouble"):
        identified_set([0.5, 0.5], AUC(), Draw(1, n_items=10))


@dataclass(frozen=True)
class ShareBelow(Metric):
    """The share of the items that are below: it needs n."""

    symbol = "Below"
    needs_n_items = True
    k: int | None = None

    def gain(self, rank, order, n_relevant, n_items):
        return 1 - rank / n_items

    def normalizer(self, ranks):
        return 1


def test_a_metric_of_ones_own_that_needs_the_number_of_items():
    few = Draw(1, n_items=[10, 20])
    found = identified_set([0.5, 0.5], ShareBelow(), few)
    assert found == pytest.approx(over_all_pairs([0.5, 0.5], ShareBelow(), few, 0), abs=1e-5)
    with pytest.raises(ValueError, match=r"metric is Below, which needs n_items; .* at most 16"):
        identified_set([0.5, 0.5], ShareBelow(), Draw(1, n_items=np.arange(10, 30)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sampled_ranks": [1, 7]}, r"sampled_ranks\[1\] is 7; .* at most n_samples \+ "),
        ({"sampled_ranks": [0]}, r"sampled_ranks\[0\] is 0"),
        ({"sampled_ranks": []}, "sampled_ranks is empty; sampled_ranks must hold a rank"),
        ({"sampled_ranks": [[1, 2], [3, 3]]}, r"sampled_ranks has shape \(2, 2\); .* must be flat"),
        ({"sampled_ranks": Ranks([1], 1, 6)}, "sampled_ranks has ties; break them"),
        ({"sampled_ranks": Ranks.from_lists([[1, 3]])}, r"sampled_ranks\[0\] has 2 relevant items"),
        ({"draw": Draw(5)}, r"draw\.n_items is None; .* Draw\(5, n_items="),
        (
            {"draw": Draw(5, n_items=[9, 9])},
            r"draw\.n_items has shape \(2,\), sampled_ranks has shape",
        ),
        ({"draw": 5}, "draw is 5; draw must be a Draw"),
        (
            {"draw": WeightedDraw(5, [1] * 100)},
            r"draw is a WeightedDraw, .* uniform samples only; WeightedDraw\.expect",
        ),
        (
            {"draw": Draw(5, n_items=100, shared=True)},
            "draw.shared is True; how far one sample for all users moves a mean does not follow",
        ),
        ({"draw": Draw(5, n_items=100, replacement="merged")}, "one number of different samples"),
        ({"metric": "AUC"}, "metric is 'AUC'; metric must be a Metric"),
        ({"confidence": 1}, "confidence is 1; confidence must be above 0 and below 1"),
        ({"confidence": 0}, "confidence is 0; confidence must be positive"),
        ({"confidence": None}, "confidence is None; confidence must be a number"),
        (
            {"shape": "convex"},
            "shape is 'convex'; shape must be one of None, 'unimodal'",
        ),
        (
            {"shape": "unimodal", "draw": Draw(5, n_items=[8, 9, 9])},
            "shape is 'unimodal', and draw.n_items holds several numbers; leave shape out",
        ),
        ({"max_share": 0}, "max_share is 0; max_share must be positive"),
        ({"max_share": 1.5}, r"max_share is 1\.5; max_share must be at most 1"),
    ],
)
def test_bounds_of_bad_input(arguments, message):
    usual = {"sampled_ranks": [1, 2, 6], "metric": AUC(), "draw": Draw(5, n_items=100)}
    with pytest.raises(ValueError, match=message):
        metric_bounds(**(usual | arguments))


def test_ranks_of_one_relevant_item_each_are_taken():
    draw = Draw(5, n_items=100)
    ranks = Ranks.from_lists([[1], [2], [60]])
    assert metric_bounds(draw.rvs(ranks, rng=1), AUC(), draw) == metric_bounds(
        draw.rvs(ranks, rng=1).best, AUC(), draw
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"shares": [0.5, 0.6]}, r"shares sums to 1\.1; shares must sum to 1"),
        ({"shares": [1.5, -0.5]}, r"shares\[1\] is -0.5; shares must be finite and 0 or above"),
        ({"shares": [0.5, np.nan]}, r"shares\[1\] is nan"),
        ({"shares": [1.0]}, r"shares has shape \(1,\); .* n_samples \+ 1 entries"),
        ({"shares": [0.5, 0.2, 0.3]}, r"shares has shape \(3,\); .* n_samples \+ 1 entries, 2"),
        ({"shares": [[0.5, 0.5]]}, r"shares has shape \(1, 2\); shares must be one flat list"),
        ({"shares": ["0.5", "0.5"]}, "shares is .*; shares must be numbers"),
        ({"shares": [[0.5], [0.5, 0]]}, "shares is ragged, or no array"),
        ({"band": -0.1}, r"band is -0\.1; band must be positive or 0"),
        ({"draw": Draw(1)}, r"draw\.n_items is None"),
        ({"draw": Draw(1, n_items=[])}, r"draw\.n_items is empty"),
    ],
)
def test_identified_set_of_bad_input(arguments, message):
    usual = {"shares": [0.5, 0.5], "metric": AUC(), "draw": Draw(1, n_items=100)}
    with pytest.raises(ValueError, match=message):
        identified_set(**(usual | arguments))


def test_the_mode_is_pinned_down_well_enough():
    """Bounded for each mode by itself, the metric is hardly lower."""
    draw, metric, band = Draw(20, n_items=100), Recall(k=10), 0.02
    ranks = every_rank(draw)
    pi = np.exp(-(((ranks - 45) / 12) ** 2))
    seen = pi @ draw.pmf(ranks) / pi.sum()
    below, observed = draw.pmf(ranks).cumsum(axis=1)[:, :-1].T, np.cumsum(seen)[:-1]
    rises = np.eye(100)[:-1] - np.eye(100)[1:]
    solved = [
        linprog(
            -metric(ranks),
            A_ub=np.concatenate([below, -below, rises[:mode], -rises[mode:]]),
            b_ub=np.concatenate([observed + band, band - observed, np.zeros(99)]),
            A_eq=np.ones((1, 100)),
            b_eq=[1],
        )
        for mode in range(100)
    ]
    want = max(-known(each.fun) for each in solved if each.status == 0)
    free, humped = (
        identified_set(seen, metric, draw, band=band, shape=s) for s in (None, "unimodal")
    )
    assert want - 1e-6 <= humped.high <= want + 0.1 * (free.high - want)


@pytest.mark.parametrize(("rank", "n_items", "n_samples"), [(100, 1000, 20), (100, 300, 15)])
@pytest.mark.parametrize("flat", [True, False])
def test_exact_shares_are_explained(rank, n_items, n_samples, flat):
    """All at one rank, or evenly at the ranks up to it: a set of width zero is not an empty one."""
    pi = np.zeros(n_items)
    pi[(0 if flat else rank - 1) : rank] = 1
    pi /= pi.sum()
    draw = Draw(n_samples, n_items=n_items)
    seen = pi @ draw.pmf(every_rank(draw))
    for metric in (AUC(), Recall(k=10)):
        low, high = identified_set(seen, metric, draw)
        assert low - 1e-9 <= pi @ metric(every_rank(draw), n_items) <= high + 1e-9


def test_shapes_stay_inside_each_other_without_a_band():
    draw = Draw(15, n_items=300)
    pi = np.exp(-np.arange(300) / 11)
    pi = 0.5 * pi / pi.sum() + 0.5 * (np.arange(300) < 11) / 11
    seen = pi @ draw.pmf(every_rank(draw))
    truth = pi @ NDCG()(every_rank(draw))
    falling, humped, free = (
        identified_set(seen, NDCG(), draw, shape=s) for s in ("decreasing", "unimodal", None)
    )
    assert free.low <= humped.low <= falling.low <= truth <= falling.high
    assert falling.high <= humped.high + 1e-6 <= free.high + 2e-6


def test_exact_ranks_are_not_sampled_ones():
    exact = Ranks.from_lists([[1], [7], [15]], n_items=1000)
    with pytest.raises(ValueError, match=r"sampled_ranks\.n_items\[0\] is 1000; .* n_samples \+"):
        metric_bounds(exact, AUC(), Draw(20, n_items=1000))


def test_shares_with_labels_are_sorted_by_rank():
    counted = pd.Series([2] * 9 + [1]).value_counts(normalize=True)  # the most frequent rank first
    draw = Draw(1, n_items=100)
    with pytest.raises(ValueError, match=r"shares has an index that is not 1, 2, .*reindex\(range"):
        identified_set(counted, Recall(k=1), draw)
    found = identified_set(counted.sort_index(), Recall(k=1), draw)
    assert found == identified_set([0.1, 0.9], Recall(k=1), draw)


def test_what_nothing_explains_is_refused():
    """Ranks from 400 to 600 of 1,000 are not decreasing: a program over all ranks says how far off.

    Its unknowns are the shares of uniform distributions on the first j ranks, and the distance.
    """
    draw = Draw(50, n_items=1000)
    shares = draw.pmf(np.arange(400, 601)).mean(axis=0)
    first_j = draw.pmf(every_rank(draw)).cumsum(axis=0) / every_rank(draw)[:, None]
    sums, observed = first_j.cumsum(axis=1)[:, :-1].T, np.cumsum(shares)[:-1]
    off = np.full((len(sums), 1), -1.0)
    program = linprog(
        np.append(np.zeros(1000), 1),
        A_ub=np.block([[sums, off], [-sums, off]]),
        b_ub=np.append(observed, -observed),
        A_eq=[np.append(np.ones(1000), 0)],
        b_eq=[1],
    )
    distance = known(program.fun)
    assert distance == pytest.approx(0.3043196, abs=1e-6)
    for band, empty in ((distance - 1e-5, True), (distance + 1e-5, False)):
        found = identified_set(shares, Recall(k=10), draw, band=band, shape="decreasing")
        assert found.is_empty == empty
