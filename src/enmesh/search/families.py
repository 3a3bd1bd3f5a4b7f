"""Parent sets worth considering: generated level by level, without those that can never be needed.

A set is dominated when a subset of it scores as much: wherever the set fits into an acyclic graph, the subset
fits too. With `Bounds` a set is not even evaluated when ``ceiling - penalty`` says that it and all sets
around it are dominated, or stay below a floor (compare de Campos and Ji, JMLR 12, 2011). Where scores are dear and
ceilings of them are not (`Problem.ceilings`), all candidates together are evaluated first, and of their subsets those
whose ceilings reach above that.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import inf
from typing import NamedTuple

from enmesh.search.base import Family, Memo, Problem
from enmesh.search.graphs import Parents

FEW = 3  # candidates up to which all their sets are evaluated: bounds cost as much


class Choice(NamedTuple):
    """A parent set of some node, and its score."""

    score: float
    parents: tuple[int, ...]

    @property
    def rank(self) -> tuple[float, int, tuple[int, ...]]:
        """Key that sorts the better choice first: score, then the smaller set, then lexicographic."""
        return (-self.score, len(self.parents), self.parents)


def every_set(problem: Problem, target: int) -> Iterator[tuple[int, ...]]:
    """Yield every allowed parent set of a node."""
    base = problem.needed(target)
    extras = [source for source in problem.allowed(target) if source not in base]
    for size in range(min(problem.max_parents - len(base), len(extras)) + 1):
        yield from (tuple(sorted(base + added)) for added in combinations(extras, size))


class Growth:
    """The parent sets of one target, grown by one parent at a time from the required ones."""

    def __init__(self, problem: Problem, target: int, floor: float | None):
        self.target = target
        self.base = problem.needed(target)
        self.extras = tuple(source for source in problem.allowed(target) if source not in self.base)
        self.room = min(problem.max_parents - len(self.base), len(self.extras))
        self.bounds = problem.bounds if len(self.extras) > FEW else None
        self.ceiling = inf if self.bounds is None else self.bounds.ceiling(target)
        # The ceiling and the scores are rounded differently; the slack keeps rounding from closing a set.
        self.slack = 0.0 if self.bounds is None else 1e-9 * max(1.0, abs(self.ceiling))
        self.floor = floor  # score below which a set is of no interest; None for the best so far
        self.best: dict[tuple[int, ...], float] = {}  # of a set and all its subsets, for every set still open
        self.choices: list[Choice] = []
        self.front: list[tuple[int, ...]] = [()]

    def full(self, added: tuple[int, ...]) -> tuple[int, ...]:
        """Return the parents: the required ones and those added."""
        return tuple(sorted(self.base + added))

    def below(self, added: tuple[int, ...]) -> float:
        """Return the best score of any proper subset."""
        rests = combinations(added, len(added) - 1) if added else ()
        return max((self.best[rest] for rest in rests), default=-inf)

    def _closed(self, added: tuple[int, ...], floor: float) -> bool:
        if self.bounds is None or not added:
            return False
        reach = self.ceiling - self.bounds.penalty(self.target, self.full(added)) + self.slack
        return reach <= self.below(added) or reach < floor

    def grow(self, size: int) -> Iterator[tuple[int, ...]]:
        """Yield the sets of ``size`` added parents that are open and whose subsets all are."""
        best = max((choice.score for choice in self.choices), default=-inf)
        floor = best if self.floor is None else self.floor
        for stem in self.front if size <= self.room else ():
            for source in (one for one in self.extras if not stem or one > stem[-1]):
                added = (*stem, source)
                subsets = combinations(added, size - 1)
                if all(rest in self.best for rest in subsets) and not self._closed(added, floor):
                    yield added

    def take(self, memo: Memo, open_: Mapping[Family, float]) -> None:
        """Enter the scores of the front, of open sets what they are at most; a set with neither is dominated."""
        for added in self.front:
            below, family = self.below(added), (self.target, self.full(added))
            score = memo.scores.get(family, below)
            self.best[added] = max(score, below)
            most = open_.get(family, score)
            if most > below:
                self.choices.append(Choice(most, family[1]))


def generate(memo: Memo, problem: Problem, floors: Sequence[float] | None = None) -> list[list[Choice]]:
    """Return for each node its parent sets that no subset dominates, best first.

    Sets that score below ``floors[target]`` may be missing; without floors, sets that are not the node's best
    may be, where the problem has bounds or ceilings. With floors, sets that have a ceiling are left open: their scores
    are not in the memory, and the choices have the ceilings in place of them. One call to ``evaluate`` serves a whole
    level of all nodes.
    """
    growths = [Growth(problem, i, None if floors is None else floors[i]) for i in range(problem.n_nodes)]
    reached = _reached(memo, problem, growths)
    open_: dict[Family, float] = {}
    size = 0
    while any(growth.front for growth in growths):
        sets = {(growth.target, growth.full(added)): added for growth in growths for added in growth.front}
        dear = [family for family in sets if sets[family] and family[0] in reached and family not in memo.scores]
        for family, most in zip(dear, problem.ceilings(dear) if problem.ceilings else ()):
            if floors is None and most >= reached[family[0]]:
                continue
            del sets[family]
            if floors is not None and most >= floors[family[0]]:
                open_[family] = most
        if problem.redundant is not None:  # leave out sets that are as good without one of those added
            redundant = problem.redundant(list(sets))
            sets = {f: added for (f, added), parent in zip(sets.items(), redundant) if parent not in added}
        memo.ask(sets)
        size += 1
        for growth in growths:
            growth.take(memo, open_)
            growth.front = list(growth.grow(size))
    return [sorted(growth.choices, key=lambda choice: choice.rank) for growth in growths]


def _reached(memo: Memo, problem: Problem, growths: Sequence[Growth]) -> dict[int, float]:
    """Return what all candidates of a node score together, where scores have ceilings and sets are more than few."""
    if problem.ceilings is None:
        return {}
    many = [(g.target, g.full(g.extras)) for g in growths if FEW < len(g.extras) <= g.room]
    many = [family for family, most in zip(many, problem.ceilings(many)) if most < inf]
    memo.ask(many)
    return {target: memo[target, parents] for target, parents in many}


def best_alone(table: Sequence[Sequence[Choice]]) -> Parents:
    """Return the first choice of each node: the best graph with cycles allowed."""
    return tuple(choices[0].parents for choices in table)
