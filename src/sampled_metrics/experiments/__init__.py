"""The public data sets, and the recommenders of the paper."""

from sampled_metrics.experiments.amazon import load_amazon, read_sequences
from sampled_metrics.experiments.movielens import load_movielens_1m, read_ratings
from sampled_metrics.experiments.recommenders import ItemKNN, MatrixFactorization

__all__ = [
    "ItemKNN",
    "MatrixFactorization",
    "load_amazon",
    "load_movielens_1m",
    "read_ratings",
    "read_sequences",
]
