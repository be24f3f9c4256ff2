"""Checks of arguments that several modules need, and the errors they raise."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
RNG = np.random.Generator | np.random.SeedSequence | int | None

LARGEST = 2**53
"""The largest integer up to which a float64 tells every integer from the next."""


def refuse(name: str, array: NDArray[np.generic], bad: NDArray[np.bool_], rule: str) -> NoReturn:
    """Raise the error for the first entry of `array` that is `bad`."""
    place = tuple(int(i) for i in np.argwhere(bad)[0])
    where = f"{name}[{', '.join(map(str, place))}]" if place else name
    raise ValueError(f"{where} is {array[place]}; {name} must be {rule}")


def shown(value: object) -> str:
    """Return how an error message shows a value: in one line of at most 80 characters."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def as_array(name: str, values: object, *, lists: str = "") -> NDArray[Any]:
    """Return `values` as an array, or say why they are not one, and where `lists` belong."""
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(
            f"{name} is a masked array; remove what is masked, as in {name}.compressed()"
        )
    if hasattr(values, "toarray"):
        raise ValueError(f"{name} is a {type(values).__name__}; {name} must be a plain array")
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ValueError(
            f"{name} is ragged; {name} must be one rectangular array{lists}"
        ) from error
    except Exception as error:  # each kind of array has its own
        what = f"{name} is of type {type(values).__name__}"
        raise ValueError(f"{what}; it cannot be made an array: {error}") from error


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
    high: IntArray | int = LARGEST,
    high_name: str = "2**53",
    *,
    lists: str = "",
) -> IntArray:
    """Return `values` as int64, or say which entry is not a whole number from `low` to `high`."""
    if hasattr(values, "columns"):
        raise ValueError(
            f"{name} is a {type(values).__name__}; pass one of its columns, as in {name}['rank'], "
            f"or {name}.to_numpy() if all of them are meant"
        )
    array = as_array(name, values, lists=lists)
    if array.size == 0:
        return np.zeros(array.shape, dtype=np.int64)
    inexact, kind = rounded(array), array.dtype
    if array.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            fractional = ~(np.isfinite(array) & (array == np.floor(array)))
        if fractional.any():
            refuse(name, array, fractional, "whole")
        array = array.astype(np.float64)  # a smaller type cannot be compared with the largest
    elif array.dtype.kind not in "iu":
        what = shown(values) if array.dtype.kind == "O" else f"of type {array.dtype}"
        raise ValueError(f"{name} is {what}; {name} must be whole numbers")
    if (array < low).any():
        refuse(name, array, array < low, f"at least {low}")
    if (too_high := array > high).any():
        refuse(name, array, np.broadcast_to(too_high, array.shape), f"at most {high_name}")
    if inexact.any():
        refuse(name, array, inexact, f"given as integers: {kind} rounds numbers of this size")
    return array.astype(np.int64)


def as_integer(name: str, value: object, low: int = 1) -> int:
    """Return `value` as an int, or say why it is not one whole number of at least `low`."""
    if type(value) is int and low <= value <= LARGEST:  # as nearly always
        return value
    array = as_integers(name, value, low)  # type: ignore[arg-type]
    if array.ndim or not array.size:
        raise ValueError(f"{name} is {shown(value)}; {name} must be one whole number")
    return int(array)


def one_or_one_each(
    name: str, values: ArrayLike, shape: tuple[int, ...], low: int, of: str = "ranks"
) -> IntArray:
    """Return `values` as integers, one for each entry of the argument `of` with this shape."""
    array = as_integers(name, values, low)
    try:
        return np.broadcast_to(array, shape)
    except ValueError as error:
        raise ValueError(
            f"{name} has shape {array.shape}, {of} has shape {shape}; "
            f"{name} must be one number or one for each of {of}"
        ) from error


def as_generator(rng: RNG) -> np.random.Generator:
    """Return a Generator, as SciPy does: fresh for None, else made from what is given."""
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is None or isinstance(rng, np.random.SeedSequence):
        return np.random.default_rng(rng)
    if is_real(rng) and isinstance(rng, int | np.integer) and rng >= 0:
        return np.random.default_rng(int(rng))
    raise ValueError(
        f"rng is {shown(rng)}; rng must be None, an integer of 0 or above, a SeedSequence "
        "or a numpy.random.Generator"
    )


def as_flag(name: str, value: object) -> bool:
    """Return a bool; reject anything else."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is {shown(value)}; {name} must be True or False")
    return bool(value)


def is_real(value: object) -> bool:
    """Tell whether a value is one real number; NumPy's spans of time are integers to Python."""
    kinds = int | float | np.integer | np.floating
    return isinstance(value, kinds) and not isinstance(value, bool | np.timedelta64)


def as_real(name: str, value: Any) -> float:
    """Return `value` as a float, NaN and infinity too, or say why it is no number."""
    if not is_real(value):
        raise ValueError(f"{name} is {shown(value)}; {name} must be a number")
    try:
        return float(value)
    except OverflowError as error:
        raise ValueError(f"{name} is {shown(value)}; {name} is too large") from error


def as_number(name: str, value: object, *, zero: bool = False) -> float:
    """Return `value` as a float, or say why it is not a positive number (or `zero`)."""
    number = as_real(name, value)
    if not (0 < number < np.inf or (zero and number == 0)):
        raise ValueError(f"{name} is {value}; {name} must be positive{' or 0' if zero else ''}")
    return number


