"""evaluate(families): the one seam between searches and scores, and the only place that knows of workers.

Scores are cached, looked up in the store, and computed by workers through joblib: threads where the
estimator releases the interpreter lock, processes elsewhere, or whatever backend the user has set
(`joblib.parallel_config`). What is computed is a question to a scorer (`work.Question`): a family, or the
edge tests a family's score is made of, each of them once. Answers are pure, so nothing here can change a
result.
"""

import json
import logging
import os
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import count, islice
from math import ceil, fsum
from threading import Lock

import numpy as np

from enmesh.data.series import Series
from enmesh.errors import HazardWarning, InputError, was_stopped
from enmesh.inference.progress import reporter
from enmesh.inference.work import (
    Parcel,
    Question,
    Reply,
    answer,
    fingerprint,
    plain,
    shelf,
    single_thread,
    work,
)
from enmesh.options import describe
from enmesh.scores.base import Link, Score, Scorer
from enmesh.significance import Significance
from enmesh.surrogates import BATCH_VALUES

log = logging.getLogger("enmesh")

Family = tuple[int, tuple[int, ...]]

# Seconds of work in a chunk: what a kill can lose, and what sending it must be small against.
CHUNK = 1.0
# Where workers cost time to start, the first questions are answered here for PROBE seconds, and all of them
# if the rest would take less than SHORT.
PROBE, SHORT = 0.2, 1.0
# Bytes of an interpreter with its libraries, and of working arrays per surrogate value.
INTERPRETER, WORKING = 300_000_000, 100
# Questions in a chunk at most, and how often workers may die without any chunk being finished.
MOST_QUESTIONS, PATIENCE = 5000, 3


