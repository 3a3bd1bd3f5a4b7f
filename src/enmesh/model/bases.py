"""Bases of a regression: from straight lines to splines of lagged values, each with the lines in it."""

from dataclasses import dataclass, field
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np

from enmesh.options import plain

KINDS = ("linear", "quadratic", "cubic", "spline", "fine spline")
KNOTS = {"spline": 6, "fine spline": 12}  # the fine spline has more where there are many samples: their cube root
MOST_FOR_PRODUCTS, MOST_FOR_TRIPLES = 12, 8  # inputs; with more of them only powers of each are taken
MARGIN, STEP = (0.15, 0.02)  # of the range of the data: how far curves go on beyond it; where their slope is taken
DEPENDENT = 1e-7  # share of a feature that the features before it leave; below, the feature is dropped


def nothing() -> np.ndarray:
    """Return no numbers."""
    return np.empty(0)


@dataclass(frozen=True, kw_only=True)
class Basis:
    """Features of inputs ``(n, d)``: a constant, the standardised inputs, and what the kind adds.

    Beyond the range of the data every kind goes on in a straight line for a part of the range (`MARGIN`), and is flat
    from there, so that no polynomial runs away; the linear kind has no limits. ``kept`` are the positions of features
    that do not follow from those before them.
    """

    kind: str
    centre: np.ndarray
    scale: np.ndarray
    low: np.ndarray
    high: np.ndarray
    knots: np.ndarray = field(default_factory=nothing)
    kept: tuple[int, ...] = ()

    @classmethod
    def of(cls, kind: str, x: np.ndarray) -> "Basis":
        """Return a basis for inputs ``(n, d)`` with their mean, scale and range."""
        d = x.shape[1]
        spread = x.std(axis=0) if d else np.empty(0)
        centre, scale = x.mean(axis=0), np.where(spread > 0, spread, 1.0)
        u = (x - centre) / scale
        low, high = (u.min(axis=0), u.max(axis=0)) if d else (np.empty(0), np.empty(0))
        knots = nothing()
        if kind in KNOTS and d:
            count = max(KNOTS[kind], int(len(x) ** (1 / 3))) if kind == "fine spline" else KNOTS[kind]
            knots = np.quantile(u, np.linspace(0.02, 0.98, count), axis=0).T
        return cls(kind=kind, centre=centre, scale=scale, low=low, high=high, knots=knots)

    def beyond(self, x: np.ndarray) -> np.ndarray:
        """Return which inputs ``(n, d)`` lie so far outside the data that the basis is flat there."""
        u, far = (x - self.centre) / self.scale, MARGIN * (self.high - self.low)
        return np.zeros(u.shape, bool) if self.kind == "linear" else (u < self.low - far) | (u > self.high + far)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return the features ``(n, F)``."""
        u = (x - self.centre) / self.scale
        if self.kind == "linear" or not u.size:
            return self._chosen(u)
        inside = np.clip(u, self.low, self.high)
        features = self._chosen(inside)
        outside = np.flatnonzero((u != inside).any(axis=1))
        if len(outside):
            far = MARGIN * (self.high - self.low)
            edge, part = inside[outside], np.clip(u[outside], self.low - far, self.high + far)
            back = self._chosen(edge - STEP * (part - edge))
            features[outside] += (features[outside] - back) / STEP
        return features

    def _chosen(self, u: np.ndarray) -> np.ndarray:
        columns = self._columns(u)
        return np.stack([columns[i] for i in self.kept] if self.kept else columns).T

    def _columns(self, u: np.ndarray) -> list[np.ndarray]:
        d = u.shape[1]
        columns = [np.ones(len(u)), *u.T]
        if self.kind == "linear" or not d:
            return columns
        if self.kind in KNOTS:
            columns += [part for i in range(d) for part in _spline(u[:, i], self.knots[i])]
            pairs: Any = combinations(range(d), 2)
        else:
            columns += list((u**2).T) if d > MOST_FOR_PRODUCTS else []
            pairs = combinations_with_replacement(range(d), 2)
        columns += [u[:, i] * u[:, j] for i, j in pairs] if d <= MOST_FOR_PRODUCTS else []
        if self.kind == "cubic" and d <= MOST_FOR_TRIPLES:
            triples = combinations_with_replacement(range(d), 3)
            columns += [u[:, i] * u[:, j] * u[:, k] for i, j, k in triples]
        elif self.kind == "cubic":
            columns += list((u**3).T)
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return plain(vars(self), 10)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Basis":
        """Return what `to_dict` wrote."""
        arrays = {name: np.array(data[name], float) for name in ("centre", "scale", "low", "high", "knots")}
        return cls(kind=str(data["kind"]), kept=tuple(map(int, data["kept"])), **arrays)


def _spline(u: np.ndarray, knots: np.ndarray) -> list[np.ndarray]:
    """Return the nonlinear features of a natural cubic spline; none moves where knots coincide (few values)."""
    if (np.diff(knots) <= 1e-9).any():
        return [np.zeros(len(u))] * (len(knots) - 2)
    last, width = knots[-1], (knots[-1] - knots[0]) ** 2
    above = [np.maximum(u - knot, 0) for knot in knots]
    cubes = [one * one * one for one in above]
    bends = [(cube - cubes[-1]) / ((last - knot) * width) for cube, knot in zip(cubes, knots[:-1])]
    return [bend - bends[-1] for bend in bends[:-1]]


@dataclass(frozen=True)
class LeastSquares:
    """A weighted regression of y on features: coefficients, residuals, leverages, and those features that count."""

    kept: np.ndarray
    beta: np.ndarray
    residuals: np.ndarray
    leverage: np.ndarray
    q: np.ndarray
    inverse: np.ndarray

    @classmethod
    def of(cls, features: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> "LeastSquares":
        """Fit; features that follow from those before them are dropped."""
        root = np.ones(len(y)) if weights is None else np.sqrt(weights)
        weighted = features * root[:, None]
        size = np.linalg.norm(weighted, axis=0)
        diagonal = np.abs(np.diag(np.linalg.qr(weighted / np.where(size > 0, size, 1), mode="r")))
        kept = np.flatnonzero(np.r_[diagonal, np.zeros(len(size) - len(diagonal))] > DEPENDENT)
        q, r = np.linalg.qr(weighted[:, kept])
        inverse = np.linalg.inv(r)
        beta = inverse @ (q.T @ (y * root))
        residuals = y - features[:, kept] @ beta
        return cls(kept, beta, residuals, np.minimum((q**2).sum(axis=1), 0.999), q, inverse)

    @property
    def left_out(self) -> np.ndarray:
        """Residuals of each sample by the fit to all others."""
        return self.residuals / (1 - self.leverage)

    def influence(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Return by how much each sample moves the coefficients ``(n, F)``.

        Its square is a covariance that holds for any spread of the residuals (HC3).
        """
        root = 1.0 if weights is None else np.sqrt(weights)
        return np.asarray((self.q * (self.left_out * root)[:, None]) @ self.inverse.T)
