"""The draw: the distribution of the sampled rank, expectations under it, and draws from it."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sampled_metrics import AUC, NDCG, AveragePrecision, Draw, Precision, Ranks, Recall
from sampled_metrics.sampling import expectation_over_ties
from shared import (
    DATA,
    METRICS,
    TOY,
    enumerated_pmf,
    exact_pmf,
    exact_pmf_of_tie,
    known,
    tied_places,
)

both_kinds = pytest.mark.parametrize("replacement", [True, False])


# --- the distribution


@both_kinds
@pytest.mark.parametrize(("n", "m"), [(2, 1), (5, 1), (5, 3), (6, 4), (7, 5)])
def test_is_the_count_over_all_samples(n, m, replacement):
    ranks = np.arange(1, n + 1)
    want = [enumerated_pmf(r, n, m, replacement) for r in ranks]
    got = Draw(m, n_items=n, replacement=replacement).pmf(ranks)
    np.testing.assert_allclose(got, want, rtol=1e-14, atol=1e-16)


@st.composite
def draws(draw, most_items=2**52, most_samples=60):
    n = draw(st.integers(2, most_items))
    replacement = draw(st.booleans())
    m = draw(st.integers(1, most_samples if replacement else min(most_samples, n - 1)))
    return Draw(m, n_items=n, replacement=replacement)


@given(draw=draws(), data=st.data())
def test_is_exact_to_the_last_digits_for_any_n(draw, data):
    n, m, replacement = draw.n_items, draw.n_samples, draw.replacement
    r = data.draw(st.one_of(st.integers(1, n), st.integers(1, min(n, 100))))
    got = draw.pmf(r)
    np.testing.assert_allclose(got, exact_pmf(r, n, m, replacement), rtol=2e-14, atol=1e-290)
    assert abs(got.sum() - 1) < 2e-15


@settings(max_examples=50)
@given(draw=draws(most_samples=30), data=st.data())
def test_of_ties_of_any_length_is_exact_for_any_n(draw, data):
    """Probabilities that are averaged are at most one: nothing cancels, with any length of ties."""
    n, m, replacement = draw.n_items, draw.n_samples, draw.replacement
    best = data.draw(st.one_of(st.integers(1, n), st.integers(1, min(n, 100))))
    tied = data.draw(st.one_of(st.integers(0, n - best), st.integers(0, min(n - best, 200))))
    want = exact_pmf_of_tie(best, tied, n, m, replacement)
    got = draw.pmf(Ranks([best], tied))[0]
    np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-15)
    assert abs(got.sum() - 1) < 4e-15


@both_kinds
@pytest.mark.parametrize("n", [10**6, 10**9, 10**12, 2**52])
def test_nothing_cancels_in_large_catalogs(n, replacement):
    """Shares of a top of ten among a hundred: next to nothing, with all its digits."""
    m, metric = 99, Recall(k=10)
    ranks = np.array([n // 2, n // 10, n - n // 7])
    want = [exact_pmf(r, n, m, replacement)[:10].sum() for r in ranks]
    draw = Draw(m, n_items=n, replacement=replacement)
    np.testing.assert_allclose(draw.expect(ranks, metric), want, rtol=1e-13)
    tied = Ranks(ranks, [0, n // 100, n // 7], n)
    want = [
        exact_pmf_of_tie(best, ties, n, m, replacement)[:10].sum()
        for best, ties in zip(tied.best.tolist(), tied.n_tied.tolist(), strict=True)
    ]
    np.testing.assert_allclose(
        Draw(m, replacement=replacement).expect(tied, metric), want, rtol=1e-9
    )
    everything = Draw(m, replacement=replacement).pmf(Ranks([1], n - 1, n))[0]
    if not replacement:  # each sampled rank is as likely
        np.testing.assert_allclose(everything, 1 / (m + 1), rtol=1e-12)
    assert abs(everything.sum() - 1) < 2e-15


@pytest.mark.parametrize("m", [1000, 200_000])
@pytest.mark.parametrize(("n", "r"), [(10**6, 3), (10**6, 5 * 10**5), (2**40, 2**39 + 7)])
def test_many_samples_with_replacement_against_scipy(m, n, r):
    got, want = Draw(m, n_items=n).pmf(r), stats.binom.pmf(np.arange(m + 1), m, (r - 1) / (n - 1))
    np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-16)
    assert np.abs(got - want).sum() < 1e-13


@pytest.mark.parametrize(
    ("n", "m", "r"),
    [
        (10**6, 1000, 3),
        (30_000, 1000, 15_000),
        (3000, 2990, 1500),
        (3000, 2999, 7),
        (1000, 990, 991),
    ],
)
def test_many_samples_without_replacement_in_integers(n, m, r):
    """SciPy's own hypergeometric is not exact enough to compare with."""
    got = Draw(m, n_items=n, replacement=False).pmf(r)
    np.testing.assert_allclose(got, exact_pmf(r, n, m, False), rtol=1e-13, atol=1e-290)


