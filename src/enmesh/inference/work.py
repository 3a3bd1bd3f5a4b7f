"""What a worker does: answer questions to a scorer it builds once, in any thread, process or machine.

Answers are pure, so who answers, in which order and how often does not matter. Data travel in a `Payload`, known by a
hash; a worker that has not got it says so instead.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, takewhile
from typing import Any, NamedTuple

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding.blocks import conditioned_before
from enmesh.embedding.nonuniform import NonUniform, Past
from enmesh.errors import collected_hazards
from enmesh.links.selection import Drivers
from enmesh.scores.base import Link, Score
from enmesh.significance import Significance
from enmesh.tasks import Task, interleave, single_thread

Answer = float | Significance | tuple[Past, ...] | tuple[Drivers, ...]

KEPT = 2  # data sets a process keeps scorers for


class Question(NamedTuple):
    """What is asked: the score of a ``family``, a ``test`` of an edge, the ``drivers`` or the ``past`` of targets.

    A scorer answers the first two, tests if wanted up to a level; the test of a link (`scores.links`) the third; a
    selection of lagged variables (`embedding.nonuniform`) the last. A store also keeps the ``result`` of a job.
    """

    kind: str
    args: tuple[Any, ...]
    level: float | None = None
    surrogates: int | None = None

    @classmethod
    def test(cls, link: Link, level: float | None = None, surrogates: int | None = None) -> "Question":
        """Ask for the test of an edge; with a level it may stop once its verdict is certain."""
        source, target, given = link
        return cls("test", Link(source, target, tuple(sorted(given))), level, surrogates)

    @property
    def order(self) -> tuple[Any, ...]:
        """What to sort by, so that questions with the same target and condition, prepared once, come together."""
        return (*self.args[1:], self.args[0]) if self.kind == "test" else self.args

    @property
    def full(self) -> "Question":
        """The test that does not stop early; any other question itself."""
        return self._replace(level=None)

    def is_full(self, found: Any) -> bool:
        """Whether the answer to a test with a level is the full test: those that pass are."""
        return self.level is not None and found.p_value <= self.level


class Payload(NamedTuple):
    """A series and a score on the way to the workers, the hash they are known by, and values conditioned before."""

    series: Series
    score: Score | NonUniform
    key: str
    conditioned: Mapping[Any, np.ndarray] = {}


class Reply(NamedTuple):
    """Answers to the first questions of a chunk, the error that stopped it if one did, and hazards met."""

    questions: Sequence[Question]
    answers: list[Answer]
    seconds: float = 0.0
    error: Exception | None = None
    hazards: tuple[str, ...] = ()
    needs_data: bool = False


def work(key: str, questions: Sequence[Question], seconds: float, payload: Payload | None) -> Reply:
    """Answer as many questions as fit in about ``seconds``, at least one, unless the data are needed first."""
    scorer = scorer_pool.take(key, payload)
    if scorer is None:
        return Reply(questions, [], needs_data=True)
    try:
        with collected_hazards(show=False) as met:  # they are sent home, and told there
            return answer(scorer, questions, seconds)._replace(hazards=tuple(met))
    finally:
        scorer_pool.put_back(key, scorer)


def answer(scorer: Any, questions: Sequence[Question], seconds: float) -> Reply:
    """Answer until time is up or a question fails."""
    began, answers = time.perf_counter(), dict[int, Any]()

    def while_there_is_time() -> Iterator[Task[Answer]]:
        for question in questions:
            yield _task(scorer, question)
            if time.perf_counter() - began > seconds:
                return

    error: Exception | None = None
    try:
        for position, found in interleave(while_there_is_time(), scorer.score.estimator.at_once):
            answers[position] = plain(found)
    except Exception as raised:
        error = raised
    first = list(map(answers.__getitem__, takewhile(answers.__contains__, count())))
    return Reply(questions, first, time.perf_counter() - began, error)


def _task(scorer: Any, question: Question) -> Task[Answer]:
    if question.kind == "past":
        return (yield from scorer.find(*question.args))
    if question.kind == "family":
        return scorer.combine(*question.args, {})
    if question.kind == "drivers":
        return (yield from scorer.drivers(*question.args))
    return (yield from scorer.test(Link(*question.args), question.level, question.surrogates))


def plain(answer: Any) -> Any:
    """Return an answer with 0.0 for -0.0, which a store cannot tell apart."""
    if isinstance(answer, Significance):
        return replace(answer, value=answer.value + 0.0, null_mean=answer.null_mean + 0.0)
    return answer if isinstance(answer, tuple) else float(answer) + 0.0


class _ScorerPool:
    """Scorers of this process by the hash of their data: the first, which others are made of, and those in no use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[Any, list[Any]]] = OrderedDict()
        self._series: Series | None = None

    def take(self, key: str, payload: Payload | None) -> Any:
        """Return a scorer for the caller alone, or None if the data are needed to build it."""
        with self._lock:
            if key not in self._known:
                if payload is None:
                    return None
                single_thread()  # for good in a worker, which has one core; elsewhere a with block ends it
                # One object for the same data, whatever is asked of them, since what is known of them hangs on it.
                known = self._series
                self._series = series = known if known and known.digest == payload.series.digest else payload.series
                if payload.conditioned:
                    conditioned_before.setdefault(series, {}).update(payload.conditioned)
                scorer = payload.score.bind(series)
                self._known[key] = scorer, [scorer]
                if len(self._known) > KEPT:
                    self._known.popitem(last=False)
            self._known.move_to_end(key)
            first, idle = self._known[key]
            return idle.pop() if idle else first.twin()

    def put_back(self, key: str, scorer: Any) -> None:
        """Let others have the scorer."""
        with self._lock:
            if key in self._known:
                self._known[key][1].append(scorer)


scorer_pool = _ScorerPool()
