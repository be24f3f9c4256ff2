"""From a model's scores to the ranks of the held-out items, by counting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._checks import IntArray, as_array, as_flag, as_integer
from sampled_metrics.ties import TiedRanks

if TYPE_CHECKING:
    from sampled_metrics.data import Split

__all__ = ["Recommender", "exact_ranks"]

MAX_SCORES = 2**27  # in memory at once, unless a block size is given
FEW_ITEMS = 10_000  # up to so many, rows of scores are compared together, not one by one
ONES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)
PIECE = 2**18  # scores that are compared together, so that they stay in the cache


class Recommender(Protocol):
    """What ranking needs of a model: one row of scores per user."""

    def scores(self, users: IntArray, /) -> NDArray[Any]:
        """Return the scores of all items, shape (len(users), n_items)."""
        ...


def exact_ranks(
    model: Recommender, split: Split, *, block_size: int | None = None, progress: bool = True
) -> TiedRanks:
    """Rank each held-out item among all items except the user's training items.

    Counts the candidates that score above the held-out item, and those that tie with it, block of
    users by block: nothing is sorted, and only one block's scores are in memory.

    Parameters
    ----------
    model : Recommender
        Anything with a method ``scores(users)`` that returns an array of shape
        (len(users), n_items). It may write every block over the last one: each block is counted
        before the next one is asked for.
    split : Split
        The training events, and the held-out item of each instance.
    block_size : int, optional
        Number of instances scored at once; by default 256, more for few items, and fewer where
        256 instances have more than 134 million scores.
    progress : bool
        Whether a run of more than two seconds shows a progress bar.

    Returns
    -------
    TiedRanks, one entry per held-out item
        With ``users=split.users`` where some user has several held-out items. Each item is ranked
        among all candidates, the user's other held-out items included.

    Raises
    ------
    ValueError
        If `model` has no method ``scores`` or `split` is no Split; if the scores have the wrong
        shape, are masked, sparse or no real numbers; or if a candidate's score is NaN or the
        held-out item's infinite. Training items may have any score.

    Examples
    --------
    >>> from sampled_metrics import Split
    >>> split = Split.from_pairs([0, 1], [0, 1], [0, 1], [2, 0], n_items=4)
    >>> class Popular:
    ...     def scores(self, users):
    ...         return np.tile([3.0, 9.0, 2.0, 2.0], (len(users), 1))
    >>> ranks = exact_ranks(Popular(), split)
    >>> ranks.best, ranks.n_tied, ranks.n_items
    (array([2, 1]), array([1, 0]), array([3, 3]))
    """
    from tqdm import tqdm

    _check_arguments(model, split)
    if block_size is None:
        n_items = max(1, split.n_items)
        block_size = max(1, min(max(256, 4 * PIECE // n_items), MAX_SCORES // n_items))
    block_size = as_integer("block_size", block_size)
    by_user = np.argsort(split.users, kind="stable")  # a user's instances share a row of scores
    above = np.empty(len(by_user), dtype=np.int64)
    tied = np.empty_like(above)
    silent = not as_flag("progress", progress)
    with tqdm(total=len(by_user), desc="ranking", delay=2, disable=silent) as bar:
        for start in range(0, len(by_user), block_size):
            block = by_user[start : start + block_size]
            above[block], tied[block] = _count(model, split, split.users[block], split.items[block])
            bar.update(len(block))
    several = (np.diff(split.users[by_user]) == 0).any()
    users = split.users if several else None
    return TiedRanks(best=above + 1, n_tied=tied, n_items=split.n_candidates, users=users)


def _check_arguments(model: object, split: object) -> None:
    from sampled_metrics.data import Split

    if not isinstance(split, Split):
        raise ValueError(
            f"split is of type {type(split).__name__}; it must be a Split, for example from "
            "Split.from_pairs(train_users, train_items, test_users, test_items)"
        )
    if isinstance(model, type):
        raise ValueError(f"model is the class {model.__name__}; give an object of this class")
    if not callable(getattr(model, "scores", None)):
        call = "model" if callable(model) else "lambda users: np.asarray(model)[users]"
        raise ValueError(
            f"model is of type {type(model).__name__}; it must be an object with a method "
            "scores(users) that returns one row of scores per user, such as "
            f"types.SimpleNamespace(scores={call})"
        )


def _count(
    model: Recommender, split: Split, users: IntArray, items: IntArray
) -> tuple[IntArray, IntArray]:
    """Count the candidates above and level with each user's item."""
    distinct, row_of = np.unique(users, return_inverse=True)
    scores = _scores(model, distinct, split.n_items)
    # From the same array as the scores it is compared with: another product may round otherwise.
    target = scores[row_of, items]
    above, below = _above_and_below(scores, row_of, target)
    # Training items are no candidates: take them out of both counts.
    seen = split.train[users]
    n_seen = np.diff(seen.indptr)
    seen_scores = scores.ravel().take(np.repeat(row_of * split.n_items, n_seen) + seen.indices)
    limit = np.repeat(target, n_seen)
    above -= np.diff(_running_count(seen_scores > limit)[seen.indptr])
    below -= np.diff(_running_count(seen_scores < limit)[seen.indptr])
    tied = split.n_items - n_seen - 1 - above - below
    # NaN is neither above nor below. Counting both, not what is equal, makes it look like a tie,
    # so that only rows with ties need a closer look.
    for i in np.flatnonzero((tied > 0) | ~np.isfinite(target)).tolist():
        row = scores[row_of[i]]
        if np.isfinite(target[i]) and not np.isnan(row.max()):
            continue
        bad = np.isnan(row)
        bad[seen.indices[seen.indptr[i] : seen.indptr[i + 1]]] = False
        bad[items[i]] = not np.isfinite(target[i])
        if bad.any():
            item = int(np.argmax(bad))
            raise ValueError(
                f"model.scores(users) is {row[item]} for user {users[i]} and item {item}; "
                "a candidate's score must not be NaN, the held-out item's must be finite"
            )
    return above, tied


