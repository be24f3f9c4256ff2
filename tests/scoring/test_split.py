"""Events of any kind become a split, or the error names what is wrong and where."""

import gzip
import uuid
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sampled_metrics import Ranks, Split, leave_last_out
from sampled_metrics.scoring import read_split
from shared import known
from tables import FORMS

TRAIN = "0\t0\t5\t10\n0\t2\t4\t11\n1\t2\t3\t12\n1\t0\t3\t12\n"
TEST = "0\t1\t5\t20\n1\t1\t5\t21\n"


def write(path, text):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def dense(split):
    return split.train.toarray().tolist()


# The split


def test_split_counts_the_candidates_of_each_instance():
    split = Split.from_pairs([0, 0, 2], [0, 1, 3], [2, 0, 1], [0, 2, 3], n_items=5)
    assert (split.n_users, split.n_items) == (3, 5)
    assert split.n_candidates.tolist() == [4, 3, 5]  # a user without training has them all
    assert split.train.dtype == np.float64
    assert split.train.has_canonical_format
    assert dense(split) == [[1, 1, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 1, 0]]


def test_split_does_not_depend_on_the_order_of_the_training_pairs():
    rng = np.random.default_rng(0)
    users, items = np.nonzero(rng.random((20, 30)) < 0.3)
    order = rng.permutation(len(users))
    one = Split.from_pairs(users, items, [], [], n_items=30)
    other = Split.from_pairs(users[order], items[order], [], [], n_items=30)
    assert dense(one) == dense(other)
    assert other.train.has_sorted_indices


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (([0, -1], [0, 1], [0], [1]), r"train_users\[1\] is -1"),
        (([0], [0.5], [0], [1]), r"train_items\[0\] is 0\.5"),
        (([0], [True], [0], [1]), r"train_items is \[True"),
        (([0], [0], [2**31], [1]), r"test_users\[0\] is 2147483648"),
        (([[0]], [[0]], [0], [1]), r"train_users has shape \(1, 1\)"),
        (([["a"]], [[0]], [0], [1]), r"train_users has shape \(1, 1\)"),
        (("ann", [0], [0], [1]), r"train_users has shape \(\)"),
        ((None, [0], [0], [1]), r"train_users has shape \(\)"),
        (([[0], [0, 1]], [0, 1], [0], [1]), r"train_users is ragged"),
        (([0, 1], [0], [0], [1]), r"train_users has shape \(2,\) and train_items \(1,\)"),
        (([0], [0], [0, 1], [1]), r"test_users has shape \(2,\) and test_items \(1,\)"),
        (([0, 1, 0], [1, 1, 1], [0], [0]), "^user 0 and item 1 are two training events"),
        (([0], [0], [0, 0], [1, 1]), "^user 0 and item 1 are held out twice"),
        (
            ([0, 1], [0, 1], [0, 1], [1, 1]),
            "^user 1 and item 1 are also a training event",
        ),
        (([], [], [], []), "^train_users and test_users are empty; give n_users"),
        (
            (np.ma.masked_equal([0, 1], 1), [0, 1], [0], [1]),
            "train_users is a masked or sparse array",
        ),
        (([0], ["a"], [0], [1]), "train_items and test_items must be both names or both int"),
        (([0, 0], ["a", None], [0], ["b"]), r"train_items\[1\] is None; ids must be"),
        (([0], ["a"], [0, 0], ["b", np.nan]), r"test_items\[1\] is .*nan.*; ids must be all int"),
        (
            ([0], ["a"], [0], np.array(["b", 5], object)[1:]),
            "test_items must be both names or both",
        ),
        (([0], ["a"], [0, 1], np.array(["b", 5], object)), r"test_items\[1\] is 5; ids must be"),
        (([0], ["a"], [0], np.array([[], 0], object)[:1]), "train_items and test_items must hold"),
        ((["a"], ["x"], ["a"], ["x"]), "^user a and item x are also a training"),
        ((["a", "a"], ["x", "x"], [], []), "^user a and item x are two training"),
    ],
)
def test_pairs_that_do_not_belong_are_refused(pairs, message):
    with pytest.raises(ValueError, match=message):
        Split.from_pairs(*pairs)


