"""Training events to scores: the recommenders of the paper's experiment.

A recommender has ``fit(train)`` and ``scores(users)``. Ranking needs only ``scores``, so any object
that returns an array of shape (len(users), n_items) from it can be ranked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from tqdm import tqdm

from sampled_metrics import _checks
from sampled_metrics._checks import FloatArray, IntArray

__all__ = ["ItemKNN", "MatrixFactorization"]

INITIAL_SCALE = 0.1  # standard deviation of the random factors that the first sweep starts from
ROWS_PER_SOLVE = 4096  # users (or items) whose normal matrices are in memory at once


@dataclass(eq=False)
class MatrixFactorization:
    r"""Matrix factorization of implicit feedback (recommender X of the paper).

    The score of item i for user u is :math:`\hat y(u, i) = \langle v_u, v_i \rangle`. The factors
    minimize

    .. math:: \sum_{(u, i) \in H} (\hat y(u, i) - 1)^2
              + \alpha \sum_{u \in U} \sum_{i \in I} \hat y(u, i)^2 + \lambda \|V\|_F^2

    by alternating least squares: while the items are fixed, every user has a small linear system
    of its own, and the other way round.

    Parameters
    ----------
    n_factors : int
        Number of factors d, at least 1.
    regularization : float
        The weight :math:`\lambda > 0` of the squared factors.
    unobserved_weight : float
        The weight :math:`\alpha \ge 0` of the squared scores of all pairs.
    n_sweeps : int
        Number of sweeps; each solves for all users, then for all items.
    rng : numpy.random.Generator or int
        Draws the initial item factors. The loss is not convex: another seed leads to another,
        about equally good solution.
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
    Hu, Koren and Volinsky, "Collaborative Filtering for Implicit Feedback Datasets", ICDM 2008.

    Examples
    --------
    >>> train = sparse.csr_array([[1.0, 1, 0, 0], [1, 1, 1, 0], [0, 0, 1, 1]])
    >>> MatrixFactorization(n_factors=2, regularization=0.01).fit(train).scores([0]).round(1)
    array([[ 0.8,  0.8,  0.2, -0.2]])
    """

    n_factors: int = 16
    regularization: float = 10.0
    unobserved_weight: float = 0.2
    n_sweeps: int = 15
    rng: np.random.Generator | int = 0
    progress: bool = True
    user_factors: FloatArray = field(init=False, repr=False)
    item_factors: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.n_factors = _checks.as_integer("n_factors", self.n_factors)
        self.n_sweeps = _checks.as_integer("n_sweeps", self.n_sweeps)
        # Zero would leave the system of a user without training events singular.
        self.regularization = _checks.as_number("regularization", self.regularization)
        weight = _checks.as_number("unobserved_weight", self.unobserved_weight, zero=True)
        self.unobserved_weight = weight
        _checks.as_generator(self.rng)

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
        by_user = _as_train(train)
        by_item = sparse.csr_array(by_user.T)
        shape = by_item.shape[0], self.n_factors
        self.item_factors = INITIAL_SCALE * _checks.as_generator(self.rng).standard_normal(shape)
        for _ in tqdm(range(self.n_sweeps), "sweeps", delay=2, disable=not self.progress):
            self.user_factors = self._solve(by_user, self.item_factors)
            self.item_factors = self._solve(by_item, self.user_factors)
        return self

    def _solve(self, events: sparse.csr_array, fixed: FloatArray) -> FloatArray:
        """Return the factors of the rows of `events` that are best while the others are fixed.

        A row solves (sum of v v' over its events + alpha V'V + lambda I) x = sum of v.
        A v v' is symmetric: one sparse product sums the upper triangles of all of them.
        """
        d = fixed.shape[1]
        upper = np.triu_indices(d)
        triangles = fixed[:, upper[0]] * fixed[:, upper[1]]
        shared = self.unobserved_weight * fixed.T @ fixed + self.regularization * np.eye(d)
        solved = np.empty((events.shape[0], d))
        for start in range(0, len(solved), ROWS_PER_SOLVE):
            block = events[start : start + ROWS_PER_SOLVE]
            normal = np.empty((block.shape[0], d, d))
            normal[:, *upper] = normal[:, *upper[::-1]] = block @ triangles
            right = (block @ fixed)[:, :, np.newaxis]
            solved[start : start + ROWS_PER_SOLVE] = np.linalg.solve(normal + shared, right)[..., 0]
        return solved

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
        events = _as_train(train)
        u, v = _fitted(self, "user_factors"), _fitted(self, "item_factors")
        if events.shape != (len(u), len(v)):
            raise ValueError(f"train has shape {events.shape}; fitted was {(len(u), len(v))}")
        users, items = events.nonzero()
        scores = sum(u[users, f] * v[items, f] for f in range(u.shape[1]))
        everywhere = np.sum((u.T @ u) * (v.T @ v))  # the squared scores of all pairs
        return float(
            np.sum((scores - 1) ** 2)
            + self.unobserved_weight * everywhere
            + self.regularization * (np.sum(u**2) + np.sum(v**2))
        )

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
        factors = _fitted(self, "user_factors")
        return np.asarray(factors[_as_users(users, len(factors))] @ self.item_factors.T)


@dataclass(eq=False)
class ItemKNN:
    r"""Item-based collaborative filtering (recommenders Y and Z of the paper).

    Items are similar if the same users have events with them. With :math:`U_i` the users of item i
    and :math:`N_k(i)` the k items nearest to it, the paper's equations 27 to 30 are

    .. math:: s_{ij} = \left( \frac{|U_i \cap U_j|}{\sqrt{|U_i|} \sqrt{|U_j|}} \right)^q, \quad
              s'_{ij} = s_{ij} \, \delta(i \in N_k(j)) \, \delta(j \in N_{k'}(i)), \quad
              s''_{ij} = \frac{s'_{ij}}{\|s'_i\|}, \quad
              \hat y(u, i) = \frac{\sum_{j: (u, j) \in H} s''_{ij}}{\sum_{j \in I} s''_{ij}}.

    The defaults are the choices that give the numbers printed there, and leave the last
    denominator out: recommender Y is ``ItemKNN(exponent=3)`` and Z is
    ``ItemKNN(column_neighbors=10)``. By the letter of the text Y would be
    ``ItemKNN(exponent=3, divide_by_row_sum=True)`` and Z
    ``ItemKNN(row_neighbors=10, divide_by_row_sum=True)``.

    Parameters
    ----------
    exponent : float
        The exponent q > 0; above 1 it sharpens the similarity.
    row_neighbors : int, optional
        The paper's k': row i keeps the columns j among the k' items nearest to i. None keeps all.
    column_neighbors : int, optional
        The paper's k: column j keeps the rows i among the k items nearest to j. None keeps all.
    counts_itself : bool
        Whether an item is among its own k nearest. Where all are kept, it always is.
    self_similarity : bool, optional
        Whether :math:`s_{ii} = 1` stays in row i before that is normalized; None: where item i is
        among its own neighbors. It is part of the norm and of the row sum, never of a candidate's
        score, because the user has no training event with a candidate.
    row_norm : {"l2", None}
        The norm that a row is divided by; None leaves the rows as they are.
    divide_by_row_sum : bool
        Whether scores are divided as in the last equation; `row_norm` then cancels.

    Attributes
    ----------
    similarity : ndarray or scipy.sparse.csc_array, shape (n_items, n_items)
        The similarity s''; dense, 8 bytes an entry, where all neighbors are kept.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Notes
    -----
    All items tied with the k-th nearest are kept, so that the numbering of items does not matter;
    an item may have more than k neighbors. Items without a common user are never neighbors.

    References
    ----------
    Krichene and Rendle, "On Sampled Metrics for Item Recommendation", KDD 2020, Section 9.

    Examples
    --------
    >>> train = sparse.csr_array([[1.0, 1, 0, 0], [1, 1, 1, 0], [0, 0, 1, 1]])
    >>> ItemKNN().fit(train).scores([0]).round(3)
    array([[1.333, 1.333, 0.707, 0.   ]])
    """

    exponent: float = 1.0
    row_neighbors: int | None = None
    column_neighbors: int | None = None
    counts_itself: bool = False
    self_similarity: bool | None = None
    row_norm: Literal["l2"] | None = "l2"
    divide_by_row_sum: bool = False
    similarity: FloatArray | sparse.csc_array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.exponent = _checks.as_number("exponent", self.exponent)
        for name in ("row_neighbors", "column_neighbors"):
            if getattr(self, name) is not None:
                setattr(self, name, _checks.as_integer(name, getattr(self, name)))
        if self.row_norm not in ("l2", None):
            raise ValueError(f"row_norm is {self.row_norm!r}; row_norm must be 'l2' or None")

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
        self._train = _as_train(train)
        common = sparse.csr_array(self._train.T @ self._train)
        common.sort_indices()
        n_items = common.shape[0]
        rows, columns = np.repeat(np.arange(n_items), np.diff(common.indptr)), common.indices
        popularity = common.diagonal()
        # One division of whole numbers gives the squared cosine: items that are equally near by
        # the formula are equal to the last bit. Two square roots would leave ties to rounding.
        squared = common.data**2 / (popularity[rows] * popularity[columns])
        similarity = squared ** (self.exponent / 2)

        others = similarity if self.counts_itself else np.where(rows == columns, 0.0, similarity)
        kept = np.ones(similarity.size, dtype=bool)
        if self.row_neighbors is not None:
            kept &= _nearest(others, common.indptr, self.row_neighbors)
        if self.column_neighbors is not None:
            near = _nearest(others, common.indptr, self.column_neighbors)
            # Entries are where items have a common user, so the transpose has them there too.
            kept &= sparse.csr_array(_like(common, near).T).data
        if self.self_similarity is not None:
            kept[rows == columns] = self.self_similarity
        similarity[~kept] = 0.0

        if self.row_norm == "l2":
            # Exact sums: rows of the same numbers in another order have the same norm.
            squares = (similarity**2).tolist()
            norms = np.sqrt([math.fsum(squares[a:b]) for a, b in pairwise(common.indptr)])
            similarity /= np.where(norms > 0, norms, 1.0)[rows]
        matrix = _like(common, similarity)
        if self.row_neighbors is None and self.column_neighbors is None:
            self.similarity = np.asfortranarray(matrix.toarray())  # its transpose is summed
        else:
            matrix.eliminate_zeros()
            self.similarity = sparse.csc_array(matrix)
        # Summed in the order of scores, so that a user of all an item's neighbors scores exactly 1.
        self._row_sums = self._sum(sparse.csr_array(np.ones((1, n_items))))
        return self

    def _sum(self, events: sparse.csr_array) -> FloatArray:
        sums = events @ self.similarity.T
        return np.asarray(sums.toarray() if sparse.issparse(sums) else sums)

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
        train = _fitted(self, "_train")
        sums = self._sum(train[_as_users(users, train.shape[0])])
        if self.divide_by_row_sum:
            sums /= np.where(self._row_sums > 0, self._row_sums, 1.0)
        return sums


def _nearest(values: FloatArray, indptr: NDArray[Any], k: int) -> NDArray[np.bool_]:
    """Tell which entries of a sparse matrix are among the k largest of their row, ties kept."""
    near = values > 0
    for start, stop in pairwise(indptr):
        if stop - start > k:
            row = values[start:stop]
            near[start:stop] &= row >= np.partition(row, -k)[-k]
    return near


def _like(matrix: sparse.csr_array, data: NDArray[Any]) -> sparse.csr_array:
    return sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def _as_train(train: sparse.csr_array) -> sparse.csr_array:
    """Return the training events in canonical form, or say which is not a one."""
    if not sparse.issparse(train) or train.ndim != 2:
        raise ValueError(f"train is a {type(train).__name__}; train must be a sparse matrix")
    events = sparse.csr_array(train).astype(np.float64)
    events.sum_duplicates()
    for at in np.flatnonzero(events.data != 1)[:1]:
        place = f"{np.searchsorted(events.indptr, at, side='right') - 1}, {events.indices[at]}"
        raise ValueError(f"train[{place}] is {events.data[at]}; train must hold ones and no others")
    return events


def _as_users(users: ArrayLike, n_users: int) -> IntArray:
    rows = _checks.as_integers("users", users, 0, n_users - 1, "the number of users less one")
    if rows.ndim != 1:
        raise ValueError(f"users has shape {rows.shape}; users must be a flat list")
    return rows


def _fitted(model: object, name: str) -> Any:
    """Return what `fit` has learned, or say that there was no fit."""
    if not hasattr(model, name):
        raise ValueError(f"{type(model).__name__} is not fitted; call fit(train) first")
    return getattr(model, name)
