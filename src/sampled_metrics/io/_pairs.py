"""Pairs of a user and an item, from long tables or dicts, gathered by user."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise
from typing import Any, Literal, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from sampled_metrics import _arguments
from sampled_metrics._arguments import (
    FloatArray,
    IntArray,
    as_ids,
    as_integer,
    as_integers,
    keys_of,
    refuse,
    reject,
    shown,
)
from sampled_metrics.io._columns import (
    Ids,
    Table,
    as_numbers,
    number,
    open_table,
    plain,
    refuse_cell,
)
from sampled_metrics.ranks import find_users, offsets_of

SLOTS = 2**20  # of the table in which items are looked up, so that it fits in the cache;
MOST_SLOTS = 2**25  # up to so many where a block would have fewer than 16 instances
SHORT = 32  # up to so many listed items, each is compared with each sooner than looked up
RANKINGS = ("seed", "fold", "run", "session", "session_id", "trial")  # that tell rankings apart
TOGETHER = 2**13  # so many lists are compared at once: they stay in the cache


@dataclass(frozen=True)
class Items:
    """The items of all instances, one after the other."""

    name: str
    keys: Sequence[Any] | None  # what the instances are called, where not 0, 1, ...
    items: Any  # an array of integers, or of objects that are strings
    offsets: IntArray  # instance x owns items[offsets[x]:offsets[x + 1]]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def counts(self) -> IntArray:
        return np.diff(self.offsets)

    @property
    def kind(self) -> str:
        """What the items are, for an error; "" if there are none."""
        kind = "strings" if self.items.dtype.kind == "O" else "integers"
        return kind if self.items.size else ""

    def only(self, kept: NDArray[np.bool_]) -> Self:
        """Return some of the items of each instance."""
        return replace(self, items=self.items[kept], offsets=offsets_of(kept)[self.offsets])

    @property
    def ids(self) -> list[Any]:
        """The distinct items, as they first appear."""
        return [*dict.fromkeys(self.items.tolist())]

    def at(self, i: int) -> str:
        """Return how an error names an item, and where it is."""
        x = int(np.searchsorted(self.offsets, i, side="right")) - 1
        return f"{entry(self.name, self.keys, x)} holds item {shown(plain(self.items[i]))}"

    def refuse(self, bad: Any, problem: str) -> None:
        """Raise the error for the first of the items that is bad, if there is one."""
        for i in np.flatnonzero(bad)[:1].tolist():
            raise ValueError(f"{self.at(i)}: {problem}")


def entry(name: str, keys: Sequence[object] | None, x: int) -> str:
    """Return how an error names the instance x of an argument."""
    return f"{name}[{x if keys is None else keys[x]!r}]"


def find(listed: Items, wanted: Items) -> tuple[IntArray, IntArray]:
    """Return the places of the hits in `wanted` and `listed`, by instance, then as listed.

    There is one slot per instance and item, for a block of instances at a time, so that the slots
    fit in the cache. Each listed item leaves its number there, and each wanted one looks into its
    slot. Numbers only grow, so those of earlier blocks are too small to count.
    """
    n = len(listed)
    codes, wanted_codes, span = _codes(listed.items, wanted.items)
    length = listed.counts[0] if n else 0
    if 0 < length <= SHORT and (wanted.counts == 1).all() and (listed.counts == length).all():
        hits = _compared(codes.reshape(n, -1), wanted_codes)
        if hits is not None:
            return hits // length, hits
    n_rows = max(1, SLOTS // span, min(16, MOST_SLOTS // span))
    row = np.arange(min(n, n_rows)) * span  # the first slot of each of a block's instances
    few = max(listed.items.size, wanted.items.size) < 2**31 - 1
    slots: NDArray[Any] = np.zeros(row.size * span, np.int32 if few else np.int64)
    labels, places = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for first in range(0, n, n_rows):
        block = slice(first, first + n_rows)
        start, stop = wanted.offsets[[first, min(first + n_rows, n)]].tolist()
        looked_up = np.repeat(row[: n - first], wanted.counts[block])
        looked_up += wanted_codes[start:stop]
        if wanted.counts[block].max() > 1:
            # Numbers below 0 are no listed item's: they only show what is there twice.
            _leave(slots, looked_up, wanted, start, -1)
        begin, end = listed.offsets[[first, min(first + n_rows, n)]].tolist()
        left = np.repeat(row[: n - first], listed.counts[block])
        left += codes[begin:end]
        _leave(slots, left, listed, begin, 1)
        place = slots.take(looked_up)
        hits = np.flatnonzero(place > begin)
        hits = hits[place[hits].argsort()]
        labels.append(start + hits)
        places.append(place[hits] - np.int64(1))
    return np.concatenate(labels), np.concatenate(places)


def _compared(rows: NDArray[Any], wanted: NDArray[Any]) -> IntArray | None:
    """Return where a row has its wanted item, or None if a row has any item twice."""
    hits = np.empty(rows.shape, dtype=bool)
    for first in range(0, len(rows), TOGETHER):
        block = slice(first, first + TOGETHER)
        columns = rows[block].T.astype(np.int32, order="C")
        shifts = range(1, len(columns))
        if any((columns[shift:] == columns[:-shift]).any() for shift in shifts):
            return None
        np.equal(rows[block], wanted[block, None], out=hits[block])
    return np.flatnonzero(hits)


def _leave(slots: NDArray[Any], slot: IntArray, items: Items, start: int, sign: int) -> None:
    """Leave each item's number, from 1, in its slot; refuse an item whose slot has another's."""
    number = np.arange(start + 1, start + 1 + slot.size, dtype=slots.dtype)
    number *= sign
    slots[slot] = number
    if (twice := slots.take(slot) != number).any():
        items.refuse(np.append(np.zeros(start, bool), twice), "it is there twice; keep one of them")


def _codes(listed: NDArray[Any], wanted: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Return integers from 0 to `span` - 1, equal for equal items, and `span`."""
    both = listed, wanted
    if all(items.dtype.kind == "i" and items.max(initial=0) < SLOTS for items in both):
        return listed, wanted, 1 + max(int(items.max(initial=0)) for items in both)
    import pandas as pd

    codes, distinct = pd.factorize(np.concatenate(both))
    return codes[: listed.size], codes[listed.size :], max(1, len(distinct))


