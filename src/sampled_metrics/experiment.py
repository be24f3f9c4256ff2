"""Whole evaluations: several recommenders, metrics and estimators at once, as tidy tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sized
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from sampled_metrics._checks import FloatArray, as_generator, as_integer
from sampled_metrics._quadrature import gauss_rule
from sampled_metrics.corrections import Estimator
from sampled_metrics.metrics import Metric
from sampled_metrics.ranking import TiedRanks
from sampled_metrics.sampling import as_draw, blocks, distribution, sample_ranks

__all__ = ["exact_evaluation", "expected_evaluation", "sampled_evaluation"]


def exact_evaluation(
    recommenders: Mapping[str, TiedRanks], metrics: Iterable[Metric]
) -> pd.DataFrame:
    """Evaluate recommenders on their exact ranks.

    Parameters
    ----------
    recommenders : mapping of str to TiedRanks
        Exact ranks of each recommender, by its name.
    metrics : iterable of Metric
        The metrics to compute.

    Returns
    -------
    DataFrame
        Columns recommender, metric, value: the mean over instances (equation 1 of Krichene &
        Rendle 2020), and over all ways to break ties.

    Raises
    ------
    ValueError
        If there is nothing to evaluate.

    Examples
    --------
    >>> from sampled_metrics import AveragePrecision, Recall
    >>> toy = {"C": TiedRanks([212, 2, 743, 5342, 1548], n_tied=0, n_items=10_000)}
    >>> exact_evaluation(toy, [AveragePrecision(), Recall(k=10)]).round(3)
      recommender     metric  value
    0           C         AP  0.101
    1           C  Recall@10  0.200
    """
    recommenders, metrics = dict(recommenders), list(metrics)
    _check_given(recommenders, metrics=metrics)
    rows = [
        (name, str(metric), ranks.expected(metric).mean())
        for name, ranks in recommenders.items()
        for metric in metrics
    ]
    return pd.DataFrame(rows, columns=["recommender", "metric", "value"])


def sampled_evaluation(
    recommenders: Mapping[str, TiedRanks],
    metrics: Iterable[Metric],
    estimators: Mapping[str, Estimator],
    n_samples: int,
    *,
    replacement: bool = True,
    repeats: int = 100,
    rng: np.random.Generator | int,
    progress: bool = False,
) -> pd.DataFrame:
    """Evaluate recommenders by sampling, many times over.

    Every run breaks the ties of each instance anew, at random, and draws a new sample for each.
    All metrics and estimators of one run look at the same sampled ranks.

    Parameters
    ----------
    recommenders : mapping of str to TiedRanks
        Exact ranks of each recommender, by its name.
    metrics : iterable of Metric
        The metrics to estimate.
    estimators : mapping of str to Estimator
        The estimators, by name; each is fitted for the mean number of items, rounded, and for
        draws with replacement, as in the paper.
    n_samples : int
        Number of items drawn for each instance, at least 1.
    replacement : bool
        Whether one item may be drawn twice.
    repeats : int
        Number of runs, at least 1.
    rng : numpy.random.Generator or int
        Generator, or seed for one.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    DataFrame
        Columns recommender, metric, estimator, run (from 1), value: the mean over instances.

    Raises
    ------
    ValueError
        If a collection is empty, or a number out of its range, as
        `sampled_metrics.rank_distribution` says.

    Examples
    --------
    >>> from sampled_metrics import Recall, Uncorrected
    >>> toy = {"C": TiedRanks([212, 2, 743, 5342, 1548], n_tied=0, n_items=10_000)}
    >>> runs = sampled_evaluation(
    ...     toy, [Recall(k=10)], {"uncorrected": Uncorrected()}, n_samples=99, repeats=2, rng=0
    ... )
    >>> runs[["recommender", "metric", "estimator", "run"]]
      recommender     metric    estimator  run
    0           C  Recall@10  uncorrected    1
    1           C  Recall@10  uncorrected    2
    """
    recommenders, metrics, estimators = dict(recommenders), list(metrics), dict(estimators)
    _check_given(recommenders, metrics=metrics, estimators=estimators)
    n_samples = as_integer("n_samples", n_samples)
    generator = as_generator(rng)
    n_runs = as_integer("repeats", repeats)
    frames = []
    for name, ranks in recommenders.items():
        shares = _sampled_shares(ranks, n_samples, replacement, n_runs, generator, name, progress)
        for metric, label, values in _estimates(ranks, shares, metrics, estimators):
            cell = {"recommender": name, "metric": metric, "estimator": label}
            frames.append(pd.DataFrame({**cell, "run": np.arange(1, n_runs + 1), "value": values}))
    return pd.concat(frames, ignore_index=True)


def expected_evaluation(
    recommenders: Mapping[str, TiedRanks],
    metrics: Iterable[Metric],
    estimators: Mapping[str, Estimator],
    n_samples: int,
    *,
    replacement: bool = True,
) -> pd.DataFrame:
    """Compute what a sampled evaluation reports on average, exactly and without sampling.

    Parameters
    ----------
    recommenders, metrics, estimators, n_samples, replacement
        As in `sampled_evaluation`.

    Returns
    -------
    DataFrame
        Columns recommender, metric, estimator, value: the mean over instances, over all samples,
        and over all ways to break ties.

    Raises
    ------
    ValueError
        As `sampled_evaluation`.

    Examples
    --------
    >>> from sampled_metrics import Recall, Uncorrected
    >>> toy = {"C": TiedRanks([212, 2, 743, 5342, 1548], n_tied=0, n_items=10_000)}
    >>> expected_evaluation(toy, [Recall(k=10)], {"uncorrected": Uncorrected()}, n_samples=99)
      recommender     metric    estimator     value
    0           C  Recall@10  uncorrected  0.569422
    """
    recommenders, metrics, estimators = dict(recommenders), list(metrics), dict(estimators)
    _check_given(recommenders, metrics=metrics, estimators=estimators)
    rows = [
        (name, metric, label, value)
        for name, ranks in recommenders.items()
        for shares in [_expected_shares(ranks, as_integer("n_samples", n_samples), replacement)]
        for metric, label, value in _estimates(ranks, shares, metrics, estimators)
    ]
    return pd.DataFrame(rows, columns=["recommender", "metric", "estimator", "value"])


def _estimates(
    ranks: TiedRanks,
    shares: FloatArray,
    metrics: list[Metric],
    estimators: dict[str, Estimator],
) -> Iterator[tuple[str, str, Any]]:
    """Yield metric, estimator and estimate, from the shares of instances at each sampled rank.

    An average of any table of m + 1 estimates is one product with the shares.
    """
    n_items, n_samples = round(float(ranks.n_items.mean())), shares.shape[-1] - 1
    for metric in metrics:
        for label, estimator in estimators.items():
            yield str(metric), label, shares @ _values(estimator, metric, n_items, n_samples)


@lru_cache(maxsize=64)  # recommenders that rank the same items share a fit
def _values(estimator: Estimator, metric: Metric, n_items: int, n_samples: int) -> FloatArray:
    return estimator.fit(metric, n_items, n_samples).values


def _check_given(recommenders: dict[str, TiedRanks], **others: Sized) -> None:
    """Refuse to average over nothing."""
    for argument, given in {"recommenders": recommenders, **others}.items():
        if not len(given):
            raise ValueError(f"{argument} is empty; there is nothing to evaluate")
    for name, ranks in recommenders.items():
        if not len(ranks):
            raise ValueError(
                f"recommenders[{name!r}] has no instances; there is nothing to average"
            )


def _sampled_shares(
    ranks: TiedRanks,
    n_samples: int,
    replacement: bool,
    repeats: int,
    rng: np.random.Generator,
    name: str,
    progress: bool,
) -> FloatArray:
    """Return each run's share of instances at each sampled rank, shape (repeats, m + 1)."""
    shares = np.empty((repeats, n_samples + 1))
    for share in tqdm(shares, desc=f"Sampling for {name}", delay=2, disable=not progress):
        drawn = sample_ranks(
            ranks.break_ties("random", rng), ranks.n_items, n_samples, replacement, rng=rng
        )
        share[:] = np.bincount(drawn - 1, minlength=n_samples + 1) / drawn.size
    return shares


