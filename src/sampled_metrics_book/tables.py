"""One layout for every table of the book."""

from __future__ import annotations

import math
import re
from html import escape
from typing import TYPE_CHECKING, Any

import pandas as pd
from pandas.api.types import (
    is_float,
    is_float_dtype,
    is_integer,
    is_integer_dtype,
    is_numeric_dtype,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from IPython.display import HTML

NAMES = ("year", "user")  # at the head of a row, these are numbers that nobody counts with


def table(
    values: pd.DataFrame | pd.Series[Any], caption: str = "", digits: int | None = None
) -> HTML:
    """Lay out a table: numbers to the right, with separators and as many digits in a column.

    Parameters
    ----------
    values : DataFrame or Series
        What to show.
    caption : str, optional
        Stands above the table.
    digits : int, optional
        Digits after the point, in columns of floats; by default, pandas' ``display.float_format``
        if it is set, else as many as give the column's largest number three significant digits.

    Returns
    -------
    HTML

    Examples
    --------
    >>> shown = table(pd.DataFrame({"users": [1000, 20]}, index=["X", "Y"]), "How many")
    >>> "1,000" in shown.data, "How many" in shown.data
    (True, True)
    >>> "<thead>" in shown.data, "<thead>" in table(pd.Series([1000, 20], ["X", "Y"])).data
    (True, False)
    """
    from IPython.display import HTML

    if isinstance(values, pd.Series):  # one without a name has no head
        frame = values.to_frame("" if values.name is None else values.name)
    else:
        frame = values
    formats = [_format(frame.iloc[:, i], digits) for i in range(frame.shape[1])]
    cells = {i: frame.iloc[:, i].map(form or _text) for i, form in enumerate(formats)}
    shown = pd.DataFrame(cells, index=frame.index).set_axis(frame.columns, axis=1)
    if frame.index.nlevels == 1 and frame.index.name is not None:
        # into the corner: pandas gives it a row of its own, empty otherwise
        *above, across = frame.columns.names
        shown = shown.rename_axis(index=None)
        both = across is not None and not above
        corner = f"{frame.index.name} ↓ {across} →" if both else frame.index.name
        shown.columns.names = [*above, corner]
    style = shown.style.format(escape="html")
    for axis in (0, 1):
        for level, name in enumerate(frame.axes[axis].names):
            heading = str if name in NAMES else _heading
            style = style.format_index(heading, escape="html", axis=axis, level=level)
    words = caption.replace("'", "\N{RIGHT SINGLE QUOTATION MARK}")  # as in the text
    title = f"<span>{escape(words)}</span>" if caption else ""
    html = style.set_table_attributes('class="dataframe"').set_caption(title).to_html()
    html = re.sub(r'<style.*?</style>\s*|<caption></caption>\s*|\sid="[^"]*"', "", html, flags=re.S)
    heads_nothing = r'<th class="(?:blank|col_heading)[^"]*"\s*>(?:&nbsp;)?</th>'
    html = re.sub(heads_nothing, "<td></td>", html)
    html = re.sub(r"<thead>\s*<tr>\s*(?:<td></td>\s*)+</tr>\s*</thead>\s*", "", html)
    if is_numeric_dtype(frame.index):
        html = re.sub('class="(row_heading|index_name) ', r'class="\1 number ', html)
    for i, form in enumerate(formats):
        if form is None:
            kind = "text words" if cells[i].str.contains(" ").any() else "text"
            html = html.replace(f' col{i}"', f' col{i} {kind}"')
    return HTML(html)


def _heading(value: object) -> str:
    if is_float(value):
        return f"{value:,.6g}"
    return f"{value:,d}" if is_integer(value) else str(value)


def _text(value: object) -> str:
    missing = value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))
    return "–" if missing else str(value)


def _format(column: pd.Series[Any], digits: int | None) -> Callable[[Any], str] | None:
    """Return what writes this column's numbers, or None if it holds no numbers."""
    form: Any = None
    if is_integer_dtype(column):
        form = "{:,d}".format
    elif is_float_dtype(column):
        largest, form = float(column.abs().max()), pd.options.display.float_format
        if digits is None and form is None and 0 < largest < 1e-3:
            form = "{:.2g}".format
        elif digits is not None or form is None:
            size = math.floor(math.log10(largest)) if 0 < largest < math.inf else 0
            form = f"{{:,.{min(max(2 - size, 0), 3) if digits is None else digits}f}}".format
    return form and (lambda value: "–" if pd.isna(value) else str(form(value)))
