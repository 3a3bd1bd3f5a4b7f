"""Neighbours of points in another set, in the max norm, on the CPU: for events and random times (`enmesh.events`).

Points have two spans of time, (start, end) of what is conditioned on and of the source; points that share time in
either are not compared, a point with itself among them. Sets are held as trees (`enmesh.neighbours.tree`).
"""

import numpy as np

from enmesh.compiled import kernel, part
from enmesh.neighbours.lanes import after, flat
from enmesh.neighbours.tree import STACK, Tree, collect, grow, search, search_room


def settled(points: np.ndarray) -> Tree:
    """Return points ``(n, d)`` ready to be searched many times."""
    return grow(np.ascontiguousarray(points))


def nearest(tree: Tree, points: np.ndarray, k: int) -> np.ndarray:
    """Return rows ``(n, k)`` of the k nearest in the tree, near ones first."""
    who, never = np.empty((len(points), k), np.int32), np.zeros((max(len(points), tree.n), 2))
    _nearest(tree, np.ascontiguousarray(points), never, k, who, search_room(tree, k))
    return who


def brackets(
    points: np.ndarray, other: Tree, spans: np.ndarray, other_spans: np.ndarray, k: int, psi: np.ndarray
) -> np.ndarray:
    """Return -d ln eps_X + d ln eps_U + psi(n_X) - psi(n_U) of every point; NaN where neighbours lack.

    r is the larger of the distances to the k-th other point and to the k-th of the tree; n_X and n_U count the points
    and those of the tree within r, eps_X and eps_U are the largest distances among them. ``psi[n]`` is the digamma
    function of n. ``spans`` are (start, end) of points: those that share time are not compared.
    """
    points = np.ascontiguousarray(points)
    own, out = grow(points), np.empty(len(points))
    n = max(own.n, other.n)
    _, *room = search_room(max(own, other, key=lambda tree: tree.top), k)
    around = np.empty(n, np.int32), np.empty(n), np.empty(STACK, np.int64)
    _brackets(own, other, spans, other_spans, points, k, psi, out, (*room,), around)
    return out


@part
def _within(tree, its_spans, query, spans, row, r, around):
    """Count the points no farther than r, and find the largest distance among them."""
    found, away, stack = around
    count = collect(tree, query, r, spans, row, its_spans, 2, found, away, stack)
    largest = 0.0
    for e in range(count):
        largest = max(largest, away[e])
    return count, largest


@kernel
def _nearest(tree, points, never, k, who, room):
    n = len(points)
    tree, points, never, who = flat((tree, points, never, who))
    _, best, whose, reach, nodes = flat(room)
    for i in range(n):
        query = after(points, i * tree.dims)
        search(tree, query, k, True, never, i, never, 1, best, whose, reach, nodes)
        for m in range(k):
            who[i * k + m] = tree.order[whose[m]]


@kernel
def _brackets(own, other, spans, other_spans, points, k, psi, out, room, around):
    own, other, spans, other_spans, points = flat((own, other, spans, other_spans, points))
    psi, out, room, around = flat((psi, out, room, around))
    best, who, reach, nodes = room
    dims = own.dims
    for p in range(own.n):
        i = own.order[p]
        query = after(points, i * dims)
        # Events are mostly denser than random times around an event, so that the latter say how far to look.
        n_u = search(other, query, k, True, spans, i, other_spans, 2, best, who, reach, nodes)
        r = eps_u = best[k - 1]
        n_x, eps_x = 0, 0.0
        if r < np.inf:
            n_x, eps_x = _within(own, spans, query, spans, i, r, around)
        if n_x < k:
            n_x = search(own, query, k, True, spans, i, spans, 2, best, who, reach, nodes)
            eps_x = best[k - 1]
            if r < np.inf and eps_x < np.inf:
                n_u, eps_u = _within(other, other_spans, query, spans, i, eps_x, around)
        known = eps_u < np.inf and eps_x < np.inf
        out[i] = dims * np.log(eps_u / eps_x) + psi[n_x] - psi[n_u] if known else np.nan
