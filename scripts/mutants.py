"""Which small errors in the package would no test find?

    make mutants                                    # 20 mutants of every module (not on Windows)
    python scripts/mutants.py sampling book/style -n 40 # of these modules, 40 each

A mutant is a copy of the package with one small change: another comparison, operator, constant or
logical word. The unit tests run once under coverage; then each mutant meets the tests and doctests
that reach its line, those of its own module first and the others from fast to slow, as many as take
two minutes, until one fails. A mutant that passes has survived: either a test is missing, or the
change makes no difference to anybody (it is equivalent). Those that somebody has judged equivalent
are listed in `equivalent_mutants.txt`: a line with the reason, `# ...`, and below it the mutants as
this script prints them. It also prints listed ones that the source no longer has.

The choice of mutants is random with a fixed seed: the same source has the same mutants.
Exits with 1 if fewer than 95 percent of a module's other mutants are found.
"""

from __future__ import annotations

import argparse
import ast
import doctest
import importlib
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "sampled_metrics"
MODULES = sorted(  # as in "sampling" and "book/style"
    path.relative_to(PACKAGE).with_suffix("").as_posix()
    for path in PACKAGE.rglob("*.py")
    if not path.stem.startswith("__")
)
KNOWN = Path(__file__).with_name("equivalent_mutants.txt")
GOAL = 0.95
SECONDS = 300  # for one mutant, at the most: an endless loop ends, too
BUDGET = 120.0  # seconds that the chosen tests took, together, under coverage
OPTIONS = ["-q", "-x", "-p", "no:cacheprovider", "-m", "not slow"]
LARGE = (
    *("numpy", "pandas", "scipy.optimize", "scipy.sparse", "scipy.special", "scipy.stats"),
    *("duckdb", "matplotlib.pyplot", "polars", "pyarrow.parquet"),
)
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
SKIPPED = {
    "test_book_build",
    "test_prose",
    "test_benchmarks",
    "test_quiz",
    "test_assignment",
    "test_course",
    "test_house",
}
Lines = dict[int, list[str]]  # line -> the tests that reach it
Reached = dict[str, Lines]  # by module


