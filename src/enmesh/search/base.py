"""What every search shares: the problem, the answer, and the memory of scores.

A search sees scores only through ``evaluate(families)``: a family is ``(target, parents)``, parents in ascending order,
a score is a float, higher is better. The graph's score is the sum of its families' scores.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum, inf, isfinite, nan
from typing import NamedTuple

import numpy as np

from enmesh.errors import InputError
from enmesh.methods import Method
from enmesh.options import whole_fields
from enmesh.search.graphs import Parents, adjacency, edges, find_cycle, from_edges

Family = tuple[int, tuple[int, ...]]
Evaluate = Callable[[Sequence[Family]], np.ndarray]
Edge = tuple[int, int]
Rank = tuple[float, int, Parents]
"""Key that sorts the better graph first: minus its score, its number of edges, the graph itself."""

# What several searches say of themselves, and the work they follow.
HEURISTIC = "A good graph, not proven: a heuristic of the paper, for comparison and for very large problems."
KOLLER = (
    "Koller, D. and Friedman, N. (2009). Probabilistic Graphical Models: Principles and Techniques. MIT Press, "
    "section 18.4.3."
)


class Bounds(NamedTuple):
    """What is known of a score before it is computed: ``score = fit - penalty``, which both grow with the parent set.

    ``ceiling(target)`` is the fit of all candidates together, the largest of any parent set.
    """

    ceiling: Callable[[int], float]
    penalty: Callable[[int, tuple[int, ...]], float]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What graphs are allowed; there is no data in it.

    ``redundant`` names for each of several families a parent without which it scores no less, or None. ``ceilings``
    bounds their scores from above, infinite where nothing is known, at a small part of what scores cost.
    """

    n_nodes: int
    max_parents: int  # of any node, at most
    acyclic: bool = True  # if not, each node is a problem of its own
    required: frozenset[Edge] = frozenset()  # (source, target) that every graph must have
    forbidden: frozenset[Edge] = frozenset()  # and that none may have
    candidates: tuple[tuple[int, ...], ...] | None = None  # sources each target may have; None: all
    bounds: Bounds | None = None  # where the score has a monotone fit
    redundant: Callable[[Sequence[Family]], Sequence[int | None]] | None = None
    ceilings: Callable[[Sequence[Family]], Sequence[float]] | None = None
    seed: int = 0  # of the searches that draw random numbers
    names: tuple[str, ...] | None = None  # of the nodes, for error messages

    def __post_init__(self) -> None:
        whole_fields(self, n_nodes=1, max_parents=0)
        object.__setattr__(self, "required", frozenset(self.required))
        object.__setattr__(self, "forbidden", frozenset(self.forbidden))
        for what, given in (("names", self.names), ("lists of candidates", self.candidates)):
            if given is not None and len(given) != self.n_nodes:
                each = "name" if given is self.names else "list"
                raise InputError(f"{len(given)} {what} for {self.n_nodes} nodes; give one {each} per node")
        mentioned = {node for edge in self.required | self.forbidden for node in edge}
        mentioned |= {source for sources in self.candidates or () for source in sources}
        if unknown := sorted(node for node in mentioned if not 0 <= node < self.n_nodes):
            raise InputError(f"node {unknown[0]} does not exist; the nodes are 0 to {self.n_nodes - 1}")
        self._refuse_contradictions()

    def _refuse_contradictions(self) -> None:
        loops = {(s, t) for s, t in self.required if s == t}
        outside = {(s, t) for s, t in self.required if s not in self._listed(t)}
        both = self.required & self.forbidden
        own_past = "a node's own past is always conditioned on, leave the edge out"
        for refused, why in (
            (loops, f"required edge {{}} is a self loop; {own_past}"),
            (both, "edge {} is required and forbidden at once; drop it from one of them"),
            (outside, "required edge {} is not among the candidates; add its source to them"),
        ):
            if refused:
                raise InputError(why.format(self.arrows(sorted(refused))))
        needed = from_edges(self.n_nodes, self.required)
        for target, sources in enumerate(needed):
            if len(sources) > self.max_parents:
                needs = f"{len(sources)} parents are required ({self.arrows((s, target) for s in sources)})"
                raise InputError(f"{needs} but max_parents is {self.max_parents}; raise it or require fewer")
        if self.acyclic and (cycle := find_cycle(needed)):
            path = " -> ".join(map(self.name, (*cycle, cycle[0])))
            advice = "drop one of them or allow cycles (acyclic=False)"
            raise InputError(f"the required edges form a cycle, {path}; {advice}")

    def name(self, node: int) -> str:
        """Return the name of a node."""
        return self.names[node] if self.names is not None else str(node)

    def arrows(self, pairs: Iterable[Edge]) -> str:
        """Return edges in words, ``a -> b, b -> c``."""
        return ", ".join(f"{self.name(source)} -> {self.name(target)}" for source, target in pairs)

    def _listed(self, target: int) -> Iterable[int]:
        return range(self.n_nodes) if self.candidates is None else self.candidates[target]

    def needed(self, target: int) -> tuple[int, ...]:
        """Return the required parents of a node."""
        return tuple(sorted(source for source, node in self.required if node == target))

    def allowed(self, target: int) -> tuple[int, ...]:
        """Return every node that may be a parent of ``target``, required ones included."""
        listed = set(self._listed(target)) - {target}
        return tuple(sorted(source for source in listed if (source, target) not in self.forbidden))


