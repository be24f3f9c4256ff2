"""One look for every figure of the book."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from cycler import cycler
from matplotlib.figure import Figure

__all__ = ["COLORS", "compare_orders", "use_style"]

COLORS = {
    "A": "#0072B2",
    "B": "#D55E00",
    "C": "#009E73",
    "X": "#0072B2",
    "Y": "#D55E00",
    "Z": "#009E73",
}
"""The color of each recommender, the same in every chapter; told apart by color-blind readers.

After Okabe and Ito, Color Universal Design (2008).
"""


def use_style() -> None:
    """Set Matplotlib's defaults to the book's; in a notebook, draw vector graphics.

    In a notebook, NumPy's scalars print as plain numbers from here on, not as
    ``np.float64(...)``. Elsewhere, NumPy is left alone.

    Examples
    --------
    >>> with mpl.rc_context():
    ...     use_style()
    ...     mpl.rcParams["axes.spines.top"]
    False
    """
    mpl.rcParams.update(
        {
            "axes.grid": True,
            "axes.prop_cycle": cycler(
                color=["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"]
            ),
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlesize": "medium",  # the label of a panel
            "figure.constrained_layout.use": True,
            "figure.figsize": (5.4, 3.2),
            "figure.labelsize": "medium",
            "font.size": 11.0,
            "grid.alpha": 0.3,
            "legend.frameon": False,
            "lines.linewidth": 2.0,
            # The same run gives the same file, to the byte.
            "svg.hashsalt": "sampled_metrics",
        }
    )
    try:
        from IPython import get_ipython
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:  # a plain Python: nothing more to set
        return
    if get_ipython() is not None:
        np.set_printoptions(legacy="1.25")
        set_matplotlib_formats("svg", metadata={"Date": None})


def compare_orders(panels: Mapping[str, pd.Series[float]], xlabel: str) -> Figure:
    """Draw one panel of bars per way to measure, to see whether the order changes.

    Parameters
    ----------
    panels : mapping of str to Series
        For each way to measure, the value of each recommender, by its name in `COLORS`.
    xlabel : str
        What the bars measure.

    Returns
    -------
    Figure

    Examples
    --------
    >>> exact, sampled = pd.Series({"A": 0.1, "B": 0.2}), pd.Series({"A": 0.6, "B": 0.5})
    >>> len(compare_orders({"exact": exact, "sampled": sampled}, "Recall@10").axes)
    2
    """
    figure, axes = plt.subplots(1, len(panels), sharey=True, figsize=(5.4, 2.2), squeeze=False)
    for ax, (title, values) in zip(axes[0], panels.items(), strict=True):
        bars = ax.barh(values.index, values, color=[COLORS[name] for name in values.index])
        ax.bar_label(bars, fmt="%.1f", padding=3)
        ax.set_xlabel(title)
        ax.grid(visible=False)
        ax.margins(x=0.25)
    axes[0, 0].invert_yaxis()
    figure.supxlabel(xlabel)
    return figure
