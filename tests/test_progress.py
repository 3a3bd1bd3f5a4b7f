"""Time left of a whole run, on clocks that tests move."""

import warnings
from importlib import import_module

import numpy as np
import pytest

import enmesh as em
from enmesh.embedding import nonuniform
from enmesh.inference import workers
from enmesh.inference.bars import Bar
from enmesh.inference.progress import RunProgress, spoken


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def simulated(phases, *, start=0.0, announced=None, jobs=1, seed=0):
    """Run phases ``(name, tests, seconds each)``; return times, and what was said to be left at each."""
    clock, rng = Clock(), np.random.default_rng(seed)
    run = RunProgress(None, clock=clock)
    for name, tests, cost in announced or phases:
        run.expect(name, tests * cost)
        run.weigh(**{name: cost})
    seen = []
    for position, (name, tests, seconds) in enumerate(phases):
        with run.phase(name):
            for job in np.array_split(np.arange(tests), jobs):
                run(0, len(job), what=name)
                for done in range(1, len(job) + 1):
                    clock.now += seconds * rng.uniform(0.5, 1.5) + (
                        start if position == 0 and done == 1 else 0.0
                    )
                    start = 0.0 if position == 0 else start
                    run(done, len(job), what=name)
                    seen.append((clock.now, run.left))
    return np.array(seen)


def worst_factor(seen):
    """Largest ratio between what was said to be left and what was, from the first tenth to the last."""
    end = seen[-1, 0]
    some = seen[(seen[:, 0] >= 0.1 * end) & (seen[:, 0] <= 0.9 * end)]
    ratio = some[:, 1] / (end - some[:, 0])
    return max(ratio.max(), 1 / ratio.min())


@pytest.mark.parametrize("seed", range(3))
def test_time_left_is_within_a_factor_from_the_first_tenth_on(seed):
    phases = [("screening", 200, 0.02), ("search", 500, 0.1), ("edges", 40, 0.5)]
    assert worst_factor(simulated(phases, seed=seed, jobs=4)) < 1.5


def test_costs_need_only_be_right_beside_one_another():
    phases = [("screening", 200, 0.02), ("search", 500, 0.1), ("edges", 40, 0.5)]
    announced = [(name, tests, 1000 * seconds) for name, tests, seconds in phases]
    assert worst_factor(simulated(phases, announced=announced)) < 1.5


def test_a_slow_start_is_forgotten():
    """Kernels that are compiled first must not make the rest look as slow."""
    assert worst_factor(simulated([("search", 600, 0.1)], start=5.0)) < 1.5


