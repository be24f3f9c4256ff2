"""Ties, dicts of dicts, files of BEIR and weights: what other libraries hand over."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
from sampled_metrics.io import read_qrels
from shared import known

METRICS = [Recall(2), Precision(2), F1(2), NDCG(2), NDCG(), AveragePrecision(2), ReciprocalRank(3)]

# --- ties


def orders(scores):
    """All ways to order items by descending score, where equal scores may come in any order."""
    for order in permutations(scores):
        row = [scores[item] for item in order]
        if row == sorted(row, reverse=True):
            yield list(order)


@st.composite
def lists(draw):
    """Scores of up to five items with ties, and gains of some of them, and of one not listed."""
    items = list("abcde")[: draw(st.integers(1, 5))]
    scores = {item: draw(st.sampled_from([1.0, 2.0, 3.0])) for item in items}
    grades = st.sampled_from([0, 1, 2]) if draw(st.booleans()) else st.just(1)
    gains = {item: draw(grades) for item in draw(st.lists(st.sampled_from(items), unique=True))}
    return scores, {"a": 1} | gains | ({"z": 2} if draw(st.booleans()) else {})


@given(lists())
@settings(max_examples=60, deadline=None)
def test_lists_with_ties_are_means_over_their_orders(drawn):
    """Several relevant items, gains, and one that was not retrieved: brute force."""
    scores, gains = drawn
    table = pd.DataFrame([("u", *row) for row in scores.items()], columns=["user", "item", "score"])
    labels = pd.DataFrame(
        [("u", *row) for row in gains.items()], columns=["user", "item", "relevance"]
    )
    got = Ranks.from_recommendations(table, labels)
    every = [Ranks.from_recommendations({"u": order}, {"u": gains}) for order in orders(scores)]
    for metric in METRICS:
        want = np.mean([metric(one)[0] for one in every])
        assert metric(got)[0] == pytest.approx(want, nan_ok=True), metric
    if "z" not in gains:
        whole = Ranks.from_scores({"u": scores}, {"u": gains})
        for metric in METRICS:
            assert metric(whole)[0] == pytest.approx(metric(got)[0], nan_ok=True)


def test_two_pairs_of_level_items():
    """One of each pair is relevant, another item is between: the mean of four orders' NDCG."""
    scores = {"u": {"a": 2, "b": 2, "x": 1, "c": 0, "d": 0}}
    gain = 1 / np.log2(np.arange(2, 7))
    want = np.mean([gain[i] + gain[j] for i in (0, 1) for j in (3, 4)]) / gain[:2].sum()
    ranks = Ranks.from_scores(scores, {"u": ["b", "c"]})
    assert NDCG().mean(ranks) == pytest.approx(want)
    assert round(want, 4) == 0.7506


def test_a_cut_run_with_ties_and_a_document_that_was_not_retrieved():
    """Each of two documents is first in half of the orders; x is missed. RR 3/4, Recall@1 1/4."""
    run = pd.DataFrame({"user": "t", "item": ["a", "b"], "score": [1.0, 1.0]})
    qrels = pd.DataFrame({"user": "t", "item": ["b", "x"]})
    with pytest.raises(ValueError, match=r"give the lists to Ranks\.from_recommendations"):
        Ranks.from_scores(run, qrels)
    ranks = Ranks.from_recommendations(run, qrels)
    assert ReciprocalRank().mean(ranks) == 0.75
    assert Recall(1).mean(ranks) == 0.25


def test_ties_of_users_end_where_the_next_user_begins():
    table = pd.DataFrame({"user": [1, 1, 2, 2], "item": [5, 6, 5, 6], "score": 0.5})
    ranks = Ranks.from_recommendations(table, pd.DataFrame({"user": [2, 1], "item": [5, 6]}))
    assert (ranks.best.tolist(), ranks.n_tied.tolist()) == ([1, 1], [1, 1])


# --- runs and judgments

RUN = {"q1": {"d1": 0.5, "d9": 0.5, "d3": 2.0}, "q2": {"d1": 1.0}, "q3": {"d7": 1.0}}
QRELS = {"q1": {"d1": 1, "d3": 0, "d4": 2, "d5": -1}, "q2": {"d1": 3}}


def as_files(folder):
    rows = [f"{q} Q0 {d} 0 {s} x\n" for q, row in RUN.items() for d, s in row.items()]
    (folder / "run").write_text("".join(rows))
    rows = [f"{q} 0 {d} {r}\n" for q, row in QRELS.items() for d, r in row.items()]
    (folder / "qrels").write_text("".join(rows))
    tabs = [f"{q}\t{d}\t{r}\r\n" for q, row in QRELS.items() for d, r in row.items()]
    (folder / "test.tsv").write_text("query-id\tcorpus-id\tscore\r\n" + "".join(tabs), newline="")


