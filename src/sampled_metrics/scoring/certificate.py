"""Between which values the exact mean of a metric is for sure, before all scores are computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sampled_metrics._arguments import FloatArray, IntArray, as_flag, as_integer, as_kind, as_number
from sampled_metrics.metrics import Metric
from sampled_metrics.ranks import gathered
from sampled_metrics.scoring._walk import FIRST, Walk
from sampled_metrics.scoring.scoring import MOST_INSTANCES, candidates_of, walker
from sampled_metrics.scoring.split import Split

if TYPE_CHECKING:
    from sampled_metrics.scoring.scoring import SetOfPairs


@dataclass(frozen=True)
class Certificate:
    """An interval that holds the exact mean of a metric, and what it cost.

    Attributes
    ----------
    low, high : float
        The mean over users, computed from all scores, is neither below nor above. They are equal
        once every rank is known. No probability is involved; both are sums in float64, whose
        rounding is not in them.
    n_scores : int
        Number of scores that were computed.
    """

    low: float
    high: float
    n_scores: int


def certify(
    model: Any,
    split: Split,
    metric: Metric,
    *,
    width: float | None = None,
    max_scores: int | None = None,
    exclude: SetOfPairs | None = None,
    candidates: SetOfPairs | None = None,
    progress: bool = True,
) -> Certificate:
    r"""Enclose the exact mean of a metric, with or without a cutoff, by a part of the scores.

    Where a of a user's candidates are known to be above the held-out item, t level with it, and m
    not scored yet, its rank is between a + 1 and a + 1 + t + m. A metric that never rises with the
    rank is largest at the first and smallest at the last, and so is its mean over users:

    .. math:: \frac{1}{n} \sum_x M(a_x + 1 + t_x + m_x) \le \bar M
              \le \frac{1}{n} \sum_x M(a_x + 1).

    A user is finished when m = 0, when nothing that is left can reach the held-out item, or when
    its rank is beyond the cutoff of the metric; `Ranks.from_model` says how. All others are scored
    on, one block of candidates after the other, likely winners first.

    Parameters
    ----------
    model : InnerProduct or model of pairs
        What can give a part of the scores: an `InnerProduct`, or an object with a method
        ``scores(users, items)``, as in `Ranks.from_model`.
    split : Split
        The training events, and one held-out item for each evaluated user.
    metric : Metric
        A metric that never rises with the rank of the held-out item.
    width : float, optional
        The interval is short enough when `high` - `low` is at most this.
    max_scores : int, optional
        So many scores may be computed, at least one for each held-out item; it stops before the
        block that may go beyond. By default, and without `width`, it goes on until the exact value
        is known.
    exclude, candidates : table, path, dict or sparse matrix, optional
        As in `Ranks.from_model`.
    progress : bool
        Whether a run of more than two seconds shows a progress bar, of finished users.

    Returns
    -------
    Certificate

    Raises
    ------
    ValueError
        If the model gives nothing but all scores of a user at once; if a user has several held-out
        items, or nobody has one; if the metric rises with the rank somewhere; or as in
        `Ranks.from_model`.

    Examples
    --------
    >>> from sampled_metrics import InnerProduct, ReciprocalRank
    >>> rng = np.random.default_rng(0)
    >>> users, items = rng.standard_normal((50, 8)), rng.standard_normal((2000, 8))
    >>> model = InnerProduct(users, items)
    >>> split = Split.from_pairs([0], [0], np.arange(50), np.arange(1, 51), n_items=2000)
    >>> part, whole = (certify(model, split, ReciprocalRank(), width=w) for w in (0.01, 0))
    >>> part.low <= whole.low == whole.high <= part.high <= part.low + 0.01
    True
    >>> part.n_scores < whole.n_scores < 50 * 2000
    True
    """
    from tqdm import tqdm

    as_kind("split", split, Split, "Split.from_pairs(...)")
    as_kind("metric", metric, Metric, "ReciprocalRank()")
    enough = 0.0 if width is None else as_number("width", width, zero=True)
    budget = None if max_scores is None else as_integer("max_scores", max_scores, len(split.users))
    silent = not as_flag("progress", progress)
    _check_one_each(split)
    rule = candidates_of(split, exclude, candidates)
    begin = walker(model, split, rule, metric.k)
    if begin is None:
        raise ValueError(
            f"model is of type {type(model).__name__}, which gives all scores of a user at once; "
            "model must be an InnerProduct or have a method scores(users, items), or use "
            "Ranks.from_model"
        )
    by_user = np.argsort(split.users, kind="stable")
    n_items = rule.sizes(split.users[by_user])
    _check_never_rises(metric, n_items)
    starts = range(0, len(by_user), MOST_INSTANCES)
    walks = [begin(by_user[start : start + MOST_INSTANCES]) for start in starts]
    for way in walks:
        way.width = FIRST  # a short step may be enough
    with tqdm(total=len(by_user), desc="certifying", delay=2, disable=silent) as bar:
        while True:
            low, high = _interval(walks, metric, n_items)
            n_scores, live = sum(way.n_scores for way in walks), [w for w in walks if len(w.live)]
            bar.update(len(by_user) - sum(len(way.live) for way in live) - bar.n)
            cost = sum(len(way.live) * (way.next_end() - way.at) for way in live)
            if not live or high - low <= enough or (budget and n_scores + cost > budget):
                return Certificate(low, high, n_scores)
            for way in live:
                way.step()


def _interval(walks: list[Walk], metric: Metric, n_items: IntArray) -> tuple[float, float]:
    """Return the means of the smallest and of the largest values that are still possible."""
    best, worst, tied = [], [], []
    for way in walks:
        left, level = np.zeros_like(way.above), way.level.copy()
        left[way.live] = (way.left() + level)[way.live]
        level[way.live] = 0
        level[way.above >= way.limit] = 0  # beyond the cutoff, where it was not counted to the end
        best.append(way.above + 1)
        worst.append(way.above + 1 + left)
        tied.append(level)
    return _mean(metric, worst, tied, n_items), _mean(metric, best, tied, n_items)


def _mean(metric: Metric, ranks: list[IntArray], tied: list[IntArray], n_items: IntArray) -> float:
    values: FloatArray = metric(
        gathered(np.concatenate(ranks), np.concatenate(tied), None, n_items=n_items)
    )
    return float(values.mean())


def _check_one_each(split: Split) -> None:
    if not len(split.users):
        raise ValueError("split holds out no item; give one for at least one user")
    counts = np.bincount(split.users)
    for user in np.flatnonzero(counts > 1)[:1]:
        name = user if split.user_names is None else split.user_names[user]
        raise ValueError(
            f"split holds out {counts[user]} items of user {name}; certify needs one for each "
            "user: split them, or use Ranks.from_model"
        )


def _check_never_rises(metric: Metric, n_items: IntArray) -> None:
    sizes = np.unique(n_items)
    # The metrics of this package fall in the same way at every size; others may depend on it.
    ours = type(metric).__module__ == Metric.__module__
    for n in sizes[-1:] if ours else sizes:
        values = metric(np.arange(1, n + 1), n_items=n)
        for at in np.flatnonzero(~(np.diff(values) <= 0))[:1]:
            raise ValueError(
                f"{metric} is {values[at]} at rank {at + 1} and {values[at + 1]} at rank {at + 2}; "
                "certify needs a metric that never rises with the rank"
            )
