"""From the sampled rank to an estimate of the exact metric.

An estimator is fitted once for a metric, a number of items and a number of samples.
What comes out is a table: one estimate for each sampled rank 1, ..., m + 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from numpy.typing import ArrayLike

from sampled_metrics._checks import FloatArray, as_choice, as_integer, as_integers, read_only
from sampled_metrics.metrics import Metric
from sampled_metrics.sampling import expected_value, sampled_values

__all__ = ["CorrectedMetric", "Estimator", "RankEstimate", "Uncorrected"]


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
    """

    values: FloatArray
    metric: Metric
    n_items: int

    def __call__(self, sampled_ranks: ArrayLike) -> FloatArray:
        """Look up the estimate of each sampled rank.

        Parameters
        ----------
        sampled_ranks : array_like of int
            Sampled ranks, in 1, ..., ``n_samples + 1``.

        Returns
        -------
        ndarray of float64, shape of `sampled_ranks`

        Raises
        ------
        ValueError
            If a sampled rank is out of range.
        """
        rows = as_integers("sampled_ranks", sampled_ranks, 1, len(self.values), "n_samples + 1")
        return self.values[rows - 1]

    def expectation(
        self, ranks: ArrayLike, n_items: ArrayLike | None = None, replacement: bool = True
    ) -> FloatArray:
        """Compute the expected estimate at exact ranks.

        Parameters
        ----------
        ranks : array_like of int
            Exact ranks, from 1 to `n_items`.
        n_items : int or array_like of int, optional
            Number of items that are really ranked, if not the number fitted for.
        replacement : bool
            Whether the samples are really drawn with replacement.

        Returns
        -------
        ndarray of float64, shape of `ranks`
            Mean of the estimate over all samples, exactly.

        Raises
        ------
        ValueError
            As `sampled_metrics.rank_distribution`.

        Examples
        --------
        >>> from sampled_metrics import Recall
        >>> fitted = Uncorrected().fit(Recall(k=10), n_items=10_000, n_samples=99)
        >>> fitted.expectation([100, 1000]).round(3)
        array([1.   , 0.466])
        """
        n = self.n_items if n_items is None else n_items
        return expected_value(self.values, ranks, n, replacement)


class Estimator(ABC):
    """A way to turn sampled ranks into estimates of a metric."""

    def fit(self, metric: Metric, n_items: int, n_samples: int) -> CorrectedMetric:
        """Tabulate the estimate of `metric` for each sampled rank.

        Parameters
        ----------
        metric : Metric
            The metric to estimate, such as ``Recall(k=10)``.
        n_items : int
            Number of ranked items n, at least 2.
        n_samples : int
            Number of drawn items m, at least 1.

        Returns
        -------
        CorrectedMetric
            The table of ``n_samples + 1`` estimates.

        Raises
        ------
        ValueError
            If `n_items` is below 2 or `n_samples` below 1.
        """
        n = as_integer("n_items", n_items, low=2)
        m = as_integer("n_samples", n_samples)
        return CorrectedMetric(read_only(self._values(metric, n, m)), metric, n)

    @abstractmethod
    def _values(self, metric: Metric, n: int, m: int) -> FloatArray:
        """Return the m + 1 estimates."""


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

    def _values(self, metric: Metric, n: int, m: int) -> FloatArray:
        return sampled_values(metric, m)


@dataclass(frozen=True)
class RankEstimate(Estimator):
    r"""The metric of the scaled-up rank, rounded down.

    .. math:: \hat M(\tilde r) = M\left(\left\lfloor
              1 + \frac{(n - 1)(\tilde r - 1)}{d} \right\rfloor\right)

    Equation 20 of Krichene & Rendle (2020), where :math:`d = m` makes the estimate of the rank
    unbiased before rounding; the numbers printed there come from :math:`d = m + 1`.

    Parameters
    ----------
    divisor : {"m", "m+1"}
        What divides: the number of drawn items, or that plus one.

    Examples
    --------
    >>> from sampled_metrics import Recall
    >>> RankEstimate().fit(Recall(k=10), n_items=28, n_samples=9).values
    array([1., 1., 1., 1., 0., 0., 0., 0., 0., 0.])
    """

    divisor: str = "m"

    def __post_init__(self) -> None:
        as_choice("divisor", self.divisor, ("m", "m+1"))

    def _values(self, metric: Metric, n: int, m: int) -> FloatArray:
        d = m if self.divisor == "m" else m + 1
        ranks = [1 + (n - 1) * i // d for i in range(m + 1)]  # Python's integers do not overflow
        return metric(ranks, n_items=n)
