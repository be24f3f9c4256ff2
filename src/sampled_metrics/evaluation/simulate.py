"""Whole evaluations: several recommenders, metrics and estimators at once, as tidy tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._arguments import (
    RNG,
    FloatArray,
    as_flag,
    as_generator,
    as_integer,
    as_integers,
    as_kind,
    as_list,
    as_named,
    same_index,
)
from sampled_metrics.corrections import Estimator
from sampled_metrics.evaluation._fits import Fit, Tables, cells_of
from sampled_metrics.evaluation._users import Given, check_same_names
from sampled_metrics.metrics import Metric
from sampled_metrics.ranks import Ranks, TiedRanks, check_instances
from sampled_metrics.sampling import Draw, expectation, expectation_over_ties

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["exact_evaluation", "expected_evaluation", "sampled_evaluation"]


def exact_evaluation(
    recommenders: Mapping[str, Given],
    metrics: Iterable[Metric],
    *,
    n_items: ArrayLike | None = None,
) -> pd.DataFrame:
    """Evaluate recommenders on their exact ranks.

    Parameters
    ----------
    recommenders : mapping of str to TiedRanks, Ranks or array_like of int
        Exact ranks of each recommender, by its name.
    metrics : list of Metric
        The metrics to compute.
    n_items : int or array_like of int, optional
        Number of ranked items, if the ranks do not know it; `AUC` needs it.

    Returns
    -------
    DataFrame
        Columns recommender, metric, value: the mean over instances with relevant items (equation 1
        of Krichene & Rendle 2020), and over all ways to break ties.

    Raises
    ------
    ValueError
        If there is nothing to evaluate, or as calling a metric.

    Examples
    --------
    >>> from sampled_metrics import AveragePrecision, Recall
    >>> toy = {"C": [212, 2, 743, 5342, 1548]}
    >>> exact_evaluation(toy, [AveragePrecision(), Recall(k=10)]).round(3)
      recommender     metric  value
    0           C         AP  0.101
    1           C  Recall@10  0.200
    """
    import pandas as pd

    listed = as_list("metrics", metrics, Metric, "Recall(k=10)")
    rows = [
        (name, str(metric), metric.mean(ranks, n_items))
        for name, ranks in as_recommenders(recommenders, n_items).items()
        for metric in listed
    ]
    return pd.DataFrame(rows, columns=["recommender", "metric", "value"])


def expected_evaluation(
    recommenders: Mapping[str, Given],
    metrics: Iterable[Metric],
    draw: Draw,
    estimators: Mapping[str, Estimator],
    *,
    fit: Fit = "each",
    progress: bool = True,
) -> pd.DataFrame:
    """Compute what a sampled evaluation reports on average, exactly and without sampling.

    Parameters
    ----------
    recommenders, metrics
        As in `exact_evaluation`.
    draw : Draw
        The draw, such as ``Draw(n_samples=100)``; with `n_items` if the ranks do not know it.
    estimators : mapping of str to Estimator
        The estimators, by name.
    fit : {"each", "paper"}
        "each" fits the estimators for each instance's own number of items, and for the given kind
        of draw. "paper" fits them once, for the mean number of items, rounded, and for draws with
        replacement, as Krichene & Rendle (2020) did.
    progress : bool
        Whether fits that take more than two seconds show a progress bar.

    Returns
    -------
    DataFrame
        Columns recommender, metric, estimator, value: the mean over instances with relevant items,
        over all samples, and over all ways to break ties.

    Raises
    ------
    ValueError
        If a collection is empty, or as `Draw.expect` and `Estimator.fit`.

    Examples
    --------
    >>> from sampled_metrics import Draw, Recall, Uncorrected
    >>> toy = {"C": [212, 2, 743, 5342, 1548]}
    >>> draw = Draw(99, n_items=10_000)
    >>> expected_evaluation(toy, [Recall(k=10)], draw, {"uncorrected": Uncorrected()})
      recommender     metric    estimator     value
    0           C  Recall@10  uncorrected  0.569422
    """
    tables = _tables(metrics, draw, estimators, fit, progress=progress)
    rows = [
        (name, str(cell.metric), cell.label, value)
        for name, ranks in as_recommenders(recommenders, draw.n_items).items()
        for cell, value in zip(tables.cells, _means(ranks, tables), strict=True)
    ]
    return _frame(rows, ["recommender", "metric", "estimator", "value"])


def sampled_evaluation(
    recommenders: Mapping[str, Given],
    metrics: Iterable[Metric],
    draw: Draw,
    estimators: Mapping[str, Estimator],
    *,
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
    recommenders, metrics, draw, estimators, fit
        As in `expected_evaluation`.
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
        As `expected_evaluation`; if `repeats` is below 1.

    Examples
    --------
    >>> from sampled_metrics import Draw, Recall, Uncorrected
    >>> toy = {"C": [212, 2, 743, 5342, 1548]}
    >>> draw, estimators = Draw(99, n_items=10_000), {"uncorrected": Uncorrected()}
    >>> runs = sampled_evaluation(toy, [Recall(k=10)], draw, estimators, repeats=2, rng=0)
    >>> runs[["recommender", "metric", "estimator", "run"]]
      recommender     metric    estimator  run
    0           C  Recall@10  uncorrected    1
    1           C  Recall@10  uncorrected    2
    """
    tables = _tables(metrics, draw, estimators, fit, progress=progress)
    generator, n_runs = as_generator(rng), as_integer("repeats", repeats)
    rows = []
    for name, ranks in as_recommenders(recommenders, draw.n_items).items():
        values = _runs(ranks, tables, n_runs, generator, name)
        for cell, column in zip(tables.cells, values.T, strict=True):
            metric = str(cell.metric)
            rows += [(name, metric, cell.label, run, v) for run, v in enumerate(column, start=1)]
    return _frame(rows, ["recommender", "metric", "estimator", "run", "value"])


