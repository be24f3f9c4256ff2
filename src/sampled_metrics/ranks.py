"""Where the relevant items stand: the one form in which ranks travel.

An instance is what is ranked once: a user, a session, a query. Its relevant items have ranks among
its candidates, and everything else in this package is computed from these ranks. A plain array, one
relevant item for each instance, is accepted wherever a `Ranks` is, and becomes one there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields
from functools import cached_property
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
    as_users,
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
            absent: Literal["refuse", "missed"] = "refuse",
            user: str = "user",
            item: str = "item",
            rank: str = "rank",
            score: str = "score",
            relevance: str = "relevance",
        ) -> Ranks:
            """Find the relevant items in lists of recommended items."""

        @staticmethod
        def from_run(
            run: Any, qrels: Any, *, absent: Literal["refuse", "missed"] = "refuse"
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
            n_items: str = "n_items",
            relevance: str = "relevance",
            n_predicted: str = "n_predicted",
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
        each = {"ranks": ranks, "n_tied": n_tied, "n_items": n_items, "gains": gains}
        each |= {"catalog": catalog, "weights": weights}
        same_index(**each, users=users)
        best = flat_integers("ranks", ranks, 1)
        tied = one_or_one_each("n_tied", n_tied, best.shape, low=0)
        sizes: dict[str, Any] = {"n_items": n_items, "catalog": catalog}
        for name, given in sizes.items():
            if given is not None:
                sizes[name] = one_or_one_each(name, given, best.shape, low=1)
        names = None if users is None else as_users("users", users, best.shape, "ranks")
        if labels_of(users) is None:
            labeled_by(names, **each)
        for name, given in (("gains", gains), ("weights", weights)):
            sizes[name] = None if given is None else _positive(name, given, best.shape)
        _check_sizes(best + tied, sizes["n_items"], sizes["catalog"], "n_items - n_tied")
        limit = None if up_to is None else as_integer("up_to", up_to)
        degrees = sizes.pop("gains")
        instance = None
        if names is not None:
            instance = factorize({"users": names})[0]
            first = np.unique(instance, return_index=True)[1]
            if len(first) < len(best):
                _check_blocks(best, tied, instance, names)
                _check_alike(sizes, first[instance], names)
            sizes["users"] = names
            sizes = {name: None if each is None else each[first] for name, each in sizes.items()}
        self.__dict__.update(gathered(best, tied, instance, degrees, up_to=limit, **sizes).__dict__)

    @classmethod
    def from_lists(
        cls,
        ranks: Iterable[ArrayLike | Set[int]],
        gains: Iterable[Iterable[float]] | None = None,
        n_items: ArrayLike | None = None,
        users: ArrayLike | None = None,
        *,
        n_relevant: ArrayLike | None = None,
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
        given, counts = flat_ranks(ranks)
        own = labels_of(ranks) if users is None else users
        names = None if own is None else as_users("users", own, counts.shape, "ranks").copy()
        if labels_of(users) is None:
            labeled_by(names, ranks=ranks, gains=gains, n_items=n_items, n_relevant=n_relevant)
        if names is not None and (again := repeated(names)).size:
            raise ValueError(
                f"users[{again[0]}] is {names.tolist()[again[0]]!r}, like an earlier one; each "
                "instance must have a name of its own"
            )
        instance = np.repeat(np.arange(len(counts)), counts)
        order = np.lexsort((given, instance))
        values = given[order]
        for at in np.flatnonzero((np.diff(values) == 0) & (np.diff(instance) == 0))[:1]:
            raise ValueError(
                f"ranks[{instance[at]}] holds rank {values[at]} twice; "
                "two items cannot share one position"
            )
        gain = ideal = None
        if gains is not None:
            if n_relevant is not None:
                raise ValueError("n_relevant is given beside gains; give a list of all gains")
            gain = flat_gains(gains, counts)[order]
            values, instance, gain = values[gain > 0], instance[gain > 0], gain[gain > 0]
            counts = np.bincount(instance, minlength=len(counts))
            ideal = gain[np.lexsort((-gain, instance))]
        relevant = counts
        if n_relevant is not None:
            relevant = one_or_one_each("n_relevant", n_relevant, counts.shape, low=0)
            if (few := relevant < counts).any():
                refuse("n_relevant", relevant, few, "at least the number of the ranks")
        n = None if n_items is None else one_or_one_each("n_items", n_items, counts.shape, low=1)
        made = trusted(
            values, offsets_of(counts), relevant, n_items=n, gains=gain, ideal_gains=ideal,
            users=names,
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
    def has_ties(self) -> bool:
        """Whether some relevant item is level with another candidate."""
        return bool(self.n_tied.any())

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

    def with_best(self, best: IntArray, **more: Any) -> Ranks:
        """Return the same instances with ranks without ties, from values that were checked."""
        made = {field.name: getattr(self, field.name) for field in fields(self)}
        del made["n_tied"]
        return trusted(**made | {"best": best} | more)


def trusted(best: IntArray, offsets: IntArray, n_relevant: IntArray, **more: Any) -> Ranks:
    """Return ranks from values that were checked; `more` are other attributes of `Ranks`."""
    made = object.__new__(Ranks)
    _set(made, {"best": best, "offsets": offsets, "n_relevant": n_relevant} | more)
    return made


def _set(ranks: Ranks, content: dict[str, Any]) -> None:
    content = dict.fromkeys(field.name for field in fields(Ranks)) | content
    if content["n_tied"] is None:
        content["n_tied"] = np.broadcast_to(np.int64(0), content["best"].shape)
    for name, value in content.items():
        ranks.__dict__[name] = read_only(value) if isinstance(value, np.ndarray) else value


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


def _check_blocks(best: IntArray, tied: IntArray, instance: IntArray, users: Any) -> None:
    """Refuse items of a user that cannot come from one ranking."""
    for bad, rule in misfits(best, tied, instance):
        for i in np.flatnonzero(bad)[:1].tolist():
            raise ValueError(
                f"ranks[{i}] is {best[i]} with n_tied {tied[i]}, which does not fit the other "
                f"items of user {users[i]}; {rule}"
            )


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


def _check_alike(each: dict[str, Any], first: IntArray, users: Any) -> None:
    """Refuse what is one for each user, and differs from that of the user's first item."""
    for name, given in each.items():
        if given is not None and (bad := given != given[first]).any():
            i = int(np.argmax(bad))
            raise ValueError(
                f"{name}[{i}] is {given[i]}, {name}[{first[i]}] is {given[first[i]]}, and both are "
                f"of user {users[i]}; all items of a user must have the same {name}"
            )


