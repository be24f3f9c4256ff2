"""Who is better by every metric."""

from dataclasses import FrozenInstanceError
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampled_metrics import AUC, Draw, Ranks, Recall, dominates
from sampled_metrics.bounds import Dominance
from shared import known

TOY = {
    "A": [100, 100, 100, 100, 100],
    "B": [40, 40, 8437, 9266, 4482],
    "C": [212, 2, 743, 5342, 1548],
}

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
        sampled = [Draw(m, n_items=8, replacement=replacement).pmf(x).mean(axis=0) for x in (a, b)]
        assert (np.cumsum(sampled[0]) >= np.cumsum(sampled[1]) - 1e-12).all()
    else:
        worse = Recall(k=int(known(found.behind_at)))
        gap = worse(b, n_items=8).mean() - worse(a, n_items=8).mean()
        assert gap == pytest.approx(found.behind)
        assert gap > 0
    if found.ahead:
        better = Recall(k=int(known(found.ahead_at)))
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
    tied = Ranks([2, 5], n_tied=[2, 0], n_items=[9, 9])
    spread_out = [2, 3, 4, 5, 5, 5]
    others = [[3, 3, 4, 4, 5, 5], [1, 9], [2, 3, 4, 5, 5, 5], [4, 4]]
    for other in others:
        for scale in ("rank", "share"):
            pairs: Any = [(tied, other), (spread_out, other), (other, tied), (other, spread_out)]
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
    here = Ranks(best, n_tied, 1000)
    there = Ranks(best[order], n_tied[order], 1000)
    for scale in ("rank", "share"):
        assert dominates(here, there, scale=scale) == Dominance((), 0.0, None, 0.0, None)


@given(data=st.data())
def test_on_the_scale_of_shares_it_holds_for_sampling_with_replacement(data):
    """Whatever the numbers of items."""
    n_items = data.draw(st.lists(st.integers(2, 7), min_size=1, max_size=5))
    a, b = (np.array([data.draw(st.integers(1, n)) for n in n_items]) for _ in range(2))
    found = dominates(a, b, n_items=n_items, scale="share")
    m = data.draw(st.integers(1, 9))
    sampled = [Draw(m, n_items=n_items).pmf(x).mean(axis=0).cumsum() for x in (a, b)]
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
    middle_of_three = Ranks([a], [0], [n_a])
    middle_of_five = Ranks([b], [0], [n_b])
    assert dominates(middle_of_three, middle_of_five)
    assert dominates(middle_of_three, middle_of_five, scale="share")
    first = [Draw(2, n_items=n, replacement=False).pmf(r)[0] for r, n in ((a, n_a), (b, n_b))]
    assert first == pytest.approx([0, 1 / 6])


@given(pair=same_length, m=st.integers(1, 6), replacement=st.booleans())
def test_a_smaller_sample_never_has_more_crossings(pair, m, replacement):
    """Dropping a drawn item averages neighbors, and averages change signs no more often."""
    draws = [Draw(size, n_items=8, replacement=replacement) for size in (m, m + 1)]
    curves = [
        np.subtract(*(draw.pmf(x).mean(axis=0).cumsum()[:-1] for x in pair)) for draw in draws
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
        found.behind = 0.5  # type: ignore[misc]


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
        ({"a": Ranks([1], 0, 9), "n_items": 8}, "n_items.* is 8; .* what a knows, 9"),
        ({"a": Ranks.from_lists([[1], [2, 3]])}, r"a\[1\] has 2 relevant items; it must have one"),
        ({"b": Ranks.from_lists([[1], []])}, r"b\[1\] has 0 relevant items"),
        (
            {"b": Ranks([1, 3], 0, 9, users=[4, 4])},
            r"b\[0\] has 2 relevant items",
        ),
        (
            {"a": pd.Series([1, 2]), "n_items": pd.Series([8, 9], index=[1, 0])},
            "a and n_items have different indexes",
        ),
        ({"scale": "share"}, 'n_items is None; scale "share" needs the number'),
        (
            {"scale": "share", "n_items": [2, 1], "a": [2, 1]},
            r"n_items\[1\] is 1; n_items must be at least 2",
        ),
        ({"scale": "log"}, "scale is 'log'; scale must be one of 'rank', 'share'"),
    ],
)
def test_dominance_of_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        dominates(**({"a": [1, 2], "b": [4, 5]} | arguments))


