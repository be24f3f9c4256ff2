"""From sampled ranks to the distribution of the exact ranks.

Once the shares of users at each exact rank are estimated, every metric follows: it is the mean of
``metric(ranks)`` under them. They can also be the `prior` of the estimators that have one.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._arguments import (
    LARGEST,
    RNG,
    FloatArray,
    IntArray,
    as_choice,
    as_flag,
    as_generator,
    as_integers,
    as_number,
    refuse,
    reject,
)
from sampled_metrics.ranks import Ranks, as_ranks
from sampled_metrics.sampling import Draw, as_single, check_single, one_sampled_each, probabilities

MAX_ITERATIONS = 100_000


def estimate_rank_distribution(
    sampled_ranks: ArrayLike,
    draw: Draw,
    *,
    n_samples: ArrayLike | None = None,
    method: Literal["likelihood", "entropy"] = "likelihood",
    tolerance: float = 0.01,
    gamma: float = 0.01,
) -> FloatArray:
    r"""Estimate the share of users at each exact rank from their sampled ranks.

    With :math:`\pi_r` the shares at the exact ranks, :math:`P(i \mid r)` the distribution of the
    sampled rank and :math:`f_i` the shares of the users at the sampled ranks, "likelihood"
    looks for the largest mean log-likelihood

    .. math:: \ell(\pi) = \sum_i f_i \log \sum_r \pi_r P(i \mid r)

    by expectation maximization from a uniform start. "entropy" minimizes

    .. math:: (m + 1) \sum_i f_i \left(\sum_r \pi_r P(i \mid r) - f_i\right)^2
              - \gamma H(\pi), \qquad H(\pi) = -\sum_r \pi_r \log \pi_r.

    Both are due to Jin et al. (AAAI 2021, arXiv:2103.01474).

    Parameters
    ----------
    sampled_ranks : array_like of int
        Sampled rank of each user, in 1, ..., ``n_samples + 1``, one relevant item per user.
    draw : Draw
        The draw, with its `n_items`: one number, or, for "likelihood", also one per user.
    n_samples : int or array_like of int, optional
        Number of items that were drawn for each user, if some samples ended before
        ``draw.n_samples``, as with `sample_adaptively`. Only "likelihood" takes different numbers.
    method : {"likelihood", "entropy"}
        What to optimize.
    tolerance : float
        For "likelihood": stop when no distribution that is constant in the groups of the Notes
        can have a mean log-likelihood that is higher by more than this.
    gamma : float
        For "entropy": the weight of the entropy, positive. A smaller value of either makes the
        estimate rougher.

    Returns
    -------
    ndarray of float64, shape (n_items,)
        Estimated share of users at the ranks 1, ..., n; n is the largest number of items.

    Raises
    ------
    ValueError
        If there are no users, or a number is out of its range; if the method is "entropy" and
        `n_items` or `n_samples` differs between users; if `tolerance` is too small, or `gamma` too
        small or too large, for the solver to find a solution.

    Notes
    -----
    Ranks that a sample can hardly tell apart share one probability: they form groups, each at most
    a tenth as long as the standard error with which a user's samples place its rank. If users have
    different numbers of items, :math:`\sum_i f_i` is a mean over the users, each with the
    distribution :math:`P(i \mid r)` for its own number of items, 0 for the ranks above it.

    The stopping rule of "likelihood": with the factor
    :math:`c_r = \sum_i f_i P(i \mid r) / \sum_s \pi_s P(i \mid s)` by which the next step
    multiplies :math:`\pi_r`, the mean log-likelihood of any other distribution over the groups is
    higher by at most :math:`\log \max_r c_r` (Lindsay 1983).

    Examples
    --------
    >>> from sampled_metrics import Draw, Recall
    >>> ranks, draw = np.repeat(np.arange(1, 1001), 5), Draw(99, n_items=1000)
    >>> shares = estimate_rank_distribution(draw.rvs(ranks, rng=0), draw)
    >>> f"Recall@50 is {Recall(k=50).mean(ranks)}, estimated {shares[:50].sum():.3f}"
    'Recall@50 is 0.05, estimated 0.045'
    """
    as_choice("method", method, ("likelihood", "entropy"))
    stop, weight = as_number("tolerance", tolerance), as_number("gamma", gamma)
    sampled, m, n = map(np.ravel, one_sampled_each(sampled_ranks, as_single(draw), n_samples))
    between = (n == 2) & (sampled > 1) & (sampled <= m)
    refuse("sampled_ranks", sampled, between, "1 or n_samples + 1 where n_items is 2")
    ranks, sizes = _groups(np.unique(n), int(m.max()), replacement=draw.replacement)
    if method == "likelihood":
        import pandas as pd

        kinds = pd.DataFrame({"n": n, "m": m, "i": sampled}).groupby(["n", "m", "i"]).size()
        n, m, sampled, users = kinds.reset_index().to_numpy().T
        p = _likelihoods(ranks[:, None], n, m, sampled - 1, replacement=draw.replacement)
        shares = _by_likelihood(p, users / users.sum(), sizes, stop)
    else:
        rule = 'the same for all unless method is "likelihood"'
        for name, each in (("draw.n_items", n), ("n_samples", m)):
            refuse(name, each, each != each[0], rule, each[0])
        one_n, one_m = int(n[0]), int(m[0])
        p = probabilities(ranks, one_n, one_m, replacement=draw.replacement)
        f = np.bincount(sampled - 1, minlength=one_m + 1) / sampled.size
        shares = _by_entropy(p, f, sizes, weight)
    return np.repeat(shares / sizes, sizes)


def _groups(n_items: IntArray, m: int, *, replacement: bool) -> tuple[IntArray, IntArray]:
    """Cut the ranks into groups; return the middle rank and the size of each.

    A group is at most a tenth of the standard error wide with which m samples place its ranks, so
    that inside it the probabilities of all sampled ranks are almost linear in the rank. That error
    is of the users with the fewest items among those who have such a rank, whose last rank ends a
    group. All others have odd sizes, so that the middle is a rank.
    """
    ends = [0]
    for n in n_items.tolist():  # ascending
        others = n - 1
        left = 1 if replacement else (others - m) / max(others - 1, 1)
        while ends[-1] < n:
            above = ends[-1] / others
            error = others * sqrt(left * above * (1 - above) / m)
            ends.append(min(ends[-1] + 1 + 2 * int((error / 10 - 1) / 2), n))
    first, last = np.array(ends[:-1]) + 1, np.array(ends[1:])
    return (first + last) // 2, last - first + 1


def _by_likelihood(p: FloatArray, f: FloatArray, sizes: IntArray, tolerance: float) -> FloatArray:
    """Return the share of each group of ranks by expectation maximization."""
    shares: FloatArray = sizes / sizes.sum()
    for _ in range(MAX_ITERATIONS):
        factor = p @ (f / (shares @ p))
        if factor.max() <= 1 + tolerance:
            return shares
        shares = shares * factor
    reject("tolerance", tolerance, f"larger: {MAX_ITERATIONS} steps end above it")


def _likelihoods(
    ranks: IntArray, n: IntArray, drawn: IntArray, hits: IntArray, *, replacement: bool
) -> FloatArray:
    """Return the likelihood of each rank given hits above it, up to a factor for each column.

    What does not depend on the rank, such as the number of orders of the draws, cancels.
    """
    from scipy.special import gammaln, xlog1py, xlogy

    above, below = np.minimum(ranks, n) - 1, np.maximum(n - ranks, 0)
    if replacement:
        log_p = xlogy(hits, above / (n - 1)) + xlog1py(drawn - hits, -above / (n - 1))
    else:
        log_p = gammaln(above + 1) - gammaln(above - hits + 1)
        log_p += gammaln(below + 1) - gammaln(below - (drawn - hits) + 1)
    log_p[ranks > n] = -np.inf
    p: FloatArray = np.exp(log_p - log_p.max(axis=0))
    return p


def _by_entropy(p: FloatArray, f: FloatArray, sizes: IntArray, gamma: float) -> FloatArray:
    r"""Return the share of each group of ranks by maximal entropy.

    The minimum has shares :math:`q_r \propto s_r \exp(-\sum_i P(i | r) u_i / \gamma)` with sizes
    s and one multiplier u for each sampled rank that was seen. With :math:`u = \sqrt{w} v`, where w
    is the weight of the square, the dual problem is strongly convex, and its squared gradient is
    how far the objective is above its minimum.
    """
    from scipy.optimize import minimize

    p, f, root = p[:, f > 0], f[f > 0], np.sqrt(f[f > 0] * len(f))

    def shares(v: FloatArray) -> tuple[FloatArray, float]:
        log_q = np.log(sizes) - p @ (root * v) / gamma
        top = log_q.max()
        q = np.exp(log_q - top)
        return q / q.sum(), float(top + np.log(q.sum()))

    def dual(v: FloatArray) -> tuple[float, FloatArray]:
        q, log_sum = shares(v)
        value = float(v @ v / 4 + (root * f) @ v + gamma * log_sum)
        return value, v / 2 + root * (f - q @ p)

    def hessian_times(v: FloatArray, step: FloatArray) -> FloatArray:
        q, _ = shares(v)
        slope = p @ (root * step)
        product: FloatArray = step / 2 + root * ((q * (slope - q @ slope)) @ p) / gamma
        return product

    how: Any = {"method": "trust-krylov", "options": {"gtol": 1e-7}}
    solved = minimize(dual, np.zeros(len(f)), jac=True, hessp=hessian_times, **how)
    if not solved.jac @ solved.jac < 1e-9:
        reject("gamma", gamma, "nearer to 0.01: the solver finds no solution")
    return shares(solved.x)[0]


class AdaptiveSample(NamedTuple):
    """What `sample_adaptively` returns.

    Attributes
    ----------
    sampled_ranks : ndarray of int64
        Rank of each relevant item among its sample, in 1, ..., ``n_samples + 1``.
    n_samples : ndarray of int64, shape of `sampled_ranks`
        Number of items drawn for each; their sum is the cost.
    """

    sampled_ranks: IntArray
    n_samples: IntArray


def sample_adaptively(
    ranks: Ranks | ArrayLike,
    n_items: ArrayLike | None = None,
    sizes: ArrayLike = (100, 200, 400, 800, 1600, 3200),
    *,
    replacement: bool = True,
    rng: RNG = None,
) -> AdaptiveSample:
    """Draw more items for those users whose relevant item is still first in its sample.

    Every user's sample grows to ``sizes[0]`` items, ``sizes[1]`` and so on, until it has an item
    above the relevant one (Li et al., AAAI 2023, arXiv:2211.15743).

    Parameters
    ----------
    ranks : Ranks or array_like of int
        Exact ranks, from 1 to `n_items`, one relevant item per entry. Ties are broken at random.
    n_items : int or array_like of int, optional
        Number of ranked items, at least 2, one for all or one per rank. Leave it out if the ranks
        know it.
    sizes : array_like of int
        Sizes of the sample after each step, ascending.
    replacement : bool
        Whether one item may be drawn twice.
    rng : None, int, SeedSequence or Generator
        Source of randomness, as in SciPy; None draws differently each time.

    Returns
    -------
    AdaptiveSample
        `sampled_ranks` and `n_samples`, each with the shape of `ranks`.

    Raises
    ------
    ValueError
        If a number is out of range; if `sizes` is not a flat, ascending list; if an instance does
        not have one relevant item, or `n_items` is not known.

    Examples
    --------
    >>> sample = sample_adaptively([1, 20, 2000], n_items=5000, rng=0)
    >>> sample.sampled_ranks
    array([ 1,  2, 46])
    >>> sample.n_samples
    array([3200,  400,  100])
    """
    s = as_integers("sizes", sizes, flat=True)
    if not s.size:
        raise ValueError("sizes is empty; sizes must hold a number")
    steps = np.diff(s, prepend=0)
    refuse("sizes", s, steps < 1, "ascending")
    again, generator = as_flag("replacement", replacement), as_generator(rng)
    rows, shape = as_ranks(ranks, n_items)
    check_single("ranks", rows)
    n = Draw(1, replacement=again).rows_of(rows)[1]
    if not again:
        least = n.min(initial=LARGEST)
        refuse("sizes", s, s >= least, "below n_items where no item is drawn twice", least)
    r = rows.break_ties("random", rng=generator).best
    sampled, n_samples = np.ones_like(r), np.zeros_like(r)
    for step in steps.tolist():
        go = sampled == 1
        # Without replacement all items drawn so far are below the relevant one, and are gone.
        left = n[go] - (0 if again else n_samples[go])
        sampled[go] = Draw(step, n_items=left, replacement=again).rvs(r[go], rng=generator)
        n_samples[go] += step
    return AdaptiveSample(sampled.reshape(shape), n_samples.reshape(shape))
