"""Which small errors in the package would no test find?

    make mutants                                    # 20 mutants of every module (not on Windows)
    python scripts/mutants.py sampling bounds -n 40 # of these modules, 40 each

A mutant is a copy of the package with one small change: another comparison, operator, constant or
logical word. The unit tests run once under coverage; then each mutant meets the tests that reach
its line, until one fails. A mutant that passes all of them has survived: either a test is missing,
or the change makes no difference to anybody (it is equivalent). Those that somebody has judged
equivalent are listed in `equivalent_mutants.txt`, with the reason.

The choice of mutants is random with a fixed seed: the same source has the same mutants.
Exits with 1 if fewer than 95 percent of a module's other mutants are found.
"""

from __future__ import annotations

import argparse
import ast
import copy
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
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "sampled_metrics"
KNOWN = Path(__file__).with_name("equivalent_mutants.txt")
GOAL = 0.95
SECONDS = 600
OPTIONS = ["-q", "-x", "-p", "no:cacheprovider", "-m", "not slow"]
LARGE = ("numpy", "pandas", "scipy.optimize", "scipy.sparse", "scipy.stats")
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
    "test_house",
}
Reached = dict[str, dict[int, list[str]]]  # module -> line -> tests


def places(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the number and kind of each node that can be changed."""
    silent: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom):
            silent.update(map(id, ast.walk(node)))
        for hint in ("annotation", "returns"):
            if isinstance(getattr(node, hint, None), ast.AST):
                silent.update(map(id, ast.walk(getattr(node, hint))))
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


def mutate(tree: ast.Module, number: int) -> tuple[str, str, int]:
    """Return the source with one node changed, what was changed, and where."""
    changed = copy.deepcopy(tree)
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
    return ast.unparse(changed), f"line {line}: {before} -> {ast.unparse(node)}", line


def tests_that_reach() -> Reached:
    """Run the unit tests, and return which of them reach each line of each module."""
    import coverage

    files = sorted((ROOT / "tests").glob("test_*.py"))
    tests = [f"tests/{path.name}" for path in files if path.stem not in SKIPPED]
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "data")
        command = [
            sys.executable,
            "-m",
            "pytest",
            *OPTIONS,
            "--cov=sampled_metrics",
            "--cov-context=test",
        ]
        command += ["--cov-report=", *tests]
        environment = os.environ | {"COVERAGE_FILE": str(data)}
        run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
        if run.returncode != 0:
            raise RuntimeError(f"a test fails without any mutant:\n{run.stdout.decode()[-3000:]}")
        found = coverage.CoverageData(str(data))
        found.read()
        return {
            Path(path).stem: {
                line: sorted({test.partition("|")[0] for test in contexts if test})
                for line, contexts in found.contexts_by_lineno(path).items()
            }
            for path in found.measured_files()
            if Path(path).parent == PACKAGE
        }


def near(lines: dict[int, list[str]], line: int) -> list[str]:
    """Return the tests that reach a line, or the statement that it belongs to; else all of them.

    A module's constants are computed when it is imported, before any test.
    """
    for before in range(line, max(line - 12, 0), -1):
        if lines.get(before):
            return lines[before]
    return sorted({test for tests in lines.values() for test in tests})


def survives(task: tuple[str, str, list[str]]) -> bool:
    """Tell whether these tests, and all doctests, pass with this source of the module.

    It runs in a process of its own, a copy of this one, in which the large libraries are loaded.
    """
    import pytest

    module, source, tests = task
    own = sorted(tests, key=lambda test: f"test_{module}.py" not in test)  # likely to find it
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder, "sampled_metrics")
        shutil.copytree(PACKAGE, copied)
        (copied / f"{module}.py").write_text(source, encoding="utf-8")
        sys.path.insert(0, folder)
        os.environ["PYTHONPATH"] = folder  # for tests that start Python
        os.chdir(ROOT)
        signal.signal(signal.SIGALRM, _too_long)
        signal.alarm(SECONDS)  # an endless loop is noticed, too
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        for some in (own, ["--pyargs", "sampled_metrics"]):
            code = pytest.main([*OPTIONS, *some])
            if code != pytest.ExitCode.OK:
                return code == pytest.ExitCode.NO_TESTS_COLLECTED and not own
        return True


def _too_long(*_: object) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", help="without the folder and .py; all by default")
    parser.add_argument("-n", type=int, default=20, help="mutants of each module")
    parser.add_argument("-j", type=int, default=os.cpu_count() or 1, help="at the same time")
    options = parser.parse_args()
    known = set(KNOWN.read_text(encoding="utf-8").splitlines()) if KNOWN.exists() else set()
    modules = options.modules or sorted(
        p.stem for p in PACKAGE.glob("*.py") if p.stem != "__init__"
    )
    good = True
    reached = tests_that_reach()
    for name in LARGE:  # before the copies of this process are made
        importlib.import_module(name)
    for module in modules:
        tree = ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8"))
        numbers = [number for number, _ in places(tree)]
        chosen = random.Random(module).sample(numbers, min(options.n, len(numbers)))
        made = [mutate(tree, number) for number in chosen]
        tasks = [(module, source, near(reached[module], line)) for source, _, line in made]
        with multiprocessing.get_context("fork").Pool(options.j, maxtasksperchild=1) as pool:
            alive = pool.map(survives, tasks, chunksize=1)
        left = [what for (_, what, _), lives in zip(made, alive, strict=True) if lives]
        equivalent = [what for what in left if any(what.partition(": ")[2] in k for k in known)]
        counted = len(made) - len(equivalent)
        found = len(made) - len(left)
        good &= found >= GOAL * counted
        print(f"{module}: {found} of {counted} found, {len(equivalent)} equivalent", flush=True)
        for what in left:
            if what not in equivalent:
                print(f"    survived: {what}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
