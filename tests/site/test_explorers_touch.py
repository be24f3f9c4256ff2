"""Explorers on small screens, enlarged pages and phones: nothing hides what one needs."""

import pytest

from tabs import ALONE, PAGES, resize, said, settle, values, verdict

PHONE = {"width": 390, "height": 844}
# A laptop's 1280 x 800 enlarged to 200 and to 400 percent (nearly), a phone on its side, a phone
SIZES = ((640, 400), (320, 256), (667, 375), (390, 844))
SEEN = """const seen = e => {
    const r = e.getClientRects()[0] ?? e.getBoundingClientRect(); // of a link, the first line
    const within = (v, most) => Math.min(Math.max(v, 0), most);
    const [left, right] = [within(r.left, innerWidth), within(r.right, innerWidth)];
    const [top, bottom] = [within(r.top, innerHeight), within(r.bottom, innerHeight)];
    if (right - left < 1 || bottom - top < 1) return false;
    const found = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    return e.contains(found) || !!found && found.control === e;
};"""
NAME = "(e.name || e.dataset.moves || e.textContent.trim() || e.outerHTML).slice(0, 60)"


@pytest.mark.parametrize("name", PAGES)
def test_each_control_is_on_top_somewhere(visit, name):
    tab = visit(name)
    hidden = f"""figure => {{
        {SEEN}
        const all = "input, select, button, summary, .readout, svg";
        return [...figure.querySelectorAll(all)].filter(e => e.checkVisibility()
            && !["center", "start", "end"].some(block => {{
                e.scrollIntoView({{block, behavior: "instant"}});
                return seen(e);
            }})).map(e => {NAME});
    }}"""
    tab.explorer.evaluate("e => e.querySelectorAll('details').forEach(d => { d.open = true; })")
    for width, height in SIZES:
        resize(tab, width, height)
        assert tab.explorer.evaluate(hidden) == [], (width, height)


@pytest.mark.parametrize("name", PAGES)
def test_the_keyboard_sees_each_stop_forwards_and_backwards(visit, name):
    tab = visit(name)
    stop = f"""figure => {{
        {SEEN}
        const e = document.activeElement;
        return figure.contains(e) ? [{NAME}, seen(e)] : null;
    }}"""

    def walk(key):
        stops = []
        while found := tab.explorer.evaluate(stop):
            stops.append(found)
            tab.keyboard.press(key)
        return stops

    for width, height in SIZES:
        resize(tab, width, height)
        tab.explorer.locator(".readout").first.focus()
        forwards = walk("Tab")
        tab.keyboard.press("Shift+Tab")
        backwards = walk("Shift+Tab")
        assert len(backwards) >= len(forwards) > 4
        assert [one for one, is_seen in forwards + backwards if not is_seen] == [], (width, height)


@pytest.mark.parametrize("height", [639, 640])
def test_a_drawing_sticks_only_where_there_is_room(visit, height):
    tab = visit("toy", viewport={"width": 390, "height": height})
    position = tab.explorer.locator(".stage").evaluate("e => getComputedStyle(e).position")
    assert (position == "sticky") == (height == 640)


# --- fingers


class Finger:
    """Touch a tab as a finger does, so that the browser decides whether it scrolls."""

    def __init__(self, tab):
        self.tab, self.devtools = tab, tab.context.new_cdp_session(tab)

    def send(self, kind, *points):
        where = [{"x": x, "y": y} for x, y in points]
        self.devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": where})

    def move(self, x, y, by_x, by_y, steps=8):
        self.send("touchStart", (x, y))
        for i in range(1, steps + 1):
            self.send("touchMove", (x + by_x * i / steps, y + by_y * i / steps))
        self.send("touchEnd")
        settle(self.tab)


def middle(locator):
    box = locator.evaluate("e => e.getBoundingClientRect().toJSON()")
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def center(locator):
    locator.evaluate("e => e.scrollIntoView({block: 'center', behavior: 'instant'})")


