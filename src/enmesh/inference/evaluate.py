"""evaluate(families): the one seam between searches and scores.

Scores are cached, looked up in the store, and computed by workers. What is computed is a question to a scorer
(`work.Question`): a family, or the edge tests a family's score is made of, each of them once. Answers are pure, so
nothing here can change a result.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding.nonuniform import NonUniform, Past
from enmesh.inference.progress import Progress
from enmesh.inference.work import Payload, Question, fingerprint, plain, scorer_pool
from enmesh.inference.workers import Workers
from enmesh.options import describe
from enmesh.scores.base import Link, Score
from enmesh.search.base import Family
from enmesh.significance import Significance, tested
from enmesh.tasks import single_thread


class Evaluator:
    """The local scores of families ``(target, parents)`` of a series, computed at most once.

    Parameters
    ----------
    score, series
        What is scored. An embedding that is not given is chosen from the data.
    n_jobs
        Workers; -1 for all cores. None is 1, or what a surrounding `joblib.parallel_config` says. A cluster
        backend set there is always used.
    store
        Path of a file that keeps what is finished (see `enmesh.inference.store.Store`).
    progress
        As `infer` takes it, or the `Progress` of the run whose phase this is part of.
    memory
        Bytes this process and its workers on this machine may use together: there are as many workers as fit.

    Examples
    --------
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
        description = describe_run(self.score, series)
        self._payload = Payload(series, self.score, run_key(description))
        with single_thread():  # binding may form sums that threads would round otherwise
            self.scorer = scorer_pool.take(self._payload.key, self._payload)
        self._workers = Workers(self._payload, self.scorer, n_jobs, memory)
        self._store = None
        if store is not None:  # last: what fails before must not leave a session that seems to be running
            from enmesh.inference.store import Store

            self._store = Store(store, self._payload.key, description)
        self._progress = Progress.of(progress).__enter__()
        self._scores: dict[Family, float] = {}
        self._tests: dict[Question, Significance] = {}
        self._pasts: dict[int, Past] = {}
        self._asked: set[Family] = set()
        self._failed: set[Link] = set()

    def __call__(self, families: Iterable[Family]) -> np.ndarray:
        """Return the score of each family, in the order given."""
        families = [(target, tuple(parents)) for target, parents in families]
        self._asked.update(families)
        unknown = [family for family in dict.fromkeys(families) if family not in self._scores]
        tests = {family: self.scorer.tests(*family) for family in unknown}
        self._scores |= self._stored(Question.family(*family) for family in unknown)
        whole = [family for family in unknown if not tests[family] and family not in self._scores]
        self._compute([Question.family(*family) for family in whole])
        self._combine({family: links for family, links in tests.items() if links})
        return np.array([self._scores[family] for family in families], dtype=float)

    def edges(self, links: Iterable[Link], count: int | None = None) -> list[Significance]:
        """Return the test of each edge ``(source, target, given)``, in the order given, with so many surrogates."""
        return self._tested([Question.test(Link(s, t, tuple(sorted(g))), None, count) for s, t, g in links])

    def verdicts(self, links: Iterable[Link], level: float) -> list[Significance]:
        """Return tests of edges; those whose p cannot be at most ``level`` any more may have stopped early.

        How early depends on what is known already: of a test that fails, use no more than its value, that it
        fails, and its first `significance.FIRST_LOOK` null values.
        """
        return self._tested([Question.test(Link(s, t, tuple(sorted(g))), level) for s, t, g in links])

    def superfluous(self, families: Iterable[Family]) -> list[int | None]:
        """Return for each family a parent that it scores no less without, alone or with weaker ones; or None.

        One test of that parent shows it. Smaller families are to be asked about first: what was found for them counts.
        """
        deciding = [self.scorer.deciding(*family, self._failed) for family in families]
        asked = {test for test in deciding if test is not None}
        failed: set[tuple[Link, float]] = set()
        for level in sorted({level for _, level in asked}):
            links = sorted(link for link, one in asked if one == level)
            found = zip(links, self.verdicts(links, level))
            failed |= {(link, level) for link, test in found if test.p_value > level}
        self._failed |= {link for link, _ in failed}
        return [test[0].source if test is not None and test in failed else None for test in deciding]

    def pasts(self, targets: Iterable[int]) -> list[Past]:
        """Return the lagged variables that forward selection finds for each target (`NonUniform`)."""
        targets = list(targets)
        if self._store is not None:
            found = self._store.read(Question.past(target) for target in targets)
            self._pasts |= {question.args[0]: past for question, past in found.items()}
        new = [Question.past(t) for t in targets if t not in self._pasts]
        self._progress.advance(0, known=len(targets) - len(new))
        self._compute(new)
        return [self._pasts[target] for target in targets]

    def know(self, nulls: Mapping[Link, np.ndarray]) -> None:
        """Take tests as made whose null distributions are known; the values are measured here."""
        answers = {}
        for link, null in nulls.items():
            transfers = self.scorer.of_target(link.target).transfers
            value = transfers.value([link.source], link.target, link.given)
            answers[Question.test(link)] = plain(tested(value, null))
        self._keep(answers)

    def nulls(self) -> dict[Link, np.ndarray]:
        """Return the null distributions of all tests that were made in full, by edge."""
        return {
            Link(*question.args): test.null
            for question, test in self._tests.items()
            if question.level is None and question.surrogates is None and len(test.null)
        }

    @property
    def evaluated(self) -> int:
        """Number of distinct families that were asked for."""
        return len(self._asked)

    def close(self, status: str = "finished") -> None:
        """Let go of the store and the scorer."""
        if self._store is not None:
            self._store.close(status)
            self._store = None
        if self.scorer is not None:
            scorer_pool.put_back(self._payload.key, self.scorer)
            self.scorer = None
            self._progress.__exit__()

    def __enter__(self) -> "Evaluator":
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        from enmesh.inference.store import how_it_ended

        self.close(how_it_ended(error))

    def _combine(self, tests: dict[Family, Sequence[Link]]) -> None:
        """Score families from their edge tests, each of which is computed once for all families.

        Those whose scores are stored are combined as well: `Scorer.deciding` goes by what the scorer has seen.
        """
        if not tests:
            return
        links = list(dict.fromkeys(link for needed in tests.values() for link in needed))
        results = dict(zip(links, self.edges(links)))
        with single_thread():
            found = {
                Question.family(*family): plain(
                    self.scorer.combine(*family, {link: results[link] for link in needed})
                )
                for family, needed in tests.items()
            }
        self._keep(
            {question: score for question, score in found.items() if question.args not in self._scores}
        )

    def _tested(self, questions: Sequence[Question]) -> list[Significance]:
        unique = dict.fromkeys(questions)
        self._look_up(unique)
        new = [question for question in unique if question not in self._tests]
        self._progress.advance(0, known=len(unique) - len(new))
        self._compute([question for question in new if question.level is None])
        self._compute([question for question in new if question.level is not None])
        return [self._tests[question] for question in questions]

    def _look_up(self, questions: Iterable[Question]) -> None:
        """Take tests that are known at another level, and read what the store has."""
        new = [question for question in questions if question not in self._tests]
        self._tests |= {q: self._tests[q.full] for q in new if q.full in self._tests}
        if self._store is not None:
            self._tests |= self._store.read(q for q in new if q not in self._tests)

    def _stored(self, questions: Iterable[Question]) -> dict[Family, float]:
        found = self._store.read(questions) if self._store is not None else {}
        return {question.args: score for question, score in found.items()}

    def _keep(self, answers: dict[Question, Any]) -> None:
        full = {q.full: test for q, test in answers.items() if q.is_full(test)}
        for question, found in (answers | full).items():
            if question.kind == "family":
                self._scores[question.args] = found
            elif question.kind == "past":
                self._pasts[question.args[0]] = found
            else:
                self._tests[question] = found
        if self._store is not None and answers:
            self._store.write({q: a for q, a in answers.items() if not q.is_full(a)} | full)

    def _compute(self, questions: Sequence[Question]) -> None:
        """Compute what is new, chunk by chunk; every finished chunk is kept at once."""
        if not questions:
            return
        self._progress.advance(0, asked=len(questions))
        with closing(self._workers.answers(sorted(questions, key=lambda q: q.shares))) as chunks:
            for answers in chunks:
                self._keep(answers)
                self._progress.advance(len(answers))


def describe_run(score: Score | NonUniform, series: Series) -> dict[str, Any]:
    """Return what a run's values depend on, as plain data."""
    from enmesh import __version__

    return {
        "data": series.digest,
        "names": list(series.names),
        "score": describe(score),
        "code": f"{__version__}/{score.FORMAT}",
    }


def run_key(description: dict[str, Any]) -> str:
    """Return the hash that values of a run are stored under."""
    return fingerprint(json.dumps(description, sort_keys=True))
