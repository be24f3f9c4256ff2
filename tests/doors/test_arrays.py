"""Tensors of torch are counted where they are, and give the ranks of the same NumPy arrays."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse

from sampled_metrics import InnerProduct, Ranks, Split

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
DTYPES = [
    *(torch.float64, torch.float32, torch.float16, torch.bfloat16),
    *(torch.int64, torch.int32, torch.uint8, torch.bool),
]
N_USERS, N_ITEMS = 30, 50
ONE = Split.from_pairs([0], [0], [0], [2], n_items=5)


def random_data():
    """Return a split in which users have several held-out items, and pairs that are neither."""
    rng = np.random.default_rng(0)
    cells = rng.permutation(N_USERS * N_ITEMS)
    test, train, rest = (divmod(part, N_ITEMS) for part in (cells[:60], cells[60:300], cells[300:]))
    return Split.from_pairs(*train, *test, n_users=N_USERS, n_items=N_ITEMS), rest


def same(ranks, expected):
    for name in ("best", "n_tied", "n_items", "users"):
        np.testing.assert_array_equal(getattr(ranks, name), getattr(expected, name))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("block_size", [None, 7])
@pytest.mark.parametrize("rule", [None, "exclude", "candidates"])
def test_tensors_give_the_same_ranks(device, dtype, block_size, rule):
    split, (users, items) = random_data()
    table = np.random.default_rng(1).normal(0, 5, (N_USERS, N_ITEMS))
    tensor = torch.from_numpy(table).to(dtype).to(device)
    scores = tensor.to(torch.float64).cpu().numpy()
    half = users[::2], items[::2]
    held_out = split.users, split.items
    pairs = (
        half if rule == "exclude" else tuple(map(np.concatenate, zip(half, held_out, strict=True)))
    )
    pairs = pd.DataFrame(dict(zip(("user", "item"), pairs, strict=True)))
    options = {"block_size": block_size} | ({rule: pairs} if rule else {})
    expected = Ranks.from_model(scores, split, **options)
    for model in (
        tensor,
        tensor.T.contiguous().T,
        lambda users: tensor[users],
        SimpleNamespace(scores=lambda users: tensor[torch.from_numpy(users).to(device)]),
    ):
        same(Ranks.from_model(model, split, **options), expected)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES[:5], ids=str)
@pytest.mark.parametrize("up_to", [1, 10, None])
def test_vectors_are_multiplied_where_they_are(device, dtype, up_to):
    split, rng = random_data()[0], np.random.default_rng(2)
    given = [torch.from_numpy(rng.normal(0, 3, (n, 6))).to(dtype) for n in (N_USERS, N_ITEMS)]
    here = InnerProduct(*(vectors.to(torch.float64).numpy() for vectors in given))
    there = [vectors.to(device) for vectors in given]
    there[0].requires_grad = dtype.is_floating_point
    expected = Ranks.from_model(here.scores(range(N_USERS)), split, up_to=up_to)
    for block_size in (None, 7):
        ranks = Ranks.from_model(InnerProduct(*there), split, up_to=up_to, block_size=block_size)
        same(ranks, expected)
    pairs = SimpleNamespace(
        scores=lambda users, items: (
            there[0][users].to(torch.float64) * there[1][items].to(torch.float64)
        ).sum(dim=1)
    )
    if not dtype.is_floating_point:  # others add in another order
        same(Ranks.from_model(pairs, split, up_to=up_to), expected)


@pytest.mark.parametrize("device", DEVICES)
def test_a_model_that_is_trained_may_hand_out_its_gradients(device):
    class Factors(torch.nn.Module):
        def __init__(self):
            super().__init__()
            generator = torch.Generator().manual_seed(0)
            self.users = torch.nn.Parameter(torch.randn(N_USERS, 4, generator=generator).round())
            self.items = torch.nn.Parameter(torch.randn(N_ITEMS, 4, generator=generator).round())

        def forward(self, users):
            return self.users[users] @ self.items.T

    split, _ = random_data()
    model = Factors().to(device)
    scores = model(torch.arange(N_USERS))
    assert scores.requires_grad
    expected = Ranks.from_model(scores.detach().cpu().numpy(), split)
    same(Ranks.from_model(model, split, block_size=7), expected)
    same(Ranks.from_model(scores, split), expected)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (torch.tensor([[0, 1, 2, 3, torch.nan]]), "model is nan for user 0 and item 4; a cand"),
        (torch.tensor([[0, 1, torch.inf, 3, 4]]), "model is inf for user 0 and item 2; a cand"),
        (
            torch.zeros(1, 5, dtype=torch.complex64),
            r"model has shape .* torch.complex64 for 1 users",
        ),
        (torch.zeros(2, 5), r"model has shape \(2, 5\) and dtype torch.float32 for 1 users"),
        (torch.zeros(5), "model is of type Tensor; it must be a matrix of scores of shape"),
        (torch.zeros(1, 5).to_sparse(), r"model is a sparse tensor; use model.to_dense\(\)"),
    ],
)
def test_tensors_that_cannot_be_ranked(device, scores, message):
    with pytest.raises(ValueError, match=message):
        Ranks.from_model(scores.to(device), ONE)


def test_training_items_may_be_nan():
    ranks = Ranks.from_model(torch.tensor([[torch.nan, 3, 2, 2, 1]]).half(), ONE)
    assert (ranks.best, ranks.n_tied, ranks.n_items) == (2, 1, 4)


@pytest.mark.parametrize("device", DEVICES)
def test_only_counts_leave_the_tensors_device(device, monkeypatch):
    """Whatever a tensor hands to NumPy or to Python is no longer than the list of instances."""
    split, _ = random_data()
    sizes = []

    def noted(name):
        original = getattr(torch.Tensor, name)

        def method(tensor, *arguments, **options):
            sizes.append(tensor.numel())
            return original(tensor, *arguments, **options)

        monkeypatch.setattr(torch.Tensor, name, method)

    for name in ("__array__", "__dlpack__", "numpy", "tolist", "cpu"):
        noted(name)
    scores = torch.randn(N_USERS, N_ITEMS, generator=torch.Generator().manual_seed(0))
    Ranks.from_model(
        scores.bfloat16().to(device), split, exclude=sparse.csr_array(split.train.shape)
    )
    assert sizes
    assert max(sizes) <= len(split.users) + 1
