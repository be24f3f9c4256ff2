"""Is A better than B? What one evaluation can say of that, and how large it has to be.

An evaluation is random in three ways: other users could have come, tied items could have been
ranked otherwise, and other items could have been drawn. What it reports on average, and how far
these three move it, follows from exact ranks without a simulation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sized
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from math import ceil, inf, nan, sqrt
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from sampled_metrics._checks import (
    FloatArray,
    as_flag,
    as_integer,
    as_integers,
    as_number,
    one_or_one_each,
    refuse,
)
from sampled_metrics._quadrature import gauss_rule
from sampled_metrics.corrections import Estimator, Uncorrected
from sampled_metrics.metrics import Metric
from sampled_metrics.ranking import TiedRanks
from sampled_metrics.sampling import as_draw, blocks, distribution

__all__ = ["Comparison", "compare", "plan"]


@dataclass(frozen=True)
class Comparison:
    """The difference of two recommenders in one evaluation: its mean, and what moves it.

    Make one with `compare`. All probabilities are those of a normal distribution with this mean
    and variance, which the mean over some dozens of users has nearly.

    Parameters
    ----------
    n_users : int
        Number of users that are evaluated.
    exact_difference : float
        Mean exact metric of the first recommender less that of the second.
    difference : float
        The same of what the evaluation reports, on average.
    variance_users, variance_ties, variance_sampling : float
        Parts of the variance of the reported difference. They add up to the whole: that the users
        are a sample of all users, that ties are broken at random, and that items are drawn.

    Examples
    --------
    An evaluation that reports 0.010 +- 0.006, of which 0.005 would be left without samples.

    >>> found = Comparison(1000, 0.012, 0.010, 25e-6, 0.0, 11e-6)
    >>> f"{found.standard_error:.3f}", f"{found.right_order():.2f}", found.users_needed(0.99)
    ('0.006', '0.95', 1949)
    >>> f"{found.at(n_users=4000).right_order():.4f}", f"{found.at(repeats=9).right_order():.4f}"
    ('0.9996', '0.9746')
    """

    n_users: int
    exact_difference: float
    difference: float
    variance_users: float
    variance_ties: float
    variance_sampling: float

    @property
    def standard_error(self) -> float:
        """Standard deviation of the reported difference, all three parts together."""
        return sqrt(self.variance_users + self.variance_ties + self.variance_sampling)

    @property
    def survives(self) -> bool:
        """Whether the better one on average is also the better one by the exact metric."""
        return bool(np.sign(self.difference) == np.sign(self.exact_difference))

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Compute where the reported difference lies with this probability.

        An interval of this length around a reported difference covers `difference` as often. It
        need not cover `exact_difference`.

        Parameters
        ----------
        confidence : float
            A probability, above 0 and below 1.

        Returns
        -------
        tuple of float
            Lower and upper end.

        Raises
        ------
        ValueError
            If `confidence` is no such number.
        """
        half = _quantile(confidence) * self.standard_error
        return self.difference - half, self.difference + half

    def right_order(self, same_users: bool = False) -> float:
        r"""Compute the probability that one evaluation orders the two as the exact metric does.

        .. math:: \Phi(\pm\Delta / \sigma)

        with the expected difference :math:`\Delta`, positive if it has the sign of the exact one,
        and the standard error :math:`\sigma`.

        Parameters
        ----------
        same_users : bool
            Whether the evaluation is of these very users, so that only ties and samples change;
            by default it is of others of their kind.

        Returns
        -------
        float
            NaN if by the exact metric neither is better, or if 0 is reported always.

        Raises
        ------
        ValueError
            If `same_users` is not True or False.
        """
        left = self.variance_ties + self.variance_sampling
        error = sqrt(left) if as_flag("same_users", same_users) else self.standard_error
        return float(ndtr(self._lead(error)))

    def significant(self, confidence: float = 0.95) -> tuple[float, float]:
        """Compute the probability that a reported interval excludes 0, on either side.

        Parameters
        ----------
        confidence : float
            Confidence of the interval, above 0 and below 1.

        Returns
        -------
        tuple of float
            Probability that all of the interval has the sign of the exact difference, which is
            the power of the test, and that all of it has the other sign; NaN as `right_order`.

        Raises
        ------
        ValueError
            If `confidence` is no such number.
        """
        z, lead = _quantile(confidence), self._lead(self.standard_error)
        return float(ndtr(lead - z)), float(ndtr(-lead - z))

    def users_needed(self, probability: float = 0.95) -> float:
        """Compute how many users give the right order with this probability.

        Parameters
        ----------
        probability : float
            A probability, at least 0.5 and below 1.

        Returns
        -------
        float
            The least number, infinite if the reported difference has the wrong sign on average.

        Raises
        ------
        ValueError
            If `probability` is no such number.
        """
        if not 0.5 <= as_number("probability", probability) < 1:
            raise ValueError(
                f"probability is {probability}; probability must be at least 0.5 and below 1"
            )
        lead = self._lead(self.standard_error)
        if not lead > 0:
            return inf
        with np.errstate(over="ignore"):
            needed = self.n_users * (ndtri(probability) / lead) ** 2
        return inf if needed == inf else max(1, ceil(needed))

    def at(self, n_users: int | None = None, repeats: int = 1) -> Comparison:
        """Compute the same for another number of users, or for the mean of repeated evaluations.

        Parameters
        ----------
        n_users : int, optional
            Number of users, at least 1.
        repeats : int
            How many times these users are evaluated, each time with new ways to break ties and
            new samples.

        Returns
        -------
        Comparison

        Raises
        ------
        ValueError
            If either is below 1.
        """
        users = self.n_users if n_users is None else as_integer("n_users", n_users)
        factor, times = self.n_users / users, as_integer("repeats", repeats)
        return replace(
            self,
            n_users=users,
            variance_users=self.variance_users * factor,
            variance_ties=self.variance_ties * factor / times,
            variance_sampling=self.variance_sampling * factor / times,
        )

    def _lead(self, error: float) -> float:
        """Return the expected difference in standard errors, positive in the right direction."""
        lead = self.difference * float(np.sign(self.exact_difference))
        if self.exact_difference == 0 or lead == error == 0:
            return nan
        return lead / error if error else inf * lead


