"""Ranks and metrics of tables that a database engine holds: larger than memory, or on a cluster.

The same counting as in `Ranks.from_model`, written once with narwhals, in the engine that holds the
tables: DuckDB for files and its relations, Spark for its DataFrames, or any other that narwhals
speaks. The result, a *rank table*, has one row for each relevant item, in the columns ``user``,
``item``, ``rank``, and where they are known ``n_tied``, ``n_items``, ``n_predicted`` and
``relevance``. Nothing is sorted and no function of ours runs there, so its limits on memory hold.

Needs the extra ``tables``: ``pip install "sampled-metrics[tables]"``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np

from sampled_metrics._arguments import (
    LARGEST,
    FloatArray,
    as_choice,
    as_flag,
    as_list,
    as_number,
    as_path,
    reject,
    shown,
)
from sampled_metrics.io._columns import column_names, found_columns, refuse_unreadable
from sampled_metrics.io._pairs import refuse_least, refuse_ratings
from sampled_metrics.io.rank_tables import LEAST, REALS, further_columns, ranks_by_name
from sampled_metrics.metrics import NDCG, Metric
from sampled_metrics.ranks import Ranks, offsets_of, trusted

Frame = nw.LazyFrame[Any]
Rules = dict[str, nw.Expr]  # what is wrong with a row, and where that is so

__all__ = [
    "collect_ranks",
    "rank_table_from_recommendations",
    "rank_table_from_scores",
    "rank_table_sql",
    "values_per_user",
]

KEY = ["user", "item"]
KINDS = "the path of a parquet or CSV file, a DuckDB relation, a Spark DataFrame or another table"
LACKS = nw.col("user").is_null() | nw.col("item").is_null()
LOST = "{} lacks the user or the item of this row; fill it in, or drop the row"
TWICE = "{} holds this pair of user and item twice; keep one row of it"
EXCLUDED = "it is relevant, but exclude holds it; take it out of one of them"
MISSING = "its score in scores is missing or NaN; drop it, or give it the lowest score"
NO_SCORE = "it is relevant, but has no score in scores; score it, or take it out of relevant"
ENDLESS = "it is relevant, and its score is infinite; scores of relevant items must be finite"
NO_RANK = "its rank is missing or below 1; ranks must count from 1"
SHARED = "recommendations gives its rank to another item of this user, too; rank each item"
UNKNOWN = "its {0} is missing, negative or infinite; {0} must be 0 or above"


def rank_table_from_scores(
    scores: Any,
    relevant: Any = None,
    *,
    exclude: Any = None,
    user: str = "user",
    item: str = "item",
    score: str = "score",
    relevance: str = "relevance",
    min_relevance: float | None = None,
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
    min_relevance : float, optional
        The least relevance that counts as relevant. By default all above 0, and relevances that
        look like ratings are refused.
    unique : bool
        Whether it is known that `scores` holds no pair of user and item twice. Else this is
        looked for, too, which takes about half as long as the rest, and more memory.

    Returns
    -------
    table of the kind of `scores` (for a path a DuckDB relation), lazy
        Columns user, item, rank (1 + the number of candidates with a higher score), n_tied (other
        candidates with exactly the same score) and n_items (all candidates of the user); also
        relevance, where that is a column of numbers. The rows are checked in this call, by a
        query that reads `scores` once (without `unique`, twice); the ranks are counted when they
        are asked for, which reads it once more: rows that must not have changed since.

    Raises
    ------
    ValueError
        If an argument is no table or cannot be read, or the tables lack a column or cannot be used
        together. If a row lacks its user or its item; if a relevance is missing, negative or
        infinite; if a candidate's score is missing, or a relevant item's infinite; if a relevant
        item has no score or is excluded; or if a pair of user and item is there twice.

    Notes
    -----
    The work grows with the candidates times the relevant items of a user, and memory with the
    relevant items (some 100 bytes each) and with `exclude`. The relevant items and their scores are
    kept from this call on: Spark persists them on its cluster, other engines hand them to this
    process, beside their own memory. DuckDB goes to the disk beyond its ``memory_limit``: set it,
    and ``threads``, with ``duckdb.execute`` for paths, or give relations of a connection of your
    own.

    Examples
    --------
    >>> import duckdb
    >>> scores = duckdb.sql('''
    ...     FROM (VALUES (7, 'a', 0.5, 0), (7, 'b', 0.9, 0), (7, 'c', 0.5, 1))
    ...     AS scores("user", item, score, relevance)''')
    >>> rank_table_from_scores(scores).fetchall()
    [(7, 'c', 2, 1, 3, 1)]
    """
    ids = column_names(user=user, item=item)
    values = column_names(score=score, relevance=relevance)
    is_unique = as_flag("unique", unique)
    least = None if min_relevance is None else as_number("min_relevance", min_relevance)
    others = {"relevant": relevant, "exclude": exclude}
    given = opened(scores=scores, **{name: t for name, t in others.items() if t is not None})
    asked, needed = ("scores", values) if relevant is None else ("relevant", {"score": score})
    tables = selected(given, ids, {"scores": needed}, relevance)
    labels = _labelled(asked, tables[asked], least)
    rows, rules = _rows_and_rules(tables, labels, relevance)
    noted = kept(
        rows.filter(nw.any_horizontal(nw.col("asked") > 0, *rules.values(), ignore_nulls=False))
    )
    refuse_rows(noted, rules)
    _check_ratings(asked, noted, labels, least)
    candidates = tables["scores"].select(*KEY, "score")
    if "exclude" in tables:
        candidates = candidates.join(tables["exclude"], on=KEY, how="anti")
    if not is_unique and _may_repeat(tables["scores"]):
        refuse_pairs("scores", candidates)
    # Each relevant item meets all candidates of its user, and these are counted.
    by = ["row"] if "row" in noted.collect_schema().names() else KEY
    own, other = nw.col("score"), nw.col("other")
    wanted = noted.select(*dict.fromkeys([*by, "user", "score"]))
    pairs = wanted.join(candidates.select("user", other="score"), on="user")
    counted = pairs.group_by(*by).agg(
        rank=count(other > own), n_tied=count(other == own), n_items=nw.len()
    )
    rank, n_tied, n_items = (nw.col(name).cast(nw.Int64) for name in ("rank", "n_tied", "n_items"))
    ranked = noted.join(counted, on=by)
    return ranked.select(*KEY, rank + 1, n_tied - 1, n_items, *_graded(labels)).to_native()


