"""What a course takes home: a zip for its students, and one for its teacher.

Both are the zip of notebooks with the assignment: the students' without anything that is solved,
the teacher's with the grader and the model answers.
"""

import ast
import re
import zipfile
from pathlib import Path

import jupytext
import nbformat
from slide_source import ZIP as SLIDES

from notebooks import ZIP, pack

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "book" / "assignment"
ANSWER = "*Your answer:*"
GRADER = ("grade.py", "submission.py", "child.py", "checks.py")
INSTALL = """\
Install what the notebooks need, and open them (on Windows .venv\\Scripts instead of .venv/bin):

    python3 -m venv .venv
    .venv/bin/python -m pip install -r requirements.txt
    .venv/bin/jupyter lab
"""
LICENSE = """\
License
Text and figures: Creative Commons Attribution 4.0, https://creativecommons.org/licenses/by/4.0/
Code: BSD-3-Clause, in the file LICENSE.
"""
STUDENT = f"""\
"Sampled Metrics, Exactly": the assignment, and the book's notebooks without solutions.

{INSTALL}
assignment.ipynb   the assignment; hand in this notebook
book/              the notebooks; change any input and run all cells again

{LICENSE}"""
TEACHER = f"""\
"Sampled Metrics, Exactly": what a teacher needs. Hand out sampled-metrics-student.zip.

{INSTALL}
book/                                 the notebooks, with and without solutions
slides/slides.html                    the slides, in Markdown that shows itself in a browser
assignment/assignment.ipynb           what students get
assignment/assignment-answers.ipynb   the same with functions and answers in words
assignment/grade.py                   grades; needs the other .py files beside it

Put what was handed in into a folder: notebooks, modules, zips, or a folder each. Then

    .venv/bin/python assignment/grade.py submissions --out graded

writes graded/scores.csv and, for each, a page of feedback. Add --hide-answers to keep the right
values to yourself. The submitted code may do whatever you may, so run the grader in a container.

Gradescope: in run_autograder, call
    python grade.py /autograder/submission --gradescope /autograder/results/results.json
GitHub Classroom: one command for each task; its exit status says whether it has all points:
    python grade.py assignment.ipynb --task 1
nbgrader: put assignment-answers.ipynb, renamed assignment.ipynb, and the .py files into
source/assignment/. `nbgrader generate_assignment` makes the students' version, and `nbgrader
autograde --ExecutePreprocessor.timeout=600` enters the points.

{LICENSE}"""


def assignment(model):
    """Return the assignment as a notebook, with nbgrader's metadata, and with answers if wanted."""
    notebook = jupytext.read(FOLDER / "assignment.md")
    text = (FOLDER / "assignment.md").read_text(encoding="utf-8")
    titles = re.findall(r"^## Task (\d): .*\((\d+) points(?:, (\d+) more)?", text, re.MULTILINE)
    cells, task, points = [], 0, {int(task): (a, b) for task, a, b in titles}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cells.append(code_cell(cell.source, model))
            continue
        for part in re.split(rf"\n*({re.escape(ANSWER)})\n*", cell.source):
            heading = re.search(r"^## Task (\d)", part, re.MULTILINE)
            question = re.search(r"^\*\*Question", part, re.MULTILINE)
            if question and not heading:
                cells.append(points_cell(task, points[task][0], model))
            task = int(heading[1]) if heading else task
            if part == ANSWER:
                cells.append(answer_cell(task, points[task][1] or points[task][0], model))
            elif part:
                cells.append(nbformat.v4.new_markdown_cell(part))
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"  # not a random one: equal sources make equal notebooks
    notebook.cells = cells
    return notebook


def graded(name, points=None, solution=False, locked=False):
    """Return the metadata by which nbgrader knows a cell."""
    known = {"schema_version": 3, "grade_id": name, "task": False}
    worth = {} if points is None else {"points": int(points)}
    return {
        "nbgrader": {**known, **worth, "grade": bool(worth), "solution": solution, "locked": locked}
    }


