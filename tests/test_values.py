"""A link has one value: terminal, JSON, CSV, page, panel, evidence plot, picture and notebook print the network's."""

import csv
import io
import json
import re

import numpy as np
import pytest
from matplotlib.figure import Figure

import enmesh as em
from enmesh.cli import show
from enmesh.cli.results import write_results
from enmesh.draw import answer
from enmesh.draw.report.page import contents
from tests.test_browser import chromium  # noqa: F401 (a fixture)

pytestmark = pytest.mark.filterwarnings("ignore::enmesh.HazardWarning")
TEA = em.TEA(embedding=em.Embedding())


def chain(**how):
    return em.simulate.var("a>b, b>c", n=400, seed=1, **how)


def states():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 600)
    b = np.where(rng.random(600) < 0.8, np.roll(a, 1), 1 - np.roll(a, 1))
    return em.Series(np.column_stack([a, b]), names=["a", "b"])


EIGHT = {
    "one link": lambda: em.infer(em.simulate.var("a>b", n=300, seed=0), score=TEA),
    "chain": lambda: em.infer(chain(), estimator="gaussian", max_lag=2),
    "lags": lambda: em.infer(chain(lags={("a", "b"): 3, ("b", "c"): 2}), estimator="gaussian", max_lag=4),
    "feedback": lambda: em.infer(
        em.simulate.var({"a": ["b"], "b": ["a"], "c": ["b"]}, n=500, seed=2), acyclic=False, score=TEA
    ),
    "curves": lambda: em.infer(
        em.simulate.coupled_map("a>b, b>c", n=400, coupling=0.3, noise=0.05, seed=3),
        score=em.TEA(estimator=em.Regression(), embedding=em.Embedding()),
    ),
    "surrogates": lambda: em.infer(
        em.simulate.var("a>b", n=400, seed=4),
        score=em.TEE(estimator=em.KSG(), embedding=em.Embedding(), n_surrogates=99),
    ),
    "states": lambda: em.infer(states(), estimator="discrete", max_lag=1),
    "events": lambda: em.infer(
        em.simulate.coupled_events("a>b", duration=150, seed=0),
        score=em.TEE(estimator=em.PointProcess(), n_surrogates=99),
    ),
}


@pytest.fixture(scope="module", params=EIGHT)
def network(request):
    return EIGHT[request.param]()


def shown(value, digits):
    """Return a number as a page in a browser writes it."""
    if abs(value) < 1e-4:
        return f"{value:.1e}".replace("e-0", "e-").replace("-", "−")
    return f"{float(f'{value:.{digits}g}'):g}".replace("-", "−")


def test_terminal_files_page_and_notebook_print_the_same(network, tmp_path, capsys):
    edges = network.edges
    assert len(edges)
    te = {(row.source, row.target): row.te for row in edges.itertuples()}
    write_results(network, tmp_path, ("network.json", "edges.csv", "report.html"))
    kept = json.loads((tmp_path / "network.json").read_text())["candidates"]
    assert {(c["source"], c["target"]): c["te"] for c in kept if c["selected"]} == pytest.approx(te, rel=1e-12)
    with (tmp_path / "edges.csv").open() as file:
        assert {(r["source"], r["target"]): float(r["te"]) for r in csv.DictReader(file)} == pytest.approx(te)
    data = contents(network)
    page = {(data["names"][i], data["names"][j]): value for i, j, value, *_ in data["links"]}
    assert {edge: page[edge] for edge in te} == pytest.approx(te, rel=1e-8)
    show.network(network)
    out = capsys.readouterr().out
    for (source, target), value in te.items():
        assert re.search(rf"^{source} +{target} +{re.escape(f'{value:.4g}')}\b", out, re.M), (out, value)
    notebook = network._repr_html_()
    for value in te.values():
        assert f'class="number">{value:.3g}</td>' in notebook
    for said in answer.sentences(network.with_evidence()):
        for (source, target), value in te.items():
            if said.startswith((f"{source} drives {target} after", f"{source} may drive {target} after")):
                assert f": {value:.3g} nats" in said
                assert said in out


def test_evidence_and_pictures_draw_the_same(network):
    if "events" in network.provenance:
        with pytest.raises(em.InputError, match="no such panel"):
            network.explain(*next(iter(network)))
        return
    for row in network.edges.itertuples():
        about = network.explain(row.source, row.target)
        assert about.te == row.te
        assert f"tells {row.te:.3g} nats" in about.sentence
        null = about.plot(ax=Figure(figsize=(9, 7)).subplots()).axes[0].child_axes[2]
        assert row.te in [line.get_xdata()[0] for line in null.lines]
    if any(kind == "text" for kind in network.series.kinds):
        return
    drawn = network.plot(kind="intervals", ax=Figure().subplots())
    dots = [line.get_xdata()[0] for line in drawn.lines if line.get_marker() == "o"]
    assert dots == pytest.approx(network.edges.te.tolist(), rel=1e-3)


@pytest.mark.browser
def test_table_panel_tooltip_and_saved_rows_are_the_same(network, chromium, tmp_path):  # noqa: F811
    page = chromium.new_page(viewport={"width": 1280, "height": 720})
    page.goto(network.report(tmp_path / "page.html").as_uri())
    page.wait_for_selector("html[data-drawn=all]", state="attached")
    with page.expect_download() as download:
        page.locator("#save-csv").click()
    download.value.save_as(tmp_path / "links.csv")
    rows = {(r["source"], r["target"]): r for r in csv.DictReader(io.StringIO((tmp_path / "links.csv").read_text()))}
    for row in network.edges.itertuples():
        i, j = network.names.index(row.source), network.names.index(row.target)
        line = page.locator(f'tr[data-link="{i} {j}"]')
        assert line.locator("td").nth(2).inner_text() == shown(row.te, 3)
        line.hover()
        assert f"{shown(row.te, 4)} " in page.locator("#tip").inner_text()
        line.click()
        assert shown(row.te, 4) in page.locator("#panel dd").first.inner_text()
        page.keyboard.press("Escape")
        assert float(rows[row.source, row.target]["te"]) == pytest.approx(row.te, rel=1e-8)
    page.close()
