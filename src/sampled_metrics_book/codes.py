r"""What evaluation code does to the sampled rank, where it does not make a plain `Draw`.

Each function models one choice that public code makes, and returns the probabilities of the
sampled ranks. The page "Reading the code of evaluations" says which code makes which choice.

The held-out item has `best` - 1 of its n - 1 competitors above it and `n_tied` level with it.
`ties` says what happens to the latter: the held-out item wins every tie, loses every tie, or the
order within the sample is random.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sampled_metrics import Draw, Ranks

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

    Draws are with replacement from all n candidates, the held-out item among them; a copy of it
    ties. If a share v of the :math:`t + 1` items level with it wins, with :math:`b - 1` above,

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

    Of all n candidates, `n_samples` different ones are drawn. The held-out item is added, and is
    there once, whether it was drawn or not.

    Parameters
    ----------
    ranks, n_samples, k
        As in `with_itself_pmf`.
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
    ranks, n_samples
        As in `with_itself_pmf`.
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
