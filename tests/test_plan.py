"""The defaults: evidence, rules that fire and that do not, one answer whoever is asked, more data never finds less."""

import inspect
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import enmesh as em
from enmesh.embedding.forward import Past
from enmesh.inference import beyond
from enmesh.inference import evidence as evidence_module
from enmesh.inference.evidence import Evidence
from enmesh.inference.plan import Planner, asked, planned
from enmesh.inference.rules import NEIGHBOURS, TARGETS, TESTS, THRESHOLDS, Thresholds, decided
from enmesh.inference.wanted import Wanted
from enmesh.options import brief
from tests import naive

VAR = em.simulate.var("a>b, b>c", n=500, seed=0)
MAPS = em.simulate.coupled_map("a>b, b>c", n=500, noise=0.05, seed=0)
FLOW = em.simulate.coupled_flow(
    "a>b", n=400, system={"a": "lorenz", "b": "rossler"}, coupling=1.5, dt=0.05, seed=0
)
TURNS = {"a": "lorenz", "b": "rossler", "c": "lorenz"}
WORDS = em.Series(np.random.default_rng(0).integers(0, 3, (300, 2)))


def white(n=500, nodes=3, seed=0):
    return em.Series(np.random.default_rng(seed).normal(size=(n, nodes)))


def smooth(n=600, nodes=8):
    """Slow oscillations with little noise: smooth, and followed by a line."""
    noise = np.random.default_rng(1).normal(size=(n + 100, nodes))
    x = np.zeros_like(noise)
    for t in range(2, len(x)):
        x[t] = 1.9 * x[t - 1] - 0.92 * x[t - 2] + noise[t]
    return em.Series(x[100:])


def heteroscedastic(n=600, nodes=4):
    rng = np.random.default_rng(2)
    size = np.exp(1.2 * np.sin(np.arange(n) / 25))[:, None]
    return em.Series(size * rng.normal(size=(n, nodes)))


def weakly_coupled(nodes=30, n=500):
    """Return a VAR with about four weak links for each node, and its links by name."""
    rng = np.random.default_rng(1)
    weights = (rng.random((nodes, nodes)) < 4 / nodes) * 0.17 * rng.choice([-1, 1], (nodes, nodes))
    np.fill_diagonal(weights, 0.3)
    x = rng.normal(size=(n + 100, nodes))
    for t in range(1, len(x)):
        x[t] += weights @ x[t - 1]
    series = em.Series(x[100:])
    return series, {(series.names[j], series.names[i]) for i, j in np.argwhere(weights) if i != j}


def mixed():
    rng = np.random.default_rng(0)
    import pandas as pd

    return em.Series(pd.DataFrame({"a": rng.normal(size=200), "s": rng.choice(["x", "y"], 200)}))


@pytest.mark.parametrize(
    ("number", "fires", "does_not"),
    [
        (0, lambda: WORDS, lambda: VAR),
        (1, mixed, lambda: VAR),
        (2, lambda: white(90), lambda: white(100)),
        (3, heteroscedastic, lambda: VAR),
        (4, lambda: FLOW, smooth),
        (5, smooth, lambda: VAR),
        (6, lambda: VAR, lambda: FLOW),
    ],
)
def test_each_rule_of_tests_fires_and_does_not(number, fires, does_not):
    assert decided(TESTS, Evidence(fires())) is TESTS[number]
    assert decided(TESTS, Evidence(does_not())) is not TESTS[number]


def test_each_rule_of_targets_fires_and_does_not():
    assert decided(TARGETS, Evidence(VAR), 0) is TARGETS[0]
    assert decided(TARGETS, Evidence(MAPS), 0) is TARGETS[1]
    assert decided(TARGETS, Evidence(white(200, 21)), 0) is TARGETS[2]


