"""Who computes: this process, threads, processes or a cluster, through joblib; the only module that imports it."""

import json
import logging
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from itertools import islice
from math import ceil
from numbers import Integral
from typing import Any

import numpy as np

from enmesh.errors import InputError, collected_hazards, hazard, refuse_hours
from enmesh.inference.progress import MEASURED, Progress, now
from enmesh.inference.store import Store, key_of
from enmesh.inference.work import Answer, Payload, Question, Reply, answer, work
from enmesh.options import whole
from enmesh.surrogates import BATCH_VALUES
from enmesh.tasks import single_thread

log = logging.getLogger("enmesh")
Answers = dict[Question, Answer]
_starting: list[threading.Thread] = []  # that started worker processes ahead, if one did

CHUNK = 1.0  # seconds of work in a chunk: what a kill can lose, and what sending it must be small against
HERE = 0.25  # the same in this process, where nothing is sent, so that progress is seen
# Where others answer, the first questions are answered here for PROBE seconds, and all of them if the rest would take
# less than SHORT: what it takes to start workers, or to send them the data once they are there.
PROBE, SHORT, SHORT_ONCE_STARTED = 0.1, 1.0, 0.3
AHEAD = 200_000  # values of a recording from which on workers are started before they are needed
INTERPRETER, WORKING = 300_000_000, 100  # bytes with libraries, and of working arrays per surrogate value
MOST_QUESTIONS, PATIENCE = 5000, 3  # in a chunk; how often workers may die without any chunk being finished


MOST_WORKERS = 256  # of this machine, or four for each core
MANY = 5000  # results beyond which more than an hour is most likely a slip


