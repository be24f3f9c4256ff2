"""Python in the page: cells that can be run print what the book prints."""

import json
import re

import numpy as np

from tabs import soup

CALL = """async (calls) => {
  const python = new Worker("../_static/python/worker.js"), said = [];
  for (const call of calls) {
    python.postMessage(call);
    said.push(await new Promise((tell) => {
      python.onmessage = ({ data }) => { if (!data.loaded) tell(data); };
    }));
  }
  python.terminate();
  return said;
}"""
NUMBER = re.compile(r"[+-]?\d+\.?\d*(?:e[+-]?\d+)?")


def text_of(elements):
    return "".join(element.get_text() for element in elements)


def told(place, words):
    """Wait until what runs here says so; return what it printed."""
    place.locator(".python [role=status]").filter(has_text=words).wait_for(timeout=60_000)
    return place.locator(".python pre").inner_text()


def test_cells_print_what_the_book_prints(tab_for, site, html):
    calls, expected = [], []
    for path in sorted(html.glob("book/*.html")):
        cells = soup(path).select(".cell.tag_in-page")
        if cells:
            setup = soup(path).select_one(".cell.tag_hide-input .cell_input pre").get_text()
            start = [("run", "globals().clear()"), ("import_what_is_here", setup)]
            calls += [{"call": call, "code": code} for call, code in start]
            expected += ["", None]
        for cell in cells:
            calls.append({"call": "run", "code": text_of(cell.select(".cell_input pre"))})
            expected.append(text_of(cell.select(".cell_output pre")))
    assert any(expected)
    tab = tab_for()
    tab.goto(f"{site}book/explorers.html")
    for call, wanted, said in zip(calls, expected, tab.evaluate(CALL, calls), strict=True):
        if wanted is None:
            assert said == {}, call
            continue
        assert not said["failed"], (call, said)
        said["text"] = re.sub(", dtype=int(32|64)", "", said["text"])  # the usual size is 32 here
        assert NUMBER.sub("", said["text"]).split() == NUMBER.sub("", wanted).split(), call
        numbers = [[*map(float, NUMBER.findall(text))] for text in (said["text"], wanted)]
        np.testing.assert_allclose(*numbers, rtol=1e-9, atol=1e-15, err_msg=str(call))


def test_each_page_with_cells_says_how_many_of_them_run(html):
    for path in sorted(html.glob("book/*.html")):
        page = soup(path)
        cells = page.select(".cell:has(.cell_input)")
        runs = [cell for cell in cells if "tag_in-page" in cell["class"]]
        folded = [cell for cell in cells if "tag_hide-input" in cell["class"]]
        said = re.search(r"(\w+) of (\d+) cells runs?", text_of(page.select(".place")))
        if path.stem == "index" or len(folded) == len(cells):
            assert not said, path
        else:
            assert said, path
            assert said.groups() == (str(len(runs) or "None"), str(len(cells))), path


def test_the_page_says_what_it_loads_and_how_far_it_is(browser, site):
    context = browser.new_context()  # that has loaded nothing yet
    tab = context.new_page()
    came = []
    context.on("response", lambda response: came.append(response))
    tab.goto(f"{site}book/toy-example.html")
    told_above = re.search(r"(\d+) MB of Python", tab.locator(".place").inner_text())
    assert told_above
    tab.locator(".explorer .rest summary").first.click()
    runner = tab.locator(".explorer .python").first
    assert runner.locator("[role=status]").inner_text() == f"The first run loads {told_above[0]}."
    tab.evaluate("""() => {
      window.seen = [];
      new MutationObserver(() => {
        for (const bar of document.querySelectorAll("progress")) seen.push([bar.value, bar.max]);
      }).observe(document.body, { subtree: true, childList: true, attributeFilter: ["value"] });
    }""")
    runner.get_by_role("button", name="Run", exact=True).click()
    runner.get_by_role("progressbar", name="Python loads").wait_for()
    told(tab.locator(".explorer").first, "Done")
    assert tab.get_by_role("progressbar").count() == 0
    files = [r for r in came if "/_static/python/" in r.url and not r.url.endswith("worker.js")]
    size = sum(len(response.body()) for response in files)
    assert round(size / 1e6) == int(told_above[1])
    values, most = zip(*tab.evaluate("seen"), strict=True)
    assert set(most) == {size}
    assert len(set(values)) > 2
    assert list(values) == sorted(values)
    assert values[-1] == size
    context.close()


