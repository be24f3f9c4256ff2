"""Whole evaluations: several recommenders, metrics and estimators at once, as tidy tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized

import numpy as np
import pandas as pd
from tqdm import tqdm

from sampled_metrics._checks import FloatArray, as_generator, as_integer
from sampled_metrics.corrections import Estimator
from sampled_metrics.metrics import Metric
from sampled_metrics.ranking import TiedRanks
from sampled_metrics.sampling import sample_ranks

__all__ = ["exact_evaluation", "sampled_evaluation"]


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
        The estimators, by name; each is fitted for the mean number of items, rounded.
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
    runs = np.arange(1, as_integer("repeats", repeats) + 1)
    frames = []
    for name, ranks in recommenders.items():
        n_items = round(float(ranks.n_items.mean()))
        share = _sampled_shares(ranks, n_samples, replacement, len(runs), generator, name, progress)
        for metric in metrics:
            for label, estimator in estimators.items():
                value = share @ estimator.fit(metric, n_items, n_samples).values
                frames.append(
                    pd.DataFrame(
                        {
                            "recommender": name,
                            "metric": str(metric),
                            "estimator": label,
                            "run": runs,
                            "value": value,
                        }
                    )
                )
    return pd.concat(frames, ignore_index=True)


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
    """Return each run's share of instances at each sampled rank, shape (repeats, m + 1).

    An average of any table of m + 1 estimates is one product with these.
    """
    shares = np.empty((repeats, n_samples + 1))
    for share in tqdm(shares, desc=f"Sampling for {name}", delay=2, disable=not progress):
        drawn = sample_ranks(
            ranks.break_ties("random", rng), ranks.n_items, n_samples, replacement, rng=rng
        )
        share[:] = np.bincount(drawn - 1, minlength=n_samples + 1) / drawn.size
    return shares
