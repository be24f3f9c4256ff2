"""Metrics of each user, computed where a rank table is: in its database engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sampled_metrics._checks import FloatArray, IntArray, as_choice, as_list
from sampled_metrics._engine_ranks import checked_ranks, facts
from sampled_metrics._engines import collected, from_memory
from sampled_metrics._flat import offsets_of
from sampled_metrics.metric import Metric
from sampled_metrics.ranks import Ranks
from sampled_metrics.ties import TiedRanks

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw


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
        The rank that an item gets which ties with others, as in `TiedRanks.break_ties`. None
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
            'relevance 1 only: use collect_ranks(ranks).to_ranks("optimistic") and the metric'
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
        return metric(TiedRanks(rank, case["n_tied"], rank + case["n_tied"] if n is None else n))
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
    divisor = np.broadcast_to(metric.normalizer(Ranks(best, starts, **kind)), counts.shape)
    if metric.k is not None or "n_items" not in known:
        none = Ranks(best[:0], starts * 0, **kind)
        if (np.broadcast_to(metric.normalizer(none), counts.shape) != divisor).any():
            raise ValueError(
                f"metrics has {metric}, which divides by what the ranks change; call it on the "
                "ranks of collect_ranks"
            )
    return np.asarray(divisor[which.ravel()], dtype=np.float64)
