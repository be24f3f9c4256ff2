"""The list of references, labeled and sorted as the text cites: by author and year."""

from types import SimpleNamespace

from pybtex.plugin import register_plugin
from pybtex.style.formatting.plain import Style as Plain
from pybtex.style.labels import BaseLabelStyle
from sphinxcontrib.bibtex.style.referencing import PersonStyle
from sphinxcontrib.bibtex.style.template import join, year


class AuthorYear(BaseLabelStyle):
    """Labels such as Krichene and Rendle, 2020: the words of a citation in parentheses.

    Works that are cited alike get letters, as labels must differ.
    """

    def format_labels(self, sorted_entries):
        """Return a label for each work."""
        person = PersonStyle()
        words = join(sep=", ")[person.author_or_editor_or_title(full=False), year]
        style = SimpleNamespace(person=person)
        labels = [
            words.format_data({"entry": entry, "style": style}).render_as("text")
            for entry in sorted_entries
        ]
        return [
            f"{label}{chr(ord('a') + labels[:i].count(label))}"
            if labels.count(label) > 1
            else label
            for i, label in enumerate(labels)
        ]


class Style(Plain):
    """Pybtex's plain style, with these labels."""

    default_label_style = AuthorYear


def setup(app):
    """Register the above with Sphinx."""
    register_plugin("pybtex.style.formatting", "author_year", Style)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
