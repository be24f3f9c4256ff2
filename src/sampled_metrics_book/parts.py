"""What the page that opens a part says of its chapters."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Mapping


def reading_times(
    reading: Mapping[str, int], levels: Mapping[str, int], folder: str | Path = "."
) -> pd.DataFrame:
    r"""Estimate the minutes that chapters take: for reading, and for their exercises.

    Parameters
    ----------
    reading : dict of str to int
        For each chapter, by the name of its page, the minutes for reading.
    levels : dict of str to int
        For each difficulty, the minutes that an exercise takes.
    folder : path, optional
        Where the sources of the pages are; titles and exercises are read there.

    Returns
    -------
    DataFrame
        A row for each chapter, with the columns ``reading``, ``exercises`` (minutes) and
        ``difficulty`` (of each exercise).

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = "# What is a rank?\n\n**(easy)** One.\n\n**(hard)** Two.\n"
    ...     _ = Path(folder, "ranks.md").write_text(page)
    ...     times = reading_times({"ranks": 25}, {"easy": 10, "hard": 40}, folder)
    >>> times.to_numpy().tolist()
    [[25, 50, 'easy, hard']]
    """
    rows = []
    for page, minutes in reading.items():
        source = Path(folder, f"{page}.md").read_text(encoding="utf-8")
        (title,) = re.findall("^# (.*)", source, re.M)[:1]
        found = re.findall(r"^\*\*\((\w+)\)\*\*", source, re.M)
        title = title.replace("'", "\N{RIGHT SINGLE QUOTATION MARK}")  # as in the text
        exercises = sum(levels[level] for level in found)
        rows.append((title, minutes, exercises, ", ".join(found) or "none"))
    columns = ["chapter", "reading", "exercises", "difficulty"]
    return pd.DataFrame(rows, columns=columns).set_index("chapter")
