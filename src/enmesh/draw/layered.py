"""Layers from left to right: every arrow points right but those that close a cycle (Sugiyama et al. 1981).

Cycles are broken where few arrows turn back (Eades, Lin and Smyth 1993). A long arrow gets a lane in every layer
it passes: it crosses a layer straight, in its lane, and bends only between the layers, where no node is. So no
arrow ever runs behind a node that it does not join.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from enmesh.draw.shapes import APART, CORNER, Edge, Placed, chain, inset

if TYPE_CHECKING:
    import networkx as nx

ROOM_RIGHT, ROOM_DOWN = (3.0, 10.0), (1.8, 6.0)  # least and most room between two layers
NODE_GAP, LANE_GAP = 0.8, 0.3  # between two nodes of a layer; between lanes, or a lane and a node
LANE = 0.1
STRAIGHT = 6.0  # how much more a lane is drawn to the next lane than to a node
SWEEPS = 16
PORT, LEAST_PORT = 0.42, 0.3  # wished and least distance of two arrows' ends at one node

Way = tuple[int, int, int]  # source, target, layer: where an arrow passes a layer
Stop = int | Way
Links = list[list[tuple[Stop, Stop]]]


def in_layers(
    graph: "nx.DiGraph[int]",
    nodes: Sequence[int],
    sizes: np.ndarray,
    tall: bool,
    *,
    lanes: int,
    spread: float = 1.0,
) -> Placed | None:
    """Return the nodes in layers with their arrows; None if that takes more than ``lanes`` nodes and lanes.

    The room between layers is ``spread`` times the usual, or times the ``room`` that an arrow needs for its words.
    """
    forward = _acyclic(graph)
    rank = _ranks(forward, nodes)
    back = {(j, i) for i, j in graph.edges if rank[i] > rank[j]}
    ways = _ways(graph, rank)
    if len(nodes) + sum(len(way) - 2 for way in ways.values()) > lanes:
        return None
    layers, links = _with_lanes(nodes, rank, ways)
    layers = _untangled(layers, links)
    sizes = _with_room_for_arrows(sizes, nodes, ways, across=0 if tall else 1)
    size = dict(zip(nodes, sizes[:, ::-1] if tall else sizes))  # (along, across)
    across = _heights(layers, links, {node: float(size[node][1]) for node in nodes})
    least, most = ROOM_DOWN if tall else ROOM_RIGHT
    rooms: dict[tuple[Stop, Stop], float] = {
        edge: spread * float(graph.edges[edge]["room"][1 if tall else 0]) for edge in graph.edges
    }
    edges = _columns(layers, links, across, size, (least * spread, most * spread), rooms)
    paths = _paths(ways, rank, across, edges, size, back)
    centres = np.array([[np.mean(edges[rank[node]]), across[node]] for node in nodes])
    turn = np.array([[0.0, -1.0], [-1.0, 0.0]]) if tall else np.eye(2)
    return Placed(
        centres=centres @ turn,
        sizes=sizes,
        turns=np.zeros(len(nodes)),
        paths={edge: path @ turn for edge, path in paths.items()},
    )


def _acyclic(graph: "nx.DiGraph[int]") -> "nx.DiGraph[int]":
    """Return the graph with few arrows turned round so that it has no cycle."""
    import networkx as nx

    rest = graph.copy()
    first: list[int] = []
    last: list[int] = []
    while rest:
        ends = [n for n in sorted(rest) if not rest.out_degree(n)]
        starts = [n for n in sorted(rest) if not rest.in_degree(n) and n not in ends]
        if not ends and not starts:
            starts = [max(sorted(rest), key=lambda n: rest.out_degree(n) - rest.in_degree(n))]
        first += starts
        last = ends + last
        rest.remove_nodes_from([*starts, *ends])
    place = {node: at for at, node in enumerate(first + last)}
    turned: nx.DiGraph[int] = nx.DiGraph()
    turned.add_nodes_from(graph)
    turned.add_edges_from((i, j) if place[i] < place[j] else (j, i) for i, j in graph.edges)
    return turned


def _ranks(forward: "nx.DiGraph[int]", nodes: Sequence[int]) -> dict[int, int]:
    """Return each node's layer: the longest way to it, then moved to where its arrows are short in sum."""
    import networkx as nx

    rank = {node: r for r, layer in enumerate(nx.topological_generations(forward)) for node in layer}
    for _ in range(len(nodes)):
        before = dict(rank)
        for node in sorted(nodes, key=lambda n: (-rank[n], n)):
            pull = forward.out_degree(node) - forward.in_degree(node)
            if pull > 0:
                rank[node] = min(rank[child] for child in forward.successors(node)) - 1
            elif pull < 0:
                rank[node] = max(rank[parent] for parent in forward.predecessors(node)) + 1
        if rank == before:
            break
    used = {r: at for at, r in enumerate(sorted(set(rank.values())))}
    return {node: used[r] for node, r in rank.items()}


