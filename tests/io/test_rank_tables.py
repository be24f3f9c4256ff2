"""Ranks survive being a table and a file; tables made by hand mean what they say."""

import re
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampled_metrics import Ranks
from sampled_metrics.io import rank_table, write_ranks
from shared import flat, known
from tables import FORMS, shuffled

FIELDS = (
    "best n_tied offsets n_relevant n_items catalog n_predicted gains ideal_gains users weights"
).split()


def assert_same(got, want):
    assert type(got) is type(want)
    for name in FIELDS:
        one, other = getattr(got, name), getattr(want, name)
        if other is None:
            assert one is None, name
        else:
            np.testing.assert_array_equal(one, other, err_msg=name)
            assert one.dtype == other.dtype, name


def assert_same_named(got, want):
    assert list(got) == list(want)
    for name in want:
        assert_same(got[name], want[name])


gains = st.floats(min_value=1e-300, max_value=1e300)
# What a file of text cannot keep apart from other things is left out, and tested below.
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)


def user_names(size):
    numbers: Any = st.integers(-(2**63), 2**63 - 1)
    return st.one_of(
        *(st.lists(ids, min_size=size, max_size=size, unique=True) for ids in (numbers, texts))
    )


@st.composite
def lists(draw):
    """A Ranks in which every user has a relevant item, some of them without a rank."""
    rows = draw(st.lists(st.sets(st.integers(1, 60), max_size=4), min_size=1, max_size=4))
    more = [draw(st.integers(0 if row else 1, 3)) for row in rows]
    counts = [len(row) + extra for row, extra in zip(rows, more, strict=True)]
    degrees, ideal = None, None
    if draw(st.booleans()):
        every = [draw(st.lists(gains, min_size=n, max_size=n)) for n in counts]
        degrees = [g for row, found in zip(every, rows, strict=True) for g in row[: len(found)]]
        ideal = [g for row in every for g in sorted(row, reverse=True)]
    optional = {
        name: draw(
            st.none() | st.lists(st.integers(60, 99), min_size=len(rows), max_size=len(rows))
        )
        for name in ("n_items", "n_predicted")
    }
    return flat(
        [rank for row in rows for rank in sorted(row)],
        np.cumsum([0, *map(len, rows)]),
        counts,
        gains=degrees,
        ideal_gains=ideal,
        users=np.array(draw(user_names(len(rows))), dtype=None),
        **optional,
    )


@st.composite
def tied(draw):
    """A Ranks of several users, whose entries are mixed."""
    scores = draw(
        st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=8), min_size=1, max_size=4)
    )
    table = pd.DataFrame(
        [(x, i, s) for x, row in enumerate(scores) for i, s in enumerate(row)],
        columns=["user", "item", "score"],
    )
    table["relevance"] = draw(
        st.lists(st.sampled_from([0.0, 1.0, 2.5]), min_size=len(table), max_size=len(table))
    )
    table.loc[0, "relevance"] = 1.0
    ranks = Ranks.from_scores(table)
    ranks = ranks[np.array(draw(st.permutations(range(len(ranks)))))]
    names, of = np.array(draw(user_names(len(scores)))), ranks.instance
    users = names[known(ranks.users)[of]]
    return Ranks(ranks.best, ranks.n_tied, known(ranks.n_items)[of], users=users, gains=ranks.gains)


def kind(ranks):
    return ranks.users.dtype.kind


several = st.lists(lists() | tied(), min_size=1, max_size=3).filter(
    lambda each: len(set(map(kind, each))) == 1
)


@given(several)
def test_a_table_is_read_as_what_it_was_made_of(each):
    want = {f"recommender {i}": ranks for i, ranks in enumerate(each)}
    assert_same_named(Ranks.read(rank_table(want)), want)


@settings(max_examples=50)
@given(each=several)
@pytest.mark.parametrize("suffix", [".csv", ".parquet", " by polars.parquet"])
def test_files_are_read_as_they_were_written(tmp_path_factory, each, suffix):
    want = {f"recommender {i}": ranks for i, ranks in enumerate(each)}
    path = tmp_path_factory.getbasetemp() / f"ranks{suffix}"
    digits = all(re.fullmatch(r"0|-?[1-9][0-9]*", str(n)) for r in each for n in r.users.tolist())
    with pytest.MonkeyPatch.context() as patch:
        if "polars" in suffix:
            patch.setitem(sys.modules, "pyarrow", None)  # as if it were not installed
        if suffix == ".csv" and digits and kind(each[0]) == "O":
            with pytest.raises(ValueError, match=r"a string of digits.*write a .parquet file"):
                write_ranks(want, path)
        else:
            write_ranks(want, path)
            assert_same_named(Ranks.read(path), want)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("text", ["\r", "a\rb", "a\r\nb", "a\nb", 'a"\r,', "\ufeff", "\0", " "])
