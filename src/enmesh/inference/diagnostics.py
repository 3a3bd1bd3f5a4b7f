"""Hazards in a series, each with its number: what could make an inferred network mislead.

Nothing here refuses data. A finding is a value; whoever infers turns it into a warning.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding import Blocks, Embedding, Lagged, Pasts
from enmesh.embedding.prediction import prediction_errors, scaled
from enmesh.surrogates import decorrelation_time

if TYPE_CHECKING:
    from enmesh.inference.evidence import Evidence

SYNCHRONISED = 0.99
# Samples over which the autocorrelation stays above 1/e before permuted surrogates mislead.
SLOW = 5
# A node whose autocorrelation lasts for this share of the record cannot be told from one that is not stationary.
LASTING = 0.1
# Share of the variance that a node's own past leaves unexplained.
DETERMINED = 0.01
# Samples from which that share is known well enough; of more, evenly spaced ones are taken.
ENOUGH = 3000
# Standard errors between the two halves of a record.
SHIFTED = 5.0
BLOCKS = 10
# Standard errors by which a straight line rises or falls, beyond which it is a trend.
TRENDING = 8.0
# Times its surroundings that a peak of the spectrum must reach to be a period.
PEAK = 30.0
LARGE_DIMENSION = 10
SAMPLES_PER_DIMENSION = 50
SAMPLES_PER_STATE = 3
# Numbers that often stand for a missing value, and how far, in ranges of the other values, one must lie from them.
SENTINELS = {*(99, 999, 9999, 99999, 999999, 8888, 99.99, 999.9, 9999.9)}
SENTINELS |= {-number for number in SENTINELS}
SENTINEL_GAP = 1.0
# Robust standard deviations that make a spike, and samples in a row that make a stuck sensor.
SPIKE, STUCK = 20.0, 20


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One hazard: its kind, the nodes it concerns, the number that shows it, and its meaning in words."""

    kind: str
    nodes: tuple[str, ...]
    value: float
    message: str

    def __str__(self) -> str:
        return self.message


def diagnose(
    series: Series, embedding: Pasts | None = None, *, max_parents: int | None = None
) -> tuple[Finding, ...]:
    """Look for hazards in a series.

    Parameters
    ----------
    series
        The data.
    embedding
        The one to be used, default kappa 1 and tau 1: near-determinism and dimension depend on it.
    max_parents
        Largest number of sources that will be asked about together; None for all other nodes.

    Returns
    -------
    Findings of kinds ``"synchronisation"``, ``"autocorrelation"``, ``"sentinel"``, ``"spike"``, ``"stuck"``,
    ``"determinism"``, ``"trend"``, ``"season"``, ``"variance"``, ``"stationarity"``, ``"dimension"`` and
    ``"samples"``; none for data without a hazard.

    Examples
    --------
    >>> from enmesh.simulate import coupled_map
    >>> [finding.kind for finding in diagnose(coupled_map("a>b", n=1000, coupling=0.7))]
    ['synchronisation', 'determinism']
    """
    series = Series.of(series)
    return *hazards_of_data(series), *hazards_of_pasts(series, embedding or Embedding(), max_parents)


def hazards_of_data(series: Series, evidence: "Evidence | None" = None) -> tuple[Finding, ...]:
    """Look for hazards that are there whatever will be asked; ``evidence`` is what is known of the series already."""
    findings = [*_synchronisation(series), *_slowness(series), *_sentinels(series)]
    if not series.is_integer:
        findings += [*_spikes(series, findings), *_stuck(series)]
        findings += [*_trends(series), *_seasons(series), *_variances(series, evidence)]
    said = {
        node for finding in findings if finding.kind in ("trend", "stationarity") for node in finding.nodes
    }
    return *findings, *_shifts(series, said)


def hazards_of_pasts(series: Series, embedding: Pasts, max_parents: int | None = None) -> tuple[Finding, ...]:
    """Look for hazards that depend on the pasts: kinds ``"determinism"``, ``"dimension"`` and ``"samples"``."""
    blocks = Blocks(series, embedding, _numbers)
    most = series.n_nodes - 1 if max_parents is None else min(max_parents, series.n_nodes - 1)
    determined = () if series.is_integer else _determinism(blocks)
    return *determined, *_size(series, blocks, most)


