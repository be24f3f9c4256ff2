"""From a model's scores to the ranks of the held-out items, by counting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._arguments import (
    IntArray,
    as_array,
    as_csr,
    as_flag,
    as_integer,
    as_integers,
    as_kind,
    find_ids,
)
from sampled_metrics.io import pairs_of
from sampled_metrics.ranks import Ranks, gathered
from sampled_metrics.scoring._counting import Block, DeviceBlock, on_a_device, on_host, take_rows
from sampled_metrics.scoring._walk import Pairs, Products, Shelf, Walk
from sampled_metrics.scoring.inner_product import InnerProduct
from sampled_metrics.scoring.split import Split, pair_name

if TYPE_CHECKING:
    from scipy import sparse

    from sampled_metrics.io import ByUser

    SetOfPairs: TypeAlias = sparse.sparray | sparse.spmatrix | ByUser

MOST_INSTANCES = 2**14  # in a walk at once
FEW_PAIRS = 0.02  # of all pairs: their scores cost less one by one than all do as a product
FEW_SCORES, MOST_SCORES = 2**20, 2**27  # in memory at once, unless a block size is given


class Recommender(Protocol):
    """What `Ranks.from_model` needs from a model: the scores of all items for given users.

    A model whose method is ``scores(users, items)``, and gives the scores of pairs, is spared most
    of them; so is `InnerProduct`.
    """

    def scores(self, users: IntArray, /) -> Any:
        """Return the scores of all items, an array of shape (len(users), n_items)."""
        ...


def from_model(
    model: Recommender | Callable[[IntArray], Any] | ArrayLike | sparse.sparray | sparse.spmatrix,
    split: Split,
    *,
    exclude: SetOfPairs | None = None,
    candidates: SetOfPairs | None = None,
    up_to: int | None = None,
    block_size: int | None = None,
    progress: bool = True,
) -> Ranks:
    """Rank each held-out item among all items except the user's training items.

    It counts the candidates that score above the held-out item, and those that tie with it. It
    works on one block of users after the other, sorts nothing, and has the scores of only one
    block in memory. A tensor is counted on its own device, and only the counts leave the device.

    Where the model can give a part of the scores, candidates are scored block by block, likely
    winners first, and a user is finished by one of two rules. *Beyond*: once `up_to` candidates
    are above the held-out item, its rank is beyond `up_to`. *Nothing left*: by Cauchy-Schwarz an
    inner product is at most the product of two lengths, so once the vectors that are left are too
    short to reach the held-out item's score, its rank and its ties are known. Ranks are the same
    as by all scores.

    Parameters
    ----------
    model : InnerProduct, Recommender, function, or matrix of shape (n_users, n_items)
        What gives the scores. An object with a method ``scores(users)``, or a function of users,
        gets an int64 array of some users, and returns their rows of scores, shape (len(users),
        n_items), also in the same memory for every block. A matrix holds the rows of all users.

        `InnerProduct` takes vectors of users and items; both rules serve it. In memory are a
        float32 copy of the items' vectors and 80 bytes for each item, and for each of `block_size`
        instances 12 bytes for each number of a vector, beside 8 MiB of scores.

        If the second parameter of the method is called ``items``, as in ``scores(users, items)``,
        it gets two int64 arrays of the same length, at most 131,072, and returns the score of each
        pair, which must not depend on the other pairs. The first rule serves it. An attribute
        ``item_order`` may hold all items, likely winners first; by default it is those with the
        most training events.

        Scores are an array of NumPy, also on disk (`numpy.memmap`); a tensor of torch or an array
        of any other library that follows the array API standard; or a sparse matrix of SciPy, in
        which an entry that is not stored is a score of 0. Of a table, pass the scores alone, with
        a row for each user and a column for each item in the split's order.
    split : Split
        The training events, and the held-out item of each instance.
    exclude : table, path, dict or sparse matrix, optional
        Further pairs of a user and an item that are not candidates, such as validation events: a
        table with the columns user and item, the path of one (.parquet or .csv), or a dict from
        user to items. They use the split's names if it has names, otherwise numbers. A sparse
        matrix of shape (n_users, n_items) is not 0 at these pairs. Twice counts once.
    candidates : table, path, dict or sparse matrix, optional
        The only pairs that may be candidates, given as in `exclude`. They must include the
        held-out items; training items, and pairs in `exclude`, are taken out of them. By default
        all items may be candidates.
    up_to : int, optional
        The last rank of interest, for metrics with a cutoff of at most that: an item of a larger
        rank is beyond it, and has none. By default all ranks are found.
    block_size : int, optional
        Number of instances scored at once, by default 256, or as the number of items suggests;
        16,384 where the model can give a part of the scores.
    progress : bool
        Whether a run of more than two seconds shows a progress bar.

    Returns
    -------
    Ranks
        Its ``users`` are the split's, by name if they have names, and its ``n_items`` counts the
        candidates. Each item is ranked among all candidates, including the user's other held-out
        items. Its ``n_scores`` is the number of scores that were computed.

    Raises
    ------
    ValueError
        If `model` is none of these or not of the split's size, or `split` is not a Split; if
        scores have the wrong shape, are masked or not real numbers; if a candidate's score is NaN
        or the held-out item's infinite (other items may have any score, and what is not looked at
        too); if `item_order` does not hold every item once; if `exclude` or `candidates` names what
        the split lacks, or a held-out item is excluded or not listed.
    ImportError
        If scores are neither NumPy's nor SciPy's, and the extra ``devices`` is not installed.

    Examples
    --------
    >>> from sampled_metrics import Split
    >>> split = Split.from_pairs([0, 1], [0, 1], [0, 1], [2, 0], n_items=4)
    >>> class Popular:
    ...     def scores(self, users):
    ...         return np.tile([3.0, 9.0, 2.0, 2.0], (len(users), 1))
    >>> ranks = Ranks.from_model(Popular(), split)
    >>> ranks.best, ranks.n_tied, ranks.n_items
    (array([2, 1]), array([1, 0]), array([3, 3]))
    >>> Ranks.from_model(Popular(), split, exclude={0: [1]}).best
    array([1, 1])
    >>> Ranks.from_model(Popular(), split, candidates={0: [2, 3], 1: [0, 1, 2]}).n_items
    array([2, 2])

    A library may count items from 1, and hold the scores of a padding item in column 0:

    >>> scores = np.array([[0, 3.0, 9.0, 2.0, 2.0], [0, 3.0, 9.0, 2.0, 2.0]])
    >>> Ranks.from_model(scores[:, 1:], split).best
    array([2, 1])

    Hits in the top 1 of vectors, for a part of the scores:

    >>> from sampled_metrics import InnerProduct, Recall
    >>> rng = np.random.default_rng(0)
    >>> model = InnerProduct(rng.standard_normal((2, 8)), rng.standard_normal((10_000, 8)))
    >>> split = Split.from_pairs([0, 1], [0, 1], [0, 1], [2, 0], n_items=10_000)
    >>> ranks = Ranks.from_model(model, split, up_to=1)
    >>> Recall(k=1)(ranks), ranks.n_scores
    (array([0., 0.]), 130)
    """
    from tqdm import tqdm

    as_kind("split", split, Split, "Split.from_pairs(...)")
    rule = candidates_of(split, exclude, candidates)
    limit = None if up_to is None else as_integer("up_to", up_to)
    count, size = _counter(model, split, rule, limit)
    block_size = as_integer("block_size", size if block_size is None else block_size)
    by_user = np.argsort(split.users, kind="stable")  # a user's instances share a row of scores
    above = np.empty(len(by_user), dtype=np.int64)
    tied, n_scores = np.empty_like(above), 0
    silent = not as_flag("progress", progress)
    with tqdm(total=len(by_user), desc="ranking", delay=2, disable=silent) as bar:
        for start in range(0, len(by_user), block_size):
            block = by_user[start : start + block_size]
            above[block], tied[block], n = count(block)
            n_scores += n
            bar.update(len(block))
    user, first, instance = np.unique(split.users, return_index=True, return_inverse=True)
    turn = np.empty_like(user)  # users in the order in which the split names them
    turn[np.argsort(first, kind="stable")] = np.arange(len(user))
    user = user[np.argsort(first, kind="stable")]
    ranks = gathered(
        above + 1,
        tied,
        turn[instance.ravel()],
        up_to=limit,
        n_items=rule.sizes(user),
        users=user if split.user_names is None else split.user_names[user],
    )
    ranks.__dict__["n_scores"] = n_scores
    return ranks


def _counter(
    model: Any, split: Split, rule: Candidates, limit: int | None
) -> tuple[Callable[[IntArray], tuple[IntArray, IntArray, int]], int]:
    """Return what counts for instances, and for how many at once."""
    if (walk := walker(model, split, rule, limit)) is not None:

        def count(instances: IntArray) -> tuple[IntArray, IntArray, int]:
            way = walk(instances)
            while len(way.live):
                way.step()
            return way.above, way.level, way.n_scores

        return count, MOST_INSTANCES
    scores = as_model(model, split)
    at_least, at_most = max(256, FEW_SCORES // split.n_items), MOST_SCORES // split.n_items
    return partial(_count, scores, split, rule), max(1, min(at_least, at_most))


def walker(
    model: Any, split: Split, rule: Candidates, limit: int | None
) -> Callable[[IntArray], Walk] | None:
    """Return what begins a walk for some instances, or None if the model has all scores at once."""
    given = getattr(model, "scores", None)
    if isinstance(model, type) or not callable(given):
        return None
    if isinstance(model, InnerProduct):
        shape = model.user_vectors.shape[0], model.item_vectors.shape[0]
        if shape != split.train.shape:
            raise ValueError(
                f"model has vectors of {shape[0]} users and {shape[1]} items; it must have those "
                f"of the split's {split.n_users} users and {split.n_items} items"
            )
        few = rule.only and rule.lists.nnz < FEW_PAIRS * split.n_users * split.n_items
    elif takes_items(given):
        few = True
    else:
        return None
    popularity = np.bincount(split.train.indices, minlength=split.n_items)
    make: Callable[..., Walk]
    if few:
        make = partial(Pairs, partial(_of_pairs, given, split))
        order = _order_of(model, np.argsort(-popularity, kind="stable"))
    else:
        shelf = Shelf(model, split.users, popularity)
        make, order = partial(Products, shelf), shelf.order

    def begin(instances: IntArray) -> Walk:
        users = split.users[instances]
        lists = rule.lists[users]
        most = split.n_items if limit is None else limit
        return make(users, split.items[instances], order, lists, only=rule.only, limit=most)

    return begin


def takes_items(scores: Any) -> bool:
    """Tell whether a method has a second parameter, and it is called items."""
    try:
        names = list(signature(scores).parameters)
    except (TypeError, ValueError):  # of what is written in C
        return False
    return names[1:2] == ["items"]


def _order_of(model: Any, default: IntArray) -> IntArray:
    """Return the items in the order that the model gives, if it gives one."""
    if (given := getattr(model, "item_order", None)) is None:
        return default
    n_items = len(default)
    order = as_integers("model.item_order", given, 0, n_items - 1, "the last item's number")
    if not np.array_equal(np.sort(order.ravel()), np.arange(n_items)) or order.ndim != 1:
        raise ValueError(
            f"model.item_order has shape {order.shape}; it must hold each of the split's "
            f"{n_items} items once, likely winners first"
        )
    return order


def _of_pairs(
    given: Any, split: Split, users: IntArray, items: IntArray, *, held_out: bool = False
) -> NDArray[Any]:
    """Return the scores of pairs of a user and an item, or say which cannot be ranked."""
    name = "model.scores(users, items)"
    scores = on_host(given(users, items))
    if scores.shape != users.shape or scores.dtype.kind not in "fiub":
        raise ValueError(
            f"{name} has shape {scores.shape} and dtype {scores.dtype} for {len(users)} pairs; "
            f"it must be one real number for each pair"
        )
    bad = ~np.isfinite(scores) if held_out else scores != scores
    for x in np.flatnonzero(bad)[:1]:
        raise _unranked(name, scores[x], users[x], items[x], split)
    return scores


def _count(
    model: Model, split: Split, rule: Candidates, instances: IntArray
) -> tuple[IntArray, IntArray, int]:
    """Count the candidates above and level with the held-out item of each instance."""
    users, items = split.users[instances], split.items[instances]
    block = model.block(users, rule.lists[users], only=rule.only)
    above, tied = block.above_and_tied(block.of(items))
    if (bad := block.first_bad(items, tied)) is not None:
        x, item = bad
        score = block.scores[int(block.rows[x]), item]
        raise _unranked(model.name, score, users[x], item, split)
    return above, tied, block.scores.shape[0] * split.n_items


def _unranked(name: str, score: Any, user: int, item: int, split: Split) -> ValueError:
    pair = pair_name(user, item, (split.user_names, split.item_names))
    return ValueError(
        f"{name} is {float(score)} for {pair}; "
        "a candidate's score must not be NaN, the held-out item's must be finite"
    )


@dataclass(frozen=True)
class Model:
    """Rows of scores by user, and what an error calls them."""

    name: str
    rows: Callable[[IntArray], Any]
    n_items: int

    def block(self, users: IntArray, lists: Any, *, only: bool) -> Block:
        """Return the scores of instances, which are sorted by user, ready to count in."""
        distinct, place = np.unique(users, return_inverse=True)
        scores = _checked(self.name, self.rows(distinct), (len(distinct), self.n_items))
        if on_a_device(scores):
            return DeviceBlock(scores, place, lists, only=only)
        if hasattr(scores, "toarray"):
            scores = as_csr(scores).toarray()
        return Block(np.ascontiguousarray(scores), place, lists, only=only)


def as_model(model: Any, split: Split) -> Model:
    """Return the model's rows of scores, whatever it is, or say that it has none."""
    if isinstance(model, type):
        raise ValueError(f"model is the class {model.__name__}; give an object of this class")
    if callable(getattr(model, "scores", None)):
        return Model("model.scores(users)", model.scores, split.n_items)
    if callable(model):
        return Model("model(users)", model, split.n_items)
    model = as_array("model", model) if isinstance(model, list | tuple) else model
    shape = getattr(model, "shape", None)
    if not isinstance(shape, tuple) or len(shape) != 2:
        raise ValueError(
            f"model is of type {type(model).__name__}; it must be a matrix of scores of shape "
            f"{split.train.shape}, or have a method scores(users) or be such a function"
        )
    matrix = _checked("model", model, split.train.shape)
    if on_a_device(matrix):
        return Model("model", partial(take_rows, matrix), split.n_items)
    matrix = as_csr(matrix) if hasattr(matrix, "tocsr") else matrix
    return Model("model", lambda users: matrix[users], split.n_items)


