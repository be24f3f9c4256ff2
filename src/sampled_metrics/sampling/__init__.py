"""What an evaluation on sampled items reports: the draws, and the probabilities behind them."""

from sampled_metrics.sampling._probabilities import (
    alike,
    blocks,
    chain_probabilities,
    expectation,
    expectation_over_ties,
    nodes_of_ties,
    probabilities,
)
from sampled_metrics.sampling._quadrature import HEAD, rank_grid
from sampled_metrics.sampling._terms import by_count, relevance_weights, sampled_values, term_values
from sampled_metrics.sampling.draw import (
    Draw,
    as_draw,
    as_one_size,
    as_single,
    check_is_sample,
    check_own_samples,
    check_single,
    expect_terms,
    number_of_items,
    one_sampled_each,
)
from sampled_metrics.sampling.weighted import WeightedDraw

__all__ = [
    "HEAD",
    "Draw",
    "WeightedDraw",
    "alike",
    "as_draw",
    "as_one_size",
    "as_single",
    "blocks",
    "by_count",
    "chain_probabilities",
    "check_is_sample",
    "check_own_samples",
    "check_single",
    "expect_terms",
    "expectation",
    "expectation_over_ties",
    "nodes_of_ties",
    "number_of_items",
    "one_sampled_each",
    "probabilities",
    "rank_grid",
    "relevance_weights",
    "sampled_values",
    "term_values",
]
