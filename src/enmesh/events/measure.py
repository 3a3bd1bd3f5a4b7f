"""transfer_entropy, significance and te_matrix of events: what `measures` and `significance` call for `Events`."""

from typing import Any

import numpy as np

from enmesh.errors import InputError
from enmesh.events.events import Events
from enmesh.events.point_process import PointProcess
from enmesh.events.transfers import EventTransfers
from enmesh.measures import link
from enmesh.options import whole
from enmesh.significance import Significance, q_values
from enmesh.surrogates import Surrogate
from enmesh.tasks import run
from enmesh.te_matrix import TEMatrix, warn_if_too_few

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
    _refuse_none(n_surrogates)
    sources, end, rest = link(events, source, target, given)  # type: ignore[arg-type]
    transfers = prepared(events, estimator, **samples)
    return run(transfers.test(sources, end, rest, surrogate, n_surrogates, seed))


def te_matrix(
    events: Events,
    estimator: Any,
    embedding: Any,
    conditional: bool,
    surrogate: Surrogate | None,
    n_surrogates: int,
    level: float,
    seed: int,
) -> TEMatrix:
    """Return transfer entropy, p-value and q-value of every ordered pair; without surrogates no p-values."""
    import pandas as pd

    whole("n_surrogates", n_surrogates)
    transfers, size = prepared(events, estimator, embedding=embedding), events.n_nodes
    te, p, q = np.full((3, size, size), np.nan)
    for i in range(size):
        for j in range(size):
            if i != j:
                given = tuple(k for k in range(size) if conditional and k not in (i, j))
                if n_surrogates:
                    test = run(transfers.test((j,), i, given, surrogate, n_surrogates, seed))
                    te[j, i], p[j, i] = test.value, test.p_value
                else:
                    te[j, i] = transfers.value((j,), i, given)
    off = ~np.eye(size, dtype=bool)
    q[off] = q_values(p[off])
    if n_surrogates:
        warn_if_too_few(n_surrogates, size * (size - 1), level)
    names = list(events.names)
    return TEMatrix(*(pd.DataFrame(part, names, names) for part in (te, p, q)))


def _refuse_none(n_surrogates: int) -> None:
    if whole("n_surrogates", n_surrogates) == 0:
        raise InputError("the null distribution of PointProcess is not known; give n_surrogates, such as 199")
