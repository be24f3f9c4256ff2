"""Checks of arguments that several modules need, and the errors they raise."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from itertools import pairwise
from numbers import Number
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args, get_origin

import numpy as np
from numpy.typing import ArrayLike, NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
RNG = np.random.Generator | np.random.SeedSequence | int | None

LARGEST = 2**53
"""The largest integer up to which a float64 tells every integer from the next."""


def refuse(
    name: str, array: NDArray[np.generic], bad: Any, rule: str, limit: ArrayLike | None = None
) -> None:
    """Raise the error for the first entry of `array` that is `bad`; `limit` ends its rule."""
    if np.any(bad):
        place = tuple(np.argwhere(bad)[0].tolist())
        where = f"{name}[{', '.join(map(str, place))}]" if place else name
        rule += "" if limit is None else f", {np.broadcast_to(limit, array.shape)[place]}"
        raise ValueError(f"{where} is {array[place]}; {name} must be {rule}")


def shown(value: object) -> str:
    """Return how an error message shows a value: in one line of at most 80 characters."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def reject(name: str, value: object, rule: str) -> NoReturn:
    """Raise the error for one value that is not what it must be."""
    raise ValueError(f"{name} is {shown(value)}; {name} must be {rule}")


def as_array(
    name: str,
    values: object,
    *,
    flat: bool = False,
    shape: Any = None,
    of: str = "ranks",
    lists: str = "",
) -> NDArray[Any]:
    """Return `values` as an array, if asked for of one axis, or of the shape that `of` has."""
    if isinstance(values, np.ma.MaskedArray) or hasattr(values, "toarray"):
        raise ValueError(f"{name} is a masked or sparse array; {name} must be a plain one")
    try:
        array = np.asarray(values)
    except Exception as error:  # each kind of array has its own
        raise ValueError(f"{name} is ragged, or no array{lists}") from error
    if flat and array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}; {name} must be one flat list")
    if shape not in (None, array.shape):
        rule = f"{of} has shape {shape}; {name} must be one for each of {of}"
        raise ValueError(f"{name} has shape {array.shape}, {rule}")
    return array


def as_csr(matrix: Any) -> Any:
    """Return a sparse matrix by rows; integers that it stores twice add up without overflow."""
    kind = matrix.dtype.kind
    if kind in "iu" and not getattr(matrix, "has_canonical_format", True):
        matrix = matrix.astype(np.int64 if kind == "i" else np.uint64)
    return matrix.tocsr()


