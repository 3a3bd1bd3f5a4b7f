"""The plan of a run: what every target is scored with, found from the data where the user left it open.

Numbers are asked in three steps. A line and a curve (`Gaussian`, `Regression`) select lagged variables by forward
selection, at every lag and for any number of nodes; each target keeps the one that suits it. Nearest neighbours then
judge what regressions see at a loose level only, and look at all sources of targets of which regressions see nothing,
within a budget. Each target so has one score: that of a regression, or that of neighbours where they find more. All
tests that are made of a link share one level, and p-values say so.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding import Embedding, Lagged
from enmesh.embedding.base import chosen_embedding
from enmesh.embedding.choose import embedding_method
from enmesh.embedding.nonuniform import NonUniform, Past
from enmesh.errors import InputError, first_few, hazard
from enmesh.estimators import Discrete, Estimator, Gaussian, Mixed, Regression
from enmesh.estimators.scaling import normal_scores
from enmesh.inference.beyond import Regressed, Targets, confirm, look_beyond, nulls_of
from enmesh.inference.evaluate import Evaluator
from enmesh.inference.evidence import Evidence, Scale, curve, prediction_error
from enmesh.inference.rules import NEIGHBOURS, SHARES, TARGETS, TESTS, THRESHOLDS, decided
from enmesh.inference.wanted import Choices, Scores, Wanted
from enmesh.inference.work import Best
from enmesh.measures import Indices
from enmesh.options import brief, whole
from enmesh.scores import TEA, TEE, Link, PerTarget, Score
from enmesh.scores.shift_null import LineNull
from enmesh.significance import Sampling, Significance, by_formula, by_surrogates, warn_of_many_lags
from enmesh.tasks import run, single_thread

# What each regression found, with the best sources of targets; and which regression each target is left to.
Regressions = tuple[list[tuple[Regressed, dict[int, Best]]], list[int]]


class Plan(NamedTuple):
    """What is searched: a score with its pasts, the sources each target may have, and the embedding criteria."""

    score: Score
    candidates: tuple[tuple[int, ...], ...] | None = None
    criteria: Mapping[str, Any] = {}
    nulls: Mapping[Link, np.ndarray] = {}  # of tests that the choice of pasts has made already
    best: Mapping[int, Best] = {}  # what the scores of targets have computed already


class Planner(Scores):
    """Makes the plan of one run; ``evaluators(score, series)`` makes an evaluator of a score or a selection of lags."""

    evaluators: Any = Evaluator

    def plan(self) -> Plan:
        """Return the plan: by evidence, or for the score or estimator that was given."""
        wanted = self.wanted
        given = wanted.score is not None or wanted.estimator is not None or wanted.embedding is not None
        if not given and wanted.max_lag != 1:
            return self._by_evidence()
        score = self.one()
        return self._with_pasts(score if wanted.embedding is None else score.embedded(wanted.embedding))

    def _with_estimator(self, estimator: Estimator) -> Plan:
        """Return the plan for an estimator that was chosen."""
        self.wanted = replace(self.wanted, estimator=estimator)
        return self._with_pasts(self.one())

    def _with_pasts(self, score: Score) -> Plan:
        """Return a score with its pasts, found from the data where they are left open."""
        wanted, names = self.wanted, self.series.names
        if score.embedding is not None:
            if wanted.max_lag is not None:
                raise InputError("max_lag and an embedding are both given; leave one of them out")
            return Plan(score)
        if wanted.max_lag == 1:
            return self._self_predicted(score)
        alpha = self.alpha if score.alpha is None else score.alpha
        method = self.method(score.estimator, alpha, self._reach(), score)
        pasts = self.selected(method)
        self._note_lags([(i, past, past.sources) for i, past in enumerate(pasts)])
        selected, candidates = score.embedded(method.lags(pasts, names)), tuple(p.sources for p in pasts)
        return Plan(selected, candidates, nulls=nulls_of(selected, dict(enumerate(pasts))))

    def _self_predicted(self, score: Score) -> Plan:
        """Return the paper's procedure: kappa and tau of each node from its own series, sources at lag 1."""
        method = embedding_method(score.estimator)
        tables = method.tables(self.series)
        embedding = chosen_embedding(tables)
        words = _embedding_words(embedding, self.series.names)
        self.choices.add("embedding", words, f"{type(method).__name__}, from each node's own past")
        criteria = {name: table.to_dict() for name, table in tables.items()}
        return Plan(score.embedded(embedding), None, criteria)

    def _by_evidence(self) -> Plan:
        """Choose tests, estimators and pasts from the data."""
        evidence = self.evidence
        rule = decided(TESTS, evidence)
        if rule.choice in ("counts", "mixed"):
            estimator: Estimator = Discrete() if rule.choice == "counts" else Mixed()
            self.choices.add("estimator", estimator, rule.reason)
            return self._with_estimator(estimator)
        if rule.choice == "neighbours":
            how = decided(NEIGHBOURS, evidence)
            estimator = self.choices.add("estimator", how.choice(evidence), f"{rule.reason}; {how.reason}")
            # Where samples are few the largest lag is 1: the paper's procedure.
            self.wanted = replace(self.wanted, max_lag=self._reach())
            return self._with_estimator(estimator)
        of_target = {i: decided(TARGETS, evidence, i).choice for i in self._nodes if rule.choice == "all"}
        shares = [of_target.get(i) or SHARES[rule.choice] for i in self._nodes]
        far = self._reach()
        regressed = self._at_suitable_level if rule.choice == "all" else self._regressions
        made, picked = regressed(shares, far)
        targets = Targets([one for one, _ in made], picked)
        if rule.choice != "line" and evidence.searchable and evidence.samples >= THRESHOLDS.few_smooth:
            confirm(self, targets)
        if rule.choice == "all":
            look_beyond(self, targets, far)
        self._note(rule.reason, targets.scores, shares)
        self._note_lags([(i, targets.pasts[i], targets.candidates[i]) for i in self._nodes])
        score = PerTarget(dict(zip(self.series.names, targets.scores)), alpha=self.alpha)
        left = [i for i in self._nodes if targets.scores[i] is targets.regressed[i].scores[i]]
        best = {i: made[picked[i]][1][i] for i in left if i in made[picked[i]][1]}
        return Plan(score, tuple(map(tuple, targets.candidates)), nulls=targets.nulls, best=best)

    def _at_suitable_level(self, shares: Sequence[Mapping[str, float]], far: int) -> Regressions:
        """Return what regressions find at the level, doubled as long as most links that this adds are no chance.

        At the level of a large network chance adds one link or so; where twice the level adds several times as many,
        weak links are many, and most of those that are added are true (a small local false discovery rate).
        """
        usual, found = self.alpha, self._regressions(shares, far)
        while self.wanted.alpha is None and (twice := 2 * (1 - usual)) <= 1 - THRESHOLDS.alpha:
            enough = THRESHOLDS.added * twice / 2 * self._pairs
            if self._refused_nearly(found) < enough:
                break
            self.alpha = round(1 - twice, 12)
            looser = self._regressions(shares, far)
            if _links(looser) - _links(found) < enough:
                self.alpha = usual
                break
            usual, found = self.alpha, looser
        return found

    def _refused_nearly(self, found: Regressions) -> int:
        """Return for how many targets a variable was refused that an F test at twice the level would take."""
        made, picked = found
        alphas = [[score.alpha for score in regressed.scores] for regressed, _ in made]
        refused = [[past.refused for past in regressed.pasts] for regressed, _ in made]
        return sum(refused[k][i] <= 2 * (1 - alphas[k][i]) for i, k in enumerate(picked))

    def _regressions(self, shares: Sequence[Mapping[str, float]], far: int) -> Regressions:
        """Return what lines and curves find at the level, and which of them each target is left to."""
        line = self._line
        made = [self._regressed(line, self._alphas(shares, "line"), far)]
        if (order := self._order(far)) > 1:
            made.append(self._regressed(line, self._alphas(shares, "line"), order, together=True))
        found = [one for one, _ in made]
        picked = [self._picked(i, found) for i in self._nodes]
        if any("curve" in one for one in shares):
            curve = Regression(features="quadratic")
            # A curve that selects no more than a line finds is not picked, unless the own past is clearly curved.
            known = [found[picked[i]].sources[i] if not self._clearly_curved(i) else () for i in self._nodes]
            made.append(self._regressed(curve, self._alphas(shares, "curve"), far, known=known))
            found.append(made[-1][0])
            picked = [self._picked(i, found) for i in self._nodes]
        return made, picked

    def _alphas(self, shares: Sequence[Mapping[str, float]], test: str) -> list[float]:
        """Return the confidence level of a test of every target; 0 where the test is not made."""
        split = 2 if test == "line" and self._order(THRESHOLDS.most_lags) > 1 else 1
        level = 1 - self.alpha
        at = [one[test] / split * level if test in one else 1.0 for one in shares]
        return [max(self.alpha, round(1 - one, 12)) if one < 1 else 0.0 for one in at]

    @property
    def _line(self) -> Gaussian:
        return Gaussian(normalise="rank" if self.evidence.scale is normal_scores else "zscore")

    def _order(self, far: int) -> int:
        """Return how many lags of every source a line takes together: the own memory of the node in the middle."""
        return 1 if self.evidence.smooth else min(far, int(np.median(self.evidence.memory)))

    def _reach(self) -> int:
        """Return the largest lag that is looked at: as given, or the usual one, or as far as the record bears."""
        given, evidence = self.wanted.max_lag, self.evidence
        if given is not None:
            most = max(1, min(max(self.series.lengths) - 2, evidence.samples // 4))
            return min(whole("max_lag", given, 1), most)
        farthest = evidence.farthest_lag
        usual = lag = min(THRESHOLDS.usual_lag, farthest)
        if evidence.smooth and evidence.samples < THRESHOLDS.few_smooth:
            lag, why = 1, f"smooth, and {evidence.samples} samples are too few to tell lags apart"
        elif farthest == usual < THRESHOLDS.usual_lag:
            why = "as far as the samples bear"
        elif evidence.kind != "numbers" or evidence.smooth or farthest == usual:
            why = "usual; max_lag looks further"
        else:  # further where a line finds a source beyond the usual lag at a tenth of the level
            last = self._last(usual, farthest)
            why = f"usual; a line finds no source at lags up to {farthest} beyond it"
            if last > usual:
                lag, why = farthest, f"a line finds a source at lag {last}; the record bears so many"
        return self.choices.add("max_lag", lag, why)

    def _last(self, usual: int, farthest: int) -> int:
        """Return the largest lag at which a line finds a source and nearer lags do not say as much."""
        strict = self.method(self._line, round(1 - (1 - self.alpha) / 10, 12), farthest)
        straight = np.flatnonzero(self.evidence.curvature >= THRESHOLDS.clearly).tolist()
        pasts = zip(straight, self.selected(strict, straight))
        lags = [(i, Lagged(j, lag)) for i, past in pasts for j in past.sources for lag in past.lags[j]]
        if not (far := [(i, variable) for i, variable in lags if variable.lag > usual]):
            return 1
        targets = sorted({i for i, _ in far})
        nearer = dict(zip(targets, self.selected(self.method(self._line, self.alpha, usual), targets)))
        null, level = LineNull(strict.bind(self.series).blocks), (1 - strict.alpha) / farthest

        def given(target: int, node: int) -> list[Lagged]:  # what nearer lags say, those of the node too
            past = nearer[target]
            known = {j: past.lags[j] for j in (*past.sources, node)} | {target: past.own}
            return [Lagged(j, lag) for j in sorted(known) for lag in known[j]]

        lasting = (v.lag for i, v in far if null.p_value(i, v, given(i, v.node)) <= level)
        return max(lasting, default=1)

    def method(
        self, estimator: Estimator, alpha: float, lags: int, score: Any = None, **how: Any
    ) -> NonUniform:
        """Return the selection of lagged variables that suits an estimator, sampled as a score is."""
        alpha = max(alpha, 0.5)
        if not estimator.analytic or isinstance(score, TEE):
            how |= {"seed": self.wanted.seed, "n_surrogates": self.count(alpha)}
            how |= {"surrogate": score.surrogate} if hasattr(score, "surrogate") else {}
        how = {"candidates": self.wanted.candidates} | how
        return NonUniform(max_lag=lags, estimator=estimator, alpha=min(alpha, 1 - 1e-12), **how)

    def selected(
        self, method: NonUniform, targets: Iterable[int] | None = None, series: Series | None = None
    ) -> list[Past]:
        """Select the lagged variables of targets, by the workers of the run."""
        if method.count:
            warn_of_many_lags(method.max_lag, self.evidence.samples)
        with self.evaluators(method, self.series if series is None else series) as evaluate:
            return evaluate.pasts(self._nodes if targets is None else targets)

    def _regressed(
        self,
        estimator: Estimator,
        alphas: Sequence[float],
        far: int,
        *,
        together: bool = False,
        known: Sequence[Sequence[int]] = (),
    ) -> tuple[Regressed, dict[int, Best]]:
        """Select lagged variables by a regression, and find each target's best sources among them.

        Best sources are not looked for, and none are named, where all that was selected of a target is ``known``.
        """
        loosest = min(filter(None, alphas), default=self.alpha)
        method = self.method(estimator, loosest, far, together=together)
        pasts = self.selected(method)
        names, lags = self.series.names, method.lags(pasts, self.series.names)
        selected = {names[i]: tuple(names[j] for j in past.sources) for i, past in enumerate(pasts)}
        score = TEA(estimator=estimator, embedding=lags, null="shift", selected=selected)
        scores = {alpha: replace(score, alpha=alpha) for alpha in {*alphas}}
        best: dict[int, Best] = {}
        asked = [i for i in self._nodes if not known or not {*pasts[i].sources} <= {*known[i]}]
        for alpha in sorted({*alphas} - {0.0}):
            with self.evaluators(scores[alpha], self.series) as evaluate:
                best |= evaluate.best({i: pasts[i].sources for i in asked if alphas[i] == alpha})
        sources = [best[i].parents if i in best else () for i in self._nodes]
        return Regressed([scores[alpha] for alpha in alphas], pasts, sources), best

    def _picked(self, target: int, found: Sequence[Regressed]) -> int:
        """Return which regression a target is left to.

        It is the curve where a curve through the own past predicts clearly better than a line, which cannot condition
        such dynamics away; otherwise a curve that finds all that a line finds and more. Of two lines, and where neither
        finds all of the other's, the one that predicts better out of sample; the simpler one where they find the same.
        """
        curve = isinstance(found[-1].scores[target].estimator, Regression)
        if curve and self._clearly_curved(target):
            return len(found) - 1
        best = 0
        for k in range(1, len(found)):
            mine, other = set(found[best].sources[target]), set(found[k].sources[target])
            curved = isinstance(found[k].scores[target].estimator, Regression)
            if mine == other or (curved and mine > other):
                continue
            if (curved and other > mine) or self.error(target, found[k]) < self.error(target, found[best]):
                best = k
        return best

    def _clearly_curved(self, target: int) -> bool:
        """Whether a curve through the own past predicts clearly better than a line."""
        return bool(self.evidence.curvature[target] < THRESHOLDS.clearly)

    def error(self, target: int, found: Regressed, scale: Scale | None = None) -> float:
        """Return the error of predicting a target out of sample from what a regression found, on the scale of lines."""
        y, x = self.evidence.rows(target, found.variables(target), scale or self.evidence.scale)
        step = max(1, len(y) // THRESHOLDS.enough_samples)
        curved = isinstance(found.scores[target].estimator, Regression)
        return float(prediction_error(curve(x[::step]) if curved else x[::step], y[::step]))

    def _note(self, reason: str, scores: Sequence[Score], shares: Sequence[Mapping[str, float]]) -> None:
        """Record which test each target was left to, and at which level."""
        by_score: dict[Score, list[str]] = {}
        for name, score in zip(self.series.names, scores):
            by_score.setdefault(score, []).append(name)
        tests = max(map(len, shares))
        words = []
        for score, names in by_score.items():
            who = "all targets" if len(names) == len(scores) else first_few(names, 6)
            self.choices.add("estimator", f"{brief(score.estimator)} for {who}", reason)
            words.append(f"{type(score).__name__}, alpha {score.alpha:.9g}")
        shared = f"up to {tests} tests share" if tests > 1 else "one test has"
        reason = f"{shared} a level of {1 - self.alpha:.2g}"
        reason += f", at which {self.level_in_words}" if self.level_in_words else ""
        self.choices.add("score", "; ".join(dict.fromkeys(words)), reason)

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


def _links(found: Regressions) -> int:
    made, picked = found
    return sum(len(made[k][0].sources[i]) for i, k in enumerate(picked))


@lru_cache(maxsize=4)
def planned(series: Series, wanted: Wanted) -> tuple[Plan, Choices]:
    """Return the plan that `infer` makes of a series, and its choices; kept for further questions of the series."""
    choices = Choices()
    with single_thread():
        return Planner(series, wanted, choices, Evidence(series)).plan(), choices


def asked(
    series: Series, wanted: Wanted, sources: Indices, target: int, given: Indices, count: int | None = None
) -> Significance:
    """Test a link, or several sources together, as `infer` tests a link; ``count`` is the number of surrogates."""
    score = planned(series, wanted)[0].score
    with Evaluator(score, series) as evaluate, single_thread():
        link = Link(sources[0], target, tuple(sorted(given)))
        part = evaluate.scorer.of_target(target)
        if len(sources) == 1:
            (test,) = evaluate.edges([link], count)
            return replace(test, lag=part.transfers.strongest(link.source, target, link.given).lag)
        if not isinstance(part.score, TEE):
            return by_formula(part.transfers, sources, target, given)
        if part.transfers.blocks.searched:
            hazard(
                "the lags of several sources were chosen from the data, which their surrogates do not repeat: p-values "
                "are too small; ask about one source at a time, or give an embedding"
            )
        sampling = Sampling(part.score.surrogate, part.score.n_surrogates, part.score.seed)
        return run(by_surrogates(part.transfers, sources, target, given, sampling))


def _numbers(lags: tuple[int, ...]) -> str:
    return ", ".join(map(str, lags))


def _embedding_words(embedding: Embedding, names: tuple[str, ...]) -> str:
    """Return dims and delays of a few nodes one by one, of many as ranges."""
    per = embedding.per_node(names)
    if len(names) <= 6:
        return ", ".join(f"{name}: dim {k} delay {t}" for name, k, t in zip(names, per["dim"], per["delay"]))
    ranges = {what: sorted({min(per[what]), max(per[what])}) for what in ("dim", "delay")}
    return ", ".join(f"{what} {' to '.join(map(str, found))}" for what, found in ranges.items())
