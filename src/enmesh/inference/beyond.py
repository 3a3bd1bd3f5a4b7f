"""Nearest neighbours beside regressions: they look beyond what those found, and confirm it for smooth dynamics."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding import Lagged, Lags
from enmesh.embedding.nonuniform import CLEARLY, MANY_CANDIDATES, Past, far_from_most, in_order
from enmesh.estimators import KSG, Regression
from enmesh.inference.evidence import Scale
from enmesh.inference.rules import NEIGHBOURS, NEIGHBOURS_SHARE, TARGETS, THRESHOLDS, decided
from enmesh.measures import Transfers
from enmesh.scores import TEA, TEE, Link, Score
from enmesh.search.families import FEW
from enmesh.significance import FEWEST, fitted_p, least_surrogates
from enmesh.surrogates import CircularShift, stream_of

Planner = Any  # that of a run (`inference.plan`), which asks these functions

# What nearest neighbours are asked in a default run is bounded. A question is one estimate from all samples: .3 to
# .8 ms at 1,000 samples, growing with them. A test that fails asks about 32 surrogates, at every lag.
QUESTIONS_OF_A_TEST = 32
# Questions about sources that regressions see loosely only, as many or as many for each sample, and about all sources
# of targets of which they see little. Of sources seen loosely 3 of 8 missed links of forks (T = 250) were found.
BEYOND, BEYOND_SAMPLES, EXPLORED = 2_000, 10_000_000, 20_000
EXPLORED_SAMPLES = 1500  # samples of the part of a long record on which all sources of a target are looked at
LAGS_CONFIRMED = 2  # lags of a source, and of the own past, with which neighbours confirm it
# Lagged variables, found before, with which neighbours look for more: their joint space must stay small.
WIDEST_KNOWN = 6
# Questions about a surrogate, times samples, that a search may ask of targets that are left to neighbours. A test of
# one of five lags asks 5: 200 such tests at 1,000 samples (.2 s each), 20 at 10,000 (5 s). One of four of ten lags asks
# 34, which takes some 40 s at 8,000 samples (flows).
SEARCHED = 1_000_000


class Regressed(NamedTuple):
    """What one regression found: each target's score, what was selected for it, and its best sources."""

    scores: list[TEA]
    pasts: list[Past]
    sources: list[tuple[int, ...]]

    def variables(self, target: int) -> list[Lagged]:
        """Return the own past and the lagged variables of the best sources."""
        past = self.pasts[target]
        own = [Lagged(target, lag) for lag in past.own]
        return own + [Lagged(j, lag) for j in self.sources[target] for lag in past.lags[j]]


class Targets:
    """What every target is left to so far: its score, what was selected for it, and the sources it may have."""

    def __init__(self, found: Sequence[Regressed], picked: Sequence[int]):
        self.found = found
        self.regressed = [found[place] for place in picked]  # the regression that each target was left to
        self.scores: list[Score] = [one.scores[i] for i, one in enumerate(self.regressed)]
        self.pasts = [one.pasts[i] for i, one in enumerate(self.regressed)]
        self.candidates = [past.sources for past in self.pasts]
        self.nulls: dict[Link, np.ndarray] = {}

    def sources(self, target: int) -> set[int]:
        """Return the sources that the regression of a target found."""
        return set(self.regressed[target].sources[target])

    def known(self, target: int) -> list[Lagged]:
        """Return the lagged variables of those sources."""
        return [v for v in self.regressed[target].variables(target) if v.node != target]

    def seen_loosely(self, target: int) -> list[int]:
        """Return the sources that its regression did not find: first what others found, then what any sees loosely."""
        picked_first = sorted(self.found, key=lambda one: one is not self.regressed[target])
        pasts = [one.pasts[target] for one in picked_first]
        seen = [j for one in picked_first for j in one.sources[target]]
        seen += [j for past in pasts for j in (*past.sources, *past.further)]
        return [j for j in dict.fromkeys(seen) if j not in self.sources(target)]


