"""MovieLens 1M: read it, split it, and download it safely.

The first room of the house: files become a `Split`, and nothing else in the package reads files.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse

from sampled_metrics._checks import (
    LARGEST,
    IntArray,
    as_choice,
    as_integer,
    as_integers,
    read_only,
)

__all__ = ["Split", "leave_last_out", "load_movielens_1m", "read_ratings", "read_split"]

FOLDER_VARIABLE = "SAMPLED_METRICS_DATA"
SOURCES = {
    "ncf": (
        "https://raw.githubusercontent.com/hexiangnan/neural_collaborative_filtering/master/Data/",
        ("ml-1m.train.rating", "ml-1m.test.rating"),
    ),
    "grouplens": ("https://files.grouplens.org/datasets/movielens/", ("ml-1m.zip",)),
}
# As published; a git blob id is the SHA-1 of "blob ", the size, a zero byte and the content.
CHECKSUMS = {
    "ml-1m.train.rating": "git-blob:31ba384fd58dac8fbd09d2dfc6616431f3563ab5",
    "ml-1m.test.rating": "sha256:231ae11eb060b643a8c58c063cd17ffc743b54f569afb073d1abb6cf126b88b5",
    "ml-1m.zip": "sha256:a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20",
}
COUNTS = {"events": 1_000_209, "users": 6_040, "items": 3_706}

_LARGEST = 2**31 - 1  # of an id: keeps user * n_items + item within 64 bits


@dataclass(frozen=True, eq=False)
class Split:
    """Training events, and the held-out events that a recommender is asked to rank.

    Parameters
    ----------
    train : scipy.sparse.csr_array, shape (n_users, n_items)
        One where the user has a training event with the item, empty elsewhere.
    users : array of int64, shape (n_instances,)
        The user of each evaluated instance, in 0..n_users - 1.
    items : array of int64, shape (n_instances,)
        The item held out for that user, in 0..n_items - 1.

    Raises
    ------
    ValueError
        If `train` holds anything but ones, an id is out of range, a pair is there twice, or a
        held-out item is also among the user's training items.

    Examples
    --------
    >>> split = Split.from_pairs([0, 0, 1], [0, 1, 1], [0, 1], [2, 0])
    >>> split.n_users, split.n_items
    (2, 3)
    >>> split.n_candidates  # the items that the user's held-out item is ranked among, with it
    array([1, 2])
    """

    train: sparse.csr_array
    users: IntArray
    items: IntArray

    def __post_init__(self) -> None:
        train = sparse.csr_array(self.train).astype(np.float64)  # a copy: nobody changes ours
        if not train.has_sorted_indices:
            train = train.sorted_indices()
        if train.ndim != 2 or not train.has_canonical_format or (train.data != 1).any():
            raise ValueError("train must be a matrix with one 1 per training event, nothing else")
        users, items = _ids("users", self.users), _ids("items", self.items)
        _check_pairs("", users, items, *train.shape)
        rows = np.repeat(np.arange(train.shape[0]), np.diff(train.indptr))
        known = rows * train.shape[1] + train.indices  # sorted, as rows and their columns are
        held_out = users * train.shape[1] + items
        place = np.searchsorted(known, held_out)
        for i in np.flatnonzero(np.append(known, -1)[place] == held_out)[:1]:
            problem = f"item {items[i]} is also a training item of user {users[i]}"
            raise _PairError("", i, problem)
        for name, value in (("users", read_only(users)), ("items", read_only(items))):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "train", train)

    @property
    def n_users(self) -> int:
        """Number of users."""
        return int(self.train.shape[0])

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.train.shape[1])

    @property
    def n_candidates(self) -> IntArray:
        """Items to rank for each instance: all but the user's training items, (n_instances,)."""
        return self.n_items - np.diff(self.train.indptr)[self.users].astype(np.int64)

    @classmethod
    def from_pairs(
        cls,
        train_users: ArrayLike,
        train_items: ArrayLike,
        test_users: ArrayLike,
        test_items: ArrayLike,
        n_users: int | None = None,
        n_items: int | None = None,
    ) -> Split:
        """Build a split from (user, item) pairs of 0-based ids.

        Parameters
        ----------
        train_users, train_items : array_like of int, shape (n_events,)
            The training events; no pair twice.
        test_users, test_items : array_like of int, shape (n_instances,)
            The held-out events. A user need not have training events.
        n_users, n_items : int, optional
            Numbers of users and items; by default the largest id and one.

        Returns
        -------
        Split

        Raises
        ------
        ValueError
            If ids are no whole numbers or out of range, lengths differ, a pair is there twice, or
            a held-out item is also among the user's training items.

        Examples
        --------
        >>> Split.from_pairs([0, 1], [0, 1], [0], [3], n_items=5).train.shape
        (2, 5)
        """
        rows, columns = _ids("train_users", train_users), _ids("train_items", train_items)
        users, items = _ids("test_users", test_users), _ids("test_items", test_items)
        if n_users is None:
            n_users = 1 + max(rows.max(initial=-1), users.max(initial=-1))
        if n_items is None:
            n_items = 1 + max(columns.max(initial=-1), items.max(initial=-1))
        shape = as_integer("n_users", n_users), as_integer("n_items", n_items)
        _check_pairs("train_", rows, columns, *shape)
        _check_pairs("test_", users, items, *shape)
        cells = rows.astype(np.int32), columns.astype(np.int32)  # half the memory of 64 bits
        return cls(sparse.csr_array((np.ones(len(rows)), cells), shape=shape), users, items)


