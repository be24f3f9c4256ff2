"""Tables in a database engine: opened from what the caller gave, checked, and made to fail."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sampled_metrics._checks import as_path, shown
from sampled_metrics._columns import distinct_columns, refuse_missing, refuse_unreadable

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    import pyarrow as pa

KEY = ["user", "item"]
MESSAGE = re.compile(r"refused: (.*?) \(end\)", re.DOTALL)
KINDS = "the path of a parquet or CSV file, a DuckDB relation, a Spark DataFrame or another table"


def opened(
    optional: Mapping[str, Any] | None = None, **tables: Any
) -> dict[str, nw.LazyFrame[Any]]:
    """Return tables, and those of the optional ones that are not None, in the first one's engine.

    Files and tables in memory are handed to that engine, which is DuckDB where the first is one of
    them; it then runs in DuckDB's default connection.
    """
    try:
        import duckdb
        import narwhals.stable.v2 as nw
        import pyarrow as pa  # noqa: F401  what DuckDB and Spark hand over
    except ImportError as error:
        raise ImportError('tables need: pip install "sampled-metrics[tables]"') from error
    made: dict[str, nw.LazyFrame[Any]] = {}
    leader: nw.LazyFrame[Any] = nw.from_native(duckdb.sql("SELECT 1 AS one"))
    given = {name: table for name, table in (optional or {}).items() if table is not None}
    for name, table in {**tables, **given}.items():
        is_path = isinstance(table, str | os.PathLike)
        made[name] = (_from_path if is_path else _from_table)(name, table, leader)
        leader = next(iter(made.values()))
        _check_engine(name, made)
    return made


def _from_table(name: str, table: Any, leader: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Return a table that is in an engine, or hand it to the one of another table."""
    import narwhals.stable.v2 as nw

    try:
        frame = nw.from_native(table)
        there = frame.collect_schema().names()
    except TypeError as error:
        raise ValueError(f"{name} is {shown(table)}; {name} must be {KINDS}") from error
    except Exception as error:  # each engine has its own
        refuse_unreadable(name, table, error)
    if not there:
        raise ValueError(f"{name} has no columns; {name} must be {KINDS}")
    return from_memory(name, frame, leader) if isinstance(frame, nw.DataFrame) else frame


def _check_engine(name: str, made: dict[str, nw.LazyFrame[Any]]) -> None:
    first = next(iter(made))
    kinds = [made[each].implementation for each in (first, name)]
    if kinds[0] != kinds[1]:
        raise ValueError(
            f"{first} is in {kinds[0].name}, {name} in {kinds[1].name}; give both from one engine"
        )
    if kinds[0].is_pyspark():
        session = made[name].to_native().sparkSession
        if session.conf.get("spark.sql.ansi.enabled") != "true":  # failed casts would be nulls
            raise ValueError(
                f"{name} is from a Spark session without spark.sql.ansi.enabled, which hides "
                "errors; set it to true"
            )


def _from_path(
    name: str, given: str | os.PathLike[str], leader: nw.LazyFrame[Any]
) -> nw.LazyFrame[Any]:
    """Let the engine of a table read a file."""
    import narwhals.stable.v2 as nw

    as_path(name, given)  # only checked: a Path makes one slash of the two in s3://
    path, engine = os.fspath(given), leader.implementation
    if not (engine.is_duckdb() or engine.is_pyspark()):
        raise ValueError(f"{name} is {shown(path)}; open it in the engine of the first table")
    if engine.is_duckdb() and "." not in path:  # for DuckDB the name of a view or a variable
        raise ValueError(f"{name} is {shown(path)}; {name} must be {KINDS}")
    try:
        opened: nw.LazyFrame[Any] = nw.from_native(_read(path, leader))
    except Exception as error:  # each engine has its own
        why, reader = str(error).partition("\n")[0], "DuckDB" if engine.is_duckdb() else "Spark"
        raise ValueError(f"{name} is {shown(path)}, which {reader} cannot read: {why}") from error
    return opened


def _read(path: str, leader: nw.LazyFrame[Any]) -> Any:
    native: Any = leader.to_native()
    if leader.implementation.is_duckdb():
        quoted = path.replace("'", "''")
        return native.query("leader", f"FROM '{quoted}'")
    reader = native.sparkSession.read
    is_csv = ".csv" in path
    return reader.csv(path, header=True, inferSchema=True) if is_csv else reader.parquet(path)


def from_memory(
    name: str, table: nw.DataFrame[Any], leader: nw.LazyFrame[Any]
) -> nw.LazyFrame[Any]:
    """Hand a table in memory to the engine of another table."""
    import narwhals.stable.v2 as nw

    engine = leader.implementation
    if not (engine.is_duckdb() or engine.is_pyspark() or engine.is_ibis() or engine.is_polars()):
        raise ValueError(f"{name} is in memory; give it from the engine of the first table")
    try:
        frame: nw.LazyFrame[Any] = nw.from_native(_handed(table.to_arrow(), leader))
    except Exception as error:  # each engine has its own
        refuse_unreadable(name, table.to_native(), error)
    return frame


