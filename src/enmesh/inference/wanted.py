"""What a user asked for: the score that follows, if it was named or an estimator was given; and which links may be."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from enmesh.data.graph_input import edges_in, sources_in, tiers_in
from enmesh.data.series import Series
from enmesh.embedding import Pasts, checked_pasts
from enmesh.errors import InputError, first_few, hazard, refuse_if
from enmesh.estimators import KSG, Discrete, Estimator, Gaussian, Mixed
from enmesh.methods import by_name, from_name, resolve
from enmesh.options import brief
from enmesh.scores import TEA, TEE, LinkTest, Score
from enmesh.search.base import Problem
from enmesh.significance import usual_surrogates
from enmesh.surrogates import Surrogate

Edges = Iterable[tuple[str, str]]
LEVEL = 0.01  # error rate of a link, where none is given (a convention)
STATES = 10  # different values up to which integers are states for `Discrete` and `Mixed` (a convention)


class Choices(list[tuple[str, str, str]]):
    """What was chosen for the user, and why: ``(what, value, reason)``."""

    def add(self, what: str, value: Any, reason: str) -> Any:
        """Record a choice and return its value."""
        self.append((what, brief(value) if isinstance(value, Estimator) else str(value), reason))
        return value


@dataclass(frozen=True)
class Request:
    """The options of a user; None means that the data decide. Methods may be given by their names."""

    score: Any = None
    estimator: Any = None
    embedding: Pasts | None = None
    alpha: float | None = None
    surrogate: Any = None
    n_surrogates: int | None = None
    max_lag: int | None = None
    seed: int = 0
    candidates: tuple[tuple[str, tuple[str, ...]], ...] = ()  # (target, sources) it may have, where not all
    level: float | None = None
    fdr: float | None = None
    context: tuple[str, ...] = ()
    most: int | None = None  # sources of a target
    events: bool = False  # whether it is wanted of events, which have another default

    def __post_init__(self) -> None:
        kinds = {"estimator": Estimator, "surrogate": Surrogate, "score": Score}
        for name, kind in kinds.items():
            given = getattr(self, name)
            if given is not None and not (name == "score" and isinstance(given, str)):
                object.__setattr__(self, name, resolve(kind, given))
        for pasts in (self.embedding, getattr(self.score, "embedding", None)):
            checked_pasts(pasts)
        for name in ("estimator", "surrogate", "alpha", "n_surrogates", "embedding"):
            if isinstance(self.score, Score) and getattr(self, name) is not None:
                raise InputError(f"a score has its {name} already; give {name}= or a score, or the score by its name")
        if self.by_link_test:
            for name in ("surrogate", "n_surrogates"):
                if getattr(self, name) is not None:
                    raise InputError(
                        f"{name} has no effect on the default test, which makes its own circular shifts; add "
                        "score='tee' for a test by surrogates, or leave it out"
                    )
        else:
            for name, what in (("fdr", self.fdr), ("context", self.context)):
                if what:
                    raise InputError(f"{name} belongs to the default test; leave score, estimator and embedding out")

    def at_level(self) -> "Request":
        """Return the request with an error level instead of a confidence level (``alpha``) of the default test."""
        if self.alpha is not None and 0 < self.alpha < 0.5:
            raise InputError(f"alpha={self.alpha:g} is a confidence level; give level={self.alpha:g} for an error rate")
        if not self.by_link_test:
            if self.level is not None and self.alpha is None and not isinstance(self.score, Score):
                return replace(self, alpha=round(1 - float(self.level), 12))
            return self
        if self.alpha is None:
            return self
        if self.level is not None:
            raise InputError("alpha and level are both given; give level alone")
        level = round(1 - float(self.alpha), 12)
        hazard(f"alpha={self.alpha:g} is a confidence level, and deprecated here; give level={level:g}")
        return replace(self, alpha=None, level=level)

    @property
    def by_link_test(self) -> bool:
        """Whether the default test is asked: no other score, estimator or embedding is given."""
        default = self.score is None or self.score == "link" or isinstance(self.score, LinkTest)
        return not self.events and default and self.estimator is None and self.embedding is None


def kind_of(series: Series) -> str:
    """Return ``"states"``, ``"numbers"`` or ``"mixed"``: text and few different integers are states."""
    states = [
        kind == "text" or (kind == "integer" and len(np.unique(column[np.isfinite(column)])) <= STATES)
        for kind, column in zip(series.kinds, series.values.T.astype(float))
    ]
    return "states" if all(states) else "mixed" if any(states) else "numbers"


class Scores:
    """Makes the score of a request: as named, or as suits the estimator; its pasts are chosen later."""

    def __init__(self, series: Series, wanted: Request, choices: Choices):
        self.series, self.wanted, self.choices = series, wanted, choices
        self._nodes = range(series.n_nodes)
        possible = dict(wanted.candidates)
        others, context = series.n_nodes - 1, set(wanted.context)
        pairs = (len(possible.get(name, range(others))) for name in series.names if name not in context)
        self._pairs = max(1, sum(pairs))
        usual = min(LEVEL, 1 / self._pairs)
        # With fdr, a level only limits the one that follows.
        self.level = usual if wanted.level is None else wanted.level if wanted.fdr is None else min(usual, wanted.level)
        self.alpha = round(1 - self.level, 12) if wanted.alpha is None else wanted.alpha

    def one(self) -> Score:
        """Return the score that was given or named, or the one that suits the estimator that was given."""
        wanted = self.wanted
        if isinstance(wanted.score, Score):
            return wanted.score
        if wanted.score is not None:
            return self._named(wanted.score)
        estimator = wanted.estimator or self.estimator()
        score: Score
        if not estimator.analytic or wanted.surrogate is not None or wanted.n_surrogates is not None:
            score = self.sampled(estimator, self.alpha)
            reason = f"{score.n_surrogates} surrogates"
        else:
            score = TEA(estimator=estimator, alpha=self.alpha, null="chi2" if estimator.discrete else "shift")
            widened = "" if estimator.discrete else ", scaled for memory and changes of variance"
            reason = f"its null distribution is known{widened}"
        if self._pairs > 1 / LEVEL and wanted.alpha is None and wanted.level is None:
            reason += f"; about one false link is to be expected among {self._pairs} pairs"
        self.choices.add("score", f"{type(score).__name__}, alpha {self.alpha:.9g}", reason)
        return score

    def _named(self, name: str) -> Score:
        """Return a score by its name; what it takes of what was given is given to it, the rest is refused."""
        wanted = self.wanted
        analytic = getattr(by_name(Score).get(name), "needs_analytic", False)
        estimator = wanted.estimator or self.estimator(analytic=analytic, counts=name == "mit")
        score = from_name(Score, name, estimator=estimator)
        known = type(score).__dataclass_fields__  # type: ignore[attr-defined]
        given = {key: getattr(wanted, key) for key in ("alpha", "surrogate", "n_surrogates")}
        given = {key: value for key, value in given.items() if value is not None}
        idle = ["level" if key == "alpha" and wanted.level is not None else key for key in given if key not in known]
        if idle:
            raise InputError(f"{', '.join(idle)} has no effect on the score {name}; leave it out")
        usual: dict[str, Any] = {"null": "shift"} if not estimator.discrete else {}
        usual |= {"alpha": self.alpha, "n_surrogates": self.count(self.alpha), "seed": wanted.seed}
        given = {key: value for key, value in usual.items() if key in known} | given
        return resolve(Score, replace(score, **given))  # type: ignore[type-var]

    def estimator(self, *, analytic: bool = False, counts: bool = False) -> Estimator:
        """Choose one estimator for all targets: for a score that was named, or for the paper's procedure."""
        kind = kind_of(self.series)
        if kind == "states" or (counts and self.series.is_integer):
            chosen: Estimator = Discrete()
            why = f"states: at most {STATES} different values in each column"
        elif analytic:
            chosen, why = Gaussian(normalise="rank"), "numbers, and the score needs a known null distribution"
        elif kind == "mixed":
            chosen, why = Mixed(), "columns of numbers and of states together"
        else:
            chosen, why = KSG(), "numbers: nearest neighbours, as in the paper"
        return self.choices.add("estimator", chosen, why)

    def count(self, alpha: float) -> int:
        """Return the number of surrogates: as given, or as many as a confidence level needs."""
        given = self.wanted.n_surrogates
        return usual_surrogates(alpha) if given is None else given

    def sampled(self, estimator: Estimator, alpha: float, pasts: Pasts | None = None) -> TEE:
        """Return a test by surrogates."""
        sampling: Any = {"surrogate": self.wanted.surrogate, "n_surrogates": self.count(alpha)}
        return TEE(estimator=estimator, embedding=pasts, alpha=alpha, seed=self.wanted.seed, **sampling)


