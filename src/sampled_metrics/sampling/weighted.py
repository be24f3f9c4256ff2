r"""What sampling by popularity does: a draw of the irrelevant items in proportion to weights.

With replacement, the number of drawn items above the relevant one is binomial: its probability is
the share of the weight that is above. Without replacement, each draw is from the items that are
left. Imagine that every item rings once, at a random time with an exponential distribution whose
rate is the item's weight. The items in the order of their rings are such draws (Efraimidis &
Spirakis 2006). Whether an item has rung by a fixed time is independent of the others, so the
numbers of rings above and below are sums of independent indicators (Poisson-binomial).
"""

from __future__ import annotations

from dataclasses import dataclass
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
    as_integer,
    as_kind,
    no_index,
    read_only,
    refuse,
    reject,
    shown,
)
from sampled_metrics.metrics import Metric
from sampled_metrics.sampling._probabilities import blocks, probabilities
from sampled_metrics.sampling._terms import sampled_values

Method = Literal["exact", "approximate"]
Replacement = bool | Literal["merged"]

SMALLEST = 1e-200  # positive weight, relative to the largest
TAIL = 37.0  # probabilities below exp(-37), the rounding error of 1, are left out


@dataclass(frozen=True, eq=False, init=False)
class WeightedDraw:
    r"""How a sampled evaluation draws irrelevant items in proportion to weights, as by popularity.

    It has the methods of `Draw`. As the rank of the relevant item is not enough here, they take
    a mask for each: whether each item is ranked above it.

    Parameters
    ----------
    n_samples : int
        Number of drawn items m, at least 1; without replacement at most the number of positive
        weights.
    weights : array_like of float, shape (n_items,) or (n_instances, n_items)
        Weight of each item, 0 or above, for all instances or for each of them: 0 for the relevant
        item itself, and for items that are not ranked, such as the instance's training items.
    replacement : bool or "merged"
        Whether one item may be drawn twice. If not, each item is drawn from those that are left,
        in proportion to their weights. With "merged" it may, but is then ranked once.

    Raises
    ------
    ValueError
        If a number is out of its range; without replacement, if a positive weight is less than
        1e-200 of the largest.

    Notes
    -----
    With replacement, only sums of weights matter. If the weights are whole numbers, with the sum
    :math:`W_+` above the relevant item and W in all, it is a `Draw` for rank :math:`W_+ + 1` of
    W + 1.

    In-batch negatives, the items of the other events of a batch, are such draws: their weights are
    the numbers of events, also that of the relevant item, which may come again behind itself.

    No estimator takes a `WeightedDraw`: the number of items above the relevant one does not follow
    from their weight.

    Examples
    --------
    Of six items, the first and the fourth are above the relevant one: 60 percent of the weight.

    >>> weights, above = [50, 20, 10, 10, 5, 5], [True, False, False, True, False, False]
    >>> WeightedDraw(2, weights).pmf(above)
    array([0.16, 0.48, 0.36])
    >>> WeightedDraw(2, weights, replacement=False).pmf(above).round(4)
    array([0.1202, 0.7243, 0.1556])
    """

    n_samples: int
    weights: FloatArray
    replacement: Any  # True, False or "merged"

    def __init__(
        self, n_samples: int, weights: ArrayLike, *, replacement: Replacement = True
    ) -> None:
        m, again = as_integer("n_samples", n_samples), as_replacement(replacement)
        no_index("weights", weights, "the items in above")
        given = as_array("weights", weights)
        if given.dtype.kind not in "iuf" or given.ndim == 0 or given.size == 0:
            raise ValueError(f"weights is {shown(weights)}; weights must be one number per item")
        w: FloatArray = given.astype(np.float64)
        refuse("weights", given, ~(np.isfinite(w) & (w >= 0)), "finite and 0 or above")
        vars(self).update(n_samples=m, weights=read_only(w), replacement=again)
        largest = w.max(axis=-1, keepdims=True)
        for row in np.argwhere(largest[..., 0] == 0)[:1].tolist():
            raise ValueError(
                f"weights{row or ''} holds no positive weight; some item must have one"
            )
        if again:
            return
        rule = f"0 or at least {SMALLEST} times the largest"
        refuse("weights", w, (w > 0) & (w < SMALLEST * largest), rule)
        if (few := np.count_nonzero(w, axis=-1).min()) < m:
            raise ValueError(
                f"n_samples is {m}; without replacement it must be at most the number of positive "
                f"weights, {few}"
            )

    def pmf(self, above: ArrayLike, *, method: Method = "exact") -> FloatArray:
        r"""Compute the probability of each sampled rank.

        With H the number of drawn items above the relevant one, the sampled rank is
        :math:`S = 1 + H`. With replacement H is binomial with the share of the weight that
        is above. Without, let :math:`P_+(h; t)` be the probability that h items above have rung
        at time t, :math:`J_+(h; t)\,dt` the probability that the h-th of them then rings (for
        h = 0 it is 0), and :math:`P_-`, :math:`J_-` the same below. The last draw is an item above
        or below, so

        .. math:: P(H = h) = \int_0^\infty
                  J_+(h; t)\, P_-(m - h; t) + P_+(h; t)\, J_-(m - h; t) \, dt.

        Where repeats are merged, H is the number of different items above. With the weights
        :math:`w` and their sum W, it is h with :math:`m! / W^m` times the coefficient of
        :math:`u^h z^m` in :math:`\prod_+ (1 + u (e^{w z} - 1)) \prod_- e^{w z}`.

        Parameters
        ----------
        above : array_like of bool, shape (n_items,) or (n_instances, n_items)
            Whether each item is ranked above the relevant one, in the order of the weights. The
            entries of items of weight 0 do not matter.
        method : {"exact", "approximate"}
            How to compute it without replacement: by the integral, or by its integrand at one time
            t, at which m - 1/3 rings are expected. This is about the median time of the m-th ring.

        Returns
        -------
        ndarray of float64, shape ``above.shape[:-1] + (n_samples + 1,)``
            Probabilities of the sampled ranks 1, ..., ``n_samples + 1``; the last axis sums to 1.
            With weights for each instance, the leading shapes of both broadcast. Where repeats are
            merged, they are right to 13 digits after the point.

        Raises
        ------
        ValueError
            If `above` is not boolean, or does not fit the weights.

        Notes
        -----
        "exact" is right to 12 digits, whatever the ratios of the weights. The integrand is smooth
        in the logarithm of t, and 0 at both ends, so that the trapezoidal rule with 30 to 200
        times is exact up to rounding (Trefethen & Weideman 2014). For one mask of 1,000 items and
        100 samples this takes some 20 milliseconds; the time grows with the product of both.

        "approximate" is some 25 times faster where there are many masks, and exact for equal
        weights and for one sample. In trials with masks drawn at random, its distribution differed
        from the exact one by at most 0.02 (total variation) for 6 to 50 items, and by at most
        0.004 for 200 and more; by 0.013 if a mask held just the heaviest of 200 items and as many
        were drawn.

        Examples
        --------
        >>> draw = WeightedDraw(20, 1 / np.arange(1, 201), replacement=False)
        >>> above = np.arange(200) % 4 == 0
        >>> draw.pmf(above)[:6].round(4)
        array([0.    , 0.0028, 0.0239, 0.0882, 0.1838, 0.2441])
        >>> draw.pmf(above, method="approximate")[:6].round(4)
        array([0.    , 0.0027, 0.0239, 0.0882, 0.1837, 0.244 ])
        """
        as_choice("method", method, ("exact", "approximate"))
        m = self.n_samples
        masks, weights, shape = self._rows(above)
        if self.replacement is True:
            part, whole = _sums(masks, weights)
            return probabilities(part + 1, whole + 1, m, replacement=True).reshape(*shape, m + 1)
        if self.replacement == "merged":
            each = [_merged(mask, w, m) for mask, w in zip(masks, weights, strict=True)]
            return np.reshape(each, (*shape, m + 1))
        found = [
            _successive(masks[block], weights[block], m, method, same=self.weights.ndim == 1)
            for block in blocks(len(masks), masks.shape[1])
        ]
        return np.concatenate([np.empty((0, m + 1)), *found]).reshape(*shape, m + 1)

    def expect(self, above: ArrayLike, metric: Metric, *, method: Method = "exact") -> FloatArray:
        """Compute the expectation of a sampled metric: its mean under `pmf`.

        Parameters
        ----------
        above, method
            As in `pmf`.
        metric : Metric
            The metric, such as ``NDCG(k=10)``.

        Returns
        -------
        ndarray of float64, shape ``above.shape[:-1]``
            Expected sampled metric of each instance.

        Raises
        ------
        ValueError
            As `pmf`; if `metric` is not a `Metric`, or depends on the number of different items,
            as `AUC` does, and repeats are merged.

        Examples
        --------
        >>> from sampled_metrics import Recall
        >>> popularity = 1 / np.arange(1, 1000)
        >>> popular, unpopular = np.arange(999) < 49, np.arange(999) >= 950
        >>> WeightedDraw(100, popularity).expect([popular, unpopular], Recall(k=10)).round(3)
        array([0., 1.])
        """
        as_kind("metric", metric, Metric, "Recall(k=10)")
        if self.replacement == "merged" and metric.needs_n_items:
            raise ValueError(
                f"metric is {metric}, which depends on how many different items are drawn; draw "
                "them, and take the mean of the metric: Ranks.from_scores ranks such samples"
            )
        values = sampled_values(metric, self.n_samples)
        expected: FloatArray = self.pmf(above, method=method) @ values
        return expected

    def rvs(self, above: ArrayLike, *, repeats: int | None = None, rng: RNG = None) -> IntArray:
        """Draw random sampled ranks.

        Parameters
        ----------
        above : array_like of bool, shape (n_items,) or (n_instances, n_items)
            As in `pmf`.
        repeats, rng
            As in `Draw.rvs`, for every mask.

        Returns
        -------
        ndarray of int64, shape (), (n_instances,) or (repeats, n_instances)
            Sampled ranks in 1, ..., ``n_samples + 1``, independent of each other.

        Raises
        ------
        ValueError
            As `pmf`; if `repeats` is below 1.

        Examples
        --------
        >>> draw = WeightedDraw(2, [50, 20, 10, 10, 5, 5], replacement=False)
        >>> draw.rvs([True, False, False, True, False, False], repeats=8, rng=1)
        array([2, 2, 2, 3, 2, 1, 2, 3])
        """
        times = None if repeats is None else as_integer("repeats", repeats)
        generator = as_generator(rng)
        masks, weights, shape = self._rows(above)
        size = (times or 1, len(masks))
        if self.replacement is True:
            part, whole = _sums(masks, weights)
            hits = generator.binomial(self.n_samples, part / whole, size=size)
        else:
            hits = np.empty(size, dtype=np.int64)
            row = np.tile(np.arange(len(masks)), size[0])
            for block in blocks(row.size, masks.shape[1]):
                x = row[block]
                if self.replacement == "merged":
                    share = _relative(weights[x])
                    share /= share.sum(axis=1, keepdims=True)
                    drawn = [generator.choice(len(p), self.n_samples, p=p) for p in share]
                    hits.flat[block] = [
                        masks[i, [*{*d}]].sum() for i, d in zip(x, drawn, strict=True)
                    ]
                    continue
                with np.errstate(divide="ignore"):  # an item of weight 0 never rings
                    rings = generator.exponential(size=masks[x].shape) / _relative(weights[x])
                first = np.argpartition(rings, self.n_samples - 1)[:, : self.n_samples]
                hits.flat[block] = np.take_along_axis(masks[x], first, axis=1).sum(axis=1)
        return 1 + hits.reshape(shape if times is None else (times, *shape))

    def _rows(self, above: ArrayLike) -> tuple[NDArray[np.bool_], FloatArray, tuple[int, ...]]:
        """Return masks and weights, shape (n_rows, n_items), and the shape of the rows."""
        no_index("above", above, "weights")
        mask = as_array("above", above)
        if mask.dtype.kind != "b":
            raise ValueError(f"above is of type {mask.dtype}; above must hold True or False")
        try:
            shape = np.broadcast_shapes(mask.shape, self.weights.shape)
            fits = mask.shape[-1:] == self.weights.shape[-1:]
        except ValueError:
            fits = False
        if not fits:
            raise ValueError(
                f"above has shape {mask.shape}, weights has shape {self.weights.shape}; above must "
                "have one entry per item, or one row of them per instance"
            )
        flat = (-1, shape[-1])
        masks = np.broadcast_to(mask, shape).reshape(flat)
        return masks, np.broadcast_to(self.weights, shape).reshape(flat), shape[:-1]


