"""Bootstrap surrogates: the source's vectors drawn with replacement."""

from typing import Any

import numpy as np

from enmesh.options import option
from enmesh.surrogates.base import Draw, Surrogate
from enmesh.surrogates.random_words import random_words


@option
class Bootstrap(Surrogate):
    """Redraw the source's vectors with replacement (the paper's bootstrap). Autocorrelation inflates its errors.

    Continuous vectors are smoothed: each is drawn from the cube that reaches to its nearest neighbour. Bare repeats
    would be structure to an estimator that looks at neighbours, and its null would not be that of the data.

    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> em.significance(series, "a", "b", estimator=em.Gaussian(), surrogate=em.Bootstrap(), n_surrogates=99).p_value
    0.01
    """

    cli_name = "bootstrap"
    summary = "The paper's bootstrap; for series without memory."
    phrase = "bootstrap samples of the source"

    def plan(self, x: np.ndarray, z: np.ndarray, *, starts: np.ndarray, span: int) -> Draw:
        """Scale random words to row numbers; see how far each vector's nearest neighbour is."""
        if x.dtype.kind == "i":
            return _Redraw(len(x), None)
        from scipy.spatial import cKDTree

        return _Redraw(len(x), cKDTree(x).query(x, k=2, p=np.inf)[0][:, 1:])


class _Redraw:
    """Rows drawn with replacement, and ``spread (n, 1)``: how far a vector may be moved, None for states."""

    def __init__(self, n: int, spread: np.ndarray | None) -> None:
        self.n, self.spread = n, spread

    def __call__(self, stream: int, first: int, count: int, xp: Any = np) -> np.ndarray:
        # The top 32 bits times n, shifted down: uniform to 1 part in 2^32 / n, and the same on every device.
        words = random_words(stream, first, count, self.n, xp) >> np.uint64(32)
        return ((words * np.uint64(self.n)) >> np.uint64(32)).astype(np.int64)
