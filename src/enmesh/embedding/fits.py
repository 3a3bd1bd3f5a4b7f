"""Regressions that grow by one lagged variable, and their products with every candidate: all nodes at all lags.

Candidates are never laid out: at lag l they are the recorded values shifted by l, so that products with all of them are
products with the recording (`Records`).
"""

from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from enmesh.embedding.blocks import Blocks
from enmesh.embedding.lagged import Lagged

SAMPLES_PER_COEFFICIENT = 8  # at least
COLLINEAR = 1e-6  # share of its variance that a feature must keep beside others; less is rounding error


class Records:
    """The recorded values, and products of any columns with every candidate: all nodes at all lags.

    Values are standardised, ``(node, time)``. Products are of shape ``(lag, node, columns)``, flattened over the
    first two.
    """

    def __init__(self, blocks: Blocks):
        self.blocks, self.n, self.lags = blocks, blocks.n, blocks.searched
        values = blocks.values - blocks.values.mean(axis=1, keepdims=True)
        spread = values.std(axis=1, keepdims=True)
        self.values = values / np.where(spread > 0, spread, 1.0)
        self._rows = rows = blocks.rows
        self._first = int(rows[0]) if int(rows[-1] - rows[0]) + 1 == len(rows) else None
        self._powers = {1: self.values}
        self._sums: dict[int, np.ndarray] = {}

    def at(self, lag: int, exponent: int = 1, nodes: Any = slice(None)) -> np.ndarray:
        """Return the values of nodes at a lag, ``(node, n)``; a view where samples follow one another."""
        for power in range(max(self._powers) + 1, exponent + 1):  # products are quicker than powers
            self._powers[power] = self._powers[power - 1] * self.values
        values = self._powers[exponent][nodes]
        if self._first is not None:
            return values[..., self._first - lag : self._first - lag + self.n]
        return values[..., self._rows - lag]

    def take(self, variables: Sequence[Lagged]) -> np.ndarray:
        """Return lagged variables as columns ``(n, d)``."""
        return np.column_stack([self.at(v.lag, nodes=v.node) for v in variables])

    def products(self, columns: np.ndarray, exponent: int = 1) -> np.ndarray:
        """Return ``sum_n v^exponent w`` of every candidate v and every column w of ``columns (n, d)``."""
        return np.concatenate([self.at(lag, exponent) @ columns for lag in range(1, self.lags + 1)])

    def sums(self, exponent: int) -> np.ndarray:
        """Return ``sum_n v^exponent`` of every candidate."""
        if exponent not in self._sums:
            parts = [self.at(lag, exponent).sum(axis=1) for lag in range(1, self.lags + 1)]
            self._sums[exponent] = np.concatenate(parts)
        return self._sums[exponent]


class Fit:
    """A regression of one target on lagged variables that are added one after the other."""

    def __init__(self, records: Records, target: int):
        self.records, self.target = records, target
        y = records.at(0, nodes=target)
        self.y = y - y.mean()
        self.left = float(self.y @ self.y)
        self.chosen: list[Lagged] = []
        self.n_features = 1  # the constant
        self.added = 1

    @property
    def has_room(self) -> bool:
        """Whether there are samples for one more variable."""
        return (self.n_features + self.added) * SAMPLES_PER_COEFFICIENT <= self.records.n and self.left > 0

    def shares(self) -> np.ndarray:
        """Return the share of the target's residual variance that each candidate explains."""
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
        (without, k), (within, m) = (residual_sum(self.features(v), self.y) for v in (z, [*z, *x]))
        if m <= k or without <= 0:
            return 1.0
        return f_test(1 - within / without, m - k, self.records.n - 1 - m)


class Line(Fit):
    """Linear regression."""

    def __init__(self, records: Records, target: int):
        super().__init__(records, target)
        self._with_y = records.products(self.y[:, None])[:, 0]
        self._before = records.sums(2) - records.sums(1) ** 2 / records.n
        self._variance = self._before.copy()
        self._basis = np.full((records.n, 1), records.n**-0.5)
        self._along: list[Any] = []

    def shares(self) -> np.ndarray:
        """b^2 / (d e'e), d the candidate's own residual variance."""
        usable = self._variance > COLLINEAR * self._before
        return np.where(usable, self._with_y**2 / np.where(usable, self._variance, 1.0), 0.0) / self.left

    def add(self, variable: Lagged) -> None:
        """One Gram-Schmidt step: of the covariances with the target, and of each candidate's residual variance."""
        self.chosen.append(variable)
        column = self.records.at(variable.lag, nodes=variable.node)
        new = orthonormal_rest(self._basis, column[:, None])
        if not new.shape[1]:
            return
        size = float(new[:, 0] @ column)
        along = self.records.products((column - column.mean())[:, None])[:, 0]
        for earlier, weight in zip(self._along, self._basis[:, 1:].T @ column):
            along = along - earlier * weight
        along = along / size
        y = float(new[:, 0] @ self.y)
        self._basis = np.concatenate([self._basis, new], axis=1)
        self._along.append(along)
        self._with_y = self._with_y - along * y
        self._variance = self._variance - along**2
        self.left -= y**2
        self.n_features += 1


