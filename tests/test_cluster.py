"""On a dask cluster of two worker processes: the same bits, also when a worker dies in the middle."""

import os
import signal
from itertools import combinations

import joblib
import numpy as np
import pytest

import enmesh as em
from enmesh.inference import workers as module
from enmesh.inference.evaluate import Evaluator
from tests.test_evaluate import all_families, network

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


@pytest.mark.filterwarnings("ignore::enmesh.HazardWarning")
@pytest.mark.parametrize("name", SCORES)
def test_networks_are_the_same(client, series, name):
    alone = network(series, SCORES[name])
    with joblib.parallel_config(backend="dask"):
        assert network(series, SCORES[name]) == alone


def test_a_worker_killed_in_the_middle(client, series):
    expected = results(SCORES["ksg"], series)
    pids = client.run(os.getpid)
    killed = []

    def kill_one(done, total, **_):
        if done > 0 and not killed:
            killed.append(next(iter(pids.values())))
            os.kill(killed[0], signal.SIGKILL)

    with joblib.parallel_config(backend="dask"):
        assert results(SCORES["ksg"], series, progress=kill_one) == expected
    assert killed
    assert killed[0] not in client.run(os.getpid).values()


def test_data_travel_about_once_per_worker_and_never_with_every_chunk(client, monkeypatch):
    """Asked again, the cluster has the data already."""
    client.wait_for_workers(2)
    series = em.Series(np.random.default_rng(0).normal(size=(20_000, 30)))
    monkeypatch.setattr(module, "CHUNK", 0.01)
    sent, tasks = [], module.Workers._tasks

    def watched(self, *args):
        for task in tasks(self, *args):
            sent.append(task[-1] is not None)
            yield task

    monkeypatch.setattr(module.Workers, "_tasks", watched)
    with joblib.parallel_config(backend="dask"), Evaluator(SCORES["gaussian"], series) as evaluate:
        for size in (1, 2):
            evaluate(
                [(i, p) for i in range(30) for p in combinations([j for j in range(30) if j != i], size)]
            )
    assert len(sent) > 40
    assert 2 <= sum(sent) <= 8
