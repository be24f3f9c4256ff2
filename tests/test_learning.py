"""From sampled ranks to the distribution of the exact ones."""

from collections import Counter
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import chisquare

from sampled_metrics import (
    AUC,
    NDCG,
    AveragePrecision,
    BiasVariance,
    MappedCutoff,
    Multinomial,
    Precision,
    RankEstimate,
    Recall,
    estimate_rank_distribution,
    expected_metric,
    rank_distribution,
    sample_adaptively,
    sample_ranks,
)

N, M = 3706, 100
METRICS = [Recall(k=1), Recall(k=10), Recall(k=50), NDCG(k=10), AveragePrecision(), AUC()]


@pytest.fixture(scope="module")
def ranks():
    """Exact ranks of users, with a density that falls like 1/r."""
    return np.geomspace(1, N, 3000).astype(int)


def shares_of(sampled, m):
    return np.bincount(sampled - 1, minlength=m + 1) / len(sampled)


def log_likelihood(pi, sampled, n, m, replacement=True):
    p = rank_distribution(np.arange(1, n + 1), n, m, replacement)
    return np.log(pi @ p)[sampled - 1].mean()


def solve_on_simplex(objective, n):
    """Minimize by a solver that knows nothing of the problem."""
    return minimize(
        objective,
        np.full(n, 1 / n),
        method="SLSQP",
        bounds=[(1e-12, 1)] * n,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
        options={"ftol": 1e-15, "maxiter": 10_000},
    ).x


# --- maximum likelihood


def test_likelihood_never_falls_and_stops_where_it_says(ranks):
    """A smaller tolerance is a later step of the same climb, and bounds how far the top is."""
    sampled = sample_ranks(ranks, N, M, rng=0)
    tolerances = [0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001]
    reached = [
        log_likelihood(estimate_rank_distribution(sampled, N, M, tolerance=t), sampled, N, M)
        for t in tolerances
    ]
    assert (np.diff(reached) > 0).all()
    best = reached[-1] + tolerances[-1]
    for tolerance, value in zip(tolerances, reached, strict=True):
        assert best - value <= tolerance + tolerances[-1]


@settings(max_examples=25)
@given(data=st.data())
def test_likelihood_at_convergence_is_optimal(data):
    """The conditions of Karush, Kuhn and Tucker: one factor for all ranks with a share."""
    n, replacement = data.draw(st.integers(3, 12)), data.draw(st.booleans())
    m = data.draw(st.integers(1, 6 if replacement else min(6, n - 1)))
    sampled = np.array(data.draw(st.lists(st.integers(1, m + 1), min_size=1, max_size=30)))
    pi = estimate_rank_distribution(sampled, n, m, replacement, tolerance=1e-4)
    p = rank_distribution(np.arange(1, n + 1), n, m, replacement)
    factor = (p[:, sampled - 1] / (pi @ p)[sampled - 1]).mean(axis=1)
    assert (pi >= 0).all()
    assert pi.sum() == pytest.approx(1)
    assert factor.max() <= 1 + 1.001e-4
    assert pi @ factor == pytest.approx(1)
    assert pi[factor < 0.9].sum() <= 2e-3


@pytest.mark.parametrize("replacement", [True, False])
def test_likelihood_against_another_solver(replacement):
    """Few ranks and many samples, so that the maximum is one point."""
    n, m = 5, 8 if replacement else 4
    sampled = sample_ranks([1, 1, 1, 2, 3, 3, 5] * 30, n, m, replacement, rng=1)
    got = estimate_rank_distribution(sampled, n, m, replacement, tolerance=1e-7)
    want = solve_on_simplex(lambda pi: -log_likelihood(pi, sampled, n, m, replacement), n)
    np.testing.assert_allclose(got, want, atol=1e-4)


def test_likelihood_with_samples_of_many_sizes_against_another_solver():
    n, m = 4, np.repeat([3, 7, 20], 60)
    exact = np.tile([1, 2, 4], 60)
    sampled = np.concatenate(
        [sample_ranks(exact[m == s], n, int(s), rng=int(s)) for s in np.unique(m)]
    )
    got = estimate_rank_distribution(sampled, n, m, tolerance=1e-7)

    def objective(pi):
        each = [log_likelihood(pi, sampled[m == s], n, int(s)) for s in np.unique(m)]
        return -np.mean(each)

    np.testing.assert_allclose(got, solve_on_simplex(objective, n), atol=1e-4)