@pytest.mark.parametrize(
    ("pairs", "sizes", "message"),
    [
        (
            ([0, 3], [0, 1], [0], [1]),
            {"n_users": 3},
            "n_users is 3, but train_users and test_users have the user 3",
        ),
        (
            ([0], [0], [0], [9]),
            {"n_items": 9},
            "n_items is 9, but train_items and test_items have the item 9",
        ),
        (([0], [0], [0], [1]), {"n_users": 0}, r"n_users is 0"),
        (([0], [0], [0], [1]), {"n_items": 2.5}, r"n_items is 2\.5"),
        (([0], ["a"], [0], ["b"]), {"n_items": 3}, "n_items is 3; give n_items only where ids are"),
    ],
)
def test_numbers_of_users_and_items_that_do_not_fit(pairs, sizes, message):
    with pytest.raises(ValueError, match=message):
        Split.from_pairs(*pairs, **sizes)


@pytest.mark.parametrize(
    ("items", "held_out", "missing"),
    [
        ([1, 2], [3], 0),
        ([0, 1], [3], 2),
        ([0, 3952], [1], 2),
        ([0, 2**31 - 1], [1], 2),
        ([5], [], 0),
    ],
)
def test_integer_ids_must_leave_no_gap(items, held_out, missing):
    largest = max(items + held_out)
    message = f"item {missing} is missing and {largest} is there; give n_items, or names as strings"
    with pytest.raises(ValueError, match=message):
        Split.from_pairs([0] * len(items), items, [0] * len(held_out), held_out)
    with pytest.raises(ValueError, match="but user 0 is missing and 1 is there; give n_users"):
        Split.from_pairs([1], [0], [1], [1])


def test_what_the_gap_asks_for_is_a_remedy():
    with pytest.raises(ValueError, match="without a gap"):
        Split.from_pairs([0, 0], [1, 5], [0], [9])
    assert Split.from_pairs([0, 0], [1, 5], [0], [9], n_items=10).n_candidates.tolist() == [8]
    split = Split.from_pairs([0, 0], ["1", "5"], [0], ["9"])
    assert split.n_candidates.tolist() == [1]
    assert split.user_names is None
    assert known(split.item_names)[split.items].tolist() == ["9"]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int16, np.float32, np.uint64])
def test_ids_of_any_number_type(dtype):
    users, items = np.divmod(np.arange(240), 2)[::-1]
    split = Split.from_pairs(users[:-1].astype(dtype), items[:-1].astype(dtype), [1], [119])
    assert split.train.shape == (2, 120)
    assert split.train.nnz == 239
    assert split.n_candidates.tolist() == [1]


def test_integers_may_be_objects():
    """A column of pandas often holds Python's own."""
    objects = pd.Series([0, 1], dtype=object)
    split = Split.from_pairs(objects, objects, [0], [1])
    assert (split.items.tolist(), split.user_names, dense(split)) == ([1], None, [[1, 0], [0, 1]])


def test_ids_that_a_small_float_may_have_rounded_are_refused():
    held_out = np.array([2**11], dtype=np.float16)  # of an integer, this could be 2049, too
    with pytest.raises(ValueError, match=r"test_items\[0\] is 2048.0; .* as integers: float16"):
        Split.from_pairs([0], [1], [0], held_out, n_items=5000)


def test_no_events_are_a_split_where_the_sizes_are_given():
    assert Split.from_pairs([], [], [], [], n_users=2, n_items=3).train.shape == (2, 3)


NAMES = st.one_of(st.text(max_size=3), st.uuids(), st.binary(max_size=2), st.dates())


@given(st.sets(st.tuples(NAMES, NAMES), min_size=1, max_size=20), st.integers(0, 20))
def test_names_of_any_kind_are_kept_and_numbered_as_they_appear(pairs, n_train):
    pairs = list(pairs)
    columns = [np.empty(len(pairs), dtype=object) for _ in range(2)]
    for i, pair in enumerate(pairs):
        for column, name in zip(columns, pair, strict=True):
            column[i] = name
    users, items = columns
    split = Split.from_pairs(users[:n_train], items[:n_train], users[n_train:], items[n_train:])
    rows, cells = split.train.nonzero()
    found = {*zip(known(split.user_names)[rows], known(split.item_names)[cells], strict=True)}
    assert found == set(pairs[:n_train])
    held_out = zip(
        known(split.user_names)[split.users], known(split.item_names)[split.items], strict=True
    )
    assert list(held_out) == pairs[n_train:]
    assert known(split.user_names).tolist() == list(dict.fromkeys(users))
    assert split.n_items == len(set(items))


