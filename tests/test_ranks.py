"""Ranks: how they are made, and refused; some of them; ways to break ties, and metrics of these."""

import pickle
from collections import Counter
from dataclasses import FrozenInstanceError, dataclass, fields, replace
from itertools import permutations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse, stats
from sklearn.metrics import dcg_score, ndcg_score, roc_auc_score

from sampled_metrics import (
    AUC,
    NDCG,
    AveragePrecision,
    Draw,
    Precision,
    Ranks,
    Recall,
    ReciprocalRank,
    compare,
    dominates,
)
from shared import METRICS, flat, known, tied_places

RULES = ("optimistic", "pessimistic", "random")
ARRAYS = [field.name for field in fields(Ranks) if field.name != "up_to"]

rows_of_ranks = st.lists(st.sets(st.integers(1, 30), max_size=6), max_size=8)


@st.composite
def columns(draw):
    """Return what `Ranks` takes: entries of several users, mixed, with gains or without.

    A ranking of a user is cut into blocks of level items, and some items of a block are relevant.
    """
    entries, gains = [], draw(st.sampled_from([[0], [2.0], [1.0, 2.0, 0.5]]))
    for user in draw(st.lists(st.integers(-9, 9), unique=True, max_size=4)):
        sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
        best, catalog = 1, draw(st.integers(12, 14))
        for size in sizes:
            for _ in range(draw(st.integers(0, min(size, 3)))):
                gain = draw(st.sampled_from(gains))
                entries.append((best, size - 1, sum(sizes), user, catalog, gain, 10.0 + user))
            best += size
    names = ("ranks", "n_tied", "n_items", "users", "catalog", "gains", "weights")
    mixed = np.array(draw(st.permutations(entries))).reshape(-1, len(names)).T
    given = dict(zip(names, [*mixed[:5].astype(int), *mixed[5:]], strict=True))
    return given | {"gains": None} if gains == [0] else given


def rows_of(ranks, name="best"):
    """The ranks, or what else there is for each of them, instance by instance."""
    return [x.tolist() for x in np.split(getattr(ranks, name), ranks.offsets[1:-1])[: len(ranks)]]


def every_way(ranks):
    """All equally likely ways to rank the items of one instance, each as an instance."""
    blocks: Counter[range] = Counter(tied_places(ranks))
    choices = product(*(permutations(places, count) for places, count in blocks.items()))
    rows = np.array([np.concatenate([(), *choice]) for choice in choices], dtype=int)
    again, order = np.repeat(0, len(rows)), np.argsort(rows, axis=1)
    taken = {"n_items": ranks.n_items, "n_predicted": ranks.n_predicted}
    if ranks.gains is not None:
        taken["gains"] = known(ranks.gains)[order].ravel()
        taken["ideal_gains"] = np.tile(known(ranks.ideal_gains), len(rows))
    offsets = np.arange(len(rows) + 1) * rows.shape[1]
    return flat(np.sort(rows).ravel(), offsets, ranks.n_relevant[again], **taken)


def assert_same(got, want):
    for field in fields(Ranks):
        np.testing.assert_array_equal(
            getattr(got, field.name), getattr(want, field.name), err_msg=field.name
        )


# --- an entry for each relevant item


@given(given=columns())
def test_entries_are_grouped_by_user(given):
    ranks, table, graded = Ranks(**given), pd.DataFrame(given), given["gains"] is not None
    for x, (user, own) in enumerate(table.groupby("users", sort=False)):
        own = own.sort_values(["ranks", "gains"], ascending=[True, False])
        assert known(ranks.users)[x] == user
        assert rows_of(ranks)[x] == own["ranks"].tolist()
        assert rows_of(ranks, "n_tied")[x] == own["n_tied"].tolist()
        assert ranks.order[ranks.instance == x].tolist() == list(range(1, len(own) + 1))
        for name in ("n_items", "catalog", "weights"):
            assert getattr(ranks, name)[x] == own[name].iloc[0]
        if graded:
            assert rows_of(ranks, "gains")[x] == own["gains"].tolist()
            assert rows_of(ranks, "ideal_gains")[x] == sorted(own["gains"], reverse=True)
    assert len(ranks) == len(ranks.n_relevant) == table["users"].nunique()
    np.testing.assert_array_equal(ranks.n_relevant, ranks.n_ranked)
    assert (ranks.gains is None) == (ranks.ideal_gains is None) == (not graded)
    assert ranks.has_ties == table["n_tied"].any()
    assert ranks.is_one_each == (len(table) == len(ranks))
    sums = table.groupby("users", sort=False)["ranks"].sum()
    assert ranks.sum(ranks.best.astype(float)).tolist() == sums.tolist()


def test_blocks_of_level_items():
    ranks = Ranks([6, 2, 2, 1, 2], [0, 3, 3, 0, 0], users=["a", "a", "a", "a", "b"])
    first, instance, best, size, n_relevant, above = (each.tolist() for each in ranks.blocks)
    assert (first, instance, best) == ([0, 1, 3, 4], [0, 0, 0, 1], [1, 2, 6, 2])
    assert (size, n_relevant, above) == ([1, 4, 1, 1], [1, 2, 1, 1], [0, 1, 3, 0])


