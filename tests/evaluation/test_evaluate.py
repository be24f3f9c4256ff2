"""One call: values, errors, intervals, bounds and comparisons, aligned by user."""

import re
import sys
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from scipy import stats
from statsmodels.stats.multitest import multipletests

from sampled_metrics import (
    AUC,
    NDCG,
    BiasVariance,
    Draw,
    Metric,
    RankEstimate,
    Ranks,
    Recall,
    ReciprocalRank,
    Uncorrected,
    compare,
    evaluate,
    metric_bounds,
)
from shared import expected_values

METRICS = [Recall(k=10), NDCG(k=10), ReciprocalRank()]
N_USERS = 60


def ranks_of(seed, n_items=240, users=None):
    """Ranks that are better the closer to 1, some of them tied."""
    rng = np.random.default_rng(seed)
    best = np.minimum(rng.geometric(0.03, N_USERS), n_items - 4)
    return Ranks(best, rng.integers(0, 3, N_USERS), n_items, users=users)


NAMES = np.array([f"user {i:02}" for i in range(N_USERS)])
A, B = ranks_of(1, users=NAMES), ranks_of(2, users=NAMES)
PAIR = {"A": A, "B": B}


def row(table, *names):
    """Return the one row with these names of recommender (or a pair), metric and estimator."""
    keys = table.select_dtypes(exclude=[float, int]).columns[: len(names)]
    found = table[(table[keys] == list(names)).all(axis=1)]
    assert len(found) == 1
    return found.iloc[0]


@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_exact_values_are_means_with_the_errors_of_scipy(metric):
    found = row(evaluate(PAIR, METRICS).table, "B", str(metric), "exact")
    values = metric(B)
    assert found["value"] == pytest.approx(metric.mean(B), abs=1e-15)
    assert found["standard_error"] == pytest.approx(stats.sem(values))
    more = [*values, 0, 1]  # two users at the ends of the range
    expected = stats.t.interval(0.95, N_USERS + 1, np.mean(more), stats.sem(more))
    assert (found["low"], found["high"]) == pytest.approx(expected)
    assert found["users"] == N_USERS


def test_a_draw_adds_what_it_would_report():
    draw = Draw(30)
    estimators = {"raw": Uncorrected(), "corrected": BiasVariance(gamma=0.05)}
    found = evaluate(PAIR, METRICS, draw, estimators=estimators)
    table = found.table
    assert list(table["estimator"].unique()) == ["exact", "raw", "corrected"]
    exact = table[table["estimator"] == "exact"].reset_index(drop=True)
    pd.testing.assert_frame_equal(exact, evaluate(PAIR, METRICS).table)
    for _, expected in expected_values(PAIR, METRICS, draw, estimators).iterrows():
        here = row(table, *expected.iloc[:3])
        assert here["value"] == pytest.approx(expected["value"], abs=1e-12)
    orders = found.orders()
    for metric in METRICS:
        for name, estimator in estimators.items():
            one = row(orders, "A", "B", str(metric), name)
            want = compare(A, B, metric, draw, estimator=estimator)
            assert one["difference"] == pytest.approx(want.difference, abs=1e-12)
            assert one["exact_difference"] == pytest.approx(want.exact_difference)
            assert one["standard_error"] == pytest.approx(want.standard_error)
            assert one["right_order"] == pytest.approx(want.right_order())


@pytest.mark.slow
def test_standard_errors_of_a_draw_cover_users_ties_and_samples():
    """4,000 evaluations of new users: their standard deviation is known to within 5 percent."""
    rng, draw = np.random.default_rng(8), Draw(20, n_items=240)
    estimators = {"corrected": BiasVariance(gamma=0.1)}
    fitted = estimators["corrected"].fit(NDCG(k=10), draw)
    found = evaluate({"A": A}, [NDCG(k=10)], draw, estimators=estimators)
    means = [
        fitted(draw.rvs(A[rng.integers(N_USERS, size=N_USERS)], rng=rng)).mean()
        for _ in range(4000)
    ]
    promised = row(found.table, "A", "NDCG@10", "corrected")["standard_error"]
    # A bootstrap's users vary by (N - 1) / N less than new ones.
    assert np.std(means) == pytest.approx(promised, rel=0.05)
    assert np.mean(means) == pytest.approx(found.table["value"].iloc[-1], abs=4 * promised / 60)


