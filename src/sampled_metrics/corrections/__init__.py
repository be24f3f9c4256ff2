"""What the exact metric may have been: estimators of it from sampled ranks."""

from sampled_metrics.corrections.estimators import (
    BiasVariance,
    ConstrainedLeastSquares,
    MappedCutoff,
    Multinomial,
    RankEstimate,
    Uncorrected,
)
from sampled_metrics.corrections.fit import CorrectedMetric, Estimator, Problem
from sampled_metrics.corrections.priors import (
    AdaptiveSample,
    estimate_rank_distribution,
    sample_adaptively,
)

__all__ = [
    "AdaptiveSample",
    "BiasVariance",
    "ConstrainedLeastSquares",
    "CorrectedMetric",
    "Estimator",
    "MappedCutoff",
    "Multinomial",
    "Problem",
    "RankEstimate",
    "Uncorrected",
    "estimate_rank_distribution",
    "sample_adaptively",
]
