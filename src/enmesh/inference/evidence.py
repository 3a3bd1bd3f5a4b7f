"""What the data themselves say before anything is inferred: memory, reach of dependence, linearity.

Each function looks at normal scores of the series, so that heavy tails do not decide, and returns plain numbers that
the defaults turn into choices with reasons.
"""

import numpy as np

from enmesh.data.series import Series
from enmesh.estimators.ksg import normal_scores

# Lags that are looked at at most, and samples needed for each.
MOST_LAGS, SAMPLES_PER_LAG = 20, 50
# Lag up to which sources are asked where nothing speaks for more.
USUAL_LAG = 3
# Largest order of a node's own linear memory.
MOST_MEMORY = 10
# Share of all lags and pairs whose cross-correlation may be called large by chance.
CHANCE = 0.01
# Folds of contiguous samples by which predictions are judged, and penalties of the regression that are tried.
FOLDS = 8
PENALTIES = 10.0 ** np.arange(-4, 2.5)


def scored(series: Series) -> list[np.ndarray]:
    """Return the trials as normal scores ``(time, node)``; missing values become 0, the centre."""
    values = series.values.astype(float)
    columns = []
    for column in values.T:
        known = np.isfinite(column)
        filled = np.zeros(len(column))
        if known.sum() > 1 and np.ptp(column[known]) > 0:
            filled[known] = normal_scores(column[known])
        columns.append(filled)
    stacked = np.column_stack(columns)
    cuts = np.cumsum(series.lengths)[:-1]
    return list(np.split(stacked, cuts))


def lagged_rows(trials: list[np.ndarray], lags: int) -> tuple[np.ndarray, np.ndarray]:
    """Return next values ``(n, M)`` and their lags 1 .. ``lags`` as ``(n, lags, M)``, within trials."""
    long = [trial for trial in trials if len(trial) > lags]
    after = np.concatenate([trial[lags:] for trial in long])
    before = np.concatenate(
        [np.stack([t[lags - m : len(t) - m] for m in range(1, lags + 1)], axis=1) for t in long]
    )
    return after, before


def largest_lag(series: Series) -> int:
    """Return the number of lags that the record can be asked about."""
    longest = max(series.lengths)
    return max(1, min(MOST_LAGS, sum(series.lengths) // SAMPLES_PER_LAG, longest // 4))


def own_memory(series: Series) -> tuple[int, ...]:
    """Return each node's order of linear memory, at least 1: the one with the smallest BIC."""
    most = max(1, min(MOST_MEMORY, largest_lag(series)))
    after, before = lagged_rows(scored(series), most)
    n = len(after)
    orders = []
    for i in range(series.n_nodes):
        criteria = []
        for order in range(1, most + 1):
            left = _residual(after[:, i], before[:, :order, i])
            criteria.append(n * np.log(max(left @ left / n, 1e-300)) + order * np.log(n))
        orders.append(1 + int(np.argmin(criteria)))
    return tuple(orders)


def unexplained_by_own_past(series: Series, memory: tuple[int, ...]) -> np.ndarray:
    """Return the share of each node's variance that its own past leaves unexplained, by a linear prediction."""
    after, before = lagged_rows(scored(series), max(memory))
    shares = []
    for i, order in enumerate(memory):
        variance = max(float(np.var(after[:, i])), 1e-300)
        shares.append(float(np.mean(_residual(after[:, i], before[:, :order, i]) ** 2)) / variance)
    return np.array(shares)


def reach_of_dependence(series: Series, memory: tuple[int, ...]) -> int:
    """Return the largest lag at which a node's past goes best with another's surprise, in values or in squares.

    Surprises are what a node's own linear memory leaves of it. For each pair the lag counts at which the correlation of
    surprises, or of their squares, is largest, if it is beyond what chance gives at most among all lags and pairs, and
    at least half as large as that of the target's best source: weaker ones are mostly echoes along paths.
    """
    from scipy.special import ndtri

    most, size = largest_lag(series), series.n_nodes
    after, before = lagged_rows(scored(series), max(memory))
    surprise = np.column_stack(
        [_residual(after[:, i], before[:, :order, i]) for i, order in enumerate(memory)]
    )
    n = len(surprise)
    if n <= 2 * most or size < 2:
        return 1
    forms = np.concatenate([surprise, surprise**2], axis=1)
    forms = (forms - forms.mean(0)) / np.maximum(forms.std(0), 1e-12)
    strengths = (
        np.stack([np.abs(forms[:-lag].T @ forms[lag:] / (n - lag)) for lag in range(1, most + 1)])
        .reshape(most, 2, size, 2, size)
        .max(axis=(1, 3))
    )
    strengths[:, np.arange(size), np.arange(size)] = 0.0
    limit = -ndtri(CHANCE / (8 * most * size * (size - 1))) / np.sqrt(n)
    peaks, lags = strengths.max(axis=0), 1 + strengths.argmax(axis=0)
    counts = (peaks > limit) & (peaks >= peaks.max(axis=0, keepdims=True) / 2)
    return int(lags[counts].max(initial=1))


def prediction_error(features: np.ndarray, y: np.ndarray) -> float:
    """Return the mean squared error of predicting y out of sample, by ridge regression on contiguous folds."""
    n = len(y)
    cuts = np.linspace(0, n, FOLDS + 1).astype(int)
    errors = np.zeros(len(PENALTIES))
    for start, stop in zip(cuts[:-1], cuts[1:]):
        inside = np.r_[0:start, stop:n]
        mean, scale = features[inside].mean(0), np.maximum(features[inside].std(0), 1e-12)
        left, values, right = np.linalg.svd((features[inside] - mean) / scale, full_matrices=False)
        level = y[inside].mean()
        along = left.T @ (y[inside] - level)
        held = (features[start:stop] - mean) / scale @ right.T
        for row, penalty in enumerate(PENALTIES):
            weights = values / (values**2 + penalty * len(inside)) * along
            errors[row] += ((y[start:stop] - level - held @ weights) ** 2).sum()
    return float(errors.min() / n)


def _residual(y: np.ndarray, x: np.ndarray) -> np.ndarray:
    design = np.column_stack([np.ones(len(y)), x])
    return y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
