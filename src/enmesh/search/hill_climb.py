"""Greedy hill climbing: add, remove or reverse the edge that helps most, until none helps; then start again
elsewhere.

Koller and Friedman, "Probabilistic Graphical Models" (2009), section 18.4.3.
"""

from enmesh.options import option, whole_fields
from enmesh.search.base import KOLLER, Evaluate, Found, Memo, Problem, Search, conclude
from enmesh.search.moves import Position, Rules, climb, iterated


@option
class HillClimb(Search):
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

    cli_name = "hill-climb"
    summary = (
        "A good graph, not proven: one of the paper's heuristics, for comparison and for very large problems."
    )
    references = (KOLLER,)

    restarts: int = 200
    shake: int = 8

    def __post_init__(self) -> None:
        whole_fields(self, restarts=0, shake=1)

    def sentence(self) -> str:
        """Say what was done, for the methods paragraph."""
        return "greedy hill climbing with restarts"

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
