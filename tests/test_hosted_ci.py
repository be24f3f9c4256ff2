"""The hosted CI runs what can be run here: the Makefile's targets, and nothing else."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from shared import known

ROOT = Path(__file__).parents[1]
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/book.yml").read_text(encoding="utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
JOB = WORKFLOW["jobs"]["check"]


def test_it_calls_targets_of_the_makefile_only():
    targets = set(re.findall(r"^([\w-]+)(?=:| .*:)", MAKEFILE, re.M))
    runs = [step["run"] for step in JOB["steps"] if "run" in step]
    assert runs
    for run in runs:
        command, *words = run.split()
        assert command == "make"
        assert {word for word in words if "=" not in word} <= targets, run
    assert WORKFLOW["env"].keys() <= set(re.findall(r"^(\w+) \?=", MAKEFILE, re.M))


def oldest_python():
    found = re.search(r'requires-python = ">=([\d.]+)"', (ROOT / "pyproject.toml").read_text())
    return known(found)[1]


def test_colab_and_binder_find_what_the_buttons_open():
    steps = [step.get("with", {}) for step in WORKFLOW["jobs"]["publish"]["steps"]]
    (branch,) = (step for step in steps if "publish_branch" in step)
    named = re.search('NOTEBOOKS = "(.*)"', (ROOT / "book/_ext/published.py").read_text("utf-8"))
    assert branch["publish_branch"] == branch["publish_dir"] == known(named)[1]
    binder = ROOT / ".binder"
    assert (binder / "runtime.txt").read_text().strip() == f"python-{oldest_python()}"
    needs = (binder / "requirements.txt").read_text().split()[-1]
    assert (binder / needs).resolve() == ROOT / "requirements.txt"


def test_it_runs_everywhere_and_weekly():
    matrix = JOB["strategy"]["matrix"]
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
    assert min(matrix["python"], key=lambda v: int(v.split(".")[1])) == oldest_python()
    assert WORKFLOW[True]["schedule"]  # YAML reads the key `on` as true
    assert (ROOT / "requirements.in").exists()


def test_it_repeats_each_week_what_is_skipped_where_nothing_changed():
    runs = (ROOT / ".ci/run").read_text(encoding="utf-8")
    skipped = set(re.findall(r"([\w-]+)-if-changed", runs))
    assert len(skipped) == 5
    weekly = [step for step in JOB["steps"] if "'schedule'" in step.get("if", "")]
    assert skipped <= {word for step in weekly for word in step["run"].split()}


def test_the_light_environment_has_the_pins_of_the_other():
    def pins(file):
        return set(re.findall(r"^[\w.-]+==[\w.]+", (ROOT / file).read_text("utf-8"), re.M))

    assert pins("requirements-dev.txt") < pins("requirements.txt")


@pytest.mark.parametrize(
    "check", ["test-peers", "test-doors", "test-engines", "test-neural", "check-dialects"]
)
@pytest.mark.slow
def test_a_check_is_skipped_only_with_the_files_it_passed_with(check, tmp_path):
    def passed(*options):
        command = [sys.executable, tmp_path / "scripts/passed.py", check, *options]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.stderr == ""
        return done.returncode == 0, done.stdout

    for folder in (
        "scripts",
        "tests/peers",
        "tests/doors",
        "tests/engines",
        "tests/neural",
        "book/data",
        "src/sampled_metrics",
    ):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    package = "src/sampled_metrics"
    changes = {  # of the package: what a test imports, and what is behind it
        "test-peers": [
            *(f"{package}/metrics.py", f"{package}/io/trec.py", f"{package}/io/_pairs.py"),
            "tests/peers/requirements.txt",
        ],
        "test-engines": [
            *(f"{package}/io/engines.py", f"{package}/io/_columns.py"),
            "tests/engines/requirements.txt",
        ],
        "test-doors": [
            *(f"{package}/scoring/_counting.py", f"{package}/io/_pairs.py"),
            "tests/doors/conftest.py",
        ],
        "test-neural": ["scripts/make_neural.py", f"{package}/scoring/inner_product.py"],
        "check-dialects": ["scripts/dialects/adapters.py", "book/data/dialects.csv"],
    }
    (tmp_path / "tests/passed.json").write_text("{}")
    for change in changes[check]:
        path = tmp_path / change
        text = path.read_text("utf-8")
        assert not passed()[0]
        assert passed("--note")[0]
        if path.suffix == ".py":  # words change no result
            path.write_text(text.replace('"""', '"""New. ', 1) + "# changed\n", "utf-8")
        ok, said = passed()
        assert ok
        assert "skipped" in said
        path.write_text(f"{text}NEW = 1\n", "utf-8")
    assert not passed()[0]
    assert passed("--note")[0]
    with (tmp_path / package / "bounds" / "bounds.py").open("a", encoding="utf-8") as unneeded:
        unneeded.write("NEW = 1\n")
    assert passed()[0]
