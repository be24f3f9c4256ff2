"""The zip of notebooks as a student meets it: unpacked, installed from its requirements, run.

Building the site has executed each page. What is downloaded with results is that, cell by cell,
and so is the source when it is opened as a notebook; without solutions it is executed here.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXECUTED = ROOT / "_build" / "jupyter_execute" / "book"
ZIP = ROOT / "_build" / "html" / "sampled-metrics-notebooks.zip"
PAGES = sorted(p.stem for p in ROOT.glob("book/*.md") if "{code-cell}" in p.read_text("utf-8"))
WITH_EXERCISES = [
    p for p in PAGES if "{exercise-start}" in (ROOT / f"book/{p}.md").read_text("utf-8")
]
every_page = pytest.mark.parametrize("page", PAGES)


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory):
    if not ZIP.exists():
        pytest.fail(f"There is no {ZIP}: run `make book` first.", pytrace=False)
    folder = tmp_path_factory.mktemp("unpacked")
    zipfile.ZipFile(ZIP).extractall(folder)
    return folder / ZIP.stem


@pytest.fixture(scope="session")
def python(unpacked):
    """Set up the environment as README.txt says, by uv where that is at hand."""
    subprocess.run([sys.executable, "-m", "venv", ".venv"], cwd=unpacked, check=True)
    python = unpacked / ".venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    install = [python, "-m", "pip", "install"]
    if find_spec("uv"):
        install = [sys.executable, "-m", "uv", "pip", "install", "--python", python]
    subprocess.run([*install, "--quiet", "-r", "requirements.txt"], cwd=unpacked, check=True)
    return python


@pytest.fixture(scope="session")
def sources(unpacked, python):
    """Open every source with jupytext."""
    folder = unpacked / "opened"
    folder.mkdir()
    files = [shutil.copy(unpacked / "book" / f"{page}.md", folder) for page in PAGES]
    command = [python, "-m", "jupytext", "--to", "ipynb", *files]
    subprocess.run(command, check=True, capture_output=True)
    return {page: read(folder / f"{page}.ipynb") for page in PAGES}


# Run notebooks in place, two at a time, to their ends.
RUN = """
import sys
from concurrent.futures import ThreadPoolExecutor
import nbclient, nbformat
def run(path):
    notebook = nbformat.read(path, as_version=4)
    nbclient.execute(notebook, allow_errors=True, timeout=300)
    nbformat.write(notebook, path)
with ThreadPoolExecutor(2) as pool:
    list(pool.map(run, sys.argv[1:]))
"""


@pytest.fixture(scope="session")
def runs(unpacked, python):
    """Run a copy of every student's notebook beside it; return the cells."""
    folder = unpacked / "book"
    names = [
        shutil.copy(folder / f"{page}-student.ipynb", folder / f"{page}-run.ipynb").name
        for page in PAGES
    ]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment["OMP_NUM_THREADS"] = "1"  # as for the site: the same sums to the last digit
    subprocess.run([python, "-c", RUN, *names], cwd=folder, env=environment, check=True)
    return {page: code(read(folder / f"{page}-run.ipynb")) for page in PAGES}


def read(path):
    return json.loads(path.read_text("utf-8"))["cells"]


def code(cells):
    return [cell for cell in cells if cell["cell_type"] == "code"]


def tags(cell):
    return cell["metadata"].get("tags", [])


def texts(cells, kind):
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == kind]


@every_page
def test_what_is_downloaded_is_what_the_site_shows(page, unpacked):
    ours, theirs = (
        code(read(EXECUTED / f"{page}.ipynb")),
        code(read(unpacked / f"book/{page}.ipynb")),
    )
    assert ours
    for part in ("source", "outputs", "execution_count"):
        assert [cell[part] for cell in theirs] == [cell[part] for cell in ours]
    assert [cell["execution_count"] for cell in theirs] == list(range(1, len(theirs) + 1))


@every_page
def test_a_source_opens_as_the_same_notebook(page, sources, unpacked):
    ours = code(read(unpacked / f"book/{page}.ipynb"))
    assert texts(sources[page], "code") == ["".join(cell["source"]) for cell in ours]


@every_page
def test_a_student_gets_the_cells_of_the_page(page, unpacked):
    whole = {cell["id"]: cell for cell in code(read(unpacked / f"book/{page}.ipynb"))}
    student = code(read(unpacked / f"book/{page}-student.ipynb"))
    ids = [cell["id"] for cell in student]
    assert ids == [name for name in whole if name in ids]
    assert [cell["source"] for cell in student] == [whole[name]["source"] for name in ids]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in student)
    checks = [name for name, cell in whole.items() if "remove-cell" in tags(cell)]
    assert not set(checks) & set(ids), "the book's own checks are not for other inputs"
    left_out = set(whole) - set(ids) - set(checks)
    assert bool(left_out) == (page in WITH_EXERCISES)


def results(cell):
    """What a cell shows as text; addresses in memory are no results."""
    outputs = [o for o in cell["outputs"] if o.get("name") != "stderr"]
    shown = [o.get("text") or o.get("data", {}).get("text/plain", "") for o in outputs]
    return re.sub(r"0x[0-9a-f]+", "0x", "".join(map("".join, shown)))


@every_page
def test_a_students_notebook_runs_and_shows_the_same(page, unpacked, runs):
    whole = {cell["id"]: results(cell) for cell in code(read(unpacked / f"book/{page}.ipynb"))}
    for cell in runs[page]:
        assert cell["execution_count"]
        errors = [o["traceback"] for o in cell["outputs"] if o["output_type"] == "error"]
        assert not errors, "\n".join(errors[0])
        assert results(cell) == whole[cell["id"]], "".join(cell["source"])


def test_the_package_is_the_released_one(unpacked, python):
    where = "import sampled_metrics; print(sampled_metrics.__file__)"
    command = [python, "-I", "-c", where]
    path = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert Path(path).is_relative_to(unpacked)


@every_page
@pytest.mark.parametrize("kind", [".ipynb", "-student.ipynb"])
def test_the_text_needs_no_extension(page, kind, unpacked):
    for text in texts(read(unpacked / "book" / f"{page}{kind}"), "markdown"):
        assert not re.search(r"\{[a-z:-]+\}`|^```\{|^:::|^\([\w-]+\)=$", text, re.M), text
        assert not re.search(r"\b(?:fig|ex|thm)-[a-z]", text), text  # a label not resolved


@pytest.mark.parametrize("page", WITH_EXERCISES)
def test_students_get_exercises_without_solutions(page, unpacked, runs):
    full = "\n".join(texts(read(unpacked / f"book/{page}.ipynb"), "markdown"))
    text = "\n".join(texts(read(unpacked / f"book/{page}-student.ipynb"), "markdown"))
    exercises = text.count("#### Exercise")
    assert exercises >= 2
    assert exercises == full.count("#### Exercise") == full.count("**Solution.**")
    assert "Solution" not in text
    printed = [  # a kernel may send what a cell prints in several pieces
        "".join(
            "".join(output["text"])
            for output in cell.get("outputs", [])
            if output.get("name") == "stdout"
        )
        for cell in runs[page]
        if "check(" in "".join(cell["source"])
    ]
    assert printed == ["No answer yet.\n"] * exercises