def test_names_that_numpy_or_c_would_take_for_each_other():
    split = Split.from_pairs([0, 0], ["a", "a\0"], [0, 0], ["a\0b", "A"])
    assert known(split.item_names).tolist() == ["a", "a\0", "a\0b", "A"]


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pd.Index, pd.array])
def test_names_come_in_any_container(kind):
    split = Split.from_pairs(*map(kind, (["u", "v"], ["b", "a"], ["u"], ["a"])))
    assert (known(split.user_names).tolist(), known(split.item_names).tolist()) == (
        ["u", "v"],
        ["b", "a"],
    )
    assert dense(split) == [[1, 0], [0, 1]]
    assert (split.users.tolist(), split.items.tolist()) == ([0], [1])


def test_columns_with_other_indexes_are_not_paired_by_position():
    table = pd.DataFrame({"user": [0, 1, 2], "item": [0, 1, 2]})
    shuffled = table.iloc[[2, 0, 1]]
    with pytest.raises(ValueError, match=r"train_users and train_items have different indexes.*al"):
        Split.from_pairs(table["user"], shuffled["item"], [], [])
    with pytest.raises(ValueError, match=r"test_users and test_items have different indexes"):
        Split.from_pairs([0, 1, 2], [0, 1, 2], table["user"], shuffled["item"])


def test_training_and_test_table_need_not_have_the_same_index():
    train = pd.DataFrame({"user": [0, 1], "item": [0, 1]}, index=[7, 5])
    test = pd.DataFrame({"user": [0], "item": [1]}, index=["x"])
    split = Split.from_pairs(train["user"], train["item"], test["user"], test["item"])
    assert dense(split) == [[1, 0], [0, 1]]
    assert split.items.tolist() == [1]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"user_names": ["a", "b"]}, r"user_names has 2 names; user_names must have 1"),
        ({"item_names": list("aba")}, r"item_names\[2\] is 'a'; item_names\[2\] must be different"),
        ({"item_names": [["a", "b", "c"]]}, r"item_names has shape \(1, 3\); .* flat list"),
    ],
)
def test_names_that_are_not_one_each(names, message):
    train = sparse.csr_array([[1.0, 0, 0]])
    with pytest.raises(ValueError, match=message):
        Split(train, [0], [2], **names)
    assert known(Split(train, [0], [2], item_names=list("abc")).item_names).tolist() == list("abc")


@pytest.mark.parametrize(
    ("users", "items", "message"),
    [
        ([0], [3], r"^items\[0\] is 3; items must be at most the number of items less one"),
        ([0, 1], [1, 1], r"^users\[1\] is 1; users must be at most the number of users less"),
        ([0, 0], [1, 1], "^user 0 and item 1 are held out twice"),
        ([0, 0], [1, 0], "^user 0 and item 0 are also a training event"),
    ],
)
def test_held_out_events_that_do_not_belong(users, items, message):
    with pytest.raises(ValueError, match=message):
        Split(sparse.csr_array(np.array([[1.0, 0, 0]])), users, items)


few_pairs = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=12)


@given(few_pairs, few_pairs)
def test_of_repeated_pairs_the_first_counts_and_training_comes_first(train, test):
    sizes: dict[str, Any] = {"n_users": 3, "n_items": 4}
    columns = [[pair[i] for pair in part] for part in (train, test) for i in (0, 1)]
    split = Split.from_pairs(*columns, **sizes, repeated="first")
    assert set(zip(*map(list, split.train.nonzero()), strict=True)) == set(train)
    kept = [pair for pair in dict.fromkeys(test) if pair not in train]
    assert list(zip(split.users.tolist(), split.items.tolist(), strict=True)) == kept
    assert split.train.data.tolist() == [1.0] * len(set(train))
    if len(set(train + test)) < len(train + test):
        with pytest.raises(ValueError, match=r"two training|held out twice|also a train"):
            Split.from_pairs(*columns, **sizes)