def _synchronisation(series: Series) -> Iterator[Finding]:
    """Pairs with |correlation| over 0.99: both carry the same values, neither tells more."""
    likely = _correlations(series) if series.missing is None else None
    found: dict[tuple[str, str], float] = {}
    for i, j in combinations(range(series.n_nodes), 2):
        if likely is None or abs(likely[i, j]) >= SYNCHRONISED - 1e-6:
            correlation = _correlation(*_together(series, i, j))
            if abs(correlation) > SYNCHRONISED:
                found[series.names[i], series.names[j]] = correlation
    if found:
        pairs = [" and ".join(pair) for pair in found]
        more = f" and {len(pairs) - 5} more pairs" * (len(pairs) > 5)
        numbers = ", ".join(f"{correlation:.4f}" for correlation in [*found.values()][:5])
        yield Finding(
            kind="synchronisation",
            nodes=tuple(dict.fromkeys(node for pair in found for node in pair)),
            value=max(found.values(), key=abs),
            message=f"{', '.join(pairs[:5])}{more} are synchronised (correlation {numbers}): "
            "transfer entropy is near zero both ways and cannot show who drives; leave one out",
        )


def _slowness(series: Series) -> Iterator[Finding]:
    """Nodes with a long autocorrelation time: samples are not independent, plain permutation misleads."""
    longest, starts = max(series.lengths), np.concatenate([[0], np.cumsum(series.lengths)])
    times = {
        name: decorrelation_time(column[:, None], starts)
        for name, column in zip(series.names, _filled(series).T)
    }
    lasting = {name: time for name, time in times.items() if time > LASTING * longest}
    slow = {name: time for name, time in times.items() if time >= SLOW and name not in lasting}
    if slow:
        worth = sum(series.lengths) / (2 * max(slow.values()))
        yield Finding(
            kind="autocorrelation",
            nodes=tuple(slow),
            value=float(max(slow.values())),
            message=f"slow: the autocorrelation stays above 1/e for {_listed(slow)} samples, so the "
            f"record is worth about {worth:.0f} independent ones; permuted surrogates would mislead, "
            "circular shifts do not",
        )
    if lasting:
        yield Finding(
            kind="stationarity",
            nodes=tuple(lasting),
            value=float(max(lasting.values())),
            message=f"possibly non-stationary: the autocorrelation stays above 1/e for {_listed(lasting)} of {longest} "
            "samples, so that unrelated nodes seem to go together; take differences with series.difference()",
        )


def _measured(series: Series) -> Iterator[tuple[str, np.ndarray]]:
    """Go through the nodes that are numbers: name and the samples that are there."""
    for name, kind, column in zip(series.names, series.kinds, series.values.T):
        there = column if series.missing is None else column[np.isfinite(column)]
        if kind != "text" and len(there):
            yield name, there


def _sentinels(series: Series) -> Iterator[Finding]:
    """Nodes whose extreme is a number that often stands for a missing value, far from all others."""
    found = {}
    for name, values in _measured(series):
        for extreme in (values.min(), values.max()):
            if extreme not in SENTINELS:
                continue
            rest = values[values != extreme]
            far = SENTINEL_GAP * (np.ptp(rest) + abs(np.median(rest)) / 10) if len(rest) > 2 else np.inf
            if np.abs(rest - extreme).min(initial=np.inf) > far:
                found[name] = float(extreme)
    if found:
        words = ", ".join(sorted({f"{value:g}" for value in found.values()}))
        nodes = ", ".join([*found][:5]) + (" and more" if len(found) > 5 else "")
        yield Finding(
            kind="sentinel",
            nodes=tuple(found),
            value=float(len(found)),
            message=f"sentinels: {words} in {nodes} lies far from all other values and often stands for a missing one; "
            f"read it so with na='{words}'",
        )