@dataclass(frozen=True)
class Pairs:
    """A user, an item and perhaps values, for each row of a table or each entry of a dict."""

    name: str  # the argument
    users: Ids
    items: Ids
    values: dict[str, NDArray[Any]]  # scores, ranks or relevance, by keyword
    is_table: bool

    def at(self, i: int) -> str:
        """Return how an error names a pair, and where it is."""
        where = f"row {i}, " if self.is_table else ""
        return f"{self.name}, {where}user {self.users.name(i)!r} and item {self.items.name(i)!r}"

    def refuse(self, keyword: str, bad: NDArray[np.bool_], rule: str) -> None:
        """Raise the error for the first of the values of this name that is bad, if there is one."""
        refuse_cell(lambda i: f"{self.at(i)}: the {keyword}", self.values[keyword], bad, rule)


@dataclass(frozen=True)
class Gathered(Items):
    """The items of all users, one user after the other, and where they were before."""

    pairs: Pairs
    rows: IntArray | slice  # pairs[rows[i]] is the pair of item i

    def only(self, kept: NDArray[np.bool_]) -> Self:
        """Return some of the items of each user."""
        rows = np.arange(len(kept)) if isinstance(self.rows, slice) else self.rows
        return replace(super().only(kept), rows=rows[kept])

    @property
    def ids(self) -> list[Any]:
        """The distinct items, as they first appear."""
        distinct = np.unique(self.pairs.items.codes[self.rows])
        return [*map(plain, self.pairs.items.names[distinct])]

    def of(self, users: NDArray[np.bool_]) -> Gathered:
        """Return the items of some users; the others must have none."""
        return replace(self, offsets=offsets_of(self.counts[users]))

    def at(self, i: int) -> str:
        """Return how an error names the pair of an item, and where it is."""
        return self.pairs.at(i if isinstance(self.rows, slice) else int(self.rows[i]))


def pairs_of(
    name: str,
    given: Any,
    columns: Mapping[str, str],
    needed: Sequence[str] = (),
    possible: Sequence[str] = (),
) -> Pairs:
    """Return the pairs of a table, a file or a dict by user, with the values that it has.

    `needed` and `possible` are columns of numbers. A dict by user holds dicts from item to the
    first of them, or lists of items where none is needed.
    """
    both = {keyword: columns[keyword] for keyword in ("user", "item")}
    refuse_columns(name, given, columns)
    if isinstance(given, Mapping):
        return _pairs_of_dict(name, given, [*needed, *possible][:1], lists=not needed)
    required = both | {keyword: columns[keyword] for keyword in needed}
    optional = {keyword: columns[keyword] for keyword in possible}
    # Of several rankings of a user, the items would become those of one.
    apart = [key for key in RANKINGS if {"score", "rank"} & {*needed, *possible}]
    apart = [key for key in apart if key not in {*required.values(), *optional.values()}]
    table = open_table(name, given, required, optional | dict(zip(apart, apart, strict=True)))
    values = {key: table.numbers(key) for key in (*needed, *possible) if key in table}
    users = table.ids("user")
    for key in [key for key in apart if key in table]:
        _check_one(table, key, users)
    return Pairs(name, users, table.ids("item"), values, is_table=True)


