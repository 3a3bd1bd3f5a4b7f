"""Hazards in a series, each with its number: what could make an inferred network mislead.

Nothing here refuses data. A finding is a value; whoever infers turns it into a warning.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from enmesh.data.series import Series
from enmesh.data.table import listed
from enmesh.embedding import Blocks, Lagged, Lags, Pasts, checked_pasts
from enmesh.embedding.base import prediction_errors, scaled
from enmesh.errors import first_few
from enmesh.options import whole
from enmesh.surrogates import decorrelation_time

SYNCHRONISED = 0.99
SLOW = 5  # samples over which the autocorrelation stays above 1/e before permuted surrogates mislead
# A node whose autocorrelation lasts for this share of the record cannot be told from one that is not stationary.
LASTING = 0.1
NEAR, TOGETHER = 5, 20  # lags, and samples that two nodes must share at one of them, so that a link can be tested
SHORT = 2  # samples of autocorrelation up to which a node is never called so, as in trials of few samples
DETERMINED = 0.01  # share of the variance that a node's own past leaves unexplained
ENOUGH = 3000  # samples from which that share is known well enough; of more, evenly spaced ones are taken
FIRST = 64  # of them are asked first: of noise their errors alone are over that share
SHIFTED, BLOCKS = 5.0, 10  # standard errors between the two halves of a record, from so many blocks
TRENDING = 8.0  # standard errors by which a straight line rises or falls, beyond which it is a trend
PEAK = 30.0  # times its surroundings that a peak of the spectrum must reach to be a period
LARGE_DIMENSION, SAMPLES_PER_DIMENSION, SAMPLES_PER_STATE = 10, 50, 3
# Numbers that often stand for a missing value, and how far, in ranges of the other values, one must lie from them.
SENTINELS = {*(99, 999, 9999, 99999, 999999, 8888, 99.99, 999.9, 9999.9)}
SENTINELS |= {-number for number in SENTINELS}
SENTINEL_GAP = 1.0
SPIKE, STUCK = 20.0, 20  # robust standard deviations that make a spike, samples in a row a stuck sensor

# What is said of each hazard; {numbers} are those of the nodes.
SENTENCES = {
    "synchronisation": "synchronised: correlation {numbers}. Transfer entropy is then near zero both ways and cannot "
    "show the direction; leave one node out",
    "autocorrelation": "slow: samples until the autocorrelation is below 1/e: {numbers}. The recording carries about "
    "as much information as {worth:.0f} independent samples; circular shifts allow for this, permuted surrogates do "
    "not",
    "lasting": "possibly non-stationary: samples, of {longest}, until the autocorrelation is below 1/e: {numbers}. "
    "Unrelated nodes then look related; take differences with series.difference()",
    "sentinel": "sentinels: {words} in {nodes} is far from all other values and often stands for a missing value. "
    "Read it as missing with na='{words}'",
    "spike": "spikes: distance from the median in robust standard deviations: {numbers}. A few such samples can "
    "create or hide a link; mask them with series.mask(rows)",
    "apart": "never together: samples with a measurement of one node up to {near} samples before one of the other: "
    "{numbers}. No link between them can be found; record them at the same times, or leave one out",
    "stuck": "stuck: samples in a row with the same value: {numbers}. If a sensor failed there, mask them with "
    "series.mask(rows)",
    "trend": "trend: slope of a straight line over time, in standard errors: {numbers}. Trends make unrelated nodes "
    "look related; remove them with series.detrend()",
    "season": "season: {nodes} share a period of about {period} samples. This makes unrelated nodes look related; if "
    "the period comes from outside, remove it with series.deseason(period={period})",
    "determinism": "nearly deterministic: share of the variance that the own past does not explain: {numbers}. Sources "
    "can add little, and a long own past hides them; try a smaller kappa or coarser sampling",
    "halves": "changing: the {what} differs between the first and the second half, in standard errors: {numbers}. One "
    "network may not hold throughout; look at parts of the record",
    "dimension": "{family} spans {size} dimensions, over {limit}. Nearest-neighbour and kernel estimates are "
    "unreliable there; lower kappa or max_parents, or use Gaussian",
    "samples": "{n} samples are few for {family} ({size} dimensions). Weak links will be missed; record {enough} or "
    "more",
    "states": "only {n} samples for the {size} joint states of {family}. Use fewer states, lower kappa or "
    "max_parents, or record {enough}",
}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One hazard: its kind, the nodes it concerns, the number that shows it, and its meaning in words."""

    kind: str
    nodes: tuple[str, ...]
    value: float
    message: str

    def __str__(self) -> str:
        return self.message


