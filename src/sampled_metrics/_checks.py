"""What a caller can get wrong, said clearly: one place for the checks that every module needs."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

LARGEST = 2**53
"""The largest integer up to which a float64 tells every integer from the next."""


def refuse(name: str, array: NDArray[np.generic], bad: NDArray[np.bool_], rule: str) -> NoReturn:
    """Raise the error for the first entry of `array` that is `bad`."""
    place = tuple(int(i) for i in np.argwhere(bad)[0])
    where = f"{name}[{', '.join(map(str, place))}]" if place else name
    raise ValueError(f"{where} is {array[place]}; {name} must be {rule}")


def as_integers(
    name: str,
    values: ArrayLike,
    low: int = 1,
    high: IntArray | int = LARGEST,
    high_name: str = "2**53",
) -> IntArray:
    """Return `values` as int64, or say which entry is not a whole number from `low` to `high`."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} is ragged; {name} must be one rectangular array") from error
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            fractional = ~(np.isfinite(array) & (array == np.floor(array)))
        if fractional.any():
            refuse(name, array, fractional, "whole")
    elif array.dtype.kind not in "iu":
        raise ValueError(f"{name} has dtype {array.dtype}; {name} must be whole numbers")
    if (array < low).any():
        refuse(name, array, array < low, f"at least {low}")
    if (too_high := np.broadcast_to(array > high, array.shape)).any():
        refuse(name, array, too_high, f"at most {high_name}")
    return array.astype(np.int64)


def as_integer(name: str, value: object, low: int = 1) -> int:
    """Return `value` as an int, or say why it is not one whole number of at least `low`."""
    array = as_integers(name, value, low)  # type: ignore[arg-type]
    if array.ndim or not array.size:
        raise ValueError(f"{name} is {value!r}; {name} must be one whole number")
    return int(array)


def one_or_one_each(name: str, values: ArrayLike, shape: tuple[int, ...], low: int) -> IntArray:
    """Return `values` as integers of the given shape: one for all ranks, or one per rank."""
    array = as_integers(name, values, low)
    try:
        return np.broadcast_to(array, shape)
    except ValueError as error:
        raise ValueError(
            f"{name} has shape {array.shape}, ranks has shape {shape}; "
            f"{name} must be one number or one per rank"
        ) from error


def as_generator(rng: np.random.Generator | int | None) -> np.random.Generator:
    """Return a Generator; insist on a seed, so that every draw can be repeated."""
    if rng is None:
        raise ValueError("rng is None; rng must be an integer seed or a numpy.random.Generator")
    if isinstance(rng, np.random.Generator):
        return rng
    return np.random.default_rng(as_integer("rng", rng, low=0))


def as_flag(name: str, value: object) -> bool:
    """Return True or False, and take nothing else for either."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is {value!r}; {name} must be True or False")
    return bool(value)


def as_number(name: str, value: object, zero: bool = False) -> float:
    """Return `value` as a float, or say why it is not a positive number (or `zero`)."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise ValueError(f"{name} is {value!r}; {name} must be a number")
    number = float(value)
    if not (0 < number < np.inf or (zero and number == 0)):
        raise ValueError(f"{name} is {value}; {name} must be positive{' or 0' if zero else ''}")
    return number


def as_probabilities(name: str, values: ArrayLike) -> FloatArray:
    """Return `values` as one flat array of probabilities that sum to 1."""
    try:
        given = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} is ragged; it must be one array of numbers") from error
    if given.dtype.kind not in "fiu":
        raise ValueError(f"{name} has dtype {given.dtype}; it must be one array of numbers")
    if given.ndim != 1:
        raise ValueError(f"{name} has shape {given.shape}; it must be one flat array")
    p: FloatArray = given.astype(np.float64)
    if (bad := ~(p >= 0)).any():
        refuse(name, p, bad, "0 or above")
    if not abs(p.sum() - 1) < 1e-6:
        raise ValueError(f"{name} sums to {p.sum()}; it must sum to 1")
    return p


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of the same numbers that cannot be changed."""
    view = array.view()
    view.flags.writeable = False
    return view


def as_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Say which names are allowed if `value` is none of them."""
    if value not in choices:
        raise ValueError(f"{name} is {value!r}; {name} must be one of {', '.join(choices)}")
