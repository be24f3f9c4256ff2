r"""From ranks to numbers: what a metric is.

All metrics here have the same form.
An instance has :math:`q` relevant items at ranks :math:`r_1 < r_2 < \dots`, and the metric is

.. math:: M = \frac{1}{Z} \sum_{j : r_j \le k} g(j, r_j),

where the gain :math:`g` of the j-th best relevant item depends on no rank but its own, and the
normalizer :math:`Z` is one number for the instance.
A metric is therefore two short methods, `Metric.gain` and `Metric.normalizer`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import Field, fields, is_dataclass
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._checks import FloatArray, IntArray, as_choice, as_integer, as_real
from sampled_metrics.ranks import Ranks, as_rows, known_items
from sampled_metrics.ties import TiedRanks, one_instance_each

__all__ = ["Metric"]

PIECE = 2**20  # ranks whose gains are in memory at once


class _NameOfTheClass:
    """An attribute that is the name of the class it is asked for, not of the one that has it."""

    def __get__(self, metric: object, kind: type[Any]) -> str:
        return kind.__name__


class Metric(ABC):
    r"""A ranking metric: call it on ranks to get one value per instance.

    Metrics are small frozen values: they compare equal when their parameters do, and
    ``str(NDCG(k=10))`` is ``"NDCG@10"``.
    An instance without relevant items has the value NaN.

    To write a metric of your own, derive a frozen dataclass from this class. Give it a field `k`
    (the cutoff, or None), the methods `gain` and `normalizer`, and a name `symbol` if it is not
    called like its class. Fields annotated as `Literal` are checked. Everything in this package
    then works with the metric. A class that is no dataclass works, too, but nothing is checked,
    and its name in print has no parameter but `k`.
    Corrections also compute the gain between whole ranks, so it must be smooth up to rank k.

    Attributes
    ----------
    symbol : str
        The name in print, without the cutoff. By default the name of the class.
    k : int or None
        The cutoff: ranks beyond it add nothing.
    needs_n_items : bool
        Whether the metric cannot be computed without the number of ranked items.

    Examples
    --------
    Rank-biased precision (Moffat & Zobel 2008): a reader looks at the first item, and after each
    goes on to the next with probability p.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class RankBiasedPrecision(Metric):
    ...     symbol = "RBP"
    ...     k: int | None = None
    ...     p: float = 0.8
    ...
    ...     def gain(self, rank, order, n_relevant, n_items):
    ...         return (1 - self.p) * self.p ** (rank - 1)
    ...
    ...     def normalizer(self, ranks):
    ...         return 1
    >>> RankBiasedPrecision(k=10)([1, 2, 11]).round(3)
    array([0.2 , 0.16, 0.  ])
    """

    symbol: ClassVar[str] = _NameOfTheClass()  # type: ignore[assignment]
    needs_n_items: ClassVar[bool] = False
    k: int | None

    def __post_init__(self) -> None:
        """Check the cutoff, and the choices that are annotated as `Literal`."""
        parameters = fields(self)  # type: ignore[arg-type]
        for field in parameters:
            value = getattr(self, field.name)
            if field.name == "k" and not (value is None and field.default is None):
                object.__setattr__(self, "k", as_integer("k", value))
            elif "Literal" in str(field.type):
                hint = get_type_hints(type(self))[field.name]
                if get_origin(hint) is Literal:
                    as_choice(field.name, value, get_args(hint))

    @abstractmethod
    def gain(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        """Compute what relevant items add at their ranks, before the cutoff and the normalizer.

        It works entry by entry, on numbers or on arrays that broadcast.

        Parameters
        ----------
        rank : array of int or float
            Rank of the item. Corrections also use ranks between whole numbers.
        order : array of int
            1 for the best relevant item of its instance, 2 for the next, and so on.
        n_relevant : array of int
            Number of relevant items of its instance.
        n_items : array of int, or None
            Number of ranked items of its instance, None if it is not known.

        Returns
        -------
        array of float
            One value per entry.
        """

    @abstractmethod
    def normalizer(self, ranks: Ranks) -> Any:
        """Compute what the sum of the gains is divided by, for each instance.

        Parameters
        ----------
        ranks : Ranks
            The instances, as `Ranks` describes them.

        Returns
        -------
        array of float, shape (n_instances,), or float
            One value per instance, or one for all.
        """

    def relevance_weight(self, relevance: FloatArray) -> FloatArray:
        """Compute the factor by which the relevance of an item multiplies its gain.

        Parameters
        ----------
        relevance : ndarray of float64
            How relevant each item is, above 0.

        Returns
        -------
        ndarray of float64
            By default 1: all relevant items count the same.
        """
        return np.ones_like(relevance)

    def __call__(
        self, ranks: Ranks | TiedRanks | ArrayLike, n_items: ArrayLike | None = None
    ) -> FloatArray:
        """Compute the metric of each instance.

        Parameters
        ----------
        ranks : Ranks, TiedRanks or array_like of int
            A plain array of any shape holds one relevant item per entry, ranks from 1.
            The metric of a `TiedRanks` is its mean over all ways to break the ties.
        n_items : int or array_like of int, optional
            Number of ranked items, one for all or one per instance (it broadcasts). Give it if
            `ranks` does not know it: `AUC` needs it, and other metrics check the ranks against it.

        Returns
        -------
        ndarray of float64
            One value per instance: the shape of a plain array, else (n_instances,).
            NaN for an instance without relevant items.

        Raises
        ------
        ValueError
            If a rank is not a whole number from 1 to `n_items`, or the metric lacks what it needs.
        """
        if isinstance(ranks, TiedRanks):
            one_instance_each("ranks", ranks)
            return self._over_ties(ranks, known_items("ranks", ranks, n_items))
        rows, shape = as_rows(ranks, n_items)
        if self.needs_n_items and rows.n_items is None:
            raise ValueError(f"n_items is None; {self} needs the number of ranked items")
        with np.errstate(invalid="ignore", divide="ignore"):
            value = rows.sum(self._gains(rows)) / self.normalizer(rows)
        if not rows.is_one_each:
            value = np.where(rows.n_relevant > 0, value, np.nan)
        found: FloatArray = np.asarray(value, dtype=np.float64).reshape(shape)[()]  # no 0-d array
        return found

    def _gains(self, rows: Ranks) -> FloatArray:
        """Return what each rank adds, shape (n_ranked,)."""
        if rows.is_one_each:
            gains = self.cut(self.gain(rows.values, 1, 1, rows.n_items), rows.values)
        else:
            x = rows.instance
            n = None if rows.n_items is None else rows.n_items[x]
            gains = self.cut(self.gain(rows.values, rows.order, rows.n_relevant[x], n), rows.values)
        return gains if rows.gains is None else gains * self.relevance_weight(rows.gains)

    def cut(self, gains: Any, rank: NDArray[Any]) -> FloatArray:
        """Return the gains at these ranks, and 0 beyond the cutoff, in the shape of `rank`."""
        if gains is None:
            raise ValueError(f"{type(self).__name__}.gain returns None; let it return the gains")
        if self.k is None:
            return np.broadcast_to(np.asarray(gains, dtype=np.float64), rank.shape)
        return np.where(rank <= self.k, gains, 0.0)

    def _over_ties(self, ranks: TiedRanks, n_items: IntArray) -> FloatArray:
        """Return the mean over all ways to break ties, from sums over the ranks 1, ..., r."""
        mean = np.empty(len(ranks))
        sizes = np.unique(n_items) if self.needs_n_items else [None]
        for n in sizes:
            x = np.arange(len(ranks)) if n is None else np.flatnonzero(n_items == n)
            best, tied = ranks.best[x], ranks.n_tied[x]
            mean[x] = self(best, n)
            x, best, tied = x[tied > 0], best[tied > 0], tied[tied > 0]
            before, upto = self._sums_up_to(np.stack([best - 1, best + tied]), n)
            mean[x] = (upto - before) / (tied + 1)
        return mean

    def _sums_up_to(self, last: IntArray, n: int | None) -> FloatArray:
        """Return the sum of the metric over the ranks 1, ..., last, each a whole number from 0."""
        ends = last if self.k is None else np.minimum(last, self.k)
        sums, total = np.zeros(ends.shape), 0.0
        for start in range(0, int(ends.max(initial=0)), PIECE):
            stop = min(start + PIECE, int(ends.max()))
            part = total + np.append(0, np.cumsum(self(np.arange(start + 1, stop + 1), n)))
            here = (ends > start) & (ends <= stop)
            sums[here] = part[ends[here] - start]
            total = part[-1]
        return sums

    def mean(
        self,
        ranks: Ranks | TiedRanks | ArrayLike,
        n_items: ArrayLike | None = None,
        empty: float = np.nan,
    ) -> float:
        """Average the metric over all instances (Krichene & Rendle 2020, equation 1).

        Parameters
        ----------
        ranks, n_items
            As in a call of the metric.
        empty : float
            The value of an instance for which the metric is not defined, such as 0: one without
            relevant items or, for AUC, without any other item. With NaN, the default, the mean
            leaves out such instances.

        Returns
        -------
        float
            NaN if no instance counts.

        Raises
        ------
        ValueError
            As calling the metric.

        Examples
        --------
        >>> from sampled_metrics import Recall
        >>> users = Ranks.from_lists([[1], []])
        >>> Recall(k=1).mean(users), Recall(k=1).mean(users, empty=0)
        (1.0, 0.5)
        """
        of_empty = as_real("empty", empty)
        values = self(ranks, n_items)
        values = np.where(np.isnan(values), of_empty, values)
        counted = values[~np.isnan(values)]
        return float(counted.mean()) if counted.size else float("nan")

    def _capped(self, counts: IntArray) -> IntArray:
        return counts if self.k is None else np.minimum(counts, self.k)

    def _n_predicted(self, rows: Ranks) -> IntArray:
        if rows.n_predicted is None:
            raise ValueError(
                'denominator is "predicted"; it needs the lengths of the lists of recommendations, '
                "as ranks_from_recommendations keeps them"
            )
        return np.maximum(self._capped(rows.n_predicted), 1)

    def _n_hits(self, rows: Ranks) -> IntArray:
        """Count the ranks of each instance up to the cutoff."""
        hits = self.cut(np.ones(rows.values.shape), rows.values)
        return rows.sum(hits).astype(np.int64)

    def __str__(self) -> str:
        """Return the name in print, such as ``NDCG@10``."""
        name = self.symbol if self.k is None else f"{self.symbol}@{self.k}"
        parameters: tuple[Field[Any], ...] = fields(self) if is_dataclass(self) else ()
        rest = [
            f"{f.name}={getattr(self, f.name)}"
            for f in parameters
            if f.name != "k" and getattr(self, f.name) != f.default
        ]
        return f"{name} ({', '.join(rest)})" if rest else name