def test_without_replacement_nears_with_replacement_as_n_grows():
    gaps = []
    for n in (200, 2_000, 20_000, 200_000):
        with_, without = (
            Draw(50, n_items=n, replacement=flag).pmf(n // 10) for flag in (True, False)
        )
        gaps.append(np.abs(with_ - without).sum())
    assert (np.diff(gaps) < 0).all()
    assert gaps[-1] < 1e-3


def test_drawing_every_other_item_gives_the_exact_rank():
    ranks = np.arange(1, 8)
    np.testing.assert_array_equal(Draw(6, n_items=7, replacement=False).pmf(ranks), np.eye(7))


@both_kinds
def test_shape_and_n_items_per_rank(replacement):
    draw = Draw(3, n_items=[4, 5, 6], replacement=replacement)
    p = draw.pmf([[1, 2, 3], [4, 4, 4]])
    assert p.shape == (2, 3, 4)
    for column, (r, n) in enumerate([(1, 4), (2, 5), (3, 6)]):
        np.testing.assert_array_equal(
            p[0, column], Draw(3, n_items=n, replacement=replacement).pmf(r)
        )
    assert Draw(3, n_items=9, replacement=replacement).pmf(2).shape == (4,)
    assert Draw(3, n_items=9, replacement=replacement).pmf(np.empty((0, 2), int)).shape == (0, 2, 4)
    assert Draw(3, replacement=replacement).pmf(Ranks([], 0, 9)).shape == (0, 4)


# --- expectations


@pytest.mark.parametrize("metric", METRICS, ids=str)
@both_kinds
def test_expectation_is_the_mean_over_all_samples(metric, replacement):
    n, m = 6, 4
    ranks = np.arange(1, n + 1)
    sampled = metric(np.arange(1, m + 2), n_items=m + 1)
    each = np.array([enumerated_pmf(r, n, m, replacement) @ sampled for r in ranks])
    draw = Draw(m, n_items=n, replacement=replacement)
    np.testing.assert_allclose(draw.expect(ranks, metric), each, rtol=1e-12)
    tied = Ranks([1, 2, 3, 6, 1], [0, 3, 1, 0, 5], n)
    want = [each[np.array(places) - 1].mean() for places in tied_places(tied)]
    np.testing.assert_allclose(draw.expect(tied, metric), want, rtol=1e-12)
    np.testing.assert_allclose(
        Draw(m, replacement=replacement).expect(tied, metric), want, rtol=1e-12
    )


@both_kinds
@pytest.mark.parametrize(("n", "m"), [(5000, 20), (40_000, 99), (1000, 400)])
def test_expectation_of_many_ranks_is_that_of_each(replacement, n, m):
    ranks = np.linspace(1, n, 1500).astype(int)
    draw = Draw(m, n_items=n, replacement=replacement)
    p = draw.pmf(ranks)
    for metric in METRICS:
        want = p @ metric(np.arange(1, m + 2), m + 1)
        got = draw.expect(ranks, metric)
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13, err_msg=str(metric))


