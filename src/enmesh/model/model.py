"""Model: a network with numbers. It forecasts, is simulated, intervened upon, and scored on data it has not seen."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh.data.series import Series
from enmesh.data.sources import write_whole
from enmesh.data.table import listed, visible
from enmesh.errors import InputError, refuse_if
from enmesh.model.fit import Data, fitted, links_of, richer
from enmesh.model.nodes import DIGITS, KINDS, Curve, Node, inputs
from enmesh.options import plain, whole

if TYPE_CHECKING:
    import pandas as pd

    from enmesh.model.effects import Effect, Intervention
    from enmesh.model.outlook import Forecast
    from enmesh.model.skill import Skill

FORMAT = "enmesh model 1"
CORRELATED = 3.3  # standard errors from which noise of two nodes is taken as correlated
RUNAWAY = 1e6  # usual standard deviations
BURN_IN = 200


@dataclass(frozen=True, kw_only=True)
class Model:
    """A predictive distribution of each node given its parents and its own past (`Network.fit`).

    Attributes
    ----------
    names, nodes
        Names, and for each node a regression or a table of states.
    states
        ``{position: (state, ...)}`` of the nodes that are states.
    links
        ``{target: ((source, lag), ...)}``, all by position.
    noise
        Correlation of the noise of different nodes in one sample, on the normal scale.
    recent
        The last samples, from which a forecast starts if no other series is given.
    stability
        ``{"a>b": share}`` of the network, where it is known.
    samples, digest
        Number of samples and identity of the data.
    richer
        The nodes with one more own lag and the next basis: limits of effects hold the difference (`fit.richer`).
    series
        The data, as long as the model is in memory; effects are then averages over the states in them.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> net = em.infer(series, score="tea", estimator="gaussian", max_lag=1)
    >>> model = net.fit(series)
    >>> model.summary[["basis", "own_past"]].to_dict("list")
    {'basis': ['linear', 'linear', 'linear'], 'own_past': [1, 1, 1]}
    >>> effect = model.effect("a", "b", change=1.0, horizon=3)
    >>> bool(effect.low[1] < 0.4 < effect.high[1])
    True
    """

    names: tuple[str, ...]
    nodes: Mapping[int, Node]
    links: Mapping[int, tuple[tuple[int, int], ...]]
    states: Mapping[int, tuple[Any, ...]] = field(default_factory=dict)
    noise: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    recent: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    stability: Mapping[str, float] = field(default_factory=dict)
    samples: int = 0
    digest: str = ""
    dt: float = 1.0
    richer: Mapping[int, Node] = field(default_factory=dict, repr=False)
    series: Any = field(default=None, compare=False, repr=False)

    @property
    def parents(self) -> dict[str, tuple[str, ...]]:
        """The graph: ``{target: parents}``."""
        named = {t: dict.fromkeys(self.names[s] for s, _ in self.links[t]) for t in sorted(self.links)}
        return {self.names[t]: tuple(sources) for t, sources in named.items()}

    @property
    def lags(self) -> dict[tuple[str, str], tuple[int, ...]]:
        """Lags of every link ``(source, target)``."""
        found: dict[tuple[str, str], tuple[int, ...]] = {}
        for target, pairs in self.links.items():
            for source, lag in pairs:
                ends = self.names[source], self.names[target]
                found[ends] = (*found.get(ends, ()), lag)
        return found

    @property
    def span(self) -> int:
        """Number of samples that the next one depends on."""
        every = (*self.nodes.values(), *self.richer.values())
        return max([1, *(term.lag for node in every for term in node.terms)])

    @property
    def summary(self) -> "pd.DataFrame":
        """A row per node: parents, basis, length of the own past, whether the spread depends on inputs, R2.

        R2 is out of sample (leave one out); of states it is the share of their entropy that is explained.
        """
        import pandas as pd

        rows = []
        for i, name in enumerate(self.names):
            node = self.nodes[i]
            kind = node.basis.kind if isinstance(node, Curve) else "table"
            spread = "depends on inputs" if isinstance(node, Curve) and len(node.gamma) else "constant"
            spread = spread if isinstance(node, Curve) else ""
            rows.append((name, ", ".join(self.parents[name]), kind, node.own, spread, node.r2))
        return pd.DataFrame(rows, columns=["node", "parents", "basis", "own_past", "spread", "r2"])

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Nodes in an order in which links within one sample go forward."""
        import networkx as nx

        graph: Any = nx.DiGraph()
        graph.add_nodes_from(range(len(self.names)))
        graph.add_edges_from((s, t) for t, pairs in self.links.items() for s, lag in pairs if lag == 0)
        refuse_if(
            not nx.is_directed_acyclic_graph(graph), "links within one sample form a cycle; leave one of them out"
        )
        return tuple(nx.lexicographical_topological_sort(graph))

    def index(self, name: str) -> int:
        """Return the position of a node."""
        if name not in self.names:
            raise InputError(f"there is no node {visible(repr(name))}; the nodes are {listed(self.names)}")
        return self.names.index(name)

    def uniforms(self, rng: np.random.Generator, paths: int, steps: int) -> np.ndarray:
        """Return noise ``(paths, steps, node)`` as ranks between 0 and 1, correlated as that of the data."""
        normal = rng.standard_normal((paths, steps, len(self.names)))
        if len(self.noise):
            normal = normal @ np.linalg.cholesky(self.noise).T
        from scipy.special import ndtr

        return np.asarray(ndtr(normal))

    def run(
        self,
        history: np.ndarray,
        steps: int,
        noise: np.ndarray | None = None,
        *,
        params: Mapping[int, np.ndarray] | None = None,
        draw: np.ndarray | int = 0,
        fixed: Mapping[int, np.ndarray] | None = None,
        only: Sequence[int] | None = None,
    ) -> np.ndarray:
        """Continue paths ``(path, time, node)`` by so many steps.

        ``noise`` are ranks ``(path, step, node)``, or none for the mean; ``params`` the coefficients of nodes and
        ``draw`` which of them each path has; ``fixed`` the values ``(path, step)`` that nodes are set to; ``only``
        these nodes move, the others keep their last value.
        """
        start = history.shape[1]
        values = np.concatenate([history, np.repeat(history[:, -1:], steps, axis=1)], axis=1)
        chosen = [i for i in self.order if only is None or i in only]
        params = params or {i: self.nodes[i].best for i in chosen}
        for step in range(steps):
            at = start + step
            for i in chosen:
                if fixed is not None and i in fixed:
                    values[:, at, i] = fixed[i][:, step]
                    continue
                node, ranks = self.nodes[i], None if noise is None else noise[:, step, i]
                values[:, at, i] = node.value(inputs(values, at, node.terms), params[i], draw, ranks)
        self._refuse_runaway(values)
        return values

    @cached_property
    def _usual(self) -> tuple[np.ndarray, np.ndarray]:
        centre, scale = self.recent.mean(axis=0), self.recent.std(axis=0)
        for i, node in self.nodes.items():
            if isinstance(node, Curve):
                scale[i] = max(scale[i], node.sigma)
        return centre, np.where(scale > 0, scale, 1.0)

    def _refuse_runaway(self, values: np.ndarray) -> None:
        centre, scale = self._usual
        away = ~(np.abs(values[:, -1] - centre) < RUNAWAY * scale).all(axis=0)
        if away.any():
            names = listed(name for name, odd in zip(self.names, away) if odd)
            advice = "difference or detrend the series and fit again, or ask for a shorter horizon"
            raise InputError(f"the fitted model runs away ({names}): it has no stationary state; {advice}")

    # --- what it is asked ----------------------------------------------------------------------------------------

    def starts(self, series: Any, most: int, seed: int = 0) -> tuple[np.ndarray, str, np.ndarray | None]:
        """Return histories ``(start, span, node)``, in words which these are, and their rows if the fit had them."""
        own = series is None or series is self.series
        series = self.series if series is None else series
        if series is not None:
            data = self.data(series)
            rows = data.complete(data.rows(self.span - 1), self.span)
            refuse_if(not len(rows), f"every run of samples without a gap is too short; give {self.span} or more")
            chosen = rows[np.unique(np.linspace(0, len(rows) - 1, most).astype(int))]
            told = f"{len(chosen)} states of the recording"
            return data.histories(chosen, self.span), told, chosen if own else None
        count = min(most, 500, max(self.samples, 50))
        first = np.repeat(self.recent[None, -self.span :], count, axis=0)
        rng = np.random.default_rng([seed, 1])
        noise = self.uniforms(rng, count, BURN_IN)
        told = f"{count} states that the model itself comes to"
        return self.run(first, BURN_IN, noise)[:, -self.span :], told, None

    def data(self, series: Any) -> Data:
        """Return a recording of the nodes of the model as numbers."""
        given = Series.of(series)
        missing = [name for name in self.names if name not in given.names]
        refuse_if(missing, f"the series has no {listed(missing)}; the model needs {listed(self.names)}")
        return Data.of(given.select(self.names), self.states)

    def forecast(self, series: Any = None, horizon: int = 10, **how: Any) -> "Forecast":
        """Return what comes next, with limits: see `outlook.forecast`."""
        from enmesh.model.outlook import forecast

        return forecast(self, series, horizon, **how)

    def skill(self, series: Any = None, **how: Any) -> "Skill":
        """Return how well it predicts out of sample, beside the own past alone and beside all nodes: `skill.skill`."""
        from enmesh.model.skill import skill

        return skill(self, series, **how)

    def effect(self, source: str, target: str, change: float = 1.0, horizon: int = 10, **how: Any) -> "Effect":
        """Return by how much a change of one node moves another, at each horizon: see `effects.effect`."""
        from enmesh.model.effects import effect

        return effect(self, source, target, change, horizon, **how)

    def intervene(self, values: Mapping[str, Any], horizon: int = 10, **how: Any) -> "Intervention":
        """Return what all nodes do if some are set to values: see `effects.intervene`."""
        from enmesh.model.effects import intervene

        return intervene(self, values, horizon, **how)

    def simulate(self, n: int = 1000, *, seed: int = 0, burn_in: int = BURN_IN) -> Series:
        """Return a recording that the model makes up, of the same kinds of nodes; its truth is the graph."""
        n, burn_in = whole("n", n, 3), whole("burn_in", burn_in, 0)
        noise = self.uniforms(np.random.default_rng([seed, 0]), 1, burn_in + n)
        values = self.run(self.recent[None, -self.span :], burn_in + n, noise)[0, -n:]
        return self.as_series([values])

    def as_series(self, trials: Sequence[np.ndarray]) -> Series:
        """Return samples in the words of the data: states by their names."""
        import pandas as pd

        frames = []
        for trial in trials:
            columns: dict[str, Any] = dict(zip(self.names, trial.T))
            for i, known in self.states.items():
                columns[self.names[i]] = np.array(known)[trial[:, i].astype(int)]
            frames.append(pd.DataFrame(columns))
        about: dict[str, Any] = {"truth": self.parents, "truth_lags": self.lags}
        return Series(frames, dt=self.dt, duplicates="allow", time=False, **about)

    # --- in a file -----------------------------------------------------------------------------------------------

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the model as JSON text, and write it to ``path`` if one is given; the series is not in it."""
        pairs = [(i, j) for i, j in zip(*np.nonzero(np.triu(self.noise, 1)))] if len(self.noise) else []
        data = {
            "format": FORMAT,
            "names": self.names,
            "samples": self.samples,
            "digest": self.digest,
            "dt": self.dt,
            "states": {self.names[i]: list(known) for i, known in self.states.items()},
            "links": [(self.names[s], self.names[t], lag) for t, all_ in self.links.items() for s, lag in all_],
            "stability": self.stability,
            "noise": [(self.names[i], self.names[j], plain(self.noise[i, j], 6)) for i, j in pairs],
            "recent": plain(self.recent[-self.span :], DIGITS),
            "spread": plain(self._usual[1], 6),
            "nodes": {self.names[i]: node.to_dict() for i, node in self.nodes.items()},
            "richer": {self.names[i]: node.to_dict() for i, node in self.richer.items()},
        }
        rows = [f" {json.dumps(key)}: {_lines(plain(value))}" for key, value in data.items()]
        text = "{\n" + ",\n".join(rows) + "\n}"
        if path is not None:
            write_whole(path, lambda file: file.write_text(text, encoding="utf-8"))
        return text

    @classmethod
    def from_json(cls, source: str | Path) -> "Model":
        """Return the model that `to_json` wrote; ``source`` is a path or the text itself."""
        text = str(source)
        where = visible(text) if len(text) < 200 else "the text"
        try:
            if not text.lstrip().startswith("{"):
                text = Path(source).read_text(encoding="utf-8")
            data = json.loads(text)
        except OSError as error:
            raise InputError(f"cannot read {where}: {error.strerror}") from None
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where} is not JSON: {error}") from None
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise InputError(f"{where} is not a model of enmesh (no {FORMAT!r} in it); give a file of Model.to_json")
        try:
            return _revived(data)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise InputError(f"{where} is a damaged model of enmesh: {visible(str(error))[:160]}") from None

    def __repr__(self) -> str:
        kinds = self.summary.basis.value_counts().to_dict()
        return f"Model({len(self.names)} nodes: {', '.join(f'{n} {kind}' for kind, n in kinds.items())})"


def _lines(value: Any) -> str:
    """Return JSON with each entry of a mapping on a line of its own."""
    if not isinstance(value, dict):
        return json.dumps(value, allow_nan=False)
    rows = [f"  {json.dumps(key)}: {json.dumps(item, allow_nan=False)}" for key, item in value.items()]
    return "{\n" + ",\n".join(rows) + "\n }" if rows else "{}"


def _revived(data: Mapping[str, Any]) -> Model:
    names = tuple(map(str, data["names"]))
    at = {name: i for i, name in enumerate(names)}
    nodes, richer = (
        {at[name]: KINDS[node["kind"]].from_dict(node) for name, node in data[key].items()}
        for key in ("nodes", "richer")
    )
    links: dict[int, Any] = dict.fromkeys(range(len(names)), ())
    for source, target, lag in data["links"]:
        links[at[target]] = (*links[at[target]], (at[source], int(lag)))
    noise = np.eye(len(names)) if data["noise"] else np.empty((0, 0))
    for first, second, value in data["noise"]:
        noise[at[first], at[second]] = noise[at[second], at[first]] = float(value)
    if set(nodes) != set(at.values()):
        raise ValueError("its nodes are not those of its names")
    recent = np.array(data["recent"], float).reshape(-1, len(names))
    known: dict[str, Any] = {name: data[name] for name in ("samples", "digest", "dt", "stability")}
    states = {at[name]: tuple(each) for name, each in data["states"].items()}
    known |= {"richer": richer, "states": states, "noise": noise, "recent": recent}
    made = Model(names=names, nodes=nodes, links=links, **known)
    made.__dict__["_usual"] = recent.mean(axis=0), np.array(data["spread"], float)
    return made


def fit(
    series: Any,
    parents: Mapping[str, Sequence[str]],
    lags: Mapping[tuple[str, str], Any] | None = None,
    *,
    own_past: int | None = None,
    basis: str | None = None,
    stability: Mapping[str, float] | None = None,
) -> Model:
    """Return the model of a graph: for each node its distribution given its parents and its own past.

    Parameters
    ----------
    series
        The recording.
    parents, lags
        ``{target: (source, ...)}``, and ``{(source, target): (lag, ...)}`` where lags are not 1.
    own_past
        Number of own lags of each node; by default chosen for each (Bayesian information criterion).
    basis
        ``"linear"``, ``"quadratic"``, ``"cubic"``, ``"spline"`` or ``"fine spline"`` for all nodes; by default each
        node gets the simplest that predicts as well as any (leave-one-out error).
    stability
        Shares of cuts that have a link, ``{"a>b": share}``.
    """
    series = Series.of(series)
    data, links = Data.of(series), links_of(series.names, parents, lags)
    nodes = fitted(data, links, own_past=own_past, basis=basis)
    about = {"stability": dict(stability or {}), "digest": series.digest, "dt": series.dt, "series": series}
    return assembled(data, links, nodes, **about, richer=richer(data, links, nodes, own_past, basis))


def assembled(data: Data, links: Any, nodes: Mapping[int, Node], **about: Any) -> Model:
    """Return the model of fitted nodes, with the correlation of their noise."""
    made = Model(
        names=data.names,
        nodes=nodes,
        links=links,
        states=data.states,
        recent=data.values[~np.isnan(data.values).any(axis=1)],
        samples=len(data.values),
        **about,
    )
    refuse_if(len(made.recent) < made.span, f"{made.span} samples without a gap are needed to start from")
    made.__dict__["noise"] = _correlations(made, data)
    return made


def _correlations(model: Model, data: Data) -> np.ndarray:
    """Return correlations of the noise on the normal scale, those alone that are more than chance."""
    from scipy.special import ndtri

    size, span = len(model.names), model.span
    rows = data.complete(data.rows(span), span + 1)
    curves = [i for i in range(size) if isinstance(model.nodes[i], Curve)]
    if len(rows) < 10 or len(curves) < 2:
        return np.empty((0, 0))
    scores = []
    for i in curves:
        node: Any = model.nodes[i]
        ranks = node.rank(inputs(data.values, rows, node.terms), data.values[rows, i])
        scores.append(ndtri(np.clip(ranks, 1e-3, 1 - 1e-3)))
    found = np.corrcoef(scores)
    found[np.abs(found) < CORRELATED / np.sqrt(len(rows))] = 0
    np.fill_diagonal(found, 1.0)
    if not (np.abs(found - np.eye(len(curves))) > 0).any():
        return np.empty((0, 0))
    least = float(np.linalg.eigvalsh(found)[0])
    if least < 1e-3:  # correlations that were set to 0 may leave no possible matrix
        found = (found + (1e-3 - least) * np.eye(len(curves))) / (1 + 1e-3 - least)
    whole_matrix = np.eye(size)
    whole_matrix[np.ix_(curves, curves)] = found
    return whole_matrix
