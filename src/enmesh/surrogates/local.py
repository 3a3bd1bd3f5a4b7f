"""Local permutation: the source's vectors shuffled among samples with similar conditions."""

import numpy as np

from enmesh.errors import InputError
from enmesh.options import option
from enmesh.surrogates.base import Draw, Surrogate
from enmesh.surrogates.random_words import random_orders, random_words


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

        from enmesh.surrogates.kernels import swap_among

        near = cKDTree(z).query(z, k=min(self.neighbours + 1, n), p=np.inf)[1][:, 1:].astype(np.int64)

        def draw(stream, first, count, xp=np):
            order = random_orders(random_words(stream, first, count, n), np)
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
