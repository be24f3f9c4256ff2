"""Compare the numbers of two builds of the book, cell by cell.

    python scripts/compare_results.py BEFORE AFTER

BEFORE and AFTER are folders of CSV files, such as `book/results` of two builds. For each file the
script prints how many cells differ and the largest difference, with its place. Numbers differ if
they are more than 1e-9 apart, relative to the larger one; numbers below 1e-12 are rounding errors
and count as 0. Rows are compared in order and columns by name.

The exit code is 1 if anything differs: a cell, a column, the number of rows, or a missing file.
"""

from __future__ import annotations

import argparse
import csv
import math
from pathlib import Path

Table = dict[str, list[str]]


def read(path: Path) -> Table:
    """Return the columns of a table, by name, as text."""
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    return {name: [row[i] for row in rows] for i, name in enumerate(header)}


def distance(before: str, after: str) -> float:
    """Return how far two cells are apart, infinity where one is a text: 0 if they agree."""
    if before == after:
        return 0.0
    try:
        a, b = float(before), float(after)
    except ValueError:
        return math.inf
    if math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) or (math.isnan(a) and math.isnan(b)):
        return 0.0
    return abs(a - b)


def differences(before: Table, after: Table) -> list[str]:
    """Describe how two tables differ, in no lines if they do not."""
    found = [f"column {name} only before" for name in before.keys() - after.keys()]
    found += [f"column {name} only after" for name in after.keys() - before.keys()]
    lengths = [len(next(iter(table.values()), [])) for table in (before, after)]
    if lengths[0] != lengths[1]:
        return [*found, f"{lengths[0]} rows before, {lengths[1]} after"]
    cells = [
        (distance(a, b), name, row, a, b)
        for name in before
        if name in after
        for row, (a, b) in enumerate(zip(before[name], after[name], strict=True), start=1)
    ]
    if moved := [cell for cell in cells if cell[0] > 0]:
        largest, name, row, a, b = max(moved)
        found.append(
            f"{len(moved)} of {len(cells)} cells differ, at most by {largest:.3g}: "
            f"{name} of row {row}, {a} before, {b} after"
        )
    return sorted(found)


def main() -> int:
    """Compare two folders; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    folders = parser.parse_args()
    changed = False
    names = {path.name for folder in vars(folders).values() for path in folder.glob("*.csv")}
    for name in sorted(names):
        paths = folders.before / name, folders.after / name
        missing = [str(path.parent) for path in paths if not path.exists()]
        if missing:
            found = [f"not in {missing[0]}"]
        else:
            found = differences(*map(read, paths))
        changed = changed or bool(found)
        print(f"{name}: {'; '.join(found) or 'the same'}")
    return int(changed)


if __name__ == "__main__":
    raise SystemExit(main())