@both_kinds
def test_expectation_of_many_ranks_of_many_catalogs(replacement):
    """Large catalogs with many instances, small ones with few, and each has its own."""
    rng, m = np.random.default_rng(0), 30
    n_items = rng.permutation(np.repeat([31, 60, 3600, 10**6], [5, 300, 700, 700]))
    ranks = 1 + (rng.random(len(n_items)) * n_items).astype(int)
    got = Draw(m, n_items=n_items, replacement=replacement).expect(ranks, NDCG())
    sampled = NDCG()(np.arange(1, m + 2))
    for n in np.unique(n_items):
        want = Draw(m, n_items=n, replacement=replacement).pmf(ranks[n_items == n]) @ sampled
        np.testing.assert_allclose(got[n_items == n], want, rtol=1e-12)


@pytest.mark.parametrize(
    ("n", "m", "replacement"),
    [(700, 1, True), (700, 10, True), (700, 100, True), (700, 340, False), (700, 690, False)],
)
def test_long_ties_against_all_their_ranks(n, m, replacement):
    tied = Ranks([1, 5, n // 2, n - 9, 1], [n - 1, n // 2, n // 2, 9, 29], n)
    draw = Draw(m, n_items=n, replacement=replacement)
    each = draw.pmf(np.arange(1, n + 1))
    want = np.array([each[np.array(places) - 1].mean(axis=0) for places in tied_places(tied)])
    np.testing.assert_allclose(draw.pmf(tied), want, atol=1e-14)
    for metric in METRICS:
        values = metric(np.arange(1, m + 2), m + 1)
        got = draw.expect(tied, metric)
        np.testing.assert_allclose(got, want @ values, rtol=1e-11, atol=1e-15, err_msg=str(metric))


@given(n=st.integers(3, 10**6), m=st.integers(1, 300), k=st.integers(1, 50), data=st.data())
def test_closed_forms(n, m, k, data):
    """Equations 17 to 19 of the paper, with replacement."""
    r = data.draw(st.integers(2, n))
    p = (r - 1) / (n - 1)
    auc = (n - r) / (n - 1)
    recall = stats.binom.cdf(k - 1, m, p)
    ap = -np.expm1((m + 1) * np.log1p(-p)) / (p * (m + 1)) if r < n else 1 / (m + 1)
    for metric, want in [(AUC(), auc), (Recall(k=k), recall), (AveragePrecision(), ap)]:
        assert Draw(m, n_items=n).expect(r, metric) == pytest.approx(want, rel=1e-9, abs=1e-12)


@given(n=st.integers(3, 5_000), data=st.data())
def test_sampled_auc_is_unbiased_without_replacement_too(n, data):
    m = data.draw(st.integers(1, min(n - 1, 300)))
    ranks = np.unique(np.linspace(1, n, 20).astype(int))
    got = Draw(m, n_items=n, replacement=False).expect(ranks, AUC())
    np.testing.assert_allclose(got, AUC()(ranks, n), atol=1e-14)


@pytest.mark.parametrize("metric", METRICS, ids=str)
@both_kinds
def test_one_sample_makes_every_metric_linear(metric, replacement):
    """Section 4.4.4: affine in the rank, so its second differences vanish."""
    values = Draw(1, n_items=50, replacement=replacement).expect(np.arange(1, 51), metric)
    np.testing.assert_allclose(np.diff(values, 2), 0, atol=1e-14)
    if metric in (Precision(k=3), Recall(k=3)):
        np.testing.assert_allclose(values, values[0])


TABLE_2 = pd.read_csv(DATA / "paper_table2.csv")


@pytest.mark.parametrize("metric", [AUC(), AveragePrecision(), NDCG(), Recall(k=10)], ids=str)
def test_table_2(metric):
    """Each mean of the paper's 1,000 runs within 3 standard errors and the rounding."""
    printed = TABLE_2[TABLE_2.metric == str(metric)].set_index("recommender")
    for name, ranks in TOY.items():
        expected = Draw(99, n_items=10_000).expect(ranks, metric).mean()
        mean, std = printed.loc[name, ["paper_mean", "paper_std"]].to_numpy(float)
        assert abs(expected - mean) < 3 * std / 1000**0.5 + 0.0005


@both_kinds
def test_several_tables_are_looked_up_at_once(replacement):
    draw = Draw(5, n_items=20, replacement=replacement)
    tables = np.random.default_rng(0).random((6, 3))
    for ranks in (4, [4, 20], [[4, 20, 1], [1, 2, 3]], Ranks([4, 17], [6, 3], 20)):
        expected = draw.pmf(ranks) @ tables
        rows, _, shape = draw.rows_of(ranks)
        means = expectation_over_ties(tables, rows, replacement=replacement)
        np.testing.assert_allclose(means.reshape(*shape, 3), expected)
        first = expectation_over_ties(tables[:, 0], rows, replacement=replacement)
        np.testing.assert_allclose(first.reshape(shape), expected[..., 0])


# --- draws


def chi_square(observed, p):
    """Return the p-value of counts; cells of small expectation go into one."""
    total = observed.sum()
    assert observed[p == 0].sum() == 0
    rare = p * total < 10
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(p[~rare], p[rare].sum()) * total
    observed, expected = observed[expected > 0], expected[expected > 0]
    if len(expected) == 1:
        return float(observed[0] == total)
    return stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue


# One test in a million fails by chance under a right sampler: the smallest of 10 p-values is
# compared with 1e-7. The seeds are fixed, so a test that passes once passes always.
@both_kinds
@pytest.mark.parametrize(
    ("r", "n", "m"),
    [(1, 9, 3), (3, 9, 8), (40, 10_000, 99), (1548, 10_000, 99), (9_999, 10_000, 50)],
)
def test_draws_follow_the_distribution(r, n, m, replacement):
    draw = Draw(m, n_items=n, replacement=replacement)
    sampled = draw.rvs(r, repeats=200_000, rng=7)
    assert chi_square(np.bincount(sampled - 1, minlength=m + 1), draw.pmf(r)) > 1e-7


@both_kinds
def test_draws_of_tied_ranks_follow_the_distribution(replacement):
    """Ties are broken anew in each repeat."""
    tied = Ranks([3, 40, 1], [200, 0, 499], 500)
    draw = Draw(20, replacement=replacement)
    sampled = np.stack([drawn.best for drawn in draw.rvs(tied, repeats=20_000, rng=5)])
    assert sampled.shape == (20_000, 3)
    for column, p in zip(sampled.T, draw.pmf(tied), strict=True):
        assert chi_square(np.bincount(column - 1, minlength=21), p) > 1e-7
    once = draw.rvs(tied, rng=5)
    assert known(once.n_items).tolist() == [21] * 3
    assert known(once.catalog).tolist() == [500] * 3
    fresh = draw.rvs(Ranks(np.full(5000, 1), 499, 500), rng=6).best
    assert chi_square(np.bincount(fresh - 1, minlength=21), draw.pmf(tied)[2]) > 1e-7


def test_draws_are_independent_and_repeatable():
    ranks, draw = np.array([[500, 400], [300, 200], [100, 50]]), Draw(50, n_items=1000)
    sampled = draw.rvs(ranks, repeats=4_000, rng=1)
    assert sampled.shape == (4_000, 3, 2)
    assert draw.rvs(ranks, rng=1).shape == (3, 2)
    np.testing.assert_array_equal(sampled, draw.rvs(ranks, repeats=4_000, rng=1))
    seed = np.random.SeedSequence(1)
    np.testing.assert_array_equal(draw.rvs(ranks, rng=seed), draw.rvs(ranks, rng=seed))
    assert (draw.rvs(ranks, repeats=9) != draw.rvs(ranks, repeats=9)).any()  # fresh entropy
    correlation = np.corrcoef(sampled.reshape(4_000, 6).T) - np.eye(6)
    # 15 correlations of standard error 1/sqrt(4000): 5.4 of them has chance about 1e-6.
    assert np.abs(correlation).max() < 5.4 / 4_000**0.5


@both_kinds
def test_draws_follow_the_number_of_items_of_their_rank(replacement):
    """Means 1 + m (r - 1)/(n - 1) within 5 standard errors: chance of failure 1e-6 a mean."""
    n_items = np.array([100, 1000])
    sampled = Draw(20, n_items=n_items, replacement=replacement).rvs(
        [50, 50], repeats=20_000, rng=2
    )
    error = sampled.std(axis=0) / 20_000**0.5
    assert (np.abs(sampled.mean(axis=0) - 1 - 20 * 49 / (n_items - 1)) < 5 * error).all()


# --- a value


def test_a_draw_cannot_be_changed():
    n_items = np.array([9, 8])
    draw = Draw(5, n_items=n_items)
    n_items[:] = 2
    assert isinstance(draw.n_items, np.ndarray)
    assert draw.n_items.tolist() == [9, 8]
    with pytest.raises(ValueError, match="read-only"):
        draw.n_items[0] = 3
    for name in ("n_samples", "n_items", "replacement"):
        with pytest.raises(FrozenInstanceError):
            setattr(draw, name, 3)
    assert replace(draw, n_samples=2).n_samples == 2
    of_numpy = Draw(np.int32(5), n_items=np.uint8(200))
    assert type(of_numpy.n_items) is int


def test_some_of_the_instances():
    draw = Draw(3, n_items=[9, 8, 7], replacement=False)
    assert np.asarray(draw.take([2, 0]).n_items).tolist() == [7, 9]
    assert np.asarray(draw.take(slice(1)).n_items).tolist() == [9]
    assert not draw.take([0]).replacement
    assert Draw(3, n_items=9).take([0, 0]).n_items == 9
    assert Draw(3).take([0]).n_items is None


def test_each_instance_s_number_of_items():
    assert Draw(3).rows_of(Ranks([1, 2], 0, [9, 8]))[1].tolist() == [9, 8]
    assert Draw(3, n_items=9).rows_of(Ranks.from_lists([[1], [2, 4]]))[1].tolist() == [9, 9]
    assert Draw(3, n_items=9).rows_of(Ranks([1, 2], 0, 9))[1].tolist() == [9, 9]


def test_a_sample_is_not_taken_for_exact_ranks():
    draw = Draw(5, n_items=20)
    sampled = draw.rvs(Ranks([4, 17], n_items=20), rng=0)
    for call in (draw.pmf, lambda ranks: draw.expect(ranks, NDCG()), draw.rvs):
        with pytest.raises(ValueError, match="ranks is a sample: 6 candidates of 20 items"):
            call(sampled)


# --- wrong input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([5, 0],), r"n_samples\[1\] is 0; n_samples must be at least 1"),
        (([5, 4], [9, 9, 9]), r"n_samples has shape \(2,\), n_items has shape \(3,\)"),
        ((0,), "n_samples is 0; n_samples must be at least 1"),
        ((2.5,), "n_samples is 2.5; n_samples must be whole"),
        ((None,), "n_samples is None; n_samples must be whole numbers"),
        (("9",), "n_samples is '9'; n_samples must be whole numbers"),
        ((5, 1), "n_items is 1; n_items must be at least 2"),
        ((5, [9, 1]), r"n_items\[1\] is 1; n_items must be at least 2"),
        ((5, 9.5), "n_items is 9.5; n_items must be whole"),
        ((5, 2**60), r"n_items is 1152921504606846976; n_items must be at most 2\*\*53"),
        ((5, pd.Series([9, 9])), "n_items has an index; pass n_items.to_numpy"),
        ((5, np.ma.masked_equal([9, 3], 3)), "n_items is a masked or sparse array"),
    ],
)
@both_kinds
def test_bad_draws(arguments, message, replacement):
    named = dict(zip(("n_samples", "n_items"), arguments, strict=False))
    with pytest.raises(ValueError, match=message):
        Draw(**named, replacement=replacement)


