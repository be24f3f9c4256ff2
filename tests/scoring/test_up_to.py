"""Exact ranks by a part of the scores, against all scores by their definition, user by user."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import array_api_strict
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sampled_metrics import NDCG, InnerProduct, Ranks, Recall, Split
from sampled_metrics.experiments import MatrixFactorization, load_amazon
from shared import known

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
FIELDS = ("best", "n_tied", "offsets", "n_relevant", "n_items", "users")
KINDS = (
    "plain",
    "float16",
    "float32",
    "integers",
    "ties",
    "cosine",
    "equal",
    "huge",
    "tiny",
    "all",
)


def split_of(rng, n_users, n_items, n_held_out):
    """Some users have several held-out items, some none; instances come in any order."""
    pairs = rng.permutation(n_users * n_items)
    out, train = pairs[:n_held_out], pairs[n_held_out : len(pairs) // 2]
    return Split.from_pairs(
        *np.divmod(train, n_items), *np.divmod(out, n_items), n_users=n_users, n_items=n_items
    )


def vectors_of(kind, rng, n_users, n_items, d):
    users: Any = rng.standard_normal((n_users, d))
    items: Any = rng.standard_normal((n_items, d))
    users -= 0.3  # with targets below 0, too
    if kind in ("float16", "float32"):
        return users.astype(kind), items.astype(kind)
    if kind in ("integers", "ties"):
        users, items = rng.integers(-2, 3, (n_users, d)), rng.integers(-2, 3, (n_items, d))
        return (users, items) if kind == "integers" else (0.1 * users, 0.3 * items)
    if kind == "cosine":
        items /= np.linalg.norm(items, axis=1, keepdims=True)
    if kind == "equal":
        items = items[rng.integers(0, 3, n_items)]
        items[rng.random(n_items) < 0.3] = 0
        users[rng.random(n_users) < 0.3] = 0
    low, high = {"huge": (100, 150), "tiny": (-200, -120), "all": (-300, 150)}.get(kind, (0, 1))
    lengths = [10.0 ** rng.integers(low, high, (n, 1)) for n in (n_users, n_items)]
    return users * lengths[0], items * lengths[1]


def biases_of(rng, n):
    sizes = 10.0 ** rng.integers(-9, 9)
    return [None, rng.integers(-2, 3, n), sizes * rng.standard_normal(n)][rng.integers(3)]


def pairs_of(rng, split, share, with_held_out):
    """A matrix of some pairs: with all that are held out, or with none of them."""
    some = rng.random(split.train.shape) < share
    some[split.users, split.items] = with_held_out
    return sparse.csr_array(some)


def rules_of(rng, split):
    rules: Any = {}
    if rng.random() < 0.4:
        rules["exclude"] = pairs_of(rng, split, 0.3, with_held_out=False)
    if rng.random() < 0.4:
        rules["candidates"] = pairs_of(rng, split, rng.choice([0.01, 0.4]), with_held_out=True)
    return rules


def pairs_model(model, **more):
    """The same model as one that nothing is known of but the scores of pairs."""
    return SimpleNamespace(scores=lambda users, items: model.scores(users, items), **more)


def assert_same(found, wanted):
    for name in FIELDS:
        a, b = getattr(found, name), getattr(wanted, name)
        np.testing.assert_array_equal(a, b, err_msg=name)


def all_scores(model, split):
    return model.scores(np.arange(split.n_users))


# --- the definition


def slowly(model, user, item):
    """A score in Python's floats, from left to right."""
    total: Any = None
    vectors = model.user_vectors[user], model.item_vectors[item]
    for u, v in zip(*(x.astype(float).tolist() for x in vectors), strict=True):
        total = u * v if total is None else total + u * v
    for bias, at in ((model.item_bias, item), (model.user_bias, user)):
        total = total if bias is None else total + float(bias[at])
    return total


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_the_sum_from_left_to_right(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    users, items = vectors_of(kind, rng, 4, 50, 13)
    model = InnerProduct(users, items, rng.random(4), rng.random(50))
    wanted = np.array([[slowly(model, u, i) for i in range(50)] for u in range(4)])
    np.testing.assert_array_equal(all_scores(model, SimpleNamespace(n_users=4)), wanted)
    u, i = np.indices(wanted.shape)
    np.testing.assert_array_equal(model.scores(u.ravel(), i.ravel()), wanted.ravel())


def test_a_score_does_not_depend_on_what_is_asked_with_it():
    rng = np.random.default_rng(0)
    model = InnerProduct(*(rng.standard_normal((n, 200), dtype=np.float32) for n in (300, 700)))
    users, items = rng.integers(0, 300, 2000), rng.integers(0, 700, 2000)
    whole = model.scores(users, items)
    np.testing.assert_array_equal(model.scores(users[:7], items[:7]), whole[:7])
    np.testing.assert_array_equal(model.scores(users[:9])[np.arange(9), items[:9]], whole[:9])


# --- ranks


@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(KINDS),
    up_to=st.sampled_from([1, 3, 1000, None]),
    block_size=st.none() | st.integers(1, 20),
    pairs=st.booleans(),
)
@settings(max_examples=150)
def test_a_part_of_the_scores_gives_the_ranks_of_all(seed, kind, up_to, block_size, pairs):
    rng = np.random.default_rng(seed)
    n_users, n_items, d = rng.integers([1, 2, 1], [9, 300, 20])
    split = split_of(rng, n_users, n_items, rng.integers(1, n_users * n_items // 2 + 1))
    users, items = vectors_of(kind, rng, n_users, n_items, d)
    model = InnerProduct(users, items, biases_of(rng, n_users), biases_of(rng, n_items))
    rules = rules_of(rng, split)
    wanted = Ranks.from_model(all_scores(model, split), split, up_to=up_to, **rules)
    given = pairs_model(model) if pairs else model
    found = Ranks.from_model(given, split, up_to=up_to, block_size=block_size, **rules)
    assert_same(found, wanted)
    assert found.up_to == wanted.up_to == up_to


@given(data=st.data(), up_to=st.sampled_from([1, 2, 5, None]), scale=st.sampled_from([1, 0.1]))
@settings(max_examples=60)
def test_small_numbers_where_ties_abound(data, up_to, scale):
    def draw(n):
        row = st.lists(st.integers(-2, 2), min_size=2, max_size=2)
        return np.array(data.draw(st.lists(row, min_size=n, max_size=n))) * scale

    split = Split.from_pairs([0, 1], [0, 1], [0, 1, 1, 2], [1, 0, 2, 5], n_items=8)
    model = InnerProduct(draw(3), draw(8))
    wanted = Ranks.from_model(all_scores(model, split), split, up_to=up_to)
    assert_same(Ranks.from_model(model, split, up_to=up_to), wanted)


@pytest.mark.parametrize("kind", ["plain", "float32", "cosine", "equal", "ties"])
@pytest.mark.parametrize("n_items", [3_000, 30_000])
def test_larger_models(kind, n_items):
    rng = np.random.default_rng(n_items)
    split = split_of(rng, 12, n_items, 40)
    users, items = vectors_of(kind, rng, 12, n_items, 24)
    model = InnerProduct(users, items)
    for up_to in (1, 10, 100, None):
        wanted = Ranks.from_model(all_scores(model, split), split, up_to=up_to)
        for same in (model, pairs_model(model)):
            assert_same(Ranks.from_model(same, split, up_to=up_to), wanted)


def test_all_metrics_up_to_the_cutoff_are_those_of_all_ranks():
    rng = np.random.default_rng(0)
    split = split_of(rng, 50, 400, 120)
    model = InnerProduct(*vectors_of("ties", rng, 50, 400, 6))
    found, wanted = Ranks.from_model(model, split, up_to=10), Ranks.from_model(model, split)
    for metric in (NDCG(k=10), Recall(k=10), Recall(k=4)):
        np.testing.assert_allclose(metric(found), metric(wanted), rtol=1e-12)
    with pytest.raises(ValueError, match="ranks are known up to 10"):
        NDCG(k=11)(found)


def test_any_other_model_is_cut():
    rng = np.random.default_rng(0)
    split = split_of(rng, 6, 15, 12)
    scores = rng.integers(0, 9, (6, 15))
    every = Ranks.from_model(scores, split)
    some = Ranks.from_model(scores, split, up_to=3)
    assert some.best.tolist() == every.best[every.best <= 3].tolist()
    assert some.n_relevant.tolist() == every.n_relevant.tolist()
    assert some.n_scores == every.n_scores == 15 * len(every)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_vectors_of_another_library(dtype):
    rng = np.random.default_rng(0)
    split = split_of(rng, 9, 500, 30)
    given = [
        np.round(4 * rng.standard_normal(shape)).astype(dtype)
        for shape in ((9, 5), (500, 5), 9, 500)
    ]
    there = [array_api_strict.asarray(x) for x in given]
    for vectors in (given[:2], given, given[:1] + given[1:2] + [None] + given[3:]):
        here = InnerProduct(*vectors)
        model = InnerProduct(*(None if x is None else array_api_strict.asarray(x) for x in vectors))
        assert not isinstance(model.item_vectors, np.ndarray)
        for up_to in (1, 10, None):
            wanted = Ranks.from_model(all_scores(here, split), split, up_to=up_to)
            assert_same(Ranks.from_model(model, split, up_to=up_to), wanted)
    assert_same(
        Ranks.from_model(InnerProduct(given[0], there[1]), split),
        Ranks.from_model(InnerProduct(*given[:2]), split),
    )


def test_a_memmap_is_not_read_into_memory(tmp_path):
    rng = np.random.default_rng(0)
    given = rng.standard_normal((500, 5)).astype(np.float32)
    np.save(tmp_path / "items.npy", given)
    split = split_of(rng, 9, 500, 30)
    users = rng.standard_normal((9, 5))
    model = InnerProduct(users, np.load(tmp_path / "items.npy", mmap_mode="r"))
    assert not model.item_vectors.flags.owndata
    wanted = Ranks.from_model(InnerProduct(users, given), split, up_to=10)
    assert_same(Ranks.from_model(model, split, up_to=10), wanted)


# --- the margin


@pytest.mark.parametrize("d", [1, 2, 7, 64, 500])
def test_scores_next_to_the_target_are_told_apart(d):
    """A search for vectors that break the margin.

    Items are the held-out item with a few last bits changed, so that scores differ by far less than
    a float32 product errs; others have the largest errors of rounding, half a unit in all numbers.
    """
    rng = np.random.default_rng(d)
    for trial in range(8):
        users: Any = rng.standard_normal((3, d))
        if trial % 2:  # each number between two of float32, all rounded in one direction
            users = np.float32(1) + rng.integers(0, 9, (3, d)) * 2.0**-23 + 2.0**-24 * 0.999
        base = np.broadcast_to(users[0] if trial % 4 > 1 else rng.standard_normal(d), (400, d))
        bits = rng.integers(-3, 4, (400, d)) * (rng.random((400, d)) < 2 / d)
        items = base * (1 + bits * 2.0 ** -rng.choice([23, 24, 26, 40, 52], (400, 1)))
        model = InnerProduct(users, items * 2.0 ** rng.integers(-60, 60))
        split = Split.from_pairs([0], [0], [0, 1, 2], [5, 6, 7], n_users=3, n_items=400)
        wanted = Ranks.from_model(all_scores(model, split), split)
        assert_same(Ranks.from_model(model, split), wanted)
        top = Ranks.from_model(all_scores(model, split), split, up_to=20)
        assert_same(Ranks.from_model(model, split, up_to=20), top)


@pytest.mark.parametrize("exponent", [-30, -120, -140, -300, -540])
def test_products_that_are_too_small_for_a_type(exponent):
    """Float32 ends at 2**-149, and float64 at 2**-1074."""
    rng = np.random.default_rng(-exponent)
    users = rng.standard_normal((3, 4)) * 2.0**exponent
    items = rng.standard_normal((300, 4)) * 2.0 ** rng.integers(exponent, 0, (300, 1))
    split = Split.from_pairs([0], [0], [0, 1, 2], [5, 6, 7], n_users=3, n_items=300)
    for bias in (None, rng.standard_normal(300)):
        model = InnerProduct(users, items, None, bias)
        for up_to in (10, None):
            wanted = Ranks.from_model(all_scores(model, split), split, up_to=up_to)
            assert_same(Ranks.from_model(model, split, up_to=up_to), wanted)


def test_a_large_bias_of_a_user_makes_ties():
    rng = np.random.default_rng(0)
    split = split_of(rng, 3, 200, 12)
    users, items = vectors_of("plain", rng, 3, 200, 4)
    model = InnerProduct(users, items, [0, 1e15, -1e17])
    ranks = Ranks.from_model(model, split)
    assert ranks.n_tied[ranks.instance == known(ranks.users).tolist().index(2)].min() > 50
    assert_same(ranks, Ranks.from_model(all_scores(model, split), split))


# --- the number of scores


class Counting:
    """A model of pairs that notes which it was asked for."""

    def __init__(self, model):
        self.model, self.asked = model, []

    def scores(self, users, items=None):
        self.asked += zip(users.tolist(), items.tolist(), strict=True)
        return self.model.scores(users, items)


@pytest.mark.parametrize("up_to", [1, 10, None])
def test_the_count_of_scores_is_the_count_of_scores(up_to):
    rng = np.random.default_rng(0)
    train = rng.random((9, 2_000)) < 0.3
    train[:, :9] = False
    split = Split(sparse.csr_array(train.astype(float)), np.arange(9), np.arange(9))
    model = Counting(InnerProduct(*vectors_of("plain", rng, 9, 2_000, 8)))
    ranks = Ranks.from_model(model, split, up_to=up_to)
    assert ranks.n_scores == len(model.asked)
    assert len(set(model.asked)) == len(model.asked), "asked twice"
    assert not split.train[*np.array(model.asked).T].any(), "training items are no candidates"
    every = int(split.n_candidates.sum())
    assert ranks.n_scores == every if up_to is None else ranks.n_scores < every / 2


def test_nothing_is_scored_that_cannot_reach_the_target():
    items = np.ones((5_000, 1))
    items[:50] = 3
    split = Split.from_pairs([0], [60], [0, 0], [7, 70], n_items=5_000)
    ranks = Ranks.from_model(InnerProduct([[1]], items), split, block_size=1)
    assert (ranks.best.tolist(), ranks.n_tied.tolist()) == ([1, 51], [49, 4_948])
    assert known(ranks.n_scores) == 1 + 1_024 + 1 + 5_000  # level ones may come for the second
    for made in (ranks[:1], ranks.break_ties("optimistic"), Ranks([1])):
        assert made.n_scores is None


def test_a_model_says_which_items_win():
    rng = np.random.default_rng(0)
    users, items = vectors_of("plain", rng, 20, 5_000, 3)
    bias = np.select([np.arange(5_000) >= 4_900, np.arange(5_000) <= 20], [99.0, 50.0], 0)
    split = Split.from_pairs([0], [0], np.arange(20), np.arange(1, 21), n_items=5_000)
    model = InnerProduct(users, items, None, bias)
    first = pairs_model(model, item_order=np.arange(5_000)[::-1])
    found, other = (Ranks.from_model(m, split, up_to=10) for m in (first, pairs_model(model)))
    assert_same(found, other)
    assert known(found.n_scores) == 20 * 65 < known(other.n_scores) / 5


# --- what is refused

WIDE = np.broadcast_to(np.float16(1), (1, 2**22 + 1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0]], [[1.0, 2]]), "user_vectors has shape (1, 1), item_vectors has shape (1, 2); bo"),
        (([1.0], [[1.0]]), "user_vectors has shape (1,) and dtype float64; user_vectors must be a"),
        ((np.empty((0, 2)), [[1.0, 2]]), "user_vectors has shape (0, 2) and dtype float64; user_v"),
        (([[1.0]], [["a"]]), "item_vectors has shape (1, 1) and dtype <U1; item_vectors must be a"),
        (([[1.0]], [[1j]]), "item_vectors has shape (1, 1) and dtype complex128; item_vectors mus"),
        (([[1.0]], np.ones((1, 1), np.longdouble)), "item_vectors has shape (1, 1) and dtype "),
        (([[True]], [[1.0]]), "user_vectors has shape (1, 1) and dtype bool; user_vectors must be"),
        (([[1.0]], [[1.0], [np.nan]]), "item_vectors[1, 0] is nan; item_vectors must be finite"),
        (([[-np.inf]], [[1.0]]), "user_vectors[0, 0] is -inf; user_vectors must be finite"),
        ((array_api_strict.asarray([[np.inf]]), [[1.0]]), "user_vectors[0, 0] is inf; user_vecto"),
        ((array_api_strict.asarray([[1j]]), [[1.0]]), "user_vectors has shape (1, 1) and dtype "),
        ((pd.DataFrame([[1.0]]), [[1.0]]), "user_vectors is a DataFrame; pass user_vectors.to_nu"),
        ((np.ma.masked_equal([[1.0]], 1), [[1.0]]), "user_vectors is a masked or sparse array"),
        ((sparse.csr_array([[1.0]]), [[1.0]]), "user_vectors is a masked or sparse array"),
        (([[1.0]], [[1.0]], [1, 2]), "user_bias has shape (2,); user_bias must be one number for "),
        (([[1.0]], [[1.0]], None, [[1]]), "item_bias has shape (1, 1) and dtype int64; item_bias"),
        (([[1.0]], [[1.0]], None, [np.nan]), "item_bias[0] is nan; item_bias must be finite"),
        ((WIDE, WIDE), "user_vectors has 4194305 columns; give at most 2**22"),
        (([[1e200]], [[1e200]]), "user_vectors and item_vectors hold numbers of 1e+200 and 1e+20"),
    ],
)
def test_what_is_no_inner_product(arguments, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        InnerProduct(*arguments)


def test_a_device_without_float64(monkeypatch):
    def astype(array, dtype):
        raise TypeError("no float64 here")

    monkeypatch.setattr(array_api_strict, "astype", astype)
    there = array_api_strict.ones((2, 3))
    with pytest.raises(
        ValueError, match=r"^item_vectors is of a library or on a device without fl"
    ):
        InnerProduct(np.ones((2, 3)), there)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (([2], [0]), "users[0] is 2; users must be at most the last user's number"),
        (([0], [-1]), "items[0] is -1; items must be at least 0"),
        (([0, 1], [0]), "users has shape (2,), items has shape (1,); give two flat lists of one"),
        (([[0]],), "users has shape (1, 1); users must be one flat list"),
    ],
)
def test_pairs_without_a_score(pairs, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        InnerProduct([[1], [2]], [[1], [2], [3]]).scores(*pairs)


SMALL = Split.from_pairs([0], [0], [0], [2], n_items=5)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (InnerProduct([[1]], [[1]]), "model has vectors of 1 users and 1 items; it must have thos"),
        (
            pairs_model(None, item_order=[0, 1, 2, 3]),
            "model.item_order has shape (4,); it must hold each of the split's 5 items once, li",
        ),
        (pairs_model(None, item_order=[5] * 5), "model.item_order[0] is 5; model.item_order must"),
        (
            SimpleNamespace(scores=lambda users, items: np.zeros(3)),
            "model.scores(users, items) has shape (3,) and dtype float64 for 1 pairs; it must be",
        ),
        (
            SimpleNamespace(scores=lambda users, items: np.where(items == 4, np.nan, 1.0)),
            "model.scores(users, items) is nan for user 0 and item 4; a candidate's score must no",
        ),
        (
            SimpleNamespace(scores=lambda users, items: np.full(len(users), np.inf)),
            "model.scores(users, items) is inf for user 0 and item 2; a candidate's score must no",
        ),
    ],
)
def test_models_that_cannot_be_ranked_by(model, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        Ranks.from_model(model, SMALL, up_to=3)


@pytest.mark.parametrize("up_to", [0, 1.5, "ten"])
def test_what_is_no_last_rank(up_to):
    with pytest.raises(ValueError, match=r"^up_to is "):
        Ranks.from_model(np.zeros((1, 5)), SMALL, up_to=up_to)


def test_nobody():
    nobody = Split.from_pairs([0], [0], [], [], n_items=5)
    ranks = Ranks.from_model(InnerProduct([[1.0]], np.ones((5, 1))), nobody, up_to=3)
    assert (len(ranks), ranks.n_scores) == (0, 0)


# --- real data


@pytest.mark.slow
@pytest.mark.parametrize("category", ["games", "beauty"])
def test_every_user_of_a_real_data_set(category):
    folder = SHARED / f"amazon-{category}"
    if not folder.is_dir():
        pytest.skip(f"there is no {folder}")
    split = load_amazon(category, folder=folder)
    model = MatrixFactorization(n_factors=16, n_iterations=3, progress=False).fit(split.train)
    lengths = np.linalg.norm(model.item_factors, axis=1, keepdims=True)
    for items in (model.item_factors, model.item_factors / np.maximum(lengths, 1e-9)):
        vectors = InnerProduct(model.user_factors.astype(np.float32), items.astype(np.float32))
        wanted = Ranks.from_model(lambda users, m=vectors: m.scores(users), split, up_to=100)
        assert_same(Ranks.from_model(vectors, split, up_to=100), wanted)
        ten = Ranks.from_model(vectors, split, up_to=10)
        assert ten.best.tolist() == wanted.best[wanted.best <= 10].tolist()
        assert known(ten.n_scores) < 0.2 * len(split.users) * split.n_items
