"""Neighbours of points in two sets, in the max norm, on the CPU: for events and random times (`enmesh.events`)."""

import numpy as np

from enmesh.compiled import inlined, kernel, part
from enmesh.neighbours.lanes import FLOATS, after, bits, first, flat, pick, splat
from enmesh.neighbours.plain import Array
from enmesh.neighbours.tree import begin, grow, next_leaf, search, search_room, to_points


def nearest(others: Array, points: Array, k: int) -> Array:
    """Return rows ``(n, k)`` of the k of ``others`` nearest to each of ``points``, near ones first."""
    tree, who = grow(others), np.empty((len(points), k), np.int32)
    never = np.zeros((max(len(points), tree.n), 2))
    _nearest(tree, np.ascontiguousarray(points), never, k, who, search_room(tree, k))
    return who


def brackets(points: Array, others: Array, spans: Array, other_spans: Array, k: int, psi: Array) -> Array:
    """Return -d ln eps_X + d ln eps_U + psi(n_X) - psi(n_U) of every point; NaN where neighbours lack.

    r is the larger of the distances to the k-th other point and to the k-th of ``others``; n_X and n_U count the points
    and others within r, eps_X and eps_U are the largest distances among them. ``psi[n]`` is the digamma function of n.
    ``spans (n, 4)`` are (start, end) of what is conditioned on and of the source: points that share time in either are
    not compared, a point with itself among them.
    """
    n = len(points)
    tree, out = grow(np.concatenate([points, others])), np.empty(n)
    spans = np.concatenate([spans, other_spans])[tree.order]
    *_, reach, nodes = search_room(tree, k)
    _brackets(tree, spans, n, k, psi, out, (np.empty(2 * k), np.empty(2 * tree.n), reach, nodes))
    return out


@inlined
def _share_time(spans, i, j):
    """Whether points share time in either span; without branches, which nobody could predict."""
    a, b = 4 * i, 4 * j
    known = (spans[a] < spans[b + 1]) & (spans[b] < spans[a + 1])
    return known | ((spans[a + 2] < spans[b + 3]) & (spans[b + 2] < spans[a + 3]))


@kernel
def _nearest(tree, points, never, k, who, room):
    n = len(points)
    tree, points, never, who = flat((tree, points, never, who))
    _, best, whose, reach, nodes = flat(room)
    for i in range(n):
        query = after(points, i * tree.dims)
        search(tree, query, k, never, i, best, whose, reach, nodes)
        for m in range(k):
            who[i * k + m] = tree.order[whose[m]]


@part
def _look(tree, query, spans, p, n, k, best, away, reach, nodes):
    """Return the larger distance from the point in place p to the k-th of the first n points and of the others.

    ``away`` gets all distances that may be no larger, of the former and, from ``tree.n`` on, of the latter; their
    numbers are returned too.
    """
    far, some, others = np.inf, 0, 0
    for m in range(2 * k):
        best[m] = np.inf
    begin(tree, query, reach, nodes)
    while True:
        child = next_leaf(tree, query, far, reach, nodes)
        if child < 0:
            break
        distances = to_points(tree, child, query)
        hits = bits(distances <= splat(far))
        while hits:
            s, d = child * FLOATS + first(hits), pick(distances, first(hits))
            hits &= hits - 1
            if s >= tree.n or d > far or _share_time(spans, p, s):
                continue
            if tree.order[s] < n:
                away[some] = d
                some += 1
                low = 0
            else:
                away[tree.n + others] = d
                others += 1
                low = k
            m = low + k - 1
            if d < best[m]:
                while m > low and best[m - 1] > d:
                    best[m] = best[m - 1]
                    m -= 1
                best[m] = d
                far = max(best[k - 1], best[2 * k - 1])
    return far, some, others


@inlined
def _within(away, begin, total, r):
    """Count distances no larger than r, and find the largest of them."""
    count, largest = 0, 0.0
    for e in range(begin, begin + total):
        if away[e] <= r:
            count += 1
            largest = max(largest, away[e])
    return count, largest


@kernel
def _brackets(tree, spans, n, k, psi, out, room):
    tree, spans, psi, out, room = flat((tree, spans, psi, out, room))
    best, away, reach, nodes = room
    for p in range(tree.n):
        i = tree.order[p]
        if i < n:
            query = after(tree.rows, i * tree.dims)
            r, some, others = _look(tree, query, spans, p, n, k, best, away, reach, nodes)
            n_x, eps_x = _within(away, 0, some, r)
            n_u, eps_u = _within(away, tree.n, others, r)
            out[i] = tree.dims * np.log(eps_u / eps_x) + psi[n_x] - psi[n_u] if r < np.inf else np.nan
