"""Lists of recommendations and labels become ranks, whatever form they come in."""

import re
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sampled_metrics import Ranks
from shared import known

# Small ones meet often; 2**20 - 1 needs a large table, and larger ones are renumbered.
items = st.integers(0, 12) | st.sampled_from(
    [125, 126, 200, 255, 2**19, 2**20 - 1, 2**20, 2**31, 2**62, 2**63 - 1]
)
users = st.lists(
    st.tuples(st.lists(items, unique=True, max_size=8), st.sets(items, max_size=8)), max_size=6
)


def by_dict(predictions, labels):
    """Look every label up: ranks, numbers of labels and of predictions, gains, ideal gains."""
    ranks, gains, ideal = [], [], []
    for listed, relevant in zip(predictions, labels, strict=True):
        gain = {item: g for item, g in dict(relevant).items() if g > 0}
        rank_of = {item: rank for rank, item in enumerate(listed, 1)}
        ranks.append(sorted(rank_of[item] for item in gain if item in rank_of))
        gains += [gain[listed[rank - 1]] for rank in ranks[-1]]
        ideal += sorted(gain.values(), reverse=True)
    n_relevant = [sum(g > 0 for g in relevant.values()) for relevant in labels]
    return ranks, n_relevant, [len(listed) for listed in predictions], gains, ideal


def check(got, predictions, labels, graded):
    ranks, n_relevant, n_predicted, gains, ideal = by_dict(predictions, labels)
    assert len(got) == len(ranks)
    assert [part.tolist() for part in np.split(got.best, got.offsets[1:-1])][: len(ranks)] == ranks
    assert got.n_relevant.tolist() == n_relevant
    assert got.n_predicted.tolist() == n_predicted
    if graded:
        assert got.gains.tolist() == gains
        assert got.ideal_gains.tolist() == ideal
    else:
        assert got.gains is None
        assert got.ideal_gains is None


FORMS = {
    "lists": lambda rows: [list(row) for row in rows],
    "tuples": lambda rows: tuple(tuple(row) for row in rows),
    "arrays": lambda rows: [np.array(list(row), dtype=np.int64) for row in rows],
    "unsigned arrays": lambda rows: [np.array(list(row), dtype=np.uint64) for row in rows],
    "NumPy's integers": lambda rows: [[np.uint64(item) for item in row] for row in rows],
    "mixed": lambda rows: [np.array(r, np.int64) if x % 2 else list(r) for x, r in enumerate(rows)],
    "strings": lambda rows: [[str(item) for item in row] for row in rows],
    "arrays of strings": lambda rows: [np.array([str(i) for i in row], "U20") for row in rows],
    "objects": lambda rows: [np.array([str(i) for i in row], object) for row in rows],
    "dict": lambda rows: {f"user {x}": list(row) for x, row in enumerate(rows)},
}


@given(users=users, form=st.sampled_from(list(FORMS)), copies=st.sampled_from([1, 20]))
def test_recommendations_become_the_positions_of_the_labels(users, form, copies):
    """Copies make several blocks of users where an item is close to 2**20."""
    predictions = [listed for listed, _ in users] * copies
    labels = [sorted(relevant) for _, relevant in users] * copies
    got = Ranks.from_recommendations(FORMS[form](predictions), FORMS[form](labels))
    check(got, predictions, [dict.fromkeys(row, 1) for row in labels], graded=False)


