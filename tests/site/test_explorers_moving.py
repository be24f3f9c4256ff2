"""The explorers that show something happen: a draw of items, and a walk over scores that stops."""

import re

import numpy as np
import pytest
from scipy import stats

from sampled_metrics import Draw, InnerProduct, Ranks, ReciprocalRank, Split
from tabs import enter, fixed, go_to, settle, table, verdict

TOY = np.array([[100] * 5, [212, 2, 743, 5342, 1548]])  # A and C of the toy example
N, M = 10_000, 99
DRAW, METRIC = Draw(M, n_items=N, replacement=False), ReciprocalRank()


def said(tab):
    return tab.explorer.locator(".sentence").inner_text()


def press(tab, name, times=1):
    for _ in range(times):
        tab.explorer.get_by_role("button", name=name).click()
    settle(tab)


def evaluations(tab, seed, count):
    """Sampled ranks of A's five users and of C's, and the items drawn last for each."""
    found = tab.evaluate(
        "([seed, count]) => sampledMetrics.seeDraw.evaluations(seed, count)", [seed, count]
    )
    return np.array(found["ranks"]).reshape(count, 2, 5), np.array(found["last"])


# --- the draw


def test_what_the_package_says_of_a_and_c():
    """The worse one wins in 99 draws of 100, although the better one is ten times as good."""
    exact = METRIC(TOY, N).mean(axis=1)
    assert 10 < exact[1] / exact[0] < 10.5
    a, c = METRIC(DRAW.rvs(TOY, repeats=20_000, rng=0)).mean(axis=2).T
    assert 0.985 < np.mean(a > c) < 0.994


def test_expected_ranks_are_the_packages(visit):
    tab = visit("draw")
    ours = tab.evaluate("ranks => ranks.map(sampledMetrics.seeDraw.chances)", TOY.ravel().tolist())
    np.testing.assert_allclose(ours, DRAW.pmf(TOY.ravel()), rtol=1e-9, atol=1e-200)


def test_ninety_nine_other_items_are_drawn_at_random(visit):
    tab = visit("draw")
    everything = []
    for count in range(1, 40):
        ranks, last = evaluations(tab, 5, count)
        for right, others, seen in zip(TOY.ravel(), last, ranks[-1].ravel(), strict=True):
            assert len(set(others)) == M
            assert right not in others
            assert others.min() >= 1
            assert others.max() <= N
            assert seen == 1 + (others < right).sum()
        everything.append(last.ravel())
    everything = np.concatenate(everything)
    counts = np.histogram(everything, bins=50, range=(0.5, N + 0.5))[0]
    assert stats.chisquare(counts).pvalue > 0.001


def test_sampled_ranks_are_distributed_as_the_package_says(visit):
    ranks, _ = evaluations(visit("draw"), 3, 4000)
    for right, seen in zip(TOY.ravel(), ranks.reshape(4000, 10).T, strict=True):
        expected = 4000 * DRAW.pmf(int(right))
        counts = np.bincount(seen, minlength=M + 2)[1:]
        kind = np.where(expected >= 10, np.arange(M + 1), expected.argmax())  # rare ones with it
        pairs = [np.bincount(kind, x)[np.unique(kind)] for x in (counts, expected)]
        assert stats.chisquare(*pairs).pvalue > 0.0005, right
    assert np.corrcoef(ranks[:-1, 0, 0], ranks[1:, 0, 0])[0, 1] == pytest.approx(0, abs=0.06)
    assert np.corrcoef(ranks.reshape(4000, 10)[:, 2:5].T)[0, 1:] == pytest.approx([0, 0], abs=0.06)


def test_the_same_clicks_give_the_same_draws(visit):
    tab = visit("draw")
    press(tab, "Draw 99", times=3)
    first, texts = evaluations(tab, 1, 3), table(tab)
    press(tab, "A hundred times")
    again = evaluations(tab, 1, 103)[0]
    np.testing.assert_array_equal(again[:3], first[0])
    assert verdict(tab).endswith(" of 103")
    assert evaluations(tab, 2, 3)[0].tolist() != first[0].tolist()
    press(tab, "Reset")
    assert verdict(tab) == "Exact winner: C"
    press(tab, "Draw 99", times=3)
    assert table(tab) == texts


