"""Transfer entropy between trains of events: histories, prepared once for a question and asked for many surrogates.

T = 1/duration sum over target events of { [-d ln eps_X + d ln eps_U + psi(n_X) - psi(n_U)] in the joint space of
histories - the same in the space of the conditions }, d the dimension of each space (Shorten et al. 2021).
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from enmesh.errors import InputError, hazard
from enmesh.events.events import Events
from enmesh.events.kernels import share_time, unused_first
from enmesh.events.point_process import GREEDY, NearbyHistories, PointProcess
from enmesh.neighbours import cross, crossing
from enmesh.significance import Significance, sampled
from enmesh.surrogates import CircularShift, Surrogate, stream_of
from enmesh.tasks import Task, run

KEPT = 8  # questions whose histories are kept
FEWEST, FEW = 20, 100  # target events that are needed, and under which a hazard is said
LONGEST, LEVEL, GREEDY_SURROGATES = 5, 0.05, 99  # of the greedy choice of histories
DELAY_BINS = 20
# Random times for each event that surrogates choose from, at least so many, and surrogates that share them. The more
# there are, the nearer are the conditions at those times to those of the event: sources that follow a condition closely
# would else seem to say less in surrogates than they do by chance. So they would if conditions that say nothing of the
# source decided what is near: those get less weight, step by step, as random times in parts of the recording tell.
POOL, LEAST_POOL, SHARED = 10.0, 50_000, 100
LESS, LEAST_WEIGHT, JUDGES, PARTS = 0.25, 0.01, 8000, 32
SAMPLED, FEW_NEAR = 64, 8  # events that say how far neighbours are, and neighbours whose times are looked at
Node = int
Part = tuple[Node, int]  # a node and the length of its history


class Domain(NamedTuple):
    """The part of a stretch in which all histories are whole, and its place on an axis of all stretches."""

    times: tuple[np.ndarray, ...]  # of every node, in the whole stretch
    begins: float
    ends: float
    offset: float
    length: float  # of the stretch


class Pool(NamedTuple):
    """Random times for surrogates: histories and spans of the source, rows of those nearest to every event, and the
    interval between events of the target that each random time is in."""

    told: np.ndarray
    spans: np.ndarray
    near: np.ndarray
    interval: np.ndarray
    lost: float = 0.0


def history(events: np.ndarray, times: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Return time since the last event before each of ``times`` and the intervals before that, and when they start.

    >>> history(np.array([1.0, 2.5, 3.0]), np.array([3.0, 4.0]), 2)
    (array([[0.5, 1.5],
           [1. , 0.5]]), array([1. , 2.5]))
    """
    last = np.searchsorted(events, times, "left") - 1
    values = np.empty((len(times), length))
    values[:, 0] = times - events[last]
    for m in range(1, length):
        values[:, m] = events[last - m + 1] - events[last - m]
    return values, events[last - length + 1]


