"""What a sample leaves open: the smallest and the largest value that an exact metric can have."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._arguments import (
    FloatArray,
    IntArray,
    as_choice,
    as_confidence,
    as_kind,
    as_number,
    as_probabilities,
)
from sampled_metrics.bounds._programs import (
    End,
    Group,
    Observed,
    end_of,
    extreme,
    lengths_of,
    modes,
    nodes_of,
)
from sampled_metrics.metrics import AUC, Metric
from sampled_metrics.ranks import Ranks
from sampled_metrics.sampling import (
    Draw,
    as_single,
    check_own_samples,
    number_of_items,
    one_sampled_each,
    sampled_values,
)

MAX_GROUPS = 16  # of instances with similar numbers of items
SLACK = 1e-7  # of the band: the solver's tolerance; at less, what is just possible seems impossible

Shape = Literal["unimodal", "decreasing"]
Side = tuple[list[Observed], list[End]]  # what bounds one end of the metric, and its values


class Bounds(NamedTuple):
    """The ends of an interval, such as the smallest and the largest value that a metric can have.

    Attributes
    ----------
    low, high : float
        The two ends. Both are NaN if no ranks at all explain what was observed, so that something
        that was taken for granted is not so.
    """

    low: float
    high: float

    @property
    def is_empty(self) -> bool:
        """Whether no value is possible."""
        return self.low != self.low


def metric_bounds(
    sampled_ranks: Ranks | ArrayLike,
    metric: Metric,
    draw: Draw,
    *,
    confidence: float = 0.95,
    shape: Shape | None = None,
    max_share: float = 1.0,
) -> Bounds:
    r"""Bound the exact metric, using only what the sampled ranks say.

    If the instances are a random sample of a population, and each has its own sample of items that
    are all equally likely, then with probability `confidence` the cumulative distribution of the
    sampled rank lies everywhere at once within

    .. math:: \varepsilon = \sqrt{\frac{1}{2 |D|} \log \frac{2}{1 - \text{confidence}}}

    of the observed one (Dvoretzky, Kiefer & Wolfowitz 1956; Massart 1990), and so the mean of the
    metric in the population between the bounds of `identified_set` with this band.

    Parameters
    ----------
    sampled_ranks : Ranks or array_like of int, shape (n_instances,)
        Sampled ranks, one per instance, in 1, ..., ``n_samples + 1``.
    metric : Metric
        The metric, such as ``Recall(k=10)``.
    draw : Draw
        The draw, with its `n_items`: one number or one for each instance, unless the ranks know
        their `catalog`.
    confidence : float
        Probability of the band, above 0 and below 1.
    shape, max_share
        As in `identified_set`.

    Returns
    -------
    Bounds
        Both ends are NaN if no ranks explain the sample, which happens with a probability of at
        most 1 - `confidence` if it was drawn as `draw` says, and `shape` and `max_share` hold.

    Raises
    ------
    ValueError
        If there are no sampled ranks, one is out of range, or their catalog is not the draw's
        `n_items`; or as `identified_set`.

    Notes
    -----
    If the numbers of items differ, the number n of an instance is random, too. Then the
    distributions of the sampled rank and of n have a band each, and by the union bound both hold at
    once with probability `confidence` if each does with probability (1 + confidence) / 2. The
    numbers in the population must be among those of the instances; of more than 16 different ones,
    it suffices that none is below the least or above the largest.

    Examples
    --------
    >>> from sampled_metrics import Draw, Recall
    >>> ranks, draw = np.repeat([1, 20, 400, 1000], 250), Draw(50, n_items=1000)
    >>> low, high = metric_bounds(draw.rvs(ranks, rng=0), Recall(k=10), draw)
    >>> f"{low:.2f} to {high:.2f}, exactly {Recall(k=10)(ranks).mean():.2f}"
    '0.00 to 0.50, exactly 0.25'
    """
    catalog = sampled_ranks.catalog if isinstance(sampled_ranks, Ranks) else None
    if isinstance(draw, Draw) and draw.n_items is None and catalog is not None:
        draw = replace(draw, n_items=catalog)
    sampled, _, n = one_sampled_each(sampled_ranks, with_own_samples(draw))
    if sampled.ndim > 1:
        raise ValueError(
            f"sampled_ranks has shape {sampled.shape}; sampled_ranks must be flat: the same "
            "instances drawn again say nothing new about the population"
        )
    risk = 1 - as_confidence("confidence", confidence)
    shares = np.bincount(np.ravel(sampled) - 1, minlength=draw.n_samples + 1) / sampled.size
    several = len(np.unique(n)) > 1
    band = float(np.sqrt(np.log(2 / (risk / 2 if several else risk)) / (2 * sampled.size)))
    return _solve(shares, metric, draw, band, band if several else 0.0, shape, max_share)


def identified_set(
    shares: ArrayLike,
    metric: Metric,
    draw: Draw,
    *,
    band: float = 0.0,
    shape: Shape | None = None,
    max_share: float = 1.0,
) -> Bounds:
    r"""Bound the exact metric, given the distribution of the sampled rank.

    A rank distribution :math:`\pi` on 1, ..., n explains shares :math:`f` of the sampled ranks if

    .. math:: \Big| \sum_{i \le j} \Big( \sum_{r=1}^n \pi_r P(S = i \mid r) - f_i \Big)
              \Big| \le \text{band} \quad \text{for } j = 1, \dots, m.

    The bounds are the least and the largest :math:`\sum_r \pi_r M(r)` of all distributions that
    explain the shares: two linear programs, solved by HiGHS (Huangfu & Hall 2018). If the numbers
    of items differ, :math:`\pi(n, r)` is a distribution of both, and its n are those of the
    instances.

    Parameters
    ----------
    shares : array_like of float, shape (n_samples + 1,)
        Probability of each sampled rank, or the share of instances there. A Series may be indexed
        by the sampled ranks 1, 2, ...
    metric, draw
        As in `metric_bounds`.
    band : float
        How far the cumulative shares may be off, 0 or above.
    shape : {None, "unimodal", "decreasing"}
        What is assumed of the rank distribution, for one number of items: nothing, that it rises to
        some rank and falls from there, or that it never rises.
    max_share : float
        The largest share of the instances that may have one and the same rank.

    Returns
    -------
    Bounds
        Both ends are NaN if no rank distribution (of the shape) explains the shares.

    Raises
    ------
    ValueError
        If the shares are no probabilities, the draw does not know `n_items`, a parameter is out of
        its range, a shape is assumed for several numbers of items, or a metric of your own needs
        more than 16 of them.

    Notes
    -----
    The band is widened by the solver's tolerance of 1e-7, so that the bounds are never too narrow.
    For a band of 0, this can change their second digit. Otherwise they are exact if all ranks are
    looked at: up to 1,024 of one number of items, up to 8,192 for a band of 0, and fewer of several
    numbers. Of more ranks, some hundreds or thousands represent all, which widens the band by a few
    hundredths (more from about a thousand samples on, or with many numbers of items), and the
    result by the metric's own error bound; an interval may then be returned though only the wider
    band can be explained. The mode of "unimodal" is only known up to an interval of ranks, each
    twice as long as the one before.

    **Several numbers of items.** Up to 16 different numbers make a group each, and the bounds are
    the extremes over all :math:`\pi(n, r)`. More are gathered into at most 16 groups of neighbors,
    :math:`n_- \le n \le n_+`, and a group has only to satisfy what is true of all its numbers.
    As an item more below rank r leaves no more of the drawn items above it,

    .. math:: P(S \le j \mid r, n_-) \le P(S \le j \mid r, n)
              \le P(S \le j \mid r, n_+),

    where the left one is 0 if :math:`r > n_-`. The upper bound of the metric is the largest mean of
    all distributions of group and rank, with the instances' shares of the groups, whose mean of the
    left side is at most the cumulative share of the sampled rank; the lower bound is the least of
    those whose mean of the right side is at least this share. Both are wider than they need to be:
    each uses one side of the band only. `AUC` rises with n, so its lower bound uses :math:`n_-` and
    its upper one :math:`n_+`. `max_share` then limits the share of each rank within each group.

    Examples
    --------
    With one sample, all there is to know is how often the relevant item came first.

    >>> from sampled_metrics import Draw, Recall
    >>> low, high = identified_set([0.9, 0.1], Recall(k=10), Draw(1, n_items=1000))
    >>> round(low, 6), round(high, 6)
    (0.0, 0.908182)
    """
    f, m = as_probabilities("shares", shares), as_single(draw).n_samples
    if f.size != m + 1:
        raise ValueError(
            f"shares has shape {f.shape}; shares must have n_samples + 1 entries, {m + 1}"
        )
    f = f / f.sum()  # exactly 1: the solver is stricter than the check
    return _solve(f, metric, draw, as_number("band", band, zero=True), 0.0, shape, max_share)


def _groups(n_items: IntArray) -> list[Group]:
    """Return groups of neighbors: one for each number of items, or a few that cover all."""
    n, counts = np.unique(n_items, return_counts=True)
    if not n.size:
        raise ValueError("draw.n_items is empty; it must hold a number of items")
    share = counts / counts.sum()
    if len(n) <= MAX_GROUPS:
        return [Group(*x) for x in zip(n.tolist(), n.tolist(), share.tolist(), strict=True)]
    # A group is meant to hold few of the instances, and numbers of one size.
    place = np.cumsum(share) - share / 2 + np.log(n / n[0]) / np.log(n[-1] / n[0])
    which = np.minimum(place / 2 * MAX_GROUPS, MAX_GROUPS - 1).astype(np.int64)
    last = np.flatnonzero(np.diff(which, append=MAX_GROUPS))
    return [
        Group(int(n[0] if g == which[0] else before + 1), int(most), float(share[which == g].sum()))
        for g, before, most in zip(which[last], [0, *n[last][:-1]], n[last], strict=True)
    ]


def _solve(
    f: FloatArray,
    metric: Metric,
    draw: Draw,
    band: float,
    share_band: float,
    shape: Shape | None,
    max_share: float,
) -> Bounds:
    """Return the extremes of the metric; the shares of groups may be off by `share_band`."""
    as_kind("metric", metric, Metric, "Recall(k=10)")
    groups = _groups(np.asarray(draw.n_items))
    as_choice("shape", shape, (None, "unimodal", "decreasing"))
    if shape is not None and len(groups) > 1:
        raise ValueError(
            f"shape is {shape!r}, and draw.n_items holds several numbers; leave shape out, or take "
            "the instances of each number by themselves"
        )
    if as_number("max_share", max_share) > 1:
        raise ValueError(f"max_share is {max_share}; max_share must be at most 1")
    if _gathered(groups) and metric.needs_n_items and not isinstance(metric, AUC):
        raise ValueError(
            f"metric is {metric}, which needs n_items; such a metric, but for AUC, is bounded for "
            f"at most {MAX_GROUPS} different numbers in draw.n_items"
        )
    nodes = [nodes_of(group, metric, draw, band, len(groups)) for group in groups]
    fewest = [end_of(x, g, g.fewest, metric, draw) for x, g in zip(nodes, groups, strict=True)]
    most = [
        end if g.fewest == g.most else end_of(x, g, g.most, metric, draw)
        for end, x, g in zip(fewest, nodes, groups, strict=True)
    ]
    # A rank between two nodes counts for both, the nearer one more: a node's length is what it
    # gets from all ranks, and its density the share that it gets of all instances over that.
    # Linear interpolation keeps shapes: where densities of ranks only fall, so do those of nodes.
    lengths = np.concatenate([lengths_of(x, g.most) for x, g in zip(nodes, groups, strict=True)])
    below = _observed(f, groups, most, 1, band, share_band), fewest
    above = _observed(f, groups, fewest, -1, band, share_band), most
    return _between(below, above, lengths, modes(shape, len(lengths)), max_share)


def with_own_samples(draw: Draw) -> Draw:
    """Return a draw of which each instance has its own sample: only their errors average out."""
    made = as_single(draw)
    check_own_samples(made)
    return made


def bounds_of_means(means: dict[Metric, Bounds], exact: Metric, draw: Draw) -> Bounds:
    """Bound an exact metric, if the expectations of several sampled ones are within theirs."""
    n = number_of_items(draw)
    group = Group(n, n, 1.0)
    nodes = nodes_of(group, exact, draw, 0.0, 1)
    end = end_of(nodes, group, n, exact, draw)
    observed = []
    for metric, (low, high) in means.items():
        values = sampled_values(metric, draw.n_samples)
        expected = end.p @ (values[:-1] - values[-1]) + values[-1]
        width = np.abs(np.diff(values)) @ end.error + SLACK
        observed.append(
            Observed(expected[:, None], np.array([low - width]), np.array([high + width]))
        )
    side = observed, [end]
    return _between(side, side, lengths_of(nodes, n), modes(None, len(nodes)), 1.0)


def _between(
    below: Side, above: Side, lengths: FloatArray, where: list[tuple[int, int]], max_share: float
) -> Bounds:
    """Return the extremes of the metric, the error of interpolating between nodes included."""
    lows, highs = (
        [
            value
            for mode in where
            if (value := extreme(sign, observed, exact, lengths, mode, max_share)) is not None
        ]
        for sign, (observed, ends) in ((1, below), (-1, above))
        for exact in [np.concatenate([end.exact for end in ends])]
    )
    if not (lows and highs) or min(lows) > max(highs) + 10 * SLACK:
        return Bounds(np.nan, np.nan)
    (least, low), (largest, high) = (
        np.array([(end.extent[i], end.rest[i]) for end in ends]).T
        for i, ends in enumerate((below[1], above[1]))
    )
    return Bounds(
        float(max(min(lows) + low.min(initial=0), least.min())),
        float(min(max(highs) + high.max(initial=0), largest.max())),
    )


def _observed(
    f: FloatArray, groups: list[Group], ends: list[End], sign: int, band: float, share_band: float
) -> list[Observed]:
    """Return what is known of the sampled rank, and of the group if there are several.

    What is known of gathered numbers of items bounds the sums on one side only.
    """
    width = band + np.max([end.error for end in ends], axis=0) + SLACK
    low, high = (np.cumsum(f)[:-1] + side * width for side in (-1, 1))
    if _gathered(groups):
        low, high = (low, np.ones_like(low)) if sign == 1 else (np.zeros_like(high), high)
    observed = [Observed(np.concatenate([end.p for end in ends]), low, high)]
    if len(groups) > 1:
        which = np.repeat(np.arange(len(groups)), [len(end.exact) for end in ends])
        share, width = np.cumsum([group.share for group in groups])[:-1], share_band + SLACK
        observed.append(Observed(np.eye(len(groups))[which, :-1], share - width, share + width))
    return observed


def _gathered(groups: list[Group]) -> bool:
    return any(group.fewest < group.most for group in groups)
