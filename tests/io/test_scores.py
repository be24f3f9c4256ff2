"""Long tables of scores become ranks, in whatever form they come, or are refused."""

import json
import re
import sys
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampled_metrics import NDCG, AveragePrecision, Ranks, Recall, ReciprocalRank, Split
from shared import known
from tables import FORMS, IDS, OTHER_IDS, column, listed, shuffled, with_ids

FIELDS = ("best", "n_tied", "n_items", "users", "gains")


def assert_same(got, want, fields=FIELDS):
    for name in fields:
        np.testing.assert_array_equal(getattr(got, name), getattr(want, name), err_msg=name)


def by_definition(scores, relevant, excluded=()):
    """Count one relevant item after the other, in plain Python.

    Scores are a dict by user of dicts by item, `relevant` holds relevance in the same form, and
    `excluded` pairs. Returns a set, as the order of a user's items is not promised.
    """
    found = set()
    for user, row in scores.items():
        left = {item: s for item, s in row.items() if (user, item) not in excluded}
        for item, gain in relevant.get(user, {}).items():
            if gain > 0:
                above = sum(s > row[item] for s in left.values())
                level = sum(s == row[item] for s in left.values())
                found.add((user, 1 + above, level - 1, len(left), gain))
    return found


def as_set(ranks):
    of = ranks.instance
    gains = np.ones(len(of)) if ranks.gains is None else ranks.gains
    columns = (ranks.users[of], ranks.best, ranks.n_tied, ranks.n_items[of], gains)
    return set(zip(*(column.tolist() for column in columns), strict=True))


def as_table(by_user, value):
    rows = [(user, item, x) for user, row in by_user.items() for item, x in row.items()]
    return pd.DataFrame(rows, columns=["user", "item", value]).infer_objects()


values = st.sampled_from([-1.5, 0.0, 0.25, 1.0, 3.0])
ids = st.integers(0, 7)
all_scores = st.dictionaries(
    ids, st.dictionaries(ids, values, min_size=1, max_size=8), min_size=1, max_size=5
)


@st.composite
def evaluations(draw):
    """Scores, the relevance of some of the candidates, and some of the others as excluded."""
    scores = draw(all_scores)
    relevant, excluded = {}, set()
    for user, row in scores.items():
        relevant[user] = draw(
            st.dictionaries(st.sampled_from(list(row)), st.sampled_from([0, 1, 2]))
        )
        for item in draw(st.sets(ids)):
            if not relevant[user].get(item):
                excluded.add((user, item))
    scored = set().union(*scores.values())
    if not any(item in scored for _, item in excluded):
        excluded = set()  # which would be refused: ids of another kind, probably
    return scores, relevant, excluded


@given(evaluations(), st.sampled_from(list(FORMS)), st.integers(0, 9))
def test_ranks_are_counts(evaluation, form, seed):
    scores, relevant, excluded = evaluation
    want = by_definition(scores, relevant, excluded)
    table, wanted = (
        FORMS[form](shuffled(as_table(*given), seed))
        for given in ((scores, "score"), (relevant, "relevance"))
    )
    gone = pd.DataFrame(sorted(excluded) * 2, columns=["user", "item"], dtype=np.int64)
    got = Ranks.from_scores(table, wanted, exclude=gone)
    assert as_set(got) == want
    assert len(got.best) == sum(gain > 0 for row in relevant.values() for gain in row.values())
    by_user = {user: [item for other, item in excluded if other == user] for user in scores}
    assert as_set(Ranks.from_scores(scores, relevant, exclude=by_user)) == want


@given(evaluations(), st.integers(0, 9))
def test_relevance_in_the_same_table(evaluation, seed):
    scores, relevant, _ = evaluation
    table = shuffled(as_table(scores, "score"), seed)
    pairs = zip(table["user"], table["item"], strict=True)
    table["relevance"] = [relevant[user].get(item, 0) for user, item in pairs]
    assert as_set(Ranks.from_scores(table)) == by_definition(scores, relevant)


