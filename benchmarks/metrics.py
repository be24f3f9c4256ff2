"""How fast do recommended ids become metrics? Ours beside other libraries, in one run.

    python benchmarks/metrics.py            # about two minutes, 3 GB
    python benchmarks/metrics.py --smoke    # a tiny size, to see that it runs

Each user has 10 recommendations out of 1,009 items, and (a) one, (b) about ten relevant items:
from these arrays to Precision, Recall, AP, RR and NDCG at 10. "values" says which of the five a
library gave, and whether of each user or their mean only. Times are the shortest of interleaved
repeats, "with conversion" from the arrays to what the library takes. The ratio is ours over
theirs, users a second with conversion: above 1 we are faster, and that is the goal against all.
Ours looks for items that are in a list twice, which implicit and the ten lines do not. The ten
lines and implicit take lists of one length; a shorter one is padded with an item that is nobody's
label. ranx and RecTools evaluate the first 5,000 users only, so that the run stays short.

The last table has no peer: how fast each kind of input becomes ranks.

implicit is in the book's environment; the others run where they are installed:
    pip install ranx rectools recbole
"""

import argparse
import importlib
import time

import numpy as np
import pandas as pd
from scipy import sparse
from threadpoolctl import threadpool_info

from sampled_metrics import (
    NDCG,
    AveragePrecision,
    Precision,
    Ranks,
    Recall,
    ReciprocalRank,
)

N_ITEMS = 1_009
K = 10
METRICS = [Precision(K), Recall(K), AveragePrecision(K), ReciprocalRank(K), NDCG(K)]


GOALS = {  # users a second, from benchmarks on two shared cores
    "matrix": 3_800_000,
    "CSR, indices not sorted": 5_600_000,
    "CSR with gains": 1_370_000,
    "large ids": 760_000,
    "lists of int": 458_000,
    "lists of str": 294_000,
    "DataFrame": 1_000_000,
}


def make_data(n_users, mean_labels):
    """Return predictions (n_users, K) and relevant items as a sparse 0/1 matrix."""
    rng = np.random.default_rng(0)
    # 40 different items each, as N_ITEMS is prime; the first ten of them are recommended.
    start, step = rng.integers(0, N_ITEMS, n_users), rng.integers(1, N_ITEMS, n_users)
    items = (start[:, None] + step[:, None] * np.arange(40)) % N_ITEMS
    counts = np.minimum(1 + rng.poisson(mean_labels - 1, n_users), 40)
    relevant = rng.permuted(np.arange(40) < counts[:, None], axis=1)
    users, places = np.nonzero(relevant)
    labels = sparse.csr_matrix(
        (np.ones(len(users)), (users, items[users, places])), shape=(n_users, N_ITEMS)
    )
    return items[:, :K].copy(), labels


class Ours:
    values = "five, per user"

    def convert(self, predictions, labels):
        return Ranks.from_recommendations(predictions, labels)

    def evaluate(self, ranks):
        return [metric(ranks) for metric in METRICS]


class TenLines:
    """What one writes without a library; it trusts its input."""

    values = "five, per user"

    def convert(self, predictions, labels):
        return predictions, labels.indices, labels.indptr

    def evaluate(self, arrays):
        predictions, items, offsets = arrays
        n_users, counts = len(predictions), np.diff(offsets)
        if len(items) == n_users:  # one label each
            hits = predictions == items[:, None]
        else:
            relevant = np.zeros((n_users, N_ITEMS), dtype=bool)
            relevant[np.repeat(np.arange(n_users), counts), items] = True
            hits = np.take_along_axis(relevant, predictions, axis=1)
        weights = 1 / np.arange(1, K + 1)
        discounts = 1 / np.log2(np.arange(2, K + 2))
        cumulative = hits.cumsum(axis=1)
        best = np.minimum(counts, K)
        return [
            cumulative[:, -1] / K,
            cumulative[:, -1] / counts,
            (hits * cumulative) @ weights / best,
            hits.any(axis=1) * weights[hits.argmax(axis=1)],
            hits @ discounts / np.cumsum(discounts)[best - 1],
        ]


