"""What does ranking cost beyond the scores? `exact_ranks` over the bare matrix product.

    python benchmarks/exact_ranks.py            # 1,024 users, 500,000 items: about three minutes
    python benchmarks/exact_ranks.py --smoke    # a tiny size, to see that it runs

The bare product makes the same float32 scores, block of users by block, and does nothing with
them; of several block sizes the fastest counts. Times are the shortest of interleaved repeats.

"new arrays": every block is a new array, as `users @ items.T` makes it.
"one buffer": every block is written over the last one, in both. This spares the operating system
the handing out of fresh memory, so it shows the largest share that ranking can have.
"""

import argparse
import time
import tracemalloc
from functools import partial

import numpy as np

from sampled_metrics.movielens import Split
from sampled_metrics.ranking import exact_ranks

BLOCK_SIZES = (64, 128, 256)


class Factors:
    def __init__(self, n_users, n_items, n_factors, one_buffer):
        rng = np.random.default_rng(0)
        self.users = rng.standard_normal((n_users, n_factors), dtype=np.float32)
        self.items = rng.standard_normal((n_items, n_factors), dtype=np.float32)
        shape = (min(n_users, max(BLOCK_SIZES)), n_items)
        self.buffer = np.empty(shape, dtype=np.float32) if one_buffer else None

    def scores(self, users):
        out = None if self.buffer is None else self.buffer[: len(users)]
        return np.matmul(self.users[users], self.items.T, out=out)


def bare_product(model, n_users, block_size):
    for start in range(0, n_users, block_size):
        model.scores(np.arange(start, min(start + block_size, n_users)))


def synthetic_split(n_users, n_items, n_events=100):
    """Return events at random items: the last of each user is held out."""
    rng = np.random.default_rng(1)
    items = np.stack([rng.choice(n_items, n_events, replace=False) for _ in range(n_users)])
    users = np.arange(n_users)
    return Split.from_pairs(
        np.repeat(users, n_events - 1), items[:, 1:].ravel(), users, items[:, 0], n_users, n_items
    )


def shortest_times(tasks, repeats):
    """Run every task once per round, so that a busy spell of the machine hits all alike."""
    times = {name: np.inf for name in tasks}
    for _ in range(repeats):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            times[name] = min(times[name], time.perf_counter() - start)
    return times


def peak_memory(model, split):
    """Return the most memory in MB that ranking held at once, the model's own left out."""
    tracemalloc.start()
    exact_ranks(model, split, progress=False)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return peak


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a tiny size")
    smoke = parser.parse_args().smoke
    n_users, n_items, dimensions = (64, 5_000, (16,)) if smoke else (1024, 500_000, (16, 64, 128))
    split = synthetic_split(n_users, n_items)
    print(f"{n_users:,} users, {n_items:,} items, float32")
    print(f"{'d':>4} {'memory':>11} {'bare product':>20} {'exact_ranks':>12} {'ratio':>6}")
    for d in dimensions:
        for one_buffer in (False, True):
            model = Factors(n_users, n_items, d, one_buffer)
            tasks = {b: partial(bare_product, model, n_users, b) for b in BLOCK_SIZES}
            tasks["ranks"] = partial(exact_ranks, model, split, progress=False)
            times = shortest_times(tasks, repeats=1 if smoke else 5)
            ranks = times.pop("ranks")
            best = min(times, key=times.get)
            print(
                f"{d:>4} {'one buffer' if one_buffer else 'new arrays':>11} "
                f"{times[best]:>9.3f} s (b={best:>3}) {ranks:>10.3f} s {ranks / times[best]:>6.2f}",
                flush=True,
            )
    model = Factors(n_users, n_items, 16, one_buffer=False)
    fewer = synthetic_split(n_users // 4, n_items)
    print(
        f"peak memory of exact_ranks: {peak_memory(model, fewer):,.1f} MB for {n_users // 4:,} "
        f"users, {peak_memory(model, split):,.1f} MB for {n_users:,} users; "
        f"users x items would be {4e-6 * n_users * n_items:,.1f} MB"
    )


if __name__ == "__main__":
    main()
