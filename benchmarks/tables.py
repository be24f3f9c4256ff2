"""How fast do tables of scored candidates become ranks? Ours in DuckDB beside others, in one run.

    python benchmarks/tables.py                  # ten million rows, some three minutes
    python benchmarks/tables.py --rows 100_000_000 --only ours ours-unique DuckDB
    python benchmarks/tables.py --smoke          # a tiny size, to see that it runs

A parquet file of (user, item, score, relevance), 100 candidates and one to five relevant items per
user, float32 scores of which some tie. Each way is a process of its own with two threads: from the
file to (rank, ties, candidates) of each relevant item, then the sums of these three, which must
agree. Times are the least of interleaved runs, after a run on a tiny file; the peak is the memory
of the process (of Spark, of its Java). The ratio is the processor time of the bare DuckDB
statement over theirs, since other work on the machine changes the seconds: above 1 they are faster.

"ours" looks for pairs of user and item that are there twice, as nothing else does; "ours-unique" is
told that there are none. "values" goes on from there to five metrics per user. Spark and its
RankingMetrics run where pyspark is installed, with Java from JAVA_HOME.
"""

import argparse
import importlib.util
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

GOALS = {"ours-unique": 1 / 1.3}  # the ratio; at 10^8 rows also 6 s and 500 MB
THREADS = 2
PER_USER = 100


def make_data(rows, path):
    import duckdb

    duckdb.execute(f"SET threads = {THREADS}")
    duckdb.execute(f"""
        COPY (
            SELECT u::INTEGER AS "user", ((hash(u) % 9901 + i * 97) % 9901)::INTEGER AS item,
                (hash(u * 100 + i) % 10007 / 10007)::FLOAT AS score,
                i <= hash(u * 7) % 5 AS relevance
            FROM range({rows // PER_USER}) AS t(u), range({PER_USER}) AS s(i)
        ) TO '{path}' (FORMAT parquet)""")


def relation(path):
    import duckdb

    connection = duckdb.connect(config={"threads": THREADS})
    connection.execute("SET preserve_insertion_order = false")
    return connection, connection.read_parquet(path)


def sums_of(table):
    return table.aggregate("sum(rank), sum(n_tied), sum(n_items)").fetchall()[0]


def bare_duckdb(path):
    """The statement that one writes by hand; it trusts its input."""
    connection, _ = relation(path)
    return connection.execute(f"""
        WITH wanted AS (SELECT "user", item, score FROM '{path}' WHERE relevance),
        ranks AS (
            SELECT 1 + count(*) FILTER (c.score > w.score) AS rank,
                count(*) FILTER (c.score = w.score) - 1 AS n_tied, count(*) AS n_items
            FROM wanted AS w JOIN '{path}' AS c ON c."user" = w."user"
            GROUP BY w."user", w.item)
        SELECT sum(rank), sum(n_tied), sum(n_items) FROM ranks""").fetchone()


def ours(path, unique=False):
    from sampled_metrics.io.engines import rank_table_from_scores

    return sums_of(rank_table_from_scores(relation(path)[1], unique=unique))


def ours_unique(path):
    return ours(path, unique=True)


def values(path):
    from sampled_metrics.io.engines import rank_table_from_scores, values_per_user

    connection, scores = relation(path)
    rank_table_from_scores(scores, unique=True).to_table("ranks")
    table = connection.table("ranks")
    values_per_user(table, five_metrics(), ties="optimistic").aggregate(
        "avg(COLUMNS(*))"
    ).fetchall()
    return sums_of(table)


def five_metrics():
    from sampled_metrics import (
        NDCG,
        AveragePrecision,
        Precision,
        Recall,
        ReciprocalRank,
    )

    return [Precision(10), Recall(10), AveragePrecision(10), ReciprocalRank(10), NDCG(10)]


def polars(path):
    import polars as pl

    table = pl.scan_parquet(path)
    wanted = table.filter("relevance").select("user", "item", own="score")
    above, tied = pl.col("score") > pl.col("own"), pl.col("score") == pl.col("own")
    ranks = (
        wanted.join(table.select("user", "score"), on="user")
        .group_by("user", "item")
        .agg(rank=1 + above.sum(), n_tied=tied.sum() - 1, n_items=pl.len())
    )
    return (
        ranks.select(pl.col("rank", "n_tied", "n_items").sum()).collect(engine="streaming").row(0)
    )


def pandas(path):
    import pandas as pd

    table = pd.read_parquet(path)
    scores = table.groupby("user")["score"]
    table["rank"] = scores.rank(method="min", ascending=False)
    table["n_tied"] = scores.rank(method="max", ascending=False) - table["rank"]
    table["n_items"] = scores.transform("size")
    return table.loc[table["relevance"], ["rank", "n_tied", "n_items"]].sum().tolist()


