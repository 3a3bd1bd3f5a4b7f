"""The independent pieces of an acyclic problem, and good orders of their nodes.

Every cycle lies inside one strongly connected component of the graph of all edges that some choice has. So
each component is a problem of its own, in which parents from outside cost nothing: of a choice only the
parents inside matter, and choices that differ outside only collapse to the best of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from math import fsum

import numpy as np

from enmesh.search.families import Choice
from enmesh.search.graphs import mask, strong_components


class Part:
    """One component: its nodes, and for each its choices, best first, with the parents inside as masks."""

    def __init__(self, nodes: tuple[int, ...], table: Mapping[int, Sequence[Choice]]):
        self.nodes = nodes
        place = {node: i for i, node in enumerate(nodes)}
        self.choices: list[list[Choice]] = []
        self.masks: list[list[int]] = []
        for node in nodes:
            kept, masks = _undominated(table[node], place)
            self.choices.append(kept)
            self.masks.append(masks)
        self.ceiling = fsum(choices[0].score for choices in self.choices)
        """Score of the best choices of all nodes together, cycles or not."""
        self.cached_worth = cache(self.worth)

    def __len__(self) -> int:
        return len(self.nodes)

    def losses(self, node: int) -> np.ndarray:
        """Return how far each choice of a node is below its best."""
        scores = np.array([choice.score for choice in self.choices[node]])
        return scores[0] - scores

    def fit(self, node: int, before: int) -> int | None:
        """Return the best choice of a node with all parents among ``before``; None if there is none."""
        return next((j for j, inside in enumerate(self.masks[node]) if not inside & ~before), None)

    def worth(self, node: int, before: int) -> float:
        """Return the score of `fit`, minus infinity where nothing fits."""
        j = self.fit(node, before)
        return -np.inf if j is None else self.choices[node][j].score

    def follow(self, order: Iterable[int]) -> list[int] | None:
        """Return the best choice of each node that fits an order; None if some node has none."""
        picked, before = [-1] * len(self), 0
        for node in order:
            j = self.fit(node, before)
            if j is None:
                return None
            picked[node] = j
            before |= 1 << node
        return picked

    def score(self, picked: Sequence[int]) -> float:
        """Return the total score of one choice per node."""
        return fsum(self.choices[node][j].score for node, j in enumerate(picked))

    def value(self, order: Iterable[int]) -> float:
        """Return the score of the best graph that follows an order, minus infinity if there is none."""
        picked = self.follow(order)
        return -np.inf if picked is None else self.score(picked)

    def only(self, keep: Sequence[np.ndarray]) -> dict[int, list[Choice]]:
        """Return the table of the choices that are marked to be kept."""
        rows = zip(self.nodes, self.choices, keep)
        return {node: [c for c, stays in zip(choices, marks) if stays] for node, choices, marks in rows}


def _undominated(choices: Sequence[Choice], place: Mapping[int, int]) -> tuple[list[Choice], list[int]]:
    """Return the choices of which no better one asks for a subset of the same parents inside."""
    kept: list[Choice] = []
    masks: list[int] = []
    for choice in choices:
        inside = mask(place[parent] for parent in choice.parents if parent in place)
        if all(other & ~inside for other in masks):
            kept.append(choice)
            masks.append(inside)
            if not inside:  # nothing after it can be needed
                break
    return kept, masks


def split(table: Mapping[int, Sequence[Choice]]) -> list[Part]:
    """Return the parts of a table; the nodes of all parts together are those of the table."""
    nodes = sorted(table)
    place = {node: i for i, node in enumerate(nodes)}
    wanted = [{place[p] for c in table[node] for p in c.parents if p in place} for node in nodes]
    components = strong_components(wanted)
    return [Part(tuple(nodes[i] for i in component), table) for component in components]


def settle(part: Part, order: Sequence[int], rng: np.random.Generator) -> list[int]:
    """Improve an order by moving one node at a time to its best place, until no move helps.

    Exchanging two neighbours in an order changes the choices of these two only, so a node is carried through all places
    by exchanges (Lee and van Beek, "Metaheuristics for score-and-search Bayesian network structure learning", 2017).
    """
    order, improved = list(order), True
    while improved:
        improved = False
        for node in rng.permutation(len(part)).tolist():
            place = _best_place(part, order, node)
            if place != order.index(node):
                order.remove(node)
                order.insert(place, node)
                improved = True
    return order


def shaken(part: Part, order: Sequence[int], rng: np.random.Generator) -> list[int]:
    """Return an order with some nodes moved to random places; the order itself if that does not fit."""
    trial = list(order)
    for node in rng.choice(len(trial), min(len(trial), 2 + len(trial) // 10), replace=False).tolist():
        trial.remove(node)
        trial.insert(int(rng.integers(len(trial) + 1)), node)
    return trial if part.follow(trial) is not None else list(order)


def _best_place(part: Part, order: list[int], node: int) -> int:
    """Return where a node gains most."""
    here = best = order.index(node)
    most = 1e-12 * abs(part.ceiling)  # less than that may be rounding, and could go round in circles
    for places in (range(here - 1, -1, -1), range(here + 1, len(order))):
        gain, before = 0.0, mask(order[:here])
        for place in places:
            other = order[place]
            if place < here:
                before &= ~(1 << other)
                gain += _exchange(part, other, node, before)
            else:
                gain += _exchange(part, node, other, before)
                before |= 1 << other
            if gain == -np.inf:  # a required parent would come too late, here and further on
                break
            if gain > most:
                best, most = place, gain
    return best


def _exchange(part: Part, first: int, second: int, before: int) -> float:
    """Return the gain when two neighbours in an order change places; ``before`` comes before both."""
    worth = part.cached_worth
    gain = worth(second, before) - worth(second, before | 1 << first)
    return gain + worth(first, before | 1 << second) - worth(first, before)
