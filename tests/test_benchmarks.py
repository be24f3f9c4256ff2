"""The benchmarks run; what they measure is for people to read."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = sorted((Path(__file__).parents[1] / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.name)
@pytest.mark.slow
def test_smoke(path):
    done = subprocess.run([sys.executable, path, "--smoke"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "ratio" in done.stdout
