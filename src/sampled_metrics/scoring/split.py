"""Events become a `Split`: training events, and the held-out events that are to be ranked.

Events come from files, arrays or tables, with ids of any kind. No data set is treated specially.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._arguments import (
    LARGEST_ID,
    IntArray,
    as_array,
    as_choice,
    as_csr,
    as_flag,
    as_ids,
    as_integers,
    as_names,
    as_path,
    count_ids,
    factorize,
    number_ids,
    read_only,
    refuse,
    rounded,
    same_index,
)
from sampled_metrics.io import column_names, open_table, read_integers, read_text

if TYPE_CHECKING:
    from scipy import sparse

Pairs = tuple[IntArray, IntArray]  # of users and items, by number
Names = tuple[NDArray[Any] | None, NDArray[Any] | None]  # of users and of items


@dataclass(frozen=True, eq=False, init=False)
class Split:
    """Training events, and the held-out events that a recommender has to rank.

    Parameters
    ----------
    train : scipy.sparse.csr_array, shape (n_users, n_items)
        One where the user has a training event with the item, empty elsewhere. These pairs are no
        candidates; where items are bought again, and stay candidates, it holds none.
    users : array_like of int, shape (n_instances,)
        The user of each evaluated instance, in 0..n_users - 1.
    items : array_like of int, shape (n_instances,)
        The item held out for that user, in 0..n_items - 1.
    user_names, item_names : array_like, shape (n_users,) or (n_items,), optional
        The ids of the users and items in the original data.

    Raises
    ------
    ValueError
        If `train` holds anything but ones, an id is out of range, a pair occurs twice, a held-out
        item is also among the user's training items, or names are too few, too many or repeated.

    Examples
    --------
    >>> split = Split.from_pairs([0, 0, 1], [0, 1, 1], [0, 1], [2, 0])
    >>> split.n_users, split.n_items
    (2, 3)
    >>> split.n_candidates  # how many items each held-out item is ranked among, including itself
    array([1, 2])

    User 0 buys item 0 again, which a model saw in training: all three items are candidates.

    >>> from scipy import sparse
    >>> Split(sparse.csr_array(split.train.shape), [0, 1], [0, 0]).n_candidates
    array([3, 3])
    """

    train: sparse.csr_array
    users: IntArray
    items: IntArray
    user_names: NDArray[Any] | None
    item_names: NDArray[Any] | None

    def __init__(
        self,
        train: sparse.csr_array,
        users: ArrayLike,
        items: ArrayLike,
        user_names: ArrayLike | None = None,
        item_names: ArrayLike | None = None,
    ) -> None:
        events = as_events(train)
        same_index(users=users, items=items)
        n_users, n_items = events.shape
        rows = as_integers("users", users, 0, n_users - 1, "the number of users less one")
        columns = as_integers("items", items, 0, n_items - 1, "the number of items less one")
        _same_length("", rows, columns)
        names = (
            as_names("user_names", user_names, n_users),
            as_names("item_names", item_names, n_items),
        )
        for i in _repeats(rows, columns)[:1]:
            raise ValueError(f"{pair_name(rows[i], columns[i], names)} are held out twice")
        for i in np.flatnonzero(events[rows, columns] if rows.size else [])[:1]:
            pair = pair_name(rows[i], columns[i], names)
            raise ValueError(f"{pair} are also a training event; hold out another item")
        vars(self).update(train=events, users=read_only(rows), items=read_only(columns))
        vars(self).update(user_names=names[0], item_names=names[1])

    @property
    def n_users(self) -> int:
        """Number of users."""
        return int(self.train.shape[0])

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.train.shape[1])

    @property
    def n_candidates(self) -> IntArray:
        """Number of items to rank, all except the user's training items, shape (n_instances,)."""
        return self.n_items - np.diff(self.train.indptr)[self.users].astype(np.int64)

    @classmethod
    def from_pairs(
        cls,
        train_users: Any,
        train_items: Any,
        test_users: ArrayLike | None = None,
        test_items: ArrayLike | None = None,
        *,
        user: str = "user",
        item: str = "item",
        n_users: int | None = None,
        n_items: int | None = None,
        repeated: Literal["refuse", "first"] = "refuse",
    ) -> Split:
        """Build a split from pairs of a user and an item, in four lists or in two tables.

        Parameters
        ----------
        train_users, train_items : array_like, shape (n_events,)
            The training events. Ids are integers from 0 on, or names, which are no numbers: these
            are numbered as they first appear, and kept as `user_names` and `item_names`.
        test_users, test_items : array_like, shape (n_instances,)
            The held-out events. A user need not have training events.
            In place of the four, two tables (of any library that narwhals reads) or the paths of
            two: the training events, then the held-out ones.
        user, item : str
            The names of the columns in such tables.
        n_users, n_items : int, optional
            Numbers of users and items. By default every integer from 0 to the largest must occur,
            as an id without events would be ranked as one more item.
        repeated : {"refuse", "first"}
            Of a pair of user and item that occurs several times, "refuse" raises an error, and
            "first" counts only the first event; training events come before held-out ones.

        Returns
        -------
        Split

        Raises
        ------
        ValueError
            If ids are missing, of mixed kinds, out of range or leave a gap; if lengths or the
            indexes of two columns differ; if `repeated` is "refuse" and a pair occurs twice, or a
            held-out item is also among the user's training items.

        Examples
        --------
        >>> Split.from_pairs([0, 1], [0, 1], [0], [3], n_items=5).train.shape
        (2, 5)
        >>> split = Split.from_pairs(["ann", "bob"], ["tea", "nut"], ["ann"], ["nut"])
        >>> split.items, split.item_names
        (array([1]), array(['tea', 'nut'], dtype=object))
        >>> import pandas as pd
        >>> train = pd.DataFrame({"user": ["ann", "bob"], "item": ["tea", "nut"]})
        >>> Split.from_pairs(train, pd.DataFrame({"user": ["ann"], "item": ["nut"]})).items
        array([1])
        >>> Split.from_pairs([0, 0], [1, 1], [0, 0, 0], [2, 1, 0], repeated="first").items
        array([2, 0])
        """
        as_choice("repeated", repeated, ("refuse", "first"))
        if test_users is None and test_items is None:
            called = column_names(user=user, item=item)
            both = {"train": train_users, "test": train_items}
            pairs = [[*_of_table(name, table, called).items()] for name, table in both.items()]
            users, items = (dict(columns) for columns in zip(*pairs, strict=True))
        else:
            same_index(train_users=train_users, train_items=train_items)
            same_index(test_users=test_users, test_items=test_items)
            users = {"train_users": train_users, "test_users": test_users}
            items = {"train_items": train_items, "test_items": test_items}
        (rows, test_rows), n_rows, user_names = number_ids("n_users", n_users, users)
        (columns, test_columns), n_columns, item_names = number_ids("n_items", n_items, items)
        _same_length("train_", rows, columns)
        _same_length("test_", test_rows, test_columns)
        train, test = (rows, columns), (test_rows, test_columns)
        names = (user_names, item_names)
        return _build(train, test, (n_rows, n_columns), names, first=repeated == "first")


