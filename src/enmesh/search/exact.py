"""The optimum, proven: no allowed graph scores higher.

The best parents of each node alone are the optimum if they make no cycle. Otherwise the parent sets that a
subset dominates are dropped, the rest falls into independent parts (strongly connected components), a good
order of the nodes of each part gives a graph to beat, and every choice that loses more than that graph does
in total is dropped too, which splits the part further. Of the few nodes that are left all orders are tried; many
are a matter of integer programming with cluster cuts.
"""

from collections.abc import Mapping, Sequence
from itertools import permutations
from math import fsum, inf
from time import monotonic

import numpy as np

from enmesh.errors import InputError
from enmesh.options import option
from enmesh.search.base import Evaluate, Found, Memo, Problem, Search, conclude
from enmesh.search.families import Choice, best_alone, generate
from enmesh.search.graphs import Parents, ancestors, is_acyclic, topological_order
from enmesh.search.parts import Part, settle, shaken, split

FEW = 6  # nodes of which all orders are tried
STARTS, SHAKES = 5, 10  # random orders tried for the graph to beat, and shakes in a row that may fail
ROUNDING = 1e-10  # of the total: a loss smaller than that is rounding


@option
class Exact(Search):
    """The best graph, with proof.

    Attributes
    ----------
    time_limit
        Seconds for the optimisation once the scores are known; None for no limit. When it is reached the best graph so
        far is returned with ``optimal=False`` and a proven ``bound``.

    Every allowed parent set is evaluated unless the score has bounds or ceilings. Among parent sets of equal score the
    smaller one is taken, then the lexicographically first.

    >>> scores = {(0, ()): 0.0, (0, (1,)): 1.0, (1, ()): 0.0, (1, (0,)): 2.0}
    >>> problem = Problem(n_nodes=2, max_parents=1)
    >>> found = Exact().run(lambda families: [scores[family] for family in families], problem)
    >>> found.parents, found.optimal, found.gap, found.removed
    (((), (0,)), True, 1.0, ((1, 0),))
    """

    cli_name = "exact"
    summary = "The best graph, proven; always first, with a time limit it returns a proven bound."
    phrase = "an exact search"
    references = (
        "Bartlett, M. and Cussens, J. (2017). Integer Linear Programming for the Bayesian Network Structure Learning "
        "Problem. Artificial Intelligence 244, 258.",
    )

    time_limit: float | None = None

    def __post_init__(self) -> None:
        if self.time_limit is not None and not self.time_limit >= 0:
            raise InputError(f"time_limit is {self.time_limit}; give seconds, 0 or more, or None")

    def run(self, evaluate: Evaluate, problem: Problem) -> Found:
        """Return the best graph."""
        memo = Memo(evaluate, problem)
        table = generate(memo, problem)
        free = best_alone(table)
        if not problem.acyclic or is_acyclic(free):
            return conclude(memo, free, proven=True, free=free)
        if problem.bounds is not None or problem.ceilings is not None:
            table = generate(memo, problem, floors=Solver(self, problem).floors(table))
        solver = Solver(self, problem)  # the clock starts here
        while True:
            chosen, bound = solver.solve(dict(enumerate(table)))
            parents = tuple(chosen[node].parents for node in range(problem.n_nodes))
            if memo.scores.keys() >= set(enumerate(parents)):
                break
            # By its ceiling alone something in it was the best; the graph is, once nothing in it is.
            memo.ask(enumerate(parents))
            for node, choices in enumerate(table):
                known = (c._replace(score=memo.scores.get((node, c.parents), c.score)) for c in choices)
                table[node] = sorted(known, key=lambda choice: choice.rank)
        table = [[c for c in choices if (node, c.parents) in memo.scores] for node, choices in enumerate(table)]
        parents = settle_ties(table, parents)
        score = fsum(memo.local(parents))
        lost = fsum(memo.local(free)) - score
        near = bound - score <= ROUNDING * max(1.0, abs(score), 2 * lost)
        return conclude(memo, parents, proven=near, bound=bound, free=free)


# Choices of some nodes that make no cycle, and a proven bound on their total score.
Answer = tuple[dict[int, Choice], float]


