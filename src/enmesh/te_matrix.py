"""Transfer entropy of every ordered pair of nodes, with p-values and q-values."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh import late
from enmesh.data.series import Series
from enmesh.embedding import Embedding, Pasts
from enmesh.errors import hazard
from enmesh.estimators import KSG, Estimator
from enmesh.events.events import Events
from enmesh.measures import Transfers
from enmesh.options import whole
from enmesh.significance import Sampling, Significance, analytic, by_surrogates, lag_choices, q_values
from enmesh.surrogates import CircularShift, Surrogate
from enmesh.tasks import Task, interleave, ready

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class TEMatrix:
    """Transfer entropies between all pairs: DataFrames ``te``, ``p_value``, ``q_value``; the row drives the column."""

    te: "pd.DataFrame"
    p_value: "pd.DataFrame"
    q_value: "pd.DataFrame"

    def _repr_html_(self) -> str:
        from enmesh.draw.report.notebook import te_matrix_html

        parts = (part.to_numpy(float) for part in (self.te, self.p_value, self.q_value))
        return te_matrix_html(list(self.te.columns), *parts)


def te_matrix(
    series: Series | Events,
    *,
    estimator: Estimator | str | None = None,
    embedding: Pasts | None = None,
    conditional: bool = False,
    surrogate: Surrogate | None = None,
    n_surrogates: int = 0,
    level: float = 0.05,
    seed: int = 0,
) -> TEMatrix:
    """Return transfer entropy, p-value and Benjamini-Hochberg q-value of every ordered pair.

    Parameters
    ----------
    conditional
        Condition each pair on all other nodes.
    n_surrogates
        0 takes the analytic p-value where the estimator has one, and none (NaN) elsewhere.
    level
        False discovery rate the q-values will be held against; too few surrogates to reach it are warned of.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> em.te_matrix(series, estimator=em.Gaussian(), conditional=True).te.round(2)
         a     b     c
    a  NaN  0.07  0.00
    b  0.0   NaN  0.09
    c  0.0  0.00   NaN
    """
    import pandas as pd

    transfers: Any
    if isinstance(series, Events):
        transfers = late.room("events").prepared(series, estimator, embedding=embedding)
        whole("n_surrogates", n_surrogates)
    else:
        series = Series.of(series)
        transfers = Transfers(series, estimator or KSG(), embedding or Embedding())
    size = series.n_nodes
    te, p = np.full((2, size, size), np.nan)
    sampling = Sampling(surrogate or CircularShift(), n_surrogates, seed)
    pairs = [(source, target) for target in range(size) for source in range(size) if source != target]

    def test_of(source: int, target: int) -> Task[Significance]:
        given = [k for k in range(size) if conditional and k not in (source, target)]
        if n_surrogates and isinstance(series, Events):
            return transfers.test((source,), target, given, surrogate, n_surrogates, seed)
        if n_surrogates:
            return by_surrogates(transfers, (source,), target, given, sampling)
        if transfers.estimator.analytic:
            x, y, z = transfers.variables((source,), target, given)
            return ready(analytic(transfers, x, y, z, lag_choices(transfers, (source,), target)))
        value = transfers.value((source,), target, given)
        return ready(Significance(value, math.nan, np.empty(0), math.nan))

    for position, test in interleave((test_of(*pair) for pair in pairs), transfers.estimator.at_once):
        te[pairs[position]], p[pairs[position]] = test.value, test.p_value
    if n_surrogates:
        warn_if_too_few(n_surrogates, size * (size - 1), level)
    off, q = ~np.eye(size, dtype=bool), np.full((size, size), np.nan)
    q[off] = q_values(p[off])
    return TEMatrix(*(pd.DataFrame(part, series.names, series.names) for part in (te, p, q)))


def warn_if_too_few(n_surrogates: int, n_tests: int, level: float) -> None:
    """Warn when one true link among ``n_tests`` could not reach a q-value of ``level``."""
    needed = math.ceil(round(n_tests / level, 9)) - 1
    if n_surrogates < needed:
        hazard(
            f"{n_surrogates} surrogates: the smallest q-value that is possible is "
            f"{min(1.0, n_tests / (1 + n_surrogates)):.2g}, for a single link among {n_tests}; "
            f"{needed} are needed for {level:g}"
        )
