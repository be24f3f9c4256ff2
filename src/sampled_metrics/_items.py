"""The items of all users, one user after the other, and where some of them are among others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from reprlib import Repr
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._checks import IntArray

SLOTS = 2**20  # of the table in which items are looked up, so that it fits in the cache;
MOST_SLOTS = 2**25  # up to so many where a block would have fewer than 16 instances
SHORT = 32  # up to so many listed items, each is compared with each sooner than looked up
TOGETHER = 2**13  # so many lists are compared at once: they stay in the cache

brief = Repr()  # of what is wrong, for an error
brief.maxstring = 80


@dataclass(frozen=True)
class Items:
    """The items of all instances, one after the other."""

    name: str
    keys: Sequence[Any] | None  # what the instances are called, where not 0, 1, ...
    items: Any  # an array of integers, or of objects that are strings
    offsets: IntArray  # instance x owns items[offsets[x]:offsets[x + 1]]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def counts(self) -> IntArray:
        return np.diff(self.offsets)

    @property
    def kind(self) -> str:
        return "strings" if self.items.dtype.kind == "O" else "integers"

    def refuse(self, i: int, problem: str) -> NoReturn:
        """Raise the error for one of the items."""
        x = int(np.searchsorted(self.offsets, i, side="right")) - 1
        item = self.items[i]
        item = item.item() if isinstance(item, np.generic) else item
        raise ValueError(f"{entry(self.name, self.keys, x)} holds item {brief.repr(item)}{problem}")

    def refuse_twice(self, i: int) -> NoReturn:
        """Raise the error for an item that its instance has had before."""
        self.refuse(i, " twice; an item can be in a list once")


def entry(name: str, keys: Sequence[object] | None, x: int) -> str:
    """Return how an error names the instance x of an argument."""
    return f"{name}[{x if keys is None else keys[x]!r}]"


def find(listed: Items, wanted: Items) -> tuple[IntArray, IntArray]:
    """Return the places of the hits in `wanted` and `listed`, by instance, then as listed.

    There is one slot per instance and item, for a block of instances at a time, so that the slots
    fit in the cache. Each listed item leaves its number there, and each wanted one looks into its
    slot. Numbers only grow, so those of earlier blocks are too small to count.
    """
    n = len(listed)
    codes, wanted_codes, span = _codes(listed.items, wanted.items)
    if (wanted.counts == 1).all() and _all_equal_and_short(listed.counts):
        hits = _compared(codes.reshape(n, -1), wanted_codes)
        if hits is not None:
            return hits // listed.counts[0], hits
    n_rows = max(1, SLOTS // span, min(16, MOST_SLOTS // span))
    row = np.arange(min(n, n_rows)) * span  # the first slot of each of a block's instances
    few = max(listed.items.size, wanted.items.size) < 2**31 - 1
    slots: NDArray[Any] = np.zeros(row.size * span, np.int32 if few else np.int64)
    labels, places = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for first in range(0, n, n_rows):
        block = slice(first, first + n_rows)
        start, stop = wanted.offsets[[first, min(first + n_rows, n)]].tolist()
        looked_up = np.repeat(row[: n - first], wanted.counts[block])
        looked_up += wanted_codes[start:stop]
        if wanted.counts[block].max() > 1:
            # Numbers below 0 are no listed item's: they only show what is there twice.
            _leave(slots, looked_up, wanted, start, -1)
        begin, end = listed.offsets[[first, min(first + n_rows, n)]].tolist()
        left = np.repeat(row[: n - first], listed.counts[block])
        left += codes[begin:end]
        _leave(slots, left, listed, begin, 1)
        place = slots.take(looked_up)
        hits = np.flatnonzero(place > begin)
        hits = hits[place[hits].argsort()]
        labels.append(start + hits)
        places.append(place[hits] - np.int64(1))
    return np.concatenate(labels), np.concatenate(places)


def _all_equal_and_short(counts: IntArray) -> bool:
    return len(counts) > 0 and 0 < counts[0] <= SHORT and bool((counts == counts[0]).all())


def _compared(rows: NDArray[Any], wanted: NDArray[Any]) -> IntArray | None:
    """Return where a row has its wanted item, or None if a row has any item twice."""
    hits = np.empty(rows.shape, dtype=bool)
    for first in range(0, len(rows), TOGETHER):
        block = slice(first, first + TOGETHER)
        columns = rows[block].T.astype(np.int32, order="C")
        shifts = range(1, len(columns))
        if any((columns[shift:] == columns[:-shift]).any() for shift in shifts):
            return None
        np.equal(rows[block], wanted[block, None], out=hits[block])
    return np.flatnonzero(hits)


def _leave(slots: NDArray[Any], slot: IntArray, items: Items, start: int, sign: int) -> None:
    """Leave each item's number, from 1, in its slot; refuse an item whose slot has another's."""
    number = np.arange(start + 1, start + 1 + slot.size, dtype=slots.dtype)
    number *= sign
    slots[slot] = number
    if (twice := slots.take(slot) != number).any():
        items.refuse_twice(start + int(np.argmax(twice)))


def _codes(listed: NDArray[Any], wanted: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Return integers from 0 to `span` - 1, equal for equal items, and `span`."""
    both = listed, wanted
    if all(items.dtype.kind == "i" and items.max(initial=0) < SLOTS for items in both):
        return listed, wanted, 1 + max(int(items.max(initial=0)) for items in both)
    import pandas as pd

    codes, distinct = pd.factorize(np.concatenate(both))
    return codes[: listed.size], codes[listed.size :], max(1, len(distinct))
