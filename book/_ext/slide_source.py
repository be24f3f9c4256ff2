"""The slides as one file that a teacher can edit: Markdown that any browser shows as slides.

The text is that of the page of slides, with its numbers, tables and pictures filled in. The head
of the file makes a browser take the rest for plain text, and load what shows it as slides.
"""

from pathlib import Path

from bs4 import BeautifulSoup, NavigableString
from explorers import scripts
from figures import NARROW

from notebooks import ROOT, pack

ZIP = "sampled-metrics-slides.zip"
STYLES = ("reveal/reveal.css", "page.css", "explorers.css", "slides.css")
HEAD = """\
<!-- Change anything below in a text editor, and reload the page in the browser. It is Markdown:
each slide begins with "## " and ends with its notes, which only the speaker sees. -->
<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Sampled metrics, exactly</title>\
{styles}<script>location.hash ||= "#/"</script>{scripts}<article><section><plaintext>
"""
README = """\
The slides of "Sampled Metrics, Exactly": one lecture of about 75 minutes.

Present: open slides.html in a browser. No network is needed.
    The right arrow shows the next thing, the left arrow goes back, F fills the screen, S opens
    the notes in a second window, Escape shows all slides at once, ? lists the other keys.
Change: open slides.html in a text editor. It is Markdown below its first line. Save, and reload
    the page in the browser. Pictures are in pictures/.
Print: write ?print-pdf behind slides.html in the address, and print, to paper or to a PDF.
PowerPoint and others, if you have pandoc, which gives some pictures a slide of their own:
    pandoc -f commonmark_x slides.html -o slides.pptx

License
Text and pictures: Creative Commons Attribution 4.0, https://creativecommons.org/licenses/by/4.0/
Code (show/): BSD-3-Clause, in the file LICENSE; MathJax (show/mathjax/): Apache License 2.0;
    reveal.js (show/reveal/): MIT License, in the file show/reveal/LICENSE.
"""


def words(tag):
    """Return what stands in a line, as Markdown."""
    if isinstance(tag, NavigableString):
        return str(tag)
    classes = tag.get("class", [])
    if "headerlink" in classes:
        return ""
    if "math" in classes:
        formula = tag.get_text()[2:-2]  # a letter is no formula to pandoc, which breaks on some
        return f"*{formula}*" if len(formula) == 1 else f"${formula}$"
    mark = {"em": "*", "strong": "**", "code": "`"}.get(tag.name, "")
    return mark + "".join(map(words, tag.children)) + mark


def blocks(tag):
    """Yield the blocks of a part of the page, as Markdown."""
    classes = tag.get("class", []) if tag.name else []
    if tag.name == "h2":
        yield f"## {words(tag)}"
    elif tag.name == "p":
        yield words(tag).strip()
    elif tag.name in ("ul", "ol"):
        mark = "- " if tag.name == "ul" else "1. "
        yield "\n".join(mark + " ".join(blocks(item)) for item in tag.find_all("li"))
    elif tag.name == "pre":
        language = "python" if tag.find_parent(class_="cell_input") else ""
        yield f"```{language}\n{tag.get_text().strip()}\n```"
    elif tag.name == "table":
        yield pipes(tag)
    elif "explorer" in classes:
        named = f'data-explorer="{tag["data-explorer"]}" aria-label="{tag["aria-label"]}"'
        body = '<figcaption></figcaption><div class="explorer-body"></div>'
        yield f'<figure class="explorer" id="{tag["id"]}" {named}>{body}</figure>'
    elif tag.name == "figure":
        alt = tag.img["alt"].replace('"', "'")  # between brackets PowerPoint would show it
        yield f'![](pictures/{tag["id"]}.svg){{alt="{alt}"}}'
    elif "math" in classes:
        formula = tag.get_text().strip()[2:-2].strip()
        formula = formula.removeprefix(r"\begin{split}").removesuffix(r"\end{split}")  # Sphinx's
        yield f"$$\n{formula}\n$$"
    elif "notes" in classes:
        captions = tag.find_parent("section").select("figcaption .caption-text")
        said = [words(part).strip() for part in tag.select("p:not(.topic-title)")]
        said += [f"The figure: {words(caption)}" for caption in captions]
        yield "\n\n".join(["::: notes", *said, ":::"])
    else:
        for child in getattr(tag, "children", ()):
            yield from blocks(child)


def pipes(table):
    """Return a table as Markdown."""
    rows = [
        [words(cell).strip().replace("|", r"\|") for cell in row.find_all(["th", "td"])]
        for row in table.find_all("tr")
    ]
    rows.insert(1, ["---"] * len(rows[0]))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def write_slides(app, exception):
    """Write the zip: the slides, their pictures, and what shows them."""
    page = Path(app.outdir, "book", "slides.html")
    if exception is not None or not page.exists():
        return
    article = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser").find("article")
    slides = article.select("section > section")
    text = "\n\n".join(part for slide in slides for part in blocks(slide))
    names = {figure["data-explorer"] for figure in article.select(".explorer")}
    loaded = ["reveal/reveal.js", "reveal/notes.js", "reveal/markdown.js", "markdown.js"]
    loaded += ["slides.js", *scripts(names), "mathjax/tex-chtml.js"]
    head = HEAD.format(
        styles="".join(f'<link rel="stylesheet" href="show/{name}">' for name in STYLES),
        scripts="".join(f'<script defer src="show/{name}"></script>' for name in loaded),
    )
    static, own = Path(app.outdir, "_static"), ROOT / "book" / "_slides"
    mathjax = (path for path in static.glob("mathjax/**/*") if path.is_file())
    shown = [path.relative_to(static).as_posix() for path in mathjax]
    contents = {
        f"show/{name}": next(p for p in (own / name, static / name) if p.exists()).read_bytes()
        for name in (*STYLES, *loaded, "reveal/LICENSE", *shown)
    }
    for figure in article.select("figure:not(.explorer)"):
        svg = (page.parent / figure.img["src"]).read_text(encoding="utf-8")
        contents[f"pictures/{figure['id']}.svg"] = NARROW.sub("", svg).encode()
    contents |= {"slides.html": f"{head}{text}\n".encode(), "README.txt": README.encode()}
    contents["LICENSE"] = (ROOT / "LICENSE").read_bytes()
    pack(Path(app.outdir, ZIP), contents)
