"""Neighbour counts on the CPU, by comparing every pair of points."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit


class Neighbours:
    """Prepared (y, z): answers, for any x, the counts that KSG and the box kernel need."""

    def __init__(self, y, z, *, times=None, theiler=0, threads=1):
        self.y = np.ascontiguousarray(y, dtype=np.float64)
        self.z = np.ascontiguousarray(z, dtype=np.float64)
        self.times = np.arange(len(self.y)) if times is None else np.asarray(times, dtype=np.int64)
        self.theiler = int(theiler)
        self.threads = int(threads)

    def ksg(self, x, k, algorithm=1):
        """Return (n_xz, n_yz, n_z), each (b, n) int32, for x (b, n, dx)."""
        return self._run(_ksg, x, 3, k, algorithm)

    def within(self, x, radius):
        """Return (n_xyz, n_xz, n_yz, n_z), each (b, n) int32: points no farther than ``radius``."""
        return self._run(_within, x, 4, float(radius))

    def _run(self, kernel, x, counts, *args):
        x = np.ascontiguousarray(x, dtype=np.float64)
        b, n, _ = x.shape
        out = np.zeros((counts, b, n), dtype=np.int32)
        step = -(-n // self.threads)
        fixed = self.y, self.z, self.times, self.theiler
        with ThreadPoolExecutor(self.threads) as pool:
            jobs = [
                pool.submit(kernel, x[s], *fixed, lo, min(n, lo + step), out[:, s], *args)
                for s in range(b)
                for lo in range(0, n, step)
            ]
            for job in jobs:
                job.result()
        return tuple(out)


@njit(cache=True, nogil=True)
def _distance(a, i, j):
    d = 0.0
    for c in range(a.shape[1]):
        d = max(d, abs(a[i, c] - a[j, c]))
    return d


@njit(cache=True, nogil=True)
def _ksg(x, y, z, times, theiler, lo, hi, out, k, algorithm):
    n = len(x)
    dx, dy, dz = np.empty(n), np.empty(n), np.empty(n)
    best, who = np.empty(k), np.empty(k, np.int64)
    for i in range(lo, hi):
        best[:] = np.inf
        who[:] = -1
        for j in range(n):
            if j == i or abs(times[i] - times[j]) <= theiler:
                dx[j] = dy[j] = dz[j] = np.inf
                continue
            dx[j], dy[j], dz[j] = _distance(x, i, j), _distance(y, i, j), _distance(z, i, j)
            d = max(dx[j], dy[j], dz[j])
            if d < best[k - 1]:
                p = k - 1
                while p > 0 and best[p - 1] > d:
                    best[p], who[p] = best[p - 1], who[p - 1]
                    p -= 1
                best[p], who[p] = d, j
        if algorithm == 1:
            e = best[k - 1]
            for j in range(n):
                out[0, i] += max(dx[j], dz[j]) < e
                out[1, i] += max(dy[j], dz[j]) < e
                out[2, i] += dz[j] < e
            if z.shape[1] == 0:
                out[2, i] = np.sum(dz < np.inf)
        else:
            ex = ey = ez = 0.0
            for m in range(k):
                if who[m] >= 0:
                    ex, ey, ez = max(ex, dx[who[m]]), max(ey, dy[who[m]]), max(ez, dz[who[m]])
            for j in range(n):
                out[0, i] += dx[j] <= ex and dz[j] <= ez
                out[1, i] += dy[j] <= ey and dz[j] <= ez
                out[2, i] += dz[j] <= ez


@njit(cache=True, nogil=True)
def _within(x, y, z, times, theiler, lo, hi, out, radius):
    for i in range(lo, hi):
        for j in range(len(x)):
            if theiler > 0 and abs(times[i] - times[j]) <= theiler:
                continue
            if _distance(z, i, j) <= radius:
                inx, iny = _distance(x, i, j) <= radius, _distance(y, i, j) <= radius
                out[0, i] += inx and iny
                out[1, i] += inx
                out[2, i] += iny
                out[3, i] += 1