def test_a_cell_can_be_edited_run_and_stopped(tab_for, site):
    tab = tab_for(viewport={"width": 390, "height": 800})
    asked = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(f"{site}book/sampled-rank.html")
    assert not [url for url in asked if "/_static/python/" in url]
    cell = tab.locator(".cell.tag_in-page")
    cell.get_by_role("button", name="Edit and run").click()
    shown = cell.locator(".cell_output").inner_text()
    assert told(cell, "Done").split() == shown.split()
    field, go = cell.locator("textarea"), cell.get_by_role("button", name="Run", exact=True)
    book = field.input_value()
    printed = cell.locator(".python pre")
    field.fill("import numpy as np\nfor i in range(2):\n    print(i)\nnp.arange(3)")
    field.press("Control+Enter")
    printed.filter(has_text="array([0, 1, 2])").wait_for()
    assert told(cell, "Done") == "0\n1\narray([0, 1, 2])\n"
    field.fill("a = 0\n1 / a")
    go.click()
    said = told(cell, "ended early")
    assert said.endswith("ZeroDivisionError: division by zero\n")
    assert "line 2" in said
    assert "in_page" not in said
    field.fill("import pandas")
    go.click()
    printed.filter(has_text="Python in the page has NumPy").wait_for()
    field.fill("while True: pass")
    go.click()
    stop = cell.get_by_role("button", name="Stop")
    tab.wait_for_timeout(300)
    stop.click()
    printed.filter(has_text="Stopped").wait_for()
    assert stop.is_disabled()
    cell.get_by_role("button", name="Reset").click()
    assert field.input_value() == book.rstrip()
    go.click()
    assert told(cell, "Done").split() == shown.split()
    root = "document.documentElement"
    fits = f"{root}.scrollWidth <= {root}.clientWidth"
    assert tab.evaluate(fits)
    tab.set_viewport_size({"width": 1280, "height": 800})
    tab.wait_for_function(fits)  # once the page has been arranged anew
    field.fill("6 * 7")
    go.click()
    printed.filter(has_text=re.compile(r"^42\s*$")).wait_for()


def test_cells_above_run_first_as_they_were_edited(tab_for, site):
    tab = tab_for()
    tab.goto(f"{site}book/several-relevant.html")
    first, *_, last = tab.locator(".cell.tag_in-page").all()
    last.get_by_role("button", name="Edit and run").click()
    before = told(last, "Done")
    first.get_by_role("button", name="Edit and run").click()
    told(first, "Done")
    field = first.locator("textarea")
    field.fill(field.input_value().replace("[2, 5]", "[1, 3]"))
    last.get_by_role("button", name="Run", exact=True).click()
    last.locator(".python pre").filter(has_not_text=before.strip()).wait_for()
    assert len(told(last, "Done").split()) == len(before.split())


def test_the_python_of_an_explorer_prints_its_numbers(visit):
    tab = visit("toy")
    tab.explorer.locator(".rest summary").click()
    tab.explorer.get_by_role("button", name="Run", exact=True).click()
    shown = told(tab.explorer, "Done")
    table = tab.explorer.locator("table").first.locator("tr").all_inner_texts()
    assert [line.split() for line in shown.splitlines()] == [row.split() for row in table[1:]]
    tab.explorer.locator("[name=m]").fill("20")
    tab.explorer.locator(".python pre").wait_for(state="hidden")  # it was of other values


def test_the_scratch_pad_runs_and_says_why_a_file_cannot(tab_for, site, browser, html):
    path = html / "book" / "explorers.html"
    assert "correction" in soup(path).select_one(".scratch-pad pre").get_text()
    tab = tab_for()
    tab.goto(f"{site}book/explorers.html")
    tab.locator(".scratch-pad").get_by_role("button", name="Run", exact=True).click()
    assert told(tab.locator(".scratch-pad"), "Done").splitlines() == [
        "mine: exact 0.101, sampled 0.326, corrected 0.031",
        "other: exact 0.010, sampled 0.637, corrected 0.006",
    ]
    tab = browser.new_page()
    tab.goto(path.as_uri())
    tab.locator(".scratch-pad").get_by_role("button", name="Run", exact=True).click()
    tab.locator("[role=status]").filter(has_text="needs a page from a web server").wait_for()
    tab.close()


def test_what_did_not_load_is_tried_again(browser, site):
    context = browser.new_context()  # the pages of another one may keep the file
    tab = context.new_page()
    context.route("**/packages.json", lambda route: route.abort())
    tab.goto(f"{site}book/explorers.html")
    pad = tab.locator(".scratch-pad")
    go = pad.get_by_role("button", name="Run", exact=True)
    go.click()
    told(pad, "Python did not start")
    context.unroute("**/packages.json")
    go.click()
    assert told(pad, "Done")
    context.close()


def test_licenses_are_with_the_files(html):
    folder = html / "_static" / "python"
    packages = json.loads((folder / "packages.json").read_text("utf-8"))["packages"]
    assert [p["name"] for p in packages] == ["numpy", "python", "sampled-metrics"]
    assert all((folder / p["filename"]).stat().st_size > 100_000 for p in packages)
    text = (folder / "LICENSES.txt").read_text("utf-8")
    for owner in ("Thorsten Beier", "NumPy Developers", "Python Software Foundation"):
        assert owner in text