def test_pairs_that_are_named_may_be_repeated():
    pairs = (["ann", "ann"], ["tea", "tea"], ["bob", "ann", "bob"], ["tea", "tea", "tea"])
    split = Split.from_pairs(*pairs, repeated="first")
    assert known(split.user_names)[split.users].tolist() == ["bob"]
    assert split.train.toarray().tolist() == [[1], [0]]
    with pytest.raises(ValueError, match="repeated is 'last'; repeated must be one of 'refuse', "):
        Split.from_pairs(*pairs, repeated="last")  # type: ignore[arg-type]


def test_of_many_repeated_pairs_the_first_repetition_is_named():
    items = np.random.default_rng(0).integers(400, size=1000)
    first = next(i for i in range(1000) if items[i] in items[:i])
    with pytest.raises(ValueError, match=f"user 0 and item {items[first]} are two training events"):
        Split.from_pairs(np.zeros(1000, int), items, [], [], n_items=400)


def test_the_largest_ids_are_told_apart():
    last = 2**31 - 2
    split = Split.from_pairs([0, 1], [0, last], [0, 1], [last, 0], n_items=2**31 - 1)
    assert split.n_candidates.tolist() == [last, last]


@pytest.mark.parametrize(
    ("train", "message"),
    [
        (sparse.csr_array([[0.0, 2.0]]), r"train\[0, 1\] is 2\.0; train must hold a 1 for each"),
        (sparse.csr_array([[1.0, 0], [0, np.nan]]), r"train\[1, 1\] is nan"),
        (sparse.csr_array(([1.0, 1], ([0, 0], [1, 1])), shape=(1, 2)), r"train\[0, 1\] is 2\.0"),
        (sparse.csr_array(([1.0, 0], [0, 1], [0, 2]), shape=(1, 2)), r"train\[0, 1\] is 0\.0"),
        (sparse.coo_array(np.array([1.0, 0.0])), "train must be a sparse matrix"),
        (np.eye(2), "train is a ndarray; train must be a sparse matrix"),
    ],
)
def test_training_matrix_of_anything_but_ones_is_refused(train, message):
    with pytest.raises(ValueError, match=message):
        Split(train, np.array([0]), np.array([1]))


def test_training_matrix_with_unsorted_rows_is_sorted_and_not_changed_in_place():
    train = sparse.csr_array((np.ones(2), np.array([2, 0]), np.array([0, 2])), shape=(1, 3))
    split = Split(train, np.array([0]), np.array([1]))
    assert split.train.indices.tolist() == [0, 2]
    assert train.indices.tolist() == [2, 0]
    with pytest.raises(ValueError, match="item 2 are also a training event"):
        Split(train, np.array([0]), np.array([2]))


# Reading


@pytest.mark.parametrize("change", [str, lambda text: text.replace("\n", "\r\n"), str.rstrip])
@pytest.mark.parametrize("compress", [False, True])
def test_read_split(tmp_path, change, compress):
    content = change(TRAIN).encode()
    name = "train.gz" if compress else "train"
    train = write(tmp_path / name, gzip.compress(content) if compress else content)
    split = read_split(train, write(tmp_path / "test", TEST))
    assert dense(split) == [[1, 0, 1], [1, 0, 1]]
    assert split.users.tolist() == [0, 1]
    assert split.items.tolist() == [1, 1]


def test_read_split_reads_two_columns_and_ignores_any_others(tmp_path):
    train = write(tmp_path / "train", "0\t0\n0\t2\n")
    test = write(tmp_path / "test", "0\t1\t4.5\t2026-01-01\ta note\n")
    assert dense(read_split(train, test)) == [[1, 0, 1]]


def test_a_byte_order_mark_and_bytes_that_are_not_utf8_elsewhere_do_not_matter(tmp_path):
    train = write(tmp_path / "train", b"\xef\xbb\xbf0\t0\tcaf\xe9\n0\t2\tx\n")
    assert dense(read_split(train, write(tmp_path / "test", "0\t1\n"))) == [[1, 0, 1]]


