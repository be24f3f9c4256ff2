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


SHOWN = ".slides > section.present"


def present(tab):
    """Begin the presentation, which the teacher's file does by itself."""
    if tab.locator(".reveal").count() == 0:
        tab.get_by_role("link", name="Present").click()
    tab.locator(f"{SHOWN} h2").wait_for()


def titles_of(tab):
    """Return the titles of all slides, presented or not."""
    texts = tab.locator("article section section > h2, .slides > section > h2").all_text_contents()
    return [text.removesuffix("#") for text in texts]


def shown_title(tab):
    return tab.locator(f"{SHOWN} h2").inner_text()


def place(tab):
    """Say where the presentation is: the slide, and how many of its parts are shown."""
    return shown_title(tab), tab.locator(f"{SHOWN} .fragment.visible").count()


def test_slides_turn_step_by_step(deck):
    tab = deck()
    present(tab)
    titles = titles_of(tab)
    hidden = tab.locator(f"{SHOWN} .fragment:not(.visible)")
    assert hidden.count() > 0, "the first slide begins with its question"
    for left in range(hidden.count())[::-1]:
        tab.keyboard.press("ArrowRight")
        assert (shown_title(tab), hidden.count()) == (titles[0], left)
    for key, title in [
        ("PageDown", titles[1]),
        ("PageUp", titles[0]),
        ("End", titles[-1]),
        ("Home", titles[0]),
    ]:
        tab.keyboard.press(key)
        assert shown_title(tab) == title
    assert tab.locator("h2:visible").count() == 1
    assert tab.wrong == []


def test_each_slide_has_an_address(browser, site):
    tab = open_tab(browser, site, SITE_PAGE)
    for heading in tab.locator(f"{SLIDES} > h2").all()[::8]:
        title = heading.text_content().removesuffix("#")
        name = heading.locator("..").get_attribute("id")
        slide = open_tab(browser, site, f"{SITE_PAGE}#/{name}")
        assert shown_title(slide) == title
        slide.keyboard.press("Shift+ArrowLeft")
        slide.wait_for_url("**#/sampled-metrics-exactly**")
        slide.close()
    tab.close()


def test_the_presentation_begins_and_ends_on_the_page(browser, site):
    tab = open_tab(browser, site, SITE_PAGE)
    everything = tab.locator("h2:visible").count()
    present(tab)
    tab.get_by_role("link", name="End").click()
    tab.locator(".bd-sidebar-primary").wait_for()
    assert tab.locator("h2:visible").count() == everything
    present(tab)
    tab.go_back()
    tab.locator(".bd-sidebar-primary").wait_for()
    assert tab.wrong == []
    tab.close()


def test_escape_shows_many_slides_at_once(deck):
    tab = deck()
    present(tab)
    tab.keyboard.press("Escape")
    assert tab.locator("h2:visible").count() > 2
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Escape")
    assert shown_title(tab) == titles_of(tab)[1]
    assert tab.locator("h2:visible").count() == 1


def test_the_speakers_notes_follow_the_slides(deck):
    tab = deck()
    present(tab)
    assert tab.locator(".slides > section > aside.notes").count() == len(titles_of(tab))
    with tab.expect_popup() as opened:
        tab.keyboard.press("s")
    said = opened.value.locator(".speaker-controls-notes .value")
    for key in ("Home", "End"):
        tab.keyboard.press(key)
        note = tab.locator(f"{SHOWN} .notes p").last.text_content()
        said.get_by_text(" ".join(note.split())).wait_for()


