"""What is known of a target before a source is asked about: a regression on its own past and on other sources.

The regression takes the best of three nested bases: a line; squares and products; further functions of every variable
and further products. It takes values as they are, or normal scores. The leave-one-out error of the target decides
(Allen 1974). The basis is made larger if the spread of the residual needs that. Where it pays (AIC), the residual is
divided by its spread, as the common volatility of the nodes predicts it.

What is left of the target is not one number for each sample but several functions of it, the responses: location,
spread and shape. One more response is of the spread alone: a power of the size of the residual, divided by the spread
that known variables predict, where that pays (AIC). A source that moves the variance of the target moves it. Where that
pays, and the volatility does not, the regression of the location is weighted too: target, known variables and sources
are divided by the spread (Harvey 1976). Samples that say much about the target then count more.

What is known is not known exactly. A part of what it explains remains, and a source that depends on it explains that
part without a link. The null hypothesis is therefore not that a source explains nothing, but that it explains no more
than a margin (Hodges and Lehmann 1954).
"""

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple, cast

import numpy as np

from enmesh.embedding.lagged import Lagged
from enmesh.links.functions import SLIGHT, orthonormal, rank_functions, spread_function, whitened
from enmesh.links.samples import LEAST, Samples

SHARE = 0.25  # of the samples that a basis may have functions, so that residuals are left (a convention)
LARGEST = 160  # functions of a basis at most, so that a run ends (a convention)
PARTNERS = 8  # sources at most whose products with a further one are features (a convention)
SIMPLER = 0.99  # times the error of a smaller basis, or shorter own past, below which a larger one is taken
KEPT = 200_000  # samples of regressions that are kept: 256 MB if all are of the largest basis
# Share of what the known sources explain that another source may explain in their place. Values are measured with
# noise, sampled at intervals, and enter by a basis of finite size. (Rings of Lorenz and phase oscillators, seeds 370 to
# 375: F1 .931, .934, .937 with .003, .005 and .01; with .01 rings of 250 samples lose more links.)
IMPRECISION = 0.005
LEVERAGE = 0.05  # the least share of a sample that its own value does not decide