def look_beyond(planner: Planner, plan: Targets, far: int) -> None:
    """Let nearest neighbours look for sources beyond what the regressions of targets found.

    They test sources that a regression sees loosely only, or that the other regression found; all sources of targets of
    which regressions leave nearly everything unexplained, or more than random features of their own pasts do; and those
    that stand out at a glance; the last two on a part of a long record. A target for which they find more than its
    regression is theirs.
    """
    series, evidence = planner.series, planner.evidence
    names, nodes = series.names, range(series.n_nodes)
    if evidence.nodes > THRESHOLDS.reachable:
        return
    share = NEIGHBOURS_SHARE * (1 - planner.alpha)
    alpha = max(planner.alpha, round(1 - share, 12))
    estimator = decided(NEIGHBOURS, evidence).choice(evidence)
    few = [i for i in nodes if len(plan.known(i)) <= WIDEST_KNOWN]
    open_ = [i for i in few if "neighbours" in decided(TARGETS, evidence, i).choice]
    narrow = [i for i in few if len(plan.regressed[i].variables(i)) <= WIDEST_KNOWN]
    blind = {i: _possible(planner, i) for i in open_ if _is_blind(planner, plan, i)}
    # What stands out so far is so by chance for next to no target: it takes no share of the level.
    blind |= _seen_at_a_glance(planner, plan, estimator, [i for i in narrow if i not in blind], far)
    loose = {i: plan.seen_loosely(i) for i in narrow if i in open_}
    if not blind and not loose:
        return
    asked, explored = _within_budget(planner, loose, blind, far)

    def look(of_targets: Mapping[int, Sequence[int]], record: Series) -> dict[int, Past]:
        if not of_targets:
            return {}
        known = [(names[v.node], names[i], v.lag) for i in of_targets for v in plan.known(i)]
        possible = {i: sorted({*sources, *plan.sources(i)}) for i, sources in of_targets.items()}
        candidates = {names[i]: tuple(names[j] for j in sources) for i, sources in possible.items()}
        method = planner.method(estimator, alpha, far, known=tuple(known), candidates=candidates)
        return dict(zip(of_targets, planner.selected(method, of_targets, record)))

    pasts = look(asked, series) | look(explored, _part(series))
    found = {i: past for i, past in pasts.items() if len(past.sources) > len(plan.sources(i))}
    more = _searchable(found, evidence.samples, far)
    if len(more) < len(found):
        words = f"{len(found) - len(more)} targets of which they found more are left to regressions"
        planner.choices.add("neighbours", words, "testing every set of their sources would take too long")
    pairs = [(i, past, j) for i, past in more.items() for j in past.sources]
    lags = {(names[i], names[i]): past.own for i, past in more.items()}
    lags |= {(names[j], names[i]): past.lags[j] for i, past, j in pairs}
    score = planner.sampled(estimator, alpha, Lags(lags, searched=far))
    for i, past in more.items():
        plan.scores[i], plan.pasts[i], plan.candidates[i] = score, past, past.sources
    whole = {i: past for i, past in more.items() if i in asked or evidence.samples <= EXPLORED_SAMPLES}
    plan.nulls |= nulls_of(score, whole)


def _searchable(pasts: Mapping[int, Past], samples: int, far: int) -> dict[int, Past]:
    """Return those whose sets of sources can be tested, those of few sources first.

    Up to three sources have c 2^(c-1) tests; of more, most of the 2^c sets are left out by a few surrogates each
    (`TEEScorer.ceiling`): eight maps of four sources had 3 to 22 full tests where all sets would have had 32.
    """
    left, kept = SEARCHED / samples, {}
    for i, past in sorted(pasts.items(), key=lambda item: (len(item[1].sources), item[0])):
        count, lags = len(past.sources), [len(past.lags[j]) for j in past.sources]
        tests = count * 2 ** (count - 1) if count <= FEW else 12 + 3 * count + 2**count / FEWEST
        left -= tests * np.mean([sum(range(far - one + 1, far + 1)) for one in lags])
        if left >= 0:
            kept[i] = past
    return kept


