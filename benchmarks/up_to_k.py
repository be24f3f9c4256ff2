"""What do exact ranks up to k cost? All scores, the bare product and samples over `up_to=k`.

    python benchmarks/up_to_k.py            # 1,000 to 1,000,000 items: about an hour
    python benchmarks/up_to_k.py --smoke    # a tiny size, to see that it runs
    python benchmarks/up_to_k.py --parts book/data/up_to_k_parts.csv

All ways take the same float32 vectors and one held-out item for each user, with 50 training items
that are no candidates. Each ratio is the time of another way over that of `Ranks.from_model(
InnerProduct(users, items), split, up_to=k)`, set-up included; above 1, ours is faster.

product      the bare product of all vectors, in blocks over one buffer: nothing is done with it
counted      the same, and above and level are counted: `Ranks.from_model` of all scores
sample       100 random items for each user, their vectors gathered and multiplied all at once
faiss, implicit   top k + 50 of all items by an index of faiss, or by implicit (where importable)

"spread": lengths of items fall like a power of their rank, as those of a matrix factorization
do, and held-out items are drawn by popularity. "equal": all lengths are 1. Each user's vector is
moved towards the held-out item's, so that the share of hits is as in real data. Times are processor
time, the shortest of interleaved repeats, so that other work on the machine disturbs them little; a
way that would take minutes is timed for a part of the users, in proportion.

"--parts" measures ours alone, on one core and with "spread" lengths, up to the largest catalog that
fits: set-up of a catalog, once per call, and each user after it. It takes minutes and 8 GB.
"""

import argparse
import platform
import time
from functools import partial

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from sampled_metrics import InnerProduct, Ranks, Split

N_TRAIN, N_SAMPLES, BLOCK = 50, 100, 256
MOST = 10**9  # scores that a way may compute; a part of the users is enough for more
# n_users, n_items, d
CASES = (
    (20_000, 1_000, 64),
    (20_000, 20_000, 16),
    (20_000, 20_000, 64),
    (20_000, 20_000, 512),
    (20_000, 500_000, 64),
    (20_000, 1_000_000, 64),
)


def made(n_users, n_items, d, kind):
    """Return vectors of users and items, and a split whose held-out items are often hits."""
    rng = np.random.default_rng(0)
    users = rng.standard_normal((n_users, d), dtype=np.float32)
    items = rng.standard_normal((n_items, d), dtype=np.float32)
    items /= np.linalg.norm(items, axis=1, keepdims=True)
    popular = 1 / np.arange(1, n_items + 1) ** 0.7
    events = rng.choice(n_items, (n_users, N_TRAIN + 1), p=popular / popular.sum())
    held_out = events[:, 0]
    # A user likes the held-out item: by how much decides at which rank it is.
    users += rng.gamma(2, 0.7, (n_users, 1)).astype(np.float32) * items[held_out]
    if kind == "spread":
        items *= (popular**0.4)[:, None].astype(np.float32)
    rows = np.repeat(np.arange(n_users), N_TRAIN)
    seen = events[:, 1:].ravel()
    keep = seen != np.repeat(held_out, N_TRAIN)
    split = Split.from_pairs(
        rows[keep], seen[keep], np.arange(n_users), held_out,
        n_users=n_users, n_items=n_items, repeated="first",
    )  # fmt: skip
    return users, items, split


class Buffered:
    """All scores of some users, each block written over the last one."""

    def __init__(self, users, items):
        self.users, self.items = users, items
        self.buffer = np.empty((BLOCK, len(items)), dtype=np.float32)

    def scores(self, users):
        return np.matmul(self.users[users], self.items.T, out=self.buffer[: len(users)])

    def all_of(self, n_users):
        for start in range(0, n_users, BLOCK):
            self.scores(np.arange(start, min(start + BLOCK, n_users)))


def sampled(users, items, split):
    """Return the ranks among 100 items drawn for each user, training items included."""
    rng, ranks = np.random.default_rng(1), []
    for start in range(0, len(split.users), 1_000):
        own = users[split.users[start : start + 1_000], :, None]
        drawn = rng.integers(len(items), size=(len(own), N_SAMPLES))
        target = items[split.items[start : start + 1_000], None] @ own
        ranks.append(1 + np.count_nonzero(items[drawn] @ own > target, axis=1))
    return np.concatenate(ranks)


