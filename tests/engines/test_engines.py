"""Spark and Ibis give the ranks and metrics that the same numbers give in memory.

They are large, so these tests run in an environment of their own: `make test-engines`. What they
share with DuckDB is in tests/io/test_engine_tables.py.
"""

import re
from pathlib import Path

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
    InnerProduct,
    Precision,
    Ranks,
    Recall,
    ReciprocalRank,
    Split,
)
from sampled_metrics.io.engines import (
    collect_ranks,
    rank_table_from_recommendations,
    rank_table_from_scores,
    rank_table_sql,
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


def test_sql(spark):
    table, excluded = random_table(np.random.default_rng(5))
    relevant = table.loc[table["relevance"] > 0, ["user", "item"]]
    for name, frame in {"s": table, "r": relevant, "e": excluded}.items():
        spark.createDataFrame(arrow(frame)).createOrReplaceTempView(name)
    want = counted_slowly(table, excluded.itertuples(index=False, name=None))
    assert rows_of(spark.sql(rank_table_sql("s", "r", exclude="e"))) == want


def test_spark_is_not_collected_without_a_word(spark):
    table, _ = random_table(np.random.default_rng(4))
    frame, match = spark.createDataFrame(arrow(table)), " is a DataFrame of Spark; count where it"
    for name, call in (
        ("scores", lambda: Ranks.from_scores(frame)),
        ("relevant", lambda: Ranks.from_scores(table, frame)),
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


# Spark warns of pandas 3, with which this works.
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_the_walk_that_the_book_shows(spark):
    """The recipe in "When the table outgrows the laptop" gives the ranks of one call, with ties."""
    rng, n_users, n_items = np.random.default_rng(3), 60, 40
    vectors, item_vectors = rng.integers(-2, 3, (n_users, 3)), rng.integers(-2, 3, (n_items, 3))
    events = [rng.permutation(n_items)[: rng.integers(1, 9)] for _ in range(n_users)]
    users = spark.createDataFrame(
        pa.table({
            "user": [1000 + x for x in range(n_users)],
            "vector": vectors.astype(np.float32).tolist(),
            "seen": pa.array([e[1:].tolist() for e in events], pa.list_(pa.int64())),
            "item": [e[0] for e in events],
        })
    ).repartition(3)  # fmt: skip
    page = Path(__file__).parents[2] / "book" / "outgrows-the-laptop.md"
    (recipe,) = re.findall(r"```python\n([^`]*mapInPandas[^`]*)```", page.read_text("utf-8"))
    names = {
        "np": np,
        "spark": spark,
        "item_vectors": item_vectors.astype(np.float32),
        "users": users,
    }
    exec(recipe, names)
    found = frame_of(names["table"]).sort_values("user", ignore_index=True)
    ranks = collect_ranks(names["table"])
    train = np.repeat(np.arange(n_users), [len(e) - 1 for e in events])
    seen = np.concatenate([e[1:] for e in events])
    held_out = np.arange(n_users), [e[0] for e in events]
    split = Split.from_pairs(train, seen, *held_out, n_users=n_users, n_items=n_items)
    want = Ranks.from_model(InnerProduct(vectors, item_vectors), split, up_to=10)
    assert want.has_ties
    assert want.n_ranked.min() == 0
    assert found["rank"].notna().to_list() == (want.n_ranked == 1).tolist()
    known = found.dropna(subset="rank")
    assert known["rank"].tolist() == want.best.tolist()
    assert known["n_tied"].tolist() == want.n_tied.tolist()
    assert found["n_items"].tolist() == want.n_items.tolist()
    for metric in (Recall(10), NDCG(10)):
        assert metric.mean(ranks) == pytest.approx(metric.mean(want))
