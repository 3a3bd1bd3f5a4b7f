"""Where the nodes of a drawn network go: the one geometry behind the picture and the page.

A node is a pill of height 1 and of its label's width; an arrow is a quadratic curve from pill to pill.
Components are arranged one by one and packed in rows. An acyclic component is drawn in layers from left to
right, so that every arrow points right (Sugiyama, Tagawa and Toda 1981); a cyclic or very long one goes on a
circle when small, and is spread by the energy of Kamada and Kawai (1989) when large. Nothing is random: the
same network is always drawn the same way.
"""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

LONGEST_LABEL = 18  # characters; the rest of a longer name becomes an ellipsis
# Least and most room for the arrows between two layers; more in a broad drawing, where arrows run steep.
ROOM_RIGHT, ROOM_DOWN = (3.0, 9.0), (1.8, 4.0)
ROW_GAP = 0.9  # between pills of a layer, and between components
WAYPOINT = 0.7  # height kept free for a long arrow that passes a layer
CIRCLE = 10  # a cyclic component of up to this many nodes goes on a circle
LONGEST = 48.0  # a layered drawing longer than this, and thin, is spread instead
BENDS = (0.0, 0.12, -0.12, 0.22, -0.22, 0.35, -0.35, 0.5, -0.5)
SWEEPS = 12

Edge = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Layout:
    """A drawing in units of a pill's height, y upward.

    Attributes
    ----------
    labels
        One short label per node.
    centres
        ``(M, 2)`` centres of the pills.
    widths
        ``(M,)`` widths of the pills.
    bends
        Per edge ``(i, j)`` the curve's height as a fraction of its length; positive is right of its way.
    """

    labels: tuple[str, ...]
    centres: np.ndarray
    widths: np.ndarray
    bends: Mapping[Edge, float]

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Left, right, bottom and top of everything drawn, arrows included."""
        half = np.column_stack([self.widths / 2, np.full(len(self.widths), 0.5)])
        curves = [curve(self.centres[i], self.centres[j], bend) for (i, j), bend in self.bends.items()]
        points = np.concatenate([self.centres - half, self.centres + half, *curves])
        (left, bottom), (right, top) = points.min(0), points.max(0)
        return float(left), float(right), float(bottom), float(top)


def arrange(names: Iterable[str], edges: Iterable[Edge], *, tall: bool = False) -> Layout:
    """Return the drawing of a graph whose ``edges`` are pairs of positions in ``names``.

    A ``tall`` drawing is for a narrow screen: its layers go from top to bottom.

    >>> drawing = arrange(["a", "b", "c"], [(0, 1), (1, 2)])
    >>> bool((np.diff(drawing.centres[:, 0]) > 0).all())
    True
    """
    import networkx as nx

    labels = tuple(shorten(name) for name in names)
    widths = np.array([label_width(label) for label in labels])
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(labels)))
    graph.add_edges_from(sorted(edges))
    parts = sorted(
        (sorted(part) for part in nx.weakly_connected_components(graph)), key=lambda p: (-len(p), p)
    )
    placed = [(part, _component(graph.subgraph(part), part, widths, tall)) for part in parts]
    centres = _pack(placed, widths, tall)
    return Layout(
        labels=labels, centres=centres, widths=widths, bends=_bends(list(graph.edges), centres, widths)
    )


def shorten(name: str) -> str:
    """Return a name that fits a pill: one line, at most `LONGEST_LABEL` characters."""
    flat = " ".join(str(name).split()) or "·"
    return flat if len(flat) <= LONGEST_LABEL else flat[: LONGEST_LABEL - 1].rstrip() + "…"


def label_width(label: str) -> float:
    """Return the width of a label's pill; wide (East Asian) characters count double, marks not at all."""
    wide = sum(2 if unicodedata.east_asian_width(c) in "WF" else not unicodedata.combining(c) for c in label)
    return max(1.6, 0.75 + 0.34 * wide)


