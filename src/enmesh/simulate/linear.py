"""Vector autoregression: linear Gaussian systems, whose transfer entropies have closed forms."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from enmesh.data.graph_input import parents_of
from enmesh.data.series import Series
from enmesh.errors import InputError, refuse_if
from enmesh.simulate.graphs import Link, link_lags, per_node, require_number
from enmesh.simulate.system import GraphDynamicalSystem


def var(
    graph: Any = None,
    n: int = 1000,
    *,
    coupling: float = 0.4,
    own: float = 0.5,
    lags: int | Mapping[Link, int] = 1,
    coefficients: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    noise: float | Mapping[str, float] = 1.0,
    obs_noise: float = 0.0,
    seed: int = 0,
    burn_in: int = 1000,
) -> Series:
    """Simulate a vector autoregression x_{n+1} = sum_l A_l x_{n+1-l} + v.

    Parameters
    ----------
    graph, n
        Who drives whom, in any form `parents_of` reads: A has ``own`` on its diagonal and ``coupling`` where column
        drives row. And the number of samples, after ``burn_in`` are dropped.
    lags
        Lag l at which a link acts: its coefficient stands in A_l. One number for all links, or some of them by
        ``(source, target)``; the rest is 1. Own pasts act at lag 1.
    coefficients
        Instead of a graph: A ``(M, M)``, row driven by column, or A_1 ... A_L ``(L, M, M)``. An edge is any
        coefficient that is not 0; its lags are those l where it is not.
    names
        Names of the nodes with ``coefficients``; by default ``x0, x1, ...``.
    noise, obs_noise
        Standard deviations of v, for all nodes or by name, and of the observation noise.

    Examples
    --------
    >>> var(coefficients=[[0.5, 0.0], [0.4, 0.5]], n=100).truth
    {'x0': (), 'x1': ('x0',)}
    >>> var({"b": ["a"], "c": ["b"]}, n=100, lags={("a", "b"): 4}).truth_lags
    {('a', 'b'): (4,), ('b', 'c'): (1,)}
    """
    linear: dict[str, Any] = {"coupling": coupling, "own": own, "lags": lags, "coefficients": coefficients}
    system = var_system(graph, names=names, noise=noise, obs_noise=obs_noise, **linear)
    return system.simulate(n, seed=seed, burn_in=burn_in)


def var_system(
    graph: Any = None,
    *,
    coupling: float = 0.4,
    own: float = 0.5,
    lags: int | Mapping[Link, int] = 1,
    coefficients: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    noise: float | Mapping[str, float] = 1.0,
    obs_noise: float = 0.0,
) -> GraphDynamicalSystem:
    """Return the `GraphDynamicalSystem` that `var` simulates; each node's state is its last L values."""
    refuse_if((graph is None) == (coefficients is None), "give either a graph or coefficients")
    require_number("noise", noise, 0, each=True)
    truth: dict[Link, tuple[int, ...]]
    if graph is not None:
        require_number("coupling", coupling)
        refuse_if(np.ndim(coupling), f"coupling={coupling!r} is a list; give one number, or coefficients")
        require_number("own", own)
        graph = parents_of(graph)
        delays, at = link_lags(lags, graph), {name: i for i, name in enumerate(graph)}
        a = np.zeros((max(delays.values(), default=1), len(at), len(at)))
        np.fill_diagonal(a[0], own)
        for (source, target), lag in delays.items():
            a[lag - 1, at[target], at[source]] = coupling
        truth = {link: (lag,) for link, lag in delays.items()}
    else:
        refuse_if(lags != 1, "lags belong to a graph; give coefficients of shape (lags, M, M) instead")
        a = _as_lags(coefficients)
        given = [f"x{i}" for i in range(a.shape[1])] if names is None else names
        at = {str(name): i for i, name in enumerate(given)}
        refuse_if(len(at) != a.shape[1], f"{len(at)} names for {a.shape[1]} nodes; give one per node")
        acting = {(s, t): np.flatnonzero(a[:, at[t], at[s]]) + 1 for t in at for s in at if s != t}
        truth = {link: tuple(found.tolist()) for link, found in acting.items() if len(found)}
        graph = {target: tuple(source for source in at if (source, target) in truth) for target in at}
    order, m = a.shape[:2]
    matrix = np.zeros((m, order, m, order))  # advances the joint state (node, lag)
    matrix[:, 0], matrix[:, 1:] = a.transpose(1, 2, 0), np.eye(m * order).reshape(matrix.shape)[:, :-1]
    flat = matrix.reshape(m * order, m * order)
    if (radius := np.abs(np.linalg.eigvals(flat)).max()) >= 1:
        told = f"the process is unstable, spectral radius {radius:.3g}, not under 1"
        raise InputError(f"{told}; lower coefficients")
    scale = np.zeros((m, order))
    scale[:, 0] = list(per_node("noise", noise, graph).values())
    parts = {name: [matrix[i, :, at[j]] for j in (name, *graph[name])] for name, i in at.items()}
    return GraphDynamicalSystem(
        graph=graph,
        maps={name: partial(_local_map, parts=parts[name]) for name in graph},
        dim=order,
        truth_lags=truth,
        noise=scale.ravel(),
        obs_noise=obs_noise,
        start=lambda rng, size: np.zeros(size),
        orbit=partial(_orbit, matrix=flat),
        advice="give a positive noise",
    )


def _as_lags(coefficients: ArrayLike | None) -> np.ndarray:
    try:
        lags = np.asarray(coefficients, dtype=float)
    except (TypeError, ValueError):
        lags = np.empty(0)
    lags = lags[None] if lags.ndim == 2 else lags
    if lags.ndim != 3 or lags.shape[1] != lags.shape[2] or lags.size == 0 or not np.isfinite(lags).all():
        raise InputError("coefficients are no such matrix; give finite numbers of shape (M, M) or (lags, M, M)")
    return lags


def _local_map(own: np.ndarray, parents: tuple[np.ndarray, ...], parts: list[np.ndarray]) -> np.ndarray:
    """Return f of a node: a matrix times the own state, and one times that of each parent."""
    return np.sum([part @ state for part, state in zip(parts, (own, *parents))], axis=0)


def _orbit(start: np.ndarray, noise: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    states = np.vstack([start, noise])
    for before, after in pairwise(states):
        after += matrix @ before
    return states