def test_any_name_is_read_as_it_was_written(tmp_path, suffix, text):
    """What ends a line, quotes or separates does not in a name."""
    path = tmp_path / f"ranks{suffix}"
    users = flat([1, 2], [0, 1, 2, 2], [1, 1, 1], users=[text, "c", "d"])
    write_ranks({"m": users}, path)
    assert_same_named(Ranks.read(path), {"m": users})
    ranks = flat([1], [0, 1, 1], [1, 1], gains=[2.0], ideal_gains=[2.0, 0.1], users=[7, 8])
    write_ranks({text: ranks}, path)
    assert_same_named(Ranks.read(path), {text: ranks})


@pytest.mark.parametrize("form", FORMS)
def test_the_order_of_the_rows_does_not_matter(form):
    """Only users, and the entries of a Ranks, come in the order of the rows."""
    ranks = Ranks.from_lists([[4, 2], [9], [1, 3, 8]], n_items=[9, 10, 11], users=list("bca"))
    want = {"A": ranks, "B": ranks[:2]}
    table = shuffled(rank_table(want).assign(item=7, group="x"))
    read = Ranks.read(FORMS[form](table))
    assert set(read) == set(want)
    for name, one in want.items():
        at = [known(read[name].users).tolist().index(user) for user in known(one.users)]
        assert_same(read[name][at], one)


def test_columns():
    """Counts are nullable integers; a column is there if some recommender has it."""
    one = flat([3], [0, 1, 1], [2, 0], [5, 5], [2.0], [2.0, 1.0], users=["ann", "bob"])
    other = Ranks([1, 2], [0, 3], 9, users=["bob", "ann"])
    table = rank_table({"one": one, "other": other})
    assert table.astype(object).where(table.notna(), None).to_dict("list") == {
        "recommender": ["one", "one", "one", "other", "other"],
        "user": ["ann", "ann", "bob", "bob", "ann"],
        "rank": [3, None, None, 1, 2],
        "n_tied": [0, None, None, 0, 3],
        "n_items": [None, None, None, 9, 9],
        "relevance": [2.0, 1.0, 0.0, None, None],
        "n_predicted": [5, 5, 5, None, None],
    }
    assert set(table.dtypes[["rank", "n_tied", "n_items", "n_predicted"]]) == {pd.Int64Dtype()}
    assert list(rank_table({"one": [3, 1]})) == ["recommender", "user", "rank"]


def test_items_that_were_not_recommended_keep_their_relevance():
    for ideal in ([2.0, 2.0, 2.0], [2.0, 1.0, 3.0]):
        ranks = flat([4], [0, 1, 1], [2, 1], gains=[2.0], ideal_gains=ideal)
        assert rank_table({"a": ranks})["relevance"].tolist() == ideal


def test_users_without_names_are_numbered():
    """A user without relevant items has a row, so that who counts these as 0 still can."""
    ranks = Ranks.from_lists([[5, 3], [], [1]])
    assert rank_table({"a": ranks})["user"].tolist() == [0, 0, 1, 2]
    assert rank_table({"a": ranks})["relevance"].tolist() == [1, 1, 0, 1]
    assert_same_named(
        Ranks.read(rank_table({"a": ranks, "b": np.array([7, 7, 1]), "c": Ranks([2], 1, 4)})),
        {
            "a": Ranks.from_lists([[5, 3], [], [1]], users=[0, 1, 2]),
            "b": Ranks.from_lists([[7], [7], [1]], users=[0, 1, 2]),
            "c": Ranks([2], 1, 4, users=[0]),
        },
    )


