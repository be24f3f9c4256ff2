"""What grade.py asks of a submission, for how many points, and the right answers.

A check calls functions by name, `submission("ndcg", ranks, 10)`, and gets their results as numbers
in lists with the call as text. Its first line of text is for students: what is tried.
"""

import itertools
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from sampled_metrics import NDCG, AveragePrecision, BiasVariance, Draw, Ranks, Recall
from submission import Failed, short

TASKS = {
    1: "From scores to ranks",
    2: "Two metrics",
    3: "The sampled rank",
    4: "What sampling does",
    5: "A correction",
}
CHECKS = []


class Check(NamedTuple):
    """A test that is worth some points of a task, and what it tries, in words."""

    task: int
    points: int
    tries: str
    test: Callable


def worth(task, points):
    """Make a function a check that is worth some points of a task."""

    def decorate(test):
        CHECKS.append(Check(task, points, test.__doc__, test))
        return test

    return decorate


def numbers(result, call):
    """Return the result as an array of floats."""
    try:
        return np.asarray(result, dtype=float)
    except (TypeError, ValueError):
        raise Failed(f"{call} returned {short(result)}, not an array of numbers") from None


def agree(result, expected, call, note="", atol=1e-9):
    """Fail unless the result is what was expected."""
    got, expected = numbers(result, call), np.asarray(expected, dtype=float)
    if expected.ndim == 0 and got.size == 1:
        got = got.reshape(())
    if got.shape != expected.shape:
        raise Failed(
            f"{call} returned {short(result)}, of shape {got.shape}. {note}".strip(),
            f"It should have the shape {expected.shape}.",
        )
    wrong = ~np.isclose(got, expected, rtol=1e-6, atol=atol, equal_nan=True)
    if wrong.any():
        which = tuple(np.argwhere(wrong)[0].tolist())
        entry = call
        if which:
            entry = f"entry {which[0] if len(which) == 1 else which} of {call.showing(which[0])}"
        raise Failed(
            f"{entry} is {short(got[which])}. {note}".strip(),
            f"It should be {short(expected[which])}.",
        )


# --- 1 From scores to ranks ----------------------------------------------------------------------


def last_among_equals(scores, held_out, train):
    """Sort each user's candidates, the held-out item behind its equals, and look it up."""
    ranks = []
    for row, item, seen in zip(scores, held_out, train, strict=True):
        candidates = [j for j in range(len(row)) if not seen[j]]
        candidates.sort(key=lambda j, row=row, item=item: (-row[j], j == item))
        ranks.append(1 + candidates.index(item))
    return ranks


def made_up_scores(seed, users=7, items=12):
    """Return different scores for all items, and held-out items that are not in training."""
    rng = np.random.default_rng(seed)
    scores = rng.permuted(np.tile(np.arange(items) / 4 - 1, (users, 1)), axis=1)
    return scores, rng.integers(items, size=users), np.zeros((users, items), dtype=bool), rng


def check_ranks(submission, scores, held_out, train):
    """Compare the ranks of all users, and show the first user whose rank is wrong."""
    result, call = submission("ranks_from_scores", scores, held_out, train)
    ranks = numbers(result, call)
    if ranks.shape != held_out.shape:
        raise Failed(f"ranks_from_scores returned {short(result)} for {len(held_out)} users")
    expected = last_among_equals(scores, held_out, train)
    for user in np.flatnonzero(ranks != expected)[:1]:
        raise Failed(
            f"ranks_from_scores gives a user the rank {short(ranks[user])}: scores "
            f"{short(scores[user], range(len(scores[user])))}, "
            f"held-out item {held_out[user]}, training items "
            f"{np.flatnonzero(train[user]).tolist()}",
            f"The rank should be {expected[user]}.",
        )


@worth(1, 3)
def check_different_scores(submission):
    """All scores of a user are different, and nobody has training items."""
    scores, held_out, train, _ = made_up_scores(1)
    check_ranks(submission, scores, held_out, train)


@worth(1, 3)
def check_training_items(submission):
    """Training items do not compete, whatever their scores."""
    scores, held_out, train, rng = made_up_scores(2)
    train |= rng.random(train.shape) < 0.4
    train[np.arange(len(held_out)), held_out] = False
    check_ranks(submission, scores, held_out, train)


