"""A local server of the built book, and a browser to read it with."""

import os
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Error, sync_playwright

from tabs import open_explorer

HTML = Path(__file__).parents[2] / "_build" / "html"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
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
                f"No Chromium could be started: install one (a package named {BROWSERS[0]}, or "
                f"Chrome), or name one in $CHROMIUM.\n{error}",
                pytrace=False,
            )
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, site):
    """Open explorers, and close them after the test; nothing may have gone wrong."""
    tabs = []

    def visit(name, **options):
        tabs.append(open_explorer(browser, site, name, **options))
        return tabs[-1]

    yield visit
    for tab in tabs:
        tab.close()
        assert tab.wrong == []


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
    tab = open_explorer(browser, site, "toy")

    def call(expression, cases):
        """Evaluate `expression`, which may name the values of a case a, b, c, ..., for each."""
        code = "cases => { const M = sampledMetrics; return cases.map(([a, b, c, d, e, f]) => "
        return tab.evaluate(f"{code} {expression}); }}", cases)

    yield call
    tab.close()
