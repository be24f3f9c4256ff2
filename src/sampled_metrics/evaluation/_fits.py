"""Fits of several estimators to several metrics, for each number of items that occurs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from sampled_metrics._arguments import FloatArray, IntArray, as_choice, as_kind, as_named
from sampled_metrics.corrections import BiasVariance, CorrectedMetric, Estimator, Uncorrected
from sampled_metrics.metrics import Metric
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


def draw_to_fit(n_items: IntArray, draw: Draw, fit: Fit) -> Draw:
    """Return the draw that estimators are fitted for.

    With "each" it is the draw as it is made, for each instance's own number of items. With "paper"
    it is one draw with replacement from their mean number, rounded, as in Krichene & Rendle (2020).
    """
    if fit == "paper":
        return Draw(draw.n_samples, n_items=round(float(n_items.mean())))
    return Draw(draw.n_samples, n_items=n_items, replacement=draw.replacement)


class Tables:
    """Estimates of all cells, fitted once for each number of items and kept."""

    def __init__(self, cells: list[Cell], draw: Draw, fit: Fit, *, progress: bool = False) -> None:
        as_choice("fit", fit, ("each", "paper"))
        self.cells, self.draw, self.fit, self.progress = cells, draw, fit, progress
        self._kept: dict[tuple[int, bool], FloatArray] = {}
        self._of_any: dict[int, FloatArray] = {}  # by place, for any number of items

    def by_items(self, n_items: IntArray) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield which instances share a fit, and its table, shape (n_samples + 1, n_cells)."""
        from tqdm import tqdm

        if len(n_items) and not any(cell.estimator.needs_n_items for cell in self.cells):
            table = self._table(int(n_items[0]), replacement=self.draw.replacement)
            yield np.arange(len(n_items)), table
            return
        fitted = draw_to_fit(n_items, self.draw, self.fit)
        each = np.broadcast_to(np.asarray(fitted.n_items), n_items.shape)
        sizes, which = np.unique(each, return_inverse=True)
        alike = np.split(np.argsort(which, kind="stable"), np.cumsum(np.bincount(which))[:-1])
        bar = tqdm(sizes, "fitting", delay=2, disable=not self.progress)
        for n, x in zip(bar, alike, strict=True):
            yield x, self._table(int(n), replacement=fitted.replacement)

    def _table(self, n: int, *, replacement: bool) -> FloatArray:
        if (n, replacement) not in self._kept:
            draw = Draw(self.draw.n_samples, n_items=n, replacement=replacement)
            columns = [self._column(place, draw) for place in range(len(self.cells))]
            self._kept[n, replacement] = np.stack(columns, axis=1)
        return self._kept[n, replacement]

    def _column(self, place: int, draw: Draw) -> FloatArray:
        cell = self.cells[place]
        if cell.estimator.needs_n_items:
            return cell.estimator.fit(cell.metric, draw).values
        if place not in self._of_any:
            self._of_any[place] = cell.estimator.fit(cell.metric, draw).values
        return self._of_any[place]

    def fitted(self, n_items: IntArray) -> list[CorrectedMetric]:
        """Return the fit of each cell for instances with several relevant items."""
        draw = draw_to_fit(n_items, self.draw, self.fit)
        return [cell.estimator.fit(cell.metric, draw) for cell in self.cells]
