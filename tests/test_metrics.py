"""What every metric promises, and what each equation says."""

import math
from dataclasses import FrozenInstanceError, dataclass, replace
from itertools import combinations, product
from typing import Literal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score, roc_auc_score

from sampled_metrics import (
    AUC,
    F1,
    NDCG,
    AveragePrecision,
    Metric,
    Precision,
    Ranks,
    Recall,
    ReciprocalRank,
)
from shared import (
    DATA,
    METRICS,
    MONOTONE,
    SUMS,
    TOY,
    Percentile,
    RankBiasedPrecision,
    by_definition,
    exact_values,
    the_part,
    tied_places,
)

N_ITEMS = 12

# Every set of ranks that leaves an irrelevant item.
FEW_ITEMS = 7
ROWS = [row for q in range(1, FEW_ITEMS) for row in combinations(range(1, FEW_ITEMS + 1), q)]
EVERY = Ranks.from_lists(ROWS)

rank_sets = st.sets(st.integers(1, N_ITEMS), min_size=1, max_size=N_ITEMS - 1)


@pytest.mark.parametrize("metric", METRICS, ids=str)
class TestEveryMetric:
    def test_is_its_definition(self, metric):
        values = metric(EVERY, n_items=FEW_ITEMS)
        want = [by_definition(metric, row, FEW_ITEMS) for row in ROWS]
        np.testing.assert_allclose(values, want, rtol=1e-12)
        assert values.min() >= 0
        assert values.max() <= 1 + 1e-12

    def test_equal_gains_are_no_gains(self, metric):
        graded = Ranks.from_lists(ROWS, gains=[[1] * len(row) for row in ROWS])
        np.testing.assert_array_equal(metric(graded, FEW_ITEMS), metric(EVERY, FEW_ITEMS))

    def test_one_relevant_item_is_the_same_as_a_list_of_one(self, metric):
        ranks = np.arange(1, N_ITEMS + 1)
        lists = Ranks.from_lists(ranks[:, None])
        np.testing.assert_array_equal(metric(ranks, n_items=N_ITEMS), metric(lists, N_ITEMS))

    def test_ranks_may_know_their_number_of_items(self, metric):
        rows, sizes = [[3, 1], [2], [9, 4, 5]], [4, 7, 30]
        want = metric(Ranks.from_lists(rows), sizes)
        np.testing.assert_array_equal(metric(Ranks.from_lists(rows, n_items=sizes)), want)
        with pytest.raises(ValueError, match=r"n_items\[1\] is 8; .* what ranks knows, 7"):
            metric(Ranks.from_lists(rows, n_items=sizes), [4, 8, 30])

    def test_keeps_the_shape(self, metric):
        ranks = np.arange(1, N_ITEMS + 1).reshape(3, 4)
        assert metric(ranks, n_items=N_ITEMS).shape == (3, 4)
        assert metric(5, n_items=N_ITEMS).shape == ()
        assert metric(np.empty((0, 4), dtype=int), n_items=N_ITEMS).shape == (0, 4)
        assert metric(Ranks.from_lists([]), n_items=N_ITEMS).shape == (0,)
        assert metric(Ranks([], 0, N_ITEMS)).shape == (0,)

    def test_no_relevant_item_is_nan(self, metric):
        values = metric(Ranks.from_lists([[1], [], [2], []]), n_items=N_ITEMS)
        assert np.isnan(values).tolist() == [False, True, False, True]

    def test_a_better_single_rank_is_no_worse(self, metric):
        values = metric(np.arange(1, N_ITEMS + 1), n_items=N_ITEMS)
        assert (np.diff(values) <= 0).all()

    def test_rank_above_n_items_is_refused(self, metric):
        with pytest.raises(ValueError, match=r"ranks\[1\] is 13; .* be at most n_items, 12"):
            metric([1, 13], n_items=N_ITEMS)
        with pytest.raises(ValueError, match=r"ranks\[1\] is 13; .* n_items, 12"):
            metric(Ranks.from_lists([[1], [2, 13]]), n_items=N_ITEMS)

    @settings(max_examples=20)
    @given(data=st.data())
    def test_of_tied_ranks_is_the_mean_over_all_ways(self, metric, data):
        n = np.array(data.draw(st.lists(st.integers(2, 40), min_size=1, max_size=8)))
        best = np.array([data.draw(st.integers(1, int(size))) for size in n])
        tied = np.array([data.draw(st.integers(0, int(free))) for free in n - best])
        ranks = Ranks(best, tied, n)
        want = [
            np.mean([by_definition(metric, [rank], size) for rank in places])
            for places, size in zip(tied_places(ranks), n.tolist(), strict=True)
        ]
        np.testing.assert_allclose(metric(ranks), want, rtol=1e-12, atol=1e-15)
        assert metric.mean(ranks) == pytest.approx(np.mean(want), rel=1e-12)

    def test_is_a_value(self, metric):
        again = replace(metric)
        assert again == metric
        assert hash(again) == hash(metric)
        assert len({metric, again, Recall(k=77)}) == 2
        with pytest.raises(FrozenInstanceError):
            metric.k = 5

    def test_has_a_name(self, metric):
        assert str(metric).startswith(metric.symbol)
        assert f"@{metric.k}" in str(metric) or metric.k is None


