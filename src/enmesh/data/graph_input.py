"""Graphs as a user writes them: ``{target: parents}``, edges, text, a networkx DiGraph or a `Network`."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from enmesh.errors import InputError, refuse_if
from enmesh.options import names_in

# Marks that other notations have for edges; a node may have them in its name where the names are known.
ODD = '<:|~{}[]()="'


def parents_of(graph: Any, names: Sequence[str] | None = None) -> dict[str, tuple[str, ...]]:
    """Return ``{target: (parent, ...)}`` with every node as a key.

    A graph is ``{target: [parents]}``, edges ``[(source, target), ...]``, text such as ``"a>b, b>c, d"`` (``a>b>c`` and
    ``->`` work too, a name alone is a node without edges), a networkx DiGraph, anything with ``parents`` such as a
    `Network`, or with ``names`` a matrix that is true at ``[i, j]`` where i drives j. Cycles are allowed; a node that
    drives itself is not, because every node depends on its own past.

    With ``names`` the result has these keys in this order, and any other node is refused. Without, a graph that lists
    every node (a mapping with all of them as keys, a DiGraph) keeps its order; otherwise parents come before their
    targets, in order of appearance where that leaves a choice.

    >>> parents_of({"b": ["a"], "c": ["b"]})
    {'a': (), 'b': ('a',), 'c': ('b',)}
    >>> parents_of("a>b, a>c")
    {'a': (), 'b': ('a',), 'c': ('a',)}
    """
    listed, edges = _nodes_and_edges(graph, names)
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


def edges_in(edges: Any) -> list[Any]:
    """Return edges as a list: of text, of a mapping ``{target: sources}``, of (source, target) pairs, or of nothing.

    >>> edges_in("a>b>c"), edges_in(None), edges_in([("a", "b")])
    ([('a', 'b'), ('b', 'c')], [], [('a', 'b')])
    """
    if edges is None:
        return []
    if isinstance(edges, str):
        nodes, found = _read_text(edges)
        refuse_if(nodes, f"{', '.join(nodes)} is no edge; write edges as 'a>b, b>c'")
        return found
    if isinstance(edges, Mapping) or hasattr(edges, "is_directed") or hasattr(edges, "parents"):
        return _nodes_and_edges(edges)[1]
    if not isinstance(edges, Iterable) or getattr(edges, "ndim", 1) == 0:
        raise InputError(f"{edges!r} names no edges; give [(source, target), ...] or 'a>b, b>c'")
    for edge in (found := list(edges)):
        if isinstance(edge, str) or not isinstance(edge, Iterable) or len(list(edge)) != 2:
            raise InputError(f"{edge!r} is not an edge; give (source, target)")
    return found


def tiers_in(tiers: Any) -> list[list[Any]]:
    """Return groups of nodes in order, each a list; a name alone is a group of one.

    >>> tiers_in(["a", ("b", "c")])
    [['a'], ['b', 'c']]
    """
    if tiers is None:
        return []
    if isinstance(tiers, (str, Mapping)) or not isinstance(tiers, Iterable) or getattr(tiers, "ndim", 1) == 0:
        raise InputError(f"tiers={tiers!r} are no groups of nodes; give them in order, as [['a'], ['b', 'c']]")
    return [[one] if isinstance(one, str) or not isinstance(one, Iterable) else list(one) for one in tiers]


def sources_in(candidates: Any) -> dict[Any, Any]:
    """Return candidates ``{target: sources}`` as they are, or none; anything else is refused."""
    if candidates is None:
        return {}
    if not isinstance(candidates, Mapping):
        raise InputError(f"candidates={candidates!r} names no sources of targets; give {{target: [sources]}}")
    return dict(candidates)


def truth_in(truth: Any) -> dict[str, tuple[str, ...]] | None:
    """Return the graph that generated data, ``{target: sources}``, where it is known."""
    refuse_if(not isinstance(truth, (Mapping, type(None))), "truth is no mapping; give {target: sources}")
    return None if truth is None else {str(t): tuple(names_in("truth", sources)) for t, sources in truth.items()}


def _nodes_and_edges(graph: Any, names: Sequence[str] | None = None) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the nodes that the graph lists, and its edges (source, target)."""
    if isinstance(graph, str):
        return _read_text(graph, names or ())
    if isinstance(graph, np.ndarray) and graph.ndim == 2 and graph.dtype.kind in "biuf":
        return _of_matrix(graph, names)
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


def _of_matrix(matrix: np.ndarray, names: Sequence[str] | None) -> tuple[list[str], list[tuple[str, str]]]:
    size = "no names" if names is None else f"{len(names)} nodes"
    if names is None or matrix.shape != (len(names),) * 2:
        told = f"a matrix of shape {matrix.shape} for {size}"
        raise InputError(f"{told}; give one row and one column per node, or edges as 'a>b, b>c'")
    return list(names), [(names[i], names[j]) for i, j in np.argwhere(matrix != 0).tolist()]


def _read_text(text: str, names: Sequence[str] = ()) -> tuple[list[str], list[tuple[str, str]]]:
    nodes: dict[str, None] = {}
    edges: list[tuple[str, str]] = []
    for arrow in ("->", "=>", "\u2192"):
        text = text.replace(arrow, ">")
    for part in text.replace(";", ",").replace("\n", ",").split(","):
        chain = [name.strip() for name in part.split(">")]
        odd = any(mark in name for name in chain if name not in names for mark in ODD)
        if ("" in chain and chain != [""]) or odd:
            raise InputError(f"cannot read {part.strip()!r} in the graph; write edges as 'a>b, b>c'")
        place = next((i for i, name in enumerate(chain[1:-1], 1) if " " in name and name not in names), 0)
        if place:  # a>b b>c: a comma that is missing, or a name of two words
            comma, name = (">".join(chain).replace(chain[place], one, 1) for one in (
                ", ".join(chain[place].split(" ", 1)), f"{chain[place]}, {chain[place]}"
            ))  # fmt: skip
            raise InputError(f"{part.strip()!r} in the graph can be read in two ways; write {comma!r}, or {name!r}")
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
