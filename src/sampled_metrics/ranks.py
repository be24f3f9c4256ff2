"""Where the relevant items stand: the one form in which ranks travel.

An instance is what is ranked once: a user, a session, a query. Its relevant items have ranks among
its candidates, and everything else in this package is computed from these ranks. A plain array, one
relevant item for each instance, is accepted wherever a `Ranks` is, and becomes one there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._arguments import (
    RNG,
    FloatArray,
    IntArray,
    as_array,
    as_choice,
    as_generator,
    as_integer,
    as_integers,
    as_names,
    as_numbers,
    as_users,
    entries,
    factorize,
    index_of,
    labeled_by,
    labels_of,
    no_index,
    no_labels,
    one_or_one_each,
    read_only,
    refuse,
    repeated,
    same_index,
    shown,
)

__all__ = ["Ranks"]

FROM_LISTS = "; lists of several ranks per user go into Ranks.from_lists"

TieRule = Literal["optimistic", "pessimistic", "random"]


class Blocks(NamedTuple):
    """The relevant items of an instance that are level with each other, block by block.

    A block takes the ranks `best`, ..., `best + size - 1`, and its relevant items are equally
    likely to have any of them. Most blocks are one item that is level with nothing.
    """

    first: IntArray  # where the block starts in `Ranks.best`
    instance: IntArray
    best: IntArray
    size: IntArray  # of all level candidates, relevant or not
    n_relevant: IntArray  # how many of them are relevant
    above: IntArray  # how many relevant items of the instance are ranked above the block


@dataclass(frozen=True, eq=False, init=False)
class Ranks:
    """Ranks of the relevant items of each instance, with all that is known about them.

    If other candidates have exactly the score of a relevant item, each may come above or below it:
    the item can have any of the ranks ``best``, ..., ``best + n_tied``. Metrics are then means over
    all ways to break the ties, which are all equally likely.

    `Ranks.from_scores`, `Ranks.from_recommendations`, `Ranks.from_run`, `Ranks.from_model`,
    `Ranks.from_lists` and `Ranks.read` make ranks from what there is. Its arrays cannot be changed.

    Parameters
    ----------
    ranks : array_like of int, shape (n_ranked,)
        The rank of each relevant item, from 1; of tied items the best possible one: 1 + the number
        of candidates with a higher score.
    n_tied : int or array_like of int, shape (n_ranked,)
        Number of other candidates with exactly the same score.
    n_items : int or array_like of int, shape (n_ranked,), optional
        Number of candidates, including the relevant items; None if it is not known.
    users : array_like of int or str, shape (n_ranked,), optional
        The user of each relevant item. Items of the same user are one instance. By default every
        item is an instance of its own.
    gains : array_like of float, shape (n_ranked,), optional
        How relevant each item is, above 0; by default all are equally relevant.
    catalog : int or array_like of int, shape (n_ranked,), optional
        Number of items that there are, where the `n_items` candidates are a sample of them.
    up_to : int, optional
        The ranks are known up to this one only: an item of a larger rank is beyond it. Metrics
        with a cutoff of at most `up_to` do not need more.
    weights : array_like of float, shape (n_ranked,), optional
        How much each user counts in a mean, above 0; by default all count the same.

    Attributes
    ----------
    best : ndarray of int64, shape (n_ranked,)
        The best possible rank of each relevant item that has one, instance after instance,
        ascending within each.
    n_tied : ndarray of int64, shape (n_ranked,)
        Number of other candidates that are level with it.
    offsets : ndarray of int64, shape (n_instances + 1,)
        Instance x owns ``best[offsets[x]:offsets[x + 1]]``.
    n_relevant : ndarray of int64, shape (n_instances,)
        Number of relevant items of each instance, including those that have no rank.
    n_items, catalog, weights, users : ndarray of shape (n_instances,), or None
        As above, one entry for each instance.
    n_predicted : ndarray of int64, shape (n_instances,), or None
        Length of each instance's list of recommendations; None if all candidates were ranked.
    gains : ndarray of float64, shape (n_ranked,), or None
        How relevant each item is.
    ideal_gains : ndarray of float64, shape (n_relevant.sum(),), or None
        Gains of all relevant items, instance after instance, descending within each.
    n_scores : int or None
        Number of scores that `Ranks.from_model` computed; None of all other ranks.

    Raises
    ------
    ValueError
        If a number is out of its range, or an argument does not fit `ranks`; if two items of a user
        share some of their ranks, but not all; if the worst rank is above `n_items`, or `n_items`
        above `catalog`; if a Series has other labels than 0, 1, ... and than `users`, or than the
        others if `users` is a Series, too.

    Examples
    --------
    >>> ranks = Ranks([1, 3], n_tied=[0, 1], n_items=4)
    >>> ranks.break_ties("pessimistic").best
    array([1, 4])
    >>> from sampled_metrics import Recall, ReciprocalRank
    >>> ReciprocalRank()(ranks).round(4)
    array([1.    , 0.2917])
    >>> Recall(k=3)(Ranks([5, 2, 2], n_tied=[0, 1, 1], n_items=9, users=["ann", "ann", "bob"]))
    array([0.5, 1. ])
    """

    best: IntArray
    n_tied: IntArray
    offsets: IntArray
    n_relevant: IntArray
    n_items: IntArray | None
    catalog: IntArray | None
    up_to: int | None
    n_predicted: IntArray | None
    gains: FloatArray | None
    ideal_gains: FloatArray | None
    users: NDArray[Any] | None
    weights: FloatArray | None

    n_scores: ClassVar[int | None] = None  # no field: what is made from these ranks has none

    if TYPE_CHECKING:  # what the rooms above add, which say more of it

        @staticmethod
        def from_scores(
            scores: Any,
            relevant: Any = None,
            *,
            exclude: Any = None,
            absent: Literal["refuse", "missed", "left out"] = "refuse",
            catalog: Any = None,
            weights: Any = None,
            min_relevance: float | None = None,
            user: str = "user",
            item: str = "item",
            score: str = "score",
            relevance: str = "relevance",
        ) -> Ranks:
            """Rank each relevant item among all candidates of its user, by their scores."""

        @staticmethod
        def from_recommendations(
            predictions: Any,
            labels: Any,
            *,
            absent: Literal["refuse", "missed", "left out"] = "refuse",
            catalog: Any = None,
            weights: Any = None,
            min_relevance: float | None = None,
            user: str = "user",
            item: str = "item",
            rank: str = "rank",
            score: str = "score",
            relevance: str = "relevance",
        ) -> Ranks:
            """Find the relevant items in lists of recommended items."""

        @staticmethod
        def from_run(
            run: Any,
            qrels: Any,
            *,
            absent: Literal["refuse", "missed", "left out"] = "refuse",
            catalog: Any = None,
            weights: Any = None,
            min_relevance: float | None = None,
        ) -> Ranks:
            """Find the relevant documents in a run of trec_eval's form."""

        @staticmethod
        def from_model(
            model: Any,
            split: Any,
            *,
            exclude: Any = None,
            candidates: Any = None,
            up_to: int | None = None,
            block_size: int | None = None,
            progress: bool = True,
        ) -> Ranks:
            """Rank each held-out item among all items except the user's training items."""

        @staticmethod
        def read(
            table: Any,
            *,
            recommender: str | None = "recommender",
            user: str = "user",
            rank: str = "rank",
            n_tied: str = "n_tied",
            n_items: Any = "n_items",
            catalog: Any = "catalog",
            relevance: str = "relevance",
            n_predicted: str = "n_predicted",
            min_relevance: float | None = None,
            ignore: Sequence[str] = (),
        ) -> dict[str, Ranks]:
            """Read the ranks of each recommender from a table with a row for each item."""

        def to_frame(self, recommender: str = "ranks") -> Any:
            """Return these ranks as a table with a row for each relevant item."""

        def write(self, path: Any, recommender: str = "ranks") -> None:
            """Write that table to a .parquet or .csv file."""

    def __init__(
        self,
        ranks: ArrayLike,
        n_tied: ArrayLike = 0,
        n_items: ArrayLike | None = None,
        *,
        users: ArrayLike | None = None,
        gains: ArrayLike | None = None,
        catalog: ArrayLike | None = None,
        up_to: int | None = None,
        weights: ArrayLike | None = None,
    ) -> None:
        each: dict[str, Any] = {"n_items": n_items, "catalog": catalog}
        each |= {"gains": gains, "weights": weights}
        same_index(ranks=ranks, n_tied=n_tied, **each, users=users)
        best = as_integers("ranks", ranks, flat=True, lists=FROM_LISTS)
        names = None if users is None else as_users("users", users, best.shape, "ranks")
        if labels_of(users) is None:
            labeled_by(names, ranks=ranks, n_tied=n_tied, **each)
        tied = one_or_one_each("n_tied", n_tied, best.shape, low=0)
        for name, given in each.items():
            if name in ("gains", "weights") and given is not None:
                each[name] = as_numbers(name, given, shape=best.shape)
                refuse(name, each[name], each[name] == 0, "above 0")
            elif given is not None:
                each[name] = one_or_one_each(name, given, best.shape, low=1)
        n, degrees = each["n_items"], each.pop("gains")
        if n is not None:
            refuse("ranks", best, best + tied > n, "at most n_items - n_tied", n - tied)
        _check_catalog(n, each["catalog"])
        limit = None if up_to is None else as_integer("up_to", up_to)
        instance = None
        if names is not None:
            instance = factorize({"users": names})[0]
            first = np.unique(instance, return_index=True)[1]
            for bad, rule in misfits(best, tied, instance) if len(first) < len(best) else ():
                refuse("ranks", best, bad, f"with n_tied of one ranking for each of users: {rule}")
            for name, given in each.items():
                if given is not None:
                    of_first = given[first[instance]]
                    refuse(
                        name, given, given != of_first, "the same for all items of a user", of_first
                    )
                    each[name] = given[first]
            each["users"] = names[first]
        self.__dict__.update(gathered(best, tied, instance, degrees, up_to=limit, **each).__dict__)

    @classmethod
    def from_lists(
        cls,
        ranks: Iterable[ArrayLike | Set[int]],
        gains: Iterable[Iterable[float]] | None = None,
        n_items: ArrayLike | None = None,
        users: ArrayLike | None = None,
        *,
        n_relevant: ArrayLike | None = None,
        catalog: ArrayLike | None = None,
    ) -> Ranks:
        """Build from one list per instance: the ranks of its relevant items, in any order.

        Parameters
        ----------
        ranks : iterable or dict of sequences or sets of int
            For each instance, the distinct ranks (from 1) of its relevant items.
        gains : iterable of sequences of float, optional
            How relevant each of these items is, 0 or above; an item of gain 0 is not relevant.
        n_items : int or array_like of int, optional
            Number of ranked items, one for all or one per instance.
        users : array_like of int or str, optional
            A name for each instance, all different. By default, the keys of a dict or the index of
            a Series, unless that is 0, 1, ...
        n_relevant : int or array_like of int, optional
            Number of relevant items of each instance, if some of them have no rank. It does not go
            with `gains`.
        catalog : int or array_like of int, optional
            Number of items that there are, where the `n_items` are a sample of them.

        Returns
        -------
        Ranks

        Raises
        ------
        ValueError
            If a rank is not a whole number of at least 1, or occurs twice in an instance; if the
            gains do not fit the ranks, or one is negative or not finite; if `n_relevant` is below
            the number of ranks.

        Examples
        --------
        >>> Ranks.from_lists([[5, 3], [1], []]).n_relevant
        array([2, 1, 0])
        >>> Ranks.from_lists([[5, 3]], gains=[[1, 4]]).gains
        array([4., 1.])
        """
        same_index(ranks=ranks, gains=gains, n_items=n_items, users=users)
        given, counts = flattened("ranks", ranks, as_integers, Set)
        own = labels_of(ranks) if users is None else users
        if own is not None:
            own = as_users("users", own, counts.shape, "ranks")
        names = as_names("users", own, len(counts))
        if labels_of(users) is None:
            labeled_by(
                names, ranks=ranks, gains=gains, n_items=n_items, n_relevant=n_relevant,
                catalog=catalog,
            )  # fmt: skip
        instance = np.repeat(np.arange(len(counts)), counts)
        order = np.lexsort((given, instance))
        values = given[order]
        for at in np.flatnonzero((np.diff(values) == 0) & (np.diff(instance) == 0))[:1]:
            twice = f"ranks[{instance[at]}] holds rank {values[at]} twice"
            raise ValueError(f"{twice}; two items cannot share one position")
        gain = ideal = None
        relevant = counts
        if n_relevant is not None:
            if gains is not None:
                raise ValueError("n_relevant is given beside gains; give a list of all gains")
            relevant = one_or_one_each("n_relevant", n_relevant, counts.shape, low=0)
            refuse("n_relevant", relevant, relevant < counts, "at least the number of the ranks")
        if gains is not None:
            listed, sizes = flattened("gains", gains, as_numbers, Iterator)
            as_array("gains", sizes, shape=counts.shape)
            refuse("the length of gains", sizes, sizes != counts, "that of ranks", counts)
            gain = listed[order]
            values, instance, gain = values[gain > 0], instance[gain > 0], gain[gain > 0]
            relevant = counts = np.bincount(instance, minlength=len(counts))
            ideal = gain[np.lexsort((-gain, instance))]
        n, all_items = (
            None if given is None else one_or_one_each(name, given, counts.shape, low=1)
            for name, given in (("n_items", n_items), ("catalog", catalog))
        )
        _check_catalog(n, all_items)
        made = trusted(
            values, offsets_of(counts), relevant, n_items=n, gains=gain, ideal_gains=ideal,
            users=names, catalog=all_items,
        )  # fmt: skip
        check_within("ranks", made, n)
        return made

    def __len__(self) -> int:
        """Return the number of instances."""
        return len(self.n_relevant)

    def __getitem__(self, index: Any) -> Ranks:
        """Return some of the instances: a slice, a mask, or their positions.

        Positions may be repeated, as in a bootstrap; the result then has no `users`.
        """
        no_labels("index", index, "pass index.to_numpy() in the order of the ranks")
        x = np.atleast_1d(np.arange(len(self))[index])
        named = self.users is not None and len(np.unique(x)) == len(x)
        ranked = x if self.is_one_each else ranges(self.offsets[x], self.n_ranked[x])
        made: dict[str, Any] = {"up_to": self.up_to}
        for name in ("n_items", "catalog", "n_predicted", "users", "weights"):
            given = getattr(self, name)
            made[name] = None if given is None or (name == "users" and not named) else given[x]
        if self.gains is not None and self.ideal_gains is not None:
            ideal = ranges(offsets_of(self.n_relevant)[x], self.n_relevant[x])
            made |= {"gains": self.gains[ranked], "ideal_gains": self.ideal_gains[ideal]}
        offsets = np.arange(len(x) + 1) if self.is_one_each else offsets_of(self.n_ranked[x])
        tied = self.n_tied[ranked]
        return trusted(self.best[ranked], offsets, self.n_relevant[x], n_tied=tied, **made)

    @property
    def n_ranked(self) -> IntArray:
        """Number of relevant items of each instance that have a rank, shape (n_instances,)."""
        return np.diff(self.offsets)

    @cached_property
    def is_one_each(self) -> bool:
        """Whether every instance has exactly one relevant item, and a rank for it."""
        return bool((self.n_relevant == 1).all() and len(self.best) == len(self))

    @cached_property
    def is_sample(self) -> bool:
        """Whether some instance was ranked among a sample of the items that there are."""
        if self.catalog is None or self.n_items is None:
            return False
        return bool((self.catalog > self.n_items).any())

    @cached_property
    def has_ties(self) -> bool:
        """Whether some relevant item is level with another candidate."""
        return bool(self.n_tied.any())

    @property
    def mean_rank(self) -> FloatArray:
        """Middle of the ranks that each relevant item can have, shape (n_ranked,).

        Open Graph Benchmark and PyKEEN ("realistic") put it into a metric, such as ``(1 /
        ranks.mean_rank).mean()`` for MRR, where this package takes the metric's mean over ties.
        """
        return self.best + self.n_tied / 2

    @cached_property
    def instance(self) -> IntArray:
        """Instance of each rank, from 0, shape (n_ranked,)."""
        return read_only(np.repeat(np.arange(len(self)), self.n_ranked))

    @cached_property
    def order(self) -> IntArray:
        """Position of each rank among those of its instance, 1 for the best, shape (n_ranked,)."""
        return read_only(np.arange(1, self.best.size + 1) - self.offsets[self.instance])

    @cached_property
    def blocks(self) -> Blocks:
        """The relevant items by blocks of level ones; without ties, each is its own block."""
        new = np.ones(len(self.best), dtype=bool)
        new[1:] = (np.diff(self.best) != 0) | (np.diff(self.instance) != 0)
        first = np.flatnonzero(new)
        instance = self.instance[first]
        count, above = np.diff(first, append=len(new)), first - self.offsets[instance]
        return Blocks(first, instance, self.best[first], self.n_tied[first] + 1, count, above)

    def sum(self, per_rank: FloatArray) -> FloatArray:
        """Sum the values of each instance's ranks, shape (n_instances,)."""
        if self.is_one_each:
            return per_rank
        return np.bincount(self.instance, per_rank, len(self)).astype(np.float64, copy=False)

    def break_ties(self, rule: TieRule, *, rng: RNG = None) -> Ranks:
        """Choose one of the possible ranks of each item.

        Relevant items of one user with the same score share their possible ranks, but each gets a
        different one: together they get the best ones, the worst ones, or some drawn at random.
        If they have gains, the most relevant item is the first of them where the rule is
        optimistic, and the last where it is pessimistic.

        Parameters
        ----------
        rule : {"optimistic", "pessimistic", "random"}
            The best possible ranks, the worst, or ranks drawn uniformly.
        rng : None, int, SeedSequence or Generator
            Draws the random ranks; only "random" uses it.

        Returns
        -------
        Ranks
            The same instances, without ties.

        Raises
        ------
        ValueError
            If the rule is unknown.

        Examples
        --------
        >>> Ranks([1], n_tied=[9], n_items=[10]).break_ties("random", rng=0).best
        array([9])
        >>> Ranks([2, 2], n_tied=3, n_items=9, users=[7, 7]).break_ties("optimistic").best
        array([2, 3])
        """
        as_choice("rule", rule, ("optimistic", "pessimistic", "random"))
        generator = as_generator(rng) if rule == "random" else None
        if not self.has_ties:
            return self
        if self.is_one_each:
            step: Any = self.n_tied if rule == "pessimistic" else 0
            if generator is not None:
                step = generator.integers(self.n_tied, endpoint=True)
            return self.with_best(self.best + step)
        blocks = self.blocks
        block = np.repeat(np.arange(len(blocks.first)), blocks.n_relevant)
        gains = self.gains
        if gains is not None and rule != "random":
            turned = gains if rule == "pessimistic" else -gains
            gains = gains[np.lexsort((turned, block))]
        place = np.arange(len(block)) - blocks.first[block]
        if generator is None:
            free = (blocks.size - blocks.n_relevant)[block]
            step = place + (free if rule == "pessimistic" else 0)
            return self.with_best(self.best + step, gains=gains)
        found = self.best + _distinct(blocks.size[block], block, place, generator)
        order = np.lexsort((found, self.instance))
        return self.with_best(found[order], gains=None if gains is None else gains[order])

    def filtered(self) -> Ranks:
        """Rank each relevant item among the irrelevant ones only, as an instance of its own.

        Link prediction does so with the other true answers of a query (the *filtered* setting of
        Bordes et al. 2013): the j-th best of q items at rank r is then at rank r - j + 1 of
        n - q + 1. Instances have no names, and items without a rank are not allowed.

        Returns
        -------
        Ranks
            One relevant item per instance, in the order of `best`.

        Raises
        ------
        ValueError
            If a relevant item has no rank.

        Examples
        --------
        >>> Ranks([2, 5, 5], [0, 1, 1], 9, users=["q", "q", "q"]).filtered().best
        array([2, 4, 4])
        """
        check_all_ranked("ranks", self)
        blocks, x = self.blocks, self.instance
        each = np.repeat(np.arange(len(blocks.first)), blocks.n_relevant)
        sizes = {
            name: None if given is None else (given - self.n_relevant + 1)[x]
            for name, given in (("n_items", self.n_items), ("catalog", self.catalog))
        }
        tied = self.n_tied - (blocks.n_relevant - 1)[each]
        return one_relevant_each(self.best - blocks.above[each], n_tied=tied, **sizes)

    def with_best(self, best: IntArray, **more: Any) -> Ranks:
        """Return the same instances with ranks without ties, from values that were checked."""
        return self.replaced(**{"best": best, "n_tied": None} | more)

    def replaced(self, **more: Any) -> Ranks:
        """Return the same ranks with other values of some attributes, which were checked."""
        return trusted(**{field.name: getattr(self, field.name) for field in fields(self)} | more)


