"""Ranks and metrics of tables that a database engine holds: larger than memory, or on a cluster.

The same counting as in `exact_ranks`, written once with narwhals. It runs in the engine that the
tables are given in: DuckDB for files and DuckDB's relations, Spark for its DataFrames, and any
other that narwhals speaks. A *rank table* holds the result, one row for each relevant item, in the
columns ``user``, ``item``, ``rank``, and where they are known ``n_tied``, ``n_items``,
``n_predicted`` and ``relevance``. Nothing is sorted and no function of ours runs in the engine, so
that its own limits on memory hold; a table from an engine is not read before its result is.

Needs the extra ``tables``: ``pip install "sampled-metrics[tables]"``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sampled_metrics._checks import as_flag
from sampled_metrics._columns import column_names
from sampled_metrics._engine_ranks import rank_table
from sampled_metrics._engines import (
    KEY,
    checked,
    collected,
    columns,
    count,
    opened,
    problem,
    repeated,
    with_same_ids,
    without_user,
)
from sampled_metrics._values import values_per_user
from sampled_metrics.rank_tables import COUNTS, ranks_by_name
from sampled_metrics.ranks import Ranks
from sampled_metrics.ties import TiedRanks

if TYPE_CHECKING:
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


def collect_ranks(ranks: Any) -> TiedRanks | Ranks:
    """Run a rank table in its engine and bring the ranks into memory.

    Parameters
    ----------
    ranks : table or path
        A rank table, from `rank_table_from_scores` or `rank_table_from_recommendations`, or stored
        by the engine; or a file of `write_ranks`, of one recommender.

    Returns
    -------
    TiedRanks or Ranks
        As `read_ranks` makes them: a TiedRanks where the table has the column n_tied, else a
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
