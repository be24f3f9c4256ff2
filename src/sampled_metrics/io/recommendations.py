"""From lists of recommended items, and the items that were relevant, to ranks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import chain
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._arguments import (
    FloatArray,
    IntArray,
    as_choice,
    as_csr,
    as_users,
    is_table,
    repeated,
)
from sampled_metrics.io._columns import column_names
from sampled_metrics.io._pairs import (
    Items,
    Pairs,
    brief,
    by_integer,
    entry,
    find,
    gather,
    pairs_of,
    refuse_columns,
    refuse_twice,
    relevance_of,
)
from sampled_metrics.ranks import Ranks, offsets_of, trusted

if TYPE_CHECKING:
    from scipy import sparse

    from sampled_metrics.io._columns import TableLike

__all__ = ["from_recommendations"]

LARGEST_ITEM = 2**63 - 1
NO_NUMBER = bool | np.timedelta64
PLAIN = {list, tuple, set, frozenset, dict}  # rows that need no closer look

Lists = Iterable[Iterable[object]] | Mapping[Any, Iterable[object]]


def from_recommendations(
    predictions: Lists | TableLike,
    labels: Lists | TableLike | sparse.sparray | sparse.spmatrix,
    *,
    absent: Literal["refuse", "missed"] = "refuse",
    user: str = "user",
    item: str = "item",
    rank: str = "rank",
    score: str = "score",
    relevance: str = "relevance",
) -> Ranks:
    """Build ranks from lists of recommended items and the sets of items that were relevant.

    Parameters
    ----------
    predictions : sequence of sequences, array of shape (n_instances, length), mapping or table
        For each instance, the recommended items, best first.
        Items are integers of at least 0, or strings.
        A long table, or the path of one, has one row for each user and item, and a column `rank`
        or `score`; see Notes.
    labels : sequence of sequences, sets or mappings, sparse matrix, mapping or table
        For each instance, its relevant items, in any order; or a mapping from each item to its
        gain, which says how relevant it is (an item of gain 0 is not relevant).
        A sparse matrix of shape (n_instances, n_items) holds the gains of integer items; several
        entries for one place are added up, as SciPy does.
        A long table, or the path of one, has one row for each user and relevant item; a column
        `relevance` with the gain is optional.
    absent : {"refuse", "missed"}
        What to do, with mappings and tables, if a user has labels but no list in `predictions`:
        "refuse" raises an error; "missed" takes the list as empty, so all of the user's relevant
        items count as missed.
    user, item, rank, score, relevance : str
        The names of the columns, in both tables.

    Returns
    -------
    Ranks
        A relevant item that was not recommended counts in ``n_relevant`` but has no rank.
        The users of a mapping or a table, or the labels of an index, become its `users`.

    Raises
    ------
    ValueError
        If the instances do not fit each other (see Notes), an instance names an item twice, an
        item is neither a string nor an integer from 0 to :math:`2^{63} - 1`, an array is masked,
        or a gain is negative or not finite.
        In a table, if a column or an id is missing, ranks are not 1, 2, ... for each user, or two
        items of a user have the same score.
    ImportError
        If a path is a parquet file, and neither pyarrow nor polars is installed.

    See Also
    --------
    Ranks.from_scores : if you know the scores of all candidates, which may have ties.

    Notes
    -----
    If both arguments are mappings from a user to a list, instances are paired by user; both must
    name the same users, and the ranks are in the order of `predictions`.
    Two pandas Series must have the same index, in the same order.
    In all other cases the first list belongs to the first set of labels, and so on.

    A negative item is refused, because -1 often marks padding and not an item.
    If one user's items are a pandas Series, its values are the items; its index is not read.

    Tables are paired by user, too (pandas, polars, pyarrow or any other that narwhals reads; a
    path must end in .parquet or .csv). The order of their rows does not matter. Ids are integers,
    strings, categories or UUIDs, all of one kind. In the table of predictions, `rank` (1, 2, ...
    for each user) gives the order of the items; if there is no such column, a higher `score` comes
    first. Users without labels are kept and have no relevant item: metrics are NaN for them. The
    result has users in the order in which `predictions` first names them, followed by those that
    only `labels` names.

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
    as_choice("absent", absent, ("refuse", "missed"))
    columns = column_names(user=user, item=item, rank=rank, score=score, relevance=relevance)
    keys: Any
    if is_table(predictions) and is_table(labels):
        keys, predicted, relevant, gains = _from_tables(predictions, labels, columns, absent)
    else:
        refuse_columns("predictions", predictions, columns)
        refuse_columns("labels", labels, columns)
        keys, predictions, labels = _by_instance(predictions, labels, absent)
        predicted = _predictions(keys, predictions)
        relevant, gains = _labels(keys, labels)
    n = len(predicted)
    if n != len(relevant):
        raise ValueError(
            f"predictions has {n} instances, labels has {len(relevant)}; "
            "they must have the same number"
        )
    if predicted.items.size and relevant.items.size and predicted.kind != relevant.kind:
        raise ValueError(
            f"predictions holds {predicted.kind}, labels holds {relevant.kind}; "
            "name the items by integers in both, or by strings in both"
        )
    label, place = find(predicted, relevant)
    instance = np.repeat(np.arange(n), relevant.counts)[label]
    values = place - predicted.offsets[instance] + 1
    offsets = offsets_of(np.bincount(instance, minlength=n))
    users = None if keys is None else as_users("the users of predictions", keys, (n,), "labels")
    if users is not None and (again := repeated(users)).size:
        raise ValueError(
            f"predictions has user {users.tolist()[again[0]]!r} twice; give each user one list"
        )
    made: dict[str, Any] = {"n_predicted": predicted.counts, "users": users}
    if gains is not None:
        made |= {"gains": gains[label], "ideal_gains": _descending(gains, relevant.counts)}
    return trusted(values, offsets, relevant.counts, **made)