def _handed(arrow: pa.Table, leader: nw.LazyFrame[Any]) -> Any:
    import narwhals.stable.v2 as nw

    native, engine = leader.to_native(), leader.implementation
    if engine.is_duckdb():
        return native.query("leader", "FROM arrow")  # DuckDB finds the argument by its name
    if engine.is_pyspark():
        return native.sparkSession.createDataFrame(arrow)
    if engine.is_ibis():
        import ibis

        return ibis.memtable(arrow)
    return nw.from_native(arrow, eager_only=True).lazy("polars").to_native()


def columns(name: str, frame: nw.LazyFrame[Any], **named: str) -> nw.LazyFrame[Any]:
    """Select columns, which get the names of their keywords."""
    import narwhals.stable.v2 as nw

    distinct_columns(named)
    there = frame.collect_schema().names()
    for keyword, column in named.items():
        if column not in there:
            refuse_missing(name, keyword, column, there)
    return frame.select(**{keyword: nw.col(column) for keyword, column in named.items()})


def with_same_ids(
    tables: dict[str, nw.LazyFrame[Any]], ids: dict[str, str]
) -> dict[str, nw.LazyFrame[Any]]:
    """Return tables whose ids are of one type, in which integers of any table have room."""
    import narwhals.stable.v2 as nw

    first = next(iter(tables))
    for keyword, column in ids.items():
        schemas = {name: table.collect_schema() for name, table in tables.items()}
        kinds = {name: kind[column] for name, kind in schemas.items() if column in kind.names()}
        wanted = kinds.get(first)
        others = {name: kind for name, kind in kinds.items() if kind != wanted}
        if wanted is None or not others:
            continue  # `columns` says what is not there
        for name, kind in others.items():
            if not (wanted.is_integer() and kind.is_integer()):
                raise ValueError(
                    f"{keyword} is of type {kind} in {name} and of type {wanted} in {first}; "
                    "make both integers or both strings"
                )
        wide = wanted if wanted in (nw.UInt64, nw.Int128, nw.UInt128) else nw.Int64
        cast = nw.col(column).cast(wide)
        tables = {
            name: table.with_columns(cast) if name in kinds else table
            for name, table in tables.items()
        }
    return tables


def count(condition: nw.Expr) -> nw.Expr:
    """Count rows; a condition that is missing is not fulfilled."""
    import narwhals.stable.v2 as nw

    return condition.cast(nw.Int32).sum()  # in DuckDB faster than to count


def repeated(rows: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Return the pairs of user and item that are there more than once."""
    import narwhals.stable.v2 as nw

    return rows.group_by(*KEY).agg(n=nw.len()).filter(nw.col("n") > 1)


def problem(rows: nw.LazyFrame[Any], message: str) -> nw.LazyFrame[Any]:
    """Return the users of rows that must not be there, with a message that names the row."""
    return rows.select("user", problem=_said(message))


def without_user(name: str, rows: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Return the problems of rows that may be any user's."""
    import narwhals.stable.v2 as nw

    return problem(rows.filter(nw.col("user").is_null()), f"{name} lacks the user; fill it in")


def _said(message: str) -> nw.Expr:
    import narwhals.stable.v2 as nw

    user, item = (nw.col(name).cast(nw.String).fill_null("(missing)") for name in KEY)
    ids = nw.lit("refused: user "), user, nw.lit(", item "), item
    return nw.concat_str(*ids, nw.lit(f": {message} (end)"))


def checked(
    rows: nw.LazyFrame[Any],
    numbers: list[str],
    own: Sequence[tuple[nw.Expr, str]],
    problems: Sequence[nw.LazyFrame[Any]],
    of_all: Sequence[nw.LazyFrame[Any]],
) -> nw.LazyFrame[Any]:
    """Return rows whose numbers cannot be computed where there is a problem.

    The one way to fail that all engines know is a cast that cannot be made. Their errors quote the
    text that is no number, which is the message. Problems are conditions on the rows, tables of
    the users that have one, and tables of what is a problem of all users.
    """
    import narwhals.stable.v2 as nw

    first = nw.concat(list(problems)).group_by("user").agg(nw.col("problem").min())
    every = nw.concat(list(of_all)).select(every=nw.col("problem").min())
    text = nw.coalesce("every", "problem", nw.lit("0"))
    lost = (nw.col("user").is_null() | nw.col("item").is_null(), "fill in the missing id")
    for bad, message in (*own, lost):  # the last is said first
        text = nw.when(bad).then(_said(message)).otherwise(text)
    fine = text.cast(nw.Int64) == 0
    joined = rows.join(first, on="user", how="left").join(every, how="cross")
    return joined.with_columns(
        nw.when(fine).then(nw.col(name).cast(nw.Int64)).alias(name) for name in numbers
    )


def collected(frame: nw.LazyFrame[Any]) -> Any:
    """Run a table in its engine and return it as arrow, or say what is wrong with its rows."""
    try:
        return frame.collect("pyarrow").to_native()
    except Exception as error:  # each engine has its own
        if found := MESSAGE.search(str(error)):
            raise ValueError(found[1]) from error
        raise
