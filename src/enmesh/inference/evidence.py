"""What the data themselves say before anything is inferred: memory, reach of dependence, linearity.

Each function looks at normal scores of the series, so that heavy tails do not decide, and returns plain numbers that
the defaults turn into choices with reasons.
"""

import numpy as np

from enmesh.data.series import Series
from enmesh.estimators.scaling import normal_scores

# Lags that are looked at at most, and samples needed for each, and for each lag of each node.
MOST_LAGS, SAMPLES_PER_LAG, SAMPLES_PER_VARIABLE = 10, 50, 4
# Lag up to which nearest neighbours look for sources where nothing speaks for more.
USUAL_LAG = 5
# Largest order of a node's own linear memory.
MOST_MEMORY = 10
# Folds of contiguous samples by which predictions are judged, and penalties of the regression that are tried.
FOLDS = 8
PENALTIES = 10.0 ** np.arange(-3, 2.5)


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
    longest, total = max(series.lengths), sum(series.lengths)
    each = max(3, total // (SAMPLES_PER_VARIABLE * series.n_nodes))
    return max(1, min(MOST_LAGS, total // SAMPLES_PER_LAG, longest // 4, each))


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


def lag_order(series: Series, most: int) -> int:
    """Return the number of lags, of all nodes together, by which nodes are predicted best out of sample, linearly.

    The sum over targets of the logarithm of the error is compared, so that every node counts alike.
    """
    after, before = lagged_rows(scored(series), most)
    totals = []
    for order in range(1, most + 1):
        errors = prediction_errors(before[:, :order].reshape(len(after), -1), after)
        totals.append(float(np.log(np.maximum(errors, 1e-300)).sum()))
    return 1 + int(np.argmin(totals))


def prediction_error(features: np.ndarray, y: np.ndarray) -> float:
    """Return the mean squared error of predicting ``y (n,)`` out of sample; see `prediction_errors`."""
    return float(prediction_errors(features, y[:, None])[0])


def prediction_errors(features: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the mean squared error of predicting each of ``targets (n, m)`` out of sample.

    By ridge regression on contiguous folds; each target has the penalty that suits it best.
    """
    n = len(targets)
    cuts = np.linspace(0, n, FOLDS + 1).astype(int)
    errors = np.zeros((len(PENALTIES), targets.shape[1]))
    for start, stop in zip(cuts[:-1], cuts[1:]):
        inside = np.r_[0:start, stop:n]
        mean, scale = features[inside].mean(0), np.maximum(features[inside].std(0), 1e-12)
        left, values, right = np.linalg.svd((features[inside] - mean) / scale, full_matrices=False)
        level = targets[inside].mean(0)
        along = left.T @ (targets[inside] - level)
        held = (features[start:stop] - mean) / scale @ right.T
        for row, penalty in enumerate(PENALTIES):
            weights = (values / (values**2 + penalty * len(inside)))[:, None] * along
            errors[row] += ((targets[start:stop] - level - held @ weights) ** 2).sum(0)
    return errors.min(axis=0) / n


def _residual(y: np.ndarray, x: np.ndarray) -> np.ndarray:
    design = np.column_stack([np.ones(len(y)), x])
    return y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
