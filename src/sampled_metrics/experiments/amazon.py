"""Amazon reviews as sequences: downloaded safely or read from a folder, as a `Split`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

import numpy as np

from sampled_metrics._arguments import as_choice, as_flag, as_path
from sampled_metrics.experiments._published import check_counts, published_files
from sampled_metrics.io import read_integers, read_text
from sampled_metrics.scoring import Split, leave_last_out

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["load_amazon", "read_sequences"]

SOURCES = {
    "games": (
        "https://raw.githubusercontent.com/kang205/SASRec/master/data/",
        {"Video.txt": "sha256:b7376fe24430743f411dc7f567285657b2adb3f74361cc7ba0aee94f3024b651"},
    ),
    "beauty": (
        "https://raw.githubusercontent.com/FeiSun/BERT4Rec/master/data/",
        {"beauty.txt": "sha256:f480b7a7403852342ffd8f9809bb30697dd669be31813d0e204b698fec86ef49"},
    ),
}
COUNTS = {
    "games": {"events": 287_107, "users": 31_013, "items": 23_715},
    "beauty": {"events": 353_962, "users": 40_226, "items": 54_542},
}


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
    OSError
        If the file cannot be opened.
    ValueError
        If the file is empty or damaged, or a line is not two whole numbers with a space between.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "sequences.txt")
    ...     _ = path.write_text("1 20\n1 10\n2 20\n")
    ...     read_sequences(path)
       user  item  timestamp
    0     1    20          1
    1     1    10          2
    2     2    20          3
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

    These are the data that the authors of SASRec and of BERT4Rec prepared and published. They test
    on the last event of each user, and tune on the one before; see `validation`.

    The files are read from `folder`, or else from the folder that the environment variable
    ``SAMPLED_METRICS_DATA`` names. Without either, they are downloaded once into the user's cache
    (`pooch.os_cache`). A downloaded file is kept only if it is complete and its checksum is right;
    the checksum is compared again at every load.

    Parameters
    ----------
    category : {"games", "beauty"}
        Video Games as in SASRec (Kang and McAuley, ICDM 2018): 287,107 events of 31,013 users with
        23,715 items. Beauty as in BERT4Rec (Sun and others, CIKM 2019): 353,962 events of 40,226
        users with 54,542 items.
    validation : bool
        Whether to leave the event before the last out of training, too, as the authors do; see
        `leave_last_out`. Its item is a candidate like any other.
    folder : path, optional
        Where ``Video.txt`` or ``beauty.txt`` is (plain or ``.gz``).
    base_url : str, optional
        Address of a mirror of the file, used for downloading.
    progress : bool
        Whether a download shows a progress bar.

    Returns
    -------
    Split
        With the ids of the file as `user_names` and `item_names`.

    Raises
    ------
    OSError
        If a local file is missing or the download fails; the message says how to do it by hand.
    ValueError
        If a file is not what it should be.

    Examples
    --------
    >>> split = load_amazon("games")  # doctest: +SKIP
    >>> split.n_users, split.n_items, len(split.items)  # doctest: +SKIP
    (31013, 23715, 30983)
    """
    as_choice("category", category, tuple(SOURCES))
    as_flag("validation", validation)  # before the download
    paths = published_files(*SOURCES[category], folder, base_url, progress=progress)
    events = read_sequences(paths[0])
    counts = {f"{column}s": events[column].nunique() for column in ("user", "item")}
    check_counts(paths, {"events": len(events)} | counts, COUNTS[category])
    return leave_last_out(events, validation=validation)
