"""Outside references: what JIDT says of the series in `data` (written by `benchmarks/reference_values.py`)."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import enmesh as em
from tests import naive

DATA = Path(__file__).parent / "data"
JIDT = json.loads((DATA / "jidt.json").read_text())
NUMBERS = em.Series(pd.read_csv(DATA / "numbers.csv"))
STATES = em.Series(pd.read_csv(DATA / "states.csv"))


def transfer(series, case, estimator):
    names = [series.names[case[key]] for key in ("source", "target")]
    given = [series.names[case["given"]]] if "given" in case else ()
    dim = dict.fromkeys(series.names, 1) | dict(zip(names, (case.get("l", 1), case.get("k", 1))))
    embedding = em.Embedding(dim=dim)
    return em.transfer_entropy(series, *names, given=given, estimator=estimator, embedding=embedding)


def test_ksg_transfer_entropy_with_theiler_windows():
    for case in JIDT["te_ksg"]:
        estimator = em.KSG(noise=0, theiler=case["theiler"])
        assert transfer(NUMBERS, case, estimator) == pytest.approx(case["te"], abs=1e-6), case


def test_ksg_transfer_entropy_given_a_third_series():
    for case in JIDT["te_ksg_given"]:
        assert transfer(NUMBERS, case, em.KSG(noise=0)) == pytest.approx(case["te"], abs=1e-6), case


def test_gaussian_transfer_entropy():
    for case in JIDT["te_gaussian"]:
        assert transfer(NUMBERS, case, em.Gaussian()) == pytest.approx(case["te"], abs=1e-8), case


def test_kernel_transfer_entropy_with_theiler_windows():
    for case in JIDT["te_kernel"]:
        estimator = em.Kernel(width=case["width"], theiler=case["theiler"])
        assert transfer(NUMBERS, case, estimator) == pytest.approx(case["te"], abs=1e-8), case


def test_discrete_transfer_entropy():
    """Parity needs two values of the target's past; a copied bit of two is one bit."""
    for case in JIDT["te_discrete"]:
        assert transfer(STATES, case, em.Discrete()) == pytest.approx(case["te"], abs=1e-9), case
    bits = [case["te"] / np.log(2) for case in JIDT["te_discrete"]]
    np.testing.assert_allclose(bits, [0, 1, 0, 1, 0], atol=0.03)


@pytest.mark.parametrize("algorithm", [1, 2])
def test_ksg_mutual_information(algorithm):
    for case in JIDT[f"mi_ksg{algorithm}"]:
        x, y = (NUMBERS.values[:, case[key]] for key in "xy")
        found = em.cmi(x, y, estimator=em.KSG(k=case["K"], algorithm=algorithm, noise=0))
        assert found == pytest.approx(case["mi"], abs=1e-6), case


def test_ksg_multi_information():
    for case in JIDT["total_ksg2"]:
        assert naive.multi_information(NUMBERS.values, case["K"]) == pytest.approx(case["mi"], abs=1e-6), case


def test_ragwitz_chooses_as_jidt():
    """JIDT takes the least error, however little it is less."""
    maps = em.Series(pd.read_csv(DATA / "maps.csv"))
    tables = em.embedding_criteria(maps, em.Ragwitz(max_dim=4, max_delay=3, k=4, parsimony=0))
    assert [list(tables[name].best) for name in maps.names] == [case["best"] for case in JIDT["ragwitz"]]