@pytest.mark.parametrize(
    ("number", "evidence"),
    [
        (0, {"nearly_deterministic": True}),
        (1, {"smooth": True}),
        (2, {"curved": True}),
        (3, {"tails": 0.0}),
        (4, {}),
    ],
)
def test_each_rule_of_neighbours_fires_and_does_not(number, evidence):
    nothing = {
        "nearly_deterministic": False,
        "smooth": False,
        "curved": False,
        "heavy_tails": False,
        "tails": 5.0,
        "samples": 900,
    }
    found = decided(NEIGHBOURS, SimpleNamespace(**nothing | evidence))
    assert found is NEIGHBOURS[number]
    assert isinstance(found.choice(SimpleNamespace(**nothing | evidence)), em.KSG)
    without = SimpleNamespace(**(nothing | {"smooth": True} if number == 4 else nothing))
    assert decided(NEIGHBOURS, without) is not NEIGHBOURS[number]


def test_shares_of_every_target_add_up_to_the_level():
    assert all(sum(rule.choice.values()) == pytest.approx(1) for rule in TARGETS)


def test_every_threshold_has_its_words():
    source = inspect.getsource(Thresholds)
    assert source.count('"""') // 2 == 1 + len(Thresholds.__dataclass_fields__)


WORDS_OF_TESTS = {
    "counts": "`Discrete`, `TEA`",
    "mixed": "`Mixed`, `TEE`",
    "line": 'a line: `Gaussian(normalise="rank")`, `TEA(null="shift")`',
    "curve": 'a curve: `Regression(features="quadratic")`, `TEA(null="shift")`',
    "neighbours": "nearest neighbours: `KSG`, `TEE`",
    "smooth": "a line and a curve",
    "all": "lines, curves and neighbours, target by target",
}


def in_words(choice):
    if isinstance(choice, str):
        return WORDS_OF_TESTS[choice]
    if callable(choice):
        return f"`{brief(choice(SimpleNamespace(heavy_tails=False, samples=900)))}`"
    return "; ".join(f"{WORDS_OF_TESTS[test]} ({share:g} of the level)" for test, share in choice.items())


def as_table(table):
    """Return rules as a table in Markdown."""
    rows = [f"| {rule.data} | {in_words(rule.choice)} | {rule.reason} |" for rule in table]
    return "\n".join(["| the data | what is asked | why |", "|---|---|---|", *rows])


def test_the_page_shows_the_rules_themselves():
    from pathlib import Path

    page = (Path(__file__).parents[1] / "docs" / "defaults.md").read_text()
    for table in (TESTS, TARGETS, NEIGHBOURS):
        assert as_table(table) in page


@pytest.mark.parametrize(
    ("series", "blind"),
    [
        (em.simulate.coupled_flow("a>b, a>c", n=500, system=TURNS, coupling=1.5, dt=0.2, seed=1), [0, 2]),
        (em.simulate.coupled_map("a>b, b>c", n=500, noise=0.02, seed=0), []),
        (white(500), [0, 1, 2]),
    ],
    ids=["flow", "maps", "white"],
)
@pytest.mark.filterwarnings("ignore")
def test_all_sources_are_looked_at_where_regressions_see_less_than_the_own_past_says(
    series, blind, monkeypatch
):
    seen = []

    def nothing(planner, loose, targets, far):
        seen.extend(targets)
        return {}, {}

    monkeypatch.setattr(beyond, "_within_budget", nothing)
    em.infer(series, acyclic=False)
    assert seen == blind


# --- one answer -------------------------------------------------------------------------------------------------------


def test_several_sources_whose_lags_were_chosen_are_not_called_significant_by_chance():
    tests = [em.significance(white(300, seed=seed), [0, 2], 1, estimator="gaussian") for seed in range(30)]
    assert np.mean([test.p_value <= 0.1 for test in tests]) <= 0.2  # .58 where lags do not count
    with pytest.warns(em.HazardWarning, match="the lags of several sources were chosen from the data"):
        em.significance(white(200), [0, 2], 1, estimator="ksg", max_lag=2)


