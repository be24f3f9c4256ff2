"""Columns of tables, of any library and of files: the one place that knows what a table is."""

from __future__ import annotations

import csv
import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from errno import ENOENT
from importlib.util import find_spec
from io import StringIO
from numbers import Number
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._arguments import IntArray, as_path, is_real, is_table, reject, rounded, shown
from sampled_metrics.io._files import read_text

if TYPE_CHECKING:
    import narwhals as nw
    import pandas as pd
    from narwhals.typing import IntoFrame

    TableLike = IntoFrame | str | os.PathLike[str]

FILES = (".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz")
TRUTH = {"True": 1, "False": 0, "true": 1, "false": 0, "TRUE": 1, "FALSE": 0}
PLAIN_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")


@dataclass(frozen=True)
class Ids:
    """A column of ids, as numbers from 0 and the distinct ids that these stand for."""

    codes: IntArray
    names: NDArray[Any]  # of int64, or of objects of one type

    @property
    def kind(self) -> str:
        """What the ids are, for an error; "" if there are none."""
        if not len(self.names):
            return ""
        if self.names.dtype.kind != "O":
            return "integers"
        kind = type(self.names[0]).__name__
        return "strings" if kind == "str" else f"values of type {kind}"

    def name(self, i: int) -> Any:
        """Return the id in row i."""
        return self.names.tolist()[self.codes[i]]


def plain_integers(names: Sequence[Any] | NDArray[Any]) -> IntArray | None:
    """Return the integers that names in a file of text are; None if one is none."""
    if not all(map(PLAIN_INTEGER.fullmatch, names)):
        return None
    try:
        return np.fromiter(map(int, names), np.int64, len(names))
    except OverflowError:
        return None


@dataclass(frozen=True)
class Table:
    """Some columns of a table, by the keywords with which the caller named them."""

    name: str  # the argument
    frame: nw.DataFrame[Any]
    columns: dict[str, str]  # from keyword to column, of those that are there
    there: list[str]  # all columns of the table
    is_text: bool  # whether ids were read from text, which does not tell "1" from 1

    def __len__(self) -> int:
        return len(self.frame)

    def __contains__(self, keyword: str) -> bool:
        return keyword in self.columns

    def ids(self, keyword: str) -> Ids:
        """Return the ids in a column; none may be missing."""
        import pandas as pd

        series = self.frame[self.columns[keyword]]
        native = series.to_native()
        given = native if isinstance(native, pd.Series) else series.to_numpy()
        ids = number(given, self.at(keyword))
        integers = plain_integers(ids.names) if self.is_text else None
        return ids if integers is None else Ids(ids.codes, integers)

    def at(self, keyword: str) -> Callable[[int], str]:
        """Return what names a cell of a column in an error, by its row."""
        return lambda i: f"{self.name}, row {i}: {self.columns[keyword]!r}"

    def numbers(self, keyword: str) -> NDArray[Any]:
        """Return the numbers in a column, NaN for those that are missing."""
        import narwhals as nw

        series, at = self.frame[self.columns[keyword]], self.at(keyword)
        if self.is_text:
            return as_numbers(np.fromiter(map(_in_text, series), object, len(series)), at)
        is_decimal = series.dtype.is_decimal()
        values = (series.cast(nw.Float64()) if is_decimal else series).to_numpy()
        numbers = as_numbers(values, at)
        if (is_decimal or series.dtype.is_integer()) and rounded(numbers).any():
            _check_exact(numbers, series.to_list(), at)
        return numbers


def column_names(**columns: str) -> dict[str, str]:
    """Return names of columns by their keywords, or say which is none."""
    for key, column in columns.items():
        if not isinstance(column, str):
            reject(key, column, "the name of a column")
    return columns


def found_columns(
    name: str, there: list[str], required: Mapping[str, str], optional: Mapping[str, str]
) -> dict[str, str]:
    """Return which columns are there, by keyword; refuse one that is not, or has two keywords."""
    asked = {**required, **optional}
    by_column = {column: keyword for keyword, column in asked.items()}
    for keyword, column in asked.items():
        if (other := by_column[column]) != keyword:
            raise ValueError(f"{keyword} and {other} are both {column!r}; they are two columns")
        if keyword in required and column not in there:
            alike = [repr(other) for other in there if keyword in str(other).lower()]
            apart = ", or give relevant=..." if (name, keyword) == ("scores", "relevance") else ""
            raise ValueError(
                f"{name} has no column {column!r}, only {', '.join(map(repr, there)) or 'none'}; "
                f"say which column it is, as in {keyword}={[*alike, '...'][0]}{apart}"
            )
    return {keyword: column for keyword, column in asked.items() if column in there}


