"""How long and how hard is each page of the book? Prints a table; needs a built book.

    make measures
    python scripts/measure_pages.py --csv before.csv    # to compare with later

Words and sentences are those of the running text: no code, formulas, captions, tables, exercises or
solutions. Cells are those whose code is shown. Pixels are counted from the top of the page to its
first figure or explorer, in a window of 1280 px. A table is over the limit with more than 12 rows
or 6 columns.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[1]
HTML = ROOT / "_build" / "html" / "book"
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FOLDED = {"hide-input", "hide-cell", "remove-cell", "remove-input"}
CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```$", re.M | re.S)
FENCED = re.compile(r"^(`{3,}|:{3,}|\$\$).*?^\1$", re.M | re.S)
ASIDE = re.compile(r"^```\{(exercise|solution)-start\}.*?^```\{\1-end\}$", re.M | re.S)
ROLE = re.compile(r"\{(?:glue|ref|eq|numref|cite)[^}]*\}`([^`<]*)[^`]*`")
IN_PAGE = """() => {
  const main = document.querySelector("article");
  const shown = [...main.querySelectorAll("figure, .cell_output img, .cell_output svg, .explorer")]
    .map(x => x.getBoundingClientRect()).filter(x => x.height > 60).map(x => x.top);
  const large = [...main.querySelectorAll("table")].filter(table =>
    table.tBodies.length && (table.tBodies[0].rows.length > 12
      || Math.max(...[...table.rows].map(row => row.cells.length)) > 7)).length;
  return {"first figure, px": Math.round(Math.min(...shown)), "large tables": large,
          "height, px": Math.round(main.getBoundingClientRect().height)};
}"""


def text(source: str) -> dict[str, float]:
    """Return the measures of a page's source."""
    body = re.sub(r"\A---\n.*?^---$", "", source, flags=re.M | re.S)
    cells = [
        re.match(r"((?:---\n.*?^---\n|(?::[^\n]*\n)*))(.*)", cell, re.M | re.S)
        for cell in CELL.findall(ASIDE.sub("", body))
    ]
    shown = [
        len(cell[2].strip().splitlines())
        for cell in cells
        if cell and not any(tag in cell[1] for tag in FOLDED)
    ]
    prose = FENCED.sub("", ASIDE.sub("", body))
    prose = re.sub(r"^(#|\||:|\().*$", "", prose, flags=re.M)
    prose = ROLE.sub(r"\1", prose)
    prose = re.sub(r"\$[^$]*\$|`[^`]*`", "x", prose)
    sentences = [len(s.split()) for s in re.split(r"(?<=[.?!:])\s+", prose) if len(s.split()) > 2]
    lengths = pd.Series(sentences or [0])
    return {
        "words": int(lengths.sum()),
        "words a sentence": lengths.mean(),
        "long sentences, %": 100 * (lengths > 25).mean(),
        "cells": len(shown),
        "lines a cell": pd.Series(shown or [0]).median(),
        "longest cell": max(shown, default=0),
        "figures": body.count("plt.show()") + body.count("```{explorer"),
    }


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--csv", type=Path, help="write the table there, too")
    options = parser.parse_args()
    browser_path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)))
    rows = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_path, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        for path in sorted((ROOT / "book").glob("*.md")):
            built = HTML / f"{path.stem}.html"
            if built.exists():
                page.goto(built.as_uri())
                found = page.evaluate(IN_PAGE)
                rows[path.stem] = text(path.read_text(encoding="utf-8")) | found
    table = pd.DataFrame(rows).T.round(1)
    print(table.to_string())
    if options.csv:
        table.to_csv(options.csv)


if __name__ == "__main__":
    main()
