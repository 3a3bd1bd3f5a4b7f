"""Trains of events that drive one another, with known truth."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from enmesh.data.graph_input import flat_parents, parents_of
from enmesh.errors import InputError
from enmesh.events.events import Events
from enmesh.options import whole
from enmesh.simulate.arguments import per_node, require_number

KINDS = ("bump", "hawkes", "copies")
# Of each kind: strength, delay and width of a link, and the rates of nodes without and with drivers.
USUAL = {
    "bump": (5.0, 0.5, 0.1, 1.0, 0.5),
    "hawkes": (0.6, 0.0, 0.2, 1.0, 0.5),
    "copies": (1.0, 0.25, 0.05, 1.0, 0.0),
}
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
    graph
        Who drives whom, such as ``"a>b, b>c"``; nodes without drivers are Poisson processes.
    duration
        Length of the recording.
    kind
        ``"bump"``: with d the time since the last event of a driver, the rate rises by ``strength`` times
        exp(-(d - delay)^2 / (2 width^2)), less its value at d = 0, up to d = 2 delay. With one link and the usual
        numbers it is the pair of Shorten et al. (2021): .5076 nats per unit of time. ``"hawkes"``: every event of a
        driver brings ``strength`` events on average, at a rate that decays within ``width`` (there is no delay; a
        negative strength needs bump). ``"copies"``: every event of a driver is repeated after ``delay`` with Gaussian
        noise of ``width``: ``"m>a, m>b"`` is a mother with two daughters.
    rate
        Rate of each node by itself, or one for all; by default 1 without drivers, and 0.5 with (copies: 0).
    strength, delay, width
        Of links, one number for all or some by ``(source, target)``; by default 5, 0.5 and 0.1 (bump), 0.6 and 0.2
        (hawkes), 0.25 and 0.05 (copies).
    rest
        Time after an event in which a node has no other by itself (copies come all the same).
    seed
        Seed of everything random.

    Examples
    --------
    >>> events = coupled_events("a>b, b>c", duration=200, seed=0)
    >>> events.truth
    {'a': (), 'b': ('a',), 'c': ('b',)}
    """
    parents = parents_of(graph)
    if kind not in KINDS:
        raise InputError(f"kind={kind!r} is not known; use {', '.join(map(repr, KINDS))}")
    require_number("duration", duration, 0, open_low=True)
    require_number("rest", rest, 0)
    alone, driven = USUAL[kind][3:]
    usual = {name: driven if some else alone for name, some in parents.items()}
    rates = per_node(usual if rate is None else rate, tuple(parents), "rate")
    require_number("rate", rates, 0)
    given = zip(("strength", "delay", "width"), (strength, delay, width), USUAL[kind])
    links = {what: _per_link(what, value, usual, parents) for what, value, usual in given}
    for what in ("delay", "width", *["strength"] * (kind == "hawkes")):
        require_number(what, links[what], 0, open_low=what == "width")
    rng = np.random.default_rng(whole("seed", seed, 0))
    make, own = _copies if kind == "copies" else _thinned, np.array(list(rates.values()), float)
    times = make(rng, parents, own, float(rest), links, float(duration), kind == "bump")
    return Events(dict(zip(parents, times)), duration, truth=parents)


def _per_link(what: str, value: Any, usual: float, parents: Mapping[str, tuple[str, ...]]) -> np.ndarray:
    links = [(source, target) for target, sources in parents.items() for source in sources]
    if not isinstance(value, Mapping):
        require_number(what, usual if value is None else value)
        return np.full(len(links), usual if value is None else value, float)
    unknown = [link for link in value if link not in links]
    if unknown:
        raise InputError(f"{what} names {unknown[0]!r}, which is no link of the graph; give (source, target)")
    require_number(what, value)
    return np.array([value.get(link, usual) for link in links], float)


def _thinned(
    rng: Any, parents: Any, rates: Any, rest: float, links: Any, duration: float, bump: bool
) -> list[np.ndarray]:
    from enmesh.simulate.event_kernels import thinned

    offsets, drivers = flat_parents(parents)
    room = min(MOST, 1000 + int(4 * duration * (rates.sum() + np.abs(links["strength"]).sum())))
    times, nodes = np.empty(room), np.empty(room, np.int64)
    how = links["strength"], links["delay"], links["width"], bump, duration
    count = thinned(rng, rates, rest, offsets, drivers, *how, times, nodes)
    if count < 0:
        raise InputError("events beget more and more events; lower the strength")
    return [times[:count][nodes[:count] == i] for i in range(len(rates))]


def _copies(
    rng: Any, parents: Any, rates: Any, rest: float, links: Any, duration: float, _: bool
) -> list[np.ndarray]:
    """Repeat the events of drivers, in an order in which drivers come first."""
    import networkx as nx

    order = nx.DiGraph([(source, target) for target, some in parents.items() for source in some])
    order.add_nodes_from(parents)
    if not nx.is_directed_acyclic_graph(order):
        raise InputError("events that are copied in a circle never end; give a graph without cycles")
    where = {link: i for i, link in enumerate((s, t) for t, some in parents.items() for s in some)}
    own = {name: _renewed(rng, rate, rest, duration) for name, rate in zip(parents, rates)}
    for name in nx.topological_sort(order):
        parts = [own[name]]
        for source in parents[name]:
            i = where[source, name]
            noise = rng.normal(0, links["width"][i], len(own[source]))
            parts.append(own[source] + links["delay"][i] + noise)
        joined = np.unique(np.concatenate(parts))
        own[name] = joined[(joined >= 0) & (joined <= duration)]
    return [own[name] for name in parents]


def _renewed(rng: Any, rate: float, rest: float, duration: float) -> np.ndarray:
    """Return a Poisson process that rests after every event."""
    if rate <= 0:
        return np.empty(0)
    usual = duration / (rest + 1 / rate)
    times = np.cumsum(rest + rng.exponential(1 / rate, int(usual + 10 * usual**0.5 + 10)))
    return times[times <= duration]
