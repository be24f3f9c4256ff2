"""Check your own: its numbers are the package's, its texts print them, and it names bad rows."""

import contextlib
import io
import re
import shlex

import numpy as np
import pandas as pd
import pytest
from scipy.special import stdtrit

from sampled_metrics import (
    AUC,
    NDCG,
    Draw,
    Ranks,
    Recall,
    ReciprocalRank,
    Uncorrected,
    compare,
    evaluate,
    explain,
)
from sampled_metrics.cli import main
from sampled_metrics.evaluation.intervals import interval
from sampled_metrics.io import write_ranks
from tabs import change, fixed, new_tab, open_explorer, settle, table, verdict

METRICS = {
    "HR@k": Recall(k=10),
    "NDCG@k": NDCG(k=10),
    "MRR@k": ReciprocalRank(k=10),
    "NDCG": NDCG(),
    "MRR": ReciprocalRank(),
    "AUC": AUC(),
}
UNTOLD = "Cannot be told from these numbers"


@pytest.fixture(scope="module")
def javascript(browser, site):
    """Evaluate an expression with the arithmetic of the page as M."""
    tab = open_explorer(new_tab(browser), site, "check")
    yield lambda code, given: tab.evaluate(
        f"x => {{ const M = sampledMetrics; return {code}; }}", given
    )
    tab.close()


@pytest.fixture
def tab(visit):
    """Open the page."""
    return visit("check")


def ready(tab):
    """Wait for the result of what was entered."""
    settle(tab)
    tab.wait_for_function("document.querySelector('.explorer-body').ariaBusy === 'false'")


def enter(tab, **values):
    for name, value in values.items():
        control = tab.explorer.locator(f"[name={name}]")
        if isinstance(value, bool):
            control.set_checked(value)
        else:
            change(control, value)
        settle(tab)
    ready(tab)


def numbers(tab):
    """Return the rows of the table by their names; of several of one name, a list."""
    found = {}
    for name, *cells in table(tab)[1:]:
        found.setdefault(name, []).append(cells)
    return found


def span(ends):
    return " to ".join(fixed(ends, 4))


def alert(tab):
    found = tab.explorer.get_by_role("alert")
    found.wait_for()
    return found.inner_text()


# --- arithmetic


def test_quantiles_of_student(javascript):
    sizes = [2, 3, 4, 5, 10, 31, 100, 1001, 6041, 100_001]
    np.testing.assert_allclose(
        javascript("x.map(M.student)", sizes), stdtrit(sizes, 0.975), rtol=1e-10
    )


