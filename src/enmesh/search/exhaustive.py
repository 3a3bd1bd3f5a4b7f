"""Exhaustive search: score every allowed graph. For small systems, and to check the other searches."""

from enmesh.errors import InputError
from enmesh.options import option
from enmesh.search.base import Evaluate, Found, Memo, Problem, Search, conclude
from enmesh.search.families import best_alone, every_set, generate
from enmesh.search.graphs import dags

LARGEST = 6  # 3.8 million graphs; seven nodes have 1.1 billion


@option
class Exhaustive(Search):
    """Score of every acyclic graph, or of every parent set where cycles are allowed; the best is proven.

    Ties go to the graph with fewer edges, then to the lexicographically first.

    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> em.infer(series, score="tea", estimator="gaussian", search=em.Exhaustive(), max_lag=1).optimal
    True
    """

    cli_name = "exhaustive"
    summary = "The best of all acyclic graphs, proven; up to 6 nodes, as a check."
    phrase = "enumeration of all networks"

    def run(self, evaluate: Evaluate, problem: Problem) -> Found:
        """Return the best graph."""
        if problem.acyclic and problem.n_nodes > LARGEST:
            limit = f"is possible for up to {LARGEST} nodes, not for {problem.n_nodes}"
            advice = "use Exact, which finds the same graph"
            raise InputError(f"Exhaustive scores every acyclic graph, which {limit}; {advice}")
        memo = Memo(evaluate, problem)
        sets = [list(every_set(problem, target)) for target in range(problem.n_nodes)]
        memo.ask((target, parents) for target, allowed in enumerate(sets) for parents in allowed)
        free = best_alone(generate(memo, problem))
        best = min(dags(sets), key=memo.rank) if problem.acyclic else free
        return conclude(memo, best, proven=True, free=free)
