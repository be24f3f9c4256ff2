"""From sampled ranks to the distribution of the exact ones."""

from collections import Counter
from itertools import permutations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import chisquare

from sampled_metrics import AUC, Draw, Ranks
from sampled_metrics.corrections import estimate_rank_distribution, sample_adaptively
from shared import MORE_CUTOFFS

N, M = 3706, 100
DRAW = Draw(M, n_items=N)


@pytest.fixture(scope="module")
def ranks():
    """Exact ranks of users, with a density that falls like 1/r."""
    return np.geomspace(1, N, 3000).astype(int)


def shares_of(sampled, m):
    return np.bincount(sampled - 1, minlength=m + 1) / len(sampled)


def log_likelihood(pi, sampled, draw):
    p = draw.pmf(np.arange(1, len(pi) + 1))
    return np.log(pi @ p)[sampled - 1].mean()


def solve_on_simplex(objective, n):
    """Minimize by a solver that knows nothing of the problem."""
    return minimize(  # type: ignore[call-overload]
        objective,
        np.full(n, 1 / n),
        method="SLSQP",
        bounds=[(1e-12, 1)] * n,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
        options={"ftol": 1e-15, "maxiter": 10_000},
    ).x


def climb(p, tolerance):
    """Maximize the likelihood by EM with a row for each rank and a column for each user."""
    pi, factor = np.full(len(p), 1 / len(p)), np.full(len(p), np.inf)
    while factor.max() > 1 + tolerance:
        factor = (p / (pi @ p)).mean(axis=1)
        pi = pi * factor if factor.max() > 1 + tolerance else pi
    return pi


# --- maximum likelihood


