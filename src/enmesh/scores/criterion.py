"""Information criteria from the log-likelihood and the number of parameters (eq. g-mdl).

    g_IC(i, parents) = ell(i, parents) - f(N) C(i, parents),    ell = - N H(Y^i_{n+1} | own past, parents)

with f(N) = 0 (maximum likelihood), 1 (AIC) or ln(N)/2 (BIC).
"""

from dataclasses import field

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding import Pasts
from enmesh.errors import InputError
from enmesh.estimators import Estimator, Gaussian
from enmesh.options import option
from enmesh.scores.base import Parents, PenalisedScorer, Score, Scorer, need_analytic


@option
class Criterion(Score):
    """``Criterion("bic")``, ``"aic"`` or ``"ml"``, for Gaussian, Regression and Discrete, in nats.

    Unlike the transfer-entropy scores an empty parent set does not score 0: it has a likelihood too.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> bic = em.Criterion("bic", embedding=em.Embedding())
    >>> em.score(series, "a>b, b>c", bic).total > em.score(series, "a>b, a>c", bic).total
    True
    """

    cli_name = "criterion"
    cli_variants = ("aic", "bic", "ml")
    summary = "log-likelihood minus parameters, for comparison with model selection"
    needs_analytic = True
    FORMAT = 2

    kind: str = field(kw_only=False)
    estimator: Estimator = Gaussian()
    embedding: Pasts | None = None

    def __post_init__(self) -> None:
        if self.kind not in ("ml", "aic", "bic"):
            raise InputError(f"criterion {self.kind!r} is not known; use 'ml', 'aic' or 'bic'")
        need_analytic(self.estimator, "Criterion")

    def sentence(self) -> str:
        """Say what was scored."""
        return f"the {self.kind.upper()} criterion"

    def _scorer(self, series: Series) -> "Scorer[Criterion]":
        return _CriterionScorer(self, series)


class _CriterionScorer(PenalisedScorer[Criterion]):
    def __init__(self, score: Criterion, series: Series):
        super().__init__(score, series)
        self._alone: dict[int, float] = {}

    def fit(self, target: int, parents: Parents) -> float:
        """Log-likelihood: that of the node alone plus N times the transfer entropy of its parents."""
        n = self.transfers.blocks.n
        if target not in self._alone:
            self._alone[target] = -n * self.transfers.conditional_entropy(target)
        return self._alone[target] + n * self.transfers.value(parents, target)

    def penalty(self, target: int, parents: Parents) -> float:
        """f(N) C."""
        blocks = self.transfers.blocks
        weight = {"ml": 0.0, "aic": 1.0, "bic": np.log(blocks.n) / 2}[self.score.kind]
        _, following, past = self.transfers.variables([], target, parents)
        return weight * self.score.estimator.n_parameters(blocks.arities([following]), blocks.arities(past))
