"""Notebooks to download: each page's with its results, the same without solutions, all in a zip.

Their names begin with the number of the chapter, so that a folder lists them in the order of the
book, and Figure 5.3 is found in 05-toy-example.ipynb.
"""

import copy
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path
from string import ascii_lowercase

import nbformat
from execution import executed
from plain_markdown import PlainMarkdown
from pybtex.database import parse_file

ROOT = Path(__file__).parents[2]
ZIP = "sampled-metrics-notebooks.zip"
# what the notebooks import, and what opens and runs them; the package itself goes with them
NEEDS = "duckdb jupytext matplotlib myst-nb numpy pandas pyarrow pytest scikit-learn scipy".split()
README = """\
The notebooks of "Sampled Metrics, Exactly", with the package that they import.

Install them, with Python 3.11 or newer, and open them:

    python3 -m venv .venv
    .venv/bin/python -m pip install -r requirements.txt
    .venv/bin/jupyter lab book

(on Windows .venv\\Scripts instead of .venv/bin).

Each page of the book is three files in book/. In 05-toy-example.ipynb it has its results,
in 05-toy-example-student.ipynb it has neither results nor solutions, and toy-example.md is its
source, which Jupyter opens as a notebook, too. Change any input and run all cells again.

The order of reading; the first number is the chapter's:

{order}

License
Text and figures: Creative Commons Attribution 4.0, https://creativecommons.org/licenses/by/4.0/
Code: BSD-3-Clause, in the file LICENSE.
"""
SOLUTION = re.compile(r"```\{solution-start\}.*?(?P<end>```\{solution-end\}\n```\n?|\Z)", re.DOTALL)
LINE = re.compile(r"^- \{ref\}`([\w-]+)`: (.*)$", re.MULTILINE)


def file_names(env):
    """Name each page's notebook, in the order of the book: 04-top-heavy, 04a-part-sampling, ..."""
    root = env.config.root_doc
    names, chapter, letters = {}, 0, iter(ascii_lowercase)
    for page in [root, *env.toctree_includes.get(root, [])]:
        if number := env.toc_secnumbers.get(page, {}).get(""):
            chapter, letters, letter = number[0], iter(ascii_lowercase), ""
        else:
            letter = next(letters)
        names[page] = f"{chapter:02d}{letter}-{Path(page).name}"
    return names


def readable(notebook, read):
    """Return the executed notebook with text for reading, and with captions below its figures."""
    cells = []
    for cell in copy.deepcopy(notebook.cells):
        if cell.cell_type == "markdown":
            cell.source = read(cell.source)
        elif {"remove-cell", "remove-input", "hide-input"} & set(cell.metadata.get("tags", [])):
            cell.metadata["jupyter"] = {"source_hidden": True}
        cells += [cell] if cell.source else []
        if figure := cell.metadata.get("mystnb", {}).get("figure"):
            caption = f"**{read.numbered(figure['name'])}.** {read(figure['caption'])}"
            cells.append(nbformat.v4.new_markdown_cell(caption, id=f"{cell.id}-caption"))
    return nbformat.from_dict({**notebook, "cells": cells})


def without_solutions(notebook):
    """Return the notebook without solutions and results, and without the book's own checks.

    These stand in the cells that the page removes: they hold for the book's input only, and a
    student may change any of it.
    """
    notebook = copy.deepcopy(notebook)
    cells, inside = [], False
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            text = "```{solution-start}\n" * inside + cell.source
            inside = any(not match["end"] for match in SOLUTION.finditer(text))
            cell.source = SOLUTION.sub("", text)
            cells += [cell] if cell.source.strip() else []
        elif not inside and "remove-cell" not in cell.metadata.get("tags", []):
            cell.outputs, cell.execution_count = [], None
            cells.append(cell)
    notebook.cells = cells
    return notebook


def name_notebook(app, pagename, templatename, context, doctree):
    """Tell the theme's download menu of the page's notebook."""
    if doctree is not None and executed(app, pagename).exists():
        name = file_names(app.env)[pagename]
        context["ipynb_source"] = f"book/{name}.ipynb"