def as_replacement(given: Any) -> Any:
    """Return whether an item may be drawn twice, or "merged"."""
    if isinstance(given, str) and given == "merged":
        return given
    if not isinstance(given, bool | np.bool_):
        reject("replacement", given, 'True, False or "merged"')
    return bool(given)


def _relative(weights: FloatArray) -> FloatArray:
    """Return weights whose largest one is 1 in each row."""
    return np.asarray(weights / weights.max(axis=1, keepdims=True))


def _sums(masks: NDArray[np.bool_], weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the weight above and in all of each row, as multiples of a very small weight."""
    part, whole = np.empty((2, len(masks)))
    for block in blocks(*masks.shape):
        exponent = np.frexp(weights[block].max(axis=1, keepdims=True))[1]
        scaled = np.ldexp(weights[block], 52 - exponent)  # exact
        whole[block] = scaled.sum(axis=1)
        part[block] = np.where(masks[block], scaled, 0.0).sum(axis=1)
    return np.minimum(part, whole), whole


def _merged(mask: NDArray[np.bool_], weights: FloatArray, m: int) -> FloatArray:
    """Return the probabilities that h different items above are among m draws.

    A sum over a circle in the complex plane gives the coefficient of degree m, the largest there.
    """
    relative = weights / weights.max()
    rates = relative * (m / relative.sum())  # so that the radius is 1
    n_nodes = m + 40
    z = np.exp(-2j * np.pi * np.arange(n_nodes // 2 + 1) / n_nodes)
    above = rates[mask & (rates > 0)]
    found = np.zeros((min(m, len(above)) + 1, len(z)), dtype=complex)
    found[0] = np.exp((m - above.sum()) * (z - 1))
    for rate in above:
        one_more = np.exp(-rate) * np.expm1(rate * z) * found[:-1]
        found *= np.exp(-rate)
        found[1:] += one_more
    p = np.zeros(m + 1)
    p[: len(found)] = np.maximum(np.fft.irfft(found, n_nodes)[:, m], 0)
    return np.asarray(p / p.sum())


def _successive(
    masks: NDArray[np.bool_], weights: FloatArray, m: int, method: Method, *, same: bool
) -> FloatArray:
    """Return the probabilities that h of m items drawn one after the other are above."""
    weights = _relative(weights)
    alike = [_times(w[w > 0], m, method) for w in (weights[:1] if same else weights)]
    times = alike * len(masks) if same else alike
    if method == "approximate":  # all masks together
        at = np.concatenate(times)
        p = _last_draw(np.where(masks, weights, 0.0), np.where(masks, 0.0, weights), at, m)
    else:
        p = np.stack(
            [
                _last_draw(w[mask & (w > 0)], w[~mask & (w > 0)], at, m).sum(axis=0)
                for mask, w, at in zip(masks, weights, times, strict=True)
            ]
        )
    p /= p.sum(axis=1, keepdims=True)
    return p


def _last_draw(above: FloatArray, below: FloatArray, times: FloatArray, m: int) -> FloatArray:
    """Return how likely the m-th ring is at each time, with h above: shape (n_times, m + 1)."""
    rung, rate = _rings(above, times, m)
    rung_below, rate_below = _rings(below, times, m)
    p = np.zeros((len(times), m + 1))
    p[:, 1:] = rate * rung_below[:, ::-1]
    p[:, :m] += rung * rate_below[:, ::-1]
    return p


def _rings(weights: FloatArray, times: FloatArray, m: int) -> FloatArray:
    """Return P(h have rung) and the rate of the next ring then, of h < m: shape (2, n_times, m).

    The rate is per unit of log time, and is 0 unless h have rung. All terms are positive: no
    digits cancel. The weights have the shape (n_items,), or (n_times, n_items).
    """
    found = np.zeros((2, len(times), m))
    found[0, :, 0] = 1
    for weight in weights.T:
        expected = (weight * times)[:, None]
        waiting, rung = np.exp(-expected), -np.expm1(-expected)
        rate = expected * waiting * found[0]
        one_more = rung * found[..., :-1]
        found *= waiting
        found[..., 1:] += one_more
        found[1] += rate
    return found


def _times(weights: FloatArray, m: int, method: Method) -> FloatArray:
    """Return times of the m-th ring, evenly spaced in log time, or one in their middle.

    Their range is from where m rings are almost impossible to where they are almost certain, by
    Hoeffding's (1956) bound. The integrand is a sum of likelihoods: their Fisher information about
    log time says how narrow they are, and their complex singularities are pi / 2 away.
    """
    from scipy.optimize import brentq
    from scipy.special import xlogy

    n = len(weights)
    first = np.log(m / weights.sum()) - TAIL / m - 1
    last = np.log((TAIL + 1 + np.log(n)) / weights.min())

    def rung_and_waiting(log_time: float) -> tuple[float, float]:
        expected = weights * np.exp(log_time)
        return float(-np.expm1(-expected).sum()), float(np.exp(-expected).sum())

    if method == "approximate":  # at the median, about m - 1/3 rings are expected
        return np.exp([brentq(lambda u: rung_and_waiting(u)[0] - m + 1 / 3, first, last)])

    def exponent(log_time: float, k: int) -> float:
        rung, waiting = rung_and_waiting(log_time)
        bound = xlogy(k, k / rung) + xlogy(n - k, (n - k) / waiting)
        return float(np.copysign(bound, rung - k))

    low = brentq(lambda u: exponent(u, m) + TAIL, first, last)
    high = brentq(lambda u: exponent(u, m - 1) - TAIL, first, last)
    expected = np.minimum(weights * np.exp(np.linspace(low, high, 20))[:, None], 700.0)
    information = (expected**2 / np.expm1(expected)).sum(axis=1).max()
    step = 0.7 / np.sqrt(information + 8)
    return np.exp(np.linspace(low, high, int((high - low) / step) + 2))