def _expected_shares(ranks: TiedRanks, m: int, replacement: bool) -> FloatArray:
    """Return the expected share of instances at each sampled rank, shape (m + 1,)."""
    as_draw(ranks.best, ranks.n_items, m, replacement)
    total = np.zeros(m + 1)
    if replacement:
        # The probabilities are polynomials of degree m in the rank: a Gauss rule sums them
        # over the ranks that a tie allows.
        for length in np.unique(ranks.n_tied) + 1:
            nodes, weights = gauss_rule(int(length), m // 2 + 1)
            alike = np.flatnonzero(ranks.n_tied == length - 1)
            for some in blocks(len(alike), len(nodes) * (m + 1)):
                x = alike[some]
                best, n = ranks.best[x, None], ranks.n_items[x, None]
                total += (weights @ distribution(best + nodes, n, m, True)).sum(axis=0) / length
    else:
        # The (h + 1)-st of m + 1 items drawn from n has rank r with probability (m + 1) / n times
        # that of h drawn items above rank r: summed over r, that is the tail of a count.
        for block in blocks(len(ranks), m + 2):
            best, tied, n = ranks.best[block], ranks.n_tied[block], ranks.n_items[block]
            upper, lower = (
                np.cumsum(distribution(rank, n + 1, m + 1, False)[:, ::-1], axis=1)[:, -2::-1]
                for rank in (best + tied + 1, best)
            )
            total += (n / ((m + 1) * (tied + 1))) @ (upper - lower)
    return total / len(ranks)
