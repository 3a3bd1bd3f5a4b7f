"""By how much the null distribution of an analytic test is wider than that of independent samples.

Smooth or periodic series resemble one another by chance more often than independent samples do: 2 N T is then larger
under independence than its F distribution says. Circular shifts of the source show by how much, and since the test is
linear, one Fourier transform asks all of them at once. Changes of variance that source and target share widen the null
distribution too, and no shift shows it, because a shift moves them apart (White, Econometrica 48, 817, 1980).

With features of source and condition together, 2 N T is a sum of squares of which some weigh more than others, w_1 ...
w_m for m features: the eigenvalues of the products of whitened features, weighted by the target's squared residuals
(residualised on the source too, so that an effect does not count as change of variance). Its distribution is taken as
that of (sum w^2 / sum w) times chi-square with (sum w)^2 / sum w^2 degrees of freedom, which has its mean and its
variance (Satterthwaite, Biometrics Bulletin 2, 110, 1946). Weights of a sample vary by chance too, which is taken off
their squares. Where the values of shifts scatter more than that about their mean, as those of systems that stay in one
regime for long do, there are fewer degrees of freedom still.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from enmesh.embedding import Blocks, Lagged
from enmesh.estimators.least_squares import PreparedRegression
from enmesh.estimators.wilks import wilks_p
from enmesh.measures import Transfers

HELD = 4_000_000  # products of shifted columns that are held at a time
# Nodes of a large network with which the variance of a target is compared: the mean of 200, for independent ones, has a
# standard error of .006 at 1,000 samples.
COMPARED = 200
# Nodes up to which all sources of a target are asked at once; in larger networks few sources are asked about at all.
SMALL = 20
# Of curves so many shifts are asked that the scatter of their values is known to this standard error, as a share of it:
# the variance of m chi-square values about their variance is 2 + 12 / m. With 32 shifts (an error of .4 for 4 features)
# .06 of tests were at most .10, or, with what is chance taken off, 3 to 6 links were found among 100 Lorenz systems.
SCATTER_ERROR = 0.15


class ScaledNull(NamedTuple):
    """A null distribution as ``factor`` times one that has this ``share`` of the degrees of freedom."""

    factor: float = 1.0
    share: float = 1.0


class ShiftNull:
    """How much wider the null distribution of 2 N T is, for every link of a series; the factor is at least 1."""

    def __init__(self, transfers: Transfers, selected: Mapping[int, Sequence[int]] | None = None):
        self._transfers, self._selected = transfers, selected or {}
        self._lines = LineNull(transfers.blocks)
        self._found: dict[tuple[int, int], ScaledNull] = {}

    def of(self, source: int, target: int) -> ScaledNull:
        """Return that of one link; for lines those of the other sources of a small network are found along with it."""
        if (source, target) not in self._found:
            x, y, z = self._transfers.variables([source], target, self._others(source, target))
            prepared = self._transfers.prepared(y, z)
            if isinstance(prepared, PreparedRegression):
                n_given = self._transfers.dof(z, y, ()) // self._transfers.estimator.targets
                self._found[source, target] = self._of_curves(prepared, self._transfers.blocks.take(x), n_given)
            else:
                self._found |= {(j, target): ScaledNull(f) for j, f in self._factors(source, target).items()}
        return self._found[source, target]

    def _others(self, source: int, target: int) -> list[int]:
        return [j for j in self._selected.get(target, ()) if j != source]

    def _of_curves(self, prepared: PreparedRegression, x: np.ndarray, n_given: int) -> ScaledNull:
        blocks, (weights, chance) = self._transfers.blocks, prepared.variance_weights(x)
        features, q = len(weights), prepared.targets
        rest, dof = blocks.n - 1 - n_given - features, features * q
        mean = float(beyond_chance(weights.mean(), np.sqrt(chance) / features))
        share = min(1.0, weights.sum() ** 2 / features / max(1e-300, (weights**2).sum() - chance))
        shifts = spread_shifts(blocks.starts, blocks.span, round((2 + 12 / dof) / SCATTER_ERROR**2))
        if len(shifts) > 1 and rest >= q:
            values = prepared.over_shifts(x, blocks.starts, shifts)
            over = values.mean() / sum(_mean_of_f(features, rest - k) for k in range(q))
            mean *= float(beyond_chance(over, np.sqrt(2 / dof / len(shifts))))
            scatter = dof * values.var(ddof=1) / (2 * values.mean() ** 2)
            share = max(1 / dof, share / float(beyond_chance(scatter, np.sqrt((2 + 12 / dof) / len(shifts)))))
        return ScaledNull(max(1.0, mean / share), share)

    def _factors(self, source: int, target: int) -> dict[int, float]:
        """Return the factor of a source; in small networks with those of all sources that are asked given the same."""
        blocks, given = self._transfers.blocks, self._others(source, target)
        everyone = blocks.n_nodes <= SMALL and len(given) == len(self._selected.get(target, ()))
        sources = [j for j in range(blocks.n_nodes) if j not in (target, *given)] if everyone else [source]
        _, y, z = self._transfers.variables([], target, given)
        residuals = Residuals(blocks.take([y])[:, 0], blocks.take(z))
        widths = {j: len(blocks.lags(j, target)) for j in sources}
        found: dict[int, float] = {}
        for width, group in groupby(sorted(widths, key=lambda j: (widths[j], j)), key=lambda j: widths[j]):
            alike, most = list(group), max(1, HELD // (width * blocks.n * residuals.fixed.shape[1]))
            for portion in (alike[first : first + most] for first in range(0, len(alike), most)):
                columns = [blocks.take(blocks.past([j], target)) for j in portion]
                x = np.stack(columns, axis=1)  # (n, source, lag)
                found |= zip(portion, map(float, self._lines.factors(target, residuals, x)))
        return found


class LineNull:
    """How much wider the null distribution of 2 N T is for linear regressions, by residuals of a target."""

    def __init__(self, blocks: Blocks):
        self._blocks = blocks

    def factors(self, target: int, residuals: "Residuals", x: np.ndarray) -> np.ndarray:
        """Return the factors of k sources with d lags, ``x (n, k, d)``: of shifts, times that of changes of variance.

        The latter is taken as it is where the target's variance goes with those of the nodes on the whole; elsewhere
        as far as it is beyond chance. Without the first, nodes with common changes of variance had 14 false links per
        1,000 pairs (200 samples, 100 seeds) in place of 10.
        """
        smooth = residuals.mean_over_shifts(x, self._blocks.starts, self._blocks.span)
        uneven = residuals.variance_inflation(x)
        if not self._covaries(target, residuals.left):
            uneven = beyond_chance(uneven, np.sqrt(8 / self._blocks.n))
        return np.maximum(1.0, smooth) * np.maximum(1.0, uneven)

    def p_value(self, target: int, variable: Lagged, given: Sequence[Lagged]) -> float:
        """Test one lagged variable given others."""
        y, x, z = map(self._blocks.take, ([Lagged(target, 0)], [variable], given))
        residuals = Residuals(y[:, 0], z)
        (factor,) = self.factors(target, residuals, x[:, None])
        n, residual = len(y), x[:, 0] - residuals.basis @ (residuals.basis.T @ x[:, 0])
        size = float(residual @ residual) * float(residuals.left @ residuals.left)
        share = float(residual @ residuals.left) ** 2 / max(size, 1e-300)
        rest = max(2, n - residuals.basis.shape[1])
        return float(wilks_p(-np.log1p(-min(share, 1 - 1e-12)), 1, 1, rest, factor))

    def _covaries(self, target: int, left: np.ndarray) -> bool:
        """Whether the squared residuals vary with those of the nodes one sample before, on average over them."""
        size, others = left**2 / max(float((left**2).mean()), 1e-300), self._squares[self._compared != target]
        along = others @ size / len(size)
        return bool(along.mean() > 1 + 2 * np.sqrt(8 / len(size) / len(along)))

    @cached_property
    def _compared(self) -> np.ndarray:
        """Nodes whose squares are compared: all, or `COMPARED` of a large network."""
        nodes = self._blocks.n_nodes
        return np.linspace(0, nodes - 1, min(nodes, COMPARED)).astype(int)

    @cached_property
    def _squares(self) -> np.ndarray:
        """Squares of those nodes one sample before, over their means, ``(node, n)``."""
        columns = self._blocks.values[self._compared][:, self._blocks.rows - 1]
        squares = (columns - columns.mean(axis=1, keepdims=True)) ** 2
        return squares / np.maximum(squares.mean(axis=1, keepdims=True), 1e-300)


def _mean_of_f(dof: int, rest: int) -> float:
    """Return the mean of T of independent normal samples: exp(-2 T) is beta distributed."""
    from scipy.special import digamma

    return float(digamma((rest + dof) / 2) - digamma(rest / 2)) / 2


def beyond_chance(factor: Any, error: Any) -> np.ndarray:
    """Return a factor where it is over 1 by two standard errors of what it is for independent samples.

    Less than that is chance, and a standard error is taken off, but for 1.

    The inflation by common changes of variance is a mean of n products of two squares (variance 8). What is within
    chance would widen every null distribution: links of networks of Novelli et al. (2019), 10 nodes, 1,000 samples,
    were found in .74 instead of .79 of cases. The mean over all shifts of a line stays as it is, where it is over 1: it
    is the variance of the product of two series whose periodograms are given. Under 1 it is where shifts move common
    changes of variance apart.
    """
    return np.where(factor > 1 + 2 * error, factor, np.maximum(1.0, factor - error))


def spread_shifts(starts: np.ndarray, span: int, most: int | None = None) -> np.ndarray:
    """Return shifts of trials around their own ends: all, or up to ``most``, evenly spread.

    They are beyond ``span`` of none, and beyond a 32nd of the shortest trial: nearer ones may show the link itself.
    Of rings of Lorenz (1996), F = 40, 1,000 samples, shifts right beyond the lags made the null of a link 60 times
    as wide.
    """
    shortest = int(np.diff(starts).min())
    margin = max(span, shortest // 32)
    shifts = np.arange(margin, shortest - margin + 1)
    return shifts[np.linspace(0, len(shifts) - 1, min(most or len(shifts), len(shifts))).astype(int)]


class Residuals:
    """A target residualised on what is conditioned on, ``y (n,)`` given ``z (n, d)``."""

    def __init__(self, y: np.ndarray, z: np.ndarray):
        self.basis = np.linalg.qr(np.column_stack([np.ones(len(y)), z]))[0]
        self.left = y - self.basis @ (self.basis.T @ y)
        self.fixed = np.column_stack([self.left / np.linalg.norm(self.left), self.basis])

    def mean_over_shifts(self, x: np.ndarray, starts: np.ndarray, span: int) -> np.ndarray:
        """Return the mean of 2 N I(x ; y | z) over circular shifts of x, in units of its degrees of freedom.

        ``x (n, k, d)`` are k sources with d lags. For each shift s the explained share of y is
        y' X_s (X_s' X_s)^-1 X_s' y / y'y with y and X_s residualised on z. All products with shifted columns come from
        one Fourier transform. Trials are shifted alike, each around its own end; shifts within ``span`` of none are
        left out. 1 for independent samples, more for smooth or periodic ones.
        """
        n, k, d = x.shape
        scaled = (x - x.mean(0)) / np.maximum(x.std(0), 1e-300)
        shifts = spread_shifts(starts, span)
        if len(shifts) < 1:
            return np.ones(k)
        products = shifted_products(scaled.reshape(n, -1).T, self.fixed.T, starts, shifts)
        products = products.reshape(len(shifts), k, d, -1)
        with_y, with_z = products[..., 0], products[..., 1:]
        inner = np.einsum("nki,nkj->kij", scaled, scaled) - with_z @ np.swapaxes(with_z, 2, 3)
        inner += 1e-9 * n * np.eye(d)
        share = (with_y * np.linalg.solve(inner, with_y[..., None])[..., 0]).sum(axis=2)
        return -n * np.log1p(-np.clip(share, 0, 1 - 1e-12)).mean(axis=0) / d

    def variance_inflation(self, x: np.ndarray) -> np.ndarray:
        """Return by how much changes of variance that x and y share widen the null distribution.

        The mean over the d lags of ``x (n, k, d)`` of < x^2 e^2 > / (< x^2 > < e^2 >), with x and e residualised on z;
        1 if their variances do not go together. An effect of x that explains a share r of e adds 2 r for normal x. It
        stays: taken off, nodes with common changes of variance had 18 false links per 1,000 pairs (200 samples) in
        place of 12, and no more true ones were found anywhere.
        """
        n, k, d = x.shape
        columns = x.reshape(n, -1)
        square, e = (columns - self.basis @ (self.basis.T @ columns)) ** 2, self.left**2
        size = np.maximum(square.mean(axis=0), 1e-300) * e.mean()
        return (e @ square / n / size).reshape(k, d).mean(axis=1)


def shifted_products(moving: np.ndarray, still: np.ndarray, starts: np.ndarray, shifts: np.ndarray) -> np.ndarray:
    """Return the products of each of ``moving (a, n)``, shifted around the end of each trial, with ``still (b, n)``.

    By Fourier transforms, ``(shifts, a, b)``: all shifts at once. Lengths with large prime factors take long to
    transform; there the moving rows are laid out twice, and both padded to a length that does not.
    """
    from scipy.fft import next_fast_len

    found = np.zeros((len(shifts), len(moving), len(still)))
    for start, stop in zip(map(int, starts[:-1]), map(int, starts[1:])):
        n, rows = stop - start, moving[:, start:stop]
        slow = next_fast_len(n, real=True) > n
        size = next_fast_len(2 * n, real=True) if slow else n
        along = np.fft.rfft(np.concatenate([rows, rows], axis=1) if slow else rows, size)
        most = max(1, HELD // max(1, len(moving) * size))
        for first in range(0, len(still), most):
            some = slice(first, first + most)
            across = np.fft.rfft(still[some, start:stop], size).conj()
            products = np.fft.irfft(along[:, None] * across, size)[..., shifts]
            found[..., some] += np.moveaxis(products, 2, 0)
    return found
