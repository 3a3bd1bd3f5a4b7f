"""Pictures of results: what is drawn is what was given, marks follow q-values."""

import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from enmesh.draw.style import THEMES
from enmesh.errors import InputError
from enmesh.lag_profile import LagProfile
from enmesh.sureness.compare import Comparison
from enmesh.sureness.stability import Stability
from enmesh.sureness.windows import Windows
from tests import networks
from tests.test_plot import is_cut

NAMES = ["a", "b", "c"]
CHANGE = np.array([[np.nan, 0.2, -0.1], [-0.3, np.nan, 0.05], [0.01, -0.02, np.nan]])
Q = np.array([[np.nan, 0.01, 0.5], [0.04, np.nan, 0.2], [0.9, 0.06, np.nan]])


@pytest.fixture(autouse=True)
def _no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def profile(lags, te, best, source, target):
    limits = {"low": np.full(len(lags), -0.1), "high": np.full(len(lags), 0.1), "threshold": 0.1}
    tested = {"best": best, "tested": (best,), "value": max(te), "p_value": 0.005, "null": np.zeros(199)}
    return LagProfile(source, target, (), tuple(lags), np.array(te), **limits, **tested)


def comparison(names, change, q):
    change, q = (pd.DataFrame(part, names, names) for part in (change, q))
    return Comparison(change, change, change, q, q, "labels exchanged")


def stability(names, shares):
    return Stability(pd.DataFrame(shares, names, names), 4, 4, None)


def windows(names, starts, width, te, q):
    """Windows of a network of two nodes, from ``(window, link)``: first to second, second to first."""
    parts = [np.full((len(starts), 2, 2), np.nan) for _ in range(2)]
    for part, values in zip(parts, (te, q)):
        part[:, [0, 1], [1, 0]] = values
    network = networks.make(tuple(names), [(0, 1)])
    return Windows(parts[0], parts[1], parts[1], np.array(starts), width, network, 1.0)


def ax():
    return Figure().subplots()


def marks(drawn, marker):
    """Cells (row, column) that carry a marker."""
    (line,) = (line for line in drawn.lines if line.get_marker() == marker)
    return set(zip(map(int, line.get_ydata()), map(int, line.get_xdata())))


def test_lag_profile_draws_values_band_and_best():
    lags, te = [1, 2, 3, 4], [0.0, 0.1, 0.4, 0.2]
    drawn = profile(lags, te, 3, "a$", "b").plot(ax=ax())
    measured = next(line for line in drawn.lines if line.get_label() == "measured")
    assert measured.get_ydata().tolist() == te
    (best,) = (line for line in drawn.lines if line.get_marker() == "D")
    assert (best.get_xdata()[0], best.get_ydata()[0]) == (3, 0.4)
    band = drawn.collections[0].get_paths()[0].vertices
    assert (band[:, 1].min(), band[:, 1].max()) == (-0.1, 0.1)
    assert drawn.get_title("left").startswith("a$ → b\np = 0.005")


def test_grey_comparison_hatches_what_fell():
    change = np.array([[np.nan, -0.2], [0.1, np.nan]])
    for theme, hatched in (("grey", [(0, 1)]), ("light", [])):
        drawn = comparison(["a", "b"], change, np.abs(change)).plot(ax=ax(), theme=theme)
        cells = [(round(p.get_y() + 0.5), round(p.get_x() + 0.5)) for p in drawn.patches if p.get_hatch()]
        assert cells == hatched


@pytest.mark.parametrize("names", [["a", "b"], [f"temperature of the north riser, sensor {i}" for i in range(6)]])
def test_no_words_leave_the_picture(names, tmp_path):
    square = np.full((len(names),) * 2, 0.2)
    path = tmp_path / "picture.svg"
    for drawn in (
        profile([1, 2], [0.1, 0.2], 2, *names[:2]).plot(path),
        stability(names, square).plot(path, network=networks.make(tuple(names), [(0, 1)])),
        comparison(names, square, square).plot(path, theme="grey"),
        windows(names[:2], [0, 1, 2], 2, np.full((3, 2), 0.1), np.full((3, 2), 0.1)).plot(path),
    ):
        assert not is_cut(drawn.figure)


def test_stability_writes_percent_and_frames_the_network():
    shares = np.array([[np.nan, 0.9, 0.1], [0.0, np.nan, 1.0], [0.25, 0.5, np.nan]])
    network = networks.make(tuple(NAMES), [(0, 1), (1, 2)])
    drawn = stability(NAMES, shares).plot(ax=ax(), network=network)
    written = {(int(t.get_position()[1]), int(t.get_position()[0])): t.get_text() for t in drawn.texts}
    assert written == {(0, 1): "90", (0, 2): "10", (1, 0): "0", (1, 2): "100", (2, 0): "25", (2, 1): "50"}
    framed = {(round(p.get_y() + 0.5), round(p.get_x() + 0.5)) for p in drawn.patches}
    assert framed == {(0, 1), (1, 2)}


def test_comparison_tells_growth_from_fall_by_shape():
    drawn = comparison(NAMES, CHANGE, Q).plot(ax=ax())
    assert marks(drawn, "^") == {(0, 1)}
    assert marks(drawn, "v") == {(1, 0)}
    assert drawn.images[0].get_clim() == (-0.3, 0.3)


def test_windows_have_a_row_per_link():
    te = np.arange(8.0).reshape(4, 2) / 10
    q = np.full((4, 2), 0.5)
    q[3, 1] = 0.001
    drawn = windows("ab", [0, 100, 200, 300], 100, te, q).plot(ax=ax())
    assert np.array_equal(drawn.images[0].get_array(), te.T)
    assert [tick.get_text() for tick in drawn.get_yticklabels()] == ["a → b", "b → a"]
    assert [tick.get_text() for tick in drawn.get_xticklabels()] == ["50", "150", "250", "350"]
    assert marks(drawn, "o") == {(1, 3)}


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_saved_in_every_format_and_theme(suffix, theme, tmp_path):
    for name in "12":
        comparison(NAMES, CHANGE, Q).plot(tmp_path / (name + suffix), theme=theme)
    first, second = ((tmp_path / (name + suffix)).read_bytes() for name in "12")
    assert first == second
    assert len(first) > 1000


@pytest.mark.parametrize(
    ("drawing", "said"),
    [
        (lambda: comparison(NAMES, CHANGE, Q).plot("x.jpeg"), "end the name in"),
        (lambda: comparison(NAMES, CHANGE, Q).plot(theme="pink", ax=ax()), "choose one of auto"),
    ],
)
def test_what_cannot_be_drawn_is_said(drawing, said):
    with pytest.raises(InputError, match=said):
        drawing()