class Evaluator:
    """The local scores of families ``(target, parents)`` of a series, computed at most once.

    Parameters
    ----------
    score, series
        What is scored. An embedding that is not given is chosen from the data.
    n_jobs
        Workers; -1 for all cores. None is 1, or what a surrounding `joblib.parallel_config` says. A cluster
        backend set there is always used.
    store
        Path of a file that keeps what is finished (see `enmesh.inference.store.Store`).
    progress
        True for a bar on a terminal, or a callable (see `enmesh.inference.progress`).
    memory
        Bytes this process and its workers on this machine may use together: there are as many workers as fit.

    Examples
    --------
    >>> from enmesh import TEA, Embedding, simulate
    >>> series = simulate.var({"a": [], "b": ["a"]}, n=500, seed=1)
    >>> with Evaluator(TEA(embedding=Embedding()), series) as evaluate:
    ...     alone, driven = evaluate([(1, ()), (1, (0,))])
    >>> bool(driven > alone)
    True
    """

    def __init__(
        self,
        score: Score,
        series: Series,
        *,
        n_jobs: int | None = None,
        store: str | os.PathLike | None = None,
        progress=None,
        memory: int | None = None,
    ):
        self.score, self.series = score.with_embedding(series), series
        description = describe_run(self.score, series)
        self._parcel = Parcel(series, self.score, run_key(description))
        with single_thread():  # binding may form sums that threads would round otherwise
            self.scorer = shelf.take(self._parcel.key, self._parcel)
        self._workers = Workers(self._parcel, self.scorer, n_jobs, memory)
        self._store = None
        if store is not None:  # last: what fails before must not leave a session that seems to be running
            from enmesh.inference.store import Store

            self._store = Store(store, self._parcel.key, description)
        self._progress = reporter(progress)
        self._known: dict[Question, float | Significance] = {}
        self._asked: set[Family] = set()
        self._best: dict[int, float] = {}

    def __call__(self, families: Iterable[Family]) -> np.ndarray:
        """Return the score of each family, in the order given."""
        families = [(target, tuple(parents)) for target, parents in families]
        self._asked.update(families)
        questions = {family: Question("local", family) for family in families}
        self._look_up(questions.values())
        new = [family for family, question in questions.items() if question not in self._known]
        tests = {family: self.scorer.tests(*family) for family in new}
        self._answer([questions[family] for family in new if not tests[family]], "families")
        self._compose({family: links for family, links in tests.items() if links})
        scores = [self._known[questions[family]] for family in families]
        self._best.update((t, max(s, self._best.get(t, s))) for (t, _), s in zip(families, scores))
        return np.array(scores, dtype=float)

    def edges(self, links: Iterable[Link]) -> list[Significance]:
        """Return the test of each edge ``(source, target, given)``, in the order given."""
        return self._tested([Question("edge", (s, t, tuple(sorted(g)))) for s, t, g in links])

    def verdicts(self, links: Iterable[Link], level: float) -> list[Significance]:
        """Return tests of edges; those whose p cannot be at most ``level`` any more may have stopped early.

        How early depends on what is known already: of a test that fails, use no more than its value, that it
        fails, and its first `significance.FIRST_LOOK` null values.
        """
        return self._tested([Question("verdict", (s, t, tuple(sorted(g)), level)) for s, t, g in links])

    @property
    def evaluated(self) -> int:
        """Number of distinct families that were asked for."""
        return len(self._asked)

    def close(self, status: str = "finished") -> None:
        """Let go of the store and the scorer."""
        if self._store is not None:
            self._store.close(status)
            self._store = None
        if self.scorer is not None:
            shelf.put_back(self._parcel.key, self.scorer)
            self.scorer = None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.close("finished" if kind is None else "interrupted" if was_stopped(error) else "failed")

    def _compose(self, tests: dict[Family, Sequence[Link]]) -> None:
        """Score families from their edge tests, each of which is computed once for all families."""
        if not tests:
            return
        links = dict.fromkeys(link for some in tests.values() for link in some)
        for link, test in zip(links, self.edges(links)):
            self.scorer.learn(link, test)
        with single_thread():
            scores = {Question("local", family): plain(self.scorer.local(*family)) for family in tests}
        self._keep(scores)

    def _tested(self, questions: Sequence[Question]) -> list[Significance]:
        unique = dict.fromkeys(questions)
        self._look_up(unique)
        self._answer([question for question in unique if question not in self._known], "tests")
        return [self._known[question] for question in questions]

    def _look_up(self, questions: Iterable[Question]) -> None:
        """Take what is known under another name, and read what the store has."""
        new = [question for question in questions if question not in self._known]
        self._known |= {q: self._known[q.full] for q in new if q.full in self._known}
        if self._store is not None:
            self._known |= self._store.read(q for q in new if q not in self._known)

    def _keep(self, answers: dict[Question, float | Significance]) -> None:
        full = {q.full: test for q, test in answers.items() if q.is_full(test)}
        self._known |= answers | full
        if self._store is not None:
            self._store.write({q: a for q, a in answers.items() if not q.is_full(a)} | full)

    def _answer(self, questions: Sequence[Question], what: str) -> None:
        """Compute what is new, chunk by chunk; every finished chunk is kept at once."""
        if not questions:
            return
        best = fsum(self._best.values()) if self._best else None
        done, total = 0, len(questions)
        self._progress(done, total, best=best, what=what)
        with closing(self._workers.answers(sorted(questions, key=lambda q: q.shares))) as chunks:
            for answers in chunks:
                self._keep(answers)
                done += len(answers)
                self._progress(done, total, best=best, what=what)


