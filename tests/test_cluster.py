"""On a dask cluster of two worker processes: the same bits, also when a worker dies in the middle."""

import os
import signal
import subprocess
import sys
import time
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
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
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
            evaluate([(i, p) for i in range(30) for p in combinations([j for j in range(30) if j != i], size)])
    assert len(sent) > 40
    assert 2 <= sum(sent) <= 8


# --- from the command line: a scheduler and two workers, started as a user starts them -----------------------


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    """The scheduler file of a cluster of one scheduler and two workers, each a process of its own."""
    folder = tmp_path_factory.mktemp("dask")
    file = folder / "scheduler.json"
    words = [sys.executable, "-m", "dask"]
    how = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    head = ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
    worker = ["worker", "--scheduler-file", str(file), "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    started = [subprocess.Popen([*words, *one], **how) for one in (head, worker, worker)]
    try:
        with distributed.Client(scheduler_file=str(file), timeout=60) as client:
            client.wait_for_workers(2, timeout=60)
        yield file
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(30)


def transitions(scheduler):
    """Return how many changes of tasks a scheduler has seen."""
    with distributed.Client(scheduler_file=str(scheduler), timeout=60) as client:
        return client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter)


def enmesh_command(*words):
    return [sys.executable, "-m", "enmesh", *map(str, words)]


@pytest.fixture
def subjects(tmp_path):
    (tmp_path / "subjects").mkdir()
    files = [tmp_path / "subjects" / f"s{k:02}.csv" for k in range(12)]
    for k, file in enumerate(files):
        em.simulate.var("a>b, b>c", n=300, seed=k).to_csv(file)
    return files


def group_of(folder):
    return [(folder / name).read_text() for name in ("edges.csv", "group.csv", "subjects.csv")]


def test_subjects_from_the_command_line(scheduler, subjects, tmp_path):
    """The cluster gives the same bits as one process, and it is the cluster that computes."""
    for name, where in (("alone", []), ("cluster", ["--cluster", scheduler])):
        before = transitions(scheduler)
        done = subprocess.run(
            enmesh_command("infer", *subjects, "--subjects", *where, "--out", tmp_path / name),
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert "12 subjects" in done.stdout
        assert (transitions(scheduler) - before >= 12) is bool(where)
    assert group_of(tmp_path / "alone") == group_of(tmp_path / "cluster")
    page = (tmp_path / "cluster" / "report.html").read_text()
    assert "12 subjects together" in page
    rows = (tmp_path / "cluster" / "subjects.csv").read_text()
    assert all(f"{file.stem},a,b" in rows for file in subjects)


def test_a_stopped_run_of_subjects_resumes_on_the_cluster(scheduler, subjects, tmp_path):
    from enmesh.inference.store import runs

    folder, store = tmp_path / "out", tmp_path / "out" / "run.db"
    words = ["infer", *subjects, "--subjects", "--cluster", scheduler, "--out", folder, "--quiet"]
    slow = ["--estimator", "ksg", "--max-lag", "1", "--surrogates", "19", "--alpha", "0.9"]
    process = subprocess.Popen(enmesh_command(*words, *slow), stderr=subprocess.PIPE, text=True)
    while process.poll() is None:
        time.sleep(0.2)
        finished = [run["answers"] for run in runs(store) if not run["tests"]] if store.is_file() else []
        if max(finished, default=0) >= 3:
            process.send_signal(signal.SIGINT)
            break
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 130, said
    assert "--resume goes on" in said
    kept = sum(run["answers"] for run in runs(store))
    done = subprocess.run(enmesh_command(*words, *slow, "--resume"), capture_output=True, text=True, check=True)
    assert f"{kept:,} scores of an earlier run are kept" in done.stderr
    assert all(run["computed_twice"] == 0 for run in runs(store))
    assert (folder / "report.html").is_file()


def test_one_recording_on_a_cluster_and_what_is_refused(scheduler, subjects, tmp_path, shell):
    code, out, err = shell(f"infer {subjects[0]} --cluster {scheduler} --out {tmp_path / 'one'} --quiet")
    assert (code, out, err) == (0, "", "")
    refused = {
        f"infer {subjects[0]} --cluster {scheduler} --jobs 2": "--jobs has no effect with --cluster",
        f"infer {subjects[0]} --cluster {tmp_path / 'none.json'}": "there is no scheduler file",
        f"infer {subjects[0]} --cluster tcp://127.0.0.1:1": "no dask scheduler answers",
        f"infer {subjects[0]} --subjects": "at least 2 files",
        f"infer {subjects[0]} {subjects[0]} --subjects": "given more than once",
        f"infer {subjects[0]} {subjects[1]} --subjects --bootstrap 2": "does not go with --subjects",
    }
    for line, reason in refused.items():
        code, _, err = shell(line)
        assert code == 2, line
        assert reason in err, err
