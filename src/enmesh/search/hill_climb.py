"""Greedy hill climbing: add, remove or reverse the edge that helps most, until none helps; then start again
elsewhere.

Koller and Friedman, "Probabilistic Graphical Models" (2009), section 18.4.3.
"""

from enmesh.options import option
from enmesh.search.base import Evaluate, Found, Memo, Problem, conclude
from enmesh.search.moves import Position, Rules, check_restarts, climb, iterated


@option
class HillClimb:
    """Steepest ascent, restarted; the best local optimum is returned. Nothing is proven: ``optimal`` is False.

    Attributes
    ----------
    restarts
        Number of climbs after the first, which starts from the required edges alone. One in four starts from a
        random graph, the others from the best graph so far after some random steps.
    shake
        Number of these random steps.

    >>> from enmesh.search.random_tables import Table
    >>> scores = Table({(0, ()): 0.0, (0, (1,)): 1.0, (1, ()): 0.0, (1, (0,)): 2.0})
    >>> HillClimb().run(scores, Problem(n_nodes=2, max_parents=1)).parents
    ((), (0,))
    """

    restarts: int = 200
    shake: int = 8

    def __post_init__(self):
        check_restarts(self.restarts, self.shake)

    def run(self, evaluate: Evaluate, problem: Problem) -> Found:
        """Return the best graph found."""
        memo, rules = Memo(evaluate, problem), Rules.of(problem)
        best = iterated(
            lambda start: climb(Position(memo, rules, start)).rank,
            memo,
            problem,
            restarts=self.restarts,
            shake=self.shake,
        )
        return conclude(memo, best)