def trusted(best: IntArray, offsets: IntArray, n_relevant: IntArray, **more: Any) -> Ranks:
    """Return ranks from values that were checked; `more` are other attributes of `Ranks`."""
    content = dict.fromkeys(field.name for field in fields(Ranks)) | more
    content |= {"best": best, "offsets": offsets, "n_relevant": n_relevant}
    if content["n_tied"] is None:
        content["n_tied"] = np.broadcast_to(np.int64(0), best.shape)
    made = object.__new__(Ranks)
    for name, value in content.items():
        made.__dict__[name] = read_only(value) if isinstance(value, np.ndarray) else value
    return made


def one_relevant_each(
    ranks: IntArray, n_items: IntArray | None = None, users: NDArray[Any] | None = None, **more: Any
) -> Ranks:
    """Return instances with one relevant item each, from values that were checked."""
    offsets, ones = np.arange(ranks.size + 1), np.broadcast_to(np.int64(1), ranks.shape)
    made = trusted(ranks, offsets, ones, n_items=n_items, users=users, **more)
    made.__dict__["is_one_each"] = True
    return made


def gathered(
    best: IntArray,
    n_tied: IntArray,
    instance: IntArray | None,
    gains: FloatArray | None = None,
    *,
    up_to: int | None = None,
    **each: Any,
) -> Ranks:
    """Return ranks from one entry for each relevant item, whose instances are numbered from 0.

    With None, each item is an instance of its own. `each` are attributes of `Ranks` with one entry
    for each instance. Nothing is checked.
    """
    if instance is None and gains is None and up_to is None:
        return one_relevant_each(best, n_tied=n_tied, **each)
    if instance is None:
        instance = np.arange(len(best))
    counts = np.bincount(instance) if len(instance) else np.empty(0, np.int64)
    made = each | {"up_to": up_to, "n_relevant": counts}
    if (counts != 1).any() or (np.diff(instance) < 0).any():
        order = np.lexsort((best, instance) if gains is None else (-gains, best, instance))
        best, n_tied, instance = best[order], n_tied[order], instance[order]
        gains = None if gains is None else gains[order]
    if gains is not None:
        made["ideal_gains"] = gains[np.lexsort((-gains, instance))]
    if up_to is not None:
        known = best <= up_to
        best, n_tied, instance = best[known], n_tied[known], instance[known]
        gains = None if gains is None else gains[known]
    offsets = offsets_of(np.bincount(instance, minlength=len(counts)))
    return trusted(best, offsets, n_tied=n_tied, gains=gains, **made)


