"""What Pagefind searches: each section, and each word of the glossary and name of the reference.

It finds words, not code or long formulas. In the browser _static/search.js opens its dialog.
"""

import re
import shutil
import subprocess
import sys
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

from bs4 import BeautifulSoup, SoupStrainer

PARTS = "section[id], dl.glossary > dd, dl.py > dd, details[id]"
HEADS = {"section": re.compile("^h[1-6]$"), "details": "summary"}
NO_WORDS = "pre, script, style, noscript, .headerlink, .hide > summary"
LEFT_OUT = {"book/slides"}  # they repeat the chapters
# How much a title weighs: as a heading, unless it is a word of the glossary, or stands aside.
KINDS = {"book/notation": "term", "book/teaching": "aside"}
ENTRY = """<html lang="en"><meta data-pagefind-meta="url[content]" content="{url}">
<meta data-pagefind-meta="title[content]" content="{title}">
<meta data-pagefind-meta="{kind}[content]" content="{title}">
<meta data-pagefind-meta="chapter[content]" content="{chapter}">{named}<body>{text}</body></html>"""
# By these the dialog finds what is typed as it is written; methods share their names with many.
NAMED = '<meta data-pagefind-filter="name[content]" content="{}">'


def heads(part):
    """Return the part's heading, or the words that a list defines in this place."""
    if part.name in HEADS:
        return [part.find(HEADS[part.name])]
    found = []
    while (part := part.find_previous_sibling()) and part.name == "dt":
        found.insert(0, part)
    return found


def entries(page, html):
    """Take a page apart; yield an entry for each part, without the parts in it."""
    article = BeautifulSoup(html, "html.parser", parse_only=SoupStrainer("article"))
    for tag in article.select(NO_WORDS):
        tag.decompose()
    for tag in article.select(".math"):
        formula = tag.get_text()[2:-2]
        tag.replace_with("" if "\\" in formula else formula)  # a letter is a word
    chapter = article.h1.get_text()
    for part in reversed(article.select(PARTS)):  # the inner ones first
        names = heads(part)
        words = [(name.select_one(".descname") or name).get_text() for name in names]
        place = part.get("id") or names[0]["id"]
        for name in names:
            name.extract()
        about = {"url": f"{page}.html#{place}", "title": ", ".join(words), "chapter": chapter}
        about = {key: escape(" ".join(text.split())) for key, text in about.items()}
        alone = {"glossary", "class", "function"} & set(part.parent.get("class", ()))
        about["named"] = "".join(NAMED.format(escape(word)) for word in words if alone)
        yield ENTRY.format(kind=KINDS.get(page, "heading"), text=part.extract(), **about)


def write_index(app, exception):
    """Write the index anew from the pages that were built."""
    if exception is not None or app.builder.format != "html":
        return
    target = Path(app.outdir, "pagefind")
    shutil.rmtree(target, ignore_errors=True)
    with TemporaryDirectory() as folder:
        for page in app.env.found_docs - LEFT_OUT:
            html = Path(app.outdir, f"{page}.html").read_text(encoding="utf-8")
            for number, entry in enumerate(entries(page, html)):
                name = f"{page.replace('/', '-')}-{number}.html"
                Path(folder, name).write_text(entry, encoding="utf-8")
        command = [sys.executable, "-m", "pagefind", "--quiet", "--site", folder]
        subprocess.run([*command, "--output-path", target], check=True)


def leave_out_search(app):
    """Let Sphinx write no index and no page of a search of its own."""
    app.builder.search = False


def setup(app):
    """Register the above with Sphinx."""
    app.connect("builder-inited", leave_out_search)
    app.connect("build-finished", write_index)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
