"""Compiled walk of `enmesh.neighbours.tied`."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, inline="always")
def _apart(points: np.ndarray, i: int, j: int) -> float:
    """Max-norm distance of two rows."""
    most = 0.0
    for c in range(points.shape[1]):
        most = max(most, abs(points[i, c] - points[j, c]))
    return most


@njit(cache=True, nogil=True)
def walk(x: np.ndarray, y: np.ndarray, z: np.ndarray, k: int, far: float, out: np.ndarray) -> None:
    """Fill ``out (4, b, n)`` with n_xyz, n_xz, n_yz and n_z of every question, 0 beyond ``far``."""
    n = len(y)
    in_z, in_yz, by_z, by_yz = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    nearest = np.empty(k)
    for i in range(n):
        for j in range(n):
            in_z[j] = _apart(z, i, j)
            in_yz[j] = max(in_z[j], _apart(y, i, j))
        in_z[i] = in_yz[i] = np.inf  # itself comes last
        order = np.argsort(in_z if z.shape[1] else in_yz)
        for m in range(n):
            by_z[m], by_yz[m] = in_z[order[m]], in_yz[order[m]]
        for s in range(len(x)):
            reach = _kth(x[s], i, order, by_z, by_yz, k, nearest)
            if reach <= far:
                _count(x[s], i, order, by_z, by_yz, reach, out[:, s, i])


@njit(cache=True, nogil=True)
def _kth(
    x: np.ndarray, i: int, order: np.ndarray, by_z: np.ndarray, by_yz: np.ndarray, k: int, nearest: np.ndarray
) -> float:
    """Return the distance to the k-th neighbour in (x, y, z); ``nearest`` holds those of the k nearest, sorted."""
    nearest[:] = np.inf
    for m in range(len(order)):
        if by_z[m] >= nearest[k - 1]:
            break
        if by_yz[m] >= nearest[k - 1]:
            continue
        distance = max(by_yz[m], _apart(x, i, order[m]))
        place = k - 1
        if distance < nearest[place]:
            while place > 0 and nearest[place - 1] > distance:
                nearest[place] = nearest[place - 1]
                place -= 1
            nearest[place] = distance
    return nearest[k - 1]


@njit(cache=True, nogil=True)
def _count(
    x: np.ndarray,
    i: int,
    order: np.ndarray,
    by_z: np.ndarray,
    by_yz: np.ndarray,
    reach: float,
    out: np.ndarray,
) -> None:
    """Count the samples within ``reach`` in the four spaces."""
    for m in range(len(order)):
        if by_z[m] > reach:
            break
        beside, below = _apart(x, i, order[m]) <= reach, by_yz[m] <= reach
        out[0] += beside and below
        out[1] += beside
        out[2] += below
        out[3] += 1
