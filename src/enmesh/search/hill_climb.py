"""Hill climbing, and what all local searches share: where a search stands, and which single steps lead on.

A step toggles one edge (adds or removes it) or reverses one, which toggles two. The gain of toggling an edge is kept
in a matrix, of which a step changes the columns of its targets only; scores are asked for in one batch per step and
only for steps that are legal. Koller and Friedman, "Probabilistic Graphical Models" (2009), section 18.4.3.
"""

from abc import abstractmethod
from math import fsum

import numpy as np

from enmesh.options import option, whole_fields
from enmesh.search.base import HEURISTIC, KOLLER, Edge, Evaluate, Found, Memo, Problem, Rank, Search, conclude
from enmesh.search.graphs import Parents, adjacency, ancestors, from_edges, topological_order


class Position:
    """A graph, with the gain of every legal step from it."""

    def __init__(self, memo: Memo, parents: Parents):
        self.memo, self.parents, self.local = memo, list(parents), list(memo.local(parents))
        self.edge = adjacency(parents)
        self.gain = np.full(self.edge.shape, np.nan)

    @property
    def rank(self) -> Rank:
        """Key that sorts the better graph first (`Memo.rank`)."""
        return (-fsum(self.local), int(self.edge.sum()), tuple(self.parents))

    def toggled(self, source: int, target: int) -> tuple[int, ...]:
        """Return the parents of ``target`` with ``source`` added or removed."""
        sources = self.parents[target]
        if source in sources:
            return tuple(other for other in sources if other != source)
        return tuple(sorted((*sources, source)))

    def legal(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the matrices of edges that may be removed, reversed and added."""
        edge, problem = self.edge, self.memo.problem
        allowed, required = self.memo.matrices
        room = edge.sum(0) < problem.max_parents
        remove = edge & ~required
        add = ~edge & allowed & room
        if not problem.acyclic:
            return remove, np.zeros_like(edge), add
        above = ancestors(self.parents)
        path = np.array([[bits >> node & 1 for bits in above] for node in range(len(above))], bool)
        detour = (edge.astype(np.float32) @ path.astype(np.float32)) > 0  # a path of two edges or more
        reverse = remove & allowed.T & room[:, None] & ~detour
        return remove, reverse, add & ~path.T

    def steps(self) -> tuple[np.ndarray, list[tuple[Edge, ...]]]:
        """Return the gains of all legal steps, and the steps, the preferred among equals first."""
        remove, reverse, add = legal = self.legal()
        needed = remove | add | reverse | reverse.T
        pairs = np.argwhere(needed & np.isnan(self.gain)).tolist()
        families = [(target, self.toggled(source, target)) for source, target in pairs]
        self.memo.ask(families)
        for (source, target), family in zip(pairs, families):
            self.gain[source, target] = self.memo.scores[family] - self.local[target]
        both = self.gain + self.gain.T
        gains = [values.T[kind.T] for values, kind in zip((self.gain, both, self.gain), legal)]
        return np.concatenate(gains), _listed(legal)

    def take(self, toggles: tuple[Edge, ...]) -> None:
        """Make a step."""
        for source, target in toggles:
            self.parents[target] = self.toggled(source, target)
            self.local[target] = self.memo[target, self.parents[target]]
            self.edge[source, target] ^= True
            self.gain[:, target] = np.nan

    def after(self, toggles: tuple[Edge, ...]) -> Parents:
        """Return the graph that a step leads to."""
        parents = list(self.parents)
        for source, target in toggles:
            parents[target] = self.toggled(source, target)
        return tuple(parents)


def _listed(legal: tuple[np.ndarray, np.ndarray, np.ndarray]) -> list[tuple[Edge, ...]]:
    """Return removals, reversals and additions one by one, each kind by target, then source."""
    removals, reversals, additions = ([(s, t) for t, s in np.argwhere(kind.T).tolist()] for kind in legal)
    reversed_too = [((s, t), (t, s)) for s, t in reversals]
    return [*((e,) for e in removals), *reversed_too, *((e,) for e in additions)]


def climb(position: Position) -> Position:
    """Take the steepest step until none improves the rank; return the position, then a local optimum."""
    while True:
        gains, toggles = position.steps()
        if not len(gains):
            return position
        rank, step = position.rank, toggles[int(np.argmax(gains))]
        position.take(step)
        if position.rank[:2] >= rank[:2]:  # a correctly rounded sum, so that no climb is endless
            position.take(step[::-1])
            return position


class Restarted(Search):
    """A search that ascends from one start after another and keeps the best graph; nothing is proven.

    The first start has the required edges alone; after that one in four is a random graph, and the others are the best
    graph so far after ``shake`` random steps, since good graphs lie near each other.
    """

    summary = HEURISTIC
    references = (KOLLER,)
    restarts: int
    shake: int

    def __post_init__(self) -> None:
        whole_fields(self, restarts=0, shake=1)

    @abstractmethod
    def ascend(self, memo: Memo, start: Parents) -> Rank:
        """Return the rank (`Memo.rank`) of the best graph that is met from a start."""

    def run(self, evaluate: Evaluate, problem: Problem) -> Found:
        """Return the best graph found."""
        memo, rng = Memo(evaluate, problem), np.random.default_rng(problem.seed)
        best = self.ascend(memo, from_edges(problem.n_nodes, problem.required))
        for restart in range(self.restarts):
            start = random_graph(problem, rng) if restart % 4 == 0 else best[-1]
            position = Position(memo, start)
            for _ in range(self.shake if restart % 4 else 0):
                toggles = _listed(position.legal())  # no score is asked for
                if toggles:
                    position.take(toggles[rng.integers(len(toggles))])
            best = min(best, self.ascend(memo, tuple(position.parents)))
        return conclude(memo, best[-1])


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


def random_graph(problem: Problem, rng: np.random.Generator) -> Parents:
    """Return a random allowed graph: a random order, and for each node some random parents before it."""
    n = problem.n_nodes
    needed = [problem.needed(target) for target in range(n)]
    place = np.empty(n, int)
    place[topological_order(needed, rng) if problem.acyclic else rng.permutation(n)] = np.arange(n)
    parents = []
    for target in range(n):
        free = [s for s in problem.allowed(target) if s not in needed[target]]
        if problem.acyclic:
            free = [s for s in free if place[s] < place[target]]
        room = min(len(free), problem.max_parents - len(needed[target]))
        drawn = rng.choice(free, rng.integers(room + 1), replace=False).tolist() if room else []
        parents.append(tuple(sorted((*needed[target], *drawn))))
    return tuple(parents)