def misfits(
    best: IntArray, tied: IntArray, instance: IntArray
) -> Iterator[tuple[NDArray[np.bool_], str]]:
    """Yield a rule, and which items of an instance break it: they are not of one ranking."""
    order = np.lexsort((best, instance))
    user, first, last = instance[order], best[order], (best + tied)[order]
    new = np.append(True, (np.diff(user) != 0) | (np.diff(first) != 0))
    places = np.diff(np.flatnonzero(np.append(new, True)))[np.cumsum(new) - 1]
    same = np.diff(user) == 0
    alone = same & (first[1:] == first[:-1]) & (last == first)[1:] & (last == first)[:-1]
    apart = (first[1:] > last[:-1]) | ((first[1:] == first[:-1]) & (last[1:] == last[:-1]))
    for bad, rule in (
        (alone, "another item of this user has it, too"),
        (same & ~apart, "items with one score have the same rank and n_tied, others share no rank"),
        (places[1:] > (last - first + 1)[1:], "n_tied leaves no place for all tied items"),
    ):
        found = np.zeros(len(best), dtype=bool)
        found[order[1:][bad]] = True
        yield found, rule


def _check_catalog(n_items: IntArray | None, catalog: IntArray | None) -> None:
    """Refuse more candidates than there are items."""
    if catalog is None:
        return
    if n_items is None:
        raise ValueError("catalog is given without n_items; give n_items, too")
    refuse("catalog", catalog, catalog < n_items, "at least n_items", n_items)