def compare(
    a: TiedRanks | ArrayLike,
    b: TiedRanks | ArrayLike,
    metric: Metric,
    n_items: ArrayLike | None = None,
    *,
    n_samples: int | None = None,
    estimator: Estimator | None = None,
    replacement: bool = True,
) -> Comparison:
    r"""Compare two recommenders on the exact ranks that they gave to the same users' items.

    User x contributes :math:`d_x = \hat M(\tilde r^a_x) - \hat M(\tilde r^b_x)`, and by the law of
    total variance the mean over N users has the variance

    .. math:: \tfrac1N \big( \operatorname{Var}_x E[d_x]
              + E_x \operatorname{Var}_{\text{ties}} E[d_x \mid r_x]
              + E_x E_{\text{ties}} \operatorname{Var}[d_x \mid r_x] \big).

    Ties are broken, and items drawn, for each recommender and user on its own.

    Parameters
    ----------
    a, b : TiedRanks or array_like of int, shape (n_users,)
        Exact ranks of the two recommenders: the same users in the same order, at least two.
    metric : Metric
        The metric, such as ``NDCG(k=10)``.
    n_items : int or array_like of int, optional
        Number of ranked items, one for all or one per user; `TiedRanks` know theirs.
    n_samples : int, optional
        Number of items that the evaluation draws; by default it ranks all items, and averages
        over ties.
    estimator : Estimator, optional
        What the evaluation makes of a sampled rank, by default ``Uncorrected()``; it is fitted
        for the mean number of items, rounded, and for draws with replacement, as in the paper.
    replacement : bool
        Whether one item may be drawn twice.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        If the two have different users, or fewer than two; if `n_items` is missing or given
        twice; or as `sampled_metrics.rank_distribution`.

    See Also
    --------
    scipy.stats.ttest_rel : compares the values of each user that one evaluation measured.

    Examples
    --------
    Exactly, C is better than A. With 99 samples A seems better, most of the time.

    >>> from sampled_metrics import AveragePrecision
    >>> a, c = [100, 100, 100, 100, 100], [212, 2, 743, 5342, 1548]
    >>> found = compare(c, a, AveragePrecision(), n_items=10_000, n_samples=99)
    >>> round(found.exact_difference, 3), round(found.difference, 3)
    (0.091, -0.31)
    >>> found.survives, round(found.right_order(), 3)
    (False, 0.087)
    """
    if n_samples is None and estimator is not None:
        raise ValueError(f"n_samples is None; without samples, {estimator} has nothing to estimate")
    ranks = {"a": _as_tied("a", a, n_items), "b": _as_tied("b", b, n_items)}
    estimators = {"": Uncorrected() if estimator is None else estimator}
    ((*_, found),) = _comparisons(ranks, [metric], estimators, [n_samples], replacement)
    return found