def test_one_number_of_samples_for_all_or_each():
    sampled = sample_ranks(np.arange(1, 1001), 1000, 30, rng=0)
    for replacement in (True, False):
        one = estimate_rank_distribution(sampled, 1000, 30, replacement)
        each = estimate_rank_distribution(sampled, 1000, np.full(1000, 30), replacement)
        np.testing.assert_array_equal(one, each)


def test_all_items_show_the_exact_ranks():
    """Without replacement and with m = n - 1, the sampled rank is the rank."""
    n, exact = 5000, np.array([1, 1, 1, 4, 9, 9, 2500])
    sampled = sample_ranks(exact, n, n - 1, replacement=False, rng=0)
    got = estimate_rank_distribution(sampled, n, n - 1, replacement=False)
    np.testing.assert_allclose(got, np.bincount(exact - 1, minlength=n) / 7, atol=1e-14)


def test_the_rank_of_one_user_is_known_whatever_is_known_of_the_others():
    n, m = 5000, np.array([3, 3, 3, 3, 4999])
    sampled = [sample_ranks(2500, n, int(s), replacement=False, rng=5)[()] for s in m]
    got = estimate_rank_distribution(sampled, n, m, replacement=False)
    assert got[2499] > 0.2
    assert np.argmax(got) == 2499


@pytest.mark.parametrize(
    ("m", "replacement"), [(100, True), (400, True), (100, False), (1000, False)]
)
@pytest.mark.parametrize("tolerance", [0.03, 0.003])
def test_groups_of_ranks_stand_for_all_ranks(ranks, m, replacement, tolerance):
    """The same climb with a row for each rank leads to the same metrics.

    The users alone, were their ranks known, would leave a standard error of 0.005 and more.
    """
    sampled = sample_ranks(ranks, N, m, replacement, rng=2)
    every = np.arange(1, N + 1)
    seen = np.unique(sampled)
    p = rank_distribution(every, N, m, replacement)[:, seen - 1]
    f = shares_of(sampled, m)[seen - 1]
    pi, factor = np.full(N, 1 / N), np.full(N, np.inf)
    while factor.max() > 1 + tolerance:
        factor = p @ (f / (pi @ p))
        pi = pi * factor if factor.max() > 1 + tolerance else pi
    got = estimate_rank_distribution(sampled, N, m, replacement, tolerance=tolerance)
    assert np.abs(got - pi).sum() / 2 < 0.03
    for metric in METRICS:
        assert got @ metric(every, N) == pytest.approx(pi @ metric(every, N), abs=3e-4)


def test_a_million_items():
    every = np.geomspace(1, 10**6, 2000).astype(int)
    sampled = sample_ranks(every, 10**6, 3000, rng=0)
    pi = estimate_rank_distribution(sampled, 10**6, 3000)
    assert pi.shape == (10**6,)
    assert pi.sum() == pytest.approx(1)
    auc = pi @ AUC()(np.arange(1, 10**6 + 1), 10**6)
    assert auc == pytest.approx(AUC().mean(every, 10**6), abs=0.01)


# --- maximal entropy


def entropy_objective(pi, p, f, gamma):
    fit = len(f) * f @ (pi @ p - f) ** 2
    return fit + gamma * (pi * np.log(np.maximum(pi, 1e-300))).sum()


@pytest.mark.parametrize("gamma", [1, 0.1, 0.02])
@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("sampled", [[1, 1, 1, 2, 4], [4], [1, 2, 2, 3, 3, 3, 4]])
def test_entropy_against_another_solver(gamma, replacement, sampled):
    n, m = 7, 3
    got = estimate_rank_distribution(sampled, n, m, replacement, method="entropy", gamma=gamma)
    p, f = (
        rank_distribution(np.arange(1, n + 1), n, m, replacement),
        shares_of(np.array(sampled), m),
    )
    want = solve_on_simplex(lambda pi: entropy_objective(pi, p, f, gamma), n)
    np.testing.assert_allclose(got, want, atol=2e-5)
    assert entropy_objective(got, p, f, gamma) <= entropy_objective(want, p, f, gamma) + 1e-9


