"""Tables in an engine give the ranks and metrics that the same numbers give in memory.

Here the engine is DuckDB, and polars where it is lazy; `make test-engines` has Spark and Ibis.
"""

import json
import re
import subprocess
import sys
import uuid
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counted_slowly import counted_slowly, random_table
from sampled_metrics import (
    AUC,
    NDCG,
    AveragePrecision,
    Metric,
    Precision,
    Ranks,
    Recall,
    ReciprocalRank,
)
from sampled_metrics.io import rank_table, write_ranks
from sampled_metrics.io.engines import (
    collect_ranks,
    rank_table_from_recommendations,
    rank_table_from_scores,
    rank_table_sql,
    values_per_user,
)
from shared import DATA, METRICS, known

RANKS = ["user", "item", "rank", "n_tied", "n_items"]
ENGINES = {"duckdb": duckdb.from_df, "polars": lambda frame: pl.from_pandas(frame).lazy()}
ON_RANKS = [m for m in METRICS if "hits" in str(m)]  # these divide by what the ranks change


@pytest.fixture(params=ENGINES)
def engine(request):
    return ENGINES[request.param]


def rows_of(table, columns=RANKS):
    """The rows of a table in an engine, sorted."""
    frame = table.collect().to_pandas() if isinstance(table, pl.LazyFrame) else table.df()
    return sorted(frame[columns].itertuples(index=False, name=None))


def sorted_frame(table, by=("user",)):
    frame = table.collect().to_pandas() if isinstance(table, pl.LazyFrame) else table.df()
    return frame.sort_values(list(by), ignore_index=True)


# --- counting


@pytest.mark.parametrize("seed", range(3))
def test_counts(engine, seed):
    table, excluded = random_table(np.random.default_rng(seed))
    found = rank_table_from_scores(engine(table), exclude=engine(excluded))
    assert rows_of(found) == counted_slowly(table, excluded.itertuples(index=False, name=None))


@given(
    st.dictionaries(
        st.tuples(st.integers(0, 3), st.integers(0, 5)),
        st.tuples(st.sampled_from([-np.inf, -1.5, -0.0, 0.0, 1e-300, 2.0]), st.booleans()),
        min_size=1,
    )
)
@settings(max_examples=40)
def test_any_table(cells):
    rows = [(*pair, *cell) for pair, cell in cells.items()]
    table = pd.DataFrame(rows, columns=["user", "item", "score", "relevance"])
    table["relevance"] &= np.isfinite(table["score"])
    found = rank_table_from_scores(duckdb.from_df(table))
    assert rows_of(found) == counted_slowly(table)


def test_relevant_items_of_their_own(engine):
    table, excluded = random_table(np.random.default_rng(3))
    relevant = table.loc[table["relevance"] > 0, ["user", "item"]]
    scores = engine(table.drop(columns="relevance"))
    found = rank_table_from_scores(scores, engine(relevant), exclude=engine(excluded))
    assert rows_of(found) == counted_slowly(table, excluded.itertuples(index=False, name=None))


@pytest.mark.parametrize("seed", range(3))
def test_as_in_memory(engine, seed):
    table, excluded = random_table(np.random.default_rng(seed))
    table["relevance"] *= 1 + table["item"] % 2
    want = Ranks.from_scores(table.sort_values(["user", "item"]), exclude=excluded)
    found = collect_ranks(rank_table_from_scores(engine(table), exclude=engine(excluded)))
    want = want[want.n_relevant > 0]  # an engine's table has a row for each relevant item
    for field in ("best", "n_tied", "n_items", "users", "gains"):
        np.testing.assert_array_equal(getattr(found, field), getattr(want, field))


def test_graded(engine):
    table, _ = random_table(np.random.default_rng(4))
    table["relevance"] *= table["item"] % 3
    found = rank_table_from_scores(engine(table))
    want = {(row.user, row.item, row.relevance) for row in table.itertuples() if row.relevance}
    assert set(rows_of(found, ["user", "item", "relevance"])) == want


def test_ratings_are_not_relevance(engine):
    """Of a user's two items, the second has five stars: from 4 on it alone is relevant."""
    table = pd.DataFrame({"user": 1, "item": ["a", "b"], "score": [2.0, 1.0], "relevance": [1, 5]})
    pairs, scores = table.drop(columns="score"), table.drop(columns="relevance")
    lists = scores.drop(columns="score").assign(rank=[1, 2])
    for call in (
        lambda **more: rank_table_from_scores(engine(table), **more),
        lambda **more: rank_table_from_scores(engine(scores), engine(pairs), **more),
        lambda **more: rank_table_from_recommendations(engine(lists), engine(pairs), **more),
    ):
        with pytest.raises(
            ValueError, match="relevances from 1 to 5 and none of 0, as ratings are"
        ):
            call()
        assert rows_of(call(min_relevance=4), ["item", "rank"]) == [("b", 2)]
        assert len(rows_of(call(min_relevance=1), ["item", "rank"])) == 2
    more = pd.concat([pairs, pairs[:1].assign(item="c", relevance=0)])
    assert len(rows_of(rank_table_from_scores(engine(scores), engine(more)), ["item", "rank"])) == 2
    with pytest.raises(ValueError, match="min_relevance is 3, but relevant has no relevance"):
        rank_table_from_scores(engine(scores), engine(pairs[["user", "item"]]), min_relevance=3)


