"""Scores of events: TEE, with histories in place of pasts and a test made for them."""

from typing import Any

from enmesh.events.transfers import EventTransfers
from enmesh.scores.base import Link
from enmesh.scores.tee import TEEScorer
from enmesh.significance import Significance
from enmesh.tasks import Task, run


class EventScorer(TEEScorer):
    """Scores families (target, parents) of `Events`; values are rates, nats per unit of time or per event."""

    transfers: Any

    def _transfers(self, series: Any, estimator: Any) -> Any:
        return EventTransfers(series, estimator)

    def test(self, link: Link, level: float | None = None, count: int | None = None) -> Task[Significance]:
        """Test an edge by surrogates."""
        count = self.score.n_surrogates if count is None else count
        how = self.score.surrogate, max(1, count), self.score.seed
        return self.transfers.test((link.source,), link.target, link.given, *how, level)

    def lags(self, source: int, target: int) -> tuple[Any, ...]:
        """Return how long after an event of the source the target's events are most, or least, frequent."""
        return (float(f"{self.transfers.question((source,), target).delay():.2g}"),)

    def _collective(self, target: int, parents: tuple[int, ...]) -> float:
        if self.score.alpha == 0:
            return self.transfers.value(parents, target)
        how = self.score.surrogate, self.score.n_surrogates, self.score.seed
        step = self._step(run(self.transfers.test(parents, target, (), *how)))
        return step.value - step.quantile
