"""Where the relevant items are ranked: the values from which every metric is computed.

A ranking is the set of ranks of its relevant items, the paper's R(A, x). If each instance has one
relevant item, the ranks are a plain array; if it may have several, they are a `Ranks`. Ranks whose
ties are not broken yet are a `TiedRanks`. Every function that takes ranks takes any of the three.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._arguments import (
    RNG,
    FloatArray,
    IntArray,
    as_array,
    as_choice,
    as_generator,
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

__all__ = ["Ranks", "TiedRanks"]

FROM_LISTS = "; lists of several ranks per user go into Ranks.from_lists"


@dataclass(frozen=True, eq=False, init=False)
class Ranks:
    """Ranks of the relevant items, for instances that may have several of them.

    Make one with `Ranks.from_lists` or `ranks_from_recommendations`, or from what `exact_ranks`
    returns with `TiedRanks.to_ranks`. Its arrays cannot be changed.

    Parameters
    ----------
    values : array_like of int, shape (n_ranked,)
        Ranks of the relevant items that were ranked, instance after instance, ascending within
        each, in 1, 2, ...
    offsets : array_like of int, shape (n_instances + 1,)
        Instance x owns ``values[offsets[x]:offsets[x + 1]]``.
    n_relevant : array_like of int, shape (n_instances,)
        Number of relevant items of each instance, including those that were not ranked.
    n_predicted : array_like of int, shape (n_instances,), optional
        Length of each instance's list of recommendations; None if all items were ranked.
    gains : array_like of float, shape (n_ranked,), optional
        How relevant the item at each rank is, above 0; None if all are equally relevant.
    ideal_gains : array_like of float, shape (n_relevant.sum(),), optional
        Gains of all relevant items, instance after instance, descending within each.
    n_items : int or array_like of int, shape (n_instances,), optional
        Number of ranked items of each instance; None if it is not known.
    users : array_like of int or str, shape (n_instances,), optional
        A name for each instance, all different. `evaluate` aligns recommenders by these names.

    Raises
    ------
    ValueError
        If the arrays do not fit each other, or a rank is not a whole number of at least 1, occurs
        twice in an instance, or is above `n_items`; if two instances have the same name; if a
        Series has other labels than 0, 1, ... and than `users`.

    Examples
    --------
    >>> users = Ranks.from_lists([[5, 3], [1], []], n_items=10)
    >>> len(users), users.n_relevant
    (3, array([2, 1, 0]))
    >>> users[:1].values
    array([3, 5])
    """

    values: IntArray
    offsets: IntArray
    n_relevant: IntArray
    n_predicted: IntArray | None
    gains: FloatArray | None
    ideal_gains: FloatArray | None
    n_items: IntArray | None
    users: NDArray[Any] | None

    def __init__(
        self,
        values: ArrayLike,
        offsets: ArrayLike,
        n_relevant: ArrayLike,
        n_predicted: ArrayLike | None = None,
        gains: ArrayLike | None = None,
        ideal_gains: ArrayLike | None = None,
        n_items: ArrayLike | None = None,
        users: ArrayLike | None = None,
    ) -> None:
        same_index(values=values, gains=gains)
        each = {"n_relevant": n_relevant, "n_predicted": n_predicted, "n_items": n_items}
        same_index(**each, users=users)
        counts = flat_integers("n_relevant", n_relevant, 0)
        names = None if users is None else as_users("users", users, counts.shape, "n_relevant")
        if labels_of(users) is None:
            labeled_by(names, **each)
        made = {
            "values": flat_integers("values", values, 1),
            "offsets": flat_integers("offsets", offsets, 0),
            "n_relevant": counts,
            "n_predicted": None
            if n_predicted is None
            else flat_integers("n_predicted", n_predicted, 0),
            "gains": None if gains is None else as_gains("gains", gains),
            "ideal_gains": None if ideal_gains is None else as_gains("ideal_gains", ideal_gains),
            "n_items": None
            if n_items is None
            else one_or_one_each("n_items", n_items, counts.shape, low=1),
            "users": names,
        }
        for name, value in made.items():
            object.__setattr__(self, name, None if value is None else read_only(value))
        self._check()

    def _check(self) -> None:
        """Refuse arrays that do not fit each other: a metric of them would be wrong."""
        if self.offsets.size == 0 or self.offsets[0] != 0 or self.offsets[-1] != len(self.values):
            raise ValueError(
                f"offsets is {shown(self.offsets.tolist())}; offsets must ascend from 0 to the "
                f"number of values, {len(self.values)}"
            )
        n_ranked = np.diff(self.offsets)
        if (n_ranked < 0).any():
            refuse("offsets", self.offsets[1:], n_ranked < 0, "ascending")
        if len(n_ranked) != len(self.n_relevant):
            raise ValueError(
                f"n_relevant has {len(self.n_relevant)} entries; n_relevant must have one per "
                f"instance, {len(n_ranked)}"
            )
        if (few := self.n_relevant < n_ranked).any():
            refuse("n_relevant", self.n_relevant, few, "at least the number of the ranks")
        steps = np.diff(self.values, prepend=0)
        starts = self.offsets[:-1][n_ranked > 0]
        steps[starts] = self.values[starts]
        if (steps <= 0).any():
            refuse("values", self.values, steps <= 0, "ascending within an instance")
        if self.n_predicted is not None and self.n_predicted.shape != self.n_relevant.shape:
            raise ValueError("n_predicted must be one number per instance")
        self._check_gains()
        if self.n_items is not None:
            check_within("values", self, self.n_items)
        if self.users is not None and (again := repeated(self.users)).size:
            name = self.users.tolist()[again[0]]
            raise ValueError(
                f"users[{again[0]}] is {name!r}, like an earlier one; each instance must have a "
                "name of its own"
            )

    def _check_gains(self) -> None:
        """Refuse gains that do not fit the ranks, or an ideal that is not the best order."""
        shapes = [None if g is None else g.shape for g in (self.gains, self.ideal_gains)]
        total = self.n_relevant.sum()
        if shapes not in ([None, None], [self.values.shape, (total,)]):
            raise ValueError(
                f"gains must be one per value, {len(self.values)}, and ideal_gains one per "
                f"relevant item, {total}; give both or none"
            )
        if self.gains is None or self.ideal_gains is None:
            return
        for name, gains in (("gains", self.gains), ("ideal_gains", self.ideal_gains)):
            if (gains <= 0).any():
                refuse(name, gains, gains <= 0, "above 0")
        rises = np.append(False, np.diff(self.ideal_gains) > 0)
        starts = np.cumsum(self.n_relevant) - self.n_relevant
        rises[starts[self.n_relevant > 0]] = False
        if rises.any():
            refuse("ideal_gains", self.ideal_gains, rises, "descending within an instance")

    @classmethod
    def from_lists(
        cls,
        ranks: Iterable[ArrayLike | Set[int]],
        gains: Iterable[Iterable[float]] | None = None,
        n_items: ArrayLike | None = None,
        users: ArrayLike | None = None,
    ) -> Ranks:
        """Build from one list per instance: the ranks of all its relevant items, in any order.

        Parameters
        ----------
        ranks : iterable or dict of sequences or sets of int
            For each instance, the distinct ranks (from 1) of all its relevant items.
        gains : iterable of sequences of float, optional
            How relevant each of these items is, 0 or above; an item of gain 0 is not relevant.
        n_items : int or array_like of int, optional
            Number of ranked items, one for all or one per instance.
        users : array_like of int or str, optional
            A name for each instance, all different. By default, the keys of a dict or the index of
            a Series, unless that is 0, 1, ...

        Returns
        -------
        Ranks

        Raises
        ------
        ValueError
            If a rank is not a whole number of at least 1, or occurs twice in an instance; if the
            gains do not fit the ranks, or one is negative or not finite.

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
        names = None if own is None else as_users("users", own, counts.shape, "ranks")
        if labels_of(users) is None:
            labeled_by(names, ranks=ranks, gains=gains, n_items=n_items)
            users = names
        instance = np.repeat(np.arange(len(counts)), counts)
        order = np.lexsort((given, instance))
        values = given[order]
        repeated = np.flatnonzero((np.diff(values) == 0) & (np.diff(instance) == 0))
        if repeated.size:
            at = repeated[0]
            raise ValueError(
                f"ranks[{instance[at]}] holds rank {values[at]} twice; "
                "two items cannot share one position"
            )
        if gains is None:
            return cls(values, offsets_of(counts), counts, n_items=n_items, users=users)
        gain = flat_gains(gains, counts)[order]
        keep = gain > 0
        values, gain, instance = values[keep], gain[keep], instance[keep]
        counts = np.bincount(instance, minlength=len(counts))
        ideal = gain[np.lexsort((-gain, instance))]
        return cls(
            values,
            offsets_of(counts),
            counts,
            gains=gain,
            ideal_gains=ideal,
            n_items=n_items,
            users=users,
        )

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
        taken = ranges(self.offsets[x], self.n_ranked[x])
        starts = offsets_of(self.n_relevant)
        ideal = ranges(starts[x], self.n_relevant[x])
        return Ranks(
            self.values[taken],
            offsets_of(self.n_ranked[x]),
            self.n_relevant[x],
            None if self.n_predicted is None else self.n_predicted[x],
            None if self.gains is None else self.gains[taken],
            None if self.ideal_gains is None else self.ideal_gains[ideal],
            None if self.n_items is None else self.n_items[x],
            self.users[x] if named else None,  # type: ignore[index]
        )

    @property
    def n_ranked(self) -> IntArray:
        """Number of relevant items of each instance that have a rank, shape (n_instances,)."""
        return np.diff(self.offsets)

    @cached_property
    def is_one_each(self) -> bool:
        """Whether every instance has exactly one relevant item, and a rank for it."""
        return bool((self.n_relevant == 1).all() and len(self.values) == len(self))

    @cached_property
    def instance(self) -> IntArray:
        """Instance of each rank, from 0, shape (n_ranked,)."""
        return read_only(np.repeat(np.arange(len(self)), self.n_ranked))

    @cached_property
    def order(self) -> IntArray:
        """Position of each rank among those of its instance, 1 for the best, shape (n_ranked,)."""
        return read_only(np.arange(1, self.values.size + 1) - self.offsets[self.instance])

    def sum(self, per_rank: FloatArray) -> FloatArray:
        """Sum the values of each instance's ranks, shape (n_instances,)."""
        if self.is_one_each:
            return per_rank
        return np.bincount(self.instance, per_rank, len(self)).astype(np.float64, copy=False)


