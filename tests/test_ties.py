"""Ranks before ties are broken: what is refused, and that every way to break them is as likely."""

from collections import Counter
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sampled_metrics import NDCG, Ranks, Split
from shared import known, ways_of_user

RULES = ("optimistic", "pessimistic", "random")


@st.composite
def rankings(draw, max_users=4):
    """Tied ranks of several items of several users, in any order of the entries.

    A ranking of a user is cut into blocks of equal scores, and some items of a block are relevant.
    """
    entries = []
    for user in draw(st.lists(st.integers(0, 9), unique=True, max_size=max_users)):
        sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
        best = 1
        for size in sizes:
            relevant = draw(st.integers(0, min(size, 3)))
            entries += [(best, size - 1, sum(sizes), user)] * relevant
            best += size
    columns = np.array(draw(st.permutations(entries)), dtype=int).reshape(-1, 4).T
    return Ranks(*columns)


# --- ways to break ties


@given(tied=rankings(), rule=st.sampled_from(RULES), seed=st.integers(0, 99))
def test_ranks_are_possible_and_never_equal_within_a_user(tied, rule, seed):
    ranks = tied.break_ties(rule, rng=seed).best
    assert ranks.dtype == np.int64
    assert (ranks >= tied.best).all()
    assert (ranks <= tied.best + tied.n_tied).all()
    assert len(set(zip(tied.users.tolist(), ranks.tolist(), strict=True))) == len(tied)


@given(tied=rankings())
def test_the_best_and_the_worst_of_all_ways(tied):
    """No way has a smaller sum of ranks than the optimistic one, none a larger one."""
    low, high = tied.break_ties("optimistic").best, tied.break_ties("pessimistic").best
    for user in np.unique(tied.users):
        mine = tied.users == user
        sums = ways_of_user(tied, user).sum(axis=1)
        assert low[mine].sum() == sums.min()
        assert high[mine].sum() == sums.max()


# One right sampler in ten million fails: the p-value is compared with 1e-7. The seed is fixed, so
# a test that passes once passes always.
@pytest.mark.parametrize(
    ("best", "n_tied", "n_items"),
    [
        ([1], [4], 5),
        ([1, 1], [2, 2], 3),
        ([2, 2], [3, 3], 9),
        ([2, 2, 2], [2, 2, 2], 6),
        ([1, 3, 3, 8], [1, 3, 3, 0], 8),
        ([4, 1, 1, 4], [2, 2, 2, 2], 6),
    ],
)
def test_random_ways_are_equally_likely(best, n_tied, n_items):
    repeats, generator = 4000, np.random.default_rng(0)
    one = Ranks(best, n_tied, n_items, users=[3] * len(best))
    # All at once, as many users, and one after the other.
    many = Ranks(
        np.tile(best, repeats),
        np.tile(n_tied, repeats),
        n_items,
        np.arange(repeats).repeat(len(best)),
    )
    together = many.break_ties("random", rng=generator).best.reshape(repeats, -1)
    alone = np.array([one.break_ties("random", rng=generator).best for _ in range(repeats)])
    ways = set(map(tuple, ways_of_user(one, 3).tolist()))
    for drawn in (together, alone):
        counts = Counter(map(tuple, drawn.tolist()))
        assert set(counts) == ways
        assert stats.chisquare([counts[way] for way in ways]).pvalue > 1e-7


def test_entries_without_users_are_independent_of_each_other():
    """They may have one rank; 25 pairs of ranks are equally likely."""
    tied = Ranks(np.ones(10_000, int), 4, 5)
    drawn = tied.break_ties("random", rng=1).best
    pairs = Counter(zip(drawn[::2].tolist(), drawn[1::2].tolist(), strict=True))
    assert len(pairs) == 25
    assert stats.chisquare(list(pairs.values())).pvalue > 1e-7


def test_the_same_seed_breaks_ties_the_same_way():
    tied = Ranks([1, 1, 5], [3, 3, 90], 95, users=[0, 0, 0])
    for rng in (7, np.random.SeedSequence(7)):
        first, second = (tied.break_ties("random", rng=rng).best for _ in range(2))
        np.testing.assert_array_equal(first, second)
    generator = np.random.default_rng(7)
    first, second = (tied.break_ties("random", rng=generator).best for _ in range(2))
    assert first.tolist() != second.tolist()
    assert len({tuple(tied.break_ties("random").best) for _ in range(10)}) > 1  # fresh entropy