def as_confidence(name: str, value: object, low: float = 0.0) -> float:
    """Return a probability above 0, at least `low` and below 1, or say why it is none."""
    number = as_number(name, value)
    if not low <= number < 1:
        between = f"at least {low} and below 1" if low else "above 0 and below 1"
        raise ValueError(f"{name} is {value}; {name} must be {between}")
    return number


def as_probabilities(name: str, values: ArrayLike) -> FloatArray:
    """Return `values` as one flat array of probabilities that sum to 1."""
    given = as_array(name, values)
    if given.dtype.kind not in "fiu":
        raise ValueError(f"{name} is {shown(values)}; {name} must be one array of numbers")
    if given.ndim != 1:
        raise ValueError(f"{name} has shape {given.shape}; {name} must be one flat array")
    labels = labels_of(values)
    if labels is not None and list(labels) != list(range(1, len(given) + 1)):
        raise ValueError(
            f"{name} has an index that is not 1, 2, ...; sort it by rank, as in "
            f"{name}.reindex(range(1, size + 1), fill_value=0)"
        )
    p: FloatArray = given.astype(np.float64)
    if (bad := ~(p >= 0)).any():
        refuse(name, p, bad, "0 or above")
    if not abs(p.sum() - 1) < 1e-6:
        raise ValueError(f"{name} sums to {p.sum()}; {name} must sum to 1")
    return p


def as_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    """Say which values are allowed if `value` is none of them."""
    if isinstance(value, bool) or not any(
        isinstance(value, type(choice)) and value == choice for choice in choices
    ):
        allowed = ", ".join(map(repr, choices))
        raise ValueError(f"{name} is {shown(value)}; {name} must be one of {allowed}")


def as_kind(name: str, value: Any, kind: type[Any], example: str) -> Any:
    """Return `value` if it is an instance of a class; else show what would be one."""
    if not isinstance(value, kind):
        called = isinstance(value, type) and issubclass(value, kind)
        hint = f"; call the class, as in {example}" if called else f", such as {example}"
        an = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise ValueError(f"{name} is {shown(value)}; {name} must be {an} {kind.__name__}{hint}")
    return value


def entries(name: str, values: Any, example: str, one: type[Any] = str) -> list[Any]:
    """Return what a collection holds, or say that it is none; `one` is what it may hold."""
    if (  # a set would give another order in each run
        isinstance(values, str | bytes | Mapping | set | frozenset | one)
        or not isinstance(values, Iterable)
        or getattr(values, "ndim", 1) == 0
    ):
        raise ValueError(f"{name} is {shown(values)}; {name} must be a list, such as {example}")
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
        raise ValueError(f"{name} is {shown(value)}; {name} must be the path of a {what}")
    return Path(value)


def as_named(name: str, values: object, example: str) -> dict[str, Any]:
    """Return a dict by name, not empty; `example` shows one."""
    named = dict(values) if isinstance(values, Mapping) else {}
    if not named:
        raise ValueError(f"{name} is {shown(values)}; {name} must be a dict, such as {example}")
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
            raise ValueError(
                f"{first} and {second} have different indexes; align them, as in "
                f"{second} = {second}.reindex({first}.index), or pass arrays in the same order"
            )


def no_index(name: str, value: object) -> None:
    """Refuse labels that nothing later on could be compared with."""
    if index_of(value) is not None:
        raise ValueError(
            f"{name} is a {type(value).__name__} with an index; pass {name}.to_numpy() in the "
            "order of the ranks"
        )


def labels_of(value: object) -> Any:
    """Return the keys of a dict or an index, or None: 0, 1, ... are no labels."""
    by_name = isinstance(value, Mapping) and not hasattr(value, "toarray")  # SciPy has a dict, too
    labels = [*value] if by_name else index_of(value)  # type: ignore[misc]
    return None if labels is None or list(labels) == list(range(len(labels))) else labels


def no_labels(name: str, value: object, remedy: str) -> None:
    """Refuse labels that would be lost."""
    if labels_of(value) is not None:
        raise ValueError(
            f"{name} is a {type(value).__name__} whose index is not 0, 1, ...; {remedy}"
        )


def labeled_by(users: NDArray[Any] | None, **values: object) -> None:
    """Refuse entries whose labels are not the names of the users: they would be paired wrongly."""
    for name, value in values.items():
        if (labels := labels_of(value)) is None:
            continue
        if users is None:
            raise ValueError(
                f"{name} is a {type(value).__name__} whose index is not 0, 1, ...; pass "
                f"users={name}.index, or {name}.to_numpy() to number the users"
            )
        if list(labels) != users.tolist():
            by_user, plain = f"{name}.reindex(users)", f"{name}.to_numpy()"
            if isinstance(value, Mapping):
                by_user, plain = f"[{name}[user] for user in users]", f"[*{name}.values()]"
            raise ValueError(
                f"{name} has other labels than users, or in another order; align it, as in "
                f"{name} = {by_user}, or pass {plain} in the order of users"
            )


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of the same numbers that cannot be changed."""
    view = array.view()
    view.flags.writeable = False
    return view
