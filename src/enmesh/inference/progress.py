"""Progress of a long job: a bar on a terminal, a log line now and then elsewhere.

Any callable ``progress(done, total, best=None, what="families")`` will do; ``best`` is the best total score
so far with cycles allowed. A run of several phases is one job to whoever watches: see `RunProgress`.
"""

import logging
import sys
import time
from bisect import bisect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from enmesh.inference.bars import Bar, Lines, spoken
from enmesh.inference.notebook import NotebookBar, in_notebook

Progress = Callable[..., None]
Clock = Callable[[], float]

# Where nobody watches, a run with more than this many seconds left says so once, after so many seconds.
LONG, SURE = 60.0, 5.0
# Share of the work from which on the time left is said.
LEAST = 0.01

log = logging.getLogger("enmesh")


def reporter(progress: Any) -> Progress:
    """Return the callback for what a user gave: None (shown in a notebook), True or False, or a callable."""
    if (progress is None or progress is True) and in_notebook():
        return NotebookBar()
    if progress is True:
        return Bar() if sys.stderr.isatty() else Lines()
    return progress if callable(progress) else _silent


def _silent(done: int, total: int, best: float | None = None, what: str = "families") -> None:
    pass


@dataclass
class _Phase:
    """Work of one kind: how much is expected, and when how much was done."""

    name: str
    expected: float
    done: float = 0.0
    waiting: float = 0.0  # of the job under way
    seconds: float = 0.0
    ended: bool = False
    marks: list[tuple[float, float]] = field(default_factory=lambda: [(0.0, 0.0)])  # (done, seconds)

    def move(self, work: float, seconds: float) -> None:
        self.done, self.seconds = self.done + work, self.seconds + seconds
        if self.done > self.marks[-1][0]:
            self.marks.append((self.done, self.seconds))

    @property
    def total(self) -> float:
        return self.done if self.ended else max(self.expected, self.done + self.waiting)

    def recent(self) -> tuple[float, float] | None:
        """Return work and seconds of the later half of what was done: the start may have been slow."""
        since = self.marks[bisect(self.marks, (self.done / 2, float("inf"))) - 1]
        done, seconds = self.done - since[0], self.seconds - since[1]
        return (done, seconds) if done > 0 and seconds > 0 else None


