"""The store: nothing finished is lost, nothing stale is met, no file that is not a store is touched."""

import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import enmesh as em
from enmesh.errors import InputError
from enmesh.inference import store as module
from enmesh.inference import work
from enmesh.inference.evaluate import Evaluator
from enmesh.inference.store import Store, runs
from enmesh.inference.work import Question
from enmesh.scores import Link
from enmesh.significance import Significance
from tests import endurance

DESCRIPTION = {"data": "d", "names": ["a", "b"], "score": {"type": "TEA"}, "code": "0/1"}
FAMILY = Question("family", (0, (1, 2)))
EDGE = Question.test(Link(0, 1, (2,)))
SCORE = em.TEA(embedding=em.Embedding())


@pytest.fixture(scope="module")
def series():
    return em.simulate.var({"a": [], "b": ["a"], "c": ["b"]}, n=100, seed=0)


def test_values_come_back_to_the_last_bit(tmp_path):
    null = np.random.default_rng(0).normal(size=19)
    answers = {
        FAMILY: 0.1 + 0.2,
        Question("family", (1, (0,))): float("-inf"),
        EDGE: Significance(1e-300, 0.05, null, float(null.mean())),
        Question.test(Link(1, 0, ())): Significance(0.25, float("nan"), np.empty(0), 0.001),
    }
    store = Store(tmp_path / "run.db", "key", DESCRIPTION)
    store.write(answers)
    store.close()
    back = Store(tmp_path / "run.db", "key", DESCRIPTION).read(answers)
    for question, answer in answers.items():
        if question.kind == "family":
            assert np.float64(back[question]).tobytes() == np.float64(answer).tobytes()
        else:
            pair = (back[question], answer)
            assert len({test.null.tobytes() for test in pair}) == 1
            assert len({repr((test.value, test.p_value, test.null_mean)) for test in pair}) == 1


def test_a_negative_zero_is_no_other_result_than_the_zero_that_is_stored(tmp_path):
    """SQLite has no -0.0, so the first run must not show one either."""
    minus = {FAMILY: -0.0, EDGE: Significance(-0.0, 0.5, np.array([-0.0, 1.0]), 0.5)}
    plain = {question: work.plain(answer) for question, answer in minus.items()}
    store = Store(tmp_path / "run.db", "key", DESCRIPTION)
    store.write(plain)
    assert repr(store.read(plain)) == repr(plain)
    assert "-0.0" not in repr((plain[FAMILY], plain[EDGE].value))


def test_other_keys_see_nothing(tmp_path):
    one = Store(tmp_path / "run.db", "one", DESCRIPTION)
    two = Store(tmp_path / "run.db", "two", DESCRIPTION)
    one.write({FAMILY: 1.0})
    assert one.read([FAMILY]) == {FAMILY: 1.0}
    assert two.read([FAMILY]) == {}


def test_runs_of_one_key_share_as_they_go_and_count_what_was_done_twice(tmp_path):
    one = Store(tmp_path / "run.db", "key", DESCRIPTION)
    two = Store(tmp_path / "run.db", "key", DESCRIPTION)
    one.write({FAMILY: 1.0})
    assert two.read([FAMILY]) == {FAMILY: 1.0}
    assert runs(tmp_path / "run.db")[0]["computed_twice"] == 0
    two.write({FAMILY: 1.0})
    (run,) = runs(tmp_path / "run.db")
    assert (run["families"], run["computed_twice"], run["sessions"]) == (1, 1, 2)


def test_a_verdict_is_answered_by_the_full_test_or_one_at_its_own_level(tmp_path):
    failed = Significance(0.1, 0.5, np.ones(32), 1.0)
    store = Store(tmp_path / "run.db", "key", DESCRIPTION)
    at = {level: Question.test(Link(0, 1, (2,)), level) for level in (0.1, 0.2)}
    store.write({at[0.1]: failed})
    assert set(store.read(at.values())) == {at[0.1]}
    assert EDGE not in store.read([EDGE])
    store.write({EDGE: failed})
    assert set(store.read(at.values())) == set(at.values())


def test_any_change_of_data_options_or_code_is_another_run(series, tmp_path, monkeypatch):
    path, family = tmp_path / "run.db", [(1, (0,))]

    def families_after(score, series):
        with Evaluator(score, series, store=path) as evaluate:
            value = evaluate(family)[0]
            assert value == score.bind(series).family_score(*family[0])
        return [run["families"] for run in runs(path)]

    assert families_after(SCORE, series) == [1]
    assert families_after(SCORE, series) == [1]
    assert families_after(replace(SCORE, alpha=0.9), series) == [1, 1]
    changed = series.values.copy()
    changed[50, 0] += 1e-12
    assert families_after(SCORE, em.Series(changed, series.names)) == [1] * 3
    assert families_after(replace(SCORE, embedding=em.Embedding(dim=2)), series) == [1] * 4
    monkeypatch.setattr(em, "__version__", "next")
    assert families_after(SCORE, series) == [1] * 5
    monkeypatch.setattr(em.TEA, "FORMAT", em.TEA.FORMAT + 1)
    assert families_after(SCORE, series) == [1] * 6
    assert all(run["computed_twice"] == 0 for run in runs(path))


