"""From the sampled rank to an estimate of the exact metric.

An estimator is fitted once for a metric, a number of items and a number of samples.
What comes out is a table: one estimate for each sampled rank 1, ..., m + 1.

With several relevant items a metric is a sum of one term for each, and the term of the j-th best of
q looks at its rank alone. Counted among the irrelevant items, this is the rank of one relevant item
among n - q + 1, so that each term is a metric of one relevant item and has a table of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr, solve, svd
from scipy.optimize import nnls

from sampled_metrics._checks import (
    FloatArray,
    IntArray,
    as_choice,
    as_flag,
    as_integer,
    as_integers,
    as_number,
    as_probabilities,
    read_only,
    refuse,
)
from sampled_metrics._quadrature import rank_grid
from sampled_metrics.metrics import Metric
from sampled_metrics.ranking import Ranks
from sampled_metrics.sampling import (
    as_draw,
    as_draw_of_several,
    blocks,
    by_count,
    chain_distribution,
    check_ranked,
    distribution,
    expected_sum,
    expected_value,
    gain_weights,
    sampled_values,
    term_values,
)

__all__ = [
    "BiasVariance",
    "ConstrainedLeastSquares",
    "CorrectedMetric",
    "Estimator",
    "LeastSquares",
    "RankEstimate",
    "Uncorrected",
]


@dataclass(frozen=True, eq=False)
class CorrectedMetric:
    """An estimate of a metric for each sampled rank; call it on sampled ranks.

    Parameters
    ----------
    values : ndarray of float64, shape (n_samples + 1,)
        Estimate for the sampled ranks 1, ..., ``n_samples + 1``.
    metric : Metric
        The metric that is estimated.
    n_items : int
        Number of items for which it was fitted.
    replacement : bool
        Whether it was fitted for samples with replacement.
    estimator : Estimator, optional
        What fits the tables for several relevant items, when they are first needed.
    """

    values: FloatArray
    metric: Metric
    n_items: int
    replacement: bool = True
    estimator: Estimator | None = None
    _tables: dict[int, FloatArray] = field(default_factory=dict, init=False, repr=False)

    def terms(self, n_relevant: int) -> FloatArray:
        """Tabulate the estimates of the terms of several relevant items.

        The table is fitted at the first call for each number q of relevant items and kept: up to q
        fits, or k with a cutoff k, each a few milliseconds for the estimators of this package.

        Parameters
        ----------
        n_relevant : int
            Number of relevant items q, at least 1; at least one of `n_items` is irrelevant,
            without replacement as many as are drawn.

        Returns
        -------
        ndarray of float64, shape (n_relevant, n_samples + 1)
            Row j - 1, column h: what the j-th best relevant item adds to the estimate if h sampled
            items stand above it. With one relevant item, the row is `values`.

        Raises
        ------
        ValueError
            If too few items are irrelevant; if several are relevant, and this was fitted with a
            prior, which is one for one relevant item, or the metric is no sum over them.

        Examples
        --------
        >>> from sampled_metrics import Recall
        >>> Uncorrected().fit(Recall(k=2), n_items=100, n_samples=3).terms(2)
        array([[0.5, 0.5, 0. , 0. ],
               [0.5, 0. , 0. , 0. ]])
        """
        q, m = as_integer("n_relevant", n_relevant), len(self.values) - 1
        if q not in self._tables:
            self._tables[q] = read_only(self.values[None] if q == 1 else self._fit(q, m))
        return self._tables[q]

    def _fit(self, q: int, m: int) -> FloatArray:
        n = self.n_items - q + 1
        if n < (2 if self.replacement else m + 1):
            raise ValueError(
                f"n_relevant is {q}; of {self.n_items} items, "
                f"{'one' if self.replacement else m} or more must be irrelevant"
            )
        if self.estimator is None:
            raise ValueError(
                f"n_relevant is {q}; what is fitted with a prior is for one relevant item"
            )
        table = np.zeros((q, m + 1))
        for j, row in enumerate(table, start=1):
            k = None if self.metric.k is None else self.metric.k - j + 1
            if k is None or k > 0:
                term = _Term(k, self.metric, j, q)
                row[:] = self.estimator.fit(term, n, m, self.replacement).values
        return table

    def __call__(self, sampled_ranks: Ranks | ArrayLike) -> FloatArray:
        """Look up the estimate of each sampled rank, or of several together.

        Parameters
        ----------
        sampled_ranks : Ranks or array_like of int
            Sampled ranks, in 1, ..., ``n_samples + 1``; a plain array holds one relevant item per
            entry. For an instance with q relevant items, up to ``n_samples + q``.

        Returns
        -------
        ndarray of float64, shape of `sampled_ranks` or (n_instances,)
            NaN for an instance without relevant items.

        Raises
        ------
        ValueError
            If a sampled rank is out of range, a relevant item has none, or as `terms`.
        """
        if not isinstance(sampled_ranks, Ranks):
            rows = as_integers("sampled_ranks", sampled_ranks, 1, len(self.values), "n_samples + 1")
            return self.values[rows - 1]
        check_ranked("sampled_ranks", sampled_ranks)
        above = sampled_ranks.values - sampled_ranks.order
        if (bad := above >= len(self.values)).any():
            refuse("sampled_ranks.values", sampled_ranks.values, bad, "at most n_samples + q")
        weight = gain_weights(self.metric, sampled_ranks)
        estimate = np.full(len(sampled_ranks), np.nan)
        for q, x, at in by_count(sampled_ranks):
            estimate[x] = (weight[at] * self.terms(q)[np.arange(q), above[at]]).sum(axis=1)
        return estimate

    def expectation(
        self,
        ranks: Ranks | ArrayLike,
        n_items: ArrayLike | None = None,
        replacement: bool | None = None,
    ) -> FloatArray:
        """Compute the expected estimate at exact ranks.

        Parameters
        ----------
        ranks : Ranks or array_like of int
            Exact ranks, from 1 to `n_items`; a plain array holds one relevant item per entry.
        n_items : int or array_like of int, optional
            Number of items that are really ranked, if not the number fitted for.
        replacement : bool, optional
            Whether the samples are really drawn with replacement, if not as fitted for.

        Returns
        -------
        ndarray of float64, shape of `ranks` or (n_instances,)
            Mean of the estimate over all samples, up to rounding.

        Raises
        ------
        ValueError
            As `sampled_metrics.expected_metric` and `terms`.

        Examples
        --------
        >>> from sampled_metrics import Recall
        >>> fitted = Uncorrected().fit(Recall(k=10), n_items=10_000, n_samples=99)
        >>> fitted.expectation([100, 1000]).round(3)
        array([1.   , 0.466])
        """
        if isinstance(ranks, Ranks):
            n, drawn_twice = self._draw(ranks, n_items, replacement)
            return expected_sum(self.terms, self.metric, ranks, n, drawn_twice)
        return self._expect(self.values, ranks, n_items, replacement)

    def bias(
        self,
        ranks: Ranks | ArrayLike,
        n_items: ArrayLike | None = None,
        replacement: bool | None = None,
    ) -> FloatArray:
        """Compute the expected estimate at exact ranks, less the exact metric.

        Parameters
        ----------
        ranks, n_items, replacement
            As in `expectation`.

        Returns
        -------
        ndarray of float64, shape of `ranks` or (n_instances,)

        Raises
        ------
        ValueError
            As `expectation`.

        Examples
        --------
        >>> from sampled_metrics import Recall
        >>> fitted = Uncorrected().fit(Recall(k=10), n_items=10_000, n_samples=99)
        >>> fitted.bias([100, 1000]).round(3)
        array([1.   , 0.466])
        """
        exact = self.metric(ranks, self.n_items if n_items is None else n_items)
        return self.expectation(ranks, n_items, replacement) - exact

    def variance(
        self,
        ranks: Ranks | ArrayLike,
        n_items: ArrayLike | None = None,
        replacement: bool | None = None,
    ) -> FloatArray:
        r"""Compute the variance of the estimate at exact ranks, over all samples.

        With several relevant items it takes into account that their sampled ranks depend on each
        other: given how many sampled items stand above one of them, those between it and the next
        are again a sample of the items that are left. In time, it is
        :math:`O(q m^2)` for an instance with q relevant items.

        Parameters
        ----------
        ranks, n_items, replacement
            As in `expectation`.

        Returns
        -------
        ndarray of float64, shape of `ranks` or (n_instances,)

        Raises
        ------
        ValueError
            As `expectation`.

        Examples
        --------
        >>> from sampled_metrics import Recall
        >>> fitted = Uncorrected().fit(Recall(k=10), n_items=10_000, n_samples=99)
        >>> fitted.variance([1, 1000]).round(3)
        array([0.   , 0.249])
        """
        if isinstance(ranks, Ranks):
            return self._joint_variance(ranks, *self._draw(ranks, n_items, replacement))
        mean = self._expect(self.values, ranks, n_items, replacement)
        square = self._expect(self.values**2, ranks, n_items, replacement)
        return np.maximum(square - mean**2, 0.0)

    def _joint_variance(self, ranks: Ranks, n: IntArray, replacement: bool) -> FloatArray:
        m = len(self.values) - 1
        above, weight = ranks.values - ranks.order, gain_weights(self.metric, ranks)
        variance = np.full(len(ranks), np.nan)
        for q, x, at in by_count(ranks):
            for block in blocks(len(x), (m + 1) ** 2):
                passed = np.pad(above[at[block]], ((0, 0), (1, 0)))  # column j: above the j-th
                behind = (n[x[block]] - q)[:, None] - passed
                # First and second moment of the terms behind the j-th, given H_j = 0, ..., m.
                mean, square = np.zeros((2, len(passed), m + 1))
                for j in reversed(range(q)):
                    term = weight[at[block, j], None] * self.terms(q)[j]
                    both = np.stack([term + mean, term**2 + 2 * term * mean + square], axis=-1)
                    between = passed[:, j + 1] - passed[:, j]
                    p = chain_distribution(between, behind[:, j + 1], m, replacement)
                    mean, square = np.moveaxis(p @ both, -1, 0)
                variance[x[block]] = np.maximum(square[:, 0] - mean[:, 0] ** 2, 0.0)
        return variance

    def _draw(
        self, ranks: Ranks, n_items: ArrayLike | None, replacement: bool | None
    ) -> tuple[IntArray, bool]:
        """Return what is really drawn: items of each instance, whether with replacement."""
        n = self.n_items if n_items is None else n_items
        drawn_twice = self.replacement if replacement is None else replacement
        return as_draw_of_several(ranks, n, len(self.values) - 1, drawn_twice)[0], drawn_twice

    def _expect(
        self,
        values: FloatArray,
        ranks: ArrayLike,
        n_items: ArrayLike | None,
        replacement: bool | None,
    ) -> FloatArray:
        n = self.n_items if n_items is None else n_items
        return expected_value(
            values, ranks, n, self.replacement if replacement is None else replacement
        )


class Estimator(ABC):
    """A way to turn sampled ranks into estimates of a metric."""

    def fit(
        self,
        metric: Metric,
        n_items: int,
        n_samples: int,
        replacement: bool = True,
        prior: ArrayLike | None = None,
    ) -> CorrectedMetric:
        """Tabulate the estimate of `metric` for each sampled rank.

        Parameters
        ----------
        metric : Metric
            The metric to estimate, such as ``Recall(k=10)``.
        n_items : int
            Number of ranked items n, at least 2.
        n_samples : int
            Number of drawn items m, at least 1; without replacement at most ``n_items - 1``.
        replacement : bool
            Whether one item may be drawn twice.
        prior : array_like of float, shape (n_items,), optional
            Probability of each exact rank, for the estimators that average over ranks; uniform by
            default.

        Returns
        -------
        CorrectedMetric
            The table of ``n_samples + 1`` estimates.

        Raises
        ------
        ValueError
            If `n_items` is below 2, `n_samples` below 1 or too large, or `prior` is not a
            probability for each rank; for an estimator that averages over ranks, if none of the
            ranks leads to some sampled rank.

        Notes
        -----
        For several relevant items, see `CorrectedMetric.terms`: the prior of the j-th best is
        uniform over its ranks among the irrelevant items.

        Without a prior, averages over ranks are sums over a grid of a few hundred of them. They
        are exact up to rounding for a metric that is smooth in the rank up to its cutoff `k` and 0
        beyond, as all metrics of this package are; for another, pass a uniform `prior`.
        """
        n = as_integer("n_items", n_items, low=2)
        _, _, m = as_draw(1, n, n_samples, replacement)
        p = None if prior is None else _as_prior(prior, n)
        return CorrectedMetric(
            read_only(self._values(metric, n, m, replacement, p)),
            metric,
            n,
            replacement,
            self if prior is None else None,
        )

    @abstractmethod
    def _values(
        self, metric: Metric, n: int, m: int, replacement: bool, prior: FloatArray | None
    ) -> FloatArray:
        """Return the m + 1 estimates."""


@dataclass(frozen=True)
class _Term(Metric):
    """What the j-th best of q relevant items adds to a metric, by its rank among the irrelevant."""

    _symbol: ClassVar[str] = "term"
    k: int | None
    metric: Metric
    j: int
    q: int

    def _gain(self, rows: Ranks, n: IntArray | None) -> FloatArray:
        assert n is not None
        each = term_values(self.metric, rows.values, self.q, int(n[0]) + self.q - 1)
        gain: FloatArray = each[self.j - 1]
        return gain

    def _normalizer(self, rows: Ranks, n: IntArray | None) -> int:
        return 1


def _as_prior(prior: ArrayLike, n: int) -> FloatArray:
    p = as_probabilities("prior", prior)
    if p.shape != (n,):
        raise ValueError(f"prior has shape {p.shape}; it must have one entry per rank, ({n},)")
    return p


@dataclass(frozen=True)
class Uncorrected(Estimator):
    r"""The metric of the sampled rank as it is: :math:`\hat M(\tilde r) = M(\tilde r)`.

    This is what a sampled evaluation reports by default (Krichene & Rendle 2020, Section 4).

    Examples
    --------
    >>> from sampled_metrics import Recall
    >>> Uncorrected().fit(Recall(k=1), n_items=1000, n_samples=3).values
    array([1., 0., 0., 0.])
    """

    def _values(
        self, metric: Metric, n: int, m: int, replacement: bool, prior: FloatArray | None
    ) -> FloatArray:
        return sampled_values(metric, m)


@dataclass(frozen=True)
class RankEstimate(Estimator):
    r"""The metric of the scaled-up rank.

    .. math:: \hat M(\tilde r) = M\left(1 + \frac{(n - 1)(\tilde r - 1)}{d}\right)

    Equation 20 of Krichene & Rendle (2020), where :math:`d = m` makes the estimate of the rank
    unbiased; the numbers printed there come from :math:`d = m + 1`.

    Parameters
    ----------
    divisor : {"m", "m+1"}
        What divides: the number of drawn items, or that plus one.
    interpolation : {"floor", "linear"}
        The metric between two ranks: that of the better one, as in the paper's experiments, or on
        a straight line.

    Examples
    --------
    >>> from sampled_metrics import Recall
    >>> RankEstimate().fit(Recall(k=10), n_items=28, n_samples=9).values
    array([1., 1., 1., 1., 0., 0., 0., 0., 0., 0.])
    """

    divisor: str = "m"
    interpolation: str = "floor"

    def __post_init__(self) -> None:
        as_choice("divisor", self.divisor, ("m", "m+1"))
        as_choice("interpolation", self.interpolation, ("floor", "linear"))

    def _values(
        self, metric: Metric, n: int, m: int, replacement: bool, prior: FloatArray | None
    ) -> FloatArray:
        d = m if self.divisor == "m" else m + 1
        steps = [divmod((n - 1) * i, d) for i in range(m + 1)]  # Python's integers do not overflow
        better = metric([1 + whole for whole, _ in steps], n_items=n)
        if self.interpolation == "floor":
            return better
        worse = metric([min(2 + whole, n) for whole, _ in steps], n_items=n)
        share = np.array([part / d for _, part in steps])
        return (1 - share) * better + share * worse


@dataclass(frozen=True)
class BiasVariance(Estimator):
    r"""The least average of squared bias and `gamma` times variance.

    .. math:: \hat M = \operatorname{argmin} \sum_{r=1}^n p(r) \left(
              (E[\hat M(\tilde r) \mid r] - M(r))^2
              + \gamma \operatorname{Var}[\hat M(\tilde r) \mid r] \right)

    Equations 24 and 25 of Krichene & Rendle (2020). With :math:`\gamma = 1` it is the mean of the
    metric given the sampled rank, equation 26; with :math:`\gamma = 0` it is `LeastSquares`.

    With a uniform prior the time to fit does not depend on n beyond its logarithm.

    Parameters
    ----------
    gamma : float
        Weight of the variance, in [0, 1].

    Examples
    --------
    >>> from sampled_metrics import Recall
    >>> fitted = BiasVariance(gamma=1).fit(Recall(k=10), n_items=1000, n_samples=10)
    >>> fitted.values[:3].round(4)
    array([1.047e-01, 4.700e-03, 1.000e-04])
    """

    gamma: float

    def __post_init__(self) -> None:
        if as_number("gamma", self.gamma, zero=True) > 1:
            raise ValueError(f"gamma is {self.gamma}; gamma must be at most 1")

    def _values(
        self, metric: Metric, n: int, m: int, replacement: bool, prior: FloatArray | None
    ) -> FloatArray:
        if self.gamma < 1e-4:
            return _by_svd(metric, n, m, replacement, prior, self.gamma)
        # Equation 25 divided by c: what is left are conditional probabilities, so that estimates
        # of sampled ranks that hardly ever occur are as accurate as the others.
        matrix, target = np.zeros((m + 1, m + 1)), np.zeros(m + 1)
        for weights, p, exact in _problem(metric, n, m, replacement, prior):
            matrix += (weights[:, None] * p).T @ p
            target += (weights * exact) @ p
        share = matrix.sum(axis=1)
        _check_possible(share)
        matrix *= (1 - self.gamma) / share[:, None]
        matrix[np.diag_indices(m + 1)] += self.gamma
        return solve(matrix, target / share)


@dataclass(frozen=True)
class LeastSquares(Estimator):
    r"""The least average squared bias, at any variance.

    .. math:: \hat M = \operatorname{argmin} \sum_{r=1}^n p(r)
              (E[\hat M(\tilde r) \mid r] - M(r))^2

    Equations 21 and 22 of Krichene & Rendle (2020). The problem is so ill-conditioned that with
    more than a few dozen samples double precision does not hold its solution: what singular values
    below rounding would add is left out, and the bias is somewhat larger than the least there is.
    The estimates are huge, of both signs, and of use as a lesson only.

    Examples
    --------
    >>> from sampled_metrics import Recall
    >>> LeastSquares().fit(Recall(k=10), n_items=1000, n_samples=3).values.round(2)
    array([ 0.15, -0.23,  0.15, -0.04])
    """

    def _values(
        self, metric: Metric, n: int, m: int, replacement: bool, prior: FloatArray | None
    ) -> FloatArray:
        return _by_svd(metric, n, m, replacement, prior, gamma=0)


@dataclass(frozen=True)
class ConstrainedLeastSquares(Estimator):
    r"""The least average squared bias of estimates that do not rise with the sampled rank.

    .. math:: \hat M = \operatorname{argmin}_{\hat M(1) \ge \dots \ge \hat M(m + 1)}
              \sum_{r=1}^n p(r) (E[\hat M(\tilde r) \mid r] - M(r))^2

    Section 5.2 of Krichene & Rendle (2020). The differences of neighbors are the unknowns of a
    non-negative least squares problem; it is no isotonic regression, which has a diagonal matrix.

    Parameters
    ----------
    non_negative : bool
        Whether the estimates must not fall below 0 either; the numbers printed in the paper come
        from this.

    Examples
    --------
    >>> from sampled_metrics import Recall
    >>> fitted = ConstrainedLeastSquares().fit(Recall(k=10), n_items=1000, n_samples=10)
    >>> fitted.values[:3].round(4)
    array([0.1989, 0.    , 0.    ])
    """

    non_negative: bool = True

    def __post_init__(self) -> None:
        as_flag("non_negative", self.non_negative)

    def _values(
        self, metric: Metric, n: int, m: int, replacement: bool, prior: FloatArray | None
    ) -> FloatArray:
        factor, target, _ = _triangle(metric, n, m, replacement, prior)
        steps = np.cumsum(factor, axis=1)  # column i: all estimates up to sampled rank i rise by 1
        if not self.non_negative:
            steps = np.column_stack([steps, -steps[:, -1]])
        drops, _ = nnls(steps, target)
        if not self.non_negative:
            drops = np.append(drops[:-2], drops[-2] - drops[-1])
        return np.cumsum(drops[::-1])[::-1]


def _problem(
    metric: Metric, n: int, m: int, replacement: bool, prior: FloatArray | None
) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
    """Yield weights p(r), probabilities P(i | r) and metric M(r), for a block of ranks at a time.

    Weighted sums over all blocks are those over all ranks.
    """
    ranks: Any  # of a grid they are no whole numbers
    if prior is None:
        ranks, weights = rank_grid(n, m, replacement, metric.k)
    else:
        ranks, weights = np.flatnonzero(prior) + 1, prior[prior > 0]
    for block in blocks(len(ranks), m + 1):
        p = distribution(ranks[block], n, m, replacement)
        one_each = np.ones(len(p), dtype=np.int64)
        rows = Ranks(ranks[block], np.arange(len(p) + 1), one_each)
        yield weights[block], p, metric(rows, n_items=n)


def _triangle(
    metric: Metric, n: int, m: int, replacement: bool, prior: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the problem of equation 21 in few rows, and the probability of each sampled rank.

    Of A and b in equation 23 what matters is the triangle of their QR factorization, shapes
    (m + 1, m + 1) and (m + 1,). A'A, whose condition number is the square of A's, is not formed.
    """
    triangle: FloatArray = np.empty((0, m + 2))
    share = np.zeros(m + 1)
    for weights, p, exact in _problem(metric, n, m, replacement, prior):
        rows = np.sqrt(weights)[:, None] * np.column_stack([p, exact])
        triangle = qr(np.vstack([triangle, rows]), mode="r")[0][: m + 2]
        share += weights @ p
    _check_possible(share)
    return triangle[: m + 1, :-1], triangle[: m + 1, -1], share


def _by_svd(
    metric: Metric,
    n: int,
    m: int,
    replacement: bool,
    prior: FloatArray | None,
    gamma: float,
) -> FloatArray:
    """Solve equation 25 from the triangle, for a gamma too small for A'A."""
    factor, target, share = _triangle(metric, n, m, replacement, prior)
    # With equation 25 scaled so that diag(c) is 1, its matrix is (1 - gamma) V S^2 V' + gamma.
    scale = 1 / np.sqrt(share)
    u, s, vt = svd(factor * scale, full_matrices=False)
    seen = s > s[0] * (m + 1) * np.finfo(float).eps  # the others are rounding errors
    gain = np.where(seen, s, 0) / np.where(seen, (1 - gamma) * s**2 + gamma, 1)
    return scale * (vt.T @ (gain * (u.T @ target)))


def _check_possible(share: FloatArray) -> None:
    if (impossible := share < np.finfo(float).tiny).any():
        i = int(np.argmax(impossible)) + 1
        raise ValueError(
            f"no rank that the prior allows leads to sampled rank {i}; its estimate is undefined"
        )
