"""Local search over graphs: where a search stands, and which single steps lead on.

A step toggles one edge (adds or removes it) or reverses one, which toggles two. The gain of toggling edge (s,
t) is kept in a matrix, of which a step changes the columns of its targets only; scores are asked for in one
batch per step and only for steps that are legal.
"""

from collections.abc import Callable
from math import fsum
from typing import NamedTuple

import numpy as np

from enmesh.search.base import Edge, Memo, Problem, Rank
from enmesh.search.graphs import Parents, from_edges, topological_order


class Rules(NamedTuple):
    """A problem's constraints as matrices, ``[source, target]``."""

    allowed: np.ndarray
    required: np.ndarray
    max_parents: int
    acyclic: bool

    @classmethod
    def of(cls, problem: Problem) -> "Rules":
        """Return the rules of a problem."""
        allowed = np.zeros((problem.n_nodes,) * 2, bool)
        for target in range(problem.n_nodes):
            allowed[list(problem.allowed(target)), target] = True
        required = np.zeros_like(allowed)
        for edge in problem.required:
            required[edge] = True
        return cls(allowed, required, problem.max_parents, problem.acyclic)


class Steps(NamedTuple):
    """Legal steps, the preferred among equals first: removals, reversals, additions, each by edge."""

    gains: np.ndarray
    toggles: list[tuple[Edge, ...]]


class Position:
    """A graph, with the gain of every legal step from it."""

    def __init__(self, memo: Memo, rules: Rules, parents: Parents):
        self.memo, self.rules = memo, rules
        self.parents = list(parents)
        self.local = list(memo.local(parents))
        n = len(parents)
        self.edge = np.zeros((n, n), bool)
        for target, sources in enumerate(parents):
            self.edge[list(sources), target] = True
        self.gain = np.full((n, n), np.nan)

    @property
    def graph(self) -> Parents:
        """The graph as a value."""
        return tuple(self.parents)

    @property
    def rank(self) -> Rank:
        """Key that sorts the better graph first (`Memo.rank`)."""
        return (-fsum(self.local), int(self.edge.sum()), self.graph)

    def toggled(self, source: int, target: int) -> tuple[int, ...]:
        """Return the parents of ``target`` with ``source`` added or removed."""
        sources = self.parents[target]
        if source in sources:
            return tuple(other for other in sources if other != source)
        return tuple(sorted((*sources, source)))

    def _legal(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the matrices of edges that may be removed, reversed and added."""
        edge, rules = self.edge, self.rules
        room = edge.sum(0) < rules.max_parents
        remove = edge & ~rules.required
        add = ~edge & rules.allowed & room
        if not rules.acyclic:
            return remove, np.zeros_like(edge), add
        path = _closure(edge)
        detour = (edge.astype(np.float32) @ path.astype(np.float32)) > 0  # a path of two edges or more
        reverse = remove & rules.allowed.T & room[:, None] & ~detour
        return remove, reverse, add & ~path.T

    def steps(self) -> Steps:
        """Return all legal steps with their gains."""
        remove, reverse, add = legal = self._legal()
        self._fill(remove | add | reverse | reverse.T)
        both = self.gain + self.gain.T
        gains = (values.T[kind.T] for values, kind in zip((self.gain, both, self.gain), legal))
        return Steps(np.concatenate(list(gains)), _listed(legal))

    def toggles(self) -> list[tuple[Edge, ...]]:
        """Return all legal steps; no score is asked for."""
        return _listed(self._legal())

    def _fill(self, needed: np.ndarray) -> None:
        """Compute the gains that are needed and not known."""
        pairs = np.argwhere(needed & np.isnan(self.gain)).tolist()
        families = [(target, self.toggled(source, target)) for source, target in pairs]
        self.memo.ask(families)
        for (source, target), family in zip(pairs, families):
            self.gain[source, target] = self.memo.scores[family] - self.local[target]

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
    """Return the steps of `Position._legal` one by one, each kind by target, then source."""
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
        if (
            position.rank[:2] >= rank[:2]
        ):  # the rank, a correctly rounded sum, can only fall: no endless climb
            position.take(step[::-1])
            return position


def iterated(
    ascend: Callable[[Parents], Rank], memo: Memo, problem: Problem, *, restarts: int, shake: int
) -> Parents:
    """Return the best graph that ``ascend`` reaches from one start after another.

    ``ascend`` takes a graph to the rank (`Memo.rank`) of the best one it meets. The first start has the required
    edges alone; after that one start in four is a random graph, and the others are the best graph so far after
    ``shake`` random steps, since good graphs lie near each other.
    """
    rng, rules = np.random.default_rng(problem.seed), Rules.of(problem)
    best = ascend(from_edges(problem.n_nodes, problem.required))
    for restart in range(restarts):
        if restart % 4:
            start = wander(Position(memo, rules, best[-1]), shake, rng)
        else:
            start = random_graph(problem, rng)
        best = min(best, ascend(start))
    return best[-1]


def wander(position: Position, count: int, rng: np.random.Generator) -> Parents:
    """Take random legal steps and return the graph they lead to."""
    for _ in range(count):
        toggles = position.toggles()
        if toggles:
            position.take(toggles[rng.integers(len(toggles))])
    return position.graph


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


def _closure(edge: np.ndarray) -> np.ndarray:
    """Return ``[a, b]``: whether a path of one edge or more leads from a to b."""
    path = edge.astype(np.float32)
    reached = 0
    while path.sum() > reached:
        reached = path.sum()
        path = ((path @ path + path) > 0).astype(np.float32)
    return path.astype(bool)
