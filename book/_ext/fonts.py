"""The site's fonts as files of the site, cut down to what pages may hold: letters, signs, icons."""

import base64
import io
from pathlib import Path

from font_source_sans_pro import font_directory
from fontTools import subset
from pydata_sphinx_theme import __file__ as theme

FACES = ("Regular", "It", "Semibold")
LETTERS = [
    *range(0x20, 0x250),  # Latin
    *range(0x370, 0x400),  # Greek
    *range(0x2010, 0x2070),  # dashes, quotation marks, exponents
    *range(0x2190, 0x2194),  # arrows
    *range(0x2200, 0x2270),  # mathematics
]
FEATURES = ["kern", "liga", "lnum", "tnum", "mark", "ccmp"]
ICONS = """
    angle-down f107, angle-left f104, angle-right f105, arrow-up f062, bars f0c9, bell f0f3,
    circle-half-stroke f042, circle-info f05a, code f121, download f019, expand f065, external f35d,
    file f15b, file-pdf f1c1, github f09b, lightbulb f0eb, list f03a, magnifying-glass f002,
    moon f186, pencil-alt f303, rocket f135, share f064, sun f185
"""  # by their classes, with their codes: what the theme's templates and style sheets show
FONT = '"Font Awesome 5 Free"'  # as a style sheet of the theme calls them
RULES = f"""\
/* Icons of Font Awesome Free (CC BY 4.0, https://fontawesome.com) */
:root {{ --fa-font-solid: 900 1em/1 {FONT}; --fa-font-brands: var(--fa-font-solid); }}
.fa-solid, .fas, .fab {{
  display: inline-block; font-family: {FONT}; font-style: normal; font-weight: 900; line-height: 1;
}}
.fa-lg {{ font-size: 1.25em; line-height: 0.05em; vertical-align: -0.075em; }}
"""


def cut(path, codes, target):
    """Write a font with these characters only."""
    options = subset.Options(flavor="woff", layout_features=FEATURES)
    font = subset.load_font(path, options)
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=codes)
    cutter.subset(font)
    subset.save_font(font, target, options)


def write_fonts(app):
    """Write the faces of the font, and its license, to the site, unless they are there."""
    target = Path(app.outdir, "_static", "fonts")
    if app.builder.format != "html" or (target / "icons.css").exists():
        return
    target.mkdir(parents=True, exist_ok=True)
    source = Path(font_directory)
    for face in FACES:
        cut(source / f"SourceSansPro-{face}.ttf", LETTERS, target / f"{face}.woff")
    license_ = (source / "LICENSE.txt").read_text(encoding="utf-8")
    (target / "LICENSE.txt").write_text(license_, encoding="utf-8")
    write_icons(target / "icons.css")


def write_icons(target):
    """Write the icons as one small style sheet with its fonts, where the theme loads 300 KB."""
    icons = dict(icon.split() for icon in ICONS.split(","))
    rules = [f'.fa-{name}::before {{ content: "\\{code}"; }}\n' for name, code in icons.items()]
    for file in ("brands-400", "solid-900"):
        (path,) = Path(theme).parent.glob(f"**/webfonts/fa-{file}.ttf")
        cut(path, [int(code, 16) for code in icons.values()], font := io.BytesIO())
        data = base64.b64encode(font.getvalue()).decode()
        source = f'url("data:font/woff;base64,{data}")'
        rules.append(f"@font-face {{ font-family: {FONT}; font-weight: 900; src: {source}; }}\n")
    target.write_text(RULES + "".join(rules), encoding="utf-8")


def setup(app):
    """Register the above with Sphinx."""
    app.connect("builder-inited", write_fonts)
    app.add_css_file("fonts/icons.css", priority=100)  # before what changes them
    return {"parallel_read_safe": True, "parallel_write_safe": True}
