"""The models of evaluation code against simulations of what the code does, with items and scores.

Each simulation follows the steps of the code, as the page "Reading the code of evaluations"
describes them: it draws items, gives them scores, and sorts. The models know only ranks.

One of ten thousand chi-square tests fails by chance under a right model; the seeds are fixed, so
a test that passes once passes always.
"""

import gzip
import heapq
import importlib
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from sampled_metrics import Draw, Ranks, WeightedDraw
from sampled_metrics_book.codes import (
    capped_error,
    mean_rank_hits,
    merged_pmf,
    settled,
    with_itself_pmf,
)
from shared import known

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from popular_pmf import popular_pmf  # type: ignore[import-not-found] # noqa: E402

REPEATS = 20_000
# Scores of 30 candidates with ties, and held-out items at the top, in the middle and at the end
SCORES = np.array([9, 8, 8, 7, 7, 7, 6, 6, 5, 5, 5, 5, 4, 4, 3, 3, 3, 2, 2, *[1] * 6, *[0] * 5])
HELD_OUT = (0, 1, 4, 9, 15, 24, 29)
every_item = pytest.mark.parametrize("item", HELD_OUT)


def exact_rank(item, scores=SCORES):
    better, level = (scores > scores[item]).sum(), (scores == scores[item]).sum() - 1
    return Ranks([1 + better], [level], [len(scores)])


def agree(ranks, p, last=None):
    """Compare simulated ranks with the probabilities of the ranks 1, 2, ..., up to a last one."""
    last = len(p) if last is None else last
    counts = np.bincount(np.minimum(ranks, last + 1) - 1, minlength=last + 1)
    expected = REPEATS * np.append(p[:last], max(1 - p[:last].sum(), 0))
    assert counts[expected < 1e-9].sum() == 0
    rare = expected < 10
    counts = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    keep = expected > 0
    if keep.sum() > 1:
        assert stats.chisquare(counts[keep], expected[keep]).pvalue > 1e-4
    assert counts.sum() == REPEATS


def others_than(item):
    return np.delete(np.arange(len(SCORES)), item)


# --- NCF: a file of different items, put into a dictionary with the held-out one ---


def in_dictionary(item, drawn, keys):
    """Rank by the largest scores; of equal ones, the dictionary's earlier key comes first."""
    listed = dict.fromkeys([*drawn.tolist(), item])  # once, where it was first put
    order = sorted(listed, key=keys) if keys else list(listed)
    best = heapq.nlargest(len(order), order, key=lambda i: SCORES[i])
    return 1 + best.index(item)


@pytest.mark.parametrize("item", HELD_OUT[1::2])
@pytest.mark.parametrize("by_insertion", [True, False])
def test_a_dictionary_holds_the_held_out_item_once(item, by_insertion):
    rng = np.random.default_rng(item)
    m, found = 12, []
    for _ in range(REPEATS):
        drawn = rng.permutation(len(SCORES))[:m]
        # Python 2 goes by slots, which follow from the numbers of the items
        numbers = rng.choice(512, len(SCORES), replace=False)
        found.append(in_dictionary(item, drawn, None if by_insertion else numbers.__getitem__))
    p = merged_pmf(exact_rank(item), m, m + 1, ties="lost" if by_insertion else "random")
    agree(np.array(found), p[0])


@every_item
def test_ties_that_are_won_do_not_depend_on_whether_the_item_was_drawn(item):
    rng = np.random.default_rng(item)
    drawn = rng.permuted(np.tile(np.arange(len(SCORES)), (REPEATS, 1)), axis=1)[:, :12]
    found = 1 + (SCORES[drawn] > SCORES[item]).sum(axis=1)
    agree(found, merged_pmf(exact_rank(item), 12, 13, ties="won")[0])


# --- SASRec and GraIL: draws from all candidates, the held-out item among them ---


def sorted_twice(scores, ties, rng):
    """Return the place of the first column when scores fall; `ties` says who wins equal ones."""
    if ties == "won":
        order = np.argsort(-scores, axis=1, kind="stable")
        return 1 + np.argsort(order, axis=1, kind="stable")[:, 0]
    if ties == "lost":  # the ascending order, read from the end
        order = np.argsort(scores, axis=1, kind="stable")[:, ::-1]
        return 1 + np.argmax(order == 0, axis=1)
    order = np.lexsort((rng.random(scores.shape), -scores), axis=1)
    return 1 + np.argmax(order == 0, axis=1)


