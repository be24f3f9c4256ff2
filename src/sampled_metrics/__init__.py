"""Ranking metrics for recommenders, what sampling does to them, and what can be saved."""

from sampled_metrics.amazon import load_amazon, read_sequences
from sampled_metrics.answer import evaluate
from sampled_metrics.bounds import Bounds, identified_set, metric_bounds
from sampled_metrics.comparison import Comparison, Power, compare
from sampled_metrics.corrections import CorrectedMetric
from sampled_metrics.data import Split, leave_last_out, read_split
from sampled_metrics.dominance import Dominance, dominates
from sampled_metrics.estimator import Estimator
from sampled_metrics.estimators import (
    BiasVariance,
    ConstrainedLeastSquares,
    LeastSquares,
    MappedCutoff,
    Multinomial,
    RankEstimate,
    Uncorrected,
)
from sampled_metrics.evaluation import exact_evaluation, expected_evaluation, sampled_evaluation
from sampled_metrics.explanation import Difference, Explanation, explain
from sampled_metrics.frames import ranks_from_scores
from sampled_metrics.lists import ranks_from_recommendations
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
from sampled_metrics.movielens import load_movielens_1m, read_ratings
from sampled_metrics.popularity import WeightedDraw
from sampled_metrics.power import power_analysis
from sampled_metrics.priors import AdaptiveSample, estimate_rank_distribution, sample_adaptively
from sampled_metrics.problem import Problem
from sampled_metrics.rank_tables import rank_table, read_ranks, write_ranks
from sampled_metrics.ranks import Ranks
from sampled_metrics.recommenders import ItemKNN, MatrixFactorization
from sampled_metrics.report import Evaluation
from sampled_metrics.sampling import Draw
from sampled_metrics.scoring import Recommender, exact_ranks
from sampled_metrics.ties import TiedRanks
from sampled_metrics.trec import read_qrels, read_run

__version__ = "0.2.0"

__all__ = [
    "AUC",
    "F1",
    "NDCG",
    "AdaptiveSample",
    "AveragePrecision",
    "BiasVariance",
    "Bounds",
    "Comparison",
    "ConstrainedLeastSquares",
    "CorrectedMetric",
    "Difference",
    "Dominance",
    "Draw",
    "Estimator",
    "Evaluation",
    "Explanation",
    "ItemKNN",
    "LeastSquares",
    "MappedCutoff",
    "MatrixFactorization",
    "Metric",
    "Multinomial",
    "Power",
    "Precision",
    "Problem",
    "RankEstimate",
    "Ranks",
    "Recall",
    "ReciprocalRank",
    "Recommender",
    "Split",
    "TiedRanks",
    "Uncorrected",
    "WeightedDraw",
    "compare",
    "dominates",
    "estimate_rank_distribution",
    "evaluate",
    "exact_evaluation",
    "exact_ranks",
    "expected_evaluation",
    "explain",
    "identified_set",
    "leave_last_out",
    "load_amazon",
    "load_movielens_1m",
    "metric_bounds",
    "power_analysis",
    "rank_table",
    "ranks_from_recommendations",
    "ranks_from_scores",
    "read_qrels",
    "read_ranks",
    "read_ratings",
    "read_run",
    "read_sequences",
    "read_split",
    "sample_adaptively",
    "sampled_evaluation",
    "write_ranks",
]
