"""Effects and interventions: what the fitted model does if a node is changed, beside what it does if it is not.

Both runs have the same noise and begin at the same states, so that their difference is the effect alone.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh.data.table import listed
from enmesh.errors import InputError, hazard, refuse_if
from enmesh.model.equations import Equations
from enmesh.model.fit import Data, fitted
from enmesh.model.nodes import Curve, inputs
from enmesh.model.outlook import Drawn, level_of, named
from enmesh.options import one_of, switch, whole

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

DRAWS, FEW_DRAWS = 300, 100  # sets of coefficients, of the chosen and of the richer fit
STARTS, FEW_STARTS = 2000, 150  # states to begin from: for the estimate, and for each set of coefficients
STEADIEST = 0.97  # largest correlation of neighbouring starts that sets a window
WEIGHTS = 4_000_000  # of samples, drawn at a time
PATHS, CHUNK = 8000, 48_000  # that estimate an effect; that run at a time
FAR = 0.05  # share of changed values outside the range of the data from which this is said


@dataclass(frozen=True, repr=False)
class Effect(Drawn):
    """By how much a change of one node moves another, after 1, 2, ... samples.

    Attributes
    ----------
    source, target, change, hold
        Who was changed and by how much: for one sample, or kept up (``hold``).
    total
        The effect at each horizon (Series), between ``low`` and ``high``.
    direct
        DataFrame with total, low and high of the part that goes through source and target alone: all other nodes
        keep the values that they would have without the change.
    through
        DataFrame, a column per node on a way from source to target: by how much less the effect is if that node keeps
        the values that it would have without the change.
    confidence, assumptions
        The share of recordings whose limits hold the effect, and what must be true for that.
    draws
        Effects ``(set of coefficients, horizon)`` that the data do not exclude.
    """

    source: str
    target: str
    change: float
    hold: bool
    total: "pd.Series[float]"
    low: "pd.Series[float]"
    high: "pd.Series[float]"
    direct: "pd.DataFrame"
    through: "pd.DataFrame"
    confidence: float
    assumptions: tuple[str, ...]
    draws: np.ndarray

    @property
    def table(self) -> "pd.DataFrame":
        """Total with its limits, direct, and the parts through other nodes, by horizon."""
        import pandas as pd

        parts = {"total": self.total, "low": self.low, "high": self.high, "direct": self.direct["total"]}
        return pd.DataFrame(parts).join(self.through.add_prefix("through "))

    @property
    def sentence(self) -> str:
        """The effect at the horizon where it is largest, in words."""
        at = int(self.total.abs().to_numpy().argmax()) + 1
        how = "kept up" if self.hold else "for one sample"
        sure = f"{self.confidence:.0%} interval {self.low[at]:.3g} to {self.high[at]:.3g}"
        after = f"{at} sample{'s' * (at > 1)}"
        told = f"A change of {self.source} by {self.change:g} {how} moves {self.target} by {self.total[at]:.3g}"
        return f"{told} after {after} ({sure})."

    def __repr__(self) -> str:
        assumed = "\n".join(f"- {one}" for one in self.assumptions)
        return f"{self.sentence}\n{self.table.to_string(float_format='{:.4g}'.format)}\nThis assumes:\n{assumed}"


@dataclass(frozen=True, repr=False)
class Intervention(Drawn):
    """What all nodes do if some are set, beside what they do if not.

    Attributes
    ----------
    values, kind
        Nodes and what they are set to; ``"hold"``, ``"pulse"`` or ``"shift"``.
    mean, baseline, change
        DataFrames, a row per horizon and a column per node: means with and without the intervention, and their
        difference; of text nodes a column ``node=state`` with the probability.
    low, high
        Limits of ``mean``; ``change_low`` and ``change_high`` are those of ``change``.
    confidence, assumptions
        As in `Effect`.
    """

    values: Mapping[str, Any]
    kind: str
    mean: "pd.DataFrame"
    low: "pd.DataFrame"
    high: "pd.DataFrame"
    baseline: "pd.DataFrame"
    change: "pd.DataFrame"
    change_low: "pd.DataFrame"
    change_high: "pd.DataFrame"
    confidence: float
    assumptions: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What was set, and the node that moves most at the last horizon, in words."""
        said = ", ".join(f"{name} = {value}" for name, value in self.values.items())
        what = {"hold": "kept at", "pulse": "set for one sample to", "shift": "shifted by"}[self.kind]
        moved = self.change.iloc[-1].drop([n for n in self.values if n in self.change], errors="ignore")
        if not len(moved):
            return f"do({said}), {what.split()[0]}."
        name = str(moved.abs().idxmax())
        sure = f"{self.change_low[name].iloc[-1]:.3g} to {self.change_high[name].iloc[-1]:.3g}"
        told = f"do({said}): nodes {what} these values. After {len(self.change)} samples {name} moves most, by"
        return f"{told} {moved[name]:.3g} ({self.confidence:.0%} interval {sure})."

    def __repr__(self) -> str:
        assumed = "\n".join(f"- {one}" for one in self.assumptions)
        shown = self.change.to_string(float_format="{:.4g}".format)
        return f"{self.sentence}\nMean less baseline:\n{shown}\nThis assumes:\n{assumed}"


