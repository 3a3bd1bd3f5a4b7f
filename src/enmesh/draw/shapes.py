"""Boxes and curves of a drawing, what a layout is made of and how it is measured; and a recording as a few points."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

SAMPLES = 40  # points of a curve at which it is measured and drawn
CORNER = 0.5  # radius of a box's corners
APART = 0.08  # between an arrow's end and the box
THIN, THICK = 0.055, 0.24  # widths of the weakest and the strongest arrow
POINTS = 720  # of a recording that are kept
HEAD = 0.3 + 1.9 * THICK  # length of the largest head

Edge = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Placed:
    """Boxes and arrows, in units of the height of a node with one line, y upward."""

    centres: np.ndarray  # (M, 2) of the boxes
    sizes: np.ndarray  # (M, 2) widths and heights
    turns: np.ndarray  # (M,) angles by which the boxes are turned, in radians, counter-clockwise
    paths: Mapping[Edge, np.ndarray]  # (1 + 3 k, 2) points of k cubic Bézier curves, from border to border

    @property
    def points(self) -> np.ndarray:
        """Points that span everything drawn."""
        boxes = corners(self.centres, self.sizes, self.turns).reshape(-1, 2)
        return np.concatenate([boxes, *(sampled(path) for path in self.paths.values())])


def edges_of(links: np.ndarray) -> list[Edge]:
    """Return the pairs of positions that a matrix has as links."""
    return [(i, j) for i, j in np.argwhere(links).tolist()]


def corners(centres: np.ndarray, sizes: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """Return the four corners of each box, ``(M, 4, 2)``."""
    half = sizes[:, None] / 2 * np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    cos, sin = np.cos(turns)[:, None], np.sin(turns)[:, None]
    turned = np.stack([cos * half[..., 0] - sin * half[..., 1], sin * half[..., 0] + cos * half[..., 1]], -1)
    return centres[:, None] + turned


def sampled(path: np.ndarray, samples: int = SAMPLES) -> np.ndarray:
    """Return points along a chain of cubic Bézier curves, ``(k (samples - 1) + 1, 2)``."""
    t = np.linspace(0, 1, samples)[1:, None]
    weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
    pieces = [path[at : at + 4] for at in range(0, len(path) - 1, 3)]
    return np.concatenate([path[:1], *(np.hstack(weights) @ piece for piece in pieces)])


def walked(points: np.ndarray) -> np.ndarray:
    """Return the length of a broken line up to each of its points."""
    return np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])


def along_line(points: np.ndarray, at: np.ndarray | list[float]) -> np.ndarray:
    """Return the points at these lengths of a broken line."""
    return np.column_stack([np.interp(at, walked(points), axis) for axis in points.T])


def headed(way: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the points of an arrow's shaft, so wide, and of the head at its end; a short arrow has a short head."""
    far, half = walked(way), 0.13 + 0.95 * width
    length = min(0.3 + 1.9 * width, 0.6 * far[-1])
    tip, (base, inner) = way[-1], along_line(way, [far[-1] - length, far[-1] - 0.72 * length])
    along = (tip - base) / max(float(np.hypot(*(tip - base))), 1e-9)
    aside = np.array([-along[1], along[0]])
    shaft = np.vstack([way[far < far[-1] - 0.72 * length], inner])
    return shaft, np.array([tip, base + half * aside, inner, base - half * aside])


def chain(knots: Sequence[np.ndarray]) -> np.ndarray:
    """Return straight pieces between knots 0 and 1, 2 and 3, ..., and a double bend from each to the next."""
    points = [knots[0][None]]
    for at, (a, b) in enumerate(zip(knots, knots[1:])):
        if at % 2 == 0:
            points.append(np.array([a + (b - a) / 3, a + 2 * (b - a) / 3, b]))
        else:
            half = np.array([(b[0] - a[0]) / 2, 0.0])
            points.append(np.array([a + half, b - half, b]))
    return np.concatenate(points)


def between(placed: Placed, i: int, j: int, over: np.ndarray) -> np.ndarray:
    """Return the part outside two rounded boxes of the quadratic curve between their centres towards ``over``."""
    (a, b), t = placed.centres[[i, j]], np.linspace(0, 1, 2001)[:, None]
    points = (1 - t) ** 2 * a + 2 * t * (1 - t) * over + t**2 * b
    outside = np.ones(len(points), bool)
    for node in (i, j):
        cos, sin = np.cos(placed.turns[node]), np.sin(placed.turns[node])
        upright = (points - placed.centres[node]) @ np.array([[cos, -sin], [sin, cos]])
        beyond = np.maximum(np.abs(upright) - np.maximum(placed.sizes[node] / 2 - CORNER, 0), 0)
        outside &= np.hypot(*beyond.T) >= CORNER + APART
    free = np.flatnonzero(outside) if outside.any() else np.array([1000])  # boxes that touch hide all of it
    (start,), (end,) = t[free[[0, -1]]]
    middle = (start * (1 - end) + end * (1 - start)) * over + (1 - start) * (1 - end) * a + start * end * b
    first, last = points[free[[0, -1]]]
    return np.array([first, (first + 2 * middle) / 3, (last + 2 * middle) / 3, last])  # as a cubic one


def passes(path: np.ndarray, centre: np.ndarray, size: np.ndarray, turn: float) -> bool:
    """Return whether a path runs through a box."""
    reach = float(np.hypot(*size)) / 2
    if (centre + reach < path.min(0)).any() or (centre - reach > path.max(0)).any():
        return False  # far off
    from matplotlib.path import Path
    from matplotlib.transforms import Affine2D, Bbox

    upright = Path(Affine2D().rotate_around(centre[0], centre[1], -turn).transform(sampled(path)))
    return bool(upright.intersects_bbox(Bbox([centre - size / 2, centre + size / 2]), filled=False))


def inset(offset: float, breadth: float) -> float:
    """Return how far a box's rounded side stands back at ``offset`` from the middle of a side ``breadth`` long."""
    beyond = abs(offset) - (breadth / 2 - CORNER)
    return CORNER - float(np.sqrt(max(CORNER**2 - beyond**2, 0.0))) if beyond > 0 else 0.0


def extremes(values: Sequence[float] | np.ndarray, most: int) -> np.ndarray:
    """Return at most ``most`` values: of each of ``most / 2`` pieces the smallest and the largest, in their order.

    A piece without any known value stays a gap.

    >>> extremes([0, 1, 9, 2, 3, 4, -5, 6], 4).tolist()
    [0.0, 9.0, -5.0, 6.0]
    """
    column = np.asarray(values, float)
    if len(column) <= most:
        return column
    borders = np.linspace(0, len(column), most // 2 + 1).astype(int)  # even, so that time stays even
    width = np.diff(borders).max()
    places = np.minimum(borders[:-1, None] + np.arange(width), borders[1:, None] - 1)
    pieces, first = column[places], borders[:-1]
    known = np.isfinite(pieces)
    ends = [np.where(known, pieces, np.inf).argmin(axis=1), np.where(known, pieces, -np.inf).argmax(axis=1)]
    return column[np.sort(first[:, None] + np.column_stack(ends), axis=1)].ravel()


def preview(series: Any) -> dict[str, tuple[float, ...]]:
    """Return the first trial of each node of a series for pictures, by its `extremes`."""
    shown = (extremes(column, POINTS) for column in series.trials[0].T)
    return {name: tuple(column.tolist()) for name, column in zip(series.names, shown)}
