"""On a dask cluster of two worker processes: the same bits, also when a worker dies in the middle."""

import os
import signal
import warnings

import joblib
import numpy as np
import pytest

import enmesh as em
from enmesh import evaluate as module
from enmesh.evaluate import Evaluator
from tests.test_evaluate import all_families

distributed = pytest.importorskip("dask.distributed", reason="needs enmesh[cluster]")

SCORES = {
    "gaussian": em.TEA(embedding=em.Embedding()),
    "ksg": em.TEE(estimator=em.KSG(), embedding=em.Embedding(), alpha=0.95, n_surrogates=19),
}
FAMILIES = all_families(5, 2)
LINKS = [(j, i, ()) for i in range(5) for j in range(5) if i != j]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def series():
    return em.simulate.var({"a": [], "b": ["a"], "c": ["b"], "d": [], "e": ["a", "d"]}, n=400, seed=1)


@pytest.fixture(autouse=True)
def all_to_the_cluster(monkeypatch):
    monkeypatch.setattr(module, "PROBE", 0.0)
    monkeypatch.setattr(module, "SHORT", -1.0)
    monkeypatch.setattr(module, "CHUNK", 0.05)


def results(score, series, **options):
    with Evaluator(score, series, **options) as evaluate:
        scores = evaluate(FAMILIES)
        return scores.tobytes(), [(test.value, test.null.tobytes()) for test in evaluate.edges(LINKS)]


@pytest.mark.parametrize("name", SCORES)
def test_a_cluster_gives_the_same_bits(client, series, name, monkeypatch):
    expected = results(SCORES[name], series)
    monkeypatch.setattr(module, "answer", lambda *args: pytest.fail("answered in the main process"))
    with joblib.parallel_config(backend="dask"):
        assert results(SCORES[name], series) == expected


def test_a_worker_killed_in_the_middle(client, series):
    expected = results(SCORES["ksg"], series)
    pids = client.run(os.getpid)
    killed = []

    def kill_one(done, total, **_):
        if 0 < done < total / 2 and not killed:
            killed.append(next(iter(pids.values())))
            os.kill(killed[0], signal.SIGKILL)

    with joblib.parallel_config(backend="dask"):
        assert results(SCORES["ksg"], series, progress=kill_one) == expected
    assert killed
    assert killed[0] not in client.run(os.getpid).values()


def test_large_data_travel_about_once_per_worker(client):
    """A series of megabytes is not sent with every chunk: dask would warn of large tasks for each."""
    rng = np.random.default_rng(0)
    series = em.Series(rng.normal(size=(60_000, 30)))
    families = [(i, (j,)) for i in range(30) for j in range(30) if i != j]
    with (
        warnings.catch_warnings(record=True) as caught,
        joblib.parallel_config(backend="dask"),
        Evaluator(SCORES["gaussian"], series) as evaluate,
    ):
        warnings.simplefilter("always")
        evaluate(families)
        sent = next(evaluate._workers._tickets)
    large = [w for w in caught if "large graph" in str(w.message)]
    assert sent > 20
    assert len(large) <= 6
