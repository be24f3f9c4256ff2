"""What sampling does: from the exact rank to the distribution of the sampled rank, and draws.

An evaluation by sampling keeps the relevant item and draws `n_samples` of the other
``n_items - 1`` items. The *sampled rank* is the rank of the relevant item among itself and the
drawn items: one plus the number of drawn items that are ranked above it.

With q relevant items it keeps them all and draws from the ``n_items - q`` others. The j-th best, at
exact rank :math:`r_j`, then behaves like one relevant item at rank :math:`r_j - j + 1` of
:math:`n - q + 1`, its *rank among the irrelevant*, and its sampled rank is :math:`j - 1` larger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._arguments import (
    RNG,
    FloatArray,
    IntArray,
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
    same_index,
    shown,
)
from sampled_metrics.metrics import Metric
from sampled_metrics.ranks import (
    Ranks,
    as_ranks,
    check_all_ranked,
    check_exact,
    check_one_each,
    check_sampled,
)
from sampled_metrics.sampling._probabilities import (
    alike,
    blocks,
    expectation,
    expectation_over_ties,
    nodes_of_ties,
    probabilities,
)
from sampled_metrics.sampling._terms import by_count, relevance_weights, sampled_values, term_values
from sampled_metrics.sampling.weighted import Replacement, WeightedDraw, as_replacement

MAX_HYPERGEOMETRIC = 10**9  # of NumPy's generator
RARE = 1e-18  # a number of different items that is less likely changes no digit of a mean


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Draw:
    r"""How a sampled evaluation draws irrelevant items, each with the same probability.

    The methods are named as those of a distribution in `scipy.stats`.

    Parameters
    ----------
    n_samples : int or array_like of int
        Number of drawn items m, at least 1: one for all or one per instance. Where m items are
        drawn for each relevant item and all are ranked together, it is ``m * ranks.n_relevant``.
    n_items : int or array_like of int, optional
        Number of ranked items n, at least 2, including the relevant ones: one for all or one per
        instance. Leave it out if the ranks know it.
    replacement : bool or "merged"
        Whether one item may be drawn twice. With "merged" it may, but is then ranked once, so that
        the number of sampled items varies.
    shared : bool
        Whether all instances have one sample in common; by default each has its own. Expectations
        are the same, but errors of a common sample do not average out.

    Raises
    ------
    ValueError
        If a number is out of its range; without replacement, if more items are drawn than there
        are.

    Examples
    --------
    The relevant item is third of five; of the other four, two are drawn.

    >>> for replacement in (True, False, "merged"):
    ...     Draw(2, n_items=5, replacement=replacement).pmf(3).round(4)
    array([0.25, 0.5 , 0.25])
    array([0.1667, 0.6667, 0.1667])
    array([0.25 , 0.625, 0.125])
    """

    n_samples: Any  # one whole number, or an array of them
    n_items: int | IntArray | None
    replacement: Any  # True, False or "merged"
    shared: bool

    def __init__(
        self,
        n_samples: ArrayLike,
        *,
        n_items: ArrayLike | None = None,
        replacement: Replacement = True,
        shared: bool = False,
    ) -> None:
        again = as_replacement(replacement)
        vars(self).update(n_items=None, replacement=again, shared=as_flag("shared", shared))
        sizes: Any = ("n_samples", n_samples, 1), ("n_items", n_items, 2)
        for name, given, low in sizes:
            if given is not None or name == "n_samples":
                no_index(name, given)
                each = as_integers(name, given, low)
                vars(self)[name] = read_only(each) if each.ndim else int(each)
        if self.n_items is not None:
            n = np.asarray(self.n_items)
            one_or_one_each(
                "n_samples", self.n_samples, n.shape or np.shape(n_samples), 1, "n_items"
            )
            self._check_size(n, 1)

    def __repr__(self) -> str:
        """Return the call that makes it."""
        shared = ", shared=True" if self.shared else ""
        sizes = f"n_samples={self.n_samples}, n_items={self.n_items}"
        return f"Draw({sizes}, replacement={self.replacement!r}{shared})"

    def __eq__(self, other: object) -> bool:
        """Tell whether the other one is the same draw."""
        return (
            isinstance(other, Draw)
            and (self.replacement, self.shared) == (other.replacement, other.shared)
            and np.array_equal(np.asarray(self.n_samples), np.asarray(other.n_samples))
            and np.array_equal(np.asarray(self.n_items), np.asarray(other.n_items))
        )

    def __hash__(self) -> int:
        """Hash an array by its first and last numbers, which it prints."""
        return hash(str(self))

    def pmf(self, ranks: Ranks | ArrayLike) -> FloatArray:
        r"""Compute the probability of each sampled rank.

        With H the number of drawn items above the relevant one, the sampled rank is
        :math:`S = 1 + H`, and

        .. math:: P(S = 1 + h \mid r) = \binom{m}{h}
                  \frac{(r - 1)^{(h)}\,(n - r)^{(m - h)}}{(n - 1)^{(m)}}.

        With replacement, :math:`a^{(h)}` is the power :math:`a^h` and H is binomial (Krichene &
        Rendle 2020, Section 4.3); without it, the falling factorial :math:`a \cdots (a - h + 1)`,
        and H is hypergeometric (Section 4.4).

        Parameters
        ----------
        ranks : Ranks or array_like of int
            Exact ranks, one relevant item per entry. Probabilities are means over all ways to
            break ties.

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
        rows, n, shape = self._rows_of(ranks)
        check_single("ranks", rows)
        p = np.zeros((len(rows), np.max(self.n_samples, initial=0) + 1))
        for x, weight, draw in self.cases(rows):
            m, again = int(draw.n_samples), bool(draw.replacement)
            for block in blocks(len(x), (100 if rows.has_ties else 1) * (m + 1)):
                at = nodes_of_ties(rows[x[block]], m, replacement=again)
                each = probabilities(at.ranks, n[x[block]][at.entry], m, replacement=again)
                p[x[block], : m + 1] += weight[block, None] * at.mean(each)
        return p.reshape(*shape, p.shape[1])

    def expect(self, ranks: Ranks | ArrayLike, metric: Metric) -> FloatArray:
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
        ranks : Ranks or array_like of int
            Exact ranks; a plain array holds one relevant item per entry. The expectation is also
            over all ways to break ties.
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
        rows, _, shape = self._rows_of(ranks)
        total = np.zeros(len(rows))
        for x, weight, draw in self.cases(rows):
            total[x] += weight * draw._expect(rows if len(x) == len(rows) else rows[x], metric)
        total[rows.n_relevant == 0] = np.nan
        return total.reshape(shape)[()]  # no 0-d array

    @overload
    def rvs(self, ranks: Ranks, *, repeats: None = None, rng: RNG = None) -> Ranks: ...
    @overload
    def rvs(self, ranks: Ranks, *, repeats: int, rng: RNG = None) -> list[Ranks]: ...
    @overload
    def rvs(self, ranks: ArrayLike, *, repeats: int | None = None, rng: RNG = None) -> IntArray: ...
    def rvs(
        self, ranks: Ranks | ArrayLike, *, repeats: int | None = None, rng: RNG = None
    ) -> Ranks | list[Ranks] | IntArray:
        r"""Draw random sampled ranks, without drawing items.

        The number of drawn items above the relevant one is binomial with replacement and
        hypergeometric without it. With several relevant items, the numbers between one of them and
        the next are drawn one after the other, from the items and the draws that are then left.

        Parameters
        ----------
        ranks : Ranks or array_like of int
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
        >>> draw.rvs(Ranks.from_lists([[1, 5000, 10_000], [80]]), rng=0).best
        array([  1,  56, 102,   2])
        """
        times = None if repeats is None else as_integer("repeats", repeats)
        generator = as_generator(rng)
        rows, n, shape = self._rows_of(ranks)
        check_own_samples(self)
        too_many = (n > MAX_HYPERGEOMETRIC) & (self.replacement is not True)
        refuse("n_items", n, too_many, "at most 10**9 without replacement")
        runs = range(times or 1)
        exact = np.stack([rows.break_ties("random", rng=generator).best for _ in runs])
        m = np.array(np.broadcast_to(self.n_samples, (len(exact), len(rows))))
        for x, p in self._numbers(rows) if self.replacement == "merged" else ():
            m[:, x] = generator.choice(len(p), (len(exact), len(x)), p=p / p.sum())
        drawn = self._sampled(rows, exact, m, generator)
        if not isinstance(ranks, Ranks):
            return drawn.reshape(shape if times is None else (times, *shape))
        found = [
            rows.with_best(each, n_items=size + rows.n_relevant, catalog=n)
            for each, size in zip(drawn, m, strict=True)
        ]
        return found[0] if times is None else found

    def rows_of(self, ranks: Ranks | ArrayLike) -> tuple[Ranks, IntArray, tuple[int, ...]]:
        """Return exact ranks that fit this draw, their numbers of items, and the shape of results.

        Raises
        ------
        ValueError
            If neither knows the numbers, both do and disagree, or they are too small for this draw;
            if some relevant item has no rank, or the ranks are themselves sampled.
        """
        if isinstance(ranks, Ranks):
            check_exact("ranks", ranks)
        rows, shape = as_ranks(ranks, self.n_items)
        if rows.n_items is None:
            example = f"Draw({self.n_samples}, n_items=...)"
            raise ValueError(f"n_items is None, and the ranks do not know it; give it: {example}")
        check_all_ranked("ranks", rows)
        self._check_size(rows.n_items, rows.n_relevant)
        return rows, rows.n_items, shape

    def _rows_of(self, ranks: Ranks | ArrayLike) -> tuple[Ranks, IntArray, tuple[int, ...]]:
        rows, n, shape = self.rows_of(ranks)
        if isinstance(ranks, Ranks) and ranks.n_items is not None:
            check_is_sample("ranks", rows, self)
        return rows, n, shape

    def take(self, index: Any) -> Draw:
        """Return the draw for some of the instances: a slice, a mask, or their positions."""
        no_labels("index", index, "pass index.to_numpy() in the order of the instances")
        sizes: Any = self.n_samples, self.n_items
        m, n = (each[index] if isinstance(each, np.ndarray) else each for each in sizes)
        return Draw(m, n_items=n, replacement=self.replacement, shared=self.shared)

    def cases(self, rows: Ranks) -> Iterator[tuple[IntArray, FloatArray, Draw]]:
        """Yield the draws of one number of samples each that this one is made of.

        Each comes with the places of instances with relevant items, among those of `rows_of`, and
        the probability that they have so many sampled items. Where repeats are merged, the draw is
        without replacement: all sets of so many different items are equally likely.
        """
        if self.replacement == "merged":
            numbers = self._numbers(rows)
            for size in range(1, max((len(p) for _, p in numbers), default=0)):
                likely = np.zeros(len(rows))
                for x, p in numbers:
                    likely[x] = p[size] if size < len(p) else 0
                if (at := np.flatnonzero(likely > RARE)).size:
                    yield at, likely[at], Draw(size, replacement=False)
            return
        some = np.flatnonzero(rows.n_relevant)
        for (size,), places in alike(np.broadcast_to(self.n_samples, (len(rows),))[some]):
            yield some[places], np.ones(len(places)), Draw(size, replacement=self.replacement)

    def _expect(self, rows: Ranks, metric: Metric) -> FloatArray:
        """Return the expectation for instances with one number of samples."""
        m, again = int(self.n_samples), bool(self.replacement)
        if rows.is_one_each and rows.gains is None:
            return expectation_over_ties(sampled_values(metric, m), rows, replacement=again)
        samples = np.arange(1, m + 2)
        return expect_terms(
            rows, metric, lambda q, _: term_values(metric, samples, q, m + q), again
        )

    def _numbers(self, rows: Ranks) -> list[tuple[IntArray, FloatArray]]:
        """Return instances of a merged draw, and how likely they get 0, 1, ... different items."""
        assert rows.n_items is not None
        some = np.flatnonzero(rows.n_relevant)
        m, others = np.broadcast_arrays(self.n_samples, rows.n_items - rows.n_relevant)
        return [(some[x], _different(*pair)) for pair, x in alike(m[some], others[some])]

    def _check_size(self, n: IntArray, n_relevant: IntArray | int) -> None:
        """Refuse to draw more items than there are."""
        m, others = np.broadcast_arrays(self.n_samples, n - n_relevant)
        short = (others < (m if self.replacement is False else 1)) & (n_relevant > 0)
        for x in np.flatnonzero(short)[:1]:
            of = f" for instance {x}" if m.ndim else ""
            if self.replacement:
                raise ValueError(f"n_items is {n.flat[x]}{of}; some items must be irrelevant")
            raise ValueError(
                f"n_samples is {m.flat[x]}; without replacement it must be at most the number "
                f"of irrelevant items, {others.flat[x]}{of}"
            )

    def _sampled(
        self, rows: Ranks, exact: IntArray, m: IntArray, generator: np.random.Generator
    ) -> IntArray:
        """Draw the sampled ranks of all relevant items together, shape (n_repeats, n_ranked)."""
        assert rows.n_items is not None
        others = rows.n_items - rows.n_relevant
        above = exact - rows.order  # irrelevant items above each relevant one
        hits = np.zeros_like(above)  # and those of them that are drawn
        for j in range(rows.n_relevant.max(initial=0)):
            x = np.flatnonzero(rows.n_relevant > j)
            at = rows.offsets[x] + j
            passed: Any = above[:, at - 1] if j else 0
            used: Any = hits[:, at - 1] if j else 0
            left = others[x] - passed
            between = above[:, at] - passed
            if self.replacement is True:
                share = between / np.maximum(left, 1)  # where nothing is left, nothing is drawn
                new = generator.binomial(m[:, x] - used, share)
            else:
                new = generator.hypergeometric(between, left - between, m[:, x] - used)
            hits[:, at] = used + new
        return hits + rows.order


