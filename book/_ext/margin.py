"""A note in the margin stands beside the paragraph above it in the source."""

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform


class Beside(SphinxPostTransform):
    """Put each note into one box with what it belongs to; the style sheet does the rest."""

    default_priority = 900
    formats = ("html",)

    def run(self):
        notes = [n for n in self.document.findall(nodes.container) if "margin" in n["classes"]]
        for note in notes:
            parent, at = note.parent, note.parent.index(note)
            both = parent[at - 1 : at + 1]
            del parent[at - 1 : at + 1]
            parent.insert(at - 1, nodes.container("", *both, classes=["beside"]))


def setup(app):
    """Register the above with Sphinx."""
    app.add_post_transform(Beside)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
