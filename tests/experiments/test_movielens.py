"""MovieLens: what is read, how it is split, and what happens when a file or the network is bad."""

import functools
import gc
import gzip
import hashlib
import http.server
import io
import re
import socket
import subprocess
import sys
import threading
import zipfile
from typing import Any

import numpy as np
import pandas as pd
import pooch
import pytest
import requests

from sampled_metrics.experiments import datasets as module
from sampled_metrics.experiments import load_movielens_1m, read_ratings
from shared import FOLDER_VARIABLE

# pooch leaves connections open where a download failed
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

TRAIN = "0\t0\t5\t10\n0\t2\t4\t11\n1\t2\t3\t12\n1\t0\t3\t12\n"
TEST = "0\t1\t5\t20\n1\t1\t5\t21\n"
RATINGS = "1::9::5::10\n1::7::4::30\n2::7::3::30\n2::8::3::30\n1::8::1::20\n2::9::1::29\n"
SMALL = {"events": 6, "users": 2, "items": 3}
TRAIN_NAME, TEST_NAME = "ml-1m.train.rating", "ml-1m.test.rating"


def write(path, text):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def dense(split):
    return split.train.toarray().tolist()


# Reading


def test_read_ratings_keeps_the_order_and_the_ids(tmp_path):
    ratings = read_ratings(write(tmp_path / "ratings.dat", RATINGS))
    assert list(ratings.columns) == ["user", "item", "rating", "timestamp"]
    assert ratings["item"].tolist() == [9, 7, 7, 8, 8, 9]
    assert ratings.iloc[5].tolist() == [2, 9, 1, 29]
    assert (ratings.dtypes == np.int64).all()
    packed = write(tmp_path / "ratings.dat.gz", gzip.compress(RATINGS.encode()))
    pd.testing.assert_frame_equal(read_ratings(packed), ratings)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1::9::5\n", r"ratings\.dat, line 1: 4 columns expected, 3 found"),
        ("1::9::5::10\n1:7::5::10\n", r"line 2: 4 columns expected, 3 found: '1:7\\t5\\t10'"),
        ("1::9::5::10::3\n", r"line 1: 4 columns expected, 5 found"),
        ("1::9::5::10\n1::9::x::10\n", r"line 2: column 3 must be a whole number"),
        ("1::9::5::10\n1::7::4.5::10\n", r"line 2: column 3 must be a whole number .*4\.5"),
        ("1::9::5::-1\n", r"ratings\.dat, line 1: column 4 must be a whole number .*-1"),
        ("1::9::5::10\n1::::5::10\n", r"line 2: column 2 must be a whole number .*'1\\t\\t5\\t10'"),
        ("user::movie::rating::timestamp\n", r"line 1: column 1 .* remove the header line"),
    ],
)
def test_malformed_ratings(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_ratings(write(tmp_path / "ratings.dat", text))


def zipped(*names, method=zipfile.ZIP_STORED):
    """Return an archive of files that have these names."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        for name in names:
            archive.writestr(name, RATINGS if name.endswith("ratings.dat") else "not this one")
    return content.getvalue()


def encrypted(archive):
    directory = archive.index(b"PK\1\2")
    return archive[: directory + 8] + b"\1" + archive[directory + 9 :]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>", "File is not a zip file"),
        (zipped("ml-1m/README"), r"0 files named ratings\.dat inside, 1 expected"),
        (zipped("ml-1m/ratings.dat", "ml-10m/ratings.dat"), r"2 files named ratings\.dat inside"),
        (zipped("ratings.dat")[:-30], "File is not a zip file"),
        (zipped("ratings.dat")[10:], "."),
        (zipped("ratings.dat").replace(b"1::9", b"1::8"), r"Bad CRC-32 for file 'ratings\.dat'"),
        (encrypted(zipped("ratings.dat")), r"File 'ratings\.dat' is encrypted"),
        (zipped("ratings.dat", method=zipfile.ZIP_BZIP2).replace(b"BZh", b"BZz"), "."),
    ],
)
def test_archives_that_cannot_be_used(tmp_path, content, message):
    with pytest.raises(ValueError, match=rf"ml-1m\.zip cannot be unpacked: {message}"):
        read_ratings(write(tmp_path / "ml-1m.zip", content))


def test_no_member_of_an_archive_is_written_anywhere(tmp_path, monkeypatch):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    names = ("ml-1m/ratings.dat", "../evil", str(tmp_path / "evil"), "ml-1m/README")
    before = {*tmp_path.rglob("*"), write(inner / "ml-1m.zip", zipped(*names))}
    assert len(read_ratings("ml-1m.zip")) == 6
    assert set(tmp_path.rglob("*")) == before


# Loading from a folder, or from a server of ours into a cache of ours


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache, no folder of the user's, no proxy: tests see only what they make."""
    folder = tmp_path / "new account" / "cache"
    monkeypatch.setattr(pooch, "os_cache", lambda project: folder)
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "127.0.0.1,localhost")
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return folder


