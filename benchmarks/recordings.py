"""Public recordings with answers that others have published: does enmesh read them and say the same?

    python benchmarks/recordings.py [FOLDER]

The recordings belong to others and are no part of the project, so that this is no test: FOLDER (by default
../shared/data beside the project) holds them. What the tests need of such references is in `tests/data`, on series
made for it.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import enmesh as em
from accuracy import SHARED


def check_reading(folder):
    """Three kinds of file, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rivers = em.read(folder / "danube_rivers" / "data.csv")
        heart = em.read(folder / "sfi_heart_breath" / "full.csv")
        lorenz = em.read(folder / "trentool_lorenz2" / "lorenz2.npz")
    assert (rivers.n_nodes, rivers.dt) == (3, 86400)
    assert heart.lengths == (34000,)
    assert lorenz.lengths == (500,) * 150


def check_units_of_jidt(folder):
    """The values that JIDT's unit tests expect of its demo data, which TRENTOOL, MILCA and ChaLearn agree on."""
    folder = folder / "jidt_reference"
    expected = json.loads((folder / "expected.json").read_text())
    values = {name: pd.read_csv(folder / f"{name}.csv").to_numpy() for name in expected["shapes"]}

    def transfer(case, estimator):
        series = em.Series(values[case["file"]][: case.get("rows"), [case["src"], case["dst"]]], names="sd")
        pasts = em.Embedding(dim={"s": case["l"], "d": case["k"]})
        return em.transfer_entropy(series, "s", "d", estimator=estimator, embedding=pasts)

    for case in expected["ksg_te"]["cases"]:
        estimator = em.KSG(k=expected["ksg_te"]["K"], noise=0, theiler=case.get("theiler", 0))
        np.testing.assert_allclose(transfer(case, estimator), case["te"], rtol=0, atol=1e-6)
    for case in expected["gaussian_te"]["cases"]:
        np.testing.assert_allclose(transfer(case, em.Gaussian()), case["te"], rtol=0, atol=5e-6)
    for case in expected["ksg_mi"]["cases"]:
        x, y = (values[case["file"]][:, case[key]] for key in "xy")
        for k, mi in zip(case.get("K", expected["ksg_mi"]["K"]), case["mi"]):
            found = em.cmi(x, y, estimator=em.KSG(k=k, algorithm=2, noise=0))
            np.testing.assert_allclose(found, mi, rtol=0, atol=1e-7)


def check_heart_and_breath(folder):
    """Box kernel: heart -> breath is larger (Schreiber 2000). KSG: breath -> heart is. Ragwitz chooses as JIDT does."""
    recording = em.Series(pd.read_csv(folder / "sfi_heart_breath" / "schreiber_2350_3550.csv"))
    series = recording.select(["heart_rate", "chest_volume"])

    def both(estimator, dim):
        pasts = em.Embedding(dim=dim)
        pairs = series.names, series.names[::-1]
        return [em.transfer_entropy(series, *pair, estimator=estimator, embedding=pasts) for pair in pairs]

    # With the Theiler window a box under half a standard deviation is often empty and the order is noise, in JIDT too.
    for width, theiler in ((0.5, 100), (0.7, 100), (1.0, 100), (0.1, 0), (0.2, 0), (0.5, 0), (1.0, 0)):
        there, back = both(em.Kernel(width=width, theiler=theiler), 1)
        assert there > 1.1 * back
    np.testing.assert_allclose(both(em.KSG(noise=0), 2), (0.0059, 0.0516), atol=0.005)
    np.testing.assert_allclose(both(em.KSG(noise=0), 1), (0.0218, 0.0741), atol=0.005)
    tables = em.embedding_criteria(series, em.Ragwitz(max_dim=6, max_delay=4, k=4, parsimony=0))
    assert [tables[name].best for name in series.names] == [(2, 1), (5, 1)]


def check_gas_furnace(folder):
    """The gas acts on CO2 after three to five samples (Box and Jenkins 1976)."""
    series = em.read(next((folder / "gas_furnace").glob("*.csv")))
    for estimator in (em.Gaussian(), em.KSG()):
        options = {"estimator": estimator, "embedding": em.Embedding(dim=2), "n_surrogates": 99}
        profile = em.lag_profile(series, *series.names[-2:], max_lag=10, **options)
        assert profile.best in (3, 4, 5)
        assert profile.p_value <= 0.05


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SHARED
    warnings.simplefilter("ignore", em.HazardWarning)
    for check in (check_reading, check_units_of_jidt, check_heart_and_breath, check_gas_furnace):
        check(folder)
        print(f"as published: {check.__doc__}")


if __name__ == "__main__":
    main()