@pytest.mark.parametrize("bad", [np.nan, -1.0, np.inf])
@pytest.mark.parametrize("good", [0.0, 1.0])
def test_what_is_no_relevance(engine, three, bad, good):
    table = three.assign(y=[good, bad, 0.0])
    refused("user 1, item b: its y is missing, negative or infinite", engine, table, relevance="y")
    relevant = table[["user", "item", "y"]]
    refused("user 1, item b: its y is", engine, three, relevant, relevance="y")


def test_relevance_of_yes_and_no(engine, three):
    found = rank_table_from_scores(engine(three.assign(relevance=[False, True, False])))
    assert rows_of(found) == [(1, "b", 2, 0, 3)]
    assert "relevance" not in list(sorted_frame(found))
    unknown = pd.array([None, True, False], dtype="boolean")
    refused("user 1, item a: its relevance is missing", engine, three.assign(relevance=unknown))


@pytest.mark.parametrize(
    "name", [str, lambda i: uuid.UUID(int=i).hex, lambda i: 2**50 + i, lambda i: -i]
)
def test_ids(engine, name):
    table, excluded = random_table(np.random.default_rng(5))
    for each in (table, excluded):
        each["user"], each["item"] = each["user"].map(name), each["item"].map(name)
    found = rank_table_from_scores(engine(table), exclude=engine(excluded))
    assert rows_of(found) == counted_slowly(table, excluded.itertuples(index=False, name=None))
    users = known(collect_ranks(found).users)
    assert sorted(set(users)) == sorted({row[0] for row in rows_of(found)})


@pytest.mark.parametrize("kind", ["int8", "int64", "float32", "float64"])
def test_scores_of_any_type(engine, kind):
    table, _ = random_table(np.random.default_rng(6))
    table["score"] = (4 * table["score"]).astype(kind)
    assert rows_of(rank_table_from_scores(engine(table))) == counted_slowly(table)


def test_neighbouring_floats_are_no_tie(engine):
    scores = [1.0, np.nextafter(1.0, 2), 1.0]
    table = pd.DataFrame({"user": 1, "item": range(3), "score": scores, "relevance": [1, 0, 0]})
    assert rows_of(rank_table_from_scores(engine(table))) == [(1, 0, 2, 1, 3)]


def test_movielens(movielens):
    """Counted from a table as from the model's scores, training items left out."""
    rng = np.random.default_rng(7)
    some = np.sort(rng.choice(len(movielens.users), 200, replace=False))
    split = replace(movielens, users=movielens.users[some], items=movielens.items[some])
    scores = np.round(rng.normal(size=(split.n_users, split.n_items)).astype(np.float32), 1)

    class Model:
        def scores(self, users):
            return scores[users]

    want = Ranks.from_model(Model(), split, progress=False)
    users, items = (
        np.repeat(split.users, split.n_items),
        np.tile(np.arange(split.n_items), len(some)),
    )
    table = pd.DataFrame({"user": users, "item": items, "score": scores[users, items]})
    train = split.train.tocoo()
    found = collect_ranks(
        rank_table_from_scores(
            table,
            pd.DataFrame({"user": split.users, "item": split.items}),
            exclude=pd.DataFrame({"user": train.row, "item": train.col}),
        )
    )
    order = np.argsort(split.users)
    for field in ("best", "n_tied", "n_items"):
        np.testing.assert_array_equal(getattr(found, field), getattr(want, field)[order])
    assert (want.n_tied > 0).any()


# --- the SQL


@pytest.mark.parametrize("with_exclude", [False, True])
def test_sql_ranks_as_the_engine(with_exclude):
    table, excluded = random_table(np.random.default_rng(10))
    connection = duckdb.connect()
    relevant = table.loc[table["relevance"] > 0, ["user", "item"]]
    relevant = relevant.assign(grade=relevant["item"] % 3)
    scores = table.drop(columns="relevance").rename(columns={"item": "the item"})
    tables = {"s_1": scores, "r_1": relevant.rename(columns={"item": "the item"})}
    tables["e_1"] = excluded.rename(columns={"item": "the item"})
    for name, frame in tables.items():
        connection.from_df(frame).create(name)
    given = [connection.table(name) for name in tables]
    sql = rank_table_sql(
        "s_1",
        "r_1",
        exclude="e_1" if with_exclude else None,
        item='"the item"',
        relevance="grade",
    )
    want = rank_table_from_scores(
        *given[:2], exclude=given[2] if with_exclude else None, item="the item", relevance="grade"
    )
    found = connection.sql(sql).project('* RENAME ("the item" AS item)')
    assert rows_of(found, [*RANKS, "relevance"]) == rows_of(want, [*RANKS, "relevance"])
    all_alike = rank_table_sql("s_1", "r_1", item='"the item"')
    bare = connection.sql('SELECT "user", "the item" FROM r_1')
    want = rank_table_from_scores(given[0], bare, item="the item")
    renamed = connection.sql(all_alike).project('* RENAME ("the item" AS item)')
    assert rows_of(renamed) == rows_of(want)


@pytest.mark.parametrize("gone", ["no score", "no candidates", "excluded"])
def test_sql_never_ranks_an_item_without_a_score(three, gone):
    """It has no rank, and what reads the table says so."""
    connection = duckdb.connect()
    pair = {"user": [9 if gone == "no candidates" else 1], "item": ["b"]}
    connection.from_df(three[three["item"] != "b"] if gone == "no score" else three).create("s")
    connection.from_df(pd.DataFrame(pair)).create("r")
    sql = rank_table_sql("s", "r", exclude="r" if gone == "excluded" else None)
    for read in (collect_ranks, lambda ranks: Ranks.read(ranks.df())):
        with pytest.raises(ValueError, match="n_tied is -1"):
            read(connection.sql(sql))


