"""A link has one value, p, q, lags and effect: terminal, JSON, CSV, page, panel, pictures and notebook print them."""

import csv
import io
import json
import math
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
NUMBERS = ("te", "p_value", "q_value", "lag")


def chain(**how):
    return em.simulate.var("a>b, b>c", n=400, seed=1, **how)


def states():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 600)
    b = np.where(rng.random(600) < 0.8, np.roll(a, 1), 1 - np.roll(a, 1))
    return em.Series(np.column_stack([a, b]), names=["a", "b"])


EIGHT = {
    "one link": lambda: em.infer(em.simulate.var("a>b", n=300, seed=0), score=TEA),
    "default": lambda: em.infer(chain()),
    "lags": lambda: em.infer(chain(lags={("a", "b"): 3, ("b", "c"): 2})),
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
    kept = {(c["source"], c["target"]): c for c in kept if c["selected"]}
    with (tmp_path / "edges.csv").open() as file:
        saved = {(r["source"], r["target"]): r for r in csv.DictReader(file)}
    data = contents(network)
    page = {(data["names"][i], data["names"][j]): values for i, j, *values in data["links"]}
    show.network(network)
    out = capsys.readouterr().out
    assert set(kept) == set(saved) == set(te)
    for row in edges.itertuples():
        ends, numbers = (row.source, row.target), (row.te, row.p_value, row.q_value, row.lag)
        assert tuple(kept[ends][name] for name in NUMBERS) == pytest.approx(numbers, rel=1e-12)
        assert tuple(float(saved[ends][name]) for name in NUMBERS) == pytest.approx(numbers, rel=1e-12)
        written, p_value, q_value, lags, selected, _, effect, lag, *_ = page[ends]
        assert (written, p_value, q_value, lag) == pytest.approx(numbers, rel=1e-8)
        assert (tuple(lags), selected) == (tuple(row.lags), 1)
        assert math.isnan(row.effect) if effect is None else effect == pytest.approx(row.effect, rel=1e-4)
        digits = " +".join(re.escape(f"{value:.4g}") for value in numbers[:3])
        listed = re.escape(", ".join(f"{lag:g}" for lag in row.lags))
        assert re.search(rf"^{row.source} +{row.target} +{digits} +{listed}$", out, re.M), (out, numbers)
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
        assert (about.te, about.p_value, about.q_value, about.lag) == (row.te, row.p_value, row.q_value, row.lag)
        if network.options["score"]["type"] == "LinkTest":
            given = [name for name in network.parents[row.target] if name != row.source]
            profile = em.lag_profile(network.series, row.source, row.target, given=given)
            assert (profile.value, profile.p_value) == (row.te, row.p_value)
            drawn = profile.plot(ax=Figure().subplots())
            assert f"p = {row.p_value:.2g} (lag {row.lag}; the choice" in drawn.get_title("left")
            assert "each lag alone" in drawn.get_ylabel()  # another measure, and named so
        assert f"({row.te:.3g} nats" in about.sentence
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
        cells = line.locator("td").all_inner_texts()
        assert cells[2:5] == [shown(value, 3) for value in (row.te, row.p_value, row.q_value)]
        assert cells[5] == ", ".join(f"{lag:g}" for lag in row.lags)
        line.hover()
        tip = page.locator("#tip").inner_text().split("\n")
        assert f"{shown(row.te, 4)} " in " ".join(tip)
        assert [tip[tip.index(name) + 1] for name in ("p", "q")] == [shown(row.p_value, 3), shown(row.q_value, 3)]
        line.click()
        panel = page.locator("#panel dd").all_inner_texts()
        assert shown(row.te, 4) in panel[0]
        assert panel[1:3] == [shown(row.p_value, 3), shown(row.q_value, 3)]
        page.keyboard.press("Escape")
        saved = rows[row.source, row.target]
        assert [float(saved[name]) for name in NUMBERS[:3]] == pytest.approx(
            [row.te, row.p_value, row.q_value], rel=1e-8
        )
        assert saved["lags"] == " ".join(f"{lag:g}" for lag in row.lags)
    page.close()