def test_a_phase_under_way_goes_at_its_own_pace():
    """The cost of searching was announced four times too small: it shows once the search is under way."""
    phases = [("screening", 100, 0.1), ("search", 400, 0.1)]
    seen = simulated(phases, announced=[("screening", 100, 0.1), ("search", 400, 0.025)])
    end, middle = seen[-1, 0], seen[len(seen) // 2]
    assert middle[1] == pytest.approx(end - middle[0], rel=0.25)


def test_what_is_larger_or_smaller_than_expected_is_revised():
    told = []
    run = RunProgress(lambda done, total, best=None, what="": told.append((done, total, what)))
    run.expect("screening", 10)
    run.expect("search", 20)
    with run.phase("screening"):
        run(4, 4)
    with run.phase("search"):
        run(30, 30, best=1.0)
    run.close()
    assert told == [(4, 30, "screening"), (34, 34, "search"), (34, 34, "search")]
    assert run.share == 1.0
    assert run.left == 0.0


def test_the_share_and_the_time_left_agree():
    """Whoever reckons from done and total, as bars do, comes to the same time left."""
    now = 0.0
    run = RunProgress(clock=lambda: now)
    run.expect("screening", 10)
    run.expect("search", 30)
    with run.phase("screening"):
        for done in range(1, 11):
            now += 2.0
            run(done, 10)
    assert run.left == pytest.approx(60.0)
    now += 5.0  # between phases
    with run.phase("search"):
        run(0, 30)
        now += 1.0
        run(1, 30)
        assert run.share == pytest.approx(now / (now + run.left))


def test_jobs_in_a_phase_add_up_even_if_alike():
    run = RunProgress()
    run.expect("search", 12)
    with run.phase("search"):
        for _ in range(3):
            run(0, 4)
            run(4, 4)
        assert run.share == 1.0


def test_without_announcements_every_job_is_a_phase():
    told = []
    run = RunProgress(lambda done, total, best=None, what="": told.append((done, total)))
    run(0, 3, what="tests")
    run(3, 3, what="tests")
    assert told == [(0, 3), (3, 3)]


def test_durations_are_spoken():
    assert [spoken(s) for s in (0.4, 59.6, 3599, 3600)] == ["0 s", "1 min 0 s", "59 min 59 s", "1 h 0 min"]


def test_a_long_run_that_nobody_watches_says_so_once(caplog):
    for watcher in (None, lambda *told, **more: None):
        clock = Clock()
        run = RunProgress(watcher, clock=clock)
        run.expect("search", 1000)
        with run.phase("search"):
            for done in range(1, 20):
                clock.now += 1.0
                run(done, 1000)
    assert [record.getMessage() for record in caplog.records] == [
        "about 16 min 30 s left; progress=True shows how far it is"
    ]


def test_a_run_that_fails_leaves_no_bar_behind():
    run = RunProgress(None)
    run._show = bar = Bar()
    closed = []
    bar.close = lambda: closed.append(True)
    with pytest.raises(ValueError, match="halfway"), run:
        raise ValueError("halfway")
    assert closed


# --- whole runs, on a clock that moves with the surrogates ----------------------------------------------------------


@pytest.fixture
def told(monkeypatch):
    """Run an inference on a clock that counts surrogates; return when how much was said to be left, and the phase."""
    clock, seen = Clock(), []
    tell, sampled = RunProgress._tell, nonuniform.sampled

    def noted(self, *words):
        seen.append((clock.now, np.nan if self.left is None else self.left, words[1]))
        tell(self, *words)

    def counted(surrogates, *rest):
        test = yield from sampled(surrogates, *rest)
        clock.now += surrogates.questions * (len(test.null) + 5)
        return test

    def run(series, **options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", em.HazardWarning)
            em.infer(series, **options)
        return np.array([row[:2] for row in seen]), [row[2] for row in seen]

    monkeypatch.setattr(RunProgress, "_tell", noted)
    monkeypatch.setattr(import_module("enmesh.significance"), "sampled", counted)
    monkeypatch.setattr(nonuniform, "sampled", counted)
    monkeypatch.setattr(workers, "CHUNK", 0.0)  # every question is told of
    monkeypatch.setitem(RunProgress.__init__.__kwdefaults__, "clock", clock)
    return run


def share_met(seen):
    """Share of the time from a tenth to 95 % of a run in which what was said last is within a factor of 1.5."""
    end = seen[-1, 0]
    times = np.arange(0.1, 0.951, 0.01) * end
    said = seen[np.searchsorted(seen[:, 0], times, side="right") - 1, 1]
    ratio = said / (end - times)
    return np.mean((ratio < 1.5) & (ratio > 1 / 1.5))


NEIGHBOURS = em.TEE(estimator=em.KSG(), embedding=em.Embedding())


def chain(nodes):
    return {f"n{i}": [f"n{i - 1}"] * (i > 0) for i in range(nodes)}


@pytest.mark.parametrize("simulate", [em.simulate.var, em.simulate.coupled_map])
def test_time_left_of_a_screened_run_is_met(told, simulate):
    """What screening leaves says how many sets will be searched, and how few links will need many surrogates."""
    seen, _ = told(simulate(chain(11), n=150, seed=2), score=NEIGHBOURS)
    assert share_met(seen) > 0.8


@pytest.mark.parametrize("seed", range(3))
def test_time_left_is_met_where_lags_race(told, seed):
    """Races take as long as they find sources, and their sources say how much is left to search and to test."""
    nodes = {f"n{i}": [] for i in range(6)} | {"n1": ["n0"], "n2": ["n1"], "n4": ["n3"]}
    series = em.simulate.coupled_map(nodes, n=200, seed=seed)
    seen, phases = told(series, estimator="ksg", max_lag=2)
    assert share_met(seen) > 0.8
    assert phases.count("finding lags") > 3 * len(nodes)  # a race is told of while it goes on


def test_what_comes_between_jobs_is_not_their_pace():
    """A search that lists its sets for long, and then asks about them, does not make the questions slow."""
    clock = Clock()
    run = RunProgress(None, clock=clock)
    run.expect("search", 100)
    with run.phase("search"):
        for _ in range(2):
            clock.now += 100.0
            run(0, 50)
            for done in (1, 2, 3):
                clock.now += 1.0
                run(done, 50)
    assert run.left == 0.0
    run.expect("search", 100)
    assert run.left == pytest.approx(94.0)


def test_watching_changes_no_result():
    series = em.simulate.coupled_map(chain(3), n=200, seed=0)
    method = em.NonUniform(max_lag=3)
    alone, heard, watched = method.bind(series), [], method.bind(series)
    watched.heard = lambda surrogates, lags: heard.append(surrogates * lags)
    for target in range(3):
        first, second = alone.past(target), watched.past(target)
        assert first[:3] == second[:3]
        for one, other in zip(first.nulls, second.nulls, strict=True):
            assert one[:2] == other[:2]
            np.testing.assert_array_equal(one[2], other[2])
    assert len(heard) >= 9
    assert watched.twin().heard is None