@pytest.mark.parametrize(
    "series", [VAR, MAPS, FLOW, WORDS, white(300)], ids=["var", "maps", "flow", "states", "white"]
)
@pytest.mark.filterwarnings("ignore")
def test_a_link_has_one_value_one_p_and_one_lag(series, tmp_path):
    net = em.infer(series, acyclic=False)
    page = json.loads(net.to_json())
    stored = {(c["source"], c["target"]): c for c in page["candidates"]}
    place = {name: i for i, name in enumerate(series.names)}
    for c in net.candidates:
        given = [name for name in net.parents[c.target] if name != c.source]
        count = len(c.null) or None
        if c.selected or not count:  # tests of links that are not in the network may stop early
            test = asked(
                series,
                Wanted(),
                [place[c.source]],
                place[c.target],
                [place[g] for g in given],
                count,
            )
            assert (test.value, test.p_value) == (c.te, c.p_value)
        if not count:
            test = em.significance(series, c.source, c.target, given=given)
            assert (test.value, test.p_value) == (c.te, c.p_value)
        assert stored[c.source, c.target]["p_value"] == c.p_value
    assert em.score(series, net.parents, planned(series, Wanted())[0].score).total == pytest.approx(net.score)


@pytest.mark.filterwarnings("ignore")
def test_typing_a_default_changes_nothing():
    plain = em.infer(VAR)
    for options in ({"alpha": 0.99}, {"max_lag": 5}, {"acyclic": True, "search": "exact"}):
        assert em.infer(VAR, **options).edges.equals(plain.edges)
    gaussian = em.infer(VAR, estimator="gaussian")
    assert em.infer(VAR, estimator="gaussian", alpha=0.99).edges.equals(gaussian.edges)
    assert em.infer(VAR, estimator="gaussian", score="tea").edges.equals(gaussian.edges)


def oscillators():
    rng = np.random.default_rng(4)
    phase = np.cumsum(rng.normal(0.8, 0.2, size=(600, 3)), axis=0)
    phase[1:, 1] += 0.4 * np.sin(phase[:-1, 0] - phase[:-1, 1])
    return em.Series(np.sin(phase), names=["a", "b", "c"])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("series", [VAR, MAPS, oscillators()], ids=["lines", "curves", "oscillators"])
def test_order_scale_and_workers_change_nothing(series):
    columns, turned = ["source", "target", "te", "p_value", "q_value", "lag"], series.names[::-1]
    plain = em.infer(series)
    others = [
        em.infer(series.select(turned)),
        em.infer(em.Series(series.values * [1e6, 1e-3, 5], names=series.names)),
        em.infer(series, n_jobs=2),
    ]
    assert others[0].names == turned
    assert list(others[0].parents) == list(turned)
    assert len(plain.edges)
    for other in others:
        assert other.edges[columns].equals(plain.edges[columns])
        assert np.allclose(other.edges["effect"], plain.edges["effect"], rtol=1e-12)
    asked = [em.significance(one, 0, 1) for one in (series, series.select(["a", "b", "c"][::-1]))]
    assert asked[0].value == em.significance(series.select(turned), "a", "b").value
    assert asked[1].value == em.significance(series, "c", "b").value


def test_p_is_never_zero():
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000)
    y = np.concatenate([[0.0], x[:-1]]) + 0.001 * rng.normal(size=2000)
    net = em.infer(em.Series(np.column_stack([x, y]), names=["x", "y"]))
    assert 0 < net.edges["p_value"].iloc[0] <= 1e-300
    assert net.edges["q_value"].iloc[0] > 0


def test_p_values_count_the_tests_that_shared_the_level():
    plan, _ = planned(VAR, Wanted())
    score = dict(plan.score.scores)["b"]
    alone = score.bind(VAR).test(em.scores.Link(0, 1, ()))
    from enmesh.tasks import run

    assert asked(VAR, Wanted(), [0], 1, []).p_value == pytest.approx(run(alone).p_value / 0.8)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["line", "curve", "both"])
