"""What a score is: a number for (target, parents) that adds up over targets (decomposability), bound to a series.

A `Score` is an option; ``score.bind(series)`` returns a `Scorer`, which holds the embedded data and answers for one
family at a time. A scorer's answers are pure: they depend on data, options and seed, never on what was asked before.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding import Embedding
from enmesh.errors import InputError
from enmesh.estimators import Estimator
from enmesh.measures import Transfers, parent_indices
from enmesh.significance import Significance, analytic
from enmesh.tasks import Conversation, at_hand

Link = tuple[int, int, tuple[int, ...]]  # source, target, given


class Scorer(ABC):
    """A score bound to a series. Nodes are positions; parents are ascending tuples."""

    def __init__(self, score: "Score", series: Series):
        self.score = score
        self.ask = Transfers(series, score.estimator, score.embedding)

    @abstractmethod
    def local(self, target: int, parents: tuple[int, ...]) -> float:
        """Score of one family; higher is better."""

    def edge(self, source: int, target: int, given: tuple[int, ...]) -> Significance:
        """Test one edge given the target's other parents."""
        return analytic(self.ask, (source,), target, given)

    def inquiry(
        self, source: int, target: int, given: tuple[int, ...], level: float | None = None
    ) -> Conversation:
        """Test one edge as `edge` does; with a ``level`` no further than it takes to know whether p is at most that."""
        return at_hand(self.edge(source, target, given))

    def tests(self, target: int, parents: tuple[int, ...]) -> tuple[Link, ...]:
        """Return the edge tests (source, target, given) a family's score is made of; none if it is one piece.

        Families share tests, so whoever evaluates many computes each test once and hands it over with `learn`.
        """
        return ()

    def learn(self, link: Link, test: Significance) -> None:
        """Take in a test that was computed elsewhere; only scores that are made of tests need it."""
        return

    def bounds(self, candidates: Sequence[tuple[int, ...]]) -> "FitBounds | None":
        """Return what the score can be at most with the given candidates per target, where that is known."""
        return None


class FitBounds:
    """score = fit - penalty with both growing with the set: enough to leave sets out unseen.

    A set and all its supersets go when ``ceiling - penalty(set)`` is no better than what is known.
    """

    def __init__(self, scorer, candidates: Sequence[tuple[int, ...]]):
        self._scorer, self._candidates = scorer, candidates

    def ceiling(self, target: int) -> float:
        """Return the fit of all candidates together; no subset's exceeds it."""
        return self._scorer.fit(target, self._candidates[target])

    def penalty(self, target: int, parents: tuple[int, ...]) -> float:
        """Return the penalty of a set; no superset's is smaller."""
        return self._scorer.penalty(target, parents)


class Score(ABC):
    """Options of a score: an estimator, an embedding (None: chosen from the data) and what the score adds."""

    estimator: Estimator
    embedding: Embedding | None

    FORMAT: ClassVar[int] = 1
    """Raised whenever the same options give other values than before, so that stored values are not reused."""

    @abstractmethod
    def _scorer(self, series: Series) -> Scorer: ...

    def bind(self, series: Series) -> Scorer:
        """Return the scorer of this series."""
        return self.with_embedding(series)._scorer(series)

    def with_embedding(self, series: Series) -> "Score":
        """Return this score with its embedding chosen from the data, if none was given."""
        if self.embedding is not None:
            return self
        from enmesh.embedding.choose import choose_embedding, embedding_method

        return replace(self, embedding=choose_embedding(series, embedding_method(self.estimator)))


class GraphScore:
    """Score of a graph: ``total``, and ``local`` per node, which add up to it."""

    def __init__(self, local: dict[str, float]):
        self.local = local
        self.total = float(sum(local.values()))

    def __repr__(self):
        parts = ", ".join(f"{name}={value:.6g}" for name, value in self.local.items())
        return f"GraphScore(total={self.total:.6g}; {parts})"


def score_graph(series: Series, graph, score: Score) -> GraphScore:
    """Score a graph against a series: ``.total`` and ``.local`` per node.

    Parameters
    ----------
    graph
        ``{target: parents}``, a networkx DiGraph, an edge list or ``"a>b, b>c"``; nodes not named have no parents.
    score
        Such as ``TEA(estimator=Gaussian())``; TEA is on the scale of 2 N T, TEE on that of T: never compare them.
    """
    scorer = score.bind(series)
    families = enumerate(parent_indices(series, graph))
    return GraphScore({series.names[i]: float(scorer.local(i, parents)) for i, parents in families})


def check_alpha(alpha: float) -> None:
    """Refuse a confidence level outside [0, 1)."""
    if not (isinstance(alpha, (int, float)) and np.isfinite(alpha) and 0 <= alpha < 1):
        raise InputError(
            f"alpha={alpha!r} is not possible; give a confidence level from 0 to below 1, such as 0.99"
        )


def need_analytic(estimator: Estimator, score: str) -> None:
    """Refuse an estimator without a known null distribution."""
    if not estimator.analytic:
        raise InputError(
            f"{score} needs an estimator with a known null distribution (Gaussian, Discrete); "
            f"with {type(estimator).__name__} use TEE, which finds it by surrogates"
        )
