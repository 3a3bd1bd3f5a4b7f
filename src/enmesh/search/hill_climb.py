"""Greedy hill climbing: add, remove or reverse the edge that helps most, until none helps; then start again elsewhere.

Koller and Friedman, "Probabilistic Graphical Models" (2009), section 18.4.3.
"""

from enmesh.options import option
from enmesh.search.base import Memo, Rank
from enmesh.search.graphs import Parents
from enmesh.search.moves import Position, Restarted, climb


@option
class HillClimb(Restarted):
    """Steepest ascent, restarted; the best local optimum is returned. Nothing is proven: ``optimal`` is False.

    Attributes
    ----------
    restarts
        Number of climbs after the first, which starts from the required edges alone. One in four starts from a
        random graph, the others from the best graph so far after some random steps.
    shake
        Number of these random steps.

    >>> from enmesh.search import Problem
    >>> scores = {(0, ()): 0.0, (0, (1,)): 1.0, (1, ()): 0.0, (1, (0,)): 2.0}
    >>> problem = Problem(n_nodes=2, max_parents=1)
    >>> HillClimb().run(lambda families: [scores[family] for family in families], problem).parents
    ((), (0,))
    """

    cli_name = "hill-climb"
    phrase = "greedy hill climbing with restarts"

    restarts: int = 200
    shake: int = 8

    def ascend(self, memo: Memo, start: Parents) -> Rank:
        """Climb to a local optimum."""
        return climb(Position(memo, start)).rank
