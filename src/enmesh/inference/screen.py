"""Screening: which sources a target may have at all, when there are too many families to score.

Every source is tested alone, then given the strongest others, at a lenient level and no longer than the
budget of families requires; the search then finds the best graph among what is left. A parent with a
transfer entropy T passes a test with the power of that test (chi-square with noncentrality 2 N T where the
null is known), so the report states the smallest T that is lost with a stated small probability. What no
pairwise test can see is a parent that is informative only together with another (pure synergy); switch
screening off where that is expected.
"""

from collections.abc import Iterable, Sequence
from math import comb, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from enmesh.errors import InputError
from enmesh.inference.evaluate import Evaluator
from enmesh.scores import TEE
from enmesh.scores.base import Link
from enmesh.significance import FIRST_LOOK, Significance

if TYPE_CHECKING:
    from enmesh.inference.wanted import Choices

# Families per target that need no screening: 30 nodes with an analytic null, 8 with surrogates, at 3 parents.
BUDGET_ANALYTIC, BUDGET_SURROGATES = 4100, 64
# Level of the tests where the budget does not ask for a stricter one, and sources conditioned on at most.
LENIENT, DEPTH = 0.2, 2
# Probability with which a parent of the stated strength may be lost over all its tests.
MISS = 0.01

NOTE = "a parent that is informative only together with another source (pure synergy) is not found"


class Screened(NamedTuple):
    """Sources each target may have, and what was done to find them."""

    candidates: tuple[tuple[int, ...], ...]
    report: dict[str, Any]


def screen(
    evaluator: Evaluator,
    allowed: Sequence[Sequence[int]] | None = None,
    *,
    required: Iterable[tuple[int, int]] = (),
    max_parents: int = 3,
    wanted: bool | int | None = None,
    level: float | None = None,
    miss: float = MISS,
    choices: "Choices | None" = None,
) -> Screened:
    """Preselect candidate parents of every target by pairwise and then conditional tests.

    Parameters
    ----------
    evaluator
        Bound to series and score; tests go through it, so they are stored, resumed and done in parallel.
    allowed
        Sources each target may have; by default all others.
    required
        Edges ``(source, target)`` that are kept whatever the tests say.
    max_parents
        Parents a node may have: with the number of candidates it gives the number of families.
    wanted
        None screens when there are more families than the budget, True always, False never; a number is that
        of candidates a target keeps at most.
    level
        Level of the tests; by default 0.2, or less where unrelated sources alone would fill half the budget.
    miss
        Probability of losing a parent as strong as the report's ``detectable``, over all tests it undergoes.
    choices
        Where `infer` notes what it chose.

    Returns
    -------
    Screened
        ``candidates`` per target, ascending, and a ``report``: ``applied``, ``tests``, ``level``,
        ``dropped_alone``, ``dropped_given``, ``dropped_by_rank``, ``miss``, ``detectable`` (nats),
        ``families`` before and after.
    """
    nodes = range(evaluator.series.n_nodes)
    allowed = tuple(tuple(j for j in (nodes if allowed is None else allowed[i]) if j != i) for i in nodes)
    most = most_candidates(evaluator, max_parents, wanted)
    before = count_families(allowed, max_parents)
    if wanted is False or (wanted is None and all(len(some) <= most for some in allowed)):
        return Screened(allowed, {"applied": False, "families": before})
    level = _level(evaluator, allowed, most, level)
    sieve = Sieve(evaluator, allowed, frozenset(required), most, level)
    sieve.alone()
    for size in range(1, DEPTH + 1):
        sieve.given_strongest(size)
    candidates = sieve.finish()
    if choices is not None:
        words = f"{before:,} families would be too many; {sieve.report['tests']:,} tests at level {level:.2g}"
        choices.add("candidates", f"at most {max(map(len, candidates), default=0)} per node", words)
    return Screened(candidates, sieve.summary(miss, [before, count_families(candidates, max_parents)]))


def count_families(candidates: Iterable[Sequence[int]], max_parents: int) -> int:
    """Return the number of families with up to ``max_parents`` of each target's candidates."""
    return sum(comb(len(some), size) for some in candidates for size in range(max_parents + 1))