def test_many_lines_are_read_in_order(tmp_path):
    items = np.random.default_rng(0).permutation(150_000)
    train = write(tmp_path / "train", "".join(f"{item % 7}\t{item}\n" for item in items[1:]))
    split = read_split(train, write(tmp_path / "test", f"0\t{items[0]}\n"))
    expected = np.zeros(150_000, int)
    expected[items] = items % 7
    expected[items[0]] = -1
    found = np.full(150_000, -1)
    rows, columns = split.train.nonzero()
    found[columns] = rows
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("path", [None, 5, ["train"]])
def test_what_is_no_path(tmp_path, path):
    good = write(tmp_path / "good", TRAIN)
    with pytest.raises(ValueError, match=r"train_path is .* must be the path of a file"):
        read_split(path, good)
    with pytest.raises(ValueError, match=r"test_path is .* must be the path of a file"):
        read_split(good, path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_split(tmp_path / "nowhere", tmp_path / "nowhere")


def test_read_split_takes_the_numbers_of_users_and_items(tmp_path):
    train, test = write(tmp_path / "train", "3\t0\n"), write(tmp_path / "test", "3\t7\n")
    split = read_split(train, test, n_users=5, n_items=9)
    assert split.train.shape == (5, 9)
    assert split.n_candidates.tolist() == [8]
    with pytest.raises(ValueError, match=r"n_items is 6, but .*train and .*test have the item 7"):
        read_split(train, test, n_users=5, n_items=6)


@pytest.mark.parametrize(
    ("train", "message"),
    [
        ("", "train is empty"),
        ("\n\n", "train, line 1: 2 columns expected, 1 found: ''"),
        ("0\t0\n5\n", r"train, line 2: 2 columns expected, 1 found: '5'"),
        ("0\n", r"train, line 1: 2 columns expected, 1 found: '0'"),
        ("0 0\n", r"train, line 1: 2 columns expected, 1 found: '0 0'"),
        ("0\t0\t5\n0\t2\t5\t7\n", r"train, line 2: 3 columns expected, 4 found"),
        ("0\t0\t5\t7\n0\t2\n", r"train, line 2: 4 columns expected, 2 found: '0\\t2'"),
        ("0\t0\t5\n0\t2\n1\t0\t5\t7\n", r"train, line 2: 3 columns expected, 2 found"),
        ("0\t0\t5\n0\t2\r1\t0\n", r"train, line 2: 3 columns expected, 2 found: '0\\t2'"),
        ("0\t0\n\n0\t2\n", r"train, line 2: 2 columns expected, 1 found: ''"),
        ("0\t0\n0\t\n", r"train, line 2: column 2 must be a whole number .*'0\\t'"),
        (
            "0\t0\n0\tx\n",
            r"train, line 2: column 2 must be a whole number .*: '0\\tx'",
        ),
        ("-1\t0\n", r"train, line 1: column 1 must be a whole number in 0..\d+, .*: '-1\\t0'"),
        ("0\t0\n-1\t2\n", r"train, line 2: column 1 must be a whole number .*'-1\\t2'"),
        ("0\t0\n0\t2.0\n", r"train, line 2: column 2 must be a whole number"),
        ("0\t0\n0\t2e0\n", r"train, line 2: column 2 must be a whole number"),
        ("0\t0\n0\t02\n", r"train, line 2: column 2 must be .*, as in 7, not 07 or 7.0: '0\\t02'"),
        ("0\t0\n0\t 2\n", r"train, line 2: column 2 must be a whole number"),
        ("0\t0\n+0\t2\n", r"train, line 2: column 1 must be a whole number"),
        ("True\t0\n", r"train, line 1: column 1 must be a whole number"),
        ('0\t0\n"0\t2"\n', r"train, line 2: column 1 must be a whole number"),
        ("0\t0\n0\t2\x00\n", r"train, line 2: column 2 must be a whole number"),
        ("user\titem\n0\t0\n", r"line 1: column 1 .* remove the header line: 'user\\titem'"),
        ("u_id\ti_id\n0\t0\n", r"line 1: column 1 .* remove the header line: 'u_id\\ti_id'"),
        ("0\t0\n0\t4294967296\n", r"train, line 2: column 2 must be a whole number in 0\.\."),
        ("0\t0\n" + "9" * 5000 + "\t2\n", r"train, line 2: column 1 must be a whole number"),
        (b"0\t0\n\xff\xfe\t1\n", r"train, line 2: column 1 must be a whole number"),
        ("<!DOCTYPE html>\n<html></html>\n", r"train, line 1: 2 columns expected"),
        ("0\t0\n0\t2\n0\t0\n", "^user 0 and item 0 are two training events"),
        ("0\t0\n0\t3\n", r"number the items from 0 without a gap, but item 2 is missing and 3 is"),
        ("0\t0\n" * 70_000 + "0\tx\n", r"train, line 70001: column 2 must be a whole number"),
        ("0\t0\n" * 70_000 + "0\n", r"train, line 70001: 2 columns expected, 1 found: '0'"),
        ("1\t0\n", r"number the users from 0 without a gap"),
        ("0\t0\n\t1\n", r"train, line 2: column 1 must be a whole number .*'\\t1'"),
        ("0\t2\n978300760\t0\n", r"number the users from 0 without a gap, but user 2 is missing"),
    ],
)
def test_malformed_training_file(tmp_path, train, message):
    train, test = write(tmp_path / "train", train), write(tmp_path / "test", "1\t1\n")
    with pytest.raises(ValueError, match=message):
        read_split(train, test)


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("0\t1\n1\t2\n", "user 1 and item 2 are also a training event"),
        ("0\t1\n0\t1\n", "user 0 and item 1 are held out twice"),
        ("0\t1\n1\tx\n", r"test, line 2: column 2 must be a whole number"),
    ],
)
def test_malformed_test_file(tmp_path, test, message):
    with pytest.raises(ValueError, match=message):
        read_split(write(tmp_path / "train", TRAIN), write(tmp_path / "test", test))


