"""Transfer entropies between the nodes of `Events`, and how long their own histories are."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from enmesh.errors import InputError
from enmesh.events.events import Events
from enmesh.events.nearby import EventSurrogates
from enmesh.events.point_process import GREEDY, NearbyHistories, PointProcess
from enmesh.events.question import Node, Part, Question
from enmesh.significance import Significance, sampled
from enmesh.surrogates import Surrogate, stream_of
from enmesh.tasks import Task, run

KEPT = 8  # questions whose histories are kept
LONGEST, LEVEL, GREEDY_SURROGATES = 5, 0.05, 99  # of the greedy choice of histories


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