def test_intervals(javascript):
    rng = np.random.default_rng(1)
    for _ in range(50):
        size, low = int(rng.choice([2, 5, 40, 6040])), float(rng.choice([-1, 0, 0.3]))
        ends = np.array([[low, 1.0]])
        mean, error = rng.uniform(low, 1), rng.choice([0, rng.random() / 10])
        least = min(low, 0.0)
        ours = javascript("M.interval(...x)", [mean, error, size, [low, 1], least])
        theirs = interval(np.array([mean]), np.array([error]), size, ends, 0.95, least=least)
        np.testing.assert_allclose(ours, np.ravel(theirs), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", METRICS)
def test_difference_of_printed_numbers(javascript, name):
    call = {"HR@k": "recall(10)", "NDCG@k": "ndcg(10)", "MRR@k": "reciprocalRank(10)"}
    call |= {"NDCG": "ndcg()", "MRR": "reciprocalRank()", "AUC": "auc()"}
    rng = np.random.default_rng(2)
    for _ in range(30):
        n, m, users = (
            int(rng.integers(50, 9000)),
            int(rng.integers(12, 40)),
            int(rng.integers(9, 9000)),
        )
        values = (0.4 + rng.integers(0, 60, 2) / rng.choice([100, 1000])).tolist()
        draw = Draw(m, n_items=n, replacement=False)
        theirs = explain(METRICS[name], values[0], draw, other=values[1], n_users=users, decimals=3)
        ours = javascript(
            f"(([n, m, users, values]) => {{ const f = M.explain(M.{call[name]}, n, m, false);"
            " const [a, b] = values.map((v) => f(v, users, undefined, 10, {decimals: 3}));"
            " return M.difference(a, b, users, 3); })(x)",
            [n, m, users, values],
        )
        expected = theirs.difference
        np.testing.assert_allclose(ours["interval"], expected.interval, rtol=1e-9, atol=1e-12)
        assert ours["beyond"] == expected.beyond_chance
        assert ours["known"] == expected.order_known


# --- printed numbers


@pytest.mark.parametrize("name", METRICS)
def test_printed_numbers(tab, name):
    enter(tab, metric=name, a="0.66", b="61%", users="6,040", n=5000, m=200, replacement=True)
    draw, shown = Draw(200, n_items=5000), numbers(tab)
    one = explain(METRICS[name], 0.66, draw, n_users=6040, other=0.61, decimals=2)
    two = explain(METRICS[name], 0.61, draw, n_users=6040, decimals=2)
    assert shown["sampled"] == [["0.66", "0.61", "0.0500"]]
    both = [one.interval, two.interval, one.difference.interval]
    assert shown["its 95 % interval"] == [[span(ends) for ends in both]]
    assert shown["exact, chance aside"][0][:2] == [span(one.bounds), span(two.bounds)]
    with_error = [span(one.bounds_with_error), span(two.bounds_with_error)]
    assert shown["exact, 95 %"][0][:2] == with_error
    told = one.difference.order_known and one.difference.beyond_chance
    assert verdict(tab) == ("Order kept" if told else UNTOLD)
    assert tab.explorer.locator(".verdict").get_attribute("data-tone") == (
        "good" if told else "open"
    )


def test_one_printed_number(tab):
    enter(tab, b="", users="")
    own = explain(Recall(10), 0.66, Draw(100, n_items=3706, replacement=False), decimals=2)
    assert numbers(tab) == {"sampled": [["0.66"]], "exact, chance aside": [[span(own.bounds)]]}
    assert verdict(tab) == "Says little about the exact HR@10"
    enter(tab, metric="AUC")
    assert verdict(tab) == "Says much about the exact AUC"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"a": ""}, "A number from the paper, please, such as 0.66."),
        ({"b": "0,61"}, 'Write 0.61, not "0,61".'),
        ({"users": "many"}, "A whole number, or nothing if the paper does not say."),
        ({"k": 200}, "Among 101 items each is in the top 200: at most 100."),
        ({"n": 100}, "At most n − 2 = 98: who draws more has ranked all."),
        ({"metric": "NDCG", "a": "0.05"}, "With m = 100, sampled NDCG is from 0.150 to 1.000."),
    ],
)
def test_what_cannot_be_a_printed_number(tab, given, message):
    enter(tab, **given)
    assert alert(tab) == message
    assert verdict(tab) == "No result"


# --- ranks


def some_ranks(rng, users=60, ties=False, sizes=False):
    n = rng.integers(1100, 1400, users) if sizes else np.full(users, 1234)
    made = {}
    for name, power in (("mine", 4), ("other", 2)):
        best = 1 + (n * rng.random(users) ** power * 0.9).astype(int)
        tied = (
            rng.integers(0, 60, users) * rng.integers(0, 2, users) if ties else np.zeros(users, int)
        )
        made[name] = Ranks(best, np.minimum(tied, n - best), n, users=np.arange(users))
    return made


def as_text(ranks, tmp_path):
    write_ranks(ranks, tmp_path / "ranks.csv")
    return (tmp_path / "ranks.csv").read_text("utf-8")


