"""What stands behind one link: shape, lags, chance, time and limits, as the page's panel and `Network.explain` show."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding import Lagged
from enmesh.errors import InputError
from enmesh.estimators.residuals import Residuals
from enmesh.inference.effects import effects, known, lag_curve, samples
from enmesh.options import plain, restore

if TYPE_CHECKING:
    from enmesh.inference.network import Network
    from enmesh.measures import Transfers

POINTS, CURVE, PIECES = 240, 32, 100  # of the scatter, of the line through it, of the time axis
QUANTILES = 60  # that stand for a null distribution which is known by a formula
LONGEST = 30  # lags of a curve, unless more were searched
LEVEL = 0.95


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """What stands behind one link.

    Attributes
    ----------
    source, target, given
        Names; ``given`` are the target's other parents.
    te, p_value, q_value, lag, effect, stability
        As in `Network.edges`.
    low, high
        95 % limits of the transfer entropy, from the scatter of its local values; `enmesh.interval` also corrects bias.
    scatter
        ``(points, 2)``, thinned: the source at its strongest lag and the target's next value, both less what the
        target's own past and its other parents explain (regression with squares and products).
    curve
        ``(points, 2)``: a smooth line through all samples of the scatter.
    lags, lag_te, chance
        Transfer entropy at every lag by regression with squares (`effects.lag_curve`), and what chance exceeds in 5 %.
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
    stability: float = math.nan
    low: float = math.nan
    high: float = math.nan
    scatter: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))
    curve: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))
    lags: tuple[int, ...] = ()
    lag_te: np.ndarray = field(default_factory=lambda: np.empty(0))
    chance: float = math.nan
    null: np.ndarray = field(default_factory=lambda: np.empty(0))
    by_formula: bool = False
    times: np.ndarray = field(default_factory=lambda: np.empty(0))
    local: np.ndarray = field(default_factory=lambda: np.empty(0))
    sentence: str = ""

    def plot(self, path: str | Path | None = None, *, theme: str = "auto") -> Any:
        """Draw scatter, lags, chance and time side by side; save to ``path`` if one is given; return the figure."""
        from enmesh.draw.curves import explanation

        return explanation(self, path=path, theme=theme).figure

    def _repr_html_(self) -> str:
        from enmesh.draw.report.notebook import explanation_html

        return explanation_html(self)

    def __repr__(self) -> str:
        return f"Explanation({self.source} > {self.target}: {self.sentence})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data with a few digits, as `Network.evidence` and the page hold it; without the null values."""
        kept = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "null" or self.by_formula}
        return plain({name: _rounded(value) for name, value in kept.items()})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], null: Sequence[float] = ()) -> "Explanation":
        """Return what `to_dict` wrote; ``null`` are the surrogate values, which the network's test keeps."""
        kinds = {f.name: f.type for f in fields(cls)}
        made: dict[str, Any] = {}
        for name, value in {"null": list(null), **data}.items():
            if kinds[name] is np.ndarray:
                shape = (-1, 2) if name in ("scatter", "curve") else (-1,)
                made[name] = np.array([np.nan if v is None else v for v in np.ravel(value)], float).reshape(
                    shape
                )
            elif kinds[name] is float:
                made[name] = math.nan if value is None else float(value)
            else:
                made[name] = tuple(value) if isinstance(value, list) else value
        return cls(**made)


def _rounded(value: Any, digits: int = 4) -> Any:
    if isinstance(value, np.ndarray):
        return [_rounded(item, digits) for item in value.tolist()]
    if isinstance(value, list):
        return [_rounded(item, digits) for item in value]
    return float(f"{value:.{digits}g}") if isinstance(value, float) and math.isfinite(value) else value


