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
        self._known: dict[tuple[int, tuple[int, ...]], Known] = {}

    def known(self, node: int, now: Sequence[int]) -> Known:
        """Return a node given its lagged parents, and other nodes within the sample with their lagged parents."""
        key = node, tuple(sorted(now))
        if key not in self._known:
            own = list(self.lagged[node])
            more = {v for k in now for v in self.lagged[k]} - {*own}
            variables = [*own, *sorted(more), *(Lagged(k, 0) for k in key[1])]
            self._known[key] = Known(self.samples, node, variables, self.clocks[node])
        return self._known[key]

    def test(self, first: int, second: int, now: Sequence[int]) -> Pair:
        """Test whether two nodes depend on each other within the sample, given others."""
        found = dependent_pairs([self.known(first, now), self.known(second, now)])
        return found[0] if found else Pair(0, 1, 0.0, 1.0, 1.0)

    def skeleton(self, pairs: Sequence[Pair]) -> dict[tuple[int, int], tuple[float, float]]:
        """Return pairs that no set of neighbours separates, with the largest p-value and its value in nats."""
        found = {(p.first, p.second): (p.p_value, p.value) for p in pairs if p.p_value <= LENIENT}
        for size in range(1, LARGEST + 1):
            near = neighbours(found)  # as they were before this size (PC-stable)
            tests = sum(comb(len(near[end]) - 1, size) for ends in found for end in ends)
            if not 0 < tests <= BUDGET:
                break
            for ends in sorted(found, key=lambda ends: -found[ends][0]):
                worst = self._separated(ends, near, size, found[ends])
                if worst[0] > LENIENT:
                    del found[ends]
                else:
                    found[ends] = worst
        return found

    def _separated(
        self, ends: tuple[int, int], near: dict[int, set[int]], size: int, worst: tuple[float, float]
    ) -> tuple[float, float]:
        """Return the largest p-value of a pair over sets of neighbours of a size, up to the first that separates."""
        sets = {s for end in ends for s in combinations(sorted(near[end] - {*ends}), size)}
        for now in sorted(sets):
            test = self.test(*ends, now)
            worst = max(worst, (test.p_value, test.value))
            if test.p_value > LENIENT:
                break
        return worst


def neighbours(pairs: Sequence[tuple[int, int]] | dict[tuple[int, int], tuple[float, float]]) -> dict[int, set[int]]:
    """Return the neighbours of every node that is in a pair."""
    near: dict[int, set[int]] = {}
    for a, b in pairs:
        near.setdefault(a, set()).add(b)
        near.setdefault(b, set()).add(a)
    return near


def parts(near: dict[int, set[int]]) -> list[list[int]]:
    """Return the connected parts of a graph."""
    left, found = set(near), []
    while left:
        part, new = set[int](), {min(left)}
        while new:
            part |= new
            new = {b for a in new for b in near[a]} - part
        left -= part
        found.append(sorted(part))
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
    skeleton = Contemporary(samples, lagged, clocks).skeleton(pairs)
    near, edges, parents, proven = neighbours(skeleton), list[Oriented](), dict[int, tuple[int, ...]](), True
    for nodes in parts(near):
        part = _Part(samples, lagged, clocks, {i: near[i] for i in nodes}, forbidden)
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
        place = {node: k for k, node in enumerate(self.nodes)}
        self.place, inside = place, {*self.nodes}

        self.refused = frozenset((place[a], place[b]) for a, b in forbidden if {a, b} <= inside)
        candidates = tuple(tuple(sorted(place[j] for j in near[i])) for i in self.nodes)
        sizes = [sum(comb(len(some), k) for some in candidates) for k in range(MOST + 1)]
        most = max(k for k in range(1, MOST + 1) if k == 1 or sum(sizes[: k + 1]) <= BUDGET)
        self.problem = Problem(n_nodes=len(self.nodes), max_parents=most, forbidden=self.refused, candidates=candidates)
        pairs = sum(map(len, candidates)) / 2
        self.proven = len(self.nodes) <= PROVEN or pairs <= SPARSE * len(self.nodes)
        self.best = self._found(self.problem)
        while weak := self._weakest():
            self.problem = replace(self.problem, forbidden=self.problem.forbidden | {weak, weak[::-1]})
            self.best = self._found(self.problem)

    def _found(self, problem: Problem) -> Found:
        return (Exact() if self.proven else HillClimb(restarts=CLIMBS)).run(self._scores, problem)

    def _scores(self, families: Sequence[Family]) -> np.ndarray:
        asked = ((self.nodes[i], [self.nodes[p] for p in some]) for i, some in families)
        return np.array([self.families(i, some).score for i, some in asked])

    def _weakest(self) -> tuple[int, int] | None:
        """Return the edge of the best graph that matters least for the score, if it matters too little to stay.

        Where graphs are proven, it is compared with the best graph without the edge, else with the same graph.
        """
        lost = {}
        for i, some in enumerate(self.best.parents):
            for p in some:
                if self.proven:
                    without = replace(self.problem, forbidden=self.problem.forbidden | {(p, i), (i, p)})
                    lost[p, i] = self.best.score - self._found(without).score
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
        opposite = self._found(
            replace(
                self.problem,
                required=frozenset({(target, source)}),
                forbidden=self.problem.forbidden | {(source, target)},
            )
        )
        lost = self.best.score - opposite.score
        if lost < np.log(1 / ODDS):
            return "---", f"both directions fit (the other scores less by {max(lost, 0.0):.1f} nats)"
        return mark, self._reason(opposite, target, lost)

    def _reason(self, opposite: Found, target: int, lost: float) -> str:
        """Return which part of the score tells the directions apart most."""
        ends = [
            [self.families(self.nodes[k], [self.nodes[p] for p in some]) for k, some in enumerate(found.parents)]
            for found in (self.best, opposite)
        ]
        gaussian, shape = (
            sum(getattr(f, part) for f in ends[0]) - sum(getattr(f, part) for f in ends[1])
            for part in ("gaussian", "shape")
        )
        told = f"the opposite scores less by {lost:.1f} nats"
        if shape > gaussian:
            return f"shape of the residuals (not Gaussian): {told}"
        if ends[0][target].bent:
            return f"nonlinear effect: {told}"
        return f"lagged parents and colliders: {told}"