def one_relevant_each(
    ranks: IntArray, n_items: IntArray | None = None, users: NDArray[Any] | None = None
) -> Ranks:
    """Return instances with one relevant item each, from values that were checked."""
    made = object.__new__(Ranks)
    content = {
        "values": read_only(ranks),
        "offsets": read_only(np.arange(ranks.size + 1)),
        "n_relevant": read_only(np.ones(ranks.size, dtype=np.int64)),
        "n_items": None if n_items is None else read_only(n_items),
        "users": None if users is None else read_only(users),
        "is_one_each": True,
    }
    made.__dict__.update(dict.fromkeys(f.name for f in fields(Ranks)), **content)
    return made


def as_rows(
    ranks: Ranks | ArrayLike, n_items: ArrayLike | None, name: str = "ranks"
) -> tuple[Ranks, tuple[int, ...]]:
    """Return ranks as a `Ranks` that knows `n_items` if anyone does, and the shape of results."""
    n: Any = None
    if isinstance(ranks, Ranks):
        n = known_items(name, ranks, n_items)
        if n is ranks.n_items:
            return ranks, (len(ranks),)
        check_within(name, ranks, n)
        made = object.__new__(Ranks)
        made.__dict__.update(ranks.__dict__, n_items=n)
        return made, (len(ranks),)
    values = as_integers(name, ranks, lists=FROM_LISTS)
    if n_items is not None:
        same_index(**{name: ranks, "n_items": n_items})
        n = one_or_one_each("n_items", n_items, values.shape, low=1, of=name)
        if (values > n).any():
            refuse(name, values, values > n, f"at most n_items, {n[values > n][0]}")
        n = n.ravel()
    return one_relevant_each(values.ravel(), n), values.shape


