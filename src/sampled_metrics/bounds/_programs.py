"""The linear programs behind bounds: ranks that represent all, and extremes over them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from sampled_metrics._arguments import FloatArray, IntArray
from sampled_metrics.metrics import Metric
from sampled_metrics.sampling import Draw, probabilities

HEAD = 64  # ranks that are always looked at one by one
FEW = 1024  # ranks of one number of items that are all looked at, however wide the band
MAX_NODES = 2**13  # ranks that are looked at, about
PIECE = 2**20  # ranks whose metric is in memory at once
# Tried in this order, and with presolving or without: of a full matrix it costs more than it saves.
METHODS: tuple[tuple[Literal["highs-ds", "highs-ipm"], bool], ...]
METHODS = ("highs-ds", False), ("highs-ipm", True)


class Group(NamedTuple):
    """Instances whose numbers of items are from `fewest` to `most`, and their share of all."""

    fewest: int
    most: int
    share: float


class End(NamedTuple):
    """The ranks that are looked at, as seen from one number of items of a group."""

    p: FloatArray  # of the sampled ranks 1, ..., m, shape (n_nodes, m)
    error: FloatArray  # of interpolating their cumulative sums, shape (m,)
    exact: FloatArray  # the metric, shape (n_nodes,)
    rest: tuple[float, float]  # least and largest error of interpolating it
    extent: tuple[float, float]  # its least and largest value


class Observed(NamedTuple):
    """Bounds of the cumulative distribution of something with k + 1 values."""

    p: FloatArray  # of each value but the last at each node, shape (n_nodes, k)
    low: FloatArray  # shape (k,)
    high: FloatArray


def nodes_of(group: Group, metric: Metric, draw: Draw, band: float, n_groups: int) -> IntArray:
    """Choose ranks of a group: those for its fewest items, and behind these those for the most."""
    most = int(MAX_NODES / n_groups**1.5)  # the more groups, the fewer ranks in all
    few = FEW if n_groups == 1 else HEAD
    near, far = (
        _nodes(n, draw.n_samples, metric.k, band, most, few) for n in (group.fewest, group.most)
    )
    return np.append(near, far[far > group.fewest])


def _nodes(n: int, m: int, cut: int | None, band: float, most: int, few: int) -> IntArray:
    """Choose ranks: all, or so many that interpolation costs a few hundredths of the band."""
    if band > 0:
        most = int(min(most, np.sqrt(100 * m) / np.sqrt(band)))  # also for the least of bands
    if n <= max(most, few):
        return np.arange(1, n + 1)
    # Equal steps in units of the sampled rank's standard deviation; and at the top, where the
    # metrics bend, steps of up to a 32nd of the rank.
    even = 1 + (n - 1) * np.sin(np.linspace(0, np.pi / 2, most)) ** 2
    top = np.geomspace(HEAD, n, int(32 * np.log(n / HEAD)) + 2)
    step = [] if cut is None else [min(cut, n), min(cut + 1, n)]
    grid = np.concatenate([np.arange(1, HEAD), top, even, step])
    return np.unique(np.rint(grid).astype(np.int64))


def lengths_of(nodes: IntArray, n: int) -> FloatArray:
    steps = np.diff(nodes, prepend=0, append=n + 1)
    lengths: FloatArray = (steps[:-1] + steps[1:]) / 2
    return lengths


def end_of(nodes: IntArray, group: Group, n: int, metric: Metric, draw: Draw) -> End:
    """Look at a group's nodes as if all its instances had n items; later ranks are the n-th."""
    m, replacement = draw.n_samples, draw.replacement

    def values(ranks: IntArray) -> FloatArray:
        if metric.needs_n_items or group.fewest == group.most:
            return metric(np.minimum(ranks, n), n_items=n)
        return metric(ranks)

    exact = values(nodes)
    rest, extent = (0.0, 0.0), (float(exact.min()), float(exact.max()))
    if len(nodes) < group.most:
        # Listed piece by piece, and no further than the cutoff: behind, there is nothing to add.
        last = group.most if metric.k is None else min(metric.k + 1, group.most)
        for start in range(0, last, PIECE):
            ranks = np.arange(start + 1, min(start + PIECE, last) + 1)
            each = values(ranks)
            off = each - np.interp(ranks, nodes, exact)
            rest = min(rest[0], float(off.min())), max(rest[1], float(off.max()))
            extent = min(extent[0], float(each.min())), max(extent[1], float(each.max()))
    p = probabilities(np.minimum(nodes, n), n, m, replacement=replacement)[:, :-1]
    error = _interpolation_error(nodes[nodes <= n], n, m, replacement=replacement)
    return End(p, error, exact, rest, extent)