def example():
    """Three users in turn, of whom one has no relevant item; ties; integers as ids."""
    return pd.DataFrame(
        {
            "user": [3, 1, 2, 3, 1, 2, 3, 1, 3],
            "item": [5, 5, 5, 6, 6, 6, 4, 9, 9],
            "score": [0.5, 2.0, 1.0, 0.5, 3.0, 1.0, 0.1, 2.0, 0.7],
            "relevance": [1, 1, 0, 1, 0, 0, 0, 0, 0],
        }
    )


EXPECTED = SimpleNamespace(
    best=np.array([2, 2, 2]), n_tied=[1, 1, 1], n_items=[4, 3, 2], users=[3, 1, 2], gains=None
)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_table(form):
    table = example()
    got = Ranks.from_scores(FORMS[form](table))
    assert_same(got, EXPECTED)
    positive = table[table["relevance"] > 0][["user", "item"]]
    assert_same(Ranks.from_scores(FORMS[form](table), FORMS[form](positive)), EXPECTED)
    assert_same(Ranks.from_scores(table, FORMS[form](shuffled(positive))), EXPECTED)


@pytest.mark.parametrize("kind", [*IDS, *OTHER_IDS])
def test_every_kind_of_id(kind):
    table = example()
    positive = table[table["relevance"] > 0][["user", "item"]]
    got = Ranks.from_scores(with_ids(table, kind))
    assert_same(got, EXPECTED, ("best", "n_tied", "n_items", "gains"))
    assert known(got.users).tolist() == listed(column(kind, EXPECTED.users))
    assert_same(Ranks.from_scores(with_ids(table, kind), with_ids(positive, kind)), got)


def test_ids_of_one_kind_in_different_columns():
    """Strings are strings, wherever a library keeps them."""
    table = example()
    positive = table[table["relevance"] > 0][["user", "item"]]
    kinds = ["str", "objects of str", "category", "arrow str", "polars Enum", "arrow dictionary"]
    for one in kinds:
        for other in kinds:
            got = Ranks.from_scores(with_ids(table, one), with_ids(positive, other))
            assert got.best.tolist() == EXPECTED.best.tolist()
    for other in ("int32", "float", "nullable", "polars UInt8", "category of int"):
        got = Ranks.from_scores(table, with_ids(positive, other))
        assert_same(got, EXPECTED)


def test_ids_up_to_the_largest_integer():
    largest = 2**63 - 1
    table = example().assign(user=example()["user"] - 3 + largest)
    assert known(Ranks.from_scores(table).users).tolist() == [largest, largest - 2, largest - 1]


@pytest.mark.parametrize(
    ("dtype", "first"),
    [("float16", 2**11), ("float32", 2**24), ("Float32", 2**24), ("float64", 2**53)],
)
@pytest.mark.parametrize("name", ["user", "item"])
def test_floats_that_may_stand_for_two_integers_are_no_ids(dtype, first, name):
    """From `first` on, a float of this type is what several integers are rounded to."""
    table = pd.DataFrame({"user": [1], "item": [1], "score": [0.5], "relevance": [1]})
    for sign in (1, -1):
        exact = table.assign(**{name: pd.Series([sign * (first - 1)], dtype=dtype)})
        assert len(Ranks.from_scores(exact)) == 1
        large = table.assign(**{name: pd.Series([sign * first], dtype=dtype)})
        message = rf"scores, row 0: '{name}' is .*; ids must be given as integers: {dtype.lower()}"
        for form in (large, pl.from_pandas(large) if dtype != "float16" else large):
            with pytest.raises(ValueError, match=message):
                Ranks.from_scores(form)
    items = np.array([first], dtype=dtype.lower())
    with pytest.raises(ValueError, match=r"relevant\[1\]: the item .*; ids must be given as int"):
        Ranks.from_scores({1: {first: 0.5, first + 1: 0.6}}, {1: items})


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint64", "Float64", "object"])
def test_scores_of_every_type(dtype):
    table = example()
    scores = (table["score"] * 10).astype(dtype)
    assert_same(Ranks.from_scores(table.assign(score=scores)), EXPECTED)
    assert_same(Ranks.from_scores(table.assign(relevance=table["relevance"] == 1)), EXPECTED)
    large = table["score"].rank().astype(np.int64) + 2**53  # floats do not tell these apart
    want = Ranks.from_scores(table.assign(score=table["score"].rank()))
    assert_same(Ranks.from_scores(table.assign(score=large)), want)


