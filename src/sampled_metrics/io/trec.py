"""Runs and judgments of TREC, BEIR and pytrec_eval, as tables whose columns this package knows."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from io import StringIO
from math import inf, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from sampled_metrics._arguments import as_path
from sampled_metrics.io._files import read_text
from sampled_metrics.io._pairs import pairs_of
from sampled_metrics.io.recommendations import from_recommendations
from sampled_metrics.ranks import Ranks

if TYPE_CHECKING:
    import pandas as pd

    from sampled_metrics.io._pairs import Absent

    Judged = str | os.PathLike[str] | Mapping[Any, Mapping[Any, float]]

FIELD = re.compile(r"[^ \t\n\r\f\v]+")  # a name may hold other blanks, which Python splits at, too


def from_run(
    run: Judged,
    qrels: Judged,
    *,
    absent: Absent = "refuse",
    catalog: Any = None,
    weights: Any = None,
    min_relevance: float | None = None,
) -> Ranks:
    """Make ranks from a run and the relevant documents: files, or dicts as pytrec_eval has them.

    Parameters
    ----------
    run, qrels : path or dict
        The files, as `read_run` and `read_qrels` read them, or dicts from topic to a dict from
        document to score or relevance (pytrec_eval, ranx, BEIR), which mean the same.
    absent : {"refuse", "missed", "left out"}
        What to do if a topic has relevant documents but is not in the run: "refuse" raises an
        error; "missed" counts its relevant documents as missed, as trec_eval's option -c does;
        "left out" leaves the topic out, as trec_eval does without it, which flatters.
    catalog, weights, min_relevance
        As in `Ranks.from_recommendations`, by topic.

    Returns
    -------
    Ranks

    Raises
    ------
    OSError
        If a file cannot be opened.
    ValueError
        As `read_run`, `read_qrels` and `Ranks.from_recommendations`.

    Examples
    --------
    >>> run = {"t1": {"d3": 0.5, "d9": 0.7}, "t2": {"d3": 0.1}}
    >>> ranks = Ranks.from_run(run, {"t1": {"d3": 2, "d4": 1}, "t2": {"d3": 0}})
    >>> ranks.best, ranks.n_relevant
    (array([2]), array([2, 0]))
    """
    return from_recommendations(
        _ordered(_of_dict("run", run, "score")) if isinstance(run, Mapping) else read_run(run),
        _clipped(_of_dict("qrels", qrels, "relevance"))
        if isinstance(qrels, Mapping)
        else read_qrels(qrels),
        absent=absent,
        catalog=catalog,
        weights=weights,
        min_relevance=min_relevance,
    )


def _of_dict(name: str, given: Mapping[Any, Any], value: str) -> pd.DataFrame:
    """Return the rows of a dict of dicts."""
    import pandas as pd

    columns = {"user": "user", "item": "item", value: value}
    pairs = pairs_of(name, given, columns, [value])
    numbers = pairs.values.get(value, np.empty(0))  # none where the dict is empty
    if numbers.size:
        pairs.refuse(value, ~np.isfinite(numbers), "it must be finite")
    ids = {key: getattr(pairs, f"{key}s") for key in ("user", "item")}
    return pd.DataFrame(
        {key: each.names[each.codes] for key, each in ids.items()} | {value: numbers}
    )


def _ordered(table: pd.DataFrame) -> pd.DataFrame:
    """Return the documents of each topic in trec_eval's order, with their ranks."""
    with np.errstate(over="ignore"):
        score = table["score"].to_numpy().astype(np.float32)  # trec_eval keeps so much of it
    topic = table["user"].factorize()[0]
    keys = table.assign(topic=topic, score=-score, item=table["item"].astype(str))
    order = keys.sort_values("item", ascending=False).sort_values(["topic", "score"], kind="stable")
    table = table.loc[order.index].reset_index(drop=True)
    return table.assign(rank=table.groupby("user", sort=False).cumcount() + 1)


def _clipped(table: pd.DataFrame) -> pd.DataFrame:
    """Return judgments, 0 where they are negative: not judged, or spam."""
    return table.assign(relevance=table["relevance"].clip(lower=0))


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
    over ties instead, give `Ranks.from_recommendations` this table without its column rank.

    trec_eval leaves out topics that only one of the two files has. Here, metrics are NaN for those
    that only the run has, and means leave them out. Topics that only the qrels have are refused:
    count them with ``absent="missed"``, as trec_eval's option -c does.

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
    return _ordered(_read(path, (0, 2, 4), 6, "score", inf))


def read_qrels(path: str | os.PathLike[str]) -> pd.DataFrame:
    r"""Read relevance judgments: how relevant the judged documents of each topic are.

    Parameters
    ----------
    path : path
        A text file, plain or gzip compressed (``.gz``). Each line has four columns with blanks
        between them: topic, iteration, document and relevance. Or as BEIR has them: a line of
        names, then topic, document and relevance, with tabs between them.

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
        If a line has other columns, a relevance is no finite number, or a document occurs twice
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
    first = read_text(as_path("path", path)).partition("\n")[0].rstrip("\r").split("\t")
    is_beir = len(first) == 3 and not first[2][:1].isdigit()
    places, n = ((0, 1, 2), 3) if is_beir else ((0, 2, 3), 4)
    table = _clipped(_read(path, places, n, "relevance", 2**53, skip=int(is_beir)))
    whole = table["relevance"].astype(np.int64)
    return table.assign(relevance=whole) if (whole == table["relevance"]).all() else table


def _read(
    path: str | os.PathLike[str],
    places: tuple[int, int, int],
    n_columns: int,
    value: str,
    limit: float,
    *,
    skip: int = 0,
) -> pd.DataFrame:
    """Return the user, the item and the number, below a limit, in these places of each line."""
    import pandas as pd

    rows, lines = [], []
    text = read_text(as_path("path", path))
    for number, line in enumerate(StringIO(text), start=1):
        fields = line.rstrip("\r\n").split("\t") if skip else FIELD.findall(line)
        if number <= skip or not "".join(fields):
            continue
        at = f"{path}, line {number}"
        if len(fields) != n_columns:
            problem = f"{n_columns} columns expected, {len(fields)} found"
            raise ValueError(f"{at}: {problem}: {line[:80]!r}")
        if "\ufffd" in line:
            raise ValueError(f"{at}: the text is not UTF-8: {line[:80]!r}")
        user, item, word = (fields[place] for place in places)
        try:
            found = float(word.replace("_", "?"))  # Python takes 1_000 as a number
        except ValueError:
            found = nan
        if not abs(found) < limit:
            raise ValueError(f"{at}: the {value} is {word!r}; it must be a finite number")
        rows.append((user, item, found))
        lines.append(number)
    if not rows:
        raise ValueError(f"{path} is empty")
    table = pd.DataFrame(rows, columns=["user", "item", value])
    for i in np.flatnonzero(table.duplicated(["user", "item"]))[:1]:
        user, item, _ = rows[i]
        raise ValueError(f"{path}, line {lines[i]}: topic {user!r} has document {item!r} twice")
    return table
