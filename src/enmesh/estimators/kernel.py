"""Box-kernel estimator: counts of samples within a fixed distance (Schreiber 2000).

    I(x ; y | z) = 1/N sum_n ln ( n_xyz n_z / (n_xz n_yz) )

with n_b the number of samples within ``width`` standard deviations of sample n in block b, max norm, itself counted.
The value depends on the width; compare values of one width only.
"""

from dataclasses import field
from typing import Any

import numpy as np

from enmesh.errors import InputError
from enmesh.estimators.base import ByNeighbours, Prepared, PreparedOnDevice, numeric, on_device
from enmesh.estimators.scaling import zscore
from enmesh.neighbours import check_device, chosen, engine
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

    Examples
    --------
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
        if not (np.isfinite(self.width) and self.width > 0):
            raise InputError(
                f"width={self.width!r} is not possible; give a positive number of standard deviations"
            )
        check_theiler(self.theiler)
        check_device(self.device, self.precision, self.threads)

    def condition(self, column: np.ndarray, index: int, name: str) -> np.ndarray:
        """Scale to zero mean and unit standard deviation (ddof 1)."""
        return zscore(numeric(column, name, "Kernel"))

    def sentence(self) -> str:
        """Say the kernel and its width."""
        return f"a box kernel of width {self.width}{without_neighbours_in_time(self.theiler)}"

    def _prepare(self, y: np.ndarray, z: np.ndarray, times: np.ndarray) -> Prepared:
        kind = _PreparedKernel if chosen(self.device) == "cpu" else _PreparedOnDevice
        return kind(self, y, z, times)

    def entropy(self, x: np.ndarray, *, local: bool = False) -> Any:
        """H(x) = -1/N sum_n ln ( n_x / (N (2 w)^d) ), w the width in the data's units."""
        x = np.atleast_2d(np.asarray(x, dtype=np.float64).T).T
        scaled = np.column_stack([zscore(column) for column in x.T])
        nothing = np.empty((1, len(x), 0))
        neighbours = engine(self.device, self.precision, self.threads)(scaled, nothing[0])
        counts = neighbours.within(nothing, self.width)[2][0]
        volume = x.shape[1] * np.log(2 * self.width) + np.log(x.std(0, ddof=1)).sum()
        values = np.log(len(x)) + volume - np.log(counts)
        return values if local else float(values.mean())


class _PreparedKernel(Prepared):
    def __init__(self, estimator: Kernel, y: np.ndarray, z: np.ndarray, times: np.ndarray):
        super().__init__(y, z)
        self._width = estimator.width
        neighbours = engine(estimator.device, estimator.precision, estimator.threads)
        self._neighbours = neighbours(y, z, times=times, theiler=estimator.theiler)

    def _local(self, x: np.ndarray) -> np.ndarray:
        joint, n_xz, n_yz, n_z = self._neighbours.within(x, self._width)
        # A Theiler window can leave no joint neighbour; such a sample says nothing.
        alone = joint == 0
        joint, n_xz, n_yz, n_z = (np.log(np.where(alone, 1, counts)) for counts in (joint, n_xz, n_yz, n_z))
        return joint + n_z - n_xz - n_yz


class _PreparedOnDevice(PreparedOnDevice, _PreparedKernel):
    """Means are summed where the counts are."""

    def _means(self, x: Any) -> Any:
        return self._neighbours.within_mean(x, self._width, *on_device(_logarithms, len(self.y)))


def _logarithms(n: int) -> tuple[np.ndarray]:
    return (np.log(np.maximum(1, np.arange(n + 1))),)


def check_theiler(theiler: int) -> None:
    """Refuse a Theiler window that is no number of samples."""
    if not isinstance(theiler, int) or theiler < 0:
        raise InputError(f"theiler={theiler!r} is not possible; give a whole number of samples, 0 for none")


def without_neighbours_in_time(theiler: int) -> str:
    """Say a Theiler window, if there is one, within a sentence."""
    return f", samples up to {theiler} steps apart not compared" if theiler else ""