class _PairError(ValueError):
    """A pair that does not belong; `part` and `position` let a reader of files name the line."""

    def __init__(self, part: str, position: int, problem: str) -> None:
        super().__init__(part, int(position), problem)
        self.part, self.position, self.problem = part, int(position), problem

    def __str__(self) -> str:
        return (
            f"{self.part}users[{self.position}], {self.part}items[{self.position}]: {self.problem}"
        )


def _ids(name: str, values: ArrayLike) -> IntArray:
    return as_integers(name, values, low=0, high=_LARGEST, high_name="2**31 - 1")


def _check_pairs(part: str, users: IntArray, items: IntArray, n_users: int, n_items: int) -> None:
    if users.ndim != 1 or users.shape != items.shape:
        raise ValueError(
            f"{part}users has shape {users.shape} and {part}items {items.shape}; they must be two "
            "flat lists of the same length"
        )
    for what, ids, n in (("user", users, n_users), ("item", items, n_items)):
        for i in np.flatnonzero(ids >= n)[:1]:
            raise _PairError(part, i, f"{what} {ids[i]} is not in 0..{n - 1}")
    for i in _repeats(users, items)[:1]:
        raise _PairError(part, i, f"user {users[i]} and item {items[i]} are a pair seen before")


def _repeats(users: IntArray, items: IntArray) -> IntArray:
    """Return the sorted positions of the pairs that were there at an earlier position."""
    keys = users * (_LARGEST + 1) + items
    order = np.argsort(keys, kind="stable")
    return np.sort(order[1:][np.diff(keys[order]) == 0])


