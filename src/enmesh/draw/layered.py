"""Layers from left to right: every arrow points right but those that close a cycle (Sugiyama et al. 1981).

Cycles are broken where few arrows turn back (Eades, Lin and Smyth 1993). A long arrow gets a lane in every layer
it passes: it crosses a layer straight, in its lane, and bends only between the layers, where no node is. So no
arrow ever runs behind a node that it does not join. A lane is a negative number, a node its position.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import count

import networkx as nx
import numpy as np
from scipy.optimize import isotonic_regression

from enmesh.draw.circle import Graph
from enmesh.draw.shapes import APART, CORNER, Edge, Placed, chain, inset

ROOM_RIGHT, ROOM_DOWN = (3.0, 10.0), (1.8, 6.0)  # least and most room between two layers
NODE_GAP, LANE_GAP = 0.8, 0.3  # between two nodes of a layer; between lanes, or a lane and a node
LANE = 0.1
STRAIGHT = 6.0  # how much more a lane is drawn to the next lane than to a node
SWEEPS = 16
PORT, LEAST_PORT = 0.42, 0.3  # wished and least distance of two arrows' ends at one node


def in_layers(
    graph: Graph, nodes: Sequence[int], sizes: np.ndarray, tall: bool, *, lanes: int, spread: float
) -> Placed | None:
    """Return the nodes in layers with their arrows; None if that takes more than ``lanes`` nodes and lanes.

    The room between layers is ``spread`` times the usual, or times the ``room`` that an arrow needs for its words.
    """
    made = _Layers(graph, nodes)
    if len(made.rank) > lanes:
        return None
    made.untangle()
    # A node of many arrows is as broad as their heads need. Within layers, sizes are (along, across).
    sides = [Counter(stops[end] for stops in made.ways.values()) for end in (0, -1)]
    most = [max(side[node] for side in sides) for node in nodes]
    sizes, side = sizes.copy(), 0 if tall else 1
    sizes[:, side] = np.maximum(sizes[:, side], CORNER + LEAST_PORT * (np.array(most) - 1))
    made.size |= zip(nodes, sizes[:, ::-1] if tall else sizes)
    made.set_heights()
    rooms = {edge: spread * float(graph.edges[edge]["room"][1 - side]) for edge in graph.edges}
    made.set_columns(spread * np.array(ROOM_DOWN if tall else ROOM_RIGHT), rooms)
    centres = [[np.mean(made.columns[made.rank[node]]), made.height[node]] for node in nodes]
    turn = np.array([[0.0, -1.0], [-1.0, 0.0]]) if tall else np.eye(2)
    paths = {edge: path @ turn for edge, path in made.paths().items()}
    return Placed(centres=np.array(centres) @ turn, sizes=sizes, turns=np.zeros(len(nodes)), paths=paths)


def _ranks(graph: Graph, nodes: Sequence[int]) -> dict[int, int]:
    """Return each node's layer: the longest way to it, then moved to where its arrows are short in sum."""
    rest = graph.copy()  # few arrows are turned round so that there is no cycle
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
    forward: nx.DiGraph[int] = nx.DiGraph()
    forward.add_nodes_from(graph)
    forward.add_edges_from((i, j) if place[i] < place[j] else (j, i) for i, j in graph.edges)
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
    return {node: used[rank[node]] for node in nodes}


