"""One inference: screening, search, and tests of what was found (`Run`)."""

import platform
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from math import ceil
from typing import Any

import numpy as np

from enmesh.data.series import Series
from enmesh.diagnostics import determined, hazards_of_pasts
from enmesh.draw.shapes import preview
from enmesh.embedding import Embedding, Pasts, reach
from enmesh.errors import InputError, first_few, hazard, refuse_if
from enmesh.events.events import Events
from enmesh.explain import with_effects
from enmesh.inference.evaluate import Evaluator
from enmesh.inference.plan import Plan, Planner
from enmesh.inference.progress import Progress
from enmesh.inference.screen import BUDGET_ANALYTIC, count_families
from enmesh.inference.screen import screen as preselect
from enmesh.inference.stable import stable_parents
from enmesh.inference.wanted import LEVEL as LINK_LEVEL
from enmesh.inference.wanted import Choices, Request, constrained
from enmesh.inference.workers import start_ahead
from enmesh.links.selection import Drivers
from enmesh.methods import resolve
from enmesh.network.network import LEVEL, Candidate, Network, PairTests
from enmesh.options import describe
from enmesh.scores import Link, LinkTest, Score
from enmesh.search import Exact, Independent
from enmesh.search.base import Found, Parents, Search
from enmesh.search.families import FEW
from enmesh.search.graphs import ancestors
from enmesh.significance import Significance, analytic, q_values

# A link that is not in the network is tested no further than it takes to see that its p-value is over this.
DOUBTFUL = LEVEL
FEW_PARENTS = 3  # parents of a node that a search tries first; more where the data call for them
MOST_PAIRS = 400  # pairs of nodes up to which links that were screened out are tested too