# --- runs with and without a change -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Worlds:
    """Runs of a model from the same states with the same noise; ``only`` these nodes matter."""

    model: Equations
    history: np.ndarray
    noise: np.ndarray | None
    params: Mapping[int, np.ndarray]
    draw: np.ndarray | int
    horizon: int
    only: tuple[int, ...]

    def run(self, history: np.ndarray, fixed: Mapping[int, np.ndarray] | None = None) -> np.ndarray:
        """Return samples at time 0 (the last of the history) and after it: ``(path, 1 + horizon, node)``."""
        how: dict[str, Any] = {"params": self.params, "draw": self.draw, "only": self.only, "fixed": fixed}
        return self.model.run(history, self.horizon, self.noise, **how)[:, history.shape[1] - 1 :]

    def changed(
        self, base: np.ndarray, to: Mapping[int, np.ndarray], hold: bool, kept: Sequence[int] = ()
    ) -> np.ndarray:
        """Return the run in which nodes have the values ``to (path, time)`` at time 0, or always with ``hold``.

        ``kept`` nodes have the values of ``base`` throughout.
        """
        history = self.history.copy()
        for node, values in to.items():
            history[:, -1, node] = values[:, 0]
        self._within_sample(history, {*to, *kept})
        fixed = {node: base[:, 1:, node] for node in kept}
        fixed |= {node: values[:, 1:] for node, values in to.items()} if hold else {}
        return self.run(history, fixed)

    def _within_sample(self, history: np.ndarray, still: Iterable[int]) -> None:
        """Move nodes that links within one sample join to what was changed, by what their means change."""
        model, last = self.model, history.shape[1] - 1
        for i in model.order:
            node = model.nodes[i]
            if i in still or i not in self.only or not any(term.lag == 0 for term in node.terms):
                continue
            if not isinstance(node, Curve):
                told = f"{model.names[i]} is states that depend on others within one sample"
                raise InputError(f"{told}; no effect on it can be computed, ask about another node")
            new, old = (inputs(values, last, node.terms) for values in (history, self.history))
            params = self.params[i]
            history[:, last, i] += node.mean(new, params, self.draw) - node.mean(old, params, self.draw)


def _ways(model: Equations, nodes: Iterable[int]) -> "nx.DiGraph[int]":
    """Return the graph of some nodes and of all that drive them, directly or not."""
    import networkx as nx

    graph: Any = nx.DiGraph()
    graph.add_nodes_from(range(len(model.names)))
    graph.add_edges_from((term.node, i) for i, node in model.nodes.items() for term in node.terms)
    return graph.subgraph({*nodes}.union(*(nx.ancestors(graph, i) for i in nodes)))