def _from_tables(
    predictions: Any, labels: Any, columns: dict[str, str], absent: str
) -> tuple[NDArray[Any], Items, Items, FloatArray | None]:
    """Return the users of two long tables, the items of each user, and gains if these differ."""
    recommended = pairs_of("predictions", predictions, columns, (), ["rank", "score"])
    if "rank" in recommended.values:
        order = _by_rank(recommended)
    elif "score" in recommended.values:
        order = _by_score(recommended)
    else:
        raise ValueError(
            f"predictions has neither a column {columns['rank']!r} nor {columns['score']!r}; say "
            'which column orders the items of a user, as in rank="place" or score="rating"'
        )
    liked = pairs_of("labels", labels, columns, (), ["relevance"])
    users, (predicted, relevant) = gather((recommended, order), (liked, None))
    gains = relevance_of(liked)[relevant.rows]
    if (gains == 0).any():
        refuse_twice(relevant)
        relevant, gains = relevant.only(gains > 0), gains[gains > 0]
    for x in np.flatnonzero((predicted.counts == 0) & (relevant.counts > 0))[:1]:
        if absent == "refuse":
            raise ValueError(
                f"labels has user {users.tolist()[x]!r}, predictions does not; if this user was "
                'recommended nothing, give absent="missed", else take the user out of labels'
            )
    there = (predicted.counts > 0) | (relevant.counts > 0)
    listed, wanted = predicted.of(there), relevant.of(there)
    return users[there], listed, wanted, gains if (gains != 1).any() else None


def _by_rank(pairs: Pairs) -> IntArray:
    """Return the positions of pairs by user, then by rank."""
    rank, user = pairs.values["rank"], pairs.users.codes
    counts = np.bincount(user)
    fits = (rank >= 1) & (rank <= counts[user]) & (rank == np.floor(rank))
    slot = offsets_of(counts)[user] + np.where(fits, rank, 1).astype(np.int64) - 1
    number = np.arange(len(slot))
    order = np.zeros_like(number)
    order[slot] = number
    for i in np.flatnonzero(order[slot] != number if fits.all() else ~fits)[:1]:
        raise ValueError(
            f"{pairs.at(i)}: the rank is {rank[i]}; the ranks of a user must be 1, 2, ... without "
            f"a gap or a rank twice, here up to {counts[user[i]]}: number them anew, or drop the "
            "column if there are scores"
        )
    return order


def _by_score(pairs: Pairs) -> IntArray:
    """Return the positions of pairs by user, then by descending score."""
    score, user = pairs.values["score"], pairs.users.codes
    for i in np.flatnonzero(score != score)[:1]:  # NaN, of all numbers, differs from itself
        raise ValueError(f"{pairs.at(i)}: the score is missing; each item must have a score")
    order = np.argsort(score)[::-1]
    order = order[by_integer(user[order], len(pairs.users.names))]
    ordered = score[order]
    tied = (ordered[1:] == ordered[:-1]) & (user[order[1:]] == user[order[:-1]])
    for i in order[1:][tied][:1]:
        raise ValueError(
            f"{pairs.at(i)}: the score is {score[i]}, as that of another item of this user; say "
            "with a column of ranks which comes first, or give the scores of all candidates to "
            "Ranks.from_scores, which averages over ties"
        )
    return order


