"""Scores are compared and counted where they are: by NumPy in memory, or on a model's device."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._arguments import IntArray

FEW_ITEMS = 10_000  # up to so many, NumPy compares rows of scores together, not one by one
MOST_IN_A_BYTE = 255


class Block:
    """The scores of some users in a NumPy array, and the instances that are ranked by them.

    Parameters
    ----------
    scores : array, shape (n_rows, n_items)
        In C order.
    rows : array of int64, shape (n_instances,)
        The row of each instance, ascending.
    lists : scipy.sparse.csr_array, shape (n_instances, n_items)
        Of each instance, the items that are the candidates, or those that are not.
    only : bool
        Whether they are the candidates.
    """

    piece = 2**18  # scores that are compared together, so that they stay in the cache
    xp: Any = np

    def __init__(self, scores: Any, rows: IntArray, lists: Any, *, only: bool):
        self.scores, self.rows, self.lists, self.only = scores, rows, lists, only
        self.n_items = scores.shape[1]
        lengths = np.diff(lists.indptr)
        self.listed = self.take(np.repeat(rows * self.n_items, lengths) + lists.indices)

    def __getitem__(self, instances: IntArray) -> Block:
        """Return the block of some instances."""
        return type(self)(self.scores, self.rows[instances], self.lists[instances], only=self.only)

    def of(self, items: IntArray) -> Any:
        """Return the score of one item for each instance."""
        # From the same array as the scores it is compared with: another product may round otherwise
        return self.take(self.rows * self.n_items + items)

    def above_and_tied(self, target: Any) -> tuple[IntArray, IntArray]:
        """Count of each instance the candidates above the held-out item, and the others level."""
        above, below = self.count(greater=target, less=target)
        lengths = np.diff(self.lists.indptr)
        n_others = (lengths if self.only else self.n_items - lengths) - 1
        return above, n_others - above - below

    def count(self, **limits: Any) -> list[IntArray]:
        """Count of each instance the candidates whose score compares so with its limit."""
        lengths = np.diff(self.lists.indptr)
        listed = [self.count_listed(each, self.repeat(limits[each], lengths)) for each in limits]
        if self.only:
            return listed
        return [row - part for row, part in zip(self.count_rows(limits), listed, strict=True)]

    def first_bad(self, items: IntArray, tied: IntArray) -> tuple[int, int] | None:
        """Return an instance and an item with a score that has no place in a ranking, if any."""
        infinite = ~self.on_host(self.is_finite(self.of(items)))
        bad = infinite.copy()
        # NaN is neither above nor below. Counting both, not what is equal, makes it look like a
        # tie, so that only instances with ties need a closer look.
        if (x := np.flatnonzero(tied)).size:
            some = self[x]
            bad[x] |= some.count(equal=some.of(items[x]))[0] <= tied[x]
        for x in np.flatnonzero(bad)[:1].tolist():
            row = self.scores[int(self.rows[x]), :]
            listed = np.zeros(self.n_items, dtype=bool)
            listed[self.lists.indices[self.lists.indptr[x] : self.lists.indptr[x + 1]]] = True
            wrong = self.on_host(row != row) & (listed == self.only)
            wrong[items[x]] = infinite[x]
            return x, int(np.argmax(wrong))
        return None

    def take(self, places: IntArray) -> Any:
        """Return the scores at these places of the array, row after row."""
        return self.xp.take(self.xp.reshape(self.scores, (-1,)), self.on_device(places))

    def take_rows(self, rows: IntArray) -> Any:
        """Return the rows of scores with these numbers."""
        return self.xp.take(self.scores, self.on_device(rows), axis=0)

    # What other arrays do in another way

    def repeat(self, values: Any, lengths: IntArray) -> Any:
        return np.repeat(values, lengths)

    def is_finite(self, values: Any) -> Any:
        return np.isfinite(values)

    def on_device(self, values: NDArray[Any]) -> Any:
        return values

    def on_host(self, flags: Any) -> NDArray[np.bool_]:
        return np.asarray(flags)

    def count_listed(self, comparison: str, limits: Any) -> IntArray:
        """Count the scores of each list that compare so with their limits."""
        flags = getattr(np, comparison)(self.listed, limits)
        counts: IntArray = np.diff(np.searchsorted(np.flatnonzero(flags), self.lists.indptr))
        return counts

    def count_rows(self, limits: dict[str, Any]) -> list[IntArray]:
        """Count the scores of each instance's row that compare so with its limit."""
        counts = [np.empty(len(self.rows), dtype=np.int64) for _ in limits]
        step = max(1, self.piece // self.n_items) if self.n_items <= FEW_ITEMS else 1
        flags = Flags(min(step, len(self.rows)), self.n_items)
        for start in range(0, len(self.rows), step):
            piece = slice(start, start + step)
            rows = self.rows_of(piece)
            for count, (comparison, limit) in zip(counts, limits.items(), strict=True):
                count[piece] = flags.count(comparison, rows, limit[piece, None])  # in the cache
        return counts

    def rows_of(self, piece: slice) -> Any:
        """Return the rows of scores of some instances."""
        rows = self.rows[piece]
        if (np.diff(rows) == 1).all():
            return self.scores[int(rows[0]) : int(rows[-1]) + 1, :]
        return self.take_rows(rows)


class Flags:
    """A place for the results of comparisons, in which those of each row are counted fast."""

    def __init__(self, n_rows: int, n_items: int):
        # Words of eight flags are added up, each byte of a word on its own: np.count_nonzero is
        # slow along an axis. A byte holds the sum of so many words:
        n_words = -(-n_items // 8)
        n_sums = -(-n_words // MOST_IN_A_BYTE)
        self.words = np.zeros((n_rows, n_sums, -(-n_words // n_sums)), dtype=np.uint64)
        self.flags = self.words.view(np.bool_).reshape(n_rows, -1)[:, :n_items]

    def count(self, comparison: str, rows: NDArray[Any], limit: NDArray[Any]) -> IntArray | int:
        """Count for each row the scores that compare so with its limit."""
        getattr(np, comparison)(rows, limit, out=self.flags[: len(rows)])
        if len(rows) == 1:
            return int(np.count_nonzero(self.flags[0]))
        sums = self.words[: len(rows)].sum(axis=2).view(np.uint8)
        counts: IntArray = sums.reshape(len(rows), -1).sum(axis=1, dtype=np.int64)
        return counts


def on_a_device(array: Any) -> bool:
    """Tell whether something is an array of the array API or of torch, and not of NumPy."""
    if isinstance(array, np.ndarray | np.generic) or not hasattr(array, "__dlpack__"):
        return False
    try:
        from array_api_compat import is_array_api_obj
    except ImportError as error:
        raise ImportError(
            f'{type(array).__name__} needs: pip install "sampled-metrics[devices]"'
        ) from error
    return bool(is_array_api_obj(array))


def on_host(array: Any) -> NDArray[Any]:
    """Return an array of any library as one of NumPy."""
    if not on_a_device(array):
        return np.asarray(array)
    from array_api_compat import is_cupy_array, is_torch_array, to_device

    if is_torch_array(array):
        array = array.detach()
    elif not is_cupy_array(array):  # others NumPy asks itself
        return np.asarray(array)
    return np.asarray(to_device(array, "cpu"))


def take_rows(array: Any, rows: IntArray) -> Any:
    """Return some rows of an array on a device, where they are."""
    from array_api_compat import array_namespace, device

    xp = array_namespace(array)  # a copy, as torch warns of what is read-only
    return xp.take(array, xp.asarray(np.array(rows), device=device(array)), axis=0)


class DeviceBlock(Block):
    """The same for an array of any other library, by the array API standard.

    Places go to the device on which the scores are, and counts come back: the scores stay there.
    """

    def __init__(self, scores: Any, rows: IntArray, lists: Any, *, only: bool):
        from array_api_compat import array_namespace

        self.xp = array_namespace(scores)
        super().__init__(scores, rows, lists, only=only)

    def repeat(self, values: Any, lengths: IntArray) -> Any:
        return self.xp.take(values, self.on_device(np.repeat(np.arange(len(lengths)), lengths)))

    def is_finite(self, values: Any) -> Any:
        floating = self.xp.isdtype(values.dtype, "real floating")
        return self.xp.isfinite(values) if floating else values == values

    def on_device(self, values: NDArray[Any]) -> Any:
        from array_api_compat import device

        return self.xp.asarray(values, device=device(self.scores))

    def on_host(self, flags: Any) -> NDArray[Any]:
        return on_host(flags)

    def count_listed(self, comparison: str, limits: Any) -> IntArray:
        flags = getattr(self.xp, comparison)(self.listed, limits)
        ones = self.xp.astype(flags, self.xp.int32)
        running = self.xp.cumulative_sum(ones, include_initial=True)
        ends = self.on_host(self.xp.take(running, self.on_device(self.lists.indptr)))
        counts: IntArray = np.diff(ends).astype(np.int64)
        return counts

    def count_rows(self, limits: dict[str, Any]) -> list[IntArray]:
        rows = self.rows_of(slice(None))
        compared = (getattr(self.xp, each)(rows, limits[each][:, None]) for each in limits)
        counts = (self.on_host(self.xp.count_nonzero(flags, axis=1)) for flags in compared)
        return [count.astype(np.int64) for count in counts]
