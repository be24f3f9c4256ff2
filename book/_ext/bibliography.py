"""The list of references, labeled and sorted as the text cites: by author and year."""

import unicodedata
from types import SimpleNamespace

from pybtex.plugin import register_plugin
from pybtex.style.formatting.plain import Style as Plain
from pybtex.style.labels import BaseLabelStyle
from pybtex.style.sorting import BaseSortingStyle
from sphinxcontrib.bibtex.style.referencing import PersonStyle
from sphinxcontrib.bibtex.style.template import join, year


def cited(entry):
    """Return the words of a citation in parentheses, such as Krichene and Rendle, 2020."""
    person = PersonStyle()
    words = join(sep=", ")[person.author_or_editor_or_title(full=False), year]
    style = SimpleNamespace(person=person)
    return words.format_data({"entry": entry, "style": style}).render_as("text")


class AuthorYear(BaseLabelStyle):
    """Each work is labeled by these words; where two would be alike, their years have letters."""

    def format_labels(self, sorted_entries):
        """Return a label for each work."""
        return [cited(entry) for entry in sorted_entries]


class AsCited(BaseSortingStyle):
    """Works stand in the order of these words, whatever their case and accents."""

    def sorting_key(self, entry):
        """Return what works are compared by."""
        letters = unicodedata.normalize("NFKD", cited(entry).casefold())
        return "".join(letter for letter in letters if not unicodedata.combining(letter))


class Style(Plain):
    """Pybtex's plain style, with these labels in this order."""

    default_label_style = AuthorYear
    default_sorting_style = AsCited


def setup(app):
    """Register the above with Sphinx."""
    register_plugin("pybtex.style.formatting", "author_year", Style)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
