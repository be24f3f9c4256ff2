"""Evaluations by sampling, run again and again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from sampled_metrics._arguments import (
    RNG,
    FloatArray,
    as_choice,
    as_flag,
    as_generator,
    as_integer,
    as_list,
)
from sampled_metrics.corrections import Estimator
from sampled_metrics.evaluation._fits import ESTIMATORS, Fit, Tables, cells_of
from sampled_metrics.evaluation._users import Given, aligned, sizes_for
from sampled_metrics.metrics import Metric
from sampled_metrics.ranks import Ranks
from sampled_metrics.sampling import Draw, as_draw

if TYPE_CHECKING:
    import pandas as pd


def simulate(
    ranks: Mapping[str, Given],
    metrics: Iterable[Metric],
    draw: Draw,
    *,
    estimators: Mapping[str, Estimator] | None = None,
    repeats: int = 100,
    rng: RNG = None,
    fit: Fit = "each",
    progress: bool = True,
) -> pd.DataFrame:
    """Evaluate recommenders by sampling, and repeat this several times.

    In every run, the ties of each instance are broken at random, and a new sample is drawn for it.
    All metrics and estimators of one run use the same sampled ranks.

    Parameters
    ----------
    ranks, metrics, draw, estimators, fit
        As in `evaluate`, for exact ranks.
    repeats : int
        Number of runs, at least 1.
    rng : None, int, SeedSequence or Generator
        Source of randomness, as in SciPy; None draws differently each time.
    progress : bool
        Whether work of more than two seconds shows a progress bar.

    Returns
    -------
    DataFrame
        Columns recommender, metric, estimator, run (from 1), value: the mean over instances with
        relevant items.

    Raises
    ------
    ValueError
        As `evaluate`; if `repeats` is below 1.

    Examples
    --------
    >>> from sampled_metrics import Draw, Recall, Uncorrected
    >>> toy, draw = {"C": [212, 2, 743, 5342, 1548]}, Draw(99, n_items=10_000)
    >>> runs = simulate(toy, [Recall(k=10)], draw, repeats=2, rng=0)
    >>> runs[["recommender", "metric", "estimator", "run"]]
      recommender     metric    estimator  run
    0           C  Recall@10  uncorrected    1
    1           C  Recall@10  uncorrected    2
    2           C  Recall@10    corrected    1
    3           C  Recall@10    corrected    2
    """
    import pandas as pd

    listed = as_list("metrics", metrics, Metric, "Recall(k=10)")
    as_draw(draw)
    as_choice("fit", fit, ("each", "paper"))
    cells = cells_of(listed, ESTIMATORS if estimators is None else estimators)
    n_runs, show = as_integer("repeats", repeats), as_flag("progress", progress)
    users, generator = aligned(ranks), as_generator(rng)
    sizes_for("draw.n_items", draw.n_items, users)
    users = users.exact(draw.n_items, draw)
    n = draw.rows_of(users.first)[1]
    tables = Tables(cells, draw, n, fit, progress=show)
    if draw.replacement != "merged":  # then all numbers of samples are known before
        list(tables.groups(draw.n_samples))
    rows = []
    for name, exact in users.recommenders.items():
        values = _runs(exact, tables, n_runs, generator, name)
        for cell, column in zip(tables.cells, values.T, strict=True):
            metric = str(cell.metric)
            rows += [(name, metric, cell.label, run, v) for run, v in enumerate(column, start=1)]
    return pd.DataFrame(rows, columns=["recommender", "metric", "estimator", "run", "value"])


def _runs(
    exact: Ranks, tables: Tables, repeats: int, rng: np.random.Generator, name: str
) -> FloatArray:
    """Return the mean estimate of each run and cell, shape (repeats, n_cells)."""
    from tqdm import tqdm

    values, draw = np.zeros((repeats, len(tables.cells))), tables.draw
    bar = tqdm(values, f"sampling for {name}", delay=2, disable=not tables.progress)
    if not exact.is_one_each or exact.gains is not None or draw.replacement == "merged":
        for row in bar:
            row[:] = [_mean(column) for column in tables.estimates(draw.rvs(exact, rng=rng)).T]
        return values
    groups = [
        (x, np.stack([each.values for each in fitted], axis=1))
        for x, fitted in tables.groups(draw.n_samples)
    ]
    for row in bar:
        sampled = draw.rvs(exact, rng=rng).best
        for x, table in groups:  # a sum over a table: equal shares of the ranks have equal sums
            row += np.bincount(sampled[x] - 1, minlength=len(table)) @ table
    return values / len(exact)


def _mean(values: FloatArray) -> float:
    """Average over instances with relevant items; NaN if there are none."""
    counted = values[~np.isnan(values)]
    return float(counted.mean()) if counted.size else float("nan")
