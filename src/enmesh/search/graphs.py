"""Directed graphs as parent tuples: ``parents[target]`` holds the sources of ``target`` in ascending order.

Sets of nodes inside the functions are bit masks (bit j stands for node j), which makes reachability a few integer
operations per node. The second half is the restricted partially directed graph of Acid and de Campos (JAIR 18, 2003).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

Parents = tuple[tuple[int, ...], ...]


def mask(nodes: Iterable[int]) -> int:
    """Return the bit mask of a set of nodes."""
    return sum(1 << node for node in nodes)


def edges(parents: Parents) -> frozenset[tuple[int, int]]:
    """Return the edges ``(source, target)``."""
    return frozenset((source, target) for target, sources in enumerate(parents) for source in sources)


def from_edges(n: int, pairs: Iterable[tuple[int, int]]) -> Parents:
    """Return the graph on ``n`` nodes with the given edges ``(source, target)``."""
    sources: list[set[int]] = [set() for _ in range(n)]
    for source, target in pairs:
        sources[target].add(source)
    return tuple(tuple(sorted(parents)) for parents in sources)


def adjacency(parents: Sequence[Iterable[int]]) -> np.ndarray:
    """Return ``[source, target]``: whether there is that edge."""
    matrix = np.zeros((len(parents),) * 2, bool)
    for target, sources in enumerate(parents):
        matrix[list(sources), target] = True
    return matrix


def ancestors(parents: Sequence[Iterable[int]]) -> list[int]:
    """Return for each node the mask of all nodes from which a path of one edge or more leads to it."""
    above = [mask(sources) for sources in parents]
    for via in range(len(above)):  # Warshall: paths through the nodes up to `via`
        for node, bits in enumerate(above):
            if bits >> via & 1:
                above[node] = bits | above[via]
    return above


def is_acyclic(parents: Sequence[Iterable[int]]) -> bool:
    """Return whether no node is its own ancestor."""
    return not any(bits >> node & 1 for node, bits in enumerate(ancestors(parents)))


def find_cycle(parents: Parents) -> tuple[int, ...]:
    """Return the nodes of one cycle in the direction of its edges, or an empty tuple."""
    if is_acyclic(parents):
        return ()
    import networkx as nx

    cycle = [source for source, _ in nx.find_cycle(nx.DiGraph(sorted(edges(parents))))]
    least = cycle.index(min(cycle))
    return tuple(cycle[least:] + cycle[:least])


def strong_components(parents: Sequence[Iterable[int]]) -> list[tuple[int, ...]]:
    """Return the strongly connected components, by their first node; every cycle lies inside one of them."""
    above = ancestors(parents)
    numbered = list(enumerate(above))
    mutual = (tuple(j for j, up in numbered if i == j or bits >> j & up >> i & 1) for i, bits in numbered)
    return list(dict.fromkeys(mutual))


def topological_order(parents: Sequence[Iterable[int]], rng: np.random.Generator | None = None) -> list[int]:
    """Return an order in which every node comes after its parents; a random one if ``rng`` is given."""
    waiting = {node: mask(sources) for node, sources in enumerate(parents)}
    order, placed = [], 0
    while waiting:
        ready = [node for node, bits in waiting.items() if not bits & ~placed]
        node = ready[0] if rng is None else ready[rng.integers(len(ready))]
        order.append(node)
        placed |= 1 << node
        del waiting[node]
    return order


def dags(choices: Sequence[Sequence[tuple[int, ...]]]) -> Iterator[Parents]:
    """Yield every acyclic graph in which the parents of node i are one of ``choices[i]``.

    Node after node receives its parents; a choice that closes a cycle with those already made is left at once.
    """
    n = len(choices)

    def extend(chosen: Parents, above: list[int]) -> Iterator[Parents]:
        target = len(chosen)
        if target == n:
            yield chosen
            return
        for sources in choices[target]:
            gained = mask(sources)
            for source in sources:
                gained |= above[source]
            if not gained >> target & 1:
                grown = [a | gained if a >> target & 1 else a for a in above]
                grown[target] = gained
                yield from extend((*chosen, sources), grown)

    yield from extend((), [0] * n)


def all_dags(n: int) -> Iterator[Parents]:
    """Yield every acyclic graph on ``n`` nodes: 25, 543, 29281 of them for n = 3, 4, 5."""
    others = [[j for j in range(n) if j != i] for i in range(n)]
    return dags([[parents for k in range(n) for parents in combinations(rest, k)] for rest in others])


@dataclass(frozen=True)
class RestrictedPDAG:
    """A class of acyclic graphs with the same skeleton and the same head-to-head patterns x -> y <- z.

    ``parents[i]`` are the sources of arcs into i, ``siblings[i]`` the nodes linked to i without direction. It obeys
    (Acid and de Campos, definition 3): a node with parents has no siblings; no directed and no undirected cycle; an arc
    x -> y only where y has another parent or x has one. The links thus form trees, and any node of a tree can be its
    root: each choice of roots gives one acyclic graph of the class.
    """

    parents: tuple[frozenset[int], ...]
    siblings: tuple[frozenset[int], ...]

    @classmethod
    def of(cls, parents: Parents) -> "RestrictedPDAG":
        """Return the class of an acyclic graph: an arc x -> y is a link where y has no other parent and x has none."""
        arcs: list[set[int]] = [set(sources) for sources in parents]
        links: list[set[int]] = [set() for _ in parents]
        changed = True
        while changed:
            changed = False
            for child, sources in enumerate(arcs):
                if len(sources) == 1 and not arcs[(source := next(iter(sources)))]:
                    sources.clear()
                    links[child].add(source)
                    links[source].add(child)
                    changed = True
        return cls(tuple(map(frozenset, arcs)), tuple(map(frozenset, links)))

    def trees(self) -> list[tuple[int, ...]]:
        """Return the nodes of each tree of links; a node without parents and siblings is a tree of one."""
        return [tree for tree in strong_components(self.siblings) if not self.parents[tree[0]]]

    def rooted(self, root: int) -> dict[int, tuple[int, ...]]:
        """Return the parents of all nodes of a tree when its links point away from ``root``."""
        families: dict[int, tuple[int, ...]] = {root: ()}
        front = [root]
        while front:
            node = front.pop()
            for child in self.siblings[node] - families.keys():
                families[child] = (node,)
                front.append(child)
        return families

    def neighbours(self) -> Iterator["RestrictedPDAG"]:
        """Yield every class one operator away: A_link, A_arc, A_hh, D_link, D_arc, where allowed.

        Each adds an edge to a graph of the class, or takes one away. A link joins the roots of two trees. An arc needs
        a parent of its source or of its target, which is then the root of its tree (otherwise it would be a link).
        A_hh adds an arc and turns a link of its target, whose other end is the root, to a head-to-head pattern.
        """
        trees = self.trees()
        rooted = {root: self.rooted(root) for tree in trees for root in tree}
        families = {node: tuple(sources) for node, sources in enumerate(self.parents)}
        for tree in trees:
            families |= rooted[tree[0]]

        def changed(source: int, target: int, *roots: int) -> Parents:
            graph = dict(families)
            for root in roots:
                graph |= rooted[root]
            graph[target] = tuple({*graph[target]} ^ {source})
            return tuple(graph.values())

        for x, y in combinations(range(len(self.parents)), 2):
            if y in self.siblings[x]:
                yield self.of(changed(x, y, x))
                continue
            if x in self.parents[y] or y in self.parents[x]:
                yield self.of(changed(*(x, y) if x in self.parents[y] else (y, x)))
                continue
            linked = x in rooted and y in rooted
            grown = [changed(x, y, x, y)] if linked and y not in rooted[x] else []
            for source, target in ((x, y), (y, x)):
                if not linked:
                    grown.append(changed(source, target, *[target] * (target in rooted)))
                grown += [changed(source, target, third) for third in sorted(self.siblings[target])]
            yield from (self.of(graph) for graph in grown if is_acyclic(graph))