def test_without_users_each_entry_is_an_instance():
    ranks = Ranks([3, 1, 3], 2, [5, 6, 7], gains=[1, 2, 3])
    assert rows_of(ranks) == [[3], [1], [3]]
    assert ranks.n_tied.tolist() == [2, 2, 2], "one number serves all entries"
    assert known(ranks.n_items).tolist() == [5, 6, 7]
    assert known(ranks.ideal_gains).tolist() == [1, 2, 3]
    for name in ("users", "catalog", "up_to", "n_predicted", "weights"):
        assert getattr(ranks, name) is None


@pytest.mark.parametrize("names", [["u", "v", "u"], [7, -5, 7], [(1, "a"), (1, "b"), (1, "a")]])
def test_users_have_names_of_any_kind(names):
    ranks = Ranks([4, 2, 1], users=names)
    assert known(ranks.users).tolist() == names[:2]
    assert rows_of(ranks) == [[1, 4], [2]]


@pytest.mark.parametrize("dtype", [object, np.int64])
def test_any_integer_is_a_user(dtype):
    ends = np.array([-(2**63), 2**63 - 1], dtype)
    for ranks in (Ranks([4, 2], users=ends), Ranks.from_lists([[4], [2]], users=ends)):
        assert known(ranks.users).tolist() == ends.tolist()
        assert known(ranks.users).dtype == np.int64


def test_small_integers_do_not_wrap():
    ranks = Ranks(np.array([200], np.uint8), np.array([100], np.uint8), np.array([900], np.uint16))
    assert ranks.break_ties("pessimistic").best.tolist() == [300]
    with pytest.raises(ValueError, match=r"ranks\[0\] is 200; .* at most n_items - n_tied, 150"):
        Ranks(np.array([200], np.uint8), np.array([100], np.uint8), 250)
    assert Recall(k=np.uint8(255))(np.array([255, 1], np.uint8)).tolist() == [1, 1]  # type: ignore[arg-type]


MASKED = np.ma.masked_equal([1, 2], 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ranks": [0, 2]}, r"ranks\[0\] is 0; ranks must be at least 1"),
        ({"ranks": [1, 1.5]}, r"ranks\[1\] is 1.5; ranks must be whole"),
        ({"ranks": [1, np.nan]}, r"ranks\[1\] is nan; ranks must be whole"),
        ({"ranks": ["1", "2"]}, r"ranks is \['1'.*; ranks must be whole numbers"),
        ({"ranks": [True, True]}, r"ranks is \[True.*; ranks must be whole numbers"),
        ({"ranks": None}, r"ranks has shape \(\); ranks must be one flat list"),
        ({"ranks": [[1, 2]]}, r"ranks has shape \(1, 2\); ranks must be one flat list"),
        ({"ranks": 3}, r"ranks has shape \(\); ranks must be one flat list"),
        ({"ranks": [[1], [1, 2]]}, "ranks is ragged, or no array.* user go into Ranks.from_lists"),
        ({"ranks": [1, 2**53 + 2]}, r"ranks\[1\] is 9007199254740994; .* at most 2\*\*53"),
        ({"ranks": MASKED}, "ranks is a masked or sparse array"),
        (
            {"ranks": pd.DataFrame({"rank": [1, 2]})},
            r"ranks is a DataFrame; pass a column, or ranks",
        ),
        ({"ranks": [1, 6]}, r"ranks\[1\] is 6; .* at most n_items - n_tied, 5"),
        ({"n_tied": -1}, "n_tied is -1; n_tied must be at least 0"),
        ({"n_tied": [0, 4]}, r"ranks\[1\] is 2; .* at most n_items - n_tied, 1"),
        ({"n_tied": [0, 0, 0]}, r"n_tied has shape \(3,\), ranks has shape \(2,\)"),
        ({"n_tied": [0, None]}, r"n_tied is \[0, None\]; n_tied must be whole"),
        ({"n_items": 0}, "n_items is 0; n_items must be at least 1"),
        ({"n_items": [5, 5, 5]}, r"n_items has shape \(3,\), ranks has shape \(2,\)"),
        ({"n_items": 2**60}, r"n_items is 1152921504606846976; n_items must be at most 2\*\*53"),
        ({"users": [0, 0, 1]}, r"users has shape \(3,\), ranks has shape \(2,\)"),
        ({"users": 7}, "users must be one flat list"),
        ({"users": [0.5, 1]}, r"users\[0\] is 0.5; users must be whole"),
        ({"users": ["u", None]}, r"users\[1\] is None"),
        ({"gains": [1, 0]}, r"gains\[1\] is 0.0; gains must be above 0"),
        ({"gains": [1, -1]}, r"gains\[1\] is -1; gains must be finite and 0 or above"),
        ({"gains": [np.inf, 1]}, r"gains\[0\] is inf; gains must be finite"),
        ({"gains": ["a", "b"]}, "gains is .*; gains must be numbers"),
        ({"gains": [1]}, r"gains has shape \(1,\), ranks has shape \(2,\); gains must be one for"),
        ({"catalog": 4}, "catalog.* is 4; catalog must be at least n_items, 5"),
        ({"catalog": 1.5}, "catalog is 1.5; catalog must be whole"),
        ({"catalog": 9, "n_items": None}, "catalog is given without n_items; give n_items, too"),
        ({"weights": [1, 0]}, r"weights\[1\] is 0.0; weights must be above 0"),
        ({"weights": [1, np.nan]}, r"weights\[1\] is nan; weights must be finite"),
        ({"weights": 2}, r"weights has shape \(\), ranks has shape \(2,\)"),
        ({"up_to": 1.5}, "up_to is 1.5; up_to must be whole"),
        ({"up_to": 0}, "up_to is 0; up_to must be at least 1"),
        ({"up_to": [1, 2]}, r"up_to is \[1, 2\]; up_to must be one whole number"),
    ],
)
def test_bad_entries(change, message):
    with pytest.raises(ValueError, match=message):
        Ranks(**{"ranks": [1, 2], "n_items": 5} | change)


