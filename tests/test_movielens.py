"""MovieLens: what is read, how it is split, and what happens when a file or the network is bad."""

import functools
import gzip
import hashlib
import http.server
import io
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import zipfile

import numpy as np
import pandas as pd
import pooch
import pytest
import requests
from scipy import sparse

from sampled_metrics import movielens as module
from sampled_metrics.movielens import (
    Split,
    leave_last_out,
    load_movielens_1m,
    read_ratings,
    read_split,
)

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


# The split


def test_split_counts_the_candidates_of_each_instance():
    split = Split.from_pairs([0, 0, 2], [0, 1, 3], [2, 0, 1], [0, 2, 3], n_items=5)
    assert (split.n_users, split.n_items) == (3, 5)
    assert split.n_candidates.tolist() == [4, 3, 5]  # a user without training has them all
    assert split.train.dtype == np.float64
    assert split.train.has_canonical_format
    assert dense(split) == [[1, 1, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 1, 0]]


def test_split_does_not_depend_on_the_order_of_the_training_pairs():
    rng = np.random.default_rng(0)
    users, items = np.nonzero(rng.random((20, 30)) < 0.3)
    order = rng.permutation(len(users))
    one = Split.from_pairs(users, items, [], [])
    other = Split.from_pairs(users[order], items[order], [], [])
    assert dense(one) == dense(other)
    assert other.train.has_sorted_indices


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, -1], [0, 1], [0], [1]), r"train_users\[1\] is -1"),
        (([0], [0.5], [0], [1]), r"train_items\[0\] is 0\.5"),
        (([0], ["a"], [0], [1]), r"train_items has dtype <U1"),
        (([0], [0], [2**31], [1]), r"test_users\[0\] is 2147483648"),
        (([[0]], [[0]], [0], [1]), r"train_users has shape \(1, 1\)"),
        (([[0], [0, 1]], [0, 1], [0], [1]), r"train_users is ragged"),
        (([0, 1], [0], [0], [1]), r"train_users has shape \(2,\) and train_items \(1,\)"),
        (([0], [0], [0, 1], [1]), r"test_users has shape \(2,\) and test_items \(1,\)"),
        (([0, 3], [0, 1], [0], [1], 3), r"train_users\[1\], .*user 3 is not in 0\.\.2"),
        (([0], [0], [0], [9], 1, 9), r"test_items\[0\]: item 9 is not in 0\.\.8"),
        (([0], [0], [0], [1], 0), r"n_users is 0"),
        (([0, 1, 0], [4, 4, 4], [0], [1]), r"train_items\[2\]: user 0 and item 4 .*seen before"),
        (([0], [0], [0, 0], [1, 1]), r"test_items\[1\]: user 0 and item 1 .*seen before"),
        (([0, 1], [0, 1], [0, 1], [1, 1]), r"items\[1\]: item 1 is also a training item of user 1"),
    ],
)
def test_pairs_that_do_not_belong_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Split.from_pairs(*arguments)


def test_of_many_repeated_pairs_the_first_repetition_is_named():
    items = np.random.default_rng(0).integers(400, size=1000)
    first = next(i for i in range(1000) if items[i] in items[:i])
    with pytest.raises(ValueError, match=rf"train_items\[{first}\]: .*seen before"):
        Split.from_pairs(np.zeros(1000, int), items, [], [])


@pytest.mark.parametrize("train", [np.array([[2.0, 0.0]]), np.array([1.0, 0.0])])
def test_training_matrix_of_anything_but_ones_is_refused(train):
    with pytest.raises(ValueError, match="train must be a matrix with one 1"):
        Split(sparse.csr_array(train), np.array([0]), np.array([1]))


def test_training_matrix_with_unsorted_rows_is_sorted_and_not_changed_in_place():
    train = sparse.csr_array((np.ones(2), np.array([2, 0]), np.array([0, 2])), shape=(1, 3))
    split = Split(train, np.array([0]), np.array([1]))
    assert split.train.indices.tolist() == [0, 2]
    assert train.indices.tolist() == [2, 0]
    with pytest.raises(ValueError, match="item 2 is also a training item"):
        Split(train, np.array([0]), np.array([2]))


# Reading


@pytest.mark.parametrize("change", [str, lambda text: text.replace("\n", "\r\n"), str.rstrip])
@pytest.mark.parametrize("compress", [False, True])
def test_read_split(tmp_path, change, compress):
    content = change(TRAIN).encode()
    name = "train.gz" if compress else "train"
    train = write(tmp_path / name, gzip.compress(content) if compress else content)
    split = read_split(train, write(tmp_path / "test", TEST))
    assert dense(split) == [[1, 0, 1], [1, 0, 1]]
    assert split.users.tolist() == [0, 1]
    assert split.items.tolist() == [1, 1]