@worth(1, 3)
def check_ties(submission):
    """Other candidates have the held-out item's score; the held-out item comes last among them."""
    scores, held_out, train, rng = made_up_scores(3)
    scores = rng.integers(3, size=scores.shape).astype(float)
    scores[0] = 0.5  # a model that has learned nothing
    check_ranks(submission, scores, held_out, train)


@worth(1, 1)
def check_arguments_unchanged(submission):
    """The function does not change its arguments."""
    scores, held_out, train, _ = made_up_scores(4)
    train[:, 0] = held_out != 0
    result, call = submission("ranks_from_scores", scores, held_out, train, unchanged=True)
    if numbers(result, call).shape != held_out.shape:
        raise Failed(f"ranks_from_scores returned {short(result)} for {len(held_out)} users")


# --- 2 Two metrics -------------------------------------------------------------------------------


def check_metric(submission, name, metric, ranks, k):
    """Compare with the package."""
    result, call = submission(name, ranks, k)
    agree(result, metric(Ranks.from_lists(ranks) if isinstance(ranks, list) else ranks), call)


@worth(2, 3)
def check_ndcg_in_the_top_k(submission):
    """NDCG at 20 of ranks from 1 to 20."""
    ranks = np.random.default_rng(5).integers(1, 21, size=10)
    check_metric(submission, "ndcg", NDCG(20), ranks, 20)


@worth(2, 2)
def check_ndcg_at_the_cutoff(submission):
    """NDCG of ranks at k, next to it, and far below."""
    check_metric(submission, "ndcg", NDCG(7), np.array([7, 8, 6, 500, 1]), 7)


AVERAGE_PRECISION = [
    (3, "all relevant items are in the top k", 12, [[1, 4, 9], [2], [1, 2, 3, 4], [12, 11]]),
    (3, "some relevant items are not in the top k", 5, [[1, 6], [2, 5, 90], [7], [3, 40, 41, 42]]),
    (2, "users have more than k relevant items", 3, [[1, 2, 3, 4, 5], [2, 3, 8, 9], [4, 5, 6, 7]]),
    (1, "ranks are not sorted", 10, [[7, 1, 3], [9, 2, 30]]),
    (1, "a user has no relevant item", 10, [[1], [], [2]]),
]
for points, case, k, ranks in AVERAGE_PRECISION:
    test = partial(
        check_metric, name="average_precision", metric=AveragePrecision(k), ranks=ranks, k=k
    )
    CHECKS.append(Check(2, points, f"Average precision where {case}.", test))


# --- 3 The sampled rank --------------------------------------------------------------------------


def all_draws(r, n, m, replacement):
    """Go through all draws of m of the other n - 1 items, and count sampled ranks."""
    others = [j for j in range(1, n + 1) if j != r]
    if replacement:
        draws = itertools.product(others, repeat=m)
    else:
        draws = itertools.combinations(others, m)
    counts = Counter(1 + sum(j < r for j in draw) for draw in draws)
    return np.array([counts[i] for i in range(1, m + 2)]) / counts.total()


SMALL = [(3, 6, 2), (2, 6, 4), (5, 7, 3), (4, 5, 1)]
"""Rank, number of items, number of samples."""


def check_pmf(submission, r, n, m, replacement):
    """Compare the probabilities with the shares among all draws."""
    result, call = submission("sampled_rank_pmf", r, n, m, replacement)
    agree(result, all_draws(r, n, m, replacement), call)


@worth(3, 4)
def check_with_replacement(submission):
    """A few items, drawn with replacement: shares counted over all draws."""
    for r, n, m in SMALL:
        check_pmf(submission, r, n, m, True)


@worth(3, 4)
def check_without_replacement(submission):
    """A few items, drawn without replacement: shares counted over all draws."""
    for r, n, m in SMALL:
        check_pmf(submission, r, n, m, False)


@worth(3, 2)
def check_first_and_last_rank(submission):
    """An item at the best rank, and one at the worst."""
    for replacement in (True, False):
        for r in (1, 6):
            check_pmf(submission, r, 6, 3, replacement)


@worth(3, 2)
def check_all_items_drawn(submission):
    """Every other item is in the sample."""
    for r in (1, 4, 9):
        result, call = submission("sampled_rank_pmf", r, 9, 8, False)
        agree(result, np.eye(9)[r - 1], call)


