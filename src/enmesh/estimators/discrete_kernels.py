"""Compiled counting of joint states."""

import numpy as np

from enmesh.compiled import allocating_kernel

BLOCK = 2048


@allocating_kernel
def count_states(
    values: np.ndarray, rows: np.ndarray, nodes: np.ndarray, lags: np.ndarray, arities: np.ndarray
) -> np.ndarray:
    """Count the joint states, mixed radix, of ``values[nodes, rows - lags]``; ``values (node, time)`` are codes.

    Codes are built column by column for a block of samples at a time: within a run of consecutive samples that is a
    plain loop over contiguous memory, which the compiler vectorises.
    """
    size = 1
    for arity in arities:
        size *= arity
    counts = np.zeros(size, np.int64)
    codes = np.empty(BLOCK, np.int64)
    n = len(rows)
    start = 0
    while start < n:
        stop = min(start + BLOCK, n)
        while rows[stop - 1] - rows[start] != stop - 1 - start:  # a trial or a gap ends in this block
            stop = start + (stop - start) // 2
        width = stop - start
        for k in range(width):
            codes[k] = 0
        for c in range(len(nodes)):
            first = rows[start] - lags[c]
            column = values[nodes[c], first : first + width]
            arity = arities[c]
            for k in range(width):
                codes[k] = codes[k] * arity + column[k]
        for k in range(width):
            counts[codes[k]] += 1
        start = stop
    return counts
