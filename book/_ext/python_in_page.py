"""Python in the page: the files that ``_static/python.js`` loads once a reader asks for it.

Python and NumPy for WebAssembly come from the pip package jupyterlite-xeus-python. It is of 2023
and has no successor on an index of packages, but nothing else of the book depends on it.

What can be run needs NumPy and `sampled_metrics` only, and no files: cells with the tag
``in-page``, blocks of Python with the class ``scratch-pad``, and the Python of most explorers.
A page says how many of its cells run, and how much is fetched for the first of them.
"""

import gzip
import json
import os
import shutil
import sys
import tarfile
from importlib.metadata import distribution, files
from pathlib import Path

from docutils import nodes
from explorers import explorer

import sampled_metrics

HERE = Path(__file__).parents[1] / "_static" / "python"
PACKAGE = "jupyterlite-xeus-python"
SITE_PACKAGES = "lib/python3.11/site-packages"
RUNTIME = ("xpython_wasm.js", "xpython_wasm.wasm")
LICENSES = """\
Python in the page is made of these, all under licenses that allow it:

- Python (PSF License) and NumPy (BSD 3-Clause), compiled to WebAssembly by emscripten-forge;
- xeus, xeus-lite, xeus-python and pyjs, which run them in a browser (BSD 3-Clause), with pybind11
  (BSD 3-Clause), nlohmann_json (MIT) and the runtime of Emscripten (MIT);
- sampled_metrics (BSD 3-Clause).

The first two and their runtime are from the pip package {package} {version}.
"""


def texts_of_licenses():
    """Return what the parts are, and the whole text of their licenses."""
    package = distribution(PACKAGE)
    parts = [LICENSES.format(package=PACKAGE, version=package.version)]
    for name in (PACKAGE, "numpy"):
        texts = [f for f in files(name) if f.name in ("LICENSE", "LICENSE.txt")]
        parts.append(f"{name}\n\n{min(texts, key=lambda f: len(f.parts)).read_text('utf-8')}")
    folders = (Path(os.__file__).parent, Path(sys.base_prefix))
    text = next((p for folder in folders if (p := folder / "LICENSE.txt").exists()), None)
    python = (
        text.read_text("utf-8") if text else f"{sys.copyright}\nhttps://docs.python.org/license"
    )
    parts.append(f"Python\n\n{python}")
    return f"\n\n{'=' * 72}\n\n".join(parts)


def pack(target):
    """Pack our package, without what draws the book, and the module that runs cells."""
    source = Path(sampled_metrics.__file__).parent
    with tarfile.open(target, "w:gz") as archive:
        for path in sorted(source.rglob("*.py")):
            archive.add(path, f"{SITE_PACKAGES}/{source.name}/{path.relative_to(source)}")
        archive.add(HERE / "in_page.py", f"{SITE_PACKAGES}/in_page.py")


def folder(app):
    """Return the folder of the site where the files are."""
    return Path(app.outdir, "_static", "python")


def size(app):
    """Return how many bytes are fetched before the first cell runs."""
    fetched = (".packed", ".gz", ".json")
    return sum(f.stat().st_size for f in folder(app).iterdir() if f.suffix in fetched)


def copy_python(app):
    """Put the files in a folder of the site."""
    if app.builder.format != "html":
        return
    target = folder(app)
    target.mkdir(parents=True, exist_ok=True)
    packages = []
    for file in files(PACKAGE):
        name, version = [*file.name.split("-"), ""][:2]
        if file.name in RUNTIME:  # not called .gz, which some hosts unpack on the way
            packed = gzip.compress(file.read_binary(), mtime=0)
            (target / f"{file.name}.packed").write_bytes(packed)
        elif name in ("python", "numpy") and file.suffix == ".gz":
            shutil.copy2(file.locate(), target)
            packages.append({"name": name, "version": version, "filename": file.name})
    ours = "sampled-metrics.tar.gz"
    pack(target / ours)
    packages.append({"name": "sampled-metrics", "version": "0", "filename": ours})
    known = json.dumps({"prefix": "/", "packages": packages})
    (target / "packages.json").write_text(known, encoding="utf-8")
    (target / "LICENSES.txt").write_text(texts_of_licenses(), encoding="utf-8")


def cells_that_run(app, pagename, doctree):
    """Say how many of a page's cells run in it, and how much is fetched for that.

    A page whose code is all folded has pictures, not cells; the landing page is short of room.
    """

    def parts(node, kind):
        return (part for part in node.findall(nodes.container) if kind in part["classes"])

    shown = [cell["classes"] for cell in parts(doctree, "cell") if any(parts(cell, "cell_input"))]
    if all("tag_hide-input" in cell for cell in shown) or pagename == app.config.root_doc:
        return []
    runs = sum("tag_in-page" in cell for cell in shown)
    why = f"{app.builder.get_relative_uri(pagename, 'book/explorers')}#cells-that-run"
    cost = f", with {size(app) / 1e6:.0f} MB of Python" if runs else ""
    run = "run" if runs > 1 else "runs"
    return [f'<a href="{why}">{runs or "None"} of {len(shown)} cells</a> {run} in the page{cost}']


def add_files(app, pagename, templatename, context, doctree):
    """Load the script where there is something to run."""
    if doctree is None:
        return
    classes = {c for node in doctree.findall(nodes.Element) for c in node.get("classes", ())}
    if classes & {"tag_in-page", "scratch-pad"} or next(doctree.findall(explorer), None):
        app.add_css_file("python.css")
        options = {"loading_method": "defer", "priority": 900}  # after the explorers
        app.add_js_file("python.js", **options, **{"data-bytes": str(size(app))})


def setup(app):
    """Register the above with Sphinx."""
    app.connect("builder-inited", copy_python)
    app.connect("html-page-context", add_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
