"""The explorers: their arithmetic is the package's, and a keyboard, a phone and a printer do."""

import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from sampled_metrics import (
    AUC,
    F1,
    NDCG,
    AveragePrecision,
    BiasVariance,
    Draw,
    Precision,
    RankEstimate,
    Ranks,
    Recall,
    ReciprocalRank,
    Uncorrected,
    explain,
)
from tabs import (
    ALONE,
    PAGES,
    change,
    enter,
    fixed,
    go_to,
    resize,
    settle,
    table,
    table_of_each_metric,
    verdict,
)

# --- the arithmetic, number by number


def draws(rng, n_cases, most_items=10**6, most_samples=300):
    """Draw (rank, n_items, n_samples, replacement), often at the ends of what is possible."""
    for _ in range(n_cases):
        n = int(np.exp(rng.uniform(np.log(2), np.log(most_items))))
        replacement = bool(rng.integers(2))
        m = int(rng.integers(1, most_samples if replacement else min(n - 1, most_samples) + 1))
        rank = rng.choice([1, 2, n, int(rng.integers(1, n + 1)), int(n ** rng.random())])
        yield int(rank), n, m, replacement


ONE_RELEVANT = {
    "auc()": AUC(),
    "averagePrecision()": AveragePrecision(),
    "ndcg()": NDCG(),
    "recall(5)": Recall(k=5),
    "averagePrecision(7)": AveragePrecision(k=7),
    "ndcg(3)": NDCG(k=3),
}


def draw_of(n, m, replacement=True):
    return Draw(m, n_items=n, replacement=replacement)


def test_distribution_of_the_sampled_rank(javascript):
    cases = [*draws(np.random.default_rng(1), 200), (1, 2, 1, True), (2, 2, 1, False)]
    found = javascript(
        "(({ p, low, high, total }) => M.tabulate(c + 1, (i) => i < low || i > high ? 0"
        " : p[i] / total))(M.distribution(a, b, c, d))",
        cases,
    )
    for case, ours in zip(cases, found, strict=True):
        np.testing.assert_allclose(
            ours, draw_of(*case[1:]).pmf(case[0]), rtol=1e-9, atol=1e-200, err_msg=str(case)
        )


@pytest.mark.parametrize("name", ONE_RELEVANT)
def test_exact_and_expected_metric_of_a_rank(javascript, name):
    metric = ONE_RELEVANT[name]
    cases = list(draws(np.random.default_rng(2), 100))
    exact = javascript(f"M.{name}(a, b)", cases)
    expected = javascript(f"M.expectation(M.sampledValues(M.{name}, c), a, b, d)", cases)
    ranks, n, *_ = (np.array(column) for column in zip(*cases, strict=True))
    np.testing.assert_allclose(exact, metric(ranks, n), rtol=1e-12)
    theirs = [draw_of(*case[1:]).expect(case[0], metric) for case in cases]
    np.testing.assert_allclose(expected, theirs, rtol=1e-9, atol=1e-200)


@pytest.mark.parametrize("name", ONE_RELEVANT)
def test_corrections(javascript, name):
    metric, rng = ONE_RELEVANT[name], np.random.default_rng(3)
    gammas = [*np.exp(rng.uniform(np.log(0.001), 0, 10)), 1, 0.001]
    cases = [
        (float(gamma), int(rng.integers(2, 3000)), int(rng.integers(1, 60))) for gamma in gammas
    ]
    cases.append((0.05, 10_000, 200))  # the largest that the explorer offers
    cases += [(0.1, n, m) for n, m in ((3, 100), (3, 200), (4, 149), (5, 200))]  # far tails
    estimators = {
        f"M.uncorrected(M.{name}, b, c)": lambda gamma: Uncorrected(),
        f"M.rankEstimate(M.{name}, b, c)": lambda gamma: RankEstimate(),
        f"M.biasVariance(a, M.problem(M.{name}, b, c))": BiasVariance,
    }
    for ours, estimator in estimators.items():
        found = javascript(f"[{ours}, M.averageError({ours}, M.problem(M.{name}, b, c))]", cases)
        for (gamma, n, m), (values, errors) in zip(cases, found, strict=True):
            fitted = estimator(gamma).fit(metric, draw_of(n, m))
            scale = np.abs(fitted.values).max()
            np.testing.assert_allclose(values, fitted.values, rtol=1e-9, atol=1e-9 * scale)
            every = np.arange(1, n + 1)
            theirs = np.sqrt([(fitted.bias(every) ** 2).mean(), fitted.variance(every).mean()])
            # a variance of 0 is one only up to rounding, and its root is larger
            np.testing.assert_allclose(errors, theirs, rtol=1e-8, atol=1e-7)


