"""From a table of scored candidates to the ranks of the relevant items, by counting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._arguments import FloatArray, IntArray
from sampled_metrics.io._columns import column_names
from sampled_metrics.io._pairs import (
    Gathered,
    Pairs,
    catalog_of,
    find,
    gather,
    pairs_of,
    refuse_twice,
    relevance_of,
)
from sampled_metrics.ranks import Ranks, gathered, offsets_of, ranges

if TYPE_CHECKING:
    from sampled_metrics.io._columns import TableLike

    ByUser = TableLike | Mapping[Any, Iterable[Any]]

__all__ = ["from_scores"]

PIECE = 2**18  # scores that are compared together, so that they stay in the cache
FEW = 32  # up to so many relevant items of a user are counted, of more the scores are sorted


def from_scores(
    scores: TableLike | Mapping[Any, Mapping[Any, float]],
    relevant: ByUser | None = None,
    *,
    exclude: ByUser | None = None,
    catalog: Any = None,
    user: str = "user",
    item: str = "item",
    score: str = "score",
    relevance: str = "relevance",
) -> Ranks:
    """Rank each relevant item among all candidates of its user: count those that score above it.

    Parameters
    ----------
    scores : table, path or dict
        The score of every candidate of every user: a long table with the columns `user`, `item`
        and `score` (of any library that narwhals reads), the path of one (.parquet or .csv), or a
        dict from user to a dict from item to score. Rows may have any order; no index is read.
    relevant : table, path or dict, optional
        The relevant items: a table of `user` and `item`, or a dict from user to items. A column
        `relevance`, or a dict from user to a dict from item to relevance, says how relevant each
        item is; 0 is not relevant. By default, the column `relevance` of `scores` is used.
    exclude : table, path or dict, optional
        Pairs that are not candidates, such as training events: a table of `user` and `item`, or a
        dict from user to items. Some user and some item of them must have scores.
    catalog : int, dict or Series, optional
        Number of items that there are, one for all or by user, where the candidates are a sample
        of them: such ranks are never called exact.
    user, item, score, relevance : str
        The names of the columns, in all of the tables.

    Returns
    -------
    Ranks
        Users are in the order in which `scores` first names them; those without a relevant item
        have no entry, so no metric counts them. It has `gains` if some relevance is not 0 or 1.

    Raises
    ------
    ValueError
        If a column, an id or a candidate's score is missing; if a column or a pair occurs twice;
        if ids are integers in one table and names in the other; if a relevant item has no finite
        score, or is excluded; if no user or no item in `exclude` has scores; if a relevance is
        missing, negative or infinite; or if a large integer is rounded.
    ImportError
        If a path is a parquet file, and neither pyarrow nor polars is installed.

    See Also
    --------
    Ranks.from_recommendations : if you know only the first items of each user's ranking.

    Notes
    -----
    Ids are integers, or names: strings, categories, UUIDs or other values of one type. Whole
    floats are integers where their type tells each from the next (float32 below :math:`2^{24}`).
    In a text file, ids are integers if all of a column are written like integers: 7, not 07.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"user": ["ann", "ann", "ann", "bob", "bob"],
    ...                       "item": ["tea", "nut", "egg", "tea", "nut"],
    ...                       "score": [0.9, 0.5, 0.5, 0.1, 0.2],
    ...                       "relevance": [0, 1, 0, 0, 1]})
    >>> ranks = Ranks.from_scores(table)
    >>> ranks.best, ranks.n_tied, ranks.n_items
    (array([2, 1]), array([1, 0]), array([3, 2]))
    >>> Ranks.from_scores({"ann": {"tea": 3, "nut": 1}}, {"ann": ["nut"]}).best
    array([2])
    """
    columns = column_names(user=user, item=item, score=score, relevance=relevance)
    if relevant is None and isinstance(scores, Mapping):
        raise ValueError("relevant is missing; where scores is a dict, give one of relevant items")
    needed = ["score"] if relevant is not None else ["score", "relevance"]
    candidates = pairs_of("scores", scores, columns, needed)
    sides: list[tuple[Pairs, IntArray | None]] = [(candidates, None)]
    if relevant is not None:
        sides += [(pairs_of("relevant", relevant, columns, (), ["relevance"]), None)]
    if exclude is not None:
        sides += [_distinct(pairs_of("exclude", exclude, columns))]
    users, (listed, *others) = gather(*sides)
    place, gains = _positive(listed) if relevant is None else _found(listed, others[0])
    left = np.ones(len(listed.items), dtype=bool)
    if exclude is not None:
        _check_excluded(sides[-1][0], listed, others[-1])
        left[find(listed, others[-1])[1]] = False
    is_wanted = np.zeros_like(left)
    is_wanted[place] = True
    listed.refuse(is_wanted & ~left, "it is relevant, and in exclude; take it out of one of them")
    values = candidates.values["score"][listed.rows]
    remedy = "leave the item out, or give it -inf to put it last"
    listed.refuse(np.isnan(values) & left, f"the score is missing; {remedy}")
    listed.refuse(np.isinf(values) & is_wanted, "the score of a relevant item must be finite")
    offsets = offsets_of(left)[listed.offsets]
    of_user = np.searchsorted(listed.offsets, place, side="right") - 1
    best, n_tied = _count(values[left], offsets, of_user, offsets_of(left)[place])
    own, instance = np.unique(of_user, return_inverse=True)
    n_items = np.diff(offsets)[own]
    return gathered(
        best,
        n_tied,
        instance.ravel(),
        gains if (gains != 1).any() else None,
        n_items=n_items,
        catalog=None if catalog is None else catalog_of(catalog, users[own], n_items),
        users=users[own],
    )


def _distinct(pairs: Pairs) -> tuple[Pairs, IntArray]:
    """Return pairs, and the positions of each pair's first occurrence: events may be repeated."""
    key = pairs.users.codes * len(pairs.items.names) + pairs.items.codes
    return pairs, np.unique(key, return_index=True)[1]


