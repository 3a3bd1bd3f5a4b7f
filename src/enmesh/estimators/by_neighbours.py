"""What estimators that ask `enmesh.neighbours` share, on a CPU or a GPU.

They count neighbours in (x, y, z), (x, z), (y, z) and z, and look the counts up in two tables:

    a sample's value = minus[n_xyz] + plus[n_z] - minus[n_xz] - minus[n_yz]

with a constant in place of the first where the joint count is given (KSG); 0 where the joint count is 0. A GPU sums the
values where the counts are, and draws surrogates there.
"""

import functools
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from enmesh.estimators.base import Estimator, Prepared, Surrogates, forward_selected
from enmesh.estimators.residuals import Residuals
from enmesh.neighbours import check_device, chosen, engine
from enmesh.options import known_fields, whole_fields
from enmesh.surrogates import Draw

QUESTIONS_ON_GPU = 32  # of which some are prepared or looked at while others run


class Question(NamedTuple):
    """What is counted: a method of ``Neighbours`` with its arguments; what makes the tables, with its; the constant."""

    method: str
    arguments: tuple[Any, ...]
    tables: tuple[Any, ...]
    constant: float = 0.0


class ByNeighbours(Estimator):
    """An estimator that asks `enmesh.neighbours`."""

    releases_gil = True
    device: str
    precision: str
    k: int | None = None
    theiler: int = 0
    threads: int = 1

    def __post_init__(self) -> None:
        least = {"k": 1, "theiler": 0, "threads": 1}
        whole_fields(self, **{name: least[name] for name in least if vars(self).get(name) is not None})
        check_device(self.device)
        known_fields(self, precision=("single", "double"))

    @property
    def at_once(self) -> int:
        """Several on a GPU, one on a CPU."""
        return 1 if chosen(self.device) == "cpu" else QUESTIONS_ON_GPU

    @property
    def engine(self) -> Callable[..., Any]:
        """The ``Neighbours`` of its device."""
        return engine(self.device, self.precision, self.threads)

    @abstractmethod
    def question(self, n: int, dz: int) -> Question:
        """Return what is counted of n samples given ``dz`` columns; refuse too few samples."""

    def residuals(self, z: np.ndarray) -> Residuals | None:
        """Return what takes regressions on z out of x and y first; None for nothing."""
        return None

    def _prepare(self, y: np.ndarray, z: np.ndarray, times: np.ndarray) -> Prepared:
        return PreparedByNeighbours(self, y, z, times)

    def _but_near_in_time(self) -> str:
        """Say a Theiler window, if there is one, within a sentence."""
        return f", samples up to {self.theiler} steps apart not compared" if self.theiler else ""


class PreparedByNeighbours(Prepared):
    """A target and a condition whose neighbours are counted."""

    def __init__(self, estimator: ByNeighbours, y: np.ndarray, z: np.ndarray, times: np.ndarray):
        super().__init__(y, z)
        self._question = estimator.question(*z.shape)
        self._residuals = estimator.residuals(z)
        self._on_device = chosen(estimator.device) != "cpu"
        how: dict[str, Any] = {"times": times, "theiler": estimator.theiler}
        if self._residuals is not None:
            y = self._residuals(y)
            if self._on_device:  # residuals of x are formed where surrogates are drawn
                how["residuals"] = self._residuals.on_device()
        self._neighbours = estimator.engine(y, z, **how)

    def _local(self, x: np.ndarray) -> np.ndarray:
        return self._counted(self._residualised(x))

    def best(self, x: np.ndarray, choose: int) -> np.ndarray:
        """Return the largest value of each ``x (batch, n, d)`` by ``choose`` of its columns, residualised on z once."""
        return forward_selected(self._residualised(x), choose, lambda some: self._counted(some).mean(axis=1), np)

    def _residualised(self, x: np.ndarray) -> np.ndarray:
        """Return what regressions on z leave of x; a device does that where surrogates are drawn."""
        return x if self._residuals is None or self._on_device else self._residuals(x)

    def _counted(self, x: np.ndarray) -> np.ndarray:
        """Return the value of each sample of x that is residualised on z already."""
        method, arguments, tables, constant = self._question
        plus, minus = tables[0](*tables[1:])
        *joint, n_xz, n_yz, n_z = getattr(self._neighbours, method)(x, *arguments)
        values = (minus[joint[0]] if joint else constant) + plus[n_z] - minus[n_xz] - minus[n_yz]
        return np.where(joint[0] == 0, 0.0, values) if joint else values

    def _cmi(self, x: np.ndarray) -> np.ndarray:
        return self.asked(x)() if self._on_device else super()._cmi(x)

    def surrogates(self, x: np.ndarray, draw: Draw, stream: int, choose: int = 0) -> Surrogates:
        """Return surrogates that never leave a device, unless they are more than rows of x (smoothed)."""
        on_device = self._on_device and getattr(draw, "spread", None) is None
        return (SurrogatesOnDevice if on_device else Surrogates)(self, x, draw, stream, choose)

    def asked(self, x: Any, choose: int = 0) -> Callable[[], np.ndarray]:
        """Put questions to a device, as `best` does with ``choose``; the function returned waits for the answers."""
        method, arguments, tables, constant = self._question
        count = functools.partial(getattr(self._neighbours, method), tables=_on_device(*tables))

        def sums(x: Any) -> Any:
            return count(x, *arguments)

        found = forward_selected(x, choose, sums, self._neighbours.xp) if choose else sums(x)
        return lambda: constant + found.get() * self._neighbours.unit


class SurrogatesOnDevice(Surrogates):
    """x goes to the device once, and in one launch with its surrogates; there is one for each column to choose."""

    _prepared: PreparedByNeighbours
    questions = 1  # a launch has room for all columns

    @functools.cached_property
    def _resampled(self) -> Any:
        from enmesh.neighbours.cuda import Resampled

        return Resampled(self._x, self._draw, self._stream)

    def ask(self, first: int, count: int, itself: bool = False) -> Callable[[], np.ndarray]:
        """Launch; waiting fetches the answers."""
        some = self._resampled.some(first, count, itself)
        return self._prepared.asked(some.gathered() if self._choose else some, self._choose)

    def each(self, count: int) -> np.ndarray:
        """Launch all columns of all surrogates at once."""
        columns = self._resampled.some(0, count).gathered().swapaxes(1, 2)
        return self._prepared.asked(columns.reshape(-1, columns.shape[2], 1))().reshape(count, -1)


@functools.lru_cache(maxsize=8)
def _on_device(tables: Callable[..., tuple[np.ndarray, ...]], *key: Any) -> tuple[Any, ...]:
    """Return ``tables(*key)`` on the GPU, as whole numbers."""
    from enmesh.neighbours.cuda import whole

    return tuple(map(whole, tables(*key)))