PUBLISHED = {
    "HR@k": ("recall({})", Recall),
    "NDCG@k": ("ndcg({})", NDCG),
    "MRR@k": ("reciprocalRank({})", ReciprocalRank),
    "NDCG": ("ndcg()", lambda k: NDCG()),
    "MRR": ("reciprocalRank()", lambda k: ReciprocalRank()),
    "AUC": ("auc()", lambda k: AUC()),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_a_published_number_can_mean(javascript, name):
    call, kind = PUBLISHED[name]
    rng, k = np.random.default_rng(5), 7
    metric, seen = kind(k), f"M.{call.format(k)}"
    found = f"(({{outline, ...rest}}) => rest)(M.explain({seen}, b, c, d)(a, e, {seen}, f))"
    cases = []
    for _, n, m, replacement in draws(rng, 60, most_items=10**7):
        m = min(m, n - 1)
        values = metric(np.arange(1, m + 2), m + 1)
        share = rng.choice([0, 1, rng.random(), rng.random() ** 0.1, rng.random() ** 10])
        value = float(values.min() + share * (values.max() - values.min()))
        cases.append((value, n, m, replacement, int(rng.integers(1, 10**5)), metric.k or n))
    middle = float(metric(np.arange(1, 20_002), 20_001).mean())  # the largest that is offered
    twice = name in ("HR@k", "MRR", "AUC")
    cases.append((middle, 10**6, 20_000, twice, 6040, metric.k or 10**6))
    keys = {
        "bounds": "bounds",
        "interval": "interval",
        "boundsWithError": "bounds_with_error",
        "standardError": "standard_error",
    }
    for case, ours in zip(cases, javascript(found, cases), strict=True):
        value, n, m, replacement, users, _ = case
        theirs = explain(metric, value, Draw(m, n_items=n, replacement=replacement), n_users=users)
        for key, attribute in keys.items():
            np.testing.assert_allclose(
                ours[key], getattr(theirs, attribute), rtol=1e-9, atol=1e-12, err_msg=str(case)
            )


def test_what_a_published_number_can_mean_at_another_cutoff(javascript):
    rng, cases = np.random.default_rng(4), []
    for _, n, m, replacement in draws(rng, 60):
        cases.append(
            (float(rng.random()), n, min(m, n - 1), replacement, 100, int(rng.integers(1, n + 1)))
        )
    found = javascript(
        "[M.explain(M.recall(2), b, c, d)(a, e, M.recall(f), f)?.bounds,"
        " M.resembledCutoff(2, b, c)]",
        cases,
    )
    for (value, n, m, replacement, users, cutoff), (bounds, alike) in zip(
        cases, found, strict=True
    ):
        protocol = {"draw": Draw(m, n_items=n, replacement=replacement), "n_users": users}
        if m == 1:  # every sample is a hit
            assert bounds is None
            continue
        theirs = explain(Recall(2), value, **protocol, exact_metric=Recall(cutoff))
        np.testing.assert_allclose(bounds, theirs.bounds, rtol=1e-9, atol=1e-12)
        assert alike == pytest.approx(theirs.cutoff, rel=1e-12)


def test_no_number_where_no_ranks_have_it(javascript):
    cases = [(0.9998, 5), (0.99996, 5), (1.00004, 5), (1.0001, 5), (0.3, 5), (-0.0001, 4), (0, 4)]
    found = javascript("!!M.explain(M.recall(b), 100, 4, true)(a, 9)", cases)
    assert found == [False, True, True, False, False, False, True]


def dialects(k):
    """Every metric in every dialect, as the explorer lists them."""
    ap, ndcg = partial(AveragePrecision, k), partial(NDCG, k)

    def hit_rate(users):
        best = Recall(k)(users) > 0
        return np.where(users.n_relevant > 0, best, np.nan)

    return {
        ("Precision", "k"): Precision(k),
        ("Precision", "min(list, k)"): Precision(k, denominator="predicted"),
        ("Precision", "min(labels, k)"): Recall(k, denominator="capped"),
        ("Recall", "labels"): Recall(k),
        ("Recall", "min(labels, k)"): Recall(k, denominator="capped"),
        ("F1", "k + labels"): F1(k),
        ("AP", "labels"): ap(denominator="relevant"),
        ("AP", "min(labels, k)"): ap(),
        ("AP", "hits"): ap(denominator="hits"),
        ("AP", "min(list, k)"): ap(denominator="predicted"),
        ("NDCG", "labels"): ndcg(),
        ("NDCG", "hits"): ndcg(ideal="hits"),
        ("NDCG", "k items"): ndcg(ideal="full"),
        ("RR", "1"): ReciprocalRank(k),
        ("Hit rate", "1"): hit_rate,
    }


def test_metrics_of_several_relevant_items_in_every_dialect(javascript):
    rng = np.random.default_rng(6)
    lists = [
        [rng.permutation(20)[: rng.integers(13)].tolist() for _ in range(60)] for _ in range(2)
    ]
    users = Ranks.from_recommendations(*lists)
    for k in (1, 3, 8, 30):
        cases = [[*both, k] for both in zip(*lists, strict=True)]
        found = javascript(
            "M.dialects(c).map(([x, y, f]) => [x, y, f(M.fromRecommendations(a, b))])", cases
        )
        names = [(x, y) for x, y, _ in found[0]]
        assert names == list(dialects(k))
        ours = np.array([[np.nan if v is None else v for _, _, v in row] for row in found])
        for i, metric in enumerate(dialects(k).values()):
            np.testing.assert_allclose(ours[:, i], metric(users), rtol=1e-12, err_msg=str(names[i]))


def test_the_chapter_on_dialects_uses_the_same_names():
    text = Path(__file__).parents[2].joinpath("book", "dialects.md").read_text(encoding="utf-8")
    table = text[text.index("divisors = {") : text.index("without_labels =")]
    for name in {by for _, by in dialects(1)}:
        assert f'"{name}":' in table


# --- by keyboard


def test_toy_example_by_keyboard(start):
    tab = start("toy")
    ranks = np.array([[100] * 5, [40, 40, 8437, 9266, 4482], [212, 2, 743, 5342, 1548]])
    assert "C > B > A" in tab.explorer.inner_text()
    assert "it is A > B > C." in tab.explorer.inner_text()
    assert verdict(tab) == "Order flips"
    enter(tab, C1=700)
    ranks[2, 1] = 700
    go_to(tab, "metric", "select-one")
    tab.keyboard.press("R")  # Recall, and its cutoff
    settle(tab)
    enter(tab, k=3, m=250)
    go_to(tab, "replacement", "checkbox")
    tab.keyboard.press("Space")
    settle(tab)
    metric = Recall(k=3)
    exact = metric(ranks, 10_000).mean(axis=1)
    expected = draw_of(10_000, 250, False).expect(ranks, metric).mean(axis=1)
    columns = [list("ABC"), fixed(exact), fixed(expected)]
    assert table(tab)[1:] == [list(row) for row in zip(*columns, strict=True)]
    assert "n = 10,000, m = 250, without replacement" in tab.explorer.inner_text()
    go_to(tab, "Reset", "reset")
    tab.keyboard.press("Enter")
    settle(tab)
    assert "it is A > B > C." in tab.explorer.inner_text()


def test_the_landing_page_has_the_same_winners_as_the_package(start):
    tab = start("flip")
    ranks = np.array([[100] * 5, [40, 40, 8437, 9266, 4482], [212, 2, 743, 5342, 1548]])
    metric = AveragePrecision()
    exact = 100 * metric(ranks, 10_000).mean(axis=1)
    for m, winner in ((99, "A"), (9999, "C"), (1, "A")):
        enter(tab, m=m)
        settle(tab)
        expected = 100 * draw_of(10_000, m, False).expect(ranks, metric).mean(axis=1)
        assert table(tab)[1:] == [
            ["exact", *fixed(exact, 1)],
            [f"among {m:,}", *fixed(expected, 1)],
        ]
        assert "ABC"[expected.argmax()] == winner
        assert verdict(tab) == ("Right winner" if winner == "C" else "Wrong winner")
        items = "1 random item" if m == 1 else f"{m:,} random items"
        text = f"Exact winner: C. Winner among {items}: {winner}."
        assert text in tab.explorer.inner_text()


def test_slider_moves_the_number_and_the_number_the_slider(start):
    tab = start("toy")
    go_to(tab, "m", "range")
    tab.keyboard.press("ArrowRight")
    settle(tab)
    slider, field = (tab.explorer.locator(s) for s in ("[data-moves=m]", "[name=m]"))
    m = int(field.input_value())
    assert m > 99
    assert slider.get_attribute("aria-valuetext") == str(m)
    field.fill("9999")
    settle(tab)
    assert slider.input_value() == slider.get_attribute("max")


def test_weights_by_keyboard(start):
    tab = start("weight")
    go_to(tab, "metric", "select-one")
    tab.keyboard.press("N")
    enter(tab, n=500, m=30)
    settle(tab)
    ranks = np.array([1, 2, 5, 10, 20, 50, 100, 500])
    columns = fixed(NDCG()(ranks)), fixed(draw_of(500, 30).expect(ranks, NDCG()))
    rows = zip(map(str, ranks), *columns, strict=True)
    assert table(tab)[1:] == [list(row) for row in rows]
    middle = [fixed(NDCG()(22))[0], fixed(draw_of(500, 30).expect(22, NDCG()))[0]]
    says = "At rank 22, exact NDCG is {}; expected sampled NDCG (n = 500, m = 30, with replacement)"
    assert f"{says.format(middle[0])} is {middle[1]}." in tab.explorer.inner_text()


def test_corrections_by_keyboard(start):
    tab = start("correction")
    enter(tab, gamma=0.02, n=3000, m=40)
    settle(tab)
    ranks, metric = np.arange(1, 3001), AveragePrecision()
    estimators = [Uncorrected(), RankEstimate(), BiasVariance(gamma=0.02)]
    fitted = [e.fit(metric, draw_of(3000, 40)) for e in estimators]
    errors = [
        fixed(np.sqrt([(f.bias(ranks) ** 2).mean(), f.variance(ranks).mean()]), 4) for f in fitted
    ]
    assert [row[1:] for row in table(tab)[1:]] == errors
    values = np.column_stack([f.values for f in fitted])
    first = [[str(i), *fixed(v, 4)] for i, v in enumerate(values[:12], start=1)]
    assert table(tab, 1)[1:] == first


def test_reviewers_calculator_by_keyboard(start):
    tab = start("reviewer")
    protocol = {"draw": Draw(100, n_items=3706), "n_users": 6040}
    usual = explain(Recall(10), 0.66, **protocol, decimals=2)
    shown = tab.explorer.inner_text()
    assert "The top 10 of 101 resembles the top 367 of all 3,706." in shown
    for sentence in str(usual).split("\n"):
        if sentence.startswith("Chance aside"):
            assert sentence.replace("Recall", "HR") in shown
    assert f"standard error is {fixed(usual.standard_error, 4)[0]}:" in shown
    assert "exact HR@10 can be anything from 0.000 to 0.677." in shown
    enter(tab, value="0.4", k=5, users=300, n=1000, m=50)
    settle(tab)
    protocol = {"draw": Draw(50, n_items=1000), "n_users": 300, "decimals": 1}
    alike = round(explain(Recall(5), 0.4, **protocol).cutoff)
    assert f"resembles the top {alike} of all 1,000." in tab.explorer.inner_text()
    assert [row[0] for row in table(tab)[1:]] == [
        f"HR@{c}" for c in ("1", "5", "10", str(alike), "100", "1,000")
    ]
    for name, *ends in table(tab)[1:]:
        cutoff = int(name.removeprefix("HR@").replace(",", ""))
        theirs = explain(Recall(5), 0.4, **protocol, exact_metric=Recall(cutoff))
        assert ends == fixed([*theirs.bounds, *theirs.bounds_with_error])
    change(tab.explorer.locator("[name=users]"), 1)
    settle(tab)
    assert "With 1 user the standard error" in tab.explorer.inner_text()


@pytest.mark.parametrize("name", PUBLISHED)
def test_reviewers_calculator_of_every_metric(start, name):
    tab = start("reviewer")
    tab.explorer.locator("[name=metric]").select_option(name)
    tab.explorer.locator("[name=replacement]").uncheck()
    settle(tab)
    metric = PUBLISHED[name][1](10)
    protocol = {"draw": Draw(100, n_items=3706, replacement=False), "n_users": 6040}
    protocol["decimals"] = 2
    shown = tab.explorer.inner_text()
    own = explain(metric, 0.66, **protocol)
    for bounds in (own.bounds, own.bounds_with_error):
        low, high = fixed(bounds)
        can_be = f"is {low}" if low == high else f"can be anything from {low} to {high}"
        assert f"xact {name.replace('@k', '@10')} {can_be}." in shown
    assert fixed(own.standard_error, 4)[0] in shown
    assert ("is at most" in shown) == (name != "HR@k")
    assert tab.explorer.locator("[name=k]").is_disabled() == ("@" not in name)
    for row, *ends in table(tab)[1:]:
        cutoff = int(row.split("@")[1].replace(",", "")) if "@" in row else None
        exact = PUBLISHED[name][1](cutoff)
        theirs = explain(metric, 0.66, **protocol, exact_metric=exact)
        assert ends == fixed([*theirs.bounds, *theirs.bounds_with_error])


def test_five_users_by_keyboard(start):
    tab = start("five-users")
    labels = [[1, 2, 3, 4, 5, 6], [2, 4, 6], [7], [], []]
    predictions = [[1, 6, 8], [9, 1, 4, 2], [], [1, 2, 3, 4], []]
    enter(tab, k=4, predictions1="9 1, 4;2", labels2="7")
    settle(tab)
    users = Ranks.from_recommendations(predictions, labels)
    expected = {}
    for name, metric in dialects(4).items():
        values = metric(users)
        means = [np.nanmean(values), *(np.nan_to_num(values, nan=e).mean() for e in (0, 1))]
        expected[name] = fixed([*values, *means])
    shown = {}
    for name, (head, *rows) in table_of_each_metric(tab):
        shown |= {(name, by): [row[i] for row in rows] for i, by in enumerate(head) if i}
    assert shown == expected


# --- for everybody


OTHERWISE = {
    "draw": ("draws", "7"),
    "walk": ("target", "0.2"),
    "five-users": ("labels0", "2"),
    "elsewhere": ("m", "20"),
    "audit": ("c", "3"),
    "plan": ("users", "50"),
    "check": ("m", "20"),
}


@pytest.mark.parametrize("name", PAGES)
def test_text_alternatives_say_what_is_shown(visit, name):
    tab = visit(name)
    title = tab.explorer.locator("figcaption strong").inner_text()
    figure = tab.get_by_role("figure", name=title, exact=True)
    assert len(figure.locator(".how").inner_text()) > 200
    drawings = figure.get_by_role("img")
    assert drawings.count() == figure.locator("svg").count() > 0
    labels = "all => all.map(e => e.getAttribute('aria-label'))"
    before, sentence = drawings.evaluate_all(labels), figure.locator("[aria-live]").inner_text()
    field, value = OTHERWISE.get(name, ("m", "7"))
    if name == "toy":
        figure.locator("[name=A0]").fill("1")
    change(figure.locator(f"[name={field}]"), value)
    if name == "reviewer":
        figure.locator("[name=k]").fill("1")
    if name == "audit":
        figure.locator("[name=id]").select_option("mlperf-999")
    settle(tab)
    assert not set(before) & set(drawings.evaluate_all(labels))
    assert figure.locator("[aria-live]").inner_text() != sentence
    unnamed = [
        control
        for control in tab.explorer.locator("input, select").all()
        if not control.evaluate("e => e.ariaLabel || e.labels[0]?.textContent.trim()")
    ]
    assert unnamed == []


BAD = [
    ("toy", "A0", "0", "A whole number from 1 to 10000, please."),
    ("toy", "A0", "10001", "A whole number from 1 to 10000, please."),
    ("toy", "m", "2.5", "A whole number from 1 to 9999, without point or comma, please."),
    ("weight", "n", "10.000", "A whole number from 2 to 100000, without point or comma, please."),
    ("flip", "m", "", "A whole number from 1 to 9999, please."),
    ("weight", "n", "", "A whole number from 2 to 100000, please."),
    ("correction", "gamma", "2", "A number from 0.001 to 1, please."),
    ("reviewer", "value", "66 of 100", "A number from 0 to 1, or a percentage, please."),
    ("reviewer", "value", "0,66", 'Write 0.66, not "0,66".'),
    ("reviewer", "value", "-0.1", "A number from 0 to 1, or a percentage, please."),
    ("reviewer", "value", "101", "A number from 0 to 1, or a percentage, please."),
    ("reviewer", "k", "1000", "Among 101 items each is in the top 1,000: at most 100."),
    ("five-users", "predictions1", "1, 2, 1", "Item 1 stands here twice."),
    ("five-users", "predictions1", "1, 2, 01", "Item 1 stands here twice."),
    ("five-users", "labels0", "1, two", "“two” is no item number."),
    ("five-users", "labels0", "1, 2.5", "“2.5” is no item number."),
]


@pytest.mark.parametrize(("name", "field", "text", "message"), BAD)
def test_a_wrong_input_gets_a_message_and_dims_the_last_result(visit, name, field, text, message):
    tab = visit(name)
    control = tab.explorer.locator(f"[name={field}]")
    good, before = control.input_value(), table(tab)
    shown, said = tab.explorer.locator("svg").first.inner_html(), verdict(tab)
    control.fill(text)
    alert = tab.explorer.get_by_role("alert")
    alert.wait_for()
    assert alert.inner_text() == message
    where = tab.explorer.locator("[aria-invalid=true]")
    assert where.evaluate_all("all => all.map(e => e.name)") == [field]
    assert where.get_attribute("aria-describedby") == alert.get_attribute("id")
    box = where.locator("xpath=ancestor::*[self::div or self::fieldset][1]").bounding_box()
    assert box["y"] < alert.bounding_box()["y"] < box["y"] + box["height"]  # beside the field
    assert verdict(tab) == "No result"
    assert "dimmed" in tab.explorer.locator(".sentence").inner_text()
    assert tab.explorer.locator("svg").first.inner_html() == shown
    assert table(tab) == before
    for part in tab.explorer.locator(".panel, .rest").all():
        assert part.evaluate("e => getComputedStyle(e).opacity") == "0.3"
        assert part.evaluate("e => e.inert")  # for those who hear the page, it is not there
    control.fill(good)
    settle(tab)
    assert alert.count() == where.count() == 0
    assert table(tab) == before
    assert verdict(tab) == said
    for part in tab.explorer.locator(".panel, .rest").all():
        assert part.evaluate("e => getComputedStyle(e).opacity") == "1"
        assert not part.evaluate("e => e.inert")


def test_a_decimal_comma_is_never_dropped(start):
    tab = start("correction")
    enter(tab, gamma=0.2)
    settle(tab)
    before = table(tab)
    tab.keyboard.press("Control+A")
    tab.keyboard.type("0,2")
    settle(tab)
    assert tab.explorer.locator("[name=gamma]").input_value() == "0.2"
    assert table(tab) == before
    go_to(tab, "n")
    tab.keyboard.press("Control+A")
    tab.keyboard.type("1,5")
    settle(tab)  # an alert of the first key alone says something else
    assert "without point or comma" in tab.explorer.get_by_role("alert").inner_text()


@pytest.mark.parametrize("text", ["66", "66%", "66 %", ".66", "6.6e-1"])
def test_calculator_takes_percentages(visit, text):
    tab = visit("reviewer")
    before = table(tab)
    tab.explorer.locator("[name=value]").fill("0.5")
    settle(tab)
    assert table(tab) != before
    tab.explorer.locator("[name=value]").fill(text)
    settle(tab)
    assert table(tab) == before
    assert "A sampled HR@10 of 0.66 (" in tab.explorer.inner_text()


@pytest.mark.parametrize(
    ("text", "decimals"),
    [("1", 0), ("0.7", 1), ("70%", 2), ("0.700", 3), ("70.0 %", 3), ("7e-1", 1), ("0.7000", 4)],
)
def test_calculator_takes_the_decimals_as_typed(visit, text, decimals):
    tab = visit("reviewer")
    tab.explorer.locator("[name=value]").fill(text)
    settle(tab)
    protocol = {"draw": Draw(100, n_items=3706), "n_users": 6040}
    own = explain(Recall(10), 1 if text == "1" else 0.7, **protocol, decimals=decimals)
    (row,) = (row for row in table(tab) if row[0] == "HR@10")
    assert row[1:] == fixed([*own.bounds, *own.bounds_with_error])
    code = tab.explorer.locator("details > pre").text_content()
    assert (f"decimals={decimals}," in code) == (decimals != 4)
    assert ("rounded by" in tab.explorer.inner_text()) == (decimals < 4)


def test_calculator_takes_a_rounded_value_that_no_sample_can_have(visit):
    tab = visit("reviewer")
    for name, text in (("metric", "MRR"), ("m", 2), ("value", "0.33")):
        change(tab.explorer.locator(f"[name={name}]"), text)
    settle(tab)
    assert tab.explorer.get_by_role("alert").count() == 0  # it is from 1/3


def test_calculator_says_what_a_sample_can_have(visit):
    tab = visit("reviewer")
    tab.explorer.locator("[name=metric]").select_option("NDCG")
    tab.explorer.locator("[name=value]").fill("0.05")
    alert = tab.explorer.get_by_role("alert")
    alert.wait_for()
    lowest = fixed(NDCG()(101))[0]
    assert alert.inner_text() == f"With m = 100, sampled NDCG is from {lowest} to 1.000."


@pytest.mark.parametrize("name", ["weight", "reviewer"])
def test_more_cannot_be_drawn_than_there_is(visit, name):
    tab = visit(name)
    tab.explorer.locator("[name=n]").fill("50")
    if name == "reviewer":
        alert = tab.explorer.get_by_role("alert")
        alert.wait_for()
        assert alert.inner_text() == "At most n − 1 = 49: who draws more can rank all."
    tab.explorer.locator("[name=replacement]").uncheck()
    alert = tab.explorer.get_by_text("Without replacement, m must be at most n − 1 = 49.")
    alert.wait_for()


def test_ranks_can_be_dragged(visit):
    tab = visit("toy")
    resize(tab, 1280, 2000)
    drawing = tab.explorer.locator("svg").nth(1)
    drawing.scroll_into_view_if_needed()
    box = drawing.bounding_box()
    # the second mark of C, found by its color and shape
    mark = drawing.locator("g.handle.s2").nth(1).bounding_box()
    x, y = mark["x"] + mark["width"] / 2, mark["y"] + mark["height"] / 2
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + 40, y, steps=4)
    settle(tab)
    tab.mouse.move(box["x"] + box["width"] + 50, y, steps=4)
    tab.mouse.up()
    settle(tab)
    assert tab.explorer.locator("[name=C1]").input_value() == "10000"
    assert tab.explorer.locator("[name=C0]").input_value() == "212"
    assert "C: 212, 10000, 743, 5342, 1548." in drawing.get_attribute("aria-label")
    tab.mouse.move(x, y)  # it is let go
    assert tab.explorer.locator("[name=C1]").input_value() == "10000"


