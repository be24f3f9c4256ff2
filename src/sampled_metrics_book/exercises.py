"""Self-checks of the book's exercises: which entries of an answer are right.

The right answers are in ``answers.toml``. The pages of the site check answers by the same rules, in
``book/_static/answers.js``.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

RIGHT = tomllib.loads((files(__package__) / "answers.toml").read_text(encoding="utf-8"))
GROUPS = re.compile("(?<=[0-9])[ ,_](?=[0-9]{3}(?![0-9]))")  # in 1,234 and 12 345 and 1_000_000
DIGITS = r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?"
NUMBER = re.compile(f"({DIGITS})(?: ?/ ?({DIGITS}))? ?(%?)")
ADVICE = "Write a number as in 0.5, 1/2, 50 % or 1,234."


class Answer:
    """The right answer of an exercise: call it to check another answer.

    Whole numbers, truth values (1 is True, 0 is False) and texts must agree exactly; where the
    right answer has a decimal point, to one unit in the third significant digit. A text that reads
    as a number is this number: ".5", "1/2", "50 %", "1,234".
    Arrays, tables, lists and dicts are checked entry by entry, found by the labels of the answer if
    they have them, otherwise by their order; `...` is an entry that is not filled in.

    Parameters
    ----------
    right : str, dict, float or bool
        The name of one of the book's exercises; or the right answer itself: one entry, or a dict
        that holds each entry by its label. In a table's dict there is a dict for each row.
    percent : bool, default False
        Whether the exercise asks for percent: "50 %" then counts as 50, else as 0.5.

    Attributes
    ----------
    accepted : list
        What is right for each entry: True or False, a text, or the least and the largest number.
    labels : list of str
        The name of each entry.

    Examples
    --------
    >>> check = Answer({"users": 4321, "error": 0.0123})
    >>> check(4321, 0.01234)
    Right.
    >>> check({"error": "1.23 %", "users": 4320})
    Not yet. Right: error. Wrong: users.
    >>> check(4321, ...)
    Not yet. Right: users. Still open: error.
    >>> check(4321, "0,0123")
    Not yet. Right: users. Wrong: error. Write a number as in 0.5, 1/2, 50 % or 1,234.
    >>> check(4321, 1.23)
    Not yet. Right: users. Wrong: error. Did you mean 0.0123?
    """

    def __init__(self, right: object, *, percent: bool = False) -> None:
        if isinstance(right, str) and right not in RIGHT:
            raise ValueError(f"answers.toml has no exercise {right!r}")
        self._right = RIGHT[right] if isinstance(right, str) else right
        self._percent = percent
        leaves = dict(_leaves(self._right))
        self.labels = list(leaves)
        self.accepted = list(map(_accepted, leaves.values()))

    def __call__(self, *answer: object) -> None:
        """Print which entries of `answer` are right, which are wrong and which are missing."""
        given = _by_label(answer[0], self._right) if len(answer) == 1 else answer
        entries = [_read(entry, percent=self._percent) for entry in _entries(given)]
        if entries.count(None) == 1:  # one `...` may stand for several entries
            place = entries.index(None)
            entries[place:place] = [None] * (len(self.accepted) - len(entries))
        if entries.count(None) == len(entries):
            print("No answer yet.")
        elif len(entries) != len(self.accepted):
            print(f"Not yet: the answer has {len(self.accepted)} entries, yours {len(entries)}.")
        else:
            print(self._told(entries))

    def _told(self, entries: list[Any]) -> str:
        """Say which entries are right, and how to write a number if there is none in its place."""
        pairs = list(zip(self.accepted, entries, strict=True))
        right = [_is_right(*pair) for pair in pairs]
        if all(right):
            return "Right."
        said = ["Not yet."]
        for kind, which in {"Right": True, "Wrong": False, "Still open": None}.items():
            names = [label for label, one in zip(self.labels, right, strict=True) if one is which]
            if names and len(right) > 1:
                said.append(f"{kind}: {'; '.join(names)}.")
        meant = (_meant(*pair, percent=self._percent) for pair in pairs)
        said += [f"Did you mean {number:.10g}?" for number in meant if number is not None]
        if any(isinstance(one, tuple) and isinstance(entry, str) for one, entry in pairs):
            said.append(ADVICE)
        return " ".join(said)


def _leaves(right: object, *names: str) -> Iterator[tuple[str, Any]]:
    """Go through the entries of the right answer, with their labels."""
    if isinstance(right, dict):
        for name, part in right.items():
            yield from _leaves(part, *names, name)
    else:
        yield ": ".join(names) or "answer", right


def _accepted(entry: Any) -> bool | str | tuple[float, float]:
    """Return what is right where `entry` is: itself, or all numbers near enough to it."""
    if isinstance(entry, bool):
        return entry
    if isinstance(entry, str):
        return _text(entry)
    off = 1e-12  # a rounding error
    if isinstance(entry, float) and abs(entry) > off:
        off = 10.0 ** (math.ceil(math.log10(abs(entry))) - 3)  # 0.1 is no 0.099: as for 0.0999
    return entry - off, entry + off


def _is_right(accepted: Any, entry: Any) -> bool | None:
    """Return whether the entry is accepted; None if there is none yet."""
    if entry is None:
        return None
    if isinstance(accepted, bool):
        return entry in (str(accepted).lower(), int(accepted))
    if isinstance(accepted, str):
        return bool(entry == accepted)
    return not isinstance(entry, str) and bool(accepted[0] <= entry <= accepted[1])


def _meant(accepted: Any, entry: Any, *, percent: bool) -> float | None:
    """Return the right number if the entry is a share instead of a percentage, or vice versa."""
    most = 1 if percent else 100
    if _is_right(accepted, entry) is not False or isinstance(accepted, bool | str):
        return None
    if isinstance(entry, str) or not most / 1e4 <= abs(entry) <= most:
        return None
    number = float(entry * 100 if percent else entry / 100)
    return number if _is_right(accepted, number) else None


def _by_label(given: object, right: object) -> object:
    """Put the entries into the answer's order if they have its labels; else leave them as is."""
    if isinstance(right, dict):
        for table in _tables(given):
            named = {_text(label): part for label, part in table.items()}
            if len(named) == len(table) and set(named) <= set(map(_text, right)):
                return [_by_label(named.get(_text(name), ...), right[name]) for name in right]
    return given


def _tables(given: object) -> list[dict[Any, Any]]:
    """Return what is labeled as a dict; a frame by its rows, and by its columns."""
    if _is_missing(given):
        return [{}]
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
    return entry is ... or entry is None or (isinstance(entry, str) and not _text(entry))


def _text(entry: object) -> str:
    """Return a text as it is compared: the choice (c) is c."""
    text = re.sub(r"[\s()]+", " ", str(entry)).strip().lower()
    return text.replace("\N{MINUS SIGN}", "-").replace("\N{INFINITY}", "inf")


def _read(entry: object, *, percent: bool) -> Any:
    """Return the number or the text that an entry is; None if it is not filled in."""
    if _is_missing(entry):
        return None
    if isinstance(entry, Real) and not isinstance(entry, bool) and abs(entry) != math.inf:
        return entry
    text = _text(entry)
    match = NUMBER.fullmatch(GROUPS.sub("", text))
    if not match or float(match[2] or 1) == 0:
        return text
    return float(match[1]) / float(match[2] or 1) / (100 if match[3] and not percent else 1)
