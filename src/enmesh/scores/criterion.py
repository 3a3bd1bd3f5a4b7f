"""Information criteria from the log-likelihood and the number of parameters (eq. g-mdl).

    g_IC(i, parents) = ell(i, parents) - f(N) C(i, parents),    ell = - N H(Y^i_{n+1} | own past, parents)

with f(N) = 0 (maximum likelihood), 1 (AIC) or ln(N)/2 (BIC).
"""

from dataclasses import field

import numpy as np

from enmesh.embedding import Embedding
from enmesh.errors import InputError
from enmesh.estimators import Estimator, Gaussian
from enmesh.options import option
from enmesh.scores.base import FitBounds, Score, Scorer, need_analytic


@option
class Criterion(Score):
    """``Criterion("bic")``, ``"aic"`` or ``"ml"``, for Gaussian and Discrete, in nats.

    Unlike the transfer-entropy scores an empty parent set does not score 0: it has a likelihood too.
    """

    kind: str = field(kw_only=False)
    estimator: Estimator = Gaussian()
    embedding: Embedding | None = None

    def __post_init__(self):
        if self.kind not in ("ml", "aic", "bic"):
            raise InputError(f"criterion {self.kind!r} is not known; use 'ml', 'aic' or 'bic'")
        need_analytic(self.estimator, "Criterion")

    def _scorer(self, series):
        return _CriterionScorer(self, series)


class _CriterionScorer(Scorer):
    def __init__(self, score, series):
        super().__init__(score, series)
        self._alone: dict[int, float] = {}

    def local(self, target, parents):
        return self.fit(target, parents) - self.penalty(target, parents)

    def fit(self, target: int, parents: tuple[int, ...]) -> float:
        """Log-likelihood: that of the node alone plus N times the transfer entropy of its parents."""
        blocks = self.ask.blocks
        if target not in self._alone:
            past = blocks.take(blocks.own(target))
            stored = self.ask.ready(blocks.next(target), []).cmi(past)
            self._alone[target] = -blocks.n * (self.score.estimator.entropy(blocks.raw_next(target)) - stored)
        return self._alone[target] + blocks.n * self.ask.value(parents, target)

    def penalty(self, target: int, parents: tuple[int, ...]) -> float:
        """f(N) C."""
        blocks = self.ask.blocks
        weight = {"ml": 0.0, "aic": 1.0, "bic": np.log(blocks.n) / 2}[self.score.kind]
        past = blocks.own(target) + blocks.sources(parents)
        return weight * self.score.estimator.n_parameters(blocks.arities([(target, 0)]), blocks.arities(past))

    def bounds(self, candidates):
        return FitBounds(self, candidates)
