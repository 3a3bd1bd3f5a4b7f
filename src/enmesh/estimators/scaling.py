"""How columns are put on one scale, and how equal values are told apart."""

from functools import lru_cache

import numpy as np


def zscore(column: np.ndarray) -> np.ndarray:
    """Return a column with mean 0 and standard deviation 1 (ddof 1)."""
    return (column - column.mean()) / column.std(ddof=1)


def standard_scores(column: np.ndarray) -> np.ndarray:
    """Return z-scores in multiples of 2^-26, finer than any recording: the unit of measurement decides no last bit."""
    return np.round(zscore(column) * 2.0**26) * 2.0**-26


def normal_scores(column: np.ndarray) -> np.ndarray:
    """Replace values by the normal quantiles of their (mean) ranks."""
    order = np.argsort(column)
    ordered, scores = column[order], np.empty(len(column))
    edges = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1], [True]]))
    scores[order] = np.repeat(_quantiles(len(column))[edges[:-1] + edges[1:]], np.diff(edges))
    return scores


@lru_cache(maxsize=1)
def _quantiles(n: int) -> np.ndarray:
    """Return the normal quantiles of 0, 1 / 2n, 2 / 2n ... 1: of all mean ranks, less a half, of n values."""
    from scipy.special import ndtri

    return np.asarray(ndtri(np.arange(2 * n + 1) / (2 * n)))


def tie_noise(amplitude: float, index: int, shape: int | tuple[int, ...]) -> np.ndarray:
    """Return normal noise that breaks ties: the same for the same index (of a column) in every run."""
    return amplitude * np.random.default_rng([0x5EED, index]).standard_normal(shape)
