"""What the pages of the book share: the look of figures, and self-checks of exercises.

It needs matplotlib: ``pip install "sampled-metrics[book]"``.
"""

from sampled_metrics.book.exercises import Answer
from sampled_metrics.book.figures import COLORS, compare_orders, use_style

__all__ = ["COLORS", "Answer", "compare_orders", "use_style"]
