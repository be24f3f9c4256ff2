"""The distribution of the sampled rank in numbers: its probabilities, and means under it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial.chebyshev import chebvander
from numpy.typing import NDArray

from sampled_metrics._arguments import FloatArray, IntArray
from sampled_metrics.ranks import Ranks
from sampled_metrics.sampling._quadrature import gauss_rule

BLOCK = 2**19  # numbers of a series that are in memory at once
SMALL = 2**16  # of probabilities, which pass many times through the processor: its cache holds them
LONG_ROW = 128  # numbers in a row, from which on NumPy's call for each row is paid back
LONG = 16  # ranks of a tie, beyond which its ends are tried
CANCELED = 0.01  # what is left of a difference that has lost two digits
MOST = 100.0  # of a table's values: a series is exact to some 1e-12 of the largest


def probabilities(
    ranks: NDArray[Any], n_items: NDArray[Any] | int, m: int, *, replacement: bool
) -> FloatArray:
    """Return the probability of each sampled rank, shape ``ranks.shape + (m + 1,)``.

    It is a polynomial of degree m in the rank: between whole numbers it may be negative without
    replacement.
    """
    h = np.arange(m, dtype=np.float64).reshape(-1, *(1,) * np.ndim(ranks))
    above, below = np.asarray(ranks - 1.0), np.asarray(n_items - ranks * 1.0)
    if not replacement:
        # What is left above when h of them are drawn, and below when all others are. Of a whole
        # number of items, no less than none.
        least = np.where(above == np.floor(above), 0.0, -np.inf)
        above, below = np.maximum(above - h, least), np.maximum(below - h[::-1], least)
    with np.errstate(divide="ignore"):
        ratio = (m - h) / (h + 1) * (above / below)  # of the probabilities of h + 1 and h
        signed = (ratio < 0).any()
        size = np.abs(ratio) if signed else ratio
        # Products of factors of at most 1, away from the most likely count to both sides: nothing
        # overflows, no digits cancel, and up / down is the ratio.
        down = np.minimum(1.0 / size, 1.0)
    p: FloatArray = np.ones((m + 1, *ratio.shape[1:]))
    np.minimum(size, 1.0, out=p[1:])
    _multiply_up(p)
    _multiply_up(down[::-1])
    p[:-1] *= down
    if signed:
        p[1:] *= np.cumprod(np.sign(ratio), axis=0)
    p /= p.sum(axis=0)
    return np.moveaxis(p, 0, -1)


def _multiply_up(rows: FloatArray) -> None:
    """Multiply each row by all rows before it, in place."""
    if rows[:1].size < LONG_ROW:
        np.cumprod(rows, axis=0, out=rows)
    else:  # NumPy's cumprod goes through each column on its own: several times as long
        for before, row in pairwise(rows):
            np.multiply(row, before, out=row)


def expectation(
    values: FloatArray, ranks: NDArray[Any], n_items: IntArray, *, replacement: bool
) -> FloatArray:
    """Return the means of ``values[sampled rank - 1]``, of one table or several in columns."""
    m = len(values) - 1
    found = np.empty((len(ranks), *values.shape[1:]))
    large = np.abs(values).max() > MOST
    smooth = [] if large else _smooth_groups(n_items, m, replacement=replacement)
    left = np.ones(len(ranks), dtype=bool)
    for x in smooth:
        left[x] = False
        series = _series(m, int(n_items[x[0]]), replacement=replacement) @ values
        for start in range(0, len(x), BLOCK // len(series)):
            some = x[start : start + BLOCK // len(series)]
            share = (ranks[some] - 1) / (n_items[some] - 1)
            found[some] = chebvander(1 - 2 * share, len(series) - 1) @ series
    rest = np.flatnonzero(left)
    which = np.unique(n_items[rest], return_inverse=True)[1]
    each_pair = ranks[rest] + 1j * which
    pairs, where = np.unique(each_pair, return_index=True, return_inverse=True)[1:]
    each = np.empty((len(pairs), *values.shape[1:]))
    step = max(1, SMALL // (m + 1))
    for start in range(0, len(pairs), step):
        some = rest[pairs[start : start + step]]
        p = probabilities(ranks[some], n_items[some], m, replacement=replacement)
        each[start : start + step] = p @ values
    found[rest] = each[where]
    return found


def expectation_over_ties(values: FloatArray, ranks: Ranks, *, replacement: bool) -> FloatArray:
    """Return the same for one relevant item each, as a mean over the ranks that ties allow."""
    assert ranks.n_items is not None
    if not ranks.has_ties:
        return expectation(values, ranks.best, ranks.n_items, replacement=replacement)
    m = len(values) - 1
    found = np.empty((len(ranks), *values.shape[1:]))
    by_nodes = np.ones(len(ranks), dtype=bool)
    long = np.flatnonzero((not replacement) & (ranks.n_tied > LONG))
    if long.size:
        found[long], sure = _from_ends(values, ranks[long])
        by_nodes[long] = ~sure
    x = np.flatnonzero(by_nodes)
    at = nodes_of_ties(ranks[x], m, replacement=replacement)
    found[x] = at.mean(
        expectation(values, at.ranks, ranks.n_items[x][at.entry], replacement=replacement)
    )
    return found


def _from_ends(values: FloatArray, ranks: Ranks) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return the means without replacement from the ends of ties, and which of them to trust.

    The (h + 1)-st of m + 1 items drawn from n has rank r with probability (m + 1) / n times that of
    h items above rank r in a draw of m. So sums over r are differences:

        (m + 1) / n sum_r E[v(H) | r] = E[G(H') | last + 1] - E[G(H') | first],

    with G(k) = v(0) + ... + v(k - 1) and H' from m + 1 draws among n + 1 items. G may as well be
    -v(k) - ... - v(m), which is small where the other is not: the smaller cancels less.
    """
    assert ranks.n_items is not None
    m, n, zero = len(values) - 1, ranks.n_items, np.zeros((1, *values.shape[1:]))
    up = np.concatenate([zero, np.cumsum(values, axis=0)])
    down = np.concatenate([-np.cumsum(values[::-1], axis=0)[::-1], zero])
    ends = np.concatenate([ranks.best + ranks.n_tied + 1, ranks.best])
    sums = np.stack([up, down], axis=1).reshape(m + 2, -1)
    found = expectation(sums, ends, np.tile(n + 1, 2), replacement=False)
    last, first = found.reshape(2, len(ranks), 2, *values.shape[1:])
    difference, size = last - first, np.abs(last) + np.abs(first)
    which = size.argmin(axis=1, keepdims=True)
    difference, size = (
        np.take_along_axis(each, which, axis=1)[:, 0] for each in (difference, size)
    )
    # Trusted is what has lost two digits at most, or where each rank of the tie would be a node.
    sure = (np.abs(difference) >= CANCELED * size).reshape(len(ranks), -1).all(axis=1)
    scale = n / ((m + 1) * (ranks.n_tied + 1))
    means = scale.reshape(-1, *(1,) * (values.ndim - 1)) * difference
    return means, sure | (2 * m > n)


