"""Mean and variance of estimates, for each user and over ties and samples, without simulation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sampled_metrics._arguments import FloatArray, IntArray, shown
from sampled_metrics.evaluation._fits import Tables
from sampled_metrics.metrics import Metric
from sampled_metrics.ranks import Ranks
from sampled_metrics.sampling import Draw, expectation, expectation_over_ties, nodes_of_ties


class Moments(NamedTuple):
    """Of several estimates, for each user: the mean and the variance; (n_users, n_estimates).

    The variance is over ties and samples.
    The mean is less an offset, which recommenders of one kind share for a user: their differences
    do not show it, and estimates that are all alike, such as those of Recall@10 among 10 items,
    leave no rounding errors.
    """

    mean: FloatArray
    noise: FloatArray
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
        raise ValueError(f"{undefined}; leave out users with no irrelevant item")
    zeros = np.zeros_like(mean)
    return Moments(mean, zeros, zeros)


def sampled_moments(ranks: Ranks, tables: Tables) -> Moments:
    """Return the moments of the estimates of all cells."""
    rows, n, _ = tables.draw.rows_of(ranks)
    found = Moments(*np.zeros((3, len(n), len(tables.cells))))
    second = np.zeros_like(found.mean)
    for at, weight, draw in tables.draw.cases(rows):
        one = _of_case(rows[at], draw, tables, at)
        if tables.draw.replacement != "merged":
            for each, part in zip(found, one, strict=True):
                each[at] = part
            continue
        mean = one.mean + one.offset  # which differs from one number of samples to the next
        found.mean[at] += weight[:, None] * mean
        second[at] += weight[:, None] * (one.noise + mean**2)
    if tables.draw.replacement == "merged":
        found.noise[:] = np.maximum(second - found.mean**2, 0)
    return found


def _of_case(rows: Ranks, draw: Draw, tables: Tables, at: IntArray) -> Moments:
    """Return the moments of instances, at these places of all, with one number of samples."""
    m, again = int(draw.n_samples), bool(draw.replacement)
    found = Moments(*np.zeros((3, len(rows), len(tables.cells))))
    for x, fitted in tables.groups(m, at):
        some = rows[x]
        assert some.n_items is not None
        if not (rows.is_one_each and rows.gains is None):
            found.mean[x] = np.column_stack([f.expectation(some, draw) for f in fitted])
            found.noise[x] = np.column_stack([f.variance(some, draw) for f in fitted])
            continue
        table = np.stack([f.values for f in fitted], axis=1)
        found.offset[x] = table[0]
        table = table - table[0]
        both = expectation_over_ties(np.hstack([table, table**2]), some, replacement=again)
        found.mean[x], square = np.split(both, 2, axis=1)
        found.noise[x] = np.maximum(square - found.mean[x] ** 2, 0)
    return found


def variance_of_ties(ranks: Ranks, tables: Tables) -> FloatArray:
    """Return what ties make of `Moments.noise`: the variance of the mean over samples.

    It takes far longer than the whole: a square has no such closed form over ties.
    """
    rows, n, _ = tables.draw.rows_of(ranks)
    found = np.zeros((len(n), len(tables.cells)))
    if not rows.has_ties:
        return found
    for at, _, draw in tables.draw.cases(rows):
        m, again = int(draw.n_samples), bool(draw.replacement)
        for x, fitted in tables.groups(m, at):
            some = rows[at[x]]
            assert some.n_items is not None
            table = np.stack([f.values - f.values[0] for f in fitted], axis=1)
            nodes = nodes_of_ties(some, m, replacement=again)
            each = expectation(table, nodes.ranks, some.n_items[nodes.entry], replacement=again)
            found[at[x]] = np.maximum(nodes.mean(each**2) - nodes.mean(each) ** 2, 0)
    return found


def clean_mean(each: FloatArray) -> FloatArray:
    """Average each column; what is only rounding errors is 0, so that its sign says nothing."""
    mean: FloatArray = each.mean(axis=0)
    return np.where(np.abs(mean) > 1e-13 * np.abs(each).max(axis=0), mean, 0)
