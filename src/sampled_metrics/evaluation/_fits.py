"""Fits of several estimators to several metrics, for each number of items that occurs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np

from sampled_metrics._arguments import FloatArray, IntArray, as_kind, as_named
from sampled_metrics.corrections import BiasVariance, CorrectedMetric, Estimator, Uncorrected
from sampled_metrics.metrics import Metric
from sampled_metrics.ranks import Ranks
from sampled_metrics.sampling import Draw

Fit = Literal["each", "paper"]
ESTIMATORS = {"uncorrected": Uncorrected(), "corrected": BiasVariance(gamma=0.1)}


class Cell(NamedTuple):
    """A metric and an estimator of it, by its name."""

    metric: Metric
    label: str
    estimator: Estimator


def cells_of(metrics: list[Metric], estimators: object) -> list[Cell]:
    """Return every metric with every estimator, or say what is no estimator."""
    named = as_named("estimators", estimators, '{"corrected": BiasVariance(gamma=0.1)}')
    for label, given in named.items():
        as_kind(f"estimators[{label!r}]", given, Estimator, "BiasVariance(gamma=0.1)")
    return [Cell(metric, label, e) for metric in metrics for label, e in named.items()]


class Tables:
    """Estimates of all cells, fitted once for each number of items and of samples, and kept.

    With the fit "each" they are fitted for the draw as it is made. With "paper" they are fitted for
    draws with replacement, and for the mean number of items, rounded, as in Krichene & Rendle
    (2020).
    """

    def __init__(
        self, cells: list[Cell], draw: Draw, n_items: IntArray, fit: Fit, *, progress: bool = False
    ) -> None:
        self.cells, self.draw, self.progress = cells, draw, progress
        self.n_items = n_items
        self.replacement = bool(draw.replacement) or fit == "paper"
        if not any(cell.estimator.needs_n_items for cell in cells):
            self.n_items = np.full_like(n_items, n_items.max())
        elif fit == "paper":
            self.n_items = np.full_like(n_items, round(float(n_items.mean())))
        self._kept: dict[tuple[int, int], list[CorrectedMetric]] = {}

    def groups(
        self, n_samples: IntArray | int, at: Any = slice(None)
    ) -> Iterator[tuple[IntArray, list[CorrectedMetric]]]:
        """Yield which of the instances `at` these places share a fit, and the fit of each cell."""
        from tqdm import tqdm

        sizes = self.n_items[at] + 1j * n_samples
        sizes, which = np.unique(sizes, return_inverse=True)
        alike = np.split(np.argsort(which, kind="stable"), np.cumsum(np.bincount(which))[:-1])
        pairs = [(int(size.real), int(size.imag)) for size in sizes]
        silent = not self.progress or all(pair in self._kept for pair in pairs)
        for pair, x in zip(tqdm(pairs, "fitting", delay=2, disable=silent), alike, strict=True):
            yield x, self._fitted(*pair)

    def estimates(self, sampled: Ranks) -> FloatArray:
        """Return the estimates of each instance and cell, shape (n_instances, n_cells)."""
        assert sampled.n_items is not None
        values = np.empty((len(sampled), len(self.cells)))
        for x, fitted in self.groups(sampled.n_items - sampled.n_relevant):
            some = sampled if len(x) == len(sampled) else sampled[x]
            values[x] = np.column_stack([each(some) for each in fitted])
        return values

    def ends(self) -> FloatArray:
        """Return the least and the largest estimate in each cell's tables, shape (n_cells, 2)."""
        of_cells = zip(*self._kept.values(), strict=True)
        each = [np.concatenate([fitted.values for fitted in cell]) for cell in of_cells]
        return np.array([(values.min(), values.max()) for values in each])

    def _fitted(self, n: int, m: int) -> list[CorrectedMetric]:
        if (n, m) not in self._kept:
            draw = Draw(m, n_items=n, replacement=self.replacement)
            self._kept[n, m] = [cell.estimator.fit(cell.metric, draw) for cell in self.cells]
        return self._kept[n, m]
