"""What every estimator solves: a metric under a draw."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._arguments import (
    FloatArray,
    IntArray,
    as_integer,
    as_kind,
    as_numbers,
    as_probabilities,
    read_only,
    refuse,
    reject,
)
from sampled_metrics.metrics import Metric
from sampled_metrics.ranks import Ranks, as_ranks, check_one_each, check_sampled
from sampled_metrics.sampling import (
    HEAD,
    Draw,
    alike,
    as_one_size,
    as_single,
    blocks,
    by_count,
    chain_probabilities,
    expect_terms,
    expectation_over_ties,
    number_of_items,
    probabilities,
    rank_grid,
    relevance_weights,
    term_values,
)

MOST_AT_ONCE = 2**27  # probabilities of a metric that is not smooth: a gigabyte
MOST_RANKS = 2**20  # whose metric is in memory at once


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
        n, q = number_of_items(self.draw), as_integer("n_relevant", self.n_relevant)
        order, prior = as_integer("order", self.order, 1, q, "n_relevant"), as_prior(self.prior)
        if prior is not None and len(prior) != n:
            raise ValueError(f"prior has {len(prior)} entries; prior must have one per rank, {n}")
        vars(self).update(order=order, n_relevant=q, prior=prior)

    @property
    def n_items(self) -> int:
        """Number of items n of the draw."""
        return number_of_items(self.draw)

    @property
    def n_samples(self) -> int:
        """Number of drawn items m."""
        return int(self.draw.n_samples)

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
        at = as_numbers("ranks", ranks, flat=True)
        refuse("ranks", at, (at < 1) | (at > self.n_items), f"from 1 to n_items, {self.n_items}")
        return np.asarray(term_values(self.metric, at, q, n)[self.order - 1])

    def sampled_values(self) -> FloatArray:
        """Compute the metric of each sampled rank, among the items of a sample.

        Returns
        -------
        ndarray of float64, shape (n_samples + 1,)
        """
        m, q = self.n_samples, self.n_relevant
        return np.asarray(term_values(self.metric, np.arange(1, m + 2), q, m + q)[self.order - 1])

    @cached_property
    def design(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Weights p(r), probabilities P(i | r) and metric M(r), at a few ranks that represent all.

        Their shapes are (n_ranks,), (n_ranks, n_samples + 1) and (n_ranks,). Weighted sums of
        products of two of them are means over all ranks, up to rounding. The ranks are all ranks
        for a metric that is not smooth in the rank up to its cutoff.

        Raises
        ------
        ValueError
            If such a metric meets so many items that not all ranks fit in memory.
        """
        given, uniform = (self.draw, self._far_cut), self.prior is None
        ranks, weights, p = _uniform_design(*given) if uniform else _design(*given, self.prior)
        if self.metric.smooth or self._is_smooth(ranks, weights):
            return weights, p, self.exact_values(ranks)
        n, m = self.n_items, self.n_samples
        if n * (m + 1) > MOST_AT_ONCE:
            raise ValueError(
                f"metric is {self.metric}, whose gain is not smooth in the rank, and memory does "
                f"not hold all {n} ranks: give the metric a cutoff k where the gain jumps"
            )
        every = np.arange(1, n + 1)
        weights = np.full(n, 1 / n) if self.prior is None else self.prior
        p = probabilities(every, n, m, replacement=self.draw.replacement)
        return weights, p, self.exact_values(every)

    def _is_smooth(self, ranks: FloatArray, weights: FloatArray) -> bool:
        """Tell whether means of the metric and its square over a few ranks are those over all."""
        few = self.exact_values(ranks)
        sums, size = np.zeros(2), 0.0
        for start in range(0, self.n_items, MOST_RANKS):
            every = np.arange(start + 1, min(start + MOST_RANKS, self.n_items) + 1)
            share = 1 / self.n_items if self.prior is None else self.prior[every - 1]
            values = self.exact_values(every)
            sums += (share * values).sum(), (share * values**2).sum()
            size = max(size, float(np.abs(values).max()))
        found = weights @ few, weights @ few**2
        return bool((np.abs(found - sums) <= 1e-12 * np.array([size, size**2])).all())

    @property
    def _far_cut(self) -> int | None:
        """Return the cutoff if it is beyond the ranks that are summed one by one."""
        cut = (self.metric.k or 0) - self.order + 1
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