@pytest.mark.parametrize("form", ["pandas", "polars", "csv", "decimal", "object", "dict"])
@pytest.mark.parametrize("other", [None, 0.5])
def test_large_integers_among_which_one_is_no_integer_are_not_rounded(tmp_path, form, other):
    """A column with a missing number or a fraction is one of floats; in these, two scores tie."""
    large = 2**60
    rows = {"user": [1, 1, 1], "item": [1, 2, 3]}
    scores: list[Any] = [large, large + 1, other]
    table: Any = {1: dict(zip(rows["item"], scores, strict=True))}
    if form == "pandas":
        scores = scores if other is None else [large, large + 1, None]
        table = pd.DataFrame(rows | {"score": pd.array(scores, dtype="Int64")})
    elif form == "object":
        table = pd.DataFrame(rows | {"score": pd.Series(scores, dtype=object)})
    elif form == "decimal":
        exact = [None if x is None else Decimal(x) for x in scores]
        table = pl.DataFrame(rows | {"score": pl.Series(exact, dtype=pl.Decimal(38, 1))})
    elif form == "polars":
        table = pl.DataFrame(rows | {"score": pl.Series([large, large + 1, None])})
    elif form == "csv":
        table = tmp_path / "scores.csv"
        pd.DataFrame(rows | {"score": pd.Series(scores, dtype=object)}).to_csv(table)
    with pytest.raises(ValueError, match=f"{large + 1}.*; an integer so large is rounded where"):
        Ranks.from_scores(table, {1: [1]}, exclude={1: [3]})


def test_columns_with_other_names():
    other: Any = {
        "user": "user_id",
        "item": "item_id",
        "score": "prediction",
        "relevance": "rating",
    }
    table = example().rename(columns=other)
    assert_same(Ranks.from_scores(table, **other), EXPECTED)
    positive = table[table["rating"] > 0][["user_id", "item_id", "rating"]]
    assert_same(Ranks.from_scores(table, positive, exclude=positive[:0], **other), EXPECTED)


def test_what_is_not_relevant_needs_no_score():
    relevant = example()[["user", "item", "relevance"]]
    unscored = pd.DataFrame({"user": [3], "item": [77], "relevance": [0]})
    assert_same(Ranks.from_scores(example(), pd.concat([relevant, unscored])), EXPECTED)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_files(tmp_path, suffix):
    for kind in ("int", "str"):
        table = with_ids(example(), kind)
        path = tmp_path / f"{kind}{suffix}"
        table.to_csv(path) if suffix == ".csv" else table.to_parquet(path)
        for file in (path, str(path)):
            assert_same(Ranks.from_scores(file), Ranks.from_scores(table))
            relevant = table[table["relevance"] > 0]
            assert_same(Ranks.from_scores(file, relevant), Ranks.from_scores(table))


def test_parquet_with_polars_alone(tmp_path, monkeypatch):
    path = tmp_path / "scores.parquet"
    pl.DataFrame(example().to_dict("list")).write_parquet(path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # as if it were not installed
    assert_same(Ranks.from_scores(path), EXPECTED)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=re.escape('pip install "sampled-metrics[tables]"')):
        Ranks.from_scores(path)


def test_ids_in_a_file_of_text(tmp_path):
    """An item may be called NA; 07 is not 7; a column of integers with one name is all names."""
    path = tmp_path / "scores.csv"
    path.write_text("user,item,score,relevance\n07,NA,1,1\n7,null,2,yes\n7,NaN,2,0\n")
    with pytest.raises(ValueError, match="row 1: 'relevance' is 'yes'; it must be a number"):
        Ranks.from_scores(path)
    path.write_text("user,item,score,relevance\n07,NA,1,1\n7,null,2,True\n7,NaN,2,0\n")
    got = Ranks.from_scores(path)
    assert known(got.users).tolist() == ["07", "7"]
    assert got.n_tied.tolist() == [0, 1]
    path.write_text("user,item,score,relevance\n-7,1,1e3,1\n0,1,.5,1\n")
    assert known(Ranks.from_scores(path).users).tolist() == [-7, 0]


