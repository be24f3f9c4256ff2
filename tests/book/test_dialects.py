"""The parameters that make us equal to a library, on what it returned for the five users."""

import json
from functools import partial
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sampled_metrics import (
    F1,
    NDCG,
    AveragePrecision,
    Precision,
    Ranks,
    Recall,
    ReciprocalRank,
)

DATA = Path(__file__).parents[2] / "book" / "data"
RECORDED = pd.read_csv(DATA / "dialects.csv", dtype=str, keep_default_na=False)
PROBES = json.loads((DATA / "probes.json").read_text())


def ap(denominator):
    return partial(AveragePrecision, denominator=denominator)


def ndcg(ideal):
    return partial(NDCG, ideal=ideal)


NAN = float("nan")
DIALECTS = [
    # library, metric, ours, what a user without labels counts
    ("ranx", "Precision", Precision, 0),
    ("ranx", "F1", F1, 0),
    ("ranx", "AP", ap("relevant"), 0),
    ("ranx", "RR", ReciprocalRank, 0),
    ("ranx", "NDCG", ndcg("relevant"), 0),
    ("pytrec_eval", "AP", ap("relevant"), NAN),
    ("ir_measures, lists", "AP", ap("relevant"), NAN),
    ("ir_measures, lists", "NDCG", ndcg("relevant"), NAN),
    ("RecTools", "Recall", Recall, NAN),
    ("RecTools", "AP", ap("relevant"), NAN),
    ("RecTools", "NDCG", ndcg("full"), NAN),
    ("Spark RankingMetrics", "Precision", Precision, 0),
    ("Spark RankingMetrics", "AP", ap("capped"), 0),
    ("Spark RankingEvaluator", "NDCG", ndcg("relevant"), 0),
    ("torchmetrics", "AP", ap("hits"), 0),
    ("implicit", "AP", ap("capped"), NAN),
    ("implicit", "Precision", partial(Recall, denominator="capped"), NAN),
    ("LensKit", "Recall", partial(Recall, denominator="capped"), NAN),
    ("RePlay, tables", "AP", ap("capped"), NAN),
    ("jurity", "Recall", Recall, NAN),
    # these leave out, or fail for, users without predictions
    ("jurity", "Precision", partial(Precision, denominator="predicted"), NAN),
    ("LensKit", "Precision", partial(Precision, denominator="predicted"), NAN),
    ("rexmex", "Precision", partial(Precision, denominator="predicted"), NAN),
    ("Microsoft recommenders", "AP", ap("capped"), NAN),
]
UNLIKE_US_FOR_EMPTY_LISTS = DIALECTS[-4:]


@pytest.mark.parametrize(
    "dialect", DIALECTS, ids=[f"{library}-{metric}" for library, metric, *_ in DIALECTS]
)
def test_parameters_reproduce_the_library(dialect):
    library, metric, ours, empty = dialect
    five = json.loads((DATA / "five_users.json").read_text())
    users = Ranks.from_recommendations(five["predictions"], five["labels"])
    cells = RECORDED[(RECORDED.library == library) & (RECORDED.metric == metric)]
    cells = cells[cells.user.str.isdigit() & (cells.k != "")]
    assert len(cells) == 15
    n_users = 2 if dialect in UNLIKE_US_FOR_EMPTY_LISTS else 5
    for k, part in cells.groupby("k"):
        values = np.where(users.n_relevant > 0, ours(int(k))(users), empty)
        theirs = part.sort_values("user").value[:n_users].replace("dropped", "nan").astype(float)
        np.testing.assert_allclose(values[:n_users], theirs, atol=1e-6)


def recorded(library, metric, probe, k="3"):
    row = RECORDED[["library", "metric", "user", "k"]] == [library, metric, probe, k]
    return float(RECORDED[row.all(axis=1)].value.item())


TIES = [
    # library, metric, ours, the orders of the tied items that it averages over
    ("ranx", "AP", ap("relevant"), lambda items: [items]),
    ("jurity", "AP", ap("capped"), lambda items: [items]),
    ("pytrec_eval", "NDCG", ndcg("relevant"), lambda items: [sorted(items, reverse=True)]),
    ("ir_measures, lists", "RR", ReciprocalRank, lambda items: [sorted(items)]),
    ("scikit-learn", "NDCG", ndcg("relevant"), lambda items: list(permutations(items))),
    ("torchmetrics", "NDCG", ndcg("relevant"), lambda items: list(permutations(items))),
]


@pytest.mark.parametrize("probe", ["ties 1", "ties 2"])
@pytest.mark.parametrize(
    ("library", "metric", "ours", "orders"), TIES, ids=[f"{a}-{b}" for a, b, *_ in TIES]
)
def test_an_order_of_tied_items_reproduces_the_library(library, metric, ours, orders, probe):
    lists = orders(PROBES[probe]["predictions"])
    ranks = Ranks.from_recommendations(lists, [PROBES[probe]["labels"]] * len(lists))
    assert ours(3).mean(ranks) == pytest.approx(recorded(library, metric, probe), abs=1e-6)


def test_an_item_twice_is_refused_where_libraries_count_it_twice():
    assert recorded("Spark RankingMetrics", "Recall", "duplicates") == 1.5
    user = PROBES["duplicates"]
    with pytest.raises(ValueError, match="holds item 1: it is there twice"):
        Ranks.from_recommendations([user["predictions"]], [user["labels"]])