def _ways(graph: "nx.DiGraph[int]", rank: dict[int, int]) -> dict[Edge, list[Stop]]:
    """Return the stops of each edge from left to right: its left node, a lane in each layer, its right node."""
    ways: dict[Edge, list[Stop]] = {}
    for i, j in sorted(graph.edges):
        left, right = (i, j) if rank[i] < rank[j] else (j, i)
        ways[i, j] = [left, *((i, j, r) for r in range(rank[left] + 1, rank[right])), right]
    return ways


def _with_room_for_arrows(
    sizes: np.ndarray, nodes: Sequence[int], ways: dict[Edge, list[Stop]], across: int
) -> np.ndarray:
    """Return the sizes with a node of many arrows as broad as their heads need."""
    sides = [Counter(stops[end] for stops in ways.values()) for end in (0, -1)]
    most = np.array([max(side[node] for side in sides) for node in nodes])
    grown = sizes.copy()
    grown[:, across] = np.maximum(sizes[:, across], CORNER + LEAST_PORT * (most - 1))
    return grown


def _with_lanes(
    nodes: Sequence[int], rank: dict[int, int], ways: dict[Edge, list[Stop]]
) -> tuple[list[list[Stop]], Links]:
    """Return the layers, lanes included, and the links from each layer to the next."""
    layers: list[list[Stop]] = [[] for _ in range(max(rank.values()) + 1)]
    links: Links = [[] for _ in layers]
    for node in nodes:
        layers[rank[node]].append(node)
    for stops in ways.values():
        for stop in stops[1:-1]:
            layers[_layer(stop, rank)].append(stop)
        for a, b in zip(stops, stops[1:]):
            links[_layer(a, rank)].append((a, b))
    return layers, links


def _layer(stop: Stop, rank: dict[int, int]) -> int:
    return stop[2] if isinstance(stop, tuple) else rank[stop]


def _untangled(layers: list[list[Stop]], links: Links) -> list[list[Stop]]:
    """Return the layers reordered by barycentre sweeps, the order with the fewest crossings seen."""
    best, fewest = layers, _crossings(layers, links)
    for sweep in range(SWEEPS):
        layers = [list(layer) for layer in layers]
        forward = sweep % 2 == 0
        for r in range(1, len(layers)) if forward else range(len(layers) - 2, -1, -1):
            fixed = layers[r - 1] if forward else layers[r + 1]
            pairs = links[r - 1] if forward else [(b, a) for a, b in links[r]]
            layers[r] = _by_barycentre(layers[r], fixed, pairs)
        crossings = _crossings(layers, links)
        if crossings < fewest:
            best, fewest = layers, crossings
    return best


def _by_barycentre(layer: list[Stop], fixed: list[Stop], pairs: list[tuple[Stop, Stop]]) -> list[Stop]:
    place = {stop: at for at, stop in enumerate(fixed)}
    pulls: dict[Stop, list[int]] = {stop: [] for stop in layer}
    for a, b in pairs:
        pulls[b].append(place[a])
    wish = {
        stop: float(np.mean(pulls[stop])) if pulls[stop] else at * len(fixed) / len(layer)
        for at, stop in enumerate(layer)
    }
    return sorted(layer, key=lambda stop: wish[stop])


def _crossings(layers: list[list[Stop]], links: Links) -> int:
    total = 0
    for left, right, pairs in zip(layers, layers[1:], links):
        a, b = ({stop: at for at, stop in enumerate(layer)} for layer in (left, right))
        ends = np.array([(a[s], b[t]) for s, t in pairs])
        ahead = ends[:, None] - ends[None]
        total += int((ahead[..., 0] * ahead[..., 1] < 0).sum()) // 2
    return total


def _heights(layers: list[list[Stop]], links: Links, breadth: dict[int, float]) -> dict[Stop, float]:
    """Return each stop's height: near the mean of its neighbours', in the layers' order and not touching."""
    near: dict[Stop, list[tuple[Stop, float]]] = {stop: [] for layer in layers for stop in layer}
    for a, b in (pair for pairs in links for pair in pairs):
        pull = STRAIGHT if isinstance(a, tuple) and isinstance(b, tuple) else 1.0
        near[a].append((b, pull))
        near[b].append((a, pull))
    offsets = [_offsets(layer, breadth) for layer in layers]
    height = {
        stop: float(offset[-1] / 2 - offset[at])
        for layer, offset in zip(layers, offsets)
        for at, stop in enumerate(layer)
    }
    for sweep in range(SWEEPS):
        for layer, offset in list(zip(layers, offsets))[:: 1 if sweep % 2 == 0 else -1]:
            wished = [
                sum(pull * height[other] for other, pull in near[stop]) / sum(pull for _, pull in near[stop])
                for stop in layer
            ]
            height |= zip(layer, _apart(wished, offset).tolist())
    return height


