"""What several test files share: lists of metrics and estimators, and slow definitions of them.

A metric or an estimator that is added to a list here runs through all generic tests. Slow
definitions enumerate: every position, every sample, every way to break ties, every rank.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations, product
from math import comb
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from scipy.optimize import lsq_linear

from sampled_metrics import (
    AUC,
    F1,
    NDCG,
    AveragePrecision,
    BiasVariance,
    HitRate,
    Metric,
    Precision,
    RankEstimate,
    Ranks,
    Recall,
    ReciprocalRank,
    Uncorrected,
    evaluate,
    simulate,
)
from sampled_metrics._arguments import as_users
from sampled_metrics.corrections import (
    ConstrainedLeastSquares,
    Estimator,
    Multinomial,
)
from sampled_metrics.ranks import trusted

T = TypeVar("T")

DATA = Path(__file__).parents[1] / "book" / "data"
FOLDER_VARIABLE = "SAMPLED_METRICS_DATA"  # names the reader's own folder of data

# The toy example of the paper, where n = 10,000.
TOY = {
    "A": [100, 100, 100, 100, 100],
    "B": [40, 40, 8437, 9266, 4482],
    "C": [212, 2, 743, 5342, 1548],
}


def known(value: T | None) -> T:
    """What may be None elsewhere, and is not None here."""
    assert value is not None
    return value


# --- metrics and estimators of one's own, written with nothing but the public contract


@dataclass(frozen=True)
class RankBiasedPrecision(Metric):
    """Moffat & Zobel 2008: a reader goes on to the next item with probability p."""

    symbol = "RBP"
    k: int | None = None
    p: float = 0.8
    share: Literal["one", "relevant"] = "one"

    def gain(self, rank, order, n_relevant, n_items):
        return (1 - self.p) * self.p ** (rank - 1)

    def normalizer(self, ranks):
        return 1 if self.share == "one" else ranks.n_relevant


@dataclass(frozen=True)
class Percentile(Metric):
    """The mean share of the items that are not above a relevant one."""

    symbol = "Percentile"
    needs_n_items = True
    k: int | None = None

    def gain(self, rank, order, n_relevant, n_items):
        return 1 - (rank - 1) / n_items

    def normalizer(self, ranks):
        return ranks.n_relevant


@dataclass(frozen=True, eq=False)
class Clipped(Estimator):
    """The estimates of `BiasVariance` where they are possible values."""

    gamma: float

    def solve(self, problem):
        return BiasVariance(self.gamma).solve(problem).clip(0, 1)


@dataclass(frozen=True, eq=False)
class Halfway(Estimator):
    """Between the metric of the sampled rank and its mean over the exact ranks that lead there."""

    def solve(self, problem):
        weights, p, exact = problem.design
        return (problem.sampled_values() + p.T @ (weights * exact) / (p.T @ weights)) / 2


METRICS = [
    AUC(),
    Precision(k=3),
    Recall(k=3),
    Recall(k=3, denominator="capped"),
    F1(k=3),
    AveragePrecision(),
    AveragePrecision(k=3),
    AveragePrecision(k=3, denominator="relevant"),
    AveragePrecision(k=3, denominator="hits"),
    HitRate(k=3),
    ReciprocalRank(),
    ReciprocalRank(k=3),
    NDCG(),
    NDCG(k=3),
    NDCG(k=3, gains="exponential"),
    NDCG(k=3, ideal="hits"),
    NDCG(k=3, ideal="full"),
    RankBiasedPrecision(),
    RankBiasedPrecision(k=3, share="relevant"),
    Percentile(),
]
# What no worse ranking can beat: not so where the divisor looks at the hits.
MONOTONE = [m for m in METRICS if "hits" not in str(m)]
# What is a sum over the relevant items, divided by a number that does not depend on their ranks.
SUMS = MONOTONE
# For tests with hundreds of items: what papers report, and the same with more cutoffs.
USUAL = [Recall(k=10), NDCG(k=10), AveragePrecision(), AUC()]
MORE_CUTOFFS = [Recall(k=1), Recall(k=50), *USUAL]

ESTIMATORS = [
    Uncorrected(),
    RankEstimate(),
    RankEstimate("m+1", interpolation="linear"),
    BiasVariance(0),
    ConstrainedLeastSquares(),
    ConstrainedLeastSquares(non_negative=False),
    BiasVariance(1),
    BiasVariance(0.1),
    BiasVariance(1e-6),
    Multinomial(n_users=50),
    Clipped(0.1),
    Halfway(),
]


# --- metrics, position by position


def by_definition(metric, ranks, n):
    """The definitions of Section 3 of the paper, of one instance with ranks of equal relevance."""
    k = n if metric.k is None else metric.k
    hits = [r for r in sorted(ranks) if r <= k]
    q = len(ranks)
    if not q:
        return np.nan

    def precision(i):
        return sum(r <= i for r in ranks) / i

    def discount(count):
        return sum(1 / np.log2(i + 1) for i in range(1, count + 1))

    match metric:
        case AUC():
            others = set(range(1, n + 1)) - set(ranks)
            pairs = q * len(others)
            return sum(r < o for r in ranks for o in others) / pairs if pairs else np.nan
        case Precision():
            return precision(k)
        case Recall():
            return len(hits) / (min(q, k) if metric.denominator == "capped" else q)
        case F1():
            p, r = precision(k), len(hits) / q
            return 2 * p * r / (p + r) if p + r else 0
        case AveragePrecision():
            divisor = {"capped": min(q, k), "relevant": q, "hits": max(len(hits), 1)}
            return sum(precision(i) for i in hits) / divisor[metric.denominator]
        case HitRate():
            return float(bool(hits))
        case ReciprocalRank():
            return 1 / hits[0] if hits else 0
        case NDCG():
            ideal = {"relevant": min(q, k), "hits": max(len(hits), 1), "full": k}
            return sum(1 / np.log2(r + 1) for r in hits) / discount(ideal[metric.ideal])
        case RankBiasedPrecision():
            z = 1 if metric.share == "one" else q
            return sum((1 - metric.p) * metric.p ** (r - 1) for r in hits) / z
        case Percentile():
            return sum(1 - (r - 1) / n for r in hits) / q
    raise NotImplementedError(f"say what {metric} is")


def the_part(metric, order, rank, q, n):
    """What the best, second best, ... of q items adds: the gain up to k, over the normalizer."""
    if metric.k is not None and rank > metric.k:
        return 0.0
    some = Ranks.from_lists([range(1, q + 1)], n_items=n)
    gain, z = metric.gain(rank, order, q, n), metric.normalizer(some)
    return float(np.squeeze(gain)) / float(np.squeeze(z))


def the_term(metric, j, q, n):
    """What the j-th best of q items adds at its ranks j, ..., n - q + j."""
    return np.array([the_part(metric, j, r, q, n) for r in range(j, n - q + j + 1)])


# --- samples


def every_sample(n, m, replacement, n_relevant=1):
    """All equally likely samples of m of the irrelevant items, which are numbered from 0."""
    others = range(n - n_relevant)
    return product(others, repeat=m) if replacement else combinations(others, m)


def enumerated_pmf(rank, n, m, replacement):
    """Rank the relevant item among every sample; the items 0, ..., rank - 2 are above it."""
    samples = every_sample(n, m, replacement)
    counts = Counter(1 + sum(item < rank - 1 for item in sample) for sample in samples)
    return np.array([counts[i] for i in range(1, m + 2)]) / counts.total()


def ways(rank, n, m, replacement):
    """The number of samples with 0, ..., m items above the relevant one, and of all, in integers.

    Python divides integers of any size to the nearest float.
    """
    above, below = int(rank) - 1, int(n) - int(rank)
    if replacement:
        counts = [comb(m, h) * above**h * below ** (m - h) for h in range(m + 1)]
        return counts, (above + below) ** m
    counts = [comb(above, h) * comb(below, m - h) for h in range(m + 1)]
    return counts, comb(above + below, m)


def exact_pmf(rank, n, m, replacement):
    counts, total = ways(rank, n, m, replacement)
    return np.array([count / total for count in counts])


def exact_pmf_of_tie(best, n_tied, n, m, replacement):
    """The mean over the ranks best, ..., best + n_tied, in integers, for ties of any length.

    The number of samples is a polynomial of degree m in the rank, and Newton's forward differences
    sum a polynomial over any number of ranks.
    """
    length = int(n_tied) + 1
    few = range(min(length, m + 1))
    rows = np.array([ways(best + i, n, m, replacement)[0] for i in few], dtype=object)
    total = ways(best, n, m, replacement)[1] * length
    counts: Any = 0
    for j in few:
        counts = counts + comb(length, j + 1) * rows[0]
        rows = np.diff(rows, axis=0)
    return np.array([int(count) / total for count in counts])


def every_sampled_rank(ranks, n, m, replacement):
    """The sampled ranks of one instance in all equally likely samples, a row for each sample."""
    ranks = np.array(ranks)
    others = np.setdiff1d(np.arange(1, n + 1), ranks)
    samples = product(others, repeat=m) if replacement else combinations(others, m)
    above = np.array(list(samples)).reshape(-1, m)[:, :, None] < ranks
    return np.arange(1, len(ranks) + 1) + above.sum(axis=1)


def each_sample(ranks, n, m, replacement, gains=None):
    """The same as Ranks of one instance per sample, which know their number of items."""
    rows = every_sampled_rank(ranks, n, m, replacement)
    return Ranks.from_lists(rows, None if gains is None else [gains] * len(rows), m + len(ranks))


# --- ties


def tied_places(tied):
    """The ranks that each entry of a Ranks may have."""
    return [range(b, b + t + 1) for b, t in zip(tied.best.tolist(), tied.n_tied, strict=True)]


def ways_of_user(tied, user):
    """All equally likely ways to rank the entries of one user, a row of ranks for each way."""
    entries = np.flatnonzero(tied.users[tied.instance] == user)
    places = tied_places(tied)
    blocks: dict[range, list[int]] = {}
    for entry in entries.tolist():
        blocks.setdefault(places[entry], []).append(entry)
    rows = []
    for choice in product(*(permutations(block, len(blocks[block])) for block in blocks)):
        ranks: dict[int, int] = {}
        for block, chosen in zip(blocks, choice, strict=True):
            ranks.update(zip(blocks[block], chosen, strict=True))
        rows.append([ranks[entry] for entry in entries.tolist()])
    return np.array(rows)


# --- fits, with a row for each exact rank


def all_ranks(metric, draw, prior=None):
    """Equation 21 with a row for each of the n ranks: P(i | r), M(r) and p(r)."""
    n = draw.n_items
    p = np.full(n, 1 / n) if prior is None else np.asarray(prior)
    exact = metric(np.arange(1, n + 1), n_items=n)
    return draw.pmf(np.arange(1, n + 1)), exact, p


def objective(values, gamma, rows):
    """Equation 24: squared bias and gamma times variance, averaged over the prior."""
    p_sampled, exact, prior = rows
    mean = p_sampled @ values
    variance = p_sampled @ values**2 - mean**2
    return prior @ ((mean - exact) ** 2 + gamma * variance)


def equation_25(gamma, rows):
    p_sampled, exact, prior = rows
    weighted = p_sampled.T * prior
    matrix = (1 - gamma) * weighted @ p_sampled + gamma * np.diag(weighted.sum(axis=1))
    return np.linalg.solve(matrix, weighted @ exact)


def least_squares(rows):
    p_sampled, exact, prior = rows
    root = np.sqrt(prior)
    return np.linalg.lstsq(root[:, None] * p_sampled, root * exact)[0]


def constrained(rows, non_negative):
    """Bounds on the differences of neighbors, by an interior method."""
    p_sampled, exact, prior = rows
    size, root = p_sampled.shape[1], np.sqrt(prior)
    sums = np.triu(np.ones((size, size)))
    lowest = np.append(np.zeros(size - 1), 0 if non_negative else -np.inf)
    design = root[:, None] * (p_sampled @ sums)
    solved = lsq_linear(design, root * exact, (lowest, np.inf), method="trf", tol=1e-15)
    return sums @ solved.x


def part_by_part(n_users, rows):
    """Squared bias weighted by the prior, and 1 / n_users times the variance of every rank."""
    p_sampled, exact, prior = rows
    weighted = p_sampled.T * prior
    spread = np.diag(p_sampled.sum(axis=0)) - p_sampled.T @ p_sampled
    return np.linalg.solve(weighted @ p_sampled + spread / n_users, weighted @ exact)


def scaled_up(estimator, exact, n, m):
    """Equation 20: the metric at rank 1 + (n - 1)(i - 1) / d, rounded down or on a line."""
    d = m if estimator.divisor == "m" else m + 1
    found = []
    for i in range(1, m + 2):
        rank = 1 + Fraction((n - 1) * (i - 1), d)
        floor = int(rank)
        share = float(rank - floor) if estimator.interpolation == "linear" else 0.0
        found.append((1 - share) * exact[floor - 1] + share * exact[min(floor, n - 1)])
    return np.array(found)


def solved_slowly(estimator, sampled, rows):
    """What an estimator makes of a metric with these values at all sampled and exact ranks."""
    p_sampled, exact, prior = rows
    match estimator:
        case Uncorrected():
            return sampled
        case RankEstimate():
            return scaled_up(estimator, exact, len(exact), len(sampled) - 1)
        case BiasVariance(gamma=0):
            return least_squares(rows)
        case ConstrainedLeastSquares():
            return constrained(rows, estimator.non_negative)
        case BiasVariance():
            return equation_25(estimator.gamma, rows)
        case Multinomial():
            return part_by_part(estimator.n_users, rows)
        case Clipped():
            return equation_25(estimator.gamma, rows).clip(0, 1)
        case Halfway():
            posterior = p_sampled.T * prior
            return (sampled + posterior @ exact / posterior.sum(axis=1)) / 2
    raise NotImplementedError(f"say what {estimator} solves")


def fitted_slowly(estimator, metric, draw):
    """The table of an estimator, from a row for each exact rank; `draw` has one n_items."""
    m = draw.n_samples
    sampled = metric(np.arange(1, m + 2), n_items=m + 1)
    return solved_slowly(estimator, sampled, all_ranks(metric, draw, estimator.prior))


def exact_values(ranks, metrics, **how):
    """Return the exact means of `evaluate`: recommender, metric, value."""
    table = evaluate(ranks, metrics, **how).table
    return table[["recommender", "metric", "value"]]


def expected_values(ranks, metrics, draw, estimators, **how):
    """Return what `evaluate` expects of a draw: recommender, metric, estimator, value."""
    table = evaluate(ranks, metrics, draw, estimators=estimators, **how).table
    drawn = table[table["estimator"] != "exact"].reset_index(drop=True)
    return drawn[["recommender", "metric", "estimator", "value"]]


def runs_of(ranks, metrics, draw, estimators, **how):
    """Simulate, with the estimators by their place."""
    return simulate(ranks, metrics, draw, estimators=estimators, **how)


def flat(best, offsets, n_relevant, n_predicted=None, gains=None, ideal_gains=None, **more):
    """Return ranks from flat arrays: also of items that were never ranked."""
    counts = np.asarray(n_relevant, dtype=np.int64)
    given = {"n_predicted": n_predicted, "gains": gains, "ideal_gains": ideal_gains, **more}
    made = {name: np.asarray(each) for name, each in given.items() if each is not None}
    for name in made.keys() & {"n_items", "n_predicted"}:
        made[name] = np.broadcast_to(made[name], counts.shape).astype(np.int64)
    for name in made.keys() & {"gains", "ideal_gains"}:
        made[name] = made[name].astype(np.float64)
    if "users" in made:
        made["users"] = as_users("users", more["users"], counts.shape, "n_relevant")
    flat_ranks, starts = (np.asarray(each, dtype=np.int64) for each in (best, offsets))
    return trusted(flat_ranks, starts, counts, **made)
