"""What went wrong for new users and under attack in the fourth round, each fault with its number."""

import contextlib
import doctest
import io
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
import warnings

import numpy as np
import pandas as pd
import pytest

import enmesh as em
from enmesh.data.sources import write_whole
from enmesh.inference.store import Store, runs
from enmesh.inference.work import Question
from enmesh.tasks import run as run_task
from tests import test_pages
from tests.marks import rest_slow

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
    """Section 1, no. 1 of what was found: a part of what a selection decided was not stored."""
    series = em.simulate.var("a>b, b>c", n=200, seed=0)
    (found,) = run_task(em.LinkTest(max_lag=2).bind(series).drivers(1))
    question = Question("drivers", (1,))
    with Store(tmp_path / "run.db", "key", DESCRIPTION) as store:
        store.write({question: (found,)})
    with Store(tmp_path / "run.db", "key", DESCRIPTION) as store:
        assert store.read([question]) == {question: (found,)}


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
    assert "; only differences are computed" in err
    assert "it was: enmesh infer data.csv" in err


def test_one_run_is_one_row_and_one_earlier_store_is_kept(run, tmp_path):
    line = "infer data.csv --max-lag 2 --quiet"
    for _ in range(3):
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
    named = em.Series(wanted, names=[f"c{i}" for i in range(wanted.shape[2])])  # names tell which axis is that of nodes
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
    with pytest.raises(em.InputError, match=r"no value at all|missing|constant column: flat.*drop_constant=True"):
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


# --- A 4, A 7 to A 10, B 4 to B 6, B 13: times and tables -------------------------------------------------------

QUARTERS = [f"{i % 4 + 1}Q{(70 + i // 4) % 100:02d}" for i in range(60)]
SHORT = FRAME[:60]
MONTH_NAMES = {
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "short": "Jan. Feb. Mär. Apr. Mai. Jun. Jul. Aug. Sep. Okt. Nov. Dez.",
}


@pytest.mark.parametrize("given", ["index", "unnamed column", "column"])
def test_a4_quarters_newest_first_are_not_turned_round(given):
    frame = SHORT.set_axis(QUARTERS)
    made = {
        "index": lambda one: one,
        "unnamed column": lambda one: csv(one),
        "column": lambda one: one.rename_axis("when").reset_index(),
    }[given]
    taken = em.read if given == "unnamed column" else em.Series
    series = taken(made(frame))
    assert (series.names, series.dt) == (("a", "b"), 3)
    with pytest.raises(em.InputError, match="the newest row is the first; pass time='sort'"):
        taken(made(frame[::-1]))
    assert taken(made(frame[::-1]), time="sort") == series


@pytest.mark.parametrize("label", ["{} days ago", "wave {} of 60", "t-{} h"])
def test_a4_labels_whose_order_cannot_be_told_are_refused_and_the_advice_works(label):
    frame = SHORT.set_axis([label.format(60 - i) for i in range(60)])
    with pytest.raises(em.InputError, match="cannot be read; give dates or numbers, or pass time='ignore'"):
        em.Series(frame)
    assert em.Series(frame, time="ignore").shape == (60, 2)
    named = SHORT.set_axis([f"row{i}" for i in range(60)])
    assert em.Series(named).shape == (60, 2)


def test_a7_a_column_of_two_scales_is_refused():
    mixed = ["0.64%", "-0.0034"] * 30
    for taken in (em.Series, lambda frame: em.read(csv(frame, index=False))):
        with pytest.raises(em.InputError, match=r"'0.64%' is per cent and other numbers of column a are not"):
            taken(SHORT.assign(a=mixed))
        assert taken(SHORT.assign(a=[f"{i * i % 17}.5%" for i in range(60)]))["a"][1] == 1.5


@pytest.mark.parametrize("words", ["english", "deutsch", "numbers"])
def test_a8_the_day_of_the_week_is_no_node(words):
    days = pd.date_range("2020-01-01", periods=60)
    german = ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"]
    column = {"english": days.day_name(), "deutsch": [german[d] for d in days.weekday], "numbers": days.weekday}
    frame = SHORT.assign(date=days, weekday=column[words], Wochentag=column[words])
    with pytest.warns(em.HazardWarning, match="left out weekday, Wochentag"):
        assert em.Series(frame).names == ("a", "b")
    assert em.Series(frame, columns=["a", "weekday"]).names == ("a", "weekday")


