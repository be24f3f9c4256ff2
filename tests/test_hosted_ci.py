"""The hosted CI runs what can be run here: the Makefile's targets, and nothing else."""

import re
from pathlib import Path

import yaml

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


def test_it_runs_everywhere_and_weekly():
    matrix = JOB["strategy"]["matrix"]
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
    oldest = re.search(r'requires-python = ">=([\d.]+)"', (ROOT / "pyproject.toml").read_text())
    assert min(matrix["python"], key=lambda v: int(v.split(".")[1])) == oldest[1]
    assert WORKFLOW[True]["schedule"]  # YAML reads the key `on` as true
    assert (ROOT / "requirements.in").exists()
