"""What a page says to those who do not see it, and what its controls are called.

Each toggle is named by what it shows, each download in words.
"""

from docutils import nodes
from myst_nb.sphinx_ import depart_HideCellInput, visit_HideCellInput
from myst_nb.sphinx_ext import HideCodeCellNode
from sphinx.transforms.post_transforms import SphinxPostTransform

DOWNLOADS = {".ipynb": "Notebook", ".md": "Source", ".pdf": "Print to PDF"}

WRONG = {  # roles that contradict each other, and ids that all exercises or proofs share
    '<div role="list" class="citation-list">': '<div class="citation-list">',
    ' role="doc-biblioentry"': "",
    ' id="exercise-content"': "",
    ' id="solution-content"': "",
    ' id="proof-content"': "",
    ' class="proof admonition" id="proof"': ' class="proof admonition"',
}


class NameFoldedCode(SphinxPostTransform):
    """Name folded code by the figure that it draws or prepares, or by where it is."""

    default_priority = 198  # before myst_nb folds it
    formats = ("html",)

    def run(self, **kwargs):
        """Give each folded cell what is written on its toggle."""
        taken = set()
        cells = self.document.findall(
            lambda n: isinstance(n, nodes.container) and n.get("hide_mode")
        )
        for number, cell in enumerate(list(cells)):
            shown = name = self.name(cell, first=number == 0)
            part = 2
            while shown in taken:
                shown, part = f"{name}, part {part}", part + 1
            taken.add(shown)
            cell["prompt_show"], cell["prompt_hide"] = f"Show {shown}", f"Hide {shown}"

    def name(self, cell, first):
        """Say what the code is for."""
        prints = any(child.get("nb_element") == "cell_code_output" for child in cell.children)
        if first and not prints:
            return "the setup"
        figure = next(filter(None, map(self.figure, cell.findall(nodes.figure))), None)
        if figure:
            return f"the code of {figure}"
        where = self.section(cell)
        if prints:
            return f"the code of the table in {where}"
        return f"the code that prepares {self.next_figure(cell) or where}"

    def figure(self, node):
        """Return the figure's kind and number, as in Figure 6.1."""
        numbers = self.env.toc_fignumbers.get(self.env.docname, {}).get("figure", {})
        number = next((numbers[i] for i in node["ids"] if i in numbers), None)
        return number and f"Figure {'.'.join(map(str, number))}"

    def next_figure(self, cell):
        """Return the first figure of the section after the cell, unless shown code comes first."""
        for node in cell.parent.children[cell.parent.index(cell) + 1 :]:
            if figure := next(filter(None, map(self.figure, node.findall(nodes.figure))), None):
                return figure
            if node.get("nb_element") == "cell_code" and not node.get("hide_mode"):
                return None
        return None

    def section(self, cell):
        """Return the section's number, or else its title."""
        numbers = self.env.toc_secnumbers.get(self.env.docname, {})
        number = next((n for i in cell.parent["ids"] if (n := numbers.get(f"#{i}"))), None)
        if number:
            return f"Section {'.'.join(map(str, number))}"
        return f"“{cell.parent.next_node(nodes.title).astext()}”"


def visit_toggle(self, node):
    """Open folded code; its toggle has the name that one sees."""
    visit_HideCellInput(self, node)
    summary = '<summary aria-label="Toggle hidden content">\n'
    self.body[self.body.index(summary, -4)] = "<summary>\n"


def name_downloads(app, pagename, templatename, context, doctree):
    """Put words in the place of the theme's file name extensions."""
    for group in context.get("header_buttons", []):
        for button in group.get("buttons", []):
            button["text"] = DOWNLOADS.get(button["text"], button["text"])


def put_right(app, pagename, templatename, context, doctree):
    """Take from the page what misleads a screen reader."""
    for wrong, right in WRONG.items() if "body" in context else ():
        context["body"] = context["body"].replace(wrong, right)


def setup(app):
    """Register the above with Sphinx."""
    app.add_post_transform(NameFoldedCode)
    app.add_node(HideCodeCellNode, override=True, html=(visit_toggle, depart_HideCellInput))
    app.connect("html-page-context", put_right)
    app.connect("html-page-context", name_downloads, priority=900)  # after the theme's own
    return {"parallel_read_safe": True, "parallel_write_safe": True}
