r"""Ranks to numbers: the metrics.

Every metric here has one shape.
An instance has :math:`q` relevant items at ranks :math:`r_1 < r_2 < \dots`, and the metric is

.. math:: M = \frac{1}{Z} \sum_j g(j, r_j),

where the gain :math:`g` of the j-th best relevant item looks at its own rank alone and the
normalizer :math:`Z` at the instance.
A metric is therefore two short functions, ``_gain`` and ``_normalizer``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._checks import (
    FloatArray,
    IntArray,
    as_choice,
    as_integer,
    one_or_one_each,
    refuse,
)
from sampled_metrics.ranking import Ranks

__all__ = [
    "AUC",
    "F1",
    "NDCG",
    "AveragePrecision",
    "Metric",
    "Precision",
    "Recall",
    "ReciprocalRank",
]


class Metric(ABC):
    """A ranking metric: call it on ranks, get one value per instance.

    Metrics are small frozen value objects: they compare equal when their parameters do, and
    ``str(NDCG(k=10))`` is ``"NDCG@10"``.
    All values lie in [0, 1], up to rounding; an instance without relevant items has the value NaN.

    A metric of one's own is a frozen dataclass with a name ``_symbol``, a cutoff ``k`` (or None)
    and the methods ``_gain`` and ``_normalizer``.
    The corrections also ask for the gain between whole ranks, so it must be smooth up to rank k.
    """

    _symbol: ClassVar[str]
    k: int | None

    def __call__(self, ranks: Ranks | ArrayLike, n_items: ArrayLike | None = None) -> FloatArray:
        """Compute the metric of each instance.

        Parameters
        ----------
        ranks : Ranks or array_like of int
            A plain array of any shape holds one relevant item per entry, ranks from 1.
        n_items : int or array_like of int, optional
            Number of ranked items, one for all or one per instance (it broadcasts).
            `AUC` needs it; the other metrics only check the ranks against it.

        Returns
        -------
        ndarray of float64
            One value per instance: the shape of a plain array, else (n_instances,).
            NaN for an instance without relevant items.

        Raises
        ------
        ValueError
            If a rank is not a whole number from 1 to `n_items`, or `AUC` misses what it needs.
        """
        rows = Ranks.coerce(ranks)
        shape = (len(rows),) if isinstance(ranks, Ranks) else np.shape(ranks)
        n = None
        if n_items is not None:
            n = one_or_one_each("n_items", n_items, shape, low=1).ravel()
            _check_within(rows, n, shape)
        with np.errstate(invalid="ignore", divide="ignore"):
            value = rows.total(self._gain(rows, n)) / self._normalizer(rows, n)
        return np.where(rows.n_relevant > 0, value, np.nan).reshape(shape)

    def mean(
        self,
        ranks: Ranks | ArrayLike,
        n_items: ArrayLike | None = None,
        empty: float = np.nan,
    ) -> float:
        """Average the metric over all instances (Krichene & Rendle 2020, equation 1).

        Parameters
        ----------
        ranks, n_items
            As in calling the metric.
        empty : float
            What an instance without relevant items counts, such as 0.
            With NaN, the default, it is left out of the mean.

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
        >>> users = Ranks.from_lists([[1], []])
        >>> Recall(k=1).mean(users), Recall(k=1).mean(users, empty=0)
        (1.0, 0.5)
        """
        if isinstance(empty, bool) or not isinstance(empty, int | float | np.number):
            raise ValueError(f"empty is {empty!r}; empty must be a number")
        values = self(ranks, n_items)
        values = np.where(np.isnan(values), empty, values)
        counted = values[~np.isnan(values)]
        return float(counted.mean()) if counted.size else float("nan")

    @abstractmethod
    def _gain(self, rows: Ranks, n: IntArray | None) -> FloatArray:
        """Return g(j, r_j) of each rank, shape (n_ranked,)."""

    @abstractmethod
    def _normalizer(self, rows: Ranks, n: IntArray | None) -> FloatArray | IntArray | int:
        """Return Z of each instance, shape (n_instances,)."""

    def _cut(self, rows: Ranks) -> np.ndarray:
        """Tell which ranks count: all, or those of at most k."""
        if self.k is None:
            return np.ones(rows.values.shape, dtype=bool)
        return rows.values <= self.k

    def _capped(self, counts: IntArray) -> IntArray:
        return counts if self.k is None else np.minimum(counts, self.k)

    def _n_predicted(self, rows: Ranks) -> IntArray:
        if rows.n_predicted is None:
            raise ValueError(
                'denominator is "predicted"; it needs the lengths of the lists of recommendations, '
                "as Ranks.from_recommendations keeps them"
            )
        return np.maximum(self._capped(rows.n_predicted), 1)

    def __str__(self) -> str:
        """Return the name in print, such as ``NDCG@10``."""
        name = self._symbol if self.k is None else f"{self._symbol}@{self.k}"
        rest = [
            f"{f.name}={getattr(self, f.name)}"
            for f in fields(self)  # type: ignore[arg-type]
            if f.name != "k" and getattr(self, f.name) != f.default
        ]
        return f"{name} ({', '.join(rest)})" if rest else name


def _check_within(rows: Ranks, n: IntArray, shape: tuple[int, ...]) -> None:
    """Refuse a rank above its instance's number of items, at its place in the caller's array."""
    if (few := np.flatnonzero(rows.n_relevant > n)).size:
        x = few[0]
        raise ValueError(
            f"n_items is {n[x]} for instance {x}, which has {rows.n_relevant[x]} relevant items"
        )
    bad = rows.values > rows.spread(n)
    if not bad.any():
        return
    if (rows.n_ranked == 1).all():
        rule = f"at most n_items, {n[np.flatnonzero(bad)[0]]}"
        refuse("ranks", rows.values.reshape(shape), bad.reshape(shape), rule)
    at = np.flatnonzero(bad)[0]
    x = int(np.searchsorted(rows.offsets, at, side="right")) - 1
    raise ValueError(
        f"ranks[{x}] holds rank {rows.values[at]}; ranks must be at most n_items, {n[x]}"
    )


class _Cut(Metric):
    """A metric with a cutoff k."""

    def __post_init__(self) -> None:
        optional = fields(self)[0].default is None  # type: ignore[arg-type]
        if not (optional and self.k is None):
            object.__setattr__(self, "k", as_integer("k", self.k))


@dataclass(frozen=True)
class AUC(Metric):
    r"""Area under the ROC curve: how often a relevant item stands above an irrelevant one.

    .. math:: \mathrm{AUC}(R)_n = \frac{1}{|R|\,(n - |R|)} \sum_j (n - |R| + j - r_j)

    This is equation 2 of Krichene & Rendle (2020); with one relevant item it is
    :math:`(n - r)/(n - 1)`, equation 7.
    It needs `n_items` and the rank of every relevant item, and is NaN where nothing is irrelevant.

    Examples
    --------
    >>> AUC()([1, 100, 10_000], n_items=10_000).round(4)
    array([1.    , 0.9901, 0.    ])
    """

    _symbol: ClassVar[str] = "AUC"
    k: ClassVar[None] = None  # type: ignore[misc]

    def _gain(self, rows: Ranks, n: IntArray | None) -> FloatArray:
        if n is None:
            raise ValueError("n_items is None; AUC needs the number of ranked items")
        if (unranked := np.flatnonzero(rows.n_ranked < rows.n_relevant)).size:
            x = unranked[0]
            raise ValueError(
                f"ranks[{x}] has {rows.n_relevant[x]} relevant items but {rows.n_ranked[x]} ranks; "
                "AUC needs the rank of every relevant item"
            )
        return (rows.spread(n - rows.n_relevant) + rows.order - rows.values).astype(np.float64)

    def _normalizer(self, rows: Ranks, n: IntArray | None) -> FloatArray:
        assert n is not None
        pairs = rows.n_relevant.astype(np.float64) * (n - rows.n_relevant)
        return np.where(pairs > 0, pairs, np.nan)


@dataclass(frozen=True)
class Precision(_Cut):
    r"""Precision at k: the share of the top k positions that hold a relevant item.

    .. math:: \mathrm{Prec}(R)_k = \frac{|\{r \in R : r \le k\}|}{k}

    Equation 3 of Krichene & Rendle (2020).

    Parameters
    ----------
    k : int
        Cutoff, at least 1.
    denominator : {"k", "predicted"}
        "k" divides by k even where fewer items were recommended; "predicted" by
        min(length of the list of recommendations, k), and an empty list has precision 0.

    Examples
    --------
    >>> Precision(k=3)(Ranks.from_lists([[1, 2, 7], [4]])).round(3)
    array([0.667, 0.   ])
    >>> short = Ranks.from_recommendations([[5, 8]], [[5]])
    >>> Precision(k=4)(short), Precision(k=4, denominator="predicted")(short)
    (array([0.25]), array([0.5]))
    """

    _symbol: ClassVar[str] = "Precision"
    k: int
    denominator: str = "k"

    def __post_init__(self) -> None:
        super().__post_init__()
        as_choice("denominator", self.denominator, ("k", "predicted"))

    def _gain(self, rows: Ranks, n: IntArray | None) -> FloatArray:
        return self._cut(rows).astype(np.float64)

    def _normalizer(self, rows: Ranks, n: IntArray | None) -> IntArray | int:
        return self.k if self.denominator == "k" else self._n_predicted(rows)


@dataclass(frozen=True)
class Recall(_Cut):
    r"""Recall at k: the share of the relevant items that stand in the top k.

    .. math:: \mathrm{Recall}(R)_k = \frac{|\{r \in R : r \le k\}|}{|R|}

    Equation 4 of Krichene & Rendle (2020).
    With one relevant item it is also called hit rate or hit ratio (HR@k).

    Parameters
    ----------
    k : int
        Cutoff, at least 1.
    denominator : {"relevant", "capped"}
        "relevant" divides by the number of relevant items; "capped" by
        min(number of relevant items, k), so that a top k full of hits has recall 1.

    Examples
    --------
    >>> Recall(k=10)([212, 2, 743, 5342, 1548])
    array([0., 1., 0., 0., 0.])
    >>> many = Ranks.from_lists([[1, 2, 7, 9]])
    >>> Recall(k=2)(many), Recall(k=2, denominator="capped")(many)
    (array([0.5]), array([1.]))
    """

    _symbol: ClassVar[str] = "Recall"
    k: int
    denominator: str = "relevant"

    def __post_init__(self) -> None:
        super().__post_init__()
        as_choice("denominator", self.denominator, ("relevant", "capped"))

    def _gain(self, rows: Ranks, n: IntArray | None) -> FloatArray:
        return self._cut(rows).astype(np.float64)

    def _normalizer(self, rows: Ranks, n: IntArray | None) -> IntArray:
        return rows.n_relevant if self.denominator == "relevant" else self._capped(rows.n_relevant)


@dataclass(frozen=True)
class F1(_Cut):
    r"""F1 at k: the harmonic mean of precision and recall at k.

    .. math:: \mathrm{F1}(R)_k = \frac{2\,\mathrm{Prec}_k\,\mathrm{Recall}_k}
              {\mathrm{Prec}_k + \mathrm{Recall}_k} = \frac{2\,|\{r \in R : r \le k\}|}{k + |R|}

    The right side shows that it is 0, not 0/0, where precision and recall are both 0.

    Parameters
    ----------
    k : int
        Cutoff, at least 1.

    Examples
    --------
    >>> F1(k=3)(Ranks.from_lists([[1, 2, 7], [4]])).round(3)
    array([0.667, 0.   ])
    """

    _symbol: ClassVar[str] = "F1"
    k: int

    def _gain(self, rows: Ranks, n: IntArray | None) -> FloatArray:
        return np.where(self._cut(rows), 2.0, 0.0)

    def _normalizer(self, rows: Ranks, n: IntArray | None) -> IntArray:
        return self.k + rows.n_relevant


@dataclass(frozen=True)
class AveragePrecision(_Cut):
    r"""Average precision: the precision at each relevant item's rank, averaged.

    .. math:: \mathrm{AP}(R)_k = \frac{1}{Z} \sum_{j : r_j \le k} \frac{j}{r_j}

    Equation 5 of Krichene & Rendle (2020), where :math:`Z = \min(|R|, k)`; libraries differ in Z.
    The mean over instances is called MAP.

    Parameters
    ----------
    k : int, optional
        Cutoff, at least 1; without one all ranks count.
    denominator : {"capped", "relevant", "hits", "predicted"}
        Z: "capped" is the paper's min(number of relevant items, k); "relevant" the number of
        relevant items; "hits" the number of relevant items in the top k (AP is 0 without any);
        "predicted" is min(length of the list of recommendations, k).

    Examples
    --------
    >>> users = Ranks.from_recommendations([[1, 6, 8]], [[1, 2, 3, 4, 5, 6]])
    >>> AveragePrecision(k=3)(users).round(3), AveragePrecision(k=3, denominator="hits")(users)
    (array([0.667]), array([1.]))
    """

    _symbol: ClassVar[str] = "AP"
    k: int | None = None
    denominator: str = "capped"

    def __post_init__(self) -> None:
        super().__post_init__()
        as_choice("denominator", self.denominator, ("capped", "relevant", "hits", "predicted"))

    def _gain(self, rows: Ranks, n: IntArray | None) -> FloatArray:
        return np.where(self._cut(rows), rows.order / rows.values, 0.0)

    def _normalizer(self, rows: Ranks, n: IntArray | None) -> IntArray:
        if self.denominator == "relevant":
            return rows.n_relevant
        if self.denominator == "capped":
            return self._capped(rows.n_relevant)
        if self.denominator == "hits":
            return np.maximum(_n_hits(self, rows), 1)
        return self._n_predicted(rows)


@dataclass(frozen=True)
class ReciprocalRank(_Cut):
    r"""Reciprocal rank: one over the rank of the best relevant item, 0 beyond the cutoff.

    .. math:: \mathrm{RR}(R)_k = \frac{1}{r_1} \quad (0 \text{ if } r_1 > k)

    With one relevant item it equals average precision (Krichene & Rendle 2020, Section 3.1).
    The mean over instances is called MRR.

    Parameters
    ----------
    k : int, optional
        Cutoff, at least 1; without one all ranks count.

    Examples
    --------
    >>> ReciprocalRank()(Ranks.from_lists([[5, 2], [4]]))
    array([0.5 , 0.25])
    """

    _symbol: ClassVar[str] = "RR"
    k: int | None = None

    def _gain(self, rows: Ranks, n: IntArray | None) -> FloatArray:
        return np.where(self._cut(rows) & (rows.order == 1), 1.0 / rows.values, 0.0)

    def _normalizer(self, rows: Ranks, n: IntArray | None) -> int:
        return 1


@dataclass(frozen=True)
class NDCG(_Cut):
    r"""Normalized discounted cumulative gain.

    .. math:: \mathrm{NDCG}(R)_k = \frac{\sum_{j : r_j \le k} g_j/\log_2(r_j + 1)}
              {\sum_{i=1}^{I} g^*_i/\log_2(i + 1)}

    With all gains :math:`g_j = 1` this is equation 6 of Krichene & Rendle (2020).
    The denominator is the numerator of an ideal ranking, which has the gains :math:`g^*_1 \ge
    g^*_2 \ge \dots` in this order and :math:`I = \min(|R|, k)` relevant items in its top k.

    Parameters
    ----------
    k : int, optional
        Cutoff, at least 1; without one all ranks count.
    ideal : {"relevant", "hits", "full"}
        What the ideal ranking holds: "relevant" is the paper's, all relevant items; "hits" only
        those that were found in the top k, sorted (NDCG is 0 without any); "full" k items of
        gain 1, also where fewer are relevant.
    gain : {"linear", "exponential"}
        What an item of relevance g adds: g, or :math:`2^g - 1`.
        The two agree where items are just relevant or not, g = 1.

    Examples
    --------
    >>> NDCG()([1, 2, 3]).round(3)
    array([1.   , 0.631, 0.5  ])

    Five items, with how relevant each is, in the order of a ranking:

    >>> graded = Ranks.from_lists([[1, 2, 3, 4, 5]], gains=[[10, 20, 3, 7, 10]])
    >>> NDCG(k=3)(graded).round(4)
    array([0.7703])
    """

    _symbol: ClassVar[str] = "NDCG"
    k: int | None = None
    ideal: str = "relevant"
    gain: str = "linear"

    def __post_init__(self) -> None:
        super().__post_init__()
        as_choice("ideal", self.ideal, ("relevant", "hits", "full"))
        if self.ideal == "full" and self.k is None:
            raise ValueError('k is None; NDCG with ideal "full" needs a cutoff')
        as_choice("gain", self.gain, ("linear", "exponential"))

    def _gain(self, rows: Ranks, n: IntArray | None) -> FloatArray:
        discounted = 1.0 / np.log2(rows.values + 1.0)
        if rows.gains is not None:
            discounted *= self._worth(rows.gains)
        return np.where(self._cut(rows), discounted, 0.0)

    def _normalizer(self, rows: Ranks, n: IntArray | None) -> FloatArray:
        hits = self.ideal == "hits"
        if self.ideal == "full" and rows.gains is not None and np.any(rows.ideal_gains != 1):
            raise ValueError('ideal is "full", k items of gain 1; it needs all gains to be 1')
        if rows.gains is None or self.ideal == "full":
            # The discounts of the ranks 1, 2, ..., summed up; 1 for none, as 0 / 1 is 0.
            counts = _n_hits(self, rows) if hits else rows.n_relevant
            counts = self._capped(np.full_like(counts, self.k) if self.ideal == "full" else counts)
            discounts = 1.0 / np.log2(np.arange(2, counts.max(initial=0) + 2))
            return np.append(1.0, np.cumsum(discounts))[counts]
        # The ideal ranking: the instance's gains, the largest first, at the ranks 1, 2, ...
        counts, gains = rows.n_relevant, rows.ideal_gains
        if hits:
            kept = self._cut(rows)
            owner, gains = rows.owner[kept], rows.gains[kept]
            gains = gains[np.lexsort((-gains, owner))]
            counts = np.bincount(owner, minlength=len(rows))
        offsets = np.append(0, np.cumsum(counts))
        ranks = np.arange(1, offsets[-1] + 1) - np.repeat(offsets[:-1], counts)
        best = Ranks(ranks, offsets, counts, gains=gains, ideal_gains=gains)
        ideal = best.total(self._gain(best, n))
        return np.where(ideal > 0, ideal, 1.0)

    def _worth(self, gains: FloatArray) -> FloatArray:
        if self.gain == "linear":
            return gains
        if (gains > 1000).any():
            refuse("gains", gains, gains > 1000, 'at most 1000 where gain is "exponential"')
        worth: FloatArray = np.expm1(gains * np.log(2.0))
        return worth


def _n_hits(metric: Metric, rows: Ranks) -> IntArray:
    """Count the ranks of each instance that the metric's cutoff lets through."""
    return rows.total(metric._cut(rows).astype(np.float64)).astype(np.int64)
