"""What the book needs of Sphinx beyond Jupyter Book.

- MathJax as files of the site, so that no page asks another host for it.
- A change in the package, the data or the pins executes every page again.
- ``{results}`name` `` links the table that a page wrote to ``results/name.csv``.
- Where a page first names something of the package, a link leads to its reference.
- Linear algebra in a page runs on one core.
"""

import hashlib
import os
import re
import shutil
from importlib.resources import files
from pathlib import Path

import matplotlib.font_manager  # noqa: F401  (builds its cache now, not loudly in a page's cell)
from docutils import nodes
from sphinx.application import ENV_PICKLE_FILENAME
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole
from sphinx.util.osutil import relative_uri

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "book" / "results"
logger = logging.getLogger(__name__)


def fingerprint(*patterns):
    """Hash the files of these patterns."""
    paths = {path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file()}
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(f"{path.relative_to(ROOT).as_posix()} {path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def copy_mathjax(app):
    """Copy MathJax's TeX input and HTML output, with its fonts, from its package to the site."""
    if app.builder.format != "html":
        return
    source = files("mathjax") / "static" / "mathjax" / "es5"
    target = Path(app.outdir, "_static", "mathjax")
    for folder in ("input/tex/extensions", "output/chtml/fonts/woff-v2"):
        shutil.copytree(source / folder, target / folder, dirs_exist_ok=True)
    shutil.copy2(source / "tex-chtml.js", target)


class ResultsRole(SphinxRole):
    """A link to a table of the page, ``results/name.csv``."""

    def run(self):
        """Make the link, and note that the page is to write the table."""
        file = f"{self.text}.csv"
        self.env.metadata[self.env.docname].setdefault("results", []).append(file)
        page = self.env.app.builder.get_target_uri(self.env.docname)
        link = nodes.reference("", file, refuri=relative_uri(page, f"results/{file}"))
        link["classes"] += ["results"]
        return [link], []


def referenced_results(env):
    """Pairs (page, path of a table that it links)."""
    return [
        (page, RESULTS / f)
        for page in env.found_docs
        for f in env.metadata[page].get("results", [])
    ]


def pages_without_results(app, env, added, changed, removed):
    """Name the pages to execute again because a table of theirs is missing."""
    return {page for page, path in referenced_results(env) if not path.exists()}


def pages_on_parts(app, env, added, changed, removed):
    """Name the pages that open a part if any page changed: they list their chapters' exercises."""
    parts = {page for page in env.found_docs if "/part-" in page}
    return parts if added | changed | removed else set()


def link_reference(app, pagename, templatename, context, doctree):
    """Link each public name to its reference where it first stands in the page's code and text."""
    entries = app.env.domaindata["py"]["objects"] if doctree else {}
    for full, entry in entries.items():
        name = full.rpartition(".")[2]
        is_one = entry.objtype in ("class", "function") and not entry.aliased
        if is_one and entry.docname != pagename:
            address = f"{app.builder.get_relative_uri(pagename, entry.docname)}#{entry.node_id}"
            link = rf'<a class="api" href="{address}">\g<0></a>'
            for kind in ("n", "pre"):  # in code, in text
                first = f'<span class="{kind}">{name}</span>'
                context["body"] = re.sub(first, link, context["body"], count=1)


def leave_out_mathjax(app, pagename, templatename, context, doctree):
    """Load MathJax only where a formula is; Sphinx asks the pages below the landing page, too."""
    if not app.env.domaindata["math"]["has_equations"].get(pagename):
        context["script_files"] = [
            script
            for script in context["script_files"]
            if "mathjax" not in f"{script.filename} {script.attributes.get('body')}".lower()
        ]


def environment(app):
    """Return where Sphinx keeps what it has read, and where we keep it until the build is done."""
    path = Path(app.doctreedir, ENV_PICKLE_FILENAME)
    return path, path.with_suffix(".unfinished")


def set_aside(app, env):
    """Keep an interrupted build from passing for a finished one."""
    path, aside = environment(app)
    path.replace(aside)


def finish(app, exception):
    """Copy the tables to the site; let nothing that went wrong be forgotten by the next build."""
    if exception is None and app.builder.format == "html":
        target = Path(app.outdir, "results")
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for page, path in referenced_results(app.env):
            if path.exists():
                shutil.copy2(path, target)
            else:
                name = path.relative_to(ROOT).as_posix()
                logger.warning("no cell wrote %s", name, location=page)
    path, aside = environment(app)
    if exception or app._warncount:  # Sphinx would not warn again of what it need not read again
        path.unlink(missing_ok=True)
        aside.unlink(missing_ok=True)
    elif aside.exists():
        aside.replace(path)


def setup(app):
    """Register the above with Sphinx."""
    # Threads that wait for each other take minutes where something else keeps the cores busy, and
    # their sums would differ, in the last digits, with the number of cores. Kernels inherit this.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    computed = ("src/**/*.py", "src/**/*.toml", "book/data/*", "book/_ext/*.py", "requirements.txt")
    app.add_config_value("book_computes", fingerprint(*computed), "env")  # reads all pages again
    shown = ("book/_static/*", "book/api.md")
    app.add_config_value("book_shows", fingerprint(*shown), "html")  # writes all pages again
    app.connect("env-check-consistency", set_aside)  # right after Sphinx has written it
    app.connect("builder-inited", copy_mathjax)
    app.add_role("results", ResultsRole())
    app.connect("env-get-outdated", pages_without_results)
    app.connect("env-get-outdated", pages_on_parts)
    app.connect("html-page-context", link_reference)
    app.connect("html-page-context", leave_out_mathjax, priority=900)  # after Sphinx's own
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
