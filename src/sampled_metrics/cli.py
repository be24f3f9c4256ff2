"""The command line: files in, a table out, with the same calls as in Python."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sampled_metrics import metrics as known
from sampled_metrics.metric import Metric

if TYPE_CHECKING:
    import pandas as pd

    from sampled_metrics.sampling import Draw

METRICS: dict[str, Callable[..., Metric]] = {
    "recall": known.Recall,
    "precision": known.Precision,
    "f1": known.F1,
    "ndcg": known.NDCG,
    "ap": known.AveragePrecision,
    "map": known.AveragePrecision,
    "rr": known.ReciprocalRank,
    "mrr": known.ReciprocalRank,
    "auc": known.AUC,
}
DESCRIPTION = "Evaluate recommenders exactly, and say what sampled metrics mean."
EPILOG = """\
Ranks are a parquet or CSV file with one row per relevant item: user, rank, and where known
recommender, n_tied, n_items (see read_ranks in the reference). Make one with `rank`.

examples:
  sampled-metrics rank scores.parquet --relevant test.parquet --output ranks.parquet
  sampled-metrics evaluate ranks.parquet --metrics recall@10 ndcg@10 --samples 100
  sampled-metrics compare ranks.parquet --metrics ndcg@10 --format csv
  sampled-metrics bounds sampled.csv --metrics recall@10 --samples 100 --items 3706
  sampled-metrics explain recall@10 0.66 --items 3706 --samples 100 --users 6040

exit codes: 0, done; 1, the data were refused or a file cannot be read; 2, a wrong command line.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the program's name; by default that of the process.

    Returns
    -------
    int
        The exit code.

    Examples
    --------
    >>> main(["explain", "auc", "0.9", "--items", "1000", "--samples", "99", "--format", "csv"])
    ... # doctest: +ELLIPSIS
    metric,value,...
    0
    """
    options = _parser().parse_args(arguments)
    try:
        _show(options.run(options), options)
    except (ValueError, OSError, ImportError) as error:
        print(f"sampled-metrics: error: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "sampled-metrics", description=DESCRIPTION, epilog=EPILOG, formatter_class=form
    )
    commands = parser.add_subparsers(required=True, metavar="command")

    def command(run: Callable[[Any], Any], text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(run.__name__.strip("_"), help=text, description=text)
        made.set_defaults(run=run)
        return made

    _add_rank(command(_rank, "turn a table of scores into ranks"))
    for run, text in (
        (_evaluate, "values with standard errors and intervals"),
        (_compare, "all pairs of recommenders, tested user by user"),
        (_bounds, "what sampled ranks leave open about the exact metrics"),
    ):
        _add_evaluation(command(run, text), sampled=run is _bounds)
    _add_explain(command(_explain, "what one published number can mean"))
    return parser


def _add_rank(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scores", help="file of user, item, score, and perhaps relevance")
    parser.add_argument("--relevant", help="file of user, item, and perhaps relevance")
    parser.add_argument("--exclude", help="file of user, item: pairs that are no candidates")
    for name in ("user", "item", "score", "relevance"):
        parser.add_argument(f"--{name}", default=name, metavar="COLUMN", help="its column")
    parser.add_argument("--name", help="of the recommender; by default the file's")
    parser.add_argument("--output", required=True, help="file of ranks, .parquet or .csv")


def _add_evaluation(parser: argparse.ArgumentParser, *, sampled: bool) -> None:
    parser.add_argument("ranks", help="file of ranks, .parquet or .csv")
    parser.add_argument(
        "--metrics", nargs="+", type=_metric, required=True, help="such as recall@10 ndcg@10 auc"
    )
    _add_draw(parser, required=sampled)
    if not sampled:
        parser.add_argument(
            "--sampled", action="store_true", help="the ranks in the file were sampled"
        )
    parser.add_argument("--confidence", type=float, default=0.95, help="by default 0.95")
    parser.add_argument("--group", metavar="COLUMN", help="column with the group of each user")
    parser.add_argument("--seed", type=int, default=0, help="of resampling; by default 0")
    _add_output(parser, latex=True)


def _add_explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("metric", type=_metric, help="such as recall@10")
    parser.add_argument("value", type=float, help="the published number, such as 0.66")
    parser.add_argument("--other", type=float, help="another one, to compare")
    parser.add_argument("--users", type=int, help="number of users")
    _add_draw(parser, required=True)
    _add_output(parser, latex=False)


def _add_draw(parser: argparse.ArgumentParser, *, required: bool) -> None:
    parser.add_argument("--samples", type=int, required=required, help="sampled items per user")
    parser.add_argument("--items", type=int, required=required, help="ranked items without samples")
    parser.add_argument(
        "--without-replacement", action="store_true", help="no item is drawn twice for a user"
    )


def _add_output(parser: argparse.ArgumentParser, *, latex: bool) -> None:
    choices = ["table", "csv", "json", *(["latex"] if latex else [])]
    parser.add_argument("--format", choices=choices, default="table", help="by default a table")