# Against the ranks of arrays


class Given:
    def __init__(self, scores):
        self.table = scores

    def scores(self, users):
        return self.table[users]


@pytest.mark.parametrize("kind", ["int", "str", "UUID", "polars Categorical"])
def test_the_same_as_from_arrays(kind):
    """The same scores as a matrix and as a table; the table has users in another order."""
    rng = np.random.default_rng(3)
    n_users, n_items = 40, 90
    matrix = rng.integers(0, 30, (n_users, n_items)) / 8
    cells = np.array([rng.permutation(n_items)[:9] for _ in range(n_users)])
    owner = np.repeat(np.arange(n_users), 9).reshape(n_users, 9)
    train, test = (
        (owner[:, part].ravel(), cells[:, part].ravel()) for part in (slice(3, 9), slice(3))
    )
    split = Split.from_pairs(*train, *test, n_users=n_users, n_items=n_items)
    want = Ranks.from_model(Given(matrix), split, progress=False)
    user, item = np.indices(matrix.shape).reshape(2, -1)
    tables = [
        with_ids(shuffled(pd.DataFrame({"user": u, "item": i} | more)), kind)
        for u, i, more in ((user, item, {"score": matrix.ravel()}), (*test, {}), (*train, {}))
    ]
    got = Ranks.from_scores(tables[0], tables[1], exclude=tables[2])
    named = np.array(listed(column(kind, want.users)), dtype=object)
    of = want.instance
    sizes = known(want.n_items)[of]
    renamed = Ranks(want.best, want.n_tied, sizes, users=list(named[of]))
    assert as_set(got) == as_set(renamed)
    for metric in (Recall(10), AveragePrecision(5), NDCG(), ReciprocalRank()):
        means = [metric.mean(r.break_ties("pessimistic")) for r in (got, want)]
        assert means[0] == pytest.approx(means[1], rel=1e-12)


def test_many_relevant_items_of_a_user():
    """Some users have so many that their scores are sorted instead."""
    rng = np.random.default_rng(4)
    scores = {u: dict(enumerate(rng.integers(0, 40, 200).tolist())) for u in range(6)}
    relevant = {u: {i: 1 for i in range(n)} for u, n in enumerate((200, 1, 0, 33, 32, 31))}
    got = Ranks.from_scores(as_table(scores, "score"), relevant)
    assert len(got.best) == 297
    assert as_set(got) == by_definition(scores, relevant)


def test_the_five_users():
    """Scores that order the recommendations as they are, and everything else behind them."""
    data = Path(__file__).parents[2] / "book" / "data" / "five_users.json"
    five = json.loads(data.read_text())
    rows = [
        (x, -rank, i) for x, row in enumerate(five["predictions"]) for rank, i in enumerate(row)
    ]
    table = pd.DataFrame(rows, columns=["user", "score", "item"])
    labels = [(x, item) for x, row in enumerate(five["labels"]) for item in row]
    found = pd.DataFrame(labels, columns=["user", "item"]).merge(table)[["user", "item"]]
    got = Ranks.from_scores(table, found).break_ties("optimistic")
    lists = Ranks.from_recommendations(five["predictions"], five["labels"])
    assert got.best.tolist() == lists.best.tolist()
    recommended = sorted(set(table["user"]))
    assert known(got.users).tolist() == recommended
    assert got.n_ranked.tolist() == lists.n_ranked[recommended].tolist()
    with pytest.raises(ValueError, match=r"give the lists to Ranks\.from_recommendations"):
        Ranks.from_scores(table, pd.DataFrame(labels, columns=["user", "item"]), absent="missed")


# What cannot be right


def changed(row=None, **columns):
    """The example with other entries in some columns, or in one row of them."""
    table = example()
    for name, value in columns.items():
        if row is None:
            table[name] = value
        else:
            table[name] = table[name].astype(object)
            table.loc[row, name] = value
    return table


