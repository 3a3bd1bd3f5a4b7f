"""Neighbour counts on the CPU: exact, in float64, by trees or by lists.

Two strategies give the same counts:

- **trees** (`tree`): every question searches a tree over (x, y, z) for the k-th neighbour and trees over (x, z),
  (y, z) and z for the counts. The trees over (y, z) and z are grown once.
- **lists** (`lists`): the neighbours of each point in (y, z) and in z are listed once per batch and walked by 32
  questions at a time.

A pilot of a few points measures how long the lists would have to be, and `Neighbours` takes the cheaper strategy.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise

import numpy as np

from enmesh.neighbours import lists, tree

_PILOT = 16  # points that tell how long the lists will be
_CODES = 2**27  # int16 codes of x kept at once, 256 MiB


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
        x = np.ascontiguousarray(x, dtype=np.float64)
        if len(x) > 1 and self.z.shape[1] > 0 and x.shape[2] > 0:
            return self._ksg_by_lists(x, k, algorithm)
        return self._ksg_by_trees(x, k, algorithm)

    def within(self, x, radius):
        """Count the points no farther than ``radius``, a point itself included unless theiler > 0.

        Returns
        -------
        n_xyz, n_xz, n_yz, n_z : (b, n) int32 arrays
        """
        x = np.ascontiguousarray(x, dtype=np.float64)
        out = np.empty((4, *x.shape[:2]), np.int32)
        width = np.full(len(self.y), min(float(radius), np.finfo(float).max))
        how = {"cut": 0, "near": width, "far": width, "exclude": self.theiler > 0}
        out[2] = self._count(self._yz_tree, **how)
        out[3] = self._count(self._z_tree, **how)
        for s, one in enumerate(x):
            xz = np.hstack([one, self.z])
            out[0, s] = self._count(self._grow(np.hstack([xz, self.y])), **how)
            out[1, s] = self._count(self._grow(xz), **how)
        return tuple(out)

    @cached_property
    def _z_tree(self):
        return self._grow(self.z)

    @cached_property
    def _yz_tree(self):
        return self._grow(np.hstack([self.y, self.z]))

    @cached_property
    def _windows(self):
        """Rows in order of time, and for each row where its Theiler window starts and ends in that order."""
        rows = np.argsort(self.times, kind="stable")
        when = self.times[rows]
        start = np.searchsorted(when, self.times - self.theiler, side="left")
        return rows, start, np.searchsorted(when, self.times + self.theiler, side="right")

    def _grow(self, points):
        return (points, tree.grow(points)) if points.shape[1] else None

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

    def _ksg_by_trees(self, x, k, algorithm):
        out = np.empty((3, *x.shape[:2]), np.int32)
        dx, dy = x.shape[2], self.y.shape[1]
        radii = np.empty((3, len(self.y)))
        for s, one in enumerate(x):
            joint = np.hstack([one, self.y, self.z])
            grown = tree.grow(joint)
            self._share(tree.nearest, grown, self.times, self.theiler, k, algorithm, dx, dx + dy, radii)
            rx, ry, rz = radii
            out[0, s] = self._count(self._grow(np.hstack([one, self.z])), dx, rx, rz)
            out[1, s] = self._count(self._yz_tree, dy, ry, rz)
            out[2, s] = self._count(self._z_tree, 0, rz, rz)
        return tuple(out)

    def _ksg_by_lists(self, x, k, algorithm):
        b, n, dx = x.shape
        out = np.empty((3, b, n), np.int32)
        index = self._z_tree[1]
        y = self.y[index.order]
        step = max(1, _CODES // (n * dx * lists.SHORTS)) * lists.SHORTS
        guess = self._pilot(x[0], k)
        for s in range(0, b, step):
            codes = lists.encode(x[s : s + step], index.order)
            part = out[:, s : s + step]
            self._share(lists.walk, index, y, self.times, self.theiler, codes, k, algorithm, guess, part)
        return tuple(out)

    def _pilot(self, x, k):
        """Mean k-th joint distance of a few points."""
        n = len(x)
        eps = []
        for i in range(0, n, max(1, n // _PILOT)):
            d = np.maximum(np.abs(x - x[i]).max(axis=1), np.abs(self.y - self.y[i]).max(axis=1))
            d = np.maximum(d, np.abs(self.z - self.z[i]).max(axis=1))
            eps.append(np.partition(d, min(k, n - 1))[min(k, n - 1)])
        return float(np.mean(eps))
