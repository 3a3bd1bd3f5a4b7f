"""Compiled loop of `LocalPermute`."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def swap_among(near, order, words):
    """Give each row, in the given random order, the vector of a random near row that is not yet used.

    ``near (n, k)``, ``order (b, n)``, ``words (b, n)`` random; returns rows ``(b, n)``. When all near rows are used one
    of them is used again.
    """
    count, n = order.shape
    k = near.shape[1]
    rows = np.empty((count, n), np.int64)
    for b in range(count):
        used = np.zeros(n, np.bool_)
        for i in order[b]:
            offset = int(words[b, i] % np.uint64(k))
            choice = near[i, offset]
            for step in range(k):
                other = near[i, (offset + step) % k]
                if not used[other]:
                    choice = other
                    break
            used[choice] = True
            rows[b, i] = choice
    return rows
