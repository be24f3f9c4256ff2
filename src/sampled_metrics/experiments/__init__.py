"""The public data sets, and the recommenders of the paper."""

from sampled_metrics.experiments.datasets import (
    load_amazon,
    load_movielens_1m,
    read_ratings,
    read_sequences,
)
from sampled_metrics.experiments.recommenders import ItemKNN, MatrixFactorization

__all__ = [
    "ItemKNN",
    "MatrixFactorization",
    "load_amazon",
    "load_movielens_1m",
    "read_ratings",
    "read_sequences",
]
