"""A long recording as a few points that lose neither its peaks nor its end."""

from collections.abc import Sequence

import numpy as np

from enmesh.draw.subject import Series

POINTS = 720  # of a recording that are kept for pictures


def extremes(values: Sequence[float] | np.ndarray, most: int) -> np.ndarray:
    """Return at most ``most`` values: of each of ``most / 2`` pieces the smallest and the largest, in their order.

    A piece without any known value stays a gap.

    >>> extremes([0, 1, 9, 2, 3, 4, -5, 6], 4).tolist()
    [0.0, 9.0, -5.0, 6.0]
    """
    column = np.asarray(values, float)
    if len(column) <= most:
        return column
    kept: list[float] = []
    borders = np.linspace(0, len(column), most // 2 + 1).astype(int)  # even, so that time stays even
    for piece in np.split(column, borders[1:-1]):
        known = np.flatnonzero(np.isfinite(piece))
        ends = sorted((known[piece[known].argmin()], known[piece[known].argmax()])) if len(known) else [0, 0]
        kept += piece[ends].tolist()
    return np.array(kept)


def preview(series: Series) -> dict[str, tuple[float, ...]]:
    """Return the first trial of each node for pictures, by its `extremes`."""
    shown = (extremes(column, POINTS) for column in series.trials[0].T)
    return {name: tuple(map(float, column)) for name, column in zip(series.names, shown)}