def _distinct(
    length: IntArray, block: IntArray, place: IntArray, rng: np.random.Generator
) -> IntArray:
    """Draw a number below `length` for each entry, different within a block."""
    drawn = rng.integers(length)
    shared = np.flatnonzero(np.bincount(block)[block] > 1)
    for x in np.split(shared, np.flatnonzero(place[shared] == 0)[1:]):
        if len(x):
            drawn[x] = rng.choice(length[x[0]], len(x), replace=False)
    return drawn


def as_ranks(
    given: Ranks | ArrayLike, n_items: ArrayLike | None = None, name: str = "ranks"
) -> tuple[Ranks, tuple[int, ...]]:
    """Return ranks as a `Ranks` that knows `n_items` if anyone does, and the shape of results."""
    if isinstance(given, Ranks):
        shape: tuple[int, ...] = (len(given),)
        if n_items is not None:
            no_index("n_items", n_items)
            n = one_or_one_each("n_items", n_items, shape, low=1, of=name)
            if given.n_items is not None:
                rule = f"left out, given as the catalog of a sample, or what {name} knows"
                refuse("n_items", n, n != given.n_items, rule, given.n_items)
                return given, shape
            check_within(name, given, n)
            given = given.replaced(n_items=n)
        return given, shape
    values = as_integers(name, given, lists=FROM_LISTS)
    if n_items is None:
        return one_relevant_each(values.ravel()), values.shape
    same_index(**{name: given, "n_items": n_items})
    n = one_or_one_each("n_items", n_items, values.shape, low=1, of=name)
    refuse(name, values, values > n, "at most n_items", n)
    return one_relevant_each(values.ravel(), n.ravel()), values.shape