@lru_cache(64)
def _pairs(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and the second of every pair of so many variables."""
    one, other = np.triu_indices(count, 1)
    return one, other


class View(NamedTuple):
    """A regression on what is known: an orthonormal ``basis (k, n)``, and ``responses (q, n)`` orthogonal to it."""

    basis: np.ndarray
    responses: np.ndarray


class Known:
    """A target given lagged variables: an orthonormal ``basis (k, n)``, and ``responses (q, n)`` orthogonal to it.

    ``clock`` says which functions of time are known too (`Samples.of_time`), and whether coefficients change with time
    (`CHANGING`). ``bases`` says how many are compared.
    """

    def __init__(self, samples: Samples, target: int, variables: Sequence[Lagged], clock: int, bases: int = 3):
        self.samples, self.target, self.variables, self.clock = samples, target, tuple(variables), clock
        self.rows = samples.complete([Lagged(target, 0), *self.variables])
        self.n, self._most = len(self.rows), bases
        self.error, self._all, self._residual, self.ranked, self.place, self._ends = min(
            (self._regressed(ranked) for ranked in (False, True)), key=lambda found: found[0]
        )
        self._responses: np.ndarray | None = None
        self._inverse: np.ndarray | None = None  # 1 / spread, if the regression of the location is weighted
        self.evening: dict[int, np.ndarray] = {}  # of each view, what makes products alike by chance, when asked for
        self.told: np.ndarray | None = None  # what lagged variables say roughly, when that was asked (`promising`)
        self.dependent: list[Lagged] | None = None  # present values that depend on what is left, when they were asked

    @classmethod
    def of(cls, samples: Samples, target: int, variables: Sequence[Lagged], clock: int, bases: int = 3) -> "Known":
        """Return the regression, kept as long as questions are about the same target."""
        made, key = samples.regressions, (target, tuple(variables), clock, bases)
        if key not in made:
            if made and (next(iter(made))[0] != target or len(made) * len(samples.rows) > KEPT):
                made.clear()
            made[key] = cls(samples, target, variables, clock, bases)
        return cast(Known, made[key])

    @cached_property
    def margin(self) -> float:
        """What a source may explain without a link, in units of the residual variance: see `IMPRECISION`."""
        own = [v for v in self.variables if v.node == self.target]
        if len(own) == len(self.variables):
            return 0.0
        alone = Known.of(self.samples, self.target, own, self.clock, self._most).error
        return IMPRECISION * min(max(alone / max(self.error, 1e-300) - 1, 0.0), 1e12)

    @property
    def linear(self) -> bool:
        """Whether a line is the best basis."""
        return self.place == 0

    def _regressed(self, ranked: bool) -> tuple[float, np.ndarray, np.ndarray, bool, int, list[int]]:
        """Return error, basis, residual, scale, and place and ends of the nested bases, of the best one of a scale."""
        samples = self.samples
        y = samples.take(samples.scale(ranked), [Lagged(self.target, 0)], self.rows)[0]
        y = y - y.mean()
        size = max(float(y @ y) / self.n, 1e-300)
        parts, ends = self._bases(ranked)
        basis = orthonormal(np.concatenate(parts))
        found, errors = self._left_out(basis, ends, y)
        best = 0
        for place, error in enumerate(errors):
            best = place if error < SIMPLER * errors[best] else best
        return errors[best] / size * (1 / SIMPLER if ranked else 1.0), basis, found[best], ranked, best, ends

    def _left_out(self, basis: np.ndarray, ends: Sequence[int], y: np.ndarray) -> tuple[list[np.ndarray], list[float]]:
        """Return residuals of y on each of the nested bases, and their mean squares when each sample is left out."""
        left, leverage, first = y, np.zeros(self.n), 0
        residuals, errors = [], []
        for end in ends:
            part = basis[first:end]
            leverage = leverage + np.einsum("ij,ij->j", part, part)
            left, first = left - (part @ left) @ part, end
            residuals.append(left)
            errors.append(float(np.mean((left / np.maximum(1 - leverage, LEVERAGE)) ** 2)))
        return residuals, errors

    def _bases(self, ranked: bool) -> tuple[list[np.ndarray], list[int]]:
        """Return the rows of the nested bases that are not too large, and where each ends."""
        samples, variables, rows = self.samples, self.variables, self.rows
        x = samples.take(samples.scale(ranked), variables, rows)
        one, other = _pairs(len(variables))
        parts = [np.ones((1, self.n)), x, *(of_time[:, rows] for of_time in samples.of_time(self.clock))]
        parts += [x * samples.slow[:1, rows]] * (self.clock >> 2)
        ends = [sum(map(len, parts))]
        largest, further = min(SHARE * self.n, LARGEST), samples.functions[2 if ranked else 1 :]
        if self._most > 1 and ends[0] + len(x) + len(one) <= largest:
            bent = samples.take(samples.functions[1], variables, rows) if ranked else x * x
            parts += [bent, x[one] * x[other]]
            ends.append(ends[0] + len(x) + len(one))
        if self._most > 2 and len(ends) > 1 and ends[1] + (len(further) + 1) * len(x) + 3 * len(one) <= largest:
            parts += [samples.take(functions, variables, rows) for functions in further]
            parts += [x**3, bent[one] * x[other], x[one] * bent[other], bent[one] * bent[other]]
            ends.append(sum(map(len, parts)))
        return parts, ends

    @property
    def responses(self) -> np.ndarray:
        """Functions of the residual, orthogonal to the basis and to each other, of unit length; made when asked for."""
        if self._responses is None:
            self._respond()
        assert self._responses is not None
        return self._responses

    @property
    def views(self) -> tuple[View, View]:
        """The regressions of the location, which may be weighted, and of the responses followed by the spread alone."""
        if self._responses is None:
            self._respond()
        return self._views

    def weighted(self, rows: np.ndarray) -> np.ndarray:
        """Return rows divided by the spread of the target, if the regression of the location is weighted."""
        if self._responses is None:
            self._respond()
        return rows if self._inverse is None else rows * self._inverse.astype(rows.dtype, copy=False)

    def _respond(self) -> None:
        samples, place, scaled, spread = self.samples, self.place, None, None
        if samples.tied[self.target]:  # values that are mostly the same are their own responses, as states are
            made = samples.functions[:, self.target][:, self.rows]
        else:
            made = rank_functions(self._residual)
            place = self._widened(made[1])
            scaled = self._evened(made[0], samples.volatility_basis(self.rows))
            made = made if scaled is None else rank_functions(made[0] * scaled)
            told = [samples.take(one, self.variables, self.rows) for one in (samples.functions[0], samples.spread)]
            even = self._evened(made[0], orthonormal(np.concatenate([np.ones((1, self.n)), *told])))
            spread = spread_function(made[0] if even is None else rank_functions(made[0] * even, 1)[0])[None]
            self._inverse = even if scaled is None else None
        made = made[np.abs(made).max(axis=1) > 0]
        self.basis = self._all[: self._ends[place]]
        if scaled is not None:  # what the volatility says of the spread beyond that is known too
            self.basis = orthonormal(np.concatenate([self.basis, samples.volatility[1:, self.rows]]))
        self.rank = int((np.einsum("ij,ij->i", self.basis, self.basis) > 0.5).sum())
        self._responses = whitened(made - (made @ self.basis.T) @ self.basis)
        spread = self._responses[1:2] if spread is None else self._beside(spread)
        location, shape = View(self.basis, self._responses[:1]), np.concatenate([self._responses, spread])
        if self._inverse is not None:
            basis, left = orthonormal(self.basis * self._inverse), self._residual * self._inverse
            score = rank_functions(left - (left @ basis.T) @ basis, 1)
            location = View(basis, whitened(score - (score @ basis.T) @ basis))
        self._views = location, View(self.basis, shape)
        beside, time = self._strongest(), 2**0.5 * samples.slow[:1, self.rows]  # a link may change with time
        self.partners = np.concatenate([samples.take(samples.scale(self.ranked), beside, self.rows), time])
        self._apart = np.concatenate([samples.take(samples.apart, beside, self.rows), np.ones_like(time)])

    def supported(self, variables: Sequence[Lagged]) -> np.ndarray:
        """Return which products of variables with `partners` are of enough samples ``(variables, partners, 1)``.

        Only samples count at which neither has its most frequent value, such as 0: elsewhere the product is a function
        of one of them alone.
        """
        apart = self.samples.take(self.samples.apart, variables, self.rows)
        return (apart @ self._apart.T >= LEAST)[:, :, None]

    def _beside(self, spread: np.ndarray) -> np.ndarray:
        """Return the response of the spread, orthogonal to the basis and to the location, of unit length, or none."""
        assert self._responses is not None
        for rows in (self.basis, self._responses[:1]):
            spread = spread - (spread @ rows.T) @ rows
        size = float(np.sqrt((spread**2).sum()))
        return spread / size if size > SLIGHT * self.n**0.5 else spread[:0]

    def _strongest(self) -> list[Lagged]:
        """Return the last own value, and the sources that are most correlated with the target at their nearest lags."""
        samples, target = self.samples, self.target
        own = [v for v in self.variables if v.node == target][:1]
        nearest = {v.node: v for v in reversed(self.variables) if v.node != target and v.lag}
        sources = [nearest[j] for j in sorted(nearest)]
        if len(sources) > PARTNERS:
            values = samples.scale(self.ranked)
            (y,) = samples.take(values, [Lagged(target, 0)], self.rows)
            size = np.abs(samples.take(values, sources, self.rows) @ (y - y.mean()))
            sources = [sources[i] for i in sorted(np.argsort(-size, kind="stable")[:PARTNERS])]
        return [*own, *sources]

    def _widened(self, spread: np.ndarray) -> int:
        """Return the place of the basis that the spread of the residual needs, if it needs more than the location."""
        _, errors = self._left_out(self._all, self._ends, spread)
        best = self.place
        for place in range(self.place + 1, len(errors)):
            best = place if errors[place] < SIMPLER * errors[best] else best
        return best

    def _evened(self, score: np.ndarray, columns: np.ndarray) -> np.ndarray | None:
        """Return 1 / spread of the residual as columns predict it, if they do (AIC)."""
        predicted = (columns @ np.log(score**2 + 1e-2)) @ columns
        scaled = score / np.exp(predicted / 2)
        gain = self.n * (np.log(np.mean(score**2)) - np.log(np.mean(scaled**2))) - predicted.sum()
        return np.exp(-predicted / 2) if gain > 2 * len(columns) else None
