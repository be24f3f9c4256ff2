"""Explorers in use: layout at every width, readouts, presets, addresses, the same in Python."""

import contextlib
import io
import re

import pytest

from tabs import ALONE, PAGES, resize, settle, table, table_of_each_metric, verdict

WIDTHS = (360, 390, 768, 1280, 1920, 2560)
PHONES = (360, 390)

# Of each control: its box, the box that holds it, and whether its value is cut off.
CONTROLS = """form => [...form.elements].filter(e => e.offsetWidth).map(e => {
  const box = r => [r.left, r.top, r.right, r.bottom];
  const cut = e.matches("[type=number], [type=text]") && e.scrollWidth > e.clientWidth + 1
    && !e.value.includes(",");
  return {name: e.name || e.dataset.moves || e.textContent, cut, kind: e.type,
    box: box(e.getBoundingClientRect()),
    inside: box(e.closest("form > *").getBoundingClientRect())};
})"""
WIDE = """figure => [...figure.querySelectorAll("*")].filter(e => !e.closest(".scrolls table, pre")
  && e.getBoundingClientRect().right > figure.getBoundingClientRect().right)
  .map(e => e.outerHTML)"""


def box_of(locator):
    return locator.evaluate("e => e.getBoundingClientRect().toJSON()")


@pytest.mark.parametrize("name", PAGES)
def test_layout_holds_at_every_width(visit, name):
    tab = visit(name)
    form, stage = tab.explorer.locator("form"), tab.explorer.locator(".stage")
    for width in WIDTHS:
        resize(tab, width)
        assert tab.explorer.evaluate(WIDE) == [], width
        root = "document.documentElement"
        assert tab.evaluate(f"{root}.scrollWidth <= {root}.clientWidth"), width
        heights = set()
        for control in form.evaluate(CONTROLS):
            (left, top, right, bottom), inside = control["box"], control["inside"]
            assert not control["cut"], (width, control)
            assert left >= inside[0] - 1, (width, control)
            assert top >= inside[1] - 1, (width, control)
            assert right <= inside[2] + 1, (width, control)
            assert bottom <= inside[3] + 1, (width, control)
            assert min(right - left, bottom - top) >= 24, (width, control)
            if control["kind"] in ("number", "text", "select-one"):
                heights.add(round(bottom - top))
        assert len(heights) == 1, (width, heights)
        if width in PHONES:
            assert box_of(form)["top"] >= box_of(stage)["bottom"] - 1
        else:  # the controls beside the result
            assert box_of(form)["left"] >= box_of(stage)["right"]
        for wrapper in tab.explorer.locator(".scrolls").all():  # by keyboard, too
            scrolls = wrapper.evaluate(
                "e => e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight"
            )
            assert wrapper.evaluate("e => e.tabIndex") == (0 if scrolls else -1)
            wrapper.evaluate("e => e.scrollTo(e.scrollWidth, 0)")
            seen, caption = box_of(wrapper), box_of(wrapper.locator("caption span"))
            assert caption["left"] >= seen["left"] - 1
            assert caption["right"] <= seen["right"] + 1, "as a whole, wherever the table is"
            for first in wrapper.locator("tr > :first-child").all()[:3]:
                assert abs(box_of(first)["left"] - seen["left"]) <= 1
            wrapper.evaluate("e => e.scrollTo(0, 0)")


