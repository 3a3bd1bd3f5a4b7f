"""What a surrogate is: rows to resample a source by, so that its tie to the target is cut and nothing else.

A surrogate never touches the target, so p(next | own past) is kept; the embedded vectors of the source are resampled
jointly. Each surrogate is a vector of row numbers, so a batch of surrogates of ``x (n, d)`` is ``x[rows]`` with
``rows (batch, n)``.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

import numpy as np

from enmesh.errors import refuse_hours
from enmesh.methods import Method
from enmesh.surrogates.random_words import random_words

Draw = Callable[..., np.ndarray]
"""``draw(stream, first, count, xp=numpy) -> (count, n)`` rows of surrogates first .. first + count - 1.

``xp`` is the array library that draws them, numpy or CuPy: the rows are the same.
"""

# Values held at once when a null distribution is sampled: bounds memory, not results.
BATCH_VALUES = 4_000_000
# Surrogates of which a test says, after so many seconds, how long all of them would take, if that is hours.
MANY, MEASURED = 100_000, 2.0


class Surrogate(Method, ABC):
    """A way to resample a source; `plan` looks at the data once, the plan draws rows in batches."""

    @abstractmethod
    def plan(self, x: np.ndarray, z: np.ndarray, *, starts: np.ndarray, span: int) -> Draw:
        """Return the function that draws rows for ``x (n, d)`` given ``z (n, d_z)``.

        ``starts`` are the rows at which trials start, and n; ``span`` is the number of samples an embedded vector
        reaches back.
        """


def batches(draw: Draw, x: np.ndarray, stream: int, count: int, first: int = 0) -> Iterator[np.ndarray]:
    """Yield ``count`` surrogates of ``x`` from the ``first`` on, as arrays ``(batch, n, d)`` of bounded size."""
    size = max(1, BATCH_VALUES // max(1, x.size))
    spread = getattr(draw, "spread", None)
    began, timed = 0.0, 0
    for start in range(first, first + count, size):
        if count > MANY and began and not timed and (seconds := time.monotonic() - began) > MEASURED:
            timed = start - first - size  # without the first batch, which may compile
            refuse_hours("surrogates", count, timed / seconds)
        began = began or (time.monotonic() if start > first else 0.0)
        batch = min(size, first + count - start)
        rows = draw(stream, start, batch)
        if spread is None:
            yield x[rows]
        else:  # moved by uniform numbers in [-1, 1), of a stream beside the one rows are drawn from
            moves = random_words(stream + 2, start, batch, x.size) / 2.0**63 - 1
            yield x[rows] + spread[rows] * moves.reshape(batch, *x.shape)
