"""Trains of events that drive one another, with known truth."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from enmesh.data.graph_input import flat_parents, parents_of
from enmesh.errors import InputError, refuse_if, refuse_memory
from enmesh.events.events import Events
from enmesh.options import one_of, whole
from enmesh.simulate.graphs import Graph, links_of, per_link, per_node, require_number

# Of each kind: strength, delay and width of a link, and the rates of nodes without and with drivers.
USUAL = {"bump": (5.0, 0.5, 0.1, 1.0, 0.5), "hawkes": (0.6, 0.0, 0.2, 1.0, 0.5), "copies": (1.0, 0.25, 0.05, 1.0, 0.0)}
# Events for which there is room, beyond which a process is taken to explode.
MOST = 5_000_000


def coupled_events(
    graph: Any,
    duration: float,
    *,
    kind: str = "bump",
    rate: float | Mapping[str, float] | None = None,
    strength: float | Mapping[tuple[str, str], float] | None = None,
    delay: float | Mapping[tuple[str, str], float] | None = None,
    width: float | Mapping[tuple[str, str], float] | None = None,
    rest: float = 0.0,
    seed: int = 0,
) -> Events:
    """Simulate trains of events in which nodes raise the rate of those they drive, by thinning.

    Parameters
    ----------
    graph, duration
        Who drives whom, such as ``"a>b, b>c"``, and length of the recording.
    kind
        ``"bump"``: with d the time since the last event of a driver, the rate rises by ``strength`` times
        exp(-(d - delay)^2 / (2 width^2)), less its value at d = 0, up to d = 2 delay. With one link and the usual
        numbers it is the pair of Shorten et al. (2021): .5076 nats per unit of time. ``"hawkes"``: every event of a
        driver brings ``strength`` events on average, at a rate that decays within ``width`` (no delay, no negative
        strength). ``"copies"``: every event of a driver is repeated after ``delay`` with Gaussian noise of ``width``,
        drawn again where the copy would come before the event: an early copy would predict its driver.
    rate
        Rate of each node by itself, or one for all; by default 1 without drivers, and 0.5 with (copies: 0).
    strength, delay, width
        Of links, one number for all or some by ``(source, target)``; by default 5, 0.5 and 0.1 (bump), 0.6 and 0.2
        (hawkes), 0.25 and 0.05 (copies).
    rest
        Time after an event in which a node has no other by itself (copies come all the same).

    Examples
    --------
    >>> events = coupled_events("a>b, b>c", duration=200, seed=0)
    >>> events.truth
    {'a': (), 'b': ('a',), 'c': ('b',)}
    """
    parents = parents_of(graph)
    one_of("kind", kind, USUAL)
    require_number("duration", duration, 0, open_low=True)
    require_number("rest", rest, 0)
    alone, driven = USUAL[kind][3:]
    usual_rates = {name: driven if drivers else alone for name, drivers in parents.items()}
    rates = usual_rates if rate is None else rate
    require_number("rate", rates, 0, each=True)
    own = np.array([*per_node("rate", rates, parents).values()], float)
    least = {"strength": 0.0 if kind == "hawkes" else -np.inf, "delay": 0.0, "width": 0.0}
    refuse_memory(f"duration={duration:,.6g}", 16 * float(duration) * own.sum())
    links = []
    for (what, low), given, usual in zip(least.items(), (strength, delay, width), USUAL[kind]):
        value = usual if given is None else given
        require_number(what, value, low, open_low=what == "width", each=True)
        links.append(np.array([*per_link(what, value, parents, usual).values()], float))
    how = np.random.default_rng(whole("seed", seed, 0)), parents, own, float(rest), links, float(duration)
    times = _copies(*how) if kind == "copies" else _thinned(*how, kind == "bump")
    return Events(times, duration, truth=parents)


def _thinned(
    rng: Any, parents: Graph, rates: Any, rest: float, links: list[np.ndarray], duration: float, bump: bool
) -> dict[str, np.ndarray]:
    from enmesh.simulate.kernels import thinned

    room = min(MOST, 1000 + int(4 * duration * (rates.sum() + np.abs(links[0]).sum())))
    times, nodes = np.empty(room), np.empty(room, np.int64)
    count = thinned(rng, rates, rest, *flat_parents(parents), *links, bump, duration, times, nodes)
    refuse_if(count < 0, "events beget more and more events; lower the strength")
    return {name: times[:count][nodes[:count] == i] for i, name in enumerate(parents)}


def _copies(
    rng: Any, parents: Graph, rates: Any, rest: float, links: list[np.ndarray], duration: float
) -> dict[str, np.ndarray]:
    """Repeat the events of drivers, in an order in which drivers come first."""
    import networkx as nx

    _, delay, width = links
    where = {link: i for i, link in enumerate(links_of(parents))}
    graph = nx.DiGraph(list(where))
    graph.add_nodes_from(parents)
    if not nx.is_directed_acyclic_graph(graph):
        raise InputError("events that are copied in a circle never end; give a graph without cycles")
    own = {name: _renewed(rng, rate, rest, duration) for name, rate in zip(parents, rates)}
    for name in nx.topological_sort(graph):
        at = [where[source, name] for source in parents[name]]
        copies = [own[s] + _after(rng, delay[i], width[i], len(own[s])) for s, i in zip(parents[name], at)]
        joined = np.unique(np.concatenate([own[name], *copies]))
        own[name] = joined[(joined >= 0) & (joined <= duration)]
    return own


def _after(rng: Any, delay: float, width: float, count: int) -> np.ndarray:
    """Return delays with Gaussian noise, drawn again until none is negative."""
    delays = rng.normal(delay, width, count)
    while len(early := np.flatnonzero(delays < 0)):
        delays[early] = rng.normal(delay, width, len(early))
    return delays


def _renewed(rng: Any, rate: float, rest: float, duration: float) -> np.ndarray:
    """Return a Poisson process that rests after every event."""
    if rate <= 0:
        return np.empty(0)
    usual = duration / (rest + 1 / rate)
    times = np.cumsum(rest + rng.exponential(1 / rate, int(usual + 10 * usual**0.5 + 10)))
    return times[times <= duration]
