"""The assignment and its grader: right, empty, wrong and messy submissions."""

import ast
import contextlib
import csv
import importlib
import io
import json
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "book" / "assignment"
SOLUTION = (FOLDER / "solution.py").read_text(encoding="utf-8")
sys.path.append(str(FOLDER))  # as for a script that lies there
grade: Any = importlib.import_module("grade")
checks: Any = importlib.import_module("checks")
submission: Any = importlib.import_module("submission")
OF = {"1": 10, "2": 15, "3": 15, "4": 20, "5": 20}

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
        [("    above = range", "    m = m - 1\n    above = range")],
        {"3": 15},
    ),
    "a task left out": (
        [("    above = range", "    raise NotImplementedError\n    above = range")],
        {"3": 15},
    ),
    "always with replacement": ([("    if replacement:", "    if True:")], {"3": 4 + 2 + 3}),
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
    return notebook


def parts(*names):
    """Return some functions of the solution, as they are needed for one task."""
    functions = {f.name: f for f in ast.parse(SOLUTION).body if isinstance(f, ast.FunctionDef)}
    sources = [ast.get_source_segment(SOLUTION, functions[name]) for name in names]
    return "\n\n\n".join(["import numpy as np", *map(str, sources)])


TASK_2 = parts("ndcg", "average_precision")
TASK_3 = parts("sampled_rank_pmf")
LIMITS = {"seconds": 10, "total": 100, "memory": 1000}
BRIEF = 0.5  # seconds, where a test waits for their end
HANGS = "while True: __import__('time').sleep(9)"  # without a processor's time


def graded(folder, content, kind=".py", tasks=(1, 2, 3, 4, 5), **limits):
    """Grade a submission, and see that its end is in sight."""
    path = folder / f"submission{kind}"
    if isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    else:
        nbformat.write(content, path)
    limits = {**LIMITS, **limits}
    start = time.monotonic()
    score = grade.grade(path, grade.Limits(**limits), tasks)
    assert time.monotonic() - start < limits["total"] + 10
    assert json.loads(json.dumps(score)) == score
    return score


def lost(score):
    """Points lost, for each task where any is."""
    assert {number: task["of"] for number, task in score["tasks"].items()}.items() <= OF.items()
    assert score["points"] == sum(task["points"] for task in score["tasks"].values())
    each = {number: task["of"] - task["points"] for number, task in score["tasks"].items()}
    return {number: points for number, points in each.items() if points}


def problems(score):
    """Return all that is said of what went wrong, as one text."""
    return "\n".join([*score["notes"], *(check["problem"] for check in score["checks"])]).strip()


# --- Right and wrong -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", [".py", ".ipynb", ".md"])
def test_the_solution_gets_all_points(tmp_path, kind):
    content = SOLUTION if kind == ".py" else solved_notebook()
    if kind == ".md":
        content = jupytext.writes(content, fmt="md:myst")
    score = graded(tmp_path, content, kind, seconds=10)
    assert lost(score) == {}, problems(score)
    assert score["of"] == sum(OF.values())
    assert score["notes"] == []


def test_the_empty_assignment_gets_none_and_runs_to_its_end(tmp_path):
    score = graded(tmp_path, jupytext.read(FOLDER / "assignment.md"), ".ipynb")
    assert lost(score) == OF
    assert score["notes"] == []
    messages = {check["problem"] for check in score["checks"]}
    assert len(messages) == 8
    assert all(message.endswith(" is not written yet") for message in messages)


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_costs_its_own_points_and_no_others(tmp_path, name):
    changes, cost = WRONG[name]
    score = graded(tmp_path, changed(changes), seconds=10)
    assert lost(score) == cost, problems(score)
    for check in score["checks"]:
        assert bool(check["problem"]) == (check["points"] < check["of"])


def test_what_was_expected_is_kept_apart(tmp_path):
    score = graded(tmp_path, TASK_2.replace("ranks <= k, 1", "ranks < k, 1"), tasks=[2])
    (failed,) = (check for check in score["checks"] if "next to it" in check["tries"])
    assert failed["problem"] == "entry 0 of ndcg([7, 8, 6, 500, 1], 7) is 0."
    assert failed["expected"] == "It should be 0.333333."
    for answers in (True, False):
        assert ("0.333333" in grade.feedback(score, answers)) == answers
        assert ("0.333333" in json.dumps(grade.gradescope(score, answers))) == answers


# --- What only Jupyter understands ---------------------------------------------------------------

