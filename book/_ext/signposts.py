"""What tells a reader where a page stands: its part, minutes and cells, and what it is about.

A page may give a description in its header; else sphinxext.opengraph takes its first words.
"""

from html import escape

from exercises import chapters_of
from python_in_page import cells_that_run


def add_place(app, pagename, templatename, context, doctree):
    """Write below a title the part, the minutes for reading, and how many cells run."""
    if doctree is None:
        return
    facts = cells_that_run(app, pagename, doctree)
    for part in app.env.found_docs:
        if "/part-" in part and (minutes := chapters_of(app, part).get(pagename)):
            name = app.env.titles[part].astext().partition(": ")[2]
            address = app.builder.get_relative_uri(pagename, part)
            link = f'<a href="{address}">{escape(name[0].upper() + name[1:])}</a>'
            facts = [link, f"{minutes} minutes", *facts]
    if facts:
        place = f'</h1>\n<p class="place">{" · ".join(facts)}</p>'
        context["body"] = context["body"].replace("</h1>", place, 1)


def describe(app, pagename, templatename, context, doctree):
    """Give the description in the page's header to those who ask for one."""
    if text := (context.get("meta") or {}).get("description"):
        context["meta"]["og:description"] = text
        context["metatags"] += f'<meta name="description" content="{escape(text)}" />\n'


def setup(app):
    """Register the above with Sphinx."""
    app.connect("html-page-context", add_place)
    app.connect("html-page-context", describe, priority=400)  # before sphinxext.opengraph
    return {"parallel_read_safe": True, "parallel_write_safe": True}
