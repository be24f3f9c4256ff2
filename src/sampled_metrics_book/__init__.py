"""What the pages of the book share: the look of figures and tables, and self-checks of exercises.

It needs matplotlib: ``pip install "sampled-metrics[book]"``.
"""

from sampled_metrics_book.exercises import Answer
from sampled_metrics_book.figures import histogram, intervals, label_lines, slope_chart
from sampled_metrics_book.parts import reading_times
from sampled_metrics_book.style import COLORS, FIELD_STYLES, METRIC_COLORS, use_style
from sampled_metrics_book.tables import table

__all__ = [
    "COLORS",
    "FIELD_STYLES",
    "METRIC_COLORS",
    "Answer",
    "histogram",
    "intervals",
    "label_lines",
    "reading_times",
    "slope_chart",
    "table",
    "use_style",
]
