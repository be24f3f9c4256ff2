"""What a student hears of an answer."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampled_metrics_book.exercises import ADVICE, RIGHT, Answer

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


def told(capsys, check, *answer):
    check(*answer)
    return capsys.readouterr().out.strip()


@pytest.mark.parametrize(
    ("right", "answer"),
    [
        (3, 3.0),
        (0, -1e-17),
        (9970, np.int64(9970)),
        (0.6667, 2 / 3),
        (0.6667, 0.666),
        (-0.1235, -0.1230),
        (999.6, 1000),
        (1000.3, 999.4),
        (-0.9994, -1.0),
        (3.27e-9, 3.28e-9),
        ({"name": "AUC"}, " auc "),
        ({"a": 1, "b": 2.5, "c": "A"}, (1, 2.5, "a")),
        ({"x": 0.25, "y": 0.5}, {"first": 0.25, "second": 0.5}),
        ({"x": {"a": 1, "b": 0}, "y": {"a": 0, "b": 1}}, np.eye(2)),
        (True, np.bool_(True)),
        (True, 1),
        (False, 0.0),
        (True, "TRUE "),
        (304, "304"),
        (0.5, ".5"),
        (0.5, "1/2"),
        (0.5, "50 %"),
        (54542, "54,542"),
        (54542, "54 542"),
        (-0.0123, "\N{MINUS SIGN}1.23e-2"),
        ({"runs": "inf"}, np.inf),
        ({"runs": "inf"}, "\N{INFINITY}"),
        ({"letter": "c"}, "(C)"),
        ({"letter": "C"}, "c)"),
    ],
)
def test_right(capsys, right, answer):
    assert told(capsys, Answer(right), answer) == "Right."


@pytest.mark.parametrize(
    ("right", "answer"),
    [
        (9970, 9971),
        (9970, 9970.4),
        (0.6667, 0.66),
        (0.1, 10 / 101),
        (0.5025, 0.5),
        (0.5, -0.5),
        (0, 0.001),
        (1e-11, 0),
        (1e9, 10**400),
        (True, False),
        (True, 2),
        (54542, "54,543"),
        ({"name": "AUC"}, "AP"),
        ({"name": "AUC"}, 1),
        (0.25, float("nan")),
    ],
)
def test_wrong(capsys, right, answer):
    assert told(capsys, Answer(right), answer) == "Not yet."


@pytest.mark.parametrize("text", ["0,5", "0,123", "27 users", "1/0", "1.2.3", "half"])
def test_where_a_number_belongs_a_text_is_told_how_to_be_one(capsys, text):
    assert told(capsys, Answer(0.123), text) == f"Not yet. {ADVICE}"
    check = Answer({"x": 1, "y": 123, "name": "AP"})
    assert told(capsys, check, 1, text, "AUC") == f"Not yet. Right: x. Wrong: y; name. {ADVICE}"
    assert told(capsys, check, 1, 4, "AUC") == "Not yet. Right: x. Wrong: y; name."


@given(st.floats(1e-9, 1e9), st.floats(-1, 1))
def test_numbers_are_right_up_to_the_third_digit_only(right, off):
    texts: list[str] = []
    check = Answer(right)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("builtins.print", texts.append)
        check(right * (1 + 0.00099 * off))
        check(f"{right:.2e}")
        check(right * (1 + np.copysign(0.0101, off)))
    assert texts == ["Right.", "Right.", "Not yet."]


XY, XYZ = {"x": 1, "y": 2}, {"x": 1, "y": 2, "z": 3}


def test_an_answer_has_its_number_of_entries(capsys):
    says = "Not yet: the answer has 3 entries, yours 2."
    assert told(capsys, Answer(XYZ), 1, 2) == says


@pytest.mark.parametrize("nothing", [..., None, "", [..., ...], [], {"x": None}, {"y": ...}])
def test_no_answer(capsys, nothing):
    assert told(capsys, Answer(XY), nothing) == "No answer yet."


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
    assert told(capsys, Answer(XYZ), *answer) == says


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
    assert told(capsys, Answer(XY), answer) == "Right."


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
    check = Answer(TABLE.to_dict("index"))
    assert told(capsys, check, answer) == "Right."


def test_the_entries_of_a_table_are_named(capsys):
    check = Answer(TABLE.to_dict("index"))
    answer = {"B": [2, 4, 7], "A": ...}
    says = "Not yet. Right: B: x; B: y. Wrong: B: z. Still open: A: x; A: y; A: z."
    assert told(capsys, check, answer) == says


@pytest.mark.parametrize(
    ("percent", "answers"), [(True, [9.9, "9.9 %", "9.9"]), (False, [9.9, "990%"])]
)
def test_percent_where_the_exercise_says_so(capsys, percent, answers):
    check = Answer(9.9, percent=percent)
    assert [told(capsys, check, answer) for answer in answers] == ["Right."] * len(answers)


def test_an_unknown_exercise_is_named():
    with pytest.raises(ValueError, match=r"answers.toml has no exercise 'ex-none'"):
        Answer("ex-none")


def test_the_answers_are_those_of_the_exercises():
    assert list(RIGHT) == list(EXERCISES)


@pytest.mark.parametrize("exercise", EXERCISES)
def test_each_exercise_asks_for_its_answer_and_gives_two_hints(exercise):
    text = EXERCISES[exercise]
    calls = re.findall(r'^check = Answer\("(.*?)"(?:, percent=True)?\)\ncheck\(', text, re.M)
    assert calls == [exercise]
    hints = re.findall(r"^:::\{dropdown\} (.*)\n((?s:.*?))^:::$", text, re.M)
    assert [title for title, _ in hints] == ["Hint", "Second hint"]
    assert all(hint.strip() for _, hint in hints)
