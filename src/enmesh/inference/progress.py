"""Progress of a run: named phases, how much of each is done, its rate; time left from the measured rate alone."""

import inspect
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from enmesh.errors import InputError

# Share of a phase, and seconds of it, from which on its rate says how long the rest takes.
SHARE, MEASURED = 0.05, 2.0
# Seconds after which a function shows life where nothing is said of progress.
PATIENCE = 2.0
now = time.monotonic


@dataclass
class Phase:
    """Work of one kind: what is done, of how much if that is known, and since when."""

    name: str
    total: int | None
    done: int = 0
    asked: int = 0
    first: tuple[int, float] | None = None  # work and time when the first was done: compiling is no rate

    @property
    def rate(self) -> float | None:
        """Items per second; None as long as it is not measured."""
        since, began = self.first or (0, now())
        seconds = now() - began
        return (self.done - since) / seconds if seconds >= MEASURED else None

    @property
    def left(self) -> float | None:
        """Seconds left of this phase; None where they cannot be known."""
        if self.total is None or not self.rate or self.done < SHARE * self.total:
            return None
        return (self.total - self.done) / self.rate

    @property
    def words(self) -> str:
        """Say how far it is, such as ``40 of 90  12/s  0:00:04 left``; of ``90+`` no more than 90 are known yet."""
        total = f"{max(self.asked, self.done):,}+" if self.total is None else f"{self.total:,}"
        words = [f"{self.done:,} of {total}"] if self.total or self.asked or self.done else []
        words += [f"{self.rate:.3g}/s"] if self.rate else []
        words += [] if self.left is None else [f"{timedelta(seconds=round(self.left))} left"]
        return "  ".join(words)


class Progress:
    """The phases of a run, one after the other, for whoever watches.

    ``given`` is as `infer` takes it; True shows lines where there is no terminal.

    >>> with Progress(lambda done, total, what: print(what, done, total)) as progress:
    ...     with progress.phase("testing links", total=20) as phase:
    ...         phase.advance(15)
    testing links 0 20
    testing links 15 20
    """

    def __init__(self, given: Any = None):
        self._show, self._users = _display(given), 0
        self._phases: list[Phase] = []

    @classmethod
    def of(cls, given: Any) -> "Progress":
        """Return a progress as it is, or one for what a user gave."""
        return given if isinstance(given, Progress) else cls(given)

    def __enter__(self) -> "Progress":
        self._users += 1
        return self

    def __exit__(self, *error: Any) -> None:
        self._users -= 1
        if not self._users:  # an inference that is part of another job leaves the bar to it
            self._show.close()

    @contextmanager
    def phase(self, name: str, total: int | None = None) -> Iterator["Progress"]:
        """Count what is done meanwhile as work of a phase; one within another stands for it as long as it lasts."""
        self._phases.append(Phase(name, total))
        self._show(self._phases[-1], new=True)
        try:
            yield self
        finally:
            self._phases.pop()

    def advance(self, n: int = 1, *, asked: int = 0) -> None:
        """Take note of items of the phase at hand: done, or newly asked for."""
        self._phases = self._phases or [Phase("scoring", None)]
        phase = self._phases[-1]
        phase.done, phase.asked = phase.done + n, phase.asked + asked
        if phase.first is None and n:
            phase.first = phase.done, now()
        self._show(phase)


class _Callback:
    """Tells a callback, which may do nothing."""

    def __init__(self, callback: Any = lambda done, total, what: None):
        self._callback = callback

    def __call__(self, phase: Phase, new: bool = False) -> None:
        self._callback(phase.done, phase.total, what=phase.name)

    def close(self) -> None:
        """Remove what was shown."""


class _Terminal(_Callback):
    """A line that moves by itself, and goes when the run is done."""

    _bar: Any = None

    def __call__(self, phase: Phase, new: bool = False) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TimeElapsedColumn

            columns = "{task.description}", BarColumn(20), TimeElapsedColumn(), "{task.fields[words]}"
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.add_task("", words="")
            self._bar.start()
        (task,) = self._bar.tasks
        task.total = phase.total  # None is a bar that runs without an end
        self._bar.update(task.id, description=phase.name, completed=phase.done, words=phase.words)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


class _Late(_Callback):
    """Shows nothing of what is done within two seconds, and afterwards what another display shows."""

    def __init__(self, show: _Callback):
        self._shown, self._awake = show, False
        self._phase: Phase | None = None
        self._timer: threading.Timer | None = None
        self._lock = threading.RLock()

    def __call__(self, phase: Phase, new: bool = False) -> None:
        with self._lock:
            self._phase = phase
            if self._awake:
                self._shown(phase, new)
            elif self._timer is None:
                self._timer = threading.Timer(PATIENCE, self._wake)
                self._timer.daemon = True
                self._timer.start()

    def _wake(self) -> None:
        with self._lock:
            if self._timer is not None and self._phase is not None:
                self._awake = True
                self._shown(self._phase, new=True)

    def close(self) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._timer, self._awake = None, False
            self._shown.close()


class _Lines(_Callback):
    """Lines on stderr, far apart: the first at once."""

    pause, pause_of_new = 10.0, 1.0

    def __init__(self) -> None:
        self._began, self._last = now(), float("-inf")

    def __call__(self, phase: Phase, new: bool = False) -> None:
        if now() - self._last >= (self.pause_of_new if new else self.pause):
            self._last = now()
            elapsed = timedelta(seconds=round(self._last - self._began))
            self._write(phase, f"{phase.name}  {elapsed}  {phase.words}".rstrip())

    def _write(self, phase: Phase, line: str) -> None:
        print("enmesh:", line, file=sys.stderr, flush=True)


class _Seldom(_Lines):
    """Lines for a program that nobody may be watching."""

    pause, pause_of_new = 30.0, 30.0


class _Notebook(_Lines):
    """A bar in the output of the cell, without widgets; it goes when the run is done."""

    pause, pause_of_new, _output = 0.2, 0.0, None

    def _write(self, phase: Phase | None, line: str) -> None:
        from html import escape

        from IPython.display import HTML, display

        share = f'value="{phase.done / phase.total:.4f}"' if phase and phase.total else ""
        bar = f'<progress {share} max="1" style="width:12em"></progress> {escape(line)}' if phase else ""
        self._output = self._output or display(HTML(""), display_id=True)
        self._output.update(HTML(bar))

    def close(self) -> None:
        if self._output is not None:
            self._write(None, "")


def _display(given: Any) -> _Callback:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if given in (None, True) and getattr(shell, "kernel", None) is not None:  # on a terminal there is none
        return _Notebook()
    if given is True:
        return _Terminal() if sys.stderr.isatty() else _Lines()
    if given is None:
        return _Late(_Terminal() if sys.stderr.isatty() else _Seldom())
    if given is False:
        return _Callback()
    if not callable(given):
        raise InputError(f"progress={given!r} is not possible; give True, False or a function")
    try:
        inspect.signature(given).bind(1, 2, what="")
    except TypeError:
        told = "the function given as progress= does not take what it is called with"
        raise InputError(f"{told}; write def shown(done, total, what)") from None
    except ValueError:  # a function of C, which does not say what it takes
        pass
    return _Callback(given)
