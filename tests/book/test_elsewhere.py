"""The derived files of the page "Does it happen elsewhere?": against brute force and fresh runs."""

import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

from sampled_metrics import AUC, NDCG, Recall, ReciprocalRank
from sampled_metrics.experiments import load_amazon

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import make_elsewhere as module  # noqa: E402

FILES = {"games": "Video.txt.gz", "beauty": "beauty.txt.gz"}


# Beauty takes a minute; the count by hand holds its file to the data.
small_ones = pytest.mark.parametrize("data_set", ["movielens", "games"], indirect=True)


def derived(name, part=""):
    return pd.read_csv(ROOT / "book" / "data" / f"elsewhere_{name}{part}.csv.gz")


@pytest.fixture(scope="module", params=["movielens", "games", "beauty"])
def data_set(request):
    """Name and split of a data set, where it is at hand."""
    if request.param == "movielens":
        return request.param, request.getfixturevalue("movielens")
    folder = ROOT.parent / "shared" / "data" / f"amazon-{request.param}"
    if not (folder / FILES[request.param]).is_file():
        pytest.skip(f"{folder} is not there: put the published {FILES[request.param]} into it")
    return request.param, load_amazon(request.param, folder=folder)


def as_rows(table, name):
    """The rows of one recommender, in an order that does not depend on the users'."""
    return module.sort_rows(table[["n_items", f"{name}_best", f"{name}_tied"]])


def test_most_popular_is_as_a_count_by_hand_says_for_every_user(data_set):
    """No scores, no matrix: items by popularity, less those among the user's training items."""
    name, split = data_set
    events = np.bincount(split.train.indices, minlength=split.n_items)
    mine = events[split.items]
    ordered = np.sort(events)
    above = split.n_items - np.searchsorted(ordered, mine, "right")
    level = split.n_items - np.searchsorted(ordered, mine, "left") - above
    for i, user in enumerate(split.users):
        seen = events[split.train.indices[slice(*split.train.indptr[user : user + 2])]]
        above[i] -= np.count_nonzero(seen > mine[i])
        level[i] -= np.count_nonzero(seen == mine[i])
    columns = {"popular_best": above + 1, "popular_tied": level - 1}
    by_hand = pd.DataFrame({"n_items": split.n_candidates} | columns)
    pd.testing.assert_frame_equal(as_rows(by_hand, "popular"), as_rows(derived(name), "popular"))


@small_ones
@pytest.mark.slow
def test_a_fresh_run_of_a_cheap_recommender_gives_the_derived_file(data_set):
    name, split = data_set
    fresh = module.rank_all(split, ["popular", "z"])
    for column in ("popular", "z"):
        pd.testing.assert_frame_equal(as_rows(fresh, column), as_rows(derived(name), column))


@small_ones
@pytest.mark.slow
def test_ranks_of_some_users_by_dense_brute_force(data_set):
    """Z's ranks of thirty users, from all their scores at once, are rows of the derived file."""
    name, split = data_set
    events = sparse.csc_array(split.train)
    chosen = np.random.default_rng(5).choice(len(split.users), 30, replace=False)
    rows = as_rows(derived(name), "z")
    there = set(map(tuple, rows.to_numpy().tolist()))
    model = module.recommenders(split.n_items)["z"].fit(split.train)
    similarity = model.similarity
    assert (events.shape[1],) * 2 == similarity.shape
    for i in chosen:
        user, item = split.users[i], split.items[i]
        seen = split.train[[user]].indices
        scores = np.zeros(split.n_items)
        for j in seen:
            column = similarity[:, [j]]
            scores += column.toarray()[:, 0] if hasattr(column, "toarray") else column[:, 0]
        candidates = np.setdiff1d(np.arange(split.n_items), seen)
        # Sums in another order may differ in the last bits.
        above = np.count_nonzero(scores[candidates] > scores[item] * (1 + 1e-12) + 1e-15)
        level = np.count_nonzero(np.isclose(scores[candidates], scores[item], 1e-12, 1e-15)) - 1
        assert (len(candidates), above + 1, level) in there


def test_the_autoencoder_solves_its_equations():
    rng = np.random.default_rng(2)
    train = sparse.csr_array((rng.random((40, 12)) < 0.3).astype(float))
    model = module.Autoencoder(weight=7).fit(train)
    dense = train.toarray()
    # Each column is a ridge regression of an item on all others.
    for j in range(12):
        others = np.delete(np.arange(12), j)
        x, y = dense[:, others], dense[:, j]
        expected = np.linalg.solve(x.T @ x + 7 * np.eye(11), x.T @ y)
        np.testing.assert_allclose(model.weights[others, j], expected, atol=1e-6)
        assert model.weights[j, j] == 0
    np.testing.assert_allclose(model.scores([3, 8]), dense[[3, 8]] @ model.weights, rtol=1e-5)


VALUES = {  # of a sampled rank, 1 to m + 1, written out
    "Recall@10": lambda rank, m: rank <= 10,
    "NDCG@10": lambda rank, m: (rank <= 10) / np.log2(1 + rank),
    "RR": lambda rank, m: 1 / rank,
    "AUC": lambda rank, m: 1 - (rank - 1) / m,
}


