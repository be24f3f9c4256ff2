"""Odd values for every argument: each is refused by name, or means what a plain value means.

One argument of a call at a time is replaced by a value that a user may pass by mistake; all others
are valid. What may happen is little:

- a `ValueError` whose message names the argument as the user wrote it,
- where the value is a way to say something valid (`plain` lists them), the very result of that.

Whether a value is valid is told by slow definitions here, in plain Python. `True` says that it
must be taken, `False` that it must be refused, and `None` that either is fine: for instances of
the package's own classes, whose content has tests elsewhere.
"""

from __future__ import annotations

import re
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from math import inf, isfinite, nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import sampled_metrics
from sampled_metrics import (
    AUC,
    F1,
    NDCG,
    AveragePrecision,
    BiasVariance,
    Draw,
    HitRate,
    InnerProduct,
    Metric,
    Precision,
    RankEstimate,
    Ranks,
    Recall,
    ReciprocalRank,
    Split,
    Uncorrected,
    WeightedDraw,
    compare,
    dominates,
    evaluate,
    explain,
    leave_last_out,
    metric_bounds,
    simulate,
)
from sampled_metrics.bounds import identified_set
from sampled_metrics.corrections import (
    ConstrainedLeastSquares,
    CorrectedMetric,
    Estimator,
    MappedCutoff,
    Multinomial,
    Problem,
    estimate_rank_distribution,
    sample_adaptively,
)
from sampled_metrics.evaluation import Comparison
from sampled_metrics.experiments import (
    ItemKNN,
    MatrixFactorization,
    load_amazon,
    load_movielens_1m,
    read_ratings,
    read_sequences,
)
from sampled_metrics.io import engines, rank_table, read_qrels, read_run, write_ranks
from sampled_metrics.scoring import certify, read_split

LARGEST = 2**53

# --- odd values


def generator():
    yield from (1, 2, 3)


def cyclic():
    values: list[Any] = []
    values.append(values)
    return values


def matrix(values):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.matrix(values)


