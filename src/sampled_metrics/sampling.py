"""What sampling does: from the exact rank to the distribution of the sampled rank, and draws.

An evaluation by sampling keeps the relevant item, draws `n_samples` of the other ``n_items - 1``
and looks at the relevant item's rank among these alone, the *sampled rank*: one plus the number
of drawn items that stand above it.

With q relevant items it keeps them all and draws from the ``n_items - q`` others. The j-th best
relevant item, at exact rank :math:`r_j`, has the sampled rank :math:`j + H_j`, where :math:`H_j`
counts the drawn items among the :math:`r_j - j` irrelevant ones above it: on its own, it is one
relevant item at rank :math:`r_j - j + 1` of :math:`n - q + 1`, the *rank among the irrelevant*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, overload

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
from sampled_metrics.metrics import Metric, _check_within
from sampled_metrics.ranking import Ranks

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


def chain_distribution(
    between: IntArray, behind: IntArray, m: int, replacement: bool
) -> FloatArray:
    """Return the probability of each H_j+1 given each H_j, shape ``(..., m + 1, m + 1)``.

    Given h hits above the j-th relevant item, the other m - h are drawn from the irrelevant items
    `between` it and the next, and `behind` that one. Rows of what cannot be given are 0.
    """
    drawn = np.arange(m)
    log_ways = []
    for items in (between, behind):
        with np.errstate(divide="ignore"):
            each = np.log(np.maximum(items[..., None] - drawn * (not replacement), 0) / (drawn + 1))
        log_ways.append(np.pad(np.cumsum(each, axis=-1), [(0, 0)] * between.ndim + [(1, 0)]))
    hits = np.arange(m + 1)
    new = hits - hits[:, None]
    log_p = log_ways[0][..., new] + log_ways[1][..., None, ::-1]
    log_p[..., new < 0] = -np.inf
    largest = log_p.max(axis=-1, keepdims=True)
    p: FloatArray = np.exp(log_p - np.where(largest > -np.inf, largest, 0))
    p /= np.maximum(p.sum(axis=-1, keepdims=True), np.finfo(float).tiny)
    return p


def expected_metric(
    metric: Metric,
    ranks: Ranks | ArrayLike,
    n_items: ArrayLike,
    n_samples: int,
    replacement: bool = True,
) -> FloatArray:
    r"""Compute the exact expectation of a metric of the sampled rank.

    .. math:: E[M(\tilde r)] = \sum_{i=1}^{m+1} P(\tilde r = i \mid r)\, M(i)

    Equation 16 of Krichene & Rendle (2020).
    The metric is measured among the ``n_samples + 1`` items of the sample, as a sampled
    evaluation does.

    With several relevant items a metric is a sum of one term for each,
    :math:`M = \sum_j g(j, r_j) / Z`, so that its expectation is the sum of theirs, although the
    sampled ranks depend on each other:

    .. math:: E[M(\tilde R)] = \frac{1}{Z} \sum_{j=1}^{q} \sum_{i=1}^{m+1}
              P(\tilde r = i \mid r_j - j + 1)\, g(j, i + j - 1),

    with the distribution of one relevant item among :math:`n - q + 1`.

    Parameters
    ----------
    metric : Metric
        The metric, such as ``NDCG(k=10)``.
    ranks : Ranks or array_like of int
        Exact ranks, from 1 to `n_items`; a plain array holds one relevant item per entry.
    n_items : int or array_like of int
        Number of ranked items n, one for all or one per instance, more than are relevant.
    n_samples : int
        Number of drawn items m, at least 1; without replacement at most as many as are irrelevant.
    replacement : bool
        Whether one item may be drawn twice.

    Returns
    -------
    ndarray of float64, shape of `ranks` or (n_instances,)
        Expected sampled metric of each instance; NaN for one without relevant items.

    Raises
    ------
    ValueError
        As `rank_distribution`; if some relevant item has no rank; if several items are relevant
        and Z depends on their ranks, as that of ``AveragePrecision(k=10, denominator="hits")``.

    Examples
    --------
    >>> from sampled_metrics import NDCG
    >>> ranks = [212, 2, 743, 5342, 1548]
    >>> expected_metric(NDCG(), ranks, n_items=10_000, n_samples=99).round(3)
    array([0.561, 0.996, 0.323, 0.173, 0.247])
    >>> expected_metric(NDCG(), Ranks.from_lists([ranks]), n_items=10_000, n_samples=99).round(3)
    array([0.727])
    """
    if isinstance(ranks, Ranks):
        n, m = as_draw_of_several(ranks, n_items, n_samples, replacement)
        samples = np.arange(1, m + 2)
        return expected_sum(
            lambda q: term_values(metric, samples, q, m + q), metric, ranks, n, replacement
        )
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


def term_values(metric: Metric, ranks: Any, q: int, n: int) -> FloatArray:
    """Return g(j, r + j - 1) / Z of q relevant items among n, shape (q, len(ranks)).

    This is what the j-th best of them adds to the metric at rank r among the irrelevant.
    """
    # An instance for each r: all its relevant items stand next to each other, from rank r on.
    size = len(ranks)
    rows = Ranks((ranks[:, None] + np.arange(q)).ravel(), q * np.arange(size + 1), np.full(size, q))
    n_items = np.full(size, n)
    z = np.broadcast_to(metric._normalizer(rows, n_items), size)
    if q > 1 and (z != z[0]).any():
        raise ValueError(
            f"metric is {metric}; with several relevant items it must be a sum over them, "
            "divided by a number that their ranks do not change"
        )
    gain: FloatArray = metric._gain(rows, n_items).reshape(size, q) / z[:, None]
    return gain.T


def gain_weights(metric: Metric, ranks: Ranks) -> FloatArray:
    """Return by how much each item's term is larger for its gain, shape (n_ranked,)."""
    if ranks.gains is None:
        return np.ones(len(ranks.values))
    graded = replace(ranks, values=ranks.order, n_predicted=None)
    plain = replace(graded, gains=None, ideal_gains=None)
    n = ranks.n_relevant + 1
    ours, ones = (
        metric._gain(rows, n) / rows.spread(np.broadcast_to(metric._normalizer(rows, n), len(rows)))
        for rows in (graded, plain)
    )
    return np.divide(ours, ones, out=np.zeros(len(ones)), where=ones > 0)


