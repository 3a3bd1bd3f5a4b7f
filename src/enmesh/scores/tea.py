"""TEA: transfer entropy with analytic independence tests (eq. g-tea).

    g_TEA(i, parents) = 2 N T_{parents -> i} - penalty

The penalty is the sum of per-parent chi-square quantiles (the MIT form, default), or the quantile of the summed degrees
of freedom (``"collective"``, the paper's first formula, which keeps spurious parents too often).

Where the criteria of `enmesh.embedding` select no embedding (kappa 1, a fully observed first-order system), TEA is MIT
with lag 1 in which every node is a parent of itself, less what its own past alone scores:

    g_TEA(i, parents) = g_MIT(i, parents and i) - g_MIT(i, i)

The difference is the same for all parents, so both prefer the same graphs. It is exact for Gaussian, and for Discrete
where no parent has more states than the target: MIT takes parents with more states first, TEA always the own past.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding import Lagged, Pasts
from enmesh.errors import InputError
from enmesh.estimators import Estimator, Gaussian
from enmesh.estimators.wilks import wilks_p, wilks_quantile
from enmesh.options import known_fields, option
from enmesh.scores.base import Link, Parents, PenalisedScorer, Score, Scorer, check_alpha, need_analytic
from enmesh.scores.mit import chi2_quantile, largest_sum
from enmesh.scores.shift_null import ScaledNull, ShiftNull
from enmesh.significance import Significance, lag_choices
from enmesh.surrogates.shift import autocovariances
from enmesh.tasks import Task, ready

# Null distributions in words, for the methods paragraph.
NULLS = {
    "chi2": "chi-square",
    "f": "F",
    "ess": "chi-square with the effective number of samples (Bartlett's formula)",
    "shift": "F, made wider by circular shifts of the source and by common changes of variance (White 1980)",
}


@option
class TEA(Score):
    """Transfer entropy penalised by the null distribution of 2 N T, for Gaussian, Regression and Discrete.

    Parameters
    ----------
    alpha
        Confidence level: a spurious parent is kept with probability 1 - alpha.
    penalty
        ``"sum"`` or ``"collective"``.
    null
        ``"chi2"`` (the paper's); ``"f"``, exact for a linear model with normal noise at small N; ``"ess"``, chi-square
        with the effective sample size of autocorrelated residuals (Bartlett); ``"shift"``, the F distribution
        times what circular shifts of the source give on average, and times the inflation by common changes of
        variance: it holds for smooth, periodic and heteroscedastic series too. The last three are for regressions,
        Bartlett's for linear ones.
    selected
        ``{target: sources}`` that were selected beforehand: ``"shift"`` asks how much wider the null of a source is
        given the others of them, which leave less memory in the target than its own past alone.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> graph = em.score(series, "a>b, b>c", em.TEA(embedding=em.Embedding(), alpha=0.99))
    >>> {name: round(value) for name, value in graph.local.items()}
    {'a': 0, 'b': 66, 'c': 85}
    """

    cli_name = "tea"
    cli_options = ("alpha",)
    summary = "2 N T minus the quantiles of its known null distribution (Gaussian, Regression, Discrete)"
    needs_analytic = True

    estimator: Estimator = Gaussian()
    embedding: Pasts | None = None
    alpha: float = 0.99
    penalty: str = "sum"
    null: str = "chi2"
    selected: Any = ()

    def __post_init__(self) -> None:
        given = self.selected.items() if isinstance(self.selected, Mapping) else self.selected
        named = tuple(sorted((str(target), tuple(map(str, sources))) for target, sources in given if sources))
        object.__setattr__(self, "selected", named)
        need_analytic(self.estimator, "TEA")
        check_alpha(self.alpha)
        known_fields(self, penalty=("sum", "collective"), null=tuple(NULLS))
        if self.null != "chi2" and self.estimator.discrete:
            raise InputError(f"null={self.null!r} is for Gaussian and Regression; Discrete has 'chi2'")
        if self.null == "ess" and getattr(self.estimator, "features", "linear") != "linear":
            raise InputError("null='ess' is for linear regressions; use null='shift' with features")
        if self.null in ("ess", "shift") and self.penalty == "collective":
            raise InputError(f"null={self.null!r} corrects parent by parent; use it with penalty='sum'")

    FORMAT = 3

    def sentence(self) -> str:
        """Say what was scored."""
        return (
            "2N times the transfer entropy from its parents less the quantile of its analytic null distribution, "
            f"{NULLS[self.null]} (TEA, α = {self.alpha})"
        )

    def _scorer(self, series: Series) -> "Scorer[TEA]":
        return _TEAScorer(self, series)


class _TEAScorer(PenalisedScorer[TEA]):
    def __init__(self, score: TEA, series: Series):
        super().__init__(score, series)
        selected = {series.index(target): series.indices(sources) for target, sources in score.selected}
        self._shifts = ShiftNull(self.transfers, selected)
        self._widened = self._shifts.of if score.null == "shift" else lambda source, target: ScaledNull()
        self._quantiles: dict[tuple[int, Parents, int], float] = {}
        self._penalties: dict[tuple[int, Parents], float] = {}

    def fit(self, target: int, parents: Parents) -> float:
        """2 N T."""
        return 2 * self.transfers.blocks.n * self.transfers.value(parents, target)

    def penalty(self, target: int, parents: Parents) -> float:
        """Penalty of a set of parents, on the scale of 2 N T; kept, since bounds ask for it and scores after them."""
        if self.score.penalty == "collective":
            return self._quantile(target, parents, ()) if parents else 0.0
        if (target, parents) not in self._penalties:
            blocks = self.transfers.blocks
            self._penalties[target, parents] = largest_sum(
                parents,
                lambda j: blocks.states(j, target),
                lambda j, earlier: self._quantile(target, (j,), earlier),
                self.score.alpha,
                known=lambda earlier: self._penalties.get((target, earlier)),
            )
        return self._penalties[target, parents]

    def bounds(self, candidates: Sequence[Parents]) -> Any:
        return None if self.score.null == "ess" else super().bounds(candidates)

    def test(self, link: Link, level: float | None = None, count: int | None = None) -> Task[Significance]:
        """Test an edge by the null distribution of the score."""
        if self.score.null in ("chi2", "ess"):
            return super().test(link, level, count)
        x, y, z = self.transfers.variables([link.source], link.target, link.given)
        value, q = self.transfers.cmi(x, y, z), self.score.estimator.targets
        features = self.transfers.dof(x, y, z) // q
        rest = _rest(self.transfers.blocks.n, self.transfers.dof(z, y, ()) // q, features)
        factor, share = self._widened(link.source, link.target)
        p_value = float(wilks_p(2 * value, features, q, rest, factor, share=share))
        choices = lag_choices(self.transfers, [link.source], link.target)
        mean = factor * share * features * q / (2 * self.transfers.effective_samples(x, y, z))
        return ready(Significance(value, min(1.0, choices * p_value), np.empty(0), mean))

    def _quantile(self, target: int, sources: Parents, earlier: Parents) -> float:
        """Value that 2 N T(sources | own past, earlier) stays under with probability alpha under independence."""
        if self.score.null == "ess" or self.score.estimator.discrete:
            x, y, z = self.transfers.variables(sources, target, earlier)
            value = chi2_quantile(self._alpha(target, sources), self.transfers.dof(x, y, z))
            return value * self._inflation(x, y, z) if self.score.null == "ess" else value
        lags = self.transfers.blocks.lags
        n_given = len(lags(target, target)) + sum(len(lags(j, target)) for j in earlier)
        question = target, sources, n_given  # of earlier parents a regression knows the number of lags alone
        if question not in self._quantiles:
            self._quantiles[question] = self._quantile_of_regression(*question)
        return self._quantiles[question]

    def _quantile_of_regression(self, target: int, sources: Parents, n_given: int) -> float:
        width = sum(len(self.transfers.blocks.lags(j, target)) for j in sources)
        x, y, z = ((0,) * size for size in (width, 1, n_given))
        estimator, alpha, n = self.transfers.estimator, self._alpha(target, sources), self.transfers.blocks.n
        dof, q = estimator.dof(y, x, z), estimator.targets
        rest = _rest(n, estimator.dof(y, z, ()) // q, dof // q)
        if self.score.null == "chi2":
            return chi2_quantile(alpha, dof) * n / estimator.effective_samples(n, y, x, z)
        factor, share = self._widened(sources[0], target)
        return factor * n * wilks_quantile(alpha, dof // q, q, rest, share)

    def _alpha(self, target: int, sources: Parents) -> float:
        """Divide the level by the number of choices, where lags were chosen from the data."""
        choices, alpha = lag_choices(self.transfers, sources, target), self.score.alpha
        return alpha if choices == 1 or not alpha else 1 - (1 - alpha) / choices

    def _inflation(self, x: Sequence[Lagged], y: Lagged, z: Sequence[Lagged]) -> float:
        """N / N_eff, with N_eff from the autocorrelations of the residuals of source and target given the rest."""
        blocks = self.transfers.blocks
        basis = np.linalg.qr(np.column_stack([np.ones(blocks.n), blocks.take(z)]))[0]
        target, *sources = (v - basis @ (basis.T @ v) for v in blocks.take([y, *x]).T)
        return float(np.mean([bartlett_inflation(target, source, blocks.starts) for source in sources]))


def _rest(n: int, n_given: int, features: int) -> int:
    """Return the samples less what is known; refuse if the features of the source leave no residuals."""
    if n <= n_given + features + 1:
        instead = "use fewer parents, fewer lags, or features='linear'"
        raise InputError(f"too few samples: {n} for {n_given + features + 1} coefficients; {instead}")
    return n - 1 - n_given


def bartlett_inflation(x: np.ndarray, y: np.ndarray, starts: np.ndarray) -> float:
    """N / N_eff = 1 + 2 sum_k (1 - k/N) r_x(k) r_y(k), autocorrelations within trials (Bartlett), at least 1."""
    product = autocovariances(np.column_stack([x, y]), starts)
    lags = np.arange(1, max(2, len(product) // 10))  # beyond, sample autocorrelations are noise
    correlation = (product[lags] / product[0]).prod(axis=1)
    return max(1.0, 1 + 2 * float(correlation.sum()))
