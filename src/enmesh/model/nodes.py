"""The distribution of one node given its parents and its own past: a regression, or a table of states."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from enmesh.model.bases import Basis, nothing
from enmesh.options import plain

DIGITS = 8
BOUNDS = 25.0  # a spread that depends on parents stays within this factor of the usual variance


class Term(NamedTuple):
    """An input: a node at a lag; of a node of states, whether it is in ``state``."""

    node: int
    lag: int
    state: int = -1


def inputs(values: np.ndarray, at: Any, terms: Sequence[Term]) -> np.ndarray:
    """Return inputs ``(n, d)``: of samples ``(time, node)`` at rows ``at``, or of paths ``(path, time, node)``."""
    columns = []
    for node, lag, state in terms:
        column = values[at - lag, node] if values.ndim == 2 else values[:, at - lag, node]
        columns.append(column if state < 0 else np.where(np.isnan(column), np.nan, column == state))
    size = len(at) if values.ndim == 2 else len(values)
    return np.stack(columns).T if columns else np.empty((size, 0))


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A regression of a node that is measured: mean, spread and shape of the noise.

    ``beta`` are coefficients of the basis, ``root`` a root of their covariance; ``sigma`` is the usual standard
    deviation of the noise, ``gamma`` how the logarithm of the variance depends on inputs and their squares (empty
    where it does not), ``quantiles`` those of the standardised residuals: a row for each of the means ``at``, where
    their shape depends on the mean. The mean of a curve stays within ``limits``, those of the fitted data; else a path
    that leaves the data might never come back.
    """

    kind: ClassVar[str] = "regression"
    terms: tuple[Term, ...]
    basis: Basis
    beta: np.ndarray
    root: np.ndarray
    sigma: float
    gamma: np.ndarray
    quantiles: np.ndarray
    own: int
    n: int
    r2: float
    limits: tuple[float, float] = (-math.inf, math.inf)
    at: np.ndarray = field(default_factory=nothing)
    rows: np.ndarray = field(default_factory=nothing, compare=False)
    influence: np.ndarray = field(default_factory=nothing, compare=False)

    @property
    def linear(self) -> bool:
        """Whether the mean is a linear function of measured inputs."""
        return self.basis.kind == "linear" and all(term.state < 0 for term in self.terms)

    def drawn(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Return coefficients ``(count, F)`` that the data do not exclude."""
        return self.beta + rng.standard_normal((count, len(self.beta))) @ self.root.T

    def moved(self, weights: np.ndarray) -> np.ndarray:
        """Return coefficients ``(draw, F)`` if samples of the data count 1 + weights ``(draw, sample)``."""
        return self.beta + weights[:, self.rows] @ self.influence

    @property
    def best(self) -> np.ndarray:
        """The estimated coefficients ``(1, F)``."""
        return self.beta[None]

    def mean(self, x: np.ndarray, params: np.ndarray, draw: np.ndarray | int = 0) -> np.ndarray:
        """Return the mean given inputs ``(n, d)``, with coefficients number ``draw``."""
        one, features = len(params) == 1, self.basis(x)
        mean = features @ params[0] if one else np.einsum("fn,fn->n", features.T, np.take(params.T, draw, axis=1))
        return mean if self.basis.kind == "linear" else np.clip(mean, *self.limits)

    def spread(self, x: np.ndarray) -> np.ndarray:
        """Return the standard deviation of the noise given inputs."""
        if not len(self.gamma):
            return np.full(len(x), self.sigma)
        return self.sigma * np.sqrt(spread_of(spread_features(self.basis, x) @ self.gamma))

    def shock(self, ranks: np.ndarray) -> np.ndarray:
        """Return noise for `value` from ranks between 0 and 1: of unit spread, or ranks where the shape depends."""
        return ranks if len(self.at) else np.interp(ranks, places(self.quantiles), self.quantiles)

    def value(self, x: np.ndarray, params: np.ndarray, draw: np.ndarray | int, shock: np.ndarray | None) -> np.ndarray:
        """Return the next value: the mean, and noise where there is some."""
        mean = self.mean(x, params, draw)
        if shock is None:
            return mean
        return mean + self.spread(x) * (between(self.at, self.quantiles, mean, shock) if len(self.at) else shock)

    def rank(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return where values lie in their predictive distribution, between 0 and 1."""
        mean = self.mean(x, self.best)
        left = (y - mean) / self.spread(x)
        if not len(self.at):
            return np.interp(left, self.quantiles, places(self.quantiles))
        near, found = np.round(np.interp(mean, self.at, np.arange(len(self.at)))), np.empty(len(left))
        for row, quantiles in enumerate(self.quantiles):
            found[near == row] = np.interp(left[near == row], quantiles, places(quantiles))
        return found

    def log_density(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the logarithm of the normal density with the predicted mean and spread."""
        spread = self.spread(x)
        return -(((y - self.mean(x, self.best)) / spread) ** 2) / 2 - np.log(spread) - np.log(2 * np.pi) / 2

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        kept = {name: one for name, one in vars(self).items() if name not in ("rows", "influence", "basis")}
        return {"kind": self.kind, **plain(kept, DIGITS), "basis": self.basis.to_dict()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Curve":
        """Return what `to_dict` wrote."""
        size = len(data["beta"])
        arrays: dict[str, Any] = {name: np.array(data[name], float) for name in ("beta", "gamma", "quantiles")}
        arrays["at"] = np.array(data.get("at", ()), float)
        root = np.array(data["root"], float).reshape(size, size)
        numbers: dict[str, Any] = {"own": int(data["own"]), "n": int(data["n"])}
        numbers |= {name: float(data[name]) for name in ("sigma", "r2")}
        low, high = data["limits"]
        numbers["limits"] = (-math.inf, math.inf) if low is None else (float(low), float(high))
        return cls(terms=_terms(data), basis=Basis.from_dict(data["basis"]), root=root, **arrays, **numbers)


def places(quantiles: np.ndarray) -> np.ndarray:
    """Return the shares at which quantiles stand."""
    return (np.arange(len(quantiles)) + 0.5) / len(quantiles)


def between(at: np.ndarray, quantiles: np.ndarray, mean: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Return quantiles at ranks, of rows for the means ``at``: linear between neighbours of both."""
    row = np.interp(mean, at, np.arange(len(at)))
    column = np.clip(ranks * quantiles.shape[1] - 0.5, 0, quantiles.shape[1] - 1)
    i, j = np.minimum(row.astype(int), len(at) - 2), np.minimum(column.astype(int), quantiles.shape[1] - 2)
    u, v = row - i, column - j
    low, high = (quantiles[i + k, j] * (1 - v) + quantiles[i + k, j + 1] * v for k in (0, 1))
    return np.asarray(low * (1 - u) + high * u)


def spread_features(basis: Basis, x: np.ndarray) -> np.ndarray:
    """Return what a spread may depend on: standardised inputs within the range of the data, and their squares."""
    u = np.clip((x - basis.centre) / basis.scale, basis.low, basis.high)
    return np.column_stack([np.ones(len(x)), u, u**2])


def spread_of(log_variance: np.ndarray) -> np.ndarray:
    """Return variances from their logarithms, within bounds."""
    return np.exp(np.clip(log_variance, -np.log(BOUNDS), np.log(BOUNDS)))


@dataclass(frozen=True, kw_only=True)
class Table:
    """Probabilities of the states of a node in every situation of its parents and own past.

    ``counts (row, state)`` are how often each state followed each situation; ``cuts`` are the limits at which measured
    inputs are cut into classes, empty for states. A situation that was seen rarely is mixed with the overall shares.
    """

    kind: ClassVar[str] = "table"
    linear: ClassVar[bool] = False
    terms: tuple[Term, ...]
    cuts: tuple[tuple[float, ...], ...]
    sizes: tuple[int, ...]
    counts: np.ndarray
    own: int
    n: int
    r2: float
    rows: np.ndarray = field(default_factory=nothing, compare=False)
    seen: np.ndarray = field(default_factory=nothing, compare=False)

    def situations(self, x: np.ndarray) -> np.ndarray:
        """Return the number of the situation of each of the inputs ``(n, d)``."""
        row = np.zeros(len(x), np.int64)
        for column, cuts, size in zip(x.T, self.cuts, self.sizes):
            state = np.searchsorted(cuts, column, side="right") if cuts else column.astype(np.int64)
            row = row * size + state
        return row

    @property
    def prior(self) -> np.ndarray:
        """Overall shares of the states, which count as one observation of each situation."""
        total = self.counts.sum(axis=0) + 0.5
        return total / total.sum()

    @property
    def best(self) -> np.ndarray:
        """The estimated probabilities ``(1, row, state)``."""
        weights = self.counts + self.prior
        return (weights / weights.sum(axis=1, keepdims=True))[None]

    def drawn(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Return tables ``(count, row, state)`` that the data do not exclude (Dirichlet)."""
        weights = rng.standard_gamma(np.broadcast_to(self.counts + self.prior, (count, *self.counts.shape)))
        return weights / weights.sum(axis=2, keepdims=True)

    def moved(self, weights: np.ndarray) -> np.ndarray:
        """Return tables ``(draw, row, state)`` if samples of the data count 1 + weights ``(draw, sample)``."""
        size = self.counts.size
        more = np.stack([np.bincount(self.seen, one, size) for one in weights[:, self.rows]])
        counts = np.maximum(self.counts + more.reshape(-1, *self.counts.shape), 0) + self.prior
        return np.asarray(counts / counts.sum(axis=2, keepdims=True))

    def shares(self, x: np.ndarray, params: np.ndarray, draw: np.ndarray | int = 0) -> np.ndarray:
        """Return the probability of each state ``(n, state)``."""
        return params[0 if len(params) == 1 else draw, self.situations(x)]

    def shock(self, ranks: np.ndarray) -> np.ndarray:
        """Return noise for `value`: the ranks themselves."""
        return ranks

    def value(self, x: np.ndarray, params: np.ndarray, draw: np.ndarray | int, shock: np.ndarray | None) -> np.ndarray:
        """Return the next state; without noise the most probable one."""
        shares = self.shares(x, params, draw)
        if shock is None:
            return shares.argmax(axis=1).astype(float)
        return (shock[:, None] >= shares.cumsum(axis=1)[:, :-1]).sum(axis=1).astype(float)

    def log_density(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the logarithm of the probability of states."""
        return np.log(self.shares(x, self.best)[np.arange(len(y)), y.astype(np.int64)])

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; situations that were never seen are left out."""
        there = np.flatnonzero(self.counts.sum(axis=1))
        kept = {name: one for name, one in vars(self).items() if name not in ("rows", "seen")}
        data = plain(kept | {"counts": {int(row): self.counts[row].tolist() for row in there}}, DIGITS)
        return {"kind": self.kind, **data, "shape": list(self.counts.shape)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Table":
        """Return what `to_dict` wrote."""
        counts = np.zeros(tuple(map(int, data["shape"])))
        for row, seen in data["counts"].items():
            counts[int(row)] = seen
        cuts = tuple(tuple(map(float, one)) for one in data["cuts"])
        numbers: dict[str, Any] = {"own": int(data["own"]), "n": int(data["n"]), "r2": float(data["r2"])}
        return cls(terms=_terms(data), cuts=cuts, sizes=tuple(map(int, data["sizes"])), counts=counts, **numbers)


def _terms(data: dict[str, Any]) -> tuple[Term, ...]:
    return tuple(Term(*map(int, term)) for term in data["terms"])


Node = Curve | Table
KINDS: dict[str, Any] = {"regression": Curve, "table": Table}