def _worlds(
    ask: "_Question", starts: np.ndarray, rng: np.random.Generator,
    params: Mapping[int, np.ndarray] | None = None, repeats: int = 1,
) -> Worlds:  # fmt: skip
    """Return runs from every start with every set of coefficients: paths in order (set, start, repeat).

    All sets have the same noise; a quiet question has none, as its mean is a linear function of the noise.
    """
    model = ask.model
    used = {i: model.nodes[i].best for i in ask.only} if params is None else params
    count = max(len(one) for one in used.values())
    each = np.repeat(starts, repeats, axis=0)
    noise = None
    if not ask.quiet:
        shocks = model.shocks(rng, len(each), ask.horizon, mirrored=repeats > 1, only=ask.only)
        noise = np.tile(shocks, (count, 1, 1))
    draw = np.repeat(np.arange(count), len(each))
    return Worlds(model, np.tile(each, (count, 1, 1)), noise, used, draw, ask.horizon, ask.only)


def effect(
    model: Equations,
    source: str,
    target: str,
    change: float = 1.0,
    horizon: int = 10,
    *,
    hold: bool = False,
    confidence: float = 0.95,
    graph: bool = False,
    series: Any = None,
    seed: int = 0,
) -> Effect:
    """Return by how much a change of ``source`` moves ``target`` at horizons 1 to ``horizon``, on average.

    Parameters
    ----------
    source, target
        Names of nodes.
    change
        What is added to the source; at time 0 alone, after which it moves on by itself.
    hold
        Keep the source higher by ``change`` than it would be without the change, at time 0 and later.
    confidence
        Share of recordings whose limits hold the effect.
    graph
        Carry the doubt about the graph too: each link is there in a share of the draws that is its ``stability``
        (`infer(bootstrap=...)`). Needs the series in memory.
    series
        Other states to begin from than those of the fitted data.
    seed
        Seed of noise and draws.
    """
    import networkx as nx
    import pandas as pd

    horizon, limits, seed = whole("horizon", horizon, 1), level_of(confidence), whole("seed", seed)
    hold, graph = switch("hold", hold), switch("graph", graph)
    start, end = model.index(source), model.index(target)
    _refuse_states(model, start, end, change)
    ways = _ways(model, (start, end))
    only = tuple(sorted(ways))
    linear = all(model.nodes[i].linear for i in only)
    kept = {"total": (), "direct": tuple(i for i in only if i not in (start, end))}
    kept |= {model.names[m]: (m,) for m in only if m not in (start, end) and nx.has_path(ways, start, m)}
    ask = _Question(model, {start: float(change)}, True, hold, horizon, only, kept, ("total", "direct"), end, linear)
    states, told, rows = model.starts(series, STARTS, seed)
    means, found, drawn = _answered(ask, states, rows, seed, limits, graph)
    notes = _assumptions(model, told, linear, graph, only)
    if start in model.states:
        notes = (*notes, f"{source} goes to the state nearest to its value plus the change.")
    index = pd.RangeIndex(1, horizon + 1, name="horizon")
    total, low, high = (pd.Series(one, index) for one in (means["total"], *found["total"]))
    direct = {"total": means["direct"], "low": found["direct"][0], "high": found["direct"][1]}
    through = {name: means["total"] - means[name] for name in kept if name not in ("total", "direct")}
    frames = pd.DataFrame(direct, index), pd.DataFrame(through, index)
    return Effect(source, target, float(change), hold, total, low, high, *frames, confidence, notes, drawn["total"])


def _refuse_states(model: Equations, start: int, end: int, change: float) -> None:
    for i in (start, end):
        if i in model.states and isinstance(model.states[i][0], str):
            name = model.names[i]
            raise InputError(
                f"{name} is text and cannot be changed by a number; ask model.intervene({{{name!r}: ...}})"
            )
    if not (isinstance(change, Real) and math.isfinite(change) and change != 0):
        raise InputError(f"change={change!r} is not possible; give a number that is not 0")


