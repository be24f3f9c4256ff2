"""The explorers of real data: each number in them is the package's."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import special

from sampled_metrics import (
    AUC,
    NDCG,
    AveragePrecision,
    Draw,
    Ranks,
    Recall,
    ReciprocalRank,
    compare,
    explain,
)
from sampled_metrics.evaluation import Comparison
from tabs import change, fixed, said, settle, table, verdict

DATA = Path(__file__).parents[2] / "book" / "data"
LABELS = {"zrow": "Z row", "autoencoder": "EASE", "y": "Y", "z": "Z"}
LABELS |= {f"x{size}": f"X {size}" for size in (8, 16, 32, 64)}


def choose(tab, **values):
    """Set controls by name."""
    for name, value in values.items():
        change(tab.explorer.locator(f"[name={name}]"), value)
    settle(tab)


# --- who wins where


METRICS = {"Recall@10": Recall(10), "NDCG@10": NDCG(10), "RR": ReciprocalRank(), "AUC": AUC()}


def found_by_the_package(name, metric, m):
    """The exact mean of each recommender, and the expected one from `make elsewhere-ranks`."""
    ranks = pd.read_csv(DATA / f"elsewhere_{name}.csv.gz")
    n = ranks["n_items"].to_numpy()
    who = [column.removesuffix("_best") for column in ranks if column.endswith("_best")]
    given = {x: Ranks(ranks[f"{x}_best"], ranks[f"{x}_tied"], n) for x in who}
    given["random"] = Ranks(np.ones_like(n), n - 1, n)
    exact = pd.Series({LABELS.get(x, x): METRICS[metric].mean(r) for x, r in given.items()})
    expected = pd.read_csv(DATA / f"elsewhere_{name}_expected.csv.gz")
    expected = expected.query("n_samples == @m and estimator == 'uncorrected'")
    sampled = expected.replace({"recommender": LABELS}).set_index("recommender")[metric]
    return exact, sampled.astype(float)


@pytest.mark.parametrize(
    ("name", "metric", "m"),
    [
        ("beauty", "Recall@10", 100),
        ("beauty", "NDCG@10", 1000),
        ("games", "RR", 20),
        ("games", "AUC", 500),
        ("movielens", "Recall@10", 200),
    ],
)
def test_exact_order_beside_sampled_order(visit, name, metric, m):
    tab = visit("elsewhere")
    choose(tab, data=name, metric=metric, m=m)
    exact, sampled = found_by_the_package(name, metric, m)
    exact = exact.sort_values(ascending=False)
    places = sampled.rank(ascending=False).astype(int)
    rows = [
        [x, *fixed([100 * exact[x], 100 * sampled[x]], 2), f"{i} → {places[x]}"]
        for i, x in enumerate(exact.index, start=1)
    ]
    assert table(tab)[1:] == rows
    winners = f"Exact winner: {exact.idxmax()}. Winner among {m:,}: {sampled.idxmax()}."
    assert winners in said(tab)


def test_wrong_pairs_are_those_of_the_chapter(visit, html):
    counts = pd.read_csv(html / "results" / "elsewhere.csv")
    counts = counts[counts["estimator"] == "uncorrected"]
    tab = visit("elsewhere")
    for row in counts[counts["n_samples"].isin([20, 1000])].itertuples():
        choose(tab, data=row.data, metric=row.metric, m=row.n_samples)
        text = f"{row.wrong} of the {row.told_apart} pairs that exact {row.metric} tells apart"
        assert text in said(tab)
        assert (verdict(tab) == "Order holds") == (row.wrong == 0)


def printed(tab, monkeypatch, capsys):
    """What the lines under "As Python" print."""
    monkeypatch.chdir(DATA.parents[1])
    exec(tab.explorer.locator("details > pre").text_content(), {})
    return capsys.readouterr().out


def test_order_as_python(visit, monkeypatch, capsys):
    tab = visit("elsewhere")
    choose(tab, data="movielens", metric="RR", m=10)
    lines = printed(tab, monkeypatch, capsys)
    for who, exact, sampled, _ in table(tab)[1:]:
        name = {label: x for x, label in LABELS.items()}.get(who, who)
        assert who == "random" or f"{name}: exact {exact}%, sampled {sampled}%\n" in lines


def test_an_address_with_a_size_that_is_not_there_shows_the_usual_one(visit, site):
    usual = table(visit("elsewhere"))
    for query in ("m=137", "data=moon", "metric=MAP"):
        address = f"{site}book/elsewhere.html?{query}#explorer-elsewhere"
        assert table(visit("elsewhere", address=address)) == usual
    address = f"{site}book/elsewhere.html?m=1000#explorer-elsewhere"
    assert "among 1,000" in said(visit("elsewhere", address=address))


# --- the audit


KINDS = {"Recall": Recall, "NDCG": NDCG, "RR": ReciprocalRank}


def published():
    text = {"value": str, "replacement": str, "exact_value": str}
    return pd.read_csv(DATA / "practice.csv", dtype=text | {"k": "Int64", "n_users": "Int64"})


def protocol(row):
    """Arguments of `explain`, as the chapter has them."""
    return {
        "draw": Draw(row.n_samples, n_items=row.n_items, replacement=row.replacement != "false"),
        "n_users": None if pd.isna(row.n_users) else int(row.n_users),
        "decimals": len(row.value.partition(".")[2]),
    }


def metric_of(row, cutoff=None):
    if cutoff is None and not pd.isna(row.k):
        cutoff = int(row.k)
    return KINDS[row.metric](cutoff)


def test_the_audit_knows_each_published_number(visit):
    tab = visit("audit")
    values = tab.explorer.locator("[name=id] option").evaluate_all("all => all.map(o => o.value)")
    rows = published()
    assert sorted(values) == sorted(rows["id"])
    assert tab.explorer.locator("[name=id] optgroup").count() == rows["field"].nunique()


def test_each_published_number_can_mean_what_explain_says(visit):
    tab = visit("audit")
    code = """id => {
        const all = JSON.parse(document.querySelector("#explorer-audit script").textContent);
        const row = all.find((one) => one.id === id), { at } = sampledMetrics.audit(row);
        return [7, 3000].map((c) => at(Math.min(c, row.n_items)));
    }"""
    for row in published().itertuples():
        for cutoff, ours in zip((7, 3000), tab.evaluate(code, row.id), strict=True):
            theirs = explain(
                metric_of(row),
                float(row.value),
                exact_metric=metric_of(row, min(cutoff, row.n_items)),
                **protocol(row),
            )
            kind = {"rtol": 1e-6, "atol": 1e-9, "err_msg": f"{row.id} at {cutoff}"}
            np.testing.assert_allclose(ours["bounds"], theirs.bounds, **kind)
            if theirs.bounds_with_error is not None:
                np.testing.assert_allclose(
                    ours["boundsWithError"], theirs.bounds_with_error, **kind
                )


@pytest.mark.parametrize(
    ("which", "cutoff"),
    [("bert4rec-20m-recall-uni", 10), ("rechorus-kda-recall", 436), ("mlperf-999", 267)],
)
def test_what_the_audit_shows(visit, which, cutoff):
    tab = visit("audit")
    choose(tab, id=which, c=cutoff)
    row = next(row for row in published().itertuples() if row.id == which)
    name = f"{row.metric}@{cutoff}"
    (shown,) = (cells for cells in table(tab) if cells[0] == name)
    found = explain(
        metric_of(row), float(row.value), exact_metric=metric_of(row, cutoff), **protocol(row)
    )
    assert shown[1:] == fixed([*found.bounds, *found.bounds_with_error])
    low, high = fixed(found.bounds)
    assert f"exact {name} can be anything from {low} to {high}." in said(tab)
    assert f"resembles the top {found.cutoff:,.0f} of all." in said(tab)
    words = {(True, False): "Upper bound", (False, True): "Lower bound"}
    assert verdict(tab) == words.get((low == "0.000", high == "1.000"), "Two bounds")
    if isinstance(row.exact_value, str):
        assert f"was printed, too: {row.exact_value}." in said(tab)


def test_audit_as_python(visit, monkeypatch, capsys):
    tab = visit("audit")
    choose(tab, id="rechorus-kda-recall", c=436)
    lines = " ".join(printed(tab, monkeypatch, capsys).split())
    low, high, *_ = next(cells[1:] for cells in table(tab) if cells[0] == "Recall@436")
    assert f"Chance aside, exact Recall@436 can be anything from {low} to {high}." in lines


def test_popular_draws_have_no_bound(visit):
    tab = visit("audit")
    choose(tab, id="bert4rec-1m-recall-pop")
    assert verdict(tab) == "No bound"
    assert "can be" not in said(tab)
    assert len(table(tab)) == 1


def test_without_the_number_of_users_nothing_is_said_about_chance(visit):
    tab = visit("audit")
    choose(tab, id="polyai-reddit", c=1)
    assert all(cells[3:] == ["–", "–"] for cells in table(tab)[1:])


# --- the plan


def test_arithmetic_of_a_comparison(visit):
    tab = visit("plan")
    z = [-50, -8, -3.2, -0.1, 0, 1e-9, 1.5, 4, 7.9, 20]
    ours = tab.evaluate("z => z.map(sampledMetrics.normalCdf)", z)
    np.testing.assert_allclose(ours, special.ndtr(z), atol=1e-14)
    rng = np.random.default_rng(7)
    fields = ["exact_difference", "difference"]
    fields += ["variance_users", "variance_ties", "variance_sampling"]
    for _ in range(30):
        values = [*rng.normal(size=2), *rng.random(3)]
        n, users = (int(x) for x in rng.integers(2, 10_000, 2))
        row = {name: repr(float(v)) for name, v in zip(fields, values, strict=True)}
        ours = tab.evaluate(
            "([row, users]) => sampledMetrics.comparison(row, users)",
            [row | {"n_users": str(n)}, users],
        )
        theirs = Comparison(n, *values).at(n_users=users)
        assert ours["error"] == pytest.approx(theirs.standard_error, rel=1e-12)
        assert ours["rightOrder"] == pytest.approx(theirs.right_order(), abs=1e-12)
        assert ours["power"] == pytest.approx(theirs.power().right, abs=1e-12)
        assert ours["usersNeeded"] == theirs.users_needed()


def recommender(name):
    ranks = pd.read_csv(DATA / "movielens_ranks.csv")
    return Ranks(ranks[f"{name}_best"], ranks[f"{name}_tied"], ranks["n_items"])


@pytest.mark.parametrize(
    ("pair", "name", "metric", "users"),
    [("XY", "Recall@10", Recall(10), 3000), ("YZ", "AP", AveragePrecision(), 250)],
)
def test_what_the_plan_shows(visit, pair, name, metric, users):
    tab = visit("plan")
    choose(tab, pair=pair, metric=name, kind="uncorrected", m=50, users=users)
    a, b = (recommender(x) for x in pair.lower())
    for cells, draw in zip((1, 3), (None, Draw(50, replacement=False)), strict=True):
        found = compare(a, b, metric, draw).at(n_users=users)
        needed = found.users_needed()
        assert table(tab)[cells][1:] == [
            *fixed([100 * found.difference, 100 * found.standard_error], 2),
            *fixed([found.right_order(), found.power().right]),
            "never" if np.isinf(needed) else f"{needed:,}",
        ]
    assert f"with probability {fixed(found.right_order())[0]}." in said(tab)
    assert verdict(tab) == ("Never enough" if np.isinf(needed) else "Too few")


def test_verdicts_of_the_plan(visit):
    tab = visit("plan")
    needed = compare(recommender("x"), recommender("y"), Recall(10)).users_needed()
    for users, words in ((needed - 1, "Too few"), (needed, "Enough users")):
        choose(tab, kind="exact", users=users)
        assert verdict(tab) == words
        assert f"95 percent takes {needed:,} users" in said(tab)
    assert tab.explorer.locator("[name=m]").is_disabled()  # nothing is drawn


@pytest.mark.parametrize(("kind", "row"), [("exact", 1), ("uncorrected", 3)])
def test_plan_as_python(visit, monkeypatch, capsys, kind, row):
    tab = visit("plan")
    choose(tab, pair="YZ", metric="NDCG@10", m=500, users=7000, kind=kind)
    *_, right, power, needed = table(tab)[row]
    lines = printed(tab, monkeypatch, capsys)
    assert lines == f"right order {right}, power {power}\nusers for 95 percent: {needed}\n"


@pytest.mark.parametrize("name", ["elsewhere", "plan"])
def test_each_example_is_a_state_of_its_own(visit, name):
    tab = visit(name)
    presets = tab.explorer.locator(".presets")
    states = set()
    for label in presets.locator("option").all_text_contents()[1:]:
        presets.select_option(label)
        settle(tab)
        assert tab.explorer.locator("[aria-invalid]").count() == 0
        states.add(said(tab))
    assert len(states) == presets.locator("option").count() - 1 > 2