@pytest.mark.parametrize("sizes", [300, "each"])
def test_sampled_ranks_give_estimates_and_bounds(sizes):
    n = np.where(np.arange(N_USERS) < 20, 250, 300) if sizes == "each" else sizes
    draw = Draw(40, n_items=n, replacement=False)
    sampled = {name: draw.rvs(ranks.best, rng=5) for name, ranks in PAIR.items()}
    ranks = {name: Ranks(best, n_items=41, catalog=n) for name, best in sampled.items()}
    found = evaluate(ranks, METRICS, confidence=0.9)
    for name, ranks in sampled.items():
        for metric in METRICS:
            for label, estimator in (("uncorrected", Uncorrected()), ("corrected", None)):
                fitted = (estimator or BiasVariance(gamma=0.1)).fit(metric, draw)
                one = row(found.table, name, str(metric), label)
                assert one["value"] == pytest.approx(fitted(ranks).mean(), abs=1e-12)
                assert one["standard_error"] == pytest.approx(stats.sem(fitted(ranks)))
            bounds = row(found.table, name, str(metric), "bounds")
            low, high = metric_bounds(ranks, metric, draw, confidence=0.9)
            assert (bounds["low"], bounds["high"]) == (low, high)
            assert np.isnan(bounds["value"])
    tests = found.comparisons(n_resamples=99, rng=0)
    assert set(tests["estimator"]) == {"uncorrected", "corrected"}
    fitted = BiasVariance(gamma=0.1).fit(NDCG(k=10), draw)
    expected = stats.ttest_rel(fitted(sampled["A"]), fitted(sampled["B"]))
    assert row(tests, "A", "B", "NDCG@10", "corrected")["p_t"] == pytest.approx(expected.pvalue)
    with pytest.raises(ValueError, match="there was no draw of exact ranks"):
        found.orders()


def test_a_sample_that_no_ranks_explain_is_a_row():
    """Nobody's sampled rank is anything but 26 of 51: a hundred users' draws would scatter."""
    draw = Draw(50, n_items=1000)
    exact = Ranks(np.full(1000, 400), n_items=1000)
    sampled = {
        "bad": Ranks(np.full(1000, 26), n_items=51, catalog=1000),
        "good": draw.rvs(exact, rng=0),
    }
    found = evaluate(sampled, [Recall(k=1)], draw)
    assert row(found.table, "bad", "Recall@1", "bounds")[["low", "high"]].isna().all()
    assert row(found.table, "good", "Recall@1", "bounds")[["low", "high"]].notna().all()
    assert str(found).count("none possible") == 1
    assert "nan" not in str(found)
    assert "none possible" in found.to_latex()


def test_sampled_ranks_of_several_relevant_items():
    exact = Ranks.from_lists([[3, 90], [1], [40, 41, 42]], n_items=300, users=["u", "v", "w"])
    draw = Draw(40, n_items=300)
    sampled = draw.rvs(exact, rng=0)
    found = evaluate({"A": sampled}, [NDCG(k=10)], draw)
    assert list(found.table["estimator"]) == ["uncorrected", "corrected"], "bounds are for one each"
    expected = BiasVariance(gamma=0.1).fit(NDCG(k=10), draw)(sampled)
    np.testing.assert_allclose(found.per_user["value"][3:], expected)


def sample_of(best, n_items, catalog):
    """Return sampled ranks of users with one relevant item each."""
    return Ranks(best, n_items=n_items, catalog=catalog)


SAMPLE = sample_of([1, 2], 10, 55)


@dataclass(frozen=True)
class Gain(Metric):
    """A metric of one's own: the gain of what is found, which nothing normalizes."""

    symbol = "Gain"
    k: int = 3

    def gain(self, rank, order, n_relevant, n_items):
        return np.ones(np.shape(rank))

    def normalizer(self, ranks):
        return 1

    def relevance_weight(self, relevance):
        return relevance