@given(
    data=st.data(),
    length=st.sampled_from([1, 2, 5, 31, 32, 33]),
    n_users=st.integers(1, 5),
    kind=st.sampled_from([int, str]),
)
def test_one_label_and_a_list_of_the_same_length_for_every_user(data, length, n_users, kind):
    """Short lists are compared, longer ones are looked up; with another list, all of them are."""
    one = st.lists(st.integers(0, 40), min_size=length, max_size=length, unique=True)
    predictions = data.draw(st.lists(one, min_size=n_users, max_size=n_users))
    labels = data.draw(st.lists(st.integers(0, 40), min_size=n_users, max_size=n_users))
    predictions = [[kind(item) for item in listed] for listed in predictions]
    labels = [[kind(item)] for item in labels]
    gains = [dict.fromkeys(row, 1) for row in labels]
    check(Ranks.from_recommendations(predictions, labels), predictions, gains, graded=False)
    longer, more = [*predictions, []], [*gains, {kind(3): 1}]
    check(Ranks.from_recommendations(longer, [*labels, [kind(3)]]), longer, more, graded=False)
    x, first, second = (data.draw(st.integers(0, end)) for end in (n_users - 1, *[length - 1] * 2))
    if first != second:
        predictions[x][first] = item = predictions[x][second]
        with pytest.raises(
            ValueError, match=rf"predictions\[{x}\] holds item {item!r}: it is there twice"
        ):
            Ranks.from_recommendations(predictions, labels)


@given(users=users, kind=st.sampled_from([int, str]), seed=st.integers(0, 9))
def test_gains_follow_their_items(users, kind, seed):
    rng = np.random.default_rng(seed)
    predictions = [[kind(item) for item in listed] for listed, _ in users]
    labels = [
        {kind(item): float(rng.choice([0, 0.5, 1, 2, 1e-300, 1e300])) for item in relevant}
        for _, relevant in users
    ]
    got = Ranks.from_recommendations(predictions, labels)
    check(got, predictions, labels, graded=bool(labels))


@given(users=users, graded=st.booleans(), seed=st.integers(0, 9))
def test_sparse_labels_are_the_same_as_lists(users, graded, seed):
    """Entries are a mapping's gains, or where all are 1, those of plain labels."""
    rng = np.random.default_rng(seed)
    predictions = [[item for item in listed if item < 20] for listed, _ in users]
    labels = [
        {item: int(rng.integers(0, 4)) if graded else 1 for item in relevant if item < 20}
        for _, relevant in users
    ]
    places = [(x, item, gain) for x, row in enumerate(labels) for item, gain in row.items()]
    rows, columns, gains = np.array(places, dtype=int).reshape(-1, 3).T
    table = sparse.coo_array((gains, (rows, columns)), shape=(len(users), 20)).tocsr()
    for kind in (table, table.astype(np.float32), table.tocsc(), sparse.csr_matrix(table)):
        got = Ranks.from_recommendations(predictions, kind)
        check(got, predictions, labels, graded=(gains != 1).any())


def assert_same(got, want):
    for name in ("best", "offsets", "n_relevant", "n_predicted", "gains", "ideal_gains"):
        np.testing.assert_array_equal(getattr(got, name), getattr(want, name), err_msg=name)


def test_sparse_labels_of_every_kind():
    predictions = [[3, 0, 1], [2, 1]]
    want = Ranks.from_recommendations(predictions, [{0: 2, 1: 1, 2: 6}, {1: 1}])
    table = np.array([[2, 1, 6, 0], [0, 1, 0, 0]])
    unsorted = sparse.csr_array(([6, 2, 1, 1], [2, 0, 1, 1], [0, 3, 4]), shape=(2, 4))
    zero = sparse.csr_array(([2, 1, 6, 0, 1], [0, 1, 2, 3, 1], [0, 4, 5]), shape=(2, 4))
    twice = sparse.csr_array(([1, 1, 6, 1, 1], [0, 1, 2, 0, 1], [0, 4, 5]), shape=(2, 4))
    pairs = sparse.coo_array(([1, 1, 1, 6, 1], ([0, 0, 0, 0, 1], [0, 0, 1, 2, 1])), shape=(2, 4))
    kinds = (sparse.csc_array, sparse.lil_array, sparse.dok_array, sparse.csr_matrix)
    tables: list[Any] = [unsorted, zero, twice, pairs, *(kind(table) for kind in kinds)]
    for labels in tables:
        before = labels.copy()
        assert_same(Ranks.from_recommendations(predictions, labels), want)
        assert (before != labels).nnz == 0
        assert before.nnz == labels.nnz
    stored_false = sparse.csr_array(([True, False], [0, 1], [0, 2, 2]), shape=(2, 4))
    got = Ranks.from_recommendations(predictions, stored_false)
    assert got.n_relevant.tolist() == [1, 0]
    assert got.best.tolist() == [2]


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int64, np.float32])
def test_sparse_labels_that_are_stored_300_times_do_not_overflow(dtype):
    cells = np.zeros(300, dtype=int), np.full(300, 2)
    ones = np.ones(300, dtype)
    labels: Any
    for labels in (
        sparse.coo_array((ones, cells), shape=(1, 4)),
        sparse.csr_array((ones, cells[1], [0, 300]), shape=(1, 4)),
    ):
        got = Ranks.from_recommendations([[2, 1]], labels)
        assert_same(got, Ranks.from_recommendations([[2, 1]], [{2: 300}]))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.uint64, "U3"])