class RunProgress:
    """One bar, and one time left, for a run of several phases.

    Phases are announced with `expect`: how much work, in any unit. Work is reported by calling the object as any
    progress callback, within ``with run.phase(name)``; what one item of a kind costs is said with `weigh`. What proves
    larger or smaller than expected is revised: by `expect` again, by a job that is larger, and when a phase ends.

    Parameters
    ----------
    progress
        What the user gave: None or False, True, or a callable, which is called with the items done, those expected in
        the whole run, and the phase's name as ``what``.
    clock
        Seconds, for tests.

    Examples
    --------
    >>> run = RunProgress(lambda done, total, best=None, what="": print(f"{done} of {total}: {what}"))
    >>> run.weigh(tests=2.0)
    >>> run.expect("screening", 20)
    >>> run.expect("search", 60)
    >>> with run.phase("screening"):
    ...     run(5, 10, what="tests")
    ...     run(10, 10, what="tests")
    5 of 40: screening
    10 of 40: screening
    >>> with run.phase("search"):
    ...     run(20, 20, what="tests")
    30 of 40: search
    >>> run.close()
    30 of 30: search
    """

    def __init__(self, progress: Any = None, *, clock: Clock = time.monotonic):
        self._show, self._clock = reporter(progress), clock
        self._watched = isinstance(self._show, (Bar, Lines))
        self._phases: dict[str, _Phase] = {}
        self._costs: dict[str, float] = {}
        self._now: _Phase | None = None
        self._items, self._job = 0, (0, 0)
        self._told: tuple[Any, ...] = ()
        self._at = self._began = clock()
        self._warned = self._watched or callable(progress)

    def __enter__(self) -> "RunProgress":
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: Any) -> None:
        if kind is None:
            self.close()
        elif isinstance(self._show, Bar):
            self._show.close()  # a run that stopped leaves no bar behind

    def expect(self, name: str, work: float) -> None:
        """Announce a phase, or correct what was said of it."""
        phase = self._phases.setdefault(name, _Phase(name, work))
        phase.expected, phase.ended = work, False

    def weigh(self, **costs: float) -> None:
        """Say what one item of a kind costs, such as ``weigh(tests=199)``; 1 where nothing is said."""
        self._costs |= costs

    @property
    def now(self) -> str | None:
        """Name of the phase under way."""
        return None if self._now is None else self._now.name

    def done(self, name: str) -> float:
        """Return the work of a phase that is done."""
        return self._phases[name].done if name in self._phases else 0.0

    def spend(self, work: float) -> None:
        """Take note of work of the phase under way that items do not count."""
        self._tick(work)

    def tell(self) -> None:
        """Say again how far the run is, with work that was spent meanwhile."""
        self._tell(*(self._told or (None, self.now or "")))

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count what is reported meanwhile as work of a phase; afterwards nothing more is expected of it."""
        self._begin(name)
        try:
            yield
        finally:
            self._tick(0.0)
            self._phases[name].ended = True
            self._now = None

    def __call__(self, done: int, total: int, best: float | None = None, what: str = "tests") -> None:
        """Take note of ``done`` of ``total`` items of a job; a job ends where another one starts."""
        phase = self._now or self._begin(what)
        if total != self._job[1] or done < self._job[0]:
            self._job, self._at = (0, total), self._clock()  # what comes between jobs is not their pace
        cost, new = self._costs.get(what, 1.0), done - self._job[0]
        self._job, self._items = (done, total), self._items + new
        phase.waiting = cost * (total - done)
        self._tick(cost * new)
        self._tell(best, phase.name)

    @property
    def share(self) -> float:
        """Share of the run that is over, 0 to 1: of its time; as long as that cannot be told, of its work."""
        left, elapsed = self.left, self._at - self._began
        return self._worked if left is None or elapsed < 1 else elapsed / (elapsed + left)

    @property
    def _worked(self) -> float:
        work = sum(p.total for p in self._phases.values())
        return sum(p.done for p in self._phases.values()) / work if work else 0.0

    @property
    def left(self) -> float | None:
        """Seconds left; None before a hundredth of the work is done.

        A phase under way goes on at its own pace, as far as that is known; others go at the pace of the run.
        """
        known = [recent for p in self._phases.values() if (recent := p.recent())]
        if not known or self._worked < LEAST:
            return None
        overall = sum(seconds for _, seconds in known) / sum(work for work, _ in known)
        left = 0.0
        for p in self._phases.values():
            pace, own = overall, p.recent()
            if p is self._now and own is not None:
                trust = p.done / (p.done + 0.2 * p.total)
                pace = trust * own[1] / own[0] + (1 - trust) * overall
            left += pace * (p.total - p.done)
        return left

    def close(self) -> None:
        """End the run: nothing more is expected, and the bar goes."""
        for p in self._phases.values():
            p.ended = True
        if self._told:
            self._tell(*self._told)
        if isinstance(self._show, Bar):
            self._show.close()

    def _begin(self, name: str) -> _Phase:
        self._now = self._phases.setdefault(name, _Phase(name, 0.0))
        self._now.ended = False
        self._job, self._at = (0, 0), self._clock()
        return self._now

    def _tick(self, work: float) -> None:
        now, phase = self._clock(), self._now
        if phase is not None:
            phase.move(work, now - self._at)
        self._at = now

    def _tell(self, best: float | None, what: str) -> None:
        self._told = best, what
        share = self.share
        if not self._warned and self._at - self._began > SURE and (self.left or 0.0) > LONG:
            self._warned = True
            log.warning("about %s left; progress=True shows how far it is", spoken(self.left or 0.0))
        total = max(self._items, round(self._items / share)) if share else max(1, self._job[1])
        if self._watched:
            self._show(self._items, total, best=best, what=what, share=share, left=self.left)
        else:
            self._show(self._items, total, best=best, what=what)