@pytest.mark.parametrize("language", ["numbers", *MONTH_NAMES])
def test_a9_b4_months_beside_years_are_one_time(language):
    months = np.tile(MONTH_NAMES[language].split(), 5) if language != "numbers" else np.tile(np.arange(1, 13), 5)
    frame = SHORT.assign(Jahr=np.repeat(np.arange(2000, 2005), 12), Monat=months)
    for how in ({}, {"time": "Monat"}, {"columns": ["a", "b"]}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            series = em.Series(frame, **how)
            assert (series.names, series.dt, len(series.trials)) == (("a", "b"), 1, 1)
            assert series.time.unit == "month"
            assert em.Series(frame[::-1], time="sort") == series
    with pytest.raises(em.InputError, match="newest row"):
        em.Series(frame[::-1])


@pytest.mark.parametrize("language", MONTH_NAMES)
def test_months_with_names_in_other_languages_are_read(language):
    names = MONTH_NAMES[language].split()
    text = [f"{names[i % 12]} {2000 + i // 12}" for i in range(60)]
    series = em.Series(SHORT.set_axis(text))
    assert (series.dt, series.time.unit) == (1, "month")
    days = pd.date_range("2020-01-01", periods=60)
    series = em.Series(SHORT.assign(date=[f"{day.day}. {names[day.month - 1]} {day.year}" for day in days]))
    assert (series.dt, series.names) == (86400, ("a", "b"))


def test_b4_advice_about_a_doubtful_clock_ends():
    frame = SHORT.assign(part=np.tile(np.arange(1, 13), 5))
    with pytest.raises(em.InputError, match="name the nodes with columns="):
        em.Series(frame)
    assert em.Series(frame, columns=["a", "b"]).shape == (60, 2)
    with pytest.raises(em.InputError, match="pass time='ignore'"):
        em.Series(frame[::-1].reset_index(drop=True), columns=["a", "b"])
    assert em.Series(frame[::-1].reset_index(drop=True), columns=["a", "b"], time="ignore").shape == (60, 2)


def test_a10_a_hidden_sheet_is_not_read(tmp_path):
    pytest.importorskip("openpyxl")
    with pd.ExcelWriter(tmp_path / "x.xlsx") as book:
        (SHORT * 7).rename(columns={"a": "old"}).to_excel(book, sheet_name="scratch", index=False)
        SHORT.to_excel(book, sheet_name="data", index=False)
        book.sheets["scratch"].sheet_state = "hidden"
    with pytest.warns(em.HazardWarning, match="sheet data is read; scratch before it is hidden"):
        assert em.read(tmp_path / "x.xlsx").names == ("a", "b")
    assert em.read(tmp_path / "x.xlsx", sheet="scratch").names == ("old", "b")


@pytest.mark.parametrize("part", ["quarter", "week"])
def test_b5_quarters_and_weeks_beside_years_are_times(part):
    count = {"quarter": 4, "week": 52}[part]
    frame = FRAME[:104].assign(year=2001 + np.arange(104) // count)
    frame[part] = np.arange(104) % count + 1
    series = em.Series(frame)
    assert series.dt == {"quarter": 3, "week": 7 * 86400}[part]
    with pytest.raises(em.InputError, match="newest row is the first; pass time='sort'"):
        em.Series(frame[::-1])
    assert em.Series(frame[::-1], time="sort") == series


def logger_file(rows=60):
    days = pd.date_range("2020-01-01", periods=rows, freq="h").strftime("%Y-%m-%d %H:%M:%S")
    head = ['"TOA5","st","CR1000","1","CR1000.Std","CPU:x","123","T1"', '"TIMESTAMP","RECORD","a","b"']
    head += ['"TS","RN","Deg C","W/m^2"', '"","","Avg","Avg"']
    body = [f'"{day}",{7 + i},{FRAME.a[i]:.4f},{FRAME.b[i]:.4f}' for i, day in enumerate(days)]
    return "\n".join([*head, *body])


def test_b6_logger_files_are_read():
    with pytest.warns(em.HazardWarning, match=r"line 3 \(TS, RN, Deg C, W/m\^2\) and line 4 .* hold units"):
        series = em.read(io.StringIO(logger_file()))
    assert (series.names, series.dt, series.shape) == (("a", "b"), 3600, (60, 2))
    np.testing.assert_allclose(series["a"], FRAME.a[:60].round(4))


def test_b13_a_pivot_with_an_entry_that_is_missing():
    long = pd.DataFrame(
        {"time": np.repeat(np.arange(30), 2), "variable": ["a", "b"] * 30, "value": SHORT.to_numpy()[:30].ravel()}
    )
    for gone in (0, 1, 7):
        left = long.drop(index=gone)
        with pytest.raises(em.InputError, match=r"missing \(NaN\) values in column . \(1\)"):
            em.Series(left, pivot=("time", "variable", "value"))
        series = em.Series(left, pivot=("time", "variable", "value"), missing="drop")
        assert series.shape == (30, 2)


def test_numbers_in_parentheses_are_negative_and_that_is_said():
    cells = ["(0.25)", "0.5", "(1,200.5)"] * 20
    with pytest.warns(em.HazardWarning, match=r"a: numbers in parentheses are negative, as '\(0.25\)'"):
        assert em.Series(SHORT.assign(a=cells))["a"][:3].tolist() == [-0.25, 0.5, -1200.5]


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("1.2 mV", "write the number without its unit"),
        ("1/2", "write it as a decimal number, or leave the column out"),
        ("3 of 5", "write it as a decimal number, or leave the column out"),
        ("a", "the names are repeated here: leave that row out"),
        ("?", r"if it stands for a missing value, pass na='\?'"),
    ],
)
def test_advice_about_cells_that_are_no_numbers_can_be_followed(cell, told):
    cells = [*map(str, A[:59]), cell]
    with pytest.raises(em.InputError, match=told):
        em.Series(SHORT.assign(a=cells))
    fixed = {"1.2 mV": "1.2", "1/2": ".5", "3 of 5": ".6"}.get(cell)
    if fixed:
        assert em.Series(SHORT.assign(a=[*cells[:-1], fixed])).shape == (60, 2)
    elif cell == "?":
        assert em.Series(SHORT.assign(a=cells), na="?", missing="drop").shape == (60, 2)
    else:
        assert em.Series(SHORT.assign(a=cells), rows="1:59").shape == (59, 2)