def _design(
    draw: Draw, cut: int | None, prior: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    n, m, again = number_of_items(draw), draw.n_samples, draw.replacement
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


class CorrectedMetric:
    """An estimate of a metric for each sampled rank, from `Estimator.fit`; call it on such ranks.

    Attributes
    ----------
    metric, draw, estimator
        The metric that is estimated, the draw that it was fitted for, and the estimator.
    """

    def __init__(self, metric: Metric, draw: Draw, estimator: Estimator) -> None:
        self.metric, self.draw, self.estimator = metric, draw, estimator
        self._tables: dict[tuple[int, int], FloatArray] = {}
        self._sizes = np.asarray(draw.n_items, dtype=np.int64)  # no axis: one for all
        for n in np.unique(self._sizes).tolist():
            self._terms(1, n)

    @property
    def values(self) -> FloatArray:
        """Estimates for the sampled ranks 1, ..., ``n_samples + 1``.

        The shape is (n_samples + 1,), or (n_instances, n_samples + 1) if the draw has a number of
        items for each instance.
        """
        n, which = np.unique(self._sizes, return_inverse=True)
        tables = np.stack([self._terms(1, size)[0] for size in n.tolist()])
        return read_only(tables[which.reshape(self._sizes.shape)])

    def terms(self, n_relevant: int, n_items: int | None = None) -> FloatArray:
        """Tabulate the estimates of the terms of several relevant items.

        The table takes up to q fits, or k with a cutoff k; it is kept from the first call on.

        Parameters
        ----------
        n_relevant : int
            Number of relevant items q, at least 1. At least one item must be irrelevant; without
            replacement, at least as many as are drawn.
        n_items : int, optional
            Number of items, if the draw has one for each instance.

        Returns
        -------
        ndarray of float64, shape (n_relevant, n_samples + 1)
            Row j - 1, column h: what the j-th best relevant item adds to the estimate if h sampled
            items are above it. With one relevant item, the row is `values`.

        Raises
        ------
        ValueError
            If too few items are irrelevant or `n_items` is missing; if several are relevant, and
            the estimator has a prior, or the metric is not a sum over them.

        Examples
        --------
        >>> from sampled_metrics import Draw, Recall, Uncorrected
        >>> Uncorrected().fit(Recall(k=2), Draw(3, n_items=100)).terms(2)
        array([[0.5, 0.5, 0. , 0. ],
               [0.5, 0. , 0. , 0. ]])
        """
        if n_items is None and self._sizes.ndim:
            raise ValueError("draw.n_items is one per instance; give n_items to choose a table")
        n = as_integer("n_items", self._sizes if n_items is None else n_items, low=2)
        return self._terms(as_integer("n_relevant", n_relevant), n)

    def _terms(self, q: int, n_items: int) -> FloatArray:
        """Return the table for q relevant among `n_items`, shape (q, n_samples + 1)."""
        if (q, n_items) not in self._tables:
            n, m, k = n_items - q + 1, self.draw.n_samples, self.metric.k
            if n < (2 if self.draw.replacement else m + 1):
                raise ValueError(f"n_relevant is {q}; too few of {n_items} items are irrelevant")
            prior = self.estimator.prior
            if prior is not None and q > 1:
                raise ValueError(f"n_relevant is {q}; the estimator's prior is for 1 relevant item")
            table = np.zeros((q, m + 1))
            draw = Draw(m, n_items=n, replacement=self.draw.replacement)
            for j in range(1, q + 1 if k is None else min(q, k) + 1):
                problem = Problem(self.metric, draw, prior, j, q)
                solved = np.asarray(self.estimator.solve(problem))
                if solved.shape != (m + 1,) or not np.isfinite(solved).all():
                    reject(f"{type(self.estimator).__name__}.solve()", solved, f"{m + 1} numbers")
                table[j - 1] = solved
            self._tables[q, n_items] = read_only(table)
        return self._tables[q, n_items]

    def __call__(self, sampled_ranks: Ranks | ArrayLike) -> FloatArray:
        """Look up the estimate for the sampled rank of each instance, or for all its sampled ranks.

        Parameters
        ----------
        sampled_ranks : Ranks or array_like of int
            Sampled ranks, from 1 to ``n_samples + q`` with q relevant items; a plain array holds
            one relevant item per entry. Estimates are means over all ways to break ties. If the
            draw has a number of items for each instance, these are the last axis.

        Returns
        -------
        ndarray of float64, shape of `sampled_ranks` or (n_instances,)
            NaN for an instance without relevant items.

        Raises
        ------
        ValueError
            If a sampled rank is out of range, a relevant item has none, the instances are not
            those of the draw, or as `terms`.
        """
        rows, shape = as_ranks(sampled_ranks, name="sampled_ranks")
        check_sampled("sampled_ranks", rows, self.draw.n_samples)
        fitted = self._items_each("sampled_ranks", shape)
        if rows.is_one_each and rows.gains is None:
            return self._look_up(rows, shape)
        check_one_each("sampled_ranks", rows)
        above, weight = rows.best - rows.order, relevance_weights(self.metric, rows)
        estimate = np.full(len(rows), np.nan)
        for count, n, x, at in by_count(rows, fitted):
            terms = self._terms(count, n)[np.arange(count), above[at]]
            estimate[x] = (weight[at] * terms).sum(axis=1)
        return estimate

    def _look_up(self, rows: Ranks, shape: tuple[int, ...]) -> FloatArray:
        """Return the estimate of each sampled rank, on average over ties."""
        first = (rows.best - 1).reshape(shape)
        if not rows.has_ties:
            return _at(self.values, first)
        sums = np.pad(np.cumsum(self.values, axis=-1), [(0, 0)] * (self.values.ndim - 1) + [(1, 0)])
        length = (rows.n_tied + 1).reshape(shape)
        return (_at(sums, first + length) - _at(sums, first)) / length

    def _items_each(self, name: str, shape: tuple[int, ...]) -> IntArray:
        """Return for how many items each instance's table was fitted; the last axis is theirs."""
        n = self._sizes
        if n.ndim and n.shape != shape[-1:]:
            rule = f"its last axis must hold the draw's {len(n)} instances"
            raise ValueError(f"{name} has shape {shape}; {rule}")
        return np.broadcast_to(n, shape[-1:])

    def expectation(self, ranks: Ranks | ArrayLike, draw: Draw | None = None) -> FloatArray:
        """Compute the expected estimate at exact ranks.

        Parameters
        ----------
        ranks : Ranks or array_like of int
            Exact ranks; a plain array holds one relevant item per entry. The expectation is also
            over the ways to break ties.
        draw : Draw, optional
            The draw that is really made, if it is not the one that the table was fitted for, with
            the same number of samples.

        Returns
        -------
        ndarray of float64, shape of `ranks` or (n_instances,)
            Mean of the estimate over all samples, up to rounding.

        Raises
        ------
        ValueError
            As `Draw.expect` and `terms`; if `draw` has another number of samples.

        Examples
        --------
        >>> from sampled_metrics import Draw, Recall, Uncorrected
        >>> fitted = Uncorrected().fit(Recall(k=10), Draw(99, n_items=10_000))
        >>> fitted.expectation([100, 1000]).round(3), fitted.variance([100, 1000]).round(3)
        (array([1.   , 0.466]), array([0.   , 0.249]))
        """
        rows, shape, real = self._exact(ranks, draw)
        if rows.is_one_each and rows.gains is None:
            return self._expect(rows, shape, real, lambda table: table)
        fitted = self._items_each("ranks", shape)
        return expect_terms(rows, self.metric, self._terms, real.replacement, fitted)

    def bias(self, ranks: Ranks | ArrayLike, draw: Draw | None = None) -> FloatArray:
        """Compute the expected estimate at exact ranks, minus the exact metric.

        Parameters
        ----------
        ranks, draw
            As in `expectation`.

        Returns
        -------
        ndarray of float64, shape of `ranks` or (n_instances,)

        Raises
        ------
        ValueError
            As `expectation`.
        """
        rows, shape, real = self._exact(ranks, draw)
        return self.expectation(ranks, real) - self.metric(rows).reshape(shape)

    def variance(self, ranks: Ranks | ArrayLike, draw: Draw | None = None) -> FloatArray:
        r"""Compute the variance of the estimate at exact ranks, over all samples.

        The sampled ranks of several relevant items depend on each other: those items between one
        and the next are a sample of what is left. With q of them it takes :math:`O(q m^2)` time.

        Parameters
        ----------
        ranks, draw
            As in `expectation`; breaking ties at random adds to the variance.

        Returns
        -------
        ndarray of float64, shape of `ranks` or (n_instances,)

        Raises
        ------
        ValueError
            As `expectation`.
        """
        rows, shape, real = self._exact(ranks, draw)
        if not (rows.is_one_each and rows.gains is None):
            return self._joint_variance(rows, real)
        both = self._expect(rows, shape, real, lambda table: np.stack([table, table**2], axis=1))
        variance: FloatArray = both[..., 1] - both[..., 0] ** 2
        return np.maximum(variance, 0.0)

    def _joint_variance(self, ranks: Ranks, draw: Draw) -> FloatArray:
        check_one_each("ranks", ranks)
        assert ranks.n_items is not None
        m, n = draw.n_samples, ranks.n_items
        above, weight = ranks.best - ranks.order, relevance_weights(self.metric, ranks)
        variance = np.full(len(ranks), np.nan)
        for q, fitted, x, at in by_count(ranks, self._items_each("ranks", (len(ranks),))):
            terms = self._terms(q, fitted)
            for block in blocks(len(x), (m + 1) ** 2):
                passed = np.pad(above[at[block]], ((0, 0), (1, 0)))  # column j: above the j-th
                behind = (n[x[block]] - q)[:, None] - passed
                # First and second moment of the terms behind the j-th, given H_j = 0, ..., m.
                mean, square = np.zeros((2, len(passed), m + 1))
                for j in reversed(range(q)):
                    term = weight[at[block, j], None] * terms[j]
                    both = np.stack([term + mean, term**2 + 2 * term * mean + square], axis=-1)
                    items = passed[:, j + 1] - passed[:, j], behind[:, j + 1]
                    p = chain_probabilities(*items, m, replacement=draw.replacement)
                    mean, square = np.moveaxis(p @ both, -1, 0)
                variance[x[block]] = np.maximum(square[:, 0] - mean[:, 0] ** 2, 0.0)
        return variance

    def _exact(
        self, ranks: Ranks | ArrayLike, draw: Draw | None
    ) -> tuple[Ranks, tuple[int, ...], Draw]:
        """Return exact ranks, the shape of results, and the draw as it is really made."""
        real = as_one_size(self.draw if draw is None else draw)
        m, sizes = self.draw.n_samples, np.shape(np.asarray(real.n_items))
        if real.n_samples != m:
            raise ValueError(f"draw.n_samples is {real.n_samples}; it was fitted for {m}")
        if sizes and self._sizes.shape not in ((), sizes):
            fitted = self._sizes.shape
            raise ValueError(f"draw.n_items has shape {sizes}; it was fitted for shape {fitted}")
        rows, _, shape = real.rows_of(ranks)
        self._items_each("ranks", shape)
        return rows, shape, real

    def _expect(
        self,
        rows: Ranks,
        shape: tuple[int, ...],
        draw: Draw,
        columns: Callable[[FloatArray], FloatArray],
    ) -> FloatArray:
        """Return expectations of what `columns` makes of each table, one or several."""
        fitted = np.broadcast_to(self._sizes, shape).ravel()
        found = np.empty(fitted.shape + columns(np.zeros(draw.n_samples + 1)).shape[1:])
        for (n,), x in alike(fitted):
            values, some = columns(self._terms(1, n)[0]), rows if len(x) == len(rows) else rows[x]
            found[x] = expectation_over_ties(values, some, replacement=draw.replacement)
        each: FloatArray = found.reshape(shape + found.shape[1:])[()]  # no 0-d array
        return each


def _at(tables: FloatArray, place: NDArray[Any]) -> FloatArray:
    """Return ``tables[..., place]``: of one table, or of one for each entry of the last axis."""
    return np.asarray(tables[place if tables.ndim == 1 else (np.arange(len(tables)), place)])


class Estimator(ABC):
    """A way to turn sampled ranks into estimates of a metric.

    To write one of your own, derive a frozen dataclass (``eq=False``) from this class, with its
    parameters as fields and one method, `solve`.

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
            If `draw` does not know `n_items`, the estimator's prior has another number of ranks, or
            no exact rank leads to some sampled rank.

        Notes
        -----
        For several relevant items, see `CorrectedMetric.terms`: the prior of the j-th best is
        uniform over its ranks among the irrelevant items.

        Averages over ranks are sums over a few hundred of them, exact up to rounding, where the
        metric is smooth in the rank up to its cutoff `k`, and over all ranks elsewhere.
        """
        as_kind("metric", metric, Metric, "Recall(k=10)")
        if (shape := np.shape(np.asarray(as_single(draw).n_items)))[1:]:
            raise ValueError(f"draw.n_items has shape {shape}; draw.n_items must be flat for a fit")
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