@pytest.mark.parametrize(
    ("ranks", "n_tied", "message"),
    [
        (
            [1, 1],
            0,
            r"ranks\[1\] is 1; .*users: another item of this user has it",
        ),
        ([2, 2, 2], 1, r"ranks\[1\] is 2; .* n_tied leaves no place for all tied items"),
        ([1, 2], [1, 0], r"ranks\[1\] is 2; .* others share no rank"),
        ([1, 1], [1, 2], "items with one score have the same rank and n_tied, others share no"),
        ([3, 1], [0, 4], r"ranks\[0\] is 3; ranks must be with n_tied of one ranking"),
    ],
)
def test_entries_of_a_user_come_from_one_ranking(ranks, n_tied, message):
    with pytest.raises(ValueError, match=message):
        Ranks(ranks, n_tied, users=["u"] * len(ranks))
    assert len(Ranks(ranks, n_tied, users=range(len(ranks)))) == len(ranks)
    assert len(Ranks(ranks, n_tied)) == len(ranks)


@pytest.mark.parametrize("name", ["n_items", "catalog", "weights"])
def test_what_is_of_a_user_is_the_same_in_all_entries(name):
    each: dict[str, Any] = {"n_items": 5, "catalog": 9} | {name: [7, 8, 9]}
    message = rf"{name}\[2\] is 9.*; {name} must be the same for all items of a user, 7"
    with pytest.raises(ValueError, match=message):
        Ranks([1, 2, 3], users=["u", "v", "u"], **each)


# --- a list for each instance


@given(rows=rows_of_ranks, extra=st.integers(0, 3))
def test_lists_in_any_order_become_sorted(rows, extra):
    ranks = Ranks.from_lists([list(row)[::-1] for row in rows])
    assert rows_of(ranks) == [sorted(row) for row in rows]
    assert ranks.n_relevant.tolist() == ranks.n_ranked.tolist() == [len(row) for row in rows]
    assert ranks.instance.tolist() == [x for x, row in enumerate(rows) for _ in row]
    assert ranks.is_one_each == all(len(row) == 1 for row in rows)
    assert not ranks.has_ties
    for name in ("n_items", "catalog", "up_to", "n_predicted", "gains", "users", "weights"):
        assert getattr(ranks, name) is None
    counts = [len(row) + extra for row in rows]
    more = Ranks.from_lists(rows, n_relevant=counts)
    assert more.n_relevant.tolist() == counts
    assert rows_of(more) == rows_of(ranks)


@pytest.mark.parametrize(
    "rows",
    [
        ((3, 1), (2, 4)),
        [{3, 1}, frozenset([2, 4])],
        [np.array([3, 1]), np.array([2.0, 4.0])],
        np.array([[3, 1], [2, 4]], dtype=np.uint8),
        [[3, np.int32(1)], pd.Series([2, 4], index=[9, 8])],
        iter([[3, 1], [2, 4]]),
        {"u": [3, 1], "v": [2, 4]}.values(),
        pd.Series([[3, 1], [2, 4]]),
        pd.DataFrame({"first": [3, 2], "second": [1, 4]}),
    ],
)
def test_lists_of_every_kind(rows):
    assert_same(Ranks.from_lists(rows), Ranks.from_lists([[3, 1], [2, 4]]))


@given(rows=rows_of_ranks, data=st.data())
def test_gains_stay_with_their_ranks(rows, data):
    gains = [{r: data.draw(st.integers(0, 3)) for r in row} for row in rows]
    ranks = Ranks.from_lists([list(g) for g in gains], gains=[list(g.values()) for g in gains])
    kept = [{r: g for r, g in sorted(row.items()) if g} for row in gains]
    assert rows_of(ranks) == [list(row) for row in kept]
    assert known(ranks.gains).tolist() == [g for row in kept for g in row.values()]
    want = [g for row in kept for g in sorted(row.values(), reverse=True)]
    assert known(ranks.ideal_gains).tolist() == want
    assert ranks.n_relevant.tolist() == [len(row) for row in kept]


