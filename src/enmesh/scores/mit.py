"""MIT: mutual information tests (de Campos 2006), the case of full observation: no embedding, no own past.

    g_MIT(i, parents) = 2 N I(Y^i ; parents) - sum_j chi_{alpha, l_ij},
    l_ij = (r_i - 1)(r_j - 1) prod_{earlier k} r_k   (Discrete),   1 (Gaussian)

With ``lag=1`` the parents are those of the slice before (Vinh et al. 2011); with ``lag=0`` they are contemporaneous and
the score is the original one for Bayesian networks, symmetric in single edges.

The penalty (`largest_sum`, TEA's too) is what a set of parents must beat, parent by parent: j adds the chi-square
quantile of its degrees of freedom given the parents before it. For discrete data these depend on the order; the order
that costs most is taken, so that the penalty belongs to the set.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import permutations

from enmesh.data.series import Series
from enmesh.embedding import Embedding, Lagged
from enmesh.errors import InputError
from enmesh.estimators import Discrete, Estimator
from enmesh.measures import Question, Transfers
from enmesh.options import option
from enmesh.scores.base import Parents, PenalisedScorer, Score, Scorer, check_alpha, need_analytic

# From here on, parents in decreasing order of their number of states give the largest penalty (de Campos, Theorem 2).
SORTED_IS_LARGEST = 0.6
MOST_PERMUTED = 7


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
            needed = "an estimator that is the same in both directions"
            raise InputError(f"lag=0 needs {needed}; use Gaussian, or lag=1")

    def _scorer(self, series: Series) -> "Scorer[MIT]":
        return _MITScorer(self, series)


class _SingleSamples(Transfers):
    """Single samples at one lag, without own pasts: I(x ; y | z) of nodes as MIT asks it."""

    def __init__(self, series: Series, estimator: Estimator, lag: int):
        super().__init__(series, estimator, Embedding())
        self._lag = lag

    def variables(self, sources: Iterable[int], target: int, given: Iterable[int] = ()) -> Question:
        x, z = ([Lagged(j, self._lag) for j in sorted(nodes)] for nodes in (sources, given))
        return x, Lagged(target, 0), z


class _MITScorer(PenalisedScorer[MIT]):
    def _transfers(self, series: Series, estimator: Estimator) -> Transfers:
        return _SingleSamples(series, estimator, self.score.lag)

    def fit(self, target: int, parents: Parents) -> float:
        """2 N I(Y^i ; parents)."""
        return 2 * self.transfers.blocks.n * self.transfers.value(parents, target)

    def penalty(self, target: int, parents: Parents) -> float:
        """Sum of chi-square quantiles in the order that costs most."""
        alpha, transfers = self.score.alpha, self.transfers

        def quantile(source: int, earlier: Parents) -> float:
            asked = transfers.variables([source], target, earlier)
            fewer = transfers.blocks.n / transfers.effective_samples(*asked)
            return fewer * chi2_quantile(alpha, transfers.dof(*asked))

        return largest_sum(parents, lambda j: transfers.blocks.arity[j] or 1, quantile, alpha)

    def lags(self, source: int, target: int) -> tuple[int, ...]:
        return (self.score.lag,)


@lru_cache(maxsize=100_000)
def chi2_quantile(alpha: float, dof: int) -> float:
    """Return the value a chi-square variable with ``dof`` degrees of freedom stays under with probability alpha."""
    from scipy.special import gammaincinv

    return 2 * float(gammaincinv(dof / 2, alpha)) if alpha > 0 else 0.0


def largest_sum(
    parents: tuple[int, ...],
    states: Callable[[int], int],
    quantile: Callable[[int, tuple[int, ...]], float],
    alpha: float,
    known: Callable[[tuple[int, ...]], float | None] = lambda earlier: None,
) -> float:
    """Return the largest sum over orders of ``quantile(parent, earlier parents)``.

    ``states(j)`` is the number of joint states of parent j (its width, for continuous ones); ``known`` returns the sum
    of a smaller set, if it has been asked for.
    """
    ordered = tuple(sorted(parents, key=lambda j: (-states(j), j)))
    orders: Iterable[tuple[int, ...]] = [ordered]
    if ordered and alpha >= SORTED_IS_LARGEST and (before := known(tuple(sorted(ordered[:-1])))) is not None:
        return before + quantile(ordered[-1], ordered[:-1])
    if alpha < SORTED_IS_LARGEST and len({states(j) for j in parents}) > 1:
        if len(parents) > MOST_PERMUTED:
            many = f"{len(parents)} parents have too many orders to find the largest penalty"
            use = f"use one of {SORTED_IS_LARGEST} or more, or at most {MOST_PERMUTED} parents"
            raise InputError(f"{many} at alpha={alpha:g}; {use}")
        orders = permutations(ordered)
    return max(sum(quantile(j, order[:at]) for at, j in enumerate(order)) for order in orders)
