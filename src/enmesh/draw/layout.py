"""Where the nodes of a drawn network go and how its arrows run: the one geometry of the picture and the page.

A node is a box around its label, an arrow a chain of cubic Bézier curves from box to box that no other box lies on.
Components are arranged one by one and packed in rows: in layers (`layered`), a small loop as a ring, a network of many
nodes or links on a circle (`circle`). Nothing is random: the same network is always drawn the same way.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import networkx as nx
import numpy as np

from enmesh.draw.circle import Graph, on_circle, ring
from enmesh.draw.labels import box, short, wrap
from enmesh.draw.layered import in_layers
from enmesh.draw.places import Places
from enmesh.draw.shapes import HEAD, Edge, Placed, between, corners, passes
from enmesh.draw.tags import SEEN, tag_places, tag_size

MANY = 60  # more nodes than this in one component go on a circle
WIDEST = 48.0  # units that a drawing at given places may be wide
ON_CIRCLE = 24  # characters of a label on a circle
LANES = 420  # so does a component whose layers hold more nodes and passing arrows than this
RING = 8  # a component with a cycle and up to this many nodes is tried as a ring
LONGEST = 64.0  # a layered drawing longer than this, and thin, goes on a circle
ROW_GAP, COLUMN_GAP = 0.9, 1.0  # between components
BENDS = (0.18, -0.18, 0.32, -0.32, 0.5, -0.5, 0.8, -0.8)  # of arrows between places, and of links left out
LINE_GAP, LEAST_LINE = 0.5, 14.0  # between single nodes, and the least length of a line of them
SPREADS = (1.0, 1.25, 1.6, 2.1, 2.8)  # how much wider a drawing is made for the words at its arrows


@dataclass(frozen=True, kw_only=True)
class Layout(Placed):
    """A whole drawing: boxes, arrows, and what is written."""

    labels: tuple[str, ...]  # one per node, no two alike
    lines: tuple[tuple[str, ...], ...]  # each label as the lines that stand in its box
    words: Mapping[Edge, str]  # per edge what is written at its arrow
    tags: Mapping[Edge, tuple[float, float]]  # per edge with words, where their middle is

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Left, right, bottom and top of everything drawn, arrows and their words included."""
        halves = {edge: np.array(tag_size(text)) / 2 for edge, text in self.words.items()}
        words = [self.tags[edge] + side * half for edge, half in halves.items() for side in (-1, 1)]
        points = np.concatenate([self.points, np.reshape(words, (-1, 2))])
        (left, bottom), (right, top) = points.min(0).tolist(), points.max(0).tolist()
        return left, right, bottom, top


def arrange(
    names: Iterable[str], edges: Iterable[Edge], *, tall: bool = False, circle: bool = False,
    words: Mapping[Edge, str] | None = None,
) -> Layout:  # fmt: skip
    """Return the drawing of a graph whose ``edges`` are pairs of positions in ``names``.

    A ``tall`` drawing is for a narrow screen: its layers go from top to bottom. With ``circle`` all nodes go on
    one circle. ``words`` are written at the arrows; the drawing is spread until each has a place of its own.

    >>> drawing = arrange(["a", "b", "c"], [(0, 1), (1, 2)])
    >>> bool((np.diff(drawing.centres[:, 0]) > 0).all())
    True
    """
    labels, words = short(names), words or {}
    graph = graph_of(len(labels), edges)
    for i, j, known in graph.edges(data=True):  # how far apart two boxes stand if words are between them
        text = words.get((i, j))
        known["room"] = np.array(tag_size(text)) + HEAD + 2 * SEEN if text else np.zeros(2)
    parts = [list(graph)] if circle else [sorted(part) for part in nx.weakly_connected_components(graph)]
    parts.sort(key=lambda part: (-len(part), part))
    found: list[tuple[float, Layout]] = []
    for spread in SPREADS:
        drawing = _packed(labels, graph, parts, tall, circle, spread)
        boxes = corners(drawing.centres, drawing.sizes, drawing.turns)
        wished = 0.7 if drawing.turns.any() else 0.5  # in a circle's middle all arrows meet
        tags, lost = tag_places(boxes, drawing.paths, words, wished)
        found.append((lost, replace(drawing, words=words, tags=tags)))
        if lost == 0:
            break
    return min(found, key=lambda one: one[0])[1]