def rank_table_sql(
    scores: str,
    relevant: str,
    *,
    exclude: str | None = None,
    user: str = "user",
    item: str = "item",
    score: str = "score",
    relevance: str | None = None,
) -> str:
    """Write the SQL that ranks relevant items, for a warehouse that this package does not reach.

    Parameters
    ----------
    scores, relevant, exclude : str
        The tables of `rank_table_from_scores`, as the warehouse's SQL names them; a query in
        parentheses may stand for a table.
    user, item, score : str
        Their columns, likewise; in quotes where the warehouse needs them.
    relevance : str, optional
        The column of `relevant` that says how relevant an item is; those above 0 are ranked. By
        default all of `relevant` are, and alike.

    Returns
    -------
    str
        One statement in standard SQL, whose result is a rank table: `Ranks.read` takes it. What it
        calls `user` and `item` it takes from them.

    Raises
    ------
    ValueError
        If an argument is no text.

    Notes
    -----
    The statement checks nothing. It is right where no id and no score is missing or NaN, `scores`
    and `relevant` have each pair of user and item once, and `exclude` holds no relevant item. A
    relevant item without a score gets the n_tied -1, which `Ranks.read` refuses.

    Examples
    --------
    >>> import duckdb
    >>> scores = "(VALUES (7, 'a', 0.5), (7, 'b', 0.9), (7, 'c', 0.5)) AS t(u, item, score)"
    >>> sql = rank_table_sql(f"(FROM {scores})", "(SELECT 7 AS u, 'c' AS item)", user="u")
    >>> duckdb.sql(sql).fetchall()
    [(7, 'c', 2, 1, 3)]
    """
    given = {"scores": scores, "relevant": relevant, "user": user, "item": item, "score": score}
    given |= {
        k: x for k, x in {"exclude": exclude, "relevance": relevance}.items() if x is not None
    }
    for name, text in given.items():
        if not (isinstance(text, str) and text.strip()):
            reject(name, text, "a text of SQL")
    kept_rows = where = column = ""
    if exclude is not None:
        kept_rows = f"""
    WHERE NOT EXISTS (
        SELECT 1 FROM {exclude} AS e WHERE e.{user} = s.{user} AND e.{item} = s.{item})"""
    if relevance is not None:
        column, where = f", r.{relevance} AS relevance", f"\n    WHERE r.{relevance} > 0"
    graded = ", w.relevance" if relevance is not None else ""
    return f"""WITH candidates AS (
    SELECT s.{user} AS user_id, s.{item} AS item_id, s.{score} AS score
    FROM {scores} AS s{kept_rows}
), wanted AS (
    SELECT r.{user} AS user_id, r.{item} AS item_id, c.score AS score{column}
    FROM {relevant} AS r
    LEFT JOIN candidates AS c ON c.user_id = r.{user} AND c.item_id = r.{item}{where}
)
SELECT w.user_id AS {user}, w.item_id AS {item},
    1 + SUM(CASE WHEN c.score > w.score THEN 1 ELSE 0 END) AS rank,
    SUM(CASE WHEN c.score = w.score THEN 1 ELSE 0 END) - 1 AS n_tied,
    COUNT(*) AS n_items{graded}
FROM wanted AS w
LEFT JOIN candidates AS c ON c.user_id = w.user_id
GROUP BY w.user_id, w.item_id{graded}"""