@pytest.mark.parametrize("name", PAGES)
def test_names_stand_at_the_lines_and_not_on_each_other(visit, name):
    tab = visit(name)
    boxes = """svg => [...svg.querySelectorAll("text.name")].map(e => [e.textContent,
      e.getBoundingClientRect().toJSON(), svg.getBoundingClientRect().toJSON()])"""
    for width in WIDTHS:
        resize(tab, width)
        for drawing in tab.explorer.locator("svg").all():
            found = drawing.evaluate(boxes)
            assert len(found) == drawing.locator(".line").count()
            for i, (text, one, whole) in enumerate(found):
                assert text
                assert one["left"] >= whole["left"], (width, text)
                assert one["right"] <= whole["right"], (width, text)
                for other, two, _ in found[:i]:
                    apart = max(
                        one["left"] - two["right"],
                        two["left"] - one["right"],
                        abs(one["top"] - two["top"]) - 11,
                    )
                    assert apart > 0, (width, text, other)


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", PHONES)
def test_on_a_phone_the_drawing_stays_while_the_controls_move(visit, name, width):
    tab = visit(name, viewport={"width": width, "height": 800})
    last, stage = tab.explorer.locator("form > div").nth(-2), tab.explorer.locator(".stage")
    last.evaluate(
        "e => scrollBy({top: e.getBoundingClientRect().bottom - 750, behavior: 'instant'})"
    )
    settle(tab)
    drawing, control = box_of(tab.explorer.locator("svg").first), box_of(last)
    assert drawing["top"] >= 50  # below the bar of the page
    assert drawing["bottom"] <= control["top"]
    middle = "e => { const b = e.getBoundingClientRect();"
    middle += " return document.elementFromPoint(b.x + b.width / 2, b.y + b.height / 2)"
    assert tab.explorer.locator("svg").first.evaluate(f"{middle}.closest('svg') === e; }}")
    assert stage.evaluate(f"{middle}.closest('.stage') === e; }}")


@pytest.mark.parametrize(("name", "field"), [("reviewer", "value"), ("audit", "c")])
def test_on_a_phone_a_field_stays_where_it_is_when_it_is_emptied(visit, name, field):
    tab = visit(name, viewport={"width": 360, "height": 800})
    control = tab.explorer.locator(f"[name={field}]")
    before = box_of(tab.explorer.locator("form"))["top"] - box_of(tab.explorer)["top"]
    for text in ("", "-1"):
        control.fill(text)
        tab.explorer.get_by_role("alert").wait_for()
        assert box_of(tab.explorer.locator("form"))["top"] - box_of(tab.explorer)["top"] == before


def test_on_a_phone_the_crossing_lines_are_seen_while_one_drags(visit):
    tab = visit("toy", viewport={"width": 390, "height": 844}, has_touch=True)
    lines, lanes = tab.explorer.locator("svg").all()
    lanes.evaluate(
        "e => scrollBy({top: e.getBoundingClientRect().bottom - 800, behavior: 'instant'})"
    )
    settle(tab)
    assert box_of(lines)["top"] >= 50
    assert box_of(lines)["bottom"] <= box_of(lanes)["top"]
    bands = [box_of(band) for band in lanes.locator(".band").all()]
    assert len(bands) == 3  # a lane for each recommender, one below the other
    for who, band in zip("ABC", bands, strict=True):
        marks = [box_of(mark) for mark in lanes.locator(f"g.handle.s{'ABC'.index(who)}").all()]
        assert len(marks) == 5
        assert all(band["top"] - 1 <= m["top"] and m["bottom"] <= band["bottom"] + 1 for m in marks)
    assert bands[0]["bottom"] <= bands[1]["top"] + 1
    assert bands[1]["bottom"] <= bands[2]["top"] + 1


def test_dragging_selects_no_text_and_shows_a_hand(visit):
    tab = visit("toy", viewport={"width": 1280, "height": 1800})
    lanes = tab.explorer.locator("svg").nth(1)
    lanes.scroll_into_view_if_needed()
    mark = box_of(lanes.locator("g.handle.s2").nth(1))
    x, y = mark["x"] + mark["width"] / 2, mark["y"] + mark["height"] / 2
    cursor = "e => getComputedStyle(e).cursor"
    tab.mouse.move(x, y)
    assert lanes.evaluate(cursor) == "grab"
    tab.mouse.down()
    tab.mouse.move(x + 60, y + 60, steps=5)
    assert lanes.evaluate(cursor) == "grabbing"
    tab.mouse.up()
    assert tab.evaluate("String(getSelection())") == ""
    assert lanes.evaluate(cursor) != "grabbing"
    assert tab.explorer.locator("[name=C1]").input_value() != "2"


