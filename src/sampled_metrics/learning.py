"""What sampled ranks say about the exact ones: learned rank distributions.

The shares of users at each sampled rank are a blurred picture of the shares at each exact rank.
Once these are estimated, every metric follows: the mean of ``metric(ranks)`` under the estimate.
An estimate can also be the `prior` of the estimators that ask for one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve
from scipy.optimize import minimize
from scipy.special import gammaln, xlog1py, xlogy

from sampled_metrics._checks import (
    FloatArray,
    IntArray,
    as_choice,
    as_flag,
    as_generator,
    as_integer,
    as_integers,
    as_number,
    one_or_one_each,
    refuse,
)
from sampled_metrics.corrections import Estimator, _check_possible, _problem
from sampled_metrics.metrics import Metric, Recall
from sampled_metrics.sampling import as_draw, distribution, sample_ranks

__all__ = ["MappedCutoff", "Multinomial", "estimate_rank_distribution", "sample_adaptively"]

MAX_ITERATIONS = 100_000


def estimate_rank_distribution(
    sampled_ranks: ArrayLike,
    n_items: int,
    n_samples: ArrayLike,
    replacement: bool = True,
    *,
    method: str = "likelihood",
    tolerance: float = 0.01,
    gamma: float = 0.01,
) -> FloatArray:
    r"""Estimate the share of users at each exact rank from their sampled ranks.

    With :math:`\pi_r` the shares at the exact ranks, :math:`P(i \mid r)` the distribution of the
    sampled rank and :math:`f_i` the shares of the M users at the sampled ranks, "likelihood"
    looks for the largest mean log-likelihood

    .. math:: \ell(\pi) = \sum_i f_i \log \sum_r \pi_r P(i \mid r)

    by expectation maximization from a uniform start. "entropy" minimizes

    .. math:: (m + 1) \sum_i f_i \left(\sum_r \pi_r P(i \mid r) - f_i\right)^2
              - \gamma H(\pi), \qquad H(\pi) = -\sum_r \pi_r \log \pi_r.

    Both are due to Jin et al. (AAAI 2021, arXiv:2103.01474).

    Parameters
    ----------
    sampled_ranks : array_like of int
        Sampled rank of each user, in 1, ..., ``n_samples + 1``.
    n_items : int
        Number of ranked items n, at least 2.
    n_samples : int or array_like of int
        Number of drawn items, at least 1, one for all users; for "likelihood" also one per user,
        as `sample_adaptively` returns them.
    replacement : bool
        Whether one item may be drawn twice.
    method : {"likelihood", "entropy"}
        What to optimize.
    tolerance : float
        Of "likelihood": stop when no distribution that is constant in the groups of the Notes
        can have a mean log-likelihood that is higher by more than this. The smaller, the rougher
        the estimate.
    gamma : float
        Of "entropy": the weight of the entropy, positive. The smaller, the rougher the estimate.

    Returns
    -------
    ndarray of float64, shape (n_items,)
        Estimated share of users at the ranks 1, ..., n.

    Raises
    ------
    ValueError
        If there are no users; if a sampled rank is outside 1..n_samples + 1, or more items are
        drawn than there are; if "entropy" is asked for and `n_samples` is not one number; if
        `tolerance` is too small, or `gamma` too small or too large, for the solver to get there.

    Notes
    -----
    Ranks that no sample can tell apart share one probability: they are taken together in groups
    of at most a tenth of the standard error with which a user's samples place its rank.

    The stopping rule of "likelihood" needs no second run. With the factor
    :math:`c_r = \sum_i f_i P(i \mid r) / \sum_s \pi_s P(i \mid s)` by which the next step
    multiplies :math:`\pi_r`, the mean log-likelihood of any other distribution over the groups is
    higher by at most :math:`\log \max_r c_r` (Lindsay 1983).

    Examples
    --------
    >>> from sampled_metrics import Recall, sample_ranks
    >>> ranks = np.repeat(np.arange(1, 1001), 5)
    >>> sampled = sample_ranks(ranks, n_items=1000, n_samples=99, rng=0)
    >>> shares = estimate_rank_distribution(sampled, n_items=1000, n_samples=99)
    >>> f"Recall@50 is {Recall(k=50).mean(ranks)}, estimated {shares[:50].sum():.3f}"
    'Recall@50 is 0.05, estimated 0.045'
    """
    n = as_integer("n_items", n_items, low=2)
    replacement = as_flag("replacement", replacement)
    as_choice("method", method, ("likelihood", "entropy"))
    stop, weight = as_number("tolerance", tolerance), as_number("gamma", gamma)
    m = as_integers("n_samples", n_samples)
    if not replacement and (m > n - 1).any():
        refuse("n_samples", m, m > n - 1, f"at most n_items - 1, {n - 1}, without replacement")
    if method == "entropy" and m.ndim:
        raise ValueError(
            f'n_samples has shape {m.shape}; n_samples must be one number where method is "entropy"'
        )
    sampled = as_integers("sampled_ranks", sampled_ranks)
    if not sampled.size:
        raise ValueError("sampled_ranks is empty; there is nothing to learn from")
    m = one_or_one_each("n_samples", m, sampled.shape, low=1)
    as_integers("sampled_ranks", sampled, 1, m + 1, "n_samples + 1")
    if n == 2 and (bad := (sampled > 1) & (sampled <= m)).any():
        refuse("sampled_ranks", sampled, bad, "1 or n_samples + 1 where n_items is 2")
    ranks, sizes = _groups(n, int(m.max()), replacement)
    if method == "likelihood":
        shares = _by_likelihood(sampled, n, m, replacement, ranks, sizes, stop)
    else:
        p = distribution(ranks, n, int(m.flat[0]), replacement)
        f = np.bincount(sampled.ravel() - 1, minlength=p.shape[1]) / sampled.size
        shares = _by_entropy(p, f, sizes, weight)
    return np.repeat(shares / sizes, sizes)


def _groups(n: int, m: int, replacement: bool) -> tuple[IntArray, IntArray]:
    """Cut the ranks 1, ..., n into groups; return the middle rank and the size of each.

    A group is at most a tenth of the standard error wide with which m samples place its ranks,
    so that inside it the probabilities of all sampled ranks are as good as linear in the rank.
    Groups have odd sizes, but for the last, so that the middle is a rank.
    """
    others = n - 1
    left = 1 if replacement else (others - m) / max(others - 1, 1)
    ends = [0]
    while ends[-1] < n:
        above = ends[-1] / others
        error = others * sqrt(left * above * (1 - above) / m)
        ends.append(min(ends[-1] + 1 + 2 * int((error / 10 - 1) / 2), n))
    first, last = np.array(ends[:-1]) + 1, np.array(ends[1:])
    return (first + last) // 2, last - first + 1


def _by_likelihood(
    sampled: IntArray,
    n: int,
    m: IntArray,
    replacement: bool,
    ranks: IntArray,
    sizes: IntArray,
    tolerance: float,
) -> FloatArray:
    """Return the share of each group of ranks by expectation maximization."""
    base = m.max() + 1
    pairs, users = np.unique(m * base + sampled - 1, return_counts=True)
    drawn, hits = np.divmod(pairs, base)
    above, below = ranks[:, None] - 1, n - ranks[:, None]
    # What does not depend on the rank cancels in every step: how many orders of the draws, or
    # rules to go on drawing, lead to these hits.
    if replacement:
        log_p = xlogy(hits, above / (n - 1)) + xlog1py(drawn - hits, -above / (n - 1))
    else:
        log_p = gammaln(above + 1) - gammaln(above - hits + 1)
        log_p += gammaln(below + 1) - gammaln(below - (drawn - hits) + 1)
    p = np.exp(log_p - log_p.max(axis=0))
    f, shares = users / users.sum(), sizes / n
    for _ in range(MAX_ITERATIONS):
        factor = p @ (f / (shares @ p))
        if factor.max() <= 1 + tolerance:
            return shares
        shares = shares * factor
    raise ValueError(
        f"tolerance is {tolerance}; tolerance must be larger: {MAX_ITERATIONS} steps end above it"
    )


def _by_entropy(p: FloatArray, f: FloatArray, sizes: IntArray, gamma: float) -> FloatArray:
    r"""Return the share of each group of ranks by maximal entropy.

    The minimum has shares :math:`q_r \propto s_r \exp(-\sum_i P(i | r) u_i / \gamma)` with sizes
    s and one multiplier u for each sampled rank that was seen, the minimum of the dual problem.
    With :math:`u = \sqrt{w} v`, where w is the weight of the square, that problem is strongly
    convex, and its squared gradient is how far the objective is above its minimum.
    """
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

    def curvature(v: FloatArray, step: FloatArray) -> FloatArray:
        q, _ = shares(v)
        slope = p @ (root * step)
        bent: FloatArray = step / 2 + root * ((q * (slope - q @ slope)) @ p) / gamma
        return bent

    solved = minimize(
        dual,
        np.zeros(len(f)),
        jac=True,
        hessp=curvature,
        method="trust-krylov",
        options={"gtol": 1e-7},
    )
    if not solved.jac @ solved.jac < 1e-9:
        raise ValueError(
            f"gamma is {gamma}; gamma must be nearer to 0.01: the solver does not get there"
        )
    return shares(solved.x)[0]


def sample_adaptively(
    ranks: ArrayLike,
    n_items: ArrayLike,
    sizes: ArrayLike = (100, 200, 400, 800, 1600, 3200),
    replacement: bool = True,
    *,
    rng: np.random.Generator | int,
) -> tuple[IntArray, IntArray]:
    """Draw more items for those users whose relevant item still ranks first.

    Every user's sample grows to ``sizes[0]`` items, then to ``sizes[1]`` and so on, until some
    item of it stands above the relevant one (Li et al., AAAI 2023, arXiv:2211.15743).

    Parameters
    ----------
    ranks : int or array_like of int
        Exact ranks, from 1 to `n_items`, one relevant item per entry.
    n_items : int or array_like of int
        Number of ranked items, at least 2, one for all or one per rank.
    sizes : array_like of int
        Sizes of the sample after each step, ascending.
    replacement : bool
        Whether one item may be drawn twice.
    rng : numpy.random.Generator or int
        Generator, or seed for one.

    Returns
    -------
    sampled_ranks : ndarray of int64, shape of `ranks`
        Rank of the relevant item among its sample, in 1, ..., ``n_samples + 1``.
    n_samples : ndarray of int64, shape of `ranks`
        Number of items drawn for each; their sum is the cost.

    Raises
    ------
    ValueError
        If a rank or a number is out of range, as `sampled_metrics.sample_ranks` says; if `sizes`
        is not a flat, ascending list.

    Examples
    --------
    >>> sampled, n_samples = sample_adaptively([1, 20, 2000], n_items=5000, rng=0)
    >>> sampled
    array([ 1,  2, 46])
    >>> n_samples
    array([3200,  400,  100])
    """
    s = as_integers("sizes", sizes)
    if s.ndim != 1 or not s.size:
        raise ValueError(f"sizes is {sizes!r}; sizes must be a flat list of numbers")
    if (steps := np.diff(s, prepend=0)).min() < 1:
        refuse("sizes", s, steps < 1, "ascending")
    generator = as_generator(rng)
    r, n, _ = as_draw(ranks, n_items, int(s[-1]), replacement)
    sampled, n_samples = np.ones_like(r), np.zeros_like(r)
    for step in steps:
        go = sampled == 1
        # Without replacement all items drawn so far stand below the relevant one, and are gone.
        left = n[go] - (0 if replacement else n_samples[go])
        sampled[go] = sample_ranks(r[go], left, step, replacement, rng=generator)
        n_samples[go] += step
    return sampled, n_samples


@dataclass(frozen=True)
class Multinomial(Estimator):
    r"""The least expected squared error of each rank's part in the metric.

    .. math:: \hat M = \operatorname{argmin} \sum_{r=1}^n
              \left( p(r) (E[\hat M(\tilde r) \mid r] - M(r))^2
              + \frac{1}{|D|} \operatorname{Var}[\hat M(\tilde r) \mid r] \right)

    Of :math:`|D|` users, :math:`|D|\,p(r)` have rank r, and their sampled ranks are a multinomial
    count. Their part in the mean estimate has a squared error, relative to :math:`p(r)`, that is
    expected to be this summand (after Li et al., AAAI 2023, arXiv:2211.15743, whose prior is
    learned). Other than in `BiasVariance` the variance counts at every rank alike, also where
    there are hardly any users. Under a uniform prior it is `BiasVariance` with
    :math:`\gamma = n / |D|`.

    Parameters
    ----------
    n_users : int
        Number of users :math:`|D|` whose estimates are averaged, at least 1.

    Examples
    --------
    >>> from sampled_metrics import Recall
    >>> fitted = Multinomial(n_users=6000).fit(Recall(k=10), n_items=1000, n_samples=10)
    >>> fitted.values[:3].round(4)
    array([ 0.2111, -0.0996, -0.0194])
    """

    n_users: int

    def __post_init__(self) -> None:
        as_integer("n_users", self.n_users)

    def _values(
        self, metric: Metric, n: int, m: int, replacement: bool, prior: FloatArray | None
    ) -> FloatArray:
        matrix, target = np.zeros((m + 1, m + 1)), np.zeros(m + 1)
        for weights, p, exact in _problem(metric, n, m, replacement, prior):
            matrix += (weights[:, None] * p).T @ p
            target += (weights * exact) @ p
        gamma = n / self.n_users  # of sums over all ranks, from their means
        reached = np.zeros(m + 1)
        for weights, p, _ in _problem(metric, n, m, replacement, None):
            reached += weights @ p
            matrix -= gamma * (weights[:, None] * p).T @ p
            matrix[np.diag_indices(m + 1)] += gamma * (weights @ p)
        _check_possible(reached)
        return solve(matrix, target)


@dataclass(frozen=True)
class MappedCutoff(Estimator):
    r"""Recall at another cutoff: sampled Recall@k for exact Recall@K, where k is the best match.

    A sampled cutoff k stands for the exact cutoff f(k), and the k whose f(k) is nearest to K is
    used. With n items and m samples the mappings of Li et al. (KDD 2020, arXiv:2106.10621) are

    ========  ===========================================================
    "linear"  :math:`f(k) = 1 + (n - 1)(k - 1) / m`
    "bound"   :math:`f(k) = 1 + (n - 1)(k - \tfrac12) / m`
    "beta"    :math:`f(k) = 1 + (n - 1) \left( \frac{\Gamma(k + a)\,\Gamma(m + 1)}
              {\Gamma(k)\,\Gamma(m + 1 + a)} \right)^{1/a}`
    ========  ===========================================================

    The last is right in expectation where :math:`(r - 1)/(n - 1)` follows the Beta distribution
    with parameters a and 1, whose density falls like :math:`r^{a - 1}`.

    Parameters
    ----------
    mapping : {"linear", "bound", "beta"}
        How exact cutoffs follow from sampled ones.
    a : float
        Parameter of "beta", positive; 1 is a uniform distribution of ranks.

    Raises
    ------
    ValueError
        From `fit`, for any metric but `Recall`: the others have no cutoff to map, or look at the
        rank within it as well. From what it returns, for several relevant items.

    Examples
    --------
    >>> from sampled_metrics import Recall
    >>> MappedCutoff().cutoffs(n_items=1000, n_samples=9).round(1)
    array([ 100.9,  200.8,  300.7,  400.6,  500.5,  600.4,  700.3,  800.2,
            900.1, 1000. ])
    >>> MappedCutoff().fit(Recall(k=210), n_items=1000, n_samples=9).values
    array([1., 1., 0., 0., 0., 0., 0., 0., 0., 0.])
    """

    mapping: str = "beta"
    a: float = 1.0

    def __post_init__(self) -> None:
        as_choice("mapping", self.mapping, ("linear", "bound", "beta"))
        as_number("a", self.a)

    def cutoffs(self, n_items: int, n_samples: int) -> FloatArray:
        """Compute the exact cutoff f(k) of each sampled one.

        Parameters
        ----------
        n_items : int
            Number of ranked items n, at least 2.
        n_samples : int
            Number of drawn items m, at least 1.

        Returns
        -------
        ndarray of float64, shape (n_samples + 1,)
            f(1), ..., f(m + 1), ascending.

        Raises
        ------
        ValueError
            If a number is out of range.
        """
        n, m = as_integer("n_items", n_items, low=2), as_integer("n_samples", n_samples)
        k = np.arange(1, m + 2)
        if self.mapping == "beta":
            log_rise = gammaln(k + self.a) - gammaln(k)  # the ratio itself can overflow
            share = np.exp((log_rise - log_rise[-1]) / self.a)
        else:
            share = (k - (1.0 if self.mapping == "linear" else 0.5)) / m
        return np.asarray(1 + (n - 1) * share, dtype=np.float64)

    def _values(
        self, metric: Metric, n: int, m: int, replacement: bool, prior: FloatArray | None
    ) -> FloatArray:
        if not isinstance(metric, Recall):
            raise ValueError(f"metric is {metric}; MappedCutoff estimates Recall only")
        k = 1 + np.argmin(np.abs(self.cutoffs(n, m) - metric.k))
        return (np.arange(1, m + 2) <= k).astype(np.float64)
