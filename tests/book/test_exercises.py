"""What a student hears of an answer."""

import ast
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampled_metrics_book import Answer

BOOK = Path(__file__).parents[2] / "book"
EXERCISES = {
    name: text
    for page in sorted(BOOK.glob("*.md"))
    for name, text in re.findall(
        r"^```\{exercise-start\}\n:label: (.*)\n```\n((?s:.*?))^```\{exercise-end\}",
        page.read_text(encoding="utf-8"),
        re.M,
    )
}


def heard(capsys, right, answer):
    Answer(Answer.digests(right))(answer)
    return capsys.readouterr().out.strip()


@pytest.mark.parametrize(
    ("right", "answer"),
    [
        (3, 3.0),
        (3.0, 3),
        (0, 0.0),
        (0.0, -0.0),
        (1e-17, 0),
        (9970, np.int64(9970)),
        (0.6667, 2 / 3),
        (-0.1235, -0.1230),
        (999.6, 1000),
        (999.4, 1000.3),
        (1000.3, 999.4),
        (-0.9994, -1.0),
        (float("nan"), np.float64("nan")),
        (float("inf"), np.inf),
        (True, np.bool_(True)),
        ("AUC", " auc "),
        ([1, 2.5, "A"], (1, 2.5, "a")),
        (np.eye(2), [[1, 0], [0, 1]]),
        (pd.Series({"A": 0.25, "B": 0.5}), {"first": 0.25, "second": 0.5}),
        (pd.DataFrame({"A": [1, 2], "B": [3, 4]}), [1, 3, 2, 4]),
        (True, 1),
        (False, 0.0),
        (True, "TRUE "),
        (304, "304"),
        ("304", 304),
        ("3.0", 3.004),
        ("50%", 0.5),
        (0.5, ".5"),
        (0.5, "1/2"),
        (0.5, "50 %"),
        (54542, "54,542"),
        (54542, "54 542"),
        (-0.0123, "\N{MINUS SIGN}1.23e-2"),
        (float("inf"), "\N{INFINITY}"),
        ("c", "(C)"),
        ("C", "c)"),
    ],
)
def test_right(capsys, right, answer):
    assert heard(capsys, right, answer) == "Right."


@pytest.mark.parametrize(
    ("right", "answer"),
    [
        (9970, 9971),
        (9970, 9970.4),
        (0.6667, 0.66),
        (0.5, -0.5),
        (0, 0.001),
        (1e9, 1e10),
        (True, False),
        (True, 2),
        (1, True),
        (0.5, "1/0"),
        (54542, "54,543"),
        ("AUC", "AP"),
        (0.25, float("nan")),
    ],
)
def test_wrong(capsys, right, answer):
    assert heard(capsys, right, answer) == "Not yet."


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("0,5", "0.5"),
        (" 0,123 ", "0.123"),  # not 123
        ("\N{MINUS SIGN},5", "-.5"),
        ("5454,2", "5454.2"),
        ("12,5 %", "12.5%"),
        ("27 users", "27"),
        ("1,234 Users", "1234"),
        ("0,5 points", "0.5"),
    ],
)
def test_what_is_no_number_is_told_how_to_be_one(capsys, text, form):
    says = heard(capsys, 0.77, text)
    assert says == f'Not yet. Write {form}, not "{text.strip().lower()}".'
    said = heard(capsys, [1, 0.77, "AP"], [1, text, "AUC"])
    assert said.startswith("Not yet. Right: entry 1. Wrong: entry 2; entry 3. Write ")
    assert said.count("Write") == 1  # a word is no number
    assert heard(capsys, text, text) == "Right."  # what is right needs no advice


@given(st.floats(1e-9, 1e9), st.floats(-1, 1))
def test_numbers_are_right_up_to_the_third_digit_only(right, off):
    texts: list[str] = []
    check = Answer(Answer.digests(right))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("builtins.print", texts.append)
        check(right * (1 + 0.0009 * off))
        check(right * (1 + np.copysign(0.021, off)))
    assert texts == ["Right.", "Not yet."]


def told(capsys, check, *answer):
    check(*answer)
    return capsys.readouterr().out.strip()


def test_each_entry_is_judged(capsys):
    check = Answer(Answer.digests(1, 2, 3))
    assert told(capsys, check, 1, 3, 2) == "Not yet. Right: entry 1. Wrong: entry 2; entry 3."
    assert told(capsys, check, 1, 2) == "Not yet: the answer has 3 entries, yours 2."


