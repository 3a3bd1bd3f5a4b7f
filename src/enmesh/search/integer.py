"""The best acyclic graph by integer programming with cluster cuts.

One 0-1 variable x(i, P) says that node i takes the parents P. Every node takes one set, and in every cluster
C of nodes some node must have no parent inside, or there is a cycle (Jaakkola et al., AISTATS 2010):

    sum over i in C, P disjoint from C of  x(i, P)  >=  1.

There are too many clusters to write down, so those that the current solution breaks are added until none is
broken (Bartlett and Cussens, "Integer Linear Programming for the Bayesian network structure learning
problem", 2017). HiGHS solves the linear and the final integer programs. Costs are losses: how far a choice is
below the node's best.
"""

from collections.abc import Iterable
from math import fsum, inf
from time import monotonic
from typing import NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, linprog, milp
from scipy.sparse import csr_array, vstack
from scipy.sparse.csgraph import shortest_path

from enmesh.graphs import mask, members, strong_components
from enmesh.search.parts import Part, settle

RANGE = 1e4  # the largest useful loss as HiGHS sees it: its absolute gap of 1e-6 is then relative 1e-10
BROKEN = 1e-4  # by how much a solution must violate a cut for the cut to be added
NOTHING = 1e-9  # a value of x that counts as zero


class Relaxed(NamedTuple):
    """A proven bound on the loss of a part, and for each choice on the loss of all graphs that make it."""

    loss: float
    choosing: list[np.ndarray]