class Sieve:
    """The sources of every target that have passed all tests so far, strongest first."""

    def __init__(
        self,
        evaluator: Evaluator,
        allowed: Sequence[Sequence[int]],
        required: frozenset[tuple[int, int]],
        most: int,
        level: float,
    ):
        self._evaluate, self._required, self._most, self._level = evaluator, required, most, level
        self._left = [list(some) for some in allowed]
        self._strength: dict[tuple[int, int], float] = {}
        self._spread: list[np.ndarray] = []
        self._links: list[Link] = []
        self.report: dict[str, Any] = {
            "tests": 0,
            "dropped_alone": 0,
            "dropped_given": 0,
            "dropped_by_rank": 0,
        }

    def alone(self) -> None:
        """Test every source given the target's own past."""
        self._test([Link(j, i, ()) for i, some in enumerate(self._left) for j in some], "dropped_alone")

    def given_strongest(self, size: int) -> None:
        """Test the sources of crowded targets given the ``size`` strongest others."""
        crowded = [(i, some) for i, some in enumerate(self._left) if len(some) > max(self._most, size)]
        links = [
            Link(j, i, tuple(sorted([k for k in some if k != j][:size]))) for i, some in crowded for j in some
        ]
        self._test(links, "dropped_given")

    def finish(self) -> tuple[tuple[int, ...], ...]:
        """Cut what is still too many, weakest first but for required ones; return candidates in order."""
        chosen = []
        for i, some in enumerate(self._left):
            kept = sorted(some, key=lambda j: (j, i) not in self._required)[: max(self._most, 0)]
            kept += [j for j in some if (j, i) in self._required and j not in kept]
            self.report["dropped_by_rank"] += len(some) - len(kept)
            chosen.append(tuple(sorted(kept)))
        return tuple(chosen)

    def summary(self, miss: float, families: list[int]) -> dict[str, Any]:
        """Return the report: what was tested and dropped, and the weakest parent that is kept but for ``miss``."""
        weakest = self.detectable(miss / (1 + DEPTH))
        told = {"applied": True, "level": self._level, "miss": miss, "detectable": weakest}
        return self.report | told | {"families": families, "note": NOTE}

    def _test(self, links: Sequence[Link], dropped: str) -> None:
        """Drop all that fail at once, so that the order of tests leaves no trace; sort by strength."""
        tests = self._evaluate.verdicts(links, self._level)
        for link, test in zip(links, tests):
            self._enter(link, test)
        failed = {(j, i) for (j, i, _), test in zip(links, tests) if test.p_value > self._level}
        failed -= self._required
        for i, some in enumerate(self._left):
            passed = sorted((-self._strength[j, i], j) for j in some if (j, i) not in failed)
            self._left[i] = [j for _, j in passed]
        self.report["tests"] += len(links)
        self.report[dropped] += len(failed)

    def _enter(self, link: Link, test: Significance) -> None:
        source, target, given = link
        self._strength[source, target] = test.value
        if not given:
            self._links.append(link)
            self._spread.append(test.null[:FIRST_LOOK])

    def detectable(self, miss: float) -> float:
        """Return the smallest transfer entropy that one test misses with probability at most ``miss``.

        Where the null is chi-square, 2 N T is noncentral chi-square, with the tests' largest degrees of
        freedom; elsewhere the estimate is taken as normal around T with the surrogates' spread, an
        approximation.
        """
        from scipy.special import chdtri, chndtrinc, ndtri

        if not self._links:
            return 0.0
        if any(len(null) for null in self._spread):
            spread = sqrt(np.mean([null.var(ddof=1) for null in self._spread if len(null) > 1]))
            return float(spread * (ndtri(1 - self._level) + ndtri(1 - miss)))
        transfers = self._evaluate.scorer.transfers
        dof = max(transfers.dof(*transfers.variables([link.source], link.target)) for link in self._links)
        return float(chndtrinc(chdtri(dof, self._level), dof, miss) / (2 * transfers.blocks.n))


def most_candidates(evaluator: Evaluator, max_parents: int, wanted: bool | int | None) -> int:
    """Return how many candidates a target may keep: as given, or as the budget of families allows."""
    if wanted is not None and not isinstance(wanted, bool):
        if not isinstance(wanted, (int, np.integer)) or wanted < 1:
            raise InputError(f"screen={wanted!r} is not possible; give True, False or a number of candidates")
        return int(wanted)
    budget = BUDGET_ANALYTIC if evaluator.score.estimator.analytic else BUDGET_SURROGATES
    sizes = range(evaluator.series.n_nodes + 1)
    fitting = [size for size in sizes if count_families([range(size)], max_parents) <= budget]
    return max(fitting)


def _level(evaluator: Evaluator, allowed: Sequence[Sequence[int]], most: int, level: float | None) -> float:
    """Return the level of the tests: lenient, but so that unrelated sources do not fill the candidates."""
    score = evaluator.score
    sampled = isinstance(score, TEE) or not score.estimator.analytic
    finest = 1 / (1 + max(1, score.n_surrogates)) if sampled else 0.0
    if level is None:
        widest = max(map(len, allowed), default=0) or 1
        strictest = 1 - getattr(
            score, "alpha", 0.99
        )  # a parent that fails the score's own level is lost anyway
        return max(finest, min(LENIENT, max(strictest, most / (2 * widest))))
    if not finest <= level < 1 or level == 0:
        raise InputError(
            f"a screening level of {level!r} is not possible; give one from {finest:.3g} to below 1"
        )
    return float(level)
