"""A bounding-volume tree with eight children per node, searched in the max norm.

Points are put in kd order by median cuts at multiples of eight points, so that every aligned run of 8, 64,
512 ... points is a subtree; a leaf is eight points. The boxes of eight children lie side by side: one pass over
the dimensions tells for all eight whether they meet the query's box and whether they lie inside it.
Comparisons round monotonically, so pruning never contradicts the distance of a single point: counts are exact.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from enmesh.neighbours.lanes import (
    FLOATS,
    aligned,
    at_most,
    bits,
    both,
    first,
    gap,
    larger,
    load,
    ones,
    smallest,
    splat,
    store,
    subtract,
)  # fmt: skip

_SAMPLE = 256  # points that decide along which axis a range is cut


class Tree(NamedTuple):
    """Points in kd order with their boxes."""

    order: np.ndarray  # (n,) int32: original row of each point in tree order
    points: np.ndarray  # flat (leaf, dimension, 8)
    boxes: np.ndarray  # flat (node, dimension, low/high, 8 children)
    start: np.ndarray  # (levels + 1,) first node of each level, level 0 being the parents of the leaves
    dims: int


def grow(points):
    """Tree over the rows of ``points`` (n, d), n >= 1, d >= 1."""
    n, dims = points.shape
    order = np.arange(n, dtype=np.int32)
    _arrange(points, order)
    sizes = [-(-n // FLOATS**2)]
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // FLOATS))
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    leaves = aligned(-(-n // FLOATS) * dims * FLOATS, np.float64)
    boxes = aligned(start[-1] * dims * 2 * FLOATS, np.float64)
    leaves.fill(np.inf)
    _fill(points, order, leaves, boxes, start)
    return Tree(order, leaves, boxes, start, dims)


@njit(cache=True, nogil=True)
def _widest(points, order, lo, hi):
    """Axis of the largest spread of a sample of the range."""
    step = max(1, (hi - lo) // _SAMPLE)
    axis, spread = 0, -1.0
    for c in range(points.shape[1]):
        low = high = points[order[lo], c]
        for p in range(lo, hi, step):
            v = points[order[p], c]
            low, high = min(low, v), max(high, v)
        if high - low > spread:
            axis, spread = c, high - low
    return axis


@njit(cache=True, nogil=True)
def _select(keys, rows, lo, hi, nth):
    """Move the smallest keys of [lo, hi) before position ``nth`` (Hoare's selection)."""
    hi -= 1
    while lo < hi:
        a, b, c = keys[lo], keys[(lo + hi) // 2], keys[hi]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = lo, hi
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                rows[i], rows[j] = rows[j], rows[i]
                i += 1
                j -= 1
        if nth <= j:
            hi = j
        elif nth >= i:
            lo = i
        else:
            return


@njit(cache=True, nogil=True)
def _arrange(points, order):
    """Put ``order`` into kd order: cut each range of more than eight points at a power of two times eight."""
    keys = np.empty(len(order))
    stack = [(0, len(order))]
    while stack:
        lo, hi = stack.pop()
        half = FLOATS
        while 2 * half < hi - lo:
            half *= 2
        axis = _widest(points, order, lo, hi)
        for p in range(lo, hi):
            keys[p] = points[order[p], axis]
        _select(keys, order, lo, hi, lo + half)
        for a, b in ((lo, lo + half), (lo + half, hi)):
            if b - a > FLOATS:
                stack.append((a, b))


@njit(cache=True, nogil=True)
def _fill(points, order, leaves, boxes, start):
    """Copy the points into leaves and bound them, level by level."""
    n, dims = points.shape
    for p in range(n):
        for c in range(dims):
            leaves[(p // FLOATS * dims + c) * FLOATS + p % FLOATS] = points[order[p], c]
    for level in range(len(start) - 1):
        for child in range(FLOATS * (start[level + 1] - start[level])):
            box = (start[level] + child // FLOATS) * dims * 2 * FLOATS + child % FLOATS
            for c in range(dims):
                low, high = np.inf, -np.inf
                for m in range(FLOATS):
                    if level == 0:
                        p = child * FLOATS + m
                        if p < n:
                            low, high = min(low, points[order[p], c]), max(high, points[order[p], c])
                    elif start[level - 1] + child < start[level]:
                        inner = ((start[level - 1] + child) * dims + c) * 2 * FLOATS + m
                        low, high = min(low, boxes[inner]), max(high, boxes[inner + FLOATS])
                boxes[box + c * 2 * FLOATS] = low
                boxes[box + c * 2 * FLOATS + FLOATS] = high


@njit(cache=True, nogil=True)
def count(tree, cut, near, far, out, lo, hi):
    """Count, for tree positions lo..hi, the points within the query's box, itself included.

    Half widths (inclusive) are ``near[row]`` along the first ``cut`` axes and ``far[row]`` along the others.
    """
    order, points, boxes, start, dims = tree
    n, top = len(order), len(start) - 2
    query, width = np.empty(dims), np.empty(dims)
    stack = np.empty(2 * (FLOATS * len(start) + 1), np.int64)
    for p in range(lo, hi):
        row = order[p]
        for c in range(dims):
            query[c] = points[(p // FLOATS * dims + c) * FLOATS + p % FLOATS]
            width[c] = near[row] if c < cut else far[row]
        total = 0
        stack[0], stack[1] = top, 0
        depth = 2
        while depth > 0:
            depth -= 2
            level, node = stack[depth], stack[depth + 1]
            box = (start[level] + node) * dims * 2 * FLOATS
            zero = splat(0.0)
            meets, inside = at_most(zero, zero), at_most(zero, zero)
            for c in range(dims):
                low, high = load(boxes, box + c * 2 * FLOATS), load(boxes, box + c * 2 * FLOATS + FLOATS)
                q, r = splat(query[c]), splat(width[c])
                meets = both(meets, both(at_most(subtract(low, q), r), at_most(subtract(q, high), r)))
                inside = both(inside, both(at_most(subtract(q, low), r), at_most(subtract(high, q), r)))
            some = bits(meets)
            whole = some & bits(inside)
            some ^= whole
            size = FLOATS ** (level + 1)
            total += ones(whole) * size
            if whole and (node + 1) * FLOATS * size > n:  # the last child may hold fewer points
                last = (n - 1) // size
                if last // FLOATS == node and whole >> (last % FLOATS) & 1:
                    total -= (last + 1) * size - n
            while some:
                child = node * FLOATS + first(some)
                some &= some - 1
                if level > 0:
                    stack[depth], stack[depth + 1] = level - 1, child
                    depth += 2
                else:
                    hit = at_most(zero, zero)
                    for c in range(dims):
                        away = gap(load(points, (child * dims + c) * FLOATS), splat(query[c]))
                        hit = both(hit, at_most(away, splat(width[c])))
                    total += ones(bits(hit))
        out[row] = total


@njit(cache=True, nogil=True)
def leave_out(points, rows, start, stop, cut, near, far, out):
    """Subtract from `count` the points of each row's Theiler window, itself among them."""
    for i in range(len(points)):
        for w in range(start[i], stop[i]):
            inside = True
            for c in range(points.shape[1]):
                inside &= abs(points[i, c] - points[rows[w], c]) <= (near[i] if c < cut else far[i])
            out[i] -= inside


@njit(cache=True, nogil=True)
def _offer(best, who, d, s, order):
    """Keep the nearest, given a candidate at tree position s; among equal distances the smaller row wins."""
    m = len(best) - 1
    if d > best[m] or (d == best[m] and who[m] >= 0 and order[s] > order[who[m]]):
        return
    while m > 0 and (best[m - 1] > d or (best[m - 1] == d and order[who[m - 1]] > order[s])):
        best[m], who[m] = best[m - 1], who[m - 1]
        m -= 1
    best[m], who[m] = d, s


@njit(cache=True, nogil=True)
def nearest(tree, times, theiler, k, algorithm, y_start, z_start, radii, lo, hi):
    """Find the inclusive radii (3, n) in x, y, z that the k nearest neighbours of tree positions lo..hi imply.

    Algorithm 1: just below the distance of the k-th, the same in every block. Algorithm 2: the largest distance
    among the k in each block, where the blocks are the axes up to ``y_start``, to ``z_start`` and the rest.
    """
    order, points, boxes, start, dims = tree
    n, top = len(order), len(start) - 2
    query, best, who = np.empty(dims), np.empty(k), np.empty(k, np.int64)
    nodes, reach, leaf = np.empty(len(start), np.int64), np.empty(len(start) * FLOATS), np.empty(FLOATS)
    for p in range(lo, hi):
        row = order[p]
        for c in range(dims):
            query[c] = points[(p // FLOATS * dims + c) * FLOATS + p % FLOATS]
        best[:] = np.inf
        who[:] = -1
        level, fresh = top, True
        nodes[level] = 0
        while level <= top:
            if fresh:
                box = (start[level] + nodes[level]) * dims * 2 * FLOATS
                near = splat(0.0)
                for c in range(dims):
                    low, high = load(boxes, box + c * 2 * FLOATS), load(boxes, box + c * 2 * FLOATS + FLOATS)
                    near = larger(
                        near, larger(subtract(low, splat(query[c])), subtract(splat(query[c]), high))
                    )
                store(reach, level * FLOATS, near)
            near = load(reach, level * FLOATS)
            closest = smallest(near)
            fresh = False
            if closest > best[k - 1] or closest == np.inf or (closest == best[k - 1] and algorithm == 1):
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
                s = child * FLOATS + first(hits)
                if s < n and abs(times[order[s]] - times[row]) > theiler:
                    _offer(best, who, leaf[first(hits)], s, order)
                hits &= hits - 1
        _radii(tree, query, best, who, algorithm, y_start, z_start, radii, row)


@njit(cache=True, nogil=True)
def _radii(tree, query, best, who, algorithm, y_start, z_start, radii, row):
    if algorithm == 1:
        radii[0, row] = radii[1, row] = radii[2, row] = np.nextafter(best[-1], -np.inf)
        return
    radii[0, row] = radii[1, row] = radii[2, row] = 0.0
    for s in who:
        for c in range(tree.dims):
            if s >= 0:
                block = (c >= y_start) + (c >= z_start)
                d = abs(tree.points[(s // FLOATS * tree.dims + c) * FLOATS + s % FLOATS] - query[c])
                radii[block, row] = max(radii[block, row], d)
