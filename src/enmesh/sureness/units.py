"""What is drawn, left out or exchanged: whole trials where there are many, otherwise contiguous blocks of samples.

Nearest neighbours fail with repeated samples: a copy of a sample is its own nearest neighbour. So nothing is drawn
with replacement. Units are taken or left, and what is taken becomes trials of a new series, so that no window of
samples crosses a seam. Then every pair of nodes is asked the same question in each: one score, the same parents given.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from enmesh.data.series import Series
from enmesh.data.table import listed
from enmesh.draw.shown import Reported
from enmesh.embedding.lagged import checked_pasts, reach
from enmesh.errors import InputError, hazard
from enmesh.estimators.scaling import normal_scores
from enmesh.links.horizon import horizon
from enmesh.network.network import Network
from enmesh.options import whole
from enmesh.scores import LinkTest
from enmesh.scores.base import Link, Parents, Score
from enmesh.surrogates.shift import decorrelation_time as decorrelated_at
from enmesh.tasks import run

if TYPE_CHECKING:
    import pandas as pd

# Trials from which on they are the units; and the fewest blocks, and the fewest units at all.
MANY_TRIALS, FEW_BLOCKS, FEW_UNITS = 10, 10, 4
# A block is at least so many decorrelation times and so many times the reach of the past, if the recording is long
# enough; and so many times the least shift of a surrogate, which shifts a source within its block.
TIMES, REACHES, LEAST_SHIFTS = 5, 10, 3

Piece = tuple[int, int, int]  # trial, first sample, end


@dataclass(frozen=True)
class Units:
    """The pieces ``(trial, start, stop)`` of a recording, in order; ``block`` is their length, None for trials."""

    series: Series
    pieces: tuple[Piece, ...]
    block: int | None

    def __len__(self) -> int:
        """Return the number of units."""
        return len(self.pieces)

    def take(self, chosen: Sequence[int], *, joined: bool = True) -> Series:
        """Return the series of the chosen units; ``joined`` makes neighbours one trial again."""
        runs: list[Piece] = []
        for trial, start, stop in (self.pieces[i] for i in sorted(chosen)):
            if joined and runs and runs[-1][0] == trial and runs[-1][2] == start:
                start = runs.pop()[1]
            runs.append((trial, start, stop))
        return self.series.with_trials([self.series.trials[trial][start:stop] for trial, start, stop in runs])


def units_of(series: Series, block: int | None, options: Mapping[str, Any]) -> Units:
    """Return trials as units where there are at least ten, otherwise blocks of a length chosen from the data."""
    if block is None and len(series.trials) >= MANY_TRIALS:
        whole_trials = tuple((i, 0, length) for i, length in enumerate(series.lengths))
        return Units(series, whole_trials, None)
    length = block_length(series, options) if block is None else whole("block", block, 3)
    pieces: list[Piece] = []
    for trial, samples in enumerate(series.lengths):
        count = max(1, round(samples / length))
        count -= count % 2 if count > 1 else 0  # two halves of the same size
        cuts = np.linspace(0, samples, count + 1).astype(int).tolist()
        pieces += [(trial, start, stop) for start, stop in zip(cuts[:-1], cuts[1:])]
    if len(pieces) < FEW_UNITS:
        raise InputError(
            f"{sum(series.lengths)} samples make {len(pieces)} blocks of {length}; at least {FEW_UNITS} are needed: "
            "record longer, give a shorter past, or difference a slow series"
        )
    return Units(series, tuple(pieces), length)


def block_length(series: Series, options: Mapping[str, Any]) -> int:
    """Return how long a block must be to keep what depends together, and to lose few windows at its seams.

    Five decorrelation times of the slowest node and ten times the reach of the past, but no more than a tenth of the
    recording; and three times the least shift of a surrogate within its block, where that leaves four of them.
    """
    past, memory = past_reach(series, options), decorrelation_time(series)
    total = sum(series.lengths)
    least = min(LEAST_SHIFTS * (past + _time_to_fall(series)), total // FEW_UNITS)
    length = max(min(max(ceil(TIMES * memory), REACHES * past), total // FEW_BLOCKS), least, 3 * past, 3)
    if length < 2 * memory:
        hazard(
            f"the samples depend on each other over about {memory:.0f} samples, and blocks of {length} are hardly "
            "longer: shares, intervals and differences look more certain than they are; record longer"
        )
    return length


def past_reach(series: Series, options: Mapping[str, Any]) -> int:
    """Return how far back windows go: by the pasts that were given, or as far as the defaults look.

    Of smooth series they look back beyond the fall of the autocorrelation, to tell a slope and a curve.
    """
    score = options.get("score")
    given = options.get("embedding", getattr(score, "embedding", None))
    if given is not None:
        return reach(checked_pasts(given), series.names)
    if isinstance(score, LinkTest):
        return score.max_lag
    asked = 1 if options.get("max_lag") is None else whole("max_lag", options["max_lag"], 1)
    return max(asked, horizon(series, 0.01)[0], 2 * _time_to_fall(series))


def _time_to_fall(series: Series) -> int:
    """Return the lag at which the autocorrelation of every node has fallen to 1/e."""
    starts = np.concatenate([[0], np.cumsum(series.lengths)])
    return decorrelated_at(np.concatenate(_scored(series)), starts)


def _scored(series: Series) -> list[np.ndarray]:
    """Return the trials ``(time, node)`` as normal scores; missing values become 0, the centre."""
    columns = []
    for column in series.values.astype(float).T:
        known = np.isfinite(column)
        filled = np.zeros(len(column))
        if known.sum() > 1 and np.ptp(column[known]) > 0:
            filled[known] = normal_scores(column[known])
        columns.append(filled)
    return np.split(np.column_stack(columns), np.cumsum(series.lengths)[:-1])


def decorrelation_time(series: Series) -> float:
    """Return 1 + 2 sum of squared autocorrelations of the slowest node, on normal scores of the longest trial."""
    values = max(_scored(series), key=len)
    n = len(values)
    spectrum = np.abs(np.fft.rfft(values - values.mean(0), 2 * n, axis=0)) ** 2
    covariance = np.fft.irfft(spectrum, axis=0)[: max(2, n // 4)]
    correlation = covariance / np.maximum(covariance[0], 1e-300)
    beyond_chance = np.maximum(correlation[1:] ** 2 - 1 / n, 0.0) * (correlation[1:] ** 2 > 4 / n)
    return float((1 + 2 * beyond_chance.sum(0)).max())


def pooled(recordings: Sequence[Series]) -> Series:
    """Return all recordings as trials of one series; nodes are matched by name."""
    first = recordings[0]
    trials: list[np.ndarray] = []
    for number, one in enumerate(recordings, 1):
        if set(one.names) != set(first.names):
            odd = listed(sorted(set(one.names) ^ set(first.names)))
            told = f"recording {number} and the first differ in the nodes {odd}"
            raise InputError(f"{told}; give the same nodes in each")
        matched = one if one.names == first.names else one.select(first.names)
        for what in ("kinds", "labels", "dt"):
            if getattr(matched, what) != getattr(first, what):
                raise InputError(
                    f"the {what} of recording {number} ({getattr(matched, what)}) are not those of the first "
                    f"({getattr(first, what)}); read all in the same way"
                )
        trials += matched.trials
    return first.with_trials(trials)


def standardised(series: Any) -> Series:
    """Return a recording whose measurements have mean 0 and standard deviation 1 in each trial.

    Levels and units of subjects differ, and a common offset would look like transfer between nodes.
    """
    series = Series.of(series)
    return series.standardise() if "float" in series.kinds else series


def parents_in(networks: Sequence[Network]) -> tuple[Parents, ...]:
    """Return for each node the positions of all parents it has in any of the networks."""
    together = np.logical_or.reduce([network.adjacency for network in networks])
    return tuple(tuple(np.flatnonzero(column).tolist()) for column in together.T)


def questions(parents: Sequence[Parents]) -> list[Link]:
    """Return every pair, given the target's other parents."""
    nodes = range(len(parents))
    return [Link(j, i, tuple(p for p in parents[i] if p != j)) for i in nodes for j in nodes if i != j]


