"""Neighbour counts by comparing every pair of points: the plain twin of `enmesh.neighbours.cpu`, equal to the last bit.

It holds no tree, no list and no compiled loop, and takes N^2 steps a question. ``ENMESH_NEIGHBOURS=plain`` in the
environment chooses it (`enmesh.neighbours.engine`).
"""

import numpy as np

from enmesh.errors import InputError

Array = np.ndarray
BOX, TIED = 0, 3  # beside algorithms 1 and 2


class Neighbours:
    """Prepared ``y (n, dy)`` and ``z (n, dz)``: answers, for any x, the counts that KSG, the box kernel and ties need.

    Distances are in the max norm. Pairs whose ``times`` (by default their rows) are no farther apart than ``theiler``
    are not compared; 0 leaves out a point itself alone. No count depends on the number of ``threads``.
    """

    def __init__(self, y: Array, z: Array, *, times: Array | None = None, theiler: int = 0, threads: int = 1):
        self.y, self.z = (finite(np.ascontiguousarray(block, dtype=np.float64)) for block in (y, z))
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

    def _counts(self, x: Array, algorithm: int, k: int, radius: float, theiler: int) -> Array:
        """Count, for every question and point, the others within the radii that an algorithm asks for."""
        out = np.zeros((4, *x.shape[:2]), np.int32)
        for i, when in enumerate(self.times):
            others = np.abs(self.times - when) > theiler
            in_y, in_z = _apart(self.y, i, others), _apart(self.z, i, others)
            for s, one in enumerate(np.asarray(x, float)):
                in_x = _apart(one, i, others)
                rx, ry, rz = _radii(algorithm, k, radius, in_x, in_y, in_z)
                with_x, with_y = (in_x <= rx) & (in_z <= rz), (in_y <= ry) & (in_z <= rz)
                within = with_x & with_y, with_x, with_y, in_z <= rz
                out[:, s, i] = [which.sum() for which in within]
        return out


def finite(points: Array) -> Array:
    """Return points as they are; a search among points that are not numbers would never end."""
    if not np.isfinite(points).all():
        raise InputError("neighbours need finite values; remove missing and infinite ones")
    return points


def _apart(points: Array, i: int, others: Array) -> Array:
    """Distances from a point to others in the max norm; in a space without axes everyone is nearer than anything."""
    return np.abs(points[others] - points[i]).max(axis=1, initial=-np.inf)


def _radii(algorithm: int, k: int, radius: float, *blocks: Array) -> tuple[float, ...]:
    """Return the radii in x, y and z, from the distances in each; nobody is within NaN."""
    if algorithm == BOX:
        return (radius,) * 3
    joint = np.max(blocks, axis=0)
    near = np.argsort(joint, kind="stable")[:k]  # of equally far ones the smaller row first
    if algorithm == 2:
        return tuple(float(block[near].max(initial=0.0)) for block in blocks)
    kth = joint[near[-1]] if len(joint) >= k else np.inf
    if algorithm == TIED:
        return (kth if kth <= radius else np.nan,) * 3
    return (np.nextafter(kth, -np.inf),) * 3
