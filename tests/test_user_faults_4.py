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


# --- A 2, A 5: axes ---------------------------------------------------------------------------------------------

CUBE = RNG.normal(size=(6, 5, 200))  # trial, node, time


@pytest.mark.parametrize(
    ("shape", "order"),
    [
        ((30, 64, 60), "trial node time"),
        ((8, 500, 40), "node time trial"),
        ((64, 500, 20), "node time trial"),
        ((5, 3, 200), "trial node time"),
        ((3, 1000, 20), "node time trial"),
        ((10, 30, 20), "trial, node, time"),
    ],
)
def test_a2_axes_that_can_be_read_two_ways_are_refused_until_they_are_named(shape, order, tmp_path):
    values = RNG.normal(size=shape)
    np.save(tmp_path / "x.npy", values)
    wanted = np.moveaxis(
        values, [order.replace(",", "").split().index(a) for a in ("trial", "time", "node")], [0, 1, 2]
    )
    for taken in (lambda **how: em.Series(values, **how), lambda **how: em.read(tmp_path / "x.npy", **how)):
        with pytest.raises(em.InputError, match=r"shape \(.*samples of \d+ nodes"):
            taken()
        for dims in (order, tuple(order.replace(",", "").split())):
            np.testing.assert_array_equal(np.stack(taken(dims=dims).trials), wanted)
    named = em.Series(
        wanted, names=[f"c{i}" for i in range(wanted.shape[2])]
    )  # names tell which axis is that of nodes
    assert named.n_nodes == wanted.shape[2]


def test_a2_clear_shapes_need_no_word():
    for shape in ((4, 20, 2), (20, 500, 3), (1000, 8, 2), (1, 300, 12)):
        assert em.Series(RNG.normal(size=shape)).n_nodes == shape[2]


def test_a2_lists_of_trials():
    trials = [RNG.normal(size=(64, 60)) for _ in range(4)]
    with pytest.raises(em.InputError, match="4 trials of 64 samples of 60 nodes"):
        em.Series(trials)
    for dims in (("node", "time"), ("trial", "node", "time")):
        assert em.Series(trials, dims=dims).lengths == (60,) * 4
    different = [RNG.normal(size=(length, 30)) for length in (40, 50)]
    assert em.Series(different).n_nodes == 30  # lengths that differ are those of time
    with pytest.raises(em.InputError, match=r"different numbers of nodes .*; pass transpose=True"):
        em.Series([one.T for one in different])
    assert em.Series([one.T for one in different], transpose=True).lengths == (40, 50)
    assert em.Series(CUBE[:, 0], dims=("trial", "time")).shape == (1200, 1)


@pytest.mark.parametrize(
    ("dims", "told"),
    [
        (("trial", "time"), "names 2 axes and the array has 3"),
        (("a", "b", "c"), "name each axis once"),
        (("node", "node", "time"), "name each axis once"),
        (("node", "trial"), "name each axis once"),
    ],
)
def test_a2_dims_that_do_not_fit_are_refused(dims, told):
    with pytest.raises(em.InputError, match=told):
        em.Series(CUBE, dims=dims)


def test_a2_dims_are_for_arrays_alone():
    with pytest.raises(em.InputError, match="has names of its own; leave dims= out"):
        em.Series(FRAME, dims=("time", "node"))
    with pytest.raises(em.InputError, match="give one of them"):
        em.Series(CUBE, dims=("trial", "node", "time"), transpose=True)


def test_a2_the_command_line_names_axes(run):
    np.save("x.npy", RNG.normal(size=(30, 64, 60)))
    assert "use --transpose" in run("infer x.npy")[2]
    np.save("y.npy", RNG.normal(size=(8, 500, 40)))
    assert "--dims trial,time,node or --dims node,time,trial" in run("infer y.npy")[2]
    np.save("z.npy", CUBE)
    code, out, _ = run("te z.npy x0 x1 --dims trial,node,time --estimator gaussian --max-lag 1 --json")
    assert code == 0
    expected = em.significance(
        em.Series(CUBE, dims=("trial", "node", "time")), "x0", "x1", estimator="gaussian", max_lag=1
    )
    assert json.loads(out)["te"] == pytest.approx(expected.value)


def test_a2_what_is_written_and_what_matlab_says_is_read_as_it_is(tmp_path):
    from scipy.io import savemat

    names = [f"c{i}" for i in range(20)]
    cube = RNG.normal(size=(64, 100, 20))
    series = em.Series(cube, names=names)
    assert em.read(_npz(series, tmp_path)) == series
    labels = np.array([(name,) for name in names], dtype=[("labels", object)])
    eeg = {"data": np.moveaxis(cube, (0, 1, 2), (2, 1, 0)), "nbchan": 20, "pnts": 100, "trials": 64}
    savemat(tmp_path / "eeglab.mat", {"EEG": eeg | {"srate": 250.0, "chanlocs": labels}})
    read = em.read(tmp_path / "eeglab.mat")
    assert (read.names, read.dt, len(read.trials)) == (tuple(names), 1 / 250, 64)
    np.testing.assert_array_equal(read.trials[5], cube[5])
    cells = np.empty(3, object)
    for i, length in enumerate((90, 100, 110)):
        cells[i] = RNG.normal(size=(4, length))
    label = np.array(["a", "b", "c", "d"], object)[:, None]
    savemat(tmp_path / "fieldtrip.mat", {"data": {"trial": cells[None], "label": label, "fsample": 100.0}})
    read = em.read(tmp_path / "fieldtrip.mat")
    assert (read.names, read.lengths, read.dt) == (tuple("abcd"), (90, 100, 110), 0.01)
    np.testing.assert_array_equal(read.trials[1], cells[1].T)


def _npz(series, folder):
    from enmesh.data.files import write_series

    return write_series(series, folder / "x.npz")


def test_a5_bad_channels_of_mne_are_left_out_and_said():
    mne = pytest.importorskip("mne")
    info = mne.create_info(["a", "b", "c"], 100.0, "eeg")
    raw = mne.io.RawArray(RNG.normal(size=(3, 300)), info, verbose="ERROR")
    raw.info["bads"] = ["b"]
    with pytest.warns(em.HazardWarning, match="left out b: marked as bad"):
        assert em.Series(raw).names == ("a", "c")
    raw.info["bads"] = ["a", "b", "c"]
    with pytest.raises(em.InputError, match=r"no channel that is not marked as bad \(a, b, c\)"):
        em.Series(raw)


def test_dead_channels_are_dropped_by_one_word(run):
    frame = FRAME.assign(flat=1.0, gone=np.nan)
    with pytest.raises(
        em.InputError, match=r"no value at all|missing|constant column: flat.*drop_constant=True"
    ):
        em.Series(frame)
    with pytest.warns(em.HazardWarning, match="left out flat, gone: constant, or without any value"):
        series = em.Series(frame, drop_constant=True)
    assert series.names == ("a", "b")
    assert "left out flat, gone, which are constant" in series.prepared
    frame.drop(columns="gone").to_csv("flat.csv", index=False)
    code, _, err = run("infer flat.csv")
    assert code == 2
    assert "leave it out (--drop-constant)" in err
    assert run("infer flat.csv --drop-constant --estimator gaussian --score tea --max-lag 1")[0] == 0
    with pytest.raises(em.InputError, match="every column is constant"):
        em.Series(np.ones((50, 2)), drop_constant=True)
