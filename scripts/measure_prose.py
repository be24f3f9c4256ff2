"""Measure the rhythm of the pages: `python scripts/measure_prose.py [PAGE ...]`.

A row a page: words of running text, sentences, their mean length, its standard deviation, and the
share of paragraphs that are one sentence. At the end, all pages, and how many sentences begin with
"So" or "Here", and how often the text says "agree".
"""

import re
import statistics
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
sys.path += [str(TESTS), str(TESTS / "book")]
from test_prose import NO_RUNNING_TEXT, NOT_PROSE, PAGES, prose  # noqa: E402


def paragraphs(page: str) -> list[list[str]]:
    """Return the sentences of each paragraph, without lists, tables and headings."""
    text = re.sub(r"^[#|:>].*$", "", NOT_PROSE.sub("x", prose(page)), flags=re.M)
    found = [text.strip() for text in re.split(r"\n\s*\n", text)]
    split = [
        re.split(r"(?<=[.?!:])\s+", text) for text in found if not re.match(r"[-*] |\d+\. ", text)
    ]
    kept = [[one for one in sentences if len(one.split()) > 2] for sentences in split]
    return [sentences for sentences in kept if sentences]


def row(name: str, words: int, found: list[list[str]]) -> str:
    lengths = [len(one.split()) for sentences in found for one in sentences]
    single = statistics.mean(len(sentences) == 1 for sentences in found)
    mean, deviation = statistics.mean(lengths), statistics.pstdev(lengths)
    return f"{name:20}{words:7,}{len(lengths):6,}{mean:6.1f}{deviation:5.1f}{single:6.2f}"


pages = {page: paragraphs(page) for page in sys.argv[1:] or PAGES}
words = {
    page: len(NOT_PROSE.sub("x", NO_RUNNING_TEXT.sub("", prose(page))).split()) for page in pages
}
print("page                  words  sent. mean  sd  single")
for page, found in pages.items():
    if found:
        print(row(page, words[page], found))
together = [sentences for found in pages.values() for sentences in found]
print(row("all", sum(words.values()), together))
sentences = [one for found in together for one in found]
print({head: sum(one.startswith(f"{head} ") for one in sentences) for head in ("So", "Here")})
print({"agree": sum(one.count("agree") for one in sentences)})