@worth(3, 3)
def check_many_items(submission):
    """Ten thousand items, of which 500 are drawn."""
    for replacement in (True, False):
        result, call = submission("sampled_rank_pmf", 212, 10_000, 500, replacement)
        draw = Draw(500, n_items=10_000, replacement=replacement)
        agree(result, draw.pmf(212), call, atol=1e-8)


# --- 4 What sampling does ------------------------------------------------------------------------


@worth(4, 3)
def check_recall_of_all_draws(submission):
    """The expected recall among a few items, as the mean over all draws."""
    for r, n, m in SMALL[:3]:
        for k in range(1, m + 1):
            result, call = submission("expected_sampled_recall", r, n, m, k)
            agree(result, all_draws(r, n, m, True)[:k].sum(), call)


@worth(4, 2)
def check_recall_of_first_and_last_rank(submission):
    """The expected recall of an item at the best rank, and of one at the worst."""
    for r, expected in ((1, 1), (50, 0)):
        result, call = submission("expected_sampled_recall", r, 50, 10, 3)
        agree(result, expected, call)


@worth(4, 2)
def check_recall_beyond_the_sample(submission):
    """A cutoff that is at least as large as the number of sampled ranks."""
    for k in (6, 9):
        result, call = submission("expected_sampled_recall", 48, 50, 5, k)
        agree(result, 1, call, "(How many sampled ranks are there?)")


@worth(4, 3)
def check_recall_among_many_items(submission):
    """The expected recall among ten thousand items, of which 100 are drawn."""
    for r in (11, 1000):
        result, call = submission("expected_sampled_recall", r, 10_000, 100, 10)
        agree(result, Draw(100, n_items=10_000).expect(r, Recall(10)), call, atol=1e-8)


def check_flip(submission, n, m, k):
    """Check the property that makes an answer right; there are many."""
    result, call = submission("order_flip", n, m, k)
    if not isinstance(result, list) or len(result) != 2:
        raise Failed(f"{call} returned {short(result)}", "It should be two lists of ranks.")
    ranks = [numbers(each, call) for each in result]
    if ranks[0].shape != ranks[1].shape or ranks[0].ndim != 1 or not 1 <= ranks[0].size <= 1000:
        raise Failed(
            f"{call} returned {short(result)}", "The lists must have the same length, 1 to 1000."
        )
    for each in ranks:
        if not ((each == np.round(each)) & (each >= 1) & (each <= n)).all():
            raise Failed(f"{call}: {short(each)} are not ranks from 1 to {n}")
    exact = [Recall(k)(each.astype(int)).mean() for each in ranks]
    if not exact[0] > exact[1]:
        raise Failed(
            f"{call}: the exact Recall@{k} of the first recommender is {exact[0]:.3f}, and of the "
            f"second {exact[1]:.3f}",
            "The first must be better.",
        )
    draw = Draw(m, n_items=n)
    sampled = [draw.expect(each.astype(int), Recall(k)).mean() for each in ranks]
    if not sampled[1] >= sampled[0] + 0.1:
        raise Failed(
            f"{call}: the expected sampled Recall@{k} of the first recommender is "
            f"{sampled[0]:.3f}, and of the second {sampled[1]:.3f}",
            "The second must be better by at least 0.1.",
        )


for points, n, m, k in [(4, 10_000, 100, 10), (3, 500, 50, 5), (3, 3000, 99, 1)]:
    tries = f"A pair in the wrong order: {n:,} items, {m} drawn, Recall@{k}."
    CHECKS.append(Check(4, points, tries, partial(check_flip, n=n, m=m, k=k)))


# --- 5 A correction ------------------------------------------------------------------------------

SHARES = {"uniform": np.ones(40), "1/r": 1 / np.arange(1, 41)}
PRIORS = {name: shares / shares.sum() for name, shares in SHARES.items()}


def table_of(submission, n, m, k, prior):
    """Return a submitted table and the call, if it has the right form."""
    result, call = submission("corrected_table", n, m, k, prior)
    table = numbers(result, call)
    if table.shape != (m + 1,) or not np.isfinite(table).all():
        raise Failed(
            f"{call} returned {short(result)}",
            f"A table has one finite number for each of the {m + 1} sampled ranks.",
        )
    return table, call


