"""The public data sets: found in a folder of the user's or downloaded once, as a `Split`."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from sampled_metrics._arguments import as_choice, as_flag, as_path, reject
from sampled_metrics.io import read_integers, read_text
from sampled_metrics.scoring import Split, leave_last_out, read_split

if TYPE_CHECKING:
    import pandas as pd

FOLDER_VARIABLE = "SAMPLED_METRICS_DATA"
SOURCES = {  # with the checksums as published: of the training file, only git's id
    "ncf": (
        "https://raw.githubusercontent.com/hexiangnan/neural_collaborative_filtering/master/Data/",
        {
            "ml-1m.train.rating": "git-blob:31ba384fd58dac8fbd09d2dfc6616431f3563ab5",
            "ml-1m.test.rating": (
                "sha256:231ae11eb060b643a8c58c063cd17ffc743b54f569afb073d1abb6cf126b88b5"
            ),
        },
    ),
    "grouplens": (
        "https://files.grouplens.org/datasets/movielens/",
        {"ml-1m.zip": "sha256:a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20"},
    ),
    "games": (
        "https://raw.githubusercontent.com/kang205/SASRec/master/data/",
        {"Video.txt": "sha256:b7376fe24430743f411dc7f567285657b2adb3f74361cc7ba0aee94f3024b651"},
    ),
    "beauty": (
        "https://raw.githubusercontent.com/FeiSun/BERT4Rec/master/data/",
        {"beauty.txt": "sha256:f480b7a7403852342ffd8f9809bb30697dd669be31813d0e204b698fec86ef49"},
    ),
}
MOVIELENS_1M = {"events": 1_000_209, "users": 6_040, "items": 3_706}
COUNTS = {
    "ncf": MOVIELENS_1M,
    "grouplens": MOVIELENS_1M,
    "games": {"events": 287_107, "users": 31_013, "items": 23_715},
    "beauty": {"events": 353_962, "users": 40_226, "items": 54_542},
}


def read_ratings(path: str | os.PathLike[str]) -> pd.DataFrame:
    r"""Read GroupLens's ``ratings.dat``, whose lines are ``user::movie::rating::timestamp``.

    Parameters
    ----------
    path : path
        The file, plain or gzip compressed (``.gz``), or a ``.zip`` that has it inside.

    Returns
    -------
    pandas.DataFrame
        Columns user, item, rating (1 to 5 stars) and timestamp (seconds since 1970), in the
        order of the file and with the ids of the file.

    Raises
    ------
    OSError
        If the file cannot be opened.
    ValueError
        If the file is empty or damaged, or a line does not have four whole numbers.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "ratings.dat")
    ...     _ = path.write_text("1::1193::5::978300760\n")
    ...     read_ratings(path)
       user  item  rating  timestamp
    0     1  1193       5  978300760
    """
    file = as_path("path", path)
    text = _unzipped(file) if file.suffix == ".zip" else read_text(file)
    columns = ["user", "item", "rating", "timestamp"]
    return read_integers(path, text.replace("::", "\t"), columns)


def _unzipped(path: Path) -> str:
    """Return the text of the only ratings.dat in an archive."""
    content = path.read_bytes()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            inside = [name for name in archive.namelist() if Path(name).name == "ratings.dat"]
            if len(inside) != 1:
                raise ValueError(f"{len(inside)} files named ratings.dat inside, 1 expected")
            text = archive.read(inside[0])  # into memory: no member's path is ever used
    except Exception as error:  # of damaged archives a dozen kinds, from several modules
        raise ValueError(f"{path} cannot be unpacked: {str(error) or repr(error)}") from error
    return io.TextIOWrapper(io.BytesIO(text), encoding="utf-8-sig", errors="replace").read()


def load_movielens_1m(
    source: Literal["ncf", "grouplens"] = "ncf",
    *,
    folder: str | os.PathLike[str] | None = None,
    base_url: str | None = None,
    progress: bool = True,
) -> Split:
    """Load MovieLens 1M, with one event held out for each of its 6,040 users.

    The files are read from `folder`, or else from the folder that the environment variable
    ``SAMPLED_METRICS_DATA`` names, or downloaded once into the user's cache (`pooch.os_cache`),
    with checksums compared at every load.

    Parameters
    ----------
    source : {"ncf", "grouplens"}
        "ncf" is the public split of the authors of Neural Collaborative Filtering, which Krichene
        and Rendle (2020) used; "grouplens" is GroupLens's ``ratings.dat``, split by
        `leave_last_out`.
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
    as_choice("source", source, ("ncf", "grouplens"))
    unpacked = ("ratings.dat", "ml-1m/ratings.dat") if source == "grouplens" else ()
    files, expected = SOURCES[source], COUNTS[source]
    paths = published_files(*files, folder, base_url, progress=progress, unpacked=unpacked)
    if source == "ncf":
        split = read_split(*paths, n_users=expected["users"], n_items=expected["items"])
    else:
        split = leave_last_out(read_ratings(paths[0]))
    found = {
        "events": split.train.nnz + len(split.items),
        "users": np.union1d(split.train.nonzero()[0], split.users).size,
        "items": np.union1d(split.train.indices, split.items).size,
        "held-out events": len(split.items),
        "users with a held-out event": np.unique(split.users).size,
    }
    once = dict.fromkeys(["held-out events", "users with a held-out event"], expected["users"])
    _check_counts(paths, found, expected | once)
    return split


