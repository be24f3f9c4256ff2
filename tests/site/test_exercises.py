"""Exercises and quizzes answered in the page: by Python's rules, by keyboard, on any screen."""

import re
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampled_metrics_book import Answer
from tabs import soup

BOOK = Path(__file__).parents[2] / "book"
SOURCES = {path.stem: path.read_text(encoding="utf-8") for path in sorted(BOOK.glob("*.md"))}
EXERCISES = {
    page: re.findall(r"^```\{exercise-start\}\n:label: (.*)$", text, re.M)
    for page, text in SOURCES.items()
    if "{exercise-start}" in text
}
PARTS = [page for page in SOURCES if page.startswith("part-")]


@pytest.fixture
def visit(tab_for, site):
    """Open pages; nothing may go wrong on them."""

    def visit(page, width=1280, **options):
        tab = tab_for({"width": width, "height": 900}, **options)
        tab.goto(f"{site}book/{page}.html", wait_until="domcontentloaded")
        return tab

    return visit


# --- the rules

ODD = (
    """
1.23e-2|1.23E-02|0.0123|.0123|-0|0|0e5|inf|-INF|∞|nan|−1.5|- 1.5|1,234|1,234,567|12,34|1 234|1_000
1,2345|0,123|1/2|1 / 3|-1/3|1/0|0/0|inf/inf|1/-0|50%|50 %|50  %| 50 %|%|5%%|1/2%|true|TRUE|false|1
1.0|2|ABC| a  b |999.5|1e-12|9.9e-13|100|99.95|1e22|123456789012345678901234|1e309|-1e309|0,5|−0,5
,5|5,|12,5 %|27 users|0,123,456|3rd|1-2|00.5|1e-400|5.|.|e5|1e|½|1.2.3|(c)|C)|(ab)|(1)|--1|+5|0x10
0.1234,567|NDCG@10|Ä|2\u2009000|1e+05|007|0.1|0.099|0.0999|304|304.0|||\u00a0
""".strip("\n")
    .replace("\n", "|")
    .split("|")
)
RIGHT = [0, 1, 304, 1234, 1e-11, 0.0123, 0.1, 0.5, 1.0, 5.0, 100.0, 1e22, -1.5, -1 / 3, True, False]
RIGHT += ["ABC", "(c)", "inf", "a b", "nan"]
NUMBERS = st.one_of(
    st.floats(1e-14, 1e20).map(repr),
    st.integers(-(10**9), 10**9).map("{:,}".format),
    st.builds("{}/{}".format, st.integers(-2000, 2000), st.sampled_from([1, 2, 3, 8, 64, 1000])),
    st.builds("{:.3e}{}".format, st.floats(-1e3, 1e3), st.sampled_from(["", "%", " %"])),
    st.text("0123456789.,_ eE+-/%inf()\N{MINUS SIGN}", max_size=8),
)


@pytest.fixture(scope="module")
def javascript(browser):
    """Say in a page what is right of each of (answer, entries)."""
    tab = browser.new_page()
    tab.add_script_tag(path=BOOK / "_static" / "answers.js")
    code = "cases => cases.map(([answer, entries]) => answers.told(answer, entries))"
    yield lambda cases: tab.evaluate(
        code,
        [
            [{"accepted": one.accepted, "labels": one.labels, "percent": one._percent}, entries]
            for one, entries in cases
        ],
    )
    tab.close()


def python(answer, entries):
    said = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("builtins.print", said.append)
        answer(entries)
    return said[0]


def test_odd_answers_are_judged_as_in_python(javascript):
    """To every right answer every odd text is tried."""
    right = {f"label {place}": entry for place, entry in enumerate(RIGHT)}
    answers = [Answer(right, percent=percent) for percent in (False, True)]
    cases = [(answer, [text] * len(right)) for text in ODD for answer in answers]
    assert javascript(cases) == [python(*one) for one in cases]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.floats(-1e9, 1e9), NUMBERS, st.booleans()), min_size=20, max_size=40))
def test_answers_are_judged_as_in_python(javascript, drawn):
    cases = [
        (Answer({"a": right, "b": right, "c": right}, percent=percent), [near, text, f" {right} "])
        for right, text, percent in drawn
        for near in (f"{right:.2e}", repr(right * 0.999), repr(right * 1.01))
    ]
    assert javascript(cases) == [python(*one) for one in cases]