@pytest.mark.parametrize("name", PAGES)
def test_explorer_can_be_printed(visit, name):
    tab = visit(name)
    tab.emulate_media(media="print")
    settle(tab)
    assert tab.explorer.locator("svg").first.is_visible()
    assert tab.explorer.locator("[aria-live]").is_visible()
    resize(tab, 680)  # as wide as A4 with its margins, and then not higher than it
    assert tab.explorer.evaluate("e => e.offsetHeight") < 1040
    for rows in tab.explorer.locator(".scrolls").all():
        assert rows.evaluate("e => e.scrollHeight <= e.clientHeight"), "as a whole"
    controls = tab.explorer.locator("button, select, [type=range]").all()
    assert controls
    assert not any(control.is_visible() for control in controls)


@pytest.mark.parametrize("name", PAGES)
def test_explorers_open_from_a_folder(visit, html, name):
    tab = visit(name, address=f"{html.as_uri()}/book/{PAGES[name]}.html")
    assert len(table(tab)) >= 3


def test_links_behind_an_explorer_lead_where_they_should(browser, html):
    tab = browser.new_page()
    tab.goto(f"{html.as_uri()}/book/corrections.html#which-gamma")
    tab.locator(".explorer td").first.wait_for()
    settle(tab)
    top = "document.querySelector('#which-gamma').getBoundingClientRect().top"
    tab.wait_for_function(f"{top} < 200", timeout=5000)  # it may scroll there smoothly
    assert tab.evaluate(top) > 0
    tab.close()


