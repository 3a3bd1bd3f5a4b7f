"""The page in a real browser: it loads nothing, says nothing to the console, and does what it offers."""

import csv
import dataclasses
import io
import shutil
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import enmesh as em
from enmesh.network.network import Candidate
from enmesh.sureness.compare import Comparison
from enmesh.sureness.group import Group
from enmesh.sureness.windows import Windows
from tests import networks

pytestmark = pytest.mark.browser

SIZES = {"laptop": (1300, 800), "phone": (390, 844), "narrow": (400, 800)}
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


@pytest.fixture(scope="module")
def chromium():
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed; run make test-browser")
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("chromium is not installed; run make test-browser")
    with api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def show(chromium, tmp_path):
    """Return ``show(network, ...)``, which opens a page; in the end each must have been silent and alone."""
    opened = []

    def show(network, size="laptop", scheme="light", **rest):
        width, height = SIZES[size]
        viewport = {"width": width, "height": height}
        context = chromium.new_context(viewport=viewport, color_scheme=scheme, offline=True, **rest)
        page = context.new_page()
        page.noise, page.requests = [], []
        page.on("console", lambda message: page.noise.append(message.text))
        page.on("pageerror", lambda error: page.noise.append(str(error)))
        page.on("dialog", lambda dialog: page.noise.append(dialog.message))
        page.on("request", lambda request: page.requests.append(request.url))
        page.address = network.report(tmp_path / f"{len(opened)}.html").as_uri()
        page.goto(page.address)
        page.wait_for_selector("html[data-drawn=all]", state="attached")
        opened.append(page)
        return page

    yield show
    for page in opened:
        assert page.noise == []
        assert [url for url in page.requests if not url.startswith("data:")] == [page.address]
        page.context.close()


def outcomes(network):
    return {(network.names.index(c.source), network.names.index(c.target)): c for c in network.candidates}


def visible(page):
    links = page.locator(".edge:not(.off)").evaluate_all("edges => edges.map(e => e.dataset.link)")
    return {tuple(map(int, link.split())) for link in links}


def column(page, at):
    return page.locator(f"#link-table tbody td:nth-child({at + 1})").all_inner_texts()


def on_edge(page, source, target):
    """Return a place on the screen half way along an arrow."""
    return page.locator(f'.edge[data-link="{source} {target}"] .hit').evaluate(
        """path => {
            const half = path.getPointAtLength(path.getTotalLength() / 2);
            const place = new DOMPoint(half.x, half.y).matrixTransform(path.getScreenCTM());
            return [place.x, place.y];
        }"""
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", ["laptop", "phone"])
@pytest.mark.parametrize("maker", ["three", "five", "thirty", "fifty", "ring", "tangle", "odd", "empty"])
def test_loads_at_every_size_without_a_word_and_without_overflow(show, maker, size, scheme):
    network = getattr(networks, maker)()
    page = show(network, size, scheme)
    assert page.locator(".node").count() == len(network.names)
    assert visible(page) == set(map(tuple, zip(*map(list, network.adjacency.nonzero()), strict=True)))
    assert page.evaluate("document.documentElement.scrollWidth") == SIZES[size][0]
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 23, 27)"
    assert dark == (scheme == "dark")
    assert len(page.screenshot(full_page=True)) > 20_000


PARTIAL = {
    "formula": {"nulls": 0},
    "untested": {"candidates": ()},
    "given embedding": {"criteria": False},
    "no preview": {"preview": {}},
    "nothing said": {"choices": (), "warnings": (), "provenance": {}, "options": {}},
}


@pytest.mark.parametrize("missing", PARTIAL)
def test_loads_when_parts_are_missing(show, missing):
    page = show(networks.three(**PARTIAL[missing]))
    assert page.locator(".node").count() == 3
    assert len(column(page, 0)) == 2


def test_one_node_alone(show):
    page = show(networks.make(("alone",), []))
    assert page.locator("h1").inner_text() == "One node: no link is possible."
    assert page.locator(".node").count() == 1


def test_slider_hides_links_in_network_and_table(show):
    network = networks.thirty()
    page, tests = show(network), outcomes(network)
    everything = visible(page)
    sure = {link for link in everything if tests[link].q_value <= 0.05}
    assert set() < sure < everything
    page.locator("#q").focus()
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    assert page.locator("#q-value").inner_text() == "0.05"
    assert visible(page) == sure
    assert page.locator("#shown").inner_text() == f"{len(sure)} of {len(everything)} links shown"
    assert len(column(page, 0)) == len(sure)
    page.keyboard.press("Home")
    assert visible(page) == set()
    assert page.locator("#links-empty").is_visible()
    page.keyboard.press("End")
    assert visible(page) == everything


