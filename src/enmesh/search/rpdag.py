"""Search over restricted partially directed graphs (RPDAGs): classes of acyclic graphs instead of graphs.

Acid and de Campos, JAIR 18 (2003). Where a score gives all graphs of a class the same value (symmetric
scores), the search skips the steps between them. Transfer entropy is no such score, T(X -> Y) is not T(Y ->
X), although the paper says so (section on score-equivalence); a class is therefore valued by its best graph,
which is the same for symmetric scores and makes the search a heuristic over graphs for all others.
"""

from collections.abc import Iterable
from math import fsum, inf

from enmesh.options import option
from enmesh.search.base import Family, Memo, Rank
from enmesh.search.graphs import Parents, RestrictedPDAG
from enmesh.search.hill_climb import Position, Restarted, climb


@option
class RPDAG(Restarted):
    """Steepest ascent over RPDAGs with the operators A_arc, A_link, A_hh, D_arc and D_link.

    The best graph of the best class is returned, scored exactly. With cycles allowed there are no classes, and each
    node is climbed alone by adding and removing edges.

    Attributes
    ----------
    restarts, shake
        Number of climbs after the first, and of random steps before most of them, as in `HillClimb`.

    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> em.infer(series, score="tea", estimator="gaussian", search=em.RPDAG(), max_lag=1).parents["c"]
    ('b',)
    """

    cli_name = "rpdag"
    phrase = "a search over restricted partially directed graphs"
    references = (
        "Acid, S. and de Campos, L. M. (2003). Searching for Bayesian Network Structures in the Space of Restricted "
        "Acyclic Partially Directed Graphs. Journal of Artificial Intelligence Research 18, 445.",
    )

    restarts: int = 40
    shake: int = 8

    def ascend(self, memo: Memo, start: Parents) -> Rank:
        """Climb over classes, or, with cycles allowed, over graphs."""
        if memo.problem.acyclic:
            return Classes(memo).climb(RestrictedPDAG.of(start))
        return climb(Position(memo, start)).rank


class Classes:
    """Values of RPDAGs under a problem."""

    def __init__(self, memo: Memo):
        problem, self.memo = memo.problem, memo
        self.limits = [(set(problem.needed(i)), set(problem.allowed(i))) for i in range(problem.n_nodes)]

    def fits(self, family: Family) -> bool:
        """Return whether a family is allowed."""
        needed, allowed = self.limits[family[0]]
        return needed <= set(family[1]) <= allowed and len(family[1]) <= self.memo.problem.max_parents

    def layouts(self, pdag: RestrictedPDAG) -> list[list[list[Family]]] | None:
        """Return for each piece its allowed layouts: a tree has one per root, a node with parents just one.

        None if some piece has none, that is if no graph of the class is allowed.
        """
        pieces = [[[(node, tuple(sorted(sources)))]] for node, sources in enumerate(pdag.parents) if sources]
        pieces += [[list(pdag.rooted(root).items()) for root in tree] for tree in pdag.trees()]
        pieces = [[layout for layout in piece if all(map(self.fits, layout))] for piece in pieces]
        return pieces if all(pieces) else None

    def rank(self, pieces: list[list[list[Family]]]) -> Rank:
        """Return the rank of the best graph of a class (`Memo.rank`)."""

        def order(layout: list[Family]) -> tuple[float, list[Family]]:
            return -fsum(self.memo[family] for family in layout), sorted(layout)

        best = [min(piece, key=order) for piece in pieces]
        parents = tuple(sources for _, sources in sorted(family for layout in best for family in layout))
        return self.memo.rank(parents)

    def climb(self, pdag: RestrictedPDAG) -> Rank:
        """Return the rank of the local optimum that steepest ascent reaches."""
        best: Rank = (inf, 0, ())
        better = self._ranked([pdag])
        while better and better[0][0][:2] < best[:2]:
            best, pdag = better[0]
            better = self._ranked(pdag.neighbours())
        return best

    def _ranked(self, pdags: Iterable[RestrictedPDAG]) -> list[tuple[Rank, RestrictedPDAG]]:
        """Return allowed classes as ``(rank, class)``, the best first; all scores are asked for at once."""
        laid = [(pdag, pieces) for pdag in pdags if (pieces := self.layouts(pdag))]
        layouts = (layout for _, pieces in laid for piece in pieces for layout in piece)
        self.memo.ask(family for layout in layouts for family in layout)
        return sorted(((self.rank(pieces), pdag) for pdag, pieces in laid), key=lambda pair: pair[0])