class Run:
    """One inference: its choices, its hazards, and its workers."""

    def __init__(
        self,
        series: Series,
        *,
        search: Search | str | None,
        screen: bool | int | None,
        max_parents: int | None,
        n_jobs: int | None,
        store: Any,
        progress: Any,
        memory: int | None,
        **rules: Any,
    ):
        if series.n_nodes < 2:
            raise InputError(f"a network needs at least 2 nodes; there is {series.n_nodes}")
        self.given = series
        series = self.series = series if isinstance(series, Events) else series.in_order()
        self.problem = constrained(series, **rules)
        needed = Counter(target for _, target in self.problem.required)
        for target, count in needed.items():
            told = f"max_parents={max_parents} is less than the {count} required sources of {series.names[target]}"
            refuse_if(max_parents is not None and count > max_parents, f"{told}; raise max_parents, or require fewer")
        self._possible: Parents = self.problem.candidates or ()
        self.progress = Progress.of(progress)
        self._search = None if search is None else resolve(Search, search)
        self._screen, self._max_parents = screen, None if max_parents is None else int(max_parents)
        self._evaluators = partial(Evaluator, n_jobs=n_jobs, store=store, progress=self.progress, memory=memory)
        self.choices, self.hazards = Choices(), list[str]()
        if not isinstance(series, Events):
            start_ahead(n_jobs, sum(series.lengths) * series.n_nodes)

    def plan(self, wanted: Request) -> Plan:
        """Return what is to be searched: given, or chosen from the data."""
        others = self.series.n_nodes - 1
        open_ = all(len(sources) == others for sources in self._possible)
        possible = {} if open_ else self._by_name(self._possible)
        narrowed = tuple(pair for pair in possible.items() if len(pair[1]) < others)
        with self.progress.phase("selecting lags"):
            wanted = replace(wanted, candidates=narrowed)
            if wanted.by_link_test and self._screen is not None:
                raise InputError("screen has no effect on the default test, which tests all pairs; leave it out")
            if wanted.by_link_test:
                wanted = replace(wanted, most=self._max_parents)
            planner = Planner(self.series, wanted, self.choices)
            planner.evaluators = self._evaluators
            return planner.plan()

    def network(self, plan: Plan) -> Network:
        """Find the best graph, test its links, and return it with everything that is needed to repeat it."""
        series, problem = self.series, self.problem
        usual: Search = Exact() if problem.acyclic else Independent()
        search = self._search or usual
        if self._search is None and not plan.drivers:
            self.choices.add("search", usual, "finds the best graph and proves it")
        pairs: PairTests | None = None
        with self._evaluators(plan.score, series) as evaluator:
            if plan.drivers:
                allowed = self._with_required(one.sources for one in plan.drivers)
                screening, limit = {"applied": False}, self._max_parents
                found = self._graph_of_links(search, plan.drivers, allowed)
                tests, pairs = self._link_tests(evaluator, plan.drivers, found.parents)
            else:
                allowed, screening = self._preselected(evaluator, plan)
                limit, found, tests = self._searched(evaluator, search, allowed, plan.candidates is not None)
            if not isinstance(series, Events):
                self._warn_of_pasts(plan.score, max(map(len, found.parents)))
                blocks = [evaluator.scorer.of_target(i).transfers.blocks for i in range(series.n_nodes)]
                tests = with_effects(tests, series, blocks, found.parents)
            warn_of_loops(series, found, tests)
        names, given = series.names, self.given

        def arrows(edges: Iterable[tuple[int, int]]) -> list[tuple[str, str]]:
            return [(names[source], names[target]) for source, target in edges]

        return Network(
            names=given.names,
            parents=self._by_name(found.parents),
            local={name: found.local[series.index(name)] for name in given.names},
            optimal=found.optimal,
            bound=found.bound,
            gap=found.gap,
            removed=tuple(arrows(found.removed)),
            evaluated=found.evaluated,
            candidates=tests,
            options={
                "score": describe(plan.score),
                "search": describe(search),
                "max_parents": limit,
                "acyclic": problem.acyclic,
                "required": sorted(map(list, arrows(problem.required))),
                "forbidden": sorted(map(list, arrows(problem.forbidden))),
                "candidates": {target: list(sources) for target, sources in self._by_name(allowed).items()},
                "screening": screening,
                "seed": problem.seed,
            },
            provenance=_provenance(given),
            choices=tuple(self.choices),
            warnings=tuple(self.hazards),
            preview={} if isinstance(given, Events) else preview(given),
            series=None if isinstance(given, Events) else given,
            criteria=plan.criteria,
            pair_tests=pairs or PairTests.of(given.names, tests),
        )

    def _with_required(self, selected: Iterable[Iterable[int]]) -> Parents:
        """Return the sources each target may have: those that were selected, and those that are required."""
        kept = [{*sources} for sources in selected]
        for source, target in self.problem.required:
            kept[target].add(source)
        return tuple(tuple(sorted(some)) for some in kept)

    def _graph_of_links(self, search: Search, drivers: tuple[Drivers, ...], allowed: Parents) -> Found:
        """Return all links that passed, or the acyclic graph that keeps most of their transfer entropy."""
        values = [
            {j: test[0] for j, test in zip(one.sources, one.tests)} | {other[0]: other[1] for other in one.others}
            for one in drivers
        ]
        problem = replace(self.problem, candidates=allowed)
        if problem.acyclic:

            def evaluate(families: Any) -> np.ndarray:
                return np.array([sum(max(values[i].get(j, 0.0), 0.0) for j in some) for i, some in families])

            return search.run(evaluate, replace(problem, max_parents=max(map(len, allowed), default=0)))
        local = tuple(float(sum(values[i].get(j, 0.0) for j in some)) for i, some in enumerate(allowed))
        how: Any = {"optimal": True, "bound": float(sum(local)), "gap": 0.0, "removed": (), "evaluated": len(allowed)}
        return Found(parents=allowed, local=local, **how)

    def _link_tests(
        self, evaluator: Evaluator, drivers: tuple[Drivers, ...], parents: Parents
    ) -> tuple[tuple[Candidate, ...], PairTests]:
        """Return the tests of links given the other parents, and of every possible pair; q-values count all pairs."""
        names, size = self.series.names, self.series.n_nodes
        found: dict[tuple[int, int], tuple[float, float, int]] = {}
        again = []
        for i, one in enumerate(drivers):
            found |= {(j, i): (t[0], t[1], t[2]) for j, t in zip(one.sources, one.tests)}
            found |= {(j, i): (value, p, lag) for j, value, p, lag in one.others}
            if set(parents[i]) != set(one.sources):  # a link was left out, or is required
                again += [(j, i) for j in dict.fromkeys([*parents[i], *one.sources])]
        links = [Link(j, i, tuple(p for p in parents[i] if p != j)) for j, i in again]
        for pair, test in zip(again, evaluator.edges(links)):
            found[pair] = float(test.value), float(test.p_value), int(test.lag or 1)
        ends = sorted(found, key=lambda pair: (pair[1], pair[0]))
        q = q_values(np.array([found[pair][1] for pair in ends]))
        few = size * (size - 1) <= MOST_PAIRS
        both = [(i, a, b) for i, one in enumerate(drivers) for a, b in one.partners]
        partners = {(a, i): b for i, a, b in both} | {(b, i): a for i, a, b in both}
        tests = []
        for (j, i), q_value in zip(ends, q):
            chosen = j in parents[i]
            if chosen or few:
                value, p, lag = found[j, i]
                lags = dict(zip(drivers[i].sources, drivers[i].lags)).get(j, (lag,)) if chosen else (lag,)
                tests.append(
                    Candidate(
                        source=names[j], target=names[i], te=value, p_value=p, q_value=float(q_value),
                        lag=lag, lags=tuple(sorted({*lags, lag})), selected=chosen,
                        partner=names[partners[j, i]] if chosen and (j, i) in partners else "",
                    )
                )  # fmt: skip
        rows = [(names[j], names[i], *found[j, i], float(q_value)) for (j, i), q_value in zip(ends, q)]
        return tuple(tests), PairTests.of_rows(self.given.names, rows)

    def _by_name(self, parents: Parents) -> dict[str, tuple[str, ...]]:
        names, place = self.series.names, self.given.index
        found = {target: sorted(map(names.__getitem__, some), key=place) for target, some in zip(names, parents)}
        return {target: tuple(found[target]) for target in self.given.names}

    def _preselected(self, evaluator: Evaluator, plan: Plan) -> tuple[Parents, dict[str, Any]]:
        """Return the sources each target may have: those that were selected with their lags, or after screening."""
        allowed, screen, required, report = self._possible, self._screen, self.problem.required, {}
        if plan.candidates is not None and screen is not False:
            kept = self._with_required(plan.candidates)
            allowed = tuple(tuple(j for j in some if j in own) for some, own in zip(kept, allowed))
            report["selected"] = [len(sources) for sources in allowed]
            screen = None if screen is True else screen
        most = FEW_PARENTS if self._max_parents is None else self._max_parents
        most = min(most, self.series.n_nodes - 1)
        with self.progress.phase("screening"):
            found, screened = preselect(
                evaluator, allowed, required=required, max_parents=most, wanted=screen, choices=self.choices
            )
        return found, screened | report

    def _searched(
        self, evaluator: Evaluator, search: Search, allowed: Parents, selected: bool
    ) -> tuple[int, Found, tuple[Candidate, ...]]:
        """Find the best graph, test its edges, and warn of sources that the number of parents leaves out."""
        limit, reason = self._parent_limit(evaluator, allowed, selected)
        level = 1 - (evaluator.score.alpha or 1 - LINK_LEVEL)
        bounds, redundant = evaluator.scorer.bounds(allowed), evaluator.redundant
        dear = (i for i, sources in enumerate(allowed) if selected and len(sources) > FEW)
        bounded = any(evaluator.scorer.ceiling_tests(i, allowed[i]) for i in dear)
        ceilings = evaluator.ceilings if bounded else None
        problem = replace(self.problem, candidates=allowed, bounds=bounds, redundant=redundant, ceilings=ceilings)
        with self.progress.phase("searching"):
            found = search.run(evaluator, replace(problem, max_parents=limit))
        score = evaluator.score
        if isinstance(self.series, Events) and score.alpha and score.penalty == "sequential":
            stable = self._stable(evaluator, found.parents, allowed, limit, level)
            bounds = evaluator.scorer.bounds(stable)
            found = search.run(evaluator, replace(problem, candidates=stable, bounds=bounds, max_parents=limit))
        with self.progress.phase("testing links"):
            tests = self._edge_tests(evaluator, found.parents, allowed)
        if left_out := self._left_out(level, found.parents, tests, limit):
            hazard(
                f"at most {limit} parents per node were allowed, but {first_few(left_out)} "
                f"{'is' if len(left_out) == 1 else 'are'} significant beyond them; raise max_parents"
            )
        if self._max_parents is None:
            self.choices.add("max_parents", limit, reason if left_out else "this limit excluded no source")
        far = (evaluator.score.embedding or Embedding()).searched
        last = [f"{c.source} -> {c.target}" for c in tests if c.selected and max(c.lags) == far > 1]
        if last:
            at = f"{first_few(last, 6)} at lag {far}, the largest that was tested"
            hazard(f"{at}; a larger max_lag may show more")
        return limit, found, tests

    def _stable(self, evaluator: Evaluator, found: Parents, allowed: Parents, limit: int, level: float) -> Parents:
        """Return the parents that tests keep and add; see `stable_parents`."""
        tested, needed = partial(evaluator.verdicts, level=level), self.problem.required
        with self.progress.phase("testing links"):
            return tuple(
                stable_parents(
                    tested, i, start, allowed[i], required=[s for s, t in needed if t == i], level=level, most=limit
                )
                for i, start in enumerate(found)
            )

    def _parent_limit(self, evaluator: Evaluator, allowed: Parents, selected: bool) -> tuple[int, str]:
        """Return how many parents a node may have, and why no more."""
        others, widest, score = self.series.n_nodes - 1, max(map(len, allowed), default=0), evaluator.score
        if self._max_parents is not None:
            return min(others, self._max_parents), ""
        by_regression = selected and score.estimator.analytic
        most, reason = (others, "") if by_regression else _max_parents_for(self.series, score)
        most = min(others, most)
        first = min(FEW_PARENTS, most)
        sets = {n: count_families([range(widest)], n) for n in range(1, min(most, widest) + 1)}
        affordable = max((n for n, count in sets.items() if count <= BUDGET_ANALYTIC), default=1)
        if affordable < min(most, widest):
            most = max(first, affordable)
            reason = f"more would be over {BUDGET_ANALYTIC:,} sets of parents for a node"
        return max(first, min(most, widest)), reason

    def _left_out(self, level: float, parents: Parents, tests: tuple[Candidate, ...], limit: int) -> list[str]:
        """Return links to full targets that are significant given the parents kept."""
        above = ancestors(parents) if self.problem.acyclic else [0] * len(parents)
        found = []
        for test in tests:
            source, target = map(self.series.index, (test.source, test.target))
            full = len(parents[target]) >= limit > 0 and not above[source] >> target & 1
            if full and not test.selected and test.p_value <= level:
                found.append(f"{test.source} -> {test.target}")
        return found

    def _edge_tests(self, evaluator: Evaluator, parents: Parents, allowed: Parents) -> tuple[Candidate, ...]:
        """Test every candidate edge given the target's other parents; q-values count all pairs as tests."""
        size = self.series.n_nodes
        pairs = size * (size - 1)
        asked = allowed if pairs > MOST_PAIRS else self._possible
        ends = [(j, i) for i, sources in enumerate(asked) for j in sources]
        links = [Link(j, i, tuple(p for p in parents[i] if p != j)) for j, i in ends]
        # Edges of the network get as many surrogates as their q-values need; others are tested until they are doubtful.
        chosen = [link for link in links if link.source in parents[link.target]]
        tests = _tests_of_found(evaluator, chosen, pairs)
        rest = [link for link in links if link not in tests]
        tests |= zip(rest, evaluator.verdicts(rest, DOUBTFUL))
        q = q_values(np.array([tests[link].p_value for link in links]), pairs)
        names, found = self.series.names, []
        for link, q_value in zip(links, q):
            test, selected = tests[link], link.source in parents[link.target]
            strongest, lags = _lags(evaluator, link, selected)
            found.append(
                Candidate(
                    source=names[link.source], target=names[link.target], te=float(test.value),
                    p_value=float(test.p_value), q_value=float(q_value), lag=strongest, lags=lags,
                    selected=selected, null=tuple(map(float, test.null)),
                )
            )  # fmt: skip
        return tuple(found)

    def _warn_of_pasts(self, score: Score, most: int) -> None:
        """Warn of nearly deterministic nodes, and of joint spaces too wide for nearest neighbours and kernels."""
        crowded = any("raise max_parents" in message for message in self.hazards)
        wide = not crowded and (score.estimator.discrete or not score.estimator.analytic)
        pasts = score.embedding or Embedding()
        by_test = isinstance(score, LinkTest)
        found = determined(self.series, pasts) if by_test else hazards_of_pasts(self.series, pasts, most)
        for finding in found:
            if finding.kind == "determinism" or wide:  # no advice to lower what was advised to be raised
                hazard(finding.message)


