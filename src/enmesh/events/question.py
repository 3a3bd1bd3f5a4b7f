"""Transfer entropy rates at target events and random times: histories, taken once for a question.

T = 1/duration sum over target events of { [-d ln eps_X + d ln eps_U + psi(n_X) - psi(n_U)] in the joint space of
histories - the same in the space of the conditions }, d the dimension of each space (Shorten et al. 2021).
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from enmesh.errors import InputError, hazard
from enmesh.events.events import Events
from enmesh.events.point_process import PointProcess
from enmesh.neighbours import crossing
from enmesh.surrogates import CircularShift, stream_of

FEWEST, FEW = 20, 100  # target events that are needed, and under which a hazard is said
DELAY_BINS = 20
Part = tuple[int, int]  # a node and the length of its history


class Domain(NamedTuple):
    """The part of a stretch in which all histories are whole, and its place on an axis of all stretches."""

    times: tuple[np.ndarray, ...]  # of every node, in the whole stretch
    begins: float
    ends: float
    offset: float
    length: float  # of the stretch


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


class Question:
    """Does the source say when the target has its events, beyond what its own history and the conditions say?"""

    def __init__(
        self,
        events: Events,
        how: PointProcess,
        sources: Sequence[Part],
        given: Sequence[Part],
        target: int,
        known: int = 0,  # values of the source's history, the first ones, that are left out
    ):
        self.how, self.sources, self.given, self._known = how, list(sources), list(given), known
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
        self.kept: dict[Any, Any] = {}  # what surrogates found out of it
        self.random = self.random_times(np.random.default_rng(self.stream), how.ratio)
        self.z, self.y, self.spans = self.histories(self.at)
        self.other_z, self.other_y, self.other_spans = self.histories(self.random)

    def _domains(self, events: Events) -> list[Domain]:
        """Return where histories are whole; stretches without such a time are left out."""
        found, offset, lacking = [], 0.0, set[str]()
        for s in events.stretches:
            parts, length = (*self.sources, *self.given), s.stop - s.start
            short = {self.names[node] for node, count in parts if len(s.times[node]) < count}
            lacking |= short
            if not short:
                begins = max(s.times[node][count - 1] for node, count in parts)
                found.append(Domain(s.times, float(begins), s.stop, offset - s.start, length))
            offset += 2 * length
        if not found:
            told = f"{', '.join(sorted(lacking))} has too few events for a whole history"
            raise InputError(f"{told}; leave it out or record longer")
        return found

    def random_times(self, rng: np.random.Generator, ratio: float) -> list[np.ndarray]:
        """Return so many times for each event, uniform over the domains, in order."""
        wide = np.array([d.ends - d.begins for d in self.domains])
        count = max(self.how.k + 1, round(ratio * self.n))
        borders = np.concatenate([[0], np.cumsum(wide)])
        drawn = np.sort(rng.random(count)) * borders[-1]
        cuts = np.searchsorted(drawn, borders[1:-1])
        parts = np.split(drawn, cuts)
        return [part - low + d.begins for part, low, d in zip(parts, borders, self.domains)]

    def histories(self, at: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the histories of the conditions and of the source at times, and (start, end) of both on one axis.

        Without exclusion a history takes but an instant, which it shares with itself alone.
        """
        z, z_start = self._all(self.given, at)
        y, y_start = self._all(self.sources, at)
        y = y[:, self._known :]
        ends = np.concatenate([times + d.offset for d, times in zip(self.domains, at)])
        if not self.how.exclusion:
            z_start = y_start = np.nextafter(ends, -np.inf)
        return z, y, np.stack([z_start, ends, y_start, ends], axis=1)

    def interval(self, at: Sequence[np.ndarray]) -> np.ndarray:
        """Return the number of the interval between events of the target that each of the times is in."""
        counts = np.cumsum([0, *(len(d.times[self.target]) + 1 for d in self.domains)])
        found = [np.searchsorted(d.times[self.target], t) + c for d, t, c in zip(self.domains, at, counts)]
        return np.concatenate(found)

    def _all(
        self, parts: Sequence[Part], at: Sequence[np.ndarray], domains: Sequence[Domain] = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the histories of several nodes side by side, and when the earliest starts, on the common axis."""
        blocks, starts = [], []
        for d, times in zip(domains or self.domains, at):
            found = [history(d.times[node], times, length) for node, length in parts]
            blocks.append(np.hstack([values for values, _ in found]))
            starts.append(np.min([start for _, start in found], axis=0) + d.offset)
        return np.concatenate(blocks), np.concatenate(starts)

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

    # --- other sources ---------------------------------------------------------------------------------------

    def with_shifted_source(self, how: CircularShift, rng: np.random.Generator) -> float:
        """Shift every source around the end of its stretch, by the same time for all of them."""
        moved = []
        for d in self.domains:
            counts = [len(d.times[node]) for node, _ in (*self.sources, *self.given)]
            usual = 2 * (len(counts) + 1) * d.length / max(1, min(counts))
            least = min(how.min_shift or usual, d.length / 4)
            shift = rng.uniform(least, d.length - least)
            # Once around the end of the stretch, and the same once more before its start.
            start = d.ends - d.length
            turned = [np.sort((t - start + shift) % d.length) + start for t in d.times]
            moved.append(d._replace(times=tuple(np.concatenate([t - d.length, t]) for t in turned)))
        y, other_y = (self._all(self.sources, at, moved)[0] for at in (self.at, self.random))
        return self.value(self.local(y, other_y))

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
