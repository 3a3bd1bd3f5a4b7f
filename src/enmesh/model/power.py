"""Power: which links a recording can show, and how many samples a link needs.

The default test combines rungs and lags in one p-value (`links.ladder`). Its power for a linear link of T nats is the
share of `DRAWS` draws of its statistics, which are sums of squares of independent normal numbers: those of the line
through the true lag have the mean N (exp(2 T) - 1), spread as the samples of the source are. A regression alone
(``test="linear"``) gives a noncentral F, counting states (``"counting"``) a noncentral chi-square with 2 N T. Where a
link is not linear, recordings are simulated from a fitted model and tested.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from enmesh import late
from enmesh.data.graph_input import edges_in
from enmesh.data.series import Series
from enmesh.data.table import listed, visible
from enmesh.embedding import Lags
from enmesh.errors import InputError, refuse_if
from enmesh.methods import resolve
from enmesh.model.fit import Data
from enmesh.model.nodes import inputs
from enmesh.model.outlook import Drawn
from enmesh.options import error_rate, one_of, whole

if TYPE_CHECKING:
    import pandas as pd

    from enmesh.model.model import Model

DRAWS = 2000  # of the statistics of the default test
LEVEL = 0.01  # of `infer`
MEMORY = 0.5  # correlation of neighbouring samples of a source, where it is not given
SEEN = 0.1  # part of a link that shows at a neighbouring lag, from which on this lag is looked at
SPREAD = 15  # quantiles of the source's variance over which the power is averaged
MOST_SAMPLES = 1e9
CHOSEN = 2000
"""Samples that it costs to choose what is known (own past, basis, functions of time) from the data, times the number
of samples. (Linear links: without it the predicted power is .11 to .14 too large at N = 100, right from N = 300 on.)"""
LEAST_NATS, MOST_NATS = 1e-9, 20.0


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
        from scipy.special import chdtri, chndtr, fdtri, ncfdtr

        if self.states:
            return float(1 - chndtr(float(chdtri(self.dof, self.level)), self.dof, 2 * samples * te))
        left = samples - self.used - self.dof
        if left < 1:
            return 0.0
        limit = float(fdtri(self.dof, left, 1 - self.level))
        sizes = _sizes(samples - self.used, SPREAD) * math.expm1(2 * te)
        return float(1 - np.nan_to_num(ncfdtr(self.dof, left, sizes, limit), nan=0.0).mean())

    def smallest(self, share: float, samples: float) -> float:
        """Return the transfer entropy that is found with a probability of ``share``; infinite if none is."""
        return _smallest(self, share, samples)

    def samples_needed(self, share: float, te: float) -> int:
        """Return the number of embedded samples with which ``te`` nats are found with a probability of ``share``."""
        return _samples_needed(self, share, te)


@lru_cache(maxsize=128)
def _smallest(test: Test, share: float, samples: float) -> float:
    found = _reached(lambda te: test.power(te, samples) - share, LEAST_NATS, MOST_NATS)
    return found if found > LEAST_NATS else 0.0  # false links alone are as many


@lru_cache(maxsize=128)
def _samples_needed(test: Test, share: float, te: float) -> int:
    found = _reached(lambda n: test.power(te, n) - share, test.used + test.dof + 2.0, MOST_SAMPLES)
    refuse_if(math.isinf(found), f"te={te:.3g} nats need more than a billion samples")
    return math.ceil(found)


def _reached(over: Callable[[float], float], low: float, high: float) -> float:
    """Return where a rising function comes to 0: ``low`` if it is above 0 there, infinity if it stays below."""
    from scipy.optimize import brentq

    if over(low) >= 0:
        return low
    if over(high) < 0:
        return math.inf
    return math.exp(float(brentq(lambda x: over(math.exp(x)), math.log(low), math.log(high), xtol=1e-6)))


def _sizes(samples: float, count: int, memory: float = 0.0) -> np.ndarray:
    """Return quantiles of the sum of squares of so many samples of a source with unit variance.

    The squares of neighbouring samples have the correlation ``memory**2``, so that fewer of them are independent.
    """
    from scipy.special import gammaincinv

    alone = max(samples * (1 - memory**2) / (1 + memory**2), 1)
    return np.asarray(2 * gammaincinv(alone / 2, (np.arange(count) + 0.5) / count)) * max(samples, 1) / alone


@dataclass(frozen=True)
class LadderTest(Test):
    """The default test of a linear link at the first of ``lags``, where a line is the best basis of what is known.

    Sources with ``memory`` show the link at neighbouring lags too, and fewer of their shifts count.
    """

    lags: int = 5
    partners: int = 1
    memory: float = MEMORY

    def power(self, te: float, samples: float) -> float:
        """Return the probability that a link of ``te`` nats is found with so many embedded samples."""
        from scipy.special import fdtrc

        from enmesh.links.ladder import LINEAR, SHIFTS, TOGETHER, WEIGHTS

        used = self.used + CHOSEN / max(samples, 1)
        left = samples - used - self.dof
        if left < 4:
            return 0.0
        alike = self.memory ** (2 * max(1.0, samples / SHIFTS))  # squares of sums at neighbouring shifts
        drawn = _drawn_ladder(self.lags, self.partners, self.memory, round(10 * (1 - alike) / (1 + alike)) or 1)
        moved = np.sqrt(_sizes(samples - used, DRAWS, self.memory)[drawn.order] * math.expm1(2 * te))
        noise = (_sizes(left, DRAWS)[drawn.noise] / left)[:, None]
        total, parts = drawn.others, (1 - TOGETHER * (self.lags > 1)) / self.lags
        weights = [weight * parts for weight in WEIGHTS[True]] + [TOGETHER] * (self.lags > 1)
        there = moved[:, None] * self.memory ** np.arange(drawn.line.shape[1])
        # The link gives the target's residual some of the source's memory: shifted sources depend on it a little more.
        more = -math.expm1(-2 * te) * 2 * self.memory**2 / (1 - self.memory**2)
        for rung, (dof, sums, weight) in enumerate(zip(drawn.dof, drawn.sums, weights)):
            signal = there * (2 * drawn.line + there) * (rung != 2)  # the spread does not see a line
            signal = signal[:, :1] if rung == LINEAR else signal
            lines = 0 if rung == 2 else dof if rung == LINEAR else 1
            wider = np.maximum(drawn.wider[rung] * (1 + more * lines / dof), 1)
            p = fdtrc(dof, left, (sums + signal) / (dof * noise * wider))
            total = total + (weight / np.tan(np.pi * np.clip(p, 1e-300, 0.99))).sum(1)
        return float((total >= 1 / math.tan(math.pi * self.level)).mean())


class _Drawn(NamedTuple):
    """Draws of the statistics of the ladder without a link: of the lags that will show it, and what all others add."""

    line: np.ndarray
    sums: list[np.ndarray]
    dof: list[int]
    wider: list[np.ndarray]
    others: np.ndarray
    order: np.ndarray
    noise: np.ndarray


@lru_cache(maxsize=32)
def _drawn_ladder(lags: int, partners: int, memory: float, tenths: int) -> _Drawn:
    """Return draws for sources with ``memory``, of whose shifts so many tenths count."""
    from scipy.special import chdtrc, ndtri

    from enmesh.links.functions import FUNCTIONS
    from enmesh.links.ladder import SHIFTS, TOGETHER, WEIGHTS

    rng = np.random.default_rng(0)
    shifts, features = tenths * SHIFTS / 10, FUNCTIONS + partners
    new = rng.standard_normal((DRAWS, lags, features, FUNCTIONS))
    new[:, 0, 0, 0] = rng.permutation(ndtri((np.arange(DRAWS) + 0.5) / DRAWS))
    kept = memory ** np.array([*range(1, FUNCTIONS + 1), *[1] * partners])[:, None]  # of polynomials of a normal source
    z = new.copy()
    for lag in range(1, lags):
        z[:, lag] = kept * z[:, lag - 1] + np.sqrt(1 - kept**2) * new[:, lag]
    curve = [0, 1, *range(FUNCTIONS, features)]
    shape = z[:, :, [0, FUNCTIONS]]
    chosen = [z[:, :, :1, :1], z[:, :, curve, :1], z[:, :, :2, 1:2], z[:, :, :FUNCTIONS], shape]
    sums = [(one**2).sum((2, 3)) for one in chosen]
    dof = [one.shape[2] * one.shape[3] for one in chosen] + [lags] * (lags > 1)
    wider = [rng.chisquare(shifts * d, (DRAWS, 1)) / (shifts * d) for d in dof]
    near = min(lags, 1 + int(math.log(SEEN) / math.log(memory))) if memory > 0 else 1
    others = np.zeros(DRAWS)
    for d, one, by, weight in zip(dof, sums, wider, WEIGHTS[True]):
        p = np.clip(chdtrc(d, one[:, near:] / np.maximum(by, 1)), 1e-300, 0.99)
        others += (weight * (1 - TOGETHER) / lags / np.tan(np.pi * p)).sum(1)
    of_lags = [one[:, :near] for one in sums] + [(new[:, :, 0, 0] ** 2).sum(1, keepdims=True)] * (lags > 1)
    return _Drawn(z[:, :near, 0, 0], of_lags, dof, wider, others, rng.permutation(DRAWS), rng.permutation(DRAWS))


@dataclass(frozen=True, repr=False)
class Power(Drawn):
    """Which links can be found.

    Attributes
    ----------
    samples, span
        Number of samples of the recording (None before there is one: then `samples_needed` are taken), and how many of
        them lie before the first test.
    level, share
        Error level of a link, and the probability with which a link is to be found.
    lags
        Number of lags that are searched.
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
    links: Mapping[tuple[str, str], Test]
    te: float | None = None
    nodes: int = 2
    trials: int = 1

    @property
    def used_samples(self) -> int:
        """Number of embedded samples."""
        samples = self.samples_needed() if self.samples is None else self.samples
        return max(0, samples - self.trials * self.span)

    @cached_property
    def smallest(self) -> float:
        """Transfer entropy (nats) from which on every link that was asked for is found with probability ``share``.

        A plan without ``samples`` has as many as its ``te`` needs, so that this is about ``te``.
        """
        return self._hardest.smallest(self.share, self.used_samples)

    @property
    def table(self) -> "pd.DataFrame":
        """A row per link: source, target, degrees of freedom, smallest transfer entropy that is found (nats)."""
        import pandas as pd

        known = {test: test.smallest(self.share, self.used_samples) for test in {*self.links.values()}}
        rows = [(*ends, test.dof, known[test]) for ends, test in self.links.items()]
        return pd.DataFrame(rows, columns=["source", "target", "dof", "smallest"])

    @property
    def kind(self) -> str:
        """Which links are meant: of states that are counted all, else linear ones."""
        return "" if self._hardest.states else "linear "

    @property
    def _hardest(self) -> Test:
        return max({*self.links.values()}, key=lambda test: (test.dof, test.used))

    def of(self, te: float, samples: int | None = None) -> float:
        """Return the probability that a link of ``te`` nats is found, in this recording or in one of ``samples``."""
        if samples is not None:
            return replace(self, samples=whole("samples", samples, 1)).of(te)
        return self._hardest.power(_positive("te", te), self.used_samples)

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
            return pd.Series([self.of(te, int(n)) for n in grid], pd.Index(grid, name="samples"), name="power")
        nats = np.geomspace(self.smallest / 20, self.smallest * 4, 60)
        return pd.Series([self.of(float(one)) for one in nats], pd.Index(nats, name="te"), name="power")

    @property
    def sentence(self) -> str:
        """What can be found, for a report or an application for money."""
        how = f"error level {self.level:.2g} per link, {self.lags} lag{'s' * (self.lags > 1)}"
        parts = []
        if self.samples is not None and math.isfinite(self.smallest):
            parts.append(
                f"With {self.samples:,} samples {self.kind}links of at least {self.smallest:.2g} nats are found with a "
                f"probability of {self.share:.0%} ({how}); weaker ones may be missed."
            )
        elif self.samples is not None:
            parts.append(f"With {self.samples:,} samples no link is found with a probability of {self.share:.0%}.")
        if self.te is not None:
            told = f"A {self.kind}link of {self.te:g} nats is found with a probability of {self.share:.0%} from"
            parts.append(f"{told} {self.samples_needed():,} samples on{'' if parts else f' ({how})'}.")
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

        rows = self.table[(self.table.source == source) & (self.table.target == target)].sort_values("samples")
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
    if not (isinstance(value, Real) and 0 < float(value) <= MOST_NATS):
        raise InputError(f"{name}={value!r} is not possible; give a positive number of at most {MOST_NATS:g}")
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
    level: float | None = None,
    share: float = 0.8,
    max_lag: int | None = None,
    own_past: int = 1,
    parents: int = 0,
    states: int = 0,
    test: str | None = None,
    memory: float = MEMORY,
) -> Power:
    """Return which links a recording to come can show, without data.

    Parameters
    ----------
    nodes, te, samples
        Number of nodes, transfer entropy of a link in nats, number of samples: what is known of them. Without
        ``samples`` the recording is as long as ``te`` needs.
    level, share
        Error level of a link, by default that of `infer` (0.01, lower in networks of more than 10 nodes), and the
        probability with which a link is to be found.
    max_lag
        Number of lags that are searched; 5 by default, of the other tests 1.
    own_past, parents
        Numbers of own lags and of other parents that are conditioned on.
    states
        Number of states of each node, for ``test="counting"``.
    test
        ``"default"``: the test of `infer`; ``"linear"``: a regression alone (F); ``"counting"``: states are counted
        (chi-square, as `Discrete` does), which is taken where ``states`` are given.
    memory
        Correlation of neighbouring samples of a source, between 0 and 1: the link shows at neighbouring lags too.

    >>> import enmesh as em
    >>> em.plan(nodes=10, te=0.02, test="linear").samples_needed()
    295
    """
    nodes = whole("nodes", nodes, 2)
    refuse_if(te is None and samples is None, "give te= (nats), samples=, or both")
    states, parents = whole("states", states, 0), whole("parents", parents, 0)
    test = test or ("counting" if states else "default")
    refuse_if(
        states and test != "counting", f"states= goes with test='counting', not with {test!r}; leave one of them out"
    )
    samples = None if samples is None else whole("samples", samples, 3)
    used, links = _Usual.of(test, nodes, level, max_lag, memory), {("a", "b"): (states, [states] * parents, states)}
    return used.power(own_past, links, te, share, samples=samples, nodes=nodes)


