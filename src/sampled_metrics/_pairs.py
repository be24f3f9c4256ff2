"""Pairs of a user and an item, from long tables or dicts, gathered by user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._checks import FloatArray, IntArray, shown
from sampled_metrics._columns import Ids, as_numbers, number, open_table
from sampled_metrics._flat import offsets_of
from sampled_metrics._items import Items, find


@dataclass(frozen=True)
class Pairs:
    """A user, an item and perhaps values, for each row of a table or each entry of a dict."""

    name: str  # the argument
    users: Ids
    items: Ids
    values: dict[str, NDArray[Any]]  # scores, ranks or relevance, by keyword
    is_table: bool

    def at(self, *rows: int) -> str:
        """Return how an error names a pair, and where it is."""
        i = rows[0]
        many = "rows" if len(rows) > 1 else "row"
        where = f"{many} {' and '.join(map(str, rows))}, " if self.is_table else ""
        return f"{self.name}, {where}user {self.users.name(i)!r} and item {self.items.name(i)!r}"


@dataclass(frozen=True)
class Gathered(Items):
    """The items of all users, one user after the other, and where they were before."""

    pairs: Pairs
    rows: IntArray | slice  # pairs[rows[i]] is the pair of item i

    def only(self, kept: NDArray[np.bool_]) -> Gathered:
        """Return some of the items of each user."""
        rows = np.arange(len(kept)) if isinstance(self.rows, slice) else self.rows
        offsets = offsets_of(kept)[self.offsets]
        return replace(self, items=self.items[kept], offsets=offsets, rows=rows[kept])

    def of(self, users: NDArray[np.bool_]) -> Gathered:
        """Return the items of some users; the others must have none."""
        return replace(self, offsets=offsets_of(self.counts[users]))

    def at(self, *places: int) -> str:
        """Return how an error names the pair of an item, and where it is."""
        rows = self.rows
        return self.pairs.at(*(i if isinstance(rows, slice) else int(rows[i]) for i in places))

    def refuse_twice(self, i: int) -> NoReturn:
        """Raise the error for an item that its user has had before."""
        x = np.searchsorted(self.offsets, i, side="right") - 1
        start, stop = self.offsets[x : x + 2]
        both = (start + np.flatnonzero(self.items[start:stop] == self.items[i]))[:2].tolist()
        raise ValueError(
            f"{self.at(*both)} are there twice; keep one of the two, by the rule that you mean"
        )


def pairs_of(
    name: str,
    given: Any,
    columns: Mapping[str, str],
    needed: Sequence[str] = (),
    possible: Sequence[str] = (),
) -> Pairs:
    """Return the pairs of a table, a file or a dict by user, with the values that it has.

    `needed` and `possible` are keywords of columns of numbers. A dict by user holds dicts from
    item to the first of them; where none is needed, it may hold lists of items, and where none is
    possible, it must.
    """
    both = {keyword: columns[keyword] for keyword in ("user", "item")}
    refuse_columns(name, given, columns)
    if isinstance(given, Mapping):
        if not (needed or possible):
            _refuse_values(name, given)
        return _pairs_of_dict(
            name, given, next(iter((*needed, *possible)), None), optional=not needed
        )
    required = both | {keyword: columns[keyword] for keyword in needed}
    table = open_table(name, given, required, {keyword: columns[keyword] for keyword in possible})
    values = {key: table.numbers(key) for key in (*needed, *possible) if key in table}
    return Pairs(name, table.ids("user"), table.ids("item"), values, is_table=True)


def refuse_columns(name: str, given: Any, columns: Mapping[str, str]) -> None:
    """Refuse a dict of columns where a dict by user is expected: it could be taken for one."""
    keys = [columns[keyword] for keyword in ("user", "item")]
    if isinstance(given, Mapping) and all(key in given for key in keys):
        raise ValueError(
            f"{name} is a dict with the keys {keys[0]!r} and {keys[1]!r}; if it holds columns, not "
            f"users, give pandas.DataFrame({name})"
        )


def _refuse_values(name: str, given: Mapping[Any, Any]) -> None:
    """Refuse a dict from item to number where numbers mean nothing: 0 could be in or out."""
    for user, row in given.items():
        if isinstance(row, Mapping):
            raise ValueError(
                f"{name}[{user!r}] is {shown(row)}; it must be a list of items, as "
                f"list({name}[{user!r}]) is"
            )


def _pairs_of_dict(
    name: str, given: Mapping[Any, Any], value: str | None, *, optional: bool
) -> Pairs:
    rows = [_entries(name, user, row, lists=optional) for user, row in given.items()]
    valued = {isinstance(row, Mapping) for row in rows}
    if value is not None and len(valued) > 1:
        raise ValueError(f"{name} holds dicts and lists; give one or the other for every user")
    keys = np.fromiter(given, dtype=object, count=len(rows))
    users = number(keys, lambda i: f"{name}: the user {shown(keys[i])}")
    of_user = np.repeat(np.arange(len(rows)), np.fromiter(map(len, rows), np.int64, len(rows)))
    flat = np.fromiter(chain.from_iterable(rows), dtype=object, count=len(of_user))
    items = number(flat, lambda i: f"{name}[{keys[of_user[i]]!r}]: the item {shown(flat[i])}")
    pairs = Pairs(name, Ids(users.codes[of_user], users.names), items, {}, is_table=False)
    if value is not None and valued == {True}:
        numbers = np.fromiter(
            chain.from_iterable(row.values() for row in rows), dtype=object, count=len(of_user)
        )
        pairs.values[value] = as_numbers(numbers, lambda i: f"{pairs.at(i)}: the {value}")
    return pairs


def _entries(name: str, user: object, row: Any, *, lists: bool) -> Any:
    """Return the items of one user, with their values if these were given."""
    if isinstance(row, Mapping):
        return row
    one = isinstance(row, str | bytes) or getattr(row, "ndim", 1) == 0
    if not lists or one or not isinstance(row, Iterable):
        what = (
            "a list of items or a dict from item to number"
            if lists
            else "a dict from item to number"
        )
        raise ValueError(
            f"{name}[{user!r}] is {shown(row)}; it must be {what}, and a table must have its "
            f"columns' names, as pandas.DataFrame({name}) has"
        )
    if isinstance(row, np.ma.MaskedArray):
        raise ValueError(f"{name}[{user!r}] is a masked array; give a list, without what is masked")
    return list(row)


def relevance_of(pairs: Pairs) -> FloatArray:
    """Return how relevant each pair is, 1 where nothing was said."""
    if "relevance" not in pairs.values:
        return np.ones(len(pairs.users.codes))
    gains = pairs.values["relevance"].astype(np.float64)
    for i in np.flatnonzero(~(np.isfinite(gains) & (gains >= 0)))[:1]:
        raise ValueError(
            f"{pairs.at(i)}: the relevance is {gains[i]:g}; it must be finite and 0 or above"
        )
    return gains


def gather(*sides: tuple[Pairs, IntArray | None]) -> tuple[NDArray[Any], list[Gathered]]:
    """Give the users and items of several tables common numbers; gather each table by user.

    Each table comes with the positions of the pairs that count, in the order that they shall have
    within a user; None if all do, as they are. Returns the names of all users, in the order in
    which they first appear in the first table, then in the next one, and the gathered tables.
    """
    names, users = _number_together("users", [(pairs.name, pairs.users) for pairs, _ in sides])
    _, items = _number_together("items", [(pairs.name, pairs.items) for pairs, _ in sides])
    return names, [
        _gather(pairs, chosen, user, item, len(names))
        for (pairs, chosen), user, item in zip(sides, users, items, strict=True)
    ]


def _gather(
    pairs: Pairs, chosen: IntArray | None, user: IntArray, item: IntArray, n_users: int
) -> Gathered:
    rows: IntArray | slice = slice(None) if chosen is None else chosen
    user = user[rows]
    if (user[1:] < user[:-1]).any():
        order = by_integer(user, n_users)
        rows = order if chosen is None else chosen[order]
    offsets = offsets_of(np.bincount(user, minlength=n_users))
    return Gathered(pairs.name, None, item[rows], offsets, pairs, rows)


def by_integer(codes: IntArray, n_codes: int) -> IntArray:
    """Sort by small integers, equal ones as they were; by counting, as SciPy sorts a matrix."""
    from scipy import sparse

    size = len(codes)
    cells = np.zeros(size, np.int8), (codes, np.arange(size))
    table = sparse.coo_array(cells, shape=(n_codes, size)).tocsr()
    return table.indices.astype(np.int64)


def _number_together(
    what: str, columns: Sequence[tuple[str, Ids]]
) -> tuple[NDArray[Any], list[IntArray]]:
    """Return the distinct ids of several columns, and each column as numbers of these."""
    import pandas as pd

    filled = [(name, ids) for name, ids in columns if ids.kind]
    for (first, one), (name, other) in pairwise(filled):
        if one.kind != other.kind:
            raise ValueError(
                f"{first} names its {what} by {one.kind}, {name} by {other.kind}; name them in "
                "the same way"
            )
    together = [ids.names for _, ids in filled]
    codes, names = pd.factorize(np.concatenate(together) if filled else np.empty(0, np.int64))
    starts = offsets_of(np.array([len(ids.names) for _, ids in columns]))
    return names, [
        codes[start:][ids.codes] for start, (_, ids) in zip(starts[:-1], columns, strict=True)
    ]


def refuse_twice(gathered: Gathered) -> None:
    """Refuse a pair that is there twice."""
    nothing = Items("", None, np.empty(0, np.int64), np.zeros_like(gathered.offsets))
    find(gathered, nothing)
