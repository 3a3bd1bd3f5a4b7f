"""Vector autoregression: linear Gaussian systems, whose transfer entropies have closed forms."""

from collections.abc import Sequence

import numpy as np

from enmesh.data.graph_input import parents_of
from enmesh.data.series import Series
from enmesh.errors import InputError
from enmesh.simulate.arguments import per_node, require_number
from enmesh.simulate.system import GraphDynamicalSystem


def var(
    graph=None,
    n: int = 1000,
    *,
    coupling: float = 0.4,
    own: float = 0.5,
    coefficients=None,
    names: Sequence[str] | None = None,
    noise: float = 1.0,
    obs_noise: float = 0.0,
    seed: int = 0,
    burn_in: int = 1000,
) -> Series:
    """Simulate a vector autoregression x_{n+1} = sum_l A_l x_{n+1-l} + v.

    Parameters
    ----------
    graph
        Who drives whom, in any form `parents_of` reads. Then A has ``own`` on its diagonal and ``coupling``
        where column drives row.
    n
        Number of samples, after ``burn_in`` are dropped.
    coefficients
        Instead of a graph: A ``(M, M)``, row driven by column, or A_1 ... A_L ``(L, M, M)``. An edge is any
        coefficient that is not 0.
    names
        Names of the nodes with ``coefficients``; by default ``x0, x1, ...``.
    noise
        Standard deviation of v, for all nodes or by name.
    obs_noise
        Standard deviation of the observation noise.

    Examples
    --------
    >>> var(coefficients=[[0.5, 0.0], [0.4, 0.5]], n=100).truth
    {'x0': (), 'x1': ('x0',)}
    """
    given = {"coefficients": coefficients, "names": names, "noise": noise, "obs_noise": obs_noise}
    system = var_system(graph, coupling=coupling, own=own, **given)
    return system.simulate(n, seed=seed, burn_in=burn_in)


def var_system(graph=None, *, coupling=0.4, own=0.5, coefficients=None, names=None, noise=1.0, obs_noise=0.0):
    """Return the `GraphDynamicalSystem` that `var` simulates; each node's state is its last L values."""
    if (graph is None) == (coefficients is None):
        raise InputError("give either a graph or coefficients")
    if graph is not None:
        require_number("coupling", coupling)
        require_number("own", own)
        graph = parents_of(graph)
        lags = _from_graph(graph, coupling, own)
    else:
        lags = _as_lags(coefficients)
        graph = _graph_of(lags, names)
    require_number("noise", noise, 0)
    order, m = lags.shape[:2]
    matrix = _companion(lags)
    _require_stable(matrix)
    scale = np.zeros((m, order))
    scale[:, 0] = list(per_node(noise, tuple(graph), "noise").values())
    return GraphDynamicalSystem(
        graph=graph,
        maps={name: _local_map(graph, lags, name) for name in graph},
        dim=order,
        noise=scale.ravel(),
        obs_noise=obs_noise,
        start=lambda rng, size: np.zeros(size),
        orbit=lambda start, kicks: _orbit(start, kicks, matrix),
        advice="give a positive noise",
    )


def _from_graph(graph, coupling, own):
    names = list(graph)
    matrix = np.diag(np.full(len(names), float(own)))
    for i, parents in enumerate(graph.values()):
        matrix[i, [names.index(parent) for parent in parents]] = coupling
    return matrix[None]


def _as_lags(coefficients):
    try:
        lags = np.asarray(coefficients, dtype=float)
    except (TypeError, ValueError):
        lags = np.empty(0)
    lags = lags[None] if lags.ndim == 2 else lags
    if lags.ndim != 3 or lags.shape[1] != lags.shape[2] or lags.size == 0 or not np.isfinite(lags).all():
        raise InputError("coefficients must be finite numbers of shape (M, M) or (lags, M, M)")
    return lags


def _graph_of(lags, names):
    names = [f"x{i}" for i in range(lags.shape[1])] if names is None else [str(name) for name in names]
    if len(names) != lags.shape[1]:
        raise InputError(f"{len(names)} names for {lags.shape[1]} nodes; give one per node")
    driven = (lags != 0).any(0)
    return {t: tuple(s for j, s in enumerate(names) if j != i and driven[i, j]) for i, t in enumerate(names)}


def _companion(lags):
    """Return the matrix that advances the joint state, whose coordinates are (node, lag)."""
    order, m, _ = lags.shape
    matrix = np.zeros((m, order, m, order))
    matrix[:, 0] = lags.transpose(1, 2, 0)
    for lag in range(1, order):
        matrix[np.arange(m), lag, np.arange(m), lag - 1] = 1
    return matrix.reshape(m * order, m * order)


def _require_stable(matrix):
    radius = np.abs(np.linalg.eigvals(matrix)).max()
    if radius >= 1:
        raise InputError(
            f"the process is unstable: spectral radius {radius:.3g}, not under 1; lower coefficients"
        )


def _local_map(graph, lags, name):
    position = {node: i for i, node in enumerate(graph)}
    i, parents = position[name], graph[name]

    def f(own, states):
        driven = sum(lags[:, i, position[p]] @ state for p, state in zip(parents, states))
        value = lags[:, i, i] @ own + driven
        return np.concatenate([[value], own[:-1]])

    return f


def _orbit(start, kicks, matrix):
    from enmesh.simulate import kernels

    return kernels.linear_orbit(start, kicks, matrix)
