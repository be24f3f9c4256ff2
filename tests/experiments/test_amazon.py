"""Amazon reviews: what is read, how it is split, and where the files come from."""

import gzip
import hashlib
import io
from pathlib import Path

import numpy as np
import pooch
import pytest
import requests

from sampled_metrics.experiments import datasets as module
from sampled_metrics.experiments import load_amazon, read_sequences
from shared import FOLDER_VARIABLE, known

# Users 5, 7 and 8 with three, two and four events; the order within each user is that of time.
SEQUENCES = "5 30\n5 10\n5 20\n7 20\n7 40\n8 40\n8 30\n8 20\n8 10\n"
SMALL = {"games": {"events": 9, "users": 3, "items": 4}}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Expect the small file of this test, and see no folder of the user's."""
    monkeypatch.setattr(module, "COUNTS", module.COUNTS | SMALL)
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)


def pairs(split, users, items):
    names = split.user_names[users].tolist(), split.item_names[items].tolist()
    return set(zip(*names, strict=True))


def check(split):
    """The last event of each user is tested, and nothing else is missing in training."""
    assert pairs(split, split.users, split.items) == {(5, 20), (7, 40), (8, 10)}
    train = {(5, 30), (5, 10), (7, 20), (8, 40), (8, 30), (8, 20)}
    assert pairs(split, *split.train.nonzero()) == train
    assert sorted(split.n_candidates) == [1, 2, 3]


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_file_becomes_a_split(tmp_path, monkeypatch, suffix):
    content = SEQUENCES.encode()
    path = tmp_path / f"Video.txt{suffix}"
    path.write_bytes(gzip.compress(content) if suffix else content)
    events = read_sequences(path)
    assert events["user"].tolist() == [5, 5, 5, 7, 7, 8, 8, 8, 8]
    assert events["item"].tolist() == [30, 10, 20, 20, 40, 40, 30, 20, 10]
    assert events["timestamp"].tolist() == list(range(1, 10))
    check(load_amazon("games", folder=tmp_path))
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    check(load_amazon())


def test_users_whose_events_are_scattered_are_split_the_same(tmp_path):
    lines = SEQUENCES.splitlines(keepends=True)
    order = [5, 0, 3, 6, 1, 7, 2, 4, 8]  # of each user's own lines, the order is kept
    (tmp_path / "Video.txt").write_text("".join(lines[i] for i in order))
    check(load_amazon(folder=tmp_path))


def test_with_validation_the_event_before_the_last_is_nowhere(tmp_path):
    (tmp_path / "Video.txt").write_text(SEQUENCES)
    split = load_amazon(folder=tmp_path, validation=True)
    assert pairs(split, split.users, split.items) == {(5, 20), (8, 10)}
    train = {(5, 30), (7, 20), (7, 40), (8, 40), (8, 30)}  # two events are too few to be tested
    assert pairs(split, *split.train.nonzero()) == train


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2\n1\n", r"line 2: 2 columns expected, 1 found"),
        ("1 2 3\n", r"line 1: 2 columns expected, 3 found"),
        ("1 2\n1 x\n", r"line 2: column 2 must be a whole number"),
        ("1  2\n", r"line 1: 2 columns expected, 3 found"),
        ("", r"is empty"),
        ("1 2\n1 3\n", r"Video\.txt: 2 events found, 9 expected"),
        (SEQUENCES.replace("8 10", "8 40"), r"user 8 and item 40 are repeated"),
        (SEQUENCES.replace("7 ", "5 ").replace("20\n5 20", "20\n5 50"), r"2 users found, 3 exp"),
    ],
)
def test_files_that_are_not_what_they_should_be(tmp_path, text, message):
    (tmp_path / "Video.txt").write_text(text)
    with pytest.raises(ValueError, match=message):
        load_amazon(folder=tmp_path)


def test_a_category_that_is_not_there():
    with pytest.raises(ValueError, match="category is 'books'"):
        load_amazon("books")  # type: ignore[arg-type]


@pytest.mark.parametrize(("category", "name"), [("games", "Video.txt"), ("beauty", "beauty.txt")])
def test_what_is_downloaded(tmp_path, monkeypatch, category, name):
    asked = []

    def get(url, **_):
        asked.append(url)
        response = requests.Response()
        response.status_code, response.raw = 200, io.BytesIO(SEQUENCES.encode())
        return response

    monkeypatch.setattr(requests, "get", get)
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path)
    monkeypatch.setitem(module.COUNTS, category, SMALL["games"])
    address = module.SOURCES[category][0]
    with pytest.raises(OSError, match="does not match the known hash"):
        load_amazon(category, progress=False)
    right = {name: f"sha256:{hashlib.sha256(SEQUENCES.encode()).hexdigest()}"}
    monkeypatch.setitem(module.SOURCES, category, (address, right))
    check(load_amazon(category, base_url="https://mirror.example/", progress=False))
    check(load_amazon(category))  # from the user's cache
    assert asked == [f"{address}{name}", f"https://mirror.example/{name}"]


@pytest.mark.parametrize(("category", "name"), [("games", "Video"), ("beauty", "beauty")])
def test_the_published_files(category, name, monkeypatch):
    """Where the files are at hand: their checksum, their counts, their split."""
    folder = Path(__file__).resolve().parents[3] / "shared" / "data" / f"amazon-{category}"
    if not (folder / f"{name}.txt.gz").is_file():
        pytest.skip(f"{folder} is not there: put the published {name}.txt.gz into it")
    monkeypatch.undo()
    content = gzip.decompress((folder / f"{name}.txt.gz").read_bytes())
    checksum = f"sha256:{hashlib.sha256(content).hexdigest()}"
    assert module.SOURCES[category][1] == {f"{name}.txt": checksum}
    split = load_amazon(category, folder=folder)
    counts = module.COUNTS[category]
    assert (split.n_users, split.n_items) == (counts["users"], counts["items"])
    assert split.train.nnz + len(split.items) == counts["events"]
    # of the file's lines, those of the first user who is tested
    lines = np.array([line.split() for line in content.decode().splitlines()], dtype=int)
    first = lines[lines[:, 0] == known(split.user_names)[known(split.users)[0]]]
    assert known(split.item_names)[split.items[0]] == first[-1, 1]
    train = known(split.item_names)[split.train[[known(split.users)[0]]].indices]
    assert sorted(train) == sorted(first[:-1, 1])