class Memo:
    """Scores by family. No family is asked for twice, and what is asked is sorted: order leaves no trace."""

    def __init__(self, evaluate: Evaluate, problem: Problem):
        self._evaluate, self.problem = evaluate, problem
        self.scores: dict[Family, float] = {}

    @cached_property
    def matrices(self) -> tuple[np.ndarray, np.ndarray]:
        """Allowed and required edges, ``[source, target]``."""
        nodes = range(self.problem.n_nodes)
        return adjacency([*map(self.problem.allowed, nodes)]), adjacency([*map(self.problem.needed, nodes)])

    def ask(self, families: Iterable[Family]) -> None:
        """Have the scores of all families, computing in one call those that are new."""
        if not (new := sorted(set(families).difference(self.scores))):
            return
        for family, score in zip(new, map(float, self._evaluate(new)), strict=True):
            if not isfinite(score):
                sources = ", ".join(map(self.problem.name, family[1])) or "no parents"
                what = f"the score of {self.problem.name(family[0])} given {sources} is {score}"
                advice = "leave out series that are constant or identical"
                raise InputError(f"{what}; a search needs finite scores: {advice}")
            self.scores[family] = score

    def __getitem__(self, family: Family) -> float:
        if family not in self.scores:
            self.ask([family])
        return self.scores[family]

    def local(self, parents: Parents) -> tuple[float, ...]:
        """Return the score of each node of a graph."""
        try:
            return tuple(map(self.scores.__getitem__, enumerate(parents)))
        except KeyError:
            self.ask(enumerate(parents))
            return self.local(parents)

    def rank(self, parents: Parents) -> Rank:
        """Return a key that sorts the better graph first: score, then fewer edges, then lexicographic.

        The sum is correctly rounded (`math.fsum`), so it does not depend on the order of the nodes.
        """
        return (-fsum(self.local(parents)), sum(map(len, parents)), parents)


@dataclass(frozen=True, kw_only=True)
class Found:
    """The graph a search found."""

    parents: Parents
    local: tuple[float, ...]  # the score of each node
    optimal: bool  # whether no allowed graph has a higher score, proven
    bound: float  # proven upper bound on the score of any allowed graph; infinite where nothing is known
    gap: float  # best score with cycles allowed minus the score found; NaN where it is not known
    removed: tuple[Edge, ...]  # edges of the best graph with cycles allowed that this one has not
    evaluated: int  # distinct families whose score was asked for

    @property
    def score(self) -> float:
        """Total score: the sum of the local ones, correctly rounded."""
        return fsum(self.local)


class Search(Method, ABC):
    """A procedure that looks for the graph with the best score."""

    @abstractmethod
    def run(self, evaluate: Evaluate, problem: Problem) -> Found:
        """Return the best graph that the procedure finds among those the problem allows."""


def conclude(
    memo: Memo, parents: Parents, *, proven: bool = False, bound: float = inf, free: Parents | None = None
) -> Found:
    """Return the answer of a search; ``free`` is the best graph with cycles allowed, where it is known."""
    local = memo.local(parents)
    score = fsum(local)
    bound = score if proven else bound
    return Found(
        parents=parents,
        local=local,
        optimal=bound <= score,
        bound=max(bound, score),
        gap=nan if free is None else fsum(memo.local(free)) - score,
        removed=() if free is None else tuple(sorted(edges(free) - edges(parents))),
        evaluated=len(memo.scores),
    )
