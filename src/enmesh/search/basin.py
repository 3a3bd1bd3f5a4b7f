"""Basin flooding: when a climb ends, let the water rise until it runs over into a better basin.

All graphs visited are remembered. The best graph that borders on a visited one is visited next, so the flood
fills the basin around a local optimum from the top down and leaves it over its lowest rim (Koller and
Friedman 2009, section 18.4.3).
"""

import heapq

from enmesh.options import option, whole_fields
from enmesh.search.base import HEURISTIC, KOLLER, Evaluate, Found, Memo, Problem, Search, conclude
from enmesh.search.graphs import from_edges
from enmesh.search.hill_climb import Position, climb


@option
class BasinFlooding(Search):
    """Best-first flood from the local optimum that a climb from the graph of required edges reaches.

    Attributes
    ----------
    patience
        Graphs visited without a new best one after which the flood stops.

    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> em.infer(series, score="tea", estimator="gaussian", search=em.BasinFlooding(), max_lag=1).optimal
    False
    """

    cli_name = "basin"
    summary = HEURISTIC
    phrase = "basin flooding"
    references = (KOLLER,)

    patience: int = 500

    def __post_init__(self) -> None:
        whole_fields(self, patience=1)

    def run(self, evaluate: Evaluate, problem: Problem) -> Found:
        """Return the best graph found."""
        memo = Memo(evaluate, problem)
        best = climb(Position(memo, from_edges(problem.n_nodes, problem.required))).rank
        rim, seen, idle = [best], {best[-1]}, 0
        while rim and idle < self.patience:
            position = Position(memo, heapq.heappop(rim)[-1])
            idle = 0 if position.rank < best else idle + 1
            best = min(best, position.rank)
            for graph in map(position.after, position.steps()[1]):
                if graph not in seen:
                    seen.add(graph)
                    heapq.heappush(rim, memo.rank(graph))
        return conclude(memo, best[-1])