def _tests_of_found(evaluator: Evaluator, links: list[Link], pairs: int) -> dict[Link, Significance]:
    """Test the links found with as many surrogates as a q-value of 0.05 among all pairs needs."""
    # First as many as would do if all were clear; then, for those that no surrogate reached, as many as the clear ones
    # need. P-values hold, because only those go on that have the smallest there is.
    usual = evaluator.score.n_surrogates
    count = max(usual, ceil(pairs / (LEVEL * len(links)))) if usual and links else 0
    tests = dict(zip(links, evaluator.edges(links, count if count > usual else None)))
    clear = [link for link in links if tests[link].p_value <= 1 / (1 + (len(tests[link].null) or count))]
    more = ceil(1.5 * pairs / (LEVEL * len(clear))) if clear else 0
    if usual and more > count:
        again = [link for link in clear if len(tests[link].null)]
        tests |= zip(again, evaluator.edges(again, more))
    return tests


def _lags(evaluator: Evaluator, link: Link, selected: bool) -> tuple[int, tuple[int, ...]]:
    """Return the strongest lag of a link and the lags it acts at."""
    scorer = evaluator.scorer.of_target(link.target)
    lags = scorer.lags(link.source, link.target)
    if len(lags) == 1:
        return lags[0], lags
    transfers = scorer.transfers
    strongest = transfers.strongest(link.source, link.target, link.given).lag
    if not (selected and transfers.estimator.analytic):
        return strongest, lags
    # Of lags that are asked together, those of a chosen link count that say something given the others.
    x, y, z = transfers.variables([link.source], link.target, link.given)
    alpha = 1 - LINK_LEVEL if scorer.score.alpha is None else scorer.score.alpha
    level = (1 - alpha) / len(lags)
    alone = {v.lag: analytic(transfers, [v], y, [*z, *(w for w in x if w != v)]).p_value for v in x}
    return strongest, tuple(lag for lag in lags if alone[lag] <= level or lag == strongest)


