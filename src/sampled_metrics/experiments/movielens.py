"""MovieLens 1M: downloaded safely or read from a folder, as a `Split`."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from sampled_metrics._arguments import as_choice, as_path
from sampled_metrics.experiments._published import check_counts, published_files
from sampled_metrics.io import read_integers, read_text
from sampled_metrics.scoring import Split, leave_last_out, read_split

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["load_movielens_1m", "read_ratings"]

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
}
COUNTS = {"events": 1_000_209, "users": 6_040, "items": 3_706}


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
    ``SAMPLED_METRICS_DATA`` names. Without either, they are downloaded once into the user's cache
    (`pooch.os_cache`). A downloaded file is kept only if it is complete and its checksum is right;
    the checksum is compared again at every load.

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
    as_choice("source", source, tuple(SOURCES))
    unpacked = ("ratings.dat", "ml-1m/ratings.dat") if source == "grouplens" else ()
    paths = published_files(
        *SOURCES[source], folder, base_url, progress=progress, unpacked=unpacked
    )
    if source == "ncf":
        split = read_split(*paths, n_users=COUNTS["users"], n_items=COUNTS["items"])
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
    check_counts(paths, found, COUNTS | per_user)
    return split
