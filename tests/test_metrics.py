"""What every metric promises, and what each equation says."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score, roc_auc_score

from sampled_metrics import (
    AUC,
    F1,
    NDCG,
    AveragePrecision,
    Precision,
    Ranks,
    Recall,
    ReciprocalRank,
)

N_ITEMS = 12
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
    ReciprocalRank(),
    ReciprocalRank(k=3),
    NDCG(),
    NDCG(k=3),
    NDCG(k=3, ideal="hits"),
    NDCG(k=3, ideal="full"),
]
# What no worse ranking can beat: not so where the divisor looks at the hits.
MONOTONE = [m for m in METRICS if "hits" not in str(m)]

rank_sets = st.sets(st.integers(1, N_ITEMS), min_size=1, max_size=N_ITEMS - 1)


def by_definition(metric, ranks, n=N_ITEMS):
    """The definitions of Section 3 of the paper, summed position by position."""
    k = getattr(metric, "k", None) or n
    hits = [r for r in sorted(ranks) if r <= k]

    def precision(i):
        return sum(r <= i for r in ranks) / i

    def discount(count):
        return sum(1 / np.log2(i + 1) for i in range(1, count + 1))

    match metric:
        case AUC():
            others = set(range(1, n + 1)) - set(ranks)
            return sum(r < o for r in ranks for o in others) / (len(ranks) * len(others))
        case Precision():
            return precision(k)
        case Recall():
            return len(hits) / (min(len(ranks), k) if "capped" in str(metric) else len(ranks))
        case F1():
            p, r = precision(k), len(hits) / len(ranks)
            return 2 * p * r / (p + r) if p + r else 0
        case AveragePrecision():
            divisor = {
                "capped": min(len(ranks), k),
                "relevant": len(ranks),
                "hits": max(len(hits), 1),
            }
            return sum(precision(i) for i in hits) / divisor[metric.denominator]
        case ReciprocalRank():
            return 1 / hits[0] if hits else 0
        case NDCG():
            ideal = {"relevant": min(len(ranks), k), "hits": max(len(hits), 1), "full": k}
            return sum(1 / np.log2(r + 1) for r in hits) / discount(ideal[metric.ideal])


@pytest.mark.parametrize("metric", METRICS, ids=str)
class TestEveryMetric:
    @given(rows=st.lists(rank_sets, min_size=1, max_size=6))
    def test_is_its_definition(self, metric, rows):
        values = metric(Ranks.from_lists([list(row) for row in rows]), n_items=N_ITEMS)
        np.testing.assert_allclose(values, [by_definition(metric, row) for row in rows], rtol=1e-12)

    @given(row=rank_sets)
    def test_is_in_range(self, metric, row):
        assert 0 <= metric(Ranks.from_lists([list(row)]), n_items=N_ITEMS)[0] <= 1 + 1e-12

    def test_one_relevant_item_is_the_same_as_a_list_of_one(self, metric):
        ranks = np.arange(1, N_ITEMS + 1)
        lists = Ranks.from_lists(ranks[:, None])
        np.testing.assert_array_equal(metric(ranks, n_items=N_ITEMS), metric(lists, N_ITEMS))

    def test_keeps_the_shape(self, metric):
        ranks = np.arange(1, N_ITEMS + 1).reshape(3, 4)
        assert metric(ranks, n_items=N_ITEMS).shape == (3, 4)
        assert metric(5, n_items=N_ITEMS).shape == ()
        assert metric(np.empty((0, 4), dtype=int), n_items=N_ITEMS).shape == (0, 4)
        assert metric(Ranks.from_lists([]), n_items=N_ITEMS).shape == (0,)

    def test_no_relevant_item_is_nan(self, metric):
        values = metric(Ranks.from_lists([[1], [], [2], []]), n_items=N_ITEMS)
        assert np.isnan(values).tolist() == [False, True, False, True]

    def test_worst_single_rank_is_worth_least(self, metric):
        values = metric(np.arange(1, N_ITEMS + 1), n_items=N_ITEMS)
        assert (np.diff(values) <= 0).all()
        if metric not in (Precision(k=3), NDCG(k=3, ideal="full")):
            assert values[0] == pytest.approx(1 if metric != F1(k=3) else 2 * 1 / (3 + 1))

    def test_rank_above_n_items_is_refused(self, metric):
        with pytest.raises(ValueError, match=r"ranks\[1\] is 13; .* be at most n_items, 12"):
            metric([1, 13], n_items=N_ITEMS)
        with pytest.raises(ValueError, match=r"ranks\[1\] holds rank 13; .* n_items, 12"):
            metric(Ranks.from_lists([[1], [2, 13]]), n_items=N_ITEMS)


@pytest.mark.parametrize("metric", MONOTONE, ids=str)
@given(row=rank_sets, data=st.data())
def test_moving_a_relevant_item_up_never_costs(metric, row, data):
    free = sorted(set(range(1, N_ITEMS + 1)) - row)
    old, new = data.draw(st.sampled_from(sorted(row))), data.draw(st.sampled_from(free))
    better = (row - {old}) | {new} if new < old else row
    values = metric(Ranks.from_lists([list(row), list(better)]), n_items=N_ITEMS)
    assert values[1] >= values[0] - 1e-12


def test_simplified_metrics():
    """Equations 7 to 13 and the reductions of Section 3.1."""
    r = np.arange(1, 101)
    np.testing.assert_allclose(AUC()(r, n_items=100), (100 - r) / 99)
    np.testing.assert_allclose(Precision(k=10)(r), (r <= 10) / 10)
    np.testing.assert_allclose(Recall(k=10)(r), r <= 10)
    np.testing.assert_allclose(AveragePrecision(k=10)(r), (r <= 10) / r)
    np.testing.assert_allclose(NDCG(k=10)(r), (r <= 10) / np.log2(r + 1))
    np.testing.assert_allclose(AveragePrecision()(r), 1 / r)
    np.testing.assert_allclose(NDCG()(r), 1 / np.log2(r + 1))
    np.testing.assert_array_equal(ReciprocalRank(k=7)(r), AveragePrecision(k=7)(r))
    np.testing.assert_array_equal(Recall(k=1)(r), Precision(k=1)(r))


# The toy example of the paper, and its Table 1.
TOY = {
    "A": [100, 100, 100, 100, 100],
    "B": [40, 40, 8437, 9266, 4482],
    "C": [212, 2, 743, 5342, 1548],
}
TABLE_1 = pd.read_csv(Path(__file__).parents[1] / "book" / "data" / "paper_table1.csv")


@pytest.mark.parametrize("metric", [AUC(), AveragePrecision(), NDCG(), Recall(k=10)], ids=str)
def test_table_1(metric):
    values = {name: metric(ranks, n_items=10_000).mean() for name, ranks in TOY.items()}
    printed = TABLE_1[TABLE_1.metric == str(metric)].set_index("recommender").paper
    assert pd.Series(values).round(3).to_dict() == printed.to_dict()


@given(row=rank_sets)
def test_agrees_with_scikit_learn(row):
    relevant = np.isin(np.arange(1, N_ITEMS + 1), list(row)).astype(int)
    scores = -np.arange(1.0, N_ITEMS + 1)
    ranks = Ranks.from_lists([list(row)])
    assert AUC()(ranks, N_ITEMS)[0] == pytest.approx(roc_auc_score(relevant, scores), abs=1e-12)
    for k in (1, 3, None):
        ours = NDCG(k=k)(ranks)[0]
        assert ours == pytest.approx(ndcg_score([relevant], [scores], k=k), abs=1e-12)


graded_lists = st.lists(st.integers(0, 5), min_size=2, max_size=N_ITEMS).filter(any)


@given(lists=st.lists(graded_lists, min_size=1, max_size=4), k=st.sampled_from([1, 3, None]))
def test_graded_ndcg_agrees_with_scikit_learn(lists, k):
    """Gains in the order of the ranking; exponential gain is linear gain of 2**g - 1."""
    positions = [range(1, len(row) + 1) for row in lists]
    ranks = Ranks.from_lists(positions, gains=lists)
    for gain, worth in (
        ("linear", np.asarray),
        ("exponential", lambda g: 2.0 ** np.asarray(g) - 1),
    ):
        got = NDCG(k=k, gain=gain)(ranks)
        want = [ndcg_score([worth(row)], [-np.arange(len(row))], k=k) for row in lists]
        np.testing.assert_allclose(got, want, atol=1e-12)


@given(
    rows=st.lists(
        st.tuples(
            st.lists(st.integers(0, 9), unique=True, max_size=6),
            st.dictionaries(st.integers(0, 9), st.integers(0, 4), max_size=6),
        ),
        min_size=1,
        max_size=4,
    ),
    k=st.sampled_from([1, 2, 4, None]),
)
def test_graded_ndcg_of_recommendations(rows, k):
    """Against the definition; "hits" sorts what was found, "relevant" all that could be."""

    def dcg(gains):
        return sum(g / np.log2(r + 1) for r, g in enumerate(gains[:k], 1))

    ranks = Ranks.from_recommendations([p for p, _ in rows], [labels for _, labels in rows])
    for ideal in ("relevant", "hits"):
        for value, (predicted, labels) in zip(NDCG(k=k, ideal=ideal)(ranks), rows, strict=True):
            seen = [labels.get(item, 0) for item in predicted]
            best = sorted(labels.values() if ideal == "relevant" else seen[:k], reverse=True)
            if not any(labels.values()):
                assert np.isnan(value)
            else:
                assert value == pytest.approx(dcg(seen) / dcg(best) if dcg(best) else 0)


@given(row=rank_sets)
def test_equal_gains_are_no_gains(row):
    plain, graded = Ranks.from_lists([row]), Ranks.from_lists([row], gains=[[1] * len(row)])
    for metric in METRICS:
        np.testing.assert_array_equal(metric(plain, N_ITEMS), metric(graded, N_ITEMS))


def test_the_books_example_of_graded_ndcg():
    """10, 20, 3, 7, 10 in this order: the page of the book on NDCG has 24.1186 / 31.3093."""
    ranks = Ranks.from_lists([[1, 2, 3, 4, 5]], gains=[[10, 20, 3, 7, 10]])
    assert NDCG(k=3)(ranks)[0] == pytest.approx(24.1186 / 31.3093, abs=1e-5)


def test_gain_too_large_to_raise_two_to():
    ranks = Ranks.from_lists([[1, 2]], gains=[[1, 1500]])
    with pytest.raises(ValueError, match=r"gains\[1\] is 1500.0; gains must be at most 1000"):
        NDCG(gain="exponential")(ranks)


def test_auc_without_irrelevant_items_is_nan():
    assert np.isnan(AUC()(Ranks.from_lists([[1, 2, 3]]), n_items=3)).all()
    assert np.isnan(AUC()(1, n_items=1))


def test_n_items_may_differ_by_instance():
    np.testing.assert_allclose(AUC()([2, 2], n_items=[3, 11]), [0.5, 0.9])
    with pytest.raises(ValueError, match=r"ranks\[1\] is 4"):
        Recall(k=1)([4, 4], n_items=[5, 3])


def test_mean_leaves_out_or_counts_who_has_no_labels():
    ranks = Ranks.from_lists([[1], [], [2], []])
    metric = ReciprocalRank()
    assert metric.mean(ranks) == 0.75
    assert metric.mean(ranks, empty=0) == 1.5 / 4
    assert metric.mean(ranks, empty=1) == 3.5 / 4
    for empty in (None, "0", True):
        with pytest.raises(ValueError, match=r"empty is .*; empty must be a number"):
            metric.mean(ranks, empty=empty)
    assert np.isnan(metric.mean(Ranks.from_lists([[], []])))
    assert AUC().mean([1, 3], n_items=3) == 0.5


def test_n_items_must_fit():
    with pytest.raises(ValueError, match="n_items is 0; n_items must be at least 1"):
        Recall(k=1)([], n_items=0)
    with pytest.raises(ValueError, match="n_items is 2 for instance 0, which has 4 relevant"):
        Recall(k=2)(Ranks.from_recommendations([[7]], [[1, 2, 3, 7]]), n_items=2)
    with pytest.raises(ValueError, match=r"n_items has shape \(2,\), ranks has shape \(3,\)"):
        Recall(k=1)([1, 1, 1], n_items=[5, 3])


def test_auc_says_what_it_needs():
    with pytest.raises(ValueError, match="n_items is None; AUC needs the number of ranked items"):
        AUC()([1, 2])
    with pytest.raises(ValueError, match=r"ranks\[0\] has 2 relevant items but 1 ranks"):
        AUC()(Ranks.from_recommendations([[7]], [[7, 8]]), n_items=10)


def test_predicted_denominator():
    users = Ranks.from_recommendations([[1, 9], [9, 1, 8, 7]], [[1, 2, 3], [1]])
    ap = AveragePrecision(k=3, denominator="predicted")
    np.testing.assert_allclose(ap(users), [1 / 2, (1 / 2) / 3])
    precision = Precision(k=3, denominator="predicted")
    np.testing.assert_allclose(precision(users), [1 / 2, 1 / 3])
    for metric in (ap, precision):
        assert metric(Ranks.from_recommendations([[], [1]], [[1], [1]])).tolist() == [0, 1]
        with pytest.raises(ValueError, match="needs the lengths of the lists"):
            metric([1, 2])


@pytest.mark.parametrize("metric", [Precision, Recall, F1, AveragePrecision, ReciprocalRank, NDCG])
@pytest.mark.parametrize(
    ("k", "message"),
    [
        (0, "k is 0; k must be at least 1"),
        (-2, "k is -2; k must be at least 1"),
        (2.5, "k is 2.5; k must be whole"),
        (np.nan, "k is nan; k must be whole"),
        ("3", "k has dtype <U1; k must be whole numbers"),
        ([1, 2], r"k is \[1, 2\]; k must be one whole number"),
        (True, "k has dtype bool; k must be whole numbers"),
    ],
)
def test_bad_k(metric, k, message):
    with pytest.raises(ValueError, match=message):
        metric(k=k)


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        ([3, 0], r"ranks\[1\] is 0; ranks must be at least 1"),
        ([[1, 2], [-4, 1]], r"ranks\[1, 0\] is -4; ranks must be at least 1"),
        ([1.5], r"ranks\[0\] is 1.5; ranks must be whole"),
        ([1.0, np.nan], r"ranks\[1\] is nan; ranks must be whole"),
        ([np.inf], r"ranks\[0\] is inf; ranks must be whole"),
        (["1"], "ranks has dtype <U1; ranks must be whole numbers"),
        ([True], "ranks has dtype bool"),
        ([[1, 2], [3]], "ranks is ragged"),
    ],
)
def test_bad_ranks(ranks, message):
    with pytest.raises(ValueError, match=message):
        Recall(k=10)(ranks)


def test_bad_choices():
    with pytest.raises(ValueError, match="denominator is 'min'; denominator must be one of capped"):
        AveragePrecision(denominator="min")
    with pytest.raises(ValueError, match="denominator is 'hits'; denominator must be one of k, "):
        Precision(k=3, denominator="hits")
    with pytest.raises(ValueError, match="denominator is 'k'; denominator must be one of relevant"):
        Recall(k=3, denominator="k")
    with pytest.raises(
        ValueError, match="ideal is 'all'; ideal must be one of relevant, hits, full"
    ):
        NDCG(ideal="all")
    with pytest.raises(ValueError, match="gain is 'log'; gain must be one of linear, exponential"):
        NDCG(gain="log")
    with pytest.raises(ValueError, match='k is None; NDCG with ideal "full" needs a cutoff'):
        NDCG(ideal="full")
    graded = Ranks.from_lists([[1, 2]], gains=[[1, 3]])
    with pytest.raises(ValueError, match='ideal is "full", k items of gain 1; it needs all gains'):
        NDCG(k=2, ideal="full")(graded)
    plain = Ranks.from_lists([[1, 2]], gains=[[1, 1]])
    assert NDCG(k=2, ideal="full")(plain) == 1
