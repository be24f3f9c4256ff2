"""Rank tables in a database engine: opened, and refused where a row cannot be from a ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sampled_metrics._checks import shown
from sampled_metrics._engines import collected, count, opened
from sampled_metrics._rank_rows import further_columns

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

    Rule = tuple[str, nw.Expr, str]  # a column, where it is bad, and what it must be

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
    """Return what must not be, as `read_ranks` and TiedRanks have it, in this order."""
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
