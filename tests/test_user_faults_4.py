"""What went wrong for new users and under attack in the fourth round, each fault with its number."""

import io
import json
import os
import random
import sqlite3

import numpy as np
import pandas as pd
import pytest

import enmesh as em
from enmesh.data.sources import write_whole
from enmesh.embedding.nonuniform import Past
from enmesh.inference.store import Store, runs
from enmesh.inference.work import Question

N = 120
RNG = np.random.default_rng(5)
A = RNG.normal(size=N)
FRAME = pd.DataFrame({"a": A, "b": np.r_[0.0, 0.8 * A[:-1]] + 0.3 * RNG.normal(size=N)})
INFER = "infer data.csv --estimator gaussian --score tea --max-lag 1 --quiet"
DESCRIPTION = {"data": "d", "names": ["a", "b"], "score": {"type": "TEA"}, "code": "0/1"}


def csv(frame, **how):
    return io.StringIO(frame.to_csv(**how))


@pytest.fixture
def run(tmp_path, monkeypatch, shell):
    """Run a command line in a folder with ``data.csv``; return its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("data.csv", index=False)
    return shell


# --- A 11, B 3, B 9: the store ----------------------------------------------------------------------------------


def flipped(path, bit):
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


def test_a11_a_damaged_answer_counts_as_absent_and_is_computed_anew(tmp_path):
    path = tmp_path / "run.db"
    questions = [Question("family", (i, (j,))) for i in range(20) for j in range(20)]
    answers = {question: 1.2345 + k for k, question in enumerate(questions)}

    def made():
        path.unlink(missing_ok=True)
        with Store(path, "key", DESCRIPTION) as store:
            store.write(answers)
        return path.stat().st_size

    size, rng, absent = made(), random.Random(3), 0
    for _ in range(60):
        flipped(path, rng.randrange(8 * size))
        try:
            with Store(path, "key", DESCRIPTION) as store:
                found = store.read(questions)
                assert all(found[question] == answers[question] for question in found)
                absent += len(questions) - len(found)
                store.write({question: answers[question] for question in questions if question not in found})
                found = store.read(questions)
                assert all(found[question] == answers[question] for question in found)
            runs(path)
        except em.InputError:  # what is damaged beyond single answers is refused
            absent += 1
        made()
    assert absent


def test_a11_an_answer_that_was_changed_by_hand_is_not_believed(tmp_path):
    path, question = tmp_path / "run.db", Question("family", (0, ()))
    with Store(path, "key", DESCRIPTION) as store:
        store.write({question: 0.25})
    with sqlite3.connect(path) as db:
        db.execute("UPDATE answers SET answer = '0.75'")
    db.close()
    with Store(path, "key", DESCRIPTION) as store:
        assert store.read([question]) == {}
        store.write({question: 0.25})
        assert store.read([question]) == {question: 0.25}


def test_a_selection_comes_back_from_the_store_whole(tmp_path):
    """Section 1, no. 1 of what was found: what a selection refused decides the level, and was not stored."""
    past = Past((((0, 1), (1, 2)),), ((0, 1),), ((1, 0.5),), ((0, 3),), 0.0625)
    question = Question("past", (0,))
    with Store(tmp_path / "run.db", "key", DESCRIPTION) as store:
        store.write({question: (past,)})
    with Store(tmp_path / "run.db", "key", DESCRIPTION) as store:
        assert store.read([question]) == {question: (past,)}


def test_a12_no_link_leads_a_file_elsewhere(tmp_path, run):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    for name in ("edges.csv", "network.json"):
        (tmp_path / f".{os.getpid()}-{name}").symlink_to(victim)
    assert run(INFER)[0] == 0
    (tmp_path / "x.csv").symlink_to(victim)
    write_whole(tmp_path / "x.csv", lambda file: file.write_text("ours"))
    assert victim.read_text() == "mine"
    assert (tmp_path / "x.csv").read_text() == "ours"
    assert not [*tmp_path.glob(".enmesh-*"), *(tmp_path / "data-results").glob(".enmesh-*")]


def test_a12_a_store_that_is_a_dangling_link_is_refused(tmp_path, run):
    (tmp_path / "data-results").mkdir()
    (tmp_path / "data-results" / "run.db").symlink_to(tmp_path / "elsewhere.db")
    code, _, err = run(INFER)
    assert code == 2
    assert "is a link to a file that is not there; remove it" in err
    assert not (tmp_path / "elsewhere.db").exists()
    (tmp_path / "data-results" / "run.db").unlink()
    assert run(INFER)[0] == 0


@pytest.mark.parametrize("typed", ["--seed -1", "--surrogates 0", "--surrogates -3"])
def test_b3_what_is_refused_moves_no_store(run, tmp_path, typed):
    line = "infer data.csv --max-lag 1 --quiet"
    assert run(line)[0] == 0
    before = {file.name: file.read_bytes() for file in (tmp_path / "data-results").iterdir()}
    code, _, err = run(f"{line} {typed}")
    assert (code, err.count("\n")) == (2, 1)
    assert {file.name: file.read_bytes() for file in (tmp_path / "data-results").iterdir()} == before


def test_b3_what_is_refused_leaves_no_store_behind(run, tmp_path):
    assert run("infer data.csv --max-parents 1 --require a:b --forbid a:b --quiet")[0] == 2
    assert not (tmp_path / "data-results" / "run.db").exists()


def test_b9_resume_says_what_the_earlier_run_was(run):
    assert run(INFER)[0] == 0
    assert "it was" not in run(f"{INFER} --resume --out data-results --jobs 1")[2]
    code, _, err = run(f"{INFER} --resume --detrend --out data-results")
    assert code == 0
    code, _, err = run(f"{INFER} --resume --max-parents 1")
    assert "; what differs is computed" in err
    assert "it was: enmesh infer data.csv" in err


def test_one_run_is_one_row_and_one_earlier_store_is_kept(run, tmp_path):
    line = "infer data.csv --max-lag 2 --quiet"
    for _ in range(4):
        assert run(line)[0] == 0
    kept = sorted(file.name for file in (tmp_path / "data-results").glob("*.db"))
    assert kept == ["run-1.db", "run.db"]
    (entry,) = json.loads(run("runs data-results --json")[1])
    assert (entry["status"], entry["names"]) == ("finished", ["a", "b"])
    assert entry["steps"] == len(runs(tmp_path / "data-results" / "run.db")) >= 1


def test_b15_a_name_that_is_too_long_is_refused(run):
    code, _, err = run(f"{INFER} --out {'x' * 300}")
    assert (code, err.count("\n")) == (2, 1)
    assert "give another --out" in err