def test_comments_inside_a_file_are_left_out_and_said():
    lines = SHORT.to_csv(index=False).splitlines()
    lines.insert(20, "# battery changed")
    with pytest.warns(em.HazardWarning, match="1 lines that begin with # are left out, the first is line 21"):
        assert em.read(io.StringIO("\n".join(lines))).shape == (60, 2)


def test_uneven_times_are_interpolated_on_request_and_what_that_does_is_said(run):
    times = np.sort(np.arange(60) + np.random.default_rng(1).uniform(-0.2, 0.2, 60))
    frame = pd.DataFrame({"time": times, "a": np.sin(times / 5), "b": A[:60]})
    with pytest.warns(em.HazardWarning, match="resample=True interpolates them instead"):
        em.Series(frame)
    with pytest.warns(em.HazardWarning, match="variation with a period under about 2.* is weakened or lost"):
        series = em.Series(frame, resample=1.0)
    expected = np.interp(times[0] + np.arange(len(series)), times, np.sin(times / 5))
    np.testing.assert_allclose(series["a"], expected)
    assert series.dt == 1
    holed = frame.drop(index=range(20, 30))
    with pytest.raises(em.InputError, match=r"missing .*pass missing='drop'"):
        em.Series(holed, resample=1.0)
    left = em.Series(holed, resample=1.0, missing="drop")
    assert 9 <= np.isnan(left["a"]).sum() <= 12
    with pytest.raises(em.InputError, match="needs times"):
        em.Series(FRAME, resample=1.0)
    frame.to_csv("uneven.csv", index=False)
    line = "te uneven.csv a b --resample 1 --estimator gaussian --max-lag 1"
    assert run(line)[0] == 0


def test_times_that_were_rounded_have_their_true_step():
    for dt, digits in ((1 / 3, 2), (1 / 30, 3), (0.7 / 3, 2)):
        series = em.Series(FRAME.assign(time=(np.arange(N) * dt).round(digits)))
        assert series.dt == pytest.approx(dt, abs=1.01 * 10.0**-digits / (N - 1))


def test_columns_of_two_levels_have_one_name_each():
    columns = pd.MultiIndex.from_tuples([("left", "a"), ("right", "")])
    assert em.Series(FRAME.set_axis(columns, axis=1)).names == ("left.a", "right")


# --- B 1, B 10 to B 12, B 15, B 16: arguments, graphs, networks as files, limits --------------------------------

SERIES = em.simulate.var("a>b, b>c", n=300, seed=0)
PLAIN = em.TEA(estimator=em.Gaussian(), embedding=em.Embedding())


@pytest.fixture(scope="module")
def network():
    return em.infer(SERIES, score=PLAIN)


@pytest.mark.parametrize("estimator", [em.KSG(), em.KSG(noise=0), em.KSG(normalise="rank"), em.Kernel()])
def test_b1_what_is_constant_tells_nothing_and_ends(estimator):
    a, b, one = RNG.normal(size=50), RNG.normal(size=50), np.full(50, 3.0)
    for x, y in ((a, one), (one, a)):
        assert abs(em.cmi(x, y, estimator=estimator)) < 0.05
    given = em.cmi(a, b, one, estimator=estimator)
    assert given == pytest.approx(em.cmi(a, b, np.zeros(50), estimator=estimator))


def test_b1_neighbours_of_what_is_no_number_are_refused():
    from enmesh.neighbours import cpu, plain

    y, z = RNG.normal(size=(30, 1)), RNG.normal(size=(30, 1))
    broken = y.copy()
    broken[3] = np.nan
    for room in (cpu, plain):
        with pytest.raises(em.InputError, match="neighbours need finite values"):
            room.Neighbours(broken, z)
    with pytest.raises(em.InputError, match="neighbours need finite values"):
        cpu.Neighbours(y, z).ksg(broken[None], 4)


