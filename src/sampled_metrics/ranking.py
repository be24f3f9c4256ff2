"""From scores or lists to ranks: the door through which every ranking enters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set, Sized
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from tqdm import tqdm

from sampled_metrics._checks import (
    FloatArray,
    IntArray,
    as_choice,
    as_generator,
    as_integer,
    as_integers,
    one_or_one_each,
    read_only,
    refuse,
)

if TYPE_CHECKING:
    from sampled_metrics.movielens import Split

__all__ = ["Ranks", "Recommender", "TiedRanks", "exact_ranks"]

TIE_RULES = ("optimistic", "pessimistic", "random")
MAX_SCORES = 2**27  # in memory at once, unless a block size is given
SLOTS = 2**20  # of the table in which labels are looked up, so that it fits in the cache;
MOST_SLOTS = 2**25  # but up to so many where a block would have fewer than 16 instances
PIECE = 2**20  # ranks that a metric is called with at once


@dataclass(frozen=True, eq=False)
class Ranks:
    """Positions of the relevant items, for instances that may have several of them.

    This is the paper's R(A, x) for every instance x of an evaluation.
    Where each instance has exactly one relevant item, a plain integer array of ranks says the
    same; every metric takes either.
    Make one with :meth:`from_lists` or :meth:`from_recommendations`.

    Parameters
    ----------
    values : ndarray of int64, shape (n_ranked,)
        Ranks of the relevant items that were ranked, instance after instance, ascending within
        each, in 1, 2, ...
    offsets : ndarray of int64, shape (n_instances + 1,)
        Instance x owns ``values[offsets[x]:offsets[x + 1]]``.
    n_relevant : ndarray of int64, shape (n_instances,)
        Number of relevant items of each instance, those that were not ranked included.
    n_predicted : ndarray of int64, shape (n_instances,), optional
        Length of each instance's list of recommendations; None where all items were ranked.
    gains : ndarray of float64, shape (n_ranked,), optional
        How relevant the item at each rank is, above 0; None where all are equally relevant.
    ideal_gains : ndarray of float64, shape (n_relevant.sum(),), optional
        Gains of all relevant items, instance after instance, descending within each.
    """

    values: IntArray
    offsets: IntArray
    n_relevant: IntArray
    n_predicted: IntArray | None = None
    gains: FloatArray | None = None
    ideal_gains: FloatArray | None = None

    def __post_init__(self) -> None:
        """Refuse what the metrics could not be right about."""
        n_ranked = np.diff(self.offsets)
        if self.offsets[0] != 0 or self.offsets[-1] != len(self.values) or (n_ranked < 0).any():
            raise ValueError("offsets must ascend from 0 to the number of values")
        if len(n_ranked) != len(self.n_relevant) or (n_ranked > self.n_relevant).any():
            raise ValueError("n_relevant must be one number per instance, at least its ranks")
        steps = np.diff(self.values, prepend=0)
        starts = self.offsets[:-1][n_ranked > 0]
        steps[starts] = self.values[starts]
        if (steps <= 0).any():
            refuse("values", self.values, steps <= 0, "at least 1 and ascending in an instance")
        if self.n_predicted is not None and self.n_predicted.shape != self.n_relevant.shape:
            raise ValueError("n_predicted must be one number per instance")
        lengths = [None if g is None else len(g) for g in (self.gains, self.ideal_gains)]
        if lengths not in ([None, None], [len(self.values), self.n_relevant.sum()]):
            raise ValueError("gains must be one per value, ideal_gains one per relevant item")

    @classmethod
    def from_lists(
        cls, ranks: Iterable[ArrayLike], gains: Sequence[Iterable[float]] | None = None
    ) -> Ranks:
        """Build from one list of ranks per instance: all its relevant items, in any order.

        Parameters
        ----------
        ranks : iterable of sequences or sets of int
            For each instance, the distinct ranks (from 1) of all its relevant items.
        gains : sequence of sequences of float, optional
            How relevant each of these items is, 0 or above; an item of gain 0 is not relevant.

        Returns
        -------
        Ranks

        Raises
        ------
        ValueError
            If a rank is not a whole number of at least 1, or stands twice in one instance; if
            the gains do not fit the ranks, or one is negative or not finite.

        Examples
        --------
        >>> Ranks.from_lists([[5, 3], [1], []]).n_relevant
        array([2, 1, 0])
        >>> Ranks.from_lists([[5, 3]], gains=[[1, 4]]).gains
        array([4., 1.])
        """
        rows = []
        for x, row in enumerate(ranks):
            rows.append(as_integers(f"ranks[{x}]", list(row) if isinstance(row, Set) else row))
            if rows[x].ndim != 1:
                raise ValueError(f"ranks[{x}] is {row!r}; each instance must be a list of ranks")
        counts = np.array([row.size for row in rows], dtype=np.int64)
        values = np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)
        instance = np.repeat(np.arange(len(rows)), counts)
        order = np.lexsort((values, instance))
        values = values[order]
        repeated = np.flatnonzero((np.diff(values) == 0) & (np.diff(instance) == 0))
        if repeated.size:
            at = repeated[0]
            raise ValueError(
                f"ranks[{instance[at]}] holds rank {values[at]} twice; "
                "two items cannot share one position"
            )
        if gains is None:
            return cls(values, _offsets(counts), counts)
        gain = _as_gains("gains", gains, counts)[order]
        keep = gain > 0
        values, gain, instance = values[keep], gain[keep], instance[keep]
        counts = np.bincount(instance, minlength=len(rows))
        ideal = gain[np.lexsort((-gain, instance))]
        return cls(values, _offsets(counts), counts, gains=gain, ideal_gains=ideal)

    @classmethod
    def from_recommendations(
        cls,
        predictions: Sequence[Iterable[object]],
        labels: Sequence[Iterable[object]] | sparse.csr_array[Any],
    ) -> Ranks:
        """Build from lists of recommended items and the sets of items that were relevant.

        Parameters
        ----------
        predictions : sequence of sequences, or array of shape (n_instances, length)
            For each instance, the recommended items, best first.
            Items are integers or strings.
        labels : sequence of sequences, sets or mappings, or sparse matrix
            For each instance, its relevant items, in any order; or a mapping that says how
            relevant each is, 0 or above (an item of gain 0 is not relevant).
            A sparse matrix of shape (n_instances, n_items) says the same of integer items; where
            its format has several entries for one place, SciPy adds them up.

        Returns
        -------
        Ranks
            A relevant item that was not recommended counts in ``n_relevant`` and has no rank.

        Raises
        ------
        ValueError
            If the two differ in length, an instance names an item twice, the items are neither
            integers nor strings, or a gain is negative or not finite.

        Examples
        --------
        >>> Ranks.from_recommendations([[1, 6, 8], []], [[1, 6, 9], [2]]).values
        array([1, 2])
        >>> Ranks.from_recommendations([["a", "b"]], [{"b": 3, "c": 1, "a": 0}]).gains
        array([3.])
        """
        listed = _rows("predictions", predictions)
        predicted, n_predicted = _flatten("predictions", listed, ordered=True)
        relevant, n_relevant, gain = _labels(_rows("labels", labels))
        if len(n_predicted) != len(n_relevant):
            raise ValueError(
                f"predictions has {len(n_predicted)} instances, labels has {len(n_relevant)}; "
                "they must have the same number"
            )
        if predicted.size and relevant.size and predicted.dtype.kind != relevant.dtype.kind:
            raise ValueError(
                f"predictions holds {predicted.dtype} items, labels holds {relevant.dtype}; "
                "they must be of one kind"
            )
        starts = _offsets(n_predicted)
        label, place = _find(predicted, starts, relevant, _offsets(n_relevant))
        owner = np.repeat(np.arange(len(n_relevant)), n_relevant)[label]
        values = place - starts[owner] + 1
        offsets = _offsets(np.bincount(owner, minlength=len(n_relevant)))
        if gain is None:
            return cls(values, offsets, n_relevant, n_predicted)
        ideal = gain[np.lexsort((-gain, np.repeat(np.arange(len(n_relevant)), n_relevant)))]
        return cls(values, offsets, n_relevant, n_predicted, gain[label], ideal)

    @classmethod
    def coerce(cls, ranks: Ranks | ArrayLike) -> Ranks:
        """Return `ranks` as a Ranks: a plain array has one relevant item per entry."""
        if isinstance(ranks, Ranks):
            return ranks
        values = as_integers("ranks", ranks).ravel()
        return cls(values, np.arange(values.size + 1), np.ones(values.size, dtype=np.int64))

    def __len__(self) -> int:
        """Return the number of instances."""
        return len(self.n_relevant)

    @property
    def n_ranked(self) -> IntArray:
        """Number of relevant items of each instance that have a rank, shape (n_instances,)."""
        return np.diff(self.offsets)

    @cached_property
    def owner(self) -> IntArray:
        """Instance of each rank, from 0, shape (n_ranked,)."""
        return np.repeat(np.arange(len(self)), self.n_ranked)

    @property
    def order(self) -> IntArray:
        """Place of each rank among its instance's: 1 for the best, shape (n_ranked,)."""
        return np.arange(1, self.values.size + 1) - self.spread(self.offsets)

    def spread(self, per_instance: IntArray) -> IntArray:
        """Repeat a value per instance for each of its ranks, shape (n_ranked,)."""
        return per_instance[self.owner]

    def total(self, per_rank: FloatArray) -> FloatArray:
        """Sum a value per rank over each instance, shape (n_instances,)."""
        if per_rank.size == len(self) and (self.n_ranked == 1).all():
            return per_rank
        return np.bincount(self.owner, per_rank, len(self)).astype(np.float64, copy=False)


