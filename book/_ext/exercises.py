"""Exercises answered in the page: a place for an answer under each, and lists of them by part.

A page knows the answer that its cell names, ``check = Answer("ex-name")``; the browser checks it.
Without JavaScript the place says so.
"""

import json
import re
from html import escape
from pathlib import Path

from docutils import nodes

from sampled_metrics_book import Answer

CALL = re.compile(r'^check = Answer\("(.*?)"(, percent=True)?\)$', re.M)
BLANK = re.compile(r"(Solution to)(<a [^>]*>) ")  # is underlined
WITHOUT = "<noscript>With JavaScript, this page checks your answer.</noscript>"


def called(code):
    """Return what is right, the labels and the unit of the `Answer` that a cell makes, or None."""
    found = CALL.search(code)
    if not found:
        return None
    answer, percent = Answer(found[1], percent=bool(found[2])), bool(found[2])
    return {"accepted": answer.accepted, "labels": answer.labels, "percent": percent}


def add_boxes(app, doctree):
    """Leave a place under the cell of each exercise, and remember the page's exercises."""
    found = app.env.metadata[app.env.docname].setdefault("answers", {})
    for exercise in doctree.findall(lambda node: node.tagname.startswith("exercise_")):
        for block in exercise.findall(nodes.literal_block):
            if answer := called(block.astext()):
                name = exercise["label"]
                found[name] = answer
                cell = block.parent.parent
                place = f'<div class="answer-box" {attributes(name, answer)}>{WITHOUT}</div>\n'
                cell.parent.insert(cell.parent.index(cell) + 1, nodes.raw("", place, format="html"))


def attributes(name, answer):
    """Write what the script needs to know."""
    return f'data-exercise="{name}" data-answer="{escape(json.dumps(answer))}"'


def chapters_of(app, docname):
    """Return the pages that a part names in its dict `reading`, in the appendix or not: minutes."""
    source = Path(app.env.doc2path(docname)).read_text(encoding="utf-8")
    named = source.partition("reading = {")[2].partition("}")[0]
    folder = docname.rpartition("/")[0]
    pages = {f"{folder}/{name}": int(n) for name, n in re.findall(r'"([\w-]+)": (\d+)', named)}
    return {page: minutes for page, minutes in pages.items() if page in app.env.titles}


def add_lists(app, doctree, docname):
    """List the exercises of a part's chapters on the page that opens the part."""
    if "/part-" not in docname:
        return
    numbers, lines = app.env.toc_fignumbers, []
    for page in chapters_of(app, docname):
        links = []
        for name, answer in app.env.metadata[page].get("answers", {}).items():
            number = ".".join(map(str, numbers[page]["exercise"][name]))
            address = f"{app.builder.get_relative_uri(docname, page)}#{name}"
            links.append(f'<a href="{address}" {attributes(name, answer)}>Exercise {number}</a>')
        if links:
            title = escape(app.env.titles[page].astext())
            colon = "" if title.endswith("?") else ":"
            lines.append(f"<li>{title}{colon} {', '.join(links)}</li>")
    (place,) = (s for s in doctree.findall(nodes.section) if "time" in s["ids"])
    quiz = docname.rpartition("/")[2].replace("part-", "quiz-")
    text = f'<div class="exercise-list" data-quiz="{quiz}"><ul>{"".join(lines)}</ul></div>\n'
    place.append(nodes.raw("", text, format="html"))


def add_files(app, pagename, templatename, context, doctree):
    """Load scripts and style where there is something to answer."""
    if any(word in context.get("body", "") for word in ("answer-box", "exercise-list")):
        app.add_css_file("exercises.css")
        for script in ("answers.js", "exercises.js"):
            app.add_js_file(script, loading_method="defer")
    if "/part-" in pagename:  # which has a list, so the others, too
        app.add_js_file("quiz.js", loading_method="defer")


def move_blank(app, pagename, templatename, context, doctree):
    """Take the blank out of the link above a solution."""
    if "body" in context:
        context["body"] = BLANK.sub(r"\1 \2", context["body"])


def setup(app):
    """Register the above with Sphinx."""
    app.connect("doctree-read", add_boxes)
    app.connect("doctree-resolved", add_lists, priority=900)  # after the numbers are known
    app.connect("html-page-context", add_files)
    app.connect("html-page-context", move_blank)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
