"""Explorers in a browser: open one, type into it, read it."""

from decimal import ROUND_HALF_UP, Decimal
from functools import cache

import numpy as np
from bs4 import BeautifulSoup

PAGES = {
    "toy": "toy-example",
    "flip": "index",
    "draw": "hour-ninety-nine",
    "weight": "sampled-rank",
    "correction": "corrections",
    "reviewer": "what-a-sample-tells",
    "five-users": "five-users",
    "elsewhere": "elsewhere",
    "audit": "audit",
    "plan": "plan-and-report",
    "walk": "rank-everything",
    "check": "check",
}
ALONE = {"check"}  # not on the page of all explorers


WINDOW = {"width": 1280, "height": 720}


@cache
def soup(path):
    """Parse a page, once for all tests."""
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def new_tab(browser, **options):
    """Open a tab with a profile of its own; return it with what goes wrong."""
    tab = browser.new_page(reduced_motion="reduce", **options)
    tab.wrong = wrong = []
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    # Formulas are tested elsewhere. (`tab.route` would switch the browser's cache off.)
    devtools = tab.context.new_cdp_session(tab)
    devtools.send("Network.enable")
    devtools.send("Network.setBlockedURLs", {"urls": ["*/mathjax/*"]})
    return tab


def open_explorer(tab, site, name, address=None):
    """Go to the page of an explorer, or to this address; wait until the explorer shows numbers."""
    tab.goto(address or f"{site}book/{PAGES[name]}.html", wait_until="domcontentloaded")
    tab.explorer = tab.locator(f'.explorer[data-explorer="{name}"]')
    tab.explorer.locator("td").first.wait_for()
    return tab


def go_to(tab, name, kind="number"):
    """Press Tab until the control of this name has the focus."""
    here = "document.activeElement"
    label = f"{here}.name || {here}.dataset.moves || {here}.textContent"
    for _ in range(60):
        if tab.evaluate(f"[{label}, {here}.type]") == [name, kind]:
            return
        tab.keyboard.press("Tab")
    raise AssertionError(f"no {kind} {name} to be reached")


def enter(tab, **values):
    """Put text into fields, in the order in which one comes by them."""
    for name, text in values.items():
        go_to(tab, name, "text" if isinstance(text, str) else "number")
        tab.keyboard.press("Control+A")
        tab.keyboard.type(str(text)) if text != "" else tab.keyboard.press("Delete")


def change(control, value):
    """Set a field or a list of choices."""
    if control.evaluate("e => e.type") == "select-one":
        control.select_option(str(value))
    else:
        control.fill(str(value))


def table(tab, i=0):
    rows = """rows => rows.map(r => [...r.cells].map(c => c.textContent))"""
    return tab.explorer.locator("table").nth(i).locator("tr").evaluate_all(rows)


def table_of_each_metric(tab):
    """Choose one metric after the other; yield its name and the table that appears."""
    choice = tab.explorer.locator("[name=metric]")
    for name in choice.locator("option").all_inner_texts():
        choice.select_option(name)
        settle(tab)
        yield name, table(tab)


def verdict(tab):
    return tab.explorer.locator(".verdict").inner_text()


def said(tab):
    return tab.explorer.locator("[aria-live]").inner_text()


def values(tab):
    """Return what the fields hold, by name."""
    held = "f => [f.name, f.type === 'checkbox' ? f.checked : f.value]"
    fields = f"e => [...e.elements].filter(f => f.name).map({held})"
    return dict(tab.explorer.locator("form").evaluate(fields))


def fixed(values, digits=3):
    """Format numbers as the explorers do."""
    unit = Decimal(1).scaleb(-digits)
    texts = []
    for v in np.ravel(values):
        if np.isnan(v):
            texts.append("NaN")
            continue
        text = str(Decimal(v + np.sign(v) * 1e-12).quantize(unit, ROUND_HALF_UP))
        texts.append(text if float(text) else text.replace("-", ""))
    return texts


def resize(tab, width, height=900):
    """Give the window this size; wait for each drawing's new width and each figure's other file."""
    tab.set_viewport_size({"width": width, "height": height})
    # (Chromium gives a figure no height while the file for another width arrives.)
    drawn = """width => innerWidth === width && [...document.images].every(i => i.complete)
      && [...document.querySelectorAll(".explorer .panel")].every(panel =>
        panel.clientWidth === panel.querySelector("svg").viewBox.baseVal.width)"""
    tab.wait_for_function(drawn, arg=width)
    settle(tab)


def settle(tab):
    """Wait until the explorer has shown what was entered."""
    tab.evaluate("() => new Promise(f => requestAnimationFrame(() => requestAnimationFrame(f)))")
