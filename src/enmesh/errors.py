"""The one error a user meets for bad input, and the one warning for a statistical hazard."""

import contextlib
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

# Frames of these files do not lead to a hazard: the line outside them does.
PACKAGE = str(Path(__file__).parent), contextlib.__file__
LONGEST = 1000  # letters of a message
NUMBER = re.compile(r"(?<!\w)\d[\d.,]*")


class InputError(ValueError):
    """Input that cannot be used as given. The message says what was given, what is needed and what to do.

    Examples
    --------
    >>> import enmesh as em
    >>> try:
    ...     em.KSG(k=0)
    ... except em.InputError as refused:
    ...     print(refused)
    k=0 is not possible; give a whole number of at least 1
    """

    def __init__(self, message: str):
        """Say it in one line, whatever was given: of a long one the begin and the end, which says what to do."""
        line = " ".join(map(str.strip, str(message).splitlines()))
        super().__init__(line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} ... {line[-LONGEST // 2 :]}")


def refuse_if(wrong: object, message: str) -> None:
    """Refuse input that is wrong; the message is made in any case, so that it must not need what is wrong."""
    if wrong:
        raise InputError(message)


class HazardWarning(UserWarning):
    """A result may mislead. The message carries the number that says so.

    Examples
    --------
    >>> import warnings
    >>> import enmesh as em
    >>> with warnings.catch_warnings(record=True) as met:
    ...     warnings.simplefilter("always")
    ...     matrix = em.te_matrix(em.simulate.var("a>b", n=100), estimator=em.Gaussian(), n_surrogates=9)
    >>> print(met[0].message)
    9 surrogates: the smallest q-value that is possible is 0.2, for a single link among 2; 39 are needed for 0.05
    """


@dataclass
class _Collector:
    show: bool
    outer: "_Collector | None"
    messages: list[str] = field(default_factory=list)

    def shows(self, message: str) -> bool:
        """Take note of a message, here and in what this is part of; say whether it is to be shown: once at most.

        Messages that differ in numbers alone are one hazard, of several links; the first is kept.
        """
        alike = {re.sub(NUMBER, "", one) for one in self.messages}
        new = re.sub(NUMBER, "", message) not in alike
        if new:
            self.messages.append(message)
        outside = self.outer is None or self.outer.shows(message)
        return new and self.show and outside


_collector: ContextVar[_Collector | None] = ContextVar("hazards", default=None)


@contextmanager
def collected_hazards(show: bool = True) -> Iterator[list[str]]:
    """Collect the messages of hazards met in this thread; each is shown once, when it is met, or not at all.

    >>> with collected_hazards(show=False) as met:
    ...     hazard("few samples")
    ...     hazard("few samples")
    >>> met
    ['few samples']
    """
    collector = _Collector(show, _collector.get())
    token = _collector.set(collector)
    try:
        yield collector.messages
    finally:
        _collector.reset(token)


_columns: ContextVar[dict[str, list[str]] | None] = ContextVar("columns", default=None)


@contextmanager
def aggregated_warnings() -> Iterator[None]:
    """Say a hazard that several columns have once, naming all of them, when the last column is done.

    >>> with collected_hazards(show=False) as met, aggregated_warnings():
    ...     hazard("of the values repeat", "a: 40%")
    ...     hazard("of the values repeat", "b: 35%")
    >>> met
    ['a: 40%, b: 35% of the values repeat']
    """
    if _columns.get() is not None:  # part of one who says it
        yield
        return
    found: dict[str, list[str]] = {}
    token = _columns.set(found)
    try:
        yield
    finally:
        _columns.reset(token)
    for message, items in found.items():
        hazard(f"{first_few(items)} {message}")


def hazard(message: str, column: str = "") -> None:
    """Warn of a statistical hazard; the warning points at the line outside this package that led to it.

    ``column`` begins the sentence with a column and its number, such as ``"a: 40%"`` (`aggregated_warnings`).
    """
    if column and (columns := _columns.get()) is not None:
        columns.setdefault(message, []).append(column)
        return
    message = f"{column} {message}".lstrip()
    collector, frame = _collector.get(), sys._getframe(1)
    if collector is not None and not collector.shows(message):
        return
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    # Within a run it is shown even if the same line has led to it before.
    seen = {} if collector is not None else frame.f_globals.setdefault("__warningregistry__", {})
    place = frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__")
    warnings.warn_explicit(message, HazardWarning, *place, registry=seen)


def refuse_memory(what: str, needed: float) -> None:
    """Refuse what needs more bytes than this machine has.

    >>> refuse_memory("n=10", 80)
    """
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # a system that does not say
        return
    if needed > there:
        sizes = f"about {needed / 2**30:,.0f} GiB, and this machine has {there / 2**30:,.0f}"
        raise InputError(f"{what} needs {sizes}; give less, or take a larger machine")


def refuse_hours(what: str, count: int, rate: float) -> None:
    """Refuse work of which so many a second are done and which would take more than an hour.

    >>> refuse_hours("surrogates", 1000, 10.0)
    """
    if count > 3600 * rate:
        told = f"{count:,} {what} would take about {count / rate / 3600:,.1f} hours on this machine"
        raise InputError(f"{told}; give at most {float(f'{3600 * rate:.2g}'):,.0f}, which take an hour")


def first_few(words: Sequence[str], most: int = 5) -> str:
    """Return the first few of a list in words.

    >>> first_few("abcdefg")
    'a, b, c, d, e and 2 more'
    """
    return ", ".join(words[:most]) + (f" and {len(words) - most} more" if len(words) > most else "")


def was_stopped(error: BaseException | None) -> bool:
    """Say whether the user stopped what ended in this error; compiled code turns a stop into an error of its own."""
    if isinstance(error, (SystemError, ImportError)):
        return was_stopped(error.__cause__ or error.__context__)
    return isinstance(error, KeyboardInterrupt)