def _spikes(series: Series, before: Sequence[Finding]) -> Iterator[Finding]:
    """Measurements with values many robust standard deviations away from the median."""
    said = {node for finding in before if finding.kind == "sentinel" for node in finding.nodes}
    found: dict[str, float] = {}
    for name, values in _measured(series):
        centre = np.median(values)
        spread = 1.4826 * np.median(np.abs(values - centre))
        if name not in said and series.kinds[series.names.index(name)] == "float" and spread > 0:
            size = float(np.abs(values - centre).max() / spread)
            found |= {name: size} if size > SPIKE else {}
    if found:
        yield Finding(
            kind="spike",
            nodes=tuple(found),
            value=max(found.values()),
            message=f"spikes: values up to {_listed(found)} robust standard deviations from the median; a few such "
            "samples can make or hide a link: mask them with series.mask(rows), or use ranks",
        )


def _stuck(series: Series) -> Iterator[Finding]:
    """Measurements that stay at one value for much longer than ties would make them."""
    found = {}
    for name, kind, column in zip(series.names, series.kinds, series.values.T):
        if kind != "float":
            continue
        change = np.flatnonzero(np.r_[True, np.diff(column) != 0, True])
        longest, ties = int(np.diff(change).max()), len(column) - (len(change) - 1)
        share = max((ties - longest + 1) / len(column), 1e-3)
        if longest >= STUCK and share < 0.9 and longest > 4 * np.log(len(column)) / -np.log(share):
            found[name] = float(longest)
    if found:
        yield Finding(
            kind="stuck",
            nodes=tuple(found),
            value=max(found.values()),
            message=f"stuck: the same value for {_listed(found)} samples in a row; if a sensor failed there, mask them "
            "with series.mask(rows)",
        )


def _trends(series: Series) -> Iterator[Finding]:
    """Nodes that follow a straight line over time: two of them always seem related."""
    found = {}
    for name, column in zip(series.names, _filled(series).T):
        means, times = [], []
        for trial in np.split(column, np.cumsum(series.lengths)[:-1]):
            pieces = np.array_split(trial, min(2 * BLOCKS, len(trial)))
            means += [piece.mean() for piece in pieces]
            times += list(np.linspace(0, 1, len(pieces)))
        found[name] = _slope_in_errors(np.array(times), np.array(means))
    trending = {name: size for name, size in found.items() if size > TRENDING}
    if trending:
        yield Finding(
            kind="trend",
            nodes=tuple(trending),
            value=max(trending.values()),
            message=f"trend: a straight line over time rises or falls by {_listed(trending)} standard errors, so "
            "that unrelated nodes seem to go together; remove it with series.detrend()",
        )


def _slope_in_errors(times: np.ndarray, means: np.ndarray) -> float:
    """Return the slope of block means over time in units of its standard error."""
    if len(means) < 5 or np.ptp(means) == 0:
        return 0.0
    centred = times - times.mean()
    slope = centred @ means / (centred @ centred)
    left = means - means.mean() - slope * centred
    # Neighbouring block means go together in a slow process: its lag-one correlation widens the error.
    spread = max(left @ left, 1e-300)
    memory = min(0.95, max(0.0, float(left[1:] @ left[:-1] / spread)))
    error = np.sqrt(spread / (len(means) - 2) / (centred @ centred) * (1 + memory) / (1 - memory))
    return float(abs(slope) / error)