def _degree(m: int) -> int:
    """Return the degree at which the series in `_series` ends.

    In the angle whose sine squared is the share above, the binomial distribution has a standard
    deviation of 1 / (2 sqrt(m)) everywhere. So its coefficients fall like exp(-k^2 / 2m).
    """
    return min(m, 4 + int(9 * sqrt(m)))


def _series(m: int, n: int, *, replacement: bool) -> FloatArray:
    """Return Chebyshev coefficients of the probabilities in 1 - 2 (share of others above)."""
    degree = _degree(m)
    x = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    at_nodes = probabilities(1 + (n - 1) * (1 - x) / 2, n, m, replacement=replacement)
    series = 2 / (degree + 1) * chebvander(x, degree).T @ at_nodes
    series[0] /= 2
    return series


def _smooth_groups(n_items: IntArray, m: int, *, replacement: bool) -> list[IntArray]:
    """Return places that share a series, where there are many of them."""
    enough = 8 * (_degree(m) + 1)
    if replacement:  # only the share of the others that are above matters
        return [np.arange(len(n_items))] if len(n_items) > enough else []
    # Checked: from n = 3m on, the error is as small as with replacement.
    return [x for (n,), x in alike(n_items) if len(x) > enough and n >= 4 * m]


def alike(*columns: IntArray) -> Iterator[tuple[list[int], IntArray]]:
    """Yield, in ascending order, each row that the columns hold, and the places where it is."""
    order = np.lexsort(columns[::-1])
    rows = np.stack(columns)[:, order]
    changes = 1 + np.flatnonzero((rows[:, 1:] != rows[:, :-1]).any(axis=0))
    for places in np.split(order, changes) if order.size else ():
        yield [int(column[places[0]]) for column in columns], places


