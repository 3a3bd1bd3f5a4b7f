"""The first screen in a real browser: the answer beside the network, how sure, cautions, places, address, files."""

import dataclasses
import io
import zlib

import numpy as np
import pandas as pd
import pytest

import enmesh as em
from enmesh.sureness.compare import Comparison
from enmesh.sureness.stability import Stability
from enmesh.sureness.windows import Windows
from tests import networks
from tests.test_answer import WARNED
from tests.test_browser import CONTRAST, chromium, hundred, on_edge, show  # noqa: F401 (fixtures)

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore::enmesh.HazardWarning")]
SIZE = {"width": 1280, "height": 720}
IN_SIGHT = "e => { const b = e.getBoundingClientRect(); return b.top >= 0 && b.bottom <= innerHeight && b.width > 0; }"


@pytest.fixture(scope="module")
def inferred():
    values = em.simulate.var({"b": ["a"], "c": ["b"]}, n=900, seed=3).values.copy()
    values[:, 2] *= -1
    return em.infer(em.Series(values, names=["a", "b", "c"], dt=0.5), estimator="gaussian", max_lag=2)


@pytest.fixture
def first_screen(show):  # noqa: F811
    def first_screen(network, **rest):
        page = show(network, **rest)
        page.set_viewport_size(SIZE)
        page.evaluate("fit()")
        return page

    return first_screen


