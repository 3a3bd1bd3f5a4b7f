"""What the data themselves say before anything is inferred: kind, memory, linearity, tails, reach of dependence.

`Evidence` is all that the rules of the defaults (`inference.rules`) go by. Numbers are computed once, when they are
first asked for, on normal scores unless said otherwise, so that heavy tails do not decide.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding import Lagged
from enmesh.estimators.residuals import Residuals
from enmesh.estimators.scaling import normal_scores, standard_scores
from enmesh.inference.rules import THRESHOLDS

Scale = Callable[[np.ndarray], np.ndarray]

# Folds of contiguous samples by which predictions are judged, and penalties of the regression that are tried.
FOLDS = 8
PENALTIES = 10.0 ** np.arange(-3, 2.5)
OWN_LAGS = 3  # lags of the own past through which a curve or random features are laid
# Samples of a block whose variance is taken.
VARIANCE_BLOCK = 10
# Nodes of a large network whose changes of variance are compared: of 1,000 nodes, 12 recordings, the median over pairs
# of 200 lay within .004 of that of all, in .02 s in place of .9 s.
COMPARED = 200
TOGETHER = 16  # nodes whose errors of prediction are computed at once


class Evidence:
    """Numbers about a series that the defaults go by.

    >>> import enmesh as em
    >>> found = Evidence(em.simulate.var("a>b, b>c", n=500, seed=0))
    >>> found.kind, found.samples, found.farthest_lag, found.memory
    ('numbers', 500, 10, (1, 1, 1))
    """

    def __init__(self, series: Series):
        self.series = series
        self.samples, self.nodes = sum(series.lengths), series.n_nodes
        self._scored: dict[Scale, list[np.ndarray]] = {}
        self._predicted: dict[tuple[Scale, bool], np.ndarray] = {}

    @cached_property
    def kind(self) -> str:
        """``"states"``, ``"numbers"`` or ``"mixed"``: text and few different integers are states."""
        states = [
            kind == "text"
            or (kind == "integer" and len(np.unique(column[np.isfinite(column)])) <= THRESHOLDS.states)
            for kind, column in zip(self.series.kinds, self.series.values.T.astype(float))
        ]
        return "states" if all(states) else "mixed" if any(states) else "numbers"

    @cached_property
    def farthest_lag(self) -> int:
        """Largest lag that the record bears: 50 samples for each lag, and 6,000 lagged variables in all."""
        longest = max(self.series.lengths)
        each = max(3, THRESHOLDS.lagged_variables // self.nodes)
        most = min(THRESHOLDS.most_lags, self.samples // THRESHOLDS.samples_per_lag, longest // 4, each)
        return max(1, most)

    @cached_property
    def memory(self) -> tuple[int, ...]:
        """Each node's order of linear memory, at least 1: the one with the smallest BIC."""
        most = max(1, min(10, self.samples // THRESHOLDS.samples_per_lag, max(self.series.lengths) // 4))
        orders = list[int]()
        for nodes in _together(range(self.nodes)):
            y, own = self.own_pasts(nodes, most)
            n = y.shape[1]
            explained = np.cumsum((y[:, None] @ _basis(own))[:, 0] ** 2, axis=1)
            # What a constant and the first lag leave, the first two ...
            left = np.maximum(((y**2).sum(axis=1)[:, None] - explained[:, 1:]) / n, 1e-300)
            bic = n * np.log(left) + np.arange(1, most + 1) * np.log(n)
            orders += (1 + bic.argmin(axis=1)).tolist()
        return tuple(orders)

    @cached_property
    def _surprise(self) -> tuple[np.ndarray, np.ndarray]:
        """What a line through the own past leaves of every node, as a share of its variance and sample by sample."""
        shares, left = np.empty(self.nodes), [np.empty(0)] * self.nodes
        for order in {*self.memory}:
            for some in _together([i for i, one in enumerate(self.memory) if one == order]):
                y, own = self.own_pasts(some, order, reach=max(self.memory))
                basis = _basis(own)
                rest = y - (basis @ (y[:, None] @ basis).swapaxes(1, 2))[..., 0]
                shares[some] = (rest**2).mean(axis=1) / np.maximum(y.var(axis=1), 1e-300)
                for i, one in zip(some, rest):
                    left[i] = one
        return shares, np.stack(left)

    @property
    def left_by_own_past(self) -> np.ndarray:
        """Share of each node's variance that a line through its own past leaves unexplained."""
        return self._surprise[0]

    @cached_property
    def scale(self) -> Scale:
        """The scale of lines: normal scores, or z-scores where those predict clearly better, as of an oscillation.

        That is, where a line through values as they are predicts at least half of the nodes clearly better than even a
        curve through normal scores, which bend it. Smooth series and heavy tails are left to normal scores.
        """
        if self.smooth or self.heavy_tails:
            return normal_scores
        bent = np.minimum(self._errors(normal_scores, False), self._errors(normal_scores, True))
        better = self._errors(standard_scores, False) < THRESHOLDS.clearly * bent
        return standard_scores if np.mean(better) >= 0.5 else normal_scores

    @cached_property
    def curvature(self) -> np.ndarray:
        """Error of predicting each node by a curve through its own past, as a share of the error of a line."""
        return self._errors(self.scale, True) / self._errors(self.scale, False)

    def _errors(self, scale: Scale, curved: bool) -> np.ndarray:
        """Return the error of predicting each node by a line or a curve through its own past, over its variance."""
        if (scale, curved) not in self._predicted:
            errors = []
            for nodes in _together(range(self.nodes)):
                y, own = self.own_pasts(nodes, OWN_LAGS, scale, thinned=True)
                error = prediction_error(curve(own) if curved else own, y)
                errors.append(error / np.maximum(y.var(axis=-1), 1e-300))
            self._predicted[scale, curved] = np.concatenate(errors)
        return self._predicted[scale, curved]

    @cached_property
    def tails(self) -> float:
        """The largest excess kurtosis of a column: 0 for a normal one, more where single samples stand out."""
        values = self.series.values[np.isfinite(self.series.values).all(1)].astype(float)
        square = (values - values.mean(0)) ** 2
        return float(((square**2).mean(0) / np.maximum(square.mean(0), 1e-300) ** 2 - 3).max())

    @property
    def heavy_tails(self) -> bool:
        """Whether single samples dominate a z-score."""
        return self.tails > THRESHOLDS.heavy_tails

    @property
    def plain_scale(self) -> Scale:
        """Z-scores, which leave functions as they are, or normal scores where tails are heavy."""
        return normal_scores if self.heavy_tails else standard_scores

    @cached_property
    def left_by_features(self) -> tuple[np.ndarray, np.ndarray]:
        """Error of predicting a node by random features of its own past: over a line's or curve's, over its variance.

        Both are small where the own past nearly determines a node, but by a function that no parabola follows.
        """
        scale, left = self.plain_scale, np.empty(self.nodes)
        for i in range(self.nodes):
            (y,), (own,) = self.own_pasts([i], OWN_LAGS, scale, thinned=True)
            error = prediction_error(Residuals("features", own).basis[:, 1:], y)
            left[i] = error / max(float(np.var(y)), 1e-300)
        others = np.minimum(self._errors(scale, False), self._errors(scale, True))
        return left / np.maximum(others, 1e-300), left

    @property
    def smooth(self) -> bool:
        """Whether a line through the own past leaves less than a tenth of the variance of the node in the middle."""
        return float(np.median(self.left_by_own_past)) < THRESHOLDS.smooth

    @property
    def searchable(self) -> bool:
        """Whether nearest neighbours can look for all sources by themselves."""
        return self.samples * self.nodes <= THRESHOLDS.searchable

    @property
    def nearly_deterministic(self) -> bool:
        """Whether at least half of the nodes nearly follow from their own past, but by no line or parabola."""
        gain, left = self.left_by_features
        return float(np.mean((gain < THRESHOLDS.clearly) & (left < THRESHOLDS.determined))) >= 0.5

    @property
    def curved(self) -> bool:
        """Whether a curve through the own past predicts at least half of the nodes clearly better than a line."""
        return float(np.mean(self.curvature < THRESHOLDS.clearly)) >= 0.5

    @property
    def _compared(self) -> list[int]:
        """Nodes whose changes of variance are compared: all, or as many as give a median over 20,000 pairs."""
        return np.linspace(0, self.nodes - 1, min(self.nodes, COMPARED)).astype(int).tolist()

    @cached_property
    def common_variance(self) -> float:
        """The median over pairs of the correlation of log variances over short blocks, beyond that of the values."""
        surprise = self._surprise[1][self._compared].T
        blocks = len(surprise) // VARIANCE_BLOCK
        if blocks < 8 or self.nodes < 2:
            return 0.0
        cut = surprise[: blocks * VARIANCE_BLOCK].reshape(blocks, VARIANCE_BLOCK, -1)
        logs = np.log(np.maximum((cut**2).mean(axis=1), 1e-12))
        pairs = np.triu_indices(len(self._compared), 1)
        scaled = (surprise - surprise.mean(0)) / np.maximum(surprise.std(0), 1e-12)
        near = [scaled[: len(scaled) - lag].T @ scaled[lag:] / len(scaled) for lag in range(VARIANCE_BLOCK)]
        # What values that go along with each other, now or a few samples later, give by themselves.
        going_along = np.max([np.maximum(one**2, one.T**2) for one in near], axis=0)
        return float(np.median((np.corrcoef(logs.T) - going_along)[pairs]))

    @property
    def variance_is_common(self) -> bool:
        """Whether changes of variance are common to the nodes; chance reaches far with few blocks."""
        blocks = max(1, self.samples // VARIANCE_BLOCK)
        limit = max(THRESHOLDS.common_variance, 4 / np.sqrt(blocks * max(1, len(self._compared) - 1)))
        return self.common_variance > limit

    def scored(self, scale: Scale = normal_scores) -> list[np.ndarray]:
        """Return the trials ``(time, node)`` on a scale; missing values become 0, the centre."""
        if scale not in self._scored:
            columns = []
            for column in self.series.values.astype(float).T:
                known = np.isfinite(column)
                filled = np.zeros(len(column))
                if known.sum() > 1 and np.ptp(column[known]) > 0:
                    filled[known] = scale(column[known])
                columns.append(filled)
            self._scored[scale] = np.split(np.column_stack(columns), np.cumsum(self.series.lengths)[:-1])
        return self._scored[scale]

    def rows(self, target: int, past: Sequence[Lagged], scale: Scale) -> tuple[np.ndarray, np.ndarray]:
        """Return a target's next values ``(n,)`` and lagged variables ``(n, d)``, in trials."""
        span = max((v.lag for v in past), default=0)
        trials = [trial for trial in self.scored(scale) if len(trial) > span]
        y = np.concatenate([trial[span:, target] for trial in trials])
        x = [np.concatenate([t[span - v.lag : len(t) - v.lag, v.node] for t in trials]) for v in past]
        return y, np.column_stack(x) if x else np.empty((len(y), 0))

    def own_pasts(
        self,
        nodes: Sequence[int],
        lags: int,
        scale: Scale = normal_scores,
        reach: int = 0,
        thinned: bool = False,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return next values ``(nodes, n)`` and own pasts ``(nodes, n, lags)``, ``thinned`` some thousand samples."""
        lags = max(1, min(lags, min(self.series.lengths) // 4)) if thinned else lags
        span = max(reach, lags)
        trials = [trial[:, nodes].T for trial in self.scored(scale) if len(trial) > span]
        spans = [slice(span - lag, -lag or None) for lag in range(lags + 1)]
        lagged = [np.concatenate([trial[:, one] for trial in trials], axis=1) for one in spans]
        step = max(1, lagged[0].shape[1] // THRESHOLDS.enough_samples) if thinned else 1
        past = np.swapaxes(np.stack(lagged[1:], axis=1), 1, 2)
        return lagged[0][:, ::step], past[:, ::step]


def _together(nodes: Sequence[int]) -> Iterator[Sequence[int]]:
    """Yield as many nodes at a time as are computed at once."""
    for start in range(0, len(nodes), TOGETHER):
        yield nodes[start : start + TOGETHER]


def _basis(columns: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of a constant and columns ``(nodes, n, d)``, one after the other."""
    return np.linalg.qr(np.concatenate([np.ones_like(columns[..., :1]), columns], axis=-1))[0]


def curve(columns: np.ndarray) -> np.ndarray:
    """Return columns ``(..., n, d)`` with their squares, products, cubes and absolute values."""
    rows = np.swapaxes(columns, -1, -2)  # samples side by side
    first, second = np.triu_indices(rows.shape[-2])
    products = rows[..., first, :] * rows[..., second, :]
    return np.swapaxes(np.concatenate([rows, products, rows * rows * rows, np.abs(rows)], axis=-2), -1, -2)


def prediction_error(features: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the mean squared error of predicting ``y (..., n)`` out of sample from ``features (..., n, d)``."""
    # By ridge regression on contiguous folds, with the penalty that suits best; all of it from products of samples.
    both = np.concatenate([np.swapaxes(features, -1, -2), y[..., None, :]], axis=-2)
    both -= both.mean(axis=-1, keepdims=True)
    n, d = y.shape[-1], features.shape[-1]
    cuts = np.linspace(0, n, FOLDS + 1).astype(int)
    folds = [both[..., start:stop] for start, stop in zip(cuts[:-1], cuts[1:])]
    total, product = (
        np.stack([f.sum(axis=-1) for f in folds]),
        np.stack([f @ np.swapaxes(f, -1, -2) for f in folds]),
    )
    size = np.diff(cuts).reshape(-1, *[1] * both.ndim)  # (fold, ..., d, d)
    mean = (total.sum(axis=0) - total) / (n - size[..., 0])
    square = mean[..., :, None] * mean[..., None, :]
    spread = (product.sum(axis=0) - product) / (n - size) - square
    apart = total[..., :, None] * mean[..., None, :]
    held = product - apart - np.swapaxes(apart, -1, -2) + size * square  # about the mean of the others
    variance = np.diagonal(spread, axis1=-2, axis2=-1)[..., :d]
    varies = variance > 1e-12 * np.maximum(variance.max(axis=-1, keepdims=True, initial=0.0), 1e-300)
    scale = np.where(varies, np.sqrt(np.where(varies, variance, 1.0)), np.inf)
    values, axes = np.linalg.eigh(spread[..., :d, :d] / (scale[..., :, None] * scale[..., None, :]))
    back = np.swapaxes(axes, -1, -2) / scale[..., None, :]
    weights = back @ spread[..., :d, d:] / (np.maximum(values, 0.0)[..., None] + PENALTIES)
    square, cross = back @ held[..., :d, :d] @ np.swapaxes(back, -1, -2), back @ held[..., :d, d:]
    error = held[..., d, d, None] + (weights * (square @ weights - 2 * cross)).sum(axis=-2)
    return np.maximum(error.sum(axis=0).min(axis=-1) / n, 1e-300)