@pytest.mark.parametrize("gamma", [0.1, 0.01, 0.001])
def test_entropy_at_scale_meets_its_first_order_condition(ranks, gamma):
    """The derivative of the objective is the same in the direction of every rank."""
    sampled = sample_ranks(ranks, N, M, rng=3)
    pi = estimate_rank_distribution(sampled, N, M, method="entropy", gamma=gamma)
    # Ranks in a group have one share: the middle one stands for them.
    ends = np.append(np.flatnonzero(np.diff(pi)) + 1, N)
    sizes = np.diff(ends, prepend=0)
    middle = ends - sizes // 2
    p, f = rank_distribution(middle, N, M), shares_of(sampled, M)
    fitted = (pi[middle - 1] * sizes) @ p
    derivative = p @ (2 * (M + 1) * f * (fitted - f)) + gamma * np.log(pi[middle - 1])
    assert len(ends) < N / 5
    assert np.ptp(derivative) < 1e-5


def test_much_entropy_is_uniform():
    sampled = sample_ranks([1] * 50, 1000, 20, rng=0)
    pi = estimate_rank_distribution(sampled, 1000, 20, method="entropy", gamma=1e6)
    np.testing.assert_allclose(pi, 1 / 1000, rtol=1e-4)


# --- estimators with a learned prior


@given(data=st.data())
def test_a_prior_that_explains_the_shares_is_believed(data):
    """If f = A'p, then the bias-variance and the multinomial estimate are the prior's metric."""
    n = data.draw(st.integers(3, 30))
    m = data.draw(st.integers(1, 6))
    prior = np.array(data.draw(st.lists(st.floats(0.01, 1), min_size=n, max_size=n)))
    prior /= prior.sum()
    metric = data.draw(st.sampled_from(METRICS))
    gamma = data.draw(st.floats(0.01, 1))
    every = np.arange(1, n + 1)
    f, want = prior @ rank_distribution(every, n, m), prior @ metric(every, n)
    for estimator in (BiasVariance(gamma), Multinomial(n_users=round(1 / gamma))):
        got = f @ estimator.fit(metric, n, m, prior=prior).values
        assert got == pytest.approx(want, abs=1e-9)


def test_the_mean_given_the_sampled_rank_is_one_more_step(ranks):
    """Equation 26 with a learned prior multiplies it by its factors."""
    n, m = 200, 10
    sampled = sample_ranks(np.minimum(ranks, n), n, m, rng=0)
    pi = estimate_rank_distribution(sampled, n, m, tolerance=0.1)
    every = np.arange(1, n + 1)
    p = rank_distribution(every, n, m)
    step = pi * (p @ (shares_of(sampled, m) / (pi @ p)))
    for metric in METRICS:
        got = BiasVariance(gamma=1).fit(metric, n, m, prior=pi)(sampled).mean()
        assert got == pytest.approx(step @ metric(every, n), abs=1e-12)


@pytest.mark.parametrize("metric", [Recall(k=1), AveragePrecision(), NDCG(k=2)], ids=str)
@pytest.mark.parametrize("replacement", [True, False])
def test_multinomial_minimizes_the_expected_loss(metric, replacement):
    """All samples of four users, one by one; the loss of each rank's part in the mean."""
    n, m, exact = 3, 2, np.array([1, 1, 2, 3])
    prior = np.bincount(exact - 1) / len(exact)
    p = rank_distribution(exact, n, m, replacement)
    outcomes = np.array(list(product(range(m + 1), repeat=len(exact))))
    chance = np.prod(p[np.arange(len(exact)), outcomes], axis=1)

    def loss(values):
        total = 0
        for rank in range(1, n + 1):
            part = values[outcomes[:, exact == rank]].sum(axis=1) / len(exact)
            wanted = prior[rank - 1] * metric(rank)
            total += chance @ (part - wanted) ** 2 / prior[rank - 1]
        return total

    want = minimize(loss, np.zeros(m + 1), options={"gtol": 1e-10}).x
    got = Multinomial(n_users=len(exact)).fit(metric, n, m, replacement, prior).values
    np.testing.assert_allclose(got, want, atol=1e-6)