def lagged(network):
    """Return the network with lags 1, 2, 3 in turn."""
    tests = []
    for at, test in enumerate(network.candidates):
        known = {field.name: getattr(test, field.name) for field in dataclasses.fields(test)} | {"lags": ()}
        known = {name: value for name, value in known.items() if hasattr(test, name)}
        tests.append(Candidate(**known | {"lag": 1 + at % 3}))
    return dataclasses.replace(network, candidates=tuple(tests))


def hundred():
    """Return a hundred nodes with three hundred links."""
    rng, edges = np.random.default_rng(5), set()
    while len(edges) < 300:
        edges.add(tuple(rng.choice(100, 2, replace=False).tolist()))
    return networks.make(tuple(f"region {i:02d}" for i in range(100)), sorted(edges), nulls=49)


def test_strength_lag_and_name_hide_links(show):
    network = lagged(networks.thirty())
    page, tests = show(network), outcomes(network)
    everything = visible(page)
    page.locator("#te").focus()
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    least = 0.5 * max(tests[link].te for link in everything)
    strong = {link for link in everything if tests[link].te >= least}
    assert set() < visible(page) == strong < everything
    page.keyboard.press("Home")
    page.locator("#lag").select_option("2")
    assert set() < visible(page) == {link for link in everything if tests[link].lag == 2} < everything
    assert set(column(page, 5)) == {"2"}
    page.locator("#lag").select_option("")
    page.locator("#name").fill("NODE 1")
    named = {i for i, name in enumerate(network.names) if "node 1" in name}
    assert set() < visible(page) == {link for link in everything if set(link) & named} < everything
    assert page.locator(".node.named").count() == len(named)
    page.locator("#name").fill("")
    assert visible(page) == everything


def test_no_choice_of_lag_and_no_lags_on_arrows_where_all_are_one(show):
    page = show(networks.five())
    assert page.locator("#lag").is_hidden()
    assert page.locator(".tag").count() == 0
    page = show(lagged(networks.five()))
    assert page.locator("#lag").is_visible()
    assert page.locator(".tag text").count() == 5


def test_pointing_at_a_node_shows_its_parents_and_children(show):
    page = show(networks.five())
    names = page.locator(".node").evaluate_all("all => all.map(e => e.getAttribute('aria-label').split('.')[0])")
    page.locator(".node").nth(names.index("breath")).hover()

    def marked(what):
        return page.locator(f".node.{what}").evaluate_all("all => all.map(e => e.textContent)")

    assert marked("parent") == ["heart"]
    assert marked("child") == ["blood oxygen"]
    assert page.locator(".edge.lit").count() == 2
    page.mouse.move(2, 2)
    assert page.locator(".parent, .child, .lit").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_network_is_saved_as_svg(show, scheme, tmp_path):
    network = lagged(networks.odd())
    page = show(dataclasses.replace(network, provenance={"file": "a b/heart & co.csv"}), scheme=scheme)
    with page.expect_download() as download:
        page.locator("#save-svg").click()
    assert download.value.suggested_filename == "heart-co-network.svg"
    download.value.save_as(tmp_path / "network.svg")
    text = (tmp_path / "network.svg").read_text(encoding="utf-8")
    root = ET.fromstring(text)
    assert "var(" not in text
    assert "color-mix" not in text
    paths = [e for e in root.iter() if e.tag.endswith("}path")]
    assert len(paths) == 2 * int(network.adjacency.sum())
    words = "".join("".join(e.itertext()) for e in root.iter() if e.tag.endswith("}text"))
    for name in networks.ODD_NAMES:
        assert "".join(name.split()) in "".join(words.split())


def test_unstable_links_are_pale_and_stability_is_a_column(show):
    page = show(networks.three(stability={"a>b": 1.0, "b>c": 0.25, "a>c": 0.5}))

    def opacity(link):
        return page.locator(f'.edge[data-link="{link}"] .shaft').evaluate("e => getComputedStyle(e).opacity")

    assert page.locator("#link-table th").all_inner_texts()[-1].startswith("Stability")
    assert sorted(column(page, 6)) == ["0.25", "1"]
    assert (opacity("0 1"), opacity("1 2")) == ("1", "0.4")
    assert page.locator("#fade-key").is_visible()
    page.locator("#fade").uncheck()
    assert (opacity("0 1"), opacity("1 2")) == ("1", "1")
    plain = show(networks.three())
    assert plain.locator("#link-table th").count() == 6
    assert not plain.locator("#fade-key, #fade-label").first.is_visible()


