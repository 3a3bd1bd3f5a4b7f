"""TE: the naive score, collective transfer entropy alone (eq. g-kl). It always prefers the complete graph."""

from enmesh.data.series import Series
from enmesh.embedding import Pasts
from enmesh.estimators import KSG, Estimator
from enmesh.options import option, whole
from enmesh.scores.base import Link, Parents, Score, Scorer, Tests
from enmesh.significance import Sampling, Significance, by_surrogates
from enmesh.surrogates import CircularShift, Surrogate
from enmesh.tasks import Task


@option
class TE(Score):
    """g_TE(i, parents) = T_{parents -> i}. It has no penalty and so always prefers more parents (Corollary 1).

    Surrogates serve the tests of its edges where the estimator has no known null.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> graph = em.score(series, "a>b, b>c", em.TE(estimator=em.Gaussian(), embedding=em.Embedding()))
    >>> round(graph.total, 2)
    0.16
    """

    cli_name = "te"
    cli_options = ("surrogate", "n_surrogates", "seed")
    summary = "transfer entropy without a penalty, which keeps every edge; for comparison"
    phrase = "the collective transfer entropy from its parents"

    estimator: Estimator = KSG()
    embedding: Pasts | None = None
    surrogate: Surrogate = CircularShift()
    n_surrogates: int = 199
    seed: int = 0

    def __post_init__(self) -> None:
        whole("n_surrogates", self.n_surrogates)

    def _scorer(self, series: Series) -> "Scorer[TE]":
        return _TEScorer(self, series)


class _TEScorer(Scorer[TE]):
    def combine(self, target: int, parents: Parents, tests: Tests) -> float:
        return self.transfers.value(parents, target)

    def test(self, link: Link, level: float | None = None, count: int | None = None) -> Task[Significance]:
        score = self.score
        if score.estimator.analytic:
            return super().test(link, level, count)
        sampling = Sampling(score.surrogate, count or score.n_surrogates, score.seed)
        return by_surrogates(self.transfers, (link.source,), link.target, link.given, sampling, level)
