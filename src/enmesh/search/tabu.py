"""Tabu search: always take the best step, even downhill, but do not touch an edge again that was changed just now.

Glover's tabu list over edges (Koller and Friedman 2009, section 18.4.3): the list leads the search out of a
local optimum, and a step to a graph better than any before is taken even if it is on the list (aspiration).
"""

from collections import deque

import numpy as np

from enmesh.options import option, whole_fields
from enmesh.search.base import Edge, Memo, Rank
from enmesh.search.graphs import Parents
from enmesh.search.hill_climb import Position, Restarted


@option
class Tabu(Restarted):
    """Steepest steps under a tabu list, restarted; the best graph met is returned. Nothing is proven.

    Attributes
    ----------
    length
        Number of steps for which a changed edge stays untouched.
    patience
        Steps without a new best graph after which a walk ends.
    restarts, shake
        Number of walks after the first, and of random steps before most of them, as in `HillClimb`.

    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> em.infer(series, score="tea", estimator="gaussian", search=em.Tabu(), max_lag=1).parents["c"]
    ('b',)
    """

    cli_name = "tabu"
    phrase = "tabu search"

    length: int = 10
    patience: int = 50
    restarts: int = 30
    shake: int = 8

    def __post_init__(self) -> None:
        whole_fields(self, length=1, patience=1, restarts=0, shake=1)

    def ascend(self, memo: Memo, start: Parents) -> Rank:
        """Walk until no new best graph is met for a while."""
        position = Position(memo, start)
        best, idle = position.rank, 0
        recent: deque[tuple[Edge, ...]] = deque(maxlen=self.length)
        while idle < self.patience:
            gains, toggles = position.steps()
            touched = {frozenset(edge) for step in recent for edge in step}
            untouched = np.array([frozenset(step[0]) not in touched for step in toggles], bool)
            aspiring = gains > -best[0] + position.rank[0]
            gains = np.where(untouched | aspiring, gains, -np.inf)
            if not np.isfinite(gains).any():
                break
            step = toggles[int(np.argmax(gains))]
            position.take(step)
            recent.append(step)
            idle = 0 if position.rank < best else idle + 1
            best = min(best, position.rank)
        return best