@pytest.mark.parametrize(
    "content", [b"0\t0\n", gzip.compress(TRAIN.encode(), mtime=0)[:-9], b"\x1f\x8b\x08"]
)
def test_damaged_gzip_file(tmp_path, content):
    train, test = write(tmp_path / "train.gz", content), write(tmp_path / "test", TEST)
    with pytest.raises(ValueError, match=r"train\.gz cannot be unpacked: ."):
        read_split(train, test)


# Holding out


EVENTS = {
    "user": [1, 1, 2, 2, 1, 2],
    "item": [9, 7, 7, 8, 8, 9],
    "timestamp": [10, 30, 30, 30, 20, 29],
}


@pytest.mark.parametrize("table", [dict, pd.DataFrame])
@pytest.mark.parametrize(
    "names",
    [lambda n: n, lambda n: n - 2**40, lambda n: f"id {n}", lambda n: uuid.UUID(int=n)],
    ids=["integers", "negative", "strings", "uuids"],
)
def test_last_event_is_held_out_and_of_several_the_last_in_the_table(table, names):
    users, items = [[names(n) for n in EVENTS[name]] for name in ("user", "item")]
    split = leave_last_out(table({**EVENTS, "user": users, "item": items}))
    # items 9, 7, 8 become 0, 1, 2; user 1's latest is 7, user 2's are 7 and then 8
    assert split.users.tolist() == [0, 1]
    assert split.items.tolist() == [1, 2]
    assert dense(split) == [[1, 0, 1], [1, 1, 0]]
    assert known(split.user_names).tolist() == [names(1), names(2)]
    assert known(split.item_names).tolist() == [names(9), names(7), names(8)]


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 4)), min_size=1),
    st.sampled_from(["first", "last"]),
)
def test_of_repeated_events_the_first_or_the_last_counts(events, rule):
    rows = sorted(range(len(events)), key=lambda row: events[row][2])
    chosen = {}
    for row in rows if rule == "last" else reversed(rows):
        chosen[events[row][:2]] = row
    columns: Any = zip(*events, strict=True)
    table = pd.DataFrame(dict(zip(("user", "item", "timestamp"), columns, strict=True)))
    split = leave_last_out(table, repeated=rule)
    expected = leave_last_out(table.loc[sorted(chosen.values())])

    def named(split):
        train = (
            names[ids] for names, ids in zip(names_of(split), split.train.nonzero(), strict=False)
        )
        test = (
            names[ids]
            for names, ids in zip(names_of(split), (split.users, split.items), strict=False)
        )
        return set(zip(*train, strict=True)), set(zip(*test, strict=True))

    def names_of(split):
        return split.user_names, split.item_names

    assert named(split) == named(expected)


def test_ids_of_events_may_be_any_integers():
    expected = leave_last_out(EVENTS)
    for users in (
        np.array(EVENTS["user"]) + 2**60,  # a float would round them
        np.array(EVENTS["user"]).astype(object),
    ):
        split = leave_last_out(pd.DataFrame({**EVENTS, "user": users}))
        assert (split.users.tolist(), dense(split)) == (expected.users.tolist(), dense(expected))
        assert known(split.user_names).tolist() == list(dict.fromkeys(users.tolist()))
        assert known(split.user_names).dtype == np.int64