MAKERS = {
    "five": networks.five,
    "ring": networks.ring,
    "empty": networks.empty,
    "thirty": networks.thirty,
    "hundred": hundred,
    "cautions": lambda: networks.five(warnings=WARNED * 3),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_five_questions_are_answered_without_scrolling(first_screen, maker):
    """Who drives whom, after how long, how strong, how sure, what to do next."""
    network = MAKERS[maker]()
    page = first_screen(network)
    assert page.evaluate("scrollY") == 0
    for part in ("h1", "#graph svg", *["#network figcaption"] * bool(len(network)), ".said li >> nth=0"):
        assert page.locator(part).evaluate(IN_SIGHT), part
    assert page.locator(".contents").evaluate("e => e.scrollWidth <= e.clientWidth")
    said = page.locator(".said").inner_text()
    if len(network):
        strongest = network.edges.iloc[0]
        drives = "drives" if strongest.q_value <= 0.05 else "may drive"
        assert f"{strongest.source} {drives} {strongest.target} after 1 sample: {strongest.te:.3g} nats" in said
        assert page.locator("#answer .sure").evaluate(IN_SIGHT)
        assert "solid" in page.locator("#answer .sure").inner_text()
    else:
        assert "This does not prove that there is no link" in said
    assert page.locator("#answer .command").evaluate(IN_SIGHT)
    graph, words = page.locator("#graph").bounding_box(), page.locator("#answer").bounding_box()
    assert graph["x"] + graph["width"] <= words["x"]
    assert 1.5 < graph["width"] / words["width"] < 2.6


def test_cautions_are_one_line_a_plan_and_badges(first_screen):
    page = first_screen(networks.three(warnings=WARNED))
    line = page.locator("#answer .caution")
    assert line.inner_text() == "3 cautions: trend, season, slow."
    assert page.locator("#answer .command code").inner_text() == "em.infer(series.detrend())"
    assert page.locator("#warnings li").first.inner_text().startswith("Do this first: Remove the trend of b.")
    assert page.locator(".node .mark").count() == 3
    page.locator(".node").nth(1).hover()
    assert "Remove the trend of b." in page.locator("#tip").inner_text()


def test_links_are_solid_dashed_or_dotted(first_screen):
    network = networks.five(removed=(("EMG", "heart"),))
    page = first_screen(network)
    doubt = [c for c in network.candidates if c.selected and c.q_value > 0.05]
    assert page.locator(".edge .shaft[stroke-dasharray]").count() == len(doubt) == 1
    assert page.locator(".ghost").count() == 1
    assert page.locator("#ghost-key").is_visible()
    assert page.locator("#dashed-key").is_visible()
    dashes = "e => getComputedStyle(e).strokeDasharray"
    assert page.locator(".ghost .shaft").evaluate(dashes) != "none"
    page.locator("#ghosts").check()
    assert page.locator(".ghost .shaft").evaluate(dashes) == "none"
    plain = first_screen(networks.three(nulls=0))
    assert plain.locator("#ghost-key, #dashed-key, #ghost-label").evaluate_all("all => all.every(e => e.hidden)")


def test_halo_sign_and_keys_follow_the_evidence(first_screen, inferred):
    page = first_screen(inferred)
    assert page.locator(".halo[stroke-width]").count() == len(inferred)
    for made in page.evaluate("[...arrows.values()].map(e => [Number(e.halo.getAttribute('stroke-width')), e.width])"):
        assert made[0] > made[1]
    assert (page.locator("#ramp-low").inner_text(), page.locator("#ramp-high").inner_text()) == ("−1", "1")
    assert page.locator("#hollow-key").is_visible()
    weak = dataclasses.replace(
        inferred, evidence={key: row | {"effect_error": 1.0} for key, row in inferred.with_evidence().evidence.items()}
    )
    grey = first_screen(weak)
    strokes = grey.locator(".edge .shaft").evaluate_all("all => all.map(e => getComputedStyle(e).stroke)")
    assert set(strokes) == {"rgb(154, 160, 168)"}  # --plain
    assert grey.locator("#hollow-key").is_hidden()


def test_no_link_has_no_scale_and_a_matrix_of_chance(first_screen):
    page = first_screen(networks.empty())
    assert page.locator("#ramp, #widths, #te, #keys, #link-table").evaluate_all(
        "all => all.every(e => !e.offsetParent)"
    )
    assert "e-12" not in page.locator("body").inner_text()
    assert "Move the sliders" not in page.locator("body").inner_text()
    assert page.locator("#matrix-scale").input_value() == "p"
    assert page.locator("#matrix-low").inner_text() == "p = 1"


def test_the_network_is_a_list_for_those_who_listen(first_screen):
    page = first_screen(networks.three(removed=(("c", "a"),)))
    heard = page.locator(".heard li").all_text_contents()
    assert len(heard) == 3
    assert heard[-1] == "c → a was left out because it would close a loop."
    assert page.locator(".heard").evaluate("e => getComputedStyle(e).display") != "none"


def test_the_sheet_of_a_phone_does_not_hide_what_was_tapped(show, inferred):  # noqa: F811
    page = show(inferred, "phone", has_touch=True)
    page.locator("#graph").scroll_into_view_if_needed()
    for link in ((0, 1), (1, 2)):
        page.touchscreen.tap(*on_edge(page, *link))
        sheet = page.locator("#panel").bounding_box()
        title = page.locator("#panel h2")
        assert title.inner_text() == f"{inferred.names[link[0]]} → {inferred.names[link[1]]}"
        assert title.bounding_box()["width"] > 20
        _, y = on_edge(page, *link)
        assert 0 < y < sheet["y"]
        page.get_by_role("button", name="Close").tap()


def test_print_has_colours_that_its_key_explains(first_screen, inferred):
    page = first_screen(inferred)
    page.emulate_media(media="print")
    strokes = page.locator(".edge .shaft").evaluate_all("all => all.map(e => getComputedStyle(e).stroke)")
    assert len(set(strokes)) == len(inferred)
    ramp = page.locator("#ramp").evaluate("e => getComputedStyle(e).backgroundImage")
    assert "194, 89, 10" in ramp
    assert "31, 95, 168" in ramp
    assert not page.locator(".bar").first.is_visible()
    assert page.locator("#answer").is_visible()
    assert page.locator("#matrix-high").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZE["width"]


def test_places_and_circle_are_layouts(first_screen, tmp_path, chromium):  # noqa: F811
    from PIL import Image

    Image.new("RGB", (8, 8), "green").save(tmp_path / "map.png")
    places = {"a": (0, 0), "b": (10, 0), "c": (10, -5)}
    path = tmp_path / "placed.html"
    networks.three().report(path, positions=places, background=(tmp_path / "map.png", (-2, 12, -7, 2)))
    page = chromium.new_page(viewport=SIZE)
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-drawn=all]", state="attached")

    def spots():
        return page.evaluate("nodes.map(node => [node.x, node.y])")

    (ax, ay), (bx, by), (cx, cy) = spots()
    assert (bx - ax) / (cy - by) == pytest.approx(2)
    assert (ay, bx) == (by, cx)
    assert page.locator(".backdrop").is_visible()
    page.locator("#layout").select_option("circle")
    assert page.locator(".backdrop").is_hidden()
    assert spots() != [[ax, ay], [bx, by], [cx, cy]]
    page.close()


