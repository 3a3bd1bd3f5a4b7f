"""The samples of a series as the test of a link needs them: functions of every node, at every lag, as rows.

Rows of features are contiguous, so that matrix products treat all lagged variables of all nodes at once. Lags never
cross the border of a trial. A missing value of the target, or of a known variable, removes the sample. A missing value
of a candidate source is replaced by the mean of the source, which adds no information.
"""

from collections.abc import Sequence
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding.lagged import Lagged
from enmesh.errors import InputError
from enmesh.links.functions import FUNCTIONS, orthonormal, rank_functions, spread_function

STATES = 10  # different values up to which a target is taken for states
SLOW = 3  # slow cosines of time
HARMONICS = 12  # of the common period: all of hours in a day, or of months in a year (a convention)
# Weights of the last sample in the two means of the squares of all nodes that follow the common volatility: memories of
# 20 and 5 samples (RiskMetrics, 1996, has .06).
MEMORIES = (0.05, 0.2)
CHANGING = 4  # added to a clock (`Samples.of_time`): the coefficients of known variables change with time
LONG = 100_000  # samples that are predicted at most, evenly spread over a longer record: bounds time and memory
LEAST = 20  # samples that a regression needs, and a lag

_kept: "WeakKeyDictionary[Series, dict[tuple[int, bool], Samples]]" = WeakKeyDictionary()


