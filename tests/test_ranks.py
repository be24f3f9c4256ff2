"""Ranks: from lists of ranks, or from its parts; some of its instances; never changed."""

import pickle
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sampled_metrics import NDCG, Ranks, Recall
from shared import METRICS, known

rows_of_ranks = st.lists(st.sets(st.integers(1, 30), max_size=6), max_size=8)


def rows_of(ranks):
    """The ranks of each instance as lists."""
    return [part.tolist() for part in np.split(ranks.values, ranks.offsets[1:-1])] if ranks else []


def assert_same(got, want):
    for field in fields(Ranks):
        np.testing.assert_array_equal(
            getattr(got, field.name), getattr(want, field.name), err_msg=field.name
        )


# --- from lists


@given(rows=rows_of_ranks)
def test_lists_in_any_order_become_sorted(rows):
    ranks = Ranks.from_lists([list(row)[::-1] for row in rows])
    assert rows_of(ranks) == [sorted(row) for row in rows]
    assert len(ranks) == len(rows)
    assert ranks.n_relevant.tolist() == ranks.n_ranked.tolist() == [len(row) for row in rows]
    assert ranks.instance.tolist() == [x for x, row in enumerate(rows) for _ in row]
    assert ranks.order.tolist() == [j for row in rows for j in range(1, len(row) + 1)]
    assert ranks.is_one_each == all(len(row) == 1 for row in rows)
    assert ranks.n_predicted is None
    assert ranks.gains is None
    assert ranks.ideal_gains is None
    assert ranks.n_items is None


@pytest.mark.parametrize(
    "rows",
    [
        [(3, 1), (2, 4)],
        ((3, 1), (2, 4)),
        [{3, 1}, frozenset([2, 4])],
        [np.array([3, 1]), np.array([2.0, 4.0])],
        np.array([[3, 1], [2, 4]]),
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


@pytest.mark.parametrize(
    "gains", [[[1, 5], [2, 3]], np.array([[1, 5], [2, 3]]), iter([iter([1, 5]), (2, 3)])]
)
def test_gains_of_every_kind(gains):
    got = Ranks.from_lists([[3, 1], [2, 4]], gains=gains)
    assert known(got.gains).tolist() == [5, 1, 2, 3]


def test_number_of_items_of_lists():
    assert known(Ranks.from_lists([[3], [2, 4]], n_items=9).n_items).tolist() == [9, 9]
    assert known(Ranks.from_lists([[3], [2, 4]], n_items=[9, 4]).n_items).tolist() == [9, 4]
    with pytest.raises(ValueError, match=r"values\[1\] holds rank 4; .* at most n_items, 3"):
        Ranks.from_lists([[3], [2, 4]], n_items=3)


def test_labelled_lists_are_aligned_or_refused():
    rows = pd.Series([[3], [2, 4]], index=["u", "v"])
    other = pd.Series([9, 4], index=["v", "u"])
    with pytest.raises(ValueError, match="ranks and n_items have different indexes; align them"):
        Ranks.from_lists(rows, n_items=other)
    with pytest.raises(ValueError, match="ranks and gains have different indexes; align them"):
        Ranks.from_lists(rows, gains=pd.Series([[1, 2], [1]], index=["v", "u"]))
    assert known(Ranks.from_lists(rows, n_items=other[::-1]).n_items).tolist() == [4, 9]


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ([[1], [4, 2, 4]], r"ranks\[1\] holds rank 4 twice; two items cannot share one position"),
        ([[1], [3, 0]], r"ranks\[1\]\[1\] is 0; ranks\[1\] must be at least 1"),
        ([[1], [2**53 + 2]], r"ranks\[1\]\[0\] is 9007199254740994; .* at most 2\*\*53"),
        ([[2.0**53]], r"ranks\[0\]\[0\] is 9007199254740992.0; .* given as integers: float64 rou"),
        (
            [np.array([5, 2**24], np.float32)],
            r"ranks\[0\]\[1\] is 16777216.0; .* as integers: float32 rounds",
        ),
        (
            [np.array([2**11], np.float16)],
            r"ranks\[0\]\[0\] is 2048.0; .* given as integers: float16 rounds",
        ),
        ([[1], [2**70]], r"ranks\[1\] is \[1180591620717411303424\]"),
        ([[1.5]], r"ranks\[0\]\[0\] is 1.5"),
        ([["a"]], r"ranks\[0\] is of type <U1"),
        ([[1], [True]], r"ranks\[1\] is of type bool"),
        ([1, 2], r"ranks\[0\] is 1; each instance must be a list of ranks"),
        ([[1], None], r"ranks\[1\] is None"),
        ([[1], [None]], r"ranks\[1\] is \[None\]"),
        ([[[1]], [[2]]], r"ranks\[0\] is \[\[1\]\]; each instance must be a list of ranks"),
        ([[1], [2, [3]]], r"ranks\[1\] is ragged"),
        ([np.ma.masked_equal([1, 2], 2)], r"ranks\[0\] is a masked array"),
        (np.ma.masked_equal([[1, 2]], 2), r"ranks\[0\] is a masked array"),
        (["12"], r"ranks\[0\] is of type <U2"),
        ("12", "ranks is '12'; ranks must be a list of ranks per instance"),
        (None, "ranks is None; ranks must be a list of ranks per instance"),
        (7, "ranks is 7; ranks must be a list of ranks per instance"),
        ([{3: 1}], r"ranks\[0\] is \{3: 1\}"),
        (sparse.csr_array([[1, 2]]), r"ranks\[0\] is a \w+; ranks\[0\] must be a plain array"),
    ],
)
def test_bad_lists(lists, message):
    with pytest.raises(ValueError, match=message):
        Ranks.from_lists(lists)