def test_gains_of_sampled_ranks():
    def estimates(ranks):
        found = evaluate({"A": ranks}, [Gain()])
        return found.per_user["value"].to_numpy()

    lists: list[list[int]] = [[1], [4], [10]]
    sizes: dict[str, Any] = {"n_items": 10, "catalog": 55}
    want = estimates(Ranks([1, 4, 10], **sizes))
    np.testing.assert_allclose(estimates(Ranks.from_lists(lists, **sizes)), want)
    graded = Ranks.from_lists(lists, gains=[[3], [2], [1]], **sizes)
    np.testing.assert_allclose(estimates(graded), want * [3, 2, 1, 3, 2, 1])


def test_the_figure_says_what_it_needs(monkeypatch):
    found = evaluate({"A": [1, 2]}, [NDCG()])
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)  # as if it were not installed
    with pytest.raises(ImportError, match=r'pip install "sampled-metrics\[report\]"'):
        found.plot()


def test_who_has_other_items_is_called_by_name():
    lists = {"A": [[1], [1, 2]], "B": [[1], [2]]}
    ranks = {name: Ranks.from_lists(each, users=["ann", "bob"]) for name, each in lists.items()}
    message = r"ranks\['B'\] has 1 relevant items for user 'bob', ranks\['A'\] has 2; "
    with pytest.raises(ValueError, match=message):
        evaluate(ranks, [Recall(k=1)])
    with pytest.raises(ValueError, match="b has 1 relevant items for user 'bob', a has 2; "):
        compare(ranks["A"], ranks["B"], Recall(k=1))


def test_standard_errors_where_catalogs_have_different_sizes():
    ranks, draw = Ranks([3, 40, 7, 200], [0, 2, 0, 5], [50, 500, 100, 1000]), Draw(9)
    estimator = BiasVariance(gamma=0.1)
    found = evaluate({"A": ranks}, [NDCG()], draw, estimators={"mine": estimator})
    (error,) = found.table.query("estimator == 'mine'")["standard_error"]
    fitted = estimator.fit(NDCG(), Draw(9, n_items=ranks.n_items))
    parts = fitted.expectation(ranks).var(ddof=1) + fitted.variance(ranks).mean()
    assert error == pytest.approx(np.sqrt(parts / 4))


def test_a_table_counts_its_rows_and_has_groups_if_there_are_any():
    ranks = {"A": [1, 2, 9], "B": [2, 2, 2]}
    found = evaluate(ranks, [NDCG()], Draw(2, n_items=9))
    assert "group" not in found.per_user
    assert found.per_user.index.tolist() == list(range(len(found.per_user)))
    tests = found.comparisons(n_resamples=99, rng=0)
    assert tests.index.tolist() == list(range(len(tests)))
    grouped = evaluate(ranks, [NDCG()], groups=["few", "few", "one"])
    assert grouped.by_group["standard_error"].notna().tolist() == [True, True, False, False]
    estimators = {"none": Uncorrected(), "rank": RankEstimate()}
    sampled = {"A": sample_of([1, 2, 3], 3, 9), "B": sample_of([2, 2, 2], 3, 9)}
    two = evaluate(sampled, [NDCG()], estimators=estimators).comparisons(n_resamples=99, rng=0)
    assert two.index.tolist() == list(range(len(two)))
    assert set(two["estimator"]) == set(estimators)


def test_two_users_are_enough_for_an_interval():
    values = [1.0, 0.25]
    table = evaluate({"A": [1, 4]}, [ReciprocalRank()]).table
    want = stats.t.interval(0.95, 3, np.mean([*values, 0, 1]), stats.sem([*values, 0, 1]))
    np.testing.assert_allclose(table.loc[0, ["low", "high"]].astype(float), np.clip(want, 0, 1))


