"""The slides: presented, printed, and changed by a teacher who has only the zip."""

import re
import zipfile

import pytest

from tabs import soup

ZIP = "sampled-metrics-slides"
SITE_PAGE = "book/slides.html"
SLIDES = "article > section > section"


def open_tab(browser, folder, page):
    """Open a page, wait for its formulas, and note in ``tab.wrong`` whatever goes wrong."""
    tab = browser.new_page(reduced_motion="reduce", color_scheme="light")
    tab.wrong = wrong = []
    tab.on("request", lambda r: r.url.startswith((folder, "data:")) or wrong.append(r.url))
    tab.on("requestfailed", lambda r: wrong.append(f"failed: {r.url}"))
    tab.on("console", lambda m: m.type == "error" and wrong.append(m.text))
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.goto(f"{folder}{page}", wait_until="load")
    tab.evaluate("() => MathJax.startup.promise.then(() => null)")
    return tab


@pytest.fixture
def unpacked(html, tmp_path):
    """Unpack the teacher's slides in a folder that has nothing else."""
    zipfile.ZipFile(html / f"{ZIP}.zip").extractall(tmp_path)
    return tmp_path / ZIP


@pytest.fixture
def opened(browser, unpacked):
    """Open the teacher's slides as a double click does: as a file, without a server."""
    tabs = []

    def open_file():
        tabs.append(open_tab(browser, unpacked.as_uri(), "/slides.html"))
        return tabs[-1]

    yield open_file
    for tab in tabs:
        tab.close()


@pytest.fixture(params=["site", "zip"])
def deck(request, browser, site, opened):
    """Open the slides: the page of the site, or those of the zip."""
    return opened if request.param == "zip" else lambda: open_tab(browser, site, SITE_PAGE)


def shown_title(tab):
    shown = tab.locator("article > section > section:visible h2")
    return [text.removesuffix("#") for text in shown.all_inner_texts()]


def test_slides_turn(browser, site):
    tab = open_tab(browser, site, SITE_PAGE)
    titles = shown_title(tab)
    tab.locator("#present").focus()
    tab.keyboard.press("Enter")
    later = tab.locator(".shown .later")
    hidden = later.count()
    assert hidden > 0, "the first slide begins with its question"
    for key in ("", "ArrowLeft"):
        if key:
            tab.keyboard.press(key)
        assert (shown_title(tab), later.count()) == ([titles[0]], hidden)
    for left in range(hidden)[::-1]:
        tab.keyboard.press("ArrowRight")
        assert (shown_title(tab), later.count()) == ([titles[0]], left)
    for key, title in [
        ("PageDown", titles[1]),
        ("ArrowDown", titles[1]),
        ("PageUp", titles[0]),
        ("End", titles[-1]),
        (" ", titles[-1]),
        ("Home", titles[0]),
    ]:
        tab.keyboard.press(key)
        assert shown_title(tab) == [title]
    assert tab.locator("#slide-status").inner_text().startswith("Slide 1 of")
    tab.keyboard.press("Escape")
    assert shown_title(tab) == titles
    assert tab.locator(".later").count() == 0
    tab.get_by_role("button", name="Present").click()
    assert len(shown_title(tab)) == 1
    tab.get_by_role("button", name="End").click()
    assert shown_title(tab) == titles
    assert tab.wrong == []
    tab.close()


def test_the_speakers_notes_follow_the_slides(browser, site):
    tab = open_tab(browser, site, SITE_PAGE)
    titles = shown_title(tab)
    assert tab.locator("article > section > section > .speaker").count() == len(titles)
    tab.locator("#present").click()
    with tab.expect_popup() as opened:
        tab.keyboard.press("N")  # as with Caps Lock
    notes = opened.value
    for title, following in (titles[:2], [titles[-1], "the end"]):
        assert title in notes.inner_text("h1")
        assert following in notes.inner_text("body")
        assert len(notes.inner_text("body")) > len(title) + 60
        notes.keyboard.press("End")  # the keys work in both windows
    tab.close()


