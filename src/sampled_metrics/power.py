"""How large must an evaluation be? Power analysis for all pairs of several recommenders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from sampled_metrics._checks import (
    as_integer,
    as_kind,
    as_list,
    as_named,
    entries,
    same_index,
)
from sampled_metrics._fits import Fit
from sampled_metrics._same_users import (
    Given,
    as_ranks_of_users,
    check_same_names,
    check_same_users,
)
from sampled_metrics.comparison import comparisons_of
from sampled_metrics.estimator import Estimator
from sampled_metrics.metric import Metric
from sampled_metrics.sampling import Draw

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["power_analysis"]


def power_analysis(
    recommenders: Mapping[str, Given],
    metrics: Iterable[Metric],
    draws: Iterable[Draw | None],
    estimators: Mapping[str, Estimator],
    *,
    n_users: Iterable[int] | None = None,
    fit: Fit = "each",
) -> pd.DataFrame:
    """Compare all pairs of recommenders, for several draws and numbers of users.

    Parameters
    ----------
    recommenders : mapping of str to TiedRanks, Ranks or array_like of int
        Exact ranks of each recommender, by its name: the same users in the same order.
    metrics : list of Metric
        The metrics to compare by.
    draws : list of Draw or None
        What is drawn for each user, such as ``[Draw(100), Draw(1000), None]``; None ranks all
        items.
    estimators : mapping of str to Estimator
        The estimators, by name.
    n_users : list of int, optional
        Numbers of new users from the same population; by default as many as there are ranks.
    fit : {"each", "paper"}
        What the estimators are fitted for, as in `expected_evaluation`.

    Returns
    -------
    DataFrame
        Columns first, second, metric, estimator ("exact" where nothing is drawn), n_samples,
        then the fields of `Comparison`, and what its methods return: standard_error, right_order,
        right_order_same_users, power, power_wrong, users_needed.

    Raises
    ------
    ValueError
        If there are fewer than two recommenders, or one of the others is empty; or as `compare`.

    Examples
    --------
    >>> from sampled_metrics import AveragePrecision, Draw, TiedRanks, Uncorrected
    >>> toy = {"A": TiedRanks([100, 100], 0, 1000), "C": TiedRanks([212, 2], 0, 1000)}
    >>> draws, estimators = [Draw(9), Draw(99), None], {"uncorrected": Uncorrected()}
    >>> table = power_analysis(toy, [AveragePrecision()], draws, estimators)
    >>> table[["estimator", "n_samples", "exact_difference", "difference"]].round(3)
         estimator  n_samples  exact_difference  difference
    0  uncorrected          9            -0.242      -0.059
    1  uncorrected         99            -0.242      -0.399
    2        exact       <NA>            -0.242      -0.242
    """
    import pandas as pd

    named = as_named("recommenders", recommenders, '{"A": ranks_of_a, "B": ranks_of_b}')
    if len(named) < 2:
        raise ValueError(f"recommenders has the one name {[*named]}; it must have two or more")
    called = {f"recommenders[{name!r}]": given for name, given in named.items()}
    same_index(**called)
    check_same_names(called)
    listed = as_list("metrics", metrics, Metric, "Recall(k=10)")
    made, sizes = _as_draws(draws), _as_sizes(n_users)
    n_items = [None if draw is None else draw.n_items for draw in made]
    ranks = {
        name: as_ranks_of_users(f"recommenders[{name!r}]", given, *n_items)
        for name, given in named.items()
    }
    check_same_users({f"recommenders[{name!r}]": given for name, given in ranks.items()})
    rows: list[dict[str, Any]] = []
    names = "first", "second", "metric", "estimator", "n_samples"
    for *cell, found in comparisons_of(ranks, listed, made, estimators, fit, None):
        for size in sizes:
            one = found.at(n_users=size)
            rows.append(dict(zip(names, cell, strict=True)) | asdict(one))
            rows[-1]["standard_error"] = one.standard_error
            rows[-1]["right_order"] = one.right_order()
            rows[-1]["right_order_same_users"] = one.right_order(same_users=True)
            rows[-1]["power"], rows[-1]["power_wrong"] = one.power()
            rows[-1]["users_needed"] = one.users_needed()
    return pd.DataFrame(rows).astype({"n_samples": "Int64"})


def _as_draws(draws: object) -> list[Draw | None]:
    example = "[Draw(100), None]"
    if not (made := entries("draws", draws, example, Draw)):
        raise ValueError(f"draws is empty; draws must be a list, such as {example}")
    for i, draw in enumerate(made):
        if draw is not None:
            as_kind(f"draws[{i}]", draw, Draw, "Draw(n_samples=100)")
    return made


def _as_sizes(n_users: object) -> list[int] | list[None]:
    if n_users is None:
        return [None]
    if not (made := entries("n_users", n_users, "[1000]")):
        raise ValueError("n_users is []; n_users must be a list of numbers, such as [1000]")
    return [as_integer(f"n_users[{i}]", size) for i, size in enumerate(made)]