def nulls_of(score: Score, pasts: Mapping[int, Past]) -> dict[Link, np.ndarray]:
    """Return the null distributions that a selection has made and the score needs, if it samples in the same way."""
    nulls = [(target, *made) for target, past in pasts.items() for made in past.nulls]
    usable = [made for made in nulls if len(made[-1]) == score.n_surrogates]
    return {Link(source, target, given): null for target, source, given, null in usable}


def confirm(planner: Planner, plan: Targets) -> None:
    """Keep of targets with little noise those sources that nearest neighbours see too, given the others.

    From one sample of a flow to the next an influence reaches further than one link, and a curve that leaves less than
    a tenth of a target sees it: of rings of Lorenz (1996), F = 10, 1,000 samples, 12 to 18 indirect links in 3 files.
    Neighbours do not. A source can only be lost by this, so that it takes no share of the level. Lines stay. A source
    that passes stays, too, though others are dropped after it. With as few surrogates as the level needs, 7 rings had
    the same links as with 199, but for one false one; with fewer where those show it clearly, 23 had the same.
    """
    names = planner.series.names
    lags: dict[tuple[str, str], tuple[int, ...]] = {}
    curved = [i for i, score in enumerate(plan.scores) if isinstance(score.estimator, Regression)]
    scale = planner.evidence.scale
    little = [i for i in curved if plan.sources(i) and _leaves(planner, plan, i, scale) < THRESHOLDS.smooth]
    kept = {i: plan.sources(i) for i in little}
    if not kept:
        return
    for i, sources in kept.items():
        past = plan.pasts[i]
        lags |= {(names[j], names[i]): past.lags[j][:LAGS_CONFIRMED] for j in sources}
        lags[names[i], names[i]] = past.own[:LAGS_CONFIRMED]
    score = TEE(
        estimator=KSG(normalise="rank"),
        embedding=Lags(lags),
        alpha=THRESHOLDS.alpha,
        n_surrogates=least_surrogates(THRESHOLDS.alpha),
        seed=planner.wanted.seed,
    )
    with planner.evaluators(score, planner.series) as evaluate:
        open_ = {i: sorted(sources) for i, sources in kept.items()}  # those that have not passed yet
        while open_:
            asked = [(j, i) for i, sources in open_.items() for j in sources]
            links = [Link(j, i, tuple(sorted(kept[i] - {j}))) for j, i in asked]
            first = zip(links, evaluate.edges(links, FEWEST))
            links = [
                link for link, test in first if fitted_p(test.value, test.null) >= CLEARLY * (1 - score.alpha)
            ]
            tests = dict(zip(links, evaluate.verdicts(links, 1 - score.alpha)))
            failed = [link for link in links if tests[link].p_value > 1 - score.alpha]
            open_ = {}
            for link in sorted(failed, key=lambda link: (-tests[link].p_value, tests[link].value)):
                if link.target in open_:
                    open_[link.target].append(link.source)
                else:  # the weakest is dropped, others that failed are asked again
                    open_[link.target] = []
                    kept[link.target] -= {link.source}
    lost = sum(len(plan.sources(i)) - len(kept[i]) for i in kept)
    if lost:
        words = f"{lost} sources that a curve found are left out"
        planner.choices.add("neighbours", words, "nearest neighbours do not see them")
    for i, sources in kept.items():
        plan.candidates[i] = tuple(sorted(sources))


def _leaves(planner: Planner, plan: Targets, target: int, scale: Scale) -> float:
    """Return the share of a target's variance that its regression leaves, own past included, out of sample."""
    one = plan.regressed[target]
    y, _ = planner.evidence.rows(target, one.variables(target), scale)
    return planner.error(target, one, scale) / max(float(np.var(y)), 1e-300)


