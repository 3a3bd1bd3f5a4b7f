"""How columns are put on one scale, and how equal values are told apart."""

from functools import lru_cache

import numpy as np


def zscore(column: np.ndarray) -> np.ndarray:
    """Return a column with mean 0 and standard deviation 1 (ddof 1); a constant one is 0 throughout."""
    if len(column) < 2 or column.min() == column.max():
        return np.zeros(len(column))
    return (column - column.mean()) / column.std(ddof=1)


def standard_scores(column: np.ndarray) -> np.ndarray:
    """Return z-scores in multiples of 2^-26, finer than any recording: the unit of measurement decides no last bit."""
    return np.round(zscore(column) * 2.0**26) * 2.0**-26


def normal_scores(column: np.ndarray) -> np.ndarray:
    """Replace values by the normal quantiles of their (mean) ranks."""
    from scipy.special import ndtri

    scores, order = np.empty(len(column)), column.argsort()
    ordered = column[order]
    if (ordered[1:] == ordered[:-1]).any():  # equal values share their mean rank
        _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
        return ndtri(((np.cumsum(counts) - (counts - 1) / 2)[place] - 0.5) / len(column))
    scores[order] = _normal_quantiles(len(column))
    return scores


@lru_cache(maxsize=8)
def _normal_quantiles(n: int) -> np.ndarray:
    """Return the normal quantiles of n ranks; columns of one recording share them."""
    from scipy.special import ndtri

    return ndtri((np.arange(1, n + 1) - 0.5) / n)


def tie_noise(amplitude: float, index: int, shape: int | tuple[int, ...]) -> np.ndarray:
    """Return normal noise that breaks ties: the same for the same index (of a column) in every run."""
    return amplitude * np.random.default_rng([0x5EED, index]).standard_normal(shape)
