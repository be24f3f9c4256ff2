"""The command line: files in, a table out, with the same calls as in Python."""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.metadata import version
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from sampled_metrics import metrics as known
from sampled_metrics._arguments import as_generator, as_integer
from sampled_metrics.metrics import Metric

if TYPE_CHECKING:
    import pandas as pd

    from sampled_metrics.bounds import Explanation, Explanations
    from sampled_metrics.evaluation import Evaluation
    from sampled_metrics.ranks import Ranks
    from sampled_metrics.sampling import Draw

METRICS: dict[str, Callable[..., Metric]] = {
    "recall": known.Recall,
    "precision": known.Precision,
    "f1": known.F1,
    "ndcg": known.NDCG,
    "ap": known.AveragePrecision,
    "map": known.AveragePrecision,
    "hr": known.HitRate,
    "rr": known.ReciprocalRank,
    "mrr": known.ReciprocalRank,
    "auc": known.AUC,
}
INPUTS = ("scores", "relevant", "exclude", "ranks")
NAMED = ("user", "item", "score", "rank", "relevance")
DESCRIPTION = "Evaluate recommenders exactly, and find out what sampled metrics mean."
EPILOG = """\
Ranks are a table with one row per relevant item. Its columns are user, rank and, if known,
recommender, n_tied, n_items and catalog (see read_ranks in the reference). `rank` makes one.
Where the candidates are a sample of so many items, say so once: --catalog.
A table is a file (.parquet, .csv, .csv.gz, .tsv or .tsv.gz), a folder of such files, a pattern in
quotes, such as 'part-*.parquet', or - for what is piped in.

examples:
  sampled-metrics rank scores.parquet --relevant test.parquet --output ranks.parquet
  sampled-metrics rank bm25.run --form run --relevant qrels.txt --output ranks.parquet
  sampled-metrics evaluate ranks.parquet --metrics recall@10 ndcg@10 --samples 100
  sampled-metrics compare ranks.parquet --metrics ndcg@10 --format csv
  sampled-metrics bounds sampled.csv --metrics recall@10 --samples 100 --catalog 3706
  sampled-metrics explain recall@10 0.66 --items 3706 --samples 100 --users 6040
  sampled-metrics explain recall@1 0.30 recall@10 0.66 --other 0.28 0.61 --items 3706 --samples 100

exit codes: 0, done; 1, the data are refused or a file cannot be read; 2, a wrong command line or a
file that is not there; 130, interrupted.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after the program's name; by default those of the process.

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
        with TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: _say("warning", message)
            _take_what_is_piped(options, Path(folder))
            _show(options.run(options), options)
    except KeyboardInterrupt:
        print("sampled-metrics: interrupted", file=sys.stderr)
        return 130
    except FileNotFoundError as error:
        print(
            f"sampled-metrics: error: there is no file {error.filename or error}", file=sys.stderr
        )
        return 2
    except (ValueError, OSError, ImportError) as error:
        _say("error", error)
        return 1
    return 0


def _say(kind: str, message: object) -> None:
    text = str(message).replace("catalog=", "--catalog")
    print(f"sampled-metrics: {kind}: {text}", file=sys.stderr)


def _take_what_is_piped(options: Any, folder: Path) -> None:
    """Put a file in the place of -, the standard input, as readers look at a table twice."""

    def file(given: str) -> str:
        if given != "-":
            return given
        if any(folder.iterdir()):
            raise ValueError("- is given twice; only one table can be piped in")
        data = sys.stdin.buffer.read()
        kinds = {b"PAR1": ".parquet", b"\x1f\x8b": ".csv.gz"}
        text = ".tsv" if b"\t" in data.partition(b"\n")[0] else ".csv"
        kind = next((kinds[start] for start in kinds if data.startswith(start)), text)
        path = folder / f"stdin{kind}"
        path.write_bytes(data)
        return str(path)

    for name in INPUTS:
        given = getattr(options, name, None)
        if given is not None:
            made = [file(each) for each in given] if isinstance(given, list) else file(given)
            setattr(options, name, made)


def _parser() -> argparse.ArgumentParser:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "sampled-metrics", description=DESCRIPTION, epilog=EPILOG, formatter_class=form
    )
    parser.add_argument(
        "--version", action="version", version=f"%(prog)s {version('sampled-metrics')}"
    )
    commands = parser.add_subparsers(required=True, metavar="command")

    def command(run: Callable[[Any], Any], text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(run.__name__.strip("_"), help=text, description=text)
        made.set_defaults(run=run)
        return made

    _add_rank(command(_rank, "turn scores, lists or runs into ranks"))
    for run, text in (
        (_evaluate, "values with standard errors and intervals"),
        (_compare, "all pairs of recommenders, tested user by user"),
        (_bounds, "what sampled ranks leave open about the exact metrics"),
    ):
        made = command(run, text)
        _add_evaluation(made, exact=run is not _bounds)
        if run is _evaluate:
            made.add_argument("--group", metavar="COLUMN", help="column with each user's group")
        if run is not _bounds:
            text = "column with each user's cluster: who share one are not independent"
            made.add_argument("--clusters", metavar="COLUMN", help=text)
    _add_explain(command(_explain, "what one published number can mean"))
    return parser


def _add_rank(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "scores",
        nargs="+",
        help="one table per recommender, named like it: user, item, score, optionally relevance",
    )
    parser.add_argument(
        "--form",
        choices=["scores", "lists", "run"],
        default="scores",
        help="scores of all candidates (by default); recommended items by rank or score; or a run "
        "of trec_eval, with its qrels as --relevant",
    )
    parser.add_argument("--relevant", help="table of user, item and, optionally, relevance")
    parser.add_argument("--exclude", help="table of user, item: pairs that are not candidates")
    parser.add_argument(
        "--absent",
        choices=["refuse", "missed", "left out"],
        help="users with relevant items who have no candidates; by default refused",
    )
    _add_catalog(parser, "candidates")
    parser.add_argument(
        "--min-relevance", type=float, metavar="X", help="the least one of a relevant item"
    )
    for name in NAMED:
        parser.add_argument(
            f"--{name}", metavar="COLUMN", help=f"name of this column, by default {name}"
        )
    parser.add_argument("--output", required=True, help="file of ranks, .parquet or .csv")


def _add_evaluation(parser: argparse.ArgumentParser, *, exact: bool) -> None:
    parser.add_argument("ranks", help="table of ranks")
    parser.add_argument(
        "--metrics", nargs="+", type=_metric, required=True, help="such as recall@10 ndcg@10 auc"
    )
    for name in ("recommender", "user", "rank"):
        one = '; "" if all rows are of one' if name == "recommender" else ""
        text = f"name of this column{one}"
        parser.add_argument(f"--{name}", default=name, metavar="COLUMN", help=text)
    parser.add_argument(
        "--ignore", action="append", default=[], metavar="COLUMN",
        help="a column that does not matter, besides item and group; may be given again",
    )  # fmt: skip
    _add_draw(parser, required=False, exact=exact)
    _add_catalog(parser, "ranked items")
    parser.add_argument("--confidence", type=float, default=0.95, help="by default 0.95")
    parser.add_argument(
        "--ties",
        choices=["random", "optimistic", "pessimistic"],
        help="how ties are broken; by default, metrics are averages over all ways",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="seed for ties and resampling; by default 0"
    )
    _add_output(parser, latex=True)


def _add_explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "numbers",
        nargs="+",
        action=_Numbers,
        metavar="metric value",
        help="the published number as it is printed, such as recall@10 0.66; or several of them",
    )
    parser.add_argument(
        "--other",
        nargs="+",
        type=_number,
        metavar="VALUE",
        help="the numbers of another recommender, to compare",
    )
    parser.add_argument("--users", type=int, help="number of users")
    _add_draw(parser, required=True, exact=True)
    _add_output(parser, latex=False)


def _add_catalog(parser: argparse.ArgumentParser, what: str) -> None:
    text = f"number of all items, where the {what} in the file are a sample of them"
    parser.add_argument("--catalog", type=int, metavar="N", help=text)


def _add_draw(parser: argparse.ArgumentParser, *, required: bool, exact: bool) -> None:
    parser.add_argument("--samples", type=int, required=required, help="sampled items per user")
    if exact:
        text = "number of all ranked items, including the relevant one"
        parser.add_argument("--items", type=int, required=required, help=text)
    parser.add_argument(
        "--without-replacement", action="store_true", help="no item is drawn twice for a user"
    )


def _add_output(parser: argparse.ArgumentParser, *, latex: bool) -> None:
    choices = ["table", "csv", "json", *(["latex"] if latex else [])]
    parser.add_argument("--format", choices=choices, default="table", help="by default a table")


def _metric(name: str) -> Metric:
    """Return the metric of a name such as ndcg@10."""
    found = re.fullmatch(r"([a-z0-9]+)(?:@([0-9]+))?", name.lower())
    if not found or found[1] not in METRICS:
        raise argparse.ArgumentTypeError(
            f"{name!r} is not a metric; choose from {', '.join(METRICS)}, with a cutoff as in "
            "recall@10"
        )
    try:
        return METRICS[found[1]](**({"k": int(found[2])} if found[2] else {}))
    except TypeError as error:
        what = "needs no cutoff" if found[2] else "needs a cutoff, such as 10"
        raise argparse.ArgumentTypeError(f"{name!r}: {found[1]} {what}") from error
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{name!r}: {error}") from error


def _number(text: str) -> tuple[float, int]:
    """Return a number, and the decimals with which it is printed."""
    if not re.fullmatch(r"-?[0-9]*\.?[0-9]+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number as printed, such as 0.66")
    return float(text), len(text.partition(".")[2])


class _Numbers(argparse.Action):
    """Take metrics and their values in turn."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        """Keep the metrics, and the numbers with their decimals."""
        try:
            namespace.metrics = [_metric(word) for word in values[::2]]
            namespace.values = [_number(word) for word in values[1::2]]
        except argparse.ArgumentTypeError as error:
            raise argparse.ArgumentError(self, str(error)) from error
        if len(values) % 2:
            raise argparse.ArgumentError(self, f"{values[-1]} has no value")


def _rank(options: Any) -> None:
    from sampled_metrics.io import write_ranks

    inputs = [Path(x) for x in (*options.scores, options.relevant, options.exclude) if x]
    output = Path(options.output).resolve()
    for path in inputs:
        if path.resolve() in (output, *output.parents) or output.match(str(path.resolve())):
            raise ValueError(f"--output {options.output} would overwrite {path}; name another file")
    names = [_name(Path(path)) for path in options.scores]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two files are called {name}; give each recommender another name")
        if len(names) > 1 and re.match(r"part[-_.]?\d|data_\d", name):
            raise ValueError(
                f"{name} looks like a part of one table, and each file is a recommender of its "
                "own; give the parts' folder, or their pattern in quotes, such as 'part-*.parquet'"
            )
    ranks = {name: _ranks(path, options) for name, path in zip(names, options.scores, strict=True)}
    write_ranks(ranks, options.output)


def _name(path: Path) -> str:
    """Return what a recommender is called whose table is there."""
    file = Path(path.name.removesuffix(".gz"))
    return path.name if path.is_dir() else file.stem.rstrip("*-_.") or path.name


def _ranks(path: str, options: Any) -> Ranks:
    """Return the ranks of one recommender."""
    from sampled_metrics.ranks import Ranks

    doors: dict[str, Callable[..., Any]] = {
        "scores": Ranks.from_scores, "lists": Ranks.from_recommendations, "run": Ranks.from_run,
    }  # fmt: skip
    if options.form != "scores" and options.relevant is None:
        raise ValueError(f"--relevant is missing; --form {options.form} needs it")
    more = {
        name: getattr(options, name)
        for name in ("exclude", "absent", "catalog", "min_relevance", *NAMED)
    }
    made: Ranks = _call(doors[options.form], path, options.relevant, **more)
    return made


def _call(door: Callable[..., Any], *given: Any, **options: Any) -> Any:
    """Call a function with those options that were given, or say which one it does not take."""
    more = {name: value for name, value in options.items() if value is not None}
    for name in sorted(more.keys() - signature(door).parameters.keys()):
        raise ValueError(f"--{name} does not go with this form of data; leave it out")
    return door(*given, **more)


def _evaluation(options: Any) -> Evaluation:
    """Evaluate the ranks in a file."""
    from sampled_metrics.evaluation import evaluate
    from sampled_metrics.io import COLUMNS, read_ranks

    draw = _draw(options)
    labels = {getattr(options, name, None) for name in ("group", "clusters")}
    read = {*COLUMNS, options.recommender, options.user, options.rank}
    columns = {"user": options.user, "rank": options.rank}
    columns["recommender"] = options.recommender or None
    ignored = [*options.ignore, *(labels - {None, *read})]
    catalog = "catalog" if draw or options.catalog is None else options.catalog
    ranks = read_ranks(options.ranks, catalog=catalog, **columns, ignore=ignored)
    if options.ties:
        rng = as_generator(options.seed)  # one for all recommenders: ties break independently
        ranks = {name: given.break_ties(options.ties, rng=rng) for name, given in ranks.items()}
    if options.catalog is not None and draw:
        size = as_integer("--catalog", options.catalog)
        ranks = {name: _as_sample(name, given, draw, size) for name, given in ranks.items()}
    return evaluate(
        ranks,
        options.metrics,
        draw,
        groups=_by_user(options, "group"),
        clusters=_by_user(options, "clusters"),
        n_items=options.items if draw is None else None,
        confidence=options.confidence,
    )


def _as_sample(name: str, ranks: Ranks, draw: Draw, catalog: int) -> Ranks:
    """Say of ranks that they are among so many sampled items."""
    from sampled_metrics.ranks import check_sampled

    check_sampled(name, ranks, draw.n_samples)
    n = ranks.n_relevant + draw.n_samples
    if ranks.catalog is not None and (ranks.catalog != catalog).any():
        raise ValueError(f"--catalog is {catalog}, and {name} is of another catalog in the file")
    return ranks.replaced(n_items=n, catalog=catalog + 0 * n)


def _draw(options: Any) -> Draw | None:
    from sampled_metrics.sampling import Draw

    if options.samples is None:
        if options.without_replacement:
            raise ValueError("--without-replacement is given without --samples; give both")
        return None
    replacement = not options.without_replacement
    return Draw(options.samples, n_items=getattr(options, "items", None), replacement=replacement)


def _by_user(options: Any, name: str) -> dict[Any, Any] | None:
    """Return each user's group or cluster: what the column that this option names says of it."""
    from sampled_metrics.io import open_table

    if (column := getattr(options, name, None)) is None:
        return None
    table = open_table("ranks", options.ranks, {"user": options.user, name: column})
    columns = table.ids("user"), table.ids(name)
    users, labels = (ids.names[ids.codes].tolist() for ids in columns)
    found: dict[Any, Any] = {}
    for user, label in zip(users, labels, strict=True):
        if found.setdefault(user, label) != label:
            both = f"user {user} has the {name} {found[user]} and {label}"
            raise ValueError(f"{options.ranks}: {both}; give each user one")
    return found


