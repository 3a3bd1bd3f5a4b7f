"""Discrete plug-in estimator: relative frequencies of joint states.

    I(x ; y | z) = 1/N sum_n ln ( N(x,y,z) N(z) / (N(x,z) N(y,z)) )

with N(.) the number of samples in a state. Under independence 2 N I follows chi-square with
(|y| - 1)(|x| - 1)|z| degrees of freedom, |.| the number of joint states.
"""

from math import prod

import numpy as np

from enmesh.errors import InputError
from enmesh.estimators.base import Estimator, Prepared
from enmesh.options import option

# Above this many joint states per sample a dense table of counts wastes memory, and states are sorted instead.
DENSE_STATES_PER_SAMPLE = 8


@option
class Discrete(Estimator):
    """Plug-in frequencies. ``arity`` declares the number of states per variable; None takes the observed ones.

    >>> import numpy as np
    >>> x = np.arange(400) % 4
    >>> round(Discrete().prepare(x).cmi(x) / np.log(2), 6)
    2.0
    """

    arity: int | None = None

    analytic = True
    monotone = True
    discrete = True

    def __post_init__(self):
        if self.arity is not None and (not isinstance(self.arity, int) or self.arity < 2):
            raise InputError(
                f"arity={self.arity!r} is not possible; give a whole number of at least 2, or None"
            )

    def condition(self, column, index, name):
        """Code the states 0 .. r-1: observed states in order, or the values themselves if the arity is declared."""
        column = np.asarray(column)
        if column.dtype.kind == "f":
            whole = column.astype(np.int64)
            if (whole != column).any():
                raise InputError(
                    f"{name} holds fractions, not states; use Series.discretise(), or another estimator"
                )
            column = whole
        if self.arity is None or column.dtype.kind not in "biu":
            states, codes = np.unique(column, return_inverse=True)
            if self.arity is not None and len(states) > self.arity:
                raise InputError(f"{name} has {len(states)} states but the declared arity is {self.arity}")
            return codes.astype(np.int64)
        if column.min() < 0 or column.max() >= self.arity:
            raise InputError(
                f"{name} has values outside 0 .. {self.arity - 1}, the states of the declared arity"
            )
        return column.astype(np.int64)

    def _prepare(self, y, z, times):
        return _PreparedDiscrete(y, z)

    def entropy(self, x, *, local=False):
        """H(x) = -1/N sum_n ln (N(x) / N)."""
        x = np.asarray(x)
        codes, size = _joint_code(_columns_coded(x.reshape(len(x), -1)))
        counts = np.bincount(codes, minlength=size)
        values = np.log(len(x)) - np.log(counts[codes])
        return values if local else float(values.mean())

    def dof(self, y, x, z):
        """(|y| - 1)(|x| - 1)|z|."""
        return (prod(self._arities(y)) - 1) * (prod(self._arities(x)) - 1) * prod(self._arities(z))

    def n_parameters(self, y, z):
        """(|y| - 1)|z|: one probability table per state of z."""
        return (prod(self._arities(y)) - 1) * prod(self._arities(z))

    def _arities(self, observed):
        return observed if self.arity is None else (self.arity,) * len(observed)


class _PreparedDiscrete(Prepared):
    def __init__(self, y, z):
        super().__init__(y, z)
        self._y, self._n_y = _joint_code(y)
        self._z, self._n_z = _joint_code(z)

    def _cmi(self, x):
        return np.array([self._plug_in(*_joint_code(one)) for one in x])

    def _plug_in(self, x, n_x):
        """Sum n ln n over the cells of the joint table and its margins: no pass over samples but one count."""
        joint = (x * self._n_z + self._z) * self._n_y + self._y
        n, size = len(joint), n_x * self._n_z * self._n_y
        if size <= DENSE_STATES_PER_SAMPLE * n:
            table = np.bincount(joint, minlength=size).reshape(n_x, self._n_z, self._n_y)
            margins = table.sum(2), table.sum(0), table.sum((0, 2))
        else:
            states, table = np.unique(joint, return_counts=True)
            x_z, y = np.divmod(states, self._n_y)
            margins = [
                _regroup(key, table) for key in (x_z, (x_z % self._n_z) * self._n_y + y, x_z % self._n_z)
            ]
        n_xz, n_yz, n_z = map(_n_log_n, margins)
        return (_n_log_n(table) + n_z - n_xz - n_yz) / n

    def _local(self, x):
        return np.array([self._log_ratios(*_joint_code(one)) for one in x])

    def _log_ratios(self, x, n_x):
        x_z, y_z = x * self._n_z + self._z, self._z * self._n_y + self._y
        counts = [_occurrences(code) for code in (x_z * self._n_y + self._y, self._z, x_z, y_z)]
        joint, n_z, n_xz, n_yz = map(np.log, counts)
        return joint + n_z - n_xz - n_yz


def _joint_code(columns) -> tuple[np.ndarray, int]:
    """Return one code per row of ``(n, d)`` states, mixed radix, and the number of codes."""
    code, size = np.zeros(len(columns), np.int64), 1
    for column in columns.T:
        radix = int(column.max()) + 1
        code, size = (code * radix + column, size * radix) if size > 1 else (column, radix)
        if size > DENSE_STATES_PER_SAMPLE * len(columns):
            states, code = np.unique(code, return_inverse=True)
            size = len(states)
    return code, size


def _columns_coded(columns):
    return np.stack([np.unique(column, return_inverse=True)[1] for column in columns.T], axis=1)


def _occurrences(code):
    """Return for every sample how many samples share its state."""
    _, inverse, counts = np.unique(code, return_inverse=True, return_counts=True)
    return counts[inverse]


def _regroup(keys, counts):
    _, inverse = np.unique(keys, return_inverse=True)
    return np.bincount(inverse, weights=counts)


def _n_log_n(counts):
    counts = counts[counts > 0].astype(np.float64)
    return float(counts @ np.log(counts))