def check_jobs(n_jobs: Any) -> None:
    """Refuse a number of workers that cannot be."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise InputError(f"n_jobs={n_jobs!r} is not possible; give a number of workers, or -1 for all cores")
    if n_jobs is not None and int(n_jobs) > max(MOST_WORKERS, 4 * (os.cpu_count() or 1)):
        told = f"n_jobs={n_jobs} is more workers than a machine of {os.cpu_count()} cores can use"
        raise InputError(f"{told}; give -1 for all cores")


@contextmanager
def by_dask(patience: float) -> Iterator[None]:
    """Let the dask client of this thread compute; its first worker has so many seconds to come."""
    import joblib

    with joblib.parallel_config(backend="dask", wait_for_workers_timeout=patience):
        yield


class Workers:
    """Who answers: this process, threads, processes or a cluster."""

    def __init__(self, payload: Payload, scorer: Any, n_jobs: int | None, memory: int | None):
        check_jobs(n_jobs)
        memory = None if memory is None else whole("memory", memory, 1)
        self._payload, self._scorer, self._n_jobs = payload, scorer, n_jobs
        self._prefer = "threads" if payload.score.estimator.releases_gil else "processes"
        self._most = np.inf if memory is None else affordable(scorer, memory, self._prefer)
        self._hazards: set[str] = set()
        self._to_send: int | None = None  # how many tasks are to carry the data

    def answers(self, questions: Sequence[Question]) -> Generator[Answers, None, None]:
        """Yield the answers of finished chunks, in any order."""
        waiting = deque(questions)
        self._cost = 0.0  # seconds of a question; 0 as long as it is not known
        with single_thread():
            backend, workers = self._backend()
            if backend is not None and self._prefer == "processes":
                # What is selected for targets is never short where there was enough to start workers ahead.
                ready = bool(_starting) and not _starting[0].is_alive()
                long = ready and questions[0].kind in ("past", "drivers") and len(questions) > workers
                if not long:
                    yield from self._here(waiting, PROBE)
                while waiting and any(thread.is_alive() for thread in _starting):
                    yield from self._here(waiting, PROBE)
                short = SHORT_ONCE_STARTED if _starting else SHORT
                backend = backend if long or len(waiting) * self._cost > short else None
            yield from self._here(waiting) if backend is None else self._elsewhere(waiting, backend, workers)

    def _backend(self) -> tuple[Any, int]:
        """Return the backend joblib would use, None for this process alone, and its number of workers."""
        if self._n_jobs in (None, 1) and "joblib" not in sys.modules:  # so that no workers were configured
            return None, 1
        from joblib.parallel import get_active_backend

        backend, configured = get_active_backend(prefer=self._prefer)
        workers = backend.effective_n_jobs(configured if self._n_jobs is None else self._n_jobs)
        if not _is_local(backend):
            return backend, workers
        workers = min(workers, self._most)
        return (backend if workers > 1 else None), workers

    def _here(self, waiting: deque[Question], seconds: float = np.inf) -> Iterator[Answers]:
        spent = 0.0
        longest = min(HERE, CHUNK) if self._payload.score.estimator.at_once == 1 else CHUNK
        while waiting and spent < seconds:
            reply = answer(self._scorer, _taken(waiting, MOST_QUESTIONS), min(longest, seconds - spent))
            spent += reply.seconds
            yield self._received(waiting, reply)
            if reply.error is not None:
                raise reply.error

    def _elsewhere(self, waiting: deque[Question], backend: Any, workers: int) -> Iterator[Answers]:
        """Send chunks until nothing is left; a lost worker's are sent again, as long as others get on."""
        left, failures = dict.fromkeys(waiting), 0
        raised = list[Exception]()  # then nothing more is sent; what is under way is waited for and kept
        while left and not raised:
            waiting = deque(left)
            with closing(self._replies(self._tasks(waiting, workers, raised), backend, workers)) as replies:
                while True:
                    try:
                        reply = next(replies, None)
                    except Exception as error:  # not raised by a question: those come as replies
                        failures += 1
                        if failures > PATIENCE:
                            raise
                        log.warning("workers were lost (%r); their work is done again", error)
                        break
                    if reply is None:
                        break
                    failures = 0
                    raised += [reply.error] if reply.error is not None else []
                    found = self._received(waiting, reply)
                    for question in found:
                        del left[question]
                    yield found
        if raised:
            raise raised[0]

    def _replies(self, tasks: Iterator[Any], backend: Any, workers: int) -> Generator[Reply, None, None]:
        """Run tasks; where a backend cannot give results as they come, a few at a time."""
        few = tasks if backend.supports_return_generator else islice(tasks, 4 * workers)
        n_jobs = workers if _is_local(backend) else self._n_jobs
        yield from _parallel(work, few, n_jobs, prefer=self._prefer, batch_size=1)

    def _tasks(self, waiting: deque[Question], workers: int, raised: Sequence[Exception]) -> Iterator[Any]:
        """Yield chunks as `work` takes them: about `CHUNK` seconds by what the last ones cost, less near the end."""
        # The data go with as many tasks as there are workers, and again whenever one says that it has none.
        self._to_send = workers if self._to_send is None else self._to_send
        while waiting and not raised:
            timely = int(CHUNK / max(self._cost, CHUNK / MOST_QUESTIONS)) if self._cost else 1
            size = max(1, min(timely, ceil(len(waiting) / (2 * workers))))
            payload = self._payload if self._to_send > 0 else None
            self._to_send -= payload is not None
            yield self._payload.key, _taken(waiting, size), CHUNK, payload

    def _received(self, waiting: deque[Question], reply: Reply) -> Answers:
        """Return the answers; put back the rest, and take note of costs and hazards."""
        answered = len(reply.answers)
        waiting.extendleft(reversed(reply.questions[answered:]))
        if answered:
            cost = reply.seconds / answered
            self._cost = (self._cost + cost) / 2 if self._cost else cost
        self._to_send = (self._to_send or 0) + 1 if reply.needs_data else self._to_send
        new = [message for message in reply.hazards if message not in self._hazards]
        self._hazards.update(new)
        for message in new:
            hazard(message)
        return dict(zip(reply.questions, reply.answers))


def start_ahead(n_jobs: int | None, values: int) -> None:
    """Start as many processes as are asked for, beside what this process does meanwhile, if there is much to do."""
    if n_jobs in (None, 1) or values < AHEAD or _starting:
        return
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend(prefer="processes")
    workers = backend.effective_n_jobs(n_jobs)
    if type(backend).__name__ != "LokyBackend" or workers == 1:  # threads and clusters are there
        return

    def start() -> None:
        with suppress(Exception):  # whoever needs them meets the same
            nothing = [("", (), 0.0, None)] * workers  # to be done but to import what it takes
            deque(_parallel(work, nothing, workers, prefer="processes", batch_size=1), maxlen=0)

    _starting.append(threading.Thread(target=start, daemon=True))
    _starting[0].start()


