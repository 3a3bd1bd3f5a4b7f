"""Permutation surrogates: the source's vectors in random order."""

import numpy as np

from enmesh.options import option
from enmesh.surrogates.base import Draw, Surrogate
from enmesh.surrogates.random_words import random_orders


@option
class Permute(Surrogate):
    """Shuffle the source's vectors over all samples (the paper's permutation). Autocorrelation inflates its errors.

    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> em.significance(series, "a", "b", estimator=em.Gaussian(), surrogate=em.Permute(), n_surrogates=99).p_value
    0.01
    """

    cli_name = "permute"
    summary = "The paper's permutation; for series without memory."
    phrase = "permutations of the source's embedded samples"

    def plan(self, x: np.ndarray, z: np.ndarray, *, starts: np.ndarray, span: int) -> Draw:
        """Order the rows by random words."""
        return lambda stream, first, count, xp=np: random_orders(stream, first, count, len(x), xp)