def diagnose(series: Series, embedding: Pasts | None = None, *, max_parents: int | None = None) -> tuple[Finding, ...]:
    """Look for hazards in a series.

    Parameters
    ----------
    embedding
        The one to be used, default kappa 1 and tau 1: near-determinism and dimension depend on it.
    max_parents
        Largest number of sources that will be asked about together; None for all other nodes.

    Returns
    -------
    Findings of kinds ``"synchronisation"``, ``"autocorrelation"``, ``"sentinel"``, ``"apart"``, ``"spike"``,
    ``"stuck"``, ``"determinism"``, ``"trend"``, ``"season"``, ``"stationarity"``, ``"dimension"`` and
    ``"samples"``; none for data without a hazard.

    Examples
    --------
    >>> from enmesh.simulate import coupled_map
    >>> [finding.kind for finding in diagnose(coupled_map("a>b", n=1000, coupling=0.7))]
    ['synchronisation', 'determinism']
    """
    series = Series.of(series)
    return *hazards_of_data(series), *hazards_of_pasts(series, checked_pasts(embedding), max_parents)


def hazards_of_data(series: Series) -> tuple[Finding, ...]:
    """Look for hazards that are there whatever will be asked."""
    findings = [*_synchronisation(series), *_slowness(series), *_sentinels(series), *_apart(series)]
    if not series.is_integer:
        findings += [*_spikes(series, _concerned(findings, "sentinel")), *_stuck(series), *_trends(series)]
        findings += _seasons(series)
    return *findings, *_shifts(series, _concerned(findings, "trend", "stationarity"))


def hazards_of_pasts(series: Series, embedding: Pasts, max_parents: int | None = None) -> tuple[Finding, ...]:
    """Look for hazards that depend on the pasts: kinds ``"determinism"``, ``"dimension"`` and ``"samples"``."""
    blocks = Blocks(series, embedding, _numbers)
    others = series.n_nodes - 1
    most = others if max_parents is None else min(whole("max_parents", max_parents), others)
    return *determined(series, embedding), *_size(series, blocks, most)


def determined(series: Series, embedding: Pasts) -> tuple[Finding, ...]:
    """Look for nodes whose own past predicts them almost fully: a source can explain little."""
    if series.is_integer:
        return ()
    if series.missing is None:
        blocks = Blocks(series, embedding, _numbers)
        return tuple(_determinism([(name, i, blocks) for i, name in enumerate(series.names)]))
    table, alone = embedding.table(series.names), []
    for i, name in enumerate(series.names):  # windows of each node that have no missing value
        past = Lags({(name, name): table[i, i]})
        alone.append((name, 0, Blocks(series.select([name]), past, _numbers)))
    return tuple(_determinism(alone))


def _finding(
    kind: str, found: Mapping[str, float], sentence: str = "", value: float | None = None, **words: Any
) -> list[Finding]:
    """Return one finding for all nodes that show a hazard; none where no node does."""
    if not found:
        return []
    value = float(max(found.values()) if value is None else value)
    words = {"numbers": _numbers_of(found), "nodes": listed(found), "value": value} | words
    message = SENTENCES[sentence or kind].format(**words)
    return [Finding(kind=kind, nodes=tuple(found), value=value, message=message)]


def _numbers_of(found: Mapping[str, float], digits: str = ".3g") -> str:
    """Return ``12 (a), 9 (b)``, largest first, at most five."""
    ranked = sorted(found.items(), key=lambda item: -abs(item[1]))
    return first_few([f"{value:{digits}} ({name})" for name, value in ranked])