def test_a_share_is_no_percentage_and_asks_what_was_meant(javascript):
    answers = [Answer({"a": right, "b": 0.5}, percent=True) for right in (7.91, 100.0, 0.0123)]
    answers += [Answer({"a": right, "b": 0.5}) for right in (0.0791, 1.0, 0.000123, 791.0)]
    texts = ["7.91", ".0791", "1", "100", "0.000123", "0.0123", "791", "79100", "0", "-7.91", "abc"]
    cases = [(answer, [text, text]) for answer in answers for text in texts]
    said = javascript(cases)
    assert said == [python(*one) for one in cases]
    assert said[1] == "Not yet. Wrong: a; b. Did you mean 7.91?"
    assert said[3 * len(texts)] == "Not yet. Wrong: a; b. Did you mean 0.0791?"
    assert sum("Did you mean" in one for one in said) == 6


# --- the exercises

# In each part, on a page: an exercise with right answers, and for one of them a wrong one
ANSWERS = {
    "top-heavy": {
        "ex-equal-auc": ["199", ".01", "0.5025"],
        "ex-half-value": ["4", "16", "1,024", "3", "5", "11"],
        "ex-judge-auc": ["True"],
    },
    "corrections": {
        "ex-recall-scaled": ["1", "1", "2"],
        "ex-corrections-judge": ["True", "True", "False", "0.00655"],
    },
    "toy-example": {"ex-toy-judge": ["True", "False", "True"]},
    "evaluate-your-own": {"ex-own-referee": [" recall@10 "]},
    "outgrows-the-laptop": {"ex-top-thousand": ["False"]},
    "elsewhere": {
        "ex-elsewhere-limit": ["54542/100.1", "27,270"],
        "ex-elsewhere-reach": ["10.99 %"],
        "ex-elsewhere-judge": ["False"],
    },
    "movielens": {"ex-corrected-judge": ["True", "False", "True", "False"]},
    "how-you-sample": {"ex-published-value": ["DCAB", ".316"]},
    "recommenders": {"ex-free-scores": ["2/3", "0", ".2", "-0"]},
    "where-to-sample": {"ex-learned-three-items": ["0.4", "70 %"]},
    "several-relevant": {"ex-several-judge": ["1.673", "False"]},
    "when-harmless": {"ex-middle": ["0", "1/6", "First", "both"]},
}


def box(tab, exercise):
    return tab.locator(f"#{exercise} .answer-box")


def enter(fields, text):
    """Fill a field or choose from a list."""
    if fields.evaluate("e => e.tagName") == "SELECT":
        fields.select_option(text)
    else:
        fields.fill(text)


def test_every_exercise_has_its_box_and_two_hints(html):
    for page, names in EXERCISES.items():
        tree = soup(html / f"book/{page}.html")
        for name in names:
            assert len(tree.select(f"#{name} .answer-box[data-exercise={name}]")) == 1, name
            titles = [s.get_text(strip=True) for s in tree.select(f"#{name} details > summary")]
            assert titles == ["Hint", "Second hint"], name


def look_in_both_widths(tab, boxes):
    """Give the window two widths; in each, wait until all of these are inside."""
    inside = """([boxes, width]) => {
        const sides = [...document.querySelectorAll(boxes)].map(e => e.getBoundingClientRect());
        return innerWidth === width && sides.length > 0 && sides.every(
            ({left, right}) => 0 <= left && left < right && right <= width);
    }"""
    for width in (390, 1280):
        tab.set_viewport_size({"width": width, "height": 900})
        tab.wait_for_function(inside, arg=[boxes, width])


@pytest.mark.parametrize("page", ANSWERS)
def test_right_and_wrong_answers(visit, page):
    tab = visit(page, width=390)
    for exercise, texts in ANSWERS[page].items():
        check_answers(tab, exercise, texts)
    look_in_both_widths(tab, ".answer-box form")


def check_answers(tab, exercise, texts):
    """Give the right answers, then a wrong one, then one too few."""
    place = box(tab, exercise)
    fields, status = place.locator("input, select"), place.get_by_role("status")
    assert fields.count() == len(texts)
    assert tab.locator(f"#{exercise} .cell_output").is_hidden(), "it says: No answer yet."
    for field, text in zip(fields.all(), texts, strict=True):
        enter(field, text)
    place.get_by_role("button", name="Check").click()
    assert status.inner_text() == "Right."
    assert place.locator(".verdict").all_inner_texts() == ["✓ right"] * len(texts)
    wrong = {"True": "False", "False": "True"}.get(texts[0], "7.77")
    enter(fields.first, wrong)
    assert place.locator(".verdict").first.inner_text() == ""
    place.get_by_role("button", name="Check").click()
    assert status.inner_text().startswith("Not yet.")
    verdicts = place.locator(".verdict").all_inner_texts()
    assert verdicts == ["✗ not yet", *["✓ right"] * (len(texts) - 1)]
    if len(texts) > 1:
        enter(fields.first, "")
        place.get_by_role("button", name="Check").click()
        assert "Still open:" in status.inner_text()


