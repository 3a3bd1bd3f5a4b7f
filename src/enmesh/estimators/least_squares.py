"""Least squares of a target on features of a condition, to which features of sources are added.

The target is residualised on the condition once; each source, surrogate or circular shift then costs matrix products.
A ridge of `SHRINK` N on every coefficient keeps constant, doubled and two-valued columns harmless.
"""

from typing import Any

import numpy as np

from enmesh.errors import InputError, hazard
from enmesh.estimators.base import Prepared
from enmesh.estimators.features import Features
from enmesh.estimators.gaussian import require_samples

SHRINK = 1e-9  # ridge on every coefficient, as a share of a feature's sum of squares
HELD = 1_000_000  # values of features that are held at a time
SCARCE = 2  # samples for each feature below which values are mostly chance


class PreparedRegression(Prepared):
    """The target residualised on the features of z, by one QR decomposition.

    The ridge is rows of the regression: below the n samples of each feature stands the root of SHRINK n in a row of its
    own, and 0 in that row for the target. Least squares of the longer columns is the penalised fit.
    """

    def __init__(self, features: Features, y: np.ndarray, z: np.ndarray, targets: int = 1):
        super().__init__(y, z)
        self._features, self._xp = features, (xp := features.xp)
        require_samples(len(y), y.shape[1] + z.shape[1], "regression")
        n, self._z = len(y), xp.asarray(z.T)
        count = features.count(z.shape[1])
        rows = xp.empty((n + count, count))
        rows[:n], rows[n:] = features.of(self._z).T, (SHRINK * n) ** 0.5 * xp.eye(count)
        basis = xp.ascontiguousarray(xp.linalg.qr(rows)[0].T)
        responses = features.responses(xp.asarray(y.T), targets)
        target = xp.zeros((len(responses), n + count))
        target[:, :n] = responses
        for _ in range(2):  # the first time leaves rounding errors
            target -= (target @ basis.T) @ basis
        left = target @ target.T
        if not len(left) or not float(xp.linalg.eigvalsh(left)[0]) > SHRINK**2 * n:
            told = "the target is constant, or one of its columns is a function of others"
            raise InputError(f"{told}; leave it out")
        self._basis, self._hidden = basis[:, :n], basis[:, n:] @ basis[:, n:].T
        self._target = xp.linalg.solve(xp.linalg.cholesky(left), target[:, :n])  # whitened, but for the ridge

    def _residualised(self, x: Any) -> tuple[Any, Any, Any]:
        """Return features of ``x (b, d, n)`` residualised on those of z, their products, and those with the target."""
        new = self._features.added(x, self._z)
        (b, m, n), rows = new.shape, new.reshape(-1, x.shape[2])
        along, cross = rows @ self._basis.T, (rows @ self._target.T).reshape(b, m, -1)
        rows -= along @ self._basis
        along = along.reshape(b, m, -1)
        inner = new @ new.swapaxes(1, 2) + along @ self._hidden @ along.swapaxes(1, 2)
        inner += SHRINK * n * self._xp.eye(m)
        return new, inner, cross

    @property
    def targets(self) -> int:
        """Functions of the target that are explained."""
        return len(self._target)

    def variance_weights(self, x: np.ndarray) -> tuple[np.ndarray, float]:
        """Return how the squared residuals of the whole regression weigh directions of what ``x (n, d)`` adds.

        All 1 where its variance does not go with theirs; their sum is the mean of 2 N I under independence. And what
        chance adds to the sum of their squares: the variance of squared residuals times the sum of squared leverages.
        """
        xp = self._xp
        new, inner, _ = self._residualised(xp.ascontiguousarray(xp.asarray(x.T, dtype=np.float64))[None])
        white = xp.linalg.solve(xp.linalg.cholesky(inner[0]), new[0])
        rest = self._target - (self._target @ white.T) @ white
        leverage = (white**2).sum(axis=0)
        surprise = (rest**2).mean(axis=0) / xp.maximum(1 - leverage, 1 / len(leverage))
        surprise /= surprise.mean()
        weights = xp.linalg.eigvalsh((white * surprise) @ white.T)
        chance = float(surprise.var() * (leverage**2).sum())
        return weights if xp is np else weights.get(), chance

    def over_shifts(self, x: np.ndarray, starts: np.ndarray, shifts: np.ndarray) -> np.ndarray:
        """Return I(x ; y | z) for circular shifts of ``x (n, d)`` within each trial, ``(shifts,)``.

        Features of x move with it, and those of x with z are products of what moves and what stays. So all that least
        squares asks for are products of columns that move with columns that stay: features of pairs are never made.
        """
        xp, n = self._xp, len(x)
        moving = xp.ascontiguousarray(xp.asarray(x.T, dtype=np.float64))
        own, v, w = self._features.of(moving), *map(self._features.factors, (moving, self._z))
        still = xp.concatenate([xp.full((1, n), n**-0.5), self._basis, self._target])
        m, d, e, q, s = len(own), len(v), len(w), len(still), len(shifts)

        def sums(moving: Any, still: Any) -> Any:
            return products_at_shifts(moving.reshape(-1, n), still.reshape(-1, n), starts, shifts, xp)

        along = xp.concatenate([sums(own, still), sums(v, w[:, None] * still).reshape(s, d * e, q)], axis=1)
        whole = xp.empty((s, m + d * e, m + d * e))
        whole[:, :m, :m] = own @ own.T
        whole[:, :m, m:] = sums(own[:, None] * v, w).reshape(s, m, d * e)
        whole[:, m:, :m] = whole[:, :m, m:].swapaxes(1, 2)
        pairs = sums(v[:, None] * v, w[:, None] * w).reshape(s, d, d, e, e)
        whole[:, m:, m:] = pairs.transpose(0, 1, 3, 2, 4).reshape(s, d * e, d * e)
        known, target = along[..., : -len(self._target)], along[..., -len(self._target) :]
        whole -= known @ known.swapaxes(1, 2)
        whole += SHRINK * n * xp.eye(m + d * e)
        return self._host([self._value(self._explained(whole, target)[1])])

    def _batches(self, x: np.ndarray) -> Any:
        """Yield parts of ``x (b, n, d)`` as ``(b', d, n)`` whose features fit into a cache."""
        b, n, d = x.shape
        known = len(self._z)
        require_samples(n, self.y.shape[1] + known + d, "regression")
        count = self._features.count(known + d)
        if n < SCARCE * count:
            told = f"{count} features for {n} samples: values are mostly chance"
            hazard(f"{told}; use fewer lags or parents, or features='linear'")
        most = max(1, HELD // (n * (count - self._features.count(known))))
        for first in range(0, b, most):
            part = self._xp.asarray(x[first : first + most], dtype=np.float64)
            yield self._xp.ascontiguousarray(part.swapaxes(1, 2))

    def _explained(self, inner: Any, cross: Any) -> tuple[Any, Any]:
        """Return coefficients of the target on new features, and what they leave of it ``(b, d_y, d_y)``."""
        weights = self._xp.linalg.solve(inner, cross)
        return weights, self._xp.eye(cross.shape[2]) - cross.swapaxes(1, 2) @ weights

    def _host(self, parts: list[Any]) -> np.ndarray:
        values = self._xp.concatenate(parts)
        return values if self._xp is np else values.get()

    def _value(self, left: Any) -> Any:
        one = left.shape[1] == 1
        return -(self._xp.log(left[:, 0, 0]) if one else self._xp.linalg.slogdet(left)[1]) / 2

    def _cmi(self, x: np.ndarray) -> np.ndarray:
        parts = (self._residualised(part)[1:] for part in self._batches(x))
        return self._host([self._value(self._explained(*part)[1]) for part in parts])

    def _local(self, x: np.ndarray) -> np.ndarray:
        """Log-likelihood ratio of the two fits, sample by sample; what the ridge takes is the same for all samples."""
        xp, found, target = self._xp, [], self._target
        for part in self._batches(x):
            new, inner, cross = self._residualised(part)
            weights, left = self._explained(inner, cross)
            rest = target - weights.swapaxes(1, 2) @ new
            surprise = (target**2).sum(axis=0) - (rest * xp.linalg.solve(left, rest)).sum(axis=1)
            surprise -= surprise.mean(axis=1, keepdims=True)
            found.append(self._value(left)[:, None] + part.shape[2] / 2 * surprise)
        return self._host(found)


def products_at_shifts(moving: Any, still: Any, starts: np.ndarray, shifts: np.ndarray, xp: Any = np) -> Any:
    """Return the products of each of ``moving (a, n)``, shifted around the end of each trial, with ``still (b, n)``.

    ``(shifts, a, b)``. Of some hundred shifts matrix products are quicker than Fourier transforms, up to 4 times.
    """
    found = xp.zeros((len(shifts), len(moving), len(still)))
    most = max(1, HELD // max(1, moving.size))
    for start, stop in zip(map(int, starts[:-1]), map(int, starts[1:])):
        n, twice = stop - start, xp.concatenate([moving[:, start:stop]] * 2, axis=1)
        for first in range(0, len(shifts), most):
            part = found[first : first + most]
            rows = xp.stack([twice[:, s : s + n] for s in shifts[first : first + most].tolist()])
            part += (rows.reshape(-1, n) @ still[:, start:stop].T).reshape(part.shape)
    return found