def add_downloads(app, pagename, templatename, context, doctree):
    """Add the student's notebook, the page's tables and the zip to the download menu."""
    for group in context["header_buttons"]:
        if "ipynb_source" in context and group["label"] == "download-buttons":
            tables = app.env.metadata[pagename].get("results", [])
            student = context["ipynb_source"].replace(".ipynb", "-student.ipynb")
            files = {
                f"_sources/{student}": "Notebook without solutions",
                **{f"results/{table}": f"Results: {table}" for table in dict.fromkeys(tables)},
                ZIP: "All notebooks (.zip)",
            }
            group["buttons"] += [
                {"type": "link", "url": context["pathto"](file, 1), "text": text}
                for file, text in files.items()
            ]


def write_notebooks(app, exception):
    """Write what the download menus offer."""
    if exception is not None or app.builder.format != "html":
        return
    works = parse_file(ROOT / "book" / "references.bib").entries
    sources = Path(app.outdir, "_sources")
    names = {page: n for page, n in file_names(app.env).items() if executed(app, page).exists()}
    for page, name in names.items():
        notebook = nbformat.read(executed(app, page), as_version=4)
        for number, cell in enumerate(notebook.cells):
            cell.id = f"cell-{number}"  # not a random one: equal pages make equal notebooks
        for kind, cells in (("", notebook), ("-student", without_solutions(notebook))):
            files = {other: f"{stem}{kind}.ipynb" for other, stem in names.items()}
            read = PlainMarkdown(app, page, works, files)
            nbformat.write(readable(cells, read), sources / "book" / f"{name}{kind}.ipynb")
    kinds = (".ipynb", "-student.ipynb")
    files = [sources / "book" / f"{name}{kind}" for name in names.values() for kind in kinds]
    files += [sources / f"{page}.md" for page in names]
    notebooks = {path.relative_to(sources).as_posix(): path.read_bytes() for path in files}
    write_zip(app, reading_order(app.env, names), notebooks)


def reading_order(env, names):
    """Return each notebook's name and title, and what the landing page says of it."""
    labels = env.domaindata["std"]["labels"]
    landing = Path(env.doc2path(env.config.root_doc)).read_text(encoding="utf-8")
    said = {labels[label][0]: f"\n    {line}" for label, line in LINE.findall(landing)}
    lines = [f"{n}: {env.titles[page].astext()}{said.get(page, '')}" for page, n in names.items()]
    return "\n".join(lines)


def write_zip(app, order, notebooks):
    """Put the notebooks, what they read, the package and its requirements into one file."""
    wheels = Path(app.outdir).parent / "wheel"
    shutil.rmtree(wheels, ignore_errors=True)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)]
    subprocess.run(build, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    (wheel,) = wheels.glob("*.whl")
    needs = [f"./{wheel.name}", *(f"{name}=={version(name)}" for name in NEEDS), "jupyterlab"]
    contents = {
        "README.txt": README.format(order=order).encode(),
        "LICENSE": (ROOT / "LICENSE").read_bytes(),
        "requirements.txt": "\n".join([*needs, ""]).encode(),
        wheel.name: wheel.read_bytes(),
        "book/results/.keep": b"",  # the pages write their tables here
        "tests/test_five_users.py": (ROOT / "tests/test_five_users.py").read_bytes(),
    }
    contents |= {
        path.relative_to(ROOT).as_posix(): path.read_bytes()
        for path in (ROOT / "book/data").iterdir()
        if path.suffix in {".csv", ".gz", ".json"}
    }
    pack(Path(app.outdir, ZIP), contents | notebooks)


def pack(path, contents):
    """Write the files into a folder named after the zip, without dates: equal files, equal zips."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in sorted(contents.items()):
            entry = zipfile.ZipInfo(f"{path.stem}/{name}")
            entry.external_attr = 0o644 << 16  # for all to read
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)


def setup(app):
    """Register the above with Sphinx."""
    app.connect("html-page-context", name_notebook)
    app.connect("html-page-context", add_downloads, priority=900)  # after the theme's own
    app.connect("build-finished", write_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
