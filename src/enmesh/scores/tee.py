"""TEE: transfer entropy with empirical independence tests (eq. g-tee), for any estimator.

Sequential (default), parent by parent, shuffling only the parent in question:

    g_TEE(i, parents) = sum_j [ T(j | own past, earlier) - T_alpha(j^s | own past, earlier) ]

The score must belong to the set, not to an order of it. Parents come strongest first: a spurious parent beside a
stronger one is then kept as often as asked for. Any other order that costs more beyond chance, with each of its
quantiles a standard error lower, raises the penalty to that: in deterministic flows orders differ widely, and an
indirect driver fails in one of them. (The largest penalty as it is would favour whichever order chance has raised; the
smallest sum of T would lose true parents, because KSG underestimates a strong parent given a spurious one.) Counted
states have one order: their T is the same along any, and quantiles differ by the bias of rarely seen states alone.
"""

from collections.abc import Container, Sequence
from itertools import combinations
from math import inf

import numpy as np

from enmesh import late
from enmesh.data.series import Series
from enmesh.embedding import Pasts
from enmesh.estimators import KSG, Estimator
from enmesh.events.events import Events
from enmesh.options import known_fields, option, whole
from enmesh.scores.base import AtLevel, Link, Parents, Score, Scorer, Tests, check_alpha
from enmesh.significance import Sampling, Significance, by_surrogates, check_surrogates, order_rank
from enmesh.surrogates import Surrogate
from enmesh.tasks import Task, run

