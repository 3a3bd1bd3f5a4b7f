"""Counter-based random numbers: the same on every device and for any split into batches.

Word (draw, row) of a stream is a hash (SplitMix64) of the stream, the draw and the row.
"""

import hashlib
from typing import Any

import numpy as np


def stream_of(*key: Any) -> int:
    """Return the random stream of a test: a hash of what it tests, so that order and workers cannot matter."""
    return int.from_bytes(hashlib.blake2b(repr(key).encode(), digest_size=8).digest(), "little")


def random_words(stream: int, first: int, count: int, n: int, xp: Any = np) -> np.ndarray:
    """Return random 64-bit words ``(count, n)``; word (draw, row) is SplitMix64 of the stream at a counter."""
    draws, rows = xp.arange(first, first + count, dtype=np.uint64)[:, None], xp.arange(n, dtype=np.uint64)
    with np.errstate(over="ignore"):
        word = ((draws << np.uint64(32)) + rows + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        word += np.uint64(stream & (2**64 - 1))
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return word ^ (word >> np.uint64(31))


def random_orders(stream: int, first: int, count: int, n: int, xp: Any = np) -> np.ndarray:
    """Return random orders ``(count, n)`` of n places: those of random words, with the place itself in their low bits.

    No two words are then equal, so that every sort gives the same order, and sorting values is faster than places.
    """
    bits, words = np.uint64((n - 1).bit_length()), random_words(stream, first, count, n, xp)
    words = ((words >> bits) << bits) | xp.arange(n, dtype=np.uint64)
    mask = (np.uint64(1) << bits) - np.uint64(1)
    if xp is np:
        words.sort(axis=1)
        return (words & mask).astype(np.int64)
    # A device sorts one long row best: by word, then, keeping that order, by row.
    by_word = xp.argsort(words.ravel())
    by_row = by_word[xp.argsort((by_word // n).astype(np.uint32))]
    return (by_row % n).reshape(count, n)
