"""Ranking metrics for recommenders, what sampling does to them, and what can be saved."""

from sampled_metrics.bounds import (
    Bounds,
    Dominance,
    dominates,
    identified_set,
    metric_bounds,
)
from sampled_metrics.comparison import Comparison, compare, plan
from sampled_metrics.corrections import (
    BiasVariance,
    ConstrainedLeastSquares,
    CorrectedMetric,
    LeastSquares,
    RankEstimate,
    Uncorrected,
)
from sampled_metrics.experiment import exact_evaluation, expected_evaluation, sampled_evaluation
from sampled_metrics.learning import (
    MappedCutoff,
    Multinomial,
    estimate_rank_distribution,
    sample_adaptively,
)
from sampled_metrics.metrics import (
    AUC,
    F1,
    NDCG,
    AveragePrecision,
    Metric,
    Precision,
    Recall,
    ReciprocalRank,
)
from sampled_metrics.movielens import Split, load_movielens_1m, read_split
from sampled_metrics.ranking import Ranks, TiedRanks, exact_ranks
from sampled_metrics.recommenders import ItemKNN, MatrixFactorization
from sampled_metrics.sampling import expected_metric, rank_distribution, sample_ranks

__version__ = "0.1.0"

__all__ = [
    "AUC",
    "F1",
    "NDCG",
    "AveragePrecision",
    "BiasVariance",
    "Bounds",
    "Comparison",
    "ConstrainedLeastSquares",
    "CorrectedMetric",
    "Dominance",
    "ItemKNN",
    "LeastSquares",
    "MappedCutoff",
    "MatrixFactorization",
    "Metric",
    "Multinomial",
    "Precision",
    "RankEstimate",
    "Ranks",
    "Recall",
    "ReciprocalRank",
    "Split",
    "TiedRanks",
    "Uncorrected",
    "compare",
    "dominates",
    "estimate_rank_distribution",
    "exact_evaluation",
    "exact_ranks",
    "expected_evaluation",
    "expected_metric",
    "identified_set",
    "load_movielens_1m",
    "metric_bounds",
    "plan",
    "rank_distribution",
    "read_split",
    "sample_adaptively",
    "sample_ranks",
    "sampled_evaluation",
]
