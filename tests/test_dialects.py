"""The parameters that make us equal to a library, on what it returned for the five users."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sampled_metrics import F1, NDCG, AveragePrecision, Precision, Ranks, Recall, ReciprocalRank

DATA = Path(__file__).parents[1] / "book" / "data"
RECORDED = pd.read_csv(DATA / "dialects.csv", dtype=str, keep_default_na=False)


def ap(denominator):
    return lambda k: AveragePrecision(k, denominator=denominator)


def ndcg(ideal):
    return lambda k: NDCG(k, ideal=ideal)


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
]


@pytest.mark.parametrize(
    ("library", "metric", "ours", "empty"), DIALECTS, ids=[f"{a}-{b}" for a, b, *_ in DIALECTS]
)
def test_parameters_reproduce_the_library(library, metric, ours, empty):
    five = json.loads((DATA / "five_users.json").read_text())
    users = Ranks.from_recommendations(five["predictions"], five["labels"])
    cells = RECORDED[(RECORDED.library == library) & (RECORDED.metric == metric)]
    cells = cells[(cells.user != "mean") & (cells.k != "")]
    assert len(cells) == 15
    for k, part in cells.groupby("k"):
        values = np.where(users.n_relevant > 0, ours(int(k))(users), empty)
        theirs = part.sort_values("user").value.replace("dropped", "nan").astype(float)
        np.testing.assert_allclose(values, theirs, atol=1e-6)