def _check_sizes(
    worst: IntArray, n_items: IntArray | None, catalog: IntArray | None, limit: str
) -> None:
    """Refuse ranks beyond the candidates, and more candidates than there are items."""
    if n_items is not None and (bad := worst > n_items).any():
        i = int(np.argmax(bad))
        raise ValueError(f"ranks[{i}] must be at most {limit}; n_items is {n_items[i]}")
    if catalog is None:
        return
    if n_items is None:
        raise ValueError("catalog is given without n_items; give the number of candidates, too")
    if (bad := catalog < n_items).any():
        refuse("catalog", catalog, bad, "at least n_items, the number of candidates")


def _positive(name: str, values: ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    given = as_gains(name, values)
    if given.shape != shape:
        raise ValueError(
            f"{name} has shape {given.shape}, ranks has shape {shape}; {name} must be one for each "
            "of ranks"
        )
    if (bad := given <= 0).any():
        refuse(name, given, bad, "above 0")
    return given


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
        n = known_items(name, given, n_items)
        if n is given.n_items or n is None:
            return given, (len(given),)
        check_within(name, given, n)
        return replace_items(given, n), (len(given),)
    values = as_integers(name, given, lists=FROM_LISTS)
    n = None
    if n_items is not None:
        same_index(**{name: given, "n_items": n_items})
        n = one_or_one_each("n_items", n_items, values.shape, low=1, of=name)
        if (values > n).any():
            refuse(name, values, values > n, f"at most n_items, {n[values > n][0]}")
        n = n.ravel()
    return one_relevant_each(values.ravel(), n), values.shape


def replace_items(ranks: Ranks, n_items: IntArray) -> Ranks:
    """Return the same ranks with the number of candidates of each instance."""
    made = object.__new__(Ranks)
    made.__dict__.update(ranks.__dict__, n_items=read_only(n_items))
    return made


def known_items(name: str, ranks: Ranks, n_items: ArrayLike | None) -> IntArray | None:
    """Return the number of items that the ranks know or the caller gives; both must agree."""
    if n_items is None:
        return ranks.n_items
    no_index("n_items", n_items)
    n = one_or_one_each("n_items", n_items, (len(ranks),), low=1, of=name)
    if ranks.n_items is None:
        return n
    for x in np.flatnonzero(n != ranks.n_items)[:1]:
        raise ValueError(
            f"n_items is {n[x]} for instance {x}, but {name} knows that it is "
            f"{ranks.n_items[x]}; leave n_items out"
        )
    return ranks.n_items


def check_within(name: str, ranks: Ranks, n: IntArray | None) -> None:
    """Refuse a rank above its instance's number of items, or more relevant items than these."""
    if n is None:
        return
    for x in np.flatnonzero(ranks.n_relevant > n)[:1]:
        raise ValueError(
            f"n_items is {n[x]} for instance {x}, which has {ranks.n_relevant[x]} relevant items"
        )
    worst = ranks.best + ranks.n_tied
    for at in np.flatnonzero(worst > n[ranks.instance])[:1]:
        x = int(ranks.instance[at])
        raise ValueError(
            f"{name}[{x}] holds rank {worst[at]}; ranks must be at most n_items, {n[x]}"
        )


def check_sampled(name: str, ranks: Ranks, n_samples: IntArray | int) -> None:
    """Refuse what cannot be ranks among the relevant items and so many sampled ones."""
    check_all_ranked(name, ranks)
    n = ranks.n_relevant + n_samples
    if ranks.n_items is not None and (bad := ranks.n_items != n).any():
        refuse(f"{name}.n_items", ranks.n_items, bad, "n_samples and the relevant items together")
    worst, most = ranks.best + ranks.n_tied, np.broadcast_to(n_samples, n.shape)[ranks.instance]
    if (bad := worst - ranks.order > most).any():
        one = f"1, {most[bad][0] + 1}"
        relevant = one if ranks.is_one_each else "the number of relevant items"
        refuse(name, worst, bad, f"at most n_samples + {relevant}")


def check_exact(name: str, ranks: Ranks) -> None:
    """Refuse ranks that are a sample's: nothing may take them for exact ones."""
    if ranks.catalog is not None and len(ranks):
        raise ValueError(
            f"{name} is a sample: {ranks.n_items[0]} candidates of {ranks.catalog[0]} items; "  # type: ignore[index]
            "exact ranks are needed"
        )


def check_all_ranked(name: str, ranks: Ranks, why: str = "among all items") -> None:
    """Refuse a relevant item that has no rank: it may have any behind the recommended ones."""
    if (unranked := np.flatnonzero(ranks.n_ranked < ranks.n_relevant)).size:
        x = unranked[0]
        known = "" if ranks.up_to is None else f", which are known up to {ranks.up_to}"
        raise ValueError(
            f"{name}[{x}] has {ranks.n_relevant[x]} relevant items but {ranks.n_ranked[x]} ranks"
            f"{known}; each relevant item must have a rank {why}"
        )


def check_one_each(name: str, ranks: Ranks) -> None:
    """Refuse ties where several items of a user are relevant, or gains: nobody averages these."""
    if not ranks.has_ties or (ranks.is_one_each and ranks.gains is None):
        return
    what = "gains" if ranks.gains is not None else "users with several relevant items"
    raise ValueError(
        f"{name} has ties and {what}; break the ties first, as in "
        f'{name}.break_ties("random", rng=0)'
    )


def users_of(name: str, given: Any) -> NDArray[Any] | None:
    """Return how ranks, or the index of a Series of them, name their users; None if they do not."""
    if isinstance(given, Ranks):
        return given.users
    if (index := index_of(given)) is None:
        return None
    users = as_users(f"{name}.index", index, (len(given),), name)
    if (again := repeated(users)).size:
        user = shown(users.tolist()[again[0]])
        raise ValueError(f"{name} has user {user} twice; give one rank per user")
    return users


def offsets_of(counts: NDArray[Any]) -> IntArray:
    """Return where each of some runs of these lengths starts, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def ranges(starts: IntArray, lengths: IntArray) -> IntArray:
    """Return the positions start, ..., start + length - 1 of each run, in one flat array."""
    ends = np.cumsum(lengths)
    size = int(ends[-1]) if len(ends) else 0
    return np.asarray(np.arange(size) + np.repeat(starts - (ends - lengths), lengths))


def flat_integers(name: str, values: ArrayLike, low: int) -> IntArray:
    flat = as_integers(name, values, low, lists=FROM_LISTS)
    if flat.ndim != 1:
        raise ValueError(f"{name} has shape {flat.shape}; {name} must be flat")
    return flat


def flat_ranks(ranks: Any) -> tuple[IntArray, IntArray]:
    """Return all ranks in one flat array, and their number per instance."""
    if isinstance(ranks, str | bytes) or not isinstance(ranks, Iterable):
        raise ValueError(f"ranks is {shown(ranks)}; ranks must be a list of ranks per instance")
    if hasattr(ranks, "to_numpy"):  # a DataFrame would give the names of its columns
        ranks = ranks.to_numpy()
    if getattr(ranks, "ndim", 1) == 0:
        raise ValueError(f"ranks is {shown(ranks)}; ranks must be a list of ranks per instance")
    given = ranks.values() if isinstance(ranks, Mapping) else ranks
    rows: list[Any] = [list(row) if isinstance(row, Set) else row for row in given]
    if not all(type(row) is list for row in rows) or not _plain(rows):
        for x, row in enumerate(rows):  # slower, and says where something else is
            rows[x] = as_integers(f"ranks[{x}]", row)
            if rows[x].ndim != 1:
                raise ValueError(
                    f"ranks[{x}] is {shown(row)}; each instance must be a list of ranks"
                )
    counts = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    flat = (rank for row in rows for rank in row)
    return np.fromiter(flat, dtype=np.int64, count=int(counts.sum())), counts


def _plain(rows: list[list[Any]]) -> bool:
    """Tell whether lists hold nothing but integers from 1 to a size that fits."""
    kinds = {type(rank) for row in rows for rank in row}
    return kinds <= {int} and all(0 < rank < 2**53 for row in rows for rank in row)


def flat_gains(gains: Any, counts: IntArray) -> FloatArray:
    """Return all gains in one flat array, or say which is not a number of 0 or above."""
    if hasattr(gains, "to_numpy"):
        gains = gains.to_numpy()
    if (
        isinstance(gains, str | bytes | Mapping)
        or not isinstance(gains, Iterable)
        or getattr(gains, "ndim", 1) == 0
    ):
        raise ValueError(f"gains is {shown(gains)}; gains must be a list of gains per instance")
    rows: list[Any] = [
        list(row) if isinstance(row, Iterable) and not hasattr(row, "__len__") else row
        for row in gains
    ]
    if len(rows) != len(counts):
        raise ValueError(f"gains has {len(rows)} instances, ranks has {len(counts)}")
    for x, row in enumerate(rows):
        rows[x] = as_array(f"gains[{x}]", row)
        if rows[x].shape != (counts[x],):
            raise ValueError(
                f"gains[{x}] has shape {rows[x].shape}; it must have {counts[x]} gains"
            )
        as_gains(f"gains[{x}]", rows[x])
    return np.concatenate([*rows, np.empty(0)]).astype(np.float64)


def as_gains(name: str, gains: ArrayLike) -> FloatArray:
    row = as_array(name, gains)
    if row.size and row.dtype.kind not in "iuf":
        raise ValueError(f"{name} is {shown(gains)}; gains must be numbers")
    if (bad := ~(np.isfinite(row) & (row >= 0))).any():
        refuse(name, row, bad, "finite and 0 or above")
    return row.astype(np.float64)