def _checked(name: str, given: Any, shape: tuple[int, int]) -> Any:
    """Return scores as an array of NumPy or of a device, or sparse; refuse what they cannot be."""
    if isinstance(given, np.ma.MaskedArray) or hasattr(given, "columns"):
        raise ValueError(
            f"{name} is of type {type(given).__name__}; it must be a plain array, with users and "
            "items in the split's order: use filled(-np.inf) or to_numpy()"
        )
    if on_a_device(given):
        scores, real = _tensor(name, given)
    else:
        scores = given if hasattr(given, "tocsr") else as_array(name, given)
        real = scores.dtype.kind in "fiub"
    if tuple(scores.shape) != shape or not real:
        raise ValueError(
            f"{name} has shape {tuple(scores.shape)} and dtype {scores.dtype} for {shape[0]} "
            f"users; it must be real numbers of shape {shape}"
        )
    return scores


def _tensor(name: str, scores: Any) -> tuple[Any, bool]:
    """Return a dense tensor that can be compared, and whether it holds real numbers."""
    from array_api_compat import array_namespace, is_torch_array

    if is_torch_array(scores):
        scores = scores.detach()
        if str(scores.layout) != "torch.strided":
            raise ValueError(f"{name} is a sparse tensor; use {name}.to_dense()")
    xp = array_namespace(scores)
    if xp.isdtype(scores.dtype, "bool"):  # which the standard does not compare
        scores = xp.astype(scores, xp.uint8)
    return scores, bool(xp.isdtype(scores.dtype, ("real floating", "integral")))


