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
    FLOATS,
    SHORTS,
    aligned,
    at_most,
    bits,
    both,
    either,
    first,
    gap,
    larger,
    largest,
    load,
    smaller,
    splat,
    store,
    subtract,
    tally,
    unlike,
)  # fmt: skip

TOP = 32767  # the largest code of a distance; stands for itself and everything above
EDGE = 16383  # codes of x lie between -EDGE and EDGE
_SLOP = 1.0 + 1e-6  # units by which a difference of codes and a distance may differ, rounding included
_TILE = 16  # points whose codes are written at once
_CHUNK = 8  # list entries between two looks at the stopping rule
_SLACK = 2  # codes by which a distance no larger than another may seem larger
_BLOCK = 16  # points whose lists are alive at once
_GROWTH = 2.0  # at most, of a list radius that proved too short
_MEMORY = 16  # points over which the list radius is learnt


class Codes(NamedTuple):
    """A batch of x, rounded to int16 for the walk and exact for the doubtful cases."""

    exact: np.ndarray  # flat (group, n, SHORTS, d) float64, points in tree order
    codes: np.ndarray  # flat (group, n, d, SHORTS) int16, points in tree order
    scale: float  # codes per unit of distance
    shape: tuple  # (b, n, d)
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
    least, most = _bounds(x)
    low = np.maximum(least, tails[1] - 4 * (tails[1] - tails[0]))
    high = np.minimum(most, tails[1] + 4 * (tails[2] - tails[1]))
    span = float((high - low).max())
    scale = (2 * EDGE - 2) / span if span > 0 else 1.0
    clipped = bool((least < low).any() or (most > high).any())
    codes = aligned(-(-b // SHORTS) * n * dims * SHORTS, np.int16)
    exact = aligned(codes.size, np.float64)
    _interleave(x, order, 0.5 * (low + high), scale, exact, codes)
    return Codes(exact, codes, scale, x.shape, EDGE if clipped else TOP + EDGE)


@njit(cache=True, nogil=True)
def _bounds(x):
    """Smallest and largest value along each axis."""
    least, most = x[0, 0].copy(), x[0, 0].copy()
    for s in range(x.shape[0]):
        for p in range(x.shape[1]):
            for c in range(x.shape[2]):
                v = x[s, p, c]
                least[c], most[c] = min(least[c], v), max(most[c], v)
    return least, most


@njit(cache=True, nogil=True)
def _interleave(x, order, centre, scale, exact, codes):
    """Put the points in order and write their codes side by side; the last question fills the last group."""
    b, n, dims = x.shape
    for g in range((b + SHORTS - 1) // SHORTS):
        for tile in range(0, n, _TILE):
            for m in range(SHORTS):
                s = min(g * SHORTS + m, b - 1)
                for p in range(tile, min(n, tile + _TILE)):
                    for c in range(dims):
                        v = x[s, order[p], c]
                        exact[((g * n + p) * SHORTS + m) * dims + c] = v
                        v = np.floor((v - centre[c]) * scale)
                        codes[((g * n + p) * dims + c) * SHORTS + m] = np.int16(min(max(v, -EDGE), EDGE))


@njit(cache=True, nogil=True, inline="always")
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
                d = larger(
                    d, gap(load(points, (child * dims + c) * FLOATS), splat(points[here + c * FLOATS]))
                )
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
    y, z, y_code, z_code, row, low, _, _ = entries
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
        y[s], z[s], row[s] = ys[e], zs[e], found[e]
        y_code[s], z_code[s] = _code(ys[e], scale), _code(zs[e], scale)
    least = np.int16(TOP)
    for e in range(total - 1, -1, -1):
        least = min(least, max(y_code[at + e], z_code[at + e]))
        if e % _CHUNK == 0:
            low[(at + e) // _CHUNK] = least
    entries.at[q], entries.size[q] = at, total
    return (at + total + _CHUNK - 1) // _CHUNK * _CHUNK


@njit(cache=True, nogil=True, inline="always")
def _list(entries, q):
    """The arrays of a list and where point q's part starts and ends; unpacked for the sake of inner loops."""
    y, z, y_code, z_code, row, low, at, size = entries
    return y, z, y_code, z_code, row, low, at[q], at[q] + size[q]


@njit(cache=True, nogil=True, inline="always")
def _separation(codes, a, b, dims):
    """Rounded max-norm distance in x between two points, one question per lane."""
    d = gap(load(codes, a), load(codes, b))
    for c in range(1, dims):
        d = larger(d, gap(load(codes, a + c * SHORTS), load(codes, b + c * SHORTS)))
    return d


@njit(cache=True, nogil=True, inline="always")
def _distance(a, i, j):
    d = 0.0
    for c in range(a.shape[1]):
        d = max(d, abs(a[i, c] - a[j, c]))
    return d


@njit(cache=True, nogil=True, inline="always")
def _exact(exact, a, b, m, dims):
    """Distance in x between the points whose numbers start at a and b, in lane m."""
    d = 0.0
    for c in range(m * dims, m * dims + dims):
        d = max(d, abs(exact[a + c] - exact[b + c]))
    return d


@njit(cache=True, nogil=True)
def _kth(codes, here, base, dims, near, q, k, best, seen):
    """Rounded k-th joint distance of each lane, along the (y, z) list.

    Returns the largest, and how many entries were written to ``seen``: all that can be among the k nearest.
    """
    _, _, y_code, z_code, row, low, at, end = _list(near, q)
    for m in range(k):
        store(best, m * SHORTS, splat(np.int16(TOP)))
    top, slack = splat(np.int16(TOP - _SLACK)), splat(np.int16(-_SLACK))
    limit = splat(np.int16(TOP))
    total = 0
    for e in range(at, end, _CHUNK):
        if low[e // _CHUNK] > largest(limit):
            break
        for f in range(e, min(e + _CHUNK, end)):
            d = splat(max(y_code[f], z_code[f]))
            d = larger(d, _separation(codes, here, base + row[f] * dims * SHORTS, dims))
            if bits(at_most(d, limit)):
                seen[total] = f
                total += 1
                for m in range(k):
                    held = load(best, m * SHORTS)
                    store(best, m * SHORTS, smaller(held, d))
                    d = larger(held, d)
                limit = subtract(smaller(load(best, (k - 1) * SHORTS), top), slack)
    return largest(load(best, (k - 1) * SHORTS)), total


@njit(cache=True, nogil=True)
def _refine(x, order, base, here, near, seen, total, k, algorithm, limit, best, who):
    """Exact k nearest joint neighbours of each lane, among the entries seen."""
    exact, codes = x.exact, x.codes
    dims = x.shape[2]
    ys, zs, y_code, z_code, row, _, _, _ = near
    best[:] = np.inf
    who[:] = -1
    last = load(limit, 0)
    nearer = splat(np.int16(-1))
    if algorithm == 1 and x.bound > EDGE:  # nearer than the k-th for sure: it is enough to count them
        nearer = subtract(last, splat(np.int16(_SLACK + 1)))
    reach = subtract(smaller(last, splat(np.int16(TOP - _SLACK))), splat(np.int16(-_SLACK)))
    for e in range(total):
        f = seen[e]
        there = base + row[f] * dims * SHORTS
        d = larger(splat(max(y_code[f], z_code[f])), _separation(codes, here, there, dims))
        some, sure = bits(at_most(d, reach)), bits(at_most(d, nearer))
        while some:
            m = first(some)
            some &= some - 1
            away = 0.0
            if not sure >> m & 1:
                away = max(ys[f], zs[f])
                for c in range(m * dims, m * dims + dims):
                    away = max(away, abs(exact[here + c] - exact[there + c]))
            h, rank = m * k + k - 1, order[row[f]]  # among equal distances the smaller original row wins
            if away > best[h] or (away == best[h] and who[h] >= 0 and rank > order[row[who[h]]]):
                continue
            while h > m * k and (
                best[h - 1] > away or (best[h - 1] == away and order[row[who[h - 1]]] > rank)
            ):
                best[h], who[h] = best[h - 1], who[h - 1]
                h -= 1
            best[h], who[h] = away, f


@njit(cache=True, nogil=True)
def _unclip(x, here, limit, near, q, seen, total):
    """Where clipped codes may have hidden distance from a lane, let it see the whole list; return its length."""
    dims, suspect = x.shape[2], False
    for m in range(SHORTS):
        for c in range(dims):
            if abs(x.codes[here + c * SHORTS + m]) + limit[m] + _SLACK >= x.bound:
                limit[m] = TOP
                suspect = True
    if suspect:
        total = near.size[q]
        for e in range(total):
            seen[e] = near.at[q] + e
    return total


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
    ys, zs, y_code, z_code, _, low, at, end = _list(near, q)
    sure_y, sure_z = load(sure, SHORTS), load(sure, 2 * SHORTS)
    may_y, may_z = load(possible, SHORTS), load(possible, 2 * SHORTS)
    stop = largest(larger(may_y, may_z))
    total = splat(np.int16(0))
    for e in range(at, end, _CHUNK):
        if low[e // _CHUNK] > stop:
            break
        for f in range(e, min(e + _CHUNK, end)):
            y, z = splat(y_code[f]), splat(z_code[f])
            inside = both(at_most(y, sure_y), at_most(z, sure_z))
            total = tally(total, inside)
            doubt = bits(unlike(inside, both(at_most(y, may_y), at_most(z, may_z))))
            while doubt:
                m = first(doubt)
                doubt &= doubt - 1
                out[1, m] += ys[f] <= radius[1, m] and zs[f] <= radius[2, m]
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
def _count_xz(x, g, base, here, far, q, radius, sure, possible, out):
    """n_xz and n_z of each lane, along the z list."""
    exact, codes = x.exact, x.codes
    b, _, dims = x.shape
    _, zs, _, z_code, row, low, at, end = _list(far, q)
    sure_x, sure_z = load(sure, 0), load(sure, 2 * SHORTS)
    may_x, may_z = load(possible, 0), load(possible, 2 * SHORTS)
    stop = largest(may_z)
    n_xz, n_z = splat(np.int16(0)), splat(np.int16(0))
    for e in range(at, end, _CHUNK):
        if low[e // _CHUNK] > stop:
            break
        for f in range(e, min(e + _CHUNK, end)):
            there = base + row[f] * dims * SHORTS
            z = splat(z_code[f])
            d = _separation(codes, here, there, dims)
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
                        hit = zs[f] <= radius[2, m]
                        out[2, m] += hit and unsure_z >> m & 1
                        if hit and unsure >> m & 1:
                            close = True
                            for c in range(m * dims, m * dims + dims):
                                close &= abs(exact[here + c] - exact[there + c]) <= radius[0, m]
                            out[0, m] += close
        if (e - at) % 16384 == 16384 - _CHUNK:
            n_xz, n_z = _flush(n_xz, out, 0), _flush(n_z, out, 2)
    _flush(n_xz, out, 0)
    _flush(n_z, out, 2)


@njit(cache=True, nogil=True)
def _radii(x, g, base, here, near, best, who, k, algorithm, radius):
    """Inclusive radii (x, y, z) of each lane."""
    b, _, dims = x.shape
    for m in range(min(SHORTS, b - g * SHORTS)):
        if algorithm == 1:
            radius[0, m] = radius[1, m] = radius[2, m] = np.nextafter(best[m * k + k - 1], -np.inf)
        else:
            radius[0, m] = radius[1, m] = radius[2, m] = 0.0
            for h in range(k):
                f = who[m * k + h]
                if f >= 0:
                    there = base + near.row[f] * dims * SHORTS
                    away = _exact(x.exact, here, there, m, dims)
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
def _enlist(tree, y, times, theiler, scale, p, radius, near, far, q, ends, found, ys, zs, heads):
    """Write the lists of tree position p as the q-th of a block; ``ends`` are the ends of both."""
    total = _collect(tree, times, theiler, p, radius, found, zs)
    ys[:total] = 0.0
    ends[1] = _append(far, q, ends[1], found, ys, zs, total, radius, scale, heads)
    close = np.int64(0)  # typed: a literal would compile `_append` twice
    for e in range(total):
        d = _distance(y, found[e], p)
        if d <= radius:
            found[close], ys[close], zs[close] = found[e], d, zs[e]
            close += 1
    ends[0] = _append(near, q, ends[0], found, ys, zs, close, radius, scale, heads)


@njit(cache=True, nogil=True)
def _settle(x, order, g, p, near, far, q, k, algorithm, reach, seen, work, counts):
    """Count for one point and one group of questions; return the list radius that it takes.

    If that is more than ``reach``, the radius of the lists at hand, there is no count yet.
    """
    n, dims = x.shape[1], x.shape[2]
    codes, best, who, radius, sure, possible, safe = work
    base = g * n * dims * SHORTS
    here = base + p * dims * SHORTS
    last, total = _kth(x.codes, here, base, dims, near, q, k, codes, seen)
    if last >= TOP - _SLACK and reach < np.inf:
        return np.inf
    takes = (last + _SLOP) / x.scale if last < TOP - _SLACK else np.inf
    if takes > reach:
        return takes
    limit = codes[(k - 1) * SHORTS :]
    if x.bound == EDGE:
        total = _unclip(x, here, limit, near, q, seen, total)
    _refine(x, order, base, here, near, seen, total, k, algorithm, limit, best, who)
    _radii(x, g, base, here, near, best, who, k, algorithm, radius)
    if x.bound == EDGE:
        takes = max(takes, best.max())
        if takes > reach:
            return takes
        _safe(x, here, dims, radius, safe)
    for block in range(3):
        _limits(radius, x.scale, sure, possible, block, safe)
    counts[:] = 0
    _count_yz(near, q, radius, sure, possible, counts)
    _count_xz(x, g, base, here, far, q, radius, sure, possible, counts)
    return takes


@njit(cache=True, nogil=True)
def ksg(tree, y, times, theiler, x, k, algorithm, out, lo, hi):
    """Write (n_xz, n_yz, n_z) of tree positions lo..hi to ``out`` (3, b, n).

    Points wait in a queue until all their groups are settled, with longer lists if need be. How far the lists of
    the last points had to reach is the first guess for the next: neighbours in the tree are neighbours in z.
    """
    b, n, _ = x.shape
    groups = (b + SHORTS - 1) // SHORTS
    capacity = n + max(n, 1 << 14) + _CHUNK
    near, far, ends = _empty(capacity), _empty(capacity), np.zeros(2, np.int64)
    found, heads, seen = np.empty(n, np.int32), np.empty(n + 2, np.int32), np.empty(n, np.int32)
    ys, zs, counts = np.empty(n), np.empty(n), np.zeros((3, SHORTS), np.int32)
    work = (
        np.empty(k * SHORTS, np.int16), np.empty(SHORTS * k), np.empty(SHORTS * k, np.int64), np.zeros((3, SHORTS)),
        np.empty(3 * SHORTS, np.int16), np.empty(3 * SHORTS, np.int16), np.ones(SHORTS, np.bool_),
    )  # fmt: skip
    who, pending = np.empty(_BLOCK, np.int64), np.empty((_BLOCK, groups), np.bool_)
    reach, takes = np.empty(_BLOCK), np.empty(_BLOCK)
    everything = _extent(tree, len(tree.start) - 2, 0)
    waiting, p, guess = 0, lo, _extent(tree, 0, lo // FLOATS**2)
    while waiting > 0 or p < hi:
        while waiting < _BLOCK and p < hi:
            who[waiting], reach[waiting] = p, guess
            pending[waiting] = True
            waiting += 1
            p += 1
        built = np.int64(0)
        ends[:] = 0
        while built < waiting and ends[1] + n + _CHUNK <= capacity:
            radius = reach[built]
            _enlist(
                tree, y, times, theiler, x.scale, who[built], radius, near, far, built, ends, found, ys, zs, heads
            )  # fmt: skip
            takes[built] = 0.0
            built += 1
        for g in range(groups):
            for q in range(built):
                if pending[q, g]:
                    t = _settle(
                        x, tree.order, g, who[q], near, far, q, k, algorithm, reach[q], seen, work, counts
                    )
                    takes[q] = max(takes[q], t)
                    pending[q, g] = t > reach[q]
                    if t <= reach[q]:
                        row = tree.order[who[q]]
                        for block in range(3):
                            for m in range(min(SHORTS, b - g * SHORTS)):
                                out[block, g * SHORTS + m, row] = counts[block, m]
        kept = 0
        for q in range(waiting):
            if not pending[q].any():
                if takes[q] < np.inf:
                    guess += (takes[q] - guess) / _MEMORY
                continue
            if q < built:
                longer = max(reach[q] * _GROWTH, everything / 64)
                reach[q] = np.inf if reach[q] >= everything else min(takes[q], longer)
            who[kept], reach[kept] = who[q], reach[q]
            pending[kept] = pending[q]
            kept += 1
        waiting = kept


@njit(cache=True, nogil=True)
def _extent(tree, level, node):
    """Widest side of the box around a node of the tree."""
    _, _, boxes, start, dims = tree
    widest = 0.0
    for c in range(dims):
        low, high = np.inf, -np.inf
        for m in range(FLOATS):
            at = ((start[level] + node) * dims + c) * 2 * FLOATS + m
            low, high = min(low, boxes[at]), max(high, boxes[at + FLOATS])
        widest = max(widest, high - low)
    return widest


@njit(cache=True, nogil=True)
def box(tree, y, times, theiler, x, radius, out, lo, hi):
    """Write (n_xyz, n_xz) within ``radius``, inclusive, of tree positions lo..hi to ``out`` (2, b, n)."""
    order, exact, codes = tree.order, x.exact, x.codes
    b, n, dims = x.shape
    found, near, far = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    zs, counts = np.empty(n), np.zeros((2, SHORTS), np.int32)
    widths, safe = np.full((3, SHORTS), radius), np.ones(SHORTS, np.bool_)
    sure, possible = np.empty(SHORTS, np.int16), np.empty(SHORTS, np.int16)
    for p in range(lo, hi):
        total = _collect(tree, times, theiler, p, radius, found, zs)
        n_near = n_far = np.int64(0)
        for e in range(total):
            if _distance(y, found[e], p) <= radius:
                near[n_near] = found[e]
                n_near += 1
            else:
                far[n_far] = found[e]
                n_far += 1
        for g in range((b + SHORTS - 1) // SHORTS):
            base = g * n * dims * SHORTS
            here = base + p * dims * SHORTS
            if x.bound == EDGE:
                _safe(x, here, dims, widths, safe)
            _limits(widths, x.scale, sure, possible, 0, safe)
            counts[:] = 0
            _count_x(
                exact, codes, dims, base, here, near, n_near, radius, sure, possible, counts, np.int64(0)
            )
            counts[1] = counts[0]
            _count_x(exact, codes, dims, base, here, far, n_far, radius, sure, possible, counts, np.int64(1))
            for m in range(2):
                for s in range(min(SHORTS, b - g * SHORTS)):
                    out[m, g * SHORTS + s, order[p]] = counts[m, s]


@njit(cache=True, nogil=True)
def _count_x(exact, codes, dims, base, here, rows, total, radius, sure, possible, out, block):
    """Add to ``out[block]`` how many of the ``rows`` lie within ``radius`` in x."""
    surely, maybe = load(sure, 0), load(possible, 0)
    count = splat(np.int16(0))
    for e in range(total):
        there = base + rows[e] * dims * SHORTS
        d = _separation(codes, here, there, dims)
        inside = at_most(d, surely)
        count = tally(count, inside)
        doubt = bits(unlike(inside, at_most(d, maybe)))
        while doubt:
            m = first(doubt)
            doubt &= doubt - 1
            close = True
            for c in range(m * dims, m * dims + dims):
                close &= abs(exact[here + c] - exact[there + c]) <= radius
            out[block, m] += close
        if e % 16384 == 16383:
            count = _flush(count, out, block)
    _flush(count, out, block)
