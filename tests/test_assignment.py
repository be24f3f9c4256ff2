"""The assignment and its grader: right, empty, wrong and messy submissions."""

import ast
import contextlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "book" / "assignment"
SOLUTION = Path(__file__).with_name("assignment_solution.py").read_text(encoding="utf-8")
OF = {"1": 10, "2": 15, "3": 15, "4": 20, "5": 20}

PACKAGE = "    return Draw(m, n_items=n, replacement=replacement).pmf(r)"
WRONG = {  # what is changed in the solution, into what, and the points that this must cost
    "ties optimistic": (
        [("scores >= own", "scores > own"), ("not_worse.sum(axis=1)", "1 + not_worse.sum(axis=1)")],
        {"1": 3},
    ),
    "training items compete": ([(" & ~train", "")], {"1": 3}),
    "training items erased": (
        [("    own = ", "    scores[train] = -np.inf\n    own = ")],
        {"1": 1},
    ),
    "k as denominator": ([("min(len(user), k)", "k")], {"2": 3 + 3 + 1 + 1}),
    "hits as denominator": (
        [("min(len(user), k)", "max(1, sum(r <= k for r in user))")],
        {"2": 3 + 2 + 1},
    ),
    "zero without relevant items": ([("append(np.nan)", "append(0.0)")], {"2": 1}),
    "ndcg is missing": ([("def ndcg", "def dcg")], {"2": 5}),
    "one item too few drawn": (
        [("    above = np.arange", "    m = m - 1\n    above = np.arange")],
        {"3": 15},
    ),
    "always with replacement": ([("    if replacement:", "    if True:")], {"3": 4 + 2 + 3}),
    "the package does it": (
        [
            ("import numpy", "from sampled_metrics import Draw\nimport numpy"),
            ("    above = np.arange(m + 1)", PACKAGE),
        ],
        {"3": 15},
    ),
    "no flip": ([("[k, n], [k + 1, k + 1]", "[k, k], [k + 1, n]")], {"4": 10}),
    "cutoff one too low": ([("True)[:k].sum()", "True)[: k - 1].sum()")], {"4": 3 + 2 + 3 + 2 - 2}),
    "table not corrected": (
        [("    return np.divide(", "    return np.arange(m + 1) < k\n    np.divide(")],
        {"5": 4 + 4 + 2 + 2},
    ),
    "variance instead of std": ([("np.sqrt(p @ (table - mean) ** 2)", "p @ (table - mean) ** 2")],
                                {"5": 3 + 3}),
}  # fmt: skip


def changed(changes):
    """Return the solution with some text replaced."""
    text = SOLUTION
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def solved_notebook():
    """Return the assignment with the solution's functions in its cells."""
    notebook = jupytext.read(FOLDER / "assignment.md")
    tree = ast.parse(SOLUTION)
    answers = {f.name: ast.get_source_segment(SOLUTION, f) for f in tree.body if hasattr(f, "name")}
    for cell in notebook.cells:
        if cell.cell_type == "code" and "raise NotImplementedError" in cell.source:
            names = re.findall(r"^def (\w+)", cell.source, re.MULTILINE)
            cell.source = "\n\n\n".join(str(answers.pop(name)) for name in names)
    assert not answers
    notebook.cells.insert(1, nbformat.v4.new_code_cell("from scipy import stats"))
    return notebook


def messy_notebook():
    """Return it with cells that a program must be ready for."""
    notebook = solved_notebook()
    cells = [
        "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()",
        "!pip list\nabs?\ndisplay(range(3))",
        "%%timeit\nranks_from_scores",
        "for i in range(2):\n    %time i\n    print(1 / i)",
        "import warnings\nwarnings.warn('beware')\nexit()",
        "this is no Python",
    ]
    notebook.cells[2:2] = [nbformat.v4.new_code_cell(cell) for cell in cells]
    return notebook


def write_submissions(folder):
    """Write all submissions, each under its name."""
    for name, (changes, _) in WRONG.items():
        (folder / f"{name}.py").write_text(changed(changes), encoding="utf-8")
    (folder / "solution.py").write_text(SOLUTION, encoding="utf-8")
    nbformat.write(solved_notebook(), folder / "solution.ipynb")
    jupytext.write(solved_notebook(), folder / "solution.md", fmt="md:myst")
    nbformat.write(messy_notebook(), folder / "messy.ipynb")
    nbformat.write(jupytext.read(FOLDER / "assignment.md"), folder / "empty.ipynb")
    (folder / "no notebook.ipynb").write_text("PK", encoding="utf-8")
    # where the system has no alarms, an error instead
    hang = "while k == 20: pass" if hasattr(signal, "SIGALRM") else "assert k != 20"
    text = changed(
        [("    ranks = np.asarray(ranks)", f"    {hang}\n    ranks = np.asarray(ranks)")]
    )
    (folder / "endless.py").write_text(text, encoding="utf-8")


ALL = """
import os, pytest, sys
for path in sys.argv[2:]:
    os.environ.update(SUBMISSION=path, SCORE_JSON=f"scores/{path}.json")
    pytest.main([sys.argv[1], "-p", "no:cacheprovider"])
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Lay out submissions beside a copy of the grader that has nothing of ours around it."""
    folder = tmp_path_factory.mktemp("course")
    shutil.copy(FOLDER / "grade.py", folder)
    write_submissions(folder)
    return folder


