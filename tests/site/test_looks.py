"""What readers see is not covered, cut off or glaring."""

import pytest


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