def test_gains_and_numbers_and_names_of_lists():
    for gains in ([[1, 5], [2, 3]], np.array([[1, 5], [2, 3]]), iter([iter([1, 5]), (2, 3)])):
        graded = Ranks.from_lists([[3, 1], [2, 4]], gains=gains)
        assert known(graded.gains).tolist() == [5, 1, 2, 3]
    assert known(Ranks.from_lists([[3], [2, 4]], n_items=9).n_items).tolist() == [9, 9]
    ranks = Ranks.from_lists([[3], [], [2, 4]], None, [9, 7, 4], ["ann", "bob", "eve"])
    assert known(ranks.n_items).tolist() == [9, 7, 4]
    assert known(ranks.users).tolist() == ["ann", "bob", "eve"]
    for lists in ({"ann": [1], "bob": [5, 2]}, pd.Series({"ann": [1], "bob": [5, 2]})):
        assert known(Ranks.from_lists(lists).users).tolist() == ["ann", "bob"]
    assert Ranks.from_lists(pd.Series([[1], [5, 2]])).users is None


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ([[1], [4, 2, 4]], r"ranks\[1\] holds rank 4 twice; two items cannot share one position"),
        ([[1], [3, 0]], r"ranks\[1\]\[1\] is 0; ranks\[1\] must be at least 1"),
        ([[1], [2**53 + 2]], r"ranks\[1\]\[0\] is 9007199254740994; .* at most 2\*\*53"),
        ([[2.0**53]], r"ranks\[0\]\[0\] is 9007199254740992.0; .* given as integers: float64 rou"),
        ([np.array([2**24], np.float32)], r"ranks\[0\]\[0\] is 16777216.0; .* float32 rounds"),
        ([[1], [2**70]], r"ranks\[1\] is \[1180591620717411303424\]"),
        ([[1.5]], r"ranks\[0\]\[0\] is 1.5"),
        ([["a"]], r"ranks\[0\] is \['a'"),
        ([[1], [True]], r"ranks\[1\] is \[True"),
        ([1, 2], r"ranks\[0\] has shape \(\); .* must be one flat list"),
        ([[1], [None]], r"ranks\[1\] is \[None\]"),
        ([[[1]], [[2]]], r"ranks\[0\] has shape \(1, 1\); .* must be one flat list"),
        ([[1], [2, [3]]], r"ranks\[1\] is ragged"),
        ([MASKED], r"ranks\[0\] is a masked or sparse array"),
        ("12", "ranks is '12'; ranks must be a list, such as"),
        (None, "ranks is None; ranks must be a list, such as"),
        (7, "ranks is 7; ranks must be a list, such as"),
        ([{3: 1}], r"ranks\[0\] has shape \(\)"),
        (
            sparse.csr_array([[1, 2]]),
            r"ranks\[0\] is a masked or sparse array; .* a plain one",
        ),
    ],
)
def test_bad_lists(lists, message):
    with pytest.raises(ValueError, match=message):
        Ranks.from_lists(lists)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"gains": [[1, -2], [1]]}, r"gains\[0\]\[1\] is -2; gains\[0\] must be finite and 0 or"),
        ({"gains": [[1, 2], [np.nan]]}, r"gains\[1\]\[0\] is nan"),
        ({"gains": [[1, 2, 3], [1]]}, r"length of gains\[0\] is 3; .* that of ranks, 2"),
        ({"gains": [[1, 2]]}, r"gains has shape \(1,\), ranks has shape \(2,\)"),
        ({"gains": [["1", "2"], [1]]}, r"gains\[0\] is .*; gains\[0\] must be numbers"),
        ({"gains": [[True, True], [1]]}, r"gains\[0\] is .*; gains\[0\] must be numbers"),
        ({"gains": [[[1], [2]], [1]]}, r"gains\[0\] has shape \(2, 1\); .* one flat list"),
        ({"gains": 5}, "gains is 5; gains must be a list, such as"),
        ({"gains": "ab"}, "gains is 'ab'; gains must be a list, such as"),
        ({"gains": {0: [1, 2], 1: [1]}}, "gains is {0: .*; gains must be a list"),
        ({"n_relevant": 2, "gains": [[1, 2], [1]]}, "n_relevant is given beside gains; give a li"),
        ({"n_relevant": [1, 1]}, r"n_relevant\[0\] is 1; .* at least the number of the ranks"),
        ({"n_relevant": [2, 5], "n_items": 4}, r"n_items\[1\] is 4; .* relevant items, 5"),
        ({"n_items": [9, 2]}, r"ranks\[1\] is 3; ranks must be at most n_items, 2"),
        ({"n_items": [9, 9, 9]}, r"n_items has shape \(3,\), ranks has shape \(2,\)"),
        ({"users": ["ann", "ann"]}, r"users\[1\] is 'ann'; users\[1\] must be different"),
        ({"users": ["ann"]}, r"users has shape \(1,\), ranks has shape \(2,\)"),
        ({"users": ["ann", None]}, r"users\[1\] is None"),
    ],
)
def test_what_does_not_fit_the_lists(more, message):
    with pytest.raises(ValueError, match=message):
        Ranks.from_lists([[1, 2], [3]], **more)


# --- labels

SIZES = pd.Series([1000, 8], index=["b", "a"])