def _check_one(table: Table, key: str, users: Ids) -> None:
    """Refuse users who have several rankings by a column."""
    import pandas as pd

    codes = pd.factorize(table.frame[key].to_numpy())[0]
    _, first, of_user = np.unique(users.codes, return_index=True, return_inverse=True)
    for i in np.flatnonzero(codes != codes[first[of_user]])[:1]:
        raise ValueError(
            f"{table.name}, row {i}: user {users.name(i)!r} has another {key!r} than in row "
            f"{first[of_user[i]]}; a user has one ranking: keep one {key!r}, or put it into the "
            f"user, as in user + '/' + {key}"
        )


def refuse_columns(name: str, given: Any, columns: Mapping[str, str]) -> None:
    """Refuse a dict of columns where a dict by user is expected: it could be taken for one."""
    keys = [columns[keyword] for keyword in ("user", "item")]
    if isinstance(given, Mapping) and all(key in given for key in keys):
        said = f"{name} is a dict with the keys {keys[0]!r} and {keys[1]!r}"
        raise ValueError(f"{said}; if it holds columns, give pandas.DataFrame({name})")


def _pairs_of_dict(name: str, given: Mapping[Any, Any], value: list[str], *, lists: bool) -> Pairs:
    """Return the pairs of lists by user, or of dicts that hold a value, where there may be one."""
    forms = ["a list of items"] * lists + ["a dict from item to number"] * len(value)
    for user, row in given.items():
        is_list = isinstance(row, Iterable) and getattr(row, "ndim", 1) > 0
        is_list = is_list and not isinstance(row, str | bytes | np.ma.MaskedArray)
        if not (value if isinstance(row, Mapping) else lists and is_list):
            reject(f"{name}[{user!r}]", row, f"{' or '.join(forms)}; for a table, give a DataFrame")
    is_valued = are_dicts(name, given.values())
    rows = [row if isinstance(row, Mapping) else [*row] for row in given.values()]
    keys = np.fromiter(given, dtype=object, count=len(rows))
    users = number(keys, lambda i: f"{name}: the user {shown(keys[i])}")
    of_user = np.repeat(np.arange(len(rows)), np.fromiter(map(len, rows), np.int64, len(rows)))
    flat = np.fromiter(chain.from_iterable(rows), dtype=object, count=len(of_user))
    items = number(flat, lambda i: f"{name}[{keys[of_user[i]]!r}]: the item {shown(flat[i])}")
    pairs = Pairs(name, Ids(users.codes[of_user], users.names), items, {}, is_table=False)
    if is_valued:
        values = chain.from_iterable(row.values() for row in given.values())
        numbers = np.fromiter(values, dtype=object, count=len(of_user))
        pairs.values[value[0]] = as_numbers(numbers, lambda i: f"{pairs.at(i)}: the {value[0]}")
    return pairs


def are_dicts(name: str, rows: Collection[Any]) -> bool:
    """Tell whether the rows of an argument are dicts: all of them, or none."""
    kinds = {issubclass(kind, Mapping) for kind in set(map(type, rows))}
    if len(kinds) > 1:
        raise ValueError(f"{name} mixes dicts with lists; give dicts only, or lists only")
    return kinds == {True}


def relevance_of(pairs: Pairs, least: float | None = None) -> FloatArray:
    """Return how relevant each pair is, 1 where nothing was said, 0 below the least."""
    if "relevance" not in pairs.values:
        refuse_least(pairs.name, least)
        return np.ones(len(pairs.users.codes))
    at = lambda i: f"{pairs.at(i)}: the relevance"  # noqa: E731
    return as_gains(pairs.name, pairs.values["relevance"], at, least)


def refuse_least(name: str, least: float | None) -> None:
    """Refuse a least relevance where nothing says how relevant the items are."""
    if least is not None:
        raise ValueError(f"min_relevance is {least:g}, but {name} has no relevance; leave it out")


def as_gains(
    name: str, values: NDArray[Any], at: Callable[[int], str], least: float | None
) -> FloatArray:
    """Return gains as floats, 0 below the least; `at(i)` names one of them in an error."""
    gains = as_numbers(values, at).astype(np.float64)
    refuse_cell(at, gains, ~(np.isfinite(gains) & (gains >= 0)), "it must be finite and 0 or above")
    if least is not None:
        return np.where(gains >= least, gains, 0.0)
    # Stars: all that was rated has some, also what nobody liked.
    stars = np.unique(gains) * 2
    if len(stars) and stars[0] in (1, 2) and stars[-1] == 10 and not (stars % 1).any():
        refuse_ratings(name, stars[0] / 2)
    return gains


