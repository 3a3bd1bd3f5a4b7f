"""What a user knows beforehand: edges that must be or must not be, tiers, and the sources a target may have."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from enmesh.data.series import Series
from enmesh.errors import InputError
from enmesh.search.base import Problem

Edges = Iterable[tuple[str, str]]


@dataclass(frozen=True)
class Constraints:
    """Edges that must be, that must not be, and the sources each target may have, by position."""

    names: tuple[str, ...]
    required: frozenset[tuple[int, int]]
    forbidden: frozenset[tuple[int, int]]
    allowed: tuple[tuple[int, ...], ...]

    @classmethod
    def of(
        cls,
        series: Series,
        required: Edges,
        forbidden: Edges,
        tiers: Sequence[Sequence[str]] | None,
        candidates: Mapping[str, Sequence[str]] | None,
    ) -> "Constraints":
        """Read the rules as a user writes them."""
        must, never = _edges(series, required), _edges(series, forbidden) | _against(series, tiers)
        nodes = range(series.n_nodes)
        Problem(  # refuses contradictions before anything is computed
            n_nodes=len(nodes),
            max_parents=len(nodes),
            acyclic=False,
            required=must,
            forbidden=never,
            names=series.names,
        )
        given = {
            series.index(target): set(series.indices(named)) for target, named in (candidates or {}).items()
        }
        allowed = tuple(
            tuple(j for j in nodes if j != i and (j, i) not in never and j in given.get(i, nodes))
            for i in nodes
        )
        return cls(series.names, must, never, allowed)

    @property
    def named_candidates(self) -> dict[str, tuple[str, ...]]:
        """Return the sources of each target that may not have all others, by name."""
        sources = {
            target: tuple(self.names[j] for j in some) for target, some in zip(self.names, self.allowed)
        }
        return {target: some for target, some in sources.items() if len(some) < len(self.names) - 1}

    def described(self, allowed: Sequence[Sequence[int]]) -> dict[str, Any]:
        """Return the rules, and the sources that were looked at, by name, as `Network.options` keeps them."""
        names = self.names
        return {
            "required": sorted([names[source], names[target]] for source, target in self.required),
            "forbidden": sorted([names[source], names[target]] for source, target in self.forbidden),
            "candidates": {target: [names[j] for j in sources] for target, sources in zip(names, allowed)},
        }


def _against(series: Series, tiers: Sequence[Sequence[str]] | None) -> frozenset[tuple[int, int]]:
    """Return the edges from a later tier to an earlier one."""
    if tiers is None:
        return frozenset()
    place: dict[int, int] = {}
    for position, group in enumerate(tiers):
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
