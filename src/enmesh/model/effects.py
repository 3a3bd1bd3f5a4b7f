"""Effects and interventions: what the fitted model does if a node is changed, beside what it does if it is not.

Both runs have the same noise and begin at the same states, so that their difference is the effect alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh.data.table import listed
from enmesh.errors import InputError, hazard, refuse_if
from enmesh.explain import long_run_variance
from enmesh.model.fit import Data, fitted
from enmesh.model.nodes import Curve, inputs
from enmesh.model.outlook import Drawn, level_of, named
from enmesh.options import whole

if TYPE_CHECKING:
    import pandas as pd

    from enmesh.model.model import Model

DRAWS = 400
STARTS, FEW_STARTS = 2000, 120  # states to begin from: for the estimate, and for each set of coefficients
REPEATS = 4  # of the noise from each state
CHUNK = 48_000  # paths at a time
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
        how = "kept up" if self.hold else "of one sample"
        sure = f"{self.confidence:.0%} interval {self.low[at]:.3g} to {self.high[at]:.3g}"
        after = f"{at} sample{'s' * (at > 1)}"
        told = (
            f"A change of {self.source} by {self.change:g} {how} moves {self.target} by {self.total[at]:.3g}"
        )
        return f"{told} after {after} ({sure})."

    def __repr__(self) -> str:
        assumed = "\n".join(f"- {one}" for one in self.assumptions)
        return (
            f"{self.sentence}\n{self.table.to_string(float_format='{:.4g}'.format)}\nThis assumes:\n{assumed}"
        )


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
        told = (
            f"do({said}): nodes {what} these values. After {len(self.change)} samples {name} moves most, by"
        )
        return f"{told} {moved[name]:.3g} ({self.confidence:.0%} interval {sure})."

    def __repr__(self) -> str:
        assumed = "\n".join(f"- {one}" for one in self.assumptions)
        shown = self.change.to_string(float_format="{:.4g}".format)
        return f"{self.sentence}\nMean less baseline:\n{shown}\nThis assumes:\n{assumed}"


# --- runs with and without a change -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Worlds:
    """Runs of a model from the same states with the same noise; ``only`` these nodes matter."""

    model: "Model"
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


def _ancestors(model: "Model", nodes: Iterable[int]) -> tuple[int, ...]:
    """Return nodes and all that drive them, directly or not, in order."""
    found, open_ = set(nodes), list(nodes)
    while open_:
        sources = {term.node for term in model.nodes[open_.pop()].terms} - found
        found |= sources
        open_ += sources
    return tuple(sorted(found))


def _between(model: "Model", source: int, target: int, only: Sequence[int]) -> list[int]:
    """Return the nodes on ways from source to target but for these two."""
    reached, open_ = {source}, [source]
    while open_:
        now = open_.pop()
        new = {i for i in only if i not in reached and any(term.node == now for term in model.nodes[i].terms)}
        reached |= new
        open_ += new
    return [i for i in only if i in reached and i not in (source, target)]


def _worlds(
    model: "Model", starts: np.ndarray, horizon: int, only: tuple[int, ...], rng: np.random.Generator,
    params: Mapping[int, np.ndarray] | None = None, repeats: int = 1, quiet: bool = False,
) -> Worlds:  # fmt: skip
    """Return runs from every start with every set of coefficients: paths in order (set, start, repeat).

    All sets have the same noise. ``quiet`` leaves noise out, where the mean is a linear function of it.
    """
    used = {i: model.nodes[i].best for i in only} if params is None else params
    count = max(len(one) for one in used.values())
    each = np.repeat(starts, repeats, axis=0)
    noise = None if quiet else np.tile(model.uniforms(rng, len(each), horizon), (count, 1, 1))
    draw = np.repeat(np.arange(count), len(each))
    return Worlds(model, np.tile(each, (count, 1, 1)), noise, used, draw, horizon, only)


def effect(
    model: "Model",
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
    horizon, limits = whole("horizon", horizon, 1), level_of(confidence)
    start, end = model.index(source), model.index(target)
    _refuse_states(model, start, end, change)
    only = _ancestors(model, (start, end))
    linear = all(model.nodes[i].linear for i in only)
    middle = _between(model, start, end, only)
    states, told, rows = model.starts(series, STARTS, seed)
    starts = states[:1] if linear else states
    multipliers = _multipliers(model, DRAWS, seed)
    others = [i for i in only if i not in (start, end)]
    kept = {"total": (), "direct": tuple(others)} | {model.names[m]: (m,) for m in middle}
    ask = _Question(model, start, end, float(change), hold, horizon, only, kept)
    rng = np.random.default_rng([seed, 3])
    repeats = 1 if linear else max(1, min(REPEATS, CHUNK // len(starts)))
    worlds = _worlds(model, starts, horizon, only, rng, repeats=repeats, quiet=linear)
    paths, far = ask.differences(worlds)
    each = {name: one.reshape(len(starts), repeats, horizon).mean(axis=1) for name, one in paths.items()}
    means = {name: one.mean(axis=0) for name, one in each.items()}
    rng = np.random.default_rng([seed, 4])
    sets = {i: model.nodes[i].drawn(rng, DRAWS) for i in only}
    if graph:
        sets = _graph_params(model, only, rng, DRAWS)
    drawn = _drawn(ask, _spaced(starts, FEW_STARTS), np.random.default_rng([seed, 5]), linear, sets)
    error = {name: _of_starts(one, rows, multipliers, DRAWS, seed) for name, one in each.items()}
    return _assemble(model, ask, means, drawn, error, limits, confidence, told, far, graph)


def _refuse_states(model: "Model", start: int, end: int, change: float) -> None:
    for i in (start, end):
        if i in model.states and isinstance(model.states[i][0], str):
            name = model.names[i]
            raise InputError(
                f"{name} is text and cannot be changed by a number; ask model.intervene({{{name!r}: ...}})"
            )
    if not (isinstance(change, (int, float, np.number)) and np.isfinite(change) and change != 0):
        raise InputError(f"change={change!r} is not possible; give a number that is not 0")


@dataclass(frozen=True)
class _Question:
    """Which effect is asked for; ``kept`` names the runs, with the nodes that keep their values in each."""

    model: "Model"
    start: int
    end: int
    change: float
    hold: bool
    horizon: int
    only: tuple[int, ...]
    kept: Mapping[str, tuple[int, ...]]

    def differences(
        self, worlds: Worlds, names: Sequence[str] | None = None
    ) -> tuple[dict[str, np.ndarray], float]:
        """Return per run the difference of the target ``(path, horizon)``, and the share of inputs out of range."""
        base = worlds.run(worlds.history)
        to = self._moved(base[:, :, self.start])
        known, after = self.model.states.get(self.end), {}
        value = np.array(known, float) if known is not None else None

        def read(run: np.ndarray) -> np.ndarray:
            column = run[:, 1:, self.end]
            return column if value is None else value[column.astype(int)]

        for name in self.kept if names is None else names:
            after[name] = read(worlds.changed(base, {self.start: to}, self.hold, self.kept[name])) - read(
                base
            )
        return after, self._far(to)

    def _moved(self, values: np.ndarray) -> np.ndarray:
        """Return values with the change added; of states the nearest state."""
        known = self.model.states.get(self.start)
        if known is None:
            return values + self.change
        numbers = np.array(known, float)
        asked = numbers[values.astype(int)] + self.change
        return np.abs(asked[..., None] - numbers).argmin(axis=-1).astype(float)

    def _far(self, values: np.ndarray) -> float:
        """Return the share of changed values outside of what curves have seen of the source."""
        shares = [0.0]
        for i in self.only:
            node = self.model.nodes[i]
            if not isinstance(node, Curve) or node.basis.kind == "linear":
                continue
            for place, term in enumerate(node.terms):
                if term.node == self.start and term.state < 0:
                    x = np.tile(node.basis.centre, (len(values), 1))
                    x[:, place] = values[:, 0]
                    shares.append(float(node.basis.beyond(x)[:, place].mean()))
        return max(shares)


def _spaced(starts: np.ndarray, most: int) -> np.ndarray:
    return starts[np.unique(np.linspace(0, len(starts) - 1, most).astype(int))]


def _multipliers(model: "Model", count: int, seed: int) -> np.ndarray | None:
    """Return by how much weights of samples are changed, ``(count, time)``; neighbours in time go together.

    The same changes move coefficients and the mean over starts, which come from the same samples.
    """
    from scipy.ndimage import uniform_filter1d

    if model.series is None:
        return None
    length = max(1, round(model.samples ** (1 / 3)))
    white = np.random.default_rng([seed, 8]).standard_normal((count, model.samples))
    return np.asarray(uniform_filter1d(white, length, axis=1, mode="wrap") * np.sqrt(length))


def _of_starts(
    values: np.ndarray, rows: np.ndarray | None, multipliers: np.ndarray | None, count: int, seed: int
) -> np.ndarray:
    """Return errors of the mean over starts ``(count, horizon)``, of values in the order of time."""
    if len(values) == 1:
        return np.zeros((count, values.shape[1]))
    if rows is not None and multipliers is not None:
        return np.asarray(multipliers[:, rows] @ (values - values.mean(axis=0)) / len(values))
    ends = np.array([0, len(values)])
    error = np.sqrt([long_run_variance(column, ends) / len(values) for column in values.T])
    return np.random.default_rng([seed, 6]).standard_normal((count, len(error))) * error


def _drawn(
    ask: _Question,
    starts: np.ndarray,
    rng: np.random.Generator,
    linear: bool,
    params: Mapping[int, np.ndarray],
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return effects of two halves of the starts ``(set, horizon)`` each, for sets of coefficients.

    Halves share no start and no noise: what they have in common comes from the coefficients.
    """
    halves: list[dict[str, np.ndarray]] = []
    for half in (starts, starts) if linear else (starts[::2], starts[1::2]):
        at_once, parts = max(1, CHUNK // len(half)), []
        noise_seed = rng.integers(2**32)
        for first in range(0, DRAWS, at_once):
            chunk = {i: one[first : first + at_once] if len(one) > 1 else one for i, one in params.items()}
            same = np.random.default_rng(noise_seed)
            worlds = _worlds(ask.model, half, ask.horizon, ask.only, same, chunk, quiet=linear)
            found, _ = ask.differences(worlds)
            shape = (-1, len(half), ask.horizon)
            parts.append({name: one.reshape(shape).mean(axis=1) for name, one in found.items()})
        halves.append({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})
        if linear:
            return {name: (one, one) for name, one in halves[0].items()}
    return {name: (halves[0][name], halves[1][name]) for name in halves[0]}


def _limits(
    mean: np.ndarray, halves: tuple[np.ndarray, np.ndarray], error: np.ndarray, limits: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return low, high and draws around the estimate: doubt about coefficients, and the error of the mean over starts.

    Draws are drawn together by what the halves do not have in common, which is noise of the simulation. What is in
    common to coefficients and starts, which come from the same samples, stays in their sum.
    """
    first, second = halves
    both = (first + second) / 2
    off = both - both.mean(axis=0)
    variance = np.mean((off + error) ** 2, axis=0)
    if (
        first is not second
    ):  # simulated: of the variance of off, what the halves share is that of coefficients
        shared = np.mean((first - first.mean(axis=0)) * (second - second.mean(axis=0)), axis=0)
        total = np.mean(off**2, axis=0)
        shared = np.clip(shared, 0, total)
        least = (
            shared + np.mean(error**2, axis=0)
        ) / 2  # what is in common is known badly where runs are noisy
        variance = np.maximum(variance - total + shared, least)
        off = off * np.sqrt(shared / np.where(total > 0, total, 1))
    moved = np.mean((off + error) ** 2, axis=0)
    scale = np.sqrt(np.maximum(variance, 0) / np.where(moved > 0, moved, 1))
    draws = mean + (off + error) * scale
    spread = np.sqrt(np.maximum(variance, 0))
    low, high = (np.quantile(draws, share, axis=0) for share in limits)
    return np.minimum(low, mean - 1e-12 * spread), np.maximum(high, mean + 1e-12 * spread), draws


def _assemble(
    model: "Model", ask: _Question, means: dict[str, np.ndarray], drawn: Any, error: dict[str, np.ndarray],
    limits: tuple[float, float], confidence: float, told: str, far: float, graph: bool,
) -> Effect:  # fmt: skip
    import pandas as pd

    index = pd.RangeIndex(1, ask.horizon + 1, name="horizon")
    found = {name: _limits(means[name], drawn[name], error[name], limits) for name in ("total", "direct")}
    direct = {"total": means["direct"], "low": found["direct"][0], "high": found["direct"][1]}
    through = {name: means["total"] - means[name] for name in ask.kept if name not in ("total", "direct")}
    linear = all(model.nodes[i].linear for i in ask.only)
    if far > FAR:
        name = model.names[ask.start]
        hazard(
            f"{far:.0%} of the changed values of {name} lie far outside the data, where curves are flat: change less"
        )
    notes = _assumptions(model, told, linear, graph, ask.only)
    if ask.start in model.states:
        notes = (*notes, f"{model.names[ask.start]} goes to the state nearest to its value plus the change.")
    total, low, high = (pd.Series(one, index) for one in (means["total"], *found["total"][:2]))
    ends = model.names[ask.start], model.names[ask.end], ask.change, ask.hold
    frames = pd.DataFrame(direct, index), pd.DataFrame(through, index)
    return Effect(*ends, total, low, high, *frames, confidence, notes, found["total"][2])


def _assumptions(
    model: "Model", told: str, linear: bool, graph: bool, only: Sequence[int]
) -> tuple[str, ...]:
    notes = [
        "Every link of the network is a cause, at its lag, and no hidden node drives two of the nodes.",
        "Nothing else changes: each node follows its fitted equation, whatever the others are set to.",
    ]
    if linear:
        notes.append("All equations on the way are linear: the effect is proportional to the change.")
    else:
        notes.append(
            f"The effect is an average over {told}; curves go on in straight lines a little beyond the data."
        )
    if len(model.noise) and any(model.noise[i, j] for i in only for j in only if i < j):
        notes.append("Noise that nodes share within one sample is not an effect of one on another.")
    held = (
        "coefficients and of the graph (stability)" if graph else "coefficients; the graph is taken as given"
    )
    notes.append(f"Limits hold the uncertainty of {held}.")
    return tuple(notes)


def _graph_params(
    model: "Model", only: Sequence[int], rng: np.random.Generator, count: int
) -> dict[int, np.ndarray]:
    """Return sets of coefficients of graphs whose links are there as often as their stability says.

    Coefficients of a graph without a link are those of a fit without it, in the features of the whole.
    """
    refuse_if(not model.stability, "the network has no stability; infer with bootstrap=100 and fit again")
    refuse_if(model.series is None, "the series is not in memory; call fit(series) again for graph=True")
    data = Data.of(model.series, model.states)
    made = {}
    for i in only:
        node, ends = model.nodes[i], sorted({source for source, _ in model.links[i]})
        shares = [model.stability.get(f"{model.names[s]}>{model.names[i]}", 1.0) for s in ends]
        if not isinstance(node, Curve) or all(share >= 1 for share in shares):
            made[i] = node.drawn(rng, count)
            continue
        there = rng.random((count, len(ends))) < np.array(shares)
        made[i] = np.zeros((count, len(node.beta)))
        for case in np.unique(there, axis=0):
            rows = np.flatnonzero((there == case).all(axis=1))
            made[i][rows] = _without(
                model, data, i, {s for s, keep in zip(ends, case) if not keep}, rng, len(rows)
            )
    return made


def _without(
    model: "Model", data: Data, i: int, gone: set[int], rng: np.random.Generator, count: int
) -> np.ndarray:
    """Return coefficients of a node fitted without some sources, in the features of the node with all of them."""
    node: Any = model.nodes[i]
    if not gone:
        return np.asarray(node.drawn(rng, count))
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
    model: "Model",
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
    horizon, limits = whole("horizon", horizon, 1), level_of(confidence)
    known = ("hold", "pulse", "shift")
    refuse_if(kind not in known, f"kind={kind!r} is not known; use 'hold', 'pulse' or 'shift'")
    refuse_if(start not in ("record", "end"), f"start={start!r} is not known; use 'record' or 'end'")
    refuse_if(not values, "no node is set; name at least one, as {'a': 2.0}")
    numbers = {model.index(name): _number(model, name, value, kind) for name, value in values.items()}
    states, told, rows = model.starts(series, STARTS, seed)
    if start == "end":
        last = states[-1:] if series is None and model.series is None else _last(model, series)
        states, told, rows = np.repeat(last, STARTS // 4, axis=0), "continuations of the last samples", None
    every = tuple(range(len(model.names)))
    columns: list[str] = []

    def means(worlds: Worlds, sets: int) -> tuple[np.ndarray, np.ndarray]:
        base = worlds.run(worlds.history)
        to = {
            i: base[:, :, i] + x if kind == "shift" else np.full(base.shape[:2], x)
            for i, x in numbers.items()
        }
        for i in set(to) & set(model.states):
            to[i] = np.clip(np.rint(to[i]), 0, len(model.states[i]) - 1)
        after = worlds.changed(base, to, kind != "pulse")
        columns[:], shown = named(model, after[:, 1:])
        _, before = named(model, base[:, 1:])
        shape = (sets, -1, horizon, len(columns))
        return shown.reshape(shape), before.reshape(shape)

    rng, shape = np.random.default_rng([seed, 3]), (len(states), REPEATS, horizon, -1)
    found = means(_worlds(model, states, horizon, every, rng, repeats=REPEATS), 1)
    after, before = (one.reshape(shape).mean(axis=1) for one in found)
    both = {"mean": after, "baseline": before, "change": after - before}
    centre = {name: one.mean(axis=0) for name, one in both.items()}
    multipliers = _multipliers(model, DRAWS // 2, seed)
    drawn = _drawn_means(model, states, horizon, means, multipliers, seed)
    made = _framed(both, centre, drawn, columns, limits, (rows, multipliers, seed))
    linear = all(node.linear for node in model.nodes.values())
    notes = _assumptions(model, told, linear, False, every)
    return Intervention(values=dict(values), kind=kind, confidence=confidence, assumptions=notes, **made)


def _framed(
    both: Mapping[str, np.ndarray], centre: Any, drawn: Any, columns: list[str], limits: Any, how: Any
) -> "dict[str, pd.DataFrame]":
    """Return means, their limits and the baseline as tables."""
    import pandas as pd

    rows, multipliers, seed = how
    index = pd.RangeIndex(1, len(centre["mean"]) + 1, name="horizon")
    made = {name: pd.DataFrame(one, index, columns) for name, one in centre.items()}
    for name in ("mean", "change"):
        parts = (both[name][:, :, c] for c in range(len(columns)))
        error = np.stack([_of_starts(one, rows, multipliers, DRAWS // 2, seed) for one in parts], axis=2)
        low, high, _ = _limits(centre[name], drawn[name], error, limits)
        ends = ("low", "high") if name == "mean" else ("change_low", "change_high")
        made |= {end: pd.DataFrame(one, index, columns) for end, one in zip(ends, (low, high))}
    return made


def _drawn_means(
    model: "Model", states: np.ndarray, horizon: int, means: Any, multipliers: Any, seed: int
) -> dict[str, Any]:
    """Return means and changes of two halves of the starts for sets of coefficients."""
    rng = np.random.default_rng([seed, 5])
    every = tuple(range(len(model.names)))
    params = {i: model.nodes[i].drawn(rng, DRAWS // 2, multipliers) for i in every}
    some, halves = _spaced(states, 4 * FEW_STARTS), []
    for half in (some[::2], some[1::2]):
        parts, noise_seed = [], rng.integers(2**32)
        at_once = max(1, CHUNK // (4 * len(half)))
        for first in range(0, DRAWS // 2, at_once):
            chunk = {i: one[first : first + at_once] for i, one in params.items()}
            sets = len(next(iter(chunk.values())))
            worlds = _worlds(model, half, horizon, every, np.random.default_rng(noise_seed), chunk)
            after, before = means(worlds, sets)
            parts.append((after.mean(axis=1), (after - before).mean(axis=1)))
        halves.append([np.concatenate(one) for one in zip(*parts)])
    return {"mean": (halves[0][0], halves[1][0]), "change": (halves[0][1], halves[1][1])}


def _last(model: "Model", series: Any) -> np.ndarray:
    values = model.data(model.series if series is None else series).trials[-1][-model.span :]
    short = len(values) < model.span or bool(np.isnan(values).any())
    refuse_if(short, f"the last {model.span} samples are not complete; use start='record'")
    return np.asarray(values)[None]


def _number(model: "Model", name: str, value: Any, kind: str) -> float:
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