@pytest.mark.parametrize("make", [Ranks, Ranks.from_lists])
def test_labels_are_the_users_or_refused(make):
    lists = [2, 2] if make is Ranks else [[2], [2]]
    for users in (["b", "a"], SIZES.index):
        assert known(make(lists, n_items=SIZES, users=users).n_items).tolist() == [1000, 8]
    with pytest.raises(ValueError, match=r"n_items has other labels than users.*reindex\(users\)"):
        make(lists, n_items=SIZES, users=["a", "b"])
    with pytest.raises(ValueError, match=r"n_items has an index that is not 0, 1, .*users="):
        make(lists, n_items=SIZES)
    rows = pd.DataFrame({"user": ["z", "b", "a"], "n": [5, 1000, 8]})[1:]  # numbered 1 and 2
    assert make(lists, n_items=rows["n"], users=rows["user"]).users.tolist() == ["b", "a"]
    with pytest.raises(ValueError, match="n_items and users have different indexes; align them"):
        make(lists, n_items=SIZES, users=pd.Series(["b", "a"]))


@pytest.mark.parametrize("name", ["ranks", "n_tied", "n_items", "gains", "catalog", "weights"])
def test_the_labels_of_each_argument_are_looked_at(name):
    each = {"ranks": [1, 2], "n_items": 9, "users": ["a", "b"]}
    with pytest.raises(ValueError, match=f"{name} has other labels than users"):
        Ranks(**each | {name: SIZES})
    with pytest.raises(ValueError, match=r"and .* have different indexes; align them"):
        Ranks(**each | {"ranks": SIZES[::-1], "n_tied": SIZES[::-1], name: SIZES})
    with pytest.raises(ValueError, match=rf"{name} has an index .*users={name}\.index, or"):
        Ranks(**each | {"users": None, name: SIZES})


def test_labels_of_lists_agree_with_users():
    lists = {"a": [2], "b": [2]}
    with pytest.raises(ValueError, match="n_items has other labels than users"):
        Ranks.from_lists(lists, n_items=SIZES)
    with pytest.raises(ValueError, match="gains has other labels than users"):
        Ranks.from_lists(lists, gains=pd.Series([[3.0], [1.0]], index=["b", "a"]))
    for users in (["b", "a"], pd.Series(["b", "a"])):
        with pytest.raises(ValueError, match=r"ranks has other.*\[ranks\[user\] for user in users"):
            Ranks.from_lists(lists, users=users)
    with pytest.raises(ValueError, match="ranks and n_items have different indexes; align them"):
        Ranks.from_lists(pd.Series(lists), n_items=SIZES)


# --- some of the instances


@given(given=columns(), data=st.data())
def test_an_index_takes_instances(given, data):
    assume(len(given["ranks"]))
    whole = Ranks(**given, up_to=data.draw(st.integers(1, 9)))
    n = len(whole)
    places = st.lists(st.integers(-n, n - 1), max_size=8).map(lambda x: np.array(x, int))
    mask = st.lists(st.booleans(), min_size=n, max_size=n).map(np.array)
    index = data.draw(st.one_of(st.slices(n), places, mask))
    chosen, part = np.arange(n)[index], whole[index]
    assert len(part) == len(chosen)
    for name in ("best", "n_tied", *["gains"] * (whole.gains is not None)):
        assert rows_of(part, name) == [rows_of(whole, name)[x] for x in chosen]
    for name in ("n_relevant", "n_items", "catalog", "weights"):
        assert getattr(part, name).tolist() == getattr(whole, name)[chosen].tolist()
    if len(set(chosen)) < len(chosen):
        assert part.users is None, "a bootstrap repeats instances"
    else:
        assert known(part.users).tolist() == known(whole.users)[chosen].tolist()
    np.testing.assert_array_equal(NDCG(k=1)(whole)[index], NDCG(k=1)(part))  # also of ideal gains
    with pytest.raises(ValueError, match=f"ranks are known up to {whole.up_to};"):
        NDCG()(part)


def test_an_index_keeps_what_recommendations_know():
    whole = Ranks.from_recommendations([[1, 2], [5], [7, 1]], [[2, 9], [4], [7]])
    part = whole[[2, 0]]
    assert rows_of(part) == [[1], [2]]
    assert part.n_relevant.tolist() == [1, 2]
    assert known(part.n_predicted).tolist() == [2, 2]
    assert rows_of(whole[1]) == [[]]
    assert len(list(whole)) == 3  # type: ignore[call-overload]
    with pytest.raises(IndexError):
        whole[3]
    with pytest.raises(ValueError, match=r"index has an index .* index\.to_numpy\(\)"):
        whole[pd.Series({"bob": True, "ann": False, "eve": False})]
    assert len(whole[pd.Series([True, False, False])]) == 1


# --- nothing is changed

FULL: dict[str, Any] = {"ranks": [3, 1, 1], "n_tied": [0, 1, 1], "n_items": 9, "catalog": 99}
FULL |= {"users": ["v", "u", "u"], "gains": [1, 2, 3], "weights": [1, 2, 2]}