def as_events(train: sparse.csr_array) -> sparse.csr_array:
    """Return a copy of the training events in canonical form, or say which is not a one."""
    from scipy import sparse

    if not sparse.issparse(train) or train.ndim != 2 or train.dtype.kind not in "biuf":
        kind = f" of {train.dtype}" if sparse.issparse(train) else ""
        what = f"train is a {type(train).__name__}{kind}"
        raise ValueError(f"{what}; train must be a sparse matrix of numbers")
    if 0 in train.shape:
        raise ValueError(f"train has shape {train.shape}; it must have a user and an item or more")
    events = sparse.csr_array(as_csr(train)).astype(np.float64)
    events.sum_duplicates()
    for at in np.flatnonzero(events.data != 1)[:1]:
        row = np.searchsorted(events.indptr, at, side="right") - 1
        what = f"train[{row}, {events.indices[at]}] is {events.data[at]}"
        raise ValueError(f"{what}; train must hold a 1 for each event: (train > 0).astype(float)")
    return events


def _build(
    train: Pairs,
    test: Pairs,
    shape: tuple[int, int],
    names: Names = (None, None),
    *,
    first: bool = False,
) -> Split:
    """Return the split of pairs of numbers, or of the first of each pair."""
    from scipy import sparse

    if first:
        users, items = (np.concatenate(both) for both in zip(train, test, strict=True))
        is_first = np.ones(len(users), dtype=bool)
        is_first[_repeats(users, items)] = False
        in_train, in_test = np.split(is_first, [len(train[0])])
        train = train[0][in_train], train[1][in_train]
        test = test[0][in_test], test[1][in_test]
    cells = train[0].astype(np.int32), train[1].astype(np.int32)
    # One byte for a one, until duplicates, which scipy adds up, are known to be absent.
    events = sparse.csr_array((np.ones(len(cells[0]), np.int8), cells), shape=shape)
    if events.nnz < len(cells[0]):
        i = _repeats(*train)[0]
        pair = pair_name(train[0][i], train[1][i], names)
        raise ValueError(f"{pair} are two training events; keep one of them")
    return Split(events, *test, *names)