def test_timestamps_may_be_dates_or_fractions():
    expected = leave_last_out(EVENTS)
    seconds = np.array(EVENTS["timestamp"])
    for time in (
        seconds.astype("M8[s]"),
        pd.to_datetime(seconds, unit="s"),
        pd.to_datetime(seconds, unit="s", utc=True),
        pd.Series(pd.to_datetime(seconds, unit="s", utc=True)).dt.tz_convert("Europe/Paris"),
        seconds / 7,
        -1 / seconds,
    ):
        split = leave_last_out({**EVENTS, "timestamp": time})
        assert (split.items.tolist(), dense(split)) == (expected.items.tolist(), dense(expected))


@pytest.mark.parametrize("form", FORMS)
def test_events_and_pairs_in_every_form_of_table(form, tmp_path):
    """Under other names, too, and in files: the split of the same events in a dict."""
    events = pd.DataFrame(EVENTS).rename(columns=lambda name: f"{name}_id")
    names: Any = {name: f"{name}_id" for name in EVENTS}
    expected = leave_last_out(EVENTS)
    pair: Any = {name: names[name] for name in ("user", "item")}
    made = expected.train.nonzero()
    train, test = (
        events[:0][[*pair.values()]].assign(
            user_id=known(expected.user_names)[users], item_id=known(expected.item_names)[items]
        )
        for users, items in (made, (expected.users, expected.items))
    )
    for kind, suffix in ((FORMS[form], ""), (pd.DataFrame, ".csv"), (pd.DataFrame, ".parquet")):
        given: list[Any] = [
            kind(table) for table in (events, train.astype(str) + "x", test.astype(str) + "x")
        ]
        if suffix:
            paths = [tmp_path / f"{i}{suffix}" for i in range(3)]
            for table, path in zip(given, paths, strict=True):
                write = table.to_csv if suffix == ".csv" else table.to_parquet
                write(path, index=False)
            given = paths
        split = leave_last_out(given[0], **names)
        assert dense(split) == dense(expected)
        assert known(split.user_names).tolist() == [1, 2]
        again = Split.from_pairs(*given[1:], **pair)
        lists = [
            [f"{x}x" for x in column]
            for table in (train, test)
            for column in (table["user_id"], table["item_id"])
        ]
        want = Split.from_pairs(*lists)
        assert dense(again) == dense(want)
        assert again.items.tolist() == want.items.tolist()
    with pytest.raises(ValueError, match="train has no column 'user', only 'user_id', 'item_id'"):
        Split.from_pairs(train, test)
    with pytest.raises(ValueError, match=r"test is \[1\]; test must be a table"):
        Split.from_pairs(train, [1], **pair)


def test_user_with_one_event_keeps_it_for_training():
    split = leave_last_out({"user": [5, 3, 5], "item": [1, 1, 2], "timestamp": [9, 9, 8]})
    assert (split.users.tolist(), split.items.tolist()) == ([0], [0])
    assert dense(split) == [[0, 1], [1, 0]]