def test_read_split_reads_two_columns_and_ignores_any_others(tmp_path):
    train = write(tmp_path / "train", "0\t0\n0\t2\n")
    test = write(tmp_path / "test", "0\t1\t4.5\t2026-01-01\ta note\n")
    assert dense(read_split(train, test)) == [[1, 0, 1]]


def test_read_split_takes_the_numbers_of_users_and_items(tmp_path):
    train, test = write(tmp_path / "train", "3\t0\n"), write(tmp_path / "test", "3\t7\n")
    split = read_split(train, test, n_users=5, n_items=9)
    assert split.train.shape == (5, 9)
    assert split.n_candidates.tolist() == [8]
    with pytest.raises(ValueError, match=r"test, line 1: item 7 is not in 0\.\.5"):
        read_split(train, test, n_users=5, n_items=6)


@pytest.mark.parametrize(
    ("train", "message"),
    [
        ("", "train is empty"),
        ("\n\n", "train is empty"),
        ("0\t0\n5\n", r"train, line 2: 2 columns expected, 1 found: '5'"),
        ("0\n", r"train, line 1: 2 columns expected, 1 found: '0'"),
        ("0 0\n", r"train, line 1: 2 columns expected, 1 found: '0 0'"),
        ("0\t0\t5\n0\t2\t5\t7\n", r"train, line 2: 3 columns expected, 4 found"),
        ("0\t0\t5\t7\n0\t2\n", r"train, line 2: 4 columns expected, 2 found: '0\\t2'"),
        ("0\t0\t5\n0\t2\n1\t0\t5\t7\n", r"train, line 2: 3 columns expected, 2 found"),
        ("0\t0\t5\n0\t2\r1\t0\n", r"train, line 2: 3 columns expected, 2 found: '0\\t2'"),
        ("0\t0\n\n0\t2\n", r"train, line 2: 2 columns expected, 1 found: ''"),
        ("0\t0\n0\t\n", r"train, line 2: column 2 must be a whole number .*'0\\t'"),
        ("0\t0\n0\tx\n", r"train, line 2: column 2 must be a whole number .*'0\\tx'"),
        ("0\t0\n-1\t2\n", r"train, line 2: column 1 must be a whole number .*'-1\\t2'"),
        ("0\t0\n0\t2.0\n", r"train, line 2: column 2 must be a whole number"),
        ("0\t0\n0\t2e0\n", r"train, line 2: column 2 must be a whole number"),
        ("True\t0\n", r"train, line 1: column 1 must be a whole number"),
        ('0\t0\n"0\t2"\n', r"train, line 2: column 1 must be a whole number"),
        ("0\t0\n0\t2\x00\n", r"train, line 2: column 2 must be a whole number"),
        ("user\titem\n0\t0\n", r"train, line 1: column 1 must be a whole number .*'user\\titem'"),
        ("\ufeff0\t0\n", r"train, line 1: column 1 must be a whole number"),
        ("0\t0\n0\t4294967296\n", r"train, line 2: column 2 must be a whole number in 0\.\."),
        ("0\t0\n" + "9" * 5000 + "\t2\n", r"train, line 2: column 1 must be a whole number"),
        (b"0\t0\n\xff\xfe\t1\n", r"train, line 2: column 1 must be a whole number"),
        ("<!DOCTYPE html>\n<html></html>\n", r"train, line 1: 2 columns expected"),
        ("0\t0\n0\t2\n0\t0\n", r"train, line 3: user 0 and item 0 are a pair seen before"),
        ("0\t0\n0\t3\n", r"number the items from 0 without a gap, but item 2 is missing and 3 is"),
        ("1\t0\n", r"number the users from 0 without a gap"),
        ("0\t0\n\t1\n", r"train, line 2: column 1 must be a whole number .*'\\t1'"),
        ("0\t2\n978300760\t0\n", r"number the users from 0 without a gap, but user 2 is missing"),
    ],
)
def test_malformed_training_file(tmp_path, train, message):
    train, test = write(tmp_path / "train", train), write(tmp_path / "test", "1\t1\n")
    with pytest.raises(ValueError, match=message):
        read_split(train, test)


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("0\t1\n1\t2\n", r"test, line 2: item 2 is also a training item of user 1"),
        ("0\t1\n0\t1\n", r"test, line 2: user 0 and item 1 are a pair seen before"),
        ("0\t1\n1\tx\n", r"test, line 2: column 2 must be a whole number"),
    ],
)
def test_malformed_test_file(tmp_path, test, message):
    with pytest.raises(ValueError, match=message):
        read_split(write(tmp_path / "train", TRAIN), write(tmp_path / "test", test))