def by_count(ranks: Ranks) -> Iterator[tuple[int, IntArray, IntArray]]:
    """Yield each number q of relevant items, who has it, and where their q values are."""
    for q in np.unique(ranks.n_relevant[ranks.n_relevant > 0]):
        x = np.flatnonzero(ranks.n_relevant == q)
        yield int(q), x, ranks.offsets[x, None] + np.arange(q)


def expected_sum(
    table: Callable[[int], FloatArray],
    metric: Metric,
    ranks: Ranks,
    n: IntArray,
    replacement: bool,
) -> FloatArray:
    """Return the expectation of the weighted sum of ``table(q)[j - 1, H_j]`` over j."""
    alone, weight = ranks.values - ranks.order + 1, gain_weights(metric, ranks)
    total = np.full(len(ranks), np.nan)
    for q, x, at in by_count(ranks):
        total[x] = 0
        for j, values in enumerate(table(q)):
            each = expected_value(values, alone[at[:, j]], n[x] - q + 1, replacement)
            total[x] += weight[at[:, j]] * each
    return total


@overload
def sample_ranks(
    ranks: Ranks,
    n_items: ArrayLike,
    n_samples: int,
    replacement: bool = True,
    repeats: None = None,
    *,
    rng: np.random.Generator | int,
) -> Ranks: ...
@overload
def sample_ranks(
    ranks: Ranks,
    n_items: ArrayLike,
    n_samples: int,
    replacement: bool = True,
    *,
    repeats: int,
    rng: np.random.Generator | int,
) -> list[Ranks]: ...
@overload
def sample_ranks(
    ranks: ArrayLike,
    n_items: ArrayLike,
    n_samples: int,
    replacement: bool = True,
    repeats: int | None = None,
    *,
    rng: np.random.Generator | int,
) -> IntArray: ...
def sample_ranks(
    ranks: Ranks | ArrayLike,
    n_items: ArrayLike,
    n_samples: int,
    replacement: bool = True,
    repeats: int | None = None,
    *,
    rng: np.random.Generator | int,
) -> Ranks | list[Ranks] | IntArray:
    r"""Draw sampled ranks, without drawing items.

    The rank among the sample is one plus a binomial (with replacement) or hypergeometric
    (without) count of the drawn items that stand above, so that count is drawn directly.

    With several relevant items, the counts between one of them and the next follow a multinomial
    or multivariate hypergeometric distribution together. They are drawn one after the other, each
    from the irrelevant items and the draws that those before it have left over.

    Parameters
    ----------
    ranks, n_items, n_samples, replacement
        As in `expected_metric`.
        Without replacement `n_items` is at most 10**9, the limit of NumPy's hypergeometric.
    repeats : int, optional
        How many times to draw for every rank.
    rng : numpy.random.Generator or int
        Generator, or seed for one.

    Returns
    -------
    ndarray of int64, shape of `ranks` or ``(repeats,) + ranks.shape``
        Sampled ranks in 1, ..., ``n_samples + 1``, independent of each other.
    Ranks, or list of Ranks
        If `ranks` is a Ranks: the sampled ranks of all instances, each in 1, ..., ``n_samples``
        plus the number of relevant items; a list of `repeats` of them if that is given.

    Raises
    ------
    ValueError
        As `expected_metric`; if `rng` is None, or `repeats` below 1.

    Examples
    --------
    >>> sample_ranks([1, 5000, 10_000], n_items=10_000, n_samples=99, rng=0)
    array([  1,  51, 100])
    >>> users = Ranks.from_lists([[1, 5000, 10_000], [80]])
    >>> sample_ranks(users, n_items=10_000, n_samples=99, rng=0).values
    array([  1,  56, 102,   2])
    """
    if isinstance(ranks, Ranks):
        n, m = as_draw_of_several(ranks, n_items, n_samples, replacement)
        times = 1 if repeats is None else as_integer("repeats", repeats)
        drawn = _draw_several(ranks, n, m, replacement, times, as_generator(rng))
        found = [replace(ranks, values=values, n_predicted=None) for values in drawn]
        return found[0] if repeats is None else found
    r, n, m = as_draw(ranks, n_items, n_samples, replacement)
    shape = r.shape if repeats is None else (as_integer("repeats", repeats), *r.shape)
    generator = as_generator(rng)
    if replacement:
        return 1 + generator.binomial(m, (r - 1) / (n - 1), size=shape)
    _check_hypergeometric(n)
    return 1 + generator.hypergeometric(r - 1, n - r, m, size=shape)


