"""From what each library hands out to ranks, in a few lines, against ranks found by hand.

The scores by hand come from each library's call for a single user and a single item, where it has
one, and by name: no line of the shown ways is used again.
"""

import numpy as np
import pandas as pd
import pytest
import torch
from lenskit import score
from recbole.data.interaction import Interaction
from recbole.utils.case_study import full_sort_scores
from scipy import sparse

from sampled_metrics import InnerProduct, Ranks, Split


def by_hand(score, split):
    """Return best and worst ranks from ``score(user, item)``, which takes names; user by user."""
    ranks = []
    for user, item in zip(split.users, split.items, strict=True):
        seen = set(split.train[[user]].indices.tolist())
        scores = {
            i: score(split.user_names[user], split.item_names[i])
            for i in range(split.n_items)
            if i not in seen
        }
        above = sum(value > scores[item] for value in scores.values())
        ranks.append((above + 1, above + sum(value == scores[item] for value in scores.values())))
    best, worst = np.array(ranks).T
    order = np.lexsort((best, pd.factorize(split.users)[0]))
    return best[order], worst[order]


def agree(ranks, score, split):
    best, worst = by_hand(score, split)
    assert len(set(best.tolist())) > 3  # a model that says something
    np.testing.assert_array_equal(ranks.best, best)
    np.testing.assert_array_equal(ranks.best + ranks.n_tied, worst)
    assert ranks.users.tolist() == pd.unique(split.user_names[split.users]).tolist()


# RecBole: tensors whose item 0 and user 0 are padding


def recbole_score(recbole):
    def score(user, item):
        names = {"user_id": user, "item_id": item}
        numbers = {key: recbole.data.token2id(key, name) for key, name in names.items()}
        pair = Interaction({key: torch.tensor([number]) for key, number in numbers.items()})
        return recbole.model.predict(pair).item()

    return score


def test_recbole_model(recbole, split):
    model, data = recbole.model, recbole.data

    users = torch.as_tensor(data.token2id("user_id", split.user_names))
    items = torch.as_tensor(data.token2id("item_id", split.item_names))

    def scores(u):
        flat = model.full_sort_predict(Interaction({"user_id": users[u]}))
        return flat.view(len(u), -1)[:, items]

    agree(Ranks.from_model(scores, split), recbole_score(recbole), split)


def test_recbole_vectors(recbole, split):
    model, data = recbole.model, recbole.data

    users = torch.as_tensor(data.token2id("user_id", split.user_names))
    items = torch.as_tensor(data.token2id("item_id", split.item_names))
    vectors = model.user_embedding(users), model.item_embedding(items)
    ranks = Ranks.from_model(InnerProduct(*vectors), split)

    agree(ranks, recbole_score(recbole), split)


def test_recbole_scores_in_which_the_history_is_masked(recbole, split):
    model, data, test_data = recbole.model, recbole.data, recbole.test

    users = data.token2id("user_id", split.user_names)
    items = data.token2id("item_id", split.item_names)
    scores = full_sort_scores(users, model, test_data, device="cpu")[:, items]

    assert torch.isinf(scores).sum() == split.train.nnz
    agree(Ranks.from_model(scores, split), recbole_score(recbole), split)


def test_recbole_in_its_own_numbers(recbole, events, split):
    model, data, test_data = recbole.model, recbole.data, recbole.test
    pairs = [
        data.token2id(key, part[column].to_numpy()) - 1  # number 0 is padding
        for part in (events.train, events.test)
        for key, column in (("user_id", "user"), ("item_id", "item"))
    ]

    own = Split.from_pairs(*pairs)
    scores = full_sort_scores(range(1, data.user_num), model, test_data, device="cpu")[:, 1:]
    ranks = Ranks.from_model(scores, own)

    best, worst = by_hand(recbole_score(recbole), split)
    np.testing.assert_array_equal(ranks.best, best)
    np.testing.assert_array_equal(ranks.best + ranks.n_tied, worst)


# Cornac: a vector of scores for one user, in numbers of its own


