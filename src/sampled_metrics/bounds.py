"""What is beyond doubt: who is better by every metric, and what a sample leaves open."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from sampled_metrics._checks import (
    FloatArray,
    IntArray,
    as_choice,
    as_integer,
    as_integers,
    as_number,
    as_probabilities,
    one_or_one_each,
    refuse,
)
from sampled_metrics.metrics import Metric
from sampled_metrics.ranking import TiedRanks
from sampled_metrics.sampling import as_draw, distribution, rank_distribution

__all__ = ["Bounds", "Dominance", "dominates", "identified_set", "metric_bounds"]

HEAD = 64  # ranks that are always looked at one by one
MAX_NODES = 2**13  # ranks that are looked at, about
SLACK = 1e-7  # of the band: the solver's tolerance; at less, what is just possible seems impossible
METHODS: tuple[Literal["highs-ds", "highs-ipm"], ...] = ("highs-ds", "highs-ipm")  # in this order


@dataclass(frozen=True)
class Dominance:
    """How the cumulative curve of one recommender runs against that of another.

    It is true where the first curve lies nowhere below the second.

    Parameters
    ----------
    crossings : tuple of float
        Where the curves change sides: the first positions at which the other one is ahead.
    ahead : float
        By how much the first curve is above the second at most, 0 if it nowhere is.
    ahead_at : float or None
        The first position where it is above by so much.
    behind : float
        By how much it is below at most, 0 if it nowhere is.
    behind_at : float or None
        The first position where it is below by so much.
    """

    crossings: tuple[float, ...]
    ahead: float
    ahead_at: float | None
    behind: float
    behind_at: float | None

    def __bool__(self) -> bool:
        """Tell whether the first dominates the second."""
        return self.behind == 0


def dominates(
    a: TiedRanks | ArrayLike,
    b: TiedRanks | ArrayLike,
    n_items: ArrayLike | None = None,
    scale: str = "rank",
) -> Dominance:
    r"""Tell whether one recommender is at least as good as another by every metric.

    Recommender a dominates b if at every rank k its share of instances ranked k or better,

    .. math:: F(k) = \frac{1}{|D|} \sum_{x \in D} P(r_x \le k),

    is at least that of b: :math:`F_a \ge F_b`, which is first-order stochastic dominance of the
    ranks, pooled over instances (Lehmann 1955). The mean of every metric that does not rise with
    the rank is then at least as high for a, exactly; and if all instances have the same number of
    items, its expectation from samples of any size is, too. If the curves cross, recall at the
    ranks on both sides of a crossing disagrees.

    Where the numbers of items differ, sampling with replacement (and AUC) looks at the share of
    the other items that stand above, :math:`(r - 1) / (n - 1)`; `scale` "share" compares curves
    over that.

    Parameters
    ----------
    a, b : TiedRanks or array_like of int
        Exact ranks of the two, one relevant item per entry, in any order. Ties count as all the
        ranks that they allow, each equally likely.
    n_items : int or array_like of int, optional
        Number of ranked items, one for all or one per rank, of plain ranks (`TiedRanks` know
        theirs). Needed for the scale "share", and at least 2 there.
    scale : {"rank", "share"}
        What the curves run over: the rank, or the share of other items above.

    Returns
    -------
    Dominance
        True if a dominates b. Positions are ranks, or shares of other items.

    Raises
    ------
    ValueError
        If there are no ranks, a rank is outside 1..n, or "share" misses `n_items`.

    Notes
    -----
    Differences below a millionth of an instance count as none: sums over ties are rounded.

    Examples
    --------
    >>> b, c = [40, 40, 8437, 9266, 4482], [212, 2, 743, 5342, 1548]
    >>> dominates(b, c)
    Dominance(crossings=(40, 743), ahead=0.2, ahead_at=40, behind=0.4, behind_at=1548)
    >>> bool(dominates([1, 2, 3], [2, 3, 4]))
    True
    """
    as_choice("scale", scale, ("rank", "share"))
    places, weights = zip(
        *(_positions(name, given, n_items, scale) for name, given in (("a", a), ("b", b))),
        strict=True,
    )
    # Counts, not shares, are summed: they are whole without ties, and whole numbers add up exactly.
    size_a, size_b = (round(float(weight.sum())) for weight in weights)
    where = np.concatenate(places)
    if scale == "rank" and where.max() < where.size:
        points = np.arange(where.max() + 1)  # no need to sort
    else:
        points, where = np.unique(where, return_inverse=True)
    counts = np.concatenate([size_b * weights[0], -size_a * weights[1]])
    lead = np.cumsum(np.bincount(where, counts)) / (size_a * size_b)
    noise = 1e-6 / max(size_a, size_b)
    lead[np.abs(lead) < noise] = 0
    apart = np.flatnonzero(lead)
    turns = apart[1:][np.diff(np.sign(lead[apart])) != 0]
    ahead, behind = (float((side * lead).max().clip(0)) for side in (1, -1))
    ahead_at, behind_at = (
        points[(side * lead > most - noise).argmax()].item() if most else None
        for side, most in ((1, ahead), (-1, behind))
    )
    return Dominance(tuple(points[turns].tolist()), ahead, ahead_at, behind, behind_at)


def _positions(
    name: str, given: TiedRanks | ArrayLike, n_items: ArrayLike | None, scale: str
) -> tuple[IntArray | FloatArray, FloatArray]:
    """Return where the curve rises, and by how many instances."""
    if isinstance(given, TiedRanks):
        length = given.n_tied + 1
        ends = np.cumsum(length)
        ranks = np.arange(length.sum()) + np.repeat(given.best - (ends - length), length)
        weights, n = np.repeat(1 / length, length), np.repeat(given.n_items, length)
    else:
        ranks = as_integers(name, given).ravel()
        weights, n = np.ones(ranks.size), None
        if n_items is not None:
            n = one_or_one_each("n_items", n_items, np.shape(given), low=1).ravel()
            if (ranks > n).any():
                refuse(name, ranks, ranks > n, "at most n_items")
    if not ranks.size:
        raise ValueError(f"{name} is empty; {name} must hold a rank")
    if scale == "rank":
        return ranks, weights
    if n is None:
        raise ValueError('n_items is None; scale "share" needs the number of ranked items')
    if (n < 2).any():
        refuse("n_items", n, n < 2, 'at least 2 on the scale "share"')
    return (ranks - 1) / (n - 1), weights


class Bounds(NamedTuple):
    """The smallest and the largest value that an exact metric can have."""

    low: float
    high: float


def metric_bounds(
    sampled_ranks: ArrayLike,
    metric: Metric,
    n_items: int,
    n_samples: int,
    replacement: bool = True,
    confidence: float = 0.95,
    shape: str | None = None,
    max_share: float = 1.0,
) -> Bounds:
    r"""Bound the exact metric by what sampled ranks can tell, and no more.

    The cumulative distribution of the sampled rank lies, everywhere at once and with probability
    `confidence`, within

    .. math:: \varepsilon = \sqrt{\frac{1}{2 |D|} \log \frac{2}{1 - \text{confidence}}}

    of the observed one (Dvoretzky, Kiefer & Wolfowitz 1956; Massart 1990). The bounds are those of
    `identified_set` with this band. So with this probability they hold the mean of the metric in
    the population of which the instances are a random sample.

    Parameters
    ----------
    sampled_ranks : array_like of int
        Sampled ranks, one per instance, in 1, ..., ``n_samples + 1``.
    metric : Metric
        The metric, such as ``Recall(k=10)``.
    n_items : int
        Number of ranked items n, at least 2, the same for all instances.
    n_samples : int
        Number of drawn items m, at least 1; without replacement at most ``n_items - 1``.
    replacement : bool
        Whether one item may be drawn twice.
    confidence : float
        Probability of the band, above 0 and below 1.
    shape, max_share
        As in `identified_set`.

    Returns
    -------
    Bounds
        The numbers ``low`` and ``high``.

    Raises
    ------
    ValueError
        If no rank distribution (of the shape) explains the sampled ranks, if there are none or one
        is out of range, `confidence` is not between 0 and 1, or as `identified_set`.

    Examples
    --------
    >>> from sampled_metrics import Recall, sample_ranks
    >>> ranks = np.repeat([1, 20, 400, 1000], 250)
    >>> sampled = sample_ranks(ranks, n_items=1000, n_samples=50, rng=0)
    >>> low, high = metric_bounds(sampled, Recall(k=10), n_items=1000, n_samples=50)
    >>> f"{low:.2f} to {high:.2f}, exactly {Recall(k=10)(ranks).mean():.2f}"
    '0.00 to 0.50, exactly 0.25'
    """
    m = as_integer("n_samples", n_samples)
    sampled = as_integers("sampled_ranks", sampled_ranks, 1, m + 1, "n_samples + 1").ravel()
    if not sampled.size:
        raise ValueError("sampled_ranks is empty; sampled_ranks must hold a rank")
    if as_number("confidence", confidence) >= 1:
        raise ValueError(f"confidence is {confidence}; confidence must be below 1")
    shares = np.bincount(sampled - 1, minlength=m + 1) / sampled.size
    band = float(np.sqrt(np.log(2 / (1 - confidence)) / (2 * sampled.size)))
    return identified_set(shares, metric, n_items, replacement, band, shape, max_share)


def identified_set(
    shares: ArrayLike,
    metric: Metric,
    n_items: int,
    replacement: bool = True,
    band: float = 0.0,
    shape: str | None = None,
    max_share: float = 1.0,
) -> Bounds:
    r"""Bound the exact metric by the distribution of the sampled rank.

    A rank distribution :math:`\pi` on 1, ..., n explains shares :math:`f` of the sampled ranks if

    .. math:: \Big| \sum_{i \le j} \Big( \sum_{r=1}^n \pi(r) P(\tilde r = i \mid r) - f_i \Big)
              \Big| \le \text{band} \quad \text{for } j = 1, \dots, m.

    The bounds are the least and the largest :math:`\sum_r \pi(r) M(r)` of all that do: two linear
    programs, solved by HiGHS (Huangfu & Hall 2018).

    Parameters
    ----------
    shares : array_like of float, shape (n_samples + 1,)
        Probability of each sampled rank, or the share of instances there.
    metric : Metric
        The metric, such as ``Recall(k=10)``.
    n_items : int
        Number of ranked items n, at least 2, the same for all instances.
    replacement : bool
        Whether one item may be drawn twice.
    band : float
        How far the cumulative shares may be off, 0 or above.
    shape : {None, "unimodal", "decreasing"}
        What is assumed of the rank distribution: nothing; that it rises to some rank and falls
        from there; or that it never rises.
    max_share : float
        What is assumed of each single rank: that no larger share of the instances has it.

    Returns
    -------
    Bounds
        The numbers ``low`` and ``high``.

    Raises
    ------
    ValueError
        If no rank distribution (of the shape) explains the shares, if these are no probabilities,
        `n_items` is below 2 or, without replacement, below the number of sampled ranks, or a
        parameter is out of its range.

    Notes
    -----
    The band is widened by the solver's tolerance of 1e-7, so that the bounds are never too narrow;
    those for a band of 0 show it in their third digit. Otherwise they are exact where all ranks
    are looked at: up to 8,192 for a band of 0, and fewer the wider the band. Among more, a
    few thousand ranks stand for all. Interpolating between them widens the band by an error bound,
    a few hundredths of it (more from about a thousand samples on), and the result by the metric's
    own. The mode of "unimodal" is only pinned down to an interval of ranks, each twice as long as
    the one before, in which the distribution may do as it likes.

    Examples
    --------
    With one sample, all there is to know is how often the relevant item came first.

    >>> from sampled_metrics import AUC, Recall
    >>> low, high = identified_set([0.9, 0.1], AUC(), n_items=1000)
    >>> round(low, 6), round(high, 6)
    (0.9, 0.9)
    >>> low, high = identified_set([0.9, 0.1], Recall(k=10), n_items=1000)
    >>> round(low, 6), round(high, 6)
    (0.0, 0.908182)
    """
    f = as_probabilities("shares", shares)
    if f.size < 2:
        raise ValueError(f"shares has shape {f.shape}; it must have at least two entries")
    f = f / f.sum()  # exactly 1: the solver is stricter than the check
    n, m = as_integer("n_items", n_items, low=2), len(f) - 1
    as_draw(1, n, m, replacement)
    band = as_number("band", band, zero=True)
    if shape is not None:
        as_choice("shape", shape, ("unimodal", "decreasing"))
    if as_number("max_share", max_share) > 1:
        raise ValueError(f"max_share is {max_share}; max_share must be at most 1")

    nodes = _nodes(n, m, metric.k, band)
    error = _interpolation_error(nodes, n, m, replacement)
    low, high = (np.cumsum(f)[:-1] + side * (band + error + SLACK) for side in (-1, 1))
    ranks = np.arange(1, n + 1)
    exact = metric(ranks, n_items=n)
    rest = exact - np.interp(ranks, nodes, exact[nodes - 1])

    # A rank between two nodes counts for both, the nearer one more: a node's length is what it
    # gets from all ranks, and its density the share that it gets of all instances over that.
    # Linear interpolation keeps shapes: where densities of ranks only fall, so do those of nodes.
    steps = np.diff(nodes, prepend=0, append=n + 1)
    lengths = (steps[:-1] + steps[1:]) / 2
    p = rank_distribution(nodes, n, m, replacement)[:, :-1]
    table = np.column_stack([p, exact[nodes - 1]])
    found = [
        value
        for start, stop in _modes(shape, len(nodes))
        for value in _extremes(table, lengths, start, stop, low, high, max_share)
    ]
    if not found:
        raise ValueError(
            f"no {shape + ' ' if shape else ''}distribution of the ranks 1, ..., {n} explains the "
            "sampled ranks; check n_items and replacement, or assume less"
        )
    return Bounds(
        float(max(min(found) + min(rest.min(), 0.0), exact.min())),
        float(min(max(found) + max(rest.max(), 0.0), exact.max())),
    )


def _nodes(n: int, m: int, cut: int | None, band: float) -> IntArray:
    """Choose ranks: all, or so many that interpolation costs a few hundredths of the band."""
    most = MAX_NODES if band == 0 else min(MAX_NODES, int(np.sqrt(100 * m / band)))
    if n <= max(most, HEAD):
        return np.arange(1, n + 1)
    # Equal steps in units of the sampled rank's standard deviation; and at the top, where the
    # metrics bend, steps of up to a 32nd of the rank.
    even = 1 + (n - 1) * np.sin(np.linspace(0, np.pi / 2, most)) ** 2
    top = np.geomspace(HEAD, n, int(32 * np.log(n / HEAD)) + 2)
    step = [] if cut is None else [min(cut, n), min(cut + 1, n)]
    grid = np.concatenate([np.arange(1, HEAD), top, even, step])
    return np.unique(np.rint(grid).astype(np.int64))


def _interpolation_error(nodes: IntArray, n: int, m: int, replacement: bool) -> FloatArray:
    """Bound the error of interpolating P(sampled rank <= j | r) between nodes, for j = 1, ..., m.

    A function whose slope stays between two numbers leaves its chord over a step of length h by at
    most h / 4 times their difference. Here the slope at r is, but for its sign, m / (n - 1) times
    the probability that m - 1 draws leave the item at rank j; as r grows it rises, then falls.
    """
    steps = np.diff(nodes)
    if m == 1 or (steps == 1).all():
        return np.zeros(m)
    others = n if replacement else n - 1
    peaks = 1 + (n - 1) * np.arange(m) / (m - 1)
    if not replacement:
        peaks = np.floor(peaks)
    slope, peak = (
        m / (n - 1) * distribution(np.minimum(at, others), others, m - 1, replacement)
        for at in (nodes, peaks)
    )
    inside = (nodes[:-1, None] < peaks) & (peaks < nodes[1:, None])
    steepest = np.where(inside, np.diag(peak), np.maximum(slope[:-1], slope[1:]))
    flattest = np.minimum(slope[:-1], slope[1:])
    weight = np.where(steps > 1, steps / 4, 0)
    error: FloatArray = (weight[:, None] * (steepest - flattest)).max(axis=0)
    return error


def _modes(shape: str | None, size: int) -> list[tuple[int, int]]:
    """Return intervals of nodes: densities rise before, do as they like within, and fall behind.

    Also where the interval is empty, the mode may be the last node before or the first behind.
    """
    if shape is None:
        return [(0, size)]
    if shape == "decreasing":
        return [(0, 0)]
    edges = [0, *(2**i for i in range(1, size.bit_length()) if 2**i < size), size]
    return [(first + 1, max(first + 1, last - 1)) for first, last in pairwise(edges)]


def _extremes(
    table: FloatArray,
    lengths: FloatArray,
    start: int,
    stop: int,
    low: FloatArray,
    high: FloatArray,
    max_share: float,
) -> list[float]:
    """Return the least and the largest mean of the metric, or nothing where none is possible.

    What rises up to a node is a mixture of uniform distributions that end there, what falls from
    a node on is one of those that begin there. So the unknowns are the shares of such atoms and of
    single nodes, and the cumulative probabilities of the sampled ranks 1, ..., m.
    """

    def atoms(values: FloatArray) -> FloatArray:
        rising, falling = values[:start][::-1].cumsum(axis=0), values[stop:].cumsum(axis=0)
        return np.concatenate([rising, values[start:stop], falling])

    size = atoms(lengths)
    rows = atoms(table * lengths[:, None]) / size[:, None]
    n_atoms, m = len(size), len(low)
    place = np.arange(n_atoms)
    single = (start <= place) & (place < stop)
    peaks = np.array([place < start, place >= stop]) / size  # densities where they are highest
    difference = np.eye(m, k=-1) - np.eye(m)
    upper = np.where(single, np.minimum(max_share * size, 1), 1)
    program: dict[str, Any] = {
        "A_eq": np.block([[rows[:, :-1].T, difference], [np.ones(n_atoms), np.zeros(m)]]),
        "b_eq": np.append(np.zeros(m), 1),
        "A_ub": np.pad(peaks, ((0, 0), (0, m))),
        "b_ub": [max_share, max_share],
        "bounds": np.column_stack([np.append(np.zeros(n_atoms), low), np.append(upper, high)]),
    }
    found = []
    for sign in (1, -1):
        cost = np.append(sign * rows[:, -1], np.zeros(m))
        for method in METHODS:
            solution: Any = linprog(
                cost, method=method, options={"maxiter": 20 * len(cost)}, **program
            )
            if solution.status in (0, 2):
                break
        if solution.status == 2:
            return []
        if solution.status:
            raise RuntimeError(f"HiGHS could not solve a linear program: {solution.message}")
        found.append(sign * solution.fun)
    return found
