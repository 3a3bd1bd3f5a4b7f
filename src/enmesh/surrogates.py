"""Surrogates: rows to resample a source by, so that its tie to the target is cut and nothing else.

A surrogate never touches the target: p(next | own past) survives (decisions: what is shuffled is the source's embedded
vectors, jointly). Each one is a vector of row numbers, so a batch of surrogates of ``x (n, d)`` is ``x[rows]`` with
``rows (batch, n)``. Randomness is counter-based: word (draw, row) of a stream is a hash of the stream, the draw and the
row, the same on every device, for any split into batches.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import ClassVar

import numpy as np

from enmesh.errors import InputError
from enmesh.options import option

Draw = Callable[..., np.ndarray]
"""``draw(stream, first, count, xp=numpy) -> (count, n)`` rows of surrogates first .. first + count - 1.

``xp`` is the array library that draws them, numpy or CuPy: the rows are the same.
"""

# Places of a random order that are found at once: a test asks for a few hundred of many thousand shifts.
FEW = 256

# Values held at once when a null distribution is sampled: bounds memory, not results.
BATCH_VALUES = 4_000_000


class Surrogate(ABC):
    """A way to resample a source; `plan` looks at the data once, the plan draws rows in batches."""

    looks_at_z: ClassVar[bool] = False
    """Whether a plan depends on what is conditioned on."""

    @abstractmethod
    def plan(self, x: np.ndarray, z: np.ndarray, *, starts: np.ndarray, span: int) -> Draw:
        """Return the function that draws rows for ``x (n, d)`` given ``z (n, d_z)``.

        ``starts`` are the rows at which trials start, and n; ``span`` is the number of samples an embedded vector
        reaches back.
        """


@option
class Permute(Surrogate):
    """Shuffle the source's vectors over all samples (the paper's permutation). Autocorrelation inflates its errors."""

    def plan(self, x, z, *, starts, span):
        """Order the rows by random words."""
        n = len(x)
        return lambda stream, first, count, xp=np: _orders(random_words(stream, first, count, n, xp), xp)


@option
class Bootstrap(Surrogate):
    """Redraw the source's vectors with replacement (the paper's bootstrap). Autocorrelation inflates its errors.

    Continuous vectors are smoothed: each is drawn from the cube that reaches to its nearest neighbour. Bare repeats
    would be structure to an estimator that looks at neighbours, and its null would not be that of the data.
    """

    def plan(self, x, z, *, starts, span):
        """Scale random words to row numbers; see how far each vector's nearest neighbour is."""
        if x.dtype.kind == "i":
            return _Redraw(len(x), None)
        from scipy.spatial import cKDTree

        return _Redraw(len(x), cKDTree(x).query(x, k=2, p=np.inf)[0][:, 1:])


class _Redraw:
    """Rows drawn with replacement, and ``spread (n, 1)``: how far a vector may be moved, None for states."""

    def __init__(self, n, spread):
        self.n, self.spread = n, spread

    def __call__(self, stream, first, count, xp=np):
        # The top 32 bits times n, shifted down: uniform to 1 part in 2^32 / n, and the same on every device.
        words = random_words(stream, first, count, self.n, xp) >> np.uint64(32)
        return ((words * np.uint64(self.n)) >> np.uint64(32)).astype(np.int64)


@option
class CircularShift(Surrogate):
    """Shift the source in time, around the end of its trial: keeps its dynamics, cuts its tie to the target.

    Shifts are at least ``min_shift``: by default the embedding's span plus the source's decorrelation time. Each trial
    has its own shift; no shift of a trial is used twice before all were.
    """

    min_shift: int | None = None

    def __post_init__(self):
        if self.min_shift is not None and (not isinstance(self.min_shift, int) or self.min_shift < 1):
            raise InputError(
                f"min_shift={self.min_shift!r} is not possible; give a whole number of samples, or None"
            )

    def plan(self, x, z, *, starts, span):
        """Find the allowed shifts of every trial; a draw takes the next of each in a random order."""
        lengths = np.diff(starts)
        least = self.min_shift or span + decorrelation_time(x, starts)
        choices = lengths - 2 * least + 1
        if (choices < 1).any():
            raise InputError(
                f"a trial of {lengths.min()} embedded samples is too short for circular shifts of at least {least}; "
                "use longer trials, Permute() or a smaller min_shift"
            )

        return _Shifts(starts, lengths, least, choices)


class _Shifts:
    """Rows of circular shifts; ``distinct`` is how many there are of a single trial, None for several."""

    def __init__(self, starts, lengths, least, choices):
        self._trials = [(int(s), int(n), int(c)) for s, n, c in zip(starts, lengths, choices)]
        self._least = least
        self.distinct = int(choices[0]) if len(choices) == 1 else None
        self._order = lru_cache(maxsize=4 * len(choices))(self._order)

    def __call__(self, stream, first, count, xp=np):
        rows = []
        for trial, (start, length, _) in enumerate(self._trials):
            shifts = xp.asarray(self._least + self._used(stream, trial, first, count))
            some = (_places(length, xp) - shifts[:, None]) % length
            rows.append(some + start if start else some)
        return xp.concatenate(rows, axis=1) if len(rows) > 1 else rows[0]

    def _used(self, stream, trial, first, count):
        """Shifts that draws first .. first + count - 1 take of a trial: all of them in random order, then again."""
        several, parts = self._trials[trial][2], []
        while count:
            turn, start = divmod(first, several)
            some = min(count, several - start)
            needed = min(several, max(FEW, 1 << (start + some - 1).bit_length()))
            parts.append(self._order(stream, trial, turn, needed)[start : start + some])
            first, count = first + some, count - some
        return np.concatenate(parts)

    def _order(self, stream, trial, turn, needed):
        """Return the first ``needed`` of a trial's shifts in the random order of a turn."""
        words = random_words(stream, trial + turn * len(self._trials), 1, self._trials[trial][2])
        return _orders(words, np, needed)[0]