def arrange_at(
    names: Iterable[str], edges: Iterable[Edge], places: Places, *, words: Mapping[Edge, str] | None = None
) -> Layout:
    """Return the drawing of a graph whose nodes stand at given places, scaled so that few boxes meet.

    >>> drawing = arrange_at(["a", "b"], [(0, 1)], Places(points=np.array([[0.0, 0.0], [2.0, 0.0]])))
    >>> bool(drawing.centres[0, 0] < drawing.centres[1, 0])
    True
    """
    labels, words, wanted = short(names, ON_CIRCLE), words or {}, set(edges)
    lines = tuple((label,) for label in labels)
    sizes = np.array([box(one) for one in lines])
    centres = (places.points - places.points.min(axis=0)) * scale_of(places, float(sizes[:, 0].mean()))
    still = np.zeros(len(labels))
    drawing = Layout(
        centres=centres, sizes=sizes, turns=still, paths={}, labels=labels, lines=lines, words={}, tags={}
    )  # fmt: skip
    paths = {(i, j): around(drawing, i, j, both=(j, i) in wanted) for i, j in sorted(wanted)}
    drawing = replace(drawing, paths=paths)
    boxes = corners(drawing.centres, drawing.sizes, drawing.turns)
    return replace(drawing, words=words, tags=tag_places(boxes, paths, words, 0.5)[0])


def scale_of(places: Places, wide: float) -> float:
    """Return by how much places are stretched: neighbours stand a box and a half apart, the whole is not too wide."""
    apart = np.linalg.norm(places.points[:, None] - places.points, axis=-1)
    near = np.min(np.where(np.eye(len(apart)), np.inf, apart), axis=1)
    near = near[np.isfinite(near) & (near > 0)]
    span = float(np.ptp(places.points, axis=0).max())
    if not len(near) or not span:
        return 1.0
    return min(1.5 * wide / float(np.quantile(near, 0.25)), WIDEST / span)


def around(drawing: Layout, i: int, j: int, *, both: bool = True) -> np.ndarray:
    """Return a curve from box to box: the gentlest that passes no other box; where there are ``both`` ways, bent."""
    start, end = drawing.centres[i], drawing.centres[j]
    aside = np.array([end[1] - start[1], start[0] - end[0]])
    found: list[tuple[int, int, np.ndarray]] = []
    for rank, bend in enumerate(BENDS if both else (0.0, *BENDS)):
        path = between(drawing, i, j, (start + end) / 2 + bend * aside)
        met = len(crossed(replace(drawing, paths={(i, j): path}), range(len(drawing.centres))))
        found.append((met, rank, path))
        if not met:
            break
    return min(found, key=lambda one: one[:2])[2]


def graph_of(count: int, edges: Iterable[Edge]) -> Graph:
    """Return the graph of ``count`` nodes with these edges."""
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from(sorted(edges))
    return graph


def _near(graph: Graph, part: list[int], sizes: np.ndarray, tall: bool, spread: float) -> Placed | None:
    """Return a component as a ring or in layers; None where neither suits it."""
    if len(part) == 1:
        return Placed(centres=np.zeros((1, 2)), sizes=sizes, turns=np.zeros(1), paths={})
    if len(part) <= RING and not nx.is_directed_acyclic_graph(graph):
        loop = ring(graph, part, sizes, tall, spread)
        if not crossed(loop, part):
            return loop
    if len(part) > MANY:
        return None
    found = in_layers(graph, part, sizes, tall, lanes=LANES, spread=spread)
    if found is None:
        return None
    along, across = np.ptp(found.centres, axis=0)[:: -1 if tall else 1]
    return found if along <= LONGEST * spread or along <= 3 * across or len(part) <= RING else None


