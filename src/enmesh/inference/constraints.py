"""What a user knows beforehand: edges that must be or must not be, tiers, and the sources a target may have."""

from collections.abc import Iterable, Sequence
from typing import Any

from enmesh.data.series import Series
from enmesh.errors import InputError
from enmesh.search.base import Problem

Edges = Iterable[tuple[str, str]]


def constrained(
    series: Series, acyclic: bool, seed: int, required: Edges, forbidden: Edges, tiers: Any, candidates: Any
) -> Problem:
    """Return what a search may find, from the rules as a user writes them (`infer`); contradictions are refused."""
    never = _edges(series, forbidden) | _against(series, tiers)
    nodes = range(series.n_nodes)
    given = {series.index(target): series.indices(named) for target, named in (candidates or {}).items()}
    possible = {i: {j for j in given.get(i, nodes) if j != i and (j, i) not in never} for i in nodes}
    return Problem(
        n_nodes=len(nodes),
        max_parents=len(nodes),
        acyclic=acyclic,
        required=_edges(series, required),
        forbidden=never,
        candidates=tuple(tuple(sorted(possible[i])) for i in nodes),
        seed=seed,
        names=series.names,
    )


def _against(series: Series, tiers: Sequence[Sequence[str]] | None) -> frozenset[tuple[int, int]]:
    """Return the edges from a later tier to an earlier one."""
    place: dict[int, int] = {}
    for position, group in enumerate(tiers or ()):
        for name in [group] if isinstance(group, str) else group:
            node = series.index(name)
            if node in place:
                raise InputError(f"{series.names[node]} stands in two tiers; name each node once")
            place[node] = position
    return frozenset((j, i) for j in place for i in place if place[j] > place[i])


def _edges(series: Series, edges: Edges) -> frozenset[tuple[int, int]]:
    found = set()
    for edge in edges:
        if isinstance(edge, str) or len(edge) != 2:
            raise InputError(f"{edge!r} is not an edge; give (source, target)")
        found.add((series.index(edge[0]), series.index(edge[1])))
    return frozenset(found)