def test_arguments_of_sql():
    for name in ("scores", "relevant", "exclude", "user", "item", "score", "relevance"):
        for wrong in (3, " "):
            given: dict[str, Any] = {"scores": "s", "relevant": "r"} | {name: wrong}
            with pytest.raises(ValueError, match=f"^{name} is {wrong!r}; {name} must be a text"):
                rank_table_sql(**given)


# --- where tables come from


@pytest.fixture
def table():
    return random_table(np.random.default_rng(8))[0]


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_files(table, tmp_path, ending):
    for i, part in enumerate(np.array_split(np.arange(len(table)), 3)):
        frame = pl.from_pandas(table.iloc[part])
        getattr(frame, f"write_{ending}")(tmp_path / f"it's {i}.{ending}")
    want = counted_slowly(table)
    assert rows_of(rank_table_from_scores(f"{tmp_path}/*.{ending}")) == want
    stored = tmp_path / "ranks.parquet"
    rank_table_from_scores(f"{tmp_path}/*.{ending}").write_parquet(str(stored))
    assert rows_of(values_per_user(stored, [AUC()], ties="optimistic"), ["user"]) == [
        (user,) for user in sorted({row[0] for row in want})
    ]


@pytest.mark.parametrize(
    "kind", [lambda f: f, pl.from_pandas, lambda f: pl.from_pandas(f).to_arrow()]
)
def test_tables_in_memory(table, kind):
    found = rank_table_from_scores(kind(table), exclude=kind(table[table["relevance"] == 5]))
    assert isinstance(found, duckdb.DuckDBPyRelation)
    assert rows_of(found) == counted_slowly(table)


def test_other_names_of_columns(engine, table):
    names: dict[str, Any] = {"user": "u s", "item": 'i"d', "score": "rank", "relevance": "n_tied"}
    found = rank_table_from_scores(engine(table.rename(columns=names)), **names)
    assert rows_of(found) == counted_slowly(table)


def test_connection_of_ones_own(table, tmp_path):
    """Files and tables in memory join relations of a connection with its own limits."""
    connection = duckdb.connect(config={"memory_limit": "300MB", "threads": 1})
    scores = connection.from_df(table.drop(columns="relevance"))
    relevant = table.loc[table["relevance"] > 0, ["user", "item"]]
    path = tmp_path / "relevant.parquet"
    relevant.to_parquet(path)
    for given_ in (relevant, path):
        found = rank_table_from_scores(scores, given_)
        assert rows_of(found) == counted_slowly(table)
    assert len(rows_of(values_per_user(found, [Recall(3)], ties="optimistic"), ["user"])) > 1


# --- refused


def refused(match, engine, scores, relevant=None, exclude=None, **options):
    frames = [None if given is None else engine(given) for given in (relevant, exclude)]
    with pytest.raises(ValueError, match=match):
        collect_ranks(
            rank_table_from_scores(engine(scores), frames[0], exclude=frames[1], **options)
        )


@pytest.fixture
def three():
    return pd.DataFrame(
        {"user": [1, 1, 1], "item": [*"abc"], "score": [0.5, 0.2, 0.1], "relevance": [1, 0, 0]}
    )


def test_what_has_no_score(engine, three):
    for bad in (np.nan, None):
        for row in (0, 2):
            given = three.assign(score=three["score"].where(three.index != row, bad))
            refused(f"user 1, item {'abc'[row]}: .*score", engine, given)


def test_infinite_score(engine, three):
    refused("user 1, item a: .*infinite", engine, three.assign(score=[np.inf, 0, 0]))
    fine = rank_table_from_scores(engine(three.assign(score=[0, np.inf, -np.inf])))
    assert rows_of(fine) == [(1, "a", 2, 0, 3)]


@pytest.mark.parametrize("row", [0, 2])
def test_pair_that_is_there_twice(engine, three, row):
    twice = pd.concat([three, three.iloc[[row]]])
    refused(f"user 1, item {'abc'[row]}: scores holds this pair of user and item", engine, twice)


def test_unique_is_believed(engine, three):
    twice = pd.concat([three, three.iloc[[2]]])
    assert rows_of(rank_table_from_scores(engine(twice), unique=True)) == [(1, "a", 1, 0, 4)]


def test_relevant_items_that_are_no_candidates(engine, three):
    scores, relevant = three.drop(columns="relevance"), three[["user", "item"]]
    for user, item in ((1, "x"), (9, "a")):
        other = pd.DataFrame({"user": [1, user], "item": ["a", item]})
        refused(f"user {user}, item {item}: .*no score in scores", engine, scores, other)
    refused("user 1, item b: .*exclude holds it", engine, scores, relevant[:2], relevant[1:2])
    refused("user 1, item a: .*exclude holds it", engine, scores, relevant[:1], relevant)
    refused("item a: relevant holds this pair of user", engine, scores, relevant.iloc[[0, 0]])


def test_missing_ids(engine, three):
    for column, said in (("user", r"\(missing\), item a"), ("item", r"1, item \(missing\)")):
        given = three.assign(**{column: pd.array([None, *three[column][1:]])})
        refused(f"user {said}: scores lacks the user or the item", engine, given)
        pairs = given[["user", "item"]]
        refused(f"user {said}: relevant lacks the user or the item", engine, three, pairs)
    refused(r"item \(missing\): scores lacks", engine, three.assign(item=["a", None, "c"]))


