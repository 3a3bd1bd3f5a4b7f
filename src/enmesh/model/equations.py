"""Equations: the fitted distributions of all nodes, and how they run on from samples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np

from enmesh.data.series import Series
from enmesh.data.table import listed, visible
from enmesh.errors import InputError, refuse_if
from enmesh.model.fit import Data
from enmesh.model.nodes import Curve, Node, inputs

CORRELATED = 3.3  # standard errors from which noise of two nodes is taken as correlated
RUNAWAY = 1e6  # usual standard deviations
BURN_IN = 200


@dataclass(frozen=True, kw_only=True)
class Equations:
    """A predictive distribution of each node given its parents and its own past.

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

    @classmethod
    def of(cls, data: Data, links: Any, nodes: Mapping[int, Node], **about: Any) -> Self:
        """Return the equations of fitted nodes, with the correlation of their noise."""
        recent = data.values[~np.isnan(data.values).any(axis=1)]
        known: dict[str, Any] = {"states": data.states, "recent": recent, "samples": len(data.values)}
        made = cls(names=data.names, nodes=nodes, links=links, **known, **about)
        refuse_if(len(recent) < made.span, f"{made.span} samples without a gap are needed to start from")
        made.__dict__["noise"] = _correlations(made, data)
        return made

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
        if not isinstance(name, str) or name not in self.names:
            raise InputError(f"there is no node {visible(repr(name))}; the nodes are {listed(self.names)}")
        return self.names.index(name)

    def shocks(
        self, rng: np.random.Generator, paths: int, steps: int, *, mirrored: bool = False, only: Any = None
    ) -> np.ndarray:
        """Return noise ``(paths, steps, node)`` for `run`, correlated as that of the data.

        Every second path has the opposite ranks of the one before it if ``mirrored``; ``only`` these nodes need it.
        """
        from scipy.special import ndtr

        normal = rng.standard_normal((paths, steps, len(self.names)))
        if len(self.noise):
            normal = normal @ np.linalg.cholesky(self.noise).T
        if mirrored:
            normal[1::2] = -normal[::2]
        for i in self.nodes if only is None else only:
            normal[..., i] = self.nodes[i].shock(ndtr(normal[..., i]))
        return normal

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

        ``noise`` is that of `shocks`, or none for the mean; ``params`` the coefficients of nodes and
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
                node, shock = self.nodes[i], None if noise is None else noise[:, step, i]
                values[:, at, i] = node.value(inputs(values, at, node.terms), params[i], draw, shock)
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
        noise = self.shocks(rng, count, BURN_IN)
        told = f"{count} states that the model itself comes to"
        return self.run(first, BURN_IN, noise)[:, -self.span :], told, None

    def data(self, series: Any) -> Data:
        """Return a recording of the nodes of the model as numbers."""
        given = Series.of(series)
        missing = [name for name in self.names if name not in given.names]
        refuse_if(missing, f"the series has no {listed(missing)}; the model needs {listed(self.names)}")
        return Data.of(given.select(self.names), self.states)


def _correlations(model: Equations, data: Data) -> np.ndarray:
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
