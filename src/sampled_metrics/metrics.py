"""The metrics: AUC, precision, recall, F1, average precision, reciprocal rank and NDCG."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from sampled_metrics._checks import FloatArray, IntArray, refuse
from sampled_metrics._flat import offsets_of
from sampled_metrics.metric import Metric
from sampled_metrics.ranks import Ranks, check_all_ranked, one_relevant_each
from sampled_metrics.ties import TiedRanks

__all__ = [
    "AUC",
    "F1",
    "NDCG",
    "AveragePrecision",
    "Precision",
    "Recall",
    "ReciprocalRank",
]


@dataclass(frozen=True)
class AUC(Metric):
    r"""Area under the ROC curve: how often a relevant item is ranked above an irrelevant one.

    .. math:: \mathrm{AUC}(R)_n = \frac{1}{|R|\,(n - |R|)} \sum_j (n - |R| + j - r_j)

    This is equation 2 of Krichene & Rendle (2020); with one relevant item it is
    :math:`(n - r)/(n - 1)`, equation 7.
    It needs `n_items` and the rank of every relevant item, and is NaN if no item is irrelevant.

    Examples
    --------
    >>> AUC()([1, 100, 10_000], n_items=10_000).round(4)
    array([1.    , 0.9901, 0.    ])
    """

    symbol = "AUC"
    needs_n_items = True
    k: ClassVar[None] = None  # type: ignore[misc]

    def gain(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        """Count the irrelevant items below: see `Metric.gain`."""
        return n_items - n_relevant + order - rank

    def normalizer(self, ranks: Ranks) -> FloatArray:
        """Count the pairs of a relevant and an irrelevant item: see `Metric.normalizer`."""
        assert ranks.n_items is not None  # checked before
        check_all_ranked("ranks", ranks, "for AUC")
        pairs = ranks.n_relevant.astype(np.float64) * (ranks.n_items - ranks.n_relevant)
        return np.where(pairs > 0, pairs, np.nan)

    def _over_ties(self, ranks: TiedRanks, n_items: IntArray) -> FloatArray:
        """Return the value at the middle rank: it is linear in the rank."""
        middle = ranks.best + ranks.n_tied / 2
        pairs = self.normalizer(one_relevant_each(ranks.best, n_items))
        return np.asarray(self.gain(middle, 1, 1, n_items) / pairs)


@dataclass(frozen=True)
class Precision(Metric):
    r"""Precision at k: the share of the top k positions that hold a relevant item.

    .. math:: \mathrm{Prec}(R)_k = \frac{|\{r \in R : r \le k\}|}{k}

    Equation 3 of Krichene & Rendle (2020).

    Parameters
    ----------
    k : int
        Cutoff, at least 1.
    denominator : {"k", "predicted"}
        "k" divides by k even if fewer items were recommended; "predicted" divides by
        min(length of the list of recommendations, k), and an empty list has precision 0.

    Examples
    --------
    >>> Precision(k=3)(Ranks.from_lists([[1, 2, 7], [4]])).round(3)
    array([0.667, 0.   ])
    >>> from sampled_metrics import ranks_from_recommendations
    >>> short = ranks_from_recommendations([[5, 8]], [[5]])
    >>> Precision(k=4)(short), Precision(k=4, denominator="predicted")(short)
    (array([0.25]), array([0.5]))
    """

    symbol = "Precision"
    k: int
    denominator: Literal["k", "predicted"] = "k"

    def gain(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        """Count the item: see `Metric.gain`."""
        return np.ones(np.shape(rank))

    def normalizer(self, ranks: Ranks) -> IntArray | int:
        """Return k or what takes its place: see `Metric.normalizer`."""
        return self.k if self.denominator == "k" else self._n_predicted(ranks)


@dataclass(frozen=True)
class Recall(Metric):
    r"""Recall at k: the share of the relevant items that are in the top k.

    .. math:: \mathrm{Recall}(R)_k = \frac{|\{r \in R : r \le k\}|}{|R|}

    Equation 4 of Krichene & Rendle (2020).
    With one relevant item it is also called hit rate or hit ratio (HR@k).

    Parameters
    ----------
    k : int
        Cutoff, at least 1.
    denominator : {"relevant", "capped"}
        "relevant" divides by the number of relevant items; "capped" divides by
        min(number of relevant items, k), so recall is 1 if all of the top k are relevant.

    Examples
    --------
    >>> Recall(k=10)([212, 2, 743, 5342, 1548])
    array([0., 1., 0., 0., 0.])
    >>> many = Ranks.from_lists([[1, 2, 7, 9]])
    >>> Recall(k=2)(many), Recall(k=2, denominator="capped")(many)
    (array([0.5]), array([1.]))
    """

    symbol = "Recall"
    k: int
    denominator: Literal["relevant", "capped"] = "relevant"

    def gain(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        """Count the item: see `Metric.gain`."""
        return np.ones(np.shape(rank))

    def normalizer(self, ranks: Ranks) -> IntArray:
        """Count the relevant items: see `Metric.normalizer`."""
        capped = self.denominator == "capped"
        return self._capped(ranks.n_relevant) if capped else ranks.n_relevant


@dataclass(frozen=True)
class F1(Metric):
    r"""F1 at k: the harmonic mean of precision and recall at k.

    .. math:: \mathrm{F1}(R)_k = \frac{2\,\mathrm{Prec}_k\,\mathrm{Recall}_k}
              {\mathrm{Prec}_k + \mathrm{Recall}_k} = \frac{2\,|\{r \in R : r \le k\}|}{k + |R|}

    The last form shows that F1 is 0, not 0/0, if precision and recall are both 0.

    Parameters
    ----------
    k : int
        Cutoff, at least 1.

    Examples
    --------
    >>> F1(k=3)(Ranks.from_lists([[1, 2, 7], [4]])).round(3)
    array([0.667, 0.   ])
    """

    symbol = "F1"
    k: int

    def gain(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        """Count the item twice: see `Metric.gain`."""
        return np.full(np.shape(rank), 2.0)

    def normalizer(self, ranks: Ranks) -> IntArray:
        """Add k and the number of relevant items: see `Metric.normalizer`."""
        return self.k + ranks.n_relevant


@dataclass(frozen=True)
class AveragePrecision(Metric):
    r"""Average precision: the precision at each relevant item's rank, averaged.

    .. math:: \mathrm{AP}(R)_k = \frac{1}{Z} \sum_{j : r_j \le k} \frac{j}{r_j}

    Equation 5 of Krichene & Rendle (2020), where :math:`Z = \min(|R|, k)`; libraries differ in Z.
    The mean over instances is called MAP.

    Parameters
    ----------
    k : int, optional
        Cutoff, at least 1; without one all ranks count.
    denominator : {"capped", "relevant", "hits", "predicted"}
        Z: "capped" is the paper's min(number of relevant items, k); "relevant" is the number of
        relevant items; "hits" is the number of relevant items in the top k (without any, AP is 0);
        "predicted" is min(length of the list of recommendations, k).

    Examples
    --------
    >>> from sampled_metrics import ranks_from_recommendations
    >>> users = ranks_from_recommendations([[1, 6, 8]], [[1, 2, 3, 4, 5, 6]])
    >>> AveragePrecision(k=3)(users).round(3), AveragePrecision(k=3, denominator="hits")(users)
    (array([0.667]), array([1.]))
    """

    symbol = "AP"
    k: int | None = None
    denominator: Literal["capped", "relevant", "hits", "predicted"] = "capped"

    def gain(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        """Return the precision at the item's rank: see `Metric.gain`."""
        return order / rank

    def normalizer(self, ranks: Ranks) -> IntArray:
        """Return Z: see `Metric.normalizer`."""
        if self.denominator == "relevant":
            return ranks.n_relevant
        if self.denominator == "capped":
            return self._capped(ranks.n_relevant)
        if self.denominator == "hits":
            return np.maximum(self._n_hits(ranks), 1)
        return self._n_predicted(ranks)


