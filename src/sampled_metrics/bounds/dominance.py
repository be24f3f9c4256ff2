"""Which of two recommenders is at least as good by every metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._arguments import FloatArray, IntArray, as_choice, refuse
from sampled_metrics.ranks import Ranks, as_ranks, check_all_ranked, check_exact, ranges
from sampled_metrics.sampling import check_single

PIECE = 2**20  # steps of the curves that are in memory at once, about


@dataclass(frozen=True)
class Dominance:
    """How the cumulative curves of two recommenders compare.

    As a truth value it is True if the first curve is nowhere below the second.

    Parameters
    ----------
    crossings : tuple of float
        Where the lead changes: the first positions at which the other curve is ahead.
    ahead : float
        The largest distance of the first curve above the second; 0 if it is never above.
    ahead_at : float or None
        The first position with this distance.
    behind : float
        The largest distance of the first curve below the second; 0 if it is never below.
    behind_at : float or None
        The first position with that distance.
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
    a: Ranks | ArrayLike,
    b: Ranks | ArrayLike,
    *,
    n_items: ArrayLike | None = None,
    scale: Literal["rank", "share"] = "rank",
) -> Dominance:
    r"""Tell whether one recommender is at least as good as another by every metric.

    Recommender a dominates b if at every rank k its share of instances ranked k or better,

    .. math:: F(k) = \frac{1}{|D|} \sum_{x \in D} P(r_x \le k),

    is at least that of b: :math:`F_a \ge F_b`, which is first-order stochastic dominance of the
    ranks, pooled over instances (Lehmann 1955). Then every metric that does not rise with the rank
    has an exact mean that is at least as high for a, and so, if all instances have the same number
    of items, has its expectation from uniform samples of any size (not from a `WeightedDraw`). If
    the curves cross, recall at the ranks on both sides of a crossing disagrees.

    If the numbers of items differ, sampling with replacement (and AUC) depends on the share of the
    other items that are above, :math:`(r - 1) / (n - 1)`. The `scale` "share" compares curves over
    this share.

    Parameters
    ----------
    a, b : Ranks or array_like of int
        Exact ranks of the two, one relevant item per instance, in any order. A tied item counts at
        all ranks that it can have, each equally likely.
    n_items : int or array_like of int, optional
        Number of ranked items, one for all or one per rank, if the ranks do not know it. Only the
        scale "share" needs it.
    scale : {"rank", "share"}
        The positions along the curves: the rank, or the share of other items above.

    Returns
    -------
    Dominance
        True if a dominates b. Positions are ranks, or shares of other items.

    Raises
    ------
    ValueError
        If there are no ranks, a rank is outside 1..n, an instance does not have exactly one
        relevant item, or `n_items` is missing for the scale "share", or below 2 there.

    Notes
    -----
    Differences below a millionth of an instance count as none: sums over ties are rounded. Time and
    memory grow with the number of instances; on the scale "share", with the ranks of ties, too.

    Examples
    --------
    >>> b, c = [40, 40, 8437, 9266, 4482], [212, 2, 743, 5342, 1548]
    >>> dominates(b, c)
    Dominance(crossings=(40, 743), ahead=0.2, ahead_at=40, behind=0.4, behind_at=1548)
    """
    as_choice("scale", scale, ("rank", "share"))
    both = [_runs(name, x, n_items, scale) for name, x in (("a", a), ("b", b))]
    size_a, size_b = (len(first) for first, *_ in both)
    first, length, others = map(np.concatenate, zip(*both, strict=True))
    # Counts, not shares, are summed: they are whole without ties, and whole numbers add up exactly.
    runs = _Runs(first, length, others, np.repeat([size_b, -size_a], [size_a, size_b]) / length)
    noise = 1e-6 * min(size_a, size_b)
    if scale == "share" and (runs.others != runs.others[0]).any():
        points, lead = _lead_over_shares(runs, noise)
    else:
        points, lead = _lead_over_ranks(runs, noise)
        points = points if scale == "rank" else (points - 1) / runs.others[0]
    found: list[Any] = []
    for side in (1, -1):
        most = float((side * lead).max())
        at = points[(side * lead > most - noise).argmax()].item()
        found += [0.0, None] if most < noise else [most / (size_a * size_b), at]
    return Dominance(tuple(points[_turns(lead, noise)[1:]].tolist()), *found)