CELLS = {
    "%%time": ("%%time\n", 0),
    "%%timeit": ("\n%%timeit -n 1\n", 0),
    "%%capture": ("%%capture out\n", 0),
    "a magic line": ("%matplotlib inline\n", 1),
    "a command": ("!pip list it's\n", 1),
    "help": ("abs?\n?abs\n", 2),
    "the output of a command": ("files = !ls\n", 1),
    "the result of a magic": ("x = %timeit -o 1\n", 1),
    "a timed statement": ("x = %time 1 + 1\n%time y = x\nassert y == 2\n", 0),
    "indented": ("for i in range(2):\n    %timeit i\n    i / 1\n", 1),
    "in a string": ('text = """\n%d\n!\n"""\nassert "!" in text\n%pwd\n', 1),
    "await": ("import asyncio\nawait asyncio.sleep(0)\nassert await asyncio.sleep(0, 5) == 5\n", 0),
    "from the future": ("from __future__ import annotations\ndef f(x: later): pass\n", 0),
    "display": ("display(range(3))\n", 0),
}


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_keeps_its_points_and_says_what_was_left_out(tmp_path, name):
    first, left_out = CELLS[name]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(first + TASK_2)])
    score = graded(tmp_path, notebook, ".ipynb", tasks=[2])
    assert lost(score) == {}, problems(score)
    assert len(score["notes"]) == left_out
    for note in score["notes"]:
        assert re.fullmatch(
            r"Left out, as only Jupyter knows it: .*[%!?].* \(cell 1, line \d\)", note
        )


def test_a_messy_notebook_is_graded_and_its_errors_are_named(tmp_path):
    sources = [
        "%%bash\nls",
        "for i in range(2):\n    1 / i",
        "this is no Python",
        "return 3",
        "input('Your name: ')",
        "import warnings\nwarnings.warn('beware')\nexit()",
        "(" * 100_000,
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()",
        TASK_2,
    ]
    notebook = nbformat.v4.new_notebook(cells=[*map(nbformat.v4.new_code_cell, sources)])
    score = graded(tmp_path, notebook, ".ipynb", tasks=[2], seconds=30)
    assert lost(score) == {}, problems(score)
    assert [
        re.findall(r"^(.*?):.*\((cell \d+), line (\d)\)$", note)[0] for note in score["notes"]
    ] == [
        ("Left out, as only Jupyter knows it", "cell 1", "1"),
        ("ZeroDivisionError", "cell 2", "2"),
        ("SyntaxError", "cell 3", "1"),
        ("SyntaxError", "cell 4", "1"),
        ("EOFError", "cell 5", "1"),
        ("SystemExit", "cell 6", "3"),
        ("SyntaxError", "cell 7", "1"),
    ]


# --- Submissions that would take the grader with them -------------------------------------------

EVERY_PIPE = """
def every_pipe(does):
    for pipe in range(3, 20):
        try:
            does(pipe)
        except OSError:
            pass
"""
STATEMENTS = {  # that stand before a right solution of task 2, and what is said of them
    "an endless loop": (
        "while True: pass",
        "took more than 0.5 seconds, and is left out (cell 1, line 1)",
    ),
    "an end": ("import os; os._exit(0)", "ended the process (exit status 0)"),
    "a crash": ("import ctypes; ctypes.string_at(0)", "crashed the process (SIGSEGV)"),
    "an exit": ("import sys; sys.exit()", "SystemExit"),
    "a thread that never ends": (
        "import threading, time; threading.Thread(target=time.sleep, args=[999]).start()",
        "",
    ),
    "all memory": ("x = [0] * 10**10", "MemoryError"),
    "closed pipes": ("import os; os.closerange(0, 99)", "(cell 1, line 1)"),
    "a noise in all pipes": (
        f"import os{EVERY_PIPE}every_pipe(lambda pipe: os.write(pipe, b'noise\\n'))",
        "broke the connection",
    ),
    "a program": ("import subprocess; subprocess.run(['ls'])", ""),
    "a message that fails": (
        "class E(Exception):\n    def __str__(self): 1 / 0\nraise E",
        "and is left out (cell 1, line 3)",
    ),
    "a file of its own": (
        "import os, tempfile; open('x', 'w'); os.remove('x'); tempfile.TemporaryFile()",
        "",
    ),
    "a huge file": ("with open('x', 'wb') as f:\n    f.seek(2**30); f.write(b'x')", "OSError"),
}


