"""One call for a whole evaluation: how good are these recommenders, and which one is better."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._arguments import (
    FloatArray,
    IntArray,
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
from sampled_metrics.sampling import Draw

ROUND = {20, 50, 100, 200, 500, 1000}  # usual numbers of sampled items


def evaluate(
    ranks: Mapping[str, Given],
    metrics: Iterable[Metric],
    draw: Draw | None = None,
    *,
    estimators: Mapping[str, Estimator] | None = None,
    groups: Any = None,
    clusters: Any = None,
    fit: Fit = "each",
    n_items: ArrayLike | None = None,
    confidence: float = 0.95,
    progress: bool = True,
) -> Evaluation:
    """Evaluate recommenders: values, standard errors, intervals, and all comparisons.

    - Exact ranks alone give the exact metrics.
    - Exact ranks and a draw also give what an evaluation by sampling would report on average,
      uncorrected and corrected, and how far a single evaluation is from that.
    - Sampled ranks, which say of how many items theirs are a sample (`Ranks.catalog`), give the
      uncorrected and the corrected metrics, and bounds on the exact metric. These assume that each
      sample was drawn uniformly, for each user anew, and that users are independent.

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
        What is drawn from exact ranks, such as ``Draw(100)``. Of sampled ranks it says how they
        were drawn, by default without replacement and for each user anew.
    estimators : mapping of str to Estimator, optional
        Estimators by name; by default ``{"uncorrected": Uncorrected(), "corrected":
        BiasVariance(gamma=0.1)}``.
    groups : Series, mapping or array_like, optional
        The group of each user: by user, or in the order of the first recommender's ranks.
    clusters : Series, mapping or array_like, optional
        The cluster of each user, in the same ways: a label that users share who are not independent
        of each other, such as the sessions of a person, runs with several seeds, or the head and
        the tail of one triple. Standard errors, intervals and tests then take clusters to be
        independent, and not users. Without it, all users are taken to be independent.
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

    Warns
    -----
    UserWarning
        If all users have the same round number of candidates, at most 1,001, so that these look
        like a sample, and the ranks do not say that they are one.

    Raises
    ------
    ValueError
        If recommenders have different users; if there is a draw, and some users have ties and
        several relevant items or gains; if it draws as many items as there are; if an argument is
        empty, missing, or contradicts another one; or as the metrics, `Draw.expect`,
        `Estimator.fit` and `metric_bounds`.

    Examples
    --------
    >>> from sampled_metrics import Ranks, Recall
    >>> ranks = {
    ...     "A": Ranks([1, 12, 3, 40], n_items=1200, users=["u", "v", "w", "x"]),
    ...     "B": Ranks([2, 400, 9, 90], n_items=1200, users=["w", "x", "v", "u"]),
    ... }
    >>> print(evaluate(ranks, [Recall(k=10)]))
                                 Recall@10
    recommender estimator
    A           exact      0.5000 ± 0.2887
    B           exact      0.5000 ± 0.2887
    4 users, ranked among 1,200 items; value ± standard error, if users are independent

    Only sampled ranks are known here, each among 50 of 1,200 items and the relevant one.

    >>> drawn = {"A": [1, 2, 1, 4], "B": [1, 3, 21, 1]}
    >>> drawn = {name: Ranks(best, n_items=51, catalog=1200) for name, best in drawn.items()}
    >>> found = evaluate(drawn, [Recall(k=1)])
    >>> found.table.drop(columns=["metric", "users"]).round(2)
      recommender    estimator  value  standard_error  low  high
    0           A  uncorrected   0.50            0.29  0.0  1.00
    1           A    corrected   0.04            0.04  0.0  0.12
    2           A       bounds    NaN             NaN  0.0  1.00
    3           B  uncorrected   0.50            0.29  0.0  1.00
    4           B    corrected   0.05            0.03  0.0  0.12
    5           B       bounds    NaN             NaN  0.0  1.00
    """
    listed = as_list("metrics", metrics, Metric, "Recall(k=10)")
    cells = cells_of(listed, ESTIMATORS if estimators is None else estimators)
    _check_names(cells)
    as_choice("fit", fit, ("each", "paper"))
    level, show = as_confidence("confidence", confidence), as_flag("progress", progress)
    if draw is not None:
        as_draw(draw, n_items)
    users = aligned(ranks)
    of_users = None if groups is None else for_users("groups", groups, users)
    alike = None if clusters is None else for_users("clusters", clusters, users)
    n_items = sizes_for("n_items", n_items, users)
    sizes = n_items if draw is None else sizes_for("draw.n_items", draw.n_items, users)
    is_sample = users.first.is_sample
    if is_sample:
        draw = users.drawn(draw)
    else:
        users = users.exact(sizes, draw)
        if draw is None and estimators is not None:
            raise ValueError("draw is None; without a draw, estimators have nothing to estimate")
    users, x = users.with_relevant()
    of_users = None if of_users is None else of_users[x]
    cluster = None if alike is None else np.unique(alike[x], return_inverse=True)[1]
    among, tables = users.first.n_items, None
    if draw is not None:
        draw = draw.take(x)
        n = users.first.catalog if is_sample else draw.rows_of(users.first)[1]
        assert n is not None
        tables = Tables(cells, draw, n, fit, progress=show)
    bounds: dict[tuple[str, str], Bounds] = {}
    if is_sample:
        assert tables is not None
        columns, moments = _of_samples(users, tables)
        if cluster is None:  # they are for independent users
            bounds = _bounds(users, listed, tables.draw, level, progress=show)
    else:
        columns, moments = _of_exact(users, listed, tables)
        _warn_if_round(among)
    names = x if users.users is None else users.users
    drawn = None if tables is None or is_sample else (users.recommenders, tables)
    ends = _ends(listed, tables, users, moments)[-len(columns) :]
    return Evaluation(
        moments, columns, names, of_users, cluster, ends, bounds, draw, level, among, drawn
    )


def _unit(metrics: list[Metric]) -> FloatArray:
    """Return 0 and 1 for each metric that has these ends, else NaN; shape (n_metrics, 2)."""
    return np.array([(0.0, 1.0) if metric.bounded else (np.nan, np.nan) for metric in metrics])


def _ends(
    metrics: list[Metric], tables: Tables | None, users: Aligned, moments: dict[str, Moments]
) -> FloatArray:
    """Return the least and the largest possible value of each metric, then of each estimate.

    Shape (n_metrics + n_cells, 2); NaN where a metric of one's own does not say that it has ends.
    """
    of_metric = _unit(metrics)
    if tables is None:
        return of_metric
    unit = _unit([cell.metric for cell in tables.cells])
    simple = users.first.is_one_each and users.first.gains is None
    low, high = (unit if not simple else np.where(np.isnan(unit), unit, tables.ends())).T
    # An estimate for several relevant items may be beyond the table for one.
    seen = np.vstack([(each.mean + each.offset)[:, -len(low) :] for each in moments.values()])
    low, high = np.minimum(low, seen.min(axis=0)), np.maximum(high, seen.max(axis=0))
    return np.vstack([of_metric, np.stack([low, high], axis=1)])


def _warn_if_round(n: IntArray | None) -> None:
    """Warn where the candidates look like a sample: the same round number for all users."""
    if n is None or (n != n[0]).any() or not {int(n[0]), int(n[0]) - 1} & ROUND:
        return
    warn(
        f"every user has exactly {n[0]} candidates, as in a sample; if they are one, these numbers "
        "are not exact: give the number of all items as catalog=",
        stacklevel=3,
    )


def _check_names(cells: list[Cell]) -> None:
    """Refuse names that would stand for two things in the tables."""
    seen: set[tuple[str, str]] = set()
    for cell in cells:
        if cell.label in ("exact", "bounds"):
            raise ValueError(f"estimators has the key {cell.label!r}; the tables use it: rename it")
        if (str(cell.metric), cell.label) in seen:
            raise ValueError(f"metrics holds {cell.metric} twice; give each metric once")
        seen.add((str(cell.metric), cell.label))


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
        drawn = sampled_moments(ranks, tables)
        if tables.draw.shared:  # how it moves the mean of all users does not follow from ranks
            drawn.noise[:] = np.nan
        both = zip(moments[name], drawn, strict=True)
        moments[name] = Moments(*(np.hstack(pair) for pair in both))
    return columns, moments


def _of_samples(users: Aligned, tables: Tables) -> tuple[list[tuple[str, str]], dict[str, Moments]]:
    """Return the estimates from sampled ranks."""
    moments = {}
    for name, ranks in users.recommenders.items():
        values = tables.estimates(ranks)
        zeros = np.zeros_like(values)
        unknown = np.full_like(values, np.nan) if tables.draw.shared else zeros
        moments[name] = Moments(values, unknown, zeros)
    return [(str(cell.metric), cell.label) for cell in tables.cells], moments


def _bounds(
    users: Aligned, metrics: list[Metric], draw: Draw, confidence: float, *, progress: bool
) -> dict[tuple[str, str], Bounds]:
    """Return what the samples leave open, where each user has one relevant item and sample."""
    from tqdm import tqdm

    if draw.shared or np.ndim(draw.n_samples):
        return {}
    pairs = [
        (name, ranks.break_ties("random", rng=0), metric)
        for name, ranks in users.recommenders.items()
        if ranks.is_one_each
        for metric in metrics
    ]
    return {
        (name, str(metric)): metric_bounds(ranks, metric, draw, confidence=confidence)
        for name, ranks, metric in tqdm(pairs, "bounding", delay=2, disable=not progress)
    }