def test_matrices(dtype):
    """Items above 125 fit into eight bits only without a sign."""
    predictions = np.array([[126, 3], [4, 127]]).astype(dtype)
    labels: Any
    for labels in ([[126], [127]], [{126}, {127}], np.array([[126], [127]])):
        if dtype == "U3":
            labels = [[str(item) for item in row] for row in labels]
        assert Ranks.from_recommendations(predictions, labels).best.tolist() == [1, 2]
    if np.dtype(dtype).kind == "u":
        table = np.array([[255, 128], [200, 0]], dtype=dtype)
        assert Ranks.from_recommendations(table, [[128], [200]]).best.tolist() == [2, 1]


def test_matrices_of_every_layout():
    table = np.arange(40).reshape(4, 10)
    labels = [[row[2]] for row in table.tolist()]
    tables = (
        table[:, :5],
        np.asfortranarray(table),
        sparse.csr_matrix(table).todense(),
        table.astype(object),
        table.astype(str).astype(object),
    )
    for form in tables:
        wanted = [[str(i) for i in row] for row in labels] if form is tables[-1] else labels
        assert Ranks.from_recommendations(form, wanted).best.tolist() == [3] * 4
    assert Ranks.from_recommendations(np.empty((2, 0)), [[1], []]).n_relevant.tolist() == [1, 0]
    assert len(Ranks.from_recommendations([], [])) == 0


def test_mappings_of_other_types_and_gains_of_every_type():
    labels: list[Any] = [Counter("abb"), {"a": True, "b": np.False_}, {"b": np.float32(2), "a": 3}]
    got = Ranks.from_recommendations([["b", "a"]] * 3, labels)
    assert got.best.tolist() == [1, 2, 2, 1, 2]
    assert known(got.gains).tolist() == [2, 1, 1, 2, 3]


def test_nothing_handed_in_is_changed():
    predictions, labels = np.array([[1, 2], [3, 4]]), {"a": [1]}
    predictions.flags.writeable = False
    assert Ranks.from_recommendations(predictions, [[2], [3]]).best.tolist() == [2, 1]
    users = defaultdict(list, {"a": [1]})
    with pytest.raises(ValueError, match="predictions has user 'b', labels does not"):
        Ranks.from_recommendations({"a": [1], "b": [1]}, users)
    assert dict(users) == labels


def test_a_zero_character_at_the_end_counts():
    got = Ranks.from_recommendations([["a\0", "a", "b"]], [["a"]])
    assert got.best.tolist() == [2]
    assert Ranks.from_recommendations([["a"]], [["a\0"]]).best.tolist() == []


def test_a_label_of_one_block_is_not_found_in_another():
    """Each user's label is what the user 16 before has as a prediction."""
    predictions = [[x, 2**20 - 1 - x] for x in range(100)]
    labels = [[x - 16] for x in range(16, 116)]
    assert Ranks.from_recommendations(predictions, [[9]] * 16 + labels[:84]).best.tolist() == [1]