def test_likelihood_never_falls_and_stops_where_it_says(ranks):
    """A smaller tolerance is a later step of the same climb, and bounds how far the top is."""
    sampled = DRAW.rvs(ranks, rng=0)
    tolerances = [0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001]
    reached = [
        log_likelihood(estimate_rank_distribution(sampled, DRAW, tolerance=t), sampled, DRAW)
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
    draw = Draw(m, n_items=n, replacement=replacement)
    pi = estimate_rank_distribution(sampled, draw, tolerance=1e-4)
    p = draw.pmf(np.arange(1, n + 1))
    factor = (p[:, sampled - 1] / (pi @ p)[sampled - 1]).mean(axis=1)
    assert (pi >= 0).all()
    assert pi.sum() == pytest.approx(1)
    assert factor.max() <= 1 + 1.001e-4
    assert pi @ factor == pytest.approx(1)
    assert pi[factor < 0.9].sum() <= 2e-3


@pytest.mark.parametrize("replacement", [True, False])
def test_likelihood_against_another_solver(replacement):
    """Few ranks and many samples, so that the maximum is one point."""
    draw = Draw(8 if replacement else 4, n_items=5, replacement=replacement)
    sampled = draw.rvs([1, 1, 1, 2, 3, 3, 5] * 30, rng=1)
    got = estimate_rank_distribution(sampled, draw, tolerance=1e-7)
    want = solve_on_simplex(lambda pi: -log_likelihood(pi, sampled, draw), 5)
    np.testing.assert_allclose(got, want, atol=1e-4)


def test_likelihood_with_samples_of_many_sizes_against_another_solver():
    n, m = 4, np.repeat([3, 7, 20], 60)
    exact = np.tile([1, 2, 4], 60)
    draws = {s: Draw(s, n_items=n) for s in (3, 7, 20)}
    sampled = np.concatenate([draw.rvs(exact[m == s], rng=s) for s, draw in draws.items()])
    got = estimate_rank_distribution(sampled, draws[20], n_samples=m, tolerance=1e-7)

    def objective(pi):
        return -np.mean([log_likelihood(pi, sampled[m == s], d) for s, d in draws.items()])

    np.testing.assert_allclose(got, solve_on_simplex(objective, n), atol=1e-4)


def test_one_number_of_samples_or_items_for_all_or_each():
    for replacement in (True, False):
        draw = Draw(30, n_items=1000, replacement=replacement)
        sampled = draw.rvs(np.arange(1, 1001), rng=0)
        one = estimate_rank_distribution(sampled, draw)
        for n_samples in (30, np.full(1000, 30)):
            each = estimate_rank_distribution(sampled, draw, n_samples=n_samples)
            np.testing.assert_array_equal(one, each)
        by_user = Draw(30, n_items=np.full(1000, 1000), replacement=replacement)
        np.testing.assert_array_equal(one, estimate_rank_distribution(sampled, by_user))
        one, each = (
            estimate_rank_distribution(sampled, d, method="entropy") for d in (draw, by_user)
        )
        np.testing.assert_array_equal(one, each)


def test_a_draw_that_ended_early_is_a_smaller_draw():
    sampled = Draw(30, n_items=1000).rvs(np.arange(1, 1001), rng=0)
    for method in ("likelihood", "entropy"):
        np.testing.assert_array_equal(
            estimate_rank_distribution(
                sampled, Draw(99, n_items=1000), n_samples=30, method=method
            ),
            estimate_rank_distribution(sampled, Draw(30, n_items=1000), method=method),
        )


def test_the_shape_of_the_users_does_not_matter():
    n, m = np.array([[50, 40, 60], [60, 50, 40]]), np.array([[9, 5, 9], [5, 5, 9]])
    sampled = np.array([[1, 2, 10], [3, 6, 1]])
    got = estimate_rank_distribution(sampled, Draw(9, n_items=n), n_samples=m)
    want = estimate_rank_distribution(
        sampled.ravel(), Draw(9, n_items=n.ravel()), n_samples=m.ravel()
    )
    np.testing.assert_array_equal(got, want)


def test_all_items_show_the_exact_ranks():
    """Without replacement and with m = n - 1, the sampled rank is the rank."""
    n, exact = 5000, np.array([1, 1, 1, 4, 9, 9, 2500])
    draw = Draw(n - 1, n_items=n, replacement=False)
    got = estimate_rank_distribution(draw.rvs(exact, rng=0), draw)
    np.testing.assert_allclose(got, np.bincount(exact - 1, minlength=n) / 7, atol=1e-14)


def test_the_rank_of_one_user_is_known_whatever_is_known_of_the_others():
    n, m = 5000, np.array([3, 3, 3, 3, 4999])
    draws = [Draw(int(s), n_items=n, replacement=False) for s in m]
    sampled = [draw.rvs(2500, rng=5) for draw in draws]
    got = estimate_rank_distribution(sampled, draws[-1], n_samples=m)
    assert got[2499] > 0.2
    assert np.argmax(got) == 2499


@pytest.mark.parametrize(
    ("m", "replacement"), [(100, True), (400, True), (100, False), (1000, False)]
)
@pytest.mark.parametrize("tolerance", [0.03, 0.003])
def test_groups_of_ranks_represent_all_ranks(ranks, m, replacement, tolerance):
    """The same climb with a row for each rank leads to the same metrics.

    The users alone, were their ranks known, would leave a standard error of 0.005 and more.
    """
    draw, every = Draw(m, n_items=N, replacement=replacement), np.arange(1, N + 1)
    sampled = draw.rvs(ranks, rng=2)
    seen = np.unique(sampled)
    p = draw.pmf(every)[:, seen - 1]
    f = shares_of(sampled, m)[seen - 1]
    pi, factor = np.full(N, 1 / N), np.full(N, np.inf)
    while factor.max() > 1 + tolerance:
        factor = p @ (f / (pi @ p))
        pi = pi * factor if factor.max() > 1 + tolerance else pi
    got = estimate_rank_distribution(sampled, draw, tolerance=tolerance)
    assert np.abs(got - pi).sum() / 2 < 0.03
    for metric in MORE_CUTOFFS:
        assert got @ metric(every, N) == pytest.approx(pi @ metric(every, N), abs=3e-4)


def test_a_million_items():
    every, draw = np.geomspace(1, 10**6, 2000).astype(int), Draw(3000, n_items=10**6)
    pi = estimate_rank_distribution(draw.rvs(every, rng=0), draw)
    assert pi.shape == (10**6,)
    assert pi.sum() == pytest.approx(1)
    auc = pi @ AUC()(np.arange(1, 10**6 + 1), 10**6)
    assert auc == pytest.approx(AUC().mean(every, 10**6), abs=0.01)


# --- users with different numbers of items


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize(("low", "high", "m"), [(5, 12, 4), (300, 900, 30), (2000, 2003, 20)])
def test_own_numbers_of_items_against_a_row_for_each_rank(low, high, m, replacement):
    rng = np.random.default_rng(0)
    n = rng.integers(low, high + 1, 300)
    draw = Draw(m, n_items=n, replacement=replacement)
    sampled = draw.rvs(1 + (n * rng.random(300) ** 2).astype(int), rng=rng)
    p = np.zeros((n.max(), 300))
    for x in range(300):
        every = np.arange(1, n[x] + 1)
        p[: n[x], x] = Draw(m, n_items=n[x], replacement=replacement).pmf(every)[:, sampled[x] - 1]
    got, want = estimate_rank_distribution(sampled, draw, tolerance=0.01), climb(p, 0.01)
    assert got.shape == (n.max(),)
    assert got.sum() == pytest.approx(1)
    assert np.abs(got - want).sum() / 2 < 0.02
    for k in (1, 10, 50, 200):
        assert got[:k].sum() == pytest.approx(want[:k].sum(), abs=1e-3)


def test_no_user_is_behind_their_own_last_item():
    """All users are last of their items, as a sample of all of them shows."""
    n = np.repeat([40, 70, 95], [50, 30, 20])
    got = estimate_rank_distribution(np.full(100, 40), Draw(39, n_items=n, replacement=False))
    assert got[39] == pytest.approx(0.5)
    assert got[:39].sum() == pytest.approx(0, abs=1e-10)
    assert got.shape == (95,)


def test_the_mean_number_of_items_is_not_good_enough():
    """Half of the users have 200 items and rank 5, the others 20,000 and rank 5,000."""
    n, exact = np.repeat([200, 20_000], 500), np.repeat([5, 5000], 500)
    draw = Draw(99, n_items=n)
    sampled = draw.rvs(exact, rng=0)
    got = estimate_rank_distribution(sampled, draw)
    pooled = estimate_rank_distribution(sampled, Draw(99, n_items=round(n.mean())))
    assert got[:20].sum() == pytest.approx(0.5, abs=0.05)
    assert pooled[:20].sum() < 0.2


# --- maximal entropy


def entropy_objective(pi, p, f, gamma):
    fit = len(f) * f @ (pi @ p - f) ** 2
    return fit + gamma * (pi * np.log(np.maximum(pi, 1e-300))).sum()


@pytest.mark.parametrize("gamma", [1, 0.1, 0.02])
@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("sampled", [[1, 1, 1, 2, 4], [4], [1, 2, 2, 3, 3, 3, 4]])
def test_entropy_against_another_solver(gamma, replacement, sampled):
    n, m = 7, 3
    draw = Draw(m, n_items=n, replacement=replacement)
    got = estimate_rank_distribution(sampled, draw, method="entropy", gamma=gamma)
    p, f = draw.pmf(np.arange(1, n + 1)), shares_of(np.array(sampled), m)
    want = solve_on_simplex(lambda pi: entropy_objective(pi, p, f, gamma), n)
    np.testing.assert_allclose(got, want, atol=2e-5)
    assert entropy_objective(got, p, f, gamma) <= entropy_objective(want, p, f, gamma) + 1e-9


@pytest.mark.parametrize("gamma", [0.1, 0.01, 0.001])
def test_entropy_at_scale_meets_its_first_order_condition(ranks, gamma):
    """The derivative of the objective is the same in the direction of every rank."""
    sampled = DRAW.rvs(ranks, rng=3)
    pi = estimate_rank_distribution(sampled, DRAW, method="entropy", gamma=gamma)
    # Ranks in a group have one share: the middle one represents them.
    ends = np.append(np.flatnonzero(np.diff(pi)) + 1, N)
    sizes = np.diff(ends, prepend=0)
    middle = ends - sizes // 2
    p, f = DRAW.pmf(middle), shares_of(sampled, M)
    fitted = (pi[middle - 1] * sizes) @ p
    derivative = p @ (2 * (M + 1) * f * (fitted - f)) + gamma * np.log(pi[middle - 1])
    assert len(ends) < N / 5
    assert np.ptp(derivative) < 1e-5


def test_much_entropy_is_uniform():
    draw = Draw(20, n_items=1000)
    sampled = draw.rvs([1] * 50, rng=0)
    pi = estimate_rank_distribution(sampled, draw, method="entropy", gamma=1e6)
    np.testing.assert_allclose(pi, 1 / 1000, rtol=1e-4)


# --- adaptive samples


def outcomes(n, rank, sizes, replacement):
    """Return the probability of each (sampled rank, samples), from all orders of all draws."""
    others = [r for r in range(1, n + 1) if r != rank]
    draws = product(others, repeat=sizes[-1]) if replacement else permutations(others, sizes[-1])
    found: Counter[Any] = Counter()
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
    sample = sample_adaptively([rank] * 20_000, 6, sizes, replacement=replacement, rng=rank)
    pairs = zip(sample.sampled_ranks.tolist(), sample.n_samples.tolist(), strict=True)
    counted, want = Counter(pairs), outcomes(6, rank, sizes, replacement)
    assert set(counted) <= set(want)
    if len(want) > 1:
        observed = [counted[pair] for pair in want]
        assert chisquare(observed, [20_000 * p for p in want.values()]).pvalue > 1e-4


@pytest.mark.parametrize("replacement", [True, False])
def test_the_rule_to_go_on_leaves_the_likelihood_alone(replacement):
    """EM on probabilities of whole histories, the rule included, gives the same estimate."""
    n, sizes = 6, (1, 3, 5)
    paths = [outcomes(n, rank, sizes, replacement) for rank in range(1, n + 1)]
    exact = [1, 1, 2, 4, 6] * 40
    sampled, samples = sample_adaptively(exact, n, sizes, replacement=replacement, rng=0)
    pairs = list(zip(sampled.tolist(), samples.tolist(), strict=True))
    p = np.array([[path.get(pair, 0) for pair in pairs] for path in paths])
    draw = Draw(5, n_items=n, replacement=replacement)
    got = estimate_rank_distribution(sampled, draw, n_samples=samples, tolerance=1e-3)
    np.testing.assert_allclose(got, climb(p, 1e-3), atol=1e-12)


def test_adaptive_samples_keep_the_shape_and_their_own_number_of_items():
    ranks, n_items = np.array([[1, 40], [7, 3000]]), np.array([[50, 40], [5000, 3000]])
    sampled, samples = sample_adaptively(ranks, n_items, (10, 30), rng=0)
    assert sampled.shape == samples.shape == ranks.shape
    assert samples[0, 0] == 30
    assert sampled[0].tolist() == [1, 11]
    assert sampled[1, 1] == 11
    one = sample_adaptively(1, 50, (10, 30), rng=0)
    assert one.sampled_ranks.shape == one.n_samples.shape == ()


def test_ranks_that_know_their_number_of_items():
    ranks, n = np.array([1, 40, 7, 900]), np.array([50, 40, 5000, 3000])
    want = sample_adaptively(ranks, n, (10, 30), rng=0)
    known = Ranks(ranks, 0, n)
    for given_ in (Ranks.from_lists(ranks[:, None], n_items=n), known.break_ties("random")):
        np.testing.assert_array_equal(sample_adaptively(given_, sizes=(10, 30), rng=0), want)
    tied = sample_adaptively(known, sizes=(10, 30), rng=0)
    assert tied.sampled_ranks[[0, 1]].tolist() == [1, 11]


def test_ties_are_broken_at_random():
    """First or last of two: half of the users never have an item above."""
    tied = Ranks(np.ones(4000, dtype=int), n_tied=1, n_items=2)
    sampled, samples = sample_adaptively(tied, sizes=(2, 4), rng=0)
    assert set(zip(sampled.tolist(), samples.tolist(), strict=True)) == {(1, 4), (3, 2)}
    assert (sampled == 1).mean() == pytest.approx(0.5, abs=0.04)


def test_a_seed_is_one_generator_for_all_steps():
    ranks, sizes = np.arange(1, 500), (2, 4, 8)
    one = sample_adaptively(ranks, 500, sizes, rng=1)
    for same in (np.random.default_rng(1), np.random.SeedSequence(1)):
        np.testing.assert_array_equal(one, sample_adaptively(ranks, 500, sizes, rng=same))
    fresh = [sample_adaptively(ranks, 500, sizes).sampled_ranks for _ in range(2)]
    assert (fresh[0] != fresh[1]).any()


def test_one_size_is_a_plain_sample():
    ranks = np.arange(1, 500)
    sampled, samples = sample_adaptively(ranks, 500, [25], rng=4)
    np.testing.assert_array_equal(sampled, Draw(25, n_items=500).rvs(ranks, rng=4))
    assert (samples == 25).all()


def test_where_users_are_looked_at_closely_their_rank_is_known():
    """A tenth of the users at rank 1, the others far: adaptive samples tell, plain ones do not."""
    exact = np.concatenate([np.ones(300, dtype=int), np.linspace(30, N, 2700).astype(int)])
    sampled, samples = sample_adaptively(exact, N, rng=0)
    adaptive = estimate_rank_distribution(sampled, Draw(3200, n_items=N), n_samples=samples)[0]
    plain = estimate_rank_distribution(DRAW.rvs(exact, rng=0), DRAW)[0]
    assert abs(adaptive - 0.1) < 0.005
    assert abs(plain - 0.1) > 0.05


# --- bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sampled_ranks": []}, "sampled_ranks is empty; sampled_ranks must hold a rank"),
        ({"sampled_ranks": [1, 0]}, r"sampled_ranks\[1\] is 0; .* at least 1"),
        ({"sampled_ranks": [12]}, r"sampled_ranks\[0\] is 12; .* at most n_samples \+ "),
        ({"sampled_ranks": [5, 5], "n_samples": [4, 3]}, r"sampled_ranks\[1\] is 5; .* at most"),
        ({"sampled_ranks": [1.5]}, r"sampled_ranks\[0\] is 1.5; sampled_ranks must be whole"),
        ({"sampled_ranks": Ranks([1], 1, 11)}, "sampled_ranks has ties; break them"),
        ({"sampled_ranks": Ranks.from_lists([[1, 2]])}, r"sampled_ranks\[0\] has 2 relevant items"),
        (
            {
                "sampled_ranks": pd.Series([1, 2], index=[5, 6]),
                "n_samples": pd.Series([9, 9], index=[6, 5]),
            },
            "sampled_ranks and n_samples have different indexes; align them",
        ),
        (
            {"draw": Draw(10, n_items=2)},
            r"sampled_ranks\[1\] is 2; .* 1 or n_samples \+ 1 where n_items is 2",
        ),
        ({"draw": 10}, "draw is 10; draw must be a Draw, such as Draw"),
        ({"draw": Draw(10)}, r"draw.n_items is None; .* Draw\(10, n_items=...\)"),
        (
            {"draw": Draw(10, n_items=[20, 30])},
            r"draw.n_items has shape \(2,\), sampled_ranks has shape \(3,\); .* one for each",
        ),
        ({"n_samples": 0}, "n_samples is 0; n_samples must be at least 1"),
        ({"n_samples": [9, 11, 9]}, r"n_samples\[1\] is 11; .* at most draw.n_samples, 10"),
        ({"n_samples": [5, 5]}, r"n_samples has shape \(2,\), .* one number or one for each"),
        ({"method": "mle"}, "method is 'mle'; method must be one of 'likelihood', 'entropy'"),
        ({"tolerance": 0}, "tolerance is 0; tolerance must be positive"),
        ({"gamma": -1}, "gamma is -1; gamma must be positive"),
        (
            {"method": "entropy", "n_samples": [10, 9, 10], "sampled_ranks": [1, 2, 3]},
            "n_samples.* is 9; .* unless method is .likelihood., 10",
        ),
        (
            {"method": "entropy", "draw": Draw(10, n_items=[20, 20, 25])},
            "draw.n_items.* is 25; .* unless method is .likelihood., 20",
        ),
    ],
)
def test_bad_input(arguments, message):
    good = {"sampled_ranks": [1, 2, 11], "draw": Draw(10, n_items=20)}
    with pytest.raises(ValueError, match=message):
        estimate_rank_distribution(**{**good, **arguments})


