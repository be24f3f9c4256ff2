"""The five users of the blog "The confusion over information retrieval metrics": its unit tests.

The users are in book/data/five_users.json and the blog's printed values in
book/data/blog_five_users.csv; the book reads both as well.
NaN marks a user without labels, who is left out of the mean.
"""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

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

DATA = Path(__file__).parents[1] / "book" / "data"  # goes with the notebooks, without the others

# The blog divides AP by the hits and takes NDCG's ideal list from the hits.
BLOG: dict[str, Any] = {
    "Precision": Precision,
    "Recall": Recall,
    "F1": F1,
    "AP": lambda k: AveragePrecision(k, denominator="hits"),
    "RR": ReciprocalRank,
    "NDCG": lambda k: NDCG(k, ideal="hits"),
}
# Its means of the reciprocal rank at 3 and 5 are printed as 1/3; (1 + 1/2 + 0)/3 is 1/2.
SLIPS = {("RR", 3): 1 / 2, ("RR", 5): 1 / 2}

# Equations 5 and 6 of the paper divide by the relevant items, found or not.
DISCOUNT = 1 / np.log2(np.arange(2, 7))
PAPER = [
    (AveragePrecision(k=1), [1, 0, 0]),
    (AveragePrecision(k=3), [2 / 3, (1 / 2) / 3, 0]),
    (AveragePrecision(k=5), [2 / 5, (1 / 2 + 2 / 4) / 3, 0]),
    (NDCG(k=1), [1, 0, 0]),
    (NDCG(k=3), [DISCOUNT[:2].sum() / DISCOUNT[:3].sum(), DISCOUNT[1] / DISCOUNT[:3].sum(), 0]),
    (
        NDCG(k=5),
        [
            DISCOUNT[:2].sum() / DISCOUNT.sum(),
            (DISCOUNT[1] + DISCOUNT[3]) / DISCOUNT[:3].sum(),
            0,
        ],
    ),
]


@pytest.fixture
def users():
    five = json.loads((DATA / "five_users.json").read_text())
    return Ranks.from_recommendations(five["predictions"], five["labels"])


@pytest.fixture(scope="module")
def printed():
    table = pd.read_csv(DATA / "blog_five_users.csv", keep_default_na=False)
    texts = table.set_index(["metric", "k", "user"])["printed"].sort_index()
    return texts.map(lambda text: np.nan if text == "NaN" else float(Fraction(text)))


@pytest.mark.parametrize("k", [1, 3, 5])
@pytest.mark.parametrize("name", BLOG)
def test_blog(users, printed, name, k):
    values = BLOG[name](k)(users)
    # The blog prints fractions, but NDCG to three digits.
    want = printed[name, k]
    np.testing.assert_allclose(values, want[list("12345")], atol=6e-4 if name == "NDCG" else 1e-14)
    assert np.nanmean(values) == pytest.approx(SLIPS.get((name, k), want["mean"]), abs=6e-4)


@pytest.mark.parametrize(("metric", "values"), PAPER, ids=[str(metric) for metric, _ in PAPER])
def test_paper(users, metric, values):
    np.testing.assert_allclose(metric(users), [*values, np.nan, np.nan], rtol=1e-14)
