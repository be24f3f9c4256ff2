"""Data that would give a number without any sign that it is wrong: each is refused, or counted."""

import re
import unicodedata

import numpy as np
import pandas as pd
import pytest

from sampled_metrics import NDCG, Ranks, Recall, ReciprocalRank
from shared import known

RUN = "t1 Q0 {0} 1 2 x\nt1 Q0 d2 2 1 x\n"


def table(*rows, columns=("user", "item", "score")):
    return pd.DataFrame(rows, columns=list(columns))


# --- ids that match nowhere

NAMES = {
    "blanks around": ("d1 ", "d1"),
    "accents are composed": (unicodedata.normalize("NFD", "\xe9t\xe9"), "\xe9t\xe9"),
    "capitals": ("Tea", "tea"),
    "zeros in front": ("0017", "17"),
    "decimal point": ("17.0", "17"),
}


@pytest.mark.parametrize("difference", NAMES)
@pytest.mark.parametrize("what", ["user", "item"])
def test_ids_that_differ_throughout(difference, what):
    one, two = NAMES[difference]
    user, item = (one, "i") if what == "user" else ("u", one)
    labels = {"u" if what == "item" else two: ["i" if what == "user" else two]}
    lists = {user: [item, "other"]}
    frame = table((user, item, 2), (user, "other", 1))
    wanted = table(*[(u, i) for u, row in labels.items() for i in row], columns=("user", "item"))
    says = rf"has {what} .*nor any other {what} of it.* differs in .*{difference}"
    for door in (
        lambda: Ranks.from_scores(frame, wanted),
        lambda: Ranks.from_scores({user: {item: 2, "other": 1}}, labels, absent="missed"),
        lambda: Ranks.from_recommendations(frame, wanted, absent="missed"),
        lambda: Ranks.from_recommendations(lists, labels, absent="left out"),
        lambda: Ranks.from_run(
            {user: {item: 2.0}}, {u: dict.fromkeys(i, 1) for u, i in labels.items()}
        ),
    ):
        with pytest.raises(ValueError, match=says):
            door()


def test_integers_and_their_texts_are_two_kinds():
    with pytest.raises(ValueError, match="predictions names its items by integers, labels by str"):
        Ranks.from_recommendations({"u": [1]}, {"u": ["1"]})
    with pytest.raises(ValueError, match="scores names its users by integers, relevant by strings"):
        Ranks.from_scores({1: {"a": 1}}, {"1": ["a"]})


def test_many_items_that_are_nowhere():
    """Ten may not be missed by chance; of few it cannot be said."""
    lists = {f"u{i}": [f"a{i}", f"a{i + 1}"] for i in range(10)}
    labels = {f"u{i}": [f"b{i}"] for i in range(10)}
    with pytest.raises(ValueError, match="labels has item 'b0', predictions does not, nor any"):
        Ranks.from_recommendations(lists, labels)
    some = {user: labels[user] for user in list(lists)[:3]}
    ranks = Ranks.from_recommendations({user: lists[user] for user in some}, some)
    assert Recall(k=2).mean(ranks) == 0
    found = Ranks.from_recommendations(lists, labels | {"u9": ["a9"]})
    assert Recall(k=1).mean(found) == 0.1


def test_only_blanks_of_ascii_divide_a_line(tmp_path):
    """A name may hold a no-break space, or the line separator of Unicode."""
    for blank in ("\xa0", "\u2028", "\u3000", "\x1c", "\x85"):
        name = f"half{blank}half"
        (tmp_path / "run").write_text(RUN.format(name), "utf-8", newline="\n")
        (tmp_path / "qrels").write_text(f"t1 0 {name} 1\n", "utf-8", newline="\n")
        ranks = Ranks.from_run(tmp_path / "run", tmp_path / "qrels")
        assert ranks.best.tolist() == [1]


# --- users without relevant items

SCORES = table(("ann", "a", 3), ("ann", "b", 2), ("bob", "a", 1), ("bob", "b", 2), ("cat", "a", 1))
LIKED = table(
    ("ann", "b", 1), ("bob", "b", 1), ("cat", "a", 0), columns=("user", "item", "relevance")
)


