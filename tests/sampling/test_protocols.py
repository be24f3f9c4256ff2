"""Protocols of public code, each in at most five lines: the expectation against a simulation.

The simulations do what the code does, item by item; book/reading-code.md says where it was read.
"""

import numpy as np
import pytest

from sampled_metrics import NDCG, Draw, Ranks, Recall, ReciprocalRank, WeightedDraw, evaluate
from shared import known

N, M, K, RUNS = 60, 12, 5, 6000
RNG = np.random.default_rng(6)
SCORES = RNG.permutation(N).astype(float)  # of the items 0, 1, ..., for one user
TRAIN, HELD_OUT = np.arange(8), np.array([9, 17, 30])
POPULARITY = RNG.zipf(1.6, N).clip(max=500)
ITEMS = [dict(enumerate(SCORES))]
DISCOUNT = np.append(1 / np.log2(np.arange(2, K + 2)), np.zeros(N))


def scores_of(items):
    return {"user": {int(item): SCORES[item] for item in items}}


def exact_of(held_out):
    return Ranks.from_scores(
        scores_of(range(N)), {"user": [*map(int, held_out)]}, exclude={"user": [*map(int, TRAIN)]}
    )


def ndcg_of(held_out, negatives):
    """NDCG@K of a list of candidates, best first."""
    candidates = np.unique([*held_out, *negatives])
    order = candidates[np.argsort(-SCORES[candidates])]
    found = DISCOUNT[np.flatnonzero(np.isin(order, held_out))].sum()
    return found / DISCOUNT[: len(held_out)].sum()


def check(simulated, expected):
    """Four standard errors of the simulation, beyond which chance is once in 16,000 tests."""
    values = np.asarray(simulated)
    error = values.std(axis=0) / len(values) ** 0.5
    assert error.max() < 0.007
    assert (abs(values.mean(axis=0) - expected) < 4 * error).all()


def test_recbole_uni100_with_several_positives():
    """M negatives for each of three positives, all ranked together, repeats once."""
    others = np.setdiff1d(np.arange(N), [*TRAIN, *HELD_OUT])
    runs = [ndcg_of(HELD_OUT, RNG.choice(others, 3 * M)) for _ in range(RUNS)]

    exact = exact_of(HELD_OUT)
    draw = Draw(M * exact.n_relevant, replacement="merged")
    check(runs, draw.expect(exact, NDCG(k=K))[0])
    assert evaluate({"it": exact}, [NDCG(k=K)], draw).table["value"][1] == pytest.approx(
        draw.expect(exact, NDCG(k=K))[0]
    )


def test_recbole_pop100_with_several_positives():
    """The same by popularity: at j + h with h different items above the j-th best positive."""
    weights = POPULARITY.astype(float)
    weights[[*TRAIN, *HELD_OUT]] = 0
    p = weights / weights.sum()
    runs = [ndcg_of(HELD_OUT, RNG.choice(N, 3 * M, p=p)) for _ in range(RUNS)]

    above = np.sort(SCORES[HELD_OUT])[::-1, None] < SCORES
    p = WeightedDraw(M * 3, weights, replacement="merged").pmf(above)
    rank = np.arange(1, 4)[:, None] + np.arange(M * 3 + 1)
    each = NDCG(k=K)(rank)  # 1 over a logarithm, of one item
    check(runs, (p * each).sum() / NDCG(k=K)([1, 2, 3]).sum())


def test_sasrec():
    """Any item but those of training, so that the held-out one may come again, behind itself."""
    others, (item,) = np.setdiff1d(np.arange(N), TRAIN), HELD_OUT[:1]
    runs = np.zeros(RUNS)
    for run in range(RUNS):
        candidates = np.append(item, RNG.choice(others, M))
        runs[run] = DISCOUNT[np.argsort(np.argsort(-SCORES[candidates], kind="stable"))[0]]

    exact = exact_of([item])
    draw = Draw(M, n_items=int(known(exact.n_items)[0]) + 1)
    check(runs, draw.expect(exact.best, NDCG(k=K))[0])


def test_bert4rec():
    """Rounds of draws by popularity without repeats, less what is known, until there are M."""
    (item,), runs = HELD_OUT[:1], np.zeros(4000)
    for run in range(len(runs)):
        kept: list = []
        while len(kept) < M:
            drawn = RNG.choice(N, M + 1, replace=False, p=POPULARITY / POPULARITY.sum())
            kept += [x for x in drawn if x not in {*TRAIN, item, *kept}]
        runs[run] = ndcg_of([item], kept[:M])

    weights = POPULARITY.astype(float)
    weights[[*TRAIN, item]] = 0
    draw = WeightedDraw(M, weights, replacement=False)
    check(runs, draw.expect(SCORES > SCORES[item], NDCG(k=K)))


def test_a_subset_of_tensorflow_recommenders():
    """One subset of the items serves all users; who is in it comes again, behind himself.

    The means move several times as much as those of samples of each user's own, of which
    `evaluate` knows the error; of these it says that it is not known.
    """
    best = RNG.integers(1, 25, 200)  # items from the best on: what is above for all is the same
    subsets = np.stack([RNG.choice(N, M, replace=False) + 1 for _ in range(RUNS)])
    above = (subsets[:, :, None] < np.arange(N + 1)).sum(axis=1)[:, best]
    runs = (above < 3).mean(axis=1)

    draw = Draw(M, n_items=N + 1, replacement=False, shared=True)
    own = Draw(M, n_items=N + 1, replacement=False)
    (_, value, *_), (_, error, *_) = (
        evaluate({"it": best}, [Recall(k=3)], each).table[column]
        for each, column in ((draw, "value"), (own, "standard_error"))
    )
    check(runs, value)
    assert runs.std() > 2 * error
    assert evaluate({"it": best}, [Recall(k=3)], draw).table["standard_error"][1:].isna().all()


def test_negatives_of_a_batch():
    """The items of nine other events, in which the relevant item may come again, behind itself."""
    events, item = np.repeat(np.arange(N), POPULARITY), HELD_OUT[0]
    drawn = SCORES[events[RNG.integers(len(events), size=(RUNS, 9))]]
    runs = DISCOUNT[(drawn > SCORES[item]).sum(axis=1)]

    check(runs, WeightedDraw(9, POPULARITY).expect(SCORES > SCORES[item], NDCG(k=K)))


def test_numbers_of_negatives_of_the_temporal_graph_benchmark():
    """Each edge has as many negatives as it got; a tie counts in the middle, as a rank."""
    best, m = np.array([1, 5, 30, 9]), np.array([20, 7, 59, 2])
    others = [np.setdiff1d(np.arange(1, N + 1), [rank]) for rank in best]
    runs = np.zeros((RUNS, 4))
    for run in range(RUNS):
        drawn = [RNG.choice(x, size, replace=False) for x, size in zip(others, m, strict=True)]
        runs[run] = [1 / (1 + (x < rank).sum()) for x, rank in zip(drawn, best, strict=True)]

    draw = Draw(m, n_items=N, replacement=False)
    check(runs[:, [1, 3]], draw.expect(best, ReciprocalRank())[[1, 3]])
    np.testing.assert_allclose(draw.expect(best, ReciprocalRank())[[0, 2]], [1, 1 / 30])
    np.testing.assert_allclose(runs[:, [0, 2]].mean(axis=0), [1, 1 / 30])  # all others, or none
    tied = Ranks([1], n_tied=2, n_items=8, catalog=N)
    assert (1 / tied.mean_rank).tolist() == [1 / (0.5 * (0 + 2) + 1)]
