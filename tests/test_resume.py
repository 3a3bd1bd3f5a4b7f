"""A run that is cancelled at any moment and resumed: the same network, one calm line, nothing computed twice."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

import enmesh as em
from enmesh.cli import main
from enmesh.inference import workers
from enmesh.inference.store import Store, runs

LINE = ["infer", "data.csv", "--json"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a small recording; answers are written one by one."""
    em.simulate.var("a>b, b>c", n=150, seed=0).to_dataframe().to_csv(tmp_path / "data.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(workers, "HERE", 0.0)
    return tmp_path


def network(text):
    found = json.loads(text)
    return {key: found[key] for key in ("parents", "edges", "choices", "warnings") if key in found}


def test_a_default_run_cancelled_after_every_write_is_the_run_that_was_not(folder, capsys, monkeypatch):
    write, written = Store.write, []

    def counted(store, answers):
        write(store, answers)
        written.append(len(answers))
        if len(written) == stop:
            raise KeyboardInterrupt

    stop = None
    monkeypatch.setattr(Store, "write", counted)
    assert main([*LINE, "--out", "whole"]) == 0
    whole, all_writes = network(capsys.readouterr().out), len(written)
    assert whole["parents"] == {"a": [], "b": ["a"], "c": ["b"]}
    stops = range(1, all_writes)
    assert len(stops) >= 2
    for before, after in zip([0, *stops], stops):
        stop = after - before
        written.clear()
        assert main([*LINE, "--out", "cut", "--resume"]) == 130
        told = capsys.readouterr().err.splitlines()
        assert told[0].startswith("enmesh: resuming: ")
        assert max(map(len, told[:1])) < 80
        assert "--resume goes on from there" in told[-1]
    kept = sum(entry["answers"] for entry in runs("cut/run.db"))
    written.clear()
    stop = None
    assert main([*LINE, "--out", "cut", "--resume"]) == 0
    out, err = capsys.readouterr()
    assert network(out) == whole
    assert f"enmesh: resuming: {kept:,} scores of an earlier run are kept" in err.splitlines()
    assert len(written) == all_writes - stops[-1]  # no more than was left
    assert all(entry["computed_twice"] == 0 for entry in runs("cut/run.db"))
    assert sum(entry["answers"] for entry in runs("cut/run.db")) == sum(
        entry["answers"] for entry in runs("whole/run.db")
    )


@pytest.mark.parametrize("told", [True, False])
def test_a_module_that_was_stopped_while_it_loaded(folder, capsys, monkeypatch, told):
    def loading(*args, **options):
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt as stop:
            raise ImportError("initialization failed") from (stop if told else OSError())

    monkeypatch.setattr(em, "infer", loading)
    assert main([*LINE, "--out", "cut"]) == 128 + signal.SIGTERM
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert said[0].startswith("enmesh: stopped")
    assert ("--resume goes on" in said[0]) == told


@pytest.mark.slow
def test_a_process_stopped_by_signals_is_resumed(tmp_path):
    em.simulate.coupled_map("a>b, b>c, c>d", n=600, noise=0.01, seed=0).to_dataframe().to_csv(
        tmp_path / "data.csv", index=False
    )

    def start(*words):
        command = [sys.executable, "-m", "enmesh", *LINE, *words]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=tmp_path, env=os.environ)

    began = time.monotonic()
    whole = network(start("--out", "whole").communicate(timeout=300)[0])
    seconds, rng = time.monotonic() - began, random.Random(0)
    for name in ["SIGINT", "SIGTERM", "SIGKILL"] * 3 + ["SIGHUP"]:
        process = start("--out", "cut", "--resume")
        try:
            process.wait(timeout=rng.uniform(0.2, 1.0) * seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(getattr(signal, name))
        err = process.communicate(timeout=60)[1]
        number = getattr(signal, name).value
        # The last two before it is listened to: Python itself is stopped then, or NumPy fails to load.
        early = (-number, 1 if "NumPy" in err and "enmesh: " not in err else -number)
        assert process.returncode in (0, 128 + number, *early), err
    out, err = start("--out", "cut", "--resume").communicate(timeout=300)
    assert network(out) == whole
    assert "scores of an earlier run are kept" in err.splitlines()[0]
