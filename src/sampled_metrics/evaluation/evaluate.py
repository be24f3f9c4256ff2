"""One call for a whole evaluation: how good are these recommenders, and which one is better."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._arguments import (
    FloatArray,
    as_choice,
    as_confidence,
    as_flag,
    as_list,
)
from sampled_metrics.bounds import Bounds, metric_bounds
from sampled_metrics.corrections import Estimator
from sampled_metrics.evaluation._fits import ESTIMATORS, Cell, Fit, Tables, cells_of
from sampled_metrics.evaluation._moments import Moments, exact_moments, sampled_moments
from sampled_metrics.evaluation._users import Aligned, Given, aligned, as_draw, for_users, sizes_for
from sampled_metrics.evaluation.results import Evaluation
from sampled_metrics.metrics import Metric
from sampled_metrics.ranks import Ranks
from sampled_metrics.sampling import Draw

__all__ = ["evaluate"]


def evaluate(
    ranks: Mapping[str, Given],
    metrics: Iterable[Metric],
    draw: Draw | None = None,
    *,
    estimators: Mapping[str, Estimator] | None = None,
    given: Literal["exact", "sampled"] = "exact",
    groups: Any = None,
    fit: Fit = "each",
    n_items: ArrayLike | None = None,
    confidence: float = 0.95,
    progress: bool = True,
) -> Evaluation:
    """Evaluate recommenders: values, standard errors, intervals, and all comparisons.

    - Exact ranks alone give the exact metrics.
    - Exact ranks and a draw also give what an evaluation by sampling would report on average,
      uncorrected and corrected, and how far a single evaluation is from that.
    - Sampled ranks, their draw and ``given="sampled"`` give the uncorrected and the corrected
      metrics, and bounds on the exact metric that hold without any assumption.

    Parameters
    ----------
    ranks : mapping of str to Ranks, Series or array_like of int
        The ranks of each recommender, by its name, for the same relevant items. If the ranks say
        who their users are (`users`, or the index of a Series), all must have the same users, and
        are put in the order of the first recommender. Otherwise, the first ranks of all
        recommenders belong to the same user, and so on.
    metrics : list of Metric
        The metrics, such as ``[Recall(k=10), NDCG(k=10)]``.
    draw : Draw, optional
        What is drawn, such as ``Draw(100)``. For sampled ranks it must know `n_items`, the
        number of items without sampling.
    estimators : mapping of str to Estimator, optional
        Estimators by name; by default ``{"uncorrected": Uncorrected(), "corrected":
        BiasVariance(gamma=0.1)}``.
    given : {"exact", "sampled"}
        What the ranks are: exact, or sampled by `draw`.
    groups : Series, mapping or array_like, optional
        The group of each user: by user, or in the order of the first recommender's ranks.
    fit : {"each", "paper"}
        "each" fits the estimators for each user's own number of items, and for the given kind of
        draw. "paper" fits them once, for the mean number of items, rounded, and for draws with
        replacement, as Krichene & Rendle (2020) did.
    n_items : int or array_like of int, optional
        Number of ranked items, if neither the exact ranks nor a draw know it; `AUC` needs it.
    confidence : float
        Confidence of the intervals and bounds, above 0 and below 1.
    progress : bool
        Whether work of more than two seconds shows a progress bar.

    Returns
    -------
    Evaluation
        Users without relevant items are left out.

    Raises
    ------
    ValueError
        If recommenders have different users; if there is a draw, and some users have ties and
        several relevant items or gains; if ranks that are called exact are a sample; if an
        argument is empty, missing, or contradicts another one; or as the metrics, `Draw.expect`,
        `Estimator.fit` and `metric_bounds`.

    Examples
    --------
    >>> from sampled_metrics import Ranks, Recall
    >>> ranks = {
    ...     "A": Ranks([1, 12, 3, 40], n_items=1000, users=["u", "v", "w", "x"]),
    ...     "B": Ranks([2, 400, 9, 90], n_items=1000, users=["w", "x", "v", "u"]),
    ... }
    >>> print(evaluate(ranks, [Recall(k=10)]))
                                 Recall@10
    recommender estimator
    A           exact      0.5000 ± 0.2887
    B           exact      0.5000 ± 0.2887
    4 users; value ± standard error

    Only sampled ranks are known here, each among 50 sampled items and the relevant one.

    >>> drawn = {"A": [1, 2, 1, 4], "B": [1, 3, 21, 1]}
    >>> found = evaluate(drawn, [Recall(k=1)], Draw(50, n_items=1000), given="sampled")
    >>> found.table.drop(columns=["metric", "users"]).round(2)
      recommender    estimator  value  standard_error   low  high
    0           A  uncorrected   0.50            0.29 -0.42  1.42
    1           A    corrected   0.04            0.05 -0.12  0.20
    2           A       bounds    NaN             NaN  0.00  1.00
    3           B  uncorrected   0.50            0.29 -0.42  1.42
    4           B    corrected   0.06            0.04 -0.05  0.17
    5           B       bounds    NaN             NaN  0.00  1.00
    """
    listed = as_list("metrics", metrics, Metric, "Recall(k=10)")
    cells = cells_of(listed, ESTIMATORS if estimators is None else estimators)
    _check_names(cells)
    as_choice("given", given, ("exact", "sampled"))
    level, show = as_confidence("confidence", confidence), as_flag("progress", progress)
    _check_draw(draw, n_items, given, estimators)
    users = aligned(ranks)
    of_users = None if groups is None else for_users("groups", groups, users)
    n_items = sizes_for("n_items", n_items, users)
    if draw is not None:
        sizes_for("draw.n_items", draw.n_items, users)
    x = np.flatnonzero(users.first.n_relevant > 0)
    if not x.size:
        raise ValueError("ranks holds no user with a relevant item; there is nothing to average")
    tables = None if draw is None else Tables(cells, draw.take(x), fit, progress=show)
    if given == "exact":
        sizes = n_items if draw is None else draw.n_items
        users = users.exact(sizes, drawn=draw is not None)
    elif draw is not None:
        users = users.sampled(draw.n_samples)
    users, of_users = users.take(x), None if of_users is None else of_users[x]
    bounds: dict[tuple[str, str], Bounds] = {}
    if given == "exact":
        columns, moments = _of_exact(users, listed, tables)
    else:
        assert tables is not None
        columns, moments = _of_samples(users, tables)
        bounds = _bounds(users, listed, tables.draw, level, progress=show)
    names = x if users.users is None else users.users
    return Evaluation(moments, columns, names, of_users, bounds, draw, level)


def _check_names(cells: list[Cell]) -> None:
    """Refuse names that would stand for two things in the tables."""
    seen: set[tuple[str, str]] = set()
    for cell in cells:
        if cell.label in ("exact", "bounds"):
            raise ValueError(f"estimators has the key {cell.label!r}; the tables use it: rename it")
        if (str(cell.metric), cell.label) in seen:
            raise ValueError(f"metrics holds {cell.metric} twice; give each metric once")
        seen.add((str(cell.metric), cell.label))


def _check_draw(draw: object, n_items: object, given: str, estimators: object) -> None:
    """Refuse a draw that is missing, or that contradicts another argument."""
    if draw is None:
        if given == "sampled":
            example = "Draw(100, n_items=10_000)"
            raise ValueError(f'draw is None, but given is "sampled"; give it, such as {example}')
        if estimators is not None:
            raise ValueError("draw is None; without a draw, estimators have nothing to estimate")
        return
    made = as_draw(draw, n_items)
    if given == "sampled" and made.n_items is None:
        raise ValueError(
            f"draw.n_items is None; sampled ranks need Draw({made.n_samples}, n_items=...)"
        )


def _of_exact(
    users: Aligned, metrics: list[Metric], tables: Tables | None
) -> tuple[list[tuple[str, str]], dict[str, Moments]]:
    """Return the exact metrics, and after them what the draw would report on average."""
    columns = [(str(metric), "exact") for metric in metrics]
    moments = {name: exact_moments(ranks, metrics) for name, ranks in users.recommenders.items()}
    if tables is None:
        return columns, moments
    columns += [(str(cell.metric), cell.label) for cell in tables.cells]
    for name, ranks in users.recommenders.items():
        both = zip(moments[name], sampled_moments(ranks, tables), strict=True)
        moments[name] = Moments(*(np.hstack(pair) for pair in both))
    return columns, moments


def _of_samples(users: Aligned, tables: Tables) -> tuple[list[tuple[str, str]], dict[str, Moments]]:
    """Return the estimates from sampled ranks."""
    moments = {}
    for name, ranks in users.recommenders.items():
        values = _estimates(ranks, tables)
        zeros = np.zeros_like(values)
        moments[name] = Moments(values, zeros, zeros, zeros)
    return [(str(cell.metric), cell.label) for cell in tables.cells], moments


def _estimates(ranks: Ranks, tables: Tables) -> FloatArray:
    """Return the estimates of each user and cell, shape (n_users, n_cells)."""
    n = np.broadcast_to(np.asarray(tables.draw.n_items), ranks.n_relevant.shape)
    if not ranks.is_one_each or ranks.gains is not None:
        return np.column_stack([fitted(ranks) for fitted in tables.fitted(n)])
    values = np.empty((len(ranks), len(tables.cells)))
    for x, table in tables.by_items(n):
        values[x] = table[ranks.best[x] - 1]
    return values


def _bounds(
    users: Aligned, metrics: list[Metric], draw: Draw, confidence: float, *, progress: bool
) -> dict[tuple[str, str], Bounds]:
    """Return what the samples leave open, where each user has one relevant item."""
    from tqdm import tqdm

    pairs = [
        (name, ranks, metric)
        for name, ranks in users.recommenders.items()
        if ranks.is_one_each
        for metric in metrics
    ]
    return {
        (name, str(metric)): metric_bounds(ranks, metric, draw, confidence=confidence)
        for name, ranks, metric in tqdm(pairs, "bounding", delay=2, disable=not progress)
    }