@pytest.mark.parametrize("size", ["laptop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_of_windows_groups_and_comparisons(show, size, scheme):
    network, rng = networks.odd(), np.random.default_rng(0)
    frames = [pd.DataFrame(rng.random((5, 5)), network.names, network.names) for _ in range(5)]
    over_time = [rng.random((30, 5, 5)) for _ in range(3)]
    results = {
        "#windows": Windows(*over_time, np.arange(30), 20, network, 1.0),
        "#subjects": Group(network, *frames[:4], 7),
        "#difference": Comparison(*frames, "labels of 3 and 4 subjects exchanged"),
    }
    for section, result in results.items():
        page = show(result, size, scheme)
        assert page.locator(f"{section} .map td").count() >= 25
        assert page.evaluate("document.documentElement.scrollWidth") == SIZES[size][0]


def test_links_are_saved_as_csv(show, tmp_path):
    network = networks.odd()
    page = show(network)
    page.locator("#all").check()
    with page.expect_download() as download:
        page.locator("#save-csv").click()
    download.value.save_as(tmp_path / "links.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "links.csv").read_text(encoding="utf-8"))))
    saved = {(row["source"], row["target"]): row for row in rows}
    assert len(saved) == len(network.candidates)
    for test in network.candidates:
        row = saved[test.source, test.target]
        assert float(row["te"]) == pytest.approx(test.te, rel=1e-6)
        assert float(row["q_value"]) == pytest.approx(test.q_value, rel=1e-6)
        assert (row["lags"], row["selected"]) == (str(test.lag), str(test.selected).lower())


def test_a_hundred_nodes_build_only_what_is_looked_at(show):
    network = hundred()
    page = show(network)
    assert len(visible(page)) == 300
    seen = page.locator("#link-table tbody tr:visible")
    assert seen.count() == 60
    assert page.locator(".tile").count() == 3 * 24
    page.locator("#more-links").click()
    assert seen.count() == 300
    page.locator("#all").check()
    assert seen.count() == 600
    assert "The first 600 of 9900" in page.locator("#links-count").inner_text()


FILTERED = """async ([id, values]) => {
    const element = document.getElementById(id), times = [];
    for (let k = 0; k < 9; k++) {
        const start = performance.now();
        element.value = values[k % 2];
        element.dispatchEvent(new Event('input'));
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
        times.push(performance.now() - start);
    }
    return times.sort((a, b) => a - b)[4];
}"""


def test_a_hundred_nodes_are_painted_within_a_second_and_filtered_within_a_tenth(show):
    """Of nine changes of each filter the median counts, since another process may take the processor."""
    page = show(hundred())
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    assert paint < 1000
    page.locator("#network").scroll_into_view_if_needed()
    for what, values in (("q", ["4", "10"]), ("te", ["12", "0"]), ("name", ["region 1", ""])):
        assert page.evaluate(FILTERED, [what, values]) < 100, what
    page.wait_for_function("() => !document.body.classList.contains('filtering')")  # then all is drawn again


def test_recording_is_named_and_has_a_time_axis(show):
    known = networks.provenance(3) | {"file": "/data/<i>run & 7.csv", "dt": 0.5, "date": "2024-05-01"}
    page = show(networks.three(provenance=known, nulls=0))
    assert page.title() == "<i>run & 7.csv: 2 of 6 possible links found."
    assert "2024-05-01" in page.locator(".recording").inner_text()
    marks = page.locator("#series-tiles .tile").first.locator(".time span").all_text_contents()
    assert marks == ["0", "500"]  # round numbers over all 2000 samples


def test_headings_sort_by_mouse_and_by_key(show):
    network = networks.thirty()
    page = show(network)
    te = [float(value) for value in column(page, 2)]
    assert te == sorted(te, reverse=True)
    heading = page.locator("#link-table th").nth(2)
    assert heading.get_attribute("aria-sort") == "descending"
    heading.locator("button").click()
    assert [float(value) for value in column(page, 2)] == sorted(te)
    assert heading.get_attribute("aria-sort") == "ascending"
    page.locator("#link-table th").nth(0).locator("button").focus()
    page.keyboard.press("Enter")
    assert column(page, 0) == sorted(column(page, 0))
    assert heading.get_attribute("aria-sort") == "none"
    page.keyboard.press("Enter")
    assert column(page, 0) == sorted(column(page, 0), reverse=True)


def test_all_tested_pairs_on_request(show):
    network = networks.five()
    page = show(network)
    assert len(column(page, 0)) == 5
    page.locator("#all").check()
    assert len(column(page, 0)) == 20
    assert page.locator("tr.unselected").count() == 15


def test_pointing_at_an_arrow_shows_its_numbers(show):
    network = networks.five()
    page, tests = show(network), outcomes(network)
    page.locator("#graph").scroll_into_view_if_needed()
    for link in sorted(visible(page)):
        page.mouse.move(5, 5)
        assert page.locator("#tip").is_hidden()
        page.mouse.move(*on_edge(page, *link))
        said, test = page.locator("#tip").inner_text(), tests[link]
        assert f"{test.source} → {test.target}" in said
        for value, digits in ((test.te, 4), (test.p_value, 3), (test.q_value, 3)):
            assert f"{float(f'{value:.{digits}g}'):g}" in said
        assert page.locator("#tip svg .bin").count() > 3
        assert page.locator(".edge.lit").count() == 1
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()


def test_touching_an_arrow_opens_what_stands_behind_it(show):
    page = show(networks.three(), "phone", has_touch=True)
    page.locator("#graph").scroll_into_view_if_needed()
    page.touchscreen.tap(*on_edge(page, 0, 1))
    assert "a → b" in page.locator("#panel").inner_text()
    page.get_by_role("button", name="Close").tap()
    assert page.locator("#panel").is_hidden()


def test_pointing_at_matrix_and_row_shows_numbers(show):
    page = show(networks.five())
    page.locator('.cell[data-link="4 0"]').hover()
    assert "EMG → heart" in page.locator("#tip").inner_text()
    page.locator("#link-table tbody tr").first.hover()
    assert "nats" in page.locator("#tip").inner_text()


@pytest.fixture(scope="module")
def inferred():
    """A network with its data: three nodes, one negative effect, a spike in the last tenth of the first recording."""
    values = em.simulate.var({"b": ["a"], "c": ["b"]}, n=900, lags={("b", "c"): 2}, seed=3).values.copy()
    values[:, 2] *= -1
    values[860, 0] += 14
    series = em.Series(values, names=["a", "b", "c"])
    return em.infer(series, estimator="gaussian", max_lag=3)


def said_of(page):
    return page.locator("#panel").inner_text()


def numbers_in(page, network, source, target):
    """Hold the numbers of the panel against those of Python."""
    about, said = network.explain(source, target), said_of(page)
    assert about.sentence[:80] in said
    for value, digits in ((about.te, 4), (about.low, 3), (about.high, 3), (about.effect, 3)):
        assert f"{abs(float(f'{value:.{digits}g}')):g}" in said, (value, said)
    assert page.locator("#panel .chart").count() == 4
    assert page.locator("#panel circle.stem").count() == len(about.lags)
    assert page.locator("#panel circle.stem.chosen title").first.text_content().startswith(f"lag {about.lag}:")
    assert page.locator("#panel .dots").get_attribute("d").count("M") == len(about.scatter)


def test_panel_opens_by_mouse_and_stays(show, inferred):
    page = show(inferred)
    page.locator("#graph").scroll_into_view_if_needed()
    page.mouse.click(*on_edge(page, 0, 1))
    numbers_in(page, inferred, "a", "b")
    assert page.locator(".edge.asked").get_attribute("data-link") == "0 1"
    assert page.locator("tr.asked").get_attribute("data-link") == "0 1"
    page.mouse.move(5, 5)
    page.locator("#name").fill("a")
    assert page.locator("#panel").is_visible()
    page.locator("#name").fill("")
    page.locator("#link-table tbody tr", has_text="c").first.click()
    numbers_in(page, inferred, "b", "c")
    assert page.evaluate("document.documentElement.scrollWidth") == SIZES["laptop"][0]
    page.get_by_role("button", name="Close").click()
    assert page.locator("#panel").is_hidden()
    assert page.locator(".asked").count() == 0


def test_panel_opens_by_keyboard(show, inferred):
    page = show(inferred)
    page.locator('.edge[data-link="1 2"]').focus()
    page.keyboard.press("Enter")
    numbers_in(page, inferred, "b", "c")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the next link
    numbers_in(page, inferred, "a", "b")
    page.keyboard.press("Escape")
    assert page.locator("#panel").is_hidden()
    page.locator('tr[data-link="0 1"]').focus()
    page.keyboard.press(" ")
    numbers_in(page, inferred, "a", "b")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.dataset.link") == "0 1"  # where it was before


def test_pair_that_is_no_link_has_its_numbers(show, inferred):
    page = show(inferred)
    page.locator("#all").check()
    page.locator('tr[data-link="2 0"]').click()
    assert "Not a link of the network" in said_of(page)
    test = next(c for c in inferred.candidates if (c.source, c.target) == ("c", "a"))
    assert f"{float(f'{test.p_value:.3g}'):g}" in said_of(page)


def test_panel_of_a_hundred_nodes_takes_less_than_a_fifth_of_a_second(show):
    network = hundred()
    rng = np.random.default_rng(0)
    about = {"scatter": rng.normal(size=(240, 2)).tolist(), "curve": rng.normal(size=(32, 2)).tolist(), "chance": 0.1}
    about |= {"lags": list(range(1, 31)), "lag_te": rng.random(30).tolist(), "times": list(range(100)), "given": []}
    about |= {"local": rng.random(100).tolist(), "low": 0.0, "high": 1.0, "sentence": "It does."}
    evidence = {f"{s}>{t}": about | {"source": s, "target": t} for s, t in network}
    network = dataclasses.replace(network, evidence=evidence)
    page = show(network)
    times = page.evaluate(
        """() => [...arrows.values()].slice(0, 9).map((arrow) => {
            const start = performance.now();
            openPanel(arrow.link, arrow.group);
            byId('panel').getBoundingClientRect();
            return performance.now() - start;
        }).sort((a, b) => a - b)"""
    )
    assert times[4] < 200, times
    assert page.locator("#panel .chart").count() == 4


def test_page_of_forty_nodes_is_small(tmp_path):
    rng = np.random.default_rng(4)
    edges = sorted({tuple(sorted(rng.choice(40, 2, replace=False).tolist())) for _ in range(60)})
    values = rng.normal(size=(800, 40))
    for i, j in edges:
        values[1:, j] += 0.6 * values[:-1, i]
    names = [f"x{k}" for k in range(40)]
    found = em.infer(em.Series(values, names=names), estimator="gaussian", max_lag=1)
    page = found.report(tmp_path / "page.html")
    assert len(found) >= 40
    assert len(found.with_evidence().evidence) == len(found)
    assert page.stat().st_size < 2_000_000


def test_rows_and_arrows_light_each_other(show, inferred):
    page = show(inferred)
    page.locator('tr[data-link="1 2"]').hover()
    assert page.locator(".edge.lit").get_attribute("data-link") == "1 2"
    page.locator("#graph").scroll_into_view_if_needed()
    page.mouse.move(*on_edge(page, 0, 1))
    assert page.locator("tr.lit").get_attribute("data-link") == "0 1"
    page.mouse.move(2, 2)
    assert page.locator(".lit").count() == 0


def test_spike_in_the_last_tenth_is_drawn(show, inferred):
    page = show(inferred)
    tile = page.locator("#series-tiles .tile").first
    top = inferred.series.values[:, 0].max()
    assert f"{float(f'{top:.3g}'):g}" in tile.locator("small").inner_text()
    path = tile.locator(".spark").get_attribute("d")
    points = [tuple(map(float, pair.split())) for pair in path.replace("M", "L").split("L") if pair]
    peak = min(points, key=lambda point: point[1])
    assert peak[1] == 2.0  # the upper end of its scale
    assert peak[0] == pytest.approx(200 * 860 / 899, abs=1)
    assert points[-1][0] == 200.0
    marks = tile.locator(".time span").all_text_contents()
    assert marks == ["0", "500"]


def test_colour_tells_effect_strength_or_lag(show, inferred):
    page = show(inferred)
    shafts = page.locator(".edge .shaft")

    def colours():
        return shafts.evaluate_all("all => all.map((e) => getComputedStyle(e).stroke)")

    seen = {}
    for mode, told in (("effect", "effect"), ("te", "transfer entropy"), ("lag", "lag (samples)")):
        page.locator("#colour").select_option(mode)
        assert told in page.locator("#ramp-label").inner_text()
        seen[mode] = colours()
    assert len(set(map(tuple, seen.values()))) == 3
    assert page.locator("#hollow-key").is_visible()  # b drives c with a negative effect
    hollow = page.locator('.edge[data-link="1 2"] .head').evaluate("e => getComputedStyle(e).fill")
    assert hollow == "rgb(255, 255, 255)"
    assert page.locator("#widths").inner_text().split()[-1] == f"{inferred.edges.te.max():.2g}"


def test_time_graph_and_contents(show, inferred):
    page = show(inferred)
    assert page.locator("#timegraph .step").count() == 2
    heads = page.locator("#timegraph .tick").all_text_contents()
    assert heads == ["t − 2", "t − 1", "t"]
    page.locator('#timegraph .step[data-link="1 2"] .hit').dispatch_event("click")
    assert "b → c" in said_of(page)
    shown = page.locator(".contents a:visible").all_text_contents()
    assert shown[:2] == ["Network", "Links"]
    assert "Lags" in shown


def test_unlinked_nodes_are_hidden_on_request(show):
    page = show(networks.thirty())
    before = page.locator("#graph svg").get_attribute("viewBox")
    page.locator("#alone").check()
    linked = networks.thirty().adjacency
    lone = int((~(linked.any(0) | linked.any(1))).sum())
    assert page.locator(".node.away").count() == lone > 0
    assert page.locator("#graph svg").get_attribute("viewBox") != before
    page.locator("#alone").uncheck()
    assert page.locator("#graph svg").get_attribute("viewBox") == before


HIDDEN = """() => {
    const bad = [];
    for (const e of arrows.values()) {
        const way = sampled(routes.get(e.key).path, 12);
        nodes.forEach((node, i) => {
            const own = node === e.from || node === e.to;
            if (way.some((p) => outside(p, node, i) < (own ? -0.02 : 0))) bad.push(`${e.key} ${i}`);
        });
        const words = routes.get(e.key).tag;
        if (e.tag && nodes.some((node, i) => outside(words, node, i) < 0.1)) bad.push(`words of ${e.key}`);
    }
    return bad;
}"""


# Where a node can be dragged to without lying on another: pixels right and down.
FREE = """(at) => {
    const node = nodes[at], scale = svg.getScreenCTM().a, [w, h] = [layout.width[at] / 2, layout.height[at] / 2];
    for (let r = 2; r < 30; r += 0.5) for (let turn = 0; turn < 12; turn++) {
        const [dx, dy] = [r * Math.cos(turn * Math.PI / 6), r * Math.sin(turn * Math.PI / 6)];
        const [x, y] = [node.x + dx, node.y + dy];
        const corners = [-1, 0, 1].flatMap((a) => [-1, 0, 1].map((b) => [x + a * w, y + b * h]));
        const seen = corners.every(([a, b]) =>
            a > frame.x && a < frame.x + frame.width && b > frame.y && b < frame.y + frame.height);
        const alone = nodes.every((other, i) => other === node || corners.every((p) => outside(p, other, i) > 0.9));
        if (seen && alone) return [dx * scale, dy * scale];
    }
}"""


@pytest.mark.parametrize("maker", ["five", "thirty", "ring"])
def test_dragging_leaves_no_head_behind_a_box(show, maker):
    page = show(lagged(getattr(networks, maker)()))
    page.locator("#graph").scroll_into_view_if_needed()
    nodes = page.locator(".node")
    assert page.evaluate(HIDDEN) == []
    before = nodes.evaluate_all("all => all.map((e) => e.getAttribute('transform'))")
    for at in (0, 2):
        box = nodes.nth(at).bounding_box()
        dx, dy = page.evaluate(FREE, at)
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + dx, y + dy, steps=5)
        page.mouse.up()
        assert page.evaluate(HIDDEN) == []
    after = nodes.evaluate_all("all => all.map((e) => e.getAttribute('transform'))")
    assert sum(a != b for a, b in zip(before, after, strict=True)) == 2
    nodes.nth(1).focus()
    page.keyboard.press("ArrowDown")
    assert nodes.nth(1).get_attribute("transform") != before[1]
    page.locator("#whole").click()
    assert nodes.evaluate_all("all => all.map((e) => e.getAttribute('transform'))") == before


def test_print_has_all_rows_and_their_heads(show, tmp_path):
    page = show(hundred())
    assert page.locator("#link-table tbody tr:visible").count() == 60
    page.emulate_media(media="print")
    assert page.locator("#link-table tbody tr:visible").count() == 300
    head = page.locator("#link-table th").first.evaluate("e => getComputedStyle(e, '::before').content")
    assert head == '"Source"'
    assert not page.locator(".bar").first.is_visible()
    wide = page.evaluate("byId('matrix-box').querySelector('svg').getBoundingClientRect().right")
    assert wide <= SIZES["laptop"][0]
    assert page.evaluate("getComputedStyle(document.querySelector('.size')).printColorAdjust") == "exact"
    assert len(page.pdf(format="A4")) > 20_000


def surely(network):
    """Return the network with p-values that need as much room as any."""
    tests = [dataclasses.replace(test, p_value=9.4e-205, q_value=5.1e-197) for test in network.candidates]
    return dataclasses.replace(network, candidates=tuple(tests))


@pytest.mark.parametrize("maker", ["odd", "thirty"])
def test_nothing_overflows_on_a_narrow_screen(show, maker):
    page = show(surely(lagged(getattr(networks, maker)())), "narrow")
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    over = page.locator("#link-table td").evaluate_all(
        """all => all.filter((e) =>
            e.getBoundingClientRect().right > innerWidth || e.scrollWidth > e.clientWidth + 1).length"""
    )
    assert over == 0
    heads = page.locator("#link-table td[data-title=Lag]").first.bounding_box()
    assert heads["x"] + heads["width"] <= 400
    page.locator("#link-table tbody tr").first.click()
    box = page.locator("#panel").bounding_box()
    assert (box["x"], box["width"]) == (0, 400)


def test_own_title_and_notes_and_several_networks(chromium, tmp_path, inferred):
    inferred.report(tmp_path / "one.html", title="Rest, <day 1>", notes="First.\n\nThen & there.")
    em.report({"rest": inferred, "task": networks.three()}, tmp_path / "two.html", title="Both days")
    context = chromium.new_context(viewport={"width": 1300, "height": 800}, offline=True)
    page, noise, requests = context.new_page(), [], []
    page.on("console", lambda message: noise.append(message.text))
    page.on("pageerror", lambda error: noise.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto((tmp_path / "one.html").as_uri())
    assert page.locator(".recording b").inner_text() == "Rest, <day 1>"
    assert page.locator("#notes p").all_inner_texts() == ["First.", "Then & there."]
    page.goto((tmp_path / "two.html").as_uri())
    assert page.locator("h1").inner_text() == "Both days"
    assert page.locator(".sides figcaption").all_inner_texts() == ["rest", "task"]
    said = page.locator("#answer").inner_text()
    assert "In all networks: " in said
    assert "rest: With 900 samples, 4 of 5 linear links of" in said
    page.locator("summary").first.click()
    frame = page.frame_locator("iframe").first
    frame.locator("html[data-drawn=all]").wait_for(state="attached")
    assert frame.locator(".node").count() == 3
    assert noise == []
    assert [url for url in requests if url.startswith("http")] == []
    context.close()


def test_panel_in_a_notebook(chromium, tmp_path, inferred):
    (tmp_path / "cell.html").write_text(f"<!DOCTYPE html>{inferred._repr_html_()}", encoding="utf-8")
    context = chromium.new_context(viewport={"width": 900, "height": 900}, offline=True, color_scheme="dark")
    page, noise = context.new_page(), []
    page.on("console", lambda message: noise.append(message.text))
    page.on("pageerror", lambda error: noise.append(str(error)))
    page.goto((tmp_path / "cell.html").as_uri())
    frame = page.frame_locator("iframe")
    frame.locator("html[data-drawn=all]").wait_for(state="attached")
    frame.locator('.edge[data-link="0 1"]').press("Enter")
    assert frame.locator("#panel .chart").count() == 4
    ground = frame.locator("body").evaluate("e => getComputedStyle(e).backgroundColor")
    assert ground == "rgb(252, 251, 249)"  # light as notebooks are, whatever the system is
    assert noise == []
    context.close()


def test_slider_shows_the_network_of_each_window(show):
    network, rng = networks.three(), np.random.default_rng(0)
    te, q = rng.random((6, 3, 3)), np.ones((6, 3, 3))
    q[:3, 0, 1], q[3:, 1, 2] = 0.001, 0.001
    page = show(Windows(te, q, q, np.arange(6), 20, network, 1.0))

    def faint():
        arrows = page.locator("#window-net .lying [data-pair]")
        return dict(arrows.evaluate_all("all => all.map((e) => [e.dataset.pair, e.style.opacity])"))

    assert faint() == {"0 1": "1", "1 2": "0.25"}
    page.locator("#window").fill("5")
    assert faint() == {"0 1": "0.25", "1 2": "1"}
    assert page.locator("#window-time").inner_text() == "15"


def test_zoom_pan_and_reset(show):
    page = show(networks.thirty())
    page.locator("#graph").scroll_into_view_if_needed()
    svg = page.locator("#graph svg")

    def box():
        return [float(part) for part in svg.get_attribute("viewBox").split()]

    home = box()
    page.locator("#closer").click()
    assert box()[2] == pytest.approx(home[2] / 1.3)
    place = svg.bounding_box()
    page.mouse.move(place["x"] + 8, place["y"] + 8)
    page.mouse.down()
    page.mouse.move(place["x"] + 60, place["y"] + 40, steps=3)
    page.mouse.up()
    panned = box()
    assert panned[0] < home[0] + 0.2 * home[2]
    assert panned[2] == pytest.approx(home[2] / 1.3)
    page.keyboard.down("Control")
    page.mouse.wheel(0, 200)
    page.keyboard.up("Control")
    page.wait_for_function("old => document.querySelector('#graph svg').viewBox.baseVal.width > old", arg=panned[2])
    page.locator("#whole").click()
    assert box() == home
    page.locator("#farther").click()
    assert box()[2] > home[2]


def test_nulls_follow_the_links(show):
    network = networks.thirty()
    page = show(network)
    tiles, links = page.locator("#null-tiles .tile"), int(network.adjacency.sum())
    assert tiles.count() == 24
    assert page.locator("#null-tiles .measured").count() == 24
    page.locator("#nulls").get_by_role("button", name=f"Show all {links}").click()
    assert page.locator("#null-tiles .tile:visible").count() == links
    page.locator("#q").focus()
    page.keyboard.press("Home")
    assert page.locator("#null-tiles .tile:visible").count() == 0


def test_formula_tests_and_no_links_are_said(show):
    def said(network, where):
        return show(network).locator(where).text_content()

    for nothing in (networks.three(nulls=0), networks.empty()):  # an empty section is not shown
        page = show(nothing)
        assert page.locator("#nulls").is_hidden()
        assert page.locator('.contents a[href="#nulls"]').is_hidden()
    assert "was given" in said(networks.three(criteria=False), "#embedding-say")


def test_odd_names_are_shown_as_they_are(show):
    page = show(networks.odd())
    assert set(column(page, 0)) | set(column(page, 1)) == set(networks.ODD_NAMES)
    page.locator(".node").first.hover()
    assert networks.ODD_NAMES[0] in page.locator("#tip").inner_text()


@pytest.mark.parametrize("size", ["laptop", "phone"])
def test_labels_stay_within_their_pills(show, size):
    page = show(networks.odd(), size)
    page.wait_for_timeout(200)
    over = page.locator(".node").evaluate_all(
        """all => all.map((node) => {
            const [text, pill] = ['text', 'rect'].map((part) => node.querySelector(part).getBBox().width);
            return text - pill;
        })"""
    )
    assert max(over) < 0


def test_paragraph_is_copied(show):
    page = show(networks.three(), permissions=["clipboard-read", "clipboard-write"])
    page.locator("#copy").click()
    page.wait_for_selector("#copied:not(:empty)")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(page.locator("#paragraph").inner_text())
    assert "Inferring Coupling of Distributed Dynamical Systems via Transfer Entropy" in copied


CONTRAST = """selector => {
    const light = (colour) => {
        const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((c) => c / 255);
        const [r, g, b] = parts.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const element = document.querySelector(selector);
    let behind = element;
    while (getComputedStyle(behind).backgroundColor === 'rgba(0, 0, 0, 0)') behind = behind.parentElement;
    const style = getComputedStyle(element);
    const pair = [light(style.color), light(getComputedStyle(behind).backgroundColor)].sort((a, b) => b - a);
    return (pair[0] + 0.05) / (pair[1] + 0.05);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out(show, scheme):
    page = show(networks.three(), scheme=scheme)
    for selector in (
        "h1",
        "#standing",
        ".quiet",
        ".said li",
        "#answer .sure",
        ".caution",
        ".note li",
        "#link-table td",
        "figcaption",
        ".works li",
    ):
        assert page.evaluate(CONTRAST, selector) >= 4.5, selector


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_notebook_shows_the_network_in_a_frame(chromium, tmp_path, scheme):
    network = lagged(networks.odd())
    (tmp_path / "cell.html").write_text(f"<!DOCTYPE html>{network._repr_html_()}", encoding="utf-8")
    context = chromium.new_context(viewport={"width": 900, "height": 1000}, offline=True, color_scheme=scheme)
    page = context.new_page()
    noise, requests = [], []
    page.on("console", lambda message: noise.append(message.text))
    page.on("pageerror", lambda error: noise.append(str(error)))
    page.on("dialog", lambda dialog: noise.append(dialog.message))
    page.on("request", lambda request: requests.append(request.url))
    page.goto((tmp_path / "cell.html").as_uri())
    frame = page.frame_locator("iframe")
    frame.locator("html[data-drawn=all]").wait_for(state="attached")
    assert frame.locator(".node").count() == 5
    assert frame.locator(".edge").count() == 4
    frame.locator(".node").first.hover()
    assert networks.ODD_NAMES[0] in frame.locator("#tip").inner_text()
    frame.locator("#name").fill("no such node")
    assert frame.locator(".edge:not(.off)").count() == 0
    with page.expect_download() as download:
        frame.locator("#save-svg").click()
    assert download.value.suggested_filename.endswith("network.svg")
    assert noise == []
    assert [url for url in requests if url.startswith("http")] == []
    page.screenshot(path=tmp_path / "cell.png")
    context.close()