def check_is_sample(name: str, rows: Ranks, draw: Draw) -> None:
    """Refuse to draw all candidates of all instances: they are then most likely the sample."""
    x = np.flatnonzero(rows.n_relevant)
    if rows.n_items is None or not x.size:
        return
    others = (rows.n_items - rows.n_relevant)[x]
    m = np.broadcast_to(draw.n_samples, rows.n_items.shape)[x]
    repeat = draw.replacement == "merged" and np.ndim(draw.n_samples)  # draws for several items
    if (m >= others).all() and not repeat:
        n = rows.n_items[x[0]]
        raise ValueError(
            f"{name}[{x[0]}] is among {n} items, and draw.n_samples is {m[0]}, no less than its "
            f"{others[0]} other items. If these items are a sample, give the number of all items "
            "as catalog=, and leave the draw out; if they are all that there are, draw fewer"
        )


def _different(m: int, n: int) -> FloatArray:
    """Return how likely 0, ..., m different items are when m of n are drawn with replacement."""
    p = np.zeros(min(m, n) + 1)
    p[0] = 1
    known = np.arange(len(p)) / n
    for _ in range(m):
        new = p[:-1] * (1 - known[:-1])
        p *= known
        p[1:] += new
    return p


def expect_terms(
    rows: Ranks,
    metric: Metric,
    table: Callable[[int, int], FloatArray],
    replacement: bool,  # noqa: FBT001
    fitted: IntArray | None = None,
) -> FloatArray:
    """Return the expectation of the weighted sum of ``table(q, n)[j - 1, H_j]`` over j.

    The table is for q relevant items; n is `fitted` of the instance, or 0.
    """
    check_one_each("ranks", rows)
    assert rows.n_items is not None
    n, rank, weight = rows.n_items, rows.best - rows.order + 1, relevance_weights(metric, rows)
    total = np.full(len(rows), np.nan)
    for q, size, x, at in by_count(rows, np.zeros_like(n) if fitted is None else fitted):
        total[x] = 0
        for j, values in enumerate(table(q, size)):
            each = expectation(values, rank[at[:, j]], n[x] - q + 1, replacement=replacement)
            total[x] += weight[at[:, j]] * each
    return total


