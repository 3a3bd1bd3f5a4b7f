"""Effects, explanations and the faces of results: numbers held against plain regressions, the same after a file."""

import math
import re
from io import BytesIO

import numpy as np
import pytest
from matplotlib.figure import Figure

import enmesh as em
from enmesh.draw import plot
from enmesh.draw.report.page import contents
from enmesh.draw.shapes import extremes
from enmesh.draw.style import families
from enmesh.errors import InputError
from enmesh.estimators.scaling import normal_scores
from enmesh.explain import lag_grid, smooth
from tests import naive, networks

GIVEN = em.TEA(embedding=em.Embedding(dim=2))


@pytest.fixture(scope="module")
def network():
    series = em.simulate.var({"b": ["a"], "c": ["a", "b"]}, n=600, seed=1)
    return em.infer(series, score=GIVEN)


def lagged(series, name, lag):
    return series.values[2 - lag : len(series.values) - lag, series.index(name)]


def test_effects_are_those_of_a_plain_regression(network):
    series = network.series
    assert len(network) == 3
    for test in network.candidates:
        others = [p for p in network.parents[test.target] if p != test.source]
        z = np.column_stack([lagged(series, name, lag) for name in (test.target, *others) for lag in (1, 2)])
        y, x = lagged(series, test.target, 0), lagged(series, test.source, test.lag)
        assert test.effect == pytest.approx(naive.linear_effect(y, x, z), abs=1e-9)
    row = network.edges.set_index(["source", "target"]).effect
    assert row["a", "b"] == network.explain("a", "b").effect


def test_the_sign_is_that_of_the_coupling():
    series = em.simulate.var("a>b", n=500, seed=0)
    turned = em.Series(series.values * [1, -1], names=["a", "b"])
    first, second = (em.infer(one, score=GIVEN).edges.effect[0] for one in (series, turned))
    assert first > 0.2
    assert second == pytest.approx(-first)


def test_words_have_no_effect():
    rng = np.random.default_rng(0)
    states = rng.integers(0, 2, (300, 2))
    states[1:, 1] = np.where(rng.random(299) < 0.8, states[:-1, 0], states[1:, 1])
    series = em.Series({"a": np.array(["off", "on"])[states[:, 0]], "b": np.array(["x", "y"])[states[:, 1]]})
    net = em.infer(series, max_lag=1)
    assert ("a", "b") in net
    assert net.edges.effect.isna().all()
    about = em.Network.from_json(net.to_json()).explain("a", "b")
    assert (len(about.scatter), len(about.lags)) == (0, 0)
    assert len(about.local) > 50


def test_lags_are_those_of_a_plain_regression(network):
    series, about = network.series, network.explain("b", "c")
    most = about.lags[-1]
    scored = {name: normal_scores(series.values[:, series.index(name)].astype(float)) for name in series.names}

    def at(name, lag):
        return scored[name][most - lag : len(series.values) - lag]

    z = np.column_stack([at(name, lag) for name in ("c", "a") for lag in (1, 2)])
    expected = [naive.regression_gain(at("c", 0), at("b", lag), z) for lag in about.lags]
    assert about.lag_te == pytest.approx(expected, abs=1e-6)
    lags, te, chance = lag_grid(network)
    assert (lags, te.shape) == (about.lags, (3, 3, len(lags)))
    assert te[1, 2] == pytest.approx(about.lag_te)
    assert chance[1, 2] == about.chance
    assert np.isnan(te[0, 0]).all()


def test_what_stands_behind_a_link(network):
    about = network.explain("a", "b")
    row = network.edges.set_index(["source", "target"]).loc[("a", "b")]
    assert (about.te, about.p_value, about.lag) == (row.te, row.p_value, row.lag)
    assert about.low < about.te < about.high
    exact = em.interval(network.series, "a", "b", estimator=em.Gaussian(), embedding=em.Embedding(dim=2))
    assert (about.low, about.high) == pytest.approx((exact.low, exact.high), abs=0.02)
    assert about.local.mean() == pytest.approx(about.te, rel=0.05)
    assert about.times[0] < 20
    assert about.times[-1] > 580
    assert about.by_formula
    assert (about.null > about.te).mean() == 0
    slope = np.polyfit(*about.curve.T, 1)[0]
    assert np.sign(slope) == np.sign(about.effect)
    assert "a helps predict b 1 sample later" in about.sentence
    assert network.explain("c", "a").p_value > 0.001


def test_surrogates_and_bends():
    series = em.simulate.coupled_map("a>b", n=400, map="logistic", coupling=0.4, noise=0.02, seed=0)
    net = em.infer(series, score=em.TEE(estimator=em.KSG(), embedding=em.Embedding(), n_surrogates=99))
    about = net.explain("a", "b")
    assert len(about.null) >= 99
    assert not about.by_formula
    assert about.sentence.endswith("on average; the dependence is curved.")
    kept = em.Network.from_json(net.to_json())
    assert kept.explain("a", "b").null.tolist() == about.null.tolist()


