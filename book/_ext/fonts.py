"""The site's font as files of the site, cut down to the letters and signs that pages may hold."""

from pathlib import Path

from font_source_sans_pro import font_directory
from fontTools import subset

FACES = ("Regular", "It", "Semibold")
LETTERS = [
    *range(0x20, 0x250),  # Latin
    *range(0x370, 0x400),  # Greek
    *range(0x2010, 0x2070),  # dashes, quotation marks, exponents
    *range(0x2190, 0x2194),  # arrows
    *range(0x2200, 0x2270),  # mathematics
]
FEATURES = ["kern", "liga", "lnum", "tnum", "mark", "ccmp"]


def write_fonts(app):
    """Write the faces of the font, and its license, to the site, unless they are there."""
    target = Path(app.outdir, "_static", "fonts")
    if app.builder.format != "html" or target.exists():
        return
    target.mkdir(parents=True)
    source = Path(font_directory)
    options = subset.Options(flavor="woff", layout_features=FEATURES)
    for face in FACES:
        font = subset.load_font(source / f"SourceSansPro-{face}.ttf", options)
        cut = subset.Subsetter(options)
        cut.populate(unicodes=LETTERS)
        cut.subset(font)
        subset.save_font(font, target / f"{face}.woff", options)
    license_ = (source / "LICENSE.txt").read_text(encoding="utf-8")
    (target / "LICENSE.txt").write_text(license_, encoding="utf-8")


def setup(app):
    """Register the above with Sphinx."""
    app.connect("builder-inited", write_fonts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
