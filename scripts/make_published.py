"""Make movielens_published.csv: X, Y and Z on the 99 sampled movies that the NCF authors published.

    make published-ranks        # or: python scripts/make_published.py; about a minute

The file ml-1m.test.negative of the Neural Collaborative Filtering paper names 99 movies for each
user of MovieLens 1M. It is downloaded, like the data, unless both are in the folder that the
variable SAMPLED_METRICS_DATA names. One row for each user and, for each recommender, the best
possible rank of the held-out movie among these 99 and itself, and the number of movies with
exactly its score. No user, no item, and the rows are sorted.
"""

import os

import numpy as np
import pandas as pd
from make_ranks import PATH, RECOMMENDERS

from sampled_metrics.experiments import load_movielens_1m
from sampled_metrics.experiments.datasets import SOURCES, published_files
from sampled_metrics.io import read_text

NAME = "ml-1m.test.negative"
CHECKSUM = "sha256:127853228a76b7d21c0481e8ef8d00dd009cd5c88670dbdd9e9debfdb9f93de4"


def read_negatives(path, split):
    """Return the published movies of each instance, shape (n_instances, 99)."""
    lines = [line.split("\t") for line in read_text(path).splitlines()]
    pairs = [f"({user},{item})" for user, item in zip(split.users, split.items, strict=True)]
    assert [line[0] for line in lines] == pairs
    return np.array([line[1:] for line in lines], dtype=np.int64)


def rank_among(model, split, negatives):
    """Return best possible rank and ties of each held-out item among its own negatives."""
    best, tied = np.empty((2, len(negatives)), dtype=np.int64)
    for x in np.array_split(np.arange(len(negatives)), 20):
        scores = model.scores(split.users[x])
        own = scores[np.arange(len(x)), split.items[x]][:, np.newaxis]
        drawn = np.take_along_axis(scores, negatives[x], axis=1)
        best[x] = 1 + np.count_nonzero(drawn > own, axis=1)
        tied[x] = np.count_nonzero(drawn == own, axis=1)
    return best, tied


def main():
    split = load_movielens_1m()
    (path,) = published_files(SOURCES["ncf"][0], {NAME: CHECKSUM})
    negatives = read_negatives(path, split)
    table = pd.DataFrame()
    for name, model in RECOMMENDERS.items():
        best, tied = rank_among(model.fit(split.train), split, negatives)
        table[f"{name}_best"], table[f"{name}_tied"] = best, tied
    to = PATH.with_name("movielens_published.csv")
    unfinished = to.with_suffix(".tmp")  # so that an interrupted run leaves no half file
    rows = table.sort_values(list(table.columns))
    rows.to_csv(unfinished, index=False, lineterminator="\n")
    os.replace(unfinished, to)
    print(f"{len(rows):,} rows in {to.name}")


if __name__ == "__main__":
    main()