def _over(series: Series, numbers: Iterable[float], limit: float) -> dict[str, float]:
    """Return the nodes whose number is over a limit."""
    return {name: float(number) for name, number in zip(series.names, numbers) if number > limit}


def _concerned(findings: list[Finding], *kinds: str) -> set[str]:
    return {node for finding in findings if finding.kind in kinds for node in finding.nodes}


def _synchronisation(series: Series) -> list[Finding]:
    """Pairs with |correlation| over 0.99: both carry the same values, neither tells more."""
    # Correlations are over the samples at which both are there; 0 for a constant.
    names, there = series.names, np.isfinite(series.values.astype(float)).astype(float)
    there = there[:, :1] if series.missing is None else there
    values = _filled(series) - _filled(series).mean(axis=0)
    values = there * values / np.maximum(values.std(axis=0), 1e-300)
    count, total = np.maximum(there.T @ there, 1), values.T @ there  # [i, j]: sum of i over the samples of j
    product, square = values.T @ values - total * total.T / count, (values**2).T @ there - total**2 / count
    scale = np.sqrt(np.maximum(square * square.T, 0))
    correlation = np.where(scale > 1e-9, product / np.maximum(scale, 1e-9), 0.0)
    pairs = np.argwhere(np.triu(np.abs(correlation) > SYNCHRONISED, 1))
    found = {f"{names[i]} and {names[j]}": correlation[i, j] for i, j in pairs}
    nodes = dict.fromkeys((names[i] for i in np.unique(pairs)), max(found.values(), key=abs, default=0))
    return _finding("synchronisation", nodes, numbers=_numbers_of(found, ".4f"))


def _slowness(series: Series) -> list[Finding]:
    """Nodes with a long autocorrelation time: samples are not independent, plain permutation misleads."""
    longest, starts = max(series.lengths), np.concatenate([[0], np.cumsum(series.lengths)])
    times = [decorrelation_time(column[:, None], starts) for column in _filled(series).T]
    lasting = _over(series, times, max(LASTING * longest, SHORT))
    slow = {name: time for name, time in _over(series, times, SLOW - 1).items() if name not in lasting}
    worth = sum(series.lengths) / (2 * max(slow.values(), default=1))
    long = _finding("stationarity", lasting, "lasting", longest=longest)
    return [*_finding("autocorrelation", slow, worth=worth), *long]


def _apart(series: Series) -> list[Finding]:
    """Pairs of nodes that are hardly ever measured within a few samples of each other: no link can be seen."""
    if series.missing is None:
        return []
    shared = np.zeros((series.n_nodes, series.n_nodes))
    for lag in range(1, NEAR + 1):
        there = [~absent.astype(bool) for absent in series.missing]
        shared = np.maximum(shared, sum(one[:-lag].T.astype(float) @ one[lag:] for one in there if len(one) > lag))
    pairs = np.argwhere(np.triu(np.maximum(shared, shared.T) < TOGETHER, 1))
    names = series.names
    found = {f"{names[i]} and {names[j]}": float(max(shared[i, j], shared[j, i])) for i, j in pairs}
    nodes = dict.fromkeys((names[i] for i in np.unique(pairs)), min(found.values(), default=0))
    return _finding("apart", nodes, numbers=_numbers_of(found), near=NEAR)


def _measured(series: Series, *kinds: str) -> Iterator[tuple[str, np.ndarray]]:
    """Go through the nodes of some kinds: name and the samples that are there."""
    for name, kind, column in zip(series.names, series.kinds, series.values.T):
        there = column if series.missing is None else column[np.isfinite(column)]
        if kind in kinds and len(there):
            yield name, there


def _sentinels(series: Series) -> list[Finding]:
    """Nodes whose extreme is a number that often stands for a missing value, far from all others."""
    found = {}
    for name, values in _measured(series, "float", "integer"):
        for extreme in [value for value in (values.min(), values.max()) if value in SENTINELS]:
            rest = values[values != extreme]
            far = SENTINEL_GAP * (np.ptp(rest) + abs(np.median(rest)) / 10) if len(rest) > 2 else np.inf
            if np.abs(rest - float(extreme)).min(initial=np.inf) > far:
                found[name] = float(extreme)
    words = ", ".join(sorted({f"{value:g}" for value in found.values()}))
    return _finding("sentinel", found, value=len(found), words=words)