def plan(
    recommenders: Mapping[str, TiedRanks],
    metrics: Iterable[Metric],
    estimators: Mapping[str, Estimator],
    n_samples: Iterable[int | None],
    n_users: Iterable[int] | None = None,
    *,
    replacement: bool = True,
) -> pd.DataFrame:
    """Compare all pairs of recommenders, for several numbers of samples and of users.

    Parameters
    ----------
    recommenders : mapping of str to TiedRanks
        Exact ranks of each recommender, by its name: the same users in the same order.
    metrics : iterable of Metric
        The metrics to compare by.
    estimators : mapping of str to Estimator
        The estimators, by name, as in `sampled_metrics.sampled_evaluation`.
    n_samples : iterable of int or None
        Numbers of items that are drawn for each user; None ranks all items.
    n_users : iterable of int, optional
        Numbers of users, who are others of the same kind; by default as many as there are ranks.
    replacement : bool
        Whether one item may be drawn twice.

    Returns
    -------
    DataFrame
        Columns first, second, metric, estimator ("exact" where nothing is drawn), n_samples,
        then the fields of `Comparison`, and what its methods return: standard_error, right_order,
        right_order_same_users, significant_right, significant_wrong, users_needed.

    Raises
    ------
    ValueError
        If there are fewer than two recommenders, or one of the others is empty; or as `compare`.

    Examples
    --------
    >>> from sampled_metrics import AveragePrecision
    >>> toy = {"A": TiedRanks([100, 100], 0, 1000), "C": TiedRanks([212, 2], 0, 1000)}
    >>> table = plan(toy, [AveragePrecision()], {"uncorrected": Uncorrected()}, [9, 99, None])
    >>> table[["estimator", "n_samples", "exact_difference", "difference"]].round(3)
         estimator  n_samples  exact_difference  difference
    0  uncorrected          9            -0.242      -0.059
    1  uncorrected         99            -0.242      -0.399
    2        exact       <NA>            -0.242      -0.242
    """
    metrics, estimators, n_samples = list(metrics), dict(estimators), list(n_samples)
    sizes = [None] if n_users is None else list(n_users)
    given: dict[str, Sized] = {"metrics": metrics, "estimators": estimators}
    for name, values in {**given, "n_samples": n_samples, "n_users": sizes}.items():
        if not len(values):
            raise ValueError(f"{name} is empty; there is nothing to compare")
    names = "first", "second", "metric", "estimator", "n_samples"
    rows: list[dict[str, Any]] = []
    for *cell, found in _comparisons(
        dict(recommenders), metrics, estimators, n_samples, replacement
    ):
        for size in sizes:
            one = found.at(size)
            rows.append(dict(zip(names, cell, strict=True)) | asdict(one))
            rows[-1]["standard_error"] = one.standard_error
            rows[-1]["right_order"] = one.right_order()
            rows[-1]["right_order_same_users"] = one.right_order(same_users=True)
            rows[-1]["significant_right"], rows[-1]["significant_wrong"] = one.significant()
            rows[-1]["users_needed"] = one.users_needed()
    return pd.DataFrame(rows).astype({"n_samples": "Int64"})


class _Moments(NamedTuple):
    """Of several estimates: each user's mean, and two variances of one user, on average."""

    mean: FloatArray  # (n_users, n_estimates)
    ties: FloatArray  # (n_estimates,)
    sampling: FloatArray  # (n_estimates,)


def _comparisons(
    recommenders: Mapping[str, TiedRanks],
    metrics: list[Metric],
    estimators: Mapping[str, Estimator],
    n_samples: list[int | None],
    replacement: bool,
) -> Iterator[tuple[str, str, str, str, int | None, Comparison]]:
    """Yield the names of pair, metric and estimator, the number of samples, the comparison."""
    n = _common_items(recommenders)
    exact = {
        name: _Moments(
            np.column_stack([ranks.expected(metric) for metric in metrics]),
            np.zeros(len(metrics)),
            np.zeros(len(metrics)),
        )
        for name, ranks in recommenders.items()
    }
    for m in n_samples:
        if m is None:
            cells = [(column, "exact") for column in range(len(metrics))]
            moments = exact
        else:
            cells = [(column, label) for column in range(len(metrics)) for label in estimators]
            fits = [
                estimators[label].fit(metrics[column], round(float(n.mean())), m).values
                for column, label in cells
            ]
            moments = {
                name: _moments(ranks, np.column_stack(fits), replacement)
                for name, ranks in recommenders.items()
            }
        for first, second in combinations(recommenders, 2):
            a, b = moments[first], moments[second]
            truth = _mean(exact[first].mean - exact[second].mean)
            each = a.mean - b.mean
            mean = _mean(each)
            parts = each.var(axis=0, ddof=1), a.ties + b.ties, a.sampling + b.sampling
            for i, (column, label) in enumerate(cells):
                values = [float(truth[column]), float(mean[i])]
                values += [float(part[i]) / len(n) for part in parts]
                yield first, second, str(metrics[column]), label, m, Comparison(len(n), *values)