def test_integers_of_several_sizes(engine):
    table, excluded = random_table(np.random.default_rng(9))
    small = excluded.astype("int16")
    relevant = table.loc[table["relevance"] > 0, ["user", "item"]].astype("int32")
    scores = engine(table.drop(columns="relevance"))
    found = rank_table_from_scores(scores, engine(relevant), exclude=engine(small))
    assert rows_of(found) == counted_slowly(table, excluded.itertuples(index=False, name=None))


@pytest.mark.parametrize("kind", ["int8", "uint8", "int32"])
def test_ids_that_the_other_tables_type_cannot_hold(engine, kind):
    """Such a pair simply has no score, as in memory."""
    scores = pd.DataFrame({"user": [1, 1], "item": [2, 3], "score": [1.0, 2.0]})
    typed, relevant = engine(scores.astype({"item": kind})), scores[:1][["user", "item"]]
    for item in (-1, 2**40):
        far = pd.DataFrame({"user": [1], "item": [item]})
        found = rank_table_from_scores(typed, engine(relevant), exclude=engine(far))
        assert rows_of(found) == [(1, 2, 2, 0, 2)]
        with pytest.raises(ValueError, match=f"user 1, item {item}: .*no score in scores"):
            collect_ranks(rank_table_from_scores(typed, engine(far), exclude=engine(relevant)))
        lists = engine(scores.assign(rank=[1, 2]).astype({"item": kind}))
        missed = rank_table_from_recommendations(lists, engine(far))
        assert sorted_frame(missed)["rank"].isna().all()


def test_excluded_rows_without_an_item(engine, three):
    """As in memory: nobody knows which candidate the row takes away."""
    pairs = pd.DataFrame({"user": [1, 1], "item": ["c", None]})
    said = r"user 1, item \(missing\): exclude lacks the user or the item of this row; fill"
    refused(said, engine, three, exclude=pairs)
    with pytest.raises(ValueError, match="exclude, row 1: 'item' is missing"):
        Ranks.from_scores(three, exclude=pairs)


def test_rows_without_a_user(engine, three):
    """Nobody knows whose row it is, so no user's ranks are known."""
    nobody = three.assign(user=pd.array([1, 1, None], "Int64"))
    refused(r"user \(missing\), item c: scores lacks the user or the item", engine, nobody)
    pairs = nobody[["user", "item"]]
    refused("item c: scores lacks the user", engine, nobody, pairs[:1])
    refused("item c: exclude lacks the user", engine, three, exclude=pairs[1:])
    with pytest.raises(ValueError, match="item c: recommendations lacks the user"):
        rank_table_from_recommendations(engine(nobody.assign(rank=[1, 2, 1])), engine(pairs[:1]))


@pytest.mark.parametrize("user", ["a (end) b", "it's 50 %", "refused: user 1\n", '"', ""])
def test_errors_name_any_user(engine, three, user):
    given = three.assign(user=user, score=[0.5, np.nan, 0.1])
    refused(f"^user {re.escape(user)}, item b: its score in scores is missing", engine, given)


def test_rows_are_checked_before_they_are_counted(engine, three):
    """Who counts in the engine meets our errors, not the engine's."""
    with pytest.raises(ValueError, match="user 1, item b: its score in scores is missing"):
        rank_table_from_scores(engine(three.assign(score=[0.5, np.nan, 0.1])))
    other = pd.DataFrame({"user": [2], "item": ["a"], "score": [np.nan], "relevance": [0]})
    with pytest.raises(ValueError, match="user 2, item a: its score in scores is missing"):
        rank_table_from_scores(engine(pd.concat([three, other])))
    excluded = engine(other[["user", "item"]])
    found = rank_table_from_scores(engine(pd.concat([three, other])), exclude=excluded)
    assert rows_of(found) == [(1, "a", 1, 0, 3)]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"scores": 3}, "scores is 3; scores must be the path of"),
        ({"scores": "no such.parquet"}, "'no such.parquet', which DuckDB cannot read: IO Error"),
        ({"user": "who"}, "scores has no column 'who'"),
        ({"scores": None}, "scores is None; scores must be the path of"),
        ({"scores": [[1, 2]]}, r"scores is \[\[1, 2\]\]; scores must be the path of"),
        ({"exclude": "leader"}, "exclude is 'leader'; exclude must be the path of"),
        ({"exclude": "a\0.csv"}, "exclude is .*; exclude must be the path of a file"),
        ({"scores": pd.DataFrame()}, "scores has no columns; scores must be the path of"),
        ({"relevant": pd.DataFrame([[1, 2]], columns=[*"aa"])}, "relevant is a DataFrame that can"),
        ({"relevant": pd.DataFrame({"a": [object()]})}, "relevant is a DataFrame that cannot be r"),
        ({"scores": pl.scan_csv("no such.csv")}, "scores is a LazyFrame that cannot be read: No s"),
        ({"item": 3}, "item is 3; item must be the name of a column"),
        ({"score": "item"}, "item and score are both 'item'; they are two columns"),
        ({"relevance": "item"}, "item and relevance are both 'item'; they are two columns"),
        ({"score": "name"}, r"scores\['name'\] is of type String"),
        ({"relevance": "name"}, r"scores\['name'\] is of type String"),
        (
            {"relevance": "label"},
            "scores has no column 'label', only .*; say which column it is, as",
        ),
        (
            {"relevant": pd.DataFrame({"user": [1], "item": ["a"]}), "relevance": 3},
            "relevance is 3",
        ),
        ({"unique": 1}, "unique is 1; unique must be True or False"),
        ({"relevant": pd.DataFrame({"user": ["1"], "item": ["a"]})}, "user is of type String in"),
        ({"exclude": pd.DataFrame({"user": [1], "item": [1]})}, "item is of type Int64 in exclude"),
        ({"exclude": pl.LazyFrame({"user": [1], "item": ["a"]})}, "scores is in DUCKDB, exclude"),
    ],
)
def test_arguments(three, options, match):
    with pytest.raises(ValueError, match=match):
        rank_table_from_scores(**{"scores": three.assign(name="n"), **options})


