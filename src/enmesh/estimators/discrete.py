"""Discrete plug-in estimator: relative frequencies of joint states.

    I(x ; y | z) = 1/N sum_n ln ( N(x,y,z) N(z) / (N(x,z) N(y,z)) )

with N(.) the number of samples in a state. Under independence 2 N I follows chi-square with
(|y| - 1)(|x| - 1)|z| degrees of freedom, |.| the number of joint states.

With few samples per state the plug-in value is too large: chance alone gives dof / 2 N. Corrections replace ln N(.) by

    ln n - 1 / 2n                                        Miller and Madow
    psi(n) + (-1)^n / 2 [ psi((n+1)/2) - psi(n/2) ]      Grassberger

with psi the digamma function. Tests take the plug-in value, whose null distribution is the known one.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from enmesh.errors import InputError
from enmesh.estimators.base import Estimator, Prepared
from enmesh.options import known_fields, option, whole_fields

DENSE_STATES_PER_SAMPLE = 8  # joint states beyond which states are sorted, not counted in a table


def _grassberger(n: np.ndarray) -> np.ndarray:
    from scipy.special import digamma

    sign = 1 - 2 * (n % 2)
    return digamma(n) + sign / 2 * (digamma((n + 1) / 2) - digamma(n / 2))


# What stands for the logarithm of a count, words for the methods paragraph, and the work to cite.
CORRECTIONS: dict[str, tuple[Any, ...]] = {
    "none": (np.log, ""),
    "miller-madow": (
        lambda n: np.log(n) - 1 / (2 * n),
        ", corrected for bias after Miller (1955)",
        "Miller, G. A. (1955). Note on the Bias of Information Estimates. Information Theory in Psychology, 95.",
    ),
    "grassberger": (
        _grassberger,
        ", corrected for bias after Grassberger (2003)",
        "Grassberger, P. (2003). Entropy Estimates from Insufficient Samplings. arXiv:physics/0307138.",
    ),
}


@option
class Discrete(Estimator):
    """Plug-in frequencies of joint states.

    Parameters
    ----------
    arity
        Number of states per variable, declared; None takes the observed ones.
    correction
        Of the bias that few samples per state bring: ``"none"`` (plug-in), ``"miller-madow"`` or ``"grassberger"``.
        Analytic tests and scores keep the plug-in value.

    >>> import numpy as np
    >>> x = np.arange(400) % 4
    >>> bool(abs(Discrete().prepare(x).cmi(x) - np.log(4)) < 1e-12)
    True
    """

    cli_name = "discrete"
    cli_options = ("correction",)
    summary = "states: integers, labels, discretised values; with a known null"
    analytic = True
    discrete = True
    takes_labels = True

    arity: int | None = None
    correction: str = "none"

    def __post_init__(self) -> None:
        if self.arity is not None:
            whole_fields(self, arity=2)
        known_fields(self, correction=tuple(CORRECTIONS))
        object.__setattr__(self, "references", CORRECTIONS[self.correction][2:])

    @property
    def plug_in(self) -> "Discrete":
        """Without correction."""
        return self if self.correction == "none" else replace(self, correction="none")

    def condition(self, column: np.ndarray, index: int, name: str) -> np.ndarray:
        """Code the states 0 .. r-1: observed states in order, or the values themselves if the arity is declared."""
        column = np.asarray(column)
        if column.dtype.kind == "f":
            whole = column.astype(np.int64)
            if (whole != column).any():
                advice = "use Series.discretise(), or another estimator"
                raise InputError(f"{name} holds fractions, not states; {advice}")
            column = whole
        if self.arity is None or column.dtype.kind not in "biu":
            codes, states = _coded(column)
            if self.arity is not None and states > self.arity:
                told = f"{name} has {states} states but the declared arity is {self.arity}"
                raise InputError(f"{told}; give arity={states} or none")
            return codes
        if column.min() < 0 or column.max() >= self.arity:
            declared = f"0 .. {self.arity - 1}, the states of the declared arity"
            raise InputError(f"{name} has values outside {declared}; give a larger arity or none")
        return column.astype(np.int64)

    def sentence(self) -> str:
        """Say how probabilities were estimated."""
        return f"plug-in frequencies of the discrete states{CORRECTIONS[self.correction][1]}"

    def _prepare(self, y: np.ndarray, z: np.ndarray, times: np.ndarray) -> Prepared:
        return _PreparedDiscrete(y, z, CORRECTIONS[self.correction][0])

    def entropy(self, x: np.ndarray, *, local: bool = False) -> Any:
        """H(x) = -1/N sum_n ln (N(x) / N), with the correction's logarithm of N(x)."""
        columns = np.reshape(x, (len(x), -1)).T
        codes, _ = _joint_code(np.stack([_coded(column)[0] for column in columns], axis=1))
        values = np.log(len(x)) - CORRECTIONS[self.correction][0](_occurrences(codes))
        if self.correction == "miller-madow":
            values -= 1 / (2 * len(x))  # states less one are what is added
        return values if local else float(values.mean())

    def dof(self, y: Sequence[int], x: Sequence[int], z: Sequence[int]) -> int:
        """(|y| - 1)(|x| - 1)|z|."""
        return (prod(self._arities(y)) - 1) * (prod(self._arities(x)) - 1) * prod(self._arities(z))

    def n_parameters(self, y: Sequence[int], z: Sequence[int]) -> int:
        """(|y| - 1)|z|: one probability table per state of z."""
        return (prod(self._arities(y)) - 1) * prod(self._arities(z))

    def max_parents_for(self, n: int, widths: Sequence[int], states: Sequence[int]) -> tuple[int, str]:
        """Three samples per joint state."""
        each = max(2, *states) ** max(widths)
        return max(1, int(np.log(max(n / 3, 2)) / np.log(each)) - 1), f"{n} samples allow 3 per joint state"

    def _arities(self, observed: Sequence[int]) -> Sequence[int]:
        return observed if self.arity is None else (self.arity,) * len(observed)