def test_tables_made_by_hand(tmp_path):
    table = {"user": ["ann", "bob", "ann"], "rank": [5, np.nan, 3]}
    want = flat([3, 5], [0, 2, 2], [2, 1], users=["ann", "bob"])
    assert_same_named(Ranks.read(pd.DataFrame(table)), {"ranks": want})
    path = tmp_path / "mine.csv"
    path.write_text("user,rank,item\nann,5,x\nbob,,y\nann,3,z\n")
    assert_same_named(Ranks.read(path), {"mine": want})
    other = pd.DataFrame({"who": table["user"], "place": table["rank"], "model": [1, 2, 1]})
    names: Any = {"user": "who", "rank": "place"}
    assert_same_named(Ranks.read(other, recommender=None, **names), {"ranks": want})
    by_model = Ranks.read(other, recommender="model", **names)
    assert_same_named(by_model, {"1": want[:1], "2": want[1:]})
    # An item of relevance 0 is not relevant, and a Ranks says how many tie, if none.
    graded = pd.DataFrame(table | {"relevance": [0, 2, 3]})
    assert_same(
        Ranks.read(graded)["ranks"],
        flat([3], [0, 1, 1], [1, 1], None, [3], [3, 2], users=["ann", "bob"]),
    )
    deep = pd.DataFrame({"user": [1], "rank": [2**53], "n_items": [2**53]})
    assert_same(Ranks.read(deep)["ranks"], Ranks.from_lists([[2**53]], n_items=2**53, users=[1]))
    with pytest.raises(ValueError, match="the rank is 16777216; give it as an integer: float32"):
        Ranks.read(pd.DataFrame({"user": [1], "rank": np.array([2**24], np.float32)}))
    ties = pd.DataFrame({"user": [1, 2], "rank": [2, 1], "n_tied": [0, 0], "n_items": [5, 5]})
    assert_same(Ranks.read(ties)["ranks"], Ranks([2, 1], 0, 5, users=[1, 2]))
    assert_same(
        Ranks.read(ties.drop(columns="n_tied"))["ranks"],
        Ranks.from_lists([[2], [1]], n_items=5, users=[1, 2]),
    )


class HasColumns:
    columns = ("user", "rank")


def made(**columns):
    return pd.DataFrame({"user": list("aba"), "rank": [1, 4, 2]} | columns)


TABLES = {
    "table has no column 'user', only 'uid', 'rank'; say which column it is": (
        lambda: made().rename(columns={"user": "uid"})
    ),
    "table has no column 'recommender', but 'model'; give recommender='model', "
    "or recommender=None if all rows are of one": (lambda: made(model=["x", "y", "x"])),
    "table, row 2: user 'a' has 'fold' 2, in row 0 1; a user has one ranking: keep one 'fold', "
    "or if it describes the items, give ignore=['fold']": (
        lambda: made(recommender="m", item=[4, 5, 6], fold=[1, 1, 2])
    ),
    "table, row 2: user 'a' has 'seed' 'z', in row 0 'x'; a user": (
        lambda: made(recommender="m", seed=["x", "y", "z"])
    ),
    "table has no rows": lambda: made()[:0],
    "table, row 1: 'user' is missing": lambda: made(user=["a", None, "a"]),
    "table, row 2, user 'a': the rank is 0; it must be a whole number of at least 1": (
        lambda: made(rank=[1, 4, 0])
    ),
    "table, row 2, user 'a': the rank is 1.5; it must be a whole": lambda: made(rank=[1, 4, 1.5]),
    "table, row 1: 'rank' is 'x'; it must be a number": lambda: made(rank=[1, "x", 1]),
    "table, row 2, user 'a': the rank is 1; another item of this user": lambda: made(
        rank=[1, 4, 1]
    ),
    "table, row 1, user 'b': the rank is 4; it must be at most n_items": lambda: made(n_items=3),
    "table, row 1, user 'b': the rank is 4; it must be at most n_pre": lambda: made(n_predicted=3),
    "table, row 2, user 'a': the n_items is 9; it must be the same": lambda: made(
        n_items=[8, 8, 9]
    ),
    "table, row 0, user 'a': the n_items is missing; give it in all rows": (
        lambda: made(n_items=[None, 8, 8])
    ),
    "table, row 1, user 'b': the n_tied is missing; give it wherever": (
        lambda: made(n_items=9, n_tied=[0, None, 1])
    ),
    "table, row 1, user 'b': the n_tied is 0; there is no rank that goes with it": (
        lambda: made(rank=[1, None, 4], n_items=9, n_tied=0)
    ),
    "table, row 0, user 'a': the relevance is -1; it must be finite": lambda: made(
        relevance=[-1, 2, 1]
    ),
    "table, row 2, user 'a': the rank is 2; items with one score have the same rank and n_tied": (
        lambda: made(n_items=9, n_tied=[5, 0, 5])
    ),
    "table, row 0, user 'a': the n_items is 1; the user has more relevant items": (
        lambda: made(rank=[1, 1, None], n_items=1)
    ),
    "table is 3; table must be a table whose columns have names": lambda: 3,
    "table is a HasColumns that cannot be read: ": HasColumns,
    "table is {'user': [1]}; table must be a table": lambda: {"user": [1]},
}