class Solver:
    """One run of `Exact`: its deadline, random numbers and required edges."""

    def __init__(self, search: Exact, problem: Problem):
        self.deadline = inf if search.time_limit is None else monotonic() + search.time_limit
        self.rng = np.random.default_rng(problem.seed)
        self.needed = [problem.needed(target) for target in range(problem.n_nodes)]

    def floors(self, table: Sequence[Sequence[Choice]]) -> list[float]:
        """Return for each node the score below which no parent set can be part of the best graph.

        A graph with that set would lose more against the best choices of all nodes than a known graph does.
        """
        part = Part(tuple(range(len(table))), dict(enumerate(table)))
        loss = part.ceiling - part.value(self.order(part))
        return [choices[0].score - loss - ROUNDING * max(1.0, abs(part.ceiling)) for choices in table]

    def order(self, part: Part) -> list[int]:
        """Return a good order of a part's nodes: a local optimum, shaken until that no longer helps."""
        place = {node: i for i, node in enumerate(part.nodes)}
        needed = [[place[p] for p in self.needed[node] if p in place] for node in part.nodes]
        orders = (settle(part, topological_order(needed, self.rng), self.rng) for _ in range(STARTS))
        best = max(orders, key=part.value)
        idle = 0
        while idle < SHAKES and monotonic() < self.deadline:
            other = settle(part, shaken(part, best, self.rng), self.rng)
            idle = 0 if part.value(other) > part.value(best) else idle + 1
            best = max(best, other, key=part.value)
        return best

    def solve(self, table: Mapping[int, Sequence[Choice]], order: Sequence[int] | None = None) -> Answer:
        """Return the best choices for the nodes of a table; ``order`` is one that fits them, if known."""
        chosen: dict[int, Choice] = {}
        bounds = []
        for part in split(table):
            place = {node: i for i, node in enumerate(part.nodes)}
            known = None if order is None else [place[node] for node in order if node in place]
            picked, bound = self.solve_part(part, known)
            chosen |= picked
            bounds.append(bound)
        return chosen, fsum(bounds)

    def solve_part(self, part: Part, order: list[int] | None) -> Answer:
        """Return the best choices for a part: at once, by taking it apart, by all orders or cuts."""
        if len(part) == 1:
            return self.follow(part, [0])
        order = self.order(part) if order is None else order
        loss = part.ceiling - part.value(order)
        slack = ROUNDING * max(1.0, abs(part.ceiling))
        if loss <= slack:
            return self.follow(part, order)
        keep = [part.losses(node) <= loss + slack for node in range(len(part))]
        if not all(map(np.all, keep)):
            return self.solve(part.only(keep), [part.nodes[i] for i in order])
        if monotonic() > self.deadline:
            return self.follow(part, order, part.ceiling)
        if len(part) <= FEW:
            return self.follow(part, max(permutations(range(len(part))), key=part.value))
        from enmesh.search import integer

        program = integer.Program(part, loss)
        order, relaxed = integer.tighten(program, order, slack, self.deadline, self.rng)
        loss = part.ceiling - part.value(order)
        if relaxed >= loss - slack:
            return self.follow(part, order)
        if monotonic() > self.deadline:
            return self.follow(part, order, part.ceiling - relaxed)
        table = part.only(np.split(program.alive > 0, program.first[1:]))
        if len(split(table)) > 1:
            return self.solve(table, [part.nodes[i] for i in order])
        order, least = integer.finish(program, order, self.deadline, self.rng)
        return self.follow(part, order, part.ceiling - max(least, relaxed))

    def follow(self, part: Part, order: Sequence[int], bound: float = -inf) -> Answer:
        """Return the choices that an order gives; without a bound they are the best."""
        picked = part.follow(order)
        assert picked is not None, f"no choices of nodes {part.nodes} fit the order {order}"
        chosen = {node: choices[j] for node, choices, j in zip(part.nodes, part.choices, picked)}
        return chosen, max(bound, part.score(picked))


def settle_ties(table: Sequence[Sequence[Choice]], parents: Parents) -> Parents:
    """Return the graph in which each node has the first parents in rank of equal score that fit."""
    settled = list(parents)
    for node, choices in enumerate(table):
        score = next(choice.score for choice in choices if choice.parents == settled[node])
        for choice in (one for one in choices if one.score == score):
            trial = [*settled[:node], choice.parents, *settled[node + 1 :]]
            if not ancestors(trial)[node] >> node & 1:
                settled = trial
                break
    return tuple(settled)