def read_split(
    train_path: str | os.PathLike[str],
    test_path: str | os.PathLike[str],
    n_users: int | None = None,
    n_items: int | None = None,
) -> Split:
    r"""Read a split from two tab separated files.

    The first two columns are 0-based user and item ids, further columns are ignored: the format
    of He et al., "Neural Collaborative Filtering", WWW 2017.

    Parameters
    ----------
    train_path, test_path : path
        Files of training and of held-out events, plain or gzip compressed (``.gz``).
    n_users, n_items : int, optional
        Numbers of users and items. By default every id from 0 to the largest must occur in one of
        the files, so that swapped columns and ids counted from 1 do not pass unseen.

    Returns
    -------
    Split

    Raises
    ------
    ValueError
        If a file is empty or damaged; if a line has the wrong number of columns, no id where one
        should be, an id out of range, or a pair seen before; or if ids leave a gap.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     train, test = Path(folder, "train.tsv"), Path(folder, "test.tsv")
    ...     _ = train.write_text("0\t0\n0\t2\n1\t2\n"), test.write_text("0\t1\n1\t0\n")
    ...     read_split(train, test).n_candidates
    array([1, 2])
    """
    train = _read_table(Path(train_path), b"\t", ["user", "item"], more=True)
    test = _read_table(Path(test_path), b"\t", ["user", "item"], more=True)
    for column, size in (("user", n_users), ("item", n_items)):
        found = np.union1d(train[column], test[column])
        if size is None and found[-1] != len(found) - 1:
            gap = np.flatnonzero(found != np.arange(len(found)))[0]
            raise ValueError(
                f"{train_path} and {test_path} must number the {column}s from 0 without a gap, but "
                f"{column} {gap} is missing and {found[-1]} is there; or give n_{column}s"
            )
    try:
        return Split.from_pairs(
            train["user"], train["item"], test["user"], test["item"], n_users, n_items
        )
    except _PairError as error:
        path = train_path if error.part == "train_" else test_path
        raise ValueError(f"{path}, line {error.position + 1}: {error.problem}") from None


def read_ratings(path: str | os.PathLike[str]) -> pd.DataFrame:
    r"""Read GroupLens's ``ratings.dat``, whose lines are ``user::movie::rating::timestamp``.

    Parameters
    ----------
    path : path
        The file, plain or gzip compressed (``.gz``), or a ``.zip`` that has it inside.

    Returns
    -------
    pandas.DataFrame
        Columns user, movie, rating (1 to 5 stars) and timestamp (seconds since 1970), in the
        order of the file and with the ids of the file.

    Raises
    ------
    ValueError
        If the file is empty or damaged, or a line has not four whole numbers or repeats a pair.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "ratings.dat")
    ...     _ = path.write_text("1::1193::5::978300760\n")
    ...     read_ratings(path)
       user  movie  rating  timestamp
    0     1   1193       5  978300760
    """
    ratings = _read_table(Path(path), b"::", ["user", "movie", "rating", "timestamp"])
    for i in _repeats(ratings["user"].to_numpy(), ratings["movie"].to_numpy())[:1]:
        user, movie = ratings.loc[i, ["user", "movie"]]
        raise ValueError(f"{path}, line {i + 1}: user {user} and movie {movie} are a repeated pair")
    return ratings


def leave_last_out(ratings: pd.DataFrame) -> Split:
    """Hold out each user's last event, by a rule that is complete.

    Of a user's events the one with the largest timestamp is held out; of several such, the one
    that comes last in `ratings`. A user with a single event keeps it for training and is not
    evaluated. Items are numbered in the order in which they first appear, users in the order of
    their id. This is not the split that the NCF authors published: many users have several events
    at their largest timestamp, and none of the simple rules tried for them gives that split.

    Parameters
    ----------
    ratings : pandas.DataFrame
        Columns user, movie and timestamp of whole numbers; others are ignored.

    Returns
    -------
    Split

    Raises
    ------
    ValueError
        If a column is missing or no whole numbers, or a pair of user and movie is there twice.

    Examples
    --------
    >>> ratings = pd.DataFrame({"user": [7, 7, 9], "movie": [3, 5, 3], "timestamp": [2, 1, 1]})
    >>> split = leave_last_out(ratings)
    >>> split.users, split.items, split.train.toarray()
    (array([0]), array([0]), array([[0., 1.], [1., 0.]]))
    """
    columns = ("user", "movie", "timestamp")
    for name in columns:
        if name not in ratings:
            raise ValueError(f"ratings must have a column {name!r}, not {list(ratings.columns)}")
    user, movie = (_ids(f"ratings[{name!r}]", ratings[name]) for name in columns[:2])
    time = as_integers("ratings['timestamp']", ratings["timestamp"], low=-LARGEST)
    for i in _repeats(user, movie)[:1]:
        raise ValueError(f"ratings, row {i}: user {user[i]} and movie {movie[i]} are repeated")
    users = np.unique(user, return_inverse=True)[1]
    items = pd.factorize(movie)[0]
    order = np.lexsort((time, users))  # stable, so that of equal timestamps the last row is last
    last = order[np.append(np.diff(users[order]) > 0, True)] if order.size else order
    last = last[np.bincount(users)[users[last]] > 1]
    kept = np.delete(np.arange(len(users)), last)
    return Split.from_pairs(users[kept], items[kept], users[last], items[last])