@pytest.mark.parametrize(
    "make",
    [
        lambda: Ranks(**FULL),
        lambda: Ranks(**FULL)[[1, 0]],
        lambda: Ranks(**FULL).break_ties("random", rng=0),
        lambda: Ranks([1, 3], [0, 2]).break_ties("pessimistic"),
        lambda: Ranks.from_lists([[3, 5], [1], []], [[1, 4], [2], []], [9, 8, 7], [5, 6, 7]),
        lambda: Ranks.from_recommendations([[1, 2], [5]], [{2: 3.0}, {4: 1.0}]),
    ],
)
def test_ranks_cannot_be_changed(make):
    ranks = make()
    for name in (*ARRAYS, "instance", "order"):
        array = getattr(ranks, name)
        if array is not None:
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 2
        with pytest.raises(FrozenInstanceError):
            setattr(ranks, name, array)
    with pytest.raises(TypeError):
        ranks[0] = ranks[0]


def test_ranks_travel_to_other_processes():
    assert_same(pickle.loads(pickle.dumps(Ranks(**FULL))), Ranks(**FULL))


@pytest.mark.parametrize("kind", [int, object])
def test_ranks_keep_no_hold_of_what_they_are_made_from(kind):
    given: dict[str, Any] = {
        name: np.array(value) for name, value in FULL.items() if np.ndim(value)
    }
    given["users"] = np.array([8, 7, 7] if kind is int else ["v", "u", "u"], dtype=kind)
    names, rows, sizes = given["users"][:2].copy(), np.array([[3], [1]]), np.array([9, 8])
    made = Ranks(**given), Ranks.from_lists(rows, None, sizes, names, n_relevant=sizes)
    want = pickle.loads(pickle.dumps(made))
    for array in (*given.values(), names, rows, sizes):
        array[:] = 5
    for got, kept in zip(made, want, strict=True):
        assert_same(got, kept)


# --- ways to break ties


@given(given=columns(), rule=st.sampled_from(RULES), seed=st.integers(0, 99))
def test_a_way_is_one_of_all(given, rule, seed):
    """The optimistic one has the least sum of ranks, and the most relevant items first."""
    tied = Ranks(**given)
    broken = tied.break_ties(rule, rng=seed)
    for name in ARRAYS:
        if name not in ("best", "n_tied", "gains"):
            np.testing.assert_array_equal(getattr(broken, name), getattr(tied, name), err_msg=name)
    assert not broken.has_ties
    assert broken.best.dtype == np.int64
    if not tied.has_ties:
        assert_same(broken, tied)
    for x in range(len(tied)):
        ways, got = every_way(tied[x : x + 1]), rows_of(broken)[x]
        assert got in rows_of(ways)
        if rule != "random":
            least, most = (min, max) if rule == "optimistic" else (max, min)
            assert sum(got) == least(ways.sum(ways.best))
            assert DCG()(broken)[x] == pytest.approx(most(DCG()(ways)), rel=1e-12)
        if tied.gains is not None:
            pairs = zip(rows_of(ways), rows_of(ways, "gains"), strict=True)
            assert (got, rows_of(broken, "gains")[x]) in pairs


# One right sampler in ten million fails: the p-value is compared with 1e-7. The seed is fixed, so
# a test that passes once passes always.
@pytest.mark.parametrize(
    ("best", "n_tied"),
    [
        ([1], [4]),
        ([2, 2], [3, 3]),
        ([2, 2, 2], [2, 2, 2]),
        ([1, 3, 3, 8], [1, 3, 3, 0]),
        ([4, 1, 1, 4], [2, 2, 2, 2]),
    ],
)
def test_random_ways_are_equally_likely(best, n_tied):
    repeats, rng = 4000, np.random.default_rng(0)
    gains = np.arange(1, len(best) + 1)  # tell the items apart
    one = Ranks(best, n_tied, users=[3] * len(best), gains=gains)
    users = np.arange(repeats).repeat(len(best))
    best, n_tied, gains = (np.tile(each, repeats) for each in (best, n_tied, gains))
    many = Ranks(best, n_tied, users=users, gains=gains)

    def ways_of(ranks):
        return [str(row) for row in zip(rows_of(ranks), rows_of(ranks, "gains"), strict=True)]

    together = ways_of(many.break_ties("random", rng=rng))
    alone = [ways_of(one.break_ties("random", rng=rng))[0] for _ in range(repeats)]
    ways = ways_of(every_way(one))
    for drawn in (together, alone):
        counts = Counter(drawn)
        assert set(counts) == set(ways)
        assert stats.chisquare([counts[way] for way in ways]).pvalue > 1e-7


def test_instances_are_independent_of_each_other():
    """25 pairs of ranks are equally likely."""
    drawn = Ranks(np.ones(10_000, int), 4).break_ties("random", rng=1).best
    pairs = Counter(zip(drawn[::2].tolist(), drawn[1::2].tolist(), strict=True))
    assert len(pairs) == 25
    assert stats.chisquare(list(pairs.values())).pvalue > 1e-7


def test_the_same_seed_breaks_ties_the_same_way():
    tied = Ranks([1, 1, 5], [3, 3, 90], users=[0, 0, 0])
    for rng in (7, np.random.SeedSequence(7)):
        assert_same(*(tied.break_ties("random", rng=rng) for _ in range(2)))
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


