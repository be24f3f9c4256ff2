"""A model whose score is an inner product, by a definition that no library for matrices changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sampled_metrics._arguments import FloatArray, IntArray, as_array, as_integers, refuse
from sampled_metrics.scoring._counting import on_a_device, on_host, take_rows

MOST_COLUMNS = 2**22  # for which the margin is proven
PIECE = 2**17  # numbers that are worked on together, so that they stay in the cache


@dataclass(frozen=True, eq=False, init=False)
class InnerProduct:
    r"""A model whose score is the inner product of a user's and an item's vector, and biases.

    `Ranks.from_model` ranks by such a model without computing most of its scores.

    **What a score is.** With all numbers taken as float64, the score of user u and item i is

    .. math:: s_{ui} = (((u_1 v_1 + u_2 v_2) + \dots) + u_d v_d) + b_i + b_u,

    where each product and each sum, from left to right, is rounded to float64. A bias that is not
    given is left out. Products of matrices add in an order of their own, which depends on the
    library, the processor, the number of threads and the size of the matrix: two items with the
    same vector may get different scores. This definition depends on nothing, so neither do ranks
    and ties.

    **The margin.** `Ranks.from_model` computes a float32 product (float64 on a device) and decides
    by it wherever it is sure to decide as the definition does; the few other pairs are computed by
    the definition. Let û = (u, 1) and v̂ = (v, bᵢ), or the vectors themselves where items have no
    bias, D their length, p their inner product and R = Σ \|ûⱼ v̂ⱼ\|, which is at most ‖û‖ ‖v̂‖
    (Cauchy-Schwarz). Let ε = 2⁻²⁴, the unit of rounding in float32.

    1. Rounding û and v̂ to float32 changes each product by at most 2ε + ε² times itself, and D
       products, added in any order, with fused operations or without, err by at most
       Dε / (1 - Dε) times the sum of their sizes (Higham 2002, section 3.1). With D at most 2²²,
       the float32 product errs by less than (4/3 D + 3) ε R.
    2. In the same way the definition differs from p + bᵤ by less than (D + 2) 2⁻⁵² (R + \|bᵤ\|),
       and so does what p is compared with, the held-out item's score less bᵤ.
    3. Vectors are scaled by powers of 2, which rounds nothing, so that no number of a user is above
       1, and none of an item above 2³²: nothing overflows. A number or product that is too small
       for float32, or that a processor takes for 0, is off by at most 2⁻¹²⁶, next to another of at
       most 2³²: D terms by less than D 2⁻⁹². In the definition a product that is too small for
       float64 is off by at most 2⁻¹⁰⁷⁵, times the scale c.

    The margin is (D + 4) (2⁻²³ ‖û‖ ‖v̂‖ + 2⁻⁵⁰ \|bᵤ\| + 2⁻⁹⁰ + 2⁻¹⁰⁷⁴ c). This is half as much again
    as is needed, which leaves room for the rounding of lengths and of the margin itself. It assumes
    that NumPy's library for matrices computes float32 products in float32, or better, as they all
    do unless told otherwise.

    Parameters
    ----------
    user_vectors : array, shape (n_users, d)
        Float16, 32 or 64, or integers; an array of NumPy, also on disk (`numpy.memmap`), a tensor
        of torch or an array of any other library that follows the array API standard. They are
        not copied: do not change them. Give those by which the model scores: some libraries solve a
        user's vector anew for each query, and keep another from training.
    item_vectors : array, shape (n_items, d)
        The same. Products are computed where they are. On a device this is done in float64, which
        the device must have: the float32 products of many devices are no float32 products.
    user_bias, item_bias : array, shape (n_users,) or (n_items,), optional
        What is added to all scores of a user, or of an item.

    Raises
    ------
    ValueError
        If an array is masked, a table, sparse, not of real numbers or not finite; if shapes do not
        fit; or if the vectors are so long that a score may overflow.
    ImportError
        If an array is neither NumPy's nor a list, and the extra ``devices`` is not installed.

    References
    ----------
    Higham, "Accuracy and Stability of Numerical Algorithms", second edition, SIAM 2002.

    Examples
    --------
    >>> from sampled_metrics import Ranks, Split
    >>> model = InnerProduct([[1, 0], [1, 1]], [[2, 0], [1, 3], [0, 1], [0, 1]])
    >>> model.scores([0, 1])
    array([[2., 1., 0., 0.],
           [2., 4., 1., 1.]])
    >>> split = Split.from_pairs([0, 1], [0, 1], [0, 1], [1, 2], n_items=4)
    >>> ranks = Ranks.from_model(model, split, up_to=1)
    >>> ranks.n_relevant, ranks.best  # the item of user 1 is beyond rank 1
    (array([1, 1]), array([1]))
    """

    user_vectors: Any
    item_vectors: Any
    user_bias: Any
    item_bias: Any

    def __init__(
        self, user_vectors: Any, item_vectors: Any, user_bias: Any = None, item_bias: Any = None
    ) -> None:
        users, items = (
            _numbers(name, given, 2)
            for name, given in (("user_vectors", user_vectors), ("item_vectors", item_vectors))
        )
        if users.shape[1] != items.shape[1]:
            raise ValueError(
                f"user_vectors has shape {tuple(users.shape)}, item_vectors has shape "
                f"{tuple(items.shape)}; both must have the same number of columns"
            )
        if users.shape[1] > MOST_COLUMNS:
            raise ValueError(f"user_vectors has {users.shape[1]} columns; give at most 2**22")
        made = {"user_vectors": users, "item_vectors": items}
        for name, given, of in (("user_bias", user_bias, users), ("item_bias", item_bias, items)):
            made[name] = None if given is None else _numbers(name, given, 1)
            if given is not None and made[name].shape[0] != of.shape[0]:
                raise ValueError(
                    f"{name} has shape {tuple(made[name].shape)}; {name} must be one number for "
                    f"each of {of.shape[0]} vectors"
                )
        most = {name: 0.0 if given is None else largest(given) for name, given in made.items()}
        with np.errstate(over="ignore"):
            product = np.float64(most["user_vectors"]) * most["item_vectors"] * users.shape[1]
            overflows = not 2 * (product + most["user_bias"] + most["item_bias"]) < np.inf
        if overflows:
            raise ValueError(
                f"user_vectors and item_vectors hold numbers of {most['user_vectors']:.0e} and "
                f"{most['item_vectors']:.0e}, whose products may overflow; divide one by its "
                "largest number"
            )
        vars(self).update(made)

    def scores(self, users: Any, items: Any = None) -> FloatArray:
        """Compute scores by their definition.

        Parameters
        ----------
        users : array_like of int, shape (n,)
            Some users, from 0.
        items : array_like of int, shape (n,), optional
            An item for each of them; by default all items for each.

        Returns
        -------
        ndarray of float64, shape (n,) or (n, n_items)
            The score of each pair, or the scores of all items.

        Raises
        ------
        ValueError
            If a user or an item is out of range, or `users` and `items` are not of one length.

        Examples
        --------
        >>> InnerProduct([[1, 2]], [[3, 4], [5, 6]], item_bias=[0, 0.5]).scores([0, 0], [1, 0])
        array([17.5, 11. ])
        """
        last = self.user_vectors.shape[0] - 1
        rows = as_integers("users", users, 0, last, "the last user's number", flat=True)
        if items is None:
            return self._all(rows)
        last = self.item_vectors.shape[0] - 1
        columns = as_integers("items", items, 0, last, "the last item's number")
        if rows.shape != columns.shape:
            raise ValueError(
                f"users has shape {rows.shape}, items has shape {columns.shape}; give two flat "
                "lists of one length"
            )
        found, step = np.empty(len(rows)), max(1, PIECE // self.item_vectors.shape[1])
        for start in range(0, len(rows), step):
            piece = slice(start, start + step)
            products = self.rows("user_vectors", rows[piece])
            products *= self.rows("item_vectors", columns[piece])
            # Unlike sum, it adds from left to right: its result holds every sum on the way.
            score = np.cumsum(products, axis=1, out=products)[:, -1]
            if self.item_bias is not None:
                score += self.rows("item_bias", columns[piece])
            if self.user_bias is not None:
                score += self.rows("user_bias", rows[piece])
            found[piece] = score
        return found

    def _all(self, users: IntArray) -> FloatArray:
        vectors = self.rows("user_vectors", users).T[:, :, np.newaxis]
        n_items = self.item_vectors.shape[0]
        found, step = np.empty((len(users), n_items)), max(1, PIECE // max(1, len(users)))
        for start in range(0, n_items, step):
            columns = np.arange(start, min(start + step, n_items))
            others = np.ascontiguousarray(self.rows("item_vectors", columns).T)
            score = vectors[0] * others[0]
            product = np.empty_like(score)
            for own, other in zip(vectors[1:], others[1:], strict=True):
                score += np.multiply(own, other, out=product)
            if self.item_bias is not None:
                score += self.rows("item_bias", columns)
            if self.user_bias is not None:
                score += self.rows("user_bias", users)[:, np.newaxis]
            found[:, columns] = score
        return found

    def rows(self, name: str, at: IntArray) -> FloatArray:
        """Return some of the users' or items' vectors or biases as float64, in memory."""
        given = getattr(self, name)
        if not on_a_device(given):
            return np.asarray(given[at], dtype=np.float64)
        from array_api_compat import array_namespace

        xp = array_namespace(given)
        return np.array(on_host(xp.astype(take_rows(given, at), xp.float64)))


def _numbers(name: str, given: Any, n_dims: int) -> Any:
    """Return an array of finite real numbers where it is, or say what is wrong with it."""
    if hasattr(given, "columns"):
        raise ValueError(f"{name} is a {type(given).__name__}; pass {name}.to_numpy()")
    if on_a_device(given):
        from array_api_compat import array_namespace, is_torch_array

        array = given.detach() if is_torch_array(given) else given
        xp = array_namespace(array)
        real = bool(xp.isdtype(array.dtype, ("real floating", "integral")))
    else:
        array = as_array(name, given)
        real = array.dtype.kind in "iuf" and array.dtype.itemsize <= 8
    if array.ndim != n_dims or 0 in array.shape or not real:
        rule = "a vector for each row" if n_dims == 2 else "one flat array"
        raise ValueError(
            f"{name} has shape {tuple(array.shape)} and dtype {array.dtype}; {name} must be "
            f"{rule}, of real numbers of at most 64 bits, and not empty"
        )
    if on_a_device(given):
        _check_float64(name, array, xp)
    if not np.isfinite(largest(array)):
        held = on_host(array)
        refuse(name, held, ~np.isfinite(held), "finite")
    return array


def _check_float64(name: str, array: Any, xp: Any) -> None:
    try:
        has_it = xp.astype(array[:1, ...], xp.float64).dtype == xp.float64
    except Exception:  # each library has its own
        has_it = False
    if not has_it:
        raise ValueError(
            f"{name} is of a library or on a device without float64; pass it as an array of NumPy"
        )


def largest(array: Any) -> float:
    """Return the largest size of a number, NaN if there is one; nothing is copied."""
    module: Any = np
    if on_a_device(array):
        from array_api_compat import array_namespace

        module = array_namespace(array)
    return float(np.maximum(float(module.max(array)), -float(module.min(array))))
