"""Screening: which sources a target may have at all, when there are too many families to score.

Every source is tested alone, then given the strongest others, at a lenient level, until the number of families fits the
budget. The search then finds the best graph among the remaining sources. A parent with a transfer entropy T passes a
test with the power of that test, so the report states the smallest T that is lost with a stated small probability. What
no pairwise test can see is a parent that is informative only together with another (pure synergy); switch screening off
where that is expected.
"""

from collections.abc import Iterable, Sequence
from math import comb, sqrt
from typing import Any

import numpy as np

from enmesh.inference.evaluate import Evaluator
from enmesh.inference.wanted import LEVEL, Choices
from enmesh.scores import TEE
from enmesh.scores.base import Link
from enmesh.significance import FIRST_LOOK, Significance

# Families per target that need no screening: 30 nodes with an analytic null, 8 with surrogates, at 3 parents.
BUDGET_ANALYTIC, BUDGET_SURROGATES = 4100, 64
# Level of the tests where the budget does not ask for a stricter one, and sources conditioned on at most.
LENIENT, DEPTH = 0.2, 2
MISS = 0.01  # probability with which a parent of the stated strength may be lost over all its tests

NOTE = "a parent that is informative only together with another source (pure synergy) is not found"


def screen(
    evaluator: Evaluator,
    allowed: Sequence[Sequence[int]] | None = None,
    *,
    required: Iterable[tuple[int, int]] = (),
    max_parents: int = 3,
    wanted: bool | int | None = None,
    choices: Choices | None = None,
) -> tuple[tuple[tuple[int, ...], ...], dict[str, Any]]:
    """Preselect candidate parents of every target by pairwise and then conditional tests.

    ``required`` edges are kept whatever the tests say. ``wanted``: None screens when there are more families than the
    budget, True always, False never; a number is that of candidates a target keeps at most. Returns the candidates of
    each target, ascending, and a report: ``applied``, ``tests``, ``level``, ``dropped_alone``, ``dropped_given``,
    ``dropped_by_rank``, ``miss``, ``detectable`` (nats), ``families`` before and after.
    """
    nodes, must = range(evaluator.series.n_nodes), frozenset(required)
    left = [[j for j in (nodes if allowed is None else allowed[i]) if j != i] for i in nodes]
    most = most_candidates(evaluator, max_parents, wanted)
    before = count_families(left, max_parents)
    if wanted is False or (wanted is None and all(len(sources) <= most for sources in left)):
        return tuple(map(tuple, left)), {"applied": False, "families": before}
    level = _level(evaluator, max(map(len, left), default=0), most)
    report: dict[str, Any] = {"applied": True, "level": level, "miss": MISS, "note": NOTE}
    report |= dict.fromkeys(("tests", "dropped_alone", "dropped_given", "dropped_by_rank"), 0)
    for size in range(DEPTH + 1):  # alone, then given the strongest others; all that fail are dropped at once
        crowded = [i for i in nodes if not size or len(left[i]) > max(most, size)]
        given = {(j, i): [k for k in left[i] if k != j][:size] for i in crowded for j in left[i]}
        links = [Link(*ends, tuple(sorted(others))) for ends, others in given.items()]
        tests = dict(zip(given, evaluator.verdicts(links, level)))
        passed = {ends: test for ends, test in tests.items() if test.p_value <= level or ends in must}
        for i in crowded:
            kept = ((-passed[j, i].value, j) for j in left[i] if (j, i) in passed)
            left[i] = [j for _, j in sorted(kept)]
        report["tests"] += len(tests)
        report["dropped_given" if size else "dropped_alone"] += len(tests) - len(passed)
        if not size:
            report["detectable"] = _detectable(evaluator, tests, level)
    for i in nodes:
        ranked = sorted(left[i], key=lambda j: (j, i) not in must)
        left[i] = sorted(j for rank, j in enumerate(ranked) if rank < most or (j, i) in must)
        report["dropped_by_rank"] += len(ranked) - len(left[i])
    report["families"] = [before, count_families(left, max_parents)]
    if choices is not None:
        words = f"{before:,} families would be too many; {report['tests']:,} tests at level {level:.2g}"
        choices.add("candidates", f"at most {max(map(len, left), default=0)} per node", words)
    return tuple(map(tuple, left)), report


def count_families(candidates: Iterable[Sequence[int]], max_parents: int) -> int:
    """Return the number of families with up to ``max_parents`` of each target's candidates."""
    return sum(comb(len(sources), size) for sources in candidates for size in range(max_parents + 1))


def most_candidates(evaluator: Evaluator, max_parents: int, wanted: bool | int | None) -> int:
    """Return how many candidates a target may keep: as given, or as the budget of families allows."""
    if wanted is not None and not isinstance(wanted, bool):
        return int(wanted)
    budget = BUDGET_ANALYTIC if evaluator.score.estimator.analytic else BUDGET_SURROGATES
    sizes = range(evaluator.series.n_nodes + 1)
    return max(size for size in sizes if count_families([range(size)], max_parents) <= budget)


def _level(evaluator: Evaluator, widest: int, most: int) -> float:
    """Return the level of the tests: lenient, but so that unrelated sources fill at most half the candidates."""
    # No stricter than the score's own level, at which a parent that fails is lost anyway, nor than surrogates can tell.
    score = evaluator.score
    sampled = isinstance(score, TEE) or not score.estimator.analytic
    finest = 1 / (1 + max(1, score.n_surrogates)) if sampled else 0.0
    strictest = 1 - (1 - LEVEL if score.alpha is None else score.alpha)
    return max(finest, min(LENIENT, max(strictest, most / (2 * max(widest, 1)))))


def _detectable(evaluator: Evaluator, tests: dict[tuple[int, int], Significance], level: float) -> float:
    """Return the smallest transfer entropy that all tests of a parent together miss with probability `MISS` at most.

    Where the null is chi-square, 2 N T is noncentral chi-square, with the tests' largest degrees of freedom; elsewhere
    the estimate is taken as normal around T with the surrogates' spread, an approximation.
    """
    from scipy.special import chdtri, chndtrinc, ndtri

    if not tests:
        return 0.0
    miss = MISS / (1 + DEPTH)
    nulls = [test.null[:FIRST_LOOK] for test in tests.values() if len(test.null)]
    if nulls:
        spread = sqrt(np.mean([null.var(ddof=1) if len(null) > 1 else np.nan for null in nulls]))
        return float(spread * (ndtri(1 - level) + ndtri(1 - miss)))
    transfers = evaluator.scorer.transfers
    dof = max(transfers.dof(*transfers.variables([source], target)) for source, target in tests)
    return float(chndtrinc(chdtri(dof, level), dof, miss) / (2 * transfers.blocks.n))
