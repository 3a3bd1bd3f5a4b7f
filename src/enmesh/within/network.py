"""What is added to a network once its lagged links are found: dependence and edges within one sample, and cautions.

These cautions come first in the list, since they concern what every arrow means.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding import Embedding, Lagged
from enmesh.errors import InputError, hazard
from enmesh.links.known import Known
from enmesh.links.ladder import Tested, at_all_lags, full_test
from enmesh.links.samples import CHANGING, Samples
from enmesh.network.network import LEVEL, Candidate, Network, PairTests
from enmesh.options import restore
from enmesh.scores import LinkTest
from enmesh.search.base import Problem
from enmesh.significance import q_values
from enmesh.within.cautions import cautions, feedback_at_one_lag, hidden_suspected
from enmesh.within.changes import changing_links
from enmesh.within.hidden import strongest_observed
from enmesh.within.orient import Oriented, oriented
from enmesh.within.pairs import Pair, dependent_pairs, given_lagged


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
        self.clocks = [clocks.get(name, 0) & ~CHANGING for name in series.names]  # changes are tested, not taken away
        self.lagged = []
        for i, sources in enumerate(self.parents):
            known = {Lagged(j, lag) for j in sources for lag in table[j, i]}
            known |= {v for v in always if v.node != i}
            self.lagged.append([*(Lagged(i, lag) for lag in table[i, i]), *sorted(known)])

    @cached_property
    def known(self) -> list[Known]:
        """Every node given its own past and its sources; none where too few samples are complete."""
        with suppress(InputError):  # missing values may leave too few samples of a node and what drives it
            return given_lagged(self.samples, self.lagged, self.clocks)
        return []

    def changes(self) -> list[tuple[float, str, str]]:
        """Return the p-value of each link: of no change along the recording. Trials have no common time: none."""
        if len(self.series.trials) > 1:
            return []
        names = self.series.names
        return [(p, names[j], names[i]) for p, j, i in changing_links(self.known, self.parents)]

    def strongest(self, one: Candidate) -> float:
        """Return the strength of the strongest other driver of a target (`within.hidden`)."""
        j, i = self.series.index(one.source), self.series.index(one.target)
        own = [v for v in self.lagged[i] if v.node == i]
        others = [v for v in self.lagged[i] if v.node not in (i, j)]
        with suppress(InputError):  # missing values may leave too few samples
            return strongest_observed(self.samples, i, Lagged(j, int(one.lag)), own, others)
        return math.nan


def with_within(network: Network, series: Series, problem: Problem | None = None) -> Network:
    """Return the network with the dependence of its nodes within one sample, and cautions on its links.

    With a ``problem``, whose rules hold for edges within one sample too, these are oriented and added, and lagged links
    that fail given them are left out.
    """
    try:
        asked = Asked(network, series)
    except InputError as error:  # a score that is given may need fewer samples than this test
        hazard(told := f"dependence within one sample is not tested: {error}")
        return replace(network, warnings=(*network.warnings, told))
    pairs, changes, names = dependent_pairs(asked.known), asked.changes(), series.names
    found = tuple((names[a], names[b], value, p, q) for a, b, value, p, q in pairs)
    marks = tuple((a, b, *_mark(network, a, b), p) for a, b, _, p, q in found if q <= LEVEL)
    network = replace(network, together=found, marks=marks)
    if problem is not None:
        network = _with_edges(network, asked, pairs, problem)
    hidden = hidden_suspected(network)
    candidates = tuple(
        replace(one, strongest=asked.strongest(one), hidden=(one.source, one.target) in hidden) if one.selected else one
        for one in network.candidates
    )
    network = replace(network, candidates=candidates)
    said = cautions(network, changes)
    for sentence in said:
        hazard(sentence)
    return replace(network, warnings=(*said, *network.warnings))


def _mark(network: Network, a: str, b: str) -> tuple[str, str]:
    """Return the mark of a pair that is not oriented, and the reason."""
    if feedback_at_one_lag(network, a, b):
        return "<->", "they drive each other at one lag and depend on each other within it: a hidden driver does this"
    return "---", "not oriented; within_sample=True does this if the data show the direction"


def _with_edges(network: Network, asked: Asked, pairs: Sequence[Pair], problem: Problem) -> Network:
    """Return the network with edges of lag 0 where they can be oriented, and lagged links tested given these."""
    names, possible = asked.series.names, problem.candidates or ()
    forbidden = {(j, i) for i, some in enumerate(possible) for j in range(len(names)) if j not in some}
    forbidden |= {(b, a) for a, b in problem.required if (b, a) not in problem.required}
    edges, best, proven = oriented(asked.samples, asked.lagged, asked.clocks, pairs, frozenset(forbidden))
    if problem.acyclic:
        edges = _without_cycles(edges, asked.parents)
    sure = {(e.first, e.second) if e.mark == "-->" else (e.second, e.first): e for e in edges if e.mark != "---"}
    tests = _retested(network, asked, best, sure, problem)
    marks = []
    for first, second, mark, p, _, reason in edges:
        a, b = names[first], names[second]
        fed_back = mark == "---" and feedback_at_one_lag(network, a, b)
        marks.append((a, b, *(_mark(network, a, b) if fed_back else (mark, reason)), p))
    candidates = _merged(network, asked, tests, sure)
    return _rebuilt(network, candidates, tuple(marks), f"{len(sure)} of {len(edges)} edges oriented", proven)


def _without_cycles(edges: Sequence[Oriented], parents: Sequence[Sequence[int]]) -> list[Oriented]:
    """Return the edges, strongest first, without arrows that would close a cycle with lagged or stronger links."""
    import networkx as nx

    graph, kept = nx.DiGraph((j, i) for i, sources in enumerate(parents) for j in sources), list[Oriented]()
    graph.add_nodes_from(range(len(parents)))
    for one in sorted(edges, key=lambda one: -one.value):
        source, target = (one.first, one.second) if one.mark == "-->" else (one.second, one.first)
        if one.mark != "---" and nx.has_path(graph, target, source):
            one = one._replace(mark="---", reason=f"acyclic=True excludes the arrow: a cycle ({one.reason})")
        elif one.mark != "---":
            graph.add_edge(source, target)
        kept.append(one)
    return kept


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
    names, index, level = asked.series.names, asked.series.index, restore(network.options["score"]).level
    known, merged = {(index(one.source), index(one.target)): one for one in network.candidates}, list[Candidate]()
    nothing: dict[str, Any] = {"te": 0.0, "p_value": 1.0, "q_value": 1.0, "lag": 1, "selected": False}
    for j, i in sure:
        known.setdefault((j, i), Candidate(source=names[j], target=names[i], **nothing))
    for ends, one in known.items():
        if ends in tests:
            test = tests[ends]
            keep = test.p_value <= level or (one.source, one.target) in map(tuple, network.options["required"])
            lags = one.lags if test.lag in one.lags else (test.lag,)
            one = replace(one, te=test.value, p_value=test.p_value, lag=test.lag, lags=lags, selected=keep)
        merged.append(_at_once(one, sure[ends]) if ends in sure else one)
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
    tests, names = network.pair_tests, network.names
    chosen = {t: {one.source: one.te for one in candidates if one.selected and one.target == t} for t in names}
    parents = {t: tuple(s for s in names if s in chosen[t]) for t in names}
    local = {t: math.fsum(chosen[t].values()) for t in names}
    rows = {(c.source, c.target): (c.te, c.p_value, c.lag, c.q_value) for c in candidates}
    before = zip(tests.sources, tests.targets, tests.te, tests.p_value, tests.lag, tests.q_value)
    rows = {(names[s], names[t]): tuple(rest) for s, t, *rest in before} | rows
    why = "the best graph by BIC, proven" if proven else "the best graph by BIC that was found"
    return replace(
        network, parents=parents, local=local, bound=math.fsum(local.values()), candidates=candidates, marks=marks,
        pair_tests=PairTests.of_rows(names, [(s, t, *rest) for (s, t), rest in rows.items()]),
        options={**network.options, "within_sample": True},
        choices=(*network.choices, ("within_sample", told, why)),
    )  # fmt: skip
