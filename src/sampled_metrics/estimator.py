"""What an estimator is: a way to turn sampled ranks into estimates of a metric."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._checks import FloatArray, as_kind, as_probabilities, read_only
from sampled_metrics.corrections import CorrectedMetric
from sampled_metrics.metric import Metric
from sampled_metrics.problem import Problem
from sampled_metrics.sampling import Draw

__all__ = ["Estimator"]


class Estimator(ABC):
    """A way to turn sampled ranks into estimates of a metric.

    To write an estimator of your own, derive a frozen dataclass (``eq=False``) from this class,
    with its parameters as fields and one method, `solve`. Everything in this package then works
    with it.

    Examples
    --------
    Estimates of a metric between 0 and 1 may lie outside. Clipped, they are nearer, and biased:

    >>> from dataclasses import dataclass
    >>> from sampled_metrics import BiasVariance, Draw, Recall
    >>> @dataclass(frozen=True, eq=False)
    ... class Clipped(Estimator):
    ...     gamma: float
    ...
    ...     def solve(self, problem):
    ...         return BiasVariance(self.gamma).solve(problem).clip(0, 1)
    >>> Clipped(gamma=0.1).fit(Recall(k=10), Draw(10, n_items=1000)).values[:3].round(4)
    array([0.2465, 0.    , 0.    ])
    """

    prior: FloatArray | None = None
    needs_n_items: ClassVar[bool] = True  # whether the table depends on the number of items

    def fit(self, metric: Metric, draw: Draw) -> CorrectedMetric:
        """Tabulate the estimate of a metric for each sampled rank.

        Parameters
        ----------
        metric : Metric
            The metric to estimate, such as ``Recall(k=10)``.
        draw : Draw
            The draw, with its `n_items`: one number, or one for each instance.

        Returns
        -------
        CorrectedMetric
            The table of ``n_samples + 1`` estimates, or one for each number of items.

        Raises
        ------
        ValueError
            If `metric` is not a `Metric`, `draw` is not a `Draw` or does not know `n_items`, or
            the estimator's prior has another number of ranks; or if an estimator averages over
            ranks and no exact rank leads to some sampled rank.

        Notes
        -----
        For several relevant items, see `CorrectedMetric.terms`: the prior of the j-th best is
        uniform over its ranks among the irrelevant items.

        Averages over ranks are sums over a grid of a few hundred of them. They are exact up to
        rounding for a metric that is smooth in the rank up to its cutoff `k`.
        """
        as_kind("metric", metric, Metric, "Recall(k=10)")
        as_kind("draw", draw, Draw, "Draw(n_samples=100, n_items=10_000)")
        if draw.n_items is None:
            raise ValueError(
                "draw.n_items is None; a fit needs the number of items: "
                f"Draw({draw.n_samples}, n_items=...)"
            )
        if (shape := np.shape(np.asarray(draw.n_items)))[1:]:
            raise ValueError(
                f"draw.n_items has shape {shape}; a fit needs one number, or one per instance"
            )
        return CorrectedMetric(metric, draw, self)

    @abstractmethod
    def solve(self, problem: Problem) -> FloatArray:
        """Compute the estimate for each sampled rank.

        Parameters
        ----------
        problem : Problem
            A metric under a draw from one number of items.

        Returns
        -------
        ndarray of float64, shape (n_samples + 1,)
        """

    def __eq__(self, other: object) -> bool:
        """Tell whether the other one is of the same kind and has the same parameters."""
        if type(self) is not type(other):
            return False
        mine, theirs = vars(self), vars(other)
        return mine.keys() == theirs.keys() and all(
            np.array_equal(mine[name], theirs[name]) for name in mine
        )

    def __hash__(self) -> int:
        """Hash the kind: parameters may be arrays."""
        return hash(type(self))


def as_prior(prior: ArrayLike | None) -> FloatArray | None:
    """Return a prior that cannot be changed."""
    return None if prior is None else read_only(as_probabilities("prior", prior))
