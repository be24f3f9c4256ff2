"""Files of text: read whole, and as tables of whole numbers."""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sampled_metrics._arguments import LARGEST_ID

if TYPE_CHECKING:
    import pandas as pd

# As Python writes it. pandas would read 07 as 7, too, and they may be two ids.
NUMBER = "(?:0|[1-9][0-9]{0,9})"


def read_text(path: Path) -> str:
    """Return the text of a file, plain or gzip compressed."""
    opener: Any = gzip.open if path.suffix == ".gz" else open
    try:
        # What is not UTF-8 is replaced: in a number it is found, elsewhere it does not matter.
        with opener(path, "rt", encoding="utf-8-sig", errors="replace") as file:
            return str(file.read())
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path} cannot be unpacked: {error}") from error


def read_integers(
    path: str | os.PathLike[str], text: str, names: list[str], *, more: bool = False
) -> pd.DataFrame:
    """Return whole numbers from tab separated text, as columns of these names.

    Each line must have these columns; with `more`, the file may have further ones, which are
    ignored: as many in each line, since a line that broke off may end within a number.
    """
    import pandas as pd

    if not text:
        raise ValueError(f"{path} is empty")
    n_columns = len(names)
    if more:
        n_columns = max(text.partition("\n")[0].count("\t") + 1, n_columns)
    line = "\t".join([NUMBER] * len(names) + ["[^\t\n]*"] * (n_columns - len(names)))
    if wrong := re.search(rf"\n(?!{line}$|\Z)", f"\n{text}", re.MULTILINE):
        _refuse_line(path, text, text.count("\n", 0, wrong.start()), n_columns)
    table = pd.read_csv(
        io.StringIO(text),
        sep="\t",
        header=None,
        names=names,
        index_col=False,
        usecols=range(len(names)),
        dtype=np.int64,
        quoting=csv.QUOTE_NONE,
    )
    for row in np.flatnonzero((table > LARGEST_ID).any(axis=1))[:1]:
        _refuse_line(path, text, row, n_columns)
    return table


def _refuse_line(path: str | os.PathLike[str], text: str, row: int, n_columns: int) -> None:
    """Raise the error for a line that has not the columns and whole numbers that it should."""
    fields = (line := text.split("\n")[row]).split("\t")
    problem = f"{n_columns} columns expected, {len(fields)} found"
    if len(fields) == n_columns:
        fits = [bool(re.fullmatch(NUMBER, x) and int(x) <= LARGEST_ID) for x in fields]
        column = fits.index(False)
        is_header = row == 0 and fields[column][:1].isalpha()
        remedy = "; remove the header line" if is_header else ", as in 7, not 07 or 7.0"
        problem = f"column {column + 1} must be a whole number in 0..{LARGEST_ID}{remedy}"
    raise ValueError(f"{path}, line {row + 1}: {problem}: {line[:80]!r}")