class _Layers:
    """Nodes and lanes in layers, and the stops of each arrow from left to right."""

    def __init__(self, graph: Graph, nodes: Sequence[int]):
        self.rank = _ranks(graph, nodes)
        self.ways: dict[Edge, list[int]] = {}
        lanes = count(-1, -1)
        for i, j in sorted(graph.edges):
            left, right = sorted((i, j), key=self.rank.__getitem__)
            passed = dict(zip(lanes, range(self.rank[left] + 1, self.rank[right])))
            self.rank |= passed
            self.ways[i, j] = [left, *passed, right]
        self.layers: list[list[int]] = [[] for _ in range(max(self.rank.values()) + 1)]
        self.links: list[list[Edge]] = [[] for _ in self.layers]  # from each layer to the next
        for stop, r in self.rank.items():
            self.layers[r].append(stop)
        for stops in self.ways.values():
            for a, b in zip(stops, stops[1:]):
                self.links[self.rank[a]].append((a, b))
        self.size = {stop: np.array([0.0, LANE]) for stop in self.rank}
        self.height: dict[int, float] = {}
        self.columns: list[tuple[float, float]] = []

    def untangle(self) -> None:
        """Reorder the layers by barycentre sweeps; keep the order with the fewest crossings seen."""
        best, fewest = list(self.layers), self.crossings()
        for sweep in range(SWEEPS):
            step = 1 if sweep % 2 == 0 else -1
            for r in list(range(len(self.layers)))[::step][1:]:
                fixed, layer = self.layers[r - step], self.layers[r]
                wish = {stop: [at * len(fixed) / len(layer)] for at, stop in enumerate(layer)}
                pulls, place = defaultdict(list), {stop: at for at, stop in enumerate(fixed)}
                for pair in self.links[min(r, r - step)]:
                    a, b = pair[::step]
                    pulls[b].append(place[a])
                means = {stop: float(np.mean(wished)) for stop, wished in (wish | pulls).items()}
                self.layers[r] = sorted(layer, key=means.__getitem__)
            crossings = self.crossings()
            if crossings < fewest:
                best, fewest = list(self.layers), crossings
        self.layers = best

    def crossings(self) -> int:
        """Return how many pairs of links cross."""
        total, place = 0, {stop: at for layer in self.layers for at, stop in enumerate(layer)}
        for pairs in self.links[:-1]:
            ends = np.array([(place[a], place[b]) for a, b in pairs])
            ahead = ends[:, None] - ends[None]
            total += int((ahead[..., 0] * ahead[..., 1] < 0).sum()) // 2
        return total

    def set_heights(self) -> None:
        """Set each stop's height: near the mean of its neighbours', in the layers' order and not touching.

        With the needed offsets taken out, the heights nearest to the wished ones are a decreasing regression.
        """
        near: dict[int, list[int]] = defaultdict(list)
        for a, b in (pair for pairs in self.links for pair in pairs):
            near[a].append(b)
            near[b].append(a)
        offsets = []  # how far below the first each stop of a layer lies at least
        for layer in self.layers:
            gaps = [NODE_GAP if min(a, b) >= 0 else LANE_GAP for a, b in zip(layer, layer[1:])]
            broad = [self.size[stop][1] / 2 for stop in layer]
            steps = [gap + a + b for gap, a, b in zip(gaps, broad, broad[1:])]
            offsets.append(np.concatenate([[0.0], np.cumsum(steps)]))
            self.height |= zip(layer, (offsets[-1][-1] / 2 - offsets[-1]).tolist())
        for sweep in range(SWEEPS):
            for layer, offset in list(zip(self.layers, offsets))[:: 1 if sweep % 2 == 0 else -1]:
                wished = []
                for stop in layer:
                    pulls = [STRAIGHT if stop < 0 and other < 0 else 1.0 for other in near[stop]]
                    total = sum(pull * self.height[other] for pull, other in zip(pulls, near[stop]))
                    wished.append(total / sum(pulls))
                free = isotonic_regression(np.array(wished) + offset, increasing=False).x
                self.height |= zip(layer, (free - offset).tolist())

    def set_columns(self, usual: np.ndarray, rooms: dict[Edge, float]) -> None:
        """Set where each layer begins and ends; steep arrows between two layers, and words, get more room."""
        at = 0.0
        for layer, pairs in zip(self.layers, self.links):
            depth = max(float(self.size[stop][0]) for stop in layer)
            self.columns.append((at, at + depth))
            rise = max((abs(self.height[a] - self.height[b]) for a, b in pairs), default=0.0)
            words = [rooms.get(edge, 0.0) for a, b in pairs for edge in ((a, b), (b, a))]
            at += depth + max([float(np.clip(0.45 * rise + 0.06 * len(pairs), *usual)), *words])

    def paths(self) -> dict[Edge, np.ndarray]:
        """Return the arrows: straight through the layers, in a double bend between them."""
        leave, arrive, paths = self.ports(0), self.ports(-1), {}
        for edge, stops in self.ways.items():
            left, right = stops[0], stops[-1]
            knots = []
            for stop in stops:
                begin, end = self.columns[self.rank[stop]]
                middle, height, (along, across) = (begin + end) / 2, self.height[stop], self.size[stop]
                if stop == left:
                    height += leave[edge]
                    begin = middle + along / 2 - inset(leave[edge], across) + APART
                elif stop == right:
                    height += arrive[edge]
                    end = middle - along / 2 + inset(arrive[edge], across) - APART
                knots += [np.array([begin, height]), np.array([end, height])]
            paths[edge] = chain(knots)[:: 1 if edge[0] == left else -1]
        return paths

    def ports(self, side: int) -> dict[Edge, float]:
        """Return how far from its node's middle each arrow leaves (side 0) or arrives (side -1)."""
        at, nearest = defaultdict(list), 1 if side == 0 else -2
        for edge in sorted(self.ways, key=lambda edge: (self.height[self.ways[edge][nearest]], edge)):
            at[self.ways[edge][side]].append(edge)
        ports: dict[Edge, float] = {}
        for node, edges in at.items():
            step = min(PORT, max(float(self.size[node][1]) - 0.5, 0.3) / max(len(edges) - 1, 1))
            ports |= {edge: step * (k - (len(edges) - 1) / 2) for k, edge in enumerate(edges)}
        return ports
