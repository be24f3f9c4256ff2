"""What sampling does: from the exact rank to the distribution of the sampled rank, and draws.

An evaluation by sampling keeps the relevant item and draws `n_samples` of the other
``n_items - 1`` items. The *sampled rank* is the rank of the relevant item among itself and the
drawn items: one plus the number of drawn items that are ranked above it.

With q relevant items it keeps them all and draws from the ``n_items - q`` others. The j-th best
relevant item, at exact rank :math:`r_j`, has the sampled rank :math:`j + H_j`, where :math:`H_j`
counts the drawn items among the :math:`r_j - j` irrelevant ones above it. By itself, it behaves
like one relevant item at rank :math:`r_j - j + 1` of :math:`n - q + 1`: its *rank among the
irrelevant*.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._arguments import (
    RNG,
    FloatArray,
    IntArray,
    as_array,
    as_flag,
    as_generator,
    as_integer,
    as_integers,
    as_kind,
    no_index,
    no_labels,
    one_or_one_each,
    read_only,
    refuse,
)
from sampled_metrics.metrics import Metric
from sampled_metrics.ranks import (
    Ranks,
    TiedRanks,
    check_all_ranked,
    check_within,
    known_items,
    one_instance_each,
)
from sampled_metrics.sampling._probabilities import (
    blocks,
    expectation,
    expectation_over_ties,
    nodes_of_ties,
    probabilities,
)
from sampled_metrics.sampling._terms import by_count, relevance_weights, sampled_values, term_values

__all__ = ["Draw"]

MAX_HYPERGEOMETRIC = 10**9  # of NumPy's generator


@dataclass(frozen=True, eq=False, init=False)
class Draw:
    r"""How a sampled evaluation draws irrelevant items, each with the same probability.

    A new sample is drawn for every instance. The methods are named as those of a distribution in
    `scipy.stats`.

    Parameters
    ----------
    n_samples : int
        Number of drawn items m, at least 1; without replacement at most ``n_items - 1``.
    n_items : int or array_like of int, optional
        Number of ranked items n, at least 2, including the relevant ones: one for all or one per
        instance. Leave it out if the ranks know it, as `TiedRanks` do.
    replacement : bool
        Whether one item may be drawn twice.

    Raises
    ------
    ValueError
        If a number is out of its range.

    Examples
    --------
    The relevant item is third of five; of the other four, two are drawn.

    >>> Draw(2, n_items=5).pmf(3)
    array([0.25, 0.5 , 0.25])
    >>> Draw(2, n_items=5, replacement=False).pmf(3).round(4)
    array([0.1667, 0.6667, 0.1667])
    """

    n_samples: int
    n_items: int | IntArray | None
    replacement: bool

    def __init__(
        self, n_samples: int, *, n_items: ArrayLike | None = None, replacement: bool = True
    ) -> None:
        object.__setattr__(self, "n_samples", as_integer("n_samples", n_samples))
        object.__setattr__(self, "replacement", as_flag("replacement", replacement))
        if n_items is not None:
            no_index("n_items", n_items)
            n = as_integers("n_items", n_items, low=2)
            self._check_size(n, 1)
            n_items = read_only(n) if n.ndim else int(n)
        object.__setattr__(self, "n_items", n_items)

    def __eq__(self, other: object) -> bool:
        """Tell whether the other one is the same draw."""
        return (
            isinstance(other, Draw)
            and (self.n_samples, self.replacement) == (other.n_samples, other.replacement)
            and np.array_equal(np.asarray(self.n_items), np.asarray(other.n_items))
        )

    def __hash__(self) -> int:
        """Hash an array by its first and last numbers, which it prints."""
        return hash((self.n_samples, self.replacement, str(self.n_items)))

    def pmf(self, ranks: TiedRanks | ArrayLike) -> FloatArray:
        r"""Compute the probability of each sampled rank.

        With H the number of drawn items above the relevant one, the sampled rank is
        :math:`S = 1 + H`, and

        .. math:: P(S = 1 + h \mid r) = \binom{m}{h}
                  \frac{(r - 1)^{(h)}\,(n - r)^{(m - h)}}{(n - 1)^{(m)}}.

        With replacement, :math:`a^{(h)}` is the power :math:`a^h` and H is binomial (Krichene &
        Rendle 2020, Section 4.3). Without replacement, it is the falling factorial
        :math:`a (a - 1) \cdots (a - h + 1)` and H is hypergeometric (Section 4.4).

        Parameters
        ----------
        ranks : TiedRanks or array_like of int
            Exact ranks, from 1 to `n_items`, one relevant item per entry. The probabilities of a
            `TiedRanks` are means over all ways to break the ties.

        Returns
        -------
        ndarray of float64, shape ``ranks.shape + (n_samples + 1,)``
            Probabilities of the sampled ranks 1, ..., ``n_samples + 1``; the last axis sums to 1.

        Raises
        ------
        ValueError
            If a rank is outside 1..n, or n is missing or too small.

        Examples
        --------
        >>> Draw(99, n_items=10_000).pmf([1, 100])[:, :3].round(3)
        array([[1.   , 0.   , 0.   ],
               [0.373, 0.37 , 0.181]])
        """
        m = self.n_samples
        if isinstance(ranks, TiedRanks):
            n = self.items_of(ranks)
            p = np.zeros((len(ranks), m + 1))
            for block in blocks(len(ranks), 100 * (m + 1)):
                at = nodes_of_ties(ranks[block], m, replacement=self.replacement)
                each = probabilities(at.ranks, n[block][at.entry], m, replacement=self.replacement)
                np.add.at(p[block], at.entry, at.weight[:, None] * each)
            return p
        if isinstance(ranks, Ranks):
            raise ValueError(
                "ranks is a Ranks; pmf takes one relevant item per entry, as a plain array"
            )
        r, n = self._plain(ranks)
        return probabilities(r, n, m, replacement=self.replacement)

    def expect(self, ranks: Ranks | TiedRanks | ArrayLike, metric: Metric) -> FloatArray:
        r"""Compute the expectation of a sampled metric, exactly and without sampling.

        With one relevant item it is

        .. math:: E[M(S)] = \sum_{i=1}^{m+1} P(S = i)\, M(i),

        where :math:`M(i)` is the metric of rank i among ``n_samples + 1`` items (Krichene &
        Rendle 2020, Section 4.3). With q relevant items at ranks :math:`r_1 < \dots < r_q`, and a
        metric :math:`\frac{1}{Z} \sum_j g(j, r_j)` whose :math:`Z` does not depend on them, it is

        .. math:: E[M(\tilde R)] = \frac{1}{Z} \sum_{j=1}^{q} \sum_{i=1}^{m+1}
                  P(S = i \mid r_j - j + 1)\, g(j, i + j - 1),

        with the distribution of one relevant item among :math:`n - q + 1`.

        Parameters
        ----------
        ranks : Ranks, TiedRanks or array_like of int
            Exact ranks, from 1 to `n_items`; a plain array holds one relevant item per entry.
            The expectation of a `TiedRanks` is also over all ways to break the ties.
        metric : Metric
            The metric, such as ``NDCG(k=10)``.

        Returns
        -------
        ndarray of float64, shape of `ranks` or (n_instances,)
            Expected sampled metric of each instance; NaN for one without relevant items.

        Raises
        ------
        ValueError
            As `pmf`; if some relevant item has no rank; if several items are relevant and Z depends
            on their ranks, as in ``AveragePrecision(k=10, denominator="hits")``.

        Examples
        --------
        >>> from sampled_metrics import NDCG
        >>> ranks, draw = [212, 2, 743, 5342, 1548], Draw(99, n_items=10_000)
        >>> draw.expect(ranks, NDCG()).round(3)
        array([0.561, 0.996, 0.323, 0.173, 0.247])
        >>> draw.expect(Ranks.from_lists([ranks]), NDCG()).round(3)
        array([0.727])
        """
        as_kind("metric", metric, Metric, "Recall(k=10)")
        m = self.n_samples
        if isinstance(ranks, Ranks):
            samples = np.arange(1, m + 2)
            return expect_terms(
                self, ranks, metric, lambda q, _: term_values(metric, samples, q, m + q)
            )
        return self.expect_values(ranks, sampled_values(metric, m))

    @overload
    def rvs(self, ranks: Ranks, *, repeats: None = None, rng: RNG = None) -> Ranks: ...
    @overload
    def rvs(self, ranks: Ranks, *, repeats: int, rng: RNG = None) -> list[Ranks]: ...
    @overload
    def rvs(
        self, ranks: TiedRanks | ArrayLike, *, repeats: int | None = None, rng: RNG = None
    ) -> IntArray: ...
    def rvs(
        self, ranks: Ranks | TiedRanks | ArrayLike, *, repeats: int | None = None, rng: RNG = None
    ) -> Ranks | list[Ranks] | IntArray:
        r"""Draw random sampled ranks, without drawing items.

        The sampled rank is one plus the number of drawn items above the relevant one. This number
        is binomial with replacement and hypergeometric without it, so it is drawn directly.

        With several relevant items, the numbers of drawn items between one of them and the next
        have a multinomial or a multivariate hypergeometric distribution. They are drawn one after
        the other, each from the items and the draws that are then left.

        Parameters
        ----------
        ranks : Ranks, TiedRanks or array_like of int
            As in `expect`. Ties are broken at random, again in each repeat.
            Without replacement, `n_items` is at most :math:`10^9`, the limit of NumPy's function.
        repeats : int, optional
            How many times to draw for every rank.
        rng : None, int, SeedSequence or Generator
            Source of randomness, as in SciPy; None draws differently each time.

        Returns
        -------
        ndarray of int64, shape of `ranks` or ``(repeats,) + ranks.shape``
            Sampled ranks in 1, ..., ``n_samples + 1``, independent of each other.
        Ranks, or list of Ranks
            If `ranks` is a Ranks: the sampled ranks of all instances, each in 1, ...,
            ``n_samples`` plus the number of relevant items; a list of them if `repeats` is given.

        Raises
        ------
        ValueError
            As `expect`; if `repeats` is below 1.

        Examples
        --------
        >>> draw = Draw(99, n_items=10_000)
        >>> draw.rvs([1, 5000, 10_000], rng=0)
        array([  1,  51, 100])
        >>> draw.rvs(Ranks.from_lists([[1, 5000, 10_000], [80]]), rng=0).values
        array([  1,  56, 102,   2])
        """
        times = None if repeats is None else as_integer("repeats", repeats)
        generator = as_generator(rng)
        if isinstance(ranks, Ranks):
            found = self._rvs_of_several(ranks, times or 1, generator)
            return found[0] if times is None else found
        if isinstance(ranks, TiedRanks):
            n: Any = self.items_of(ranks)
            r = np.stack([ranks.break_ties("random", rng=generator) for _ in range(times or 1)])
            r = r[0] if times is None else r
            shape = r.shape
        else:
            r, n = self._plain(ranks)
            shape = r.shape if times is None else (times, *r.shape)
        if self.replacement:
            return 1 + generator.binomial(self.n_samples, (r - 1) / (n - 1), size=shape)
        _check_hypergeometric(n)
        return 1 + generator.hypergeometric(r - 1, n - r, self.n_samples, size=shape)

    def items_of(self, ranks: Ranks | TiedRanks | ArrayLike) -> IntArray:
        """Return each instance's number of items, from the ranks or the draw.

        Parameters
        ----------
        ranks : Ranks, TiedRanks or array_like of int
            The instances.

        Returns
        -------
        ndarray of int64, shape of `ranks` or (n_instances,)

        Raises
        ------
        ValueError
            If neither knows the numbers, both do and disagree, or they are too small for this draw.
        """
        if not isinstance(ranks, Ranks | TiedRanks):
            return self._plain(ranks)[1]
        if isinstance(ranks, TiedRanks):
            one_instance_each("ranks", ranks)
        n = known_items("ranks", ranks, self.n_items)
        if n is None:
            raise ValueError(
                "n_items is None, and the ranks do not know it: "
                f"Draw({self.n_samples}, n_items=...)"
            )
        counts = np.ones_like(n)
        if isinstance(ranks, Ranks):
            check_all_ranked("ranks", ranks)
            check_within("ranks", ranks, n)
            counts = ranks.n_relevant
        self._check_size(n, counts)
        return n

    def expect_values(self, ranks: TiedRanks | ArrayLike, values: FloatArray) -> FloatArray:
        """Compute the expectation of a table's entry at the sampled rank.

        Parameters
        ----------
        ranks : TiedRanks or array_like of int
            Exact ranks, one relevant item per entry.
        values : ndarray of float64, shape (n_samples + 1,) or (n_samples + 1, n_tables)
            The entries for the sampled ranks 1, ..., ``n_samples + 1``.

        Returns
        -------
        ndarray of float64, shape of `ranks`, and n_tables if there are several
        """
        table = as_array("values", values)
        if table.ndim not in (1, 2) or len(table) != self.n_samples + 1 or table.dtype.kind != "f":
            raise ValueError(
                f"values has shape {table.shape} and dtype {table.dtype}; it must be floats, one "
                f"or one row for each sampled rank, {self.n_samples + 1}"
            )
        if not isinstance(ranks, TiedRanks):
            r, n = self._plain(ranks)
            each = expectation(values, r.ravel(), n.ravel(), replacement=self.replacement)
            found: FloatArray = each.reshape(r.shape + values.shape[1:])[()]  # no 0-d array
            return found
        self.items_of(ranks)  # checks them
        return expectation_over_ties(values, ranks, replacement=self.replacement)

    def take(self, index: Any) -> Draw:
        """Return the draw for some of the instances.

        Parameters
        ----------
        index : slice or array_like
            A slice, a mask, or the positions of the instances.

        Returns
        -------
        Draw
        """
        no_labels("index", index, "pass index.to_numpy() in the order of the instances")
        if self.n_items is None or isinstance(self.n_items, int):
            return self
        return Draw(self.n_samples, n_items=self.n_items[index], replacement=self.replacement)

    def _plain(self, ranks: ArrayLike) -> tuple[IntArray, IntArray]:
        """Return plain ranks and the number of items of each, of the same shape."""
        r = as_integers("ranks", ranks)
        if self.n_items is None:
            raise ValueError(
                f"n_items is None; plain ranks do not know it: Draw({self.n_samples}, n_items=...)"
            )
        n = one_or_one_each("n_items", self.n_items, r.shape, low=2)
        if (r > n).any():
            refuse("ranks", r, r > n, f"at most n_items, {n[r > n][0]}")
        return r, n

    def _check_size(self, n: IntArray, n_relevant: IntArray | int) -> None:
        """Refuse to draw more items than there are."""
        irrelevant = n - n_relevant
        short = (irrelevant < (1 if self.replacement else self.n_samples)) & (n_relevant > 0)
        if not short.any():
            return
        x = int(np.argmax(short))
        of = f" for instance {x}" if n.ndim else ""
        if self.replacement:
            raise ValueError(f"n_items is {n.flat[x]}{of}; some items must be irrelevant")
        raise ValueError(
            f"n_samples is {self.n_samples}; without replacement it must be at most the number of "
            f"irrelevant items, {irrelevant.flat[x]}{of}"
        )

    def _rvs_of_several(
        self, ranks: Ranks, repeats: int, generator: np.random.Generator
    ) -> list[Ranks]:
        """Draw the sampled ranks of all relevant items together."""
        n, m = self.items_of(ranks), self.n_samples
        if not self.replacement:
            _check_hypergeometric(n)
        above = ranks.values - ranks.order  # irrelevant items above each relevant one
        hits = np.zeros((repeats, len(above)), dtype=np.int64)  # and those of them that are drawn
        for j in range(ranks.n_relevant.max(initial=0)):
            x = np.flatnonzero(ranks.n_relevant > j)
            at = ranks.offsets[x] + j
            passed = above[at - 1] if j else 0
            used = hits[:, at - 1] if j else 0
            left = n[x] - ranks.n_relevant[x] - passed
            between = above[at] - passed
            if self.replacement:
                share = between / np.maximum(left, 1)  # where nothing is left, nothing is drawn
                new = generator.binomial(m - used, share, size=(repeats, len(x)))
            else:
                new = generator.hypergeometric(between, left - between, m - used, (repeats, len(x)))
            hits[:, at] = used + new
        shape = ranks.offsets, ranks.n_relevant, None, ranks.gains, ranks.ideal_gains
        size = m + ranks.n_relevant
        return [Ranks(row + ranks.order, *shape, size, ranks.users) for row in hits]


def expect_terms(
    draw: Draw,
    ranks: Ranks,
    metric: Metric,
    table: Callable[[int, int], FloatArray],
    *,
    by_items: bool = False,
) -> FloatArray:
    """Return the expectation of the weighted sum of ``table(q, n)[j - 1, H_j]`` over j.

    The table is for q relevant items, and with `by_items` for n items.
    """
    n = draw.items_of(ranks)
    rank, weight = ranks.values - ranks.order + 1, relevance_weights(metric, ranks)
    total = np.full(len(ranks), np.nan)
    for q, items, x, at in by_count(ranks, n if by_items else np.zeros_like(n)):
        total[x] = 0
        for j, values in enumerate(table(q, items)):
            each = expectation(values, rank[at[:, j]], n[x] - q + 1, replacement=draw.replacement)
            total[x] += weight[at[:, j]] * each
    return total


def _check_hypergeometric(n: IntArray) -> None:
    if (n > MAX_HYPERGEOMETRIC).any():
        refuse(
            "n_items", np.asarray(n), n > MAX_HYPERGEOMETRIC, "at most 10**9 without replacement"
        )


def number_of_items(name: str, draw: Draw) -> int:
    """Return the number of items of a draw that has one for all."""
    as_kind(name, draw, Draw, "Draw(n_samples=100, n_items=10_000)")
    if draw.n_items is None:
        raise ValueError(
            f"{name}.n_items is None; give the number of items: "
            f"Draw(n_samples={draw.n_samples}, n_items=...)"
        )
    return as_integer(f"{name}.n_items", draw.n_items, low=2)
