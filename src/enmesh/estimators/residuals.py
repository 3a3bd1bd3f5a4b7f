"""Residuals of y and of every x after regression on z, so that neighbours are those of innovations.

For any functions f and g

    I(x ; y | z) = I( x - f(z) ; y - g(z) | z ),

because given z a shift by a function of z changes nothing. The nearest-neighbour estimate does change: where z nearly
determines y, the distance to the k-th neighbour is set by z and the small surprise in y, in which drivers act, is below
its resolution. With f and g regressions on z, and what they leave scaled to unit variance, it is not.

One orthonormal basis Q of features of z serves all blocks: x loses Q (Q' x), whatever x is, surrogates included.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from enmesh.tasks import single_thread

ROUNDING = 1e-6  # less than this share of a column's spread is rounding error, not data
# Kinds of regressions, and how the methods paragraph says them.
RESIDUALS = {
    "none": "",
    "linear": ", residuals of linear regressions on the condition",
    "quadratic": ", residuals of quadratic regressions on the condition",
    "features": ", residuals of regressions on random Fourier features of the condition",
}
SAMPLES_PER_FEATURE = 10  # at least: the regression then takes a tenth of the noise with it
DRAWN, USED = 96, 48  # random Fourier features that are drawn, and directions of them that are used at most
FAINT = 1e-4  # share of the random features' spread that a direction needs: fainter ones fit noise
TAIL = 3  # degrees of freedom of the Student distribution that frequencies come from: some are high, most are low


class Residuals:
    """What z leaves of a block of columns, each scaled to unit variance.

    The features of z are a constant and z itself (``"linear"``); squares and products of two as well (``"quadratic"``);
    or, beside z, the leading directions of random Fourier features cos(w z + b) (``"features"``), which follow any
    smooth function of z. They are at most n / 10, the linear ones first, of the others those that vary most;
    features that depend on others add nothing and are left out.
    """

    def __init__(self, kind: str, z: np.ndarray):
        with single_thread():  # threads would wait for one another longer than they help
            self.basis = _basis(kind, z)

    def __call__(self, x: Any, xp: Any = np, basis: Any = None) -> Any:
        """Return the residuals of ``x (..., n, d)``; ``xp`` is the array library that x and ``basis`` are of.

        A column of which the regression leaves no more than rounding errors keeps its scale: they are not blown up.
        """
        basis = self.basis if basis is None else basis
        left = x - basis @ (basis.T @ x)
        size, before = (xp.sqrt((part**2).mean(axis=-2, keepdims=True)) for part in (left, x))
        lost = (size <= ROUNDING * x.std(axis=-2, keepdims=True)) | (size <= ROUNDING**2 * before)
        return left / xp.where(lost, xp.where(before > 0, before, 1), size)

    def on_device(self) -> Callable[[Any], Any]:
        """Return the same function for arrays ``(b, n, d)`` of CuPy, all of whose columns it takes at once."""
        import cupy

        basis = cupy.asarray(self.basis)

        def residuals(x: Any) -> Any:
            b, n, d = x.shape
            columns = cupy.ascontiguousarray(x.transpose(1, 0, 2)).reshape(n, b * d)
            return self(columns, cupy, basis).reshape(n, b, d).transpose(1, 0, 2)

        return residuals


def _basis(kind: str, z: np.ndarray) -> np.ndarray:
    """Return the orthonormal features of z, a constant first."""
    n = len(z)
    limit = n // SAMPLES_PER_FEATURE
    # The order of columns depends on what they hold, not on where they stand.
    z = z[:, sorted(range(z.shape[1]), key=lambda c: (np.sort(z[:, c]).tobytes(), z[:, c].tobytes()))]
    centred = z - z.mean(axis=0)
    spread = centred.std(axis=0)
    standard = centred[:, spread > 0] / spread[spread > 0]
    basis = _extended(np.full((n, 1), n**-0.5), standard, limit)
    if kind == "quadratic":
        first, second = np.triu_indices(standard.shape[1])
        return _extended(basis, standard[:, first] * standard[:, second], limit)
    if kind == "features":
        return _extended(basis, _fourier(standard), min(limit, basis.shape[1] + USED), FAINT)
    return basis


def _extended(basis: np.ndarray, features: np.ndarray, limit: int, faint: float = ROUNDING) -> np.ndarray:
    """Add to an orthonormal basis what is new in features, in order of its variance, up to ``limit`` columns.

    Directions that hold less than a ``faint`` share of all that varies are left out.
    """
    room = limit - basis.shape[1]
    if room < 1 or not features.shape[1]:
        return basis
    features = features - features.mean(axis=0)
    left, values, _ = np.linalg.svd(features - basis @ (basis.T @ features), full_matrices=False)
    directions = left[:, values > faint * np.linalg.norm(features)][:, :room]
    directions -= basis @ (basis.T @ directions)  # once more: the first time leaves rounding errors
    return np.hstack([basis, directions / np.linalg.norm(directions, axis=0)])


def _fourier(z: np.ndarray) -> np.ndarray:
    """Return random Fourier features of standardised columns: the same draws for any data of so many columns."""
    d = z.shape[1]
    rng = np.random.default_rng([0xFEA7, d])
    frequencies = rng.standard_normal((d, DRAWN)) / np.sqrt(rng.chisquare(TAIL, DRAWN) / TAIL * max(1, d))
    return np.cos(z @ frequencies + rng.uniform(0, 2 * np.pi, DRAWN))