def test_more_than_there_are():
    with pytest.raises(ValueError, match=r"n_samples is 10; without replacement .* items, 9"):
        Draw(10, n_items=10, replacement=False)
    with pytest.raises(ValueError, match=r"n_samples is 5; .* items, 3 for instance 1"):
        Draw(5, n_items=[10, 4, 10], replacement=False)
    with pytest.raises(ValueError, match=r"n_samples is 5; .* items, 3 for instance 1"):
        Draw(5, replacement=False).pmf(Ranks([1, 2], 0, [9, 4]))
    assert Draw(10, n_items=10).n_samples == 10
    for flag in ("without", None, 1):
        with pytest.raises(ValueError, match=r"replacement is .*; replacement must be True"):
            Draw(2, n_items=5, replacement=flag)  # type: ignore[arg-type]


BAD_RANKS = [
    ([1, 0], 10, r"ranks\[1\] is 0; ranks must be at least 1"),
    ([10, 11], 10, r"ranks\[1\] is 11; ranks must be at most n_items, 10"),
    ([2.5], 10, r"ranks\[0\] is 2.5; ranks must be whole"),
    (["1"], 10, r"ranks is \['1'"),
    (None, 10, "ranks is None; ranks must be whole numbers"),
    (np.ma.masked_equal([1, 2], 2), 10, "ranks is a masked or sparse array"),
    ([1, 2, 3], [10, 10], r"n_items has shape \(2,\), ranks has shape \(3,\)"),
    ([1, 2, 3], None, "n_items is None, and the ranks do not know it"),
    (Ranks([1], 0, 10), 9, "n_items.* is 9; .* what ranks knows, 10"),
    (Ranks([1], 0, 1), None, "n_items is 1 for instance 0; some items must be irrelevant"),
    (Ranks([1], 0, 9), [9, 9], r"n_items has shape \(2,\), ranks has shape \(1,\)"),
]