def test_b10_odd_arguments_are_refused_or_taken(network):
    with pytest.raises(em.InputError, match=r"1\.5 names no node; the nodes are a, b, c"):
        em.transfer_entropy(SERIES, 1.5, "b")
    with pytest.raises(em.InputError, match="candidates='a' names no sources of targets"):
        em.infer(SERIES, candidates="a", score=PLAIN)
    assert em.infer(SERIES, required=None, forbidden=None, score=PLAIN) == network
    assert "c" in em.infer(SERIES, required="a>c", score=PLAIN).parents["c"] + ("c",)
    assert "a" in em.infer(SERIES, required="a>c", score=PLAIN)["c"]
    with pytest.raises(em.InputError, match="a is no edge; write edges as 'a>b, b>c'"):
        em.infer(SERIES, required="a", score=PLAIN)
    assert hash(network) == hash(em.infer(SERIES, score=PLAIN))
    assert ("a" in network, "z" in network, ("a", "b") in network) == (True, False, True)
    assert em.score(SERIES, network.adjacency, PLAIN).total == em.score(SERIES, network, PLAIN).total
    turned = SERIES.select(["c", "a", "b"])
    adjacency = em.infer(turned, score=PLAIN).adjacency
    assert em.score(turned, adjacency, PLAIN).total == pytest.approx(em.score(SERIES, network, PLAIN).total)
    with pytest.raises(em.InputError, match=r"a matrix of shape \(2, 2\) for 3 nodes"):
        em.score(SERIES, np.eye(2), PLAIN)


def test_b11_numbers_of_numpy_are_taken_and_words_for_switches_are_not(network):
    for number in (np.float32(0.05), np.float64(0.05)):
        assert em.infer(SERIES, level=number, max_lag=1) == em.infer(SERIES, level=float(number), max_lag=1)
    with pytest.warns(em.HazardWarning, match="give level=0.05"):
        em.infer(SERIES, alpha=np.float32(0.95), max_lag=1)
    assert em.infer(SERIES, score=PLAIN, max_parents=np.int64(1)).names == SERIES.names
    assert em.infer(SERIES, score=PLAIN, acyclic=np.bool_(True)).names == SERIES.names
    for call in (em.transfer_entropy, em.te_matrix, em.active_information):
        how = {em.transfer_entropy: {"source": "a", "target": "b", "local": "no"}, em.te_matrix: {"conditional": "no"}}
        with pytest.raises(em.InputError, match="='no' is not possible; give True or False"):
            call(SERIES, **how.get(call, {"target": "b", "local": "no"}))
    for word in ("acyclic", "within_sample", "progress"):
        for wrong in ("no", "yes", 2, []):
            with pytest.raises(em.InputError, match=f"{word}="):
                em.infer(SERIES, score=PLAIN, **{word: wrong})


def test_b12_networks_are_no_recordings(network):
    with pytest.raises(em.InputError, match="this is a network, not a recording"):
        em.compare(network, network)


@pytest.mark.parametrize("text", ["a<b", "a:b", "a|b", "{a}", "a=b", "a>", ">b", "[a]", "a->b<c"])
def test_graphs_in_other_notations_are_refused_with_ours(text):
    with pytest.raises(em.InputError, match="write edges as 'a>b, b>c'"):
        em.simulate.var(text, n=50)


def test_arrows_of_all_kinds_and_names_with_marks_are_taken():
    for text in ("a>b", "a->b", "a=>b", "a\u2192b"):
        assert em.simulate.var(text, n=50).truth == {"a": (), "b": ("a",)}
    marked = em.Series(SERIES.values, names=["x:1", "y", "z"])
    assert em.score(marked, "x:1>y", PLAIN).total == em.score(SERIES, "a>b", PLAIN).total


def test_slices_and_csv():
    assert SERIES[:10].lengths == (10,)
    np.testing.assert_array_equal(SERIES[100:].values, SERIES.values[100:])
    np.testing.assert_array_equal(SERIES[-100:].values, SERIES.values[200:])
    several = em.Series([SERIES.values[:100], SERIES.values[100:]], names=SERIES.names)
    assert several[50:150].lengths == (50, 50)
    np.testing.assert_array_equal(several[50:150].values, SERIES.values[50:150])
    dated = em.Series(FRAME.set_axis(pd.date_range("2020-01-01", periods=N)))
    assert dated[10:].time.start.startswith("2020-01-11")
    assert em.read(io.StringIO(dated.to_csv())) == dated
    for wrong in (slice(None, None, 2), slice(5, 5), slice(None, None, -1), slice("a", None), slice(0, 2)):
        with pytest.raises(em.InputError, match=r"samples"):
            SERIES[wrong]


