"""What does a fit cost, for how many items and samples? Beside the plain sums over all ranks.

    python benchmarks/corrections.py            # a few minutes
    python benchmarks/corrections.py --smoke    # a tiny size, to see that it runs

The estimator is bias-variance with gamma = 0.1, of average precision without a cutoff, for which
all ranks count. "all ranks" writes down equation 25 with a row per rank and solves it; it is left
out where its matrix would have more than 400 MB. The ratio is its time over ours; "differ" is the
largest difference of the two tables, relative to the largest estimate. Times are the shortest of
interleaved repeats. The last column is the time of our fit over that of the smallest n.
"""

import argparse
import time

import numpy as np

from sampled_metrics import AveragePrecision, BiasVariance, Draw

METRIC, GAMMA = AveragePrecision(), 0.1
LARGEST = 400e6


def all_ranks(n, m):
    ranks = np.arange(1, n + 1)
    p = Draw(m, n_items=n).pmf(ranks)
    matrix = (1 - GAMMA) * p.T @ p + GAMMA * np.diag(p.sum(axis=0))
    return np.linalg.solve(matrix, p.T @ METRIC(ranks))


def ours(n, m):
    return BiasVariance(GAMMA).fit(METRIC, Draw(m, n_items=n)).values


def shortest(tasks, repeats):
    times = dict.fromkeys(tasks, np.inf)
    for _ in range(repeats):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            times[name] = min(times[name], time.perf_counter() - start)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a tiny size")
    smoke = parser.parse_args().smoke
    samples, items = ((10,), (10**3,)) if smoke else ((10, 100, 1000), 10 ** np.arange(3, 10))
    print(
        f"{'m':>5} {'n':>13} {'fit':>10} {'all ranks':>10} {'ratio':>7} {'differ':>8} {'growth':>7}"
    )
    for m in samples:
        first = None
        for n in map(int, items):
            tasks = {"fit": lambda n=n, m=m: ours(n, m)}
            if dense := 8 * n * (m + 1) <= LARGEST:
                tasks["all"] = lambda n=n, m=m: all_ranks(n, m)
            times = shortest(tasks, repeats=1 if smoke else 5)
            first = first or times["fit"]
            line = f"{m:>5} {n:>13,} {1e3 * times['fit']:>7.1f} ms"
            if dense:
                want = all_ranks(n, m)
                differ = np.abs(ours(n, m) - want).max() / np.abs(want).max()
                ratio = times["all"] / times["fit"]
                line += f" {1e3 * times['all']:>7.0f} ms {ratio:>7.1f} {differ:>8.0e}"
            else:
                line += " " * 28
            print(f"{line} {times['fit'] / first:>7.2f}", flush=True)


if __name__ == "__main__":
    main()