class _Usual(NamedTuple):
    """What all links of a network are tested by."""

    test: str
    level: float
    lags: int
    memory: float

    @classmethod
    def of(cls, test: str, nodes: int, level: float | None, max_lag: int | None, memory: float) -> "_Usual":
        from enmesh.links.horizon import USUAL

        one_of("test", test, ("default", "linear", "counting"))
        lags = (USUAL if test == "default" else 1) if max_lag is None else whole("max_lag", max_lag, 1)
        refuse_if(nodes < 2, "a link needs at least 2 nodes; give more columns")
        usual = min(LEVEL, 1 / (nodes * (nodes - 1)))
        possible = isinstance(memory, Real) and 0 <= float(memory) < 1
        refuse_if(not possible, f"memory={memory!r} is not possible; give a number from 0 to below 1")
        return cls(test, usual if level is None else error_rate("level", level), lags, float(memory))

    def of_link(self, own: int, source: int, others: Sequence[int], target: int) -> Test:
        """Return the test of a link; ``source``, ``others`` and ``target`` are numbers of states, 0 of measurements."""
        own = whole("own_past", own, 0)
        if self.test == "counting":
            every = source, target, *others
            refuse_if(0 in every, "counting needs states throughout; use series.discretise(), or another test")
            dof = (target - 1) * (source - 1) * target**own * math.prod(others)
            return Test(dof=dof, used=0, level=self.level / self.lags, states=True)
        used = 1 + own + len(others)
        if self.test == "linear":
            return Test(dof=1, used=used, level=self.level / self.lags)
        partners = min(own, 1) + len(others)
        return LadderTest(1, used, self.level, lags=self.lags, partners=partners, memory=self.memory)

    def power(self, own: int, links: Mapping[tuple[str, str], Any], te: Any, share: float, **about: Any) -> Power:
        """Return what can be found of links ``{(source, target): (states of source, of others, of target)}``."""
        found = {ends: self.of_link(own, *states) for ends, states in links.items()}
        te = None if te is None else _positive("te", te)
        span, share = max(self.lags, own), _between("share", share)
        return Power(span=span, level=self.level, share=share, lags=self.lags, links=found, te=te, **about)