def damaged(network):
    """Yield networks as JSON, each with one part that is null."""
    whole = json.loads(network.to_json())

    def places(value, path=()):
        yield path
        items = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
        for key, one in items:
            yield from places(one, (*path, key))

    for path in [one for one in places(whole) if one]:
        copy = json.loads(json.dumps(whole))
        part = copy
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = None
        yield ".".join(map(str, path)), json.dumps(copy)


def test_b10_a_network_that_is_loaded_can_be_used(tmp_path):
    network = em.infer(SERIES[:100], score=PLAIN)
    tried, loaded = 0, 0
    for place, text in damaged(network):
        tried += 1
        try:
            one = em.Network.from_json(text)
        except em.InputError as error:
            message = str(error)
            assert "damaged network" in message or "not a network" in message, place
            continue
        loaded += 1
        assert repr(one), place
        assert len(one.edges) == len(network.edges)
        one.to_networkx(), one.to_json()
        if loaded % 4 == 1:  # both hold the whole page
            one._repr_html_() if loaded % 8 == 1 else one.report(tmp_path / "x.html")
        for ends in one:
            with contextlib.suppress(em.InputError):  # nothing is kept of a link whose evidence is gone
                one.explain(*ends)
    assert tried > 150
    assert loaded > 20


def test_b10_every_part_of_an_explanation_is_checked(network, tmp_path):
    """Found by damaged files: a part of the evidence that no check knew."""
    from dataclasses import fields

    from enmesh.explain import Explanation

    whole = json.loads(network.to_json())
    link = next(iter(whole["evidence"]))
    for name in (one.name for one in fields(Explanation)):
        copy = json.loads(json.dumps(whole))
        copy["evidence"][link][name] = {"x": None}
        with pytest.raises(em.InputError, match="damaged network"):
            em.Network.from_json(json.dumps(copy))


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("te data.csv a b --surrogates 1000000000000", "would take 27,778 hours or more; give at most 10,000,000"),
        ("infer data.csv --bins 100000000 --quiet", "leaves fewer than 3 of 120 samples in each bin"),
        ("infer data.csv --bins 10000 --quiet --estimator discrete", "give at most 40, and few enough to count"),
        ("te data.csv a b --lag 100000000000000000000", "give at most 1,000,000"),
        ("infer data.csv --max-lag 1000000000 --quiet", "give at most 1,000,000"),
        ("infer data.csv --bootstrap 100000000000 --quiet", "give at most 1,000,000"),
        ("simulate var --graph a>b -n 1000000000000", "give at most 1,000,000,000"),
    ],
)
def test_b15_numbers_that_nothing_can_bear_are_refused_with_what_can(run, typed, told):
    code, _, err = run(typed)
    assert (code, err.count("\n")) == (2, 1), err
    assert told in err


@pytest.mark.slow
def test_b16_a_cache_that_cannot_be_written_costs_time_and_not_the_run(tmp_path):
    code = (
        "import resource, numpy as np; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0));"
        "import enmesh as em; r = np.random.default_rng(0);"
        "print(em.cmi(r.normal(size=50), r.normal(size=50)))"
    )
    where = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "ENMESH_NEIGHBOURS": ""}
    (tmp_path / "cache").mkdir()
    where = {name: value for name, value in where.items() if value}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=where)
    assert done.returncode == 0, done.stderr
    rng = np.random.default_rng(0)
    assert float(done.stdout) == em.cmi(rng.normal(size=50), rng.normal(size=50))


@pytest.mark.parametrize("extreme", [99, 999, -9999])
def test_whole_numbers_up_to_one_that_may_stand_for_missing(extreme):
    """Section 1, no. 11: OverflowError where the extreme of whole numbers is 99, 999, ..."""
    values = np.random.default_rng(0).integers(0, 99, (300, 2))
    values[0, 0] = extreme
    assert em.infer(em.Series(values), score=PLAIN).names == ("x0", "x1")


def test_functions_show_life_after_two_seconds(monkeypatch, capsys):
    from enmesh.inference import progress as module

    monkeypatch.setattr(module, "PATIENCE", 0.02)
    with module.Progress(None) as shown, shown.phase("subjects", 3):
        time.sleep(0.2)
        shown.advance()
    assert "subjects" in capsys.readouterr().err
    monkeypatch.setattr(module, "PATIENCE", 60)
    for given in (None, False):
        with module.Progress(given) as shown, shown.phase("subjects", 3):
            shown.advance()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("pause", rest_slow([0.02, 0.0, 0.2]))
