"""Compiled loop of `LocalPermute`."""

import numpy as np

from enmesh.compiled import allocating_kernel

SWEEPS = 2


@allocating_kernel
def swap_among(near: np.ndarray, order: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Let each row, in the given random order, swap its vector with that of a random near row, `SWEEPS` times over.

    ``near (n, k)`` without the row itself, ``order (b, n)``, ``words (b, n)`` random; returns rows ``(b, n)``. Swaps
    make a permutation: no vector is used twice, which nearest neighbours would take for structure.
    """
    count, n = order.shape
    k = np.uint64(near.shape[1])
    rows = np.empty((count, n), np.int64)
    for b in range(count):
        row = rows[b]
        row[:] = np.arange(n)
        for sweep in range(SWEEPS):
            for i in order[b]:
                j = near[i, (words[b, i] >> np.uint64(20 * sweep)) % k]
                row[i], row[j] = row[j], row[i]
    return rows