@pytest.mark.parametrize(
    "content", [b"0\t0\n", gzip.compress(TRAIN.encode())[:-9], b"\x1f\x8b\x08"]
)
def test_damaged_gzip_file(tmp_path, content):
    train, test = write(tmp_path / "train.gz", content), write(tmp_path / "test", TEST)
    with pytest.raises(ValueError, match=r"train\.gz cannot be unpacked: ."):
        read_split(train, test)


def test_read_ratings_keeps_the_order_and_the_ids(tmp_path):
    ratings = read_ratings(write(tmp_path / "ratings.dat", RATINGS))
    assert list(ratings.columns) == ["user", "movie", "rating", "timestamp"]
    assert ratings["movie"].tolist() == [9, 7, 7, 8, 8, 9]
    assert ratings.loc[5].tolist() == [2, 9, 1, 29]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1::9::5\n", r"ratings\.dat, line 1: 4 columns expected, 3 found"),
        ("1::9::5::10\n1:7::5::10\n", r"line 2: 4 columns expected, 3 found: '1:7::5::10'"),
        ("1::9::5::10::3\n", r"line 1: 4 columns expected, 5 found"),
        ("1::9::5::10\n1::9::x::10\n", r"line 2: column 3 must be a whole number"),
        ("1::9::5::10\n1::7::4.5::10\n", r"line 2: column 3 must be a whole number .*4\.5"),
        ("1::9::5::-1\n", r"ratings\.dat, line 1: column 4 must be a whole number .*-1"),
        ("1::9::5::10\n1::::5::10\n", r"line 2: column 2 must be a whole number .*'1::::5::10'"),
        ("\ufeff1::9::5::10\n", r"line 1: column 1 must be a whole number .*ufeff"),
        ("1\t9\t5\t10\n", r"line 1: 4 columns expected, 1 found"),
        ("1::9::5::10\n2::9::5::10\n1::9::4::12\n", r"line 3: user 1 and movie 9 are a repeated"),
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


# Holding out


def test_last_event_is_held_out_and_of_several_the_last_in_the_file(tmp_path):
    split = leave_last_out(read_ratings(write(tmp_path / "ratings.dat", RATINGS)))
    # movies 9, 7, 8 become items 0, 1, 2; user 1's latest is 7, user 2's are 7 and then 8
    assert split.users.tolist() == [0, 1]
    assert split.items.tolist() == [1, 2]
    assert dense(split) == [[1, 0, 1], [1, 1, 0]]


def test_user_with_one_event_keeps_it_for_training():
    ratings = pd.DataFrame({"user": [5, 3, 5], "movie": [1, 1, 2], "timestamp": [9, 9, 8]})
    split = leave_last_out(ratings)
    assert (split.users.tolist(), split.items.tolist()) == ([1], [0])
    assert dense(split) == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"timestamp": None}, "must have a column 'timestamp'"),
        ({"user": ["a", "b", "c"]}, r"ratings\['user'\] has dtype"),
        ({"movie": [1.0, np.nan, 2.0]}, r"ratings\['movie'\]\[1\] is nan"),
        ({"user": [1, 1, 1]}, "row 2: user 1 and movie 4 are repeated"),
    ],
)
def test_ratings_that_cannot_be_split(change, message):
    columns = {"user": [1, 1, 2], "movie": [4, 5, 4], "timestamp": [1, 2, 3]} | change
    frame = pd.DataFrame({name: values for name, values in columns.items() if values is not None})
    with pytest.raises(ValueError, match=message):
        leave_last_out(frame)


# Loading from a folder, or from a server of ours into a cache of ours


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache, no folder of the user's, no proxy: tests see only what they make."""
    folder = tmp_path / "cache"
    monkeypatch.setattr(pooch, "os_cache", lambda project: folder)
    monkeypatch.delenv(module.FOLDER_VARIABLE, raising=False)
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
    monkeypatch.setattr(module, "CHECKSUMS", module.CHECKSUMS | checksums)
    monkeypatch.setattr(module, "COUNTS", SMALL)


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

    def start(answers, context=None):
        log = []
        server = http.server.HTTPServer(("127.0.0.1", 0), functools.partial(Handler, answers, log))
        server.handle_error = lambda *args: None  # a client that refuses the certificate
        if context:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        servers.append((server, thread))
        return f"http{'s' if context else ''}://127.0.0.1:{server.server_port}/data", log

    yield start
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()