def rounded(array: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which floats are so large that their type may have rounded an integer to them."""
    if array.dtype.kind != "f":
        return np.zeros(array.shape, dtype=bool)
    return np.asarray(np.abs(array) >= 2 ** (1 + min(np.finfo(array.dtype).nmant, 52)))


def as_integers(
    name: str,
    values: ArrayLike,
    low: int = 1,
    high: int = LARGEST,
    high_name: str = "2**53",
    *,
    flat: bool = False,
    lists: str = "",
) -> IntArray:
    """Return `values` as int64, or say which entry is not a whole number from `low` to `high`."""
    if hasattr(values, "columns"):
        what = type(values).__name__
        raise ValueError(f"{name} is a {what}; pass a column, or {name}.to_numpy()")
    array = as_array(name, values, flat=flat, lists=lists)
    if array.size == 0:
        return np.zeros(array.shape, dtype=np.int64)
    inexact, kind = rounded(array), array.dtype
    if kind.kind == "f":
        refuse(name, array, array != np.floor(array), "whole")
        array = array.astype(np.float64)  # a smaller type cannot be compared with the largest
    elif kind.kind not in "iu":
        reject(name, values, "whole numbers")
    refuse(name, array, array < low, f"at least {low}")
    refuse(name, array, array > high, f"at most {high_name}")
    refuse(name, array, inexact, f"given as integers: {kind} rounds numbers of this size")
    return array.astype(np.int64)


def as_integer(
    name: str, value: Any, low: int = 1, high: int = LARGEST, high_name: str = "2**53"
) -> int:
    """Return `value` as an int, or say why it is not one whole number from `low` to `high`."""
    if type(value) is int and low <= value <= high:  # as nearly always
        return value
    array = as_integers(name, value, low, high, high_name)
    return int(array) if array.ndim == 0 else reject(name, value, "one whole number")


def one_or_one_each(
    name: str, values: ArrayLike, shape: tuple[int, ...], low: int, of: str = "ranks"
) -> IntArray:
    """Return `values` as integers, one for each entry of the argument `of` with this shape."""
    array = as_integers(name, values, low)
    try:
        return np.broadcast_to(array, shape)
    except ValueError as error:
        rule = f"{of} has shape {shape}; {name} must be one number or one for each of {of}"
        raise ValueError(f"{name} has shape {array.shape}, {rule}") from error


def as_generator(rng: RNG) -> np.random.Generator:
    """Return a Generator, as SciPy does: fresh for None, else made from what is given."""
    known = rng is None or isinstance(rng, np.random.Generator | np.random.SeedSequence)
    if known or (is_integer(rng) and rng >= 0):  # type: ignore[operator]
        return np.random.default_rng(rng)
    reject("rng", rng, "None, an integer of 0 or above, a SeedSequence or a numpy.random.Generator")


def as_flag(name: str, value: object) -> bool:
    """Return a bool; reject anything else."""
    if not isinstance(value, bool | np.bool_):
        reject(name, value, "True or False")
    return bool(value)


def is_real(value: object) -> bool:
    """Tell whether a value is one real number; NumPy's spans of time are integers to Python."""
    kinds = int | float | np.integer | np.floating
    return isinstance(value, kinds) and not isinstance(value, bool | np.timedelta64)


def is_integer(value: object) -> bool:
    """Tell whether a value is one integer, of Python or NumPy."""
    return is_real(value) and isinstance(value, int | np.integer)


def as_real(name: str, value: Any) -> float:
    """Return `value` as a float, NaN and infinity too, or say why it is no number."""
    if not is_real(value) or (isinstance(value, int) and abs(value) >= 2**1023):
        reject(name, value, "a number that a float can hold")
    return float(value)


def as_number(name: str, value: object, *, zero: bool = False) -> float:
    """Return `value` as a float, or say why it is not a positive number (or `zero`)."""
    number = as_real(name, value)
    if not (0 < number < np.inf or (zero and number == 0)):
        reject(name, value, f"positive{' or 0' if zero else ''}")
    return number


def as_confidence(name: str, value: object, low: float = 0.0) -> float:
    """Return a probability above 0, at least `low` and below 1, or say why it is none."""
    number = as_number(name, value)
    if not low <= number < 1:
        reject(name, value, f"{f'at least {low}' if low else 'above 0'} and below 1")
    return number


def as_probabilities(name: str, values: ArrayLike) -> FloatArray:
    """Return `values` as one flat array of probabilities that sum to 1."""
    p = as_numbers(name, values, flat=True)
    labels = labels_of(values)
    if labels is not None and list(labels) != list(range(1, len(p) + 1)):
        sort = f"{name}.reindex(range(1, size + 1), fill_value=0)"
        raise ValueError(
            f"{name} has an index that is not 1, 2, ...; sort it by rank, as in {sort}"
        )
    if not abs(p.sum() - 1) < 1e-6:
        raise ValueError(f"{name} sums to {p.sum()}; {name} must sum to 1")
    return p


def as_numbers(name: str, values: ArrayLike, **form: Any) -> FloatArray:
    """Return `values` as an array of finite numbers of 0 or above; `form` is as in `as_array`."""
    array = as_array(name, values, **form)
    if array.size and array.dtype.kind not in "iuf":
        reject(name, values, "numbers")
    refuse(name, array, ~(np.isfinite(array) & (array >= 0)), "finite and 0 or above")
    return array.astype(np.float64)


def as_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    """Say which values are allowed if `value` is none of them."""
    if not any(isinstance(value, type(choice)) and value == choice for choice in choices):
        reject(name, value, f"one of {', '.join(map(repr, choices))}")


def as_fields(values: Any, **checks: Callable[[str, Any], Any]) -> None:
    """Check fields of a dataclass: these, which may be None by default, and those of `Literal`."""
    for field in fields(values):
        name, value = field.name, getattr(values, field.name, None)
        if get_origin(field.type) is Literal:
            as_choice(name, value, get_args(field.type))
        elif name in checks and not (value is None and field.default is None):
            object.__setattr__(values, name, checks[name](name, value))


def as_kind(name: str, value: Any, kind: type[Any], example: str) -> Any:
    """Return `value` if it is an instance of a class; else show what would be one."""
    if not isinstance(value, kind):
        called = isinstance(value, type) and issubclass(value, kind)
        hint = f"; call the class, as in {example}" if called else f", such as {example}"
        an = "an" if kind.__name__[0] in "AEIOU" else "a"
        reject(name, value, f"{an} {kind.__name__}{hint}")
    return value


def entries(name: str, values: Any, example: str, one: type[Any] = str) -> list[Any]:
    """Return what a collection holds, or say that it is none; `one` is what it may hold."""
    if (  # a set would give another order in each run
        isinstance(values, str | bytes | Mapping | set | frozenset | one)
        or not isinstance(values, Iterable)
        or getattr(values, "ndim", 1) == 0
    ):
        reject(name, values, f"a list, such as {example}")
    return list(values)


def as_list(name: str, values: Any, kind: type[Any], example: str) -> list[Any]:
    """Return a list of instances of a class, not empty; `example` shows one of them."""
    given = entries(name, values, f"[{example}]", kind)
    if not given:
        raise ValueError(f"{name} is empty; {name} must be a list, such as [{example}]")
    return [as_kind(f"{name}[{i}]", value, kind, example) for i, value in enumerate(given)]


def as_path(name: str, value: object, what: str = "file") -> Path:
    """Return the path of a file or folder, which need not exist."""
    if not isinstance(value, str | os.PathLike) or "\0" in str(value):
        reject(name, value, f"the path of a {what}")
    return Path(value)


def as_named(name: str, values: object, example: str) -> dict[str, Any]:
    """Return a dict by name, not empty; `example` shows one."""
    named = dict(values) if isinstance(values, Mapping) else {}
    if not named:
        reject(name, values, f"a dict, such as {example}")
    for key in named:
        if not isinstance(key, str):
            raise ValueError(f"{name} has the key {shown(key)}; its keys must be names")
    return named


def index_of(value: object) -> Any:
    """Return the index that a Series or DataFrame carries, or None."""
    index = getattr(value, "index", None)
    return None if callable(index) or not hasattr(value, "to_numpy") else index


def same_index(**values: object) -> None:
    """Refuse two arguments whose entries carry different labels: they would be paired wrongly."""
    labelled = [(name, index_of(v)) for name, v in values.items() if index_of(v) is not None]
    for (first, one), (second, other) in pairwise(labelled):
        if not one.equals(other):
            remedy = f"align them, as in {second}.reindex({first}.index), or pass arrays"
            raise ValueError(f"{first} and {second} have different indexes; {remedy}")


def no_index(name: str, value: object, of: str = "the ranks") -> None:
    """Refuse labels that nothing later on could be compared with."""
    if index_of(value) is not None:
        raise ValueError(f"{name} has an index; pass {name}.to_numpy() in the order of {of}")


def keys_of(value: object) -> Any:
    """Return the keys of a dict, or the index that a Series carries, or None."""
    by_name = isinstance(value, Mapping) and not hasattr(value, "toarray")  # SciPy has a dict, too
    return [*value] if by_name else index_of(value)  # type: ignore[misc]


def labels_of(value: object) -> Any:
    """Return the keys of a dict or an index, or None: 0, 1, ... are no labels."""
    labels = keys_of(value)
    return None if labels is None or list(labels) == list(range(len(labels))) else labels


def no_labels(name: str, value: object, remedy: str) -> None:
    """Refuse labels that would be lost."""
    if labels_of(value) is not None:
        raise ValueError(f"{name} has an index that is not 0, 1, ...; {remedy}")


def labeled_by(users: NDArray[Any] | None, **values: object) -> None:
    """Refuse entries whose labels are not the names of the users: they would be paired wrongly."""
    for name, value in values.items():
        if users is None:
            no_labels(name, value, f"pass users={name}.index, or {name}.to_numpy()")
        elif (labels := labels_of(value)) is not None and list(labels) != users.tolist():
            by_dict = f"[{name}[user] for user in users]"
            remedy = by_dict if isinstance(value, Mapping) else f"{name}.reindex(users)"
            raise ValueError(f"{name} has other labels than users; align it: {remedy}")


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of the same numbers that cannot be changed."""
    view = array.view()
    view.flags.writeable = False
    return view


def is_table(value: object) -> bool:
    """Tell whether a value is a table, or the path of a file that holds one."""
    # The class is asked, as a lazy table warns where its columns are.
    return isinstance(value, str | os.PathLike) or hasattr(type(value), "columns")


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
    codes, names = factorize(ids)
    if size is not None:
        raise ValueError(f"{argument} is {size}; give {argument} only where ids are integers")
    return np.split(codes, np.cumsum([*map(len, ids.values())])[:-1]), len(names), names


def as_ids(name: str, values: ArrayLike, *, numbers: bool = False) -> NDArray[Any]:
    """Return ids as a flat array of int64 if they are numbers, else as one of objects.

    Numbers of rows or columns (`numbers`) are small, and integers that are names may be any.
    """
    array = as_array(name, values)
    if array.dtype.kind == "O" and all(map(is_integer, array.flat)):
        values = array = np.asarray(array.tolist())
    if array.dtype.kind in "biuf" or array.size == 0:
        limits: Any = (0, LARGEST_ID, "2**31 - 1")
        limits = limits if numbers else (-(2**63), 2**63 - 1, "2**63 - 1")
        return as_integers(name, values, *limits, flat=True)
    # NumPy's own strings lose zero bytes at the end, and a tuple is one id.
    tuples = array.ndim == 2 and all(isinstance(value, tuple) for value in values)  # type: ignore[union-attr]
    ids = np.empty(len(array), dtype=object) if tuples else np.asarray(values, dtype=object)
    if tuples:
        ids[:] = values
    return as_array(name, ids, flat=True)


def as_users(name: str, values: ArrayLike, shape: tuple[int, ...], of: str) -> NDArray[Any]:
    """Return what instances are called: an array of int64, or one of objects, none missing."""
    ids = as_array(name, as_ids(name, values), shape=shape, of=of)
    if ids.dtype.kind == "O":
        factorize({name: ids})  # refuses what is missing
    return ids


def as_names(argument: str, names: ArrayLike | None, size: int) -> NDArray[Any] | None:
    """Return what users or items are called, one name for each, or None where that is not known."""
    if names is None:
        return None
    array = as_array(argument, names, flat=True).copy()
    if len(array) != size:
        raise ValueError(f"{argument} has {len(array)} names; {argument} must have {size}")
    for i in repeated(array)[:1].tolist():
        reject(f"{argument}[{i}]", array.tolist()[i], "different from all others")
    return read_only(array)


def repeated(ids: NDArray[Any]) -> IntArray:
    """Return the positions of the ids that were there at an earlier position."""
    import pandas as pd

    if ids.dtype.kind == "i" and (ids[1:] > ids[:-1]).all():  # quick, and often so
        return np.empty(0, np.int64)
    return np.flatnonzero(pd.Series(ids).duplicated())


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
            places = [f"{name}[{i}]" for name, ids in columns.items() for i in range(len(ids))]
            rule = "all integers, or all names that are not numbers, and none may be missing"
            raise ValueError(f"{places[at]} is {together[at]!r}; ids must be {rule}")
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
        one = f"{name} holds the {what} {shown(ids.tolist()[i])}"
        raise ValueError(f"{one}, which the split lacks; its {what}s are {known}")
    return found


def count_ids(argument: str, size: int | None, columns: list[IntArray], where: str) -> int:
    """Return the number of users or items, and refuse integers that leave a gap."""
    what = argument.removeprefix("n_").removesuffix("s")
    largest = max(int(ids.max(initial=-1)) for ids in columns)
    if size is not None:
        n = as_integer(argument, size, 1, LARGEST_ID + 1, "2**31")
        if largest >= n:
            raise ValueError(f"{argument} is {size}, but {where} have the {what} {largest}")
        return n
    if not (n_events := sum(map(len, columns))):
        raise ValueError(f"{where} are empty; give {argument}, or at least one event")
    seen = np.zeros(min(largest, n_events) + 1, dtype=bool)  # so many cannot all be seen if larger
    for ids in columns:
        seen[ids[ids < len(seen)]] = True
    if not seen.all():
        gap = f"but {what} {np.argmin(seen)} is missing and {largest} is there"
        remedy = f"give {argument}, or names as strings"
        rule = f"must number the {what}s from 0 without a gap"
        raise ValueError(f"{where} {rule}, {gap}; {remedy}")
    return largest + 1