@pytest.mark.parametrize(
    "bad", ["worst", None, -1, 1.5, True, ["random"], np.random.RandomState(0)]
)
def test_a_bad_rule_or_rng(bad):
    with pytest.raises(ValueError, match=r"rule is .*; rule must be one of 'optimistic', "):
        Ranks([1], 1).break_ties(bad)
    if bad is not None:
        with pytest.raises(ValueError, match=r"rng is .*; rng must be None, an integer of 0 or ab"):
            Ranks([1], 1).break_ties("random", rng=bad)


# --- metrics are means over all ways to break ties


@dataclass(frozen=True)
class DCG(NDCG):
    def normalizer(self, ranks):
        return 1


@dataclass(frozen=True)
class Crooked(DCG):
    """Its gain depends on all it may depend on, and not as a line; so does its divisor."""

    rank_only = False

    def gain(self, rank, order, n_relevant, n_items):
        return 1 / order**2 / rank + np.sqrt(n_items - n_relevant + order)

    def normalizer(self, ranks):
        return known(ranks.n_items) + ranks.n_relevant


ALL = [
    *METRICS,
    Precision(k=3, denominator="predicted"),
    AveragePrecision(k=3, denominator="predicted"),
    AveragePrecision(denominator="hits"),
    NDCG(ideal="hits"),
    NDCG(k=3, ideal="hits", gains="exponential"),
    DCG(),
    DCG(k=3),
    Crooked(),
    Crooked(k=3),
]


def divides_unlike(ranks, k):
    """Tell whether rank k divides a block whose relevant items have different gains."""
    if ranks.gains is None:
        return False
    cut = np.flatnonzero((ranks.best <= k) & (k < ranks.best + ranks.n_tied))
    pairs = set(zip(ranks.instance[cut], ranks.gains[cut], strict=True))
    return len(pairs) > len(set(ranks.instance[cut]))


def is_ideal(ideal, metric):
    return isinstance(metric, NDCG) and metric.ideal == ideal


def with_cutoff(metric, k):
    return metric if metric.k is None else replace(metric, k=k)


@settings(max_examples=150)
@given(
    given=columns(),
    k=st.integers(1, 9),
    never=st.integers(0, 2),
    n_predicted=st.integers(0, 5),
)
def test_metrics_of_ties_are_means_over_all_ways(given, k, never, n_predicted):
    some = Ranks(**given)
    counts = some.n_relevant + never  # these were never ranked, and are the least relevant ones
    ideal = None
    if some.gains is not None:
        rows = np.split(known(some.ideal_gains), some.offsets[1:-1])[: len(some)]
        ideal = np.concatenate([[], *(np.append(row, [0.5] * never) for row in rows)])
    taken = {"n_tied": some.n_tied, "n_predicted": n_predicted, "n_items": some.n_items + never}
    taken |= {"gains": some.gains, "ideal_gains": ideal}
    tied = flat(some.best, some.offsets, counts, **taken)
    ways = [every_way(tied[x : x + 1]) for x in range(len(tied))]
    for general in ALL:
        metric = with_cutoff(general, k)
        if (metric == AUC() and never) or (is_ideal("full", metric) and ideal is not None):
            continue
        if is_ideal("hits", metric) and metric.k and divides_unlike(tied, k):
            with pytest.raises(ValueError, match=r"normalizer of NDCG.* depends; break them first"):
                metric(tied)
            continue
        want = [metric(each).mean() for each in ways]
        np.testing.assert_allclose(metric(tied), want, 1e-12, 1e-12, err_msg=str(metric))


def test_a_divisor_that_depends_on_the_ties_in_another_way_is_refused():
    @dataclass(frozen=True)
    class Relative(DCG):
        def normalizer(self, ranks):
            return ranks.sum(ranks.best * 1.0)

    for k in (None, 2, 9):
        with pytest.raises(ValueError, match=r"on which the normalizer of .* depends; break them"):
            Relative(k=k)(Ranks([1], 2))
    assert Relative()(Ranks([3])) == [1 / 6]


def test_no_hits_are_no_ideal_of_one():
    """With one hit of gain 1 or with none the divisor could be 1, but not with one of 0.5."""
    tied = Ranks([1, 1], 2, users=[0, 0], gains=[1, 0.5])
    with pytest.raises(ValueError, match="break them first"):
        NDCG(k=1, ideal="hits")(tied)
    assert NDCG(k=1, ideal="hits")(tied.break_ties("pessimistic")) == [0]


@pytest.mark.parametrize("best", [1, 63, 64, 65, 10**4, 10**6, 10**9, 2**52])
@pytest.mark.parametrize(("n_tied", "count"), [(1, 1), (1, 2), (2, 2), (5, 3)])
def test_ties_at_large_ranks(best, n_tied, count):
    tied = Ranks([best] * count, n_tied, users=[0] * count)
    ways = every_way(tied)
    for metric in (AveragePrecision(), AveragePrecision(k=best + 1), ReciprocalRank()):
        want = metric(ways).mean()
        assert metric(tied)[0] == pytest.approx(want, rel=1e-12, abs=1e-15), metric
        assert metric(tied)[0] >= 0


