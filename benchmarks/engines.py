"""What does the typical call cost in DuckDB? Ours beside hand-written SQL, in one run.

    python benchmarks/engines.py                 # ten million rows, some five minutes
    python benchmarks/engines.py --csv book/data/engines_cost.csv   # and writes what the book has
    python benchmarks/engines.py --smoke         # a tiny size, to see that it runs

Ids are strings, and the relevant items and the exclusions are in files of their own: 100 candidates
of each user, of which one to five are relevant and ten excluded. Each way is a process of its own
with two threads: from the files to (rank, ties, candidates) of each relevant item, then the sums of
these three, which must agree. The SQL is the fastest of three that we wrote, and trusts its input;
so does pandas, which sorts, and is timed in the first turn only. Ratios are of processor time, the
median over interleaved turns; the peak is of the process, the largest of all turns.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

GOALS = {"ours, unique": 1.5, "ours": 2.0}  # times the SQL, and no more memory
THREADS = 2
SUMS = "sum(rank), sum(n_tied), sum(n_items)"


def connect(folder):
    import duckdb

    connection = duckdb.connect(config={"threads": THREADS})
    connection.execute("SET preserve_insertion_order = false")
    for name in ("scores", "relevant", "exclude"):
        if (path := Path(folder, f"{name}.parquet")).exists():
            connection.read_parquet(str(path)).create_view(name)
    return connection


def make_data(rows, folder):
    connection = connect(folder)
    connection.execute(f"""
        CREATE TABLE rows AS
        SELECT format('A{{:013d}}', hash(u) % 10_000_000_000_000) AS "user",
            format('B{{:09d}}', (hash(u) % 9901 + i * 97) % 9901 * 7919) AS item,
            (hash(u * 100 + i) % 10007 / 10007)::FLOAT AS score, u, i
        FROM range({rows // 100}) AS t(u), range(100) AS s(i)""")
    for name, query in {
        "scores": 'SELECT "user", item, score FROM rows',
        "relevant": 'SELECT "user", item FROM rows WHERE i <= hash(u * 7) % 5',
        "exclude": 'SELECT "user", item FROM rows WHERE i >= 90',
    }.items():
        connection.execute(f"COPY ({query}) TO '{folder}/{name}.parquet'")


def by_hand(folder):
    return (
        connect(folder)
        .execute(f"""
        WITH wanted AS (
            SELECT "user", item, score FROM scores JOIN relevant USING ("user", item)),
        candidates AS (SELECT "user", score FROM scores ANTI JOIN exclude USING ("user", item))
        SELECT {SUMS} FROM (
            SELECT 1 + count(*) FILTER (c.score > w.score) AS rank,
                count(*) FILTER (c.score = w.score) - 1 AS n_tied, count(*) AS n_items
            FROM wanted AS w JOIN candidates AS c ON c."user" = w."user"
            GROUP BY w."user", w.item)""")
        .fetchone()
    )


def ours(folder, unique=False):
    from sampled_metrics.io.engines import rank_table_from_scores

    connection = connect(folder)
    scores, relevant, exclude = map(connection.table, ("scores", "relevant", "exclude"))
    ranks = rank_table_from_scores(scores, relevant, exclude=exclude, unique=unique)
    return ranks.aggregate(SUMS).fetchall()[0]


def ours_unique(folder):
    return ours(folder, unique=True)


def by_pandas(folder):
    import pandas as pd

    tables = (pd.read_parquet(f"{folder}/{name}.parquet") for name in ("scores", "exclude"))
    candidates, key = pd.merge(*tables, how="left", indicator="there"), ["user", "item"]
    candidates = candidates[candidates.pop("there") == "left_only"]
    scores = candidates.groupby("user")["score"]
    candidates["rank"] = scores.rank(method="min", ascending=False)
    candidates["n_tied"] = scores.rank(method="max", ascending=False) - candidates["rank"]
    candidates["n_items"] = scores.transform("size")
    ranks = candidates.merge(pd.read_parquet(f"{folder}/relevant.parquet"), on=key)
    return ranks[["rank", "n_tied", "n_items"]].sum()


WAYS = {"SQL": by_hand, "ours, unique": ours_unique, "ours": ours, "pandas": by_pandas}
ONCE = ["pandas"]


def run_one(way, folder, tiny):
    WAYS[way](tiny)  # what is imported is not counted
    start = time.process_time()
    sums = WAYS[way](folder)
    seconds, status = time.process_time() - start, Path("/proc/self/status").read_text()
    peak = int(status.partition("VmHWM:")[2].split()[0]) / 1024
    print(json.dumps([seconds, peak, [int(each) for each in sums]]))


def in_its_own_process(way, folder, tiny):
    command = [sys.executable, __file__, "--one", way, folder, tiny]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{way} failed: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a tiny size")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--csv", help="a table to write the measurements to")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        return run_one(*options.one)
    rows, repeats = (10_000, 1) if options.smoke else (options.rows, options.repeats)
    found = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as tiny:
        make_data(rows, folder)
        make_data(1_000, tiny)
        for turn in range(repeats):
            for way, runs in found.items():
                if not turn or way not in ONCE:
                    runs.append(in_its_own_process(way, folder, tiny))
    assert len({tuple(sums) for runs in found.values() for *_, sums in runs}) == 1, found
    print(f"{rows:,} rows, {THREADS} threads, {repeats} turns")
    print(f"{'way':<14} {'processor, s':>12} {'ratio':>6} {'goal':>6} {'peak, MB':>9} {'ratio':>6}")
    most = {way: max(peak for _, peak, _ in runs) for way, runs in found.items()}
    machine = f"two threads of a server ({platform.machine()}) with {os.cpu_count()} cores"
    lines = ["rows,way,processor_seconds,ratio,peak_mb,turns,machine\n"]
    for way, runs in found.items():
        turns = zip(runs, found["SQL"], strict=False)  # not all have as many
        ratio = statistics.median(own[0] / max(other[0], 0.01) for own, other in turns)
        goal = f"{GOALS[way]:.1f}" if way in GOALS else ""
        least, peak = min(run[0] for run in runs), most[way]
        print(
            f"{way:<14} {least:>12.2f} {ratio:>6.2f} {goal:>6} "
            f"{peak:>9,.0f} {peak / most['SQL']:>6.2f}"
        )
        name = way.replace(", ", "-")
        lines.append(f"{rows},{name},{least:.3g},{ratio:.3g},{peak:.3g},{len(runs)},{machine}\n")
    if options.csv:
        Path(options.csv).write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