def load_movielens_1m(
    source: str = "ncf",
    folder: str | os.PathLike[str] | None = None,
    base_url: str | None = None,
    progress: bool = True,
) -> Split:
    """Load MovieLens 1M, with one event held out for each of its 6,040 users.

    Files are read from `folder`, else from the folder that the environment variable
    ``SAMPLED_METRICS_DATA`` names, and then nothing is downloaded. Without either they are
    downloaded once into the user's cache (`pooch.os_cache`), where a file appears only when it is
    whole and its checksum is right; the checksum is compared again at every load.

    Parameters
    ----------
    source : {"ncf", "grouplens"}
        The public split of the Neural Collaborative Filtering authors, which Krichene and Rendle
        (2020) used; or GroupLens's ``ratings.dat``, split by `leave_last_out`.
    folder : path, optional
        Where ``ml-1m.train.rating`` and ``ml-1m.test.rating`` are (plain or ``.gz``), or
        ``ratings.dat``, ``ml-1m/ratings.dat`` or ``ml-1m.zip``.
    base_url : str, optional
        Address of a mirror of the files, used for downloading.
    progress : bool
        Whether a download shows a progress bar.

    Returns
    -------
    Split

    Raises
    ------
    OSError
        If a local file is missing or the download fails; the message says how to do it by hand.
    ValueError
        If a file is not what it should be.

    Examples
    --------
    >>> split = load_movielens_1m()  # doctest: +SKIP
    >>> split.n_users, split.n_items, split.train.nnz  # doctest: +SKIP
    (6040, 3706, 994169)
    """
    as_choice("source", source, tuple(SOURCES))
    local = folder if folder is not None else os.environ.get(FOLDER_VARIABLE) or None
    if local is not None:
        paths = _find(source, Path(local).expanduser())
    else:
        paths = [_download(source, name, base_url, progress) for name in SOURCES[source][1]]
    if source == "ncf":
        train, test = paths
        split = read_split(train, test, n_users=COUNTS["users"], n_items=COUNTS["items"])
    else:
        split = leave_last_out(read_ratings(paths[0]))
    found = {
        "events": split.train.nnz + len(split.items),
        "users": np.union1d(split.train.nonzero()[0], split.users).size,
        "items": np.union1d(split.train.indices, split.items).size,
        "held-out events": len(split.items),
        "users with a held-out event": np.unique(split.users).size,
    }
    per_user = dict.fromkeys(["held-out events", "users with a held-out event"], COUNTS["users"])
    for name, expected in (COUNTS | per_user).items():
        if found[name] != expected:
            where = " and ".join(map(str, paths))
            raise ValueError(f"{where}: {found[name]:,} {name} found, {expected:,} expected")
    return split


def _find(source: str, folder: Path) -> list[Path]:
    """Return the paths of the source's files in a local folder."""
    address, files = SOURCES[source]
    choices: list[tuple[str, ...]] = [(name, f"{name}.gz") for name in files]
    if source == "grouplens":
        choices = [("ratings.dat", "ml-1m/ratings.dat", *files)]
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is not a folder; it should hold {' and '.join(files)}")
    paths = []
    for names in choices:
        there = [folder / name for name in names if (folder / name).is_file()]
        if not there:
            raise FileNotFoundError(f"{folder} has no {' or '.join(names)}; get it from {address}")
        paths.append(there[0])
    return paths


