"""Within one sample, hidden drivers, and what changes: statistics beside naive twins, and what is said of systems."""

import json
import warnings

import numpy as np
import pytest
from benchmarks import within

import enmesh as em
from enmesh.embedding.lagged import Lagged
from enmesh.links.samples import Samples
from enmesh.within import changes, families, orient, pairs, shape
from enmesh.within.hidden import fragile, robustness, strongest_observed
from tests import naive


def system(seed, n=800, noise="normal", graph="collider"):
    """Five nodes with memory: x0 -> x1 at lag 1; within one sample x1 -> x2 and x3 -> x2, or a chain x1 -> x2 -> x3."""
    rng = np.random.default_rng(seed)
    e = {"normal": rng.normal, "exponential": lambda size: rng.exponential(size=size) - 1}[noise](size=(n + 100, 5))
    x = np.zeros_like(e)
    for t in range(1, len(x)):
        x[t] = 0.5 * x[t - 1] + e[t]
        x[t, 1] += 0.5 * x[t - 1, 0]
        if graph == "collider":
            x[t, 2] += 0.7 * x[t, 1] + 0.7 * x[t, 3]
        else:
            x[t, 2] += 0.7 * x[t, 1]
            x[t, 3] += 0.7 * x[t, 2]
    return em.Series(x[100:])


def hidden(seed, n=800):
    """Four nodes; the first two share a driver with memory that is not recorded, the third drives the fourth."""
    rng = np.random.default_rng(seed)
    driver, x = rng.normal(size=n + 100), rng.normal(size=(n + 100, 4))
    for t in range(1, len(x)):
        driver[t] += 0.8 * driver[t - 1]
        x[t] += 0.5 * x[t - 1] + [0.9 * driver[t - 1], 0.9 * driver[t - 1], 0, 0.5 * x[t - 1, 2]]
    return em.Series(x[100:])


def known_of(series, lagged):
    samples = Samples.of(series.in_order(), 1)
    return samples, pairs.given_lagged(samples, lagged, [0] * samples.nodes)


@pytest.fixture(scope="module")
def collider():
    series = system(0)
    return em.infer(series), em.infer(series, within_sample=True)


# --- dependence of pairs -------------------------------------------------------------------------------------------


def test_ratios_of_pairs_are_those_of_regressions():
    series = system(1, n=300)
    known = known_of(series, [[Lagged(i, 1)] for i in range(5)])[1]
    responses, _ = pairs._aligned(known)
    found = pairs._ratios(responses[1] @ responses[2].T / responses.shape[2])
    slow = naive.pair_ratios(responses[1].T, responses[2].T)
    assert found == pytest.approx(slow, rel=1e-3, abs=2e-4)


def test_p_values_are_uniform_without_dependence():
    """240 pairs of independent AR(1) of exponential noise: the share below .1 and .5 is within 3 standard errors."""
    p = []
    for seed in range(24):
        rng = np.random.default_rng([1, seed])
        x = rng.exponential(size=(300, 5))
        for t in range(1, 300):
            x[t] += 0.6 * x[t - 1]
        p += [
            pair.p_value
            for pair in pairs.dependent_pairs(known_of(em.Series(x), [[Lagged(i, 1)] for i in range(5)])[1])
        ]
    for level in (0.1, 0.5):
        assert abs(np.mean(np.array(p) <= level) - level) < 3 * np.sqrt(level * (1 - level) / len(p))


@pytest.mark.parametrize("kind", ["states", "squares", "missing"])
def test_dependence_of_any_kind_of_column_is_found(kind):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(600, 30))
    x[:, 1] = x[:, 0] ** 2 + 0.5 * x[:, 1] if kind == "squares" else 0.5 * x[:, 0] + x[:, 1]
    values = np.rint(np.clip(x, -1, 1)).astype(int) if kind == "states" else x
    if kind == "missing":
        values = np.where(rng.random(x.shape) < 0.05, np.nan, x)
    series = em.Series(values, missing="drop") if kind == "missing" else em.Series(values)
    found = pairs.dependent_pairs(known_of(series, [[] for _ in range(30)])[1])
    best = min(found, key=lambda pair: pair.p_value)
    names = series.in_order().names
    assert {names[best.first], names[best.second]} == {"x0", "x1"}
    assert best.q_value < 1e-4
    assert sum(pair.q_value < 0.05 for pair in found) <= 3


