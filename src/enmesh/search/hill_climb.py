"""Greedy hill climbing: add, remove or reverse the edge that helps most, until none helps; then start again
elsewhere.

Koller and Friedman, "Probabilistic Graphical Models" (2009), section 18.4.3.
"""

import numpy as np

from enmesh.errors import InputError
from enmesh.graphs import from_edges
from enmesh.options import option
from enmesh.search.base import Evaluate, Found, Memo, Problem, conclude
from enmesh.search.local import Position, Rules, climb, random_graph, wander


@option
class HillClimb:
    """Steepest ascent, restarted ``restarts`` times: from a random graph, or from the best one after random
    steps.

    The first climb starts from the required edges alone. Restarts take turns: one starts from a random graph,
    the next three from the best graph so far after ``shake`` random steps, since good graphs lie near each
    other. The best local optimum is returned; nothing is proven, ``optimal`` is False.

    >>> from enmesh.search.tables import Table
    >>> scores = Table({(0, ()): 0.0, (0, (1,)): 1.0, (1, ()): 0.0, (1, (0,)): 2.0})
    >>> HillClimb().run(scores, Problem(n_nodes=2, max_parents=1)).parents
    ((), (0,))
    """

    restarts: int = 200
    shake: int = 5

    def __post_init__(self):
        if self.restarts < 0 or self.shake < 1:
            raise InputError(
                f"restarts is {self.restarts}, shake {self.shake}; they must be at least 0 and 1"
            )

    def run(self, evaluate: Evaluate, problem: Problem) -> Found:
        """Return the best graph found."""
        memo, rules, rng = Memo(evaluate, problem), Rules.of(problem), np.random.default_rng(problem.seed)
        best = climb(Position(memo, rules, from_edges(problem.n_nodes, problem.required))).rank
        for restart in range(self.restarts):
            position = Position(memo, rules, best[-1] if restart % 4 else random_graph(problem, rng))
            if restart % 4:
                wander(position, self.shake, rng)
            best = min(best, climb(position).rank)
        return conclude(memo, best[-1])
