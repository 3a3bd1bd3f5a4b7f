"""Least squares for forward selection: what features add to a basis, what they leave of a target, the F test of it."""

from typing import Any

import numpy as np

# Share of its variance that a feature must keep beside others; less is rounding error.
COLLINEAR = 1e-6


def orthonormal_rest(basis: Any, features: Any, xp: Any = np) -> Any:
    """Return an orthonormal basis of what features add to a basis; directions of rounding error are left out."""
    size = xp.sqrt((features**2).sum(axis=0))
    features = features / xp.where(size > 0, size, 1.0)
    for _ in range(2):  # twice: the first time leaves rounding errors
        features = features - basis @ (basis.T @ features)
    left, values, _ = xp.linalg.svd(features, full_matrices=False)
    return left[:, values > COLLINEAR**0.5]


def residual_sum(features: np.ndarray, y: np.ndarray) -> tuple[float, int]:
    """Return the residual sum of squares of a centred y on a constant and features, and the rank of the features."""
    ones = np.full((len(y), 1), len(y) ** -0.5)
    basis = orthonormal_rest(ones, features) if features.shape[1] else features
    along = basis.T @ y
    return float(y @ y - along @ along), basis.shape[1]


def f_test(share: float, added: int, rest: int) -> float:
    """Return the p-value of a share of variance that ``added`` coefficients explain; ``rest`` degrees are left."""
    from scipy.special import fdtrc

    if rest < 1 or share <= 0:
        return 1.0
    return float(fdtrc(added, rest, share / max(1 - share, 1e-300) * rest / added))