class Program:
    """The integer program of a part, with the cuts found so far; ``most`` is a loss that some graph attains."""

    def __init__(self, part: Part, most: float):
        self.part = part
        losses = [part.losses(node) for node in range(len(part))]
        self.scale = RANGE / most
        self.cost = np.concatenate(losses) * self.scale
        sizes = [len(some) for some in losses]
        self.owner = np.repeat(np.arange(len(part)), sizes)
        self.first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self.inside = np.array(
            [[m >> j & 1 for j in range(len(part))] for ms in part.masks for m in ms], bool
        )
        self.alive = np.ones(len(self.cost))
        self.each = csr_array((self.alive, (self.owner, np.arange(len(self.owner)))))
        self.clusters: dict[int, csr_array] = {}

    def relieved(self, cluster: int) -> np.ndarray:
        """Return the variables that give a node of the cluster no parent inside it."""
        within = np.zeros(len(self.part), bool)
        within[list(members(cluster))] = True
        return within[self.owner] & ~self.inside[:, within].any(1)

    def broken(self, clusters: Iterable[int], x: np.ndarray) -> list[int]:
        """Return the clusters whose cut a solution violates, each once."""
        return [c for c in sorted(set(clusters)) if x[self.relieved(c)].sum() < 1 - BROKEN]

    def add(self, clusters: Iterable[int]) -> None:
        """Add the cuts of clusters."""
        for cluster in clusters:
            self.clusters[cluster] = csr_array(self.relieved(cluster)[None].astype(float))

    def cuts(self) -> csr_array:
        """Return the cuts as rows."""
        return vstack(list(self.clusters.values()), format="csr")

    def relax(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the solution of the linear relaxation, and the prices of the cuts."""
        rows = {"A_ub": -self.cuts(), "b_ub": -np.ones(len(self.clusters))} if self.clusters else {}
        bounds = np.column_stack([np.zeros_like(self.alive), self.alive])
        answer = linprog(
            self.cost, **rows, A_eq=self.each, b_eq=np.ones(len(self.part)), bounds=bounds, method="highs"
        )
        if answer.x is None:
            raise RuntimeError(f"the linear relaxation was not solved: {answer.message}")
        prices = -answer.ineqlin.marginals if self.clusters else np.zeros(0)
        return answer.x, np.maximum(prices, 0.0)

    def bound(self, prices: np.ndarray) -> Relaxed:
        """Return the Lagrangian bound: the cuts moved into the objective at non-negative prices y.

        loss >= sum_C y_C + sum_i min_P [ loss(i, P) - sum_C y_C 1(i in C, P disjoint from C) ]

        holds for any prices, so it does not depend on the tolerances with which they were found.
        """
        value = self.cost - (prices @ self.cuts() if len(prices) else 0.0)
        value = np.where(self.alive > 0, value, inf)
        least = np.minimum.reduceat(value, self.first)
        total = fsum(prices) + fsum(least)
        choosing = (total + value - least[self.owner]) / self.scale
        return Relaxed(total / self.scale, np.split(choosing, self.first[1:]))

    def solve(self, seconds: float) -> OptimizeResult:
        """Return HiGHS's answer to the integer program with the cuts so far."""
        constraints = [LinearConstraint(self.each, 1, 1)]
        if self.clusters:
            constraints.append(LinearConstraint(self.cuts(), 1, inf))
        options = {"mip_rel_gap": 0.0} | ({"time_limit": max(seconds, 0.1)} if seconds < inf else {})
        ones = np.ones(len(self.cost))
        return milp(
            self.cost,
            constraints=constraints,
            integrality=ones,
            bounds=Bounds(0, self.alive),
            options=options,
        )

    def arcs(self, x: np.ndarray) -> np.ndarray:
        """Return ``[j, i]``: the weight with which j is a parent of i."""
        return self.inside.T @ (x[:, None] * (self.owner[:, None] == np.arange(len(self.part))))

    def order(self, x: np.ndarray) -> list[int]:
        """Return an order that suits a solution: next comes who needs those still missing least."""
        arcs, left, order = self.arcs(x), list(range(len(self.part))), []
        while left:
            node = left[int(np.argmin(arcs[np.ix_(left, left)].sum(0)))]
            order.append(node)
            left.remove(node)
        return order


def short_cycles(arcs: np.ndarray) -> list[int]:
    """Return, as masks, the cycles whose missing arc weight is less than one: each breaks its cluster's cut."""
    length = np.where(arcs > NOTHING, np.maximum(1 - arcs, NOTHING), inf)
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


def worst_cluster(program: Program, x: np.ndarray, seconds: float) -> list[int]:
    """Return the cluster whose cut a solution violates most, if any, by an integer program of its own.

    With y_i = 1 for the nodes of the cluster and z(i, P) = 1 where i and some parent in P are in it, the
    cut's left side is sum y_i - sum x(i, P) z(i, P); it is minimised over clusters of two nodes or more.
    """
    used = np.flatnonzero((x > BROKEN / len(program.part)) & program.inside.any(1))
    m, k = len(program.part), len(used)
    rows = np.arange(k)
    z_in = csr_array(
        (np.ones(2 * k), (np.tile(rows, 2), np.r_[program.owner[used], m + rows])), shape=(k, m + k)
    )
    z_in.data[:k] = -1.0  # z <= y of its node
    y_of = np.hstack([-program.inside[used].astype(float), np.eye(k)])  # z <= sum of y over its parents
    constraints = [LinearConstraint(z_in, -inf, 0), LinearConstraint(csr_array(y_of), -inf, 0)]
    constraints.append(LinearConstraint(np.r_[np.ones(m), np.zeros(k)][None], 2, inf))
    cost = np.r_[np.ones(m), -x[used]]
    integer = np.r_[np.ones(m), np.zeros(k)]
    options = {"time_limit": max(0.1, min(seconds, 20.0))}
    answer = milp(cost, constraints=constraints, integrality=integer, bounds=Bounds(0, 1), options=options)
    if answer.x is None:
        return []
    return program.broken([mask(np.flatnonzero(answer.x[:m] > 0.5).tolist())], x)


def tighten(
    program: Program, order: list[int], deadline: float, rng: np.random.Generator
) -> tuple[list[int], Relaxed]:
    """Add broken cuts to the linear relaxation until none is left; return the best order met, and the bound."""
    part, best = program.part, Relaxed(-inf, [])
    while True:
        x, prices = program.relax()
        best = max(best, program.bound(prices), key=lambda relaxed: relaxed.loss)
        order = _better(part, order, program.order(x), rng)
        if part.ceiling - part.score(part.follow(order)) <= best.loss or monotonic() > deadline:
            return order, best
        cuts = program.broken(short_cycles(program.arcs(x)), x)
        cuts = cuts or worst_cluster(program, x, deadline - monotonic())
        if not cuts:
            return order, best
        program.add(cuts)


def finish(
    program: Program, order: list[int], deadline: float, rng: np.random.Generator
) -> tuple[list[int], float]:
    """Solve integer programs, with the cuts each solution breaks added, until one is acyclic.

    Returns the best order met and the proven bound on the loss.
    """
    part, bound = program.part, -inf
    while True:
        answer = program.solve(deadline - monotonic())
        if answer.mip_dual_bound is not None:
            bound = max(bound, answer.mip_dual_bound / program.scale)
        if answer.x is None:
            return order, bound
        x = np.round(answer.x)
        arcs = program.arcs(x)
        loops = [c for c in strong_components([np.flatnonzero(column).tolist() for column in arcs.T]) if len(c) > 1]
        order = _better(part, order, program.order(x), rng)
        if answer.status != 0 or not loops:
            return order, bound
        program.add(program.broken([*map(mask, loops), *short_cycles(arcs)], x))


def _better(part: Part, order: list[int], other: list[int], rng: np.random.Generator) -> list[int]:
    """Return the better of an order and another one, which is improved first."""
    if part.follow(other) is None:
        return order
    other = settle(part, other, rng)
    return max(order, other, key=lambda some: part.score(part.follow(some)))
