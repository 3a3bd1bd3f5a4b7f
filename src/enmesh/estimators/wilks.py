"""How likely a regression explains so much by chance: the distribution of Wilks' lambda.

Of q responses, m features explain a share 1 - lambda beyond what is known: lambda is the determinant of the residuals
with the features over that without them, and 2 I = -ln(lambda). Where responses and features are independent,

    F = (lambda^(-1/t) - 1) second / (m q)

follows the F distribution with (m q, second) degrees of freedom (Rao 1951): exactly for one or two responses or
features, closely for more. With one response t is 1 and F is that of every linear regression. Bartlett (1938): with

    effective = rest - m - (q - m + 1) / 2

samples in place of all, 2 N I follows chi-square with m q degrees of freedom. ``rest`` are the samples less the
coefficients that are known (the constant is one). Heavy tails of responses and features together make the variance
of the statistic ``tails`` times as large; both degrees of freedom are divided by that (Box and Watson 1962).

If the features may explain a ``margin`` of the residual variance without a link, F is noncentral, with noncentrality
L = rest margin. It is close to (1 + L / m q) times an F with (m q + L)^2 / (m q + 2 L) degrees of freedom (Patnaik
1949).
"""

from typing import Any

import numpy as np

SMALLEST = float(np.finfo(float).tiny)  # p-values are never 0: the smallest normal number


def effective(m: Any, q: Any, rest: float) -> Any:
    """Return the samples N of which 2 N I follows chi-square (Bartlett 1938)."""
    return rest - m - (q - m + 1) / 2


def wilks_p(
    ratio: Any, features: Any, q: Any, rest: float, wider: Any = 1.0, shifts: Any = np.inf, share: float = 1.0,
    tails: Any = 1.0, margin: Any = 0.0
) -> np.ndarray:  # fmt: skip
    """Return p-values of -ln(lambda) by Rao's F.

    ``ratio`` is -ln(lambda) of ``features`` and ``q`` responses with ``rest`` degrees of freedom. It is divided by
    ``wider``: how many times larger than expected it is over ``shifts`` independent circular shifts. The uncertainty
    of that mean lowers the denominator degrees of freedom. Only a ``share`` of the numerator's may count. Both are
    divided by ``tails`` (see the function of that name). The null hypothesis is that features explain at most a
    ``margin`` of the residual variance.
    """
    from scipy.special import fdtrc

    m = np.asarray(features, float)
    t, first, second = _rao(m, q, rest, share)
    with np.errstate(over="ignore"):
        f = np.expm1(np.maximum(ratio / wider, 0) / t) * second / first
    second = np.where(np.greater(wider, 1), 1 / (1 / second + 1 / (first * shifts)), second)
    beyond = rest * margin
    f, first = f * first / (first + beyond), (first + beyond) ** 2 / (first + 2 * beyond)
    return np.where((m > 0) & (rest - m > 1), np.maximum(fdtrc(first / tails, second / tails, f), SMALLEST), 1.0)


def tails(responses: np.ndarray, features: np.ndarray) -> float:
    """Return how much larger than for normal values the variance of the statistic is over permutations; at least 1.

    Rows are orthonormal. That is 1 + K(responses) K(features) / (2 m q n), of excess kurtoses K (Mardia 1971).
    """

    def excess(rows: np.ndarray) -> float:
        size, m, n = np.einsum("ij,ij->j", rows, rows), len(rows), rows.shape[1]
        return (n * float(size @ size) - m * (m + 2)) / (m * (2 * n) ** 0.5)

    return max(1.0, 1 + excess(responses) * excess(features)) if len(responses) and len(features) else 1.0


def wilks_quantile(alpha: float, m: int, q: int, rest: float, share: float = 1.0) -> float:
    """Return what -ln(lambda) stays under with probability ``alpha`` under independence.

    >>> q = wilks_quantile(0.99, 5, 4, 300)
    >>> wilks_p(q, 5, 4, 300).round(9).item()
    0.01
    """
    from scipy.special import fdtri

    if alpha <= 0:
        return 0.0
    t, first, second = _rao(np.asarray(float(m)), q, rest, share)
    return float(t * np.log1p(first / second * fdtri(first, second, alpha)))


def _rao(m: np.ndarray, q: Any, rest: float, share: float) -> tuple[Any, Any, Any]:
    """Return the root t, and the degrees of freedom of Rao's F."""
    mq, size = np.maximum(m * q, 1), m * m + q * q - 5
    t = np.where(size > 0, np.sqrt(np.maximum(mq * mq - 4, 1e-9) / np.where(size > 0, size, 1)), 1.0)
    second = np.maximum(effective(m, q, rest) * t - mq / 2 + 1, 1.0)
    return t, mq * share, second