@pytest.mark.parametrize(
    ("gains", "message"),
    [
        ([[1, -2], [1]], r"gains\[0\]\[1\] is -2; gains\[0\] must be finite and 0 or above"),
        ([[1, 2], [np.nan]], r"gains\[1\]\[0\] is nan"),
        ([[1, np.inf], [1]], r"gains\[0\]\[1\] is inf"),
        ([[1, 2, 3], [1]], r"gains\[0\] has shape \(3,\); it must have 2 gains"),
        ([[1, 2]], "gains has 1 instances, ranks has 2"),
        ([["1", "2"], [1]], r"gains\[0\] is .*; gains must be numbers"),
        ([[True, True], [1]], r"gains\[0\] is .*; gains must be numbers"),
        ([[None, 2], [1]], r"gains\[0\] is .*; gains must be numbers"),
        ([1, 2], r"gains\[0\] has shape \(\); it must have 2 gains"),
        ([[[1], [2]], [1]], r"gains\[0\] has shape \(2, 1\); it must have 2 gains"),
        (5, "gains is 5; gains must be a list of gains per instance"),
        ("ab", "gains is 'ab'; gains must be a list of gains per instance"),
        ({0: [1, 2], 1: [1]}, "gains is {0: .*; gains must be a list of gains per instance"),
    ],
)
def test_bad_gains(gains, message):
    with pytest.raises(ValueError, match=message):
        Ranks.from_lists([[1, 2], [3]], gains=gains)


# --- from its parts


