"""Which items the held-out items are ranked among."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from sampled_metrics._checks import IntArray, as_csr
from sampled_metrics._ids import find_ids
from sampled_metrics._pairs import pairs_of
from sampled_metrics.data import Split, pair_name

if TYPE_CHECKING:
    from scipy import sparse

    from sampled_metrics.frames import ByUser

    Pairs: TypeAlias = sparse.sparray | sparse.spmatrix | ByUser


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
        _check_held_out(
            split, excluded, "exclude holds", "leave this pair out of exclude", wanted=False
        )
        out = out + excluded
    if candidates is None:
        return Candidates(out, only=False)
    listed = as_matrix("candidates", candidates, split)
    _check_held_out(
        split, listed, "candidates lacks", "add this item to the user's list", wanted=True
    )
    return Candidates(listed > out, only=True)


def _check_held_out(
    split: Split, matrix: sparse.csr_array, what: str, remedy: str, *, wanted: bool
) -> None:
    there = np.ravel(matrix[split.users, split.items]) if len(split.users) else np.empty(0)
    for x in np.flatnonzero((there != 0) != wanted)[:1]:
        names = split.user_names, split.item_names
        pair = pair_name(split.users[x], split.items[x], names)
        raise ValueError(f"{what} {pair}, which are held out; {remedy}")


def as_matrix(name: str, given: Any, split: Split) -> sparse.csr_array:
    """Return pairs of a user and an item, however they are given, as a matrix of True."""
    from scipy import sparse

    shape = split.train.shape
    if sparse.issparse(given):
        return _from_matrix(name, given, shape)
    pairs = pairs_of(name, given, {"user": "user", "item": "item"})
    rows = find_ids(name, "user", pairs.users.names, split.user_names, split.n_users)
    columns = find_ids(name, "item", pairs.items.names, split.item_names, split.n_items)
    cells = rows[pairs.users.codes], columns[pairs.items.codes]
    return sparse.csr_array((np.ones(len(cells[0]), dtype=bool), cells), shape)


def _from_matrix(name: str, matrix: Any, shape: tuple[int, int]) -> sparse.csr_array:
    from scipy import sparse

    if matrix.shape != shape or matrix.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} has shape {matrix.shape} and dtype {matrix.dtype}; {name} must be a sparse "
            f"matrix of numbers of the shape of split.train, {shape}"
        )
    found = sparse.csr_array(as_csr(matrix), copy=True)
    found.sum_duplicates()
    if (found.data != found.data).any():
        raise ValueError(f"{name} holds NaN; {name} must be 0 where a pair is not meant")
    found.eliminate_zeros()
    return found.astype(np.bool_)