def check_within(name: str, ranks: Ranks, n: IntArray | None) -> None:
    """Refuse a rank above its instance's number of items, or more relevant items than these."""
    if n is not None:
        last = np.zeros(len(ranks), dtype=np.int64)
        np.maximum.at(last, ranks.instance, ranks.best + ranks.n_tied)
        relevant = ranks.n_relevant
        refuse("n_items", n, n < relevant, "at least the number of relevant items", relevant)
        refuse(name, last, last > n, "at most n_items", n)


def check_sampled(name: str, ranks: Ranks, n_samples: IntArray | int) -> None:
    """Refuse what cannot be ranks among the relevant items and so many sampled ones."""
    check_all_ranked(name, ranks)
    n, together = ranks.n_relevant + n_samples, "n_samples + the number of relevant items"
    if ranks.n_items is not None:
        wrong = (ranks.n_items != n) & (ranks.n_relevant > 0)
        refuse(f"{name}.n_items", ranks.n_items, wrong, together, n)
    worst, most = ranks.best + ranks.n_tied, np.broadcast_to(n_samples, n.shape)[ranks.instance]
    high = most + ranks.n_relevant[ranks.instance]
    refuse(name, worst, worst - ranks.order > most, f"at most {together}", high)


def check_exact(name: str, ranks: Ranks) -> None:
    """Refuse ranks that are a sample's: nothing may take them for exact ones."""
    if ranks.is_sample:
        of = f"{ranks.n_items[0]} candidates of {ranks.catalog[0]} items"  # type: ignore[index]
        raise ValueError(f"{name} is a sample: {of}; exact ranks are needed")


