"""What the data themselves say before anything is inferred: memory, reach of dependence, linearity.

Each function looks at normal scores of the series, so that heavy tails do not decide, and returns plain numbers that
the defaults turn into choices with reasons.
"""

from collections.abc import Callable, Iterator

import numpy as np

from enmesh.data.series import Series
from enmesh.estimators.residuals import Residuals
from enmesh.estimators.scaling import normal_scores

Scale = Callable[[np.ndarray], np.ndarray]

# Lags that are looked at at most, and samples needed for each, and for each lag of each node.
MOST_LAGS, SAMPLES_PER_LAG, SAMPLES_PER_VARIABLE = 10, 50, 4
# Lag up to which nearest neighbours look for sources where nothing speaks for more.
USUAL_LAG = 5
# Largest order of a node's own linear memory.
MOST_MEMORY = 10
# Folds of contiguous samples by which predictions are judged, and penalties of the regression that are tried.
FOLDS = 8
PENALTIES = 10.0 ** np.arange(-3, 2.5)
# Standard errors, over so many blocks, within which a smaller number of lags is as good.
PARSIMONY, BLOCKS = 1.5, 20
# Samples that are enough to compare curves.
MANY_SAMPLES = 5000


def scored(series: Series, scale: Scale = normal_scores) -> list[np.ndarray]:
    """Return the trials ``(time, node)`` as normal scores, or on another scale; missing values become 0, the centre."""
    values = series.values.astype(float)
    columns = []
    for column in values.T:
        known = np.isfinite(column)
        filled = np.zeros(len(column))
        if known.sum() > 1 and np.ptp(column[known]) > 0:
            filled[known] = scale(column[known])
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
        basis = np.linalg.qr(np.column_stack([np.ones(n), before[:, :, i]]))[0]
        explained = np.cumsum((after[:, i] @ basis) ** 2)[
            1:
        ]  # by a constant and the first lag, the first two ...
        left = np.maximum((after[:, i] @ after[:, i] - explained) / n, 1e-300)
        orders.append(1 + int(np.argmin(n * np.log(left) + np.arange(1, most + 1) * np.log(n))))
    return tuple(orders)


def unexplained_by_own_past(series: Series, memory: tuple[int, ...]) -> np.ndarray:
    """Return the share of each node's variance that its own past leaves unexplained, by a linear prediction."""
    after, before = lagged_rows(scored(series), max(memory))
    shares = []
    for i, order in enumerate(memory):
        variance = max(float(np.var(after[:, i])), 1e-300)
        shares.append(float(np.mean(residual(after[:, i], before[:, :order, i]) ** 2)) / variance)
    return np.array(shares)


def lag_order(series: Series, most: int) -> int:
    """Return the number of lags, of all nodes together, by which nodes are predicted best out of sample, linearly.

    The smallest number is taken that is as good as the best but for chance: the sum over targets of the error, each in
    units of its own mean, is within `PARSIMONY` standard errors over blocks of samples. A number that was picked for
    its luck would make luck look like links.
    """
    after, before = lagged_rows(scored(series), most)
    errors = np.stack(
        [squared_errors(before[:, :order].reshape(len(after), -1), after) for order in range(1, most + 1)]
    )
    totals = np.log(np.maximum(errors.mean(axis=2), 1e-300)).sum(axis=1)
    best = int(totals.argmin())
    scale = np.maximum(errors[best].mean(axis=1), 1e-300)[:, None]
    for order in range(best):
        excess = ((errors[order] - errors[best]) / scale).sum(axis=0)
        blocks = np.array([block.mean() for block in np.array_split(excess, min(BLOCKS, len(excess)))])
        if blocks.mean() <= PARSIMONY * blocks.std(ddof=1) / np.sqrt(len(blocks)):
            return 1 + order
    return 1 + best


def own_curvature(series: Series, lags: int = 3) -> np.ndarray:
    """Return for each node how a curve through its own past predicts it, as a share of the error of a line.

    Near or over 1 for linear dynamics, clearly below for others; the curve has squares, products, cubes and absolute
    values of the own past.
    """
    return np.array([_share(curve(own), own, y) for own, y in _own_pasts(scored(series), lags)])


def own_waves(series: Series, scale: Scale, lags: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Return for each node how waves through its own past predict it: two shares of errors.

    The first is of the error of line and curve, the second of the variance. Waves are the random features of
    `KSG(residual="features")`, which follow any smooth function. Both are small where the own past nearly determines
    the node, but by a law that no polynomial follows. The law is looked for on the scale that estimates are made on:
    normal scores bend it.
    """
    gains, left = [], []
    for own, y in _own_pasts(scored(series, scale), lags):
        error = prediction_error(Residuals("features", own).basis[:, 1:], y)
        others = min(prediction_error(own, y), prediction_error(curve(own), y))
        gains.append(error / max(others, 1e-300))
        left.append(error / max(float(np.var(y)), 1e-300))
    return np.array(gains), np.array(left)


def _own_pasts(trials: list[np.ndarray], lags: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield each node's own past ``(n, lags)`` and its next values ``(n,)``, of long records some thousand of them."""
    after, before = lagged_rows(trials, max(1, min(lags, min(map(len, trials)) // 4)))
    step = max(1, len(after) // MANY_SAMPLES)
    for i in range(after.shape[1]):
        yield before[::step, :, i], after[::step, i]


def _share(features: np.ndarray, line: np.ndarray, y: np.ndarray) -> float:
    """Return the error of predicting y from features as a share of the error of predicting it from a line."""
    return prediction_error(features, y) / max(prediction_error(line, y), 1e-300)


def curve(columns: np.ndarray) -> np.ndarray:
    """Return columns with their squares, products, cubes and absolute values."""
    width = columns.shape[1]
    products = [columns[:, a] * columns[:, b] for a in range(width) for b in range(a + 1)]
    return np.column_stack([columns, *products, columns**3, np.abs(columns)])


def prediction_error(features: np.ndarray, y: np.ndarray) -> float:
    """Return the mean squared error of predicting ``y (n,)`` out of sample; see `squared_errors`."""
    return float(squared_errors(features, y[:, None]).mean())


def squared_errors(features: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the squared errors ``(m, n)`` of predicting each of ``targets (n, m)`` out of sample.

    By ridge regression on contiguous folds; each target has the penalty that suits it best.
    """
    n = len(targets)
    cuts = np.linspace(0, n, FOLDS + 1).astype(int)
    errors = np.zeros((len(PENALTIES), targets.shape[1], n))
    for start, stop in zip(cuts[:-1], cuts[1:]):
        inside = np.r_[0:start, stop:n]
        mean, scale = features[inside].mean(0), np.maximum(features[inside].std(0), 1e-12)
        known, level = (features[inside] - mean) / scale, targets[inside].mean(0)
        values, axes = np.linalg.eigh(known.T @ known)
        along = axes.T @ (known.T @ (targets[inside] - level))
        held = (features[start:stop] - mean) / scale @ axes
        for row, penalty in enumerate(PENALTIES):
            weights = along / (np.maximum(values, 0.0) + penalty * len(inside))[:, None]
            errors[row, :, start:stop] = ((targets[start:stop] - level - held @ weights) ** 2).T
    return errors[errors.mean(axis=2).argmin(axis=0), np.arange(targets.shape[1])]


def residual(y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return what a line through x leaves of y."""
    design = np.column_stack([np.ones(len(y)), x])
    return y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