def test_the_address_keeps_the_view(first_screen, inferred):
    page = first_screen(inferred)
    page.locator("#colour").select_option("te")
    page.locator("#layout").select_option("circle")
    page.locator("#name").fill("b")
    page.locator(".node").nth(0).focus()
    page.keyboard.press("ArrowDown")
    spot = page.evaluate("[nodes[0].x, nodes[0].y]")
    address = page.evaluate("location.href")
    for part in ("colour=te", "layout=circle", "name=b", "at=0:"):
        assert part in address
    page.goto("about:blank")
    page.requests.clear()
    page.goto(address)
    page.wait_for_selector("html[data-drawn=all]", state="attached")
    assert page.locator("#colour").input_value() == "te"
    assert page.locator("#layout").input_value() == "circle"
    assert page.evaluate("[nodes[0].x, nodes[0].y]") == pytest.approx(spot, abs=0.06)
    page.requests[:] = [page.address]


def saved(page, button):
    with page.expect_download() as download:
        page.locator(button).click()
    return download.value.path().read_bytes(), download.value.suggested_filename


def test_files_for_a_paper(first_screen, inferred):
    import networkx as nx
    from PIL import Image

    page = first_screen(inferred)
    page.locator("#paper-open").click()
    page.locator("#paper-width").select_option("85")
    svg, _ = saved(page, "[data-save=svg]")
    assert b'width="85mm"' in svg
    pdf, name = saved(page, "[data-save=pdf]")
    assert name.endswith(".pdf")
    assert pdf.startswith(b"%PDF-1.4")
    box = [float(part) for part in pdf.split(b"/MediaBox [")[1].split(b"]")[0].split()]
    assert box[2] == pytest.approx(85 * 72 / 25.4, abs=0.1)
    start = int(pdf.rstrip().split(b"\n")[-2])
    assert pdf[start : start + 4] == b"xref"
    assert pdf.count(b" Tj") == 3 + page.locator(".edge + .tag, .tag").count()
    png, _ = saved(page, "[data-save=png]")
    picture = Image.open(io.BytesIO(png))
    assert picture.size[0] == round(85 / 25.4 * 600)
    assert picture.info["dpi"] == pytest.approx((600, 600), abs=0.1)
    chunk = png[33:54]
    assert zlib.crc32(chunk[4:17]) == int.from_bytes(chunk[17:], "big")
    graph = nx.read_graphml(io.BytesIO(saved(page, "[data-save=graphml]")[0]))
    assert set(graph.edges) == set(inferred)
    for row in inferred.edges.itertuples():
        assert graph.edges[row.source, row.target]["te"] == pytest.approx(row.te, rel=1e-8)
    bib, _ = saved(page, "[data-save=bib]")
    assert bib.count(b"@") == page.locator(".works li").count()
    assert "width: transfer entropy" in page.locator("#caption").inner_text()


def test_a_pdf_with_letters_it_cannot_write_is_refused(first_screen):
    page = first_screen(networks.odd())
    page.locator("#paper-open").click()
    page.locator("[data-save=pdf]").click()
    page.wait_for_selector("#paper-said:not(:empty)")
    assert "save as SVG" in page.locator("#paper-said").inner_text()


def test_the_player_plays_and_stops(show):  # noqa: F811
    network, rng = networks.three(), np.random.default_rng(0)
    te, q = rng.random((6, 3, 3)), np.ones((6, 3, 3))
    q[:3, 0, 1], q[3:, 1, 2] = 0.001, 0.001
    page = show(Windows(te, q, q, np.arange(6), 20, network, 1.0))
    page.set_viewport_size(SIZE)
    assert page.locator("#window-net .lying svg").evaluate(IN_SIGHT)
    assert page.locator("#window-net .lying svg").bounding_box()["width"] > 600
    assert page.locator("#window-count svg").evaluate(IN_SIGHT)
    said = page.locator("#window-words").inner_text()
    assert "a drives b after 1 sample in 3 of 6 windows, from sample 10 to 12: " in said
    assert "In a window of 20 samples, 4 of 5 linear links of" in said
    assert page.locator("#window-words .command code").inner_text() == "em.regimes(series)"
    assert page.locator("#window-words .command").evaluate(IN_SIGHT)
    page.locator("#play").click()
    page.wait_for_function("() => document.getElementById('window').value === '5'")
    page.wait_for_function("() => document.getElementById('play').getAttribute('aria-label') === 'Play'")
    assert page.locator("#windows td.now").count() == 6
    page.locator("#window-count .bin").first.click()
    assert page.locator("#window").input_value() == "0"