@pytest.fixture
def small(monkeypatch):
    """Expect the small files of this test instead of MovieLens 1M."""
    content = TRAIN.encode()
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    sha256 = hashlib.sha256(TEST.encode()).hexdigest()
    checksums = {TRAIN_NAME: f"git-blob:{blob}", TEST_NAME: f"sha256:{sha256}"}
    monkeypatch.setitem(module.SOURCES, "ncf", (module.SOURCES["ncf"][0], checksums))
    monkeypatch.setattr(module, "COUNTS", {"ncf": SMALL, "grouplens": SMALL})


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers with (status, body, bytes to hold back, as if the connection broke) by name."""

    def __init__(self, answers, log, *args):
        self.answers, self.log = answers, log
        super().__init__(*args)

    def do_GET(self):
        name = self.path.rsplit("/", 1)[-1]
        self.log.append(name)
        status, body, missing = self.answers.get(name, (404, b"", 0))
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) - missing])

    def log_message(self, *args):
        pass


@pytest.fixture
def serve():
    """Start servers on this machine; `serve(answers)` gives the address and a list of requests."""
    servers = []

    def start(answers):
        log: list[Any] = []
        server = http.server.HTTPServer(("127.0.0.1", 0), functools.partial(Handler, answers, log))
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}/data", log

    yield start
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()
    gc.collect()  # what pooch left open, before another file's test starts


def kept(cache):
    """What is below the cache's folder."""
    return sorted(path.name for path in cache.rglob("*"))


def expect_advice(error, cache, name=TRAIN_NAME):
    text = str(error.value)
    assert "save https://raw.githubusercontent.com/" in text
    assert f"{name} as {cache / name}" in text
    assert FOLDER_VARIABLE in text


def test_download_is_verified_kept_and_not_repeated(small, serve, cache, capfd):
    answers = {TRAIN_NAME: (200, TRAIN.encode(), 0), TEST_NAME: (200, TEST.encode(), 0)}
    url, log = serve(answers)
    split = load_movielens_1m(base_url=url)
    assert dense(split) == [[1, 0, 1], [1, 0, 1]]
    assert kept(cache) == [TEST_NAME, TRAIN_NAME]
    assert "100%" in capfd.readouterr().err  # the progress bar
    assert dense(load_movielens_1m(base_url=url + "/", progress=False)) == dense(split)
    assert log == [TRAIN_NAME, TEST_NAME]
    # a damaged copy is noticed, and replaced by a good one
    write(cache / TEST_NAME, "0\t0\n")
    load_movielens_1m(base_url=url, progress=False)
    assert log == [TRAIN_NAME, TEST_NAME, TEST_NAME]
    assert (cache / TEST_NAME).read_text() == TEST
    write(cache / TRAIN_NAME, "0\t0\n")
    with pytest.raises(OSError, match="the published file; it was removed") as error:
        load_movielens_1m(base_url=url, progress=False)
    expect_advice(error, cache)
    assert dense(load_movielens_1m(base_url=url, progress=False)) == dense(split)
    assert "%" not in capfd.readouterr().err


