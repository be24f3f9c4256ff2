"""On random lists we agree with the libraries that people use, metric by metric, to 1e-12.

RecTools wants an older NumPy than the book's, so these tests run in an environment of their own:
`make test-peers`. Every user here has labels, since libraries differ about those who have
none; book/data/dialects.csv records what they make of them.
"""

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import pytrec_eval
import ranx
import rectools.metrics as rectools
import sklearn.metrics as sklearn
from hypothesis import example, given
from hypothesis import strategies as st

import sampled_metrics
from sampled_metrics import (
    AUC,
    F1,
    NDCG,
    AveragePrecision,
    Precision,
    Ranks,
    Recall,
    ReciprocalRank,
)

N_ITEMS = 12
CUTOFFS = (1, 3, 5, 20)
WHOLE = 20  # a cutoff beyond the longest list cuts nothing

# Ours under the parameters that some library has; each takes k.
PrecisionOfList = partial(Precision, denominator="predicted")
CappedRecall = partial(Recall, denominator="capped")
AP = partial(AveragePrecision, denominator="relevant")
APOfList = partial(AveragePrecision, denominator="predicted")
FullNDCG = partial(NDCG, ideal="full")
BurgesNDCG = partial(NDCG, gains="exponential")


def at(cutoffs, metrics):
    """{"P_{}": Precision} -> {"P_1": Precision(1), "P_3": Precision(3), ...}."""
    return {name.format(k): metric(k) for name, metric in metrics.items() for k in cutoffs}


# The library's name for a metric, and ours.
PYTREC_EVAL = {
    **at(CUTOFFS, {"P_{}": Precision, "recall_{}": Recall, "map_cut_{}": AP, "ndcg_cut_{}": NDCG}),
    "set_P": PrecisionOfList(WHOLE),
    "set_recall": Recall(WHOLE),
    "map": AP(),
    "recip_rank": ReciprocalRank(),
    "ndcg": NDCG(),
}
RANX = {
    **at(CUTOFFS, {"precision@{}": Precision, "recall@{}": Recall, "f1@{}": F1, "map@{}": AP}),
    **at(CUTOFFS, {"mrr@{}": ReciprocalRank, "ndcg@{}": NDCG, "ndcg_burges@{}": BurgesNDCG}),
    "precision": PrecisionOfList(WHOLE),
    "recall": Recall(WHOLE),
    "map": AP(),
    "mrr": ReciprocalRank(),
    "ndcg": NDCG(),
    "ndcg_burges": BurgesNDCG(),
}
RECTOOLS = [  # all of them cut at k
    (rectools.Precision, Precision),
    (partial(rectools.Precision, r_precision=True), CappedRecall),
    (rectools.Recall, Recall),
    (rectools.F1Beta, F1),
    (rectools.MAP, AP),
    (rectools.MRR, ReciprocalRank),
    (rectools.NDCG, FullNDCG),
    (partial(rectools.NDCG, divide_by_achievable=True), NDCG),
]
SKLEARN = [
    ("precision_score", PrecisionOfList, CUTOFFS),
    ("recall_score", Recall, CUTOFFS),
    ("f1_score", F1, (1, 3, 5)),  # beyond the list's length it divides by that, not by k
    ("ndcg_score", NDCG, (*CUTOFFS, None)),
    ("average_precision_score", AveragePrecision, [None]),
    ("label_ranking_average_precision_score", AveragePrecision, [None]),
    ("roc_auc_score", lambda k: AUC(), [None]),
]

items = st.integers(0, N_ITEMS - 1)
# Every length up to 8 as often as any, and few labels, so that late first hits come up too.
lists = st.builds(
    lambda order, length: order[:length], st.permutations(range(N_ITEMS)), st.integers(0, 8)
)
graded = st.dictionaries(items, st.integers(1, 4), min_size=1, max_size=6)
# ranx wants at least one list that is not empty.
batches = st.lists(st.tuples(lists, graded), min_size=1, max_size=8).filter(
    lambda rows: any(predictions for predictions, _ in rows)
)
# The only hit at each rank in turn: chance alone may miss a first hit just behind a cutoff.
ONE_HIT = [(list(range(8)), {item: 1}) for item in range(8)]
catalogs = st.lists(st.tuples(st.permutations(range(N_ITEMS)), graded), min_size=1, max_size=4)


