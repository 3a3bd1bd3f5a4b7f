"""TEE: transfer entropy with empirical independence tests (eq. g-tee), for any estimator.

Sequential (default), parent by parent, shuffling only the parent in question:

    g_TEE(i, parents) = sum_j [ T(j | own past, earlier) - T_alpha(j^s | own past, earlier) ]

The score must belong to the set, not to an order of it. Parents come in the order of what each says alone, the
strongest first: a spurious parent beside a stronger one is then kept as often as asked for. Any other order that costs
more beyond chance, with each of its quantiles a standard error lower, raises the penalty to that. (In deterministic
flows orders differ widely, and an indirect driver fails in one of them. Taking the largest penalty as it is would
favour whichever order chance has raised, and keep a spurious parent less often than asked for; the smallest sum of T as
well would lose true parents, because KSG underestimates a strong parent given a spurious one.)

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
    Sampling,
    by_surrogates,
    check_count,
    empirical,
    least_surrogates,
    order_statistic,
)
from enmesh.surrogates import CircularShift, Surrogate
from enmesh.tasks import finish

# Standard errors by which every quantile of another order is lowered before that order counts.
LOWER = 1.0

# Orders are compared up to this many parents; beyond, the order from the strongest to the weakest counts alone.
ALL_ORDERS = 3


@option
class TEE(Score):
    """Transfer entropy penalised by the surrogates' quantile.

    Parameters
    ----------
    alpha
        Confidence level: a spurious parent is kept with probability 1 - alpha. 0 recovers the naive TE.
    penalty
        ``"sequential"``, parent by parent, or ``"collective"``, all parents together: the paper's literal form, which
        keeps spurious parents beside a strong one.
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

    FORMAT = 2

    def _scorer(self, series):
        return _TEEScorer(self, series)


@dataclass(frozen=True)
class _Step:
    """T, T_alpha, and what T_alpha is at least, but for chance."""

    value: float
    penalty: float
    least: float


class _TEEScorer(Scorer):
    def __init__(self, score, series):
        super().__init__(score, series)
        self._steps: dict[tuple, _Step] = {}
        self._dearest: dict[tuple, float] = {}
        self._singles: dict[tuple[int, int], float] = {}

    def local(self, target, parents):
        if not parents:
            return 0.0
        if self._is_one_piece:
            step = self._step(target, tuple(parents), ())
            return step.value - step.penalty
        steps = [
            self._step(target, (j,), earlier) for j, _, earlier in self._strongest_first(target, parents)
        ]
        penalty = sum(step.penalty for step in steps)
        if len(parents) <= ALL_ORDERS:
            penalty = max(penalty, self._dearest_order(target, tuple(parents)))
        return sum(step.value for step in steps) - penalty

    def edge(self, source, target, given):
        return finish(self.inquiry(source, target, given))

    def inquiry(self, source, target, given, level=None):
        return by_surrogates(self.ask, (source,), target, given, self._sampling, level)

    def tests(self, target, parents):
        """Every parent given every set of earlier ones that some order has."""
        if self._is_one_piece:
            return ()
        if len(parents) <= ALL_ORDERS:
            return tuple(
                (j, target, earlier)
                for j in parents
                for size in range(len(parents))
                for earlier in combinations([p for p in parents if p != j], size)
            )
        return self._strongest_first(target, parents)

    def learn(self, link, test):
        """An edge test samples the same surrogates as a step: value and quantile are the step's."""
        source, target, given = link
        self._learn((target, (source,), given), test)

    def _learn(self, key, test):
        alpha = self.score.alpha
        self._steps[key] = _Step(test.value, test.quantile(alpha), order_statistic(test.null, alpha, LOWER))

    @property
    def _is_one_piece(self):
        return self.score.penalty == "collective" or self.score.alpha == 0

    @property
    def _sampling(self):
        return Sampling(self.score.surrogate, max(1, self.score.n_surrogates), self.score.seed)

    def _step(self, target, sources, earlier) -> _Step:
        """T and T_alpha of sources given earlier parents; every set that contains them shares it."""
        key = target, sources, earlier
        if key not in self._steps:
            if self.score.alpha == 0:
                self._steps[key] = _Step(self.ask.value(sources, target, earlier), 0.0, 0.0)
            else:
                self._learn(key, empirical(self.ask, sources, target, earlier, self._sampling))
        return self._steps[key]

    def _dearest_order(self, target, parents):
        """Return the most that an order costs at least: over the last parent j, the rest's most plus j's given it."""
        if not parents:
            return 0.0
        if (target, parents) not in self._dearest:
            sums = []
            for j in parents:
                rest = tuple(p for p in parents if p != j)
                sums.append(self._dearest_order(target, rest) + self._step(target, (j,), rest).least)
            self._dearest[target, parents] = max(sums)
        return self._dearest[target, parents]

    def _strongest_first(self, target, parents):
        """Return the tests of every parent given those that say more alone."""
        order = sorted(parents, key=lambda j: (-self._single(target, j), j)) if len(parents) > 1 else parents
        return tuple((j, target, tuple(sorted(order[:position]))) for position, j in enumerate(order))

    def _single(self, target, j):
        if (target, j) not in self._singles:
            known = self._steps.get((target, (j,), ()))
            self._singles[target, j] = known.value if known else self.ask.value((j,), target)
        return self._singles[target, j]
