"""From tables, lists, runs, files and engines to ranks, and back."""

from typing import TYPE_CHECKING

from sampled_metrics.io._columns import column_names, open_table
from sampled_metrics.io._files import read_integers, read_text
from sampled_metrics.io._pairs import pairs_of
from sampled_metrics.io.rank_tables import (
    COLUMNS,
    rank_table,
    read_ranks,
    to_frame,
    write,
    write_ranks,
)
from sampled_metrics.io.recommendations import from_recommendations
from sampled_metrics.io.scores import from_scores
from sampled_metrics.io.trec import from_run, read_qrels, read_run
from sampled_metrics.ranks import Ranks

if TYPE_CHECKING:
    from sampled_metrics.io.scores import ByUser as ByUser

__all__ = [
    "COLUMNS",
    "column_names",
    "open_table",
    "pairs_of",
    "rank_table",
    "read_integers",
    "read_qrels",
    "read_ranks",
    "read_run",
    "read_text",
    "write_ranks",
]

# Ranks know nothing of this room: it gives them their doors.
for name, door in {
    "from_scores": staticmethod(from_scores),
    "from_recommendations": staticmethod(from_recommendations),
    "from_run": staticmethod(from_run),
    "read": staticmethod(read_ranks),
    "to_frame": to_frame,
    "write": write,
}.items():
    setattr(Ranks, name, door)