def test_of_exact_ranks_a_gain_counts_in_every_draw():
    draw = Draw(9, n_items=55)
    graded = Ranks.from_lists([[1], [4], [10]], gains=[[3], [2], [1]])
    found = evaluate({"A": graded}, [Gain()], draw, estimators={"none": Uncorrected()})
    drawn = found.per_user.query("estimator == 'none'")["value"]
    np.testing.assert_allclose(drawn, draw.expect(graded, Gain()))
    np.testing.assert_allclose(drawn, draw.expect([1, 4, 10], Gain()) * [3, 2, 1])


def test_by_default_long_work_shows_a_progress_bar(capsys, monkeypatch):
    clock = count(step=10)  # seconds, from one look at it to the next
    monkeypatch.setattr("tqdm.std.time", lambda: next(clock))
    evaluate({"A": sample_of([1, 2], 4, 9)}, [Recall(k=1)])
    assert "bounding" in capsys.readouterr().err


def test_comparisons_are_those_of_scipy():
    three = PAIR | {"C": ranks_of(3, users=NAMES)}
    found = evaluate(three, METRICS).comparisons(n_resamples=499, rng=1)
    assert len(found) == 9
    for _, one in found.iterrows():
        metric = next(metric for metric in METRICS if str(metric) == one["metric"])
        x, y = metric(three[one["first"]]), metric(three[one["second"]])
        assert one["difference"] == pytest.approx((x - y).mean())
        assert one["standard_error"] == pytest.approx(stats.sem(x - y))
        assert one["effect_size"] == pytest.approx((x - y).mean() / (x - y).std(ddof=1))
        assert one["p_t"] == pytest.approx(stats.ttest_rel(x, y).pvalue)
        assert one["low"] < one["difference"] < one["high"]
        # Two estimates of one p-value, each from 499 randomizations; five standard errors.
        assert one["p_randomization"] == pytest.approx(
            one["p_t"], abs=0.02 + 5 * np.sqrt(one["p_t"] / 499)
        )
    adjusted = multipletests(found["p_t"], method="holm")[1]
    np.testing.assert_allclose(found["p_holm"], adjusted)


def test_five_users_are_few_enough_for_all_randomizations():
    a, b = [1, 2, 3, 1, 5], [2, 4, 3, 2, 9]
    found = evaluate({"A": a, "B": b}, [ReciprocalRank()]).comparisons(rng=0)
    d = 1 / np.array(a) - 1 / np.array(b)
    signs = np.array(np.meshgrid(*[[1, -1]] * 5)).reshape(5, -1)
    expected = np.mean(np.abs(d @ signs) >= abs(d.sum()) - 1e-12)
    assert found["p_randomization"][0] == expected


def test_recommenders_without_a_difference():
    found = evaluate({"A": A, "B": A}, [Recall(k=10)]).comparisons(n_resamples=9, rng=0)
    expected = {"difference": 0, "standard_error": 0, "effect_size": 0}
    assert found[list(expected)].iloc[0].to_dict() == expected
    assert found[["p_t", "p_randomization", "p_holm"]].eq(1).all(axis=None)
    alike = evaluate({"A": [1, 1, 1], "B": [9, 9, 9]}, [Recall(k=5), ReciprocalRank()])
    tests = alike.comparisons(n_resamples=9, rng=0)
    assert tests["difference"].gt(0).all()
    assert tests[["p_t", "p_holm"]].isna().all(axis=None), "nothing varies"
    assert tests["p_randomization"].eq(2 / 2**3).all(), "all eight ways to swap"
    assert (tests["low"] < 0).all(), "three users do not tell who is better"
    assert (tests["high"] <= 1).all()
    mixed = {"A": [1, 1, 1], "B": [9, 8, 7], "C": [2, 2, 2]}
    tests = evaluate(mixed, [ReciprocalRank()]).comparisons(n_resamples=9, rng=0)
    assert tests["p_t"].isna().tolist() == [False, True, False]
    least = tests["p_t"].min()
    assert tests["p_holm"].min() == pytest.approx(3 * least), "of three tests, not of two"


