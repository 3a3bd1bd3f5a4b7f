"""What stands behind a link: signed effect, shape, lags, chance, time and limits (`Network.explain`, the page's panel).

Effect, scatter and lags are what a regression says, given the target's own past and its other parents, of the samples
on which the network was inferred; none of it decides about a link. Nodes whose values are text have no such numbers.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from enmesh.data.series import Series
from enmesh.draw import answer
from enmesh.draw.shown import Shown
from enmesh.draw.subject import Network
from enmesh.embedding import Blocks, Lagged
from enmesh.embedding.fits import orthonormal_rest
from enmesh.errors import InputError, refuse_if
from enmesh.estimators.residuals import Residuals
from enmesh.estimators.scaling import normal_scores
from enmesh.links.samples import thinned
from enmesh.options import plain, restore

if TYPE_CHECKING:
    from enmesh.measures import Transfers

POINTS, CURVE, PIECES = 240, 32, 100  # of the scatter, of the line through it, of the time axis
QUANTILES = 60  # that stand for a null distribution which is known by a formula
LONGEST = 30  # lags of a curve, unless more were searched
LEVEL = 0.95
Tested = TypeVar("Tested", bound=Any)
Ends = tuple[int, int, Sequence[int]]  # source, target, given
nothing, no_points = partial(np.empty, 0), partial(np.empty, (0, 2))


@dataclass(frozen=True, kw_only=True)
class Explanation(Shown):
    """What stands behind one link.

    Attributes
    ----------
    source, target, given
        Names; ``given`` are the target's other parents.
    te, p_value, q_value, lag, effect, stability
        As in `Network.edges`.
    effect_error
        Standard error of the effect, which allows for heteroscedasticity (White 1980).
    low, high
        95 % limits of the transfer entropy, from the scatter of its local values; `enmesh.interval` also corrects bias.
    scatter
        ``(points, 2)``, thinned: the source at its strongest lag and the target's next value, both less what the
        target's own past and its other parents explain (regression with squares and products).
    curve
        ``(points, 2)``: a smooth line through all samples of the scatter.
    lags, lag_te, chance
        Transfer entropy at every lag by regression with squares (`lag_curve`), and what chance exceeds in 5 %.
    null
        Values that chance gives: of surrogates, or quantiles of the formula's distribution (``by_formula``).
    times, local
        Local transfer entropy, averaged over pieces of the recording: middle of each in samples, and value.
    sentence
        All of it in words.
    """

    source: str
    target: str
    given: tuple[str, ...] = ()
    te: float = math.nan
    p_value: float = math.nan
    q_value: float = math.nan
    lag: int = 1
    effect: float = math.nan
    effect_error: float = math.nan
    stability: float = math.nan
    low: float = math.nan
    high: float = math.nan
    scatter: np.ndarray = field(default_factory=no_points)
    curve: np.ndarray = field(default_factory=no_points)
    lags: tuple[int, ...] = ()
    lag_te: np.ndarray = field(default_factory=nothing)
    chance: float = math.nan
    null: np.ndarray = field(default_factory=nothing)
    by_formula: bool = False
    times: np.ndarray = field(default_factory=nothing)
    local: np.ndarray = field(default_factory=nothing)
    sentence: str = ""

    def __repr__(self) -> str:
        return f"Explanation({self.source} > {self.target}: {self.sentence})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as `Network.evidence` and the page hold it: arrays of few digits, no surrogate values."""
        kept = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "null" or self.by_formula}
        return {name: plain(one, 4 if isinstance(one, np.ndarray) else None) for name, one in kept.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], null: Sequence[float] = ()) -> "Explanation":
        """Return what `to_dict` wrote; ``null`` are the surrogate values, which the network's test keeps."""
        made: dict[str, Any] = {"null": list(null)}
        made |= {name: math.nan if one is None else one for name, one in data.items()}
        names = {"given": tuple(made.pop("given", ())), "lags": tuple(made.pop("lags", ()))}
        arrays = {name: np.array(one, float) for name, one in made.items() if isinstance(one, list)}
        return cls(**made | names | arrays)


