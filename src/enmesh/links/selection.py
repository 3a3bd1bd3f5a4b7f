"""The sources of a target: forward selection of lagged variables by the test of a link, then backward elimination.

    known = own past
    while the most promising lagged variable passes loosely: known += it
    while the weakest source fails the test given all others: known -= it

Forward selection runs twice: with the last own value alone, and with the own past that predicts best. The result with
the smaller leave-one-out error is used. In smooth, nearly deterministic series a long own past contains traces of the
sources and hides them (Takens 1981). In noisy series with long memory, a short own past makes other nodes stand in for
that memory.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from enmesh.embedding.lagged import Lagged
from enmesh.links.functions import FUNCTIONS
from enmesh.links.known import SIMPLER, Known
from enmesh.links.ladder import LOOK, Ladder, Tested, at_all_lags, by_formula, by_line, full_test, one_by_one
from enmesh.links.samples import CHANGING, Samples
from enmesh.links.together import acting_together, partners

LOOSE = 5.0  # times the level that forward selection lets in; backward elimination judges
OWN = (1, 2, 3, 5)  # lengths of own pasts that are compared
# Times the error below which a common period is known (chaos of few cycles follows one by chance). A variable that
# raises the error by as much costs more than it says.
TIMELY = 0.95
MOST = 40  # lagged variables that are known at most, so that a run ends (a convention)
# Of each rung, lagged variables that are looked at exactly in a step. (Maps and VAR of 40 nodes, variances, cubics and
# sines, seeds 320 to 325: the same links with 2, 3 and 4.)
PROMISING = 2
FULL = 5e6  # products of pairs, lags and samples up to which all rungs are asked of sources that were not selected
# Sources that are tested in full beyond that by chance, for each target: those of the smallest linear p-values.
BY_CHANCE = 0.5


class Drivers(NamedTuple):
    """The selected sources of a target: lags of its own past and of each source, and the test of each source."""

    own: tuple[int, ...]
    sources: tuple[int, ...]
    lags: tuple[tuple[int, ...], ...]
    tests: tuple[tuple[float, float, int, float], ...]
    """Of each source: value, p-value, strongest lag, and the mean of the value without a link."""
    others: tuple[tuple[int, float, float, int], ...]
    """Of each other candidate: its position, value, p-value and strongest lag, given the sources."""
    clock: int
    """Which functions of time are known (`Samples.of_time`), and `CHANGING`."""
    full: bool
    """Whether the largest number of parents excluded a source that passed."""
    partners: tuple[tuple[int, int], ...] = ()
    """Pairs of sources that were found by their product."""

    def given(self, sources: Iterable[int]) -> list[Lagged]:
        """Return the selected lagged variables of some sources; a source that was not selected has lag 1."""
        known = dict(zip(self.sources, self.lags))
        return [Lagged(j, lag) for j in sorted(sources) for lag in known.get(j, (1,))]


def selected(
    samples: Samples, target: int, candidates: Iterable[int], level: float, always: Sequence[Lagged], most: int
) -> Drivers:
    """Select at most ``most`` sources of a target among candidates; ``always`` is conditioned on (context)."""
    sources, (length, clock) = sorted(candidates), own_past(samples, target, always)
    paths = [_grown(samples, target, sources, level, always, own, clock, most) for own in sorted({1, length})]
    known, full = min(paths, key=lambda path: path[0].error)
    while len(known.variables) < MOST:
        pair = acting_together(known, sources, level)
        if {*pair} <= {*known.variables} or not samples.enough([Lagged(target, 0), *known.variables, *pair]):
            break
        known = Known.of(samples, target, _sorted({*known.variables, *pair}, target), clock)
    changing = Known.of(samples, target, known.variables, clock | CHANGING)
    if changing.error < SIMPLER * known.error:
        known, clock = changing, changing.clock
    found = _pruned(samples, known, level, always, full)
    own, links = [Lagged(target, lag) for lag in found.own], [*found.given(found.sources), *always]
    return found._replace(partners=partners(samples, target, own, links, clock, level))


def own_past(samples: Samples, target: int, always: Sequence[Lagged]) -> tuple[int, int]:
    """Return the length of the own past, and the ``clock`` (`Samples.of_time`), that predict the target best."""
    errors: dict[tuple[int, int], float] = {}

    def best(pairs: Iterable[tuple[int, int]]) -> tuple[int, int]:
        found, least = (1, 0), np.inf
        for length, clock in pairs:
            if (length, clock) not in errors:
                errors[length, clock] = Known.of(
                    samples, target, [*_own(target, length), *always], clock, bases=2
                ).error
            if errors[length, clock] < (TIMELY if clock & 2 > found[1] & 2 else SIMPLER) * least:
                found, least = (length, clock), errors[length, clock]
        return found

    there = [Lagged(target, 0), *always]
    lengths = [own for own in OWN if own <= samples.max_lag and samples.enough([*there, *_own(target, own)])] or [1]
    length, _ = best((one, 0) for one in lengths)
    _, clock = best((length, one) for one in range(4))
    return best((one, clock) for one in lengths) if clock else (length, clock)


def _own(target: int, length: int) -> list[Lagged]:
    return [Lagged(target, lag) for lag in range(1, length + 1)]


def _grown(
    samples: Samples, target: int, sources: Sequence[int], level: float, always: Sequence[Lagged], own: int,
    clock: int, most: int,
) -> tuple[Known, bool]:  # fmt: skip
    """Forward selection: add the lagged variable with the smallest p-value as long as one passes; own lags last."""
    known, full = Known.of(samples, target, [*_own(target, own), *always], clock), False

    def added(among: Sequence[int]) -> Known | None:
        """Return what is known with one more variable, or None if none passes."""
        nonlocal full
        if len(known.variables) >= MOST or not (found := promising(known, among)):
            return None
        p = one_by_one(known, found)
        best = int(p.argmin())
        if p[best] * samples.max_lag > LOOSE * level:
            return None
        new = found[best]
        have = {v.node for v in known.variables} - {target, *(v.node for v in always)}
        if new.node != target and new.node not in have and len(have) >= most:
            full = True
            return None
        if not samples.enough([Lagged(target, 0), *known.variables, new]):
            return None
        wider = Known.of(samples, target, _sorted([*known.variables, new], target), clock)
        return wider if TIMELY * wider.error <= known.error else None  # else the basis became too large

    among = [*sources]
    while True:
        wider = added(among)
        if wider is None and target not in among:
            among = [*sources, target]
            wider = added([target])  # nothing was found among the sources
        if wider is None:
            return known, full
        known = wider


def _sorted(variables: Iterable[Lagged], target: int) -> list[Lagged]:
    """Return the own past first, then the sources: one set of variables has one order, thus one result."""
    return sorted(variables, key=lambda v: (v.node != target, v))


def promising(known: Known, among: Sequence[int]) -> list[Lagged]:
    """Return the lagged variables with the largest approximate statistics of each rung, to be tested exactly."""
    samples = known.samples
    if not len(known.responses) or not len(among):
        return []
    if known.told is None:
        known.told = _told(known)
    scores = np.full_like(known.told, -1)
    scores[:, :, list(among)] = known.told[:, :, list(among)]
    for v in known.variables:
        if v.lag:
            scores[:, v.lag - 1, v.node] = -1
    flat = scores.reshape(5, -1)
    few = min(PROMISING, flat.shape[1])
    chosen = {int(i) for row in flat for i in np.argpartition(-row, few - 1)[:few] if row[i] > 0}
    return [Lagged(i % samples.nodes, i // samples.nodes + 1) for i in sorted(chosen)]


def _told(known: Known) -> np.ndarray:
    """Return approximate statistics ``(rung, lag, node)`` in single precision; features are not residualised."""
    samples, (location,) = known.samples, known.weighted(known.views[0].responses)
    responses, last = known.views[1].responses, len(known.responses)
    length, far, q = samples.length, samples.max_lag, len(responses)
    lines = np.concatenate([location[None], known.partners * location, known.partners[:1] * responses[:last]])
    by = 1 + len(known.partners)
    weights = np.concatenate([responses, lines]).astype(np.float32)
    place = 0 if known.ranked else FUNCTIONS + 1
    if len(known.rows) < length / 2:  # few rows of a long record
        told = np.empty((FUNCTIONS + 1, samples.nodes, far, q), np.float32)
        line = np.empty((samples.nodes, far, len(weights)), np.float32)
        for lag in range(1, far + 1):
            some = samples.rough[:, :, known.rows - lag]
            told[:, :, lag - 1], line[:, lag - 1] = some[: FUNCTIONS + 1] @ weights[:q].T, some[place] @ weights.T
    else:
        earlier = np.zeros((far, len(weights), length), np.float32)  # what a node at each lag is multiplied by
        for row, one in enumerate(weights):
            for lag in range(1, far + 1):
                earlier[lag - 1, row, known.rows - lag] = one
        of_responses = earlier[:, :q].reshape(-1, length).T
        told = (samples.rough[: FUNCTIONS + 1].reshape(-1, length) @ of_responses).reshape(FUNCTIONS + 1, -1, far, q)
        line = (samples.rough[place] @ earlier.reshape(-1, length).T).reshape(samples.nodes, far, -1)
    told, line = told**2, line**2
    scores = np.zeros((5, far, samples.nodes), np.float32)
    scores[0] = line[:, :, q].T
    scores[1] = (told[1][:, :, 0] + line[:, :, q : q + by].sum(2)).T
    scores[2] = (told[0] + told[FUNCTIONS])[:, :, last].T if q > last else 0
    scores[3] = told[:FUNCTIONS, ..., :last].sum((0, 3)).T
    scores[4] = (told[0, ..., :last].sum(2) + line[:, :, q + by :].sum(2)).T
    return scores


def _pruned(samples: Samples, known: Known, level: float, always: Sequence[Lagged], full: bool) -> Drivers:
    """Backward elimination: drop the weakest source as long as one fails given all others; shifts come last."""
    target, clock, kept = known.target, known.clock, known.variables
    own = [v for v in kept if v.node == target]
    fixed = {target, *(v.node for v in always)}
    found: dict[tuple[bool, int, tuple[Lagged, ...]], Tested] = {}

    def test(source: int, formula: bool) -> Tested:
        given = tuple(v for v in kept if v.node not in (source, target))
        key = formula, source, given
        if key not in found and formula:
            found[key] = by_formula(samples, target, own, given, at_all_lags(samples, source), clock)
        elif key not in found:
            found[key] = full_test(samples, target, own, given, at_all_lags(samples, source), clock)
        return found[key]

    for formula in (True, False):
        waiting = True
        while waiting:  # sources that passed are asked again when those that fail are out
            weight = {j: test(j, True).p_value for j in sorted({v.node for v in kept} - fixed)}
            waiting = False
            for source in sorted(weight, key=lambda j: -weight[j]):
                if test(source, formula).p_value > level:
                    kept, waiting = tuple(v for v in kept if v.node != source), True
                elif formula:
                    break
    sources = sorted({v.node for v in kept} - fixed)
    tests = [test(j, False) for j in sources]
    return Drivers(
        own=tuple(v.lag for v in own),
        sources=tuple(sources),
        lags=tuple(tuple(v.lag for v in kept if v.node == j) for j in sources),
        tests=tuple((t.value, t.p_value, t.lag, t.mean) for t in tests),
        others=(),
        clock=clock,
        full=full,
    )


def other_tests(
    samples: Samples, target: int, found: Drivers, always: Sequence[Lagged], sources: Sequence[int]
) -> tuple[tuple[int, float, float, int], ...]:
    """Test sources that were not selected, given those that were; in large networks by linear regression alone."""
    own = [Lagged(target, lag) for lag in found.own]
    given = sorted({*found.given(found.sources), *always})
    known = Known.of(samples, target, [*own, *given], found.clock)
    if samples.nodes**2 * samples.max_lag * known.n > FULL:
        tests, limit = list(zip(*by_line(known, sources))), min(LOOK, BY_CHANCE / len(sources))
    else:
        made = (ladder.combined() for ladder in Ladder.of_all(known, sources))
        tests, limit = [(one.value, one.p_value, one.lag) for one in made], LOOK
    for place, (_, p, _) in enumerate(tests):
        if p <= limit:
            one = full_test(samples, target, own, given, at_all_lags(samples, sources[place]), found.clock)
            tests[place] = one.value, one.p_value, one.lag
    return tuple((j, *test) for j, test in zip(sources, tests))
