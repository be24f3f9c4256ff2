"""Self-checks of the book's exercises: right or wrong, without showing the answer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from numbers import Integral, Real

import numpy as np
import pandas as pd

__all__ = ["Answer"]


class Answer:
    """The answer of an exercise, known only by its digests: call it to check another answer.

    Whole numbers, truth values, names and missing values must agree exactly, other numbers to
    one unit in the third significant digit; below 1e-12 they count as 0.
    Arrays, tables, lists and dicts (their values) are checked entry by entry.

    Parameters
    ----------
    digests : str
        One digest per entry of the right answer, separated by blanks, as `Answer.digests` makes
        them.

    Examples
    --------
    >>> Answer.digests(4321, 0.0123)
    '40d1 6af3'
    >>> check = Answer("40d1 6af3")
    >>> check(4321, 0.012345)
    Right.
    >>> check(4320, 0.0123)
    Not yet: 1 of 2 entries is right.
    >>> check(...)
    No answer yet.
    """

    def __init__(self, digests: str) -> None:
        self._digests = digests.split()

    def __call__(self, *answer: object) -> None:
        """Print whether `answer` is right; if it has several entries, how many of them are."""
        entries = list(_entries(answer))
        if any(entry is ... or entry is None for entry in entries):
            print("No answer yet.")
            return
        if len(entries) != len(self._digests):
            print(f"Not yet: the answer has {len(self._digests)} entries, yours {len(entries)}.")
            return
        right = sum(
            any(_digest(place, text) == digest for text in _readings(entry))
            for place, (entry, digest) in enumerate(zip(entries, self._digests, strict=True))
        )
        if right == len(entries):
            print("Right.")
        elif len(entries) == 1:
            print("Not yet.")
        else:
            verb = "is" if right == 1 else "are"
            print(f"Not yet: {right} of {len(entries)} entries {verb} right.")

    @staticmethod
    def digests(*answer: object) -> str:
        """Return the digests of a right answer, for the author of an exercise."""
        return " ".join(
            _digest(place, _readings(entry)[0]) for place, entry in enumerate(_entries(answer))
        )


def _entries(answer: object) -> Iterator[object]:
    """Flatten what an answer may be made of."""
    if isinstance(answer, dict):
        answer = list(answer.values())
    if isinstance(answer, pd.DataFrame | pd.Series):
        answer = answer.to_numpy()
    if isinstance(answer, np.ndarray):
        answer = answer.ravel().tolist()
    if isinstance(answer, list | tuple):
        for part in answer:
            yield from _entries(part)
    else:
        yield answer.item() if isinstance(answer, np.generic) else answer


def _readings(entry: object) -> list[str]:
    """Return what an entry may be taken for, itself first."""
    if isinstance(entry, bool) or not isinstance(entry, Real):
        return [" ".join(str(entry).casefold().split())]
    if isinstance(entry, Integral):
        return [str(int(entry)), *_rounded(float(entry))]
    value = float(entry)
    return [*_rounded(value), *([str(int(value))] if value.is_integer() else [])]


def _rounded(value: float) -> list[str]:
    """Return `value` to three significant digits, and one unit in the last of them off."""
    if abs(value) < 1e-12:
        return ["0"]
    rounded = f"{value:.2e}"
    if not np.isfinite(value):
        return [rounded]
    unit = 10.0 ** (int(rounded.partition("e")[2]) - 2)
    steps = (-unit, -unit / 10, unit / 10, unit)  # below a power of ten the unit is a tenth
    return [rounded, *(f"{float(rounded) + step:.2e}" for step in steps)]


def _digest(place: int, text: str) -> str:
    return hashlib.sha256(f"{place}: {text}".encode()).hexdigest()[:4]
