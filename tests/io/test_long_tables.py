"""Recommendations and labels in long tables are ranked as the same lists are."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampled_metrics import (
    F1,
    NDCG,
    AveragePrecision,
    Precision,
    Ranks,
    Recall,
    ReciprocalRank,
)
from shared import known
from tables import FORMS, IDS, OTHER_IDS, column, listed, shuffled, with_ids

METRICS = [
    metric(k)
    for metric in (F1, NDCG, AveragePrecision, Precision, Recall, ReciprocalRank)
    for k in (1, 3, 5)
]


def long(predictions, labels):
    """Two tables: predictions by user with ranks, labels by user with relevance."""
    rows = [(u, i, r) for u, row in predictions.items() for r, i in enumerate(row, start=1)]
    recommended = pd.DataFrame(rows, columns=["user", "item", "rank"], dtype=np.int64)
    rows = [(u, i, gain) for u, row in labels.items() for i, gain in row.items()]
    liked = pd.DataFrame(rows, columns=["user", "item", "relevance"])
    return recommended, liked.astype({"user": np.int64, "item": np.int64, "relevance": float})


def assert_same(got, want, names=True):
    for name in ("best", "offsets", "n_relevant", "n_predicted", "gains", "ideal_gains"):
        np.testing.assert_array_equal(getattr(got, name), getattr(want, name), err_msg=name)
    if names:
        assert got.users.tolist() == want.users.tolist()


ids = st.integers(0, 9)
users = st.dictionaries(
    ids,
    st.tuples(
        st.lists(ids, unique=True, min_size=1, max_size=6),
        st.dictionaries(ids, st.sampled_from([1.0, 0.5, 3.0]), max_size=6),
    ),
    min_size=1,
    max_size=5,
)


@given(users, st.sampled_from(list(FORMS)), st.booleans(), st.integers(0, 9))
def test_tables_are_ranked_as_dicts_are(rows, form, graded, seed):
    predictions = {user: row for user, (row, _) in rows.items()}
    labels = {
        user: {i: g if graded else 1.0 for i, g in row.items()} for user, (_, row) in rows.items()
    }
    recommended, liked = long(predictions, labels)
    is_graded = (liked["relevance"] != 1).any()
    want = Ranks.from_recommendations(
        predictions, labels if is_graded else {user: list(row) for user, row in labels.items()}
    )
    recommended["score"] = -recommended["rank"] / 7
    rng = np.random.default_rng(seed)
    # The order of users is that of their first rows; the order of all other rows says nothing.
    first = recommended.groupby("user").cumcount() == 0
    mixed = pd.concat([recommended[first], recommended[~first].sample(frac=1, random_state=rng)])
    zeros = pd.DataFrame({"user": list(rows), "item": 99, "relevance": 0.0})
    for by in ("rank", "score"):
        table = mixed[["user", "item", by]]
        assert_same(Ranks.from_recommendations(FORMS[form](table), FORMS[form](liked)), want)
        more = shuffled(pd.concat([zeros, liked]), seed)
        assert_same(Ranks.from_recommendations(FORMS[form](table), FORMS[form](more)), want)


def example():
    """Two users in turn, whose rows are in no order; a third one without labels."""
    return (
        pd.DataFrame(
            {
                "user": [8, 4, 8, 4, 4, 6],
                "item": [3, 1, 9, 2, 3, 1],
                "rank": [2, 3, 1, 1, 2, 1],
                "score": [0.5, -1.0, 0.6, 3.0, 2.5, 0.0],
            }
        ),
        pd.DataFrame({"user": [4, 8, 4, 8], "item": [1, 3, 2, 7]}),
    )


WANT = Ranks.from_recommendations({8: [9, 3], 4: [2, 3, 1], 6: [1]}, {8: [3, 7], 4: [1, 2], 6: []})


@pytest.mark.parametrize("form", FORMS)
def test_every_form(form):
    recommended, liked = example()
    for table in (recommended, recommended.drop(columns="rank"), recommended.drop(columns="score")):
        assert_same(Ranks.from_recommendations(FORMS[form](table), FORMS[form](liked)), WANT)
    assert_same(Ranks.from_recommendations(recommended, FORMS[form](shuffled(liked))), WANT)


@pytest.mark.parametrize("kind", [*IDS, *OTHER_IDS])
def test_every_kind_of_id(kind):
    got = Ranks.from_recommendations(*(with_ids(table, kind) for table in example()))
    assert_same(got, WANT, names=False)
    assert known(got.users).tolist() == listed(column(kind, WANT.users))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_files(tmp_path, suffix):
    paths = [tmp_path / f"{name}{suffix}" for name in ("recommended", "liked")]
    for table, path in zip(example(), paths, strict=True):
        table.to_csv(path, index=False) if suffix == ".csv" else table.to_parquet(path)
    assert_same(Ranks.from_recommendations(*paths), WANT)
    assert_same(Ranks.from_recommendations(str(paths[0]), example()[1]), WANT)


def test_columns_with_other_names():
    recommended, liked = example()
    names: dict[str, Any] = {"user": "user_id", "item": "item_id", "rank": "place"}
    tables = [table.rename(columns=names) for table in (recommended.drop(columns="score"), liked)]
    assert_same(Ranks.from_recommendations(tables[0], tables[1], **names), WANT)
    names = {"user": "u", "item": "i", "score": "rating", "relevance": "stars"}
    tables = [table.rename(columns=names) for table in (recommended.drop(columns="rank"), liked)]
    got = Ranks.from_recommendations(tables[0], tables[1].assign(stars=[1, 2, 3, 0]), **names)
    assert known(got.gains).tolist() == [2, 3, 1]
    assert got.n_relevant.tolist() == [1, 2, 0]


def test_the_five_users_as_tables():
    """Users without recommendations and labels are no rows; all others have the same metrics."""
    data = Path(__file__).parents[2] / "book" / "data" / "five_users.json"
    five = json.loads(data.read_text())
    predictions = dict(enumerate(five["predictions"]))
    labels = {x: dict.fromkeys(row, 1) for x, row in enumerate(five["labels"])}
    want = Ranks.from_recommendations(five["predictions"], five["labels"])
    recommended, liked = long(predictions, labels)
    got = Ranks.from_recommendations(recommended, liked, absent="missed")
    for metric in METRICS:
        values = dict(enumerate(metric(want)))
        expected = [values[x] for x in known(got.users)]
        np.testing.assert_array_equal(metric(got), expected)
        missing = values.keys() - set(known(got.users).tolist())
        assert np.isnan([values[x] for x in missing]).all()


def test_users_that_only_labels_have():
    recommended, liked = example()
    more = pd.concat([liked, pd.DataFrame({"user": [2, 1, 2], "item": [1, 9, 3]})])
    with pytest.raises(
        ValueError, match=r'labels has user 2, predictions does not.*absent="missed"'
    ):
        Ranks.from_recommendations(recommended, more)
    got = Ranks.from_recommendations(recommended, more, absent="missed")
    assert known(got.users).tolist() == [8, 4, 6, 2, 1]
    assert got.n_relevant.tolist() == [2, 2, 0, 2, 1]
    assert known(got.n_predicted).tolist() == [2, 3, 1, 0, 0]
    assert_same(got[:3], WANT)
    by_user = {user: list(rows["item"]) for user, rows in more.groupby("user")}
    lists = {8: [9, 3], 4: [2, 3, 1], 6: [1]}
    with pytest.raises(ValueError, match="predictions has user 6, labels does not"):
        Ranks.from_recommendations(lists, by_user, absent="missed")
    want = Ranks.from_recommendations(lists, {**by_user, 6: []}, absent="missed")
    assert_same(want[[0, 1, 2]], WANT)
    assert known(want.n_predicted).tolist() == [2, 3, 1, 0, 0]
    zero = pd.DataFrame({"user": [2], "item": [1], "relevance": [0]})
    assert_same(
        Ranks.from_recommendations(recommended, pd.concat([zero, liked.assign(relevance=1)])), WANT
    )


def refused():
    """Predictions and labels that do not go together, and what the error says."""
    recommended, liked = example()
    scores, ranks = recommended.drop(columns="rank"), recommended.drop(columns="score")
    yield (
        ranks.assign(rank=ranks["rank"] - 1),
        liked,
        (
            "predictions, row 2, user 8 and item 9: the rank is 0; the ranks of a user must be 1, "
            "2, ..., each once: number them anew"
        ),
    )
    yield ranks.replace({"rank": {3: 4}}), liked, "row 1, user 4 and item 1: the rank is 4; the"
    yield ranks.replace({"rank": {3: 2}}), liked, "user 4 and item 1: the rank is 2; the ranks"
    yield ranks.replace({"rank": {3: 2.5}}), liked, "user 4 and item 1: the rank is 2.5; the"
    yield ranks.replace({"rank": {3: np.nan}}), liked, "user 4 and item 1: the rank is missing; the"
    yield (
        scores.replace({"score": {2.5: np.nan}}),
        liked,
        ("predictions, row 4, user 4 and item 3: the score is missing; each item must"),
    )
    yield (
        scores.drop(columns="score"),
        liked,
        ("predictions has neither a column 'rank' nor 'score'; say which orders"),
    )
    yield ranks, liked.drop(columns="item"), "labels has no column 'item', only 'user'; say"
    yield ranks, liked.astype({"user": str}), "predictions names its users by integers, labels by"
    yield ranks.astype({"item": str}), liked, "predictions names its items by strings, labels by"
    yield (
        ranks,
        pd.concat([liked, liked[1:2]]),
        "labels, row 1, user 8 and item 3: it is there twice",
    )
    yield ranks.replace({"item": {9: 3}}), liked, "predictions, row 2, user 8 and item 3: it is"
    yield ranks, liked.assign(relevance=[1, 0, -1, 1]), "labels, row 2, user 4 and item 2: the rele"
    yield (
        ranks,
        pd.concat([liked.assign(relevance=1), liked[1:2].assign(relevance=0)]),
        "labels, row 1, user 8 and item 3: it is there twice",
    )
    yield ranks, {4: [1], 8: [3]}, "predictions is a DataFrame, labels a dict; make both a"
    yield ranks, [[1], [3]], "a matrix or, if labels is one, a long table"
    yield [[1], [3]], liked, "a matrix or, if predictions is one, a long table"
    columns = ranks.to_dict("list"), liked.to_dict("list")
    yield *columns, "predictions is a dict with the keys 'user' and 'item'; if it holds columns"
    yield {1: [2]}, columns[1], "labels is a dict with the keys 'user' and 'item'"


@pytest.mark.parametrize(("predictions", "labels", "message"), list(refused()))
def test_refused(predictions, labels, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Ranks.from_recommendations(predictions, labels)


def test_absent_is_one_of_two():
    with pytest.raises(ValueError, match="absent is 'drop'; absent must be one of 'refuse', 'miss"):
        Ranks.from_recommendations([[1]], [[1]], absent="drop")  # type: ignore[arg-type]