def crossed(placed: Placed, part: Sequence[int]) -> list[tuple[Edge, int]]:
    """Return ``(edge, node)`` for each arrow that passes through the box of a third node."""
    return [
        ((i, j), node)
        for (i, j), path in sorted(placed.paths.items())
        for at, node in enumerate(part)
        if node not in (i, j) and passes(path, placed.centres[at], placed.sizes[at], placed.turns[at])
    ]


def _packed(
    labels: tuple[str, ...], graph: Graph, parts: list[list[int]], tall: bool, circle: bool, spread: float
) -> Layout:
    """Return all components in one drawing: those of like height side by side in rows, largest first."""
    lines, shown, narrow = [wrap(label) for label in labels], list(labels), short(labels, ON_CIRCLE)
    placed = []
    for part in parts:
        inside, sizes = graph.subgraph(part), np.array([box(lines[node]) for node in part])
        found = None if circle else _near(inside, part, sizes, tall, spread)
        if found is None:  # names on one line each, turned
            for node in part:
                shown[node], lines[node] = narrow[node], (narrow[node],)
            found = on_circle(inside, part, np.array([box(lines[node]) for node in part]), spread)
        placed.append(found)
    centres, sizes, turns = np.zeros((len(labels), 2)), np.zeros((len(labels), 2)), np.zeros(len(labels))
    paths: dict[Edge, np.ndarray] = {}
    for part, found, corner in zip(parts, placed, _rows(placed, tall)):
        shift = corner - found.points.min(0)
        centres[part], sizes[part], turns[part] = found.centres + shift, found.sizes, found.turns
        paths |= {edge: path + shift for edge, path in found.paths.items()}
    return Layout(
        centres=centres, sizes=sizes, turns=turns, paths=paths, labels=tuple(shown), lines=tuple(lines),
        words={}, tags={},
    )  # fmt: skip


def _rows(placed: list[Placed], tall: bool) -> list[np.ndarray]:
    """Return lower left corners: in shelves, largest first, small ones in columns; single nodes in lines come last."""
    sizes = [np.ptp(found.points, axis=0) for found in placed]
    linked = [size for size, found in zip(sizes, placed) if len(found.centres) > 1]
    area = sum((w + COLUMN_GAP) * (h + ROW_GAP) for w, h in linked)
    limit = max([LEAST_LINE, (0.8 if tall else 1.35) * np.sqrt(area), *(w for w, _ in linked)])
    result = _shelves(linked, limit, COLUMN_GAP, ROW_GAP)
    widest = max([LEAST_LINE, *(x + w for (x, _), (w, _) in zip(result, linked))])
    top = min((y for _, y in result), default=ROW_GAP) - ROW_GAP
    return result + _shelves(sizes[len(linked) :], widest, LINE_GAP, LINE_GAP, top)


def _shelves(sizes: list[np.ndarray], limit: float, across: float, gap: float, top: float = 0.0) -> list[np.ndarray]:
    """Return the lower left corners of boxes on shelves up to ``limit`` wide; one goes under the last if it fits."""
    result: list[np.ndarray] = []
    x, wide, y, bottom = 0.0, 0.0, top, top  # of the column; of the shelf
    for width, height in sizes:
        if result and y - gap - height >= bottom - 1e-9 and x + width <= limit + 1e-9:
            y -= gap
        elif result:
            x, wide, y = x + wide + across, 0.0, top
            if x + width > limit + 1e-9:
                x, top = 0.0, bottom - gap
                y = bottom = top
        result.append(np.array([x, y - height]))
        y, wide = y - height, max(wide, width)
        bottom = min(bottom, y)
    return result