def agree(ours, theirs, name):
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12, err_msg=str(name))


def as_run(users):
    """{"user": {"item": score}}, as the tools of information retrieval want it."""
    return as_qrels({item: 1 / rank for rank, item in enumerate(row, start=1)} for row in users)


def as_qrels(users):
    return {str(u): {str(i): value for i, value in row.items()} for u, row in enumerate(users)}


def as_table(users):
    rows = [(u, i, rank) for u, row in enumerate(users) for rank, i in enumerate(row, start=1)]
    return pd.DataFrame(rows, columns=["user_id", "item_id", "rank"], dtype=int)


def test_the_package_is_this_checkout():
    source = Path(__file__).parents[2] / "src"
    assert Path(sampled_metrics.__file__).is_relative_to(source)


@given(batch=batches)
@example(batch=ONE_HIT)
def test_pytrec_eval(batch):
    predictions, labels = zip(*batch, strict=True)
    evaluator = pytrec_eval.RelevanceEvaluator(as_qrels(labels), set(PYTREC_EVAL))
    theirs = evaluator.evaluate(as_run(predictions))
    users = Ranks.from_recommendations(predictions, labels)
    for name, metric in PYTREC_EVAL.items():
        agree(metric(users), [theirs[str(u)][name] for u in range(len(users))], name)


@pytest.mark.filterwarnings("ignore:unsafe cast")  # Numba's, when it compiles ranx
@given(batch=batches)
@example(batch=ONE_HIT)
def test_ranx(batch):
    predictions, labels = zip(*batch, strict=True)
    qrels, run = ranx.Qrels(as_qrels(labels)), ranx.Run(as_run(predictions))
    theirs = ranx.evaluate(qrels, run, list(RANX), return_mean=False)
    users = Ranks.from_recommendations(predictions, labels)
    for name, metric in RANX.items():
        agree(metric(users), theirs[name], name)


@given(batch=batches)
@example(batch=ONE_HIT)
def test_rectools(batch):
    predictions, labels = zip(*batch, strict=True)
    labels = [list(row) for row in labels]  # its metrics are not graded
    users = Ranks.from_recommendations(predictions, labels)
    for theirs, ours in RECTOOLS:
        for k in CUTOFFS:
            values = theirs(k=k).calc_per_user(as_table(predictions), as_table(labels))
            agree(ours(k)(users), values.sort_index(), f"{theirs} at {k}")


@given(batch=batches)
@example(batch=ONE_HIT)
def test_rectools_average_precision_divided_by_k(batch):
    """We divide by the length of the list, which is k where the list is long enough."""
    predictions, labels = zip(*batch, strict=True)
    labels = [list(row) for row in labels]
    longer = [row + list(range(100, 100 + max(CUTOFFS))) for row in predictions]
    users = Ranks.from_recommendations(longer, labels)
    for k in CUTOFFS:
        theirs = rectools.MAP(k=k, divide_by_k=True)
        values = theirs.calc_per_user(as_table(longer), as_table(labels))
        agree(APOfList(k)(users), values.sort_index(), theirs)


def ask_scikit_learn(name, k, gains, ranks):
    """Evaluate one user by the gains and ranks of all items."""
    metric = getattr(sklearn, name)
    match name:
        case "ndcg_score":
            return metric([gains], [-ranks], k=k)
        case "label_ranking_average_precision_score":
            return metric([gains > 0], [-ranks])
        case "average_precision_score" | "roc_auc_score":
            return metric(gains > 0, -ranks)
        case _:  # the others look at a set: here the top k
            return metric(gains > 0, ranks <= k, zero_division=0)


@given(batch=catalogs)
def test_scikit_learn(batch):
    predictions, labels = zip(*batch, strict=True)
    users = Ranks.from_recommendations(predictions, labels)
    gains = np.array([[row.get(item, 0) for item in range(N_ITEMS)] for row in labels])
    ranks = np.argsort(predictions) + 1  # where each item stands
    for name, ours, cutoffs in SKLEARN:
        for k in cutoffs:
            theirs = [ask_scikit_learn(name, k, *row) for row in zip(gains, ranks, strict=True)]
            agree(ours(k=k)(users, N_ITEMS), theirs, f"{name} at {k}")
