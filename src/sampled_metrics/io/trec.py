"""Run and qrels files of TREC, as tables whose columns this package knows."""

from __future__ import annotations

import os
from io import StringIO
from math import inf, nan
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sampled_metrics._arguments import as_path
from sampled_metrics.io._files import read_text
from sampled_metrics.io.recommendations import from_recommendations
from sampled_metrics.ranks import Ranks

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["from_run", "read_qrels", "read_run"]


def from_run(
    run: str | os.PathLike[str],
    qrels: str | os.PathLike[str],
    *,
    absent: Literal["refuse", "missed"] = "refuse",
    catalog: Any = None,
) -> Ranks:
    """Make ranks from a run and the relevant documents, both in files of trec_eval's form.

    Parameters
    ----------
    run, qrels : path
        The files, as `read_run` and `read_qrels` read them.
    absent : {"refuse", "missed"}
        What to do if a topic has relevant documents but is not in the run: "refuse" raises an
        error; "missed" counts its relevant documents as missed, as trec_eval's option -c does.

    catalog : int, dict or Series, optional
        Number of documents that there are, where the run ranks all of a sample of them: as in
        `Ranks.from_recommendations`.

    Returns
    -------
    Ranks

    Raises
    ------
    OSError
        If a file cannot be opened.
    ValueError
        As `read_run`, `read_qrels` and `Ranks.from_recommendations`.
    """
    return from_recommendations(read_run(run), read_qrels(qrels), absent=absent, catalog=catalog)


def read_run(path: str | os.PathLike[str]) -> pd.DataFrame:
    r"""Read a run: the ranked documents of each topic, in trec_eval's order.

    Parameters
    ----------
    path : path
        A text file, plain or gzip compressed (``.gz``). Each line has six columns with blanks
        between them: topic, Q0, document, rank, score and run.

    Returns
    -------
    DataFrame
        Columns user (the topic) and item (the document), both strings, score and rank; topics in
        the order in which they first appear, and each topic's documents by rank.

    Raises
    ------
    OSError
        If the file cannot be opened.
    ValueError
        If a line has other columns, a score is not a finite number, or a document occurs twice for
        a topic. The error names the line.

    See Also
    --------
    read_qrels : reads the relevant documents.

    Notes
    -----
    Like trec_eval, this ignores the ranks in the file: documents are in the order of descending
    score, in single precision, and those with one score in that of descending names. To average
    over ties instead, give such a table to `Ranks.from_scores`.

    trec_eval leaves out topics that only one of the two files has. Here, metrics are NaN for those
    that only the run has, and means leave them out. Topics that only the qrels have are refused:
    count them with ``absent="missed"``, as trec_eval's option -c does, or take them out.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     run = Path(folder, "run.txt")
    ...     _ = run.write_text("t1 Q0 d3 1 0.5 mine\nt1 Q0 d9 2 0.5 mine\n")
    ...     read_run(run)
      user item  score  rank
    0   t1   d9    0.5     1
    1   t1   d3    0.5     2
    """
    table = _read(path, 6, 4, "score", float, inf)
    with np.errstate(over="ignore"):
        score = table["score"].to_numpy().astype(np.float32)  # trec_eval keeps so much of it
    topic = table["user"].factorize()[0]
    keys = table.assign(topic=topic, score=-score)
    order = keys.sort_values("item", ascending=False).sort_values(["topic", "score"], kind="stable")
    table = table.loc[order.index].reset_index(drop=True)
    return table.assign(rank=table.groupby("user", sort=False).cumcount() + 1)


def read_qrels(path: str | os.PathLike[str]) -> pd.DataFrame:
    r"""Read relevance judgments: how relevant the judged documents of each topic are.

    Parameters
    ----------
    path : path
        A text file, plain or gzip compressed (``.gz``). Each line has four columns with blanks
        between them: topic, iteration, document and relevance, a whole number.

    Returns
    -------
    DataFrame
        Columns user (the topic) and item (the document), both strings, and relevance. A negative
        relevance (not judged, or spam) becomes 0, as in trec_eval.

    Raises
    ------
    OSError
        If the file cannot be opened.
    ValueError
        If a line has other columns, a relevance is not a whole number, or a document occurs twice
        for a topic. The error names the line.

    See Also
    --------
    read_run : reads the ranked documents, and says how the two are used.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     qrels = Path(folder, "qrels.txt")
    ...     _ = qrels.write_text("t1 0 d9 2\nt1 0 d4 -1\n")
    ...     read_qrels(qrels)
      user item  relevance
    0   t1   d9          2
    1   t1   d4          0
    """
    table = _read(path, 4, 3, "relevance", int, 2**53)
    return table.assign(relevance=table["relevance"].clip(lower=0))


def _read(
    path: str | os.PathLike[str],
    n_columns: int,
    place: int,
    value: str,
    kind: type[int | float],
    limit: float,
) -> pd.DataFrame:
    """Return the user and the item of each line, and the number in one place, below a limit."""
    import pandas as pd

    rows, lines = [], []
    for number, line in enumerate(StringIO(read_text(as_path("path", path))), start=1):
        fields = line.split()
        if not fields:
            continue
        at = f"{path}, line {number}"
        if len(fields) != n_columns:
            problem = f"{n_columns} columns expected, {len(fields)} found"
            raise ValueError(f"{at}: {problem}: {line[:80]!r}")
        if "\ufffd" in line:
            raise ValueError(f"{at}: the text is not UTF-8: {line[:80]!r}")
        try:
            found = kind(fields[place].replace("_", "?"))  # Python takes 1_000 as a number
        except ValueError:
            found = nan
        if not abs(found) < limit:
            what = "whole number" if kind is int else "finite number"
            raise ValueError(f"{at}: the {value} is {fields[place]!r}; it must be a {what}")
        rows.append((fields[0], fields[2], found))
        lines.append(number)
    if not rows:
        raise ValueError(f"{path} is empty")
    table = pd.DataFrame(rows, columns=["user", "item", value])
    for i in np.flatnonzero(table.duplicated(["user", "item"]))[:1]:
        user, item, _ = rows[i]
        raise ValueError(f"{path}, line {lines[i]}: topic {user!r} has document {item!r} twice")
    return table
