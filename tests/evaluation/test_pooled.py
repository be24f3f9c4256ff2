"""A data set of one's own: three catalogs pooled, several held-out items per user, with ties.

Everything goes through public names, from pairs with names to tables of estimates. What it is
compared with is brute force: sorted scores, every way to break a user's ties, every sample.
"""

from itertools import combinations, pairwise, product

import numpy as np
import pytest

from sampled_metrics import (
    AUC,
    NDCG,
    AveragePrecision,
    BiasVariance,
    Draw,
    Ranks,
    Recall,
    ReciprocalRank,
    Split,
    Uncorrected,
    compare,
)
from sampled_metrics.corrections import ConstrainedLeastSquares
from shared import equation_25, exact_values, expected_values, runs_of, the_term, ways_of_user

M = 3
METRICS = [Recall(k=3), NDCG(k=4), AveragePrecision(), ReciprocalRank(), AUC()]
ESTIMATORS = {
    "uncorrected": Uncorrected(),
    "bias_variance": BiasVariance(0.1),
    "least_squares": ConstrainedLeastSquares(),
}
CATALOGS = {"books": (7, 3), "films": (10, 4), "songs": (14, 5)}  # numbers of items and of users


class Coarse:
    """Scores with few values, so that there are ties."""

    def __init__(self, seed, shape):
        self.table = np.random.default_rng(seed).integers(0, 5, shape).astype(float)

    def scores(self, users):
        return self.table[users]


def split_of(name):
    """Each user has seen one or two items, and holds out one to three others."""
    n_items, n_users = CATALOGS[name]
    rng = np.random.default_rng(n_items)
    users, items = (
        [f"{name[0]}{u}" for u in range(n_users)],
        [f"{name}-{i}" for i in range(n_items)],
    )
    train, test = [], []
    for u, user in enumerate(users):
        order = rng.permutation(n_items)
        seen, held_out = 1 + u % 2, 1 + u % 3
        train += [(user, items[i]) for i in order[:seen]]
        test += [(user, items[i]) for i in order[seen : seen + held_out]]
    train += [("everybody", item) for item in items]  # so that each item has an event
    return Split.from_pairs(*zip(*train, strict=True), *zip(*test, strict=True))


SPLITS = {name: split_of(name) for name in CATALOGS}
MODELS = {
    name: {kind: Coarse(seed, (s.n_users, s.n_items)) for seed, kind in enumerate(["a", "b"])}
    for name, s in SPLITS.items()
}


def tied_of(kind):
    return {name: Ranks.from_model(MODELS[name][kind], SPLITS[name]) for name in CATALOGS}


def pooled(kind, rng):
    """The ranks of all users of the three catalogs, ties broken at random, as one Ranks."""
    parts = [
        tied.break_ties("random", rng=np.random.default_rng([rng, i]))
        for i, tied in enumerate(tied_of(kind).values())
    ]
    rows = [part.best[a:b] for part in parts for a, b in pairwise(part.offsets)]
    return Ranks.from_lists(rows, n_items=np.concatenate([part.n_items for part in parts]))


USERS = [(name, user) for name in CATALOGS for user in np.unique(SPLITS[name].users).tolist()]


def brute_force_ranks(name, kind, user):
    """All ways to sort a user's candidates by descending score, as ranks of the held-out items."""
    split, model = SPLITS[name], MODELS[name][kind]
    held_out = split.items[split.users == user].tolist()
    seen = set(split.train[[user]].indices.tolist())
    candidates = [i for i in range(split.n_items) if i not in seen]
    score = model.table[user]
    rows = set()
    # Of tied items only the places of the held-out ones count: they are any of the tied places.
    blocks = []
    for value in {score[i] for i in held_out}:
        first = 1 + sum(score[i] > value for i in candidates)
        places = range(first, first + sum(score[i] == value for i in candidates))
        blocks.append(combinations(places, sum(score[i] == value for i in held_out)))
    for choice in product(*blocks):
        rows.add(tuple(sorted(rank for part in choice for rank in part)))
    return sorted(rows), len(candidates)


@pytest.mark.parametrize("kind", ["a", "b"])
def test_ranks_are_those_of_sorted_scores(kind):
    for name, tied in tied_of(kind).items():
        split = SPLITS[name]
        assert split.item_names[split.items[0]].startswith(name)
        for user in np.unique(split.users).tolist():
            want, n = brute_force_ranks(name, kind, user)
            called = split.user_names[user]
            got = {tuple(sorted(way)) for way in ways_of_user(tied, called).tolist()}
            assert sorted(got) == want
            assert set(tied.n_items[tied.users == called].tolist()) == {n}
        for seed in range(20):
            ranks = tied.break_ties("random", rng=seed)
            for x, user in enumerate(np.unique(split.users).tolist()):
                assert tuple(ranks[x : x + 1].best) in brute_force_ranks(name, kind, user)[0]


def test_the_data_set_has_everything():
    """Ties, several items of a user with one score, three sizes, one to three held-out items."""
    tied = tied_of("a")
    assert all(t.has_ties and not t.is_one_each for t in tied.values())
    assert any((t.blocks.n_relevant > 1).any() for t in tied.values())
    ranks = pooled("a", 0)
    assert len(ranks) == len(USERS) == 12
    assert set(ranks.n_relevant.tolist()) == {1, 2, 3}
    assert len(set(ranks.n_items.tolist())) >= 5


# --- brute force for one instance


def estimates_by_hand(metric, estimator, q, n, replacement):
    """The table of a q-item instance, shape (q, M + 1), from a row for each rank of each term."""
    p = Draw(M, n_items=n - q + 1, replacement=replacement).pmf(np.arange(1, n - q + 2))
    uniform = np.full(n - q + 1, 1 / (n - q + 1))
    terms = [the_term(metric, j, q, n) for j in range(1, q + 1)]
    return np.array([equation_25(estimator.gamma, (p, term, uniform)) for term in terms])