@pytest.mark.parametrize("metric", METRICS, ids=str)
@pytest.mark.parametrize("replacement", [True, False])
def test_multinomial_under_a_uniform_prior_is_bias_variance(metric, replacement):
    n, m, users = 3541, 100, 10_000
    got = Multinomial(users).fit(metric, n, m, replacement).values
    want = BiasVariance(gamma=n / users).fit(metric, n, m, replacement).values
    np.testing.assert_allclose(got, want, atol=1e-9 * np.abs(want).max())
    every_rank = Multinomial(users).fit(metric, n, m, replacement, prior=np.full(n, 1 / n)).values
    np.testing.assert_allclose(every_rank, want, atol=1e-9 * np.abs(want).max())


def test_multinomial_is_the_formula_of_its_authors():
    """Also where the prior leaves nothing: W = (A'DA - A'A / M + diag(A'1) / M)^-1 A'D."""
    n, m, users = 400, 20, 5000
    prior = np.where(np.arange(n) % 3, 1 / np.arange(1, n + 1), 0)
    prior /= prior.sum()
    a = rank_distribution(np.arange(1, n + 1), n, m)
    matrix = a.T * prior @ a - a.T @ a / users + np.diag(a.sum(axis=0)) / users
    w = np.linalg.solve(matrix, a.T * prior)
    for metric in METRICS:
        want = w @ metric(np.arange(1, n + 1), n)
        got = Multinomial(users).fit(metric, n, m, prior=prior).values
        np.testing.assert_allclose(got, want, atol=1e-9)


# --- mapped cutoffs


@pytest.mark.parametrize("a", [1, 0.5, 0.2])
def test_the_beta_mapping_is_exact_for_its_distribution(a):
    """(r - 1)/(n - 1) at the quantiles of Beta(a, 1), whose distribution function is x^a."""
    n, m = 10**7, 20
    quantile = ((np.arange(2000) + 0.5) / 2000) ** (1 / a)
    ranks = 1 + np.round((n - 1) * quantile).astype(int)
    for k, cutoff in enumerate(MappedCutoff("beta", a).cutoffs(n, m), start=1):
        sampled = expected_metric(Recall(k), ranks, n, m).mean()
        assert sampled == pytest.approx(Recall(max(int(cutoff), 1)).mean(ranks), abs=1.5e-3)


def test_cutoffs():
    k = np.arange(1, 11)
    want = 1 + 99 * k / 10
    np.testing.assert_allclose(MappedCutoff("beta", a=1).cutoffs(100, 9), want)
    np.testing.assert_allclose(MappedCutoff("linear").cutoffs(100, 9), 1 + 11 * (k - 1))
    np.testing.assert_allclose(MappedCutoff("bound").cutoffs(100, 9), 1 + 11 * (k - 0.5))
    for a in (0.01, 0.2, 3):
        cutoffs = MappedCutoff("beta", a).cutoffs(10**6, 1000)
        assert (np.diff(cutoffs) > 0).all()
        assert cutoffs[-1] == pytest.approx(10**6)


@pytest.mark.parametrize("mapping", ["linear", "bound", "beta"])
@pytest.mark.parametrize("k", [1, 10, 50, 500, N])
def test_mapped_cutoff_is_recall_at_the_nearest(mapping, k):
    estimator = MappedCutoff(mapping, a=0.5)
    values = estimator.fit(Recall(k), N, M).values
    nearest = int(values.sum())
    np.testing.assert_array_equal(values, Recall(nearest)(np.arange(1, M + 2)))
    off = np.abs(estimator.cutoffs(N, M) - k)
    assert off[nearest - 1] == off.min()


def test_linear_mapping_of_the_first_cutoff_is_the_rank_estimate():
    """Both count sampled rank 1 only, for any cutoff below the second one mapped."""
    for k in (1, 10, 18):
        mapped = MappedCutoff("linear").fit(Recall(k), N, M)
        np.testing.assert_array_equal(mapped.values, RankEstimate().fit(Recall(k), N, M).values)


# --- adaptive samples


