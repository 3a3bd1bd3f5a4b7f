"""What a simulation is given, checked: a graph, numbers in range, one value for all nodes or links or one for each."""

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, TypeVar

import numpy as np

from enmesh.data.graph_input import flat_parents
from enmesh.errors import InputError, refuse_if, refuse_memory
from enmesh.options import names_in, whole

Graph = Mapping[str, tuple[str, ...]]
Link = tuple[str, str]
Names = Sequence[str] | None
Value = TypeVar("Value")
HELD = 24  # bytes that a simulation holds at least for each number: noise, states and observations


def per_node(what: str, value: Value | Mapping[str, Value], graph: Graph) -> dict[str, Value]:
    """Return ``{name: value}`` from one value for all nodes or a mapping that has them all."""
    refuse_if(isinstance(value, np.ndarray), f"{what} is an array; give one for all nodes, or {{name: value}}")
    if not isinstance(value, Mapping):
        return dict.fromkeys(graph, value)
    given = {str(name): item for name, item in value.items()}
    if odd := sorted(set(given) ^ set(graph)):
        raise InputError(f"{what} and the graph differ in {', '.join(odd)}; give one for all or one per node")
    return {name: given[name] for name in graph}


def links_of(graph: Graph) -> list[Link]:
    """Return all links (source, target), target by target."""
    return [(source, target) for target, sources in graph.items() for source in sources]


def per_link(what: str, value: Value | Mapping[Link, Value], graph: Graph, usual: Value) -> dict[Link, Value]:
    """Return ``{(source, target): value}`` of all links, from one value or a mapping; others have the usual one."""
    links = links_of(graph)
    refuse_if(
        isinstance(value, np.ndarray), f"{what} is an array; give one for all links, or {{(source, target): value}}"
    )
    if not isinstance(value, Mapping):
        return dict.fromkeys(links, value)
    if unknown := [link for link in value if link not in links]:
        known = ", ".join(f"{source}>{target}" for source, target in links) or "none"
        links_are = f"name them by (source, target), the links are {known}"
        raise InputError(f"{what} given for {unknown[0]!r}; that is no link of the graph: {links_are}")
    return {link: value.get(link, usual) for link in links}


def link_lags(lags: int | Mapping[Link, int], graph: Graph) -> dict[Link, int]:
    """Return the lag of every link, a whole number of at least 1; links not named have lag 1."""
    given = lags if isinstance(lags, Mapping) else whole("lags", lags, 1)
    named = per_link("lags", given, graph, 1)
    return {(s, t): whole(f"lag of {s}>{t}", lag, 1) for (s, t), lag in named.items()}


def flat_links(graph: Graph, lags: int | Mapping[Link, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return `flat_parents`, and the lag of each link in the order of its drivers."""
    return *flat_parents(graph), np.array([*link_lags(lags, graph).values()], dtype=np.int64)


def require_number(
    name: str, value: Any, low: float = -np.inf, high: float = np.inf, *, open_low: bool = False, each: bool = False
) -> None:
    """Refuse what is not a finite number between low and high; ``each`` takes several, in a mapping or an array."""
    several = [value]
    if each and isinstance(value, (Mapping, np.ndarray)):
        several = list(value.values()) if isinstance(value, Mapping) else value.ravel().tolist()
    if not all(isinstance(one, Real) for one in several):
        raise InputError(f"{name}={value!r} is not a number; give one")
    numbers = np.array(several, float)
    inside = (numbers > low if open_low else numbers >= low) & (numbers <= high)
    if not (np.isfinite(numbers) & inside).all():
        bound = f"{'over' if open_low else 'of at least'} {low:g}" if low > -np.inf else "that is finite"
        most = f" and at most {high:g}" if high < np.inf else ""
        raise InputError(f"{name}={value!r} is not possible; give a number {bound}{most}")


def streams(seed: int, count: int) -> list[np.random.Generator]:
    """Return so many generators of random numbers, independent of one another."""
    children = np.random.SeedSequence(whole("seed", seed, 0)).spawn(count)
    return [np.random.default_rng(child) for child in children]


def random_dag(
    n_nodes: int, *, density: float = 0.5, max_parents: int | None = None, names: Names = None, seed: int = 0
) -> dict[str, tuple[str, ...]]:
    """Draw a directed acyclic graph ``{target: parents}``.

    Nodes get a random order; each earlier node drives each later one with probability ``density``; a node
    with more than ``max_parents`` keeps that many of them at random. The order of the result's keys is that
    of the names and says nothing about who drives whom.

    >>> random_dag(3, density=1.0, seed=1)
    {'x0': (), 'x1': ('x0',), 'x2': ('x0', 'x1')}
    """
    n_nodes = whole("n_nodes", n_nodes, 1)
    refuse_memory(f"n_nodes={n_nodes:,}", 10.0 * n_nodes**2)
    require_number("density", density, 0, 1)
    most = n_nodes if max_parents is None else whole("max_parents", max_parents, 0)
    names = [f"x{i}" for i in range(n_nodes)] if names is None else names_in("names", names)
    if len(set(names)) != n_nodes:
        raise InputError(f"{len(set(names))} different names for {n_nodes} nodes; give one per node")
    rng = np.random.default_rng(whole("seed", seed))
    rank = rng.permutation(n_nodes)
    drives = (rng.uniform(size=(n_nodes, n_nodes)) < density) & (rank[:, None] < rank)
    parents = [rng.permutation(np.flatnonzero(drives[:, target]))[:most] for target in range(n_nodes)]
    return {name: tuple(names[j] for j in sorted(chosen)) for name, chosen in zip(names, parents)}
