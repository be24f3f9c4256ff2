"""Ranking metrics for recommenders, what sampling does to them, and what can be saved."""

from sampled_metrics.comparison import Comparison, compare
from sampled_metrics.corrections import CorrectedMetric
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
from sampled_metrics.movielens import Split, load_movielens_1m, read_split
from sampled_metrics.power import power_analysis
from sampled_metrics.problem import Problem
from sampled_metrics.ranks import Ranks
from sampled_metrics.recommenders import ItemKNN, MatrixFactorization
from sampled_metrics.sampling import Draw
from sampled_metrics.scoring import exact_ranks
from sampled_metrics.ties import TiedRanks
