"""What a program can check of looks: captions whole, frames apart, units, keys, colours for every kind of sight."""

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import enmesh as em
from enmesh.draw import places
from enmesh.draw.layout import around, arrange, arrange_at
from enmesh.draw.report.more import asset
from enmesh.draw.report.page import page
from enmesh.sureness.stability import Stability
from tests import networks
from tests.test_plot import SIGHTS, is_cut

NAMES = ["a", "b", "c"]


def chain(n=300):
    return em.simulate.var("a>b, b>c", n=n, seed=0)


def test_a_matrix_says_how_its_pairs_were_asked_and_frames_stay_apart():
    found = em.te_matrix(chain(), estimator="gaussian")
    assert found.asked == "pairwise, other nodes not held fixed, lag 1"
    assert em.te_matrix(chain(), estimator="gaussian", conditional=True).asked.startswith("each pair given all")
    ax = found.plot(ax=Figure(figsize=(6, 5)).subplots())
    assert "pairwise, other nodes not held fixed, lag 1" in " ".join(ax.get_title("left").split())
    frames = [(p.get_x(), p.get_x() + p.get_width()) for p in ax.patches]
    assert frames
    for left, right in frames:
        assert right - left < 0.95  # neighbours do not touch


@pytest.mark.parametrize("count", [2, 3, 6, 12])
def test_captions_of_stability_and_lags_are_whole(count, tmp_path):
    names = [f"n{k}" for k in range(count)]
    shares = pd.DataFrame(np.full((count, count), 0.2), names, names)
    network = networks.make(tuple(names), [(0, 1)])
    drawn = Stability(shares, 4, 4, None).plot(tmp_path / "s.png", network=network)
    assert not is_cut(drawn.figure)
    if count <= 3:
        series = em.simulate.var("a>b" if count == 2 else "a>b, b>c", n=200, seed=0)
        net = em.infer(series, score=em.TEA(embedding=em.Embedding()))
        drawn = net.plot(tmp_path / "l.png", kind="lags")
        assert not is_cut(drawn.figure)
        assert "quadratic regression" in " ".join(drawn.get_title("left").split())


@pytest.mark.parametrize(("shown", "said"), [((0, 42.36), "the first 42.4 of 60 units"), ((0, 60.0), "all 60 units")])
def test_the_raster_says_which_part_it_shows(shown, said):
    known = networks.provenance(3) | {"events": 9, "duration": 60.0, "shown": shown}
    preview = dict.fromkeys("abc", (1.0, 2.0, 3.0))
    assert said in page(networks.three(provenance=known, preview=preview))


def test_nothing_on_an_empty_page_is_a_tiny_number():
    text = page(networks.empty())
    words = re.sub(r"<(script|style).*?</\1>", "", text, flags=re.S)
    assert not re.search(r"\de[-−]1\d", words)


def test_units_follow_the_recording():
    network = networks.three(provenance=networks.provenance(3) | {"dt": 0.004, "every": "0.004 s"})
    words = re.sub(r"<(script|style).*?</\1>", "", page(network), flags=re.S)
    assert "after 4 ms" in words
    assert "units of time" not in words


def variables(block):
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))


def lab(colour, sight):
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    light = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    r, g, b = np.clip(SIGHTS[sight] @ light, 0, 1)
    x, y = 0.4124 * r + 0.3576 * g + 0.1805 * b, 0.2126 * r + 0.7152 * g + 0.0722 * b
    z = 0.0193 * r + 0.1192 * g + 0.9505 * b
    fx, fy, fz = (np.cbrt(v) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x / 0.9505, y, z / 1.089))
    return np.array([116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)])


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_signs_are_told_apart_by_every_kind_of_sight(scheme, sight):
    css = asset("page.css")
    at = {"light": 0, "dark": css.index("prefers-color-scheme: dark"), "print": css.index("@media print")}[scheme]
    colours = variables(css[: css.index("}")]) | variables(css[at : css.index("}", at)])
    grew, fell, plain, paper = (lab(colours[name], sight) for name in ("grew", "fell", "plain", "paper"))
    assert np.linalg.norm(grew - fell) > 25
    for one in (grew, fell):
        assert np.linalg.norm(one - plain) > 14
        assert np.linalg.norm(one - paper) > 30


