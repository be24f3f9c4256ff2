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
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from bs4 import BeautifulSoup

ROOT = Path(__file__).parents[2]
EXECUTED = ROOT / "_build" / "executed" / "book"
SITE = ROOT / "_build" / "html"
ZIP = SITE / "sampled-metrics-notebooks.zip"
PAGES = sorted(p.stem for p in ROOT.glob("book/*.md") if "{code-cell}" in p.read_text("utf-8"))
WITH_EXERCISES = [
    p for p in PAGES if "{exercise-start}" in (ROOT / f"book/{p}.md").read_text("utf-8")
]
every_page = pytest.mark.parametrize("page", PAGES)
both_kinds = pytest.mark.parametrize("kind", ["", "-student"])
# What a student may change, in a chapter of each part and more: a page, what it has, what to put.
CHANGES = [
    ("five-users", "[[1, 6, 8],", "[[1, 8, 6],"),
    ("top-heavy", "for top in (10, 100)", "for top in (10, 200)"),
    ("toy-example", "[212, 2, 743,", "[212, 3, 743,"),
    ("sampled-rank", "n, m, r = 10_000, 99, 212", "n, m, r = 5_000, 49, 212"),
    ("corrections", "n, m = 10_000, 100", "n, m = 5_000, 50"),
    ("movielens", "rng=2020", "rng=2021"),
    ("when-harmless", '"A": [100, 100,', '"A": [90, 100,'),
    ("where-to-sample", 'movielens["Y"], rng=0', 'movielens["Y"], rng=7'),
    ("beyond-recommenders", "0.75 *", "0.8 *"),
    ("evaluate-your-own", "Draw(50)", "Draw(40)"),
]


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


@pytest.fixture(scope="session")
def runs(unpacked, python):
    """Run a copy of every student's notebook beside it, and of some with a change.

    Return the cells, by the page and by the page and the change.
    """
    folder, copies = unpacked / "book", {}
    for page in PAGES:
        copies[page] = folder / f"{page}-run.ipynb"
        shutil.copy(notebook(unpacked, page, "-student"), copies[page])
    for number, (page, old, new) in enumerate(CHANGES):
        old, new = (json.dumps(text)[1:-1] for text in (old, new))
        copies[page, number] = folder / f"{page}-changed-{number}.ipynb"
        text = copies[page].read_text("utf-8")
        assert old in text
        copies[page, number].write_text(text.replace(old, new), "utf-8")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment["OMP_NUM_THREADS"] = "1"  # as for the site: the same sums to the last digit

    def run(path):
        command = [python.with_name("jupyter-execute"), "--inplace", "--allow-errors", path]
        subprocess.run([*command, "--timeout=300"], env=environment, check=True)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, copies.values()))
    return {key: code(read(path)) for key, path in copies.items()}


def notebook(unpacked, page, kind=""):
    """Return the page's notebook, whatever its number."""
    names = re.compile(rf"\d\d[a-z]?-{page}{kind}\.ipynb")
    (path,) = filter(lambda path: names.fullmatch(path.name), (unpacked / "book").iterdir())
    return path


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
        code(read(notebook(unpacked, page))),
    )
    assert ours
    for part in ("source", "outputs", "execution_count"):
        assert [cell[part] for cell in theirs] == [cell[part] for cell in ours]
    assert [cell["execution_count"] for cell in theirs] == list(range(1, len(theirs) + 1))


@every_page
def test_a_source_opens_as_the_same_notebook(page, sources, unpacked):
    ours = code(read(notebook(unpacked, page)))
    assert texts(sources[page], "code") == ["".join(cell["source"]) for cell in ours]


@every_page
def test_a_student_gets_the_cells_of_the_page(page, unpacked):
    whole = {cell["id"]: cell for cell in code(read(notebook(unpacked, page)))}
    student = code(read(notebook(unpacked, page, "-student")))
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
    whole = {cell["id"]: results(cell) for cell in code(read(notebook(unpacked, page)))}
    for cell in runs[page]:
        assert cell["execution_count"]
        assert errors(cell) == []
        assert results(cell) == whole[cell["id"]], "".join(cell["source"])


def errors(cell):
    return ["".join(o["traceback"]) for o in cell["outputs"] if o["output_type"] == "error"]


@pytest.mark.parametrize("number", range(len(CHANGES)), ids=[page for page, *_ in CHANGES])
def test_a_student_may_change_an_input_and_run_all(number, runs):
    page = CHANGES[number][0]
    assert [error for cell in runs[page, number] for error in errors(cell)] == []
    as_given, changed = ([cell["outputs"] for cell in runs[key]] for key in (page, (page, number)))
    assert as_given != changed, "a number or a figure"