def _parallel(function: Callable[..., Any], calls: Iterable[Any], n_jobs: int | None, **how: Any) -> Any:
    """Yield results as they come; some clusters give all of them at the end."""
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    streams = get_active_backend(prefer=how.get("prefer"))[0].supports_return_generator
    # Nothing is mapped to files: deleting those takes a second for every batch of questions.
    run = Parallel(n_jobs, return_as="generator_unordered" if streams else "list", max_nbytes=None, **how)
    yield from run(delayed(function)(*call) for call in calls)


def _taken(waiting: deque[Question], most: int) -> list[Question]:
    """Take questions from the front; another thread may put some back meanwhile."""
    return [waiting.popleft() for _ in range(min(most, len(waiting)))]


def _is_local(backend: Any) -> bool:
    return type(backend).__module__ == "joblib._parallel_backends"


def affordable(scorer: Any, memory: int, prefer: str) -> int:
    """Return how many workers fit in ``memory`` bytes beside this process, 1 meaning this process alone."""
    # A worker holds the conditioned series, its lagged columns and the working arrays of one batch of surrogates; a
    # process holds the interpreter and libraries too.
    blocks = scorer.blocks if hasattr(scorer, "blocks") else scorer.transfers.blocks
    columns = 8 * blocks.n * blocks.n_nodes * (2 + blocks.widest)
    surrogates = getattr(scorer.score, "n_surrogates", None) or 1
    batch = min(BATCH_VALUES, blocks.n * blocks.widest * surrogates)
    here = INTERPRETER + columns + WORKING * batch
    more = WORKING * batch + (INTERPRETER + columns if prefer == "processes" else 0)
    if memory < here:
        raise InputError(f"memory={memory:,} bytes is too little for one worker on this series; give at least {here:,}")
    return 1 if memory < here + more else int((memory - here) // more) + (prefer == "threads")


def in_order(
    function: Callable[..., Any],
    arguments: Sequence[tuple[Any, ...]],
    *,
    n_jobs: int | None = None,
    progress: Any = None,
    what: str = "networks",
    store: Any = None,
    names: Iterable[Any] | None = None,
    description: Mapping[str, Any] | None = None,
    each: int = 1,
) -> list[Any]:
    """Return ``function(*one)`` for each of the arguments; results do not depend on ``n_jobs``.

    More than `MANY` that would take over an hour are refused with an estimate, unless a store keeps them; of each
    result ``each`` are counted.

    A ``store`` keeps results that are plain data, each as it is finished, by its name; ``description`` says what they
    depend on besides. Hazards of each are not shown: those of the whole recording are told where it is inferred.
    """
    check_jobs(n_jobs)
    questions = [Question("result", (name,)) for name in names or range(len(arguments))]
    known = json.loads(json.dumps(description, sort_keys=True, default=repr))
    with (
        nullcontext() if store is None else Store(store, key_of(known), known) as kept,
        Progress.of(progress) as shown,
        shown.phase(what, len(arguments)),
    ):
        found = {} if kept is None else kept.read(questions)
        shown.advance(len(found))
        calls = [(function, q, given) for q, given in zip(questions, arguments) if q not in found]
        began = 0.0
        with closing(_parallel(_quietly, calls, n_jobs)) as results:
            for done, (question, result) in enumerate(results):
                began = began or now()  # without the first, which may compile
                if kept is None and len(calls) > MANY and MEASURED < (seconds := now() - began) < 2 * MEASURED:
                    refuse_hours(what, each * len(calls), each * done / seconds)
                if kept is not None:
                    kept.write({question: result})
                found[question] = result
                shown.advance()
    return [found[question] for question in questions]


def _quietly(function: Callable[..., Any], question: Question, given: Any) -> tuple[Question, Any]:
    with collected_hazards(show=False), single_thread():
        return question, function(*given)