def test_place_of_the_largest_lead_is_the_first():
    found = dominates(Ranks([2, 3], [2, 0], 4), Ranks([3, 1], [0, 2], 4))
    assert found.behind == pytest.approx(1 / 6)
    assert found.behind_at == 1


@st.composite
def tied_instances(draw, n_items):
    """A few instances, tied or not, whose numbers of items are drawn from some."""
    n = draw(st.lists(st.sampled_from(n_items), min_size=1, max_size=5))
    best = [draw(st.integers(1, size)) for size in n]
    ties = [draw(st.integers(0, size - r)) for r, size in zip(best, n, strict=True)]
    return Ranks(best, ties, n)


@pytest.mark.parametrize("n_items", [[7], [2, 3, 5, 7]])
@pytest.mark.parametrize("scale", ["rank", "share"])
@given(data=st.data())
def test_ties_against_counting(scale, n_items, data):
    a, b = (data.draw(tied_instances(n_items)) for _ in range(2))

    def at(r, n):
        return r if scale == "rank" else (r - 1) / (n - 1)

    places = sorted({at(r, n) for n in n_items for r in range(1, n + 1)})

    def curve(tied):
        rows = zip(tied.best, tied.n_tied, tied.n_items, strict=True)
        each = [[at(r, n) for r in range(best, best + t + 1)] for best, t, n in rows]
        return np.array([np.mean([np.mean(np.array(x) <= p) for x in each]) for p in places])

    lead = curve(a) - curve(b)
    found = dominates(a, b, scale=scale)
    assert found.ahead == pytest.approx(max(lead.max(), 0), abs=1e-12)
    assert found.behind == pytest.approx(max(-lead.min(), 0), abs=1e-12)
    extremes = (found.ahead, found.ahead_at, 1), (found.behind, found.behind_at, -1)
    for most, place, side in extremes:
        assert place == (places[np.argmax(side * lead > most - 1e-9)] if most else None)
    signs = [(p, np.sign(x)) for p, x in zip(places, lead, strict=True) if abs(x) > 1e-9]
    turns = tuple(p for (_, before), (p, now) in pairwise(signs) if now != before)
    assert found.crossings == turns


def test_millions_of_steps_are_compared_in_parts():
    """Ties of one length are as many instances without ties."""
    rng = np.random.default_rng(1)
    n, length = rng.integers(9000, 10_000, 250), 5000
    best = rng.integers(1, 4000, 250)
    every = (best[:, None] + np.arange(length)).ravel()
    others = Ranks(rng.integers(1, 9000, 400), 0, 9999)
    tied = dominates(Ranks(best, length - 1, n), others, scale="share")
    spread = dominates(Ranks(every, 0, np.repeat(n, length)), others, scale="share")
    assert len(tied.crossings) > 1
    assert tied.crossings == spread.crossings
    assert (tied.ahead_at, tied.behind_at) == (spread.ahead_at, spread.behind_at)
    assert (tied.ahead, tied.behind) == pytest.approx((spread.ahead, spread.behind))


def test_a_tie_of_any_length():
    n = 10**12
    found = dominates(Ranks([1], n - 1, n), [n // 2])
    assert found.crossings == (n // 2,)
    assert (found.ahead, found.behind) == pytest.approx((0.5, 0.5))
    share = dominates(Ranks([1], n - 1, n), [n // 2], n_items=n, scale="share")
    assert share.crossings == ((n // 2 - 1) / (n - 1),)


def test_only_the_pool_of_instances_counts():
    """The order and the index do not matter, as no instance is paired with another."""
    a, b = pd.Series([3, 1, 2], index=list("xyz")), pd.Series([4, 2, 3], index=list("uvw"))
    assert dominates(a, b) == dominates([1, 2, 3], [2, 3, 4])
    assert dominates(Ranks.from_lists([[1], [2], [3]]), b) == dominates(a, b)
    known = Ranks.from_lists([[1], [2]], n_items=[4, 5])
    assert dominates(known, [3, 3], n_items=[4, 5], scale="share") == dominates(
        Ranks([1, 2], 0, [4, 5]), Ranks([3, 3], 0, [4, 5]), scale="share"
    )


def test_the_first_of_several_equal_distances():
    """The share where B leads most is 3/8; later the same lead comes out larger by rounding."""
    a, b = Ranks([4, 6], 0, 7), Ranks([3, 3, 4], [0, 5, 0], [7, 9, 6])
    found = dominates(a, b, scale="share")
    assert found.behind == pytest.approx(4 / 9)
    assert found.behind_at == 0.375
