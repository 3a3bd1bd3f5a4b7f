"""Permutation surrogates: the source's vectors in random order."""

import numpy as np

from enmesh.options import option
from enmesh.surrogates.base import Surrogate
from enmesh.surrogates.random_words import random_orders, random_words


@option
class Permute(Surrogate):
    """Shuffle the source's vectors over all samples (the paper's permutation). Autocorrelation inflates its errors."""

    def plan(self, x, z, *, starts, span):
        """Order the rows by random words."""
        n = len(x)
        return lambda stream, first, count, xp=np: random_orders(
            random_words(stream, first, count, n, xp), xp
        )
