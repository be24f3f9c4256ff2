"""What sampling does: from the exact rank to the distribution of the sampled rank, and draws.

An evaluation by sampling keeps the relevant item, draws `n_samples` of the other ``n_items - 1``
and looks at the relevant item's rank among these alone, the *sampled rank*: one plus the number
of drawn items that stand above it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._checks import (
    FloatArray,
    IntArray,
    as_flag,
    as_generator,
    as_integer,
    as_integers,
    one_or_one_each,
    refuse,
)
from sampled_metrics.metrics import Metric

__all__ = ["expected_metric", "rank_distribution", "sample_ranks"]

_BLOCK = 2**20
"""How many probabilities to hold at once."""


def rank_distribution(
    ranks: ArrayLike, n_items: ArrayLike, n_samples: int, replacement: bool = True
) -> FloatArray:
    r"""Compute the probability of each sampled rank.

    With H the number of drawn items that stand above the relevant one, the sampled rank is
    :math:`\tilde r = 1 + H`, and

    .. math:: P(\tilde r = 1 + h \mid r) = \binom{m}{h}
              \frac{(r - 1)^{(h)}\,(n - r)^{(m - h)}}{(n - 1)^{(m)}}.

    With replacement :math:`a^{(h)}` is the power :math:`a^h` and H is binomial (Krichene & Rendle
    2020, Section 4.3); without it is the falling factorial :math:`a (a - 1) \cdots (a - h + 1)`
    and H is hypergeometric (Section 4.4).

    Parameters
    ----------
    ranks : int or array_like of int
        Exact ranks, from 1 to `n_items`, one relevant item per entry.
    n_items : int or array_like of int
        Number of ranked items n, at least 2, one for all or one per rank.
    n_samples : int
        Number of drawn items m, at least 1; without replacement at most ``n_items - 1``.
    replacement : bool
        Whether one item may be drawn twice.

    Returns
    -------
    ndarray of float64, shape ``ranks.shape + (n_samples + 1,)``
        Probabilities of the sampled ranks 1, ..., ``n_samples + 1``; the last axis sums to 1.

    Raises
    ------
    ValueError
        If a rank is outside 1..n, n is below 2, or more items are drawn than there are.

    Examples
    --------
    The relevant item stands third of five; of the other four, two are drawn.

    >>> rank_distribution(3, n_items=5, n_samples=2, replacement=True)
    array([0.25, 0.5 , 0.25])
    >>> rank_distribution(3, n_items=5, n_samples=2, replacement=False).round(4)
    array([0.1667, 0.6667, 0.1667])
    """
    r, n, m = as_draw(ranks, n_items, n_samples, replacement)
    return distribution(r, n, m, replacement)


def distribution(
    ranks: FloatArray | IntArray, n_items: IntArray | int, m: int, replacement: bool
) -> FloatArray:
    """Return the probability of each sampled rank, shape ``ranks.shape + (m + 1,)``.

    It is a polynomial of degree m in the rank, and is computed as such: between whole numbers it
    may be negative without replacement.
    """
    drawn = np.arange(m, dtype=np.float64)
    used = np.zeros(m) if replacement else drawn
    above = np.asarray(ranks - 1)[..., None] - used
    below = np.asarray(n_items - ranks)[..., None] - used
    zero = np.zeros((*ranks.shape, 1))
    with np.errstate(divide="ignore"):  # log 0 = -inf is what we want: what cannot be drawn
        choose = np.cumsum(np.log((m - drawn) / (drawn + 1)))
        log_p = np.concatenate([zero, np.cumsum(np.log(np.abs(above)), axis=-1) + choose], axis=-1)
        log_below = np.cumsum(np.log(np.abs(below)), axis=-1)
    log_p += np.concatenate([log_below[..., ::-1], zero], axis=-1)
    p: FloatArray = np.exp(log_p - log_p.max(axis=-1, keepdims=True))
    if ranks.dtype.kind == "f" and not replacement:
        sign_above, sign_below = (np.cumprod(np.sign(x), axis=-1) for x in (above, below))
        p[..., 1:] *= sign_above
        p[..., :-1] *= sign_below[..., ::-1]
    p /= p.sum(axis=-1, keepdims=True)
    return p


def expected_metric(
    metric: Metric,
    ranks: ArrayLike,
    n_items: ArrayLike,
    n_samples: int,
    replacement: bool = True,
) -> FloatArray:
    r"""Compute the exact expectation of a metric of the sampled rank.

    .. math:: E[M(\tilde r)] = \sum_{i=1}^{m+1} P(\tilde r = i \mid r)\, M(i)

    Equation 16 of Krichene & Rendle (2020).
    The metric is measured among the ``n_samples + 1`` items of the sample, as a sampled
    evaluation does.

    Parameters
    ----------
    metric : Metric
        The metric, such as ``NDCG(k=10)``.
    ranks, n_items, n_samples, replacement
        As in `rank_distribution`.

    Returns
    -------
    ndarray of float64, shape of `ranks`
        Expected sampled metric of each instance.

    Raises
    ------
    ValueError
        As `rank_distribution`.

    Examples
    --------
    >>> from sampled_metrics import NDCG
    >>> ranks = [212, 2, 743, 5342, 1548]
    >>> expected_metric(NDCG(), ranks, n_items=10_000, n_samples=99).round(3)
    array([0.561, 0.996, 0.323, 0.173, 0.247])
    """
    return expected_value(sampled_values(metric, n_samples), ranks, n_items, replacement)


def sampled_values(metric: Metric, n_samples: int) -> FloatArray:
    """Return M(1), ..., M(m + 1): the metric of each sampled rank, among m + 1 items."""
    m = as_integer("n_samples", n_samples)
    return metric(np.arange(1, m + 2), n_items=m + 1)


def expected_value(
    values: FloatArray, ranks: ArrayLike, n_items: ArrayLike, replacement: bool
) -> FloatArray:
    """Return the expectation of ``values[sampled rank - 1]``, shape of `ranks`."""
    r, n, m = as_draw(ranks, n_items, len(values) - 1, replacement)
    # Instances that share rank and number of items share the answer.
    pairs, where = np.unique(np.stack([r.ravel(), n.ravel()]), axis=1, return_inverse=True)
    parts = [
        rank_distribution(pairs[0, block], pairs[1, block], m, replacement) @ values
        for block in blocks(pairs.shape[1], m + 1)
    ]
    return np.concatenate([*parts, np.empty(0)])[where.ravel()].reshape(r.shape)


def sample_ranks(
    ranks: ArrayLike,
    n_items: ArrayLike,
    n_samples: int,
    replacement: bool = True,
    repeats: int | None = None,
    *,
    rng: np.random.Generator | int,
) -> IntArray:
    r"""Draw sampled ranks, without drawing items.

    The rank among the sample is one plus a binomial (with replacement) or hypergeometric
    (without) count of the drawn items that stand above, so that count is drawn directly.

    Parameters
    ----------
    ranks, n_items, n_samples, replacement
        As in `rank_distribution`.
        Without replacement `n_items` is at most 10**9, the limit of NumPy's hypergeometric.
    repeats : int, optional
        How many times to draw for every rank; adds a leading axis.
    rng : numpy.random.Generator or int
        Generator, or seed for one.

    Returns
    -------
    ndarray of int64, shape of `ranks` or ``(repeats,) + ranks.shape``
        Sampled ranks in 1, ..., ``n_samples + 1``, independent of each other.

    Raises
    ------
    ValueError
        As `rank_distribution`; if `rng` is None, or `repeats` below 1.

    Examples
    --------
    >>> sample_ranks([1, 5000, 10_000], n_items=10_000, n_samples=99, rng=0)
    array([  1,  51, 100])
    """
    r, n, m = as_draw(ranks, n_items, n_samples, replacement)
    shape = r.shape if repeats is None else (as_integer("repeats", repeats), *r.shape)
    generator = as_generator(rng)
    if replacement:
        return 1 + generator.binomial(m, (r - 1) / (n - 1), size=shape)
    if (n > 10**9).any():
        refuse("n_items", n, n > 10**9, "at most 10**9 without replacement")
    return 1 + generator.hypergeometric(r - 1, n - r, m, size=shape)


def as_draw(
    ranks: ArrayLike, n_items: ArrayLike, n_samples: int, replacement: bool
) -> tuple[IntArray, IntArray, int]:
    """Check the four arguments that describe a draw; return ranks, items per rank, samples."""
    r = as_integers("ranks", ranks)
    n = one_or_one_each("n_items", n_items, r.shape, low=2)
    if (r > n).any():
        refuse("ranks", r, r > n, "at most n_items")
    replacement = as_flag("replacement", replacement)
    m = as_integer("n_samples", n_samples)
    if not replacement and (n <= m).any():
        x = int(np.argmax(n.ravel() <= m))
        raise ValueError(
            f"n_samples is {m}; without replacement it must be at most n_items - 1, "
            f"{n.ravel()[x] - 1} for instance {x}"
        )
    return r, n, m


def blocks(length: int, width: int) -> Iterator[slice]:
    """Cut 0..length into slices of about `_BLOCK / width`."""
    step = max(1, _BLOCK // width)
    return (slice(start, start + step) for start in range(0, length, step))
