"""Runs and qrels that trec_eval reads have its metrics here, ties included, to 1e-12."""

import numpy as np
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from sampled_metrics import (
    NDCG,
    AveragePrecision,
    Precision,
    Ranks,
    Recall,
    ReciprocalRank,
)
from sampled_metrics.io import read_qrels, read_run

METRICS = {
    "map": AveragePrecision(),
    "map_cut_5": AveragePrecision(5, denominator="relevant"),
    "ndcg": NDCG(),
    "ndcg_cut_5": NDCG(5),
    "P_5": Precision(5),
    "recall_5": Recall(5),
    "recip_rank": ReciprocalRank(),
}
topics = st.sampled_from(["t1", "t2", "t10", "é"])
documents = st.sampled_from(["d1", "d10", "d2", "D3", "dé", "d-1", "x"])
# Single precision does not tell 1 from 1 + 1e-9, nor 1e300 from infinity.
scores = st.sampled_from(["1", "1.000000001", "0.5", "-3", "0", "-0.0", "1e-50", "1e300", "2e300"])
pairs = st.tuples(topics, documents)


@given(
    run=st.dictionaries(pairs, scores, min_size=1),
    qrels=st.dictionaries(pairs, st.integers(0, 3), min_size=1),  # negative ones crash pytrec_eval
)
def test_trec_eval(tmp_path_factory, run, qrels):
    folder = tmp_path_factory.getbasetemp()
    lines = [f"{t} Q0 {d} 0 {score} x" for (t, d), score in run.items()]
    judged = [f"{t} 0 {d} {relevance}" for (t, d), relevance in qrels.items()]
    for name, content in (("run", lines), ("qrels", judged)):
        (folder / name).write_text("\n".join(content), encoding="utf-8")

    labels = read_qrels(folder / "qrels")
    table = read_run(folder / "run")
    # trec_eval leaves out topics that only one of the files has.
    labels = labels[labels["user"].isin(table["user"])]
    ranks = Ranks.from_recommendations(table, labels)

    evaluator = pytrec_eval.RelevanceEvaluator(
        pytrec_eval.parse_qrel(judged),
        {"map", "map_cut", "ndcg", "ndcg_cut", "P", "recall", "recip_rank"},
    )
    theirs = evaluator.evaluate(pytrec_eval.parse_run(lines))
    assert set(theirs) <= set(ranks.users.tolist())
    if len(labels):
        dicts = pytrec_eval.parse_run(lines), pytrec_eval.parse_qrel(judged)
        if any(relevance > 0 for relevance in labels["relevance"]):
            same = Ranks.from_run(*dicts, absent="left out")
            at = [same.users.tolist().index(topic) for topic in ranks.users]
            for metric in METRICS.values():
                np.testing.assert_array_equal(metric(same)[at], metric(ranks))
    for name, metric in METRICS.items():
        values = dict(zip(ranks.users.tolist(), metric(ranks), strict=True))
        for topic, row in theirs.items():
            none = np.isnan(values[topic])  # without relevant documents, where trec_eval says 0
            ours = 0.0 if none else values[topic]
            np.testing.assert_allclose(ours, row[name], rtol=0, atol=1e-12, err_msg=name)


def test_topics_without_results_count_as_missed(tmp_path):
    """As with the option -c of trec_eval: the mean is over the topics of the qrels."""
    (tmp_path / "run").write_text("t1 Q0 d1 1 1 x\n")
    (tmp_path / "qrels").write_text("t1 0 d1 1\nt2 0 d1 1\n")
    tables = read_run(tmp_path / "run"), read_qrels(tmp_path / "qrels")
    assert ReciprocalRank().mean(Ranks.from_recommendations(*tables, absent="missed")) == 0.5
