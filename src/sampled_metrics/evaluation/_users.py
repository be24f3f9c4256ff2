"""Recommenders whose ranks are aligned by user, and what else is given for each user."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._arguments import (
    IntArray,
    as_array,
    as_named,
    as_users,
    is_table,
    keys_of,
    labels_of,
    no_index,
    refuse,
    shown,
)
from sampled_metrics.ranks import Ranks, as_ranks, check_exact, check_one_each, find_users, users_of
from sampled_metrics.sampling import Draw, check_is_sample
from sampled_metrics.sampling import as_draw as as_uniform

SAME = ", whom {} has; give all the same users"
EXAMPLE = '{"mine": Ranks.from_model(model, split)}'
Given = Ranks | ArrayLike


class Aligned(NamedTuple):
    """Ranks of the same users in the same order."""

    recommenders: dict[str, Ranks]
    users: NDArray[Any] | None  # what they are called, if they have names
    called: str  # what the caller calls the ranks of a recommender

    @property
    def first(self) -> Ranks:
        """Ranks of the first recommender, in whose order all users are."""
        return next(iter(self.recommenders.values()))

    def take(self, index: NDArray[Any]) -> Aligned:
        """Return some of the users."""
        recommenders = {name: ranks[index] for name, ranks in self.recommenders.items()}
        users = None if self.users is None else self.users[index]
        return Aligned(recommenders, users, self.called)

    def with_relevant(self) -> tuple[Aligned, IntArray]:
        """Return the users with relevant items, of whom alone metrics are known, and where."""
        x = np.flatnonzero(self.first.n_relevant > 0)
        if not x.size:
            nobody = "ranks holds no user with a relevant item"
            raise ValueError(f"{nobody}; there is nothing to average")
        return self.take(x), x

    def exact(self, n_items: ArrayLike | None, draw: Draw | None) -> Aligned:
        """Return the same, which are exact, with the number of items where ranks do not know it."""
        known = {}
        for name, ranks in self.recommenders.items():
            called = self.called.format(name)
            check_exact(called, ranks)
            if draw is not None:
                check_one_each(called, ranks)
            known[name] = rows = as_ranks(ranks, n_items, called)[0]
            if draw is not None:
                check_is_sample(called, rows, draw)
                if draw.replacement == "merged" and rows.has_ties:
                    raise ValueError(
                        f"{called} has ties, which a merged draw does not average; break them "
                        f'first: {called}.break_ties("random", rng=0)'
                    )
        return Aligned(known, self.users, self.called)

    def drawn(self, draw: Draw | None) -> Draw:
        """Return how these sampled ranks were drawn, by what they know and what `draw` adds."""
        rows, called = self.first, self.called.format(next(iter(self.recommenders)))
        assert rows.n_items is not None
        assert rows.catalog is not None
        m = rows.n_items - rows.n_relevant
        again, shared = (False, False) if draw is None else (draw.replacement, draw.shared)
        said = {} if draw is None else {"n_items": draw.n_items, "n_samples": draw.n_samples}
        for name, known in (("n_items", rows.catalog), ("n_samples", m)):
            if (each := said.get(name)) is None:
                continue
            each = np.broadcast_to(each, known.shape)
            wrong = each < known if (name, again) == ("n_samples", "merged") else each != known
            for x in np.flatnonzero(wrong & (rows.n_relevant > 0))[:1]:
                where = f"{rows.n_items[x]} candidates of a catalog of {rows.catalog[x]}"
                raise ValueError(
                    f"draw.{name} is {each[x]}, and it must be {known[x]}: {called}[{x}] is among "
                    f"{where}; leave the draw out, or give Draw({m[x]}, n_items={rows.catalog[x]})"
                )
        # Given how many different ones there are, they are a sample without replacement.
        again = again if again is True else False
        counted = m[rows.n_relevant > 0]
        size = int(counted[0]) if len({*counted.tolist()}) == 1 else m
        return Draw(size, n_items=rows.catalog, replacement=again, shared=shared)


def aligned(ranks: Mapping[str, Given], called: str = "ranks[{!r}]") -> Aligned:
    """Return all recommenders with the users of the first one, in its order.

    `called` is what the caller calls the ranks of a recommender.
    """
    if is_table(ranks):
        what = shown(ranks) if isinstance(ranks, str | PathLike) else f"a {type(ranks).__name__}"
        raise ValueError(
            f"ranks is {what}; ranks must be a dict: Ranks.read makes one of a table with a row "
            "for each relevant item, and dict of a pandas table with a column for each recommender"
        )
    named: dict[str, Any] = as_named("ranks", ranks, EXAMPLE)
    users, made = {}, {}
    for key, given in named.items():
        name = called.format(key)
        users[name] = users_of(name, given)
        made[name], shape = as_ranks(given, name=name)
        if len(shape) != 1:
            raise ValueError(f"{name} has shape {shape}; {name} must be one rank per user")
        if made[name].weights is not None:
            raise ValueError(f"{name} has weights; only metric.mean(ranks) weighs users")
    if any(theirs is None for theirs in users.values()):  # an index 0, 1, ... is then no names
        indexed = [key for key, given in named.items() if not isinstance(given, Ranks)]
        plain = [called.format(key) for key in indexed if labels_of(named[key]) is None]
        users |= dict.fromkeys(plain)
    (first, known), *others = users.items()
    for name, theirs in others:
        if (known is None) != (theirs is None):
            nameless, named_by = (name, first) if theirs is None else (first, name)
            raise ValueError(
                f"{named_by} is of named users, and {nameless} is not; give both users=, or none"
            )
        if known is not None and theirs is not None:
            made[name] = made[name][find_users(name, theirs, known, SAME.format(first))]
            if len(theirs) > len(known):
                find_users(first, known, theirs, SAME.format(name))  # names one who is missing
        _check_same_users(first, made[first], name, made[name], known)
    if len(made[first]) == 0:
        raise ValueError(f"{first} has no instances; there is nothing to average")
    return Aligned(dict(zip(named, made.values(), strict=True)), known, called)


def _check_same_users(
    first: str, ranks: Ranks, name: str, other: Ranks, users: NDArray[Any] | None
) -> None:
    """Refuse recommenders that cannot be compared user by user; `users` are their names."""
    same = "they must have the same users in the same order"
    if len(other) != len(ranks):
        raise ValueError(f"{name} has {len(other)} users, {first} has {len(ranks)}; {same}")
    for what, of_user in (
        ("relevant items", "n_relevant"), ("items", "n_items"), ("items in its catalog", "catalog"),
    ):  # fmt: skip
        ours, theirs = getattr(ranks, of_user), getattr(other, of_user)
        if of_user == "catalog" and ranks.is_sample != other.is_sample:
            sample, exact = (first, name) if ranks.is_sample else (name, first)
            raise ValueError(
                f"{sample} is a sample, as its catalog says, and {exact} is not; give both "
                "catalog=, or rank both among all items"
            )
        if ours is not None and theirs is not None and (bad := ours != theirs).any():
            x = int(np.argmax(bad))
            user = x if users is None else shown(users.tolist()[x])
            one = f"{name} has {theirs[x]} {what} for user {user}"
            raise ValueError(f"{one}, {first} has {ours[x]}; {same}")


def as_draw(draw: object, n_items: object) -> Draw:
    """Return a draw, which alone knows the number of items."""
    made = as_uniform(draw)
    if n_items is not None:
        raise ValueError(f"n_items is given beside a draw; use Draw({made.n_samples}, n_items=...)")
    return made


def sizes_for(name: str, n_items: Any, group: Aligned) -> Any:
    """Return one number of items for all users, or one for each of them, in their order."""
    if n_items is None or (
        np.ndim(as_array(name, n_items)) == 0 and not isinstance(n_items, Mapping)
    ):
        return n_items
    return for_users(name, n_items, group)


def for_users(name: str, values: Any, group: Aligned) -> NDArray[Any]:
    """Return one value per user of what is given by user, or in the order of the ranks."""
    import pandas as pd

    if hasattr(type(values), "columns"):
        raise ValueError(f"{name} is a {type(values).__name__}; pass a dict or Series by user")
    index = keys_of(values)
    if index is None or (group.users is None and not isinstance(values, Mapping)):
        no_index(name, values)
        each = _unmixed(name, values)
    elif group.users is None:
        raise ValueError(
            f"{name} is a dict by user, but ranks lack users; give Ranks with users=, or a list"
        )
    else:
        given = list(values.values()) if isinstance(values, Mapping) else values.to_numpy()
        theirs = as_users(f"the users of {name}", index, (len(given),), name)
        each = _unmixed(name, given)[find_users(name, theirs, group.users)]
    size = len(group.first)
    if each.shape != (size,):
        rule = f"{name} must have one entry per user, {size}"
        raise ValueError(f"{name} has shape {each.shape}; {rule}")
    if (missing := np.asarray(pd.isna(each))).any():
        refuse(name, each, missing, "known for every user")
    return each


def _unmixed(name: str, values: Any) -> NDArray[Any]:
    """Return an array in which what is missing has not become a text."""
    import pandas as pd

    each = as_array(name, values)
    if not isinstance(values, list | tuple) or each.dtype.kind not in "US" or each.ndim != 1:
        return each
    each = np.fromiter(values, dtype=object, count=len(values))
    kinds = {type(value) for value in each if not pd.isna(value)}
    if len(kinds) > 1:
        names = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(f"{name} has values of the types {names}; give them one type")
    return each