def test_curves_that_select_nothing_new_need_not_be_searched(kind, monkeypatch):
    rng = np.random.default_rng(11)
    x = rng.normal(size=(800, 4))
    for t in range(1, 800):
        x[t] += 0.4 * x[t - 1]
        x[t, 1] += 0.4 * x[t - 1, 0] * (kind != "curve")
        x[t, 2] += 0.3 * x[t - 1, 1] ** 2 * (kind != "line")
    series, searched = em.Series(x), []
    regressed, networks, counts = Planner._regressed, [], []

    def counted(saving):
        def counting(self, *args, known=(), **how):
            found, best = regressed(self, *args, known=known if saving else (), **how)
            searched.append(len(best))
            return found, best

        return counting

    for saving in (True, False):
        searched.clear()
        monkeypatch.setattr(Planner, "_regressed", counted(saving))
        networks.append(em.infer(series, acyclic=False))
        counts.append(sum(searched))
    one, other = networks
    assert one.edges.equals(other.edges)
    assert (one.choices, one.local) == (other.choices, other.local)
    assert counts[0] < counts[1]


@pytest.mark.filterwarnings("ignore")
def test_common_changes_of_variance_do_not_make_lines_look_further():
    far = 0
    for seed in range(20):  # by F alone a third of such recordings had a source at lags 6 to 10
        rng = np.random.default_rng(seed)
        walk = np.zeros(600)
        for t in range(1, 600):
            walk[t] = 0.98 * walk[t - 1] + 0.3 * rng.normal()
        series = em.Series((rng.normal(size=(600, 6)) * np.exp(0.8 * walk)[:, None])[100:])
        far += ("max_lag", "10") in [choice[:2] for choice in em.infer(series, acyclic=False).choices]
    assert far <= 2


@pytest.mark.filterwarnings("ignore")
def test_links_at_the_last_lag_are_warned_of():
    series = em.simulate.var("a>b", n=600, lags=4, seed=0)
    with pytest.warns(em.HazardWarning, match="a larger max_lag"):
        em.infer(series, max_lag=4)
    assert em.infer(series).edges["lag"].tolist() == [4]


@pytest.mark.filterwarnings("ignore")
def test_the_record_is_looked_at_as_far_as_it_bears_where_a_link_is_far():
    net = em.infer(em.simulate.var("a>b", n=1000, lags=8, seed=0))
    assert net.edges["lag"].tolist() == [8]
    assert ("max_lag", "10") in [choice[:2] for choice in net.choices]


@pytest.mark.filterwarnings("ignore")
def test_constraints_bound_the_selection():
    net = em.infer(VAR, candidates={"b": ["c"]}, forbidden=[("b", "c")])
    assert net.parents["b"] == ()
    assert net.parents["c"] in ((), ("a",))
    assert em.infer(VAR, tiers=[["c"], ["a", "b"]]).parents["c"] == ()


def test_as_many_parents_as_are_there_are_found_and_a_limit_that_leaves_some_out_is_warned_of():
    series = em.simulate.var({"y": list("abcde")}, n=600, coupling=0.4, seed=0)
    net = em.infer(series)
    assert net.parents["y"] == tuple("abcde")
    assert ("max_parents", "5", "no source is left out by it") in net.choices
    with pytest.warns(
        em.HazardWarning, match="a -> y, c -> y, e -> y are significant beyond them; raise max_parents"
    ):
        assert em.infer(series, max_parents=2).parents["y"] == ("b", "d")


