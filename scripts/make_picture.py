"""Draw the README's picture and the one that shared links show, from the table of ranks.

They are book/_static/order-flip.svg and order-flip.png.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from sampled_metrics import Draw, Ranks, Recall, Uncorrected, evaluate, simulate
from sampled_metrics_book import slope_chart, use_style

BOOK = Path(__file__).parents[1] / "book"

if __name__ == "__main__":
    use_style()
    plt.rcParams["svg.hashsalt"] = "order-flip"  # the same names, and bytes, each time
    table = pd.read_csv(BOOK / "data" / "movielens_ranks.csv")
    recommenders = {
        name.upper(): Ranks(table[f"{name}_best"], table[f"{name}_tied"], table["n_items"])
        for name in "xyz"
    }
    exact = evaluate(recommenders, [Recall(k=10)]).table
    runs = simulate(
        recommenders,
        [Recall(k=10)],
        Draw(100, replacement=False),
        estimators={"uncorrected": Uncorrected()},
        repeats=100,
        rng=2020,
    )
    columns = {
        "exact": 100 * exact.set_index("recommender")["value"],
        "among 100 random movies": 100 * runs.groupby("recommender")["value"].mean(),
    }
    ax = slope_chart(columns)
    ax.figure.savefig(BOOK / "_static" / "order-flip.svg", metadata={"Date": None})

    figure = plt.figure(figsize=(6, 3.15), layout="none")  # 1,200 by 630 pixels, as most ask
    slope_chart(columns, ax=figure.add_axes((0.05, 0.05, 0.9, 0.56)))
    figure.text(0.06, 0.85, "Sampled Metrics, Exactly", fontsize=20, weight="semibold")
    figure.text(0.06, 0.75, "A sample of items can put the wrong model first.", fontsize=12)
    figure.savefig(BOOK / "_static" / "order-flip.png", dpi=200, bbox_inches=None)
