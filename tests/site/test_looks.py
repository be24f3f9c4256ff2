"""What readers see is not covered, cut off or glaring, and its icons are there."""

import base64
import io
import re

import pytest
from fontTools.ttLib import TTFont

from tabs import values, verdict


def test_an_explanation_is_text_of_the_page_in_the_dark_too(browser, site):
    tab = browser.new_page(color_scheme="dark")
    tab.goto(f"{site}book/audit.html", wait_until="load")
    said = tab.locator(".cell_output .text_html:has(> p)").first
    style = "e => { const s = getComputedStyle(e); return [s.backgroundColor, s.color]; }"
    page = tab.locator(".bd-article section section > p").first
    assert said.evaluate(style) == ["rgba(0, 0, 0, 0)", page.evaluate(style)[1]]
    tab.close()


@pytest.mark.parametrize(("width", "there"), [(390, False), (1000, True)])
def test_back_to_top_lies_on_no_answer(browser, site, width, there):
    tab = browser.new_page(viewport={"width": width, "height": 800})
    tab.goto(f"{site}book/elsewhere.html", wait_until="load")
    display = "e => { e.hidden = false; e.style.display = 'block'; return e.checkVisibility(); }"
    assert tab.locator("#pst-back-to-top").evaluate(display) == there  # even as it is to show
    tab.locator(".answer-box :is(input, select)").first.focus()
    assert not tab.locator("#pst-back-to-top").evaluate(display)
    tab.close()


def test_long_choices_end_before_the_arrow(visit):
    tab = visit("audit", viewport={"width": 390, "height": 844})
    style = "e => getComputedStyle(e).textOverflow"
    assert tab.explorer.locator("[name=id]").evaluate(style) == "ellipsis"


@pytest.mark.parametrize("reader", ["student", "teacher"])
def test_the_landing_page_gives_the_zips(browser, site, html, reader):
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.goto(f"{site}book/index.html", wait_until="load")
    link = tab.locator(f"article a[href$='sampled-metrics-{reader}.zip']")
    link.scroll_into_view_if_needed()
    with tab.expect_download() as download:
        link.click()
    assert download.value.suggested_filename == f"sampled-metrics-{reader}.zip"
    assert (html / download.value.suggested_filename).exists()
    tab.close()


# The icons' signs that elements begin or end with, each with its font; formulas have their own.
ICONS = """() => [...document.querySelectorAll("body *:not(mjx-container *)")].flatMap(e =>
    ["::before", "::after"].map(part => getComputedStyle(e, part))
        .filter(({content}) => /[\ue000-\uf8ff]/.test(content))
        .map(({content, fontFamily}) => [content.codePointAt(1), fontFamily]))"""


@pytest.mark.parametrize("page", ["index", "api", "audit", "recommenders", "references"])
def test_the_small_font_has_each_icon_that_a_page_shows(tab_for, site, html, page):
    sheet = (html / "_static/fonts/icons.css").read_text(encoding="utf-8")
    fonts = [TTFont(io.BytesIO(base64.b64decode(f))) for f in re.findall(r'base64,([^"]*)"', sheet)]
    tab = tab_for()
    tab.goto(f"{site}book/{page}.html")
    shown = dict(tab.evaluate(ICONS))
    assert len(shown) > 9
    assert set(shown) <= {code for font in fonts for code in font.getBestCmap()}
    assert set(shown.values()) == {'"Font Awesome 5 Free"'}
    named = "all => all.map(e => getComputedStyle(e, '::before').content)"
    assert "none" not in tab.locator(":is(.fa-solid, .fas, .fab)").evaluate_all(named)


SCREENS = [(1280, 800), (390, 844)]


@pytest.mark.parametrize(("width", "height"), SCREENS)
def test_the_first_screen_shows_the_reversal_and_asks_for_two_numbers(browser, site, width, height):
    tab = browser.new_page(viewport={"width": width, "height": height})
    tab.goto(f"{site}book/index.html", wait_until="load")
    for shown in (tab.locator("#fig-landing img"), tab.get_by_label("number A")):
        box = shown.bounding_box()
        assert box["y"] + box["height"] <= height
        assert box["x"] + box["width"] <= width
    sizes = "all => all.map(e => parseFloat(getComputedStyle(e).fontSize))"
    assert min(tab.locator(".two-numbers :is(input, select)").evaluate_all(sizes)) >= 16
    tab.close()


def test_two_numbers_lead_to_their_verdict_and_to_no_server(tab_for, site):
    tab, asked = tab_for(), []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(f"{site}book/index.html")
    tab.get_by_label("number A").select_text()
    for key in (".9713", "Tab", ".01", "Tab", "N", "Tab", "5", "Tab", "50", "Tab", "1234", "Enter"):
        tab.keyboard.press(key) if key.isalpha() else tab.keyboard.type(key)
    tab.wait_for_url("**/check.html#*")
    tab.explorer = tab.locator(".explorer")
    tab.explorer.locator("td").first.wait_for()
    wanted = {"a": ".9713", "b": ".01", "metric": "NDCG@k", "k": "5", "m": "50", "n": "1234"}
    # who says nothing of users is not taken to have as many as the example
    assert values(tab).items() >= {**wanted, "users": "", "input": "numbers"}.items()
    assert verdict(tab) == "Order kept"
    assert [url for url in asked if "9713" in url.partition("#")[0]] == []
