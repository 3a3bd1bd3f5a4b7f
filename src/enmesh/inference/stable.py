"""Parents that are each significant given the others, while no other source is: sets grown and shrunk by tests."""

from collections.abc import Callable, Container, Sequence

from enmesh.scores import Link
from enmesh.significance import Significance


def stable_parents(
    tested: Callable[[Sequence[Link]], Sequence[Significance]],
    target: int,
    start: Sequence[int],
    possible: Sequence[int],
    *,
    required: Container[int] = (),
    level: float,
    most: int,
) -> tuple[int, ...]:
    """Return a target's parents, each significant given the others, to which no other source can be added.

    Estimates by nearest neighbours rank sources wrongly where one nearly determines another: the set of the highest
    score may then have a parent that says nothing beyond the others. From that set, the parent with the largest p-value
    is left out while it is over the level; else the source with the smallest is added while it is at most the level
    (pruning after selection, Novelli et al. 2019). A set that comes again ends it.

    >>> p_values = {(0, ()): 0.01, (1, ()): 0.01, (0, (1,)): 0.6, (1, (0,)): 0.01}
    >>> def tested(links):
    ...     return [Significance(1.0, p_values[link.source, link.given], (), 0.0) for link in links]
    >>> stable_parents(tested, 2, (0,), (0, 1), level=0.01, most=2)
    (1,)
    """
    parents, seen = tuple(sorted(start)), set[tuple[int, ...]]()
    while parents not in seen:
        seen.add(parents)
        others = [j for j in possible if j not in parents and len(parents) < most]
        inside = [j for j in parents if j not in required]
        asked = inside + others
        tests = tested([Link(j, target, tuple(p for p in parents if p != j)) for j in asked])
        found = {j: (test.p_value, -test.value) for j, test in zip(asked, tests)}
        worst = max(inside, key=found.__getitem__, default=None)
        best = min(others, key=found.__getitem__, default=None)
        if worst is not None and found[worst][0] > level:
            parents = tuple(j for j in parents if j != worst)
        elif best is not None and found[best][0] <= level:
            parents = tuple(sorted((*parents, best)))
    return parents
