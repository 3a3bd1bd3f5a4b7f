"""Surrogates of events: the source's histories at random times with nearly the same conditions, or a moved source."""

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from enmesh.errors import InputError
from enmesh.events.kernels import share_time, unused_first
from enmesh.events.point_process import NearbyHistories
from enmesh.events.question import Question
from enmesh.neighbours import cross
from enmesh.surrogates import CircularShift, Surrogate

# Random times for each event that surrogates choose from, at least so many, and surrogates that share them. The more
# there are, the nearer are the conditions at those times to those of the event: sources that follow a condition closely
# would else seem to say less in surrogates than they do by chance. So they would if conditions that say nothing of the
# source decided what is near: those get less weight, step by step, as random times in parts of the recording tell.
POOL, LEAST_POOL, SHARED = 10.0, 50_000, 100
LESS, LEAST_WEIGHT, JUDGES, PARTS = 0.25, 0.01, 8000, 32
# A slow rate that source and target share is kept if random times are near in the source's rate too: its mean interval
# over so many events on each side. From so few it is known to a fifth, and need not be nearer than that.
BESIDE, RATE_WEIGHT = 10, 0.1
SAMPLED, FEW_NEAR = 64, 8  # events that say how far neighbours are, and neighbours whose times are looked at


def relevance(known: np.ndarray, told: np.ndarray, neighbours: int, since: Sequence[int]) -> np.ndarray:
    """Return weights of conditions ``known (n, d)`` by how much ``told``, at the same times in order, depends on them.

    In every second part of the time it is predicted, at some times, by what it is at those of the other parts that are
    nearest in the weighted conditions. The weight that is best lowered is, while the error falls by more than its
    standard error over the parts. One of the times ``since`` a node's last event is kept at 1: intervals alone would
    make the times just before an event the nearest, and it would keep its own history.
    """
    part = np.arange(len(known)) * PARTS // len(known)
    here, there = np.flatnonzero(part % 2 == 1)[::5], np.flatnonzero(part % 2 == 0)

    def errors(weights: np.ndarray) -> np.ndarray:
        near = cross.nearest(known[there] * weights, known[here] * weights, neighbours)
        away = np.abs(told[there][near] - told[here, None]).sum(axis=2).mean(axis=1)
        return np.bincount(part[here] // 2, away) / np.bincount(part[here] // 2)

    weights = np.ones(known.shape[1])
    error = errors(weights)
    while True:
        better = []
        for lower in weights * np.where(np.eye(len(weights)), LESS, 1):
            if lower.min() < LEAST_WEIGHT or lower[since].max() < 1:
                continue
            fall = error - (then := errors(lower))
            if fall.mean() > fall.std(ddof=1) / np.sqrt(len(fall)):
                better.append((then, lower))
        if not better:
            return weights
        error, weights = min(better, key=lambda one: one[0].mean())


class Pool:
    """Random times, and for each event those that it may take the source's history of."""

    def __init__(self, question: Question, neighbours: int, rng: np.random.Generator):
        self.question = question
        times = question.random_times(rng, max(POOL, LEAST_POOL / question.n))
        if neighbours > sum(map(len, times)) // 10:
            raise InputError(f"neighbours={neighbours} are too many to be near; 10 are usual")
        known, self.told, spans = question.histories(times)
        self.spans, self.interval = spans[:, 2:], question.interval(times)
        weights = _weights(question, neighbours)
        known, points = (
            np.hstack([z, slow_rate(question, at)]) * weights for z, at in ((known, times), (question.z, question.at))
        )
        self.near = cross.nearest(known, points, neighbours)
        self.lost = self._lost(rng)

    def _borrowed(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return the random time that each event takes the source's history of, and the spans of both."""
        n = self.question.n
        rows, words = np.empty(n, np.int64), rng.integers(0, 2**62, n, dtype=np.int64)
        unused_first(self.near, self.interval, rng.permutation(n), words, rows)
        return rows, np.hstack([self.question.spans[:, :2], self.spans[rows]])

    def _lost(self, rng: np.random.Generator) -> float:
        """Return what makes up for pairs that are not compared.

        Events whose borrowed histories share time are not, and near ones borrow from the same interval more often than
        by chance; so do they and the random times of the estimate.
        """
        spans = self._borrowed(rng)[1]
        own, other = _near(self.question)
        lost, beside = share_time(own, spans, spans), share_time(other, spans, self.question.other_spans)
        return float(np.log1p(-beside) - np.log1p(-lost))

    def value(self, rng: np.random.Generator) -> float:
        """Return the question's value with source histories of the pool."""
        rows, spans = self._borrowed(rng)
        return self.question.value(self.question.local(self.told[rows], spans=spans) + self.lost)


def slow_rate(question: Question, at: Sequence[np.ndarray]) -> np.ndarray:
    """Return the mean interval of each source around times, weighted; of events before and after."""
    columns = []
    for node, _ in question.sources:
        found = []
        for d, times in zip(question.domains, at):
            events = d.times[node]
            last = np.searchsorted(events, times)
            low, high = np.maximum(last - BESIDE, 0), np.minimum(last + BESIDE, len(events)) - 1
            found.append((events[high] - events[low]) / np.maximum(high - low, 1))
        columns.append(np.concatenate(found))
    return RATE_WEIGHT * np.stack(columns, axis=1)


def _weights(question: Question, neighbours: int) -> np.ndarray:
    """Return the weight of each condition, and of the source's slow rate, in what is near."""
    if neighbours not in question.kept:
        times = question.random_times(np.random.default_rng([question.stream, 2]), JUDGES / question.n)
        z, y, _ = question.histories(times)
        since = np.cumsum([0, *(length for _, length in question.given[:-1])]).tolist()
        known = np.hstack([z, slow_rate(question, times)])
        question.kept[neighbours] = relevance(known, y, neighbours, since)
    return question.kept[neighbours]


def _near(question: Question) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of a few events for each: in the conditions no farther than its neighbours in the joint space are."""
    if "near" not in question.kept:
        z, n, k = question.z, question.n, question.how.k
        joint, some = np.hstack([z, question.y]), np.linspace(0, n - 1, SAMPLED).astype(int)
        last = cross.nearest(joint, joint[some], k + 1)[:, -1]
        radius = np.abs(joint[some] - joint[last]).max(axis=1)
        within = [(np.abs(z - z[i]).max(axis=1) <= r).sum() for i, r in zip(some, radius)]
        reach = min(n - 1, max(k, round(float(np.mean(within)))))
        some = np.linspace(1, reach, min(reach, FEW_NEAR)).round().astype(int)
        found = [cross.nearest(others, z, reach + 1)[:, some] for others in (z, question.other_z)]
        question.kept["near"] = np.ascontiguousarray(found[0]), np.ascontiguousarray(found[1])
    return question.kept["near"]


class EventSurrogates:
    """Values of the surrogates of a question, in the order they are drawn; every few share a pool of random times."""

    questions, distinct = 1, None

    def __init__(self, question: Question, how: Surrogate, stream: int):
        if not isinstance(how, (NearbyHistories, CircularShift)):
            told = f"{type(how).__name__} is not made for events"
            raise InputError(f"{told}; use NearbyHistories() or CircularShift()")
        self._question, self._how, self._stream = question, how, stream
        self._pool = lru_cache(1)(self._draw)

    def ask(self, first: int, count: int, itself: bool = False) -> Callable[[], np.ndarray]:
        """Ask about surrogates ``first`` to ``first + count - 1``, after the question itself if ``itself``."""

        def answers() -> np.ndarray:
            own = [self._question.value()] if itself else []
            return np.array(own + [self._one(number) for number in range(first, first + count)])

        return answers

    def _one(self, number: int) -> float:
        rng = np.random.default_rng([self._stream, number])
        if isinstance(self._how, CircularShift):
            return self._question.with_shifted_source(self._how, rng)
        return self._pool(number // SHARED, self._how.neighbours).value(rng)

    def _draw(self, block: int, neighbours: int) -> Pool:
        return Pool(self._question, neighbours, np.random.default_rng([self._stream, block, 1]))