def kept(cache):
    """What is below the cache's folder."""
    return sorted(path.name for path in cache.rglob("*"))


def expect_advice(error, cache, name=TRAIN_NAME):
    text = str(error.value)
    assert "get https://raw.githubusercontent.com/" in text
    assert f"{name} and save it as {cache / name}" in text
    assert module.FOLDER_VARIABLE in text


def test_download_is_verified_kept_and_not_repeated(small, serve, cache, capfd):
    answers = {TRAIN_NAME: (200, TRAIN.encode(), 0), TEST_NAME: (200, TEST.encode(), 0)}
    url, log = serve(answers)
    split = load_movielens_1m(base_url=url)
    assert dense(split) == [[1, 0, 1], [1, 0, 1]]
    assert kept(cache) == [TEST_NAME, TRAIN_NAME]
    assert "100%" in capfd.readouterr().err  # the progress bar
    assert dense(load_movielens_1m(base_url=url + "/", progress=False)) == dense(split)
    assert log == [TRAIN_NAME, TEST_NAME]
    # a damaged copy is found out, and replaced by a good one
    write(cache / TRAIN_NAME, "0\t0\n")
    load_movielens_1m(base_url=url, progress=False)
    assert log == [TRAIN_NAME, TEST_NAME, TRAIN_NAME]
    assert (cache / TRAIN_NAME).read_text() == TRAIN
    assert "%" not in capfd.readouterr().err


def test_download_of_the_archive(serve, cache, monkeypatch):
    content = zipped("ml-1m/README", "ml-1m/ratings.dat")
    checksum = f"sha256:{hashlib.sha256(content).hexdigest()}"
    monkeypatch.setitem(module.CHECKSUMS, "ml-1m.zip", checksum)
    monkeypatch.setattr(module, "COUNTS", SMALL)
    url, _ = serve({"ml-1m.zip": (200, content, 0)})
    split = load_movielens_1m("grouplens", base_url=url, progress=False)
    assert split.items.tolist() == [1, 2]
    assert kept(cache) == ["ml-1m.zip"]


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        ((404, b"gone", 0), OSError, "the server answered with an error .*404"),
        ((503, b"busy", 0), OSError, "the server answered with an error .*503"),
        ((200, TRAIN.encode(), 9), OSError, "connection broke off before the whole file"),
        ((200, TRAIN.encode()[:-9], 0), ValueError, "not the published file .*truncated"),
        ((200, b"", 0), ValueError, "not the published file .* 0 bytes"),
        ((200, b"\n<!DOCTYPE html><p>Log in", 0), ValueError, "not the published file but a web"),
        ((200, TEST.encode(), 0), ValueError, "not the published file .*checksum git-blob:"),
    ],
)
def test_bad_download_says_what_to_do_and_leaves_nothing(
    small, serve, cache, answer, kind, message
):
    url, _ = serve({TRAIN_NAME: answer})
    with pytest.raises(kind, match=message) as error:
        load_movielens_1m(base_url=url, progress=False)
    assert f"{url}/{TRAIN_NAME}" in str(error.value)
    expect_advice(error, cache)
    assert kept(cache) == []


def test_damaged_copy_stays_an_error_when_it_cannot_be_replaced(small, serve, cache):
    cache.mkdir()
    write(cache / TRAIN_NAME, "0\t0\n")
    url, _ = serve({})
    with pytest.raises(OSError, match="404"):
        load_movielens_1m(base_url=url, progress=False)
    assert kept(cache) == [TRAIN_NAME]


def test_process_killed_in_the_middle_of_a_download(small, serve, cache):
    load = (
        "import pathlib, pooch, sampled_metrics.movielens as module\n"
        f"pooch.os_cache = lambda project: pathlib.Path({str(cache)!r})\n"
        "module.load_movielens_1m(base_url='http://127.0.0.1:%d', progress=False)"
    )
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        command = [sys.executable, "-c", load % server.getsockname()[1]]
        with subprocess.Popen(command) as process, server.accept()[0] as connection:
            # more than is written at once, and less than was announced: it waits for the rest
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Length: 999999\r\n\r\n" + bytes(200_000)
            )
            while not any(path.is_file() and path.stat().st_size for path in cache.rglob("*")):
                assert process.poll() is None, "it gave up before it wrote anything"
            process.kill()
    assert not (cache / TRAIN_NAME).exists()
    url, log = serve({TRAIN_NAME: (200, TRAIN.encode(), 0), TEST_NAME: (200, TEST.encode(), 0)})
    assert dense(load_movielens_1m(base_url=url, progress=False)) == [[1, 0, 1], [1, 0, 1]]
    assert log == [TRAIN_NAME, TEST_NAME]
    assert (cache / TRAIN_NAME).read_text() == TRAIN