def compared():
    network, rng = networks.three(), np.random.default_rng(0)
    first, second = (pd.DataFrame(rng.random((3, 3)), network.names, network.names) for _ in range(2))
    q = pd.DataFrame([[np.nan, 0.01, 0.5], [0.9, np.nan, 0.02], [0.4, 0.3, np.nan]], network.names, network.names)
    return Comparison(second - first, first, second, q, q, "labels", ("rest", "task"), (network, network))


def test_the_compare_stage_has_a_divider_sides_and_a_difference(show, tmp_path):  # noqa: F811
    found = compared()
    page = show(found)
    page.set_viewport_size(SIZE)
    assert page.locator("#divider .lying svg").count() == page.locator("#divider .upright svg").count() == 2
    assert "2,000 samples, " in page.locator("#answer").inner_text()
    assert page.locator("#answer .command").evaluate(IN_SIGHT)
    page.get_by_role("button", name="Copy").click()
    page.wait_for_function("() => ['Copied', 'Selected'].includes(document.querySelector('.copies').textContent)")
    assert page.locator("#divider .layers").evaluate(IN_SIGHT)
    cut = "e => getComputedStyle(e).clipPath"
    before = page.locator(".above").evaluate(cut)
    page.locator("#cut").fill("10")
    assert page.locator(".above").evaluate(cut) != before
    page.get_by_role("tab", name="Difference").click()
    assert page.locator("#changes .lying svg").is_visible()
    assert page.locator("#divider").is_hidden()
    dashed = page.locator("#changes .lying [data-pair] .way[stroke-dasharray]").count()
    assert dashed == page.locator("#changes .lying [data-pair]").count() - 2
    assert len(page.locator(".said li").all_text_contents()) == 2
    text, name = saved(page, "#save-csv")
    rows = pd.read_csv(io.BytesIO(text))
    assert name == "difference.csv"
    pd.testing.assert_frame_equal(rows, found.links, check_dtype=False)


def again():
    names, shares = ["a", "b"], np.array([[np.nan, 0.9], [0.3, np.nan]])
    return Stability(pd.DataFrame(shares, names, names), 20, 20, 50, em.plan(nodes=2, samples=100))


def over_time():
    te, q = np.full((4, 3, 3), 0.1), np.full((4, 3, 3), 0.9)
    return Windows(te, q, q, np.arange(4), 20, networks.three(), 1.0)


class Both:
    report = staticmethod(lambda path: em.report({"rest": networks.three(), "task": networks.ring()}, path))


@pytest.mark.parametrize("made", [over_time, compared, again, Both])
def test_other_pages_answer_on_their_first_screen(show, made):  # noqa: F811
    page = show(made())
    page.set_viewport_size(SIZE)
    box = page.locator(".answer").first
    assert box.locator("h2").all_inner_texts() == ["In words", "How sure", "Do this next"]
    for part in ("h1", ".small >> visible=true >> nth=0"):
        assert page.locator(part).first.evaluate(IN_SIGHT), part
    for part in (".said li", ".sure", "h2 >> nth=2", "p >> nth=-1"):
        assert box.locator(part).first.evaluate(IN_SIGHT), part
    assert "nats" in box.inner_text()