def places(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the number and kind of each node that can be changed.

    Left out are the words of errors, types, and `strict=True` of zip, which only guards against
    a mistake of our own.
    """
    silent: set[int] = set()
    for node in ast.walk(tree):
        quiet: list[ast.AST] = []
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom):
            quiet = [node]
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            quiet = [node]
        elif isinstance(node, ast.AnnAssign):
            quiet = [node if "TypeAlias" in ast.unparse(node.annotation) else node.annotation]
        elif isinstance(node, ast.keyword) and node.arg == "strict":
            quiet = [node]
        elif isinstance(node, ast.arg | ast.FunctionDef):
            hint = node.annotation if isinstance(node, ast.arg) else node.returns
            quiet = [hint] if hint is not None else []
        silent.update(id(part) for whole in quiet for part in ast.walk(whole))
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in silent:
            continue
        if isinstance(node, ast.Compare | ast.BinOp | ast.BoolOp):
            operator = node.ops[0] if isinstance(node, ast.Compare) else node.op
            if type(operator) in SWAPS:
                yield number, "operator"
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
            yield number, "constant"
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert):
            yield number, "not"


def mutate(source: str, number: int) -> tuple[str, str, int]:
    """Return the source with one node changed, what was changed, and in which line."""
    changed = ast.parse(source)
    node = next(node for i, node in enumerate(ast.walk(changed)) if i == number)
    before, line = ast.unparse(node), node.lineno  # type: ignore[attr-defined]
    if isinstance(node, ast.Compare):
        node.ops[0] = SWAPS[type(node.ops[0])]()  # type: ignore[assignment]
    elif isinstance(node, ast.BinOp | ast.BoolOp):
        node.op = SWAPS[type(node.op)]()  # type: ignore[assignment]
    elif isinstance(node, ast.Constant):
        value = node.value
        node.value = (not value) if isinstance(value, bool) else value + 1  # type: ignore[operator]
    elif isinstance(node, ast.UnaryOp):
        node.op = ast.UAdd() if isinstance(node.op, ast.Invert) else node.op
        if isinstance(node.op, ast.Not):
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
    ast.fix_missing_locations(changed)
    what = f"{source.splitlines()[line - 1].strip()} | {before} -> {ast.unparse(node)}"
    return ast.unparse(changed), what, line


def tests_that_reach() -> tuple[Reached, Seconds]:
    """Run the unit tests and doctests; return which of them reach each line of each module."""
    import coverage

    files = sorted((ROOT / "tests").glob("test_*.py"))
    tests = [f"tests/{path.name}" for path in files if path.stem not in SKIPPED]
    modules = [f"src/sampled_metrics/{name}.py" for name in MODULES]
    with tempfile.TemporaryDirectory() as folder:
        data, times = Path(folder, "data"), Path(folder, "times.xml")
        command = [sys.executable, "-m", "pytest", *OPTIONS, f"--junitxml={times}"]
        command += ["--cov=sampled_metrics", "--cov-context=test", "--cov-report="]
        environment = os.environ | {"COVERAGE_FILE": str(data)}
        run = subprocess.run(
            [*command, *tests, *modules], cwd=ROOT, env=environment, capture_output=True
        )
        if run.returncode != 0:
            raise RuntimeError(f"a test fails without any mutant:\n{run.stdout.decode()[-3000:]}")
        seconds = durations(times)
        found = coverage.CoverageData(str(data))
        found.read()
        reached = {
            Path(path).relative_to(PACKAGE).with_suffix("").as_posix(): {
                line: sorted({context.partition("|")[0] for context in contexts})
                for line, contexts in found.contexts_by_lineno(path).items()
            }
            for path in found.measured_files()
            if Path(path).is_relative_to(PACKAGE)
        }
        return reached, seconds


def durations(times: Path) -> Seconds:
    """Return how many seconds each test took, by its name in pytest, and forget no test."""
    seconds = Seconds()
    for case in ElementTree.parse(times).iter("testcase"):
        file, _, of = case.attrib["classname"].replace(".", "/").partition("/Test")
        test = "::".join([f"{file}.py", *([f"Test{of}"] if of else []), case.attrib["name"]])
        seconds[test] = float(case.attrib["time"])
    return seconds


class Seconds(dict[str, float]):
    """Seconds by test; 1 for a test that the report names in another way."""

    def __missing__(self, test: str) -> float:
        return 1.0


def chosen_tests(module: str, line: int, lines: Lines, seconds: Seconds) -> list[str]:
    """Return the tests to run for a change of this line, the most promising first.

    A line within a statement is reached where the statement is. A module's constants, defaults and
    decorators run when it is imported, outside of any test (""): there, any test may be the one.
    """
    before = (at for at in range(line, max(line - 12, 0), -1) if at in lines)
    reaching = set(lines.get(next(before, 0), [""]))
    own = (f"test_{Path(module).name}.py", f"/{module}.py")
    every = {test for some in lines.values() for test in some}
    every |= {test for test in seconds if any(x in test for x in (*own, "test_public_face.py"))}
    tests = sorted(
        (every if "" in reaching else reaching) - {""},
        key=lambda test: (not any(x in test for x in own), test not in reaching, seconds[test]),
    )
    spent = accumulate(seconds[test] for test in tests)
    return [test for test, until in zip(tests, spent, strict=True) if until < BUDGET] or tests[:1]


def survives(task: tuple[str, str, list[str]]) -> bool:
    """Tell whether these tests and doctests pass with this source of the module.

    It runs in a process of its own, a copy of this one, in which the large libraries are loaded.
    """
    module, source, tests = task
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder, "sampled_metrics")
        shutil.copytree(PACKAGE, copied)
        (copied / f"{module}.py").write_text(source, encoding="utf-8")
        sys.path.insert(0, folder)
        os.environ["PYTHONPATH"] = folder  # for tests that start Python
        os.chdir(ROOT)
        signal.signal(signal.SIGALRM, _too_long)
        signal.alarm(SECONDS)
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        examples = [test for test in tests if test.startswith("src/")]
        own = [test for test in tests if test.startswith(f"tests/test_{Path(module).name}.py")]
        others = [test for test in tests if test not in {*examples, *own}]
        try:
            importlib.import_module("sampled_metrics.cli")
            return pass_examples(examples) and pass_tests(own) and pass_tests(others)
        except Exception:  # of an import, or of pytest about what was left open
            return False


def pass_tests(tests: list[str]) -> bool:
    """Tell whether pytest passes these tests; there may be none."""
    import pytest

    return not tests or pytest.main([*OPTIONS, *tests]) == pytest.ExitCode.OK


def pass_examples(tests: list[str]) -> bool:
    """Tell whether these doctests pass with the modules as they are imported now.

    Pytest would look for them by their files, and name those of a copy in another way.
    """
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    for test in tests:
        path, _, name = test.partition("::")
        module = importlib.import_module(".".join(Path(path).with_suffix("").parts[1:]))
        for found in doctest.DocTestFinder().find(module):
            if found.name == name and runner.run(found).failed:
                return False
    return True


def _too_long(*_: object) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", help="such as book/style; all by default")
    parser.add_argument("-n", type=int, default=20, help="mutants of each module")
    parser.add_argument("-j", type=int, default=os.cpu_count() or 1, help="at the same time")
    options = parser.parse_args()
    known = set(KNOWN.read_text(encoding="utf-8").splitlines()) if KNOWN.exists() else set()
    modules = options.modules or MODULES
    good = True
    reached, seconds = tests_that_reach()
    for name in LARGE:  # before the copies of this process are made
        importlib.import_module(name)
    for module in modules:
        original = (PACKAGE / f"{module}.py").read_text(encoding="utf-8")
        numbers = [number for number, _ in places(ast.parse(original))]
        chosen = random.Random(module).sample(numbers, min(options.n, len(numbers)))
        made = [mutate(original, number) for number in chosen]
        lines = reached.get(module, {})
        tasks = [
            (module, source, chosen_tests(module, line, lines, seconds)) for source, _, line in made
        ]
        if module == modules[0]:  # else every mutant would be found, by a fault of ours
            tasks.append((module, original, tasks[0][2]))
        with multiprocessing.get_context("fork").Pool(options.j, maxtasksperchild=1) as pool:
            alive = pool.map(survives, tasks, chunksize=1)
        if len(alive) > len(made) and not alive.pop():
            raise RuntimeError(f"the tests fail with {module} as it is")
        left = [f"{module}: {made[i][1]}" for i, lives in enumerate(alive) if lives]
        equivalent = [what for what in left if what in known]
        counted = len(made) - len(equivalent)
        found = len(made) - len(left)
        good &= found >= GOAL * counted
        print(f"{module}: {found} of {counted} found, {len(equivalent)} equivalent", flush=True)
        for what in left:
            if what not in equivalent:
                print(what, flush=True)
        every = {f"{module}: {mutate(original, number)[1]}" for number in numbers}
        for what in sorted(what for what in known - every if what.startswith(f"{module}: ")):
            print(f"no mutant, but in {KNOWN.name}: {what}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
