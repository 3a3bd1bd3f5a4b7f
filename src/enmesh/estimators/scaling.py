"""How columns are put on one scale, and how equal values are told apart."""

import numpy as np

CLEARLY = 1.1  # times more that ranks must miss of a variable's next values for z-scores to be taken
RIDGE = 1e-9  # on the coefficients that decide it, as a share of a column's sum of squares


def zscore(column: np.ndarray) -> np.ndarray:
    """Return a column with mean 0 and standard deviation 1 (ddof 1); a constant one is 0 throughout."""
    if len(column) < 2 or column.min() == column.max():
        return np.zeros(len(column))
    return (column - column.mean()) / column.std(ddof=1)


def standard_scores(column: np.ndarray) -> np.ndarray:
    """Return z-scores in multiples of 2^-26, finer than any recording: the unit of measurement decides no last bit."""
    return np.round(zscore(column) * 2.0**26) * 2.0**-26


def normal_scores(column: np.ndarray) -> np.ndarray:
    """Replace values by the normal quantiles of their ranks; equal values share their mean rank."""
    from scipy.special import ndtri

    _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
    return ndtri((np.cumsum(counts) - (counts - 1) / 2 - 0.5) / len(column))[place]


def tie_noise(amplitude: float, index: int, shape: int | tuple[int, ...]) -> np.ndarray:
    """Return normal noise that breaks ties: the same for the same index (of a column) in every run."""
    return amplitude * np.random.default_rng([0x5EED, index]).standard_normal(shape)


def better_scale(column: np.ndarray) -> str:
    """Return the scale on which a variable predicts its own next value better, out of sample: "rank" or "zscore".

    Squares and products of the last two values are fitted to every other tenth of the series and predict the rest, and
    the other way round. z-scores must miss `CLEARLY` less: ranks are not moved by heavy tails, but change a parabola.

    >>> import numpy as np
    >>> better_scale(np.random.default_rng(0).standard_t(2, size=500))
    'rank'
    """
    if column.min() == column.max():
        return "rank"
    ranked, standard = _missed(np.stack([normal_scores(column), standard_scores(column)]))
    return "zscore" if ranked > CLEARLY * standard else "rank"


def _missed(columns: np.ndarray) -> np.ndarray:
    """Return what quadratic regressions on the last two values leave of scaled series ``(k, n)``, out of sample."""
    y, a, b = columns[:, 2:], columns[:, 1:-1], columns[:, :-2]
    rows = np.stack([a, b, a * a, b * b, a * b, np.ones_like(y), y], axis=1)
    *_, features, n = rows[:, :-1].shape
    if n < 4 * features:
        return np.ones(len(columns))
    odd = np.arange(n) * 10 // n % 2
    halves = np.stack([rows * test @ rows.swapaxes(1, 2) for test in (odd, 1 - odd)])
    known = halves[::-1, :, :-1]
    weights = np.linalg.solve(known[..., :-1] * (1 + RIDGE * np.eye(features)), known[..., -1:])
    weights = np.concatenate([weights, -np.ones_like(weights[..., :1, :])], axis=-2)
    missed = (weights * (halves @ weights)).sum(axis=(0, 2, 3))
    return np.maximum(missed, 0.0) / (columns**2).sum(axis=1)