@pytest.mark.parametrize("size", ["laptop", "phone"])
def test_stability_has_a_page(show, size):  # noqa: F811
    names = ["a", "b", "c"]
    shares = np.array([[np.nan, 0.9, 0.05], [0.0, np.nan, 0.3], [0.0, 0.0, np.nan]])
    power = em.plan(nodes=3, samples=100)
    page = show(Stability(pd.DataFrame(shares, names, names), 20, 20, 50, power), size)
    assert "In a half of 100 samples, 4 of 5 linear links of" in page.locator("#answer").inner_text()
    assert "make 50 cuts (100 networks) instead of 10." in page.locator("#answer").inner_text()
    assert page.locator("#answer .command code").inner_text() == "em.infer(series, bootstrap=100)"
    assert "1 of 6 possible links" in page.locator("h1").inner_text()
    shown, other = (".upright", ".lying") if size == "phone" else (".lying", ".upright")
    assert page.locator(f"{shown} svg").is_visible()
    assert page.locator(f"{other} svg").is_hidden()
    assert page.locator(f"{shown} [data-pair]").count() == 2  # 5 % is not drawn
    assert page.locator(f"{shown} .way[stroke-dasharray]").count() == 1
    text, _ = saved(page, "#save-csv")
    assert pd.read_csv(io.BytesIO(text)).share.tolist() == [0.9, 0.3, 0.05]
    assert page.evaluate("document.documentElement.scrollWidth") == page.viewport_size["width"]


def test_tables_and_charts_fit_a_phone(show, modelled):  # noqa: F811
    for result in (compared(), modelled):
        page = show(result, "phone")
        cut = page.locator(".scroll").evaluate_all(
            "all => all.filter(e => e.offsetParent && e.scrollWidth > e.clientWidth + 1).map(e => e.innerText)"
        )
        assert cut == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_of_other_pages_stands_out(show, scheme):  # noqa: F811
    page = show(compared(), scheme=scheme)
    for selector in ("h1", ".said li", ".quiet", "td", ".works li", ".recording"):
        assert page.evaluate(CONTRAST, selector) >= 4.5, selector


@pytest.fixture(scope="module")
def modelled():
    return em.infer(
        em.simulate.var("a>c, b>c, c>d", n=400, coupling=0.5, seed=5), score="tea", estimator="gaussian", max_lag=1
    )


def dragged(page, share):
    """Drag the slider by the mouse from where it is to a share of its length."""
    slider = page.locator("#whatif-at")
    slider.scroll_into_view_if_needed()
    box, at = slider.bounding_box(), float(slider.input_value()) / 100
    inner = box["width"] - 16  # the thumb is 16 pixels wide
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 8 + at * inner, y)
    page.mouse.down()
    page.mouse.move(box["x"] + 8 + share * inner, y, steps=8)
    page.mouse.up()


def test_a_node_is_dragged_and_the_others_move(show, modelled):  # noqa: F811
    page, model = show(modelled), modelled.fit()
    for share in (0.0, 0.8):
        dragged(page, share)
        assert float(page.locator("#whatif-at").input_value()) == pytest.approx(100 * share, abs=8)
        kept = float(page.locator("#whatif-value").inner_text().replace("−", "-"))
        cells = dict(
            page.locator("#whatif-table tbody tr").evaluate_all(
                "rows => rows.map(r => [0, 4].map(k => r.cells[k].textContent.replace('−', '-')))"
            )
        )
        expected = model.intervene({"a": kept}, horizon=10).change.iloc[-1]
        assert float(cells["c"]) == pytest.approx(expected["c"], abs=0.05)
        assert cells["a"] == "kept"
        assert abs(float(cells["b"])) < 0.01  # nothing drives it
    assert "moves most: by" in page.locator("#whatif-said").inner_text()
    page.locator("#whatif-reset").click()
    assert "Move the slider" in page.locator("#whatif-said").inner_text()
    assert page.locator("#whatif-table .kept, #whatif-table .moves").count() == 0


def test_whether_it_predicts_and_who_acts_together(show, modelled):  # noqa: F811
    page = show(modelled)
    assert page.locator("#predict .now").count() == 5  # four nodes and the key
    assert "driven nodes are predicted better" in page.locator("#predict-said").inner_text()
    page.evaluate("openPanel(found.find(l => data.names[l.target] === 'c'), null)")
    parts = em.parts(modelled.series, ["a", "b"], "c", network=modelled, n_surrogates=19)
    shown = page.locator("#panel .part.unique").count(), page.locator("#panel .part.synergistic").count()
    assert shown == (2, 1)
    assert f"{parts.synergistic:.3g}"[:4] in page.locator("#panel").inner_text()


def test_power_stands_beside_every_network(show, modelled):  # noqa: F811
    assert "4 of 5 linear links of" in show(modelled).locator("#answer").inner_text()