def _labelled(name: str, rows: Frame, least: float | None) -> Frame:
    """Mark the rows of relevant items, and those of which nobody knows whether they are."""
    degree, kind = nw.col("relevance"), rows.collect_schema().get("relevance")
    if kind in (None, nw.Boolean):
        refuse_least(name, least)
    if kind is None:
        good, bad = nw.lit(1), nw.lit(0)
    elif kind == nw.Boolean:
        good, bad = degree, degree.is_null()
    else:
        good, bad = (
            degree > 0 if least is None else degree >= least,
            degree.is_null() | (degree < 0),
        )
        bad = bad | ~degree.is_finite() if kind.is_float() else bad
    return rows.with_columns(asked=good.cast(nw.Int32), unknown=bad.cast(nw.Int32))


def _check_ratings(name: str, relevant: Frame, labels: Frame, least: float | None) -> None:
    """Refuse relevances that look like ratings; only where they do, the labels are read again."""
    if least is not None or not _graded(labels):
        return
    degree = nw.col("relevance")
    found = facts(relevant, low=degree.min(), high=degree.max(), parts=count(degree * 2 % 1 > 0))
    is_like = found["low"] in (0.5, 1) and found["high"] == 5 and not found["parts"]
    if is_like and not facts(labels, n=count(degree == 0))["n"]:
        refuse_ratings(name, found["low"])


def _graded(labels: Frame) -> list[str]:
    """Return the column that says how relevant items are, if it is more than yes or no."""
    return [] if labels.collect_schema().get("relevance") in (None, nw.Boolean) else ["relevance"]


def _rows_and_rules(tables: dict[str, Frame], labels: Frame, relevance: str) -> tuple[Frame, Rules]:
    """Return all rows beside each other, so that `scores` is read once, and what may be wrong."""
    is_own = "relevant" not in tables
    rows = (labels if is_own else tables["scores"]).with_columns(scored=nw.lit(1))
    asked, unknown = nw.col("asked"), nw.col("unknown")
    others = [] if is_own else [labels.filter((asked > 0) | (unknown > 0))]
    is_excluded = nw.lit(value=False)
    if "exclude" in tables:
        others.append(tables["exclude"].select(*KEY, excluded=nw.lit(1)))
        is_excluded = nw.col("excluded").fill_null(0) > 0
    if others:
        named = nw.concat(others, how="diagonal")
        marks = named.collect_schema().names()[2:]
        of_pair = [(nw.col(x).max if x == "relevance" else nw.col(x).sum)() for x in marks]
        rows = rows.join(named.group_by(*KEY).agg(of_pair), on=KEY, how="full").with_columns(
            nw.coalesce(name, f"{name}_right").alias(name) for name in KEY
        )
    score, scored = nw.col("score"), ~nw.col("scored").is_null()
    is_float = rows.collect_schema()["score"].is_float()
    is_nan = score.is_nan() if is_float else nw.lit(value=False)
    is_endless = ~(score.is_finite() | is_nan) if is_float else nw.lit(value=False)
    return rows, {
        LOST.format("scores"): LACKS & scored,
        LOST.format("relevant"): LACKS & (asked > 0),
        LOST.format("exclude"): LACKS & is_excluded,
        UNKNOWN.format(relevance): unknown > 0,
        TWICE.format("relevant"): asked > 1,
        EXCLUDED: (asked > 0) & is_excluded,
        NO_SCORE: (asked > 0) & score.is_null(),
        ENDLESS: (asked > 0) & is_endless,
        MISSING: scored & ~is_excluded & (score.is_null() | is_nan),
    }


