"""Ids of any kind to integers from 0: names are numbered, integers must leave no gap."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._checks import (
    IntArray,
    as_array,
    as_integer,
    as_integers,
    is_real,
    read_only,
    refuse,
    shown,
)

LARGEST_ID = 2**31 - 1
"""The largest id that is a number: it takes four bytes, and a pair of them fits into an int64."""


def number_ids(
    argument: str, size: int | None, columns: dict[str, ArrayLike]
) -> tuple[list[IntArray], int, NDArray[Any] | None]:
    """Return the ids of each column as integers, how many there are, and the names if any.

    `argument` is what the caller calls `size`: "n_users" or "n_items".
    """
    ids = {name: as_ids(name, values, numbers=True) for name, values in columns.items()}
    where = " and ".join(ids)
    kinds = {array.dtype.kind for array in ids.values() if array.size}
    if "O" not in kinds:
        return list(ids.values()), count_ids(argument, size, list(ids.values()), where), None
    if len(kinds) > 1:
        raise ValueError(f"{where} must be both names or both integers, not one of each")
    if size is not None:
        raise ValueError(f"{argument} is {size}; give {argument} only where ids are integers")
    codes, names = factorize(ids)
    return (
        np.split(codes, np.cumsum([len(array) for array in ids.values()])[:-1]),
        len(names),
        names,
    )


def as_ids(name: str, values: ArrayLike, *, numbers: bool = False) -> NDArray[Any]:
    """Return ids as an array of int64 if they are numbers, as one of objects if they are not.

    Numbers of rows or columns (`numbers`) are small, and integers that are names may be any.
    """
    try:
        array = np.asarray(values)
    except Exception:  # as_integers explains it
        array = np.empty(0)
    masked = np.ma.isMaskedArray(values)
    if array.dtype.kind == "O" and not masked and all(map(_is_integer, array.flat)):
        values = array = np.asarray(array.tolist())
    if array.dtype.kind in "biuf" or array.size == 0 or masked:
        limits: Any = (
            (0, LARGEST_ID, "2**31 - 1") if numbers else (-(2**63), 2**63 - 1, "2**63 - 1")
        )
        array = as_integers(name, values, *limits)
    else:
        array = _objects(values)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}; {name} must be one flat list")
    return array


def _is_integer(value: object) -> bool:
    return is_real(value) and isinstance(value, int | np.integer)


def _objects(values: Any) -> NDArray[Any]:
    """Return an array of objects: NumPy's own strings lose zero bytes at the end."""
    array = np.asarray(values, dtype=object)
    if array.ndim == 2 and all(isinstance(value, tuple) for value in values):
        array = np.empty(len(values), dtype=object)  # a tuple is one id
        array[:] = values
    return array


def as_users(name: str, values: ArrayLike, shape: tuple[int, ...], of: str) -> NDArray[Any]:
    """Return what instances are called: an array of int64, or one of objects, none missing."""
    ids = as_ids(name, values)
    if ids.shape != shape:
        raise ValueError(
            f"{name} has shape {ids.shape}, {of} has shape {shape}; {name} must be one for each "
            f"of {of}"
        )
    if ids.dtype.kind == "O":
        factorize({name: ids})  # refuses what is missing
    return ids


def as_names(argument: str, names: ArrayLike | None, size: int) -> NDArray[Any] | None:
    """Return what users or items are called, one name for each, or None where that is not known."""
    import pandas as pd

    if names is None:
        return None
    array = as_array(argument, names).copy()
    if array.shape != (size,):
        raise ValueError(
            f"{argument} has shape {array.shape}; {argument} must be a flat list of {size} names"
        )
    if (again := pd.Series(array).duplicated().to_numpy()).any():
        refuse(argument, array, again, "all different: each tells one from all others")
    return read_only(array)


def repeated(ids: NDArray[Any]) -> IntArray:
    """Return the positions of the ids that were there at an earlier position."""
    if ids.dtype.kind != "O":
        ascending = (ids[1:] > ids[:-1]).all()  # looks quickly at what is often so
        if ascending or len(np.unique(ids)) == len(ids):
            return np.empty(0, np.int64)
    codes, names = factorize({"users": ids})
    if len(names) == len(codes):
        return np.empty(0, np.int64)
    order = np.argsort(codes, kind="stable")
    return np.sort(order[1:][np.diff(codes[order]) == 0])


def factorize(columns: dict[str, NDArray[Any]]) -> tuple[IntArray, NDArray[Any]]:
    """Return numbers in the order of first appearance in any column, and the distinct ids."""
    import pandas as pd

    together = np.concatenate(list(columns.values()))
    try:
        codes, names = pd.factorize(together)
    except TypeError as error:
        raise ValueError(f"{' and '.join(columns)} must hold ids: {error}") from error
    if names.dtype.kind == "O":
        wrong = [isinstance(name, Number | np.bool_) for name in names]
        for at in np.flatnonzero(np.append(wrong, True)[codes])[:1]:  # a missing one has code -1
            starts = np.cumsum([0, *map(len, columns.values())])
            column = int(np.searchsorted(starts, at, side="right")) - 1
            raise ValueError(
                f"{list(columns)[column]}[{at - starts[column]}] is {together[at]!r}; ids must be "
                "all integers, or all names that are not numbers, and none may be missing"
            )
    return codes.astype(np.int64), names


def find_ids(
    name: str, what: str, ids: NDArray[Any], names: NDArray[Any] | None, size: int
) -> IntArray:
    """Return which of a split's users or items ids are: their numbers, or the places of names."""
    import pandas as pd

    index = pd.RangeIndex(size) if names is None else pd.Index(names, tupleize_cols=False)
    try:
        found = index.get_indexer(pd.Index(ids, tupleize_cols=False)).astype(np.int64)
    except TypeError as error:
        raise ValueError(f"{name} must hold ids: {error}") from error
    for i in np.flatnonzero(found < 0)[:1]:
        known = f"0 to {size - 1}" if names is None else f"those in split.{what}_names"
        raise ValueError(
            f"{name} holds the {what} {shown(ids.tolist()[i])}, which the split lacks; its {what}s "
            f"are {known}"
        )
    return found


def count_ids(argument: str, size: int | None, columns: list[IntArray], where: str) -> int:
    """Return the number of users or items, and refuse integers that leave a gap."""
    if size is not None:
        n = as_integer(argument, size)
        if n > LARGEST_ID + 1:
            raise ValueError(f"{argument} is {size}; {argument} must be at most 2**31")
        return n
    n_events = sum(map(len, columns))
    if n_events == 0:
        raise ValueError(f"{where} are empty; give {argument}, or at least one event")
    largest = max(int(ids.max(initial=0)) for ids in columns)
    seen = np.zeros(min(largest, n_events) + 1, dtype=bool)  # so many cannot all be seen if larger
    for ids in columns:
        seen[ids[ids < len(seen)]] = True
    if not seen.all():
        what = argument.removeprefix("n_").removesuffix("s")
        raise ValueError(
            f"{where} must number the {what}s from 0 without a gap, but {what} "
            f"{np.argmin(seen)} is missing and {largest} is there; give {argument} if {what}s "
            f"without events are meant, or give the {what}s' names as strings"
        )
    return largest + 1