@dataclass(frozen=True)
class Candidates:
    """Of each user, the items that are the candidates (`only`), or those that are not."""

    lists: sparse.csr_array
    only: bool

    def sizes(self, users: IntArray) -> IntArray:
        """Return the number of candidates of each of these users."""
        listed = np.diff(self.lists.indptr)[users].astype(np.int64)
        return listed if self.only else self.lists.shape[1] - listed


def candidates_of(
    split: Split, exclude: SetOfPairs | None, candidates: SetOfPairs | None
) -> Candidates:
    """Return the items that are listed, or all, less training items and what is excluded."""
    out = split.train
    if exclude is not None:
        excluded = as_matrix("exclude", exclude, split)
        _check_held_out(split, excluded, "exclude holds", wanted=False)
        out = out + excluded
    if candidates is None:
        return Candidates(out, only=False)
    listed = as_matrix("candidates", candidates, split)
    _check_held_out(split, listed, "candidates lacks", wanted=True)
    return Candidates(listed > out, only=True)


def _check_held_out(split: Split, matrix: sparse.csr_array, what: str, *, wanted: bool) -> None:
    there = np.ravel(matrix[split.users, split.items]) if len(split.users) else np.empty(0)
    for x in np.flatnonzero((there != 0) != wanted)[:1]:
        pair = pair_name(split.users[x], split.items[x], (split.user_names, split.item_names))
        remedy = "add this pair" if wanted else "leave this pair out"
        raise ValueError(f"{what} {pair}, which are held out; {remedy}")


def as_matrix(name: str, given: Any, split: Split) -> sparse.csr_array:
    """Return pairs of a user and an item, however they are given, as a matrix of True."""
    from scipy import sparse

    shape, is_matrix = split.train.shape, sparse.issparse(given)
    if not is_matrix:
        pairs = pairs_of(name, given, {"user": "user", "item": "item"})
        rows = find_ids(name, "user", pairs.users.names, split.user_names, split.n_users)
        columns = find_ids(name, "item", pairs.items.names, split.item_names, split.n_items)
        cells = rows[pairs.users.codes], columns[pairs.items.codes]
        return sparse.csr_array((np.ones(len(cells[0]), dtype=bool), cells), shape)
    if given.shape != shape or given.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} has shape {given.shape} and dtype {given.dtype}; {name} must be numbers of "
            f"the shape of split.train, {shape}"
        )
    found = sparse.csr_array(as_csr(given), copy=True)
    found.sum_duplicates()
    if (found.data != found.data).any():
        raise ValueError(f"{name} holds NaN; {name} must be 0 where a pair is not meant")
    found.eliminate_zeros()
    return found.astype(np.bool_)