@pytest.mark.parametrize(
    ("name", "field"), [("flip", "m"), ("reviewer", "value"), ("walk", "target")]
)
def test_dotted_line_can_be_dragged_anywhere(visit, name, field):
    tab = visit(name, viewport={"width": 1280, "height": 1800})
    drawing = tab.explorer.locator("svg").first
    drawing.scroll_into_view_if_needed()
    line, before = box_of(drawing.locator(".at")), tab.explorer.locator(f"[name={field}]")
    old = float(before.input_value())
    tab.mouse.move(line["x"], line["y"] + 20)
    tab.mouse.down()
    tab.mouse.move(line["x"] - 40, line["y"] + 20, steps=3)
    tab.mouse.up()
    settle(tab)
    assert 0 < float(before.input_value()) < old
    assert name == "flip" or re.fullmatch(r"0\.\d{3}", before.input_value())  # its decimals count
    assert box_of(drawing.locator(".at"))["x"] == pytest.approx(line["x"] - 40, abs=3)


# --- readouts


@pytest.mark.parametrize("name", PAGES)
def test_values_are_read_out_by_pointer_and_keyboard(visit, name):
    tab = visit(name)
    for panel in tab.explorer.locator(".panel").all():
        drawing, readout = panel.locator("svg"), panel.locator(".readout")
        drawing.scroll_into_view_if_needed()
        hint, box = readout.text_content(), box_of(drawing)
        tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 3)
        pointed = readout.text_content()
        assert pointed != hint
        assert drawing.locator(".cross").count() == 1
        names = drawing.locator("text.name").all_text_contents()
        assert all(line in pointed for line in names)
        assert drawing.locator(".dot").count() == max(len(names), 1)
        tab.mouse.move(1, 1)
        assert readout.text_content() == hint
        readout.focus()
        tab.keyboard.press("Home")
        first = readout.inner_text()
        tab.keyboard.press("End")
        last = readout.inner_text()
        assert len({hint, first, last}) == 3
        assert readout.get_attribute("aria-valuetext") == last
        tab.keyboard.press("ArrowLeft")
        assert readout.get_attribute("aria-valuetext") != last
        tab.keyboard.press("Escape")
        assert readout.inner_text() == hint


def test_readout_has_the_values_of_the_table(visit):
    tab = visit("weight")
    readout = tab.explorer.locator(".readout")
    readout.focus()
    tab.keyboard.press("End")
    rank, exact, sampled = table(tab)[-1]
    assert readout.inner_text() == f"r = {rank}: exact {exact}, expected sampled {sampled}"


def test_a_finger_reads_values_too(visit):
    tab = visit("weight", viewport={"width": 390, "height": 844}, has_touch=True)
    drawing = tab.explorer.locator("svg")
    drawing.scroll_into_view_if_needed()
    drawing.tap()
    settle(tab)
    assert "exact 0." in tab.explorer.locator(".readout").inner_text()


# --- movement


def test_lines_move_where_readers_want_movement(browser, site):
    for motion, moves in (("reduce", False), ("no-preference", True)):
        tab = browser.new_page(reduced_motion=motion)
        tab.route("**/mathjax/**", lambda route: route.abort())
        tab.goto(f"{site}book/toy-example.html", wait_until="domcontentloaded")
        duration = "e => parseFloat(getComputedStyle(e).transitionDuration)"
        line = tab.locator(".explorer .line").first
        assert (0 < line.evaluate(duration) <= 0.3) == moves
        # a step changes the line that is there, on the scale that is there
        line.evaluate("e => { window.kept = e; }")
        words = tab.locator(".explorer svg").first.locator("text")
        before = words.all_text_contents()
        tab.locator(".explorer [name=m]").fill("90")
        settle(tab)
        assert line.evaluate("e => e === window.kept")
        assert words.all_text_contents() == before
        tab.close()


# --- presets, addresses, Python


PRESETS = ["toy", "weight", "correction", "reviewer"]


