"""Ranks and metrics of tables that a database engine holds: larger than memory, or on a cluster.

The same counting as in `Ranks.from_model`, written once with narwhals. It runs in the engine that
the tables are given in: DuckDB for files and DuckDB's relations, Spark for its DataFrames, and any
other that narwhals speaks. A *rank table* holds the result, one row for each relevant item, in the
columns ``user``, ``item``, ``rank``, and where they are known ``n_tied``, ``n_items``,
``n_predicted`` and ``relevance``. Nothing is sorted and no function of ours runs in the engine, so
that its own limits on memory hold; a table from an engine is not read before its result is.

Needs the extra ``tables``: ``pip install "sampled-metrics[tables]"``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sampled_metrics._arguments import (
    FloatArray,
    IntArray,
    as_choice,
    as_flag,
    as_list,
    as_path,
    shown,
)
from sampled_metrics.io._columns import (
    column_names,
    distinct_columns,
    refuse_missing,
    refuse_unreadable,
)
from sampled_metrics.io.rank_tables import COUNTS, further_columns, ranks_by_name
from sampled_metrics.metrics import Metric
from sampled_metrics.ranks import Ranks, offsets_of, trusted

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    import pyarrow as pa

    Rule = tuple[str, nw.Expr, str]  # a column, where it is bad, and what it must be
    import narwhals.stable.v2 as nw

__all__ = [
    "collect_ranks",
    "rank_table_from_recommendations",
    "rank_table_from_scores",
    "values_per_user",
]

TWICE = "{} holds this pair of user and item twice; keep one row of it"
EXCLUDED = "it is relevant, but exclude holds it; take it out of one of them"
NO_ITEM = "exclude lacks the item; fill it in, or drop the row"
MISSING = (
    "scores has a candidate whose item is missing, or whose score is missing or NaN; drop it, or "
    "give it the lowest score"
)
NO_SCORE = "it is relevant, but has no score in scores; score it, or take it out of relevant"
ENDLESS = "it is relevant, and its score is infinite; scores of relevant items must be finite"


def rank_table_from_scores(
    scores: Any,
    relevant: Any = None,
    *,
    exclude: Any = None,
    user: str = "user",
    item: str = "item",
    score: str = "score",
    relevance: str = "relevance",
    unique: bool = False,
) -> Any:
    """Rank relevant items among the candidates of their users, by counting in an engine.

    Parameters
    ----------
    scores : path, DuckDB relation, Spark DataFrame or other table
        The candidates, in the columns `user`, `item` and `score`: all items that a user's relevant
        items are ranked among. Paths of parquet or CSV files may hold ``*``.
    relevant : table, optional
        The relevant items, in the columns `user` and `item`, each with a row in `scores`. By
        default the rows of `scores` whose `relevance` is above 0, or true.
    exclude : table, optional
        Pairs of `user` and `item` that are no candidates, such as the training events.
    user, item, score, relevance : str
        What the columns are called, in all tables.
    unique : bool
        Whether it is known that `scores` holds no pair of user and item twice. Else this is
        checked, which takes about as long as counting and more memory.

    Returns
    -------
    table of the kind of `scores` (for a path a DuckDB relation), lazy
        Columns user, item, rank (1 + the number of candidates with a higher score), n_tied (other
        candidates with exactly the same score) and n_items (all candidates of the user); also
        relevance, where that is a column of numbers. What is wrong with the rows makes the engine
        fail while it computes the ranks; `collect_ranks` and `values_per_user` make a ValueError
        of it.

    Raises
    ------
    ValueError
        If an argument is no table or cannot be read, or the tables cannot be used together, or
        lack a column. While the ranks are computed: if a row lacks its user, or a row of `exclude`
        its item; if a relevance is missing, negative or infinite; if a candidate's score is missing
        or NaN, or a relevant item's infinite; if a relevant item has no score, is excluded or is
        there twice; or if `scores` holds a pair of user and item twice.

    Notes
    -----
    Each user's relevant items are joined to the user's candidates and these are counted, so the
    work grows with the candidates times the relevant items of a user, and memory with the relevant
    items (some 100 bytes each) and with `exclude`. DuckDB keeps to its ``memory_limit`` and
    goes to the disk beyond it; set that, and ``threads``, with ``duckdb.execute`` for paths, or
    give relations of a connection of your own.

    Examples
    --------
    >>> import duckdb
    >>> scores = duckdb.sql('''
    ...     FROM (VALUES (7, 'a', 0.5, 0), (7, 'b', 0.9, 0), (7, 'c', 0.5, 1))
    ...     AS scores("user", item, score, relevance)''')
    >>> rank_table_from_scores(scores).fetchall()
    [(7, 'c', 2, 1, 3, 1)]
    """
    import narwhals.stable.v2 as nw

    ids = column_names(user=user, item=item)
    column_names(score=score, relevance=relevance)
    is_checked = not as_flag("unique", unique)
    others = {"relevant": relevant, "exclude": exclude}
    tables = with_same_ids(opened(others, scores=scores), ids)
    candidates = columns("scores", tables["scores"], **ids, score=score)
    if not (kind := candidates.collect_schema()["score"]).is_numeric():
        raise ValueError(f"scores[{score!r}] is of type {kind}; scores must be numbers")
    if relevant is None:
        labels, problems = _relevant("scores", tables["scores"], relevance, **ids, score=score)
        wanted = labels
    else:
        labels, problems = _relevant("relevant", tables["relevant"], relevance, **ids)
        wanted = labels.join(candidates, on=KEY, how="left")
        problems.append(problem(repeated(labels), TWICE.format("relevant")))
    of_all = [without_user("scores", candidates)]
    if exclude is not None:
        excluded = columns("exclude", tables["exclude"], **ids)
        of_all.append(without_user("exclude", excluded))
        problems.append(problem(excluded.filter(nw.col("item").is_null()), NO_ITEM))
        problems.append(problem(labels.join(excluded, on=KEY, how="semi"), EXCLUDED))
        candidates = candidates.join(excluded, on=KEY, how="anti")
    problems.append(problem(candidates.filter(_is_missing(kind)), MISSING))
    if is_checked:
        problems.append(problem(repeated(candidates), TWICE.format("scores")))
    return _counted(wanted, candidates, problems, of_all).to_native()


def _relevant(
    name: str, table: nw.LazyFrame[Any], relevance: str, **named: str
) -> tuple[nw.LazyFrame[Any], list[nw.LazyFrame[Any]]]:
    """Return the relevant rows, with how relevant they are where that is a number, and problems.

    One row of each user whose relevance is bad stays, so that the user's ranks are asked for.
    """
    import narwhals.stable.v2 as nw

    if name == "relevant" and relevance not in table.collect_schema().names():
        return columns(name, table, **named), []
    rows = columns(name, table, **named, relevance=relevance)
    kind, degree = rows.collect_schema()["relevance"], nw.col("relevance")
    if kind == nw.Boolean:
        good, bad = degree, degree.is_null()
    elif kind.is_numeric():
        good, bad = degree > 0, degree.is_null() | (degree < 0)
        if kind.is_float():
            bad = bad | ~degree.is_finite()
    else:
        raise ValueError(f"{name}[{relevance!r}] is of type {kind}; it must be numbers or booleans")
    wrong = rows.filter(bad)
    kept = nw.concat([rows.filter(good & ~bad), wrong.unique("user", keep="any")])
    message = f"its {relevance} is missing, negative or infinite; {relevance} must be 0 or above"
    return kept.drop("relevance") if kind == nw.Boolean else kept, [problem(wrong, message)]


def _graded(rows: nw.LazyFrame[Any]) -> list[str]:
    return ["relevance"] if "relevance" in rows.collect_schema().names() else []


def _is_missing(kind: nw.dtypes.DType) -> nw.Expr:
    import narwhals.stable.v2 as nw

    score = nw.col("score")
    missing = score.is_null() | nw.col("item").is_null()
    return missing | score.is_nan() if kind.is_float() else missing


def _counted(
    wanted: nw.LazyFrame[Any],
    candidates: nw.LazyFrame[Any],
    problems: list[nw.LazyFrame[Any]],
    of_all: list[nw.LazyFrame[Any]],
) -> nw.LazyFrame[Any]:
    """Join each relevant item to all candidates of its user, and count these."""
    import narwhals.stable.v2 as nw

    own, other = nw.col("score"), nw.col("other")
    pairs = wanted.join(candidates.select("user", other="score"), on="user", how="left")
    counted = pairs.group_by(*KEY, "score", *_graded(wanted)).agg(
        rank=1 + count(other > own), n_tied=count(other == own) - 1, n_items=nw.len()
    )
    of_the_item = [(own.is_null(), NO_SCORE)]
    if wanted.collect_schema()["score"].is_float():
        of_the_item.append((~(own.is_finite() | own.is_nan()), ENDLESS))
    numbers = ["rank", "n_tied", "n_items"]
    found = checked(counted, numbers, of_the_item, problems, of_all)
    return found.select(*KEY, *numbers, *_graded(wanted))


def rank_table_from_recommendations(
    recommendations: Any,
    relevant: Any,
    *,
    user: str = "user",
    item: str = "item",
    rank: str = "rank",
    relevance: str = "relevance",
) -> Any:
    """Look up relevant items in lists of recommendations, in an engine.

    Parameters
    ----------
    recommendations : path, DuckDB relation, Spark DataFrame or other table
        The lists, in the columns `user`, `item` and `rank`; ranks are whole numbers from 1.
    relevant : table
        The relevant items, in the columns `user` and `item`; where there is a column `relevance`,
        those in which it is above 0.
    user, item, rank, relevance : str
        What the columns are called, in both tables.

    Returns
    -------
    table of the kind of `recommendations` (for a path a DuckDB relation), lazy
        Columns user, item, rank (missing where the item was not recommended) and n_predicted (the
        length of the user's list, 0 for a user without one); also relevance, where that is a
        column of numbers. Users without relevant items are not in it.

    Raises
    ------
    ValueError
        As `rank_table_from_scores`; while the ranks are computed, if a rank is missing or below 1,
        or one user's list has a rank or an item twice.

    Examples
    --------
    >>> import duckdb
    >>> lists = duckdb.sql('''FROM (VALUES (7, 'a', 1), (7, 'b', 2)) AS l("user", item, rank)''')
    >>> relevant = duckdb.sql('''FROM (VALUES (7, 'b'), (7, 'c')) AS r("user", item)''')
    >>> sorted(rank_table_from_recommendations(lists, relevant).fetchall())
    [(7, 'b', 2, 2), (7, 'c', None, 2)]
    """
    import narwhals.stable.v2 as nw

    ids, col = column_names(user=user, item=item), nw.col
    column_names(rank=rank, relevance=relevance)
    tables = with_same_ids(opened(recommendations=recommendations, relevant=relevant), ids)
    lists = columns("recommendations", tables["recommendations"], **ids, rank=rank)
    if not (kind := lists.collect_schema()["rank"]).is_integer():
        raise ValueError(f"recommendations[{rank!r}] is of type {kind}; ranks must be integers")
    wanted, problems = _relevant("relevant", tables["relevant"], relevance, **ids)
    lengths = lists.group_by("user").agg(n_predicted=nw.len(), n_ranks=col("rank").n_unique())
    missing = col("rank").is_null() | col("item").is_null()
    problems += [
        problem(repeated(wanted), TWICE.format("relevant")),
        problem(repeated(lists), TWICE.format("recommendations")),
        problem(lists.filter(missing), "recommendations lacks the item or its rank; fill it in"),
        problem(lists.filter(col("rank") < 1), "its rank is below 1; ranks must count from 1"),
    ]
    looked_up = wanted.join(lists, on=KEY, how="left").join(lengths, on="user", how="left")
    one_rank_twice = col("n_ranks") < col("n_predicted")
    found = checked(
        looked_up.with_columns(col("n_predicted").fill_null(0)),
        ["rank", "n_predicted"],
        [(one_rank_twice, "recommendations gives one rank to two items of this user")],
        problems,
        [without_user("recommendations", lists)],
    )
    return found.select(*KEY, "rank", "n_predicted", *_graded(wanted)).to_native()


def collect_ranks(ranks: Any) -> Ranks:
    """Run a rank table in its engine and bring the ranks into memory.

    Parameters
    ----------
    ranks : table or path
        A rank table, from `rank_table_from_scores` or `rank_table_from_recommendations`, or stored
        by the engine; or a file of `write_ranks`, of one recommender.

    Returns
    -------
    Ranks or Ranks
        As `read_ranks` makes them: a Ranks where the table has the column n_tied, else a
        Ranks; users in ascending order.

    Raises
    ------
    ValueError
        If `ranks` is no rank table, something is wrong with the rows from which the ranks are
        computed, `read_ranks` would refuse the ranks, or they are those of several recommenders.

    Notes
    -----
    Needs some 200 bytes of memory for each relevant item.

    Examples
    --------
    >>> import duckdb
    >>> scores = duckdb.sql('''
    ...     FROM (VALUES (7, 'a', 0.5, 0), (7, 'b', 0.9, 0), (7, 'c', 0.5, 1))
    ...     AS scores("user", item, score, relevance)''')
    >>> ranks = collect_ranks(rank_table_from_scores(scores))
    >>> ranks.best, ranks.n_tied, ranks.n_items, ranks.users
    (array([2]), array([1]), array([3]), array([7]))
    """
    frame, names = rank_table(ranks)
    order = [name for name in KEY if name in names]  # an engine may return rows in any order
    named = {name: name for name in ("user", *COUNTS, "relevance")}
    return ranks_by_name("ranks", collected(frame.sort(order)), named)["ranks"]


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


LOWEST = {"rank": 1, "n_tied": 0, "n_items": 1, "n_predicted": 0}


def rank_table(ranks: Any) -> tuple[nw.LazyFrame[Any], list[str]]:
    """Open a rank table of one recommender, and return it with the names of its columns."""
    import narwhals.stable.v2 as nw

    frame = opened(ranks=ranks)["ranks"]
    names = frame.collect_schema().names()
    if missing := [name for name in ("user", "rank") if name not in names]:
        raise ValueError(f"ranks has no column {missing[0]!r}; it must be a rank table")
    if "recommender" not in names:
        return frame, names
    name = nw.col("recommender")
    one, other, lost = facts(
        frame.select(one=name.min(), other=name.max(), lost=count(name.is_null()))
    )
    if lost:
        raise ValueError("ranks has a row whose recommender is missing; fill it in")
    if one != other:
        raise ValueError(
            f"ranks holds the recommenders {shown(one)} and {shown(other)}; keep the rows of one "
            "of them, or use read_ranks, which keeps them apart"
        )
    return frame, names


def checked_ranks(ranks: Any) -> nw.LazyFrame[Any]:
    """Return the columns of a rank table that are known; refuse the rows that `read_ranks` does."""
    import narwhals.stable.v2 as nw

    frame, names = rank_table(ranks)
    kinds = frame.collect_schema()
    numbers = [name for name in (*LOWEST, "relevance") if name in names]
    more = further_columns(names, {"user", "recommender", *numbers})
    more = [name for name in more if not kinds[name].is_nested()]
    private = {f"further {i}": name for i, name in enumerate(more)}
    frame = frame.select(
        "user",
        *(_as_in_memory(name, kinds[name]) for name in numbers),
        *(nw.col(name).alias(alias) for alias, name in private.items()),
    )
    optional = numbers[1:]
    n_rows, *n_missing = facts(
        frame.select(nw.len().alias("rows"), *(count(nw.col(name).is_null()) for name in optional))
    )
    for name, missing in zip(optional, n_missing, strict=True):
        if n_rows and missing == n_rows:
            frame = frame.drop(name)
        elif missing:
            raise ValueError(
                f"ranks has a row whose {name} is missing; give it in all rows, or in none"
            )
    _refuse_rows(frame, private)
    return frame.drop(*private)


def _as_in_memory(name: str, kind: nw.dtypes.DType) -> nw.Expr:
    """Return a column in which NaN is missing, and integers of small types do not overflow."""
    import narwhals.stable.v2 as nw

    column = nw.col(name)
    if kind.is_float():
        return nw.when(~column.is_nan()).then(column).alias(name)
    return column.cast(nw.Int64) if kind.is_integer() else column


def _refuse_rows(frame: nw.LazyFrame[Any], more: dict[str, str]) -> None:
    """Say which row cannot come from a ranking, if there is one: one query finds it."""
    import narwhals.stable.v2 as nw

    names = frame.collect_schema().names()
    for name, kind in frame.collect_schema().items():
        if name in LOWEST and not kind.is_numeric():
            raise ValueError(f"ranks[{name!r}] is of type {kind}; it must be numbers")
    limits = [name for name in names if name in ("n_items", "n_predicted")]
    order = [name for name in names if name in ("rank", "n_tied")]
    rows = frame.with_columns(
        *(
            nw.col(name).shift(1).over("user", order_by=order).alias(f"{name} before")
            for name in order
        ),
        *(nw.col(name).min().over("user").alias(f"{name} least") for name in (*limits, *more)),
        size=nw.len().over("user", "rank"),
    )
    user = nw.col("user").cast(nw.String).fill_null("(missing)")
    said = []
    rules = _rules(names, limits)
    for alias, name in more.items():
        one, least = nw.col(alias), nw.col(f"{alias} least")
        bad = (one != least) | (one.is_null() & ~least.is_null())
        rules.append((alias, bad, f"keep one {name}, or drop the column"))
    for i, (name, bad, rule) in enumerate(rules):
        value = nw.col(name).cast(nw.String).fill_null("missing")
        said_of = nw.lit(f": the {more.get(name, name)} is ")
        words = nw.lit("user "), user, said_of, value, nw.lit(f"; {rule}")
        said.append(nw.when(bad).then(nw.concat_str(*words)).alias(f"rule {i}"))
    found = facts(rows.select(*said).select(nw.all().min()))
    for text in filter(None, found):
        raise ValueError(f"ranks, {text}")


def _rules(names: list[str], limits: list[str]) -> list[Rule]:
    """Return what must not be, as `read_ranks` and Ranks have it, in this order."""
    import narwhals.stable.v2 as nw

    col = nw.col
    rank, before = col("rank"), col("rank before")
    rules = [("user", col("user").is_null(), "each row must have an id")]
    for name, low in LOWEST.items():
        if name in names:
            bad = (col(name) < low) | (col(name) % 1 != 0)
            rules.append((name, bad, f"it must be a whole number of at least {low}"))
    for name in limits:
        rules.append(("rank", rank > col(name), f"it must be at most {name}"))
        same = col(name) == col(f"{name} least")
        rules.append((name, ~same, "it must be the same in all rows of a user"))
    if "n_tied" not in names:
        return [*rules, ("rank", rank == before, "another item of this user has it, too")]
    tied, tied_before = col("n_tied"), col("n_tied before")
    apart = (rank > before + tied_before) | ((rank == before) & (tied == tied_before))
    rules += [
        ("rank", rank.is_null(), "a row with n_tied needs it; give both, or neither"),
        ("rank", ~apart, "items with one score have the same n_tied, others share no rank"),
        ("n_tied", col("size") > tied + 1, "it leaves no place for all items with this rank"),
    ]
    if "n_items" in names:
        rules.append(("rank", rank + tied > col("n_items"), "it must be at most n_items - n_tied"))
    return rules


def facts(one_row: nw.LazyFrame[Any]) -> list[Any]:
    """Return the values in the only row of a table."""
    return [column[0].as_py() for column in collected(one_row).columns]


def values_per_user(
    ranks: Any,
    metrics: Sequence[Metric],
    *,
    ties: Literal["optimistic", "pessimistic"] | None = None,
) -> Any:
    """Compute metrics of each user in the engine that holds the ranks.

    Parameters
    ----------
    ranks : table or path
        A rank table in an engine, as for `collect_ranks`. It is read several times: store it
        first, in a table of the engine or with ``write_parquet``. A column other than `user` and
        `rank` in which all values are missing counts as not there.
    metrics : list of Metric
        Any metrics, your own too, whose normalizer does not depend on the ranks.
    ties : {None, "optimistic", "pessimistic"}
        The rank that an item gets which ties with others, as in `Ranks.break_ties`. None
        averages over all ways to break the ties, and is refused where some user has several
        relevant items and ties.

    Returns
    -------
    table of the kind of `ranks` (for a path a DuckDB relation), lazy
        One row per user: the column user, and one named after each metric, such as ``Recall@10``.

    Raises
    ------
    ValueError
        If `ranks` is no rank table. If the ranks are graded, or a metric needs what the table does
        not know or divides by what depends on the ranks: there, use `collect_ranks` and the metric
        itself. If ranks tie and `ties` does not say what to do. If the table holds several
        recommenders, or `read_ranks` would refuse a row of it: a rank that is not whole, below 1,
        too large or there twice for a user, or what differs or is missing in some rows only.

    Notes
    -----
    The values are the metrics' own: they are computed here for each case (rank, its place among
    the user's, number of relevant items) that occurs up to the largest cutoff, and joined to the
    ranks. With cutoffs these are a few hundred cases; without, at most as many as relevant items,
    some 100 bytes each.

    Examples
    --------
    >>> import duckdb
    >>> from sampled_metrics import NDCG, Recall
    >>> ranks = duckdb.sql('''FROM (VALUES (7, 'a', 3), (7, 'b', 12)) AS r("user", item, rank)''')
    >>> values_per_user(ranks, [Recall(k=10), NDCG(k=10)]).fetchall()
    [(7, 0.5, 0.306...)]
    """
    import narwhals.stable.v2 as nw
    import pyarrow as pa

    named = {str(metric): metric for metric in as_list("metrics", metrics, Metric, "Recall(k=10)")}
    as_choice("ties", ties, (None, "optimistic", "pessimistic"))
    frame = checked_ranks(ranks)
    names = frame.collect_schema().names()
    _check_metrics(named, names)
    over_ties = _check_ties(frame, ties)
    rows = _with_places(frame, names, ties)
    known = [name for name in ("n_items", "n_predicted") if name in names]
    if "n_items" in known and not any(metric.needs_n_items for metric in named.values()):
        known.remove("n_items")
    key = ["rank", *(["n_tied"] if over_ties else ["place", "n_relevant"]), *known]
    cutoffs = [metric.k for metric in named.values()]
    largest = None if None in cutoffs else max(k for k in cutoffs if k is not None)
    counted = nw.col("rank") <= largest if largest else ~nw.col("rank").is_null()
    cases = collected(rows.filter(counted).select(key).unique())
    case = {name: cases.column(name).to_numpy() for name in key}
    parts = {name: pa.array(_parts(metric, case)) for name, metric in named.items()}
    values = nw.from_native(pa.table({**case, **parts}), eager_only=True)
    joined = rows.join(from_memory("ranks", values, frame), on=key, how="left")
    return joined.group_by("user").agg(nw.col(name).sum() for name in named).to_native()


def _check_metrics(named: dict[str, Metric], names: list[str]) -> None:
    for name, metric in named.items():
        if metric.needs_n_items and "n_items" not in names:
            raise ValueError(f"ranks has no column 'n_items'; {name} needs it")


def _check_ties(frame: nw.LazyFrame[Any], ties: str | None) -> bool:
    """Tell whether to average over ties; refuse them where no rule says what they mean."""
    import narwhals.stable.v2 as nw

    names = frame.collect_schema().names()
    n_tied, relevance = (
        nw.col(name) if name in names else nw.lit(usual).alias(name)
        for name, usual in (("n_tied", 0), ("relevance", 1))
    )
    full = frame.select("user", n_tied, relevance)
    per_user = full.group_by("user").agg(
        several=nw.len(),
        tied=nw.col("n_tied").max(),
        least=nw.col("relevance").min(),
        most=nw.col("relevance").max(),
    )
    found = per_user.select(
        nw.col("several", "tied", "most").max(), nw.col("least").min(), n_users=nw.len()
    )
    several, tied, most, least, n_users = facts(found)
    if n_users and (most, least) != (1, 1):
        raise ValueError(
            f"ranks has the relevance {least if least != 1 else most}; values_per_user takes "
            'relevance 1 only: use collect_ranks(ranks).break_ties("optimistic") and the metric'
        )
    if ties is not None or not tied:
        return False
    if several > 1:
        raise ValueError(
            "ties is None, but ranks has ties and users with several relevant items; choose "
            'ties="optimistic" or ties="pessimistic"'
        )
    return True


def _with_places(frame: nw.LazyFrame[Any], names: list[str], ties: str | None) -> nw.LazyFrame[Any]:
    """Count each user's relevant items from the best, and choose ranks of those that tie."""
    import narwhals.stable.v2 as nw

    rank = nw.col("rank")
    rows = frame.with_columns(
        place=rank.rank("ordinal").over("user"), n_relevant=nw.len().over("user")
    )
    if ties is None or "n_tied" not in names:
        return rows
    rows = rows.with_columns(
        first=nw.col("place").min().over("user", "rank"), size=nw.len().over("user", "rank")
    )
    step = nw.col("place") - nw.col("first")
    worse = nw.col("n_tied") + 1 - nw.col("size") if ties == "pessimistic" else 0
    return rows.with_columns(rank=rank + step + worse)


def _parts(metric: Metric, case: dict[str, Any]) -> FloatArray:
    """Compute what each case adds to its user's value."""
    rank = case["rank"].astype(np.int64)
    n = case.get("n_items")
    if "n_tied" in case:
        return metric(Ranks(rank, case["n_tied"], rank + case["n_tied"] if n is None else n))
    q, predicted = case["n_relevant"].astype(np.int64), case.get("n_predicted")
    gains = metric.cut(metric.gain(rank, case["place"], q, n), rank)
    divisor = _normalizer(metric, {"n_relevant": q, "n_items": n, "n_predicted": predicted})
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(gains / divisor, dtype=np.float64)


def _normalizer(metric: Metric, of: dict[str, IntArray | None]) -> FloatArray:
    """Compute what a metric divides by, from an instance of each kind; refuse what ranks change."""
    known = {name: values for name, values in of.items() if values is not None}
    kinds, which = np.unique(np.stack(list(known.values())), axis=1, return_inverse=True)
    kind = dict(zip(known, kinds, strict=True))
    counts = kind["n_relevant"]
    starts = offsets_of(counts)
    best = np.arange(starts[-1]) - np.repeat(starts[:-1], counts) + 1
    divisor = np.broadcast_to(metric.normalizer(trusted(best, starts, **kind)), counts.shape)
    if metric.k is not None or "n_items" not in known:
        none = trusted(best[:0], starts * 0, **kind)
        if (np.broadcast_to(metric.normalizer(none), counts.shape) != divisor).any():
            raise ValueError(
                f"metrics has {metric}, which divides by what the ranks change; call it on the "
                "ranks of collect_ranks"
            )
    return np.asarray(divisor[which.ravel()], dtype=np.float64)