def power(
    pilot: Any,
    level: float | None = None,
    links: Sequence[tuple[str, str]] | None = None,
    *,
    te: float | None = None,
    share: float = 0.8,
    max_lag: int | None = None,
    own_past: int = 1,
    test: str | None = None,
    memory: float = MEMORY,
    samples: Sequence[int] | None = None,
    estimator: Any = None,
    n_surrogates: int | None = None,
    n: int = 100,
    seed: int = 0,
) -> Any:
    """Return which links a recording can show, and how many samples others need.

    A recording or a network gives a `Power`, by the known distribution of the test. A fitted model gives a
    `SimulatedPower`: recordings are simulated from it and tested.

    Parameters
    ----------
    pilot
        A recording, a network, or a model (`Network.fit`).
    level, share
        Error level of a link (of a network that of its run), and the probability with which a link is to be found.
    links
        ``(source, target)`` that are asked for; by default all pairs, of a model its links.
    te
        A transfer entropy in nats whose number of samples is wanted.
    max_lag, own_past, test, memory
        Lags that are searched, own lags, the test, and memory of sources, as in `plan`; of a network those of its run.
    samples, estimator, n_surrogates, n, seed
        Of a model: lengths of recordings; estimator and surrogates, of a test at the lags of the model, else the test
        of `infer`; number of recordings of each length, and their seed.

    >>> import enmesh as em
    >>> found = em.power(em.simulate.var("a>b", n=300, seed=0), te=0.02, test="linear")
    >>> round(found.smallest, 4), found.samples_needed()
    (0.0196, 295)
    """
    _between("share", share)
    if hasattr(pilot, "nodes") and hasattr(pilot, "effect"):
        asked = estimator, n_surrogates
        used = _Usual.of("default", len(pilot.names), level, max_lag, memory)
        return _simulated(pilot, used, links, share, samples, asked, n, seed)
    idle = samples is not None or estimator is not None or n_surrogates is not None
    refuse_if(idle, "samples=, estimator= and n_surrogates= go with a model; give net.fit(series)")
    if hasattr(pilot, "candidates"):
        return _of_network(pilot, level, links, te, share, max_lag, own_past, test, memory)
    series = Series.of(pilot)
    states, about = _states(series), {"samples": len(series), "nodes": series.n_nodes, "trials": len(series.trials)}
    found = {(a, b): (states.get(a, 0), (), states.get(b, 0)) for a, b in _pairs(series.names, links)}
    used = _Usual.of("default" if test is None else test, series.n_nodes, level, max_lag, memory)
    return used.power(own_past, found, te, share, **about)