def test_places_are_kept_in_proportion_and_refused_when_incomplete(tmp_path):
    found = places.places_of(NAMES, {"a": (0, 0), "b": (4, 0), "c": (4, 2)})
    drawing = arrange_at(NAMES, [(0, 1), (1, 2), (2, 0)], found)
    (ax, _ay), (bx, by), (_cx, cy) = drawing.centres
    assert (bx - ax) / (cy - by) == pytest.approx(2)
    assert set(drawing.paths) == {(0, 1), (1, 2), (2, 0)}
    north = places.places_of(NAMES, {"a": (0, 60), "b": (2, 60), "c": (0, 61)}, projection="geographic")
    (a, b, _c) = north.points
    assert (b[0] - a[0]) == pytest.approx(2 * np.cos(np.radians(60.333)), rel=1e-3)
    head = places.places_of(NAMES, {"a": (0, 0, 1), "b": (1, 0, 0), "c": (0, 1, 0)})
    assert head.points[0] == pytest.approx([0, 0])
    assert head.points[1] == pytest.approx([np.pi / 2, 0])
    for given, said in (
        ({"a": (0, 0), "b": (1, 1)}, "no place for c"),
        ({"a": (0,), "b": (1,), "c": (2,)}, "two numbers, or three"),
        ([1, 2], "MNE montage"),
    ):
        with pytest.raises(em.InputError, match=said):
            places.places_of(NAMES, given)
    with pytest.raises(em.InputError, match="only kind='graph' has places"):
        networks.three().plot(kind="matrix", positions=dict.fromkeys("abc", (0, 0)))
    with pytest.raises(em.InputError, match="needs positions"):
        networks.three().report(tmp_path / "x.html", background="map.png")


def test_an_mne_montage_gives_places():
    mne = pytest.importorskip("mne")
    montage = mne.channels.make_dig_montage({"a": (0, 0, 0.1), "b": (0.07, 0, 0.07), "c": (0, 0.07, 0.07)})
    found = places.places_of(NAMES, montage)
    assert found.points[1] == pytest.approx([np.pi / 4, 0])
    assert found.points[2] == pytest.approx([0, np.pi / 4])


def test_a_link_left_out_is_drawn_dotted_and_passes_no_box():
    network = networks.ring(5, removed=(("x0", "x2"),))
    ax = network.plot(ax=Figure().subplots())
    (ghost,) = [patch for patch in ax.patches if (patch.get_gid() or "").startswith("ghost")]
    assert ghost.get_linestyle() != "-"
    assert "dotted: left out to avoid feedback" in " ".join(ax.get_title("left").split())
    drawing = arrange(network.names, [(i, j) for i, j in np.argwhere(network.adjacency)])
    path = around(drawing, 0, 2)
    inside = [np.abs(path - centre) < size / 2 for centre, size in zip(drawing.centres, drawing.sizes)]
    assert not any(box.all(axis=1).any() for box in inside)


def test_a_curved_or_unsure_effect_has_no_colour():
    network = networks.three()
    tests = [dataclasses.replace(c, effect=-0.4) for c in network.candidates]
    network = dataclasses.replace(network, candidates=tuple(tests))
    known = {"effect": -0.4, "effect_error": 0.05, "low": 0.01, "high": 0.9}
    evidence = {f"{s}>{t}": known | {"source": s, "target": t} for s, t in network}
    evidence["b>c"] = evidence["b>c"] | {"effect_error": 0.5}
    drawn = dataclasses.replace(network, evidence=evidence).plot(ax=Figure().subplots())
    shafts = {p.get_gid(): p for p in drawn.patches if (p.get_gid() or "").startswith("link-")}
    red, green, blue = (shafts["link-1-2"].get_edgecolor()[k] for k in range(3))
    assert max(red, green, blue) - min(red, green, blue) < 0.08  # grey
    red, _, blue = shafts["link-0-1"].get_edgecolor()[:3]
    assert red > blue  # orange: negative
