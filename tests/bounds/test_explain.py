"""What one published number can mean."""

from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import binom, binomtest

from sampled_metrics import (
    AUC,
    NDCG,
    AveragePrecision,
    Draw,
    Precision,
    Recall,
    ReciprocalRank,
    WeightedDraw,
    explain,
)
from sampled_metrics.bounds import Bounds
from shared import DATA, METRICS, TOY, RankBiasedPrecision, known

EXACTLY = 15  # decimals: hardly rounded at all


def curve(draw, metric, exact):
    """The expected sampled metric and the exact one of every rank."""
    ranks = np.arange(1, draw.n_items + 1)
    return draw.expect(ranks, metric), exact(ranks, draw.n_items)


def by_program(g, exact, low, high):
    """The extremes over all distributions of ranks, by two linear programs; g may be several."""
    same: dict[str, Any] = {
        "A_eq": [np.ones(len(exact))],
        "b_eq": [1],
        "A_ub": np.vstack([g, -g]),
        "b_ub": np.append(high, np.negative(low)),
    }
    return [sign * linprog(sign * exact, **same).fun for sign in (1, -1)]


def by_pairs(g, exact, value):
    """The extremes over all distributions on one or two ranks, one by one."""
    a, b = np.meshgrid(np.arange(len(g)), np.arange(len(g)))
    some = (g[a] < value) & (value < g[b])
    a, b = a[some], b[some]
    share = (value - g[a]) / (g[b] - g[a])
    means = np.concatenate([(1 - share) * exact[a] + share * exact[b], exact[g == value]])
    return means.min(), means.max()


@st.composite
def protocols(draw, most=40):
    n = draw(st.integers(2, most))
    replacement = draw(st.booleans())
    m = draw(st.integers(1, min(60, n - 1) if replacement else n - 1))
    return Draw(m, n_items=n, replacement=replacement)


# --- the cutoff that it resembles


def test_cutoff_by_hand():
    """All but the relevant item are drawn: the sampled rank is the exact one."""
    everything = Draw(29, n_items=30, replacement=False)
    assert explain(Recall(5), 0.5, everything).cutoff == 5
    found = explain(Recall(10), 0.66, Draw(100, n_items=3706))
    assert found.cutoff == pytest.approx(366.93, abs=0.005)
    assert "The top 10 of 101 resembles the top 367 of all 3,706:" in str(found)
    deep = explain(Recall(31), 1, everything)
    assert deep.cutoff == 30  # no deeper than there are items
    assert "The top 30 of 30 resembles the top 30 of all 30:" in str(deep)
    assert explain(NDCG(), 0.5, everything).cutoff is None


@given(protocols(), st.integers(1, 70))
def test_cutoff_where_all_ranks_are_equally_likely(draw, k):
    g, _ = curve(draw, Recall(k), Recall(k))
    cutoff = explain(Recall(k), g.mean(), draw, decimals=EXACTLY).cutoff
    # The share of items in the top of that many is the share of sampled ranks in the top k.
    assert cutoff == pytest.approx(g.sum(), abs=1 if draw.replacement else 1e-9)


# --- bounds of the exact metric


@settings(deadline=None)
@given(protocols(), st.sampled_from(METRICS), st.floats(0, 1), st.data())
def test_bounds_are_those_of_linear_programs(draw, metric, where, data):
    exact = data.draw(st.sampled_from([metric, metric, Recall(3), NDCG(), AUC()]))
    g, y = curve(draw, metric, exact)
    value = g.min() + where * (g.max() - g.min())
    close = np.diff(np.unique(np.append(g, value)))
    assume(not ((close > 0) & (close < 1e-5)).any())  # too near for the solver
    half = 0.5 * 10.0 ** -data.draw(st.sampled_from([1, 2, 15]))
    decimals = round(-np.log10(2 * half))
    found = explain(metric, value, draw, decimals=decimals, exact_metric=exact)
    want = by_program(g, y, max(value - half, g.min()), min(value + half, g.max()))
    np.testing.assert_allclose(found.bounds, want, atol=1e-6)


@given(protocols(), st.sampled_from(METRICS), st.floats(0.01, 0.99))
def test_two_ranks_attain_the_bounds(draw, metric, where):
    g, y = curve(draw, metric, metric)
    value = g.min() + where * (g.max() - g.min())
    assume(np.abs(g - value).min() > 1e-6)  # where a rank is just at the value, rounding decides
    found = explain(metric, value, draw, decimals=EXACTLY)
    np.testing.assert_allclose(found.bounds, by_pairs(g, y, value), rtol=1e-7, atol=1e-9)


