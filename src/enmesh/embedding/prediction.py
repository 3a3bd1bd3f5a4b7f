"""Local prediction from nearest neighbours in a node's own past, on which several criteria are built."""

import numpy as np

from enmesh.estimators.base import numeric
from enmesh.estimators.scaling import tie_noise, zscore

# Breaks ties between neighbours, far below any measurement, as the KSG estimator does.
TIE_NOISE = 1e-8
# Further neighbours that are looked at so that a tie for the last place falls to the earlier one.
TIED = 4


def prediction_errors(
    past: np.ndarray, after: np.ndarray, times: np.ndarray, k: int = 4, theiler: int = 0
) -> np.ndarray:
    """Return the squared errors ``(n,)`` of predicting ``after`` by the mean over the past's k neighbours."""
    near, _ = nearest(past, times, k, theiler)
    return (after - after[near].mean(axis=1)) ** 2


def nearest(points: np.ndarray, times: np.ndarray, k: int, theiler: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and max-norm distances of the k nearest other points, none within ``theiler`` in time.

    The earlier of two equally near points comes first: overlapping windows share pairs of values, so that
    ties are common, between the windows just before and just after a point above all.
    """
    from scipy.spatial import cKDTree

    asked = min(k + 2 * theiler + 1 + TIED, len(points))
    distance, rows = cKDTree(points).query(points, asked, p=np.inf)
    refused = np.abs(times[rows] - times[:, None]) <= theiler
    order = np.lexsort((rows, distance, refused), axis=1)[:, :k]
    return np.take_along_axis(rows, order, 1), np.take_along_axis(distance, order, 1)


def scaled(column: np.ndarray, index: int, name: str) -> np.ndarray:
    """Z-score a column and break its ties."""
    column = standardised(column, index, name)
    return column + tie_noise(TIE_NOISE, index, len(column))


def standardised(column: np.ndarray, index: int, name: str) -> np.ndarray:
    """Z-score a column of numbers."""
    return zscore(numeric(column, name, "a neighbour method"))
