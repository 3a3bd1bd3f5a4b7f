"""Functions of one variable: what a regression sees of it.

The first is the normal score, which keeps the order of the values and limits heavy tails. The others are cosines of the
rank. Any smooth dependence is close to a linear combination of the first few.
"""

import numpy as np

COUNT = 6
"""Functions of a variable: enough for a sine of three periods within the data. (Taken from the probe; not measured.)"""
DEPENDENT = 1e-3  # share of a function's size that is left by those before it, below which it adds nothing


def rank_functions(values: np.ndarray, count: int = COUNT) -> np.ndarray:
    """Return orthogonal functions of the ranks of ``values (n,)``, each of mean 0 and variance 1, ``(count, n)``.

    A variable with k different values has k - 1 of them; the rest are 0.

    >>> rank_functions(np.array([3.0, 1.0, 2.0, 1.5]), 2).round(2).tolist()
    [[1.36, -1.36, 0.38, -0.38], [1.0, 1.0, -1.0, -1.0]]
    """
    from scipy.special import ndtri
    from scipy.stats import rankdata

    n, found = len(values), np.zeros((count, len(values)))
    share, used = (rankdata(values) - 0.5) / n, 0
    most = min(count, len(np.unique(values)) - 1)
    for j in range(count):
        if used == most:
            break
        function = ndtri(share) if j == 0 else np.cos(np.pi * (j + 1) * share)
        function -= function.mean()
        size = function.std()
        for earlier in found[:j]:
            function -= earlier * (earlier @ function) / n
        if size > 1e-9 and function.std() > DEPENDENT * size:
            found[j] = function / function.std()
            used += 1
    return found