def test_download_of_the_archive(serve, cache, monkeypatch):
    content = zipped("ml-1m/README", "ml-1m/ratings.dat")
    checksum = f"sha256:{hashlib.sha256(content).hexdigest()}"
    source = (module.SOURCES["grouplens"][0], {"ml-1m.zip": checksum})
    monkeypatch.setitem(module.SOURCES, "grouplens", source)
    monkeypatch.setattr(module, "COUNTS", {"ncf": SMALL, "grouplens": SMALL})
    url, _ = serve({"ml-1m.zip": (200, content, 0)})
    split = load_movielens_1m("grouplens", base_url=url, progress=False)
    assert split.items.tolist() == [1, 2]
    assert kept(cache) == ["ml-1m.zip"]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((404, b"gone", 0), "404"),
        ((200, TRAIN.encode(), 9), "IncompleteRead"),
        ((200, TRAIN.encode()[:-9], 0), "not git-blob:.*, the published file"),
        ((200, b"", 0), "not git-blob:.*, the published file"),
    ],
)
def test_bad_download_says_what_to_do_and_leaves_nothing(small, serve, cache, answer, message):
    url, _ = serve({TRAIN_NAME: answer})
    with pytest.raises(OSError, match=message) as error:
        load_movielens_1m(base_url=url, progress=False)
    assert str(error.value).startswith(f"{url}/{TRAIN_NAME} could not be downloaded")
    expect_advice(error, cache)
    assert kept(cache) == []


def test_second_file_that_is_another_keeps_the_first_and_names_the_second(small, serve, cache):
    url, _ = serve({TRAIN_NAME: (200, TRAIN.encode(), 0), TEST_NAME: (200, b"<html>", 0)})
    with pytest.raises(OSError, match="does not match the known hash") as error:
        load_movielens_1m(base_url=url, progress=False)
    expect_advice(error, cache, TEST_NAME)
    assert kept(cache) == [TRAIN_NAME]


def test_process_killed_in_the_middle_of_a_download(small, serve, cache):
    load = (
        "import pathlib, pooch, sampled_metrics.experiments.datasets as module\n"
        f"pooch.os_cache = lambda project: pathlib.Path({str(cache)!r})\n"
        "module.load_movielens_1m(base_url='http://127.0.0.1:%d', progress=False)"
    )
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        command = [sys.executable, "-c", load % server.getsockname()[1]]
        with subprocess.Popen(command) as process, server.accept()[0] as connection:
            assert connection.recv(2**16).startswith(b"GET ")
            # less than is announced: it waits for the rest
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n" + bytes(2_000_000)
            )
            assert process.poll() is None, "it gave up"
            process.kill()
    assert not (cache / TRAIN_NAME).exists()
    url, log = serve({TRAIN_NAME: (200, TRAIN.encode(), 0), TEST_NAME: (200, TEST.encode(), 0)})
    assert dense(load_movielens_1m(base_url=url, progress=False)) == [[1, 0, 1], [1, 0, 1]]
    assert log == [TRAIN_NAME, TEST_NAME]


def test_no_network(cache):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound, but nobody listens
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(OSError, match=r"could not be downloaded.*onnection") as error:
            load_movielens_1m(base_url=url, progress=False)
    expect_advice(error, cache)
    assert kept(cache) == []


def test_cache_that_cannot_be_made(cache):
    cache.parent.mkdir()
    write(cache, "a file where the folder should be")
    with pytest.raises(OSError, match=FOLDER_VARIABLE):
        load_movielens_1m(progress=False)


@pytest.fixture
def offline(monkeypatch):
    def get(url, **kwargs):
        pytest.fail(f"{url} was asked for")

    monkeypatch.setattr(requests, "get", get)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_local_folder_is_read_and_nothing_downloaded(small, offline, tmp_path, monkeypatch, suffix):
    for name, text in ((TRAIN_NAME, TRAIN), (TEST_NAME, TEST)):
        content = gzip.compress(text.encode()) if suffix else text.encode()
        write(tmp_path / f"{name}{suffix}", content)
    expected = [[1, 0, 1], [1, 0, 1]]
    assert dense(load_movielens_1m(folder=tmp_path)) == expected
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "not there"))
    assert dense(load_movielens_1m(folder=str(tmp_path))) == expected  # the argument comes first
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    assert dense(load_movielens_1m()) == expected