def shapes(n, rng):
    """Rank distributions of many kinds."""
    ranks = np.arange(1.0, n + 1)
    yield np.full(n, 1 / n)
    for power in (0.5, 1, 2):
        yield ranks**-power / (ranks**-power).sum()
    yield np.exp(-ranks / 20) / np.exp(-ranks / 20).sum()
    yield rng.dirichlet(np.full(n, 0.01))
    for few in (1, 2, 7):
        law = np.zeros(n)
        law[rng.integers(0, n, few)] += 1 / few
        yield law / law.sum()
    yield np.append(0.9, np.full(n - 1, 0.1 / (n - 1)))  # nearly all are found
    yield np.append(np.full(n - 1, 1e-9 / (n - 1)), 1 - 1e-9)  # and nearly none


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize(("n", "m"), [(50, 20), (1000, 100), (8000, 99)])
@pytest.mark.slow
def test_the_truth_lies_within_the_bounds(n, m, replacement):
    draw, rng = Draw(m, n_items=n, replacement=replacement), np.random.default_rng(n)
    for metric in (Recall(1), Recall(10), NDCG(10), NDCG(), ReciprocalRank(), AUC()):
        g, y = curve(draw, metric, metric)
        for law in shapes(n, rng):
            for decimals in (EXACTLY, 3):
                value = round(float(law @ g), decimals)
                low, high = explain(metric, value, draw, decimals=decimals).bounds
                assert low - 1e-12 <= law @ y <= high + 1e-12


