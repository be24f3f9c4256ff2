"""The explorers: small figures to play with, in our own JavaScript and SVG.

A page holds one by the directive::

    ```{explorer} toy
    :title: When the order flips
    What one can do and see here: below the drawing; without JavaScript, all there is.
    ```

Without a title, the heading above is its name.

The script `_static/explorers/toy.js` draws it. With `:data: audit.csv`, the rows of that file of
`data/` are written into the page, where the script finds them. A page loads the scripts of its own
explorers, and no others.
"""

import csv
import json
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

BOOK = Path(__file__).parents[1]
NAMES = tuple(sorted(path.stem for path in BOOK.glob("_static/explorers/*.js")))


class explorer(nodes.General, nodes.Element):
    """A figure whose children are its introduction."""


class ExplorerDirective(SphinxDirective):
    """Make the figure; the drawing is up to the browser."""

    required_arguments = 1
    has_content = True
    option_spec = {  # noqa: RUF012
        "title": directives.unchanged_required,
        "data": directives.path,
    }

    def run(self):
        """Parse the introduction, and read the data."""
        self.assert_has_content()
        name = self.arguments[0]
        if name not in NAMES:
            raise self.error(f"there is no explorer {name}, only {', '.join(NAMES)}")
        node = explorer(name=name, title=self.options.get("title"), ids=[f"explorer-{name}"])
        if "data" in self.options:
            path = BOOK / "data" / self.options["data"]
            self.env.note_dependency(str(path))
            with path.open(newline="", encoding="utf-8") as file:
                node["data"] = json.dumps(list(csv.DictReader(file)), ensure_ascii=False)
        self.set_source_info(node)
        self.state.nested_parse(self.content, self.content_offset, node)
        return [node]


def visit_html(self, node):
    """Open the figure, and its caption."""
    title = node["title"] or node.parent.next_node(nodes.title).astext()
    named = {"data-explorer": node["name"], "aria-label": title}  # as screen readers say it
    self.body.append(self.starttag(node, "figure", CLASS="explorer", **named) + "<figcaption>\n")
    if node["title"]:
        self.body.append(f'<p class="title"><strong>{self.encode(title)}</strong></p>\n')


def depart_html(self, node):
    """Close the caption; leave room for what the script adds."""
    data = node.get("data", "").replace("<", "\\u003c")  # a text may not close the script
    self.body.append(
        "</figcaption>\n"
        + (f'<script type="application/json">{data}</script>\n' if data else "")
        + "<noscript><p>To play with this, switch on JavaScript.</p></noscript>\n"
        + '<div class="explorer-body"></div>\n</figure>\n'
    )


def visit_other(self, node):
    """Keep the introduction in other formats."""


def scripts(names):
    """Return the scripts of these explorers, in the order in which they run."""
    kinds = [f"explorers/{name}.js" for name in sorted(names)]
    shared = ("sampled-metrics.js", "explorers.js", "explorers-plot.js")
    return [*shared, *kinds, "explorers-start.js"]


def add_files(app, pagename, templatename, context, doctree):
    """Load scripts and style where there is an explorer."""
    names = {node["name"] for node in doctree.findall(explorer)} if doctree is not None else set()
    if names:
        app.add_css_file("explorers.css")
        for script in scripts(names):
            # Classic scripts: browsers refuse modules on pages that are opened as files.
            app.add_js_file(script, loading_method="defer")


def setup(app):
    """Register the above with Sphinx."""
    other = (visit_other, visit_other)
    app.add_node(explorer, html=(visit_html, depart_html), latex=other, text=other)
    app.add_directive("explorer", ExplorerDirective)
    app.connect("html-page-context", add_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
