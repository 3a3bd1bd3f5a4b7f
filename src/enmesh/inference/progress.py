"""Progress of a long job: a bar on a terminal, a log line now and then elsewhere.

Any callable ``progress(done, total, best=None, what="families")`` will do; ``best`` is the best total score
so far with cycles allowed. A run of several phases is one job to whoever watches: see `RunProgress`.
"""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

Progress = Callable[..., None]
Clock = Callable[[], float]

# A job shorter than this needs no bar, and log lines are this far apart.
SILENT = 2.0
LOG_EVERY = 30.0

log = logging.getLogger("enmesh")


def reporter(progress: Any) -> Progress:
    """Return the callback for what a user gave: None (shown in a notebook), True or False, or a callable."""
    from enmesh.inference.notebook import NotebookBar, in_notebook

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
        since = max((mark for mark in self.marks if mark[0] <= self.done / 2), default=(0.0, 0.0))
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
        self._at = clock()

    def expect(self, name: str, work: float) -> None:
        """Announce a phase, or correct what was said of it."""
        phase = self._phases.setdefault(name, _Phase(name, work))
        phase.expected, phase.ended = work, False

    def weigh(self, **costs: float) -> None:
        """Say what one item of a kind costs, such as ``weigh(tests=199)``; 1 where nothing is said."""
        self._costs |= costs

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
            self._job = 0, total
        cost, new = self._costs.get(what, 1.0), done - self._job[0]
        self._job, self._items = (done, total), self._items + new
        phase.waiting = cost * (total - done)
        self._tick(cost * new)
        self._tell(best, phase.name)

    @property
    def share(self) -> float:
        """Share of the work that is done, 0 to 1."""
        work = sum(p.total for p in self._phases.values())
        return sum(p.done for p in self._phases.values()) / work if work else 0.0

    @property
    def left(self) -> float | None:
        """Seconds left; None before anything is done.

        A phase under way goes on at its own pace, as far as that is known; others go at the pace of the run.
        """
        known = [recent for p in self._phases.values() if (recent := p.recent())]
        if not known:
            return None
        overall = sum(seconds for _, seconds in known) / sum(work for work, _ in known)
        left = 0.0
        for p in self._phases.values():
            pace, own = overall, p.recent()
            if p is self._now and own is not None:
                trust = p.done / (p.done + 0.05 * p.total)
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
        total = max(self._items, round(self._items / share)) if share else max(1, self._job[1])
        if self._watched:
            self._show(self._items, total, best=best, what=what, share=share, left=self.left)
        else:
            self._show(self._items, total, best=best, what=what)


class Lines:
    """Log lines: done of total, rate, time left, best score."""

    def __init__(self, every: float = LOG_EVERY):
        self._every = every
        self._what: tuple[Any, ...] | None = None
        self._began = self._said = 0.0

    def __call__(
        self,
        done: int,
        total: int,
        best: float | None = None,
        what: str = "families",
        share: float | None = None,
        left: float | None = None,
    ) -> None:
        """Take note of progress; ``share`` and ``left`` are those of a whole run."""
        now = time.monotonic()
        job = ("run",) if share is not None else (what, total)
        if job != self._what:
            self._what, self._began, self._said = job, now, now
        if now - self._said >= self._every and done:
            rate = done / max(1e-9, now - self._began)
            score = "" if best is None else f", best score {best:.6g}"
            left = (total - done) / rate if left is None else left
            log.info("%d of %d %s, %.3g per second, %s left%s", done, total, what, rate, spoken(left), score)
            self._said = now


class Bar:
    """A bar on the terminal, once a job has lasted two seconds; it goes when the job is done."""

    def __init__(self) -> None:
        self._job: tuple[Any, ...] | None = None
        self._began = 0.0
        self._bar: Any = None
        self._task: Any = None

    def __call__(
        self,
        done: int,
        total: int,
        best: float | None = None,
        what: str = "families",
        share: float | None = None,
        left: float | None = None,
    ) -> None:
        """Take note of progress; ``share`` and ``left`` are those of a whole run."""
        job = ("run",) if share is not None else (what, total)
        if job != self._job:
            self.close()
            self._job, self._began = job, time.monotonic()
        elapsed = time.monotonic() - self._began
        if self._bar is None and done < total and elapsed > SILENT:
            self._open(what)
        if self._bar is not None:
            if share is None:
                share = done / max(1, total)
                left = elapsed * (1 - share) / share if done else None
            words = [f"{done} of {total}", "" if left is None else f"{spoken(left)} left"]
            words += [] if best is None else [f"best score {best:.6g}"]
            said = "  ".join(word for word in words if word)
            self._bar.update(self._task, description=what, completed=share, said=said)
            if done >= total:
                self.close()

    def _open(self, what: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[said]}"),
        )
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._bar.start()
        self._task = self._bar.add_task(what, total=1.0, said="")

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()
        self._job, self._bar = None, None


def spoken(seconds: float) -> str:
    """Return a duration as a person says it.

    >>> spoken(7.4), spoken(200), spoken(9000)
    ('7 s', '3 min 20 s', '2 h 30 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
