"""Transfer entropies between the nodes of `Events`: what measures, tests and scores of samples call for events."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from enmesh.errors import InputError, collected_hazards, refuse_if
from enmesh.events.events import Events
from enmesh.events.nearby import EventSurrogates
from enmesh.events.point_process import GREEDY, NearbyHistories, PointProcess
from enmesh.events.question import Part, Question
from enmesh.methods import resolve
from enmesh.options import whole
from enmesh.significance import Significance, sampled
from enmesh.surrogates import Surrogate, stream_of
from enmesh.tasks import Task, run

KEPT = 8  # questions whose histories are kept
LONGEST, LEVEL, NEXT_SURROGATES = 5, 0.05, 99  # of the greedy choice of histories
OLDER = 0.01  # level at which older events of a parent are reported


class EventTransfers:
    """Transfer entropies between the nodes of `Events`: what `measures.Transfers` is for samples."""

    joint = None

    def __init__(self, events: Events, estimator: Any):
        self.series, self.estimator = events.spread(), with_histories(events, estimator)
        widest = max(self.estimator.history("target", name) for name in events.names)
        most = max(events.counts.values())
        self.blocks = SimpleNamespace(n=most, n_nodes=events.n_nodes, widest=widest, searched=0)
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

    def value(self, sources: Sequence[int], target: int, given: Sequence[int] = (), *, pointwise: bool = False) -> Any:
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
        if whole("n_surrogates", count) == 0:
            told = "the null distribution of PointProcess is not known"
            raise InputError(f"{told}; give n_surrogates, such as 199")
        stream = stream_of("events", seed, target, tuple(sorted(sources)))
        question = self.question(sources, target, given)
        how = resolve(Surrogate, self.estimator.usual_surrogate if surrogate is None else surrogate)
        surrogates: Any = EventSurrogates(question, how, stream)
        return (yield from sampled(surrogates, count, level=level))

    def twin(self) -> "EventTransfers":
        """Return the same for another thread."""
        twin = object.__new__(EventTransfers)
        vars(twin).update(vars(self), _asked=OrderedDict())
        return twin


def with_histories(events: Events, estimator: Any) -> PointProcess:
    """Return the estimator with histories of known lengths: ``"greedy"`` adds a node's intervals while they tell.

    The next interval of a node's own history is tested as if it were a source, given those before it.
    """
    if not isinstance(estimator, PointProcess):
        told = f"{type(estimator).__name__} takes samples, not events"
        raise InputError(f"{told}; use PointProcess(), or bin the events")
    if estimator.target_history != GREEDY:
        return estimator
    spread, found = events.spread(), {}
    for i, name in enumerate(events.names):
        length = 1
        while length < LONGEST and next_value(spread, estimator, i, [(i, length)], i, LEVEL) <= LEVEL:
            length += 1
        found[name] = length
    return replace(estimator, target_history=found)


def next_value(
    events: Events, how: PointProcess, source: int, given: Sequence[Part], target: int, level: float
) -> float:
    """Return the p-value of the next value of a node's history, given its first ones and the other histories."""
    length = dict(given)[source]
    asked = Question(events, how, [(source, length + 1)], given, target, known=length)
    surrogates: Any = EventSurrogates(asked, NearbyHistories(), asked.stream)
    return run(sampled(surrogates, NEXT_SURROGATES, level=level)).p_value


def older_events(events: Events, how: PointProcess, parents: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Return the links of a network whose source acts through older events than its history has.

    The next value of the source's history is then significant given the histories of the target and of all parents. A
    link to the same target may be false: its source tells when the older events were.
    """
    spread, place, found = events.spread(), events.names.index, []
    for name, sources in parents.items():
        known = [(place(j), how.history("condition", j)) for j in sources]
        given = [(place(name), how.history("target", name)), *known]
        for j in sources:
            with collected_hazards(show=False), suppress(InputError):  # too few events to tell
                if next_value(spread, how, place(j), given, place(name), OLDER) <= OLDER:
                    found.append((j, name))
    return found


def prepared(events: Events, estimator: Any, **samples: Any) -> EventTransfers:
    """Return the transfers of events; refuse what belongs to samples."""
    for name, value in samples.items():
        instead = "leave it out, or give PointProcess(source_history=2)"
        refuse_if(value is not None, f"{name} belongs to samples and events have histories; {instead}")
    if isinstance(estimator, str):
        raise InputError(f"estimator={estimator!r} takes samples; give PointProcess() for events")
    return EventTransfers(events, PointProcess() if estimator is None else estimator)
