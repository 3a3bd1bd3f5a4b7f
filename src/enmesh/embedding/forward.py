"""Forward selection of lagged variables by regression: every node at every lag, for networks of any size.

For a target, start from its own past. The gain of a lagged variable v is the share of what is left of the target that v
explains beyond what was selected,

    r(v) = b' G^-1 b / e'e,      e = y - Q Q'y,   b = f(v)'e,   G = f(v)'f(v) - (Q'f(v))'(Q'f(v)),

with Q an orthonormal basis of the features of what was selected and f(v) the features that v adds: v itself for a line;
v, its square and its products with what was selected for a curve. Take the variable with the largest gain while its F
test passes at the level divided by the number of lags; update the products of Q with all candidates, which is one
matrix product for a step; in the end drop the weakest source that fails a test of all its lags together, until none
fails. With lags taken together a candidate is a source with all its lags at once, and nothing is divided.

Candidates are never laid out: at lag l they are the recorded values shifted by l, so that products with all of them are
products with the recording. After Faes, Nollo and Porta, Phys. Rev. E 83, 051112 (2011).
"""

from collections.abc import Sequence
from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from enmesh.embedding.blocks import Blocks
from enmesh.embedding.lagged import Lagged, Lags
from enmesh.embedding.least_squares import COLLINEAR, f_test, orthonormal_rest, residual_sum
from enmesh.tasks import Task, ready, run

if TYPE_CHECKING:
    from enmesh.data.series import Series

# Candidates up to which the covariance of all of them is kept (300 MB); beyond, its columns are made when needed.
MOST_KEPT = 6000
TOGETHER = 32  # targets whose products with all candidates are made at once
# Unrelated sources that would pass the loose level by chance, and such sources that are named at most.
LOOSE, FURTHER = 2.0, 6
# Order of a node's own linear memory at most; for curves less, with so many samples for each feature of the own past.
MOST_MEMORY, CURVED_MEMORY, SAMPLES_PER_OWN_FEATURE = 10, 5, 40
# Lagged variables that are selected at most, and samples for each coefficient at least.
MOST_SELECTED, SAMPLES_PER_COEFFICIENT = 30, 8


class Past(NamedTuple):
    """What was found for one target: its own lags, lags of every source, and the sources that were chosen."""

    own: tuple[int, ...]
    lags: tuple[tuple[int, ...], ...]
    sources: tuple[int, ...]
    further: tuple[int, ...] = ()
    """Sources that a regression sees at a loose level only, the most promising first."""
    nulls: tuple[tuple[int, tuple[int, ...], np.ndarray], ...] = ()
    """Null distributions ``(source, given sources, values)`` that tests with these lags need, made while selecting."""


