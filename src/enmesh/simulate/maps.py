"""Coupled chaotic maps on any graph (paper eq. coupled-map): logistic, tent, Henon or a map of the user's."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from enmesh.data.graph_input import parents_of
from enmesh.data.series import Series
from enmesh.errors import InputError, refuse_if
from enmesh.simulate.graphs import Link, flat_links, per_node, require_number
from enmesh.simulate.system import GraphDynamicalSystem, LocalMap, compiled

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
    graph, n
        Who drives whom, in any form `parents_of` reads; and the number of samples, after ``burn_in`` are dropped.
    map
        g: ``"logistic"`` r z (1 - z); ``"tent"`` (r/2) min(z, 1 - z), its slope held a billionth under 2
        because floating-point doubling collapses to 0; ``"henon"`` (1 - r z0^2 + z1, 0.3 z0); or a function
        from the state of a node, an array of one number, to its image.
    r
        Parameter of g, for all nodes or by name; default 4, and 1.4 for Henon.
    coupling
        e in [0, 1], for all nodes or by name of the driven node. Logistic maps with r = 4 synchronise from
        about 0.5 on, and then neither tells anything about the other.
    lags
        Lag l of the links, in samples: one number for all, or some of them by ``(source, target)``; the rest is 1.
        Without parents and noise a source has g(x_{n+1-l}) = x_{n+2-l}, and lag l - 1 tells as much as lag l.
    noise, obs_noise
        Standard deviations of the Gaussian noise on state and observation. Logistic and tent states
        that noise pushes out of [0, 1] are reflected at its ends.
    domain
        Interval within which the states of a user's map are kept in the same way, and from which they start; without
        one they have no limits and start in [0, 1].

    Examples
    --------
    >>> coupled_map({"b": ["a"], "c": ["b"]}, n=100, seed=1)
    Series(3 nodes: a, b, c; 1 trial of 100 samples; dt=1)
    >>> coupled_map("a>b, b>c", n=100, lags=3).truth_lags
    {('a', 'b'): (3,), ('b', 'c'): (3,)}
    """
    numbers: dict[str, Any] = {"r": r, "coupling": coupling, "lags": lags, "noise": noise}
    system = map_system(graph, map=map, obs_noise=obs_noise, domain=domain, **numbers)
    return system.simulate(n, seed=seed, burn_in=burn_in)


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
    require_number("coupling", coupling, 0, 1, each=True)
    strengths = per_node("coupling", coupling, graph)
    how: dict[str, Any] = {"graph": graph, "lags": lags, "noise": noise, "obs_noise": obs_noise}
    if callable(map):
        refuse_if(r is not None, "r belongs to the named maps; put the parameters of your own map into it")
        low, high = (0.0, 1.0) if domain is None else domain
        refuse_if(not low < high, f"domain={domain!r} is empty; give (low, high)")
        g = dict.fromkeys(graph, map)
        how["confine"] = None if domain is None else partial(reflect, low=low, high=high)
        how["advice"] = "check the map, give its domain, or lower the noise"
    elif not isinstance(map, str) or map not in NAMED:
        raise InputError(f"map={map!r} is not known; use {', '.join(NAMED)} or a function")
    elif domain is not None:
        raise InputError(f"the domain of the {map} map is known; leave domain out")
    else:
        named, usual, most, (low, high) = NAMED[map]
        r = usual if r is None else r
        require_number("r", r, 0, most, open_low=True, each=True)
        rs = per_node("r", r, graph)
        g = {name: partial(named, r=rs[name]) for name in graph}
        how |= {"dim": 2} if map == "henon" else {"confine": reflect}
        tried = ", ".join(f"{value:g}" for value in dict.fromkeys(rs.values()))
        how["advice"] = f"choose another r than {tried}, less noise or weaker coupling"
        slopes = [min(value / 2, TENT_SLOPE) if map == "tent" else value for value in rs.values()]
        numbers = (np.array([*values], dtype=float) for values in (slopes, strengths.values()))
        how["orbit"] = compiled("map_orbit", list(NAMED).index(map), *numbers, *flat_links(graph, lags))
    how["start"] = lambda rng, size: rng.uniform(low, high, size)
    return GraphDynamicalSystem(maps={name: _local_map(g[name], strengths[name]) for name in graph}, **how)


def reflect(states: np.ndarray, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    """Fold states into [low, high] by reflection at its ends."""
    width = high - low
    folded = np.mod(states - low, 2 * width)
    return np.where((states >= low) & (states <= high), states, low + np.minimum(folded, 2 * width - folded))


def _local_map(g: Map, strength: float) -> LocalMap:
    """Return f^i of eq. coupled-map."""

    def f(own: np.ndarray, parents: tuple[np.ndarray, ...]) -> np.ndarray:
        if not parents:
            return g(own)
        return (1 - strength) * g(own) + strength / len(parents) * sum(g(parent) for parent in parents)

    return f