class Workers:
    """Who answers: this process, threads, processes or a cluster."""

    def __init__(self, parcel: Parcel, scorer, n_jobs: int | None, memory: int | None):
        if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0):
            raise InputError(
                f"n_jobs={n_jobs!r} is not possible; give a number of workers, or -1 for all cores"
            )
        self._parcel, self._scorer, self._n_jobs = parcel, scorer, n_jobs
        self._prefer = "threads" if parcel.score.estimator.releases_gil else "processes"
        self._most = None if memory is None else affordable(scorer, memory, self._prefer)
        self._hazards: set[str] = set()
        self._tickets = count()
        self._parcels_due: int | None = None

    def answers(self, questions: Sequence[Question]) -> Iterator[dict]:
        """Yield the answers of finished chunks, in any order."""
        queue = Queue(questions)
        with single_thread():
            backend, workers = self._backend()
            if backend is not None and self._prefer == "processes":
                yield from self._here(queue, PROBE)
                backend = backend if queue.seconds_left > SHORT else None
            yield from self._here(queue) if backend is None else self._elsewhere(queue, backend, workers)

    def _backend(self):
        """Return the backend joblib would use, None for this process alone, and its number of workers."""
        from joblib.parallel import get_active_backend

        backend, configured = get_active_backend(prefer=self._prefer)
        workers = backend.effective_n_jobs(configured if self._n_jobs is None else self._n_jobs)
        if not _is_local(backend):
            return backend, workers
        workers = workers if self._most is None else min(workers, self._most)
        return (backend if workers > 1 else None), workers

    def _here(self, queue: "Queue", seconds: float = np.inf) -> Iterator[dict]:
        spent = 0.0
        while queue and spent < seconds:
            chunk = queue.take(MOST_QUESTIONS)
            reply = answer(self._scorer, chunk, min(CHUNK, seconds - spent))
            spent += reply.seconds
            yield from self._unpack(queue, chunk, reply)
            if reply.error is not None:
                raise reply.error

    def _elsewhere(self, queue: "Queue", backend, workers: int) -> Iterator[dict]:
        """Send chunks until nothing is left; a lost worker's are sent again, as long as others get on.

        When a question raises, nothing more is sent; what is under way elsewhere is waited for and kept.
        """
        failures, raised = 0, None
        while queue:
            out: dict[int, list[Question]] = {}
            replies = self._replies(self._tasks(queue, out, backend, workers), backend, workers)
            while True:
                try:
                    ticket, reply = next(replies)
                except StopIteration:
                    break
                except Exception as error:  # not raised by a question: those come as replies
                    failures += 1
                    if failures > PATIENCE:
                        raise
                    log.warning(
                        "workers were lost (%s: %s); their work is done again", type(error).__name__, error
                    )
                    break
                failures = 0
                yield from self._unpack(queue, out.pop(ticket), reply)
                if reply is not None and reply.error is not None:
                    raised = raised or reply.error
                if raised is not None:
                    queue.clear()
            if raised is not None:
                raise raised
            for chunk in out.values():
                queue.put_back(chunk)

    def _replies(self, tasks: Iterator, backend, workers: int) -> Iterator[tuple[int, Reply | None]]:
        """Run tasks as joblib does; where a backend cannot stream results, a few at a time."""
        from joblib import Parallel, delayed

        streams = backend.supports_return_generator
        run = Parallel(
            n_jobs=workers if _is_local(backend) else self._n_jobs,
            prefer=self._prefer,
            batch_size=1,
            return_as="generator_unordered" if streams else "list",
        )
        calls = (delayed(work)(*task) for task in tasks)
        results = run(calls if streams else islice(calls, 4 * workers))
        try:
            yield from results
        finally:
            if streams:
                self._parcel.stop.set()
                results.close()
                self._parcel.stop.clear()

    def _tasks(self, queue, out, backend, workers) -> Iterator[tuple]:
        """Yield chunks as `work` takes them, sized by what the last ones cost; ``out`` holds those sent.

        On one machine joblib maps large data into every worker's memory. To others the parcel goes with as
        many tasks as there are workers, and again whenever one says that it has none.
        """
        local = _is_local(backend)
        if self._parcels_due is None:
            self._parcels_due = workers
        while queue:
            chunk, ticket = queue.take(queue.fair_share(workers)), next(self._tickets)
            out[ticket] = chunk
            parcel = self._parcel if local else None
            if not local and self._parcels_due > 0:
                self._parcels_due -= 1
                parcel = self._parcel.packed
            yield ticket, self._parcel.key, chunk, CHUNK, parcel

    def _unpack(self, queue: "Queue", chunk: list[Question], reply: Reply | None) -> Iterator[dict]:
        """Yield the answers and put back the rest."""
        if reply is None:
            self._parcels_due += 1
            queue.put_back(chunk)
            return
        answered = len(reply.answers)
        queue.learn(reply.seconds, answered)
        queue.put_back(chunk[answered:])
        for hazard in set(reply.hazards) - self._hazards:
            self._hazards.add(hazard)
            warnings.warn(hazard, HazardWarning, stacklevel=6)
        yield dict(zip(chunk, reply.answers))


