"""What published numbers can mean, if they are sampled metrics and nothing else is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import hypot, log, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from sampled_metrics._arguments import (
    FloatArray,
    IntArray,
    as_confidence,
    as_integer,
    as_kind,
    as_list,
    as_real,
    entries,
)
from sampled_metrics.bounds.bounds import Bounds, bounds_of_means, with_own_samples
from sampled_metrics.metrics import Metric
from sampled_metrics.sampling import Draw, number_of_items, sampled_values

if TYPE_CHECKING:
    import pandas as pd

DRAWN = ("n_items", "n_samples", "replacement")
MOST_SAMPLES = 100_000  # whose probabilities for some thousand ranks take seconds
MOST_TOGETHER = 2_000  # and for several numbers, about a gigabyte at once


@dataclass(frozen=True)
class Difference:
    """How one published number compares with another, as `explain` returns it for `other`.

    Attributes
    ----------
    other : float
        The other number.
    other_bounds : Bounds
        The values that its exact metric can have, if it is the mean over all users and samples.
    value : float
        The first number minus the other.
    standard_error : Bounds or None
        The standard error of the difference: from that of two results that agree about each user
        as far as they can, to that of independent ones. None without the number of users.
    interval : Bounds or None
        The interval of the mean difference of independent results (Newcombe 1998, method 10).
    beyond_chance : bool or None
        True if the interval excludes 0; False if the difference could be chance even with the least
        standard error; None if the single users' values decide, or their number is not known.
    order_known : bool
        True if the bounds of the two exact metrics do not overlap.
    """

    other: float
    other_bounds: Bounds
    value: float
    standard_error: Bounds | None
    interval: Bounds | None
    beyond_chance: bool | None
    order_known: bool


@dataclass(frozen=True)
class Explanation:
    """What one published number can mean. `explain` returns it; print it to read it.

    Attributes
    ----------
    metric, value, draw, n_users, exact_metric, confidence, decimals
        As given to `explain`.
    beside : tuple of tuple of Metric and float
        The other numbers of the same system, which the bounds take into account.
    cutoff : float or None
        The cutoff among all items that the sampled cutoff resembles; None without a cutoff.
    bounds : Bounds
        The values that the exact metric can have if `value` is the mean over users and samples, and
        so are those beside it; empty if no ranks at all have these numbers together.
    standard_error : float or None
        The largest possible standard error of `value`, and the standard error itself for a metric
        with two values, such as `Recall`. None without the number of users.
    interval : Bounds or None
        The interval of the mean over all users and samples, by Wilson's method: its confidence is
        less where the mean is within a few users' shares of an end. Those of several numbers hold
        at once (Bonferroni).
    bounds_with_error : Bounds or None
        The values that the exact metric can have if that mean is anywhere in the interval.
    difference : Difference or None
        How `value` compares with the number `other`.

    Examples
    --------
    >>> from sampled_metrics import Draw, Recall
    >>> found = explain(Recall(10), 0.66, Draw(100, n_items=3706), n_users=6040)
    >>> round(found.cutoff, 2), round(found.standard_error, 4), round(found.bounds.high, 3)
    (366.93, 0.0061, 0.66)
    """

    metric: Metric
    value: float
    draw: Draw
    n_users: int | None
    beside: tuple[tuple[Metric, float], ...]
    exact_metric: Metric
    confidence: float
    decimals: int
    cutoff: float | None
    bounds: Bounds
    standard_error: float | None
    interval: Bounds | None
    bounds_with_error: Bounds | None
    difference: Difference | None

    def __str__(self) -> str:
        """Return what the number says, in sentences."""
        return str(Explanations([self]))

    def _repr_html_(self) -> str:
        return Explanations([self])._repr_html_()

    def to_frame(self) -> pd.DataFrame:
        """Return the numbers as one row, which you can stack with others.

        Returns
        -------
        DataFrame
            A column for each attribute that is not None. Bounds have two, such as bounds_low and
            bounds_high, the draw has n_items, n_samples and replacement, and the attributes of the
            difference come last, as in difference_value.
        """
        import pandas as pd

        against = {} if self.difference is None else vars(self.difference)
        row: dict[str, Any] = {}
        for name, each in (vars(self) | {f"difference_{x}": y for x, y in against.items()}).items():
            if isinstance(each, Bounds):
                row |= {f"{name}_low": each.low, f"{name}_high": each.high}
            elif isinstance(each, Draw):
                row |= {name: getattr(each, name) for name in DRAWN}
            elif name == "beside":
                row |= {name: _listed(each)} if each else {}
            elif each is not None and not isinstance(each, Difference):
                row[name] = str(each) if isinstance(each, Metric) else each
        return pd.DataFrame([row])


class Explanations(tuple[Explanation, ...]):
    """What several numbers of one system mean together; `explain` returns it: print it."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return what the numbers say, in sentences."""
        return "\n".join(_sentences(self))

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(sentence)}</p>" for sentence in _sentences(self))

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each number, as `Explanation.to_frame` does."""
        import pandas as pd

        return pd.concat([one.to_frame() for one in self], ignore_index=True)


@overload
def explain(
    metric: Metric,
    value: float,
    draw: Draw,
    *,
    n_users: int | None = None,
    other: float | None = None,
    exact_metric: Metric | None = None,
    confidence: float = 0.95,
    decimals: int = 4,
) -> Explanation: ...
@overload
def explain(
    metric: Sequence[Metric],
    value: Sequence[float],
    draw: Draw,
    *,
    n_users: int | None = None,
    other: Sequence[float] | None = None,
    exact_metric: Metric | None = None,
    confidence: float = 0.95,
    decimals: int = 4,
) -> Explanations: ...
def explain(
    metric: Metric | Sequence[Metric],
    value: float | Sequence[float],
    draw: Draw,
    *,
    n_users: int | None = None,
    other: float | Sequence[float] | None = None,
    exact_metric: Metric | None = None,
    confidence: float = 0.95,
    decimals: int = 4,
) -> Explanation | Explanations:
    r"""Say what published sampled metrics can mean, if you have nothing but the numbers.

    Each user has one relevant item, at rank r of the same number of items n, every other item is
    equally likely to be drawn, and users and their samples are independent of each other.

    Parameters
    ----------
    metric : Metric or list of Metric
        The metric of the sampled ranks, such as ``Recall(k=10)``, also called ``HR@10``; or several
        metrics of the same system, users and samples.
    value : float or list of float
        Its published mean, a share and not a percentage; or one for each metric.
    draw : Draw
        What was drawn for each user, such as ``Draw(n_samples=100, n_items=3706)``: at most 100,000
        samples (2,000 for several metrics), fewer than the items, of which all users have as many.
    n_users : int, optional
        Number of users whose values were averaged. Without it, nothing is said about chance.
    other : float or list of float, optional
        The number of another recommender in the same table, or one for each metric.
    exact_metric : Metric, optional
        The metric of the exact ranks to bound, by default the same; of several, each of them.
    confidence : float
        Confidence of the intervals, above 0 and below 1.
    decimals : int
        Number of printed decimals: `value` and `other` may be off by half a unit of the last one.

    Returns
    -------
    Explanation
        Or, for several metrics, a tuple of one for each. Print it to read it.

    Raises
    ------
    ValueError
        If `value` or `other` is not a mean that the sampled metric can have, or not one for each
        metric, a metric is given twice, or another parameter is out of its range.

    Notes
    -----
    **The cutoff it resembles** is :math:`K = n k / (m + 1)`. If all ranks are equally likely,
    :math:`k / (m + 1)` of the sampled ranks are in the top k, and the same share of the exact ranks
    in the top K. Without replacement this is exact; with it, K is off by less than one rank.

    **The bounds.** At rank r the sampled metric has the expectation :math:`g(r)` that `Draw.expect`
    computes, and the exact one the value :math:`M(r)`. A distribution of the ranks mixes the points
    :math:`(g(r), M(r))`: it can reach their convex hull. The bounds are the hull's lower and upper
    end above `value`, or above what is rounded to it. For `Recall` at k, and at K of all,

    .. math:: \max\Big(0, \frac{v - g(K + 1)}{1 - g(K + 1)}\Big) \le \text{Recall@}K
              \le \min\Big(1, \frac{v}{g(K)}\Big).

    All ranks are looked at up to 2,048, and those near the bounds beyond them, where the metric
    must be smooth in the rank except at its cutoff.

    **Several metrics** are bounded together: by the least and the largest
    :math:`\sum_r \pi_r M(r)` of all distributions :math:`\pi` of the ranks with
    :math:`\sum_r \pi_r g_i(r) = v_i` for each of them, up to rounding and, as in `identified_set`,
    the solver's tolerance. If no distribution has all the numbers, the bounds are empty.

    **The standard error** is over users and samples, if each user's value is drawn independently.
    With a and b the least and the largest value of a sampled rank, their variance is at most
    :math:`(b - v)(v - a)` (Bhatia & Davis 2000): :math:`v (1 - v)` for `Recall`, whose variance it
    is. If samples alone are random, it is still no larger. The interval is Wilson's (1927).

    Examples
    --------
    >>> from sampled_metrics import Draw, Recall
    >>> draw = Draw(n_samples=100, n_items=3706)
    >>> found = explain(Recall(k=10), 0.66, draw, n_users=6040, other=0.64)
    >>> print(found)
    Sampled Recall@10 is 0.66: each relevant item is ranked among 100 others, drawn with replacement
    from the other 3,705.
    The top 10 of 101 resembles the top 367 of all 3,706: if all ranks were equally likely, an item
    would be in one as often as in the other.
    Chance aside, exact Recall@10 can be anything from 0.000 to 0.660.
    With 6,040 users the standard error of sampled Recall@10 is 0.0061. So with 95 percent
    confidence the expected sampled value is from 0.648 to 0.672, and exact Recall@10 can be
    anything from 0.000 to 0.672.
    The difference to 0.64 is 0.020, more than chance explains: if the two systems are independent
    of each other, the mean difference is from 0.003 to 0.037.
    Chance aside, exact Recall@10 of the other system can be anything from 0.000 to 0.640: either
    can be the better one.
    Who has the model need not sample: Ranks.from_model ranks exactly, and where scores are inner
    products of vectors of unlike lengths, with up_to, often as fast as a sample.
    This takes for granted that every user has the same number of items, that one of them is
    relevant, that all others are equally likely to be drawn, and that users and their samples are
    independent of each other.

    Two numbers of the same system say more together than each by itself.

    >>> for one in explain([Recall(1), Recall(10)], [0.30, 0.66], draw):
    ...     print(one.metric, f"{one.bounds.low:.3f} to {one.bounds.high:.3f}")
    Recall@1 0.000 to 0.300
    Recall@10 0.000 to 0.383
    """
    several = not isinstance(metric, Metric) and isinstance(metric, Sequence)
    if several:
        metrics = as_list("metric", metric, Metric, "Recall(k=10)")
        values = _one_each("value", value, metrics)
        others = None if other is None else _one_each("other", other, metrics)
    else:
        metrics = [as_kind("metric", metric, Metric, "Recall(k=10)")]
        values, others = {"value": value}, None if other is None else {"other": other}
    if exact_metric is not None:
        as_kind("exact_metric", exact_metric, Metric, "Recall(k=10)")
    n, m = number_of_items(with_own_samples(draw)), draw.n_samples
    digits = as_integer("decimals", decimals, low=0)
    if m >= n:
        raise ValueError(
            f"draw.n_samples is {m}; it must be below draw.n_items, {n}; the two may be swapped"
        )
    most = MOST_SAMPLES if len(metrics) == 1 else MOST_TOGETHER
    if m > most:
        raise ValueError(f"draw.n_samples is {m}; draw.n_samples must be at most {most}")
    curves = [Curve(x, exact_metric or x, draw, slack=0.5 * 10.0**-digits) for x in metrics]
    v = [curve.as_mean(*each) for curve, each in zip(curves, values.items(), strict=True)]
    users = None if n_users is None else as_integer("n_users", n_users)
    risk = (1 - as_confidence("confidence", confidence)) / len(metrics)  # for all at once
    z = -NormalDist().inv_cdf(risk / 2)
    bounds = _bounds(curves, [curve.unrounded(x) for curve, x in zip(curves, v, strict=True)])
    intervals: list[Any] = [None] * len(curves)
    with_error, differences = intervals, intervals
    if users is not None:
        intervals = [curve.interval(x, users, z) for curve, x in zip(curves, v, strict=True)]
        with_error = _bounds(curves, intervals)
    if others is not None:
        w = [curve.as_mean(*each) for curve, each in zip(curves, others.items(), strict=True)]
        behind = _bounds(curves, [curve.unrounded(x) for curve, x in zip(curves, w, strict=True)])
        each_pair = zip(curves, v, w, bounds, behind, strict=True)
        differences = [_difference(*pair, users, z) for pair in each_pair]
    numbers = list(zip(metrics, v, strict=True))
    found = [
        Explanation(
            metric=curve.metric,
            value=v[i],
            draw=draw,
            n_users=users,
            beside=tuple(numbers[:i] + numbers[i + 1 :]),
            exact_metric=curve.exact,
            confidence=float(confidence),
            decimals=digits,
            cutoff=None if curve.metric.k is None else n * min(curve.metric.k, m + 1) / (m + 1),
            bounds=bounds[i],
            standard_error=None if users is None else sqrt(curve.variance(v[i]) / users),
            interval=intervals[i],
            bounds_with_error=with_error[i],
            difference=differences[i],
        )
        for i, curve in enumerate(curves)
    ]
    return Explanations(found) if several else found[0]


def _one_each(name: str, values: object, metrics: list[Metric]) -> dict[str, Any]:
    """Return what each of several values is called, and the value."""
    each = entries(name, values, "[0.3, 0.62]")
    if len(each) != len(metrics):
        raise ValueError(
            f"{name} has {len(each)} numbers for {len(metrics)} metrics; give one each"
        )
    for i, metric in enumerate(metrics):
        if metric in metrics[:i]:
            raise ValueError(f"metric holds {metric} twice; give each metric once")
    return {f"{name}[{i}]": one for i, one in enumerate(each)}


def _bounds(curves: list[Curve], means: list[Bounds]) -> list[Bounds]:
    """Return the bounds of each exact metric, if all sampled ones are within their means."""
    if len(curves) == 1:
        return [curves[0].bounds(*means[0])]
    within = {curve.metric: each for curve, each in zip(curves, means, strict=True)}
    different = {curve.exact for curve in curves}
    found = {exact: bounds_of_means(within, exact, curves[0].draw) for exact in different}
    return [found[curve.exact] for curve in curves]


def _difference(
    curve: Curve, v: float, w: float, bounds: Bounds, behind: Bounds, n_users: int | None, z: float
) -> Difference:
    """Compare two numbers."""
    difference = v - w
    error = interval = beyond = None
    if n_users is not None:
        # Of two values, a difference needs as large a share of users who differ.
        size, gap = abs(difference), curve.largest - curve.least if _is_binary(curve.values) else 0
        agreeing, apart = max(size * (gap - size), 0), curve.variance(v) + curve.variance(w)
        error = Bounds(sqrt(agreeing / n_users), sqrt(apart / n_users))
        of_v, of_w = curve.interval(v, n_users, z), curve.interval(w, n_users, z)
        interval = Bounds(
            difference - hypot(v - of_v.low, of_w.high - w),
            difference + hypot(of_v.high - v, w - of_w.low),
        )
        size += 2 * curve.slack
        if n_users * size <= z**2 * (gap - size):
            beyond = False
        elif interval.low > 0 or interval.high < 0:
            beyond = True
    return Difference(
        other=w,
        other_bounds=behind,
        value=difference,
        standard_error=error,
        interval=interval,
        beyond_chance=beyond,
        order_known=bounds.low > behind.high or bounds.high < behind.low,
    )


def _is_binary(values: FloatArray) -> bool:
    return len(np.unique(values)) <= 2


def _listed(numbers: Sequence[tuple[Metric, float]]) -> str:
    """Return what is written of some metrics, as in "AUC is 0.9 and RR is 0.4"."""
    *most, last = (f"{metric} is {value:g}" for metric, value in numbers)
    return f"{', '.join(most)} and {last}" if most else last


def _sentences(found: Sequence[Explanation]) -> list[str]:
    """Return what an explanation, or those of several numbers of one system, say in sentences."""
    one = found[0]
    m, n = one.draw.n_samples, number_of_items(one.draw)
    drawn = "with" if one.draw.replacement else "without"
    numbers = [(one.metric, one.value), *one.beside]
    said = [
        f"Sampled {_listed(numbers)}: each relevant item is ranked among "
        f"{_count(m, 'other')}, drawn {drawn} replacement from the other {n - 1:,}."
    ]
    if one.decimals < 4:
        said[0] += f" In print it is rounded by up to {0.5 * 10.0**-one.decimals:g}."
    for each in found:
        if each.metric.k is not None and each.cutoff is not None:
            top = min(each.metric.k, m + 1)
            said.append(
                f"The top {top:,} of {m + 1:,} resembles the top {each.cutoff:,.0f} of all {n:,}: "
                "if all ranks were equally likely, an item would be in one as often as in the "
                "other."
            )
    if one.bounds.is_empty:
        said.append(
            "Chance aside, no ranks at all have these numbers together: chance has moved them, or "
            "what is taken for granted below is not so."
        )
    else:
        said += [f"Chance aside, exact {x.exact_metric} {_can_be(x.bounds)}." for x in found]
    if one.n_users is None:
        said.append("How far chance has moved it depends on the number of users, n_users.")
    said += [sentence for each in found for sentence in (*_of_chance(each), *_against(each))]
    together = "that all of these numbers are of the same users and samples, " if one.beside else ""
    return [
        *dict.fromkeys(said),
        "Who has the model need not sample: Ranks.from_model ranks exactly, and where scores are "
        "inner products of vectors of unlike lengths, with up_to, often as fast as a sample.",
        f"This takes for granted {together}that every user has the same number of items, that one "
        "of them is relevant, that all others are equally likely to be drawn, and that users and "
        "their samples are independent of each other.",
    ]


def _of_chance(found: Explanation) -> list[str]:
    """Return what an explanation says of the number of users, in sentences."""
    if found.n_users is None or found.interval is None or found.bounds_with_error is None:
        return []
    error = "is" if _is_binary(sampled_values(found.metric, found.draw.n_samples)) else "is at most"
    rounding = ", rounding included," if found.decimals < 4 else ""
    at_once = f" in all {len(found.beside) + 1} numbers at once" if found.beside else ""
    exact = f"exact {found.exact_metric} {_can_be(found.bounds_with_error)}"
    if found.bounds_with_error.is_empty:
        exact = "no ranks at all have these numbers together: chance does not explain it"
    return [
        f"With {_count(found.n_users, 'user')} the standard error of sampled {found.metric} "
        f"{error} {found.standard_error:.4f}. So with {100 * found.confidence:g} percent "
        f"confidence{at_once}{rounding} the expected sampled value is {_span(found.interval)}, and "
        f"{exact}."
    ]


def _against(found: Explanation) -> list[str]:
    """Return what an explanation says of the difference, in sentences."""
    difference = found.difference
    if difference is None:
        return []
    error, interval = difference.standard_error, difference.interval
    of = f" of sampled {found.metric}" if found.beside else ""
    by = f"The difference{of} to {difference.other:g} is {_shown(difference.value)}"
    if error is None or interval is None:
        chance = f"{by}. Whether chance explains it depends on the number of users, n_users."
    elif difference.beyond_chance is None:
        chance = (
            f"{by}, with a standard error from {error.low:.4f} to {error.high:.4f}: the more the "
            "two systems agree about each user, the smaller this error. Only their values for "
            "each user can tell whether chance explains the difference."
        )
    elif difference.beyond_chance:
        chance = (
            f"{by}, more than chance explains: if the two systems are independent of each other, "
            f"the mean difference is {_span(interval)}."
        )
    else:
        chance = (
            f"{by}, no more than chance explains, however much the two systems agree about each "
            "user."
        )
    known = difference.order_known
    order = "the order of the exact ones is known" if known else "either can be the better one"
    behind = (
        f"Chance aside, exact {found.exact_metric} of the other system "
        f"{_can_be(difference.other_bounds)}"
    )
    if difference.other_bounds.is_empty:
        behind = "Chance aside, no ranks at all have the numbers of the other system together"
    if found.bounds.is_empty or difference.other_bounds.is_empty:
        order = "nothing follows for the order"
    return [chance, f"{behind}: {order}."]


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _shown(value: float) -> str:
    """Return a number with three digits, as the calculator in the book shows it."""
    text = f"{value + np.copysign(1e-12, value):.3f}"
    return "0.000" if text == "-0.000" else text


def _span(bounds: Bounds) -> str:
    low, high = map(_shown, bounds)
    return low if low == high else f"from {low} to {high}"


def _can_be(bounds: Bounds) -> str:
    low, high = map(_shown, bounds)
    return f"is {low}" if low == high else f"can be anything from {low} to {high}"


HEAD = 2048  # ranks that are all looked at
STEP = 1.01  # from one rank to the next behind them, until it is known where to look closer
FINER = 16  # ranks between two neighbors, when looking closer
BLOCK = 2**20  # probabilities in memory at once
ROUNDING = 1e-9  # by which a mean that was computed may miss what is possible


class Curve:
    """The points (g(r), M(r)) of the ranks looked at so far, and means rounded by `slack` at most.

    Near its ends g changes by less than rounding shows. So it is kept twice: as what it is above
    the least value, and below the largest.
    """

    def __init__(self, metric: Metric, exact: Metric, draw: Draw, slack: float) -> None:
        m, n = draw.n_samples, draw.n_items
        assert isinstance(n, int)
        self.metric, self.exact, self.draw, self.n, self.slack = metric, exact, draw, n, slack
        self.values = sampled_values(metric, m)
        self.least, self.largest = float(self.values.min()), float(self.values.max())
        self.ranks: IntArray = np.arange(0)
        self.x, self.y = np.empty((0, 2)), np.empty(0)
        count = 2 + int(log(max(n / HEAD, 1)) / log(STEP))
        cuts = [] if exact.k is None else [exact.k, exact.k + 1]
        far = np.rint(np.geomspace(min(HEAD, n), n, count))
        self._add(np.concatenate([np.arange(1, min(HEAD, n) + 1), far, [min(c, n) for c in cuts]]))

    def _add(self, ranks: FloatArray) -> bool:
        """Look at more ranks; tell whether one of them is new."""
        new = np.setdiff1d(ranks.astype(np.int64), self.ranks)
        ends = np.stack([self.values - self.least, self.largest - self.values], axis=1)
        pieces = np.array_split(new, 1 + new.size * len(ends) // BLOCK)
        x = np.concatenate([self.x, *(self.draw.pmf(piece) @ ends for piece in pieces)])
        y = np.concatenate([self.y, self.exact(new, self.n)])
        all_ranks = np.concatenate([self.ranks, new])
        order = np.argsort(all_ranks)
        self.ranks, self.x, self.y = all_ranks[order], x[order], y[order]
        return bool(new.size)

    def as_mean(self, name: str, value: object) -> float:
        """Return a value that the mean of the sampled metric can have."""
        v = as_real(name, value)
        low, high = self._reach()
        slack = self.slack + ROUNDING
        if not low - slack <= v <= high + slack:
            hint = "; divide a percentage by 100" if 1 < v <= 100 else ""
            raise ValueError(
                f"{name} is {value}; {name} must be from {low:.6g} to {high:.6g}, which is what "
                f"{self.metric} can be with n_samples {self.draw.n_samples}{hint}"
            )
        return min(max(v, low), high)

    def _reach(self) -> tuple[float, float]:
        """Return the least and the largest mean of the sampled metric."""
        return self.least + float(self.x[:, 0].min()), self.largest - float(self.x[:, 1].min())

    def unrounded(self, v: float) -> Bounds:
        """Return the means that a value stands for."""
        low, high = self._reach()
        return Bounds(max(v - self.slack, low), min(v + self.slack, high))

    def variance(self, v: float) -> float:
        """Return the largest variance of values with the mean v."""
        return (self.largest - v) * (v - self.least)

    def interval(self, v: float, n_users: int, z: float) -> Bounds:
        """Return the means that are at most z of their own standard errors away from v."""
        low, high = self.unrounded(v)
        return Bounds(self._away(-z, low, n_users), self._away(z, high, n_users))

    def _away(self, z: float, v: float, n_users: int) -> float:
        """Return the mean that is z of its standard errors above v, or below for a negative z."""
        low, high, weight = self.least, self.largest, z**2 / n_users
        shift = weight * ((low + high) / 2 - v)
        error = sqrt(self.variance(v) / n_users + (z * (high - low) / (2 * n_users)) ** 2)
        return min(max(v + (shift + z * error) / (1 + weight), low), high)

    def bounds(self, low: float, high: float) -> Bounds:
        """Return the extremes of the exact metric, if the sampled one is from low to high."""
        return Bounds(0.0 - self._highest(-1, low, high), self._highest(1, low, high))

    def _highest(self, sign: int, low: float, high: float) -> float:
        """Return the upper end of the hull of (g, sign * M) over an interval of g."""
        side = int(low + high > self.least + self.largest)  # measure from the nearer end
        ends = (low - self.least, high - self.least), (self.largest - high, self.largest - low)
        while True:
            x, y = self.x[:, side], sign * self.y
            # The hull is concave: its highest point is above that rank, or as near as can be.
            at = np.clip(np.clip(x[np.argmax(y)], *ends[side]), x.min(), x.max())
            height, atoms = _hull_above(x, y, float(at))
            # Look closer between the ranks that are mixed there and their neighbors.
            left = np.clip([i - before for i in atoms for before in (0, 1)], 0, len(x) - 2)
            near = np.linspace(self.ranks[left], self.ranks[left + 1], FINER + 2)
            if not self._add(np.rint(near.ravel())):
                return height


def _hull_above(x: FloatArray, y: FloatArray, at: float) -> tuple[float, list[int]]:
    """Return the height of the upper hull of points at a place, and which points it mixes there.

    Of all segments above the place, the highest is on the hull. Its ends are improved in turn; if
    neither can be, all points are below its line.
    """
    here, left, right = (np.flatnonzero(side) for side in (x == at, x < at, x > at))
    single = (float(y[here].max()), [int(here[np.argmax(y[here])])]) if here.size else None
    if not (left.size and right.size):
        assert single is not None  # the place is between the first point and the last
        return single

    def height(a: Any, b: Any) -> Any:
        return y[a] + (y[b] - y[a]) * ((at - x[a]) / (x[b] - x[a]))

    b = right[np.argmax(y[right])]
    a = left[np.argmax(height(left, b))]
    while height(a, new := right[np.argmax(height(a, right))]) > height(a, b):
        b = new
        a = left[np.argmax(height(left, b))]
    pair = float(height(a, b)), [int(a), int(b)]
    return pair if single is None or pair > single else single
