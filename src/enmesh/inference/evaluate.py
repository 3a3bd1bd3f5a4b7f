"""evaluate(families): the one seam between searches and scores.

Scores are cached, looked up in the store, and computed by workers. What is computed is a question to a scorer
(`work.Question`): a family, or the edge tests a family's score is made of, each of them once. Answers are pure, so
nothing here can change a result.
"""

import os
from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import Any

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding.blocks import conditioned_before
from enmesh.embedding.nonuniform import NonUniform
from enmesh.inference.progress import Progress
from enmesh.inference.store import Store, described, key_of
from enmesh.inference.work import Payload, Question, plain, scorer_pool
from enmesh.inference.workers import Workers
from enmesh.options import describe
from enmesh.scores.base import Link, Score
from enmesh.search.base import Family
from enmesh.significance import FEWEST, Significance
from enmesh.tasks import single_thread


class Evaluator:
    """The local scores of families ``(target, parents)`` of a series, computed at most once.

    An embedding that is not given is chosen from the data; a cluster that `joblib.parallel_config` sets is always used;
    ``progress`` may be that of the run whose phase this is part of; the rest is as `infer` takes it.

    >>> from enmesh import TEA, Embedding, simulate
    >>> series = simulate.var({"a": [], "b": ["a"]}, n=500, seed=1)
    >>> with Evaluator(TEA(embedding=Embedding()), series) as evaluate:
    ...     alone, driven = evaluate([(1, ()), (1, (0,))])
    >>> bool(driven > alone)
    True
    """

    def __init__(
        self,
        score: Score | NonUniform,
        series: Series,
        *,
        n_jobs: int | None = None,
        store: str | os.PathLike[str] | None = None,
        progress: Any = None,
        memory: int | None = None,
    ):
        self.score: Any = score.with_embedding(series) if isinstance(score, Score) else score
        self.series = series
        description = described(series, describe(self.score), score.FORMAT)
        self._payload = Payload(series, self.score, key_of(description))
        with single_thread():  # binding may form sums that threads would round otherwise
            self.scorer = scorer_pool.take(self._payload.key, self._payload)
        known = conditioned_before.get(series, {}).get(self.score.estimator)
        if known is not None:
            self._payload = self._payload._replace(conditioned={self.score.estimator: known})
        self._workers = Workers(self._payload, self.scorer, n_jobs, memory)
        # Last: what fails before must not leave a session that seems to be running.
        self._store = None if store is None else Store(store, self._payload.key, description)
        self._progress = Progress.of(progress).__enter__()
        self._known: dict[Question, Any] = {}
        self._failed: set[Link] = set()

    def __call__(self, families: Iterable[Family]) -> np.ndarray:
        """Return the score of each family, in the order given."""
        questions = [Question("family", (target, tuple(parents))) for target, parents in families]
        new = [question for question in dict.fromkeys(questions) if question not in self._known]
        self._look_up(new)
        tests = {question: self.scorer.tests(*question.args) for question in new}
        self._compute([question for question in new if not tests[question] and question not in self._known])
        # Those whose scores are stored are combined as well: `Scorer.redundancy_test` goes by what the scorer has seen.
        self._combine({question: links for question, links in tests.items() if links})
        return np.array([self._known[question] for question in questions], dtype=float)

    def edges(self, links: Iterable[Link], count: int | None = None) -> list[Significance]:
        """Return the test of each edge ``(source, target, given)``, in the order given, with so many surrogates."""
        return self._answers([Question.test(link, None, count) for link in links])

    def verdicts(self, links: Iterable[Link], level: float) -> list[Significance]:
        """Return tests of edges; those whose p cannot be at most ``level`` any more may have stopped early.

        How early depends on what is known already: of a test that fails, use no more than its value, that it fails, and
        its first `significance.FIRST_LOOK` null values.
        """
        return self._answers([Question.test(link, level) for link in links])

    def redundant(self, families: Iterable[Family]) -> list[int | None]:
        """Return for each family a parent that it scores no less without, alone or with weaker ones; or None."""
        # One test of that parent shows it. Smaller families must be asked about first: what was found for them counts.
        tests = [self.scorer.redundancy_test(*family, self._failed) for family in families]
        asked, failed = sorted({test for test in tests if test is not None}), set()
        for level in sorted({level for _, level in asked}):
            links = [link for link, one in asked if one == level]
            found = zip(links, self.verdicts(links, level))
            failed |= {(link, level) for link, test in found if test.p_value > level}
        self._failed |= {link for link, _ in failed}
        return [test[0].source if test is not None and test in failed else None for test in tests]

    def ceilings(self, families: Sequence[Family]) -> list[float]:
        """Return what the score of each family cannot exceed, by the first surrogates of its tests."""
        tests = {family: self.scorer.ceiling_tests(*family) for family in families}
        links = list(dict.fromkeys(link for needed in tests.values() for link in needed))
        known = {link: self._known.get(Question.test(link)) for link in links}
        asked = [link for link in links if known[link] is None]
        known |= zip(asked, self.edges(asked, FEWEST))
        return [self.scorer.ceiling(*family, {link: known[link] for link in tests[family]}) for family in families]

    def selected(self, kind: str, targets: Iterable[int]) -> list[Any]:
        """Return what is selected for each target: its ``past`` (`NonUniform`) or its ``drivers`` (`LinkTest`)."""
        return [one for (one,) in self._answers([Question(kind, (target,)) for target in targets])]

    def __enter__(self) -> "Evaluator":
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        """Let go of the store and the scorer."""
        if self._store is not None:
            self._store.close(error)
        scorer_pool.put_back(self._payload.key, self.scorer)
        self._progress.__exit__()

    def _combine(self, tests: dict[Question, Sequence[Link]]) -> None:
        """Score families from their edge tests, each of which is computed once for all families."""
        links = list(dict.fromkeys(link for needed in tests.values() for link in needed))
        results = dict(zip(links, self.edges(links)))
        with single_thread():
            found = {
                family: plain(self.scorer.combine(*family.args, {link: results[link] for link in needed}))
                for family, needed in tests.items()
            }
        self._keep({family: score for family, score in found.items() if family not in self._known})

    def _answers(self, questions: Sequence[Question]) -> list[Any]:
        self._look_up(dict.fromkeys(questions))
        self._compute([question for question in dict.fromkeys(questions) if question not in self._known])
        return [self._known[question] for question in questions]

    def _look_up(self, questions: Iterable[Question]) -> None:
        """Take tests that are known at another level, and read what the store has."""
        new = [question for question in questions if question not in self._known]
        self._known |= {q: self._known[q.full] for q in new if q.level is not None and q.full in self._known}
        if self._store is not None:
            self._known |= self._store.read(q for q in new if q not in self._known)

    def _keep(self, answers: dict[Question, Any]) -> None:
        """Remember and store answers; a test that was to stop early and passed is the full test."""
        full = {q.full: test for q, test in answers.items() if q.is_full(test)}
        self._known |= answers | full
        if self._store is not None and answers:
            self._store.write({q: a for q, a in answers.items() if not q.is_full(a)} | full)

    def _compute(self, questions: Sequence[Question]) -> None:
        """Compute what is new, chunk by chunk; every finished chunk is kept at once."""
        if not questions:
            return
        self._progress.advance(0, asked=len(questions))
        with closing(self._workers.answers(sorted(questions, key=lambda q: q.order))) as chunks:
            for answers in chunks:
                self._keep(answers)
                self._progress.advance(len(answers))