def refuse_unreadable(name: str, given: object, error: Exception) -> NoReturn:
    """Raise the error for a table from which its own library gets no columns."""
    why = " ".join(str(error).split())
    raise ValueError(f"{name} is a {type(given).__name__} that cannot be read: {why}") from error


def open_table(
    name: str,
    given: object,
    required: Mapping[str, str],
    optional: Mapping[str, str] | None = None,
    *,
    whole: bool = False,
) -> Table:
    """Return the columns of a table, or say which is not there.

    `required` and `optional` say which keyword names which column; the frame has no others, unless
    it is to be `whole`.
    """
    import narwhals as nw

    if not is_table(given):
        reject(name, given, "a table whose columns have names, or the path of one")
    path = as_table_path(name, given) if isinstance(given, str | os.PathLike) else None
    files = [] if path is None else _parts(path)
    native: Any = given if path is None else _read(files)
    try:
        frame = nw.from_native(native)
        there = frame.collect_schema().names()
    except (TypeError, nw.exceptions.NarwhalsError) as error:
        refuse_unreadable(name, given, error)
    found = found_columns(name, there, required, optional or {})
    frame = frame if whole else frame.select(*found.values())
    if isinstance(frame, nw.LazyFrame):
        if frame.implementation.is_spark_like():
            where = "count where it is, with sampled_metrics.io.engines"
            raise ValueError(
                f"{name} is a DataFrame of Spark; {where}, or collect it on this machine yourself, "
                f"with {name}.toPandas()"
            )
        frame = frame.collect()
    return Table(name, frame, found, there, any(file.suffix != ".parquet" for file in files))


def parquet_backend() -> str:
    """Return the library that reads and writes parquet."""
    for library in ("pyarrow", "polars"):
        if find_spec(library):
            return library
    raise ImportError('parquet needs pyarrow or polars: pip install "sampled-metrics[tables]"')


def _parts(path: Path) -> list[Path]:
    """Return the files of one table: those in a folder, those of a pattern, or the one file."""
    files = [path] if path.exists() else sorted(path.parent.glob(path.name))
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.name.endswith(FILES))
        if not files:
            raise ValueError(f"{path} is a folder without a {' or '.join(FILES)} file")
    if not files:
        raise FileNotFoundError(ENOENT, os.strerror(ENOENT), str(path))
    if len({file.suffix == ".parquet" for file in files}) > 1:
        raise ValueError(f"{path} holds parquet and text files; keep one of the two")
    return files


def _read(files: list[Path]) -> Any:
    """Return the table that files hold together."""
    import narwhals as nw

    frames: list[Any] = []
    try:
        for path in files:
            if path.suffix == ".parquet":
                backend: Any = parquet_backend()
                frames.append(nw.read_parquet(str(path), backend=backend))
            else:
                frames.append(nw.from_native(_read_csv(path)))
        return (nw.concat(frames) if len(frames) > 1 else frames[0]).to_native()
    except (OSError, ImportError):
        raise
    except Exception as error:  # each library has its own
        why = " ".join(str(error).split())
        raise ValueError(f"{path} cannot be read as a {path.suffix[1:]} file: {why}") from error


def as_table_path(name: str, given: object) -> Path:
    """Return the path of a file, which need not exist, if its name says what it holds."""
    path = as_path(name, given)
    # isdir: a Path makes the folder "." of "", and asks in vain for a name that is too long.
    if not (path.name.endswith(FILES) or os.path.isdir(str(given))):
        reject(name, str(path), f"the name of a {' or '.join(FILES)} file")
    return path


def _read_csv(path: Path) -> pd.DataFrame:
    """Read a file of text as text: how its columns are meant is known only where they are used."""
    import pandas as pd

    separator = "\t" if ".tsv" in path.suffixes else ","
    header = pd.read_csv(
        path, sep=separator, header=None, nrows=1, dtype=object, keep_default_na=False
    ).iloc[0]
    for twice in header[header.duplicated() & (header != "")]:
        raise ValueError(f"the column {twice!r} is there twice; leave one of the two out")
    if len(header) == 1 and (other := re.search(r"[;\t|]", header[0])):
        raise ValueError(f"its first line has {other[0]!r} and no comma; separate by commas")
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # for lines with too many fields
        table = pd.read_csv(
            path,
            sep=separator,
            index_col=False,
            dtype=object,
            # An item may be called "NA" or "null": only an empty field is missing.
            keep_default_na=False,
            na_values=[""],
        )
    if table.iloc[:, -1].isna().any():  # or not there at all, which pandas does not tell
        rows = csv.reader(StringIO(read_text(path)), delimiter=separator)
        n = len(next(rows))
        for row in rows:
            if 0 < len(row) < n:
                said = f"line {rows.line_num} has {len(row)} fields, the first line {n}"
                raise ValueError(f"{said}; it may have been cut off")
    return table


