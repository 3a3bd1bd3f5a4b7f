"""Time left of a whole run, on clocks that tests move."""

import numpy as np
import pytest

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
