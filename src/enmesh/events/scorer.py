"""Scores of events: TEE, with histories in place of pasts and a test made for them."""

from typing import Any

from enmesh.events.transfers import EventTransfers
from enmesh.scores.tee import TEEScorer
from enmesh.significance import Sampling, Significance
from enmesh.tasks import Task


class EventScorer(TEEScorer):
    """Scores families (target, parents) of `Events`; values are rates, nats per unit of time or per event."""

    transfers: Any

    def _transfers(self, series: Any, estimator: Any) -> Any:
        return EventTransfers(series, estimator)

    def _sampled(
        self, sources: Any, target: int, given: Any, sampling: Sampling, level: float | None = None
    ) -> Task[Significance]:
        how = sampling.surrogate, sampling.count, sampling.seed
        return self.transfers.test(sources, target, given, *how, level)

    def lags(self, source: int, target: int) -> tuple[Any, ...]:
        """Return how long after an event of the source the target's events are most, or least, frequent."""
        return (float(f"{self.transfers.question((source,), target).delay():.2g}"),)
