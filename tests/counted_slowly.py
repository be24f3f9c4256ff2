"""Rank tables by definition, for the tests of all engines: plain loops over plain rows."""

import numpy as np
import pandas as pd

# The last columns: a relevant item of a user, and what is excluded.
COLUMNS = ["user", "item", "score", "relevance"]


def random_table(rng, n_users=30, n_items=12):
    """Candidates of users who have several, with ties, and pairs that are excluded."""
    pairs = np.argwhere(rng.random((n_users, n_items)) < 0.8)
    table = pd.DataFrame(pairs, columns=["user", "item"])
    table["score"] = rng.integers(-2, 3, len(table)) / 4
    table["relevance"] = (rng.random(len(table)) < 0.2).astype(int)
    others = table[table["relevance"] == 0]
    excluded = others.sample(frac=0.2, random_state=rng)[["user", "item"]]
    return table.sample(frac=1, random_state=rng), excluded


def counted_slowly(table, excluded=()):
    """The rows user, item, rank, n_tied, n_items of each relevant item, in order."""
    gone = set(excluded)
    rows = [row for row in table.itertuples() if (row.user, row.item) not in gone]
    found = []
    for row in rows:
        if row.relevance > 0:
            scores = [other.score for other in rows if other.user == row.user]
            above = sum(score > row.score for score in scores)
            tied = sum(score == row.score for score in scores) - 1
            found.append((row.user, row.item, 1 + above, tied, len(scores)))
    return sorted(found)
