"""Ranking metrics for recommenders, what sampling does to them, and what can be saved."""

from sampled_metrics.corrections import CorrectedMetric, Estimator
from sampled_metrics.estimators import (
    BiasVariance,
    ConstrainedLeastSquares,
    LeastSquares,
    MappedCutoff,
    Multinomial,
    RankEstimate,
    Uncorrected,
)
from sampled_metrics.metric import Metric
from sampled_metrics.metrics import (
    AUC,
    F1,
    NDCG,
    AveragePrecision,
    Precision,
    Recall,
    ReciprocalRank,
)
from sampled_metrics.problem import Problem
from sampled_metrics.ranks import Ranks
from sampled_metrics.sampling import Draw
from sampled_metrics.ties import TiedRanks
