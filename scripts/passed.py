"""Keep in mind which checks passed, and with which files, so that CI need not repeat them.

    python scripts/passed.py test-peers           # fail unless it has passed with these files
    python scripts/passed.py --note test-peers    # write down that it has, in tests/passed.json

These checks take minutes, install other libraries, and seldom depend on what is changed: not on
comments and docstrings. The hosted CI makes them each week in any case.
"""

import argparse
import ast
import hashlib
import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOTES = Path("tests", "passed.json")
DATA = ("book/data/dialects.csv", "book/data/five_users.json", "book/data/probes.json")
PACKAGE = "src/sampled_metrics"
INTO_RANKS = """
    _candidates _checks _columns _counting _flat _ids _items _models _pairs
    data frames lists ranks scoring ties
""".split()
IN_AN_ENGINE = "_engines _values tables rank_tables metric metrics ranks ties".split()
DEPENDS_ON = {
    "check-dialects": ("scripts/dialects/*.py", *DATA),
    "test-engines": (
        "tests/engines/*.*",
        "tests/counted_slowly.py",
        *(f"{PACKAGE}/{name}.py" for name in IN_AN_ENGINE),
    ),
    "test-doors": (
        "tests/doors/*.*",
        *(f"{PACKAGE}/{name}.py" for name in INTO_RANKS),
    ),
    "test-peers": (
        "tests/peers/*.*",
        *(f"{PACKAGE}/{name}.py" for name in ("_checks", "ranks", "lists", "metric", "metrics")),
    ),
}

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def that_counts(path):
    """Return what a file may change: of Python only the code, without comments and docstrings."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return text
    module = ast.parse(text)
    for node in ast.walk(module):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node):
            node.body[0].value.value = ""
    return ast.unparse(module)


def fingerprint(check, root=ROOT):
    """Hash what a check depends on, whatever the line ends of its files."""
    digest = hashlib.sha256()
    for pattern in DEPENDS_ON[check]:
        for path in sorted(root.glob(pattern)):
            text = that_counts(path)
            digest.update(f"{path.relative_to(root).as_posix()} {len(text)}\n{text}".encode())
    return digest.hexdigest()


def main(arguments=None, root=ROOT):
    """Tell by the exit status whether the check has passed, or note that it has."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("check", choices=DEPENDS_ON)
    parser.add_argument("--note", action="store_true", help="the check has just passed")
    options = parser.parse_args(arguments)
    notes = json.loads((root / NOTES).read_text(encoding="utf-8"))
    now = fingerprint(options.check, root)
    if options.note:
        notes[options.check] = now
        text = json.dumps(notes, indent=2, sort_keys=True)
        (root / NOTES).write_text(f"{text}\n", encoding="utf-8")
    elif notes.get(options.check) == now:
        print(f"{options.check}: skipped, it has passed with exactly these files ({NOTES})")
    else:
        print(f"{options.check}: files have changed since it passed")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
