"""`scripts/make_neural.py`: what its models see, what they learn, and what they are given."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import make_neural  # noqa: E402

N_ITEMS, LONGEST = 9, 12
both = pytest.mark.parametrize("kind", make_neural.MODELS.values())


def vectors(model, items):
    with torch.no_grad():
        return model(*make_neural.padded([np.array(items)]))[0]


def trained(kind, lists, epochs):
    torch.manual_seed(0)
    how = {"epochs": epochs, "users_at_once": 16, "longest": LONGEST}
    return make_neural.train(kind(N_ITEMS, LONGEST), lists, N_ITEMS, **how)


def test_a_table_ends_with_each_list():
    table, is_item = make_neural.padded([np.array([4, 5, 6]), np.array([7])])
    assert table.tolist() == [[4, 5, 6], [0, 0, 7]]
    assert is_item.tolist() == [[True] * 3, [False, False, True]]


@both
def test_a_vector_depends_on_no_later_item(kind):
    torch.manual_seed(0)
    model = kind(N_ITEMS, LONGEST).eval()
    one, other = vectors(model, [1, 2, 3, 4]), vectors(model, [1, 2, 3, 5])
    torch.testing.assert_close(one[:3], other[:3])
    assert not torch.allclose(one[3], other[3])


@both
def test_a_vector_depends_on_nobody_else_in_the_batch(kind):
    torch.manual_seed(0)
    model = kind(N_ITEMS, LONGEST).eval()
    with torch.no_grad():
        beside = model(*make_neural.padded([np.array([1, 2]), np.arange(9)]))[0, -1]
    torch.testing.assert_close(beside, vectors(model, [1, 2])[-1])


def test_order_counts_for_sasrec_alone():
    for kind in make_neural.MODELS.values():
        torch.manual_seed(0)
        model = kind(N_ITEMS, LONGEST).eval()
        same = torch.allclose(
            vectors(model, [1, 2, 3])[-1], vectors(model, [2, 1, 3])[-1], atol=1e-6
        )
        assert same != kind.needs_order


def test_batches_hold_each_list_once():
    lists = [np.arange(n) for n in (3, 1, 4, 1, 5, 9, 2, 6)]
    found = list(make_neural.batches(lists, 3, np.random.default_rng(0)))
    assert sorted(map(len, found)) == [2, 3, 3]
    assert sorted(len(x) for some in found for x in some) == sorted(map(len, lists))


def test_sasrec_learns_what_comes_next():
    """Each item follows the one before it in a circle."""
    rng = np.random.default_rng(1)
    lists = [(start + np.arange(8)) % N_ITEMS for start in rng.integers(N_ITEMS, size=200)]
    model = trained(make_neural.SASRec, lists, 8)
    users, items = make_neural.vectors_of(model, lists, LONGEST)
    scores = users @ items.T
    following = [(x[-1] + 1) % N_ITEMS for x in lists]
    assert np.mean(scores.argmax(axis=1) == following) > 0.95


def test_the_tower_learns_what_goes_together():
    """Some users take three items, the others six other ones; one of a user's items is missing."""
    rng = np.random.default_rng(1)
    lists = [rng.permutation(kind)[:-1] for kind in ([0, 1, 2], range(3, 9)) for _ in range(100)]
    model = trained(make_neural.Tower, lists, 30)
    users, items = make_neural.vectors_of(model, lists, LONGEST)
    scores = users @ items.T
    for row, mine in zip(scores, lists, strict=True):
        row[mine] = -np.inf
    missing = [({0, 1, 2} if x[0] < 3 else set(range(3, 9))) - set(x) for x in lists]
    assert np.mean([int(row.argmax()) in x for row, x in zip(scores, missing, strict=True)]) > 0.95


def test_a_user_without_items_has_a_vector_of_zeros():
    model = make_neural.SASRec(N_ITEMS, LONGEST).eval()
    users, items = make_neural.vectors_of(model, [np.array([1]), np.array([], int)], LONGEST)
    assert users[0].any()
    assert not users[1].any()
    assert items.shape == (N_ITEMS, make_neural.WIDTH)
