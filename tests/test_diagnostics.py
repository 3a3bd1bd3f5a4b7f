"""Hazards: each is found where it is, with the right number, and not where it is not."""

import numpy as np
import pytest

import enmesh as em
from enmesh import diagnostics, simulate
from enmesh.diagnostics import diagnose


def kinds(series, *args, **options):
    return {finding.kind for finding in diagnose(series, *args, **options)}


def only(series, kind, *args, **options):
    (finding,) = [f for f in diagnose(series, *args, **options) if f.kind == kind]
    return finding


@pytest.mark.parametrize("seed", range(10))
def test_ordinary_data_raise_no_alarm(seed):
    assert kinds(simulate.var("a>b, b>c", 1000, seed=seed)) == set()
    assert kinds(simulate.coupled_map("a>b", 1000, noise=0.05, seed=seed)) == set()


def test_synchronisation():
    series = simulate.coupled_map("a>b", 1000, coupling=0.7, noise=1e-3)
    found = only(series, "synchronisation")
    assert found.nodes == ("a", "b")
    assert found.value == pytest.approx(np.corrcoef(series.values.T)[0, 1])
    assert found.value > 0.99
    assert f"{found.value:.4f}" in str(found)
    mirrored = em.Series(series.values * [1, -1])
    assert only(mirrored, "synchronisation").value < -0.99
    assert "synchronisation" not in kinds(simulate.coupled_map("a>b", 1000, coupling=0.4, noise=1e-3))


def test_a_hazard_of_many_nodes_is_one_finding():
    rng, time = np.random.default_rng(0), np.arange(600)[:, None]
    same = rng.normal(size=(600, 1))
    missing = np.where(rng.random((600, 3)) < 0.1, np.nan, same + 0.01 * rng.normal(size=(600, 3)))
    with pytest.warns(em.HazardWarning, match="missing or masked values"):
        found = only(em.Series(missing, names="abc", missing="drop"), "synchronisation")
    assert found.nodes == ("a", "b", "c")
    both = np.isfinite(missing[:, :2]).all(axis=1)
    assert f"{np.corrcoef(missing[both, :2].T)[0, 1]:.4f} (a and b)" in found.message
    noise = rng.normal(size=(600, 8))
    for kind, extra, said in (
        ("trend", 0.01 * time, "series.detrend()"),
        ("season", 3 * np.sin(2 * np.pi * time / 12), "series.deseason(period=12)"),
        ("spike", 60.0 * (time == 300), "robust standard deviations: "),
        ("sentinel", -999.0 * (time == 9), "Read it as missing with"),
    ):
        values = noise + extra * ([1] * 7 + [0])
        values[values < -900] = -999
        found = only(em.Series(values), kind)
        assert found.nodes == tuple(f"x{i}" for i in range(7))
        assert said in found.message
        assert kind not in ("trend", "spike") or " and 2 more. " in found.message  # nodes, and no unit after them


def test_autocorrelation_time():
    """The autocorrelation of AR(1) falls below 1/e at -1 / ln(own)."""
    series = simulate.var({"a": [], "b": []}, 50_000, own=0.9)
    found = only(series, "autocorrelation")
    assert found.nodes == ("a", "b")
    assert abs(found.value - -1 / np.log(0.9)) <= 2
    assert "circular shifts" in found.message


def test_near_determinism_depends_on_the_embedding():
    henon = simulate.coupled_map({"a": []}, 2000, map="henon")
    assert "determinism" not in kinds(henon)
    found = only(henon, "determinism", em.Embedding(dim=2))
    assert found.nodes == ("a",)
    assert 0 < found.value < 1e-3


@pytest.mark.parametrize(("what", "change"), [("mean", lambda x: x + 1.0), ("variance", lambda x: 2 * x)])
def test_a_change_halfway(what, change):
    values = simulate.var({"a": [], "b": []}, 2000).values.copy()
    values[1000:, 1] = change(values[1000:, 1])
    found = only(em.Series(values, names=["a", "b"]), "stationarity")
    assert found.nodes == ("b",)
    assert found.value > 5
    assert f"the {what} differs" in found.message


def test_a_random_walk_is_possibly_non_stationary():
    walk = np.cumsum(np.random.default_rng(0).normal(size=(2000, 1)), axis=0)
    assert any("possibly non-stationary" in f.message for f in diagnose(em.Series(walk)) if f.kind == "stationarity")


@pytest.mark.slow
def test_false_alarms_about_stationarity_are_rare():
    series = [simulate.var({"a": [], "b": []}, 500, own=own, seed=s) for own in (0.0, 0.8) for s in range(100)]
    assert sum("stationarity" in kinds(one) for one in series) <= 3


def test_dimension_and_samples():
    series = simulate.var(simulate.random_dag(6, density=0.3), 1000)
    assert kinds(series, em.Embedding(dim=2), max_parents=3) == set()
    found = only(series, "dimension", em.Embedding(dim=2))
    assert found.value == 1 + 6 * 2
    assert found.nodes == series.names
    wide = em.Embedding(dim={**dict.fromkeys(series.names, 1), "x3": 6})
    assert only(series, "dimension", wide, max_parents=4).value == 1 + 1 + 6 + 3
    few = only(simulate.var("a>b", 100), "samples")
    assert few.value == 99
    assert "150 or more" in few.message


def test_samples_against_joint_states():
    series = simulate.markov("a>b, a>c", 300, states={"a": 2, "b": 3, "c": 5})
    found = only(series, "samples", em.Embedding(dim={"a": 2, "b": 1, "c": 1}), max_parents=1)
    # b: 3 next x 3 own x 5 = 45; c: 5 x 5 x 4 = 100; a: 2 x 4 x 5 = 40; and 3 x 100 > 298.
    assert found.nodes == ("c",)
    assert found.value == 298
    assert "100 joint states of c with 1 source" in found.message
    assert "300" in found.message
    assert kinds(series, max_parents=0) == set()


def test_trials_and_missing_values():
    values = simulate.var("a>b", 1200).values.copy()
    assert kinds(em.Series([values[:600], values[600:]])) == set()
    values[::50, 0] = np.nan
    with pytest.warns(em.HazardWarning, match="missing or masked values"):
        assert kinds(em.Series(values, missing="drop")) == set()


@pytest.mark.parametrize("noise", [0.0, 0.003, 0.1])
def test_few_samples_rule_out_that_the_past_determines_a_node(noise, monkeypatch):
    rng = np.random.default_rng(0)
    values = em.simulate.coupled_map("a>b, b>c", n=700, seed=3).values + noise * rng.normal(size=(700, 3))
    found = diagnose(values)
    monkeypatch.setattr(diagnostics, "FIRST", 0)
    assert diagnose(values) == found
