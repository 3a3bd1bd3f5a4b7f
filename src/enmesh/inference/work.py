"""What a worker does: answer questions to a scorer it builds once, in any thread, process or machine.

A question is what a scorer is asked and its arguments; answers are pure, so who answers, in which order and how
often does not matter. Data travel in a `Payload`, known by a hash; a worker that has not got it says so
instead.
"""

import hashlib
import os
import pickle
import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import count, takewhile
from typing import Any, NamedTuple

from enmesh.data.series import Series
from enmesh.embedding.nonuniform import NonUniform, Past
from enmesh.errors import collected_hazards
from enmesh.scores.base import Link, Score
from enmesh.significance import Significance
from enmesh.tasks import Task, interleave, single_thread

Answer = float | Significance | Past

# Data sets a process keeps scorers for.
KEPT = 2


class Question(NamedTuple):
    """What is asked: the score of a ``family``, a ``test`` of an edge, if wanted up to a level, or a target's ``past``.

    A scorer answers the first two, a selection of lagged variables (`embedding.nonuniform`) the last. A store keeps
    answers to questions of any kind, such as the ``result`` of a job by its number.
    """

    kind: str
    args: tuple[Any, ...]
    level: float | None = None
    surrogates: int | None = None

    @classmethod
    def family(cls, target: int, parents: tuple[int, ...]) -> "Question":
        """Ask for the score of a family that is not made of tests."""
        return cls("family", (target, parents))

    @classmethod
    def test(cls, link: Link, level: float | None = None, surrogates: int | None = None) -> "Question":
        """Ask for the test of an edge; with a level it may stop once its verdict is certain."""
        return cls("test", link, level, surrogates)

    @classmethod
    def past(cls, target: int) -> "Question":
        """Ask for the lagged variables of a target."""
        return cls("past", (target,))

    @classmethod
    def result(cls, *args: Any) -> "Question":
        """Ask for what a job of many gave, plain data."""
        return cls("result", args)

    @property
    def shares(self) -> tuple[Any, ...]:
        """What is prepared for it: questions with the same target and condition are best put together."""
        if self.kind == "past":
            return self.args
        if self.kind == "family":
            target, parents = self.args
            return target, (), len(parents), parents
        source, target, given = self.args
        return target, given, source

    @property
    def full(self) -> "Question":
        """The test that does not stop early; any other question itself."""
        return self._replace(level=None)

    def is_full(self, found: Any) -> bool:
        """Whether the answer to a test with a level is the full test: those that pass are."""
        return self.level is not None and found.p_value <= self.level


class Reply(NamedTuple):
    """Answers to the first questions of a chunk, what stopped it early if anything did, and hazards met."""

    answers: list[Answer]
    seconds: float
    error: Exception | None = None
    hazards: tuple[str, ...] = ()


class Payload:
    """A series and a score on the way to the workers."""

    def __init__(self, series: Series, score: Score | NonUniform, key: str):
        self.series, self.score, self.key = series, score, key
        self.home = (socket.gethostname(), os.getpid())
        self.stop = threading.Event()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("stop", "packed")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, stop=threading.Event())

    @cached_property
    def packed(self) -> bytes:
        """The payload as bytes: unlike an object, it is not placed on one worker and lost with that."""
        return pickle.dumps(self, protocol=5)


def work(
    ticket: int, key: str, questions: Sequence[Question], seconds: float, payload: Payload | bytes | None
) -> tuple[int, Reply | None]:
    """Answer as many questions as fit in about ``seconds``, at least one; no reply asks for the payload."""
    payload = pickle.loads(payload) if isinstance(payload, bytes) else payload
    at_home = payload is not None and payload.home == (socket.gethostname(), os.getpid())
    if not at_home:
        single_thread()  # for good: a worker has one core
    scorer = scorer_pool.take(key, payload)
    if scorer is None:
        return ticket, None
    try:
        with collected_hazards(show=False) as met:  # they are sent home, and told there
            stop = payload.stop if payload is not None and at_home else None
            reply = answer(scorer, questions, seconds, stop)
        return ticket, reply._replace(hazards=tuple(met))
    finally:
        scorer_pool.put_back(key, scorer)


def answer(
    scorer: Any, questions: Sequence[Question], seconds: float, stop: threading.Event | None = None
) -> Reply:
    """Answer until time is up, ``stop`` is set or a question fails."""
    began = time.perf_counter()
    answers: dict[int, Any] = {}

    def while_there_is_time() -> Iterator[Task[Answer]]:
        for question in questions:
            yield _task(scorer, question)
            if time.perf_counter() - began > seconds or (stop is not None and stop.is_set()):
                return

    error: Exception | None = None
    try:
        for position, found in interleave(while_there_is_time(), scorer.score.estimator.at_once):
            answers[position] = plain(found)
    except Exception as raised:
        error = raised
    first = list(map(answers.__getitem__, takewhile(answers.__contains__, count())))
    return Reply(first, time.perf_counter() - began, error)


def _task(scorer: Any, question: Question) -> Task[Answer]:
    if question.kind == "past":
        return (yield from scorer.find(*question.args))
    if question.kind == "family":
        return scorer.combine(*question.args, {})
    return (yield from scorer.test(Link(*question.args), question.level, question.surrogates))


def plain(answer: Any) -> Any:
    """Return an answer with 0.0 for -0.0, which a store cannot tell apart."""
    if isinstance(answer, Significance):
        return replace(answer, value=answer.value + 0.0, null_mean=answer.null_mean + 0.0)
    return answer if isinstance(answer, Past) else float(answer) + 0.0


class _ScorerPool:
    """Scorers of this process that nobody is using, by payload."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._first: OrderedDict[str, Any] = OrderedDict()
        self._idle: dict[str, list[Any]] = {}

    def take(self, key: str, payload: Payload | None) -> Any:
        """Return a scorer for the caller alone, or None if the payload is needed to build it."""
        with self._lock:
            if key not in self._first:
                if payload is None:
                    return None
                self._first[key] = payload.score.bind(payload.series)
                self._idle[key] = [self._first[key]]
                if len(self._first) > KEPT:
                    self._idle.pop(self._first.popitem(last=False)[0])
            self._first.move_to_end(key)
            return self._idle[key].pop() if self._idle[key] else self._first[key].twin()

    def put_back(self, key: str, scorer: Any) -> None:
        """Let others have the scorer."""
        with self._lock:
            if key in self._idle:
                self._idle[key].append(scorer)


scorer_pool = _ScorerPool()


def fingerprint(*parts: str) -> str:
    """Return a hash of strings."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
