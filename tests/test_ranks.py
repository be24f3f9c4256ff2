"""Lists and recommendations become ranks at the door."""

from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sampled_metrics import Ranks, ranking

# Few and small ones meet often; with a large one, users are looked up in several blocks.
items = st.integers(0, 12) | st.sampled_from([-5, 2**19, 2**20 - 1, 2**62])
users = st.lists(
    st.tuples(st.lists(items, unique=True, max_size=8), st.sets(items, max_size=8)), max_size=6
)


@given(users=users, kind=st.sampled_from(["int", "str"]), slots=st.sampled_from([1, 7, 64, 2**20]))
def test_recommendations_become_the_positions_of_the_labels(users, kind, slots):
    """Whatever the items are, and however many instances fit into the look-up table."""
    make = str if kind == "str" else int
    with mock.patch.multiple(ranking, SLOTS=slots, MOST_SLOTS=slots):
        check_positions(users, make)


def check_positions(users, make):
    predictions = [[make(i) for i in predicted] for predicted, _ in users]
    labels = [[make(i) for i in relevant] for _, relevant in users]
    ranks = Ranks.from_recommendations(predictions, labels)
    assert len(ranks) == len(users)
    for x, (predicted, relevant) in enumerate(zip(predictions, labels, strict=True)):
        want = [position for position, item in enumerate(predicted, 1) if item in relevant]
        assert ranks.values[ranks.offsets[x] : ranks.offsets[x + 1]].tolist() == want
        assert ranks.n_relevant[x] == len(relevant)
        assert ranks.n_predicted[x] == len(predicted)


def test_arrays_sets_and_unsigned_items_are_taken():
    want = [1, 2]
    predictions = np.array([[7, 3], [4, 7]], dtype=np.uint32)
    for labels in ([{7}, {7}], [[7], np.array([7])], np.array([[7], [7]])):
        assert Ranks.from_recommendations(predictions, labels).values.tolist() == want


@given(users=users)
def test_sparse_labels_are_the_same_as_lists(users):
    """Entries are a mapping's gains, or where all are 1, those of plain labels."""
    small = [([i for i in p if 0 <= i < 20], [i for i in r if 0 <= i < 20]) for p, r in users]
    predictions, labels = [p for p, _ in small], [r for _, r in small]
    for graded in (False, True):
        table = np.zeros((len(small), 20))
        for row, relevant in zip(table, labels, strict=True):
            row[relevant] = 2 + np.arange(len(relevant)) if graded else 1
        mappings = [{i: row[i] for i in r} for row, r in zip(table, labels, strict=True)]
        got = Ranks.from_recommendations(predictions, sparse.csr_array(table))
        same = mappings if graded and table.any() else labels
        want = Ranks.from_recommendations(predictions, same)
        assert_same(got, want)


def assert_same(got, want):
    for name in ("values", "offsets", "n_relevant", "n_predicted", "gains", "ideal_gains"):
        np.testing.assert_array_equal(getattr(got, name), getattr(want, name), err_msg=name)


@pytest.mark.parametrize("slots", [1, 2**20])
def test_a_label_of_one_block_is_not_found_in_the_next(slots):
    """The second user's label is the first user's prediction."""
    with mock.patch.multiple(ranking, SLOTS=slots, MOST_SLOTS=slots):
        ranks = Ranks.from_recommendations([[1, 2**20 - 1], [2]], [[3], [1]])
    assert ranks.values.tolist() == []


def test_sparse_labels_of_every_kind():
    predictions = [[3, 0, 1], [2, 1]]
    want = Ranks.from_recommendations(predictions, [{0: 2, 1: 1, 2: 5}, {1: 1}])
    table = np.array([[2, 1, 5, 0], [0, 1, 0, 0]])
    unsorted = sparse.csr_array(([5, 2, 1, 1], [2, 0, 1, 1], [0, 3, 4]), shape=(2, 4))
    zero = sparse.csr_array(([2, 1, 5, 0, 1], [0, 1, 2, 3, 1], [0, 4, 5]), shape=(2, 4))
    twice = sparse.coo_array(([1, 1, 1, 5, 1], ([0, 0, 0, 0, 1], [0, 0, 1, 2, 1])), shape=(2, 4))
    formats = [kind(table) for kind in (sparse.csc_array, sparse.lil_array, sparse.csr_matrix)]
    for labels in (unsorted, zero, twice, twice.tocsr(), *formats):
        before = labels.copy()
        assert_same(Ranks.from_recommendations(predictions, labels), want)
        assert (before != labels).nnz == 0
    stored_false = sparse.csr_array(([True, False], [0, 1], [0, 2, 2]), shape=(2, 4))
    got = Ranks.from_recommendations(predictions, stored_false)
    assert got.n_relevant.tolist() == [1, 0]
    assert got.values.tolist() == [2]


