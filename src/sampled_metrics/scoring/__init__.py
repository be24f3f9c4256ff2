"""From a model and a split of the data to ranks."""

from sampled_metrics.scoring.scoring import Recommender, exact_ranks
from sampled_metrics.scoring.split import Split, as_events, leave_last_out, read_split

__all__ = ["Recommender", "Split", "as_events", "exact_ranks", "leave_last_out", "read_split"]