@every_item
@pytest.mark.parametrize("ties", ["won", "random", "lost"])
def test_draws_from_all_but_the_training_items_hold_the_item_itself(item, ties):
    rng = np.random.default_rng(item)
    drawn = rng.integers(len(SCORES), size=(REPEATS, 15))
    scores = SCORES[np.column_stack([np.full(REPEATS, item), drawn])]
    found = sorted_twice(scores, ties, rng)
    agree(found, with_itself_pmf(exact_rank(item), 15, 16, ties=ties)[0])


def distinct_pmf(ranks, n_samples, k, *, ties):
    """What RecBole's merged repeats are as a draw."""
    return Draw(n_samples, replacement="merged").pmf(settled(ranks, ties))[:, :k]


# --- RecBole: draws with replacement, written into one place for each item ---


@every_item
@pytest.mark.parametrize("ties", ["won", "random", "lost"])
def test_one_place_for_each_item_counts_repeats_once(item, ties):
    rng = np.random.default_rng(item)
    drawn = rng.choice(others_than(item), size=(REPEATS, 15))
    table = np.full((REPEATS, len(SCORES)), -np.inf)
    rows = np.arange(REPEATS)[:, None]
    table[rows, drawn] = SCORES[drawn]
    table[:, item] = SCORES[item]
    first = np.column_stack([table[:, item], np.delete(table, item, axis=1)])
    found = sorted_twice(first, ties, rng)
    agree(found, distinct_pmf(exact_rank(item), 15, 12, ties=ties)[0], last=12)


# --- OGB: the mean of the best and the worst rank ---


@every_item
def test_the_mean_rank_of_ties_decides_a_hit(item):
    rng = np.random.default_rng(item)
    drawn = SCORES[rng.choice(others_than(item), size=(REPEATS, 15))]
    best = (drawn > SCORES[item]).sum(axis=1)
    worst = (drawn >= SCORES[item]).sum(axis=1)
    mean = (best + worst) / 2 + 1
    for k in (1, 3, 10, 16):
        p = mean_rank_hits(exact_rank(item), 15, k)[0]
        error = np.sqrt(p * (1 - p) / REPEATS)
        assert abs((mean <= k).mean() - p) <= 5 * error + 1e-12


# --- BERT4Rec and RecBole by popularity ---

EVENTS = np.random.default_rng(1).choice([1, 2, 5, 9, 20, 60], size=40)
TRAINED = np.arange(0, 40, 7)  # the user's training items
QUALITY = np.random.default_rng(2).permutation(40).astype(float)
POPULAR_ITEMS = (3, 11, 26)


def by_weight(item):
    """Return the inputs of `popular_pmf`, counted from scores and events."""
    weights, kind = np.unique(EVENTS, return_inverse=True)
    others = np.setdiff1d(np.arange(40), [*TRAINED, item])
    above = others[QUALITY[others] > QUALITY[item]]
    count = (np.bincount(kind[x], minlength=len(weights))[None] for x in (above, others))
    return (*count, weights.astype(float))


@pytest.mark.parametrize("item", POPULAR_ITEMS)
@pytest.mark.slow
def test_rounds_of_unequal_draws_are_one_draw_without_replacement(item):
    """A round draws items by popularity; known ones are dropped, until there are enough."""
    rng = np.random.default_rng(item)
    m, share, found = 12, EVENTS / EVENTS.sum(), []
    known = {*TRAINED.tolist(), item}
    for _ in range(REPEATS):
        sample: list[int] = []
        while len(sample) < m:
            batch = rng.choice(40, m + 1, replace=False, p=share, shuffle=False)
            sample += [i for i in batch.tolist() if i not in known and i not in sample]
        found.append(1 + (QUALITY[sample[:m]] > QUALITY[item]).sum())
    above, total, weights = by_weight(item)
    agree(np.array(found), popular_pmf(above, total, weights, m, 8, merged=False)[0], last=8)


@pytest.mark.parametrize("item", POPULAR_ITEMS)
def test_popular_draws_in_one_place_for_each_item(item):
    rng = np.random.default_rng(item)
    m, share = 12, EVENTS / EVENTS.sum()
    drawn = rng.choice(40, size=(REPEATS, m), p=share)
    known = [*TRAINED, item]
    while (again := np.isin(drawn, known)).any():
        drawn[again] = rng.choice(40, size=again.sum(), p=share)
    there = np.zeros((REPEATS, 40), dtype=bool)
    there[np.arange(REPEATS)[:, None], drawn] = True
    found = 1 + (there & (QUALITY > QUALITY[item])).sum(axis=1)
    above, total, weights = by_weight(item)
    agree(found, popular_pmf(above, total, weights, m, 8, merged=True)[0], last=8)


