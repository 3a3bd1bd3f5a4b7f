"""Outside references: values that JIDT, TRENTOOL and MILCA agree on, and Schreiber's heart and breath."""

import json

import numpy as np
import pandas as pd
import pytest

import enmesh as em
from tests import naive


@pytest.fixture
def jidt(shared_data):
    folder = shared_data / "jidt_reference"
    expected = json.loads((folder / "expected.json").read_text())
    return expected, lambda name: pd.read_csv(folder / f"{name}.csv").to_numpy()


def pair(load, case):
    values = load(case["file"])[: case.get("rows"), [case["src"], case["dst"]]]
    return em.Series(values, names=["s", "d"]), em.Embedding(dim={"s": case["l"], "d": case["k"]})


def test_ksg_transfer_entropy_with_theiler_windows(jidt):
    expected, load = jidt
    for case in expected["ksg_te"]["cases"]:
        series, embedding = pair(load, case)
        estimator = em.KSG(k=expected["ksg_te"]["K"], noise=0, theiler=case.get("theiler", 0))
        te = em.transfer_entropy(series, "s", "d", estimator=estimator, embedding=embedding)
        assert te == pytest.approx(case["te"], abs=1e-6), case


def test_ksg_mutual_information(jidt):
    expected, load = jidt
    for case in expected["ksg_mi"]["cases"]:
        values = load(case["file"])
        for k, mi in zip(case.get("K", expected["ksg_mi"]["K"]), case["mi"]):
            estimator = em.KSG(k=k, algorithm=2, noise=0)
            found = em.cmi(values[:, case["x"]], values[:, case["y"]], estimator=estimator)
            assert found == pytest.approx(mi, abs=1e-7), (case["file"], k)


def test_ksg_multi_information(jidt):
    expected, load = jidt
    for case in expected["ksg_multiinfo"]["cases"]:
        values = load(case["file"])[:, case["cols"]]
        for k, mi in zip(expected["ksg_multiinfo"]["K"], case["mi"]):
            assert naive.multi_information(values, k) == pytest.approx(mi, abs=1e-7), (case["file"], k)


def test_gaussian_transfer_entropy(jidt):
    """The file gives five digits."""
    expected, load = jidt
    for case in expected["gaussian_te"]["cases"]:
        series, embedding = pair(load, case)
        te = em.transfer_entropy(series, "s", "d", estimator=em.Gaussian(), embedding=embedding)
        assert te == pytest.approx(case["te"], abs=5e-6), case


def test_discrete_files_with_known_answers(jidt):
    _, load = jidt
    parity = em.Series(load("2coupledBinaryColsUseK2"), names=["s", "d"])
    bits = [
        em.transfer_entropy(
            parity, "s", "d", estimator=em.Discrete(), embedding=em.Embedding(dim={"s": 1, "d": k})
        )
        / np.log(2)
        for k in (1, 2)
    ]
    assert bits[0] == pytest.approx(0, abs=0.01)
    assert bits[1] == pytest.approx(1, abs=0.01)
    coupled = em.Series(load("2coupledDiscreteCols-1"), names=["s", "d"])
    assert em.transfer_entropy(coupled, "s", "d", estimator=em.Discrete()) / np.log(2) == pytest.approx(
        1, abs=0.01
    )
    assert em.transfer_entropy(coupled, "d", "s", estimator=em.Discrete()) / np.log(2) == pytest.approx(
        0, abs=0.01
    )


@pytest.mark.filterwarnings("ignore::enmesh.HazardWarning")
def test_heart_and_breath_depend_on_the_estimator(shared_data):
    """Box kernel: heart -> breath is larger (Schreiber 2000). KSG: breath -> heart is larger."""
    frame = pd.read_csv(shared_data / "sfi_heart_breath" / "schreiber_2350_3550.csv")
    series = em.Series(frame)
    heart, breath = "heart_rate", "chest_volume"

    def both(estimator, dim):
        embedding = em.Embedding(dim=dim)
        return [
            em.transfer_entropy(series, s, t, estimator=estimator, embedding=embedding)
            for s, t in ((heart, breath), (breath, heart))
        ]

    # With the Theiler window a box under half a standard deviation is often empty and the order is noise, in JIDT too.
    for estimator in (
        *(em.Kernel(width=width, theiler=100) for width in (0.5, 0.7, 1.0)),
        *(em.Kernel(width=width) for width in (0.1, 0.2, 0.5, 1.0)),
    ):
        there, back = both(estimator, 1)
        assert there > 1.1 * back
    there, back = both(em.KSG(noise=0), 2)
    assert back > there
    assert (there, back) == pytest.approx((0.0059, 0.0516), abs=0.005)
    there, back = both(em.KSG(noise=0), 1)
    assert (there, back) == pytest.approx((0.0218, 0.0741), abs=0.005)
