"""The best acyclic graph by integer programming with cluster cuts.

One 0-1 variable x(i, P) says that node i takes the parents P. Every node takes one set, and in every cluster
C of nodes some node must have no parent inside, or there is a cycle (Jaakkola et al., AISTATS 2010):

    sum over i in C, P disjoint from C of  x(i, P)  >=  1.

There are too many clusters to write down, so those that the current solution breaks are added until none is broken
(Bartlett and Cussens 2017). HiGHS solves the linear and the final integer programs. Costs are losses: how far a choice
is below the node's best.
"""

from collections.abc import Iterable, Sequence
from math import fsum, inf
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator

from enmesh.search.graphs import mask, strong_components
from enmesh.search.parts import Part, settle

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult
    from scipy.sparse import csr_array

Order = list[int]
RANGE = 1e4  # the largest useful loss as HiGHS sees it: its absolute gap of 1e-6 is then relative 1e-10
BROKEN = 1e-4  # by how much a solution must violate a cut for the cut to be added
PATIENCE, STALL = 8, 0.05  # rounds of cuts that must close at least this part of the gap to the best graph
NOTHING = 1e-6  # a weight that counts as zero


class Program:
    """The integer program of a part, with the cuts found so far; some graph's loss is ``most``."""

    def __init__(self, part: Part, most: float):
        from scipy.sparse import csr_array  # here, as below: the help of the command line needs the module, not scipy

        losses = [part.losses(node) for node in range(len(part))]
        self.part, self.scale = part, RANGE / most
        self.cost = np.concatenate(losses) * self.scale
        sizes = list(map(len, losses))
        self.owner = np.repeat(np.arange(len(part)), sizes)
        self.first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self.inside = self._members([m for masks in part.masks for m in masks]) > 0
        self.alive = np.ones(len(self.cost))
        self.each = csr_array((self.alive, (self.owner, np.arange(len(self.owner)))))
        self.clusters: dict[int, csr_array] = {}

    def _members(self, masks: Sequence[int]) -> np.ndarray:
        """Return ``[mask, node]``: 1 where the mask holds the node."""
        rows = [[m >> j & 1 for j in range(len(self.part))] for m in masks]
        return np.array(rows, np.float32).reshape(len(masks), len(self.part))

    def relieved(self, clusters: Sequence[int], rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return ``[cluster, variable]``: whether it gives a node of the cluster no parent inside."""
        within = self._members(clusters)
        return (within[:, self.owner[rows]] > 0) & (within @ self.inside[rows].T.astype(np.float32) == 0)

    def broken(self, clusters: Iterable[int], x: np.ndarray) -> list[int]:
        """Return the clusters whose cut a solution violates, each once."""
        clusters, used = list(dict.fromkeys(clusters)), np.flatnonzero(x > NOTHING)
        left = self.relieved(clusters, used) @ x[used]
        return [cluster for cluster, value in zip(clusters, left) if value < 1 - BROKEN]

    def add(self, clusters: Sequence[int]) -> None:
        """Add the cuts of clusters."""
        from scipy.sparse import csr_array

        rows = self.relieved(clusters).astype(float)
        self.clusters |= {cluster: csr_array(row[None]) for cluster, row in zip(clusters, rows)}

    def cuts(self) -> "csr_array":
        """Return the cuts as rows."""
        from scipy.sparse import vstack

        return vstack(list(self.clusters.values()), format="csr")

    def relax(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the solution of the linear relaxation, and the prices of the cuts."""
        from scipy.optimize import linprog  # here: it takes long to import

        rows = {"A_ub": -self.cuts(), "b_ub": -np.ones(len(self.clusters))} if self.clusters else {}
        bounds = np.column_stack([np.zeros_like(self.alive), self.alive])
        one_each = {"A_eq": self.each, "b_eq": np.ones(len(self.part))}
        answer = linprog(self.cost, **rows, **one_each, bounds=bounds, method="highs")
        if answer.x is None:
            raise RuntimeError(f"the linear relaxation was not solved: {answer.message}")
        prices = -answer.ineqlin.marginals if self.clusters else np.zeros(0)
        return answer.x, np.maximum(prices, 0.0)

    def bound(self, prices: np.ndarray) -> tuple[float, np.ndarray]:
        """Return a bound on the loss, and for each choice on that of all graphs that make it, from prices y >= 0.

        It is the Lagrangian bound: the cuts are moved into the objective.

        loss >= sum_C y_C + sum_i min_P [ loss(i, P) - sum_C y_C 1(i in C, P disjoint from C) ]

        holds for any prices, so it does not depend on the tolerances with which they were found.
        """
        value = self.cost - (prices @ self.cuts() if len(prices) else 0.0)
        value = np.where(self.alive > 0, value, inf)
        least = np.minimum.reduceat(value, self.first)
        total = fsum(prices) + fsum(least)
        choosing = (total + value - least[self.owner]) / self.scale
        return total / self.scale, choosing

    def solve(self, seconds: float) -> "OptimizeResult":
        """Return HiGHS's answer to the integer program with the cuts so far."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        constraints = [LinearConstraint(self.each, 1, 1)]
        if self.clusters:
            constraints.append(LinearConstraint(self.cuts(), 1, inf))
        options = {"mip_rel_gap": 0.0} | ({"time_limit": max(seconds, 0.1)} if seconds < inf else {})
        whole = np.ones(len(self.cost))
        how = {"constraints": constraints, "integrality": whole, "options": options}
        return milp(self.cost, bounds=Bounds(0, self.alive), **how)

    def arcs(self, x: np.ndarray) -> np.ndarray:
        """Return ``[j, i]``: the weight with which j is a parent of i."""
        return np.add.reduceat(x[:, None] * self.inside, self.first, axis=0).T

    def order(self, x: np.ndarray) -> list[int]:
        """Return an order that suits a solution: next comes who needs those still missing least."""
        arcs, left, order = self.arcs(x), list(range(len(self.part))), []
        while left:
            node = left[int(np.argmin(arcs[np.ix_(left, left)].sum(0)))]
            order.append(node)
            left.remove(node)
        return order


def short_cycles(arcs: np.ndarray) -> list[int]:
    """Return, as masks, the cycles whose missing arc weight is below one: each breaks its cut."""
    length = np.where(arcs > NOTHING, np.maximum(1 - arcs, NOTHING), inf)
    length = np.ascontiguousarray(length)  # scipy leaves other layouts unsolved without an error
    from scipy.sparse.csgraph import shortest_path

    distance, before = shortest_path(length, return_predecessors=True)
    closed = np.argwhere((distance.T + length < 1 - BROKEN) & np.isfinite(length))
    cycles = []
    for source, target in closed.tolist():  # the arc source -> target, closed by the shortest way back
        nodes, node = [source], source
        while node != target:
            node = int(before[target, node])
            nodes.append(node)
        cycles.append(mask(nodes))
    return cycles


def grown_clusters(program: Program, x: np.ndarray) -> list[int]:
    """Return clusters with a low left side of their cut, each grown node by node from a pair.

    All pairs with an arc between them grow at once: rows of ``inside`` are their clusters, and of each row's
    path the cluster with the lowest left side counts.
    """
    from scipy.sparse import csr_array

    m, used = len(program.part), np.flatnonzero(x > NOTHING)
    owner, weight = program.owner[used], x[used]
    first = np.searchsorted(owner, np.arange(m))
    parents = program.inside[used]
    children = csr_array(parents.T.astype(float))  # sparse products stay off the threads of dense ones
    seeds = np.argwhere(program.arcs(x) > NOTHING)
    rows = np.arange(len(seeds))
    inside = np.zeros((len(seeds), m), bool)
    inside[rows[:, None], seeds] = True
    held = parents.T[seeds].sum(1)  # [cluster, variable]: how many of its parents are inside
    best, lowest = inside.copy(), np.full(len(seeds), inf)
    for _ in range(2, m + 1):
        free = np.where(held == 0, weight, 0.0)  # weight of sets with no parent inside, whoever owns them
        owned = np.where(inside[:, owner], free, 0.0)
        left = owned.sum(1)
        better = left < lowest
        best[better], lowest[better] = inside[better], left[better]
        change = np.add.reduceat(free, first, axis=1) - (children @ owned.T).T
        added = np.argmin(np.where(inside, inf, change), axis=1)
        inside[rows, added] = True
        held += parents.T[added]
    return [mask(np.flatnonzero(row).tolist()) for row in best[np.argsort(lowest, kind="stable")]]


def tighten(program: Program, order: Order, slack: float, deadline: float, rng: Generator) -> tuple[Order, float]:
    """Add broken cuts to the linear relaxation until none is left or they no longer help; return best order and bound.

    Choices that the bound rules out are dropped on the way; ``slack`` is the loss that counts as rounding.
    """
    part, history = program.part, []
    best = -inf, np.zeros(0)
    while True:
        x, prices = program.relax()
        best = max(best, program.bound(prices), key=lambda relaxed: relaxed[0])
        order = _better(part, order, program.order(x), rng)
        loss = part.ceiling - part.value(order)
        least, choosing = best
        program.alive *= choosing <= loss + slack
        history.append(least)
        stalled = len(history) > PATIENCE and least - history[-PATIENCE] < STALL * (loss - least)
        if least >= loss - slack or stalled or monotonic() > deadline:
            return order, least
        cuts = program.broken([*short_cycles(program.arcs(x)), *grown_clusters(program, x)], x)
        if not cuts:
            return order, least
        program.add(cuts)


def finish(program: Program, order: Order, deadline: float, rng: Generator) -> tuple[Order, float]:
    """Solve integer programs, adding the cuts that solutions break, until one is acyclic; return order and bound."""
    part, bound = program.part, -inf
    while True:
        answer = program.solve(deadline - monotonic())
        if answer.mip_dual_bound is not None:
            bound = max(bound, answer.mip_dual_bound / program.scale)
        if answer.x is None:
            return order, bound
        x = np.round(answer.x)
        arcs = program.arcs(x)
        components = strong_components([np.flatnonzero(column).tolist() for column in arcs.T])
        loops = [nodes for nodes in components if len(nodes) > 1]
        order = _better(part, order, program.order(x), rng)
        if answer.status != 0 or not loops:
            return order, bound
        program.add(program.broken([*map(mask, loops), *short_cycles(arcs)], x))


def _better(part: Part, order: Order, other: Order, rng: Generator) -> Order:
    """Return the better of an order and another one, which is improved first."""
    return order if part.follow(other) is None else max(order, settle(part, other, rng), key=part.value)