def _moments(ranks: TiedRanks, tables: FloatArray, replacement: bool) -> _Moments:
    """Return the moments of estimates that `tables`, shape (m + 1, n_estimates), look up.

    Each mean is less the estimate for sampled rank 1: differences do not show it, and estimates
    that are all alike, such as those of Recall@10 among 10 items, leave no rounding errors.
    """
    _, _, m = as_draw(ranks.best, ranks.n_items, len(tables) - 1, replacement)
    tables = tables - tables[0]
    raw = np.column_stack([tables, tables**2])
    shape = (len(ranks), tables.shape[1])
    mean, mean_square, second = np.empty(shape), np.empty(shape), np.empty(shape)
    for length in np.unique(ranks.n_tied) + 1:
        alike = np.flatnonzero(ranks.n_tied == length - 1)
        # The mean given the rank is a polynomial of degree m in it, and smooth on a scale of
        # 1 / sqrt(m): a Gauss rule averages its square over the ranks that a tie allows.
        # Of most items drawn without replacement, it is not smooth: then each rank counts.
        left = 1 if replacement else 1 - m / ranks.n_items[alike].min()
        n_nodes = min(m + 1, 8 + int(3 * sqrt(m / left))) if left > 0.5 else length
        nodes, weights = gauss_rule(int(length), n_nodes)
        weights = weights / length
        for some in blocks(len(alike), len(nodes) * (m + 1)):
            x = alike[some]
            best, n = ranks.best[x, None], ranks.n_items[x, None]
            of_sample, of_square = np.split(
                distribution(best + nodes, n, m, replacement) @ raw, 2, axis=-1
            )
            mean[x], mean_square[x] = weights @ of_sample, weights @ of_sample**2
            second[x] = weights @ of_square
    ties = np.maximum(mean_square - mean**2, 0).mean(axis=0)
    sampling = np.maximum(second - mean_square, 0).mean(axis=0)
    return _Moments(mean, ties, sampling)


def _mean(each: FloatArray) -> FloatArray:
    """Average each column; what is only rounding errors is 0, so that its sign says nothing."""
    mean: FloatArray = each.mean(axis=0)
    return np.where(np.abs(mean) > 1e-13 * np.abs(each).max(axis=0), mean, 0)


def _as_tied(name: str, ranks: TiedRanks | ArrayLike, n_items: ArrayLike | None) -> TiedRanks:
    """Return ranks with their number of items, which is to be given exactly once."""
    if isinstance(ranks, TiedRanks):
        if n_items is not None:
            raise ValueError(f"n_items is {n_items!r}; {name}, a TiedRanks, has its own")
        return ranks
    if n_items is None:
        raise ValueError(f"n_items is None; plain ranks such as {name} need the number of items")
    r = as_integers(name, ranks)
    if r.ndim != 1:
        raise ValueError(f"{name} has shape {r.shape}; {name} must be one rank per user")
    n = one_or_one_each("n_items", n_items, r.shape, low=2)
    if (r > n).any():
        refuse(name, r, r > n, "at most n_items")
    return TiedRanks(r, np.zeros_like(r), n)


def _common_items(recommenders: Mapping[str, TiedRanks]) -> FloatArray:
    """Return each user's number of items; refuse recommenders that cannot be compared."""
    if len(recommenders) < 2:
        raise ValueError(f"recommenders has {len(recommenders)} names; it must have two or more")
    for name, given in recommenders.items():
        if not isinstance(given, TiedRanks):
            raise ValueError(f"{name} is {given!r}; {name} must be a TiedRanks")
    (first, ranks), *others = recommenders.items()
    if len(ranks) < 2:
        raise ValueError(f"{first} has {len(ranks)} users; a variance needs two or more")
    for name, other in others:
        if len(other) != len(ranks):
            raise ValueError(
                f"{name} has {len(other)} users, {first} has {len(ranks)}; "
                "they must be the same users in the same order"
            )
        if (bad := other.n_items != ranks.n_items).any():
            refuse(f"{name}.n_items", other.n_items, bad, f"that of {first}")
    if (ranks.n_items < 2).any():
        refuse(f"{first}.n_items", ranks.n_items, ranks.n_items < 2, "at least 2")
    return ranks.n_items.astype(np.float64)


def _quantile(confidence: float) -> float:
    if not 0 < as_number("confidence", confidence) < 1:
        raise ValueError(f"confidence is {confidence}; confidence must be below 1")
    return float(ndtri((1 + confidence) / 2))