def test_parts_may_be_lists():
    ranks = Ranks([3, 5, 1], [0, 2, 3, 3], [2, 4, 0], n_predicted=[5, 6, 1], n_items=9)
    assert rows_of(ranks) == [[3, 5], [1], []]
    assert ranks.n_relevant.tolist() == [2, 4, 0]
    assert known(ranks.n_predicted).tolist() == [5, 6, 1]
    assert known(ranks.n_items).tolist() == [9, 9, 9]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": np.array([1.5, 2])}, r"values\[0\] is 1.5; values must be whole"),
        ({"values": [[1, 2]]}, r"values has shape \(1, 2\); values must be flat"),
        ({"values": None}, "values is None; values must be whole numbers"),
        ({"values": np.ma.masked_equal([1, 2], 2)}, "values is a masked array"),
        ({"values": [0, 2]}, r"values\[0\] is 0; values must be at least 1"),
        ({"values": [3, 2]}, r"values\[1\] is 2; values must be ascending within an instance"),
        ({"values": [2, 2]}, r"values\[1\] is 2; values must be ascending within an instance"),
        ({"values": [1, 8]}, r"values\[0\] holds rank 8; ranks must be at most n_items, 7"),
        ({"offsets": [0, 1]}, r"offsets is \[0, 1\]; .* from 0 to the number of values, 2"),
        ({"offsets": [1, 2]}, r"offsets is \[1, 2\]; offsets must ascend from 0"),
        ({"offsets": []}, r"offsets is \[\]; offsets must ascend from 0"),
        ({"offsets": [0, 3, 2]}, "offsets.* must be ascending"),
        (
            {"offsets": [0, 0, 2, 1, 2], "n_relevant": [1, 2, 1, 1]},
            r"offsets\[2\] is 1; offsets must be ascending",
        ),
        ({"offsets": [0, 1.5]}, r"offsets\[1\] is 1.5; offsets must be whole"),
        ({"n_relevant": [1]}, r"n_relevant\[0\] is 1; .* at least the number of the ranks"),
        ({"n_relevant": [2, 1]}, "n_relevant has 2 entries; .* one per instance, 1"),
        ({"n_relevant": 2}, r"n_relevant has shape \(\); n_relevant must be flat"),
        ({"n_relevant": [8]}, "n_items is 7 for instance 0, which has 8 relevant items"),
        ({"n_predicted": [3, 3]}, "n_predicted must be one number per instance"),
        ({"n_predicted": ["a"]}, "n_predicted is of type <U1"),
        ({"gains": [2.0, 1.0]}, "gains must be one per value, 2, and ideal_gains one per relevant"),
        ({"gains": [2.0], "ideal_gains": [2.0, 1.0]}, "gains must be one per value, 2"),
        ({"gains": [[2.0], [1]], "ideal_gains": [2.0, 1.0]}, "gains must be one per value, 2"),
        ({"ideal_gains": [2.0, 1.0]}, "gains must be one per value, 2, and ideal_gains"),
        ({"gains": [2, 0], "ideal_gains": [2, 1]}, r"gains\[1\] is 0.0; gains must be above 0"),
        ({"gains": [1, 2], "ideal_gains": [1, 2]}, r"ideal_gains\[1\] is 2.0; .* be descending"),
        ({"gains": [1, np.nan], "ideal_gains": [2, 1]}, r"gains\[1\] is nan"),
        ({"n_items": 0}, "n_items is 0; n_items must be at least 1"),
        ({"n_items": [7, 7]}, r"n_items has shape \(2,\)"),
    ],
)
def test_inconsistent_parts_are_refused(change, message):
    parts = {"values": [1, 2], "offsets": [0, 2], "n_relevant": [2], "n_items": 7, **change}
    with pytest.raises(ValueError, match=message):
        Ranks(**parts)


def test_first_ranks_are_checked_in_every_instance():
    """The first rank of an instance may be below the last of the one before, but not below 1."""
    assert rows_of(Ranks([5, 2, 3], [0, 1, 3], [1, 2])) == [[5], [2, 3]]
    with pytest.raises(ValueError, match=r"values\[1\] is 0; values must be at least 1"):
        Ranks([5, 0], [0, 1, 2], [1, 1])
    with pytest.raises(ValueError, match=r"values\[2\] is 2; values must be ascending within an"):
        Ranks([5, 3, 2], [0, 1, 1, 3], [1, 0, 2])


def test_unsigned_integers_do_not_wrap():
    ranks = Ranks(
        np.array([200, 250], np.uint8), np.array([0, 2], np.uint8), np.array([2], np.uint8)
    )
    assert ranks.values.tolist() == [200, 250]
    top = Recall(k=np.uint8(255))  # type: ignore[arg-type]
    assert top(np.array([255, 1], np.uint8)).tolist() == [1, 1]


# --- some of the instances