# --- scores --------------------------------------------------------------------------------------------------------


def test_shape_of_a_laplace_residual_is_its_likelihood():
    x = np.random.default_rng(0).laplace(size=4000)
    gaussian, more = shape.log_likelihood(x)
    scale = np.abs(x).mean()
    best = -len(x) * (np.log(2 * scale) + 1)
    penalty = 0.5 * shape.EXTRA * np.log(len(x))
    assert gaussian == pytest.approx(-len(x) / 2 * (np.log(2 * np.pi * x.var()) + 1))
    found = gaussian + more + penalty  # its density is smooth: it cannot have the cusp
    assert best - 0.006 * len(x) < found < best + shape.EXTRA


def test_score_of_a_linear_family_is_bic():
    series = system(2)
    samples = Samples.of(series.in_order(), 1)
    lagged = [[Lagged(i, 1)] for i in range(5)]
    found = families.Families(samples, lagged, [0] * 5, {1: {2}, 2: {1, 3}, 3: {2}})
    score = found(2, (1, 3))
    y, now = samples.plain[2, found.rows], [samples.plain[j, found.rows] for j in (1, 3)]
    before = [samples.plain[v.node, found.rows - v.lag] for v in score.kept]
    design = np.column_stack([np.ones(len(y)), *now, *before])
    left = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    likelihood = -len(y) / 2 * (np.log(2 * np.pi * left.var()) + 1)
    assert not score.bent
    assert score.gaussian == pytest.approx(likelihood - 0.5 * np.log(len(y)) * design.shape[1], rel=1e-6)
    assert Lagged(2, 1) in score.kept
    assert score.score > found(2, (1,)).score + 50


def test_a_collider_is_oriented_and_a_chain_of_gaussian_noise_by_lagged_parents(collider):
    _, net = collider
    marks = {frozenset((r.a, r.b)): (r.a, r.mark) for r in net.within.itertuples()}
    assert set(marks) == {frozenset(("x1", "x2")), frozenset(("x2", "x3"))}
    assert ("x1", "x2") in net
    assert ("x3", "x2") in net
    edges = net.edges.set_index(["source", "target"])
    assert edges.loc[("x1", "x2"), "lags"] == (0,)
    assert net.within.reason.str.contains("nats").all()


@pytest.mark.parametrize(("gain", "there"), [(2.0, False), (4.5, True)])
def test_an_edge_stays_if_its_absence_scores_less_by_three_nats(gain, there):
    """Two nodes whose correlation is made so that the edge is worth a given gain by BIC."""
    n = 801
    x, e = np.random.default_rng(7).normal(size=(2, n))
    left = slice(1, None)  # the first sample is not predicted
    x[left] -= x[left].mean()
    e[left] -= e[left].mean() + x[left] * (e[left] @ x[left]) / (x[left] @ x[left])
    x, e = x / x[left].std(), e / e[left].std()
    r = np.sqrt(-np.expm1(-(2 * gain + np.log(n - 1)) / (n - 1)))
    series = em.Series(np.column_stack([x, r * x + np.sqrt(1 - r**2) * e])).in_order()
    samples = Samples.of(series, 1)
    part = orient._Part(samples, [[], []], [0, 0], {0: {1}, 1: {0}}, frozenset())
    assert any(part.best.parents) == there


