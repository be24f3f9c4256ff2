"""What a sample, or a printed number, leaves open."""

from sampled_metrics.bounds.bounds import Bounds, identified_set, metric_bounds
from sampled_metrics.bounds.dominance import Dominance, dominates
from sampled_metrics.bounds.explain import Difference, Explanation, Explanations, explain

__all__ = [
    "Bounds",
    "Difference",
    "Dominance",
    "Explanation",
    "Explanations",
    "dominates",
    "explain",
    "identified_set",
    "metric_bounds",
]