def test_an_explorer_plays_in_its_slide_and_keeps_its_keys(deck):
    tab = deck()
    present(tab)
    titles = titles_of(tab)
    tab.evaluate("title => Reveal.slide(title)", titles.index("See the draw"))
    explorer = tab.locator(f"{SHOWN} .explorer")
    explorer.get_by_role("button", name="A hundred times").click()
    explorer.get_by_text("of 100", exact=False).first.wait_for()
    tab.keyboard.press(" ")  # once more, as on any button
    slider = explorer.get_by_role("slider", name="user, slider")
    user = explorer.locator("select[name=user]")
    before = user.input_value()
    slider.focus()
    tab.keyboard.press("ArrowRight")
    assert user.input_value() != before
    explorer.locator("[name=seed]").fill("7")
    assert explorer.locator("[name=draws]").input_value() == "200"
    assert shown_title(tab) == "See the draw"
    assert "#/" in tab.url
    tab.keyboard.press("Escape")  # out of the field
    tab.keyboard.press("ArrowRight")
    assert shown_title(tab) == titles[titles.index("See the draw") + 1]
    assert tab.wrong == []


@pytest.mark.parametrize("size", [(390, 844), (640, 400)])
def test_on_a_small_screen_all_of_a_slide_can_be_reached(deck, size):
    tab = deck()
    tab.set_viewport_size({"width": size[0], "height": size[1]})
    present(tab)
    out_of_reach = """width => {
        const slide = document.querySelector(".slides > .present");
        slide.scrollTop = slide.scrollHeight;
        const last = [...slide.children].findLast((e) => e.getClientRects().length);
        const isFree = (e) => e === slide
            || !/auto|scroll/.test(getComputedStyle(e).overflowX) && isFree(e.parentElement);
        return [last.getBoundingClientRect().bottom > innerHeight + 1,
            [...slide.querySelectorAll("*:not(mjx-container *)")]
                .filter((e) => e.getClientRects().length && isFree(e.parentElement))
                .filter((e) => e.getBoundingClientRect().right > width + 1)
                .map((e) => e.outerHTML.slice(0, 200))];
    }"""
    for number, title in enumerate(titles_of(tab)):
        tab.evaluate("number => Reveal.slide(number, 0, 99)", number)
        assert tab.evaluate(out_of_reach, size[0]) == [False, []], title


def test_a_finger_turns_the_slides(browser, site):
    tab = browser.new_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    tab.goto(f"{site}{SITE_PAGE}#/", wait_until="load")
    first = shown_title(tab)
    tab.get_by_role("button", name="next slide").tap()
    assert shown_title(tab) != first
    tab.get_by_role("button", name="previous slide").tap()
    assert shown_title(tab) == first
    tab.close()


@pytest.mark.parametrize("size", [(1024, 768), (1280, 720), (1920, 1080)])
def test_every_slide_fits_its_screen(deck, size):
    tab = deck()
    tab.set_viewport_size({"width": size[0], "height": size[1]})
    present(tab)
    beyond = """([width, height]) => [...document.querySelectorAll(".slides > .present *")]
        .filter(e => e.getClientRects().length && !e.closest("mjx-assistive-mml"))
        .filter(e => { const box = e.getBoundingClientRect();
                       const scrolls = e.matches("pre, .output, div.math")
                           && e.scrollWidth > e.clientWidth + 1;
                       return scrolls || box.right > width + 1 || box.bottom > height + 1; })
        .map(e => e.outerHTML.slice(0, 200))"""
    small = """Math.min(...[...document.querySelectorAll(
            ".slides > .present :is(p, li, td, th, pre, figure, label)")]
        .filter(e => e.getClientRects().length)
        .map(e => parseFloat(getComputedStyle(e).fontSize)))"""
    for number, title in enumerate(titles_of(tab)):
        tab.evaluate("number => Reveal.slide(number, 0, 99)", number)
        assert shown_title(tab) == title
        assert tab.evaluate(beyond, size) == []
        assert tab.evaluate(small) >= 12, title


