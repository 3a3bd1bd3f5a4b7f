"""What a score is: a number for (target, parents) that adds up over targets (decomposability), bound to a series.

`Scorer.tests` names the edge tests that the score of a family needs, and `Scorer.combine` makes the score from their
results: families share tests, and each is computed once. Answers depend on data, options and seed alone.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Container, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from math import inf
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from enmesh import late
from enmesh.data.series import Series
from enmesh.embedding import Pasts, checked_pasts
from enmesh.errors import InputError, collected_hazards, hazard
from enmesh.estimators import Estimator
from enmesh.events.events import Events
from enmesh.measures import Transfers, parent_indices
from enmesh.methods import Method, resolve
from enmesh.options import NUMBERS
from enmesh.search.base import Bounds
from enmesh.significance import Significance, by_formula
from enmesh.tasks import Task, ready, run

Parents = tuple[int, ...]

SMALL_ALPHA = 0.5  # a confidence level below this is most likely meant as the level of a test


class Link(NamedTuple):
    """An edge to be tested: does the source carry information beyond the target's own past and the given nodes?"""

    source: int
    target: int
    given: Parents


Tests = Mapping[Link, Significance]
AtLevel = tuple[Link, float]  # a test, and the level that its p-value is compared with


class Score(Method, ABC):
    """Options of a score: an estimator, an embedding (None: chosen from the data) and what the score adds."""

    estimator: Estimator
    embedding: Pasts | None
    alpha: float | None = None
    """Confidence level of the tests of links; None for a score that has none."""
    n_surrogates: int = 0
    """Surrogates of a test; 0 for a score that samples none."""

    FORMAT: ClassVar[int] = 1
    """Raised whenever the same options give other values than before, so that stored values are not reused."""

    takes_events: ClassVar[bool] = False
    """Whether there is such a score of events."""

    needs_analytic: ClassVar[bool] = False
    """Whether the estimator must have a known null distribution."""

    @abstractmethod
    def _scorer(self, series: Series) -> "Scorer[Any]": ...

    def bind(self, series: Series) -> "Scorer[Any]":
        """Return the scorer of this series."""
        if isinstance(series, Events) and not self.takes_events:
            raise InputError(f"{type(self).__name__} is not made for events; use TEE(estimator=PointProcess())")
        return self.with_embedding(series)._scorer(series)

    def with_embedding(self, series: Series) -> "Score":
        """Return this score with its embedding chosen from the data, if none was given."""
        if self.embedding is not None or isinstance(series, Events):
            return self
        from enmesh.embedding.choose import choose_embedding, embedding_method

        return self.embedded(choose_embedding(series, embedding_method(self.estimator, series)))

    def embedded(self, pasts: Pasts) -> "Score":
        """Return this score with the given embedding; itself where its embedding is no option of it."""
        given: Any = self
        return replace(given, embedding=pasts) if "embedding" in (f.name for f in fields(given)) else self


AnyScore = TypeVar("AnyScore", bound=Score)


class Scorer(ABC, Generic[AnyScore]):
    """A score bound to a series. Nodes are positions; parents are ascending tuples."""

    def __init__(self, score: AnyScore, series: Series):
        self.score = score
        estimator = score.estimator.plug_in if score.needs_analytic else score.estimator
        self.transfers = self._transfers(series, estimator)

    def _transfers(self, series: Series, estimator: Estimator) -> Transfers:
        return Transfers(series, estimator, checked_pasts(self.score.embedding))

    def tests(self, target: int, parents: Parents) -> tuple[Link, ...]:
        """Return the edge tests that a family's score is made of; none if it needs none."""
        return ()

    @abstractmethod
    def combine(self, target: int, parents: Parents, tests: Tests) -> float:
        """Return the score of a family from the results of its tests; higher is better."""

    def redundancy_test(self, target: int, parents: Parents, failed: Container[Link] = ()) -> AtLevel | None:
        """Return a test and a level: if its p-value is over it, the family is no better than some subset of it.

        Such a family need not be scored, and such a test may stop early. ``failed`` are such tests, asked for
        smaller families, whose p-values were over their levels. None if there is no such test.
        """
        return None

    def ceiling(self, target: int, parents: Parents, tests: Tests) -> float:
        """Return what the score of a family cannot exceed, by tests (`ceiling_tests`) that may have few surrogates."""
        return inf

    def ceiling_tests(self, target: int, parents: Parents) -> tuple[Link, ...]:
        """Return the edge tests whose first surrogates bound the score of a family; none if there is no bound."""
        return ()

    def test(self, link: Link, level: float | None = None, count: int | None = None) -> Task[Significance]:
        """Test an edge given the target's other parents, by ``count`` surrogates or those of the score.

        With a ``level`` the test goes no further than it takes to know whether its p-value is at most that.
        """
        return ready(by_formula(self.transfers, [link.source], link.target, link.given))

    def family_score(self, target: int, parents: Parents) -> float:
        """Return the score of one family, tests included."""
        results = {link: run(self.test(link)) for link in self.tests(target, parents)}
        return float(self.combine(target, parents, results))

    def local(self, sources: Sequence[int], target: int, given: Sequence[int]) -> tuple[Any, Any]:
        """Return the transfer entropy of a link sample by sample, and the samples that are predicted."""
        return self.transfers.value(sources, target, given, pointwise=True), self.transfers.blocks.rows

    def lags(self, source: int, target: int) -> tuple[int, ...]:
        """Return the lags at which a source is asked about."""
        return self.transfers.blocks.lags(source, target)

    def of_target(self, target: int) -> "Scorer[Any]":
        """Return the scorer of a target's tests: this one, unless every target has its own."""
        return self

    def bounds(self, candidates: Sequence[Parents]) -> Bounds | None:
        """Return upper bounds of the score with the given candidates per target, or None if none are known."""
        return None

    def twin(self) -> "Scorer[AnyScore]":
        """Return a scorer for another thread: the same data, prepared objects of its own."""
        twin = copy.copy(self)
        twin.transfers = self.transfers.twin()
        return twin