def known_items(name: str, ranks: Ranks | TiedRanks, n_items: ArrayLike | None) -> NDArray[Any]:
    """Return the number of items that the ranks know or the caller gives; both must agree."""
    if n_items is None:
        return ranks.n_items  # type: ignore[return-value]
    no_index("n_items", n_items)
    n = one_or_one_each("n_items", n_items, (len(ranks),), low=1, of=name)
    if ranks.n_items is None:
        return n
    if (bad := n != ranks.n_items).any():
        x = int(np.argmax(bad))
        raise ValueError(
            f"n_items is {n[x]} for instance {x}, but {name} knows that it is "
            f"{ranks.n_items[x]}; leave n_items out"
        )
    return ranks.n_items


def check_within(name: str, rows: Ranks, n: IntArray) -> None:
    """Refuse a rank above its instance's number of items, or more relevant items than these."""
    if (few := np.flatnonzero(rows.n_relevant > n)).size:
        x = few[0]
        raise ValueError(
            f"n_items is {n[x]} for instance {x}, which has {rows.n_relevant[x]} relevant items"
        )
    bad = rows.values > n[rows.instance]
    if bad.any():
        at = int(np.argmax(bad))
        x = int(rows.instance[at])
        raise ValueError(
            f"{name}[{x}] holds rank {rows.values[at]}; ranks must be at most n_items, {n[x]}"
        )


