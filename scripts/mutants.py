"""Which small errors in the package would no test find?

    make mutants                                    # 20 mutants of every module, about two hours
    python scripts/mutants.py sampling bounds -n 40 # of these modules, 40 each

A mutant is a copy of the package with one small change: another comparison, operator, constant or
logical word. Its module's tests run on it (`tests/test_MODULE.py` and those listed below, then
the other unit tests, until one fails). A mutant that passes all of them has survived: either a
test is missing, or the change makes no difference to anybody (it is equivalent). Those that
somebody has judged equivalent are listed in `equivalent_mutants.txt`, with the reason.

The choice of mutants is random with a fixed seed: the same source has the same mutants.
Exits with 1 if fewer than 95 percent of a module's other mutants are found.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "sampled_metrics"
KNOWN = Path(__file__).with_name("equivalent_mutants.txt")
GOAL = 0.95
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
FIRST = {  # tests that are likely to find a mutant, before all others
    "_checks": ["test_fuzz", "test_metrics", "test_ranks", "test_sampling"],
    "_distribution": ["test_sampling", "test_evaluation", "test_comparison"],
    "_fits": ["test_evaluation", "test_comparison"],
    "_moments": ["test_comparison"],
    "_programs": ["test_bounds"],
    "_quadrature": ["test_fits", "test_corrections", "test_estimators", "test_sampling"],
    "_terms": ["test_several_relevant"],
    "corrections": ["test_fits", "test_several_relevant"],
    "estimator": ["test_fits", "test_corrections"],
    "estimators": ["test_fits", "test_corrections"],
    "metric": ["test_metrics", "test_ties"],
    "power": ["test_comparison"],
    "problem": ["test_fits", "test_corrections"],
}


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


def mutate(tree: ast.Module, number: int) -> tuple[str, str]:
    """Return the source with one node changed, and what was changed."""
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
    return ast.unparse(changed), f"line {line}: {before} -> {ast.unparse(node)}"


def survives(module: str, source: str) -> bool:
    """Tell whether all tests pass with this source of the module."""
    tests = [f"tests/{name}.py" for name in (f"test_{module}", *FIRST.get(module, []))]
    tests = [name for name in tests if (ROOT / name).exists()]
    rest = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests").glob("test_*.py"))
    skip = {"tests/test_book_build.py", "tests/test_prose.py", "tests/test_benchmarks.py"}
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder, "sampled_metrics")
        shutil.copytree(PACKAGE, copied)
        (copied / f"{module}.py").write_text(source, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
        command += ["-m", "not slow", *dict.fromkeys([*tests, *(t for t in rest if t not in skip)])]
        environment = os.environ | {"PYTHONPATH": folder, "OPENBLAS_NUM_THREADS": "1"}
        try:
            run = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, timeout=900, check=False
            )
        except subprocess.TimeoutExpired:
            return False  # an endless loop is noticed, too
        return run.returncode == 0


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
    for module in modules:
        tree = ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8"))
        numbers = [number for number, _ in places(tree)]
        chosen = random.Random(module).sample(numbers, min(options.n, len(numbers)))
        made = [mutate(tree, number) for number in chosen]
        with ThreadPoolExecutor(options.j) as pool:
            alive = list(pool.map(lambda mutant, m=module: survives(m, mutant[0]), made))
        left = [what for (_, what), lives in zip(made, alive, strict=True) if lives]
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
