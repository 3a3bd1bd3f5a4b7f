"""Power: which links a recording can show, and how many samples a link needs.

A link of T nats, tested by a regression with d coefficients, gives an F statistic whose noncentrality is
N (exp(2 T) - 1), spread as the samples of the source are; counted states give a noncentral chi-square with 2 N T. Lags
that are searched and tests that share the level divide it. Where the null is not known, recordings are simulated
from a fitted model and tested.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh.data.series import Series
from enmesh.data.table import listed
from enmesh.embedding import Lags
from enmesh.errors import InputError, refuse_if
from enmesh.methods import resolve
from enmesh.model.fit import Data
from enmesh.model.nodes import Curve, inputs
from enmesh.model.outlook import Drawn
from enmesh.options import whole

if TYPE_CHECKING:
    import pandas as pd

    from enmesh.model.model import Model

SPREAD = 15  # quantiles of the source's variance over which the power is averaged
MOST_SAMPLES = 1e9
MOST_NATS = 20.0


@dataclass(frozen=True)
class Test:
    """A test of one link: ``dof`` coefficients (or degrees of freedom of states) beside ``used`` known ones."""

    __test__ = False  # no test of ours: pytest need not collect it

    dof: int
    used: int
    level: float
    states: bool = False

    def power(self, te: float, samples: float) -> float:
        """Return the probability that a link of ``te`` nats is found with so many embedded samples."""
        from scipy.special import chdtri, chndtr, fdtri, gammaincinv, ncfdtr

        if self.states:
            return float(1 - chndtr(float(chdtri(self.dof, self.level)), self.dof, 2 * samples * te))
        left = samples - self.used - self.dof
        if left < 1:
            return 0.0
        limit = float(fdtri(self.dof, left, 1 - self.level))
        shares = (np.arange(SPREAD) + 0.5) / SPREAD
        sizes = 2 * gammaincinv((samples - self.used) / 2, shares)
        missed = ncfdtr(self.dof, left, sizes * math.expm1(2 * te), limit)
        return float(1 - np.nan_to_num(missed, nan=0.0).mean())

    def smallest(self, share: float, samples: float) -> float:
        """Return the transfer entropy that is found with a probability of ``share``; infinite if none is."""
        from scipy.optimize import brentq

        def over(log_te: float) -> float:
            return self.power(math.exp(log_te), samples) - share

        if over(math.log(MOST_NATS)) < 0:
            return math.inf
        return math.exp(float(brentq(over, math.log(1e-9), math.log(MOST_NATS), xtol=1e-6)))

    def samples_needed(self, share: float, te: float) -> int:
        """Return the number of embedded samples with which ``te`` nats are found with a probability of ``share``."""
        from scipy.optimize import brentq

        least = self.used + self.dof + 2.0

        def over(log_samples: float) -> float:
            return self.power(te, math.exp(log_samples)) - share

        if over(math.log(least)) >= 0:
            return math.ceil(least)
        refuse_if(over(math.log(MOST_SAMPLES)) < 0, f"te={te:.3g} nats need more than a billion samples")
        return math.ceil(math.exp(float(brentq(over, math.log(least), math.log(MOST_SAMPLES), xtol=1e-9))))


@dataclass(frozen=True, repr=False)
class Power(Drawn):
    """Which links can be found.

    Attributes
    ----------
    samples, span
        Number of samples of the recording (None before there is one), and how many of them lie before the first test.
    level, share
        Error level of a link, and the probability with which a link is to be found.
    lags, tests
        Numbers of lags and of tests among which the level is divided.
    links
        The links that were asked for, with the test of each.
    te
        A transfer entropy that was asked about, in nats.
    nodes
        Number of nodes.
    """

    samples: int | None
    span: int
    level: float
    share: float
    lags: int
    tests: int
    links: Mapping[tuple[str, str], Test]
    te: float | None = None
    nodes: int = 2
    trials: int = 1

    @property
    def used_samples(self) -> int | None:
        """Number of embedded samples."""
        return None if self.samples is None else max(0, self.samples - self.trials * self.span)

    @cached_property
    def smallest(self) -> float:
        """Transfer entropy (nats) from which on every link that was asked for is found with probability ``share``."""
        if self.used_samples is None:
            raise InputError("no number of samples is known; pass samples=, or ask samples_needed(te)")
        return max(test.smallest(self.share, self.used_samples) for test in {*self.links.values()})

    @property
    def table(self) -> "pd.DataFrame":
        """A row per link: source, target, degrees of freedom, smallest transfer entropy that is found (nats)."""
        import pandas as pd

        n = self.used_samples
        known = {
            test: math.nan if n is None else test.smallest(self.share, n) for test in {*self.links.values()}
        }
        rows = [(*ends, test.dof, known[test]) for ends, test in self.links.items()]
        return pd.DataFrame(rows, columns=["source", "target", "dof", "smallest"])

    @property
    def _hardest(self) -> Test:
        return max({*self.links.values()}, key=lambda test: (test.dof, test.used))

    def of(self, te: float, samples: int | None = None) -> float:
        """Return the probability that a link of ``te`` nats is found, in this recording or in one of ``samples``."""
        samples = self.samples if samples is None else whole("samples", samples, 1)
        refuse_if(samples is None, "no number of samples is known; pass samples=")
        return self._hardest.power(_positive("te", te), max(0, int(samples or 0) - self.trials * self.span))

    def samples_needed(self, te: float | None = None) -> int:
        """Return the number of samples with which a link of ``te`` nats is found with probability ``share``."""
        te = self.te if te is None else te
        refuse_if(te is None, "give the transfer entropy of the link in nats, such as samples_needed(0.02)")
        return self._hardest.samples_needed(self.share, _positive("te", te)) + self.trials * self.span

    def curve(self, te: float | None = None) -> "pd.Series[float]":
        """Return the probability to find a link: over samples where ``te`` nats are given, else over nats."""
        import pandas as pd

        te = self.te if te is None else te
        if te is not None:
            top = self.samples_needed(te)
            grid = np.unique(np.geomspace(max(top / 8, self.span + 5), 3 * top, 60).astype(int))
            return pd.Series(
                [self.of(te, int(n)) for n in grid], pd.Index(grid, name="samples"), name="power"
            )
        nats = np.geomspace(self.smallest / 20, self.smallest * 4, 60)
        return pd.Series([self.of(float(one)) for one in nats], pd.Index(nats, name="te"), name="power")

    @property
    def sentence(self) -> str:
        """What can be found, for a report or an application for money."""
        searched = f"{self.lags} lags" if self.lags > 1 else "one lag"
        shared = f"{searched}, {self.tests} tests" if self.tests > 1 else searched
        parts = []
        if self.samples is not None:
            told = (
                f"With {self.samples:,} samples links of at least {self.smallest:.3g} nats are found with a"
            )
            told = f"{told} probability of {self.share:.0%} (error level {self.level:g} per link, {shared})"
            parts.append(f"{told}; weaker ones may be missed.")
        if self.te is not None:
            told = f"A link of {self.te:g} nats is found with a probability of {self.share:.0%} from"
            level = "" if parts else f" (error level {self.level:g} per link, {shared})"
            parts.append(f"{told} {self.samples_needed():,} samples on{level}.")
        if self.nodes > 2:
            pairs = self.nodes * (self.nodes - 1)
            parts.append(
                f"Of {pairs:,} pairs without a link {self.level * pairs:.2g} are expected to show one by chance."
            )
        return " ".join(parts)

    def __repr__(self) -> str:
        return f"Power: {self.sentence}"


@dataclass(frozen=True, repr=False)
class SimulatedPower(Drawn):
    """Power by simulation: ``table`` has a row per link and number of samples, with the share of simulated recordings
    in which the link was found, and its standard error; ``te`` the transfer entropy of the link in the pilot.
    """

    table: "pd.DataFrame"
    level: float
    share: float
    repetitions: int

    def samples_needed(self, source: str, target: str) -> float:
        """Return the number of samples from which a link is found with probability ``share``, between simulated ones.

        NaN where the largest number that was simulated does not suffice.
        """
        from scipy.special import ndtri

        rows = self.table[(self.table.source == source) & (self.table.target == target)].sort_values(
            "samples"
        )
        refuse_if(not len(rows), f"{source} > {target} was not simulated; name it in links=")
        half = 0.5 / self.repetitions
        power = np.maximum.accumulate(ndtri(rows.power.clip(half, 1 - half).to_numpy()))
        wanted, samples = float(ndtri(self.share)), np.log(rows.samples.to_numpy(float))
        if power[-1] < wanted:
            return math.nan
        if power[0] >= wanted:
            return float(np.exp(samples[0]))
        at = int(np.argmax(power >= wanted))
        part = (wanted - power[at - 1]) / (power[at] - power[at - 1])
        return float(np.exp(samples[at - 1] + part * (samples[at] - samples[at - 1])))

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        said = []
        for source, target in self.table[["source", "target"]].drop_duplicates().itertuples(index=False):
            needed = self.samples_needed(source, target)
            most = f"more than {self.table.samples.max():,}"
            said.append(f"{source} > {target} {f'about {needed:,.0f}' if needed == needed else most}")
        told = f"Samples to find a link with a probability of {self.share:.0%} (level {self.level:g}"
        return f"{told}, {self.repetitions} simulated recordings of each length): {'; '.join(said)}."

    def __repr__(self) -> str:
        return f"{self.sentence}\n{self.table.to_string(float_format='{:.3g}'.format, index=False)}"


def _positive(name: str, value: Any) -> float:
    if not (isinstance(value, (int, float, np.number)) and 0 < value < math.inf):
        raise InputError(f"{name}={value!r} is not possible; give a positive number")
    return float(value)


def _between(name: str, value: Any) -> float:
    if not (isinstance(value, (int, float, np.number)) and 0 < value < 1):
        raise InputError(f"{name}={value!r} is not possible; give a number between 0 and 1")
    return float(value)


def plan(
    nodes: int = 2,
    te: float | None = None,
    *,
    samples: int | None = None,
    level: float = 0.01,
    share: float = 0.8,
    max_lag: int = 1,
    tests: int = 1,
    own_past: int = 1,
    parents: int = 0,
    states: int = 0,
) -> Power:
    """Return which links a recording to come can show, without data.

    Parameters
    ----------
    nodes, te, samples
        Number of nodes, transfer entropy of a link in nats, number of samples: what is known of them.
    level, share
        Error level of a link, and the probability with which a link is to be found.
    max_lag, tests
        Number of lags that are searched, and of tests of a link that share the level.
    own_past, parents
        Numbers of own lags and of other parents that are conditioned on.
    states
        Number of states of each node; 0 for measurements.

    >>> import enmesh as em
    >>> em.plan(nodes=10, te=0.02).samples_needed()
    295
    """
    nodes = whole("nodes", nodes, 2)
    refuse_if(te is None and samples is None, "give te= (nats), samples=, or both")
    test = _test(level, max_lag, tests, own_past, states, [states] * whole("parents", parents, 0), states)
    return Power(
        samples=None if samples is None else whole("samples", samples, 3),
        span=max(whole("max_lag", max_lag, 1), own_past),
        level=_between("level", level),
        share=_between("share", share),
        lags=max_lag,
        tests=whole("tests", tests, 1),
        links={("a", "b"): test},
        te=None if te is None else _positive("te", te),
        nodes=nodes,
    )


def _test(
    level: float, lags: int, tests: int, own: int, source: int, others: Sequence[int], target: int
) -> Test:
    """Return the test of a link; ``source``, ``others`` and ``target`` are numbers of states, 0 of measurements."""
    share = _between("level", level) / (whole("max_lag", lags, 1) * whole("tests", tests, 1))
    own = whole("own_past", own, 0)
    if target:
        refuse_if(
            not source or 0 in others,
            "measurements that drive states have no known null; pass a fitted model",
        )
        cells = target**own * math.prod(others)
        return Test(dof=(target - 1) * (source - 1) * cells, used=0, level=share, states=True)
    used = 1 + own + sum(max(1, states - 1) for states in others)
    return Test(dof=max(1, source - 1), used=used, level=share)


def power(
    pilot: Any,
    level: float = 0.01,
    links: Sequence[tuple[str, str]] | None = None,
    *,
    te: float | None = None,
    share: float = 0.8,
    max_lag: int | None = None,
    tests: int = 1,
    own_past: int = 1,
    samples: Sequence[int] | None = None,
    estimator: Any = None,
    n_surrogates: int | None = None,
    n: int = 100,
    seed: int = 0,
) -> Any:
    """Return which links a recording can show, and how many samples others need.

    A recording or a network gives a `Power`, by the known distribution of the test. A fitted model gives a
    `SimulatedPower`: recordings are simulated from it and tested, by any estimator.

    Parameters
    ----------
    pilot
        A recording, a network with its series in memory, or a model (`Network.fit`).
    level, share
        Error level of a link, and the probability with which a link is to be found.
    links
        ``(source, target)`` that are asked for; by default all pairs, of a model its links.
    te
        A transfer entropy in nats whose number of samples is wanted.
    max_lag, tests, own_past
        Lags that are searched (of a network those of its run, else 1), tests that share the level, own lags.
    samples, estimator, n_surrogates, n, seed
        Of a model: lengths of recordings, estimator and surrogates of the test (those of `significance`), number of
        recordings of each length, their seed.

    >>> import enmesh as em
    >>> found = em.power(em.simulate.var("a>b", n=300, seed=0), te=0.02)
    >>> round(found.smallest, 4), found.samples_needed()
    (0.0196, 295)
    """
    _between("share", share)
    if hasattr(pilot, "nodes") and hasattr(pilot, "effect"):
        test = estimator, n_surrogates
        return _simulated(pilot, _between("level", level), links, share, samples, test, n, seed)
    idle = samples is not None or estimator is not None or n_surrogates is not None
    refuse_if(idle, "samples=, estimator= and n_surrogates= go with a model; give net.fit(series)")
    network = pilot if hasattr(pilot, "candidates") else None
    series = Series.of(pilot) if network is None else network.series
    if not hasattr(series, "trials"):
        raise InputError("the series is not in memory; pass it in place of the network")
    searched = (
        _searched(network) if network is not None and max_lag is None else whole("max_lag", max_lag or 1, 1)
    )
    ends = [(a, b) for b in series.names for a in series.names if a != b] if links is None else list(links)
    states = {series.names[i]: len(known) for i, known in Data.of(series).states.items()}
    found = {}
    for source, target in ends:
        series.indices([source, target])
        others = [] if network is None else [p for p in network.parents[target] if p != source]
        counts = [states.get(one, 0) for one in (source, *others, target)]
        found[source, target] = _test(level, searched, tests, own_past, counts[0], counts[1:-1], counts[-1])
    return Power(
        samples=len(series), span=max(searched, own_past), level=float(level), share=share, lags=searched, tests=tests,
        links=found, te=None if te is None else _positive("te", te), nodes=series.n_nodes, trials=len(series.trials),
    )  # fmt: skip


def _searched(network: Any) -> int:
    """Return the number of lags that the run of a network searched."""

    def found(value: Any) -> int:
        if isinstance(value, Mapping):
            here = value.get("searched")
            return max([here if isinstance(here, int) else 0, *map(found, value.values())])
        return max(map(found, value), default=0) if isinstance(value, (list, tuple)) else 0

    lags = [lag for lags in network.edges["lags"] for lag in lags]
    return max([1, found(dict(network.options)), *lags])


def _simulated(
    model: "Model", level: float, links: Any, share: float, samples: Any, test: Any, n: int, seed: int
) -> SimulatedPower:
    import pandas as pd

    import enmesh as em
    from enmesh.estimators import Estimator

    ends = list(model.lags) if links is None else list(links)
    refuse_if(not ends, "the model has no links; name some that are in it with links=")
    unknown = [f"{s} > {t}" for s, t in ends if (s, t) not in model.lags]
    refuse_if(
        unknown,
        f"the model has no link {listed(unknown)}; it has {listed(f'{s} > {t}' for s, t in model.lags)}",
    )
    tried = tuple(samples) if samples is not None else (100, 200, 400, 800, 1600)
    rows = []
    for source, target in ends:
        node = model.nodes[model.index(target)]
        lags: dict[Any, Any] = {(a, b): each for (a, b), each in model.lags.items() if b == target}
        lags[target, target] = tuple(range(1, max(1, node.own) + 1))
        how = _usual_estimator(node) if test[0] is None else resolve(Estimator, test[0])
        asked: dict[str, Any] = {"given": [p for p in model.parents[target] if p != source], "estimator": how}
        asked |= {"embedding": Lags(lags), "n_surrogates": test[1]}
        for length in tried:
            hits = 0
            for k in range(whole("n", n, 10)):
                made = model.simulate(whole("samples", length, 20), seed=seed * 100_003 + k)
                hits += em.significance(made, source, target, **asked, seed=k).p_value <= level
            found = hits / n
            error = math.sqrt(max(found * (1 - found), 0.5 / n) / n)
            rows.append((source, target, _explained(model, source, target), length, found, error))
    columns = ["source", "target", "te", "samples", "power", "error"]
    return SimulatedPower(pd.DataFrame(rows, columns=columns), level, share, n)


def _usual_estimator(node: Any) -> Any:
    from enmesh.estimators import Discrete, Gaussian, Regression

    if not isinstance(node, Curve):
        return Discrete()
    return Gaussian() if node.basis.kind == "linear" else Regression(features="quadratic")


def _explained(model: "Model", source: str, target: str) -> float:
    """Return the transfer entropy of a link in the pilot's data, by the fits with it and without it (nats)."""
    from enmesh.model.fit import fitted

    if model.series is None:
        return math.nan
    data, i, gone = model.data(model.series), model.index(target), model.index(source)
    less = fitted(data, {i: tuple(pair for pair in model.links[i] if pair[0] != gone)}, only=[i])[i]
    rows = data.complete(data.rows(model.span), model.span + 1)
    rows = rows[rows >= max([model.span, *(term.lag for term in less.terms)])]
    y = data.values[rows, i]
    densities = [
        node.log_density(inputs(data.values, rows, node.terms), y) for node in (model.nodes[i], less)
    ]
    return float(np.mean(densities[0] - densities[1]))
