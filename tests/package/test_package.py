"""The package as it is released: built, installed without the book, its examples run."""

import os
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
IMPORT = """
import sys, sampled_metrics
print(sampled_metrics.__version__, sampled_metrics.__file__)
for name in sampled_metrics.__all__:
    getattr(sampled_metrics, name)
assert "matplotlib" not in sys.modules
"""


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """Build an archive of sources, and a wheel of what that holds."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-d", folder]
    subprocess.run([*build, "-t", "sdist"], cwd=ROOT, check=True)
    (sdist,) = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        # Debian's Python 3.11.2 knows no filter, and newer ones want one.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)
    unpacked = folder / sdist.name.removesuffix(".tar.gz")
    subprocess.run([*build, "-t", "wheel"], cwd=unpacked, check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def metadata_of(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("METADATA"))
        return message_from_bytes(archive.read(name))


def install(python, *what):
    command = [python, "-m", "pip", "install"]
    if find_spec("uv"):
        command = [sys.executable, "-m", "uv", "pip", "install", "--python", python]
    subprocess.run([*command, "--quiet", *what], check=True)


@pytest.fixture(scope="session")
def python(wheel, tmp_path_factory):
    """Install the wheel, with what it asks for and pytest, into an environment of its own."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    install(python, wheel, "pytest")
    return python


def run(python, *arguments):
    """Run Python outside the repository."""
    done = subprocess.run(
        [python, "-I", *arguments], cwd=Path(python).parent, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_is_used_without_matplotlib(python, wheel):
    version, path = run(python, "-c", IMPORT).split()
    assert version == wheel.name.split("-")[1]
    assert Path(path).is_relative_to(Path(python).parents[1])
    found = run(
        python, "-c", "from importlib.util import find_spec; print(find_spec('matplotlib'))"
    )
    assert found.strip() == "None"


def examples(python, *options):
    """Run the examples of the installed package."""
    where = run(python, "-c", "import sampled_metrics; print(*sampled_metrics.__path__)").strip()
    flags = ["-p", "no:cacheprovider", "-o", "doctest_optionflags=NORMALIZE_WHITESPACE ELLIPSIS"]
    given = (option.replace("PACKAGE", where) for option in options)
    return run(python, "-m", "pytest", "-q", "--doctest-modules", *flags, *given)


def test_its_examples_run(python):
    """All but those that need an extra."""
    assert " passed" in examples(python, "--ignore=PACKAGE/io/engines.py", "PACKAGE")


def test_the_examples_of_the_extra_for_tables_run(python, wheel):
    """After the other test: from here on the extra is there."""
    install(python, f"{wheel}[tables]")
    assert " passed" in examples(python, "PACKAGE/io/engines.py")


def test_its_page_on_an_index_asks_for_no_picture_that_is_not_there(wheel):
    metadata = metadata_of(wheel)
    page = metadata.get_payload()
    assert page.startswith("# Sampled Metrics, Exactly")
    assert "](book/" not in page
    assert "](.." not in page
    assert "Among 100 random movies" in page
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert [address.split(",")[0] for address in metadata.get_all("Project-URL")] == ["Paper"]


def test_it_holds_the_license_and_the_types(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert "sampled_metrics/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if not name.startswith("sampled_metrics")]
