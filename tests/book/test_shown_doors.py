"""What the book shows of other libraries is what `make test-doors` runs, line by line."""

import re
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "book" / "evaluate-your-own.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## From your library")[2].partition("\n## ")[0]
BLOCKS = re.findall(r"```python\n(.*?)```", SECTION, re.S)
TESTED = [
    dedent(body)
    for path in (ROOT / "tests" / "doors").glob("test_*.py")
    for body in re.findall(r"^def .*\n((?:    .*\n|\n)*)", path.read_text("utf-8"), flags=re.M)
]


def test_six_libraries_are_shown():
    assert len(re.findall(r"{dropdown}", SECTION)) == 6
    assert len(BLOCKS) == 9


@pytest.mark.parametrize("block", BLOCKS)
def test_each_block_is_part_of_a_test(block):
    assert any(block in body for body in TESTED)