def test_dense_graphs_are_bounded(monkeypatch):
    rng = np.random.default_rng(8)
    x = rng.normal(size=(300, 6)) + rng.exponential(size=(300, 1))
    sizes = []
    test = orient.Contemporary.test
    monkeypatch.setattr(orient.Contemporary, "test", lambda *args: (sizes.append(len(args[3])), test(*args))[1])
    monkeypatch.setattr(orient, "BUDGET", 150)
    monkeypatch.setattr(orient, "PROVEN", 3)
    net = em.infer(em.Series(x), max_lag=1, within_sample=True)
    assert set(sizes) == {1}
    assert "that was found" in {what: why for what, _, why in net.choices}["within_sample"]
    now = [(r.source, r.target) for r in net.edges.itertuples() if 0 in r.lags]
    assert max([sum(target == node for _, target in now) for node in net.names]) <= 2


def test_two_gaussian_nodes_without_memory_are_not_oriented():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(500, 3))
    x[:, 1] += 0.7 * x[:, 0]
    for noise, mark in ((0, "---"), (1, "-->")):
        if noise:
            x = rng.exponential(size=(500, 3))
            x[:, 1] += 0.7 * x[:, 0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            net = em.infer(em.Series(x), within_sample=True)
        row = net.within.iloc[0]
        assert (row.a, row.b, row["mark"]) == ("x0", "x1", mark)
        assert (("x0", "x1") in net) == bool(noise)


def test_tiers_orient_what_the_data_cannot():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(500, 3))
    x[:, 1] += 0.7 * x[:, 0]
    net = em.infer(em.Series(x), within_sample=True, tiers=[["x1"], ["x0", "x2"]])
    assert ("x1", "x0") in net
    assert "tiers" in net.within.reason[0]


def test_lagged_links_are_tested_given_parents_within_the_sample(collider):
    before, after = collider
    lags = [net.edges.set_index(["source", "target"]).lags for net in (before, after)]
    for pair in (("x1", "x2"), ("x3", "x2")):  # by the memory of the source
        assert min(lags[0][pair]) > 0
        assert lags[1][pair] == (0,)
    assert min(lags[1]["x0", "x1"]) > 0


def test_one_graph_without_cycles_within_the_sample():
    for seed in range(2):
        net = em.infer(system(seed, n=400, noise="exponential", graph="chain"), within_sample=True)
        now = [(r.source, r.target) for r in net.edges.itertuples() if 0 in r.lags]
        import networkx as nx

        assert nx.is_directed_acyclic_graph(nx.DiGraph(now))
        assert {("x1", "x2"), ("x2", "x3")} <= set(now)


def test_a_network_with_edges_within_the_sample_is_kept_shown_and_fitted(collider, tmp_path):
    _, net = collider
    again = em.Network.from_json(net.to_json())
    assert again.within.equals(net.within)
    assert again.edges.equals(net.edges)
    damaged = json.loads(net.to_json())
    damaged["marks"][0][0] = "nobody"
    with pytest.raises(em.InputError, match="marks has a node"):
        em.Network.from_json(json.dumps(damaged))
    assert "in the same sample" in net.explain("x1", "x2").sentence
    page = net.report(tmp_path / "page.html").read_text()
    assert "less than one sample" in page
    assert net.fit().simulate(n=20, seed=0).shape == (20, 5)


def test_acyclic_leaves_out_arrows_that_close_a_cycle(collider):
    rng = np.random.default_rng(52)
    x = rng.exponential(size=(1200, 4)) - 1
    for t in range(1, len(x)):
        x[t] += 0.4 * x[t - 1]
        x[t, [1, 3]] += 0.5 * x[t - 1, [0, 2]]
        x[t, 2] += 0.7 * x[t, 1]
        x[t, 0] += 0.4 * x[t, 3]
    free, net = (em.infer(em.Series(x[100:]), within_sample=True, acyclic=one) for one in (False, True))
    ring = {("x0", "x1"), ("x1", "x2"), ("x2", "x3"), ("x3", "x0")}
    assert {*free} == ring
    assert {*net} < ring
    unknown = net.within[net.within.mark == "---"]
    assert unknown.reason.str.startswith("acyclic=True excludes the arrow").all()
    assert len(unknown) == 1
    assert {*em.infer(system(0), within_sample=True, acyclic=True)} == {*collider[1]}