def outcomes(n, rank, sizes, replacement):
    """Return the probability of each (sampled rank, samples), from all orders of all draws."""
    others = [r for r in range(1, n + 1) if r != rank]
    draws = product(others, repeat=sizes[-1]) if replacement else permutations(others, sizes[-1])
    found = Counter()
    for draw in draws:
        hits = {s: sum(r < rank for r in draw[:s]) for s in sizes}
        stop = next((s for s in sizes if hits[s]), sizes[-1])
        found[1 + hits[stop], stop] += 1
    return {pair: count / found.total() for pair, count in found.items()}


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("rank", [1, 2, 4, 6])
def test_adaptive_samples_against_all_draws(replacement, rank):
    """Chi-square tests of 20,000 draws with fixed seeds, at a false alarm in 10**4 each."""
    sizes = (1, 3, 5)
    sampled, samples = sample_adaptively([rank] * 20_000, 6, sizes, replacement, rng=rank)
    counted = Counter(zip(sampled.tolist(), samples.tolist(), strict=True))
    want = outcomes(6, rank, sizes, replacement)
    assert set(counted) <= set(want)
    if len(want) > 1:
        observed = [counted[pair] for pair in want]
        assert chisquare(observed, [20_000 * p for p in want.values()]).pvalue > 1e-4


@pytest.mark.parametrize("replacement", [True, False])
def test_the_rule_to_go_on_leaves_the_likelihood_alone(replacement):
    """EM on probabilities of whole histories, the rule included, gives the same estimate."""
    n, sizes = 6, (1, 3, 5)
    paths = [outcomes(n, rank, sizes, replacement) for rank in range(1, n + 1)]
    sampled, samples = sample_adaptively([1, 1, 2, 4, 6] * 40, n, sizes, replacement, rng=0)
    pairs = list(zip(sampled.tolist(), samples.tolist(), strict=True))
    p = np.array([[path.get(pair, 0) for pair in pairs] for path in paths])
    pi = np.full(n, 1 / n)
    while (factor := (p / (pi @ p)).mean(axis=1)).max() > 1 + 1e-3:
        pi = pi * factor
    got = estimate_rank_distribution(sampled, n, samples, replacement, tolerance=1e-3)
    np.testing.assert_allclose(got, pi, atol=1e-12)


def test_adaptive_samples_keep_the_shape_and_their_own_number_of_items():
    ranks, n_items = np.array([[1, 40], [7, 3000]]), np.array([[50, 40], [5000, 3000]])
    sampled, samples = sample_adaptively(ranks, n_items, (10, 30), rng=0)
    assert sampled.shape == samples.shape == ranks.shape
    assert samples[0, 0] == 30
    assert sampled[0].tolist() == [1, 11]
    assert sampled[1, 1] == 11


def test_a_seed_is_one_generator_for_all_steps():
    ranks, sizes = np.arange(1, 500), (2, 4, 8)
    one = sample_adaptively(ranks, 500, sizes, rng=1)
    other = sample_adaptively(ranks, 500, sizes, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(one, other)


def test_one_size_is_a_plain_sample():
    ranks = np.arange(1, 500)
    sampled, samples = sample_adaptively(ranks, 500, [25], rng=4)
    np.testing.assert_array_equal(sampled, sample_ranks(ranks, 500, 25, rng=4))
    assert (samples == 25).all()


def test_where_users_are_looked_at_closely_their_rank_is_known():
    """A tenth of the users at rank 1, the others far: adaptive samples tell, plain ones do not."""
    exact = np.concatenate([np.ones(300, dtype=int), np.linspace(30, N, 2700).astype(int)])
    sampled, samples = sample_adaptively(exact, N, rng=0)
    adaptive = estimate_rank_distribution(sampled, N, samples)[0]
    plain = estimate_rank_distribution(sample_ranks(exact, N, M, rng=0), N, M)[0]
    assert abs(adaptive - 0.1) < 0.005
    assert abs(plain - 0.1) > 0.05


# --- bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sampled_ranks": []}, "sampled_ranks is empty; there is nothing to learn from"),
        ({"sampled_ranks": [1, 0]}, r"sampled_ranks\[1\] is 0; .* at least 1"),
        ({"sampled_ranks": [12]}, r"sampled_ranks\[0\] is 12; .* at most n_samples \+ 1"),
        ({"sampled_ranks": [5, 5], "n_samples": [4, 3]}, r"sampled_ranks\[1\] is 5; .* at most"),
        ({"sampled_ranks": [1.5]}, r"sampled_ranks\[0\] is 1.5; sampled_ranks must be whole"),
        (
            {"n_items": 2},
            r"sampled_ranks\[1\] is 2; .* 1 or n_samples \+ 1 where n_items is 2",
        ),
        ({"n_items": 1}, "n_items is 1; n_items must be at least 2"),
        ({"n_samples": 0}, "n_samples is 0; n_samples must be at least 1"),
        ({"n_samples": [5, 5]}, r"n_samples has shape \(2,\), .* one number or one per rank"),
        (
            {"n_samples": 20, "replacement": False},
            "n_samples is 20; n_samples must be at most n_items - 1, 19, without replacement",
        ),
        ({"replacement": 1}, "replacement is 1; replacement must be True or False"),
        ({"method": "mle"}, "method is 'mle'; method must be one of likelihood, entropy"),
        ({"tolerance": 0}, "tolerance is 0; tolerance must be positive"),
        ({"gamma": -1}, "gamma is -1; gamma must be positive"),
        (
            {"method": "entropy", "n_samples": [10, 10, 10]},
            r'n_samples has shape \(3,\); n_samples must be one number where method is "entropy"',
        ),
    ],
)
def test_bad_input(arguments, message):
    good = {"sampled_ranks": [1, 2, 11], "n_items": 20, "n_samples": 10}
    with pytest.raises(ValueError, match=message):
        estimate_rank_distribution(**{**good, **arguments})


