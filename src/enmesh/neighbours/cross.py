"""Neighbours of points in another set, in the max norm, on the CPU: for events and random times (`enmesh.events`).

Points have two spans of time, (start, end) of what is conditioned on and of the source; points that share time in
either are not compared, a point with itself among them. Sets are held as trees (`enmesh.neighbours.tree`).
"""

import numpy as np

from enmesh.compiled import kernel, part
from enmesh.neighbours.lanes import (
    FLOATS,
    after,
    at_most,
    bits,
    both,
    first,
    flat,
    gap,
    larger,
    load,
    smallest,
    splat,
    store,
    subtract,
)  # fmt: skip
from enmesh.neighbours.tree import STACK, Tree, flat_tree, grow


def settled(points: np.ndarray) -> Tree:
    """Return points ``(n, d)`` ready to be searched many times."""
    return grow(np.ascontiguousarray(points))


def nearest(tree: Tree, points: np.ndarray, k: int) -> np.ndarray:
    """Return rows ``(n, k)`` of the k nearest in the tree, near ones first."""
    n = len(points)
    who, apart = np.empty((n, k), np.int32), np.zeros((max(n, tree.n), 4))
    _nearest(tree, apart, np.ascontiguousarray(points), k, n, who, *_room(tree, k))
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
    room = _room(max(own, other, key=lambda tree: tree.top), k)
    _brackets(own, other, spans, other_spans, points, k, psi, out, *room)
    return out


def _room(tree: Tree, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return memory for one query at a time."""
    numbers = np.empty(tree.dims + k + (tree.top + 3) * FLOATS)
    return numbers, np.empty(k + tree.top + 2 + STACK, np.int64)


@part
def _share_time(spans, i, others, j):
    a, b = 4 * i, 4 * j
    known = spans[a] < others[b + 1] and others[b] < spans[a + 1]
    return known or (spans[a + 2] < others[b + 3] and others[b + 2] < spans[a + 3])


@part
def _search(tree, its_spans, query, spans, row, k, best, who, leaf, nodes):
    """Find the k nearest to the query among the points that share no time with it; return how many are no farther.

    Histories share intervals, so that distances tie: there can be more than k.
    """
    order, points, boxes, start, n, dims, top = tree
    reach = after(leaf, FLOATS)
    for m in range(k):
        best[m], who[m] = np.inf, -1
    level, fresh, tied = top, True, 0
    nodes[level] = 0
    while level <= top:
        if fresh:
            box = (start[level] + nodes[level]) * dims * 2 * FLOATS
            near = splat(0.0)
            for c in range(dims):
                low, high = load(boxes, box + c * 2 * FLOATS), load(boxes, box + c * 2 * FLOATS + FLOATS)
                near = larger(near, larger(subtract(low, splat(query[c])), subtract(splat(query[c]), high)))
            store(reach, level * FLOATS, near)
        near = load(reach, level * FLOATS)
        closest = smallest(near)
        fresh = False
        if closest > best[k - 1] or closest == np.inf:
            level += 1
            continue
        slot = first(bits(at_most(near, splat(closest))))
        reach[level * FLOATS + slot] = np.inf
        child = nodes[level] * FLOATS + slot
        if level > 0:
            level -= 1
            nodes[level] = child
            fresh = True
            continue
        away = splat(0.0)
        for c in range(dims):
            away = larger(away, gap(load(points, (child * dims + c) * FLOATS), splat(query[c])))
        hits = bits(at_most(away, splat(best[k - 1])))
        if hits:
            store(leaf, 0, away)
        while hits:
            lane = first(hits)
            hits &= hits - 1
            s, d = child * FLOATS + lane, leaf[lane]
            if s >= n or d > best[k - 1] or _share_time(spans, row, its_spans, order[s]):
                continue
            if d == best[k - 1]:
                tied += 1
                continue
            last, m = best[k - 1], k - 1
            while m > 0 and best[m - 1] > d:
                best[m], who[m] = best[m - 1], who[m - 1]
                m -= 1
            best[m], who[m] = d, order[s]
            tied = tied + 1 if best[k - 1] == last and last < np.inf else 0
    return k + tied


@part
def _within(tree, its_spans, query, spans, row, r, leaf, stack):
    """Count the points no farther than r, and find the largest distance among them."""
    order, points, boxes, start, n, dims, top = tree
    count, largest = 0, 0.0
    stack[0], stack[1] = top, 0
    depth = 2
    while depth > 0:
        depth -= 2
        level, node = stack[depth], stack[depth + 1]
        box = (start[level] + node) * dims * 2 * FLOATS
        meets = at_most(splat(0.0), splat(0.0))
        for c in range(dims):
            low, high = load(boxes, box + c * 2 * FLOATS), load(boxes, box + c * 2 * FLOATS + FLOATS)
            q = splat(query[c])
            meets = both(
                meets, both(at_most(subtract(low, q), splat(r)), at_most(subtract(q, high), splat(r)))
            )
        some = bits(meets)
        while some:
            child = node * FLOATS + first(some)
            some &= some - 1
            if level > 0:
                stack[depth], stack[depth + 1] = level - 1, child
                depth += 2
                continue
            away = splat(0.0)
            for c in range(dims):
                away = larger(away, gap(load(points, (child * dims + c) * FLOATS), splat(query[c])))
            hits = bits(at_most(away, splat(r)))
            if hits:
                store(leaf, 0, away)
            while hits:
                lane = first(hits)
                hits &= hits - 1
                s = child * FLOATS + lane
                if s < n and not _share_time(spans, row, its_spans, order[s]):
                    count, largest = count + 1, max(largest, leaf[lane])
    return count, largest


@kernel
def _nearest(tree, apart, points, k, n, who, numbers, places):
    inner = flat_tree(tree)
    points, who, apart = flat(points), flat(who), flat(apart)
    best, whose = flat(numbers), flat(places)
    leaf, nodes = after(best, k), after(whose, k)
    for i in range(n):
        _search(inner, apart, after(points, i * inner.dims), apart, i, k, best, whose, leaf, nodes)
        for m in range(k):
            who[i * k + m] = whose[m]


@kernel
def _brackets(own, other, spans, other_spans, points, k, psi, out, numbers, places):
    own, other = flat_tree(own), flat_tree(other)
    dims = own.dims
    points, psi, out, spans, other_spans = flat(points), flat(psi), flat(out), flat(spans), flat(other_spans)
    best, who = flat(numbers), flat(places)
    leaf, nodes = after(best, k), after(who, k)
    for p in range(own.n):
        i = own.order[p]
        query = after(points, i * dims)
        # Events are mostly denser than random times around an event, so that the latter say how far to look.
        n_u = _search(other, other_spans, query, spans, i, k, best, who, leaf, nodes)
        r = eps_u = best[k - 1]
        n_x, eps_x = 0, 0.0
        if r < np.inf:
            n_x, eps_x = _within(own, spans, query, spans, i, r, leaf, nodes)
        if n_x < k:
            n_x = _search(own, spans, query, spans, i, k, best, who, leaf, nodes)
            eps_x = best[k - 1]
            if r < np.inf and eps_x < np.inf:
                n_u, eps_u = _within(other, other_spans, query, spans, i, eps_x, leaf, nodes)
        known = eps_u < np.inf and eps_x < np.inf
        out[i] = dims * np.log(eps_u / eps_x) + psi[n_x] - psi[n_u] if known else np.nan