def _scores(model: Recommender, users: IntArray, n_items: int) -> NDArray[Any]:
    given = model.scores(users)
    masked = isinstance(given, np.ma.MaskedArray)
    if masked or hasattr(given, "tocsr") or hasattr(given, "columns"):
        raise ValueError(
            f"model.scores(users) is of type {type(given).__name__}; it must be a plain array, in "
            "which column i is item i: use filled(-np.inf), toarray() or to_numpy()"
        )
    scores = np.ascontiguousarray(as_array("model.scores(users)", given))
    if scores.shape != (len(users), n_items) or scores.dtype.kind not in "fiub":
        raise ValueError(
            f"model.scores(users) has shape {scores.shape} and dtype {scores.dtype} for "
            f"{len(users)} users; it must be real numbers of shape ({len(users)}, {n_items})"
        )
    return scores


def _above_and_below(
    scores: NDArray[Any], row_of: IntArray, target: NDArray[Any]
) -> tuple[IntArray, IntArray]:
    """Count the scores above and below each target in its row of scores."""
    above = np.empty(len(target), dtype=np.int64)
    below = np.empty_like(above)
    n_items = scores.shape[1]
    step = PIECE // n_items if n_items <= FEW_ITEMS else 1
    for start in range(0, len(target), step):
        piece = slice(start, start + step)
        place = row_of[piece]  # ascending, without gaps
        rows = scores[place[0] : place[-1] + 1]
        if len(rows) < len(place):
            rows = scores[place]
        limit = target[piece, None]
        above[piece] = _count_each(rows > limit)
        below[piece] = _count_each(rows < limit)  # finds the scores in the cache
    return above, below


def _running_count(flags: NDArray[np.bool_]) -> IntArray:
    return np.concatenate([[0], np.cumsum(flags)])


def _count_each(table: NDArray[np.bool_]) -> IntArray | int:
    """Count the True in each row; np.count_nonzero is slow along an axis."""
    if len(table) == 1:
        return int(np.count_nonzero(table))
    counts: IntArray = ONES[np.packbits(table, axis=1)].sum(axis=1, dtype=np.int64)
    return counts