def check_single(name: str, rows: Ranks) -> None:
    """Refuse an instance without exactly one relevant item."""
    for x in np.flatnonzero(rows.n_relevant != 1)[:1]:
        many = rows.n_relevant[x]
        raise ValueError(f"{name}[{x}] has {many} relevant items; it must have one per instance")


def check_own_samples(draw: Draw) -> None:
    """Refuse one sample for all users, whose errors neither average out nor follow from ranks."""
    if draw.shared:
        raise ValueError(
            "draw.shared is True; how far one sample for all users moves a mean does not follow "
            "from ranks: sample for each user, or draw items and rank them"
        )


def as_draw(draw: Any) -> Draw:
    """Return a draw of items that are equally likely, which no weighted draw can stand for."""
    if isinstance(draw, WeightedDraw):
        raise ValueError(
            "draw is a WeightedDraw, and this holds for uniform samples only; "
            "WeightedDraw.expect(above, metric) computes what a weighted sample reports"
        )
    made: Draw = as_kind("draw", draw, Draw, "Draw(n_samples=100, n_items=10_000)")
    return made


def as_one_size(draw: Any) -> Draw:
    """Return a draw with one number of samples, whose repeats are not merged."""
    made = as_draw(draw)
    if np.ndim(made.n_samples) or made.replacement == "merged":
        raise ValueError(
            f"draw is {shown(made)}; here all must have one number of different samples: take the "
            "users of each number by themselves, as draws without replacement, or use evaluate"
        )
    return made


