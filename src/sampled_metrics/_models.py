"""What a model may be: an object, a function, a matrix or a frame; each gives rows of scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._checks import IntArray, as_array, as_csr, shown
from sampled_metrics._counting import Block, DeviceBlock, on_a_device
from sampled_metrics.data import Split


@dataclass(frozen=True)
class Model:
    """Rows of scores by user, and what an error calls them."""

    name: str
    rows: Callable[[IntArray], Any]
    n_items: int

    def block(self, users: IntArray, items: IntArray, lists: Any, *, only: bool) -> Block:
        """Return the scores of instances, which are sorted by user, ready to count in."""
        distinct, place = np.unique(users, return_inverse=True)
        scores = _checked(self.name, self.rows(distinct), (len(distinct), self.n_items))
        if on_a_device(scores):
            return DeviceBlock(scores, place, items, lists, only=only)
        if hasattr(scores, "toarray"):
            scores = as_csr(scores).toarray()
        return Block(np.ascontiguousarray(scores), place, items, lists, only=only)


def as_model(model: Any, split: Split) -> Model:
    """Return the model's rows of scores, whatever it is, or say that it has none."""
    if isinstance(model, type):
        raise ValueError(f"model is the class {model.__name__}; give an object of this class")
    if callable(getattr(model, "scores", None)):
        return Model("model.scores(users)", model.scores, split.n_items)
    if callable(model):
        return Model("model(users)", model, split.n_items)
    if hasattr(model, "columns") and hasattr(model, "index"):
        return Model("model", _rows_of_frame(model, split), split.n_items)
    model = as_array("model", model) if isinstance(model, list | tuple) else model
    shape = getattr(model, "shape", None)
    if not isinstance(shape, tuple) or len(shape) != 2:
        raise ValueError(
            f"model is of type {type(model).__name__}; it must be a matrix of scores of shape "
            f"{split.train.shape}, a function that returns one row of scores per user, or an "
            "object with such a method scores(users)"
        )
    matrix = _checked("model", model, split.train.shape)
    if on_a_device(matrix):
        return Model("model", lambda users: _take_rows(matrix, users), split.n_items)
    matrix = as_csr(matrix) if hasattr(matrix, "tocsr") else matrix
    return Model("model", lambda users: matrix[users], split.n_items)


def _checked(name: str, given: Any, shape: tuple[int, int]) -> Any:
    """Return scores as an array of NumPy or of a device, or sparse; refuse what they cannot be."""
    if isinstance(given, np.ma.MaskedArray) or hasattr(given, "columns"):
        raise ValueError(
            f"{name} is of type {type(given).__name__}; it must be a plain array, in which column "
            "i is item i: use filled(-np.inf) or to_numpy()"
        )
    if on_a_device(given):
        return _checked_tensor(name, given, shape)
    scores = given if hasattr(given, "tocsr") else as_array(name, given)
    _check_shape(name, scores, shape, real=scores.dtype.kind in "fiub")
    return scores


def _checked_tensor(name: str, scores: Any, shape: tuple[int, int]) -> Any:
    from array_api_compat import array_namespace, is_torch_array

    if is_torch_array(scores):
        scores = scores.detach()
        if str(scores.layout) != "torch.strided":
            raise ValueError(f"{name} is a sparse tensor; use {name}.to_dense()")
    xp = array_namespace(scores)
    if xp.isdtype(scores.dtype, "bool"):  # which the standard does not compare
        scores = xp.astype(scores, xp.uint8)
    real = xp.isdtype(scores.dtype, ("real floating", "integral"))
    _check_shape(name, scores, shape, real=real)
    return scores


def _check_shape(name: str, scores: Any, shape: tuple[int, int], *, real: bool) -> None:
    if tuple(scores.shape) != shape or not real:
        raise ValueError(
            f"{name} has shape {tuple(scores.shape)} and dtype {scores.dtype} for {shape[0]} "
            f"users; it must be real numbers of shape {shape}"
        )


def _take_rows(matrix: Any, users: IntArray) -> Any:
    from array_api_compat import array_namespace, device

    xp = array_namespace(matrix)
    return xp.take(matrix, xp.asarray(users, device=device(matrix)), axis=0)


def _rows_of_frame(frame: Any, split: Split) -> Callable[[IntArray], NDArray[Any]]:
    """Return the rows of a pandas.DataFrame by its labels, which are those of the split."""
    items = _places("item", frame.columns, split.item_names, np.arange(split.n_items))
    if len(frame.columns) > split.n_items:
        extra = frame.columns.delete(items)[0]
        raise ValueError(
            f"model has a column {shown(extra)}, an item that split lacks; drop it from model, or "
            "count it in split"
        )
    rows = np.zeros(split.n_users, dtype=np.int64)
    users = np.unique(split.users)
    rows[users] = _places("user", frame.index, split.user_names, users)
    scores = _checked("model.to_numpy()", frame.to_numpy(), (len(frame), split.n_items))
    return lambda users: scores[rows[users]][:, items]


def _places(what: str, labels: Any, names: NDArray[Any] | None, wanted: IntArray) -> IntArray:
    """Return the places of some users or items among a frame's labels."""
    if not labels.is_unique:
        raise ValueError(f"model has several {what}s {shown(labels[labels.duplicated()][0])}")
    ids = wanted if names is None else names[wanted]
    found: IntArray = labels.get_indexer(ids)
    for i in np.flatnonzero(found < 0)[:1]:
        raise ValueError(
            f"model is a DataFrame without {what} {shown(ids.tolist()[i])}; label its rows by user "
            f"and columns by item, or pass model.to_numpy() if it has the {what}s in split's order"
        )
    return found
