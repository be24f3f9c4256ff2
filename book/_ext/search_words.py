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


def write_words_again(app, env):
    """Name the pages with words of the glossary or of the index, to be written in every build.

    Otherwise the search loses these words as soon as only other pages have changed.
    """
    entries = env.domaindata["index"]["entries"]
    return [page for page, of_page in entries.items() if of_page]


def add_script(app, pagename, templatename, context, doctree):
    """Load our part of the search on its page."""
    if pagename == "search":
        app.add_js_file("search.js", loading_method="defer")  # after Sphinx's, before it begins


def setup(app):
    """Register the above with Sphinx."""
    app.connect("builder-inited", leave_out_code)
    app.connect("env-updated", write_words_again)
    app.connect("html-page-context", add_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