class Samples:
    """Functions and values ``(node, time)`` of a series, the ``rows`` that are predicted, and functions of time."""

    def __init__(self, series: Series, max_lag: int):
        values = series.values.astype(float)
        self.max_lag, self.nodes, self.length = max_lag, series.n_nodes, len(values)
        self.present = None if series.missing is None else ~np.concatenate(series.missing).T
        lengths = np.array(series.lengths)
        place = np.concatenate([np.arange(length) for length in lengths])
        self.rows = np.flatnonzero(place >= max_lag)
        self.rows = thinned(self.rows)
        if len(self.rows) < LEAST:
            told = f"lags up to {max_lag} leave {len(self.rows)} of {self.length} samples; at least {LEAST} are needed"
            shorter = "a smaller max_lag, or " * (sum(length - 1 for length in series.lengths) >= LEAST)
            raise InputError(f"{told}: give {shorter}a longer record")
        self._starts = np.concatenate([[0], np.cumsum(lengths)])
        self.steps, self.time = place, (place + 0.5) / np.repeat(lengths, lengths)
        self.every = np.zeros((FUNCTIONS + 2, self.nodes, self.length))  # functions, spread and values of all nodes
        self.functions, (self.spread, self.plain) = self.every[:FUNCTIONS], self.every[FUNCTIONS:]
        self.states, self.tied = np.zeros(self.nodes, bool), np.zeros(self.nodes, bool)
        self.apart = np.zeros((self.nodes, self.length), np.float32)  # 1 where a value is not the most frequent one
        for i, column in enumerate(values.T):
            there = slice(None) if self.present is None else self.present[i]
            seen = column[there]
            self.functions[:, i, there] = rank_functions(seen)
            self.spread[i, there] = spread_function(self.functions[0, i, there])
            spread = max(float(seen.std()), 1e-300)
            self.plain[i, there] = (seen - seen.mean()) / spread
            different, often = np.unique(seen, return_counts=True)
            self.apart[i, there] = seen != different[often.argmax()]
            self.states[i] = len(often) <= STATES
            self.tied[i] = self.states[i] or often.max() > len(seen) / 2
            if series.kinds[i] == "text":  # codes have no size
                self.plain[i] = self.functions[0, i]
        self.codes = np.where(self.states[:, None], values.T, 0)
        self.regressions: dict[tuple, object] = {}  # those made of one target (`Known.of`)

    @classmethod
    def of(cls, series: Series, max_lag: int) -> "Samples":
        """Return the samples of a series, kept as long as the series is in use."""
        kept = _kept.setdefault(series, {})
        if max_lag not in kept:
            if len(kept) > 1:
                kept.clear()
            kept[max_lag] = cls(series, max_lag)  # type: ignore[index]
        return kept[max_lag]  # type: ignore[index]

    def scale(self, ranked: bool) -> np.ndarray:
        """Return the values of all nodes ``(node, time)``: normal scores if ``ranked``, else standardised values."""
        return self.functions[0] if ranked else self.plain

    def complete(self, variables: Sequence[Lagged]) -> np.ndarray:
        """Return the rows at which none of the lagged variables is missing."""
        if self.present is None:
            return self.rows
        there = self._there(variables)
        if (left := int(there.sum())) < LEAST:
            raise InputError(
                f"missing values leave {left} sample{'s' * (left != 1)} for a target and its condition; at least "
                f"{LEAST} are needed: fill short gaps with missing='interpolate:5'"
            )
        return self.rows[there]

    def enough(self, variables: Sequence[Lagged]) -> bool:
        """Return whether missing values leave enough samples of lagged variables: `LEAST` for each."""
        return self.present is None or self._there(variables).sum() >= LEAST * len(variables)

    def _there(self, variables: Sequence[Lagged]) -> np.ndarray:
        """Return at which rows none of the lagged variables is missing."""
        assert self.present is not None
        there = np.ones(len(self.rows), bool)
        for node, lag in variables:
            there &= self.present[node, self.rows - lag]
        return there

    def take(self, values: np.ndarray, variables: Sequence[Lagged], rows: np.ndarray) -> np.ndarray:
        """Return lagged variables of ``values (..., node, time)`` at some rows, ``(variables, ..., rows)``."""
        found = np.empty((len(variables), *values.shape[:-2], len(rows)), values.dtype)
        first, last = int(rows[0]), int(rows[-1]) + 1
        whole = last - first == len(rows)  # one run of samples: slices are faster
        for row, (node, lag) in zip(found, variables):
            row[:] = values[..., node, first - lag : last - lag] if whole else values[..., node, rows - lag]
        return found

    def at_lag(self, values: np.ndarray, lag: int, rows: np.ndarray) -> np.ndarray:
        """Return all nodes of ``values (node, time)`` at one lag, ``(node, rows)``."""
        first, last = int(rows[0]), int(rows[-1]) + 1
        return values[:, first - lag : last - lag] if last - first == len(rows) else values[:, rows - lag]

    @cached_property
    def rough(self) -> np.ndarray:
        """`every` ``(6, node, time)`` in single precision, to preselect variables."""
        return self.every.astype(np.float32)

    @cached_property
    def slow(self) -> np.ndarray:
        """Slow functions of time, the same in each trial: cosines of up to one and a half periods, ``(SLOW, time)``."""
        return np.stack([np.cos(np.pi * k * self.time) for k in range(1, SLOW + 1)])

    @cached_property
    def periodic(self) -> np.ndarray:
        """Cosines and sines of the common period and its harmonics ``(2 harmonics, time)``.

        The peak of the mean spectrum is refined to the largest power of all harmonics together: an error of a fraction
        of its width is an error of phase, which grows along the record and with the harmonic.
        """
        longest = int(np.diff(self._starts).argmax())
        first, last = self._starts[longest : longest + 2]
        n = int(last - first)
        x, step = self.functions[0][:, first:last], 2 * np.pi / (4 * n)
        power = (np.abs(np.fft.rfft(x, 4 * n)) ** 2).mean(axis=0)
        power[:16] = 0  # fewer than four periods
        speed, beside = step * power.argmax(), step * np.linspace(-0.75, 0.75, 61)
        orders = range(1, 1 + max(1, min(HARMONICS, n // (2 * LEAST))))
        wide = -(-n // 128)  # beside the peak, phases hardly differ within a block of samples
        times = np.arange(n - n % wide, dtype=float).reshape(-1, wide)
        blocks = x[:, : times.size].reshape(len(x), *times.shape).transpose(1, 0, 2)
        together = np.zeros(len(beside))
        for k in orders:
            real, imaginary = ((blocks @ f(k * speed * times)[:, :, None])[..., 0] for f in (np.cos, np.sin))
            turned = np.exp(-1j * k * beside[:, None] * times.mean(axis=1)) @ (real - 1j * imaginary)
            together += (np.abs(turned) ** 2).sum(axis=1)
        phase = (speed + beside[together.argmax()]) * self.steps
        return np.stack([f(k * phase) for k in orders for f in (np.cos, np.sin)])

    def of_time(self, clock: int) -> list[np.ndarray]:
        """Return functions of time; ``clock`` is 0 for none, 1 slow ones, 2 those of the common period, 3 both."""
        return [self.slow] * (clock & 1) + [self.periodic] * (clock >> 1 & 1)

    @cached_property
    def volatility(self) -> np.ndarray:
        """Predictors of the spread of a node ``(rows, time)``: slow functions of time, and the common volatility.

        The common volatility is the mean square of all nodes: exponentially weighted over the samples before, with its
        square, and at each lag. A single node then cannot seem to drive the variance that all nodes share.
        """
        square = (self.plain**2).mean(axis=0)
        columns = [np.ones(self.length), *self.slow]
        for weight in MEMORIES:
            level = np.empty(self.length)
            for first, last in zip(self._starts[:-1], self._starts[1:]):
                part = square[first:last]
                begin = part[: min(self.max_lag, 20)].mean()  # samples before the first that is predicted
                before = np.concatenate([[begin / weight], part[:-1]])
                level[first:last] = _smoothed(before, weight)
            log = _standardised(np.log(level + 1e-3))
            columns += [log, log**2]
        now = _standardised(np.log(square + 1e-3))
        return np.stack([*columns, *(np.roll(now, lag) for lag in range(1, self.max_lag + 1))])

    def volatility_basis(self, rows: np.ndarray) -> np.ndarray:
        """Return orthonormal rows that span `volatility` at some rows of the record."""
        return self._volatility_basis if rows is self.rows else orthonormal(self.volatility[:, rows])

    @cached_property
    def _volatility_basis(self) -> np.ndarray:
        return orthonormal(self.volatility[:, self.rows])


def thinned(rows: np.ndarray) -> np.ndarray:
    """Return the rows that are predicted: all, or `LONG` evenly spread ones of a longer record."""
    return rows if len(rows) <= LONG else rows[np.linspace(0, len(rows) - 1, LONG).astype(int)]


def _smoothed(values: np.ndarray, weight: float) -> list[float]:
    """Return exponentially weighted means; `scipy.signal`, which has a filter for this, takes long to import."""
    mean, found = 0.0, []
    for value in values.tolist():
        mean = (1.0 - weight) * mean + weight * value
        found.append(mean)
    return found


def _standardised(column: np.ndarray) -> np.ndarray:
    return (column - column.mean()) / max(float(column.std()), 1e-12)
