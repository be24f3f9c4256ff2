r"""From ranks to numbers: what a metric is.

All metrics here have the same form.
An instance has :math:`q` relevant items at ranks :math:`r_1 < r_2 < \dots`, and the metric is

.. math:: M = \frac{1}{Z} \sum_{j : r_j \le k} g(j, r_j),

where the gain :math:`g` of the j-th best relevant item depends on no rank but its own, and the
normalizer :math:`Z` is one number for the instance.
A metric is therefore two short methods, `Metric.gain` and `Metric.normalizer`.
"""

from abc import ABC, abstractmethod
from dataclasses import Field, dataclass, fields, is_dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._arguments import FloatArray, IntArray, as_fields, as_integer, as_real, refuse
from sampled_metrics.ranks import (
    Blocks,
    Ranks,
    as_ranks,
    check_all_ranked,
    offsets_of,
    ranges,
    trusted,
)

__all__ = [
    "AUC",
    "F1",
    "NDCG",
    "AveragePrecision",
    "HitRate",
    "Metric",
    "Precision",
    "Recall",
    "ReciprocalRank",
]

PIECE = 2**20  # ranks whose gains are in memory at once


class Metric(ABC):
    r"""A ranking metric: call it on ranks to get one value per instance.

    Metrics are small frozen values: they compare equal when their parameters do, and
    ``str(NDCG(k=10))`` is ``"NDCG@10"``.
    An instance without relevant items has the value NaN.

    To write a metric of your own, derive a frozen dataclass from this class. Give it a field `k`
    (the cutoff, or None), the methods `gain` and `normalizer`, and a name `symbol` if it is not
    called like its class. Everything in this package then works with the metric. A class that is no
    dataclass works, too, but its cutoff is not checked, and its name in print has no parameter but
    `k`.

    Attributes
    ----------
    symbol : str
        The name in print, without the cutoff. By default the name of the class.
    k : int or None
        The cutoff: ranks beyond it add nothing.
    needs_n_items : bool
        Whether the metric cannot be computed without the number of ranked items.
    rank_only : bool
        Whether the gain depends on nothing but the rank: means over ties are then faster.
    smooth : bool
        Whether the gain is known to be smooth in the rank, up to the cutoff. Corrections, which
        compute it between whole ranks, too, find out where it is not known.
    bounded : bool
        Whether all its values are known to be from 0 to 1. Intervals then stay there, and hold with
        few users, too.

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

    symbol: ClassVar[str]
    needs_n_items: ClassVar[bool] = False
    rank_only: ClassVar[bool] = False
    smooth: ClassVar[bool] = False
    bounded: ClassVar[bool] = False
    k: int | None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Name a metric like its class, and forget what was known of another gain."""
        super().__init_subclass__(**kwargs)
        if "symbol" not in vars(cls):
            cls.symbol = cls.__name__
        of_gain = ("rank_only", "smooth", "bounded")
        for method, depends in (
            ("gain", of_gain), ("normalizer", ("bounded",)), ("relevance_weight", ("bounded",)),
        ):  # fmt: skip
            for known in depends if method in vars(cls) else ():
                setattr(cls, known, vars(cls).get(known, False))

    def __post_init__(self) -> None:
        """Check the cutoff, which only a metric with the default None may lack, and choices."""
        as_fields(self, k=as_integer)

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

    def __call__(self, ranks: Ranks | ArrayLike, n_items: ArrayLike | None = None) -> FloatArray:
        """Compute the metric of each instance.

        Parameters
        ----------
        ranks : Ranks or array_like of int
            A plain array of any shape holds one relevant item per entry, ranks from 1.
            Where ranks have ties, the metric is its mean over all ways to break them.
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
        rows, shape = as_ranks(ranks, n_items)
        if self.needs_n_items and rows.n_items is None:
            raise ValueError(f"n_items is None; {self} needs the number of ranked items")
        if rows.up_to is not None and (self.k is None or self.k > rows.up_to):
            remedy = "give it a cutoff up to that, or rank further"
            raise ValueError(
                f"ranks are known up to {rows.up_to}; {self} needs larger ones: {remedy}"
            )
        with np.errstate(invalid="ignore", divide="ignore"):
            value = self._over_ties(rows) if rows.has_ties else self._in_order(rows)
        if not rows.is_one_each:
            value = np.where(rows.n_relevant > 0, value, np.nan)
        found: FloatArray = np.asarray(value, dtype=np.float64).reshape(shape)[()]  # no 0-d array
        return found

    def _in_order(self, rows: Ranks) -> FloatArray:
        """Return the value of each instance, without ties."""
        value: FloatArray = rows.sum(self._gains(rows)) / self.normalizer(rows)
        return value

    def _gains(self, rows: Ranks) -> FloatArray:
        """Return what each rank adds, shape (n_ranked,)."""
        if rows.is_one_each:
            gains = self.cut(self.gain(rows.best, 1, 1, rows.n_items), rows.best)
        else:
            x = rows.instance
            n = None if rows.n_items is None else rows.n_items[x]
            gains = self.cut(self.gain(rows.best, rows.order, rows.n_relevant[x], n), rows.best)
        return gains if rows.gains is None else gains * self.relevance_weight(rows.gains)

    def cut(self, gains: Any, rank: NDArray[Any]) -> FloatArray:
        """Return the gains at these ranks, and 0 beyond the cutoff, in the shape of `rank`."""
        if gains is None:
            raise ValueError(f"{type(self).__name__}.gain returns None; let it return the gains")
        if self.k is None:
            return np.broadcast_to(np.asarray(gains, dtype=np.float64), rank.shape)
        return np.where(rank <= self.k, gains, 0.0)

    def _over_ties(self, rows: Ranks) -> FloatArray:
        """Return the mean value of each instance over all ways to break its ties.

        Each relevant item of a block is equally likely to be the first of them, the second, and so
        on, so the mean is one sum over blocks, as long as the normalizer is the same either way.
        """
        blocks, gains = rows.blocks, self._gains(rows).copy()
        tied = np.flatnonzero(blocks.size > 1)
        some = Blocks(*(each[tied] for each in blocks))
        n = None if rows.n_items is None else rows.n_items[some.instance]
        share = self._sum_over_ties(some, rows.n_relevant[some.instance], n) / some.n_relevant
        at = ranges(some.first, some.n_relevant)
        gains[at] = np.repeat(share, some.n_relevant)
        if rows.gains is not None:
            gains[at] *= self.relevance_weight(rows.gains[at])
        first, last = (
            np.broadcast_to(self.normalizer(rows.break_ties(rule)), len(rows))
            for rule in ("optimistic", "pessimistic")
        )
        value: FloatArray = rows.sum(gains) / first
        for x in np.flatnonzero((first != last) & (rows.n_relevant > 0) & (first == first)):
            value[x] = self._by_hits(rows[x : x + 1])
        return value

    def _sum_over_ties(
        self, blocks: Blocks, n_relevant: IntArray, n_items: IntArray | None
    ) -> FloatArray:
        """Return the mean of the sum of the gains of each block's relevant items.

        Parameters
        ----------
        blocks : Blocks
            Some blocks of level items.
        n_relevant, n_items : ndarray of int64, shape (n_blocks,)
            Numbers of relevant items and of all items of the blocks' instances.
        """
        found = np.empty(len(blocks.best))
        # One sum over ranks serves all blocks where a gain has nothing else to depend on.
        alike = np.full(len(found), fill_value=True) if self.rank_only else n_relevant == 1
        sizes = None if self.rank_only else n_items
        for n in [None] if sizes is None else np.unique(sizes[alike]):
            x = np.flatnonzero(alike if sizes is None else alike & (sizes == n))
            best, size = blocks.best[x], blocks.size[x]
            before, upto = self._sums_up_to(np.stack([best - 1, best + size - 1]), n)
            found[x] = blocks.n_relevant[x] * (upto - before) / size
        for i in np.flatnonzero(~alike):
            block = Blocks(*(each[i] for each in blocks))
            n = None if n_items is None else n_items[i]
            found[i] = self._sum_over_orders(block, n_relevant[i], n)
        return found

    def _sum_over_orders(self, block: Blocks, n_relevant: Any, n_items: Any) -> float:
        """Return the same of one block, where the gain may depend on the order of its items."""
        from scipy.stats import hypergeom

        best, size, count, above = map(int, block[2:])
        # At each rank, an item that is relevant is the first, second, ... of those in the block.
        rank = np.broadcast_to(np.arange(best, best + size), (count, size))
        place = np.arange(count)[:, None]
        p = hypergeom.pmf(place, size - 1, count - 1, rank - best)
        each = self.cut(self.gain(rank, above + 1 + place, n_relevant, n_items), rank)
        return float(count / size * (p * each).sum())

    def _by_hits(self, row: Ranks) -> float:
        """Return the mean over ties of one instance whose normalizer depends on the hits.

        It does not depend on more once it is known how many items of the block that the cutoff
        divides are above it.
        """
        blocks, k = row.blocks, self.k or 0
        divided = np.flatnonzero((blocks.best <= k) & (k < blocks.best + blocks.size - 1))
        items = ranges(blocks.first[divided], blocks.n_relevant[divided])
        weights = np.ones(1) if row.gains is None else self.relevance_weight(row.gains[items])
        if len(divided) != 1 or len(np.unique(weights)) > 1:
            remedy = 'break them first, as in ranks.break_ties("random", rng=0)'
            raise ValueError(f"ranks has ties on which the normalizer of {self} depends; {remedy}")
        from scipy.stats import hypergeom

        inside = k - int(blocks.best[divided[0]]) + 1
        hits = np.arange(min(inside, len(items)) + 1)
        p = hypergeom.pmf(hits, int(blocks.size[divided[0]]), len(items), inside)
        total = 0.0
        for h in hits[p > 0].tolist():
            kept = np.append(np.arange(items[0] + h), np.arange(items[-1] + 1, len(row.best)))
            tied = row.n_tied.copy()
            tied[items] = inside - 1
            more = {} if row.gains is None else {"gains": row.gains[kept]}
            offsets = offsets_of(np.array([len(kept)]))
            fewer = row.with_best(row.best[kept], offsets=offsets, n_tied=tied[kept], **more)
            total += p[h] * float(self(fewer)[0])
        return total

    def _sums_up_to(self, last: IntArray, n: int | None) -> FloatArray:
        """Return the sum of the gains at the ranks 1, ..., last, each a whole number from 0."""
        ends = self._capped(last)
        sums, total = np.zeros(ends.shape), 0.0
        for start in range(0, int(ends.max(initial=0)), PIECE):
            stop = min(start + PIECE, int(ends.max()))
            rank = np.arange(start + 1, stop + 1)
            each = np.broadcast_to(self.gain(rank, 1, 1, n), rank.shape)
            part = total + np.append(0, np.cumsum(each))
            here = (ends > start) & (ends <= stop)
            sums[here] = part[ends[here] - start]
            total = part[-1]
        return sums

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
        counted = ~np.isnan(values)
        if not counted.any():
            return float("nan")
        weights = ranks.weights if isinstance(ranks, Ranks) else None
        if weights is None:
            return float(values[counted].mean())
        return float(np.average(values[counted], weights=weights[counted]))

    def _capped(self, counts: IntArray) -> IntArray:
        return counts if self.k is None else np.minimum(counts, self.k)

    def _n_predicted(self, rows: Ranks) -> IntArray:
        if rows.n_predicted is None:
            need = "the lengths of the lists, as Ranks.from_recommendations keeps them"
            raise ValueError(f'denominator is "predicted"; it needs {need}')
        return np.maximum(self._capped(rows.n_predicted), 1)

    def _n_hits(self, rows: Ranks) -> IntArray:
        """Count the ranks of each instance up to the cutoff."""
        hits = self.cut(np.ones(rows.best.shape), rows.best)
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
    smooth = bounded = True
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

    def _sum_over_ties(
        self, blocks: Blocks, n_relevant: IntArray, n_items: IntArray | None
    ) -> FloatArray:
        """Return the value at the middle rank and order: it is linear in both."""
        assert n_items is not None
        middle = blocks.best + (blocks.size - 1) / 2
        order = blocks.above + (blocks.n_relevant + 1) / 2
        each: FloatArray = self.gain(middle, order, n_relevant, n_items)
        return blocks.n_relevant * each


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
    >>> from sampled_metrics import Ranks
    >>> short = Ranks.from_recommendations([[5, 8]], [[5]])
    >>> Precision(k=4)(short), Precision(k=4, denominator="predicted")(short)
    (array([0.25]), array([0.5]))
    """

    symbol = "Precision"
    rank_only = smooth = bounded = True
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
    rank_only = smooth = bounded = True
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
    rank_only = smooth = bounded = True
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
    >>> from sampled_metrics import Ranks
    >>> users = Ranks.from_recommendations([[1, 6, 8]], [[1, 2, 3, 4, 5, 6]])
    >>> AveragePrecision(k=3)(users).round(3), AveragePrecision(k=3, denominator="hits")(users)
    (array([0.667]), array([1.]))
    """

    symbol = "AP"
    smooth = bounded = True
    k: int | None = None
    denominator: Literal["capped", "relevant", "hits", "predicted"] = "capped"

    def gain(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        """Return the precision at the item's rank: see `Metric.gain`."""
        return order / rank

    def _sum_over_ties(
        self, blocks: Blocks, n_relevant: IntArray, n_items: IntArray | None
    ) -> FloatArray:
        """Return the mean in closed form (McSherry & Najork 2008)."""
        last = self._capped(blocks.best + blocks.size - 1)
        step = (blocks.n_relevant - 1) / (blocks.size - 1)
        inverse = _harmonic(blocks.best, last)
        length = np.maximum(last - blocks.best + 1, 0)
        sums = (blocks.above + 1) * inverse + step * (length - blocks.best * inverse).clip(0)
        return np.asarray(blocks.n_relevant / blocks.size * sums)

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
class HitRate(Metric):
    r"""Hit rate: whether any relevant item is in the top k.

    .. math:: \mathrm{HR}(R)_k = 1 \quad \text{if } r_1 \le k, \text{ else } 0

    With one relevant item it equals `Recall`. It is also called hit ratio, and success at k.

    Parameters
    ----------
    k : int
        Cutoff, at least 1.

    Examples
    --------
    >>> HitRate(k=3)(Ranks.from_lists([[5, 2], [4]]))
    array([1., 0.])
    """

    symbol = "HR"
    smooth = bounded = True
    k: int

    def gain(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        """Return 1 for the best item: see `Metric.gain`."""
        return np.where(order == 1, np.ones(np.shape(rank)), 0.0)

    def normalizer(self, ranks: Ranks) -> float:
        """Return 1: see `Metric.normalizer`."""
        return 1.0


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
    smooth = bounded = True
    k: int | None = None

    def gain(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        """Return one over the rank of the best item: see `Metric.gain`."""
        return (order == 1) / rank

    def _sum_over_ties(
        self, blocks: Blocks, n_relevant: IntArray, n_items: IntArray | None
    ) -> FloatArray:
        """Return the mean in closed form (McSherry & Najork 2008): only the first item counts."""
        ends = self._capped(blocks.best + blocks.size - 1)
        found = _harmonic(blocks.best, ends) / blocks.size
        for i in np.flatnonzero(blocks.n_relevant > 1):
            rank = np.arange(blocks.best[i], ends[i] + 1)
            left = blocks.size[i] - (rank - blocks.best[i])  # places from this rank on
            is_next = blocks.n_relevant[i] / np.maximum(left, blocks.n_relevant[i])
            none_before = np.cumprod(np.append(1, 1 - is_next[:-1])) if len(rank) else 0
            found[i] = (none_before * is_next / rank).sum()
        return np.where(blocks.above == 0, found, 0.0)

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
    rank_only = smooth = bounded = True
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
        refuse("gains", relevance, relevance > 1000, 'at most 1000 where gains is "exponential"')
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
            kept = self.cut(np.ones(ranks.best.shape), ranks.best) > 0
            instance, gains = ranks.instance[kept], ranks.gains[kept]
            gains = gains[np.lexsort((-gains, instance))]
            counts = np.bincount(instance, minlength=len(ranks))
        offsets = offsets_of(counts)
        places = np.arange(1, offsets[-1] + 1) - np.repeat(offsets[:-1], counts)
        best = trusted(places, offsets, counts, gains=gains, ideal_gains=gains)
        ideal = best.sum(self._gains(best))
        return np.where(ideal > 0, ideal, np.inf)  # NDCG is 0, and no ideal of hits is the same


NEAR = 64  # ranks whose reciprocals are summed one by one
HARMONIC = np.append(0.0, np.cumsum(1.0 / np.arange(1, NEAR)))


def _harmonic(first: IntArray, last: IntArray) -> FloatArray:
    """Return 1 / first + ... + 1 / last; 0 if there is none."""

    def tail(x: FloatArray) -> FloatArray:
        """Return log(x) - digamma(x) of a large x, by DLMF 5.11.2."""
        rest: FloatArray = 1 / (2 * x) + 1 / (12 * x**2) - 1 / (120 * x**4) + 1 / (252 * x**6)
        return rest

    last = np.maximum(last, first - 1)
    near = HARMONIC[np.minimum(last, NEAR - 1)] - HARMONIC[np.minimum(first, NEAR) - 1]
    a = np.maximum(first, NEAR).astype(np.float64)
    b = np.maximum(last + 1.0, a)
    return np.asarray(near + np.log1p((b - a) / a) + tail(a) - tail(b))