@pytest.fixture(scope="module")
def scores(course):
    """Grade all submissions, in one process: most of the time is spent on imports."""
    names = [path.name for path in course.iterdir() if path.stem not in ("grade", "endless")]
    command = [sys.executable, "-c", ALL, "grade.py", *names]
    subprocess.run(command, cwd=course, stdout=subprocess.DEVNULL, check=True)
    return {name: read_score(course / f"scores/{name}.json") for name in names}


def read_score(path):
    """Return a score that the grader has written."""
    return json.loads(path.read_text(encoding="utf-8"))


def lost(score):
    """Points lost, for each task where any is."""
    assert {number: task["of"] for number, task in score["tasks"].items()} == OF
    assert score["of"] == sum(OF.values())
    assert score["points"] == sum(task["points"] for task in score["tasks"].values())
    each = {number: OF[number] - task["points"] for number, task in score["tasks"].items()}
    return {number: points for number, points in each.items() if points}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["solution.py", "solution.ipynb", "solution.md"])
def test_the_solution_gets_all_points(scores, name):
    assert lost(scores[name]) == {}, scores[name]
    assert scores[name]["errors"] == []


@pytest.mark.slow
def test_the_empty_assignment_gets_none_and_runs_to_its_end(scores):
    score = scores["empty.ipynb"]
    assert lost(score) == OF
    assert score["errors"] == []
    messages = {text for task in score["tasks"].values() for text in task["failed"].values()}
    assert len(messages) == 8
    assert all(message.endswith(" is not written yet") for message in messages)


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_costs_its_own_points_and_no_others(scores, name):
    assert lost(scores[f"{name}.py"]) == WRONG[name][1], scores[f"{name}.py"]


@pytest.mark.slow
def test_a_messy_notebook_is_graded_and_its_errors_are_named(scores):
    score = scores["messy.ipynb"]
    assert lost(score) == {}, score
    kinds = [error.split(":")[0] for error in score["errors"]]
    assert kinds == ["ZeroDivisionError", "SystemExit", "SyntaxError"], score["errors"]
    assert [re.findall(r"\((cell .*)\)", error) for error in score["errors"]] == [
        ["cell 5, line 3"],
        ["cell 6, line 3"],
        ["cell 7, line 1"],
    ]


@pytest.mark.slow
def test_what_is_no_notebook_gets_no_points(scores):
    score = scores["no notebook.ipynb"]
    assert lost(score) == OF
    assert "cannot be read" in score["errors"][0]


@pytest.mark.slow
def test_the_command_of_the_guide_and_an_endless_loop(course):
    command = [sys.executable, "grade.py", "endless.py", "--json", "scores/endless.py.json"]
    environment = {**os.environ, "PYTHONUTF8": "1", "GRADE_SECONDS": "3"}
    run = subprocess.run(
        command, cwd=course, env=environment, capture_output=True, encoding="utf-8", timeout=120
    )
    assert run.returncode == pytest.ExitCode.TESTS_FAILED, run.stdout
    assert lost(read_score(course / "scores/endless.py.json")) == {"2": 3}
    assert re.search(r"automatic points +77 of  80", run.stdout)
    if hasattr(signal, "SIGALRM"):
        assert "it took more than 3 seconds" in run.stdout


@pytest.mark.slow
def test_pytest_runs_it_from_the_repository():
    command = [sys.executable, "-m", "pytest", "book/assignment/grade.py"]
    for submission, code, text in [
        ("tests/assignment_solution.py", pytest.ExitCode.OK, "80 of  80"),
        ("", pytest.ExitCode.USAGE_ERROR, "set SUBMISSION to a file"),
    ]:
        environment = {**os.environ, "SUBMISSION": submission}
        run = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8"
        )
        assert run.returncode == code, run.stdout
        assert text in run.stdout + run.stderr


def test_the_worked_examples_hold():
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        names: dict[str, Any] = {}
        for cell in solved_notebook().cells:
            if cell.cell_type == "code":
                exec(cell.source, names)
    lines = output.getvalue().splitlines()
    assert len(lines) == 8
    assert all(line.endswith(": as in the example") for line in lines), lines


def test_the_points_in_the_texts_are_those_of_the_grader():
    text = (FOLDER / "assignment.md").read_text(encoding="utf-8")
    tasks = re.findall(r"^## Task (\d): .*\((\d+) points(?:, (\d+) more)?", text, re.MULTILINE)
    assert {number: int(points) for number, points, _ in tasks[:5]} == OF
    by_hand = {number: int(more or points) for number, points, more in tasks}
    assert sum(by_hand.values()) == 20
    guide = (ROOT / "book/teaching.md").read_text(encoding="utf-8")
    rubric = re.findall(r"^\| (\d) [^|]*\| *(\d*) *\| *(\d+) *\|", guide, re.MULTILINE)
    assert {n: int(points) for n, points, _ in rubric if points} == OF
    assert {n: int(points) for n, _, points in rubric} == by_hand


def test_the_minutes_of_the_plans_add_up():
    guide = (ROOT / "book/teaching.md").read_text(encoding="utf-8")
    plans = re.findall(r"^## (One l\w+).*?\n((?:.*\n)*?)(?=## )", guide, re.MULTILINE)
    minutes = {
        name: sum(int(n) for n in re.findall(r"^\| (\d+) \|", plan, re.MULTILINE))
        for name, plan in plans
    }
    assert minutes == {"One lecture": 75, "One lab": 150}
