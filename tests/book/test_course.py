"""The zips for a course: what a student may see, what a teacher needs, what nbgrader asks for."""

import importlib
import io
import json
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest

pytest.importorskip("jupyter_book", reason="the light environment has no book")

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "book" / "_ext"))
sys.path.append(str(ROOT / "book" / "assignment"))
course: Any = importlib.import_module("course")
grade: Any = importlib.import_module("grade")
solution: Any = importlib.import_module("solution")
ANSWERS = (ROOT / "book/assignment/answers.md").read_text(encoding="utf-8")
NOTEBOOKS = {
    "README.txt": b"of all notebooks",
    "requirements.txt": b"./sampled_metrics.whl",
    "sampled_metrics.whl": b"",
    "book/data/ranks.csv": b"",
    "book/06-toy-example.ipynb": b"solved",
    "book/06-toy-example-student.ipynb": b"to do",
    "book/05b-part-sampling-student.ipynb": b"reads toy-example.md",
    "book/toy-example.md": b"solved",
}


@pytest.fixture(scope="module")
def zips(tmp_path_factory):
    """Write the zips from those of notebooks and slides; return the files of each."""
    folder = tmp_path_factory.mktemp("html")
    course.pack(folder / course.ZIP, NOTEBOOKS)
    course.pack(folder / course.SLIDES, {"slides.html": b"slides"})
    course.write_zips(folder)
    return {
        kind: {
            name.removeprefix(f"sampled-metrics-{kind}/"): archive.read(name)
            for name in archive.namelist()
        }
        for kind in ("student", "teacher")
        for archive in [zipfile.ZipFile(folder / f"sampled-metrics-{kind}.zip")]
    }


def notebook(content):
    """Read a notebook."""
    read = nbformat.read(io.BytesIO(content), as_version=4)
    nbformat.validate(read)
    return read


def test_students_get_nothing_that_is_solved(zips):
    assert set(zips["student"]) == {
        "README.txt",
        "requirements.txt",
        "sampled_metrics.whl",
        "book/data/ranks.csv",
        "book/06-toy-example-student.ipynb",
        "assignment.ipynb",
    }
    text = zips["student"]["assignment.ipynb"].decode()
    assert "SOLUTION" not in text
    assert "HIDDEN" not in text
    assert text.count("raise NotImplementedError") == 8


def test_everybody_may_read_what_is_unpacked(tmp_path):
    course.pack(tmp_path / "some.zip", NOTEBOOKS)
    with zipfile.ZipFile(tmp_path / "some.zip") as archive:
        assert {entry.external_attr >> 16 for entry in archive.infolist()} == {0o644}


def test_teachers_get_all_that_grades(zips, tmp_path):
    teacher = zips["teacher"]
    assert {*NOTEBOOKS, "slides/slides.html"} <= set(teacher)
    for name in re.findall(r"^assignment/[\w.-]+", teacher["README.txt"].decode(), re.MULTILINE):
        assert name in teacher, name
    for name, content in teacher.items():
        if name.endswith(".py"):
            assert content == (ROOT / "book" / name).read_bytes()
            local = re.findall(r"^(?:import|from) (\w+)", content.decode(), re.MULTILINE)
            for module in local:
                if (ROOT / f"book/assignment/{module}.py").exists():
                    assert f"assignment/{module}.py" in teacher


@pytest.mark.slow
def test_the_model_answers_get_all_points(zips, tmp_path):
    (tmp_path / "answers.ipynb").write_bytes(zips["teacher"]["assignment/assignment-answers.ipynb"])
    score = grade.grade(tmp_path / "answers.ipynb")
    assert score["points"] == score["of"] == 80, score
    assert score["notes"] == []


def test_only_the_answers_are_removed_for_students(zips):
    blank, model = (
        notebook(zips["teacher"][f"assignment/assignment{kind}.ipynb"]).cells
        for kind in ("", "-answers")
    )
    assert [cell.metadata for cell in blank] == [cell.metadata for cell in model]
    region = re.compile(r"\n *### BEGIN SOLUTION\n.*?### END SOLUTION", re.DOTALL)
    hidden = re.compile(r"\n### BEGIN HIDDEN TESTS\n.*?### END HIDDEN TESTS", re.DOTALL)
    for one, other in zip(blank, model, strict=True):
        without = region.sub("", hidden.sub("", other.source))
        assert without == one.source.replace("\n    raise NotImplementedError", "")


def test_nbgrader_knows_every_cell_that_counts(zips):
    """The rules of version 3 of its schema."""
    cells = notebook(zips["student"]["assignment.ipynb"]).cells
    known = [cell for cell in cells if "nbgrader" in cell.metadata]
    names = [cell.metadata.nbgrader.grade_id for cell in known]
    assert len(set(names)) == len(names)
    for cell in known:
        meta = cell.metadata.nbgrader
        assert meta.schema_version == 3
        assert meta.task is False
        assert {type(meta[key]) for key in ("grade", "solution", "locked")} == {bool}
        assert meta.grade == ("points" in meta)
        if cell.cell_type == "markdown":
            assert meta.grade
            assert meta.solution
    points = {
        cell.metadata.nbgrader.grade_id: cell.metadata.nbgrader.get("points") for cell in known
    }
    automatic = {name: points[name] for name in names if name.startswith("points-")}
    assert automatic == {f"points-{task}": n for task, n in enumerate((10, 15, 15, 20, 20), 1)}
    by_hand = {name: points[name] for name in names if name.startswith("answer-")}
    assert by_hand == {f"answer-{task}": n for task, n in enumerate((2, 2, 2, 3, 3, 8), 1)}


@pytest.mark.slow
def test_the_cell_that_nbgrader_runs_returns_points(zips, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = zips["teacher"]["assignment/assignment-answers.ipynb"]
    Path("assignment.ipynb").write_bytes(model)
    (cell,) = (
        cell
        for cell in notebook(model).cells
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "points-2"
    )
    names: dict[str, Any] = {}
    *first, last = cell.source.replace("### END HIDDEN TESTS", "").strip().split("\n")
    exec("\n".join(first), names)
    assert eval(last, names) == 15


def test_equal_sources_make_equal_notebooks():
    first, second = (json.dumps(course.assignment(True)) for _ in range(2))
    assert first == second


def test_the_numbers_in_the_answers_are_what_the_solution_computes():
    uniform = np.full(1000, 1 / 1000)
    top_heavy = 1 / np.arange(1, 1001)
    for prior in (uniform, top_heavy / top_heavy.sum()):
        table = solution.corrected_table(1000, 50, 10, prior)
        assert f"{table[0]:.3f}" in ANSWERS
        assert table.argmax() == 0
        pmf = [solution.sampled_rank_pmf(r, 1000, 50, True)[0] for r in range(1, 1001)]
        assert f"{prior @ pmf:.3f}" in ANSWERS
    assert solution.expected_sampled_recall(1900, 20_000, 100, 10) > 0.5
    assert solution.expected_sampled_recall(2000, 20_000, 100, 10) < 0.5
    assert f"{solution.expected_sampled_recall(1000, 20_000, 100, 10):.3f}" in ANSWERS
    assert solution.expected_sampled_recall(1000, 20_000, 999, 10) < 1e-9