@settings(max_examples=50)
@given(rows=st.lists(st.sets(st.integers(1, 30), max_size=6), min_size=1), data=st.data())
def test_an_index_takes_instances(rows, data):
    graded = data.draw(st.booleans())
    gains = [[1 + (r % 3) for r in row] for row in rows] if graded else None
    sizes = [data.draw(st.integers(30, 40)) for _ in rows]
    whole = Ranks.from_lists([list(row) for row in rows], gains, sizes)
    places = st.lists(st.integers(-len(rows), len(rows) - 1), max_size=8)
    mask = st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)).map(np.array)
    index = data.draw(st.one_of(st.slices(len(rows)), places.map(lambda x: np.array(x, int)), mask))
    chosen = np.arange(len(rows))[index]
    want = Ranks.from_lists(
        [list(rows[x]) for x in chosen],
        None if gains is None else [gains[x] for x in chosen],
        [sizes[x] for x in chosen],
    )
    assert_same(whole[index], want)
    np.testing.assert_array_equal(NDCG()(whole)[index], NDCG()(whole[index]))


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


# --- nothing is changed


def some(gains=((1, 4), (2,), ())):
    return Ranks.from_lists([[3, 5], [1], []], gains=gains, n_items=[9, 8, 7])


@pytest.mark.parametrize(
    "make",
    [
        some,
        lambda: some()[[1, 0]],
        lambda: Ranks([1, 3], [0, 2], 9).break_ties("optimistic"),
        lambda: Ranks([1, 3], [0, 2], 9, users=[1, 1]).break_ties("random", rng=0),
        lambda: Ranks.from_recommendations([[1, 2], [5]], [[2], [4]]),
        lambda: Ranks.from_recommendations([[1, 2], [5]], [{2: 3.0}, {4: 1.0}]),
    ],
)
def test_ranks_cannot_be_changed(make):
    ranks = make()
    for name in (*(field.name for field in fields(Ranks)), "instance", "order"):
        array = getattr(ranks, name)
        if array is not None and array.size:
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 2
        with pytest.raises(FrozenInstanceError):
            setattr(ranks, name, array)
    with pytest.raises(TypeError):
        ranks[0] = ranks[0]


def test_ranks_travel_to_other_processes():
    assert_same(pickle.loads(pickle.dumps(some())), some())


def test_ranks_keep_no_hold_of_what_they_are_made_from():
    values, offsets, counts, sizes = (np.array(x) for x in ([2, 3], [0, 2], [2], [9]))
    gains = np.array([2.0, 1.0])
    ranks = Ranks(values, offsets, counts, None, gains, gains, sizes)
    for array in (values, offsets, counts, sizes, gains):
        array[:] = 7
    assert rows_of(ranks) == [[2, 3]]
    assert ranks.offsets.tolist() == [0, 2]
    assert ranks.n_relevant.tolist() == [2]
    assert known(ranks.n_items).tolist() == [9]
    assert known(ranks.gains).tolist() == known(ranks.ideal_gains).tolist() == [2, 1]


@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_a_metric_changes_nothing(metric):
    plain, ranks = np.array([3, 5, 1]), some(gains=((1, 1), (1,), ()))
    metric(plain, 9), metric(ranks), metric(Ranks([1, 3], [0, 2], 9))
    assert plain.tolist() == [3, 5, 1]
    assert_same(ranks, some(gains=((1, 1), (1,), ())))


def test_instances_may_have_names():
    ranks = Ranks.from_lists([[5, 3], [1], []], users=["ann", "bob", "eve"])
    assert known(ranks.users).tolist() == ["ann", "bob", "eve"]
    assert known(ranks[[2, 0]].users).tolist() == ["eve", "ann"]
    assert ranks[[0, 0]].users is None, "a bootstrap repeats instances"
    assert Ranks.from_lists([[1]]).users is None
    ends = np.array([-(2**63), 2**63 - 1])  # in an array, any integer is an id
    assert known(Ranks.from_lists([[1], [2]], users=ends).users).tolist() == ends.tolist()
    graded = Ranks.from_lists([[5, 3]], gains=[[1, 2]], users=[17])
    assert known(graded.users).tolist() == [17]


