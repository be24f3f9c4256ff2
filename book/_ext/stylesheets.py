"""The theme's style sheets, without the rules for what no page of the book has.

The theme ships all of Bootstrap and a name for each of two thousand icons: half a megabyte, of
which these pages use a fifth. A rule stays if each class that it asks for occurs as a word in some
page or script.
"""

import re
from pathlib import Path

OURS = Path(__file__).parents[1] / "_static"
WORD = re.compile(r"-?[A-Za-z_][\w-]*")
CLASS = re.compile(rf"\.({WORD.pattern})")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
RULE = re.compile(r"([^{};]+)\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}")
ALTERNATIVES = re.compile(r":(?:not|is|where|has)\([^()]*(?:\([^()]*\)[^()]*)*\)")
COMMA = re.compile(r",(?![^(]*\))")
COMPOSED = ("bs-tooltip",)  # classes that a script puts together from parts


def prune(css, words):
    """Return the sheet without rules for classes that are none of the words."""

    def asked_for(selector):
        classes = CLASS.findall(ALTERNATIVES.sub("", selector))
        return all(name in words or name.startswith(COMPOSED) for name in classes)

    def shorter(match):
        head, body = match[1].strip(), match[2]
        if head.startswith(("@media", "@supports")):
            inner = prune(body, words)
            return f"{head}{{{inner}}}" if inner.strip() else ""
        if head.startswith("@"):
            return match[0]
        selectors = filter(asked_for, COMMA.split(head))
        head = ",".join(selectors)
        return f"{head}{{{body}}}" if head else ""

    return RULE.sub(shorter, COMMENT.sub("", css))


def prune_sheets(app, exception):
    """Prune what is not ours, when all pages are written."""
    if exception is not None or app.builder.format != "html":
        return
    site = Path(app.outdir)
    static = site / "_static"
    scripts = [path for path in static.rglob("*.js") if not {"mathjax", "vendor"} & {*path.parts}]
    texts = [path.read_text(encoding="utf-8") for path in [*site.rglob("*.html"), *scripts]]
    words = {word for text in texts for word in WORD.findall(text)}
    for sheet in static.rglob("*.css"):
        if not (OURS / sheet.name).exists():
            css = sheet.read_text(encoding="utf-8")
            sheet.write_text(prune(css, words), encoding="utf-8")


def setup(app):
    """Register the above with Sphinx."""
    app.connect("build-finished", prune_sheets, priority=900)  # after other extensions' files
    return {"parallel_read_safe": True, "parallel_write_safe": True}
