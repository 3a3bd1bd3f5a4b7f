"""TEE: transfer entropy with empirical independence tests (eq. g-tee), for any estimator.

Sequential (default), parent by parent, shuffling only the parent in question:

    g_TEE(i, parents) = sum_j [ T(j | own past, earlier) - T_alpha(j^s | own past, earlier) ]

and the smallest total over all orders, the most conservative, so that the score belongs to the set. Collective is the
paper's literal form, T - T_alpha of all parents shuffled together; it keeps spurious parents beside a strong one.
"""

from dataclasses import dataclass

from enmesh.embedding import Embedding
from enmesh.errors import InputError
from enmesh.estimators import KSG, Estimator
from enmesh.options import option
from enmesh.scores.base import Score, Scorer, check_alpha
from enmesh.significance import check_count, empirical, least_surrogates, null_values, order_statistic
from enmesh.surrogates import CircularShift, Surrogate

# All orders up to this many parents; beyond, the one from the strongest to the weakest single parent.
ALL_ORDERS = 3


@option
class TEE(Score):
    """Transfer entropy penalised by the surrogates' quantile.

    Parameters
    ----------
    alpha
        Confidence level: a spurious parent is kept with probability 1 - alpha. 0 recovers the naive TE.
    penalty
        ``"sequential"`` or ``"collective"``.
    surrogate, n_surrogates, seed
        How the null is sampled; at least alpha / (1 - alpha) surrogates, of which the maximum is then the penalty.
    """

    estimator: Estimator = KSG()
    embedding: Embedding | None = None
    alpha: float = 0.99
    penalty: str = "sequential"
    surrogate: Surrogate = CircularShift()
    n_surrogates: int = 199
    seed: int = 0

    def __post_init__(self):
        check_alpha(self.alpha)
        check_count(self.n_surrogates)
        if self.penalty not in ("sequential", "collective"):
            raise InputError(f"penalty={self.penalty!r} is not known; use 'sequential' or 'collective'")
        least = least_surrogates(self.alpha)
        if self.n_surrogates < least:
            raise InputError(
                f"{self.n_surrogates} surrogates are too few for alpha={self.alpha:g}; at least {least} are needed"
            )

    def _scorer(self, series):
        return _TEEScorer(self, series)


@dataclass(frozen=True)
class _Step:
    value: float
    penalty: float


class _TEEScorer(Scorer):
    def __init__(self, score, series):
        super().__init__(score, series)
        self._steps: dict[tuple, _Step] = {}
        self._totals: dict[tuple, float] = {}

    def local(self, target, parents):
        if not parents:
            return 0.0
        if self.score.penalty == "collective" or self.score.alpha == 0:
            step = self._step(target, tuple(parents), ())
            return step.value - step.penalty
        if len(parents) > ALL_ORDERS:
            return self._along(target, self._strongest_first(target, parents))
        return self._smallest(target, tuple(parents))

    def edge(self, source, target, given):
        score = self.score
        return empirical(
            self.ask, (source,), target, given, score.surrogate, max(1, score.n_surrogates), score.seed
        )

    def _step(self, target, sources, earlier) -> _Step:
        """T and T_alpha of sources given earlier parents; every set that contains them shares it."""
        key = target, sources, earlier
        if key not in self._steps:
            score = self.score
            penalty = 0.0
            if score.alpha > 0:
                null = null_values(
                    self.ask, sources, target, earlier, score.surrogate, score.n_surrogates, score.seed
                )
                penalty = order_statistic(null, score.alpha)
            self._steps[key] = _Step(self.ask.value(sources, target, earlier), penalty)
        return self._steps[key]

    def _smallest(self, target, parents):
        """Return the smallest total over orders: over the last parent j, the rest's smallest plus j given the rest."""
        if not parents:
            return 0.0
        if (target, parents) not in self._totals:
            totals = []
            for j in parents:
                rest = tuple(p for p in parents if p != j)
                step = self._step(target, (j,), rest)
                totals.append(self._smallest(target, rest) + step.value - step.penalty)
            self._totals[target, parents] = min(totals)
        return self._totals[target, parents]

    def _strongest_first(self, target, parents):
        return sorted(parents, key=lambda j: (-self.ask.value((j,), target), j))

    def _along(self, target, order):
        total = 0.0
        for position, j in enumerate(order):
            step = self._step(target, (j,), tuple(sorted(order[:position])))
            total += step.value - step.penalty
        return total
