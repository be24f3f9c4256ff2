"""The explorers: small figures to play with, in our own JavaScript and SVG.

A page holds one by the directive::

    ```{explorer} toy
    :title: When the order flips
    What one can do and see here: the introduction, and all there is for readers without JavaScript.
    ```

Its scripts and its style are loaded by the pages that hold an explorer, and by no others.
"""

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

NAMES = ("toy", "flip", "weight", "correction", "reviewer", "five-users")


class explorer(nodes.General, nodes.Element):
    """A figure whose children are its introduction."""


class ExplorerDirective(SphinxDirective):
    """Make the figure; the drawing is up to the browser."""

    required_arguments = 1
    has_content = True
    option_spec = {"title": directives.unchanged_required}  # noqa: RUF012

    def run(self):
        """Parse the introduction."""
        self.assert_has_content()
        name = self.arguments[0]
        if name not in NAMES:
            raise self.error(f"there is no explorer {name}, only {', '.join(NAMES)}")
        if "title" not in self.options:
            raise self.error("an explorer needs a title, by which screen readers name it")
        node = explorer(name=name, title=self.options["title"], ids=[f"explorer-{name}"])
        self.set_source_info(node)
        self.state.nested_parse(self.content, self.content_offset, node)
        return [node]


def visit_html(self, node):
    """Open the figure, and its caption."""
    name, title = node["name"], self.encode(node["title"])
    figure = {"data-explorer": name, "aria-labelledby": f"explorer-{name}-title"}
    self.body.append(self.starttag(node, "figure", CLASS="explorer", **figure))
    self.body.append(f'<figcaption><p id="explorer-{name}-title"><strong>{title}</strong></p>\n')


def depart_html(self, node):
    """Close the caption; leave room for what the script adds."""
    self.body.append('</figcaption>\n<div class="explorer-body"></div>\n</figure>\n')


def visit_other(self, node):
    """Keep the introduction in other formats."""


def add_files(app, pagename, templatename, context, doctree):
    """Load scripts and style where there is an explorer."""
    if doctree is not None and next(doctree.findall(explorer), None) is not None:
        app.add_css_file("explorers.css")
        # Classic scripts: browsers refuse modules on pages that are opened as files.
        app.add_js_file("sampled-metrics.js", loading_method="defer")
        app.add_js_file("explorers.js", loading_method="defer")


def setup(app):
    """Register the above with Sphinx."""
    other = (visit_other, visit_other)
    app.add_node(explorer, html=(visit_html, depart_html), latex=other, text=other)
    app.add_directive("explorer", ExplorerDirective)
    app.connect("html-page-context", add_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