def _evaluate(options: Any) -> pd.DataFrame | str:
    found = _evaluation(options)
    if options.group:
        return found.by_group
    if options.format == "latex":
        return found.to_latex()
    return str(found) if options.format == "table" else found.table


def _compare(options: Any) -> pd.DataFrame:
    found = _evaluation(options)
    is_drawn = options.samples and (found.table["estimator"] == "exact").any()
    return found.orders() if is_drawn else found.comparisons(rng=options.seed)


def _bounds(options: Any) -> pd.DataFrame:
    options.items = None
    table = _evaluation(options).table
    if (table["estimator"] == "exact").any():
        raise ValueError(f"{options.ranks} does not say of what its ranks are a sample: --catalog")
    if not (table["estimator"] == "bounds").any():
        many = f"{options.ranks} has users with several relevant items"
        raise ValueError(f"{many}; bounds are for one each")
    columns = ["recommender", "metric", "low", "high", "users"]
    found = table.loc[table["estimator"] == "bounds", columns].reset_index(drop=True)
    if (empty := found[found["low"].isna()]).size:
        names = ", ".join(empty["recommender"].unique())
        finding = "no ranks explain the sample; it was not drawn as the options say"
        print(f"sampled-metrics: {names}: {finding}", file=sys.stderr)
    return found


