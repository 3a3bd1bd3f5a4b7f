"""Checks of what a simulation is given: numbers in range, one value for all nodes or links or one for each."""

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from enmesh.data.graph_input import flat_parents
from enmesh.errors import InputError
from enmesh.options import whole

Graph = Mapping[str, tuple[str, ...]]
Link = tuple[str, str]
Value = TypeVar("Value")


def per_node(value: Value | Mapping[str, Value], names: tuple[str, ...], what: str) -> dict[str, Value]:
    """Return ``{name: value}`` from one value for all nodes or a mapping that has them all."""
    if not isinstance(value, Mapping):
        return dict.fromkeys(names, value)
    given = {str(name): item for name, item in value.items()}
    if set(given) != set(names):
        odd = sorted(set(given) ^ set(names))
        raise InputError(f"{what} and the graph differ in {', '.join(odd)}; give one for all or one per node")
    return {name: given[name] for name in names}


def links_of(graph: Graph) -> list[Link]:
    """Return all links (source, target), target by target."""
    return [(source, target) for target, sources in graph.items() for source in sources]


def per_link(what: str, value: Value | Mapping[Link, Value], graph: Graph, usual: Value) -> dict[Link, Value]:
    """Return ``{(source, target): value}`` of all links, from one value or a mapping; links not named have the usual.

    >>> per_link("lags", {("a", "b"): 4}, {"a": (), "b": ("a",), "c": ("b",)}, 1)
    {('a', 'b'): 4, ('b', 'c'): 1}
    """
    links = links_of(graph)
    if not isinstance(value, Mapping):
        return dict.fromkeys(links, value)
    if unknown := [link for link in value if link not in links]:
        known = ", ".join(f"{source}>{target}" for source, target in links) or "none"
        raise InputError(
            f"{what} given for {unknown[0]!r}; that is no link of the graph: name them by (source, target), "
            f"the links are {known}"
        )
    return {link: value.get(link, usual) for link in links}


def link_lags(lags: int | Mapping[Link, int], graph: Graph) -> dict[Link, int]:
    """Return the lag of every link, a whole number of at least 1; links not named have lag 1."""
    if not isinstance(lags, Mapping):
        lags = whole("lags", lags, 1)
    named = per_link("lags", lags, graph, 1)
    return {(s, t): whole(f"lag of {s}>{t}", lag, 1) for (s, t), lag in named.items()}


def flat_links(graph: Graph, lags: Mapping[Link, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return `flat_parents`, and the lag of each link in the order of its drivers."""
    return *flat_parents(graph), np.array([lags[link] for link in links_of(graph)], dtype=np.int64)


def require_number(
    name: str, value: Any, low: float = -np.inf, high: float = np.inf, *, open_low: bool = False
) -> None:
    """Refuse what is not a finite number (or array of numbers) between low and high."""
    try:
        numbers = np.asarray(list(value.values()) if isinstance(value, Mapping) else value, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name}={value!r} is not a number") from None
    inside = (numbers > low if open_low else numbers >= low) & (numbers <= high)
    if not (np.isfinite(numbers) & inside).all():
        bound = f"{'over' if open_low else 'of at least'} {low:g}" if low > -np.inf else "that is finite"
        most = f" and at most {high:g}" if high < np.inf else ""
        raise InputError(f"{name}={value!r} is not possible; give a number {bound}{most}")
