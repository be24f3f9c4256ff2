"""Expectations, ties and fits: ours beside the plain sums of their definitions, in one run.

    python benchmarks/expectations.py            # about a minute
    python benchmarks/expectations.py --smoke    # a tiny size, to see that it runs

"definition" writes down the probabilities of all sampled ranks for every rank (or all ranks of a
tie) with SciPy, and sums. It is measured on a part of the ranks where it would take too long, and
scaled up. Times are the shortest of interleaved repeats, in processor seconds on one thread; the
ratio is its time over ours, "differ" the largest difference. Goals are those of the project.
"""

import argparse
import os
import platform
import subprocess
import sys
import time

import numpy as np
from scipy import stats

from sampled_metrics import (
    AUC,
    NDCG,
    AveragePrecision,
    BiasVariance,
    Draw,
    Ranks,
    Recall,
)
from sampled_metrics.corrections import ConstrainedLeastSquares

ONE_THREAD = {f"{lib}_NUM_THREADS": "1" for lib in ("OPENBLAS", "MKL", "OMP", "VECLIB_MAXIMUM")}
METRICS = [Recall(10), NDCG(10), AveragePrecision(), AUC()]
M = 100


def shortest(tasks, repeats):
    times = dict.fromkeys(tasks, np.inf)
    for _ in range(repeats):
        for name, task in tasks.items():
            start = time.process_time()
            task()
            times[name] = min(times[name], time.process_time() - start)
    return times


def defined(metric, ranks, n_items, replacement):
    """Return expectations by their definition."""
    h = np.arange(M + 1)
    if replacement:
        p = stats.binom.pmf(h, M, ((ranks - 1) / (n_items - 1))[:, None])
    else:
        p = stats.hypergeom.pmf(h, n_items - 1, ranks[:, None] - 1, M)
    return p @ metric(h + 1, n_items=M + 1)


def over_tie(metric, tied):
    """Return means over all ways to break ties, tie by tie."""
    rows = zip(tied.best, tied.n_tied, tied.n_items, strict=True)
    return np.array([metric(np.arange(b, b + t + 1), n_items=n).mean() for b, t, n in rows])


def report(what, goal, ours, other=None, differ=None):
    line = f"{what:<52} {ours:>8.3f} s  goal {goal:<12}"
    if other is not None:
        line += f" definition {other:>8.2f} s  ratio {other / ours:>8.0f}  differ {differ:.0e}"
    print(line, flush=True)


def expectations(size, repeats, rng):
    ranks, part = rng.permutation(size) + 1, max(1, size // 1000)
    for replacement in (True, False):
        draw = Draw(M, n_items=size, replacement=replacement)
        for metric in METRICS:
            some = ranks[:part]
            times = shortest(
                {
                    "ours": lambda m=metric, d=draw: d.expect(ranks, m),
                    "other": lambda m=metric, r=replacement, x=some: defined(m, x, size, r),
                },
                repeats,
            )
            differ = np.abs(
                draw.expect(ranks, metric)[:part] - defined(metric, some, size, replacement)
            )
            kind = "with" if replacement else "without"
            report(
                f"expected {metric}, {size:,} distinct ranks, {kind}",
                "0.2 s",
                times["ours"],
                times["other"] * size / part,
                differ.max(),
            )


def ties(size, repeats, rng):
    n_items = rng.integers(3000, 4000, size)
    best = 1 + (rng.random(size) * n_items).astype(int)
    tied = Ranks(best, np.minimum(rng.integers(0, 1000, size), n_items - best), n_items)
    part = tied[: max(1, size // 100)]
    for metric in METRICS:
        times = shortest(
            {"ours": lambda m=metric: m(tied), "other": lambda m=metric: over_tie(m, part)}, repeats
        )
        differ = np.abs(metric(part) - over_tie(metric, part)).max()
        other = times["other"] * len(tied) / len(part)
        report(
            f"{metric} over ties up to 1,000, {size:,} users", "free", times["ours"], other, differ
        )


def fits(count, repeats):
    sizes = np.arange(3000, 3000 + count)
    for estimator in (BiasVariance(0.1), ConstrainedLeastSquares()):
        times = shortest(
            {"ours": lambda e=estimator: e.fit(Recall(10), Draw(M, n_items=sizes))}, repeats
        )
        report(
            f"{type(estimator).__name__} for {count:,} numbers of items", "a few s", times["ours"]
        )
    n = 1000 * count
    prior = 1 / np.arange(1, n + 1)
    estimator = BiasVariance(0.1, prior=prior / prior.sum())
    times = shortest({"ours": lambda: estimator.fit(Recall(10), Draw(M, n_items=n))}, repeats)
    report(f"BiasVariance with a prior of {n:,} ranks", "-", times["ours"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a tiny size")
    smoke = parser.parse_args().smoke
    print(f"{platform.machine()}, one thread, NumPy {np.__version__}, m = {M}")
    rng = np.random.default_rng(0)
    repeats = 1 if smoke else 3
    expectations(10**3 if smoke else 10**6, repeats, rng)
    ties(100 if smoke else 10**5, repeats, rng)
    fits(3 if smoke else 1000, repeats)


if __name__ == "__main__":
    if ONE_THREAD.items() <= os.environ.items():
        main()
    else:
        sys.exit(
            subprocess.run([sys.executable, *sys.argv], env=os.environ | ONE_THREAD).returncode
        )