def _explain(options: Any) -> pd.DataFrame | str:
    from sampled_metrics.bounds import explain

    numbers = [*options.values, *(options.other or [])]
    if len({decimals for _, decimals in numbers}) > 1:
        raise ValueError("the numbers have different decimals; give all as they are printed")
    draw = _draw(options)
    assert draw is not None, "--samples is required"
    of = [value for value, _ in options.values]
    others = options.other and [value for value, _ in options.other]
    more = {"n_users": options.users, "decimals": numbers[0][1]}
    found: Explanation | Explanations
    if len(of) == len(others or of) == 1:  # the text of one number is shorter
        other = others and others[0]
        found = explain(options.metrics[0], of[0], draw, other=other, **more)
    else:
        found = explain(options.metrics, of, draw, other=others, **more)
    return str(found) if options.format == "table" else found.to_frame()


def _p_value(p: float) -> str:
    """Return a p-value as it is printed."""
    return "$<$ .001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def _show(result: pd.DataFrame | str | None, options: Any) -> None:
    """Print a result in the form that was asked for."""
    if result is None:
        return
    if isinstance(result, str):
        text = result
    elif options.format == "csv":
        text = result.to_csv(index=False)
    elif options.format == "json":
        text = result.to_json(orient="records", indent=2)
    elif options.format == "latex":
        p_values = [name for name in result.columns if name.startswith("p_")]
        forms = dict.fromkeys(p_values, _p_value)
        text = result.to_latex(index=False, escape=True, float_format="%.4f", formatters=forms)
    else:
        text = result.to_string(index=False, float_format=lambda x: f"{x:.4g}")
    print(text.rstrip("\n"))
