"""From a table of scored candidates to the ranks of the relevant items, by counting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._arguments import FloatArray, IntArray, as_choice, as_number
from sampled_metrics.io._columns import column_names
from sampled_metrics.io._pairs import (
    ABSENT,
    Absent,
    Gathered,
    Pairs,
    catalog_of,
    find,
    gather,
    pairs_of,
    refuse_absent,
    refuse_apart,
    refuse_twice,
    relevance_of,
    weights_of,
)
from sampled_metrics.ranks import Ranks, offsets_of, ranges, trusted

if TYPE_CHECKING:
    from sampled_metrics.io._columns import TableLike

    ByUser = TableLike | Mapping[Any, Iterable[Any]]

PIECE = 2**18  # scores that are compared together, so that they stay in the cache
FEW = 32  # up to so many relevant items of a user are counted, of more the scores are sorted


def from_scores(
    scores: TableLike | Mapping[Any, Mapping[Any, float]],
    relevant: ByUser | None = None,
    *,
    exclude: ByUser | None = None,
    absent: Absent = "refuse",
    catalog: Any = None,
    weights: Any = None,
    min_relevance: float | None = None,
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
    absent : {"refuse", "missed", "left out"}
        What to do if a user has relevant items but no candidates: raise an error, count
        all of them as missed, or leave the user out, which flatters.
    catalog : int, dict or Series, optional
        Number of items that there are, one for all or by user, where the candidates are a sample
        of them: such ranks are never called exact.
    weights : dict or Series, optional
        How much each user counts in a mean, above 0, by user.
    min_relevance : float, optional
        The least relevance that counts as relevant: 4 for ratings from 1 to 5, say. By default all
        above 0, and relevances that look like ratings are refused.
    user, item, score, relevance : str
        The names of the columns, in all of the tables.

    Returns
    -------
    Ranks
        All users with candidates, in the order in which `scores` first names them. Metrics are
        NaN for those without a relevant item, and means leave them out unless they are told what
        these count. It has `gains` if some relevance is not 0 or 1.

    Raises
    ------
    ValueError
        If a column, an id or a candidate's score is missing; if a column or a pair occurs twice;
        if ids are integers in one table and names in the other; if a relevant item has no finite
        score, or is excluded; if no user or no item in `exclude` or in `relevant` has scores; if a
        relevance is missing, negative or infinite, or they look like ratings; or if a large
        integer is rounded.
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

    GAUC (Zhou et al. 2018) weighs each user's AUC, as by the number of impressions.

    >>> from sampled_metrics import AUC
    >>> weighted = Ranks.from_scores(table, weights=table["user"].value_counts())
    >>> AUC()(weighted), AUC().mean(weighted)
    (array([0.25, 1.  ]), 0.55)
    """
    as_choice("absent", absent, ABSENT)
    least = None if min_relevance is None else as_number("min_relevance", min_relevance)
    columns = column_names(user=user, item=item, score=score, relevance=relevance)
    if relevant is None and isinstance(scores, Mapping):
        raise ValueError("relevant is missing; where scores is a dict, give one of relevant items")
    needed = ["score"] if relevant is not None else ["score", "relevance"]
    candidates = pairs_of("scores", scores, columns, needed)
    sides: list[tuple[Pairs, IntArray | None]] = [(candidates, None)]
    if relevant is not None:
        sides += [(pairs_of("relevant", relevant, columns, (), ["relevance"]), None)]
    if exclude is not None:
        gone = pairs_of("exclude", exclude, columns)  # events, which may be repeated
        key = gone.users.codes * len(gone.items.names) + gone.items.codes
        sides += [(gone, np.unique(key, return_index=True)[1])]
    users, (listed, *others) = gather(*sides)
    lost = np.empty(0, np.int64)  # users of relevant items, without candidates
    if relevant is None:
        place, gains = _positive(listed, least)
    else:
        place, gains, lost = _found(users, listed, others[0], absent, least)
    left = np.ones(len(listed.items), dtype=bool)
    if exclude is not None:
        theirs, ours = (x.users.names.tolist() for x in (gone, candidates))
        refuse_apart("user", "exclude", theirs, "scores", ours)
        refuse_apart("item", "exclude", others[-1].ids, "scores", listed.ids)
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
    of_all, n_candidates = np.append(of_user, lost), np.diff(offsets)
    n_relevant = np.bincount(of_all, minlength=len(users))
    own = (n_candidates > 0) | (n_relevant > 0)
    names, n_items = users[own], np.maximum(n_candidates, n_relevant)[own]
    order = np.lexsort((-gains[: len(best)], best, of_user))
    made: dict[str, Any] = {"n_tied": n_tied[order], "n_items": n_items, "users": names}
    if (gains != 1).any():
        made |= {"gains": gains[order], "ideal_gains": gains[np.lexsort((-gains, of_all))]}
    if catalog is not None:
        made["catalog"] = catalog_of(catalog, names, n_items)
    if weights is not None:
        made["weights"] = weights_of(weights, names)
    ranked = offsets_of(np.bincount(of_user, minlength=len(users))[own])
    return trusted(best[order], ranked, n_relevant[own], **made)


def _positive(listed: Gathered, least: float | None) -> tuple[IntArray, FloatArray]:
    """Return the positions of the relevant candidates, and how relevant they are."""
    refuse_twice(listed)
    gains = relevance_of(listed.pairs, least)[listed.rows]
    place = np.flatnonzero(gains > 0)
    return place, gains[place]


def _found(
    users: NDArray[Any], listed: Gathered, wanted: Gathered, absent: str, least: float | None
) -> tuple[IntArray, FloatArray, IntArray]:
    """Return the positions of the relevant items among the candidates, and their relevance.

    The items of users without candidates that count as missed come last, as the users' numbers.
    """
    gains = relevance_of(wanted.pairs, least)[wanted.rows]
    label, place = find(listed, wanted)
    asked, of_user = gains > 0, np.repeat(np.arange(len(users)), wanted.counts)
    if not label.size:
        there = listed.counts > 0
        theirs = users[np.unique(of_user[asked])].tolist()
        refuse_apart("user", "relevant", theirs, "scores", users[there].tolist())
        refuse_apart("item", "relevant", wanted.only(asked).ids, "scores", listed.ids)
    is_lost = asked & (listed.counts == 0)[of_user]
    if absent == "refuse":
        for x in of_user[is_lost][:1]:
            refuse_absent("relevant", users.tolist()[x], "scores")
    missing = asked & ~is_lost
    missing[label] = False
    remedy = "score it, or give the lists to Ranks.from_recommendations, which counts it as missed"
    wanted.refuse(missing, f"scores has no score for this item; {remedy}")
    label, place = label[gains[label] > 0], place[gains[label] > 0]
    lost = np.flatnonzero(is_lost) if absent == "missed" else label[:0]
    return place, gains[np.append(label, lost)], of_user[lost]


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
