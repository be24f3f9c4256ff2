"""The one figure of an evaluation: every value with its interval, a panel for each metric."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

USUAL = ("exact", "uncorrected", "corrected")  # have the same color in every figure
# After Okabe and Ito, Color Universal Design (2008); the markers tell them apart in print, too.
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#999999"]
MARKERS = "osD^vPX"


def draw_values(table: pd.DataFrame, caption: str) -> Figure:
    """Draw a table with the columns of `Evaluation.table`."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            'the figure needs matplotlib: pip install "sampled-metrics[report]"'
        ) from error
    metrics = list(dict.fromkeys(table["metric"]))
    names = list(dict.fromkeys(table["recommender"]))
    estimators = [name for name in dict.fromkeys(table["estimator"]) if name != "bounds"]
    height = 1.2 + len(names) * max(0.35, 0.2 * len(estimators))
    figure = Figure(figsize=(max(4.0, 2.8 * len(metrics)), height), layout="constrained")
    panels: Any = figure.subplots(1, len(metrics), sharey=True, squeeze=False)[0]
    for panel, metric in zip(panels, metrics, strict=True):
        _draw_panel(panel, table[table["metric"] == metric], names, estimators)
        panel.set_title(metric)
    panels[0].set_yticks(np.arange(len(names)), names)
    panels[0].set_ylim(len(names) - 0.5, -0.5)  # the first one on top
    handles, labels = panels[0].get_legend_handles_labels()
    if len(labels) > 1:
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    figure.supxlabel("\n".join(wrap(caption, 30 * len(metrics) + 15)), fontsize="small")
    return figure


def _draw_panel(panel: Axes, table: pd.DataFrame, names: list[str], estimators: list[str]) -> None:
    place = table["recommender"].map({name: i for i, name in enumerate(names)})
    bounds = table["estimator"] == "bounds"
    if bounds.any():
        span = (table["high"] - table["low"])[bounds]
        panel.barh(
            place[bounds], span, 0.8, table["low"][bounds], color="0.88", label="what is possible"
        )
    others = [name for name in estimators if name not in USUAL]
    for i, estimator in enumerate(estimators):
        look = [*USUAL, *others].index(estimator)
        rows = table[table["estimator"] == estimator]
        panel.errorbar(
            rows["value"],
            place[rows.index] + (i - (len(estimators) - 1) / 2) * 0.7 / len(estimators),
            xerr=(rows["high"] - rows["low"]) / 2,
            fmt=MARKERS[look % len(MARKERS)],
            color=COLORS[look % len(COLORS)],
            label=estimator,
        )
    panel.grid(axis="x", alpha=0.3)