def rank_table_from_recommendations(
    recommendations: Any,
    relevant: Any,
    *,
    user: str = "user",
    item: str = "item",
    rank: str = "rank",
    relevance: str = "relevance",
    min_relevance: float | None = None,
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
    min_relevance : float, optional
        As in `rank_table_from_scores`.

    Returns
    -------
    table of the kind of `recommendations` (for a path a DuckDB relation), lazy
        Columns user, item, rank (missing where the item was not recommended) and n_predicted (the
        length of the user's list, 0 for a user without one); also relevance, where that is a
        column of numbers. Users without relevant items are not in it. The rows are checked in this
        call, as in `rank_table_from_scores`.

    Raises
    ------
    ValueError
        As `rank_table_from_scores`; if a rank is missing or below 1, or one user's list has a rank
        or an item twice.

    Examples
    --------
    >>> import duckdb
    >>> lists = duckdb.sql('''FROM (VALUES (7, 'a', 1), (7, 'b', 2)) AS l("user", item, rank)''')
    >>> relevant = duckdb.sql('''FROM (VALUES (7, 'b'), (7, 'c')) AS r("user", item)''')
    >>> sorted(rank_table_from_recommendations(lists, relevant).fetchall())
    [(7, 'b', 2, 2), (7, 'c', None, 2)]
    """
    ids = column_names(user=user, item=item)
    column_names(rank=rank, relevance=relevance)
    given = opened(recommendations=recommendations, relevant=relevant)
    tables = selected(given, ids, {"recommendations": {"rank": rank}}, relevance)
    least = None if min_relevance is None else as_number("min_relevance", min_relevance)
    lists, labels = tables["recommendations"], _labelled("relevant", tables["relevant"], least)
    place, asked = nw.col("rank"), nw.col("asked")
    refuse_rows(
        lists, {LOST.format("recommendations"): LACKS, NO_RANK: place.is_null() | (place < 1)}
    )
    refuse_pairs("recommendations", lists)
    of_labels = {
        LOST.format("relevant"): LACKS & (asked > 0),
        UNKNOWN.format(relevance): nw.col("unknown") > 0,
    }
    refuse_rows(labels, of_labels)
    _check_ratings("relevant", labels.filter(asked > 0), labels, least)
    refuse_pairs("relevant", labels.filter(asked > 0))
    level = lists.group_by("user", "rank").agg(nw.col("item").min(), n=nw.len())
    refuse_rows(level, {SHARED: nw.col("n") > 1})
    lengths = lists.group_by("user").agg(n_predicted=nw.len())
    wanted = labels.filter(asked > 0).join(lists, on=KEY, how="left")
    found = wanted.join(lengths, on="user", how="left").with_columns(
        place.cast(nw.Int64), nw.col("n_predicted").fill_null(0).cast(nw.Int64)
    )
    return found.select(*KEY, "rank", "n_predicted", *_graded(labels)).to_native()


def collect_ranks(ranks: Any) -> Ranks:
    """Run a rank table in its engine and bring the ranks into memory.

    Parameters
    ----------
    ranks : table or path
        A rank table, from `rank_table_from_scores` or `rank_table_from_recommendations`, or stored
        by the engine; or a file of `write_ranks`, of one recommender.

    Returns
    -------
    Ranks
        As `Ranks.read` makes them; users in ascending order.

    Raises
    ------
    ValueError
        If `ranks` is no rank table, `Ranks.read` would refuse the ranks, or they are those of
        several recommenders.

    Notes
    -----
    Needs some 200 bytes of memory for each relevant item.

    Examples
    --------
    >>> import duckdb
    >>> ranks = collect_ranks(duckdb.sql("FROM (VALUES (7, 2, 3)) AS r(user, rank, n_items)"))
    >>> ranks.best, ranks.n_items, ranks.users
    (array([2]), array([3]), array([7]))
    """
    frame, names = rank_table(ranks)
    order = [name for name in KEY if name in names]  # an engine may return rows in any order
    return _in_memory("ranks", collected(frame.sort(order)))


def _in_memory(name: str, rows: Any) -> Ranks:
    """Return the ranks in arrow rows of one recommender, or refuse them as `Ranks.read` does."""
    named = {name: name for name in ("user", *LEAST)}
    return ranks_by_name(name, rows, named)["ranks"]


def rank_table(ranks: Any) -> tuple[Frame, list[str]]:
    """Open a rank table of one recommender, and return it with the names of its columns."""
    frame = opened(ranks=ranks)["ranks"]
    names = frame.collect_schema().names()
    if missing := [name for name in ("user", "rank") if name not in names]:
        raise ValueError(f"ranks has no column {missing[0]!r}; it must be a rank table")
    if "recommender" in names:
        some = collected(frame.select("recommender").unique().sort("recommender").head(2))
        found = some.column("recommender").to_pylist()
        if len(found) > 1 or None in found:
            raise ValueError(
                f"ranks is of the recommenders {shown(found)}; keep the rows of one of them, or "
                "use Ranks.read, which keeps them apart"
            )
    return frame, names


# --- opening tables


def opened(**tables: Any) -> dict[str, Frame]:
    """Return tables in the first one's engine.

    Files and tables in memory are handed to that engine, which is DuckDB where the first is one of
    them; it then runs in DuckDB's default connection.
    """
    try:
        import duckdb
        import pyarrow as pa  # noqa: F401  what DuckDB and Spark hand over
    except ImportError as error:
        raise ImportError('tables need: pip install "sampled-metrics[tables]"') from error
    made: dict[str, Frame] = {}
    leader: Frame = nw.from_native(duckdb.sql("SELECT 1 AS one"))
    for name, table in tables.items():
        is_path = isinstance(table, str | os.PathLike)
        made[name] = (_from_path if is_path else _from_table)(name, table, leader)
        leader = next(iter(made.values()))
        first, own = leader.implementation.name, made[name].implementation.name
        if first != own:
            leading = f"{next(iter(made))} is in {first}"
            raise ValueError(f"{leading}, {name} in {own}; give both from one engine")
    return made


def _from_table(name: str, table: Any, leader: Frame) -> Any:
    """Return a table that is in an engine, or hand it to the one of another table."""
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


def _from_path(name: str, given: str | os.PathLike[str], leader: Frame) -> Any:
    """Let the engine of a table read a file."""
    as_path(name, given)  # only checked: a Path makes one slash of the two in s3://
    path, engine, native = os.fspath(given), leader.implementation, leader.to_native()
    if not (engine.is_duckdb() or engine.is_pyspark()):
        raise ValueError(f"{name} is {shown(path)}; open it in the engine of the first table")
    if engine.is_duckdb() and "." not in path:  # for DuckDB the name of a view or a variable
        raise ValueError(f"{name} is {shown(path)}; {name} must be {KINDS}")
    try:
        if engine.is_duckdb():
            quoted = path.replace("'", "''")
            return nw.from_native(native.query("leader", f"FROM '{quoted}'"))
        reader = native.sparkSession.read
        is_csv = ".csv" in path
        return nw.from_native(
            reader.csv(path, header=True, inferSchema=True) if is_csv else reader.parquet(path)
        )
    except Exception as error:  # each engine has its own
        why, reader = str(error).partition("\n")[0], "DuckDB" if engine.is_duckdb() else "Spark"
        raise ValueError(f"{name} is {shown(path)}, which {reader} cannot read: {why}") from error


def from_memory(name: str, table: nw.DataFrame[Any], leader: Frame) -> Any:
    """Hand a table in memory to the engine of another table."""
    native, engine = leader.to_native(), leader.implementation
    try:
        arrow = table.to_arrow()
        if engine.is_duckdb():
            return nw.from_native(native.query("leader", "FROM arrow"))  # found by its name
        if engine.is_pyspark():
            return nw.from_native(native.sparkSession.createDataFrame(arrow))
        if engine.is_polars():
            return nw.from_native(arrow, eager_only=True).lazy("polars")
        if engine.is_ibis():
            import ibis

            return nw.from_native(ibis.memtable(arrow))
    except Exception as error:  # each engine has its own
        refuse_unreadable(name, table.to_native(), error)
    raise ValueError(f"{name} is in memory; give it from the engine of the first table")


def selected(
    given: dict[str, Frame], ids: dict[str, str], needed: dict[str, dict[str, str]], relevance: str
) -> dict[str, Frame]:
    """Return the columns of tables by keyword, if they hold what they must.

    Their ids are of one type, in which integers of any table have room.
    """
    tables = {}
    for name, frame in given.items():
        schema = frame.collect_schema()
        optional = {"relevance": relevance} if name == "relevant" else {}
        found = found_columns(name, schema.names(), ids | needed.get(name, {}), optional)
        for keyword, column in found.items():
            kind = schema[column]
            fits = kind.is_integer() if keyword == "rank" else kind.is_numeric()
            if not (fits or keyword in KEY or (keyword == "relevance" and kind == nw.Boolean)):
                what = "integers" if keyword == "rank" else "numbers"
                raise ValueError(f"{name}[{column!r}] is of type {kind}; it must be {what}")
        tables[name] = frame.select(**{key: nw.col(column) for key, column in found.items()})
    first = next(iter(tables))
    for keyword in KEY:
        kinds = {name: table.collect_schema()[keyword] for name, table in tables.items()}
        wanted = kinds[first]
        others = {name: kind for name, kind in kinds.items() if kind != wanted}
        for name, kind in others.items():
            if not (wanted.is_integer() and kind.is_integer()):
                both = f"{keyword} is of type {kind} in {name} and of type {wanted} in {first}"
                raise ValueError(f"{both}; make both integers or both strings")
        if others:
            wide = wanted if wanted in (nw.UInt64, nw.Int128, nw.UInt128) else nw.Int64
            cast = nw.col(keyword).cast(wide)
            tables = {name: table.with_columns(cast) for name, table in tables.items()}
    return tables


# --- asking an engine


def collected(frame: Frame) -> Any:
    """Run a table in its engine and return it as arrow."""
    return frame.collect("pyarrow").to_native()


def facts(frame: Frame, **asked: nw.Expr) -> dict[str, Any]:
    """Aggregate a table to one row."""
    found: dict[str, Any] = collected(frame.select(**asked)).to_pylist()[0]
    return found


def count(condition: nw.Expr) -> nw.Expr:
    """Count rows; a condition that is missing is not fulfilled."""
    return condition.cast(nw.Int32).sum()  # in DuckDB faster than to count


def kept(frame: Frame) -> Frame:
    """Run a table once and keep its rows for what follows: Spark on its cluster, others here."""
    native = frame.to_native()
    if hasattr(native, "persist"):
        here: Frame = nw.from_native(native.persist())
    else:
        rows: nw.DataFrame[Any] = nw.from_native(collected(frame), eager_only=True)
        here = from_memory("rows", rows.with_row_index("row"), frame)
    return here


def refuse_rows(rows: Frame, rules: Rules) -> None:
    """Raise the error for a row that breaks a rule, if there is one."""
    broken = nw.lit(len(rules))
    for i, bad in reversed([*enumerate(rules.values())]):
        broken = nw.when(bad).then(nw.lit(i)).otherwise(broken)
    wrong = rows.with_columns(broken=broken).filter(nw.col("broken") < len(rules))
    first = wrong.select(*KEY, "broken").sort("broken", *KEY).head(1)
    for row in collected(first).to_pylist():
        user, item = ("(missing)" if row[name] is None else row[name] for name in KEY)
        raise ValueError(f"user {user}, item {item}: {[*rules][row['broken']]}")


def refuse_pairs(name: str, rows: Frame) -> None:
    """Raise the error for a pair of user and item that is there twice, if there is one."""
    pairs = rows.group_by(*KEY).agg(n=nw.len())
    refuse_rows(pairs, {TWICE.format(name): nw.col("n") > 1})


def _may_repeat(rows: Frame) -> bool:
    """Return False if no pair is there twice; DuckDB sees it in hashes, in half of the memory."""
    if not rows.implementation.is_duckdb():
        return True
    of_hashes = 'count(DISTINCT hash("user", item)), count(*)'
    distinct, n = rows.to_native().aggregate(of_hashes).fetchall()[0]
    return bool(distinct < n)


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
        Any metrics, your own too, whose normalizer does not depend on the ranks, nor, but for
        `NDCG`, on how relevant the items are.
    ties : {None, "optimistic", "pessimistic"}
        The rank that an item gets which ties with others, as in `Ranks.break_ties`. None
        averages over all ways to break the ties, and is refused where some user has several
        relevant items and ties. Of items that tie, the most relevant is the first in the
        optimistic order, and the last in the pessimistic one.

    Returns
    -------
    table of the kind of `ranks` (for a path a DuckDB relation), lazy
        One row per user: the column user, and one named after each metric, such as ``Recall@10``.

    Raises
    ------
    ValueError
        If `ranks` is no rank table, or `Ranks.read` would refuse it, or it holds several
        recommenders. If a metric needs what the table does not know, or divides by what it may not:
        there, call the metric on `collect_ranks`. If ranks tie and `ties` does not say what to do.

    Notes
    -----
    The values are the metrics' own: computed here for each case (rank, its place among the user's,
    number of relevant items) up to the largest cutoff, and joined to the ranks. With cutoffs these
    are a few hundred; without, at most as many as relevant items, some 100 bytes each.

    Examples
    --------
    >>> import duckdb
    >>> from sampled_metrics import NDCG, Recall
    >>> ranks = duckdb.sql('''FROM (VALUES (7, 'a', 3), (7, 'b', 12)) AS r("user", item, rank)''')
    >>> values_per_user(ranks, [Recall(k=10), NDCG(k=10)]).fetchall()
    [(7, 0.5, 0.306...)]
    """
    named = {str(metric): metric for metric in as_list("metrics", metrics, Metric, "Recall(k=10)")}
    as_choice("ties", ties, (None, "optimistic", "pessimistic"))
    frame, found = _checked(ranks)
    is_tied, up_to = bool(found.get("most n_tied")), found.get("least up_to")
    if is_tied and ties is None and facts(frame, n=nw.col("user").n_unique())["n"] < found["n"]:
        said = "ties is None, but ranks has ties and users with several relevant items"
        raise ValueError(f"{said}; choose ties='optimistic' or ties='pessimistic'")
    for name, metric in named.items():
        if up_to is not None and (metric.k is None or metric.k > up_to):
            raise ValueError(f"ranks are known up to {up_to:g}; {name} needs larger ones")
    known = [name for name in ("n_items", "n_predicted") if name in frame.collect_schema().names()]
    needs = [name for name, metric in named.items() if metric.needs_n_items]
    if needs and "n_items" not in known:
        raise ValueError(f"ranks has no column 'n_items'; {needs[0]} needs it")
    is_graded = bool({found.get("least relevance"), found.get("most relevance")} - {None, 1})
    key = ["rank", *(["n_tied"] if is_tied and ties is None else ["place", "n_relevant"])]
    key += [name for name in known if needs or name != "n_items"]
    key += ["relevance"] if is_graded else []
    rows = _with_places(frame, ties)
    rows = _broken(rows, ties) if is_tied and ties is not None else rows
    cutoffs = [metric.k for metric in named.values()]
    largest = None if None in cutoffs else max(k for k in cutoffs if k is not None)
    by_ideal = [name for name in named if "place" in key and is_graded and _is_ndcg(named[name])]
    parts = {x: partial(_parts, metric, by_ideal=x in by_ideal) for x, metric in named.items()}
    rows = _with_values(rows, key, parts, largest)
    if by_ideal:  # the sum of the same gains where the most relevant items come first
        place = nw.col("relevance").rank("ordinal", descending=True).over("user")
        parts = {f"ideal {x}": partial(_ideal_parts, named[x]) for x in by_ideal}
        rows = _with_values(rows.with_columns(ideal=place), ["ideal", "relevance"], parts, largest)
    sums = rows.group_by("user").agg(nw.col(x).sum() for x in dict.fromkeys([*named, *parts]))
    for x in by_ideal:
        ideal = nw.col(f"ideal {x}")
        sums = sums.with_columns(nw.when(ideal > 0).then(nw.col(x) / ideal).otherwise(0.0).alias(x))
    if "everybody" in found:  # whoever has no relevant item has no values, as in memory
        sums = found["everybody"].join(sums, on="user", how="left")
    return sums.select("user", *named).to_native()


def _with_values(
    rows: Frame,
    key: list[str],
    computed: Mapping[str, Callable[[dict[str, Any]], FloatArray]],
    largest: int | None,
) -> Frame:
    """Join columns computed here for each case of the key, unless its first is too large."""
    import pyarrow as pa

    first = nw.col(key[0])
    counted = first <= largest if largest else ~first.is_null()
    cases = collected(rows.filter(counted).select(key).unique())
    case = {x: cases.column(x).to_numpy() for x in key}
    case = {x: each if x == "relevance" else each.astype(np.int64) for x, each in case.items()}
    for name, compute in computed.items():
        cases = cases.append_column(name, pa.array(compute(case)))
    values = from_memory("ranks", nw.from_native(cases, eager_only=True), rows)
    return rows.join(values, on=key, how="left")


def _checked(ranks: Any) -> tuple[Frame, dict[str, Any]]:
    """Return the columns of a rank table that are known, and facts about them."""
    given, names = rank_table(ranks)
    kinds, col = given.collect_schema(), nw.col
    numbers = [name for name in LEAST if name in names]
    for name in numbers:
        if not kinds[name].is_numeric():
            raise ValueError(f"ranks[{name!r}] is of type {kinds[name]}; it must be numbers")
    table = given.with_columns(_as_in_memory(name, kinds[name]) for name in numbers)
    if "relevance" in numbers:  # an item of relevance 0 is not relevant
        is_not = (col("relevance") == 0) & ~col("user").is_null()
        everybody = table.select("user").unique()
        table = table.filter(~is_not.fill_null(value=False))
    optional = [name for name in numbers if name != "rank"]
    found = facts(
        table,
        n=nw.len(),
        **{name: count(col(name).is_null()) for name in ("user", *optional)},
        **{f"least {name}": col(name).min() for name in optional},
        **{f"most {name}": col(name).max() for name in optional},
    )
    for name in ("user", *optional):
        if 0 < found[name] == found["n"] and name != "user":
            numbers.remove(name)
        elif found[name]:
            raise ValueError(f"ranks has a row whose {name} is missing; give it in all rows")
    table = table.drop(name for name in optional if name not in numbers)
    _refuse_rankings(table, numbers)
    if "relevance" in numbers:
        found["everybody"] = everybody
    return table.select("user", *numbers), found


def _as_in_memory(name: str, kind: nw.dtypes.DType) -> nw.Expr:
    """Return a column in which NaN is missing, and integers of small types do not overflow."""
    column = nw.col(name)
    if name == "relevance":
        column, kind = column.cast(nw.Float64), nw.Float64()
    if kind.is_float():
        return nw.when(~column.is_nan()).then(column).alias(name)
    return column.cast(nw.Int64) if kind.is_integer() else column


def _refuse_rankings(table: Frame, numbers: list[str]) -> None:
    """Find a user whose rows cannot come from one ranking; `Ranks.read` says what is wrong."""
    kinds, col, order = table.collect_schema(), nw.col, ["rank", "n_tied"]
    further = further_columns(kinds.names(), {"user", "recommender", *numbers})
    more = [name for name in further if not kinds[name].is_nested()]
    of_users = [name for name in numbers if name not in (*order, "relevance")]
    same = {f"same {i}": col(name) for i, name in enumerate([*of_users, *more])}
    rows = table.select("user", *numbers, **same)
    rows = rows if "n_tied" in numbers else rows.with_columns(n_tied=nw.lit(0))
    rows = _with_places(rows).with_columns(
        **{f"{name} before": col(name).shift(1).over("user", order_by=order) for name in order},
        **{f"{name} least": col(name).min().over("user") for name in same},
    )
    rank, tied = col("rank"), col("n_tied")
    before, tied_before = col("rank before"), col("n_tied before")
    bad = [
        # Items with one score share a rank and n_tied, and the next rank is beyond all of them.
        ~((rank > before + tied_before) | ((rank == before) & (tied == tied_before))),
        (col("n_level") > tied + 1) & ~rank.is_null(),
    ]
    for name in numbers:
        one, is_real = col(name), name in REALS
        bad += [one < LEAST[name], one == np.inf if is_real else (one > LARGEST) | (one % 1 != 0)]
    for name in same:
        one, least = col(name), col(f"{name} least")
        bad.append((one != least) | (one.is_null() & ~least.is_null()))
    n_items = col("n_items") if "n_items" in numbers else nw.lit(2 * LARGEST)
    for small, large in (
        (rank + tied, "n_items"),
        (col("n_relevant"), "n_items"),
        (n_items, "catalog"),
        (rank + tied, "n_predicted"),
        (rank, "up_to"),
    ):
        bad += [small > col(large)] if large in numbers else []
    bad += [rank.is_null()] if "n_tied" in numbers else []
    wrong = rows.filter(nw.any_horizontal(*bad, ignore_nulls=True)).select("user")
    found = collected(table.join(wrong.sort("user").head(1), on="user", how="semi"))
    if len(found):
        user = shown(found.column("user")[0].as_py())
        _in_memory(f"ranks of user {user}", found)
        raise AssertionError(f"ranks of user {user} are those of no ranking")


def _with_places(rows: Frame, ties: str | None = None) -> Frame:
    """Count each user's relevant items from the best, and those that share a rank.

    Of those, the most relevant one comes first, or last where ties are pessimistic.
    """
    names = rows.collect_schema().names()
    rank, in_level = nw.col("rank"), "relevance" if "relevance" in names else "rank"
    within = nw.col(in_level).rank("ordinal", descending=ties != "pessimistic")
    return rows.with_columns(
        place=rank.rank("min").over("user") + within.over("user", "rank") - 1,
        n_relevant=nw.len().over("user"),
        n_level=nw.len().over("user", "rank"),
    )


def _broken(rows: Frame, ties: str) -> Frame:
    """Give each of the items that tie a rank of its own."""
    first = nw.col("place").min().over("user", "rank")
    worse = nw.col("n_tied") + 1 - nw.col("n_level") if ties == "pessimistic" else 0
    return rows.with_columns(first=first).with_columns(
        rank=nw.col("rank") + nw.col("place") - nw.col("first") + worse
    )


def _is_ndcg(metric: Metric) -> bool:
    """Whether a metric divides by the sum of its gains in the ideal order of all relevant items."""
    kind = type(metric)
    return (
        isinstance(metric, NDCG)
        and metric.ideal == "relevant"
        and metric.rank_only
        and (kind.normalizer is NDCG.normalizer)
    )


def _ideal_parts(metric: Metric, case: dict[str, Any]) -> FloatArray:
    """Compute what each item adds to the gains of the ideal order."""
    gains = metric.cut(metric.gain(case["ideal"], 1, 1, None), case["ideal"])
    return gains * metric.relevance_weight(case["relevance"])


def _parts(metric: Metric, case: dict[str, Any], *, by_ideal: bool) -> FloatArray:
    """Compute what each case adds to its user's value; refuse a divisor that differs in a case."""
    rank, n, relevance = case["rank"], case.get("n_items"), case.get("relevance")
    if "n_tied" in case:
        sizes = rank + case["n_tied"] if n is None else n
        return metric(Ranks(rank, case["n_tied"], sizes, gains=relevance))
    gains = metric.cut(metric.gain(rank, case["place"], case["n_relevant"], n), rank)
    if relevance is not None:
        gains = gains * metric.relevance_weight(relevance)
    if by_ideal:
        return gains
    known = [name for name in ("n_relevant", "n_items", "n_predicted") if name in case]
    kinds, which = np.unique(np.stack([case[x] for x in known]), axis=1, return_inverse=True)
    kind = dict(zip(known, kinds, strict=True))
    # An instance of each kind with the best ranks, one without any, and one of other relevance.
    starts = offsets_of(kind["n_relevant"])
    best = np.arange(starts[-1]) - np.repeat(starts[:-1], kind["n_relevant"]) + 1
    divisor = np.broadcast_to(metric.normalizer(trusted(best, starts, **kind)), kinds.shape[1:])
    others = {}
    if metric.k is not None or n is None:
        others["the ranks change"] = trusted(best[:0], starts * 0, **kind)
    if relevance is not None:
        of_best = 1.0 + best
        others["relevance changes"] = trusted(
            best, starts, gains=of_best, ideal_gains=of_best, **kind
        )
    for changed, other in others.items():
        if (np.broadcast_to(metric.normalizer(other), divisor.shape) != divisor).any():
            said = f"metrics has {metric}, which divides by what {changed}"
            raise ValueError(f"{said}; call it on the ranks of collect_ranks")
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(gains / divisor[which.ravel()], dtype=np.float64)
