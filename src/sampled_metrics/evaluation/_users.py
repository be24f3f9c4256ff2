"""Recommenders whose ranks are aligned by user, and what else is given for each user."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._arguments import (
    IntArray,
    as_array,
    as_integers,
    as_named,
    as_users,
    index_of,
    is_table,
    labels_of,
    no_index,
    refuse,
    shown,
)
from sampled_metrics.ranks import (
    FROM_LISTS,
    Ranks,
    TiedRanks,
    check_instances,
    one_instance_each,
    users_of,
)

EXAMPLE = '{"mine": exact_ranks(model, split)}'


class Aligned(NamedTuple):
    """Ranks of the same users in the same order."""

    recommenders: dict[str, Any]
    users: NDArray[Any] | None  # what they are called, if they have names

    def take(self, index: NDArray[Any]) -> Aligned:
        """Return some of the users."""
        recommenders = {name: ranks[index] for name, ranks in self.recommenders.items()}
        return Aligned(recommenders, None if self.users is None else self.users[index])


def aligned(ranks: Mapping[str, Any]) -> Aligned:
    """Return all recommenders with the users of the first one, in its order."""
    if is_table(ranks):
        what = shown(ranks) if isinstance(ranks, str | PathLike) else f"a {type(ranks).__name__}"
        raise ValueError(
            f"ranks is {what}; ranks must be a dict: read_ranks makes one of a table with a row "
            "for each relevant item, and dict of a pandas table with a column for each recommender"
        )
    named: dict[str, Any] = as_named("ranks", ranks, EXAMPLE)
    called = {f"ranks[{name!r}]": _settled(given) for name, given in named.items()}
    users = {name: users_of(name, given) for name, given in called.items()}
    for name, given in called.items():
        if isinstance(given, TiedRanks):
            one_instance_each(name, given)
    plain = {name: _without_index(name, given) for name, given in called.items()}
    (first, known), *others = users.items()
    for name, theirs in others:
        if (known is None) != (theirs is None):
            nameless, with_names = (name, first) if theirs is None else (first, name)
            raise ValueError(
                f"{with_names} says who its users are, {nameless} does not; give both users= or a "
                "Series with the users as its index, or neither"
            )
        if known is not None and theirs is not None:
            plain[name] = plain[name][_places(name, theirs, first, known)]
    if len(plain[first]) == 0:
        raise ValueError(f"{first} has no instances; there is nothing to average")
    if others:
        check_same_users(plain, known)
    return Aligned(dict(zip(named, plain.values(), strict=True)), known)


def for_users(name: str, values: Any, group: Aligned) -> NDArray[Any]:
    """Return one value per user of what is given by user, or in the order of the ranks."""
    import pandas as pd

    if hasattr(type(values), "columns"):
        raise ValueError(
            f"{name} is a {type(values).__name__}; pass a dict, or a pandas Series, by user"
        )
    index = list(values) if isinstance(values, Mapping) else index_of(values)
    if index is None or (group.users is None and not isinstance(values, Mapping)):
        no_index(name, values)
        each = _unmixed(name, values)
    elif group.users is None:
        raise ValueError(
            f"{name} is a dict by user, but the ranks do not say who their users are; give "
            f"Ranks or TiedRanks with users=, or {name} as a list in their order"
        )
    else:
        given = list(values.values()) if isinstance(values, Mapping) else values.to_numpy()
        theirs = as_users(f"the users of {name}", index, (len(given),), name)
        each = _unmixed(name, given)[_find(name, theirs, "ranks", group.users)]
    size = len(next(iter(group.recommenders.values())))
    if each.shape != (size,):
        raise ValueError(
            f"{name} has shape {each.shape}; {name} must have one entry per user, {size}"
        )
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


def _settled(given: Any) -> Any:
    """Return ranks with several relevant items per user as such, where no tie is to be broken."""
    if isinstance(given, TiedRanks) and (given.has_several or given.gains is not None):
        return given if given.n_tied.any() else given.to_ranks("optimistic")
    return given


def _without_index(name: str, given: Any) -> Ranks | TiedRanks | IntArray:
    if isinstance(given, Ranks | TiedRanks):
        return given
    ranks = as_integers(name, given, lists=FROM_LISTS)
    if ranks.ndim != 1:
        raise ValueError(f"{name} has shape {ranks.shape}; {name} must be one rank per user")
    return ranks


def _places(name: str, theirs: NDArray[Any], first: str, known: NDArray[Any]) -> IntArray:
    """Return where each of the known users is; both must have the same ones."""
    places = _find(name, theirs, first, known)
    if len(theirs) > len(known):
        _find(first, known, name, theirs)
    return places


def _find(name: str, theirs: NDArray[Any], first: str, known: NDArray[Any]) -> IntArray:
    """Return where each of the known users is among theirs, or name one who is missing."""
    import pandas as pd

    index = pd.Index(theirs, tupleize_cols=False)
    if not index.is_unique:
        user = index[index.duplicated()][0]
        raise ValueError(f"{name} has user {shown(user)} twice; give each user once")
    places = np.asarray(index.get_indexer(pd.Index(known, tupleize_cols=False)), dtype=np.int64)
    if (places < 0).any():
        user = known.tolist()[int(np.argmax(places < 0))]
        hint = ""
        if (known.dtype.kind == "O") != (theirs.dtype.kind == "O"):
            hint = "; one names its users by integers, the other does not"
        raise ValueError(
            f"{name} lacks user {shown(user)}, whom {first} has{hint}; give the same users to all"
        )
    return places


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
