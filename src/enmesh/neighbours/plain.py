"""Neighbour counts by comparing every pair of points: the plain twin of `enmesh.neighbours.cpu`, equal to the last bit.

It holds no tree, no list and no vector, and takes N^2 steps a question. ``ENMESH_NEIGHBOURS=plain`` in the environment
chooses it (`enmesh.neighbours.engine`).
"""

from typing import Any

import numpy as np

from enmesh.compiled import allocating_kernel

Array = np.ndarray
BOX, TIED = 0, 3  # beside algorithms 1 and 2


class Neighbours:
    """Prepared ``y (n, dy)`` and ``z (n, dz)``: answers, for any x, the counts that KSG, the box kernel and ties need.

    Distances are in the max norm. Pairs whose ``times`` (by default their rows) are no farther apart than ``theiler``
    are not compared; 0 leaves out a point itself alone. No count depends on the number of ``threads``.
    """

    def __init__(self, y: Array, z: Array, *, times: Array | None = None, theiler: int = 0, threads: int = 1):
        self.y, self.z = (np.ascontiguousarray(block, dtype=np.float64) for block in (y, z))
        self.times = np.arange(len(self.y)) if times is None else np.ascontiguousarray(times, dtype=np.int64)
        self.theiler, self.threads = int(theiler), int(threads)

    def ksg(self, x: Array, k: int, algorithm: int = 1) -> tuple[Array, ...]:
        """Return n_xz, n_yz, n_z, (b, n) int32 arrays: neighbours within the distance to the k-th joint neighbour.

        x is a batch of b questions, (b, n, dx). Algorithm 1 counts those strictly nearer than the k-th; 2 those within
        the k nearest's largest distance in each block, inclusive. The point itself is not counted.
        """
        return tuple(self._counts(x, algorithm, k, np.inf, self.theiler)[1:])

    def within(self, x: Array, radius: float) -> tuple[Array, ...]:
        """Return n_xyz, n_xz, n_yz, n_z: points no farther than ``radius``, itself included unless theiler > 0."""
        return tuple(self._counts(x, BOX, 0, radius, self.theiler or -1))

    def tied(self, x: Array, k: int, far: float = np.inf) -> tuple[Array, ...]:
        """Return n_xyz, n_xz, n_yz, n_z: the points no farther than the k-th joint neighbour, k fewer than n.

        With states beside numbers many distances are equal: all those at the k-th's are counted, so that n_xyz is k
        where there are no ties. Where the k-th is farther than ``far`` all four are 0.
        """
        return tuple(self._counts(x, TIED, k, far, self.theiler))

    def _counts(self, x: Any, *how: Any) -> Array:
        out = np.zeros((4, *x.shape[:2]), np.int32)
        _count(np.asarray(x, float), self.y, self.z, self.times, *how, out)
        return out


@allocating_kernel
def _apart(points: Array, i: int, j: int) -> float:
    """Distance of two points in the max norm; in a space without axes everyone is nearer than anything."""
    most = -np.inf
    for c in range(points.shape[1]):
        most = max(most, abs(points[i, c] - points[j, c]))
    return most


@allocating_kernel
def _count(x, y, z, times, algorithm, k, radius, theiler, out):  # type: ignore[no-untyped-def]
    """Count, for every question and point, the others within the radii that an algorithm asks for."""
    n = len(y)
    in_x, in_y, in_z, joint = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for s in range(len(x)):
        for i in range(n):
            others = 0
            for j in range(n):
                if abs(times[i] - times[j]) > theiler:
                    in_x[others], in_y[others] = _apart(x[s], i, j), _apart(y, i, j)
                    in_z[others] = _apart(z, i, j)
                    joint[others] = max(in_x[others], in_y[others], in_z[others])
                    others += 1
            rx = ry = rz = radius
            if algorithm != BOX:
                # of equally far ones the smaller row first
                near = np.argsort(joint[:others], kind="mergesort")[:k]
                kth = joint[near[-1]] if others >= k else np.inf
                if algorithm == TIED and kth > radius:
                    continue
                rx = ry = rz = np.nextafter(kth, -np.inf) if algorithm == 1 else kth
                if algorithm == 2:
                    rx = ry = rz = 0.0
                    for e in near:
                        rx, ry, rz = max(rx, in_x[e]), max(ry, in_y[e]), max(rz, in_z[e])
            for e in range(others):
                with_x, with_y = in_x[e] <= rx and in_z[e] <= rz, in_y[e] <= ry and in_z[e] <= rz
                out[0, s, i] += with_x and with_y
                out[1, s, i] += with_x
                out[2, s, i] += with_y
                out[3, s, i] += in_z[e] <= rz