@pytest.mark.parametrize("wrong", [None, 3, [1, 2], {"user": [1]}, "no such.parquet"], ids=repr)
def test_what_is_no_table(three, wrong):
    pairs = three[["user", "item"]]
    calls: dict[str, Any] = {
        "scores": lambda: rank_table_from_scores(wrong, pairs),
        "recommendations": lambda: rank_table_from_recommendations(wrong, pairs),
        "relevant": lambda: rank_table_from_recommendations(three.assign(rank=[1, 2, 3]), wrong),
        "ranks": lambda: collect_ranks(wrong),
        "ranks ": lambda: values_per_user(wrong, [Recall(1)]),
    }
    for name, call in calls.items():
        with pytest.raises(ValueError, match=f"^{name.strip()} is .*(must be|DuckDB cannot read)"):
            call()


def test_other_engines_open_their_own_files(three):
    with pytest.raises(ValueError, match=r"exclude is 'x\.csv'; open it in the engine"):
        rank_table_from_scores(pl.from_pandas(three).lazy(), exclude="x.csv")


def test_without_the_extra(three, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ImportError, match=r'pip install "sampled-metrics\[tables\]"'):
        rank_table_from_scores(three)


def test_package_does_not_load_the_engines():
    code = (
        "import sys, sampled_metrics; print({'duckdb', 'narwhals'} & sys.modules.keys()); "
        "import sampled_metrics.io.engines; print({'duckdb', 'pyarrow'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["set()", "set()"]


# --- lists


@pytest.fixture
def five():
    five = json.loads((DATA / "five_users.json").read_text())
    lists = [
        (user, item, rank)
        for user, items in enumerate(five["predictions"])
        for rank, item in enumerate(items, 1)
    ]
    labels = [(user, item) for user, items in enumerate(five["labels"]) for item in items]
    in_memory = Ranks.from_recommendations(five["predictions"], five["labels"])
    return (
        pd.DataFrame(lists, columns=["user", "item", "rank"]),
        pd.DataFrame(labels, columns=["user", "item"]),
        in_memory,
    )


def test_five_users(engine, five):
    lists, labels, in_memory = five
    table = rank_table_from_recommendations(engine(lists), engine(labels))
    ranks = collect_ranks(table)
    want = in_memory[in_memory.n_relevant > 0]
    for field in ("best", "offsets", "n_relevant", "n_predicted"):
        np.testing.assert_array_equal(getattr(ranks, field), getattr(want, field))
    np.testing.assert_array_equal(ranks.users, np.flatnonzero(in_memory.n_relevant))
    metrics = [m for m in METRICS if not m.needs_n_items and m not in ON_RANKS]
    metrics.append(Precision(3, denominator="predicted"))
    values = sorted_frame(values_per_user(table, metrics))
    for metric in metrics:
        np.testing.assert_allclose(values[str(metric)], metric(want), atol=1e-12)


def test_gains_of_lists(engine, five):
    lists, labels, _ = five
    labels["relevance"] = 1 + labels["item"] % 3
    ranks = collect_ranks(rank_table_from_recommendations(engine(lists), engine(labels)))
    users = sorted(set(labels["user"]))
    want = Ranks.from_recommendations(
        {u: lists[lists["user"] == u].sort_values("rank")["item"].tolist() for u in users},
        {u: dict(labels[labels["user"] == u][["item", "relevance"]].to_numpy()) for u in users},
    )
    assert isinstance(ranks, Ranks)
    np.testing.assert_allclose(NDCG(3)(ranks), NDCG(3)(want), atol=1e-12)
    np.testing.assert_array_equal(ranks.ideal_gains, want.ideal_gains)


def test_user_without_a_list(engine):
    lists = pd.DataFrame({"user": [1], "item": [5], "rank": [1]})
    labels = pd.DataFrame({"user": [1, 2], "item": [5, 5]})
    table = rank_table_from_recommendations(engine(lists), engine(labels))
    assert sorted_frame(table)["n_predicted"].tolist() == [1, 0]
    for ties in (None, "optimistic", "pessimistic"):  # of which there are none
        values = sorted_frame(values_per_user(table, [Recall(1)], ties=ties))
        assert values["Recall@1"].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"rank": [0, 1, 2]}, "user 1, item a: its rank is missing or below 1"),
        ({"rank": [1, 1, 2]}, "recommendations (holds this pair|gives its rank)"),
        ({"item": [*"aac"]}, "recommendations (holds this pair|gives its rank)"),
        ({"item": ["a", None, "c"]}, r"item \(missing\): recommendations lacks"),
        ({"rank": ["1", "2", "3"]}, r"recommendations\['rank'\] is of type String"),
    ],
)
def test_refused_lists(engine, change, match):
    lists = pd.DataFrame({"user": [1, 1, 1], "item": [*"abc"], "rank": [1, 2, 3]})
    labels = engine(pd.DataFrame({"user": [1, 1], "item": ["x", "a"]}))
    with pytest.raises(ValueError, match=match):
        collect_ranks(rank_table_from_recommendations(engine(lists.assign(**change)), labels))


