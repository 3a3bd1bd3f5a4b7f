"""LinkTest: the default of `infer`, the test of a link by functions on both sides of a regression (`enmesh.links`)."""

import copy
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding import Blocks, Embedding, Lagged, Pasts
from enmesh.errors import InputError
from enmesh.estimators import Estimator, Gaussian, Mixed
from enmesh.links.known import Known
from enmesh.links.ladder import LINEAR, Ladder, at_all_lags, full_test, in_nats, local_values, rungs
from enmesh.links.samples import Samples
from enmesh.links.selection import Drivers, other_tests, selected
from enmesh.measures import Transfers
from enmesh.options import option, whole
from enmesh.scores.base import Link, Parents, Score, Scorer, Tests
from enmesh.significance import Significance
from enmesh.tasks import Task, ready


@option
class LinkTest(Score):
    """The total transfer entropy of links that pass one test, each given the other sources of its target.

    The test regresses functions of the target on functions of a source and their products with what is known: it sees
    links that are linear, curved, by products, or to the variance (`enmesh.links.ladder` has the method).

    Parameters
    ----------
    max_lag
        Largest lag of sources.
    level
        Error rate of a link: the probability that one that is not there is found.
    context
        Names of nodes that are always known, at present and at all lags up to the largest.
    candidates
        Pairs ``(target, sources)`` of names, of targets that may not have all other nodes as sources.
    most
        Largest number of sources of a target.
    embedding
        Lags of own pasts and sources, as they were selected; None selects them.
    clocks
        Pairs ``(target, functions of time)`` that are known of it, as selected (`Samples.of_time`).

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> round(em.score(series, "a>b, b>c", em.LinkTest()).total, 1)
    0.2
    """

    cli_name = "link"
    summary = "the default: one test of a link by functions on both sides of a regression"
    references = (
        "Wilks, S. S. (1932). Certain Generalizations in the Analysis of Variance. Biometrika 24, 471.",
        "Liu, Y. and Xie, J. (2020). Cauchy Combination Test: a Powerful Test with Analytic p-value Calculation. "
        "Journal of the American Statistical Association 115, 393.",
    )
    FORMAT: ClassVar[int] = 1

    max_lag: int = 5
    level: float = 0.01
    context: tuple[str, ...] = ()
    candidates: tuple[tuple[str, tuple[str, ...]], ...] = ()
    most: int | None = None
    embedding: Pasts | None = None
    clocks: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        whole("max_lag", self.max_lag, 1)
        if not 0 < self.level < 1:
            raise InputError(f"level={self.level!r} is not possible; give an error rate such as 0.01")

    @property
    def estimator(self) -> Estimator:  # type: ignore[override]
        """The linear measure, which draws the evidence of a link."""
        return Gaussian(normalise="rank")

    def with_embedding(self, series: Series) -> "LinkTest":
        """Return itself: lags that are left open are selected target by target."""
        return self

    def sentence(self) -> str:
        """Say what was tested."""
        return (
            "a regression test of each link, given the other sources of its target (functions of the residual of the "
            "target on functions of the source and on their products with known variables; Wilks' lambda, scaled by "
            f"circular shifts; the p-values of four sets of functions and of {self.max_lag} lags are combined by the "
            f"Cauchy combination test; level {self.level:.2g})"
        )

    def _scorer(self, series: Series) -> "Scorer[LinkTest]":
        return LinkScorer(self, series)