def as_shown(ranks, metric, draw):
    """Return what the package says of exact ranks, as the page shows it."""
    found = evaluate(ranks, [metric], draw, estimators={"uncorrected": Uncorrected()})
    exact, sampled = (found.table[found.table["estimator"] == e] for e in ("exact", "uncorrected"))
    (test,), (order,) = (
        frame.to_dict("records")
        for frame in (found.comparisons(n_resamples=2, rng=0), found.orders())
    )
    return exact, sampled, test, order


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("kind", ["plain", "ties", "sizes"])
def test_ranks_among_all(tab, name, kind, tmp_path):
    rng = np.random.default_rng(len(name))
    ranks = some_ranks(rng, ties=kind != "plain", sizes=kind == "sizes")
    draw, metric = Draw(40, replacement=False), METRICS[name]
    enter(tab, input="ranks", metric=name, m=40, ranks=as_text(ranks, tmp_path))
    exact, sampled, test, order = as_shown(ranks, metric, draw)
    shown = numbers(tab)
    assert shown["exact"] == [[*fixed(exact["value"], 4), *fixed(test["difference"], 4)]]
    assert shown["among 40, expected"] == [
        [*fixed(sampled["value"], 4), *fixed(order["difference"], 4)]
    ]
    of_exact, of_sampled = shown["its 95 % interval"]
    rows = [*zip(exact["low"], exact["high"], strict=True), (test["low"], test["high"])]
    assert of_exact == [span(ends) for ends in rows]
    rows = zip(sampled["low"], sampled["high"], strict=True)
    assert of_sampled[:2] == [span(ends) for ends in rows]
    assert shown["right order, new users"][0][2] == fixed(order["right_order"], 4)[0]
    assert verdict(tab).startswith("Order kept" if order["order_kept"] else "Order turned")
    if kind != "sizes":
        whole = Draw(40, n_items=1234, replacement=False)
        assert shown["what that leaves open"][0][:2] == [
            span(explain(metric, round(v, 6), whole, decimals=6).bounds) for v in sampled["value"]
        ]


def test_right_order_for_these_users(javascript):
    rng = np.random.default_rng(3)
    ranks = some_ranks(rng, ties=True)
    draw = Draw(40, replacement=False)
    found = compare(ranks["mine"], ranks["other"], NDCG(10), draw)
    rows = [{"best": r.best.tolist(), "tied": r.n_tied.tolist()} for r in ranks.values()]
    ours = javascript(
        "Promise.all(x.map((row) => M.moments(row, 1234, M.ndcg(10), 40, false, () => 0)))"
        ".then((all) => M.rightOrder(...all))",
        rows,
    )
    np.testing.assert_allclose(ours["exact"], found.exact_difference, rtol=1e-9)
    np.testing.assert_allclose(ours["sampled"], found.difference, rtol=1e-9)
    np.testing.assert_allclose(ours["anew"], found.right_order(), rtol=1e-9)
    np.testing.assert_allclose(ours["again"], found.right_order(same_users=True), rtol=1e-9)


@pytest.mark.parametrize("name", METRICS)
def test_ranks_among_a_sample(tab, name, tmp_path):
    draw = Draw(40, n_items=1234, replacement=False)
    drawn = {
        who: draw.rvs(each, rng=i)
        for i, (who, each) in enumerate(some_ranks(np.random.default_rng(7)).items())
    }
    enter(tab, metric=name, input="ranks", ranks=as_text(drawn, tmp_path))  # its catalog is told
    metric, shown = METRICS[name], numbers(tab)
    found = evaluate(drawn, [metric], estimators={"uncorrected": Uncorrected()})
    rows = found.table[found.table["estimator"] == "uncorrected"]
    (test,) = found.comparisons(n_resamples=2, rng=0).to_dict("records")
    assert shown["as sampled"] == [[*fixed(rows["value"], 4), *fixed(test["difference"], 4)]]
    ends = [*zip(rows["low"], rows["high"], strict=True), (test["low"], test["high"])]
    assert shown["its 95 % interval"] == [[span(each) for each in ends]]
    said = [explain(metric, round(v, 6), draw, n_users=60, decimals=6) for v in rows["value"]]
    assert shown["exact, chance aside"][0][:2] == [span(each.bounds) for each in said]
    assert shown["exact, 95 %"][0][:2] == [span(each.bounds_with_error) for each in said]
    assert tab.explorer.locator("[name=m]").is_hidden()  # the table knows it
    # the same, where the page is told
    text = "mine,other\n" + "\n".join(
        f"{a},{b}" for a, b in zip(*(d.best for d in drawn.values()), strict=True)
    )
    enter(tab, input="sampled", ranks=text, n=1234, m=40)
    assert numbers(tab) == shown


