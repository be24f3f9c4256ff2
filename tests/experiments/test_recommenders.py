"""Recommenders against dense, slow implementations of the paper's formulas, and `implicit`."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from sampled_metrics import Ranks, Split
from sampled_metrics.experiments import ItemKNN, MatrixFactorization


@pytest.fixture(scope="module")
def train():
    """Thirty users and twenty items of uneven popularity; one item and one user without events."""
    rng = np.random.default_rng(0)
    events = rng.random((30, 20)) < np.linspace(0.05, 0.6, 20)
    events[:, 7] = False
    events[3] = False
    return sparse.csr_array(events.astype(float))


def events_of(matrix):
    return [np.flatnonzero(row) for row in matrix]


# Matrix factorization


def textbook_iteration(dense, items, regularization, weight):
    """Solve for all users, then for all items, one linear system at a time."""

    def solve(events, fixed):
        shared = weight * fixed.T @ fixed + regularization * np.eye(fixed.shape[1])
        return np.stack(
            [
                np.linalg.solve(shared + fixed[row].T @ fixed[row], fixed[row].sum(axis=0))
                for row in events
            ]
        )

    users = solve(events_of(dense), items)
    return users, solve(events_of(dense.T), users)


@pytest.mark.parametrize("n_factors", [1, 3, 12, 40])
def test_iterations_agree_with_the_textbook(train, n_factors):
    """Users have 0 to 12 events, items 0 to 22: some have fewer than there are factors.

    The start is part of it: it decides which of many solutions a seed leads to.
    """
    model = MatrixFactorization(
        n_factors, regularization=0.5, unobserved_weight=0.3, n_iterations=3, rng=5
    ).fit(train)
    items = np.random.default_rng(5).normal(scale=0.1, size=(20, n_factors))
    for _ in range(3):
        users, items = textbook_iteration(train.toarray(), items, 0.5, 0.3)
    np.testing.assert_allclose(model.user_factors, users, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.item_factors, items, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.scores([4, 0]), users[[4, 0]] @ items.T, atol=1e-9)


@pytest.mark.slow
def test_many_users_with_equally_many_events_agree_with_the_textbook():
    """80,000 users of four kinds: more than are solved at once, and items with 20,000 events."""
    kinds = np.array([[1.0, 0, 1, 0, 0], [0, 1, 0, 1, 0], [1, 1, 0, 0, 0], [0, 0, 1, 0, 1]])
    train = sparse.csr_array(np.tile(kinds, (20_000, 1)))
    options: dict[str, Any] = {"n_factors": 3, "regularization": 0.5, "unobserved_weight": 0.3}
    before = MatrixFactorization(n_iterations=1, **options).fit(train)
    after = MatrixFactorization(n_iterations=2, **options).fit(train)
    expected, _ = textbook_iteration(kinds, before.item_factors, 0.5, 0.3)
    np.testing.assert_allclose(after.user_factors, np.tile(expected, (20_000, 1)), atol=1e-9)
    expected, _ = textbook_iteration(train.toarray().T, after.user_factors, 0.5, 0.3)
    np.testing.assert_allclose(after.item_factors, expected, rtol=1e-7, atol=1e-10)


def test_scores_are_those_of_hu_koren_and_volinsky_up_to_a_factor(train):
    """Confidence 1 + 1/alpha for events with target 1, confidence 1 elsewhere with target 0."""
    alpha, regularization = 0.25, 0.5
    ours = MatrixFactorization(
        n_factors=3, regularization=regularization, unobserved_weight=alpha, n_iterations=500
    ).fit(train)
    u, v = (np.sqrt(1 + alpha) * factors for factors in (ours.user_factors, ours.item_factors))
    confidence = 1 + train.toarray() / alpha
    theirs = regularization * (1 + alpha) / alpha

    def gradient(u, v):
        return (confidence * (u @ v.T - train.toarray())) @ v + theirs * u

    np.testing.assert_allclose(gradient(u, v), 0, atol=1e-6)
    assert np.abs(gradient(u, 1.01 * v)).max() > 1e-3


def test_loss_is_the_papers_and_never_rises(train):
    losses = []
    for n_iterations in range(1, 12):
        model = MatrixFactorization(
            n_factors=3, regularization=0.5, unobserved_weight=0.3, n_iterations=n_iterations
        ).fit(train)
        losses.append(model.loss(train))
    assert (np.diff(losses) <= 1e-9).all()
    assert losses[0] > losses[-1] + 0.1
    dense, scores = train.toarray(), model.scores(np.arange(30))
    factors = np.concatenate([model.user_factors, model.item_factors])
    by_hand = ((scores - 1)[dense == 1] ** 2).sum() + 0.3 * (scores**2).sum()
    assert losses[-1] == pytest.approx(by_hand + 0.5 * (factors**2).sum())


@pytest.mark.filterwarnings("ignore:OpenBLAS is configured")  # about its speed
def test_same_solution_as_implicit(train):
    """A loss with target 1 + alpha and confidence 1 + 1/alpha is ours with the factors rescaled."""
    als = pytest.importorskip("implicit.als")
    alpha, regularization = 0.2, 0.5
    ours = MatrixFactorization(
        n_factors=3, regularization=regularization, unobserved_weight=alpha, n_iterations=300
    ).fit(train)
    theirs = als.AlternatingLeastSquares(
        factors=3,
        regularization=regularization * (1 + alpha) / alpha,
        alpha=1 + 1 / alpha,
        iterations=300,
        random_state=0,
        use_cg=False,
        use_gpu=False,
        dtype=np.float64,
        num_threads=1,
    )
    theirs.fit(sparse.csr_matrix(train), show_progress=False)
    # Scores, since the factors themselves may be rotated.
    expected = theirs.user_factors @ theirs.item_factors.T / (1 + alpha)
    np.testing.assert_allclose(ours.scores(np.arange(30)), expected, atol=1e-4)


def test_seed_decides_the_solution(train):
    fits = [
        MatrixFactorization(n_factors=3, n_iterations=2, rng=seed).fit(train) for seed in (1, 1, 2)
    ]
    np.testing.assert_array_equal(fits[0].item_factors, fits[1].item_factors)
    assert not np.allclose(fits[0].item_factors, fits[2].item_factors)


def test_a_fit_can_be_repeated_unless_it_shares_a_generator(train):
    model = MatrixFactorization(n_factors=3, n_iterations=2)
    first = model.fit(train).item_factors
    np.testing.assert_array_equal(model.fit(train).item_factors, first)
    model = MatrixFactorization(n_factors=3, n_iterations=2, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(model.fit(train).item_factors, first)
    assert not np.allclose(model.fit(train).item_factors, first)
    model = MatrixFactorization(n_factors=3, n_iterations=2, rng=np.random.SeedSequence(0))
    np.testing.assert_array_equal(model.fit(train).item_factors, first)


def test_without_unobserved_weight_only_events_count(train):
    model = MatrixFactorization(n_factors=3, regularization=0.01, unobserved_weight=0).fit(train)
    np.testing.assert_allclose(model.scores(np.arange(30))[train.toarray() == 1], 1, atol=0.2)
    assert model.scores(np.arange(30))[train.toarray() == 0].mean() > 0.3


def test_user_and_item_without_events_score_zero(train):
    model = MatrixFactorization(n_factors=3, regularization=0.1).fit(train)
    np.testing.assert_allclose(model.scores([3]), 0, atol=1e-12)
    np.testing.assert_allclose(model.scores(np.arange(30))[:, 7], 0, atol=1e-12)


# Item-based collaborative filtering


def textbook_knn(
    dense,
    exponent,
    row_neighbors,
    column_neighbors,
    counts_itself,
    self_similarity,
    row_norm,
    divide,
):
    """Equations 27 to 30 item by item."""
    users = [set(np.flatnonzero(column)) for column in dense.T]
    n = len(users)
    s = np.zeros((n, n))
    for i, j in product(range(n), repeat=2):
        if users[i] and users[j]:
            s[i, j] = (
                len(users[i] & users[j]) / np.sqrt(len(users[i]) * len(users[j]))
            ) ** exponent

    def nearest(i, k):
        if k is None:
            return set(range(n))
        # Equal similarities may differ in the last bits here, but not in the ninth decimal.
        rivals = [round(s[i, j], 9) for j in range(n) if j != i or counts_itself]
        worst = sorted(rivals, reverse=True)[k - 1] if k <= len(rivals) else 0
        return {
            j for j in range(n) if s[i, j] and s[i, j] > worst - 1e-9 and (j != i or counts_itself)
        }

    kept = np.zeros((n, n))
    for i, j in product(range(n), repeat=2):
        keep = i in nearest(j, column_neighbors) and j in nearest(i, row_neighbors)
        if i == j and self_similarity is not None:
            keep = self_similarity
        kept[i, j] = s[i, j] * keep
    scores = np.zeros(dense.shape)
    for i in range(n):
        norm = np.linalg.norm(kept[i]) if row_norm == "l2" else 1.0
        row = kept[i] / norm if norm else kept[i]
        scores[:, i] = dense @ row
        if divide and row.sum():
            scores[:, i] /= row.sum()
    return scores


OPTIONS = {
    "exponent": 1.0,
    "row_neighbors": None,
    "column_neighbors": None,
    "counts_itself": False,
    "self_similarity": None,
    "row_norm": "l2",
    "divide_by_row_sum": False,
}


@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"exponent": 3.0},
        {"exponent": 0.5},
        {"row_neighbors": 4},
        {"column_neighbors": 4},
        {"column_neighbors": 1},
        {"column_neighbors": 100},
        {"row_neighbors": 3, "column_neighbors": 5},
        {"column_neighbors": 4, "counts_itself": True},
        {"row_neighbors": 4, "counts_itself": True},
        {"column_neighbors": 4, "counts_itself": True, "self_similarity": False},
        {"column_neighbors": 4, "self_similarity": True},
        {"self_similarity": False},
        {"row_norm": None},
        {"row_neighbors": 4, "row_norm": None},
        {"divide_by_row_sum": True},
        {"row_neighbors": 4, "divide_by_row_sum": True},
        {"row_norm": None, "divide_by_row_sum": True},
    ],
    ids=str,
)
def test_every_choice_agrees_with_the_textbook(train, choices):
    options = OPTIONS | choices
    expected = textbook_knn(train.toarray(), *options.values())
    scores = ItemKNN(**choices).fit(train).scores(np.arange(30))
    np.testing.assert_allclose(scores, expected, atol=1e-12)
    if choices:  # the choice matters here, so that the agreement says something
        usual = textbook_knn(train.toarray(), *OPTIONS.values())
        changed = not np.allclose(expected, usual)
        assert changed or choices == {"column_neighbors": 100}


def test_norm_cancels_when_divided_by_the_row_sum(train):
    with_norm, without = (
        ItemKNN(exponent=3, row_norm=norm, divide_by_row_sum=True).fit(train).scores([0, 1, 2])
        for norm in ("l2", None)
    )
    np.testing.assert_allclose(with_norm, without, atol=1e-12)


def test_an_item_is_similar_to_itself_if_it_has_a_user():
    train = sparse.csr_array([[1, 1, 0], [1, 0, 0]])
    model = ItemKNN(column_neighbors=1, self_similarity=True, row_norm=None).fit(train)
    assert model.similarity.diagonal().tolist() == [1, 1, 0]


def test_all_items_tied_with_the_last_neighbor_are_kept():
    # Items 1, 2 and 3 have one user each, of item 0's three: they are equally near to it.
    train = sparse.csr_array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]])
    similarity = ItemKNN(row_neighbors=1).fit(train).similarity
    assert isinstance(similarity, sparse.csc_array)
    np.testing.assert_allclose(similarity.toarray()[0], [0, 3**-0.5, 3**-0.5, 3**-0.5])


def test_similarity_is_dense_only_where_that_is_smaller(train):
    assert isinstance(ItemKNN().fit(train).similarity, np.ndarray)
    assert sparse.issparse(ItemKNN(row_neighbors=4).fit(train).similarity)
    assert sparse.issparse(ItemKNN().fit(sparse.csr_array(np.eye(20))).similarity)


@pytest.mark.parametrize(
    "choices", [{"exponent": 3}, {"column_neighbors": 2}, {"row_neighbors": 1}]
)
@pytest.mark.slow
def test_many_items_take_little_memory(choices):
    """60,000 items, of which a dense matrix would take 29 GB, each as in a split of its own."""
    kinds = np.array([[1.0, 1, 0], [1, 1, 1], [0, 1, 1], [1, 0, 0]])
    small = ItemKNN(**choices).fit(sparse.csr_array(kinds))
    large = ItemKNN(**choices).fit(
        sparse.block_diag([sparse.csr_array(kinds)] * 20_000, format="csr")
    )
    users = np.array([0, 39_998, 79_999])
    scores = large.scores(users)
    for row, user in zip(scores, users, strict=True):
        own = slice(3 * (user // 4), 3 * (user // 4) + 3)
        np.testing.assert_allclose(row[own], small.scores([user % 4])[0], rtol=1e-12)
        assert not np.delete(row, np.r_[own]).any()


def test_events_of_other_types_are_counted_right():
    """300 users of both items: as many as neither bool nor eight bits can add up."""
    train = np.ones((300, 2))
    train[:100, 1] = 0
    for dtype in (float, bool, np.uint8, np.int8, np.float32):
        similarity = ItemKNN(row_norm=None).fit(sparse.csr_array(train.astype(dtype))).similarity
        assert isinstance(similarity, np.ndarray)
        np.testing.assert_allclose(similarity, [[1, (2 / 3) ** 0.5], [(2 / 3) ** 0.5, 1]])


def test_an_exponent_that_leaves_nothing_of_a_similarity(train):
    for choices in ({}, {"self_similarity": False}, {"row_neighbors": 2}):
        scores = ItemKNN(exponent=5000, **choices).fit(train).scores(np.arange(30))
        assert np.isfinite(scores).all()


@pytest.mark.parametrize("model", [ItemKNN(exponent=3), ItemKNN(column_neighbors=4)], ids=str)
def test_numbering_of_items_does_not_change_the_ranks(model):
    rng = np.random.default_rng(3)
    cells = np.argwhere(rng.random((300, 40)) < 0.1)
    _, first = np.unique(cells[:, 0], return_index=True)
    held_out = np.isin(np.arange(len(cells)), first)
    ranks = []
    for number in (np.arange(40), rng.permutation(40)):
        (u, i), (v, j) = cells[~held_out].T, cells[held_out].T
        split = Split.from_pairs(u, number[i], v, number[j], n_users=300, n_items=40)
        found = Ranks.from_model(model.fit(split.train), split)
        ranks.append((found.best, found.n_tied))
    one, other = ranks
    assert one[1].any()
    np.testing.assert_array_equal(one, other)


# Both


@pytest.mark.parametrize(
    ("recommender", "options", "message"),
    [
        (MatrixFactorization, {"n_factors": 0}, "n_factors is 0"),
        (MatrixFactorization, {"n_iterations": 0}, "n_iterations is 0"),
        (MatrixFactorization, {"regularization": 0.0}, "regularization is 0.0"),
        (MatrixFactorization, {"regularization": np.nan}, "regularization is nan"),
        (MatrixFactorization, {"unobserved_weight": -0.1}, "unobserved_weight is -0.1"),
        (ItemKNN, {"exponent": 0}, "exponent is 0"),
        (ItemKNN, {"row_neighbors": 0}, "row_neighbors is 0"),
        (ItemKNN, {"column_neighbors": 2.5}, "column_neighbors is 2.5"),
        (ItemKNN, {"row_norm": "l1"}, "row_norm is 'l1'"),
        (ItemKNN, {"counts_itself": "no"}, "counts_itself is 'no'; .* must be True or False"),
        (ItemKNN, {"divide_by_row_sum": "no"}, "divide_by_row_sum is 'no'"),
        (ItemKNN, {"divide_by_row_sum": None}, "divide_by_row_sum is None"),
        (ItemKNN, {"self_similarity": "no"}, "self_similarity is 'no'"),
        (ItemKNN, {"self_similarity": 1}, "self_similarity is 1"),
        (MatrixFactorization, {"progress": "no"}, "progress is 'no'"),
        (MatrixFactorization, {"rng": "seed"}, "rng is 'seed'"),
        (MatrixFactorization, {"rng": -1}, "rng is -1"),
    ],
)
def test_parameters_out_of_range(recommender, options, message):
    with pytest.raises(ValueError, match=message):
        recommender(**options)


@pytest.mark.parametrize("recommender", [MatrixFactorization(), ItemKNN()], ids=str)
@pytest.mark.parametrize(
    ("train", "message"),
    [
        (sparse.csr_array([[1.0, 0.0], [0.0, 4.0]]), r"train\[1, 1\] is 4.0"),
        (sparse.csr_array(([1.0, 1], [1, 1], [0, 2, 2]), shape=(2, 2)), r"train\[0, 1\] is 2.0"),
        (sparse.csr_array(([1.0, np.nan], [0, 1], [0, 0, 2])), r"train\[1, 1\] is nan"),
        (np.eye(2), "train is a ndarray"),
    ],
)
def test_training_events_that_are_not_ones(recommender, train, message):
    with pytest.raises(ValueError, match=message):
        recommender.fit(train)


@pytest.mark.parametrize("recommender", [MatrixFactorization(), ItemKNN()], ids=str)
@pytest.mark.parametrize("users", [[0, 30], [-1]])
def test_users_out_of_range(recommender, users, train):
    with pytest.raises(ValueError, match=r"users\[\d\] is"):
        recommender.fit(train).scores(users)


@pytest.mark.parametrize("recommender", [MatrixFactorization(), ItemKNN()], ids=str)
def test_users_of_any_integer_type(recommender, train):
    train = sparse.vstack([train] * 8, format="csr")  # 240 users, more than fit into int8
    users = np.array([200, 7, 130])
    scores = recommender.fit(train).scores(users)
    np.testing.assert_array_equal(scores, recommender.scores(users.astype(np.uint8)))
    np.testing.assert_allclose(scores, recommender.scores(users % 30), atol=1e-12)


def test_fit_leaves_the_events_alone():
    events = sparse.csr_array(([1.0, 1, 1], [2, 0, 1], [0, 2, 3]), shape=(2, 3))
    for model in (MatrixFactorization(), ItemKNN(), ItemKNN(row_neighbors=1)):
        model.fit(events)
    np.testing.assert_array_equal(events.indices, [2, 0, 1])


def test_what_was_not_fitted_says_so():
    for model in (MatrixFactorization(), ItemKNN()):
        with pytest.raises(ValueError, match="is not fitted; call fit"):
            model.scores([0])
    with pytest.raises(ValueError, match="is not fitted; call fit"):
        MatrixFactorization().loss(sparse.csr_array(np.eye(3)))


def test_loss_of_another_matrix_and_users_that_are_no_list():
    model = MatrixFactorization(n_factors=2, progress=False).fit(sparse.csr_array(np.eye(3)))
    with pytest.raises(ValueError, match=r"train has shape \(5, 5\); the fit had \(3, 3\)"):
        model.loss(sparse.csr_array(np.eye(5)))
    with pytest.raises(ValueError, match=r"users has shape \(\); users must be one flat list"):
        model.scores(0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"exponent": "3"}, "exponent is '3'; exponent must be a number"),
        ({"exponent": True}, "exponent is True"),
        ({"row_norm": "None"}, "row_norm is 'None'; row_norm must be one of 'l2', None"),
    ],
)
def test_bad_options_of_item_knn(options, message):
    with pytest.raises(ValueError, match=message):
        ItemKNN(**options)


def test_whole_floats_are_taken_as_integers():
    train = sparse.csr_array(np.eye(3))
    model = MatrixFactorization(n_factors=2.0, n_iterations=2.0)  # type: ignore[arg-type]
    assert model.fit(train).user_factors.shape == (3, 2)
    knn = ItemKNN(row_neighbors=2.0)  # type: ignore[arg-type]
    assert knn.fit(train).scores([0]).shape == (1, 3)