def brief(said):
    """Return the limit of a test that may have to wait for it."""
    return {"seconds": BRIEF} if "took more" in said else {}


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_costs_no_points_and_is_named(tmp_path, name):
    statement, said = STATEMENTS[name]
    if sys.platform != "linux" and ("resource" in statement or "SIG" in said):
        pytest.skip("of Linux")
    score = graded(tmp_path, f"{statement}\n{TASK_2}", tasks=[2], **brief(said))
    assert lost(score) == {}, problems(score)
    assert len(score["notes"]) == bool(said), score["notes"]
    assert said in problems(score)


CALLS = {  # in the place of ndcg's return, and what is said of it
    "an endless loop": ("while True: pass", "took more than 0.5 seconds"),
    "an endless loop in C": ("return sum(range(10**12))", "took more than 0.5 seconds"),
    "a long sleep": ("import time; time.sleep(999)", "took more than 0.5 seconds"),
    "all memory": (
        "import itertools; return list(itertools.product(range(10), repeat=9))",
        "MemoryError|took more than 0.5 seconds",
    ),
    "an end": ("import os; os._exit(0)", "ended the process (exit status 0)"),
    "a crash": ("import ctypes; ctypes.string_at(0)", "crashed the process (SIGSEGV)"),
    "an exit": ("import sys; sys.exit()", "SystemExit"),
    "closed pipes": ("import os; os.closerange(0, 99)", "process"),
    "a flood in all pipes": (
        f"import os{EVERY_PIPE}while 1: every_pipe(lambda pipe: os.write(pipe, b'x' * 65536))",
        "broke the connection",
    ),
    "endless recursion": ("return ndcg(ranks, k)", "RecursionError"),
    "too long a list": ("return [0.0] * 2 * 10**6", "far more numbers|took more than 0.5 seconds"),
    "a list of itself": ("x = []; x.append(x); return x", "not numbers"),
    "too large a number": ("return 10**5000", "OverflowError|ValueError|not numbers"),
    "a string": ("return '0.5'", "returned '0.5', not numbers"),
    "nothing": ("return None", "returned None, not numbers"),
    "lists of different lengths": ("return [[1], [2, 3]]", "not an array of numbers"),
    "its own comparison": (
        "np.isclose = np.allclose = lambda *_, **__: np.array(True); return ranks * 0",
        "is 0.",
    ),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.slow
def test_a_call_costs_its_own_points_only(tmp_path, name):
    body, said = CALLS[name]
    if sys.platform != "linux" and ("SIG" in said or "Memory" in said):
        pytest.skip("of Linux")
    body = body.replace("\n", "\n    ")
    right = "    return np.where(ranks <= k, 1 / np.log2(ranks + 1), 0)"
    assert right in TASK_2
    score = graded(tmp_path, TASK_2.replace(right, f"    {body}"), tasks=[2], **brief(said))
    assert lost(score) == {"2": 5}, problems(score)
    assert re.search(said if "|" in said else re.escape(said), problems(score)), problems(score)


def test_who_changes_the_grader_changes_only_what_runs_the_submission(tmp_path):
    changes = """
import os, sys, __main__
os.environ["SCORE_JSON"] = "score.json"
__main__.plain = lambda _: [1.0] * 5
"""
    score = graded(tmp_path, TASK_2 + changes, tasks=[2])
    assert lost(score) == {"2": 15}
    assert "returned [1, 1, 1, 1, 1], of shape (5,)" in problems(score)


def test_a_huge_printout_costs_nothing(tmp_path):
    loud = "import os, sys\n" + TASK_2.replace(
        "    ranks =",
        "    print('x' * 10**7); os.write(1, b'x' * 10**7); sys.stderr.write('x')\n    ranks =",
    )
    assert lost(graded(tmp_path, loud, tasks=[2])) == {}


def test_a_call_that_hangs_now_and_then_costs_what_it_was_asked_for(tmp_path):
    text = TASK_2.replace("    ranks =", f"    if k == 20:\n        {HANGS}\n    ranks =")
    score = graded(tmp_path, text, tasks=[2], seconds=BRIEF)
    assert lost(score) == {"2": 3}, problems(score)


def test_a_function_that_never_returns_is_called_twice(tmp_path):
    text = TASK_2.replace("    values = []", f"    {HANGS}")
    score = graded(tmp_path, text, tasks=[2], seconds=BRIEF)
    assert lost(score) == {"2": 10}
    said = [check["problem"] for check in score["checks"] if check["problem"]]
    assert sum("took more than 0.5 seconds" in each for each in said) == 2
    assert sum("is not called any more" in each for each in said) == 3


@pytest.mark.slow
def test_all_of_it_has_its_time(tmp_path):
    text = "\n".join([HANGS] * 50 + [TASK_2])
    score = graded(tmp_path, text, tasks=[2], seconds=BRIEF, total=2)
    assert lost(score) == {"2": 15}
    assert "the time for the whole submission" in problems(score)


def test_where_the_system_limits_no_memory_it_is_watched(tmp_path, monkeypatch):
    pytest.importorskip("psutil")
    monkeypatch.setattr(submission, "SYSTEM_LIMITS_MEMORY", False)
    text = TASK_2.replace(
        "    ranks =", "    x = bytearray(b'x') * 3 * 10**8\n    while x: pass\n    ranks ="
    )
    score = graded(tmp_path, text, tasks=[2], seconds=30, memory=200)
    assert lost(score) == {"2": 5}, problems(score)
    assert "took more than 200 MB of memory" in problems(score)


@pytest.mark.skipif(sys.platform == "win32", reason="has no groups of processes")
def test_what_a_submission_starts_ends_with_it(tmp_path):
    psutil = pytest.importorskip("psutil")
    started = "import subprocess; subprocess.Popen(['sleep', '98765'])"
    assert lost(graded(tmp_path, f"{started}\n{TASK_2}", tasks=[2])) == {}
    left = [process.info["cmdline"] for process in psutil.process_iter(["cmdline"])]
    assert ["sleep", "98765"] not in left


# --- The package ---------------------------------------------------------------------------------

CALL = "Draw(m, n_items=n, replacement=replacement).pmf(r)"
DEFINE = "def sampled_rank_pmf(r, n, m, replacement): return "
NAMED = {
    "under another name": "from sampled_metrics import rank_distribution as sampled_rank_pmf",
    "in full": f"import sampled_metrics as sm\n{DEFINE}sm.{CALL}",
    "a module": f"from sampled_metrics.sampling import Draw\n{DEFINE}{CALL}",
    "importlib": f"import importlib\n{DEFINE}importlib.import_module('sampled_metrics').{CALL}",
    "__import__": f"{DEFINE}__import__('sampled_' + 'metrics').{CALL}",
}


@pytest.mark.parametrize("name", NAMED)
def test_the_package_does_no_task_however_it_is_named(tmp_path, name):
    score = graded(tmp_path, NAMED[name], tasks=[3])
    assert lost(score) == {"3": 15}
    assert "the task is to write it without the package" in problems(score)


def test_comparing_with_the_package_costs_nothing(tmp_path):
    text = f"import sampled_metrics as sm\n{TASK_2}\nprint(sm.NDCG(3)([1]), ndcg([1], 3))"
    score = graded(tmp_path, text, tasks=[2])
    assert lost(score) == {}
    assert len(score["notes"]) == 2


# --- Files, folders and commands -----------------------------------------------------------------


def zipped(path, files):
    """Write a zip of these files."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Grade a folder as it comes from a course's system."""
    folder = tmp_path_factory.mktemp("course") / "submissions"
    (folder / "dora").mkdir(parents=True)
    (folder / "dora" / "task 2.py").write_text(TASK_2)
    (folder / "dora" / "README.md").write_text("Hello")
    (folder / "ada.py").write_text(TASK_2)
    (folder / "bob.py").write_text("import os; os._exit(0)")
    (folder / "eve.py").write_text(f"while True: pass\n{TASK_2}")
    (folder / "finn.py").write_text(f"x = [0] * 10**10\n{TASK_2}")
    zipped(folder / "carl.zip", {"a/task.py": TASK_2, "__MACOSX/a/._task.py": "", "a/data.csv": ""})
    zipped(folder / "two.zip", {"a.py": TASK_2, "b.py": TASK_2})
    (folder / "empty").mkdir()
    for name in ("no notebook.ipynb", "no zip.zip", "essay.pdf", "<b>.py", "list.ipynb"):
        (folder / name).write_bytes(b"[" * 10**5 if name == "list.ipynb" else b"PK\xff")
    (folder / ".hidden").write_text("")
    out = folder / "graded"  # inside, as somebody will have it
    command = [sys.executable, FOLDER / "grade.py", folder, "--out", out, "--hide-answers"]
    subprocess.run([*command, "--seconds", "0.5"], check=True, stdout=subprocess.DEVNULL)
    return folder, out


POINTS = {"ada.py": 15, "carl.zip": 15, "dora": 15, "eve.py": 15, "finn.py": 15, "bob.py": 0,
          "two.zip": 0, "empty": 0, "no notebook.ipynb": 0, "no zip.zip": 0, "essay.pdf": 0,
          "<b>.py": 0, "list.ipynb": 0,
}  # fmt: skip


@pytest.mark.slow
def test_a_folder_is_graded_whatever_lies_in_it(course):
    _, out = course
    with (out / "scores.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["submission"]: row for row in csv.DictReader(file)}
    assert {name: int(row["points"]) for name, row in rows.items()} == POINTS
    assert rows["ada.py"]["task 2"] == "15"
    outcomes = {
        "ada.py": "ok",
        "carl.zip": "ok",
        "dora": "ok",
        "eve.py": "time",
        "finn.py": "memory",
    }
    assert {name: row["outcome"] for name, row in rows.items()} == dict.fromkeys(
        POINTS, "error"
    ) | outcomes
    for name in set(POINTS) - {*outcomes, "bob.py"}:
        assert "It cannot be read: " in rows[name]["notes"], name
    assert "ended the process" in rows["bob.py"]["notes"]


@pytest.mark.parametrize("name", POINTS)
def test_everybody_gets_a_page_and_a_file(course, name):
    score = json.loads((course[1] / f"{name}.json").read_text(encoding="utf-8"))
    assert score["points"] == POINTS[name]
    assert score["of"] == sum(OF.values())
    page = (course[1] / f"{name}.html").read_text(encoding="utf-8")
    assert f"{POINTS[name]} of {sum(OF.values())} points" in page
    assert "<b>" not in page
    for check in score["checks"]:
        assert check["tries"] in page


@pytest.fixture
def command(monkeypatch, capsys):
    """Run the grader as a teacher does, but in this process: what it exits with, and prints."""

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["grade.py", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            sys.exit(grade.main())
        return end.value.code, capsys.readouterr().out

    return command


def test_of_long_arguments_the_ends_are_shown_and_what_is_wrong(tmp_path):
    text = f"{TASK_2}\nright = ndcg\n\ndef ndcg(ranks, k):\n    found = right(ranks, k)\n"
    score = graded(tmp_path, f"{text}    found[4] = 7\n    return found\n", tasks=[2])
    few = r"entry 4 of ndcg\(\[(\d+, ){3}\.\.\., \d+, \.\.\.(, \d+){3}\], 20\) is 7"
    assert re.search(few, problems(score))
    assert "entry 4 of ndcg([7, 8, 6, 500, 1], 7) is 7" in problems(score)
    broken = graded(tmp_path, "def ranks_from_scores(*arguments): raise KeyError", tasks=[1])
    assert max(map(len, problems(broken).splitlines())) < 300  # of seven users with twelve scores


def test_one_submission_from_the_command_line(tmp_path, command):
    path = tmp_path / "submission.py"
    path.write_text(TASK_2)
    code, right = command(path, "--task", "2")
    assert code == 0, right
    assert re.search(r"automatic points +15 of  15", right)
    code, wrong = command(path, "--task", "1")
    assert code == 1
    assert "there is no function ranks_from_scores" in wrong
    assert command(tmp_path / "nobody.py")[0] == 2
    assert command(tmp_path, "--out", tmp_path / ".")[0] == 2


def test_gradescope_reads_its_results(tmp_path, command):
    (tmp_path / "submission").mkdir()
    (tmp_path / "submission" / "task2.py").write_text("1 / 0\n" + TASK_2)
    file = tmp_path / "results" / "results.json"
    command(tmp_path / "submission", "--gradescope", file)
    results = json.loads(file.read_text(encoding="utf-8"))
    assert "ZeroDivisionError" in results["output"]
    assert sum(test["max_score"] for test in results["tests"]) == sum(OF.values())
    assert sum(test["score"] for test in results["tests"]) == 15
    for test in results["tests"]:
        assert set(test) == {"name", "score", "max_score", "status", "output"}
        assert test["status"] == ("passed" if test["score"] else "failed")


def test_the_functions_that_stand_in_are_right():
    names: dict[str, Any] = {}
    for source in checks.RIGHT_FUNCTIONS.values():
        exec(source, names)
    for check in checks.CHECKS:
        if check.task in checks.RIGHT_FUNCTIONS and "wrong order" not in check.tries:
            check.test(lambda name, *arguments: (names[name](*arguments), name))


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
    rubric = re.findall(r"^\| (\d) [^|]*\| *(\d*)–? *\| *(\d+) *\|", guide, re.MULTILINE)
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