@given(
    protocols(most=10**5),
    st.integers(1, 70),
    st.integers(1, 10**6),
    st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, 1e-12, 1 - 1e-12])),
)
@settings(deadline=None, max_examples=50)
def test_bounds_of_a_hit_rate_in_closed_form(draw, k, cutoff, value):
    m, n = draw.n_samples, draw.n_items
    k, cutoff = min(k, m), min(cutoff, n - 1)
    # Chances of a hit within the cutoff and of a miss behind it, digits kept.
    here = draw.pmf(cutoff)[:k].sum()
    miss = draw.pmf(cutoff + 1)[k:].sum()
    low = max(0, 1 - (1 - value) / miss) if miss else 0
    high = min(1, value / here) if here else 1
    found = explain(Recall(k), value, draw, decimals=400, exact_metric=Recall(cutoff))
    np.testing.assert_allclose(found.bounds, [low, high], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("metric", [NDCG(), ReciprocalRank(), RankBiasedPrecision()])
@pytest.mark.parametrize(("m", "replacement"), [(100, True), (1500, False)])
@pytest.mark.slow
def test_among_many_ranks_it_looks_at_the_right_ones(metric, m, replacement):
    draw = Draw(m, n_items=12_000, replacement=replacement)
    g, y = curve(draw, metric, metric)
    for where in (0.02, 0.3, 0.8, 0.999):
        value = g.min() + where * (g.max() - g.min())
        found = explain(metric, value, draw, decimals=EXACTLY)
        want = by_program(g, y, value, value)
        np.testing.assert_allclose(found.bounds, want, atol=2e-7)


def test_far_behind_the_first_ranks_it_finds_the_best_one_of_all():
    """The highest AUC for a hit rate mixes rank 1 with one other rank: here each is tried."""
    draw = Draw(100, n_items=50_000)
    g, y = curve(draw, Recall(10), AUC())
    for value in (0.2, 0.5, 0.8):
        share = (value - g) / (g[0] - g + (g >= value))
        want = np.where(g < value, share * y[0] + (1 - share) * y, 0).max()
        found = explain(Recall(10), value, draw, decimals=EXACTLY, exact_metric=AUC())
        assert found.bounds.high == pytest.approx(want, abs=1e-12)


def test_a_catalog_of_a_hundred_million():
    """Between 1 and the last rank lies the most, and at one rank the least."""
    draw = Draw(1000, n_items=91_230_610)
    found = explain(ReciprocalRank(), 0.9707, draw, decimals=EXACTLY)
    last = draw.expect(91_230_610, ReciprocalRank())
    assert found.bounds.high == pytest.approx((0.9707 - last) / (1 - last), rel=1e-6)
    rank = round(1 / found.bounds.low)
    near = draw.expect([rank - 1, rank + 1], ReciprocalRank())
    assert near[0] > 0.9707 > near[1]


@pytest.mark.parametrize("replacement", [True, False])
def test_auc_is_what_it_is(replacement):
    for value in (0, 0.31, 0.78, 1):
        found = explain(
            AUC(), value, Draw(7, n_items=1000, replacement=replacement), decimals=EXACTLY
        )
        np.testing.assert_allclose(found.bounds, value, atol=1e-12)
        assert f"exact AUC is {value:.3f}." in str(found)


def test_a_sample_of_all_items_is_exact():
    for metric in METRICS:
        value = metric([1, 7, 50], 50).mean()
        everything = Draw(49, n_items=50, replacement=False)
        found = explain(metric, value, everything, decimals=EXACTLY)
        np.testing.assert_allclose(found.bounds, value, atol=1e-12)


def test_what_is_printed_as_1_need_not_be_1():
    """Recommender A of the paper: all at rank 100, so no hit, and sampled ones for nearly all."""
    paper = Draw(99, n_items=10_000)
    assert explain(Recall(10), 1, paper, decimals=3).bounds == (0, 1)
    assert explain(Recall(10), 1, paper).bounds == (0, 1)
    assert explain(Recall(10), 1, paper, decimals=400).bounds == (1, 1)


def test_an_interval_without_width_in_three_digits_is_one_number():
    text = str(explain(Recall(101), 1, Draw(100, n_items=1000), n_users=10**6))
    assert "the expected sampled value is 1.000, and" in text
    assert "from 1.000 to 1.000" not in text


def test_bounds_of_another_metric():
    protocol: dict[str, Any] = {"draw": Draw(100, n_items=3706), "decimals": EXACTLY}
    found = explain(Recall(10), 0.66, **protocol, exact_metric=NDCG(10))
    assert found.bounds == pytest.approx((0, 0.66), abs=1e-9)
    assert "exact NDCG@10 can be anything from 0.000 to 0.660" in str(found)
    # It says more about the cutoff that it resembles than about its own.
    own, alike = (
        explain(Recall(10), 0.66, **protocol, exact_metric=Recall(k)).bounds for k in (10, 367)
    )
    assert alike.high - alike.low < own.high - own.low


# --- chance


def test_standard_error_of_a_hit_rate():
    found = explain(Recall(10), 0.66, Draw(100, n_items=3706), n_users=6040)
    assert found.standard_error == pytest.approx(np.sqrt(0.66 * 0.34 / 6040))
    assert "With 6,040 users the standard error of sampled Recall@10 is 0.0061." in str(found)
    tenth = explain(Precision(10), 0.066, Draw(100, n_items=3706), n_users=6040)
    assert tenth.standard_error == pytest.approx(known(found.standard_error) / 10)
    assert "standard error of sampled Precision@10 is 0.0006" in str(tenth)


REPEATS = 4000
# A standard deviation of so many normal numbers has a relative error of 1.1 percent; none of
# some twenty is off by five of these but once in 80,000 runs.
OFF = 5 / np.sqrt(2 * REPEATS)


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("metric", [Recall(10), NDCG(10), ReciprocalRank(), AUC()])
def test_standard_error_against_simulation(metric, replacement):
    """Of users from a population it is exact for recall, and at most that for the others."""
    rng, draw = np.random.default_rng(3), Draw(50, n_items=1000, replacement=replacement)
    for law in (rng.dirichlet(np.full(1000, 0.02)), np.eye(1000)[[0, -1]].mean(axis=0)):
        users = rng.choice(1000, size=(REPEATS, 60), p=law) + 1
        means = metric(draw.rvs(users, rng=rng), 51).mean(axis=1)
        value = float(law @ draw.expect(np.arange(1, 1001), metric))
        stated = explain(metric, value, draw, decimals=EXACTLY, n_users=60).standard_error
        assert means.std() <= stated * (1 + OFF)
        if metric == Recall(10) or law[-1] == 0.5:  # where all are first or last, it is no less
            assert means.std() >= stated * (1 - OFF)


def test_standard_error_of_the_same_users_is_no_larger():
    rng, draw = np.random.default_rng(4), Draw(50, n_items=1000)
    users = rng.geometric(0.01, 60).clip(1, 1000)
    for metric in (Recall(10), NDCG(10), AUC()):
        means = metric(draw.rvs(users, repeats=REPEATS, rng=rng), 51).mean(axis=1)
        value = draw.expect(users, metric).mean()
        stated = explain(metric, value, draw, decimals=EXACTLY, n_users=60).standard_error
        assert means.std() <= stated * (1 + OFF)


@pytest.mark.parametrize(("hits", "users"), [(0, 7), (1, 1), (45, 95), (6040, 6040), (500, 6040)])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_interval_of_a_hit_rate_is_that_of_scipy(hits, users, confidence):
    found = explain(
        Recall(10),
        hits / users,
        Draw(100, n_items=3706),
        n_users=users,
        confidence=confidence,
        decimals=EXACTLY,
    )
    theirs = binomtest(hits, users).proportion_ci(confidence, "wilson")
    np.testing.assert_allclose(known(found.interval), (theirs.low, theirs.high), atol=1e-12)
    assert known(found.bounds_with_error).high >= found.bounds.high


@pytest.mark.slow
def test_interval_covers():
    """Of 400 at 90 %; what is right fails once in a million times."""
    rng, draw = np.random.default_rng(5), Draw(50, n_items=1000)
    for metric in (Recall(10), NDCG(10), ReciprocalRank()):
        g, y = curve(draw, metric, metric)
        law = rng.dirichlet(np.full(1000, 0.02))
        outside = beyond = 0
        explained = cache(
            partial(explain, metric, draw=draw, decimals=EXACTLY, n_users=80, confidence=0.9)
        )
        for _ in range(400):
            sampled = draw.rvs(rng.choice(1000, 80, p=law) + 1, rng=rng)
            found = explained(metric(sampled, 51).mean())
            outside += not known(found.interval).low <= law @ g <= known(found.interval).high
            low, high = known(found.bounds_with_error)
            beyond += not low <= law @ y <= high
        # Normal quantiles for 80 users: 12 percent instead of 10 are granted.
        assert outside <= binom.ppf(1 - 1e-6, 400, 0.12)
        assert beyond <= outside


@given(protocols(), st.sampled_from(METRICS), st.floats(0, 1), st.integers(1, 10**5))
@settings(deadline=None)
def test_bounds_with_error_are_those_of_linear_programs(draw, metric, where, n_users):
    g, y = curve(draw, metric, metric)
    value = g.min() + where * (g.max() - g.min())
    found = explain(metric, value, draw, decimals=EXACTLY, n_users=n_users)
    low, high = known(found.interval)
    assert low <= value + 1e-12
    assert high >= value - 1e-12
    near = np.diff(np.unique([*g, low, high]))
    assume(not ((near > 0) & (near < 1e-5)).any())
    want = by_program(g, y, max(low, g.min()), min(high, g.max()))
    np.testing.assert_allclose(known(found.bounds_with_error), want, atol=1e-6)


def test_rounding_widens_the_interval():
    protocol: dict[str, Any] = {"draw": Draw(100, n_items=3706), "n_users": 6040}
    fine, coarse = (explain(Recall(10), 0.66, **protocol, decimals=d) for d in (EXACTLY, 2))
    assert known(coarse.interval).low == pytest.approx(known(fine.interval).low - 0.005, abs=1e-4)
    assert known(coarse.interval).high == pytest.approx(known(fine.interval).high + 0.005, abs=1e-4)
    assert "rounded by up to 0.005." in str(coarse)
    assert "rounded" not in str(fine)


# --- two numbers


def test_interval_of_a_difference_is_newcombes():
    """9 of 10 against 3 of 10: Table II of his paper of 1998, column (c), method 10."""
    found = explain(Recall(1), 0.9, Draw(9, n_items=100), n_users=10, other=0.3, decimals=EXACTLY)
    assert known(found.difference).interval == pytest.approx((0.1705, 0.8090), abs=5e-5)


def paired(rng, share, same):
    """Hits of two recommenders of 60 users, who are served alike with the probability `same`."""
    first = rng.random((REPEATS, 60)) < share[0]
    # the better one serves whom the other one serves; or nobody knows
    nested = np.where(first, rng.random(first.shape) < share[1] / share[0], False)
    apart = rng.random(first.shape) < share[1]
    return first, np.where(rng.random((REPEATS, 1)) < same, nested, apart)


@pytest.mark.parametrize("same", [0, 1])
def test_standard_errors_of_a_difference_are_its_extremes(same):
    share = (0.7, 0.5)
    first, second = paired(np.random.default_rng(6), share, same)
    off = (first.mean(axis=1) - second.mean(axis=1)).std()
    protocol: dict[str, Any] = {"draw": Draw(100, n_items=3706), "n_users": 60}
    found = known(explain(Recall(10), 0.7, other=0.5, **protocol).difference)
    assert off == pytest.approx(known(found.standard_error)[1 - same], rel=OFF)


def test_a_difference_of_two_values_takes_a_share_of_users_who_differ():
    """A reciprocal rank of two items is 1 or 1/2, so 0.2 less is 1/2 less for 40 percent."""
    found = explain(ReciprocalRank(), 0.9, Draw(1, n_items=50), other=0.7, n_users=100)
    error = known(known(found.difference).standard_error)
    assert error.low == pytest.approx(np.sqrt(0.4 * 0.6 / 100) / 2)
    assert "standard error of sampled RR is 0.0" in str(found)


def test_a_difference_of_three_values_may_be_the_same_for_everyone():
    """An AUC of three items is 0, 1/2 or 1."""
    found = explain(AUC(), 1, Draw(2, n_items=50), other=0.5, n_users=100)
    assert known(known(found.difference).standard_error).low == 0
    assert "standard error of sampled AUC is at most 0.0" in str(found)


@pytest.mark.parametrize("metric", [Recall(10), NDCG(10)])
@pytest.mark.slow
def test_two_that_are_equal_are_seldom_beyond_chance(metric):
    """Of 400 at 95 % with independent results; what is right fails once in a million times."""
    rng, draw = np.random.default_rng(7), Draw(50, n_items=1000)
    law = rng.dirichlet(np.full(1000, 0.02))
    beyond = 0
    explained = cache(partial(explain, metric, draw=draw, decimals=EXACTLY, n_users=80))
    for _ in range(400):
        sampled = draw.rvs(rng.choice(1000, (2, 80), p=law) + 1, rng=rng)
        value, other = metric(sampled, 51).mean(axis=1)
        found = explained(value, other=other)
        beyond += known(found.difference).beyond_chance is True
    assert beyond <= binom.ppf(1 - 1e-6, 400, 0.06)


def test_what_a_difference_says_of_chance():
    protocol = Draw(100, n_items=3706)
    for other, verdict, says in (
        (0.60, True, "0.060, more than chance explains: if the two systems are independent"),
        (0.65, None, "Only their values for each user can tell"),
        (0.6599, False, "0.000, no more than chance explains, however much the two systems agree"),
    ):
        found = explain(Recall(10), 0.66, draw=protocol, n_users=6040, other=other)
        assert known(found.difference).beyond_chance is verdict
        assert says in str(found)
        turned = explain(Recall(10), other, draw=protocol, n_users=6040, other=0.66)
        assert known(turned.difference).beyond_chance is verdict
        assert known(turned.difference).value == -known(found.difference).value
        low, high = known(known(found.difference).interval)
        assert known(turned.difference).interval == pytest.approx((-high, -low))
    unknown = explain(Recall(10), 0.66, draw=protocol, other=0.6)
    assert known(unknown.difference).beyond_chance is None
    assert known(unknown.difference).interval is known(unknown.difference).standard_error is None
    assert str(unknown).count("depends on the number of users, n_users") == 2
    # A graded metric can differ a little for everyone: the same pair may be chance or not.
    found = explain(NDCG(), 0.66, draw=protocol, n_users=6040, other=0.6599)
    assert known(known(found.difference).standard_error).low == 0
    assert known(found.difference).beyond_chance is None


def test_rounding_makes_more_differences_chance():
    """Of 0.50 and 0.51, up to 0.02 apart: 2 percent of the users are chance up to 188 users."""
    for n_users, verdict in ((180, False), (200, None)):
        found = explain(
            Recall(10), 0.50, Draw(100, n_items=3706), n_users=n_users, other=0.51, decimals=2
        )
        assert known(found.difference).beyond_chance is verdict


def test_what_cannot_differ_is_not_beyond_chance():
    found = explain(Recall(4), 1, Draw(3, n_items=50), other=1, n_users=100)
    assert "The top 4 of 4 resembles the top 50 of all 50" in str(found)
    assert known(found.difference).beyond_chance is None


def test_what_a_difference_says_of_the_order():
    protocol = Draw(100, n_items=3706)
    assert not known(explain(Recall(10), 0.9, other=0.1, draw=protocol).difference).order_known
    auc = explain(AUC(), 0.66, other=0.64, draw=protocol)
    assert known(auc.difference).order_known
    assert "of the other system is 0.640: the order of the exact ones is known." in str(auc)
    assert not known(explain(AUC(), 0.66, other=0.66, draw=protocol).difference).order_known
    exactly_equal = explain(AUC(), 1, other=1, draw=protocol, decimals=400)
    assert exactly_equal.bounds == known(exactly_equal.difference).other_bounds == (1, 1)
    assert not known(exactly_equal.difference).order_known
    rounded = explain(AUC(), 0.66, other=0.65, draw=protocol, decimals=1)
    assert not known(rounded.difference).order_known
    assert known(explain(AUC(), 0.64, other=0.66, draw=protocol).difference).order_known
    half = Draw(25, n_items=30, replacement=False)
    assert known(explain(NDCG(), 0.7, half, other=0.4).difference).order_known


@given(protocols(), st.sampled_from(METRICS), st.floats(0, 1), st.floats(0, 1))
def test_the_order_is_known_if_no_two_distributions_turn_it_around(draw, metric, one, other):
    g, y = curve(draw, metric, metric)
    value, against = (g.min() + where * (g.max() - g.min()) for where in (one, other))
    found = explain(metric, value, draw, other=against, decimals=EXACTLY)
    assume(np.abs(np.subtract.outer([value, against], g)).min() > 1e-6)
    (low, high), (lower, higher) = (by_pairs(g, y, v) for v in (value, against))
    assume(abs(low - higher) > 1e-7 < abs(high - lower))
    assert known(found.difference).order_known == (low > higher or high < lower)
    np.testing.assert_allclose(known(found.difference).other_bounds, [lower, higher], atol=1e-7)


# --- several numbers of one paper


@settings(deadline=None, max_examples=60)
@given(protocols(), st.data())
def test_several_numbers_are_those_of_one_linear_program(draw, data):
    """The ranks of a few users give the numbers; all ranks are tried, within what is rounded."""
    metrics = data.draw(st.lists(st.sampled_from(METRICS), min_size=2, max_size=4, unique=True))
    exact = data.draw(st.sampled_from([None, Recall(3), AUC()]))
    ranks = data.draw(st.lists(st.integers(1, draw.n_items), min_size=1, max_size=5))
    half = 0.5 * 10.0 ** -(decimals := data.draw(st.sampled_from([2, 3])))
    values = [draw.expect(ranks, metric).mean() for metric in metrics]
    every = np.arange(1, draw.n_items + 1)
    g = np.array([draw.expect(every, metric) for metric in metrics])
    found = explain(metrics, values, draw, decimals=decimals, exact_metric=exact)
    for one, value in zip(found, values, strict=True):
        target = one.exact_metric(every, draw.n_items)
        ends = [
            by_program(g, target, np.subtract(values, width), np.add(values, width))
            for width in (half, half + 1e-6)
        ]
        assert np.min(ends, axis=0)[0] - 1e-6 <= one.bounds.low <= np.max(ends, axis=0)[0] + 1e-6
        assert np.min(ends, axis=0)[1] - 1e-6 <= one.bounds.high <= np.max(ends, axis=0)[1] + 1e-6
        alone = explain(one.metric, value, draw, decimals=decimals, exact_metric=exact).bounds
        # no wider, but for the solver's tolerance
        assert alone.low - 1e-3 <= one.bounds.low <= one.bounds.high <= alone.high + 1e-3
        truth = one.exact_metric(ranks, draw.n_items).mean()
        assert one.bounds.low - 1e-9 <= truth <= one.bounds.high + 1e-9


@pytest.mark.parametrize(("n", "m"), [(50_000, 100), (10**6, 999)])
def test_several_numbers_of_a_large_catalog_hold_the_truth(n, m):
    """Ranks between those that are looked at, too: also where all users have the same one."""
    draw, rng = Draw(m, n_items=n), np.random.default_rng(9)
    metrics = [Recall(1), Recall(10), NDCG(10)]
    for ranks in (rng.integers(1, n + 1, 3), np.array([n // 37]), rng.zipf(1.3, 500).clip(1, n)):
        values = [round(draw.expect(ranks, metric).mean(), 4) for metric in metrics]
        for found in explain(metrics, values, draw):
            low, high = found.bounds
            assert low - 1e-9 <= found.exact_metric(ranks, n).mean() <= high + 1e-9


def test_several_numbers_together_by_hand():
    """Of rank 2 of 3, two draws with replacement make 1, 2 or 3, with 1/4, 1/2 and 1/4.

    So sampled Recall@1 is f(1) + f(2) / 4 and Recall@2 is 1 - f(3) - f(2) / 4, which leave one
    distribution.
    """
    draw, truth = Draw(2, n_items=3), np.array([0.5, 0.2, 0.3])
    values = [float(truth @ draw.expect([1, 2, 3], Recall(k))) for k in (1, 2)]
    assert values == pytest.approx([0.5 + 0.2 / 4, 1 - 0.3 - 0.2 / 4])
    found = explain([Recall(1), Recall(2)], values, draw, decimals=9)
    for one, exact in zip(found, (0.5, 0.7), strict=True):
        assert one.bounds == pytest.approx((exact, exact), abs=1e-5)
        alone = explain(one.metric, one.value, draw, decimals=9).bounds
        assert alone.high - alone.low > 0.05


def test_two_numbers_can_settle_an_order_that_one_leaves_open():
    draw: dict[str, Any] = {"draw": Draw(2, n_items=3), "decimals": 3}
    one, other = [[0.55, 0.65], [0.45, 0.6]]
    together = explain([Recall(1), Recall(2)], one, other=other, **draw)
    assert known(together[0].difference).order_known
    assert not known(explain(Recall(1), one[0], other=other[0], **draw).difference).order_known
    assert "exact Recall@1 of the other system can be anything" in str(together)
    assert "the order of the exact ones is known" in str(together)


def test_numbers_that_contradict_each_other_are_a_finding():
    draw = Draw(100, n_items=3706)
    found = explain([Recall(1), Recall(5)], [0.5, 0.4], draw, n_users=6040, other=[0.2, 0.3])
    for one in found:
        assert one.bounds.is_empty
        assert known(one.bounds_with_error).is_empty
        assert not known(one.difference).other_bounds.is_empty
        assert not known(one.difference).order_known
    text = str(found)
    assert text.count("Chance aside, no ranks at all have these numbers together:") == 1
    assert "chance does not explain it" in text
    assert "nothing follows for the order" in text
    assert "nan" not in text
    turned = str(explain([Recall(1), Recall(5)], [0.2, 0.3], draw, other=[0.5, 0.4]))
    assert "no ranks at all have the numbers of the other system together: nothing" in turned
    # Of a few users, chance does it.
    few = explain([Recall(1), Recall(2), Recall(3)], [0.5, 0.5, 0.9], draw, n_users=10)
    assert few[0].bounds.is_empty
    assert not known(few[0].bounds_with_error).is_empty


def test_all_intervals_of_several_numbers_hold_at_once():
    """Bonferroni: each of two has half of the risk."""
    draw: dict[str, Any] = {"draw": Draw(100, n_items=3706), "n_users": 6040}
    both = explain([Recall(1), Recall(10)], [0.3, 0.66], **draw, other=[0.29, 0.64])
    for one, other in zip(both, (0.29, 0.64), strict=True):
        alone = explain(one.metric, one.value, **draw, other=other, confidence=0.975)
        assert one.interval == pytest.approx(alone.interval)
        assert one.standard_error == alone.standard_error
        assert known(one.difference).interval == pytest.approx(known(alone.difference).interval)
    assert "95 percent confidence in all 2 numbers at once" in str(both)


def test_several_numbers_say_what_they_take_for_granted():
    found = explain([Recall(1), AUC()], [0.3, 0.9], Draw(100, n_items=3706))
    for text in (str(found), str(found[1]), found._repr_html_()):
        assert "all of these numbers are of the same users and samples" in text
        assert "independent of each other" in text
        assert "that one of them is relevant, that all others are equally likely" in text
        assert "Recall@1 is 0.3" in text
        assert "AUC is 0.9" in text
    assert found[1].beside == ((Recall(1), 0.3),)
    table = found.to_frame()
    assert [*table["beside"]] == ["AUC is 0.9", "Recall@1 is 0.3"]
    assert [*table["bounds_high"]] == [one.bounds.high for one in found]


# --- published numbers

# Image retrieval on MS-COCO in Tables 1 and 2 of Li et al., Visual Semantic Reasoning for
# Image-Text Matching (ICCV 2019, arXiv:1909.02701), in percent. One image is relevant to a
# caption. In "1K" the 5,000 images are in five folds, so each of the 25,000 captions is ranked
# against 999 of the other 4,999 images, drawn without replacement; in "5K" against all.
COCO = pd.DataFrame(
    [
        ("VSE++", 52.0, 83.1, 92.0, 30.3, 59.1, 72.4),
        ("SCO", 56.7, 87.5, 94.8, 33.1, 62.9, 75.5),
        ("SCAN", 58.8, 88.4, 94.8, 38.6, 69.3, 80.4),
        ("VSRN", 62.8, 89.7, 95.1, 40.5, 70.6, 81.1),
    ],
    columns=["model", "1K@1", "1K@5", "1K@10", "5K@1", "5K@5", "5K@10"],
).set_index("model")


@pytest.mark.parametrize("k", [1, 5, 10])
def test_image_retrieval_among_1000_and_all_5000(k):
    folds: dict[str, Any] = {
        "draw": Draw(999, n_items=5000, replacement=False),
        "decimals": 3,
    }
    for model, row in COCO.iterrows():
        sampled, exact = row[[f"1K@{k}", f"5K@{k}"]] / 100
        found = explain(Recall(k), sampled, **folds, n_users=25_000)
        low, high = known(found.bounds_with_error)
        assert low - 0.0005 <= exact <= high + 0.0005, model
        assert found.cutoff == 5 * k
    found = explain(Recall(k), sampled, other=0.52, **folds, n_users=25_000)
    assert known(found.difference).beyond_chance
    assert not known(found.difference).order_known


# Tables 1 and 2 of Krichene & Rendle (2020): five instances of each recommender, exact and, with
# 99 of 10,000 items drawn with replacement 1,000 times, the mean and the standard deviation.
def test_the_papers_toy_example():
    exact, sampled = (pd.read_csv(DATA / f"paper_table{i}.csv") for i in (1, 2))
    both = exact.merge(sampled, on=["recommender", "metric"])
    assert len(both) == 12
    named = {"AUC": AUC(), "AP": AveragePrecision(), "NDCG": NDCG(), "Recall@10": Recall(10)}
    row: Any
    for row in both.itertuples():
        found = explain(named[row.metric], row.paper_mean, Draw(99, n_items=10_000), decimals=3)
        slack = 0.0005 + 4 * row.paper_std / np.sqrt(1000)
        steep = 1 if row.metric == "AUC" else 0  # the bounds of AUC are as far off as the value
        low, high = found.bounds
        assert low - slack * steep - 0.0005 <= row.paper <= high + slack * steep + 0.0005, row
        # and what the ranks make of it lies in the bounds of what they make of the sample
        ranks, metric = TOY[row.recommender], named[row.metric]
        draw = Draw(99, n_items=10_000)
        value = draw.expect(ranks, metric).mean()
        low, high = explain(metric, value, draw, decimals=EXACTLY).bounds
        assert low - 1e-9 <= metric(ranks, 10_000).mean() <= high + 1e-9


def test_an_auc_that_sampling_changed_gives_away_a_bug():
    """DCN on MovieLens 100K in RecBole: 0.58 with "uni100", 0.78 in full (issue 2117).

    The maintainers confirmed that the sampling altered labels. The number of items is no matter.
    """
    for n_items in (500, 1682):
        found = explain(AUC(), 0.58, Draw(100, n_items=n_items), decimals=2, n_users=943)
        assert known(found.bounds_with_error).high < 0.775


def test_another_draw_for_the_same_model_is_chance():
    """SASRec on MovieLens 1M, twice with new samples (README of pmixer/SASRec.pytorch)."""
    protocol: dict[str, Any] = {"draw": Draw(100, n_items=3416), "n_users": 6040}
    for metric, one, other in ((Recall(10), 0.8190, 0.8225), (NDCG(10), 0.5897, 0.5918)):
        difference = known(explain(metric, one, other=other, **protocol).difference)
        assert difference.beyond_chance is None
        low, high = known(difference.interval)
        assert low < 0 < high


def test_two_users_make_no_difference():
    """HitRatio@1 among 20 candidates: "Direct" and "LLaRA (CL)" on MovieLens 100K.

    Tables 1 and 3 of Liao et al., LLaRA (2024, arXiv:2312.02445v4). Of 943 sequences a tenth is
    for the test, and both numbers are hits of 95: 40 and 42.
    """
    protocol: dict[str, Any] = {
        "draw": Draw(20, n_items=1682, replacement=False),
        "n_users": 95,
    }
    found = explain(Recall(1), 0.4421, other=0.4211, **protocol)
    assert known(found.difference).beyond_chance is False
    assert found.standard_error == pytest.approx(0.051, abs=0.0005)


# --- how it is shown


def test_one_other_and_one_user_are_singular():
    few = str(explain(Recall(1), 0.5, Draw(1, n_items=3), n_users=1))
    assert "among 1 other, drawn" in few
    assert "With 1 user the standard error" in few


def test_html_says_the_same():
    found = explain(Recall(10), 0.66, Draw(100, n_items=3706), n_users=6040, other=0.64)
    assert found._repr_html_() == f"<p>{str(found).replace(chr(10), '</p><p>')}</p>"
    odd = explain(NDCG(3, ideal="full"), 0.3, Draw(9, n_items=50))
    assert "ideal=full" in odd._repr_html_()


def test_frame():
    protocol: dict[str, Any] = {"draw": Draw(100, n_items=3706), "n_users": 6040}
    several = [
        explain(Recall(10), 0.66, **protocol, other=0.64),
        explain(AUC(), 0.9, **protocol, exact_metric=NDCG()),
    ]
    table = pd.concat([found.to_frame() for found in several], ignore_index=True)
    assert [*table["metric"]] == ["Recall@10", "AUC"]
    assert [*table["exact_metric"]] == ["Recall@10", "NDCG"]
    for column, found in (("bounds", "bounds"), ("interval", "interval")):
        each = table[[f"{column}_low", f"{column}_high"]].itertuples(index=False, name=None)
        assert [*each] == [tuple(getattr(x, found)) for x in several]
    assert table["difference_value"][0] == known(several[0].difference).value
    assert table["difference_beyond_chance"][0]
    assert table["cutoff"].isna().tolist() == [False, True]


def test_numbers_of_papers_have_four_decimals_unless_you_say_so():
    assert explain(Recall(10), 0.66, Draw(100, n_items=3706)).decimals == 4


def test_it_keeps_what_it_was_given():
    draw = Draw(100, n_items=3706, replacement=False)
    found = explain(Recall(10), 0.66, draw, n_users=7, decimals=2)
    assert found.metric == found.exact_metric == Recall(10)
    assert (found.draw, found.n_users) == (draw, 7)
    assert (found.decimals, found.confidence) == (2, 0.95)
    assert isinstance(found.bounds, Bounds)
    assert "drawn without replacement" in str(found)
    assert "one of them is relevant" in str(found)


# --- what is refused

USUAL = {"metric": Recall(10), "value": 0.66, "draw": Draw(100, n_items=3706)}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"value": 1.2},
            r"value is 1\.2; value must be from 0 to 1, which is what Recall@10 can be with "
            r"n_samples 100; divide a percentage by 100",
        ),
        ({"value": 66}, "divide a percentage by 100"),
        ({"value": -0.1}, r"value is -0\.1; value must be from 0 to 1, .* n_samples 100$"),
        ({"value": float("nan")}, "value is nan; value must be from 0 to 1"),
        ({"value": "0.66"}, "value is '0.66'; value must be a number"),
        ({"other": 64}, "other is 64; other must be from 0 to 1, .* percentage"),
        (
            {"metric": ReciprocalRank(), "value": 0.005},
            r"value is 0\.005; value must be from 0\.00990099 to 1, which is what RR can be",
        ),
        (
            {"metric": Recall(200)},
            "value must be from 1 to 1, which is what Recall@200 can be with n_samples 100",
        ),
        ({"metric": Recall}, r"metric is .*; metric must be a Metric; call the class"),
        ({"exact_metric": "ndcg"}, "exact_metric is 'ndcg'; exact_metric must be a Metric"),
        ({"draw": 100}, r"draw is 100; draw must be a Draw, such as Draw\(n_samples=100, n_items"),
        (
            {"draw": Draw(100)},
            r"draw.n_items is None; give the number of items: Draw\(100, n_items=...\)",
        ),
        (
            {"draw": WeightedDraw(100, [1] * 3706)},
            r"draw is a WeightedDraw, .* uniform samples only; WeightedDraw\.expect",
        ),
        (
            {"draw": Draw(100, n_items=3706, shared=True)},
            "draw.shared is True; how far one sample for all users moves a mean does not follow",
        ),
        ({"metric": [Recall(10)]}, r"value is 0\.66; value must be a list, such as \[0\.3"),
        ({"metric": []}, r"metric is empty; metric must be a list"),
        ({"metric": [Recall(1), "ndcg"]}, r"metric\[1\] is 'ndcg'; metric\[1\] must be a Metric"),
        (
            {"metric": [Recall(1), AUC()], "value": [0.3]},
            "value has 1 numbers for 2 metrics; give one each",
        ),
        (
            {"metric": [Recall(1), AUC()], "value": [0.3, 0.6], "other": [0.3, 0.6, 0.6]},
            "other has 3 numbers for 2 metrics; give one each",
        ),
        (
            {"metric": [Recall(1), Recall(1)], "value": [0.3, 0.3]},
            "metric holds Recall@1 twice; give each metric once",
        ),
        (
            {"metric": [Recall(1), AUC()], "value": [0.3, 66]},
            r"value\[1\] is 66; value\[1\] must be from 0 to 1, .* divide a percentage",
        ),
        (
            {
                "metric": [Recall(1), AUC()],
                "value": [0.3, 0.6],
                "draw": Draw(2001, n_items=5000),
            },
            "draw.n_samples is 2001; draw.n_samples must be at most 2000",
        ),
        ({"draw": Draw(9, n_items=[37, 9])}, r"draw.n_items is .* must be one whole number"),
        (
            {"draw": Draw(3706, n_items=100)},
            "draw.n_samples is 3706; it must be below draw.n_items, 100; the two may be swapped",
        ),
        ({"draw": Draw(100, n_items=100)}, "it must be below draw.n_items, 100"),
        (
            {"draw": Draw(100_001, n_items=200_000)},
            "draw.n_samples is 100001; draw.n_samples must be at most 100000",
        ),
        ({"n_users": 0}, "n_users is 0; n_users must be at least 1"),
        ({"confidence": 95}, "confidence is 95; confidence must be above 0 and below 1"),
        ({"decimals": -1}, "decimals is -1; decimals must be at least 0"),
        (
            {"metric": Precision(3, denominator="predicted")},
            'denominator is "predicted"; it needs the lengths',
        ),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        explain(**(USUAL | arguments))


@pytest.mark.slow
def test_the_largest_sample_that_is_explained():
    for most in Draw(100_000, n_items=100_001), Draw(9, n_items=10):
        assert explain(Recall(1), 0.5, most).draw == most


def test_a_value_that_is_rounded_beyond_what_is_possible():
    """A mean reciprocal rank of 1/101 is printed as 0.0099."""
    found = explain(ReciprocalRank(), 0.0099, Draw(100, n_items=3706))
    assert found.value == pytest.approx(1 / 101)
    assert found.bounds.low == pytest.approx(1 / 3706)