def positive():
    return example().query("relevance > 0")[["user", "item"]]


REFUSED = {
    # columns
    "scores has no column 'user', only 'user_id', 'item', 'score', 'relevance'; say which column "
    "it is, as in user='user_id'": lambda: [example().rename(columns={"user": "user_id"})],
    "scores has no column 'score', only 'user', 'item', 'relevance'; say which column it is, as "
    "in score=...": lambda: [example().drop(columns="score")],
    "scores has no column 'relevance', only 'user', 'item', 'score'; say which column it is, as in "
    "relevance=..., or give relevant=...": (lambda: [example().drop(columns="relevance")]),
    "relevant has no column 'item', only 'user'": lambda: [example(), positive()[["user"]]],
    "scores is a DataFrame that cannot be read: Expected unique column names": lambda: [
        pd.concat([example(), example()[["user"]]], axis="columns")
    ],
    "scores is [1]; scores must be a table whose columns have names, or the path of": lambda: [[1]],
    "scores is 'a.txt'; scores must be the name of a .parquet or .csv": lambda: ["a.txt"],
    "relevant is missing; where scores is a dict": lambda: [{1: {2: 3.0}}],
    "scores is a dict with the keys 'user' and 'item'; if it holds columns, give "
    "pandas.DataFrame(scores)": lambda: [example().to_dict("list"), {}],
    "scores['u'] is [1]; scores['u'] must be a dict from item to number": lambda: [{"u": [1]}, {}],
    "relevant[1] is 'cat'; relevant[1] must be a list of items": lambda: [
        {1: {2: 3.0}},
        {1: "cat"},
    ],
    "relevant[1] is array(2); relevant[1] must be a list of items": lambda: [
        {1: {2: 3.0}},
        {1: np.array(2)},
    ],
    "relevant mixes dicts with lists": lambda: [example(), {3: [5], 1: {5: 1}}],
    # ids
    "scores, row 2: 'user' is missing; each row must have an id": lambda: [changed(2, user=None)],
    "scores, row 3: 'item' is missing": lambda: [changed(3, item=np.nan)],
    "scores, row 1: 'item' is 2.5; ids must be all integers": lambda: [changed(1, item=2.5)],
    "scores, row 4: 'user' is '1'; ids must be": lambda: [changed(4, user="1")],
    "scores, row 0: 'user' is True": lambda: [changed(user=True)],
    "scores, row 0: 'user' is 9223372036854775808": lambda: [changed(0, user=2**63)],
    "scores, row 0: 'item' and the next ones are not ids": lambda: [changed(item=[[]] * 9)],
    "scores names its items by integers, relevant by strings; name them in the same way": lambda: [
        example(),
        positive().astype({"item": str}),
    ],
    "scores names its users by integers, relevant by strings": lambda: [example(), {"3": [5]}],
    "relevant names its users by strings, exclude by values of type UUID": lambda: [
        with_ids(example(), "str"),
        with_ids(positive(), "str"),
        with_ids(positive(), "UUID"),
    ],
    # pairs
    "scores, row 0, user 3 and item 5: it is there twice; keep one": lambda: [changed(8, item=5)],
    "scores, row 1, user 1 and item 5: it is there twice": lambda: [
        changed(7, item=5),
        positive(),
    ],
    "relevant, row 0, user 3 and item 5: it is there twice": lambda: [
        example(),
        pd.concat([positive(), positive()[:1]]),
    ],
    "relevant, row 0, user 3 and item 5: it is there twice; keep": lambda: [
        example(),
        pd.concat([positive(), positive()[:1], positive()[:1]]),
    ],
    "relevant, user 3 and item 77: scores has no score for this item; score it": lambda: [
        example(),
        {3: [5, 77]},
    ],
    'relevant has user 8, scores does not; give absent="missed"': lambda: [
        example(),
        {3: [5], 8: [5]},
    ],
    "relevant has user 8, scores does not, nor any other user of it; name": lambda: [
        example(),
        {8: [5]},
    ],
    "scores, row 3, user 3 and item 6: it is relevant, and in exclude": lambda: [
        example(),
        None,
        {3: [6], 8: [1]},
    ],
    "exclude has user 5, scores does not, nor any other user of it; name them": lambda: [
        example(),
        None,
        pd.DataFrame({"user": [5, 6], "item": [3, 2]}),
    ],
    "exclude has item 1005, scores does not, nor any other item of it; name them": lambda: [
        example(),
        None,
        pd.DataFrame({"user": [3, 8], "item": [1005, 1001]}),
    ],
    "exclude[3] is {9: 0}; exclude[3] must be a list of items": lambda: [
        example(),
        None,
        {3: {9: 0}},
    ],
    # numbers
    "scores, row 8, user 3 and item 9: the score is missing": lambda: [changed(8, score=None)],
    "scores, user 1 and item 2: the score is missing": lambda: [{1: {2: None, 3: 1}}, {1: [3]}],
    "scores, row 3, user 3 and item 6: the score of a relevant item must be finite": lambda: [
        changed(3, score=-np.inf)
    ],
    "scores, row 2: 'score' is 'high'; it must be a number": lambda: [changed(2, score="high")],
    "scores, row 0: 'score' is 1j; it must be": lambda: [changed(0, score=1j)],
    "scores, row 5, user 2 and item 6: the relevance is -1; it must be finite": lambda: [
        changed(5, relevance=-1)
    ],
    "scores, row 5, user 2 and item 6: the relevance is missing": lambda: [
        changed(5, relevance=None)
    ],
    "relevant, user 3 and item 5: the relevance is inf": lambda: [example(), {3: {5: np.inf}}],
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message):
    scores, relevant, exclude, *_ = [*REFUSED[message](), None, None]
    with pytest.raises(ValueError, match=re.escape(message)):
        Ranks.from_scores(scores, relevant, exclude=exclude)


