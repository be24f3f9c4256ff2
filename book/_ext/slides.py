"""Slides made of other pages: figures, tables, equations and code are copied, never made again."""

import shutil
from importlib.resources import files
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from slide_source import write_slides
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

logger = logging.getLogger(__name__)


class reuse(nodes.General, nodes.Element):
    """The place of a copy."""


class Reuse(SphinxDirective):
    """Show part of another page: ``{reuse} page label``, or a cell that has the given words.

    With the option ``code`` it is the code of the cell, else what the cell printed or drew.
    """

    required_arguments = 2
    final_argument_whitespace = True
    option_spec: ClassVar = {"code": directives.flag}

    def run(self):
        """Leave a place for the copy, which can be made when all pages have been read."""
        page, part = self.arguments
        self.env.note_dependency(self.env.doc2path(f"book/{page}"))
        node = reuse(page=f"book/{page}", part=part, code="code" in self.options)
        self.set_source_info(node)
        return [node]


def find(doctree, part, code):
    """Return what has the label, or else the first visible cell with these words, or None."""
    for node in doctree.findall(nodes.Element):
        if part in (*node.get("ids", ()), node.get("label")) and node.tagname != "target":
            return node
    for cell in doctree.findall(
        lambda n: isinstance(n, nodes.container) and n.get("nb_element") == "cell_code"
    ):
        parts = {child.get("nb_element"): child for child in cell.children}
        source = parts.get("cell_code_source")
        if source is not None and part in source.astext():
            return source if code else parts.get("cell_code_output")
    return None


class CopyParts(SphinxPostTransform):
    """Put the copies in place, before myst_nb chooses what of a cell's output to show."""

    default_priority = 1

    def run(self, **kwargs):
        """Replace each place by its copy."""
        for place in list(self.document.findall(reuse)):
            doctree = self.env.get_doctree(place["page"])  # read from its file: nobody else's
            part = find(doctree, place["part"], place["code"])
            if part is None:
                logger.warning("%s has no %r", place["page"], place["part"], location=place)
                place.parent.remove(place)
                continue
            if isinstance(part, nodes.section):  # what it holds, without its title
                part = nodes.container("", *part.children[1:])
            if isinstance(part, nodes.math_block):
                part["number"] = part["label"] = None  # it has its number where it comes from
            for reference in part.findall(addnodes.pending_xref):
                reference["refdoc"] = self.env.docname  # its link starts from here
            place.replace_self(part)


def copy_reveal(app):
    """Copy reveal.js, with its speaker's notes and its Markdown, from their package to the site."""
    if app.builder.format == "html":
        source = files("sphinx_revealjs") / "_static" / "revealjs"
        target = Path(app.outdir, "_static", "reveal")
        target.mkdir(parents=True, exist_ok=True)
        plugins = [f"plugin/{name}/{name}.js" for name in ("notes", "markdown")]
        for file in ("dist/reveal.js", "dist/reveal.css", *plugins, "LICENSE"):
            shutil.copy2(source / file, target)


def add_files(app, pagename, templatename, context, doctree):
    """Load what turns the slides, and how they look, onto their page."""
    if pagename == "book/slides":
        for style in ("reveal/reveal.css", "slides.css"):
            app.add_css_file(style)
        for script in ("reveal/reveal.js", "reveal/notes.js", "slides.js"):
            app.add_js_file(script, loading_method="defer")


def setup(app):
    """Register the above with Sphinx."""
    app.add_node(reuse)
    app.add_directive("reuse", Reuse)
    app.add_post_transform(CopyParts)
    app.connect("builder-inited", copy_reveal)
    app.connect("html-page-context", add_files)
    app.connect("build-finished", write_slides)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
