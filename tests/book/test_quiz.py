"""The quizzes that close the parts: one right answer to each question, in varying places."""

import re
from pathlib import Path

import pytest

BOOK = Path(__file__).parents[2] / "book"
QUIZZES = sorted(path.stem for path in BOOK.glob("quiz-*.md"))
every_quiz = pytest.mark.parametrize("page", QUIZZES)
ANSWER = re.compile(r"^:::\{dropdown\} (?P<title>.+)\n(?P<text>(?s:.*?))^:::$", re.M)


def source(page):
    return (BOOK / f"{page}.md").read_text(encoding="utf-8")


def questions(page):
    """Return the answers to each question: pairs (title, what opens under it)."""
    _, *sections = re.split(r"^### ", source(page).partition("\n## Quiz\n")[2], flags=re.M)
    return {section.partition("\n")[0]: ANSWER.findall(section) for section in sections}


def right_place(answers):
    """Return where the first right answer stands."""
    return [text.startswith("Right: ") for _, text in answers].index(True)


def test_each_part_has_a_quiz():
    parts = sorted(path.stem for path in BOOK.glob("part-*.md"))
    assert [part.replace("part", "quiz") for part in parts] == QUIZZES != []


@every_quiz
def test_each_question_has_one_right_answer(page):
    found = questions(page)
    assert 6 <= len(found) <= 14  # two for each chapter of the longest part
    assert sum(map(len, found.values())) == source(page).count("{dropdown}")
    for question, answers in found.items():
        assert len(answers) in (3, 4), question
        beginnings = [text.split(" ")[0] for _, text in answers]
        assert beginnings.count("Right:") == 1, question
        assert beginnings.count("No:") == len(answers) - 1, question


@every_quiz
def test_the_right_answer_stands_in_varying_places(page):
    places = [right_place(answers) for answers in questions(page).values()]
    assert len(set(places)) > 2, places
    assert max(map(places.count, places)) <= len(places) / 2, places


@every_quiz
def test_the_right_answer_is_not_told_by_its_length(page):
    longest = [
        max(range(len(answers)), key=lambda i: len(answers[i][0])) == right_place(answers)
        for answers in questions(page).values()
    ]
    assert sum(longest) <= len(longest) / 2, longest


@every_quiz
def test_each_answer_says_where_it_is_explained(page):
    for question, answers in questions(page).items():
        for title, text in answers:
            assert "{ref}`" in text, (question, title)
