"""How quick is the page of a hundred nodes and three hundred links? Needs Chromium and playwright.

Prints the time to the first paint (three loads) and, for each filter, the time from the event to the laid-out page
and to the next frame (median and worst of sixteen changes).
"""

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests import networks

MEASURE = """async ([id, values]) => {
    const element = document.getElementById(id), done = [], framed = [];
    for (let k = 0; k < 16; k++) {
        const start = performance.now();
        element.value = values[k % values.length];
        element.dispatchEvent(new Event('input'));
        document.body.getBoundingClientRect();
        done.push(performance.now() - start);
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
        framed.push(performance.now() - start);
    }
    const sorted = [done, framed].map((times) => times.sort((a, b) => a - b));
    return sorted.flatMap((times) => [times[7], times[15]]);
}"""


def hundred():
    """Return a network of a hundred nodes and three hundred links, every pair tested."""
    rng, edges = np.random.default_rng(0), set()
    while len(edges) < 300:
        edges.add(tuple(rng.choice(100, 2, replace=False).tolist()))
    return networks.make(tuple(f"region {i:02d}" for i in range(100)), sorted(edges), nulls=199)


def main():
    path = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        page = hundred().report(Path(folder) / "report.html")
        print(f"{page.stat().st_size / 1e6:.2f} MB")
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        for _ in range(3):
            tab = browser.new_context(viewport={"width": 1280, "height": 800}, offline=True).new_page()
            tab.goto(page.as_uri())
            tab.wait_for_selector("html[data-drawn=all]", state="attached")
            paint = tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
            print(f"first contentful paint {paint:.0f} ms")
        for what, values in (("q", ["4", "10"]), ("te", ["12", "0"]), ("name", ["region 1", ""])):
            laid, worst, frame, late = tab.evaluate(MEASURE, [what, values])
            print(f"{what}: laid out {laid:.0f} ms (worst {worst:.0f}), next frame {frame:.0f} ms (worst {late:.0f})")
        browser.close()


if __name__ == "__main__":
    main()