def session():
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{THREADS}]").config("spark.ui.enabled", "false")
    made = builder.config("spark.driver.memory", "4g").getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    return made


def spark(path):
    from pyspark.sql import functions

    from sampled_metrics.io.engines import rank_table_from_scores

    ranks = rank_table_from_scores(session().read.parquet(path), unique=True)
    return list(ranks.agg(*map(functions.sum, ("rank", "n_tied", "n_items"))).first())


def ranking_metrics(path):
    """Spark's own metrics take sorted lists of items, and break ties somehow."""
    from pyspark.mllib.evaluation import RankingMetrics
    from pyspark.sql import functions as f

    table = session().read.parquet(path)
    pair = f.struct(-f.col("score"), "item")
    lists = table.groupBy("user").agg(
        f.transform(f.array_sort(f.collect_list(pair)), lambda each: each["item"].cast("double")),
        f.collect_list(f.when(f.col("relevance"), f.col("item").cast("double"))),
    )
    metrics = RankingMetrics(lists.drop("user").rdd.map(tuple))
    for name in ("precision", "recall", "meanAveragePrecision", "ndcg"):
        getattr(metrics, f"{name}At")(10)


WAYS = {
    "DuckDB": bare_duckdb,
    "ours-unique": ours_unique,
    "ours": ours,
    "values": values,
    "polars": polars,
    "pandas": pandas,
    "Spark, ours": spark,
    "Spark MLlib": ranking_metrics,
}


def spent(way):
    """Processor seconds and most memory in MB so far, of Spark those of its Java; Linux counts."""
    process = "self"
    if way.startswith("Spark"):
        process = session()._jvm.java.lang.ProcessHandle.current().pid()
    status = Path(f"/proc/{process}/status")
    if not status.exists():
        return time.process_time(), float("nan")
    peak = int(status.read_text().partition("VmHWM:")[2].split()[0]) / 1024
    ticks = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"), peak


def run_one(way, path, tiny):
    WAYS[way](tiny)
    (before, _), start = spent(way), time.perf_counter()
    sums = WAYS[way](path)
    seconds, (after, peak) = time.perf_counter() - start, spent(way)
    found = [seconds, after - before, peak, sums and [int(each) for each in sums]]
    print(json.dumps(found))


def in_its_own_process(way, path, tiny):
    command = [sys.executable, __file__, "--one", way, str(path), str(tiny)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{way} failed: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(ways, path, tiny, repeats):
    """Return the least time, processor time and peak of each way, whose sums must agree."""
    best, expected = {}, None
    for _ in range(repeats):
        for way in ways:
            *found, sums = in_its_own_process(way, path, tiny)
            best[way] = list(map(min, best.get(way, found), found))
            expected = expected or sums
            assert sums in (None, expected), (way, sums, expected)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a tiny size")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--csv", help="a table to which the measurements are added")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        return run_one(*options.one)
    spark_is_there = importlib.util.find_spec("pyspark") is not None
    ways = [way for way in options.only if "Spark" not in way or spark_is_there]
    rows, repeats = (10_000, 1) if options.smoke else (options.rows, options.repeats)
    with tempfile.TemporaryDirectory() as folder:
        path, tiny = Path(folder, "scores.parquet"), Path(folder, "tiny.parquet")
        make_data(rows, path)
        make_data(1_000, tiny)
        best = measure(["DuckDB", *(way for way in ways if way != "DuckDB")], path, tiny, repeats)
    print(f"{rows:,} rows, {THREADS} threads; not run:", ", ".join(WAYS.keys() - best) or "none")
    print(
        f"{'way':<14} {'seconds':>8} {'rows a second':>14} {'processor':>9} {'peak, MB':>9} "
        f"{'ratio':>6} {'goal':>6}"
    )
    for way, (seconds, processor, peak) in best.items():
        goal = f"> {GOALS[way]:.2f}" if way in GOALS else ""
        print(
            f"{way:<14} {seconds:>8.2f} {rows / seconds:>14,.0f} {processor:>9.2f} {peak:>9,.0f} "
            f"{best['DuckDB'][1] / max(processor, 0.01):>6.2f} {goal:>6}"
        )
    if options.csv:
        write(options.csv, rows, best)


def write(path, rows, best):
    """Add the measurements to a table, as the book reads it."""
    header = "rows,way,seconds,processor_seconds,peak_mb,machine\n"
    cores = f"two threads of a server ({platform.machine()}) with {os.cpu_count()} cores"
    lines = [
        f"{rows},{way.replace(',', '')},{a:.3g},{b:.3g},{c:.3g},{cores}\n"
        for way, (a, b, c) in best.items()
    ]
    with open(path, "a", encoding="utf-8") as file:
        file.writelines([header] * (file.tell() == 0) + lines)


if __name__ == "__main__":
    main()