@pytest.mark.parametrize("name", ["movielens", "games", "beauty"])
def test_expected_values_by_the_binomial_distribution(name):
    """One recommender without long ties, user by user."""
    table, found = derived(name), derived(name, "_expected")
    found = found[(found["estimator"] == "uncorrected") & (found["recommender"] == "x64")]
    short = table["x64_tied"] == 0
    n = table["n_items"]
    for m in (20, 100):
        rank = np.arange(1, m + 2)
        share = ((table["x64_best"] - 1) / (n - 1)).to_numpy()
        mean = {metric: 0.0 for metric in VALUES}
        for at in range(0, len(table), 5000):
            piece = slice(at, at + 5000)
            pmf = stats.binom.pmf(rank - 1, m, share[piece, np.newaxis])
            for metric, value in VALUES.items():
                mean[metric] += (pmf @ value(rank, m))[short[piece]].sum() / len(table)
        row = found[found["n_samples"] == m].iloc[0]
        # A tie is worth something from 0 to 1.
        for metric, least in mean.items():
            assert least - 1e-9 <= row[metric] <= least + (~short).mean() + 1e-9
    if name == "movielens":
        assert (~short).mean() < 0.005


@pytest.mark.parametrize("name", ["movielens", "games", "beauty"])
def test_orders_agree_with_the_ranks_and_with_the_expected_values(name):
    table, orders = derived(name), derived(name, "_orders")
    ranks = module.as_ranks(table)
    exact = {x: Recall(k=10).mean(r) for x, r in ranks.items()}
    found = derived(name, "_expected")
    found = found[found["n_samples"] == 100].set_index(["recommender", "estimator"])["Recall@10"]
    assert len(orders) == 2 * len(list(combinations(ranks, 2)))
    for row in orders.itertuples():
        assert row.exact_difference == pytest.approx(exact[row.first] - exact[row.second], abs=1e-9)
        first, second = (found[x, row.estimator] for x in (row.first, row.second))
        assert row.difference == pytest.approx(first - second, abs=1e-9)
        lead = row.difference * np.sign(row.exact_difference) / row.standard_error
        assert row.right_order == pytest.approx(stats.norm.cdf(lead), abs=1e-6)


def test_metrics_are_those_of_the_page():
    metrics = (Recall(k=10), NDCG(k=10), ReciprocalRank(), AUC())
    assert list(map(str, module.METRICS)) == list(map(str, metrics))
    assert list(derived("games", "_expected").columns[3:]) == list(map(str, metrics))


NEURAL = {"movielens": ["tower"], "games": ["sasrec", "tower"], "beauty": ["sasrec", "tower"]}


def neural(name):
    return pd.read_csv(ROOT / "book" / "data" / f"neural_{name}.csv.gz")


@pytest.mark.parametrize("name", NEURAL)
def test_the_neural_tables_hold_the_other_recommenders_as_elsewhere(name):
    table, there = neural(name), derived(name)
    others = ["popular", "x64", "y", "z"]
    names = [x.removesuffix("_best") for x in table if x.endswith("_best")]
    assert names == NEURAL[name] + others
    assert len(table.columns) == 1 + 2 * len(names)
    pd.testing.assert_frame_equal(table, module.sort_rows(table))
    for which in ("popular", "y", "z"):
        pd.testing.assert_frame_equal(as_rows(table, which), as_rows(there, which))
    # Another library for linear algebra moves a few ranks of a matrix factorization.
    found, before = (Recall(k=10).mean(module.as_ranks(x)["x64"]) for x in (table, there))
    assert found == pytest.approx(before, abs=2e-4)


@pytest.mark.parametrize("name", NEURAL)
def test_the_neural_recommenders_rank_well_and_hardly_tie(name):
    ranks = module.as_ranks(neural(name))
    popular = Recall(k=10).mean(ranks["popular"])
    for which in NEURAL[name]:
        assert Recall(k=10).mean(ranks[which]) > 1.5 * popular
        assert (ranks[which].n_tied > 0).mean() < 0.001


def test_costs_of_the_neural_recommenders_are_about_the_ranks_of_the_tables():
    costs = pd.read_csv(ROOT / "book" / "data" / "neural_cost.csv")
    up_to_k = pd.read_csv(ROOT / "book" / "data" / "up_to_k.csv")
    assert list(costs) == list(up_to_k)
    pairs = {(name, which) for name, all_of_it in NEURAL.items() for which in all_of_it}
    assert {tuple(x) for x in costs[["data", "model"]].to_numpy()} == pairs
    for row in costs.to_dict("records"):
        table, k = neural(row["data"]), row["k"]
        assert row["users"] == len(table)
        hits = (table[f"{row['model']}_best"] <= k).mean()
        assert row["hits"] == pytest.approx(hits, rel=6e-4)
        assert row["hits"] * k / 2 < row["scores"] < row["items"]
        assert np.isnan(row["scores_rule_1"]) == (k != 10)
