"""What do recommenders X, Y and Z cost? Beside `implicit` and beside dense matrices, in one run.

    python benchmarks/recommenders.py            # four minutes on a quiet machine
    python benchmarks/recommenders.py --smoke    # a tiny size, to see that it runs

The data is synthetic, of MovieLens 1M's size: 6,040 users, 3,706 items, about a million events, few
items with many of them. First X, Y and Z are fitted and each user's held-out item is ranked, once;
the memory is the most that the process had, libraries and data included.

X is fitted beside `implicit` (in requirements.txt; elsewhere: pip install implicit) with as many
factors and iterations, from the same initial factors, towards the same loss. "exact" solves the
linear systems as we do, and must give the same scores; "cg" is implicit's default, three steps of
conjugate gradients in float32. "loss" is what was reached, over ours. Y and Z are fitted, and all
users scored, beside the same equations written down with dense matrices; similarities and scores
must agree. X and sparse sums use one core, dense products all. Times are the shortest of
interleaved repeats. The ratio is theirs over ours: above 1 we are faster.

Measured on two cores (AMD EPYC, Python 3.11) with three times as much to do as they can; X's fit
takes 2.0 s where they have nothing else to do, and the peak memory is 565 MB, of which the data
have 486:

    X, exact, 1 thread   1.4    Y fit       1.0
    X, exact, 2 threads  1.8    Y scores    1.0
    X, cg, 1 thread      1.2    Z fit       2.1
                                Z scores     52

Y's fit is no faster than the dense one: 87 % of the pairs of items have a common user, so that
sparse matrices spare nothing. On data with many items, such as 54,542, they spare nearly all.

Last, X with 64 factors on Amazon Video Games, beside the project's goal for it: fitted and ranked
in less than 20 s on two cores. The data must be where the tests look for them.
"""

import argparse
import os
import resource
import sys
import time
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from scipy import sparse

from corrections import shortest
from sampled_metrics import Ranks, Split
from sampled_metrics.experiments import ItemKNN, MatrixFactorization, load_amazon
from sampled_metrics.experiments.recommenders import INITIAL_SCALE

try:
    from implicit.als import AlternatingLeastSquares
    from threadpoolctl import threadpool_limits
except ImportError:
    AlternatingLeastSquares = None

X = MatrixFactorization(progress=False)
GAMES = Path(__file__).resolve().parents[2] / "shared" / "data" / "amazon-games"
KNN = {"Y": ItemKNN(exponent=3), "Z": ItemKNN(column_neighbors=10)}


