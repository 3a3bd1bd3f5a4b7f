"""Progress: phases, counts, a rate, and a time left only where it was measured."""

import io
import sys
import time

import pytest

import enmesh as em
from enmesh.inference import progress as module
from enmesh.inference.progress import MEASURED, Progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until ``clock(seconds)`` moves it."""
    at = [0.0]
    monkeypatch.setattr(module, "now", lambda: at[0])

    def move(seconds):
        at[0] += seconds

    return move


def test_time_left_is_that_of_the_measured_rate(clock):
    with Progress() as run, run.phase("testing links", total=100):
        (phase,) = run._phases
        clock(30)  # compiling
        run.advance(5)
        assert phase.left is None  # nothing is measured yet
        clock(MEASURED / 2)
        run.advance(5)
        assert phase.left is None
        clock(10 - MEASURED / 2)
        run.advance(15)
        assert phase.rate == 2.0
        assert phase.left == 37.5
        assert phase.words == "25 of 100  2/s  0:00:38 left"


def test_no_time_left_without_a_total_or_at_the_very_start(clock):
    with Progress() as run:
        for total, done in ((None, 500), (100_000, 500)):
            with run.phase("searching", total):
                run.advance(1, asked=900)
                clock(10)
                run.advance(done)
                assert run._phases[-1].rate == done / 10
                assert run._phases[-1].left is None
    assert "left" not in run_words(clock)


def run_words(clock):
    with Progress() as run, run.phase("searching"):
        run.advance(1, asked=900)
        clock(5)
        run.advance(10)
        return run._phases[-1].words


def test_what_is_known_so_far_is_no_total(clock):
    assert run_words(clock) == "11 of 900+  2/s"


def test_a_phase_within_another_stands_for_it():
    told = []
    with Progress(lambda done, total, what: told.append((what, done))) as run, run.phase("outer") as outer:
        with run.phase("inner"):
            outer.advance(3)
        outer.advance(2)
    assert told == [("outer", 0), ("inner", 0), ("inner", 3), ("outer", 2)]


def test_lines_are_sparse_and_the_first_comes_at_once(clock, capsys):
    def lines():
        return capsys.readouterr().err.splitlines()

    with Progress(True) as run:
        with run.phase("reading the evidence"):
            assert lines() == ["enmesh: reading the evidence  0:00:00"]
        for _ in range(100):
            with run.phase("searching"):
                clock(0.25)
                run.advance(1)
        assert len(lines()) < 30
        with run.phase("testing links", total=1000):
            for _ in range(1000):
                clock(0.1)
                run.advance(1)
    told = lines()
    assert 9 <= len(told) <= 11
    assert told[-1].endswith("left")


def test_a_terminal_shows_the_phase_at_once_and_keeps_nothing(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    run = Progress(True)

    def halfway():
        with run, run.phase("testing links", total=8):
            run.advance(2)
            run._show._bar.refresh()
            assert "testing links" in terminal.getvalue()
            assert "2 of 8" in terminal.getvalue()
            assert run._show._bar.tasks[0].percentage == 25
            raise ValueError("halfway")

    with pytest.raises(ValueError, match="halfway"):
        halfway()
    assert run._show._bar is None
    assert terminal.getvalue().endswith("\x1b[2K")  # the line is erased, though the run failed


def test_an_inference_within_another_job_leaves_the_bar_to_it():
    closed = []
    run = Progress(False)
    run._show.close = lambda: closed.append(True)
    with run:
        with Progress.of(run) as inner:
            assert inner is run
        assert not closed
    assert closed


def test_what_is_no_progress_is_refused():
    with pytest.raises(em.InputError, match="progress='yes' is not possible; give True, False or a function"):
        em.infer(em.simulate.var("a>b", n=200), progress="yes")


def test_watching_shows_life_within_a_second_and_changes_no_result():
    series = em.simulate.var("a>b, b>c", n=300, seed=1)
    told, score, began = [], em.TEA(embedding=em.Embedding()), time.monotonic()
    watched = em.infer(series, score=score, progress=lambda done, total, what: told.append((what, time.monotonic())))
    assert watched.to_json() == em.infer(series, score=score).to_json()
    assert told[0][0] == "looking at the data"
    assert told[0][1] - began < 1