def _spikes(series: Series, but: set[str]) -> list[Finding]:
    """Measurements with values many robust standard deviations away from the median."""
    found = {}
    for name, values in _measured(series, "float"):
        away = np.abs(values - np.median(values))
        spread = 1.4826 * np.median(away)
        if name not in but and spread > 0 and away.max() > SPIKE * spread:
            found[name] = float(away.max() / spread)
    return _finding("spike", found)


def _stuck(series: Series) -> list[Finding]:
    """Measurements that stay at one value for much longer than ties would make them, unless that value is usual."""
    found = {}
    for name, kind, column in zip(series.names, series.kinds, series.values.T):
        change = np.flatnonzero(np.r_[True, np.diff(column) != 0, True])
        first, longest = int(change[np.diff(change).argmax()]), int(np.diff(change).max())
        others, ties = len(column) - longest, len(column) - (len(change) - 1)
        share = min(max((ties - longest + 1) / max(others, 1), 1e-3), 0.999)
        usual = (column == column[first]).sum() - longest > others / 2  # such as 0 where it does not rain
        rare = not usual and longest > 4 * np.log(len(column)) / -np.log(share)
        if kind == "float" and longest >= STUCK and rare:
            found[name] = longest
    return _finding("stuck", found)


def odd_samples(series: Series, kind: str, nodes: Iterable[str]) -> np.ndarray:
    """Return which samples are spikes, or the longest ones in a row with the same value (``"stuck"``)."""
    odd = np.zeros(len(series), bool)
    for name in nodes:
        column = series.values[:, series.index(name)].astype(float)
        if kind.startswith("spike"):
            away = np.abs(column - np.nanmedian(column))
            odd |= away > SPIKE * 1.4826 * np.nanmedian(away)
        else:
            starts = np.flatnonzero(np.r_[True, np.diff(column) != 0, True])
            longest = int(np.diff(starts).argmax())
            odd[starts[longest] : starts[longest + 1]] = True
    return odd


def _trends(series: Series) -> list[Finding]:
    """Nodes that follow a straight line over time: the slope of block means in units of its standard error."""
    trials = np.split(_filled(series), np.cumsum(series.lengths)[:-1])
    of_trials = [_block_means(trial, 2 * BLOCKS) for trial in trials]
    means = np.concatenate(of_trials)
    if len(means) < 5:
        return []
    time = np.concatenate([np.linspace(0, 1, len(blocks)) for blocks in of_trials])
    time -= time.mean()
    slope = time @ means / (time @ time)
    left = means - means.mean(axis=0) - np.outer(time, slope)
    # Neighbouring block means go together in a slow process: its lag-one correlation widens the error.
    spread = np.maximum((left**2).sum(axis=0), 1e-300)
    memory = np.clip((left[1:] * left[:-1]).sum(axis=0) / spread, 0, 0.95)
    error = np.sqrt(spread / (len(means) - 2) / (time @ time) * (1 + memory) / (1 - memory))
    return _finding("trend", _over(series, (np.ptp(means, axis=0) > 0) * np.abs(slope) / error, TRENDING))