@dataclass(frozen=True)
class ReciprocalRank(Metric):
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

    symbol = "RR"
    k: int | None = None

    def gain(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        """Return one over the rank of the best item: see `Metric.gain`."""
        return (order == 1) / rank

    def normalizer(self, ranks: Ranks) -> int:
        """Return 1: see `Metric.normalizer`."""
        return 1


@dataclass(frozen=True)
class NDCG(Metric):
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
        What the ideal ranking holds: "relevant" takes all relevant items, as in the paper; "hits"
        takes only those in the top k, in their best order (without any, NDCG is 0); "full" takes k
        items of gain 1, even if fewer are relevant.
    gains : {"linear", "exponential"}
        What an item of relevance g adds: g, or :math:`2^g - 1`.
        The two agree if every relevant item has g = 1.

    Examples
    --------
    >>> NDCG()([1, 2, 3]).round(3)
    array([1.   , 0.631, 0.5  ])

    Five items, with how relevant each is, in the order of a ranking:

    >>> graded = Ranks.from_lists([[1, 2, 3, 4, 5]], gains=[[10, 20, 3, 7, 10]])
    >>> NDCG(k=3)(graded).round(4)
    array([0.7703])
    """

    symbol = "NDCG"
    k: int | None = None
    ideal: Literal["relevant", "hits", "full"] = "relevant"
    gains: Literal["linear", "exponential"] = "linear"

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        if self.ideal == "full" and self.k is None:
            raise ValueError('k is None; NDCG with ideal "full" needs a cutoff')

    def gain(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        """Return the discount: see `Metric.gain`."""
        return 1.0 / np.log2(rank + 1.0)

    def relevance_weight(self, relevance: FloatArray) -> FloatArray:
        """Return g or 2**g - 1: see `Metric.relevance_weight`."""
        if self.gains == "linear":
            return relevance
        if (relevance > 1000).any():
            refuse(
                "gains", relevance, relevance > 1000, 'at most 1000 where gains is "exponential"'
            )
        weight: FloatArray = np.expm1(relevance * np.log(2.0))
        return weight

    def normalizer(self, ranks: Ranks) -> FloatArray:
        """Compute the DCG of the ideal ranking: see `Metric.normalizer`."""
        graded = ranks.gains is not None and ranks.ideal_gains is not None
        if self.ideal == "full":
            if graded and np.any(ranks.ideal_gains != 1):
                raise ValueError('ideal is "full", k items of gain 1; it needs all gains to be 1')
            return self._discounts_of(np.full(len(ranks), self.k))
        if graded:
            return self._graded_ideal(ranks)
        hits = self.ideal == "hits"
        return self._discounts_of(self._n_hits(ranks) if hits else ranks.n_relevant)

    def _discounts_of(self, counts: IntArray) -> FloatArray:
        """Sum the discounts of the first ranks up to the cutoff; 1 for none, as 0 / 1 is 0."""
        counts = self._capped(counts)
        discounts = 1.0 / np.log2(np.arange(2, counts.max(initial=0) + 2))
        return np.append(1.0, np.cumsum(discounts))[counts]

    def _graded_ideal(self, ranks: Ranks) -> FloatArray:
        """Sum the discounted gains of each instance, the largest first at the ranks 1, 2, ..."""
        counts, gains = ranks.n_relevant, ranks.ideal_gains
        assert ranks.gains is not None
        assert gains is not None
        if self.ideal == "hits":
            kept = self.cut(np.ones(ranks.values.shape), ranks.values) > 0
            instance, gains = ranks.instance[kept], ranks.gains[kept]
            gains = gains[np.lexsort((-gains, instance))]
            counts = np.bincount(instance, minlength=len(ranks))
        offsets = offsets_of(counts)
        places = np.arange(1, offsets[-1] + 1) - np.repeat(offsets[:-1], counts)
        best = Ranks(places, offsets, counts, gains=gains, ideal_gains=gains)
        ideal = best.sum(self._gains(best))
        return np.where(ideal > 0, ideal, 1.0)