@pytest.mark.filterwarnings("ignore")
def test_instantaneous_pairs_are_asked_given_their_own_pasts():
    rng = np.random.default_rng(0)
    shocks = rng.normal(size=(800, 3))
    shocks[:, 1] += 0.8 * shocks[:, 2]
    x = np.zeros((800, 3))
    for t in range(3, 800):
        x[t] = 0.3 * x[t - 1] + shocks[t]
        x[t, 0] += 0.5 * x[t - 3, 1]
    net = em.infer(em.Series(x), acyclic=False)
    pair, *others = net.instantaneous.sort_values("p_value").to_dict("records")
    assert (pair["first"], pair["second"]) == ("x1", "x2")
    assert pair["p_value"] < 1e-20
    assert all(other["p_value"] > 0.001 for other in others)


def test_neighbours_are_left_targets_whose_sets_of_sources_can_be_tested():
    def found(lags):  # 12, 29 and 4 tests
        return {i: Past((1,), (lags,) * 5, tuple(range(n))) for i, n in enumerate((3, 5, 2))}

    one, four = found((1,)), found((1, 2, 3, 5))  # 5 and 34 questions about a surrogate
    assert [*beyond._searchable(one, 1000, 5)] == [2, 0, 1]
    assert [*beyond._searchable(one, 10_000, 5)] == [2, 0]
    assert not beyond._searchable(one, 100_000, 5)
    assert [*beyond._searchable(four, 1000, 10)] == [2, 0]
    assert not beyond._searchable(four, 10_000, 10)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_more_data_never_finds_less():
    found = []
    for n in (500, 1000, 2000, 4000, 8000):
        series = em.simulate.coupled_map(
            em.simulate.random_dag(10, max_parents=2, seed=3), n=n, noise=0.15, coupling=0.2, seed=1
        )
        net = em.infer(series, acyclic=False)
        truth = {(s, t) for t, sources in series.truth.items() for s in sources}
        found.append(len(truth & set(net)))
    assert found == sorted(found)
    assert found[-1] > found[0]


def test_a_wish_is_refused_once_with_its_name():
    with pytest.raises(em.InputError, match="estimator"):
        em.infer(VAR, score=em.TEA(), estimator="gaussian")
    with pytest.raises(em.InputError, match="alpha"):
        em.infer(VAR, score=em.TEA(), alpha=0.9)
    with pytest.raises(em.InputError, match="no effect"):
        em.infer(VAR, score="tea", n_surrogates=99)
    assert replace(THRESHOLDS, states=5).states == 5


@pytest.mark.filterwarnings("ignore")
def test_a_long_record_with_missing_values_is_looked_at_in_part():
    values = np.random.default_rng(0).normal(size=(2000, 4))
    values[[50, 700, 1900], 1] = np.nan
    net = em.infer(em.Series(values, missing="drop"), acyclic=False)
    assert any(
        "selected on 1500 samples" in reason for what, _, reason in net.choices if what == "neighbours"
    )


def test_memory_and_what_it_leaves_are_those_of_one_regression_after_another():
    trials = [smooth(n, 3).values for n in (150, 90)]
    found = Evidence(em.Series(trials))
    for i in range(3):
        order, left = naive.linear_memory(found.scored(), i, 4, max(found.memory))
        assert found.memory[i] == order
        assert found.left_by_own_past[i] == pytest.approx(left, rel=1e-9)


def test_changes_of_variance_of_large_networks_are_compared_for_some_nodes(monkeypatch):
    many = heteroscedastic(nodes=40)
    whole = Evidence(many).common_variance
    monkeypatch.setattr(evidence_module, "COMPARED", 12)
    part = Evidence(many)
    assert part.common_variance == pytest.approx(whole, abs=0.05)
    assert part.variance_is_common
    assert not Evidence(white(nodes=40)).variance_is_common


def test_lines_take_an_oscillation_as_it_is_and_normal_scores_otherwise():
    rng, series = np.random.default_rng(4), oscillators()
    assert Evidence(series).scale.__name__ == "standard_scores"
    assert "Gaussian(normalise='zscore')" in str(em.infer(series).choices)
    for other in (np.exp(series.values * 3), rng.standard_t(2, size=(600, 3)), rng.normal(size=(600, 3))):
        assert Evidence(em.Series(other)).scale.__name__ == "normal_scores"


