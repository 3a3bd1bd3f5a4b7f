"""How strong a hidden driver must be to explain a link away, and how strong the strongest observed driver is.

Both are partial R squared (Cinelli and Hazlett 2020). The robustness value of a link is the least share of what is
left of the source, and of what is left of the target, that a hidden common driver must explain for the link to vanish.
"""

from collections.abc import Sequence

import numpy as np

from enmesh.embedding.lagged import Lagged
from enmesh.links.known import orthonormal
from enmesh.links.samples import Samples


def partial_r2(value: float | np.ndarray) -> np.ndarray:
    """Return the partial R squared of a transfer entropy in nats: 1 - exp(-2 T), exact for Gaussian variables."""
    return -np.expm1(-2 * np.maximum(value, 0.0))


def robustness(value: float | np.ndarray) -> np.ndarray:
    """Return the robustness value of a transfer entropy in nats (Cinelli and Hazlett 2020, eq. 17 with q = 1).

    >>> robustness(np.array([0.0, 0.1])).round(3).tolist()
    [0.0, 0.373]
    """
    return _robustness(_odds(value))


def fragile(values: np.ndarray, p_values: np.ndarray, level: float) -> np.ndarray:
    """Return which links of a network a hidden driver as strong as its median link would leave not significant.

    That is the robustness value for significance (Cinelli and Hazlett 2020, section 4.3). Cohen's f that is needed at
    the level follows from f and the p-value of the link, which counts lags and rungs; both as normal quantiles.
    """
    from scipy.special import ndtri

    if not np.isfinite(values).any():
        return np.zeros(len(values), bool)
    needed = ndtri(level / 2) / np.minimum(ndtri(np.maximum(p_values, 1e-300) / 2), -1e-12)
    left = _odds(values) * np.maximum(1 - needed, 0) ** 2
    return _robustness(left) <= np.nanmedian(partial_r2(values))


def _odds(value: float | np.ndarray) -> np.ndarray:
    """Return the square of Cohen's f: partial R squared over what is left."""
    share = np.minimum(partial_r2(value), 1 - 1e-12)
    return share / (1 - share)


def _robustness(odds: np.ndarray) -> np.ndarray:
    return 0.5 * (np.sqrt(odds**2 + 4 * odds) - odds)


def strongest_observed(
    samples: Samples, target: int, source: Lagged, own: Sequence[Lagged], others: Sequence[Lagged]
) -> float:
    """Return the largest strength of another known driver: the smaller of its two partial R squared; NaN without one.

    A driver explains a part of what is left of the target, given its own past, the source and all other drivers; and
    a part of what is left of the source, given the same without the source. All are taken as normal scores, by lines.
    """
    nodes = sorted({v.node for v in others})
    if not nodes:
        return float("nan")
    rows = samples.complete([Lagged(target, 0), source, *own, *others])
    scores = samples.functions[0]
    (y,), (x,) = (samples.take(scores, [v], rows) for v in (Lagged(target, 0), source))
    found = []
    for node in nodes:
        rest = [*own, *(v for v in others if v.node != node)]
        known = np.concatenate([np.ones((1, len(rows))), samples.take(scores, rest, rows)])
        driver = samples.take(scores, [v for v in others if v.node == node], rows)
        found.append(min(_explained(np.vstack([known, x]), driver, y), _explained(known, driver, x)))
    return max(found)


def _explained(known: np.ndarray, more: np.ndarray, y: np.ndarray) -> float:
    """Return the partial R squared of some rows for y given known ones."""
    basis = orthonormal(np.vstack([known, more]))
    left = y - basis[: len(known)].T @ (basis[: len(known)] @ y)
    return float(((basis[len(known) :] @ left) ** 2).sum() / max(float(left @ left), 1e-300))