def curve(start: np.ndarray, end: np.ndarray, bend: float, samples: int = 48) -> np.ndarray:
    """Return points of the quadratic curve from ``start`` to ``end``, ``(samples, 2)``."""
    along = end - start
    control = (start + end) / 2 + bend * np.array([along[1], -along[0]])
    t = np.linspace(0, 1, samples)[:, None]
    return (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * end


def _component(graph, nodes, widths, tall) -> np.ndarray:
    """Return the centres of a connected component's nodes, its lower left corner anywhere."""
    import networkx as nx

    if len(nodes) == 1:
        return np.zeros((1, 2))
    if nx.is_directed_acyclic_graph(graph):
        centres = _layered(graph, nodes, widths, tall)
        along, across = np.ptp(centres, axis=0)[:: -1 if tall else 1]
        if along <= LONGEST or along <= 3 * across:
            return centres
    if len(nodes) <= CIRCLE:
        angle = np.pi / 2 - 2 * np.pi * np.arange(len(nodes)) / len(nodes)
        spread = np.column_stack([(0.9 if tall else 1.3) * np.cos(angle), np.sin(angle)])
    else:
        found = nx.kamada_kawai_layout(graph.to_undirected(), dist=_hops(graph, nodes))
        spread = np.array([found[node] for node in nodes])
        lying = np.ptp(spread[:, 0]) > np.ptp(spread[:, 1])
        spread = spread[:, ::-1] if lying == tall else spread
    return spread * _smallest_scale(spread, widths[nodes], graph, nodes)


def _hops(graph, nodes):
    """Return ``{node: {node: hops}}`` along the arrows in either direction."""
    import networkx as nx

    return {node: nx.single_source_shortest_path_length(graph.to_undirected(), node) for node in nodes}


def _smallest_scale(spread, widths, graph, nodes) -> float:
    """Return the least magnification at which no two pills touch and every arrow has room to be seen."""
    scale = 1e-9
    for a in range(len(nodes)):
        for b in range(a):
            linked = graph.has_edge(nodes[a], nodes[b]) or graph.has_edge(nodes[b], nodes[a])
            gap = 1.8 if linked else ROW_GAP
            dx, dy = np.abs(spread[a] - spread[b]) + 1e-9
            scale = max(scale, min(((widths[a] + widths[b]) / 2 + gap) / dx, (1 + gap) / dy))
    return scale


def _layered(graph, nodes, widths, tall) -> np.ndarray:
    """Return centres in layers along the arrows, few of them crossing, neighbours level with each other."""
    rank = _ranks(graph)
    layers, links = _with_waypoints(graph, rank)
    layers = _untangle(layers, links)
    breadth = {
        node: WAYPOINT if isinstance(node, tuple) else widths[node] if tall else 1.0
        for layer in layers
        for node in layer
    }
    across = _heights(layers, links, breadth)
    depth = np.array(
        [1.0 if tall else max(widths[n] for n in layer if not isinstance(n, tuple)) for layer in layers]
    )
    spare = (1.3 * np.ptp(list(across.values())) - depth.sum()) / (len(depth) - 1)
    gap = np.clip(spare, *(ROOM_DOWN if tall else ROOM_RIGHT))
    along = np.cumsum(depth) - depth / 2 + gap * np.arange(len(depth))
    if tall:
        return np.array([[-across[node], -along[rank[node]]] for node in nodes])
    return np.array([[along[rank[node]], across[node]] for node in nodes])


def _ranks(graph) -> dict[int, int]:
    """Return each node's layer: the longest way to it; a root stands right before its first child."""
    import networkx as nx

    rank = {node: r for r, layer in enumerate(nx.topological_generations(graph)) for node in layer}
    for node in graph:
        if not graph.in_degree(node):
            rank[node] = min(rank[child] for child in graph.successors(node)) - 1
    return rank


def _with_waypoints(graph, rank):
    """Return the layers and the links between neighbours; long arrows get a waypoint in each layer."""
    layers = [sorted(n for n in graph if rank[n] == r) for r in range(max(rank.values()) + 1)]
    links = [[] for _ in layers]
    for source, target in sorted(graph.edges):
        way = [source]
        for r in range(rank[source] + 1, rank[target]):
            way.append((source, target, r))
            layers[r].append(way[-1])
        for a, b, r in zip(way, [*way[1:], target], range(rank[source], rank[target])):
            links[r].append((a, b))
    return layers, links


def _untangle(layers, links):
    """Return the layers reordered by barycentre sweeps, the order with the fewest crossings seen."""
    best, fewest = layers, _crossings(layers, links)
    for sweep in range(SWEEPS):
        layers = [list(layer) for layer in layers]
        forward = sweep % 2 == 0
        for r in range(1, len(layers)) if forward else range(len(layers) - 2, -1, -1):
            fixed = layers[r - 1] if forward else layers[r + 1]
            pairs = links[r - 1] if forward else [(b, a) for a, b in links[r]]
            place = {node: i for i, node in enumerate(fixed)}
            pull = {node: [place[a] for a, b in pairs if b == node] for node in layers[r]}
            here = {node: i for i, node in enumerate(layers[r])}
            layers[r].sort(key=lambda n, pull=pull, here=here: np.mean(pull[n]) if pull[n] else here[n])
        crossings = _crossings(layers, links)
        if crossings < fewest:
            best, fewest = layers, crossings
    return best


def _crossings(layers, links) -> int:
    total = 0
    for left, right, pairs in zip(layers, layers[1:], links):
        a, b = ({node: i for i, node in enumerate(layer)} for layer in (left, right))
        ends = np.array([(a[s], b[t]) for s, t in pairs])
        ahead = ends[:, None] - ends[None]
        total += int((ahead[..., 0] * ahead[..., 1] < 0).sum()) // 2
    return total


def _heights(layers, links, breadth) -> dict:
    """Return each node's place in its layer: as level with its neighbours as order and room allow."""
    height = {node: -1.9 * (i - (len(layer) - 1) / 2) for layer in layers for i, node in enumerate(layer)}
    near = {node: [] for layer in layers for node in layer}
    for a, b in (pair for pairs in links for pair in pairs):
        near[a].append(b)
        near[b].append(a)
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wished = [float(np.mean([height[n] for n in near[node]])) for node in layer]
            height |= zip(layer, _apart(wished, [breadth[node] for node in layer]))
    return height


def _apart(wished, sizes) -> np.ndarray:
    """Return the heights nearest to ``wished`` (least squares) that keep the order and do not touch.

    With the needed offsets taken out, this is a decreasing regression: pool adjacent violators.
    """
    sizes = np.array(sizes)
    offsets = np.concatenate([[0], np.cumsum((sizes[:-1] + sizes[1:]) / 2 + ROW_GAP)])
    pools: list[list[float]] = []
    for value in np.array(wished) + offsets:
        pools.append([value])
        while len(pools) > 1 and np.mean(pools[-2]) < np.mean(pools[-1]):
            low = pools.pop()
            pools[-1] += low
    return np.concatenate([np.full(len(pool), np.mean(pool)) for pool in pools]) - offsets


def _pack(parts, widths, tall) -> np.ndarray:
    """Return all centres: components of like height side by side in rows, largest first."""
    boxes = []
    for nodes, centres in parts:
        half = np.column_stack([widths[nodes] / 2, np.full(len(nodes), 0.5)])
        low, high = (centres - half).min(0), (centres + half).max(0)
        boxes.append((nodes, centres - low, high - low))
    area = sum((w + 1) * (h + ROW_GAP) for _, _, (w, h) in boxes)
    limit = max(max(w for _, _, (w, _) in boxes), (0.8 if tall else 1.25) * np.sqrt(area))
    result = np.zeros((len(widths), 2))
    x = top = deepest = 0.0
    for nodes, centres, (width, height) in boxes:
        if x > 0 and (x + width > limit + 1e-9 or height < (top - deepest) / 2):
            x, top = 0.0, deepest - ROW_GAP
        result[nodes] = centres + np.array([x, top - height])
        x, deepest = x + width + 1.0, min(deepest, top - height)
    return result


def _bends(edges, centres, widths) -> dict[Edge, float]:
    """Return the gentlest bend of each arrow that keeps it off other nodes' pills.

    Of a pair of opposite arrows each bends to the right of its own way, so that they never lie on each other.
    """
    chosen = {}
    half = np.column_stack([widths / 2 + 0.15, np.full(len(widths), 0.65)])
    for i, j in edges:
        others = [n for n in range(len(widths)) if n not in (i, j)]
        choices = [bend for bend in BENDS if bend > 0.1] if (j, i) in edges else BENDS

        def hidden(bend, i=i, j=j, others=others):
            away = np.abs(curve(centres[i], centres[j], bend)[:, None] - centres[others]) / half[others]
            return int((away.max(-1) < 1).sum())

        chosen[i, j] = min(choices, key=lambda bend: (hidden(bend), abs(bend), bend))
    return chosen