def _draw_several(
    ranks: Ranks,
    n: IntArray,
    m: int,
    replacement: bool,
    repeats: int,
    generator: np.random.Generator,
) -> IntArray:
    """Draw the sampled ranks of all relevant items together, shape (repeats, n_ranked)."""
    if not replacement:
        _check_hypergeometric(n)
    above = ranks.values - ranks.order  # irrelevant items above each relevant one
    hits = np.zeros((repeats, len(above)), dtype=np.int64)  # and those of them that are drawn
    for j in range(ranks.n_relevant.max(initial=0)):
        x = np.flatnonzero(ranks.n_relevant > j)
        at = ranks.offsets[x] + j
        passed = above[at - 1] if j else 0
        used = hits[:, at - 1] if j else 0
        left = n[x] - ranks.n_relevant[x] - passed
        between = above[at] - passed
        if replacement:
            share = between / np.maximum(left, 1)  # where nothing is left, nor is a draw
            new = generator.binomial(m - used, share, size=(repeats, len(x)))
        else:
            new = generator.hypergeometric(between, left - between, m - used, (repeats, len(x)))
        hits[:, at] = used + new
    return hits + ranks.order


def _check_hypergeometric(n: IntArray) -> None:
    if (n > 10**9).any():
        refuse("n_items", n, n > 10**9, "at most 10**9 without replacement")


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


def as_draw_of_several(
    ranks: Ranks, n_items: ArrayLike, n_samples: int, replacement: bool
) -> tuple[IntArray, int]:
    """Check the arguments that describe draws for all instances; return items of each, samples."""
    n = one_or_one_each("n_items", n_items, (len(ranks),), low=1)
    m, replacement = as_integer("n_samples", n_samples), as_flag("replacement", replacement)
    check_ranked("ranks", ranks)
    _check_within(ranks, n, n.shape)
    irrelevant = n - ranks.n_relevant
    few = (irrelevant < (1 if replacement else m)) & (ranks.n_relevant > 0)
    if few.any():
        x = int(np.argmax(few))
        if replacement:
            raise ValueError(f"n_items is {n[x]} for instance {x}; some items must be irrelevant")
        raise ValueError(
            f"n_samples is {m}; without replacement it must be at most the number of irrelevant "
            f"items, {irrelevant[x]} for instance {x}"
        )
    return n, m


def check_ranked(name: str, ranks: Ranks) -> None:
    """Refuse a relevant item that has no rank: it may have any behind the recommended ones."""
    if (unranked := np.flatnonzero(ranks.n_ranked < ranks.n_relevant)).size:
        x = unranked[0]
        raise ValueError(
            f"{name}[{x}] has {ranks.n_relevant[x]} relevant items but {ranks.n_ranked[x]} ranks; "
            "each relevant item must have a rank among all items"
        )


def blocks(length: int, width: int) -> Iterator[slice]:
    """Cut 0..length into slices of about `_BLOCK / width`."""
    step = max(1, _BLOCK // width)
    return (slice(start, start + step) for start in range(0, length, step))
