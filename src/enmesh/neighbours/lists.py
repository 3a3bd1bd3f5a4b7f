"""Batches of x: neighbour lists in (y, z) and in z, built once per point and walked by many questions at a time.

The k-th joint neighbour of a point is found by walking its (y, z) list from near to far and stopping once the
list's distance passes the current k-th best; n_xz checks x along the z list. `SHORTS` questions (surrogates,
candidates) share a walk, one per lane: the list is read once and nothing is gathered, for their x lie side by side.

The walk reads distances as int16 multiples of a small unit. A rounded distance is off by at most one unit, so it
settles nearly every comparison; the few that it cannot settle are made in float64, and the result is exact.
Lists live for one point at a time; one that proves too short is built again, longer.
"""

from typing import NamedTuple

import numpy as np

from enmesh.compiled import inlined, kernel, part
from enmesh.neighbours.lanes import (
    SHORTS,
    after,
    aligned,
    bits,
    first,
    flat,
    gap,
    larger,
    largest,
    load,
    smaller,
    splat,
    store,
    tally,
)
from enmesh.neighbours.tree import STACK, Tree, collect

TOP = 32767  # the largest code of a distance; stands for itself and everything above
EDGE = 16383  # codes of x lie between -EDGE and EDGE
_SLOP = 1.0 + 1e-6  # units by which a difference of codes and a distance may differ, rounding included
_CHUNK = 8  # list entries between two looks at the stopping rule
_SLACK = 2  # codes by which a distance no larger than another may seem larger
_GROWTH = 2.0  # at most, of a list radius that proved too short
_MEMORY = 16  # points over which the list radius is learnt
_MARGIN = 1.1  # times which it is taken


class Codes(NamedTuple):
    """A batch of x, rounded to int16 for the walk and exact for the doubtful cases."""

    exact: np.ndarray  # flat (group, n, SHORTS, d) float64, points in tree order
    codes: np.ndarray  # flat (group, n, d, SHORTS) int16, points in tree order
    scale: float  # codes per unit of distance
    b: int  # questions
    n: int  # points
    dims: int


class Points(NamedTuple):
    """What lists are made from, in the order of the tree over z."""

    tree: Tree  # over z
    y: np.ndarray  # (n, dy)
    z: np.ndarray  # (n, dz)
    dy: int
    dz: int
    spans: np.ndarray  # (n, 2) in the original order: pairs that overlap are left out


class List(NamedTuple):
    """Neighbours of a point, roughly from near to far."""

    y: np.ndarray  # rounded distance in y
    z: np.ndarray  # rounded distance in z
    row: np.ndarray  # tree position of the neighbour
    low: np.ndarray  # smallest max(y, z) from each chunk on
    size: np.ndarray  # (1,) their number


class Lanes(NamedTuple):
    """Working memory of one walk: one column or stretch for each question of a group."""

    codes: np.ndarray  # (k, SHORTS) the k smallest rounded distances
    best: np.ndarray  # (SHORTS, k) and exact
    who: np.ndarray  # (SHORTS, k) entries of the list they belong to
    radius: np.ndarray  # (3, SHORTS) inclusive, in x, y, z
    sure: np.ndarray  # (3, SHORTS) codes that are surely within it
    possible: np.ndarray  # (3, SHORTS) and possibly
    counts: np.ndarray  # (3, SHORTS)
    held: np.ndarray  # (SHORTS,)


class Room(NamedTuple):
    """Working memory for the lists of a point."""

    near: List  # in (y, z)
    far: List  # in z
    found: np.ndarray  # (n,) positions
    away: np.ndarray  # (n,) their distances in z
    y: np.ndarray  # (n,) codes of their distances
    z: np.ndarray
    heads: np.ndarray  # (n + 2,) where buckets start
    seen: np.ndarray  # (n,) entries that may be among the k nearest
    stack: np.ndarray  # nodes of the tree to visit
    doubt: np.ndarray  # (n + 1, 3) entries that codes do not settle: for which lanes, in a block and in z


