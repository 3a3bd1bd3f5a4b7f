"""interval: how strong a transfer entropy is, with limits that hold the true value as often as they say.

Gaussian and Regression: the estimate has a known distribution. With R^2 = 1 - exp(-2 T), the share of the remaining
variance that the source explains, Fisher's transform z = arccosh(exp T) = artanh R has a variance near 1 / N whatever T
is, and N z^2 is noncentral chi-square with as many degrees of freedom as the source adds coefficients. Where noise is
not normal or samples depend on each other, the variance is larger: the local values of the transfer entropy, whose mean
it is, say by how much (they are the influence function of the estimate, apart from a constant).

Others: halves of the data, taken in contiguous blocks. Two halves that share nothing differ as new recordings would;
the mean of halves differs from the whole as the bias of half as many samples does. The bias of nearest neighbours
shrinks as N^(-2/d), d the joint dimension, that of counted states as 1/N. So the value is extrapolated to many samples
(Richardson), and so is every half from its quarters, to know the error of that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from enmesh import late
from enmesh.data.series import Series
from enmesh.draw.shown import Shown
from enmesh.embedding import Pasts, checked_pasts
from enmesh.errors import InputError, hazard, refuse_if
from enmesh.estimators import KSG, Estimator, Gaussian, Regression
from enmesh.explain import long_run_variance
from enmesh.inference.workers import in_order
from enmesh.measures import Node, Transfers, link
from enmesh.options import restore, whole
from enmesh.scores import LinkTest
from enmesh.sureness.units import Units, units_of

SLOWEST = 0.5  # least power of N with which a bias is taken to shrink

Ends = tuple[Sequence[int], int, Sequence[int]]  # sources, target, given


@dataclass(frozen=True)
class Interval(Shown):
    """A transfer entropy between limits, in nats.

    Attributes
    ----------
    value
        The estimate.
    low, high
        Limits that hold the true value with the confidence ``level``; never below 0, as no transfer entropy is.
    level
        The confidence.
    how
        How the limits were found, in words.
    """

    value: float
    low: float
    high: float
    level: float
    how: str

    def __repr__(self) -> str:
        return f"Interval({self.value:.6g}, {self.level:.0%}: {self.low:.6g} to {self.high:.6g} nats; {self.how})"


def interval(
    series: Any,
    source: Node | Sequence[Node],
    target: Node,
    *,
    given: Node | Sequence[Node] = (),
    level: float = 0.95,
    estimator: Estimator | str | None = None,
    embedding: Pasts | None = None,
    network: Any = None,
    n: int = 50,
    n_jobs: int | None = None,
    seed: int = 0,
) -> Interval:
    """Return limits of a transfer entropy: ``.low .high .value``, in nats.

    Gaussian and Regression have analytic limits, all others have those of block subsampling (see the module).
    Coverage was measured by simulation: docs/sureness.md.

    Parameters
    ----------
    source, target, given, estimator, embedding
        As in `transfer_entropy`.
    network
        Take test and lags from a network that `infer` returned; ``given`` are then the other sources of the target in
        it, unless it says others.
    level
        Confidence: the share of recordings whose limits hold the true value.
    n, seed, n_jobs
        Number of cuts into halves and quarters, for estimators without analytic limits, their seed and workers.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b", n=500, seed=0)
    >>> found = em.interval(series, "a", "b", estimator=em.Gaussian())
    >>> print(f"{found.value:.3f} nats, between {found.low:.3f} and {found.high:.3f}")
    0.084 nats, between 0.051 and 0.125
    """
    series = Series.of(series).in_order()
    if not (isinstance(level, (int, float)) and 0 < level < 1):
        raise InputError(f"level={level!r} is not possible; give a confidence between 0 and 1, such as 0.95")
    whole("n", n, 10, limit="bootstrap")
    whole("seed", seed)
    ends = link(series, source, target, given)
    if network is not None:
        ends, score = _asked_as(network, series, ends, not (estimator is None and embedding is None))
        if isinstance(score, LinkTest):
            return _as_inferred(score.bind(series), ends, level)
        estimator, embedding = score.estimator, score.embedding
    if estimator is None and embedding is None:
        return _as_inferred(late.lazy_import("plan").default_scorer(series), ends, level)
    pasts = checked_pasts(embedding)
    transfers = Transfers(series, KSG() if estimator is None else estimator, pasts)
    if isinstance(transfers.estimator, Gaussian | Regression):
        return _analytic(transfers, ends, level)
    units = units_of(series, None, {"embedding": pasts})
    tasks = [(units, transfers.estimator, pasts, ends, [seed, i]) for i in range(n)]
    found = np.array(in_order(_halves, tasks, n_jobs=n_jobs, what="halves"))
    return _subsampled(transfers, ends, found, level)


def _asked_as(network: Any, series: Series, ends: Ends, other: bool) -> tuple[Ends, Any]:
    """Return a question with the other sources of the target in a network as the condition, and the network's score.

    Refuse ``other`` options of the test beside a network.
    """
    refuse_if(other, "network= brings its own test and lags; leave out estimator and embedding")
    known = hasattr(network, "candidates")
    refuse_if(not known, f"network={network!r} is no network; give what infer returned, or leave it out")
    told = f"the network has the nodes {', '.join(network.names)}, the series {', '.join(series.names)}"
    refuse_if(sorted(network.names) != sorted(series.names), f"{told}; give the recording of the network")
    sources, target, given = ends
    others = [node for node in map(series.index, network.parents[series.names[target]]) if node not in sources]
    return (sources, target, given or others), restore(network.options["score"])


def _as_inferred(scorer: Any, ends: Ends, level: float) -> Interval:
    """Return limits of the value by the default test: its sample values are those of regressions."""
    test, (local, rows) = scorer.asked(*ends), scorer.local(*ends)
    starts = np.searchsorted(rows, np.concatenate([[0], np.cumsum(scorer.series.lengths)]))
    dof = max(1.0, 2 * len(local) * test.null_mean)
    return _limits(test.value, local, starts, dof, len(local) - dof - 1, level)


def _analytic(transfers: Transfers, ends: Ends, level: float) -> Interval:
    x, y, z = transfers.variables(*ends)
    local = transfers.cmi(x, y, z, pointwise=True)
    dof, targets = transfers.dof(x, y, z), transfers.estimator.targets
    free = len(local) - (dof + transfers.dof(z, y, ())) // targets - 1
    if free < 1:
        few = f"too few samples: {len(local)} for {len(local) - free} coefficients"
        raise InputError(f"{few}; use fewer lags")
    return _limits(float(local.mean()), local, transfers.blocks.starts, dof, free, level, targets > 1)


def _limits(
    value: float, local: np.ndarray, starts: np.ndarray, dof: float, free: float, level: float, many: bool = False
) -> Interval:
    """Return limits by noncentral chi-square on Fisher's scale, wider for samples that depend on each other.

    The bias is widened as the variance is; not with ``many`` degrees of freedom, most of which are those of chance.
    """
    from scipy.special import chndtr, chndtrinc

    # By how much the variance of the estimate exceeds that of independent normal samples: the long-run variance of
    # the local values over R^2.
    explained = max(1 - np.exp(-2 * max(value, 0.0)), 1e-12)
    factor = max(1.0, long_run_variance(local, starts) / explained)
    dof = dof / factor if many else dof
    seen = free / factor * np.arccosh(np.exp(max(value, 0.0))) ** 2
    limits = []
    for share in ((1 + level) / 2, (1 - level) / 2):
        # the noncentrality with which a value up to the one seen has this probability; 0 if none has
        reached = chndtr(seen, dof, 0.0) > share
        centre = float(chndtrinc(seen, dof, share)) if reached else 0.0
        limits.append(float(np.log(np.cosh(np.sqrt(centre * factor / free)))))
    return Interval(value, limits[0], limits[1], level, "noncentral chi-square on Fisher's scale")


def _halves(units: Units, estimator: Estimator, pasts: Pasts, ends: Ends, seed: list[int]) -> list[float]:
    """Return the values of two halves of a cut, and the mean value of two quarters of each."""

    def measure(chosen: list[int]) -> float:
        return float(Transfers(units.take(chosen), estimator, pasts).value(*ends))

    order, middle = np.random.default_rng(seed).permutation(len(units)).tolist(), len(units) // 2
    halves = order[:middle], order[middle:]
    quarters = [(half[: len(half) // 2], half[len(half) // 2 :]) for half in halves]
    return [*map(measure, halves), *(sum(map(measure, two)) / 2 for two in quarters)]


def _subsampled(transfers: Transfers, ends: Ends, found: np.ndarray, level: float) -> Interval:
    """Return limits around the value less its bias, which shrinks with a power of the number of samples.

    Two halves that complement each other share nothing. Half their difference scatters as the whole does: its
    part from the samples as much, and its part from the estimator's own noise, which is independent in the two, as
    much too. Quarters correct the halves as halves correct the whole, so the error is that of the corrected value.
    """
    from scipy.special import ndtri

    value, (x, _, z) = float(transfers.value(*ends)), transfers.variables(*ends)
    power = 1.0 if transfers.estimator.discrete else max(2 / (len(x) + len(z) + 1), SLOWEST)
    halves, quarters = found[:, :2], found[:, 2:]
    gain = 1 / (2**power - 1)
    centre = value + gain * (value - halves.mean())
    corrected = halves + gain * (halves - quarters)
    error = float(np.sqrt(np.mean((corrected[:, 0] - corrected[:, 1]) ** 2) / 4))
    wide = float(ndtri((1 + level) / 2)) * error
    low, high = max(0.0, centre - wide), max(0.0, centre + wide)
    if not low <= max(0.0, value) <= high:
        hazard(
            f"the estimate changes with the number of samples: {value:.4g} nats from all of them, {halves.mean():.4g} "
            f"from halves; the limits {low:.4g} to {high:.4g} are those of the value extrapolated to many samples"
        )
    return Interval(value, low, high, level, "halves of the data, less the bias")
