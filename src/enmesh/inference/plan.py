"""The plan of a run: what every target is scored with, found from the data where the user left it open.

Numbers are asked in three steps. A line and a curve (`Gaussian`, `Regression`) select lagged variables by forward selection,
at every lag and for any number of nodes; each target keeps the one that suits it. Nearest neighbours then judge what
regressions see at a loose level only, and look at all sources of targets of which regressions see nothing, within a budget.
Each target so has one score: that of a regression, or that of neighbours where they find more. All tests that are made of
a link share one level, and p-values say so.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding import Embedding, Lagged, Lags, Pasts, reach
from enmesh.embedding.base import chosen_embedding
from enmesh.embedding.choose import embedding_method
from enmesh.embedding.nonuniform import NonUniform, Past
from enmesh.errors import InputError, hazard
from enmesh.estimators import KSG, Discrete, Estimator, Gaussian, Mixed, Regression
from enmesh.inference.evaluate import Evaluator
from enmesh.inference.evidence import Evidence, curve, prediction_error
from enmesh.inference.rules import NEIGHBOURS, SHARES, TESTS, THRESHOLDS, decided
from enmesh.options import brief, whole
from enmesh.scores import TEA, TEE, Link, PerTarget, Score
from enmesh.search import Independent
from enmesh.search.base import Problem
from enmesh.significance import least_surrogates, warn_of_many_lags
from enmesh.surrogates import Surrogate

# What nearest neighbours are asked in a default run is bounded. A question is one estimate from all samples: about .3 ms
# at 1,000 samples, growing with them. A test that fails asks about 32 surrogates, at every lag.
QUESTIONS_OF_A_TEST, QUESTIONS_OF_A_TARGET = 32, 15_000
# Questions about sources that regressions see loosely only, and about all sources of targets of which they see little.
BEYOND, EXPLORED = 6_000, 60_000
# Questions times samples about what regressions found of nonlinear targets, and of a search by neighbours alone.
JUDGED_SAMPLES, SEARCHED = 150_000_000, 300_000_000
# Samples of the part of a long record on which all sources of a target are looked at.
EXPLORED_SAMPLES = 1500
# Share of the variance that regressions leave of a target of which they see little.
BLIND = 0.9
# Sources of a target, lags of each and of the own past, and variables that are known beforehand, with which neighbours
# are asked at most: their joint space must stay small.
MOST_JUDGED, LAGS_JUDGED, OWN_JUDGED, WIDEST_KNOWN = 6, 2, 2, 6
# Nodes up to which neighbours look for sources by themselves where no other evidence says so.
FEW_NODES = 5

Evaluators = Callable[..., Evaluator]
"""Makes an evaluator of a score, or of a selection of lagged variables, for the series at hand or for another."""


@dataclass
class Choices:
    """What was chosen for the user, and why."""

    entries: list[tuple[str, str, str]] = field(default_factory=list)

    def add(self, what: str, value: Any, reason: str) -> Any:
        """Record a choice and return its value."""
        shown = brief(value) if isinstance(value, Estimator) else str(value)
        self.entries.append((what, shown, reason))
        return value


@dataclass(frozen=True)
class Wanted:
    """What a user asked for, None where it is left to the data."""

    score: Score | str | None = None
    estimator: Estimator | None = None
    alpha: float | None = None
    surrogate: Surrogate | None = None
    n_surrogates: int | None = None
    max_lag: int | None = None
    seed: int = 0
    candidates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Sources that targets may have, where not all others."""


class Plan(NamedTuple):
    """What is searched: a score with its pasts, the sources each target may have, and the embedding criteria.

    ``nulls`` are null distributions of tests that the choice of pasts has made already.
    """

    score: Score
    candidates: tuple[tuple[int, ...], ...] | None = None
    criteria: Mapping[str, Any] = {}
    nulls: Mapping[Link, np.ndarray] = {}