def synthetic_split(n_users, n_items):
    """Return events drawn without replacement by popularity: a random one of each user held out."""
    rng = np.random.default_rng(0)
    counts = np.clip(rng.lognormal(np.log(101), 1, n_users), 20, n_items // 2).astype(int)
    popularity = rng.normal(0, 1.6, n_items)  # its logarithm
    items = np.argsort(-popularity - rng.gumbel(size=(n_users, n_items)), axis=1)
    train = np.arange(n_items) < counts[:, np.newaxis]
    users = np.arange(n_users)
    held_out = rng.integers(counts)
    train[users, held_out] = False
    return Split.from_pairs(
        train.nonzero()[0],
        items[train],
        users,
        items[users, held_out],
        n_users=n_users,
        n_items=n_items,
    )


def peak_memory():
    """Return the most memory in MB that the process has had."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def fit_and_rank(split):
    before, begin = peak_memory(), time.perf_counter()
    for name, model in {"X": X, **KNN}.items():
        start = time.perf_counter()
        model.fit(split.train)
        fitted = time.perf_counter()
        Ranks.from_model(model, split, progress=False)
        ranked = time.perf_counter()
        print(f"{name}: fit {fitted - start:6.2f} s, rank {ranked - fitted:6.2f} s")
    print(
        f"together {time.perf_counter() - begin:.2f} s; peak memory {peak_memory():,.0f} MB, "
        f"{before:,.0f} MB of it before the first fit"
    )


def fit_implicit(train, n_threads, exact):
    """Fit what is our loss except for the scale of the factors; return the factors in our scale."""
    alpha, shape = X.unobserved_weight, (train.shape[1], X.n_factors)
    scale, dtype = np.sqrt(1 + alpha), np.float64 if exact else np.float32
    with threadpool_limits(1, "blas"):  # as implicit asks for: its threads are its own
        model = AlternatingLeastSquares(
            factors=X.n_factors,
            regularization=X.regularization * (1 + alpha) / alpha,
            alpha=1 + 1 / alpha,
            iterations=X.n_iterations,
            num_threads=n_threads,
            use_cg=not exact,
            use_gpu=False,
            dtype=dtype,
        )
        first = INITIAL_SCALE * np.random.default_rng(X.rng).standard_normal(shape)
        model.item_factors = (scale * first).astype(dtype)
        model.user_factors = np.zeros((train.shape[0], X.n_factors), dtype)
        model.fit(train, show_progress=False)
    fitted = copy(X)  # which is fitted to the same events
    fitted.user_factors, fitted.item_factors = (
        model.user_factors / scale,
        model.item_factors / scale,
    )
    return fitted


def beside_implicit(train, repeats):
    if AlternatingLeastSquares is None:
        print("\nX has no ratio: implicit is not installed; pip install implicit")
        return
    tasks = {"ours": partial(X.fit, train)}
    for exact, n in product((True, False), sorted({1, os.cpu_count()})):
        name = f"implicit, {'exact' if exact else 'cg'}, threads: {n}"
        tasks[name] = partial(fit_implicit, sparse.csr_matrix(train), n, exact)
    times = shortest(tasks, repeats)
    print(f"\n{'X':<28} {'fit':>8} {'ratio':>6} {'loss':>8}")
    for name, seconds in times.items():
        model = tasks[name]()
        if "exact" in name:
            first = model.scores([0, 1])
            np.testing.assert_allclose(first, X.scores([0, 1]), rtol=1e-6, atol=1e-9)
        loss = model.loss(train) / X.loss(train)
        print(f"{name:<28} {seconds:>6.2f} s {seconds / times['ours']:>6.2f} {loss:>8.5f}")


def dense_fit(model, train):
    """Return equations 27 to 29 of the paper for dense events (users, items)."""
    common = train.T @ train
    popularity = common.diagonal()
    pairs = np.maximum(np.outer(popularity, popularity), 1)  # an item may have no event
    similarity = (common**2 / pairs) ** (model.exponent / 2)
    if k := model.column_neighbors:
        np.fill_diagonal(similarity, 0)
        similarity[similarity < np.partition(similarity, -k, axis=0)[-k]] = 0
    norms = np.linalg.norm(similarity, axis=1, keepdims=True)
    return similarity / np.where(norms > 0, norms, 1)


def beside_dense(train, repeats):
    users, events = np.arange(train.shape[0]), train.toarray()
    print(f"\n{'':<8} {'ours':>8} {'dense':>8} {'ratio':>6} {'differ':>8}")
    for name, model in KNN.items():
        similarity = dense_fit(model, events)
        tasks = {
            "fit": partial(model.fit, train),
            "dense fit": partial(dense_fit, model, events),
            "scores": partial(model.scores, users),
            "dense scores": partial(np.matmul, events, similarity.T),
        }
        times = shortest(tasks, repeats)
        ours = model.similarity.T  # dense or sparse
        found = {
            "fit": ours.toarray() if sparse.issparse(ours) else ours,
            "scores": model.scores(users),
        }
        for what, want in {"fit": similarity.T, "scores": events @ similarity.T}.items():
            np.testing.assert_allclose(found[what], want, rtol=1e-9, atol=1e-12)
            mine, dense = times[what], times[f"dense {what}"]
            print(
                f"{name} {what:<6} {mine:>6.2f} s {dense:>6.2f} s {dense / mine:>6.2f} "
                f"{np.abs(found[what] - want).max():>8.0e}"
            )


def beside_the_goal(n_factors):
    """Fit X to Amazon Video Games and rank the held-out items, once; nothing is downloaded."""
    what = f"X, d = {n_factors}, Amazon Video Games"
    if not (GAMES / "Video.txt.gz").is_file():
        print(f"\n{what}: not measured, as there is no Video.txt.gz in {GAMES}")
        return
    split = load_amazon("games", folder=GAMES)
    start = time.perf_counter()
    model = replace(X, n_factors=n_factors).fit(split.train)
    fitted = time.perf_counter()
    Ranks.from_model(model, split, progress=False)
    end = time.perf_counter()
    print(
        f"\n{what}: fit {fitted - start:.1f} s, rank {end - fitted:.1f} s, "
        f"together {end - start:.1f} s on {os.cpu_count()} cores; goal < 20 s on two"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a tiny size")
    smoke = parser.parse_args().smoke
    split = synthetic_split(*((200, 100) if smoke else (6_040, 3_706)))
    print(f"{split.n_users:,} users, {split.n_items:,} items, {split.train.nnz:,} training events")
    fit_and_rank(split)
    beside_implicit(split.train, repeats=1 if smoke else 5)
    beside_dense(split.train, repeats=1 if smoke else 5)
    if not smoke:
        beside_the_goal(n_factors=64)


if __name__ == "__main__":
    main()