class Explainer:
    """Explains the links of a network whose data are in memory; what targets share is prepared once."""

    def __init__(self, network: Network):
        self.network, self.series = network, network.series
        if "events" in network.provenance:
            other = "ask significance(events, source, target) for value and null"
            raise InputError(f"links of events have no such panel; {other}")
        if not hasattr(self.series, "trials"):
            advice = "ask the network that infer returned, or, of one from a file, for its links"
            raise InputError(f"the data are not in memory: {advice}")
        self.scorer = restore(network.options["score"]).bind(self.series)
        self.tests = {(c.source, c.target): c for c in network.candidates}

    def __call__(self, source: str, target: str) -> Explanation:
        """Return what stands behind a pair of nodes."""
        from scipy.special import ndtri

        series = self.series
        start, end = series.index(source), series.index(target)
        refuse_if(start == end, f"{source} is both source and target; name two nodes")
        given = [series.index(p) for p in self.network.parents[target] if p != source]
        transfers: Transfers = self.scorer.of_target(end).transfers
        test, blocks = self.tests.get((source, target)), transfers.blocks
        local, rows = self.scorer.local([start], end, given)
        local = np.asarray(local, float)
        if test and not test.lag:  # the scorer asks at lags from 1
            local, rows = local[:0], rows[:0]
        pieces = np.array_split(np.arange(len(local)), max(1, min(PIECES, len(local))))[: len(local)]
        te = float(test.te if test else local.mean())
        lag = int(test.lag) if test else blocks.lags(start, end)[0]
        starts = np.concatenate([[0], np.cumsum(series.lengths)])
        wide = math.nan
        if len(local):
            variance = long_run_variance(local, np.searchsorted(rows, starts)) / len(local)
            wide = float(ndtri((1 + LEVEL) / 2)) * math.sqrt(variance)
        ends = start, end, given
        about = _null(test, transfers, ends)
        about |= {name: float(getattr(test, name)) for name in ("p_value", "q_value") if test}
        if "text" not in {series.kinds[node] for node in (start, end, *given)}:
            about |= _shape(series, blocks, ends, lag)
        made = Explanation(
            source=source, target=target, given=tuple(series.names[p] for p in given), te=te, lag=lag,
            stability=self.network.stability.get(f"{source}>{target}", math.nan),
            low=max(te - wide, 0.0), high=max(te + wide, 0.0),
            times=np.array([float(rows[piece].mean()) for piece in pieces]),
            local=np.array([local[piece].mean() for piece in pieces]), **about,
        )  # fmt: skip
        return replace(made, sentence=in_words(made, self.network))


def _shape(series: Series, blocks: Blocks, ends: Ends, lag: int) -> dict[str, Any]:
    """Return the scatter, the line through it, the linear effect and the lags."""
    source, target, given = ends
    rows = thinned(blocks.rows)
    both = _taken(series.values, rows, [Lagged(source, lag), Lagged(target, 0)])
    basis = Residuals("quadratic", _taken(series.values, rows, _known(blocks, target, given))).basis
    left = both - basis @ (basis.T @ both) + both.mean(axis=0)
    shown = left[np.unique(np.linspace(0, len(left) - 1, POINTS).astype(int))]
    lags = _lags(series, [blocks])
    lag_te, chance = lag_curve(series, blocks, ends, lags)
    (effect,) = effects(series, blocks, target, given, [(source, lag)])
    about = {"scatter": shown, "curve": smooth(*left.T), "effect": effect, "effect_error": _error(both, left)}
    return about | {"lags": lags, "lag_te": lag_te, "chance": chance}


def _error(both: np.ndarray, left: np.ndarray) -> float:
    """Return the standard error (White 1980) of the slope between residuals, in standard deviations of both nodes."""
    (x, y), (wide, tall) = (left - left.mean(axis=0)).T, both.std(axis=0)
    size = float(x @ x)
    if not (size > 0 and tall > 0):
        return math.nan
    rest = y - x * (x @ y) / size
    return float(np.sqrt(x**2 @ rest**2) / size * wide / tall)


def _null(test: Any, transfers: "Transfers", ends: Ends) -> dict[str, Any]:
    """Return surrogate values, or quantiles of a chi-square that is scaled to give the p-value of the test."""
    from scipy.special import chdtri, gammaincinv

    if test is not None and test.null:
        return {"null": np.array(test.null)}
    if not transfers.estimator.analytic:
        return {}
    asked = transfers.variables([ends[0]], *ends[1:])
    dof, scale = transfers.dof(*asked), 1 / (2 * transfers.effective_samples(*asked))
    if test is not None and 0 < test.p_value < 0.5 and test.te > 0:
        scale = min(max(test.te / float(chdtri(dof, test.p_value)), scale), 20 * scale)
    return {"null": scale * 2 * gammaincinv(dof / 2, (np.arange(QUANTILES) + 0.5) / QUANTILES), "by_formula": True}


