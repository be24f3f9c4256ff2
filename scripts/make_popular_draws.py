"""Make movielens_popular_draws.csv: the recommenders' ranks among items drawn by popularity.

    make popular-draws  # or: python scripts/make_popular_draws.py; about ten minutes

From the same data as make_ranks.py. Popularity is the number of all events of an item, also of
those held out, as BERT4Rec and RecBole count them. For each recommender, each rule for ties, and
both ways to draw 100 items ("merged": with replacement, repeats counted once; "successive":
without replacement), the share of the users whose held-out item is expected at each of the first
ten sampled ranks. The file holds no user and no item.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd
from make_ranks import RECOMMENDERS
from popular_pmf import popular_pmf
from tqdm import tqdm

from sampled_metrics.experiments import load_movielens_1m

PATH = Path(__file__).parents[1] / "book" / "data" / "movielens_popular_draws.csv"
N_SAMPLES, K = 100, 10
TIES = ("won", "random", "lost")


def counted(split, model, users, rng):
    """Return numbers of items by popularity, above under each rule for ties and in all."""
    events = np.bincount(split.train.indices, minlength=split.n_items)
    events += np.bincount(split.items, minlength=split.n_items)
    popularity, kind = np.unique(events, return_inverse=True)
    above = {ties: np.zeros((len(users), len(popularity)), dtype=np.int32) for ties in TIES}
    total = np.zeros((len(users), len(popularity)), dtype=np.int32)
    for row, (user, item) in enumerate(
        zip(tqdm(split.users[users], "ranks"), split.items[users], strict=True)
    ):
        scores = model.scores([user])[0]
        others = np.ones(split.n_items, dtype=bool)
        others[split.train[[user]].indices] = False
        others[item] = False
        order = rng.random(split.n_items)
        better, level = scores > scores[item], scores == scores[item]
        masks = better, better | level & (order < order[item]), better | level
        for ties, mask in zip(TIES, masks, strict=True):
            above[ties][row] = np.bincount(kind[mask & others], minlength=len(popularity))
        total[row] = np.bincount(kind[others], minlength=len(popularity))
    return above, total, popularity.astype(float)


def probabilities(above, total, weights, merged):
    """Return each user's probabilities of the first ranks, for each rule for ties."""
    won = popular_pmf(above["won"], total, weights, N_SAMPLES, K, merged=merged)
    found = {"won": won}
    for ties in TIES[1:]:
        found[ties] = won.copy()
        moved = (above[ties] != above["won"]).any(axis=1)
        found[ties][moved] = popular_pmf(
            above[ties][moved], total[moved], weights, N_SAMPLES, K, merged=merged
        )
    return found


def main():
    split = load_movielens_1m()
    rows = []
    for name, model in RECOMMENDERS.items():
        model.fit(split.train)
        everyone = np.arange(len(split.users))
        above, total, weights = counted(split, model, everyone, np.random.default_rng(0))
        for draw in ("merged", "successive"):
            found = probabilities(above, total, weights, draw == "merged")
            for ties, p in found.items():
                shares = zip(range(1, K + 1), p.mean(axis=0), strict=True)
                rows += [(name, draw, ties, rank, share) for rank, share in shares]
                print(name, draw, ties, f"{p.sum(axis=1).mean():.5f}", flush=True)
    table = pd.DataFrame(rows, columns=["recommender", "draw", "ties", "rank", "share"])
    unfinished = PATH.with_suffix(".tmp")
    table.to_csv(unfinished, index=False, lineterminator="\n", float_format="%.12g")
    os.replace(unfinished, PATH)
    print(f"{len(table):,} rows in {PATH.name}")


if __name__ == "__main__":
    main()
