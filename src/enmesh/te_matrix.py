"""Transfer entropy of every ordered pair of nodes, with p-values and q-values."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh import late
from enmesh.data.series import Series
from enmesh.draw.shown import Shown
from enmesh.embedding import Pasts
from enmesh.errors import InputError, hazard, refuse_if
from enmesh.estimators import Estimator
from enmesh.events.events import Events
from enmesh.measures import Transfers
from enmesh.significance import Sampling, Significance, by_formula, by_surrogates, q_values
from enmesh.surrogates import CircularShift, Surrogate
from enmesh.tasks import Task, interleave, ready

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class TEMatrix(Shown):
    """Transfer entropies between all pairs: DataFrames ``te``, ``p_value``, ``q_value``; the row drives the column.

    ``asked`` says how each pair was measured: ``"pairwise, lag 1"``, or given all others.
    """

    te: "pd.DataFrame"
    p_value: "pd.DataFrame"
    q_value: "pd.DataFrame"
    asked: str = ""


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
        0 takes the analytic p-value where there is one, none (NaN) elsewhere; too few to reach this rate are warned of.

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

    if not (isinstance(level, (int, float)) and 0 < level < 1):
        raise InputError(f"level={level!r} is not possible; give an error rate between 0 and 1, such as 0.05")
    sampling = Sampling(CircularShift() if surrogate is None else surrogate, n_surrogates, seed)
    idle = surrogate is not None and not n_surrogates
    refuse_if(idle, "surrogate has no effect without n_surrogates; give n_surrogates=199, or leave it out")
    if isinstance(series, Events):
        transfers: Any = late.lazy_import("events").prepared(series, estimator, embedding=embedding)
    else:
        series = Series.of(series).in_order()
        if estimator is None and embedding is None and not n_surrogates:
            return _as_inferred(series, conditional)
        transfers = Transfers.of(series, estimator, embedding)
    size = series.n_nodes

    def test_of(source: int, target: int) -> Task[Significance]:
        given = [k for k in range(size) if conditional and k not in (source, target)]
        if n_surrogates and isinstance(series, Events):
            return transfers.test((source,), target, given, surrogate, n_surrogates, seed)
        if n_surrogates:
            return by_surrogates(transfers, (source,), target, given, sampling)
        if transfers.estimator.analytic:
            return ready(by_formula(transfers, (source,), target, given))
        return ready(Significance(transfers.value((source,), target, given), math.nan, np.empty(0), math.nan))

    te, p = _every_pair(test_of, size, transfers.estimator.at_once)
    if n_surrogates:
        warn_if_too_few(n_surrogates, size * (size - 1), level)
    q, off = np.full((size, size), np.nan), ~np.eye(size, dtype=bool)
    q[off] = q_values(p[off])
    given = list(series.given_names)
    asked = "each pair given all other nodes" if conditional else "pairwise, other nodes not held fixed"
    if embedding is None and not isinstance(series, Events):
        asked += ", lag 1"
    made = [pd.DataFrame(part, series.names, series.names).loc[given, given] for part in (te, p, q)]
    return TEMatrix(made[0], made[1], made[2], asked)


def _every_pair(test_of: Callable[[int, int], Task[Significance]], size: int, at_once: int) -> np.ndarray:
    """Return values and p-values of all pairs ``(2, source, target)``; NaN from a node to itself."""
    found = np.full((2, size, size), np.nan)
    pairs = [(source, target) for target, source in permutations(range(size), 2)]
    with late.lazy_import("progress")() as progress, progress.phase("pairs", len(pairs)):
        for position, test in interleave((test_of(*pair) for pair in pairs), at_once):
            found[:, *pairs[position]] = test.value, test.p_value
            progress.advance()
    return found


def _as_inferred(series: Series, conditional: bool) -> TEMatrix:
    """Return values and p-values of all pairs by the default test, given nothing else or all other nodes."""
    import pandas as pd

    scorer, size = late.lazy_import("plan").default_scorer(series), series.n_nodes
    te, p, q = np.full((3, size, size), np.nan)
    with late.lazy_import("progress")() as progress, progress.phase("pairs", size * (size - 1)):
        for source, target in permutations(range(size), 2):
            given = [k for k in range(size) if conditional and k not in (source, target)]
            test = scorer.asked([source], target, given)
            te[source, target], p[source, target] = test.value, test.p_value
            progress.advance()
    off = ~np.eye(size, dtype=bool)
    q[off] = q_values(p[off])
    names, order = list(series.names), list(series.given_names)
    asked = "each pair given all other nodes" if conditional else "pairwise, other nodes not held fixed"
    made = [pd.DataFrame(part, names, names).loc[order, order] for part in (te, p, q)]
    return TEMatrix(made[0], made[1], made[2], asked)


def warn_if_too_few(
    count: int, n_tests: int, level: float, what: str = "surrogates", one: str = "link among {}"
) -> None:
    """Warn when a single true link among ``n_tests`` could not reach a q-value of ``level``."""
    needed = math.ceil(round(n_tests / level, 9)) - 1
    if count < needed:
        hazard(
            f"{count} {what}: the smallest q-value that is possible is {min(1.0, n_tests / (1 + count)):.2g}, for a "
            f"single {one.format(n_tests)}; {needed} are needed for {level:g}"
        )