def _seasons(series: Series) -> Iterator[Finding]:
    """Periods that several nodes share: a peak of the spectrum at the same place, far above its surroundings."""
    longest = max(series.trials, key=len).astype(float)
    n = len(longest)
    if n < 50:
        return
    values = np.where(np.isfinite(longest), longest, np.nanmean(longest, axis=0))
    time = np.linspace(-1, 1, n)[:, None]
    values = values - values.mean(0) - time * (time * values).mean(0) / (time**2).mean()
    power = np.abs(np.fft.rfft(values * np.hanning(n)[:, None], axis=0)) ** 2
    first, last = 4, n // 3
    peaks: dict[int, list[str]] = {}
    for name, spectrum in zip(series.names, power.T):
        place = first + int(spectrum[first:last].argmax())
        below, above = spectrum[max(1, place - 20) : place - 2], spectrum[place + 3 : place + 21]
        if len(below) and len(above) and spectrum[place] > PEAK * max(np.median(below), np.median(above)):
            peaks.setdefault(place, []).append(name)
    for place, names in peaks.items():
        near = names + peaks.get(place + 1, [])
        if len(near) > 1:
            period = round(n / place)
            yield Finding(
                kind="season",
                nodes=tuple(near),
                value=float(period),
                message=f"season: {', '.join(near[:5])}{' and more' if len(near) > 5 else ''} share a period of about "
                f"{period} samples, so that unrelated nodes seem to go together; if it comes from outside, remove it "
                f"with series.deseason(period={period})",
            )
            return


def _variances(series: Series, evidence: "Evidence | None") -> Iterator[Finding]:
    """Changes of variance that nodes share: a hidden driver of how large, not of which way, they move."""
    from enmesh.inference.evidence import Evidence

    evidence = evidence or Evidence(series)
    if evidence.variance_is_common:
        together = evidence.common_variance
        yield Finding(
            kind="variance",
            nodes=series.names,
            value=together,
            message=f"common changes of variance: log variances of short blocks correlate at {together:.2f} (median "
            "of all pairs), which nearest neighbours take for links; the linear test allows for them",
        )