def test_long_ties_are_broken_in_no_time_and_memory():
    """Two of 2**52 tied items: nothing of that length is made."""
    n = 2**52
    ranks = Ranks([1, 1], n - 1, n, users=[0, 0]).break_ties("random", rng=0).best
    assert len(set(ranks.tolist())) == 2
    assert Ranks([1], n - 1, n).break_ties("pessimistic").best.tolist() == [n]


# --- to ranks


@given(tied=rankings(), rule=st.sampled_from(RULES))
def test_ranks_of_each_user(tied, rule):
    broken, ranks = tied.break_ties(rule, rng=5).best, tied.break_ties(rule, rng=5)
    users = list(dict.fromkeys(tied.users.tolist()))
    assert ranks.users.tolist() == users
    for x, user in enumerate(users):
        own = ranks.values[ranks.offsets[x] : ranks.offsets[x + 1]]
        assert own.tolist() == sorted(broken[tied.users == user])
        assert ranks.n_items[x] == tied.n_items[tied.users == user][0]
    np.testing.assert_array_equal(ranks.n_relevant, ranks.n_ranked)


def test_users_have_names_of_any_kind():
    for names in (["u", "v", "u"], [7, -5, 7], [(1, "a"), (1, "b"), (1, "a")]):
        tied = Ranks([4, 2, 1], 0, 9, users=names)
        ranks = tied.break_ties("optimistic")
        assert known(ranks.users).tolist() == names[:2]
        assert ranks.values.tolist() == [1, 4, 2]
        assert known(tied[[0, 2]].users).tolist() == [names[0]] * 2
    tied = Ranks([4, 2], 0, 9, users=np.array([3, 2**60 + 1], dtype=object))
    assert known(tied.users).tolist() == [3, 2**60 + 1]
    assert known(tied.users).dtype == np.int64
    with pytest.raises(ValueError, match=r"users\[1\] is None"):
        Ranks([4, 2], 0, 9, users=["u", None])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"users has shape \(1,\), best has shape \(2,\)"):
        Ranks([4, 2], 0, 9, users=["u"])


def test_a_bootstrap_repeats_entries():
    tied = Ranks([4, 2, 1], 0, 9, users=["u", "v", "w"])
    again = tied[[0, 0, 2]]
    assert again.best.tolist() == [4, 4, 1]
    assert again.users is None
    assert known(tied[::-1].users).tolist() == ["w", "v", "u"]


@pytest.mark.parametrize("gains", [[1, 3, 2], [3, 2, 1], [2, 1, 3]])
def test_among_tied_items_the_most_relevant_is_first_or_last(gains):
    tied = Ranks([1, 1, 1], 4, 9, users=["u"] * 3, gains=gains)
    best, worst = tied.break_ties("optimistic"), tied.break_ties("pessimistic")
    assert (best.values.tolist(), known(best.gains).tolist()) == ([1, 2, 3], [3, 2, 1])
    assert (worst.values.tolist(), known(worst.gains).tolist()) == ([3, 4, 5], [1, 2, 3])
    of_items = dict(zip(gains, tied.break_ties("optimistic").best.tolist(), strict=True))
    assert of_items == {3: 1, 2: 2, 1: 3}


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3)), min_size=1, max_size=5))
def test_no_way_to_break_ties_is_better_than_the_optimistic_one(pairs):
    users, gains = zip(*sorted(pairs), strict=True)
    tied = Ranks([1] * len(users), 5, 9, users=users, gains=gains)
    low, high = (
        NDCG(gains="linear")(tied.break_ties(rule)) for rule in ("pessimistic", "optimistic")
    )
    for seed in range(9):
        value = NDCG(gains="linear")(tied.break_ties("random", rng=seed))
        assert (low <= value + 1e-12).all()
        assert (value <= high + 1e-12).all()


def test_gains_follow_their_items():
    tied = Ranks([4, 2, 1], 0, 9, users=["u", "v", "u"], gains=[3, 1, 2])
    ranks = tied.break_ties("optimistic")
    assert known(ranks.gains).tolist() == [2, 3, 1]
    assert known(ranks.ideal_gains).tolist() == [3, 2, 1]
    assert known(tied[[2]].gains).tolist() == [2]
    alone = tied[[1, 2]].break_ties("random", rng=0)
    assert known(alone.gains).tolist() == [1, 2]
    with pytest.raises(ValueError, match="ranks has gains; break ties first"):
        NDCG(gains="linear")(tied[:2])
    with pytest.raises(ValueError, match=r"gains\[0\] is 0.0; gains must be above 0"):
        Ranks([4], 0, 9, gains=[0])
    with pytest.raises(ValueError, match=r"gains has shape \(2,\), best has shape \(1,\)"):
        Ranks([4], 0, 9, gains=[1, 2])