def encode(x: np.ndarray, order: np.ndarray) -> Codes:
    """Codes of x (b, n, d) for a tree with this ``order``; the unit is set by the widest column.

    Columns have unit variance, so that no outlier of n values makes it coarser than the root of n does.
    """
    b, n, dims = x.shape
    low, high = np.array([(x[..., c].min(), x[..., c].max()) for c in range(dims)]).T
    span = float((high - low).max())
    scale = (2 * EDGE - 2) / span if span > 0 else 1.0
    groups, centre = -(-b // SHORTS), 0.5 * (low + high)
    exact, codes = (aligned(groups * n * SHORTS * dims, dtype) for dtype in (np.float64, np.int16))
    for g in range(groups):
        # The last question fills the last group.
        which = np.arange(g * SHORTS, (g + 1) * SHORTS).clip(max=b - 1)
        values = x[which][:, order]
        exact.reshape(groups, n, SHORTS, dims)[g] = values.transpose(1, 0, 2)
        codes.reshape(groups, n, dims, SHORTS)[g] = np.floor((values - centre) * scale).transpose(1, 2, 0)
    return Codes(exact, codes, scale, b, n, dims)


def ksg(points: Points, x: Codes, k: int, algorithm: int, out: np.ndarray, lo: int, hi: int) -> None:
    """Write (n_xz, n_yz, n_z) of tree positions lo..hi to ``out`` (n, groups, 3, SHORTS)."""
    everything = float(np.ptp(points.z, axis=0).max())
    _ksg(points, x, k, algorithm, out, lo, hi, _lanes(k), _room(x.n), everything)


def box(points: Points, x: Codes, radius: float, out: np.ndarray, lo: int, hi: int) -> None:
    """Write (n_xyz, n_xz) within ``radius``, inclusive, of tree positions lo..hi to ``out`` (n, groups, 2, SHORTS)."""
    _box(points, x, radius, out, lo, hi, _lanes(1), _room(x.n))


def _lanes(k: int) -> Lanes:
    codes, sure, possible, held = (aligned(SHORTS * size, np.int16) for size in (k, 3, 3, 1))
    best, who, counts = np.empty(SHORTS * k), np.empty(SHORTS * k, np.int64), np.empty(SHORTS * 3, np.int32)
    return Lanes(codes, best, who, np.empty(SHORTS * 3), sure, possible, counts, held)


def _room(n: int) -> Room:
    def empty_list() -> List:
        y, z, low = (aligned(size, np.int16) for size in (n, n, n // _CHUNK + 1))
        return List(y, z, np.empty(n, np.int32), low, np.empty(1, np.int64))

    (found, seen), (y, z) = np.empty((2, n), np.int32), np.empty((2, n), np.int16)
    away, heads, stack = np.empty(n), np.empty(n + 2, np.int32), np.empty(STACK, np.int64)
    return Room(empty_list(), empty_list(), found, away, y, z, heads, seen, stack, np.empty(3 * n + 3, np.int64))


@part
def _write(entries, room, total, most):
    """Write ``total`` found points as a list, nearly sorted.

    Buckets of a few entries are in order, entries within a bucket are not; ``low`` makes stopping exact. ``most`` is
    the largest code there can be.
    """
    y, z, row, low, size = entries
    found, ys, zs, heads = room.found, room.y, room.z, room.heads
    buckets = total // 4 + 1
    spread = (buckets << 20) // (most + 1)
    for h in range(buckets + 1):
        heads[h] = 0
    for e in range(total):
        heads[(max(ys[e], zs[e]) * spread >> 20) + 1] += 1
    for h in range(buckets):
        heads[h + 1] += heads[h]
    for e in range(total):
        h = max(ys[e], zs[e]) * spread >> 20
        s = heads[h]
        heads[h] += 1
        y[s], z[s], row[s] = ys[e], zs[e], found[e]
    least = np.int16(TOP)
    for e in range(total - 1, -1, -1):
        least = min(least, max(y[e], z[e]))
        if e % _CHUNK == 0:
            low[e // _CHUNK] = least
    size[0] = total


@inlined
def _separation(codes, a, b, dims):
    """Rounded max-norm distance in x between two points, one question per lane."""
    d = gap(load(codes, a), load(codes, b))
    for c in range(1, dims):
        d = larger(d, gap(load(codes, a + c * SHORTS), load(codes, b + c * SHORTS)))
    return d


@inlined
def _distance(a, here, there, width):
    """Max-norm distance between two points, whose coordinates start at ``here`` and ``there``."""
    d = 0.0
    for c in range(width):
        d = max(d, abs(a[here + c] - a[there + c]))
    return d


@inlined
def _enlist(points, scale, p, radius, room):
    """Write the lists of the point in place p, of those within a radius."""
    found, away, ys, zs, y, dy = room.found, room.away, room.y, room.z, points.y, points.dy
    query, order, spans = after(points.z, p * points.dz), points.tree.order, points.spans
    total = collect(points.tree, query, radius, spans, order[p], found, away, room.stack)
    most = np.int64(min(radius * scale, TOP))
    for e in range(total):
        ys[e], zs[e] = 0, np.int16(min(away[e] * scale, TOP))
    _write(room.far, room, total, most)
    close = np.int64(0)  # typed: a literal would compile `_write` twice
    for e in range(total):
        d = _distance(y, found[e] * dy, p * dy, dy)
        if d <= radius:
            found[close], ys[close], zs[close] = found[e], np.int16(min(d * scale, TOP)), zs[e]
            close += 1
    _write(room.near, room, close, most)


@part
def _kth(codes, here, base, dims, near, k, best, seen):
    """Rounded k-th joint distance of each lane, along the (y, z) list.

    Returns the largest, and how many entries were written to ``seen``: all that can be among the k nearest.
    """
    ys, zs, row, low, size = near
    end = size[0]
    for m in range(k):
        store(best, m * SHORTS, splat(np.int16(TOP)))
    top, slack = splat(np.int16(TOP - _SLACK)), splat(np.int16(-_SLACK))
    limit = splat(np.int16(TOP))
    total = 0
    for e in range(0, end, _CHUNK):
        if low[e // _CHUNK] > largest(limit):
            break
        for f in range(e, min(e + _CHUNK, end)):
            d = splat(max(ys[f], zs[f]))
            d = larger(d, _separation(codes, here, base + row[f] * dims * SHORTS, dims))
            if bits(d <= limit):
                seen[total] = f
                total += 1
                for m in range(k):
                    held = load(best, m * SHORTS)
                    store(best, m * SHORTS, smaller(held, d))
                    d = larger(held, d)
                limit = smaller(load(best, (k - 1) * SHORTS), top) - slack
    return largest(load(best, (k - 1) * SHORTS)), total


@part
def _refine(points, x, here, base, p, room, total, k, algorithm, lanes):
    """Exact k nearest joint neighbours of each lane, among the entries seen.

    Algorithm 1 asks for the distance of the k-th alone: those that are surely nearer are counted, as at -inf.
    """
    exact, codes, best, who, order = x.exact, x.codes, lanes.best, lanes.who, points.tree.order
    near, seen = room.near, room.seen
    y, z, dy, dz, row, dims = points.y, points.z, points.dy, points.dz, near.row, x.dims
    last = load(lanes.codes, (k - 1) * SHORTS)
    reach = smaller(last, splat(np.int16(TOP - _SLACK))) - splat(np.int16(-_SLACK))
    nearer = last - splat(np.int16(_SLACK + 1)) if algorithm == 1 else splat(np.int16(-1))
    store(lanes.held, 0, nearer)
    for m in range(SHORTS):
        for h in range(k):
            best[m * k + h] = -np.inf if lanes.codes[h * SHORTS + m] <= lanes.held[m] else np.inf
            who[m * k + h] = -1
    for e in range(total):
        f = seen[e]
        j = row[f]
        there, rank = base + j * dims * SHORTS, order[j]  # of equally far points the smaller row wins
        d = larger(splat(max(near.y[f], near.z[f])), _separation(codes, here, there, dims))
        some, apart = bits((d <= reach) ^ (d <= nearer)), 0.0
        if some:
            apart = max(_distance(y, j * dy, p * dy, dy), _distance(z, j * dz, p * dz, dz))
        while some:
            m = first(some)
            some &= some - 1
            away = max(apart, _distance(exact, here + m * dims, there + m * dims, dims))
            h = m * k + k - 1
            if away > best[h] or (away == best[h] and who[h] >= 0 and rank > order[row[who[h]]]):
                continue
            while h > m * k and (best[h - 1] > away or (best[h - 1] == away and order[row[who[h - 1]]] > rank)):
                best[h], who[h] = best[h - 1], who[h - 1]
                h -= 1
            best[h], who[h] = away, f


@part
def _radii(points, x, here, base, p, near, k, algorithm, lanes):
    """Inclusive radii (x, y, z) of each lane."""
    best, who, radius, dims = lanes.best, lanes.who, lanes.radius, x.dims
    for m in range(SHORTS):
        rx = ry = rz = np.nextafter(best[m * k + k - 1], -np.inf)
        if algorithm == 2:
            rx = ry = rz = 0.0
            for h in range(k):
                if who[m * k + h] >= 0:
                    j = near.row[who[m * k + h]]
                    rx = max(rx, _distance(x.exact, here + m * dims, base + (j * SHORTS + m) * dims, dims))
                    ry = max(ry, _distance(points.y, j * points.dy, p * points.dy, points.dy))
                    rz = max(rz, _distance(points.z, j * points.dz, p * points.dz, points.dz))
        radius[m], radius[SHORTS + m], radius[2 * SHORTS + m] = rx, ry, rz


@part
def _limits(scale, lanes):
    """Codes that are surely, and possibly, at most the radius."""
    for m in range(3 * SHORTS):
        r = lanes.radius[m] * scale
        lanes.sure[m] = np.int16(max(min(np.floor(r - _SLOP), TOP - 1), -1))
        lanes.possible[m] = np.int16(max(min(np.floor(r + _SLOP), TOP), -1))


@inlined
def _flush(total, lanes, block):
    """Add int16 tallies to the counts before they can overflow; they start from zero again."""
    store(lanes.held, 0, total)
    for m in range(SHORTS):
        lanes.counts[block * SHORTS + m] += lanes.held[m]


@part
def _count_with_z(points, x, here, base, p, entries, lanes, block, doubt):
    """Count along a list the points within the radii of a block and of z: n_xz and n_z (block 0), or n_yz (block 1).

    Entries that codes leave in ``doubt`` are looked at when all others are counted.
    """
    dims, nothing = x.dims, splat(np.int16(0))
    end = entries.size[0]
    sure, sure_z = load(lanes.sure, block * SHORTS), load(lanes.sure, 2 * SHORTS)
    may, may_z = load(lanes.possible, block * SHORTS), load(lanes.possible, 2 * SHORTS)
    stop = largest(larger(may, may_z)) if block else largest(may_z)
    both = alone = nothing
    doubtful = 0
    for e in range(0, end, _CHUNK):
        if entries.low[e // _CHUNK] > stop:
            break
        for f in range(e, min(e + _CHUNK, end)):
            z = splat(entries.z[f])
            there = base + entries.row[f] * dims * SHORTS
            d = splat(entries.y[f]) if block else _separation(x.codes, here, there, dims)
            in_z, perhaps = z <= sure_z, z <= may_z
            inside = in_z & (d <= sure)
            both, alone = tally(both, inside), tally(alone, in_z)
            unsure, unsure_z = bits(inside ^ (perhaps & (d <= may))), 0 if block else bits(in_z ^ perhaps)
            doubt[3 * doubtful], doubt[3 * doubtful + 1], doubt[3 * doubtful + 2] = f, unsure, unsure_z
            doubtful += (unsure | unsure_z) != 0
        if e % 16384 == 16384 - _CHUNK:
            _flush(both, lanes, block)
            _flush(nothing if block else alone, lanes, 2)
            both = alone = nothing
    _flush(both, lanes, block)
    _flush(nothing if block else alone, lanes, 2)
    for e in range(doubtful):
        _count_exactly(points, x, here, base, p, entries, lanes, block, doubt, 3 * e)


@part
def _count_exactly(points, x, here, base, p, entries, lanes, block, doubt, at):
    """Count an entry for the lanes whose codes leave it in doubt."""
    dims, radius, counts = x.dims, lanes.radius, lanes.counts
    j, unsure, unsure_z = entries.row[doubt[at]], doubt[at + 1], doubt[at + 2]
    there, some = base + j * dims * SHORTS, unsure | unsure_z
    dz = _distance(points.z, j * points.dz, p * points.dz, points.dz)
    dy = _distance(points.y, j * points.dy, p * points.dy, points.dy) if block else 0.0
    while some:
        m = first(some)
        some &= some - 1
        hit = dz <= radius[2 * SHORTS + m]
        counts[2 * SHORTS + m] += hit and unsure_z >> m & 1
        if hit and unsure >> m & 1:
            away = dy if block else _distance(x.exact, here + m * dims, there + m * dims, dims)
            counts[block * SHORTS + m] += away <= radius[block * SHORTS + m]


@inlined
def _settle(points, x, g, p, reach, k, algorithm, room, lanes):
    """Count for one point and one group of questions; return the list radius that it takes.

    If that is more than the radius of the lists at hand, there is no count yet.
    """
    n, dims, near, seen = x.n, x.dims, room.near, room.seen
    base = g * n * dims * SHORTS
    here = base + p * dims * SHORTS
    last, total = _kth(x.codes, here, base, dims, near, k, lanes.codes, seen)
    if last >= TOP - _SLACK and reach < np.inf:
        return np.inf
    needed = (last + _SLOP) / x.scale if last < TOP - _SLACK else np.inf
    if needed > reach:
        return needed
    _refine(points, x, here, base, p, room, total, k, algorithm, lanes)
    _radii(points, x, here, base, p, near, k, algorithm, lanes)
    _limits(x.scale, lanes)
    for m in range(3 * SHORTS):
        lanes.counts[m] = 0
    _count_with_z(points, x, here, base, p, near, lanes, np.int64(1), room.doubt)
    _count_with_z(points, x, here, base, p, room.far, lanes, np.int64(0), room.doubt)
    return needed


@kernel
def _ksg(points, x, k, algorithm, out, lo, hi, lanes, room, everything):
    """Settle all groups of questions about one point after the other, with longer lists if need be.

    How far the lists of the last points had to reach is the first guess for the next: neighbours in the tree are
    neighbours in z. ``everything`` is the widest side of the box around all z.
    """
    points, x, out, lanes, room = flat((points, x, out, lanes, room))
    guess, groups = everything / 16, (x.b + SHORTS - 1) // SHORTS
    for p in range(lo, hi):
        reach, taken, g = guess * _MARGIN, 0.0, 0
        _enlist(points, x.scale, p, reach, room)
        while g < groups:
            needed = _settle(points, x, g, p, reach, k, algorithm, room, lanes)
            if needed > reach:
                longer = min(needed, max(reach * _GROWTH, everything / 64))
                reach = np.inf if reach >= everything else longer
                _enlist(points, x.scale, p, reach, room)
                continue
            at = (points.tree.order[p] * groups + g) * 3 * SHORTS
            for m in range(3 * SHORTS):
                out[at + m] = lanes.counts[m]
            taken, g = max(taken, needed), g + 1
        if taken < np.inf:
            guess += (taken - guess) / _MEMORY


@kernel
def _box(points, x, radius, out, lo, hi, lanes, room):
    """Count x along the list in (y, z) and along the list in z, both of the points within ``radius``."""
    points, x, out, lanes, room = flat((points, x, out, lanes, room))
    for m in range(3 * SHORTS):
        lanes.radius[m] = radius
    _limits(x.scale, lanes)
    groups = (x.b + SHORTS - 1) // SHORTS
    for p in range(lo, hi):
        _enlist(points, x.scale, p, radius, room)
        for g in range(groups):
            base = g * x.n * x.dims * SHORTS
            here = base + p * x.dims * SHORTS
            for kind in range(2):
                for m in range(3 * SHORTS):
                    lanes.counts[m] = 0
                entries = room.near if kind == 0 else room.far
                _count_with_z(points, x, here, base, p, entries, lanes, np.int64(0), room.doubt)
                at = ((points.tree.order[p] * groups + g) * 2 + kind) * SHORTS
                for m in range(SHORTS):
                    out[at + m] = lanes.counts[m]
