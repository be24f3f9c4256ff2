"""From tables, lists, runs, files and engines to ranks, and back."""

from typing import TYPE_CHECKING

from sampled_metrics.io._columns import open_table
from sampled_metrics.io._files import read_integers, read_text
from sampled_metrics.io._pairs import pairs_of
from sampled_metrics.io.rank_tables import COLUMNS, rank_table, read_ranks, write_ranks
from sampled_metrics.io.recommendations import ranks_from_recommendations
from sampled_metrics.io.scores import ranks_from_scores
from sampled_metrics.io.trec import read_qrels, read_run

if TYPE_CHECKING:
    from sampled_metrics.io.scores import ByUser

__all__ = [
    "COLUMNS",
    "ByUser",
    "open_table",
    "pairs_of",
    "rank_table",
    "ranks_from_recommendations",
    "ranks_from_scores",
    "read_integers",
    "read_qrels",
    "read_ranks",
    "read_run",
    "read_text",
    "write_ranks",
]
