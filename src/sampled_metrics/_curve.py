"""What the mean of a sampled metric says of the exact one: a curve, and its convex hull."""

from __future__ import annotations

from math import log, sqrt
from typing import Any

import numpy as np

from sampled_metrics._checks import FloatArray, IntArray, as_real
from sampled_metrics._terms import sampled_values
from sampled_metrics.bounds import Bounds
from sampled_metrics.metric import Metric
from sampled_metrics.sampling import Draw

HEAD = 2048  # ranks that are all looked at
STEP = 1.01  # from one rank to the next behind them, until it is known where to look closer
FINER = 16  # ranks between two neighbors, when looking closer
BLOCK = 2**20  # probabilities in memory at once
ROUNDING = 1e-9  # by which a mean that was computed may miss what is possible


class Curve:
    """The points (g(r), M(r)) of the ranks looked at so far, and means rounded by `slack` at most.

    Near its ends g changes by less than rounding shows. So the first coordinate is kept twice: as
    what a rank's g is above the least value, and as what it is below the largest.
    """

    def __init__(self, metric: Metric, exact: Metric, draw: Draw, slack: float) -> None:
        m, n = draw.n_samples, draw.n_items
        assert isinstance(n, int)
        self.metric, self.exact, self.draw, self.n, self.slack = metric, exact, draw, n, slack
        self.values = sampled_values(metric, m)
        self.least, self.largest = float(self.values.min()), float(self.values.max())
        self.ranks: IntArray = np.arange(0)
        self.x, self.y = np.empty((0, 2)), np.empty(0)
        count = 2 + int(log(max(n / HEAD, 1)) / log(STEP))
        cuts = [] if exact.k is None else [exact.k, exact.k + 1]
        far = np.rint(np.geomspace(min(HEAD, n), n, count))
        self._add(np.concatenate([np.arange(1, min(HEAD, n) + 1), far, [min(c, n) for c in cuts]]))

    def _add(self, ranks: FloatArray) -> bool:
        """Look at more ranks; tell whether one of them is new."""
        new = np.setdiff1d(ranks.astype(np.int64), self.ranks)
        ends = np.stack([self.values - self.least, self.largest - self.values], axis=1)
        pieces = np.array_split(new, 1 + new.size * len(ends) // BLOCK)
        x = np.concatenate([self.x, *(self.draw.pmf(piece) @ ends for piece in pieces)])
        y = np.concatenate([self.y, self.exact(new, self.n)])
        all_ranks = np.concatenate([self.ranks, new])
        order = np.argsort(all_ranks)
        self.ranks, self.x, self.y = all_ranks[order], x[order], y[order]
        return bool(new.size)

    def as_mean(self, name: str, value: object) -> float:
        """Return a value that the mean of the sampled metric can have."""
        v = as_real(name, value)
        low, high = self._reach()
        slack = self.slack + ROUNDING
        if not low - slack <= v <= high + slack:
            hint = "; divide a percentage by 100" if 1 < v <= 100 else ""
            raise ValueError(
                f"{name} is {value}; {name} must be from {low:.6g} to {high:.6g}, which is what "
                f"{self.metric} can be with n_samples {self.draw.n_samples}{hint}"
            )
        return min(max(v, low), high)

    def _reach(self) -> tuple[float, float]:
        """Return the least and the largest mean of the sampled metric."""
        return self.least + float(self.x[:, 0].min()), self.largest - float(self.x[:, 1].min())

    def unrounded(self, v: float) -> Bounds:
        """Return the means that a value stands for."""
        low, high = self._reach()
        return Bounds(max(v - self.slack, low), min(v + self.slack, high))

    def variance(self, v: float) -> float:
        """Return the largest variance of values with the mean v."""
        return (self.largest - v) * (v - self.least)

    def interval(self, v: float, n_users: int, z: float) -> Bounds:
        """Return the means that are at most z of their own standard errors away from v."""
        ends = [
            self._away(sign * z, end, n_users)
            for sign, end in zip((-1, 1), self.unrounded(v), strict=True)
        ]
        return Bounds(*ends)

    def _away(self, z: float, v: float, n_users: int) -> float:
        """Return the mean that is z of its standard errors above v, or below for a negative z."""
        low, high, weight = self.least, self.largest, z**2 / n_users
        shift = weight * ((low + high) / 2 - v)
        error = sqrt(self.variance(v) / n_users + (z * (high - low) / (2 * n_users)) ** 2)
        return min(max(v + (shift + z * error) / (1 + weight), low), high)

    def bounds(self, low: float, high: float) -> Bounds:
        """Return the extremes of the exact metric, if the sampled one is from low to high."""
        return Bounds(0.0 - self._highest(-1, low, high), self._highest(1, low, high))

    def _highest(self, sign: int, low: float, high: float) -> float:
        """Return the upper end of the hull of (g, sign * M) over an interval of g."""
        side = int(low + high > self.least + self.largest)  # measure from the nearer end
        ends = (low - self.least, high - self.least), (self.largest - high, self.largest - low)
        while True:
            x, y = self.x[:, side], sign * self.y
            # The hull is concave: its highest point is above that rank, or as near as can be.
            at = np.clip(np.clip(x[np.argmax(y)], *ends[side]), x.min(), x.max())
            height, atoms = _hull_above(x, y, float(at))
            if not self._look_closer(atoms):
                return height

    def _look_closer(self, atoms: list[int]) -> bool:
        """Look at ranks between those of the atoms and their neighbors; tell if there are any."""
        near = [
            np.linspace(self.ranks[i], self.ranks[i + 1], FINER + 2)
            for atom in atoms
            for i in (atom - 1, atom)
            if 0 <= i < len(self.ranks) - 1
        ]
        return self._add(np.rint(np.concatenate([np.arange(0), *near])))


def _hull_above(x: FloatArray, y: FloatArray, at: float) -> tuple[float, list[int]]:
    """Return the height of the upper hull of points at a place, and which points it mixes there.

    Of all segments above the place, the highest is on the hull. From any one, the better end is
    found on one side in turn. If neither end can be improved, all points are below its line.
    """
    here, left, right = (np.flatnonzero(side) for side in (x == at, x < at, x > at))
    single = (float(y[here].max()), [int(here[np.argmax(y[here])])]) if here.size else None
    if not (left.size and right.size):
        assert single is not None  # the place is between the first point and the last
        return single

    def height(a: Any, b: Any) -> Any:
        return y[a] + (y[b] - y[a]) * ((at - x[a]) / (x[b] - x[a]))

    b = right[np.argmax(y[right])]
    a = left[np.argmax(height(left, b))]
    while height(a, new := right[np.argmax(height(a, right))]) > height(a, b):
        b = new
        a = left[np.argmax(height(left, b))]
    pair = float(height(a, b)), [int(a), int(b)]
    return pair if single is None or pair > single else single
