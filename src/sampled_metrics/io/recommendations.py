"""From lists of recommended items, and the items that were relevant, to ranks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._arguments import (
    FloatArray,
    IntArray,
    as_choice,
    as_csr,
    as_number,
    as_users,
    is_table,
    reject,
)
from sampled_metrics.io._columns import column_names
from sampled_metrics.io._pairs import (
    ABSENT,
    Absent,
    Items,
    Pairs,
    are_dicts,
    as_gains,
    by_integer,
    catalog_of,
    entry,
    find,
    gather,
    pairs_of,
    refuse_absent,
    refuse_apart,
    refuse_columns,
    refuse_least,
    refuse_mixed,
    refuse_twice,
    relevance_of,
    weights_of,
)
from sampled_metrics.ranks import Ranks, offsets_of, trusted

if TYPE_CHECKING:
    from scipy import sparse

    from sampled_metrics.io._columns import TableLike

LARGEST_ITEM = 2**63 - 1
ROWS = {"predictions": (list, tuple), "labels": (list, tuple, Set, Mapping)}

Lists = Sequence[Collection[object]] | NDArray[Any] | Mapping[Any, Collection[object]]
SomeItems = TypeVar("SomeItems", bound=Items)


def from_recommendations(
    predictions: Lists | TableLike,
    labels: Lists | TableLike | sparse.sparray | sparse.spmatrix,
    *,
    absent: Absent = "refuse",
    catalog: Any = None,
    weights: Any = None,
    min_relevance: float | None = None,
    user: str = "user",
    item: str = "item",
    rank: str = "rank",
    score: str = "score",
    relevance: str = "relevance",
) -> Ranks:
    """Build ranks from lists of recommended items and the sets of items that were relevant.

    Parameters
    ----------
    predictions : list of lists, array of shape (n_instances, length), dict or table
        For each instance, the recommended items, best first: integers of at least 0, or strings.
        A long table, or the path of one, has one row for each user and item, and a column `rank`
        (1, 2, ... for each user) or, if there is none, `score`, of which a higher one comes first;
        equal ones tie.
    labels : list of lists, sets or dicts, array, sparse matrix, dict or table
        For each instance, its relevant items, in any order; or a dict from each item to its
        gain, which says how relevant it is (an item of gain 0 is not relevant).
        A sparse matrix of shape (n_instances, n_items) holds the gains of integer items; several
        entries for one place are added up, as SciPy does.
        A long table, or the path of one, has one row for each user and relevant item; a column
        `relevance` with the gain is optional.
    absent, weights, min_relevance
        As in `Ranks.from_scores`, where a user of a dict or a table has no list.
    catalog : int, dict or Series, optional
        As there. The lists then hold all candidates, so each relevant item must be in its user's.
    user, item, rank, score, relevance : str
        The names of the columns, in both tables.

    Returns
    -------
    Ranks
        A relevant item that was not recommended counts in ``n_relevant`` but has no rank.
        The users of a dict or a table become its `users`.

    Raises
    ------
    ValueError
        If the instances do not fit each other (see Notes), an instance names an item twice, an
        item is neither a string nor an integer from 0 to :math:`2^{63} - 1` (-1 often marks
        padding), or a gain is negative or not finite. In a table, if a column or an id is missing,
        ranks are not 1, 2, ... for each user, or a score is missing.
    ImportError
        If a path is a parquet file, and neither pyarrow nor polars is installed.

    See Also
    --------
    Ranks.from_scores : if you know the scores of all candidates, which may have ties.

    Notes
    -----
    The first of several lists belongs to the first set of labels, and so on. Dicts from a user to
    a list are paired by user; both must name the same users.

    Tables are paired by user, too (pandas, polars, pyarrow or any other that narwhals reads; a
    path must end in .parquet or .csv). The order of their rows does not matter. Ids are integers,
    strings, categories or UUIDs, all of one kind. Users without labels are kept and have no
    relevant item: metrics are NaN for them.

    Items of a list with the same score are level, and metrics are means over their orders. The list
    must then be whole, or end where scores differ: no item beyond it is taken to have its last one.

    Users are in the order in which `predictions` first names them, followed by those that only
    `labels` names.

    Examples
    --------
    >>> Ranks.from_recommendations([[1, 6, 8], []], [[1, 6, 9], [2]]).best
    array([1, 2])
    >>> Ranks.from_recommendations([["a", "b"]], [{"b": 3, "c": 1, "a": 0}]).gains
    array([3.])
    >>> Ranks.from_recommendations({"ann": [7, 5], "bob": [5]}, {"bob": [5], "ann": [5]}).best
    array([2, 1])
    >>> import pandas as pd
    >>> recommended = pd.DataFrame({"user": [8, 8], "item": [1, 6], "score": [0.2, 0.9]})
    >>> Ranks.from_recommendations(recommended, pd.DataFrame({"user": [8], "item": [1]})).best
    array([2])
    """
    as_choice("absent", absent, ABSENT)
    least = None if min_relevance is None else as_number("min_relevance", min_relevance)
    columns = column_names(user=user, item=item, rank=rank, score=score, relevance=relevance)
    keys: Any
    scores = None
    if is_table(predictions) and is_table(labels):
        keys, predicted, relevant, gains, scores = _from_tables(
            predictions, labels, columns, absent, least
        )
    else:
        refuse_columns("predictions", predictions, columns)
        refuse_columns("labels", labels, columns)
        keys, predictions, labels = _by_instance(predictions, labels, absent)
        predicted, _ = _items("predictions", keys, predictions)
        relevant, gains = _labels(keys, labels, least)
    n = len(predicted)
    if n != len(relevant):
        raise ValueError(f"predictions has {n} instances, labels has {len(relevant)}; pair them")
    refuse_mixed("items", [("predictions", predicted.kind), ("labels", relevant.kind)])
    label, place = find(predicted, relevant)
    if not label.size:
        refuse_apart("item", "labels", relevant.ids, "predictions", predicted.ids, few=10)
    instance = np.repeat(np.arange(n), relevant.counts)[label]
    tied = np.zeros_like(place)
    if scores is not None:
        place, tied = _level(scores, predicted.offsets, place)
        if gains is not None:  # of level items, the most relevant first
            order = np.lexsort((-gains[label], place))
            label, place, tied = label[order], place[order], tied[order]
    values = place - predicted.offsets[instance] + 1
    offsets = offsets_of(np.bincount(instance, minlength=n))
    users = None if keys is None else as_users("the users of predictions", keys, (n,), "labels")
    made: dict[str, Any] = {"n_predicted": predicted.counts, "users": users, "n_tied": tied}
    if gains is not None:
        made |= {"gains": gains[label], "ideal_gains": _descending(gains, relevant.counts)}
    names = np.arange(n) if users is None else users
    if weights is not None:
        made["weights"] = weights_of(weights, names)
    if catalog is not None:
        missed = np.ones(len(relevant.items), dtype=bool)
        missed[label] = False
        remedy = "with catalog=, each list holds all candidates, the relevant ones too"
        relevant.refuse(missed, f"predictions lacks it; {remedy}")
        made["n_items"] = predicted.counts
        made["catalog"] = catalog_of(catalog, names, predicted.counts)
    return trusted(values, offsets, relevant.counts, **made)


def _from_tables(
    predictions: Any, labels: Any, columns: dict[str, str], absent: str, least: float | None
) -> tuple[NDArray[Any], Items, Items, FloatArray | None, NDArray[Any] | None]:
    """Return the users of two long tables, their items, gains if these differ, and any scores."""
    recommended = pairs_of("predictions", predictions, columns, (), ["rank", "score"])
    if "rank" in recommended.values:
        order = _by_rank(recommended)
    elif "score" in recommended.values:
        order = _by_score(recommended)
    else:
        said = f"predictions has neither a column {columns['rank']!r} nor {columns['score']!r}"
        raise ValueError(f"{said}; say which orders the items: rank=... or score=...")
    liked = pairs_of("labels", labels, columns, (), ["relevance"])
    users, (predicted, relevant) = gather((recommended, order), (liked, None))
    gains = relevance_of(liked, least)[relevant.rows]
    if (gains == 0).any():
        refuse_twice(relevant)
        relevant, gains = _positive(relevant, gains)
    listed, wanted = (users[each.counts > 0].tolist() for each in (predicted, relevant))
    refuse_apart("user", "labels", wanted, "predictions", listed)
    lost = (predicted.counts == 0) & (relevant.counts > 0)
    for x in np.flatnonzero(lost)[:1] if absent == "refuse" else ():
        refuse_absent("labels", users.tolist()[x], "predictions")
    if absent == "left out":
        kept = np.repeat(~lost, relevant.counts)
        relevant, gains = relevant.only(kept), gains[kept]
    there = (predicted.counts > 0) | (relevant.counts > 0)
    listed, wanted = predicted.of(there), relevant.of(there)
    scores = None if "rank" in recommended.values else recommended.values["score"][predicted.rows]
    return users[there], listed, wanted, gains if (gains != 1).any() else None, scores


def _by_rank(pairs: Pairs) -> IntArray:
    """Return the positions of pairs by user, then by rank."""
    rank, user = pairs.values["rank"], pairs.users.codes
    counts = np.bincount(user)
    fits = (rank >= 1) & (rank <= counts[user]) & (rank == np.floor(rank))
    slot = offsets_of(counts)[user] + np.where(fits, rank, 1).astype(np.int64) - 1
    number = np.arange(len(slot))
    order = np.zeros_like(number)
    order[slot] = number
    bad = order[slot] != number if fits.all() else ~fits
    rule = "the ranks of a user must be 1, 2, ..., each once: number them anew, or drop the column"
    pairs.refuse("rank", bad, rule)
    return order


def _by_score(pairs: Pairs) -> IntArray:
    """Return the positions of pairs by user, then by descending score."""
    score, user = pairs.values["score"], pairs.users.codes
    pairs.refuse("score", np.isnan(score), "each item must have a score")
    order = np.argsort(score)[::-1]
    return order[by_integer(user[order], len(pairs.users.names))]


def _level(scores: NDArray[Any], offsets: IntArray, place: IntArray) -> tuple[IntArray, IntArray]:
    """Return the best places of listed items, and how many others of the user have their scores."""
    new = np.append(True, scores[1:] != scores[:-1])
    new[offsets[:-1][offsets[:-1] < len(new)]] = True
    first = np.flatnonzero(new)
    block = np.searchsorted(first, place, side="right") - 1
    return first[block], np.diff(first, append=len(scores))[block] - 1


def _by_instance(predictions: Any, labels: Any, absent: str) -> tuple[list[Any] | None, Any, Any]:
    """Return what the instances are called, and both arguments in one order of instances."""
    # One kind of sparse matrix is a mapping, too.
    by_user = [isinstance(x, Mapping) and not hasattr(x, "tocsr") for x in (predictions, labels)]
    if not any(by_user):
        return None, predictions, labels
    if not all(by_user):
        kinds = f"predictions is a {type(predictions).__name__}, labels a {type(labels).__name__}"
        raise ValueError(f"{kinds}; make both a dict by user, as by Series.to_dict(), or neither")
    refuse_apart("user", "labels", [*labels], "predictions", [*predictions])
    for user in [user for user in predictions if user not in labels][:1]:
        said = f"predictions has user {user!r}, labels does not"
        raise ValueError(f"{said}; add labels[{user!r}] = [] if nothing is relevant")
    lost = [user for user in labels if user not in predictions]
    for user in lost[:1] if absent == "refuse" else ():
        refuse_absent("labels", user, "predictions")
    if absent == "missed":
        predictions = {**predictions, **dict.fromkeys(lost, ())}
    return [*predictions], [*predictions.values()], [labels[user] for user in predictions]


def _items(name: str, keys: Sequence[object] | None, given: Any) -> tuple[Items, Any]:
    """Return the items of all instances, and the lists, sets or dicts that hold them if any."""
    if isinstance(given, np.ndarray) and given.ndim == 2 and not np.ma.isMaskedArray(given):
        given = np.asarray(given)  # of a np.matrix, too
        if given.dtype.kind in "iuU":
            return _flatten(name, keys, given.ravel(), np.full(len(given), given.shape[1])), []
        given = [*given]
    if not isinstance(given, list | tuple):
        other = "labels" if name == "predictions" else "predictions"
        forms = "a list of lists of items, a dict by user, as by Series.to_dict(), a matrix"
        reject(name, given, f"{forms} or, if {other} is one, a long table")
    rows = given
    if not all(issubclass(kind, ROWS[name]) for kind in set(map(type, rows))):
        rows = [_plain(name, keys, x, row) for x, row in enumerate(rows)]
    counts = np.fromiter(map(len, rows), np.int64, len(rows))
    return _flatten(name, keys, list(chain.from_iterable(rows)), counts), rows


def _plain(name: str, keys: Sequence[object] | None, x: int, row: Any) -> Any:
    """Return the items of one instance as a list, or as the set or dict that they are."""
    if type(row) is np.ndarray and row.ndim == 1:
        return row.tolist() if row.dtype.kind in "iuU" else [*row]
    if not isinstance(row, ROWS[name]):
        order = ", best item first" if name == "predictions" else ""
        reject(entry(name, keys, x), row, f"a list of items{order}, [] if none")
    return row


def _labels(
    keys: Sequence[object] | None, labels: Any, least: float | None
) -> tuple[Items, FloatArray | None]:
    """Return the relevant items, and their gains where these were given."""
    if hasattr(labels, "tocsr"):
        labels = as_csr(labels)
        if labels.ndim != 2 or labels.dtype.kind not in "biuf":
            said = f"labels is a sparse array of shape {labels.shape} and dtype {labels.dtype}"
            raise ValueError(f"{said}; it must be a matrix of real numbers, one row per instance")
        if not labels.has_canonical_format:
            labels = labels.copy()
            labels.sum_duplicates()
        relevant = Items("labels", keys, labels.indices, labels.indptr.astype(np.int64))
        gains, is_graded = labels.data, bool((labels.data != 1).any())
    else:
        relevant, rows = _items("labels", keys, labels)
        is_graded = are_dicts("labels", rows)
        if is_graded:
            values = chain.from_iterable(row.values() for row in rows)
            gains = np.fromiter(values, dtype=object, count=len(relevant.items))
    if not is_graded:
        refuse_least("labels", least)
        return relevant, None
    at = lambda i: f"{relevant.at(i)}: its gain"  # noqa: E731
    return _positive(relevant, as_gains("labels", gains, at, least))


def _positive(relevant: SomeItems, gains: FloatArray) -> tuple[SomeItems, FloatArray]:
    """Leave out the items of gain 0: they are not relevant."""
    return relevant.only(gains > 0), gains[gains > 0]


def _descending(gains: FloatArray, counts: IntArray) -> FloatArray:
    """Sort the gains of each instance, the largest first."""
    levels, level = np.unique(-gains, return_inverse=True)
    instance = np.repeat(np.arange(len(counts)), counts)
    # One sort of integers is several times as fast as a sort by two keys.
    ordered: FloatArray = -levels[np.sort(instance * len(levels) + level) % max(1, len(levels))]
    return ordered


def _flatten(name: str, keys: Sequence[object] | None, given: Any, counts: IntArray) -> Items:
    """Return the items of all instances one after the other, each an integer or a string."""
    lists = Items(name, keys, given, offsets_of(counts))
    if isinstance(given, list):
        lists = replace(lists, items=_as_array(lists))
    items = lists.items
    if items.size and isinstance(items[0], str):
        return replace(lists, items=items.astype(object, copy=False))
    lists.refuse(items < 0, "a negative number is often padding; leave it out, or use strings")
    lists.refuse(items > LARGEST_ITEM, "integers must be below 2**63; name larger ones by strings")
    return replace(lists, items=items.astype(np.int64, copy=False))


def _as_array(lists: Items) -> NDArray[Any]:
    """Return a flat list of items as an array, or say which is neither integer nor string."""
    flat = lists.items
    kinds = {kind: _kind(kind) for kind in set(map(type, flat))}
    if None in kinds.values() or len(set(kinds.values())) > 1:
        good = kinds[type(flat[0])] or str
        bad = [kinds[type(item)] is not good for item in flat]
        lists.refuse(bad, "name all items by integers, or all by strings")
    if str not in kinds.values():
        with suppress(OverflowError):
            return np.fromiter(flat, np.int64, len(flat))
    # Objects, because NumPy's own strings lose a zero character at the end.
    return np.array(flat, dtype=object)


def _kind(kind: type) -> type | None:
    # NumPy's spans of time are integers to Python.
    is_integer = issubclass(kind, Integral) and not issubclass(kind, bool | np.timedelta64)
    return str if issubclass(kind, str) else int if is_integer else None