@pytest.mark.slow
def test_tests_keep_their_level_and_intervals_cover():
    """Of 600 true hypotheses at .05, between 14 and 48 are rejected, except in 1 case of 10,000."""
    rng = np.random.default_rng(0)
    rejected, covered = np.zeros(2, dtype=int), 0
    for _ in range(600):
        both = {name: rng.integers(1, 104, 80) for name in "AB"}
        found = evaluate(both, [NDCG()])
        tests = found.comparisons(n_resamples=199, rng=rng).iloc[0]
        rejected += [
            tests["p_t"] <= 0.05,
            tests["p_randomization"] <= 0.05,
        ]
        mean = evaluate(both, [AUC()], n_items=103).table
        covered += mean["low"][0] <= 0.5 <= mean["high"][0]
    assert ((rejected >= 14) & (rejected <= 48)).all()
    assert 600 - 48 <= covered <= 600 - 14


@given(st.permutations(range(N_USERS)))
@settings(max_examples=20)
def test_users_are_aligned_by_name(order):
    shuffled = evaluate({"A": A, "B": B[order]}, METRICS, Draw(30))
    straight = evaluate(PAIR, METRICS, Draw(30))
    pd.testing.assert_frame_equal(shuffled.per_user, straight.per_user)


@pytest.mark.parametrize(
    "names",
    [
        np.arange(N_USERS) * 7,
        np.arange(N_USERS) + 2**60,
        np.arange(N_USERS).astype(object),
        NAMES.tolist(),
        pd.Categorical(NAMES),
        [("tuple", i) for i in range(N_USERS)],
        [("tuple", i)[: 1 + i] * 2 for i in range(N_USERS)],
        pd.date_range("2026-01-01", periods=N_USERS),
    ],
)
def test_users_have_names_of_any_kind(names):
    order = np.random.default_rng(3).permutation(N_USERS)
    a = pd.Series(A.best, index=pd.Index(names, tupleize_cols=False))
    b = pd.Series(B.best, index=a.index).iloc[order]
    found = evaluate({"A": a, "B": b}, [ReciprocalRank()], groups=pd.Series("g", index=b.index))
    both = found.per_user["value"].to_numpy().reshape(2, -1)
    np.testing.assert_array_equal(both, [1 / A.best, 1 / B.best])


def test_groups_are_evaluations_of_their_users():
    third = np.arange(N_USERS) % 3
    by_name = dict(zip(NAMES.tolist(), third.tolist(), strict=True))
    for groups in (third, by_name, pd.Series(by_name).iloc[::-1]):
        found = evaluate(PAIR, METRICS, Draw(30), groups=groups).by_group
        for group in range(3):
            few = {name: ranks[third == group] for name, ranks in PAIR.items()}
            expected = evaluate(few, METRICS, Draw(30)).table
            here = found[found["group"] == group].drop(columns="group").reset_index(drop=True)
            pd.testing.assert_frame_equal(here, expected)
    with pytest.raises(ValueError, match="there are no groups; give them as evaluate"):
        evaluate(PAIR, METRICS).by_group  # noqa: B018


def test_users_without_relevant_items_do_not_count():
    lists = [[3, 9], [], [1], []]
    ranks = {name: Ranks.from_lists(lists, n_items=55, users=[4, 5, 6, 7]) for name in "AB"}
    found = evaluate(ranks, [Recall(k=5)], Draw(9), groups=list("ghgh"))
    assert set(found.per_user["user"]) == {4, 6}
    assert set(found.by_group["group"]) == {"g"}
    assert found.table["users"].eq(2).all()
    assert found.table["value"][0] == 0.75


def test_values_of_users_average_to_those_of_the_table():
    found = evaluate(PAIR, METRICS, Draw(30))
    each = found.per_user
    assert each.index.is_unique
    means = each.groupby(["recommender", "metric", "estimator"], sort=False)["value"].mean()
    np.testing.assert_allclose(means, found.table["value"])


def test_several_relevant_items_need_no_rule_where_nothing_ties():
    tied = Ranks([4, 1, 7], 0, 55, users=["u", "v", "u"])
    expected = evaluate({"A": tied.break_ties("optimistic")}, METRICS, Draw(9)).table
    pd.testing.assert_frame_equal(evaluate({"A": tied}, METRICS, Draw(9)).table, expected)