def test_cornac(cornac, split):
    model = cornac

    users = [model.uid_map[name] for name in split.user_names]
    items = [model.iid_map[name] for name in split.item_names]
    ranks = Ranks.from_model(lambda u: [model.score(users[i])[items] for i in u], split)

    agree(ranks, lambda user, item: model.score(model.uid_map[user], model.iid_map[item]), split)


def test_cornac_vectors(cornac, split):
    model = cornac

    users = [model.uid_map[name] for name in split.user_names]
    items = [model.iid_map[name] for name in split.item_names]
    vectors = model.u_factors[users], model.i_factors[items]
    ranks = Ranks.from_model(InnerProduct(*vectors, item_bias=model.i_biases[items]), split)

    agree(ranks, lambda user, item: model.score(model.uid_map[user], model.iid_map[item]), split)


# implicit: factors, and lists that are padded


def implicit_score(model, split):
    def score(user, item):
        (u,), (i,) = np.where(split.user_names == user)[0], np.where(split.item_names == item)[0]
        return float(np.dot(model.user_factors[u], model.item_factors[i]))

    return score


def test_implicit_factors(implicit, split):
    model = implicit

    ranks = Ranks.from_model(lambda users: model.user_factors[users] @ model.item_factors.T, split)

    agree(ranks, implicit_score(model, split), split)


def test_implicit_vectors(implicit, split):
    model = implicit

    ranks = Ranks.from_model(InnerProduct(model.user_factors, model.item_factors), split)

    agree(ranks, implicit_score(model, split), split)


def test_implicit_recommendations(implicit, split):
    model, users = implicit, np.arange(split.n_users)

    ids, scores = model.recommend(users, sparse.csr_matrix(split.train), N=10)
    lists = [row[kept] for row, kept in zip(ids, scores > np.finfo(np.float32).min, strict=True)]
    ranks = Ranks.from_recommendations(lists, [split.items[split.users == u] for u in users])

    assert ranks.n_predicted.tolist() == [8] * split.n_users  # of 13 items, 5 are in the training
    best, worst = by_hand(implicit_score(model, split), split)
    np.testing.assert_array_equal(best, worst)
    expected = [sorted(best[split.users == user].tolist()) for user in users]
    np.testing.assert_array_equal(ranks.best, np.concatenate(expected))


# LensKit: a pipeline that scores items for one user, by name


def test_lenskit(lenskit, split):
    pipeline = lenskit.pipeline

    ranks = Ranks.from_model(
        lambda users: [
            score(pipeline, split.user_names[u], split.item_names).scores() for u in users
        ],
        split,
    )

    agree(ranks, lambda user, item: score(pipeline, user, [item]).scores()[0], split)


def test_lenskit_vectors(lenskit, split):
    model, data = lenskit.pipeline.node("scorer").component, lenskit.data

    users = [model.new_user_embedding(None, data.user_row(u))[0] for u in split.user_names]
    items = model.item_embeddings[model.items.numbers(split.item_names)]
    ranks = Ranks.from_model(InnerProduct(users, items), split)

    agree(ranks, lambda user, item: score(lenskit.pipeline, user, [item]).scores()[0], split)


@pytest.mark.parametrize("config", [True, "prefer"])
def test_lenskit_solves_users_anew_unless_told_to_prefer_those_of_training(
    lenskit, split, config, monkeypatch
):
    model, data = lenskit.pipeline.node("scorer").component, lenskit.data
    solved = [model.new_user_embedding(None, data.user_row(u))[0] for u in split.user_names]
    kept = model.user_embeddings[model.users.numbers(split.user_names)]
    items = model.item_embeddings[model.items.numbers(split.item_names)]

    monkeypatch.setattr(model.config, "user_embeddings", config)
    theirs = [score(lenskit.pipeline, u, split.item_names).scores() for u in split.user_names]
    from_solved, from_kept = (
        np.abs(InnerProduct(vectors, items).scores(range(split.n_users)) - theirs).max()
        for vectors in (solved, kept)
    )

    right, wrong = (from_kept, from_solved) if config == "prefer" else (from_solved, from_kept)
    assert right < 1e-6  # LensKit rounds to float32
    assert wrong > 0.01  # items are learned last, and the users of training never met them