@pytest.mark.parametrize("rule", RULES)
def test_without_users_each_entry_is_an_instance(rule):
    tied = Ranks([3, 1, 3], [2, 0, 0], [5, 6, 7])
    ranks = tied.break_ties(rule, rng=0)
    np.testing.assert_array_equal(ranks.values, tied.break_ties(rule, rng=0).best)
    assert known(ranks.n_items).tolist() == [5, 6, 7]
    assert ranks.n_relevant.tolist() == [1, 1, 1]


def test_scores_lead_to_the_ranks_of_users_with_several_held_out_items():
    """All scores are equal, so every set of three of the six candidates is as likely."""

    class Indifferent:
        def scores(self, users):
            return np.zeros((len(users), 7))

    users = np.repeat(np.arange(2000), 3)
    split = Split.from_pairs(
        np.arange(2000), np.zeros(2000, int), users, np.tile([1, 4, 6], 2000), n_items=7
    )
    tied = Ranks.from_model(Indifferent(), split)
    assert tied.has_several
    ranks = tied.break_ties("random", rng=3)
    assert len(ranks) == 2000
    sets = Counter(map(tuple, ranks.values.reshape(-1, 3).tolist()))
    assert len(sets) == 20
    assert stats.chisquare(list(sets.values())).pvalue > 1e-7


# --- its parts


def test_one_number_serves_all_entries():
    tied = Ranks([1, 2], 0, 5)
    assert tied.n_tied.tolist() == [0, 0]
    assert tied.n_items.tolist() == [5, 5]
    assert tied.users is None
    assert not tied.has_several
    assert len(tied) == 2
    assert not Ranks([1, 2], 0, 5, users=[4, 7]).has_several


@given(tied=rankings(), data=st.data())
@settings(max_examples=50)
def test_an_index_takes_entries(tied, data):
    mask = data.draw(st.lists(st.booleans(), min_size=len(tied), max_size=len(tied)))
    for index in (np.array(mask, bool), np.flatnonzero(mask)):
        part = tied[index]
        for name in ("best", "n_tied", "n_items", "users"):
            assert getattr(part, name).tolist() == getattr(tied, name)[index].tolist()
    assert len(tied[: len(mask) // 2]) == len(mask) // 2
    assert tied[:1].users.tolist() == tied.users[:1].tolist()
    if len(tied):
        assert tied[0].best.tolist() == [tied.best[0]]
        assert Ranks(tied.best, 0, tied.best.max())[:1].users is None


def test_labelled_data_are_aligned_or_refused():
    best = pd.Series([1, 4], index=["u", "v"])
    tied, sizes = pd.Series([1, 0], index=["u", "v"]), pd.Series([9, 5], index=["v", "u"])
    assert Ranks(best, tied, sizes[::-1], users=best.index).n_items.tolist() == [5, 9]
    with pytest.raises(ValueError, match="n_tied and n_items have different indexes; align them"):
        Ranks(best, tied, sizes)
    with pytest.raises(ValueError, match="best and n_items have different indexes; align them"):
        Ranks(best, 0, sizes)
    with pytest.raises(ValueError, match="best and users have different indexes; align them"):
        Ranks(best, 0, 9, users=pd.Series([3, 4]))


def test_unsigned_integers_do_not_wrap():
    tied = Ranks(np.array([200], np.uint8), np.array([100], np.uint8), np.array([900], np.uint16))
    assert tied.break_ties("pessimistic").best.tolist() == [300]
    with pytest.raises(
        ValueError, match=r"best\[0\] is 200; best must be at most n_items - n_tied"
    ):
        Ranks(np.array([200], np.uint8), np.array([100], np.uint8), 250)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0], 0, 5), r"best\[0\] is 0; best must be at least 1"),
        (([1.5], 0, 5), r"best\[0\] is 1.5; best must be whole"),
        (([[1, 2]], 0, 5), r"best has shape \(1, 2\); best must be a flat list of ranks"),
        ((3, 0, 5), r"best has shape \(\); best must be a flat list of ranks"),
        ((["1"], 0, 5), "best is of type <U1; best must be whole numbers"),
        ((None, 0, 5), "best is None; best must be whole numbers"),
        ((np.ma.masked_equal([1, 2], 2), 0, 5), "best is a masked array"),
        (([1, 2], -1, 5), "n_tied is -1; n_tied must be at least 0"),
        (([1, 2], [0, 0, 0], 5), r"n_tied has shape \(3,\), best has shape \(2,\)"),
        (([1, 2], [0, None], 5), "n_tied is "),
        (([1, 2], 0, [5, 5, 5]), r"n_items has shape \(3,\), best has shape \(2,\)"),
        (([1, 2], 0, None), "n_items is None; n_items must be whole numbers"),
        (([1, 2], 0, 2**60), r"n_items is 1152921504606846976; n_items must be at most 2\*\*53"),
        (([1, 6], 0, 5), r"best\[1\] is 6; best must be at most n_items - n_tied, 5"),
        (([1, 4], [0, 2], 5), r"best\[1\] is 4; best must be at most n_items - n_tied, 3"),
        (([1, 2], 0, 5, [0, 0, 1]), r"users has shape \(3,\), best has shape \(2,\)"),
        (([1, 2], 0, 5, 7), r"users must be one flat list"),
        (([1, 2], 0, 5, [0.5, 1]), r"users\[0\] is 0.5; users must be whole"),
    ],
)
def test_bad_parts(arguments, message):
    with pytest.raises(ValueError, match=message):
        Ranks(*arguments)


