"""Batches of x: neighbour lists in (y, z) and in z, built once per point and walked by many questions at a time.

The k-th joint neighbour of a point is found by walking its (y, z) list from near to far and stopping once the
list's distance passes the current k-th best; n_xz checks x along the z list. `SHORTS` questions (surrogates,
candidates) share a walk, one per lane: the list is read once and nothing is gathered, for their x lie side by side.

The walk reads distances as int16 multiples of a small unit. A rounded distance is off by at most one unit, so it
settles nearly every comparison; the few that it cannot settle are made in float64, and the result is exact.
Lists live for one block of neighbouring points at a time; one that proves too short is built again, longer.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from enmesh.neighbours.lanes import (
    FLOATS, SHORTS, at_most, bits, both, either, first, gap, larger, largest, less, load, smaller, splat, store,
    subtract, tally, unlike,
)  # fmt: skip

TOP = 32767  # the largest code of a distance; stands for itself and everything above
EDGE = 16383  # codes of x lie between -EDGE and EDGE
_SLOP = 1.0 + 1e-6  # units by which a difference of codes and a distance may differ, rounding included
_CHUNK = 8  # list entries between two looks at the stopping rule
_BLOCK = 16  # points whose lists are alive at once
_GROWTH = 2.0  # at most, of a list radius that proved too short
_MARGIN = 1.0  # list radius over the mean of what the last points needed
_MEMORY = 16  # points in that mean


class Codes(NamedTuple):
    """A batch of x, rounded to int16 for the walk and exact for the doubtful cases."""

    exact: np.ndarray  # (b, n, d) float64, rows as given
    codes: np.ndarray  # flat (group, n, d, SHORTS) int16, points in tree order
    scale: float  # codes per unit of distance
    bound: int  # codes at or beyond it may have been clipped


class List(NamedTuple):
    """Neighbour lists of a block of points, one after the other, each roughly from near to far."""

    y: np.ndarray  # distance in y, exact
    z: np.ndarray  # distance in z, exact
    y_code: np.ndarray  # the same, rounded
    z_code: np.ndarray
    row: np.ndarray  # tree position of the neighbour
    low: np.ndarray  # smallest max(y_code, z_code) from each chunk on
    at: np.ndarray  # start of each point's list
    size: np.ndarray  # and its length


def encode(x, order):
    """Codes of x (b, n, d) for a tree with this ``order``.

    The unit is set by the spread of all but the most extreme thousandth of the values, which are clipped.
    """
    b, n, dims = x.shape
    sample = x[0] if b * n < 10_000 else x[:: max(1, b // 8)].reshape(-1, dims)[:: max(1, n // 1000)]
    tails = np.quantile(sample, [0.001, 0.5, 0.999], axis=0)
    least, most = x.min(axis=(0, 1)), x.max(axis=(0, 1))
    low = np.maximum(least, tails[1] - 4 * (tails[1] - tails[0]))
    high = np.minimum(most, tails[1] + 4 * (tails[2] - tails[1]))
    span = float((high - low).max())
    scale = (2 * EDGE - 2) / span if span > 0 else 1.0
    clipped = bool((least < low).any() or (most > high).any())
    codes = np.empty(-(-b // SHORTS) * n * dims * SHORTS, np.int16)
    _interleave(x, order, 0.5 * (low + high), scale, codes)
    return Codes(x, codes, scale, EDGE if clipped else TOP + EDGE)


@njit(cache=True, nogil=True)
def _interleave(x, order, centre, scale, codes):
    """Write the codes side by side; copies of the last question fill the last group."""
    b, n, dims = x.shape
    for g in range((b + SHORTS - 1) // SHORTS):
        for m in range(SHORTS):
            s = min(g * SHORTS + m, b - 1)
            for p in range(n):
                at = (g * n + p) * dims * SHORTS + m
                for c in range(dims):
                    v = np.floor((x[s, order[p], c] - centre[c]) * scale)
                    codes[at + c * SHORTS] = np.int16(min(max(v, -EDGE), EDGE))


@njit(cache=True, nogil=True)
def _code(distance, scale):
    return np.int16(min(distance * scale, TOP))


@njit(cache=True, nogil=True)
def _collect(tree, times, theiler, p, radius, found, away):
    """Positions and z distances of all admissible points within ``radius`` of position p; return their number."""
    order, points, boxes, start, dims = tree
    n = len(order)
    stack = np.empty(2 * (FLOATS * len(start) + 1), np.int64)
    near = np.empty(FLOATS)
    total = 0
    stack[0], stack[1] = len(start) - 2, 0
    depth = 2
    r = splat(radius)
    when = times[order[p]]
    here = p // FLOATS * dims * FLOATS + p % FLOATS
    while depth > 0:
        depth -= 2
        level, node = stack[depth], stack[depth + 1]
        box = (start[level] + node) * dims * 2 * FLOATS
        far = splat(0.0)
        for c in range(dims):
            q = splat(points[here + c * FLOATS])
            low, high = load(boxes, box + c * 2 * FLOATS), load(boxes, box + c * 2 * FLOATS + FLOATS)
            far = larger(far, larger(subtract(low, q), subtract(q, high)))
        some = bits(at_most(far, r))
        while some:
            child = node * FLOATS + first(some)
            some &= some - 1
            if level > 0:
                stack[depth], stack[depth + 1] = level - 1, child
                depth += 2
                continue
            d = splat(0.0)
            for c in range(dims):
                d = larger(d, gap(load(points, (child * dims + c) * FLOATS), splat(points[here + c * FLOATS])))
            store(near, 0, d)
            hits = bits(at_most(d, r))
            while hits:
                s = first(hits)
                hits &= hits - 1
                j = child * FLOATS + s
                if j < n and abs(times[order[j]] - when) > theiler:
                    found[total] = j
                    away[total] = near[s]
                    total += 1
    return total


@njit(cache=True, nogil=True)
def _append(entries, q, at, found, ys, zs, total, radius, scale, heads):
    """Write ``total`` found points as list q from ``at`` on, nearly sorted; return where the next list may start.

    Buckets of a few entries are in order, entries within a bucket are not; ``low`` makes stopping exact.
    """
    buckets = total // 4 + 1
    spread = buckets / radius if radius > 0 else 0.0
    heads[: buckets + 1] = 0
    for e in range(total):
        heads[min(buckets - 1, int(max(ys[e], zs[e]) * spread)) + 1] += 1
    for h in range(buckets):
        heads[h + 1] += heads[h]
    for e in range(total):
        h = min(buckets - 1, int(max(ys[e], zs[e]) * spread))
        s = at + heads[h]
        heads[h] += 1
        entries.y[s], entries.z[s], entries.row[s] = ys[e], zs[e], found[e]
        entries.y_code[s], entries.z_code[s] = _code(ys[e], scale), _code(zs[e], scale)
    least = np.int16(TOP)
    for e in range(total - 1, -1, -1):
        least = min(least, max(entries.y_code[at + e], entries.z_code[at + e]))
        if e % _CHUNK == 0:
            entries.low[(at + e) // _CHUNK] = least
    entries.at[q], entries.size[q] = at, total
    return (at + total + _CHUNK - 1) // _CHUNK * _CHUNK


@njit(cache=True, nogil=True)
def _separation(codes, a, b, dims):
    """Rounded max-norm distance in x between two points, one question per lane."""
    d = gap(load(codes, a), load(codes, b))
    for c in range(1, dims):
        d = larger(d, gap(load(codes, a + c * SHORTS), load(codes, b + c * SHORTS)))
    return d


@njit(cache=True, nogil=True)
def _distance(a, i, j):
    d = 0.0
    for c in range(a.shape[1]):
        d = max(d, abs(a[i, c] - a[j, c]))
    return d


@njit(cache=True, nogil=True)
def _exact(x, s, i, j):
    d = 0.0
    for c in range(x.shape[2]):
        d = max(d, abs(x[s, i, c] - x[s, j, c]))
    return d


@njit(cache=True, nogil=True)
def _kth(codes, here, base, dims, near, q, k, best):
    """Rounded k-th joint distance of each lane, along the (y, z) list."""
    at, end = near.at[q], near.at[q] + near.size[q]
    for m in range(k):
        store(best, m * SHORTS, splat(np.int16(TOP)))
    for e in range(at, end, _CHUNK):
        limit = load(best, (k - 1) * SHORTS)
        if near.low[e // _CHUNK] >= largest(limit):
            break
        for f in range(e, min(e + _CHUNK, end)):
            d = splat(max(near.y_code[f], near.z_code[f]))
            d = larger(d, _separation(codes, here, base + near.row[f] * dims * SHORTS, dims))
            if bits(less(d, limit)):
                for m in range(k):
                    held = load(best, m * SHORTS)
                    store(best, m * SHORTS, smaller(held, d))
                    d = larger(held, d)
                limit = load(best, (k - 1) * SHORTS)
    return largest(load(best, (k - 1) * SHORTS))


@njit(cache=True, nogil=True)
def _insert(best, who, start, k, d, f, j, row, order):
    """Keep the k smallest (distance, original row) from ``start`` on; ``f`` is the list entry of tree position j."""
    m = start + k - 1
    if d > best[m] or (d == best[m] and who[m] >= 0 and order[j] > order[row[who[m]]]):
        return
    while m > start and (best[m - 1] > d or (best[m - 1] == d and order[row[who[m - 1]]] > order[j])):
        best[m], who[m] = best[m - 1], who[m - 1]
        m -= 1
    best[m], who[m] = d, f


@njit(cache=True, nogil=True)
def _refine(x, g, p, order, base, here, near, q, k, algorithm, limit, best, who):
    """Exact k nearest joint neighbours of each lane: those whose rounded distance is near the rounded k-th."""
    b, n, dims = x.exact.shape
    at, end = near.at[q], near.at[q] + near.size[q]
    best[:] = np.inf
    who[:] = -1
    last = load(limit, 0)
    # nearer than the k-th for sure: algorithm 1 needs no more than to count them
    nearer = subtract(last, splat(np.int16(3 if algorithm == 1 else TOP)))
    reach = smaller(last, splat(np.int16(TOP - 2)))
    reach = subtract(reach, splat(np.int16(-2)))
    stop = largest(reach)
    for e in range(at, end, _CHUNK):
        if near.low[e // _CHUNK] > stop:
            break
        for f in range(e, min(e + _CHUNK, end)):
            j = near.row[f]
            d = splat(max(near.y_code[f], near.z_code[f]))
            d = larger(d, _separation(x.codes, here, base + j * dims * SHORTS, dims))
            some = bits(at_most(d, reach))
            if not some:
                continue
            counted = bits(at_most(d, nearer))
            while some:
                m = first(some)
                some &= some - 1
                if g * SHORTS + m < b:
                    away = 0.0
                    if not counted >> m & 1:
                        away = max(_exact(x.exact, g * SHORTS + m, order[p], order[j]), near.y[f], near.z[f])
                    _insert(best, who, m * k, k, away, f, j, near.row, order)


@njit(cache=True, nogil=True)
def _limits(radius, scale, sure, possible, block, safe):
    """Codes that are surely, and possibly, at most ``radius``."""
    for m in range(SHORTS):
        r = radius[block, m] * scale
        sure[block * SHORTS + m] = np.int16(max(min(np.floor(r - _SLOP), TOP - 1), -1)) if safe[m] else -1
        possible[block * SHORTS + m] = np.int16(max(min(np.floor(r + _SLOP), TOP), -1))


@njit(cache=True, nogil=True)
def _count_yz(near, q, radius, sure, possible, out):
    """n_yz of each lane, along the (y, z) list."""
    at, end = near.at[q], near.at[q] + near.size[q]
    sure_y, sure_z = load(sure, SHORTS), load(sure, 2 * SHORTS)
    may_y, may_z = load(possible, SHORTS), load(possible, 2 * SHORTS)
    stop = largest(larger(may_y, may_z))
    total = splat(np.int16(0))
    for e in range(at, end, _CHUNK):
        if near.low[e // _CHUNK] > stop:
            break
        for f in range(e, min(e + _CHUNK, end)):
            y, z = splat(near.y_code[f]), splat(near.z_code[f])
            inside = both(at_most(y, sure_y), at_most(z, sure_z))
            total = tally(total, inside)
            doubt = bits(unlike(inside, both(at_most(y, may_y), at_most(z, may_z))))
            while doubt:
                m = first(doubt)
                doubt &= doubt - 1
                out[1, m] += near.y[f] <= radius[1, m] and near.z[f] <= radius[2, m]
        if (e - at) % 16384 == 16384 - _CHUNK:
            total = _flush(total, out, 1)
    _flush(total, out, 1)


@njit(cache=True, nogil=True)
def _flush(total, out, block):
    """Move int16 tallies to ``out`` before they can overflow; return zeros."""
    held = np.empty(SHORTS, np.int16)
    store(held, 0, total)
    for m in range(SHORTS):
        out[block, m] += held[m]
    return splat(np.int16(0))


@njit(cache=True, nogil=True)
def _count_xz(x, g, p, order, base, here, far, q, radius, sure, possible, out):
    """n_xz and n_z of each lane, along the z list."""
    b, n, dims = x.exact.shape
    at, end = far.at[q], far.at[q] + far.size[q]
    sure_x, sure_z = load(sure, 0), load(sure, 2 * SHORTS)
    may_x, may_z = load(possible, 0), load(possible, 2 * SHORTS)
    stop = largest(may_z)
    n_xz, n_z = splat(np.int16(0)), splat(np.int16(0))
    for e in range(at, end, _CHUNK):
        if far.low[e // _CHUNK] > stop:
            break
        for f in range(e, min(e + _CHUNK, end)):
            j = far.row[f]
            z = splat(far.z_code[f])
            d = _separation(x.codes, here, base + j * dims * SHORTS, dims)
            in_z, may = at_most(z, sure_z), at_most(z, may_z)
            inside, maybe = both(in_z, at_most(d, sure_x)), both(may, at_most(d, may_x))
            n_z, n_xz = tally(n_z, in_z), tally(n_xz, inside)
            doubt_z, doubt = unlike(in_z, may), unlike(inside, maybe)
            some = bits(either(doubt_z, doubt))
            if some:
                unsure, unsure_z = bits(doubt), bits(doubt_z)
                while some:
                    m = first(some)
                    some &= some - 1
                    if g * SHORTS + m < b:
                        hit = far.z[f] <= radius[2, m]
                        out[2, m] += hit and unsure_z >> m & 1
                        if hit and unsure >> m & 1:
                            away = _exact(x.exact, g * SHORTS + m, order[p], order[j])
                            out[0, m] += away <= radius[0, m]
        if (e - at) % 16384 == 16384 - _CHUNK:
            n_xz, n_z = _flush(n_xz, out, 0), _flush(n_z, out, 2)
    _flush(n_xz, out, 0)
    _flush(n_z, out, 2)


@njit(cache=True, nogil=True)
def _radii(x, g, p, order, near, best, who, k, algorithm, radius):
    """Inclusive radii (x, y, z) of each lane."""
    for m in range(min(SHORTS, len(x.exact) - g * SHORTS)):
        if algorithm == 1:
            radius[0, m] = radius[1, m] = radius[2, m] = np.nextafter(best[m * k + k - 1], -np.inf)
        else:
            radius[0, m] = radius[1, m] = radius[2, m] = 0.0
            for h in range(k):
                f = who[m * k + h]
                if f >= 0:
                    away = _exact(x.exact, g * SHORTS + m, order[p], order[near.row[f]])
                    radius[0, m] = max(radius[0, m], away)
                    radius[1, m], radius[2, m] = max(radius[1, m], near.y[f]), max(radius[2, m], near.z[f])


@njit(cache=True, nogil=True)
def _safe(x, here, dims, radius, safe):
    """Lanes whose neighbourhood stays clear of clipped codes."""
    for m in range(SHORTS):
        reach = max(radius[0, m], radius[1, m], radius[2, m]) * x.scale + 2
        safe[m] = True
        for c in range(dims):
            safe[m] &= abs(x.codes[here + c * SHORTS + m]) + reach < x.bound


@njit(cache=True, nogil=True)
def _empty(capacity):
    return List(
        np.empty(capacity), np.empty(capacity), np.empty(capacity, np.int16), np.empty(capacity, np.int16),
        np.empty(capacity, np.int32), np.empty(capacity // _CHUNK + 1, np.int16),
        np.empty(_BLOCK, np.int64), np.empty(_BLOCK, np.int64),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def walk(tree, y, times, theiler, x, k, algorithm, guess, out, lo, hi):
    """Write (n_xz, n_yz, n_z) of tree positions lo..hi to ``out`` (3, b, n)."""
    order = tree.order
    b, n, dims = x.exact.shape
    groups = (b + SHORTS - 1) // SHORTS
    capacity = n + max(n, 1 << 14) + _CHUNK
    found, heads = np.empty(n, np.int32), np.empty(n + 2, np.int32)
    ys, zs, none = np.empty(n), np.empty(n), np.zeros(n)
    near, far = _empty(capacity), _empty(capacity)
    who, reach, pending = np.empty(_BLOCK, np.int64), np.empty(_BLOCK), np.empty((_BLOCK, groups), np.bool_)
    need = np.empty(_BLOCK)
    codes, best, ids = np.empty(k * SHORTS, np.int16), np.empty(SHORTS * k), np.empty(SHORTS * k, np.int64)
    radius, counts = np.zeros((3, SHORTS)), np.zeros((3, SHORTS), np.int32)
    sure, possible, safe = np.empty(3 * SHORTS, np.int16), np.empty(3 * SHORTS, np.int16), np.ones(SHORTS, np.bool_)
    waiting, p = 0, lo
    while waiting > 0 or p < hi:
        while waiting < _BLOCK and p < hi:
            who[waiting], reach[waiting], need[waiting] = p, guess * _MARGIN, 0.0
            pending[waiting] = True
            waiting += 1
            p += 1
        near_end = far_end = built = 0
        while built < waiting and far_end + n + _CHUNK <= capacity:
            i, r = who[built], reach[built]
            total = _collect(tree, times, theiler, i, r, found, zs)
            far_end = _append(far, built, far_end, found, none, zs, total, r, x.scale, heads)
            m = 0
            for e in range(total):
                d = _distance(y, found[e], i)
                if d <= r:
                    found[m], ys[m], zs[m] = found[e], d, zs[e]
                    m += 1
            near_end = _append(near, built, near_end, found, ys, zs, m, r, x.scale, heads)
            built += 1
        for g in range(groups):
            base = g * n * dims * SHORTS
            for q in range(built):
                if not pending[q, g]:
                    continue
                here = base + who[q] * dims * SHORTS
                last = _kth(x.codes, here, base, dims, near, q, k, codes)
                need[q] = max(need[q], (last + _SLOP) / x.scale)
                if (last + _SLOP) / x.scale > reach[q]:
                    continue
                pending[q, g] = False
                _refine(x, g, who[q], order, base, here, near, q, k, algorithm, codes[(k - 1) * SHORTS :], best, ids)
                _radii(x, g, who[q], order, near, best, ids, k, algorithm, radius)
                if x.bound == EDGE:
                    _safe(x, here, dims, radius, safe)
                for block in range(3):
                    _limits(radius, x.scale, sure, possible, block, safe)
                counts[:] = 0
                _count_yz(near, q, radius, sure, possible, counts)
                _count_xz(x, g, who[q], order, base, here, far, q, radius, sure, possible, counts)
                for m in range(3):
                    for s in range(min(SHORTS, b - g * SHORTS)):
                        out[m, g * SHORTS + s, order[who[q]]] = counts[m, s]
        kept = 0
        for q in range(waiting):
            if not pending[q].any():
                guess += (need[q] - guess) / _MEMORY
                continue
            if q < built:
                reach[q] = np.inf if far.size[q] >= n - 1 else min(need[q], reach[q] * _GROWTH)
            who[kept], reach[kept], need[kept] = who[q], reach[q], 0.0
            pending[kept] = pending[q]
            kept += 1
        waiting = kept