@settings(max_examples=100)
@given(
    items=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=12),
    k=st.integers(1, 12),
)
def test_agrees_with_scikit_learn(items, k):
    """It averages over ties, too: Ishioka's and McSherry & Najork's means."""
    gains, scores = np.array(items).T
    relevant = gains > 0
    assume(relevant.any())
    best = 1 + (scores > scores[:, None]).sum(axis=1)
    level = (scores == scores[:, None]).sum(axis=1) - 1
    users = np.zeros(relevant.sum(), int)
    ranks = Ranks(best[relevant], level[relevant], len(items), users=users, gains=gains[relevant])
    for metric, theirs in ((NDCG(k=k), ndcg_score), (DCG(k=k), dcg_score)):
        want = theirs([gains], [scores], k=k, ignore_ties=False)
        np.testing.assert_allclose(metric(ranks), want, rtol=1e-12, err_msg=str(metric))
    if not relevant.all():
        np.testing.assert_allclose(AUC()(ranks), roc_auc_score(relevant, scores), rtol=1e-12)


# --- up to a rank, of a catalog, with weights


@given(given=columns(), k=st.integers(1, 12), beyond=st.integers(0, 3))
def test_metrics_do_not_need_what_is_beyond_their_cutoff(given, k, beyond):
    whole, cut = Ranks(**given), Ranks(**given, up_to=k + beyond)
    assert rows_of(cut) == [[r for r in row if r <= k + beyond] for row in rows_of(whole)]
    assert cut.n_relevant.tolist() == whole.n_relevant.tolist()
    for general in METRICS:
        for metric in {general, with_cutoff(general, k)}:
            if isinstance(metric, NDCG) and metric.ideal != "relevant" and whole.gains is not None:
                continue
            if metric.k is not None and metric.k <= k + beyond:
                np.testing.assert_array_equal(metric(cut), metric(whole), err_msg=str(metric))
                continue
            message = f"ranks are known up to {k + beyond}; .* needs larger ones: give it a cutoff"
            with pytest.raises(ValueError, match=message):
                metric(cut)


@given(given=columns())
def test_filtered_ranks_count_irrelevant_items_only(given):
    """Their AUC counts the same pairs of a relevant and an irrelevant item as the whole ranking."""
    whole = Ranks(**given | {"gains": None})
    some, n, x = whole.filtered(), np.asarray(whole.n_items), whole.instance
    assert some.is_one_each
    np.testing.assert_array_equal(some.n_items, (n - whole.n_relevant + 1)[x])
    for at, (best, tied) in enumerate(zip(whole.best, whole.n_tied, strict=True)):
        mine = whole.best[x == x[at]]
        above, level = np.count_nonzero(mine < best), np.count_nonzero(mine == best) - 1
        assert (some.best[at], some.n_tied[at]) == (best - above, tied - level)
    pairs = n > whole.n_relevant
    sums = np.bincount(x, np.nan_to_num(AUC()(some)), len(whole))
    means = sums[pairs] / whole.n_relevant[pairs]
    np.testing.assert_allclose(means, AUC()(whole)[pairs], atol=1e-12)


def test_the_mean_rank_of_a_tie_is_what_link_prediction_takes():
    """Two level items on top of ten: 1 / 1.5 by the mean rank, (1 + 1 / 2) / 2 over both orders."""
    ranks = Ranks([1, 4], [1, 0], 10)
    assert (1 / ranks.mean_rank).tolist() == [1 / 1.5, 1 / 4]
    assert ReciprocalRank()(ranks).tolist() == [0.75, 0.25]


def test_a_sample_of_a_catalog_is_not_taken_for_exact_ranks():
    sample, exact = Ranks([1, 3], 0, 5, catalog=110), Ranks([1, 3], 0, 110)
    assert Recall(k=1)(sample).tolist() == [1, 0]
    for take in (
        lambda ranks: Draw(3).expect(ranks, Recall(k=1)),
        lambda ranks: compare(ranks, ranks, Recall(k=1)),
        lambda ranks: dominates(ranks, exact),
        lambda ranks: dominates(exact, ranks),
    ):
        take(exact)
        with pytest.raises(ValueError, match="a sample: 5 candidates of 110 items; "):
            take(sample)


def test_no_ranks_of_a_catalog():
    nothing = Ranks([], 0, [], catalog=[], users=[], weights=[])
    assert Draw(3).expect(nothing, Recall(k=1)).shape == (0,)
    assert np.isnan(Recall(k=1).mean(nothing))


def test_the_mean_counts_each_user_by_its_weight():
    ranks = Ranks([1, 2, 9, 4], users=["u", "v", "v", "w"], weights=[1, 5, 5, 2])
    assert known(ranks.weights).tolist() == [1, 5, 2]
    assert ReciprocalRank().mean(ranks) == pytest.approx((1 + 5 / 2 + 2 / 4) / 8, rel=1e-15)
    assert ReciprocalRank().mean(ranks[1:]) == pytest.approx((5 / 2 + 2 / 4) / 7, rel=1e-15)
    alone = Ranks([1, 2], 0, [1, 4], weights=[3, 1])  # AUC has no value for a single item
    assert AUC().mean(alone) == pytest.approx(2 / 3)
    assert AUC().mean(alone, empty=0) == pytest.approx(2 / 3 / 4)
