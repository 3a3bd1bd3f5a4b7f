"""Functions of one variable: what a regression sees of it.

The first is the normal score, which keeps the order of the values and limits heavy tails. The others are cosines of the
rank. Any smooth dependence is close to a linear combination of the first few. One more is for the spread alone: a power
of the size of the normal score.
"""

from functools import lru_cache

import numpy as np

FUNCTIONS = 4
"""Functions of a variable: of a source, and of what is left of a target (location and three of shape)."""
POWER = 1.5
"""Power of the size of the normal score. The square says most of the spread of normal values, and has heavy tails.
(kinds.py, 6 nodes, 20 seeds from 340: F1 of links to variances .92, .93, .92 and of cubics .94, .95, .96 with 1, 1.5
and 2.)"""
SLIGHT = 1e-3  # size of a power, or of a response, below which it is rounding: two values have no spread
# Share of a function's size that is left by those before it, below which it adds nothing: what is left then stands on
# few rare values. At least .9 is left of continuous values, .3 to .7 of counts. (Single tests of counts, N = 200: .8
# has 1.0 % of p-values up to .01; .2 has 1.2 %.)
DEPENDENT = 0.8
REPEATED = 1e-5  # the same for a row of unit length among rows of a basis
RIDGE = 1e-9


def rank_functions(values: np.ndarray, count: int | None = None) -> np.ndarray:
    """Return orthogonal functions of the ranks of ``values (n,)``, each of mean 0 and variance 1, ``(count, n)``.

    ``count`` is `FUNCTIONS` unless it is given. A variable with k different values has k - 1 of them; the rest are 0.

    >>> rank_functions(np.array([3.0, 1.0, 2.0, 1.5]), 2).round(2).tolist()
    [[1.36, -1.36, 0.38, -0.38], [1.0, 1.0, -1.0, -1.0]]
    """
    count = FUNCTIONS if count is None else count
    order = np.argsort(values, kind="stable")
    arranged = values[order]
    if not (arranged[1:] == arranged[:-1]).any():
        found = np.empty((count, len(values)))
        found[:, order] = _of_order(len(values), count)
        return found
    different, place, often = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(often) - (often - 1) / 2)[place]  # equal values share their mean rank
    return _of_shares((ranks - 0.5) / len(values), min(count, len(different) - 1), count)


@lru_cache(8)
def _of_order(n: int, count: int) -> np.ndarray:
    """Return the functions of n different values in rising order."""
    return _of_shares((np.arange(n) + 0.5) / n, min(count, n - 1), count)


def _of_shares(share: np.ndarray, most: int, count: int) -> np.ndarray:
    """Return ``most`` functions of mid-ranks as shares of the record, and rows of 0 up to ``count``."""
    from scipy.special import ndtri

    n, found, used = len(share), np.zeros((count, len(share))), 0
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


def spread_function(score: np.ndarray) -> np.ndarray:
    """Return a power of the size of a normal score, orthogonal to it, of mean 0 and variance 1; or zeros."""
    found = np.abs(score) ** POWER
    found = found - found.mean()
    found -= score * (score @ found) / max(float(score @ score), 1e-300)
    size = float(found.std())
    return found / size if size > SLIGHT else np.zeros_like(found)


def orthonormal(rows: np.ndarray) -> np.ndarray:
    """Return rows of unit length that span the same, each with those before it; rows that add nothing become 0."""
    if not len(rows):
        return rows
    rows = rows / np.maximum(np.sqrt(np.einsum("ij,ij->i", rows, rows)), 1e-300)[:, None]
    try:
        root = np.linalg.cholesky(rows @ rows.T)
        if np.diag(root).min() > 1e-4:  # far from dependent: one pass is accurate, and three times faster
            return _divided(root, rows)
    except np.linalg.LinAlgError:
        pass
    basis, root = np.linalg.qr(rows.T)
    return np.ascontiguousarray((basis * (np.abs(np.diag(root)) > REPEATED)).T)


def whitened(rows: np.ndarray) -> np.ndarray:
    """Return rows that are orthogonal and of unit length, the first few spanning the first few of what was given."""
    product = rows @ rows.T
    root = np.linalg.cholesky(product + RIDGE * (np.trace(product) + 1e-300) * np.eye(len(rows)))
    return _divided(root, rows)


def _divided(root: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the inverse of a lower triangular ``root``, times rows."""
    from scipy.linalg.blas import dtrsm

    return dtrsm(1.0, root, rows.T, side=1, lower=1, trans_a=1).T  # rows stay contiguous
