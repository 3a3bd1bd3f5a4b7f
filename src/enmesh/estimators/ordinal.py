"""Ordinal: order patterns of successive values, then counting (Bandt and Pompe 2002; Staniek and Lehnertz 2008).

A sample becomes the pattern in which it and the values before it, ``delay`` apart, are ordered: one of order! states.
Of equal values the earlier counts as the smaller. No monotone change of a variable moves its patterns, outliers and
slow drifts hardly do; what the size of a value says is lost.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import factorial
from typing import Any

import numpy as np

from enmesh.errors import InputError
from enmesh.estimators.base import Array, Estimator, Prepared, numeric
from enmesh.estimators.discrete import Discrete
from enmesh.options import option, whole_fields

# 7! = 5,040 states are more than most recordings can fill.
MOST = 7


@option
class Ordinal(Estimator):
    """Order patterns: symbolic transfer entropy.

    Parameters
    ----------
    order
        Values that make a pattern, 2 to 7; there are order! patterns.
    delay
        Samples between the values of a pattern.

    Notes
    -----
    Tests are by surrogates. Neighbouring patterns share values, and the order! patterns of target, past and source
    together are many and unequally frequent: chi-square, which counts of independent samples follow, takes .16 of
    independent pairs for linked at level .05 with order 3 and 500 samples.

    >>> import numpy as np
    >>> Ordinal(order=3).condition(np.array([4, 7, 9, 10, 6, 11, 3]), 0, "x")
    array([-1, -1,  0,  0,  3,  2,  3])
    """

    cli_name = "ordinal"
    cli_options = ("order",)
    summary = "numbers of which only the order can be trusted: drifts, unknown scales, artefacts; many samples"
    phrase = (
        "frequencies of order patterns (order {order}, delay {delay}; Bandt and Pompe 2002, Staniek and Lehnertz 2008)"
    )
    references = (
        "Bandt, C. and Pompe, B. (2002). Permutation Entropy: A Natural Complexity Measure for Time Series. "
        "Physical Review Letters 88, 174102.",
        "Staniek, M. and Lehnertz, K. (2008). Symbolic Transfer Entropy. Physical Review Letters 100, 158101.",
    )
    discrete = True

    order: int = 3
    delay: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.order, bool) or not isinstance(self.order, int) or not 2 <= self.order <= MOST:
            raise InputError(f"order={self.order!r} is not possible; give a whole number from 2 to {MOST}")
        whole_fields(self, delay=1)

    @property
    def reaches_back(self) -> int:
        """The samples from the first to the last value of a pattern."""
        return (self.order - 1) * self.delay

    def condition(self, column: Array, index: int, name: str, *, starts: Array | None = None) -> Array:
        """Return the pattern that ends at each sample, 0 .. order! - 1, or -1 where it would begin before its run.

        ``starts`` are the rows at which runs of consecutive samples begin (trials, or what follows a gap); by
        default all is one run.
        """
        column = numeric(column, name, "Ordinal")
        borders = [*([0] if starts is None else starts), len(column)]
        codes = np.full(len(column), -1, np.int64)
        for first, last in pairwise(borders):
            codes[first + self.reaches_back : last] = patterns(column[first:last], self.order, self.delay)
        return codes

    def _prepare(self, y: np.ndarray, z: np.ndarray, times: np.ndarray) -> Prepared:
        known = np.asarray((np.hstack([y, z]) >= 0).all(axis=1))
        if not known.any():
            few = f"too few samples: {len(y)} for patterns of order {self.order} and delay {self.delay}"
            raise InputError(f"{few}; at least {self.reaches_back + 1} in a row are needed")
        return _PreparedOrdinal(y, z, known)

    def entropy(self, x: np.ndarray, *, local: bool = False) -> Any:
        """Refuse: a value alone has no order."""
        raise InputError("single values have no order, so no entropy by patterns; use KSG or Discrete")

    def max_parents_for(self, n: int, widths: Sequence[int], states: Sequence[int]) -> tuple[int, str]:
        """Three samples per joint pattern."""
        return Discrete().max_parents_for(n, widths, (factorial(self.order),))


class _PreparedOrdinal(Prepared):
    """Counts where target and condition have patterns; local values are those of these samples."""

    def __init__(self, y: np.ndarray, z: np.ndarray, known: np.ndarray):
        super().__init__(y, z)
        self._known = known
        self._counting = Discrete().prepare(y[known], z[known])

    def _where_known(self, x: np.ndarray) -> np.ndarray:
        x = x[:, self._known]
        if (x < 0).any():
            told = "the source has no pattern where the target has one: it is too near the start of a trial or a gap"
            raise InputError(f"{told}; leave out the first samples of each trial")
        return x

    def _cmi(self, x: np.ndarray) -> np.ndarray:
        return self._counting._cmi(self._where_known(x))

    def _local(self, x: np.ndarray) -> np.ndarray:
        return self._counting._local(self._where_known(x))


def patterns(values: np.ndarray, order: int, delay: int = 1) -> np.ndarray:
    """Return the order patterns of one run of values, ``(n - (order - 1) delay,)`` codes 0 .. order! - 1.

    The code is the number of the permutation in lexicographic order: 0 is rising, order! - 1 is falling.

    >>> import numpy as np
    >>> patterns(np.array([1, 2, 3, 2, 1, 1, 2]), order=3)
    array([0, 1, 5, 4, 0])
    """
    count = len(values) - (order - 1) * delay
    if count <= 0:
        return np.empty(0, np.int64)
    columns = [values[place * delay : place * delay + count] for place in range(order)]
    codes = np.zeros(count, np.int64)
    for place, earlier in enumerate(columns):
        smaller = sum((later < earlier).astype(np.int64) for later in columns[place + 1 :])
        codes += smaller * factorial(order - 1 - place)
    return codes
