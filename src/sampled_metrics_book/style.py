"""One look for every figure and table of the book."""

from __future__ import annotations

import matplotlib as mpl
from cycler import cycler
from matplotlib import font_manager

from sampled_metrics.evaluation.results import COLORS as PALETTE
from sampled_metrics_book.display import in_notebook

COLORS = dict(zip("ABCXYZ", PALETTE[:3] * 2, strict=True)) | {
    "popular": "#A6761D",
    "random": "#8C8C8C",
}
"""The color of each recommender, the same in every chapter; told apart by color-blind readers."""

METRIC_COLORS = {
    "Recall": "#882255",
    "NDCG": "#332288",
    "AP": "#7A7A1F",
    "RR": "#AA4499",
    "AUC": "#6E6E6E",
}
"""The color of each metric, the same in every chapter; after Paul Tol's muted scheme."""

FIELD_STYLES = {
    "recommenders": {"marker": "s", "color": "#D55E00"},
    "language models": {"marker": "v", "color": "#A6761D"},
    "knowledge graphs": {"marker": "^", "color": "#009E73"},
    "citations": {"marker": "D", "color": "#882255"},
    "images": {"marker": "o", "color": "#0072B2"},
    "dialogue": {"marker": "X", "color": "#4D4D4D"},
    "code search": {"marker": "P", "color": "#56B4E9"},
    "faces": {"marker": "*", "color": "#332288"},
}
"""The marker and the color of each field of the audit's data, the same in every chapter."""

FONT = "Source Sans Pro"


def _font() -> str:
    """Return the site's font, made known to Matplotlib, or Matplotlib's own without it."""
    try:
        from font_source_sans_pro import font_files_ttf
    except ImportError:
        return "DejaVu Sans"
    if FONT not in font_manager.get_font_names():
        for name in ("Regular", "It", "Semibold", "Bold"):
            path = font_files_ttf.get(f"SourceSansPro{name}", font_files_ttf["SourceSansPro"])
            font_manager.fontManager.addfont(path)
    return FONT


def use_style() -> None:
    """Set Matplotlib's defaults to the book's; in a notebook, show figures and tables its way.

    In a notebook, figures are vector graphics, tables are laid out by `table`, and NumPy's scalars
    print as plain numbers. Elsewhere, NumPy and pandas are left alone.

    Examples
    --------
    >>> with mpl.rc_context():
    ...     use_style()
    ...     mpl.rcParams["axes.spines.top"]
    False
    """
    mpl.rcParams.update(
        {
            "axes.axisbelow": True,
            "axes.edgecolor": "0.5",
            "axes.grid": True,
            "axes.prop_cycle": cycler(
                color=[*PALETTE[:3], "#882255", "#A6761D", "#332288", "#56B4E9", "#6E6E6E"]
            ),
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlelocation": "left",
            "axes.titlesize": "medium",
            "axes.titleweight": "semibold",
            "figure.constrained_layout.use": True,
            "figure.figsize": (7.2, 3.6),  # the full width of the text
            "figure.labelsize": "medium",
            "font.family": _font(),
            "font.size": 11.5,
            "grid.alpha": 0.25,
            "legend.frameon": False,
            "lines.linewidth": 2.0,
            "lines.solid_capstyle": "round",
            "mathtext.fontset": "stixsans",
            "xtick.color": "0.25",
            "ytick.color": "0.25",
            # The same run gives the same file, to the byte.
            "svg.hashsalt": "sampled_metrics",
        }
    )
    in_notebook()