def test_second_file_missing_keeps_the_first_and_names_the_second(small, serve, cache):
    url, _ = serve({TRAIN_NAME: (200, TRAIN.encode(), 0)})
    with pytest.raises(OSError, match="404") as error:
        load_movielens_1m(base_url=url, progress=False)
    expect_advice(error, cache, TEST_NAME)
    assert kept(cache) == [TRAIN_NAME]


def test_no_network(cache):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound, but nobody listens
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(OSError, match="no connection to the server; is there a net") as error:
            load_movielens_1m(base_url=url, progress=False)
    expect_advice(error, cache)
    assert kept(cache) == []


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            requests.exceptions.SSLError(
                "Max retries exceeded (Caused by SSLError(SSLCertVerificationError(1, '[SSL: "
                "CERTIFICATE_VERIFY_FAILED] certificate verify failed: certificate has expired "
                "(_ssl.c:1000)')))"
            ),
            r"TLS certificate was refused \(certificate verify failed: certificate has expired\)",
        ),
        (requests.exceptions.ReadTimeout("timed out"), r"no connection to the server.*timed out"),
        (requests.exceptions.InvalidURL("bad host"), r"could not be downloaded: bad host"),
        (OSError(28, "No space left on device"), r"No space left on device"),
    ],
)
def test_other_trouble_while_downloading(cache, monkeypatch, error, message):
    def get(*args, **kwargs):
        raise error

    monkeypatch.setattr(requests, "get", get)
    with pytest.raises(OSError, match=message) as raised:
        load_movielens_1m("grouplens", progress=False)
    assert "get https://files.grouplens.org/datasets/movielens/ml-1m.zip" in str(raised.value)
    assert kept(cache) == []


@pytest.mark.skipif(not shutil.which("openssl"), reason="needs openssl to make a certificate")
def test_certificate_that_nobody_vouches_for(serve, cache, tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1"
    names = "-subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command.split(), *names.split(), *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    url, log = serve({TRAIN_NAME: (200, TRAIN.encode(), 0)}, context)
    with pytest.raises(OSError, match=r"TLS certificate was refused \(certificate verify failed"):
        load_movielens_1m(base_url=url, progress=False)
    assert log == []
    assert kept(cache) == []


def test_cache_that_cannot_be_made(cache):
    write(cache, "a file where the folder should be")
    with pytest.raises(OSError, match=module.FOLDER_VARIABLE):
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
    monkeypatch.setenv(module.FOLDER_VARIABLE, str(tmp_path / "not there"))
    assert dense(load_movielens_1m(folder=str(tmp_path))) == expected  # the argument comes first
    monkeypatch.setenv(module.FOLDER_VARIABLE, str(tmp_path))
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
        ("0\t0\n0\t1\n0\t2\n2\t0\n", "0\t3\n1\t1\n", "item 3 is not in|user 2 is not in"),
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


def test_unknown_source():
    with pytest.raises(ValueError, match="source is 'netflix'; source must be one of ncf, group"):
        load_movielens_1m("netflix")


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
        ("ml-1m.train.rating", "ml-1m.test.rating"),
    )
    assert module.SOURCES["grouplens"] == (
        "https://files.grouplens.org/datasets/movielens/",
        ("ml-1m.zip",),
    )
    assert module.CHECKSUMS == {
        "ml-1m.train.rating": "git-blob:31ba384fd58dac8fbd09d2dfc6616431f3563ab5",
        "ml-1m.test.rating": (
            "sha256:231ae11eb060b643a8c58c063cd17ffc743b54f569afb073d1abb6cf126b88b5"
        ),
        "ml-1m.zip": "sha256:a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20",
    }


def test_a_split_does_not_change_with_the_matrix_it_was_made_from():
    train = sparse.csr_array(np.array([[1.0, 1, 0, 0]]))
    split = module.Split(train, [0], [2])
    train.data[0] = 7
    assert split.train.data.tolist() == [1, 1]
    with pytest.raises(ValueError, match="read-only"):
        split.users[0] = 7
