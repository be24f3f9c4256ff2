"""How a notebook shows figures and tables: drawings for the site's two widths, readable tables."""

from __future__ import annotations

import base64
import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec, SubplotSpec
from matplotlib.ticker import LogFormatterSciNotation

from sampled_metrics_book.tables import table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PHONE = 3.75  # inches: the width of the text on a small phone, at 96 pixels an inch


def in_notebook() -> None:
    """In a notebook, set how figures, tables and NumPy's scalars are shown; else do nothing."""
    try:
        from IPython import get_ipython
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:
        return
    shell = get_ipython()
    if shell is None:
        return
    np.set_printoptions(legacy="1.25")
    set_matplotlib_formats("svg", metadata={"Date": None})
    formatters = shell.display_formatter.formatters
    for_phones = os.environ.get("FIGURES_FOR_PHONES")  # the site's build sets it
    formatters["image/svg+xml"].for_type(Figure, both_widths if for_phones else one_width)
    for kind in (pd.DataFrame, pd.Series):
        formatters["text/html"].for_type(kind, _as_table)
    for number in (float, np.float64):
        formatters["text/plain"].for_type(number, _in_six_digits)


def _in_six_digits(value: float, printer: Any, _: bool) -> None:  # noqa: FBT001  IPython calls it so
    """Print a number, in a tuple or a dict, too; book/_static/python/in_page.py does the same."""
    printer.text(repr(float(f"{value:.6g}" if abs(value) < 1e6 else f"{value:.0f}")))


def _as_table(values: pd.DataFrame | pd.Series[Any]) -> str:
    if len(values) > (pd.options.display.max_rows or math.inf):
        return pd.DataFrame(values).to_html(max_rows=10)
    return str(table(values).data)


def one_width(figure: Figure) -> str:
    """Draw the figure as SVG.

    A logarithmic axis says 1,000 and 0.01, unless its numbers are very large or very small.
    """
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            if type(axis.get_major_formatter()) is LogFormatterSciNotation:
                axis.set_major_formatter(_Numbers())
                axis.set_minor_formatter(_Numbers())
    return _svg(figure)


def both_widths(figure: Figure) -> str:
    """Draw the figure as it is, and again for a phone, in one SVG file.

    The second drawing is as wide as the text on a phone, with its panels below one another. It
    travels as the file's metadata; the site's build makes a file of its own of it.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> figure, _ = plt.subplots(1, 2)
    >>> '<metadata id="narrow">' in both_widths(figure)
    True
    >>> len({ax.get_subplotspec().rowspan.start for ax in figure.axes})  # as it was
    1
    """
    wide = one_width(figure)
    size, placed = figure.get_size_inches().copy(), {}
    if size[0] > PHONE:
        placed, layout = _stack(figure), figure.get_layout_engine()
        figure.set_layout_engine("constrained", h_pad=0.1)  # inches between a panel and the next
        narrow = base64.b64encode(_svg(figure).encode()).decode()
        note = f'<metadata id="narrow">{narrow}</metadata>\n</svg>'
        wide = note.join(wide.rsplit("</svg>", 1))
        figure.set_layout_engine(layout)
    for ax, (place, labels, ylabel) in placed.items():
        ax.set_subplotspec(place)
        ax.tick_params(**labels)
        ax.set_ylabel(ylabel)
    figure.set_size_inches(*size)
    return wide


class _Numbers(LogFormatterSciNotation):
    """Of Matplotlib's labels at a logarithmic axis, write numbers as the text does."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        label = super().__call__(x, pos)
        assert self.axis is not None, "an axis calls its formatter"
        low, high = self.axis.get_view_interval()
        return f"{x:,.10g}" if label and 1e-4 <= low and high <= 3e6 else label


def _svg(figure: Figure) -> str:
    from IPython.core.pylabtools import print_figure

    return str(print_figure(figure, "svg", metadata={"Date": None}))


def _stack(figure: Figure) -> dict[Axes, tuple[SubplotSpec, dict[str, Any], str]]:
    """Give the figure a phone's width, and its panels as few columns; return what it changed.

    Panels follow one another as they are read. Two rows of three or more become two columns, so
    that those which stood above one another now stand side by side.
    """
    height = figure.get_figheight()
    panels = {ax: place for ax in figure.axes if (place := ax.get_subplotspec()) is not None}
    grids = {place.get_gridspec() for place in panels.values()}
    single = all(len(place.colspan) == len(place.rowspan) == 1 for place in panels.values())
    if len(grids) != 1 or not single or (grid := grids.pop()).ncols == 1:
        figure.set_size_inches(PHONE, max(0.85 * height, min(height, 2.6)))
        return {}
    turned = grid.nrows == 2 and grid.ncols > 2
    rows = grid.ncols if turned else grid.nrows * grid.ncols
    taller = 0.9 * height / grid.nrows * rows
    figure.set_size_inches(PHONE, max(taller, 1.9 * rows))
    stacked, before = GridSpec(rows, 2 if turned else 1, figure=figure), {}
    at = {(place.rowspan.start, place.colspan.start): ax for ax, place in panels.items()}
    for (row, column), ax in at.items():
        lowest, first = at.get((grid.nrows - 1, column), ax), at.get((row, 0), ax)
        before[ax] = panels[ax], _shown(ax), ax.get_ylabel()
        if not turned and first in ax.get_shared_y_axes().get_siblings(ax):
            ax.set_ylabel(first.get_ylabel())
        ax.tick_params(labelleft=True, labelbottom=_shown(lowest)["labelbottom"])
        ax.set_subplotspec(stacked[(column, row) if turned else (row * grid.ncols + column, 0)])
    return before


def _shown(ax: Axes) -> dict[str, Any]:
    """Tell which sides of the panel show the numbers of their ticks."""
    return {
        "labelleft": bool(ax.yaxis.get_tick_params().get("labelleft", True)),
        "labelbottom": bool(ax.xaxis.get_tick_params().get("labelbottom", True)),
    }
