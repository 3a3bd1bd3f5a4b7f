"""Significance tests of links: is a transfer entropy larger than expected if source and target are independent?

Empirical tests compare with surrogates of the source, p = (1 + #{T_s >= T}) / (1 + n), never 0. Analytic ones use the
chi-square distribution of 2 N T, where the estimator has one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from enmesh import late
from enmesh.data.series import Series
from enmesh.embedding import Lagged, Lags, Pasts, checked_pasts
from enmesh.errors import InputError, hazard, refuse_if, refuse_memory
from enmesh.estimators import KSG, Estimator
from enmesh.estimators.base import Surrogates
from enmesh.estimators.wilks import SMALLEST, wilks_p
from enmesh.events.events import Events
from enmesh.measures import Indices, Node, Nodes, Question, Transfers, Variables, link
from enmesh.methods import resolve
from enmesh.options import whole
from enmesh.surrogates import CircularShift, LocalPermute, Surrogate, parted, stream_of
from enmesh.tasks import Task, run


@dataclass(frozen=True)
class Significance:
    """A measured transfer entropy and its null distribution.

    Attributes
    ----------
    value, p_value
        The transfer entropy, nats, and the probability of one as large if the source says nothing of the target.
    null, null_mean
        Values of the surrogates in the order they were drawn, none for an analytic test; the mean under the null.
    lag
        The lag with the largest value, where it was chosen by the test itself (``max_lag``); otherwise None.
    """

    value: float
    p_value: float
    null: np.ndarray
    null_mean: float
    lag: int | None = None

    @property
    def corrected(self) -> float:
        """Bias-corrected value: measured minus the mean under the null."""
        return self.value - self.null_mean

    def quantile(self, alpha: float, lower: float = 0.0) -> float:
        """Return the null's order statistic at ``alpha`` (see `order_statistic`)."""
        refuse_if(not len(self.null), "an analytic test has no surrogate values; ask with n_surrogates=199")
        return order_statistic(self.null, alpha, lower)

    def __repr__(self) -> str:
        tested = f"{len(self.null)} surrogates" if len(self.null) else "analytic"
        shown = f"value={self.value:.6g}, p_value={self.p_value:.4g}, corrected={self.corrected:.6g}"
        return f"Significance({shown}, {tested})"


@dataclass(frozen=True)
class Sampling:
    """How the null distribution is sampled: which surrogates, how many, from which seed."""

    surrogate: Surrogate
    count: int
    seed: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "surrogate", resolve(Surrogate, self.surrogate))
        object.__setattr__(self, "count", whole("n_surrogates", self.count))
        object.__setattr__(self, "seed", whole("seed", self.seed))


Level = float | None  # beyond which the p-value of a test need not be known
# Questions about surrogates, one for each lag, are put in multiples of what neighbour lists answer at a time, the value
# itself being one of the first; and for no fewer surrogates than the second number, whose mean and spread can show that
# a value is clear of them (by Student's t; 52 flows had the same links as with 15).
BATCH, SMALLEST_BATCH = 32, 5
FIRST_LOOK = BATCH - 1
FEWEST = 15  # surrogates of tests that bound a score or confirm a source
USUAL = 199  # surrogates of a test where none are asked for
EXPECTED = 5  # samples for each joint state below which chi-square does not hold (Cochran 1954)
PERMUTED, SEEN = (999, 10)  # permutations then, and how many must reach a value for their share to be its p-value
MANY_LAGS = 0.02  # lags for each sample beyond which the test of the best of them is not sure of itself


