"""What only a published site has: its address, a site map, and buttons that lead to its repository.

A workflow of GitHub names its repository in the environment. A build anywhere else has none, and
its pages lead nowhere but to each other.
"""

import os
import shutil
from pathlib import Path

import nbformat

GITHUB, COLAB = "https://github.com", "https://colab.research.google.com"
NOTEBOOKS = "notebooks"  # the branch where Colab, which opens no other format, finds them
BUTTONS = {
    "repository_branch": "main",
    "use_repository_button": True,
    "use_edit_page_button": True,
    "use_issues_button": True,
    "launch_buttons": {
        "binderhub_url": "https://mybinder.org",
        "colab_url": COLAB,
        "notebook_interface": "jupyterlab",
    },
}
SETUP = """\
# On Colab only: the book's data, and the package.
!git clone --quiet --depth 1 {url} book
%pip install --quiet "./book[book,report,tables]" myst-nb
%cd book/book"""


def repository():
    """Return the address of the repository that the site is built for, or None."""
    if os.environ.get("GITHUB_SERVER_URL") == GITHUB:
        return f"{GITHUB}/{os.environ['GITHUB_REPOSITORY']}"


def site_of(url):
    """Return where GitHub publishes the pages of a repository."""
    owner, name = url.split("/")[-2:]
    site = f"{owner.lower()}.github.io"
    return f"https://{site}/" if name.lower() == site else f"https://{site}/{name}/"


def configure(app, config):
    """Tell Sphinx and its theme the address of the site and of its repository."""
    if url := repository():
        config.html_baseurl = config.ogp_site_url = site_of(url)
        config.ogp_image = "_static/order-flip.png"
        config.ogp_custom_meta_tags = ['<meta name="twitter:card" content="summary_large_image" />']
        config.html_theme_options = {**config.html_theme_options, **BUTTONS, "repository_url": url}


def open_notebook(app, pagename, templatename, context, doctree):
    """Lead Colab to the page's notebook; the theme leads it to the source."""
    for group in context.get("header_buttons", []):
        for button in group.get("buttons", []):
            if button["text"] == "Colab" and "ipynb_source" in context:
                file = f"blob/{NOTEBOOKS}/{context['ipynb_source']}"
                button["url"] = f"{COLAB}/github/{repository().removeprefix(GITHUB + '/')}/{file}"


def write_notebooks(app, exception):
    """Write the notebooks for Colab, which begin with what they need."""
    url, folder = repository(), Path(app.outdir, NOTEBOOKS)
    shutil.rmtree(folder, ignore_errors=True)
    if exception is not None or app.builder.format != "html" or not url:
        return
    sources = Path(app.outdir, "_sources")
    for path in sources.rglob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        notebook.cells.insert(0, nbformat.v4.new_code_cell(SETUP.format(url=url), id="colab"))
        target = folder / path.relative_to(sources)
        target.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, target)


def write_sitemap(app, exception):
    """List the pages' addresses for those who index sites, who want them whole."""
    if exception is None and app.builder.format == "html" and repository():
        pages = sorted(app.env.found_docs)
        addresses = [f"{app.config.html_baseurl}{app.builder.get_target_uri(p)}\n" for p in pages]
        Path(app.outdir, "sitemap.txt").write_text("".join(addresses), encoding="utf-8")


def setup(app):
    """Register the above with Sphinx."""
    app.connect("config-inited", configure)
    app.connect("html-page-context", open_notebook, priority=900)  # after the theme's own
    app.connect("build-finished", write_notebooks, priority=900)  # after those that one downloads
    app.connect("build-finished", write_sitemap)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
