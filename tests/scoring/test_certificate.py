"""An interval holds the exact mean, whatever it cost; it is the mean once all is known."""

import re
from dataclasses import FrozenInstanceError, dataclass
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sampled_metrics import (
    AUC,
    NDCG,
    AveragePrecision,
    InnerProduct,
    Metric,
    Ranks,
    Recall,
    ReciprocalRank,
    Split,
)
from sampled_metrics.scoring import Certificate, certify

METRICS = (ReciprocalRank(), NDCG(), AveragePrecision(), AUC(), NDCG(k=10), Recall(k=3))


def some_model(rng, n_users, n_items, *, ties):
    users, items = rng.standard_normal((n_users, 6)), rng.standard_normal((n_items, 6))
    items *= rng.lognormal(size=(n_items, 1))
    if ties:
        users, items = 0.1 * np.round(users), 0.1 * np.round(items)
    return InnerProduct(users, items)


def some_split(rng, n_users, n_items):
    """Each user holds one item out; users come in any order."""
    held_out, users = rng.integers(n_items, size=n_users), rng.permutation(n_users)
    train = rng.random((n_users, n_items)) < 0.2
    train[users, held_out] = False
    return Split(sparse.csr_array(train.astype(float)), users, held_out)


@given(
    seed=st.integers(0, 2**32 - 1),
    metric=st.sampled_from(METRICS),
    ties=st.booleans(),
    pairs=st.booleans(),
    rule=st.sampled_from([None, "exclude", "candidates"]),
    share=st.floats(0, 1),
)
def test_the_exact_mean_is_inside(seed, metric, ties, pairs, rule, share):
    rng = np.random.default_rng(seed)
    split, model = some_split(rng, 9, 300), some_model(rng, 9, 300, ties=ties)
    rules: Any = {}
    if rule is not None:
        some = rng.random((9, 300)) < 0.3
        some[split.users, split.items] = rule == "candidates"
        rules[rule] = sparse.csr_array(some)
    exact = metric(Ranks.from_model(model, split, **rules)).mean()
    given: Any = model
    if pairs:
        given = SimpleNamespace(scores=lambda users, items: model.scores(users, items))
    most = 9 + int(share * 9 * 300)
    part = certify(given, split, metric, max_scores=most, **rules)
    assert part.low - 1e-12 <= exact <= part.high + 1e-12
    assert 9 <= part.n_scores <= most
    whole = certify(given, split, metric, **rules)
    assert whole.low == whole.high == pytest.approx(exact, abs=1e-12)
    assert part.n_scores <= whole.n_scores <= 9 * 301


def test_it_shrinks_as_scores_are_spent():
    rng = np.random.default_rng(0)
    split, model = some_split(rng, 40, 5_000), some_model(rng, 40, 5_000, ties=False)
    for metric in METRICS:
        parts = [certify(model, split, metric, width=w) for w in (1, 0.3, 0.1, 0.01, 0)]
        for wide, narrow in pairwise(parts):
            assert wide.low <= narrow.low <= narrow.high <= wide.high
            assert wide.n_scores <= narrow.n_scores
        for part, width in zip(parts, (1, 0.3, 0.1, 0.01, 0), strict=True):
            assert part.high - part.low <= width


def test_nothing_is_known_before_anything_is_scored():
    split = Split.from_pairs([0], [0], [0, 1], [1, 0], n_items=4)
    model = InnerProduct([[1], [1]], [[1], [2], [3], [4]])
    none = certify(model, split, ReciprocalRank(), max_scores=2)
    # Three and four candidates: the first may be anywhere.
    assert none == Certificate((1 / 3 + 1 / 4) / 2, 1.0, 2)
    with pytest.raises(FrozenInstanceError):
        none.low = 0  # type: ignore[misc]


@dataclass(frozen=True)
class Second(Metric):
    """Rises from the first rank to the second."""

    k: int | None = None

    def gain(self, rank, order, n_relevant, n_items):
        return np.where(rank == 2, 1.0, 0.5)

    def normalizer(self, ranks):
        return 1


@dataclass(frozen=True)
class Share(Metric):
    """Falls with the rank, and depends on the number of candidates, as AUC does."""

    k: int | None = None
    needs_n_items = True

    def gain(self, rank, order, n_relevant, n_items):
        return 1 - (rank / n_items) ** 2

    def normalizer(self, ranks):
        return 1


def test_a_metric_of_ones_own():
    rng = np.random.default_rng(0)
    split, model = some_split(rng, 9, 300), some_model(rng, 9, 300, ties=True)
    exact = Share()(Ranks.from_model(model, split)).mean()
    part = certify(model, split, Share(), width=0.2)
    assert part.low < exact < part.high <= part.low + 0.2


ONE = Split.from_pairs([0], [0], [0], [2], n_items=5)
MODEL = InnerProduct([[1]], np.ones((5, 1)))
NAMED = Split.from_pairs(["ann"], ["tea"], ["ann", "ann"], ["nut", "fig"])


@pytest.mark.parametrize(
    ("model", "split", "metric", "options", "message"),
    [
        (MODEL, None, AUC(), {}, "split is None; split must be a Split, such as Split.from_pairs"),
        (MODEL, ONE, "AUC", {}, "metric is 'AUC'; metric must be a Metric, such as Reciprocal"),
        (MODEL, ONE, AUC(), {"width": -1}, "width is -1; width must be positive or 0"),
        (MODEL, ONE, AUC(), {"max_scores": 0}, "max_scores is 0; max_scores must be at least 1"),
        (MODEL, ONE, AUC(), {"progress": 1}, "progress is 1; progress must be True or False"),
        (np.ones((1, 5)), ONE, AUC(), {}, "model is of type ndarray, which gives all scores of a"),
        (MODEL, NAMED, AUC(), {}, "split holds out 2 items of user ann; certify needs one for ea"),
        (MODEL, Split(ONE.train, [], []), AUC(), {}, "split holds out no item; give one for at l"),
        (MODEL, ONE, Second(), {}, "Second is 0.5 at rank 1 and 1.0 at rank 2; certify needs a m"),
    ],
)
def test_what_is_refused(model, split, metric, options, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        certify(model, split, metric, **options)
