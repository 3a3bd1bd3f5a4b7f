"""Finite-state networks: nodes that draw their next state from a table given the parents' states."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from enmesh.data.graph_input import flat_parents, parents_of
from enmesh.data.series import Series
from enmesh.errors import InputError
from enmesh.options import whole
from enmesh.simulate.arguments import Graph, links_of, per_node, require_number

MAX_ROWS = 2**22


def boolean(
    graph: Any, n: int, *, rule: str = "xor", flip: float = 0.1, seed: int = 0, burn_in: int = 100
) -> Series:
    """Simulate a noisy Boolean network: a rule of the parents' states, turned over with probability ``flip``.

    Parameters
    ----------
    graph
        Who drives whom, in any form `parents_of` reads. A node without parents is a fair coin.
    n
        Number of samples, after ``burn_in`` are dropped.
    rule
        ``"xor"`` (no single parent of several tells anything, together they tell all), ``"and"``, ``"or"``,
        or ``"random"``: for each node a random Boolean function on which every parent has an effect.
    flip
        Probability that a node does the opposite, in [0, 0.5).

    Examples
    --------
    >>> boolean("a>c, b>c", n=100)
    Series(3 nodes: a, b, c; 1 trial of 100 samples; dt=1)
    """
    graph = parents_of(graph)
    require_number("flip", flip, 0)
    if flip >= 0.5:
        raise InputError(f"flip={flip} leaves nothing of the rule; give a probability under 0.5")
    if rule not in RULES:
        raise InputError(f"rule={rule!r} is not known; use {', '.join(RULES)}")
    for name in graph:
        _rows(graph, dict.fromkeys(graph, 2), name, own=False)
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[0])
    tables = {}
    for name, parents in graph.items():
        states = np.indices((2,) * len(parents)).reshape(len(parents), 2 ** len(parents))
        one = np.abs(RULES[rule](states, rng) - flip) if parents else np.array([0.5])
        tables[name] = np.stack([1 - one, one], axis=1)
    return _simulate(graph, n, tables, False, seed, burn_in)


def markov(
    graph: Any,
    n: int,
    *,
    states: int | Mapping[str, int] = 3,
    concentration: float = 0.5,
    seed: int = 0,
    burn_in: int = 100,
) -> Series:
    """Simulate a network of Markov chains p(x^i_{n+1} | x^i_n, <x^ij_n>_j) with random tables.

    Parameters
    ----------
    graph
        Who drives whom, in any form `parents_of` reads.
    n
        Number of samples, after ``burn_in`` are dropped.
    states
        Number of states r_i, for all nodes or by name.
    concentration
        Rows of the tables are drawn from a symmetric Dirichlet distribution with this parameter: near 0
        almost deterministic, large almost uniform and so without effect.

    Examples
    --------
    >>> markov("a>b", n=100, states={"a": 2, "b": 4}).is_integer
    True
    """
    graph = parents_of(graph)
    given = per_node(states, tuple(graph), "states")
    arity = {name: whole(f"states of {name}", count, 2) for name, count in given.items()}
    require_number("concentration", concentration, 0, open_low=True)
    rows = {name: _rows(graph, arity, name, own=True) for name in graph}
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[0])
    tables = {name: rng.dirichlet(np.full(arity[name], concentration), rows[name]) for name in graph}
    return _simulate(graph, n, tables, True, seed, burn_in)


def _simulate(
    graph: Graph, n: int, tables: Mapping[str, np.ndarray], own: bool, seed: int, burn_in: int
) -> Series:
    """Run nodes that draw their states from tables ``(row, state)``, rows by the parents' states (and the own one)."""
    from enmesh.simulate import kernels

    n, burn_in, seed = whole("n", n, 3), whole("burn_in", burn_in, 0), whole("seed", seed, 0)
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[1])
    widths = np.array([tables[name].shape[1] for name in graph])
    start = rng.integers(widths)
    uniforms = rng.uniform(size=(burn_in + n - 1, len(graph)))
    flat = np.concatenate([tables[name].cumsum(1).ravel() for name in graph])
    origins = np.cumsum([0, *(tables[name].size for name in graph)])[:-1]
    orbit = kernels.table_orbit(start, uniforms, flat, origins, widths, own, *flat_parents(graph))
    values = orbit[burn_in:]
    still = [name for name, spread in zip(graph, np.ptp(values, axis=0)) if spread == 0]
    if still:
        raise InputError(
            f"{', '.join(still)} never left one state; raise flip or concentration, n, or change the seed"
        )
    lags = dict.fromkeys(links_of(graph), (1,))
    return Series(values, list(graph), duplicates="allow", truth=graph, truth_lags=lags)


def _rows(graph: Graph, arity: Mapping[str, int], name: str, own: bool) -> int:
    """Return the number of states of a node's parents together, and of itself; refuse too many."""
    rows = int(np.prod([arity[node] for node in (*graph[name], *[name] * own)], dtype=float))
    if rows > MAX_ROWS:
        raise InputError(
            f"{name} with {len(graph[name])} parents has {rows} joint states; give it fewer parents or states"
        )
    return rows


def _random_rule(states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a Boolean function until every argument has an effect."""
    while True:
        table = rng.integers(2, size=(2,) * len(states))
        if all((table.take(0, axis) != table.take(1, axis)).any() for axis in range(len(states))):
            return table.ravel()


# From all joint states of the parents, ``(parent, state)``, to what the node does in each.
RULES: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
    "xor": lambda states, _: states.sum(0) % 2,
    "and": lambda states, _: states.min(0),
    "or": lambda states, _: states.max(0),
    "random": _random_rule,
}
