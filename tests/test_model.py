"""Models of networks: fit, forecast, simulate, effects, interventions, skill."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr, ndtri

import enmesh as em
from enmesh.model import Model, fit
from enmesh.model.bases import KINDS
from enmesh.model.effects import _limits, _weights, _window
from enmesh.model.fit import RICHER

A = np.array([[0.5, 0.0, 0.0], [0.4, 0.5, 0.0], [0.0, 0.4, 0.5]])
CHAIN = {"a": (), "b": ("a",), "c": ("b",)}


@pytest.fixture(scope="module")
def chain():
    return em.simulate.var(coefficients=A, names=["a", "b", "c"], n=2000, seed=1)


@pytest.fixture(scope="module")
def linear(chain):
    return fit(chain, CHAIN)


@pytest.fixture(scope="module")
def maps():
    series = em.simulate.coupled_map("a>b, b>c", n=600, noise=0.02, seed=3)
    return fit(series, series.truth)


@pytest.fixture(scope="module")
def states():
    series = em.simulate.boolean("a>c, b>c", n=2000, rule="and", flip=0.1, seed=2)
    return fit(series, series.truth)


def test_linear_nodes_are_the_regression(chain, linear):
    y = chain.values[13 - 1 :, 1]
    past = chain.values[13 - 2 : -1]
    x = np.column_stack([np.ones(len(y)), past[:, 0], past[:, 1]])
    slopes = np.linalg.lstsq(x, y, rcond=None)[0][1:]
    node = linear.nodes[1]
    np.testing.assert_allclose(node.beta[1:] / node.basis.scale, slopes, rtol=1e-9)
    assert linear.summary.basis.tolist() == ["linear"] * 3
    assert linear.summary.own_past.tolist() == [1, 1, 1]


def test_total_effects_are_powers_of_the_coefficients(linear):
    fitted = np.zeros((3, 3))
    for i in range(3):
        node = linear.nodes[i]
        for term, slope in zip(node.terms, node.beta[1:] / node.basis.scale):
            fitted[i, term.node] = slope
    found = linear.effect("a", "c", change=2.0, horizon=6)
    expected = [2 * np.linalg.matrix_power(fitted, h)[2, 0] for h in range(1, 7)]
    np.testing.assert_allclose(found.total, expected, atol=1e-9)
    assert (found.low <= found.total).all()
    assert (found.total <= found.high).all()
    assert (found.direct["total"].abs() < 1e-12).all()  # all of it goes through b
    np.testing.assert_allclose(found.through["b"], found.total, atol=1e-12)


def test_a_change_that_is_kept_up_adds_up(linear):
    pulse = linear.effect("b", "c", horizon=5)
    held = linear.effect("b", "c", horizon=5, hold=True)
    slope = {
        term.node: x for term, x in zip(linear.nodes[2].terms, linear.nodes[2].beta[1:] / linear.nodes[2].basis.scale)
    }
    expected = np.cumsum(slope[1] * slope[2] ** np.arange(5))
    np.testing.assert_allclose(held.total, expected, atol=1e-9)
    assert held.total.iloc[-1] > pulse.total.iloc[-1]


def test_limits_come_near_the_truth(linear):
    found = linear.effect("a", "b", horizon=4)
    truth = [np.linalg.matrix_power(A, h)[1, 0] for h in range(1, 5)]
    assert ((found.low < truth) & (truth < found.high)).all()
    assert (found.high - found.low < 0.2).all()


def test_curves_are_chosen_where_they_predict_better(maps):
    assert "linear" not in set(maps.summary.basis)
    assert (maps.summary.r2 > 0.9).all()


def test_a_line_stays_unless_a_curve_is_surely_better_and_a_curve_unless_another_is():
    def fits(step, seed):
        rng, x = np.random.default_rng(seed), [0.1]
        for noise in 0.3 * rng.standard_normal(800):
            x.append(step(x[-1]) + noise)
        series = em.Series(np.array(x)[:, None], names=["a"])
        r2 = {kind: fit(series, {}, own_past=1, basis=kind).nodes[0].r2 for kind in KINDS}
        return fit(series, {}, own_past=1).nodes[0].basis.kind, max(r2, key=r2.get)

    bounded = [fits(lambda z: 1.2 - 0.6 * z**2 / (1 + 0.1 * z**2), seed) for seed in (1, 2, 4)]
    assert bounded == [("cubic", "cubic"), ("cubic", "spline"), ("quadratic", "quadratic")]
    assert fits(lambda z: 0.6 * z - 0.05 * z**2, 1) == ("linear", "quadratic")


def test_a_fine_spline_follows_a_kink_where_samples_are_many():
    series = em.simulate.coupled_map("a>b", n=20_000, map="tent", noise=0.05, coupling=0.05, seed=5)
    few, many = (fit(series[:n], {}, own_past=1, basis="fine spline") for n in (2000, 20_000))
    assert [one.nodes[0].basis.knots.shape for one in (few, many)] == [(1, 12), (1, 27)]
    made = many.simulate(20_000, seed=1).values[:, 0]
    np.testing.assert_allclose(
        np.quantile(made, [0.05, 0.1, 0.9]), np.quantile(series.values[:, 0], [0.05, 0.1, 0.9]), atol=0.01
    )


def test_a_simulation_has_the_distribution_of_the_data(maps):
    made = maps.simulate(4000, seed=1)
    for i in range(3):
        seen = np.quantile(maps.series.values[:, i], [0.1, 0.5, 0.9])
        np.testing.assert_allclose(np.quantile(made.values[:, i], [0.1, 0.5, 0.9]), seen, atol=0.09)
    assert made.truth == maps.parents
    assert maps.simulate(50, seed=1) == maps.simulate(50, seed=1)
    assert maps.simulate(50, seed=1) != maps.simulate(50, seed=2)


def test_spread_that_depends_on_a_parent_is_found():
    rng = np.random.default_rng(0)
    a, e = rng.standard_normal((2, 3000))
    b = np.r_[0.0, np.exp(0.5 * a[:-1]) * e[1:]]
    model = fit(em.Series(np.column_stack([a, b]), names=["a", "b"]), {"b": ["a"]})
    assert model.summary.spread.tolist() == ["constant", "depends on inputs"]
    node, x = model.nodes[1], np.array([[1.0], [-1.0]])
    assert [term.node for term in node.terms] == [0]
    high, low = node.spread(x)
    assert high / low == pytest.approx(np.e, rel=0.15)


def test_noise_whose_shape_depends_on_the_mean_is_found():
    series = em.simulate.coupled_map("a>b", n=3000, noise=0.05, coupling=0.05, seed=4)  # reflected at 0 and 1
    model = fit(series, series.truth)
    node = model.nodes[0]
    assert len(node.at) == len(node.quantiles) > 1
    np.testing.assert_allclose(node.quantiles.mean(axis=1), 0, atol=1e-12)
    pooled = model.nodes | {0: replace(node, at=np.empty(0), quantiles=node.quantiles.mean(axis=0))}
    made = [one.simulate(4000, seed=1).values[:, 0] for one in (model, replace(model, nodes=pooled))]
    outside = [((one < 0) | (one > 1)).mean() for one in made]
    assert outside[0] < outside[1] / 2
    ranks, x = np.linspace(0.1, 0.9, 5), np.full((5, 1), 0.2)
    value = node.value(x, node.best, 0, node.shock(ranks))
    np.testing.assert_allclose(node.rank(x, value), ranks, atol=0.05)
    linear = fit(em.simulate.var("a>b", n=3000, seed=4), {"b": ["a"]})
    assert not any(len(one.at) for one in linear.nodes.values())


def test_neighbouring_samples_get_similar_weights():
    weights = _weights(np.random.default_rng(0), 4000, 60, 5)
    found = [np.mean(weights[:, 20] * weights[:, 20 + lag]) for lag in range(7)]
    np.testing.assert_allclose(found, [1, 0.8, 0.6, 0.4, 0.2, 0, 0], atol=0.06)
    steady = np.random.default_rng(1).standard_normal(2000)
    for i in range(1, 2000):
        steady[i] += 0.8 * steady[i - 1]
    assert _window({"total": np.ones((500, 2))}) == 1
    assert 20 < _window({"total": steady[:, None]}) < 60


def test_limits_are_those_of_any_monotone_scale():
    """A product of coefficients is skewed; its limits are the products of theirs."""
    z = ndtri((np.arange(4000) + 0.5) / 4000)[:, None]
    for shift in (0.0, 0.3):  # draws of exp(theta) whose median is off
        low, high = _limits(np.ones(1), np.exp(0.5 * (z + shift)) - 1, np.array([ndtr(-shift)]), (0.025, 0.975))
        np.testing.assert_allclose(np.log([low[0], high[0]]) / 0.5, [-1.96 - shift, 1.96 - shift], atol=0.02)


def test_tables_are_shares(states):
    values = states.series.values
    before, after = values[:-1], values[1:, 2]
    both = (before[:, 0] == 1) & (before[:, 1] == 1)
    node = states.nodes[2]
    table = node.best[0]
    row = node.situations(np.array([[1.0, 1.0]]))[0]
    assert node.own == 0
    assert table[row, 1] == pytest.approx(after[both].mean(), abs=0.02)
    assert table[row, 1] == pytest.approx(0.9, abs=0.05)


def test_states_under_intervention(states):
    found = states.intervene({"a": 1, "b": 1}, horizon=3, seed=1)
    node = states.nodes[2]
    share = node.best[0][node.situations(np.array([[1.0, 1.0]]))[0], 1]
    np.testing.assert_allclose(found.mean["c"], share, atol=0.02)
    assert found.baseline["c"].between(0.2, 0.4).all()
    with pytest.raises(em.InputError, match="has no state 7"):
        states.intervene({"a": 7})


def test_a_linear_intervention_is_the_closed_form(linear):
    found = linear.intervene({"a": 2.0}, horizon=12)
    step = np.array([[0.5, 0.0], [0.4, 0.5]])
    mean = np.zeros(2)
    for _ in range(12):
        mean = step @ mean + [0.4 * 2, 0]
    width = (found.high - found.low).iloc[-1] / 4
    assert abs(found.mean["b"].iloc[-1] - mean[0]) < 3 * width["b"]
    assert abs(found.mean["c"].iloc[-1] - mean[1]) < 3 * width["c"]
    assert (found.mean["a"] == 2.0).all()


@pytest.mark.parametrize("kind", ["linear", "maps", "states"])
def test_models_survive_a_file(kind, request, tmp_path):
    model = request.getfixturevalue(kind)
    text = model.to_json(tmp_path / "model.json")
    again = Model.from_json(tmp_path / "model.json")
    assert again.to_json() == text
    assert json.loads(text)["format"] == "enmesh model 1"
    assert again.parents == model.parents
    pd.testing.assert_frame_equal(again.summary, model.summary, atol=1e-6)
    first, second = (one.forecast(horizon=2, paths=500, seed=4).mean for one in (model, again))
    np.testing.assert_allclose(first, second, atol=1e-4)


def test_effects_of_a_file_are_those_of_memory(linear, maps):
    for model, change in ((linear, 1.0), (maps, 0.05)):
        again = Model.from_json(model.to_json())
        here, there = (one.effect("a", "b", change=change, horizon=2) for one in (model, again))
        assert ((there.low <= here.total) & (here.total <= there.high)).all()


def test_text_is_kept():
    rng = np.random.default_rng(0)
    a = rng.choice(["low", "high"], 800)
    b = np.r_[["no"], np.where((a[:-1] == "high") ^ (rng.random(799) < 0.1), "yes", "no")]
    model = fit(em.Series(pd.DataFrame({"a": a, "b": b})), {"b": ["a"]})
    found = model.intervene({"a": "high"}, horizon=2)
    assert found.mean["b=yes"].iloc[-1] == pytest.approx(0.9, abs=0.05)
    assert set(model.simulate(50)["b"]) == {"yes", "no"}
    with pytest.raises(em.InputError, match=r"ask model.intervene"):
        model.effect("a", "b")


def test_mixed_columns():
    rng = np.random.default_rng(1)
    a = rng.integers(0, 3, 900)
    b = np.r_[0.0, np.array([-1.0, 0.5, 2.0])[a[:-1]] + 0.3 * rng.standard_normal(899)]
    model = fit(em.Series(pd.DataFrame({"a": a, "b": b})), {"b": ["a"]})
    found = model.intervene({"a": 2}, horizon=1)
    assert found.mean["b"].iloc[0] == pytest.approx(2.0, abs=0.08)
    assert found.low["b"].iloc[0] < 2.0 < found.high["b"].iloc[0]


def test_links_within_one_sample():
    rng = np.random.default_rng(2)
    a = rng.standard_normal(1500)
    b = 0.7 * a + 0.5 * rng.standard_normal(1500)
    model = fit(em.Series(np.column_stack([b, a]), names=["b", "a"]), {"b": ["a"]}, {("a", "b"): (0,)})
    found = model.effect("a", "b", horizon=2, hold=True)
    np.testing.assert_allclose(found.total, 0.7, atol=0.05)


def test_gaps_and_trials_are_left_out(chain):
    gaps = em.Series(np.where(np.arange(2000)[:, None] == 700, np.nan, chain.values), names=chain.names, missing="drop")
    whole, holed = fit(chain, CHAIN), fit(gaps, CHAIN)
    assert 0 < whole.nodes[1].n - holed.nodes[1].n <= 13
    np.testing.assert_allclose(whole.nodes[1].beta, holed.nodes[1].beta, atol=0.02)
    halves = em.Series([chain.values[:1000], chain.values[1000:]], names=chain.names)
    assert fit(halves, CHAIN).nodes[1].n == whole.nodes[1].n - 12


def test_forecasts_cover(linear):
    found = linear.forecast(linear.series, horizon=30, paths=4000, seed=1)
    spread = linear.series.values.std(axis=0)
    np.testing.assert_allclose((found.high - found.low).iloc[-1] / (2 * 1.96), spread, rtol=0.1)
    with pytest.raises(em.InputError, match="confidence=95"):
        linear.forecast(horizon=2, confidence=95)


def test_skill_beats_the_own_past_where_links_are_true(chain):
    first = chain.with_trials([chain.values[:1000]])
    found = fit(first, CHAIN).skill(chain, horizons=(1, 3))
    near = found.table[found.table.horizon == 1].set_index("node")
    assert near.against_own["a"] == 0
    assert near.against_own["b"] > 0.05
    assert (found.links.cost > 3 * found.links.error).all()
    assert 0.9 < found.covered < 0.98
    assert not found.seen
    np.testing.assert_allclose(found.calibration.observed, found.calibration.expected, atol=0.05)


def test_skill_says_where_links_do_not_help():
    noise = em.Series(np.random.default_rng(0).standard_normal((600, 3)), names=["a", "b", "c"])
    with pytest.warns(em.HazardWarning, match="inferred from the samples"):
        found = fit(noise, {"b": ["a"], "c": ["a", "b"]}).skill()
    assert found.against_own < 0.01
    if found.against_own <= 0:
        assert "do not help" in found.sentence


def test_skill_at_horizons_that_few_origins_reach(linear):
    series = linear.series[:300]
    assert linear.skill(series, horizons=(40,)).table.horizon.tolist() == [1, 40] * len(series.names)
    with pytest.raises(em.InputError, match="horizon 200 is too long"):
        linear.skill(series, horizons=(40, 200))


def test_uncertainty_of_the_graph_widens_limits(chain):
    sure = fit(chain, CHAIN, stability={"a>b": 1.0, "b>c": 1.0})
    unsure = fit(chain, CHAIN, stability={"a>b": 0.6, "b>c": 1.0})
    narrow, wide = (one.effect("a", "c", horizon=2, graph=True) for one in (sure, unsure))
    assert (wide.high - wide.low).iloc[1] > 1.5 * (narrow.high - narrow.low).iloc[1]
    with pytest.raises(em.InputError, match="no stability"):
        fit(chain, CHAIN).effect("a", "c", graph=True)


def test_a_network_is_fitted_at_its_lags():
    series = em.simulate.var({"b": ["a"]}, n=800, lags={("a", "b"): 3}, seed=0)
    model = em.infer(series, score="tea", estimator="gaussian", embedding=em.Lags({("a", "b"): (3,)})).fit(series)
    assert model.lags == {("a", "b"): (3,)}
    found = model.effect("a", "b", horizon=4)
    assert found.total.iloc[:2].abs().max() < 1e-9
    assert found.total.iloc[2] > 0.25


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda m: m.effect("a", "z"), "there is no node 'z'"),
        (lambda m: m.effect("a", "b", change=0), "change=0 is not possible"),
        (lambda m: m.effect("a", "b", horizon=0), "horizon=0 is not possible"),
        (lambda m: m.intervene({}), "no node is set"),
        (lambda m: m.intervene({"a": 1.0}, kind="drag"), "kind='drag' is not known"),
        (lambda m: m.skill(first=2), "first=2 is not possible"),
        (lambda m: fit(m.series, {"b": ["q"]}), "has no node"),
        (lambda m: fit(m.series, CHAIN, basis="wavelet"), "basis='wavelet' is not known"),
        (lambda m: fit(m.series.with_trials([m.series.values[:14]]), CHAIN), "too few samples to fit"),
        (lambda m: Model.from_json("{}"), "is not a model of enmesh"),
        (lambda m: Model.from_json("nowhere.json"), "cannot read nowhere.json"),
        (lambda m: Model.from_json('{"format": "enmesh model 1"}'), "damaged model"),
    ],
)
def test_faults_are_said(linear, ask, said):
    with pytest.raises(em.InputError, match=said):
        ask(linear)


def test_a_model_that_runs_away_is_refused():
    rng = np.random.default_rng(0)
    grows = np.exp(0.05 * np.arange(300)) + rng.standard_normal(300)
    model = fit(em.Series(np.column_stack([grows, rng.standard_normal(300)]), names=["a", "b"]), {"b": ["a"]})
    with pytest.raises(em.InputError, match="the fitted model runs away"):
        model.forecast(horizon=500, paths=100)


@pytest.mark.parametrize("kind", ["effect", "intervene", "forecast", "skill"])
def test_results_draw_and_show_themselves(kind, linear, tmp_path):
    ask = {"effect": lambda: linear.effect("a", "c"), "intervene": lambda: linear.intervene({"a": 1.0}, 4)}
    ask |= {"forecast": lambda: linear.forecast(horizon=4), "skill": lambda: linear.skill(origins=2)}
    with pytest.warns(em.HazardWarning) if kind == "skill" else pytest.MonkeyPatch.context():
        found = ask[kind]()
    found.plot(tmp_path / "it.png")
    assert (tmp_path / "it.png").stat().st_size > 5000
    assert "<svg" in found._repr_html_() or "<img" in found._repr_html_()
    assert repr(found)
    if kind in ("effect", "intervene"):
        for shown in (repr(found), found._repr_html_()):
            assert "This assumes:" in shown
            assert all(one in shown for one in found.assumptions)


def test_limits_hold_the_doubt_about_the_basis():
    rng = np.random.default_rng(4)
    a, e = rng.standard_normal((2, 400))
    b = np.r_[0.0, np.sin(2 * a[:-1]) + 0.5 * e[1:]]
    series = em.Series(np.column_stack([a, b]), names=["a", "b"])
    chosen = fit(series, {"b": ["a"]}, basis="linear")
    given = fit(series, {"b": ["a"]}, own_past=0, basis="linear")
    assert {node.basis.kind for node in chosen.richer.values()} == {"linear"}  # of what is given nothing is doubted
    assert given.richer == {}
    free = fit(series, {"b": ["a"]})
    for i, node in free.nodes.items():
        assert free.richer[i].own == node.own + 1
        assert free.richer[i].basis.kind == RICHER[node.basis.kind]
    forced = replace(given, richer=fit(series, {"b": ["a"]}, own_past=0, basis="spline").nodes)
    narrow, wide = (one.effect("a", "b", change=1.0, horizon=1) for one in (given, forced))
    truth = np.mean(np.sin(2 * (a + 1.0)) - np.sin(2 * a))
    assert not narrow.low[1] < truth < narrow.high[1]  # a line cannot
    assert wide.low[1] < truth < wide.high[1]


def test_a_value_far_outside_the_data_is_said(maps):
    with pytest.warns(em.HazardWarning, match=r"the changed values of a lie far outside the data"):
        maps.intervene({"a": 3.0}, horizon=2)


@pytest.mark.slow
@pytest.mark.parametrize("hold", [False, True])
def test_limits_hold_the_truth_as_often_as_they_say(hold):
    inside = []
    for seed in range(300):
        series = em.simulate.var(coefficients=A, names=["a", "b", "c"], n=400, seed=seed)
        found = fit(series, CHAIN).effect("a", "c", horizon=5, hold=hold)
        truth, x = [], np.array([1.0, 0.0, 0.0])
        for _ in range(5):
            x = A @ x
            x[0] = 1.0 if hold else x[0]
            truth.append(x[2])
        inside.append((found.low <= truth) & (truth <= found.high))
    share = np.mean(inside, axis=0)[1:]  # nothing arrives at horizon 1
    assert ((share > 0.91) & (share < 0.985)).all()
