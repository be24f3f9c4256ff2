"""Ranks without most of the scores: a walk over the candidates that stops when all is said.

Candidates come in blocks, likely winners first. Two rules say when an instance is finished:

1. So many candidates are above its held-out item that its rank is beyond the last one of interest.
2. Scores are inner products, and no vector that is left is long enough to reach the held-out
   item's score (Cauchy-Schwarz).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._arguments import FloatArray, IntArray
from sampled_metrics.scoring._counting import Block, DeviceBlock, on_a_device, on_host, take_rows
from sampled_metrics.scoring.inner_product import InnerProduct, largest

FIRST, MOST = 64, 8192  # items in the first block of a walk, and in the largest
SMALL, TINY = 2.0**-400, 2.0**-1000  # squares of smaller numbers may vanish; stands for what does


class Walk:
    """Count what is above and level with some held-out items, block after block of candidates.

    Parameters
    ----------
    users, items : array of int64, shape (n,)
        The instances, sorted by user.
    order : array of int64, shape (n_items,)
        The items in the order of the walk.
    lists, only
        As in `Block`.
    limit : int
        The last rank of interest.
    """

    piece = 2**21  # scores in memory at once

    def __init__(
        self,
        users: IntArray,
        items: IntArray,
        order: IntArray,
        lists: Any,
        *,
        only: bool,
        limit: int,
    ):
        from scipy import sparse

        self.users, self.items, self.order, self.only, self.limit = users, items, order, only, limit
        n, n_items = lists.shape
        place = np.empty(n_items, lists.indices.dtype)  # a copy of half the size takes less time
        place[order] = np.arange(n_items)
        one_each = np.arange(n + 1, dtype=lists.indptr.dtype)
        # The held-out item is not above or level with itself: it is no candidate here.
        if only:
            others = lists.indices != np.repeat(items, np.diff(lists.indptr))
            listed, starts = lists.indices[others], lists.indptr - one_each
        else:
            listed = np.insert(lists.indices, lists.indptr[1:], items)
            starts = lists.indptr + one_each
        ones = np.ones(len(listed), dtype=bool)
        self.cells = sparse.csr_array((ones, place[listed], starts), (n, n_items)).tocsc()
        self.above, self.level = np.zeros((2, n), np.int64)
        self.live = np.arange(n)  # the instances that are not finished
        self.at, self.width = 0, max(FIRST, min(limit, 1024))  # no fewer can be enough
        self.n_scores = n  # those of the held-out items

    def step(self) -> None:
        """Go on by one block."""
        at, end = self.at, self.next_end()
        lists, n = self.cells[:, at:end].tocsr(), max(1, self.piece // (end - at))
        for start in range(0, len(self.live), n):
            some = self.live[start : start + n]
            self.count(some, at, end, lists[some])
        self.at, self.width = end, min(2 * self.width, MOST)
        if end == len(self.order):
            self.live = self.live[:0]
        else:
            self.live = self.live[self.above[self.live] < self.limit]
            self.live = self.live[self.can_reach(self.live, end)]

    def next_end(self) -> int:
        return min(self.at + self.width, len(self.order))

    def left(self) -> IntArray:
        """Return the number of candidates of each instance that are still to come."""
        listed = np.bincount(self.cells[:, self.at :].indices, minlength=len(self.users))
        return listed if self.only else len(self.order) - self.at - listed

    def count(self, some: IntArray, at: int, end: int, lists: Any) -> None:
        """Count for some instances the candidates from one place to another."""
        raise NotImplementedError

    def can_reach(self, some: IntArray, at: int) -> NDArray[np.bool_]:
        """Tell of which instances the held-out item may be reached from a place on."""
        return np.full(len(some), fill_value=True)


class Pairs(Walk):
    """A walk by the scores of single pairs of a user and an item, of candidates only."""

    piece = 2**17  # a model may need much memory for each

    def __init__(self, scores: Any, *instances: Any, **how: Any):
        super().__init__(*instances, **how)
        self.scores = scores
        self.target = scores(self.users, self.items, held_out=True)

    def count(self, some: IntArray, at: int, end: int, lists: Any) -> None:
        rows, columns = lists.nonzero()
        if not self.only:
            free = np.ones(lists.shape, dtype=bool)
            free[rows, columns] = False
            rows, columns = np.nonzero(free)
        if not len(rows):
            return
        x = some[rows]
        scores = self.scores(self.users[x], self.order[at + columns])
        self.n_scores += len(scores)
        self.above[some] += np.bincount(rows[scores > self.target[x]], minlength=len(some))
        self.level[some] += np.bincount(rows[scores == self.target[x]], minlength=len(some))


class Shelf:
    """The items of an `InnerProduct`: their order, what bounds those behind each, their vectors.

    A vector here is scaled, and has the item's bias, if there is one, as its last number. In
    memory are a float32 copy of the items' vectors, or none on a device, and some numbers each.
    """

    def __init__(self, model: InnerProduct, users: IntArray, popularity: IntArray):
        self.model, self.device = model, on_a_device(model.item_vectors)
        vectors, bias = model.item_vectors, model.item_bias
        n_items, d = vectors.shape
        self.n_terms = d + (bias is not None)
        everything = np.arange(n_items)
        self.bias = np.zeros(n_items) if bias is None else model.rows("item_bias", everything)
        most = max(largest(vectors), largest(self.bias))
        self.scale = 1.0 if 2.0**-32 <= most <= 2.0**32 else float(_power_of_2(most))
        self.bias = np.where(
            self.bias == 0,
            0,
            np.copysign(np.maximum(np.abs(self.bias) * self.scale, TINY), self.bias),
        )
        self.length = np.empty(n_items)
        self.step = max(1, 2**18 // d)
        for start in range(0, n_items, self.step):
            piece = slice(start, min(start + self.step, n_items))
            self.length[piece] = self.lengths(piece)
        # For a user of this length they are in the order of the largest score that they may reach.
        self.typical = 1.0
        if bias is not None and len(users):
            some = model.rows("user_vectors", users[:: len(users) // 999 + 1])
            self.typical = float(np.median(np.linalg.norm(np.clip(some, -1e99, 1e99), axis=1)))
        reach = self.typical * self.length + self.bias
        # Lengths are rounded to steps of 9 %, in which popular items come first.
        level = reach if bias is not None else np.floor(8 * np.log2(np.maximum(reach, TINY)))
        self.order = np.lexsort((-self.length, -popularity, -level))
        self.length, self.bias = self.length[self.order], self.bias[self.order]
        self.longest = np.hypot(self.length, self.bias)
        behind = slice(None, None, -1)
        self.reach, self.most, self.most_bias = (
            np.maximum.accumulate(each[behind])[behind]
            for each in (reach[self.order], self.length, self.bias)
        )
        self.least = np.minimum.accumulate(self.length[behind])[behind]
        self.first_zero = n_items - int(np.argmax(np.append(self.longest[behind] > 0, True)))
        # Equal vectors are next to each other, and have one score.
        like_last = np.zeros(n_items, dtype=bool)
        alike = 1 + np.flatnonzero((np.diff(self.length) == 0) & (np.diff(self.bias) == 0))
        for start in range(0, len(alike), self.step):
            x = alike[start : start + self.step]
            one, other = (model.rows("item_vectors", self.order[at]) for at in (x, x - 1))
            like_last[x] = (one == other).all(axis=1)
        self.kind = np.cumsum(~like_last)
        if not self.device:
            self.buffer = np.empty(0, np.float32)
            self.vectors = np.empty((n_items, self.n_terms), np.float32)
            for start in range(0, n_items, self.step):
                piece = slice(start, min(start + self.step, n_items))
                found = vectors[self.order[piece]]
                self.vectors[piece, :d] = (
                    found if self.scale == 1 else found.astype(np.float64) * self.scale
                )
                self.vectors[piece, d:] = self.bias[piece, None]

    def lengths(self, piece: slice) -> FloatArray:
        given = self.model.item_vectors[piece, ...]
        if not self.device:
            return _lengths(given.astype(np.float64), self.scale)
        from array_api_compat import array_namespace

        xp = array_namespace(given)
        scaled = xp.astype(given, xp.float64) * self.scale
        found = np.array(on_host(xp.sqrt(xp.sum(scaled * scaled, axis=1))))
        few = np.flatnonzero(found < SMALL)
        found[few] = _lengths(self.model.rows("item_vectors", piece.start + few), self.scale)
        return found

    def product(self, vectors: NDArray[Any], at: int, end: int) -> Any:
        """Return the product of users' vectors and those of the items from a place to another."""
        if not self.device:
            size = len(vectors) * (end - at)
            if len(self.buffer) < size:
                self.buffer = np.empty(size, np.float32)  # fresh memory for each block costs time
            out = self.buffer[:size].reshape(len(vectors), end - at)
            return np.matmul(vectors, self.vectors[at:end].T, out=out)
        from array_api_compat import array_namespace, device

        given = self.model.item_vectors
        xp, there = array_namespace(given), device(given)
        items = xp.astype(take_rows(given, self.order[at:end]), xp.float64) * self.scale
        d = given.shape[1]
        product = xp.asarray(vectors[:, :d].copy(), device=there) @ xp.matrix_transpose(items)
        if d < self.n_terms:
            bias = vectors[:, d:] * self.bias[at:end]
            product = product + xp.asarray(bias, device=there)
        return product