@pytest.mark.parametrize(
    ("options", "said"),
    [({"estimator": "gaussian"}, "belongs to the default test"), ({"within_sample": 3}, "give True or False")],
)
def test_what_cannot_be_asked_is_refused(options, said):
    with pytest.raises(em.InputError, match=said):
        em.infer(system(0, n=100), **{"within_sample": True, **options})


# --- what is said --------------------------------------------------------------------------------------------------


def test_the_caution_comes_first_and_names_links(collider):
    net, after = collider
    assert net.warnings[0].startswith("within one sample: ")
    assert "x3 -> x2" in net.warnings[0]
    from enmesh.draw.cautions import plan

    first = plan(net)[0]
    assert first.message == net.warnings[0]
    assert "within_sample=True" in first.command
    assert not any(one.startswith("within one sample") for one in after.warnings)


@pytest.mark.parametrize("seed", range(2))
def test_calm_data_raise_no_caution(seed):
    net = em.infer(em.simulate.var("a>b, b>c, d>c", n=600, seed=seed))
    assert not any(one.startswith(("within", "coarse")) for one in net.warnings)
    assert not net.edges.hidden.any()


def test_a_hidden_driver_is_said():
    net = em.infer(hidden(0))
    assert net.warnings[0].startswith("within one sample: x0 and x1")
    edges = net.edges.set_index(["source", "target"])
    assert not edges.loc[("x2", "x3"), "hidden"]
    between = [pair for pair in net if set(pair) == {"x0", "x1"}]
    assert between
    assert all(edges.loc[pair, "hidden"] for pair in between)
    marks = net.within
    assert set(marks["mark"]) <= {"---", "<->"}


def test_a_hidden_driver_is_on_the_page(tmp_path):
    net = em.infer(hidden(0))
    from enmesh.draw import answer

    said = answer.hidden_drivers(net)
    assert said.startswith("An effect within one sample, or a hidden driver, may cause ")
    assert "x2 → x3" not in said
    page = net.report(tmp_path / "page.html").read_text()
    assert said in page
    assert "Hidden drivers" in page
    assert "direction not known" in page or "a hidden driver of both" in page


def test_a_pair_without_a_direction_is_a_caution():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(500, 3))
    x[:, 1] += 0.7 * x[:, 0]
    net = em.infer(em.Series(x), within_sample=True)
    assert net.warnings[0].startswith("no direction within one sample: x0 and x1 ")


def test_robustness_is_that_of_cinelli_and_hazlett():
    share = 0.1
    te = -0.5 * np.log(1 - share)
    odds = share / (1 - share)
    assert robustness(te) == pytest.approx(0.5 * (np.sqrt(odds**2 + 4 * odds) - odds))
    r = float(robustness(te))  # bias of a driver with both partial R2 equal to r: r^2 / (1 - r) is the odds
    assert r**2 / (1 - r) == pytest.approx(odds)


def test_fragile_links_are_those_that_a_typical_hidden_driver_makes_not_significant():
    """By hand: t-values of 3 and 10 on 1,000 samples. At level .05, f of the first is 3, and 1.96 is needed."""
    from scipy.stats import norm

    t, n = np.array([3.0, 10.0, 10.0]), 1000
    te = 0.5 * np.log1p(t**2 / n)
    left = (t - norm.isf(0.025)) / np.sqrt(n)
    needed = 0.5 * (np.sqrt(left**4 + 4 * left**2) - left**2)
    typical = 1 - np.exp(-2 * np.median(te))
    found = fragile(te, 2 * norm.sf(t), 0.05)
    assert found.tolist() == (needed <= typical).tolist() == [True, False, False]
    assert not fragile(te[[0, 0, 1]], 2 * norm.sf(t[[0, 0, 1]]), 0.05).any()  # the median is weak too
    assert fragile(te, np.array([0.05, 1e-9, 1e-9]), 0.05)[0]  # nothing is to spare
    edges = em.infer(system(0)).edges
    assert edges["fragile"].dtype == bool