class PenalisedScorer(Scorer[AnyScore]):
    """A score that is a fit minus a penalty, both of which grow with the set of parents."""

    @abstractmethod
    def fit(self, target: int, parents: Parents) -> float:
        """Return how well the parents explain the target."""

    @abstractmethod
    def penalty(self, target: int, parents: Parents) -> float:
        """Return the penalty of the set of parents."""

    def combine(self, target: int, parents: Parents, tests: Tests) -> float:
        """Return fit minus penalty."""
        return self.fit(target, parents) - self.penalty(target, parents)

    def bounds(self, candidates: Sequence[Parents]) -> Bounds | None:
        """Return bounds from fit and penalty: no superset has a smaller penalty, no subset a better fit."""
        return Bounds(partial(self._ceiling, candidates), self.penalty)

    def _ceiling(self, candidates: Sequence[Parents], target: int) -> float:
        """Return the fit of all candidates of a target together; infinite if they are too many."""
        transfers, sources = self.transfers, candidates[target]
        x, y, z = transfers.variables(sources, target)
        if not transfers.estimator.discrete and transfers.dof([*z, *x], y, ()) > transfers.blocks.n - 2:
            return inf
        with collected_hazards(show=False):
            return self.fit(target, sources)


class GraphScore:
    """Score of a graph: ``total``, and ``local`` per node, which add up to it."""

    def __init__(self, local: dict[str, float]):
        self.local, self.total = local, float(sum(local.values()))

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}={value:.6g}" for name, value in self.local.items())
        return f"GraphScore(total={self.total:.6g}; {parts})"


def score_graph(series: Series, graph: Any, score: Score | str | None = None) -> GraphScore:
    """Score a graph against a series: ``.total`` and ``.local`` per node.

    Parameters
    ----------
    graph
        ``{target: parents}``, a networkx DiGraph, an edge list or ``"a>b, b>c"``; nodes not named have no parents.
    score
        Such as ``TEA(estimator=Gaussian())``; TEA is on the scale of 2 N T, TEE on that of T: never compare them. By
        default that of `infer`: the total transfer entropy of the links, each given the others.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> em.score(series, "a>b, b>c", em.TEA(embedding=em.Embedding())).total > 0
    True
    """
    series = series if isinstance(series, Events) else Series.of(series).in_order()
    if score is None and not isinstance(series, Events):
        plan = late.lazy_import("plan")
        scorer = plan.planned(series, plan.Request())[0].score.bind(series)
    else:
        scorer = resolve(Score, "tee" if score is None else score).bind(series)
    parents = parent_indices(series, graph)
    places = map(series.index, series.given_names)
    return GraphScore({series.names[i]: float(scorer.family_score(i, parents[i])) for i in places})


def check_alpha(alpha: float, *, warn: bool = True) -> None:
    """Refuse a confidence level outside [0, 1), and warn of one that is most likely the level of a test."""
    if isinstance(alpha, bool) or not (isinstance(alpha, NUMBERS) and 0 <= float(alpha) < 1):
        level = "a confidence level from 0 to below 1, such as 0.99"
        raise InputError(f"alpha={alpha!r} is not possible; give {level}")
    if warn and 0 < alpha < SMALL_ALPHA:
        hazard(f"alpha={alpha:g} is a confidence level; for an error rate of {alpha:g} give alpha={1 - alpha:g}")


def need_analytic(estimator: Estimator, score: str) -> None:
    """Refuse an estimator without a known null distribution."""
    if not estimator.analytic:
        known = "an estimator with a known null distribution (Gaussian, Regression, Discrete)"
        instead = f"with {type(estimator).__name__} use TEE, which finds it by surrogates"
        raise InputError(f"{score} needs {known}; {instead}")
