"""The tables that libraries hand out become ranks in a line or two; found by hand, too.

Nothing but the columns' names is said. By hand, a user's list is a list and is searched for each
held-out item.
"""

import numpy as np
import pandas as pd

from sampled_metrics import NDCG, Ranks, Recall


def lists_of(table, user, item):
    """What was recommended to each user, best first, from a table that is sorted."""
    return {name: rows[item].tolist() for name, rows in table.groupby(user, sort=False)}


def agree(ranks, lists, held_out):
    """Look every held-out item up in its user's list."""
    labels = lists_of(held_out, "user", "item")
    assert sorted(ranks.users.tolist()) == sorted(labels) == sorted(lists)
    n_found = 0
    for x, user in enumerate(ranks.users.tolist()):
        found = sorted(lists[user].index(item) + 1 for item in labels[user] if item in lists[user])
        assert ranks[[x]].best.tolist() == found
        assert ranks.n_relevant[x] == len(labels[user])
        assert ranks.n_predicted[x] == len(lists[user])
        n_found += len(found)
    assert n_found > 3


def test_rectools(rectools, events):
    model, data = rectools.model, rectools.data
    users = events.test["user"].unique()

    recommended = model.recommend(users=users, dataset=data, k=6, filter_viewed=True)
    liked = events.test.rename(columns={"user": "user_id", "item": "item_id"})
    ranks = Ranks.from_recommendations(recommended, liked, user="user_id", item="item_id")

    by_rank = recommended.sort_values(["user_id", "rank"])
    agree(ranks, lists_of(by_rank, "user_id", "item_id"), events.test)
    from rectools import metrics

    theirs = metrics.Recall(k=3).calc_per_user(recommended, liked)
    np.testing.assert_allclose(Recall(3)(ranks), theirs[ranks.users.tolist()], atol=1e-12)


def test_lenskit_recommendations(lenskit, events):
    from lenskit.batch import recommend

    recommended = recommend(lenskit.pipeline, events.test["user"].unique(), n=6, n_jobs=1)

    liked = events.test.rename(columns={"user": "user_id", "item": "item_id"})
    ranks = Ranks.from_recommendations(recommended.to_df(), liked, user="user_id", item="item_id")

    agree(ranks, {key.user_id: items.ids().tolist() for key, items in recommended}, events.test)


def test_lenskit_scores(lenskit, events):
    from lenskit.batch import score
    from lenskit.data import ItemList

    users, items = events.test["user"].unique(), ItemList(events.train["item"].unique())
    scores = score(lenskit.pipeline, {user: items for user in users}, n_jobs=1)

    names = {"user": "user_id", "item": "item_id"}
    liked, seen = (table.rename(columns=names) for table in (events.test, events.train))
    ranks = Ranks.from_scores(scores.to_df(), liked, exclude=seen, **names)

    by_name = {
        (key.user_id, item): value
        for key, items in scores
        for item, value in zip(items.ids(), items.scores(), strict=True)
    }
    seen = set(events.train.itertuples(index=False, name=None))
    counted = set()
    for user, item in events.test.itertuples(index=False, name=None):
        left = [s for (u, i), s in by_name.items() if u == user and (u, i) not in seen]
        above = sum(value > by_name[user, item] for value in left)
        counted.add((user, above + 1, left.count(by_name[user, item]) - 1, len(left)))
    of = ranks.instance
    columns = (ranks.users[of], ranks.best, ranks.n_tied, ranks.n_items[of])
    assert set(zip(*(column.tolist() for column in columns), strict=True)) == counted
    assert len(ranks.best) == len(events.test)


def ranx_files(events):
    """A run and the judgments, as ranx keeps them."""
    from ranx import Qrels, Run

    rng = np.random.default_rng(1)
    rows = (
        events.test[["user"]]
        .drop_duplicates()
        .merge(events.train[["item"]].drop_duplicates(), "cross")
    )
    rows = rows.sample(frac=0.7, random_state=rng)
    rows = rows.assign(score=rng.permutation(len(rows)) / 7)
    graded = events.test.assign(relevance=1 + np.arange(len(events.test)) % 3)
    run = Run.from_df(rows.astype({"user": object, "item": object}), "user", "item", "score")
    qrels = Qrels.from_df(
        graded.astype({"user": object, "item": object}), "user", "item", "relevance"
    )
    return run, qrels


def test_ranx(events):
    from ranx import evaluate

    run, qrels = ranx_files(events)

    ranks = Ranks.from_recommendations(
        run.to_dataframe(), qrels.to_dataframe(), user="q_id", item="doc_id", relevance="score"
    )

    by_score = {user: sorted(row, key=row.get, reverse=True) for user, row in run.to_dict().items()}
    agree(ranks, by_score, events.test)
    theirs = evaluate(qrels, run, "ndcg@5")
    np.testing.assert_allclose(NDCG(5).mean(ranks), theirs, rtol=0, atol=1e-12)


def test_recbole_recommendations(recbole, events):
    from recbole.utils.case_study import full_sort_topk

    model, data, test = recbole.model, recbole.data, recbole.test
    users = events.test["user"].unique()

    _, items = full_sort_topk(data.token2id("user_id", users), model, test, k=6)
    recommended = dict(zip(users, data.id2token("item_id", items.cpu()).tolist(), strict=True))
    ranks = Ranks.from_recommendations(recommended, lists_of(events.test, "user", "item"))

    agree(ranks, recommended, events.test)


def test_cornac(cornac, events):
    scored = [
        (user, item, score)
        for user, number in cornac.uid_map.items()
        for item, score in zip(cornac.iid_map, cornac.score(number), strict=True)
    ]

    table = pd.DataFrame(scored, columns=["user", "item", "score"])
    ranks = Ranks.from_scores(table, events.test, exclude=events.train)

    seen, labels = (lists_of(part, "user", "item") for part in (events.train, events.test))
    for user, items in labels.items():
        left = [item for item in cornac.recommend(user) if item not in seen[user]]
        entries = ranks[ranks.users == user]
        assert sorted(entries.best) == sorted(left.index(item) + 1 for item in items)
        assert set(entries.n_items) == {len(left)}
        assert not entries.n_tied.any()
