r"""The distribution of the sampled rank where items are drawn by popularity, for many users.

Two choices of public code: draws with replacement whose repeats are merged, and draws without
replacement. make_popular_draws.py computes with it what the page "Reading the code of evaluations"
shows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def popular_pmf(
    above: IntArray, total: IntArray, weights: FloatArray, n_samples: int, k: int, *, merged: bool
) -> FloatArray:
    r"""Compute the sampled rank's distribution if items are drawn by weight, and counted once.

    Items of equal weight are alike, so that it is enough to count them. This makes it quick for
    many instances; `WeightedDraw` computes both one by one.

    Parameters
    ----------
    above : array of int, shape (n_instances, n_weights)
        How many items of each weight are above the held-out item.
    total : array of int, shape (n_instances, n_weights)
        How many others there are of each weight, above or not.
    weights : array of float, shape (n_weights,)
        The weights, such as numbers of events; above 0.
    n_samples : int
        Number of draws m.
    k : int
        How many sampled ranks to look at, at most m.
    merged : bool
        Draw with replacement and merge repeats; else draw without replacement, each item from
        those that are left, in proportion to its weight.

    Returns
    -------
    ndarray of float64, shape (n_instances, k)
        Probabilities of the sampled ranks 1, ..., k.
    """
    found = np.empty((len(above), k))
    compute = _merged if merged else _successive
    for rows in _alike(total @ weights):
        found[rows] = compute(above[rows], total[rows], weights, n_samples, k)
    return found


def _alike(sums: FloatArray) -> Iterator[IntArray]:
    """Yield the positions of at most 500 sums that differ by at most 5 percent."""
    order = np.argsort(sums)
    while len(order):
        size = min(500, int(np.searchsorted(sums[order], 1.05 * sums[order[0]], side="right")))
        yield order[:size]
        order = order[size:]


def _merged(above: IntArray, total: IntArray, weights: FloatArray, m: int, k: int) -> FloatArray:
    r"""Return the probabilities of d different items above, d < k, among m draws.

    They are :math:`m! / W^m` times the coefficients of :math:`u^d z^m` in
    :math:`\prod_+ (1 + u (e^{w z} - 1)) \prod_- e^{w z}`. Newton's identities give that of
    :math:`u^d`, and a sum over a circle, on which the terms are largest, that of :math:`z^m`.
    """
    from scipy.special import gammaln

    sums, n_nodes = total @ weights, m + 60
    radius = m / sums.mean()
    z = radius * np.exp(-2j * np.pi * np.arange(n_nodes // 2 + 1) / n_nodes)
    x = np.expm1(np.multiply.outer(weights, z))
    power = [above @ x ** (j + 1) for j in range(k - 1)]
    elementary = [np.ones((len(above), len(z)), dtype=complex)]
    for d in range(1, k):
        terms = ((-1) ** i * elementary[d - 1 - i] * power[i] for i in range(d))
        elementary.append(sum(terms) / d)
    below = sums - above @ weights
    rest = np.exp(np.multiply.outer(below, z) - (sums * radius)[:, None])
    scale = np.exp(gammaln(m + 1) + sums * radius - m * np.log(sums * radius))
    found = [np.fft.irfft(rest * each, n_nodes)[:, m] * scale for each in elementary]
    return np.stack(found, axis=1)


def _successive(
    above: IntArray, total: IntArray, weights: FloatArray, m: int, k: int
) -> FloatArray:
    """Return the probabilities of h items above, h < k, among m drawn one after the other.

    Each item rings at an exponential time with its weight as rate, and the first m to ring are the
    sample. As in `WeightedDraw.pmf`, the m-th ring is summed over its time, with the number of
    rings above and below from their generating functions, on a circle.
    """
    log_times = _ring_times(total, weights, m)
    n_nodes = int(m + 9 * np.sqrt(m) + 20)
    z = np.exp(-2j * np.pi * np.arange(n_nodes // 2 + 1) / n_nodes)
    h, both = np.arange(k), np.concatenate([above, total]).astype(np.float64)
    found = np.zeros((len(above), k))
    for expected in np.multiply.outer(np.exp(log_times), weights):
        waiting = np.exp(-expected)
        each = waiting[:, None] + np.multiply.outer(1 - waiting, z)
        terms = np.hstack([np.log(each), (expected * waiting)[:, None] / each])
        # products of real matrices, which are quick
        summed = (both @ np.hstack([terms.real, terms.imag])).reshape(2, len(above), 2, 2, len(z))
        (log_above, rate_above), (log_all, rate_all) = np.moveaxis(
            summed[:, :, 0] + 1j * summed[:, :, 1], 2, 1
        )
        f_above, f_below = np.exp(log_above), np.exp(log_all - log_above)
        rung, next_above = (
            np.fft.irfft(f, n_nodes)[:, :k] for f in (f_above, f_above * rate_above)
        )
        last = f_below * (rate_all - rate_above)
        found += rung * np.fft.irfft(last, n_nodes)[:, m - 1 - h]
        found[:, 1:] += next_above[:, :-1] * np.fft.irfft(f_below, n_nodes)[:, m - h[1:]]
    found *= log_times[1] - log_times[0]
    return found


def _ring_times(total: IntArray, weights: FloatArray, m: int) -> FloatArray:
    """Return logarithms of times, evenly spaced, between which the m-th ring is almost surely."""
    sums = total @ weights
    first = np.log(m / sums.max()) - 25 / m - 0.7
    last = np.log((25 + np.log(total.sum(axis=1).max())) / weights.min())
    log_times = np.arange(first, last, 1 / np.sqrt(2 * m + 8))
    rung = -np.expm1(-np.multiply.outer(np.exp(log_times), weights)) @ total.T
    enough = rung.min(axis=1) > m + 7 * np.sqrt(m) + 20
    return log_times[: np.argmax(enough) + 1] if enough.any() else log_times
