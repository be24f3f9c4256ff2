"""Fixtures that several test files share."""

import os
from pathlib import Path

import pooch
import pytest
from hypothesis import settings

from sampled_metrics import Split
from sampled_metrics.experiments import load_movielens_1m
from shared import FOLDER_VARIABLE

# The same examples in every run, and no time limit: a busy machine is no error.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")

FILES = ("ml-1m.train.rating", "ml-1m.test.rating")


@pytest.fixture(scope="session")
def movielens() -> Split:
    """MovieLens 1M where it is at hand; nothing is downloaded for a test."""
    folders = [
        Path(__file__).resolve().parents[2] / "shared" / "data" / "ml-1m",
        # a file gets into the cache only after its checksum was found right
        Path(pooch.os_cache("sampled_metrics")),
    ]
    if os.environ.get(FOLDER_VARIABLE):
        folders.insert(0, Path(os.environ[FOLDER_VARIABLE]).expanduser())
    for folder in folders:
        if all((folder / f).is_file() or (folder / f"{f}.gz").is_file() for f in FILES):
            return load_movielens_1m(folder=folder)
    pytest.skip(
        f"MovieLens 1M is not at hand: put {' and '.join(FILES)} into a folder and set "
        f"{FOLDER_VARIABLE} to it, or run sampled_metrics.load_movielens_1m() once"
    )
