"""Recordings that come with the package: complete, unchanging, and with answers that are found."""

import hashlib
import json

import numpy as np
import pytest

import enmesh as em
from enmesh.cli import main

SHAPES = {
    "gas-furnace": (296, 2, 9),
    "heart-breath": (1200, 2, 0.5),
    "cortex": (1000, 5, 0.004),
    "plankton": (480, 3, 1),
    "markets": (1500, 4, 1),
    "plant": (1500, 4, 5),
    "logistic-maps": (1000, 5, 1),
    "mixed-flows": (2000, 3, 0.05),
}


def test_every_recording_says_what_it_is_and_where_it_is_from():
    assert em.datasets.names() == tuple(SHAPES)
    for name, (samples, nodes, step) in SHAPES.items():
        series = em.datasets.load(name)
        assert (*series.shape, series.dt) == (samples, nodes, step)
        assert set(series.truth) == set(series.names)
        about = em.datasets.about(name)
        assert all(about.values()) or name in ("logistic-maps", "mixed-flows")
        assert about["summary"].endswith(".")


def test_gas_furnace_is_as_published():
    series = em.datasets.gas_furnace()
    assert series.values[0].tolist() == [-0.109, 53.8]
    assert series.values[-1].tolist() == [-0.262, 57.0]
    assert hashlib.sha256(np.ascontiguousarray(series.values).tobytes()).hexdigest()[:16] == "8dee26b588992a3e"


@pytest.mark.parametrize("name", ["gas-furnace", "heart-breath", "cortex", "plankton", "markets", "plant"])
def test_a_linear_test_finds_the_known_answer(name):
    series = em.datasets.load(name)
    series = series.deseason(12) if name == "plankton" else series
    network = em.infer(series, estimator="gaussian", acyclic=False, max_lag=6)
    assert {target: set(sources) for target, sources in network.parents.items()} == {
        target: set(sources) for target, sources in series.truth.items()
    }
    if series.truth_lags:
        found = {(row.source, row.target): row.lag for row in network.edges.itertuples()}
        assert found == {link: lags[0] for link, lags in series.truth_lags.items()}


def test_the_command_writes_what_python_loads(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in em.datasets.names():
        assert main(["datasets", name, "--out", f"{name}.csv"]) == 0
        back, series = em.read(f"{name}.csv"), em.datasets.load(name)
        assert (back.names, back.dt, back.kinds) == (series.names, series.dt, series.kinds)
        np.testing.assert_array_equal(back.values, series.values)
    capsys.readouterr()
    assert main(["datasets", "--json"]) == 0
    assert [entry["name"] for entry in json.loads(capsys.readouterr().out)] == list(em.datasets.names())
    assert main(["datasets", "nothing"]) == 2
    assert "there is no dataset nothing; choose one of gas-furnace" in capsys.readouterr().err
    before = (tmp_path / "plant.csv").read_bytes()
    assert main(["datasets", "cortex", "--out", "plant.csv"]) == 2
    assert "plant.csv is there already; give another name, or use --force" in capsys.readouterr().err
    assert (tmp_path / "plant.csv").read_bytes() == before