def test_a_phone_shows_the_keys_that_an_answer_needs(visit):
    tab = visit("elsewhere", width=390)
    for exercise, keys in (("ex-elsewhere-limit", "decimal"), ("ex-elsewhere-judge", "")):
        for field in box(tab, exercise).locator("input, select").all():
            assert (field.get_attribute("inputmode") or "") == keys
            assert field.evaluate("e => parseFloat(getComputedStyle(e).fontSize)") >= 16


def test_the_keyboard_is_enough(visit):
    tab = visit("elsewhere")
    place = box(tab, "ex-elsewhere-limit")
    place.get_by_label("rank").wait_for()  # what is still arranged cannot have the focus
    place.get_by_label("rank").focus()
    tab.keyboard.type("545")
    tab.keyboard.press("Tab")
    tab.keyboard.type("27270")
    tab.keyboard.press("Enter")
    assert place.get_by_role("status").inner_text() == "Right."
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "Check"


def test_answers_are_kept_and_counted_and_forgotten(visit):
    tab = visit("elsewhere")
    box(tab, "ex-elsewhere-judge").locator("select").select_option("False")
    box(tab, "ex-elsewhere-judge").get_by_role("button").click()
    box(tab, "ex-elsewhere-limit").get_by_label("rank").fill("545")
    box(tab, "ex-elsewhere-limit").get_by_role("button").click()
    box(tab, "ex-elsewhere-judge").locator("select").select_option("True")
    box(tab, "ex-elsewhere-judge").get_by_role("button").click()
    tab = visit("elsewhere")  # what was right is kept
    assert box(tab, "ex-elsewhere-judge").get_by_role("status").inner_text() == "Right."
    assert box(tab, "ex-elsewhere-limit").get_by_label("rank").input_value() == "545"
    part = visit("part-wild")
    assert "solved 1 of" in part.locator(".exercise-list [role=status]").inner_text()
    assert part.locator(".exercise-list").inner_text().count("✓ solved") == 1
    part.get_by_role("button", name="Forget").click()
    assert "solved 0 of" in part.locator(".exercise-list [role=status]").inner_text()
    assert part.get_by_role("button", name="Forget").count() == 0
    tab = visit("elsewhere")
    assert box(tab, "ex-elsewhere-limit").get_by_label("rank").input_value() == ""


def test_the_sidebar_marks_what_is_solved_until_it_is_forgotten(visit):
    done = ".bd-links a.done"
    tab = visit("top-heavy")
    for exercise, texts in ANSWERS["top-heavy"].items():
        assert tab.locator(done).count() == 0
        fields = box(tab, exercise).locator("input, select")
        for place, text in enumerate(texts):
            enter(fields.nth(place), text)
        box(tab, exercise).get_by_role("button").click()
    assert tab.locator(done).evaluate_all("all => all.map(a => a.pathname)") == [
        "/book/top-heavy.html"
    ]
    tab = visit("part-metrics")
    (page,) = tab.locator(done).all()
    assert page.get_attribute("href") == "top-heavy.html"
    for question in tab.locator("#quiz > section").all():
        assert tab.locator(done).count() == 1
        question.locator("summary").first.click()
        question.locator(".verdict:not(:empty)").wait_for()
    assert tab.locator(done).count() == 2
    tab.get_by_role("button", name="Forget").click()
    assert tab.locator(done).count() == 0
    assert visit("top-heavy").locator(done).count() == 0


def test_a_browser_that_keeps_nothing_checks_all_the_same(visit):
    tab = visit("elsewhere", locale="en-US")  # in a profile of its own
    tab.add_init_script("""for (const name of ["getItem", "setItem"]) {
        const real = Storage.prototype[name];
        Storage.prototype[name] = function (key, ...more) {
            if (key.includes("answers")) throw new Error("denied");
            return real.call(this, key, ...more);
        };
    }""")
    tab.reload(wait_until="domcontentloaded")
    box(tab, "ex-elsewhere-judge").locator("select").select_option("True")
    box(tab, "ex-elsewhere-judge").get_by_role("button").click()
    assert box(tab, "ex-elsewhere-judge").get_by_role("status").inner_text() == "Not yet."


@pytest.mark.parametrize("part", PARTS)
def test_a_part_lists_its_exercises(html, part):
    text = SOURCES[part].partition("reading = {")[2].partition("}")[0]
    chapters = re.findall(r'"([\w-]+)":', text)
    links = [link["href"] for link in soup(html / f"book/{part}.html").select(".exercise-list a")]
    assert links == [f"{page}.html#{name}" for page in chapters for name in EXERCISES[page]]


def test_without_javascript_a_page_says_what_it_cannot_do(visit):
    tab = visit("elsewhere", java_script_enabled=False)
    tab.wait_for_load_state()  # style sheets, too: what they hide is seen before
    assert tab.locator("form:visible").count() == 0
    assert "JavaScript" in tab.locator("#ex-elsewhere-limit .answer-box").inner_text()
    assert tab.locator("#ex-elsewhere-limit .cell_output").inner_text().strip() == "No answer yet."
    assert tab.locator("#ex-elsewhere-limit details").first.get_attribute("open") is None


