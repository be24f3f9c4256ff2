"""What search engines, chats and feeds show of a page: its title, its first sentence, a picture."""

import re
from html import escape

from docutils import nodes

SENTENCE = re.compile(r".*?(?:[.?!][\"”]?(?=\s|$)|$)", re.DOTALL)
PICTURE = "_static/order-flip.png"
WORDS_OF_PICTURE = (
    "Three lines between two columns. Exact, from the top: Z, Y, X. "
    "Among 100 random movies: X, Y, Z."
)


def first_sentence(doctree):
    """Return the first sentence of the page's text."""
    for paragraph in doctree.findall(nodes.paragraph):
        if isinstance(paragraph.parent, nodes.section):
            return SENTENCE.match(paragraph.astext())[0].rstrip(":")
    return ""


def describe(app, pagename, templatename, context, doctree):
    """Add the page's description, and how it looks where somebody shares it."""
    if templatename == "root.html":
        doctree = app.env.get_doctree(app.config.root_doc)
    if doctree is None:
        return
    book = app.config.project
    title = next(doctree.findall(nodes.title)).astext()
    description = first_sentence(doctree) or f"{title} of the book “{book}”."
    about = {
        "og:title": title,
        "og:description": description,
        "og:site_name": book,
        "og:type": "website" if title == book else "article",
    }
    if site := app.config.html_baseurl:  # these have to be absolute
        about["og:url"] = site + app.builder.get_target_uri(pagename)
        about["og:image"] = site + PICTURE
        about["og:image:alt"] = WORDS_OF_PICTURE
    names = {
        "description": description,
        "twitter:card": "summary_large_image" if site else "summary",
    }
    tags = [("name", *item) for item in names.items()]
    tags += [("property", *item) for item in about.items()]
    context["description"] = description
    context["metatags"] = context.get("metatags", "") + "".join(
        f'\n    <meta {kind}="{key}" content="{escape(value)}" />' for kind, key, value in tags
    )


def setup(app):
    """Register the above with Sphinx."""
    app.connect("html-page-context", describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