def _within_budget(
    planner: Planner, loose: Mapping[int, list[int]], blind: Mapping[int, list[int]], far: int
) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Return which loosely seen sources are tested, and which of targets that regressions are blind to."""
    of_source = QUESTIONS_OF_A_TEST * far
    of_target = (3 * far + of_source // 5) * planner.series.n_nodes
    explored = {i: blind[i] for i in [*blind][: EXPLORED // of_target]}
    rest = {i: sources for i, sources in loose.items() if i not in explored}
    ranked = sorted((rank, i, j) for i, sources in rest.items() for rank, j in enumerate(sources))
    asked: dict[int, list[int]] = {}
    for _, i, j in ranked[: min(BEYOND, BEYOND_SAMPLES // planner.evidence.samples) // of_source]:
        asked.setdefault(i, []).append(j)
    tested = sum(map(len, asked.values()))
    limits = [f"{len(ranked) - tested} less promising ones are left out"] * (tested < len(ranked))
    limits += [f"{len(blind) - len(explored)} targets are left out"] * (len(explored) < len(blind))
    if explored and planner.evidence.samples > EXPLORED_SAMPLES:
        limits.append(f"selected on {EXPLORED_SAMPLES} samples, tested on all")
    wide = sum(map(len, explored.values()))
    words = (
        f"{tested} sources that regressions see loosely, {wide} of {len(explored)} targets they see little of"
    )
    planner.choices.add("neighbours", words, "; ".join(limits) or "beyond what regressions found")
    return asked, explored


def _is_blind(planner: Planner, plan: Targets, target: int) -> bool:
    """Whether its regression leaves nearly all of a target, or clearly more than random features of its own past do."""
    evidence, plain = planner.evidence, planner.evidence.plain_scale
    if (left := _leaves(planner, plan, target, evidence.scale)) >= THRESHOLDS.blind:
        return True
    left = min(left, _leaves(planner, plan, target, plain))
    return bool(evidence.left_by_features[1][target] < THRESHOLDS.clearly * left)


def _seen_at_a_glance(
    planner: Planner, plan: Targets, estimator: KSG, targets: Sequence[int], far: int
) -> dict[int, list[int]]:
    """Return the sources of targets that stand out among all to neighbours, given what is known already.

    What a source says is compared with what all say at every lag, and shifted where those are few. One that says much
    less than a known source does, given the others, may reach the target through those, as in flows.
    """
    names, found = planner.series.names, {}
    own = {(names[i], names[i]): plan.regressed[i].pasts[i].own for i in targets}
    transfers = Transfers(_part(planner.series), estimator, Lags(own, searched=far))
    for i in targets:
        y, known = Lagged(i, 0), plan.sources(i)
        z = in_order(y, plan.regressed[i].variables(i))
        sources = [j for j in _possible(planner, i) if j not in known]
        free = [v for j in sources for v in transfers.blocks.choices(j)]
        if not free:
            continue
        values = transfers.each(free, y, z)
        everything = [values]
        shifts = -(-MANY_CANDIDATES // len(free)) - 1
        for j in sources if shifts else ():
            x = transfers.blocks.choices(j)
            draw = transfers.draw(CircularShift(), x, y, z, in_parts=True)
            stream = stream_of(planner.wanted.seed, i, (j,))
            shifted = transfers.prepared(y, z).surrogates(transfers.blocks.take(x), draw, stream, choose=1)
            everything.append(shifted.each(shifts).ravel())
        enough = far_from_most(np.concatenate(everything), THRESHOLDS.glance)
        if values.max() > enough:
            parts = [([v for v in z if v.node == j], [v for v in z if v.node != j]) for j in known]
            said = max((transfers.cmi(x, y, rest) for x, rest in parts), default=0.0)
            clear = values > max(enough, THRESHOLDS.direct * said)
            found[i] = sorted({v.node for v, one in zip(free, clear) if one})
    return {i: seen for i, seen in found.items() if seen}


def _possible(planner: Planner, target: int) -> list[int]:
    """Return the sources that a target may have."""
    names = planner.series.names
    possible = dict(planner.wanted.candidates).get(names[target], names)
    return [j for j, name in enumerate(names) if j != target and name in possible]


def _part(series: Series) -> Series:
    """Return the last samples of a long record, on which much can be asked."""
    left_out = sum(series.lengths) - EXPLORED_SAMPLES
    if left_out <= 0:
        return series
    before = np.cumsum(series.lengths) - series.lengths
    kept = [trial[max(0, left_out - start) :] for trial, start in zip(series.trials, before)]
    return series.with_trials([trial for trial in kept if len(trial)])
