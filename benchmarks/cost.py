"""What does an exact evaluation cost, and what a sampled one? Processor seconds per user.

    python benchmarks/cost.py            # some five minutes and 4 GB; writes book/data/cost.csv
    python benchmarks/cost.py --smoke    # a tiny size, to see that it runs; writes nothing

A model of 64 factors in single precision scores n items, from a thousand to ten million.
"exact" is `Ranks.from_model`: score all items for a block of users in one product, and count.
"product" is that matrix product alone. "sampled" draws m items for each user, with replacement,
gathers their factors, scores them and counts; "draw" and "gather" are its first two steps alone.
All on one core: what counts is the time that the processor worked for us, not what it did for
others. Of several block sizes the fastest counts, of interleaved repeats the shortest time.
The ratio is the time of "exact" over that of "sampled" with 100 samples.
"""

import argparse
import os
import platform
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from sampled_metrics import Ranks, Split

TABLE = Path(__file__).parents[1] / "book" / "data" / "cost.csv"
N_FACTORS = 64
BLOCKS = {"exact": (16, 64, 256), "sampled": (4, 16, 64)}
MAX_SCORES = 2**27  # of a block, as in Ranks.from_model
ONE_CORE = {  # NumPy's libraries read this when they are loaded
    f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "MKL", "OMP", "VECLIB_MAXIMUM")
}


class Factors:
    def __init__(self, n_users, n_items):
        rng = np.random.default_rng(0)
        self.users = rng.standard_normal((n_users, N_FACTORS), dtype=np.float32)
        self.items = rng.standard_normal((n_items, N_FACTORS), dtype=np.float32)

    def scores(self, users):
        return self.users[users] @ self.items.T


def product(model, block):
    for start in range(0, len(model.users), block):
        model.scores(np.arange(start, min(start + block, len(model.users))))


def exact(model, split, block):
    return Ranks.from_model(model, split, block_size=block, progress=False)


def sampled(model, held_out, m, block, rng, steps=3):
    """Rank held-out items among m drawn ones; with fewer steps, only draw, or draw and gather."""
    n_users, n_items = len(model.users), len(model.items)
    ranks = np.empty(n_users, dtype=np.int64)
    for start in range(0, n_users, block):
        users = model.users[start : start + block, :, None]
        drawn = rng.integers(n_items, size=(len(users), m))
        if steps > 1:
            gathered = model.items.take(drawn, axis=0)
        if steps > 2:
            target = (model.items[held_out[start : start + block], None] @ users)[..., 0]
            ranks[start : start + block] = 1 + ((gathered @ users)[..., 0] > target).sum(axis=1)
    return ranks


def shortest(tasks, repeats):
    """Run every task once per round, so that a busy spell of the machine hits all alike."""
    times = dict.fromkeys(tasks, np.inf)
    for _ in range(repeats):
        for name, task in tasks.items():
            start = time.process_time()
            task()
            times[name] = min(times[name], time.process_time() - start)
    return times


def measure(n_items, samples, n_users, repeats):
    """Yield task, number of samples, and seconds per user."""
    model = Factors(n_users, n_items)
    rng = np.random.default_rng(1)
    held_out = rng.integers(n_items, size=n_users)
    users = np.arange(n_users)
    split = Split.from_pairs([], [], users, held_out, n_users=n_users, n_items=n_items)
    tasks = {}
    for block in BLOCKS["exact"]:
        if block == BLOCKS["exact"][0] or block * n_items <= MAX_SCORES:
            some = min(block, MAX_SCORES // n_items)
            tasks["exact", 0, block] = partial(exact, model, split, some)
            tasks["product", 0, block] = partial(product, model, some)
    for m in samples:
        for block in BLOCKS["sampled"]:
            for steps, name in enumerate(("draw", "gather", "sampled"), start=1):
                tasks[name, m, block] = partial(sampled, model, held_out, m, block, rng, steps)
    times = shortest(tasks, repeats)
    for name, m in dict.fromkeys((name, m) for name, m, _ in tasks):
        yield name, m, min(t for key, t in times.items() if key[:2] == (name, m)) / n_users


def processor():
    """Return the name of the processor, as well as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a tiny size")
    smoke = parser.parse_args().smoke
    sizes = (1000,) if smoke else (10**3, 3706, 10**4, 10**5, 10**6, 10**7)
    samples = (100,) if smoke else (100, 1000)
    machine = f"{processor()}; one core; NumPy {np.__version__}"
    print(machine)
    rows = []
    for n_items in sizes:
        n_users = int(np.clip(10**9 // n_items, 16, 16 if smoke else 512))
        repeats = 1 if smoke else 10 if n_items <= 10**5 else 4
        times = {(name, m): t for name, m, t in measure(n_items, samples, n_users, repeats)}
        rows += [
            (machine, n_items, N_FACTORS, name, m, f"{t:.3e}") for (name, m), t in times.items()
        ]
        line = ", ".join(
            f"{name} {m or ''}".strip() + f" {1e6 * t:,.1f}" for (name, m), t in times.items()
        )
        ratio = times["exact", 0] / times["sampled", 100]
        print(f"n = {n_items:,}: {line} microseconds; ratio {ratio:,.2f}", flush=True)
    if not smoke:
        columns = ["machine", "n_items", "n_factors", "task", "n_samples", "seconds_per_user"]
        table = pd.DataFrame(rows, columns=columns)
        table.to_csv(TABLE, index=False, lineterminator="\n")
        print(f"{len(rows)} rows in {TABLE.name}")


if __name__ == "__main__":
    if ONE_CORE.items() <= os.environ.items():
        main()
    else:
        sys.exit(subprocess.run([sys.executable, *sys.argv], env=os.environ | ONE_CORE).returncode)