# Standard errors by which every quantile of another order is lowered before that order counts, and the parents up to
# which orders are compared; beyond, and for counted states, strongest first counts alone.
LOWER, ALL_ORDERS = 1.0, 3


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
        How the null is sampled, by default as suits the estimator (``CircularShift()``, of events
        ``NearbyHistories()``); at least alpha / (1 - alpha) surrogates, of which the maximum is then the penalty.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> score = em.TEE(estimator=em.Gaussian(), embedding=em.Embedding(), alpha=0.95, n_surrogates=19)
    >>> em.score(series, "a>b", score).total > 0 > em.score(series, "c>a", score).total
    True
    """

    cli_name = "tee"
    cli_options = ("alpha", "surrogate", "n_surrogates", "seed")
    summary = "T minus the quantile of surrogates, for any estimator"
    takes_events = True

    estimator: Estimator = KSG()
    embedding: Pasts | None = None
    alpha: float = 0.99
    penalty: str = "sequential"
    surrogate: Surrogate = None  # type: ignore[assignment]  # the estimator's, from __post_init__ on
    n_surrogates: int = 199
    seed: int = 0

    def __post_init__(self) -> None:
        if self.surrogate is None:
            object.__setattr__(self, "surrogate", self.estimator.usual_surrogate)
        check_alpha(self.alpha)
        whole("n_surrogates", self.n_surrogates)
        known_fields(self, penalty=("sequential", "collective"))
        check_surrogates(self.n_surrogates, self.alpha)

    FORMAT = 4

    def sentence(self) -> str:
        """Say what was scored."""
        return (
            f"the transfer entropy from its parents less the quantile of {self.n_surrogates} surrogates, "
            f"{self.surrogate.sentence()} (TEE, α = {self.alpha})"
        )

    def _scorer(self, series: Series) -> "Scorer[TEE]":
        if isinstance(series, Events):
            return late.lazy_import("scorer of events").EventScorer(self, series)
        return TEEScorer(self, series)


class TEEScorer(Scorer[TEE]):
    """TEE of a series."""

    def __init__(self, score: TEE, series: Series):
        super().__init__(score, series)
        self._compared = 0 if score.estimator.discrete else ALL_ORDERS
        self._tested: dict[Link, Significance] = {}
        self._costs: dict[tuple[int, Parents], float] = {}
        self._singles: dict[tuple[int, int], float] = {}

    def tests(self, target: int, parents: Parents) -> tuple[Link, ...]:
        """Return the test of every parent given every subset of the other parents that an order can put before it."""
        if self._is_joint:
            return ()
        if len(parents) <= self._compared:
            return tuple(
                Link(j, target, earlier)
                for j in parents
                for size in range(len(parents))
                for earlier in combinations([p for p in parents if p != j], size)
            )
        return self._strongest_first(target, parents)

    def combine(self, target: int, parents: Parents, tests: Tests) -> float:
        """Return T minus the penalty: the sum of T_alpha, strongest parent first, or a larger one of another order."""
        if not parents:
            return 0.0
        if self._is_joint:
            return self._collective(target, parents)
        self._tested |= tests
        steps = self._strongest_first(target, parents)
        penalty = sum(map(self._cost, steps))
        if len(parents) <= self._compared:
            penalty = max(penalty, self._largest_cost(target, tuple(parents)))
        return sum(tests[link].value for link in steps) - penalty

    def redundancy_test(self, target: int, parents: Parents, failed: Container[Link] = ()) -> AtLevel | None:
        """Return the test of the weakest parent given all others, at the level of its quantile.

        T grows by T(j | rest) with the weakest j, the penalty by the quantile of j along the strongest-first order, or
        by at least the lowered quantile where all orders are compared, among them the one with j at the end. Where they
        are compared without j but not with it, the test decides only if no other order made the rest cost more.
        """
        if self._is_joint or not parents:
            return None
        *rest, last = self._strongest_first(target, parents)
        if len(parents) == self._compared + 1 and not self._sum_is_reached(target, rest, failed):
            return None
        count = self._sampling().count
        rank = order_rank(count, self.score.alpha, LOWER if len(parents) <= self._compared else 0.0)
        return last, (1 + count - rank) / (1 + count)

    def ceiling_tests(self, target: int, parents: Parents) -> tuple[Link, ...]:
        """Return the tests along the strongest-first order."""
        return () if self._is_joint else self._strongest_first(target, parents)

    def ceiling(self, target: int, parents: Parents, tests: Tests) -> float:
        """Return T minus what the penalty is at least.

        Along the strongest-first order the k-th largest of all surrogates counts, which is no less than the k-th
        largest of some of them; other orders can only cost more.
        """
        count = self._sampling().count
        place = 1 + count - order_rank(count, self.score.alpha)
        steps = [tests[link] for link in self.ceiling_tests(target, parents)]
        if min((len(step.null) for step in steps), default=0) < place:
            return inf
        return sum(step.value - float(np.sort(step.null)[-place]) for step in steps)

    def test(self, link: Link, level: float | None = None, count: int | None = None) -> Task[Significance]:
        """Test an edge by surrogates."""
        return self._sampled((link.source,), link.target, link.given, self._sampling(count), level)

    def _sampled(
        self, sources: Parents, target: int, given: Parents, sampling: Sampling, level: float | None = None
    ) -> Task[Significance]:
        return by_surrogates(self.transfers, sources, target, given, sampling, level)

    @property
    def _is_joint(self) -> bool:
        return self.score.penalty == "collective" or self.score.alpha == 0

    def _sampling(self, count: int | None = None) -> Sampling:
        return Sampling(self.score.surrogate, count or max(1, self.score.n_surrogates), self.score.seed)

    def _collective(self, target: int, parents: Parents) -> float:
        """T of all parents together minus its quantile when all are resampled together."""
        if self.score.alpha == 0:
            return self.transfers.value(parents, target)
        test = run(self._sampled(parents, target, (), self._sampling()))
        return test.value - test.quantile(self.score.alpha)

    def _cost(self, link: Link, lower: float = 0.0) -> float:
        """Return T_alpha of a test, so many standard errors lower."""
        return self._tested[link].quantile(self.score.alpha, lower)

    def _largest_cost(self, target: int, parents: Parents) -> float:
        """Largest penalty over parent orders, by recursion on the last parent, each quantile lowered."""
        if not parents:
            return 0.0
        if (target, parents) not in self._costs:
            sums = []
            for j in parents:
                rest = tuple(p for p in parents if p != j)
                sums.append(self._largest_cost(target, rest) + self._cost(Link(j, target, rest), LOWER))
            self._costs[target, parents] = max(sums)
        return self._costs[target, parents]

    def _sum_is_reached(self, target: int, steps: Sequence[Link], failed: Container[Link]) -> bool:
        """Whether the sum over these steps, strongest first, is known to be no more than the score of some subset."""
        while steps:
            parents = tuple(sorted(link.source for link in steps))
            if (target, parents) in self._costs:
                return self._costs[target, parents] <= sum(map(self._cost, steps))
            if steps[-1] not in failed:
                return False
            steps = steps[:-1]
        return True

    def _strongest_first(self, target: int, parents: Parents) -> tuple[Link, ...]:
        """Return the test of every parent given the parents whose own transfer entropy is larger."""
        order = sorted(parents, key=lambda j: (-self._single(target, j), j)) if len(parents) > 1 else parents
        return tuple(Link(j, target, tuple(sorted(order[:position]))) for position, j in enumerate(order))

    def _single(self, target: int, source: int) -> float:
        if (target, source) not in self._singles:
            self._singles[target, source] = self.transfers.value((source,), target)
        return self._singles[target, source]
