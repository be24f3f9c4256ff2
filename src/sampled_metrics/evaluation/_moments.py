"""Mean and variance of estimates, for each user and over ties and samples, without simulation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sampled_metrics._arguments import FloatArray, shown
from sampled_metrics.evaluation._fits import Tables
from sampled_metrics.metrics import Metric
from sampled_metrics.ranks import Ranks
from sampled_metrics.sampling import expectation, nodes_of_ties


class Moments(NamedTuple):
    """Of several estimates, for each user: the mean and two variances; (n_users, n_estimates).

    The mean is less an offset, which recommenders of one kind share for a user: their differences
    do not show it, and estimates that are all alike, such as those of Recall@10 among 10 items,
    leave no rounding errors.
    """

    mean: FloatArray
    ties: FloatArray
    sampling: FloatArray
    offset: FloatArray

    def take(self, index: Any) -> Moments:
        """Return the moments of some users."""
        return Moments(*(each[index] for each in self))


def exact_moments(ranks: Ranks, metrics: list[Metric]) -> Moments:
    """Return the moments of the exact metrics, which neither ties nor samples move."""
    mean = np.column_stack([metric(ranks) for metric in metrics])
    for x, which in np.argwhere(np.isnan(mean))[:1].tolist():
        user = x if ranks.users is None else shown(ranks.users.tolist()[x])
        undefined = f"{metrics[which]} is not defined for user {user}"
        raise ValueError(f"{undefined}; leave out users with no relevant item, or no other")
    zeros = np.zeros_like(mean)
    return Moments(mean, zeros, zeros, zeros)


def sampled_moments(ranks: Ranks, tables: Tables) -> Moments:
    """Return the moments of the estimates of all cells."""
    draw = tables.draw
    rows, n, _ = draw.rows_of(ranks)
    if not (rows.is_one_each and rows.gains is None):
        fitted = tables.fitted(n)
        mean = np.column_stack([f.expectation(rows, draw) for f in fitted])
        variance = np.column_stack([f.variance(rows, draw) for f in fitted])
        zeros = np.zeros_like(mean)
        return Moments(mean, zeros, variance, zeros)
    shape = len(n), len(tables.cells)
    offset, mean, mean_square, second = (np.empty(shape) for _ in range(4))
    for x, table in tables.by_items(n):
        offset[x] = table[0]
        table = table - table[0]
        at = nodes_of_ties(rows[x], draw.n_samples, replacement=draw.replacement)
        both = expectation(
            np.hstack([table, table**2]), at.ranks, n[x][at.entry], replacement=draw.replacement
        )
        of_sample, of_square = np.split(both, 2, axis=1)
        mean[x], mean_square[x] = at.mean(of_sample), at.mean(of_sample**2)
        second[x] = at.mean(of_square)
    ties = np.maximum(mean_square - mean**2, 0)
    return Moments(mean, ties, np.maximum(second - mean_square, 0), offset)


def clean_mean(each: FloatArray) -> FloatArray:
    """Average each column; what is only rounding errors is 0, so that its sign says nothing."""
    mean: FloatArray = each.mean(axis=0)
    return np.where(np.abs(mean) > 1e-13 * np.abs(each).max(axis=0), mean, 0)