@pytest.mark.parametrize("name", PAGES)
def test_a_swipe_over_a_drawing_changes_nothing(visit, name):
    tab = visit(name, viewport=PHONE, has_touch=True)
    finger, before, address = Finger(tab), values(tab), tab.url
    for drawing in tab.explorer.locator("svg").all():
        handles = *drawing.locator(".at").all(), *drawing.locator(".handle").all()[:2]
        for place in (*handles, drawing):
            for by_x, by_y in ((6, -150), (-20, 150)):
                center(drawing)
                top, readouts = tab.evaluate("scrollY"), tab.explorer.locator(".readout")
                read_out = readouts.all_inner_texts()
                finger.move(*middle(place), by_x, by_y)
                assert tab.evaluate("scrollY") != top, "it scrolls the page"
                assert values(tab) == before
                assert readouts.all_inner_texts() == read_out
    tab.wait_for_timeout(400)  # the address would follow
    assert tab.url == address


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("toy", "C1"),
        ("flip", "m"),
        ("reviewer", "value"),
        ("elsewhere", "m"),
        ("plan", "users"),
        ("audit", "c"),
        ("audit", "id"),
    ],
)
def test_a_finger_drags_sideways(visit, name, field):
    tab = visit(name, viewport=PHONE, has_touch=True)
    drawing = tab.explorer.locator("svg").nth(int(name == "toy" or field == "c"))
    handle = drawing.locator(".handle.s2").nth(1) if name == "toy" else drawing.locator(".at")
    before, near = values(tab), {"elsewhere": 25, "audit": 6}.get(name, 2)
    for off in (12, 0):  # a finger does not hit the line, but that moves nothing by itself
        center(drawing)
        x, y = middle(handle)
        Finger(tab).move(x + off, y, 40, 10)
        there = x + 40 + (off if field == "id" else 0)  # of the picture it takes what is there
        assert middle(handle)[0] == pytest.approx(there, abs=near)
        assert {one for one in before if values(tab)[one] != before[one]} == {field}
        tab.explorer.get_by_role("button", name="Reset").click()
        settle(tab)
        assert values(tab) == before


def test_what_the_browser_takes_away_comes_back(visit):
    tab = visit("flip", viewport=PHONE, has_touch=True)
    drawing = tab.explorer.locator("svg")
    center(drawing)
    x, y = middle(drawing.locator(".at"))
    finger = Finger(tab)
    finger.send("touchStart", (x, y))
    for i in range(1, 8):
        finger.send("touchMove", (x + 5 * i, y))
    settle(tab)
    assert values(tab)["m"] != "99"
    finger.send("touchCancel")
    settle(tab)
    assert values(tab)["m"] == "99"


def test_pressing_a_handle_moves_nothing(visit):
    for name in ("flip", "reviewer", "plan"):
        tab = visit(name)
        before = values(tab)
        center(tab.explorer.locator("svg").first)
        x, y = middle(tab.explorer.locator(".at"))
        tab.mouse.move(x + 5, y + 30)
        tab.mouse.down()
        tab.mouse.up()
        settle(tab)
        assert values(tab) == before


# --- what phones show


KEYS = {"value": "decimal", "a": "decimal", "b": "decimal", "users": "numeric"}


@pytest.mark.parametrize("name", PAGES)
def test_fields_have_letters_that_phones_do_not_enlarge_and_the_keys_they_need(visit, name):
    tab = visit(name, viewport=PHONE)
    fields = """figure => [...figure.querySelectorAll("input, select")].map(e =>
        [e.name, e.type, parseFloat(getComputedStyle(e).fontSize), e.inputMode, e.step])"""
    for field, kind, size, keys, step in tab.explorer.evaluate(fields):
        assert size >= 16, field
        if kind == "number":
            assert keys == ("numeric" if step == "1" else "decimal"), field
        elif kind == "text":
            assert keys == KEYS.get(field, "text"), field


@pytest.mark.parametrize(("name", "field"), [("toy", "A0"), ("five-users", "labels0")])
def test_a_long_form_is_folded_on_a_phone(visit, site, name, field):
    wide = visit(name)
    assert wide.explorer.locator(f"[name={field}]").is_visible()
    address = f"{wide.url}?{field}=7#explorer-{name}"
    tab = visit(name, viewport=PHONE)
    assert tab.explorer.locator(f"[name={field}]").is_hidden()
    tab.explorer.locator("form summary").click()
    assert tab.explorer.locator(f"[name={field}]").is_visible()
    tab = visit(name, address=address, viewport=PHONE)
    assert tab.explorer.locator(f"[name={field}]").input_value() == "7"
    assert tab.explorer.locator(f"[name={field}]").is_visible()  # as it is not the usual one


