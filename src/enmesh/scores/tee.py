"""TEE: transfer entropy with empirical independence tests (eq. g-tee), for any estimator.

Sequential (default), parent by parent, shuffling only the parent in question:

    g_TEE(i, parents) = sum_j [ T(j | own past, earlier) - T_alpha(j^s | own past, earlier) ]

The score must belong to the set, not to an order of it. The first terms sum to the collective T in any order for
Gaussian and Discrete; estimates of KSG and Kernel do not obey the chain rule, theirs are summed from the strongest
single parent to the weakest. The penalties are the mean over all orders, for up to three parents. Orders differ by the
chance in their quantiles, so the largest sum of penalties would keep a spurious parent less often than asked for; their
mean keeps it as often (docs/calibration.md).

Collective is the paper's literal form, T - T_alpha of all parents shuffled together; it keeps spurious parents beside a
strong one.
"""

from dataclasses import dataclass
from itertools import combinations

from enmesh.conversations import finish
from enmesh.embedding import Embedding
from enmesh.errors import InputError
from enmesh.estimators import KSG, Estimator
from enmesh.options import option
from enmesh.scores.base import Score, Scorer, check_alpha
from enmesh.significance import Sampling, by_surrogates, check_count, empirical, least_surrogates
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
        ``"sequential"`` or ``"collective"``: see the module.
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
        steps = [
            self._step(target, (j,), earlier) for j, _, earlier in self._strongest_first(target, parents)
        ]
        value = sum(step.value for step in steps)
        if len(parents) <= ALL_ORDERS:
            return value - self._mean_penalty(target, tuple(parents))
        return value - sum(step.penalty for step in steps)

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
        self._steps[key] = _Step(test.value, test.quantile(self.score.alpha))

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
                self._steps[key] = _Step(self.ask.value(sources, target, earlier), 0.0)
            else:
                self._learn(key, empirical(self.ask, sources, target, earlier, self._sampling))
        return self._steps[key]

    def _mean_penalty(self, target, parents):
        """Return the mean sum over orders: over the last parent j, the rest's mean plus j's given the rest."""
        if not parents:
            return 0.0
        if (target, parents) not in self._penalties:
            sums = []
            for j in parents:
                rest = tuple(p for p in parents if p != j)
                sums.append(self._mean_penalty(target, rest) + self._step(target, (j,), rest).penalty)
            self._penalties[target, parents] = sum(sums) / len(sums)
        return self._penalties[target, parents]

    def _strongest_first(self, target, parents):
        """Return the tests of every parent given those that say more alone."""
        order = sorted(parents, key=lambda j: (-self._single(target, j), j)) if len(parents) > 1 else parents
        return tuple((j, target, tuple(sorted(order[:position]))) for position, j in enumerate(order))

    def _single(self, target, j):
        if (target, j) not in self._singles:
            known = self._steps.get((target, (j,), ()))
            self._singles[target, j] = known.value if known else self.ask.value((j,), target)
        return self._singles[target, j]