@dataclass(frozen=True)
class _Question:
    """What is changed, and what is read: a target (``end``), or all nodes.

    ``numbers`` are added to the values of nodes (``shift``) or take their place, at time 0 or always (``hold``).
    ``kept`` names runs, with the nodes that keep their values in each; ``limited`` names the results with limits.
    """

    model: Equations
    numbers: Mapping[int, float]
    shift: bool
    hold: bool
    horizon: int
    only: tuple[int, ...]
    kept: Mapping[str, tuple[int, ...]]
    limited: tuple[str, ...]
    end: int | None = None
    quiet: bool = False

    def answers(self, worlds: Worlds, all_of: bool = False) -> dict[str, np.ndarray]:
        """Return results ``(path, K)``, those with limits or all: differences, and means if all nodes are read."""
        base = worlds.run(worlds.history)
        to = {i: self._values(i, base[:, :, i]) for i in self.numbers}
        before, found = self._read(base), {}
        for name, still in self.kept.items():
            if all_of or name in self.limited:
                found[name] = self._read(worlds.changed(base, to, self.hold, still)) - before
        if self.end is None:
            found |= {"mean": before + found["change"]} | ({"baseline": before} if all_of else {})
        return found

    def _values(self, i: int, values: np.ndarray) -> np.ndarray:
        """Return what a node is set to; of states that are shifted the nearest state."""
        known, x = self.model.states.get(i), self.numbers[i]
        if not self.shift or known is None:
            return values + x if self.shift else np.full(values.shape, x)
        numbers = np.array(known, float)
        asked = numbers[values.astype(int)] + x
        return np.abs(asked[..., None] - numbers).argmin(axis=-1).astype(float)

    def _read(self, run: np.ndarray) -> np.ndarray:
        if self.end is None:
            return named(self.model, run[:, 1:])[1].reshape(len(run), -1)
        column, known = run[:, 1:, self.end], self.model.states.get(self.end)
        return column if known is None else np.array(known, float)[column.astype(int)]

    def warn_of_far(self, states: np.ndarray) -> None:
        """Warn if many changed values lie outside of what curves have seen."""
        for i in self.numbers:
            values, share = self._values(i, states[:, -1:, i])[:, 0], 0.0
            for node in (self.model.nodes[j] for j in self.only):
                for place, term in enumerate(node.terms):
                    if isinstance(node, Curve) and (term.node, term.state) == (i, -1):
                        x = np.tile(node.basis.centre, (len(values), 1))
                        x[:, place] = values
                        share = max(share, float(node.basis.beyond(x)[:, place].mean()))
            if share > FAR:
                told = f"{share:.0%} of the changed values of {self.model.names[i]} lie far outside the data"
                hazard(f"{told}, where curves are flat: change less")


def _answered(
    ask: _Question,
    states: np.ndarray,
    rows: np.ndarray | None,
    seed: int,
    shares: tuple[float, float],
    graph: bool = False,
) -> tuple[dict[str, np.ndarray], dict[str, tuple[np.ndarray, np.ndarray]], dict[str, np.ndarray]]:
    """Return means of all results ``(K,)``; limits, and draws ``(draw, K)``, of those that have some.

    Draws move the states to begin from and the coefficients together (`_sets`). Where the richer fit differs by more
    than chance, draws hold that too: the square of the difference less its variance. (A file has no samples, so
    that draws of both fits do not go together; there the variance is that of the richer fit less that of the chosen.)
    """
    ask.warn_of_far(states)
    starts, model = states[:1] if ask.quiet else states, ask.model
    richer = replace(ask, model=replace(model, nodes={**model.nodes, **model.richer}), quiet=False)
    each, other = _of_starts(ask, starts, seed, True), _of_starts(richer, states, seed)
    means = {name: one.mean(axis=0) for name, one in each.items()}
    moved, (sets, few), wider, paired = _sets(ask, richer, {name: each[name] for name in ask.limited}, rows, seed)
    off, rich = _averages(ask, starts, seed, sets), _averages(richer, states, seed, few)
    rng = np.random.default_rng([seed, 6])
    graphs = _averages(ask, starts, seed, _of_graphs(model, sets, rng)) if graph else off
    ends, drawn = {}, {}
    for name, (best, *_) in off.items():
        some, more = off[name][1 : FEW_DRAWS + 1], rich[name][1:]
        chance = (more - some).var(axis=0) if paired else np.maximum(more.var(axis=0) - some.var(axis=0), 0)
        bias = np.maximum((other[name].mean(axis=0) - means[name]) ** 2 - chance, 0)
        added = wider * (moved[name] - best) + np.sqrt(bias) * rng.standard_normal((DRAWS, 1))
        plain, drawn[name] = (wider * one[name][1:] + added for one in (off, graphs))
        ends[name] = _limits(means[name], drawn[name], (plain < 0).mean(axis=0), shares)
        drawn[name] += means[name]
    return means, ends, drawn


