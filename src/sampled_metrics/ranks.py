"""Where the relevant items are ranked: the values from which every metric is computed.

A ranking is the set of ranks of its relevant items, the paper's R(A, x). If each instance has one
relevant item, the ranks are a plain array; if it may have several, they are a `Ranks`. Ranks whose
ties are not broken yet are a `TiedRanks`. Every function that takes ranks takes any of the three.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._checks import (
    FloatArray,
    IntArray,
    as_integers,
    labeled_by,
    labels_of,
    no_index,
    no_labels,
    one_or_one_each,
    read_only,
    refuse,
    same_index,
    shown,
)
from sampled_metrics._flat import (
    as_gains,
    flat_gains,
    flat_integers,
    flat_ranks,
    offsets_of,
    ranges,
)
from sampled_metrics._ids import as_users, repeated

if TYPE_CHECKING:
    from sampled_metrics.ties import TiedRanks

__all__ = ["Ranks"]

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
