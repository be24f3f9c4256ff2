"""The quizzes of the parts: one right answer to each question, in varying places."""

import re
from pathlib import Path

import pytest

BOOK = Path(__file__).parents[2] / "book"
PARTS = sorted(path.stem for path in BOOK.glob("part-*.md"))
every_quiz = pytest.mark.parametrize("page", PARTS)
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


@every_quiz
def test_a_part_is_one_page_with_all_that_is_said_of_it(page):
    headings = re.findall(r"^## (.+)$", source(page), re.M)
    assert headings == ["What the chapters give", "Time", "What to remember", "Quiz"]
    assert f"\n({page.replace('part', 'quiz')})=\n## Quiz\n" in source(page)
    remember = source(page).partition("\n## What to remember\n")[2].partition("\n(quiz-")[0]
    lines = remember.strip().splitlines()
    assert 4 <= len(lines) <= 8
    assert all(line.startswith("- ") for line in lines)


@every_quiz
def test_each_question_has_one_right_answer(page):
    found = questions(page)
    assert 6 <= len(found) <= 12
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
