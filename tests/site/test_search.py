"""The search: what it finds first, as one types, by keyboard, in light and dark, and offline."""

import re
from importlib.resources import files

import pytest

import sampled_metrics
from tabs import new_tab, soup

PAGE = "book/toy-example.html"
OPENED = "dialog.pf-modal[open]"


def press_search(tab):
    """Open the dialog as its button says, and wait until one can type."""
    tab.keyboard.press("Control+k")
    tab.wait_for_function("() => document.activeElement.matches('pagefind-modal input')")


def find(tab, words):
    """Type words, one key after the other; return the results, the best first."""
    tab.keyboard.press("Control+a")
    tab.keyboard.type(words)
    counted = re.compile(f"results? for {re.escape(words)}$")
    tab.locator(".pf-summary").filter(has_text=counted).wait_for()
    # Each arrives on its own, and what has not arrived is hidden: the first need not be the best.
    results = tab.locator(".pf-result")
    results.and_(tab.locator(":first-child:not([aria-hidden])")).wait_for()
    return results.and_(tab.locator(":not([aria-hidden])"))


@pytest.fixture(scope="module")
def searching(browser, site):
    tab = new_tab(browser)
    tab.goto(site + PAGE)
    press_search(tab)
    yield tab
    tab.close()


GLOSSARY = "book/notation.html#term-"


@pytest.mark.parametrize(
    ("words", "address"),
    [
        ("negative sampling", GLOSSARY + "Negatives"),
        ("negatives", GLOSSARY + "Negatives"),
        ("uni99", GLOSSARY + "Uniform-sampling"),
        ("hit ratio", GLOSSARY + "Hit-rate"),
        ("hit rate", GLOSSARY + "Hit-rate"),
        ("HR", GLOSSARY + "Hit-rate"),
        ("full ranking", GLOSSARY + "Exact-metric"),
        ("confidence interval", GLOSSARY + "Confidence-interval"),
        ("sampled metrics", GLOSSARY + "Sampled-metric"),
        ("NDCG", GLOSSARY + "NDCG"),
        ("MAP", GLOSSARY + "MAP"),
        ("leave one out", GLOSSARY + "Leave-one-out"),
        ("leave-one-out", GLOSSARY + "Leave-one-out"),
        ("LightFM", "book/evaluate-your-own.html#from-your-library"),
        ("RecBole", "book/evaluate-your-own.html#from-recbole"),
        ("reviewer's calculator", "book/what-a-sample-tells.html#a-reviewer-s-calculator"),
        ("AP", GLOSSARY + "Average-precision"),
    ],
)
def test_what_people_look_for_comes_first(words, address, searching, site, html):
    first = find(searching, words).first.locator("a").first.get_attribute("href")
    assert first == site + address
    page, place = address.split("#")
    assert soup(html / page).find(id=place)


def test_a_public_name_leads_to_its_reference(searching, site, html):
    """Only where the glossary has the very same word does its entry come before."""
    glossary = soup(html / "book" / "notation.html")
    for name in sampled_metrics.__all__:
        find(searching, name)
        place = 1 if glossary.find(id=f"term-{name}") else 0
        link = searching.locator(".pf-result").nth(place).locator("a").first
        assert link.get_attribute("href") == f"{site}book/api.html#sampled_metrics.{name}"


@pytest.mark.parametrize("word", ["explorer", "calculator"])
def test_search_finds_the_explorers(word, searching):
    assert "book/explorers.html" in "".join(
        link.get_attribute("href") for link in find(searching, word).locator("a").all()
    )


def test_results_are_sections_that_show_the_words(searching):
    results = find(searching, "prior").all_inner_texts()
    assert len(results) > 5
    assert any("a guess at how often each rank occurs" in result for result in results)
    assert [result for result in results if re.search(r"import |\w+\(\w+=", result)] == []


def test_code_is_not_searched(searching):
    assert "figsize" not in "".join(find(searching, "figsize").all_inner_texts())


def test_search_works_by_keyboard(browser, site):
    tab = new_tab(browser)
    tab.goto(site + PAGE)
    button = tab.locator(".search-button__button:visible").first
    button.focus()
    tab.keyboard.press("Enter")
    tab.wait_for_function("() => document.activeElement.matches('pagefind-modal input')")
    tab.keyboard.press("Escape")
    assert tab.locator(OPENED).count() == 0
    assert button.evaluate("button => button === document.activeElement")
    press_search(tab)
    find(tab, "hit ratio")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Enter")
    tab.wait_for_url(f"{site}{GLOSSARY}Hit-rate")
    assert tab.wrong == []
    tab.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_everyone_can_read_the_dialog(width, scheme, browser, site):
    tab = new_tab(browser, viewport={"width": width, "height": 800}, color_scheme=scheme)
    tab.goto(site + PAGE)
    press_search(tab)
    find(tab, "hit ratio")
    colors = tab.evaluate(
        f"() => ['{OPENED}', 'body'].map(e => getComputedStyle(document.querySelector(e)))"
        ".map(style => style.backgroundColor)"
    )
    assert colors[0] == colors[1]
    tab.evaluate((files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
    found = tab.evaluate(f"async () => (await axe.run('{OPENED}')).violations")
    assert [f"{rule['id']} {node['html']}" for rule in found for node in rule["nodes"]] == []
    assert tab.evaluate("() => document.documentElement.scrollWidth") <= width
    tab.close()


def test_search_asks_no_other_host(browser, site):
    tab = new_tab(browser)
    hosts = set()
    tab.on("request", lambda request: hosts.add(request.url.startswith((site, "data:", "blob:"))))
    tab.goto(site + PAGE)
    before = tab.evaluate("() => performance.getEntriesByType('resource').map(e => e.name)")
    assert not [address for address in before if "/pagefind/" in address]  # until it is asked for
    press_search(tab)
    find(tab, "recall")
    assert hosts == {True}
    tab.close()


def test_search_says_what_it_needs_in_a_folder(browser, html):
    tab = new_tab(browser)
    said = []
    tab.on("dialog", lambda dialog: (said.append(dialog.message), dialog.accept()))
    tab.goto((html / PAGE).as_uri())
    tab.keyboard.press("Control+k")
    assert len(said) == 1
    assert "python -m http.server" in said[0]
    tab.close()