class _PreparedDiscrete(Prepared):
    def __init__(self, y: np.ndarray, z: np.ndarray, logarithm: Callable[[np.ndarray], np.ndarray]):
        super().__init__(y, z)
        self._logarithm = logarithm
        self._y, self._n_y = _joint_code(y)
        self._z, self._n_z = _joint_code(z)

    def _cmi(self, x: np.ndarray) -> np.ndarray:
        return np.array([self._counted(*_joint_code(one)) for one in x])

    def _counted(self, x: np.ndarray, n_x: int) -> float:
        """1/N sum n_xyz ln ( n_xyz n_z / (n_xz n_yz) ), summed margin by margin where a table holds all states."""
        n, shape = len(x), (n_x, self._n_z, self._n_y)
        if prod(shape) > DENSE_STATES_PER_SAMPLE * n:
            return float(self._log_ratios(x).mean())
        joint = (x * self._n_z + self._z) * self._n_y + self._y
        table, total = np.bincount(joint, minlength=prod(shape)).reshape(shape), 0.0
        for sign, counts in (1, table), (1, table.sum((0, 2))), (-1, table.sum(2)), (-1, table.sum(0)):
            occurring = counts[counts > 0].astype(np.float64)
            total += sign * float(occurring @ self._logarithm(occurring))
        return total / n

    def _local(self, x: np.ndarray) -> np.ndarray:
        return np.array([self._log_ratios(_joint_code(one)[0]) for one in x])

    def _log_ratios(self, x: np.ndarray) -> np.ndarray:
        x_z, y_z = x * self._n_z + self._z, self._z * self._n_y + self._y
        counts = [_occurrences(code) for code in (x_z * self._n_y + self._y, self._z, x_z, y_z)]
        joint, n_z, n_xz, n_yz = map(self._logarithm, counts)
        return joint + n_z - n_xz - n_yz


def _coded(column: np.ndarray) -> tuple[np.ndarray, int]:
    """Return codes 0 .. r-1 of the values in their order, and r."""
    states, codes = np.unique(column, return_inverse=True)
    return codes.astype(np.int64), len(states)


def _joint_code(columns: np.ndarray) -> tuple[np.ndarray, int]:
    """Return one code per row of ``(n, d)`` states, mixed radix, and the number of codes."""
    code, size = np.zeros(len(columns), np.int64), 1
    for column in columns.T:
        radix = int(column.max()) + 1
        code, size = (code * radix + column, size * radix) if size > 1 else (column, radix)
        if size > DENSE_STATES_PER_SAMPLE * len(columns):
            states, code = np.unique(code, return_inverse=True)
            size = len(states)
    return code, size


def _occurrences(code: np.ndarray) -> np.ndarray:
    """Return for every sample how many samples share its state."""
    _, inverse, counts = np.unique(code, return_inverse=True, return_counts=True)
    return counts[inverse]