def _by_instance(predictions: Any, labels: Any, absent: str) -> tuple[list[Any] | None, Any, Any]:
    """Return what the instances are called, and both arguments in one order of instances."""
    if hasattr(predictions, "tocsr"):
        raise ValueError("predictions is a sparse matrix; it must be lists, best item first")
    if hasattr(labels, "tocsr"):  # a sparse matrix; one kind of them is a mapping, too
        labels = as_csr(labels)
    both = predictions, labels
    if all(isinstance(given, Mapping) for given in both):
        if absent == "missed":
            unlisted = [key for key in labels if key not in predictions]
            predictions = {**predictions, **{key: [] for key in unlisted}}
        _check_same_users(predictions, labels)
        users = list(predictions)
        return users, [predictions[user] for user in users], [labels[user] for user in users]
    if any(isinstance(given, Mapping) for given in both):
        raise ValueError(
            f"predictions is a {type(predictions).__name__}, labels is a {type(labels).__name__}; "
            "give both as a dict from user to items (a pandas Series has to_dict()), or neither"
        )
    indexes = [getattr(given, "index", None) for given in both]
    if any(index is None or callable(index) for index in indexes):  # list.index is a method
        return None, predictions, labels
    if not np.array_equal(predictions.index, labels.index):
        raise ValueError(
            "predictions and labels have different indexes; to pair them by user, use "
            "labels = labels.reindex(predictions.index), with an empty list for each user "
            "without labels"
        )
    return list(predictions.index), predictions, labels


def _check_same_users(predictions: Mapping[Any, Any], labels: Mapping[Any, Any]) -> None:
    sides = (("predictions", predictions), ("labels", labels))
    for (name, users), (other, others) in (sides, sides[::-1]):
        for user in users:
            if user not in others:
                raise ValueError(
                    f"{name} has user {user!r}, {other} does not; add {other}[{user!r}] = [] "
                    f"if this user counts, or take the user out of {name}"
                )


def _rows(name: str, keys: Sequence[object] | None, given: Any) -> Any:
    """Return a matrix of items as it is, everything else as a list of plain lists and sets."""
    if isinstance(given, np.ma.MaskedArray):
        raise ValueError(f"{name} is a masked array; give lists, without the masked items")
    if hasattr(given, "columns"):
        other = "labels" if name == "predictions" else "predictions"
        raise ValueError(
            f"{name} is a table; give one list of items for each user, for example "
            f"table.groupby('user')['item'].agg(list), or give {other} as a table, too"
        )
    if isinstance(given, np.ndarray) and given.ndim == 2 and given.dtype.kind in "iuU":
        return np.asarray(given)  # of a np.matrix, too
    if isinstance(given, Set) or not _is_list(given):
        raise ValueError(
            f"{name} is {brief.repr(given)}; it must hold one list of items for each instance"
        )
    rows = list(given)
    if not _kinds(rows) <= PLAIN:
        rows = [_plain(name, keys, x, row) for x, row in enumerate(rows)]
    return rows


def _plain(name: str, keys: Sequence[object] | None, x: int, row: Any) -> Any:
    """Return the items of one instance as a list or a set, or as the mapping that they are."""
    if type(row) is np.ndarray and row.ndim == 1 and row.dtype.kind in "iuU":
        return row.tolist()
    if isinstance(row, np.ma.MaskedArray):
        at = entry(name, keys, x)
        raise ValueError(f"{at} is a masked array; give a list, without the masked items")
    if not _is_list(row):
        at = entry(name, keys, x)
        raise ValueError(f"{at} is {brief.repr(row)}; give a list of items, [] if none")
    return row if isinstance(row, list | tuple | Set | Mapping) else list(row)