class Products(Walk):
    """A walk by products of matrices, and by the definition of a score where these are not sure."""

    def __init__(self, shelf: Shelf, *instances: Any, **how: Any):
        super().__init__(*instances, **how)
        self.shelf, model = shelf, shelf.model
        distinct, self.row = np.unique(self.users, return_inverse=True)
        vectors = model.rows("user_vectors", distinct)
        if shelf.n_terms > vectors.shape[1]:
            vectors = np.append(vectors, np.ones((len(vectors), 1)), axis=1)
        bias = np.zeros(len(vectors))
        if model.user_bias is not None:
            bias = model.rows("user_bias", distinct)
        size = np.abs(vectors).max(axis=1, initial=0)
        scale = _power_of_2(np.maximum(size, 2.0**-60 * np.abs(bias)))  # neither overflows
        bias = bias[self.row]
        d = model.item_vectors.shape[1]
        self.length = self.reach = _lengths(vectors[:, :d], scale[:, None])[self.row]
        if d < shelf.n_terms:
            self.reach = _lengths(vectors, scale[:, None])[self.row]
        vectors *= scale[:, None]
        self.vectors = vectors if shelf.device else vectors.astype(np.float32)
        self.own, self.scale = scale[self.row], scale[self.row] * shelf.scale
        self.target = model.scores(self.users, self.items)
        self.aim = (self.target - bias) * self.scale
        lost = (self.aim == 0) & (self.target != bias)
        self.aim[lost] = np.copysign(TINY, (self.target - bias)[lost])
        self.bias = np.abs(bias * self.scale)

    def next_end(self) -> int:
        end, zero = super().next_end(), self.shelf.first_zero
        return zero if self.at < zero < end else end  # zeros apart: their scores are all the same

    def margin(self, some: IntArray, longest: float) -> FloatArray:
        """Return by how much products with vectors of at most this length may err."""
        reach, bias, scale = self.reach[some], self.bias[some], self.scale[some]
        margin = 2.0**-23 * longest * reach + 2.0**-50 * bias + 2.0**-90 + 2.0**-1074 * scale
        # A vector of zeros errs by nothing.
        exact = (reach == 0) | (longest == 0)
        return np.where(exact, 0, (self.shelf.n_terms + 4) * margin)

    def can_reach(self, some: IntArray, at: int) -> NDArray[np.bool_]:
        shelf, length, own = self.shelf, self.length[some], self.own[some]
        beyond = length - own * shelf.typical  # of a user who is longer than the typical one
        by_order = own * shelf.reach[at] + beyond * np.where(
            beyond > 0, shelf.most[at], shelf.least[at]
        )
        apart = length * shelf.most[at] + own * shelf.most_bias[at]
        rounding = 2.0**-50 * own * shelf.typical * shelf.most[at]
        longest = float(np.hypot(shelf.most[at], np.abs(shelf.bias[at:]).max()))
        margin = self.margin(some, longest) + rounding
        return np.asarray(np.minimum(by_order, apart) + margin >= self.aim[some])

    def count(self, some: IntArray, at: int, end: int, lists: Any) -> None:
        distinct, rows = np.unique(self.row[some], return_inverse=True)
        scores = self.shelf.product(self.vectors[distinct], at, end)
        self.n_scores += len(distinct) * (end - at)
        block = (DeviceBlock if self.shelf.device else Block)(scores, rows, lists, only=self.only)
        margin = self.margin(some, float(self.shelf.longest[at:end].max()))
        low = _outward(self.aim[some] - margin, -np.inf, scores)
        high = _outward(self.aim[some] + margin, np.inf, scores)
        above, not_below = block.count(
            greater=block.on_device(high), greater_equal=block.on_device(low)
        )
        self.above[some] += above
        unsure = not_below - above
        exact = (margin == 0) & (low == high)
        self.level[some[exact]] += unsure[exact]
        x = np.flatnonzero((unsure > 0) & ~exact & (self.above[some] < self.limit))
        if len(x):
            self.decide(some, at, block, x, low[x], high[x])

    def decide(
        self, some: IntArray, at: int, block: Block, x: IntArray, low: Any, high: Any
    ) -> None:
        """Count by the definition the candidates whose product is inside the margin."""
        scores = block.take_rows(block.rows[x])
        low, high = (block.on_device(limit)[:, None] for limit in (low, high))
        near, columns = np.nonzero(block.on_host((scores >= low) & (scores <= high)))
        free = np.ravel(block.lists[x[near], columns]) == self.only
        rows, columns = x[near[free]], columns[free]
        x, kind = some[rows], self.shelf.kind[at + columns]
        new = np.append(True, (np.diff(rows) != 0) | (np.diff(kind) != 0))[: len(rows)]
        exact = self.shelf.model.scores(self.users[x[new]], self.order[at + columns[new]])
        exact = exact[np.cumsum(new) - 1]
        self.above[some] += np.bincount(rows[exact > self.target[x]], minlength=len(some))
        self.level[some] += np.bincount(rows[exact == self.target[x]], minlength=len(some))


def _lengths(vectors: FloatArray, scale: Any) -> FloatArray:
    """Return the lengths of vectors after scaling, or a little more; 0 of vectors of zeros only."""
    scaled = vectors * scale
    found: FloatArray = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
    few = np.flatnonzero(found < SMALL)
    bound = np.maximum(np.sqrt(vectors.shape[1]) * np.abs(scaled[few]).max(axis=1, initial=0), TINY)
    found[few] = np.where(vectors[few].any(axis=1), bound, 0)
    return found


def _power_of_2(size: Any) -> Any:
    """Return what makes numbers of this size about 1, or 2**500 if this is not enough."""
    return np.ldexp(1.0, np.minimum(-np.frexp(size)[1], 500))


def _outward(limit: FloatArray, towards: float, scores: Any) -> NDArray[Any]:
    """Return limits in the type of the scores, rounded in one direction."""
    if not isinstance(scores, np.ndarray):
        return limit
    with np.errstate(over="ignore"):  # infinity is a limit, too
        found = limit.astype(scores.dtype)
        next_one = np.nextafter(found, scores.dtype.type(towards))
    return np.where(found < limit if towards > 0 else found > limit, next_one, found)