@pytest.mark.parametrize("name", PRESETS)
def test_presets_set_the_protocol_that_they_name(visit, name):
    tab = visit(name)
    before = table(tab)
    presets = tab.explorer.locator(".presets")
    for label in presets.locator("option").all_inner_texts()[1:]:
        presets.select_option(label)
        settle(tab)
        n_samples, *_ = re.match(r"(\d+) negatives", label).groups()
        assert presets.input_value() == label
        assert tab.explorer.locator("[name=m]").input_value() == n_samples
        assert tab.explorer.locator("[name=k]").input_value() == "10"
        assert tab.explorer.locator("[aria-invalid]").count() == 0
        assert table(tab) != before
    tab.explorer.locator("[name=m]").fill("50")
    settle(tab)
    assert presets.input_value() == "choose one"
    tab.explorer.get_by_role("button", name="Reset").click()
    settle(tab)
    assert table(tab) == before


def test_an_example_is_named_wherever_the_controls_have_its_values(visit):
    tab = visit("plan")
    presets = tab.explorer.locator(".presets")
    assert presets.input_value() == "100 samples, corrected"  # so it begins
    address = tab.url.split("#")[0] + "?kind=exact&users=300#explorer-plan"
    linked = visit("plan", address=address).explorer.locator(".presets")
    assert linked.input_value() == "A pilot of 300 users"
    for kind, users, name in (
        ("uncorrected", 6040, "The usual protocol: 100 samples"),
        ("exact", 6040, "All of MovieLens 1M"),
        ("exact", 6041, "choose one"),
        ("exact", 300, "A pilot of 300 users"),
        ("exact", 3, "choose one"),  # and no result
    ):
        tab.explorer.locator("[name=kind]").select_option(kind)
        tab.explorer.locator("[name=users]").fill(str(users))
        settle(tab)
        assert presets.input_value() == name


def test_address_holds_the_state(browser, site, visit):
    tab = visit("toy")
    tab.explorer.locator("[name=m]").fill("20")
    tab.explorer.locator("[name=metric]").select_option("Recall")
    tab.explorer.locator("[name=replacement]").uncheck()
    end = "toy-example.html?metric=Recall&m=20&replacement=false#explorer-toy"
    tab.wait_for_url(f"**/{end}")
    rows = table(tab)
    other = visit("toy", address=tab.url)
    assert table(other) == rows
    assert other.explorer.locator("[name=m]").input_value() == "20"
    other.wait_for_function("scrollY > 0")  # and the explorer is in sight
    other.explorer.get_by_role("button", name="Reset").click()
    other.wait_for_url("**/toy-example.html#explorer-toy")
    assert table(other) == table(visit("toy"))


def test_a_state_belongs_to_the_explorer_that_the_address_names(visit, site):
    usual = table(visit("toy"))
    for address in ("toy-example.html?m=20", "toy-example.html?m=20#toy-example"):
        assert table(visit("toy", address=f"{site}book/{address}")) == usual
    tab = visit("toy", address=f"{site}book/toy-example.html?m=0&nothing=3#explorer-toy")
    assert verdict(tab) == "No result"
    assert "from 1 to 9999" in tab.explorer.get_by_role("alert").inner_text()


def test_link_and_python_can_be_copied(visit):
    tab = visit("toy", permissions=["clipboard-read", "clipboard-write"])
    tab.explorer.locator("[name=m]").fill("20")
    tab.explorer.get_by_role("button", name="Copy link").click()
    tab.explorer.get_by_role("button", name="Copied").wait_for()
    copied = tab.evaluate("navigator.clipboard.readText()")
    assert copied.endswith("book/toy-example.html?m=20#explorer-toy")
    tab.explorer.get_by_text("As Python", exact=True).click()
    tab.explorer.get_by_role("button", name="Copy as Python").click()
    tab.wait_for_function("navigator.clipboard.readText().then(t => t.startsWith('import'))")
    copied = tab.evaluate("navigator.clipboard.readText()")
    assert copied == tab.explorer.locator("details > pre").text_content()
    assert "Draw(20, n_items=10000)" in copied