def test_dicts_of_dicts_and_files_mean_the_same(tmp_path):
    """By hand: of q1, d9 is before d1 as its name is larger, so d1 has rank 3 of d3, d9, d1."""
    as_files(tmp_path)
    for run in (RUN, tmp_path / "run"):
        for qrels in (QRELS, tmp_path / "qrels", tmp_path / "test.tsv"):
            ranks = Ranks.from_run(run, qrels)
            assert known(ranks.users).tolist() == ["q1", "q2", "q3"]
            assert ranks.best.tolist() == [3, 1]
            assert ranks.n_relevant.tolist() == [2, 1, 0]
            assert known(ranks.gains).tolist() == [1, 3]
            assert known(ranks.ideal_gains).tolist() == [2, 1, 3]


def test_topics_of_dicts_that_are_not_in_the_run():
    more = QRELS | {"q4": {"d1": 1}}
    with pytest.raises(ValueError, match="labels has user 'q4', predictions does not"):
        Ranks.from_run(RUN, more)
    assert Recall(1).mean(Ranks.from_run(RUN, more, absent="missed")) == pytest.approx(1 / 3)
    assert Recall(1).mean(Ranks.from_run(RUN, more, absent="left out")) == 0.5
    assert len(Ranks.from_run(RUN | {"q4": {}}, more, absent="missed")) == 4


@pytest.mark.parametrize(
    ("run", "says"),
    [
        ({"q1": {"d1": np.nan}}, "run, user 'q1' and item 'd1': the score is missing; it must be"),
        ({"q1": {"d1": "high"}}, "user 'q1' and item 'd1': the score is 'high'; it must be a num"),
        ({"q1": ["d1"]}, r"run\['q1'\] is \['d1'\]; .*must be a dict from item to number"),
        ({"q1": {7: 1.0}}, "predictions names its items by integers, labels by strings"),
    ],
)
def test_what_is_no_run(run, says):
    with pytest.raises(ValueError, match=says):
        Ranks.from_run(run, QRELS)


def test_judgments_may_be_fractions(tmp_path):
    (tmp_path / "qrels").write_text("q1 0 d1 0.5\nq1 0 d3 2\n")
    assert read_qrels(tmp_path / "qrels")["relevance"].tolist() == [0.5, 2]
    for qrels in (tmp_path / "qrels", {"q1": {"d1": 0.5, "d3": 2}}):
        ranks = Ranks.from_run({"q1": RUN["q1"]}, qrels)
        assert known(ranks.gains).tolist() == [2, 0.5]
        want = (2 + 0.5 / 2) / (2 + 0.5 / np.log2(3))
        assert NDCG(10, gains="linear").mean(ranks) == pytest.approx(want)
    (tmp_path / "qrels").write_text("q1 0 d1 2\n")
    assert read_qrels(tmp_path / "qrels")["relevance"].dtype == np.int64


def test_files_of_beir_split_at_tabs_only(tmp_path):
    """Their names may hold blanks."""
    (tmp_path / "t.tsv").write_text("query-id\tcorpus-id\tscore\nq 1\ta doc\t1\n\n")
    assert read_qrels(tmp_path / "t.tsv").to_numpy().tolist() == [["q 1", "a doc", 1]]
    (tmp_path / "t.tsv").write_text("query-id\tcorpus-id\tscore\nq 1\ta doc\n")
    with pytest.raises(ValueError, match="line 2: 3 columns expected, 2 found"):
        read_qrels(tmp_path / "t.tsv")


# --- weights


def test_weights_by_user(tmp_path):
    """GAUC: AUC is 1 for ann and 0 for bob, who have three and one of four impressions."""
    scores = {"ann": {"a": 3, "b": 2}, "bob": {"a": 3, "b": 2}}
    relevant, weights = {"ann": ["a"], "bob": ["b"]}, {"bob": 1, "ann": 3}
    for form in (weights, pd.Series(weights)):
        ranks = Ranks.from_scores(scores, relevant, weights=form)
        assert AUC().mean(ranks) == 0.75
        ranks.write(tmp_path / "ranks.csv")
        assert AUC().mean(Ranks.read(tmp_path / "ranks.csv")["ranks"]) == 0.75
        lists = {user: list(row) for user, row in scores.items()}
        assert Recall(1).mean(Ranks.from_recommendations(lists, relevant, weights=form)) == 0.75
    qrels = {user: dict.fromkeys(row, 1) for user, row in relevant.items()}
    assert Recall(1).mean(Ranks.from_run(scores, qrels, weights=weights)) == 0.75
    for wrong, says in (
        (2, "weights is 2; weights must be a dict or Series by user"),
        ({"ann": 1}, "weights lacks user 'bob'; give it for each user"),
        ({"ann": 1, "bob": 0}, r"weights\[1\] is 0.0; weights must be above 0"),
        ({"ann": 1, "bob": -1}, r"weights\[1\] is -1; weights must be finite and 0 or above"),
    ):
        with pytest.raises(ValueError, match=says):
            Ranks.from_scores(scores, relevant, weights=wrong)
