"""What went wrong for new users once, each fault with its number and what is said or done about it now."""

import io
import json
import os
import shlex
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import enmesh as em
from enmesh.data import sources
from enmesh.data.files import read, write_series
from enmesh.inference.store import runs
from enmesh.simulate import coupled_map
from tests.marks import rest_slow

N = 300
RNG = np.random.default_rng(11)


def driven(n=N):
    """``a`` drives ``b`` one step later."""
    a = RNG.normal(size=n)
    b = np.r_[0.0, 0.8 * a[:-1]] + 0.3 * RNG.normal(size=n)
    return pd.DataFrame({"a": a, "b": b})


DRIVEN = driven()
GAUSSIAN = em.TEA(estimator=em.Gaussian(), embedding=em.Embedding())


def test_fault_1_newest_first_never_reverses_an_arrow():
    dated = DRIVEN.set_axis(pd.date_range("2020-01-01", periods=N))
    assert em.infer(dated, score=GAUSSIAN).parents == {"a": (), "b": ("a",)}
    for turned in (dated.iloc[::-1], DRIVEN.iloc[::-1], DRIVEN.assign(time=np.arange(N)).iloc[::-1]):
        with pytest.raises(em.InputError, match="the times fall, the newest row is the first; pass time='sort'"):
            em.infer(turned, score=GAUSSIAN)
        series = em.Series(turned, time="sort")
        assert em.infer(series, score=GAUSSIAN).parents == {"a": (), "b": ("a",)}
    with pytest.raises(em.InputError, match="pass time='sort' to put the rows in order"):
        em.Series(dated.sample(frac=1, random_state=0))
    with pytest.raises(em.InputError, match="the time jumps by 2 steps"):
        em.Series(dated.drop(dated.index[9]))
    assert em.Series(dated).dt == 86400
    assert em.Series(DRIVEN.assign(time=np.arange(N) * 0.5)).names == ("a", "b")


def test_fault_6_masks_names_text_and_complex_parts_are_kept_or_refused(tmp_path):
    masked = np.ma.masked_greater(DRIVEN.to_numpy(), 2)
    assert np.array_equal(em.Series(masked, missing="drop").missing[0], masked.mask)
    trials = em.Series([DRIVEN[:100], DRIVEN[100:][["b", "a"]]])
    np.testing.assert_array_equal(trials["a"], DRIVEN.a)
    assert em.Series(DRIVEN.astype(str)).kinds == ("float", "float")
    words = em.Series(DRIVEN.assign(s=np.where(DRIVEN.a > 0, "up", "down")))
    assert words.kinds == ("float", "float", "text")
    with pytest.raises(em.InputError, match="s holds labels, not numbers"):
        em.infer(words, score=GAUSSIAN)
    with pytest.raises(em.InputError, match="complex"):
        em.Series(DRIVEN.to_numpy() * 1j)