def test_a_tolerance_that_is_never_reached(monkeypatch):
    monkeypatch.setattr("sampled_metrics.corrections.priors.MAX_ITERATIONS", 10)
    with pytest.raises(ValueError, match="tolerance is 1e-05; tolerance must be larger: 10 steps"):
        estimate_rank_distribution([1, 1, 2, 11], Draw(10, n_items=50), tolerance=1e-5)


@pytest.mark.parametrize("gamma", [1e-30, 1e300])
def test_a_gamma_that_is_never_reached(gamma):
    with pytest.raises(ValueError, match=r"gamma must be nearer to 0\.01: the solver"):
        estimate_rank_distribution(
            [1, 1, 2, 11], Draw(10, n_items=50), method="entropy", gamma=gamma
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sizes": []}, "sizes is .*; sizes must "),
        ({"sizes": 100}, r"sizes has shape \(\); sizes must "),
        ({"sizes": [10, 10]}, r"sizes\[1\] is 10; sizes must be ascending"),
        ({"sizes": [0, 10]}, r"sizes\[0\] is 0; sizes must be at least 1"),
        ({"ranks": [1, 21]}, "ranks.* is 21; ranks must be at most n_items"),
        ({"ranks": [0]}, r"ranks\[0\] is 0; ranks must be at least 1"),
        ({"ranks": Ranks.from_lists([[1], [2, 3]])}, r"ranks\[1\] has 2 relevant items; it must"),
        (
            {"ranks": Ranks([1, 2], 0, 20, users=[3, 3])},
            r"ranks\[0\] has 2 relevant items",
        ),
        ({"ranks": Ranks([1, 2], 0, 30)}, "n_items.* is 20; .* what ranks knows, 30"),
        ({"n_items": None}, "n_items is None, and the ranks do not know it; give it"),
        ({"n_items": 1, "ranks": 1}, "n_items is 1 for instance 0; some items must be irrelevant"),
        (
            {"sizes": [10, 20], "replacement": False},
            r"sizes\[1\] is 20; sizes must be below n_items .*, 20",
        ),
        ({"replacement": 1}, "replacement is 1; replacement must be True or False"),
        ({"rng": "a"}, "rng is 'a'; rng must be None, an integer of 0 or above"),
    ],
)
def test_bad_adaptive_input(arguments, message):
    good = {"ranks": [1, 2], "n_items": 20, "sizes": [5, 10], "rng": 0}
    with pytest.raises(ValueError, match=message):
        sample_adaptively(**{**good, **arguments})
