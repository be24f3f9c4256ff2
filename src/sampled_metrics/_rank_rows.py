"""Ranks from the rows of a table of ranks, one row for each relevant item."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._checks import LARGEST, FloatArray, IntArray, rounded
from sampled_metrics._columns import Ids
from sampled_metrics._flat import offsets_of
from sampled_metrics.ranks import Ranks
from sampled_metrics.ties import TiedRanks

NAMELESS = re.compile(r"|Unnamed: \d+|__index_level_\d+__")  # how files call such an index


def further_columns(there: Iterable[str], known: Collection[str]) -> list[str]:
    """Return the columns of a table of ranks that may tell several rankings of a user apart."""
    named = [name for name in there if isinstance(name, str)]
    nameless = [name for name in named if NAMELESS.fullmatch(name)]
    is_index = len(nameless) == 1 and nameless[0] in (named[0], "__index_level_0__")
    index = nameless if is_index else []
    return [name for name in named if name not in {*known, *index, "item", "group"}]


@dataclass(frozen=True)
class Rows:
    """The rows of one recommender."""

    table: str  # the argument that holds them
    users: Ids
    values: dict[str, NDArray[Any]]  # of all rows, NaN where one is missing
    chosen: IntArray  # the rows

    def refuse(self, keyword: str, bad: NDArray[np.bool_], rule: str) -> None:
        """Raise the error for the first of the chosen rows that is bad, if there is one."""
        for i in self.chosen[bad][:1]:
            value = self.values[keyword][i]
            is_value = "is missing" if np.isnan(value) else f"is {value:.17g}"
            raise ValueError(
                f"{self.table}, row {i}, user {self.users.name(i)!r}: the {keyword} {is_value}; "
                f"{rule}"
            )

    def given(self, keyword: str) -> NDArray[Any] | None:
        """Return the values of the chosen rows; None if all are missing."""
        if keyword not in self.values:
            return None
        values = self.values[keyword][self.chosen]
        missing = np.isnan(values)
        if missing.all():
            return None
        self.refuse(keyword, missing, "give it in all rows of a recommender, or in none")
        return values

    def counts(self, keyword: str, low: int) -> IntArray | None:
        """Return whole numbers, one for each of the chosen rows; None if all are missing."""
        return None if (values := self.given(keyword)) is None else self.whole(keyword, values, low)

    def whole(self, keyword: str, values: NDArray[Any], low: int) -> IntArray:
        bad = ~((values >= low) & (values <= LARGEST) & (values == np.floor(values)))
        self.refuse(keyword, bad, f"it must be a whole number of at least {low}")
        rule = f"give it as an integer: {values.dtype} rounds numbers of this size"
        self.refuse(keyword, rounded(values), rule)
        return values.astype(np.int64)


def ranks_of(name: str, rows: Rows) -> Ranks | TiedRanks:
    """Return the ranks of one recommender: a TiedRanks if its rows have n_tied."""
    gains = rows.given("relevance")
    if gains is not None:
        bad = ~(np.isfinite(gains) & (gains >= 0))
        rows.refuse("relevance", bad, "it must be finite and 0 or above")
        rows = replace(rows, chosen=rows.chosen[gains > 0])
        gains = gains[gains > 0].astype(np.float64)
    n_tied = rows.counts("n_tied", 0)
    try:
        return _listed(rows, gains) if n_tied is None else _tied(rows, n_tied, gains)
    except ValueError as error:
        raise (
            error
            if str(error).startswith(f"{rows.table}, row")
            else ValueError(f"{rows.table}, recommender {name!r}: {error}")
        ) from error


def _tied(rows: Rows, n_tied: IntArray, gains: FloatArray | None) -> TiedRanks:
    """Return the ranks of rows with ties: all of them must have a rank among all candidates."""
    needed = {}
    for keyword in ("rank", "n_items"):
        if keyword not in rows.values:
            raise ValueError("there is n_tied, but no n_items; give both, or none")
        values = rows.values[keyword][rows.chosen]
        rows.refuse(keyword, np.isnan(values), "a row with n_tied needs it; give both, or neither")
        needed[keyword] = rows.whole(keyword, values, 1)
    users = rows.users.names[rows.users.codes[rows.chosen]]
    return TiedRanks(needed["rank"], n_tied, needed["n_items"], users, gains)


def _listed(rows: Rows, gains: FloatArray | None) -> Ranks:
    """Return the ranks of rows without ties, of which some may have none."""
    import pandas as pd

    user = pd.factorize(rows.users.codes[rows.chosen])[0].astype(np.int64)
    first = np.unique(user, return_index=True)[1]
    rank = rows.values["rank"][rows.chosen]
    found = ~np.isnan(rank)
    whole = rows.whole("rank", np.where(found, rank, 1), 1)
    order = np.lexsort((np.where(found, whole, LARGEST), user))
    again = np.zeros(len(order), dtype=bool)
    again[order[1:]] = (np.diff(whole[order]) == 0) & (np.diff(user[order]) == 0)
    rows.refuse("rank", again & found, "another item of this user has it, too")
    limits = {}
    for keyword, low in (("n_items", 1), ("n_predicted", 0)):
        each = rows.counts(keyword, low)
        if each is not None:
            other = each != each[first][user]
            rows.refuse(keyword, other, "it must be the same in all rows of a user")
            rows.refuse("rank", found & (whole > each), f"it must be at most {keyword}")
        limits[keyword] = None if each is None else each[first]
    ranked = order[found[order]]
    n_relevant = np.bincount(user, minlength=len(first))
    n_ranked = np.bincount(user[ranked], minlength=len(first))
    return Ranks(
        whole[ranked],
        offsets_of(n_ranked),
        n_relevant,
        gains=None if gains is None else gains[ranked],
        ideal_gains=None if gains is None else gains[np.lexsort((-gains, user))],
        users=rows.users.names[rows.users.codes[rows.chosen]][first],
        **limits,
    )
