"""Effects within one sample, oriented where the data can tell: a skeleton, and the best acyclic graph within it.

1. **Skeleton** (as PCMCI+, Runge 2020). Pairs that depend on each other given all lagged parents stay neighbours unless
   some set of neighbours of either makes them independent, given the lagged parents of all of them.
2. **Graph.** Of all acyclic graphs along the skeleton, the best by a penalised likelihood (`families`) is found; it is
   proven for each connected part of up to `PROVEN` nodes. One graph has no conflicts. Lagged parents and unshielded
   colliders, the shape of residuals (as LiNGAM) and nonlinear effects (as additive-noise models) all count in it.
   An edge stays if every graph without it scores less by ln(1 / `ODDS`): by BIC, its absence has odds of at most 5 %.
3. **Marks.** An edge is oriented if every graph with the opposite edge scores less by as much. Else its mark is "---".
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from enmesh.embedding.lagged import Lagged
from enmesh.links.known import Known
from enmesh.links.samples import Samples
from enmesh.search import Exact, HillClimb
from enmesh.search.base import Family, Found, Problem
from enmesh.within.families import Families
from enmesh.within.families import Family as Scored
from enmesh.within.pairs import Pair, dependent_pairs

ODDS = 0.05  # of no edge, or of the opposite one, up to which an edge stays, or is oriented (a convention)
LENIENT = 0.05  # level at which pairs stay in the skeleton; the score decides which edges stay (BIC)
LARGEST = 3  # nodes at most that are held fixed to separate a pair (a convention, so that a run ends)
PROVEN = 12  # nodes of a connected part up to which the best graph is proven; larger ones are if they are sparse
SPARSE = 2  # times as many pairs as nodes, up to which they are (40 nodes: 13 CPU s; climbing 67)
CLIMBS = 10  # restarts elsewhere (a convention, so that a run ends)
MOST = 4  # parents of a node within one sample (a convention, so that a run ends)
BUDGET = 10_000  # tests of one size, and families of one connected part (a convention, so that a run ends)
STATES = "states: their direction within one sample is not tested"


class Oriented(NamedTuple):
    """An edge within one sample: first, second, mark, p-value given what separates most, value in nats, and reason."""

    first: int
    second: int
    mark: str
    p_value: float
    value: float
    reason: str


class Contemporary:
    """Everything that is asked within one sample of a series, given the lagged parents of every node."""

    def __init__(self, samples: Samples, lagged: Sequence[Sequence[Lagged]], clocks: Sequence[int]):
        self.samples, self.lagged, self.clocks = samples, lagged, clocks
        self.known = cache(self._given)

    def _given(self, node: int, now: tuple[int, ...]) -> Known:
        """Return a node given its lagged parents, and other nodes within the sample with their lagged parents."""
        own = list(self.lagged[node])
        more = {v for k in now for v in self.lagged[k]} - {*own}
        variables = [*own, *sorted(more), *(Lagged(k, 0) for k in now)]
        return Known(self.samples, node, variables, self.clocks[node])

    def test(self, first: int, second: int, now: tuple[int, ...]) -> Pair:
        """Test whether two nodes depend on each other within the sample, given others."""
        found = dependent_pairs([self.known(first, now), self.known(second, now)])
        return found[0] if found else Pair(0, 1, 0.0, 1.0, 1.0)

    def skeleton(self, pairs: Sequence[Pair]) -> dict[tuple[int, int], tuple[float, float]]:
        """Return pairs that no set of neighbours separates, with the largest p-value and its value in nats."""
        import networkx as nx

        found = {(p.first, p.second): (p.p_value, p.value) for p in pairs if p.p_value <= LENIENT}
        for size in range(1, LARGEST + 1):
            near = nx.Graph([*found])  # as they were before this size (PC-stable)
            tests = sum(comb(near.degree[end] - 1, size) for ends in found for end in ends)
            if not 0 < tests <= BUDGET:
                break
            for ends in sorted(found, key=lambda ends: -found[ends][0]):
                for now in sorted({s for end in ends for s in combinations(sorted({*near[end]} - {*ends}), size)}):
                    test = self.test(*ends, now)
                    found[ends] = max(found[ends], (test.p_value, test.value))
                    if test.p_value > LENIENT:
                        del found[ends]
                        break
        return found


def oriented(
    samples: Samples,
    lagged: Sequence[Sequence[Lagged]],
    clocks: Sequence[int],
    pairs: Sequence[Pair],
    forbidden: frozenset[tuple[int, int]] = frozenset(),
) -> tuple[list[Oriented], dict[int, tuple[int, ...]], bool]:
    """Return edges within one sample with their marks, the parents in the best graph, and whether it is proven.

    ``forbidden`` are edges ``(source, target)`` that may not be.
    """
    import networkx as nx

    skeleton = Contemporary(samples, lagged, clocks).skeleton(pairs)
    near, edges, parents, proven = nx.Graph([*skeleton]), list[Oriented](), dict[int, tuple[int, ...]](), True
    for nodes in sorted(map(sorted, nx.connected_components(near))):
        part = _Part(samples, lagged, clocks, {i: {*near[i]} for i in nodes}, forbidden)
        parents |= {node: tuple(nodes[p] for p in found) for node, found in zip(nodes, part.best.parents)}
        proven &= part.proven
        for a, b in sorted(ends for ends in skeleton if ends[0] in nodes):
            mark, reason = part.marked(a, b)
            if mark:
                edges.append(Oriented(a, b, mark, *skeleton[a, b], reason))
    return edges, parents, proven


class _Part:
    """A connected part of the skeleton: its best graph, and how much worse the opposite of each edge is."""

    def __init__(
        self, samples: Samples, lagged: Sequence[Sequence[Lagged]], clocks: Sequence[int],
        near: dict[int, set[int]], forbidden: frozenset[tuple[int, int]],
    ):  # fmt: skip
        self.nodes, self.states = sorted(near), samples.states
        self.families = Families(samples, lagged, clocks, near)
        self.place = place = {node: k for k, node in enumerate(self.nodes)}
        self.refused = frozenset((place[a], place[b]) for a, b in forbidden if {a, b} <= place.keys())
        candidates = tuple(tuple(sorted(place[j] for j in near[i])) for i in self.nodes)
        sizes = [sum(comb(len(some), k) for some in candidates) for k in range(MOST + 1)]
        most = max(k for k in range(1, MOST + 1) if k == 1 or sum(sizes[: k + 1]) <= BUDGET)
        self.problem = Problem(n_nodes=len(self.nodes), max_parents=most, forbidden=self.refused, candidates=candidates)
        pairs = sum(map(len, candidates)) / 2
        self.proven = len(self.nodes) <= PROVEN or pairs <= SPARSE * len(self.nodes)
        self.best = self._without()
        while weak := self._weakest():
            self.problem = replace(self.problem, forbidden=self.problem.forbidden | {weak, weak[::-1]})
            self.best = self._without()

    def _without(self, *edges: tuple[int, int], required: tuple[tuple[int, int], ...] = ()) -> Found:
        """Return the best graph without some edges, and with those that are required."""
        forbidden = self.problem.forbidden.union(edges)
        problem = replace(self.problem, forbidden=forbidden, required=frozenset(required))
        return (Exact() if self.proven else HillClimb(restarts=CLIMBS)).run(self._scores, problem)

    def _family(self, family: Family) -> Scored:
        return self.families(self.nodes[family[0]], [self.nodes[p] for p in family[1]])

    def _scores(self, families: Sequence[Family]) -> np.ndarray:
        return np.array([self._family(one).score for one in families])

    def _weakest(self) -> tuple[int, int] | None:
        """Return the edge of the best graph that matters least for the score, if it matters too little to stay.

        Where graphs are proven, it is compared with the best graph without the edge, else with the same graph.
        """
        lost = {}
        for i, some in enumerate(self.best.parents):
            for p in some:
                if self.proven:
                    lost[p, i] = self.best.score - self._without((p, i), (i, p)).score
                else:
                    families = [(i, some), (i, tuple(k for k in some if k != p))]
                    lost[p, i] = -float(np.diff(self._scores(families))[0])
        weak = min(lost, key=lost.__getitem__, default=None)
        return weak if weak and lost[weak] < np.log(1 / ODDS) else None

    def marked(self, a: int, b: int) -> tuple[str, str]:
        """Return the mark of a pair and the reason; an empty mark where the best graph has no edge."""
        i, j = self.place[a], self.place[b]
        if {(i, j), (j, i)} <= self.refused:
            return "---", "neither direction is allowed"
        forward = i in self.best.parents[j]
        if not forward and j not in self.best.parents[i]:
            return "", ""
        source, target = (i, j) if forward else (j, i)
        mark = "-->" if forward else "<--"
        if (target, source) in self.refused:
            return mark, "the opposite is not allowed (tiers, required or forbidden edges)"
        if self.states[a] or self.states[b]:
            return "---", STATES
        opposite = self._without((source, target), required=((target, source),))
        lost = self.best.score - opposite.score
        if lost < np.log(1 / ODDS):
            return "---", f"both directions fit (the other scores less by {max(lost, 0.0):.1f} nats)"
        return mark, self._reason(opposite, target, lost)

    def _reason(self, opposite: Found, target: int, lost: float) -> str:
        """Return which part of the score tells the directions apart most."""
        best, other = (list(map(self._family, enumerate(found.parents))) for found in (self.best, opposite))
        gaussian = sum(f.gaussian for f in best) - sum(f.gaussian for f in other)
        told = f"the opposite scores less by {lost:.1f} nats"
        if sum(f.shape for f in best) - sum(f.shape for f in other) > gaussian:
            return f"shape of the residuals (not Gaussian): {told}"
        if best[target].bent:
            return f"nonlinear effect: {told}"
        return f"lagged parents and colliders: {told}"