def sampled_rows(row, n, replacement):
    """The sampled ranks of one user in all equally likely samples of irrelevant items."""
    others = [r for r in range(1, n + 1) if r not in row]
    samples = product(others, repeat=M) if replacement else combinations(others, M)
    return [
        [j + sum(item < r for item in sample) for j, r in enumerate(row, 1)] for sample in samples
    ]


def estimates(metric, estimator, row, n, replacement):
    """The estimates of one user in all samples."""
    rows = np.array(sampled_rows(row, n, replacement))
    q = len(row)
    if isinstance(estimator, Uncorrected):
        return metric(Ranks.from_lists(rows, n_items=M + q))
    if isinstance(estimator, BiasVariance):
        table = estimates_by_hand(metric, estimator, q, n, replacement)
    else:
        table = estimator.fit(metric, Draw(M, n_items=n, replacement=replacement)).terms(q)
    above = rows - np.arange(1, q + 1)
    return sum(table[j, above[:, j]] for j in range(q))


def rows_of(ranks):
    return [tuple(ranks[x : x + 1].best.tolist()) for x in range(len(ranks))]


@pytest.mark.parametrize("metric", METRICS, ids=str)
@pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)
@pytest.mark.parametrize("replacement", [True, False])
def test_expectation_and_variance_of_pooled_users(metric, estimator, replacement):
    ranks = pooled("a", 0)
    sizes = ranks.n_items.tolist()
    each = [
        estimates(metric, estimator, row, n, replacement)
        for row, n in zip(rows_of(ranks), sizes, strict=True)
    ]
    mean = np.array([values.mean() for values in each])
    variance = np.array([values.var() for values in each])
    draw = Draw(M, n_items=sizes, replacement=replacement)
    fitted = estimator.fit(metric, draw)
    np.testing.assert_allclose(fitted.expectation(ranks), mean, atol=1e-11)
    np.testing.assert_allclose(fitted.variance(ranks), variance, atol=1e-11)
    np.testing.assert_allclose(fitted.bias(ranks), mean - metric(ranks), atol=1e-11)
    if isinstance(estimator, Uncorrected):
        own = Draw(M, replacement=replacement)
        np.testing.assert_allclose(own.expect(ranks, metric), mean, atol=1e-12)


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.slow
def test_tables_of_pooled_users(replacement):
    both = {"a": pooled("a", 0), "b": pooled("b", 0)}
    draw = Draw(M, replacement=replacement)
    exact = exact_values(both, METRICS)
    expected = expected_values(both, METRICS, draw, ESTIMATORS)
    key = ["recommender", "metric", "estimator"]
    runs = runs_of(both, METRICS, draw, ESTIMATORS, repeats=100, rng=0).groupby(key)
    mean, deviation = runs.value.mean(), runs.value.std()
    metrics = {str(metric): metric for metric in METRICS}
    for name, label, value in exact.itertuples(index=False):
        want = [metrics[label](Ranks.from_lists([r]), n)[0] for r, n in instances(both[name])]
        assert value == pytest.approx(np.mean(want))
    for name, label, how, value in expected.itertuples(index=False):
        each = [
            estimates(metrics[label], ESTIMATORS[how], row, n, replacement)
            for row, n in instances(both[name])
        ]
        assert value == pytest.approx(np.mean([v.mean() for v in each]), abs=1e-10)
        # Six standard errors of 100 runs, of the exact variance.
        error = np.sqrt(sum(v.var() for v in each)) / len(each)
        assert abs(mean[name, label, how] - value) <= 6 * error / 100**0.5 + 1e-12
        assert deviation[name, label, how] == pytest.approx(error, rel=0.45, abs=1e-12)


def instances(ranks):
    return list(zip(rows_of(ranks), ranks.n_items.tolist(), strict=True))


@pytest.mark.parametrize("replacement", [True, False])
def test_a_comparison_of_pooled_users(replacement):
    a, b = pooled("a", 0), pooled("b", 0)
    metric, estimator = NDCG(k=4), BiasVariance(0.1)
    mean, variance = {}, {}
    for name, ranks in (("a", a), ("b", b)):
        each = [estimates(metric, estimator, r, n, replacement) for r, n in instances(ranks)]
        mean[name] = np.array([values.mean() for values in each])
        variance[name] = np.mean([values.var() for values in each])
    found = compare(a, b, metric, Draw(M, replacement=replacement), estimator=estimator)
    difference = mean["a"] - mean["b"]
    assert found.n_users == 12
    assert found.exact_difference == pytest.approx((metric(a) - metric(b)).mean())
    assert found.difference == pytest.approx(difference.mean(), abs=1e-11)
    assert found.variance_users == pytest.approx(difference.var(ddof=1) / 12)
    assert found.variance_sampling == pytest.approx((variance["a"] + variance["b"]) / 12)
    assert found.variance_ties == 0


def test_ties_broken_many_times_average_over_all_ways():
    """Mean of 1,000 random ways against all of them: within six standard errors."""
    metric = AveragePrecision()
    for name, tied in tied_of("a").items():
        users = np.unique(tied.users).tolist()
        want, spread = [], []
        for user in users:
            ways = ways_of_user(tied, user)
            values = metric(Ranks.from_lists(np.sort(ways, axis=1)))
            want.append(values.mean())
            spread.append(values.var())
        rng = np.random.default_rng(len(name))
        drawn = [metric(tied.break_ties("random", rng=rng)) for _ in range(1000)]
        error = np.sqrt(np.array(spread) / 1000)
        assert (np.abs(np.mean(drawn, axis=0) - want) <= 6 * error + 1e-12).all()