def test_printed_each_slide_is_one_page_in_landscape(deck):
    tab = deck()
    n_slides = len(titles_of(tab))
    tab.emulate_media(color_scheme="dark")
    address = tab.url.partition("#")[0]
    tab.goto(f"{address}?print-pdf#/", wait_until="load")
    tab.wait_for_function("n => document.querySelectorAll('.pdf-page').length === n", arg=n_slides)
    pdf = tab.pdf(prefer_css_page_size=True, print_background=True)
    boxes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    assert len(boxes) == n_slides
    assert all(float(width) > float(height) for width, height in boxes)
    tab.emulate_media(media="print")
    cut = """pages => pages.flatMap(page => [...page.querySelectorAll("section *")]
        .filter(e => e.getClientRects().length && !e.closest("mjx-container, .explorer"))
        .filter(e => e.getBoundingClientRect().bottom > page.getBoundingClientRect().bottom + 1
            || e.matches("pre, div.math") && e.scrollWidth > e.clientWidth + 1)
        .map(e => e.outerHTML.slice(0, 200)))"""
    assert tab.locator(".pdf-page").evaluate_all(cut) == []
    for unseen in (".notes", "figcaption", "button", ".leave"):
        assert not any(part.is_visible() for part in tab.locator(unseen).all())


def test_the_teachers_slides_are_those_of_the_page(html, unpacked, opened):
    page = soup(html / SITE_PAGE).find("article")
    tab = opened()
    assert tab.wrong == []
    ours = [heading.get_text().removesuffix("#") for heading in page.select("section section > h2")]
    assert titles_of(tab) == ours
    assert tab.locator(".slides > section > .notes").count() == len(ours)
    kinds = [
        ("table:not(.explorer *)", 3),
        ("img", 10),
        (".explorer", 3),
        ("pre:not(.explorer *)", 3),
    ]
    for kind, least in kinds:
        count = tab.locator(f"article {kind}").count()
        assert count == len(page.select(kind)) >= least, kind
    formulas = tab.locator("mjx-container[display=true]").count()
    assert formulas == len(page.select("div.math")) >= 8
    assert tab.locator("article img").evaluate_all("all => all.every(i => i.naturalWidth > 300)")
    assert tab.locator("article :is(p, li, td)").filter(has_text="\\").count() == 0, "in TeX"
    alts = tab.locator("article img").evaluate_all("all => all.map(image => image.alt)")
    assert all(len(alt) > 40 for alt in alts)
    cells = [cell.get_text().strip() for cell in page.select("td, th") if not cell.select(".math")]
    texts = tab.locator("td, th").all_text_contents()
    assert set(cells) <= {text.strip() for text in texts}
    said = " ".join(" ".join(tab.locator(".notes").all_text_contents()).split())
    for note in page.select(".notes p:not(.topic-title)"):
        assert note.select(".math") or " ".join(note.get_text().split()) in said


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
    titles = titles_of(tab)
    assert "A slide of my own" in titles
    assert not any(title.startswith("A ranking") for title in titles)
    slide = tab.locator(".slides > section").nth(titles.index("A slide of my own"))
    for part, text in [
        ("em", "emphasis"),
        ("strong", "weight"),
        ("code", "code < 1"),
        ("tbody td:last-child", "2 | 3"),
        (".notes", "Wait."),
    ]:
        assert slide.locator(part).text_content().strip() == text
    assert slide.locator("li").count() == 2
    assert slide.locator("mjx-container").count() == 3
    assert tab.wrong == []


def test_without_the_script_the_page_shows_all_slides(browser, site):
    tab = browser.new_context(java_script_enabled=False).new_page()
    tab.goto(f"{site}{SITE_PAGE}#/")
    assert all(heading.is_visible() for heading in tab.locator(f"{SLIDES} > h2").all())
    assert tab.locator(f"{SLIDES} img").first.is_visible()
    tab.context.close()


def test_no_other_page_loads_what_turns_the_slides(html):
    loading = [
        path.stem for path in html.glob("book/*.html") if "reveal/" in path.read_text("utf-8")
    ]
    assert loading == ["slides"]


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
