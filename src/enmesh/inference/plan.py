"""The plan of a run: the score that a graph has, and the lagged variables that every target may have.

By default the score is the test of a link (`enmesh.links`), which selects the sources of each target. If a score, an
estimator or an embedding is given, forward selection finds the lagged variables (`embedding.nonuniform`). With
``max_lag=1`` the embedding of every node is chosen from its own past: the paper's procedure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding import Embedding, Lags
from enmesh.embedding.base import chosen_embedding
from enmesh.embedding.choose import embedding_method
from enmesh.embedding.nonuniform import NonUniform, Past
from enmesh.errors import InputError, first_few, hazard
from enmesh.estimators import Estimator
from enmesh.inference.evaluate import Evaluator
from enmesh.inference.wanted import LEVEL, Choices, Request, Scores
from enmesh.links.horizon import horizon
from enmesh.links.samples import CHANGING, LONG
from enmesh.links.selection import BY_CHANCE, Drivers
from enmesh.measures import Indices
from enmesh.options import whole
from enmesh.scores import TEE, Link, LinkTest, Score
from enmesh.significance import Sampling, Significance, by_formula, by_surrogates, q_values, warn_of_many_lags
from enmesh.tasks import run, single_thread

LOCAL = 0.2  # local false discovery rate up to which the level of a large network is raised (Efron 2007)


class Plan(NamedTuple):
    """What is searched: a score with its pasts, the sources each target may have, and the embedding criteria."""

    score: Score
    candidates: tuple[tuple[int, ...], ...] | None = None
    criteria: Mapping[str, Any] = {}
    drivers: tuple[Drivers, ...] = ()  # of every target, as the test of a link selected them


class Planner(Scores):
    """Makes the plan of one run; ``evaluators(score, series)`` makes an evaluator of a score or a selection of lags."""

    evaluators: Any = Evaluator

    def plan(self) -> Plan:
        """Return the plan: by the test of a link, or for the score or estimator that was given."""
        wanted = self.wanted
        if wanted.by_link_test:
            return self._selected(self.link_test())
        score = self.one()
        return self._with_pasts(score if wanted.embedding is None else score.embedded(wanted.embedding))

    def open(self) -> Plan:
        """Return the plan with lagged variables that the test of a link selects when a target is asked about."""
        return Plan(self.link_test()) if self.wanted.by_link_test else self.plan()

    def link_test(self) -> LinkTest:
        """Return the test of a link at the largest lag and the level that were given or are usual."""
        wanted, samples = self.wanted, sum(self.series.lengths)
        if isinstance(wanted.score, LinkTest):
            return wanted.score
        lag = self._reach()
        if samples > LONG:
            self.choices.add("samples", f"{LONG:,}", f"evenly spread over {samples:,}, to limit time and memory")
        reason = f"about one false link among {self._pairs} pairs" if self.level < LEVEL else "per link"
        if wanted.fdr is None:  # else the level follows from the tests
            self.choices.add("level", f"{self.level:.3g}", reason if wanted.level is None else "as given")
        return LinkTest(
            max_lag=lag, level=self.level, context=wanted.context, candidates=wanted.candidates, most=wanted.most
        )

    def _selected(self, score: LinkTest) -> Plan:
        """Return the plan with the sources that the test of a link selects."""
        found = self._drivers(score)
        if self.wanted.fdr is not None:
            score, found = self._discovered(score, found, self.wanted.fdr)
        elif self.wanted.level is None and score.level < LEVEL:
            score, found = self._raised(score, found)
        names = self.series.names
        lags = {(name, name): one.own for name, one in zip(names, found)}
        for name, one in zip(names, found):
            lags |= {(names[j], name): some for j, some in zip(one.sources, one.lags)}
        clocks = tuple((name, one.clock) for name, one in zip(names, found) if one.clock)
        self._note_drivers(found)
        score = replace(score, embedding=Lags(lags, searched=score.max_lag), clocks=clocks)
        return Plan(score, drivers=found)

    def _drivers(self, score: LinkTest, targets: Sequence[int] | None = None) -> tuple[Drivers, ...]:
        with self.evaluators(score, self.series) as evaluate:
            return tuple(evaluate.selected("drivers", self._nodes if targets is None else targets))

    def _raised(self, score: LinkTest, found: tuple[Drivers, ...]) -> tuple[LinkTest, tuple[Drivers, ...]]:
        """Select again at the level up to which the local false discovery rate is at most `LOCAL`, if that is higher.

        The rate is that of a decreasing density of p-values (Grenander 1956; Strimmer 2008, BMC Bioinformatics 9, 303):
        the level has the most links less expected false links over the rate. Targets to which the higher level adds no
        pair keep their sources.
        """
        p = np.sort(_p_values(found))
        p = p[p <= min(LEVEL, BY_CHANCE / (self.series.n_nodes - 1))]  # larger ones may be of linear regression alone
        gain = np.arange(1, len(p) + 1) - p * self._pairs / LOCAL
        level = float(p[gain.argmax()]) if len(p) and gain.max() > 0 else 0.0
        if level <= score.level:
            return score, found
        self.choices[:] = [choice for choice in self.choices if choice[0] != "level"]
        expected = f"about {level * self._pairs:.0f} false links among {self._pairs} pairs"
        self.choices.add("level", f"{level:.3g}", f"{expected}; raised from {score.level:.3g} to find more links")
        added = [i for i, one in enumerate(found) if any(score.level < p <= level for p in _p_values([one]))]
        score = replace(score, level=level)
        again = dict(zip(added, self._drivers(score, added)))
        return score, tuple(again.get(i, one) for i, one in enumerate(found))

    def _discovered(
        self, score: LinkTest, found: tuple[Drivers, ...], fdr: float
    ) -> tuple[LinkTest, tuple[Drivers, ...]]:
        """Select again at the level that a false discovery rate allows (Benjamini and Hochberg 1995).

        A level that is given as well is the largest that a link may have.
        """
        most = 1.0 if self.wanted.level is None else self.wanted.level
        for _ in range(3):
            p = np.sort(_p_values(found))
            q = q_values(p, self._pairs)
            passed = p[q <= fdr]
            level = min(most, float(max(passed.max(initial=0.0), fdr / self._pairs)))
            if abs(level - score.level) <= 1e-12:
                break
            score = replace(score, level=level)
            found = self._drivers(score)
        why = f"a false discovery rate of {fdr:g} among {self._pairs} pairs"
        self.choices.add("level", f"{score.level:.3g}", f"as given; {why} allows more" if score.level == most else why)
        return score, found

    def _with_pasts(self, score: Score) -> Plan:
        """Return a score with its pasts: as given, or chosen from the data."""
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
        self._note_lags([(past.own, {j: past.lags[j] for j in past.sources}) for past in pasts])
        return Plan(score.embedded(method.lags(pasts, names)), tuple(p.sources for p in pasts))

    def _self_predicted(self, score: Score) -> Plan:
        """Return the paper's procedure: kappa and tau of each node from its own series, sources at lag 1."""
        method = embedding_method(score.estimator, self.series)
        tables = method.tables(self.series)
        embedding = chosen_embedding(tables)
        words = _embedding_words(embedding, self.series.names)
        self.choices.add("embedding", words, f"{type(method).__name__}, from each node's own past")
        criteria = {name: table.to_dict() for name, table in tables.items()}
        return Plan(score.embedded(embedding), None, criteria)

    def _reach(self) -> int:
        """Return the largest lag that is tested: as given, or that of `links.horizon`."""
        given, samples = self.wanted.max_lag, sum(self.series.lengths)
        if given is not None:
            most = max(1, min(max(self.series.lengths) - 2, samples // 4))
            if (lag := whole("max_lag", given, 1)) > most:
                raise InputError(f"max_lag={lag} is too large for {samples} samples; give at most {most}")
            return lag
        return self.choices.add("max_lag", *horizon(self.series, self.level))

    def method(self, estimator: Estimator, alpha: float, lags: int, score: Any = None, **how: Any) -> NonUniform:
        """Return the selection of lagged variables that suits an estimator, sampled as a score is."""
        alpha = max(alpha, 0.5)
        if not estimator.analytic or isinstance(score, TEE):
            how |= {"seed": self.wanted.seed, "n_surrogates": self.count(alpha)}
            how |= {"surrogate": score.surrogate} if hasattr(score, "surrogate") else {}
        how = {"candidates": self.wanted.candidates} | how
        return NonUniform(max_lag=lags, estimator=estimator, alpha=min(alpha, 1 - 1e-12), **how)

    def selected(self, method: NonUniform) -> list[Past]:
        """Select the lagged variables of all targets, by the workers of the run."""
        if method.count:
            warn_of_many_lags(method.max_lag, sum(self.series.lengths))
        with self.evaluators(method, self.series) as evaluate:
            return evaluate.selected("past", self._nodes)

    def _note_drivers(self, found: Sequence[Drivers]) -> None:
        """Record the selected lags, and the targets that are conditioned on functions of time."""
        self._note_lags([(one.own, dict(zip(one.sources, one.lags))) for one in found])
        names = self.series.names
        for bit, what in ((1, "slow trends"), (2, "a common period"), (CHANGING, "slowly changing coefficients")):
            some = [name for name, one in zip(names, found) if one.clock & bit]
            if some:
                why = "conditioned on, because this improves the prediction"
                self.choices.add("time", f"{what} of {first_few(some, 6)}", why)
        if full := [name for name, one in zip(names, found) if one.full]:
            hazard(
                f"max_parents={self.wanted.most} left out significant sources of {first_few(full, 6)}; "
                "raise max_parents"
            )

    def _note_lags(self, found: Sequence[tuple[tuple[int, ...], Mapping[int, tuple[int, ...]]]]) -> None:
        """Record the lags of each target, its own and by source: of few targets one by one, of many as a range."""
        names = self.series.names
        if len(names) <= 6:
            words = "; ".join(
                f"{name}: own {_numbers(own)}" + "".join(f", {names[j]} {_numbers(some)}" for j, some in lags.items())
                for name, (own, lags) in zip(names, found)
            )
        else:
            some = sorted({lag for _, lags in found for each in lags.values() for lag in each})
            words = f"sources at lags {some[0]} to {some[-1]}" if some else "no source was selected"
        allowed = "the p-value of a source allows for the choice of its lags, not of the other sources"
        self.choices.add("lags", words, f"chosen by forward selection; {allowed}")


@lru_cache(maxsize=4)
def planned(series: Series, wanted: Request) -> tuple[Plan, Choices]:
    """Return the plan that `infer` makes of a series, and its choices; kept for further questions of the series.

    The test of a link selects the sources of a target when that target is asked about.
    """
    choices = Choices()
    with single_thread():
        return Planner(series, wanted, choices).open(), choices


def asked(
    series: Series, wanted: Request, sources: Indices, target: int, given: Indices, count: int | None = None
) -> Significance:
    """Test a link, or several sources together, as `infer` tests a link; ``count`` is the number of surrogates."""
    score = planned(series, wanted)[0].score
    if isinstance(score, LinkTest):
        with single_thread():
            return scorer_of(series, score).asked(sources, target, given)
    with Evaluator(score, series) as evaluate, single_thread():
        link = Link(sources[0], target, tuple(sorted(given)))
        part = evaluate.scorer
        if len(sources) == 1:
            (test,) = evaluate.edges([link], count)
            return replace(test, lag=part.transfers.strongest(link.source, target, link.given).lag)
        if not isinstance(part.score, TEE):
            return by_formula(part.transfers, sources, target, given)
        if part.transfers.blocks.searched:
            hazard(
                "the lags of several sources were chosen from the data, but surrogates do not repeat this choice: "
                "p-values are too small; test one source at a time, or give an embedding"
            )
        sampling = Sampling(part.score.surrogate, part.score.n_surrogates, part.score.seed)
        return run(by_surrogates(part.transfers, sources, target, given, sampling))


def default_scorer(series: Series) -> Any:
    """Return the default test of a link of a series, ready to test links."""
    return scorer_of(series, planned(series, Request())[0].score)


@lru_cache(maxsize=2)
def scorer_of(series: Series, score: LinkTest) -> Any:
    """Return the scorer of a series that remembers which sources it has selected."""
    return score.bind(series)


def _p_values(found: Sequence[Drivers]) -> np.ndarray:
    return np.array([p for one in found for _, p, *_ in (*one.tests, *(other[1:] for other in one.others))])


def _numbers(lags: tuple[int, ...]) -> str:
    return ", ".join(map(str, lags))


def _embedding_words(embedding: Embedding, names: tuple[str, ...]) -> str:
    """Return dims and delays of a few nodes one by one, of many as ranges."""
    per = embedding.per_node(names)
    if len(names) <= 6:
        return ", ".join(f"{name}: dim {k} delay {t}" for name, k, t in zip(names, per["dim"], per["delay"]))
    ranges = {what: sorted({min(per[what]), max(per[what])}) for what in ("dim", "delay")}
    return ", ".join(f"{what} {' to '.join(map(str, found))}" for what, found in ranges.items())