def _pairs(names: Sequence[str], links: Any) -> list[tuple[str, str]]:
    """Return the links that are asked for, by default all pairs."""
    if links is None:
        return [(a, b) for b in names for a in names if a != b]
    ends = edges_in(links)
    refuse_if(not ends, "no link is named; name at least one, as [('a', 'b')], or leave links out")
    for name in (one for pair in ends for one in pair):
        refuse_if(name not in names, f"there is no node {visible(repr(name))}; the nodes are {listed(names)}")
    return [(source, target) for source, target in ends]


def _of_network(
    network: Any, level: Any, links: Any, te: Any, share: float, max_lag: Any, own_past: int, test: Any, memory: float
) -> Power:
    """Return what the run of a network could find; its series need not be in memory."""
    known, score = network.provenance, network.options.get("score") or {}
    samples, names = known.get("samples"), network.names
    refuse_if(
        not isinstance(samples, int) or "events" in known, "the network has no number of samples; give the recording"
    )
    alpha = score.get("alpha")
    level = level or score.get("level") or (round(1 - alpha, 12) if isinstance(alpha, float) else None)
    counted, states = "Discrete" in str(score.get("estimator")), dict[str, int]()
    test = test or ("default" if score.get("type") == "LinkTest" else "counting" if counted else "linear")
    if test == "counting":
        refuse_if(network.series is None, "how many states there are is not in the network; give the recording")
        states = _states(network.series)
    lags = score.get("max_lag") or _searched(network) if max_lag is None else max_lag
    found = {}
    for a, b in _pairs(names, links):
        found[a, b] = states.get(a, 0), [states.get(p, 0) for p in network.parents[b] if p != a], states.get(b, 0)
    about = {"samples": samples, "nodes": len(names), "trials": int(known.get("trials") or 1)}
    return _Usual.of(test, len(names), level, lags, memory).power(own_past, found, te, share, **about)


