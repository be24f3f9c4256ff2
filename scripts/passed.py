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
DEPENDS_ON = {  # and on what these files import from the package
    "check-dialects": ("scripts/dialects/*.py", *DATA),
    "test-engines": ("tests/engines/*.*", "tests/counted_slowly.py"),
    "test-doors": ("tests/doors/*.*",),
    "test-neural": ("tests/neural/*.*", "scripts/make_neural.py", "scripts/neural/*.*"),
    "test-peers": ("tests/peers/*.*",),
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


def imports(path):
    """Yield what a file imports, wherever in it, as dotted names: `numpy`, `package.module.X`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def modules_behind(paths, source):
    """Return the modules in the folder `source` that these files import, and all behind them.

    A name of a face, the `__init__.py` of the package or of a room, stands for the module from
    which the face imports it: what else that file imports is loaded, too, but changes no result.
    The constructors of `Ranks` are in the rooms whose faces add them to it.
    """
    package = source / "sampled_metrics"
    public = {
        f"{'.'.join(face.parent.relative_to(source).parts)}.{name.rpartition('.')[2]}": name
        for face in package.rglob("__init__.py")
        for name in imports(face)
    }
    doors = [package / room / "__init__.py" for room in ("io", "scoring")]
    found, left = set(), list(paths)
    while left:
        path = left.pop()
        for name in imports(path):
            if name == "sampled_metrics.Ranks" and path not in found:
                left += doors
            while name in public and public[name] != name:
                name = public[name]
            imported = source / name.replace(".", "/")
            for last in (imported, imported.parent):  # a module, or what is in one
                module = last.with_suffix(".py")
                if module.is_file() and module not in found:
                    found.add(module)
                    left.append(module)
    return found


def fingerprint(check, root=ROOT):
    """Hash what a check depends on, whatever the line ends of its files."""
    paths = {path for pattern in DEPENDS_ON[check] for path in root.glob(pattern)}
    paths |= modules_behind((path for path in paths if path.suffix == ".py"), root / "src")
    digest = hashlib.sha256()
    for name in sorted(path.relative_to(root).as_posix() for path in paths):
        text = that_counts(root / name)
        digest.update(f"{name} {len(text)}\n{text}".encode())
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