def _interpolation_error(nodes: IntArray, n: int, m: int, *, replacement: bool) -> FloatArray:
    """Bound the error of interpolating P(sampled rank <= j | r) between nodes, for j = 1, ..., m.

    A function whose slope stays between two numbers leaves its chord over a step of length h by at
    most h / 4 times their difference. Here the slope at r is, up to its sign, m / (n - 1) times
    the probability that m - 1 draws leave the item at rank j; as r grows it rises, then falls.
    """
    steps = np.diff(nodes)
    if m == 1 or (steps == 1).all():
        return np.zeros(m)
    others = n if replacement else n - 1
    peaks = 1 + (n - 1) * np.arange(m) / (m - 1)
    if not replacement:
        peaks = np.floor(peaks)
    slope, peak = (
        m / (n - 1) * probabilities(np.minimum(at, others), others, m - 1, replacement=replacement)
        for at in (nodes, peaks)
    )
    inside = (nodes[:-1, None] < peaks) & (peaks < nodes[1:, None])
    steepest = np.where(inside, np.diag(peak), np.maximum(slope[:-1], slope[1:]))
    flattest = np.minimum(slope[:-1], slope[1:])
    weight = np.where(steps > 1, steps / 4, 0)
    error: FloatArray = (weight[:, None] * (steepest - flattest)).max(axis=0)
    return error


def modes(shape: str | None, size: int) -> list[tuple[int, int]]:
    """Return intervals of nodes: densities rise before, do as they like within, and fall behind."""
    if shape is None:
        return [(0, size)]
    if shape == "decreasing":
        return [(0, 0)]
    edges = [0, *(2**i for i in range(1, size.bit_length()) if 2**i < size), size]
    return [(first + 1, max(first + 1, last - 1)) for first, last in pairwise(edges)]


def extreme(
    sign: int,
    observed: list[Observed],
    exact: FloatArray,
    lengths: FloatArray,
    mode: tuple[int, int],
    max_share: float,
) -> float | None:
    """Return the least mean of `exact` (`sign` 1) or the largest (-1), None if none is possible.

    What rises up to a node mixes uniform distributions that end there, what falls from a node those
    that begin there. The unknowns are the shares of such atoms and of single nodes, and the
    cumulative probabilities of what is observed.
    """
    from scipy.optimize import linprog

    start, stop = mode

    def atoms(values: FloatArray) -> FloatArray:
        rising, falling = values[:start][::-1].cumsum(axis=0), values[stop:].cumsum(axis=0)
        return np.concatenate([rising, values[start:stop], falling])

    size = atoms(lengths)
    table = np.column_stack([*(x.p for x in observed), exact])
    rows = atoms(table * lengths[:, None]) / size[:, None]
    low, high = (np.concatenate([x[side] for x in observed]) for side in (1, 2))
    n_atoms, n_sums = len(size), len(low)
    difference = np.eye(n_sums, k=-1) - np.eye(n_sums)
    first = np.cumsum([len(x.low) for x in observed])[:-1]
    difference[first, first - 1] = 0  # the sums of each begin anew
    place = np.arange(n_atoms)
    single = (start <= place) & (place < stop)
    peaks = np.array([place < start, place >= stop]) / size  # densities where they are highest
    upper = np.where(single, np.minimum(max_share * size, 1), 1)
    program: dict[str, Any] = {
        "c": np.append(sign * rows[:, -1], np.zeros(n_sums)),
        "A_eq": np.block([[rows[:, :-1].T, difference], [np.ones(n_atoms), np.zeros(n_sums)]]),
        "b_eq": np.append(np.zeros(n_sums), 1),
        "A_ub": np.pad(peaks, ((0, 0), (0, n_sums))),
        "b_ub": [max_share, max_share],
        "bounds": np.column_stack([np.append(np.zeros(n_atoms), low), np.append(upper, high)]),
    }
    for method, presolve in METHODS:
        options: Any = {"maxiter": 20 * (n_atoms + n_sums), "presolve": presolve}
        solution: Any = linprog(method=method, options=options, **program)
        if solution.status == 0:
            return sign * float(solution.fun)
        if solution.status == 2:
            return None
    raise RuntimeError(f"HiGHS could not solve a linear program: {solution.message}")