def test_the_hint_stands_once_on_a_page(visit, site):
    tab = visit("toy", address=f"{site}book/explorers.html")
    assert tab.get_by_text("To read values, point at").count() == 1
    unsaid = tab.locator(".readout").last  # but those who hear the page hear it everywhere
    assert "press arrow keys" in unsaid.get_attribute("aria-valuetext")


def test_on_the_page_of_all_explorers_a_heading_is_the_only_title(visit, site):
    tab = visit("toy", address=f"{site}book/explorers.html")
    for name in set(PAGES) - set(ALONE):
        figure = tab.locator(f"#explorer-{name}")
        heading = figure.evaluate(
            "e => e.closest('section').querySelector(':scope > h2').firstChild.textContent"
        )
        assert tab.get_by_role("figure", name=heading, exact=True).count() == 1
        assert figure.locator(".title").count() == 0


# --- verdicts


def test_an_order_that_the_sample_erased_is_lost(visit):
    tab = visit("toy")
    tones = {}
    for metric, k, m, word in (
        ("AP", 10, 99, "Order flips"),
        ("Recall", 100, 50, "Order lost"),  # each sampled rank is among the first hundred
        ("AUC", 10, 99, "Order holds"),
    ):
        tab.explorer.locator("[name=metric]").select_option(metric)
        if metric == "Recall":
            tab.explorer.locator("[name=k]").fill(str(k))
        tab.explorer.locator("[name=m]").fill(str(m))
        settle(tab)
        assert verdict(tab) == word
        tones[word] = tab.explorer.locator(".verdict").evaluate("e => getComputedStyle(e).color")
        if word == "Order lost":
            assert "the order is A > B > C" in said(tab)
            assert "it is A = B = C." in said(tab)
    assert len(set(tones.values())) == 3


@pytest.mark.parametrize("name", PAGES)
def test_the_verdict_comes_first_and_large(visit, name):
    tab = visit(name, viewport=PHONE)
    size = "e => parseFloat(getComputedStyle(e).fontSize)"
    assert tab.explorer.locator(".verdict").evaluate(size) >= 20
    first = tab.explorer.locator(".explorer-body *:not(:has(*))").first
    assert first.evaluate("e => e.className") == "verdict"


# --- pictures that one touches


def test_a_touch_chooses_a_printed_number(visit):
    tab = visit("audit")
    picture = tab.explorer.locator("svg").first
    center(picture)
    box = picture.locator(".ends").evaluate("e => e.getBoundingClientRect().toJSON()")
    chosen = set()
    for i in range(8):
        tab.mouse.click(box["x"] + box["width"] * i / 7, box["y"] + 30)
        settle(tab)
        row = tab.explorer.locator("[name=id] option:checked")
        chosen.add(row.get_attribute("value"))
        number = row.inner_text().split(",")[0].split(" ")[1]
        readout = tab.explorer.locator(".readout").first.inner_text()
        assert f"{number} among" in readout
        assert f" of {number} among " in said(tab)
    assert len(chosen) == 8


def test_the_order_can_be_followed_from_few_samples_to_the_exact_one(visit):
    tab = visit("elsewhere")
    readout = tab.explorer.locator(".readout")
    for keys, m in (("Home", "10"), ("ArrowRight", "20"), ("End", None)):
        readout.focus()
        tab.keyboard.press(keys)
        text = readout.inner_text()
        if m is None:
            order, head = text, "exact: "
        else:
            tab.explorer.locator("[name=m]").select_option(m)
            settle(tab)
            order, head = text, f"among {m}: "
        assert order.startswith(head)
        place = dict(reversed(one.rsplit(" ", 1)) for one in order.removeprefix(head).split(", "))
        drawn = tab.explorer.locator("svg").get_attribute("aria-label")
        start = "Exact order: " if m is None else f"Order among {m}: "
        names = drawn.split(start)[1].split(".")[0].split(", ")
        endings = {1: "st", 2: "nd", 3: "rd"}
        assert [place[f"{i}{endings.get(i, 'th')}"] for i in range(1, len(names) + 1)] == names
