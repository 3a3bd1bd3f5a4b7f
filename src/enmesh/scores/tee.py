"""TEE: transfer entropy with empirical independence tests (eq. g-tee), for any estimator.

Sequential (default), parent by parent, shuffling only the parent in question:

    g_TEE(i, parents) = sum_j [ T(j | own past, earlier) - T_alpha(j^s | own past, earlier) ]

with the largest sum of T_alpha over all orders, so that the score belongs to the set and is the most conservative. The
first terms sum to the collective T in any order for Gaussian and Discrete, so that this is the smallest total over
orders. Estimates of KSG and Kernel do not obey the chain rule: theirs are summed from the strongest single parent to
the weakest. (Letting their smallest sum over orders decide as well keeps a spurious parent half as often as asked for,
because a strong parent is underestimated given a spurious one.)

Collective is the paper's literal form, T - T_alpha of all parents shuffled together; it keeps spurious parents beside a
strong one.
"""

from dataclasses import dataclass
from itertools import combinations

from enmesh.embedding import Embedding
from enmesh.errors import InputError
from enmesh.estimators import KSG, Estimator
from enmesh.options import option
from enmesh.scores.base import Score, Scorer, check_alpha
from enmesh.significance import (
    check_count,
    empirical,
    least_surrogates,
    null_values,
    order_statistic,
    settle,
)
from enmesh.surrogates import CircularShift, Surrogate

# Penalties over all orders up to this many parents; beyond, along that from the strongest to the weakest.
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
        self._penalties: dict[tuple, float] = {}
        self._singles: dict[tuple[int, int], float] = {}

    def local(self, target, parents):
        if not parents:
            return 0.0
        if self._is_one_piece:
            step = self._step(target, tuple(parents), ())
            return step.value - step.penalty
        steps = self._along(target, self._strongest_first(target, parents))
        value = sum(step.value for step in steps)
        if len(parents) > ALL_ORDERS:
            return value - sum(step.penalty for step in steps)
        return value - self._largest_penalty(target, tuple(parents))

    def edge(self, source, target, given):
        return empirical(self.ask, (source,), target, given, *self._sampling())

    def verdict(self, source, target, given, level):
        return settle(self.ask, (source,), target, given, *self._sampling(), level)

    def tests(self, target, parents):
        """Every parent given every set of earlier ones that some order has."""
        if self._is_one_piece:
            return ()
        if len(parents) > ALL_ORDERS:
            order = self._strongest_first(target, parents)
            return tuple((j, target, tuple(sorted(order[:position]))) for position, j in enumerate(order))
        return tuple(
            (j, target, earlier)
            for j in parents
            for size in range(len(parents))
            for earlier in combinations([p for p in parents if p != j], size)
        )

    def learn(self, link, test):
        """An edge test samples the same surrogates as a step: value and quantile are the step's."""
        source, target, given = link
        self._steps[target, (source,), given] = _Step(
            test.value, order_statistic(test.null, self.score.alpha)
        )

    @property
    def _is_one_piece(self):
        return self.score.penalty == "collective" or self.score.alpha == 0

    def _sampling(self):
        return self.score.surrogate, max(1, self.score.n_surrogates), self.score.seed

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

    def _largest_penalty(self, target, parents):
        """Return the largest sum over orders: over the last parent j, the rest's largest plus j's given the rest."""
        if not parents:
            return 0.0
        if (target, parents) not in self._penalties:
            sums = []
            for j in parents:
                rest = tuple(p for p in parents if p != j)
                sums.append(self._largest_penalty(target, rest) + self._step(target, (j,), rest).penalty)
            self._penalties[target, parents] = max(sums)
        return self._penalties[target, parents]

    def _strongest_first(self, target, parents):
        return sorted(parents, key=lambda j: (-self._single(target, j), j))

    def _single(self, target, j):
        if (target, j) not in self._singles:
            known = self._steps.get((target, (j,), ()))
            self._singles[target, j] = known.value if known else self.ask.value((j,), target)
        return self._singles[target, j]

    def _along(self, target, order):
        return [self._step(target, (j,), tuple(sorted(order[:position]))) for position, j in enumerate(order)]
