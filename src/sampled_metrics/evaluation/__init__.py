"""One call for a whole evaluation: values, errors, comparisons."""

from sampled_metrics.evaluation.compare import Comparison, Power, compare
from sampled_metrics.evaluation.evaluate import evaluate
from sampled_metrics.evaluation.results import Evaluation
from sampled_metrics.evaluation.simulate import simulate

__all__ = ["Comparison", "Evaluation", "Power", "compare", "evaluate", "simulate"]
