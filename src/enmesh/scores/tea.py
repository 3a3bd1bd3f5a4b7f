"""TEA: transfer entropy with analytic independence tests (eq. g-tea).

    g_TEA(i, parents) = 2 N T_{parents -> i} - penalty

The penalty is the sum of per-parent chi-square quantiles (the MIT form, default), or the quantile of the summed degrees
of freedom (``"collective"``, the paper's first formula, which keeps spurious parents too often).
"""

from math import prod

import numpy as np

from enmesh.embedding import Embedding
from enmesh.errors import InputError
from enmesh.estimators import Estimator, Gaussian
from enmesh.options import option
from enmesh.scores.base import FitBounds, Score, Scorer, check_alpha, need_analytic
from enmesh.scores.penalty import chi2_quantile, largest_sum


@option
class TEA(Score):
    """Transfer entropy penalised by the null distribution of 2 N T, for Gaussian and Discrete.

    Parameters
    ----------
    alpha
        Confidence level: a spurious parent is kept with probability 1 - alpha.
    penalty
        ``"sum"`` or ``"collective"``.
    null
        ``"chi2"`` (the paper's); ``"f"``, exact for a linear model with normal noise at small N; ``"ess"``, chi-square
        with the effective sample size of autocorrelated residuals (Bartlett). The last two are Gaussian's.
    """

    estimator: Estimator = Gaussian()
    embedding: Embedding | None = None
    alpha: float = 0.99
    penalty: str = "sum"
    null: str = "chi2"

    def __post_init__(self):
        need_analytic(self.estimator, "TEA")
        check_alpha(self.alpha)
        if self.penalty not in ("sum", "collective"):
            raise InputError(f"penalty={self.penalty!r} is not known; use 'sum' or 'collective'")
        if self.null not in ("chi2", "f", "ess"):
            raise InputError(f"null={self.null!r} is not known; use 'chi2', 'f' or 'ess'")
        if self.null != "chi2" and self.estimator.discrete:
            raise InputError(f"null={self.null!r} is for Gaussian; Discrete has 'chi2'")
        if self.null == "ess" and self.penalty == "collective":
            raise InputError("null='ess' corrects parent by parent; use it with penalty='sum'")

    def _scorer(self, series):
        return _TEAScorer(self, series)


class _TEAScorer(Scorer):
    def local(self, target, parents):
        if not parents:
            return 0.0
        return self.fit(target, parents) - self.penalty(target, parents)

    def fit(self, target: int, parents: tuple[int, ...]) -> float:
        """2 N T."""
        return 2 * self.ask.blocks.n * self.ask.value(parents, target)

    def penalty(self, target: int, parents: tuple[int, ...]) -> float:
        """Penalty of a set of parents, on the scale of 2 N T."""
        if self.score.penalty == "collective":
            return self._quantile(target, parents, ()) if parents else 0.0
        return largest_sum(
            parents, self._states, lambda j, earlier: self._quantile(target, (j,), earlier), self.score.alpha
        )

    def bounds(self, candidates):
        return None if self.score.null == "ess" else FitBounds(self, candidates)

    def _states(self, node):
        """Joint states of a parent's past; its width if it is continuous."""
        blocks = self.ask.blocks
        return blocks.arity[node] ** blocks.dim[node] if blocks.arity[node] else blocks.dim[node]

    def _quantile(self, target, sources, earlier):
        """Value that 2 N T(sources | own past, earlier) stays under with probability alpha if they say nothing."""
        score, blocks = self.score, self.ask.blocks
        own, given = blocks.own(target), blocks.sources(earlier)
        arities = map(blocks.arities, ([(target, 0)], blocks.sources(sources), own + given))
        dof = score.estimator.dof(*arities)
        if score.null == "f":
            return _f_quantile(score.alpha, dof, blocks.n, len(own) + len(given))
        value = chi2_quantile(score.alpha, dof)
        return value * self._inflation(target, sources[0], earlier) if score.null == "ess" else value

    def _inflation(self, target, source, earlier):
        """N / N_eff, with N_eff from the autocorrelations of the residuals of source and target given the rest."""
        blocks = self.ask.blocks
        known = blocks.take(blocks.own(target) + blocks.sources(sorted(earlier)))
        basis = np.linalg.qr(np.column_stack([np.ones(blocks.n), known]))[0]
        y, *x = (v - basis @ (basis.T @ v) for v in blocks.take([(target, 0), *blocks.source(source)]).T)
        return float(np.mean([bartlett_inflation(y, one, blocks.starts) for one in x]))


def _f_quantile(alpha, dof, n, n_given):
    """Quantile of 2 N T = N ln(1 + dof/rest F) with F the ratio of explained to residual variance per parameter."""
    from scipy.special import fdtri

    rest = n - 1 - n_given - dof
    if rest < 1:
        raise InputError(
            f"too few samples: {n} for {n_given + dof + 1} coefficients; use fewer parents or a smaller embedding"
        )
    return float(n * np.log1p(dof / rest * fdtri(dof, rest, alpha))) if alpha > 0 else 0.0


def bartlett_inflation(x: np.ndarray, y: np.ndarray, starts: np.ndarray) -> float:
    """N / N_eff = 1 + 2 sum_k (1 - k/N) r_x(k) r_y(k), autocorrelations within trials (Bartlett's formula), at least 1.

    Sums run to a tenth of the longest trial: beyond, sample autocorrelations are noise.
    """
    longest = int(np.diff(starts).max())
    size = 1 << (2 * longest - 1).bit_length()
    product = np.zeros((2, longest))
    for start, stop in zip(starts[:-1], starts[1:]):
        for row, series in zip(product, (x, y)):
            power = np.abs(np.fft.rfft(series[start:stop], size)) ** 2
            row[: stop - start] += np.fft.irfft(power, size)[: stop - start]
    lags = np.arange(1, max(2, longest // 10))
    correlation = prod(row[lags] / row[0] for row in product)
    return max(1.0, 1 + 2 * float(correlation.sum()))