def test_with_validation_the_two_last_events_are_held_out_and_one_is_tested():
    events = {
        "user": [5, 3, 5, 3, 5, 9, 5],
        "item": [1, 1, 2, 4, 3, 1, 4],
        "timestamp": [9, 1, 7, 2, 8, 1, 8],  # of the two at 8, the later row is the later event
    }
    split = leave_last_out(events, validation=True)
    assert known(split.user_names).tolist() == [5, 3, 9]
    assert known(split.item_names).tolist() == [1, 2, 4, 3]
    # Item 4, the event before the last, is nowhere; users with two events or one keep them.
    assert (split.users.tolist(), split.items.tolist()) == ([0], [0])
    assert dense(split) == [[0, 1, 0, 1], [1, 0, 1, 0], [1, 0, 0, 0]]
    with pytest.raises(ValueError, match="validation is 'yes'"):
        leave_last_out(events, validation="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"timestamp": None}, "events has no column 'timestamp'.*as in timestamp="),
        ({"item": None}, "events has no column 'item'.*as in item="),
        ({"item": [1.0, np.nan, 2.0]}, r"events\['item'\]\[1\] is nan"),
        (
            {"user": np.array([1, 2, 2**24], np.float32)},
            r"events\['user'\]\[2\] is .* as integers: float32",
        ),
        ({"user": ["a", None, "b"]}, r"events\['user'\]\[1\] is .*; ids must be"),
        ({"user": [1, 1, 1]}, "row 2: user 1 and item 4 are repeated; keep each pair once"),
        ({"timestamp": ["1", "2", "3"]}, r"events\['timestamp'\] has dtype .* numbers or of dates"),
        (  # RecBole's loader reads them so: two events of one minute become one time
            {"timestamp": np.array([978300760, 978300761, 978300700], np.float32)},
            r"timestamp'\]\[0\] is 978300736.0; .* as integers: float32 rounds numbers of this s",
        ),
        ({"timestamp": [1, np.nan, 3]}, r"events\['timestamp'\]\[1\] is nan; no timestamp may be"),
        (
            {"timestamp": pd.to_datetime(["2020", "NaT", "2021"])},
            r"\[1\] is NaT; no timestamp may be",
        ),
        (
            {"timestamp": pd.to_datetime(["2020", "NaT", "2021"], utc=True)},
            r"\[1\] is NaT; no timestamp may be",
        ),
    ],
)
def test_events_that_cannot_be_split(change, message):
    columns = {"user": [1, 1, 2], "item": [4, 5, 4], "timestamp": [1, 2, 3]} | change
    table = {name: values for name, values in columns.items() if values is not None}
    for events in (table, pd.DataFrame(table)):
        with pytest.raises(ValueError, match=message):
            leave_last_out(events)


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([[1, 2, 3]], "events must be a table whose columns have names, or the path"),
        (None, "events must be a table"),
        ({"user": [], "item": [], "timestamp": []}, "events is empty"),
        (
            {"user": [1], "item": [1, 2], "timestamp": [1]},
            "events has 1 users, 2 items and 1 times",
        ),
        ({"user": [1], "item": [2], "timestamp": 5}, r"shape \(\); it must be one flat list"),
        (
            {"user": [1], "item": [2], "timestamp": np.ma.masked_equal([5], 5)},
            r"events\['timestamp'\] is a masked or sparse array",
        ),
        (
            {"user": [1], "item": pd.Series([2]), "timestamp": pd.Series([5], index=[1])},
            r"events\['item'\] and events\['timestamp'\] have different indexes",
        ),
    ],
)
def test_what_is_no_table_of_events(events, message):
    with pytest.raises(ValueError, match=message):
        leave_last_out(events)


def test_a_split_does_not_change_with_the_matrix_it_was_made_from():
    train = sparse.csr_array(np.array([[1.0, 1, 0, 0]]))
    split = Split(train, [0], [2])
    train.data[0] = 7
    assert split.train.data.tolist() == [1, 1]
    with pytest.raises(ValueError, match="read-only"):
        split.users[0] = 7


def test_a_split_of_columns_with_other_labels_is_refused():
    users, items = pd.Series([0, 1], index=["p", "q"]), pd.Series([3, 2], index=["q", "p"])
    with pytest.raises(ValueError, match="users and items have different indexes"):
        Split(sparse.csr_array((2, 4), dtype=bool), users, items)


def test_items_that_are_bought_again_stay_candidates():
    """Of tea, nut and egg, ann's last purchase is tea again: it scores least of three.

    Among what she did not buy before (egg) and tea, it would be the second of two.
    """
    events = {"user": ["ann"] * 3 + ["bob"], "item": ["tea", "nut", "tea", "egg"]}
    split = leave_last_out(events | {"timestamp": [1, 2, 3, 1]}, repeated="last")
    again = Split(
        sparse.csr_array(split.train.shape),
        split.users, split.items, split.user_names, split.item_names,
    )  # fmt: skip
    model = np.array([[1.0, 3.0, 2.0], [0.0, 0.0, 0.0]])
    ranks = Ranks.from_model(model, again)
    assert (ranks.best.tolist(), known(ranks.n_items).tolist()) == ([3], [3])
    assert Ranks.from_model(model, split).best.tolist() == [2]
    table = {"ann": {"tea": 1.0, "nut": 3.0, "egg": 2.0}}  # without exclude=, nothing is taken out
    assert Ranks.from_scores(table, {"ann": ["tea"]}).best.tolist() == [3]