class Unready:
    """Something that says it is an array, and fails."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("not ready")


# Made anew for each call: a generator is used up, and an array may be changed.
ODD_ENTRIES: dict[str, Callable[..., Any]] = {
    repr(value): lambda value=value: value
    for value in [
        *(None, True, False, ..., NotImplemented, "", "cat", "3", "\0", "ä" * 200, b"3", b""),
        *(0, 1, 2, 3, 4, 9, 10, 11, -1, 2**31, LARGEST, LARGEST + 1, 2**63, 2**64, 10**400),
        *(-(2**31), -(2**63) - 1, -(10**400), 0.0, -0.0, 0.5, 1.0, 3.0, 2.5, -1.5, 1e-320, 1e300),
        *(nan, inf, -inf, 1j, 3 + 0j, Fraction(3), Fraction(1, 2), Decimal(3), Decimal("nan")),
        *(np.bool_(True), np.int8(3), np.int64(3), np.uint64(3), np.uint64(2**64 - 1)),
        *(np.float16(3), np.float32(0.5), np.float64(nan), np.longdouble(3), np.complex128(3)),
        *(np.str_("cat"), np.bytes_(b"3"), np.datetime64("2026-01-01"), np.datetime64("NaT")),
        *(np.timedelta64(3, "D"), np.ma.masked, pd.NA, pd.NaT, pd.Timestamp(0), date(2026, 1, 1)),
        *(object, int, Recall, Draw, Uncorrected, Ranks, len, np, Path("nowhere")),
        *(Recall(k=2), AUC(), Draw(3), Draw(3, n_items=10), Uncorrected(), slice(None)),
        *(ValueError("cat"), np.dtype(int)),
    ]
}
ODD_ENTRIES |= {
    "object()": object,
    "lambda": lambda: lambda x: x,
    "Unready()": Unready,
    "Generator": lambda: np.random.default_rng(0),
    "RandomState": lambda: np.random.RandomState(0),
    "SeedSequence": lambda: np.random.SeedSequence(0),
    "Ranks with ties": lambda: Ranks([1, 3], [0, 1], 10),
    "Ranks": lambda: Ranks.from_lists([[1, 3], [2]], n_items=10),
    "Split": lambda: Split.from_pairs([0], [0], [0], [1]),
    "WeightedDraw": lambda: WeightedDraw(1, [1, 2]),
}
ODD = ODD_ENTRIES | {
    "[]": list,
    "()": tuple,
    "{}": dict,
    "set()": set,
    "{3}": lambda: {3},
    "frozenset": lambda: frozenset({1, 2}),
    "[3]": lambda: [3],
    "(3,)": lambda: (3,),
    "[3.0]": lambda: [3.0],
    "[None]": lambda: [None],
    "[[]]": lambda: [[]],
    "[[3]]": lambda: [[3]],
    "nested": lambda: [[[[1, 2], [3, 4]]]],
    "ragged": lambda: [[1, 2], [3]],
    "mixed depth": lambda: [1, [2]],
    "cyclic": cyclic,
    "dict": lambda: {"a": 1},
    "dict of lists": lambda: {"a": [1, 2, 3]},
    "dict of None": lambda: {None: None},
    "generator": generator,
    "iterator": lambda: iter([1, 2, 3]),
    "range": lambda: range(1, 4),
    "map": lambda: map(int, "123"),
    "memoryview": lambda: memoryview(b"123"),
    "bytearray": lambda: bytearray(b"123"),
    "array(3)": lambda: np.array(3),
    "array(nan)": lambda: np.array(nan),
    "array([])": lambda: np.array([]),
    "empty rows": lambda: np.empty((0, 3)),
    "empty columns": lambda: np.empty((3, 0), int),
    "bools": lambda: np.array([True, False, True]),
    "names": lambda: np.array(["a", "b", "c"]),
    "objects": lambda: np.array([1, 2, 3], dtype=object),
    "objects with None": lambda: np.array([1, None, 3], dtype=object),
    "huge objects": lambda: np.array([1, 10**400], dtype=object),
    "with nan": lambda: np.array([1, nan, 3]),
    "with inf": lambda: np.array([1, inf, 3]),
    "complex": lambda: np.array([1, 2, 3j]),
    "large": lambda: np.array([1, 2, 2**64 - 1], dtype=np.uint64),
    "float32": lambda: np.array([1, 2, 3], dtype=np.float32),
    "dates": lambda: np.array(["2026-01-01"] * 3, dtype="datetime64[D]"),
    "records": lambda: np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]),
    "matrix": lambda: matrix([[1, 2, 3]]),
    "masked": lambda: np.ma.array([1, 2, 3], mask=[False, True, False]),
    "not masked": lambda: np.ma.array([1, 2, 3]),
    "Series": lambda: pd.Series([1, 2, 3]),
    "odd index": lambda: pd.Series([1, 2, 3], index=["a", "a", None]),
    "Series with NA": lambda: pd.Series([1, pd.NA, 3], dtype="Int64"),
    "Series of lists": lambda: pd.Series([[1], [2, 3], []]),
    "empty Series": lambda: pd.Series(dtype=float),
    "DataFrame": lambda: pd.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6]}),
    "empty DataFrame": pd.DataFrame,
    "Index": lambda: pd.Index([1, 2, 3]),
    "Categorical": lambda: pd.Categorical(["a", "b", "a"]),
    "csr": lambda: sparse.csr_array(np.eye(3)),
    "csr matrix": lambda: sparse.csr_matrix(np.eye(3)),
    "csr of nan": lambda: sparse.csr_array([[0.0, nan], [1.0, 0.0]]),
    "csr of complex": lambda: sparse.csr_array([[0j, 1j], [1 + 0j, 0j]]),
    "empty csr": lambda: sparse.csr_array((0, 0)),
    "coo": lambda: sparse.coo_array([[0, 1], [1, 0]]),
    "dok": lambda: sparse.dok_array((3, 4)),
    "flat coo": lambda: sparse.coo_array([1, 0, 2]),
}


def plain(value: Any) -> Any:
    """What an odd value says, in numbers, strings, lists and dicts; or the value itself."""
    if sparse.issparse(value):
        return value
    match value:
        case np.timedelta64() | np.datetime64():
            return value
        case np.longdouble():  # type: ignore[misc]
            return float(value)
        case np.generic():
            same = value.item()
            return same if type(same) in (bool, int, float, str) else value
        case np.ma.MaskedArray():
            return value if np.ma.is_masked(value) else plain(value.tolist())
        case np.ndarray() if value.dtype.kind in "biufUO":
            return plain(value.tolist())
        case pd.Series() | pd.Index() | pd.Categorical():
            return [plain(x) for x in value.tolist()]
        case pd.DataFrame():
            return plain(value.to_numpy())
        case list() if any(x is value for x in value):
            return object()
        case list() | tuple() | range() | deque() | memoryview() | bytearray() | Iterator():
            return without_bools([plain(x) for x in value])
        case set() | frozenset():
            return {plain(x) for x in value}
        case dict():
            return {key: plain(x) for key, x in value.items()}
    return value


def without_bools(value):
    """In a list of numbers, Python and NumPy count True as 1."""
    kinds = {type(x) for x in leaves(value)}
    if not (bool in kinds and kinds <= {bool, int, float} and len(kinds) > 1):
        return value

    def counted(value):
        return [counted(x) for x in value] if isinstance(value, list) else value + 0

    return counted(value)


# --- what is valid


Valid = Callable[[Any], bool | str | None]


def is_whole(value):
    if type(value) is float:
        return isfinite(value) and value == int(value)
    return type(value) is int


def whole(low=1, high=LARGEST):
    return lambda value: is_whole(value) and low <= value <= high


def number(low, high=inf):
    """A finite number, above `low` and up to `high`."""
    return lambda value: finite(value) and low < value <= high


def fits(value):
    """A finite number that an array of NumPy holds in 64 bits."""
    return number(-inf)(value) and (type(value) is float or -(2**63) <= value < 2**64)


def from_zero(high=inf):
    return lambda value: number(-1, high)(value) and value >= 0


def below_one(value):
    return number(0)(value) and value < 1


def choice(*choices):
    return lambda value: any(type(value) is type(x) and value == x for x in choices)


def optional(valid):
    return lambda value: True if value is None else valid(value)


def either(kinds, valid):
    """Instances of these classes may be valid; for the others, see `valid`."""
    return lambda value: None if isinstance(value, kinds) else valid(value)


def nothing(value):
    return False


def flag(value):
    return type(value) is bool


def shape_of(value):
    """The shape of nested lists of whatever; None if they are ragged."""
    if not isinstance(value, list):
        return ()
    shapes = {shape_of(x) for x in value}
    if not shapes:
        return (0,)
    return None if None in shapes or len(shapes) > 1 else (len(value), *shapes.pop())


def leaves(value):
    return [x for part in value for x in leaves(part)] if isinstance(value, list) else [value]


def array(entry, *shapes):
    """A rectangular array of valid entries, of one of these shapes if there are any."""

    def valid(value):
        shape = shape_of(value)
        return (
            shape is not None and (not shapes or shape in shapes) and all(map(entry, leaves(value)))
        )

    return valid


def flat(entry):
    return lambda value: (
        isinstance(value, list) and len(shape_of(value) or "ab") == 1 and array(entry)(value)
    )


def names_of(size):
    """Names of so many instances: integers, or perhaps anything else that is not missing."""

    def valid(value):
        if isinstance(value, np.ndarray) and value.shape == (size,):
            return None
        if not isinstance(value, list) or len(value) != size:
            return False
        if array(whole(-LARGEST), (size,))(value):
            return None  # the same name twice may be wrong
        return False if any(x is None or x is pd.NA or x != x for x in value) else None

    return valid


def shares(size):
    def valid(value):
        return array(from_zero(1.1), (size,))(value) and abs(sum(value) - 1) < 1e-6

    return valid


def rng(value):
    if isinstance(value, np.random.Generator | np.random.SeedSequence) or value is None:
        return True
    return type(value) is int and value >= 0


def finite(value):
    return type(value) in (int, float) and abs(value) < 1e308


def number_of(size, low=1, high=LARGEST):
    """One number, also in a list of its own, or one for each."""
    return array(whole(low, high), (), (1,), (size,))


def prior(value):
    """Flat, from 0 on, and 1 in all; a fit asks for the number of entries."""
    return value is None or (flat(from_zero(1.1))(value) and abs(sum(value) - 1) < 1e-6)


def weights(value):
    shape = shape_of(value)
    rows = value if shape and len(shape) > 1 else [value]
    return bool(shape) and array(from_zero())(value) and all(any(leaves(row)) for row in rows)


def not_empty(valid):
    return lambda value: valid(value) if leaves(value) else False


def ascending(value):
    return flat(whole(1, 1000))(value) and value == sorted(set(value)) and bool(value)


def each_row(entry):
    return lambda value: (
        isinstance(value, list | set)
        and all(isinstance(row, list | set) and all(map(entry, row)) for row in value)
    )


def each_of(entry):
    return lambda value: isinstance(value, list | set) and all(map(entry, value))


def has_scores(value):
    """A matrix, a function, or an object with a method."""
    if isinstance(value, list):
        return maybe(array(finite, (2, 4)))(value)
    has = callable(value) or callable(getattr(value, "scores", None)) or sparse.issparse(value)
    return None if has else False


def pairs(value):
    """A matrix, or lists by user."""
    return None if isinstance(value, dict) or sparse.issparse(value) else False


def few(value):
    """Numbers of runs; for larger ones, time would show that they are taken."""
    return SKIP if whole(1001)(value) else whole()(value)


def at_least_two(value):
    return few(value) if whole(2)(value) else False


def small(low):
    """Numbers of users or items; much larger ones are valid, and fill the memory."""
    return lambda value: (
        SKIP if whole(1001, 2**31)(value) else value is None or whole(low, 1000)(value)
    )


SKIP = "skip"


OURS = (Ranks, Ranks)


def instance_of(kind):
    return lambda value: None if isinstance(value, kind) else False


def list_of(kind):
    def valid(value):
        each = isinstance(value, list | set) and value and all(isinstance(x, kind) for x in value)
        return None if each else False

    return valid


def dict_of(entry):
    def valid(value):
        named = isinstance(value, dict) and len(value) > 0 and all(type(x) is str for x in value)
        return None if named and all(entry(x) is not False for x in value.values()) else False

    return valid


def events(value):
    """A sparse matrix may hold training events."""
    return None if sparse.issparse(value) and len(getattr(value, "shape", ())) == 2 else False


def path(value):
    return None if isinstance(value, str | Path) else False


def the_name_of_a_column(value):
    return None if isinstance(value, str) else False


def a_text(value):
    return isinstance(value, str) and value.strip() != ""


# --- calls


def written(recommenders, path):
    """Write ranks, read them again, and leave no file."""
    try:
        write_ranks(recommenders, path)
        return Ranks.read(path)
    finally:
        if isinstance(path, str | Path) and Path(path).name == "ranks.csv":
            Path(path).unlink(missing_ok=True)


def collected(function):
    """Ranks in memory: an engine finds only then what is wrong with the rows."""
    return lambda **given: engines.collect_ranks(function(**given))


class Popular:
    def scores(self, users):
        return np.tile([3.0, 9.0, 2.0, 2.0], (len(users), 1))


TRAIN = sparse.csr_array(np.array([[1.0, 1, 0, 0], [1, 1, 1, 0], [0, 0, 1, 1]]))
SPLIT = Split.from_pairs([0, 1], [0, 1], [0, 1], [2, 0], n_items=4)
DRAW = Draw(3, n_items=10)
LISTS = Ranks.from_lists([[1, 3], [2]], n_items=10)
TIED = Ranks([1, 3, 3], [0, 1, 2], 10)
FITTED = BiasVariance(0.5).fit(Recall(k=3), DRAW)
FOUND = compare([1, 2, 3], [3, 2, 2], NDCG(), DRAW)
EVALUATED = evaluate({"A": [1, 2, 3], "B": [3, 2, 2]}, [NDCG()])
WEIGHTED = WeightedDraw(2, [5, 2, 1, 1], replacement=False)
KNN = ItemKNN().fit(TRAIN)
MODEL = MatrixFactorization(n_factors=2).fit(TRAIN)


def ranks_of(*shapes):
    """Ranks among 10 items, one for each."""
    return either(OURS, array(whole(1, 10), *shapes))


def maybe(valid):
    """Where more than the value decides."""
    return lambda value: None if valid(value) is not False else False


def anything(value):
    return None


def one_list(value):
    return None if isinstance(value, list | np.ndarray) else False


COUNT, MAYBE_COUNT, FLAG = whole(), optional(whole()), flag
METRIC, A_DRAW = (Recall(k=3), instance_of(Metric)), (DRAW, instance_of(Draw))
SEED = (0, rng)
FIT = ("each", choice("each", "paper"))
METRICS = ([Recall(k=3)], list_of(Metric))
ESTIMATORS = ({"mine": Uncorrected()}, dict_of(lambda value: isinstance(value, Estimator)))
MASK = (
    [True, False, True, False],
    lambda value: array(flag)(value) and shape_of(value)[-1:] == (4,),
)
RANKS = ([1, 2, 3], either(OURS, array(whole(1, 10), (3,))))
NAMED = ({"A": [1, 2, 3], "B": [3, 2, 2]}, dict_of(either(OURS, array(whole(1, 10)))))
SAMPLED = {name: Ranks(best, n_items=4, catalog=10) for name, best in NAMED[0].items()}
PRIOR = (None, prior)
N_ITEMS = (10, optional(maybe(number_of(3))))
SHAPE = (None, choice(None, "unimodal", "decreasing"))
IDS = flat(whole(0, 2**31 - 1))
RANKS_OF_ANY = ([1, 2, 3], ranks_of())
OR_NONE = (DRAW, optional(instance_of(Draw)))
RULE = ("random", choice("optimistic", "pessimistic", "random"))
METHOD = ("exact", choice("exact", "approximate"))
EVENTS = {"user": ["u", "u", "v"], "item": [30, 50, 30], "timestamp": [2, 1, 1]}
TABLE = pd.DataFrame({"user": [3, 3], "item": [1, 6], "score": [1, 2], "relevance": [1, 0]})
RANK_TABLE = TABLE[["user", "item"]].assign(rank=[1, 2])
PAIRS = TABLE[["user", "item"]]
FILES = {
    "train": "0\t0\n1\t1\n",
    "test": "0\t2\n",
    "ratings": "1::1193::5::978300760\n",
    "run": "t1 Q0 d1 1 0.5 mine\n",
    "qrels": "t1 0 d1 1\n",
}
EVALUATION = {
    "ranks": NAMED,
    "metrics": METRICS,
    "draw": A_DRAW,
    "estimators": (None, optional(ESTIMATORS[1])),
    "fit": FIT,
    "progress": (False, flag),
}
DRAWN = ["compare", "simulate"]
DRAWN += [f"CorrectedMetric.{method}" for method in ("expectation", "bias", "variance")]
# Where two arguments do not fit each other, the error may be about the other one.
OTHERS: dict[tuple[str, str], tuple[str, ...]] = {
    ("Draw without replacement", "n_items"): ("n_samples",),
    ("CorrectedMetric.terms", "n_items"): ("n_relevant", "prior"),
    ("CorrectedMetric.terms", "n_relevant"): ("prior",),
    ("Problem", "draw"): ("prior",),
    ("Split", "train"): ("users", "items", "user"),
    ("Split", "users"): ("user",),  # a pair is named by its user and its item
    ("Split", "items"): ("item",),
    ("Split.from_pairs", "n_users"): ("train_users", "test_users"),
    ("Split.from_pairs", "n_items"): ("train_items", "test_items"),
    ("Split.from_pairs", "train_items"): ("test_items", "item"),
    ("Split.from_pairs", "train_users"): ("test_users", "user"),
    ("Split.from_pairs", "test_items"): ("item",),
    ("Split.from_pairs", "test_users"): ("user",),
    ("InnerProduct", "user_vectors"): ("user_bias",),
    ("InnerProduct", "item_vectors"): ("item_bias",),
    ("Ranks.from_model", "split"): ("model",),
    ("Ranks.from_model", "model"): ("ranks",),  # a metric is a function, of ranks
    ("read_split", "n_users"): ("user",),
    ("read_split", "n_items"): ("item",),
    **{
        ("leave_last_out", f"events['{name}']"): ("events",)
        for name in ("user", "item", "timestamp")
    },
    ("values_per_user", "metrics"): ("n_items",),
    **{(call, "draw"): ("n_items",) for call in [*DRAWN, "evaluate"]},
}


class Scores:
    def __init__(self, table):
        self.table = table

    def scores(self, users):
        return self.table


def ranks_up_to(high):
    return either(OURS, array(whole(1, high)))


CALLS: dict[str, tuple[Callable[..., Any], dict[str, tuple[Any, Valid]]]] = {
    # metrics
    "F1": (F1, {"k": (3, COUNT)}),
    "Precision": (Precision, {"k": (3, COUNT), "denominator": ("k", choice("k", "predicted"))}),
    "Recall": (Recall, {"k": (3, COUNT), "denominator": ("capped", choice("relevant", "capped"))}),
    "AveragePrecision": (
        AveragePrecision,
        {
            "k": (3, MAYBE_COUNT),
            "denominator": ("hits", choice("capped", "relevant", "hits", "predicted")),
        },
    ),
    "HitRate": (HitRate, {"k": (3, COUNT)}),
    "ReciprocalRank": (ReciprocalRank, {"k": (3, MAYBE_COUNT)}),
    "NDCG": (
        NDCG,
        {
            "k": (3, MAYBE_COUNT),
            "ideal": ("hits", choice("relevant", "hits", "full")),
            "gains": ("linear", choice("linear", "exponential")),
        },
    ),
    "AUC()": (AUC(), {"ranks": RANKS_OF_ANY, "n_items": (10, maybe(number_of(3)))}),
    "Recall()": (Recall(k=3), {"ranks": RANKS_OF_ANY, "n_items": N_ITEMS}),
    "NDCG().mean": (
        NDCG(k=3).mean,
        {
            "ranks": RANKS_OF_ANY,
            "n_items": N_ITEMS,
            "empty": (0.0, lambda value: type(value) is float or finite(value)),
        },
    ),
    # ranks
    "Ranks": (
        Ranks,
        {
            "ranks": ([1, 3, 3], maybe(array(whole(1, 10), (3,)))),
            "n_tied": ([0, 1, 2], maybe(number_of(3, 0, 9))),
            "n_items": (10, number_of(3, 5, 12)),
            "catalog": (12, optional(number_of(3, 10))),
            "up_to": (5, optional(whole(1))),
            "weights": ([1.0, 2.0, 3.0], optional(maybe(array(number(0), (3,))))),
        },
    ),
    "Ranks of users": (
        Ranks,
        {
            "ranks": ([1, 3, 3], maybe(array(whole(1, 10), (3,)))),
            "n_tied": ([0, 1, 1], maybe(number_of(3, 0, 9))),
            "n_items": (10, optional(maybe(number_of(3, 4)))),
            "users": ([4, 2, 2], optional(names_of(3))),
            "gains": ([1.0, 2.0, 1.0], optional(maybe(array(number(0), (3,))))),
        },
    ),
    "Ranks.from_lists": (
        Ranks.from_lists,
        {
            "ranks": ([[1, 3], [2]], either(dict, maybe(each_row(whole(1, 10))))),
            "gains": ([[1, 2], [0]], optional(maybe(each_row(from_zero())))),
            "n_items": (10, optional(number_of(2, 3))),
            "users": ([7, 8], optional(names_of(2))),
        },
    ),
    "Ranks.break_ties": (TIED.break_ties, {"rule": RULE, "rng": SEED}),
    "Ranks.from_recommendations": (
        Ranks.from_recommendations,
        {
            "predictions": ([[1, 6], [2]], anything),
            "labels": ([[1, 9], [2, 6]], anything),
            "absent": ("refuse", choice("refuse", "missed", "left out")),
            "catalog": (None, optional(maybe(whole(2)))),
            "min_relevance": (None, optional(nothing)),
        },
    ),
    "Ranks.from_recommendations of dicts": (
        Ranks.from_recommendations,
        {"predictions": ({3: [1, 6]}, anything), "labels": ({3: [6]}, anything)},
    ),
    "Ranks.from_recommendations of tables": (
        Ranks.from_recommendations,
        {
            "predictions": (TABLE, anything),
            "labels": (TABLE, anything),
            **{keyword: (keyword, choice(keyword)) for keyword in ("user", "item")},
            **{keyword: (keyword, the_name_of_a_column) for keyword in ("score", "relevance")},
        },
    ),
    "Ranks.from_scores": (
        Ranks.from_scores,
        {
            "scores": (TABLE, anything),
            "relevant": (None, anything),
            "exclude": (None, anything),
            **{
                keyword: (keyword, choice(keyword))
                for keyword in ("user", "item", "score", "relevance")
            },
        },
    ),
    "Ranks.from_scores of dicts": (
        Ranks.from_scores,
        {
            "scores": ({3: {1: 0.5, 6: 0.1}, 4: {2: 1.0}}, anything),
            "relevant": ({3: {6: 2}}, anything),
            "exclude": ({3: [1]}, anything),
            "absent": ("refuse", choice("refuse", "missed", "left out")),
            "catalog": (9, optional(maybe(whole(1)))),
            "min_relevance": (2, optional(number(0))),
        },
    ),
    "rank_table": (rank_table, {"recommenders": NAMED}),
    "write_ranks": (written, {"recommenders": NAMED, "path": ("ranks.csv", path)}),
    "Ranks.read": (
        Ranks.read,
        {
            "table": (TABLE.rename(columns={"score": "rank"}), anything),
            "recommender": ("recommender", optional(choice("recommender"))),
            **{keyword: (keyword, choice(keyword)) for keyword in ("user", "rank")},
            "n_items": (9, maybe(lambda value: isinstance(value, str) or whole(1)(value))),
            "catalog": (9, maybe(whole(1))),
        },
    ),
    # tables in an engine
    "rank_table_from_scores": (
        collected(engines.rank_table_from_scores),
        {
            "scores": (TABLE, nothing),
            "relevant": (None, optional(nothing)),
            "exclude": (PAIRS[1:], optional(nothing)),
            **{
                keyword: (keyword, choice(keyword))
                for keyword in ("user", "item", "score", "relevance")
            },
            "unique": (False, flag),
        },
    ),
    "rank_table_from_scores of relevant items": (
        collected(engines.rank_table_from_scores),
        {
            "scores": (TABLE, nothing),
            "relevant": (PAIRS[:1], optional(nothing)),
            **{keyword: (keyword, choice(keyword)) for keyword in ("user", "item", "score")},
            "relevance": ("relevance", the_name_of_a_column),
        },
    ),
    "rank_table_from_recommendations": (
        collected(engines.rank_table_from_recommendations),
        {
            "recommendations": (RANK_TABLE, nothing),
            "relevant": (PAIRS[1:], nothing),
            **{keyword: (keyword, choice(keyword)) for keyword in ("user", "item", "rank")},
            "relevance": ("relevance", the_name_of_a_column),
        },
    ),
    "rank_table_sql": (
        engines.rank_table_sql,
        {
            **{x: (x, a_text) for x in ("scores", "relevant", "user", "item", "score")},
            **{keyword: (None, optional(a_text)) for keyword in ("exclude", "relevance")},
        },
    ),
    "collect_ranks": (engines.collect_ranks, {"ranks": (RANK_TABLE, nothing)}),
    "values_per_user": (
        lambda **given: engines.values_per_user(**given).df(),
        {
            "ranks": (RANK_TABLE, nothing),
            "metrics": METRICS,
            "ties": (None, optional(choice("optimistic", "pessimistic"))),
        },
    ),
    "read_run": (read_run, {"path": ("run", path)}),
    "read_qrels": (read_qrels, {"path": ("qrels", path)}),
    # draws
    "Draw": (
        Draw,
        {
            "n_samples": (3, array(whole(1))),
            "n_items": (10, optional(array(whole(2)))),
            "replacement": (
                True,
                lambda value: flag(value) or (type(value) is str and value == "merged"),
            ),
            "shared": (False, flag),
        },
    ),
    "Draw without replacement": (
        Draw,
        {
            "n_samples": (3, array(whole(1, 9))),
            "n_items": (10, optional(array(whole(4)))),
            "replacement": (False, flag),
        },
    ),
    "Draw.pmf": (DRAW.pmf, {"ranks": RANKS_OF_ANY}),
    "Draw.expect": (DRAW.expect, {"ranks": RANKS_OF_ANY, "metric": METRIC}),
    "Draw.rvs": (
        DRAW.rvs,
        {"ranks": RANKS_OF_ANY, "repeats": (2, optional(few)), "rng": SEED},
    ),
    "Draw.rvs of Ranks": (
        DRAW.rvs,
        {"ranks": (LISTS, anything), "repeats": (2, optional(few)), "rng": SEED},
    ),
    "WeightedDraw": (
        WeightedDraw,
        {
            "n_samples": (2, COUNT),
            "weights": ([5, 2, 1, 1], maybe(weights)),
            "replacement": (True, flag),
        },
    ),
    "WeightedDraw without replacement": (
        WeightedDraw,
        {
            "n_samples": (2, whole(1, 4)),
            "weights": ([5, 2, 1, 1], maybe(weights)),
            "replacement": (False, flag),
        },
    ),
    "WeightedDraw.pmf": (WEIGHTED.pmf, {"above": MASK, "method": METHOD}),
    "WeightedDraw.expect": (WEIGHTED.expect, {"above": MASK, "metric": METRIC, "method": METHOD}),
    "WeightedDraw.rvs": (WEIGHTED.rvs, {"above": MASK, "repeats": (2, optional(few)), "rng": SEED}),
    # estimators
    "RankEstimate": (
        RankEstimate,
        {
            "divisor": ("m", choice("m", "m+1")),
            "interpolation": ("floor", choice("floor", "linear")),
        },
    ),
    "BiasVariance": (BiasVariance, {"gamma": (0.5, from_zero(1)), "prior": PRIOR}),
    "ConstrainedLeastSquares": (
        ConstrainedLeastSquares,
        {"non_negative": (True, flag), "prior": PRIOR},
    ),
    "Multinomial": (Multinomial, {"n_users": (10, COUNT), "prior": PRIOR}),
    "MappedCutoff": (
        MappedCutoff,
        {"mapping": ("beta", choice("linear", "bound", "beta")), "a": (1.0, number(0))},
    ),
    "MappedCutoff.cutoffs": (MappedCutoff().cutoffs, {"draw": A_DRAW}),
    "Uncorrected.fit": (Uncorrected().fit, {"metric": METRIC, "draw": A_DRAW}),
    "BiasVariance.fit": (BiasVariance(0.5).fit, {"metric": METRIC, "draw": A_DRAW}),
    "CorrectedMetric()": (FITTED, {"sampled_ranks": ([1, 2, 3], ranks_up_to(4))}),
    "CorrectedMetric.terms": (
        FITTED.terms,
        {"n_relevant": (2, maybe(whole(1, 9))), "n_items": (10, optional(maybe(whole(3))))},
    ),
    "CorrectedMetric.expectation": (FITTED.expectation, {"ranks": RANKS_OF_ANY, "draw": OR_NONE}),
    "CorrectedMetric.bias": (FITTED.bias, {"ranks": RANKS_OF_ANY, "draw": OR_NONE}),
    "CorrectedMetric.variance": (FITTED.variance, {"ranks": RANKS_OF_ANY, "draw": OR_NONE}),
    "Problem": (
        Problem,
        {
            "metric": METRIC,
            "draw": A_DRAW,
            "prior": ([0.1] * 10, optional(shares(10))),
            "order": (1, whole(1, 1)),
            "n_relevant": (1, COUNT),
        },
    ),
    "Problem.exact_values": (
        Problem(NDCG(), Draw(3, n_items=10)).exact_values,
        {"ranks": ([1, 2.5, 10], maybe(flat(number(0, 11))))},
    ),
    # what a sample tells
    "estimate_rank_distribution": (
        estimate_rank_distribution,
        {
            "sampled_ranks": ([1, 2, 4], maybe(not_empty(array(whole(1, 4))))),
            "draw": A_DRAW,
            "n_samples": (3, maybe(optional(number_of(3, 1, 3)))),
            "method": ("likelihood", choice("likelihood", "entropy")),
            "tolerance": (0.1, maybe(number(0))),
            "gamma": (0.01, number(0)),
        },
    ),
    "sample_adaptively": (
        sample_adaptively,
        {
            "ranks": RANKS_OF_ANY,
            "n_items": (10, maybe(number_of(3))),
            "sizes": ([2, 4], ascending),
            "replacement": (True, flag),
            "rng": SEED,
        },
    ),
    "metric_bounds": (
        metric_bounds,
        {
            "sampled_ranks": ([1, 2, 3, 1], maybe(not_empty(array(whole(1, 4))))),
            "metric": METRIC,
            "draw": A_DRAW,
            "confidence": (0.95, below_one),
            "shape": SHAPE,
            "max_share": (1.0, maybe(number(0, 1))),
        },
    ),
    "identified_set": (
        identified_set,
        {
            "shares": ([0.5, 0.2, 0.2, 0.1], maybe(shares(4))),
            "metric": METRIC,
            "draw": A_DRAW,
            "band": (0.1, maybe(from_zero())),
            "shape": SHAPE,
            "max_share": (1.0, maybe(number(0, 1))),
        },
    ),
    "explain": (
        explain,
        {
            "metric": METRIC,
            "value": (0.5, maybe(from_zero(1))),
            "draw": A_DRAW,
            "n_users": (10, MAYBE_COUNT),
            "other": (0.4, optional(maybe(from_zero(1)))),
            "exact_metric": (None, optional(instance_of(Metric))),
            "confidence": (0.95, below_one),
            "decimals": (4, whole(0)),
        },
    ),
    "dominates": (
        dominates,
        {
            "a": ([1, 2, 3], not_empty(RANKS_OF_ANY[1])),
            "b": ([3, 2, 2], not_empty(RANKS_OF_ANY[1])),
            "n_items": (10, optional(maybe(number_of(3)))),
            "scale": ("rank", choice("rank", "share")),
        },
    ),
    # evaluations
    "compare": (
        compare,
        {
            "a": ([1, 2, 3], ranks_of((3,))),
            "b": ([3, 2, 2], ranks_of((3,))),
            "metric": METRIC,
            "draw": OR_NONE,
            "estimator": (None, optional(instance_of(Estimator))),
            "fit": FIT,
        },
    ),
    "compare exactly": (
        compare,
        {
            "a": ([1, 2, 3], ranks_of((3,))),
            "b": ([3, 2, 2], ranks_of((3,))),
            "metric": METRIC,
            "n_items": (10, optional(maybe(number_of(3)))),
        },
    ),
    "Comparison": (
        Comparison,
        {
            "n_users": (100, COUNT),
            **{name: (0.1, finite) for name in ("exact_difference", "difference")},
            **{f"variance_{part}": (0.1, from_zero()) for part in ("users", "ties", "sampling")},
        },
    ),
    "Comparison.interval": (FOUND.interval, {"confidence": (0.9, below_one)}),
    "Comparison.power": (FOUND.power, {"confidence": (0.9, below_one)}),
    "Comparison.right_order": (FOUND.right_order, {"same_users": (True, flag)}),
    "Comparison.users_needed": (
        FOUND.users_needed,
        {"probability": (0.9, lambda value: below_one(value) and value >= 0.5)},
    ),
    "Comparison.at": (FOUND.at, {"n_users": (9, MAYBE_COUNT), "repeats": (2, COUNT)}),
    "simulate": (simulate, EVALUATION | {"repeats": (2, few), "rng": SEED}),
    "evaluate": (
        lambda **given: evaluate(**given).table,
        {
            "ranks": NAMED,
            "metrics": METRICS,
            "draw": OR_NONE,
            "estimators": (None, optional(ESTIMATORS[1])),
            "groups": (None, anything),
            "fit": FIT,
            "n_items": (None, optional(nothing)),
            "confidence": (0.9, below_one),
            "progress": (False, flag),
        },
    ),
    "evaluate of sampled ranks": (
        lambda **given: evaluate(**given).table,
        {
            "ranks": (SAMPLED, dict_of(either(OURS, array(whole(1))))),
            "metrics": METRICS,
            "draw": (None, optional(instance_of(Draw))),
            "groups": (["u", "v", "v"], anything),
            "progress": (False, flag),
        },
    ),
    "Evaluation.comparisons": (
        EVALUATED.comparisons,
        {
            "n_resamples": (9, at_least_two),
            "rng": SEED,
            "progress": (False, flag),
        },
    ),
    # data and recommenders
    "Split": (
        Split,
        {
            "train": (TRAIN, events),
            "users": ([0, 1], maybe(array(whole(0, 2), (2,)))),
            "items": ([2, 3], maybe(array(whole(0, 3), (2,)))),
            "user_names": (None, anything),
            "item_names": (None, anything),
        },
    ),
    "Split.from_pairs": (
        Split.from_pairs,
        {
            "train_users": ([0, 1], one_list),
            "train_items": ([0, 1], one_list),
            "test_users": ([0, 1], one_list),
            "test_items": ([2, 0], one_list),
            "n_users": (2, small(2)),
            "n_items": (4, small(3)),
            "repeated": ("refuse", choice("refuse", "first")),
        },
    ),
    "leave_last_out": (
        lambda **columns: leave_last_out(
            {name.split("'")[1]: column for name, column in columns.items()}
        ),
        {
            "events['user']": (["u", "u", "v"], one_list),
            "events['item']": ([30, 50, 30], one_list),
            "events['timestamp']": ([2, 1, 1], one_list),
        },
    ),
    "leave_last_out of a table": (
        leave_last_out,
        {
            "events": (EVENTS, nothing),
            "repeated": ("refuse", choice("refuse", "first", "last")),
        },
    ),
    "Ranks.from_model": (
        Ranks.from_model,
        {
            "model": (Popular(), has_scores),
            "split": (SPLIT, instance_of(Split)),
            "exclude": ({0: [3]}, optional(pairs)),
            "candidates": ({0: [2, 3], 1: [0]}, optional(pairs)),
            "up_to": (1, optional(COUNT)),
            "block_size": (1, optional(COUNT)),
            "progress": (False, flag),
        },
    ),
    "InnerProduct": (
        InnerProduct,
        {
            "user_vectors": ([[0.1, 0.2], [0.3, 0.4]], array(fits, (2, 2))),
            "item_vectors": ([[0.1, 0.2], [0.3, 0.4]], array(fits, (2, 2))),
            "user_bias": ([0.1, 0.2], optional(array(fits, (2,)))),
            "item_bias": ([0.1, 0.2], optional(array(fits, (2,)))),
        },
    ),
    "InnerProduct.scores": (
        InnerProduct([[1, 2], [3, 4]], [[1, 2], [3, 4]]).scores,
        {
            "users": ([0, 1], array(whole(0, 1), (2,))),
            "items": ([0, 1], optional(array(whole(0, 1), (2,)))),
        },
    ),
    "certify": (
        certify,
        {
            "model": (InnerProduct([[1], [2]], [[1], [2], [3], [4]]), nothing),
            "split": (SPLIT, instance_of(Split)),
            "metric": (Recall(k=1), instance_of(Metric)),
            "width": (0.5, optional(from_zero())),
            "max_scores": (9, optional(whole(2))),
            "exclude": ({0: [3]}, optional(pairs)),
            "candidates": ({0: [2, 3], 1: [0]}, optional(pairs)),
            "progress": (False, flag),
        },
    ),
    "model.scores": (
        lambda **given: Ranks.from_model(Scores(given["model.scores"]), SPLIT),
        {"model.scores": (np.ones((2, 4)), anything)},
    ),
    "ItemKNN": (
        ItemKNN,
        {
            "exponent": (1.0, number(0)),
            "row_neighbors": (2, MAYBE_COUNT),
            "column_neighbors": (2, MAYBE_COUNT),
            "counts_itself": (False, flag),
            "self_similarity": (None, optional(flag)),
            "row_norm": ("l2", choice("l2", None)),
            "divide_by_row_sum": (False, flag),
        },
    ),
    "MatrixFactorization": (
        MatrixFactorization,
        {
            "n_factors": (2, COUNT),
            "regularization": (1.0, number(0)),
            "unobserved_weight": (0.1, from_zero()),
            "n_iterations": (2, COUNT),
            "rng": SEED,
            "progress": (False, flag),
        },
    ),
    "ItemKNN.fit": (lambda train: ItemKNN().fit(train).similarity, {"train": (TRAIN, events)}),
    "MatrixFactorization.fit": (
        lambda train: MatrixFactorization(2, n_iterations=1).fit(train).user_factors,
        {"train": (TRAIN, events)},
    ),
    "MatrixFactorization.loss": (MODEL.loss, {"train": (TRAIN, events)}),
    "ItemKNN.scores": (KNN.scores, {"users": ([0, 1], flat(whole(0, 2)))}),
    "MatrixFactorization.scores": (MODEL.scores, {"users": ([0, 1], flat(whole(0, 2)))}),
    # files
    "read_ratings": (read_ratings, {"path": ("ratings", path)}),
    "read_split": (
        read_split,
        {
            "train_path": ("train", path),
            "test_path": ("test", path),
            "n_users": (None, small(2)),
            "n_items": (None, small(3)),
        },
    ),
    "load_movielens_1m": (
        load_movielens_1m,
        {
            "source": ("ncf", choice("ncf", "grouplens")),
            "folder": ("nowhere", optional(maybe(path))),
            "base_url": (
                None,
                lambda value: None if value is None or isinstance(value, str) else False,
            ),
            "progress": (False, flag),
        },
    ),
    "read_sequences": (read_sequences, {"path": ("sequences", path)}),
    "load_amazon": (
        load_amazon,
        {
            "category": ("games", choice("games", "beauty")),
            "validation": (False, flag),
            "folder": ("nowhere", optional(maybe(path))),
            "base_url": (
                None,
                lambda value: None if value is None or isinstance(value, str) else False,
            ),
            "progress": (False, flag),
        },
    ),
}


# --- tests


def outcome(call: str, name: str, value: Any) -> Any:
    """Return what a call returns, or the error that it raises."""
    function, arguments = CALLS[call]
    given = {key: valid for key, (valid, _) in arguments.items()} | {name: value}
    return caught(lambda: function(**given))


def caught(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except (ValueError, OSError) as error:
        return error


def names(error: Exception, name: str) -> bool:
    """Tell whether an error names an argument, and not just uses the same word."""
    text = str(error)
    if len(name) == 1:  # a, b and k are words, too
        return bool(
            re.search(rf"(^|and |than |, ){name}(\[|\.index\[| is | has | holds | and )", text)
        )
    return bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text))


def same(one: Any, other: Any) -> bool:
    """Tell whether two results are alike, whatever they are."""
    if isinstance(one, np.ndarray) and one.size == np.size(other) == 0:
        return True  # lists forget the shape of nothing
    if one is pd.NA or other is pd.NA:
        return one is other
    if isinstance(one, int | float | np.generic):
        return bool(one == other or (one != one and other != other))
    if type(one) is not type(other):
        return False
    if isinstance(one, OSError):
        return True
    if isinstance(one, pd.DataFrame):
        return one.equals(other)
    if hasattr(one, "toarray"):
        return same(one.toarray(), other.toarray())
    if isinstance(one, np.ndarray) and "O" in one.dtype.kind + other.dtype.kind:
        return same(plain(one.tolist()), plain(other.tolist()))
    if isinstance(one, np.ndarray) and one.dtype.kind == "f":
        return np.array_equal(one, other, equal_nan=True)
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, np.random.Generator | np.random.SeedSequence):
        return True
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, CorrectedMetric):
        return same(one.values, other.values)
    if is_dataclass(one):
        return all(
            same(getattr(one, f.name, None), getattr(other, f.name, None)) for f in fields(one)
        )
    return bool(one == other) or type(one).__eq__ is object.__eq__  # type: ignore[comparison-overlap]


def check(call: str, name: str, make: Callable[..., Any]) -> None:
    """Pass an odd value for one argument, and say what is wrong with what happens."""
    valid = CALLS[call][1][name][1]
    meaning = plain(make())
    allowed = valid(meaning)
    if allowed is SKIP:
        return
    what = f"{call}({name}={make()!r})"
    found = outcome(call, name, make())
    if isinstance(found, ValueError):
        assert allowed is not True or not is_plain(make()), f"{what} is refused: {found}"
        others = OTHERS.get((call, name), ())
        assert any(names(found, x) for x in (name, *others)), f"{what} does not name it: {found}"
        return
    assert allowed is not False, f"{what} is taken: {found!r}"
    if name == "rng" and meaning is None:
        return  # different each time
    if name in ("user_names", "item_names"):
        return  # names may be anything, also lists where these are not one array
    assert same(found, outcome(call, name, meaning)), f"{what} is not {meaning!r}: {found!r}"
    assert "RuntimeWarning" not in str(found)


def is_plain(value: Any) -> bool:
    """Tell whether a value is in the form that `plain` returns."""
    if isinstance(value, list):
        return all(map(is_plain, value))
    return value is None or type(value) in (bool, int, float, str)


ARGUMENTS = [(call, name) for call, (_, arguments) in CALLS.items() for name in arguments]


@pytest.fixture(autouse=True)
def _nowhere(tmp_path, monkeypatch):
    """A folder with few files: other names lead nowhere, nothing is downloaded, nothing left."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SAMPLED_METRICS_DATA", str(tmp_path))
    for name, text in FILES.items():
        Path(name).write_text(text)
    yield
    assert {path.name for path in tmp_path.iterdir()} == set(FILES)