class Curve(Fit):
    """Regression with squares and products of all variables that were added."""

    def __init__(self, records: Records, target: int):
        super().__init__(records, target)
        n = records.n
        self._factors = [np.ones(n)]  # a constant and the variables: what a candidate is multiplied with
        self._basis = np.full((n, 1), n**-0.5)
        self._y_along = np.zeros(1)
        self._with_y = [records.products(self.y[:, None])[:, 0]]  # sum v a y, for each factor a
        self._square_y = records.products(self.y[:, None], 2)[:, 0]
        self._squares = {(0, 0): records.sums(2)}  # sum v^2 a b
        self._cubes = [records.sums(3)]  # sum v^3 a
        self._fourth = records.sums(4)
        self._along = [records.sums(1)[:, None] * n**-0.5]  # (candidate, basis) for each factor: Q'(v a)
        self._square_along = records.sums(2)[:, None] * n**-0.5
        self.added = 2

    def shares(self) -> np.ndarray:
        """Share explained by v, its square and its products with the variables, all at once."""
        m = len(self._factors) + 1
        along = [*self._along, self._square_along]  # (candidate, basis) of each feature
        inner, size = np.empty((m, m, len(along[0]))), np.empty((m, len(along[0])))
        for a, b in combinations_with_replacement(range(m), 2):
            raw = self._squares[a, b] if b < m - 1 else self._cubes[a] if a < m - 1 else self._fourth
            inner[a, b] = inner[b, a] = raw - np.einsum("ck,ck->c", along[a], along[b])
            if a == b:
                size[a] = raw
        with_y = np.stack([*self._with_y, self._square_y]) - np.stack([one @ self._y_along for one in along])
        return self._explained(inner, with_y, np.sqrt(np.maximum(size, 1e-300)))

    def _explained(self, inner: np.ndarray, with_y: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """b' G^-1 b / e'e of candidates with several features: G (feature, feature, candidate), b and their scales.

        By elimination of one feature after the other from all candidates at once, which are many, of few features.
        """
        m = len(scale)
        inner, with_y = inner / (scale[:, None] * scale), with_y / scale
        inner[np.arange(m), np.arange(m)] += COLLINEAR
        share = np.zeros_like(with_y[0])
        for j in range(m):
            share += with_y[j] ** 2 / inner[j, j]
            weight = inner[j, j + 1 :] / inner[j, j]
            with_y[j + 1 :] -= weight * with_y[j]
            inner[j + 1 :, j + 1 :] -= weight[:, None] * inner[j, j + 1 :]
        return np.clip(share / self.left, 0.0, 1.0)

    def add(self, variable: Lagged) -> None:
        """Add a variable with its square and its products with those before it."""
        column = self.records.at(variable.lag, nodes=variable.node)
        factors = [*self._factors, column]
        features = [column * a for a in factors]
        new = orthonormal_rest(self._basis, np.stack(features, axis=1))
        wide = [self._basis * column[:, None], *(new * a[:, None] for a in factors)]
        products = self.records.products(np.concatenate([*wide, column[:, None] * self.y[:, None]], axis=1))
        squares = self.records.products(np.stack([*features, *new.T], axis=1), 2)
        cubes = self.records.products(column[:, None], 3)
        old, k = self._basis.shape[1], new.shape[1]
        parts = [products[:, old + k * a : old + k * (a + 1)] for a in range(len(factors))]
        last = np.concatenate([products[:, :old], parts[-1]], axis=1)
        self._along = [np.concatenate(both, axis=1) for both in zip(self._along, parts)] + [last]
        self._with_y.append(products[:, -1])
        place = len(factors) - 1
        self._squares |= {(a, place): squares[:, a] for a in range(len(factors))}
        self._square_along = np.concatenate([self._square_along, squares[:, len(factors) :]], axis=1)
        self._cubes.append(cubes[:, 0])
        self._factors, self._basis = factors, np.concatenate([self._basis, new], axis=1)
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


def orthonormal_rest(basis: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of what features add to a basis; directions of rounding error are left out."""
    size = np.sqrt((features**2).sum(axis=0))
    features = features / np.where(size > 0, size, 1.0)
    for _ in range(2):  # twice: the first time leaves rounding errors
        features = features - basis @ (basis.T @ features)
    values, axes = np.linalg.eigh(features.T @ features)
    kept = values > COLLINEAR
    return features @ (axes[:, kept] / np.sqrt(values[kept]))


def residual_sum(features: np.ndarray, y: np.ndarray) -> tuple[float, int]:
    """Return the residual sum of squares of a centred y on a constant and features, and the rank of the features."""
    ones = np.full((len(y), 1), len(y) ** -0.5)
    basis = orthonormal_rest(ones, features) if features.shape[1] else features
    along = basis.T @ y
    return float(y @ y - along @ along), basis.shape[1]


def f_test(share: float, added: int, rest: int) -> float:
    """Return the p-value of a share of variance that ``added`` coefficients explain; ``rest`` degrees remain."""
    from scipy.special import fdtrc

    if rest < 1 or share <= 0:
        return 1.0
    return float(fdtrc(added, rest, share / max(1 - share, 1e-300) * rest / added))