def warn_of_loops(series: Series, found: Found, tests: tuple[Candidate, ...]) -> None:
    """Warn if both directions of a link are significant and acyclicity left one of them out."""
    p_values = {(c.source, c.target): c.p_value for c in tests}
    for source, target in found.removed:
        a, b = series.names[source], series.names[target]
        p, p_back = p_values.get((a, b), 1.0), p_values.get((b, a), 1.0)
        both, why, kept = "", "because it closes a loop", "it"
        if target in found.parents[source]:
            both = "both ways significant; " * (p_back <= LEVEL)
            why, kept = f"for {b} -> {a} (p = {p_back:.2g})", "both"
        if p <= LEVEL:
            left_out = f"feedback not allowed: {a} -> {b} (p = {p:.2g}) was left out {why}"
            hazard(f"{both}{left_out}; allow cycles to keep {kept}")


def _max_parents_for(series: Series, score: Score) -> tuple[int, str]:
    """Return how many parents of a node can be estimated from the samples, and the reason."""
    pasts: Pasts = score.embedding or Embedding()
    n = sum(max(0, length - reach(pasts, series.names)) for length in series.lengths)
    table = pasts.table(series.names)
    widths = [max((len(lags) for pair, lags in table.items() if pair[0] != pair[1]), default=1)]
    states = [len(np.unique(column)) for column in series.values.T] if score.estimator.discrete else []
    return score.estimator.max_parents_for(n, widths, states)


def _provenance(series: Series) -> dict[str, Any]:
    from enmesh import __version__

    return {
        "enmesh": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "date": time.strftime("%Y-%m-%d"),
        "data": series.digest,
        "nodes": series.n_nodes,
        "trials": len(series.lengths),
        "samples": int(sum(series.lengths)),
        "dt": series.dt,
        "every": series.every,
        "prepared": list(series.prepared),
        **({"file": series.file} if series.file else {}),
    }
