"""How progress is shown: a bar on a terminal, a log line now and then elsewhere."""

import logging
import time
from typing import Any

# A job shorter than this needs no bar, and log lines are this far apart.
SILENT = 2.0
LOG_EVERY = 30.0

log = logging.getLogger("enmesh")


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