def test_one_relevant_item_each_with_a_gain_is_graded_relevance():
    gains = np.linspace(1, 3, N_USERS)
    tied = Ranks(A.best, 0, A.n_items, users=NAMES, gains=gains)
    found = evaluate({"A": tied}, [NDCG(k=10)]).per_user["value"]
    np.testing.assert_array_equal(found, NDCG(k=10)(tied.break_ties("optimistic")))


@pytest.mark.parametrize(("length", "shown"), [(80, 80), (81, 77)])
def test_a_long_name_is_cut_in_an_error(length, shown):
    name = "x" * (length - 2)  # and two quotation marks
    there, other = np.array([*NAMES[:-1], name]), np.array([*NAMES[:-1], "y"])
    ranks = {"A": ranks_of(1, users=there), "B": ranks_of(2, users=other)}
    message = repr(name)[:shown] + "..." * (length > 80)
    with pytest.raises(ValueError, match=f"lacks user {re.escape(message)}, whom"):
        evaluate(ranks, METRICS)


def test_number_of_items_for_each_user():
    n = np.arange(240, 240 + N_USERS)
    expected = AUC()(A.best, n)
    for sizes in (n, pd.Series(n, index=NAMES).iloc[::-1]):
        ranks = {"A": pd.Series(A.best, index=NAMES)}
        np.testing.assert_allclose(
            evaluate(ranks, [AUC()], n_items=sizes).per_user["value"], expected
        )
    drawn = evaluate({"A": A.best}, [AUC()], Draw(20, n_items=n))
    np.testing.assert_allclose(drawn.table["value"], expected.mean(), atol=0.05)


def test_it_prints_everywhere():
    found = evaluate(PAIR, METRICS, Draw(30))
    text = str(found)
    assert text.splitlines()[0].split() == ["Recall@10", "NDCG@10", "RR"]
    assert f"{Recall(k=10).mean(A):.4f} ±" in text
    assert "60 users, ranked among 240 items; 30 sampled items each (uniform, with repl" in text
    assert text.endswith("value ± standard error, if users are independent")
    assert f"{Recall(k=10).mean(A):.4f} ±" in found._repr_html_()
    assert rf"{Recall(k=10).mean(A):.4f} $\pm$" in found.to_latex()
    assert r"item\_knn" in evaluate({"item_knn": A}, METRICS).to_latex()
    drawn = evaluate({"A": sample_of([1, 2, 3], 6, 55)}, [Recall(k=2)])
    assert re.search(r"0\.\d{4} to \d\.\d{4}", str(drawn))
    assert "bounds at 95%" in str(drawn)
    assert r"bounds at 95\%" in drawn.to_latex()


def test_one_figure_holds_every_value():
    figure = evaluate(PAIR, METRICS, Draw(30)).plot()
    assert isinstance(figure, Figure)
    assert [panel.get_title() for panel in figure.axes] == [str(metric) for metric in METRICS]
    drawn = evaluate({"A": sample_of([1, 2, 3], 6, 55)}, [Recall(k=2)])
    figure = drawn.plot()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "what is possible",
        "uncorrected",
        "corrected",
    ]


def test_users_who_disagree_evenly_leave_the_difference_open():
    """A mean of 0 is no certainty: the interval says how far off it may be."""
    turns = {"A": [1, 2] * 10, "B": [2, 1] * 10}
    found = evaluate(turns, [ReciprocalRank()]).comparisons(n_resamples=99, rng=0).iloc[0]
    assert found["difference"] == found["effect_size"] == 0
    assert found["standard_error"] == pytest.approx(0.5 / np.sqrt(19))
    assert found["low"] < -0.1 < 0.1 < found["high"]


