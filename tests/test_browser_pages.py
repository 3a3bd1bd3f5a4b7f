"""The docs site in a real browser: it fits the screen, fetches nothing and has no error or warning in the console."""

import subprocess
import sys
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
@pytest.mark.parametrize("name", ["index", "start", "reference", "gallery", "estimators"])
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
    context.close()
