"""MIT: mutual information tests (de Campos 2006), the case of full observation: no embedding, no own past.

    g_MIT(i, parents) = 2 N I(Y^i ; parents) - sum_j chi_{alpha, l_ij},
    l_ij = (r_i - 1)(r_j - 1) prod_{earlier k} r_k   (Discrete),   1 (Gaussian)

With ``lag=1`` the parents are those of the slice before (Vinh et al. 2011); with ``lag=0`` they are contemporaneous and
the score is the original one for Bayesian networks, symmetric in single edges.
"""

import numpy as np

from enmesh.embedding import Embedding
from enmesh.errors import InputError
from enmesh.estimators import Discrete, Estimator
from enmesh.options import option
from enmesh.scores.base import FitBounds, Score, Scorer, check_alpha, need_analytic
from enmesh.scores.penalty import chi2_quantile, largest_sum
from enmesh.significance import Significance


@option
class MIT(Score):
    """Mutual information tests, for Discrete and Gaussian; ``lag`` 1 (dynamic) or 0 (contemporaneous)."""

    estimator: Estimator = Discrete()
    alpha: float = 0.99
    lag: int = 1

    embedding = Embedding()

    def __post_init__(self):
        need_analytic(self.estimator, "MIT")
        check_alpha(self.alpha)
        if self.lag not in (0, 1):
            raise InputError(f"lag={self.lag!r} is not possible; use 1, or 0 for contemporaneous data")

    def _scorer(self, series):
        return _MITScorer(self, series)


class _MITScorer(Scorer):
    def local(self, target, parents):
        if not parents:
            return 0.0
        return self.fit(target, parents) - self.penalty(target, parents)

    def fit(self, target: int, parents: tuple[int, ...]) -> float:
        """2 N I(Y^i ; parents)."""
        return 2 * self.ask.blocks.n * self._information(target, parents, ())

    def penalty(self, target: int, parents: tuple[int, ...]) -> float:
        """Sum of chi-square quantiles in the order that costs most."""
        alpha, arity = self.score.alpha, self.ask.blocks.arity
        return largest_sum(
            parents,
            lambda j: arity[j] or 1,
            lambda j, earlier: chi2_quantile(alpha, self._dof(target, j, earlier)),
            alpha,
        )

    def edge(self, source, target, given):
        from scipy.special import chdtrc

        dof, n = self._dof(target, source, given), self.ask.blocks.n
        value = self._information(target, (source,), given)
        return Significance(value, float(chdtrc(dof, max(0.0, 2 * n * value))), np.empty(0), dof / (2 * n))

    def bounds(self, candidates):
        return FitBounds(self, candidates)

    def _columns(self, nodes):
        return [(j, self.score.lag) for j in sorted(nodes)]

    def _information(self, target, sources, given):
        blocks = self.ask.blocks
        x, z = blocks.take(self._columns(sources)), self._columns(given)
        return self.ask.ready(blocks.next(target), z).cmi(x)

    def _dof(self, target, source, given):
        arity = self.ask.blocks.arity
        return self.score.estimator.dof((arity[target],), (arity[source],), tuple(arity[k] for k in given))