@lru_cache(maxsize=4)
def _places(n, xp):
    """Return 0 .. n - 1, on a device for all draws."""
    return xp.arange(n)


@option
class LocalPermute(Surrogate):
    """Shuffle the source among samples with similar z, which keeps its dependence on z (after Runge 2018).

    Each sample swaps its vector with that of one of its ``neighbours`` nearest samples in z, in random order, twice
    over. With discrete z the shuffle is among samples of the same state.
    """

    neighbours: int = 5

    looks_at_z = True

    def __post_init__(self):
        if not isinstance(self.neighbours, int) or self.neighbours < 1:
            raise InputError(
                f"neighbours={self.neighbours!r} is not possible; give a whole number of at least 1"
            )

    def plan(self, x, z, *, starts, span):
        """Find who may swap with whom."""
        n = len(x)
        if z.dtype.kind == "i":
            return _within_states(z)
        from scipy.spatial import cKDTree

        from enmesh.surrogate_kernels import swap_among

        near = cKDTree(z).query(z, k=min(self.neighbours + 1, n), p=np.inf)[1][:, 1:].astype(np.int64)

        def draw(stream, first, count, xp=np):
            order = _orders(random_words(stream, first, count, n), np)
            return xp.asarray(swap_among(near, order, random_words(stream + 1, first, count, n)))

        return draw


def _within_states(z) -> Draw:
    _, state = np.unique(z, axis=0, return_inverse=True)
    state = state.reshape(-1)
    home = np.argsort(state, kind="stable")

    def draw(stream, first, count, xp=np):
        words = random_words(stream, first, count, len(z))
        rows = np.empty(words.shape, np.int64)
        rows[:, home] = [np.lexsort((one, state)) for one in words]
        return xp.asarray(rows)

    return draw


def decorrelation_time(x: np.ndarray, starts: np.ndarray) -> int:
    """Return the first lag at which every column's autocorrelation has fallen below 1/e, over all trials."""
    longest = int(np.diff(starts).max())
    size = 1 << (2 * longest - 1).bit_length()
    covariance = np.zeros((longest, x.shape[1]))
    centred = x - x.mean(0)
    for start, stop in zip(starts[:-1], starts[1:]):
        spectrum = np.abs(np.fft.rfft(centred[start:stop], size, axis=0)) ** 2
        covariance[: stop - start] += np.fft.irfft(spectrum, size, axis=0)[: stop - start]
    variance = np.where(covariance[0] > 0, covariance[0], 1)
    below = covariance / variance < np.exp(-1)
    return int(np.where(below.any(0), below.argmax(0), longest).max())


def stream_of(*key) -> int:
    """Return the random stream of a test: a hash of what it tests, so that order and workers cannot matter."""
    return int.from_bytes(hashlib.blake2b(repr(key).encode(), digest_size=8).digest(), "little")


def random_words(stream: int, first: int, count: int, n: int, xp=np) -> np.ndarray:
    """Return random 64-bit words ``(count, n)``; word (draw, row) is SplitMix64 of the stream at a counter."""
    draws, rows = xp.arange(first, first + count, dtype=np.uint64)[:, None], xp.arange(n, dtype=np.uint64)
    with np.errstate(over="ignore"):
        if xp is not np:
            return _mixed(stream, draws, rows)
        words = np.empty((count, n), np.uint64)
        for draw, word in zip(draws, words):  # one draw at a time stays in cache
            word[:] = _mixed(stream, draw, rows)
        return words


def _mixed(stream, draws, rows):
    word = ((draws << np.uint64(32)) + rows + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    word += np.uint64(stream & (2**64 - 1))
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


def _orders(words, xp, needed=None):
    """Return a random order of each row's places: that of its words, with the place itself in their low bits.

    No two words are then equal, so that every sort gives the same order, and sorting values is faster than places.
    On the host only the first ``needed`` places may be asked for.
    """
    count, n = words.shape
    bits = np.uint64((n - 1).bit_length())
    words = ((words >> bits) << bits) | xp.arange(n, dtype=np.uint64)
    mask = (np.uint64(1) << bits) - np.uint64(1)
    if xp is np:
        if needed is not None and needed < n:
            words.partition(needed, axis=1)
            words = words[:, :needed]
        words.sort(axis=1)
        return (words & mask).astype(np.int64)
    # A device sorts one long row best: by word, then, keeping that order, by row.
    by_word = xp.argsort(words.ravel())
    by_row = by_word[xp.argsort((by_word // n).astype(np.uint32))]
    return (by_row % n).reshape(count, n)


def batches(draw: Draw, x: np.ndarray, stream: int, count: int, first: int = 0) -> Iterator[np.ndarray]:
    """Yield ``count`` surrogates of ``x`` from the ``first`` on, as arrays ``(batch, n, d)`` of bounded size."""
    size = max(1, BATCH_VALUES // max(1, x.size))
    spread = getattr(draw, "spread", None)
    for start in range(first, first + count, size):
        some = min(size, first + count - start)
        rows = draw(stream, start, some)
        yield x[rows] if spread is None else x[rows] + spread[rows] * _moves(stream, start, some, x.shape)


def _moves(stream, first, count, shape):
    """Return uniform numbers in [-1, 1), ``(count, *shape)``, of a stream beside the one rows are drawn from."""
    words = random_words(stream + 2, first, count, shape[0] * shape[1])
    return (words / 2.0**63 - 1).reshape(count, *shape)