def test_a_file_keeps_what_stands_behind_links(network, tmp_path):
    network.to_json(tmp_path / "net.json")
    read = em.Network.from_json(tmp_path / "net.json")
    assert read == network
    assert read.edges.equals(network.edges)
    first, second = network.explain("a", "c"), read.explain("a", "c")
    assert first.sentence == second.sentence
    assert second.scatter == pytest.approx(first.scatter, rel=1e-3)
    assert contents(read) == contents(network)
    with_data, without = (one.report(tmp_path / "n.html").read_text() for one in (network, read))
    assert 'id="whatif"' in with_data  # the model needs the data
    assert 'id="whatif"' not in without
    with pytest.raises(InputError, match="the data are not in memory"):
        read.explain("c", "a")
    with pytest.raises(InputError, match="there is no node 'x'"):
        read.explain("a", "x")
    with pytest.raises(InputError, match="both source and target"):
        network.explain("a", "a")
    with pytest.raises(InputError, match="not in memory"):
        read.plot(kind="lags")


def test_the_line_follows_a_curve():
    x = np.random.default_rng(0).uniform(-2, 2, 3000)
    at, value = smooth(x, x**2).T
    assert np.abs(value - at**2).max() < 0.15
    assert len(smooth(np.ones(9), np.ones(9))) == 0


def test_extremes_lose_nothing():
    rng = np.random.default_rng(1)
    values = rng.normal(size=10_001)
    values[[9_800, 100]] = 50, -50
    kept = extremes(values, 400)
    assert (len(kept), kept.max(), kept.min()) == (400, 50, -50)
    assert np.argmax(kept) / 400 == pytest.approx(0.98, abs=0.005)
    assert extremes(values[:300], 400).tolist() == values[:300].tolist()
    assert np.isnan(extremes(np.full(1000, np.nan), 10)).all()


@pytest.mark.parametrize("kind", ["lags", "intervals"])
def test_pictures_of_all_pairs_and_limits(network, kind, tmp_path):
    ax = network.plot(tmp_path / "net.png", kind=kind)
    if kind == "lags":
        assert len(ax.child_axes) == 9
        framed = [panel.spines["left"].get_linewidth() > 1 for panel in ax.child_axes]
        assert framed == network.adjacency.ravel().tolist()
    else:
        assert len(ax.get_yticks()) == 3
        limits = sorted(
            line.get_xdata()[0] for line in ax.lines if len(line.get_xdata()) == 2 and line.get_linewidth() == 2
        )
        lows = sorted(network.explain(s, t).low for s, t in network)
        assert limits == pytest.approx(lows, rel=1e-3)
    with pytest.raises(InputError):
        networks.three().plot(kind=kind)


def test_colours_of_arrows(network):
    seen = {}
    for colour in ("effect", "te", "lag"):
        ax = network.plot(ax=Figure(figsize=(8, 5)).subplots(), colour=colour)
        seen[colour] = [p.get_edgecolor() for p in ax.patches if (p.get_gid() or "").startswith("link-")]
    assert len({str(found) for found in seen.values()}) == 3
    with pytest.raises(InputError, match="choose one of auto, effect, te, lag"):
        plot.draw(network, colour="q")


def test_an_explanation_draws_itself(network, tmp_path):
    about = network.explain("a", "b")
    figure = about.plot(tmp_path / "why.svg")
    text = (tmp_path / "why.svg").read_text()
    assert len(figure.axes[0].child_axes) == 4
    assert "local transfer entropy" in text
    assert "a helps predict b 1 sample later" in " ".join(re.findall(r">([^<>]+)</text>", text))


def test_names_are_text_in_an_svg(tmp_path):
    names = ("左前頭葉", "שלום", "heart ♥", "plain")
    networks.make(names, [(0, 1), (1, 2), (2, 3)]).plot(tmp_path / "net.svg")
    text = (tmp_path / "net.svg").read_text(encoding="utf-8")
    for name in names:
        assert f">{name}</text>" in text
    assert families()


def test_every_result_has_a_face(network):
    series = network.series
    results = {
        "pairs": em.te_matrix(series, estimator=em.Gaussian()),
        "Stability": em.stability(series, n=2, score=GIVEN),
        "windows": em.windows(series, 200, 200, score=GIVEN),
        "grew|fell|No pair of nodes differs": em.compare(series, series, 19, score=GIVEN, labels=("<i>rest", "task")),
        "Group of 2": em.group([series, series], score=GIVEN),
        "strongest at lag 1": em.lag_profile(series, "a", "b", max_lag=4, estimator=em.Gaussian(), n_surrogates=0),
        "nats, between": em.interval(series, "a", "b", estimator=em.Gaussian()),
        "a helps predict b": network.explain("a", "b"),
    }
    for said, result in results.items():
        assert result.plot(BytesIO()) is not None
        shown = result._repr_html_()
        assert re.search(said, shown), said
        assert "<svg" in shown or 'class="map"' in shown
        assert not re.search(r"\bnan\b", shown)
        assert "<i>rest" not in shown
    assert math.isfinite(results["a helps predict b"].te)
