"""TE: the naive score, collective transfer entropy alone (eq. g-kl). It always prefers the complete graph."""

from enmesh.embedding import Embedding
from enmesh.estimators import KSG, Estimator
from enmesh.options import option
from enmesh.scores.base import Score, Scorer
from enmesh.significance import Sampling, analytic, by_surrogates, check_count
from enmesh.surrogates import CircularShift, Surrogate
from enmesh.tasks import at_hand, finish


@option
class TE(Score):
    """g_TE(i, parents) = T_{parents -> i}. Shown for what it lacks: a penalty (Corollary 1).

    Surrogates serve the tests of its edges where the estimator has no known null.
    """

    estimator: Estimator = KSG()
    embedding: Embedding | None = None
    surrogate: Surrogate = CircularShift()
    n_surrogates: int = 199
    seed: int = 0

    def __post_init__(self):
        check_count(self.n_surrogates)

    def _scorer(self, series):
        return _TEScorer(self, series)


class _TEScorer(Scorer):
    def local(self, target, parents):
        return self.ask.value(parents, target)

    def edge(self, source, target, given):
        return finish(self.inquiry(source, target, given))

    def inquiry(self, source, target, given, level=None):
        score = self.score
        if score.estimator.analytic:
            return at_hand(analytic(self.ask, (source,), target, given))
        sampling = Sampling(score.surrogate, score.n_surrogates, score.seed)
        return by_surrogates(self.ask, (source,), target, given, sampling, level)
