"""The defaults of `infer` as data: thresholds with where they come from, and a table of rules with their reasons.

A rule says, of what the data show (`inference.evidence`), which tests of a link are made; the first rule that holds
decides. A second table says how nearest neighbours are asked. docs/defaults.md shows these tables.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from enmesh.estimators import KSG
from enmesh.estimators.ksg import MOST, USUAL


@dataclass(frozen=True)
class Thresholds:
    """Numbers that the defaults go by: where each was measured, what it was chosen on, or that it is a convention."""

    states: int = 10
    """A column with at most this many different integers holds states. (A convention.)"""
    few_samples: int = 100
    """Samples from which on curves and neighbours are asked. (A convention; not measured.)"""
    few_smooth: int = 500
    """Samples from which on lags of smooth series can be told apart (flows at the fine step, 400 samples)."""
    smooth: float = 0.1
    """Share of the variance that a line through the own past leaves of a smooth node. (A convention; not measured.)"""
    determined: float = 0.2
    """Variance that random features of the own past leave where a node nearly follows from it (chosen on flows)."""
    blind: float = 0.95
    """Share of the variance that regressions leave where they see little: maps of Novelli .95, random VARs .91."""
    straight: float = 0.98
    """A curve predicts no better than a line if its error is at least this share. (A convention; not measured.)"""
    clearly: float = 0.9
    """A prediction is clearly better if its squared error is below this share. (A convention; not measured.)"""
    heavy_tails: float = 10.0
    """Excess kurtosis beyond which normal scores are used: forks with heavy tails (curves, T = 1000) .97 for .68."""
    light_tails: float = 3.0
    """Excess kurtosis below which a line may suit: with 10, v-structures of 250 samples fell from .86 to .79. And
    neighbours take values as they are: ten maps of Novelli, 1,000 samples, seeds 20 to 27, .87 for .77 on ranks."""
    common_variance: float = 0.55
    """Correlation of log variances beyond which they are common. (Taken over from 0.2.0; not measured again.)"""
    usual_lag: int = 5
    """Lag up to which sources are looked for where nothing is found beyond. (A convention; not measured.)"""
    most_lags: int = 10
    """Largest lag that is looked at without being asked for. (A convention; not measured.)"""
    samples_per_lag: int = 50
    """Samples for each lag: with fewer, p-values of the best of many lags are too small (N = 300, 20 lags: .084)."""
    lagged_variables: int = 6000
    """Lagged variables that a default run looks at, in all. (A convention: 600 nodes at ten lags take 30 s.)"""
    enough_samples: int = 5000
    """Samples by which predictions are compared. (A convention; not measured.)"""
    few_nodes: int = 5
    """Nodes up to which neighbours alone are asked of smooth series. (A convention; not measured.)"""
    reachable: int = 20
    """Nodes up to which 1,000 surrogates reach the share of the level that neighbours have."""
    glance: float = 6.0
    """Standard deviations by which a source must stand out to be tested by neighbours though a regression may suit the
    target. (Of 43 links by sines and to variances, N = 1,000, 41 stood out by 6.9 to 32, two by 3.7, 5.5; 425 targets
    without such at most by 4.9.)"""
    direct: float = 0.6
    """Share of what the strongest known source says, given the others, that a source must say for that. (Indirect ones
    of four rings of Lorenz (1996), F = 40, every .1: 15 of .39 to .51; direct ones of those and by sines: .70 up.)
    """
    searchable: int = 20_000
    """Samples x nodes up to which neighbours are asked alone: about five minutes."""
    alpha: float = 0.99
    """Confidence level; raised with the number of pairs, so that about one false link is let into a network."""
    added: float = 4.0
    """Links that twice the level must add, for each that chance would add, for the level to be doubled: a local false
    discovery rate of a quarter (a convention). VAR of Novelli, 100 nodes, T = 1,000, 16 seeds: recall .53 for .47, 2.8
    false links for .6; random VARs of 40 and 100 nodes: the same links."""
    surrogates: int = 199
    """Surrogates of a test by neighbours at least."""
    few_parents: int = 3
    """Parents of a node that are tried first; more where the data call for them."""


THRESHOLDS = Thresholds()

# Shares of the level that the tests have which are made of the same link; those of `TARGETS` were chosen on networks of
# Novelli et al. (seeds 5 to 27) and the public forks and v-structures, those of smooth series on Lorenz-96.
SHARES: dict[str, dict[str, float]] = {"line": {"line": 1.0}, "smooth": {"line": 0.3, "curve": 0.7}}
NEIGHBOURS_SHARE = 0.4


@dataclass(frozen=True)
class Rule:
    """If ``when`` holds of the evidence, ``choice`` is taken; ``data`` and ``reason`` say it in words."""

    data: str
    when: Callable[..., bool]
    choice: Any
    reason: str


TESTS = (
    Rule("states in all columns: text, or at most 10 different integers", lambda e: e.kind == "states", "counts",
         "states are counted; chi-square"),
    Rule("columns of states and of numbers", lambda e: e.kind == "mixed", "mixed",
         "numbers and states together; surrogates"),
    Rule("fewer than 100 samples", lambda e: e.samples < THRESHOLDS.few_samples, "line",
         "too few samples for curves and nearest neighbours"),
    Rule("changes of variance that are common to the nodes", lambda e: e.variance_is_common, "line",
         "changes of variance are common, which curves and neighbours take for links"),
    Rule("smooth numbers (the own past leaves less than a tenth of the variance) of at most 5 nodes, or that nearly "
         "follow from their own past, by no line or parabola, of so many samples and nodes as neighbours can be asked "
         "about",
         lambda e: e.smooth and e.searchable and (e.nodes <= THRESHOLDS.few_nodes or e.nearly_deterministic),
         "neighbours",
         "smooth: what drives a node is a small part of it, which no parabola follows"),
    Rule("other smooth numbers", lambda e: e.smooth, "smooth",
         "smooth: a curve conditions most of it away; what it finds is confirmed by neighbours"),
    Rule("all other numbers", lambda e: True, "all",
         "lines, curves and nearest neighbours see different links"),
)  # fmt: skip

TARGETS = (
    Rule("a line through its own past explains 5 % or more of it, a curve predicts no better, and no tails are heavy",
         lambda e, i: e.left_by_own_past[i] < THRESHOLDS.blind
         and e.curvature[i] >= THRESHOLDS.straight and e.tails < THRESHOLDS.light_tails,
         {"line": 0.9, "curve": 0.1}, "its dynamics are linear as far as its own past shows"),
    Rule("all others in networks of at most 20 nodes", lambda e, i: e.nodes <= THRESHOLDS.reachable,
         {"line": 0.2, "curve": 0.4, "neighbours": NEIGHBOURS_SHARE}, "nothing says which test suits"),
    Rule("all others", lambda e, i: True, {"line": 0.4, "curve": 0.6},
         "the level of so many pairs takes more surrogates than neighbours can be asked about"),
)  # fmt: skip

NEIGHBOURS = (
    Rule("nearly follow from their own past, by no line or parabola", lambda e: e.nearly_deterministic,
         lambda e: KSG(k=USUAL, normalise="rank" if e.heavy_tails else "zscore", residual="features"),
         "nearly deterministic: neighbours look at what random features of the own past leave, where drivers act"),
    Rule("smooth", lambda e: e.smooth,
         lambda e: KSG(normalise="zscore" if e.samples < THRESHOLDS.few_smooth and not e.heavy_tails else "rank"),
         "smooth: residuals would be mostly noise"),
    Rule("noisy and curved: a curve through the own past predicts clearly better than a line", lambda e: e.curved,
         lambda e: KSG(k=USUAL, normalise="rank", residual="quadratic"),
         "noisy: neighbours look at residuals; few of them, since the structure is fine"),
    Rule("noisy, and no tails are heavy", lambda e: e.tails < THRESHOLDS.light_tails,
         lambda e: KSG(k=_many(e), normalise="zscore", residual="quadratic"),
         "noisy: many neighbours find weaker links; of values as they are, which ranks bend"),
    Rule("noisy", lambda e: True, lambda e: KSG(k=_many(e), normalise="rank", residual="quadratic"),
         "noisy: neighbours look at residuals; many of them find weaker links"),
)  # fmt: skip


def _many(evidence: Any) -> int:
    return min(MOST, max(USUAL, round(evidence.samples**0.5 / 3)))


def decided(table: tuple[Rule, ...], *evidence: Any) -> Rule:
    """Return the first rule that holds of the evidence, or of the evidence of one target."""
    return next(rule for rule in table if rule.when(*evidence))