def test_many_users_in_blocks():
    """4,000 users of 1,000 items, more than one block has slots for: each finds their own."""
    predictions = (np.arange(4000)[:, None] + np.arange(10)) % 1000
    labels = (np.arange(4000)[:, None] + [3, 17]) % 1000
    ranks = Ranks.from_recommendations(predictions, labels)
    assert ranks.best.tolist() == [4] * 4000
    predictions[3500, 9] = predictions[3500, 0]
    with pytest.raises(ValueError, match=r"predictions\[3500\] holds item 500: it is there twice"):
        Ranks.from_recommendations(predictions, labels)


# Who belongs to whom


def test_dicts_are_paired_by_user():
    predictions = {"ann": [1, 2], "bob": [3, 1], "eve": []}
    labels = {"eve": [1], "bob": [1], "ann": [1, 5]}
    got = Ranks.from_recommendations(predictions, labels)
    assert_same(got, Ranks.from_recommendations([[1, 2], [3, 1], []], [[1, 5], [1], [1]]))
    graded = {"eve": {1: 2}, "bob": {1: 1}, "ann": {1: 3, 5: 1}}
    assert known(Ranks.from_recommendations(predictions, graded).gains).tolist() == [3, 1]


def test_the_remedy_for_a_series_works():
    predictions = pd.Series([[1], [2]], index=["a", "b"])
    labels = pd.Series([[2], [1]], index=["b", "a"])
    with pytest.raises(
        ValueError, match=r"predictions is a \[1\] b \[2\].* by Series\.to_dict\(\)"
    ):
        Ranks.from_recommendations(predictions, labels)
    got = Ranks.from_recommendations(predictions.to_dict(), labels.to_dict())
    assert got.best.tolist() == [1, 1]
    # A user without labels is NaN after reindex, not an empty list: said, not counted.
    lost = labels[["a"]].reindex(predictions.index).to_dict()
    with pytest.raises(ValueError, match=r"labels\['b'\] is nan; labels\['b'\] must be"):
        Ranks.from_recommendations(predictions.to_dict(), lost)