def _seasons(series: Series) -> list[Finding]:
    """Periods that several nodes share: a peak of the spectrum at the same place, far above its surroundings."""
    longest = max(series.trials, key=len).astype(float)
    n = len(longest)
    if n < 50:
        return []
    values = np.where(np.isfinite(longest), longest, np.nanmean(longest, axis=0))
    time = np.linspace(-1, 1, n)[:, None]
    values = values - values.mean(0) - time * (time * values).mean(0) / (time**2).mean()
    power = np.abs(np.fft.rfft(values * np.hanning(n)[:, None], axis=0)) ** 2
    peaks: dict[int, list[str]] = {}
    for name, spectrum in zip(series.names, power.T):
        place = 4 + int(spectrum[4 : n // 3].argmax())
        below, above = spectrum[max(1, place - 20) : place - 2], spectrum[place + 3 : place + 21]
        if len(below) and len(above) and spectrum[place] > PEAK * max(np.median(below), np.median(above)):
            peaks.setdefault(place, []).append(name)
    for place, names in peaks.items():
        near, period = names + peaks.get(place + 1, []), round(n / place)
        if len(near) > 1:
            return _finding("season", dict.fromkeys(near, period), period=period)
    return []


def _determinism(nodes: Iterable[tuple[str, int, Blocks]]) -> list[Finding]:
    """Nodes, each with its place in blocks, whose own past predicts them almost fully."""
    found: dict[str, float] = {}
    for name, i, blocks in nodes:
        step = -(-blocks.n // ENOUGH)
        past, after = blocks.take(blocks.past([i], i))[::step], blocks.take([Lagged(i, 0)])[::step, 0]
        limit, times = DETERMINED * len(after) * after.var(), blocks.times[::step]
        if prediction_errors(past, after, times, m=FIRST).sum() >= limit:
            continue  # nor can it be less with those of all samples
        left = float(prediction_errors(past, after, times).mean() / after.var())
        found |= {name: left} if left < DETERMINED else {}
    return _finding("determinism", found, value=min(found.values(), default=0))


def _shifts(series: Series, but: set[str]) -> Iterator[Finding]:
    """Nodes whose mean or variance differs between the two halves of the trials by many standard errors."""
    late = np.concatenate([np.arange(length) >= length // 2 for length in series.lengths])
    values = _filled(series)
    for what, samples in (("mean", values), ("variance", (values - values.mean(axis=0)) ** 2)):
        halves = [_block_means(half, BLOCKS) for half in (samples[~late], samples[late])]
        # The scatter of means over blocks that are longer than the memory of the process gives the error.
        error = np.sqrt(sum(half.var(axis=0, ddof=1) / len(half) for half in halves if len(half) > 1))
        shift = np.abs(halves[0].mean(axis=0) - halves[1].mean(axis=0)) / np.where(error > 0, error, np.inf)
        found = {name: size for name, size in _over(series, shift, SHIFTED).items() if name not in but}
        yield from _finding("stationarity", found, "halves", what=what)


def _size(series: Series, blocks: Blocks, most: int) -> list[Finding]:
    """The largest family: more dimensions, or more joint states, than the samples can fill."""
    counted, sizes = series.is_integer, {}
    states = [len(np.unique(column)) for column in series.values.T] if counted else []
    for i, (name, row) in enumerate(zip(blocks.names, blocks.widths())):
        widths = row.tolist()
        pasts = [count**width for count, width in zip(states, widths)] if counted else widths
        own = pasts.pop(i)
        largest = sorted(pasts, reverse=True)[:most]
        sizes[name] = prod([states[i], own, *largest]) if counted else sum([1, own, *largest])
    each = SAMPLES_PER_STATE if counted else SAMPLES_PER_DIMENSION
    name = max(sizes, key=sizes.__getitem__)
    words: dict[str, Any] = {"family": f"{name} with {most} source{'s' * (most != 1)}", "size": sizes[name]}
    words |= {"n": blocks.n, "enough": each * sizes[name], "limit": LARGE_DIMENSION}
    wide = {node: size for node, size in sizes.items() if size > LARGE_DIMENSION and not counted}
    few = {node: size for node, size in sizes.items() if blocks.n < each * size}
    crowded = _finding("samples", few, "states" if counted else "", blocks.n, **words)
    return [*_finding("dimension", wide, **words), *crowded]


def _block_means(samples: np.ndarray, blocks: int) -> np.ndarray:
    """Return the means ``(block, node)`` over contiguous blocks of samples."""
    return np.array([block.mean(axis=0) for block in np.array_split(samples, min(blocks, len(samples)))])


def _numbers(column: np.ndarray, index: int, name: str) -> np.ndarray:
    if column.dtype.kind == "f":
        return scaled(column, index, name)
    return np.unique(column, return_inverse=True)[1] if column.dtype.kind == "U" else column


def _filled(series: Series) -> np.ndarray:
    """Return all values as floats, missing ones as their node's mean."""
    values = series.values.astype(float)
    return values if series.missing is None else np.where(np.isnan(values), np.nanmean(values, 0), values)