@pytest.mark.parametrize(("ranks", "n_items", "message"), BAD_RANKS)
def test_bad_ranks(ranks, n_items, message):
    draw = Draw(5, n_items=n_items)
    for call in (draw.pmf, lambda r: draw.rvs(r, rng=0), lambda r: draw.expect(r, NDCG())):
        with pytest.raises(ValueError, match=message):
            call(ranks)


def test_a_distribution_is_of_one_relevant_item():
    with pytest.raises(ValueError, match=r"ranks\[0\] has 2 relevant items; it must have one"):
        Draw(5, n_items=10).pmf(Ranks.from_lists([[1, 2]]))
    with pytest.raises(ValueError, match="ranks has ties and users with several relevant items"):
        Draw(5).expect(Ranks([1, 1], 1, 9, users=[4, 4]), NDCG())


@pytest.mark.parametrize("metric", ["NDCG", NDCG, None, [NDCG()], NDCG().mean])
def test_what_is_no_metric(metric):
    for ranks in ([1, 2], Ranks.from_lists([[1, 2]]), Ranks([1], 0, 10)):
        with pytest.raises(ValueError, match=r"metric is .*; metric must be a Metric"):
            Draw(5, n_items=10).expect(ranks, metric)


def test_bad_rng_and_repeats():
    for bad in (-1, 1.5, "a", True, [1]):
        with pytest.raises(ValueError, match=r"rng is .*; rng must be None, an integer of 0"):
            Draw(5, n_items=10).rvs([1], rng=bad)  # type: ignore[arg-type]
    for bad in (0, -1, 2.5, "3"):
        with pytest.raises(ValueError, match="repeats"):
            Draw(5, n_items=10).rvs([1], repeats=bad, rng=0)  # type: ignore[arg-type]
    assert Draw(5, n_items=10**9, replacement=False).rvs(10**9, rng=0) == 6
    with pytest.raises(ValueError, match=r"n_items\[1\] is 2000000000; .* be at most 10\*\*9"):
        Draw(5, n_items=[10**9, 2 * 10**9], replacement=False).rvs([5, 5], rng=0)


def test_ties_where_nearly_half_of_the_items_are_drawn():
    """No rule with few nodes and no difference of ends has all digits here: each rank is a node."""
    draw = Draw(80_000, n_items=200_000, replacement=False)
    every = draw.expect(np.arange(100_000, 100_019), AUC())
    tied = Ranks([100_000], 18, 200_000)
    np.testing.assert_allclose(draw.expect(tied, AUC()), every.mean(), rtol=1e-13)
