"""Forward selection of lagged variables by regression: every node at every lag, for networks of any size.

For a target, start from its own past. The gain of a lagged variable v is the share of the target's residual
variance that v explains beyond what was selected,

    r(v) = b' G^-1 b / e'e,      e = y - Q Q'y,   b = f(v)'e,   G = f(v)'f(v) - (Q'f(v))'(Q'f(v)),

with Q an orthonormal basis of the features of what was selected and f(v) the features that v adds: v itself for a line;
v, its square and its products with what was selected for a curve. Take the variable with the largest gain while its F
test passes at the level divided by the number of lags; update the products of Q with all candidates, which is one
matrix product for a step; in the end drop the weakest source that fails a test of all its lags together, until none
fails.
After Faes, Nollo and Porta, Phys. Rev. E 83, 051112 (2011).
"""

from math import comb
from typing import Any, NamedTuple

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding.blocks import Blocks
from enmesh.embedding.fits import SAMPLES_PER_COEFFICIENT, Curve, Fit, Line, Records
from enmesh.embedding.lagged import Lagged, Lags
from enmesh.tasks import Task, ready

# Order of a node's own linear memory at most; for curves less, with so many samples for each feature of the own past.
MOST_MEMORY, CURVED_MEMORY, SAMPLES_PER_OWN_FEATURE = 10, 5, 40
MOST_SELECTED = 30  # lagged variables at most


class Past(NamedTuple):
    """What was found for one target: its own lags, lags of every source, and the sources that were chosen."""

    own: tuple[int, ...]
    lags: tuple[tuple[int, ...], ...]
    sources: tuple[int, ...]


class ForwardSelection:
    """Forward selection for the targets of one series (`NonUniform` with an analytic estimator)."""

    def __init__(self, method: Any, series: Series):
        self.score = method
        longest = max(series.lengths)
        bearable = min(MOST_MEMORY, longest // 4, sum(series.lengths) // 50, longest - 2)
        self._memory = max(method.max_lag, bearable)
        own = {(name, name): tuple(range(1, self._memory + 1)) for name in series.names}
        self.blocks = Blocks(series, Lags(own, searched=method.max_lag), method.estimator.condition)
        self._allowed = method.allowed_sources(series)
        self._level = 1 - method.alpha
        self.records = Records(self.blocks)
        self._curved = getattr(method.estimator, "features", "linear") == "quadratic"
        self._nodes = range(series.n_nodes)

    def find(self, target: int) -> Task[tuple[Past]]:
        """Select the lagged variables of a target, as a task."""
        return ready((self._find(target),))

    def twin(self) -> "ForwardSelection":
        """Return itself: it keeps no state of a target, so that threads can share it."""
        return self

    def _find(self, target: int) -> Past:
        fit = self._own_past(target)
        open_ = self._open(target)
        most = min(MOST_SELECTED, self.blocks.n // (2 * SAMPLES_PER_COEFFICIENT))
        own = list(fit.chosen)
        while len(fit.chosen) < most + len(own) and fit.has_room:
            share = np.where(open_, fit.shares(), 0.0)
            best = int(share.argmax())
            if fit.p_value(share[best]) * self.score.max_lag > self._level:
                break
            lag, node = divmod(best, len(self._nodes))
            fit.add(Lagged(node, lag + 1))
            open_[best] = False
        share = np.where(open_, fit.shares(), 0.0) if fit.has_room else np.zeros(len(open_))
        chosen, dropped = self._pruned(fit, own)
        lags = {j: tuple(sorted(v.lag for v in chosen if v.node == j)) for j in {v.node for v in chosen}}
        sources = tuple(sorted(lags.keys() - {target}))
        by_lag = share.reshape(-1, len(self._nodes))
        best_lag = by_lag.argmax(axis=0) + 1
        listed: list[tuple[int, ...]] = [(lag,) for lag in best_lag.tolist()]
        for j, chosen_lags in (dropped | lags).items():
            listed[j] = chosen_lags
        return Past(lags[target], tuple(listed), sources)

    def _open(self, target: int) -> np.ndarray:
        """Return which candidates may be taken: (lag, node), flat; own lags that are in the past already are not."""
        sources = [target, *(self._allowed[target] if self._allowed is not None else self._nodes)]
        open_ = np.zeros((self.score.max_lag, len(self._nodes)), bool)
        open_[:, sources] = True
        return open_.ravel()

    def _own_past(self, target: int) -> Fit:
        """Return the fit of the own past alone, as long as the smallest BIC of a line says."""
        own = [Lagged(target, lag) for lag in range(1, self._memory + 1)]
        n = self.blocks.n
        columns = np.column_stack([np.ones(n), self.records.take([Lagged(target, 0), *own])])
        basis = np.linalg.qr(np.delete(columns, 1, axis=1))[0]
        y = columns[:, 1] - columns[:, 1].mean()
        left = np.maximum(y @ y - np.cumsum((y @ basis[:, 1:]) ** 2), 1e-12 * max(y @ y, 1e-300)) / n
        order = 1 + int(np.argmin(n * np.log(left) + np.arange(1, len(own) + 1) * np.log(n)))
        if self._curved:  # o lags have o (o + 3) / 2 features
            most, orders = n / SAMPLES_PER_OWN_FEATURE, range(1, CURVED_MEMORY + 1)
            order = min(order, max((o for o in orders if o * (o + 3) / 2 <= most), default=1))
            fit: Fit = Curve(self.records, target)
        else:
            fit = Line(self.records, target)
        for variable in own[:order]:
            fit.add(variable)
        return fit

    def _pruned(self, fit: Fit, own: list[Lagged]) -> tuple[list[Lagged], dict[int, tuple[int, ...]]]:
        """Drop the weakest source that fails a test of all its lags together given the rest, until none fails."""
        chosen = list(fit.chosen)
        dropped: dict[int, tuple[int, ...]] = {}
        while True:
            tests = {}
            for j in sorted({v.node for v in chosen if v not in own and v.node != fit.target}):
                x = [v for v in chosen if v.node == j]
                tests[j] = fit.test(x, [v for v in chosen if v.node != j]) * comb(self.score.max_lag, len(x))
            weakest = max(tests, key=lambda j: (tests[j], j), default=None)
            if weakest is None or tests[weakest] <= self._level:
                return chosen, dropped
            dropped[weakest] = tuple(sorted(v.lag for v in chosen if v.node == weakest))
            chosen = [v for v in chosen if v.node != weakest]