def test_keys_of_the_search_turn_no_slide(browser, site):
    tab = open_tab(browser, site, SITE_PAGE)
    tab.locator("#present").click()
    tab.keyboard.press("ArrowRight")
    before = place(tab)
    tab.keyboard.press("Control+k")
    field = tab.locator("input[type=search]:visible")
    field.press_sequentially("a n b")
    for key in ("Home", "ArrowRight", "End"):
        tab.keyboard.press(key)
    assert (field.input_value(), place(tab)) == ("a n b", before)
    assert len(tab.context.pages) == 1, "no notes"
    tab.close()


def place(tab):
    """Say where the presentation is: the slide, and how many of its parts are hidden."""
    return tab.locator("#slide-status").inner_text(), tab.locator(".shown .later").count()


def test_a_tap_anywhere_turns_the_slides(browser, site):
    size = {"width": 390, "height": 844}
    tab = browser.new_page(viewport=size, has_touch=True, is_mobile=True)
    tab.goto(f"{site}{SITE_PAGE}", wait_until="load")
    tab.locator("#present").tap()
    began = place(tab)
    for y in (100, 400, 780):
        before = place(tab)
        tab.touchscreen.tap(300, y)
        tab.wait_for_timeout(50)
        assert place(tab) != before, y
    for _ in range(3):
        tab.touchscreen.tap(60, 600)
        tab.wait_for_timeout(50)
    assert place(tab) == began
    tab.close()


def test_marking_a_word_turns_no_slide(browser, site):
    tab = open_tab(browser, site, SITE_PAGE)
    tab.locator("#present").click()
    tab.keyboard.press("PageDown")
    began = place(tab)
    tab.locator(".shown h2").dblclick(position={"x": 40, "y": 15})
    assert tab.evaluate("String(getSelection())").strip()
    tab.wait_for_timeout(500)
    assert place(tab) == began
    tab.mouse.click(1200, 600)
    turned = "hidden => document.querySelectorAll('.shown .later').length !== hidden"
    tab.wait_for_function(turned, arg=began[1])
    tab.close()


@pytest.mark.parametrize("size", [(1024, 768), (1280, 720), (1920, 1080)])
def test_every_slide_fits_its_screen(deck, size):
    tab = deck()
    tab.set_viewport_size({"width": size[0], "height": size[1]})
    tab.locator("#present").click()
    beyond = """([width, height]) => [...document.querySelectorAll(".shown, .shown *")]
        .filter(e => e.getClientRects().length && !e.closest("mjx-assistive-mml"))
        .filter(e => { const box = e.getBoundingClientRect();
                       const scrolls = e.matches("pre, .output, div.math")
                           && e.scrollWidth > e.clientWidth + 1;
                       return scrolls || box.right > width + 1 || box.bottom > height + 1; })
        .map(e => e.outerHTML.slice(0, 200))"""
    letters = "parseFloat(getComputedStyle(document.querySelector('.shown')).fontSize)"
    n_slides = tab.locator("article > section > section").count()
    for number in range(n_slides):
        assert f"Slide {number + 1} of" in tab.locator("#slide-status").inner_text()
        while tab.locator(".shown .later").count():
            tab.keyboard.press("ArrowRight")
        assert tab.evaluate(beyond, size) == []
        assert tab.evaluate(letters) >= 12, shown_title(tab)
        tab.keyboard.press("ArrowRight")
    tab.close()


def test_printed_each_slide_is_one_page_in_landscape(deck):
    tab = deck()
    pdf = tab.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type /Page\b", pdf)) == tab.locator(SLIDES).count()
    tab.locator("#present").click()
    presented = tab.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type /Page\b", presented)) == tab.locator(SLIDES).count()
    tab.keyboard.press("Escape")
    boxes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    assert boxes
    assert all(float(width) > float(height) for width, height in boxes)
    tab.emulate_media(media="print")
    inner = {"width": round(273 / 25.4 * 96), "height": round(186 / 25.4 * 96)}  # A4, less margins
    tab.set_viewport_size(inner)
    cut = """(width) => [...document.querySelectorAll("article > section > section *")]
        .filter(e => e.getClientRects().length && !e.closest("mjx-container"))
        .filter(e => e.getBoundingClientRect().right > width + 1
            || e.matches("pre, div.math") && e.scrollWidth > e.clientWidth + 1)
        .map(e => e.outerHTML.slice(0, 200))"""
    assert tab.evaluate(cut, inner["width"]) == []
    heights = "slides => slides.map(slide => slide.getBoundingClientRect().height)"
    assert max(tab.locator(SLIDES).evaluate_all(heights)) <= inner["height"]
    for unseen in (".speaker", "figcaption", "button"):
        assert not any(part.is_visible() for part in tab.locator(unseen).all())


