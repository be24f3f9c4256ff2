"""The package's page on an index, from the repository's README: hatch calls it at each build.

An index follows absolute addresses only. Where the repository's is known, as in its hosted
workflows (`GITHUB_REPOSITORY=owner/name`), pictures and links are found there, and the project has
addresses. Elsewhere the words for a picture, or for a link, take its place.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PAPER = {"Paper": "https://doi.org/10.1145/3394486.3403226"}
SITE = "../../deployments/github-pages"  # how a README on GitHub reaches the site of its repository


class IndexPage(MetadataHookInterface):
    """Fill in what pyproject.toml calls dynamic: `readme` and `urls`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Write both into the metadata."""
        repository = os.environ.get("GITHUB_REPOSITORY", "")
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": page(text, repository)}
        metadata["urls"] = PAPER | addresses(repository)


def page(text: str, repository: str) -> str:
    """Return the README with its pictures and links made absolute, or made words."""
    if repository:
        text = text.replace(SITE, addresses(repository)["Documentation"])
        raw = f"https://raw.githubusercontent.com/{repository}/HEAD"
        text = re.sub(r"(!\[[^\]]*\])\((book/.*?)\)", rf"\1({raw}/\2)", text)
        blob = f"https://github.com/{repository}/blob/HEAD"
        return re.sub(r"\]\((book/.*?)\)", rf"]({blob}/\1)", text)
    text = re.sub(r"\*\*\[[^\]]*\]\(" + re.escape(SITE) + r"\)\*\* · ", "", text)
    text = re.sub(r"!\[(.*?)\]\(book/.*?\)", r"> \1", text)
    return re.sub(r"\[([^\]]*)\]\(book/.*?\)", r"\1", text)


def addresses(repository: str) -> dict[str, str]:
    """Return the project's addresses; its book is published as the repository's page."""
    if not repository:
        return {}
    owner, _, name = repository.partition("/")
    home = f"https://github.com/{repository}"
    return {
        "Documentation": f"https://{owner.lower()}.github.io/{name}/",
        "Source": home,
        "Changelog": f"{home}/blob/HEAD/CHANGELOG.md",
        "Issues": f"{home}/issues",
    }