SHARED = ("sampled-metrics.js", "explorers.js", "explorers-plot.js", "explorers-start.js")


def test_a_page_loads_the_explorers_that_it_holds_and_no_others(html):
    for path in html.glob("book/*.html"):
        text = path.read_text(encoding="utf-8")
        has = sorted(set(re.findall('data-explorer="(.*?)"', text)))
        assert sorted(re.findall(r"_static/explorers/(.*?)\.js", text)) == has, path
        for name in (*SHARED, "explorers.css"):
            assert (f"_static/{name}" in text) == bool(has), path
        assert 'type="module"' not in text  # browsers refuse modules of pages opened as files
    everything = (html / "book" / "explorers.html").read_text(encoding="utf-8")
    for name, page in PAGES.items():
        assert (f'data-explorer="{name}"' in everything) == (name not in ALONE)
        assert page == "index" or f'href="{page}.html' in everything
        assert f'data-explorer="{name}"' in (html / "book" / f"{page}.html").read_text("utf-8")


def test_without_javascript_an_explorer_says_what_it_needs(site, browser):
    tab = browser.new_page(java_script_enabled=False)
    tab.goto(f"{site}book/explorers.html", wait_until="domcontentloaded")
    said = tab.locator(".explorer noscript").all_inner_texts()
    tab.close()
    assert len(said) == len(PAGES.keys() - ALONE)
    assert all("JavaScript" in text for text in said)


@pytest.mark.parametrize("name", PAGES)
def test_explorers_are_small(html, name):
    files = (*SHARED, "explorers.css", f"explorers/{name}.js")
    limit = 103_000 if name == "check" else 76_000
    assert sum((html / "_static" / file).stat().st_size for file in files) < limit