def _states(series: Series) -> dict[str, int]:
    """Return the number of states of the nodes that are states."""
    return {series.names[i]: len(known) for i, known in Data.of(series).states.items()}


def _searched(network: Any) -> int:
    """Return the number of lags that the run of a network searched."""
    embedding = (network.options.get("score") or {}).get("embedding") or {}
    lags = [lag for lags in network.edges["lags"] for lag in lags]
    return int(max([1, embedding.get("searched") or 0, *lags]))


def _simulated(
    model: "Model", used: _Usual, links: Any, share: float, samples: Any, test: Any, n: int, seed: int
) -> SimulatedPower:
    import pandas as pd

    import enmesh as em

    ends = list(model.lags) if links is None else [(s, t) for s, t in edges_in(links)]
    refuse_if(not ends, "the model has no links; name some that are in it with links=")
    unknown = [f"{s} > {t}" for s, t in ends if (s, t) not in model.lags]
    refuse_if(unknown, f"the model has no link {listed(unknown)}; it has {listed(f'{s} > {t}' for s, t in model.lags)}")
    if isinstance(samples, str) or not (samples is None or np.iterable(samples)):
        raise InputError(f"samples={samples!r} is no list of lengths; give such as (200, 400)")
    tried, n, seed = (
        (100, 200, 400, 800, 1600) if samples is None else tuple(samples), whole("n", n, 10), whole("seed", seed)
    )  # fmt: skip
    rows = []
    with late.lazy_import("progress")() as progress, progress.phase("recordings", len(ends) * len(tried) * n):
        for source, target in ends:
            asked = _how(model, source, target, used, test)
            for length in tried:
                hits = 0
                for k in range(n):
                    made = model.simulate(whole("samples", length, 20), seed=seed * 100_003 + k)
                    hits += em.significance(made, source, target, **asked, seed=k).p_value <= used.level
                    progress.advance()
                found = hits / n
                error = math.sqrt(max(found * (1 - found), 0.5 / n) / n)
                rows.append((source, target, _explained(model, source, target), length, found, error))
    columns = ["source", "target", "te", "samples", "power", "error"]
    return SimulatedPower(pd.DataFrame(rows, columns=columns), used.level, share, n)


def _how(model: "Model", source: str, target: str, used: _Usual, test: Any) -> dict[str, Any]:
    """Return the words by which a link is tested: as `infer` does, or by an estimator at the lags of the model."""
    given = [p for p in model.parents[target] if p != source]
    if test == (None, None):
        return {"given": given, "max_lag": max(used.lags, *(lag for each in model.lags.values() for lag in each))}
    from enmesh.estimators import Estimator, Gaussian

    lags: dict[Any, Any] = {(a, b): each for (a, b), each in model.lags.items() if b == target}
    lags[target, target] = tuple(range(1, max(1, model.nodes[model.index(target)].own) + 1))
    how = Gaussian() if test[0] is None else resolve(Estimator, test[0])
    return {"given": given, "estimator": how, "embedding": Lags(lags), "n_surrogates": test[1]}


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
    densities = [node.log_density(inputs(data.values, rows, node.terms), y) for node in (model.nodes[i], less)]
    return float(np.mean(densities[0] - densities[1]))
