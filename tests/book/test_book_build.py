"""A book of one page, built with this book's own settings: what is executed, and what fails."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE, STDOUT
from typing import Any

import pytest
import yaml

pytest.importorskip("jupyter_book", reason="the light environment has no book")

ROOT = Path(__file__).parents[2]
PAGE = """\
---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec: {name: python3, display_name: Python 3}
---
# A page

```{code-cell} ipython3
CODE
```

The table is {results}`NAME`.
"""
WRITE = 'open("results/NAME.csv", "w").write("a,b\\n1,2\\n")'

pytestmark = pytest.mark.slow


@pytest.fixture
def book(tmp_path):
    """Lay out a book of one page."""
    for path in ("_config.yml", "requirements.txt", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / path, tmp_path)
    for path in ("_ext", "_static", "_templates", "assignment"):
        shutil.copytree(ROOT / "book" / path, tmp_path / "book" / path)
    for path in ("book/results", "book/data", "src/sampled_metrics", "tests"):
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / "tests/test_five_users.py").touch()  # goes with the notebooks
    (tmp_path / "book/references.bib").touch()
    (tmp_path / "_build/html/_static/fonts").mkdir(parents=True)  # so that none are cut here
    (tmp_path / "src/sampled_metrics/__init__.py").write_text('__version__ = "0"\n')
    write_pages(tmp_path, {"index": WRITE})
    return tmp_path


def write_pages(book, code):
    """Write a page for each name, the first page of the book first."""
    for page in book.glob("book/*.md"):
        page.unlink()
    for name, cell in code.items():
        page = PAGE.replace("CODE", cell).replace("NAME", name)
        (book / f"book/{name}.md").write_text(page, encoding="utf-8")
    first, *others = (f"book/{name}" for name in code)
    toc: dict[str, Any] = {"format": "jb-book", "root": first}
    if others:
        toc["chapters"] = [{"file": page} for page in others]
    (book / "_toc.yml").write_text(yaml.safe_dump(toc), encoding="utf-8")


@pytest.fixture
def build(book):
    """Build as `make book` does; return the exit code, the output and the pages that were run."""
    program = str(Path(sys.executable).with_name("jupyter-book"))
    command = [program, "build", ".", "-W", "-n", "--keep-going"]

    def run():
        done = subprocess.run(
            command, cwd=book, stdout=PIPE, stderr=STDOUT, text=True, encoding="utf-8"
        )
        executed = re.findall(r"book/(\w+)\.md: Executing notebook$", done.stdout, re.M)
        return done.returncode, done.stdout, executed

    return run


@pytest.mark.slow
def test_what_is_executed_again(book, build):
    html = book / "_build/html"
    words = "# Words\n\n```{glossary}\na term\n  What it means.\n```\n"
    (book / "book/words.md").write_text(words, encoding="utf-8")
    toc = {"format": "jb-book", "root": "book/index", "chapters": [{"file": "book/words"}]}
    (book / "_toc.yml").write_text(yaml.safe_dump(toc), encoding="utf-8")
    code, output, executed = build()
    assert (code, executed) == (0, ["index"]), output
    assert (html / "results/index.csv").read_text() == "a,b\n1,2\n"
    assert 'href="../results/index.csv"' in (html / "book/index.html").read_text("utf-8")
    notebook = json.loads((html / "_sources/book/00a-index.ipynb").read_text("utf-8"))
    assert any(cell.get("outputs") for cell in notebook["cells"])

    (book / "book/_static/book.css").write_text("p {}\n", encoding="utf-8")
    code, output, executed = build()
    assert (code, executed) == (0, []), "its look is not what a page computes\n" + output
    assert (html / "_static/book.css").read_text("utf-8") == "p {}\n"

    changes = {
        "the package": lambda: (book / "src/sampled_metrics/__init__.py").write_text(
            '__version__ = "1"\n'
        ),
        "the data": lambda: (book / "book/data/ranks.csv").write_text("rank\n1\n"),
        "a table lost": lambda: (book / "book/results/index.csv").unlink(),
    }
    for change, make in changes.items():
        make()
        code, output, executed = build()
        assert (code, executed) == (0, ["index"]), f"{change}\n{output}"
        index = json.loads((html / "pagefind/pagefind-entry.json").read_text("utf-8"))
        assert index["languages"]["en"]["page_count"] == 2, "the other page is still found"


@pytest.mark.slow
def test_only_a_published_site_knows_its_repository(book, build, monkeypatch):
    def elsewhere():
        code, output, _ = build()
        assert code == 0, output
        page = (book / "_build/html/book/index.html").read_text("utf-8")
        hosts = r'"(https://(?:[\w.-]*github|mybinder|colab)[^"]*)"'
        return set(re.findall(hosts, page))

    monkeypatch.delenv("GITHUB_SERVER_URL", raising=False)
    assert elsewhere() == set()
    notebook = book / "_build/html/notebooks/book/index.ipynb"
    sitemap = book / "_build/html/sitemap.txt"
    assert not notebook.exists()
    assert not sitemap.exists()

    monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.com")
    monkeypatch.setenv("GITHUB_REPOSITORY", "Ada/metrics")
    repository, site = "https://github.com/Ada/metrics", "https://ada.github.io/metrics/"
    links = elsewhere()
    assert links >= {
        repository,
        f"{repository}/edit/main/book/index.md",
        "https://mybinder.org/v2/gh/Ada/metrics/main?urlpath=lab/tree/book/index.md",
        "https://colab.research.google.com/github/Ada/metrics/blob/notebooks/book/index.ipynb",
        f"{site}book/index.html",
        f"{site}_static/order-flip.png",
    }
    assert any(link.startswith(f"{repository}/issues/new") for link in links)
    assert sitemap.read_text("utf-8") == f"{site}book/index.html\n"
    first = json.loads(notebook.read_text("utf-8"))["cells"][0]
    assert f"git clone --quiet --depth 1 {repository} " in "".join(first["source"])


@pytest.mark.parametrize(
    "says",
    [
        {"fine": (WRITE, ""), "wrong": ("1 / 0", "ZeroDivisionError")},
        {
            "warns": (f'{WRITE}\nimport warnings\nwarnings.warn("beware")', "stderr was found"),
            "idle": ("1", "no cell wrote book/results/idle.csv"),
        },
    ],
)
@pytest.mark.slow
def test_what_fails_the_build_now_and_when_run_again(book, build, says):
    write_pages(book, {name: code for name, (code, _) in says.items()})
    for _ in range(2):
        exit_code, output, executed = build()
        assert exit_code != 0, output
        assert sorted(executed) == sorted(says), output
        assert all(message in output for _, message in says.values()), output
