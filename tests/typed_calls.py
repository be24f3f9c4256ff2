"""Calls as the documentation writes them, for mypy: it accepts the first part, refuses the second.

`mypy` checks this file with `src`. An ignored error that is none is an error itself, so a wrong
choice that the types let through is found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from sampled_metrics import (
    AUC,
    F1,
    NDCG,
    AveragePrecision,
    BiasVariance,
    Draw,
    Metric,
    Precision,
    RankEstimate,
    Ranks,
    Recall,
    ReciprocalRank,
    Split,
    Uncorrected,
    WeightedDraw,
    compare,
    dominates,
    evaluate,
    explain,
    leave_last_out,
    metric_bounds,
    simulate,
)
from sampled_metrics.bounds import identified_set
from sampled_metrics.corrections import (
    ConstrainedLeastSquares,
    CorrectedMetric,
    Estimator,
    MappedCutoff,
    Multinomial,
    Problem,
    estimate_rank_distribution,
    sample_adaptively,
)
from sampled_metrics.experiments import ItemKNN, MatrixFactorization, load_movielens_1m
from sampled_metrics.io import rank_table, read_qrels, read_run, write_ranks
from sampled_metrics.scoring import Recommender

RANKS = [212, 2, 743, 534, 154]
DRAW = Draw(n_samples=9, n_items=1200)
SPLIT = Split.from_pairs([0], [0], [0], [1])


@dataclass(frozen=True)
class RankBiasedPrecision(Metric):
    symbol = "RBP"
    k: int | None = None
    p: float = 0.8

    def gain(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        return (1 - self.p) * self.p ** (rank - 1)

    def normalizer(self, ranks: Ranks) -> float:
        return 1.0


@dataclass(frozen=True, eq=False)
class Clipped(Estimator):
    gamma: float

    def solve(self, problem: Problem) -> NDArray[np.float64]:
        return BiasVariance(self.gamma).solve(problem).clip(0, 1)


class Popular:
    def scores(self, users: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.tile([3.0, 9.0, 2.0, 2.0], (len(users), 1))


METRICS: list[Metric] = [
    AUC(),
    F1(k=3),
    NDCG(),
    NDCG(k=10, ideal="hits", gains="exponential"),
    AveragePrecision(k=None, denominator="relevant"),
    Precision(3),
    Precision(k=3, denominator="k"),
    Recall(k=10, denominator="capped"),
    ReciprocalRank(k=5),
    RankBiasedPrecision(k=10),
]

ESTIMATORS: dict[str, Estimator] = {
    "uncorrected": Uncorrected(),
    "scaled up": RankEstimate("m+1", interpolation="linear"),
    "least squares": BiasVariance(0, prior=[1 / 1200] * 1200),
    "constrained": ConstrainedLeastSquares(non_negative=False),
    "bias and variance": BiasVariance(0.1, prior=np.full(1200, 1 / 1200)),
    "multinomial": Multinomial(n_users=6000),
    "mapped": MappedCutoff("beta", a=0.5),
    "my own": Clipped(gamma=0.1),
}


def ranks_and_metrics() -> None:
    lists = Ranks.from_lists([[5, 3], [1], []], gains=[[1, 2.5], [1], []], n_items=10)
    values: list[NDArray[np.float64]] = [NDCG(k=3)(lists), AUC()(RANKS, 1200), AUC()(2, n_items=5)]
    mean: float = Recall(k=10).mean(lists[:2], empty=0)
    Ranks.from_recommendations([["a", "b"]], labels=[{"b": 3, "c": 1}])
    Ranks.from_recommendations({"ann": [7, 5]}, {"ann": {5}})
    Ranks.from_recommendations(np.array([[3, 4]]), sparse.csr_array([[0, 0, 0, 1]]))
    tied = Ranks([2, 2], n_tied=3, n_items=9, users=[7, 7])
    broken: NDArray[np.int64] = tied.break_ties("random", rng=np.random.default_rng(0)).best
    gathered: Ranks = tied.break_ties("optimistic")
    assert len(values) == 3
    assert mean == 1
    assert len(broken) == 2
    assert len(gathered) == 1


def tables_and_files() -> None:
    table = pd.DataFrame({"user": [1], "item": [2], "score": [0.5], "relevance": [1]})
    of_tables: Ranks = Ranks.from_recommendations(table, pl.DataFrame(table), absent="missed")
    counted: Ranks = Ranks.from_scores(pl.LazyFrame(table), {1: [2]}, exclude=table[:0])
    renamed = table.rename(columns={"score": "prediction", "relevance": "rating"})
    Ranks.from_scores(renamed, score="prediction", relevance="rating")
    Ranks.from_scores({"ann": {3: 0.5, 4: 0.1}}, {"ann": {3: 2.5}}, exclude={"ann": {4, 5}})
    named: dict[str, Ranks | Ranks] = {"A": of_tables, "B": counted}
    long: pd.DataFrame = rank_table(named)
    rank_table({"C": [3, 1]})
    read: dict[str, Ranks | Ranks] = Ranks.read(long, recommender="recommender", user="user")
    with TemporaryDirectory() as folder:
        run, qrels, path = (f"{folder}/{name}" for name in ("run", "qrels", "ranks.csv"))
        Path(run).write_text("t1 Q0 d1 1 0.5 mine\n")
        Path(qrels).write_text("t1 0 d1 1\n")
        Ranks.from_recommendations(read_run(run), read_qrels(Path(qrels)))
        write_ranks(named, path)
        assert read.keys() == Ranks.read(path).keys()
        table.to_csv(path)
        Ranks.from_recommendations(path, Path(path), user="user")


def data_and_models() -> None:
    split = Split.from_pairs([0, 1], np.array([0, 1]), pd.Series([0, 1]), [2, 0], n_items=4)
    leave_last_out({"user": ["u", "u", "v"], "item": [30, 50, 30], "timestamp": [2, 1, 1]})
    leave_last_out({"user": [1, 1], "item": [3, 3], "timestamp": [2, 1]}, repeated="last")
    Split.from_pairs([0, 0], [0, 0], [0], [1], repeated="first")
    model: Recommender = Popular()
    ranks: Ranks = Ranks.from_model(model, split, block_size=1, progress=False)
    table = np.ones((2, 4))
    Ranks.from_model(
        table, split, exclude=pd.DataFrame({"user": [0], "item": 3}), candidates={0: [2, 3], 1: {0}}
    )
    Ranks.from_model(sparse.csr_array(table), split, exclude=sparse.csr_array((2, 4)))
    Ranks.from_model(lambda users: table[users], split, candidates=sparse.coo_matrix(table))
    knn = ItemKNN(exponent=3, column_neighbors=10, row_norm=None).fit(split.train)
    als = MatrixFactorization(2, regularization=0.1, rng=np.random.SeedSequence(1)).fit(split.train)
    assert len(ranks) == len(Ranks.from_model(knn, split)) == len(Ranks.from_model(als, split))


def draws_and_corrections() -> None:
    lists = Ranks.from_lists([[5, 3], [1]], n_items=1200)
    tied = Ranks([3, 4], n_tied=[1, 0], n_items=1200)
    some: NDArray[np.int64] = DRAW.rvs(RANKS, repeats=5, rng=0)
    of_lists: Ranks = Draw(9).rvs(lists, rng=0)
    several: list[Ranks] = Draw(9, replacement=False).rvs(lists, repeats=2)
    each: list[NDArray[np.float64]] = [DRAW.pmf(tied), Draw(9).expect(lists, NDCG())]
    corrected: CorrectedMetric = BiasVariance(gamma=0.1).fit(Recall(k=10), DRAW)
    each += [corrected(some), corrected.values, corrected.terms(2), corrected.bias(tied)]
    each += [corrected.variance(RANKS), corrected.expectation(lists, draw=DRAW)]
    each += [WeightedDraw(2, [5, 2, 1]).pmf([True, False, False], method="approximate")]
    shares: NDArray[np.float64] = estimate_rank_distribution(some, DRAW, method="likelihood")
    drawn, cost = sample_adaptively(RANKS, 1200, sizes=(10, 20), replacement=False, rng=1)
    high: float = metric_bounds([1, 3, 2], Recall(k=10), DRAW, confidence=0.9, shape="unimodal")[1]
    low: float = identified_set(
        [0.9, 0.1], AUC(), Draw(1, n_items=100), band=0.1, max_share=0.5
    ).low
    found = explain(NDCG(k=10), 0.4, Draw(100, n_items=3706), n_users=6040, other=0.3)
    known: bool = found.difference is not None and found.difference.order_known
    assert not known
    assert len(of_lists) == len(several) == 2
    assert len(each) == 9
    assert shares.size == 1200
    assert cost.size == drawn.size
    assert low <= 0.9
    assert high <= 1


def comparisons_and_tables() -> None:
    better: float = compare(RANKS, [9, 8, 7, 6, 5], NDCG(), DRAW).right_order()
    first: bool = bool(dominates(RANKS, [1, 2, 3], n_items=1200, scale="share"))
    by_name = {"A": RANKS, "B": RANKS[::-1]}
    tables: list[pd.DataFrame] = [
        evaluate(by_name, [NDCG(), Recall(k=10)], n_items=1200).table,
        simulate(by_name, [Recall(k=10)], DRAW, repeats=2, rng=0, fit="paper"),
    ]
    found = evaluate(by_name, [Recall(k=10)], DRAW, estimators=ESTIMATORS, groups=[0, 0, 1, 1, 1])
    tables += [found.table, found.by_group, found.comparisons(n_resamples=9, rng=0)]
    assert better <= 1
    assert not first
    assert all(map(len, tables))


RIGHT: list[Callable[[], None]] = [
    ranks_and_metrics,
    tables_and_files,
    data_and_models,
    draws_and_corrections,
    comparisons_and_tables,
]

# Each must be refused twice: by mypy, which is why the comments are there, and when it is called.
WRONG: list[Callable[[], object]] = [
    lambda: Recall(),  # type: ignore[call-arg]
    lambda: Recall(k="10"),  # type: ignore[arg-type]
    lambda: Recall(k=10.5),  # type: ignore[arg-type]
    lambda: Precision(3, denominator="nonsense"),  # type: ignore[arg-type]
    lambda: Recall(3, denominator="k"),  # type: ignore[arg-type]
    lambda: AveragePrecision(denominator="k"),  # type: ignore[arg-type]
    lambda: NDCG(ideal="best"),  # type: ignore[arg-type]
    lambda: NDCG(gains="cubic"),  # type: ignore[arg-type]
    lambda: RankEstimate("m+2"),  # type: ignore[arg-type]
    lambda: RankEstimate(interpolation="cubic"),  # type: ignore[arg-type]
    lambda: MappedCutoff("gamma"),  # type: ignore[arg-type]
    lambda: BiasVariance(gamma="small"),  # type: ignore[arg-type]
    lambda: Ranks.from_recommendations([[1]], [[1]], absent="drop"),  # type: ignore[arg-type]
    lambda: Ranks.from_scores({"ann": [3]}, {"ann": [3]}),
    lambda: Ranks.read([1, 2]),
    lambda: BiasVariance(0.1).fit(Recall, DRAW),  # type: ignore[arg-type]
    lambda: BiasVariance(0.1).fit(Recall(k=10), 100),  # type: ignore[arg-type]
    lambda: Draw(99, n_items=10_000, replacement="no"),  # type: ignore[arg-type]
    lambda: DRAW.expect(RANKS, "Recall@10"),  # type: ignore[arg-type]
    lambda: DRAW.rvs(RANKS, rng="seed"),  # type: ignore[call-overload]
    lambda: WeightedDraw(2, [5, 2]).pmf([True, False], method="fast"),  # type: ignore[arg-type]
    lambda: Ranks([1], 0, 5).break_ties("first").best,  # type: ignore[arg-type]
    lambda: Ranks([1], 0, 5).break_ties("average"),  # type: ignore[arg-type]
    lambda: ItemKNN(row_norm="l1"),  # type: ignore[arg-type]
    lambda: Ranks.from_model(np.ones((2, 4)), None),
    lambda: Ranks.from_model(np.ones((1, 2)), SPLIT, exclude=3),
    lambda: Split.from_pairs([0], [0], [0], [1], repeated="last"),  # type: ignore[arg-type]
    lambda: load_movielens_1m("movielens"),  # type: ignore[arg-type]
    lambda: dominates(RANKS, RANKS, scale="log"),  # type: ignore[arg-type]
    lambda: compare(RANKS, RANKS, NDCG(), DRAW, fit="all"),  # type: ignore[arg-type]
    lambda: compare(RANKS, RANKS, NDCG(), 99),  # type: ignore[arg-type]
    lambda: metric_bounds([1], NDCG(), DRAW, shape="flat"),  # type: ignore[arg-type]
    lambda: estimate_rank_distribution([1], DRAW, method="guess"),  # type: ignore[arg-type]
    lambda: evaluate({"A": RANKS}, NDCG(), DRAW),  # type: ignore[arg-type]
    lambda: evaluate({"A": RANKS}, [NDCG()], 100),  # type: ignore[arg-type]
    lambda: evaluate({"A": RANKS}, NDCG()),  # type: ignore[arg-type]
    lambda: evaluate(RANKS, [NDCG()]),  # type: ignore[arg-type]
    lambda: simulate({"A": RANKS}, [NDCG()], DRAW, estimators=Uncorrected()),  # type: ignore[arg-type]
]
