"""Transfer entropy of every ordered pair of nodes, with p-values and q-values."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh import late
from enmesh.data.series import Series
from enmesh.draw.shown import Shown
from enmesh.embedding import Pasts
from enmesh.errors import hazard, refuse_if
from enmesh.estimators import Estimator
from enmesh.events.events import Events
from enmesh.measures import Transfers
from enmesh.options import error_rate, switch
from enmesh.significance import Sampling, Significance, by_formula, by_surrogates, q_of
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
    level = error_rate("level", level)
    switch("conditional", conditional)
    sampling = Sampling(CircularShift() if surrogate is None else surrogate, n_surrogates, seed)
    idle = surrogate is not None and not n_surrogates
    refuse_if(idle, "surrogate has no effect without n_surrogates; give n_surrogates=199, or leave it out")
    if isinstance(series, Events):
        transfers: Any = late.lazy_import("events").prepared(series, estimator, embedding=embedding)
    else:
        series = Series.of(series).in_order()
        if estimator is None and embedding is None and not n_surrogates:
            scorer = late.lazy_import("plan").default_scorer(series)
            return _of_pairs(series, conditional, lambda source, *rest: ready(scorer.asked([source], *rest)))
        transfers = Transfers.of(series, estimator, embedding)

    def test_of(source: int, target: int, given: Sequence[int]) -> Task[Significance]:
        if n_surrogates and isinstance(series, Events):
            return transfers.test((source,), target, given, surrogate, n_surrogates, seed)
        if n_surrogates:
            return by_surrogates(transfers, (source,), target, given, sampling)
        if transfers.estimator.analytic:
            return ready(by_formula(transfers, (source,), target, given))
        return ready(Significance(transfers.value((source,), target, given), math.nan, np.empty(0), math.nan))

    at = ", lag 1" if embedding is None and not isinstance(series, Events) else ""
    found = _of_pairs(series, conditional, test_of, transfers.estimator.at_once, at)
    if n_surrogates:
        warn_if_too_few(n_surrogates, series.n_nodes * (series.n_nodes - 1), level)
    return found


def _of_pairs(
    series: Any, conditional: bool, test_of: Callable[..., Task[Significance]], at_once: int = 1, at: str = ""
) -> TEMatrix:
    """Test every pair, given nothing else or all other nodes."""
    import pandas as pd

    names, order, size = list(series.names), list(series.given_names), series.n_nodes
    te, p = np.full((2, size, size), np.nan)
    pairs = [(source, target) for target, source in permutations(range(size), 2)]
    given = [[k for k in range(size) if conditional and k not in pair] for pair in pairs]
    with late.lazy_import("progress")() as progress, progress.phase("pairs", len(pairs)):
        tasks = (test_of(*pair, rest) for pair, rest in zip(pairs, given))
        for position, test in interleave(tasks, at_once):
            te[pairs[position]], p[pairs[position]] = test.value, test.p_value
            progress.advance()
    asked = "each pair given all other nodes" if conditional else "pairwise, other nodes not held fixed"
    made = [pd.DataFrame(part, names, names).loc[order, order] for part in (te, p, q_of(p))]
    return TEMatrix(made[0], made[1], made[2], asked + at)


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