def read_sequences(path: str | os.PathLike[str]) -> pd.DataFrame:
    r"""Read a file of sequences: lines "user item", each user's items in the order of time.

    This is the form in which the authors of SASRec and of BERT4Rec publish their data.

    Parameters
    ----------
    path : path
        The file, plain or gzip compressed (``.gz``).

    Returns
    -------
    pandas.DataFrame
        Columns user, item and timestamp, in the order of the file and with its ids. The file has
        no times: the timestamp is the number of the line, from 1.

    Raises
    ------
    OSError, ValueError
        As `read_ratings`; a line must be two whole numbers with a space between.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "sequences.txt")
    ...     _ = path.write_text("1 20\n1 10\n")
    ...     read_sequences(path)
       user  item  timestamp
    0     1    20          1
    1     1    10          2
    """
    text = read_text(as_path("path", path)).replace(" ", "\t")
    events = read_integers(path, text, ["user", "item"])
    return events.assign(timestamp=np.arange(1, len(events) + 1))


def load_amazon(
    category: Literal["games", "beauty"] = "games",
    *,
    validation: bool = False,
    folder: str | os.PathLike[str] | None = None,
    base_url: str | None = None,
    progress: bool = True,
) -> Split:
    """Load Amazon Video Games or Amazon Beauty, with each user's last event held out.

    These are the data that the authors of SASRec and of BERT4Rec published. The files are found or
    downloaded as by `load_movielens_1m`.

    Parameters
    ----------
    category : {"games", "beauty"}
        Video Games as in SASRec (Kang and McAuley, ICDM 2018): 287,107 events.
        Beauty as in BERT4Rec (Sun and others, CIKM 2019): 353,962 events.
    validation : bool
        Whether to leave the event before the last out of training, too, as the authors do; see
        `leave_last_out`. Its item is a candidate like any other.
    folder : path, optional
        Where ``Video.txt`` or ``beauty.txt`` is (plain or ``.gz``).
    base_url, progress
        As in `load_movielens_1m`.

    Returns
    -------
    Split
        With the ids of the file as `user_names` and `item_names`.

    Raises
    ------
    OSError, ValueError
        As `load_movielens_1m`.

    Examples
    --------
    >>> split = load_amazon("games")  # doctest: +SKIP
    >>> split.n_users, split.n_items, len(split.items)  # doctest: +SKIP
    (31013, 23715, 30983)
    """
    as_choice("category", category, ("games", "beauty"))
    as_flag("validation", validation)  # before the download
    paths = published_files(*SOURCES[category], folder, base_url, progress=progress)
    events = read_sequences(paths[0])
    counts = {f"{column}s": events[column].nunique() for column in ("user", "item")}
    _check_counts(paths, {"events": len(events)} | counts, COUNTS[category])
    return leave_last_out(events, validation=validation)


def published_files(
    address: str,
    checksums: Mapping[str, str],
    folder: str | os.PathLike[str] | None = None,
    base_url: str | None = None,
    *,
    progress: bool = True,
    unpacked: Sequence[str] = (),
) -> list[Path]:
    """Return the paths of a data set's files, in the order of `checksums`.

    A local copy may be packed (``.gz``), or be called as one of `unpacked`; pooch never gets that
    folder, as it would replace a copy with another checksum. The checksums are pooch's or git's.
    """
    show = as_flag("progress", progress)
    if base_url is not None and not isinstance(base_url, str):
        reject("base_url", base_url, "an address")
    local = folder if folder is not None else os.environ.get(FOLDER_VARIABLE) or None
    if local is not None:
        here = as_path("folder", local, "folder").expanduser()
        return [_find(here, [*unpacked, name, f"{name}.gz"], address) for name in checksums]

    import pooch  # here, as it is slow and needed only by those who download

    known = {x: None if code.startswith("git-blob") else code for x, code in checksums.items()}
    files = pooch.create(pooch.os_cache("sampled_metrics"), base_url or address, registry=known)
    try:
        for name in checksums:
            path = Path(files.fetch(name, progressbar=show))
            if known[name] is None and _git_blob(path) != checksums[name]:
                path.unlink()
                raise ValueError(f"not {checksums[name]}, the published file; it was removed")
    except (OSError, ValueError) as error:
        raise OSError(
            f"{files.get_url(name)} could not be downloaded: {error}. To do it by hand, save "
            f"{address}{name} as {files.abspath / name}; or save {' and '.join(checksums)} in a "
            f"folder, and pass folder=... or set the environment variable {FOLDER_VARIABLE} to it."
        ) from error
    return [files.abspath / name for name in checksums]


def _git_blob(path: Path) -> str:
    content = path.read_bytes()
    header = b"blob %d\0" % len(content)
    return f"git-blob:{hashlib.sha1(header + content, usedforsecurity=False).hexdigest()}"


def _find(folder: Path, names: Sequence[str], address: str) -> Path:
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is not a folder; it should hold {names[0]}")
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise FileNotFoundError(f"{folder} has no {' or '.join(names)}; get it from {address}")


def _check_counts(
    paths: Sequence[Path], found: Mapping[str, int], expected: Mapping[str, int]
) -> None:
    """Refuse files that have not as many events, users or items as the published ones."""
    where = " and ".join(map(str, paths))
    for name, count in expected.items():
        if found[name] != count:
            raise ValueError(f"{where}: {found[name]:,} {name} found, {count:,} expected")
