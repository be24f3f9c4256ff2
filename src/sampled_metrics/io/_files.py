"""Tab separated text to whole numbers, a bounded piece at a time."""

from __future__ import annotations

import gzip
import os
import warnings
import zlib
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._arguments import LARGEST_ID

LINES_AT_ONCE = 2**16


def open_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text file, plain or gzip compressed."""
    opener: Any = gzip.open if path.suffix == ".gz" else open
    try:
        # What is not UTF-8 is replaced: in a number it is found, elsewhere it does not matter.
        with opener(path, "rt", encoding="utf-8-sig", errors="replace") as lines:
            yield from lines
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path} cannot be unpacked: {error}") from error


def read_integers(
    path: str | os.PathLike[str], lines: Iterable[str], n_numbers: int, *, more: bool = False
) -> NDArray[np.int32]:
    """Return whole numbers from tab separated lines, one row of the result for each column.

    All lines must have `n_numbers` columns; with `more`, at least so many, and all the same number.
    """
    tables: list[NDArray[np.int32]] = []
    lines, n_columns, n_lines = iter(lines), n_numbers, 0
    while batch := list(islice(lines, LINES_AT_ONCE)):
        if more and not tables:
            n_columns = max(batch[0].count("\t") + 1, n_numbers)
        try:
            if {line.count("\t") + 1 for line in batch} != {n_columns}:
                raise ValueError("lines have different numbers of columns")
            tables.append(_parse(batch, n_numbers))
        except ValueError as error:
            _blame_line(path, batch, n_lines, n_numbers, n_columns)
            raise ValueError(f"{path} cannot be read: {error}") from error
        n_lines += len(batch)
    if not tables:
        raise ValueError(f"{path} is empty")
    return np.concatenate(tables, axis=1)


def _parse(lines: list[str], n_numbers: int) -> NDArray[np.int32]:
    with warnings.catch_warnings():
        # Some versions of NumPy read 2.5 as 2 and warn.
        warnings.simplefilter("error", DeprecationWarning)
        try:
            table = np.loadtxt(
                lines, np.int64, comments=None, delimiter="\t", usecols=range(n_numbers), ndmin=2
            )
        except DeprecationWarning as error:
            raise ValueError(str(error)) from error
    if table.shape[0] != len(lines) or ((table < 0) | (table > LARGEST_ID)).any():
        raise ValueError(f"numbers must be in 0..{LARGEST_ID}")
    return np.ascontiguousarray(table.T, dtype=np.int32)


def _blame_line(
    path: str | os.PathLike[str], lines: list[str], start: int, n_numbers: int, n_columns: int
) -> None:
    """Raise for the first line that has not the columns and whole numbers that it should."""
    for number, line in enumerate(lines, start + 1):
        text = line.rstrip("\n")
        fields = text.split("\t")
        problem = ""
        if len(fields) != n_columns:
            problem = f"{n_columns} columns expected, {len(fields)} found"
        for column, field in enumerate(fields[:n_numbers], start=1):
            try:
                _parse([f"{field}\t"], 1)  # with a tab, as an empty line would be skipped
            except ValueError:
                header = number == 1 and field[:1].isalpha()
                problem = problem or (
                    f"column {column} must be a whole number in 0..{LARGEST_ID}"
                    f"{'; remove the header line' if header else ''}"
                )
        if problem:
            raise ValueError(f"{path}, line {number}: {problem}: {text[:80]!r}")
