"""What does ranking cost beyond the scores? `Ranks.from_model` over the bare matrix product.

    python benchmarks/exact_ranks.py            # 1,000 to 500,000 items: about three minutes
    python benchmarks/exact_ranks.py --smoke    # a tiny size, to see that it runs

The bare product makes the same float32 scores, block of users by block, and does nothing with
them; of several block sizes the fastest counts. Times are the shortest of interleaved repeats.

"new arrays": every block is a new array, as `users @ items.T` makes it.
"one buffer": every block is written over the last one, in both. This spares the operating system
the handing out of fresh memory, so it shows the largest share that ranking can have. The goals
are for this case.
"""

import argparse
import time
import tracemalloc
from functools import partial

import numpy as np
from threadpoolctl import threadpool_info

from sampled_metrics import Ranks, Split

BLOCK_SIZES = (64, 128, 256, 1024)
# n_users, n_items, d, and the largest ratio that is good enough
CASES = (
    (16_384, 1_000, 64, 2.0),
    (8_192, 10_000, 64, None),
    (1_024, 500_000, 16, None),
    (1_024, 500_000, 64, 1.15),
    (1_024, 500_000, 128, 1.15),
)


class Factors:
    def __init__(self, n_users, n_items, n_factors, one_buffer):
        rng = np.random.default_rng(0)
        self.users = rng.standard_normal((n_users, n_factors), dtype=np.float32)
        self.items = rng.standard_normal((n_items, n_factors), dtype=np.float32)
        self.buffer = np.empty((0, n_items), dtype=np.float32) if one_buffer else None

    def scores(self, users):
        if self.buffer is not None and len(users) > len(self.buffer):
            self.buffer = np.empty((len(users), len(self.items)), dtype=np.float32)
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
        np.repeat(users, n_events - 1),
        items[:, 1:].ravel(),
        users,
        items[:, 0],
        n_users=n_users,
        n_items=n_items,
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
    Ranks.from_model(model, split, progress=False)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return peak


def print_case(n_users, n_items, d, goal, repeats):
    split = synthetic_split(n_users, n_items)
    for one_buffer in (False, True):
        model = Factors(n_users, n_items, d, one_buffer)
        sizes = [b for b in BLOCK_SIZES if b * n_items <= 2**27]
        tasks = {b: partial(bare_product, model, n_users, b) for b in sizes}
        tasks["ranks"] = partial(Ranks.from_model, model, split, progress=False)
        times = shortest_times(tasks, repeats)
        ranks = times.pop("ranks")
        best = min(times, key=times.get)
        wanted = f"< {goal}" if one_buffer and goal else ""
        memory = "one buffer" if one_buffer else "new arrays"
        print(
            f"{n_users:>7,} {n_items:>8,} {d:>4} {memory:>11} "
            f"{times[best]:>8.3f} s (b={best:>4}) {ranks:>10.3f} s {ranks / times[best]:>6.2f} "
            f"{wanted:>7}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a tiny size")
    smoke = parser.parse_args().smoke
    for library in threadpool_info():
        kind = library.get("architecture", "")
        print(f"{library['prefix']} {kind}, {library['num_threads']} threads")
    print(
        f"{'users':>7} {'items':>8} {'d':>4} {'memory':>11} {'bare product':>19} "
        f"{'exact_ranks':>12} {'ratio':>6} {'goal':>7}"
    )
    for case in ((64, 5_000, 16, None),) if smoke else CASES:
        print_case(*case, repeats=1 if smoke else 5)
    n_users, n_items = (64, 5_000) if smoke else (1_024, 500_000)
    model = Factors(n_users, n_items, 16, one_buffer=False)
    fewer, all_users = (synthetic_split(n, n_items) for n in (n_users // 4, n_users))
    print(
        f"peak memory: {peak_memory(model, fewer):,.1f} MB for {n_users // 4:,} "
        f"users, {peak_memory(model, all_users):,.1f} MB for {n_users:,} users; "
        f"users x items would be {4e-6 * n_users * n_items:,.1f} MB"
    )


if __name__ == "__main__":
    main()
