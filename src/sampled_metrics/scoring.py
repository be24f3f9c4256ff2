"""From a model's scores to the ranks of the held-out items, by counting."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._candidates import Candidates, candidates_of
from sampled_metrics._checks import IntArray, as_flag, as_integer
from sampled_metrics._models import Model, as_model
from sampled_metrics.data import Split, pair_name
from sampled_metrics.ties import TiedRanks

if TYPE_CHECKING:
    from scipy import sparse

    from sampled_metrics._candidates import Pairs

__all__ = ["Recommender", "exact_ranks"]

FEW_SCORES, MOST_SCORES = 2**20, 2**27  # in memory at once, unless a block size is given


class Recommender(Protocol):
    """What `exact_ranks` needs from a model: the scores of all items for given users."""

    def scores(self, users: IntArray, /) -> Any:
        """Return the scores of all items, an array of shape (len(users), n_items)."""
        ...


def exact_ranks(
    model: Recommender | Callable[[IntArray], Any] | ArrayLike | sparse.sparray | sparse.spmatrix,
    split: Split,
    *,
    exclude: Pairs | None = None,
    candidates: Pairs | None = None,
    block_size: int | None = None,
    progress: bool = True,
) -> TiedRanks:
    """Rank each held-out item among all items except the user's training items.

    It counts the candidates that score above the held-out item, and those that tie with it. It
    works on one block of users after the other, sorts nothing, and has the scores of only one
    block in memory. A tensor is counted on its own device, and only the counts leave the device.

    Parameters
    ----------
    model : Recommender, function, or matrix of shape (n_users, n_items)
        What gives the scores. An object with a method ``scores(users)``, or a function of users,
        gets an int64 array with the numbers of some users, and returns their rows of scores, shape
        (len(users), n_items). It may use the same memory for every block, because each block is
        counted before the next one is requested. A matrix holds the rows of all users.

        Scores are an array of NumPy, also on disk (`numpy.memmap`); a tensor of torch or an array
        of any other library that follows the array API standard; or a sparse matrix of SciPy, in
        which an entry that is not stored is a score of 0. The rows and columns of a
        pandas.DataFrame are found by their labels, the split's names of users and items.
    split : Split
        The training events, and the held-out item of each instance.
    exclude : table, path, dict or sparse matrix, optional
        Further pairs of a user and an item that are not candidates, such as validation events: a
        table with the columns user and item, the path of one (.parquet or .csv), or a dict from
        user to items. They use the split's names if it has names, otherwise numbers. A sparse
        matrix of shape (n_users, n_items) is not 0 at these pairs.
    candidates : table, path, dict or sparse matrix, optional
        The only pairs that may be candidates, given as in `exclude`. They must include the
        held-out items; training items, and pairs in `exclude`, are taken out of them. By default
        all items may be candidates.
    block_size : int, optional
        Number of instances scored at once. By default it is 256, more if there are few items, and
        fewer if 256 instances have more than 134 million scores.
    progress : bool
        Whether a run of more than two seconds shows a progress bar.

    Returns
    -------
    TiedRanks, one entry per held-out item
        Its ``users`` are the split's, by name if they have names, and its ``n_items`` counts the
        candidates. Each item is ranked among all candidates, including the user's other held-out
        items.

    Raises
    ------
    ValueError
        If `model` is none of these, or `split` is not a Split; if scores have the wrong shape, are
        masked or not real numbers, or a frame lacks a user or an item; if a candidate's score is
        NaN or the held-out item's infinite (other items may have any score); if `exclude` or
        `candidates` names what the split lacks, or a held-out item is excluded or not listed.

    Notes
    -----
    A pair that occurs twice in `exclude` or `candidates` counts once.

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
    >>> exact_ranks(Popular(), split, exclude={0: [1]}).best
    array([1, 1])
    >>> exact_ranks(Popular(), split, candidates={0: [2, 3], 1: [0, 1, 2]}).n_items
    array([2, 2])

    A library may count items from 1, and hold the scores of a padding item in column 0:

    >>> scores = np.array([[0, 3.0, 9.0, 2.0, 2.0], [0, 3.0, 9.0, 2.0, 2.0]])
    >>> exact_ranks(scores[:, 1:], split).best
    array([2, 1])
    """
    from tqdm import tqdm

    if not isinstance(split, Split):
        raise ValueError(
            f"split is of type {type(split).__name__}; it must be a Split, for example from "
            "Split.from_pairs(train_users, train_items, test_users, test_items)"
        )
    scores, rule = as_model(model, split), candidates_of(split, exclude, candidates)
    if block_size is None:
        at_least, at_most = max(256, FEW_SCORES // split.n_items), MOST_SCORES // split.n_items
        block_size = max(1, min(at_least, at_most))
    block_size = as_integer("block_size", block_size)
    by_user = np.argsort(split.users, kind="stable")  # a user's instances share a row of scores
    above = np.empty(len(by_user), dtype=np.int64)
    tied = np.empty_like(above)
    silent = not as_flag("progress", progress)
    with tqdm(total=len(by_user), desc="ranking", delay=2, disable=silent) as bar:
        for start in range(0, len(by_user), block_size):
            block = by_user[start : start + block_size]
            above[block], tied[block] = _count(scores, split, rule, block)
            bar.update(len(block))
    users = split.users if split.user_names is None else split.user_names[split.users]
    return TiedRanks(above + 1, tied, rule.sizes(split.users), users)


def _count(
    model: Model, split: Split, rule: Candidates, instances: IntArray
) -> tuple[IntArray, IntArray]:
    """Count the candidates above and level with the held-out item of each instance."""
    users, items = split.users[instances], split.items[instances]
    block = model.block(users, items, rule.lists[users], only=rule.only)
    above, tied = block.above_and_tied()
    if (bad := block.first_bad(tied)) is not None:
        x, item = bad
        score = float(block.scores[int(block.rows[x]), item])
        pair = pair_name(users[x], item, (split.user_names, split.item_names))
        raise ValueError(
            f"{model.name} is {score} for {pair}; "
            "a candidate's score must not be NaN, the held-out item's must be finite"
        )
    return above, tied
