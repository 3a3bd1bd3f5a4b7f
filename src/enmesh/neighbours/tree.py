"""A bounding-volume tree with eight children per node, searched in the max norm.

Points are put in kd order by median cuts at multiples of eight points, so that every aligned run of 8, 64,
512 ... points is a subtree; a leaf is eight points. The boxes of eight children lie side by side: one pass over
the dimensions tells for all eight whether they meet the query's box and whether they lie inside it.
Comparisons round monotonically, so pruning never contradicts the distance of a single point: counts are exact.
"""

from typing import NamedTuple

import numpy as np

from enmesh.compiled import inlined, kernel, part
from enmesh.neighbours.lanes import (
    FLOATS,
    after,
    aligned,
    bits,
    first,
    flat,
    gap,
    larger,
    load,
    ones,
    pick,
    smallest,
    splat,
    store,
)

STACK = 1 << 8  # room for nodes that wait to be visited, pairs of level and node: FLOATS on each of 15 levels
_SAMPLE = 256  # points that decide along which axis a range is cut


class Tree(NamedTuple):
    """Points in kd order with their boxes."""

    order: np.ndarray  # (n,) int32: original row of each point in tree order
    points: np.ndarray  # flat (leaf, dimension, 8)
    boxes: np.ndarray  # flat (node, dimension, low/high, 8 children)
    start: np.ndarray  # (levels + 1,) first node of each level, level 0 being the parents of the leaves
    n: int
    dims: int
    top: int  # level of the root
    rows: np.ndarray  # (n, d) the points in their own order