@pytest.mark.parametrize(("call", "name"), ARGUMENTS, ids=[" ".join(x) for x in ARGUMENTS])
def test_odd_values_are_refused_by_name_or_mean_what_they_say(call, name):
    for make in ODD.values():
        check(call, name, make)


def spoiled(value, odd):
    """Return a valid argument in which one entry is an odd one."""
    if isinstance(value, Mapping):
        return dict(value) | {next(iter(value)): odd}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value[0], list):
        return [spoiled(value[0], odd), *value[1:]]
    return [odd, *value[1:]]


def wrappers():
    """Other ways to hold the same entries."""
    return {
        "tuple": tuple,
        "object array": lambda x: np.array(x, dtype=object),
        "generator": lambda x: (y for y in x),
        "Series": lambda x: pd.Series(x, index=[f"user {i}" for i in range(len(x))]),
        "Series alike": lambda x: pd.Series(x, index=[None] * len(x)),
        "Index": pd.Index,
        "masked": lambda x: np.ma.array(x, mask=np.arange(len(x)) == 0),
        "read only": lambda x: np.array(x),
        "backwards": lambda x: np.array(x[::-1])[::-1],
        "big endian": lambda x: np.array(x).astype(np.array(x).dtype.newbyteorder(">")),
        "wide": lambda x: np.array([x]),
        "tall": lambda x: np.array([x]).T,
        "DataFrame": lambda x: pd.DataFrame({"a": x}),
        "sparse": lambda x: sparse.csr_array(np.array([x])),
        "deque": deque,
        "dict": lambda x: dict(enumerate(x)),
        "set": set,
        "short": lambda x: x[1:],
        "long": lambda x: [*x, x[-1]],
        "bytes": lambda x: bytes(x),
    }