@pytest.mark.parametrize("message", TABLES)
def test_tables_that_are_refused(message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Ranks.read(TABLES[message]())


def test_further_columns_that_cannot_be_several_rankings():
    want = Ranks.read(made(recommender="m"))
    for more in (
        made(recommender="m", country=["x", "y", "x"]),  # one value for each user
        made(recommender="m", item=["tea", "nut", "jam"], group=[1, 1, 1]),
    ):
        assert_same_named(Ranks.read(more), want)
    titled = made(recommender="m", title=["Tea", "Nut", "Jam"], item=[1, 2, 3])
    assert_same_named(Ranks.read(titled, ignore=["title"]), want)
    listed = made(recommender="m", tags=[["x"], [], ["x", "y"]])
    assert_same_named(Ranks.read(listed, ignore=["tags"]), want)
    with pytest.raises(ValueError, match=r"user 'a' has 'tags' \['x', 'y'\], in row 0 \['x'\]"):
        Ranks.read(listed)
    assert_same_named(Ranks.read(made(model="m"), ignore=["model"]), {"ranks": want["m"]})
    hashes = made(recommender="m", run=["12e4567", "x", "34e9999"])
    with pytest.raises(ValueError, match="user 'a' has 'run' '34e9999', in row 0 '12e4567'"):
        Ranks.read(hashes)
    numbered = made(recommender="m")
    numbered[0] = [1, 2, 3]  # a name that is no string cannot be given, and is not read
    assert_same_named(Ranks.read(numbered), want)
    folds = pd.DataFrame(
        {"recommender": ["A", "B"], "user": "u", "rank": [3, 4], "fold": [1, 2]}
    )  # each recommender has one ranking
    want = {name: Ranks.from_lists([[rank]], users=["u"]) for name, rank in (("A", 3), ("B", 4))}
    assert_same_named(Ranks.read(folds), want)
    for odd, message in (
        ("title", "ignore is 'title'; ignore must be a list"),
        ([3], "ignore has 3; it must name a column that is not read"),
        (["rank"], "ignore has 'rank'; it must name a column that is not read"),
        (["recommender"], "ignore has 'recommender'; it must name a column"),
        (["n_tied"], "ignore has 'n_tied'; it must name a column that"),
    ):
        with pytest.raises(ValueError, match=message):
            Ranks.read(titled, ignore=odd)  # type: ignore[arg-type]


def test_rows_of_a_lazy_table_in_any_order():
    """The columns are collected once: an engine may return its rows in another order each time."""
    users = np.arange(500) // 10  # never 0, 1, 2, ... again and again, as of several seeds
    frame = pl.LazyFrame({"user": users, "rank": np.arange(500), "country": users % 7})
    lazy = frame.group_by("user", "rank").agg(pl.col("country").first())
    lazy = lazy.with_columns(recommender=pl.lit("m"), rank=pl.col("rank") + 1)
    for _ in range(5):
        assert len(Ranks.read(lazy)["m"]) == 50


def test_an_index_that_was_written_is_not_read(tmp_path):
    want, shuffled = Ranks.read(made(recommender="m")), made(recommender="m").iloc[[2, 1, 0]]
    made(recommender="m").to_csv(tmp_path / "r.csv")
    shuffled.to_parquet(tmp_path / "r.parquet")
    assert_same_named(Ranks.read(tmp_path / "r.csv"), want)
    assert_same_named(Ranks.read(pd.read_csv(tmp_path / "r.csv")), want)
    pd.concat({"A": made(), "B": made()}).to_csv(tmp_path / "two.csv")  # two columns have no name
    with pytest.raises(ValueError, match="no column 'recommender', but 'Unnamed: 0'"):
        Ranks.read(tmp_path / "two.csv")
    for indexed in (
        pd.concat({"A": made(), "B": made()}),
        made(recommender="m").set_index("recommender"),
        made(fold=[1, 1, 2]).set_index("fold"),
    ):
        with pytest.raises(ValueError, match=r"table has the index \[.*reset_index"):
            Ranks.read(indexed)
    back = Ranks.read(tmp_path / "r.parquet")["m"]
    assert known(back.users).tolist() == ["a", "b"]
    made()["rank"].set_axis(["u", "v", "w"]).to_csv(tmp_path / "i.csv")
    ranks = Ranks.read(tmp_path / "i.csv", user="Unnamed: 0")["i"]
    assert known(ranks.users).tolist() == ["u", "v", "w"]


def test_what_is_missing_everywhere_is_the_same(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("recommender,user,rank,fold\nm,v,2,\nm,v,3,\n")
    assert Ranks.read(path)["m"].n_relevant.tolist() == [2]
    path.write_text("recommender,user,rank,fold\nm,u,1,1\nm,u,4,\n")
    with pytest.raises(ValueError, match="row 1: user 'u' has 'fold' nan, in row 0 '1'"):
        Ranks.read(path)


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_a_file_without_commas(tmp_path, separator):
    made().to_csv(tmp_path / "r.csv", sep=separator, index=False)
    with pytest.raises(ValueError, match=r"its first line has .* and no comma") as refused:
        Ranks.read(tmp_path / "r.csv")
    assert str(refused.value).endswith("separate by commas")


def test_a_column_that_was_named_must_be_there():
    for keyword in ("n_tied", "n_items", "relevance", "n_predicted", "recommender"):
        with pytest.raises(ValueError, match=f"table has no column 'x', .*{keyword}="):
            Ranks.read(made(), **{keyword: "x"})  # type: ignore[arg-type]


def test_ranks_that_are_refused(tmp_path):
    for recommenders, message in (
        ([[1]], "recommenders is [[1]]; recommenders must be a dict"),
        ({}, "recommenders is {}; recommenders must be a dict"),
        ({"a": "cat"}, "recommenders['a'] is 'cat'; recommenders['a'] must be whole numbers"),
        ({"a": [[1]]}, "recommenders['a'] has shape (1, 1); recommenders['a'] must be flat"),
        ({"a": [1], "b": []}, "recommenders['b'] has no relevant item"),
        ({"a": Ranks.from_lists([[]])}, "recommenders['a'] has no relevant item"),
        (
            {"a": [1], "b": Ranks.from_lists([[1]], users=["x"])},
            "recommenders['a'] names its users by integers, recommenders['b'] by strings",
        ),
        (
            {
                "a": [1],
                "b": Ranks.from_lists([[1]], users=["x"]),
                "c": Ranks.from_lists([[1]], users=np.fromiter([(1, 2)], object, 1)),
            },
            "recommenders['a'] names its users by integers, recommenders['b'] by strings",
        ),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            rank_table(recommenders)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=re.escape(message)):
            write_ranks(recommenders, tmp_path / "ranks.csv")  # type: ignore[arg-type]
    for path, message in (
        (3, "path is 3; path must be"),
        ("a.txt", "path is 'a.txt'; path must be the name of a .parquet"),
    ):
        with pytest.raises(ValueError, match=message):
            write_ranks({"a": [1]}, path)  # type: ignore[arg-type]
    tuples = Ranks.from_lists([[1]], users=np.fromiter([(1, 2)], object, 1))
    with pytest.raises(ValueError, match=r"a user of recommenders is \(1, 2\); .* a file keeps"):
        write_ranks({"a": tuples}, tmp_path / "ranks.parquet")
    assert_same(Ranks.read(rank_table({"a": tuples}))["a"], tuples)
    unnamed = Ranks.from_lists([[1], [2]], users=["", "x"])
    for named in ({"a": unnamed}, {"": [1]}):
        with pytest.raises(ValueError, match='recommenders has the name ""'):
            write_ranks(named, tmp_path / "ranks.csv")
        write_ranks(named, tmp_path / "ranks.parquet")
        assert list(Ranks.read(tmp_path / "ranks.parquet")) == list(named)


def test_the_index_of_a_series_names_its_users(tmp_path):
    """In the file as in `evaluate`, which aligns by it."""
    first = pd.Series([1, 5, 9], index=["ann", "bob", "eve"])
    write_ranks({"A": first, "B": first[::-1]}, tmp_path / "r.csv")
    back = Ranks.read(tmp_path / "r.csv")
    for name in "AB":
        ranks = back[name]
        assert isinstance(ranks, Ranks)
        of_users = dict(zip(known(ranks.users), ranks.best, strict=True))
        assert of_users == {"ann": 1, "bob": 5, "eve": 9}
