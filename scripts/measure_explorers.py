"""How long is each explorer at work for one step of a control? Needs a built book.

    make measures
    python scripts/measure_explorers.py --site DIR reviewer     # another build, some explorers

The time is that of script, style and layout in the page's thread, in milliseconds, without what
other processes take of the processor. Each control takes some steps: at the start, in each example,
and with all numbers at their most for each metric. The table has each explorer's slowest control,
by the median of its steps.
"""

from __future__ import annotations

import argparse
import os
import shutil
from pathlib import Path

import pandas as pd

SITE = Path(__file__).parents[1] / "_build" / "html"
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
PARTS = ("ScriptDuration", "LayoutDuration", "RecalcStyleDuration")

PUT = """([form, name, value]) => {
  const field = name ? form.elements[name] : form.querySelector(".presets");
  if (field.type === "checkbox") field.checked = value; else field.value = value;
  field.dispatchEvent(new Event(name ? "input" : "change", { bubbles: true }));
  return new Promise((f) => requestAnimationFrame(() => requestAnimationFrame(f)));
}"""
# Of each control that has a say, values around the present one.
VALUES = """(form, count) => [...form.elements].filter((f) => f.name && !f.disabled).map((f) => {
  const slider = form.querySelector(`[data-moves="${f.name}"]`), number = +f.value > 0;
  const shrink = (i) => (f.step === "1" ? Math.max(f.value - i, 1) : f.value * (1 - i / 20));
  const all = f.options ? [...f.options].map((o) => o.value)
    : f.type === "checkbox" ? [!f.checked, f.checked] : slider ? slider.dataset.stops.split(",")
      : number ? [...Array(count).keys()].map(shrink) : [f.value, "1, 2, 3"];
  const here = f.options ? f.selectedIndex : all.findLastIndex((v) => +v <= +f.value);
  const low = Math.max(Math.min(here - (count >> 1), all.length - count), 0);
  return [f.name, f.type === "checkbox" ? f.checked : f.value, all.slice(low, low + count)];
})"""
MOST = """form => [...form.elements].filter((f) => f.type === "number")
  .map((f) => [f.name, { k: "10", users: "10000" }[f.name] ?? f.max])"""


def measure(page, name: str, count: int):
    """Yield the time of each step of an explorer's controls, in each state."""
    form = page.locator(f"#explorer-{name} form").element_handle()
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent() -> float:
        found = devtools.send("Performance.getMetrics")["metrics"]
        return 1000 * sum(part["value"] for part in found if part["name"] in PARTS)

    def texts(query: str) -> list[str]:
        return form.eval_on_selector_all(query, "all => all.map((o) => o.value)")

    states = [("", example) for example in ["", *texts(".presets option")[1:]]]
    states += [(metric, "most") for metric in texts("[name=metric] option") or [""]]
    for metric, example in states:
        form.evaluate("form => form.reset()")
        if metric:
            page.evaluate(PUT, [form, "metric", metric])
        if example == "most":
            for field, value in form.evaluate(MOST):
                page.evaluate(PUT, [form, field, value])
        elif example:
            page.evaluate(PUT, [form, "", example])
        for field, now, values in form.evaluate(VALUES, count):
            for value in values:
                before = spent()
                page.evaluate(PUT, [form, field, value])
                row = {"explorer": name, "metric": metric, "state": example, "control": field}
                yield row | {"ms": spent() - before}
            page.evaluate(PUT, [form, field, now])


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="explorers; all without")
    parser.add_argument("--site", type=Path, default=SITE)
    parser.add_argument("--steps", type=int, default=7, help="of each control")
    options = parser.parse_args()
    browser_path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)))
    rows = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_path, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        page.goto((options.site / "book" / "explorers.html").as_uri())
        page.locator(".explorer td").first.wait_for()
        kinds = page.locator(".explorer").evaluate_all("all => all.map(e => e.dataset.explorer)")
        for name in options.names or kinds:
            rows += measure(page, name, options.steps)
    steps = pd.DataFrame(rows).groupby(["explorer", "metric", "state", "control"], sort=False)
    table = steps["ms"].agg(["median", "max", "count"]).round(1).reset_index()
    slowest = table.groupby("explorer", sort=False)["median"].idxmax()
    print(table.loc[slowest].to_string(index=False))


if __name__ == "__main__":
    main()
