"""MIT: mutual information tests (de Campos 2006), the case of full observation: no embedding, no own past.

    g_MIT(i, parents) = 2 N I(Y^i ; parents) - sum_j chi_{alpha, l_ij},
    l_ij = (r_i - 1)(r_j - 1) prod_{earlier k} r_k   (Discrete),   1 (Gaussian)

With ``lag=1`` the parents are those of the slice before (Vinh et al. 2011); with ``lag=0`` they are contemporaneous and
the score is the original one for Bayesian networks, symmetric in single edges.
"""

from collections.abc import Iterable

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding import Embedding, Lagged, Pasts
from enmesh.errors import InputError
from enmesh.estimators import Discrete, Estimator
from enmesh.options import option
from enmesh.scores.base import (
    Link,
    Parents,
    PenalisedScorer,
    Score,
    Scorer,
    Tests,
    check_alpha,
    need_analytic,
)
from enmesh.scores.penalty import chi2_quantile, largest_sum
from enmesh.significance import Significance, analytic_p
from enmesh.tasks import Task, ready


@option
class MIT(Score):
    """Mutual information tests, for Discrete, Gaussian and Regression; ``lag`` 1 (dynamic) or 0 (contemporaneous).

    Parameters
    ----------
    alpha
        Confidence level of each test.
    lag
        1 takes parents from the sample before, 0 from the same sample.

    Examples
    --------
    >>> import enmesh as em
    >>> states = em.simulate.boolean("a>b", n=300, seed=0)
    >>> em.infer(states, score=em.MIT(alpha=0.999)).parents["b"]
    ('a',)
    """

    cli_name = "mit"
    cli_options = ("alpha",)
    summary = "mutual information tests, for fully observed or contemporaneous data"
    phrase = "the mutual information test (MIT, α = {alpha}; Vinh et al. 2011)"
    needs_analytic = True
    references = (
        "Vinh, N. X., Chetty, M., Coppel, R. and Wangikar, P. P. (2011). GlobalMIT: Learning Globally Optimal "
        "Dynamic Bayesian Network with the Mutual Information Test Criterion. Bioinformatics 27, 2765.",
    )

    estimator: Estimator = Discrete()
    alpha: float = 0.99
    lag: int = 1

    embedding = Embedding()

    def __post_init__(self) -> None:
        need_analytic(self.estimator, "MIT")
        check_alpha(self.alpha)
        if self.lag not in (0, 1):
            raise InputError(f"lag={self.lag!r} is not possible; use 1, or 0 for contemporaneous data")
        if self.lag == 0 and getattr(self.estimator, "features", "linear") != "linear":
            raise InputError(
                "lag=0 needs an estimator that is the same in both directions; use Gaussian, or lag=1"
            )

    def embedded(self, pasts: Pasts) -> "MIT":
        """Return the score itself: it takes single samples and no embedding."""
        return self

    def _scorer(self, series: Series) -> "Scorer[MIT]":
        return _MITScorer(self, series)


class _MITScorer(PenalisedScorer[MIT]):
    def combine(self, target: int, parents: Parents, tests: Tests) -> float:
        return super().combine(target, parents, tests) if parents else 0.0

    def fit(self, target: int, parents: Parents) -> float:
        """2 N I(Y^i ; parents)."""
        y, past = Lagged(target, 0), self._past(parents)
        information = self.transfers.prepared(y, []).cmi(self.transfers.blocks.take(past))
        return 2 * self.transfers.blocks.n * information

    def penalty(self, target: int, parents: Parents) -> float:
        """Sum of chi-square quantiles in the order that costs most."""
        alpha, arity = self.score.alpha, self.transfers.blocks.arity
        return largest_sum(
            parents,
            lambda j: arity[j] or 1,
            lambda j, earlier: chi2_quantile(alpha, self._dof(target, j, earlier)),
            alpha,
        )

    def test(self, link: Link, level: float | None = None, count: int | None = None) -> Task[Significance]:
        y, z = Lagged(link.target, 0), self._past(link.given)
        value = self.transfers.prepared(y, z).cmi(self.transfers.blocks.take(self._past([link.source])))
        dof, n = self._dof(link.target, link.source, link.given), self.transfers.blocks.n
        return ready(Significance(value, analytic_p(dof, n, value), np.empty(0), dof / (2 * n)))

    def lags(self, source: int, target: int) -> tuple[int, ...]:
        return (self.score.lag,)

    def _past(self, nodes: Iterable[int]) -> list[Lagged]:
        return [Lagged(j, self.score.lag) for j in sorted(nodes)]

    def _dof(self, target: int, source: int, given: Parents) -> int:
        return self.transfers.dof(self._past([source]), Lagged(target, 0), self._past(given))
