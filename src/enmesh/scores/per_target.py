"""A score of its own for each target: where one is driven linearly and another is not, other tests have most power.

All are on the scale of T (those on the scale of 2 N T are divided by 2 N), so that they add up to one score of a graph.
"""

import copy
from collections.abc import Container, Mapping
from dataclasses import replace
from typing import Any

from enmesh.data.series import Series
from enmesh.embedding import Lags, Pasts
from enmesh.errors import InputError
from enmesh.estimators import Estimator
from enmesh.options import option
from enmesh.scores.base import AtLevel, Link, Parents, Score, Scorer, Tests, check_alpha
from enmesh.scores.tea import TEA
from enmesh.scores.tee import TEE
from enmesh.significance import Significance
from enmesh.tasks import Task


@option
class PerTarget(Score):
    """A score for each target by name: ``PerTarget({"a": TEA(...), "b": TEE(...)})``, on the scale of T, in nats.

    Parameters
    ----------
    scores
        ``{target: score}`` for every node; TEA and TEE, each with its embedding.
    alpha
        Confidence level that several tests of each link shared, of which the score of its target is one: p-values are
        those of that test times the number of such shares in the level (Bonferroni). None leaves them as they are.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> linear = em.TEA(embedding=em.Embedding(), alpha=0.999)
    >>> score = em.PerTarget({name: linear for name in "abc"})
    >>> em.infer(series, score=score).parents
    {'a': (), 'b': ('a',), 'c': ('b',)}
    """

    FORMAT = 5

    groups: Any = ()
    alpha: float | None = None

    def __init__(self, scores: Any = (), *, alpha: float | None = None, groups: Any = ()) -> None:
        named = [(name, score) for names, score in groups for name in names]
        pairs = scores.items() if isinstance(scores, Mapping) else [*scores, *named]
        if not pairs:
            raise InputError("PerTarget has no scores; give one for each node")
        if alpha is not None:
            check_alpha(alpha)
        targets: dict[Any, list[str]] = {}
        for name, score in sorted(((str(name), score) for name, score in pairs), key=lambda pair: pair[0]):
            if not isinstance(score, (TEA, TEE)):
                raise InputError(f"the score of {name} is {score!r}; PerTarget takes TEA and TEE")
            if score.embedding is None:
                raise InputError(f"the score of {name} has no embedding; give each score its own")
            if alpha is not None and score.alpha < alpha:
                raise InputError(f"the score of {name} has a lower alpha than {alpha:g}, which it shares")
            targets.setdefault(score, []).append(name)
        object.__setattr__(self, "groups", tuple((tuple(names), score) for score, names in targets.items()))
        object.__setattr__(self, "alpha", alpha)

    @property
    def scores(self) -> list[tuple[str, Any]]:
        """The score of every target by name; kept by ``groups`` of targets with the same score."""
        pairs = ((name, score) for names, score in self.groups for name in names)
        return sorted(pairs, key=lambda pair: pair[0])

    @property
    def estimator(self) -> Estimator:  # type: ignore[override]
        """The estimator that costs most: one without a known null distribution, if any target has one."""
        found = [score.estimator for _, score in self.groups]
        return next((one for one in found if not one.analytic), found[0])

    @property
    def embedding(self) -> Pasts:  # type: ignore[override]
        """The pasts of every target as its own score has them."""
        everyone = tuple(name for name, _ in self.scores)
        lags: dict[tuple[str, str], tuple[int, ...]] = {}
        for names, score in self.groups:
            targets, pasts = set(names), score.embedding
            pasts = pasts if isinstance(pasts, Lags) else Lags.of(pasts, everyone)
            lags |= {(source, end): found for source, end, found in pasts.lags if end in targets}
        return Lags(lags, searched=max(score.embedding.searched for _, score in self.groups))

    @property
    def n_surrogates(self) -> int:  # type: ignore[override]
        """The largest number of surrogates of any target."""
        return max(score.n_surrogates for _, score in self.groups)

    def sentence(self) -> str:
        """Say the score of every target, those with the same words together."""
        groups: dict[str, list[str]] = {}
        for name, score in self.scores:
            how = f"{score.sentence()}, estimated with {score.estimator.sentence()}"
            groups.setdefault(how, []).append(name)
        words = [f"{', '.join(names)} by {how}" for how, names in groups.items()]
        if self.alpha is not None:
            shared = f"the tests that were made of a link shared a level of {1 - self.alpha:.2g}"
            words.append(f"{shared}, and its p-value counts them")
        return "the score that suits it: " + "; ".join(words)

    def _scorer(self, series: Series) -> "Scorer[PerTarget]":
        return _PerTargetScorer(self, series)


class _PerTargetScorer(Scorer[PerTarget]):
    def __init__(self, score: PerTarget, series: Series):
        by_name = dict(score.scores)
        absent = [name for name in series.names if name not in by_name]
        if absent:
            raise InputError(f"PerTarget lacks a score of {', '.join(absent)}; give one for each node")
        self.score = score
        bound = {part: part.bind(series) for part in dict.fromkeys(by_name.values())}
        self._take([bound[by_name[name]] for name in series.names])

    def _take(self, parts: list[Scorer[Any]]) -> None:
        costly = [part for part in parts if not part.score.estimator.analytic]
        self._parts, self.transfers = parts, (costly or parts)[0].transfers

    def tests(self, target: int, parents: Parents) -> tuple[Link, ...]:
        return self._parts[target].tests(target, parents)

    def combine(self, target: int, parents: Parents, tests: Tests) -> float:
        return self.scaled(target, self._parts[target].combine(target, parents, tests))

    def scaled(self, target: int, score: float) -> float:
        """Return what the score of a target says, on the scale of T."""
        part = self._parts[target]
        return score / (2 * part.transfers.blocks.n) if isinstance(part.score, TEA) else score

    def ceiling(self, target: int, parents: Parents, tests: Tests) -> float:
        return self._parts[target].ceiling(target, parents, tests)

    def ceiling_tests(self, target: int, parents: Parents) -> tuple[Link, ...]:
        return self._parts[target].ceiling_tests(target, parents)

    def redundancy_test(self, target: int, parents: Parents, failed: Container[Link] = ()) -> AtLevel | None:
        test = self._parts[target].redundancy_test(target, parents, failed)
        return test and (test[0], self._shares(target) * test[1])

    def _shares(self, target: int) -> float:
        """Return how many shares such as that of a target's score there are in the level."""
        alpha = self.score.alpha
        return 1.0 if alpha is None else (1 - alpha) / (1 - self._parts[target].score.alpha)

    def test(self, link: Link, level: float | None = None, count: int | None = None) -> Task[Significance]:
        """Test an edge by the score of its target; the p-value counts the tests that shared the level."""
        level = None if level is None else level / self._shares(link.target)
        return self.shared(link.target, (yield from self._parts[link.target].test(link, level, count)))

    def shared(self, target: int, test: Significance) -> Significance:
        """Return a test of a target's score with the p-value that counts the tests that shared the level."""
        shares = self._shares(target)
        return test if shares == 1 else replace(test, p_value=min(1.0, shares * test.p_value))

    def of_target(self, target: int) -> Scorer[Any]:
        return self._parts[target]

    def twin(self) -> "_PerTargetScorer":
        twin = copy.copy(self)
        made = {part: part.twin() for part in dict.fromkeys(self._parts)}
        twin._take([made[part] for part in self._parts])
        return twin
