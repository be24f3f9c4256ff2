"""A formula in a line keeps what touches it: no line begins with a comma, or ends with a ("."""

import re

ALONE = r'<span class="math notranslate nohighlight">\\\([^<]*\\\)</span>'
FORMULA = re.compile(rf"([^\s<>]+{ALONE}[^\s<]*|{ALONE}[^\s<]+)")


def keep_together(app, pagename, templatename, context, doctree):
    """Put each formula of the text and what touches it in a part of the line without a break."""
    if doctree:
        context["body"] = FORMULA.sub(r'<span class="with-formula">\1</span>', context["body"])


def setup(app):
    """Register the above with Sphinx."""
    app.connect("html-page-context", keep_together)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
