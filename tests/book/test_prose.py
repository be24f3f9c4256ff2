"""What the sources of the pages promise: numbers that a run backs, figures described, one style."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

from shared import known

BOOK = Path(__file__).parents[2] / "book"
PAGES = sorted(path.stem for path in BOOK.glob("*.md"))
every_page = pytest.mark.parametrize("page", PAGES)

HEADER = re.compile(r"\A---\n.*?^---$", re.M | re.S)
FENCED = re.compile(
    r"^(?P<fence>`{3,}|\$\$)(?:\{(?P<kind>[\w:-]+)\})?(?P<body>.*?)^(?P=fence)$", re.M | re.S
)
CITED = re.compile(r"\{cite:[pt]\}`[^`]*`|Krichene and Rendle, 2020")
NOT_PROSE = re.compile(
    r"\{[a-z:]+\}`[^`]*`"  # roles
    r"|\$[^$]*\$|`[^`]*`"  # formulas and code
    r"|\]\([^)]*\)|<[^>]*>"  # addresses
    r"|^\([\w-]+\)=$|^:::.*$|^:[a-z]+:.*$",  # labels, directives' fences and options
    re.M,
)
# names, not results: Table 3, section 5.2, Recall@10, MovieLens 1M, user 2, rank 1
NAMES = re.compile(
    r"\b(?:tables?|figures?|sections?|equations?|eq\.|part|tasks?|week|python|users?|ranks?|bucket|version)"
    r" \d[\d.]*(?:(?:, | and | to | or )\d[\d.]*)*"
    r"|@\d+|MovieLens \d+M|\b(?:1M|KDD \d+|CC BY 4\.0|BSD 3)\b"
    r"|^\|? ?\d+[ .]",  # of a list's or a table's items
    re.I | re.M,
)
NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?")

# The sizes of MovieLens (mean number of candidates, users), and a level of confidence
EVERYWHERE = {3541.0, 6040.0, 95.0}
# Numbers that are neither glued nor cited nor an input, and why they may stand
ALLOWED = {
    "about": ["2026"],  # the year
    "check": ["100"],  # the usual number of negatives
    "dialects": ["1.24", "1.25"],  # versions of NumPy
    # of the paper's Table 3; about 74.8 is from the page on readings; then what editions said
    "errata": [
        *("75.04", "74.8", "89.13", "89.12", "89.24", "88.36", "100"),
        *("60", "21", "20", "22", "87", "37", "13", "1.8", "4,303"),
    ],
    # counted once, on a file the book does not have; held by tests/scoring/test_scoring.py
    "recommenders": ["2,998", "1,268", "42"],
    "slides": ["75"],  # minutes
    # points of the rubric, held by tests/book/test_assignment.py, and sizes of samples
    "teaching": ["10", "15", "20", "3", "8", "99", "100", "999", "10,000"],
}


def source(page):
    return HEADER.sub("", (BOOK / f"{page}.md").read_text(encoding="utf-8"))


def prose(page):
    """Return the page without what stands between fences."""
    return FENCED.sub("", source(page))


def cells(page):
    """Yield (options, code) of each code cell."""
    for match in FENCED.finditer(source(page)):
        if match["kind"] == "code-cell":
            body = match["body"].partition("\n")[2]
            split = re.match(r"(---\n.*?^---\n|(?::[^\n]*\n)*)(.*)", body, re.M | re.S)
            yield known(split).groups()


def inputs(page):
    """Return the numbers that stand in the page's code, so chosen, not found.

    Also with one item or rank more or less, and, of shares, in percent.
    """
    numbers = {0.0, 1.0, 2.0} | EVERYWHERE
    for _, code in cells(page):
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.type == tokenize.NUMBER:
                numbers.add(float(ast.literal_eval(token.string)))
            elif token.type == tokenize.STRING:
                numbers |= {float(number) for number in re.findall(r"\d+(?:\.\d+)?", token.string)}
    in_percent = {round(100 * number, 9) for number in numbers if number < 1}
    one_off = {number + step for number in numbers if number >= 10 for step in (-1, 1)}
    return numbers | in_percent | one_off


def typed_numbers(page):
    """Yield (number, paragraph) for the numbers in text and captions that nothing here backs.

    Alt texts are not read: they say what one sees in the figure, rounded as one reads it off.
    """
    known = inputs(page)
    captions = re.findall(r'caption: "(.*)"', "\n".join(options for options, _ in cells(page)))
    for paragraph in [*prose(page).split("\n\n"), *captions]:
        if not CITED.search(paragraph):
            for number in NUMBER.findall(NAMES.sub(" ", NOT_PROSE.sub(" ", paragraph))):
                if float(number.replace(",", "")) not in known:
                    yield number, " ".join(paragraph.split())


@every_page
def test_numbers_in_prose_are_glued_cited_or_inputs(page):
    allowed = ALLOWED.get(page, [])
    found = {number: paragraph for number, paragraph in typed_numbers(page)}
    assert {n: p for n, p in found.items() if n not in allowed} == {}
    assert [number for number in allowed if number not in found] == [], "allowed, but not there"


@every_page
def test_figures_have_a_name_a_caption_and_a_text(page):
    for options, code in cells(page):
        if "plt.show()" in code:
            for option in ("caption:", "name: fig-", "alt:"):
                assert option in options, f"no {option} for\n{code}"
            assert "suptitle" not in code, code


# proper names and abbreviations may stand in headings as they are written anywhere
PROPER = re.compile(
    r"\b(?:[A-Z]{1,5}\d?s?|[A-Z]\w*[A-Z]\w*|Monte Carlo|Bayes|Krichene|Rendle|Python|Spark)\b"
    r"|\bTables? \d|\bFigures? \d"
)


@every_page
def test_headings_are_in_sentence_case(page):
    for heading in re.findall(r"^#+ (.+)$", prose(page), re.M):
        if page == "index" and heading == "Sampled Metrics, Exactly":  # the name of the book
            continue
        for sentence in re.split(r"[.:?!] ", NOT_PROSE.sub("", heading)):
            assert not re.search(r"\s[A-Z]", PROPER.sub("", sentence)), heading
        assert not heading.endswith("."), heading


@every_page
def test_one_sentence_stands_on_a_line(page):
    text = re.sub(r"^(?:[-|:>]|\d+\.).*$", "", prose(page), flags=re.M)  # items may hold several
    for line in NOT_PROSE.sub("x", text).splitlines():
        assert not re.search(r"[a-z)]{2,}[.?!] [A-Z]", line.replace("et al.", "")), line


# Turns of phrase that a reader stumbles over
TURNS = re.compile(
    r"\b(?:but for|whoever|who is in|as good as|the other way (?:round|around)|dear|dearer"
    r"|the law of (?!large|total)|at the door|in vain|so as to|thereby|not seldom|as it were)\b",
    re.I,
)
LONGEST = 40  # words
FINE = {
    "five-users": ["as good as"],  # unit tests are only as good as their cases
}


def running_text(page):
    """Yield the page's sentences, without what stands in tables and fences."""
    text = NOT_PROSE.sub("x", prose(page))
    for line in re.sub(r"^[|:>].*$", "", text, flags=re.M).splitlines():
        yield from re.split(r"(?<=[.?!])\s", line)


