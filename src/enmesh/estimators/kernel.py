"""Box-kernel estimator: counts of samples within a fixed distance (Schreiber 2000).

    I(x ; y | z) = 1/N sum_n ln ( n_xyz n_z / (n_xz n_yz) )

with n_b the number of samples within ``width`` standard deviations of sample n in block b, max norm, itself counted.
The value depends on the width; compare values of one width only.
"""

import functools
import sys
from dataclasses import field
from typing import Any

import numpy as np

from enmesh.errors import InputError
from enmesh.estimators.base import as_block, numeric
from enmesh.estimators.by_neighbours import ByNeighbours, Question
from enmesh.estimators.scaling import zscore
from enmesh.options import option


@option
class Kernel(ByNeighbours):
    """Box kernel: counts of samples within a fixed distance.

    Parameters
    ----------
    width
        Half-width of the box, in standard deviations of each variable.
    theiler
        Samples within this time of one another are not neighbours.
    device
        ``"cpu"``, ``"cuda"`` or ``"auto"`` (a GPU if there is one).
    precision, threads
        As in `KSG`.

    >>> import enmesh as em
    >>> series = em.simulate.coupled_map("a>b", n=500, coupling=0.3, seed=0)
    >>> te = em.te_matrix(series, estimator=em.Kernel(width=1.0)).te
    >>> bool(te.loc["a", "b"] > te.loc["b", "a"] + 0.1)
    True
    """

    cli_name = "kernel"
    cli_options = ("width", "theiler", "device")
    summary = "comparison with published values of one width; otherwise prefer ksg"

    width: float = 0.5
    theiler: int = 0
    device: str = "cpu"
    precision: str = "single"
    threads: int = field(default=1, compare=False)

    def __post_init__(self) -> None:
        if not 0 < self.width <= sys.float_info.max:
            advice = "give a positive number of standard deviations"
            raise InputError(f"width={self.width!r} is not possible; {advice}")
        super().__post_init__()

    def condition(self, column: np.ndarray, index: int, name: str) -> np.ndarray:
        """Scale to zero mean and unit standard deviation (ddof 1)."""
        return zscore(numeric(column, name, "Kernel"))

    def sentence(self) -> str:
        """Say the kernel and its width."""
        return f"a box kernel of width {self.width}{self._but_near_in_time()}"

    def question(self, n: int, dz: int) -> Question:
        """Count within the width; a Theiler window can leave no joint neighbour, and such a sample says nothing."""
        return Question("within", (self.width,), (_tables, n))

    def entropy(self, x: np.ndarray, *, local: bool = False) -> Any:
        """H(x) = -1/N sum_n ln ( n_x / (N (2 w)^d) ), w the width in the data's units."""
        x = as_block(np.asarray(x, dtype=np.float64))
        scaled = np.column_stack([zscore(column) for column in x.T])
        nothing = np.empty((1, len(x), 0))
        counts = self.engine(scaled, nothing[0]).within(nothing, self.width)[2][0]
        volume = x.shape[1] * np.log(2 * self.width) + np.log(x.std(0, ddof=1)).sum()
        values = np.log(len(x)) + volume - np.log(counts)
        return values if local else float(values.mean())


@functools.lru_cache(maxsize=8)
def _tables(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the logarithms of counts, as (plus, minus)."""
    logarithms = np.log(np.maximum(1, np.arange(n + 1)))
    return logarithms, logarithms
