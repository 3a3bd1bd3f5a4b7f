"""Transfer entropy of every ordered pair of nodes, and dependence within a sample, with p-values and q-values."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh import late
from enmesh.data.series import Series
from enmesh.embedding import Lagged, Pasts
from enmesh.errors import InputError, hazard
from enmesh.estimators import Estimator, Gaussian
from enmesh.events.events import Events
from enmesh.measures import Transfers
from enmesh.significance import Sampling, Significance, analytic, by_formula, by_surrogates, q_values
from enmesh.surrogates import CircularShift, Surrogate
from enmesh.tasks import Task, interleave, ready

if TYPE_CHECKING:
    import pandas as pd


# Pairs up to which dependence within a sample is tested.
MOST_PAIRS = 400


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
    n_surrogates, level
        0 takes the analytic p-value where the estimator has one, and none (NaN) elsewhere; surrogates too few to reach
        this false discovery rate are warned of.

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

    if isinstance(series, Events):
        transfers: Any = late.room("events").prepared(series, estimator, embedding=embedding)
    else:
        series = Series.of(series).in_order()
        transfers = Transfers.of(series, estimator, embedding)
    names, size = series.names, series.n_nodes
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
            return ready(by_formula(transfers, (source,), target, given))
        return ready(Significance(transfers.value((source,), target, given), math.nan, np.empty(0), math.nan))

    for position, test in interleave((test_of(*pair) for pair in pairs), transfers.estimator.at_once):
        te[pairs[position]], p[pairs[position]] = test.value, test.p_value
    if n_surrogates:
        warn_if_too_few(n_surrogates, size * (size - 1), level)
    q, off = np.full((size, size), np.nan), ~np.eye(size, dtype=bool)
    q[off] = q_values(p[off])
    given = list(series.given_names)
    return TEMatrix(*(pd.DataFrame(part, names, names).loc[given, given] for part in (te, p, q)))


def instantaneous_of(
    series: Series, pasts: Pasts, parents: Sequence[Sequence[int]]
) -> tuple[tuple[str, str, float, float, float], ...]:
    """Test which pairs depend on each other within one sample, given the pasts of both and of their parents.

    By the linear test on normal scores: names, value in nats, p-value and q-value of every pair. A pair for which that
    test does not exist, because a node follows from the rest without a remainder, is not in the result.
    """
    found = {}
    pairs = [(i, j) for i in range(series.n_nodes) for j in range(i)]
    if set(series.kinds) != {"float"} or len(pairs) > MOST_PAIRS:
        return ()
    transfers = Transfers(series, Gaussian(normalise="rank"), pasts)
    for i, j in pairs:
        known = {v for end in (i, j) for v in transfers.variables([], end, parents[end])[2]}
        try:
            found[i, j] = analytic(transfers, [Lagged(j, 0)], Lagged(i, 0), sorted(known))
        except InputError:  # no remainder, or more coefficients than samples: there is no such test
            continue
    q = q_values(np.array([test.p_value for test in found.values()]))
    return tuple(
        (series.names[j], series.names[i], float(test.value), float(test.p_value), float(q[row]))
        for row, ((i, j), test) in enumerate(found.items())
    )


def warn_if_too_few(n_surrogates: int, n_tests: int, level: float) -> None:
    """Warn when one true link among ``n_tests`` could not reach a q-value of ``level``."""
    needed = math.ceil(round(n_tests / level, 9)) - 1
    if n_surrogates < needed:
        hazard(
            f"{n_surrogates} surrogates: the smallest q-value that is possible is "
            f"{min(1.0, n_tests / (1 + n_surrogates)):.2g}, for a single link among {n_tests}; "
            f"{needed} are needed for {level:g}"
        )
