"""How much work a run is likely to be: what a bar's time left is made from, corrected as more becomes known.

Work is counted in estimates: one for each surrogate at each lag. A test that fails stops early, one that passes has all
its surrogates. An analytic test costs next to nothing beside them.
"""

from collections.abc import Sequence
from math import comb
from typing import Any

from enmesh.inference.progress import RunProgress
from enmesh.scores import TEE, Scorer

LAGS, SCREENING, SEARCHING, TESTING = "finding lags", "screening sources", "searching", "testing links"

# What a test costs, in surrogates, that stops once it has failed: in a race or of a link, and in screening. Small
# questions cost more for each surrogate, which is in these numbers.
FAILED, SCREENED = 40, 70
# Sources of a node that are usual, and the share of tests in a search that pass.
USUAL, PASSING = 2.0, 0.15
# What an analytic test costs, in estimates.
ANALYTIC = 0.1


class Forecast:
    """What a run announces to its progress, phase by phase."""

    def __init__(self, progress: RunProgress, n_nodes: int):
        self._progress, self._nodes = progress, n_nodes

    def before_all(self, surrogates: int, lags: int) -> None:
        """Announce all phases of a run whose lags are to be found, from the usual number of sources."""
        if not surrogates:
            return
        found, m = USUAL * surrogates * lags, self._nodes
        race = found + m * FAILED * lags
        self._progress.weigh(targets=race, families=ANALYTIC)
        self._progress.expect(LAGS, m * race)
        self._progress.expect(SEARCHING, m * found / 4)
        self._progress.expect(TESTING, m * (m - 1) * FAILED * lags)

    def screening(self, scorer: Scorer[Any], candidates: Sequence[Sequence[int]], most: int) -> None:
        """Announce the tests of all pairs, where targets have more than the ``most`` candidates they may keep."""
        lags, full = _lags(scorer), _surrogates(scorer)
        crowded = any(len(some) > most for some in candidates)
        share = (SCREENED + USUAL / self._nodes * full) * lags if full else ANALYTIC
        self._progress.weigh(verdicts=share, families=ANALYTIC)
        self._progress.expect(SCREENING, 1.3 * sum(map(len, candidates)) * share if crowded else 0.0)

    def searching(
        self,
        scorer: Scorer[Any],
        candidates: Sequence[Sequence[int]],
        limit: int,
        made: int = 0,
        most: int = 0,
    ) -> None:
        """Announce the search and the tests of links after it.

        ``made`` of the tests are known; ``most`` is how many candidates screening will leave of each target's.
        """
        sampled = [i for i in range(len(candidates)) if _is_sampled(scorer, i)]
        sizes = [min(len(candidates[i]), most or self._nodes) for i in sampled]
        lags, full = _lags(scorer), _surrogates(scorer)
        passed = float(full * lags)
        if scorer.transfers.blocks.searched:  # these candidates have passed a test: most tests pass
            tests = sum(c * 2 ** (min(c, limit) - 1) for c in sizes if c) - made
            verdict, work = passed, max(0, tests) * passed
        else:
            sets = sum(comb(c, size) for c in sizes for size in range(1, limit + 1))
            verdict = FAILED * lags + PASSING * passed
            work = sets * (verdict + PASSING * passed)
        costs = (
            {"tests": passed, "verdicts": verdict} if sampled else {"tests": ANALYTIC, "verdicts": ANALYTIC}
        )
        self._progress.weigh(**costs, families=ANALYTIC)
        self._progress.expect(SEARCHING, work)
        self._progress.expect(TESTING, len(sampled) * (self._nodes - 1) * FAILED * lags)

    def testing(self, scorer: Scorer[Any], found: Sequence[int], surrogates: int) -> None:
        """Announce the tests of links: of those found, given by their targets, with so many surrogates."""
        lags, sampled = _lags(scorer), [i for i in range(self._nodes) if _is_sampled(scorer, i)]
        full = surrogates * lags if sampled else ANALYTIC
        failed = FAILED * lags if sampled else ANALYTIC
        clear = sum(i in sampled for i in found) if surrogates > _surrogates(scorer) else 0
        self._progress.weigh(tests=full, verdicts=failed)
        rest = len(sampled) * (self._nodes - 1) - clear
        self._progress.expect(TESTING, clear * full + rest * failed)


def _surrogates(scorer: Scorer[Any]) -> int:
    return getattr(scorer.score, "n_surrogates", 0)


def _is_sampled(scorer: Scorer[Any], target: int) -> bool:
    return isinstance(scorer.of_target(target).score, TEE)


def _lags(scorer: Scorer[Any]) -> int:
    return max(1, scorer.transfers.blocks.searched)