def by_surrogates(
    transfers: Transfers, sources: Indices, target: int, given: Indices, sampling: Sampling, level: Level = None
) -> Task[Significance]:
    """Test one link, or several sources together, by surrogates; ``level`` as in `sampled`.

    The surrogates of a source (shifted jointly, if several) are the same whatever is given, so that chance moves
    T_alpha(j | earlier) alike for every set of earlier parents. Where the lags of the source were chosen from the data,
    each surrogate chooses as many among the same lags: one shift for all of them, then the largest value. Where more
    circular shifts are asked for than the record has, they take parts of it on their own, of which there are many more.
    """
    x, y, z = transfers.variables(sources, target, given)
    searched = transfers.blocks.searched > 0 and len(sources) == 1
    asked = transfers.blocks.choices(sources[0]) if searched else x, y, z
    choose = len(x) if searched else 0
    surrogates = drawn(transfers, asked, sampling, choose, in_parts=searched)
    any_shift = getattr(sampling.surrogate, "min_shift", None) is None  # one that is given may not fit a part
    if not searched and any_shift and _distinct(surrogates, sampling.count, warn=False) < sampling.count:
        surrogates = drawn(transfers, asked, sampling, choose, in_parts=True)
    value = None if transfers.joint is None and not searched else transfers.cmi(x, y, z)
    return (yield from sampled(surrogates, sampling.count, value, level))


def drawn(transfers: Transfers, asked: Question, sampling: Sampling, choose: int, in_parts: bool) -> Surrogates:
    """Return surrogates of x, each of which takes the ``choose`` of its variables that say most.

    Parts of the record are shifted on their own (``in_parts``) for tests that need more shifts than the whole has:
    where each surrogate is asked at its best lag, shifts nearer than the number of lags share most of them.
    """
    (x, y, z), blocks = asked, transfers.blocks
    prepared, samples = transfers.prepared(y, z), blocks.take(x)
    starts = parted(samples, blocks.starts, blocks.span) if in_parts else blocks.starts
    draw = sampling.surrogate.plan(samples, prepared.z, starts=starts, span=blocks.span)
    stream = stream_of(sampling.seed, y.node, tuple(sorted({variable.node for variable in x})))
    return prepared.surrogates(samples, draw, stream, choose=choose)


def sampled(
    surrogates: Surrogates, count: int, value: float | None = None, level: Level = None, clear: float = 0.0
) -> Task[Significance]:
    """Compare a value with those of surrogates; None computes the value too, in one batch with the first surrogates.

    With a ``level`` no more surrogates are drawn than it takes to see that the p-value cannot be at most that. With r
    surrogates reaching T, p is at most ``level`` if ``1 + r <= level (1 + count)``; once r is beyond that the verdict
    is certain, and p over those drawn is above ``level`` too. A link that passes has all surrogates; unless none of the
    first reaches T and by the normal distribution that fits them p is below ``clear``: then it is that p.
    """
    count = _distinct(surrogates, count)
    allowed = count if level is None else math.floor(round(level * (1 + count), 9)) - 1
    first = _next_look(0, count, allowed, surrogates.questions)
    answers = surrogates.ask(0, first - (value is None and first < count), itself=value is None)
    yield
    null = answers()
    if value is None:
        value, null = float(null[0]), null[1:]
    while len(null) < count and (null >= value).sum() <= allowed:
        if clear and null.max() < value and (p := fitted_p(value, null)) < clear:
            return replace(tested(value, null), p_value=p)
        answers = surrogates.ask(len(null), _next_look(len(null), count, allowed, surrogates.questions) - len(null))
        yield
        null = np.concatenate([null, answers()])
    return tested(value, null)


def fitted_p(value: float, null: np.ndarray) -> float:
    """Return the probability that a further value of a normal null distribution reaches this one (Student's t)."""
    from scipy.special import stdtr

    spread = null.std(ddof=1) * math.sqrt(1 + 1 / len(null))
    return max(SMALLEST, float(stdtr(len(null) - 1, (null.mean() - value) / max(spread, SMALLEST))))


def _distinct(surrogates: Surrogates, count: int, warn: bool = True) -> int:
    """Return how many of ``count`` surrogates are different; repeated ones would make the p-value too small."""
    distinct = min(count, surrogates.distinct or count)
    if warn and distinct < count:
        hazard(
            f"only {distinct} circular shifts are possible, not {count}: no p-value can be under "
            f"{1 / (1 + distinct):.2g}; a longer record has more"
        )
    return distinct