@pytest.mark.parametrize("nothing", [..., None, "", [..., ...], [], {"x": None}, {"y": ...}])
def test_no_answer(capsys, nothing):
    assert told(capsys, Answer(Answer.digests(1, 2), "x, y"), nothing) == "No answer yet."


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ([[1, ..., 9]], "Not yet. Right: x. Wrong: z. Still open: y."),
        ([..., 2, 3], "Not yet. Right: y; z. Still open: x."),
        ([1, ...], "Not yet. Right: x. Still open: y; z."),
        ([{"z": 3}], "Not yet. Right: z. Still open: x; y."),
        ([pd.Series({"z": 9, "y": 2})], "Not yet. Right: y. Wrong: z. Still open: x."),
    ],
)
def test_what_is_filled_is_checked(capsys, answer, says):
    assert told(capsys, Answer(Answer.digests(1, 2, 3), "x, y, z"), *answer) == says


@pytest.mark.parametrize(
    "answer",
    [
        {"y": 2, "x": 1},
        {"Y ": 2, " X": 1},
        pd.Series({"y": 2, "x": 1}),
        pd.DataFrame({"value": {"y": 2, "x": 1}}),
        [1, 2],
        {"first": 1, "second": 2},
        pd.Series([1, 2]),
        pd.Series([1, 2], index=["x", "x"]),
    ],
)
def test_labels_tell_which_entry_is_which(capsys, answer):
    assert told(capsys, Answer(Answer.digests(1, 2), "x, y"), answer) == "Right."


TABLE = pd.DataFrame({"x": [1, 2], "y": [3, 4], "z": [5, 6]}, index=["A", "B"])


@pytest.mark.parametrize(
    "answer",
    [
        TABLE,
        TABLE.T,
        TABLE[["z", "x", "y"]].iloc[::-1],
        TABLE[["z", "x", "y"]].iloc[::-1].T,
        TABLE.to_dict("index"),
        {"B": [2, 4, 6], "A": [1, 3, 5]},
        TABLE.to_numpy(),
        TABLE.set_axis([7, 8]).set_axis(list("uvw"), axis=1),
    ],
)
def test_a_table_has_labels_on_two_sides(capsys, answer):
    check = Answer(Answer.digests(TABLE), "A, B", "x, y, z")
    assert told(capsys, check, answer) == "Right."


def test_the_entries_of_a_table_are_named(capsys):
    check = Answer(Answer.digests(TABLE), "A, B", "x, y, z")
    answer = {"B": [2, 4, 7], "A": ...}
    says = "Not yet. Right: B: x; B: y. Wrong: B: z. Still open: A: x; A: y; A: z."
    assert told(capsys, check, answer) == says


@pytest.mark.parametrize(
    ("percent", "answers"), [(True, [9.9, "9.9 %", "9.9"]), (False, [9.9, "990%"])]
)
def test_percent_where_the_exercise_says_so(capsys, percent, answers):
    check = Answer(Answer.digests(9.9), percent=percent)
    assert [told(capsys, check, answer) for answer in answers] == ["Right."] * len(answers)


def test_each_entry_needs_a_label_or_none():
    with pytest.raises(ValueError, match="labels names 2 entries, digests has 3"):
        Answer(Answer.digests(1, 2, 3), "x, y")


def test_the_digests_do_not_show_the_answer():
    first, second = Answer.digests(5, 5).split()
    assert first != second  # equal entries do not look equal


@pytest.mark.parametrize("exercise", EXERCISES)
def test_each_exercise_names_its_entries_and_gives_two_hints(exercise):
    text = EXERCISES[exercise]
    (call,) = re.findall(r"^check = Answer\((.*?)\)$", text, re.M | re.S)
    arguments = [ast.literal_eval(text) for text in re.findall(r'"[^"]*"', call)]
    digests, *labels = arguments
    check = Answer(digests, *labels)
    assert labels or len(check.labels) == 1, "give each entry a label"
    assert len({*check.labels}) == len(check.labels)
    hints = re.findall(r"^:::\{dropdown\} (.*)\n((?s:.*?))^:::$", text, re.M)
    assert [title for title, _ in hints] == ["Hint", "Second hint"]
    assert all(hint.strip() for _, hint in hints)
