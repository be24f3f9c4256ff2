"""Self-checks of the book's exercises: which entries are right, without showing the answer.

The pages of the site check answers by the same rules, in ``book/_static/answers.js``.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator
from itertools import product
from numbers import Integral, Real

import numpy as np
import pandas as pd

__all__ = ["Answer"]

BLANKS = re.compile("[ \t\n\r\f\v\u00a0\u2000-\u200a\u202f\u3000]+")
LETTER = re.compile(r"^\(?([a-z])\)$")  # a choice: (c) is c
GROUPS = re.compile("([0-9])[ ,_](?=[0-9]{3}(?![0-9]))")  # in 1,234 and 12 345 and 1_000_000
DIGITS = r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|nan)"
NUMBER = re.compile(f"({DIGITS})(?: ?/ ?({DIGITS}))? ?(%?)")
# A number written with a decimal comma, or with its unit
MISWRITTEN = re.compile(r"([+-]?[0-9]*)(?:[.,]([0-9]+))?( ?%)?[^0-9]*")


class Answer:
    """The answer of an exercise, known only by its digests: call it to check another answer.

    Whole numbers, truth values, names and missing values must agree exactly. Other numbers must
    agree to one unit in the third significant digit; numbers below 1e-12 count as 0.
    Where the answer is True or False, 1 counts as True and 0 as False.
    A text that reads as a number is this number: ".5", "1/2", "50 %", "1,234".
    Arrays, tables, lists and dicts are checked entry by entry; entries that are not filled in are
    reported as missing. If a dict, Series or frame has the labels of the answer, entries are found
    by them, otherwise by their order.

    Parameters
    ----------
    digests : str
        One digest per entry of the right answer, separated by blanks, as `Answer.digests` makes
        them.
    *labels : str
        The names of the entries, separated by commas. If the answer is a table, the labels of its
        rows come first, and then those of its columns.
    percent : bool, default False
        Whether the exercise asks for percent: "50 %" then counts as 50, else as 0.5.

    Attributes
    ----------
    labels : list of str
        The name of each entry.

    Examples
    --------
    >>> Answer.digests(4321, 0.0123)
    '40d1 6af3'
    >>> check = Answer("40d1 6af3", "users, error")
    >>> check(4321, 0.012345)
    Right.
    >>> check({"error": "1.23 %", "users": 4320})
    Not yet. Right: error. Wrong: users.
    >>> check(4321, ...)
    Not yet. Right: users. Still open: error.
    >>> check(4321, "0,0123")
    Not yet. Right: users. Wrong: error. Write 0.0123, not "0,0123".
    """

    def __init__(self, digests: str, *labels: str, percent: bool = False) -> None:
        self._digests = digests.split()
        self._axes = [axis.split(", ") for axis in labels]
        self._percent = percent
        n_entries = len(self._digests)
        self.labels = [": ".join(names) for names in product(*self._axes)]
        if not labels:
            self.labels = [f"entry {place + 1}" for place in range(n_entries)]
        if len(self.labels) != n_entries:
            raise ValueError(
                f"labels names {len(self.labels)} entries, digests has {n_entries}; "
                "give each entry a label, or none"
            )

    def __call__(self, *answer: object) -> None:
        """Print which entries of `answer` are right, which are wrong and which are missing."""
        entries = list(_entries(_by_label(answer[0], self._axes) if len(answer) == 1 else answer))
        missing = [place for place, entry in enumerate(entries) if _is_missing(entry)]
        if len(missing) == 1:  # one `...` may stand for several entries
            more = len(self._digests) - len(entries)
            entries[missing[0] : missing[0]] = [...] * more
        if all(map(_is_missing, entries)):
            print("No answer yet.")
        elif len(entries) != len(self._digests):
            print(f"Not yet: the answer has {len(self._digests)} entries, yours {len(entries)}.")
        else:
            right = [self._is_right(*entry) for entry in enumerate(entries)]
            print(_told(self.labels, right, entries))

    def _is_right(self, place: int, entry: object) -> bool | None:
        """Return whether the entry is the one with this digest; None if there is none yet."""
        if _is_missing(entry):
            return None
        texts = _readings(entry, percent=self._percent)
        return self._digests[place] in [_digest(place, text) for text in texts]

    @staticmethod
    def digests(*answer: object) -> str:
        """Return the digests of a right answer, for the author of an exercise."""
        return " ".join(
            _digest(place, _readings(entry, percent=False)[0])
            for place, entry in enumerate(_entries(answer))
        )


def _told(labels: list[str], right: list[bool | None], entries: list[object]) -> str:
    """Say which entries are right, and which are to be written in another way."""
    if all(right):
        return "Right."
    wrong = [entry for entry, is_right in zip(entries, right, strict=True) if is_right is False]
    texts = [_text(entry) for entry in wrong if isinstance(entry, str)]
    advice = [f'Write {form}, not "{text}".' for text in texts if (form := _rewritten(text))]
    if len(right) == 1:
        return " ".join(["Not yet.", *advice])
    kinds = {"Right": True, "Wrong": False, "Still open": None}
    named = {
        kind: [label for label, is_right in zip(labels, right, strict=True) if is_right is which]
        for kind, which in kinds.items()
    }
    parts = [f"{kind}: {'; '.join(names)}." for kind, names in named.items() if names]
    return " ".join(["Not yet.", *parts, *advice])


def _by_label(given: object, axes: list[list[str]]) -> object:
    """Put the entries into the answer's order if they have its labels; else leave them as is."""
    if not axes:
        return given
    if _is_missing(given):
        return [...] * math.prod(map(len, axes))
    names = [_text(name) for name in axes[0]]
    for table in _tables(given):
        named = {_text(label): part for label, part in table.items()}
        if len(named) == len(table) and set(named) <= set(names):
            return [_by_label(named.get(name, ...), axes[1:]) for name in names]
    return given