def check_sampled(name: str, rows: Ranks, n_samples: int) -> None:
    """Refuse ranks that are known to be among another number of items than the sampled ones."""
    n = rows.n_relevant + n_samples
    if rows.n_items is not None and (bad := rows.n_items != n).any():
        refuse(f"{name}.n_items", rows.n_items, bad, "n_samples and the relevant items together")


def check_all_ranked(name: str, rows: Ranks, why: str = "among all items") -> None:
    """Refuse a relevant item that has no rank: it may have any behind the recommended ones."""
    if (unranked := np.flatnonzero(rows.n_ranked < rows.n_relevant)).size:
        x = unranked[0]
        raise ValueError(
            f"{name}[{x}] has {rows.n_relevant[x]} relevant items but {rows.n_ranked[x]} ranks; "
            f"each relevant item must have a rank {why}"
        )


TieRule = Literal["optimistic", "pessimistic", "random"]


@dataclass(frozen=True, eq=False, init=False)
class TiedRanks:
    """Ranks of relevant items among all candidates, before ties are broken.

    If other candidates have exactly the score of a relevant item, each may come above or below it:
    the item can have any of the ranks ``best``, ..., ``best + n_tied``. Metrics and expectations of
    a TiedRanks are averages over all ways to break the ties, which are all equally likely.

    Parameters
    ----------
    best : array_like of int, shape (n_entries,)
        The best possible rank: 1 + the number of candidates with a higher score.
    n_tied : int or array_like of int, shape (n_entries,)
        Number of other candidates with exactly the same score.
    n_items : int or array_like of int, shape (n_entries,)
        Number of candidates, including the relevant item.
    users : array_like of int or str, shape (n_entries,), optional
        The user of each entry. Entries with the same user are one instance with several relevant
        items. By default every entry is an instance of its own.
    gains : array_like of float, shape (n_entries,), optional
        How relevant each item is, above 0; by default all are equally relevant. Only `to_ranks`
        uses them: metrics and expectations of a TiedRanks with gains are refused.

    Raises
    ------
    ValueError
        If `best` is not flat, the others do not fit it, or the worst rank is above `n_items`; if
        two entries of a user share some of their ranks, but not all; or if a Series has other
        labels than 0, 1, ... and than `users`, or than the others if `users` is a Series, too.

    Examples
    --------
    >>> ranks = TiedRanks(best=[1, 3], n_tied=[0, 1], n_items=4)
    >>> ranks.break_ties("pessimistic")
    array([1, 4])
    >>> from sampled_metrics import ReciprocalRank
    >>> ReciprocalRank()(ranks).round(4)
    array([1.    , 0.2917])
    """

    best: IntArray
    n_tied: IntArray
    n_items: IntArray
    users: NDArray[Any] | None
    gains: FloatArray | None

    def __init__(
        self,
        best: ArrayLike,
        n_tied: ArrayLike,
        n_items: ArrayLike,
        users: ArrayLike | None = None,
        gains: ArrayLike | None = None,
    ) -> None:
        each = {"best": best, "n_tied": n_tied, "n_items": n_items, "gains": gains}
        same_index(**each, users=users)
        ranks = as_integers("best", best)
        if ranks.ndim != 1:
            raise ValueError(f"best has shape {ranks.shape}; best must be a flat list of ranks")
        tied = _each("n_tied", n_tied, ranks, low=0)
        n = _each("n_items", n_items, ranks, low=1)
        owners = None if users is None else as_users("users", users, ranks.shape, "best")
        if labels_of(users) is None:
            labeled_by(owners, **each)
        degrees = None if gains is None else _as_degrees(gains, ranks)
        if (bad := ranks + tied > n).any():
            refuse("best", ranks, bad, f"at most n_items - n_tied, {(n - tied)[bad][0]}")
        for field, value in zip(fields(self), (ranks, tied, n, owners, degrees), strict=True):
            object.__setattr__(self, field.name, None if value is None else read_only(value))
        if owners is not None and self.has_several:
            self._check_users(owners)

    def _check_users(self, users: NDArray[Any]) -> None:
        """Refuse entries of a user that cannot come from one ranking."""
        order, _, _, size = _in_blocks(self.instance, self.best)
        user, n = self.instance[order], self.n_items[order]
        best, worst = self.best[order], (self.best + self.n_tied)[order]
        same = np.diff(user) == 0
        apart = (best[1:] > worst[:-1]) | ((best[1:] == best[:-1]) & (worst[1:] == worst[:-1]))
        problems = (
            (
                same & ~apart,
                "items with one score have the same best and n_tied, others share no rank",
            ),
            (same & (n[1:] != n[:-1]), "all items of a user have the same n_items"),
            (size[1:] > (worst - best + 1)[1:], "n_tied leaves no place for all tied items"),
        )
        for bad, rule in problems:
            if bad.any():
                i = int(order[1:][bad][0])
                raise ValueError(
                    f"best[{i}] is {self.best[i]} with n_tied {self.n_tied[i]} and n_items "
                    f"{self.n_items[i]}, which does not fit the other items of user {users[i]}; "
                    f"{rule}"
                )

    @cached_property
    def instance(self) -> IntArray:
        """Instance of each entry: users are numbered as they first appear, (n_entries,)."""
        if self.users is None:
            return read_only(np.arange(len(self)))
        return read_only(factorize({"users": self.users})[0])

    @cached_property
    def has_several(self) -> bool:
        """Whether some user has several entries."""
        return len(self) > 0 and int(self.instance.max()) + 1 < len(self)

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self.best)

    def __getitem__(self, index: Any) -> TiedRanks:
        """Return some of the entries: a slice, a mask, or their positions.

        Positions may be repeated, as in a bootstrap. The result then has no `users`, unless
        some users have several entries: entries of one user stay one instance.
        """
        no_labels("index", index, "pass index.to_numpy() in the order of the ranks")
        x = np.atleast_1d(np.arange(len(self))[index])
        users, gains = (None if each is None else each[x] for each in (self.users, self.gains))
        if not self.has_several and len(np.unique(x)) < len(x):
            users = None
        return TiedRanks(self.best[x], self.n_tied[x], self.n_items[x], users, gains)

    def break_ties(self, rule: TieRule, *, rng: RNG = None) -> IntArray:
        """Choose one of the possible ranks of each entry.

        Entries of one user with the same score share their possible ranks, but each gets a
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
        ndarray of int64, shape (n_entries,)

        Raises
        ------
        ValueError
            If the rule is unknown.

        Examples
        --------
        >>> TiedRanks(best=[1], n_tied=[9], n_items=[10]).break_ties("random", rng=0)
        array([9])
        >>> TiedRanks([2, 2], n_tied=3, n_items=9, users=[7, 7]).break_ties("optimistic")
        array([2, 3])
        """
        as_choice("rule", rule, ("optimistic", "pessimistic", "random"))
        if not self.has_several:
            if rule == "random":
                return self.best + as_generator(rng).integers(self.n_tied, endpoint=True)
            return self.best + (self.n_tied if rule == "pessimistic" else 0)
        turned = {"optimistic": -1, "pessimistic": 1, "random": 0}[rule]
        last = None if self.gains is None else turned * self.gains
        order, block, place, size = _in_blocks(self.instance, self.best, last)
        if rule == "random":
            steps = _distinct(self.n_tied[order] + 1, block, place, as_generator(rng))
        else:
            steps = place + (self.n_tied[order] + 1 - size if rule == "pessimistic" else 0)
        ranks = np.empty_like(self.best)
        ranks[order] = self.best[order] + steps
        return ranks

    def to_ranks(self, rule: TieRule, *, rng: RNG = None) -> Ranks:
        """Break ties and gather the ranks of each user.

        Parameters
        ----------
        rule, rng
            As in `break_ties`.

        Returns
        -------
        Ranks
            One instance per user, in the order in which `users` first names them; without
            `users`, one per entry.

        Examples
        --------
        >>> tied = TiedRanks([4, 1, 1], n_tied=[0, 1, 1], n_items=9, users=[0, 0, 1])
        >>> tied.to_ranks("pessimistic").values
        array([2, 4, 2])
        """
        ranks = self.break_ties(rule, rng=rng)
        if not self.has_several and self.gains is None:
            return one_relevant_each(ranks, self.n_items, self.users)
        counts = np.bincount(self.instance)
        first = np.unique(self.instance, return_index=True)[1]
        order = np.lexsort((ranks, self.instance))
        gains = ideal = None
        if self.gains is not None:
            gains = self.gains[order]
            ideal = self.gains[np.lexsort((-self.gains, self.instance))]
        return Ranks(
            ranks[order],
            offsets_of(counts),
            counts,
            gains=gains,
            ideal_gains=ideal,
            n_items=self.n_items[first],
            users=None if self.users is None else self.users[first],
        )