def test_draws_by_keyboard(start):
    tab = start("draw")
    go_to(tab, "Draw 99", "button")
    tab.keyboard.press("Enter")
    settle(tab)
    ranks, _ = evaluations(tab, 1, 1)
    a, c = ranks[0, :, 1]
    text = f"with A rank 100 of all became rank {a} of 100, with C rank 2 of all became rank {c} of"
    assert f"user 2: {text}" in said(tab)
    go_to(tab, "A hundred times", "button")
    tab.keyboard.press("Space")
    go_to(tab, "user", "select-one")
    tab.keyboard.press("3")
    settle(tab)
    ranks, _ = evaluations(tab, 1, 101)
    means = METRIC(ranks).mean(axis=2)
    wins = [(means[:, 0] > means[:, 1]).sum(), (means[:, 1] > means[:, 0]).sum()]
    assert table(tab)[1:] == [
        ["among all 10,000", *fixed(METRIC(TOY, N).mean(axis=1))],
        ["expected among 100", *fixed(DRAW.expect(TOY, METRIC).mean(axis=1))],
        ["counted in 101 draws", *fixed(means.mean(axis=0))],
        ["times ahead", *map(str, wins)],
    ]
    assert verdict(tab) == f"A wins {wins[0]} of 101"
    rows = table(tab, 1)[1:]
    chances = [fixed(DRAW.pmf(int(TOY[side, 2])), 3) for side in (0, 1)]
    for i, row in enumerate(rows, start=1):
        columns = ([chances[side][i - 1], str((ranks[:, side, 2] == i).sum())] for side in (0, 1))
        assert row == [str(i), *(cell for column in columns for cell in column)]
    assert sum(int(row[4]) for row in rows) == 101
    tab.wait_for_url(re.compile(r"\?user=3&draws=101#explorer-draw"))


def test_the_hundred_are_the_drawn_ones_in_order(visit):
    tab = visit("draw")
    press(tab, "Draw 99")
    _, last = evaluations(tab, 1, 1)
    readout = tab.explorer.locator(".readout").first
    readout.focus()
    tab.keyboard.press("Home")
    assert readout.inner_text().endswith(f" of {N:,}: drawn")
    order = sorted([*last[1], 100])  # user 2 of A
    for _ in range(M):
        tab.keyboard.press("ArrowRight")
    for place, rank in enumerate(order[:5], start=1):
        assert readout.inner_text() == f"A, rank {rank:,} of {N:,}: rank {place} of 100"
        tab.keyboard.press("ArrowRight")
    tab.keyboard.press("End")
    assert readout.inner_text() == f"C, rank 2 of {N:,}: the right item"


def test_ten_thousand_dots_are_one_path(visit):
    tab = visit("draw")
    press(tab, "A hundred times")
    svg = tab.explorer.locator("svg").first
    assert svg.locator(".field").count() == 1
    assert svg.locator(".field").get_attribute("d").count("M") == 200  # lines of a hundred
    assert svg.locator("*").count() < 1000


def test_dots_fly_where_readers_want_movement(browser, site):
    name = "e => getComputedStyle(e).animationName"
    for motion, moves in (("reduce", False), ("no-preference", True)):
        tab = browser.new_page(reduced_motion=motion)
        tab.goto(f"{site}book/hour-ninety-nine.html", wait_until="domcontentloaded")
        tab.explorer = tab.locator(".explorer")
        tab.explorer.locator("td").first.wait_for()
        seen = []
        for _ in range(2):  # each draw begins a new flight
            press(tab, "Draw 99")
            dots = tab.explorer.locator("g[style*='--from']")
            assert dots.count() == 200
            seen.append(dots.first.evaluate(name))
        assert seen == (["fly1", "fly0"] if moves else ["none", "none"])
        tab.close()


def test_python_of_the_draw_prints_the_same_means(visit, capsys):
    tab = visit("draw")
    press(tab, "A hundred times")
    exec(tab.explorer.locator("details > pre").text_content(), {})
    *means, wins = capsys.readouterr().out.splitlines()
    assert [line.split() for line in means] == [row[1:] for row in table(tab)[1:3]]
    assert re.fullmatch(r"A is ahead in (9[4-9]|100) of 100 draws", wins)


# --- the walk


@pytest.fixture
def walk(visit):
    """The explorer, its user's vector, and its items' vectors."""
    tab = visit("walk")
    tab.user, tab.items = (
        np.array(tab.evaluate(f"sampledMetrics.walk.{name}")) for name in ("user", "items")
    )
    return tab


def by_brute_force(tab, target, k):
    """Score everything; return how many scores the walk takes, and the rule that ends it."""
    scores = InnerProduct([tab.user], tab.items).scores([0])[0]
    reach = np.linalg.norm(tab.items, axis=1) * np.linalg.norm(tab.user)
    assert (np.diff(reach) < 0).all()
    assert (scores <= reach).all()
    n = len(scores)
    one = np.append(1 + np.flatnonzero(np.cumsum(scores > target) >= k), n + 1)[0]
    two = np.append(np.flatnonzero(reach < target), n + 1)[0]
    stop = min(one, two, n)
    return int(stop), 3 if stop < min(one, two) else 1 if one <= two else 2, scores


