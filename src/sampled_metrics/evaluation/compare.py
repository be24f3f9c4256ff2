"""Is A better than B? What one evaluation can say about it, and how large it has to be.

An evaluation is random in three ways: other users could have come, tied items could have been
ranked differently, and other items could have been drawn. The mean of what it reports, and the
variance from these three sources, follow from exact ranks without a simulation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, erfc, inf, isfinite, nan, sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._arguments import (
    FloatArray,
    as_choice,
    as_confidence,
    as_flag,
    as_integer,
    as_kind,
    as_number,
    as_real,
    reject,
)
from sampled_metrics.bounds import Bounds
from sampled_metrics.corrections import Estimator, Uncorrected
from sampled_metrics.evaluation._fits import Fit, Tables, cells_of
from sampled_metrics.evaluation._moments import (
    Moments,
    clean_mean,
    exact_moments,
    sampled_moments,
    variance_of_ties,
)
from sampled_metrics.evaluation._users import Given, aligned, as_draw, sizes_for
from sampled_metrics.evaluation.intervals import Units, units
from sampled_metrics.metrics import Metric
from sampled_metrics.sampling import Draw, check_own_samples


class Power(NamedTuple):
    """The probabilities that the whole interval of a difference is on one side of 0.

    Attributes
    ----------
    right : float
        The power of the test: that its sign is that of the exact difference.
    wrong : float
        That it has the other sign, an error of the third kind.
    """

    right: float
    wrong: float


@dataclass(frozen=True)
class Comparison:
    """The difference of two recommenders in one evaluation: its mean and its variance.

    `compare` returns one. All probabilities are those of a normal distribution with this mean and
    variance: a good approximation if a few dozen users or more have different values for the two.
    For recall near the top, where nearly all have 0 twice, a few hundred users may be too few.

    Parameters
    ----------
    n_users : int
        Number of users that are evaluated.
    exact_difference : float
        Mean exact metric of the first recommender minus that of the second.
    difference : float
        The difference that the evaluation reports, on average.
    variance_users, variance_ties, variance_sampling : float
        The three parts of the variance of the reported difference. They come from the users, who
        are a sample of all users; from ties, which are broken at random; and from sampling items.

    Raises
    ------
    ValueError
        If `n_users` is below 1, a difference is not finite, or a variance is below 0.

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_users", as_integer("n_users", self.n_users))
        for name in ("exact_difference", "difference"):
            if not isfinite(value := as_real(name, getattr(self, name))):
                reject(name, value, "finite")
            object.__setattr__(self, name, value)
        for name in ("variance_users", "variance_ties", "variance_sampling"):
            object.__setattr__(self, name, as_number(name, getattr(self, name), zero=True))

    @property
    def standard_error(self) -> float:
        """Standard deviation of the reported difference, from all three parts together."""
        return sqrt(self.variance_users + self.variance_ties + self.variance_sampling)

    @property
    def order_kept(self) -> bool:
        """Whether the evaluation, on average, orders the two as the exact metric does."""
        return bool(np.sign(self.difference) == np.sign(self.exact_difference))

    def interval(self, confidence: float = 0.95) -> Bounds:
        """Compute the interval in which the reported difference lies with this probability.

        An interval of this length around a reported difference covers `difference` with this
        probability. It need not cover `exact_difference`.

        Parameters
        ----------
        confidence : float
            A probability, above 0 and below 1.

        Returns
        -------
        Bounds

        Raises
        ------
        ValueError
            If `confidence` is not between 0 and 1.
        """
        half = _two_sided(confidence) * self.standard_error
        return Bounds(self.difference - half, self.difference + half)

    def right_order(self, *, same_users: bool = False) -> float:
        r"""Compute the probability that one evaluation orders the two as the exact metric does.

        .. math:: \Phi(\pm\Delta / \sigma)

        with the expected difference :math:`\Delta`, positive if it has the sign of the exact one,
        and the standard error :math:`\sigma`.

        Parameters
        ----------
        same_users : bool
            Whether the evaluation has exactly these users, so that only ties and samples change.
            By default it has new users from the same population.

        Returns
        -------
        float
            NaN if neither is better by the exact metric, or if the evaluation always reports 0.

        Raises
        ------
        ValueError
            If `same_users` is not True or False.
        """
        left = self.variance_ties + self.variance_sampling
        error = sqrt(left) if as_flag("same_users", same_users) else self.standard_error
        return _normal_cdf(self._lead(error))

    def power(self, confidence: float = 0.95) -> Power:
        """Compute the probability that a reported interval excludes 0, on either side.

        Parameters
        ----------
        confidence : float
            Confidence of the interval, above 0 and below 1.

        Returns
        -------
        Power
            NaN as in `right_order`.

        Raises
        ------
        ValueError
            If `confidence` is not between 0 and 1.
        """
        z, lead = _two_sided(confidence), self._lead(self.standard_error)
        return Power(_normal_cdf(lead - z), _normal_cdf(-lead - z))

    def users_needed(self, probability: float = 0.95) -> float:
        """Compute how many users an evaluation needs for the right order with this probability.

        Parameters
        ----------
        probability : float
            A probability, at least 0.5 and below 1.

        Returns
        -------
        float
            The least number, infinite if the reported difference is 0 or has the wrong sign on
            average.

        Raises
        ------
        ValueError
            If `probability` is not in this range.
        """
        p = as_confidence("probability", probability, low=0.5)
        lead = self._lead(self.standard_error)
        if not lead > 0:
            return inf
        ratio = NormalDist().inv_cdf(p) / lead
        needed = self.n_users * ratio * ratio  # a power of a float would not overflow to infinity
        return inf if needed == inf else max(1, ceil(needed))

    def at(self, *, n_users: int | None = None, repeats: int = 1) -> Comparison:
        """Return the comparison for another number of users, or a mean of repeated evaluations.

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
            If either is no whole number of at least 1.
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
    a: Given,
    b: Given,
    metric: Metric,
    draw: Draw | None = None,
    *,
    estimator: Estimator | None = None,
    fit: Fit = "each",
    n_items: ArrayLike | None = None,
) -> Comparison:
    r"""Compare two recommenders on the exact ranks that they gave to the same users' items.

    User x contributes :math:`d_x = \hat M(S^a_x) - \hat M(S^b_x)`, and by the law of
    total variance the mean over N users has the variance

    .. math:: \tfrac1N \big( \operatorname{Var}_x E[d_x]
              + E_x \operatorname{Var}_{\text{ties}} E[d_x \mid r_x]
              + E_x E_{\text{ties}} \operatorname{Var}[d_x \mid r_x] \big).

    Ties are broken, and items drawn, for each recommender and user independently.

    Parameters
    ----------
    a, b : Ranks, Series or array_like of int
        Exact ranks of the two recommenders for the same users, at least two: in the same order, or
        named, by `users` or the index of a Series, and then in any order.
    metric : Metric
        The metric, such as ``NDCG(k=10)``.
    draw : Draw, optional
        What the evaluation draws, such as ``Draw(n_samples=100)``; with `n_items` if the ranks do
        not know it. Without a draw, the evaluation ranks all items and averages over ties.
    estimator : Estimator, optional
        How the evaluation estimates the metric from a sampled rank, by default ``Uncorrected()``.
    fit : {"each", "paper"}
        What the estimator is fitted for, as in `evaluate`.
    n_items : int or array_like of int, optional
        Number of ranked items, if neither the ranks nor a draw know it.

    Returns
    -------
    Comparison
        Users without relevant items are left out.

    Raises
    ------
    ValueError
        If the two have different users, or fewer than two with relevant items; if `n_items` is
        missing, does not agree or is given beside a draw; or as `Draw.expect`.

    See Also
    --------
    scipy.stats.ttest_rel : compares the values of each user that one evaluation measured.

    Examples
    --------
    Exactly, C is better than A. With 99 samples A seems better, most of the time.

    >>> from sampled_metrics import AveragePrecision, Draw
    >>> a, c = [100, 100, 100, 100, 100], [212, 2, 743, 5342, 1548]
    >>> found = compare(c, a, AveragePrecision(), Draw(99, n_items=10_000))
    >>> round(found.exact_difference, 3), round(found.difference, 3)
    (0.091, -0.31)
    >>> found.order_kept, round(found.right_order(), 3)
    (False, 0.087)
    """
    as_kind("metric", metric, Metric, "Recall(k=10)")
    made = Uncorrected() if estimator is None else estimator
    as_kind("estimator", made, Estimator, "BiasVariance(gamma=0.1)")
    as_choice("fit", fit, ("each", "paper"))
    if draw is None and estimator is not None:
        raise ValueError(f"draw is None; without samples, {estimator} has nothing to estimate")
    if draw is not None:
        as_draw(draw, n_items)
    users = aligned({"a": a, "b": b}, called="{}")
    n_items = sizes_for("n_items", n_items, users)
    users, x = users.exact(n_items if draw is None else draw.n_items, draw).with_relevant()
    if len(x) < 2:
        raise ValueError(f"there are {len(x)} users; a comparison needs two or more")
    exact = [exact_moments(ranks, [metric]) for ranks in users.recommenders.values()]
    truth = clean_mean(exact[0].mean - exact[1].mean)
    alone = units(np.arange(len(users.first)))
    if draw is None:
        return each_column(exact[0], exact[1], 0.0, truth, alone)[0]
    check_own_samples(draw)
    draw = draw.take(x)
    tables = Tables(cells_of([metric], {"": made}), draw, draw.rows_of(users.first)[1], fit)
    both = users.recommenders.values()
    one, other = (sampled_moments(ranks, tables) for ranks in both)
    ties = sum(variance_of_ties(ranks, tables) for ranks in both)
    return each_column(one, other, ties, truth, alone)[0]


def each_column(
    one: Moments, other: Moments, ties: FloatArray | float, truth: FloatArray, users: Units
) -> list[Comparison]:
    """Compare two recommenders by each estimate, whose exact differences are given.

    `ties` is what ties add to the variance of a user's difference.
    """
    each = one.mean - other.mean + (one.offset - other.offset)  # the last is 0 if they share it
    size = len(each)
    means = truth, clean_mean(each)
    noise = (one.noise + other.noise).mean(axis=0)
    of_ties = np.minimum(np.mean(np.broadcast_to(ties, each.shape), axis=0), noise)
    parts = users.error(each) ** 2, of_ties / size, (noise - of_ties) / size
    columns = np.array([*means, *parts]).T
    return [Comparison(size, *column) for column in columns.tolist()]


def _two_sided(confidence: float) -> float:
    return -NormalDist().inv_cdf((1 - as_confidence("confidence", confidence)) / 2)


def _normal_cdf(z: float) -> float:
    return erfc(-z / sqrt(2)) / 2