def _determinism(blocks: Blocks) -> Iterator[Finding]:
    """Nodes whose own past predicts them almost fully: little is left for a source to explain."""
    left, step = {}, -(-blocks.n // ENOUGH)
    for i, name in enumerate(blocks.names):
        past, after = blocks.take(blocks.past([i], i))[::step], blocks.take([Lagged(i, 0)])[::step, 0]
        left[name] = float(prediction_errors(past, after, blocks.times[::step]).mean() / after.var())
    determined = {name: share for name, share in left.items() if share < DETERMINED}
    if determined:
        yield Finding(
            kind="determinism",
            nodes=tuple(determined),
            value=min(determined.values()),
            message=f"nearly determined by the own past: unexplained share {_listed(determined)}; "
            "sources can add little, and a long past hides them: try a smaller kappa or coarser sampling",
        )


def _shifts(series: Series, said: set[str]) -> Iterator[Finding]:
    """Nodes whose mean or variance differs between the two halves of the trials by many standard errors."""
    late = np.concatenate([np.arange(length) >= length // 2 for length in series.lengths])
    values = _filled(series)
    for what, samples in (("mean", values), ("variance", (values - values.mean(0)) ** 2)):
        shifts = {name: _shift(column, late) for name, column in zip(series.names, samples.T)}
        shifted = {name: shift for name, shift in shifts.items() if shift > SHIFTED and name not in said}
        if shifted:
            yield Finding(
                kind="stationarity",
                nodes=tuple(shifted),
                value=max(shifted.values()),
                message=f"the {what} differs between the first and the second half by {_listed(shifted)} "
                "standard errors; one network may not hold throughout, look at parts of the record",
            )


def _shift(values: np.ndarray, late: np.ndarray) -> float:
    """Difference of the halves' means in standard errors, which the scatter of means over blocks gives.

    Blocks longer than the memory of the process make this right for autocorrelated samples too.
    """
    halves = [
        [block.mean() for block in np.array_split(half, min(BLOCKS, len(half)))]
        for half in (values[~late], values[late])
    ]
    error = np.sqrt(sum(np.var(half, ddof=1) / len(half) for half in halves if len(half) > 1))
    return float(abs(np.mean(halves[0]) - np.mean(halves[1])) / error) if error > 0 else 0.0


def _size(series: Series, blocks: Blocks, most: int) -> Iterator[Finding]:
    """The largest family: more dimensions, or more joint states, than the samples can fill."""
    if series.is_integer:
        yield from _states(series, blocks, most)
        return
    sizes = {
        name: 1 + len(blocks.lags(i, i)) + sum(_largest(_widths(blocks, i), i, most))
        for i, name in enumerate(blocks.names)
    }
    name = max(sizes, key=sizes.__getitem__)
    dimension = sizes[name]
    if dimension > LARGE_DIMENSION:
        yield Finding(
            kind="dimension",
            nodes=tuple(node for node, size in sizes.items() if size > LARGE_DIMENSION),
            value=float(dimension),
            message=f"{_family(name, most)} spans {dimension} dimensions, over {LARGE_DIMENSION}: estimates "
            "by neighbours and kernels are unreliable there; lower kappa or max_parents, or use Gaussian",
        )
    if blocks.n < SAMPLES_PER_DIMENSION * dimension:
        yield Finding(
            kind="samples",
            nodes=tuple(node for node, size in sizes.items() if blocks.n < SAMPLES_PER_DIMENSION * size),
            value=float(blocks.n),
            message=f"{blocks.n} samples are few for {_family(name, most)} ({dimension} dimensions): weak "
            f"links will be missed; {SAMPLES_PER_DIMENSION * dimension} or more would be better",
        )


def _states(series: Series, blocks: Blocks, most: int) -> Iterator[Finding]:
    pooled = series.values
    arity = [len(np.unique(pooled[:, i])) for i in range(series.n_nodes)]
    states = {}
    for i, name in enumerate(blocks.names):
        pasts = [count**width for count, width in zip(arity, _widths(blocks, i))]
        states[name] = arity[i] * pasts[i] * prod(_largest(pasts, i, most))
    few = tuple(name for name, count in states.items() if blocks.n < SAMPLES_PER_STATE * count)
    if few:
        name = max(few, key=states.__getitem__)
        yield Finding(
            kind="samples",
            nodes=few,
            value=float(blocks.n),
            message=f"only {blocks.n} samples for the {states[name]} joint states of {_family(name, most)}; "
            f"lower kappa, max_parents or the states, or record {SAMPLES_PER_STATE * states[name]}",
        )


def _widths(blocks: Blocks, target: int) -> list[int]:
    """Return the number of lags of every node as the target sees it."""
    return [len(blocks.lags(j, target)) for j in range(blocks.n_nodes)]


def _family(name: str, most: int) -> str:
    return f"{name} with {most} source{'s' if most != 1 else ''}"


def _listed(numbers: Mapping[str, float]) -> str:
    """Return ``12 (a), 9 (b)``, largest first, at most five."""
    first = sorted(numbers.items(), key=lambda item: -item[1])
    shown = ", ".join(f"{value:.3g} ({name})" for name, value in first[:5])
    return shown + (f" and {len(first) - 5} more" if len(first) > 5 else "")


def _largest(sizes: Sequence[int], target: int, most: int) -> list[int]:
    """Return the largest ``most`` sizes among the nodes other than the target."""
    return sorted((size for j, size in enumerate(sizes) if j != target), reverse=True)[:most]


def _numbers(column: np.ndarray, index: int, name: str) -> np.ndarray:
    if column.dtype.kind == "f":
        return scaled(column, index, name)
    return np.unique(column, return_inverse=True)[1] if column.dtype.kind == "U" else column


def _filled(series: Series) -> np.ndarray:
    """Return all values as floats, missing ones as their node's mean."""
    values = series.values.astype(float)
    return (
        values if series.missing is None else np.where(np.isnan(values), np.nanmean(values, axis=0), values)
    )


def _together(series: Series, i: int, j: int) -> np.ndarray:
    """Return the samples of two nodes at which both are present."""
    pair = series.values[:, [i, j]].astype(float)
    return pair[~np.isnan(pair).any(axis=1)].T


def _correlations(series: Series) -> np.ndarray:
    """Return the correlations of all pairs at once; 0 for a constant."""
    centred = series.values - series.values.mean(axis=0)
    centred = centred / np.maximum(np.linalg.norm(centred, axis=0), 1e-300)
    return centred.T @ centred


def _correlation(x: np.ndarray, y: np.ndarray) -> float:
    x, y = x - x.mean(), y - y.mean()
    scale = np.sqrt((x @ x) * (y @ y))
    return float(x @ y / scale) if scale > 0 else 0.0
