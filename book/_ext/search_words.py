"""The search finds words, not code: cells' code and what they print are not in its index.

In the browser _static/search.js keeps them out of the excerpts, too.
"""

from docutils import nodes


def leave_out_code(app):
    """Give the search's index each page without code and formulas."""
    if app.builder.format != "html":
        return
    index_page = app.builder.index_page

    def index_prose(pagename, doctree, title):
        prose = doctree.deepcopy()
        kinds = nodes.literal_block | nodes.math | nodes.math_block
        for node in list(prose.findall(lambda node: isinstance(node, kinds))):
            node.parent.remove(node)
        index_page(pagename, prose, title)

    app.builder.index_page = index_prose


def add_script(app, pagename, templatename, context, doctree):
    """Load our part of the search on its page."""
    if pagename == "search":
        app.add_js_file("search.js", loading_method="defer")  # after Sphinx's, before it begins


def setup(app):
    """Register the above with Sphinx."""
    app.connect("builder-inited", leave_out_code)
    app.connect("html-page-context", add_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