def test_two_quick_ctrl_c_stop_as_one_does(tmp_path, pause):
    em.simulate.var("a>b, b>c, c>d", n=2000, seed=0).to_csv(tmp_path / "d.csv")
    line = [sys.executable, "-m", "enmesh", "infer", "d.csv", "--score", "tee", "--estimator", "ksg", "--max-lag", "3"]
    process = subprocess.Popen(line, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    store, until = tmp_path / "d-results" / "run.db", time.monotonic() + 90
    while not store.exists() and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    time.sleep(pause)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "--resume goes on from there" in err


def test_a_table_of_events_that_is_read_as_samples_names_the_way(run, tmp_path):
    path = tmp_path / "spikes.csv"
    em.simulate.coupled_events("a>b", duration=60, seed=0).to_dataframe().to_csv(path, index=False)
    with pytest.raises(em.InputError, match=r"if each row is an event of one node, read it with em\.Events"):
        em.read(path)
    assert em.Events(path).names == ("a", "b")
    code, _, err = run("infer spikes.csv --quiet")
    assert code == 2
    assert "if each row is an event of one node, use --events" in err
    assert run("te spikes.csv a b --events")[0] == 0


# --- A 1, A 3, A 6, B 2, B 7, B 8, B 14, B 17, B 18: tests and their numbers ---------------------------------------


@pytest.mark.parametrize("gap", ["mask", "drop"])
def test_a1_gaps_lose_no_nonlinear_link(gap):
    series = em.simulate.coupled_map("a>b, b>c", n=500, seed=0)
    assert {*em.infer(series)} == {("a", "b"), ("b", "c")}
    if gap == "mask":
        holed = series.mask(range(100))
    else:
        values = series.values.copy()
        values[np.random.default_rng(0).choice(500, 20, replace=False)] = np.nan
        holed = em.Series(values, names=series.names, missing="drop")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert {*em.infer(holed)} >= {("a", "b"), ("b", "c")}
    met = [text for text in (str(one.message) for one in said) if not text.startswith("nearly deterministic")]
    assert not [text for text in met if "variance" in text]


@pytest.mark.parametrize("how", [{}, {"estimator": "gaussian"}, {"estimator": "ksg", "score": "tee"}])
def test_a3_a_lag_that_cannot_be_looked_at_is_refused(how):
    series = em.simulate.var("a>b", n=400, seed=0)
    with pytest.raises(em.InputError, match="max_lag=130 is too large for 400 samples; give at most 100"):
        em.infer(series, max_lag=130, **how)


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ({"surrogate": em.Permute(), "n_surrogates": 19}, "surrogate has no effect on the default test"),
        ({"n_surrogates": 19}, "n_surrogates has no effect on the default test"),
        ({"n_surrogates": -5}, "n_surrogates=-5 is not possible"),
        ({"n_surrogates": "99"}, "n_surrogates='99' is not possible"),
        ({"seed": "x"}, "seed='x' is not possible"),
        ({"surrogate": em.Permute(), "score": "bic"}, "surrogate has no effect on the score bic"),
    ],
)
def test_a6_an_option_that_is_not_used_or_wrong_is_refused(option, told):
    with pytest.raises(em.InputError, match=told):
        em.infer(SERIES, **option)


def test_a6_functions_check_what_they_do_not_use():
    for call in (em.lag_profile, em.interval, em.significance):
        with pytest.raises(em.InputError, match="seed='x' is not possible"):
            call(SERIES, "a", "b", seed="x")
    for call in (em.stability, em.te_matrix):
        with pytest.raises(em.InputError, match="seed='x' is not possible"):
            call(SERIES, seed="x")
    with pytest.raises(em.InputError, match="surrogate has no effect without n_surrogates"):
        em.te_matrix(SERIES, surrogate=em.Permute())
    for level in (0, 1, 2, "x"):
        with pytest.raises(em.InputError, match="is not possible; give an error rate"):
            em.te_matrix(SERIES, level=level)
    with pytest.warns(em.HazardWarning, match="no tier has c: its links"):
        em.infer(SERIES, tiers=[["a"], ["b"]], score=PLAIN)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        em.infer(SERIES, tiers=[["a"], ["b", "c"]], score=PLAIN)


@pytest.mark.parametrize("wrong", [np.ones(3), 0, [], "x", em.KSG()])
def test_b10_what_is_no_embedding_is_refused_everywhere(wrong):
    calls = [
        lambda: em.transfer_entropy(SERIES, "a", "b", embedding=wrong),
        lambda: em.significance(SERIES, "a", "b", embedding=wrong),
        lambda: em.lag_profile(SERIES, "a", "b", embedding=wrong, max_lag=2),
        lambda: em.interval(SERIES, "a", "b", embedding=wrong),
        lambda: em.te_matrix(SERIES, embedding=wrong),
        lambda: em.infer(SERIES, embedding=wrong),
        lambda: em.infer(SERIES, score=em.TEA(embedding=wrong)),
        lambda: em.score(SERIES, "a>b", em.TEA(embedding=wrong)),
        lambda: em.diagnose(SERIES, wrong),
        lambda: em.stochastic_interaction(SERIES, embedding=wrong),
    ]
    for call in calls:
        with pytest.raises(em.InputError, match=r"is no embedding; give Embedding\(dim=2\)"):
            call()


