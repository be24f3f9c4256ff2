"""Spark and Ibis give the ranks and metrics that the same numbers give in memory.

They are large, so these tests run in an environment of their own: `make test-engines`. What they
share with DuckDB is in tests/io/test_engine_tables.py.
"""

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from counted_slowly import counted_slowly, random_table
from sampled_metrics import (
    AUC,
    NDCG,
    AveragePrecision,
    Precision,
    Ranks,
    Recall,
    ReciprocalRank,
)
from sampled_metrics.io.engines import (
    collect_ranks,
    rank_table_from_recommendations,
    rank_table_from_scores,
    values_per_user,
)

METRICS = [AUC(), Precision(3), Recall(3), AveragePrecision(3), ReciprocalRank(), NDCG(3), NDCG()]
RANKS = ["user", "item", "rank", "n_tied", "n_items"]


@pytest.fixture(params=["spark", "ibis"])
def engine(request):
    """Return what hands a DataFrame to the engine."""
    if request.param == "ibis":
        return lambda frame: ibis.memtable(arrow(frame))
    session = request.getfixturevalue("spark")
    return lambda frame: session.createDataFrame(arrow(frame))


def arrow(frame):
    return pa.Table.from_pandas(frame, preserve_index=False)


def frame_of(table):
    return (table.toArrow() if hasattr(table, "toArrow") else table.to_pyarrow()).to_pandas()


def rows_of(table):
    return sorted(frame_of(table)[RANKS].itertuples(index=False, name=None))


@pytest.mark.parametrize("ties", ["optimistic", "pessimistic"])
def test_scores(engine, ties):
    table, excluded = random_table(np.random.default_rng(0))
    found = rank_table_from_scores(engine(table), exclude=engine(excluded))
    assert rows_of(found) == counted_slowly(table, excluded.itertuples(index=False, name=None))
    ranks = collect_ranks(found)
    assert not ranks.is_one_each
    values = frame_of(values_per_user(found, METRICS, ties=ties)).sort_values("user")
    for metric in METRICS:
        want = metric(ranks.break_ties(ties))
        np.testing.assert_allclose(values[str(metric)], want, atol=1e-12)


@pytest.mark.parametrize("ties", ["optimistic", "pessimistic"])
def test_graded_values(engine, ties):
    table, excluded = random_table(np.random.default_rng(3))
    relevant = table.loc[table["relevance"] > 0, ["user", "item"]]
    relevant["relevance"] = 0.5 + relevant["item"] % 3
    scores = engine(table.drop(columns="relevance"))
    found = rank_table_from_scores(scores, engine(relevant), exclude=engine(excluded))
    ranks = collect_ranks(found)
    assert ranks.gains is not None
    values = frame_of(values_per_user(found, METRICS, ties=ties)).sort_values("user")
    for metric in METRICS:
        want = metric(ranks.break_ties(ties))
        np.testing.assert_allclose(values[str(metric)], want, atol=1e-12)


def test_mean_over_ties(engine):
    table, _ = random_table(np.random.default_rng(1))
    relevant = table.loc[table["relevance"] > 0, ["user", "item"]].drop_duplicates("user")
    scores = table.drop(columns="relevance")
    found = rank_table_from_scores(engine(scores), engine(relevant))
    values = frame_of(values_per_user(found, METRICS)).sort_values("user")
    for metric in METRICS:
        np.testing.assert_allclose(values[str(metric)], metric(collect_ranks(found)), atol=1e-12)


def test_lists(engine):
    lists = pd.DataFrame({"user": [*"aab"], "item": [7, 5, 5], "rank": [1, 2, 1]})
    labels = pd.DataFrame({"user": [*"aabc"], "item": [5, 6, 5, 1]})
    table = rank_table_from_recommendations(engine(lists), engine(labels))
    ranks = collect_ranks(table)
    assert ranks.best.tolist() == [2, 1]
    assert ranks.n_relevant.tolist() == [2, 1, 1]
    assert ranks.n_predicted.tolist() == [2, 1, 0]
    values = frame_of(values_per_user(table, [Recall(3)])).sort_values("user")
    assert values["Recall@3"].tolist() == [0.5, 1, 0]


def test_errors(engine):
    good = pd.DataFrame(
        {"user": [1, 1, 1], "item": [*"abc"], "score": [0.5, 0.2, 0.1], "relevance": [1, 0, 0]}
    )
    for column, values, match in (
        ("score", [0.5, 0.2, np.nan], "user 1, item c: its score in scores is missing"),
        ("score", [np.inf, 0.2, 0.1], "user 1, item a: .* infinite"),
        ("item", [*"aac"], "user 1, item a: .* twice"),
        ("user", [None, 1, 1], r"user \(missing\), item a: scores lacks"),
        ("item", [None, "b", "c"], r"item \(missing\): scores lacks"),
    ):
        with pytest.raises(ValueError, match=match):
            collect_ranks(rank_table_from_scores(engine(good.assign(**{column: values}))))
    pairs = pd.DataFrame({"user": [1, 1], "item": ["c", None]})
    with pytest.raises(ValueError, match=r"user 1, item \(missing\): exclude lacks the user or"):
        collect_ranks(rank_table_from_scores(engine(good), exclude=engine(pairs)))
    lists, labels = good.assign(rank=[0, 1, 2]), good[["user", "item"]]
    with pytest.raises(ValueError, match=r"user 1, item .: its rank is missing or below 1"):
        collect_ranks(rank_table_from_recommendations(engine(lists), engine(labels)))


def test_spark_is_not_collected_without_a_word(spark):
    table, _ = random_table(np.random.default_rng(4))
    frame, match = spark.createDataFrame(arrow(table)), " is a DataFrame of Spark; count where it"
    for name, call in (
        ("scores", lambda: Ranks.from_scores(frame)),
        ("relevant", lambda: Ranks.from_scores(table, frame)),
        ("labels", lambda: Ranks.from_recommendations([[1]], frame)),
    ):
        with pytest.raises(ValueError, match=name + match):
            call()


def test_files_beside_a_data_frame(spark, tmp_path):
    table, excluded = random_table(np.random.default_rng(2))
    want = counted_slowly(table, excluded.itertuples(index=False, name=None))
    scores = spark.createDataFrame(arrow(table))
    excluded.to_csv(tmp_path / "excluded.csv", index=False)
    excluded.to_parquet(tmp_path / "excluded.parquet")
    for given in (excluded, tmp_path / "excluded.csv", str(tmp_path / "excluded.parquet")):
        assert rows_of(rank_table_from_scores(scores, exclude=given)) == want