@pytest.mark.parametrize("name", ["ratings.dat", "ml-1m/ratings.dat", "ml-1m.zip"])
def test_local_folder_of_grouplens(small, offline, tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    write(path, zipped("ml-1m/ratings.dat") if path.suffix == ".zip" else RATINGS)
    assert load_movielens_1m("grouplens", folder=tmp_path).items.tolist() == [1, 2]


def test_local_folder_that_lacks_something(offline, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere is not a folder; it should hold ml"):
        load_movielens_1m(folder=tmp_path / "nowhere")
    write(tmp_path / TRAIN_NAME, TRAIN)
    message = re.escape(f"{tmp_path} has no {TEST_NAME} or {TEST_NAME}.gz; get it from https://")
    with pytest.raises(FileNotFoundError, match=message):
        load_movielens_1m(folder=tmp_path)
    with pytest.raises(FileNotFoundError, match=r"has no ratings\.dat or ml-1m/ratings\.dat or ml"):
        load_movielens_1m("grouplens", folder=tmp_path)


@pytest.mark.parametrize(
    ("train", "test", "message"),
    [
        (TRAIN[:-10], TEST, "5 events found, 6 expected"),
        ("0\t0\n0\t1\n0\t2\n", "1\t0\n1\t1\n1\t2\n", "3 held-out events found, 2 expected"),
        ("0\t0\n1\t0\n1\t1\n1\t2\n", "0\t1\n0\t2\n", "1 users with a held-out event found, 2 exp"),
        ("0\t0\n0\t1\n0\t2\n2\t0\n", "0\t3\n1\t1\n", "n_users is 2, but .* have the user 2"),
    ],
)
def test_local_files_with_other_counts(small, offline, tmp_path, train, test, message):
    write(tmp_path / TRAIN_NAME, train)
    write(tmp_path / TEST_NAME, test)
    with pytest.raises(ValueError, match=message) as error:
        load_movielens_1m(folder=tmp_path)
    assert TRAIN_NAME in str(error.value)


def test_local_ratings_with_other_counts(small, offline, tmp_path):
    write(tmp_path / "ratings.dat", RATINGS + "3::9::1::1\n")
    with pytest.raises(ValueError, match=r"ratings\.dat: 7 events found, 6 expected"):
        load_movielens_1m("grouplens", folder=tmp_path)


def test_progress_that_is_no_flag():
    with pytest.raises(ValueError, match="progress is 'no'; progress must be True or False"):
        load_movielens_1m(progress="no")  # type: ignore[arg-type]


def test_unknown_source():
    with pytest.raises(
        ValueError, match="source is 'netflix'; source must be one of 'ncf', 'group"
    ):
        load_movielens_1m("netflix")  # type: ignore[arg-type]


# The real data


def test_movielens_1m(movielens):
    assert (movielens.n_users, movielens.n_items) == (6040, 3706)
    assert movielens.train.nnz == 994_169
    assert np.array_equal(movielens.users, np.arange(6040))
    assert movielens.n_candidates.mean() == pytest.approx(3541.4, abs=0.05)
    assert not movielens.train.toarray()[movielens.users, movielens.items].any()


def test_addresses_and_checksums_are_the_published_ones():
    """Typed a second time, because every other test replaces them."""
    assert module.SOURCES["ncf"] == (
        "https://raw.githubusercontent.com/hexiangnan/neural_collaborative_filtering/master/Data/",
        {
            "ml-1m.train.rating": "git-blob:31ba384fd58dac8fbd09d2dfc6616431f3563ab5",
            "ml-1m.test.rating": (
                "sha256:231ae11eb060b643a8c58c063cd17ffc743b54f569afb073d1abb6cf126b88b5"
            ),
        },
    )
    assert module.SOURCES["grouplens"] == (
        "https://files.grouplens.org/datasets/movielens/",
        {"ml-1m.zip": "sha256:a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20"},
    )
