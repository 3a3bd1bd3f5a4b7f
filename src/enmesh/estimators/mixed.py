"""Mixed: conditional mutual information of numbers and states together (Gao et al. 2017, Mesner and Shalizi 2021).

As in KSG the distance to the k-th neighbour in the joint space sets the scale, but ties are taken as they are: with n_b
the number of other samples in block b that are no farther than the k-th neighbour, and psi the digamma function,

    I(x ; y | z) = < psi(n_xyz) + psi(n_z) - psi(n_xz) - psi(n_yz) >        psi(N) for psi(n_z) if z is empty

Where values are distinct n_xyz = k; where k samples share all values, n_xyz is the number of those that do, and the
estimate becomes that of counted states. Two different states are farther apart than any two numbers.
"""

import functools
from typing import Any

import numpy as np

from enmesh.errors import InputError, hazard
from enmesh.estimators.by_neighbours import ByNeighbours, Question
from enmesh.estimators.scaling import zscore
from enmesh.options import option

# Distance of two states, a power of two so that it is exact; z-scores of n samples differ by less than 2 sqrt(n).
APART = 2.0**40
FEW_PER_STATE = 3  # samples per state below which most samples have no neighbour of their own state


@option
class Mixed(ByNeighbours):
    """Nearest neighbours among columns of numbers, of integer states and of text states together.

    A column of floating-point numbers is z-scored and compared by distance; it may have ties, such as many zeros. A
    column of integers, booleans or text holds states: two samples have the same state or not, and how states are
    named or ordered changes nothing. A sample with fewer than ``k`` others in its joint state says nothing (it
    counts as 0), so that with many rare states the estimate is too small rather than too large.

    Parameters
    ----------
    k
        Neighbours in the joint space: more lowers variance and raises bias.
    device
        ``"cpu"``, ``"cuda"`` or ``"auto"`` (a GPU if there is one).
    precision
        Of distances on a GPU: ``"single"``, in which numbers closer than 1e-7 standard deviations tie, or ``"double"``,
        which counts exactly as the CPU does.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> state = rng.integers(0, 5, 2000)  # I = ln 5 - 4/5 ln 2
    >>> driven = (state + rng.uniform(0, 2, 2000))
    >>> prepared = Mixed().prepare(Mixed().condition(driven, 0, "y"))
    >>> bool(abs(prepared.cmi(Mixed().condition(state, 1, "x")) - 1.0549) < 0.05)
    True
    """

    cli_name = "mixed"
    cli_options = ("k", "device")
    summary = "numbers beside integer or text states; numbers with many ties, such as counts with many zeros"
    phrase = (
        "nearest neighbours among numbers and states (k = {k}, maximum norm, z-scored numbers, ties counted; "
        "Gao et al. 2017, Mesner and Shalizi 2021)"
    )
    references = (
        "Gao, W., Kannan, S., Oh, S. and Viswanath, P. (2017). Estimating Mutual Information for Discrete-Continuous "
        "Mixtures. Advances in Neural Information Processing Systems 30, 5986.",
        "Mesner, O. C. and Shalizi, C. R. (2021). Conditional Mutual Information Estimation for Mixed, Discrete and "
        "Continuous Data. IEEE Transactions on Information Theory 67, 464.",
    )
    takes_labels = True

    k: int = 4
    device: str = "cpu"
    precision: str = "single"

    def condition(self, column: np.ndarray, index: int, name: str) -> np.ndarray:
        """Scale numbers to unit variance; set states so far apart that they are never taken for near."""
        column = np.asarray(column)
        if column.dtype.kind == "f":
            return zscore(column) if np.ptp(column) > 0 else np.zeros(len(column))
        states, codes = np.unique(column, return_inverse=True)
        if len(states) * FEW_PER_STATE > len(column):
            told = f"in {len(column)} samples: most samples are alone in theirs and say nothing"
            advice = "if it is a quantity give it as floating-point numbers"
            hazard(f"{told}; {advice}", f"{name} has {len(states)} states")
        return codes * APART

    def question(self, n: int, dz: int) -> Question:
        """Count up to the k-th neighbour, ties included."""
        if n <= self.k + 1:
            raise InputError(f"too few samples: {n} for k={self.k}; at least {self.k + 2} are needed")
        return Question("tied", (self.k, APART / 2), (_tables, n, dz == 0))

    def entropy(self, x: np.ndarray, *, local: bool = False) -> Any:
        """Refuse: numbers have a density and states a probability, and no entropy is of both."""
        advice = "use KSG for numbers, Discrete for states"
        raise InputError(f"numbers and states together have no entropy; {advice}")


@functools.lru_cache(maxsize=8)
def _tables(n: int, mutual: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return (plus, minus): digamma of n_z and of the other counts; without z all n samples take the place of n_z."""
    from scipy.special import digamma

    psi = digamma(np.maximum(1, np.arange(n + 1)))
    return np.full(n + 1, psi[n]) if mutual else psi, psi