def explain(network: Network, source: str, target: str) -> Explanation:
    """Return what stands behind a pair of nodes: as a file kept it, or from the data."""
    stored = network.evidence.get(f"{source}>{target}")
    if stored is not None:
        nulls = {(c.source, c.target): c.null for c in network.candidates}
        return Explanation.from_dict(stored, nulls.get((source, target), ()))
    return Explainer(network)(source, target)


def lag_grid(network: Network) -> tuple[tuple[int, ...], np.ndarray, np.ndarray]:
    """Return lags, transfer entropy ``(source, target, lag)`` as of `lag_curve`, and chance ``(source, target)``."""
    explainer, series, size = Explainer(network), network.series, len(network.names)
    blocks = [explainer.scorer.of_target(j).transfers.blocks for j in range(size)]
    lags = _lags(series, blocks)
    te, chance = np.full((size, size, len(lags)), np.nan), np.full((size, size), np.nan)
    for i, j in np.argwhere(~np.eye(size, dtype=bool)):
        given = [p for p in map(series.index, network.parents[network.names[j]]) if p != i]
        if "text" not in {series.kinds[node] for node in (i, j, *given)}:
            te[i, j], chance[i, j] = lag_curve(series, blocks[j], (i, j, given), lags)
    return lags, te, chance


def with_effects(
    tests: Sequence[Tested], series: Series, blocks: Sequence[Blocks], parents: Sequence[Any]
) -> tuple[Tested, ...]:
    """Return the tests with their ``effect``; ``blocks[target]`` are the samples a target was asked on."""
    groups, made = defaultdict(list), list(tests)
    for row, test in enumerate(tests):
        source, target = series.index(test.source), series.index(test.target)
        given = tuple(p for p in parents[target] if p != source)
        groups[target, given].append((row, (source, test.lag)))
    for (target, given), asked in groups.items():
        rows, links = zip(*asked)
        for row, effect in zip(rows, effects(series, blocks[target], target, given, links)):
            made[row] = replace(tests[row], effect=effect)
    return tuple(made)


def effects(
    series: Series, blocks: Blocks, target: int, given: Sequence[int], links: Sequence[tuple[int, int]]
) -> list[float]:
    """Return the linear effect of each ``(source, lag)`` on a target, in standard deviations of both.

    It is the coefficient of the source at that lag in the regression of the target on it, the target's own past and
    the pasts of the parents ``given``, where source and target are measured in their own standard deviations.
    """
    rows = thinned(blocks.rows)
    known = _taken(series.values, rows, _known(blocks, target, given))
    columns = _taken(series.values, rows, [Lagged(target, 0), *(Lagged(*link) for link in links)])
    constant, centred = np.full((len(known), 1), len(known) ** -0.5), columns - columns.mean(axis=0)
    basis = orthonormal_rest(constant, known - known.mean(axis=0))
    left, spread = centred - basis @ (basis.T @ centred), columns.std(axis=0)
    size = (left[:, 1:] ** 2).sum(axis=0)
    clear = (size > 1e-12 * (columns[:, 1:] ** 2).sum(axis=0)) & (spread[0] > 0)
    clear &= ["text" not in (series.kinds[source], series.kinds[target]) for source, _ in links]
    slope = left[:, 1:].T @ left[:, 0] / np.where(clear, size, 1)
    return np.where(clear, slope * spread[1:] / (spread[0] or 1), np.nan).tolist()