class Implicit:
    values = "P, AP, NDCG, means"

    def convert(self, predictions, labels):
        return predictions.astype(np.int32), labels, sparse.csr_matrix(labels.shape)

    def evaluate(self, arrays):
        from implicit.evaluation import ranking_metrics_at_k

        predictions, labels, train = arrays

        class Stub:
            def recommend(self, users, user_items, N, **_):
                return predictions[users, :N], None

        result = ranking_metrics_at_k(Stub(), train, labels, K, show_progress=False)
        return [result["precision"], None, result["map"], None, result["ndcg"]]


class Ranx:
    values = "five, per user"
    at_most = 5_000

    def convert(self, predictions, labels):
        from ranx import Qrels, Run

        scores = (1 / np.arange(1, K + 1)).tolist()
        qrels = {
            str(x): dict.fromkeys(map(str, row.indices.tolist()), 1) for x, row in enumerate(labels)
        }
        run = {
            str(x): dict(zip(map(str, row), scores, strict=True))
            for x, row in enumerate(predictions.tolist())
        }
        return Qrels(qrels), Run(run)

    def evaluate(self, arrays):
        from ranx import evaluate

        names = [f"{name}@{K}" for name in ("precision", "recall", "map", "mrr", "ndcg")]
        result = evaluate(*arrays, names, return_mean=False)
        return [result[name] for name in names]


class RecTools:
    values = "five, per user"
    at_most = 5_000

    def convert(self, predictions, labels):
        users, length = np.arange(len(predictions)), predictions.shape[1]
        recommended = pd.DataFrame(
            {
                "user_id": np.repeat(users, length),
                "item_id": predictions.ravel(),
                "rank": np.tile(np.arange(1, length + 1), len(users)),
            }
        )
        relevant = labels.tocoo()
        return recommended, pd.DataFrame({"user_id": relevant.row, "item_id": relevant.col})

    def evaluate(self, tables):
        from rectools import metrics

        return [
            metrics.Precision(k=K).calc_per_user(*tables),
            metrics.Recall(k=K).calc_per_user(*tables),
            metrics.MAP(k=K).calc_per_user(*tables),
            metrics.MRR(k=K).calc_per_user(*tables),
            metrics.NDCG(k=K, divide_by_achievable=True).calc_per_user(*tables),
        ]


class RecBole:
    values = "five, per user"

    def convert(self, predictions, labels):
        if not hasattr(np, "float"):
            np.float = float  # noqa: NPY001  RecBole is older than NumPy 1.24
        rows = np.arange(len(predictions))[:, None]
        hits = np.asarray(labels[rows, predictions].todense()).astype(bool)
        return hits, np.diff(labels.indptr)

    def evaluate(self, arrays):
        from recbole.evaluator import metrics

        names = ("Precision", "Recall", "MAP", "MRR", "NDCG")
        classes = [getattr(metrics, name) for name in names]
        # The classes read a configuration; the arithmetic is in metric_info and needs none.
        return [
            self.column(cls.__new__(cls), name, arrays)
            for cls, name in zip(classes, names, strict=True)
        ]

    def column(self, metric, name, arrays):
        needs_counts = name in ("Recall", "MAP", "NDCG")
        return metric.metric_info(*(arrays if needs_counts else arrays[:1]))[:, K - 1]


PEERS = {
    "sampled_metrics": Ours,
    "ten lines of NumPy": TenLines,
    "implicit": Implicit,
    "ranx": Ranx,
    "rectools": RecTools,
    "recbole": RecBole,
}


def installed(name):
    try:
        return name == "ten lines of NumPy" or bool(importlib.import_module(name))
    except ImportError:
        return False


def measure(peers, predictions, labels, repeats):
    """Return users a second of each peer, with conversion and without, and its values' means."""
    best = {name: np.full(2, np.inf) for name in peers}
    means = {}
    for _ in range(repeats):
        for name, peer in peers.items():
            n = min(len(predictions), getattr(peer, "at_most", len(predictions)))
            part = predictions[:n], labels[:n]
            start = time.perf_counter()
            converted = peer.convert(*part)
            middle = time.perf_counter()
            values = peer.evaluate(converted)
            end = time.perf_counter()
            best[name] = np.minimum(best[name], [(end - start) / n, (end - middle) / n])
            means[name] = [None if v is None else float(np.mean(v)) for v in values]
    return {name: 1 / seconds for name, seconds in best.items()}, means


