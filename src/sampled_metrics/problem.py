"""What every estimator solves: a metric under a draw."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._checks import (
    FloatArray,
    as_array,
    as_integer,
    as_kind,
    as_probabilities,
    read_only,
    refuse,
    shown,
)
from sampled_metrics._distribution import probabilities
from sampled_metrics._quadrature import HEAD, rank_grid
from sampled_metrics._terms import term_values
from sampled_metrics.metric import Metric
from sampled_metrics.sampling import Draw

__all__ = ["Problem"]


@dataclass(frozen=True, eq=False)
class Problem:
    r"""What an estimator solves: a metric, and a draw from one number of items.

    The unknowns are estimates :math:`\hat M(1), \dots, \hat M(m + 1)`, one for each sampled rank.

    Parameters
    ----------
    metric : Metric
        The metric to estimate.
    draw : Draw
        The draw, with one number of items: the relevant one, and all that can be drawn.
    prior : ndarray of float64, shape (n_items,), optional
        Probability of each exact rank; None is uniform.
    order, n_relevant : int
        If an instance has `n_relevant` relevant items, the problem is about what one of them adds
        to the metric: the best (`order` 1), the second best, and so on. Its rank then counts
        irrelevant items only.

    Raises
    ------
    ValueError
        If the draw does not know one number of items, another number is out of its range, or the
        prior has another number of ranks.

    Examples
    --------
    >>> from sampled_metrics import Draw, Recall
    >>> problem = Problem(Recall(k=10), Draw(3, n_items=1000))
    >>> problem.sampled_values()
    array([1., 1., 1., 1.])
    >>> weights, p, exact = problem.design
    >>> (weights @ p).round(3), f"{weights @ exact:.3f}"  # means over all ranks
    (array([0.25, 0.25, 0.25, 0.25]), '0.010')
    """

    metric: Metric
    draw: Draw
    prior: FloatArray | None = None
    order: int = 1
    n_relevant: int = 1

    def __post_init__(self) -> None:
        as_kind("metric", self.metric, Metric, "Recall(k=10)")
        number_of_items("draw", self.draw)
        for name in ("order", "n_relevant"):
            object.__setattr__(self, name, as_integer(name, getattr(self, name)))
        if self.order > self.n_relevant:
            raise ValueError(f"order is {self.order}; order must be at most {self.n_relevant}")
        if self.prior is not None:
            prior = as_probabilities("prior", self.prior)
            if prior.shape != (self.n_items,):
                raise ValueError(
                    f"prior has shape {prior.shape}; prior must have one entry per rank, "
                    f"({self.n_items},)"
                )
            object.__setattr__(self, "prior", read_only(prior))

    @property
    def n_items(self) -> int:
        """Number of items n of the draw."""
        return number_of_items("draw", self.draw)

    @property
    def n_samples(self) -> int:
        """Number of drawn items m."""
        return self.draw.n_samples

    def exact_values(self, ranks: ArrayLike) -> FloatArray:
        """Compute the metric at exact ranks.

        Parameters
        ----------
        ranks : array_like of float, shape (n_ranks,)
            Ranks from 1 to `n_items`; they need not be whole numbers.

        Returns
        -------
        ndarray of float64, shape (n_ranks,)

        Raises
        ------
        ValueError
            If a rank is outside 1..n.
        """
        n, q = self.n_items + self.n_relevant - 1, self.n_relevant
        at = as_array("ranks", ranks)
        if at.ndim != 1 or at.dtype.kind not in "iuf":
            raise ValueError(f"ranks is {shown(ranks)}; ranks must be a flat list of numbers")
        if (bad := ~((at >= 1) & (at <= self.n_items))).any():
            refuse("ranks", at, bad, f"from 1 to n_items, {self.n_items}")
        each: FloatArray = term_values(self.metric, at, q, n)[self.order - 1]
        return each

    def sampled_values(self) -> FloatArray:
        """Compute the metric of each sampled rank, among the items of a sample.

        Returns
        -------
        ndarray of float64, shape (n_samples + 1,)
        """
        m, q = self.n_samples, self.n_relevant
        each: FloatArray = term_values(self.metric, np.arange(1, m + 2), q, m + q)[self.order - 1]
        return each

    @cached_property
    def design(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Weights p(r), probabilities P(i | r) and metric M(r), at a few ranks that represent all.

        Their shapes are (n_ranks,), (n_ranks, n_samples + 1) and (n_ranks,). Weighted sums of
        products of two of these are means over all ranks, up to rounding, for a metric that is
        smooth in the rank up to its cutoff.
        """
        if self.prior is None:
            ranks, weights, p = _uniform_design(self.draw, self._far_cut)
        else:
            ranks, weights, p = _design(self.draw, self._far_cut, self.prior)
        return weights, p, self.exact_values(ranks)

    @property
    def _far_cut(self) -> int | None:
        """Return the cutoff if it is beyond the ranks that are summed one by one."""
        if self.metric.k is None:
            return None
        cut = self.metric.k - self.order + 1
        return cut if cut > HEAD else None

    @property
    def gram(self) -> FloatArray:
        """Mean of P(i | r) P(j | r) over all ranks r, shape (n_samples + 1, n_samples + 1)."""
        if self.prior is None:
            return _uniform_gram(self.draw, self._far_cut)
        weights, p, _ = self.design
        return np.asarray((weights[:, None] * p).T @ p)

    @property
    def uniform(self) -> Problem:
        """The same problem with a uniform prior."""
        return replace(self, prior=None)


def number_of_items(name: str, draw: Draw) -> int:
    """Return the number of items of a draw that has one for all."""
    as_kind(name, draw, Draw, "Draw(n_samples=100, n_items=10_000)")
    if draw.n_items is None:
        raise ValueError(
            f"{name}.n_items is None; give the number of items: "
            f"Draw(n_samples={draw.n_samples}, n_items=...)"
        )
    return as_integer(f"{name}.n_items", draw.n_items, low=2)


def _design(
    draw: Draw, cut: int | None, prior: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    n, m, again = number_of_items("draw", draw), draw.n_samples, draw.replacement
    ranks, weights = rank_grid(n, m, cut, prior, replacement=again)
    return ranks, weights, probabilities(ranks, n, m, replacement=again)


@lru_cache(maxsize=2)  # estimators and metrics for the same draw follow each other
def _uniform_design(draw: Draw, cut: int | None) -> tuple[FloatArray, FloatArray, FloatArray]:
    ranks, weights, p = _design(draw, cut)
    return read_only(ranks), read_only(weights), read_only(p)


@lru_cache(maxsize=2)
def _uniform_gram(draw: Draw, cut: int | None) -> FloatArray:
    _, weights, p = _uniform_design(draw, cut)
    return read_only((weights[:, None] * p).T @ p)
