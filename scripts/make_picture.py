"""Draw the README's picture, book/_static/order-flip.svg, from the table of ranks."""

from pathlib import Path

import pandas as pd

from sampled_metrics import (
    Draw,
    Recall,
    TiedRanks,
    Uncorrected,
    exact_evaluation,
    sampled_evaluation,
)
from sampled_metrics.book import slope_chart, use_style

BOOK = Path(__file__).parents[1] / "book"

if __name__ == "__main__":
    use_style()
    table = pd.read_csv(BOOK / "data" / "movielens_ranks.csv")
    recommenders = {
        name.upper(): TiedRanks(table[f"{name}_best"], table[f"{name}_tied"], table["n_items"])
        for name in "xyz"
    }
    exact = exact_evaluation(recommenders, [Recall(k=10)])
    runs = sampled_evaluation(
        recommenders,
        [Recall(k=10)],
        Draw(100, replacement=False),
        {"uncorrected": Uncorrected()},
        repeats=100,
        rng=2020,
    )
    ax = slope_chart(
        {
            "exact": 100 * exact.set_index("recommender")["value"],
            "among 100 random movies": 100 * runs.groupby("recommender")["value"].mean(),
        }
    )
    ax.figure.savefig(BOOK / "_static" / "order-flip.svg", metadata={"Date": None})