def _as_degrees(gains: ArrayLike, ranks: IntArray) -> FloatArray:
    degrees = as_gains("gains", gains)
    if degrees.shape != ranks.shape:
        raise ValueError(
            f"gains has shape {degrees.shape}, best has shape {ranks.shape}; gains must be one "
            "for each of best"
        )
    if (bad := degrees <= 0).any():
        refuse("gains", degrees, bad, "above 0")
    return degrees


def _each(name: str, values: ArrayLike, ranks: IntArray, low: int) -> IntArray:
    return one_or_one_each(name, values, ranks.shape, low, of="best")


def _in_blocks(
    users: IntArray, best: IntArray, last: FloatArray | None = None
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Sort entries by user and best rank; return the order, and of each the block, place and size.

    A block holds a user's entries with the same score. Places in it count from 0, in ascending
    order of `last`, if it is given.
    """
    order = np.lexsort((best, users) if last is None else (last, best, users))
    new = (np.diff(users[order], prepend=-1) != 0) | (np.diff(best[order], prepend=-1) != 0)
    block = np.cumsum(new) - 1
    place = np.arange(len(order)) - np.flatnonzero(new)[block]
    return order, block, place, np.bincount(block)[block]


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


def one_instance_each(name: str, ranks: TiedRanks) -> None:
    """Refuse several entries of one user, or gains, where each entry must be an instance."""
    if ranks.gains is not None:
        raise ValueError(
            f'{name} has gains; break ties first, as in {name}.to_ranks("random", rng=0)'
        )
    if ranks.has_several:
        counts = np.bincount(ranks.instance)[ranks.instance]
        x = int(np.argmax(counts > 1))
        user = np.asarray(ranks.users)[x]
        raise ValueError(
            f"{name} holds {counts[x]} items of user {user}; break ties first, as in "
            f'{name}.to_ranks("random", rng=0)'
        )


def users_of(name: str, given: Any) -> NDArray[Any] | None:
    """Return how ranks, or the index of a Series of them, name their users; None if they do not."""
    if isinstance(given, Ranks | TiedRanks):
        return given.users
    if (index := index_of(given)) is None:
        return None
    users = as_users(f"{name}.index", index, (len(given),), name)
    if (again := repeated(users)).size:
        user = shown(users.tolist()[again[0]])
        raise ValueError(f"{name} has user {user} twice; give one rank per user")
    return users


def check_instances(
    name: str, ranks: Ranks | TiedRanks | IntArray, n_items: ArrayLike | None
) -> None:
    """Refuse ranks that do not fit their numbers of items, or of which some are one instance."""
    if isinstance(ranks, TiedRanks):
        one_instance_each(name, ranks)
        known_items(name, ranks, n_items)
    else:
        as_rows(ranks, n_items, name)


def offsets_of(counts: NDArray[Any]) -> IntArray:
    """Return where each of some runs of these lengths starts, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def ranges(starts: IntArray, lengths: IntArray) -> IntArray:
    """Return the positions start, ..., start + length - 1 of each run, in one flat array."""
    ends = np.cumsum(lengths)
    size = int(ends[-1]) if len(ends) else 0
    return np.asarray(np.arange(size) + np.repeat(starts - (ends - lengths), lengths))


def flat_integers(name: str, values: ArrayLike, low: int) -> IntArray:
    flat = as_integers(name, values, low)
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