@pytest.mark.parametrize(
    ("users", "says"),
    [
        (["ann", "bob", "ann"], r"users\[2\] is 'ann', like an earlier one"),
        ([4, 4, 5], r"users\[1\] is 4, like an earlier one"),
        (["ann", "bob"], r"users has shape \(2,\), ranks has shape \(3,\)"),
        (["ann", "bob", None], r"users\[2\] is None"),
    ],
)
def test_names_tell_instances_apart(users, says):
    with pytest.raises(ValueError, match=says):
        Ranks.from_lists([[1], [2], [3]], users=users)


def test_labels_are_not_lost():
    by_user = {"ann": [1], "bob": [5, 2]}
    for lists in (by_user, pd.Series(by_user)):
        ranks = Ranks.from_lists(lists)
        assert known(ranks.users).tolist() == ["ann", "bob"]
    assert Ranks.from_lists(pd.Series([[1], [5, 2]])).users is None
    with pytest.raises(ValueError, match="index is a Series whose index"):
        ranks[pd.Series({"bob": True, "ann": False})]


def test_a_table_is_no_list_of_ranks():
    table = pd.DataFrame({"user": [1, 2, 3], "rank": [9, 8, 9]})
    with pytest.raises(ValueError, match=r"ranks is a DataFrame; .* ranks\['rank'\]"):
        Recall(k=5).mean(table)
    assert Recall(k=5).mean(table["rank"]) == 0


# --- labels of what is given for each instance

TURNED = pd.Series([1000, 8], index=["b", "a"])
LISTS = {"a": [2], "b": [2]}
BY_POSITION = {
    "parts": lambda n, users: Ranks([2, 2], [0, 1, 2], [1, 1], n_items=n, users=users),
    "lists": lambda n, users: Ranks.from_lists([[2], [2]], n_items=n, users=users),
    "ties": lambda n, users: Ranks([2, 2], 0, n, users=users),
}


@pytest.mark.parametrize("make", BY_POSITION.values(), ids=BY_POSITION)
def test_labels_are_the_users_or_refused(make):
    right = make(TURNED, ["b", "a"])
    assert known(right.n_items).tolist() == [1000, 8]
    assert known(make(TURNED, TURNED.index).n_items).tolist() == [1000, 8]
    with pytest.raises(ValueError, match=r"n_items has other labels than users.*reindex\(users\)"):
        make(TURNED, ["a", "b"])
    with pytest.raises(ValueError, match=r"n_items is a Series whose index is not 0, 1, .*users="):
        make(TURNED, None)
    rows = pd.DataFrame({"user": ["z", "b", "a"], "n": [5, 1000, 8]})[1:]  # numbered 1 and 2
    assert make(rows["n"], rows["user"]).users.tolist() == ["b", "a"]


def test_keys_of_a_dict_are_users_like_others():
    ranks = Ranks.from_lists({"b": [2], "a": [2]}, n_items=TURNED)
    assert known(ranks.n_items).tolist() == [1000, 8]
    with pytest.raises(ValueError, match="n_items has other labels than users"):
        Ranks.from_lists(LISTS, n_items=TURNED)
    for users in (["b", "a"], pd.Series(["b", "a"])):
        with pytest.raises(ValueError, match=r"ranks has other.*\[ranks\[user\] for user in users"):
            Ranks.from_lists(LISTS, users=users)
    gains = pd.Series([[3.0], [1.0]], index=["b", "a"])
    with pytest.raises(ValueError, match="gains has other labels than users"):
        Ranks.from_lists(LISTS, gains=gains)


def test_ranks_and_ties_with_labels_agree_with_users():
    ranks = pd.Series([1, 2], index=["a", "b"])
    with pytest.raises(ValueError, match="best has other labels than users"):
        Ranks(ranks, 0, 100, users=["b", "a"])
    with pytest.raises(ValueError, match="n_tied has other labels than users"):
        Ranks([1, 2], ranks, 100, users=["b", "a"])


def test_a_ranking_of_one_item():
    for ranks in (Ranks.from_lists([[1]]), Ranks.from_lists([[1]], n_items=1), [1]):
        assert Recall(k=1)(ranks, n_items=1) == [1]
