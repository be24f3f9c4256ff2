"""Training events to scores: the recommenders of the paper's experiment."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._arguments import (
    FloatArray,
    IntArray,
    as_choice,
    as_fields,
    as_flag,
    as_generator,
    as_integer,
    as_integers,
    as_number,
)
from sampled_metrics.scoring import as_events

if TYPE_CHECKING:
    from scipy import sparse

INITIAL_SCALE = 0.1  # standard deviation of the random factors before the first iteration
EVENTS_AT_ONCE = 2**16  # whose factors are copied at once
PAIRS_AT_ONCE = 2**22  # of items, whose similarities are computed at once


class _Fitted:
    """What is the same in all recommenders: checks, and what `fit` and `scores` promise."""

    _shape: tuple[int, int]  # of the training events, once there was a fit

    def fit(self, train: sparse.csr_array) -> Self:
        """Fit to training events.

        Parameters
        ----------
        train : scipy.sparse.csr_array, shape (n_users, n_items)
            A one per training event, nothing else.

        Returns
        -------
        Self
            The recommender itself, fitted.

        Raises
        ------
        ValueError
            If `train` is not sparse or holds anything but ones.
        """
        events = as_events(train)
        self._fit(events)
        self._shape = events.shape
        return self

    def _fit(self, events: sparse.csr_array) -> None:
        raise NotImplementedError

    def scores(self, users: ArrayLike) -> FloatArray:
        """Score all items.

        Parameters
        ----------
        users : array_like of int, shape (n,)
            Users, in 0..n_users - 1.

        Returns
        -------
        ndarray of float64, shape (n, n_items)
            The scores, higher for better items.

        Raises
        ------
        ValueError
            If nothing was fitted, or a user is out of range.
        """
        high = self._fitted()[0] - 1
        text = "the number of users less one"
        return self._score(as_integers("users", users, 0, high, text, flat=True))

    def _score(self, users: IntArray) -> FloatArray:
        raise NotImplementedError

    def _fitted(self) -> tuple[int, int]:
        """Return how many users and items were fitted, or say that there was no fit."""
        if not hasattr(self, "_shape"):
            raise ValueError(f"{type(self).__name__} is not fitted; call fit(train) first")
        return self._shape


@dataclass(eq=False)
class MatrixFactorization(_Fitted):
    r"""Matrix factorization of implicit feedback (recommender X of the paper).

    The score of item i for user u is :math:`\hat y(u, i) = \langle v_u, v_i \rangle`. The factors
    minimize

    .. math:: \sum_{(u, i) \in H} (\hat y(u, i) - 1)^2
              + \alpha \sum_{u \in U} \sum_{i \in I} \hat y(u, i)^2 + \lambda \|V\|_F^2

    by alternating least squares: while the item factors are fixed, the factors of each user solve
    a small linear system; while the user factors are fixed, those of each item do.

    Parameters
    ----------
    n_factors : int
        Number of factors d, at least 1.
    regularization : float
        The weight :math:`\lambda > 0` of the squared factors.
    unobserved_weight : float
        The weight :math:`\alpha \ge 0` of the squared scores of all pairs, including observed
        ones. The :math:`\alpha` of Hu, Koren and Volinsky is :math:`1/\alpha` here, their
        :math:`\lambda` is :math:`\lambda (1 + \alpha) / \alpha`, and their scores are
        :math:`1 + \alpha` times ours.
    n_iterations : int
        Number of iterations; each solves for all users, then for all items.
    rng : int, numpy.random.SeedSequence, numpy.random.Generator or None
        Draws the initial item factors. The default is a seed: two fits give the same scores.
    progress : bool
        Whether a fit of more than two seconds shows a progress bar.

    Attributes
    ----------
    user_factors, item_factors : ndarray of float64, shape (n_users or n_items, n_factors)

    Raises
    ------
    ValueError
        If a parameter is out of range.

    References
    ----------
    Krichene and Rendle, "On Sampled Metrics for Item Recommendation", KDD 2020, Section 9;
    Hu, Koren and Volinsky, "Collaborative Filtering for Implicit Feedback Datasets", ICDM 2008;
    Rendle, Krichene, Zhang and Koren, "Revisiting the Performance of iALS on Item Recommendation
    Benchmarks", RecSys 2022.

    Examples
    --------
    >>> from scipy import sparse
    >>> train = sparse.csr_array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 1, 1]])
    >>> MatrixFactorization(n_factors=2, regularization=0.01).fit(train).scores([0]).round(1)
    array([[ 0.8,  0.8,  0.2, -0.2]])
    """

    n_factors: int = 16
    _: KW_ONLY
    regularization: float = 10.0
    unobserved_weight: float = 0.2
    n_iterations: int = 15
    rng: np.random.Generator | np.random.SeedSequence | int | None = 0
    progress: bool = True
    user_factors: FloatArray = field(init=False, repr=False)
    item_factors: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        as_fields(self, n_factors=as_integer, n_iterations=as_integer, progress=as_flag)
        # Zero would leave the system of a user without training events singular.
        zero = partial(as_number, zero=True)
        as_fields(self, regularization=as_number, unobserved_weight=zero)
        as_generator(self.rng)

    def _fit(self, by_user: sparse.csr_array) -> None:
        from scipy import sparse
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
        from tqdm import tqdm

        by_item = sparse.csr_array(by_user.T)
        shape = by_item.shape[0], self.n_factors
        self.item_factors = INITIAL_SCALE * as_generator(self.rng).standard_normal(shape)
        steps = tqdm(range(self.n_iterations), "iterations", delay=2, disable=not self.progress)
        # The products are small: on a busy machine, waiting for a second thread took ten times as
        # long as the work.
        with threadpool_limits(1, "blas"):
            for _ in steps:
                self.user_factors = self._solve(by_user, self.item_factors)
                self.item_factors = self._solve(by_item, self.user_factors)

    def _solve(self, events: sparse.csr_array, fixed: FloatArray) -> FloatArray:
        """Return the factors of the rows of `events` that are best while the others are fixed.

        If W holds the fixed factors of a row's events, the row's are x = (A + W'W)^-1 W'1, where
        A = alpha V'V + lambda I is the same for all rows. With A = L L' and Z = W L'^-1 that is
        x = L'^-1 (I + Z'Z)^-1 Z'1. Rows with equally many events are solved together.
        """
        weight, n_factors = self.unobserved_weight, fixed.shape[1]
        shared = weight * fixed.T @ fixed + self.regularization * np.eye(n_factors)
        inverse = np.linalg.inv(np.linalg.cholesky(shared))
        scaled = fixed @ inverse.T
        solved = np.empty((events.shape[0], n_factors))
        counts = np.diff(events.indptr)
        order = np.argsort(counts, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(counts[order])) + 1):
            columns = np.arange(counts[rows[0]])
            for part in np.array_split(rows, 1 + rows.size * columns.size // EVENTS_AT_ONCE):
                places = events.indptr[part][:, np.newaxis] + columns
                solved[part] = _regress(scaled[events.indices[places]])
        return solved @ inverse

    def loss(self, train: sparse.csr_array) -> float:
        """Compute the loss that the fit minimizes.

        Parameters
        ----------
        train : scipy.sparse.csr_array, shape (n_users, n_items)
            The training events that were fitted.

        Returns
        -------
        float
            The three sums of the class's formula.

        Raises
        ------
        ValueError
            If nothing was fitted, or `train` has another shape.
        """
        events = as_events(train)
        if events.shape != (shape := self._fitted()):
            raise ValueError(f"train has shape {events.shape}; the fit had {shape}")
        u, v = self.user_factors, self.item_factors
        users, items = events.nonzero()
        scores = sum(u[users, f] * v[items, f] for f in range(u.shape[1]))
        everywhere = np.sum((u.T @ u) * (v.T @ v))  # the squared scores of all pairs
        return float(
            np.sum((scores - 1) ** 2)
            + self.unobserved_weight * everywhere
            + self.regularization * (np.sum(u**2) + np.sum(v**2))
        )

    def _score(self, users: IntArray) -> FloatArray:
        return np.asarray(self.user_factors[users] @ self.item_factors.T)


def _regress(z: FloatArray) -> FloatArray:
    """Return (I + Z'Z)^-1 Z'1 for a stack of matrices Z, of shape (rows, events, factors).

    As (I + Z'Z) Z' = Z' (I + Z Z'), the system may have the size of either side: we take the less.
    """
    n_events, n_factors = z.shape[1:]
    transposed = z.swapaxes(1, 2)
    if n_events < n_factors:
        ones = np.ones((n_events, 1))
        solved = transposed @ np.linalg.solve(np.eye(n_events) + z @ transposed, ones)
    else:
        sums = z.sum(axis=1)[..., np.newaxis]
        solved = np.linalg.solve(np.eye(n_factors) + transposed @ z, sums)
    return np.asarray(solved[..., 0])


@dataclass(eq=False)
class ItemKNN(_Fitted):
    r"""Item-based collaborative filtering (recommenders Y and Z of the paper).

    Items are similar if the same users have events with them. With :math:`U_i` the users of item i
    and :math:`N_k(i)` the k items nearest to it, the paper's equations 27 to 30 are

    .. math:: s_{ij} &= \left( \frac{|U_i \cap U_j|}{\sqrt{|U_i|} \sqrt{|U_j|}} \right)^q, \\
              s'_{ij} &= s_{ij} \, \delta(i \in N_k(j)) \, \delta(j \in N_{k'}(i)), \\
              s''_{ij} &= \frac{s'_{ij}}{\|s'_i\|}, \\
              \hat y(u, i) &= \frac{\sum_{j: (u, j) \in H} s''_{ij}}{\sum_{j \in I} s''_{ij}}.

    The defaults give the numbers printed in the paper, and leave the last denominator out:
    recommender Y is ``ItemKNN(exponent=3)``, and Z is ``ItemKNN(column_neighbors=10)``. By the
    words of the paper, both have ``divide_by_row_sum=True``, and Z has ``row_neighbors=10``.

    Parameters
    ----------
    exponent : float
        The exponent q > 0; above 1 it sharpens the similarity.
    row_neighbors : int, optional
        The paper's k': row i keeps the columns j among the k' items nearest to i. None keeps all.
    column_neighbors : int, optional
        The paper's k: column j keeps the rows i among the k items nearest to j. None keeps all.
    counts_itself : bool
        Whether an item is among its own k nearest. If all items are kept, it always is.
    self_similarity : bool, optional
        Whether :math:`s_{ii} = 1` stays in row i before the row is normalized. With None it stays
        if item i is among its own neighbors. It counts in the norm and in the row sum only.
    row_norm : {"l2", None}
        The norm that a row is divided by; None leaves the rows as they are.
    divide_by_row_sum : bool
        Whether scores are divided as in the last equation; `row_norm` then cancels.

    Attributes
    ----------
    similarity : ndarray or scipy.sparse.csc_array, shape (n_items, n_items)
        The similarity s'', sparse unless a dense matrix takes less memory.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Notes
    -----
    All items tied with the k-th nearest are kept, so that an item may have more than k neighbors,
    but never one without a common user. A sparse similarity takes 12 bytes for each kept pair.

    References
    ----------
    Krichene and Rendle, "On Sampled Metrics for Item Recommendation", KDD 2020, Section 9.

    Examples
    --------
    >>> from scipy import sparse
    >>> train = sparse.csr_array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 1, 1]])
    >>> ItemKNN().fit(train).scores([0]).round(3)
    array([[1.333, 1.333, 0.707, 0.   ]])
    """

    exponent: float = 1.0
    _: KW_ONLY
    row_neighbors: int | None = None
    column_neighbors: int | None = None
    counts_itself: bool = False
    self_similarity: bool | None = None
    row_norm: Literal["l2"] | None = "l2"
    divide_by_row_sum: bool = False
    similarity: FloatArray | sparse.csc_array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        as_fields(self, row_neighbors=as_integer, column_neighbors=as_integer, exponent=as_number)
        flags = ("counts_itself", "self_similarity", "divide_by_row_sum")
        as_fields(self, **dict.fromkeys(flags, as_flag))
        as_choice("row_norm", self.row_norm, ("l2", None))

    def _fit(self, events: sparse.csr_array) -> None:
        from scipy import sparse

        self._train = events
        if self.column_neighbors is None:
            kept = self._nearest(self.row_neighbors)
        else:  # similarities are symmetric, so that rows of the one are columns of the other
            kept = sparse.csr_array(self._nearest(self.column_neighbors).T)
            if self.row_neighbors is not None:
                kept = sparse.csr_array(kept.multiply(self._nearest(self.row_neighbors) > 0))
        if self.self_similarity is not None:
            has_events = np.diff(sparse.csc_array(self._train).indptr) > 0
            wanted = np.where(has_events, float(self.self_similarity), 0.0)
            kept = sparse.csr_array(kept + sparse.diags_array(wanted - kept.diagonal()))
            kept.eliminate_zeros()
        if self.row_norm == "l2":
            kept.data /= np.repeat(_norms(kept), np.diff(kept.indptr))
        n_items = kept.shape[0]
        if 3 * kept.nnz >= 2 * n_items**2:  # 12 bytes an entry, or 8 bytes for all pairs
            self.similarity = kept.toarray(order="F")  # its transpose is summed
        else:
            self.similarity = sparse.csc_array(kept)
        # Summed in the order of scores, so that a user of all an item's neighbors scores exactly 1.
        self._row_sums = self._sum(sparse.csr_array(np.ones((1, n_items))))

    def _nearest(self, k: int | None) -> sparse.csr_array:
        """Return in each row the similarities to the item's k nearest, or to all items."""
        from scipy import sparse

        by_item = sparse.csr_array(self._train.T)
        n_items, popularity = by_item.shape[0], np.diff(by_item.indptr).astype(np.float64)
        n_rows, blocks = 1 + PAIRS_AT_ONCE // n_items, []
        for start in range(0, n_items, n_rows):
            block = sparse.csr_array(by_item[start : start + n_rows] @ self._train)
            rows = np.repeat(np.arange(start, start + block.shape[0]), np.diff(block.indptr))
            # One division of whole numbers gives the squared cosine: items that are equally near
            # by the formula are equal to the last bit. Two square roots would round differently.
            block.data **= 2
            block.data /= popularity[rows] * popularity[block.indices]
            block.data **= self.exponent / 2
            if k is not None:
                if not self.counts_itself:
                    block.data[rows == block.indices] = 0.0
                _keep_largest(block, k)
            blocks.append(block)
        return sparse.csr_array(sparse.vstack(blocks, format="csr"))

    def _sum(self, events: sparse.csr_array) -> FloatArray:
        sums = events @ self.similarity.T
        return sums if isinstance(sums, np.ndarray) else np.asarray(sums.toarray())

    def _score(self, users: IntArray) -> FloatArray:
        sums = self._sum(self._train[users])
        if self.divide_by_row_sum:
            sums /= np.where(self._row_sums > 0, self._row_sums, 1.0)
        return sums


def _keep_largest(matrix: sparse.csr_array, k: int) -> None:
    """Keep the k largest entries of each row, and those tied with the last of them."""
    for start, stop in pairwise(matrix.indptr):
        if stop - start > k:
            row = matrix.data[start:stop]
            row[row < np.partition(row, -k)[-k]] = 0.0
    matrix.eliminate_zeros()


def _norms(matrix: sparse.csr_array) -> FloatArray:
    """Return the norms of the rows, equal for rows of the same numbers in another order."""
    squares = matrix.data**2
    norms = np.sqrt([np.sort(squares[a:b]).sum() for a, b in pairwise(matrix.indptr)])
    return np.where(norms > 0, norms, 1.0)