@every_page
def test_sentences_are_read_in_one_breath(page):
    for sentence in running_text(page):
        assert len(sentence.split()) <= LONGEST, sentence
        assert not re.search(r"\([^()]*\([^()]*\)[^()]*\)", sentence), sentence


@every_page
def test_turns_of_phrase_are_plain(page):
    found = {match[0].lower() for s in running_text(page) for match in TURNS.finditer(s)}
    assert found <= set(FINE.get(page, [])), found


CHAPTERS = [page for page in PAGES if "\n## Further reading\n" in source(page)]
every_chapter = pytest.mark.parametrize("page", CHAPTERS)
LINES = 7  # of a cell that is shown, blank ones apart
FOLDED = re.compile(r"hide-input|hide-cell|remove-cell|remove-input")


@every_chapter
def test_a_chapter_opens_with_its_figure_and_closes_in_one_order(page):
    opening = source(page).partition("\n## ")[0]
    assert re.search(r"plt\.show\(\)|```\{(?:explorer|figure)", opening)
    last = re.findall(r"^## (.+)$", prose(page), re.M)[-3:]
    assert last == ["Exercises", "What to remember", "Further reading"]


NO_RUNNING_TEXT = re.compile(
    r"^(:{3,}).*?^\1$|^## Exercises$.*?(?=^## What to remember$)|^[#|:>][^\n]*", re.M | re.S
)


@every_chapter
def test_a_chapter_is_neither_short_nor_long(page):
    words = NOT_PROSE.sub("x", NO_RUNNING_TEXT.sub("", prose(page))).split()
    assert 1200 <= len(words) <= 2520  # about 2,500


@every_chapter
def test_a_chapter_shows_figures_and_short_cells(page):
    text = source(page).partition("\n## Exercises\n")[0]
    figures = text.count("plt.show()") + text.count("```{explorer")
    assert figures >= 3
    for options, code in cells(page):
        if code in text and not FOLDED.search(options):
            assert len(re.findall(r"\S.*", code)) <= LINES, code