# --- the quizzes


@pytest.mark.parametrize("page", PARTS)
def test_a_quiz_answers_and_counts(visit, page):
    """Open two choices of each question, by turns the right and a wrong one first."""
    tab = visit(page, width=390)
    questions = tab.locator("#quiz > section").all()
    right = 0
    for number, question in enumerate(questions, 1):
        choices = question.locator("details").all()
        is_right = ["Right:" in choice.locator(".sd-card-text").first.text_content()
                    for choice in choices]  # fmt: skip
        order = [is_right.index(number % 2 == 0), is_right.index(number % 2 == 1)]
        for choice in order:
            choices[choice].locator("summary").click()
            verdict = choices[choice].locator(".verdict")
            verdict.get_by_text("✓ Right" if is_right[choice] else "✗ Wrong").wait_for()
            assert choices[choice].locator(".sd-summary-content").is_visible()
        right += is_right[order[0]]
        says = f"Right at the first choice: {right} of {number}."
        tab.locator("#quiz [role=status]").get_by_text(says).wait_for()
    tab.get_by_text("Questions left: 0.").wait_for()
    look_in_both_widths(tab, "#quiz details[open] :is(.verdict, .sd-summary-content)")
    tab.get_by_role("button", name="Start again").click()
    assert tab.locator("#quiz [role=status]").inner_text() == ""
    assert tab.locator("#quiz details[open]").count() == 0
    assert "".join(tab.locator("#quiz .verdict").all_inner_texts()) == ""


def test_choices_of_a_quiz_are_kept_and_forgotten(visit):
    tab = visit("part-wild")
    questions = tab.locator("#quiz > section")
    for number, place in ((0, 1), (2, 0), (2, 1)):  # the first choice counts
        questions.nth(number).locator("summary").nth(place).click()
    score = tab.locator("#quiz [role=status]")
    score.get_by_text("of 2.").wait_for()
    before = score.inner_text()
    tab.reload(wait_until="domcontentloaded")
    score.get_by_text("of 2.").wait_for()
    assert score.inner_text() == before
    assert tab.locator("#quiz details[open]").count() == 2
    assert tab.locator("#quiz details[open] .verdict:empty").count() == 0
    assert questions.nth(2).locator("details").first.get_attribute("open") is not None
    tab.get_by_role("button", name="Forget").click()  # in the list of exercises
    assert tab.get_by_role("button", name="Forget").count() == 0
    assert score.inner_text() == ""
    assert tab.locator("#quiz details[open]").count() == 0
    tab.reload(wait_until="load")
    assert score.inner_text() == ""
    assert tab.locator("#quiz details[open]").count() == 0
    questions.first.locator("summary").first.click()
    score.get_by_text("of 1.").wait_for()
    tab.get_by_role("button", name="Start again").click()
    tab.reload(wait_until="load")
    assert score.inner_text() == ""
    assert tab.locator("#quiz details[open]").count() == 0


def test_a_quiz_needs_no_mouse(visit):
    tab = visit("part-metrics")
    tab.locator("#quiz summary").first.wait_for()
    tab.locator("#quiz summary").first.focus()
    tab.keyboard.press("Enter")
    tab.locator("#quiz summary").first.locator(".verdict").get_by_text("Wrong").wait_for()
    tab.locator("#quiz [role=status]").get_by_text("0 of 1.").wait_for()


# --- for everybody


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
@pytest.mark.parametrize("page", ["elsewhere", "part-metrics", "part-wild"])
def test_axe_finds_nothing_in_what_was_answered(visit, page, width, scheme):
    tab = visit(page, width, color_scheme=scheme)
    if page == "elsewhere":
        box(tab, "ex-elsewhere-limit").get_by_label("rank").fill("545")
        box(tab, "ex-elsewhere-limit").get_by_label("samples").fill("5")
        box(tab, "ex-elsewhere-limit").get_by_role("button").click()
    if page == "part-metrics":
        for summary in tab.locator("#quiz section:first-of-type summary").all():
            summary.click()
        tab.locator("#quiz [role=status]").get_by_text("0 of 1.").wait_for()
    tab.locator(f"html[data-theme={scheme}]").wait_for()
    tab.evaluate((files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
    where = [[".answer-box"], [".exercise-list"], ["#quiz"]]
    there = [one for one in where if tab.locator(one[0]).count()]
    run = "include => axe.run({include}, {resultTypes: ['violations']})"
    found = tab.evaluate(run, there)["violations"]
    assert [(rule["id"], node["html"]) for rule in found for node in rule["nodes"]] == []