def test_the_package_is_the_released_one(unpacked, python):
    where = "import sampled_metrics; print(sampled_metrics.__file__)"
    command = [python, "-I", "-c", where]
    path = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert Path(path).is_relative_to(unpacked)


@every_page
@both_kinds
def test_the_text_needs_no_extension(page, kind, unpacked):
    for text in texts(read(notebook(unpacked, page, kind)), "markdown"):
        assert text.strip(), "an empty cell"
        assert not re.search(r"\{[a-z:-]+\}`|^(```+|:::+)\{|^:::|^\([\w-]+\)=$", text, re.M), text
        assert not re.search(r"\b(?:fig|ex|thm)-[a-z]", text), text  # a label not resolved


@cache
def soup(page):
    return BeautifulSoup((SITE / f"book/{page}.html").read_text("utf-8"), "html.parser")


def words(text):
    """Leave out what the site writes in another way: formulas, addresses, the order of works."""
    text = re.sub(r"\$.*?\$|\\\(.*?\\\)|\]\(.*?\)|n\.d\.", "", text, flags=re.DOTALL)
    return sorted(re.findall(r"\w+", text))


@every_page
@both_kinds
def test_figures_and_equations_are_numbered_as_on_the_page(page, kind, unpacked):
    article, cells = soup(page).find("article"), read(notebook(unpacked, page, kind))
    shown = "\n".join(texts(cells, "markdown"))
    captions = [
        words(caption.find(class_="caption-text").get_text())
        for caption in article.select("figcaption")
        if caption.find(class_="caption-number")
    ]
    numbers = [number.get_text().strip() for number in article.select(".caption-number")]
    numbers = [number for number in numbers if number.startswith("Fig")]
    below = re.findall(r"^\*\*(Fig\. [\d.]+)\.\*\* (.*)$", shown, re.MULTILINE)
    assert [number for number, _ in below] == numbers
    assert [words(caption) for _, caption in below] == captions
    for before, cell in pairwise(cells):
        if re.match(r"\*\*Fig\. ", "".join(cell["source"])):
            assert "figure" in before["metadata"]["mystnb"]
    tags = [number.get_text().strip("()#") for number in article.select(".eqno")]
    found = re.findall(r"\\tag\{(.*?)\}", shown)
    assert found == (tags if kind == "" else [tag for tag in tags if tag in found])


@every_page
@both_kinds
def test_links_lead_to_notebooks_of_the_same_kind(page, kind, unpacked):
    text = "\n".join(texts(read(notebook(unpacked, page, kind)), "markdown"))
    files = re.findall(r"\]\((?!https?:)([^)\s]+)\)", text)
    for file in files:
        assert (unpacked / "book" / file).exists()
        assert file.endswith(f"{kind}.ipynb")
        assert kind or "-student" not in file
    assert files


def test_notebooks_are_numbered_in_the_order_of_the_book(unpacked):
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    pages = [toc["root"], *(c["file"] for part in toc["parts"] for c in part["chapters"])]
    pages = [Path(page).name for page in pages if Path(page).name in PAGES]
    names = [notebook(unpacked, page).name for page in pages]
    assert names == sorted(names)
    for page, name in zip(pages, names, strict=True):
        title = texts(read(unpacked / "book" / name), "markdown")[0]
        chapter = re.match(r"# (\d+)\. ", title)
        heading = soup(page).find("article").find("h1").get_text()
        assert bool(chapter) == bool(re.match(r"\d+\. ", heading))
        assert re.match(r"\d\d-" if chapter else r"\d\d[a-z]-", name)
        assert chapter is None or int(chapter[1]) == int(name[:2]) == int(heading.partition(".")[0])
    readme = (unpacked / "README.txt").read_text("utf-8")
    listed = re.findall(r"^(\d\d[a-z]?-[\w-]+): \S.*(\n    \S.*)?$", readme, re.MULTILINE)
    assert [f"{name}.ipynb" for name, _ in listed] == names
    assert all(line or not name[:3].endswith("-") for name, line in listed), "a line each"


def test_the_zip_says_under_which_licenses_it_is(unpacked):
    assert (unpacked / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    readme = (unpacked / "README.txt").read_text("utf-8")
    for license_ in ("BSD-3-Clause", "creativecommons.org/licenses/by/4.0"):
        assert license_ in readme
        assert license_ in (ROOT / "README.md").read_text("utf-8")
    assert "pip install -r requirements.txt" in readme


@pytest.mark.parametrize("page", WITH_EXERCISES)
def test_students_get_exercises_without_solutions(page, unpacked, runs):
    full = "\n".join(texts(read(notebook(unpacked, page)), "markdown"))
    text = "\n".join(texts(read(notebook(unpacked, page, "-student")), "markdown"))
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