def test_a_tolerance_that_is_never_reached(monkeypatch):
    monkeypatch.setattr("sampled_metrics.learning.MAX_ITERATIONS", 10)
    with pytest.raises(ValueError, match="tolerance is 1e-05; tolerance must be larger: 10 steps"):
        estimate_rank_distribution([1, 1, 2, 11], 50, 10, tolerance=1e-5)


@pytest.mark.parametrize("gamma", [1e-30, 1e300])
def test_a_gamma_that_is_never_reached(gamma):
    with pytest.raises(ValueError, match=r"gamma must be nearer to 0\.01: the solver"):
        estimate_rank_distribution([1, 1, 2, 11], 50, 10, method="entropy", gamma=gamma)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sizes": []}, "sizes is .*; sizes must be a flat list of numbers"),
        ({"sizes": 100}, "sizes is 100; sizes must be a flat list of numbers"),
        ({"sizes": [10, 10]}, r"sizes\[1\] is 10; sizes must be ascending"),
        ({"sizes": [0, 10]}, r"sizes\[0\] is 0; sizes must be at least 1"),
        ({"ranks": [1, 21]}, "ranks.* is 21; ranks must be at most n_items"),
        ({"ranks": [0]}, r"ranks\[0\] is 0; ranks must be at least 1"),
        ({"n_items": 1}, "n_items is 1; n_items must be at least 2"),
        (
            {"sizes": [10, 20], "replacement": False},
            "n_samples is 20; without replacement it must be at most n_items - 1, 19",
        ),
        ({"rng": None}, "rng is None; rng must be an integer seed"),
    ],
)
def test_bad_adaptive_input(arguments, message):
    good = {"ranks": [1, 2], "n_items": 20, "sizes": [5, 10], "rng": 0}
    with pytest.raises(ValueError, match=message):
        sample_adaptively(**{**good, **arguments})


def test_bad_estimators():
    with pytest.raises(ValueError, match="n_users is 0; n_users must be at least 1"):
        Multinomial(n_users=0)
    with pytest.raises(ValueError, match="mapping is 'cubic'; mapping must be one of linear"):
        MappedCutoff("cubic")
    with pytest.raises(ValueError, match="a is 0; a must be positive"):
        MappedCutoff(a=0)
    for metric in (NDCG(k=10), AveragePrecision(), AUC(), Precision(k=10)):
        with pytest.raises(ValueError, match=r"metric is .*; MappedCutoff estimates Recall only"):
            MappedCutoff().fit(metric, N, M)
    with pytest.raises(ValueError, match="n_items is 1; n_items must be at least 2"):
        MappedCutoff().cutoffs(1, 5)
    with pytest.raises(ValueError, match="n_samples is 0; n_samples must be at least 1"):
        MappedCutoff().cutoffs(5, 0)


def test_cutoffs_of_a_steep_beta():
    cutoffs = MappedCutoff("beta", 150.0).cutoffs(1000, 1000)
    assert (np.diff(cutoffs) > 0).all()
    assert cutoffs[-1] == pytest.approx(1000)


def test_multinomial_where_a_sampled_rank_is_impossible():
    with pytest.raises(ValueError, match="leads to sampled rank 2; its estimate is undefined"):
        Multinomial(100).fit(Recall(k=1), 2, 3)