def check_all_ranked(name: str, ranks: Ranks, why: str = "among all items") -> None:
    """Refuse a relevant item that has no rank: it may have any behind the recommended ones."""
    for x in np.flatnonzero(ranks.n_ranked < ranks.n_relevant)[:1]:
        known = "" if ranks.up_to is None else f", which are known up to {ranks.up_to}"
        raise ValueError(
            f"{name}[{x}] has {ranks.n_relevant[x]} relevant items but {ranks.n_ranked[x]} ranks"
            f"{known}; each relevant item must have a rank {why}"
        )


def check_one_each(name: str, ranks: Ranks) -> None:
    """Refuse ties where several items of a user are relevant, or gains: nobody averages these."""
    if ranks.has_ties and not (ranks.is_one_each and ranks.gains is None):
        what = "gains" if ranks.gains is not None else "users with several relevant items"
        rule = f'break the ties first, as in {name}.break_ties("random", rng=0)'
        raise ValueError(f"{name} has ties and {what}; {rule}")


def users_of(name: str, given: Any) -> NDArray[Any] | None:
    """Return how ranks, or the index of a Series of them, name their users; None if they do not."""
    if isinstance(given, Ranks):
        return given.users
    if (index := index_of(given)) is None:
        return None
    users = as_users(f"{name}.index", index, (len(given),), name)
    each_once(name, users)
    return users