def test_empty_means_the_same_after_every_door(tmp_path):
    """RR is 1/2 for ann and 1 for bob, and cat likes nothing: 1.5 / 2, and 1.5 / 3."""
    in_one = SCORES.merge(LIKED, how="left").fillna({"relevance": 0})
    lists = {"ann": ["a", "b"], "bob": ["b", "a"], "cat": ["a"]}
    by_user = {"ann": {"b": 1}, "bob": {"b": 1}, "cat": {"a": 0}}
    run = {u: dict(zip(g["item"], g["score"], strict=True)) for u, g in SCORES.groupby("user")}
    doors = [
        Ranks.from_scores(SCORES, LIKED),
        Ranks.from_scores(in_one),
        Ranks.from_scores(SCORES, LIKED[:2]),
        Ranks.from_recommendations(SCORES, LIKED),
        Ranks.from_recommendations(lists, by_user),
        Ranks.from_run(run, by_user),
        Ranks.from_lists([[2], [1], []], users=["ann", "bob", "cat"]),
    ]
    for ranks in doors:
        ranks.write(tmp_path / "ranks.csv")
        for one in (ranks, Ranks.read(tmp_path / "ranks.csv")["ranks"]):
            assert known(one.users).tolist() == ["ann", "bob", "cat"]
            assert ReciprocalRank().mean(one) == 0.75
            assert ReciprocalRank().mean(one, empty=0) == 0.5


# --- users who have relevant items, but no candidates


def test_absent_means_the_same_for_scores_and_lists():
    """RR is 1/2 for ann; of bob, who likes two items, nothing is known."""
    scores, relevant = SCORES[:2], {"ann": ["b"], "bob": ["a", "b"]}
    lists = {"ann": ["a", "b"]}
    wanted = table(*[(u, i) for u, row in relevant.items() for i in row], columns=("user", "item"))
    for absent, mean, users in (("missed", 0.25, ["ann", "bob"]), ("left out", 0.5, ["ann"])):
        for ranks in (
            Ranks.from_scores(scores, relevant, absent=absent),  # type: ignore[arg-type]
            Ranks.from_scores(scores, wanted, absent=absent),  # type: ignore[arg-type]
            Ranks.from_recommendations(scores, wanted, absent=absent),  # type: ignore[arg-type]
            Ranks.from_recommendations(lists, relevant, absent=absent),  # type: ignore[arg-type]
        ):
            assert ReciprocalRank().mean(ranks) == mean
            assert known(ranks.users).tolist() == users
    for door in (
        lambda: Ranks.from_scores(scores, relevant),
        lambda: Ranks.from_recommendations(scores, wanted),
        lambda: Ranks.from_recommendations(lists, relevant),
    ):
        with pytest.raises(ValueError, match=r"has user 'bob'.* does not") as refused:
            door()
        assert 'absent="missed"' in str(refused.value)
        assert not re.search("leave|left|take", str(refused.value))
    missed = Ranks.from_scores(scores, {"ann": {"b": 2}, "bob": {"a": 3, "b": 1}}, absent="missed")
    assert NDCG(k=2)(missed).round(4).tolist() == [0.6309, 0.0]
    assert missed.n_relevant.tolist() == [1, 2]


# --- ratings


def test_ratings_are_not_relevance(tmp_path):
    """One star for the first item, five for the second: from 4 on, the rank of the second is 2."""
    stars = SCORES[:2].assign(relevance=[1, 5])
    labels = {"ann": {"a": 1, "b": 5}}
    (tmp_path / "qrels").write_text("ann 0 a 1\nann 0 b 5\n")
    run = {"ann": {"a": 3.0, "b": 2.0}}

    def doors(**more):
        yield lambda: Ranks.from_scores(stars, **more)
        yield lambda: Ranks.from_scores(SCORES[:2], labels, **more)
        yield lambda: Ranks.from_recommendations(SCORES[:2], stars, **more)
        yield lambda: Ranks.from_recommendations({"ann": ["a", "b"]}, labels, **more)
        yield lambda: Ranks.from_run(run, labels, **more)
        yield lambda: Ranks.from_run(run, tmp_path / "qrels", **more)

    for door in doors():
        with pytest.raises(
            ValueError, match="relevances from 1 to 5 and none of 0, as ratings are"
        ):
            door()
    for door in doors(min_relevance=4):
        ranks = door()
        assert ranks.best.tolist() == [2]
        assert ranks.n_relevant.tolist() == [1]
    for door in doors(min_relevance=1):
        assert door().best.tolist() == [1, 2]
    ranked = pd.DataFrame({"user": ["ann", "ann"], "rank": [1, 2], "relevance": [1, 5]})
    assert Ranks.read(ranked, min_relevance=4)["ranks"].best.tolist() == [2]


def test_half_stars_are_ratings_and_other_grades_are_not():
    for grades, is_rating in (
        ([0.5, 3.5, 5], True),
        ([1, 5], True),
        ([0, 1, 5], False),
        ([1, 2, 3], False),
        ([1, 2.2, 5], False),
        ([2, 5], False),
        ([1, 5, 6], False),
    ):
        given = [dict(enumerate(grades))]
        if is_rating:
            with pytest.raises(ValueError, match="as ratings are"):
                Ranks.from_recommendations([[1, 0]], given)
        else:
            assert Ranks.from_recommendations([[1, 0]], given).gains is not None


