"""A metric of several relevant items as a sum of terms, one for each of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._arguments import FloatArray, IntArray
from sampled_metrics.metrics import Metric
from sampled_metrics.ranks import Ranks, trusted
from sampled_metrics.sampling._probabilities import alike


def sampled_values(metric: Metric, m: int) -> FloatArray:
    """Return M(1), ..., M(m + 1): the metric of each sampled rank, among m + 1 items."""
    return metric(np.arange(1, m + 2), n_items=m + 1)


def term_values(metric: Metric, ranks: NDArray[Any], q: int, n: int) -> FloatArray:
    """Return g(j, r + j - 1) / Z of q relevant items among n, shape (q, len(ranks)).

    This is what the j-th best of them adds to the metric at rank r among the irrelevant.
    """
    # Z must be the same wherever the relevant items are, such as at the top and at the end.
    starts = np.array([1, n - q + 1])
    ranks_of_both = (starts[:, None] + np.arange(q)).ravel()
    rows = trusted(ranks_of_both, q * np.arange(3), np.full(2, q), n_items=np.full(2, n))
    z = np.broadcast_to(metric.normalizer(rows), 2)
    if z[0] != z[1]:
        raise ValueError(
            f"metric is {metric}; it must be a sum over the relevant items, divided by a number "
            "that does not depend on their ranks"
        )
    order = np.arange(1, q + 1)[:, None]
    place = np.asarray(ranks) + order - 1
    values: FloatArray = metric.cut(metric.gain(place, order, q, n), place) / z[0]
    return values


def relevance_weights(metric: Metric, ranks: Ranks) -> FloatArray:
    """Return by how much each item's term is larger for its gain, shape (n_ranked,)."""
    if ranks.gains is None:
        return np.ones(len(ranks.best))
    # All in the order of their ranks, and nothing else: only the normalizers are compared.
    instances, n = (ranks.order, ranks.offsets, ranks.n_relevant), ranks.n_relevant + 1
    plain = trusted(*instances, n_items=n)
    graded = trusted(*instances, gains=ranks.gains, ideal_gains=ranks.ideal_gains, n_items=n)
    ours, ones = (np.broadcast_to(metric.normalizer(x), len(x)) for x in (graded, plain))
    weight: FloatArray = metric.relevance_weight(ranks.gains)
    return np.asarray(weight * (ones / ours)[ranks.instance])


def by_count(ranks: Ranks, n: IntArray) -> Iterator[tuple[int, int, IntArray, IntArray]]:
    """Yield each pair of numbers of relevant items and of items, who has it, and their places.

    The places of their ranks in `Ranks.best` have the shape (n_instances, n_relevant).
    """
    some = np.flatnonzero(ranks.n_relevant)
    for (q, items), places in alike(ranks.n_relevant[some], n[some]):
        x = some[places]
        yield q, items, x, ranks.offsets[x, None] + np.arange(q)