def test_every_verdict(tab):
    columns = "A,C\n100,212\n100,2\n100,743\n100,5342\n100,1548"
    enter(tab, n=10_000, m=99, metric="MRR", input="ranks", ranks=columns)
    tone = tab.explorer.locator(".verdict")
    for more, expected, colored in (
        ({}, "Order turned", "bad"),
        ({"m": 9000}, "Order kept", "good"),
        ({"metric": "HR@k", "k": 10, "m": 5}, "Order lost", "bad"),
        ({"k": 1}, "Exactly level", "open"),
        ({"ranks": "A\n1\n1\n4\n90", "k": 2}, "Sampled: ", "open"),
        ({"input": "numbers", "m": 99, "k": 10}, UNTOLD, "open"),
        ({"b": "0.66"}, "The numbers are equal", "open"),
    ):
        enter(tab, **more)
        assert verdict(tab).startswith(expected)
        assert tone.get_attribute("data-tone") == colored


# --- the same in Python, on the command line, and for the paper


def run(code):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {})
    return out.getvalue()


def texts(tab):
    return tab.explorer.locator(".text pre").all_text_contents()


def test_python_prints_the_same_numbers(tab, monkeypatch, tmp_path):
    code = tab.explorer.locator("details > pre")
    out = run(code.text_content())
    assert "can be anything from 0.000 to 0.665" in re.sub(r"\s+", " ", out)
    for label in tab.explorer.locator(".presets option").all_inner_texts()[3:]:
        tab.explorer.locator(".presets").select_option(label)
        ready(tab)
        words = {
            f"{float(word):.4f}"
            for word in re.findall(r"-?\d+\.\d+(?:e-\d+)?", run(code.text_content()))
        }
        for name, rows in numbers(tab).items():
            if name not in ("right order, these users", "exact, 95 %", "exact, chance aside"):
                for cell in " ".join(rows[0]).replace(" to ", " ").split():
                    assert cell in words or f"{float(cell) - 0.0001:.4f}" in words, (
                        label,
                        name,
                        cell,
                    )


def test_command_line_prints_the_same_numbers(tab, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)

    def output():
        found = []
        for line in texts(tab)[1].splitlines():
            if line.startswith("#"):
                continue
            program, *words = shlex.split(line)
            assert program == "sampled-metrics"
            assert main([*words, "--format", "csv"]) == 0
            found.append(pd.read_csv(io.StringIO(capsys.readouterr().out)))
        return found

    (row,) = output()
    assert numbers(tab)["exact, chance aside"][0][0] == span(
        row.loc[0, ["bounds_low", "bounds_high"]]
    )
    for label in ("A table of ranks, from Ranks.write", "Ranks among a sample"):
        tab.explorer.locator(".presets").select_option(label)
        ready(tab)
        with tab.expect_download() as download:
            tab.explorer.get_by_role("button", name="Save as ranks.csv").click()
        download.value.save_as("ranks.csv")
        values, differences, *_ = output()
        shown = numbers(tab)
        first = next(iter(shown.values()))[0]
        estimator = "exact" if "exact" in shown else "uncorrected"
        values, differences = (x[x["estimator"] == estimator] for x in (values, differences))
        assert first == [*fixed(values["value"], 4), *fixed(differences["difference"], 4)]


def test_sentence_for_the_paper(tab):
    paper, _ = texts(tab)
    assert paper.startswith("HR@10 was computed among 100 sampled items of 3,706 (uniform, without")
    assert "0.0000 to 0.6650" in paper
    tab.explorer.locator(".presets").select_option("Two columns of ranks")
    ready(tab)
    paper, _ = texts(tab)
    assert paper.startswith(
        "All 3,706 items were ranked for 8 users: HR@10 is 0.3750 (95 % interval"
    )


# --- what can be pasted, dropped and linked

PLAIN = [["4", "150"], ["9", "220"], ["2", "90"]]