def test_no_two_metrics_have_one_name():
    assert len(set(map(str, METRICS))) == len(METRICS)


@pytest.mark.parametrize("metric", SUMS, ids=str)
def test_is_the_sum_of_what_its_items_add(metric):
    """The gain up to the cutoff, over the normalizer: the contract that corrections build on."""
    n = FEW_ITEMS
    got = [sum(the_part(metric, j, r, len(row), n) for j, r in enumerate(row, 1)) for row in ROWS]
    np.testing.assert_allclose(got, metric(EVERY, n), rtol=1e-12)


@pytest.mark.parametrize("metric", METRICS, ids=str)
@pytest.mark.slow
def test_long_ties(metric):
    """A million ranks, whose sums need more than one piece."""
    n, best = 1_100_000, np.array([1, 2, 100_000, 1_050_000])
    ranks = Ranks(best, n - best, n)
    every = metric(np.arange(1, n + 1), n)
    want = [every[b - 1 :].mean() for b in best]
    np.testing.assert_allclose(metric(ranks), want, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("metric", MONOTONE, ids=str)
def test_moving_a_relevant_item_up_never_costs(metric):
    value = dict(zip(ROWS, metric(EVERY, FEW_ITEMS), strict=True))
    for row in ROWS:
        for old, new in product(row, set(range(1, FEW_ITEMS + 1)) - set(row)):
            if new < old:
                better = tuple(sorted({*row, new} - {old}))
                assert value[better] >= value[row] - 1e-12


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


TABLE_1 = pd.read_csv(DATA / "paper_table1.csv")


@pytest.mark.parametrize("metric", [AUC(), AveragePrecision(), NDCG(), Recall(k=10)], ids=str)
def test_table_1(metric):
    values = {name: metric(ranks, n_items=10_000).mean() for name, ranks in TOY.items()}
    printed = TABLE_1[TABLE_1.metric == str(metric)].set_index("recommender").paper
    assert pd.Series(values).round(3).to_dict() == printed.to_dict()


@settings(max_examples=30)
@given(row=rank_sets)
def test_agrees_with_scikit_learn(row):
    relevant = np.isin(np.arange(1, N_ITEMS + 1), list(row)).astype(int)
    scores = -np.arange(1.0, N_ITEMS + 1)
    ranks = Ranks.from_lists([row])
    assert AUC()(ranks, N_ITEMS)[0] == pytest.approx(roc_auc_score(relevant, scores), abs=1e-12)
    for k in (1, 3, None):
        ours = NDCG(k=k)(ranks)[0]
        assert ours == pytest.approx(ndcg_score([relevant], [scores], k=k), abs=1e-12)


# --- gains


graded_lists = st.lists(st.integers(0, 5), min_size=2, max_size=N_ITEMS).filter(any)


@pytest.mark.parametrize(
    ("gains", "amount"),
    [("linear", np.asarray), ("exponential", lambda g: 2.0 ** np.asarray(g) - 1)],
)
@settings(max_examples=30)
@given(lists=st.lists(graded_lists, min_size=1, max_size=4), k=st.sampled_from([1, 3, None]))
def test_graded_ndcg_agrees_with_scikit_learn(gains, amount, lists, k):
    """Gains in the order of the ranking; exponential gain is linear gain of 2**g - 1."""
    positions = [range(1, len(row) + 1) for row in lists]
    ranks = Ranks.from_lists(positions, gains=lists)
    got = NDCG(k=k, gains=gains)(ranks)
    want = [ndcg_score([amount(row)], [-np.arange(len(row))], k=k) for row in lists]
    np.testing.assert_allclose(got, want, atol=1e-12)


@settings(max_examples=50)
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


@pytest.mark.parametrize("metric", [m for m in METRICS if not isinstance(m, NDCG)], ids=str)
def test_only_ndcg_looks_at_gains(metric):
    plain, graded = Ranks.from_lists([[2, 3, 7]]), Ranks.from_lists([[7, 3, 2]], gains=[[3, 2, 9]])
    np.testing.assert_array_equal(metric(graded, N_ITEMS), metric(plain, N_ITEMS))


def test_the_books_example_of_graded_ndcg():
    """10, 20, 3, 7, 10 in this order: the page of the book on NDCG has 24.1186 / 31.3093."""
    ranks = Ranks.from_lists([[1, 2, 3, 4, 5]], gains=[[10, 20, 3, 7, 10]])
    assert NDCG(k=3)(ranks)[0] == pytest.approx(24.1186 / 31.3093, abs=1e-5)


def test_gain_too_large_to_raise_two_to():
    most = Ranks.from_lists([[1]], gains=[[1000]])
    assert NDCG(gains="exponential")(most) == 1
    ranks = Ranks.from_lists([[1, 2]], gains=[[1000, 1001]])
    with pytest.raises(ValueError, match=r"gains\[1\] is 1001.0; gains must be at most 1000"):
        NDCG(gains="exponential")(ranks)


# --- numbers of items, means, denominators


def test_auc_without_irrelevant_items_is_nan():
    assert np.isnan(AUC()(Ranks.from_lists([[1, 2, 3]]), n_items=3)).all()
    assert np.isnan(AUC()(1, n_items=1))
    assert np.isnan(AUC()(Ranks([1], 0, 1))).all()


def test_n_items_may_differ_by_instance():
    np.testing.assert_allclose(AUC()([2, 2], n_items=[3, 11]), [0.5, 0.9])
    with pytest.raises(ValueError, match=r"ranks\[1\] is 4"):
        Recall(k=1)([4, 4], n_items=[5, 3])
    np.testing.assert_allclose(AUC()([[2, 2], [1, 3]], n_items=[3, 11]), [[0.5, 0.9], [1, 0.8]])


def test_labelled_data_are_aligned_or_refused():
    ranks, sizes = pd.Series([2, 2], index=["u", "v"]), pd.Series([3, 11], index=["u", "v"])
    np.testing.assert_allclose(AUC()(ranks, sizes), [0.5, 0.9])
    with pytest.raises(ValueError, match="ranks and n_items have different indexes; align them"):
        AUC()(ranks, sizes[::-1])
    with pytest.raises(ValueError, match="n_items has an index"):
        AUC()(Ranks.from_lists([[2], [2]]), sizes)
    with pytest.raises(ValueError, match="n_items has an index"):
        AUC()(Ranks([2, 2], 0, [3, 11]), sizes)


def test_mean_leaves_out_or_counts_instances_without_relevant_items():
    ranks = Ranks.from_lists([[1], [], [2], []])
    metric = ReciprocalRank()
    assert metric.mean(ranks) == 0.75
    assert metric.mean(ranks, empty=0) == 1.5 / 4
    assert metric.mean(ranks, empty=1) == 3.5 / 4
    for empty in (None, "0", True, 1j, np.complex64(1), [0]):
        with pytest.raises(ValueError, match=r"empty is .*; empty must be a number"):
            metric.mean(ranks, empty=empty)  # type: ignore[arg-type]
    assert np.isnan(metric.mean(Ranks.from_lists([[], []])))
    assert AUC().mean([1, 3], n_items=3) == 0.5


def test_n_items_must_fit():
    with pytest.raises(ValueError, match="n_items is 0; n_items must be at least 1"):
        Recall(k=1)([], n_items=0)
    with pytest.raises(ValueError, match=r"n_items\[0\] is 2; .* relevant items, 4"):
        Recall(k=2)(Ranks.from_recommendations([[7]], [[1, 2, 3, 7]]), n_items=2)
    with pytest.raises(ValueError, match=r"n_items has shape \(2,\), ranks has shape \(3,\)"):
        Recall(k=1)([1, 1, 1], n_items=[5, 3])


@pytest.mark.parametrize("metric", [AUC(), Percentile()], ids=str)
def test_a_metric_says_what_it_needs(metric):
    with pytest.raises(ValueError, match=f"n_items is None; {metric} needs the number of ranked"):
        metric([1, 2])


def test_auc_needs_every_rank():
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
        for ranks in ([1, 2], Ranks([1], 0, 3), Ranks.from_lists([[1]])):
            with pytest.raises(ValueError, match='denominator is "predicted"; it needs the length'):
                metric(ranks)


# --- one's own


def test_a_metric_of_ones_own_is_checked_and_printed_like_ours():
    assert str(RankBiasedPrecision()) == "RBP"
    assert str(RankBiasedPrecision(k=5, p=0.5, share="relevant")) == "RBP@5 (p=0.5, share=relevant)"
    with pytest.raises(ValueError, match="k is 0; k must be at least 1"):
        RankBiasedPrecision(k=0)


def test_a_gain_that_is_not_returned():
    @dataclass(frozen=True)
    class Forgetful(Metric):
        k: int | None = None

        def gain(self, rank, order, n_relevant, n_items):
            1 / rank

        def normalizer(self, ranks):
            return 1

    with pytest.raises(ValueError, match=r"Forgetful\.gain returns None; let it return"):
        Forgetful()([1, 2])


def test_a_metric_without_its_two_methods_is_none():
    @dataclass(frozen=True)
    class Half(Metric):
        symbol = "half"
        k: int | None = None

        def gain(self, rank, order, n_relevant, n_items):
            return 1

    with pytest.raises(TypeError, match="normalizer"):
        Half()  # type: ignore[abstract]


def test_a_metric_without_a_symbol_is_called_like_its_class():
    class Inverse(Metric):
        k: int | None = None

        def gain(self, rank, order, n_relevant, n_items):
            return 1 / rank

        def normalizer(self, ranks):
            return 1

    @dataclass(frozen=True)
    class Power(Inverse):
        k: int | None = None
        p: float = 2

    @dataclass(frozen=True)
    class Renamed(Power):
        symbol = "P"

    metrics = [Inverse(), Power(), Power(k=1), Power(k=1, p=3), Renamed(k=1)]
    said = ["Inverse", "Power", "Power@1", "Power@1 (p=3)", "P@1"]
    assert [str(metric) for metric in metrics] == said
    assert (Inverse.symbol, Power().symbol, Renamed.symbol) == ("Inverse", "Power", "P")
    found = exact_values({"a": [1, 2]}, metrics)
    assert found["metric"].tolist() == said
    assert found["value"].tolist() == [0.75, 0.75, 0.5, 0.5, 0.5]


# --- wrong input


@pytest.mark.parametrize("metric", [Precision, Recall, F1, AveragePrecision, ReciprocalRank, NDCG])
@pytest.mark.parametrize(
    ("k", "message"),
    [
        (0, "k is 0; k must be at least 1"),
        (-2, "k is -2; k must be at least 1"),
        (2.5, "k is 2.5; k must be whole"),
        (np.nan, "k is nan; k must be whole"),
        ("3", "k is '3'; k must be whole numbers"),
        ([1, 2], r"k is \[1, 2\]; k must be one whole number"),
        (True, "k is True; k must be whole numbers"),
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
        ([np.inf], r"ranks\[0\] is inf; ranks must be at most"),
        (["1"], r"ranks is \['1'.*; ranks must be whole numbers"),
        ([True], r"ranks is \[True"),
        (
            [[1, 2], [3]],
            "ranks is ragged, or no array.*; lists of several ranks per user go into Ranks.from_l",
        ),
        (None, "ranks is None; ranks must be whole numbers"),
        (np.ma.masked_equal([1, 2], 2), "ranks is a masked or sparse array"),
    ],
)
def test_bad_ranks(ranks, message):
    with pytest.raises(ValueError, match=message):
        Recall(k=10)(ranks)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AveragePrecision(denominator="min"), "denominator is 'min'; .* one of 'capped'"),  # type: ignore[arg-type]
        (lambda: Precision(k=3, denominator="hits"), "denominator is 'hits'; .* one of 'k', "),  # type: ignore[arg-type]
        (lambda: Recall(k=3, denominator="k"), "denominator is 'k'; .* must be one of 'relevant'"),  # type: ignore[arg-type]
        (lambda: NDCG(ideal="all"), "ideal is 'all'; .* one of 'relevant', 'hits', 'full'"),  # type: ignore[arg-type]
        (lambda: NDCG(gains="log"), "gains is 'log'; .* one of 'linear', 'exponential'"),  # type: ignore[arg-type]
        (lambda: NDCG(ideal=None), "ideal is None; ideal must be one of"),  # type: ignore[arg-type]
        (lambda: NDCG(ideal="full"), 'k is None; NDCG with ideal "full" needs a cutoff'),
    ],
)
def test_bad_choices(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_full_ideal_has_no_gains():
    graded = Ranks.from_lists([[1, 2]], gains=[[1, 3]])
    with pytest.raises(ValueError, match='ideal is "full", k items of gain 1; it needs all gains'):
        NDCG(k=2, ideal="full")(graded)
    plain = Ranks.from_lists([[1, 2]], gains=[[1, 1]])
    assert NDCG(k=2, ideal="full")(plain) == 1


def test_a_choice_of_a_metric_of_ones_own_is_checked():
    """What its type lists is what it may be, and no method has to say so."""

    @dataclass(frozen=True)
    class Depth(Metric):
        k: int
        unit: Literal["rank", 2] = "rank"

        def gain(self, rank, order, n_relevant, n_items):
            return rank

        def normalizer(self, ranks):
            return 1

    assert Depth(k=3, unit=2)([2]).tolist() == [2]
    with pytest.raises(ValueError, match="unit is 'share'; unit must be one of 'rank', 2"):
        Depth(k=3, unit="share")  # type: ignore[arg-type]


@pytest.mark.parametrize("k", [None, 100, 700, 10**5])
@pytest.mark.parametrize(
    ("best", "size"), [(1, 2), (1, 600), (500, 12), (511, 3), (700, 2), (3, 300_000), (90_000, 999)]
)
def test_ndcg_of_many_level_items_is_the_mean_of_its_discounts(best, size, k):
    """Beyond the first ranks it is summed by a formula, which is right to 13 digits."""
    ranks = Ranks([best], n_tied=size - 1, n_items=10**6)
    discounts = 1 / np.log2(np.arange(best, best + size) + 1.0)
    mean = math.fsum(discounts[: size if k is None else max(k + 1 - best, 0)]) / size
    np.testing.assert_allclose(NDCG(k)(ranks), mean, rtol=1e-13, atol=0)


@pytest.mark.parametrize("parent", [NDCG, AveragePrecision, ReciprocalRank])
def test_a_gain_of_ones_own_is_averaged_over_ties(parent):
    """The closed form of the parent's gain is not that of the child's."""

    def gain(self, rank, order, n_relevant, n_items):
        return 1.0 / rank**2

    child = type("Squared", (parent,), {"gain": gain})
    value = child()(Ranks([2], n_tied=1, n_items=5))
    np.testing.assert_allclose(value, (1 / 4 + 1 / 9) / 2)