def _check_excluded(excluded: Pairs, listed: Gathered, gone: Gathered) -> None:
    """Refuse pairs of which no user, or no item, has a score: they may be called otherwise."""
    for what, ids, there in (
        ("user", excluded.users, listed.counts[gone.counts > 0]),
        ("item", excluded.items, np.isin(gone.items, listed.items)),
    ):
        if len(gone.items) and not there.any():
            raise ValueError(
                f"exclude has {what} {ids.name(0)!r}, scores does not, nor any other {what} of it; "
                "name them as scores does, and see that user and item are not swapped"
            )


def _positive(listed: Gathered) -> tuple[IntArray, FloatArray]:
    """Return the positions of the relevant candidates, and how relevant they are."""
    refuse_twice(listed)
    gains = relevance_of(listed.pairs)[listed.rows]
    place = np.flatnonzero(gains > 0)
    return place, gains[place]


def _found(listed: Gathered, wanted: Gathered) -> tuple[IntArray, FloatArray]:
    """Return the positions of the relevant items among the candidates, and their relevance."""
    gains = relevance_of(wanted.pairs)[wanted.rows]
    label, place = find(listed, wanted)
    missing = gains > 0
    missing[label] = False
    remedy = "score it, take it out, or let Ranks.from_recommendations count it as missed"
    wanted.refuse(missing, f"scores has no score for this item; {remedy}")
    kept = gains[label] > 0
    return place[kept], gains[label][kept]


def _count(
    scores: NDArray[Any], offsets: IntArray, of_user: IntArray, place: IntArray
) -> tuple[IntArray, IntArray]:
    """Return the best rank of each relevant item, and the number of others with its score.

    Item i is at `place[i]` of the scores, and its user has those from `offsets[of_user[i]]` on.
    """
    above, tied = np.empty_like(place), np.empty_like(place)
    target, starts, n_items = scores[place], offsets[of_user], np.diff(offsets)[of_user]
    many = np.bincount(of_user)[of_user] > FEW
    for i in np.split(np.flatnonzero(many), np.flatnonzero(np.diff(of_user[many])) + 1):
        if len(i):
            ascending = np.sort(scores[starts[i[0]] : starts[i[0]] + n_items[i[0]]])
            first, end = (np.searchsorted(ascending, target[i], side) for side in ("left", "right"))
            above[i], tied[i] = n_items[i] - end, end - first - 1
    few = np.flatnonzero(~many)
    pieces = np.flatnonzero(np.diff(np.cumsum(n_items[few]) // PIECE)) + 1
    for i in np.split(few, pieces):
        rows = scores[ranges(starts[i], n_items[i])]
        limit = np.repeat(target[i], n_items[i])
        first = np.cumsum(n_items[i]) - n_items[i]
        if len(i):
            above[i] = np.add.reduceat(rows > limit, first, dtype=np.int64)
            tied[i] = np.add.reduceat(rows == limit, first, dtype=np.int64) - 1
    return above + 1, tied
