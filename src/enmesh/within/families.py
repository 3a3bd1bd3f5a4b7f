"""The score of a node given its parents within one sample: a log-likelihood with a penalty (BIC).

The node is regressed on its within-sample parents, and on those lagged variables that BIC keeps: its own past, its
lagged sources, and the pasts and sources of the parents. So lagged parents tell directions apart: given the true
parents, few lagged variables are needed. A variable enters by a line, and by a few functions of its rank where BIC
keeps these for the node given all candidates. The residual has the likelihood of `shape`: where residuals are not
Gaussian, or effects not linear, the two directions of a link differ (Shimizu et al. 2006; Hoyer et al. 2009).
"""

from collections.abc import Iterable, Sequence
from functools import cache, partial
from itertools import combinations
from typing import NamedTuple

import numpy as np

from enmesh.embedding.lagged import Lagged
from enmesh.links.samples import Samples
from enmesh.within.shape import log_likelihood

BENT = (1, 2, 3)  # functions of rank beside the line (`links.functions`)
PRODUCTS = 4  # lagged variables of a node at most whose products are considered


class Family(NamedTuple):
    """Score of a node given its parents: of a Gaussian residual with penalty, what its shape adds, and if it bends.

    ``kept`` are the lagged variables that BIC keeps.
    """

    gaussian: float
    shape: float
    bent: bool
    kept: tuple[Lagged, ...]

    @property
    def score(self) -> float:
        """The sum of both parts."""
        return self.gaussian + self.shape


class Families:
    """Scores of nodes given parents within one sample; ``near[i]`` are the possible parents of node i."""

    def __init__(
        self, samples: Samples, lagged: Sequence[Sequence[Lagged]], clocks: Sequence[int], near: dict[int, set[int]]
    ):
        self.samples, self.lagged, self.clocks, self.near = samples, lagged, clocks, near
        every = {v for i in near for v in lagged[i]} | {Lagged(i, 0) for i in near}
        self.rows = samples.complete(sorted(every))
        node = cache(partial(_Node, self))
        self._family = cache(lambda i, parents: node(i).family(parents))

    def variables(self, node: int, parents: Iterable[int]) -> list[Lagged]:
        """Return the lagged variables that a node may need given its parents: its own, and those of its parents."""
        return sorted({v for i in (node, *parents) for v in self.lagged[i]})

    def __call__(self, node: int, parents: Sequence[int]) -> Family:
        """Return the score of a node given its parents within one sample."""
        return self._family(node, tuple(sorted(parents)))


class _Node:
    """The regressions of one node: all columns it may need, and their products."""

    def __init__(self, families: Families, node: int):
        self.families, self.node = families, node
        samples, rows = families.samples, families.rows
        near = sorted(families.near[node])
        lagged = families.variables(node, near)
        self.n = len(rows)
        columns = [np.ones((1, self.n)), *(some[:, rows] for some in samples.of_time(families.clocks[node]))]
        at = sum(map(len, columns))
        self.always = list(range(at))
        self.line, self.more = dict[Lagged, list[int]](), dict[tuple[Lagged, ...], list[int]]()
        every = [*lagged, *(Lagged(p, 0) for p in near)]
        columns.append(samples.take(samples.plain, every, rows))
        self.line |= {v: [at + k] for k, v in enumerate(every)}
        at += len(every)
        for v in every:
            bent = np.concatenate([samples.take(samples.functions[k], [v], rows) for k in BENT])
            bent = bent[np.abs(bent).max(axis=1) > 0]
            columns.append(bent)
            self.more[(v,)], at = list(range(at, at + len(bent))), at + len(bent)
        for pair in combinations([v for v in lagged if v in families.lagged[node]][:PRODUCTS], 2):
            one, other = samples.take(samples.plain, pair, rows)
            columns.append((one * other)[None])
            self.more[pair], at = [at], at + 1
        (self.y,) = samples.take(samples.plain, [Lagged(node, 0)], rows)
        self.columns = np.concatenate(columns)
        self.gram, self.told = self.columns @ self.columns.T, self.columns @ self.y
        self.size = float(self.y @ self.y)
        # Of bent functions and products those stay that BIC keeps beside lines through all variables.
        lines = [k for group in self.line.values() for k in group]
        kept, _ = self._reduced([*self.always, *lines], [group for group in self.more.values() if group])
        self.more = {v: group for v, group in self.more.items() if group in kept}

    def family(self, parents: tuple[int, ...]) -> Family:
        """Return the score given parents; lagged variables and bent functions stay where BIC keeps them."""
        now = [Lagged(p, 0) for p in parents]
        lagged = self.families.variables(self.node, parents)
        usable = {*now, *lagged}
        base = [*self.always, *(k for v in now for k in self.line[v])]
        groups = [self.line[v] for v in lagged]
        groups += [group for variables, group in self.more.items() if usable.issuperset(variables)]
        kept, chosen = self._reduced(base, groups)
        coefficients = np.linalg.lstsq(self.gram[np.ix_(chosen, chosen)], self.told[chosen], rcond=1e-12)[0]
        gaussian, shape = log_likelihood(self.y - coefficients @ self.columns[chosen])
        taken = {k for group in kept for k in group}
        used = [v for v in lagged if taken & {*self.line[v]}]
        used += [v for some, group in self.more.items() for v in some if group in kept and v.lag]
        bent = any(group in kept and any(v.lag == 0 for v in some) for some, group in self.more.items())
        return Family(gaussian - 0.5 * np.log(self.n) * len(chosen), shape, bent, tuple(sorted({*used})))

    def _reduced(self, base: Sequence[int], groups: Sequence[list[int]]) -> tuple[list[list[int]], list[int]]:
        """Leave out, one by one, the group of columns that saves most by BIC; return the groups and columns kept."""
        kept, penalty = [*groups], float(np.log(self.n))
        while True:
            chosen = [*base, *(k for group in kept for k in group)]
            gram = self.gram[np.ix_(chosen, chosen)]
            inverse = np.linalg.inv(gram + 1e-9 * np.diag(np.diag(gram) + 1e-12))
            beta = inverse @ self.told[chosen]
            rest = max(self.size - float(beta @ self.told[chosen]), 1e-12 * self.size)
            best, which, at = 0.0, -1, len(base)
            for place, group in enumerate(kept):
                part = slice(at, at + len(group))
                at += len(group)
                if len(group) == 1:
                    lost = float(beta[part][0] ** 2 / inverse[part, part][0, 0])
                else:
                    lost = float(beta[part] @ np.linalg.solve(inverse[part, part], beta[part]))
                saved = penalty * len(group) - self.n * np.log1p(lost / rest)
                best, which = (saved, place) if saved > best else (best, which)
            if which < 0:
                return kept, chosen
            kept.pop(which)