@pytest.mark.parametrize("features", ["linear", "quadratic", "fourier"])
def test_b1_regressions_name_a_constant_target_and_learn_nothing_from_a_constant(features):
    estimator, a, b, one = em.Regression(features=features), A, RNG.normal(size=N), np.full(N, 3.0)
    assert em.cmi(one, a, estimator=estimator) == pytest.approx(0, abs=1e-12)
    assert em.cmi(a, b, one, estimator=estimator) == pytest.approx(em.cmi(a, b, estimator=estimator), abs=1e-6)
    with pytest.raises(em.InputError, match=r"the target is .*leave it out"):
        em.cmi(a, one, estimator=estimator)


@pytest.mark.parametrize("how", [{}, {"estimator": "gaussian"}, {"score": "tee", "estimator": "gaussian"}])
def test_b2_numbers_in_a_message_are_those_that_were_given(how, run):
    for alpha in (0.05, 0.145):
        with pytest.raises(em.InputError) as refused:
            em.infer(SERIES, alpha=alpha, **how)
        assert str(refused.value) == f"alpha={alpha} is a confidence level; give level={alpha} for an error rate"
    line = " ".join(f"--{name} {value}" for name, value in how.items())
    code, _, err = run(f"infer data.csv --alpha 0.145 {line}")
    assert code == 2
    assert "--level 0.145" in err
    assert "0.855" not in err


def test_b7_short_trials_are_inferred_by_default():
    rng = np.random.default_rng(0)
    trials = []
    for _ in range(1000):
        a, noise = rng.normal(size=(2, 8))
        trials.append(np.column_stack([a, np.r_[noise[0], 0.8 * a[:-1] + 0.6 * noise[1:]]]))
    series = em.Series(trials, names=["a", "b"])
    assert list(em.infer(series)) == [("a", "b")]
    assert em.significance(series, "a", "b").p_value < 1e-6 < em.significance(series, "b", "a").p_value


def test_b7_a_channel_that_never_changes_within_a_trial_is_named():
    trials = [np.column_stack([RNG.normal(size=50), np.full(50, i + 0.5), RNG.normal(size=50)]) for i in range(4)]
    with pytest.raises(em.InputError, match=r"constant within every trial: column dead.*drop_constant=True"):
        em.Series(trials, names=["a", "dead", "c"])
    with pytest.warns(em.HazardWarning, match="left out dead"):
        assert em.Series(trials, names=["a", "dead", "c"], drop_constant=True).names == ("a", "c")


@pytest.mark.parametrize("how", [{}, {"estimator": "gaussian"}, {"score": "tee", "estimator": "gaussian"}])
def test_b8_progress_never_counts_more_than_there_is(how):
    seen = []
    em.infer(SERIES, progress=lambda done, total, what: seen.append((done, total, what)), max_lag=2, **how)
    em.stability(SERIES, n=4, score=PLAIN, progress=lambda done, total, what: seen.append((done, total, what)))
    assert len(seen) > 5
    assert all(total is None or done <= total for done, total, _ in seen), seen


def test_b14_numbers_of_the_page_of_defaults_are_those_that_are_printed():
    """To the last digit: tests/test_pages.py allows nearest neighbours some room, the default test needs none."""
    body = "".join(body for _, body in test_pages.blocks(test_pages.DOCS / "defaults.md", "python") if ">>> " in body)
    failures = []
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(doctest.DocTestParser().get_doctest(body, {}, "defaults.md", None, 0), out=failures.append)
    assert runner.tries > 10
    assert not failures, "".join(failures)


def test_b17_a_long_search_for_lags_does_not_deny_its_own_p_values():
    series = em.simulate.var("a>b", n=1500, seed=0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        net = em.infer(series, max_lag=300)
    smallest = net.edges["p_value"].min()
    assert smallest < 1e-6
    assert not [one for one in said if "no p-value can be under" in str(one.message)]


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("simulate var --graph a>b -n 1000000000", "-n 1,000,000,000 needs about 45 GiB"),
        ("simulate boolean --graph a>b -n 1000000000", "-n 1,000,000,000 needs about 45 GiB"),
        ("simulate logistic --graph a>b -n 1000000000", "-n 1,000,000,000 needs about 45 GiB"),
    ],
)
def test_b15_what_the_memory_cannot_hold_is_refused_with_an_estimate(run, typed, told, monkeypatch):
    sizes = {"SC_PHYS_PAGES": 2**22, "SC_PAGE_SIZE": 2**12}
    monkeypatch.setattr(os, "sysconf", sizes.get)
    code, _, err = run(typed)
    assert (code, err.count("\n")) == (2, 1), err
    assert f"{told}, and this machine has 16; give less" in err


