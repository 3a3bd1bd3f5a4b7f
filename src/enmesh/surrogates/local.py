"""Local permutation: the source's vectors shuffled among samples with similar conditions."""

from typing import Any

import numpy as np

from enmesh.options import option, whole_fields
from enmesh.surrogates.base import Draw, Surrogate
from enmesh.surrogates.random_words import random_orders, random_words

SWEEPS = 2


@option
class LocalPermute(Surrogate):
    """Shuffle the source among samples with similar z, which keeps its dependence on z (after Runge 2018).

    Each sample swaps its vector with that of one of its nearest samples in z, in random order, twice over. With
    discrete z the shuffle is among samples of the same state.

    Attributes
    ----------
    neighbours
        Number of nearest samples in z to choose from.

    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> test = em.significance(series, "a", "c", given="b", estimator=em.Gaussian(), surrogate=em.LocalPermute())
    >>> test.p_value > 0.05
    True
    """

    cli_name = "local"
    summary = "Keeps the source's dependence on the conditions; for strong conditions."
    phrase = "local permutations of the source among near conditions"
    references = (
        "Runge, J. (2018). Conditional Independence Testing Based on a Nearest-Neighbor Estimator of Conditional "
        "Mutual Information. Proceedings of Machine Learning Research 84, 938.",
    )

    neighbours: int = 5

    def __post_init__(self) -> None:
        whole_fields(self, neighbours=1)

    def plan(self, x: np.ndarray, z: np.ndarray, *, starts: np.ndarray, span: int) -> Draw:
        """Find who may swap with whom."""
        if z.dtype.kind == "i":
            return _within_states(z)
        from scipy.spatial import cKDTree

        n = len(x)
        near = cKDTree(z).query(z, k=min(self.neighbours + 1, n), p=np.inf)[1][:, 1:].astype(np.int64)

        def draw(stream: int, first: int, count: int, xp: Any = np) -> np.ndarray:
            order = random_orders(stream, first, count, n)
            return xp.asarray(_swapped(near, order, random_words(stream + 1, first, count, n)))

        return draw


def _swapped(near: np.ndarray, order: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Let each row, in the given random order, swap its vector with that of a random near row, `SWEEPS` times over.

    ``near (n, k)`` without the row itself, ``order (b, n)``, ``words (b, n)`` random; returns rows ``(b, n)``. Swaps
    make a permutation: no vector is used twice, which nearest neighbours would take for structure.
    """
    count, n = order.shape
    each, rows = np.arange(count), np.tile(np.arange(n), (count, 1))
    for sweep in range(SWEEPS):
        chosen = (words >> np.uint64(20 * sweep)) % np.uint64(near.shape[1])
        for i in order.T:
            j = near[i, chosen[each, i]]
            rows[each, i], rows[each, j] = rows[each, j], rows[each, i]
    return rows


def _within_states(z: np.ndarray) -> Draw:
    state = np.unique(z, axis=0, return_inverse=True)[1].reshape(-1)
    home = np.argsort(state, kind="stable")

    def draw(stream: int, first: int, count: int, xp: Any = np) -> np.ndarray:
        words = random_words(stream, first, count, len(z))
        rows = np.empty(words.shape, np.int64)
        rows[:, home] = [np.lexsort((one, state)) for one in words]
        return xp.asarray(rows)

    return draw