@pytest.mark.parametrize(
    "text",
    [
        "4,150\n9,220\n2,90",
        "A\tB\r\n4\t150\r\n9\t220\r\n2\t90\r\n",
        "4 150\n9   220\n\n2 90\n",
        "\ufeffuser;A;B\nu;4;150\nv;9;220\nw;2;90",
        ",A,B\n0,4.0,150.0\n1,9.0,220\n2,2,90",
        'user,title,A,B\n"x, y",one,4,150\n"say ""hi""",two,9,220\nz,"three, four",2,90',
        "recommender,user,rank\nA,1,4\nA,2,9\nA,3,2\nB,3,90\nB,2,220\nB,1,150",
        "recommender,user,rank,n_items,item\nA,1,4,3706,x\nA,2,9,3706,y\nA,3,2,3706,z\n"
        "B,1,150,3706,x\nB,2,220,3706,y\nB,3,90,3706,z",
    ],
)
def test_forms_of_ranks(tab, text):
    enter(tab, input="ranks", ranks="\n".join(",".join(row) for row in [["A", "B"], *PLAIN]))
    expected = table(tab)
    enter(tab, ranks="A\n1\n2")
    assert table(tab) != expected
    enter(tab, ranks=text)
    assert table(tab) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Ranks, please: a line for each user, and a column for each recommender."),
        ("A,B\n1,2\n3,0\nx,4\n5,6", "Line 3: rank of B 0; ranks count from 1: add 1 to all, if"
         " yours count from 0. Line 4: “x” is no rank of A."),
        ("A,B\n1,2\n\n3\n4,5", "Line 4: 1 field, where the first line has 2."),
        ("A,B\n1,2\n3,\n4,5", "Line 3: no rank of B."),
        ("A,B\n1,2\n3,4000\n4,5", "Line 3: rank 4,000 is above n, 3,706."),
        ("A,B\n1,2\n-3,2.5\n-1,-1\n-1,-1", "Line 3: “-3” is no rank of A. Line 3: “2.5” is no rank"
         " of B. Line 4: “-1” is no rank of A. And 3 more lines."),
        ("1,2,3\n4,5,6", "Line 1 has 3 numbers. Say in a line above it what the columns are, as in"
         " user,mine,other."),
        ("recommender,user,rank\nA,1,4\nB,1,3\nA,2,5", "Line 4: user 2 has no rank of B."),
        ("user,rank\n1,4\n2,5\n1,3", "Line 4: user 1 again. Here each user has one relevant item;"
         " evaluate in Python takes any number."),
        ("user,A,n_items\n1,4,100\n2,105,100", "Line 3: rank 105 is above n_items, 100."),
        ("12,4\n13,1\n14,7\n15,900\n16,1", "The ranks of A count up line by line. If these are the"
         " users, say so in a line above, as in user,mine."),
        ("A,B\n1,2", "Two users or more, please."),
        ("rank\n4\n5", "There is a column rank, and none that is called user."),
        ("PAR1\x15\x04", "This is no text. Save the table as CSV."),
    ],
)  # fmt: skip
def test_bad_rows_are_named(tab, text, message):
    enter(tab, input="ranks", ranks=text)
    assert alert(tab) == message
    assert verdict(tab) == "No result"


def test_two_of_many_recommenders(tab):
    text = "user,A,B,C\n1,4,5,900\n2,9,8,901\n3,3,30,1000"
    enter(tab, input="ranks", ranks=text)
    assert table(tab)[0] == ["HR@10", "A", "B", "difference"]
    assert "Not looked at: C." in tab.explorer.locator(".sentence").inner_text()
    enter(tab, columns="C, A")
    assert table(tab)[0] == ["HR@10", "C", "A", "difference"]
    enter(tab, columns="D")
    assert alert(tab) == "There is no D, only A, B, C."


def test_a_name_cannot_become_markup(tab):
    enter(tab, input="ranks", ranks="<img src=x onerror=alert(1)>,B\n1,2\n3,4")
    assert tab.explorer.locator("img").count() == 0
    assert table(tab)[0][1] == "img srcx onerroralert1"


