"""Notebooks to download: each page's with its results, the same without solutions, all in a zip.

Their text is the page's as one reads it: with numbers instead of roles, so that it needs no
extension of Jupyter.
"""

import copy
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import nbformat
from myst_nb.core.variables import format_plain_text
from myst_nb.ext.glue.crossref import read_glue_cache
from pybtex.database import parse_file

ROOT = Path(__file__).parents[2]
ZIP = "sampled-metrics-notebooks.zip"
# what the notebooks import, and what opens and runs them; the package itself goes with them
NEEDS = "duckdb jupytext matplotlib myst-nb numpy pandas pyarrow pytest scikit-learn scipy".split()
README = """\
The notebooks of "Sampled Metrics, Exactly", with the package that they import.

    python3 -m venv .venv
    .venv/bin/python -m pip install -r requirements.txt
    .venv/bin/jupyter lab book

(on Windows .venv\\Scripts instead of .venv/bin).
In book/, NAME.ipynb is a page of the book with its results, NAME-student.ipynb the same without
results and solutions, and NAME.md its source, which Jupyter opens as a notebook, too.
"""
CARD = re.compile(r"^:::\{grid-item-card\} (.*)\n(?::.*\n)*((?:.*\n)*?):::\n", re.MULTILINE)
GRID = re.compile(r"^::::(?:\{grid\}.*\n(?::.*\n)*|\n|\Z)", re.MULTILINE)
FENCE = r"```\{%s\}(?P<title>[^\n]*)\n(?P<options>(?::[^\n]*\n)*)"
SOLUTION = re.compile(r"```\{solution-start\}.*?(?P<end>```\{solution-end\}\n```\n?|\Z)", re.DOTALL)


class Reader:
    """Turn the MyST of one page into Markdown that reads alike in any notebook."""

    def __init__(self, app, page, works):
        self.env, self.works = app.env, works
        self.glued = read_glue_cache(str(Path(app.outdir).parent / "jupyter_execute"), page)

    def __call__(self, text):
        """Return `text` without directives and roles."""
        text = re.sub(r"^\([\w-]+\)=\n", "", text, flags=re.MULTILINE)
        text = re.sub(FENCE % "exercise-start" + "```\n?", self.exercise, text)
        text = re.sub(r"```\{(exercise|solution)-end\}\n```\n?", "", text)
        text = re.sub(FENCE % "solution-start" + "```\n?", "**Solution.** ", text)
        text = re.sub(
            FENCE % "(?P<kind>[a-z:]+)" + r"(?P<body>.*?)```\n?", self.block, text, flags=re.DOTALL
        )
        text = GRID.sub("", CARD.sub(r"**\1.** \2", text))
        details = r"<details><summary>\1</summary>\n\n\2\n</details>\n"
        text = re.sub(r":::\{dropdown\} ([^\n]*)\n(.*?):::\n?", details, text, flags=re.DOTALL)
        return re.sub(r"\{([a-z:]+)\}`([^`]+)`", self.role, text)

    def exercise(self, match):
        label = re.search(":label: (.*)", match["options"])[1]
        return f"#### {self.numbered(label)}\n\n"

    def block(self, match):
        kind, title, body = match["kind"], match["title"].strip(), match["body"].strip()
        if kind == "math":
            label = re.search(":label: (.*)", match["options"])
            tag = rf" \tag{{{self.equation(label[1])}}}" if label else ""
            return f"$${body}{tag}$$\n"
        if kind == "literalinclude":
            return f"*(See `{title}`.)*\n"
        if kind == "explorer":
            return "*(On the site there is an explorer here.)*\n"
        heading = " ".join(filter(None, [kind.split(":")[-1].capitalize(), title and f"({title})"]))
        return f"**{heading}.** {body}\n"

    def role(self, match):
        kind, text = match.groups()
        words, _, label = text.rstrip(">").rpartition("<") if text.endswith(">") else ("", "", text)
        if kind == "glue:text":
            key, _, form = text.partition(":")
            return format_plain_text(self.glued[key]["data"]["text/plain"], form)
        if kind == "results":
            return f"`results/{text}.csv`"
        if kind == "eq":
            return f"({self.equation(text)})"
        if kind.startswith("cite"):
            keys = re.findall(r"(?:\{(.*?)\})?(\w+)(?:\{(.*?)\})?", text)
            works = [self.work(kind, *key) for key in keys]
            return f"({'; '.join(works)})" if kind == "cite:p" else " and ".join(works)
        return words.strip() or self.named(label)

    def equation(self, label):
        return self.env.domaindata["math"]["objects"].get(label, ("", label))[1]

    def work(self, kind, before, key, after):
        authors = self.works[key].persons.get("author", [])
        names = [" ".join(author.last_names) for author in authors]
        names = names or [re.sub("[{}]", "", self.works[key].fields["title"])]
        who = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
        who = " ".join(filter(None, [before, who]))
        where = ", ".join(filter(None, [self.works[key].fields.get("year"), after]))
        if kind == "cite:p":
            return ", ".join(filter(None, [who, where]))
        return f"{who} ({where})" if where else who

    def named(self, label):
        """Return what a reference to `label` shows: its kind and number, or else its title."""
        title = self.env.domaindata["std"]["labels"].get(label, ("", "", ""))[2]
        return self.numbered(label) or (f"*{title}*" if title else label)

    def numbered(self, label):
        """Return the kind and the number of a figure, a theorem or an exercise."""
        for kinds in self.env.toc_fignumbers.values():
            for kind, numbers in kinds.items():
                if label in numbers:
                    return f"{kind.capitalize()} {'.'.join(map(str, numbers[label]))}"
        return ""