def _of_starts(ask: _Question, starts: np.ndarray, seed: int, all_of: bool = False) -> dict[str, np.ndarray]:
    """Return results of each start ``(start, K)``: means over repeats of the noise, if there is noise."""
    repeats = 1 if ask.quiet else max(2, PATHS // len(starts) // 2 * 2)
    rng = np.random.default_rng([seed, 3])
    found = ask.answers(_worlds(ask, starts, rng, repeats=repeats), all_of)
    return {name: one.reshape(len(starts), repeats, -1).mean(axis=1) for name, one in found.items()}


def _averages(ask: _Question, starts: np.ndarray, seed: int, params: Mapping[int, np.ndarray]) -> dict[str, np.ndarray]:
    """Return means over some starts with the same noise: of the fit, and of sets of coefficients ``(1 + set, K)``."""
    params = {i: np.concatenate([ask.model.nodes[i].best, one]) for i, one in params.items()}
    starts = starts[np.unique(np.linspace(0, len(starts) - 1, FEW_STARTS).astype(int))]
    at_once, parts = max(1, CHUNK // len(starts)), dict[str, list[np.ndarray]]()
    for first in range(0, len(next(iter(params.values()))), at_once):
        chunk = {i: one[first : first + at_once] for i, one in params.items()}
        found = ask.answers(_worlds(ask, starts, np.random.default_rng([seed, 5]), chunk))
        for name, one in found.items():
            parts.setdefault(name, []).append(one.reshape(-1, len(starts), one[0].size).mean(axis=1))
    return {name: np.concatenate(one) for name, one in parts.items()}


Sets = dict[int, np.ndarray]


def _sets(
    ask: _Question, richer: _Question, each: Mapping[str, np.ndarray], rows: np.ndarray | None, seed: int
) -> tuple[dict[str, np.ndarray], tuple[Sets, Sets], float, bool]:
    """Return draws: by how much means over starts move, and coefficients of both fits; a factor; if all go together.

    The samples get random weights, the same for starts and coefficients. Neighbours have similar ones, in windows that
    suit the memory of the results (dependent wild bootstrap, Shao 2010; window of Andrews 1991); coefficients move as
    their influences say (Kline and Santos 2012). The factor is for limits of 95 % with estimated windows (Kiefer and
    Vogelsang 2005).
    """
    rng, count = np.random.default_rng([seed, 4]), len(next(iter(each.values())))
    fits = [{i: one.model.nodes[i] for i in ask.only} for one in (ask, richer)]
    together = rows is not None and all(len(node.rows) for fit in fits for node in fit.values())
    places, window = np.arange(count) if rows is None or not together else rows[:count], _window(each)
    length = 1 + (window - 1) * round((places[-1] - places[0]) / max(count - 1, 1))
    ends = 1 + max([int(places[-1]), *(int(node.rows[-1]) for fit in fits for node in fit.values() if together)])
    moved: dict[str, list[np.ndarray]] = {name: [] for name in each}
    sets: list[dict[int, list[np.ndarray]]] = [{i: [] for i in fit} for fit in fits]
    at_once = max(1, min(DRAWS, WEIGHTS // ends))
    for first in range(0, DRAWS, at_once):
        weights = _weights(rng, min(at_once, DRAWS - first), ends, length)
        for name, one in each.items():
            moved[name].append(weights[:, places] @ (one - one.mean(axis=0)) / count)
        for fit, made, most in zip(fits, sets, (DRAWS, FEW_DRAWS)):
            some = weights[: max(most - first, 0)]
            for i, node in fit.items() if len(some) else ():
                made[i].append(node.moved(some) if together else node.drawn(rng, len(some)))
    joined = [{i: np.concatenate(parts) for i, parts in made.items()} for made in sets]
    wider = 1 + 2.9694 / 1.96 * (window - 1) / count
    return {name: np.concatenate(parts) for name, parts in moved.items()}, (joined[0], joined[1]), wider, together


def _window(each: Mapping[str, np.ndarray]) -> int:
    """Return how many starts in a row get similar weights: Andrews' choice for the steadiest result."""
    values = np.concatenate([one - one.mean(axis=0) for one in each.values()], axis=1)
    size, n = (values**2).sum(axis=0), len(values)
    moving = size > 1e-18 * n * (1 + np.max(np.abs(values), initial=0) ** 2)
    if n < 8 or not moving.any():
        return 1
    steady = np.abs((values[1:] * values[:-1]).sum(axis=0)[moving] / size[moving]).max()
    steady = min(float(steady), STEADIEST)
    alpha = 4 * steady**2 / ((1 - steady) * (1 + steady)) ** 2
    return int(np.clip(round(1.1447 * (alpha * n) ** (1 / 3)), 1, n // 4))


def _weights(rng: np.random.Generator, count: int, size: int, length: int) -> np.ndarray:
    """Return random weights less 1 ``(draw, sample)``: normal, with Bartlett's correlations over ``length`` samples."""
    sums = rng.standard_normal((count, size + length)).cumsum(axis=1)
    return np.asarray((sums[:, length:] - sums[:, :-length]) / math.sqrt(length))


def _limits(
    mean: np.ndarray, off: np.ndarray, below: np.ndarray, shares: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Return low and high from draws less the mean, of which a share lies below 0 (bias-corrected; Efron 1982).

    They hold the mean also where rounding alone moves it.
    """
    from scipy.special import ndtr, ndtri

    spread, tilt = 1e-12 * off.std(axis=0), 2 * ndtri(np.clip(below, 0.01, 0.99))
    tilt = np.where(off.std(axis=0) > 1e-9 * np.abs(mean), tilt, 0)
    low, high = (
        np.array([np.quantile(one, p, method="weibull") for one, p in zip(off.T, ndtr(tilt + ndtri(share)))])
        for share in shares
    )
    return mean + np.minimum(low, -spread), mean + np.maximum(high, spread)


def _assumptions(model: Equations, told: str, linear: bool, graph: bool, only: Sequence[int]) -> tuple[str, ...]:
    notes = [
        "Every link of the network is a cause, at its lag, and no hidden node drives two of the nodes.",
        "Nothing else changes: each node follows its fitted equation, whatever the others are set to.",
    ]
    if linear:
        notes.append("All equations on the way are linear: the effect is proportional to the change.")
    else:
        notes.append(f"The effect is an average over {told}; curves go on in straight lines a little beyond the data.")
    if len(model.noise) and any(model.noise[i, j] for i in only for j in only if i < j):
        notes.append("Noise that nodes share within one sample is not an effect of one on another.")
    held = "of bases and of the graph (stability)" if graph else "and of bases; the graph is taken as given"
    notes.append(f"The limits include the uncertainty of coefficients{', ' if graph else ' '}{held}.")
    return tuple(notes)


def _of_graphs(model: Equations, sets: Sets, rng: np.random.Generator) -> Sets:
    """Return sets of coefficients of graphs whose links are there as often as their stability says.

    Coefficients of a graph without a link are those of a fit without it, in the features of the whole.
    """
    refuse_if(not model.stability, "the network has no stability; infer with bootstrap=100 and fit again")
    refuse_if(model.series is None, "the series is not in memory; call fit(series) again for graph=True")
    data, made = Data.of(model.series, model.states), {i: one.copy() for i, one in sets.items()}
    for i, params in made.items():
        ends = sorted({source for source, _ in model.links[i]})
        shares = [model.stability.get(f"{model.names[s]}>{model.names[i]}", 1.0) for s in ends]
        if isinstance(model.nodes[i], Curve):
            there = rng.random((DRAWS, len(ends))) < np.array(shares)
            for case in np.unique(there[~there.all(axis=1)], axis=0):
                rows = np.flatnonzero((there == case).all(axis=1))
                gone = {s for s, keep in zip(ends, case) if not keep}
                params[rows] = _without(model, data, i, gone, rng, len(rows))
    return made


def _without(model: Equations, data: Data, i: int, gone: set[int], rng: np.random.Generator, count: int) -> np.ndarray:
    """Return coefficients of a node fitted without some sources, in the features of the node with all of them."""
    node: Any = model.nodes[i]
    links = {i: tuple(pair for pair in model.links[i] if pair[0] not in gone)}
    less: Any = fitted(data, links, own_past=node.own, basis=node.basis.kind, only=[i])[i]
    rows = data.rows(model.span)
    x = inputs(data.values, rows, node.terms)
    there = ~np.isnan(x).any(axis=1)
    narrow = inputs(data.values, rows, less.terms)[there]
    features = node.basis(x[there])
    wanted = less.basis(narrow) @ less.drawn(rng, count).T
    return np.linalg.lstsq(features, wanted, rcond=None)[0].T


# --- interventions ----------------------------------------------------------------------------------------------------


def intervene(
    model: Equations,
    values: Mapping[str, Any],
    horizon: int = 10,
    *,
    kind: str = "hold",
    start: str = "record",
    confidence: float = 0.95,
    series: Any = None,
    seed: int = 0,
) -> Intervention:
    """Return what all nodes do, on average, if some are set.

    Parameters
    ----------
    values
        ``{node: value}``; of a node of text the name of a state.
    horizon
        Number of samples after time 0, at which the intervention begins.
    kind
        ``"hold"`` keeps nodes at the values; ``"pulse"`` sets them at time 0 and lets them go; ``"shift"`` keeps them
        by the values higher than they would be.
    start
        ``"record"``: from the states of the recording, on average; ``"end"``: from its last samples.
    confidence, series, seed
        As in `effect`.
    """
    import pandas as pd

    horizon, limits = whole("horizon", horizon, 1), level_of(confidence)
    one_of("kind", kind, ("hold", "pulse", "shift"))
    one_of("start", start, ("record", "end"))
    refuse_if(not isinstance(values, Mapping) or not values, "no node is set; name at least one, as {'a': 2.0}")
    seed = whole("seed", seed)
    numbers = {model.index(name): _number(model, name, value, kind) for name, value in values.items()}
    states, told, rows = model.starts(series, STARTS, seed)
    if start == "end":
        last = states[-1:] if series is None and model.series is None else _last(model, series)
        states, told, rows = np.repeat(last, STARTS // 4, axis=0), "continuations of the last samples", None
    only = tuple(range(len(model.names)))
    ask = _Question(model, numbers, kind == "shift", kind != "pulse", horizon, only, {"change": ()}, ("mean", "change"))
    means, ends, _ = _answered(ask, states, rows, seed, limits)
    means |= dict(zip(("low", "high", "change_low", "change_high"), (*ends["mean"], *ends["change"])))
    index, columns = pd.RangeIndex(1, horizon + 1, name="horizon"), named(model, states[:1])[0]
    made = {name: pd.DataFrame(one.reshape(horizon, -1), index, columns) for name, one in means.items()}
    notes = _assumptions(model, told, all(node.linear for node in model.nodes.values()), False, only)
    return Intervention(values=dict(values), kind=kind, confidence=confidence, assumptions=notes, **made)


def _last(model: Equations, series: Any) -> np.ndarray:
    values = model.data(model.series if series is None else series).trials[-1][-model.span :]
    short = len(values) < model.span or bool(np.isnan(values).any())
    refuse_if(short, f"the last {model.span} samples are not complete; use start='record'")
    return np.asarray(values)[None]


def _number(model: Equations, name: str, value: Any, kind: str) -> float:
    """Return a value as the model holds it: a state by its position."""
    known = model.states.get(model.index(name))
    if known is not None and kind != "shift":
        if value not in known:
            raise InputError(f"{name} has no state {value!r}; its states are {listed(map(str, known))}")
        return float(known.index(value))
    refuse_if(known is not None, f"{name} is states, which cannot be shifted; use kind='hold' or 'pulse'")
    if not (isinstance(value, (int, float, np.number)) and np.isfinite(value)):
        raise InputError(f"{name} cannot be set to {value!r}; give a number")
    return float(value)
