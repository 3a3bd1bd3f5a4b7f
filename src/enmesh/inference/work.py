"""What a worker does: answer questions to a scorer it builds once, in any thread, process or machine.

A question is what a scorer is asked and its arguments; answers are pure, so who answers, in which order and how
often does not matter. Data travel in a `Parcel`, known by a hash; a worker that has not got it says so
instead.
"""

import copy
import hashlib
import os
import pickle
import socket
import threading
import time
import warnings
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, cached_property
from itertools import count, takewhile
from typing import NamedTuple

from enmesh.data.series import Series
from enmesh.errors import HazardWarning
from enmesh.scores.base import Score, Scorer
from enmesh.significance import Significance
from enmesh.tasks import side_by_side

# Data sets a process keeps scorers for.
KEPT = 2


class Question(NamedTuple):
    """What a `Scorer` is asked: ``local`` (a family), ``edge`` (a test) or ``verdict`` (a test up to a level)."""

    kind: str
    args: tuple

    @property
    def shares(self) -> tuple:
        """What is prepared for it: questions with the same target and condition are best put together."""
        if self.kind == "local":
            target, parents = self.args
            return target, (), len(parents), parents
        source, target, given = self.args[:3]
        return target, given, source

    @property
    def full(self) -> "Question":
        """The test that was not stopped early; any other question itself."""
        return Question("edge", self.args[:3]) if self.kind == "verdict" else self

    def is_full(self, test) -> bool:
        """Whether an answer to a ``verdict`` is the full test: those that pass are."""
        return self.kind == "verdict" and test.p_value <= self.args[3]


class Reply(NamedTuple):
    """Answers to the first questions of a chunk, what stopped it early if anything did, and hazards met."""

    answers: list
    seconds: float
    error: Exception | None = None
    hazards: tuple[str, ...] = ()


class Parcel:
    """A series and a score on the way to the workers."""

    def __init__(self, series: Series, score: Score, key: str):
        self.series, self.score, self.key = series, score, key
        self.home = (socket.gethostname(), os.getpid())
        self.stop = threading.Event()

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name not in ("stop", "packed")}

    def __setstate__(self, state):
        vars(self).update(state, stop=threading.Event())

    @cached_property
    def packed(self) -> bytes:
        """The parcel as bytes: unlike an object, it is not placed on one worker and lost with that."""
        return pickle.dumps(self, protocol=5)


def work(
    ticket: int, key: str, questions: Sequence[Question], seconds: float, parcel: Parcel | bytes | None
) -> tuple[int, Reply | None]:
    """Answer as many questions as fit in about ``seconds``, at least one; no reply asks for the parcel."""
    parcel = pickle.loads(parcel) if isinstance(parcel, bytes) else parcel
    at_home = parcel is not None and parcel.home == (socket.gethostname(), os.getpid())
    if not at_home:
        _pools().limit(limits=1)  # for good: a worker has one core
    scorer = shelf.take(key, parcel)
    if scorer is None:
        return ticket, None
    try:
        if at_home:
            return ticket, answer(scorer, questions, seconds, parcel.stop)
        return ticket, _abroad(scorer, questions, seconds)
    finally:
        shelf.put_back(key, scorer)


def answer(
    scorer: Scorer, questions: Sequence[Question], seconds: float, stop: threading.Event | None = None
) -> Reply:
    """Answer until time is up, ``stop`` is set or a question fails."""
    began, answers = time.perf_counter(), {}

    def while_there_is_time():
        for question in questions:
            yield _conversation(scorer, question)
            if time.perf_counter() - began > seconds or (stop is not None and stop.is_set()):
                return

    error = None
    try:
        for position, found in side_by_side(while_there_is_time(), scorer.score.estimator.at_once):
            answers[position] = plain(found)
    except Exception as raised:
        error = raised
    first = list(map(answers.get, takewhile(answers.__contains__, count())))
    return Reply(first, time.perf_counter() - began, error)


def _conversation(scorer, question):
    if question.kind == "local":
        return scorer.local(*question.args)
    return (yield from scorer.inquiry(*question.args))


def plain(answer):
    """Return an answer with 0.0 for -0.0, which a store cannot tell apart."""
    if isinstance(answer, Significance):
        return replace(answer, value=answer.value + 0.0, null_mean=answer.null_mean + 0.0)
    return float(answer) + 0.0


def _abroad(scorer, questions, seconds):
    """Answer in another process than the one that asks; hazards are sent home where they can be."""
    if threading.current_thread() is not threading.main_thread():
        return answer(scorer, questions, seconds)  # recording warnings is not safe beside other threads
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", HazardWarning)
        reply = answer(scorer, questions, seconds)
    hazards = dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, HazardWarning))
    return reply._replace(hazards=tuple(hazards))


@cache
def _pools():
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def single_thread():
    """Keep linear algebra to one thread: workers share cores, and sums split over threads round otherwise."""
    with _pools().limit(limits=1):
        yield


class _Shelf:
    """Scorers of this process that nobody is using, by parcel."""

    def __init__(self):
        self._lock = threading.Lock()
        self._first: OrderedDict[str, Scorer] = OrderedDict()
        self._idle: dict[str, list[Scorer]] = {}

    def take(self, key: str, parcel: Parcel | None) -> Scorer | None:
        """Return a scorer for the caller alone, or None if the parcel is needed to build it."""
        with self._lock:
            if key not in self._first:
                if parcel is None:
                    return None
                self._first[key] = parcel.score.bind(parcel.series)
                self._idle[key] = [self._first[key]]
                if len(self._first) > KEPT:
                    self._idle.pop(self._first.popitem(last=False)[0])
            self._first.move_to_end(key)
            return self._idle[key].pop() if self._idle[key] else _twin(self._first[key])

    def put_back(self, key: str, scorer: Scorer) -> None:
        """Let others have the scorer."""
        with self._lock:
            if key in self._idle:
                self._idle[key].append(scorer)


shelf = _Shelf()


def _twin(scorer: Scorer) -> Scorer:
    """Return a scorer for another thread: the same data, its own prepared indices."""
    twin = copy.copy(scorer)
    twin.ask = copy.copy(scorer.ask)
    twin.ask._prepared = OrderedDict()
    return twin


def fingerprint(*parts: str) -> str:
    """Return a hash of strings."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