def test_counting_equal_weights_is_drawing_one_by_one():
    rng = np.random.default_rng(0)
    weights = rng.choice([1.0, 3.0, 10.0, 200.0], size=(6, 300))
    masks = rng.random((6, 300)) < np.array([0, 0.01, 0.05, 0.1, 0.4, 1])[:, None]
    kinds = np.array([1.0, 3.0, 10.0, 200.0])
    total = (weights[..., None] == kinds).sum(axis=1)
    above = ((weights[..., None] == kinds) & masks[..., None]).sum(axis=1)
    found = popular_pmf(above, total, kinds, 100, 10, merged=False)
    expected = WeightedDraw(100, weights, replacement=False).pmf(masks)[:, :10]
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_equal_weights_are_uniform_draws():
    ranks = Ranks([1, 2, 9, 40, 300], 0, n_items=[300, 200, 300, 250, 300])
    above, total = ranks.best[:, None] - 1, known(ranks.n_items)[:, None] - 1
    found = popular_pmf(above, total, np.array([7.0]), 100, 10, merged=True)
    np.testing.assert_allclose(found, distinct_pmf(ranks, 100, 10, ties="won"), atol=1e-9)


# --- SASRec: at most 10,000 users ---


@pytest.mark.parametrize(("n_users", "cap"), [(400, 100), (400, 399), (400, 1000)])
def test_the_error_of_some_of_the_users(n_users, cap):
    rng = np.random.default_rng(cap)
    hits = rng.beta(0.5, 0.5, size=n_users)
    c, means = min(n_users, cap), []
    for _ in range(REPEATS):
        users = rng.permutation(n_users)[:c]
        means.append((rng.random(c) < hits[users]).mean())
    # the standard deviation of nearly normal values has the relative error 1 / sqrt(2 N)
    assert np.std(means) == pytest.approx(
        capped_error(hits, n_users, cap), rel=5 / np.sqrt(2 * REPEATS)
    )


# --- all of them ---


def test_ties_won_are_best_and_lost_are_worst():
    for item, model in product(HELD_OUT, (with_itself_pmf, merged_pmf, distinct_pmf)):
        at_most = [
            np.cumsum(model(exact_rank(item), 15, 10, ties=ties)[0])
            for ties in ("won", "random", "lost")
        ]
        assert (at_most[0] >= at_most[1] - 1e-12).all()
        assert (at_most[1] >= at_most[2] - 1e-12).all()


def test_long_ties_are_averages_over_all_their_places():
    tied = Ranks([5], [400], [900])
    places = Ranks(np.arange(5, 406), 0, 900)
    np.testing.assert_allclose(
        distinct_pmf(tied, 100, 10, ties="random")[0],
        distinct_pmf(places, 100, 10, ties="won").mean(axis=0),
        atol=1e-12,
    )


# --- where the data are at hand ---


def test_the_published_negatives_are_such_a_draw(movielens):
    path = ROOT.parent / "shared" / "data" / "ml-1m" / "ml-1m.test.negative.gz"
    if not path.is_file():
        pytest.skip("the negatives that NCF's authors published are not at hand")
    with gzip.open(path, "rt") as lines:
        listed = np.array([line.split("\t")[1:] for line in lines], dtype=int)
    assert listed.shape == (6040, 99)
    assert all(len(set(row)) == 99 for row in listed.tolist())  # no repeats
    itself = (listed == movielens.items[:, None]).any(axis=1)
    assert itself.sum() == 156
    share = 99 / movielens.n_candidates
    assert abs(156 - share.sum()) < 4 * np.sqrt((share * (1 - share)).sum())


@pytest.mark.slow
def test_the_file_of_popular_draws_is_what_the_data_say(movielens):
    script = importlib.import_module("make_popular_draws")
    rng = np.random.default_rng(0)
    users = rng.choice(len(movielens.users), 400, replace=False)
    model = script.RECOMMENDERS["y"].fit(movielens.train)
    above, total, weights = script.counted(movielens, model, users, rng)
    file = pd.read_csv(script.PATH).set_index(["recommender", "draw", "ties"])["share"]
    for draw in ("merged", "successive"):
        p = script.probabilities(above, total, weights, draw == "merged")["random"]
        hits, printed = p.sum(axis=1), file["y", draw, "random"].sum()
        assert abs(hits.mean() - printed) < 4 * hits.std() / np.sqrt(len(users))