def refuse_ratings(name: str, low: float) -> NoReturn:
    """Raise the error for relevances that look like stars."""
    raise ValueError(
        f"{name} has relevances from {low:g} to 5 and none of 0, as ratings are; say "
        "from which one on an item is relevant, as in min_relevance=4"
    )


ABSENT = ("refuse", "missed", "left out")
Absent = Literal["refuse", "missed", "left out"]


def refuse_absent(name: str, user: Any, listed: str) -> None:
    """Raise the error for a user who has relevant items, and nothing else."""
    raise ValueError(
        f'{name} has user {shown(user)}, {listed} does not; give absent="missed" if nothing was '
        "recommended to this user"
    )


DIFFERENCES: dict[str, Callable[[str], str]] = {
    "in blanks around them": str.strip,
    "in how accents are composed": lambda text: unicodedata.normalize("NFC", text),
    "in capitals": str.casefold,
    "in zeros in front": lambda text: text.lstrip("0"),
    "in a decimal point": lambda text: text.removesuffix(".0"),
}


def refuse_apart(
    what: str, name: str, wanted: list[Any], other: str, listed: list[Any], *, few: int = 0
) -> None:
    """Refuse ids none of which is among the others: they may be called otherwise there.

    So `few` may not be there by chance, unless it can be seen how they are called otherwise.
    """
    if not wanted or not listed or not set(wanted).isdisjoint(listed):
        return
    alike = (
        (one, f": {forms[form(str(one))]!a} differs {difference}")
        for difference, form in DIFFERENCES.items()
        for forms in [{form(str(two)): two for two in listed}]
        for one in wanted
        if form(str(one)) in forms
    )
    swapped = f", such as {listed[0]!a}, and see that user and item are not swapped"
    one, how = next(alike, (wanted[0], swapped))
    if how == swapped and min(len(wanted), len(listed)) < few:
        return
    raise ValueError(
        f"{name} has {what} {one!a}, {other} does not, nor any other {what} of it; name them as "
        f"{other} does{how}"
    )


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


def refuse_mixed(what: str, kinds: Iterable[tuple[str, str]]) -> None:
    """Refuse arguments whose ids are of different kinds; "" is that of no ids."""
    for (first, one), (name, other) in pairwise(pair for pair in kinds if pair[1]):
        if one != other:
            said = f"{first} names its {what} by {one}, {name} by {other}"
            raise ValueError(f"{said}; name them in the same way")


def _number_together(
    what: str, columns: Sequence[tuple[str, Ids]]
) -> tuple[NDArray[Any], list[IntArray]]:
    """Return the distinct ids of several columns, and each column as numbers of these."""
    import pandas as pd

    refuse_mixed(what, [(name, ids.kind) for name, ids in columns])
    together = [ids.names for _, ids in columns if ids.kind]
    codes, names = pd.factorize(np.concatenate(together) if together else np.empty(0, np.int64))
    starts = offsets_of(np.array([len(ids.names) for _, ids in columns]))
    return names, [
        codes[start:][ids.codes] for start, (_, ids) in zip(starts[:-1], columns, strict=True)
    ]


def refuse_twice(gathered: Gathered) -> None:
    """Refuse a pair that is there twice."""
    nothing = Items("", None, np.empty(0, np.int64), np.zeros_like(gathered.offsets))
    find(gathered, nothing)


def by_user(name: str, given: Any, users: NDArray[Any]) -> IntArray:
    """Return a whole number for each of these users: one for all, or what a dict or Series says."""
    if keys_of(given) is not None:
        return as_integers(name, _of_users(name, given, users), flat=True)
    return np.full(len(users), as_integer(name, given))


def catalog_of(given: Any, users: NDArray[Any], n_items: IntArray) -> IntArray:
    """Return of how many items each user's candidates are a sample."""
    catalog = by_user("catalog", given, users)
    for x in np.flatnonzero(catalog < n_items)[:1]:
        who = f"user {shown(users.tolist()[x])}, who has {n_items[x]} candidates"
        raise ValueError(f"catalog is {catalog[x]} for {who}; give the number of all items")
    return catalog


def weights_of(given: Any, users: NDArray[Any]) -> FloatArray:
    """Return how much each of these users counts."""
    if keys_of(given) is None:
        reject("weights", given, "a dict or Series by user")
    weights = _arguments.as_numbers("weights", _of_users("weights", given, users), flat=True)
    refuse("weights", weights, weights == 0, "above 0")
    return weights


def _of_users(name: str, given: Any, users: NDArray[Any]) -> NDArray[Any]:
    """Return what a dict or Series says of these users."""
    theirs = as_ids(f"the users of {name}", keys_of(given))
    at = find_users(name, theirs, users)
    values = [*given.values()] if isinstance(given, Mapping) else given.to_numpy()
    each: NDArray[Any] = np.asarray(values)[at]
    return each
