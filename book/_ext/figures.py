"""Figures on phones, and pictures that keep their place while they load.

In a build of the site, a figure's SVG file carries a second, narrow drawing, which
`sampled_metrics_book.display` makes. Here it gets a file of its own, which the page shows where the
window is narrow. Each picture is given its size, so that the text below does not move when it
arrives.
"""

import base64
import os
import re
from pathlib import Path

NARROW = re.compile(r'<metadata id="narrow">([^<]*)</metadata>\n?')
SIZE = re.compile(
    r'<svg\b[^>]*?\bwidth="([\d.]+)pt"[^>]*?\bheight="([\d.]+)pt"|'
    r'<svg\b[^>]*?\bheight="([\d.]+)pt"[^>]*?\bwidth="([\d.]+)pt"',
    re.S,
)
IMAGE = re.compile(r'<img\b[^>]*?\bsrc="(?P<src>[^"]*/_images/(?P<name>[^"/]+)\.svg)"[^>]*?>')
PHONE = "(max-width: 600px)"


def size(svg):
    """Return the width and height of a drawing in pixels."""
    found = SIZE.search(svg)
    width, height = (found[1], found[2]) if found[1] else (found[4], found[3])
    return round(float(width) * 4 / 3), round(float(height) * 4 / 3)


def two_widths(app, pagename, templatename, context, doctree):
    """Give each figure of the page its size and, for narrow windows, its second drawing."""
    if not doctree or app.builder.format != "html":
        return
    sources = {Path(name).stem: Path(app.srcdir, path) for path, name in app.builder.images.items()}
    target = Path(app.outdir, app.builder.imagedir)

    def picture(match):
        svg = sources[match["name"]].read_text(encoding="utf-8")
        if SIZE.search(svg) is None or " width=" in match[0]:
            return match[0]
        width, height = size(svg)
        image = f'{match[0][:-1].rstrip("/ ")} width="{width}" height="{height}"/>'
        if (found := NARROW.search(svg)) is None:
            return image
        narrow = base64.b64decode(found[1]).decode()
        target.mkdir(parents=True, exist_ok=True)
        Path(target, f"{match['name']}-narrow.svg").write_text(narrow, encoding="utf-8")
        address = match["src"].replace(".svg", "-narrow.svg")
        width, height = size(narrow)
        return (
            f'<picture><source media="{PHONE}" srcset="{address}" width="{width}" '
            f'height="{height}"/>{image}</picture>'
        )

    context["body"] = IMAGE.sub(picture, context["body"])


def send_one_width(app, exception):
    """Take the second drawing out of the first one's file: it has its own."""
    if exception is None and app.builder.format == "html":
        for path in Path(app.outdir, app.builder.imagedir).glob("*.svg"):
            svg = path.read_text(encoding="utf-8")
            if NARROW.search(svg):
                path.write_text(NARROW.sub("", svg), encoding="utf-8")


def setup(app):
    """Register the above with Sphinx."""
    os.environ["FIGURES_FOR_PHONES"] = "1"  # kernels inherit it
    app.connect("html-page-context", two_widths)
    app.connect("build-finished", send_one_width)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