def test_b15_lags_and_surrogates_that_the_memory_cannot_hold(monkeypatch):
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": 2**18, "SC_PAGE_SIZE": 2**12}.get)
    how = {"estimator": "gaussian", "surrogate": em.Permute()}
    with pytest.raises(em.InputError, match="10,000,000 surrogates at 100 lags needs about 7 GiB"):
        em.significance(em.simulate.var("a>b", n=6000), "a", "b", n_surrogates=10**7, max_lag=100, **how)
    with pytest.raises(em.InputError, match=r"duration=1e\+12 needs about .* GiB"):
        em.simulate.coupled_events("a>b", duration=1e12)


def test_b15_surrogates_that_take_hours_are_refused_with_the_rate_of_this_machine(monkeypatch):
    from enmesh.surrogates import base

    monkeypatch.setattr(base, "MEASURED", 0.01)
    ask = {"estimator": "ksg", "surrogate": em.Permute()}
    series = em.simulate.var("a>b", n=2000, seed=0)
    with pytest.raises(em.InputError, match=r"10,000,000 surrogates would take about .* hours .*give at most") as found:
        em.significance(series, "a", "b", n_surrogates=10**7, **ask)
    at_most = int(str(found.value).split("give at most ")[1].split(", which")[0].replace(",", ""))
    assert 10_000 < at_most < 10**7
    monkeypatch.setattr(base, "MANY", 10**6)
    short = em.simulate.var("a>b", n=200, seed=0)
    assert len(em.significance(short, "a", "b", n_surrogates=999, **ask).null) == 999


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["npy", "csv", "parquet"])
def test_b18_a_large_recording_is_read_in_bounded_memory(tmp_path, kind):
    """5 x 1,000,000 samples are 40 MB; 4 GiB for 3,000,000 are 35 times the data."""
    values, path = np.random.default_rng(0).normal(size=(1_000_000, 5)), tmp_path / f"x.{kind}"
    if kind == "npy":
        np.save(path, values)
    else:
        frame = pd.DataFrame(values.round(6), columns=list("abcde"))
        frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    code = "import sys, enmesh as em; s = em.read(sys.argv[1]); print(s.shape, open('/proc/self/status').read())"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert "(1000000, 5)" in done.stdout
    peak = next(int(line.split()[1]) / 1024 for line in done.stdout.splitlines() if line.startswith("VmHWM"))
    print(f"{kind}: peak {peak:.0f} MiB")
    assert peak < 1000


def test_a_record_that_is_too_short_names_what_can_be_given(run):
    """Advice that can be followed: lag 1 cannot be made smaller."""
    for n in (10, 20):
        told = f"leave {n - 1} of {n} samples; at least 20 are needed: give a longer"
        with pytest.raises(em.InputError, match=told):
            em.infer(em.simulate.var("a>b", n=n, seed=0))
    with pytest.raises(em.InputError, match="give a smaller max_lag, or a longer record"):
        em.infer(em.simulate.var("a>b", n=25, seed=0), max_lag=6)
    assert em.infer(em.simulate.var("a>b", n=25, seed=0), max_lag=5).names == ("a", "b")
    assert run("infer data.csv --rows 1:30 --quiet")[0] == 0


def test_what_is_masked_is_not_called_missing(run):
    """Messages name what was typed."""
    _, out, err = run("infer data.csv --mask 1:40 --max-lag 1 --estimator gaussian --score tea")
    assert "missing or masked values: 79 of 119 windows have none and are used" in " ".join((out + err).split())
    assert "missing='drop'" not in out + err


@pytest.mark.parametrize("kind", ["pandas", "numpy", "datetime"])
def test_events_of_dates_by_node(kind):
    days = pd.date_range("2020-01-01", periods=60, freq="37min")
    late = days + pd.Timedelta("5min")
    as_kind = {"pandas": list, "numpy": np.asarray, "datetime": lambda one: list(one.to_pydatetime())}[kind]
    events = em.Events({"a": as_kind(days), "b": as_kind(late)})
    table = pd.DataFrame({"node": ["a"] * 60 + ["b"] * 60, "time": [*days, *late]})
    objects = em.Events(table.assign(time=table["time"].astype(object)))  # once taken for microseconds
    for made in (events, objects, em.Events(table)):
        np.testing.assert_allclose(made.stretches[0].times[0], 37 * 60 * np.arange(60))
        np.testing.assert_allclose(made.stretches[0].times[1], 37 * 60 * np.arange(60) + 300)
    assert events.counts == {"a": 60, "b": 60}


@pytest.mark.slow
def test_b18_three_million_samples_of_five_nodes_are_inferred_in_four_gib():
    code = (
        "import resource, numpy as np, enmesh as em; x = np.random.default_rng(0).normal(size=(3_000_000, 5));"
        "x[1:, 1:] += 0.05 * x[:-1, :-1]; net = em.infer(em.Series(x), progress=False);"
        "print(len(net), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    links, peak = map(float, done.stdout.split())
    assert links >= 4
    assert peak < 4