def _tables(given: object) -> list[dict[object, object]]:
    """Return what is labeled as a dict; a frame by its rows, and by its columns."""
    if isinstance(given, dict):
        return [given]
    if isinstance(given, pd.Series) and given.index.is_unique:
        return [given.to_dict()]
    if isinstance(given, pd.DataFrame) and given.index.is_unique and given.columns.is_unique:
        return [given.to_dict("index"), given.to_dict()]
    return []


def _entries(answer: object) -> Iterator[object]:
    """Flatten what an answer may be made of."""
    if isinstance(answer, dict):
        answer = list(answer.values())
    if isinstance(answer, pd.DataFrame | pd.Series | pd.Index):
        answer = answer.to_numpy()
    if isinstance(answer, np.ndarray):
        answer = answer.ravel().tolist()
    if isinstance(answer, list | tuple):
        for part in answer:
            yield from _entries(part)
    else:
        yield answer.item() if isinstance(answer, np.generic) else answer


def _is_missing(entry: object) -> bool:
    return entry is ... or entry is None or (isinstance(entry, str) and _text(entry) == "")


def _readings(entry: object, *, percent: bool) -> list[str]:
    """Return what an entry may be taken for, itself first."""
    if isinstance(entry, str):
        entry = _number(_text(entry), percent=percent)
    if isinstance(entry, bool) or not isinstance(entry, Real):
        return [_text(entry)]
    value = float(entry)
    truth = [str(value == 1).lower()] if value in (0, 1) else []
    if isinstance(entry, Integral):
        return [str(int(entry)), *_rounded(value), *truth]
    return [*_rounded(value), *([str(int(value))] if value.is_integer() else []), *truth]


def _text(entry: object) -> str:
    return LETTER.sub(r"\1", BLANKS.sub(" ", str(entry)).strip(" ").lower())


def _unified(text: str) -> str:
    return text.replace("\N{MINUS SIGN}", "-").replace("\N{INFINITY}", "inf")


def _rewritten(text: str) -> str | None:
    """Return how to write what seems to be meant as a number and is not read as that; or None."""
    plain = _unified(text)
    if not re.match(r"[+-]?0+,", plain):  # in 0,123 the comma does not separate thousands
        plain = GROUPS.sub(r"\1", plain)
        if NUMBER.fullmatch(plain):
            return None
    match = MISWRITTEN.fullmatch(plain)
    if not match or not re.search("[0-9]", match[1] + (match[2] or "")):
        return None
    whole, part, percent = match.groups(default="")
    return whole + (f".{part}" if part else "") + percent.strip()


def _number(text: str, *, percent: bool) -> float | str:
    """Return the number that a text reads as, or else the text."""
    match = NUMBER.fullmatch(GROUPS.sub(r"\1", _unified(text)))
    if not match:
        return text
    above, below = float(match[1]), float(match[2] or 1)
    if below == 0:
        return text
    value = above / below / (100 if match[3] and not percent else 1)
    return int(value) if value.is_integer() and match[0].lstrip("+-").isdigit() else value


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