def test_lists_of_every_kind():
    want = Ranks.from_recommendations([[1, 2], [3, 1]], [[1], [1]])
    lists = [[1, 2], [3, 1]]
    labels = [[1], [1]]
    assert_same(Ranks.from_recommendations(iter(lists), (iter(row) for row in labels)), want)
    assert_same(Ranks.from_recommendations(map(iter, lists), pd.Series(labels)), want)
    assert_same(Ranks.from_recommendations(pd.Series(lists, index=[7, 9]), labels), want)
    assert_same(Ranks.from_recommendations(sparse.csr_matrix(lists).todense(), labels), want)
    kinds = [np.array([1, 2], np.uint64), np.array([3, 1])]
    assert_same(Ranks.from_recommendations(kinds, labels), want)


def test_many_users_in_blocks():
    """4,000 users of 1,000 items, more than one block has slots for: each finds their own."""
    predictions = (np.arange(4000)[:, None] + np.arange(10)) % 1000
    labels = (np.arange(4000)[:, None] + [3, 17]) % 1000
    ranks = Ranks.from_recommendations(predictions, labels)
    assert ranks.values.tolist() == [4] * 4000
    predictions[3500, 9] = predictions[3500, 0]
    with pytest.raises(ValueError, match=r"predictions\[3500\] holds item 500 twice"):
        Ranks.from_recommendations(predictions, labels)


def test_lists_are_sorted():
    ranks = Ranks.from_lists([[9, 2, 5], [], [1]])
    assert ranks.values.tolist() == [2, 5, 9, 1]
    assert ranks.offsets.tolist() == [0, 3, 3, 4]
    assert ranks.order.tolist() == [1, 2, 3, 1]


def test_items_of_gain_zero_are_not_relevant():
    ranks = Ranks.from_lists([[3, 1, 2], [1]], gains=[[5, 0, 7], [0]])
    assert ranks.values.tolist() == [2, 3]
    assert ranks.gains.tolist() == [7, 5]
    assert ranks.n_relevant.tolist() == [2, 0]
    ranks = Ranks.from_recommendations([["a", "b"], ["a"]], [{"b": 2, "a": 0, "c": 3}, {"a": 0}])
    assert ranks.values.tolist() == [2]
    assert ranks.gains.tolist() == [2]
    assert ranks.ideal_gains.tolist() == [3, 2]
    assert ranks.n_relevant.tolist() == [2, 0]
    assert ranks.n_predicted.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("gains", "message"),
    [
        ([[1, -2], [1]], r"gains\[0\]\[1\] is -2; gains\[0\] must be finite and 0 or above"),
        ([[1, 2], [np.nan]], r"gains\[1\]\[0\] is nan"),
        ([[1, np.inf], [1]], r"gains\[0\]\[1\] is inf"),
        ([[1, 2, 3], [1]], r"gains\[0\] has shape \(3,\); it must have 2 gains"),
        ([[1, 2]], "gains has 1 instances, ranks has 2"),
        ([["1", "2"], [1]], r"gains\[0\] has dtype <U1"),
    ],
)
def test_bad_gains(gains, message):
    with pytest.raises(ValueError, match=message):
        Ranks.from_lists([[1, 2], [3]], gains=gains)


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ([[1], [4, 2, 4]], r"ranks\[1\] holds rank 4 twice"),
        ([[1], [3, 0]], r"ranks\[1\]\[1\] is 0; ranks\[1\] must be at least 1"),
        ([[1.5]], r"ranks\[0\]\[0\] is 1.5"),
        ([["a"]], r"ranks\[0\] has dtype <U1"),
        ([1, 2], r"ranks\[0\] is 1; each instance must be a list of ranks"),
    ],
)
def test_bad_lists(lists, message):
    with pytest.raises(ValueError, match=message):
        Ranks.from_lists(lists)