class Queue:
    """Questions waiting, in an order that lets neighbours share what is prepared; and what one costs."""

    def __init__(self, questions: Iterable[Question]):
        self._waiting, self._lock, self._cost = deque(questions), Lock(), None

    def __bool__(self):
        return bool(self._waiting)

    @property
    def seconds_left(self) -> float:
        """Seconds one worker would take for the rest."""
        return len(self._waiting) * (self._cost or 0.0)

    def take(self, most: int) -> list[Question]:
        """Take up to ``most`` questions from the front."""
        with self._lock:
            return [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]

    def put_back(self, chunk: Sequence[Question]) -> None:
        """Put questions back at the front."""
        with self._lock:
            self._waiting.extendleft(reversed(chunk))

    def clear(self) -> None:
        """Drop all that is waiting."""
        with self._lock:
            self._waiting.clear()

    def learn(self, seconds: float, answered: int) -> None:
        """Take note of what the last questions cost."""
        if answered:
            cost = seconds / answered
            self._cost = cost if self._cost is None else (self._cost + cost) / 2

    def fair_share(self, workers: int) -> int:
        """Return how many to give a worker: about `CHUNK` seconds, and less near the end."""
        if self._cost is None:
            return 1
        timely = int(CHUNK / max(self._cost, CHUNK / MOST_QUESTIONS))
        return max(1, min(timely, ceil(len(self._waiting) / (2 * workers))))


def _is_local(backend) -> bool:
    from joblib.parallel import LokyBackend, MultiprocessingBackend, SequentialBackend, ThreadingBackend

    return type(backend) in (LokyBackend, MultiprocessingBackend, SequentialBackend, ThreadingBackend)


def affordable(scorer: Scorer, memory: int, prefer: str) -> int:
    """Return how many workers fit in ``memory`` bytes beside this process, 1 meaning this process alone.

    A worker holds the conditioned series and its lagged columns, and the working arrays of one batch of
    surrogates; a process holds the interpreter and libraries too.
    """
    score, blocks = scorer.score, scorer.ask.blocks
    columns = 8 * blocks.n * blocks.n_nodes * (2 + max(blocks.dim))
    batch = min(BATCH_VALUES, blocks.n * max(blocks.dim) * max(1, getattr(score, "n_surrogates", 1)))
    here = INTERPRETER + columns + WORKING * batch
    more = WORKING * batch + (INTERPRETER + columns if prefer == "processes" else 0)
    if memory < here:
        raise InputError(
            f"memory={memory:,} bytes is too little for this series; one worker needs about {here:,}"
        )
    return 1 if memory < here + more else int((memory - here) // more) + (prefer == "threads")


def describe_run(score: Score, series: Series) -> dict:
    """Return what a run's values depend on, as plain data."""
    from enmesh import __version__

    return {
        "data": series.digest,
        "names": list(series.names),
        "score": describe(score),
        "code": f"{__version__}/{score.FORMAT}",
    }


def run_key(description: dict) -> str:
    """Return the hash that values of a run are stored under."""
    return fingerprint(json.dumps(description, sort_keys=True))
