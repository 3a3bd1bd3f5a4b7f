"""Nodes around a circle, arrows inside it: what stays readable with a hundred nodes.

Nodes that are linked among each other (blocks of high modularity: Clauset, Newman and Moore 2004) stand side by
side. Labels point outward, so that an arrow, which stays inside the circle, meets the box of no other node.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import networkx as nx
import numpy as np

from enmesh.draw.shapes import APART, Edge, Placed, between, inset

Graph: TypeAlias = "nx.DiGraph[int]"

ROOM = 1.3  # along the circle, per node
BLOCK_GAP = 0.9  # between blocks
SMALLEST = 6.0  # radius
APART_ON_RING = 1.8  # least room between two boxes of a ring
FEEDBACK = 0.9  # how far the two arrows of a pair are bent aside
SWEEPS = 12
PORT = 0.3  # wished distance of two arrows' ends at one node


def blocks(graph: Graph) -> list[list[int]]:
    """Return the nodes in blocks, linked blocks and linked nodes near each other; lone nodes come last."""
    inside: nx.Graph[int] = nx.Graph()  # built in order, so that ties fall the same way every time
    inside.add_nodes_from(sorted({node for edge in graph.edges for node in edge}))
    inside.add_edges_from(sorted((min(edge), max(edge)) for edge in graph.edges))
    lone = sorted(set(graph) - set(inside))
    found = nx.community.greedy_modularity_communities(inside) if inside else []
    groups = sorted((sorted(group) for group in found), key=lambda group: (-len(group), group))
    return _near_each_other(groups, inside) + ([lone] if lone else [])


def on_circle(graph: Graph, nodes: Sequence[int], sizes: np.ndarray, spread: float) -> Placed:
    """Return the nodes around a circle, by blocks, labels outward; ``spread`` times the least radius."""
    groups = blocks(graph)
    gap = BLOCK_GAP if len(groups) > 1 else 0.0
    around = ROOM * len(nodes) + gap * len(groups)
    radius = spread * max(around / (2 * np.pi), SMALLEST)
    angle, at = {}, 0.0
    for group in groups:
        for node in group:
            angle[node] = np.pi / 2 - 2 * np.pi * (at + ROOM / 2) / around
            at += ROOM
        at += gap
    turned = np.array([angle[node] for node in nodes])
    outward = np.column_stack([np.cos(turned), np.sin(turned)])
    left = np.cos(turned) < -1e-9  # here text is turned by half a circle, so that it is never upside down
    return Placed(
        centres=outward * (radius + sizes[:, :1] / 2),
        sizes=sizes,
        turns=np.where(left, turned + np.pi, turned),
        paths=_chords(graph, angle, radius, dict(zip(nodes, sizes[:, 1].tolist()))),
    )


def ring(graph: Graph, nodes: Sequence[int], sizes: np.ndarray, tall: bool, spread: float) -> Placed:
    """Return a few nodes on an ellipse, labels upright, arrows straight or, for feedback, in two arcs."""
    first = np.pi if len(nodes) == 2 and not tall else np.pi / 2  # two nodes stand side by side
    angle = first - 2 * np.pi * np.arange(len(nodes)) / len(nodes)
    around = np.column_stack([(0.9 if tall else 1.3) * np.cos(angle), np.sin(angle)])
    place = {node: at for at, node in enumerate(nodes)}
    rooms = np.full((len(nodes), len(nodes), 2), APART_ON_RING)
    for i, j in graph.edges:
        for pair in ((place[i], place[j]), (place[j], place[i])):
            rooms[pair] = np.maximum(rooms[pair], graph.edges[i, j]["room"])
    # The least magnification at which boxes stand apart by the room that an arrow and its words need.
    reach, apart = (sizes[:, None] + sizes) / 2 + rooms, np.abs(around[:, None] - around) + 1e-9
    scale = (reach / apart).min(2)[~np.eye(len(nodes), dtype=bool)].max()
    centres = spread * scale * around
    placed, paths = Placed(centres=centres, sizes=sizes, turns=np.zeros(len(nodes)), paths={}), {}
    for i, j in sorted(graph.edges):
        a, b = place[i], place[j]
        along = centres[b] - centres[a]
        aside = np.array([along[1], -along[0]]) / np.hypot(*along)
        over = (centres[a] + centres[b]) / 2 + FEEDBACK * graph.has_edge(j, i) * aside
        paths[i, j] = between(placed, a, b, over)
    return replace(placed, paths=paths)


def _near_each_other(groups: list[list[int]], graph: "nx.Graph[int]") -> list[list[int]]:
    """Return blocks and their nodes in an order in which links are short, measured around the circle."""
    best, shortest = groups, _length(groups, graph)
    for _ in range(SWEEPS):
        order = [node for group in groups for node in group]
        at = {node: 2 * np.pi * k / len(order) for k, node in enumerate(order)}
        # Links, and half a link to itself, pull a node onward or back; a block goes to the mean of its nodes.
        pull = {n: 0.5 + sum(np.exp(1j * (at[other] - at[n])) for other in graph[n]) for n in order}
        pulled = {node: at[node] + float(np.angle(pull[node])) for node in order}
        groups = [sorted(group, key=lambda node: (pulled[node], node)) for group in groups]
        groups = sorted(groups, key=lambda group: np.mean([pulled[node] for node in group]))
        length = _length(groups, graph)
        if length < shortest:
            best, shortest = groups, length
    return best


def _length(groups: list[list[int]], graph: "nx.Graph[int]") -> int:
    place = {node: at for at, node in enumerate(node for group in groups for node in group)}
    apart = [abs(place[i] - place[j]) for i, j in graph.edges]
    return sum(min(steps, len(place) - steps) for steps in apart)


def _chords(graph: Graph, angle: dict[int, float], radius: float, breadth: dict[int, float]) -> dict[Edge, np.ndarray]:
    """Return the arrows: curves inside the circle, the deeper the farther they go, side by side at a node."""
    ends: dict[tuple[Edge, int], np.ndarray] = {}
    for node in graph:
        near = sorted([*graph.in_edges(node), *graph.out_edges(node)])
        other = {(i, j): (angle[j if node == i else i] - angle[node]) % (2 * np.pi) for i, j in near}
        # Seen from the middle, the nearest to the left ends leftmost; of a pair the arrow out is first at one
        # end and last at the other, so that the two do not cross.
        near.sort(key=lambda edge: (-other[edge], edge[0] != node))
        step = min(PORT, 0.72 / max(len(near) - 1, 1))
        outward = np.array([np.cos(angle[node]), np.sin(angle[node])])
        aside = np.array([-outward[1], outward[0]])
        for k, edge in enumerate(near):
            port = step * ((len(near) - 1) / 2 - k)
            ends[edge, node] = (radius + inset(port, breadth[node]) - APART) * outward + port * aside
    paths = {}
    for i, j in sorted(graph.edges):
        start, end = ends[(i, j), i], ends[(i, j), j]
        turned = complex(*start) / complex(*end)
        apart = abs(np.angle(turned)) / np.pi
        depth = min(0.06 + 1.3 * apart, 0.6 + 0.28 * apart)  # steep for near ones: a pair lies apart
        paths[i, j] = np.array([start, start * (1 - depth), end * (1 - depth), end])
    return paths