@pytest.mark.parametrize("names", [("Year",), ("year", "Month")])
def test_fault_7_year_and_month_are_no_nodes(tmp_path, names):
    columns = {"Year": 1700 + np.arange(N), "year": 1990 + np.arange(N) // 12, "Month": 1 + np.arange(N) % 12}
    frame = DRIVEN.assign(**{name: columns[name] for name in names})
    frame.to_csv(tmp_path / "x.csv", index=False)
    assert em.Series(frame).names == read(tmp_path / "x.csv").names == ("a", "b")
    named = read(tmp_path / "x.csv", columns=["a", "b", names[0]])
    assert named.names == ("a", "b", names[0])


def test_fault_11_business_days_name_what_works(tmp_path):
    frame = DRIVEN.assign(date=pd.bdate_range("2020-01-01", periods=N))
    frame.to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(em.InputError, match="the rows are business days; pass time='ignore' to take the rows as"):
        read(tmp_path / "x.csv")
    assert em.infer(read(tmp_path / "x.csv", time="ignore"), score=GAUSSIAN).parents["b"] == ("a",)
    frame.iloc[::-1].to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(em.InputError, match=r"pass time=\('sort', 'ignore'\) to put the oldest first"):
        read(tmp_path / "x.csv", time="ignore")
    assert em.infer(read(tmp_path / "x.csv", time=["sort", "ignore"]), score=GAUSSIAN).parents["b"] == ("a",)


def test_fault_12_dates_as_people_have_them(tmp_path):
    dated = DRIVEN.set_axis(pd.date_range("2020-01-01", periods=N))
    dated.to_csv(tmp_path / "unnamed.csv")
    dated.to_parquet(tmp_path / "unnamed.parquet")
    dated.rename_axis("day").to_csv(tmp_path / "day.csv", date_format="%d/%m/%Y")
    for name in ("unnamed.csv", "unnamed.parquet", "day.csv"):
        series = read(tmp_path / name)
        assert (series.names, series.dt) == (("a", "b"), 86400)
        assert series.time.start.startswith("2020-01-01T00:00:00")
    text = (tmp_path / "unnamed.csv").read_text().replace("2020-02-03", "2020-02-xx")
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(em.InputError, match=r"line 35, column .*: '2020-02-xx' is not a time or date; correct it"):
        read(tmp_path / "bad.csv")
    assert read(tmp_path / "bad.csv", time="ignore").lengths == (N,)


# --- files -------------------------------------------------------------------------------------------------

BODY = DRIVEN.to_csv(index=False).split("\n", 1)[1]
HEADERS = {
    "# a,b": ("a", "b"),
    "#a,b": ("a", "b"),
    "% a, b": ("a", "b"),
    "%CPU,%MEM": ("%CPU", "%MEM"),
    "# made by hand\n# left,right": ("left", "right"),
    "# made by hand": ("x0", "x1"),
    "# 1,2": ("x0", "x1"),
    "# x,y\na,b": ("a", "b"),
}


@pytest.mark.parametrize("header", HEADERS)
def test_fault_9_names_in_a_line_that_looks_like_a_comment(tmp_path, header):
    (tmp_path / "x.csv").write_text(f"{header}\n{BODY}")
    series = read(tmp_path / "x.csv")
    assert series.names == HEADERS[header]
    np.testing.assert_array_equal(series.values, DRIVEN.to_numpy())


@pytest.fixture
def run(tmp_path, monkeypatch, shell):
    """Run a command line in a folder with ``data.csv``; return its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    DRIVEN.to_csv("data.csv", index=False)
    return shell


INFER = "infer data.csv --estimator gaussian --dim 1 --quiet"


def test_fault_10_an_input_is_never_overwritten(run, tmp_path):
    folder = tmp_path / "r"
    folder.mkdir()
    (folder / "edges.csv").write_text(DRIVEN.to_csv(index=False))
    for force in ("", "--force"):
        code, _, err = run(f"infer r/edges.csv --estimator gaussian --out r {force}")
        assert code == 2
        assert "r/edges.csv is what was read and would be overwritten; give another folder" in err
    assert (folder / "edges.csv").read_text() == DRIVEN.to_csv(index=False)
    assert [file.name for file in folder.iterdir()] == ["edges.csv"]


def test_fault_10_files_of_others_are_kept(run, tmp_path):
    (tmp_path / "r").mkdir()
    mine = tmp_path / "r" / "report.html"
    mine.write_text("mine")
    code, _, err = run(f"{INFER} --out r")
    assert code == 2
    assert "r holds report.html, which enmesh did not write; give another folder, or use --force" in err
    assert mine.read_text() == "mine"
    assert run(f"{INFER} --out r --force")[0] == 0
    assert mine.read_text() != "mine"
    assert run(f"{INFER} --out r")[0] == 0


def test_fault_10_a_stored_run_is_kept_when_resume_is_forgotten(run, tmp_path):
    line = f"{INFER} --surrogates 99"
    assert run(line)[2] == ""
    first = (tmp_path / "data-results" / "run.db").read_bytes()
    code, _, err = run(line)
    assert code == 0
    assert "data-results/run.db holds this run, and the earlier run is kept as run-1.db" in err
    assert "rename run-1.db to run.db and add --resume" in err
    assert (tmp_path / "data-results" / "run-1.db").read_bytes() == first
    assert not [*(tmp_path / "data-results").glob("*-wal"), *(tmp_path / "data-results").glob("*-shm")]
    second = (tmp_path / "data-results" / "run.db").read_bytes()
    assert run(f"{INFER} --surrogates 149")[0] == 0
    assert (tmp_path / "data-results" / "run-1.db").read_bytes() == second
    assert not (tmp_path / "data-results" / "run-2.db").exists()
    (entry,) = json.loads(run("runs data-results/run-1.db --json")[1])
    (tmp_path / "data-results" / "run-1.db").replace(tmp_path / "data-results" / "run.db")
    told = f"enmesh: resuming: {entry['answers']} scores of an earlier run are kept\n"
    assert run(f"{line} --resume")[2] == told  # the run that was kept, not the last one


def test_fault_10_resume_says_what_is_kept(run):
    run(f"{INFER} --surrogates 99")
    (entry,) = json.loads(run("runs data-results/run.db --json")[1])
    code, _, err = run(f"{INFER} --surrogates 99 --resume")
    assert (code, err) == (0, f"enmesh: resuming: {entry['answers']} scores of an earlier run are kept\n")
    (DRIVEN * 2).to_csv("data.csv", index=False)
    nothing = "enmesh: resuming: it has no scores of these data; all are computed"
    for folder in ("data-results", "other"):
        assert run(f"{INFER} --surrogates 99 --out {folder} --resume")[2].startswith(nothing)


def test_a_mistyped_option_moves_no_store(run, tmp_path):
    """Options are checked before the store of an earlier run is set aside, so that it can still be resumed."""
    assert run(INFER)[0] == 0
    before = {file.name: file.read_bytes() for file in (tmp_path / "data-results").iterdir()}
    for typed in ("--max-parents -1", "--jobs 0", "--screen 0", "--max-lag 0", "--bootstrap -1", "--tiers 'a|z'"):
        code, _, err = run(f"{INFER} {typed}")
        assert code == 2, typed
        assert len(err.splitlines()) == 1
        assert {file.name: file.read_bytes() for file in (tmp_path / "data-results").iterdir()} == before, typed
    assert "scores of an earlier run are kept" in run(f"{INFER} --resume")[2]


def test_fault_11_and_1_on_the_command_line(run):
    dated = DRIVEN.assign(date=pd.bdate_range("2020-01-01", periods=N)).iloc[::-1]
    dated.to_csv("data.csv", index=False)
    assert "the newest row is the first; use --time sort to put the oldest first" in run(INFER)[2]
    assert "business days; use --time ignore to take the rows as equally spaced" in run(f"{INFER} --time sort")[2]
    assert "use --time sort --time ignore to put" in run(f"{INFER} --time ignore")[2]
    code, out, _ = run(f"{INFER} --time sort --time ignore --json")
    assert code == 0
    assert json.loads(out)["parents"] == {"a": [], "b": ["a"]}


def test_fault_14_what_is_wrong_is_said_with_its_column(run, tmp_path):
    rows = [",".join(f"{value:.3f}" for value in row) for row in RNG.normal(size=(20, 2000))]
    (tmp_path / "wide.csv").write_text("\n".join([",".join(f"c{i}" for i in range(2000)), *rows]))
    assert "wide.csv: 20 samples of 2000 nodes are too few to tell the nodes apart" in run("infer wide.csv")[2]
    for factor, said in ((1e307, "are too large to compute with"), (1e-310, "too little to compute with")):
        (DRIVEN * [1, factor]).to_csv("far.csv", index=False)
        code, _, err = run("infer far.csv")
        assert code == 2
        assert "in column b" in err
        assert said in err
    np.save("turned.npy", DRIVEN.to_numpy().T)
    assert "2 samples of 300 nodes are too few" in run("infer turned.npy")[2]
    np.save("mne.npy", RNG.normal(size=(5, 3, 200)))
    assert "use --transpose if the last axis is time, --no-transpose if it is not" in run("infer mne.npy")[2]
    with pytest.raises(em.InputError, match=r"pass transpose=True if the last axis is time"):
        em.Series(np.load("mne.npy"))
    for name in ("a;x", "a\nx"):
        (tmp_path / "quoted.csv").write_text(f'"{name}",b\n{BODY}')
        assert read(tmp_path / "quoted.csv").names == (name, "b")
    (tmp_path / "open.csv").write_text(f'"a,b\n{BODY}')
    assert "open.csv, line 1: a quote is opened and never closed" in run("infer open.csv")[2]


@pytest.mark.parametrize("name", rest_slow(["SIGTERM", "SIGHUP", "SIGINT"]))
def test_fault_20_signals_end_as_control_c_does(tmp_path, finished_tests, name):
    six = coupled_map("a>b>c>d>e>f", n=600, noise=0.01, seed=0)
    six.to_dataframe().to_csv(tmp_path / "six.csv", index=False)
    line = "infer six.csv --estimator ksg --dim 1 --max-parents 2 --surrogates 999"
    command = [sys.executable, "-m", "enmesh", *shlex.split(line)]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    store, deadline = tmp_path / "six-results" / "run.db", time.monotonic() + 90
    while time.monotonic() < deadline and not finished_tests(store):
        time.sleep(0.1)
    assert started.poll() is None, "the run ended before it could be stopped"
    number = getattr(signal, name)
    started.send_signal(number)
    out, err = started.communicate(timeout=60)
    assert (started.returncode, out) == (128 + number, "")
    told = "enmesh: stopped; finished work is in six-results/run.db, and the same command with --resume goes on"
    assert err.splitlines()[-1].startswith(told)
    (entry,) = runs(store)
    assert (entry["status"], entry["tests"] > 0) == ("interrupted", True)


DROPPED = """
import signal, sys, time
import enmesh.cli

def stop():
    signal.raise_signal(signal.SIGINT)

class Closing:
    def __del__(self):
        stop()  # what is raised here is dropped

def infer(series, **options):
    if sys.argv[1] == "dropped":
        Closing()
        for _ in range(300):
            time.sleep(0.1)
        raise RuntimeError("not stopped")
    exec("stop()", {"stop": stop})  # as dataclasses and compilers do

enmesh.infer = infer
sys.exit(enmesh.cli.main(["infer", "data.csv"]))
"""


@pytest.mark.parametrize("where", ["dropped", "in text that is executed"])
def test_fault_20_a_stop_where_python_drops_it_or_would_end_by_itself(run, tmp_path, where):
    (tmp_path / "job.py").write_text(DROPPED)
    ended = subprocess.run([sys.executable, "-m", "job", where], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (130, "")
    assert "stopped; finished work is in data-results/run.db" in ended.stderr


def test_fault_20_a_stop_within_compiled_code_is_a_stop(run, monkeypatch):
    def stopped(*_, **__):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as stop:
            raise SystemError("returned a result with an exception set") from stop

    monkeypatch.setattr("enmesh.infer", stopped)
    code, _, err = run(INFER)
    assert code == 130
    assert "stopped; finished work is in data-results/run.db" in err
    monkeypatch.setattr(sys.modules["enmesh.inference.plan"], "asked", stopped)
    assert run("te data.csv a b --estimator gaussian --dim 1")[::2] == (130, "enmesh: stopped\n")


# --- hostile input -----------------------------------------------------------------------------------------

HOSTILE = ['=HYPERLINK("http://x")', "b\x1b]0;title\x07\u200b", "c\nd", '@e,f"g', "<b>&", "\u202ertl"]


def hostile():
    frame = pd.DataFrame(np.random.default_rng(2).normal(size=(N, len(HOSTILE))), columns=HOSTILE)
    for i in range(1, len(HOSTILE)):
        frame.iloc[1:, i] += frame.iloc[:-1, i - 1].to_numpy()
    return frame


def test_fault_21_hostile_names_are_written_safely(run, tmp_path):
    write_series(em.Series(hostile()), tmp_path / "hostile.csv")
    assert (tmp_path / "hostile.csv").read_text().startswith("\"'=HYPERLINK")
    assert read("hostile.csv").names == tuple(HOSTILE)
    line = "infer hostile.csv --estimator gaussian --dim 1 --out r --format graphml --format dot"
    code, out, err = run(line, pages=True)
    assert code == 0, err
    assert em.Network.from_json("r/network.json").names == tuple(HOSTILE)
    odd = ("\x1b", "\x07", "\u200b", "\u202e")
    texts = [out, err, *((tmp_path / "r" / name).read_text() for name in ("edges.csv", "network.dot", "report.html"))]
    assert [mark for mark in odd for text in texts if mark in text] == []
    assert r"b\x1b]0;title\x07\u200b" in out
    assert r"c\nd" in out
    edges = pd.read_csv("r/edges.csv")
    assert {cell[0] for cell in [*edges.source, *edges.target]}.isdisjoint("=+-@")
    for name in ("network.svg", "network.graphml"):
        ET.parse(tmp_path / "r" / name)
    assert (tmp_path / "r" / "network.png").stat().st_size > 1000


def test_fault_21_the_terminal_gets_no_commands(run):
    hostile().to_csv("hostile.csv", index=False)
    for line in ("te hostile.csv a b", "embed hostile.csv --method cao --max-dim 2", "infer hostile.csv --forbid a:b"):
        _, out, err = run(line)
        assert out + err
        assert "\x1b]" not in out + err
        assert "\u200b" not in out + err


def test_fault_21_a_name_that_cannot_be_seen_is_refused_before_the_work(run):
    DRIVEN.rename(columns={"a": "\u200b"}).to_csv("data.csv", index=False)
    code, _, err = run(INFER)
    assert code == 2
    assert r"data.csv: column 1 has no visible name ('\u200b'); rename it" in err


def test_fault_21_terminals_without_unicode(run, monkeypatch):
    DRIVEN.rename(columns={"a": "α"}).to_csv("data.csv", index=False)
    printed = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(printed, encoding="ascii"))
    assert run("infer data.csv --estimator gaussian --dim 1")[0] == 0
    assert rb"\u03b1 drives b" in printed.getvalue()


def test_fault_21_a_network_of_foreign_parents_is_refused():
    network = json.loads(em.infer(DRIVEN, score=GAUSSIAN).to_json())
    network["parents"]["b"] = ["z"]
    with pytest.raises(em.InputError, match="z drives or is driven but is not among its names"):
        em.Network.from_json(json.dumps(network))


def test_fault_21_a_pipe_without_a_writer_does_not_hang(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "PIPE_WAIT", 0.2)
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(em.InputError, match=r"nothing came through the pipe .*pipe.csv in 0.2 s"):
        read(tmp_path / "pipe.csv")


# --- faults of results and words ---------------------------------------------------------------------------------

LAG_1 = em.TEA(embedding=em.Embedding())


def test_fault_2_a_driver_at_lag_3_is_found_and_its_lag_is_said(run, tmp_path):
    assert run("simulate var --graph 'a>b' -n 400 --lags 3 --out late.csv")[0] == 0
    code, out, _ = run("infer late.csv --estimator gaussian")
    assert code == 0
    link = next(line.split() for line in out.splitlines() if line.startswith("a "))
    assert link[:2] == ["a", "b"]
    assert link[-1] == "3"
    assert run("infer late.csv --estimator gaussian --lag 3 --quiet")[0] == 0  # without --dim


def test_fault_3_the_cap_on_parents_rises_or_speaks():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(800, 8))
    values[1:, 7] += 0.3 * values[:-1, :6].sum(axis=1)
    series = em.Series(values)
    assert set(em.infer(series, score=LAG_1)["x7"]) == {f"x{i}" for i in range(6)}
    with pytest.warns(em.HazardWarning, match=r"at most 3 parents per node were allowed, but x\d -> x7"):
        em.infer(series, score=LAG_1, max_parents=3)


def test_fault_4_a_small_alpha_is_refused_or_warned_of(run):
    code, _, err = run("infer data.csv --alpha 0.05")
    assert code == 2
    assert "--alpha 0.05 is a confidence level; for a 0.05 test write --level 0.05" in err
    with pytest.warns(em.HazardWarning, match=r"for an error rate of 0\.05 give alpha=0\.95"):
        em.TEA(alpha=0.05)


def test_an_alpha_that_cannot_be_is_named_as_it_was_given_and_nothing_is_written(run, tmp_path):
    code, _, err = run("infer data.csv --alpha 2 --out r")
    assert code == 2
    assert "--alpha 2 is not possible" in err
    assert not (tmp_path / "r").exists()


def test_fault_5_a_strong_link_can_pass_its_q():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(200, 8))
    values[1:, 1] += 1.5 * values[:-1, 0]
    score = em.TEE(estimator=em.Gaussian(), embedding=em.Embedding(), n_surrogates=199)
    network = em.infer(em.Series(values), score=score)
    link = network.edges.set_index(["source", "target"]).loc[("x0", "x1")]
    assert link.q_value < 0.05
    assert link.significant


def test_fault_8_both_directions_are_said_where_one_was_left_out():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(600, 2))
    for t in range(1, 600):
        values[t] += 0.4 * values[t - 1, ::-1]
    with pytest.warns(em.HazardWarning, match="both ways significant; feedback not allowed"):
        network = em.infer(em.Series(values, names="ab"), score=LAG_1, acyclic=True)
    assert len(network) == 1
    assert len(em.infer(em.Series(values, names="ab"), score=LAG_1, acyclic=False)) == 2


def test_fault_13_warnings_speak_the_users_language(run):
    rng = np.random.default_rng(0)
    walks = rng.normal(size=(300, 2)) + np.linspace(0, 6, 300)[:, None]
    pd.DataFrame(walks, columns=["a", "b"]).to_csv("trend.csv", index=False)
    _, _, err = run("infer trend.csv --estimator gaussian --dim 1 --quiet")
    assert "remove them with --detrend" in err
    assert "series." not in err
    code, _, err = run("infer trend.csv --estimator gaussian --dim 1 --quiet --detrend")
    assert code == 0
    assert "trend:" not in err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (dict(score=em.TEA), "score=TEA is a class; give an instance, TEA()"),
        (dict(score=em.KSG()), "is no score"),
        (dict(estimator=em.TEA()), "is no estimator"),
        (dict(search="exakt"), "search='exakt' is not known; use basin, exact"),
        (dict(score="tea", estimator="ksg"), "TEA needs an estimator with a known null distribution"),
    ],
)
def test_fault_15_options_by_name_and_clear_refusals(given, said):
    series = em.Series(DRIVEN)
    with pytest.raises(em.InputError) as caught:
        em.infer(series, **given)
    assert said in str(caught.value)
    named = em.infer(series, score="tea", search="exact", estimator="gaussian", max_lag=1)
    assert named.parents == em.infer(series, score=em.TEA(), search=em.Exact(), max_lag=1).parents
