"""What went wrong in runs, their stores and their tests, and what is done or said about it now."""

import doctest
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
from enmesh.diagnostics import hazards_of_data
from enmesh.embedding import choose
from enmesh.errors import refuse_hours as real
from enmesh.inference.store import Store, runs
from enmesh.inference.work import Question
from enmesh.tasks import run as run_task
from tests import test_pages
from tests.marks import rest_slow

N = 120
RNG = np.random.default_rng(5)
A = RNG.normal(size=N)
FRAME = pd.DataFrame({"a": A, "b": np.r_[0.0, 0.8 * A[:-1]] + 0.3 * RNG.normal(size=N)})
SHORT = FRAME[:60]
SERIES = em.simulate.var("a>b, b>c", n=300, seed=0)
PLAIN = em.TEA(estimator=em.Gaussian(), embedding=em.Embedding())
INFER = "infer data.csv --estimator gaussian --score tea --max-lag 1 --quiet"


@pytest.fixture
def run(tmp_path, monkeypatch, shell):
    """Run a command line in a folder with ``data.csv``; return its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("data.csv", index=False)
    return shell


@pytest.fixture(scope="module")
def model():
    return em.infer(SERIES, max_lag=1).fit(SERIES)


def test_no_command_overwrites_a_file(run, tmp_path):
    for line in (
        "simulate var --graph a>b -n 50 --out {}",
        "datasets gas-furnace --out {}",
        "lags data.csv a b --max-lag 2 --estimator gaussian --out {}",
    ):
        mine = tmp_path / ("mine.png" if "lags" in line else "mine.csv")
        mine.write_text("mine")
        code, _, err = run(line.format(mine.name))
        assert code == 2
        assert f"{mine.name} is there already; give another name, or use --force to overwrite it" in err
        assert mine.read_text() == "mine"
        assert run(line.format(mine.name) + " --force")[0] == 0
        assert mine.read_bytes() != b"mine"


def test_signals_have_their_own_exit_codes():
    from enmesh import cli

    assert cli._stopped([]) == 130
    assert cli._stopped([15]) == 143
    assert cli._stopped([1]) == 129


def test_sentinels_spikes_and_stuck_sensors_are_hazards():
    values = RNG.normal(size=(500, 4))
    values[[7, 90], 0] = -999
    values[[7, 91], 1] = 9999
    values[300, 2] = 40
    values[100:160, 3] = 0.25
    found = {finding.kind: finding for finding in em.diagnose(em.Series(values, names="abcd"))}
    assert found["sentinel"].nodes == ("a", "b")
    assert "-999, 9999 in a, b" in found["sentinel"].message
    assert (found["spike"].nodes, found["stuck"].nodes) == (("c",), ("d",))
    clean = {finding.kind for finding in em.diagnose(em.Series(RNG.standard_t(4, size=(3000, 4))))}
    assert not clean & {"sentinel", "spike", "stuck"}
    rounded = em.Series(np.cumsum(RNG.normal(size=(500, 2)), axis=0).round(0) * 1.0)
    assert not {finding.kind for finding in em.diagnose(rounded)} & {"sentinel", "spike", "stuck"}
    rain = np.where(RNG.random((2000, 2)) < 0.03, RNG.gamma(2, size=(2000, 2)), 0)
    assert "stuck" not in {finding.kind for finding in em.diagnose(em.Series(rain))}


def test_short_help_folders_of_runs_and_full_disks(run, tmp_path, monkeypatch):
    assert run("infer -h")[0] == 0
    assert run("infer data.csv --estimator gaussian --dim 1 --out r --quiet")[0] == 0
    assert len(json.loads(run("runs r --json")[1])) == 1

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("enmesh.cli.results.write_results", full)
    code, _, err = run("infer data.csv --estimator gaussian --dim 1 --out q --quiet")
    assert code == 1
    assert err.splitlines()[-1].startswith("enmesh: the disk is full; make room and run again")


DESCRIPTION = {"data": "d", "names": ["a", "b"], "score": {"type": "TEA"}, "code": "0/1"}


def flipped(path, bit):
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


def test_damaged_answer_counts_as_absent_and_is_computed_anew(tmp_path):
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


def test_an_answer_that_was_changed_by_hand_is_not_believed(tmp_path):
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


def test_no_link_leads_a_file_elsewhere(tmp_path, run):
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


def test_store_that_is_a_dangling_link_is_refused(tmp_path, run):
    (tmp_path / "data-results").mkdir()
    (tmp_path / "data-results" / "run.db").symlink_to(tmp_path / "elsewhere.db")
    code, _, err = run(INFER)
    assert code == 2
    assert "is a link to a file that is not there; remove it" in err
    assert not (tmp_path / "elsewhere.db").exists()
    (tmp_path / "data-results" / "run.db").unlink()
    assert run(INFER)[0] == 0


@pytest.mark.parametrize("typed", ["--seed -1", "--surrogates 0", "--surrogates -3"])
def test_what_is_refused_moves_no_store(run, tmp_path, typed):
    line = "infer data.csv --max-lag 1 --quiet"
    assert run(line)[0] == 0
    before = {file.name: file.read_bytes() for file in (tmp_path / "data-results").iterdir()}
    code, _, err = run(f"{line} {typed}")
    assert (code, err.count("\n")) == (2, 1)
    assert {file.name: file.read_bytes() for file in (tmp_path / "data-results").iterdir()} == before


def test_what_is_refused_leaves_no_store_behind(run, tmp_path):
    assert run("infer data.csv --max-parents 1 --require a:b --forbid a:b --quiet")[0] == 2
    assert not (tmp_path / "data-results" / "run.db").exists()


def test_resume_says_what_the_earlier_run_was(run):
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


def test_name_that_is_too_long_is_refused(run):
    code, _, err = run(f"{INFER} --out {'x' * 300}")
    assert (code, err.count("\n")) == (2, 1)
    assert "give another --out" in err


@pytest.mark.parametrize("estimator", [em.KSG(), em.KSG(noise=0), em.KSG(normalise="rank"), em.Kernel()])
def test_what_is_constant_tells_nothing_and_ends(estimator):
    a, b, one = RNG.normal(size=50), RNG.normal(size=50), np.full(50, 3.0)
    for x, y in ((a, one), (one, a)):
        assert abs(em.cmi(x, y, estimator=estimator)) < 0.05
    given = em.cmi(a, b, one, estimator=estimator)
    assert given == pytest.approx(em.cmi(a, b, np.zeros(50), estimator=estimator))


def test_neighbours_of_what_is_no_number_are_refused():
    from enmesh.neighbours import cpu, plain

    y, z = RNG.normal(size=(30, 1)), RNG.normal(size=(30, 1))
    broken = y.copy()
    broken[3] = np.nan
    for room in (cpu, plain):
        with pytest.raises(em.InputError, match="neighbours need finite values"):
            room.Neighbours(broken, z)
    with pytest.raises(em.InputError, match="neighbours need finite values"):
        cpu.Neighbours(y, z).ksg(broken[None], 4)


@pytest.mark.slow
def test_cache_that_cannot_be_written_costs_time_and_not_the_run(tmp_path):
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


@pytest.mark.parametrize("gap", ["mask", "drop"])
def test_gaps_lose_no_nonlinear_link(gap):
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


@pytest.mark.parametrize("features", ["linear", "quadratic", "fourier"])
def test_regressions_name_a_constant_target_and_learn_nothing_from_a_constant(features):
    estimator, a, b, one = em.Regression(features=features), A, RNG.normal(size=N), np.full(N, 3.0)
    assert em.cmi(one, a, estimator=estimator) == pytest.approx(0, abs=1e-12)
    assert em.cmi(a, b, one, estimator=estimator) == pytest.approx(em.cmi(a, b, estimator=estimator), abs=1e-6)
    with pytest.raises(em.InputError, match=r"the target is .*leave it out"):
        em.cmi(a, one, estimator=estimator)


def test_short_trials_are_inferred_by_default():
    rng = np.random.default_rng(0)
    trials = []
    for _ in range(1000):
        a, noise = rng.normal(size=(2, 8))
        trials.append(np.column_stack([a, np.r_[noise[0], 0.8 * a[:-1] + 0.6 * noise[1:]]]))
    series = em.Series(trials, names=["a", "b"])
    assert list(em.infer(series)) == [("a", "b")]
    assert em.significance(series, "a", "b").p_value < 1e-6 < em.significance(series, "b", "a").p_value


@pytest.mark.parametrize("how", [{}, {"estimator": "gaussian"}, {"score": "tee", "estimator": "gaussian"}])
def test_progress_never_counts_more_than_there_is(how):
    seen = []
    em.infer(SERIES, progress=lambda done, total, what: seen.append((done, total, what)), max_lag=2, **how)
    em.stability(SERIES, n=4, score=PLAIN, progress=lambda done, total, what: seen.append((done, total, what)))
    assert len(seen) > 5
    assert all(total is None or done <= total for done, total, _ in seen), seen


def test_numbers_of_the_page_of_defaults_are_those_that_are_printed():
    """To the last digit: tests/test_pages.py allows nearest neighbours some room, the default test needs none."""
    body = "".join(body for _, body in test_pages.blocks(test_pages.DOCS / "defaults.md", "python") if ">>> " in body)
    failures = []
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(doctest.DocTestParser().get_doctest(body, {}, "defaults.md", None, 0), out=failures.append)
    assert runner.tries > 10
    assert not failures, "".join(failures)


def test_long_search_for_lags_does_not_deny_its_own_p_values():
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
def test_what_the_memory_cannot_hold_is_refused_with_an_estimate(run, typed, told, monkeypatch):
    sizes = {"SC_PHYS_PAGES": 2**22, "SC_PAGE_SIZE": 2**12}
    monkeypatch.setattr(os, "sysconf", sizes.get)
    code, _, err = run(typed)
    assert (code, err.count("\n")) == (2, 1), err
    assert f"{told}, and this machine has 16; give less" in err


def test_lags_and_surrogates_that_the_memory_cannot_hold(monkeypatch):
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": 2**18, "SC_PAGE_SIZE": 2**12}.get)
    how = {"estimator": "gaussian", "surrogate": em.Permute()}
    with pytest.raises(em.InputError, match="10,000,000 surrogates at 100 lags needs about 7 GiB"):
        em.significance(em.simulate.var("a>b", n=6000), "a", "b", n_surrogates=10**7, max_lag=100, **how)
    with pytest.raises(em.InputError, match=r"duration=1e\+12 needs about .* GiB"):
        em.simulate.coupled_events("a>b", duration=1e12)


def test_surrogates_that_take_hours_are_refused_with_the_rate_of_this_machine(monkeypatch):
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


@pytest.mark.slow
def test_three_million_samples_of_five_nodes_are_inferred_in_four_gib():
    code = (
        "import resource, numpy as np, enmesh as em; x = np.random.default_rng(0).normal(size=(3_000_000, 5));"
        "x[1:, 1:] += 0.05 * x[:-1, :-1]; net = em.infer(em.Series(x), progress=False);"
        "print(len(net), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    links, peak = map(float, done.stdout.split())
    assert links >= 4
    assert peak < 4


def short_trials(count, seed=0, length=8):
    rng = np.random.default_rng(seed)
    return em.Series([rng.normal(size=(length, 2)) for _ in range(count)], names=["a", "b"])


def test_the_volatility_of_a_sample_follows_from_samples_before_it():
    """Noise in trials of 8 samples was said to depend on itself within one sample: p about 1e-8 in each of 12 runs."""
    from enmesh.links.samples import Samples

    samples = Samples(short_trials(50), 3)
    square = (samples.plain**2).mean(axis=0).reshape(50, 8)[:, :3]  # what is before the first sample that is predicted
    level = square.mean(axis=1)
    for column in square.T:
        level = 0.95 * level + 0.05 * column
    first = samples.volatility[4].reshape(50, 8)[:, 3]
    assert np.corrcoef(first, np.log(level + 1e-3))[0, 1] > 1 - 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_noise_in_short_trials_has_no_dependence_and_is_stationary(seed):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        em.infer(short_trials(1000, seed))
    assert not [one for one in said if "stationary" in str(one.message) or "within one sample" in str(one.message)]


@pytest.mark.parametrize("estimator", ["gaussian", "ksg"])
def test_a_test_by_surrogates_of_short_trials_exchanges_trials(estimator):
    rng, trials = np.random.default_rng(1), []
    for _ in range(60):
        a = rng.normal(size=8)
        trials.append(np.column_stack([a, np.r_[0.0, 0.9 * a[:-1]] + 0.5 * rng.normal(size=8)]))
    series = em.Series(trials, names=["a", "b"])
    network = em.infer(series, estimator=estimator, score="tee", max_lag=1)
    assert list(network) == [("a", "b")]


def test_exchanged_trials_keep_none_in_its_place_and_are_the_same_in_any_batch():
    starts = np.concatenate([[0], np.cumsum([5] * 12 + [7] * 10)])
    x = RNG.normal(size=(starts[-1], 1))
    draw = em.CircularShift().plan(x, x, starts=starts, span=4)
    rows = draw(3, 0, 40)
    np.testing.assert_array_equal(rows[17:23], draw(3, 17, 6))
    trial = np.repeat(np.arange(22), np.diff(starts))
    assert (trial[rows] != trial).all()
    assert (np.diff(starts)[trial[rows]] == np.diff(starts)[trial]).all()
    assert (np.sort(rows, axis=1) == np.arange(starts[-1])).all()
    assert ((rows - starts[trial[rows]]) == np.arange(starts[-1]) - starts[trial]).all()
    for few in (np.arange(0, 46, 5), starts[[0, 1]]):  # nine trials, and one
        with pytest.raises(em.InputError, match=r"too short .* Permute\(\)"):
            em.CircularShift().plan(x[: few[-1]], x[: few[-1]], starts=few, span=4)
    with pytest.raises(em.InputError, match="too short"):
        em.CircularShift(min_shift=4).plan(x, x, starts=starts, span=4)


def test_a_default_embedding_has_room_in_the_record():
    for length in (10, 17, 40, 60):
        series = em.simulate.var("a>b", n=60, seed=1)[:length]
        for found in (
            em.choose_embedding(series),
            *(em.choose_embedding(series, choose.embedding_method(one, series)) for one in (em.KSG(), em.Gaussian())),
        ):
            assert found.per_node(series.names)["dim"]


def test_nodes_that_are_never_measured_together_are_named():
    a, b = SERIES.values[:, 0].copy(), SERIES.values[:, 1].copy()
    a[150:], b[:150] = np.nan, np.nan
    frame = pd.DataFrame({"a": a, "b": b, "c": SERIES.values[:, 2]})
    with pytest.warns(em.HazardWarning, match=r"never together: .*: 5 \(a and b\)\. No link between them"):
        em.infer(em.Series(frame, missing="drop"), max_lag=1)
    a, b = SERIES.values[:, 0].copy(), SERIES.values[:, 1].copy()
    a[::2], b[1::2] = np.nan, np.nan  # each measured one sample after the other
    found = hazards_of_data(em.Series(pd.DataFrame({"a": a, "b": b}), missing="drop"))
    assert not [one for one in found if one.kind == "apart"]


@pytest.mark.parametrize("scale", [1e-140, 1e-100, 1.0, 1e100, 1e140])
def test_values_of_any_size_are_standardised(scale):
    """Values of 1e100 were said to be constant when they are standardised."""
    series = em.Series(scale * SERIES.values, names=SERIES.names).standardise()
    np.testing.assert_allclose(series.values, SERIES.standardise().values, atol=1e-9)


def test_power_by_simulation_shows_life(model, monkeypatch, capsys):
    from enmesh.inference import progress

    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    em.power(model, n=10, samples=(100, 150))
    assert "recordings" in capsys.readouterr().err


def test_more_repeats_than_an_hour_allows_are_refused_with_an_estimate(monkeypatch):
    from enmesh.inference import workers

    monkeypatch.setattr(workers, "MEASURED", 0.2)
    monkeypatch.setattr(workers, "MANY", 40)
    monkeypatch.setattr(workers, "refuse_hours", lambda what, count, rate: real(what, 10_000 * count, rate))
    with pytest.raises(em.InputError, match=r"[\d,]+ networks would take about .* hours on this machine; give at most"):
        em.stability(SERIES, n=100, max_lag=1, progress=False)
    monkeypatch.setattr(workers, "refuse_hours", real)
    assert em.stability(SERIES, n=42, max_lag=1, progress=False).networks == 42