def constrained(
    series: Series, acyclic: bool, seed: int, required: Edges, forbidden: Edges, tiers: Any, candidates: Any,
    context: Sequence[str] = (),
) -> Problem:  # fmt: skip
    """Return what a search may find, from the rules as a user writes them (`infer`); contradictions are refused."""
    never = _edges(series, forbidden) | _against(series, tiers)
    nodes = range(series.n_nodes)
    given = {series.index(target): series.indices(named) for target, named in sources_in(candidates).items()}
    refused = {i: {i} for i in nodes}
    refuse_if(
        len(set(context)) == len(nodes), "context names every node, so that none can be driven; leave one out of it"
    )
    for name in context:
        refused[series.index(name)] |= {*nodes}
    for source, target in never:
        refused[target].add(source)
    possible = [sorted({*given.get(i, nodes)} - refused[i]) for i in nodes]
    return Problem(
        n_nodes=len(nodes),
        max_parents=len(nodes),
        acyclic=acyclic,
        required=_edges(series, required),
        forbidden=never,
        candidates=tuple(map(tuple, possible)),
        seed=seed,
        names=series.names,
    )


def _against(series: Series, tiers: Sequence[Sequence[str]] | None) -> frozenset[tuple[int, int]]:
    """Return the edges from a later tier to an earlier one."""
    place: dict[int, int] = {}
    for position, group in enumerate(tiers_in(tiers)):
        for name in group:
            node = series.index(name)
            if node in place:
                raise InputError(f"{series.names[node]} is in two tiers; name each node once")
            place[node] = position
    if place and (free := [name for i, name in enumerate(series.names) if i not in place]):
        told = f"no tier has {first_few(free)}: {'its' if len(free) == 1 else 'their'} links are not restricted"
        hazard(f"{told}; name every node in a tier to restrict them all")
    return frozenset((j, i) for j in place for i in place if place[j] > place[i])


def _edges(series: Series, edges: Edges) -> frozenset[tuple[int, int]]:
    return frozenset((series.index(source), series.index(target)) for source, target in edges_in(edges))