def _in_text(word: Any) -> Any:
    """Return the number, True or False that is written in a file of text, or else the word."""
    if not isinstance(word, str):
        return np.nan
    is_integer = word.strip().lstrip("+-").isdecimal()
    try:
        return TRUTH[word] if word in TRUTH else int(word) if is_integer else float(word)
    except ValueError:
        return word


def refuse_cell(at: Callable[[int], str], values: Any, bad: ArrayLike, rule: str) -> None:
    """Raise the error for the first value that is bad, if there is one; `at(i)` names value i."""
    for i in np.flatnonzero(bad)[:1].tolist():
        value = plain(values[i])
        what = "missing" if value is None or value != value else shown(value).removesuffix(".0")
        raise ValueError(f"{at(i)} is {what}; {rule}")


def plain(value: Any) -> Any:
    """Return a scalar of NumPy as Python's own."""
    return value.item() if isinstance(value, np.generic) else value


def number(values: Any, at: Callable[[int], str]) -> Ids:
    """Give ids numbers in the order in which they first appear; `at(i)` names row i in an error."""
    import pandas as pd

    if getattr(values, "dtype", None) == np.float16:
        values = np.asarray(values)  # an index of pandas would hold them as float32
    try:
        codes, distinct = pd.factorize(values)
    except TypeError as error:
        raise ValueError(f"{at(0)} and the next ones are not ids: {error}") from error
    for i in np.flatnonzero(codes < 0)[:1]:
        raise ValueError(f"{at(i)} is missing; each row must have an id")
    names = np.asarray(distinct)
    if names.dtype.kind not in "biuf":
        names = _as_objects(np.asarray(distinct, dtype=object))
    if (wrong := _are_no_ids(names)).any():
        rule = "all integers below 2**63, or all names of one type that are not numbers"
        if rounded(names)[wrong][0]:
            rule = f"given as integers: {names.dtype} rounds numbers of this size"
        refuse_cell(at, names[codes], wrong[codes], f"ids must be {rule}")
    names = names if names.dtype.kind == "O" else names.astype(np.int64, copy=False)
    return Ids(codes.astype(np.int64, copy=False), names)


def _as_objects(names: NDArray[Any]) -> NDArray[Any]:
    """Return an array of numbers if these objects are numbers, else of Python's own objects."""
    import pandas as pd

    inferred = pd.Series(names, dtype=object).infer_objects().to_numpy()
    if inferred.dtype.kind in "biuf":
        return np.asarray(inferred)
    return np.fromiter(map(plain, names), dtype=object, count=len(names))


def _are_no_ids(names: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which of some distinct values cannot be an id."""
    if names.dtype.kind in "iu":
        return np.asarray(names > 2**63 - 1)
    if names.dtype.kind == "f":
        return np.asarray(rounded(names) | (names != np.floor(names)))
    if names.dtype.kind == "b":
        return np.ones(len(names), dtype=bool)
    other = [type(name) is not type(names[0]) for name in names]
    wrong = other if any(other) else [isinstance(name, Number) for name in names]
    return np.array(wrong, dtype=bool)


def as_numbers(values: NDArray[Any], at: Callable[[int], str]) -> NDArray[Any]:
    """Return real numbers, NaN for those that are missing, or say which is none."""
    import pandas as pd

    if values.dtype.kind == "O":
        inferred = pd.Series(values, dtype=object).infer_objects().to_numpy()
        if inferred.dtype.kind not in "biuf":
            floats = [_as_float(value) for value in values]
            refuse_cell(at, values, [x is None for x in floats], "it must be a number")
            inferred = np.array(floats, dtype=np.float64)
        _check_exact(inferred, values, at)
        values = inferred
    if values.dtype.kind not in "biuf":
        raise ValueError(f"{at(0)} is {shown(values[0])}; it must be a number")
    return values.astype(np.int8) if values.dtype.kind == "b" else values


def _check_exact(numbers: NDArray[Any], given: Any, at: Callable[[int], str]) -> None:
    """Refuse an integer that was rounded on its way to a float."""
    large = np.flatnonzero(rounded(numbers) & np.isfinite(numbers)).tolist()
    for i in [i for i in large if int(given[i]) != int(numbers[i])][:1]:
        raise ValueError(
            f"{at(i)} is {given[i]}; an integer so large is rounded where others are missing or "
            "fractions: leave these rows out, or give smaller integers"
        )


def _as_float(value: Any) -> float | None:
    """Return a real number as a float, NaN for a missing one; None for what is no number."""
    import pandas as pd

    if is_real(value) or isinstance(value, bool | np.bool_ | Decimal):
        with suppress(OverflowError):
            return float(value)
    return np.nan if pd.api.types.is_scalar(value) and pd.isna(value) else None