LISTS_GIVEN = [
    (call, name)
    for call, name in ARGUMENTS
    if isinstance(CALLS[call][1][name][0], list | dict) and call != "leave_last_out of a table"
]


@pytest.mark.parametrize(("call", "name"), LISTS_GIVEN, ids=[" ".join(x) for x in LISTS_GIVEN])
def test_one_odd_entry_is_found(call, name):
    value = CALLS[call][1][name][0]
    for make in ODD_ENTRIES.values():
        check(call, name, lambda make=make: spoiled(value, make()))


@pytest.mark.parametrize(("call", "name"), LISTS_GIVEN, ids=[" ".join(x) for x in LISTS_GIVEN])
def test_other_containers_are_refused_by_name_or_mean_the_same(call, name):
    value = CALLS[call][1][name][0]
    if isinstance(value, dict):
        return
    for make in wrappers().values():
        try:
            make(value)
        except (ValueError, TypeError, np.ma.MaskError):
            continue  # this container cannot hold such entries
        check(call, name, lambda make=make: make(value))


nested = st.recursive(
    st.sampled_from(sorted(ODD_ENTRIES)).map(lambda key: ODD_ENTRIES[key]()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.sampled_from(["a", "user", 3, None]), inner, max_size=3),
        st.lists(st.integers(-2, 12) | st.floats(), max_size=4).map(np.array),
    ),
    max_leaves=6,
)


@settings(max_examples=1000)
@given(st.sampled_from(ARGUMENTS), nested)
def test_nested_odd_values_are_refused_by_name_or_mean_what_they_say(argument, value):
    call, name = argument
    check(call, name, lambda: value)


def test_all_public_names_are_called():
    called = {function_name for call in CALLS for function_name in re.findall(r"\w+", call)}
    assert {*sampled_metrics.__all__, *engines.__all__} - called == {"Metric"}