def test_columns_must_be_named_apart():
    with pytest.raises(ValueError, match="user and item are both 'id'; they are two columns"):
        Ranks.from_scores(example(), user="id", item="id")
    with pytest.raises(ValueError, match="user is 3; user must be the name of a column"):
        Ranks.from_scores(example(), user=3)  # type: ignore[arg-type]


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(OSError, match=r"nowhere\.csv"):
        Ranks.from_scores(tmp_path / "nowhere.csv")
    with pytest.raises(OSError, match="nowhere"):
        Ranks.from_scores(tmp_path / "nowhere.parquet")
    for name, content in (
        ("damaged.parquet", b"PAR1 and no more"),
        ("damaged.csv", b"user,item\n\xff\xfe,1\n"),
        ("ragged.csv", b"user,item,score\n1,2,3\n1,3,3,4\n"),
        ("long.csv", b"user,item,score\n1,2,3,9\n1,3,3,4\n"),
        ("empty.csv", b""),
        ("twice.csv", b"user,item,score,score\n1,2,3,9\n"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(
            ValueError,
            match=f"{name} cannot be read as a {name[-3:]}|{name} cannot be read as a parquet file",
        ):
            Ranks.from_scores(tmp_path / name, {})


def test_what_is_allowed():
    """Excluded pairs need no score; excluded events may be repeated; others' scores be infinite."""
    table = changed(8, score=np.nan)
    gone = pd.DataFrame({"user": [3, 3, 9, 1], "item": [9, 9, 9, 77]})
    got = Ranks.from_scores(table, exclude=gone)
    want = {"best": [1, 1, 2], "n_items": [3, 3, 2], "users": [3, 1, 2]}
    assert_same(got, SimpleNamespace(**want), tuple(want))
    got = Ranks.from_scores(changed(8, score=-np.inf))
    assert got.best.tolist() == [1, 1, 2]
    for none in (
        Ranks.from_scores(example(), {}),
        Ranks.from_scores(example().assign(relevance=0)),
    ):
        assert none.n_relevant.tolist() == [0, 0, 0]
    assert known(Ranks.from_scores(example(), {2: {5: 2.5, 6: 0}}).gains).tolist() == [2.5]
