"""What is added to a network once its lagged links are found: dependence within one sample, and hidden drivers.

The caution comes first in the list, since it concerns what every arrow means.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding import Embedding, Lagged
from enmesh.errors import InputError, first_few, hazard
from enmesh.inference.network import LEVEL, Candidate, Network, PairTests
from enmesh.links.ladder import Tested, at_all_lags, full_test
from enmesh.links.samples import Samples
from enmesh.options import restore
from enmesh.scores import LinkTest
from enmesh.search.base import Problem
from enmesh.significance import q_values
from enmesh.within.hidden import strongest_observed
from enmesh.within.orient import Oriented, oriented
from enmesh.within.pairs import Pair, dependent_pairs, given_lagged

SUSPECT = 0.01  # p-value up to which dependence within one sample counts as a sign of a hidden driver
SHARE = 0.5  # of the value of a link that this dependence must have (chosen on maps and VAR with two nodes hidden)
SURE = 0.01  # error rate of the caution, over all pairs (Bonferroni)


class Asked:
    """The samples of a network, and the lagged variables that each node is given, by position in the series."""

    def __init__(self, network: Network, series: Series):
        score = restore(network.options["score"])
        self.series, self.network = series, network
        self.parents = [series.indices(network.parents[name]) for name in series.names]
        table = (score.embedding or Embedding()).table(series.names)
        by_test = isinstance(score, LinkTest)
        context = score.context if by_test else ()
        reach = max([lag for lags in table.values() for lag in lags], default=1)
        self.samples = Samples.of(series, max(reach, score.max_lag) if by_test else reach)
        always = [Lagged(series.index(name), lag) for name in context for lag in range(self.samples.max_lag + 1)]
        clocks = dict(score.clocks) if by_test else {}
        self.clocks = [clocks.get(name, 0) for name in series.names]
        self.lagged = []
        for i, sources in enumerate(self.parents):
            known = {Lagged(j, lag) for j in sources for lag in table[j, i]}
            known |= {v for v in always if v.node != i}
            self.lagged.append([*(Lagged(i, lag) for lag in table[i, i]), *sorted(known)])

    def pairs(self) -> list[Pair]:
        """Test the dependence of every pair within one sample; none where too few samples are complete."""
        try:
            return dependent_pairs(given_lagged(self.samples, self.lagged, self.clocks))
        except InputError:  # missing values leave too few samples of a node and what drives it
            return []

    def strongest(self, one: Candidate) -> float:
        """Return the strength of the strongest other driver of a target (`within.hidden`)."""
        j, i = self.series.index(one.source), self.series.index(one.target)
        own = [v for v in self.lagged[i] if v.node == i]
        others = [v for v in self.lagged[i] if v.node not in (i, j)]
        try:
            return strongest_observed(self.samples, i, Lagged(j, int(one.lag)), own, others)
        except InputError:  # missing values leave too few samples
            return math.nan


def with_within(network: Network, series: Series, problem: Problem | None = None) -> Network:
    """Return the network with the dependence of its nodes within one sample, and the caution about it.

    With a ``problem``, whose rules hold for edges within one sample too, these are oriented and added, and lagged links
    that fail given them are left out.
    """
    try:
        asked = Asked(network, series)
    except InputError as error:  # a score that is given may need fewer samples than this test
        hazard(told := f"dependence within one sample is not tested: {error}")
        return replace(network, warnings=(*network.warnings, told))
    pairs, names = asked.pairs(), series.names
    found = tuple((names[a], names[b], value, p, q) for a, b, value, p, q in pairs)
    together = [pair for pair in pairs if pair.q_value <= LEVEL]
    marks = tuple(
        (names[p.first], names[p.second], *_mark(network, names[p.first], names[p.second]), p.p_value) for p in together
    )
    sentence = caution(network, pairs, names)
    network = replace(network, together=found, marks=marks)
    if problem is not None:
        network = _with_edges(network, asked, pairs, problem)
    network = _with_hidden(network, asked)
    coarse = coarse_sampling(network, pairs, names) if sentence else ""
    if coarse:
        hazard(coarse)
        network = replace(network, warnings=(coarse, *network.warnings))
    if sentence and (problem is None or any(mark == "---" for _, _, mark, *_ in network.marks)):
        hazard(sentence)
        network = replace(network, warnings=(sentence, *network.warnings))
    return network


def _with_hidden(network: Network, asked: Asked) -> Network:
    """Return the network with what is said of hidden drivers for each link."""
    known = {frozenset(pair[:2]) for pair in network.marks if pair[2] in ("-->", "<--")}
    near: dict[str, dict[str, float]] = {name: {} for name in network.names}
    for a, b, value, p, _ in network.together:
        if p <= SUSPECT and frozenset((a, b)) not in known:
            near[a][b] = near[b][a] = value
    driven: dict[str, set[str]] = {name: {name} for name in network.names}
    for source, target in network:
        driven[source].add(target)
    made = []
    for one in network.candidates:
        if one.selected:
            through = [near[one.target][k] for k in driven[one.source] & set(near[one.target])]
            hidden = one.lag > 0 and max(through, default=0.0) > SHARE * one.te
            one = replace(one, strongest=asked.strongest(one), hidden=bool(hidden))
        made.append(one)
    return replace(network, candidates=tuple(made))


def _mark(network: Network, a: str, b: str) -> tuple[str, str]:
    """Return the mark of a pair that is not oriented, and the reason."""
    if hidden_suspected(network, a, b):
        return ("<->", "feedback at one lag beside dependence within one sample: a hidden common driver does this")
    return "---", "not oriented; within_sample=True does this where the data can tell"


def hidden_suspected(network: Network, a: str, b: str) -> bool:
    """Return whether two nodes drive each other at the same lag."""
    lags = {(c.source, c.target): set(c.lags) for c in network.candidates if c.selected}
    return bool(lags.get((a, b), set()) & lags.get((b, a), set()))


def _with_edges(network: Network, asked: Asked, pairs: Sequence[Pair], problem: Problem) -> Network:
    """Return the network with edges of lag 0 where they can be oriented, and lagged links tested given these."""
    names, possible = asked.series.names, problem.candidates or ()
    forbidden = {(j, i) for i, some in enumerate(possible) for j in range(len(names)) if j not in some}
    forbidden |= {(b, a) for a, b in problem.required if (b, a) not in problem.required}
    edges, best, proven = oriented(asked.samples, asked.lagged, asked.clocks, pairs, frozenset(forbidden))
    sure = {(e.first, e.second) if e.mark == "-->" else (e.second, e.first): e for e in edges if e.mark != "---"}
    tests = _retested(network, asked, best, sure, problem)
    marks = []
    for e in edges:
        a, b = names[e.first], names[e.second]
        mark, reason = e.mark, e.reason
        if mark == "---" and hidden_suspected(network, a, b):
            mark, reason = _mark(network, a, b)
        marks.append((a, b, mark, reason, e.p_value))
    candidates = _merged(network, asked, tests, sure)
    return _rebuilt(network, candidates, tuple(marks), f"{len(sure)} of {len(edges)} edges oriented", proven)


def _retested(
    network: Network, asked: Asked, best: Mapping[int, Sequence[int]], sure: Collection[tuple[int, int]],
    problem: Problem,
) -> dict[tuple[int, int], Tested]:  # fmt: skip
    """Test the lagged links of nodes with parents within the sample given these; the weakest that fails goes first.

    A parent that could as well be a child counts twice: the link must pass with it and without it.
    """
    level, found = restore(network.options["score"]).level, dict[tuple[int, int], Tested]()
    for i, parents in best.items():
        if not parents:
            continue
        own = [v for v in asked.lagged[i] if v.node == i]
        kept = [v for v in asked.lagged[i] if v.node != i]
        oriented_ = [Lagged(j, 0) for j in parents if (j, i) in sure]
        sets = [oriented_, [Lagged(j, 0) for j in parents]][: 1 + (len(oriented_) < len(parents))]
        while sources := sorted({v.node for v in kept if v.node in asked.parents[i]}):
            tests = {}
            for j in sources:
                rest = [v for v in kept if v.node != j]
                lags = at_all_lags(asked.samples, j)
                each = [full_test(asked.samples, i, own, [*rest, *now], lags, asked.clocks[i]) for now in sets]
                tests[j] = max(each, key=lambda one: one.p_value)
            free = [j for j in sources if (j, i) not in problem.required]
            found |= {(j, i): test for j, test in tests.items()}
            if not free or max(tests[j].p_value for j in free) <= level:
                break
            weakest = max(free, key=lambda j: tests[j].p_value)
            kept = [v for v in kept if v.node != weakest]
    return found


def _merged(
    network: Network, asked: Asked, tests: Mapping[tuple[int, int], Tested], sure: Mapping[tuple[int, int], Oriented]
) -> tuple[Candidate, ...]:
    """Return the tests of all pairs: lagged ones given within-sample parents, and edges of lag 0."""
    index, level = asked.series.index, restore(network.options["score"]).level
    merged, left = list[Candidate](), dict(sure)
    for one in network.candidates:
        ends = index(one.source), index(one.target)
        if ends in tests:
            test = tests[ends]
            keep = test.p_value <= level or (one.source, one.target) in map(tuple, network.options["required"])
            lags = one.lags if test.lag in one.lags else (test.lag,)
            one = replace(one, te=test.value, p_value=test.p_value, lag=test.lag, lags=lags, selected=keep)
        if ends in left:
            one = _at_once(one, left.pop(ends))
        merged.append(one)
    for (j, i), edge in left.items():
        new = Candidate(
            source=asked.series.names[j], target=asked.series.names[i], te=0.0, p_value=1.0, q_value=1.0, lag=1,
            selected=False,
        )  # fmt: skip
        merged.append(_at_once(new, edge))
    q = q_values(np.array([one.p_value for one in merged]), max(len(network.pair_tests.p_value), len(merged)))
    return tuple(replace(one, q_value=float(value)) for one, value in zip(merged, q))


def _at_once(one: Candidate, edge: Oriented) -> Candidate:
    """Return a pair with its edge of lag 0; of a pair with lagged links too, ``lag`` is the strongest of all."""
    if not one.selected:
        return replace(one, te=edge.value, p_value=edge.p_value, lag=0, lags=(0,), effect=math.nan, selected=True)
    stronger = edge.value > one.te
    return replace(
        one,
        te=max(edge.value, one.te),
        p_value=min(1.0, 2 * min(edge.p_value, one.p_value)),
        lag=0 if stronger else one.lag,
        lags=tuple(sorted({0, *one.lags})),
        effect=math.nan if stronger else one.effect,
    )


def _rebuilt(
    network: Network, candidates: tuple[Candidate, ...], marks: tuple[Any, ...], told: str, proven: bool
) -> Network:
    """Return the network of the selected candidates."""
    chosen: dict[str, dict[str, Candidate]] = {name: {} for name in network.names}
    for one in candidates:
        if one.selected:
            chosen[one.target][one.source] = one
    parents = {t: tuple(s for s in network.names if s in chosen[t]) for t in network.names}
    local = {t: math.fsum(one.te for one in chosen[t].values()) for t in network.names}
    rows = {(c.source, c.target): (c.te, c.p_value, c.lag, c.q_value) for c in candidates}
    tests, names = network.pair_tests, network.names
    before = zip(tests.sources, tests.targets, tests.te, tests.p_value, tests.lag, tests.q_value)
    rows = {(names[s], names[t]): tuple(rest) for s, t, *rest in before} | rows
    why = "the best graph by BIC, proven" if proven else "the best graph by BIC that was found"
    return replace(
        network, parents=parents, local=local, bound=math.fsum(local.values()), candidates=candidates, marks=marks,
        pair_tests=PairTests.of_rows(names, [(s, t, *rest) for (s, t), rest in rows.items()]),
        options={**network.options, "within_sample": True},
        choices=(*network.choices, ("within_sample", told, why)),
    )  # fmt: skip


def caution(network: Network, pairs: Sequence[Pair], names: Sequence[str]) -> str:
    """Return the sentence on dependence within one sample; nothing where it is not sure."""
    if min((pair.p_value for pair in pairs), default=1.0) * len(pairs) > SURE:
        return ""
    together = sorted((pair for pair in pairs if pair.q_value <= LEVEL), key=lambda pair: pair.p_value)
    listed = [f"{names[pair.first]} and {names[pair.second]}" for pair in together]
    said = f"within one sample: {first_few(listed, 4)} depend on each other beyond all pasts"
    through = [f"{s} -> {t}" for s, t in could_pass(network, [(names[p.first], names[p.second]) for p in together])]
    if not through:
        return f"{said}; a hidden common driver, or an effect faster than one sample, does this"
    return f"{said}; the links {first_few(through, 6)} could come through such a pair, or through a hidden driver"


def coarse_sampling(network: Network, pairs: Sequence[Pair], names: Sequence[str]) -> str:
    """Return the sentence on coarse sampling where pairs that depend within one sample are those linked at lag 1.

    An effect that takes less than one sample acts within it, and through the memory of its source at lag 1 too: the
    same pairs show both (Fisher's exact test). A hidden driver of nodes that drive no other does not do this.
    """
    from scipy.stats import hypergeom

    near = {frozenset((row[0], row[1])) for row in network.edges[["source", "target", "lags"]].itertuples(index=False)
            if min((lag for lag in row[2] if lag), default=0) == 1}  # fmt: skip
    dependent = [frozenset((names[p.first], names[p.second])) for p in pairs if p.q_value <= LEVEL]
    both = sum(pair in near for pair in dependent)
    p = float(hypergeom.sf(both - 1, len(pairs), len(near), len(dependent)))
    if p > SURE:
        return ""
    return (
        f"coarse sampling: {both} of {len(dependent)} pairs that depend on each other within one sample are linked at "
        "lag 1 too, as if effects took less than one sample; sampled at half the step or less, such pairs would show "
        "who is first"
    )


def could_pass(network: Network, together: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the links whose source reaches the target through its own past, or another target, within one sample."""
    near: dict[str, set[str]] = {name: set() for name in network.names}
    for a, b in together:
        near[a].add(b)
        near[b].add(a)
    driven: dict[str, set[str]] = {name: {name} for name in network.names}
    for source, target in network:
        driven[source].add(target)
    return [(s, t) for s, t in network if near[t] & driven[s] - {t}]