def test_the_teachers_slides_are_those_of_the_page(html, unpacked, opened):
    page = soup(html / SITE_PAGE).find("article")
    tab = opened()
    assert tab.wrong == []
    ours = [heading.get_text().removesuffix("#") for heading in page.select("section section > h2")]
    assert shown_title(tab) == ours
    assert tab.locator(f"{SLIDES} > .speaker").count() == len(ours)
    for kind, least in (("table", 3), ("figure img", 10), ("div.math", 8), ("pre", 3)):
        count = tab.locator(f"article {kind}").count()
        assert count == len(page.select(kind)) >= least, kind
    assert tab.locator("article img").evaluate_all("all => all.every(i => i.naturalWidth > 300)")
    assert tab.locator(".math, article p").filter(has_text="\\").count() == 0, "a formula in TeX"
    alts = tab.locator("article img").evaluate_all("all => all.map(image => image.alt)")
    assert all(len(alt) > 40 for alt in alts)
    cells = [cell.get_text().strip() for cell in page.select("td, th") if not cell.select(".math")]
    texts = tab.locator("td, th").all_inner_texts()
    assert set(cells) <= {text.strip() for text in texts}
    for note in page.select(".speaker p:not(.admonition-title)"):
        if not note.select(".math"):
            text = " ".join(note.get_text().split())
            assert text in " ".join(tab.locator(".speaker").all_inner_texts()).replace("\n", " ")


CHANGE = """## A slide of my own

With *emphasis*, **weight**, `code < 1` and $x^2$.

- What do you think?
- The sum is $$\\sum_i i$$

| metric | value |
| --- | --- |
| $a_1$ | 2 \\| 3 |

::: notes

Wait.

:::
"""


def test_a_teacher_changes_the_slides_in_a_text_editor(unpacked, opened):
    path = unpacked / "slides.html"
    text = path.read_text("utf-8")
    start = text.index("## A ranking is where")
    end = text.index("## ", start + 3)
    changed = text[:start] + CHANGE.replace("\\\\", "\\") + "\n" + text[end:]
    path.write_text(changed.replace("\n", "\r\n"), "utf-8", newline="")  # as on Windows
    tab = opened()
    titles = shown_title(tab)
    assert "A slide of my own" in titles
    assert not any(title.startswith("A ranking") for title in titles)
    slide = tab.locator(SLIDES).nth(titles.index("A slide of my own"))
    assert slide.locator("em").inner_text() == "emphasis"
    assert slide.locator("strong").inner_text() == "weight"
    assert slide.locator("code").inner_text() == "code < 1"
    assert slide.locator("li").count() == 2
    assert slide.locator("td").nth(1).inner_text() == "2 | 3"
    assert slide.locator("mjx-container").count() == 3
    assert slide.locator(".speaker").inner_text() == "Wait."
    assert tab.wrong == []


def test_without_the_script_the_file_is_its_text(browser, unpacked):
    tab = browser.new_context(java_script_enabled=False).new_page()
    tab.goto((unpacked / "slides.html").as_uri())
    assert "## What to take home" in tab.inner_text("body")
    tab.context.close()


def test_both_pages_for_teachers_link_the_source(html):
    for page in ("slides", "teaching"):
        addresses = [link["href"] for link in soup(html / f"book/{page}.html").select("article a")]
        assert f"../{ZIP}.zip" in addresses


def test_slides_hold_no_number_of_their_own(html):
    """Each figure and table is, to the letter, the one of its chapter."""
    folder = html / "book"
    slides = soup(folder / "slides.html").find("article")
    chapters = [soup(path) for path in folder.glob("*.html") if path.stem != "slides"]
    images = {image["src"] for page in chapters for image in page.find_all("img")}
    outputs = {output.get_text() for page in chapters for output in page.select(".cell_output")}
    assert len(slides.find_all("img")) >= 10
    assert {image["src"] for image in slides.find_all("img")} <= images
    shown = {output.get_text() for output in slides.select(".cell_output")}
    assert len(shown) >= 3
    assert shown <= outputs
