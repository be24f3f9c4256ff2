"""Lists of lists to flat arrays: one entry after the other, and where each list starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._checks import (
    FloatArray,
    IntArray,
    as_array,
    as_integers,
    refuse,
    shown,
)


def offsets_of(counts: NDArray[Any]) -> IntArray:
    """Return where each of some runs of these lengths starts, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def ranges(starts: IntArray, lengths: IntArray) -> IntArray:
    """Return the positions start, ..., start + length - 1 of each run, in one flat array."""
    ends = np.cumsum(lengths)
    size = int(ends[-1]) if len(ends) else 0
    return np.asarray(np.arange(size) + np.repeat(starts - (ends - lengths), lengths))


def flat_integers(name: str, values: ArrayLike, low: int) -> IntArray:
    flat = as_integers(name, values, low)
    if flat.ndim != 1:
        raise ValueError(f"{name} has shape {flat.shape}; {name} must be flat")
    return flat


def flat_ranks(ranks: Any) -> tuple[IntArray, IntArray]:
    """Return all ranks in one flat array, and their number per instance."""
    if isinstance(ranks, str | bytes) or not isinstance(ranks, Iterable):
        raise ValueError(f"ranks is {shown(ranks)}; ranks must be a list of ranks per instance")
    if hasattr(ranks, "to_numpy"):  # a DataFrame would give the names of its columns
        ranks = ranks.to_numpy()
    if getattr(ranks, "ndim", 1) == 0:
        raise ValueError(f"ranks is {shown(ranks)}; ranks must be a list of ranks per instance")
    given = ranks.values() if isinstance(ranks, Mapping) else ranks
    rows: list[Any] = [list(row) if isinstance(row, Set) else row for row in given]
    if not all(type(row) is list for row in rows) or not _plain(rows):
        for x, row in enumerate(rows):  # slower, and says where something else is
            rows[x] = as_integers(f"ranks[{x}]", row)
            if rows[x].ndim != 1:
                raise ValueError(
                    f"ranks[{x}] is {shown(row)}; each instance must be a list of ranks"
                )
    counts = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    flat = (rank for row in rows for rank in row)
    return np.fromiter(flat, dtype=np.int64, count=int(counts.sum())), counts


def _plain(rows: list[list[Any]]) -> bool:
    """Tell whether lists hold nothing but integers from 1 to a size that fits."""
    kinds = {type(rank) for row in rows for rank in row}
    return kinds <= {int} and all(0 < rank < 2**53 for row in rows for rank in row)


def flat_gains(gains: Any, counts: IntArray) -> FloatArray:
    """Return all gains in one flat array, or say which is not a number of 0 or above."""
    if hasattr(gains, "to_numpy"):
        gains = gains.to_numpy()
    if (
        isinstance(gains, str | bytes | Mapping)
        or not isinstance(gains, Iterable)
        or getattr(gains, "ndim", 1) == 0
    ):
        raise ValueError(f"gains is {shown(gains)}; gains must be a list of gains per instance")
    rows: list[Any] = [
        list(row) if isinstance(row, Iterable) and not hasattr(row, "__len__") else row
        for row in gains
    ]
    if len(rows) != len(counts):
        raise ValueError(f"gains has {len(rows)} instances, ranks has {len(counts)}")
    for x, row in enumerate(rows):
        rows[x] = as_array(f"gains[{x}]", row)
        if rows[x].shape != (counts[x],):
            raise ValueError(
                f"gains[{x}] has shape {rows[x].shape}; it must have {counts[x]} gains"
            )
        as_gains(f"gains[{x}]", rows[x])
    return np.concatenate([*rows, np.empty(0)]).astype(np.float64)


def as_gains(name: str, gains: ArrayLike) -> FloatArray:
    row = as_array(name, gains)
    if row.size and row.dtype.kind not in "iuf":
        raise ValueError(f"{name} is {shown(gains)}; gains must be numbers")
    if (bad := ~(np.isfinite(row) & (row >= 0))).any():
        refuse(name, row, bad, "finite and 0 or above")
    return row.astype(np.float64)
