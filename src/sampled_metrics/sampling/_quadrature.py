"""Sums over very many ranks, from few of them."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import numpy as np

from sampled_metrics._arguments import FloatArray

HEAD = 256  # ranks that are summed one by one
GROWTH = 16  # of the panels behind them


def rank_grid(
    n: int, m: int, cut: int | None, prior: FloatArray | None = None, *, replacement: bool
) -> tuple[FloatArray, FloatArray]:
    """Return ranks and weights whose weighted sums are means over the ranks 1, ..., n.

    They are meant for products of two probabilities of sampled ranks among `m` samples, or of one
    and a metric that is smooth in the rank, and 0 beyond `cut` if there is one. With a `prior`,
    the means are under these probabilities of the ranks, else all ranks count alike.

    The first ranks represent themselves. Behind them come panels, each ending 16 times as far out
    as it begins, with a Gauss rule for the whole numbers in it: on all of them 1/r is equally
    smooth, and the probabilities are bumps of relative width 1/sqrt(m) or more.
    """
    # Between whole numbers, drawing without replacement nearly everything is no smooth affair.
    head = min(n, HEAD if replacement else max(HEAD, 4 * m))
    ends = [0, head]
    while ends[-1] < n:
        ends.append(min(GROWTH * ends[-1], n))
    if cut is not None and cut < n:
        ends = sorted({*ends, cut})
    n_nodes = 16 + int(6 * np.sqrt(m))
    rules = []
    for a, b in pairwise(ends):
        size = b - a if b <= head else n_nodes
        if prior is None:
            nodes, weights = gauss_rule(b - a, size)
            weights = weights / n
        else:
            nodes, weights = weighted_rule(prior[a:b], size)
        rules.append((a + 1 + nodes, weights))
    return np.concatenate([r for r, _ in rules]), np.concatenate([w for _, w in rules])


@lru_cache(maxsize=4096)
def gauss_rule(length: int, n_nodes: int) -> tuple[FloatArray, FloatArray]:
    r"""Return nodes and weights that sum polynomials over 0, ..., length - 1 exactly.

    The nodes are the zeros of the discrete Chebyshev (Gram) polynomials: the eigenvalues of their
    recurrence, whose squared coefficients are :math:`j^2 (N^2 - j^2) / (4 (4 j^2 - 1))` for N =
    `length` (Golub & Welsch 1969).
    """
    if n_nodes >= length:
        return np.arange(length, dtype=np.float64), np.ones(length)
    j = np.arange(1, n_nodes)
    scaled = j / 2 * np.sqrt((1 - (j / length) ** 2) / (4.0 * j**2 - 1))
    nodes, weights = _from_recurrence(np.zeros(n_nodes), scaled)
    # Rounding must not carry a node out of the range.
    return np.clip(length * nodes + (length - 1) / 2, 0, length - 1), length * weights


def weighted_rule(weights: FloatArray, n_nodes: int) -> tuple[FloatArray, FloatArray]:
    """Return the same as `gauss_rule` for sums with weights of 0 or above, one per number.

    The recurrence comes from Stieltjes' procedure (Gautschi 2004, Section 2.2.3).
    """
    numbers = np.flatnonzero(weights).astype(np.float64)
    weights = weights[weights > 0]
    if n_nodes >= len(numbers):
        return numbers, weights
    middle, half = (numbers[0] + numbers[-1]) / 2, (numbers[-1] - numbers[0]) / 2
    x = (numbers - middle) / half
    diagonal, side = np.zeros(n_nodes), np.zeros(n_nodes)
    before, now = np.zeros_like(x), np.full_like(x, 1 / np.sqrt(weights.sum()))
    for j in range(n_nodes):
        weighted = weights * now
        diagonal[j] = (weighted * now) @ x
        following = (x - diagonal[j]) * now - (side[j - 1] if j else 0.0) * before
        side[j] = np.sqrt(weights @ following**2)
        before, now = now, following / side[j]
    nodes, shares = _from_recurrence(diagonal, side[:-1])
    inside = np.clip(middle + half * nodes, numbers[0], numbers[-1])
    return inside, weights.sum() * shares


def _from_recurrence(diagonal: FloatArray, side: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the nodes of a Gauss rule and their shares of the whole weight."""
    matrix = np.diag(side, -1)  # the triangle below, which is all that is read
    matrix[np.diag_indices(len(diagonal))] = diagonal
    nodes, vectors = np.linalg.eigh(matrix)
    return nodes, vectors[0] ** 2