def test_the_figure_shows_the_numbers_of_the_table():
    """Each recommender has a row, the first on top, and in it each estimator a place of its own."""
    drawn = Draw(20, n_items=240)
    found = evaluate({n: drawn.rvs(r, rng=1) for n, r in PAIR.items()}, METRICS, drawn)
    figure = found.plot()
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["A", "B"]
    for panel in figure.axes:
        top = panel.transData.transform([[0, 0], [0, 1]])[:, 1]
        assert top[0] > top[1]
        table = found.table[found.table["metric"] == panel.get_title()]
        for i, bars in enumerate(panel.containers[1:]):
            rows = table[table["estimator"] == bars.get_label()]
            line, _, (errors,) = bars
            places = [i * 0.35 - 0.175, i * 0.35 + 0.825]
            want = np.column_stack([rows["value"], places])
            np.testing.assert_allclose(line.get_xydata().astype(float), want)
            ends = [segment[:, 0] for segment in errors.get_segments()]
            np.testing.assert_allclose(ends, rows[["low", "high"]])
        spans = [bar.get_bbox().intervalx for bar in panel.containers[0]]
        np.testing.assert_allclose(
            spans, table.loc[table["estimator"] == "bounds", ["low", "high"]]
        )


def test_the_figure_grows_with_what_it_shows():
    """Two small panels fit beside each other on a page, and markers keep apart."""

    def size(metrics, draw=None, **estimators):
        return evaluate(PAIR, metrics, draw, estimators=estimators or None).plot().get_size_inches()

    assert size(METRICS[:1]) == pytest.approx([4, 1.9])
    assert size(METRICS) == pytest.approx([8.4, 1.9])
    three = {name: Uncorrected() for name in "abc"}
    assert size(METRICS, Draw(9), **three) == pytest.approx([8.4, 1.2 + 2 * 4 * 0.2])


