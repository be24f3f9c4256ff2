"""Ranks before ties are broken: what scores alone can say."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._checks import (
    RNG,
    FloatArray,
    IntArray,
    as_choice,
    as_generator,
    as_integers,
    index_of,
    labeled_by,
    labels_of,
    no_labels,
    one_or_one_each,
    read_only,
    refuse,
    same_index,
    shown,
)
from sampled_metrics._flat import as_gains, offsets_of
from sampled_metrics._ids import as_users, factorize, repeated
from sampled_metrics.ranks import Ranks, as_rows, known_items, one_relevant_each

__all__ = ["TiedRanks"]

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
