"""Recommenders are compared user by user: what cannot be compared so is refused."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._checks import IntArray, as_integers, labels_of, shown
from sampled_metrics.ranks import Ranks
from sampled_metrics.ties import TiedRanks, check_instances

Given = Ranks | TiedRanks | ArrayLike


def as_ranks_of_users(
    name: str, given: Given, *sizes: ArrayLike | None
) -> Ranks | TiedRanks | IntArray:
    """Return ranks that fit each of these numbers of items, or say why they do not."""
    ranks = given if isinstance(given, Ranks | TiedRanks) else as_integers(name, given)
    if isinstance(ranks, np.ndarray) and ranks.ndim != 1:
        raise ValueError(f"{name} has shape {ranks.shape}; {name} must be one rank per user")
    for n_items in sizes:
        check_instances(name, ranks, n_items)
    return ranks


def check_same_names(recommenders: dict[str, Any]) -> None:
    """Refuse recommenders whose users are named, and are others or in another order."""
    users = {
        name: given.users if isinstance(given, Ranks | TiedRanks) else labels_of(given)
        for name, given in recommenders.items()
    }
    named = [(name, list(each)) for name, each in users.items() if each is not None]
    for (first, one), (name, other) in pairwise(named):
        for x, (user, theirs) in enumerate(zip(one, other, strict=False)):  # lengths come later
            if user != theirs:
                raise ValueError(
                    f"{name} has user {shown(theirs)} at place {x}, {first} has {shown(user)}; "
                    "they must be the same users in the same order, which evaluate() sees to by "
                    "itself"
                )


def check_same_users(recommenders: dict[str, Any], users: NDArray[Any] | None = None) -> None:
    """Refuse recommenders that cannot be compared user by user; `users` are their names."""
    (first, ranks), *others = recommenders.items()
    if users is None:
        users = getattr(ranks, "users", None)
    if len(ranks) < 2:
        raise ValueError(f"{first} has {len(ranks)} users; a variance needs two or more")
    for name, other in others:
        if len(other) != len(ranks):
            raise ValueError(
                f"{name} has {len(other)} users, {first} has {len(ranks)}; "
                "they must be the same users in the same order"
            )
        for what, of_user in (("items", "n_items"), ("relevant items", "n_relevant")):
            one = np.ones(len(ranks), dtype=int) if of_user == "n_relevant" else None
            n, mine = (getattr(x, of_user, one) for x in (ranks, other))
            if n is not None and mine is not None and (bad := n != mine).any():
                x = int(np.argmax(bad))
                user = x if users is None else shown(users.tolist()[x])
                raise ValueError(
                    f"{name} has {mine[x]} {what} for user {user}, {first} has {n[x]}; "
                    "they must be the same users in the same order"
                )