def grow(points: np.ndarray) -> Tree:
    """Tree over the rows of ``points`` (n, d), n >= 1, d >= 1."""
    n, dims = points.shape
    sizes = [-(-n // FLOATS**2)]
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // FLOATS))
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    leaves = aligned(-(-n // FLOATS) * dims * FLOATS, np.float64)
    boxes = aligned(int(start[-1]) * dims * 2 * FLOATS, np.float64)
    leaves.fill(np.inf)
    points = np.ascontiguousarray(points)
    grown = Tree(np.arange(n, dtype=np.int32), leaves, boxes, start, n, dims, len(sizes) - 1, points)
    _grow(grown, np.empty(n), np.empty(STACK, np.int64))
    return grown


@kernel
def _grow(tree, keys, stack):
    """Put the points in kd order, copy them into leaves and bound these, level by level."""
    tree, keys, stack = flat((tree, keys, stack))
    _arrange(tree.rows, tree.order, tree.n, tree.dims, keys, stack)
    _fill(tree)


@part
def _widest(points, order, dims, lo, hi):
    """Axis of the largest spread of a sample of the range."""
    step = max(1, (hi - lo) // _SAMPLE)
    axis, spread = 0, -1.0
    for c in range(dims):
        low = high = points[order[lo] * dims + c]
        for p in range(lo, hi, step):
            v = points[order[p] * dims + c]
            low, high = min(low, v), max(high, v)
        if high - low > spread:
            axis, spread = c, high - low
    return axis


@part
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


@part
def _arrange(points, order, n, dims, keys, stack):
    """Put ``order`` into kd order: cut each range of more than eight points at a power of two times eight."""
    stack[0], stack[1] = 0, n
    depth = 2
    while depth > 0:
        depth -= 2
        lo, hi = stack[depth], stack[depth + 1]
        half = FLOATS
        while 2 * half < hi - lo:
            half *= 2
        axis = _widest(points, order, dims, lo, hi)
        for p in range(lo, hi):
            keys[p] = points[order[p] * dims + axis]
        cut = min(lo + half, hi)
        _select(keys, order, lo, hi, cut)
        if cut - lo > FLOATS:
            stack[depth], stack[depth + 1] = lo, cut
            depth += 2
        if hi - cut > FLOATS:
            stack[depth], stack[depth + 1] = cut, hi
            depth += 2


@part
def _fill(tree):
    """Copy the points into leaves and bound them, level by level."""
    order, leaves, boxes, start, n, dims, top, points = tree
    for p in range(n):
        for c in range(dims):
            leaves[(p // FLOATS * dims + c) * FLOATS + p % FLOATS] = points[order[p] * dims + c]
    for level in range(top + 1):
        for child in range(FLOATS * (start[level + 1] - start[level])):
            box = (start[level] + child // FLOATS) * dims * 2 * FLOATS + child % FLOATS
            for c in range(dims):
                low, high = np.inf, -np.inf
                for m in range(FLOATS):
                    if level == 0:
                        p = child * FLOATS + m
                        if p < n:
                            v = points[order[p] * dims + c]
                            low, high = min(low, v), max(high, v)
                    elif start[level - 1] + child < start[level]:
                        inner = ((start[level - 1] + child) * dims + c) * 2 * FLOATS + m
                        low, high = min(low, boxes[inner]), max(high, boxes[inner + FLOATS])
                boxes[box + c * 2 * FLOATS] = low
                boxes[box + c * 2 * FLOATS + FLOATS] = high


def count(tree: Tree, cut: int, near: np.ndarray, far: np.ndarray, out: np.ndarray, lo: int, hi: int) -> None:
    """Count, for tree positions lo..hi, the points within the query's box, itself included.

    Half widths (inclusive) are ``near[row]`` along the first ``cut`` axes and ``far[row]`` along the others.
    """
    _count(tree, cut, near, far, out, lo, hi, np.empty(2 * tree.dims), np.empty(STACK, np.int64))


@kernel
def _count(tree, cut, near, far, out, lo, hi, query, stack):
    tree, near, far, out, query, stack = flat((tree, near, far, out, query, stack))
    order, points, boxes, start, n, dims, top, _ = tree
    width = after(query, dims)
    zero = splat(0.0)
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
            meets = inside = zero <= zero
            for c in range(dims):
                low, high = load(boxes, box + c * 2 * FLOATS), load(boxes, box + c * 2 * FLOATS + FLOATS)
                q, r = splat(query[c]), splat(width[c])
                meets = meets & (low - q <= r) & (q - high <= r)
                inside = inside & (q - low <= r) & (high - q <= r)
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
                    hit = zero <= zero
                    for c in range(dims):
                        away = gap(load(points, (child * dims + c) * FLOATS), splat(query[c]))
                        hit = hit & (away <= splat(width[c]))
                    total += ones(bits(hit))
        out[row] = total


@kernel
def leave_out(points, rows, start, stop, cut, near, far, out):
    """Subtract from `count` the points of each row's Theiler window, itself among them."""
    n, dims = points.shape
    points, rows, start, stop, near, far, out = flat((points, rows, start, stop, near, far, out))
    for i in range(n):
        for w in range(start[i], stop[i]):
            inside = True
            for c in range(dims):
                width = near[i] if c < cut else far[i]
                inside &= abs(points[i * dims + c] - points[rows[w] * dims + c]) <= width
            out[i] -= inside


@inlined
def to_boxes(tree, level, node, query):
    """Distances from the query to the boxes of a node's children, no less than 0."""
    box = (tree.start[level] + node) * tree.dims * 2 * FLOATS
    away = splat(0.0)
    for c in range(tree.dims):
        low, high = load(tree.boxes, box + c * 2 * FLOATS), load(tree.boxes, box + c * 2 * FLOATS + FLOATS)
        q = splat(query[c])
        away = larger(away, larger(low - q, q - high))
    return away


@inlined
def to_points(tree, leaf, query):
    """Distances from the query to the points of a leaf."""
    away = splat(0.0)
    for c in range(tree.dims):
        away = larger(away, gap(load(tree.points, (leaf * tree.dims + c) * FLOATS), splat(query[c])))
    return away


@inlined
def _share_time(spans, i, j):
    """Whether the spans (start, end) of two points, which are equally long, overlap."""
    return abs(spans[2 * j] - spans[2 * i]) < spans[2 * i + 1] - spans[2 * i]


@inlined
def collect(tree, query, radius, spans, i, found, away, stack):
    """Positions and distances of the points within ``radius`` of the i-th query; return their number.

    Points that share time with it are left out (`_share_time`).
    """
    total = 0
    stack[0], stack[1] = tree.top, 0
    depth = 2
    r = splat(radius)
    while depth > 0:
        depth -= 2
        level, node = stack[depth], stack[depth + 1]
        some = bits(to_boxes(tree, level, node, query) <= r)
        while some:
            child = node * FLOATS + first(some)
            some &= some - 1
            if level > 0:
                stack[depth], stack[depth + 1] = level - 1, child
                depth += 2
                continue
            d = to_points(tree, child, query)
            hits = bits(d <= r)
            while hits:
                s = child * FLOATS + first(hits)
                if s < tree.n and not _share_time(spans, i, tree.order[s]):
                    found[total], away[total] = s, pick(d, first(hits))
                    total += 1
                hits &= hits - 1
    return total


@inlined
def begin(tree, query, reach, nodes):
    """Let `next_leaf` start from the root."""
    nodes[tree.top], nodes[tree.top + 1] = 0, tree.top
    store(reach, tree.top * FLOATS, to_boxes(tree, tree.top, np.int64(0), query))


@inlined
def next_leaf(tree, query, far, reach, nodes):
    """Return the next leaf that is no farther than ``far``; -1 if there is none.

    Nodes are entered from near to far. ``reach`` keeps, level by level, how far the children not yet entered are,
    ``nodes`` the node of each level and, last, the level.
    """
    level = nodes[tree.top + 1]
    while level <= tree.top:
        near = load(reach, level * FLOATS)
        closest = smallest(near)
        if closest > far or closest == np.inf:
            level += 1
            continue
        slot = first(bits(near <= splat(closest)))
        reach[level * FLOATS + slot] = np.inf
        child = nodes[level] * FLOATS + slot
        if level == 0:
            nodes[tree.top + 1] = 0
            return child
        level -= 1
        nodes[level] = child
        store(reach, level * FLOATS, to_boxes(tree, level, child, query))
    return np.int64(-1)


@part
def search(tree, query, k, spans, i, best, who, reach, nodes):
    """Find the distances and positions of the k points nearest to the i-th query that share no time with it.

    Of equally far ones the smallest rows are taken.
    """
    order = tree.order
    for m in range(k):
        best[m], who[m] = np.inf, -1
    begin(tree, query, reach, nodes)
    while True:
        child = next_leaf(tree, query, best[k - 1], reach, nodes)
        if child < 0:
            break
        away = to_points(tree, child, query)
        hits = bits(away <= splat(best[k - 1]))
        while hits:
            s, d = child * FLOATS + first(hits), pick(away, first(hits))
            hits &= hits - 1
            m = k - 1
            if s >= tree.n or d > best[m] or _share_time(spans, i, order[s]):
                continue
            if d < best[m] or who[m] < 0 or order[s] < order[who[m]]:
                while m > 0 and (best[m - 1] > d or (best[m - 1] == d and order[who[m - 1]] > order[s])):
                    best[m], who[m] = best[m - 1], who[m - 1]
                    m -= 1
                best[m], who[m] = d, s


def search_room(tree: Tree, k: int) -> tuple[np.ndarray, ...]:
    """Return memory for a query and its search: ``query``, ``best``, ``who``, ``reach``, ``nodes``."""
    places = np.empty(k, np.int64), np.empty((tree.top + 1) * FLOATS), np.empty(tree.top + 2, np.int64)
    return np.empty(tree.dims), np.empty(k), *places


def nearest(tree: Tree, spans: np.ndarray, how: tuple[int, ...], radii: np.ndarray, lo: int, hi: int) -> None:
    """Find the inclusive radii (3, n) in x, y, z that the k nearest neighbours of tree positions lo..hi imply.

    Algorithm 1: just below the distance of the k-th, the same in every block. Algorithm 2: the largest distance
    among the k in each block. Points whose ``spans`` (n, 2), start and end, overlap are not compared. ``how`` is k,
    the algorithm, and the axes at which y and z start.
    """
    _nearest(tree, spans, how, radii, lo, hi, search_room(tree, how[0]))


@kernel
def _nearest(tree, spans, how, radii, lo, hi, room):
    tree, spans, radii = flat((tree, spans, radii))
    query, best, who, reach, nodes = flat(room)
    points, n, dims = tree.points, tree.n, tree.dims
    k, algorithm, y_start, z_start = how
    for p in range(lo, hi):
        row = tree.order[p]
        for c in range(dims):
            query[c] = points[(p // FLOATS * dims + c) * FLOATS + p % FLOATS]
        search(tree, query, k, spans, row, best, who, reach, nodes)
        for block in range(3):
            radii[block * n + row] = np.nextafter(best[k - 1], -np.inf) if algorithm == 1 else 0.0
        if algorithm == 2:
            for m in range(k):
                s = who[m]
                for c in range(dims):
                    if s >= 0:
                        at = ((c >= y_start) + (c >= z_start)) * n + row
                        d = abs(points[(s // FLOATS * dims + c) * FLOATS + s % FLOATS] - query[c])
                        radii[at] = max(radii[at], d)
