"""Score tables: local scores held in memory, to test and compare searches without data."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from enmesh.options import option
from enmesh.search.base import Family


class Table:
    """Scores of families by look-up; an instance is an ``evaluate``."""

    def __init__(self, scores: dict[Family, float]):
        self.scores = scores

    def __call__(self, families: Sequence[Family]) -> np.ndarray:
        """Return the scores of families."""
        return np.array([self.scores[family] for family in families], float)


@option
class RandomTable:
    """Random local scores in which the nodes want each other as parents, so that acyclicity costs something.

    For every target and every parent set P of up to ``max_parents`` candidates

        score(P) = sum_{j in P} (w_j - penalty) + e_P,    w_j ~ Exponential(1),    e_P ~ Normal(0, noise^2),

    and exactly 0 for the empty set. The main effects w make sets of good parents good; the noise e, drawn
    anew for each set, makes the landscape rugged. ``candidates`` (default all) limits each target to that
    many random sources.
    """

    n_nodes: int
    max_parents: int = 3
    penalty: float = 1.0
    noise: float = 0.5
    candidates: int | None = None
    seed: int = 0

    def sources(self) -> tuple[tuple[int, ...], ...]:
        """Return the candidate sources of each target."""
        rng = np.random.default_rng([self.seed, 0])
        count = self.n_nodes - 1 if self.candidates is None else min(self.candidates, self.n_nodes - 1)
        others = [np.delete(np.arange(self.n_nodes), target) for target in range(self.n_nodes)]
        return tuple(tuple(sorted(rng.choice(rest, count, replace=False).tolist())) for rest in others)

    def draw(self) -> Table:
        """Return the table."""
        rng = np.random.default_rng([self.seed, 1])
        scores: dict[Family, float] = {}
        for target, sources in enumerate(self.sources()):
            worth = dict(zip(sources, rng.exponential(size=len(sources)) - self.penalty))
            scores[target, ()] = 0.0
            for size in range(1, min(self.max_parents, len(sources)) + 1):
                for parents in combinations(sources, size):
                    drawn = sum(worth[j] for j in parents) + self.noise * rng.standard_normal()
                    scores[target, parents] = float(drawn)
        return Table(scores)
