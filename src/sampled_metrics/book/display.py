"""How a notebook shows figures and tables: two widths of each drawing, readable tables."""

from __future__ import annotations

import base64
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec, SubplotSpec

from sampled_metrics.book.tables import table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["both_widths", "in_notebook"]

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
    formatters["image/svg+xml"].for_type(Figure, both_widths)
    for kind in (pd.DataFrame, pd.Series):
        formatters["text/html"].for_type(kind, _as_table)


def _as_table(values: pd.DataFrame | pd.Series[Any]) -> str:
    if len(values) > (pd.options.display.max_rows or math.inf):
        return pd.DataFrame(values).to_html(max_rows=10)
    return str(table(values).data)


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
    wide = _svg(figure)
    size, placed = figure.get_size_inches().copy(), {}
    if size[0] > PHONE:
        placed = _stack(figure)
        narrow = base64.b64encode(_svg(figure).encode()).decode()
        note = f'<metadata id="narrow">{narrow}</metadata>\n</svg>'
        wide = note.join(wide.rsplit("</svg>", 1))
    for ax, (place, labeled) in placed.items():
        ax.set_subplotspec(place)
        ax.tick_params(labelleft=labeled)
    figure.set_size_inches(*size)
    return wide


def _svg(figure: Figure) -> str:
    from IPython.core.pylabtools import print_figure

    return str(print_figure(figure, "svg", metadata={"Date": None}))


def _stack(figure: Figure) -> dict[Axes, tuple[SubplotSpec, bool]]:
    """Give the figure a phone's width, and its panels as few columns; return what it changed."""
    height = figure.get_figheight()
    panels = {ax: place for ax in figure.axes if (place := ax.get_subplotspec()) is not None}
    grids = {place.get_gridspec() for place in panels.values()}
    single = all(len(place.colspan) == len(place.rowspan) == 1 for place in panels.values())
    if len(grids) != 1 or not single or (grid := grids.pop()).ncols == 1:
        figure.set_size_inches(PHONE, max(0.85 * height, min(height, 2.6)))
        return {}
    columns = 2 if grid.nrows > 1 and grid.ncols > 2 else 1
    rows = math.ceil(grid.nrows * grid.ncols / columns)
    taller = 0.9 * height / grid.nrows * rows
    figure.set_size_inches(PHONE, max(taller, 1.9 * rows))
    stacked, before = GridSpec(rows, columns, figure=figure), {}
    for ax, place in panels.items():
        number = place.rowspan.start * grid.ncols + place.colspan.start
        before[ax] = place, bool(ax.yaxis.get_tick_params().get("labelleft", True))
        ax.set_subplotspec(stacked[number // columns, number % columns])
        ax.tick_params(labelleft=True)
    return before