@pytest.mark.parametrize(
    ("best", "n_tied", "n_items", "message"),
    [
        ([1, 1], [0, 0], 5, r"best\[1\] is 1 .* user 7; n_tied leaves no place for all tied items"),
        ([2, 2, 2], [1, 1, 1], 5, "user 7; n_tied leaves no place for all tied items"),
        ([1, 2], [1, 0], 5, r"best\[1\] is 2 .* user 7; items with one score have the same best"),
        ([1, 1], [1, 2], 5, "user 7; items with one score have the same best and n_tied"),
        ([3, 1], [0, 4], 5, r"best\[0\] is 3 .* user 7; items with one score have the same"),
        ([1, 3], [0, 0], [5, 6], r"best\[1\] is 3 .* user 7; all items of a user have the same"),
    ],
)
def test_entries_of_a_user_come_from_one_ranking(best, n_tied, n_items, message):
    with pytest.raises(ValueError, match=message):
        Ranks(best, n_tied, n_items, users=[7] * len(best))
    # as entries of different users they are possible
    assert len(Ranks(best, n_tied, n_items, users=range(len(best)))) == len(best)
    assert len(Ranks(best, n_tied, n_items)) == len(best)


@pytest.mark.parametrize("rule", ["worst", None, 1, ["random"], "Random"])
def test_an_unknown_rule(rule):
    for breaks in (Ranks([1], 1, 5).break_ties, Ranks([1], 1, 5).to_ranks):
        with pytest.raises(ValueError, match=r"rule is .*; rule must be one of 'optimistic', "):
            breaks(rule)


@pytest.mark.parametrize("rng", [-1, 1.5, "0", True, np.random.RandomState(0)])
def test_a_bad_rng(rng):
    with pytest.raises(ValueError, match=r"rng is .*; rng must be None, an integer of 0 or above"):
        Ranks([1], 1, 5).break_ties("random", rng=rng)


def test_tied_ranks_cannot_be_changed():
    best = np.array([1, 3])
    tied = Ranks(best, [0, 2], 9, users=[0, 1])
    best[:] = 9
    assert tied.best.tolist() == [1, 3]
    for name in ("best", "n_tied", "n_items", "users"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(tied, name)[0] = 1
        with pytest.raises(FrozenInstanceError):
            setattr(tied, name, best)


def test_labels_are_not_lost():
    best = pd.Series([1, 5], index=["ann", "bob"])
    with pytest.raises(ValueError, match=r"best is a Series whose index .* users=best\.index"):
        Ranks(best, 0, 9)
    assert known(Ranks(best, 0, 9, users=best.index).users).tolist() == ["ann", "bob"]
    assert Ranks(best.reset_index(drop=True), 0, 9).users is None
    ranks = Ranks([1, 5], 0, 9, users=["ann", "bob"])
    with pytest.raises(ValueError, match=r"index is a Series whose index .* index\.to_numpy\(\)"):
        ranks[pd.Series({"bob": True, "ann": False})]
    assert len(ranks[pd.Series([True, False])]) == 1
