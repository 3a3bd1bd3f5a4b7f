"""Greedy hill climbing: add, remove or reverse the edge that helps most, until none helps; then start again
elsewhere.

Koller and Friedman, "Probabilistic Graphical Models" (2009), section 18.4.3.
"""

from enmesh.errors import InputError
from enmesh.options import option
from enmesh.search.base import Evaluate, Found, Memo, Problem, conclude
from enmesh.search.local import Position, Rules, climb, starts


@option
class HillClimb:
    """Steepest ascent from the graph of required edges and from ``restarts`` random graphs.

    The best local optimum is returned. Fast and good, but proves nothing: ``optimal`` is False.

    >>> from enmesh.search.tables import Table
    >>> scores = Table({(0, ()): 0.0, (0, (1,)): 1.0, (1, ()): 0.0, (1, (0,)): 2.0})
    >>> HillClimb().run(scores, Problem(n_nodes=2, max_parents=1)).parents
    ((), (0,))
    """

    restarts: int = 50

    def __post_init__(self):
        if self.restarts < 0:
            raise InputError(f"restarts is {self.restarts}; it must be 0 or more")

    def run(self, evaluate: Evaluate, problem: Problem) -> Found:
        """Return the best graph found."""
        memo, rules = Memo(evaluate, problem), Rules.of(problem)
        tops = (climb(Position(memo, rules, start)) for start in starts(problem, self.restarts))
        return conclude(memo, min(top.rank for top in tops)[-1])
