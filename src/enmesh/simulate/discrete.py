"""Finite-state networks: nodes that draw their next state from a table given the parents' states."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from enmesh.data.graph_input import parents_of
from enmesh.data.series import Series
from enmesh.errors import InputError, refuse_if, refuse_memory
from enmesh.options import one_of, whole
from enmesh.simulate.graphs import HELD, Graph, links_of, per_node, require_number, streams

MAX_ROWS = 2**22
States = int | Mapping[str, int]
# From a node, the number of joint states of what it looks at, and a generator to its table of probabilities.
Table = Callable[[str, int, np.random.Generator], np.ndarray]


def boolean(graph: Any, n: int, *, rule: str = "xor", flip: float = 0.1, seed: int = 0, burn_in: int = 100) -> Series:
    """Simulate a noisy Boolean network: a rule of the parents' states, turned over with probability ``flip``.

    Parameters
    ----------
    graph, n
        Who drives whom, in any form `parents_of` reads; a node without parents is a fair coin. And the number of
        samples, after ``burn_in`` are dropped.
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
    refuse_if(flip >= 0.5, f"flip={flip} leaves nothing of the rule; give a probability under 0.5")
    one_of("rule", rule, RULES)

    def table(name: str, rows: int, rng: np.random.Generator) -> np.ndarray:
        states = np.indices((2,) * len(graph[name])).reshape(len(graph[name]), rows)
        one = np.abs(RULES[rule](states, rng) - flip) if graph[name] else np.array([0.5])
        return np.stack([1 - one, one], axis=1)

    return _simulate(graph, n, dict.fromkeys(graph, 2), False, table, seed, burn_in)


def markov(
    graph: Any, n: int, *, states: States = 3, concentration: float = 0.5, seed: int = 0, burn_in: int = 100
) -> Series:
    """Simulate a network of Markov chains p(x^i_{n+1} | x^i_n, <x^ij_n>_j) with random tables.

    Parameters
    ----------
    graph, n
        Who drives whom, in any form `parents_of` reads; and the number of samples, after ``burn_in`` are dropped.
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
    given = per_node("states", states, graph)
    arity = {name: whole(f"states of {name}", count, 2) for name, count in given.items()}
    require_number("concentration", concentration, 0, open_low=True)

    def table(name: str, rows: int, rng: np.random.Generator) -> np.ndarray:
        return rng.dirichlet(np.full(arity[name], concentration), rows)

    return _simulate(graph, n, arity, True, table, seed, burn_in)


def _simulate(
    graph: Graph, n: int, arity: Mapping[str, int], own: bool, table: Table, seed: int, burn_in: int
) -> Series:
    """Run nodes that draw their states from tables ``(row, state)``, rows by the parents' states (and the own one)."""
    n, burn_in = whole("n", n, 3), whole("burn_in", burn_in, 0)
    for_tables, rng = streams(seed, 2)
    refuse_memory(f"n={n:,}", HELD * (n + burn_in) * len(graph))
    names, widest, limits = list(graph), max(arity.values()), []
    # Value of a node's digit in the row number of another.
    place = np.zeros((len(names), len(names)), np.int64)
    for i, (name, parents) in enumerate(graph.items()):
        rows = 1
        for node in reversed((*[name] * own, *parents)):
            place[names.index(node), i] = rows
            rows *= arity[node]
        if rows > MAX_ROWS:
            few = "give it fewer parents or states"
            raise InputError(f"{name} with {len(parents)} parents has {rows} joint states; {few}")
        cumulative = table(name, rows, for_tables).cumsum(1, dtype=float)[:, :-1]
        limits.append(np.pad(cumulative, ((0, 0), (0, widest - arity[name])), constant_values=np.inf))
    states = np.empty((burn_in + n, len(names)), np.int64)
    states[0] = rng.integers(np.array([*arity.values()]))
    first, joined = np.cumsum([0, *map(len, limits)])[:-1], np.concatenate(limits)
    for now, uniforms in enumerate(rng.uniform(size=(burn_in + n - 1, len(graph)))):
        states[now + 1] = (uniforms[:, None] >= joined[first + states[now] @ place]).sum(axis=1)
    values = states[burn_in:]
    if still := [name for name, spread in zip(graph, np.ptp(values, axis=0)) if spread == 0]:
        remedy = "raise flip or concentration, n, or change the seed"
        raise InputError(f"{', '.join(still)} never left one state; {remedy}")
    lags = dict.fromkeys(links_of(graph), (1,))
    return Series(values, names, duplicates="allow", truth=graph, truth_lags=lags)


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
