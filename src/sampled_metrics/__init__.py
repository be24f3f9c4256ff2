"""Ranking metrics for recommenders, what sampling does to them, and what can be saved."""

# What few need is one level down, as the data sets in `sampled_metrics.experiments`.
from sampled_metrics.bounds import dominates, explain, metric_bounds
from sampled_metrics.corrections import BiasVariance, RankEstimate, Uncorrected
from sampled_metrics.evaluation import compare, evaluate, simulate
from sampled_metrics.metrics import (
    AUC,
    F1,
    NDCG,
    AveragePrecision,
    HitRate,
    Metric,
    Precision,
    Recall,
    ReciprocalRank,
)
from sampled_metrics.ranks import Ranks
from sampled_metrics.sampling import Draw, WeightedDraw
from sampled_metrics.scoring import InnerProduct, Split, leave_last_out

__version__ = "0.2.0"

__all__ = [
    "AUC",
    "F1",
    "NDCG",
    "AveragePrecision",
    "BiasVariance",
    "Draw",
    "HitRate",
    "InnerProduct",
    "Metric",
    "Precision",
    "RankEstimate",
    "Ranks",
    "Recall",
    "ReciprocalRank",
    "Split",
    "Uncorrected",
    "WeightedDraw",
    "compare",
    "dominates",
    "evaluate",
    "explain",
    "leave_last_out",
    "metric_bounds",
    "simulate",
]