def readable(notebook, read):
    """Return the executed notebook with text for reading."""
    notebook = copy.deepcopy(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = read(cell.source)
        elif {"remove-cell", "remove-input", "hide-input"} & set(cell.metadata.get("tags", [])):
            cell.metadata["jupyter"] = {"source_hidden": True}
    return notebook


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
    executed = Path(app.outdir).parent / "jupyter_execute" / f"{pagename}.ipynb"
    if doctree is not None and executed.exists():
        context["ipynb_source"] = f"{pagename}.ipynb"


def add_downloads(app, pagename, templatename, context, doctree):
    """Add the student's notebook, the page's tables and the zip to the download menu."""
    for group in context["header_buttons"]:
        if "ipynb_source" in context and group["label"] == "download-buttons":
            tables = app.env.metadata[pagename].get("results", [])
            files = {
                f"_sources/{pagename}-student.ipynb": "Notebook without solutions",
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
    executed = Path(app.outdir).parent / "jupyter_execute"
    works = parse_file(ROOT / "book" / "references.bib").entries
    sources = Path(app.outdir, "_sources")
    pages = [page for page in sorted(app.env.found_docs) if (executed / f"{page}.ipynb").exists()]
    for page in pages:
        notebook = nbformat.read(executed / f"{page}.ipynb", as_version=4)
        for number, cell in enumerate(notebook.cells):
            cell.id = f"cell-{number}"  # not a random one: equal pages make equal notebooks
        read = Reader(app, page, works)
        nbformat.write(readable(notebook, read), sources / f"{page}.ipynb")
        student = readable(without_solutions(notebook), read)
        nbformat.write(student, sources / f"{page}-student.ipynb")
    kinds = (".md", ".ipynb", "-student.ipynb")
    write_zip(app, [sources / f"{page}{kind}" for page in pages for kind in kinds], sources)


def write_zip(app, notebooks, folder):
    """Put the notebooks, what they read, the package and its requirements into one file."""
    wheels = Path(app.outdir).parent / "wheel"
    shutil.rmtree(wheels, ignore_errors=True)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)]
    subprocess.run(build, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    (wheel,) = wheels.glob("*.whl")
    needs = [f"./{wheel.name}", *(f"{name}=={version(name)}" for name in NEEDS), "jupyterlab"]
    contents = {
        "README.txt": README.encode(),
        "requirements.txt": "\n".join([*needs, ""]).encode(),
        wheel.name: wheel.read_bytes(),
        "book/results/.keep": b"",  # the pages write their tables here
        "tests/test_five_users.py": (ROOT / "tests/test_five_users.py").read_bytes(),
    }
    contents |= {path.relative_to(folder).as_posix(): path.read_bytes() for path in notebooks}
    contents |= {
        path.relative_to(ROOT).as_posix(): path.read_bytes()
        for path in (ROOT / "book/data").iterdir()
        if path.suffix in {".csv", ".gz", ".json"}
    }
    with zipfile.ZipFile(Path(app.outdir, ZIP), "w") as archive:
        for name, content in sorted(contents.items()):
            entry = zipfile.ZipInfo(f"{ZIP.removesuffix('.zip')}/{name}")  # without a date
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)


def setup(app):
    """Register the above with Sphinx."""
    app.connect("html-page-context", name_notebook)
    app.connect("html-page-context", add_downloads, priority=900)  # after the theme's own
    app.connect("build-finished", write_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