class Explainer:
    """Explains the links of a network from the series it was inferred from; what targets share is prepared once."""

    def __init__(self, network: "Network", series: Series):
        self.network, self.series = network, series
        self.scorer = restore(network.options["score"]).bind(series)
        self.tests = {(c.source, c.target): c for c in network.candidates}

    def __call__(self, source: str, target: str) -> Explanation:
        """Return what stands behind a pair of nodes."""
        start, end = self.series.index(source), self.series.index(target)
        if start == end:
            raise InputError(f"{source} is both source and target; name two nodes")
        given = [self.series.index(p) for p in self.network.parents[target] if p != source]
        transfers: Transfers = self.scorer.of_target(end).transfers
        test = self.tests.get((source, target))
        about: dict[str, Any] = {
            "source": source,
            "target": target,
            "given": tuple(self.series.names[p] for p in given),
            "lag": int(test.lag) if test else transfers.blocks.lags(start, end)[0],
            "stability": self.network.stability.get(f"{source}>{target}", math.nan),
        }
        about |= {name: float(getattr(test, name)) for name in ("te", "p_value", "q_value") if test}
        about |= self._shape(transfers, start, end, given, about["lag"]) | self._over_time(
            transfers, start, end, given
        )
        value = about.setdefault("te", about.pop("mean"))
        about.pop("mean", None)
        wide = about.pop("wide")
        about |= {"low": max(0.0, value - wide), "high": max(0.0, value + wide)}
        about |= self._null(test, transfers, start, end, given)
        return Explanation(**about, sentence=in_words(about, self.series.dt))

    def _shape(
        self, transfers: "Transfers", source: int, target: int, given: list[int], lag: int
    ) -> dict[str, Any]:
        """Return the scatter, the line through it, the linear effect and the lags."""
        series, blocks = self.series, transfers.blocks
        if "text" in {series.kinds[node] for node in (source, target, *given)}:
            return {}
        both = samples(series, blocks, [Lagged(source, lag), Lagged(target, 0)])
        basis = Residuals("quadratic", samples(series, blocks, known(blocks, target, given))).basis
        left = both - basis @ (basis.T @ both) + both.mean(axis=0)
        shown = left[np.unique(np.linspace(0, len(left) - 1, POINTS).astype(int))]
        most = max(blocks.span, min(LONGEST, max(10, 2 * blocks.span)), blocks.searched)
        lags = tuple(range(1, max(2, min(most, min(series.lengths) // 5)) + 1))
        lag_te, chance = lag_curve(series, blocks, source, target, given, lags)
        parents = [series.index(p) for p in self.network.parents[series.names[target]]]
        effect = effects(series, blocks, target, parents, [(source, lag)])[0]
        about = {"scatter": shown, "curve": smooth(*left.T), "effect": effect}
        return about | {"lags": lags, "lag_te": lag_te, "chance": chance}

    def _over_time(
        self, transfers: "Transfers", source: int, target: int, given: list[int]
    ) -> dict[str, Any]:
        """Return local values over time, their mean, and half the width of its limits."""
        from scipy.special import ndtri

        local = np.asarray(transfers.value([source], target, given, pointwise=True), float)
        error = math.sqrt(long_run_variance(local, transfers.blocks.starts) / len(local))
        pieces = np.array_split(np.arange(len(local)), min(PIECES, len(local)))
        return {
            "times": np.array([float(transfers.blocks.rows[piece].mean()) for piece in pieces]),
            "local": np.array([local[piece].mean() for piece in pieces]),
            "mean": float(local.mean()),
            "wide": float(ndtri((1 + LEVEL) / 2)) * error,
        }

    def _null(
        self, test: Any, transfers: "Transfers", source: int, target: int, given: list[int]
    ) -> dict[str, Any]:
        """Return surrogate values, or quantiles of a chi-square that is scaled to give the p-value of the test."""
        from scipy.stats import chi2

        if test is not None and test.null:
            return {"null": np.array(test.null)}
        if not transfers.estimator.analytic:
            return {}
        dof = transfers.dof(*transfers.variables([source], target, given))
        scale = 1 / (2 * transfers.blocks.n)
        if test is not None and 0 < test.p_value < 0.5 and test.te > 0:
            scale = min(max(test.te / float(chi2.isf(test.p_value, dof)), scale), 20 * scale)
        shares = (np.arange(QUANTILES) + 0.5) / QUANTILES
        return {"null": scale * chi2.ppf(shares, dof), "by_formula": True}


def lag_grid(network: Any) -> tuple[tuple[int, ...], np.ndarray, np.ndarray]:
    """Return lags, transfer entropy ``(source, target, lag)`` by regression, and chance ``(source, target)``.

    Each pair is given the target's own past and its other parents (`effects.lag_curve`).
    """
    series = network.series
    if not hasattr(series, "trials"):
        raise InputError("the data are not in memory; draw the lags of the network that infer returned")
    scorer, names = restore(network.options["score"]).bind(series), network.names
    blocks = [scorer.of_target(j).transfers.blocks for j in range(len(names))]
    most = max(min(LONGEST, max(10, 2 * max(one.span for one in blocks))), *(one.searched for one in blocks))
    lags = tuple(range(1, max(2, min(most, min(series.lengths) // 5)) + 1))
    te, chance = (
        np.full((len(names), len(names), len(lags)), np.nan),
        np.full((len(names), len(names)), np.nan),
    )
    for j, target in enumerate(names):
        for i, source in enumerate(names):
            given = [series.index(p) for p in network.parents[target] if p != source]
            if i != j and "text" not in {series.kinds[node] for node in (i, j, *given)}:
                te[i, j], chance[i, j] = lag_curve(series, blocks[j], i, j, given, lags)
    return lags, te, chance


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
    """Return N times the variance of a mean of values that depend on their neighbours in time.

    Bartlett's weights over the cube root of N lags, within trials.
    """
    centred, n = local - local.mean(), len(local)
    lags = round(n ** (1 / 3))
    total = float(centred @ centred)
    for first, last in zip(starts[:-1], starts[1:]):
        part = centred[first:last]
        for lag in range(1, min(lags, len(part) - 1) + 1):
            total += 2 * (1 - lag / (lags + 1)) * float(part[lag:] @ part[:-lag])
    return max(total, 0.0) / n


def in_words(about: Mapping[str, Any], dt: float = 1.0) -> str:
    """Say what a link means, in a sentence or two."""
    source, target, te = about["source"], about["target"], about.get("te", math.nan)
    others = f" and {', '.join(about['given'])}" if about["given"] else ""
    lag = about["lag"]
    when = f"{lag} sample{'s' * (lag > 1)}" + (f" ({lag * dt:.4g} units of time)" if dt != 1 else "")
    said = (
        f"Knowing {source} {when} earlier tells {te:.3g} nats more about {target} than its own past{others}"
    )
    if math.isfinite(about.get("low", math.nan)):
        said += f" (95 % limits {about['low']:.3g} to {about['high']:.3g})"
    p = about.get("p_value", math.nan)
    chance = f"of {p:.2g}" if p > 0 else "below 1e-300"
    said += f"; without the link that much or more has a probability {chance}." if math.isfinite(p) else "."
    effect, curve = about.get("effect", math.nan), about.get("curve")
    if math.isfinite(effect):
        way = "up" if effect > 0 else "down"
        said += (
            f" One standard deviation more of {source} moves {target} {way} by {abs(effect):.2g} of its own"
        )
        said += ", on average; the line bends." if curve is not None and _bends(curve) else ", on average."
    return said


def _bends(curve: np.ndarray) -> bool:
    """Whether less than two thirds of how a curve varies lie on a straight line."""
    if len(curve) < 3 or not np.ptp(curve[:, 1]) > 0:
        return False
    return bool(np.corrcoef(curve.T)[0, 1] ** 2 < 2 / 3)