@pytest.mark.parametrize(
    ("predictions", "labels", "message"),
    [
        ([[1], [2, 3, 2]], [[1], [1]], r"predictions\[1\] holds item 2 twice"),
        ([[1], [2]], [[1], [5, 5]], r"labels\[1\] holds item 5 twice"),
        ([["a", "b", "a"]], [["a"]], r"predictions\[0\] holds item a twice"),
        ([[1], [2]], [[1]], "predictions has 2 instances, labels has 1"),
        ([["1"]], [[1]], "predictions holds <U1 items, labels holds int64"),
        ([[1, "1"]], [[1]], "predictions mixes strings with other items"),
        ([[1.0]], [[1]], "predictions holds items of float64"),
        ([[True, 2]], [[1]], "predictions holds True or False"),
        (np.array([[2**64 - 1]], np.uint64), [[-1]], "predictions holds item 18446744073709551615"),
        ([[1]], [[np.nan]], "labels holds items of float64"),
        ([[1], 2], [[1], [1]], r"predictions\[1\] is 2; it must be a list of items"),
        (["ab"], [["a"]], r"predictions\[0\] is 'ab'; it must be a list of items"),
        ([[1], [1]], [{1: 2.0}, [1]], "labels mixes mappings with lists"),
        ([[1]], [{1: -1}], r"labels\[0\]\[0\] is -1; labels\[0\] must be finite and 0 or above"),
        ([{1: 2}], [[1]], r"predictions\[0\] is a dict; it must be a list, best item first"),
        ([{1, 2}], [[1]], r"predictions\[0\] is a set; it must be a list, best item first"),
        (sparse.eye_array(2), [[1], [1]], "predictions is a sparse matrix; it must be lists"),
        ([[1]], sparse.csr_array([[0, -2]]), r"labels\[0\]\[0\] is -2; labels\[0\] must be finite"),
        ([[[1, 2]]], [[1]], "predictions is nested too deeply"),
        ([[[1, 2], [3]]], [[1]], "predictions is nested too deeply"),
        ([[2**63, -1]], [[1]], "predictions holds item 9223372036854775808; integer items must"),
        ([[1]], [[2**70]], "labels holds item 1180591620717411303424; integer items must"),
        ([[None, 1]], [[1]], "predictions holds items of object; they must be integers or strings"),
        ({(1, 2), (3, 4)}, [[1], [3]], "it must hold one list of items for each instance"),
        ([b"ab"], [[97]], r"predictions\[0\] is b'ab'; it must be a list of items"),
        ([np.array(5)], [[5]], r"predictions\[0\] is array\(5\); it must be a list of items"),
        (np.array(5), [[5]], r"predictions is array\(5\); it must hold one list of items for each"),
        ({0: [1]}, [[1]], r"predictions is \{0: \[1\]\}; it must hold one list of items for each"),
        (np.ma.masked_equal([[1, 2]], 2), [[2]], "predictions is a masked array"),
        ([[1]], np.ma.masked_equal([[1]], 1), "labels is a masked array"),
    ],
)
def test_bad_recommendations(predictions, labels, message):
    with pytest.raises(ValueError, match=message):
        Ranks.from_recommendations(predictions, labels)


@pytest.mark.parametrize(
    ("values", "offsets", "n_relevant", "message"),
    [
        ([1, 2], [0, 2], [1], "n_relevant must be one number per instance, at least its ranks"),
        ([0], [0, 1], [1], r"values\[0\] is 0; values must be at least 1 and ascending"),
        ([3, 2], [0, 2], [2], r"values\[1\] is 2; values must be at least 1 and ascending"),
        ([1, 2], [0, 1], [1], "offsets must ascend from 0 to the number of values"),
    ],
)
def test_inconsistent_parts_are_refused(values, offsets, n_relevant, message):
    with pytest.raises(ValueError, match=message):
        Ranks(np.array(values), np.array(offsets), np.array(n_relevant))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"n_predicted": [3, 3]}, "n_predicted must be one number per instance"),
        ({"gains": [2.0]}, "gains must be one per value, ideal_gains one per relevant item"),
        ({"gains": [2.0], "ideal_gains": [2.0, 1.0]}, "gains must be one per value"),
        ({"ideal_gains": [2.0]}, "gains must be one per value"),
    ],
)
def test_parts_of_wrong_length_are_refused(more, message):
    arrays = {name: np.array(value) for name, value in more.items()}
    with pytest.raises(ValueError, match=message):
        Ranks(np.array([3]), np.array([0, 1]), np.array([1]), **arrays)


def test_array_of_string_objects():
    table = np.array([["a", "b"], ["c", "a"]], dtype=object)
    assert Ranks.from_recommendations(table, [["a"], ["a"]]).values.tolist() == [1, 2]