def lag_curve(series: Series, blocks: Blocks, ends: Ends, lags: Sequence[int]) -> tuple[np.ndarray, float]:
    """Return transfer entropy at each lag by regression on the source and its square, and what chance exceeds in 5 %.

    Everything is taken as normal scores; squares and products of what is given are held fixed too. One regression for
    each lag by itself: a lag beside the one that acts can show an echo of it.
    """
    from scipy.special import chdtri

    source, target, given = ends
    first = np.repeat(np.concatenate([[0], np.cumsum(series.lengths)[:-1]]), series.lengths)
    rows = thinned(blocks.rows[blocks.rows - first[blocks.rows] >= max(lags)])
    scores = np.full(series.values.shape, np.nan)
    for node in (source, target, *given):
        column = series.values[:, node].astype(float)
        there = np.isfinite(column)
        scores[there, node] = normal_scores(column[there])
    fixed = [Lagged(target, 0), *_known(blocks, target, given)]
    whole = _taken(scores, rows, [*fixed, *(Lagged(source, lag) for lag in lags)])
    whole = whole[np.isfinite(whole).all(axis=1)]
    if len(whole) < 20:
        return np.full(len(lags), np.nan), math.nan
    y, z, x = np.split(whole, [1, len(fixed)], axis=1)
    left = Residuals("quadratic", z)
    y_left, features = left(y)[:, 0], left(np.hstack([x, x**2]))
    value = np.empty(len(lags))
    for k in range(len(lags)):
        pair = features[:, [k, k + len(lags)]]
        unexplained = y_left - pair @ np.linalg.lstsq(pair, y_left, rcond=None)[0]
        value[k] = -0.5 * np.log(max(float(unexplained @ unexplained) / float(y_left @ y_left), 1e-12))
    return value, float(chdtri(2, 0.05) / (2 * len(whole)))


def _lags(series: Series, blocks: Sequence[Blocks]) -> tuple[int, ...]:
    """Return the lags that are shown: beyond the longest past, and all that were searched."""
    span = max(one.span for one in blocks)
    most = max(span, min(LONGEST, max(10, 2 * span)), *(one.searched for one in blocks))
    return tuple(range(1, max(2, min(most, min(series.lengths) // 5)) + 1))


def _known(blocks: Blocks, target: int, given: Sequence[int]) -> list[Lagged]:
    """Return what is held fixed: the own past of the target and the pasts of the other parents."""
    return blocks.past([target], target) + blocks.past(sorted(given), target)


def _taken(values: np.ndarray, rows: np.ndarray, variables: Sequence[Lagged]) -> np.ndarray:
    """Return lagged variables at some rows, ``(rows, variables)``."""
    columns = (values[rows - lag, node].astype(float) for node, lag in variables)
    return np.column_stack([np.empty((len(rows), 0)), *columns])


def smooth(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return a local linear regression of y on x at `CURVE` places between the 1st and the 99th percentile of x."""
    low, high = np.quantile(x, [0.01, 0.99])
    if not high > low:
        return np.empty((0, 2))
    places = np.linspace(low, high, CURVE)
    away = x[:, None] - places
    weight = np.exp(-0.5 * (away / (1.3 * x.std() * len(x) ** -0.2)) ** 2) + 1e-12
    total, first, second = weight.sum(0), (weight * away).sum(0), (weight * away**2).sum(0)
    level, tilt = weight.T @ y, (weight * away).T @ y
    fitted = (second * level - first * tilt) / np.maximum(total * second - first**2, 1e-300)
    return np.column_stack([places, fitted])


def long_run_variance(local: np.ndarray, starts: np.ndarray) -> float:
    """Return N times the variance of a mean of dependent values: Bartlett's weights over N^(1/3) lags within trials."""
    centred, n = local - local.mean(), len(local)
    lags = round(n ** (1 / 3))
    total = float(centred @ centred)
    for first, last in zip(starts[:-1], starts[1:]):
        part = centred[first:last]
        for lag in range(1, min(lags, len(part) - 1) + 1):
            total += 2 * (1 - lag / (lags + 1)) * float(part[lag:] @ part[:-lag])
    return max(total, 0.0) / n


def in_words(about: Explanation, network: Network) -> str:
    """Say what a link means, in two or three sentences."""
    source, target = about.source, about.target
    when = f"{answer.later(network, about.lag)} later" if about.lag else "within the same sample"
    interval = f", 95 % interval {about.low:.3g} to {about.high:.3g}" if math.isfinite(about.low) else ""
    others = f" and of {', '.join(about.given)}" if about.given else ""
    size = f"{about.te:.3g} nats{interval}"
    said = [f"{source} helps predict {target} {when} ({size}), beyond the past of {target}{others}."]
    if math.isfinite(about.p_value):
        said.append(f"p = {about.p_value:.2g}." if about.p_value > 0 else "p < 1e-300.")
    if math.isfinite(about.effect):
        size, sign = f"{abs(about.effect):.2g} standard deviations", answer.effect_sign(vars(about))
        way = {"up": "rises", "down": "falls"}.get(sign, "changes")
        unsure = {"curved": "; the dependence is curved", "": "; the sign is not certain"}.get(sign, "")
        said.append(f"If {source} rises by one standard deviation, {target} {way} by {size}, on average{unsure}.")
    return " ".join(said)
