"""Functions of variables and of pairs of variables, on which regressions stand.

A feature belongs to one variable or to a pair of them, never to a set. So the features of a set are among those of
every larger set, whoever is source or condition.
"""

from functools import cache
from typing import Any

import numpy as np

CONSTANT = 1e-10  # a feature that varies less than this share of its mean is constant but for rounding
# Of Fourier features, per standard deviation. Slower ones are lines, faster ones noise, to a few hundred samples.
FREQUENCIES = (1.0, 2.0)
# Kinds of features: how many a variable has, and how many a pair of them.
KINDS = {"linear": (1, 0), "quadratic": (2, 1), "fourier": (1 + 2 * len(FREQUENCIES), 4), "basis": (4, 1)}
REPEATED = 1e-6  # smallest share of a response that those before it do not explain; below it adds nothing


class Features:
    """Features of variables and of pairs of them, each centred and of unit variance.

    ``"linear"``: v. ``"quadratic"``: v, v^2, and the product of each pair: all monomials up to degree two.
    ``"fourier"``: v, cos(w v), sin(w v), and of each pair a, b the same of a + b and a - b at the lowest frequency.
    ``"basis"``: v, v^2, cos(3 pi u), cos(4 pi u) with u the share of a normal variable below v, and the product of each
    pair. Random Fourier features draw their frequencies for a whole set of variables and are not nested; here they are
    fixed for every variable and pair. All are the same, but for order and sign, whichever variable comes first.

    Arrays have samples last: ``(..., variables, n)``.

    >>> Features("quadratic").count(3)
    9
    """

    def __init__(self, kind: str, xp: Any = np):
        self.kind, self.xp = kind, xp
        self.of_one, self.of_pair = KINDS[kind]

    def count(self, d: int) -> int:
        """Return the number of features of ``d`` variables."""
        return d * self.of_one + d * (d - 1) // 2 * self.of_pair

    def of(self, z: Any) -> Any:
        """Return the features of ``z (d, n)``, ``(count(d), n)``."""
        return self.added(z[None], z[:0])[0]

    def added(self, x: Any, z: Any) -> Any:
        """Return the features that each ``x (b, d, n)`` adds to those of ``z (d_z, n)``, ``(b, number, n)``.

        Singles of x come first, variable by variable; then pairs within x; then pairs of x with z.
        """
        (b, d, n), known = x.shape, len(z)
        x, z = self.standard(x), self.standard(z)
        out = self.xp.empty((b, self.count(d + known) - self.count(known), n))
        singles, pairs = self.xp.split(out, [d * self.of_one], axis=1)
        self._fill_singles(singles.reshape(b, d, self.of_one, n), x)
        if self.of_pair:
            first, second = map(self.xp.asarray, pairs_of(d))
            inside, across = self.xp.split(pairs, [len(first) * self.of_pair], axis=1)
            self._fill_pairs(inside.reshape(b, -1, self.of_pair, n), x[:, first], x[:, second])
            self._fill_pairs(across.reshape(b, d, known, self.of_pair, n), x[:, :, None], z)
        return self._standardised(out, 1.0)

    def responses(self, y: Any, count: int) -> Any:
        """Return ``count`` functions of each of ``y (d, n)``, orthogonal; those that repeat others are left out."""
        y = self.standard(y)
        if count == 1:
            return y
        rows = self.xp.concatenate([y, *(_wave(y, k) for k in range(2, count + 1))])
        rows = self._standardised(rows, 1.0)
        basis, root = self.xp.linalg.qr(rows.T)
        size = self.xp.abs(self.xp.diag(root))
        return basis.T[size > REPEATED * size.max()] * rows.shape[1] ** 0.5

    def factors(self, v: Any) -> Any:
        """Return functions of each of ``v (d, n)``, ``(number, n)``, whose products span the features of pairs."""
        v = self.standard(v)
        if self.kind != "fourier":
            return v
        return self.xp.concatenate([self.xp.cos(min(FREQUENCIES) * v), self.xp.sin(min(FREQUENCIES) * v)])

    def standard(self, values: Any) -> Any:
        """Return rows with mean 0 and variance 1; those that do not vary become 0."""
        return self._standardised(values + 0.0, 0.0)

    def _standardised(self, rows: Any, size: float) -> Any:
        """Standardise in place; what varies less than rounding errors of its mean, or of ``size``, becomes 0."""
        mean = rows.mean(axis=-1, keepdims=True)
        rows -= mean
        spread = self.xp.sqrt(self.xp.einsum("...n,...n->...", rows, rows)[..., None] / rows.shape[-1])
        lost = spread <= CONSTANT * self.xp.maximum(self.xp.abs(mean), size)
        rows *= self.xp.where(lost, 0, 1 / self.xp.where(lost, 1, spread))
        return rows

    def _fill_singles(self, out: Any, v: Any) -> None:
        out[..., 0, :] = v
        if self.kind in ("quadratic", "basis"):
            out[..., 1, :] = v * v
        if self.kind == "basis":
            for k in range(3, self.of_one + 1):
                out[..., k - 1, :] = _wave(v, k)
        elif self.kind == "fourier":
            for i, frequency in enumerate(FREQUENCIES):
                out[..., 1 + 2 * i, :] = self.xp.cos(frequency * v)
                out[..., 2 + 2 * i, :] = self.xp.sin(frequency * v)

    def _fill_pairs(self, out: Any, a: Any, b: Any) -> None:
        if self.kind != "fourier":
            out[..., 0, :] = a * b
            return
        for i, both in enumerate((a + b, a - b)):
            out[..., 2 * i, :] = self.xp.cos(min(FREQUENCIES) * both)
            out[..., 2 * i + 1, :] = self.xp.sin(min(FREQUENCIES) * both)


def _wave(v: Any, k: int) -> Any:
    """Return the cosine of k half periods over the ranks of a standard normal variable."""
    from scipy.special import ndtr

    return np.cos(k * np.pi * ndtr(v))


@cache
def pairs_of(d: int) -> tuple[np.ndarray, ...]:
    """Return first and second of every pair of ``d`` variables."""
    return np.triu_indices(d, 1)