def relevance(known: np.ndarray, told: np.ndarray, neighbours: int) -> np.ndarray:
    """Return weights of conditions ``known (n, d)`` by how much ``told``, at the same times in order, depends on them.

    In every second part of the time it is predicted, at some times, by what it is at those of the other parts that are
    nearest in the weighted conditions. The weight that is best lowered is, while the error falls by more than its
    standard error over the parts. The first, of the time since the target's last event, is kept: without it the nearest
    times would be those just before an event, and the event would keep its own history.
    """
    part = np.arange(len(known)) * PARTS // len(known)
    here, there = np.flatnonzero(part % 2 == 1)[::5], np.flatnonzero(part % 2 == 0)

    def errors(weights: np.ndarray) -> np.ndarray:
        near = cross.nearest(known[there] * weights, known[here] * weights, neighbours)
        away = np.abs(told[there][near] - told[here, None]).sum(axis=2).mean(axis=1)
        return np.bincount(part[here] // 2, away) / np.bincount(part[here] // 2)

    weights = np.ones(known.shape[1])
    error, left = errors(weights), list(range(1, len(weights)))
    while left:
        better = []
        for i in left:
            lower = np.where(np.arange(len(weights)) == i, LESS * weights, weights)
            fall = error - (then := errors(lower))
            if fall.mean() > fall.std(ddof=1) / np.sqrt(len(fall)):
                better.append((then.mean(), i, lower, then))
        if better:
            _, _, weights, error = min(better, key=lambda one: one[:2])
        left = [i for _, i, *_ in better if weights[i] * LESS >= LEAST_WEIGHT]
    return weights


class Question:
    """Does the source say when the target has its events, beyond what its own history and the conditions say?"""

    def __init__(
        self, events: Events, how: PointProcess, sources: Sequence[Part], given: Sequence[Part], target: Node
    ):
        self.how, self.sources, self.given = how, list(sources), list(given)
        self.target, self.names, self._engine = target, events.names, crossing(how.device)
        self.domains = self._domains(events)
        times = [d.times[target] for d in self.domains]
        self.at = [t[(t > d.begins) & (t <= d.ends)] for t, d in zip(times, self.domains)]
        self.duration = sum(d.ends - d.begins for d in self.domains)
        self.n = sum(map(len, self.at))
        if self.n < max(FEWEST, how.k + 2):
            raise InputError(
                f"{self.names[target]} has {self.n} events with whole histories of all nodes; at least "
                f"{max(FEWEST, how.k + 2)} are needed: record longer or shorten the histories"
            )
        if self.n < FEW:
            hazard(f"{self.names[target]} has only {self.n} events with whole histories; estimates are rough")
        self.stream = stream_of(how.seed, target, tuple(sorted(sources)), tuple(sorted(given)))
        self._weighed: dict[int, np.ndarray] = {}
        rng = np.random.default_rng(self.stream)
        self.random = self._random_times(rng, how.ratio)
        self.z, z_start = self._all(self.given, self.at)
        self.y, y_start = self._all(self.sources, self.at)
        self.other_z, other_start = self._all(self.given, self.random)
        self.other_y, other_y_start = self._all(self.sources, self.random)
        self.spans = np.hstack([self._spans(self.at, z_start), self._spans(self.at, y_start)])
        self.other_spans = np.hstack(
            [self._spans(self.random, other_start), self._spans(self.random, other_y_start)]
        )

    def _domains(self, events: Events) -> list[Domain]:
        """Return where histories are whole; stretches without such a time are left out."""
        found, offset, lacking = [], 0.0, set[str]()
        for s in events.stretches:
            needed = [(s.times[node], length) for node, length in (*self.sources, *self.given)]
            lacking |= {
                self.names[node]
                for node, length in (*self.sources, *self.given)
                if len(s.times[node]) < length
            }
            length = s.stop - s.start
            if all(len(times) >= count for times, count in needed):
                begins = max(times[count - 1] for times, count in needed)
                found.append(Domain(s.times, float(begins), s.stop, offset - s.start, length))
            offset += 2 * length
        if not found:
            raise InputError(
                f"{', '.join(sorted(lacking))} has too few events for a whole history; leave it out or record longer"
            )
        return found

    def _random_times(self, rng: np.random.Generator, ratio: float) -> list[np.ndarray]:
        """Return so many times for each event, uniform over the domains, in order."""
        wide = np.array([d.ends - d.begins for d in self.domains])
        count = max(self.how.k + 1, round(ratio * self.n))
        borders = np.concatenate([[0], np.cumsum(wide)])
        drawn = np.sort(rng.random(count)) * borders[-1]
        cuts = np.searchsorted(drawn, borders[1:-1])
        parts = np.split(drawn, cuts)
        return [part - low + d.begins for part, low, d in zip(parts, borders, self.domains)]

    def _all(self, parts: Sequence[Part], at: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return the histories of several nodes side by side, and when the earliest starts, on the common axis."""
        blocks, starts = [], []
        for d, times in zip(self.domains, at):
            found = [history(d.times[node], times, length) for node, length in parts]
            blocks.append(np.hstack([values for values, _ in found]) if found else np.empty((len(times), 0)))
            starts.append(
                np.min([start for _, start in found], axis=0) + d.offset if found else times + d.offset
            )
        return np.concatenate(blocks), np.concatenate(starts)

    def _spans(self, at: Sequence[np.ndarray], start: np.ndarray) -> np.ndarray:
        """Return start and end of histories on the common axis; without exclusion an instant, shared with itself."""
        ends = np.concatenate([times + d.offset for d, times in zip(self.domains, at)])
        return np.stack([start if self.how.exclusion else np.nextafter(ends, -np.inf), ends], axis=1)

    # --- values ------------------------------------------------------------------------------------------------

    @cached_property
    def _psi(self) -> np.ndarray:
        from scipy.special import digamma

        return np.concatenate([[np.nan], digamma(np.arange(1, self.n + len(self.other_z) + 1))])

    def _brackets(self, own: np.ndarray, other: np.ndarray, spans: np.ndarray | None = None) -> np.ndarray:
        """Return the bracket of every event among events and random times."""
        spans = self.spans if spans is None else spans
        return self._engine.brackets(own, other, spans, self.other_spans, self.how.k, self._psi)

    @cached_property
    def _in_conditions(self) -> np.ndarray:
        return self._brackets(self.z, self.other_z)

    def local(
        self, y: np.ndarray | None = None, other_y: np.ndarray | None = None, spans: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the value of every target event, in nats, with other histories of the source if they are given."""
        joint = np.hstack([self.z, self.y if y is None else y])
        other = np.hstack([self.other_z, self.other_y if other_y is None else other_y])
        values = self._brackets(joint, other, spans) - self._in_conditions
        lost = int(np.isnan(values).sum())
        if lost > 0.1 * self.n:
            raise InputError(
                f"{lost} of {self.n} events of {self.names[self.target]} have fewer than k={self.how.k} others whose "
                "histories share no time with theirs; record longer, or pass exclusion=False"
            )
        return np.nan_to_num(values)

    def value(self, local: np.ndarray | None = None) -> float:
        """Return the transfer entropy, per unit of time or per event."""
        total = float((self.local() if local is None else local).sum())
        return total / (self.duration if self.how.per == "time" else self.n)

    # --- surrogates --------------------------------------------------------------------------------------------

    def pool(self, how: NearbyHistories, rng: np.random.Generator) -> "Pool":
        """Draw random times, and find those nearest to every event in the conditions.

        Events whose borrowed histories share time are not compared, and near ones borrow from the same interval more
        often than by chance; so do they and the random times of the estimate. ``lost`` makes up for both.
        """
        times = self._random_times(rng, max(POOL, LEAST_POOL / self.n))
        known = self._all(self.given, times)[0]
        told, start = self._all(self.sources, times)
        weights = self._weights(how.neighbours)
        near = cross.nearest(known * weights, self.z * weights, how.neighbours)
        counts = np.cumsum([0, *(len(d.times[self.target]) + 1 for d in self.domains)])
        ends = [np.searchsorted(d.times[self.target], t) + c for d, t, c in zip(self.domains, times, counts)]
        pool = Pool(told, self._spans(times, start), near, np.concatenate(ends))
        spans = np.hstack([self.spans[:, :2], pool.spans[self._borrowed(pool, rng)]])
        lost = share_time(self._near[0], spans, spans), share_time(self._near[1], spans, self.other_spans)
        return pool._replace(lost=float(np.log1p(-lost[1]) - np.log1p(-lost[0])))

    def _weights(self, neighbours: int) -> np.ndarray:
        """Return the weight of each condition where random times near in the conditions are looked for."""
        if neighbours not in self._weighed:
            times = self._random_times(np.random.default_rng([self.stream, 2]), JUDGES / self.n)
            z, y = self._all(self.given, times)[0], self._all(self.sources, times)[0]
            self._weighed[neighbours] = relevance(z, y, neighbours)
        return self._weighed[neighbours]

    def _borrowed(self, pool: "Pool", rng: np.random.Generator) -> np.ndarray:
        """Return the random time that each event takes the source's history of."""
        rows, words = np.empty(self.n, np.int64), rng.integers(0, 2**62, self.n, dtype=np.int64)
        unused_first(pool.near, pool.interval, rng.permutation(self.n), words, rows)
        return rows

    def with_nearby_histories(self, pool: "Pool", rng: np.random.Generator) -> float:
        """Return the value with source histories of a pool."""
        rows = self._borrowed(pool, rng)
        spans = np.hstack([self.spans[:, :2], pool.spans[rows]])
        return self.value(self.local(pool.told[rows], spans=spans) + pool.lost)

    @cached_property
    def _near(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows of a few events for each: in the conditions no farther than its neighbours in the joint space are."""
        joint, some = np.hstack([self.z, self.y]), np.linspace(0, self.n - 1, SAMPLED).astype(int)
        last = cross.nearest(joint, joint[some], self.how.k + 1)[:, -1]
        radius = np.abs(joint[some] - joint[last]).max(axis=1)
        within = [(np.abs(self.z - self.z[i]).max(axis=1) <= r).sum() for i, r in zip(some, radius)]
        reach = min(self.n - 1, max(self.how.k, round(float(np.mean(within)))))
        some = np.linspace(1, reach, min(reach, FEW_NEAR)).round().astype(int)
        found = [cross.nearest(z, self.z, reach + 1)[:, some] for z in (self.z, self.other_z)]
        return np.ascontiguousarray(found[0]), np.ascontiguousarray(found[1])

    def with_shifted_source(self, how: CircularShift, rng: np.random.Generator) -> float:
        """Shift every source around the end of its stretch, by the same time for all of them."""
        moved = []
        for d in self.domains:
            counts = [len(d.times[node]) for node, _ in (*self.sources, *self.given)]
            usual = 2 * (len(counts) + 1) * d.length / max(1, min(counts))
            least = min(how.min_shift or usual, d.length / 4)
            shift = rng.uniform(least, d.length - least)
            moved.append(d._replace(times=tuple(self._around(d, t, shift) for t in d.times)))
        asked = [self._moved(moved, at) for at in (self.at, self.random)]
        return self.value(self.local(*asked))

    @staticmethod
    def _around(d: Domain, times: np.ndarray, shift: float) -> np.ndarray:
        """Return times moved around the end of the stretch, and the same once more before its start."""
        start = d.ends - d.length
        turned = np.sort((times - start + shift) % d.length) + start
        return np.concatenate([turned - d.length, turned])

    def _moved(self, moved: Sequence[Domain], at: Sequence[np.ndarray]) -> np.ndarray:
        blocks = [
            np.hstack([history(d.times[node], times, length)[0] for node, length in self.sources])
            for d, times in zip(moved, at)
        ]
        return np.concatenate(blocks)

    def delay(self) -> float:
        """Return how long after an event of the source its target's events are most, or least, frequent.

        Times since the last event of the source are cut into bins that random times fill evenly; the bin whose number
        of target events differs most from that decides.
        """
        since, usual = self.y[:, 0], self.other_y[:, 0]
        edges = np.quantile(usual, np.linspace(0, 1, DELAY_BINS + 1))
        edges[0], edges[-1] = min(edges[0], since.min()), max(edges[-1], since.max())
        found = np.histogram(since, edges)[0] - self.n / DELAY_BINS
        at = int(np.abs(found).argmax())
        inside = since[(since >= edges[at]) & (since <= edges[at + 1])]
        return float(np.median(inside)) if len(inside) else float(edges[at : at + 2].mean())


class EventSurrogates:
    """Values of the surrogates of a question, in the order they are drawn; every few share a pool of random times."""

    questions = 1

    def __init__(self, question: Question, how: Surrogate, stream: int):
        if not isinstance(how, (NearbyHistories, CircularShift)):
            raise InputError(
                f"{type(how).__name__} is not made for events; use NearbyHistories() or CircularShift()"
            )
        self._question, self._how, self._stream = question, how, stream
        self._pool: tuple[int, Pool | None] = -1, None

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
        block, pool = number // SHARED, self._pool[1]
        if block != self._pool[0] or pool is None:
            pool = self._question.pool(self._how, np.random.default_rng([self._stream, block, 1]))
            self._pool = block, pool
        return self._question.with_nearby_histories(pool, rng)


class EventTransfers:
    """Transfer entropies between the nodes of `Events`: what `measures.Transfers` is for samples."""

    joint = None

    def __init__(self, events: Events, estimator: Any):
        if not isinstance(estimator, PointProcess):
            raise InputError(
                f"{type(estimator).__name__} takes samples, not events; use PointProcess(), or bin the events"
            )
        self.series, self.estimator = events.spread(), with_histories(events, estimator)
        widest = max(self.estimator.own_history(name) for name in events.names)
        self.blocks = SimpleNamespace(
            n=max(events.counts.values()), n_nodes=events.n_nodes, widest=widest, searched=0
        )
        self._asked: OrderedDict[Any, Question] = OrderedDict()

    def question(self, sources: Sequence[int], target: int, given: Sequence[int] = ()) -> Question:
        """Return the histories of a question; the last few are kept."""
        key = tuple(sorted(sources)), target, tuple(sorted(given))
        if key not in self._asked:
            names, length = self.series.names, self.estimator.history
            told = [(j, length("source", names[j])) for j in key[0]]
            known = [(target, length("target", names[target]))]
            known += [(j, length("condition", names[j])) for j in key[2]]
            self._asked[key] = Question(self.series, self.estimator, told, known, target)
            if len(self._asked) > KEPT:
                self._asked.popitem(last=False)
        self._asked.move_to_end(key)
        return self._asked[key]

    def value(
        self, sources: Sequence[int], target: int, given: Sequence[int] = (), *, pointwise: bool = False
    ) -> Any:
        """Return T of the sources to the target given others; ``pointwise`` one value per target event, in nats."""
        question = self.question(sources, target, given)
        local = question.local()
        return local if pointwise else question.value(local)

    def test(
        self,
        sources: Sequence[int],
        target: int,
        given: Sequence[int],
        surrogate: Surrogate | None,
        count: int,
        seed: int,
        level: float | None = None,
    ) -> Task[Significance]:
        """Test a link by surrogates, no further than ``level`` asks for."""
        stream = stream_of("events", seed, target, tuple(sorted(sources)))
        question = self.question(sources, target, given)
        surrogates: Any = EventSurrogates(question, surrogate or self.estimator.usual_surrogate, stream)
        return (yield from sampled(surrogates, None, count, None, level))  # type: ignore[arg-type]

    def twin(self) -> "EventTransfers":
        """Return the same for another thread."""
        twin = object.__new__(EventTransfers)
        vars(twin).update(vars(self), _asked=OrderedDict())
        return twin


def with_histories(events: Events, estimator: PointProcess) -> PointProcess:
    """Return the estimator with histories of known lengths: ``"greedy"`` adds a node's intervals while they tell.

    The next interval of a node's own history is tested as if it were a source, given those before it.
    """
    from dataclasses import replace

    if estimator.target_history != GREEDY:
        return estimator
    spread, found = events.spread(), {}
    for i, name in enumerate(events.names):
        length = 1
        while length < LONGEST:
            asked = OwnInterval(spread, estimator, i, length)
            surrogates: Any = EventSurrogates(asked, NearbyHistories(), asked.stream)
            test = run(sampled(surrogates, None, GREEDY_SURROGATES, None, LEVEL))  # type: ignore[arg-type]
            if test.p_value > LEVEL:
                break
            length += 1
        found[name] = length
    return replace(estimator, target_history=found)


class OwnInterval(Question):
    """Does one more interval of a node's own history say when its next event comes?"""

    def __init__(self, events: Events, how: PointProcess, node: Node, length: int):
        self._length = length
        super().__init__(events, how, [(node, length + 1)], [(node, length)], node)

    def _all(self, parts: Sequence[Part], at: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        values, start = super()._all(parts, at)
        return (values[:, self._length :] if parts is self.sources else values), start
