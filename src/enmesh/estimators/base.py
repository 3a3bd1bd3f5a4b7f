"""The one question every estimator answers: conditional mutual information I(x ; y | z), in nats.

``estimator.prepare(y, z)`` fixes the target and what is conditioned on; ``prepared.cmi(x)`` asks, for one x or for a
batch of them. The true value is symmetric in x and y; the estimate of a regression with curves is not, and y is always
what is to be explained.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, combinations
from typing import Any, ClassVar

import numpy as np

from enmesh.errors import InputError
from enmesh.methods import Method
from enmesh.surrogates import CircularShift, Draw, Surrogate, batches

Array = np.ndarray
# Joint dimension beyond which nearest neighbours are hardly nearer than any other sample.
NEIGHBOUR_DIMENSION = 10


class Prepared(ABC):
    """A target y and a condition z, ready for questions about any x."""

    def __init__(self, y: np.ndarray, z: np.ndarray):
        self.y, self.z = y, z

    def cmi(self, x: np.ndarray, *, local: bool = False) -> Any:
        """Return I(x ; y | z) of ``x (..., n, d)``; with ``local`` one value per sample, whose mean it is."""
        x = np.asarray(x)
        if x.ndim == 1:
            x = x[:, None]
        if x.shape[-2] != len(self.y):
            raise InputError(f"x has {x.shape[-2]} samples and y has {len(self.y)}; give as many of each")
        if x.shape[-1] == 0:
            return np.zeros(x.shape[:-1] if local else x.shape[:-2])[()]
        batch = x.reshape((-1, *x.shape[-2:]))
        values = self._local(batch) if local else self._cmi(batch)
        values = values.reshape((*x.shape[:-2], *values.shape[1:]))
        return float(values) if values.ndim == 0 else values

    def surrogates(self, x: np.ndarray, draw: Draw, stream: int, choose: int = 0) -> "Surrogates":
        """Return the surrogates of ``x (n, d)`` that ``draw`` takes from a stream, ready to be asked about.

        With ``choose`` each surrogate is asked at the so many of its columns that say most together, chosen as
        `forward_selected` does; otherwise at all of them.
        """
        return Surrogates(self, x, draw, stream, choose)

    def each(self, x: np.ndarray) -> np.ndarray:
        """Return I(x' ; y | z) of each column x' of ``x (..., n, d)``, ``(..., d)``, all in one batch."""
        return self.cmi(np.swapaxes(x, -1, -2)[..., None])

    def best(self, x: np.ndarray, choose: int) -> np.ndarray:
        """Return the largest I(x' ; y | z) of each ``x (batch, n, d)``, x' being ``choose`` of its columns."""
        return forward_selected(x, choose, self._cmi, np)

    def _cmi(self, x: np.ndarray) -> np.ndarray:
        """``(batch, n, d) -> (batch,)``."""
        return self._local(x).mean(axis=1)

    @abstractmethod
    def _local(self, x: np.ndarray) -> np.ndarray:
        """``(batch, n, d) -> (batch, n)``."""


class Surrogates:
    """I(x_s ; y | z) of the surrogates x_s of x, in the order they are drawn."""

    def __init__(self, prepared: Prepared, x: np.ndarray, draw: Draw, stream: int, choose: int = 0):
        self._prepared, self._x, self._draw, self._stream, self._choose = prepared, x, draw, stream, choose

    @property
    def distinct(self) -> int | None:
        """How many different surrogates there are; None where that is not known, as of several trials."""
        return getattr(self._draw, "distinct", None)

    @property
    def questions(self) -> int:
        """Questions that are put for one surrogate: one, or one for each column it may choose."""
        return self._x.shape[1] if self._choose else 1

    def ask(self, first: int, count: int, itself: bool = False) -> Callable[[], np.ndarray]:
        """Ask about surrogates ``first`` to ``first + count - 1``, after x if ``itself``.

        The function that is returned waits for the answers; a GPU is at work meanwhile.
        """
        best = partial(self._prepared.best, choose=self._choose) if self._choose else self._prepared.cmi
        drawn = partial(batches, self._draw, self._x, self._stream, count, first)
        return lambda: np.concatenate([best(x) for x in chain([self._x[None]] * itself, drawn())])

    def each(self, count: int) -> np.ndarray:
        """Return the values of each column alone of the first surrogates, ``(count, d)``."""
        drawn = batches(self._draw, self._x, self._stream, count)
        return np.concatenate([self._prepared.each(x) for x in drawn])


class Estimator(Method, ABC):
    """How a density, and with it every measure, is estimated from samples."""

    targets: ClassVar[int] = 1
    """Functions of a target that are explained."""

    analytic: ClassVar[bool] = False
    """Whether the distribution of 2 N I under independence is known (chi-square with `dof`)."""

    discrete: ClassVar[bool] = False
    """Whether values are states to count rather than numbers to measure."""

    takes_labels: ClassVar[bool] = False
    """Whether a column may hold labels, which have no distance."""

    releases_gil: ClassVar[bool] = False
    """Whether the work is done in compiled code without the interpreter lock, so that threads run side by side."""

    @property
    def usual_surrogate(self) -> Surrogate:
        """The surrogates of its tests, unless others are asked for."""
        return CircularShift()

    @property
    def plug_in(self) -> "Estimator":
        """The same estimator without any correction of its bias: the null distribution is that of its values."""
        return self

    @property
    def reaches_back(self) -> int:
        """Samples before a value that it is made from as well: 0 unless values are made from several (`Ordinal`)."""
        return 0

    @property
    def at_once(self) -> int:
        """Questions that a worker should have under way at the same time: more than one on a GPU."""
        return 1

    @abstractmethod
    def condition(self, column: np.ndarray, index: int, name: str) -> np.ndarray:
        """Return one variable's whole series as `prepare` wants it (scaled, ranked, coded)."""

    def prepare(self, y: Array, z: Array | None = None, *, times: Array | None = None) -> Prepared:
        """Fix the target ``y (n, d_y)`` and the condition ``z (n, d_z)``; ``times (n,)`` are for a Theiler window."""
        y = as_block(y)
        z = np.empty((len(y), 0), y.dtype) if z is None else as_block(z)
        if len(z) != len(y):
            raise InputError(f"z has {len(z)} samples and y has {len(y)}; give as many of each")
        return self._prepare(y, z, np.arange(len(y)) if times is None else times)

    @abstractmethod
    def _prepare(self, y: np.ndarray, z: np.ndarray, times: np.ndarray) -> Prepared: ...

    def joint(self, blocks: Any) -> Any:
        """Return what answers ``cmi(x, y, z)`` of columns of ``blocks`` from one pass over the data, or None."""
        return None

    @abstractmethod
    def entropy(self, x: np.ndarray, *, local: bool = False) -> Any:
        """Return H(x) of raw values ``x (n, d)``; with ``local`` one value per sample."""

    def dof(self, y: Sequence[int], x: Sequence[int], z: Sequence[int]) -> int:
        """Degrees of freedom of 2 N I(x ; y | z) under independence, from the arity of every column."""
        name = type(self).__name__
        raise InputError(f"{name} has no known null distribution; use TEE, which finds it by surrogates")

    def effective_samples(self, n: int, y: Sequence[int], x: Sequence[int], z: Sequence[int]) -> float:
        """Return the samples N of which 2 N I(x ; y | z) follows chi-square: all ``n``, or fewer for few samples."""
        return n

    def n_parameters(self, y: Sequence[int], z: Sequence[int]) -> int:
        """Return the number of free parameters of p(y | z), from the arity of every column."""
        raise InputError(f"{type(self).__name__} has no parameters to count; use TEE, which needs none")

    def max_parents_for(self, n: int, widths: Sequence[int], states: Sequence[int]) -> tuple[int, str]:
        """Return how many parents ``n`` samples allow, at least 1, and the reason: here the joint dimension.

        ``widths`` are the columns of every node's past, ``states`` the number of states of every node.
        """
        bearable = max(1, (NEIGHBOUR_DIMENSION - 1 - max(widths)) // max(widths))
        return bearable, f"joint dimension at most {NEIGHBOUR_DIMENSION}"


def forward_selected(x: Any, choose: int, measured: Callable[[Any], Any], xp: Any) -> Any:
    """Return the largest measure of each ``x (batch, n, d)`` by ``choose`` of its columns; ``xp`` is the library of x.

    Columns are chosen by forward selection, or as the best of all sets where these are no more than the columns.
    ``measured`` takes ``(batch, n, columns)``.
    """
    batch, n, d = x.shape
    if choose >= max(2, d - 1):
        sets = xp.asarray(list(combinations(range(d), choose)))
        trial = xp.swapaxes(x[:, :, sets], 1, 2).reshape(-1, n, choose)
        return measured(trial).reshape(batch, -1).max(axis=1)
    columns = xp.ascontiguousarray(xp.swapaxes(x, 1, 2))
    rows, free = xp.arange(batch)[:, None], xp.tile(xp.arange(d), (batch, 1))
    chosen: list[Any] = []
    for size in range(1, choose + 1):
        trial = xp.empty((batch, free.shape[1], n, size), x.dtype)
        for position, taken in enumerate([free, *chosen]):
            trial[..., position] = columns[rows, taken]
        found = measured(trial.reshape(-1, n, size)).reshape(batch, -1)
        place = found.argmax(axis=1)[:, None]
        values = xp.take_along_axis(found, place, 1)[:, 0]
        chosen.append(xp.take_along_axis(free, place, 1))
        others = xp.arange(free.shape[1] - 1)[None]
        free = xp.take_along_axis(free, others + (others >= place), 1)
    return values


def as_block(values: np.ndarray) -> np.ndarray:
    """Return values as ``(n, d)``."""
    values = np.asarray(values)
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2:
        raise InputError(f"a block has shape {values.shape}; give (n, d)")
    return values


def numeric(column: np.ndarray, name: str, estimator: str) -> np.ndarray:
    """Return a column as float64, or say that it holds no numbers."""
    column = np.asarray(column)
    if column.dtype.kind not in "biuf":
        raise InputError(f"{name} holds labels, not numbers; {estimator} cannot use it, Discrete can")
    return column.astype(np.float64)