def ways_of(users, items, split, k):
    """Return what to time, and the number of users that each is timed for."""
    n_users, n_items = split.train.shape
    part = min(n_users, max(BLOCK, MOST // n_items))
    some = Split(split.train, np.arange(part), split.items[:part])
    full = Buffered(users, items)
    ways = {
        "ours": (
            lambda: Ranks.from_model(InnerProduct(users, items), split, up_to=k, progress=False),
            n_users,
        ),
        "product": (partial(full.all_of, part), part),
        "counted": (partial(Ranks.from_model, full, some, block_size=BLOCK, progress=False), part),
        "sample": (partial(sampled, users, items, split), n_users),
    }
    try:
        import faiss

        index = faiss.IndexFlatIP(items.shape[1])
        index.add(items)  # not timed: it would be counted in proportion, too
        ways["faiss"] = (partial(index.search, users[:part], min(k + N_TRAIN, n_items)), part)
    except ImportError:
        pass
    try:
        from implicit.cpu.topk import topk

        ways["implicit"] = (
            lambda: topk(items, users[:part], min(k + N_TRAIN, n_items), num_threads=0),
            part,
        )
    except ImportError:
        pass
    return ways


def shortest_times(ways, repeats):
    """Run every way once per round; of a part of the users, in proportion to all."""
    times = dict.fromkeys(ways, np.inf)
    for _ in range(repeats):
        for name, (task, n_users) in ways.items():
            start = time.process_time()
            task()
            spent = (time.process_time() - start) * ways["ours"][1] / n_users
            times[name] = min(times[name], spent)
    return times


OTHERS = ("product", "counted", "sample", "faiss", "implicit")


def print_case(n_users, n_items, d, repeats):
    for kind in ("spread", "equal"):
        users, items, split = made(n_users, n_items, d, kind)
        for k in (1, 10, 100):
            ranks = Ranks.from_model(InnerProduct(users, items), split, up_to=k)
            times = shortest_times(ways_of(users, items, split, k), repeats)
            ours = times.pop("ours")
            ratios = (f"{times[x] / ours:>9.2f}" if x in times else f"{'-':>9}" for x in OTHERS)
            print(
                f"{n_users:>7,} {n_items:>8,} {d:>4} {kind:>7} {k:>4} "
                f"{len(ranks.best) / n_users:>6.3f} {ranks.n_scores / n_users:>10,.0f} "
                f"{ours:>8.3f} s {' '.join(ratios)}",
                flush=True,
            )


def write_parts(path):
    """Write what a call costs that ranks n users: set-up + n times the rest."""
    n_users, d, k = 200_000, 64, 10  # enough for their cost to stand out from that of set-up
    machine = f"one core of a server ({platform.machine()})"
    lines = ["n_items,d,k,hits,scores_per_user,setup_seconds,seconds_per_user,machine"]
    for n_items in (10**5, 10**6, 10**7):
        users, items, split = made(n_users, n_items, d, "spread")
        spent = {1: [], n_users: []}
        for n in 3 * list(spent):
            some = Split(split.train, np.arange(n), split.items[:n])
            start = time.process_time()
            ranks = Ranks.from_model(InnerProduct(users, items), some, up_to=k, progress=False)
            spent[n].append(time.process_time() - start)
        setup = min(spent[1])
        each = (min(spent[n_users]) - setup) / n_users
        hits, scores = len(ranks.best) / n_users, ranks.n_scores / n_users
        lines.append(f"{n_items},{d},{k},{hits:.4f},{scores:.1f},{setup:.3g},{each:.3g},{machine}")
        print(lines[-1], flush=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a tiny size")
    parser.add_argument("--parts", metavar="FILE", help="write what set-up and each user cost")
    given = parser.parse_args()
    if given.parts:
        with threadpool_limits(1):
            write_parts(given.parts)
        return
    smoke = given.smoke
    for library in threadpool_info():
        kind = library.get("architecture", "")
        print(f"{library['prefix']} {kind}, {library['num_threads']} threads")
    print("ratios: the time of each way over ours")
    print(
        f"{'users':>7} {'items':>8} {'d':>4} {'lengths':>7} {'k':>4} {'hits':>6} "
        f"{'scores/user':>11} {'ours':>8} {' '.join(f'{x:>9}' for x in OTHERS)}"
    )
    for case in ((200, 2_000, 16),) if smoke else CASES:
        print_case(*case, repeats=1 if smoke else 3)


if __name__ == "__main__":
    main()