class Regressed(NamedTuple):
    """What one regression found: its score, what was selected, and each target's best sources."""

    score: TEA
    pasts: list[Past]
    sources: tuple[tuple[int, ...], ...]

    def variables(self, target: int) -> list[Lagged]:
        """Return the own past and the lagged variables of the best sources."""
        past = self.pasts[target]
        own = [Lagged(target, lag) for lag in past.own]
        return own + [Lagged(j, lag) for j in self.sources[target] for lag in past.lags[j]]


class Planner:
    """Makes the plan of one run."""

    def __init__(self, series: Series, wanted: Wanted, evaluators: Evaluators, choices: Choices):
        self.series, self.wanted, self.choices = series, wanted, choices
        self.evidence = Evidence(series)
        self._evaluators = evaluators
        pairs = max(1, series.n_nodes * (series.n_nodes - 1))
        usual = max(THRESHOLDS.alpha, round(1 - 1 / pairs, 6))
        self.alpha = usual if wanted.alpha is None else wanted.alpha
        self._nodes = range(series.n_nodes)

    def plan(self) -> Plan:
        """Return the plan: by evidence, or for the score or estimator that was given."""
        wanted = self.wanted
        if wanted.score is None and wanted.estimator is None and wanted.max_lag != 1:
            return self._by_evidence()
        score = wanted.score if isinstance(wanted.score, Score) else self._named_score()
        return self._with_pasts(score)

    # --- what was given -----------------------------------------------------------------------------------------------

    def _named_score(self) -> Score:
        """Return the score that is named, or that suits the estimator that is given; pasts are left open."""
        from enmesh.methods import members

        wanted, cls = self.wanted, None
        if isinstance(wanted.score, str):
            cls = next(
                (
                    c
                    for word, c in members(Score).items()
                    if wanted.score in (getattr(c, "cli_variants", ()) or (word,))
                ),
                None,
            )
        needs_analytic = cls is not None and cls.needs_analytic
        estimator = wanted.estimator or self._one_estimator(
            analytic=needs_analytic, counts=wanted.score == "mit"
        )
        if wanted.score is not None:
            return self._score_by_name(str(wanted.score), estimator)
        sampled = not estimator.analytic or wanted.surrogate is not None or wanted.n_surrogates is not None
        score: Score
        if sampled:
            score = self._sampled(estimator, self.alpha)
            reason = f"{score.n_surrogates} surrogates"  # type: ignore[attr-defined]
        else:
            score = TEA(estimator=estimator, alpha=self.alpha, null="chi2" if estimator.discrete else "shift")
            reason = "its null distribution is known" + (
                "" if estimator.discrete else ", widened for memory and changes of variance"
            )
        pairs = self.series.n_nodes * (self.series.n_nodes - 1)
        if self.alpha > THRESHOLDS.alpha and wanted.alpha is None:
            reason += f"; about one false link is to be expected among {pairs} pairs"
        self.choices.add("score", f"{type(score).__name__}, alpha {self.alpha:g}", reason)
        return score

    def _score_by_name(self, name: str, estimator: Estimator) -> Score:
        """Return a score by its name; what it takes of what was given is given to it, the rest is refused."""
        from enmesh.methods import from_name, resolve

        wanted = self.wanted
        given = {"alpha": wanted.alpha, "surrogate": wanted.surrogate, "n_surrogates": wanted.n_surrogates}
        score = from_name(Score, name, estimator=estimator)
        known = type(score).__dataclass_fields__  # type: ignore[attr-defined]
        idle = [key for key, value in given.items() if value is not None and key not in known]
        if idle:
            raise InputError(f"{', '.join(idle)} has no effect on the score {name}; leave it out")
        if "alpha" in known and wanted.alpha is None:
            given["alpha"] = self.alpha
        if "n_surrogates" in known and wanted.n_surrogates is None:
            given["n_surrogates"] = self._count(float(given["alpha"] or 0.0))
        if "seed" in known:
            given["seed"] = wanted.seed
        if "null" in known and not estimator.discrete:
            given["null"] = "shift"
        fields = {key: value for key, value in given.items() if value is not None}
        return resolve(Score, replace(score, **fields))  # type: ignore[type-var]

    def _one_estimator(self, *, analytic: bool = False, counts: bool = False) -> Estimator:
        """Choose one estimator for all targets: for a score that was named, or for the paper's procedure."""
        evidence, add = self.evidence, self.choices.add
        if evidence.kind == "states" or (counts and self.series.is_integer):
            return add(
                "estimator",
                Discrete(),
                f"states: at most {THRESHOLDS.states} different values in each column",
            )
        if analytic:
            return add(
                "estimator",
                Gaussian(normalise="rank"),
                "numbers, and the score needs a known null distribution",
            )
        if evidence.kind == "mixed":
            return add("estimator", Mixed(), "columns of numbers and of states together")
        if evidence.samples * self.series.n_nodes**2 > THRESHOLDS.neighbour_work:
            why = "one estimator for all targets, and nearest neighbours of so many samples and nodes take hours"
            return add("estimator", Gaussian(normalise="rank"), why)
        rule = decided(NEIGHBOURS, evidence)
        return add("estimator", rule.choice(evidence), rule.reason)

    def _with_pasts(self, score: Score) -> Plan:
        """Return a score with its pasts, found from the data where they are left open."""
        wanted = self.wanted
        if score.embedding is not None:
            if wanted.max_lag is not None:
                raise InputError("max_lag and an embedding are both given; leave one of them out")
            return Plan(score)
        if wanted.max_lag == 1:
            return self._self_predicted(score)
        method = self._method(score.estimator, getattr(score, "alpha", self.alpha), self._reach(), score)
        pasts = self._selected(method)
        self._note_lags([(i, past, past.sources) for i, past in enumerate(pasts)])
        selected = score.embedded(method.lags(pasts, self.series.names))
        return Plan(selected, tuple(past.sources for past in pasts), nulls=_nulls(selected, pasts))

    def _self_predicted(self, score: Score) -> Plan:
        """Return the paper's procedure: kappa and tau of each node from its own series, sources at lag 1."""
        method = embedding_method(score.estimator)
        tables = method.tables(self.series)
        embedding = chosen_embedding(tables)
        words = _embedding_words(embedding, self.series.names)
        self.choices.add("embedding", words, f"{type(method).__name__}, from each node's own past")
        return Plan(
            score.embedded(embedding), None, {name: table.to_dict() for name, table in tables.items()}
        )

    # --- by evidence --------------------------------------------------------------------------------------------------

    def _by_evidence(self) -> Plan:
        """Choose tests, estimators and pasts from the data."""
        evidence = self.evidence
        rule = decided(TESTS, evidence)
        if rule.choice in (("counts",), ("mixed",)):
            estimator: Estimator = Discrete() if rule.choice == ("counts",) else Mixed()
            self.choices.add("estimator", estimator, rule.reason)
            return replaced(self, estimator=estimator)
        if rule.choice == ("neighbours",) and self._affordable():
            return self._neighbours_alone(rule.reason)
        tests = ("line", "curve", "neighbours") if rule.choice == ("neighbours",) else rule.choice
        alphas = {test: round(1 - share * (1 - self.alpha), 9) for test, share in SHARES[tests].items()}
        far = self._reach()
        line = self._regressed(Gaussian(normalise="rank"), alphas["line"], far)
        found, picked = [line], [0] * self.series.n_nodes
        if "curve" in tests:
            found.append(self._regressed(Regression(features="quadratic"), alphas["curve"], far))
            picked = [int(self._prefers_curve(i, *found)) for i in self._nodes]
        plan = Targets(self.series, found, picked)
        if "neighbours" in tests:
            judge(self, plan, alphas["neighbours"], everyone=evidence.smooth)
            if not evidence.smooth:
                look_beyond(self, plan, alphas["neighbours"], far)
        self._note(rule.reason, plan.scores, alphas)
        self._note_lags([(i, plan.pasts[i], plan.candidates[i]) for i in self._nodes])
        score = PerTarget(dict(zip(self.series.names, plan.scores)), alpha=self.alpha)
        return Plan(score, tuple(map(tuple, plan.candidates)), nulls=plan.nulls)

    def _affordable(self) -> bool:
        """Whether neighbours can look for sources by themselves, among all lags of all nodes."""
        evidence = self.evidence
        return evidence.samples * evidence.nodes * QUESTIONS_OF_A_TARGET <= SEARCHED and (
            evidence.nearly_deterministic or evidence.nodes <= FEW_NODES
        )

    def _neighbours_alone(self, reason: str) -> Plan:
        """Return the plan for smooth series: neighbours look for sources by themselves."""
        evidence = self.evidence
        how = decided(NEIGHBOURS, evidence)
        estimator = self.choices.add("estimator", how.choice(evidence), f"{reason}; {how.reason}")
        few = self.wanted.max_lag is None and evidence.samples < THRESHOLDS.few_smooth
        if few:
            why = f"smooth, and {evidence.samples} samples are too few to tell lags apart"
            self.choices.add("max_lag", 1, why)
        return replaced(self, estimator=estimator, **({"max_lag": 1} if few else {}))

    def _reach(self) -> int:
        """Return the largest lag that is looked at: as given, or the usual one, or as far as the record bears.

        The record is looked at as far as it bears where a line finds a source beyond the usual lag at a tenth of the
        level.
        """
        given, evidence = self.wanted.max_lag, self.evidence
        if given is not None:
            most = max(1, min(max(self.series.lengths) - 2, evidence.samples // 4))
            return min(whole("max_lag", given, 1), most)
        farthest = evidence.farthest_lag
        usual = min(THRESHOLDS.usual_lag, farthest)
        if evidence.kind != "numbers" or evidence.smooth or farthest == usual:
            why = (
                "usual; max_lag looks further"
                if usual == THRESHOLDS.usual_lag
                else "as far as the samples bear"
            )
            return self.choices.add("max_lag", usual, why)
        strict = round(1 - (1 - self.alpha) / 10, 9)
        pasts = self._selected(self._method(Gaussian(normalise="rank"), strict, farthest))
        straight = [past for past, bend in zip(pasts, evidence.curvature) if bend >= THRESHOLDS.clearly]
        last = max((lag for past in straight for j in past.sources for lag in past.lags[j]), default=1)
        if last > usual:
            return self.choices.add(
                "max_lag", farthest, f"a line finds a source at lag {last}; the record bears so many"
            )
        return self.choices.add(
            "max_lag", usual, f"usual; a line finds no source at lags up to {farthest} beyond it"
        )

    def _method(self, estimator: Estimator, alpha: float, max_lag: int, score: Any = None) -> NonUniform:
        """Return the selection of lagged variables that suits an estimator, sampled as a score is."""
        sampling: dict[str, Any] = {}
        if not estimator.analytic or isinstance(score, TEE):
            sampling = {"surrogate": getattr(score, "surrogate", None), "seed": self.wanted.seed}
            sampling = {key: value for key, value in sampling.items() if value is not None}
            sampling["n_surrogates"] = self._count(max(alpha, 0.5))
        return NonUniform(
            max_lag=max_lag,
            estimator=estimator,
            alpha=min(max(alpha, 0.5), 1 - 1e-12),
            candidates=self.wanted.candidates,
            **sampling,
        )

    def _selected(
        self, method: NonUniform, targets: Iterable[int] | None = None, series: Series | None = None
    ) -> list[Past]:
        """Select the lagged variables of targets, by the workers of the run."""
        if method.count:
            warn_of_many_lags(method.max_lag, self.evidence.samples)
        with self._evaluators(method, series) as evaluate:
            return evaluate.pasts(self._nodes if targets is None else targets)

    def _count(self, alpha: float) -> int:
        given = self.wanted.n_surrogates
        return given if given is not None else max(THRESHOLDS.surrogates, least_surrogates(alpha))

    def _sampled(self, estimator: Estimator, alpha: float, pasts: Pasts | None = None) -> TEE:
        how = {} if self.wanted.surrogate is None else {"surrogate": self.wanted.surrogate}
        count, seed = self._count(alpha), self.wanted.seed
        return TEE(estimator=estimator, embedding=pasts, alpha=alpha, n_surrogates=count, seed=seed, **how)

    def _regressed(self, estimator: Estimator, alpha: float, far: int) -> Regressed:
        """Select lagged variables by a regression, and find each target's best sources among them."""
        method = self._method(estimator, alpha, far)
        pasts = self._selected(method)
        score = TEA(
            estimator=estimator, embedding=method.lags(pasts, self.series.names), alpha=alpha, null="shift"
        )
        candidates = tuple(past.sources for past in pasts)
        with self._evaluators(score) as evaluate:
            limit = max(THRESHOLDS.few_parents, *map(len, candidates))
            problem = Problem(
                n_nodes=self.series.n_nodes,
                max_parents=min(limit, self.series.n_nodes - 1),
                acyclic=False,
                candidates=candidates,
                bounds=evaluate.scorer.bounds(candidates),
            )
            return Regressed(score, pasts, Independent().run(evaluate, problem).parents)

    def _prefers_curve(self, target: int, line: Regressed, bent: Regressed) -> bool:
        """Whether a target is left to the curve.

        It is where a curve through the own past predicts clearly better than a line, which cannot condition such
        dynamics away; otherwise where the curve finds all that the line finds and more; where neither finds all of the
        other's, the one that predicts better out of sample.
        """
        if self.evidence.curvature[target] < THRESHOLDS.clearly:
            return True
        straight, curved = set(line.sources[target]), set(bent.sources[target])
        if straight >= curved or curved > straight:
            return curved > straight
        return self.error(target, bent, curve) < self.error(target, line)

    def error(
        self, target: int, found: Regressed, features: Callable[[np.ndarray], np.ndarray] = lambda x: x
    ) -> float:
        """Return the error of predicting a target out of sample from what a regression found."""
        y, x = self.evidence.rows(target, found.variables(target))
        step = max(1, len(y) // THRESHOLDS.enough_samples)
        return prediction_error(features(x[::step]), y[::step])

    # --- words --------------------------------------------------------------------------------------------------------

    def _note(self, reason: str, scores: Sequence[Score], alphas: Mapping[str, float]) -> None:
        """Record which test each target was left to, and at which level."""
        by_score: dict[Score, list[str]] = {}
        for name, score in zip(self.series.names, scores):
            by_score.setdefault(score, []).append(name)
        for score, names in by_score.items():
            who = "all targets" if len(names) == len(scores) else _listed(names)
            if len(alphas) > 1:
                self.choices.add("estimator", f"{brief(score.estimator)} for {who}", reason)
        words = "; ".join(f"{type(s).__name__}, alpha {s.alpha:g}" for s in by_score)  # type: ignore[attr-defined]
        level = f"{1 - self.alpha:.2g}"
        pairs = self.series.n_nodes * (self.series.n_nodes - 1)
        shared = (
            f"{len(alphas)} tests share the level of {level}" if len(alphas) > 1 else f"a level of {level}"
        )
        if self.alpha > THRESHOLDS.alpha and self.wanted.alpha is None:
            shared += f", at which about one false link is to be expected among {pairs} pairs"
        self.choices.add("score", words, shared)

    def _note_lags(self, found: Sequence[tuple[int, Past, Sequence[int]]]) -> None:
        """Record the selected lags: of few targets one by one, of many as a range."""
        names = self.series.names
        if len(names) <= 6:
            words = "; ".join(
                f"{names[i]}: own {_numbers(past.own)}"
                + "".join(f", {names[j]} {_numbers(past.lags[j])}" for j in sources)
                for i, past, sources in found
            )
        else:
            lags = sorted({lag for _, past, sources in found for j in sources for lag in past.lags[j]})
            words = f"sources at lags {lags[0]} to {lags[-1]}" if lags else "no source was selected"
        self.choices.add("lags", words, "forward selection, tested as selected")


class Targets:
    """What every target is left to so far: its score, what was selected for it, and the sources it may have."""

    def __init__(self, series: Series, found: Sequence[Regressed], picked: Sequence[int]):
        self.series, self.found, self.picked = series, found, picked
        nodes = range(series.n_nodes)
        self.scores: list[Score] = [found[picked[i]].score for i in nodes]
        self.pasts = [found[picked[i]].pasts[i] for i in nodes]
        self.candidates = [self.pasts[i].sources for i in nodes]
        self.nulls: dict[Link, np.ndarray] = {}

    def regressed(self, target: int) -> Regressed:
        """Return the regression that a target was left to."""
        return self.found[self.picked[target]]

    def sources(self, target: int) -> set[int]:
        """Return the sources that the regression of a target found."""
        return set(self.regressed(target).sources[target])

    def seen(self, target: int) -> dict[int, tuple[int, ...]]:
        """Return all sources that any regression sees, with their lags: those found first, then those seen loosely."""
        lags: dict[int, tuple[int, ...]] = {}
        picked_first = sorted(self.found, key=lambda one: one is not self.regressed(target))
        for one in picked_first:
            lags |= {j: one.pasts[target].lags[j] for j in one.sources[target] if j not in lags}
        for one in picked_first:
            past = one.pasts[target]
            lags |= {j: past.lags[j] for j in (*past.sources, *past.further) if j not in lags}
        return lags

    def take(self, target: int, score: Score, past: Past, candidates: Iterable[int]) -> None:
        """Leave a target to another score."""
        self.scores[target], self.pasts[target], self.candidates[target] = score, past, tuple(candidates)


def judge(planner: Planner, plan: Targets, alpha: float, *, everyone: bool) -> None:
    """Let nearest neighbours judge what regressions see of targets that are clearly not linear, lags as selected.

    Of a flow, a curve sees what acts indirectly within one step, and no noise hides it. Where neighbours keep at least
    half of what the regression found they decide, otherwise they are too weak here. ``everyone`` asks them of all targets.
    """
    evidence, series = planner.evidence, planner.series
    nonlinear = {}
    for i in range(series.n_nodes):
        clear = 0.0 if everyone else _gain_of_curve(planner, plan, i)
        seen = {j: lags[:LAGS_JUDGED] for j, lags in list(plan.seen(i).items())[:MOST_JUDGED]}
        if clear < THRESHOLDS.clearly and seen:
            nonlinear[i] = clear, seen
    left, judged = JUDGED_SAMPLES, {}
    count = planner._count(alpha)
    for i, (_, seen) in sorted(nonlinear.items(), key=lambda item: (item[1][0], item[0])):
        cost = 4 * len(seen) * count * evidence.samples
        if cost <= left:
            judged[i], left = seen, left - cost
    if nonlinear:
        words = f"{len(judged)} of {len(nonlinear)} targets that are not linear"
        why = "what regressions see of them, lags as selected" + "; more would take too long" * (
            len(judged) < len(nonlinear)
        )
        planner.choices.add("neighbours", words, why)
    if not judged:
        return
    pasts = {
        i: plan.pasts[i]._replace(lags=_lags_by_node(seen, series.n_nodes)) for i, seen in judged.items()
    }
    lags = {(series.names[i], series.names[i]): past.own[:OWN_JUDGED] for i, past in pasts.items()}
    lags |= {
        (series.names[j], series.names[i]): found for i, seen in judged.items() for j, found in seen.items()
    }
    score = planner._sampled(KSG(normalise="rank"), alpha, Lags(lags))
    candidates = tuple(tuple(sorted(judged.get(i, ()))) for i in range(series.n_nodes))
    with planner._evaluators(score) as evaluate:
        problem = Problem(
            n_nodes=series.n_nodes,
            max_parents=min(MOST_JUDGED, series.n_nodes - 1),
            acyclic=False,
            candidates=candidates,
            superfluous=evaluate.superfluous,
        )
        kept = Independent().run(evaluate, problem).parents
        nulls = evaluate.nulls()
    for i in judged:
        if everyone or 2 * len(kept[i]) >= len(plan.sources(i)):
            plan.take(
                i, score, pasts[i]._replace(own=pasts[i].own[:OWN_JUDGED], sources=kept[i]), candidates[i]
            )
    plan.nulls |= {link: null for link, null in nulls.items() if plan.scores[link.target] is score}


def _gain_of_curve(planner: Planner, plan: Targets, target: int) -> float:
    """Return the error of predicting a target by a curve through what regressions found, as a share of a line's."""
    if not plan.picked[target] or not plan.sources(target):
        return 1.0
    return planner.error(target, plan.regressed(target), curve) / planner.error(
        target, plan.regressed(target)
    )


def _lags_by_node(seen: Mapping[int, tuple[int, ...]], nodes: int) -> tuple[tuple[int, ...], ...]:
    return tuple(seen.get(j, (1,)) for j in range(nodes))


def look_beyond(planner: Planner, plan: Targets, alpha: float, far: int) -> None:
    """Let nearest neighbours look for sources beyond what the regressions of targets found.

    They test sources that a regression sees loosely only, or that the other regression found; and all sources of targets
    of which regressions leave nearly everything unexplained, on a part of a long record. A target for which they find
    more than its regression is theirs.
    """
    series, evidence = planner.series, planner.evidence
    estimator = decided(NEIGHBOURS, evidence).choice(evidence)
    open_ = [i for i in range(series.n_nodes) if plan.scores[i] is plan.regressed(i).score]
    narrow = [i for i in open_ if len(plan.regressed(i).variables(i)) <= WIDEST_KNOWN]
    loose = {i: [j for j in plan.seen(i) if j not in plan.sources(i)] for i in narrow}
    blind = [i for i in narrow if _is_blind(planner, plan, i)]
    asked, explored = _within_budget(planner, loose, blind, far)

    def look(some: Mapping[int, Sequence[int]], record: Series) -> dict[int, Past]:
        if not some:
            return {}
        known, candidates, names = [], {}, series.names
        for i, sources in some.items():
            variables = plan.regressed(i).variables(i)
            known += [(names[v.node], names[i], v.lag) for v in variables if v.node != i]
            candidates[names[i]] = tuple(names[j] for j in sorted({*sources, *plan.sources(i)}))
        method = planner._method(estimator, alpha, far)
        method = replace(method, known=tuple(known), candidates=candidates)
        return dict(zip(some, planner._selected(method, some, record)))

    pasts = look(asked, series) | look(explored, _part(series))
    more = {i: past for i, past in pasts.items() if len(past.sources) > len(plan.sources(i))}
    score = planner._sampled(estimator, alpha, _lags_of(more, series.names, far))
    for i, past in more.items():
        plan.take(i, score, past, past.sources)
        if i in asked:
            plan.nulls |= {
                Link(source, i, given): null
                for source, given, null in past.nulls
                if len(null) == score.n_surrogates
            }


def _is_blind(planner: Planner, plan: Targets, target: int) -> bool:
    """Whether the regression leaves nearly all of a target unexplained, own past included."""
    one = plan.regressed(target)
    y, _ = planner.evidence.rows(target, one.variables(target))
    features = curve if plan.picked[target] else lambda x: x
    return planner.error(target, one, features) >= BLIND * float(np.var(y))


def _within_budget(
    planner: Planner, loose: Mapping[int, list[int]], blind: Sequence[int], far: int
) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Return whose loosely seen sources are tested, and whose are all looked at, as far as the budgets go."""
    names, of_source = planner.series.names, QUESTIONS_OF_A_TEST * far
    of_target = (3 * far + of_source // 5) * len(names)
    explored = {
        i: [
            j
            for j in range(len(names))
            if j != i and names[j] in planner.wanted.candidates.get(names[i], names)
        ]
        for i in list(blind)[: EXPLORED // of_target]
    }
    rest = {i: sources for i, sources in loose.items() if i not in explored}
    ranked = sorted((rank, i, j) for i, sources in rest.items() for rank, j in enumerate(sources))
    asked: dict[int, list[int]] = {}
    for _, i, j in ranked[: BEYOND // of_source]:
        asked.setdefault(i, []).append(j)
    tested = sum(map(len, asked.values()))
    limits = [f"{len(ranked) - tested} less promising ones are left out"] * (tested < len(ranked))
    limits += [f"{len(blind) - len(explored)} targets are left out"] * (len(explored) < len(blind))
    if explored and planner.evidence.samples > EXPLORED_SAMPLES:
        limits.append(f"selected on {EXPLORED_SAMPLES} samples, tested on all")
    words = f"{tested} sources that regressions see loosely; all sources of {len(explored)} targets of which they see little"
    planner.choices.add("neighbours", words, "; ".join(limits) or "beyond what regressions found")
    return asked, explored


def _part(series: Series) -> Series:
    """Return the last samples of a long record, on which much can be asked."""
    if sum(series.lengths) <= EXPLORED_SAMPLES:
        return series
    kept, left = [], EXPLORED_SAMPLES
    for trial in reversed(series.trials):
        kept.append(trial[-left:])
        left -= len(kept[-1])
        if left <= 0:
            break
    return Series(list(reversed(kept)), names=series.names, dt=series.dt)


def _lags_of(pasts: Mapping[int, Past], names: Sequence[str], far: int) -> Lags:
    """Return the lags of some targets' own pasts and sources."""
    found = {(names[i], names[i]): past.own for i, past in pasts.items()}
    found |= {(names[j], names[i]): past.lags[j] for i, past in pasts.items() for j in past.sources}
    return Lags(found, searched=far)


def _nulls(score: Score, pasts: Sequence[Past]) -> dict[Link, np.ndarray]:
    """Return the null distributions that the selection has made and the score needs, if it samples in the same way."""
    count = getattr(score, "n_surrogates", 0)
    return {
        Link(source, target, given): null
        for target, past in enumerate(pasts)
        for source, given, null in past.nulls
        if len(null) == count
    }


def replaced(planner: Planner, **wanted: Any) -> Plan:
    """Return the plan for other wishes, with the same evidence and choices."""
    changed = replace(planner.wanted, **wanted)
    planner.wanted = changed
    return planner._with_pasts(planner._named_score())


def bearable_parents(series: Series, score: Score) -> tuple[int, str]:
    """Return how many parents of a node can be estimated from the samples, and the reason."""
    parts = [part for _, part in score.scores] if isinstance(score, PerTarget) else [score]
    found = []
    for part in dict.fromkeys(parts):
        pasts: Pasts = part.embedding or Embedding()
        n = sum(max(0, length - reach(pasts, series.names)) for length in series.lengths)
        table = pasts.table(series.names)
        widths = [max(len(lags) for pair, lags in table.items() if pair[0] != pair[1])]
        states = [len(np.unique(column)) for column in series.values.T] if part.estimator.discrete else []
        found.append(part.estimator.bearable_parents(n, widths, states))
    return min(found)


def warn_of_last_lag(links: Iterable[tuple[str, str, int]], far: int) -> None:
    """Warn of links at the largest lag that was looked at: they may reach further."""
    last = [f"{source} -> {target}" for source, target, lag in links if lag == far]
    if last and far > 1:
        hazard(
            f"{_listed(last)} at lag {far}, the largest that was looked at; a larger max_lag may show more"
        )


def _numbers(lags: tuple[int, ...]) -> str:
    return ", ".join(map(str, lags))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def _embedding_words(embedding: Embedding, names: tuple[str, ...]) -> str:
    """Return dims and delays of a few nodes one by one, of many as ranges."""
    per = embedding.per_node(names)
    if len(names) <= 6:
        return ", ".join(f"{name}: dim {k} delay {t}" for name, k, t in zip(names, per["dim"], per["delay"]))
    ranges = {what: sorted(set(per[what])) for what in ("dim", "delay")}
    return ", ".join(
        f"{what} {found[0]}" + f" to {found[-1]}" * (len(found) > 1) for what, found in ranges.items()
    )
