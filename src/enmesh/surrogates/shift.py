"""Circular shifts: the source moved in time around the end of its trial."""

from typing import Any

import numpy as np

from enmesh.errors import InputError
from enmesh.options import option, whole_fields
from enmesh.surrogates.base import Draw, Surrogate
from enmesh.surrogates.random_words import random_orders

# Parts in which a record is shifted where shifts must differ by several samples. A part is so many times as long as the
# memory of the source and a few samples, which a cut disturbs, and has room for shifts of several kinds.
PARTS, LONG_PART, FEW_LAGS, ROOM = 4, 10, 5, 3
EXCHANGED = 10  # trials of each length, at least, of which whole ones are exchanged


@option
class CircularShift(Surrogate):
    """Shift the source in time, around the end of its trial: keeps its dynamics, breaks its dependence on the target.

    Each trial has its own shift; no shift of a trial is used twice before all were. Where trials are too short to be
    shifted, and at least ten have each length, whole trials are exchanged: the source of one trial goes with the target
    of another.

    Attributes
    ----------
    min_shift
        Smallest shift in samples; by default the embedding's span plus the source's decorrelation time.

    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> shifts = em.CircularShift(min_shift=20)
    >>> em.significance(series, "a", "b", estimator=em.Gaussian(), surrogate=shifts, n_surrogates=99).p_value
    0.01
    """

    cli_name = "shift"
    summary = "Keeps the source's dynamics; the default, for any series with memory."
    phrase = "circular shifts of the source"

    min_shift: int | None = None

    def __post_init__(self) -> None:
        if self.min_shift is not None:
            whole_fields(self, min_shift=1)

    def plan(self, x: np.ndarray, z: np.ndarray, *, starts: np.ndarray, span: int) -> Draw:
        """Find the allowed shifts of every trial; a draw takes the next of each in a random order."""
        lengths = np.diff(starts)
        least = self.min_shift or span + decorrelation_time(x, starts)
        choices = lengths - 2 * least + 1
        if (
            (choices < 1).any()
            and self.min_shift is None
            and np.unique(lengths, return_counts=True)[1].min() >= EXCHANGED
        ):
            return _Exchanges(starts, lengths)
        if (choices < 1).any():
            short = f"a trial of {lengths.min()} embedded samples is too short for circular shifts of at least {least}"
            raise InputError(f"{short}; use longer trials, Permute() or a smaller min_shift")
        return _Shifts(starts, lengths, least, choices)


class _Shifts:
    """Rows of circular shifts; ``distinct`` is how many there are of a single trial, None for several."""

    def __init__(self, starts: np.ndarray, lengths: np.ndarray, least: int, choices: np.ndarray) -> None:
        self._starts, self._lengths, self._least = starts[:-1], lengths, least
        self._choices: list[int] = choices.tolist()
        self.distinct = self._choices[0] if len(choices) == 1 else None

    def __call__(self, stream: int, first: int, count: int, xp: Any = np) -> np.ndarray:
        used = [self._used(stream, trial, first, count) for trial in range(len(self._choices))]
        start, length, place, trial = self._layout(xp)
        moved = (place - xp.asarray(self._least + np.stack(used, axis=1))[:, trial]) % length
        return moved if self.distinct else moved + start

    def _layout(self, xp: Any) -> tuple[Any, ...]:
        """Return every sample's trial: where it starts, its length, the sample's place in it, its number."""
        n = int(self._lengths.sum())
        if self.distinct:
            return 0, n, xp.arange(n), slice(None)
        trials = np.repeat(np.arange(len(self._choices)), self._lengths)
        starts = self._starts[trials]
        return tuple(map(xp.asarray, (starts, self._lengths[trials], np.arange(n) - starts, trials)))

    def _used(self, stream: int, trial: int, first: int, count: int) -> np.ndarray:
        """Shifts that draws first .. first + count - 1 take of a trial: all of them in random order, then again."""
        several = self._choices[trial]
        turns = range(first // several, (first + count - 1) // several + 1)
        draws = [trial + turn * len(self._choices) for turn in turns]
        orders = np.concatenate([random_orders(stream, draw, 1, several)[0] for draw in draws])
        return orders[first % several :][:count]


class _Exchanges:
    """Rows of trials that are exchanged among those of one length; none keeps its place."""

    distinct = None

    def __init__(self, starts: np.ndarray, lengths: np.ndarray) -> None:
        self._rows = np.arange(starts[-1])
        self._alike = [np.flatnonzero(lengths == length) for length in np.unique(lengths)]
        self._starts, self._lengths = starts, lengths

    def __call__(self, stream: int, first: int, count: int, xp: Any = np) -> np.ndarray:
        moved = np.empty((count, len(self._rows)), dtype=np.int64)
        for kind, trials in enumerate(self._alike):
            places = self._starts[trials][:, None] + np.arange(self._lengths[trials[0]])
            for k in range(count):
                order = random_orders(stream, (first + k) * len(self._alike) + kind, 1, len(trials))[0]
                moved[k, places[order].ravel()] = places[np.roll(order, 1)].ravel()
        return xp.asarray(moved)


def decorrelation_time(x: np.ndarray, starts: np.ndarray) -> int:
    """Return the first lag at which every column's autocorrelation has fallen below 1/e, over all trials."""
    covariance = autocovariances(x - x.mean(0), starts)
    variance = np.where(covariance[0] > 0, covariance[0], 1)
    below = covariance / variance < np.exp(-1)
    return int(np.where(below.any(0), below.argmax(0), len(covariance)).max())


def autocovariances(x: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return sums of products of each column with itself at every lag of the longest trial, within trials."""
    longest = int(np.diff(starts).max())
    size = 1 << (2 * longest - 1).bit_length()
    found = np.zeros((longest, x.shape[1]))
    for start, stop in zip(starts[:-1], starts[1:]):
        spectrum = np.abs(np.fft.rfft(x[start:stop], size, axis=0)) ** 2
        found[: stop - start] += np.fft.irfft(spectrum, size, axis=0)[: stop - start]
    return found


def parted(x: np.ndarray, starts: np.ndarray, span: int) -> np.ndarray:
    """Return where parts of trials start, and n at the end: trials are cut until there are `PARTS` of them.

    A part is long against the source's memory and the least shift; a short record stays whole.
    """
    wanted = -(-PARTS // (len(starts) - 1))
    memory = decorrelation_time(x, starts)
    length = max(LONG_PART * (memory + min(span, FEW_LAGS)), ROOM * (memory + span))
    cuts = [0]
    for start, stop in zip(starts[:-1], starts[1:]):
        parts = max(1, min(wanted, int(stop - start) // length))
        cuts += [int(start + (stop - start) * (part + 1) // parts) for part in range(parts)]
    return np.array(cuts)