def _offsets(layer: list[Stop], breadth: dict[int, float]) -> np.ndarray:
    """Return how far below the first each stop of a layer lies at least."""
    size = [LANE if isinstance(stop, tuple) else breadth[stop] for stop in layer]
    gap = [
        NODE_GAP if not isinstance(a, tuple) and not isinstance(b, tuple) else LANE_GAP
        for a, b in zip(layer, layer[1:])
    ]
    steps = [(a + b) / 2 + space for a, b, space in zip(size, size[1:], gap)]
    return np.concatenate([[0.0], np.cumsum(steps)])


def _apart(wished: Sequence[float], offsets: np.ndarray) -> np.ndarray:
    """Return the heights nearest to ``wished`` (least squares) that keep the order and do not touch.

    With the needed offsets taken out, this is a decreasing regression: pool adjacent violators.
    """
    pools: list[tuple[float, int]] = []  # mean, count
    for value in np.array(wished) + offsets:
        mean, count = float(value), 1
        while pools and pools[-1][0] < mean:
            other, more = pools.pop()
            mean, count = (mean * count + other * more) / (count + more), count + more
        pools.append((mean, count))
    return np.concatenate([np.full(count, mean) for mean, count in pools]) - offsets


def _columns(
    layers: list[list[Stop]],
    links: Links,
    across: dict[Stop, float],
    size: dict[int, np.ndarray],
    usual: tuple[float, float],
    rooms: dict[tuple[Stop, Stop], float],
) -> list[tuple[float, float]]:
    """Return where each layer begins and ends; steep arrows between two layers, and words, get more room."""
    edges, at = [], 0.0
    for layer, pairs in zip(layers, links):
        depth = max(float(size[stop][0]) for stop in layer if not isinstance(stop, tuple))
        edges.append((at, at + depth))
        rise = max((abs(across[a] - across[b]) for a, b in pairs), default=0.0)
        words = [rooms.get(edge, 0.0) for a, b in pairs for edge in ((a, b), (b, a))]
        at += depth + max([float(np.clip(0.45 * rise + 0.06 * len(pairs), *usual)), *words])
    return edges


def _paths(
    ways: dict[Edge, list[Stop]],
    rank: dict[int, int],
    across: dict[Stop, float],
    edges: list[tuple[float, float]],
    size: dict[int, np.ndarray],
    back: set[Edge],
) -> dict[Edge, np.ndarray]:
    """Return the arrows: straight through the layers, in a double bend between them."""
    leave, arrive = (_ports(ways, across, size, side) for side in (0, -1))
    paths = {}
    for edge, stops in ways.items():
        left, right = stops[0], stops[-1]
        assert not isinstance(left, tuple)
        assert not isinstance(right, tuple)
        knots = []
        for stop in stops:
            begin, end = edges[_layer(stop, rank)]
            middle, height = (begin + end) / 2, across[stop]
            if stop == left:
                height += leave[edge]
                begin = middle + size[left][0] / 2 - inset(leave[edge], size[left][1]) + APART
            elif stop == right:
                height += arrive[edge]
                end = middle - size[right][0] / 2 + inset(arrive[edge], size[right][1]) - APART
            knots += [np.array([begin, height]), np.array([end, height])]
        path = chain(knots)
        paths[edge] = path[::-1] if edge[::-1] in back else path
    return paths


def _ports(
    ways: dict[Edge, list[Stop]], across: dict[Stop, float], size: dict[int, np.ndarray], side: int
) -> dict[Edge, float]:
    """Return how far from its node's middle each arrow leaves (side 0) or arrives (side -1)."""
    at: dict[Stop, list[Edge]] = {}
    for edge, stops in ways.items():
        at.setdefault(stops[side], []).append(edge)
    ports = {}
    for node, edges in at.items():
        assert not isinstance(node, tuple)
        nearest = 1 if side == 0 else -2
        edges.sort(key=lambda edge: (across[ways[edge][nearest]], edge))
        free = max(float(size[node][1]) - 0.5, 0.3)
        step = min(PORT, free / max(len(edges) - 1, 1))
        for k, edge in enumerate(edges):
            ports[edge] = step * (k - (len(edges) - 1) / 2)
    return ports