class LinkScorer(Scorer[LinkTest]):
    """Selects the sources of targets, and tests links given what was selected."""

    def __init__(self, score: LinkTest, series: Series):
        self.score, self.series = score, series
        self.samples = Samples.of(series, score.max_lag)
        self._always = [Lagged(series.index(name), lag) for name in score.context for lag in range(score.max_lag + 1)]
        self._clocks = {series.index(name): clock for name, clock in score.clocks}
        self._allowed = {series.index(name): series.indices(found) for name, found in score.candidates}
        self._selected: dict[int, Drivers] = {}
        self._families: dict[int, LinkScorer] = {}

    @cached_property
    def transfers(self) -> Transfers:  # type: ignore[override]
        """Linear measures on the lags that were selected."""
        return self._measured(None)

    def _measured(self, family: Collection[int] | None) -> Transfers:
        measured = "text" not in self.series.kinds
        pasts = self.score.embedding or Embedding()
        return Transfers(self.series, self.score.estimator if measured else Mixed(), pasts, family)

    def of_target(self, target: int) -> "LinkScorer":
        """Return the scorer whose linear measures are of windows that are complete for a target and its sources."""
        if self.series.missing is None:
            return self
        if target not in self._families:
            sources = (j for j in range(self.series.n_nodes) if j != target and self.acts_at(j, target))
            self._families[target] = one = copy.copy(self)
            one.transfers = self._measured({target, *sources})
        return self._families[target]

    @property
    def blocks(self) -> Blocks:
        """Lagged variables, of which memory is reckoned."""
        return self.of_target(0).transfers.blocks

    def drivers(self, target: int) -> Task[tuple[Drivers]]:
        """Select the sources of a target, and test all others."""
        return ready((self.selection(target),))

    def selection(self, target: int, others: bool = True) -> Drivers:
        """Return what drives a target."""
        nodes = self._allowed.get(target, tuple(j for j in range(self.samples.nodes) if j != target))
        always = [v for v in self._always if v.node != target]
        if target not in self._selected:
            context = {v.node for v in self._always}
            free = [j for j in nodes if j not in context]
            most = len(nodes) if self.score.most is None else self.score.most
            found = selected(self.samples, target, free, self.score.level, always, most)
            self._selected[target] = self._with_context(target, found, context & set(nodes))
        found = self._selected[target]
        if others and not found.others:
            rest = [j for j in nodes if j not in found.sources and j not in {v.node for v in always}]
            made = other_tests(self.samples, target, found, always, rest) if rest else ()
            found = found._replace(others=made)
            self._selected[target] = found
        return found

    def _with_context(self, target: int, found: Drivers, context: set[int]) -> Drivers:
        """Add the nodes of the context that pass the test given all else."""
        own, links = [Lagged(target, lag) for lag in found.own], found.given(found.sources)
        kept = dict(zip(found.sources, zip(found.lags, found.tests)))
        for node in sorted(context - {target}):
            known = [*links, *(v for v in self._always if v.node not in (node, target))]
            one = full_test(self.samples, target, own, known, at_all_lags(self.samples, node), found.clock)
            if one.p_value <= self.score.level:
                kept[node] = (one.lag,), (one.value, one.p_value, one.lag, one.mean)
        sources = tuple(sorted(kept))
        return found._replace(
            sources=sources, lags=tuple(kept[j][0] for j in sources), tests=tuple(kept[j][1] for j in sources)
        )

    def _known(self, target: int, given: Iterable[int]) -> tuple[list[Lagged], list[Lagged], int]:
        """Return own past, lagged variables of given sources, and functions of time."""
        if self.score.embedding is None:
            found = self.selection(target, others=False)
            return [Lagged(target, lag) for lag in found.own], found.given(given), found.clock
        lags = self.score.embedding.table(self.series.names)
        clock = self._clocks.get(target, 0)
        pasts = [Lagged(j, lag) for j in sorted(given) for lag in lags[j, target]]
        return [Lagged(target, lag) for lag in lags[target, target]], pasts, clock

    def test(self, link: Link, level: float | None = None, count: int | None = None) -> Task[Significance]:
        """Test a link given the other sources of its target."""
        return ready(self.asked([link.source], link.target, link.given))

    def _question(
        self, sources: Sequence[int], target: int, given: Sequence[int]
    ) -> tuple[list[Lagged], list[Lagged], list[Lagged], int, bool]:
        """Return own past, known variables, those of the sources, functions of time, and whether sources are joint."""
        own, past, clock = self._known(target, given)
        always = [v for v in self._always if v.node not in (*sources, target) and v not in past]
        lags = at_all_lags(self.samples, sources[0])
        if joint := len(sources) > 1:
            lags = [Lagged(j, lag) for j in sorted(sources) for lag in self.lags(j, target)]
        return own, [*past, *always], lags, clock, joint

    def asked(self, sources: Sequence[int], target: int, given: Sequence[int]) -> Significance:
        """Test a source at all its lags, or several together at the lags at which they were selected."""
        own, known, lags, clock, joint = self._question(sources, target, given)
        found = full_test(self.samples, target, own, known, lags, clock, joint)
        return Significance(found.value, found.p_value, np.empty(0), found.mean, None if joint else found.lag)

    def local(self, sources: Sequence[int], target: int, given: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return the value of a link sample by sample, and the samples that are predicted."""
        own, past, lags, clock, joint = self._question(sources, target, given)
        known = Known.of(self.samples, target, [*own, *sorted(past)], clock)
        found = Ladder(known, lags, joint).widened()
        return local_values(known, lags, found, joint), known.rows

    def profile(self, source: int, target: int, given: Sequence[int]) -> tuple[np.ndarray, int, float]:
        """Return the value at each lag by the rung that tells most, its degrees of freedom, and how wide chance is."""
        own, past, lags, clock, _ = self._question([source], target, given)
        known = Known.of(self.samples, target, [*own, *sorted(past)], clock)
        found = Ladder(known, lags).widened()
        rung = rungs(known, lags)[found.rung if found.rung < LINEAR else 0]
        degrees = max(1, int(np.median(rung.features)) * rung.responses)
        lag = found.lag - 1
        values = np.array([in_nats(known, v, float(r) / 2) for v, r in zip(lags, rung.ratio)])
        if found.rung < LINEAR:
            values[lag] = found.value
        return values, degrees, max(1.0, found.mean * 2 * known.n / degrees) if found.rung < LINEAR else 1.0

    def tests(self, target: int, parents: Parents) -> tuple[Link, ...]:
        """Return a test of each parent given the others."""
        return tuple(Link(j, target, tuple(p for p in parents if p != j)) for j in parents)

    def combine(self, target: int, parents: Parents, tests: Tests) -> float:
        """Return the sum of the transfer entropies of the links."""
        return float(sum(tests[link].value for link in self.tests(target, parents)))

    def lags(self, source: int, target: int) -> tuple[int, ...]:
        """Return the lags at which a source was selected; of one that was not, 1."""
        return self.acts_at(source, target) or (1,)

    def acts_at(self, source: int, target: int) -> tuple[int, ...]:
        """Return the lags at which a source was selected, none if it was not."""
        if self.score.embedding is not None:
            listed = self.score.embedding.table(self.series.names)
            return listed.get((source, target), ())
        found = self.selection(target, others=False)
        return dict(zip(found.sources, found.lags)).get(source, ())

    def twin(self) -> "LinkScorer":
        """Return a scorer for another thread."""
        return LinkScorer(self.score, self.series)