def _same_length(part: str, users: IntArray, items: IntArray) -> None:
    if users.ndim != 1 or users.shape != items.shape:
        shapes = f"{part}users has shape {users.shape} and {part}items {items.shape}"
        raise ValueError(f"{shapes}; they must be two flat lists of the same length")


def pair_name(user: int, item: int, names: Names) -> str:
    """Return how an error names a pair."""
    user_name, item_name = (
        number if known is None else known[number]
        for number, known in zip((user, item), names, strict=True)
    )
    return f"user {user_name} and item {item_name}"


def _repeats(users: IntArray, items: IntArray) -> IntArray:
    """Return the sorted positions of the pairs that were there at an earlier position."""
    keys = users.astype(np.int64) * (LARGEST_ID + 1) + items
    order = np.argsort(keys, kind="stable")
    return np.sort(order[1:][np.diff(keys[order]) == 0])


def read_split(
    train_path: str | os.PathLike[str],
    test_path: str | os.PathLike[str],
    *,
    n_users: int | None = None,
    n_items: int | None = None,
) -> Split:
    r"""Read a split from two tab separated files.

    The first two columns are user and item ids, counted from 0; further columns are ignored.
    This is the format of He et al., "Neural Collaborative Filtering", WWW 2017.

    Parameters
    ----------
    train_path, test_path : path
        Files of training and of held-out events, plain or gzip compressed (``.gz``).
    n_users, n_items : int, optional
        Numbers of users and items. By default every id from 0 to the largest must occur in one of
        the files, so that swapped columns and ids counted from 1 are noticed.

    Returns
    -------
    Split

    Raises
    ------
    OSError
        If a file cannot be opened.
    ValueError
        If a file is empty or damaged; if a line has too few columns, no id where one should be, an
        id out of range, or a pair that occurs twice; or if ids leave a gap.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     train, test = Path(folder, "train.tsv"), Path(folder, "test.tsv")
    ...     _ = train.write_text("0\t0\n0\t2\n1\t2\n"), test.write_text("0\t1\n1\t0\n")
    ...     read_split(train, test).n_candidates
    array([1, 2])
    """
    paths = as_path("train_path", train_path), as_path("test_path", test_path)
    tables = [read_integers(path, read_text(path), ["user", "item"], more=True) for path in paths]
    train, test = ((table["user"].to_numpy(), table["item"].to_numpy()) for table in tables)
    where = f"{train_path} and {test_path}"
    shape = (
        count_ids("n_users", n_users, [train[0], test[0]], where),
        count_ids("n_items", n_items, [train[1], test[1]], where),
    )
    return _build(train, test, shape)