def as_single(draw: Any) -> Draw:
    """Return such a draw that knows its numbers of items."""
    made = as_one_size(draw)
    if made.n_items is None:
        example = f"Draw({made.n_samples}, n_items=...)"
        raise ValueError(f"draw.n_items is None; give the number of items: {example}")
    return made


def number_of_items(draw: Draw) -> int:
    """Return the number of items of a draw that has one for all."""
    return as_integer("draw.n_items", as_single(draw).n_items, low=2)


def one_sampled_each(
    sampled_ranks: Ranks | ArrayLike, draw: Draw, n_samples: ArrayLike | None = None
) -> tuple[IntArray, IntArray, IntArray]:
    """Return sampled ranks, each of one item, and as many numbers of samples and of items."""
    rows, shape = as_ranks(sampled_ranks, name="sampled_ranks")
    check_single("sampled_ranks", rows)
    if rows.has_ties:
        raise ValueError("sampled_ranks has ties; break them as the evaluation broke them")
    if not len(rows):
        raise ValueError("sampled_ranks is empty; sampled_ranks must hold a rank")
    same_index(sampled_ranks=sampled_ranks, n_samples=n_samples)
    drawn = draw.n_samples if n_samples is None else n_samples
    m = one_or_one_each("n_samples", drawn, shape, 1, "sampled_ranks")
    refuse("n_samples", m, m > draw.n_samples, f"at most draw.n_samples, {draw.n_samples}")
    items = np.asarray(draw.n_items)
    n = one_or_one_each("draw.n_items", items, shape, 2, "sampled_ranks")
    check_sampled("sampled_ranks", rows, m.ravel())
    if rows.catalog is not None and (bad := rows.catalog != n.ravel()).any():
        rule = f"draw.n_items, {n.ravel()[bad][0]}: both are the number of all items"
        refuse("sampled_ranks.catalog", rows.catalog, bad, rule)
    return rows.best.reshape(shape), m, n
