"""Progress of a long job: a bar on a terminal, a log line now and then elsewhere.

Any callable ``progress(done, total, best=None, what="families")`` will do; ``best`` is the best total score
so far with cycles allowed.
"""

import logging
import sys
import time
from collections.abc import Callable

Progress = Callable[..., None]

# A job shorter than this needs no bar, and log lines are this far apart.
SILENT = 2.0
LOG_EVERY = 30.0

log = logging.getLogger("enmesh")


def reporter(progress) -> Progress:
    """Return the callback for what a user gave: None or False, True, or a callable."""
    if progress is True:
        return Bar() if sys.stderr.isatty() else Lines()
    return progress if callable(progress) else _silent


def _silent(done, total, best=None, what="families"):
    pass


class Lines:
    """Log lines: done of total, rate, time left, best score."""

    def __init__(self, every: float = LOG_EVERY):
        self._every, self._what, self._began, self._said = every, None, 0.0, 0.0

    def __call__(self, done: int, total: int, best: float | None = None, what: str = "families") -> None:
        """Take note of progress."""
        now = time.monotonic()
        if (what, total) != self._what:
            self._what, self._began, self._said = (what, total), now, now
        if now - self._said >= self._every and done:
            rate = done / (now - self._began)
            score = "" if best is None else f", best score {best:.6g}"
            left = (total - done) / rate
            log.info("%d of %d %s, %.3g per second, %.0f s left%s", done, total, what, rate, left, score)
            self._said = now


class Bar:
    """A bar on the terminal, once a job has lasted two seconds; it goes when the job is done."""

    def __init__(self):
        self._job, self._began, self._bar, self._task = None, 0.0, None, None

    def __call__(self, done: int, total: int, best: float | None = None, what: str = "families") -> None:
        """Take note of progress."""
        if (what, total) != self._job:
            self.close()
            self._job, self._began = (what, total), time.monotonic()
        if self._bar is None and done < total and time.monotonic() - self._began > SILENT:
            self._open(what, total)
        if self._bar is not None:
            rate = done / max(1e-9, time.monotonic() - self._began)
            score = "" if best is None else f"best score {best:.6g}"
            self._bar.update(self._task, completed=done, rate=f"{rate:.3g}/s", best=score)
            if done >= total:
                self.close()

    def _open(self, what, total):
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[best]}"),
        )
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._bar.start()
        self._task = self._bar.add_task(what, total=total, rate="", best="")

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()
        self._job, self._bar = None, None
