"""transfer_entropy and significance of events: what `measures` and `significance` call for `Events`."""

from typing import Any

from enmesh.errors import InputError
from enmesh.events.events import Events
from enmesh.events.point_process import PointProcess
from enmesh.events.transfers import EventTransfers
from enmesh.measures import link
from enmesh.options import whole
from enmesh.significance import Significance
from enmesh.surrogates import Surrogate
from enmesh.tasks import run

USUAL = 199  # surrogates, where none are asked for


def prepared(events: Events, estimator: Any, **samples: Any) -> EventTransfers:
    """Return the transfers of events; refuse what belongs to samples."""
    for name, value in samples.items():
        if value is not None:
            raise InputError(f"{name} belongs to samples; events have histories, see PointProcess")
    if isinstance(estimator, str):
        raise InputError(f"estimator={estimator!r} takes samples; give PointProcess() for events")
    return EventTransfers(events, estimator or PointProcess())


def transfer_entropy(
    events: Events, source: Any, target: Any, given: Any, estimator: Any, embedding: Any, local: bool
) -> Any:
    """Return the transfer entropy rate, or the value of every target event."""
    sources, end, rest = link(events, source, target, given)  # type: ignore[arg-type]
    return prepared(events, estimator, embedding=embedding).value(sources, end, rest, pointwise=local)


def significance(
    events: Events,
    source: Any,
    target: Any,
    given: Any,
    estimator: Any,
    surrogate: Surrogate | None,
    n_surrogates: int | None,
    seed: int,
    **samples: Any,
) -> Significance:
    """Test a transfer entropy of events against surrogates."""
    n_surrogates = USUAL if n_surrogates is None else n_surrogates
    if whole("n_surrogates", n_surrogates) == 0:
        raise InputError("the null distribution of PointProcess is not known; give n_surrogates, such as 199")
    sources, end, rest = link(events, source, target, given)  # type: ignore[arg-type]
    transfers = prepared(events, estimator, **samples)
    return run(transfers.test(sources, end, rest, surrogate, n_surrogates, seed))
