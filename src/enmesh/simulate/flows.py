"""Coupled Lorenz and Rossler flows, alone or mixed in one network, sampled at a fixed step."""

from collections.abc import Mapping
from dataclasses import astuple
from typing import Any

import numpy as np

from enmesh.data.graph_input import parents_of
from enmesh.data.series import Series
from enmesh.errors import InputError
from enmesh.options import option
from enmesh.simulate.graphs import Link, flat_links, per_node, require_number
from enmesh.simulate.system import GraphDynamicalSystem, LocalMap, compiled


@option
class Lorenz:
    """x' = sigma (y - x), y' = x (rho - z) - y, z' = x y - beta z."""

    sigma: float = 10.0
    rho: float = 28.0
    beta: float = 8 / 3

    def velocity(self, x: np.ndarray) -> np.ndarray:
        """Return the velocity at the state ``x``."""
        u, v, w = x
        return np.array([self.sigma * (v - u), u * (self.rho - w) - v, u * v - self.beta * w])


@option
class Rossler:
    """x' = -y - z, y' = x + a y, z' = b + z (x - c)."""

    a: float = 0.2
    b: float = 0.2
    c: float = 5.7

    def velocity(self, x: np.ndarray) -> np.ndarray:
        """Return the velocity at the state ``x``."""
        u, v, w = x
        return np.array([-v - w, u + self.a * v, self.b + w * (u - self.c)])


FLOWS = {"lorenz": Lorenz(), "rossler": Rossler()}
Flow = Lorenz | Rossler
System = str | Flow


def coupled_flow(
    graph: Any,
    n: int,
    *,
    system: System | Mapping[str, System] = "lorenz",
    coupling: float | Mapping[str, float] = 2.0,
    lags: int | Mapping[Link, int] = 1,
    dt: float = 0.05,
    noise: float = 0.0,
    obs_noise: float = 0.0,
    seed: int = 0,
    transient: float = 50.0,
    tolerance: float = 1e-8,
) -> Series:
    """Simulate flows coupled diffusively through their first coordinate, which is observed every ``dt``.

    dx^i/dt = v^i(x^i) + ((lambda / p^i) sum_j (x^ij[0] - x^i[0]), 0, 0)

    Parameters
    ----------
    graph, n
        Who drives whom, in any form `parents_of` reads; and the number of samples.
    system
        ``"lorenz"``, ``"rossler"``, `Lorenz` or `Rossler` with parameters; one for all nodes or by name.
    coupling
        lambda, for all nodes or by name of the driven node. A driven Rossler system
        runs away from about 3 (driven by Lorenz) or 5 (by Rossler) on; Lorenz systems synchronise at 10.
    lags
        Lag of the links, in samples: one number for all, or some of them by ``(source, target)``; the rest is 1.
        With lag 1 the coupling follows x^ij[0] as it moves, with a larger one it holds the sample so long before.
    dt
        Sampling step in units of time. If it is too fine, each node's own past all but gives its next value.
    noise, obs_noise
        Standard deviations of the Gaussian noise added to the state at every sample, and to the observations.
    transient
        Time that is dropped at the start.
    tolerance
        Relative and absolute tolerance of the integrator (Dormand and Prince 5(4), adaptive).

    Examples
    --------
    >>> coupled_flow("a>b", n=100, system={"a": "rossler", "b": "lorenz"}, dt=0.05)
    Series(2 nodes: a, b; 1 trial of 100 samples; dt=0.05)
    """
    numbers: dict[str, Any] = {"coupling": coupling, "lags": lags, "dt": dt, "tolerance": tolerance}
    flow = flow_system(graph, system=system, noise=noise, obs_noise=obs_noise, **numbers)
    require_number("dt", dt, 0, open_low=True)
    require_number("transient", transient, 0)
    return flow.simulate(n, seed=seed, burn_in=int(np.ceil(transient / dt)))


def flow_system(
    graph: Any,
    *,
    system: System | Mapping[str, System] = "lorenz",
    coupling: float | Mapping[str, float] = 2.0,
    lags: int | Mapping[Link, int] = 1,
    dt: float = 0.05,
    noise: float = 0.0,
    obs_noise: float = 0.0,
    tolerance: float = 1e-8,
) -> GraphDynamicalSystem:
    """Return the `GraphDynamicalSystem` that `coupled_flow` simulates."""
    graph = parents_of(graph)
    flows = {name: _flow(given) for name, given in per_node("system", system, graph).items()}
    require_number("coupling", coupling, each=True)
    require_number("tolerance", tolerance, 1e-13, 1e-2)
    strengths = per_node("coupling", coupling, graph)
    rossler = np.array([isinstance(flow, Rossler) for flow in flows.values()])
    parameters = np.array([astuple(flow) for flow in flows.values()], dtype=float)
    couplings = np.array([*strengths.values()], dtype=float)
    # Near each attractor: in the plane of Rossler, between the wings of Lorenz.
    centres = np.where(rossler[:, None], (0, 0, 1), (0, 0, 20)).ravel()
    spreads = np.where(rossler[:, None], (3, 3, 0.2), (5, 5, 5)).ravel()
    links = flat_links(graph, lags)
    return GraphDynamicalSystem(
        graph=graph,
        lags=lags,
        maps={name: _velocity(flows[name], strengths[name]) for name in graph},
        dim=3,
        noise=noise,
        obs_noise=obs_noise,
        continuous=True,
        dt=dt,
        start=lambda rng, size: centres + spreads * rng.uniform(-1, 1, size),
        orbit=compiled("flow_orbit", dt, tolerance, rossler, parameters, couplings, *links),
        advice="choose weaker coupling, less noise or other parameters",
    )


def _flow(given: Any) -> Flow:
    flow = FLOWS.get(given) if isinstance(given, str) else given
    if not isinstance(flow, (Lorenz, Rossler)):
        raise InputError(f"system {given!r} is not known; use lorenz, rossler, Lorenz(...) or Rossler(...)")
    return flow


def _velocity(flow: Flow, strength: float) -> LocalMap:
    def f(own: np.ndarray, parents: tuple[np.ndarray, ...]) -> np.ndarray:
        velocity = flow.velocity(own)
        if parents:
            velocity[0] += strength / len(parents) * sum(parent[0] - own[0] for parent in parents)
        return velocity

    return f