def _download(source: str, name: str, base_url: str | None, progress: bool) -> Path:
    # Imported here: slow, and needed only by those who download.
    from sampled_metrics._download import cache_folder, verified_download

    address, files = SOURCES[source]
    path = cache_folder() / name
    by_hand = (
        f"To do it by hand, get {address}{name} and save it as {path}; or save "
        f"{' and '.join(files)} in a folder of your own, and pass folder=... or set the "
        f"environment variable {FOLDER_VARIABLE} to it."
    )
    url = f"{(base_url or address).rstrip('/')}/{name}"
    return verified_download(url, path, CHECKSUMS[name], by_hand, progress)


def _read_table(path: Path, separator: bytes, names: list[str], more: bool = False) -> pd.DataFrame:
    """Read whole numbers; with `more`, lines may go on after the named columns."""
    content = path.read_bytes()
    try:
        if path.suffix == ".gz":
            content = gzip.decompress(content)
        elif path.suffix == ".zip":
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                inside = [name for name in archive.namelist() if Path(name).name == "ratings.dat"]
                if len(inside) != 1:
                    raise ValueError(f"{len(inside)} files named ratings.dat inside, 1 expected")
                content = archive.read(inside[0])  # into memory: no member's path is ever used
    except Exception as error:  # of damaged archives a dozen kinds, from several modules
        raise ValueError(f"{path} cannot be unpacked: {str(error) or repr(error)}") from error
    if not content.strip():
        raise ValueError(f"{path} is empty")
    first = re.split(rb"[\r\n]", content, maxsplit=1)[0].count(separator) + 1
    n_columns = max(first, len(names)) if more else len(names)
    content += b"" if content.endswith(b"\n") else b"\n"
    # Pandas reads a million lines in a moment, but lets pass what this function does not (2.0,
    # True, lines of different lengths), so a file that is not as plain as can be, nothing but
    # digits and so many separators a line, is looked at line by line.
    line = separator * (n_columns - 1) + b"\n"
    plain = content.replace(b"\r\n", b"\n").translate(None, b"0123456789")
    if plain != line * plain.count(b"\n"):
        _blame_line(path, content, separator, len(names), n_columns)
    try:
        table = pd.read_csv(
            io.BytesIO(content.replace(separator, b"\t")), sep="\t", header=None, dtype=np.int64,
            usecols=range(len(names)), na_filter=False, skip_blank_lines=False,
            quoting=csv.QUOTE_NONE,
        )  # fmt: skip
    except (ValueError, OverflowError) as error:
        _blame_line(path, content, separator, len(names), n_columns)
        raise ValueError(f"{path} cannot be read: {error}") from error
    if table.to_numpy().max() > _LARGEST:
        _blame_line(path, content, separator, len(names), n_columns)
    return table.set_axis(names, axis="columns")


def _blame_line(
    path: Path, content: bytes, separator: bytes, n_numbers: int, n_columns: int
) -> None:
    """Raise for the first line that has not the columns and whole numbers that it should."""
    for number, line in enumerate(content.splitlines(), start=1):
        fields = line.split(separator)
        problem = None
        if len(fields) != n_columns:
            problem = f"{n_columns} columns expected, {len(fields)} found"
        for column, field in enumerate(fields[:n_numbers], start=1):
            if not (field.isdigit() and len(field) < 19 and int(field) <= _LARGEST):
                problem = problem or f"column {column} must be a whole number in 0..{_LARGEST}"
        if problem:
            text = line[:80].decode(errors="replace")
            raise ValueError(f"{path}, line {number}: {problem}: {text!r}")