def check_risk(submission, name):
    """Compare the mean squared error of the table with the least there is."""
    n, m, k, prior = 40, 6, 3, PRIORS[name]
    table, call = table_of(submission, n, m, k, prior)
    draw = Draw(m, n_items=n)
    joint = prior[:, None] * draw.pmf(np.arange(1, n + 1))
    exact = (np.arange(1, n + 1) <= k)[:, None]
    best = BiasVariance(gamma=1, prior=prior).fit(Recall(k), draw).values
    risk, least = ((joint * (each - exact) ** 2).sum() for each in (table, best))
    if not risk <= least + 1e-9:
        raise Failed(
            f"{call}: your table has a mean squared error of {risk:.6f} (prior: {name})",
            f"There is a table with {least:.6f}.",
        )


@worth(5, 4)
def check_least_squared_error_uniform(submission):
    """The mean squared error of the table, under a uniform prior."""
    check_risk(submission, "uniform")


@worth(5, 4)
def check_least_squared_error_another(submission):
    """The mean squared error of the table, under a prior that favors the top."""
    check_risk(submission, "1/r")


@worth(5, 2)
def check_right_on_average(submission):
    """Averaged over the prior, the estimate is the exact recall."""
    for name, prior in PRIORS.items():
        table, call = table_of(submission, 40, 8, 2, prior)
        mean = prior @ Draw(8, n_items=40).pmf(np.arange(1, 41)) @ table
        agree(mean, prior[:2].sum(), f"the mean estimate of {call}", f"(Prior: {name}.)")


@worth(5, 2)
def check_ranks_that_never_occur(submission):
    """The table under a prior that allows only the first and the last exact rank."""
    prior = np.zeros(20)
    prior[[0, 19]] = 0.25, 0.75
    table, call = table_of(submission, 20, 4, 2, prior)
    agree(table, [1, 0, 0, 0, 0], call)


def check_bias_and_std(submission, table, r, n, m, k):
    """Compare with the moments over all draws."""
    p = all_draws(r, n, m, True)
    mean = p @ table
    expected = mean - (r <= k), np.sqrt(max(0, p @ table**2 - mean**2))
    result, call = submission("bias_and_std", table, r, n, m, k)
    got = numbers(result, call)
    if got.shape != (2,):
        raise Failed(f"{call} returned {short(result)}", "It should be a bias and a std.")
    agree(got[0], expected[0], f"the bias of {call}")
    agree(got[1], expected[1], f"the std of {call}", atol=1e-6)


@worth(5, 3)
def check_bias_and_std_uncorrected(submission):
    """Bias and standard deviation of the plain sampled recall, over all draws."""
    check_bias_and_std(submission, np.array([1.0, 1, 0, 0]), 4, 6, 3, 2)
    check_bias_and_std(submission, np.array([1.0, 1, 0, 0]), 2, 6, 3, 2)


@worth(5, 3)
def check_bias_and_std_of_any_table(submission):
    """Bias and standard deviation of a table of random numbers, over all draws."""
    rng = np.random.default_rng(6)
    for r in (2, 3, 6):
        check_bias_and_std(submission, rng.normal(size=5).round(2), r, 6, 4, 2)


@worth(5, 2)
def check_bias_and_std_of_a_constant(submission):
    """Bias and standard deviation at the best rank, where the sampled rank is always 1."""
    check_bias_and_std(submission, np.array([0.3, 0.2, 0.1, 0.1]), 1, 6, 3, 2)


RIGHT_FUNCTIONS = {
    3: """
def sampled_rank_pmf(r, n, m, replacement=True):
    import math, numpy
    if replacement:
        draws = [math.comb(m, a) * (r - 1) ** a * (n - r) ** (m - a) for a in range(m + 1)]
    else:
        draws = [math.comb(r - 1, a) * math.comb(n - r, m - a) for a in range(m + 1)]
    total = sum(draws)
    return numpy.array([number / total for number in draws])
""",
    4: """
def expected_sampled_recall(r, n, m, k):
    import math
    draws = [math.comb(m, a) * (r - 1) ** a * (n - r) ** (m - a) for a in range(m + 1)]
    return sum(draws[:k]) / sum(draws)
""",
}
"""What takes the place of a task's functions where a later task is graded again."""
