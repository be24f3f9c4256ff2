"""The estimators: ways to estimate the exact metric from a sampled rank.

They are the corrections of Krichene & Rendle (2020), and later ones of Li, Jin and colleagues.
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._arguments import FloatArray, as_fields, as_flag, as_integer, as_number, reject
from sampled_metrics.corrections.fit import Estimator, Problem, as_prior
from sampled_metrics.metrics import Recall
from sampled_metrics.sampling import Draw, number_of_items


@dataclass(frozen=True, eq=False)
class Uncorrected(Estimator):
    r"""The metric of the sampled rank as it is: :math:`\hat M(S) = M(S)`.

    This is what a sampled evaluation reports by default (Krichene & Rendle 2020, Section 4).

    Examples
    --------
    >>> from sampled_metrics import Draw, Recall
    >>> Uncorrected().fit(Recall(k=1), Draw(3, n_items=1000)).values
    array([1., 0., 0., 0.])
    """

    needs_n_items = False

    def solve(self, problem: Problem) -> FloatArray:
        """Return the metric of each sampled rank: see `Estimator.solve`."""
        return problem.sampled_values()


@dataclass(frozen=True, eq=False)
class RankEstimate(Estimator):
    r"""The metric of the sampled rank, after scaling it up to an estimate of the exact rank.

    .. math:: \hat M(S) = M\left(1 + \frac{(n - 1)(S - 1)}{d}\right)

    This is equation 20 of Krichene & Rendle (2020). With :math:`d = m`, as there, the estimate of
    the rank is unbiased; the numbers printed in the paper come from :math:`d = m + 1`.

    Parameters
    ----------
    divisor : {"m", "m+1"}
        The number of drawn items, or one more.
    interpolation : {"floor", "linear"}
        The metric between two ranks: "floor" takes that of the better rank, as in the paper's
        experiments; "linear" takes a straight line between the two.

    Examples
    --------
    >>> from sampled_metrics import Draw, Recall
    >>> RankEstimate().fit(Recall(k=10), Draw(9, n_items=28)).values
    array([1., 1., 1., 1., 0., 0., 0., 0., 0., 0.])
    """

    divisor: Literal["m", "m+1"] = "m"
    interpolation: Literal["floor", "linear"] = "floor"

    def __post_init__(self) -> None:
        as_fields(self)

    def solve(self, problem: Problem) -> FloatArray:
        """Return the metric of each scaled-up rank: see `Estimator.solve`."""
        n, m = problem.n_items, problem.n_samples
        d = m if self.divisor == "m" else m + 1
        steps = [divmod((n - 1) * i, d) for i in range(m + 1)]  # Python's integers do not overflow
        better = problem.exact_values([1 + whole for whole, _ in steps])
        if self.interpolation == "floor":
            return better
        worse = problem.exact_values([min(2 + whole, n) for whole, _ in steps])
        share = np.array([part / d for _, part in steps])
        return (1 - share) * better + share * worse


@dataclass(frozen=True, eq=False, init=False)
class BiasVariance(Estimator):
    r"""The table with the least average of squared bias plus `gamma` times variance.

    .. math:: \hat M = \operatorname{argmin} \sum_{r=1}^n \pi_r \left(
              (E[\hat M(S) \mid r] - M(r))^2
              + \gamma \operatorname{Var}[\hat M(S) \mid r] \right)

    These are equations 24 and 25 of Krichene & Rendle (2020). With :math:`\gamma = 1` the estimate
    is the mean of the metric given the sampled rank, equation 26.

    With :math:`\gamma = 0` this is least squares, equation 22: the least average squared bias,
    whatever its variance. With more than a few dozen samples, double precision cannot hold its
    solution: the part that belongs to singular values below rounding is left out, and the bias
    somewhat larger than the least possible. The estimates are huge, and useful as a lesson only.

    Parameters
    ----------
    gamma : float
        Weight of the variance, in [0, 1].
    prior : array_like of float, shape (n_items,), optional
        Probability :math:`\pi_r` of each exact rank; uniform by default. A Series may be indexed
        by the ranks 1, 2, ...

    Examples
    --------
    >>> from sampled_metrics import Draw, Recall
    >>> fitted = BiasVariance(gamma=1).fit(Recall(k=10), Draw(10, n_items=1000))
    >>> fitted.values[:3].round(4)
    array([1.047e-01, 4.700e-03, 1.000e-04])
    """

    gamma: float
    prior: FloatArray | None = field(default=None, repr=False)

    def __init__(self, gamma: float, prior: ArrayLike | None = None) -> None:
        if as_number("gamma", gamma, zero=True) > 1:
            reject("gamma", gamma, "at most 1")
        vars(self).update(gamma=float(gamma), prior=as_prior(prior))

    def solve(self, problem: Problem) -> FloatArray:
        """Solve equation 25: see `Estimator.solve`."""
        if self.gamma < 1e-4:
            return _by_svd(problem, self.gamma)
        # Each row of equation 25 is divided by the share of its sampled rank: what is left are
        # conditional probabilities, and estimates of rare sampled ranks are as accurate as others.
        weights, p, exact = problem.design
        share = problem.gram.sum(axis=1)
        _check_possible(share)
        matrix = (1 - self.gamma) / share[:, None] * problem.gram
        matrix[np.diag_indices(len(matrix))] += self.gamma
        return np.asarray(np.linalg.solve(matrix, ((weights * exact) @ p) / share))


@dataclass(frozen=True, eq=False, init=False)
class ConstrainedLeastSquares(Estimator):
    r"""The table with the least average squared bias, of those that never rise with the rank.

    .. math:: \hat M = \operatorname{argmin}_{\hat M(1) \ge \dots \ge \hat M(m + 1)}
              \sum_{r=1}^n \pi_r (E[\hat M(S) \mid r] - M(r))^2

    This is in Section 5.2 of Krichene & Rendle (2020). The differences of neighboring estimates
    solve a non-negative least squares problem.

    Parameters
    ----------
    non_negative : bool
        Whether the estimates must, in addition, not fall below 0. The numbers printed in the paper
        come from such tables.
    prior : array_like of float, shape (n_items,), optional
        As in `BiasVariance`.

    Examples
    --------
    >>> from sampled_metrics import Draw, Recall
    >>> fitted = ConstrainedLeastSquares().fit(Recall(k=10), Draw(10, n_items=1000))
    >>> fitted.values[:3].round(4)
    array([0.1989, 0.    , 0.    ])
    """

    non_negative: bool = True
    prior: FloatArray | None = field(default=None, repr=False)

    def __init__(self, *, non_negative: bool = True, prior: ArrayLike | None = None) -> None:
        vars(self).update(non_negative=as_flag("non_negative", non_negative), prior=as_prior(prior))

    def solve(self, problem: Problem) -> FloatArray:
        """Solve the constrained problem: see `Estimator.solve`."""
        from scipy.optimize import nnls

        factor, target, _ = _triangle(problem)
        steps = np.cumsum(factor, axis=1)  # column i: all estimates up to sampled rank i rise by 1
        if not self.non_negative:
            steps = np.column_stack([steps, -steps[:, -1]])
        drops, _ = nnls(steps, target)
        if not self.non_negative:
            drops = np.append(drops[:-2], drops[-2] - drops[-1])
        return np.asarray(np.cumsum(drops[::-1])[::-1])


@dataclass(frozen=True, eq=False, init=False)
class Multinomial(Estimator):
    r"""The table with the least expected squared error of what each rank adds to the mean.

    .. math:: \hat M = \operatorname{argmin} \sum_{r=1}^n
              \left( \pi_r (E[\hat M(S) \mid r] - M(r))^2
              + \frac{1}{|D|} \operatorname{Var}[\hat M(S) \mid r] \right)

    Of :math:`|D|` users, :math:`|D|\,\pi_r` have rank r, and the counts of their sampled ranks are
    multinomial. What these users add to the mean estimate has a squared error; its expectation,
    divided by :math:`\pi_r`, is this summand (after Li et al., AAAI 2023, arXiv:2211.15743, who
    learn the prior). Under a uniform prior, it is `BiasVariance` with :math:`\gamma = n / |D|`.

    Parameters
    ----------
    n_users : int
        Number of users :math:`|D|` whose estimates are averaged, at least 1.
    prior : array_like of float, shape (n_items,), optional
        As in `BiasVariance`.

    Examples
    --------
    >>> from sampled_metrics import Draw, Recall
    >>> fitted = Multinomial(n_users=6000).fit(Recall(k=10), Draw(10, n_items=1000))
    >>> fitted.values[:3].round(4)
    array([ 0.2111, -0.0996, -0.0194])
    """

    n_users: int
    prior: FloatArray | None = field(default=None, repr=False)

    def __init__(self, n_users: int, prior: ArrayLike | None = None) -> None:
        vars(self).update(n_users=as_integer("n_users", n_users), prior=as_prior(prior))

    def solve(self, problem: Problem) -> FloatArray:
        """Solve the normal equations: see `Estimator.solve`."""
        from scipy.linalg import solve  # warns where many users make it ill-conditioned

        weights, p, exact = problem.design
        # The variance counts at every rank alike: its sums over all ranks come from their means.
        gamma, everywhere = problem.n_items / self.n_users, problem.uniform.gram
        reached = everywhere.sum(axis=1)
        _check_possible(reached)
        matrix = problem.gram - gamma * everywhere
        matrix[np.diag_indices(len(matrix))] += gamma * reached
        return np.asarray(solve(matrix, (weights * exact) @ p))


@dataclass(frozen=True, eq=False)
class MappedCutoff(Estimator):
    r"""Recall at another cutoff: sampled Recall@k for exact Recall@K, where k is the best match.

    A sampled cutoff k stands for an exact cutoff f(k), and the estimate uses the k whose f(k) is
    nearest to K. With n items and m samples, the mappings of Li et al. (KDD 2020,
    arXiv:2106.10621) are

    ========  ===========================================================
    "linear"  :math:`f(k) = 1 + (n - 1)(k - 1) / m`
    "bound"   :math:`f(k) = 1 + (n - 1)(k - \tfrac12) / m`
    "beta"    :math:`f(k) = 1 + (n - 1) \left( \frac{\Gamma(k + a)\,\Gamma(m + 1)}
              {\Gamma(k)\,\Gamma(m + 1 + a)} \right)^{1/a}`
    ========  ===========================================================

    The last is right in expectation where :math:`(r - 1)/(n - 1)` follows the Beta distribution
    with parameters a and 1: with a = 1, the uniform one of real numbers. If whole ranks are equally
    likely, the right cutoff is :math:`n k / (m + 1)`, or up to one rank less; see `explain`.

    Parameters
    ----------
    mapping : {"linear", "bound", "beta"}
        How exact cutoffs follow from sampled ones.
    a : float
        Parameter of "beta", positive; 1 is a uniform distribution.

    Raises
    ------
    ValueError
        `fit` refuses any metric except `Recall`: others have no cutoff to map, or depend on the
        rank within the cutoff, too. What `fit` returns refuses several relevant items.

    Examples
    --------
    >>> from sampled_metrics import Draw, Recall
    >>> MappedCutoff().cutoffs(Draw(9, n_items=1000)).round(1)
    array([ 100.9,  200.8,  300.7,  400.6,  500.5,  600.4,  700.3,  800.2,
            900.1, 1000. ])
    >>> MappedCutoff().fit(Recall(k=210), Draw(9, n_items=1000)).values
    array([1., 1., 0., 0., 0., 0., 0., 0., 0., 0.])
    """

    mapping: Literal["linear", "bound", "beta"] = "beta"
    a: float = 1.0

    def __post_init__(self) -> None:
        as_fields(self, a=as_number)

    def cutoffs(self, draw: Draw) -> FloatArray:
        """Compute the exact cutoff f(k) of each sampled one.

        Parameters
        ----------
        draw : Draw
            The draw, with one number of items.

        Returns
        -------
        ndarray of float64, shape (n_samples + 1,)
            f(1), ..., f(m + 1), ascending.

        Raises
        ------
        ValueError
            If the draw does not have one number of items for all instances.
        """
        from scipy.special import gammaln

        n, m = number_of_items(draw), draw.n_samples
        k = np.arange(1, m + 2)
        if self.mapping == "beta":
            log_rise = gammaln(k + self.a) - gammaln(k)  # the ratio itself can overflow
            share = np.exp((log_rise - log_rise[-1]) / self.a)
        else:
            share = (k - (1.0 if self.mapping == "linear" else 0.5)) / m
        return np.asarray(1 + (n - 1) * share, dtype=np.float64)

    def solve(self, problem: Problem) -> FloatArray:
        """Return the sampled recall at the best cutoff: see `Estimator.solve`."""
        if not isinstance(problem.metric, Recall):
            reject("metric", problem.metric, "Recall for MappedCutoff")
        if problem.n_relevant > 1:
            reject("n_relevant", problem.n_relevant, "1 for MappedCutoff")
        k = 1 + np.argmin(np.abs(self.cutoffs(problem.draw) - problem.metric.k))
        return (np.arange(1, problem.n_samples + 2) <= k).astype(np.float64)


def _triangle(problem: Problem) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the problem of equation 21 in few rows, and the probability of each sampled rank.

    Of A and b in equation 23 what matters is the triangle of their QR factorization, shapes
    (m + 1, m + 1) and (m + 1,). A'A, whose condition number is the square of A's, is not formed.
    """
    weights, p, exact = problem.design
    size = p.shape[1]
    rows = np.sqrt(weights)[:, None] * np.column_stack([p, exact])
    triangle = np.zeros((size + 1, size + 1))  # also where there are fewer rows
    top = np.linalg.qr(rows, mode="r")
    triangle[: len(top)] = top
    share = weights @ p
    _check_possible(share)
    return triangle[:size, :-1], triangle[:size, -1], share


def _by_svd(problem: Problem, gamma: float) -> FloatArray:
    """Solve equation 25 from the triangle, for a gamma too small for A'A."""
    factor, target, share = _triangle(problem)
    # With equation 25 scaled so that every share is 1, its matrix is (1 - gamma) V S^2 V' + gamma.
    scale = 1 / np.sqrt(share)
    u, s, vt = np.linalg.svd(factor * scale, full_matrices=False)
    seen = s > s[0] * len(s) * np.finfo(float).eps  # the others are rounding errors
    gain = np.where(seen, s, 0) / np.where(seen, (1 - gamma) * s**2 + gamma, 1)
    return np.asarray(scale * (vt.T @ (gain * (u.T @ target))))


def _check_possible(share: FloatArray) -> None:
    for i in np.flatnonzero(share < np.finfo(float).tiny)[:1]:
        remedy = "leave out users with few items, or choose another prior or fewer samples"
        raise ValueError(f"no rank that the prior allows leads to sampled rank {i + 1}; {remedy}")
