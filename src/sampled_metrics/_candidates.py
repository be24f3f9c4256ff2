"""Which items the held-out items are ranked among."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._checks import LARGEST, IntArray, entries, same_index
from sampled_metrics._ids import as_ids, find_ids
from sampled_metrics.data import Split, pair_name

if TYPE_CHECKING:
    from scipy import sparse

    Pairs: TypeAlias = (
        sparse.sparray | sparse.spmatrix | tuple[ArrayLike, ArrayLike] | Mapping[Any, Iterable[Any]]
    )

ANY = (-LARGEST, LARGEST)  # a name may be any integer
UsersAndItems = tuple[NDArray[Any], NDArray[Any], list[int] | int]  # and each user's number of them


@dataclass(frozen=True)
class Candidates:
    """Of each user, the items that are the candidates (`only`), or those that are not."""

    lists: sparse.csr_array
    only: bool

    def sizes(self, users: IntArray) -> IntArray:
        """Return the number of candidates of each of these users."""
        listed = np.diff(self.lists.indptr)[users].astype(np.int64)
        return listed if self.only else self.lists.shape[1] - listed


def candidates_of(split: Split, exclude: Pairs | None, candidates: Pairs | None) -> Candidates:
    """Return the items that are listed, or all, less training items and what is excluded."""
    out = split.train
    if exclude is not None:
        excluded = as_matrix("exclude", exclude, split)
        _check_held_out(split, excluded, False, "exclude holds", "leave this pair out of exclude")
        out = out + excluded
    if candidates is None:
        return Candidates(out, only=False)
    listed = as_matrix("candidates", candidates, split)
    _check_held_out(split, listed, True, "candidates lacks", "add this item to the user's list")
    return Candidates(listed > out, only=True)


def _check_held_out(
    split: Split, matrix: sparse.csr_array, wanted: bool, what: str, remedy: str
) -> None:
    there = np.ravel(matrix[split.users, split.items]) if len(split.users) else np.empty(0)
    for x in np.flatnonzero((there != 0) != wanted)[:1]:
        names = split.user_names, split.item_names
        pair = pair_name(split.users[x], split.items[x], names)
        raise ValueError(f"{what} {pair}, which are held out; {remedy}")


def as_matrix(name: str, pairs: Pairs, split: Split) -> sparse.csr_array:
    """Return pairs of a user and an item, however they are given, as a matrix of True."""
    from scipy import sparse

    shape = split.train.shape
    if sparse.issparse(pairs):
        return _from_matrix(name, pairs, shape)
    if isinstance(pairs, Mapping):
        users, items, times = _from_lists(name, pairs)
    elif isinstance(pairs, tuple | list) and len(pairs) == 2:
        users, items, times = _from_columns({f"{name}[{i}]": ids for i, ids in enumerate(pairs)})
    else:
        raise ValueError(
            f"{name} is of type {type(pairs).__name__}; {name} must be a sparse matrix of shape "
            f"{shape}, a dict from users to lists of items, or a pair of lists (users, items)"
        )
    rows = find_ids(name, "user", users, split.user_names, split.n_users)
    columns = find_ids(name, "item", items, split.item_names, split.n_items)
    cells = np.repeat(rows, times), columns
    return sparse.csr_array((np.ones(len(columns), dtype=bool), cells), shape)


def _from_matrix(name: str, matrix: Any, shape: tuple[int, int]) -> sparse.csr_array:
    from scipy import sparse

    if matrix.shape != shape or matrix.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} has shape {matrix.shape} and dtype {matrix.dtype}; {name} must be a sparse "
            f"matrix of numbers of the shape of split.train, {shape}"
        )
    found = sparse.csr_array(matrix, copy=True)
    found.sum_duplicates()
    if (found.data != found.data).any():
        raise ValueError(f"{name} holds NaN; {name} must be 0 where a pair is not meant")
    found.eliminate_zeros()
    return found.astype(np.bool_)


def _from_lists(name: str, lists: Mapping[Any, Iterable[Any]]) -> UsersAndItems:
    each = [
        as_ids(f"{name}[{user!r}]", entries(f"{name}[{user!r}]", items, "[3, 5]"), *ANY)
        for user, items in lists.items()
    ]
    users = as_ids(f"list({name})", list(lists), *ANY)
    return users, np.concatenate([users[:0], *each]), [len(items) for items in each]


def _from_columns(columns: dict[str, ArrayLike]) -> UsersAndItems:
    same_index(**columns)
    ids = {name: as_ids(name, values, *ANY) for name, values in columns.items()}
    (users, items), (first, second) = ids.values(), ids
    if len(users) != len(items):
        raise ValueError(
            f"{first} has {len(users)} users and {second} {len(items)} items; they must be of the "
            "same length"
        )
    return users, items, 1