def test_published_ranks_can_be_dropped(tab, html):
    table_of = pd.read_csv(html.parents[1] / "book" / "data" / "movielens_ranks.csv")
    text = table_of.to_csv(index=False)
    tab.evaluate(
        """text => { const data = new DataTransfer();
          data.items.add(new File([text], "movielens_ranks.csv", {type: "text/csv"}));
          document.body.dispatchEvent(new DragEvent("drop", {bubbles: true, cancelable: true,
            dataTransfer: data})); }""",
        text,
    )
    tab.explorer.get_by_text("Not looked at: z.").wait_for()
    ready(tab)
    x, y = (Ranks(table_of[f"{c}_best"], table_of[f"{c}_tied"], table_of["n_items"]) for c in "xy")
    exact = [Recall(10).mean(r) for r in (x, y)]
    assert numbers(tab)["exact"][0][:2] == fixed(exact, 4)
    assert verdict(tab) == "Order turned"
    field = tab.explorer.locator("[name=ranks]")
    assert field.input_value().startswith("movielens_ranks.csv: 6,042 lines")
    assert field.evaluate("e => e.readOnly")
    tab.explorer.get_by_role("button", name="Copy link").click()
    assert "ranks=" not in tab.url.replace("input=ranks", "")
    tab.explorer.get_by_role("button", name="Clear").click()
    assert "Ranks, please" in alert(tab)
    assert not field.evaluate("e => e.readOnly")


def test_nothing_leaves_the_browser_and_a_link_keeps_the_ranks(visit, site):
    tab = visit("check")
    sent = []
    tab.on("request", lambda request: sent.append(request.url))
    enter(tab, input="ranks", metric="NDCG@k", ranks="A,B\n1,20\n3,4\n70,6", m=50)
    before = table(tab)
    tab.wait_for_url(re.compile(r"check\.html#explorer-check\?.*m=50"))
    assert sent == []
    # browsers send no fragment
    assert "?" not in tab.url.split("#")[0]
    other = visit("check", address=tab.url)
    ready(other)
    assert table(other) == before
    assert other.explorer.locator("[name=ranks]").input_value() == "A,B\n1,20\n3,4\n70,6"
    other = visit("check", address=f"{site}book/check.html?a=0.7&b=0.6&m=50#explorer-check")
    ready(other)
    assert numbers(other)["sampled"] == [["0.7", "0.6", "0.1000"]]


def test_a_hundred_thousand_ranks_do_not_stop_the_page(tab):
    rng = np.random.default_rng(0)
    best = 1 + (50_000 * rng.random((100_000, 2)) ** [4, 3]).astype(int)
    text = "mine,other\n" + "\n".join(f"{a},{b}" for a, b in best.tolist())
    enter(tab, input="ranks", n=50_000)
    tab.evaluate(
        """text => { window.longest = 0;
          let last = performance.now();
          const tick = () => { const now = performance.now();
            longest = Math.max(longest, now - last); last = now; setTimeout(tick); };
          tick();
          const data = new DataTransfer();
          data.setData("text", text);
          document.querySelector("[name=ranks]").dispatchEvent(new ClipboardEvent("paste",
            {clipboardData: data, bubbles: true, cancelable: true})); }""",
        text,
    )
    tab.wait_for_timeout(100)
    ready(tab)
    exact = Recall(10)(best).mean(axis=0)
    assert numbers(tab)["exact"][0][:2] == fixed(exact, 4)
    assert tab.evaluate("longest") < 1000  # a tenth of that where nothing else runs
    assert "kept beside this field" in tab.explorer.locator("[name=ranks]").input_value()


# --- for everybody


def test_only_the_fields_that_count_are_there(tab):
    def seen():
        fields = tab.explorer.locator("form [name]")
        return set(fields.evaluate_all("all => all.filter(e => e.offsetWidth).map(e => e.name)"))

    always = {"input", "metric", "k", "n", "m", "replacement"}
    assert seen() == always | {"a", "b", "users"}
    enter(tab, input="ranks")
    assert seen() == always | {"ranks", "columns"}
    enter(tab, metric="AUC", ranks="user,A,n_items\n1,2,300\n2,3,300")
    assert seen() == always - {"k", "n"} | {"ranks", "columns"}


def test_by_keyboard(start):
    tab = start("check")
    keys = tab.keyboard
    keys.press("Tab")  # from the example to what one has
    keys.press("r")
    settle(tab)
    keys.press("Tab")
    assert tab.evaluate("document.activeElement.name") == "ranks"
    keys.press("Control+A")
    keys.type("A,B\n1,30\n2,40\n50,60")
    ready(tab)
    assert numbers(tab)["exact"] == [["0.6667", "0.0000", "0.6667"]]