@pytest.mark.parametrize(
    ("predictions", "labels", "message"),
    [
        ({1: [1], 2: [1]}, {1: [1]}, "predictions has user 2, labels does not; add labels[2] = []"),
        ({"a": [1]}, {"a": [1], "b": [2]}, "labels has user 'b', predictions does not"),
        ({0: [1]}, [[1]], "predictions is a dict, labels a list; make both"),
        ([[1]], {0: [1]}, "predictions is a list, labels a dict; make both"),
        (pd.Series([[1]]), {0: [1]}, "predictions is a Series, labels a dict; make both"),
        ({0: [1]}, sparse.eye_array(1).tocsr(), "labels a csr_array; make both a dict"),
        (
            pd.DataFrame({"a": [1]}),
            [[1]],
            "predictions is a 0 1; predictions must be a list of lists",
        ),
        (
            [[1]],
            pd.DataFrame({"a": [1]}),
            "labels is a 0 1; labels must be a list of lists of items",
        ),
        ({"ann": [1], "bob": [2, 2]}, {"ann": [1], "bob": [1]}, "predictions['bob'] holds item 2"),
        ({"ann": [1]}, {"ann": {1: -1.5}}, "labels['ann'] holds item 1: its gain is -1.5"),
        (
            {"ann": {1}},
            {"ann": [1]},
            "predictions['ann'] is {1}; predictions['ann'] must be a list of items, best",
        ),
        ([[1], [2]], [[1]], "predictions has 2 instances, labels has 1"),
        ([[1]], sparse.eye_array(2), "predictions has 1 instances, labels has 2"),
    ],
)
def test_instances_that_do_not_fit(predictions, labels, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Ranks.from_recommendations(predictions, labels)


# What is no list of items

LARGE = 2**63


@pytest.mark.parametrize(
    ("predictions", "labels", "message"),
    [
        # twice
        ([[1], [2, 3, 2]], [[1], [1]], "predictions[1] holds item 2: it is there twice"),
        ([[1], [2]], [[1], [5, 5]], "labels[1] holds item 5: it is there twice"),
        ([[1], [2]], [[5, 5], []], "labels[0] holds item 5: it is there twice"),
        ([["a", "b", "a"]], [["a"]], "predictions[0] holds item 'a': it is there twice"),
        (
            [["a" * 200] * 2],
            [["a"]],
            f"predictions[0] holds item '{'a' * 76}...: it is there twice",  # 80 characters
        ),
        ([[2**40, 1, 2**40]], [[1]], "predictions[0] holds item 1099511627776: it is there twice"),
        (
            [[1, 2**20 - 1]] * 20 + [[7, 7]],
            [[1]] * 21,
            "predictions[20] holds item 7: it is there twice",
        ),
        (
            [[1, 2**20 - 1]] * 21,
            [[1]] * 20 + [[2, 8, 8]],
            "labels[20] holds item 8: it is there twice",
        ),
        # no items
        ([["1"]], [[1]], "predictions names its items by strings, labels by integers; name"),
        (
            [["1"]],
            sparse.csr_array([[0, 1]]),
            "predictions names its items by strings, labels by integers",
        ),
        ([[1, "1"]], [[1]], "predictions[0] holds item '1': name all items by integers"),
        ([["1"], ["2", 3]], [[1]], "predictions[1] holds item 3: name all items by integers"),
        ([[1.0]], [[1]], "predictions[0] holds item 1.0: name all items by integers"),
        (
            np.array([[1.0, 2.0]]),
            [[1]],
            "predictions[0] holds item 1.0: name all items by integers",
        ),
        ([[2, True]], [[1]], "predictions[0] holds item True: name all items by integers"),
        (np.array([[True]]), [[1]], "predictions[0] holds item True: name all items by integers"),
        ([[1]], [[2, np.nan]], "labels[0] holds item nan: name all items by integers"),
        ([[None, 1]], [[1]], "predictions[0] holds item None: name all items by integers"),
        ([[1], [pd.NA]], [[1], [1]], "predictions[1] holds item <NA>: name all items by integers"),
        ([[b"a"]], [[1]], "predictions[0] holds item b'a': name all items by integers"),
        ([[[1, 2]]], [[1]], "predictions[0] holds item [1, 2]: name all items by integers"),
        ([[[1, 2], [3]]], [[1]], "predictions[0] holds item [1, 2]: name all items by integers"),
        (
            np.zeros((1, 2, 2), int),
            [[1]],
            "predictions is array([[[0, 0], [0, 0]]]); predictions must be",
        ),
        ([np.array(["2020-01-01"], "M8[ns]")], [[1]], "name all items by integers"),
        # numbers of items
        ([[1, 2, -1]], [[1]], "predictions[0] holds item -1: a negative number is often padding"),
        (np.array([[1, 2], [3, -1]]), [[1], [1]], "predictions[1] holds item -1: a negative"),
        ([[1], [2]], [[1], [2, -1]], "labels[1] holds item -1: a negative number is often padding"),
        ([[LARGE]], [[1]], "predictions[0] holds item 9223372036854775808: integers must be below"),
        ([[LARGE, -1]], [[1]], "predictions[0] holds item -1: a negative number is often"),
        (
            np.array([[1, 2**64 - 1]], np.uint64),
            [[1]],
            "predictions[0] holds item 1844674407370955",
        ),
        ([[1]], [[2**70]], "labels[0] holds item 1180591620717411303424: integers must be"),
        # no lists
        ([[1], 2], [[1], [1]], "predictions[1] is 2; predictions[1] must be a list of items"),
        ([[1], None], [[1], [1]], "predictions[1] is None; predictions[1] must be a list of items"),
        (["ab"], [["a"]], "predictions[0] is 'ab'; predictions[0] must be a list of items"),
        ([b"ab"], [[97]], "predictions[0] is b'ab'; predictions[0] must be a list of items"),
        (
            [np.array(5)],
            [[5]],
            "predictions[0] is array(5); predictions[0] must be a list of items",
        ),
        (
            np.array([1, 2]),
            [[1], [2]],
            "predictions is array([1, 2]); predictions must be a list of lists",
        ),
        (
            [{1: 2}],
            [[1]],
            "predictions[0] is {1: 2}; predictions[0] must be a list of items, best item first",
        ),
        (
            [[1], {1, 2}],
            [[1], [1]],
            "predictions[1] is {1, 2}; predictions[1] must be a list of items, best item first",
        ),
        (sparse.eye_array(2), [[1], [1]], "predictions is <DIAgonal sparse array"),
        (
            {(1, 2), (3, 4)},
            [[1], [3]],
            "predictions must be a list of lists of items, a dict by user",
        ),
        (
            (iter([row]) for row in [1]),
            [[1]],
            "predictions must be a list of lists of items, a dict by user",
        ),
        ([iter([1])], [[1]], "must be a list of items, best item first, [] if none"),
        (
            [pd.Series([1])],
            [[1]],
            "predictions[0] is 0 1 dtype: int64; predictions[0] must be a list of items",
        ),
        (
            np.array(5),
            [[5]],
            "predictions is array(5); predictions must be a list of lists of items",
        ),
        (None, [[1]], "predictions is None; predictions must be a list of lists of items"),
        ([[1]], "a", "labels is 'a'; labels must be a list of lists of items"),
        ([[1]], 7, "labels is 7; labels must be a list of lists of items"),
        # masks
        (np.ma.masked_equal([[1, 2]], 2), [[2]], "predictions is masked_array("),
        ([[1]], np.ma.masked_equal([[1]], 1), "labels is masked_array("),
        ([np.ma.masked_equal([1, 2], 2)], [[2]], "predictions[0] is masked_array("),
        ([[1], [2]], [[1], np.ma.array([2])], "labels[1] is masked_array("),
        # gains
        ([[1], [1]], [{1: 2.0}, [1]], "labels mixes dicts with lists; give dicts only"),
        ([[1]], [{1: -1}], "labels[0] holds item 1: its gain is -1; it must be finite and 0 or"),
        (
            [[1]],
            [{2: 1, 1: np.nan}],
            "labels[0] holds item 1: its gain is missing; it must be finite",
        ),
        ([[1]], [{2: 1, 1: np.inf}], "labels[0] holds item 1: its gain is inf; it must be finite"),
        ([[1]], [{1: "3"}], "labels[0] holds item 1: its gain is '3'; it must be a number"),
        ([[1]], [{1: None}], "labels[0] holds item 1: its gain is missing; it must be finite"),
        ([[1]], [{-1: 1}], "labels[0] holds item -1: a negative number is often padding"),
        ([[1]], sparse.csr_array([[0, -2]]), "labels[0] holds item 1: its gain is -2; it must"),
        ([[1]], sparse.csr_array([[0, np.nan]]), "labels[0] holds item 1: its gain is missing"),
        (
            [[1]],
            sparse.csr_array([[1j]]),
            "labels is a sparse array of shape (1, 1) and dtype comp",
        ),
        ([[1]], sparse.coo_array([1, 0]), "labels is a sparse array of shape (2,)"),
    ],
)
def test_bad_recommendations(predictions, labels, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Ranks.from_recommendations(predictions, labels)


def test_users_keep_their_names():
    ranks = Ranks.from_recommendations({"ann": [7, 5], "bob": [5]}, {"bob": [5], "ann": [5]})
    assert known(ranks.users).tolist() == ["ann", "bob"]
    with pytest.raises(ValueError, match=r"the users of predictions\[1\] is 4; ids must be all"):
        Ranks.from_recommendations({"ann": [7, 5], 4: [5]}, {4: [5], "ann": [5]})
    assert Ranks.from_recommendations([[1]], [[1]]).users is None
