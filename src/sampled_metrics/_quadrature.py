"""Sums over all ranks 1, ..., n from a few hundred of them, for any n."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import eigh_tridiagonal

from sampled_metrics._checks import FloatArray

HEAD = 256  # ranks that are summed one by one
GROWTH = 16  # of the panels behind them


def rank_grid(n: int, m: int, replacement: bool, cut: int | None) -> tuple[FloatArray, FloatArray]:
    """Return ranks and weights whose weighted sums are means over the ranks 1, ..., n.

    They are meant for products of two probabilities of sampled ranks among `m` samples, or of one
    and a metric that is smooth in the rank, and 0 beyond `cut` if there is one.
    The first ranks stand for themselves. Behind them come panels, each ending 16 times as far out
    as it begins, with a Gauss rule for the whole numbers in it. On all such panels 1/r is equally
    smooth, and the probabilities are bumps of relative width 1/sqrt(m) or more.
    So the number of ranks grows with log n and sqrt(m) only. They are real numbers.
    """
    # Between whole numbers, drawing without replacement nearly everything is no smooth affair.
    head = min(n, HEAD if replacement else max(HEAD, 4 * m))
    ends = [0, head]
    while ends[-1] < n:
        ends.append(min(GROWTH * ends[-1], n))
    if cut is not None and cut < n:
        ends = sorted({*ends, cut})
    n_nodes = 16 + int(6 * np.sqrt(m))
    panels = [gauss_rule(b - a, b - a if b <= head else n_nodes) for a, b in pairwise(ends)]
    ranks = [a + 1 + nodes for a, (nodes, _) in zip(ends[:-1], panels, strict=True)]
    return np.concatenate(ranks), np.concatenate([weights for _, weights in panels]) / n


def gauss_rule(length: int, n_nodes: int) -> tuple[FloatArray, FloatArray]:
    r"""Return nodes and weights that sum polynomials over 0, ..., length - 1 exactly.

    The rule is exact up to degree 2 `n_nodes` - 1. Its nodes are the zeros of the discrete
    Chebyshev (Gram) polynomials: the eigenvalues of their three-term recurrence, whose squared
    coefficients are :math:`j^2 (N^2 - j^2) / (4 (4 j^2 - 1))` for N = `length` (Golub & Welsch
    1969).
    """
    if n_nodes >= length:
        return np.arange(length, dtype=np.float64), np.ones(length)
    j = np.arange(1, n_nodes)
    scaled = j / 2 * np.sqrt((1 - (j / length) ** 2) / (4.0 * j**2 - 1))
    nodes: Any
    vectors: Any
    nodes, vectors = eigh_tridiagonal(np.zeros(n_nodes), scaled)
    # Rounding must not carry a node out of the range.
    inside = np.clip(length * nodes + (length - 1) / 2, 0, length - 1)
    return inside, length * vectors[0] ** 2