def tests_of(series: Series, score: Score, parents: Sequence[Parents], level: float | None) -> np.ndarray:
    """Test every pair given the target's other parents, no further than ``level`` asks (`significance.sampled`).

    Return ``(3, source, target)``: transfer entropy, p-value, and value less what chance gives; no diagonal.
    """
    scorer, found = score.bind(series), np.full((3, series.n_nodes, series.n_nodes), np.nan)
    for link in questions(parents):
        test = run(scorer.test(link, level))
        found[:, link.source, link.target] = test.value, test.p_value, test.corrected
    return found


def values(series: Series, score: Score, parents: Sequence[Parents]) -> np.ndarray:
    """Measure every pair given the target's other parents: ``(3, source, target)``.

    These are the transfer entropy, less its mean under independence where that is known (Gaussian, Regression,
    Discrete), so that recordings of different lengths can be compared; and degrees of freedom d and samples N, missing
    elsewhere: without a link 2 N T is chi-square with d of them.
    """
    scorer, found = score.bind(series), np.full((3, series.n_nodes, series.n_nodes), np.nan)
    for source, target, given in questions(parents):
        if isinstance(score, LinkTest):
            test = run(scorer.test(Link(source, target, given)))
            n = scorer.samples.length  # type: ignore[attr-defined]
            found[:, source, target] = test.corrected, max(1.0, 2 * n * test.null_mean), n
            continue
        transfers = scorer.of_target(target).transfers
        x, y, z = transfers.variables([source], target, given)
        value = transfers.cmi(x, y, z)
        if transfers.estimator.analytic:
            dof, n = transfers.dof(x, y, z), transfers.effective_samples(x, y, z)
            found[:, source, target] = value - dof / (2 * n), dof, n
        else:
            found[0, source, target] = value
    return found


class PairTables(Reported):
    """A result of DataFrames, named in ``tables``, in which row drives column."""

    tables: ClassVar[tuple[str, ...]]

    @property
    def links(self) -> "pd.DataFrame":
        """DataFrame with a row per pair, smallest p-value first."""
        import pandas as pd

        parts: dict[str, pd.DataFrame] = {name: getattr(self, name) for name in self.tables}
        names = np.array(parts["p_value"].columns)
        source, target = np.nonzero(~np.eye(len(names), dtype=bool))
        columns = {name: part.to_numpy(float)[source, target] for name, part in parts.items()}
        made = pd.DataFrame({"source": names[source], "target": names[target], **columns})
        return made.sort_values(["p_value", "source", "target"], ignore_index=True)


def frame(names: Sequence[str], matrix: np.ndarray) -> "pd.DataFrame":
    """Return a matrix with names, row drives column."""
    import pandas as pd

    return pd.DataFrame(matrix, list(names), list(names))
