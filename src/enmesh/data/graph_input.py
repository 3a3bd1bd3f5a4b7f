"""Graphs as a user writes them: ``{target: parents}``, edges, text, a networkx DiGraph or a `Network`."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from enmesh.errors import InputError, refuse_if


def parents_of(graph: Any, names: Sequence[str] | None = None) -> dict[str, tuple[str, ...]]:
    """Return ``{target: (parent, ...)}`` with every node as a key.

    A graph is ``{target: [parents]}``, edges ``[(source, target), ...]``, text such as ``"a>b, b>c, d"`` (``a>b>c`` and
    ``->`` work too, a name alone is a node without edges), a networkx DiGraph, or anything with ``parents`` such as a
    `Network`. Cycles are allowed; a node that drives itself is not, because every node depends on its own past.

    With ``names`` the result has these keys in this order, and any other node is refused. Without, a graph that lists
    every node (a mapping with all of them as keys, a DiGraph) keeps its order; otherwise parents come before their
    targets, in order of appearance where that leaves a choice.

    >>> parents_of({"b": ["a"], "c": ["b"]})
    {'a': (), 'b': ('a',), 'c': ('b',)}
    >>> parents_of("a>b, a>c")
    {'a': (), 'b': ('a',), 'c': ('a',)}
    """
    listed, edges = _nodes_and_edges(graph)
    for (source, target), count in Counter(edges).items():
        refuse_if(count > 1, f"the edge {source}>{target} is given twice; give each edge once")
    own = next((source for source, target in edges if source == target), None)
    if own is not None:
        raise InputError(f"{own} drives itself in the graph; leave it out, own pasts are always included")
    appeared = list(dict.fromkeys([*(node for edge in edges for node in edge), *listed]))
    unknown = [node for node in appeared if names is not None and node not in names]
    refuse_if(unknown, f"the graph names {', '.join(unknown)}; the nodes are {', '.join(names or ())}")
    if names is None and not appeared:
        raise InputError("the graph has no node; name at least one, as in {'a': [], 'b': ['a']}")
    order = listed if len(listed) == len(appeared) else _drivers_first(appeared, edges)
    return {target: tuple(s for s, t in edges if t == target) for target in names or order}


def _nodes_and_edges(graph: Any) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the nodes that the graph lists, and its edges (source, target)."""
    if isinstance(graph, str):
        return _read_text(graph)
    if hasattr(graph, "is_directed"):
        if not graph.is_directed():
            raise InputError("the graph is undirected; give a DiGraph, whose edges go from driver to driven")
        return [str(node) for node in graph.nodes], [(str(s), str(t)) for s, t in graph.edges()]
    graph = getattr(graph, "parents", graph)
    if isinstance(graph, Mapping):
        bad = next((target for target in graph if not isinstance(graph[target], Iterable)), None)
        if bad is not None:
            raise InputError(f"the parents of {bad} are {graph[bad]!r}; give a list of names")
        sets = {str(t): [parents] if isinstance(parents, str) else parents for t, parents in graph.items()}
        return list(sets), [(str(source), target) for target in sets for source in sets[target]]
    try:
        return [], [(str(source), str(target)) for source, target in graph]
    except (TypeError, ValueError):
        forms = "{target: [parents]}, edges [(source, target), ...], text 'a>b, b>c' or a networkx DiGraph"
        raise InputError(f"cannot read {graph!r} as a graph; give {forms}") from None


def _read_text(text: str) -> tuple[list[str], list[tuple[str, str]]]:
    nodes: dict[str, None] = {}
    edges: list[tuple[str, str]] = []
    for part in text.replace("->", ">").replace(";", ",").replace("\n", ",").split(","):
        chain = [name.strip() for name in part.split(">")]
        if "" in chain and chain != [""]:
            raise InputError(f"cannot read {part.strip()!r} in the graph; write edges as 'a>b, b>c'")
        nodes |= {chain[0]: None} if len(chain) == 1 and chain != [""] else {}
        edges += pairwise(chain)
    return list(nodes), edges


def _drivers_first(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> list[str]:
    """Order nodes so that parents precede their targets; a cycle is entered at its first node."""
    order, left = list[str](), list(nodes)
    while left:
        ready = [node for node in left if not any(t == node and s in left for s, t in edges)]
        order.append((ready or left)[0])
        left.remove(order[-1])
    return order


def flat_parents(graph: Mapping[str, Sequence[str]]) -> tuple[np.ndarray, np.ndarray]:
    """Return where each node's parents begin, ``(M + 1,)``, and the positions of all parents in one array."""
    position = {name: i for i, name in enumerate(graph)}
    drivers = [position[parent] for parents in graph.values() for parent in parents]
    offsets = np.cumsum([0, *(len(parents) for parents in graph.values())])
    return offsets.astype(np.int64), np.array(drivers, dtype=np.int64)
