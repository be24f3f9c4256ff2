"""Candidates that are a sample: every door takes how many items there are, and keeps it."""

import numpy as np
import pandas as pd
import pytest

from sampled_metrics import Draw, Ranks, Recall, evaluate
from shared import known

SCORES = {"ann": {"tea": 3, "nut": 1}, "bob": {"nut": 2, "egg": 1, "tea": 0}}
RELEVANT = {"ann": ["nut"], "bob": ["egg"]}
LISTS = {user: list(row) for user, row in SCORES.items()}
RUN = "ann Q0 tea 1 3 x\nann Q0 nut 2 1 x\nbob Q0 nut 1 2 x\nbob Q0 egg 2 1 x\nbob Q0 tea 3 0 x\n"
BY_USER = {"bob": 90, "cat": 5, "ann": 80}


def doors(folder, catalog):
    """The ranks of the same two users by every door."""
    (folder / "run").write_text(RUN, "utf-8")
    (folder / "qrels").write_text("ann 0 nut 1\nbob 0 egg 1\n", "utf-8")
    table = pd.DataFrame({"user": ["ann", "bob"], "rank": 2})
    return [
        Ranks.from_scores(SCORES, RELEVANT, catalog=catalog),
        Ranks.from_recommendations(LISTS, RELEVANT, catalog=catalog),
        Ranks.from_run(folder / "run", folder / "qrels", catalog=catalog),
        Ranks.read(table.assign(n_items=[2, 3]), catalog=catalog)["ranks"],
        Ranks.read(table, n_items={"ann": 2, "bob": 3}, catalog=catalog)["ranks"],
        Ranks([2, 2], n_items=[2, 3], users=["ann", "bob"], catalog=[80, 90]),
    ]


@pytest.mark.parametrize("catalog", [BY_USER, pd.Series(BY_USER)])
def test_every_door_takes_a_catalog(tmp_path, catalog):
    for i, ranks in enumerate(doors(tmp_path, catalog)):
        assert ranks.is_sample
        assert known(ranks.n_items).tolist() == [2, 3]
        assert known(ranks.catalog).tolist() == [80, 90]
        for file in ("ranks.csv", "ranks.parquet"):
            ranks.write(tmp_path / file, "x")
            again = Ranks.read(tmp_path / file)["x"]
            assert known(again.catalog).tolist() == [80, 90], i
            assert known(again.users).tolist() == ["ann", "bob"]
        found = evaluate({"x": ranks}, [Recall(k=1)]).table
        assert found["estimator"].tolist() == ["uncorrected", "corrected"]


def test_ten_minutes_with_the_usual_table():
    """One relevant item of 100 candidates each, on every rank once: Recall@10 of the samples is .1.

    The truth, if ranks among 3,706 are as evenly spread, is 10 of 3,706.
    """
    score = np.tile(np.arange(100), 100)
    table = pd.DataFrame({"user": np.repeat(np.arange(100), 100), "item": score, "score": score})
    table["relevance"] = (table["item"] == table["user"]).astype(int)
    ranks = Ranks.from_scores(table)
    says = "exactly 100 candidates, as in a sample; .* not exact: give .* all items as catalog="
    with pytest.warns(UserWarning, match=says):
        assert "ranked among 100 items" in str(evaluate({"NCF": ranks}, [Recall(k=10)]))
    for draw in (Draw(99), Draw(99, replacement=False), Draw(100)):
        with pytest.raises(ValueError, match="are a sample, give the number of all items as catal"):
            evaluate({"NCF": ranks}, [Recall(k=10)], draw)
    sample = Ranks.from_scores(table, catalog=3706)
    found = evaluate({"NCF": sample}, [Recall(k=10)])
    assert "99 sampled items each (uniform, without replacement) of 3,706 items" in str(found)
    assert found.table["estimator"].tolist() == ["uncorrected", "corrected", "bounds"]
    assert found.table["value"][0] == pytest.approx(0.1)
    assert found.table["value"][1] == pytest.approx(10 / 3706, rel=0.05)
    assert found.table["low"][2] < 10 / 3706 < found.table["high"][2]


def test_a_user_without_relevant_items_changes_no_row():
    """Of 20 candidates each, 19 are sampled for those who count; for w it would be 20."""
    scores = {user: dict(zip("abcdefghijklmnopqrst", range(20), strict=True)) for user in "uvwx"}
    relevant = {"u": ["a"], "v": ["t"], "x": ["k"]}
    alone = {user: scores[user] for user in relevant}
    found, want = (
        evaluate({"A": Ranks.from_scores(each, relevant, catalog=99)}, [Recall(k=3)])
        for each in (scores, alone)
    )
    pd.testing.assert_frame_equal(found.table, want.table)
    assert found.table["estimator"].tolist()[-1] == "bounds"
    assert str(found) == str(want)


def test_one_number_is_the_catalog_of_all_users(tmp_path):
    for ranks in doors(tmp_path, 70)[:-1]:
        assert known(ranks.catalog).tolist() == [70, 70]


@pytest.mark.parametrize(
    ("catalog", "says"),
    [
        (2, "catalog is 2 for user 'bob', who has 3 candidates; give the number of all items"),
        ({"ann": 80}, "catalog lacks user 'bob'; give it for each user"),
        ([80, 90], r"catalog is \[80, 90\]; catalog must be one whole number"),
        (2.5, "catalog is 2.5; catalog must be whole"),
        ({"ann": 80, "bob": 0}, "catalog.* is 0; catalog must be at least 1"),
        (pd.Series([1, 2], ["ann", "ann"]), "catalog has user 'ann' twice"),
    ],
)
def test_what_is_no_catalog(catalog, says):
    with pytest.raises(ValueError, match=says):
        Ranks.from_scores(SCORES, RELEVANT, catalog=catalog)
    with pytest.raises(ValueError, match=says):
        Ranks.from_recommendations(LISTS, RELEVANT, catalog=catalog)


def test_lists_of_a_sample_hold_all_candidates():
    """Cut lists would be taken for whole rankings: the bounds would be of another sample."""
    with pytest.raises(ValueError, match="holds item 'oil': predictions lacks it; with catalog="):
        Ranks.from_recommendations(LISTS, {"ann": ["nut"], "bob": ["oil", "egg"]}, catalog=99)


def test_lists_without_users_take_one_number_or_an_index():
    lists = [[3, 4], [5, 6, 7]]
    ranks = Ranks.from_recommendations(lists, [[4], [5]], catalog=pd.Series([10, 20]))
    assert known(ranks.catalog).tolist() == [10, 20]
    assert known(ranks.n_items).tolist() == [2, 3]


def test_a_table_of_ranks_needs_the_number_of_candidates_and_one_catalog():
    table = pd.DataFrame({"user": [7, 8], "rank": [1, 4]})
    with pytest.raises(ValueError, match="the catalog is 50; it must be at least n_items, and go"):
        Ranks.read(table, catalog=50)
    with pytest.raises(ValueError, match="catalog is 60; the argument catalog says otherwise"):
        Ranks.read(table.assign(n_items=9, catalog=60), catalog=50)
    with pytest.raises(ValueError, match="rank is 4; it must be at most n_items"):
        Ranks.read(table, n_items=3, catalog=50)
    ranks = Ranks.read(table.assign(among=9), n_items="among", catalog=50)["ranks"]
    assert known(ranks.n_items).tolist() == [9, 9]