def blocks(length: int, width: int) -> Iterator[slice]:
    """Cut 0..length into slices that make arrays of about a million entries."""
    step = max(1, 2**20 // width)
    return (slice(start, start + step) for start in range(0, length, step))


class Nodes(NamedTuple):
    """Ranks and weights whose weighted sums are means over the ranks that ties allow."""

    ranks: NDArray[Any]  # whole numbers where nothing is tied
    entry: IntArray  # of the tied ranks, ascending
    weight: FloatArray

    def mean(self, each: FloatArray) -> FloatArray:
        """Return the weighted sum for each entry of values at the nodes."""
        if len(self.entry) == 0 or len(self.entry) == self.entry[-1] + 1:
            return each
        starts = np.flatnonzero(np.diff(self.entry, prepend=-1))
        weight = self.weight.reshape(-1, *(1,) * (each.ndim - 1))
        return np.add.reduceat(weight * each, starts, axis=0)


def nodes_of_ties(ranks: Ranks, m: int, *, replacement: bool) -> Nodes:
    """Return nodes for probabilities of sampled ranks, and products of two of them.

    Given the rank, these are polynomials of degree m and 2m, and in the angle of `_degree` bumps of
    one width: a Gauss rule sums them, with nodes for the angle that the tie covers. Of most items
    drawn without replacement, they are not smooth: then each rank counts.
    """
    assert ranks.n_items is not None
    if not ranks.has_ties:
        return Nodes(ranks.best, np.arange(len(ranks)), np.ones(len(ranks)))
    left = np.ones(len(ranks)) if replacement else 1 - m / ranks.n_items
    ends = np.stack([ranks.best, ranks.best + ranks.n_tied])
    first, last = np.arcsin(np.sqrt((ends - 1) / np.maximum(ranks.n_items - 1, 1)))
    steps_of_8 = np.ceil(0.75 * np.sqrt(m / left) * np.minimum(last - first, 1))  # few rules
    most = np.where(left > 0.5, np.minimum(m + 1, 8 + 8 * steps_of_8), ranks.n_tied + 1)
    sizes = np.minimum(most, ranks.n_tied + 1).astype(np.int64)
    starts = np.cumsum(sizes) - sizes
    nodes, weight = np.empty(sizes.sum()), np.empty(sizes.sum())
    for (length, size), x in alike(ranks.n_tied + 1, sizes):
        at = starts[x, None] + np.arange(size)
        steps, weights = gauss_rule(length, size)
        nodes[at], weight[at] = ranks.best[x, None] + steps, weights / length
    return Nodes(nodes, np.repeat(np.arange(len(ranks)), sizes), weight)


def chain_probabilities(
    between: IntArray, behind: IntArray, m: int, *, replacement: bool
) -> FloatArray:
    """Return the probability of each H_j+1 given each H_j, shape ``(..., m + 1, m + 1)``.

    Given h hits above the j-th relevant item, the other m - h are drawn from the irrelevant items
    `between` it and the next, and `behind` that one. Rows of what cannot be given are 0.
    """
    drawn = np.arange(m)
    log_ways = []
    for items in (between, behind):
        with np.errstate(divide="ignore"):
            each = np.log(np.maximum(items[..., None] - drawn * (not replacement), 0) / (drawn + 1))
        log_ways.append(np.pad(np.cumsum(each, axis=-1), [(0, 0)] * between.ndim + [(1, 0)]))
    hits = np.arange(m + 1)
    new = hits - hits[:, None]
    log_p = log_ways[0][..., new] + log_ways[1][..., None, ::-1]
    log_p[..., new < 0] = -np.inf
    largest = log_p.max(axis=-1, keepdims=True)
    p: FloatArray = np.exp(log_p - np.where(largest > -np.inf, largest, 0))
    p /= np.maximum(p.sum(axis=-1, keepdims=True), np.finfo(float).tiny)
    return p