def print_peers(peers, predictions, labels, repeats):
    speed, means = measure(peers, predictions, labels, repeats)
    print(f"\n{len(predictions):,} users, {labels.nnz / len(predictions):.1f} labels each")
    print(
        f"{'users a second':<20} {'with conversion':>15} {'without':>12} {'ratio':>6} {'goal':>6}"
        "  values"
    )
    for name, (whole, call) in speed.items():
        ratio = speed["sampled_metrics"][0] / whole
        goal = "" if name == "sampled_metrics" else "> 1"
        print(
            f"{name:<20} {whole:>15,.0f} {call:>12,.0f} {ratio:>6.2f} {goal:>6}"
            f"  {peers[name].values}",
            flush=True,
        )
    np.testing.assert_allclose(means["ten lines of NumPy"], means["sampled_metrics"])


def plain_loop(predictions, labels):
    """What one writes for lists without NumPy; it trusts its input."""
    found = []
    for listed, relevant in zip(predictions, labels, strict=True):
        wanted = set(relevant)
        found.append([rank for rank, item in enumerate(listed, 1) if item in wanted])
    return found


def print_kinds(n_users, repeats):
    """Ten recommendations and ten labels each, given in several ways."""
    rng = np.random.default_rng(0)
    start, step = rng.integers(0, N_ITEMS, n_users), rng.integers(1, N_ITEMS, n_users)
    items = (start[:, None] + step[:, None] * np.arange(15)) % N_ITEMS
    predictions, labels = items[:, :10], items[:, 5:]
    shape, ends = (n_users, N_ITEMS), np.arange(n_users + 1) * 10
    ones, gains = np.ones(labels.size), rng.integers(1, 5, labels.size)
    large = rng.integers(0, 2**62, N_ITEMS)
    ints = predictions.tolist(), labels.tolist()
    strings = tuple([[str(item) for item in row] for row in rows] for rows in ints)
    users, ranks = np.repeat(np.arange(n_users), 10), np.tile(np.arange(1, 11), n_users)
    frames = (
        pd.DataFrame({"user": users, "item": predictions.ravel(), "rank": ranks}),
        pd.DataFrame({"user": users, "item": labels.ravel()}),
    )
    kinds = {
        "matrix": (predictions, labels),
        "CSR, indices not sorted": (
            predictions,
            sparse.csr_array((ones, labels.ravel(), ends), shape),
        ),
        "CSR with gains": (predictions, sparse.csr_array((gains, labels.ravel(), ends), shape)),
        "large ids": (large[predictions], large[labels]),
        "lists of int": ints,
        "lists of str": strings,
        "DataFrame": frames,
    }
    print(f"\n{n_users:,} users, 10 recommendations and 10 labels each, users a second")
    print(f"{'input':<24} {'to ranks':>12} {'goal':>12} {'plain loop':>12} {'ratio':>6}")
    for kind, given in kinds.items():
        tasks = [Ranks.from_recommendations] + [plain_loop] * isinstance(given[0], list)
        best = [np.inf] * len(tasks)
        for _ in range(repeats):
            for i, task in enumerate(tasks):
                start = time.perf_counter()
                task(*given)
                best[i] = min(best[i], time.perf_counter() - start)
        ours, *loop = (n_users / seconds for seconds in best)
        beside = f"{loop[0]:>12,.0f} {ours / loop[0]:>6.2f}" if loop else ""
        print(f"{kind:<24} {ours:>12,.0f} {GOALS[kind]:>12,} {beside}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a tiny size")
    smoke = parser.parse_args().smoke
    for library in threadpool_info():
        print(
            f"{library['prefix']}: {library.get('architecture')}, {library['num_threads']} threads"
        )
    peers = {name: peer() for name, peer in PEERS.items() if installed(name)}
    print("not installed:", ", ".join(PEERS.keys() - peers.keys()) or "none")
    for n_users, repeats in ((200, 1),) if smoke else ((100_000, 7), (1_000_000, 3)):
        for mean_labels in (1, 10):
            print_peers(peers, *make_data(n_users, mean_labels), repeats)
    print_kinds(*(200, 1) if smoke else (100_000, 5))


if __name__ == "__main__":
    main()
