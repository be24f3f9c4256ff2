"""From a model and a split of the data to ranks."""

from sampled_metrics.ranks import Ranks
from sampled_metrics.scoring.certificate import Certificate, certify
from sampled_metrics.scoring.inner_product import InnerProduct
from sampled_metrics.scoring.scoring import Recommender, from_model
from sampled_metrics.scoring.split import Split, as_events, leave_last_out, read_split

__all__ = [
    "Certificate",
    "InnerProduct",
    "Recommender",
    "Split",
    "as_events",
    "certify",
    "leave_last_out",
    "read_split",
]

Ranks.from_model = staticmethod(from_model)  # type: ignore[method-assign]