def solved(stub):
    """Return a cell of functions to write, written."""
    source = (FOLDER / "solution.py").read_text(encoding="utf-8")
    bodies = {
        function.name: "\n".join(
            source.splitlines()[function.body[0].lineno - 1 : function.end_lineno]
        )
        for function in ast.parse(source).body
        if isinstance(function, ast.FunctionDef)
    }
    for name in re.findall(r"^def (\w+)", stub, re.MULTILINE):
        body = f"    ### BEGIN SOLUTION\n{bodies[name]}\n    ### END SOLUTION"
        stub = stub.replace("    raise NotImplementedError", body, 1)
    return stub


def code_cell(source, model):
    """Return a cell with functions to write, or with the check of an example."""
    name = re.search(r"^(?:def (\w+)|check\((\w+))", source, re.MULTILINE)
    if "raise NotImplementedError" in source:
        metadata = graded(name[1], solution=True)
        return nbformat.v4.new_code_cell(solved(source) if model else source, metadata=metadata)
    example = graded(f"example-{name[2] or 'setup'}", locked=True)
    return nbformat.v4.new_code_cell(source, metadata=example)


def points_cell(task, points, model):
    """Return the cell whose result nbgrader takes for the points of a task."""
    source = f"# The points of task {task} are entered here."
    if model:
        hidden = f'from grade import points_of\n\npoints_of("assignment.ipynb", {task})'
        source += f"\n### BEGIN HIDDEN TESTS\n{hidden}\n### END HIDDEN TESTS"
    return nbformat.v4.new_code_cell(source, metadata=graded(f"points-{task}", points, locked=True))


def answer_cell(task, points, model):
    """Return the cell for an answer in words."""
    source = f"{ANSWER}\n"
    if model:
        text = (FOLDER / "answers.md").read_text(encoding="utf-8")
        answer = re.search(rf"^## Question {task}\n\n(.*?)\s*(?=^## |\Z)", text, re.M | re.S)[1]
        source += f"\n### BEGIN SOLUTION\n{answer}\n### END SOLUTION"
    metadata = graded(f"answer-{task}", points, solution=True)
    return nbformat.v4.new_markdown_cell(source, metadata=metadata)


def is_for_students(name):
    """Say whether a file of the notebooks' zip is without what a student should find.

    A part's first page counts the exercises in the sources of its chapters, which have solutions.
    """
    page = name.startswith("book/") and name.endswith((".ipynb", ".md"))
    return not page or (name.endswith("-student.ipynb") and "-part-" not in name)


def contents(path):
    """Return the files of a zip by their names in its folder."""
    with zipfile.ZipFile(path) as archive:
        return {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}


def write_zips(folder):
    """Write both zips beside those of the notebooks and of the slides."""
    files = contents(folder / ZIP)
    # a build of some pages may be without slides
    slides = contents(folder / SLIDES) if (folder / SLIDES).exists() else {}
    blank, answers = (nbformat.writes(assignment(model)).encode() for model in (False, True))
    student = {name: file for name, file in files.items() if is_for_students(name)}
    student |= {"README.txt": STUDENT.encode(), "assignment.ipynb": blank}
    pack(folder / "sampled-metrics-student.zip", student)
    own = {name: (FOLDER / name).read_bytes() for name in GRADER}
    own |= {"assignment.ipynb": blank, "assignment-answers.ipynb": answers}
    teacher = files | {f"assignment/{name}": content for name, content in own.items()}
    teacher |= {f"slides/{name}": content for name, content in slides.items()}
    teacher["README.txt"] = TEACHER.encode()
    pack(folder / "sampled-metrics-teacher.zip", teacher)


def after_the_notebooks(app, exception):
    """Write what the guide links."""
    if exception is None and app.builder.format == "html":
        write_zips(Path(app.outdir))


def setup(app):
    """Register the above with Sphinx."""
    app.connect("build-finished", after_the_notebooks, priority=900)  # it reads their zip
    return {"parallel_read_safe": True, "parallel_write_safe": True}
