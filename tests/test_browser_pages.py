"""The docs site in a real browser: it fits the screen, fetches nothing and has no error or warning in the console."""

import functools
import http.server
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.test_browser import chromium  # noqa: F401 (a fixture)

pytestmark = pytest.mark.browser

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("pydata_sphinx_theme", reason="the extra docs is not installed; run make docs")
    folder = tmp_path_factory.mktemp("site")
    subprocess.run([sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", DOCS, folder], check=True)
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1300, 400])
@pytest.mark.parametrize(
    "name",
    [
        "index",
        "start",
        "fields",
        "field",
        "export",
        "report",
        "tutorial-cortex",
        "reference",
        "api/enmesh.Network",
        "gallery",
        "equations",
        "estimators",
    ],
)
def test_a_page_fits_and_is_alone(chromium, site, name, width, scheme):  # noqa: F811
    viewport = {"width": width, "height": 900}
    context = chromium.new_context(viewport=viewport, color_scheme=scheme, offline=True)
    page = context.new_page()
    noise, requests = [], []
    # The theme logs the colours it takes; warnings and errors are what must not be.
    page.on("console", lambda message: message.type == "log" or noise.append(message.text))
    page.on("pageerror", lambda error: noise.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto((site / f"{name}.html").as_uri())
    page.wait_for_load_state("networkidle")
    assert noise == []
    assert [url for url in requests if not url.startswith(("data:", site.as_uri()))] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    assert page.locator("h1").first.is_visible()
    assert page.evaluate(CUT) == []
    pictures = page.evaluate(PICTURES)
    assert all(loaded and scheme in theme for loaded, theme in pictures), pictures
    assert pictures or name not in ("index", "start", "tutorial-cortex", "gallery")
    context.close()


# Code that is wider than its box; and of every picture that is shown, whether it is there and for which theme.
CUT = """[...document.querySelectorAll("div.highlight pre")]
    .filter(e => e.offsetParent && e.scrollWidth > e.clientWidth + 1).map(e => e.innerText)"""
PICTURES = """[...document.querySelectorAll("article img")].filter(e => e.offsetParent).map(e => [
    e.complete && e.naturalWidth > 0,
    e.matches(".only-dark") ? "dark" : e.matches(".only-light") ? "light" : "light, dark"])"""


# What is in sight of the first screen and is neither words nor code.
SEEN = """() => [...document.querySelectorAll("article :is(img, table, iframe, .sd-card, .formula)")].filter(e => {
    const box = e.getBoundingClientRect();
    return e.offsetParent && box.height > 10 && box.top < innerHeight - 60;
}).length"""


def test_every_page_has_a_picture_or_a_table_on_its_first_screen(chromium, site):  # noqa: F811
    page = chromium.new_page(viewport={"width": 1280, "height": 720})
    without = []
    for name in sorted(path.stem for path in DOCS.glob("*.md")):
        page.goto((site / f"{name}.html").as_uri())
        if not page.evaluate(SEEN):
            without.append(name)
    page.close()
    assert without == []


def test_the_page_of_the_field_is_a_third_as_long_as_it_was(chromium, site):  # noqa: F811
    page = chromium.new_page(viewport={"width": 1280, "height": 720})
    page.goto((site / "field.html").as_uri())
    assert page.evaluate("document.documentElement.scrollHeight") <= 16_000 / 3
    assert page.locator("table:visible strong").count() >= 8  # the best of each column
    page.close()


def test_a_live_report_follows_the_theme(chromium, site):  # noqa: F811
    page = chromium.new_page(viewport={"width": 1300, "height": 900}, color_scheme="null")
    page.goto((site / "report.html").as_uri())
    frame = page.frame_locator("iframe.live")
    assert frame.locator("svg").first.is_visible()
    shade = "getComputedStyle(document.body).backgroundColor"
    light = frame.locator("body").evaluate(shade)
    other = "light" if page.evaluate("document.documentElement.dataset.theme") == "dark" else "dark"
    page.evaluate(f"document.documentElement.dataset.theme = '{other}'")
    page.wait_for_timeout(300)
    assert frame.locator("body").evaluate(shade) != light
    page.close()


@pytest.mark.parametrize("word", ["granger", "causal", "causality", "VAR", "PCMCI", "export", "gephi", "fmri"])
def test_the_search_knows_the_words_of_others(chromium, site, word):  # noqa: F811
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = chromium.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/search.html?q={word}")
        page.locator("#search-results li").first.wait_for()
        assert "words.html" in page.locator("#search-results li a").first.get_attribute("href")
        page.close()
        server.shutdown()
