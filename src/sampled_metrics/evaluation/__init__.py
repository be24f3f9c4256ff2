"""One call for a whole evaluation: values, errors, comparisons."""

from sampled_metrics.evaluation.compare import Comparison, Power, compare, power_analysis
from sampled_metrics.evaluation.evaluate import evaluate
from sampled_metrics.evaluation.results import Evaluation
from sampled_metrics.evaluation.simulate import (
    exact_evaluation,
    expected_evaluation,
    sampled_evaluation,
)

__all__ = [
    "Comparison",
    "Evaluation",
    "Power",
    "compare",
    "evaluate",
    "exact_evaluation",
    "expected_evaluation",
    "power_analysis",
    "sampled_evaluation",
]