def test_the_walk_stops_where_brute_force_says_and_with_the_packages_rank(walk):
    rng = np.random.default_rng(0)
    cases = [(round(float(rng.uniform(0.01, 1)), 3), int(rng.integers(1, 101))) for _ in range(60)]
    cases += [(0.01, 1), (1, 1), (0.42, 10), (0.15, 10), (0.16, 100), (0.05, 800), (0.05, 1000)]
    rules = set()
    for target, k in cases:
        found = walk.evaluate("([target, k]) => sampledMetrics.walk(target, k)", [target, k])
        spent, rule, scores = by_brute_force(walk, target, k)
        assert (found["spent"], found["rule"]) == (spent, rule), (target, k)
        rules.add(rule)
        rank = 1 + (scores > target).sum()
        assert (found["ahead"] + 1 == rank) if rule > 1 else (found["ahead"] == k < rank)
        # the same by the package: the right item comes last, and has the target's score
        model = InnerProduct([walk.user], np.vstack([walk.items, target * walk.user]))
        split = Split.from_pairs([], [], [0], [1000], n_users=1, n_items=1001)
        ranks = Ranks.from_model(model, split, up_to=k)
        assert ranks.best.tolist() == ([rank] if rank <= k else [])
        assert spent < ranks.n_scores  # it also scores the right item, and goes on by blocks
    assert rules == {1, 2, 3}


@pytest.mark.parametrize(("target", "k", "rule"), [(0.42, 10, 2), (0.2, 10, 1), (0.2, 60, 2)])
def test_what_the_walk_shows(walk, target, k, rule):
    walk.explorer.locator("[name=target]").fill(str(target))
    walk.explorer.locator("[name=k]").fill(str(k))
    settle(walk)
    spent, found, scores = by_brute_force(walk, target, k)
    assert found == rule
    assert f"Rule {rule} ends the walk after {spent} of 1,000 scores: " in said(walk)
    rank = 1 + (scores > target).sum()
    assert verdict(walk) == (f"Exact rank {rank}" if rank <= k else f"Beyond {k}")
    assert table(walk)[1] == ["both rules", str(spent), *fixed(spent / 10, 1)]
    alone = [int(row[1].replace(",", "")) for row in table(walk)[2:]]
    assert spent == min(alone)
    assert alone[-1] == 1000


def test_each_example_of_the_walk_is_what_it_says(walk):
    presets = walk.explorer.locator(".presets")
    for name in presets.locator("option").all_inner_texts()[1:]:
        presets.select_option(name)
        settle(walk)
        assert presets.input_value() == name
        rule = re.search(r"rule (\d)", name)
        assert not rule or said(walk).startswith(f"Rule {rule[1]} ends")
        assert (name == "Where neither helps") == said(walk).startswith("Neither rule")
    assert int(table(walk)[1][1].replace(",", "")) == 1000


def test_a_walk_cut_short_knows_between_which_ranks(start):
    tab = start("walk")
    enter(tab, target=0.42, most=30)
    settle(tab)
    assert verdict(tab) == "Not yet known"
    low, high = map(int, re.search(r"between (\d+) and (\d+)", said(tab)).groups())
    assert high - low == 1000 - 30
    enter(tab, most=1000)
    settle(tab)
    rank = int(verdict(tab).removeprefix("Exact rank "))
    assert low <= rank <= high


def test_the_walk_is_watched_and_jumps_where_no_movement_is_wanted(browser, site):
    for motion, moves in (("reduce", False), ("no-preference", True)):
        tab = browser.new_page(reduced_motion=motion)
        tab.goto(f"{site}book/rank-everything.html", wait_until="domcontentloaded")
        tab.explorer = tab.locator(".explorer[data-explorer=walk]")
        tab.explorer.locator("td").first.wait_for()
        end = verdict(tab)
        press(tab, "Watch the walk")
        assert (verdict(tab) == "Not yet known") == moves
        most = tab.explorer.locator("[name=most]")
        tab.wait_for_function("e => e.value === '1000'", arg=most.element_handle())
        settle(tab)
        assert verdict(tab) == end
        tab.close()


def test_python_of_the_walk_prints_the_same_rank(walk, capsys):
    for target, k in ((0.42, 10), (0.15, 20)):
        walk.explorer.locator("[name=target]").fill(str(target))
        walk.explorer.locator("[name=k]").fill(str(k))
        settle(walk)
        exec(walk.explorer.locator("details > pre").text_content(), {})
        assert capsys.readouterr().out.splitlines()[0] == verdict(walk).lower()