def test_relevant_item_twice(engine):
    lists = pd.DataFrame({"user": [1], "item": ["a"], "rank": [1]})
    labels = pd.DataFrame({"user": [1, 1], "item": ["x", "x"]})
    with pytest.raises(ValueError, match="user 1, item x: relevant holds this pair"):
        collect_ranks(rank_table_from_recommendations(engine(lists), engine(labels)))


# --- metrics where the ranks are


@pytest.mark.parametrize("ties", ["optimistic", "pessimistic"])
def test_values(engine, table, ties):
    metrics = [m for m in METRICS if m not in ON_RANKS]
    ranks = rank_table_from_scores(engine(table))
    in_memory = collect_ranks(ranks)
    assert isinstance(in_memory, Ranks)
    assert not in_memory.is_one_each
    assert in_memory.n_tied.any()
    values = sorted_frame(values_per_user(ranks, metrics, ties=ties))
    assert list(values) == ["user", *map(str, metrics)]
    for metric in metrics:
        want = metric(in_memory.break_ties(ties))
        np.testing.assert_allclose(values[str(metric)], want, atol=1e-12)


def test_values_over_ties(engine, table):
    """One relevant item each: the mean over all ways to break ties, for any metric."""
    one = table.assign(
        relevance=~table["user"].where(table["relevance"] > 0).duplicated()
        & (table["relevance"] > 0)
    )
    ranks = rank_table_from_scores(engine(one))
    in_memory = collect_ranks(ranks)
    assert isinstance(in_memory, Ranks)
    assert in_memory.n_tied.any()
    values = sorted_frame(values_per_user(ranks, METRICS))
    for metric in METRICS:
        np.testing.assert_allclose(values[str(metric)], metric(in_memory), atol=1e-12)


GRADED = [
    *(m for m in METRICS if m not in ON_RANKS and "full" not in str(m)),
    NDCG(2, gains="exponential"),
    NDCG(gains="exponential"),
]


def graded_lists(cells):
    """Two lists of the ranks 1, 2, ..., of which some items are relevant, and one is not there."""
    rows = [
        (user, item, item + 1 if item < 4 else None, degree)
        for (user, item), degree in cells.items()
    ]
    return pd.DataFrame(rows, columns=["user", "item", "rank", "relevance"]).astype(
        {"rank": "Int64"}
    )


@given(
    cells=st.dictionaries(
        st.tuples(st.integers(0, 2), st.integers(0, 5)),
        st.sampled_from([0, 1, 2.5, 5]),
    ).filter(lambda cells: any(cells.values()))
)
@settings(max_examples=30, deadline=None)
def test_values_of_graded_lists(cells):
    """The most relevant items come first in the ideal order, those without a rank, too."""
    ranks = duckdb.from_df(graded_lists(cells))
    in_memory = collect_ranks(ranks)
    metrics = [m for m in GRADED if not m.needs_n_items]
    values = sorted_frame(values_per_user(ranks, metrics))
    for metric in metrics:
        np.testing.assert_allclose(values[str(metric)], metric(in_memory), atol=1e-12)


@pytest.mark.parametrize("ties", ["optimistic", "pessimistic"])
@pytest.mark.parametrize("seed", range(3))
def test_values_of_graded_ties(engine, ties, seed):
    """Level items swap their places by how relevant they are, as in memory."""
    rng = np.random.default_rng(seed)
    table, _ = random_table(rng)
    table["relevance"] *= rng.choice([0, 0.5, 1, 3], len(table))
    ranks = rank_table_from_scores(engine(table))
    in_memory = collect_ranks(ranks)
    assert in_memory.gains is not None
    assert in_memory.n_tied.any()
    assert not in_memory.is_one_each
    values = sorted_frame(values_per_user(ranks, GRADED, ties=ties))
    for metric in GRADED:
        want = metric(in_memory.break_ties(ties))
        np.testing.assert_allclose(values[str(metric)], want, atol=1e-12)


def test_graded_values_over_ties(engine):
    """One item each: its relevance cancels in NDCG, and the mean is over all ways to break ties."""
    ranks = engine(
        pd.DataFrame(
            {"user": [1, 2], "rank": [2, 1], "n_tied": [1, 0], "relevance": [3, 1]} | {"n_items": 4}
        )
    )
    values = sorted_frame(values_per_user(ranks, [NDCG()]))["NDCG"]
    np.testing.assert_allclose(values, [(1 / np.log2(3) + 1 / np.log2(4)) / 2, 1])


@dataclass(frozen=True)
class ShareOfGains(Metric):
    """Divides by the gains themselves, which an engine does not sum for a metric of one's own."""

    k: int

    def gain(self, rank, order, n_relevant, n_items):
        return np.ones(np.shape(rank))

    def normalizer(self, ranks):
        gains = ranks.ideal_gains
        return ranks.n_relevant if gains is None else np.full(len(ranks), gains.sum())


def test_refused_graded_values(engine):
    ranks = engine(pd.DataFrame({"user": [1, 1], "rank": [1, 4], "relevance": [1, 3]}))
    for metric, match in (
        (ShareOfGains(5), "divides by what relevance changes; call it on the ranks of collect"),
        (NDCG(3, ideal="hits"), "divides by what the ranks change"),
        (NDCG(3, ideal="full"), 'ideal is "full"'),
    ):
        with pytest.raises(ValueError, match=match):
            values_per_user(ranks, [metric])