def leave_last_out(
    events: Any,
    *,
    user: str = "user",
    item: str = "item",
    timestamp: str = "timestamp",
    repeated: Literal["refuse", "first", "last"] = "refuse",
    validation: bool = False,
) -> Split:
    """Hold out each user's last event, by a rule that leaves nothing open.

    The held-out event of a user is the one with the largest timestamp. If several have it, it is
    the one that comes last in `events`. A user with a single event keeps it for training and is
    not evaluated. Users and items are numbered in the order in which they first appear.

    The split that the NCF authors published for MovieLens follows no such rule that we tried.

    Parameters
    ----------
    events : table or path
        Columns `user`, `item` and `timestamp`; others are ignored. Any table whose columns have
        names (of any library that narwhals reads, or a dict of lists), or the path of one. Ids are
        integers or names; timestamps are numbers or dates (datetime64, with or without a time
        zone), in a text file numbers.
    user, item, timestamp : str
        The names of the columns.
    repeated : {"refuse", "first", "last"}
        Of a pair of user and item that occurs several times, "refuse" raises an error; "first" and
        "last" count only the first or the last event, in the order of the rule above.
    validation : bool
        Whether to leave the event before the last out of training, too, for tuning; the split does
        not hold it. A user with only two events then keeps both for training.

    Returns
    -------
    Split
        With the ids of the table as `user_names` and `item_names`.

    Raises
    ------
    ValueError
        If a column is missing or holds something else; or if a pair of user and item occurs twice
        and `repeated` is "refuse".

    Examples
    --------
    >>> events = {"user": ["u", "u", "v"], "item": [30, 50, 30], "timestamp": [2, 1, 1]}
    >>> split = leave_last_out(events)
    >>> split.users, split.items, split.train.toarray()
    (array([0]), array([0]), array([[0., 1.], [1., 0.]]))
    >>> split.user_names[split.users], split.item_names[split.items]
    (array(['u'], dtype=object), array([30]))
    >>> again = {"user": ["u"] * 3, "item": [30, 50, 30], "timestamp": [1, 2, 3]}
    >>> [leave_last_out(again, repeated=rule).items for rule in ("first", "last")]
    [array([1]), array([0])]
    """
    as_choice("repeated", repeated, ("refuse", "first", "last"))
    n_out = 1 + as_flag("validation", validation)
    columns = _of_table("events", events, column_names(user=user, item=item, timestamp=timestamp))
    same_index(**columns)
    of_user, of_item, of_time = columns
    own, theirs = (as_ids(name, columns[name]) for name in (of_user, of_item))
    time = _times(of_time, columns[of_time])
    if not len(own) == len(theirs) == len(time):
        counts = f"{len(own)} users, {len(theirs)} items and {len(time)} timestamps"
        raise ValueError(f"events has {counts}; it must have one of each for each event")
    users, user_names = factorize({of_user: own})
    items, item_names = factorize({of_item: theirs})
    if not users.size:
        raise ValueError("events is empty; give at least one event")
    for i in _repeats(users, items)[:1] if repeated == "refuse" else ():
        pair = f"events, row {i}: user {own[i]} and item {theirs[i]}"
        raise ValueError(f'{pair} are repeated; keep each pair once, as by repeated="last"')
    turn = np.argsort(time, kind="stable")[:: -1 if repeated == "last" else 1]
    once = np.sort(np.delete(turn, _repeats(users[turn], items[turn])))
    users, items, time = users[once], items[once], time[once]
    order = np.lexsort((time, users))  # stable, so that of equal timestamps the last row is last
    ends = np.cumsum(np.bincount(users))[np.bincount(users) > n_out]
    last = order[ends - 1]
    out = order[ends[:, np.newaxis] - np.arange(1, n_out + 1)]
    kept = np.delete(np.arange(len(users)), out)
    shape, names = (len(user_names), len(item_names)), (user_names, item_names)
    return _build((users[kept], items[kept]), (users[last], items[last]), shape, names)


def _of_table(argument: str, given: Any, names: dict[str, str]) -> dict[str, Any]:
    """Return the columns that are needed, by what they are called in an error."""
    if isinstance(given, Mapping):
        for key, column in names.items():
            if column not in given:
                said = f"{argument} has no column {column!r}; say which it is, as in {key}=..."
                raise ValueError(said)
        columns = {key: given[column] for key, column in names.items()}
    else:
        table = open_table(argument, given, names)
        columns = {key: table.frame[column].to_native() for key, column in names.items()}
        if table.is_text:
            ids = {key: table.ids(key) for key in ("user", "item")}
            columns |= {key: each.names[each.codes] for key, each in ids.items()}
            columns |= {key: table.numbers(key) for key in names if key not in ids}
    return {f"{argument}[{names[key]!r}]": values for key, values in columns.items()}


def _times(name: str, values: Any) -> NDArray[Any]:
    """Return timestamps as a flat array that can be sorted."""
    dtype: Any = getattr(values, "dtype", None)
    if hasattr(dtype, "tz"):  # NumPy's dates have no time zone
        values = values.to_numpy(f"datetime64[{dtype.unit}]")
    time = as_array(name, values)
    if time.ndim != 1 or (time.size and time.dtype.kind not in "iufM"):
        what = f"{name} has dtype {time.dtype} and shape {time.shape}"
        raise ValueError(f"{what}; it must be one flat list of numbers or of dates (datetime64)")
    if time.dtype in (np.float16, np.float32):
        rule = f"read as integers: {time.dtype} rounds numbers of this size, and the order changes"
        refuse(name, time, rounded(time), rule)
    for i in np.flatnonzero(time != time)[:1]:  # NaN and NaT, of all values, differ from themselves
        raise ValueError(f"{name}[{i}] is {time[i]}; no timestamp may be missing")
    return time
