"""The log-likelihood of residuals whose distribution is not known: a Gaussian, or a Gaussian times a smooth factor.

The density of a standardised residual u is an exponential family on a grid: exp(a u + b u^2 + sum of c_k f_k(u)), where
the f_k describe heavy tails, a peak, and asymmetry (as in the approximations of negentropy by Hyvarinen 1998, but
normalised, so that the value is a log-likelihood). With all c_k = 0 it is the Gaussian. BIC decides between the two.
"""

import numpy as np

END = 9.0  # standard deviations at which the grid ends; values beyond are moved to it
GRID = np.linspace(-END, END, 361)
STEPS = 30  # of Newton's method, at most


def features(u: np.ndarray) -> np.ndarray:
    """Return the functions of u of the exponent, one per row; the first two make the Gaussian."""
    bell = np.exp(-(u**2) / 2)
    return np.stack([u, u**2, np.log1p(u**2), bell, u * bell, np.tanh(2 * u)])


ON_GRID = features(GRID)
EXTRA = len(ON_GRID) - 2


def log_likelihood(residual: np.ndarray) -> tuple[float, float]:
    """Return the log-likelihood of a residual as Gaussian, and how much more BIC finds in its shape (at least 0).

    >>> rng = np.random.default_rng(0)
    >>> log_likelihood(rng.normal(size=1000))[1], log_likelihood(rng.exponential(size=1000))[1] > 200
    (0.0, True)
    """
    n = len(residual)
    spread = max(float(residual.std()), 1e-150)
    gaussian = -n * (np.log(spread) + 0.5 * np.log(2 * np.pi) + 0.5)
    u = np.clip((residual - residual.mean()) / spread, -END, END)
    gain = n * (_tilted(features(u).mean(axis=1)) + 0.5 * np.log(2 * np.pi) + 0.5)
    return float(gaussian), max(0.0, float(gain - 0.5 * EXTRA * np.log(n)))


def _tilted(means: np.ndarray) -> float:
    """Return the largest mean log-likelihood of the family, given the means of its functions (Newton, damped)."""
    weight = np.zeros(len(means))
    weight[1] = -0.5
    value = _value(weight, means)
    for _ in range(STEPS):
        log = weight @ ON_GRID
        p = np.exp(log - log.max())
        p /= p.sum()
        expected = ON_GRID @ p
        slope = means - expected
        curvature = (ON_GRID * p) @ ON_GRID.T - np.outer(expected, expected)
        step = np.linalg.solve(curvature + 1e-9 * np.eye(len(means)), slope)
        if slope @ step < 1e-7:
            break
        size = 1.0
        while size > 1e-3 and (new := _value(weight + size * step, means)) < value:
            size /= 2
        if size <= 1e-3:
            break
        weight, value = weight + size * step, new
    return value


def _value(weight: np.ndarray, means: np.ndarray) -> float:
    log = weight @ ON_GRID
    top = float(log.max())
    return float(weight @ means) - top - float(np.log(np.exp(log - top).sum() * (GRID[1] - GRID[0])))
