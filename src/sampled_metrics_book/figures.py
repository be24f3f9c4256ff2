"""The kinds of figure that most chapters use, always drawn the same way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import to_hex, to_rgb

from sampled_metrics_book.style import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

OTHER = "0.6"  # a recommender that the figure is not about


def slope_chart(
    columns: Mapping[str, Mapping[str, float]],
    *,
    ax: Axes | None = None,
    fmt: str = "{:.1f}",
    colors: Mapping[str, str] = COLORS,
    names_right: bool = True,
) -> Axes:
    """Draw the order of recommenders in each column; lines that cross are pairs that change places.

    Heights are places, not values, so that columns with different scales can be compared and no two
    labels overlap. Equal values are drawn at the mean height of their places.

    Parameters
    ----------
    columns : mapping of str to Series or dict
        For each way to measure, the value of each recommender. Larger is better.
    ax : Axes, optional
        The axes to draw on; by default those of a new figure.
    fmt : str, default "{:.1f}"
        How values are written.
    colors : mapping of str to str, default `COLORS`
        The color of each recommender; the others are gray.
    names_right : bool, default True
        Whether to write the names at the right end, too.

    Returns
    -------
    Axes

    Examples
    --------
    >>> exact, sampled = {"A": 1.0, "B": 2.0}, {"A": 60.0, "B": 50.0}
    >>> ax = slope_chart({"exact": exact, "sampled": sampled})
    >>> [round(float(y), 1) for y in ax.lines[0].get_ydata()]  # A was second and is first
    [1.0, 2.0]
    """
    if ax is None:
        _, ax = plt.subplots(figsize=(5.2, 0.8 + 0.42 * max(map(len, columns.values()))))
    values = pd.DataFrame({name: pd.Series(dict(column)) for name, column in columns.items()})
    places, last = values.rank(), values.shape[1] - 1
    for name, heights in places.iterrows():
        color = colors.get(str(name), OTHER)
        order = 3 if color != OTHER else 2
        ax.plot(range(last + 1), heights, "o-", color=color, ms=5, zorder=order)
    for i in range(last + 1):
        for height, tied in values.iloc[:, i].groupby(places.iloc[:, i]):
            names = ", ".join(map(str, tied.index))
            written = _written(fmt, tied.iloc[0])
            if i == 0:
                text, x, ha = f"{names}  {written}", -0.08, "right"
            elif i == last:
                text, x, ha = f"{written}  {names}" if names_right else written, i + 0.08, "left"
            else:
                text, x, ha = written, float(i), "center"
            color = colors.get(names, OTHER) if len(tied) == 1 else OTHER
            at, va = float(str(height)), "center"
            if ha == "center":  # on the side where no line of its own is
                beside = places.loc[tied.index].iloc[:, [i - 1, i + 1]].to_numpy()
                low = bool((beside >= at).all() and (beside > at).any())
                at, va = (at - 0.16, "top") if low else (at + 0.16, "bottom")
            ax.text(x, at, text, ha=ha, va=va, color=_readable(color))
    ax.set(xlim=(-0.55, last + 0.55), ylim=(0.5, len(values) + 0.5), yticks=[])
    ax.set_xticks(range(last + 1), list(columns))
    ax.xaxis.tick_top()
    ax.grid(visible=False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def intervals(
    table: pd.DataFrame,
    *,
    ax: Axes | None = None,
    fmt: str = "{:.1f}",
    colors: Mapping[str, str] = COLORS,
) -> Axes:
    """Draw the interval of each row: a dot for the value, and a whisker from low to high.

    Parameters
    ----------
    table : DataFrame
        Columns "value", "low" and "high", with the rows in the order from top to bottom. If there
        is a column "exact", diamonds mark its values.
    ax, fmt
        As in `slope_chart`.
    colors : mapping of str to str, default `COLORS`
        The color of each row, by its name.

    Returns
    -------
    Axes

    Examples
    --------
    >>> table = pd.DataFrame({"value": [2.0], "low": [1.0], "high": [4.0]}, index=["X"])
    >>> intervals(table).get_yticklabels()[0].get_text()
    'X'
    """
    if ax is None:
        _, ax = plt.subplots(figsize=(7.2, 0.9 + 0.42 * len(table)))
    names = [str(name) for name in table.index]
    for y, name in enumerate(names):
        row, color = table.iloc[y], colors.get(name, "0.35")
        ax.plot([row["low"], row["high"]], [y, y], color=color, lw=2)
        if np.isfinite(row["value"]):
            ax.plot(row["value"], y, "o", color=color, ms=6)
            ax.annotate(
                _written(fmt, row["value"]), (row["value"], y), (0, 4), textcoords="offset points",
                ha="center", va="bottom", fontsize="small", color=_readable(color),
            )  # fmt: skip
        if "exact" in table and np.isfinite(row["exact"]):
            # behind the dot, which it must not hide
            ax.plot(row["exact"], y, "D", mfc="white", color=color, ms=8, zorder=1.9)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.75)
    ax.grid(visible=False, axis="y")
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    return ax


def histogram(
    ax: Axes,
    values: ArrayLike,
    edges: ArrayLike,
    *,
    line: float | None = None,
    density: bool = False,
    color: str = "#56B4E9",
    **options: Any,
) -> None:
    """Draw how many values lie between edges, and a line at what they are compared with.

    Parameters
    ----------
    ax : Axes
        The axes to draw on.
    values : array_like
        The values that are counted.
    edges : array_like
        The edges between which they are counted, ascending.
    line : float, optional
        Where a vertical line is drawn, such as their expectation.
    density : bool, default False
        Whether areas are shares of the values.
    color : str, default "#56B4E9"
        The color of the bars.
    **options
        For `Axes.stairs`.

    Examples
    --------
    >>> _, ax = plt.subplots()
    >>> histogram(ax, [1, 1, 3], [0, 2, 4], line=2)
    >>> ax.patches[0].get_data().values
    array([2, 1])
    """
    counts, edges = np.histogram(values, edges, density=density)
    ax.stairs(counts, edges, fill=True, color=color, **options)
    if line is not None:
        ax.axvline(line, color="black", lw=1)


def label_lines(ax: Axes, *, gap: float = 1.15) -> None:
    """Write each line's label at its right end, in its color, in place of a legend.

    Call it last, when the limits of the axes are final: it moves apart labels that would overlap.

    Parameters
    ----------
    ax : Axes
        The axes with the lines. Lines without a label get none.
    gap : float, default 1.15
        The least distance of two labels, in heights of a letter.

    Examples
    --------
    >>> _, ax = plt.subplots()
    >>> lines = ax.plot([0, 1], [0, 1], label="up") + ax.plot([0, 1], [0, 0.99], label="almost")
    >>> label_lines(ax)
    >>> [text.get_text() for text in ax.texts]
    ['almost', 'up']
    """
    inverse, low, high = ax.transAxes.inverted(), *sorted(ax.get_xlim())
    ends = []
    for line in ax.lines:
        label = str(line.get_label())
        points = np.column_stack([line.get_xdata(orig=False), line.get_ydata(orig=False)])
        inside = np.isfinite(points).all(1) & (points[:, 0] >= low) & (points[:, 0] <= high)
        if not label.startswith("_") and inside.any():
            at = inverse.transform(ax.transData.transform(points[inside][-1]))
            ends.append((float(at[1]), float(at[0]), label, _readable(to_hex(line.get_color()))))
    ends.sort()
    height = ax.bbox.height / ax.figure.dpi * 72  # points
    step = gap * plt.rcParams["font.size"] / height
    heights = _apart(np.clip([end[0] for end in ends], 0, 1), step)
    for y, (_, x, label, color) in zip(heights, ends, strict=True):
        ax.annotate(
            label, (x, y), (5, 0), xycoords="axes fraction", textcoords="offset points",
            va="center", color=color,
        )  # fmt: skip


def _written(fmt: str, value: float) -> str:
    """Write a number with the minus sign of an axis."""
    return fmt.format(value).replace("-", "\N{MINUS SIGN}")


def _apart(heights: np.ndarray, step: float) -> np.ndarray:
    """Move sorted heights apart until neighbors differ by a step, as little as it takes.

    They are the cumulated steps plus the isotonic fit of what is left, between 0 and 1, so that the
    sum of squared moves is the least possible.
    """
    from scipy.optimize import isotonic_regression

    steps = step * np.arange(len(heights))
    if len(heights) == 0:
        return heights
    return np.clip(isotonic_regression(heights - steps).x, 0, max(1 - steps[-1], 0)) + steps


def _readable(color: str) -> str:
    """Return a color dark enough for text on white: a contrast of 4.5, as WCAG 2.2 asks."""
    red, green, blue = to_rgb(color)
    while 0.2126 * _light(red) + 0.7152 * _light(green) + 0.0722 * _light(blue) > 1.05 / 4.5 - 0.05:
        red, green, blue = 0.97 * red, 0.97 * green, 0.97 * blue
    return to_hex((red, green, blue))


def _light(part: float) -> float:
    """Return how much light a part of a color sends, relative to white's."""
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