class ForwardSelection:
    """Forward selection for the targets of one series (`NonUniform` with an analytic estimator)."""

    def __init__(self, method: Any, series: "Series"):
        self.score = method
        nodes, longest = range(series.n_nodes), max(series.lengths)
        self._memory = max(
            method.max_lag, min(MOST_MEMORY, longest // 4, sum(series.lengths) // 50, longest - 2)
        )
        own = {(name, name): tuple(range(1, self._memory + 1)) for name in series.names}
        self.blocks = Blocks(series, Lags(own, searched=method.max_lag), method.estimator.condition)
        self._allowed = method.allowed_sources(series)
        self._level = 1 - method.alpha
        self._together = method.together
        self._choices = 1 if method.together else method.max_lag
        self.records = Records(self.blocks, getattr(method.estimator, "device", "cpu"))
        self._curved = getattr(method.estimator, "features", "linear") == "quadratic"
        self._names, self._nodes = series.names, nodes
        self._gram: Any = None

    def past(self, target: int) -> Past:
        """Select the lagged variables of one target."""
        return run(self.find(target))

    def find(self, target: int) -> Task[Past]:
        """Select the lagged variables of one target, as a task."""
        return ready(self._find(target))

    def beyond(self, target: int, variable: Lagged, nearer: Past) -> float:
        """Return the p-value, by a line, of a lagged variable given what nearer lags say, those of its node too."""
        known = sorted({target, *nearer.sources, variable.node})
        given = [Lagged(j, lag) for j in known for lag in (nearer.own if j == target else nearer.lags[j])]
        return Fit(self.records, target).test([variable], given)

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
            if fit.p_value(share[best]) * self._choices > self._level:
                break
            for variable in self._candidate(best):
                fit.add(variable)
            open_[best] = False
        share = np.where(open_, fit.shares(), 0.0) if fit.has_room else np.zeros(len(open_))
        chosen, dropped = self._pruned(fit, own)
        lags = {j: tuple(sorted(v.lag for v in chosen if v.node == j)) for j in {v.node for v in chosen}}
        sources = tuple(sorted(lags.keys() - {target}))
        by_lag = share.reshape(-1, len(self._nodes))
        best_lag = by_lag.argmax(axis=0) + 1
        further = self._further(target, fit, by_lag.max(axis=0), sources, dropped)
        every = tuple(range(1, self.score.max_lag + 1))
        usual = [every if self._together else (int(best_lag[j]),) for j in self._nodes]
        listed = tuple(lags.get(j) or dropped.get(j) or usual[j] for j in self._nodes)
        return Past(lags[target], listed, sources, further=further)

    def _open(self, target: int) -> np.ndarray:
        """Return which candidates may be taken: (lag, node), flat; own lags that are in the past already are not."""
        sources = [target, *(self._allowed[target] if self._allowed is not None else self._nodes)]
        open_ = np.zeros((1 if self._together else self.score.max_lag, len(self._nodes)), bool)
        open_[:, sources] = True
        if self._together:
            open_[:, target] = False
        return open_.ravel()

    def _candidate(self, place: int) -> list[Lagged]:
        lag, node = divmod(place, len(self._nodes))
        return (
            [Lagged(node, m) for m in range(1, self.score.max_lag + 1)]
            if self._together
            else [Lagged(node, lag + 1)]
        )

    def _own_past(self, target: int) -> "Fit":
        """Return the fit of the own past alone, as long as the smallest BIC of a line says."""
        own = [Lagged(target, lag) for lag in range(1, self._memory + 1)]
        n = self.blocks.n
        columns = np.column_stack([np.ones(n), self.records.take([Lagged(target, 0), *own])])
        basis = np.linalg.qr(np.delete(columns, 1, axis=1))[0]
        y = columns[:, 1] - columns[:, 1].mean()
        left = np.maximum(y @ y - np.cumsum((y @ basis[:, 1:]) ** 2), 1e-12 * max(y @ y, 1e-300)) / n
        order = 1 + int(np.argmin(n * np.log(left) + np.arange(1, len(own) + 1) * np.log(n)))
        if self._curved:  # o lags have o (o + 3) / 2 features
            bearable = [
                o for o in range(1, CURVED_MEMORY + 1) if o * (o + 3) / 2 * SAMPLES_PER_OWN_FEATURE <= n
            ]
            order = min(order, max(bearable, default=1))
        if self._curved:
            fit: Fit = Curve(self.records, target)
        else:
            fit = Line(self.records, target, self._covariance(), together=self._together)
        for variable in own[:order]:
            fit.add(variable)
        return fit

    def _covariance(self) -> "np.ndarray | None":
        if self._gram is None and self.records.size <= MOST_KEPT:
            self._gram = self.records.covariance()
        return self._gram

    def _pruned(self, fit: "Fit", own: list[Lagged]) -> tuple[list[Lagged], dict[int, tuple[int, ...]]]:
        """Drop the weakest source that fails a test of all its lags together given the rest, until none fails."""
        chosen = list(fit.chosen)
        dropped: dict[int, tuple[int, ...]] = {}
        while True:
            tests = {}
            for j in sorted({v.node for v in chosen if v not in own and v.node != fit.target}):
                x = [v for v in chosen if v.node == j]
                p_value = fit.test(x, [v for v in chosen if v.node != j])
                tests[j] = p_value * (1 if self._together else comb(self.score.max_lag, len(x)))
            weakest = max(tests, key=lambda j: (tests[j], j), default=None)
            if weakest is None or tests[weakest] <= self._level:
                return chosen, dropped
            dropped[weakest] = tuple(sorted(v.lag for v in chosen if v.node == weakest))
            chosen = [v for v in chosen if v.node != weakest]

    def _further(
        self, target: int, fit: "Fit", share: np.ndarray, sources: Sequence[int], dropped: dict[int, Any]
    ) -> tuple[int, ...]:
        """Return the sources that pass loosely only, the most promising first; those that were dropped before all."""
        others = len(self._nodes) - 1
        taken = {target, *sources, *dropped}
        order = [int(j) for j in np.argsort(-share, kind="stable") if int(j) not in taken and share[j] > 0]
        loose = [
            j
            for j in order[:FURTHER]
            if fit.p_value(share[j]) * self._choices * others <= max(LOOSE, others * self._level)
        ]
        return (*dropped, *loose)[:FURTHER]


class Records:
    """The recorded values, and products of any columns with every candidate: all nodes at all lags.

    Values are standardised, ``(node, time)``. Products are of shape ``(lag, node, columns)``, flattened over the
    first two. ``device`` "cuda" keeps values and products on a GPU.
    """

    def __init__(self, blocks: Blocks, device: str = "cpu"):
        import importlib

        self.xp: Any = importlib.import_module("cupy") if device == "cuda" else np
        self.blocks, self.n, self.lags = blocks, blocks.n, blocks.searched
        values = blocks.values - blocks.values.mean(axis=1, keepdims=True)
        spread = values.std(axis=1, keepdims=True)
        self.values = self.xp.asarray(values / np.where(spread > 0, spread, 1.0))
        self.size = self.lags * blocks.n_nodes
        rows = blocks.rows
        self._first = int(rows[0]) if int(rows[-1] - rows[0]) + 1 == len(rows) else None
        self._rows = self.xp.asarray(rows)
        self._powers = {1: self.values}
        self._sums: dict[int, Any] = {}
        self._with_targets: dict[int, Any] = {}

    def power(self, exponent: int) -> Any:
        """Return all values to a power."""
        if exponent not in self._powers:
            self._powers[exponent] = self.values**exponent
        return self._powers[exponent]

    def at(self, lag: int, exponent: int = 1, nodes: Any = slice(None)) -> Any:
        """Return the values of nodes at a lag, ``(node, n)``; a view where samples follow one another."""
        values = self.power(exponent)[nodes]
        if self._first is not None:
            return values[..., self._first - lag : self._first - lag + self.n]
        return values[..., self._rows - lag]

    def take(self, variables: Sequence[Lagged]) -> np.ndarray:
        """Return lagged variables as columns ``(n, d)``, on the CPU."""
        columns = [self.at(v.lag, nodes=v.node) for v in variables]
        return np.column_stack([c.get() if self.xp is not np else c for c in columns])

    def column(self, variable: Lagged) -> Any:
        """Return one lagged variable ``(n,)`` where the values are."""
        return self.at(variable.lag, nodes=variable.node)

    def products(self, columns: Any, exponent: int = 1) -> Any:
        """Return ``sum_n v^exponent w`` of every candidate v and every column w of ``columns (n, d)``."""
        return self.xp.concatenate([self.at(lag, exponent) @ columns for lag in range(1, self.lags + 1)])

    def sums(self, exponent: int) -> Any:
        """Return ``sum_n v^exponent`` of every candidate."""
        if exponent not in self._sums:
            parts = [self.at(lag, exponent).sum(axis=1) for lag in range(1, self.lags + 1)]
            self._sums[exponent] = self.xp.concatenate(parts)
        return self._sums[exponent]

    def with_target(self, target: int, exponent: int = 1) -> Any:
        """Return ``sum_n v^exponent y`` of every candidate v, y a node's next value, centred.

        Those of a few dozen targets are made at once: a matrix product takes little longer than one of its columns.
        """
        some = target // TOGETHER
        kept = self._with_targets.get(exponent, (None,))  # read once: threads share it
        if kept[0] != some:
            y = self.at(0, nodes=slice(some * TOGETHER, (some + 1) * TOGETHER))
            products = self.products((y - y.mean(axis=1, keepdims=True)).T, exponent)
            kept = self._with_targets[exponent] = some, products
        return kept[1][:, target % TOGETHER]

    def covariance(self) -> Any:
        """Return the covariances of all candidates, times n."""
        xp, size = self.xp, self.blocks.n_nodes
        found = xp.empty((self.size, self.size))
        for a in range(self.lags):
            for b in range(a, self.lags):
                part = self.at(a + 1) @ self.at(b + 1).T
                found[a * size : (a + 1) * size, b * size : (b + 1) * size] = part
                found[b * size : (b + 1) * size, a * size : (a + 1) * size] = part.T
        total = self.sums(1)
        return found - xp.outer(total, total) / self.n


class Fit:
    """A regression of one target on lagged variables that are added one after the other."""

    def __init__(self, records: Records, target: int):
        self.records, self.target, self.xp = records, target, records.xp
        y = records.column(Lagged(target, 0))
        self.y = y - y.mean()
        self.left = float(self.y @ self.y)
        self.chosen: list[Lagged] = []
        self.n_features = 1  # the constant
        self.added = 1

    @property
    def has_room(self) -> bool:
        """Whether the samples bear one more variable."""
        return (self.n_features + self.added) * SAMPLES_PER_COEFFICIENT <= self.records.n and self.left > 0

    def shares(self) -> np.ndarray:
        """Return the share of what is left of the target that each candidate explains."""
        raise NotImplementedError

    def add(self, variable: Lagged) -> None:
        """Add a lagged variable."""
        raise NotImplementedError

    def p_value(self, share: float) -> float:
        """Return the F test of a share that a candidate explains."""
        return f_test(share, self.added, self.records.n - self.n_features - self.added)

    def features(self, variables: Sequence[Lagged]) -> np.ndarray:
        """Return the features of lagged variables ``(n, k)``, without the constant."""
        return self.records.take(variables)

    def test(self, x: Sequence[Lagged], z: Sequence[Lagged]) -> float:
        """Return the p-value of x given z, all together, by the F test."""
        y = self.y if self.xp is np else self.y.get()
        (without, k), (within, m) = (residual_sum(self.features(v), y) for v in (z, [*z, *x]))
        if m <= k or without <= 0:
            return 1.0
        return f_test(1 - within / without, m - k, self.records.n - 1 - m)


class Line(Fit):
    """Linear regression; products of a variable with all candidates come from their covariance where that is kept."""

    def __init__(self, records: Records, target: int, covariance: Any, *, together: bool = False):
        super().__init__(records, target)
        self._covariance = covariance
        self.added = records.lags if together else 1
        self._with_y = records.with_target(target)
        self._before = records.sums(2) - records.sums(1) ** 2 / records.n
        self._variance = self._before.copy()
        self._basis = self.xp.full((records.n, 1), records.n**-0.5)
        self._along: list[Any] = []

    def shares(self) -> np.ndarray:
        """b^2 / (d e'e), d what is left of the candidate itself."""
        xp = self.xp
        if self.added > 1:
            return self._shares_together()
        usable = self._variance > COLLINEAR * self._before
        share = xp.where(usable, self._with_y**2 / xp.where(usable, self._variance, 1.0), 0.0) / self.left
        return share if xp is np else share.get()

    def _shares_together(self) -> np.ndarray:
        """b' G^-1 b / e'e of each source with all its lags, G what is left of their covariance."""
        xp, lags, nodes = self.xp, self.added, self.records.blocks.n_nodes
        at = xp.arange(lags * nodes).reshape(lags, nodes).T  # (node, lag)
        inner = self._covariance[at[:, :, None], at[:, None, :]]
        for along in self._along:
            inner = inner - along[at][:, :, None] * along[at][:, None, :]
        scale = xp.sqrt(xp.maximum(self._before[at], 1e-300))
        inner = inner / (scale[:, :, None] * scale[:, None, :]) + COLLINEAR * xp.eye(lags)
        with_y = self._with_y[at] / scale
        share = (with_y * xp.linalg.solve(inner, with_y[..., None])[..., 0]).sum(axis=1) / self.left
        share = xp.clip(share, 0.0, 1.0)
        return share if xp is np else share.get()

    def add(self, variable: Lagged) -> None:
        """One Gram-Schmidt step: of the covariances with the target, and of what is left of each candidate."""
        self.chosen.append(variable)
        column = self.records.column(variable)
        new = orthonormal_rest(self._basis, column[:, None], self.xp)
        if not new.shape[1]:
            return
        size = float(new[:, 0] @ column)
        along = self._products(variable)
        for earlier, weight in zip(self._along, self._basis[:, 1:].T @ column):
            along = along - earlier * weight
        along = along / size
        y = float(new[:, 0] @ self.y)
        self._basis = self.xp.concatenate([self._basis, new], axis=1)
        self._along.append(along)
        self._with_y = self._with_y - along * y
        self._variance = self._variance - along**2
        self.left -= y**2
        self.n_features += 1

    def _products(self, variable: Lagged) -> Any:
        """Return the covariances of a variable with every candidate, times n."""
        if self._covariance is not None and variable.lag <= self.records.lags:
            return self._covariance[:, (variable.lag - 1) * self.records.blocks.n_nodes + variable.node]
        column = self.records.column(variable)
        return self.records.products((column - column.mean())[:, None])[:, 0]


class Curve(Fit):
    """Regression with squares and products of all variables that were added."""

    def __init__(self, records: Records, target: int):
        super().__init__(records, target)
        xp, n = self.xp, records.n
        self._factors = [xp.ones(n)]  # a constant and the variables: what a candidate is multiplied with
        self._basis = xp.full((n, 1), n**-0.5)
        self._y_along = xp.zeros(1)
        self._with_y = [records.with_target(target)]  # sum v a y, for each factor a
        self._square_y = records.with_target(target, 2)
        self._squares = {(0, 0): records.sums(2)}  # sum v^2 a b
        self._cubes = [records.sums(3)]  # sum v^3 a
        self._fourth = records.sums(4)
        self._along = [records.sums(1)[:, None] * n**-0.5]  # (candidate, basis) for each factor: Q'(v a)
        self._square_along = records.sums(2)[:, None] * n**-0.5
        self.added = 2

    def shares(self) -> np.ndarray:
        """Share explained by v, its square and its products with the variables, all at once."""
        xp = self.xp
        m = len(self._factors) + 1
        along = xp.stack([*self._along, self._square_along], axis=1)  # (candidate, feature, basis)
        inner = -(along @ along.transpose(0, 2, 1))
        raw = xp.empty((len(along), m, m))
        for a in range(m - 1):
            for b in range(a, m - 1):
                raw[:, a, b] = raw[:, b, a] = self._squares[a, b]
            raw[:, a, -1] = raw[:, -1, a] = self._cubes[a]
        raw[:, -1, -1] = self._fourth
        scale = xp.sqrt(xp.maximum(xp.einsum("cii->ci", raw), 1e-300))
        inner = (inner + raw) / (scale[:, :, None] * scale[:, None, :]) + COLLINEAR * xp.eye(m)
        with_y = xp.stack([*self._with_y, self._square_y], axis=1) - along @ self._y_along
        with_y = with_y / scale
        share = (with_y * xp.linalg.solve(inner, with_y[..., None])[..., 0]).sum(axis=1) / self.left
        share = xp.clip(share, 0.0, 1.0)
        return share if xp is np else share.get()

    def add(self, variable: Lagged) -> None:
        """Add a variable with its square and its products with those before it."""
        xp, records = self.xp, self.records
        column = records.column(variable)
        features = xp.stack([column * a for a in (*self._factors, column)], axis=1)
        new = orthonormal_rest(self._basis, features, xp)
        factors = [*self._factors, column]
        wide = [
            self._basis * column[:, None],
            *(new * a[:, None] for a in factors),
            column[:, None] * self.y[:, None],
        ]
        products = records.products(xp.concatenate(wide, axis=1))
        old, k = self._basis.shape[1], new.shape[1]
        parts = [products[:, old + k * a : old + k * (a + 1)] for a in range(len(factors))]
        last = xp.concatenate([products[:, :old], parts[-1]], axis=1)
        self._along = [xp.concatenate([kept, part], axis=1) for kept, part in zip(self._along, parts)] + [
            last
        ]
        self._with_y.append(products[:, -1])
        squares = records.products(xp.stack([*(column * a for a in factors), *new.T], axis=1), 2)
        place = len(factors) - 1
        self._squares |= {(a, place): squares[:, a] for a in range(len(factors))}
        self._square_along = xp.concatenate([self._square_along, squares[:, len(factors) :]], axis=1)
        self._cubes.append(records.products(column[:, None], 3)[:, 0])
        self._factors, self._basis = factors, xp.concatenate([self._basis, new], axis=1)
        self._y_along = self._basis.T @ self.y
        self.left = float(self.y @ self.y - self._y_along @ self._y_along)
        self.n_features = self._basis.shape[1]
        self.added = len(factors) + 1
        self.chosen.append(variable)

    def features(self, variables: Sequence[Lagged]) -> np.ndarray:
        """All monomials of degree one and two."""
        columns = self.records.take(variables) if variables else np.empty((self.records.n, 0))
        first, second = np.triu_indices(columns.shape[1])
        return np.column_stack([columns, columns[:, first] * columns[:, second]])
