"""Coupled chaotic maps on any graph (paper eq. coupled-map): logistic, tent, Henon or a map of the user's."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import numpy as np

from enmesh.data.graph_input import parents_of
from enmesh.data.series import Series
from enmesh.errors import InputError
from enmesh.simulate.arguments import Link, flat_links, per_node, require_number
from enmesh.simulate.system import GraphDynamicalSystem, LocalMap, Orbit

Map = Callable[[np.ndarray], np.ndarray]

# Doubling shifts the bits out of a binary number: the tent map of slope 2 is at 0 after 53 steps and stays.
TENT_SLOPE = 2 - 1e-9
HENON_B = 0.3
# Each named map, its usual and its largest r, and where states start; numbered as in `kernels`.
NAMED: dict[str, tuple[Callable[..., np.ndarray], float, float, tuple[float, float]]] = {
    "logistic": (lambda z, r: r * z * (1 - z), 4.0, 4.0, (0.1, 0.9)),
    "tent": (lambda z, r: min(r / 2, TENT_SLOPE) * np.minimum(z, 1 - z), 4.0, 4.0, (0.1, 0.9)),
    "henon": (lambda z, r: np.array([1 - r * z[0] ** 2 + z[1], HENON_B * z[0]]), 1.4, np.inf, (-0.1, 0.1)),
}


def coupled_map(
    graph: Any,
    n: int,
    *,
    map: str | Map = "logistic",
    r: float | Mapping[str, float] | None = None,
    coupling: float | Mapping[str, float] = 0.3,
    lags: int | Mapping[Link, int] = 1,
    noise: float = 0.0,
    obs_noise: float = 0.0,
    seed: int = 0,
    burn_in: int = 1000,
    domain: tuple[float, float] | None = None,
) -> Series:
    """Simulate coupled maps with mean-field coupling and observe their first coordinate.

    x^i_{n+1} = (1 - e) g^i(x^i_n) + (e / p^i) sum_j g^i(x^ij_n) + v   (paper eq. coupled-map)

    A node without parents follows x^i_{n+1} = g^i(x^i_n) + v. A link with lag l reads x^ij_{n+1-l} instead of x^ij_n.

    Parameters
    ----------
    graph
        Who drives whom, in any form `parents_of` reads; cycles are allowed.
    n
        Number of samples, after ``burn_in`` are dropped.
    map
        g: ``"logistic"`` r z (1 - z); ``"tent"`` (r/2) min(z, 1 - z), its slope held a billionth under 2
        because floating-point doubling collapses to 0; ``"henon"`` (1 - r z0^2 + z1, 0.3 z0); or a function
        that takes the array of all nodes' states to the array of their images.
    r
        Parameter of g, for all nodes or by name; default 4, and 1.4 for Henon.
    coupling
        e in [0, 1], for all nodes or by name of the driven node. Logistic maps with r = 4 synchronise from
        about 0.5 on, and then neither tells anything about the other.
    lags
        Lag l of the links, in samples: one number for all, or some of them by ``(source, target)``; the rest is 1.
        A source without parents and noise has g(x_{n+1-l}) = x_{n+2-l}: then lag l - 1 tells as much as lag l, and no
        estimator can separate them. Dynamic noise does.
    noise, obs_noise
        Standard deviations of the Gaussian noise on state and observation. Logistic and tent states
        that noise pushes out of [0, 1] are reflected at its ends.
    domain
        Interval within which the states of a user's map are kept in the same way, and from which they start
        (without one: no limits, start in [0, 1]).

    Examples
    --------
    >>> coupled_map({"b": ["a"], "c": ["b"]}, n=100, seed=1)
    Series(3 nodes: a, b, c; 1 trial of 100 samples; dt=1)
    >>> coupled_map("a>b, b>c", n=100, lags=3).truth_lags
    {('a', 'b'): (3,), ('b', 'c'): (3,)}
    """
    how: dict[str, Any] = {"coupling": coupling, "lags": lags, "noise": noise, "obs_noise": obs_noise}
    return map_system(graph, map=map, r=r, domain=domain, **how).simulate(n, seed=seed, burn_in=burn_in)


def map_system(
    graph: Any,
    *,
    map: str | Map = "logistic",
    r: float | Mapping[str, float] | None = None,
    coupling: float | Mapping[str, float] = 0.3,
    lags: int | Mapping[Link, int] = 1,
    noise: float = 0.0,
    obs_noise: float = 0.0,
    domain: tuple[float, float] | None = None,
) -> GraphDynamicalSystem:
    """Return the `GraphDynamicalSystem` that `coupled_map` simulates."""
    graph = parents_of(graph)
    require_number("coupling", coupling, 0, 1)
    strengths = per_node(coupling, tuple(graph), "coupling")
    how: dict[str, Any] = {"graph": graph, "lags": lags, "noise": noise, "obs_noise": obs_noise}
    if callable(map):
        if r is not None:
            raise InputError("r belongs to the named maps; put the parameters of your own map into it")
        low, high = (0.0, 1.0) if domain is None else domain
        if not low < high:
            raise InputError(f"domain={domain!r} is empty; give (low, high)")
        g = dict.fromkeys(graph, map)
        how["confine"] = None if domain is None else partial(reflect, low=low, high=high)
        how["advice"] = "check the map, give its domain, or lower the noise"
    elif map not in NAMED:
        raise InputError(f"map={map!r} is not known; use {', '.join(NAMED)} or a function")
    elif domain is not None:
        raise InputError(f"the domain of the {map} map is known; leave domain out")
    else:
        named, usual, most, (low, high) = NAMED[map]
        r = usual if r is None else r
        require_number("r", r, 0, most, open_low=True)
        rs = per_node(r, tuple(graph), "r")
        g = {name: partial(named, r=rs[name]) for name in graph}
        how |= {"dim": 2} if map == "henon" else {"confine": reflect}
        tried = ", ".join(f"{value:g}" for value in dict.fromkeys(rs.values()))
        how["advice"] = f"choose another r than {tried}, less noise or weaker coupling"
    how["start"] = lambda rng, size: rng.uniform(low, high, size)
    system = GraphDynamicalSystem(maps={name: _local_map(g[name], strengths[name]) for name in graph}, **how)
    orbit = _vectorised(system, map, strengths) if callable(map) else _compiled(system, map, rs, strengths)
    return replace(system, orbit=orbit)


def reflect(states: np.ndarray, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    """Fold states into [low, high] by reflection at its ends."""
    width = high - low
    folded = np.mod(states - low, 2 * width)
    return np.where((states >= low) & (states <= high), states, low + np.minimum(folded, 2 * width - folded))


def _compiled(
    system: GraphDynamicalSystem, map: str, r: Mapping[str, float], strengths: Mapping[str, float]
) -> Orbit:
    """Return the compiled orbit of a named map."""
    links = flat_links(system.graph, system.delays)
    rs, es = (np.array([values[name] for name in system.names], dtype=float) for values in (r, strengths))
    if map == "tent":
        rs = np.minimum(rs / 2, TENT_SLOPE)

    def orbit(start: np.ndarray, noise: np.ndarray) -> np.ndarray:
        from enmesh.simulate import kernels

        return kernels.map_orbit(start, noise, list(NAMED).index(map), rs, es, *links)

    return orbit


def _local_map(g: Map, strength: float) -> LocalMap:
    """Return f^i of eq. coupled-map."""

    def f(own: np.ndarray, parents: tuple[np.ndarray, ...]) -> np.ndarray:
        if not parents:
            return g(own)
        return (1 - strength) * g(own) + strength / len(parents) * sum(g(parent) for parent in parents)

    return f


def _vectorised(system: GraphDynamicalSystem, g: Map, strengths: Mapping[str, float]) -> Orbit:
    """Return the orbit with g applied to all nodes at once, the mean over parents a matrix product for each lag."""
    names = system.names
    mixing = {lag: np.zeros((len(names),) * 2) for lag in sorted({1, *system.delays.values()})}
    for i, (name, parents) in enumerate(system.graph.items()):
        mixing[1][i, i] = 1 - strengths[name] if parents else 1
        for parent in parents:
            mixing[system.delays[parent, name]][i, names.index(parent)] = strengths[name] / len(parents)

    def orbit(start: np.ndarray, noise: np.ndarray) -> np.ndarray:
        images: list[np.ndarray] = []

        def step(states: np.ndarray, _: tuple[np.ndarray, ...]) -> np.ndarray:
            images.append(g(states))
            return reduce(np.add, (m @ images[max(0, len(images) - lag)] for lag, m in mixing.items()))

        whole = GraphDynamicalSystem(graph={"all": ()}, dim=len(names), maps=step, confine=system.confine)
        return whole.run(start, noise)

    return orbit
