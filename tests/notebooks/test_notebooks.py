"""The zip of notebooks as a student meets it: unpacked, installed from its requirements, run."""

import json
import os
import re
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ZIP = ROOT / "_build" / "html" / "sampled-metrics-notebooks.zip"
PAGES = sorted(p.stem for p in ROOT.glob("book/*.md") if "{code-cell}" in p.read_text("utf-8"))
WITH_EXERCISES = [
    p for p in PAGES if "{exercise-start}" in (ROOT / f"book/{p}.md").read_text("utf-8")
]
NOTEBOOKS = [f"{page}{kind}" for page in PAGES for kind in (".md", "-student.ipynb")]


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory):
    if not ZIP.exists():
        pytest.fail(f"There is no {ZIP}: run `make book` first.", pytrace=False)
    folder = tmp_path_factory.mktemp("unpacked")
    zipfile.ZipFile(ZIP).extractall(folder)
    return folder / ZIP.stem


@pytest.fixture(scope="session")
def python(unpacked):
    """Set up the environment as README.txt says."""
    subprocess.run([sys.executable, "-m", "venv", ".venv"], cwd=unpacked, check=True)
    python = unpacked / ".venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    install = [python, "-m", "pip", "install", "--quiet", "-r", "requirements.txt"]
    subprocess.run(install, cwd=unpacked, check=True)
    return python


@pytest.fixture(scope="session")
def runs(unpacked, python):
    """Open and run every notebook with jupytext, two at a time."""

    def run(name):
        target = f"{name.replace('.', '-')}-run.ipynb"
        command = [python, "-m", "jupytext", "--to", "ipynb", "--execute", "-o", target, name]
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        for _ in range(3):
            done = subprocess.run(
                command, cwd=unpacked / "book", capture_output=True, text=True, env=environment
            )
            if "Address already in use" not in done.stderr:  # two kernels chose the same port
                break
        return done, unpacked / "book" / target

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(NOTEBOOKS, pool.map(run, NOTEBOOKS), strict=True))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_notebook_opens_and_runs(name, runs):
    done, target = runs[name]
    assert done.returncode == 0, done.stderr[-3000:]
    code = [c for c in json.loads(target.read_text("utf-8"))["cells"] if c["cell_type"] == "code"]
    assert code
    assert all(cell["execution_count"] for cell in code)


def test_the_package_is_the_released_one(unpacked, python):
    where = "import sampled_metrics; print(sampled_metrics.__file__)"
    command = [python, "-I", "-c", where]
    path = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert Path(path).is_relative_to(unpacked)


def texts(notebook, kind):
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == kind]


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("kind", [".ipynb", "-student.ipynb"])
def test_the_text_needs_no_extension(page, kind, unpacked):
    for text in texts(unpacked / "book" / f"{page}{kind}", "markdown"):
        assert not re.search(r"\{[a-z:-]+\}`|^```\{|^:::|^\([\w-]+\)=$", text, re.M), text
        assert not re.search(r"\b(?:fig|ex|thm)-[a-z]", text), text  # a label not resolved


@pytest.mark.parametrize("page", WITH_EXERCISES)
def test_students_get_exercises_without_solutions(page, unpacked, runs):
    full = "\n".join(texts(unpacked / "book" / f"{page}.ipynb", "markdown"))
    student = unpacked / "book" / f"{page}-student.ipynb"
    text = "\n".join(texts(student, "markdown"))
    exercises = text.count("#### Exercise")
    assert exercises >= 2
    assert exercises == full.count("#### Exercise") == full.count("**Solution.**")
    assert "Solution" not in text
    _, target = runs[student.name]
    printed = [
        "".join(output["text"])
        for cell in json.loads(target.read_text("utf-8"))["cells"]
        for output in cell.get("outputs", [])
        if output.get("name") == "stdout" and "check(" in "".join(cell["source"])
    ]
    assert printed == ["No answer yet.\n"] * exercises