def as_recommenders(recommenders: Mapping[str, Given], n_items: ArrayLike | None) -> dict[str, Any]:
    """Return ranks by name, which fit the numbers of items; refuse to average over nothing."""
    example = '{"mine": exact_ranks(model, split)}'
    named: dict[str, Any] = as_named("recommenders", recommenders, example)
    called_as = {f"recommenders[{name!r}]": given for name, given in named.items()}
    for name, (called, given) in zip(named, called_as.items(), strict=True):
        same_index(**{called: given, "n_items": n_items})
        if not isinstance(given, Ranks | TiedRanks):
            named[name] = as_integers(called, given).ravel()
        if not len(named[name]):
            raise ValueError(f"{called} has no instances; there is nothing to average")
        check_instances(called, named[name], n_items)
    if np.ndim(n_items):  # type: ignore[arg-type]
        check_same_names(called_as)  # they share these numbers
    return named


def _tables(
    metrics: Iterable[Metric], draw: Draw, estimators: object, fit: Fit, *, progress: bool
) -> Tables:
    """Check what all evaluations by sampling are given."""
    listed = as_list("metrics", metrics, Metric, "Recall(k=10)")
    as_kind("draw", draw, Draw, "Draw(n_samples=100)")
    return Tables(cells_of(listed, estimators), draw, fit, progress=as_flag("progress", progress))


def _means(ranks: Any, tables: Tables) -> FloatArray:
    """Return the expected estimate of each cell, on average over instances."""
    n, draw = tables.draw.items_of(ranks), tables.draw
    if isinstance(ranks, Ranks):
        each = [f.expectation(ranks, draw) for f in tables.fitted(n)]
        return np.array([_mean(values) for values in each])
    total = np.zeros(len(tables.cells))
    for x, table in tables.by_items(n):
        if isinstance(ranks, TiedRanks):
            total += expectation_over_ties(table, ranks[x], replacement=draw.replacement).sum(
                axis=0
            )
        else:
            total += expectation(table, ranks[x], n[x], replacement=draw.replacement).sum(axis=0)
    return total / len(n)


def _runs(
    ranks: Any, tables: Tables, repeats: int, rng: np.random.Generator, name: str
) -> FloatArray:
    """Return the mean estimate of each run and cell, shape (repeats, n_cells)."""
    from tqdm import tqdm

    n, m = tables.draw.items_of(ranks), tables.draw.n_samples
    values = np.zeros((repeats, len(tables.cells)))
    bar = tqdm(values, f"sampling for {name}", delay=2, disable=not tables.progress)
    if isinstance(ranks, Ranks):
        fitted = tables.fitted(n)
        for row in bar:
            drawn = tables.draw.rvs(ranks, rng=rng)
            row[:] = [_mean(f(drawn)) for f in fitted]
        return values
    groups = list(tables.by_items(n))
    for row in bar:
        sampled = tables.draw.rvs(ranks, rng=rng)
        for x, table in groups:  # an average of a table is one product with the shares
            row += np.bincount(sampled[x] - 1, minlength=m + 1) @ table
    return values / len(n)


def _mean(values: FloatArray) -> float:
    """Average over instances with relevant items; NaN if there are none."""
    counted = values[~np.isnan(values)]
    return float(counted.mean()) if counted.size else float("nan")


def _frame(rows: list[Any], columns: list[str]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(rows, columns=columns)