def links(net):
    return {(source, target) for target, sources in net.parents.items() for source in sources}


def test_the_level_is_doubled_where_weak_links_are_many():
    series, truth = weakly_coupled()
    usual = round(1 - 1 / (30 * 29), 6)
    strict, found = (em.infer(series, acyclic=False, max_lag=3, alpha=alpha) for alpha in (usual, None))
    assert found.options["score"]["alpha"] == pytest.approx(1 - 2 * (1 - usual))
    assert strict.options["score"]["alpha"] == usual  # a level that is given is kept
    added = links(found) - links(strict)
    assert len(added) >= THRESHOLDS.added
    assert len(added & truth) >= 0.75 * len(added)
    words = {what: why for what, _, why in found.choices}["score"]
    assert words.endswith("about 2 false links are to be expected among 870 pairs; weak links are many")


@pytest.mark.parametrize(
    "series", [white(nodes=30), em.simulate.var("a>b, b>c", n=500, seed=0)], ids=["none", "few"]
)
def test_the_level_stays_where_weak_links_are_not_many(series, monkeypatch):
    levels = []
    made = Planner._regressions
    monkeypatch.setattr(
        Planner, "_regressions", lambda self, *how: levels.append(self.alpha) or made(self, *how)
    )
    em.infer(series, acyclic=False, max_lag=3)
    assert len(levels) == 1  # nothing is fitted twice


@pytest.mark.parametrize("nodes", [11, 100, 1000, 2000, 30_000])
def test_the_level_of_any_network_can_be_tested_at(nodes):
    series = SimpleNamespace(n_nodes=nodes)
    alpha = Planner(series, Wanted(), [], None).alpha
    assert 1 - alpha == pytest.approx(1 / (nodes * (nodes - 1)), rel=0.01)
    assert em.TEA(alpha=alpha).alpha == alpha


def test_a_level_that_is_no_round_number_is_shared():
    net = em.infer(heteroscedastic(), alpha=1 - 1 / 380)
    assert net.options["score"]["alpha"] == 1 - 1 / 380


def driven(influence, nodes=4, n=800):
    """Return a recording of nodes with linear memory of which the first drives the second, as ``influence`` says."""
    noise = np.random.default_rng(3).normal(size=(n + 100, nodes))
    x = noise.copy()
    for t in range(1, len(x)):
        x[t] += 0.4 * x[t - 1]
        x[t, 1] = 0.4 * x[t - 1, 1] + influence(x[t - 1, 0], noise[t, 1])
    return em.Series(x[100:])


@pytest.mark.parametrize("nodes", [2, 4])
@pytest.mark.parametrize(
    "influence",
    [lambda x, noise: 1.5 * np.sin(3 * x) + noise, lambda x, noise: np.exp(0.7 * np.sin(2 * x)) * noise],
    ids=["sine", "variance"],
)
def test_neighbours_see_at_a_glance_what_regressions_do_not(influence, nodes):
    series = driven(influence, nodes)
    net = em.infer(series, acyclic=False)
    assert links(net) == {("x0", "x1")}
    assert any("1 of 1 targets" in value for what, value, _ in net.choices if what == "neighbours")
    assert links(em.infer(series, acyclic=False, estimator=em.Gaussian())) == set()


def test_a_glance_that_sees_nothing_adds_nothing(monkeypatch):
    seen, glance = [], beyond._seen_at_a_glance
    monkeypatch.setattr(beyond, "_seen_at_a_glance", lambda *how: seen.append(glance(*how)) or seen[-1])
    net = em.infer(em.simulate.var("a>b, b>c, c>d, d>e, e>f", n=500, seed=0), acyclic=False)
    assert seen == [{}]
    assert {score["type"] for _, score in net.options["score"]["groups"]} == {"TEA"}
