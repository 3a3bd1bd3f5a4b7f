"""What a user asked for, and the score that follows where it was named or an estimator was given."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from enmesh.data.series import Series
from enmesh.embedding import Pasts
from enmesh.errors import InputError
from enmesh.estimators import Discrete, Estimator, Gaussian, Mixed
from enmesh.inference.evidence import Evidence
from enmesh.inference.rules import NEIGHBOURS, THRESHOLDS, decided
from enmesh.methods import from_name, members, resolve
from enmesh.options import brief
from enmesh.scores import TEA, TEE, Score
from enmesh.significance import least_surrogates
from enmesh.surrogates import Surrogate


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
    embedding: Pasts | None = None
    alpha: float | None = None
    surrogate: Surrogate | None = None
    n_surrogates: int | None = None
    max_lag: int | None = None
    seed: int = 0
    candidates: Any = ()
    """``{target: sources}`` that targets may have, where not all others."""

    def __post_init__(self) -> None:
        pairs = self.candidates.items() if isinstance(self.candidates, Mapping) else self.candidates
        object.__setattr__(self, "candidates", tuple((name, tuple(some)) for name, some in pairs))


def wanted_of(score: Any, estimator: Any, *, surrogate: Any = None, **options: Any) -> Wanted:
    """Return what a user asked for; methods may be given by their names."""
    chosen = resolve(Estimator, estimator) if estimator is not None else None
    if score is not None and not isinstance(score, str):
        score = resolve(Score, score)
        given = {"estimator": chosen, "surrogate": surrogate}
        given |= {key: options.get(key) for key in ("alpha", "n_surrogates", "embedding")}
        twice = [key for key, value in given.items() if value is not None]
        if twice:
            raise InputError(
                f"a score has its {twice[0]} already; give {twice[0]}= or a score, or the score by its name"
            )
    kind = resolve(Surrogate, surrogate) if surrogate is not None else None
    return Wanted(score=score, estimator=chosen, surrogate=kind, **options)


class Scores:
    """Makes scores of what was asked for: named ones, and those that suit an estimator; pasts are left open."""

    def __init__(self, series: Series, wanted: Wanted, choices: Choices, evidence: Evidence):
        self.series, self.wanted, self.choices, self.evidence = series, wanted, choices, evidence
        self._pairs = max(1, series.n_nodes * (series.n_nodes - 1))
        usual = max(THRESHOLDS.alpha, round(1 - 1 / self._pairs, 6))
        self.alpha = usual if wanted.alpha is None else wanted.alpha

    @property
    def level_in_words(self) -> str:
        """Say how many false links the level lets in, where it was chosen with the number of pairs."""
        chosen = self.alpha > THRESHOLDS.alpha and self.wanted.alpha is None
        return f"about one false link is to be expected among {self._pairs} pairs" if chosen else ""

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
            widened = "" if estimator.discrete else ", widened for memory and changes of variance"
            reason = f"its null distribution is known{widened}"
        reason = "; ".join(filter(None, [reason, self.level_in_words]))
        self.choices.add("score", f"{type(score).__name__}, alpha {self.alpha:g}", reason)
        return score

    def _named(self, name: str) -> Score:
        """Return a score by its name; what it takes of what was given is given to it, the rest is refused."""
        wanted = self.wanted
        kinds = (
            (getattr(kind, "cli_variants", ()) or (word,), kind) for word, kind in members(Score).items()
        )
        analytic = any(kind.needs_analytic for words, kind in kinds if name in words)
        estimator = wanted.estimator or self.estimator(analytic=analytic, counts=name == "mit")
        score = from_name(Score, name, estimator=estimator)
        known = type(score).__dataclass_fields__  # type: ignore[attr-defined]
        given = {key: getattr(wanted, key) for key in ("alpha", "surrogate", "n_surrogates")}
        given = {key: value for key, value in given.items() if value is not None}
        idle = [key for key in given if key not in known]
        if idle:
            raise InputError(f"{', '.join(idle)} has no effect on the score {name}; leave it out")
        usual: dict[str, Any] = {
            "alpha": self.alpha,
            "n_surrogates": self.count(self.alpha),
            "seed": wanted.seed,
        }
        usual |= {} if estimator.discrete else {"null": "shift"}
        given = {key: value for key, value in usual.items() if key in known} | given
        return resolve(Score, replace(score, **given))  # type: ignore[type-var]

    def estimator(self, *, analytic: bool = False, counts: bool = False) -> Estimator:
        """Choose one estimator for all targets: for a score that was named, or for the paper's procedure."""
        evidence, add = self.evidence, self.choices.add
        if evidence.kind == "states" or (counts and self.series.is_integer):
            why = f"states: at most {THRESHOLDS.states} different values in each column"
            return add("estimator", Discrete(), why)
        if analytic:
            why = "numbers, and the score needs a known null distribution"
            return add("estimator", Gaussian(normalise="rank"), why)
        if evidence.kind == "mixed":
            return add("estimator", Mixed(), "columns of numbers and of states together")
        if not evidence.searchable:
            why = "one estimator for all targets, and nearest neighbours of so many samples and nodes take hours"
            return add("estimator", Gaussian(normalise="rank"), why)
        rule = decided(NEIGHBOURS, evidence)
        return add("estimator", rule.choice(evidence), rule.reason)

    def count(self, alpha: float) -> int:
        """Return the number of surrogates: as given, or as many as a confidence level needs."""
        given = self.wanted.n_surrogates
        return given if given is not None else max(THRESHOLDS.surrogates, least_surrogates(alpha))

    def sampled(self, estimator: Estimator, alpha: float, pasts: Pasts | None = None) -> TEE:
        """Return a test by surrogates."""
        how: dict[str, Any] = {} if self.wanted.surrogate is None else {"surrogate": self.wanted.surrogate}
        count, seed = self.count(alpha), self.wanted.seed
        return TEE(estimator=estimator, embedding=pasts, alpha=alpha, n_surrogates=count, seed=seed, **how)