def test_a_hidden_driver_of_the_stated_strength_explains_a_link_away():
    """No link, but a driver with partial R2 of .3 with both: the mean robustness of the false link is .3."""
    found, strength = [], 0.3
    odds = strength / (1 - strength)
    for seed in range(12):
        rng = np.random.default_rng([2, seed])
        driver, x = rng.normal(size=1001), rng.normal(size=(1001, 3))
        x[:, 0] += np.sqrt(odds) * driver
        x[1:, 1] += np.sqrt(odds / (1 - strength)) * driver[:-1]
        net = em.infer(em.Series(x), max_lag=1)
        found.append(float(net.edges.set_index(["source", "target"]).loc[("x0", "x1"), "robust"]))
    assert np.mean(found) == pytest.approx(strength, abs=3 * np.std(found) / np.sqrt(len(found)))


def test_strength_of_the_strongest_observed_driver():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(500, 3))
    x[:, 0] += 0.6 * x[:, 2]
    x[1:, 1] += 0.5 * x[:-1, 0] + 0.8 * x[:-1, 2]
    series = em.Series(x).in_order()
    samples = Samples.of(series, 1)
    i, j, k = (series.index(name) for name in ("x1", "x0", "x2"))
    found = strongest_observed(samples, i, Lagged(j, 1), [Lagged(i, 1)], [Lagged(k, 1)])
    z = samples.functions[0].T
    known = np.column_stack([np.ones(499), z[:-1, i]])
    with_target = naive.partial_r2(np.column_stack([known, z[:-1, j]]), z[:-1, k], z[1:, i])
    assert found == pytest.approx(min(with_target, naive.partial_r2(known, z[:-1, k], z[:-1, j])), rel=1e-6)
    assert np.isnan(strongest_observed(samples, i, Lagged(j, 1), [Lagged(i, 1)], []))


def test_coarse_sampling_is_said():
    """A ring of linear diffusions, sampled every .1 and every unit of time."""
    rng, size = np.random.default_rng(6), 8
    drift = -np.eye(size) + 0.7 * np.roll(np.eye(size), 1, axis=0) * (np.arange(size) > 0)[:, None]
    step = np.eye(size) + 0.05 * drift
    noise, x = np.sqrt(0.05) * rng.normal(size=(16000, size)), np.zeros((16000, size))
    for t in range(1, len(x)):
        x[t] = step @ x[t - 1] + noise[t]
    coarse = em.infer(em.Series(x[::20]))
    assert any(one.startswith("coarse sampling") for one in coarse.warnings)
    fine = em.infer(em.Series(x[:800:1]))
    assert not any(one.startswith("coarse sampling") for one in fine.warnings)


# --- what changes --------------------------------------------------------------------------------------------------


def test_partial_sums_and_likelihoods_beside_their_twins():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 60)).cumsum(axis=1)
    found, wide = changes.bridges(x), changes.memory(x)
    for row in range(2):
        assert found[row] == pytest.approx(naive.bridge(x[row]))
        assert wide[row] == pytest.approx(naive.bartlett(x[row]))
    design, y = np.vstack([np.ones(60), rng.normal(size=(2, 60))]), rng.normal(size=60)
    places = np.array([20, 30, 41])
    slow = [naive.split_likelihood(design.T, y, place) for place in places]
    assert changes.split_likelihood(design, y, places) == pytest.approx(slow, abs=1e-5)


