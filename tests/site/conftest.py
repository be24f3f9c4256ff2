"""A local server of the built book, and a browser to read it with."""

import os
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Error, sync_playwright

from tabs import WINDOW, new_tab, open_explorer

HTML = Path(__file__).parents[2] / "_build" / "html"
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
)


@pytest.fixture(scope="session")
def html():
    """Return the folder of the built book."""
    if not (HTML / "index.html").exists():
        pytest.fail(f"There is no built book in {HTML}: run `make book` first.", pytrace=False)
    return HTML


@pytest.fixture(scope="session")
def site(html):
    """Serve the book on this machine; the address ends in a slash."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=html)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="session")
def browser():
    """Start the Chromium that $CHROMIUM names, or one on the PATH, or Chrome where it is kept."""
    chromium = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    where = {"executable_path": chromium} if chromium else {"channel": "chrome"}
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(**where, args=FLAGS.split())
        except Error as error:
            pytest.fail(
                f"No Chromium could be started: install one (a package named {BROWSERS[1]}, or "
                f"Chrome), or name one in $CHROMIUM.\n{error}",
                pytrace=False,
            )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def kept_tab(browser):
    """Keep a tab for all tests: what it has loaded once it need not fetch and compile again."""
    tab = new_tab(browser)
    yield tab
    tab.close()


@pytest.fixture
def tab_for(browser, site, kept_tab):
    """Find a tab as it was when new: the kept one, or for options one with its own profile.

    Nothing may go wrong in it, and what the test changed is undone.
    """
    own = []

    def tab_for(viewport=WINDOW, **options):
        if options:
            own.append(new_tab(browser, **options))
        tab = own[-1] if options else kept_tab
        tab.set_viewport_size(viewport)
        tab.mouse.move(0, 0)
        tab.goto("about:blank")  # or a link to a place on the same page would not load it
        return tab

    yield tab_for
    wrong = [error for tab in (kept_tab, *own) for error in tab.wrong]
    for tab in own:
        tab.close()
    kept_tab.wrong.clear()
    kept_tab.emulate_media(media="screen")
    if kept_tab.url.startswith(site):
        kept_tab.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
    assert wrong == []


@pytest.fixture
def visit(tab_for, site):
    """Open an explorer."""

    def visit(name, address=None, **options):
        return open_explorer(tab_for(**options), site, name, address)

    return visit


@pytest.fixture
def start(visit):
    """Open an explorer and put the focus on the first control, as Tab does in the end."""

    def start(name):
        tab = visit(name)
        tab.explorer.locator("input, select").first.focus()
        return tab

    return start


@pytest.fixture(scope="module")
def javascript(browser, site):
    """Call a function of sampled-metrics.js on each of a list of cases."""
    tab = open_explorer(new_tab(browser), site, "toy")

    def call(expression, cases):
        """Evaluate `expression`, which may name the values of a case a, b, c, ..., for each."""
        code = "cases => { const M = sampledMetrics; return cases.map(([a, b, c, d, e, f]) => "
        return tab.evaluate(f"{code} {expression}); }}", cases)

    yield call
    tab.close()
