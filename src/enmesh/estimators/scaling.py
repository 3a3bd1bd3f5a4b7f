"""How columns are put on one scale, and how equal values are told apart."""

import numpy as np


def zscore(column: np.ndarray) -> np.ndarray:
    """Return a column with mean 0 and standard deviation 1 (ddof 1)."""
    return (column - column.mean()) / column.std(ddof=1)


def standard_scores(column: np.ndarray) -> np.ndarray:
    """Return z-scores in multiples of 2^-26, finer than any recording: the unit of measurement decides no last bit."""
    return np.round(zscore(column) * 2.0**26) * 2.0**-26


def normal_scores(column: np.ndarray) -> np.ndarray:
    """Replace values by the normal quantiles of their (mean) ranks."""
    from scipy.special import ndtri

    ranks, order = np.empty(len(column)), column.argsort()
    ranks[order], ordered = np.arange(1, len(column) + 1), column[order]
    if (ordered[1:] == ordered[:-1]).any():  # equal values share their mean rank
        _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
        ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return ndtri((ranks - 0.5) / len(column))


def tie_noise(amplitude: float, index: int, shape: int | tuple[int, ...]) -> np.ndarray:
    """Return normal noise that breaks ties: the same for the same index (of a column) in every run."""
    return amplitude * np.random.default_rng([0x5EED, index]).standard_normal(shape)
