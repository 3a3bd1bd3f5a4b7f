"""Each node alone: the best parents of every node, whatever the others choose. Exact for feedback."""

from enmesh.options import option
from enmesh.search.base import Evaluate, Found, Memo, Problem, Search, conclude
from enmesh.search.families import best_alone, generate


@option
class Independent(Search):
    """Best parents of each node alone, over all allowed parent sets.

    The graph may have cycles: ``Problem.acyclic`` is not looked at, and ``optimal`` means best with cycles
    allowed. Where acyclicity matters, `Exact` begins with this graph and is done if it has no cycle.

    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> em.infer(series, score="tea", estimator="gaussian", search=em.Independent(), max_lag=1).parents["c"]
    ('b',)
    """

    cli_name = "independent"
    summary = "The best parents of each node, proven; for feedback (acyclic=False)."
    phrase = "choosing each node's parents on their own"

    def run(self, evaluate: Evaluate, problem: Problem) -> Found:
        """Return the best graph with cycles allowed."""
        memo = Memo(evaluate, problem)
        free = best_alone(generate(memo, problem))
        return conclude(memo, free, proven=True, free=free)