def switching(seed, n=800):
    graphs = {"a": [], "b": ["a"], "c": ["b"]}, {"a": ["b"], "b": [], "c": ["b"]}
    made = [em.simulate.var(graph, n=n // 2, coupling=0.6, seed=seed + k).values for k, graph in enumerate(graphs)]
    return em.Series(np.concatenate(made), names=["a", "b", "c"])


@pytest.fixture(scope="module")
def switched():
    return em.regimes(switching(3))


def test_a_switch_is_found_where_it_is(switched, tmp_path):
    found = switched
    assert len(found) == 2
    assert abs(found.change_points[0] - 400) <= 40
    assert ("a", "b") in found.networks[0]
    assert ("b", "a") in found.networks[1]
    assert {("a", "b"), ("b", "a")} <= set(zip(found.changes.source, found.changes.target))
    assert (found.changes.q_value <= 0.05).all()
    found.plot(tmp_path / "picture.png")
    page = found.report(tmp_path / "page.html").read_text()
    assert "The links change once, at sample" in page
    assert found._repr_html_()
    compared = found.compare(n_permutations=19)
    assert "times" in compared.exchanged
    with pytest.raises(em.InputError, match="1 change points"):
        found.compare(1)


def test_links_that_change_are_a_caution(switched):
    changed = em.infer(switching(3))
    assert changed.warnings[0].startswith("links change along the recording: ")
    assert "a -> b" in changed.warnings[0]
    from enmesh.draw.cautions import plan

    assert plan(changed)[0].command == "em.regimes(series)"
    assert not any(one.startswith("links change") for one in switched.networks[0].warnings)
    apart = em.Series(np.split(switching(3).values, 2), names=["a", "b", "c"])
    assert not any(one.startswith("links change") for one in em.infer(apart).warnings)  # trials have no common time


def test_all_links_that_change_tell_the_time():
    """Three links go and three come; alone, the one with the smallest p-value puts the time 70 to 280 samples off."""
    for seed, at in ((7600, 726), (7604, 1017), (7614, 914)):
        x, _, _, found = within.switching(seed)
        assert found == at
        (change,) = em.regimes(em.Series(x), max_lag=2).change_points
        assert abs(change - at) <= 30


def test_regimes_where_values_are_missing():
    """A row is used where the target and all lagged variables are there: the sums are those of these rows."""
    values = switching(3).values.copy()
    values[np.random.default_rng(0).random(values.shape) < 0.02] = np.nan
    found = em.regimes(em.Series(values, names=["a", "b", "c"], missing="drop"))
    assert len(found) == 2
    assert abs(found.change_points[0] - 400) <= 60
    there = np.isfinite(values).all(axis=1)
    assert there[found.times].all()


def test_the_limit_of_sums_is_seldom_exceeded_without_a_change():
    over = 0
    for seed in range(12):
        x = np.random.default_rng([3, seed]).normal(size=(300, 3))
        found = em.regimes(em.Series(x), max_lag=3)
        over += int((np.abs(found.sums).max(axis=-1) > found.limit).sum())
    assert over <= 9  # of 72 pairs; 3.6 are expected at most


def test_no_change_is_found_in_a_record_whose_variance_grows():
    none = 0
    for seed in range(4):
        values = em.simulate.var("a>b, b>c", n=400, seed=seed).values * np.linspace(1, 3, 400)[:, None]
        none += len(em.regimes(em.Series(values), max_lag=2)) == 1
    assert none >= 3


def test_regimes_refuses_trials_and_short_records():
    series = em.simulate.var("a>b", n=150, seed=0)
    with pytest.raises(em.InputError, match="too few for two regimes"):
        em.regimes(series)
    with pytest.raises(em.InputError, match="windows"):
        em.regimes(em.Series([series.values, series.values[:100]]))
    with pytest.raises(em.InputError, match="level"):
        em.regimes(series, level=2)


def test_regimes_on_the_command_line(tmp_path, capsys):
    from enmesh.cli import main

    file, out = tmp_path / "switch.csv", tmp_path / "out"
    switching(3).to_csv(file)
    assert main(["regimes", str(file), "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "links change at sample" in said
    assert {one.name for one in out.iterdir()} == {
        "regimes.json", "changes.csv", "regimes.png", "regimes.svg", "regimes.html",
    }  # fmt: skip
    assert json.loads((out / "regimes.json").read_text())["format"] == "enmesh regimes 1"