def test_values_beyond_the_cutoff_are_0(engine):
    ranks = pd.DataFrame({"user": [1, 2], "item": [1, 1], "rank": [11, 4]})
    values = sorted_frame(values_per_user(engine(ranks), [Recall(3), NDCG(5)]))
    assert values["Recall@3"].tolist() == [0, 0]
    np.testing.assert_allclose(values["NDCG@5"], NDCG(5)([11, 4]))


def test_value_that_is_not_defined(engine):
    ranks = pd.DataFrame({"user": [1], "item": [1], "rank": [1], "n_tied": [0], "n_items": [1]})
    assert np.isnan(sorted_frame(values_per_user(engine(ranks), [AUC()]))["AUC"]).all()


@pytest.mark.parametrize("metric", ON_RANKS, ids=str)
def test_refused_normalizers(engine, metric):
    ranks = pd.DataFrame({"user": [1, 1], "item": [1, 2], "rank": [1, 11]})
    with pytest.raises(ValueError, match="divides by what the ranks change"):
        values_per_user(engine(ranks), [metric])


def test_ranks_that_are_known_up_to_a_limit(engine):
    ranks = engine(pd.DataFrame({"user": [1, 2], "rank": [3, None], "up_to": 5}).convert_dtypes())
    assert sorted_frame(values_per_user(ranks, [Recall(5)]))["Recall@5"].tolist() == [1, 0]
    assert collect_ranks(ranks).up_to == 5
    for metric in (Recall(6), ReciprocalRank()):
        with pytest.raises(ValueError, match=f"ranks are known up to 5; {metric} needs larger"):
            values_per_user(ranks, [metric])


def test_weights_are_collected(engine):
    ranks = engine(pd.DataFrame({"user": [1, 2], "rank": [3, 4], "weight": [0.5, 1e300]}))
    assert known(collect_ranks(ranks).weights).tolist() == [0.5, 1e300]
    assert sorted_frame(values_per_user(ranks, [Recall(3)]))["Recall@3"].tolist() == [1, 0]


def test_refused_metrics(engine, three):
    ranks = rank_table_from_scores(engine(three))
    tied = rank_table_from_scores(engine(three.assign(score=1.0, relevance=[1, 1, 0])))
    lists = engine(
        pd.DataFrame({"user": [1, 1], "item": [1, 2], "rank": [4, None]}).astype({"rank": "Int64"})
    )
    wrong: Any = (
        (ranks, [], {}, "metrics is empty"),
        (ranks, [Recall], {}, r"metrics\[0\] is"),
        (ranks, [Recall(3)], {"ties": "random"}, "ties is 'random'"),
        (tied, [Recall(3)], {}, "ties is None, but ranks has ties"),
        (lists, [AUC()], {}, "ranks has no column 'n_items'; AUC needs it"),
        (engine(three), [Recall(3)], {}, "ranks has no column 'rank'"),
        (lists, [AveragePrecision(denominator="hits")], {}, "what the ranks change"),
    )
    for given_, metrics, options, match in wrong:
        with pytest.raises(ValueError, match=match):
            values_per_user(given_, metrics, **options)


BAD_RANKS = (  # what to say, or the user whose rows `read_ranks` refuses
    ({"rank": [0, 1, 2]}, 7),
    ({"rank": [1.5, 1, 2]}, 7),
    ({"rank": [np.inf, 1, 2]}, 7),
    ({"rank": [1, 2, 2]}, 8),
    ({"rank": [10, 1, 2]}, 7),
    ({"n_items": [9, 9, 8]}, 8),
    ({"n_items": [0, 9, 9]}, 7),
    ({"n_predicted": [0, 2, 2]}, 7),
    ({"n_predicted": [5, 2, -1]}, 8),
    ({"n_predicted": [5, 2, None]}, "a row whose n_predicted is missing; give it in all rows"),
    ({"n_tied": [0, 0, None]}, "a row whose n_tied is missing; give it in all rows"),
    ({"n_tied": [-1, 0, 0]}, 7),
    ({"n_tied": [7, 0, 0]}, 7),
    ({"n_tied": [0, 1, 1]}, 8),
    ({"n_tied": 0, "rank": [3, 2, 2]}, 8),
    ({"n_tied": 0, "rank": [None, 1, 2]}, 7),
    ({"user": [None, 8, 8]}, "a row whose user is missing; give it in all rows"),
    ({"rank": [*"abc"]}, r"\['rank'\] is of type String; it must be numbers"),
    ({"item": [1, 2, 3], "country": list("xyy"), "fold": [1, 1, 2]}, 8),
    ({"seed": list("abc")}, 8),
    ({"fold": [1, 1, None]}, 8),
    ({"size": [1, 1, 2]}, 8),
    ({"place": [1, 1, 2], "n_level": 1}, 8),
    ({"n_items": 1, "rank": [1, None, None]}, 8),
    ({"catalog": 8}, 7),
    ({"weight": [1, 2, 3]}, 8),
    ({"weight": [1, 0, 0]}, 8),
    ({"weight": [np.inf, 0.5, 0.5]}, 7),
    ({"catalog": 8, "n_items": pd.array([None] * 3, "Int64")}, 7),
    ({"up_to": 3, "rank": [4, 1, 2]}, 7),
)


