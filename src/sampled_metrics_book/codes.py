r"""What evaluation code does to the sampled rank, where it does not make a plain `Draw`.

Each function models one choice that public code makes, and returns the probabilities of the
sampled ranks. The page "Reading the code of evaluations" says which code makes which choice.

The held-out item has `best` - 1 of its n - 1 competitors above it and `n_tied` level with it.
`ties` says what happens to the latter: the held-out item wins every tie, loses every tie, or the
order within the sample is random.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sampled_metrics import Draw, Ranks

__all__ = [
    "capped_error",
    "mean_rank_hits",
    "merged_pmf",
    "popular_pmf",
    "settled",
    "with_itself_pmf",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Ties = Literal["won", "random", "lost"]


def settled(ranks: Ranks, ties: Ties) -> Ranks:
    """Return the ranks after ties that are always won, or always lost; else as they are.

    Parameters
    ----------
    ranks : Ranks
        Exact ranks, one relevant item per instance.
    ties : {"won", "random", "lost"}
        What happens to the held-out item in a tie.

    Returns
    -------
    Ranks

    Examples
    --------
    >>> settled(Ranks([2], n_tied=3, n_items=9), "lost").best
    array([5])
    """
    if ties == "random":
        return ranks
    rule: Literal["optimistic", "pessimistic"] = "optimistic" if ties == "won" else "pessimistic"
    return ranks.break_ties(rule)


def known_sizes(ranks: Ranks) -> IntArray:
    """Return the numbers of items of ranks that know them."""
    assert ranks.n_items is not None
    return ranks.n_items


def with_itself_pmf(ranks: Ranks, n_samples: int, k: int, *, ties: Ties) -> FloatArray:
    r"""Compute the sampled rank's distribution if the held-out item competes with itself.

    Each draw is one of all n candidates, the held-out item among them, with replacement. A copy
    of it has its score, so that it ties. If a share v of the :math:`t + 1` items level with it
    wins, with :math:`b - 1` items above,

    .. math:: P(\tilde r = 1 + h) = \int \binom{m}{h} p_v^h (1 - p_v)^{m - h} \, dv,
              \qquad p_v = \frac{b - 1 + v (t + 1)}{n},

    where v is 0 if ties are won, 1 if they are lost, and uniform if the order within each sample
    is random.

    Parameters
    ----------
    ranks : Ranks
        Exact ranks, one relevant item per instance.
    n_samples : int
        Number of draws m.
    k : int
        How many sampled ranks to look at.
    ties : {"won", "random", "lost"}
        What happens to the held-out item in a tie, also with itself.

    Returns
    -------
    ndarray of float64, shape (n_instances, k)
        Probabilities of the sampled ranks 1, ..., k.

    Examples
    --------
    >>> ranks = Ranks([1], n_tied=0, n_items=4)
    >>> with_itself_pmf(ranks, 1, 2, ties="won"), with_itself_pmf(ranks, 1, 2, ties="lost")
    (array([[1., 0.]]), array([[0.75, 0.25]]))
    """
    from scipy.special import comb

    share, weight = np.array([float(ties == "lost")]), np.ones(1)
    if ties == "random":  # a polynomial of degree m in v, so that m/2 + 1 nodes are exact
        nodes, weight = np.polynomial.legendre.leggauss(n_samples // 2 + 1)
        share, weight = (nodes + 1) / 2, weight / 2
    h = np.arange(k)
    found = np.zeros((len(ranks), k))
    for v, w in zip(share, weight, strict=True):
        above = ((ranks.best - 1 + v * (ranks.n_tied + 1)) / ranks.n_items)[:, None]
        found += w * above**h * (1 - above) ** np.maximum(n_samples - h, 0)
    found *= comb(n_samples, h)  # 0 for more than there are
    return found


def merged_pmf(ranks: Ranks, n_samples: int, k: int, *, ties: Ties) -> FloatArray:
    """Compute the sampled rank's distribution if a drawn held-out item is counted once.

    Of all n candidates, the held-out item among them, `n_samples` different ones are drawn. The
    held-out item is added, and is there once, whether it was drawn or not.

    Parameters
    ----------
    ranks : Ranks
        Exact ranks, one relevant item per instance.
    n_samples : int
        Number of drawn items m.
    k : int
        How many sampled ranks to look at.
    ties : {"won", "random", "lost"}
        What happens to the held-out item where it is added to the sample. Where it was drawn, its
        place among the others is random, unless ties are always won.

    Returns
    -------
    ndarray of float64, shape (n_instances, k)
        Probabilities of the sampled ranks 1, ..., k.

    Examples
    --------
    >>> merged_pmf(Ranks([3], n_tied=0, n_items=4), 2, 3, ties="won").round(3)
    array([[0.167, 0.667, 0.167]])
    """
    n = known_sizes(ranks)
    drawn = settled(ranks, "won" if ties == "won" else "random")
    added = settled(ranks, ties)
    itself = (n_samples / n)[:, None]
    found = (1 - itself) * Draw(n_samples, replacement=False).pmf(added)
    found[:, :-1] += itself * Draw(n_samples - 1, replacement=False).pmf(drawn)
    return found[:, :k]


def mean_rank_hits(ranks: Ranks, n_samples: int, k: int) -> FloatArray:
    r"""Compute the probability that the mean of the best and the worst sampled rank is at most k.

    With h drawn items above and t level, the mean rank is :math:`1 + h + t / 2`. Draws are with
    replacement from the n - 1 other candidates.

    Parameters
    ----------
    ranks : Ranks
        Exact ranks, one relevant item per instance.
    n_samples : int
        Number of draws m.
    k : int
        The cutoff.

    Returns
    -------
    ndarray of float64, shape (n_instances,)

    Examples
    --------
    >>> mean_rank_hits(Ranks([1, 1], n_tied=[0, 4], n_items=5), n_samples=4, k=2)
    array([1., 0.])
    """
    from scipy.stats import binom

    others, above = known_sizes(ranks) - 1, ranks.best - 1
    level = ranks.n_tied / np.maximum(others - above, 1)  # of those that are not above
    hits = np.zeros(len(ranks))
    for h in range(min(k, n_samples + 1)):
        few = binom.cdf(2 * (k - 1 - h), n_samples - h, level)
        hits += binom.pmf(h, n_samples, above / others) * few
    return np.minimum(hits, 1)  # a sum of probabilities, rounded


def popular_pmf(
    above: IntArray, total: IntArray, weights: FloatArray, n_samples: int, k: int, *, merged: bool
) -> FloatArray:
    r"""Compute the sampled rank's distribution if items are drawn by weight, and counted once.

    Items of equal weight are alike, so that it is enough to count them. This makes it quick for
    many instances; `WeightedDraw` computes the case without replacement one by one.

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

    Examples
    --------
    >>> above, total = np.array([[1, 0]]), np.array([[1, 2]])
    >>> popular_pmf(above, total, np.array([2.0, 1.0]), 2, 2, merged=False).round(3)
    array([[0.167, 0.833]])
    >>> popular_pmf(above, total, np.array([2.0, 1.0]), 2, 2, merged=True).round(3)
    array([[0.25, 0.75]])
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


def capped_error(hits: FloatArray, n_users: int, cap: int) -> float:
    r"""Compute the standard error of a mean over some users, with new negatives for each.

    If c of U users are drawn without replacement, and user u has the expected metric
    :math:`p_u`, which is a hit or none,

    .. math:: \sigma^2 = \frac{1}{c} \overline{p_u (1 - p_u)}
              + \frac{1}{c} \frac{U - c}{U - 1} \operatorname{var} p_u.

    Parameters
    ----------
    hits : array of float
        The probabilities of a hit, of users like those to be drawn.
    n_users : int
        Number of users U.
    cap : int
        At most so many are evaluated.

    Returns
    -------
    float

    Examples
    --------
    >>> round(capped_error(np.array([0.0, 1.0]), n_users=20_000, cap=10_000), 5)
    0.00354
    """
    c = min(n_users, cap)
    by_draw = np.mean(hits * (1 - hits))
    by_user = (n_users - c) / (n_users - 1) * np.var(hits)
    return float(np.sqrt((by_draw + by_user) / c))