def test_a_least_relevance_needs_a_relevance():
    for door in (
        lambda: Ranks.from_scores(SCORES, {"ann": ["a"]}, min_relevance=3),
        lambda: Ranks.from_recommendations([[1]], [[1]], min_relevance=3),
        lambda: Ranks.read(pd.DataFrame({"user": [1], "rank": [1]}), min_relevance=3),
    ):
        with pytest.raises(ValueError, match=r"min_relevance is 3, but .* has no relevance"):
            door()
    with pytest.raises(ValueError, match="min_relevance is 0; min_relevance must be positive"):
        Ranks.from_scores(SCORES, LIKED, min_relevance=0)


# --- several rankings of a user


@pytest.mark.parametrize("column", ["seed", "fold", "session", "session_id"])
def test_several_rankings_of_a_user_are_not_one(column):
    one = SCORES.assign(relevance=[0, 1, 0, 1, 1], **{column: 1})
    other = one.assign(item=one["item"] + "2", **{column: 2})
    both = pd.concat([one, other])
    says = f"scores, row 5: user 'ann' has another '{column}' than in row 0; a user has one ranking"
    with pytest.raises(ValueError, match=says):
        Ranks.from_scores(both)
    with pytest.raises(ValueError, match=says.replace("scores", "predictions")):
        Ranks.from_recommendations(both, LIKED)
    apart = both.assign(user=both["user"] + "/" + both[column].astype(str))
    assert len(Ranks.from_scores(apart)) == 6


def test_two_seeds_one_after_the_other():
    """Without a column that tells them apart, the users come twice in the same order."""
    one = pd.DataFrame({"user": ["ann", "bob", "cat"], "rank": [3, 1, 7]})
    two = one.assign(rank=[4, 2, 6])
    with pytest.raises(
        ValueError, match="table has all users once in each of 2 parts of its rows, as of two"
    ):
        Ranks.read(pd.concat([one, two]))
    several = Ranks.read(pd.concat([one, two]).sort_values("user"))["ranks"]
    assert several.n_relevant.tolist() == [2, 2, 2]
    named = pd.concat([one.assign(seed=1), two.assign(seed=2)])
    assert set(Ranks.read(named, recommender="seed")) == {"1", "2"}
    items = pd.concat([one, two]).assign(item=["x", "y", "z"] * 2)
    with pytest.raises(ValueError, match="row 3: user 'ann' has this item twice, as of two seeds"):
        Ranks.read(items)
    assert len(Ranks.read(items.assign(item=list("xyzuvw")))["ranks"].best) == 6


@pytest.mark.parametrize("times", [2, 3])
def test_seeds_one_after_the_other_in_any_order(times):
    """Sorted by user, the same rows are several relevant items of each; shuffled, too."""
    rng = np.random.default_rng(0)
    order = np.concatenate([rng.permutation(40) for _ in range(times)])
    table = pd.DataFrame({"user": order, "rank": rng.permutation(40 * times) + 1})
    with pytest.raises(ValueError, match=f"all users once in each of {times} parts.*sort the rows"):
        Ranks.read(table)
    for several in (table.sort_values("user"), table.sample(frac=1, random_state=1)):
        assert set(Ranks.read(several)["ranks"].n_relevant) == {times}
    few = pd.DataFrame({"user": ["ann", "bob", "bob", "ann"], "rank": [1, 2, 3, 4]})
    assert Ranks.read(few)["ranks"].n_relevant.tolist() == [2, 2]


# --- files that were cut off


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("user,rank\nann,3\nbob\n", "line 3 has 1 fields, the first line 2"),
        ("user,rank\nann,3\nbob", "line 3 has 1 fields"),
        ('user,rank,note\n"a\nb",3,x\nbob,2\n', "line 4 has 2 fields, the first line 3"),
    ],
)
def test_a_row_that_was_cut_off_is_no_miss(tmp_path, text, where):
    (tmp_path / "ranks.csv").write_text(text, "utf-8")
    with pytest.raises(ValueError, match=f"{where}.*it may have been cut off"):
        Ranks.read(tmp_path / "ranks.csv")


def test_an_empty_field_is_a_miss(tmp_path):
    (tmp_path / "ranks.csv").write_text("\ufeffuser,rank\nann,3\n\nbob,\n", "utf-8")
    ranks = Ranks.read(tmp_path / "ranks.csv")["ranks"]
    assert ranks.n_ranked.tolist() == [1, 0]
