"""What the pages of the book share: the look of figures and tables, and self-checks of exercises.

It needs matplotlib: ``pip install "sampled-metrics[book]"``.
"""

from sampled_metrics.book.exercises import Answer
from sampled_metrics.book.figures import histogram, intervals, label_lines, slope_chart
from sampled_metrics.book.style import COLORS, FIELD_STYLES, METRIC_COLORS, use_style
from sampled_metrics.book.tables import table

__all__ = [
    "COLORS",
    "FIELD_STYLES",
    "METRIC_COLORS",
    "Answer",
    "histogram",
    "intervals",
    "label_lines",
    "slope_chart",
    "table",
    "use_style",
]