def _offsets(counts: IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _as_gains(name: str, gains: Sequence[Iterable[float]], counts: IntArray) -> FloatArray:
    """Return all gains in one flat array, or say which is not a number of 0 or above."""
    rows = [np.asarray(row if hasattr(row, "__len__") else list(row)) for row in gains]
    if len(rows) != len(counts):
        raise ValueError(f"{name} has {len(rows)} instances, ranks has {len(counts)}")
    for x, row in enumerate(rows):
        if row.shape != (counts[x],):
            raise ValueError(f"{name}[{x}] has shape {row.shape}; it must have {counts[x]} gains")
        if row.size and row.dtype.kind not in "iuf":
            raise ValueError(f"{name}[{x}] has dtype {row.dtype}; gains must be numbers")
        if (bad := ~(np.isfinite(row) & (row >= 0))).any():
            refuse(f"{name}[{x}]", row, bad, "finite and 0 or above")
    return np.concatenate([*rows, np.empty(0)]).astype(np.float64)


def _labels(labels: Any) -> tuple[NDArray[Any], IntArray, FloatArray | None]:
    """Return all relevant items in one flat array, their number per instance, and their gains."""
    if sparse.issparse(labels):
        matrix = sparse.csr_array(labels, copy=True)  # type: ignore[call-overload]
        matrix.sum_duplicates()
        relevant, counts = matrix.indices.astype(np.int64), np.diff(matrix.indptr).astype(np.int64)
        if (matrix.data == 1).all():
            return relevant, counts, None
        weights = np.split(matrix.data * 1, matrix.indptr[1:-1])  # True and False become 1 and 0
    else:
        relevant, counts = _flatten("labels", labels, ordered=False)
        if not (len(labels) and isinstance(labels[0], Mapping)):
            return relevant, counts, None
        weights = [np.array(list(row.values())) for row in labels]
    gain = _as_gains("labels", weights, counts)
    owner = np.repeat(np.arange(len(counts)), counts)[gain > 0]
    return relevant[gain > 0], np.bincount(owner, minlength=len(counts)), gain[gain > 0]


def _find(
    predicted: NDArray[Any], predicted_at: IntArray, relevant: NDArray[Any], relevant_at: IntArray
) -> tuple[IntArray, IntArray]:
    """Return the places of the hits in the flat labels and predictions, by instance, then rank.

    Block by block of instances there is one slot per instance and item. Each prediction leaves a
    number there, and each label looks into its slot: no sort of all, and the slots fit in the
    cache. Numbers only grow, so that those of earlier blocks tell themselves apart.
    Who finds another's number in its own slot stands twice.
    """
    n = len(predicted_at) - 1
    predicted_codes, relevant_codes, span = _codes(predicted, relevant)
    n_rows = max(1, SLOTS // span, min(16, MOST_SLOTS // span))
    row = np.arange(min(n, n_rows)) * span  # the first slot of each of a block's instances
    size = predicted.size + relevant.size
    slots: IntArray = np.zeros(row.size * span, np.int32 if size < 2**31 else np.int64)
    labels: list[IntArray] = [np.empty(0, np.int64)]
    places: list[IntArray] = [np.empty(0, np.int64)]
    used = 1

    def fill(name: str, slot: IntArray, at: IntArray, items: NDArray[Any]) -> None:
        number = np.arange(used, used + slot.size, dtype=slots.dtype)
        slots[slot] = number
        if (twice := slots.take(slot) != number).any():
            i = at[first] + int(np.argmax(twice))
            x = int(np.searchsorted(at, i, side="right")) - 1
            raise ValueError(
                f"{name}[{x}] holds item {items[i]} twice; an item may stand once in a list"
            )

    for first in range(0, n, n_rows):
        last = min(first + n_rows, n)
        here = row[: last - first]
        n_labels = np.diff(relevant_at[first : last + 1])
        wanted = relevant_codes[relevant_at[first] : relevant_at[last]]
        wanted = wanted + np.repeat(here, n_labels)
        if (n_labels > 1).any():
            fill("labels", wanted, relevant_at, relevant)
            used += wanted.size
        listed = predicted_codes[predicted_at[first] : predicted_at[last]]
        listed = listed + np.repeat(here, np.diff(predicted_at[first : last + 1]))
        fill("predictions", listed, predicted_at, predicted)
        place = slots.take(wanted) - used
        label = np.flatnonzero(place >= 0)
        label = label[np.argsort(place[label])]
        labels.append(relevant_at[first] + label)
        places.append(predicted_at[first] + place[label])
        used += listed.size
    return np.concatenate(labels), np.concatenate(places)


def _codes(predicted: NDArray[Any], relevant: NDArray[Any]) -> tuple[IntArray, IntArray, int]:
    """Return integers from 0 to `span` - 1, equal for equal items, and `span`."""
    both = predicted, relevant
    # Seen as unsigned, a negative number is a large one.
    if all(x.dtype.kind == "i" and (x.view(np.uint64) < SLOTS).all() for x in both):
        return predicted, relevant, 1 + max(int(x.max(initial=0)) for x in both)
    distinct, codes = np.unique(np.concatenate(both), return_inverse=True)
    return codes[: predicted.size], codes[predicted.size :], max(1, len(distinct))


def _rows(name: str, lists: Any) -> Any:
    """Return one list of items per instance, as a matrix or as a list of lists with lengths."""
    if isinstance(lists, np.ma.MaskedArray):
        raise ValueError(f"{name} is a masked array; it must be lists, or an array without a mask")
    if sparse.issparse(lists):
        return lists
    if isinstance(lists, np.ndarray) and lists.ndim == 2 and lists.dtype.kind != "O":
        return np.asarray(lists)  # of a np.matrix, too
    if isinstance(lists, Mapping | Set) or not _is_list(lists):
        raise ValueError(f"{name} is {lists!r}; it must hold one list of items for each instance")
    rows = list(lists)
    for x, row in enumerate(rows):
        if not _is_list(row):
            raise ValueError(f"{name}[{x}] is {row!r}; it must be a list of items")
        if isinstance(row, Mapping) != isinstance(rows[0], Mapping):
            raise ValueError(f"{name} mixes mappings with lists; they must be of one kind")
        if not isinstance(row, Sized):
            rows[x] = list(row)
    return rows


def _is_list(value: object) -> bool:
    """Tell whether a value holds others, unlike a string or an array without an axis."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)


def _flatten(name: str, rows: Any, ordered: bool) -> tuple[NDArray[Any], IntArray]:
    """Return all items in one flat array, and the length of each list."""
    if sparse.issparse(rows):
        raise ValueError(f"{name} is a sparse matrix; it must be lists, best item first")
    if isinstance(rows, np.ndarray):
        counts = np.full(len(rows), rows.shape[1], dtype=np.int64)
        items = rows.ravel()
    else:
        for x, row in enumerate(rows):
            if ordered and isinstance(row, Set | Mapping):
                kind = type(row).__name__
                raise ValueError(f"{name}[{x}] is a {kind}; it must be a list, best item first")
        flat = [item for row in rows for item in row]
        if len({isinstance(item, str) for item in flat}) > 1:
            raise ValueError(f"{name} mixes strings with other items; they must be of one kind")
        if any(isinstance(item, bool | np.bool_) for item in flat):
            raise ValueError(f"{name} holds True or False; items must be integers or strings")
        counts = np.array([len(row) for row in rows], dtype=np.int64)
        try:
            items = np.array(flat)
        except ValueError:
            items = np.empty((0, 0))
        if items.ndim != 1:
            raise ValueError(f"{name} is nested too deeply; each instance must be a list of items")
        if items.dtype.kind in "fO" and all(isinstance(i, int | np.integer) for i in flat):
            items = np.array([int(i) for i in flat], dtype=object)  # of several types, or large
    whole = items.dtype.kind == "O" and all(isinstance(item, int) for item in items)
    if items.size and (items.dtype.kind == "u" or whole):
        large = [i for i in (items.min(), items.max()) if not -(2**63) <= i < 2**63]
        if large:
            raise ValueError(f"{name} holds item {large[0]}; integer items must fit in 64 bits")
        return items.astype(np.int64), counts
    if not items.size or items.dtype.kind == "i":
        return items.astype(np.int64, copy=False), counts
    if items.dtype.kind == "U":
        return items, counts
    raise ValueError(f"{name} holds items of {items.dtype}; they must be integers or strings")


class Recommender(Protocol):
    """What ranking needs of a model: one row of scores per user."""

    def scores(self, users: IntArray, /) -> NDArray[Any]:
        """Return the scores of all items, shape (len(users), n_items)."""
        ...


@dataclass(frozen=True, eq=False)
class TiedRanks:
    """Ranks of held-out items among all candidates, before ties are broken.

    Candidates with exactly the score of the held-out item can stand above or below it: it can
    have any of the ranks ``best``, ..., ``best + n_tied``.

    Parameters
    ----------
    best : array_like of int, shape (n_instances,)
        The best possible rank: 1 + the number of candidates with a higher score.
    n_tied : int or array_like of int, shape (n_instances,)
        Number of other candidates with exactly the same score.
    n_items : int or array_like of int, shape (n_instances,)
        Number of candidates, the held-out item included.

    Raises
    ------
    ValueError
        If `best` is not flat, the others do not fit it, or the worst rank is above `n_items`.

    Examples
    --------
    >>> ranks = TiedRanks(best=[1, 3], n_tied=[0, 1], n_items=[4, 4])
    >>> ranks.break_ties("pessimistic")
    array([1, 4])
    """

    best: IntArray
    n_tied: IntArray
    n_items: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "best", read_only(as_integers("best", self.best)))
        if self.best.ndim != 1:
            raise ValueError(f"best has shape {self.best.shape}; best must be a flat list of ranks")
        for name, low in (("n_tied", 0), ("n_items", 1)):
            given = one_or_one_each(name, getattr(self, name), self.best.shape, low)
            object.__setattr__(self, name, read_only(given))
        if (bad := self.best + self.n_tied > self.n_items).any():
            refuse("best", self.best, bad, "at most n_items - n_tied")

    def __len__(self) -> int:
        """Return the number of instances."""
        return len(self.best)

    def break_ties(self, rule: str, rng: np.random.Generator | int | None = None) -> IntArray:
        """Choose one of the possible ranks of each instance.

        Parameters
        ----------
        rule : {"optimistic", "pessimistic", "random"}
            The best possible rank, the worst, or one drawn uniformly.
        rng : numpy.random.Generator or int, optional
            Draws the random ranks; only "random" needs it.

        Returns
        -------
        ndarray of int64, shape (n_instances,)

        Raises
        ------
        ValueError
            If the rule is unknown, or random without an `rng`.

        Examples
        --------
        >>> TiedRanks(best=[1], n_tied=[9], n_items=[10]).break_ties("random", rng=0)
        array([9])
        """
        as_choice("rule", rule, TIE_RULES)
        if rule == "optimistic":
            return self.best.copy()
        if rule == "pessimistic":
            return self.best + self.n_tied
        return self.best + as_generator(rng).integers(self.n_tied, endpoint=True)

    def expected(self, metric: Callable[..., FloatArray]) -> FloatArray:
        """Average a metric over all ways to break ties, each equally likely.

        Parameters
        ----------
        metric : callable
            A metric such as ``NDCG(k=10)``: called with an array of ranks and the equally long
            array of numbers of items, it returns one value per rank.

        Returns
        -------
        ndarray of float64, shape (n_instances,)
            The mean of the metric over the ranks ``best``, ..., ``best + n_tied``: exact, not
            drawn.

        Examples
        --------
        >>> TiedRanks(best=[1], n_tied=[1], n_items=[9]).expected(lambda rank, n_items: 1 / rank)
        array([0.75])
        """
        # All possible ranks of all instances in one line, walked in pieces of bounded size.
        ends = np.cumsum(self.n_tied + 1)
        total = np.zeros(len(self))
        for start in range(0, int(ends[-1]) if len(self) else 0, PIECE):
            place = np.arange(start, min(start + PIECE, ends[-1]))
            x = np.searchsorted(ends, place, side="right")
            ranks = self.best[x] + self.n_tied[x] + 1 - (ends[x] - place)
            total[x[0] : x[-1] + 1] += np.bincount(x - x[0], metric(ranks, n_items=self.n_items[x]))
        return total / (self.n_tied + 1)


@overload
def exact_ranks(
    model: Recommender,
    split: Split,
    ties: None = None,
    rng: np.random.Generator | int | None = None,
    block_size: int | None = None,
    progress: bool = True,
) -> TiedRanks: ...
@overload
def exact_ranks(
    model: Recommender,
    split: Split,
    ties: str,
    rng: np.random.Generator | int | None = None,
    block_size: int | None = None,
    progress: bool = True,
) -> IntArray: ...
def exact_ranks(
    model: Recommender,
    split: Split,
    ties: str | None = None,
    rng: np.random.Generator | int | None = None,
    block_size: int | None = None,
    progress: bool = True,
) -> TiedRanks | IntArray:
    """Rank each held-out item among all items but the user's training items.

    Counts the candidates that score above the held-out item, and those that tie with it, block of
    users by block: nothing is sorted, and only one block's scores are in memory.

    Parameters
    ----------
    model : Recommender
        Anything with ``scores(users)`` of shape (len(users), n_items). It may return the same
        array again and again: a block is done with before the next one is asked for.
    split : Split
        The training events, and the held-out item of each instance.
    ties : {None, "optimistic", "pessimistic", "random"}
        None keeps the ties; a rule breaks them as `TiedRanks.break_ties` does.
    rng : numpy.random.Generator or int, optional
        Draws the random ranks; only "random" needs it.
    block_size : int, optional
        Number of instances scored at once; by default up to 256, and at most 134 million
        scores (one instance, if it has more).
    progress : bool
        Whether a run of more than two seconds shows a progress bar.

    Returns
    -------
    TiedRanks or ndarray of int64, shape (n_instances,)
        Tied ranks where `ties` is None, else ranks in 1..n_candidates.

    Raises
    ------
    ValueError
        If the scores have the wrong shape or are no real numbers, a candidate's score is NaN or
        the held-out item's infinite (training items may have any score), or `ties` is unknown or
        random without `rng`.

    Examples
    --------
    >>> from sampled_metrics.movielens import Split
    >>> split = Split.from_pairs([0, 1], [0, 1], [0, 1], [2, 0], n_items=4)
    >>> class Popular:
    ...     def scores(self, users):
    ...         return np.tile([3.0, 9.0, 2.0, 2.0], (len(users), 1))
    >>> exact_ranks(Popular(), split)
    TiedRanks(best=array([2, 1]), n_tied=array([1, 0]), n_items=array([3, 3]))
    """
    if ties is not None:
        as_choice("ties", ties, TIE_RULES)
        rng = as_generator(rng) if ties == "random" else None  # an error now, not after the work
    if block_size is None:
        block_size = min(256, max(1, MAX_SCORES // max(1, split.n_items)))
    block_size = as_integer("block_size", block_size)
    by_user = np.argsort(split.users, kind="stable")  # a user's instances share a row of scores
    above = np.empty(len(by_user), dtype=np.int64)
    tied = np.empty_like(above)
    with tqdm(total=len(by_user), desc="ranking", delay=2, disable=not progress) as bar:
        for start in range(0, len(by_user), block_size):
            block = by_user[start : start + block_size]
            above[block], tied[block] = _count(model, split, split.users[block], split.items[block])
            bar.update(len(block))
    ranks = TiedRanks(best=above + 1, n_tied=tied, n_items=split.n_candidates)
    return ranks if ties is None else ranks.break_ties(ties, rng)


def _count(
    model: Recommender, split: Split, users: IntArray, items: IntArray
) -> tuple[IntArray, IntArray]:
    """Count the candidates above and level with each user's item."""
    distinct, row_of = np.unique(users, return_inverse=True)
    scores = np.ascontiguousarray(model.scores(distinct))
    if scores.shape != (len(distinct), split.n_items) or scores.dtype.kind not in "fiub":
        raise ValueError(
            f"model.scores(users) has shape {scores.shape} and dtype {scores.dtype} for "
            f"{len(distinct)} users; it must be real numbers of shape "
            f"({len(distinct)}, {split.n_items})"
        )
    # From the same array as the scores it is compared with: another product may round otherwise.
    target = scores[row_of, items]
    seen = split.train[users]
    n_seen = np.diff(seen.indptr)
    x = np.repeat(np.arange(len(users)), n_seen)
    seen_scores = scores[row_of[x], seen.indices]
    above = -np.bincount(x[seen_scores > target[x]], minlength=len(users))
    below = -np.bincount(x[seen_scores < target[x]], minlength=len(users))
    for i, score in enumerate(target):
        row = scores[row_of[i]]  # the second comparison finds it in the cache
        above[i] += np.count_nonzero(row > score)
        below[i] += np.count_nonzero(row < score)
    tied = split.n_items - n_seen - 1 - above - below
    # NaN is neither above nor below. Counting both, not what is equal, makes it look like a tie,
    # so that only rows with ties need a closer look.
    for i in np.flatnonzero((tied > 0) | ~np.isfinite(target)).tolist():
        bad = np.isnan(scores[row_of[i]])
        bad[seen.indices[seen.indptr[i] : seen.indptr[i + 1]]] = False
        bad[items[i]] = not np.isfinite(target[i])
        if bad.any():
            item = int(np.argmax(bad))
            raise ValueError(
                f"model.scores(users) is {scores[row_of[i], item]} for user {users[i]} and item "
                f"{item}; a candidate's score must not be NaN, the held-out item's must be finite"
            )
    return above, tied
