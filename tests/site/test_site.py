"""The built book as a reader meets it: in a browser, offline, on any screen."""

import gzip
import io
import json
import os
import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pandas as pd
import pytest
import yaml
from PIL import Image

import sampled_metrics
from tabs import soup

ROOT = Path(__file__).parents[2]
SCREENSHOTS = ROOT / "_build" / "screenshots"  # of all pages, if the variable of this name is set
SCHEMES = ("light", "dark")


def toc_pages(entry):
    """List the pages of a table of contents, in its order."""
    own = [entry[key] for key in ("root", "file") if key in entry]
    inner = [*entry.get("parts", []), *entry.get("chapters", []), *entry.get("sections", [])]
    return own + [page for part in inner for page in toc_pages(part)]


PAGES = toc_pages(yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8")))
every_page = pytest.mark.parametrize("page", PAGES)
CHAPTERS = [
    page for page in PAGES if "\n## Further reading\n" in (ROOT / f"{page}.md").read_text("utf-8")
]
STAND_ALONE = {page.removeprefix("book/") for page in PAGES if page in CHAPTERS or "/hour-" in page}
KINDS = ("exercise", "solution")


def links(path):
    """Yield (tag, address) for all that a page links or loads."""
    for tag in soup(path).select("[href], [src]"):
        for attribute in ("href", "src"):
            if tag.get(attribute):
                yield tag, tag[attribute]


@cache
def places(path):
    """Return the places of a page that a link can lead to."""
    return {tag["id"] for tag in soup(path).find_all(id=True)}


# How far what one sees moves by itself while a page loads, as browsers measure it.
SHIFT = """window.shift = 0;
new PerformanceObserver(list => list.getEntries().forEach(entry => {
    if (!entry.hadRecentInput) window.shift += entry.value;
})).observe({type: "layout-shift", buffered: true});"""


def window(width):
    """Return the options of a window."""
    look = {"reduced_motion": "reduce", "color_scheme": "light"}
    return {"viewport": {"width": width, "height": 900}, **look}


def open_tab(browser, site, path, lands_on=None, width=1280, context=None):
    """Open a page, wait for its formulas, and note in ``tab.wrong`` whatever goes wrong."""
    tab = context.new_page() if context else browser.new_page(**window(width))
    tab.add_init_script(SHIFT)
    tab.wrong = wrong = []
    tab.on("request", lambda r: r.url.startswith((site, "data:")) or wrong.append(r.url))
    # What leaving a page cuts off has not failed.
    tab.on(
        "requestfailed",
        lambda r: "ERR_ABORTED" in (r.failure or "") or wrong.append(f"failed: {r.url}"),
    )
    tab.on("response", lambda r: r.status < 400 or wrong.append(f"{r.status}: {r.url}"))
    tab.on("console", lambda m: m.type == "error" and wrong.append(f"{m.text} {m.location}"))
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.goto(site + path, wait_until="commit")
    tab.wait_for_url(site + (lands_on or path), wait_until="load")
    wait_for_formulas(tab)
    return tab


def wait_for_formulas(tab):
    tab.evaluate("() => window.MathJax?.startup.promise.then(() => null)")
    tab.evaluate("() => document.fonts.ready.then(() => null)")


def opened(page, browser, site, **options):
    """Open a page for all tests that look at it."""
    tab = open_tab(browser, site, f"{page}.html", **options)
    tab.page_name = page.removeprefix("book/").replace("/", "-")
    yield tab
    tab.close()


# The tests of a tab stand in an order in which its width and its colors seldom change: each change
# costs the browser up to half a second.
@pytest.fixture(scope="module", params=PAGES)
def phone(request, browser, site):
    """Open each page of the book on a phone, with nothing in the browser's cache."""
    yield from opened(request.param, browser, site, width=390)


@pytest.fixture(scope="module")
def wide(browser):
    """Keep one profile: what its tabs have loaded once they need not fetch and compile again."""
    context = browser.new_context(**window(1280))
    yield context
    context.close()


@pytest.fixture(scope="module", params=PAGES)
def tab(request, browser, site, wide):
    """Open each page of the book on a wide screen."""
    yield from opened(request.param, browser, site, context=wide)


def test_nothing_moves_while_a_page_loads(tab):
    assert tab.evaluate("() => window.shift") < 0.05


def test_nothing_moves_on_a_phone(phone):
    assert phone.evaluate("() => window.shift") < 0.05


def test_toggles_are_named_by_what_they_show(tab):
    """Of folded code and of solutions; each name once on a page."""
    toggles = tab.locator("article :is(.cell details.hide > summary, .toggle-button)")
    names = toggles.evaluate_all("all => all.map(e => e.ariaLabel ?? e.innerText.trim())")
    assert len(set(names)) == len(names)
    assert all(re.match("Show the (code|setup|solution) ?", name) for name in names), names


def test_pages_describe_themselves(tab, html):
    meta = {
        tag.get("name") or tag.get("property"): tag["content"]
        for tag in soup(html / urlsplit(tab.url).path[1:]).select("meta[content]")
    }
    least = 80 if tab.page_name in STAND_ALONE else 20
    assert least < len(meta["description"]) < 300
    if tab.page_name in STAND_ALONE:  # with words that people search for
        assert re.search("sampl|random|metric|recall|ndcg|HR@", meta["description"], re.I)
        assert not meta["description"].startswith("The sampled evaluation is over")
    assert meta["description"] == meta["og:description"]
    assert meta["og:title"] in tab.title()
    assert tab.title().count("Sampled Metrics, Exactly") == 1
    if "og:image" in meta:  # where the address of the site is known
        assert meta["og:image"].startswith("https://")
        assert (html / "_static" / meta["og:image"].rpartition("/")[2]).is_file()


def test_paper_has_no_trace_of_what_is_folded(tab):
    tab.emulate_media(media="print")
    folded = "article :is(.cell summary, .toggle-button, .toggle-hidden, .copybtn)"
    shown = tab.locator(folded).evaluate_all("all => all.filter(e => e.getClientRects().length)")
    title = tab.locator("article :is(h1, h2):visible").count()  # slides have their own only
    tab.emulate_media(media="screen")
    assert shown == []
    assert title


@cache
def packed(path):
    return len(gzip.compress(path.read_bytes()))


def test_pages_are_light(tab, html):
    """Fonts come later. As a host sends it, the first page is small."""
    loaded = "() => performance.getEntries().filter(e => e.initiatorType).map(e => e.name)"
    files = {html / unquote(urlsplit(address).path[1:]) for address in tab.evaluate(loaded)}
    files = [file for file in files if not re.match(r"\.woff2?|\.ttf", file.suffix)]
    assert len(files) > 10
    is_first = tab.page_name == PAGES[0].removeprefix("book/")
    assert sum(map(packed, files)) < (300_000 if is_first else 2_000_000)


@every_page
def test_little_keeps_the_text_waiting(page, html):
    """Style sheets and scripts before the text, and fonts. On slow 4G, 200 KB take a second."""
    path = html / f"{page}.html"
    head = soup(path).find("head")
    awaited = head.select("[rel=stylesheet], script[src]:not([defer], [async])")
    sizes = [
        sum(packed(path.parent / (tag.get("href") or tag["src"]).partition("?")[0]) for tag in tags)
        for tags in (awaited, head.select("[rel=preload]"))
    ]
    assert 0 < sizes[0] < 110_000  # the slides have the most
    assert 0 < sizes[1] < 130_000
    assert not head.select("script[src*=mathjax]:not([async])")  # nor do explorers wait for it


def test_formulas_are_typeset(tab):
    untypeset = """elements => elements.filter(e => !e.querySelector("mjx-container"))
                                       .map(e => e.textContent)"""
    assert tab.locator("article .math").evaluate_all(untypeset) == []
    # an error of TeX, and a macro that MathJax does not know (it prints its name in red)
    broken = "mjx-merror, [data-mjx-error], mjx-mtext[style*='color: red']"
    in_formula = "elements => elements.map(e => e.closest('mjx-container').textContent)"
    assert tab.locator(broken).evaluate_all(in_formula) == []


def test_a_page_does_not_wait_for_formulas_that_cannot_be_set(browser, site):
    tab = browser.new_page()
    tab.add_init_script("window.setTimeout = () => 0")  # no time-out shows the page
    tab.route("**/mathjax/**", lambda route: route.abort())
    tab.goto(f"{site}book/corrections.html")
    tab.locator("html:not(.arranging)").wait_for(timeout=10_000)
    tab.close()


@every_page
def test_no_line_breaks_between_a_formula_and_what_touches_it(page, html):
    formulas = soup(html / f"{page}.html").select("article span.math")
    around = [f"{f.previous_sibling or ' '}|{f.next_sibling or ' '}" for f in formulas]
    touched = [
        f for f, text in zip(formulas, around, strict=True) if re.search(r"[^\s>]\||\|[^\s<]", text)
    ]
    assert [f.text for f in touched if "with-formula" not in f.parent.get("class", ())] == []


def look(tab, width, scheme):
    """Show the page in a window of another width, on a light or dark system."""
    tab.set_viewport_size({"width": width, "height": 900})
    tab.emulate_media(color_scheme=scheme)
    tab.locator(f"html[data-theme={scheme}]").wait_for()


# What sticks out to the right of the window, unless it is inside something that scrolls.
STICKING_OUT = """() => {
    const width = document.documentElement.clientWidth;
    const scrolls = e => e && (/auto|scroll|hidden/.test(getComputedStyle(e).overflowX)
                               || scrolls(e.parentElement.closest("article *")));
    return [...document.querySelectorAll("article *:not(mjx-assistive-mml, mjx-assistive-mml *)")]
        .filter(e => e.getBoundingClientRect().right > width + 1 && !scrolls(e))
        .map(e => e.outerHTML.slice(0, 120));
}"""
# Equations that begin to the left of their box, where nobody can scroll to.
OUT_OF_REACH = """() => [...document.querySelectorAll("article div.math")]
    .filter(box => box.querySelector("mjx-math")?.getBoundingClientRect().left
                   < box.getBoundingClientRect().left - box.scrollLeft - 1)
    .map(box => box.textContent.slice(0, 60))"""
WIDTHS_OF_PAGE_AND_WINDOW = """() => {
    const {scrollWidth, clientWidth} = document.documentElement;
    return [scrollWidth, clientWidth];
}"""


# Colors take no room: each width is looked at in one scheme, except for screenshots.
ALL_SCHEMES = SCHEMES if os.environ.get("SCREENSHOTS") else ()


def check_fit(tab, width, scheme):
    look(tab, width, scheme)
    page, window = tab.evaluate(WIDTHS_OF_PAGE_AND_WINDOW)
    sticking_out = tab.evaluate(STICKING_OUT)
    picture = SCREENSHOTS / f"{tab.page_name}-{width}-{scheme}.png"
    if os.environ.get("SCREENSHOTS") or page > window or sticking_out:
        tab.screenshot(path=picture, full_page=True)
    assert page <= window, f"scrolls sideways, see {picture}"
    assert sticking_out == [], f"see {picture}"
    assert tab.evaluate(OUT_OF_REACH) == []


@pytest.mark.parametrize("scheme", ALL_SCHEMES or ["light"])
def test_page_fits_the_screen_of_a_phone(phone, scheme):
    check_fit(phone, 390, scheme)


@pytest.mark.parametrize("scheme", ALL_SCHEMES or ["light"])
def test_page_fits_the_screen(tab, scheme):
    check_fit(tab, 1280, scheme)


# Notes that are not where they belong, or that something lies over, once they are scrolled to and
# the contents folded.
MISPLACED_NOTES = """async beside => {
    const wrong = [];
    for (const note of document.querySelectorAll("div.margin")) {
        note.scrollIntoView({block: "center", behavior: "instant"});
        await new Promise(resolve => setTimeout(resolve, 700));
        const {left, right, top, bottom} = note.getBoundingClientRect();
        const text = note.previousElementSibling.getBoundingClientRect();
        const placed = beside ? left > text.right && Math.abs(top - text.top) < 3
                              : top >= text.bottom && left < text.right;
        const clear = [top + 2, (top + bottom) / 2, bottom - 2].every(y =>
            note.contains(document.elementFromPoint((left + right) / 2, y)));
        if (!placed || !clear) wrong.push(note.textContent);
    }
    return wrong;
}"""


def check_notes(tab, width, beside):
    """Look whether each note is where it belongs: beside its paragraph, or below it."""
    source = (ROOT / "book" / f"{tab.page_name}.md").read_text(encoding="utf-8")
    written = source.count(":::{container} margin")
    assert tab.locator("div.margin").count() == written
    if written:
        look(tab, width, "light")
        assert tab.evaluate(MISPLACED_NOTES, beside) == []


def test_notes_can_be_read_below_their_paragraph(phone):
    check_notes(phone, 390, beside=False)


def test_notes_can_be_read_in_the_margin(tab):
    check_notes(tab, 1280, beside=True)


def test_images_are_vector_graphics_with_a_text(tab):
    facts = "all => all.map(e => [e.getAttribute('src'), e.alt, e.complete && e.naturalWidth > 0])"
    for source, text, loaded in tab.locator("article img").evaluate_all(facts):
        assert source.endswith(".svg")
        assert text.strip(), source
        assert loaded, source


@pytest.mark.parametrize("scheme", SCHEMES)
def test_figures_are_legible(tab, scheme):
    look(tab, 1280, scheme)
    images = tab.locator("article .cell_output img").all()
    for image in images if scheme == "light" else images[:1]:  # one rule turns all of them dark
        grays = np.asarray(Image.open(io.BytesIO(image.screenshot())).convert("L")).astype(int)
        background = np.bincount(grays.ravel()).argmax()
        assert (background < 64) == (scheme == "dark"), image.get_attribute("src")
        assert np.abs(grays - background).max() > 100, f"pale: {image.get_attribute('src')}"


@pytest.mark.parametrize("scheme", ALL_SCHEMES or ["dark"])
def test_page_fits_a_screen_between(tab, scheme):
    check_fit(tab, 768, scheme)


def test_notes_can_be_read_where_there_is_no_margin(tab):
    check_notes(tab, 1100, beside=False)


# Findings of axe-core that are not ours, by rule: the theme's side bar is no landmark
THEME = {"region": ["sidebar-primary-item"]}


# On a small screen and in dark only what depends on them: colors, and what scrolls
BY_LOOK = ["color-contrast", "link-in-text-block", "scrollable-region-focusable"]
# Contrast costs axe-core milliseconds for each element. One element stands for all of its kind on
# all pages: of those that have the same tags, classes and styles up to the root, in rows of one
# color, under the same style sheets, it is the first that is shown.
AXE = """async ([only, known, seen]) => {
    const kinds = new Map(known.map((kind, number) => [kind, number]));
    const name = e => [e.tagName, e.getAttribute("class"), e.getAttribute("style"),
                       e.closest("article") ? "" : e.id,
                       e.tagName === "TR" ? e.sectionRowIndex % 2 : ""].join(" ");
    const sheets = [...document.styleSheets].map(sheet => sheet.href).join(" ");
    const numbers = new Map();
    const number = e => {
        if (!numbers.has(e)) {
            const kind = e ? `${number(e.parentElement)} ${name(e)}` : sheets;
            if (!kinds.has(kind)) kinds.set(kind, kinds.size);
            numbers.set(e, kinds.get(kind));
        }
        return numbers.get(e);
    };
    seen = new Set(seen);
    const withText = [...document.querySelectorAll("input, select")];
    for (const texts = document.createTreeWalker(document.body, 4); texts.nextNode();)
        if (texts.currentNode.data.trim()) withText.push(texts.currentNode.parentElement);
    for (const e of withText) {
        if (seen.has(number(e)) || !e.checkVisibility()) continue;
        seen.add(number(e));
        e.dataset.first = "";
    }
    // axe-core looks where each element lies, also where these do, of which nothing is asked.
    for (const e of document.querySelectorAll(".highlight span:not(:has(a)), span.math mjx-math")) {
        const kept = e.matches("[data-first]") || e.querySelector("[data-first]");
        if (!kept) e.replaceWith(e.closest("pre") ? e.textContent : "");
    }
    axe.configure({rules: [{id: "color-contrast", selector: "[data-first]"}]});
    const {violations} = await axe.run({
        resultTypes: ["violations"], preload: false, ...only && {runOnly: only},
        rules: {"label-content-name-mismatch": {enabled: true}}});
    return [violations, [...kinds.keys()], [...seen]];
}"""


@pytest.fixture(scope="module")
def wrong_for_some():
    """Ask axe-core what keeps some people from reading a page.

    This is the last look at a tab: little is left of its code and its formulas.
    """
    known = {scheme: ([], []) for scheme in SCHEMES}

    def wrong_for_some(tab, width, scheme, rules=None):
        look(tab, width, scheme)
        tab.evaluate((files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
        violations, *known[scheme] = tab.evaluate(AXE, [rules, *known[scheme]])
        return [
            f"{rule['id']}: {node['html'][:200]} {node['failureSummary']}"
            for rule in violations
            for node in rule["nodes"]
            if not any(theme in node["html"] for theme in THEME.get(rule["id"], ()))
        ]

    return wrong_for_some


def test_nothing_keeps_anyone_from_reading_on_a_phone(phone, wrong_for_some):
    assert wrong_for_some(phone, 390, "dark", BY_LOOK) == []


def test_nothing_keeps_anyone_from_reading(tab, wrong_for_some):
    assert wrong_for_some(tab, 1280, "light") == []


def test_page_loads_offline_on_a_phone(phone):
    """The last test of a tab: it knows what went wrong in the others."""
    assert phone.wrong == []


def test_page_loads_offline_without_an_error(tab):
    """The last test of a tab: it knows what went wrong in the others, dark or on paper, too."""
    assert tab.wrong == []
    assert "Sampled Metrics, Exactly" in tab.title()
    assert tab.locator("html").get_attribute("lang") == "en"
    assert tab.locator("article h1").count() == 1


def test_all_links_lead_somewhere(html):
    pages = [path for path in html.rglob("*.html") if "_static" not in path.parts]
    wrong = []
    for path in pages:
        for tag, address in links(path):
            url = urlsplit(address)
            if url.scheme or url.netloc:
                canonical = tag.get("rel") == ["canonical"]  # of a published site
                if tag.name != "a" and url.scheme != "data" and not canonical:  # nothing is asked
                    wrong.append(f"{path.relative_to(html)} loads {address}")
                if url.scheme == "mailto":  # which a name with an @ can become
                    wrong.append(f"{path.relative_to(html)} writes to {address}")
                continue
            folder = html if url.path.startswith("/") else path.parent  # of a page for any address
            target = (folder / unquote(url.path).lstrip("/")).resolve() if url.path else path
            if not target.is_file():
                wrong.append(f"{path.relative_to(html)} -> {address}")
            elif url.fragment and target.suffix == ".html":
                anchor = unquote(url.fragment).removeprefix("/")  # #/NAME presents a slide
                if anchor not in places(target):
                    wrong.append(f"{path.relative_to(html)} -> {address}: no such place")
    assert wrong == []


def test_style_sheets_load_nothing_from_elsewhere(html):
    elsewhere = re.compile(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//")
    sheets = list(html.rglob("*.css"))
    assert sheets
    assert [s for s in sheets if elsewhere.search(s.read_text(encoding="utf-8"))] == []


@every_page
def test_linked_tables_hold_numbers(page, html):
    path = html / f"{page}.html"
    for _, address in links(path):
        if address.endswith(".csv"):
            table = pd.read_csv(path.parent / address)
            assert len(table) > 0, address
            assert table.columns[table.isna().all()].tolist() == [], address


TABLES = {
    "table1": (["recommender", "metric", "value", "paper"], 12),
    "table2": (
        ["recommender", "metric", "mean", "std", "expected", "paper_mean", "paper_std"],
        12,
    ),
    "figure2": (["recommender", "metric", "n_samples", "replacement", "expected"], 2928),
    "figure4": (["estimator", "rank_kind", "rank", "value"], 1684),
    "table3": (
        [
            *("metric", "recommender", "estimator"),
            *("mean", "std", "paper_mean", "paper_std", "expected"),
        ],
        96,
    ),
    "table4": (
        ["pair", "metric", "estimator", "correct", "paper", "low", "high", "p_value"],
        84,
    ),
    "figure5": (["from_rank", "recommender", "users"], 114),
    "figure6": (["recommender", "estimator", "n_samples", "recall_at_10"], 48),
    "readings": (["choice", "reading", "cells", "chi_square"], 14),
    "five_users": (["user", "metric", "k", "value"], 144),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_have_the_promised_columns(name, html):
    table = pd.read_csv(html / "results" / f"{name}.csv")
    columns, length = TABLES[name]
    assert table.columns.tolist() == columns
    assert len(table) == length
    if name == "figure2":  # all other items drawn, none twice: the exact metric
        every_item = table[(table.n_samples == table.n_samples.max()) & ~table.replacement]
        both = every_item.merge(pd.read_csv(html / "results" / "table1.csv"))
        assert len(both) == 12
        assert np.allclose(both.expected, both.value, rtol=0, atol=1e-12)
    if name == "figure4":  # the corrections are where the paper's Figure 4 draws them
        assert (
            table.value[table.estimator == "exact"] == 1 / table["rank"][table.estimator == "exact"]
        ).all()
        sampled = table[table.rank_kind == "sampled"].set_index(["estimator", "rank"]).value
        assert (sampled["CLS"].diff().dropna() <= 0).all()
        assert sampled["BV 0.01"].min() < 0
    if name == "table3":
        assert table.estimator.nunique() == 8
        exact = table[table.estimator == "exact"].set_index(["recommender", "metric"])
        metrics = ["Recall@10", "NDCG@10", "AP", "AUC"]
        assert exact.loc["Y"].loc[metrics, "mean"].round(2).tolist() == [8.84, 4.59, 4.32, 85.33]
        assert exact.loc["Z"].loc[metrics[:3], "mean"].round(2).tolist() == [9.42, 4.79, 4.44]
        yz = table[(table.recommender != "X") & (table.estimator != "exact")]
        yz = yz[~((yz.metric == "AUC") & (yz.recommender == "Z"))]  # the chapter says why
        error = np.sqrt(yz.paper_std**2 / 100 + 0.01**2 / 12)
        assert len(yz) == 49
        assert ((yz.expected - yz.paper_mean).abs() < 3 * error).all()


@pytest.mark.parametrize("page", CHAPTERS)
def test_exercises_can_be_checked_and_are_solved(page, html):
    article = soup(html / f"{page}.html").find("article")
    exercises, solutions = (article.select(f"div.{kind}.admonition") for kind in KINDS)
    assert 2 <= len(exercises) == len(solutions) <= 5
    levels = []
    for exercise, solution in zip(exercises, solutions, strict=True):
        assert printed(exercise).count("No answer yet.\n") == 1
        assert "Right." in printed(solution)
        assert "Not yet" not in printed(solution)
        assert "dropdown" in solution["class"]
        if "Judge" not in exercise.get_text():  # these stand last, whatever their level
            levels.append(re.search(r"\((easy|medium|hard)\)", exercise.get_text())[1])
    assert levels == sorted(levels, key=["easy", "medium", "hard"].index)


def printed(block):
    return "".join(output.get_text() for output in block.select(".cell_output .stream"))


@every_page
def test_notebooks_can_be_downloaded(page, html):
    path = html / f"{page}.html"
    source = (ROOT / f"{page}.md").read_text(encoding="utf-8")
    downloads = {address for _, address in links(path) if "_sources" in address}
    assert any(address.endswith(".md") for address in downloads)
    if "{code-cell}" in source:
        assert any(address.endswith("-student.ipynb") for address in downloads)
        assert any(address.endswith("notebooks.zip") for _, address in links(path))
        (notebook,) = (a for a in downloads if a.endswith(".ipynb") and "-student" not in a)
        cells = json.loads((path.parent / notebook).read_text(encoding="utf-8"))["cells"]
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        assert code
        assert all(cell["execution_count"] for cell in code)
        assert page not in CHAPTERS or any(cell["outputs"] for cell in code)


def test_chapters_say_their_part_and_their_minutes(html):
    for page in (page for page in CHAPTERS if "/part-" not in page):
        path = html / f"{page}.html"
        place = soup(path).select_one("h1 + .place")
        assert re.match(r"[A-Z][\w ]+ · \d+ minutes\b", place.get_text()), page
        chapters = soup(path.parent / place.a["href"]).select("article a")
        assert path.name in {link["href"].partition("#")[0] for link in chapters}


def test_the_sidebar_shows_the_current_page(browser, site):
    tab = open_tab(browser, site, "book/index.html")
    for page in (CHAPTERS[-1], CHAPTERS[0]):  # also after another page
        tab.goto(f"{site}{page}.html")
        current = tab.locator(".bd-links a.current.reference, .bd-links .current.active > a").last
        box = current.bounding_box()
        assert 0 <= box["y"] <= tab.viewport_size["height"] - box["height"], page
    tab.close()


@pytest.mark.parametrize("page", ["404", "genindex"])
def test_pages_without_a_source_fit_a_phone(page, browser, site):
    tab = open_tab(browser, site, f"{page}.html", width=390)
    wide, window = tab.evaluate(WIDTHS_OF_PAGE_AND_WINDOW)
    assert wide <= window
    assert tab.wrong == []
    tab.close()


def test_an_address_that_leads_nowhere_leads_to_the_book(html):
    hrefs = [tag["href"] for tag in soup(html / "404.html").select("[href]")]
    assert len(hrefs) == 2
    assert all(href.startswith(("/", "https://")) for href in hrefs)  # from any folder


def test_the_root_leads_to_the_book_and_says_what_it_is(browser, site, html):
    tab = open_tab(browser, site, "", lands_on=f"{PAGES[0]}.html")
    assert tab.wrong == []
    tab.close()
    root = soup(html / "index.html")
    assert root.find("title").get_text() == "Sampled Metrics, Exactly"
    assert root.find("a")["href"] == f"{PAGES[0]}.html"
    landing = soup(html / f"{PAGES[0]}.html")
    for key in ({"name": "description"}, {"property": "og:title"}):
        assert landing.find("meta", key)["content"].startswith(root.find("meta", key)["content"])


DENIED = """for (const storage of ["localStorage", "sessionStorage"]) {
    Object.defineProperty(window, storage,
        {configurable: true, get() { throw new DOMException("denied", "SecurityError"); }});
}"""


@pytest.mark.parametrize("kept", [True, False])
def test_reader_can_switch_between_light_and_dark(kept, browser, site):
    tab = open_tab(browser, site, f"{PAGES[0]}.html")
    if not kept:  # as in a browser that lets no page store anything
        tab.add_init_script(DENIED)
        tab.reload()
    seen = set()
    for _ in range(3):  # light, dark, as the system is
        tab.locator(".theme-switch-button:visible").first.click()
        seen.add(tab.locator("html").get_attribute("data-theme"))
    assert seen == set(SCHEMES)
    assert tab.wrong == []
    tab.close()


def test_a_tap_leaves_no_tooltip_over_other_buttons(browser, site):
    size = {"width": 390, "height": 844}
    tab = browser.new_page(viewport=size, has_touch=True, is_mobile=True)
    tab.goto(f"{site}book/toy-example.html")
    tab.locator(".theme-switch-button:visible").tap()
    tab.locator(".tooltip").wait_for(state="attached")
    assert not tab.locator(".tooltip").is_visible()
    tab.close()


def test_long_names_break_on_a_narrow_phone(browser, site):
    tab = open_tab(browser, site, "book/api.html", width=320)
    page, window = tab.evaluate(WIDTHS_OF_PAGE_AND_WINDOW)
    assert page <= window
    tab.close()


def test_prints_black_on_white(browser, site):
    tab = open_tab(browser, site, "book/toy-example.html")
    look(tab, 800, "dark")
    tab.evaluate("() => { window.seen = []; }")
    note = "() => window.seen.push(document.documentElement.dataset.theme)"
    tab.evaluate(f"() => addEventListener('beforeprint', {note})")
    tab.pdf()
    assert tab.evaluate("() => window.seen") == ["light"]
    assert tab.locator("html").get_attribute("data-theme") == "dark"
    tab.close()


@pytest.mark.parametrize("page", [PAGES[0], "book/toy-example"])
def test_the_keyboard_sees_where_it_is(page, browser, site):
    """Each control that Tab reaches shows a ring around itself, or around its card."""
    tab = open_tab(browser, site, f"{page}.html")
    ring = """() => {
        const e = document.activeElement;
        const rings = [getComputedStyle(e), getComputedStyle(e, "::after")];
        const seen = rings.some(s => s.outlineStyle === "solid" && parseFloat(s.outlineWidth) >= 2);
        const hidden = e.matches("input.sidebar-toggle") || e === document.body;
        return seen || hidden ? null : e.outerHTML;
    }"""
    without = []
    for _ in range(100):
        tab.keyboard.press("Tab")
        without.append(tab.evaluate(ring))
    assert [html[:200] for html in without if html] == []
    tab.close()


def test_references_are_labeled_as_they_are_cited(html):
    labels = soup(html / "book/references.html").select(".citation > .label")
    labels = [label.get_text().strip("[]") for label in labels]
    assert "Krichene and Rendle, 2020" in labels
    assert len(set(labels)) == len(labels)
    assert labels.index("Järvelin and Kekäläinen, 2002") < labels.index("Jin et al., 2021")
    in_a_row = ["Gao et al., 2022a", "Gao et al., 2022b", "Zhu et al., 2021"]
    assert [label for label in labels if label in in_a_row] == in_a_row
    assert not any(label.isdigit() for label in labels)
    cited = soup(html / "book/about.html").select_one(".bibtex-citation a.reference")
    assert cited.get_text() in labels


def test_downloads_are_named_in_words(html):
    menu = soup(html / "book/toy-example.html").select(".dropdown-download-buttons .dropdown-item")
    names = [item.get_text().strip() for item in menu]
    assert names[:3] == ["Notebook", "Source", "Print to PDF"]


def test_reference_has_every_public_name(html):
    ids = {tag["id"] for tag in soup(html / "book/api.html").find_all(id=True)}
    assert {f"sampled_metrics.{name}" for name in sampled_metrics.__all__} <= ids


@every_page
def test_code_leads_to_the_reference(page, html):
    """Each public name that the page's visible code imports is linked where it first stands."""
    article = soup(html / f"{page}.html").find("article")
    linked = {link.get_text() for link in article.select("div.highlight a.api")}
    code = [block.get_text() for block in article.select("div.cell_input div.highlight")]
    imported = {
        name
        for block in code
        for names in re.findall(r"from sampled_metrics import (\([^)]*\)|.*)", block)
        for name in re.findall(r"\w+", names)
    }
    assert imported <= linked