def every_lag(
    transfers: Transfers, source: int, target: int, given: Sequence[int], sampling: Sampling
) -> tuple[np.ndarray, np.ndarray]:
    """Return what a source says at every lag that was searched, ``(L,)``, and its surrogates, ``(count, L)``."""
    _, y, z = transfers.variables([], target, given)
    choices = transfers.blocks.choices(source)
    values, null = transfers.each(choices, y, z), np.empty((0, len(choices)))
    if sampling.count:
        refuse_memory(f"{sampling.count:,} surrogates at {len(choices):,} lags", 8.0 * sampling.count * len(choices))
        surrogates = drawn(transfers, (choices, y, z), sampling, 1, in_parts=len(choices) > 1)
        null = surrogates.each(_distinct(surrogates, sampling.count))
        warn_of_many_lags(len(choices), transfers.blocks.n)
    return values, null


def warn_of_many_lags(lags: int, samples: int) -> None:
    """Warn where a record is too short for so many lags: shifts nearer than their number share most of them."""
    if lags > 1 and lags > MANY_LAGS * samples:
        hazard(
            f"{lags} lags for {samples} samples: p-values under 0.1 may be too small; use a max_lag of at most "
            f"{max(1, int(MANY_LAGS * samples))} or a longer record"
        )


def best_of(
    transfers: Transfers, source: int, y: Lagged, z: Sequence[Lagged], values: np.ndarray, null: np.ndarray
) -> Significance:
    """Compare the largest of the values with the largest of each surrogate, or divide the level by the lags."""
    value, lag = float(values.max()), 1 + int(values.argmax())
    if len(null):
        return replace(tested(value, null.max(axis=1)), lag=lag)
    x, n = [Lagged(source, lag)], transfers.blocks.n
    if transfers.estimator.discrete:
        single = analytic(transfers, x, y, z).p_value
    else:  # chi-square is too narrow for the best of many lags of a short record
        q = transfers.estimator.targets
        single = float(wilks_p(2 * value, transfers.dof(x, y, z) // q, q, n - 1 - transfers.dof(z, y, ()) // q))
    warn_of_many_lags(len(values), n)
    return Significance(value, min(1.0, single * len(values)), np.empty(0), math.nan, lag)


def tested(value: float, null: np.ndarray) -> Significance:
    """Compare a value with those of surrogates; what is not finite is refused, since no comparison holds with it."""
    found = np.append(null, value)
    if not np.isfinite(found).all():
        odd = found[~np.isfinite(found)]
        raise InputError(
            f"the estimator gave {odd[0]} instead of a finite number in {len(odd)} of {len(found)} cases; "
            "look for constant or repeated values in the data, or use another estimator"
        )
    p_value = (1 + int((null >= value).sum())) / (1 + len(null))
    return Significance(value, p_value, null, float(null.mean()))


def _next_look(seen: int, count: int, allowed: int, questions: int) -> int:
    """Return the number of surrogates after which the test is checked again: about twice as many as now."""
    more = max(seen + 1, SMALLEST_BATCH, 2 * (allowed + 1) - seen)
    look = seen + BATCH * -(-more * questions // BATCH) // questions
    few = count - look < max(SMALLEST_BATCH, BATCH // 2 // questions)  # cost less than another question
    return count if few else look


def analytic_p(dof: int, n: float, value: float) -> float:
    """Return the probability that chi-square with ``dof`` degrees of freedom exceeds 2 N T."""
    from scipy.special import chdtrc

    return max(SMALLEST, float(chdtrc(dof, max(0.0, 2 * n * value))))


def analytic(transfers: Transfers, x: Variables, y: Lagged, z: Variables, choices: int = 1) -> Significance:
    """Test I(x ; y | z) by the chi-square distribution of 2 N I; p times the choices that x is one of (Bonferroni).

    States with fewer than `EXPECTED` samples for each joint one (Cochran 1954) are tested by permutations of x among
    samples of the same z: their mean and variance scale the chi-square distribution.
    """
    dof, n, value = transfers.dof(x, y, z), transfers.effective_samples(x, y, z), transfers.cmi(x, y, z)
    tested(value, np.zeros(1))  # refuses a value that is not finite
    if transfers.estimator.discrete and n < EXPECTED * math.prod(transfers.blocks.arities([*x, y, *z])):
        return _by_permutations(transfers, (list(x), y, list(z)), value, choices)
    return Significance(value, min(1.0, choices * analytic_p(dof, n, value)), np.empty(0), dof / (2 * n))


def _by_permutations(transfers: Transfers, asked: Question, value: float, choices: int) -> Significance:
    """Test a value of states by permutations within those of what is conditioned on (decided by data and seed 0)."""
    from scipy.special import chdtrc

    surrogates = drawn(transfers, asked, Sampling(LocalPermute(), PERMUTED, 0), 0, in_parts=False)
    null = surrogates.ask(0, PERMUTED)()
    mean, spread = float(null.mean()), float(null.var(ddof=1))
    reached = int((null >= value * (1 - 1e-9)).sum())
    p_value = (1 + reached) / (1 + PERMUTED)
    if reached < SEEN and spread > 0:  # too few to count: beyond them by the formula, as wide as they are
        scale = spread / (2 * mean)
        p_value = min(p_value, max(SMALLEST, float(chdtrc(mean / scale, value / scale))))
    return Significance(value, min(1.0, choices * p_value), null, mean)


def by_formula(transfers: Transfers, sources: Indices, target: int, given: Indices) -> Significance:
    """Test one link, or several sources together, by `analytic`; lags that were chosen from the data count."""
    choices = lag_choices(transfers, sources, target)
    return analytic(transfers, *transfers.variables(sources, target, given), choices)


def significance(
    series: Series | Events,
    source: Nodes,
    target: Node,
    *,
    given: Nodes = (),
    estimator: Estimator | str | None = None,
    embedding: Pasts | None = None,
    surrogate: Surrogate | None = None,
    n_surrogates: int | None = None,
    max_lag: int | None = None,
    seed: int = 0,
) -> Significance:
    """Test a transfer entropy: ``.value .p_value .null .corrected .quantile(alpha)``.

    What is left open is chosen as `infer` chooses it, so that the same link, asked given the same sources, has the same
    value, lags and p-value here and in a network.

    Parameters
    ----------
    source, target, given
        As in `transfer_entropy`; several sources are shuffled together and tested collectively.
    surrogate, n_surrogates
        By default ``CircularShift()``, of events ``NearbyHistories()``; and how many: the smallest p-value is
        ``1 / (1 + n_surrogates)``. 0 asks for the analytic test (Gaussian, Regression and Discrete).
    max_lag
        Take the source at the lag from 1 to this with the largest value (``.lag``), and each surrogate at its own best
        lag, so that the p-value holds for what was chosen; the analytic one is multiplied by the number of lags.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> test = em.significance(series, "a", "b", estimator=em.Gaussian(), n_surrogates=99)
    >>> round(test.value, 2), test.p_value, len(test.null)
    (0.07, 0.01, 99)
    """
    count = USUAL if n_surrogates is None else n_surrogates
    if isinstance(series, Events):
        asked = late.lazy_import("events").prepared(series, estimator, embedding=embedding, max_lag=max_lag)
        return run(asked.test(*link(asked.series, source, target, given), surrogate, count, seed))
    series = Series.of(series).in_order()
    whole("seed", seed)
    sources, end, rest = link(series, source, target, given)
    if n_surrogates is None and surrogate is None:
        plan = late.lazy_import("plan")
        wanted = plan.Request(estimator=estimator, embedding=embedding, max_lag=max_lag, seed=seed)
        return plan.asked(series, wanted, sources, end, rest)
    sampling = Sampling(CircularShift() if surrogate is None else surrogate, count, seed)
    pasts, method = checked_pasts(embedding), resolve(Estimator, KSG() if estimator is None else estimator)
    if max_lag is not None:
        refuse_if(len(sources) > 1, "max_lag chooses the lag of one source; name one, or leave max_lag out")
        pasts = Lags.of(pasts, series.names, searched=whole("max_lag", max_lag, 1))
    transfers = Transfers(series, method if sampling.count else method.plug_in, pasts)
    if max_lag is not None:
        _, y, z = transfers.variables([], end, rest)
        return best_of(transfers, sources[0], y, z, *every_lag(transfers, sources[0], end, rest, sampling))
    if not sampling.count:
        return by_formula(transfers, sources, end, rest)
    return run(by_surrogates(transfers, sources, end, rest, sampling))


def lag_choices(transfers: Transfers, sources: Sequence[int], target: int) -> int:
    """Return the number of sets of lags from which the sources' lags were chosen; 1 if the lags were given."""
    blocks = transfers.blocks
    widths = [len(blocks.lags(j, target)) for j in sources] if blocks.searched else []
    return math.prod(math.comb(blocks.searched, width) for width in widths)


def q_values(p_values: np.ndarray, tests: int | None = None) -> np.ndarray:
    """Benjamini-Hochberg: smallest false discovery rate at which each test is still rejected.

    ``tests`` counts those that were made; p-values that are not given are 1.
    """
    p_values = np.asarray(p_values, dtype=float)
    if not len(p_values) or np.isnan(p_values).any():
        return np.full(len(p_values), np.nan)
    order, count = np.argsort(p_values), len(p_values)
    scaled = p_values[order] * (tests or count) / np.arange(1, count + 1)
    found = np.empty(count)
    found[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return found


def q_of(p_value: np.ndarray) -> np.ndarray:
    """Return Benjamini-Hochberg q-values over all entries that are not missing, in the same shape."""
    q, known = np.full(p_value.shape, np.nan), np.isfinite(p_value)
    q[known] = q_values(p_value[known])
    return q


def order_statistic(null: np.ndarray, alpha: float, lower: float = 0.0) -> float:
    """Return the null's value at confidence ``alpha``: the ceil(alpha n)-th smallest; 0 for ``alpha = 0``.

    ``lower`` goes down by so many standard errors of the rank, sqrt(n alpha (1 - alpha)).
    """
    rank = order_rank(len(null), alpha, lower)
    return float(np.sort(null)[rank - 1]) if rank else 0.0


def order_rank(count: int, alpha: float, lower: float = 0.0) -> int:
    """Return which smallest of ``count`` values `order_statistic` takes; 0 for ``alpha = 0``."""
    rank = math.ceil(round(alpha * count, 9))  # .07 x 100 is a little over 7 and would give the 8th
    return max(1, math.floor(rank - lower * math.sqrt(count * alpha * (1 - alpha)))) if rank else 0


def least_surrogates(alpha: float) -> int:
    """Return the fewest surrogates for confidence ``alpha``: ceil(alpha / (1 - alpha)), whose maximum counts."""
    return math.ceil(round(alpha / (1 - alpha), 9)) if alpha < 1 else 1


def usual_surrogates(alpha: float) -> int:
    """Return the number of surrogates of a test where none is asked for: as many as ``alpha`` needs at least."""
    return max(USUAL, least_surrogates(alpha))


def check_surrogates(count: int, alpha: float) -> None:
    """Refuse fewer surrogates than confidence ``alpha`` needs."""
    if count < (least := least_surrogates(alpha)):
        raise InputError(f"{count} surrogates are too few for alpha={alpha:g}; at least {least} are needed")
