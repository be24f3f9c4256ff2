"""How a sample was made: repeats merged, a number for each instance, one sample for all."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampled_metrics import (
    AUC,
    NDCG,
    AveragePrecision,
    BiasVariance,
    Draw,
    Ranks,
    Recall,
    Uncorrected,
    WeightedDraw,
    compare,
    evaluate,
    explain,
    metric_bounds,
    simulate,
)
from sampled_metrics.bounds import identified_set
from sampled_metrics.corrections import MappedCutoff, Problem, estimate_rank_distribution

METRICS = [Recall(k=2), NDCG(k=3), AveragePrecision(), AUC()]


def merged_samples(row, n, m):
    """The sampled ranks of one instance, and its number of items, in all n ** m draws."""
    others = [r for r in range(1, n + 1) if r not in row]
    for sample in product(others, repeat=m):
        kept = set(sample)
        yield [j + sum(r < rank for r in kept) for j, rank in enumerate(row, 1)], len(kept)


@settings(max_examples=40)
@given(n=st.integers(2, 6), m=st.integers(1, 4), data=st.data())
def test_repeats_that_are_merged_against_all_draws(n, m, data):
    rank = data.draw(st.integers(1, n))
    found = [row[0] for row, _ in merged_samples([rank], n, m)]
    want = np.bincount(np.array(found) - 1, minlength=m + 1) / len(found)
    got = Draw(m, n_items=n, replacement="merged").pmf(rank)
    np.testing.assert_allclose(got, want, atol=1e-15)


@pytest.mark.parametrize("metric", METRICS, ids=str)
@pytest.mark.parametrize("row", [[1], [4], [2, 5], [1, 3, 6]])
def test_metrics_among_different_items_against_all_draws(metric, row):
    n, m = 7, 4
    each = [
        metric(Ranks.from_lists([ranks], n_items=size + len(row)))[0]
        for ranks, size in merged_samples(row, n, m)
    ]
    draw = Draw(m, n_items=n, replacement="merged")
    got = draw.expect(Ranks.from_lists([row]), metric)
    np.testing.assert_allclose(got, [np.mean(each)], atol=1e-14)
    drawn: Any = draw.rvs(Ranks.from_lists([row]), repeats=4000, rng=1)
    simulated = np.array([metric(one)[0] for one in drawn])
    error = np.std(each) / 4000**0.5  # five standard errors: false once in 1.7 million
    assert abs(simulated.mean() - np.mean(each)) <= 5 * error + 1e-12
    sizes = np.bincount([int(one.n_items[0]) - len(row) for one in drawn], minlength=m + 1)
    shares = np.bincount([size for _, size in merged_samples(row, n, m)], minlength=m + 1)
    share = shares / shares.sum()
    assert (abs(sizes / 4000 - share) <= 5 * np.sqrt(share * (1 - share) / 4000)).all()


@pytest.mark.parametrize("replacement", [True, False, "merged"])
def test_each_instance_has_its_own_number_of_samples(replacement):
    ranks, m, n = [3, 40, 7, 1], np.array([5, 9, 5, 2]), np.array([50, 60, 90, 50])
    draw = Draw(m, n_items=n, replacement=replacement)
    alone = [Draw(a, n_items=b, replacement=replacement) for a, b in zip(m, n, strict=True)]
    for metric in METRICS:
        want = [one.expect(r, metric) for one, r in zip(alone, ranks, strict=True)]
        np.testing.assert_allclose(draw.expect(ranks, metric), want, rtol=1e-12)
    p = draw.pmf(ranks)
    assert p.shape == (4, 10)
    for row, one, r in zip(p, alone, ranks, strict=True):
        np.testing.assert_allclose(row[: one.n_samples + 1], one.pmf(r), rtol=1e-12)
        assert not row[one.n_samples + 1 :].any()
    assert draw.take([1, 3]) == Draw(m[[1, 3]], n_items=n[[1, 3]], replacement=replacement)
    drawn = draw.rvs(Ranks(ranks), rng=0)
    if replacement == "merged":
        assert (drawn.n_items <= m + 1).all()
    else:
        np.testing.assert_array_equal(drawn.n_items, m + 1)
    np.testing.assert_array_equal(drawn.catalog, n)


def test_a_pool_for_each_relevant_item_ranked_together():
    """Of 40 items, 15 are drawn for each relevant one, and what is drawn twice is ranked once."""
    rng, n, m, runs = np.random.default_rng(5), 40, 15, 3000
    exact = Ranks.from_lists([[2, 9, 30], [5], [1, 20]], n_items=n)
    draw = Draw(m * exact.n_relevant, replacement="merged")
    for metric in METRICS:
        values = np.empty((runs, 3))
        for run, x in product(range(runs), range(3)):
            row = exact[x : x + 1].best
            others = np.setdiff1d(np.arange(1, n + 1), row)
            kept = np.unique(rng.choice(others, (len(row), m)))
            ranks = np.arange(1, len(row) + 1) + (kept[:, None] < row).sum(axis=0)
            values[run, x] = metric(Ranks.from_lists([ranks], n_items=len(kept) + len(row)))[0]
        error = np.maximum(values.std(axis=0) / runs**0.5, 1 / runs)  # some hardly ever differ
        assert (abs(values.mean(axis=0) - draw.expect(exact, metric)) <= 5 * error + 1e-12).all()


def recommenders(size=400, n=300):
    rng = np.random.default_rng(3)
    return {
        name: Ranks(np.minimum(rng.geometric(p, size), n), n_items=n)
        for name, p in (("A", 0.05), ("B", 0.03))
    }


KINDS = {
    "merged": Draw(40, replacement="merged"),
    "own": Draw(np.tile([10, 30], 200)),
    "own, merged": Draw(np.tile([10, 30], 200), replacement="merged"),
}


@pytest.mark.parametrize("draw", KINDS.values(), ids=KINDS)
def test_what_an_evaluation_would_report(draw):
    exact, metrics = recommenders(), [Recall(k=5), NDCG(k=5)]
    found = evaluate(exact, metrics, draw)
    runs = simulate(exact, metrics, draw, repeats=200, rng=4)
    assert runs.groupby(["recommender", "metric", "estimator"]).ngroups == 8
    key = ["recommender", "metric", "estimator"]
    table = found.table.set_index(key)
    at: Any
    for at, values in runs.groupby(key).value:
        moments = found.moments[at[0]]
        column = found.columns.index(at[1:])
        error = np.sqrt(moments.noise[:, column].sum()) / 400
        assert abs(values.mean() - table.loc[at, "value"]) <= 5 * error / 200**0.5
        assert values.std() == pytest.approx(error, rel=0.3)  # four standard deviations and more


def test_estimates_of_sampled_ranks_take_the_number_of_different_items():
    draw, exact = Draw(60, n_items=300, replacement="merged"), recommenders()["A"]
    drawn = draw.rvs(exact, rng=0)
    assert len(np.unique(drawn.n_items)) > 5
    for given_draw in (None, draw):
        found = evaluate({"A": drawn}, [NDCG(k=5)], given_draw).per_user.set_index("user")
        for label, estimator in (("uncorrected", Uncorrected()), ("corrected", BiasVariance(0.1))):
            want = [
                estimator.fit(NDCG(k=5), Draw(n - 1, n_items=300, replacement=False)).values[r - 1]
                for r, n in zip(drawn.best.tolist(), drawn.n_items.tolist(), strict=True)
            ]
            got = found[found["estimator"] == label]["value"]
            np.testing.assert_allclose(got, want, rtol=1e-12)


def test_one_sample_for_all_has_expectations_and_no_errors():
    exact, own, shared = recommenders(), Draw(40), Draw(40, shared=True)
    assert "shared=True" in repr(shared)
    assert shared != own
    np.testing.assert_array_equal(shared.expect(exact["A"], NDCG()), own.expect(exact["A"], NDCG()))
    drawn = {name: own.rvs(ranks, rng=0) for name, ranks in exact.items()}
    for ranks in (exact, drawn):
        alone, together = (evaluate(ranks, [NDCG(k=5)], draw) for draw in (own, shared))
        rows = together.table.set_index(["recommender", "estimator"])
        assert "bounds" not in set(together.table["estimator"])
        at: Any
        for at, row in alone.table.set_index(["recommender", "estimator"]).iterrows():
            if at[1] == "bounds":
                continue
            assert rows.loc[at, "value"] == row["value"]
            assert np.isnan(rows.loc[at, ["standard_error", "low", "high"]].to_list()).tolist() == (
                [at[1] != "exact"] * 3
            )
        assert "one sample for all, whose error is not known" in str(together)
    with pytest.raises(ValueError, match=r"draw.shared is True; .* draw items and rank them"):
        shared.rvs(exact["A"])
    with pytest.raises(ValueError, match=r"draw.shared is True; how far one sample"):
        compare(exact["A"], exact["B"], NDCG(), shared)
    with pytest.raises(ValueError, match=r"draw.shared is True; how far one sample"):
        evaluate(drawn, [NDCG(k=5)], shared).comparisons()


ONE = Ranks([1, 5], n_items=40)
WEIGHTED: Any = WeightedDraw(2, np.ones(40))


@pytest.mark.parametrize(
    "call",
    [
        lambda: evaluate({"A": ONE}, [NDCG()], WEIGHTED),
        lambda: compare(ONE, ONE, NDCG(), WEIGHTED),
        lambda: simulate({"A": ONE}, [NDCG()], WEIGHTED),
        lambda: BiasVariance(0.1).fit(NDCG(), WEIGHTED),
        lambda: metric_bounds([1, 2], NDCG(), WEIGHTED),
        lambda: explain(NDCG(), 0.5, WEIGHTED),
        lambda: identified_set([0.5, 0.5, 0], NDCG(), WEIGHTED),
        lambda: estimate_rank_distribution([1, 2], WEIGHTED),
        lambda: Problem(NDCG(), WEIGHTED).n_items,
        lambda: MappedCutoff().cutoffs(WEIGHTED),
        lambda: Uncorrected().fit(NDCG(), Draw(2, n_items=40)).bias([1, 5], WEIGHTED),
    ],
)
def test_where_a_weighted_draw_cannot_go_a_sentence_says_what_serves(call):
    with pytest.raises(ValueError, match=r"WeightedDraw.expect\(above, metric\) computes what"):
        call()


def test_estimators_need_one_number_of_different_samples():
    for draw in (Draw([5, 6], n_items=40), Draw(5, n_items=40, replacement="merged")):
        with pytest.raises(ValueError, match=r"draw is Draw\(.*; here all must have one number of"):
            BiasVariance(0.1).fit(NDCG(), draw)
        with pytest.raises(ValueError, match=r"draw is Draw\(.*; here all must have one number of"):
            Uncorrected().fit(NDCG(), Draw(5, n_items=40)).expectation([1, 2], draw)
        with pytest.raises(ValueError, match=r"draw is Draw\(.*; here all must have one number of"):
            metric_bounds([1, 2], NDCG(), draw)


def test_ties_are_not_averaged_over_merged_draws():
    tied = Ranks([1, 5], 1, n_items=40)
    with pytest.raises(ValueError, match=r"has ties, which a merged draw does not average; break"):
        evaluate({"A": tied}, [NDCG()], Draw(5, replacement="merged"))
    np.testing.assert_allclose(
        Draw(5, replacement="merged").expect(tied, NDCG()),
        np.mean([Draw(5, n_items=40, replacement="merged").expect(r, NDCG())
                 for r in ([1, 5], [2, 6])], axis=0),
    )  # fmt: skip