def _is_list(value: object) -> bool:
    """Tell whether a value holds others, unlike a string or an array without an axis."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)


def _kinds(rows: Any) -> set[type]:
    """Return the types of the rows; a matrix has none to look at."""
    return set() if isinstance(rows, np.ndarray) else set(map(type, rows))


def _predictions(keys: Sequence[object] | None, predictions: Any) -> Items:
    rows = _rows("predictions", keys, predictions)
    if any(issubclass(kind, Set | Mapping) for kind in _kinds(rows)):
        x = next(x for x, row in enumerate(rows) if isinstance(row, Set | Mapping))
        raise ValueError(
            f"{entry('predictions', keys, x)} is a {type(rows[x]).__name__}; "
            "it must be a list, best item first"
        )
    return _flatten("predictions", keys, rows)


def _labels(keys: Sequence[object] | None, labels: Any) -> tuple[Items, FloatArray | None]:
    """Return the relevant items, and their gains where these were given."""
    if hasattr(labels, "tocsr"):
        return _sparse_labels(keys, labels)
    rows = _rows("labels", keys, labels)
    relevant = _flatten("labels", keys, rows)
    graded = {issubclass(kind, Mapping) for kind in _kinds(rows)}
    if graded == {True, False}:
        raise ValueError(
            "labels mixes dicts with lists; give a dict from item to gain for every instance, "
            "an empty one if it has no labels, or a list for every instance"
        )
    if graded != {True}:
        return relevant, None
    gains = list(chain.from_iterable(row.values() for row in rows))
    if wrong := {kind for kind in set(map(type, gains)) if not _is_gain(kind)}:
        i = next(i for i, gain in enumerate(gains) if type(gain) in wrong)
        relevant.refuse(i, f" with gain {brief.repr(gains[i])}; a gain must be a number")
    return _positive(relevant, np.array(gains, dtype=np.float64))


def _sparse_labels(keys: Sequence[object] | None, matrix: Any) -> tuple[Items, FloatArray | None]:
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise ValueError(
            f"labels is a sparse array of shape {matrix.shape} and dtype {matrix.dtype}; "
            "it must be a matrix of real numbers, one row per instance"
        )
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    relevant = Items("labels", keys, matrix.indices, matrix.indptr.astype(np.int64))
    if (matrix.data == 1).all():
        return relevant, None
    return _positive(relevant, matrix.data.astype(np.float64))


def _positive(relevant: Items, gains: FloatArray) -> tuple[Items, FloatArray]:
    """Leave out the items of gain 0: they are not relevant."""
    if (bad := ~(np.isfinite(gains) & (gains >= 0))).any():
        i = int(np.argmax(bad))
        relevant.refuse(i, f" with gain {gains[i]:g}; a gain must be finite and 0 or above")
    keep = gains > 0
    offsets = offsets_of(keep)[relevant.offsets]
    return Items(relevant.name, relevant.keys, relevant.items[keep], offsets), gains[keep]


def _descending(gains: FloatArray, counts: IntArray) -> FloatArray:
    """Sort the gains of each instance, the largest first."""
    levels, level = np.unique(-gains, return_inverse=True)
    instance = np.repeat(np.arange(len(counts)), counts)
    # One sort of integers is several times as fast as a sort by two keys.
    ordered: FloatArray = -levels[np.sort(instance * len(levels) + level) % max(1, len(levels))]
    return ordered


def _flatten(name: str, keys: Sequence[object] | None, rows: Any) -> Items:
    """Return the items of all instances one after the other, each an integer or a string."""
    if isinstance(rows, np.ndarray):
        items, offsets = rows.ravel(), np.arange(len(rows) + 1) * rows.shape[1]
    else:
        flat = list(chain.from_iterable(rows))
        offsets = offsets_of(np.fromiter(map(len, rows), np.int64, len(rows)))
        items = _as_array(Items(name, keys, flat, offsets))
    lists = Items(name, keys, items, offsets)
    if not items.size:
        return lists
    if isinstance(items[0], str):
        return Items(name, keys, items.astype(object, copy=False), offsets)
    if items.min() < 0:
        problem = "; a negative number is often padding: leave it out, or name items by strings"
        lists.refuse(int(np.argmax(items < 0)), problem)
    if items.max() > LARGEST_ITEM:
        problem = "; integer items must be below 2**63: name larger ones by strings"
        lists.refuse(int(np.argmax(items > LARGEST_ITEM)), problem)
    return Items(name, keys, items.astype(np.int64, copy=False), offsets)


def _as_array(lists: Items) -> NDArray[Any]:
    """Return a flat list of items as an array, or say which is neither integer nor string."""
    flat = lists.items
    kinds = {kind: _kind(kind) for kind in set(map(type, flat))}
    if set(kinds.values()) <= {"integer"}:
        try:
            return np.fromiter(flat, np.int64, len(flat))
        except OverflowError:
            return np.array(flat, dtype=object)
    if set(kinds.values()) == {"string"}:
        # Objects, because NumPy's own strings lose a zero character at the end.
        return np.array(flat, dtype=object)
    first = kinds[type(flat[0])]
    wrong = {kind for kind in kinds if kinds[kind] is None or kinds[kind] != first}
    i = next(i for i, item in enumerate(flat) if type(item) in wrong)
    if kinds[type(flat[i])] is None:
        problem = f" of type {type(flat[i]).__name__}; items must be integers or strings"
    else:
        problem = f" among {first}s; name all items by integers, or all by strings"
    lists.refuse(i, problem)


def _is_gain(kind: type) -> bool:
    return issubclass(kind, Real | np.bool_) and not issubclass(kind, np.timedelta64)


def _kind(kind: type) -> str | None:
    if issubclass(kind, str):
        return "string"
    # NumPy's spans of time are integers to Python.
    return "integer" if issubclass(kind, Integral) and not issubclass(kind, NO_NUMBER) else None
