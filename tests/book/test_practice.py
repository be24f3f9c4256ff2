"""The printed numbers of the audit: each has a source, is possible, and fits the exact one."""

import re
from datetime import date
from pathlib import Path

import pandas as pd
import pytest

from sampled_metrics import NDCG, Draw, Recall, ReciprocalRank, explain

BOOK = Path(__file__).parents[2] / "book"
METRICS = {"Recall": Recall, "NDCG": NDCG, "RR": ReciprocalRank}
CITABLE = set(re.findall(r"^@\w+\{([^,]+),", (BOOK / "references.bib").read_text("utf-8"), re.M))
REQUIRED = ["id", "field", "task", "data", "system", "source", "where", "n_source"]


def read(path):
    """Read every field as it is written: rounding is known from the digits."""
    return pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")


def problems(row):
    """Name what a row of the table lacks, or has out of range."""
    sizeless = row.get("apart") == "no size"  # then its n is not known, and is not guessed
    sources = ["source"] if sizeless else ["source", "n_source"]
    required = [field for field in REQUIRED if field != "n_source" or not sizeless]
    found = [f"no {field}" for field in required if not row[field].strip()]
    for field in sources:
        if not re.fullmatch(r"https://[\w.-]+\.\w+/\S+", row[field]):
            found.append(f"{field} is {row[field]!r}, which nobody can open")
    if row["paper"] not in CITABLE:
        found.append(f"paper {row['paper']!r} is not in references.bib")
    for field, allowed in {
        "metric": set(METRICS),
        "replacement": {"true", "false", "unknown"},
        "sampling": {"uniform", "popularity", "hard", "fixed"},
        "exact_on": {"", "same", "newer", "uneven"},
    }.items():
        if row[field] not in allowed:
            found.append(f"{field} is {row[field]!r}")
    for field in ("value", "exact_value", "baseline_value"):
        optional = field != "value" and not row[field]
        if not (optional or re.fullmatch(r"0\.\d+|1\.0+", row[field])):
            found.append(f"{field} is {row[field]!r}, not a share with its digits")
    for field in ("k", "n_items", "n_samples", "n_users"):
        optional = field in ("k", "n_users", *(["n_items"] if sizeless else [])) and not row[field]
        if not (optional or re.fullmatch(r"[1-9]\d*", row[field])):
            found.append(f"{field} is {row[field]!r}")
    if not (found or sizeless) and int(row["n_samples"]) >= int(row["n_items"]):
        found.append("n_samples is no less than n_items")
    for one, other in (("exact_value", "exact_on"), ("baseline_value", "baseline")):
        if bool(row[one]) != bool(row[other]):
            found.append(f"{one} without {other}, or the other way")
    if not 2008 <= int(row["year"]) <= date.fromisoformat(row["quote_checked"]).year:
        found.append(f"year is {row['year']}")
    return found


def said(row):
    """Return what `explain` says of a row with one relevant item and uniform draws."""
    metric = METRICS[row["metric"]](int(row["k"]) if row["k"] else None)
    return explain(
        metric,
        float(row["value"]),
        Draw(
            int(row["n_samples"]),
            n_items=int(row["n_items"]),
            replacement=row["replacement"] != "false",
        ),
        n_users=int(row["n_users"]) if row["n_users"] else None,
        other=float(row["baseline_value"]) if row["baseline_value"] else None,
        decimals=digits(row["value"]),
    )


def digits(share):
    return len(share.partition(".")[2])


ROWS = read(BOOK / "data" / "practice.csv")
APART = read(BOOK / "data" / "practice_apart.csv")
every_row = pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])


@pytest.mark.parametrize("row", ROWS + APART, ids=[row["id"] for row in ROWS + APART])
def test_a_row_has_a_source_and_possible_fields(row):
    assert problems(row) == []


def test_each_row_is_there_once():
    assert len({row["id"] for row in ROWS + APART}) == len(ROWS + APART) >= 40
    what = ("data", "paper", "year", "system", "metric", "k", "n_samples", "sampling", "value")
    assert len({tuple(row[field] for field in what) for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"source": ""}, "no source"),
        ({"source": "a colleague"}, "nobody can open"),
        ({"where": " "}, "no where"),
        ({"n_source": "memory"}, "nobody can open"),
        ({"paper": "unheard2020"}, "not in references.bib"),
        ({"value": "62.8"}, "not a share"),
        ({"value": ""}, "not a share"),
        ({"exact_value": "0.4", "exact_on": ""}, "exact_value without exact_on"),
        ({"baseline_value": "0.5", "baseline": ""}, "baseline_value without baseline"),
        ({"sampling": "some"}, "sampling is 'some'"),
        ({"n_samples": "5000"}, "no less than n_items"),
        ({"n_items": "0"}, "n_items is '0'"),
        ({"year": "2027"}, "year is 2027"),
    ],
)
def test_a_row_that_cannot_be_checked_is_refused(change, problem):
    assert any(problem in found for found in problems(ROWS[0] | change))


def test_a_table_is_read_as_it_is_written(tmp_path):
    path = tmp_path / "practice.csv"
    header, first, *_ = (BOOK / "data" / "practice.csv").read_text("utf-8").splitlines()
    path.write_text(f"{header}\n{first.replace(ROWS[0]['source'], '')}\n", "utf-8")
    (row,) = read(path)
    assert "no source" in problems(row)


@every_row
def test_the_exact_number_lies_where_explain_says(row):
    found = said(row)
    assert 0 <= found.bounds.low < found.bounds.high <= float(row["value"]) + 0.5e-2
    assert (found.standard_error is None) == (not row["n_users"])
    assert (found.difference is None) == (not row["baseline_value"])
    if row["exact_on"] == "same" and row["sampling"] in ("uniform", "fixed"):
        rounding = 0.5 * 10.0 ** -digits(row["exact_value"])
        low, high = found.bounds
        assert low - rounding <= float(row["exact_value"]) <= high + rounding


def test_models_that_read_the_whole_list_are_no_rows_of_a_cutoff():
    """They have no rank, so `explain` must not be asked about them."""
    readers = {row["paper"] for row in APART if row["apart"] == "no rank"}
    assert readers == {"liao2024llara", "kim2024allmrec"}
    assert not [row["id"] for row in ROWS if row["paper"] in readers]


def test_the_report_on_knowledge_graphs_is_taken_whole():
    graphs = [row for row in ROWS + APART if row["paper"] == "sotakgfms2026"]
    assert len(graphs) == 37
    assert all(row["exact_value"] for row in graphs)
    assert [row["apart"] for row in graphs if "apart" in row] == ["no size"] * 6


def test_exact_numbers_of_uneven_queries_do_not_fit():
    """So they must not be counted among those that do; one that does fit is no exception."""
    uneven = [row for row in ROWS if row["exact_on"] == "uneven"]
    assert [row["id"] for row in uneven] == ["ultra-nell-v1"]
    assert float(uneven[0]["exact_value"]) > said(uneven[0]).bounds.high
