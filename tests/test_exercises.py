"""What a student hears of an answer."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampled_metrics.book import Answer


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
        (True, 1),
        ("AUC", "AP"),
        (0.25, float("nan")),
    ],
)
def test_wrong(capsys, right, answer):
    assert heard(capsys, right, answer) == "Not yet."


@given(st.floats(1e-9, 1e9), st.floats(-1, 1))
def test_numbers_are_right_up_to_the_third_digit_only(right, off):
    texts: list[str] = []
    check = Answer(Answer.digests(right))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("builtins.print", texts.append)
        check(right * (1 + 0.0009 * off))
        check(right * (1 + np.copysign(0.021, off)))
    assert texts == ["Right.", "Not yet."]


def test_order_matters_and_entries_are_counted(capsys):
    assert heard(capsys, [1, 2, 3], [1, 3, 2]) == "Not yet: 1 of 3 entries is right."
    assert heard(capsys, [1, 2, 3], [1, 2, 2]) == "Not yet: 2 of 3 entries are right."
    assert heard(capsys, [1, 2], [1]) == "Not yet: the answer has 2 entries, yours 1."


@pytest.mark.parametrize("nothing", [..., None, [1, ...], {"A": None}])
def test_no_answer(capsys, nothing):
    assert heard(capsys, [1, 2], nothing) == "No answer yet."


def test_the_digests_do_not_show_the_answer():
    first, second = Answer.digests(5, 5).split()
    assert first != second  # equal entries do not look equal
