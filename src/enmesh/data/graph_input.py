"""Graphs as a user writes them: ``{target: parents}``, edges, text, a networkx DiGraph or a `Network`."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from enmesh.errors import InputError

Edge = tuple[str, str]
NodesAndEdges = tuple[list[str], list[Edge]]


def parents_of(graph: Any, names: Sequence[str] | None = None) -> dict[str, tuple[str, ...]]:
    """Return ``{target: (parent, ...)}`` with every node as a key.

    Parameters
    ----------
    graph
        ``{target: [parents]}``, edges ``[(source, target), ...]``, text such as ``"a>b, b>c, d"`` (``a>b>c``
        and ``->`` work too, a name alone is a node without edges), a networkx DiGraph, or anything with
        ``parents`` such as a `Network`. Cycles are allowed; a node that drives itself is not, because every
        node depends on its own past.
    names
        The nodes that exist. The result has these keys in this order; any other node is refused.

    Without ``names`` a graph that lists every node (a mapping with all of them as keys, a DiGraph) keeps its
    order; otherwise parents come before their targets, in order of appearance where that leaves a choice.

    >>> parents_of({"b": ["a"], "c": ["b"]})
    {'a': (), 'b': ('a',), 'c': ('b',)}
    >>> parents_of("a>b, a>c")
    {'a': (), 'b': ('a',), 'c': ('a',)}
    """
    listed, edges = _nodes_and_edges(graph)
    _refuse_bad_edges(edges)
    appeared = list(dict.fromkeys([*(node for edge in edges for node in edge), *listed]))
    if names is not None:
        order = _known(appeared, names)
    elif not appeared:
        raise InputError("the graph has no node; name at least one, as in {'a': [], 'b': ['a']}")
    else:
        order = listed if len(listed) == len(appeared) else _drivers_first(appeared, edges)
    return {target: tuple(s for s, t in edges if t == target) for target in order}


def _nodes_and_edges(graph: Any) -> NodesAndEdges:
    """Return the nodes the graph lists explicitly, and its edges (source, target)."""
    if isinstance(graph, str):
        return _read_text(graph)
    if hasattr(graph, "is_directed"):
        if not graph.is_directed():
            raise InputError(
                "the graph is undirected; give a DiGraph, whose edges point from driver to driven"
            )
        return [str(node) for node in graph.nodes], [(str(s), str(t)) for s, t in graph.edges()]
    graph = getattr(graph, "parents", graph)
    if isinstance(graph, Mapping):
        return _read_mapping(graph)
    return [], _read_edges(graph)


def _read_text(text: str) -> NodesAndEdges:
    nodes: list[str] = []
    edges: list[Edge] = []
    for part in text.replace("->", ">").replace(";", ",").replace("\n", ",").split(","):
        chain = [name.strip() for name in part.split(">")]
        if chain == [""]:
            continue
        if "" in chain:
            raise InputError(f"cannot read {part.strip()!r} in the graph; write edges as 'a>b, b>c'")
        nodes += chain if len(chain) == 1 else []
        edges += pairwise(chain)
    return list(dict.fromkeys(nodes)), edges


def _read_mapping(graph: Mapping[Any, Any]) -> NodesAndEdges:
    edges: list[Edge] = []
    for target, parents in graph.items():
        if not isinstance(parents, Iterable):
            raise InputError(f"the parents of {target} are {parents!r}; give a list of names")
        parents = [parents] if isinstance(parents, str) else parents
        edges += [(str(source), str(target)) for source in parents]
    return [str(target) for target in graph], edges


def _read_edges(graph: Any) -> list[Edge]:
    try:
        edges = [(str(source), str(target)) for source, target in graph]
    except (TypeError, ValueError):
        raise InputError(
            f"cannot read {graph!r} as a graph; give {{target: [parents]}}, edges [(source, target), ...], "
            "text 'a>b, b>c' or a networkx DiGraph"
        ) from None
    return edges


def _refuse_bad_edges(edges: Sequence[Edge]) -> None:
    for source, target in edges:
        if source == target:
            raise InputError(
                f"{source} drives itself in the graph; leave it out, own pasts are always included"
            )
    twice = next((edge for edge, count in Counter(edges).items() if count > 1), None)
    if twice:
        raise InputError(f"the edge {twice[0]}>{twice[1]} is given twice; give each edge once")


def _known(appeared: Sequence[str], names: Sequence[str]) -> list[str]:
    unknown = [node for node in appeared if node not in names]
    if unknown:
        raise InputError(f"the graph names {', '.join(unknown)}; the nodes are {', '.join(names)}")
    return list(names)


def _drivers_first(nodes: Sequence[str], edges: Sequence[Edge]) -> list[str]:
    """Order nodes so that parents precede their targets; a cycle is entered at its first node."""
    order: list[str] = []
    left = list(nodes)
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