def each_once(name: str, users: NDArray[Any]) -> None:
    """Refuse a user who is there twice."""
    for x in repeated(users)[:1]:
        raise ValueError(f"{name} has user {shown(users.tolist()[x])} twice; give each user once")


def find_users(
    name: str, theirs: NDArray[Any], known: NDArray[Any], rule: str = "; give it for each user"
) -> IntArray:
    """Return where each of the known users is among theirs, or name one who is missing."""
    import pandas as pd

    each_once(name, theirs)
    index, wanted = (pd.Index(users, tupleize_cols=False) for users in (theirs, known))
    places = index.get_indexer(wanted).astype(np.int64)
    for x in np.flatnonzero(places < 0)[:1]:
        unlike = (known.dtype.kind == "O") != (theirs.dtype.kind == "O")
        how = ", all by integers or none" if unlike else ""
        raise ValueError(f"{name} lacks user {shown(known.tolist()[x])}{rule}{how}")
    return places


def offsets_of(counts: NDArray[Any]) -> IntArray:
    """Return where each of some runs of these lengths starts, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def ranges(starts: IntArray, lengths: IntArray) -> IntArray:
    """Return the positions start, ..., start + length - 1 of each run, in one flat array."""
    ends = np.cumsum(lengths)
    size = int(ends[-1]) if len(ends) else 0
    return np.asarray(np.arange(size) + np.repeat(starts - (ends - lengths), lengths))


def flattened(
    name: str, lists: Any, check: Callable[..., NDArray[Any]], listed: type[Any]
) -> tuple[NDArray[Any], IntArray]:
    """Return the numbers of all lists in one flat array, and how many are in each.

    `check` makes an array of each list, which may be one of the class `listed`, too.
    """
    values = lists.to_numpy() if hasattr(lists, "to_numpy") else lists  # not a table's columns
    if listed is Set and isinstance(lists, Mapping):
        values = lists.values()
    rows = [
        list(row) if isinstance(row, listed) else row
        for row in entries(name, values, "[[3, 1], [2]]")
    ]
    together = chain.from_iterable
    if {*map(type, rows)} <= {list} and {*map(type, together(rows))} <= {int, float}:
        with suppress(ValueError):  # what follows is slower, and tells in which list it is
            return check(name, [*together(rows)]), np.array([*map(len, rows)], dtype=np.int64)
    arrays = [check(f"{name}[{x}]", row, flat=True) for x, row in enumerate(rows)]
    counts = np.array([*map(len, arrays)], dtype=np.int64)
    return np.concatenate([np.empty(0, np.int64), *arrays]), counts