DRAWN = Draw(9, n_items=55)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (({}, METRICS), r"ranks is \{\}; ranks must be a dict"),
        ((PAIR, []), "metrics is empty"),
        ((PAIR, [Recall(k=1), Recall(k=1)]), "metrics holds Recall@1 twice"),
        (({"A": A, "B": B[:50]}, METRICS), r"ranks\['B'\] lacks user 'user 50', whom ranks\['A'\]"),
        (({"A": A[:50], "B": B}, METRICS), r"ranks\['A'\] lacks user 'user 50', whom ranks\['B'\]"),
        (({"A": A, "B": B.best}, METRICS), r"ranks\['A'\] is of named users, and ranks\['B'\]"),
        (({"A": [1, 2], "B": [1]}, METRICS), r"ranks\['B'\] has 1 users, ranks\['A'\] has 2"),
        (({"A": [[1, 2]]}, METRICS), r"ranks\['A'\] has shape \(1, 2\)"),
        (({"A": []}, METRICS), r"ranks\['A'\] has no instances"),
        (({"A": Ranks.from_lists([[], []])}, METRICS), "no user with a relevant item"),
        (({"A": Ranks([1, 4], 1, 9, users=[3, 3])}, METRICS, Draw(3)), "has ties and users with"),
        (
            ({"A": A, "B": ranks_of(2, users=np.arange(N_USERS))}, METRICS),
            "give all the same users, all by integers or none",
        ),
        (({"A": ranks_of(2, 250), "B": ranks_of(2)}, METRICS), "has 240 items for user 0"),
        (
            ({"A": pd.Series([1, 2], index=["u", "u"]), "B": pd.Series([1, 2], index=["u", "v"])},
             METRICS),
            r"ranks\['A'\] has user 'u' twice",
        ),
        ((PAIR, METRICS, 100), "draw is 100; draw must be a Draw"),
        ((PAIR, METRICS, Draw(9), "estimators", {"exact": Uncorrected()}), "has the key 'exact'"),
        ((PAIR, METRICS, None, "estimators", {"mine": Uncorrected()}), "draw is None; without"),
        ((PAIR, METRICS, Draw(9), "n_items", 50), "n_items is given beside a draw"),
        ((PAIR, METRICS, Draw(239)), r"ranks\['A'\]\[0\] is among 240 items, .* catalog="),
        (({"A": [1, 2]}, METRICS, Draw(99, n_items=100)), "is among 100 items, .* catalog="),
        (
            ({"A": SAMPLE, "B": Ranks([1, 2], n_items=10)}, METRICS),
            r"ranks\['A'\] is a sample, as its catalog says, and ranks\['B'\] is not",
        ),
        (({"A": SAMPLE}, METRICS, Draw(8)), r"draw.n_samples is 8, and it must be 9: ranks\['A'\]"),
        (({"A": SAMPLE}, METRICS, Draw(9, n_items=60)), "draw.n_items is 60, and it must be 55: "),
        (
            ({"A": Ranks([1, 1], 1, 3, users=[3, 3], catalog=9)}, METRICS),
            "has ties and users with several relevant items",
        ),
        (({"A": [1, 2]}, METRICS, Draw(9, n_items=[55] * 3)), r"draw.n_items has shape \(3,\); "),
        ((PAIR, METRICS, None, "groups", [1, 2]), r"groups has shape \(2,\); groups must have one"),
        (({"A": [1, 2]}, METRICS, None, "groups", ["g", None]), r"groups\[1\] is None"),
        (({"A": [1, 2]}, METRICS, None, "groups", [1, np.nan]), r"groups\[1\] is nan"),
        ((PAIR, METRICS, None, "groups", {"user 00": 1}), "groups lacks user 'user 01'"),
        (
            ({"A": [1, 2]}, METRICS, None, "groups", {0: "g", 1: "h"}),
            "groups is a dict by user, but ranks lack users",
        ),
        (
            ({"A": [1, 2]}, METRICS, None, "groups", pd.Series(["g", "h"])),
            "groups has an index",
        ),
        (
            (PAIR, METRICS, None, "groups", pd.DataFrame({"user": [0], "half": [1]})),
            "groups is a DataFrame; pass a dict or Series by user",
        ),
        ((pd.DataFrame({"user": [0]}), METRICS), "ranks is a DataFrame; .* Ranks.read"),
        (("ranks.csv", METRICS), "ranks is 'ranks.csv'; ranks must be a dict: Ranks.read makes"),
        (({"A": [1, 2]}, METRICS, None, "groups", ["x", np.nan]), r"groups\[1\] is nan; .* known"),
        (({"A": [1, 2]}, METRICS, None, "groups", ["1", 1]), "groups has values of the types int"),
        ((PAIR, METRICS, None, "groups", "half"), r"groups has shape \(\); groups must have one"),
        (({"A": [1, 2]}, [AUC()]), "n_items is None; AUC needs"),
        ((PAIR, METRICS, None, "confidence", 95), "confidence is 95"),
    ],
)  # fmt: skip
def test_what_cannot_be_evaluated_is_refused(arguments, says):
    ranks, metrics, *draw = arguments[:3]
    options = dict([arguments[3:]]) if len(arguments) > 3 else {}
    with pytest.raises(ValueError, match=says):
        evaluate(ranks, metrics, *draw, **options)


def test_one_recommender_or_user_cannot_be_compared():
    alone = evaluate({"A": A}, METRICS, Draw(9))
    for ask in (alone.comparisons, alone.orders):
        with pytest.raises(ValueError, match="there are 1 recommenders; a comparison needs two"):
            ask()
    one = evaluate({"A": [3]}, METRICS)
    assert one.table["value"].tolist() == pytest.approx([1, 0.5, 1 / 3])
    assert one.table[["standard_error", "low", "high"]].isna().all(axis=None)


def test_what_differs_by_rounding_only_is_the_same():
    """1/2 - 1/3 and 1/3 - 1/6 are equal, and these eight differences have the mean 0."""
    found = evaluate({"A": [2, 3], "B": [3, 6]}, [ReciprocalRank()]).comparisons(rng=0).iloc[0]
    assert np.isnan(found[["p_t", "p_holm"]].astype(float)).all()
    assert found.standard_error == 0
    a, b = [3, 2, 5, 4, 6, 6, 1, 6], [3, 2, 6, 4, 5, 1, 6, 6]
    found = evaluate({"A": a, "B": b}, [ReciprocalRank()]).comparisons(rng=0).iloc[0]
    assert found.difference == found.effect_size == 0
    assert found.p_randomization == 1
