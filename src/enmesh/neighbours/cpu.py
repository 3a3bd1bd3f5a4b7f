"""Neighbour counts on the CPU: exact in float64, by trees or by lists.

Two strategies give the same counts:

- **trees** (`tree`): a question searches a tree over (x, y, z) for the k-th neighbour and counts in trees over
  (x, z), (y, z) and z. The last two are grown once. Best for few questions, and for low dimensions and many points.
- **lists** (`lists`): the neighbours of each point in (y, z) and in z are listed once per batch and walked by 32
  questions at a time. Best for many questions.

A batch is a race: one question is answered by trees and a few points by lists, both are timed, and the faster
strategy answers the rest. Only the speed depends on who wins.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from time import perf_counter

import numpy as np

from enmesh.neighbours import lists, tree

FEW = 8  # fewer questions are asked one by one
SMALL = 4096  # up to so many points lists always win
_RUNS, _RUN = 4, 8  # stretches of points, and points in each, by which lists are timed
_CODES = 2**25  # numbers of x that are kept in walking order at once, 320 MiB


class Neighbours:
    """Prepared (y, z): answers, for any x, the counts that KSG and the box kernel need.

    Parameters
    ----------
    y, z : (n, dy) and (n, dz) arrays, dz >= 0
        Compared in the max norm, as they are.
    times : (n,) int array, optional
        When each point was sampled; by default its row.
    theiler : int
        Pairs no farther apart in time than this are not compared; 0 leaves out a point itself alone.
    threads : int
        Points are shared out among so many threads; the counts do not depend on it.
    """

    def __init__(self, y, z, *, times=None, theiler=0, threads=1):
        self.y = np.ascontiguousarray(y, dtype=np.float64)
        self.z = np.ascontiguousarray(z, dtype=np.float64)
        self.times = np.arange(len(self.y)) if times is None else np.ascontiguousarray(times, dtype=np.int64)
        self.theiler, self.threads = int(theiler), int(threads)

    def ksg(self, x, k, algorithm=1):
        """Count neighbours within the distance to the k-th joint neighbour.

        Parameters
        ----------
        x : (b, n, dx) array
            A batch of b questions.
        k : int
            Neighbours in (x, y, z).
        algorithm : {1, 2}
            1: strictly nearer than the k-th; 2: within the k nearest's largest distance in each block, inclusive.

        Returns
        -------
        n_xz, n_yz, n_z : (b, n) int32 arrays
            The point itself is not counted.
        """
        width = x.shape[2]

        def ask(one, out):
            joint, xz = self._grow(np.hstack([one, self.y, self.z]), np.hstack([one, self.z]))
            radii = np.empty((3, len(one)))
            blocks = width, width + self.y.shape[1]
            self._share(tree.nearest, joint[1], self.times, self.theiler, k, algorithm, *blocks, radii)
            rx, ry, rz = radii
            out[0] = self._count(xz, width, rx, rz)
            out[1] = self._count(self._yz_tree, self.y.shape[1], ry, rz)
            out[2] = self._count(self._z_tree, 0, rz, rz)

        def walk(codes, out, lo, hi):
            lists.ksg(*self._listed, codes, k, algorithm, out, lo, hi)

        return self._answer(x, 3, ask, walk, ("ksg", width, k))

    def within(self, x, radius):
        """Count the points no farther than ``radius``, a point itself included unless theiler > 0.

        Returns
        -------
        n_xyz, n_xz, n_yz, n_z : (b, n) int32 arrays
        """
        radius = min(float(radius), np.finfo(float).max)
        half = np.full(len(self.y), radius)
        how = {"cut": 0, "near": half, "far": half, "exclude": self.theiler > 0}
        n_yz, n_z = self._count(self._yz_tree, **how), self._count(self._z_tree, **how)

        def ask(one, out):
            joint, xz = self._grow(np.hstack([one, self.y, self.z]), np.hstack([one, self.z]))
            out[0] = self._count(joint, **how)
            out[1] = self._count(xz, **how)

        def walk(codes, out, lo, hi):
            index, y, times, theiler = self._listed
            lists.box(
                index, y, times, theiler or -1, codes, radius, out, lo, hi
            )  # -1: not even itself is left out

        n_xyz, n_xz = self._answer(x, 2, ask, walk, ("within", x.shape[2], radius))
        return n_xyz, n_xz, np.tile(n_yz, (len(x), 1)), np.tile(n_z, (len(x), 1))

    def _answer(self, x, kinds, ask, walk, key):
        """Fill (kinds, b, n) counts by ``ask(x[s], out)`` or ``walk(codes, out, lo, hi)``, the faster of the two."""
        x = np.ascontiguousarray(x, dtype=np.float64)
        b, n, width = x.shape
        out = np.empty((kinds, b, n), np.int32)
        if b < FEW or width == 0 or self.z.shape[1] == 0:
            return self._ask_all(x, out, ask)
        step = max(1, _CODES // (n * width * lists.SHORTS)) * lists.SHORTS
        codes = lists.encode(x[:step], self._z_tree[1].order)
        key = *key, min(b, step)
        if n > SMALL and key not in self._lists_win:
            self._lists_win[key] = self._race(x[0], codes, out, ask, walk)
        if not self._lists_win.get(key, True):
            return self._ask_all(x, out, ask)
        for s in range(0, b, step):
            if s > 0:
                codes = lists.encode(x[s : s + step], self._z_tree[1].order)
            self._share(walk, codes, out[:, s : s + step])
        return tuple(out)

    def _ask_all(self, x, out, ask):
        for s, one in enumerate(x):
            ask(one, out[:, s])
        return tuple(out)

    def _race(self, one, codes, out, ask, walk):
        """Time one question by trees and a few points by lists; return whether lists win."""
        n, b = len(one), codes.shape[0]

        def walk_some():
            for lo in np.linspace(0, n - _RUN, _RUNS).astype(int):
                walk(codes, out[:, :b], lo, lo + _RUN)

        by_lists = _seconds(walk_some) * n / (_RUNS * _RUN * self.threads)
        return by_lists < b * _seconds(ask, one, out[:, 0])

    @cached_property
    def _lists_win(self):
        return {}

    @cached_property
    def _listed(self):
        """What lists are made from: the tree over z, y in its order, and what is not to be compared."""
        index = self._z_tree[1]
        return index, self.y[index.order], self.times, self.theiler

    @cached_property
    def _z_tree(self):
        return self._grow(self.z)[0]

    @cached_property
    def _yz_tree(self):
        return self._grow(np.hstack([self.y, self.z]))[0]

    @cached_property
    def _windows(self):
        """Rows in order of time, and for each row where its Theiler window starts and ends in that order."""
        rows = np.argsort(self.times, kind="stable")
        when = self.times[rows]
        start = np.searchsorted(when, self.times - self.theiler, side="left")
        return rows, start, np.searchsorted(when, self.times + self.theiler, side="right")

    def _grow(self, *blocks):
        """Pair each block of points with a tree over it; one without axes is None."""

        def plant(points):
            return (points, tree.grow(points)) if points.shape[1] else None

        if self.threads == 1 or len(blocks) == 1:
            return [plant(points) for points in blocks]
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(plant, blocks))

    def _share(self, work, *args):
        """Run ``work(*args, lo, hi)`` over all points, in pieces when there are threads to share them."""
        n = len(self.y)
        if self.threads == 1:
            work(*args, 0, n)
            return
        cuts = np.linspace(0, n, 4 * self.threads + 1).astype(int)
        with ThreadPoolExecutor(self.threads) as pool:
            for job in [pool.submit(work, *args, lo, hi) for lo, hi in pairwise(cuts)]:
                job.result()

    def _count(self, grown, cut, near, far, exclude=True):
        """Points within ``near`` along the first ``cut`` axes and ``far`` along the others, both inclusive."""
        rows, start, stop = self._windows
        if grown is None:
            return (len(rows) - (stop - start) * exclude).astype(np.int32)
        points, index = grown
        out = np.empty(len(points), np.int32)
        self._share(tree.count, index, cut, near, far, out)
        if exclude:
            tree.leave_out(points, rows, start, stop, cut, near, far, out)
        return out


def _seconds(work, *args):
    """Time ``work(*args)``, again if kernels had to be compiled for it."""
    kernels = tree.nearest, tree.count, tree.leave_out, lists.ksg, lists.box
    known = [len(kernel.signatures) for kernel in kernels]
    start = perf_counter()
    work(*args)
    took = perf_counter() - start
    return took if known == [len(kernel.signatures) for kernel in kernels] else _seconds(work, *args)