def test_a_button_gets_its_name_back_after_two_clicks(visit):
    tab = visit("toy", permissions=["clipboard-read", "clipboard-write"])
    tab.clock.install()
    button = tab.explorer.locator("button.link")
    for _ in range(2):
        button.click()
        tab.explorer.get_by_role("button", name="Copied").wait_for()
    tab.clock.run_for(10_000)
    assert button.inner_text() == "Copy link"


def printed(tab):
    """Run the lines that the explorer shows; return what they print, as words."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(tab.explorer.locator("details > pre").text_content(), {})
    return [line.split() for line in out.getvalue().splitlines()]


def cells(rows):
    return [[cell.replace(",", "") for cell in row] for row in rows]


@pytest.mark.parametrize("name", ["toy", "weight", "correction"])
def test_python_prints_the_same_numbers(visit, name):
    tab = visit(name)
    skipped = {"correction": 1}.get(name, 0)
    for metric, k in (("AP", None), ("NDCG", None), ("Recall", 7), ("AUC", None)):
        tab.explorer.locator("[name=metric]").select_option(metric)
        if k:
            tab.explorer.locator("[name=k]").fill(str(k))
        tab.explorer.locator("[name=m]").fill("37")
        if name == "weight" or name == "toy":
            tab.explorer.locator("[name=replacement]").uncheck()
        settle(tab)
        assert printed(tab) == [row[skipped:] for row in cells(table(tab)[1:])]


def test_python_of_the_landing_page_prints_the_same_numbers(visit):
    tab = visit("flip")
    assert printed(tab) == [row[1:] for row in table(tab)[1:]]


@pytest.mark.parametrize("metric", ["HR@k", "NDCG@k", "MRR@k", "NDCG", "MRR", "AUC"])
def test_python_of_the_calculator_prints_the_same_numbers(visit, metric):
    tab = visit("reviewer")
    tab.explorer.locator("[name=metric]").select_option(metric)
    tab.explorer.locator("[name=value]").fill("70%")
    tab.explorer.locator("[name=replacement]").uncheck()
    settle(tab)
    said = tab.explorer.locator(".sentence").inner_text()
    text = " ".join(word for line in printed(tab) for word in line)
    pattern = r"(?:can be anything|is) (?:from )?(\d\.\d{3})(?: to (\d\.\d{3}))?[.,]"
    ours, theirs = re.findall(pattern, said), re.findall(pattern, text)
    assert len(ours) == 2
    assert set(ours) <= set(theirs)


def test_python_of_the_five_users_prints_the_same_numbers(visit):
    tab = visit("five-users")
    tab.explorer.locator("[name=predictions1]").fill("9 1, 4;2")
    settle(tab)
    columns = [
        list(column)
        for name, (_, *rows) in table_of_each_metric(tab)
        if name != "Hit rate"  # the package has none of its own
        for column in list(zip(*rows, strict=True))[1:]
    ]
    lines = [[word.replace("nan", "NaN") for word in line[-8:]] for line in printed(tab)]
    assert sorted(lines) == sorted(columns)


def test_all_explorers_work_on_one_page(visit, site):
    tab = visit("toy", address=f"{site}book/explorers.html")
    for name in PAGES.keys() - ALONE:
        explorer = tab.locator(f"#explorer-{name}")
        assert explorer.locator(".verdict").inner_text()
        assert explorer.locator(".how a").count() >= 1
    ids = tab.locator("[id]").evaluate_all("all => all.map(e => e.id)")
    assert len(set(ids)) == len(ids)
    # what is entered in one changes no other
    before = tab.locator(".explorer table").all_inner_texts()
    tab.explorer.locator("[name=m]").fill("20")
    settle(tab)
    after = tab.locator(".explorer table").all_inner_texts()
    assert [one == two for one, two in zip(before, after, strict=True)].count(False) == 1
    tab.wait_for_url("**/explorers.html?m=20#explorer-toy")


def test_search_finds_the_explorers(browser, site):
    for word in ("explorer", "calculator"):
        tab = browser.new_page()
        tab.goto(f"{site}search.html?q={word}", wait_until="domcontentloaded")
        found = tab.locator("#search-results a[href*='book/explorers.html']").first
        found.wait_for(timeout=15_000)
        tab.close()