def ranks_with(**change):
    table = pd.DataFrame({"user": [7, 8, 8], "rank": [3, 1, 2], "n_items": 9} | change)
    return table.convert_dtypes()


@pytest.mark.parametrize(("change", "said"), BAD_RANKS, ids=str)
def test_ranks_that_no_ranking_has(engine, change, said):
    """Ranks that collect_ranks refuses have no values either."""
    table = engine(ranks_with(**change))
    match = said if isinstance(said, str) else f"^ranks of user {said}, .*(must be|has|is)"
    with pytest.raises(ValueError, match=match):
        values_per_user(table, [Recall(3)], ties="optimistic")
    with pytest.raises(ValueError, match=r"^ranks"):
        collect_ranks(table)


counts = st.integers(0, 4)


@given(
    rows=st.lists(st.tuples(counts, counts, counts, counts), min_size=1, max_size=5),
    columns=st.sampled_from([[], ["n_items"], ["n_predicted"], ["n_tied", "n_items"]]),
    holes=st.sampled_from([[], [], ["rank"], ["n_predicted"], ["rank", "n_items"]]),
)
@settings(max_examples=150)
@pytest.mark.slow
def test_values_are_refused_where_ranks_are(rows, columns, holes):
    """A 0 stands for a missing value in a column that has holes."""
    table = pd.DataFrame(rows, columns=["user", "rank", "n_tied", "n_items"])
    table["n_items"] = table["n_predicted"] = 3 + table["n_items"] // 4
    table = table[["user", "rank", *columns]].astype("Int64")
    for name in {*holes} & {*table}:
        table[name] = table[name].mask(table["rank"] == 0)
    try:
        ranks = collect_ranks(pl.from_pandas(table).lazy())
    except ValueError:
        with pytest.raises(ValueError, match="ranks"):
            values_per_user(pl.from_pandas(table).lazy(), [Recall(2)], ties="optimistic")
        return
    values = sorted_frame(
        values_per_user(pl.from_pandas(table).lazy(), [Recall(2)], ties="optimistic")
    )
    flat = ranks.break_ties("optimistic") if isinstance(ranks, Ranks) else ranks
    np.testing.assert_allclose(values["Recall@2"], Recall(2)(flat)[np.argsort(known(flat.users))])


def test_columns_without_a_value_are_not_there(engine):
    """As in the rows of one recommender, in a file with others of which more is known."""
    ranks = engine(ranks_with(n_items=pd.array([None] * 3, "Int64"), n_tied=np.nan))
    values = sorted_frame(values_per_user(ranks, [Recall(1), ReciprocalRank()]))
    assert values["Recall@1"].tolist() == [0, 0.5]
    assert isinstance(collect_ranks(ranks), Ranks)


def test_ranks_of_small_integers_do_not_overflow(engine):
    ranks = pd.DataFrame({"user": [7, 8], "rank": [200, 3], "n_tied": [100, 0], "n_items": [99, 9]})
    ranks = ranks.astype({"rank": "uint8", "n_tied": "uint8"})
    with pytest.raises(ValueError, match=r"^ranks of user 7, .* 200; "):
        values_per_user(engine(ranks), [Recall(3)], ties="pessimistic")
    ranks["n_items"] = [400, 9]
    values = sorted_frame(values_per_user(engine(ranks), [AUC()], ties="pessimistic"))
    np.testing.assert_allclose(values["AUC"], [100 / 399, 6 / 8])


def test_a_missing_rank_may_be_nan(engine):
    """The item was not recommended, which is no rank."""
    ranks = engine(pd.DataFrame({"user": [7, 8, 8], "rank": [np.nan, 1, 2]}))
    assert sorted_frame(values_per_user(ranks, [ReciprocalRank()]))["RR"].tolist() == [0, 1]


@pytest.mark.parametrize("run", [collect_ranks, lambda ranks: values_per_user(ranks, [Recall(3)])])
def test_recommenders_are_not_pooled(engine, run, tmp_path):
    one, other = Ranks([1, 2], 0, 9, users=[*"ab"]), Ranks([8, 9], 0, 9, users=[*"ab"])
    both = {"A": one, "B": other}
    write_ranks(both, tmp_path / "both.parquet")
    write_ranks({"A": one}, tmp_path / "one.parquet")
    match = "^ranks is of the recommenders .'A', 'B'.; keep the rows of one of them, or use Ranks"
    for ranks in (engine(rank_table(both)), tmp_path / "both.parquet"):
        with pytest.raises(ValueError, match=match):
            run(ranks)
    lost = rank_table(both)
    lost["recommender"] = lost["recommender"].where(lost["recommender"] == "A")
    with pytest.raises(ValueError, match=r"ranks is of the recommenders .*None"):
        run(engine(lost))
    for ranks in (engine(rank_table({"A": one})), tmp_path / "one.parquet"):
        run(ranks)


def test_no_ranks(engine):
    ranks = pd.DataFrame({"user": [1], "item": [1], "rank": [1], "n_tied": [0], "n_items": [5]})
    none = engine(ranks[:0])
    with pytest.raises(ValueError, match="ranks has no rows; give one row"):
        collect_ranks(none)
    assert len(sorted_frame(values_per_user(none, [ReciprocalRank()]))) == 0


def test_kinds_of_ranks(engine):
    ranks = pd.DataFrame({"user": [1], "item": [1], "rank": [1]})
    assert isinstance(collect_ranks(engine(ranks)), Ranks)
    tied = collect_ranks(engine(ranks.assign(n_tied=0, n_items=3)))
    assert isinstance(tied, Ranks)