class _Runs(NamedTuple):
    """Ranks first, ..., first + length - 1 of each instance, where the curve rises by `height`."""

    first: IntArray
    length: IntArray
    others: IntArray  # number of other items, 1 where nobody needs it
    height: FloatArray


def _runs(
    name: str, given: Ranks | ArrayLike, n_items: ArrayLike | None, scale: str
) -> tuple[IntArray, IntArray, IntArray]:
    """Return where the curve of one recommender rises, or say what is missing."""
    rows, _ = as_ranks(given, n_items, name)
    check_exact(name, rows)
    check_all_ranked(name, rows)
    check_single(name, rows)
    first, length, n = rows.best, rows.n_tied + 1, rows.n_items
    if not first.size:
        raise ValueError(f"{name} is empty; {name} must hold a rank")
    if scale == "rank":
        return first, length, np.ones_like(first)
    if n is None:
        raise ValueError('n_items is None; scale "share" needs the number of ranked items')
    refuse("n_items", n, n < 2, 'at least 2 on the scale "share"')
    return first, length, n - 1


def _lead_over_ranks(runs: _Runs, noise: float) -> tuple[NDArray[Any], FloatArray]:
    """Return ranks, ascending, and the lead there: all that is needed to know it everywhere.

    Between the ranks where a run begins or is over, the lead changes evenly: the first and the last
    of them suffice, and the rank where the other side gets ahead.
    """
    ends = np.concatenate([runs.first, runs.first + runs.length])
    starts, where = np.unique(ends, return_inverse=True)
    slope = np.cumsum(np.bincount(where, np.concatenate([runs.height, -runs.height])))[:-1]
    last = np.diff(starts) - 1  # steps from the first to the last rank of a piece
    lead_last = np.cumsum(slope * (last + 1))
    lead_first = lead_last - slope * last
    with np.errstate(divide="ignore"):  # steps to the first rank where who gains is ahead
        turn = np.floor((noise - np.sign(slope) * lead_first) / np.abs(slope)) + 1
    turn = turn.clip(0, last).astype(np.int64)
    steps = np.stack([np.zeros_like(last), turn, last], axis=1)
    lead = np.stack([lead_first, lead_first + slope * turn, lead_last], axis=1)
    return (starts[:-1, None] + steps).ravel(), lead.ravel()


def _lead_over_shares(runs: _Runs, noise: float) -> tuple[NDArray[Any], FloatArray]:
    """Return shares, ascending, and the lead there, for numbers of items that differ.

    Each rank of a run is a step at a share of its own. They are listed for a part of the shares at
    a time, as memory allows, and of each part the turning points are kept.
    """

    def steps_below(share: float) -> IntArray:
        # Shares are halved, again and again, from 2 on: their products with integers are exact.
        below: IntArray = np.ceil(share * runs.others).astype(np.int64) - (runs.first - 1)
        return below.clip(0, runs.length)

    parts, lead, lists = [(0.0, 2.0)], 0.0, []
    while parts:
        start, stop = parts.pop()
        before = steps_below(start)
        count = steps_below(stop) - before
        if count.sum() > PIECE and count.max() > 1:
            parts += [((start + stop) / 2, stop), (start, (start + stop) / 2)]
            continue
        run = np.repeat(np.arange(len(count)), count)
        shares = ranges(runs.first - 1 + before, count) / runs.others[run]
        points, where = np.unique(shares, return_inverse=True)
        leads = lead + np.cumsum(np.bincount(where, runs.height[run]))
        if leads.size:
            lead = leads[-1]
            ends = [(side * leads > (side * leads).max() - noise).argmax() for side in (1, -1)]
            kept = np.unique([*_turns(leads, noise), *ends])
            lists.append((points[kept], leads[kept]))
    return np.concatenate([x for x, _ in lists]), np.concatenate([y for _, y in lists])


def _turns(lead: NDArray[Any], noise: float) -> IntArray:
    """Return where either side is ahead for the first time since the other one was, or at all."""
    apart = np.flatnonzero(np.abs(lead) >= noise)
    turned: IntArray = apart[np.diff(np.sign(lead[apart]), prepend=0) != 0]
    return turned
