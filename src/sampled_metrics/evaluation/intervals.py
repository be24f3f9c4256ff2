"""Standard errors of means, intervals that hold with few users, too, and tests of differences."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sampled_metrics._arguments import FloatArray, IntArray


class Units(NamedTuple):
    """Users whose values are averaged, and which of them are independent of each other.

    Attributes
    ----------
    weight : ndarray, shape (n_users,)
        The shares of the users in the mean; they sum to 1.
    group : ndarray of int, shape (n_users,)
        Users of one group have one mean: their deviations from it make the error.
    cluster : ndarray of int, shape (n_users,)
        Users of different clusters are independent; those of one cluster need not be.
    """

    weight: FloatArray
    group: IntArray
    cluster: IntArray

    @property
    def size(self) -> float:
        """Number of clusters, or of as many of equal weight as say as much (Kish 1965)."""
        weights = np.bincount(self.cluster, self.weight)
        return float(1 / (weights @ weights))

    def error(self, each: FloatArray, noise: FloatArray | float = 0.0) -> FloatArray:
        """Return the standard error of the mean of each column, from the sums over clusters.

        `noise` is a variance by ties and samples, which are independent even within a cluster.
        With one cluster each it is that of a mean, or of a mean of the groups' means. NaN where a
        group is a single cluster.
        """
        means = self._means(each)
        pairs = np.unique(np.stack([self.group, self.cluster]), axis=1)
        n_clusters = np.bincount(pairs[0])
        with np.errstate(divide="ignore"):
            factor = np.sqrt(n_clusters / (n_clusters - 1))
        with np.errstate(invalid="ignore"):
            parts = (self.weight * factor[self.group])[:, None] * (each - means[self.group])
        squares = (self.sums(parts) ** 2).sum(axis=0)
        return np.asarray(np.sqrt(squares + (self.weight[:, None] ** 2 * noise).sum(axis=0)))

    def mean(self, each: FloatArray) -> FloatArray:
        """Return the mean of each column, or the mean of its groups' means."""
        return np.asarray(self._means(each).mean(axis=0))

    def _means(self, each: FloatArray) -> FloatArray:
        """Return the mean of each group, shape (n_groups, n_columns)."""
        groups = range(self.group.max() + 1)
        return np.stack([each[self.group == i].mean(axis=0) for i in groups])

    def sums(self, each: FloatArray) -> FloatArray:
        """Return the sum of each column over each cluster, shape (n_clusters, n_columns)."""
        if len(self.cluster) == self.cluster.max() + 1:  # as nearly always: none has two
            return each[np.argsort(self.cluster)]
        return np.column_stack([np.bincount(self.cluster, column) for column in each.T])


def units(clusters: IntArray, groups: IntArray | None = None) -> Units:
    """Return users of whom all count alike, or with groups, of whom all groups do."""
    cluster = np.unique(clusters, return_inverse=True)[1]
    if groups is None:
        size = len(clusters)
        return Units(np.full(size, 1 / size), np.zeros(size, dtype=np.int64), cluster)
    _, group, counts = np.unique(groups, return_inverse=True, return_counts=True)
    return Units(1 / (len(counts) * counts[group]), group, cluster)


def interval(
    mean: FloatArray,
    error: FloatArray,
    size: float,
    ends: FloatArray,
    confidence: float,
    least: float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Return both ends of an interval for each of several means, by their standard errors.

    It is Student's, as if two more users had come, one with the lowest value that is possible and
    one with the highest; those are `ends`, shape (n_means, 2). So it is no point where all users
    agree: a hit that nobody had may still be had by some 3 of `size` users. It is cut where the
    metric ends, at `least` and 1. Where `ends` are NaN, no end is known, and it is Student's.

    Agresti & Caffo (2000) add such observations to proportions, and Bonett & Price (2012) to
    differences of paired ones. tests/evaluation/test_intervals.py simulates how often it covers.
    """
    from scipy.special import stdtrit

    low, high = ends.T
    more, p = size + 2, (1 + confidence) / 2
    student = stdtrit(size - 1, p) * error if size > 1 else np.full(len(mean), np.nan)
    center = (size * mean + low + high) / more
    squares = size * (size - 1) * error**2 + size * (mean - center) ** 2
    squares += (low - center) ** 2 + (high - center) ** 2
    half = stdtrit(size + 1, p) * np.sqrt(squares / ((size + 1) * more))
    known = ~np.isnan(low)
    below = np.where(known, np.clip(np.minimum(center - half, mean), least, 1), mean - student)
    above = np.where(known, np.clip(np.maximum(center + half, mean), least, 1), mean + student)
    return below, above


ENTRIES = 2**18  # random signs at once: more do not fit in the cache


def sign_tests(
    sums: FloatArray, n_resamples: int, rng: np.random.Generator, *, progress: bool
) -> FloatArray:
    """Return the p-value of each column's randomization test, shape (n_columns,).

    It is how often the sum of a column is at least as far from 0 if each entry, the sum of a
    cluster's differences, has a random sign: among all ways where they are no more than
    `n_resamples`, or where all entries are of one size, and else among so many random ones and the
    one that was observed.
    """
    from scipy.stats import binomtest
    from tqdm import tqdm

    sums = sums[(sums != 0).any(axis=1)]
    size, total, sizes = len(sums), sums.sum(axis=0), np.abs(sums)
    least = np.abs(total) - 1e-12 * sizes.sum(axis=0)  # so far that rounding is not what counts
    every = size <= np.log2(n_resamples)
    count = 2**size if every else n_resamples
    reached = np.zeros(len(total), dtype=np.int64)
    step = max(1, ENTRIES // max(size, 1))
    for start in tqdm(range(0, count, step), "testing", delay=2, disable=not progress):
        rows = min(step, count - start)
        if every:
            drawn = np.arange(start, start + rows, dtype="<i8")[:, None].view(np.uint8)
        else:
            drawn = np.frombuffer(rng.bytes(rows * (-(-size // 8))), np.uint8).reshape(rows, -1)
        positive = np.unpackbits(drawn, axis=1, count=size, bitorder="little").astype(np.float64)
        reached += (np.abs(2 * (positive @ sums) - total) >= least).sum(axis=0)
    p = np.asarray(reached / count if every else (reached + 1) / (count + 1))
    for i, column in enumerate(sums.T):
        there = column[column != 0]
        if there.size and np.ptp(np.abs(there)) <= 1e-12 * sizes[:, i].max():
            p[i] = binomtest(int((there > 0).sum()), len(there)).pvalue
    return p