def test_runs_says_what_is_inside(series, tmp_path):
    with Evaluator(SCORE, series, store=tmp_path / "run.db") as evaluate:
        evaluate([(0, ()), (1, (0,))])
        evaluate.edges([(0, 1, ())])
        assert runs(tmp_path / "run.db")[0]["status"] == "running"
    (run,) = runs(tmp_path / "run.db")
    assert run["names"] == ["a", "b", "c"]
    assert run["data"] == series.digest
    assert em.options.restore(run["score"]) == SCORE
    assert (run["families"], run["tests"], run["status"], run["sessions"]) == (2, 1, "finished", 1)
    assert run["started"] <= run["last"]


# --- files that are no store ----------------------------------------------------------------------------


def sound_store(path):
    store = Store(path, "key", DESCRIPTION)
    store.write({Question("family", (i, (j,))): float(j) for i in range(50) for j in range(100)})
    store.close()
    return path


def foreign_text(path):
    path.write_text("a,b\n1,2\n" * 100)


def foreign_database(path):
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE other (x)")
    db.close()


def truncated(path):
    content = sound_store(path).read_bytes()
    path.write_bytes(content[: len(content) // 2])


def scribbled(path):
    content = bytearray(sound_store(path).read_bytes())
    content[3 * 4096 : 8 * 4096] = random.Random(0).randbytes(5 * 4096)
    path.write_bytes(content)


def later_layout(path):
    with sqlite3.connect(sound_store(path)) as db:
        db.execute(f"PRAGMA user_version={module.LAYOUT + 1}")
    db.close()


@pytest.mark.parametrize("make", [foreign_text, foreign_database, truncated, scribbled, later_layout])
def test_anything_else_is_refused_and_left_as_it_is(series, tmp_path, make):
    path = tmp_path / "run.db"
    make(path)
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"run\.db"):
        Evaluator(SCORE, series, store=path)
    with pytest.raises(InputError, match=r"run\.db"):
        runs(path)
    assert path.read_bytes() == before


def test_places_where_no_store_can_be(series, tmp_path):
    with pytest.raises(InputError, match="no folder"):
        Evaluator(SCORE, series, store=tmp_path / "nowhere" / "run.db")
    with pytest.raises(InputError, match="is a folder"):
        Evaluator(SCORE, series, store=tmp_path)
    with pytest.raises(InputError, match="no store"):
        runs(tmp_path / "run.db")


def test_an_empty_file_becomes_a_store(series, tmp_path):
    (tmp_path / "run.db").touch()
    with Evaluator(SCORE, series, store=tmp_path / "run.db") as evaluate:
        evaluate([(0, ())])
    assert runs(tmp_path / "run.db")[0]["families"] == 1


def test_killed_while_the_file_was_made(tmp_path):
    """Pages are on disk and the transaction is not finished: a copy of both files is what a kill leaves."""
    db = sqlite3.connect(tmp_path / "making.db", isolation_level=None)
    db.execute("PRAGMA cache_size=2")
    db.execute("BEGIN IMMEDIATE")
    db.execute(f"PRAGMA application_id={module.APPLICATION}")
    db.execute(f"PRAGMA user_version={module.LAYOUT}")
    for i in range(20):
        db.execute(f"CREATE TABLE t{i} (x)")
        db.execute(f"INSERT INTO t{i} VALUES (zeroblob(10000))")
    for end in ("", "-journal"):
        shutil.copy(tmp_path / f"making.db{end}", tmp_path / f"run.db{end}")
    db.close()
    assert (tmp_path / "run.db").stat().st_size > 4096
    store = Store(tmp_path / "run.db", "key", DESCRIPTION)
    store.write({FAMILY: 1.0})
    store.close()
    assert runs(tmp_path / "run.db")[0]["families"] == 1


def test_a_store_locked_by_another_process(series, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "WAIT", 0.2)
    path = sound_store(tmp_path / "run.db")
    with Evaluator(SCORE, series, store=path) as evaluate:
        evaluate([(0, ())])
        lock = sqlite3.connect(path, isolation_level=None)
        lock.execute("BEGIN EXCLUSIVE")
        with pytest.raises(InputError, match="another process"):
            evaluate([(1, ())])
        with pytest.raises(InputError, match="another process"):
            Evaluator(SCORE, series, store=path)
        lock.close()
        evaluate([(2, ())])
    assert runs(path)[-1]["families"] == 2


# --- whatever stops a run -------------------------------------------------------------------------------

ROOT = Path(__file__).parents[1]


def start(*arguments, **options):
    """Start the job of `tests.endurance` and return once it is at work."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.endurance", *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
    assert process.stdout.readline() == "started\n", process.stderr.read()
    return process


@pytest.fixture(scope="module")
def undisturbed():
    began = time.monotonic()
    result = endurance.job()
    return result, time.monotonic() - began


def finished(path):
    """What the store holds, nothing if the job did not come to make one."""
    return runs(path) if path.exists() and path.stat().st_size else []


def kill_at_random(path, kills, seed, seconds):
    """Kill the job ``kills`` times, anywhere between its start and its end; a finished one starts from nothing."""
    rng, most = random.Random(seed), 0
    for _ in range(kills):
        process = start(path)
        try:
            process.wait(timeout=rng.uniform(0, seconds))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        process.stderr.close()
        done = sum(run["families"] + run["tests"] for run in finished(path))
        assert done >= most
        most = done
        if process.returncode == 0:
            for file in path.parent.glob("run.db*"):
                file.unlink()
            most = 0


def check_resumed(path, result, tmp_path):
    process = start(path, tmp_path / "result.json")
    assert process.wait() == 0, process.stderr.read()
    assert json.loads((tmp_path / "result.json").read_text()) == result
    (run,) = runs(path)
    assert run["computed_twice"] == 0
    assert run["status"] == "finished"
    assert run["families"] == len(endurance.families())


@pytest.mark.parametrize("kills", [2, pytest.param(50, marks=pytest.mark.slow)])
def test_killed_at_any_moment_and_resumed(tmp_path, undisturbed, kills):
    result, seconds = undisturbed
    kill_at_random(tmp_path / "run.db", kills, seed=kills, seconds=seconds)
    check_resumed(tmp_path / "run.db", result, tmp_path)


def test_ctrl_c_stops_at_once_and_keeps_what_was_finished(tmp_path, undisturbed):
    path = tmp_path / "run.db"
    process = start(path)
    while not (done := finished(path)) or done[0]["tests"] < 20:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    process.wait(timeout=20)
    assert time.monotonic() - began < 10
    assert "KeyboardInterrupt" in process.stderr.read()
    (run,) = runs(path)
    assert run["status"] == "interrupted"
    assert run["tests"] >= 20
    check_resumed(path, undisturbed[0], tmp_path)


def test_a_full_disk(tmp_path, undisturbed):
    """A limit on the size of files stands for the disk; with more room the run goes on where it stopped."""
    path = tmp_path / "run.db"
    starved = start(path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (70_000,) * 2))
    assert starved.wait() != 0
    said = starved.stderr.read()
    assert "InputError" in said
    assert "make room" in said
    (run,) = runs(path)
    assert 0 < run["tests"] < 150
    check_resumed(path, undisturbed[0], tmp_path)


def test_a_read_only_store(tmp_path):
    """As a user who may read the file and no more; root may write anywhere, so another user it is."""
    path = sound_store(tmp_path / "run.db")
    before = path.read_bytes()
    code = f"""
import os, sys
import enmesh as em
from enmesh.inference.store import Store, runs
if os.getuid() == 0:
    os.setgid(65534); os.setuid(65534)
assert runs({str(path)!r})[0]["families"] == 5000
try:
    Store({str(path)!r}, "key", {{"data": "", "names": [], "score": {{}}, "code": ""}})
except em.InputError as error:
    sys.exit(0 if "writable" in str(error) else str(error))
sys.exit("it could be written")
"""
    readable = Path("/tmp") if os.getuid() == 0 else tmp_path
    folder = readable / f"enmesh-read-only-{os.getpid()}"
    folder.mkdir(mode=0o755)
    try:
        copy = Path(shutil.copy(path, folder / "run.db"))
        copy.chmod(0o444)
        folder.chmod(0o555)
        done = subprocess.run(
            [sys.executable, "-c", code.replace(str(path), str(copy))], cwd="/", capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert copy.read_bytes() == before
        assert [file.name for file in folder.iterdir()] == ["run.db"]
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


@pytest.mark.filterwarnings("ignore::enmesh.HazardWarning")
def test_a_resumed_search_asks_what_the_first_one_did(tmp_path):
    """Four parents: whether a family is worth asking about depends on what was seen of smaller ones."""
    graph = {"a": [], "b": ["a"], "c": ["a", "b"], "d": [], "e": ["a", "b", "c", "d"]}
    series = em.simulate.coupled_map(graph, n=150, coupling=0.3, noise=0.001, seed=13)
    score = em.TEE(estimator=em.KSG(), embedding=em.Embedding(), alpha=0.9, n_surrogates=19)
    given = dict(score=score, max_parents=4, screen=False, store=tmp_path / "run.db")
    first, second = em.infer(series, **given), em.infer(series, **given)
    assert first.evaluated == second.evaluated
    assert first.parents == second.parents
