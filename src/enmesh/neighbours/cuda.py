"""Neighbour counts on an NVIDIA GPU, through CuPy.

Points (z, y) are put into kd order once and cut into tiles of 32 with bounding boxes. A question x is answered
in two passes over the tiles that can matter: the k nearest in (x, y, z), then the counts. Few questions go to
``one.cu`` (a lane is a point), many to ``many.cu`` (a lane is a question, so that everything about y and z is done
once for 32 of them). Means are summed on the device as whole numbers, which makes them the same for any batch.

Launches do not wait: the means of a question are fetched when they are asked for, so that a caller can put further
questions meanwhile.
"""

import functools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import cupy
import numpy as np

from enmesh.surrogates.base import Draw

Array = Any  # of CuPy, which has no types of its own
Real = Any  # ``np.float32`` or ``np.float64``
TILE = 32
CELL = 4096
LONG = 2**16  # samples from which it pays to let wide tiles come first, lest they be waited for at the end
MANY = 8  # questions from which a lane is better spent on a question than on a point
MODES: dict[str | int, int] = {"box": 0, 1: 1, 2: 2, "tied": 3}
UNIT = 2.0**-36  # resolution of summed values: 1.5e-11 nats each, and room for a million samples
REGISTERS = (
    56  # words a lane may hold for its points in ``many.cu``; more would leave too few warps to hide loads
)
CROWDED = 40  # words up to which 32 warps fit an SM with next to none of them spilled
SMALL = 2**30  # bytes that are taken without asking how many are free, which takes long
FREE_SHARE = 0.5  # of the device memory that a batch may take


class Neighbours:
    """Prepared (y, z): answers, for any x, the counts that KSG, the box kernel and ties need; as on the CPU.

    ``precision`` is that of coordinates and distances: ``"single"``, or ``"double"``, which counts as the CPU does.
    ``residuals`` is a function of arrays (b, n, dx) on the device through which every x goes, surrogates included.
    """

    def __init__(
        self,
        y: np.ndarray,
        z: np.ndarray,
        *,
        times: np.ndarray | None = None,
        theiler: int = 0,
        precision: str = "single",
        residuals: Callable[[Array], Array] | None = None,
    ):
        self.residuals = residuals
        self.real: Real = np.float32 if precision == "single" else np.float64
        self.theiler = int(theiler)
        self.n, self.dims = len(y), (np.shape(y)[1], np.shape(z)[1])
        self.tiles = -(-self.n // TILE)
        points = cupy.concatenate([_on_device(z), _on_device(y)], axis=1)
        # With no window and no time shared by two samples, a point keeps but itself from its neighbours.
        self.timed = self.theiler > 0 or (times is not None and not (np.diff(times) > 0).all())
        if self.timed:
            at = cupy.asarray(_narrow(np.arange(self.n) if times is None else times, self.theiler))
        else:
            at = cupy.zeros(self.n, np.int32)
        self._points = self._settle(points, at, _kd_order(points))

    def ksg(self, x: Array, k: int, algorithm: int = 1) -> tuple[np.ndarray, ...]:
        """Return (n_xz, n_yz, n_z), each (b, n) int32, for x (b, n, dx)."""
        return self._counts(x, 3, k=k, mode=MODES[algorithm])

    def within(self, x: Array, radius: float) -> tuple[np.ndarray, ...]:
        """Return (n_xyz, n_xz, n_yz, n_z), each (b, n) int32: points no farther than ``radius``."""
        return self._counts(x, 4, mode=MODES["box"], radius=radius)

    def tied(self, x: Array, k: int, far: float) -> tuple[np.ndarray, ...]:
        """Return (n_xyz, n_xz, n_yz, n_z), each (b, n) int32: points no farther than the k-th neighbour.

        All are 0 where that is farther than ``far``.
        """
        return self._counts(x, 4, k=k, mode=MODES["tied"], radius=far)

    def ksg_mean(self, x: Any, k: int, algorithm: int, plus: Array, minus: Array) -> "Means":
        """Return means (b,) of ``plus[n_z] - minus[n_xz] - minus[n_yz]``, still being computed.

        x is (b, n, dx) or `Resampled`, tables are from `whole`.
        """
        return self._means(x, plus, minus, k=k, mode=MODES[algorithm])

    def within_mean(self, x: Any, radius: float, plus: Array, minus: Array) -> "Means":
        """Likewise of ``plus[n_z] + minus[n_xyz] - minus[n_xz] - minus[n_yz]``, 0 where n_xyz is 0."""
        return self._means(x, plus, minus, mode=MODES["box"], radius=radius)

    def tied_mean(self, x: Any, k: int, far: float, plus: Array, minus: Array) -> "Means":
        """Likewise, n_xyz being those no farther than the k-th neighbour."""
        return self._means(x, plus, minus, k=k, mode=MODES["tied"], radius=far)

    def resample(self, x: np.ndarray, draw: Draw, stream: Any) -> "Resampled":
        """Return the surrogates of x (n, dx), some of which are questions for the means."""
        return Resampled(_on_device(x), draw, stream)

    def _counts(self, x: Any, kinds: int, **how: Any) -> tuple[np.ndarray, ...]:
        parts = []
        for questions in self._batches(x):
            counts = cupy.empty((kinds, questions.count, self.n), np.int32)
            self._launch(questions, counts=counts, **how)
            parts.append(counts.get())
        return tuple(np.concatenate(parts, axis=1))

    def _means(self, x: Any, plus: Array, minus: Array, **how: Any) -> "Means":
        parts = []
        for questions in self._batches(x):
            sums = cupy.zeros(questions.count, np.int64)
            self._launch(questions, tables=(plus, minus), sums=sums, **how)
            parts.append(sums)
        return Means(parts, UNIT / self.n)

    def _batches(self, x: Any) -> "Iterator[_Given | Resampled]":
        """Yield the questions in parts that fit the free memory."""
        x = x if isinstance(x, Resampled) else _Given(x)
        working = 0 if self.residuals is None else 5 * 8 * x.dims  # x, its residuals, and what is between
        each = self.n * (x.bytes + working + x.dims * np.dtype(self.real).itemsize + 16)
        size = x.count
        if size * each > SMALL:
            free = cupy.cuda.runtime.memGetInfo()[0] + cupy.get_default_memory_pool().free_bytes()
            size = max(TILE, int(free * FREE_SHARE) // each // TILE * TILE)
        for first in range(0, x.count, size):
            part = x.part(first, min(size, x.count - first))
            yield part if self.residuals is None else _Given(_on_device(self.residuals(part.gathered())))

    def _launch(
        self,
        questions: "_Given | Resampled",
        *,
        mode: int,
        k: int = 1,
        radius: float = 0.0,
        counts: Array = None,
        tables: tuple[Array, Array] = (None, None),
        sums: Array = None,
    ) -> None:
        lanes = TILE if questions.count >= MANY else 1
        dims = (questions.dims, *self.dims)
        if lanes > 1:
            queries, resident, warps = *_queries(questions.dims, k, mode, self.real), 1
            blocks = self.tiles * (TILE // queries)
        else:
            queries, resident, warps, blocks = TILE, 1, _warps(sum(dims), k, self.real), self.tiles
        timed = self.timed and not (mode == MODES["box"] and self.theiler == 0)
        shape = {"QUERIES": queries, "WARPS": warps, "RESIDENT": resident}
        shape |= {"K": k, "MODE": mode, "TIMED": int(timed)}
        kernel = _kernel("many" if lanes > 1 else "one", self.real, dims, **shape)
        x = self._lay(questions, lanes)
        answers = (questions.count, *(_pointer(a) for a in (counts, *tables, sums)))
        grid = blocks, -(-questions.count // lanes)
        kernel(grid, (warps * TILE,), (*self._points, x, self.real(radius), *_integers(answers)))

    def _settle(self, points: Array, times: Array, order: Array) -> tuple[Any, ...]:
        """Copy the prepared side to kd order; the first arguments of every counting kernel."""
        dims, padded = points.shape[1], self.tiles * TILE
        at = cupy.empty((dims, padded), self.real)
        low, high = cupy.empty((2, dims, self.tiles), self.real)
        sorted_times, rows = cupy.empty((2, padded), np.int32)
        sizes = _integers((self.n, dims, self.tiles))
        out = (at, low, high, sorted_times, rows)
        _layout(self.real, "settle")((-(-self.tiles // 8),), (256,), (points, times, order, *sizes, *out))
        span = max(TILE, 1 << (self.tiles - 1).bit_length())
        turn = cupy.argsort((low - high).min(axis=0)) if self.n > LONG else cupy.arange(self.tiles)
        turn = turn.astype(np.int32)
        return (*out, turn, *_integers((self.n, self.tiles, span, self.theiler)))

    def _lay(self, questions: "_Given | Resampled", lanes: int) -> Array:
        """Copy x to kd order as (group, position, column, lane)."""
        padded, order = self.tiles * TILE, self._points[4]
        groups = -(-questions.count // lanes)
        out = cupy.empty((groups, padded, questions.dims, lanes), self.real)
        if questions.dims:
            itself = int(questions.itself)
            sizes = _integers((self.n, questions.dims, padded, questions.count, lanes, itself))
            arguments = questions.x, _pointer(questions.rows), order, *sizes, out
            _layout(self.real, "lay")((-(-groups * padded * lanes // 256),), (256,), arguments)
        return out


class Means:
    """Means (b,) that the device is at work on: ``scale`` times whole numbers. Calling it waits for them."""

    def __init__(self, parts: list[Array], scale: float):
        self._parts, self.scale = parts, scale

    def sums(self) -> Array:
        """Return the whole numbers as they are on the device, without waiting."""
        return self._parts[0] if len(self._parts) == 1 else cupy.concatenate(self._parts)

    def __call__(self) -> np.ndarray:
        """Return the means."""
        return self.sums().get() * self.scale


class _Given:
    """Questions as they are: x (b, n, dx)."""

    rows, itself = None, False

    def __init__(self, x: Array):
        self.count, _, self.dims = x.shape
        self.bytes = 8 * self.dims
        self.x = x

    def part(self, first: int, count: int) -> "_Given":
        return _Given(_on_device(self.x[first : first + count]))

    def gathered(self) -> Array:
        return self.x


class Resampled:
    """Questions about one x (n, dx): x if ``itself``, then ``count`` surrogates ``x[rows]``, drawn on the device."""

    bytes = 96  # of one row number while it is drawn
    rows: Array

    def __init__(
        self, x: Array, draw: Draw, stream: Any, first: int = 0, count: int = 0, itself: bool = False
    ):
        self.x, self.dims = x, x.shape[1]
        self.draw, self.stream, self.first = draw, stream, first
        self.itself, self.count = itself, count + itself

    def some(self, first: int, count: int, itself: bool = False) -> "Resampled":
        """Return surrogates ``first`` to ``first + count - 1``, after x if ``itself``."""
        return Resampled(self.x, self.draw, self.stream, first, count, itself)

    def each_column(self, first: int, count: int, itself: bool = False) -> Array:
        """Return every column of x and of the surrogates as a question of its own, ``(questions, n, 1)``."""
        drawn, _ = self.drawn(first, count, itself)
        return cupy.ascontiguousarray(drawn.transpose(0, 2, 1)).reshape(-1, len(self.x), 1)

    def drawn(self, first: int, count: int, itself: bool = False) -> tuple[Array, Any]:
        """Return surrogates as they are, ``(count, n, dx)``, after x if ``itself``; and the library they belong to."""
        rows = self.draw(self.stream, first, count, cupy)
        return cupy.concatenate([self.x[None]] * itself + [self.x[rows]]), cupy

    def part(self, first: int, count: int) -> "Resampled":
        """Return ``count`` of the questions, with their rows."""
        itself = self.itself and first == 0
        part = self.some(self.first + first - (self.itself and not itself), count - itself, itself)
        part.rows = None
        if count > itself:
            rows = self.draw(self.stream, part.first, count - itself, cupy)
            part.rows = cupy.ascontiguousarray(rows, dtype=np.int64)
        return part

    def gathered(self) -> Array:
        """Return the questions of a part as they are: (count, n, dx)."""
        drawn = [] if self.rows is None else [self.x[self.rows]]
        return cupy.concatenate([self.x[None]] * self.itself + drawn)


def brackets(
    points: np.ndarray,
    others: np.ndarray,
    spans: np.ndarray,
    other_spans: np.ndarray,
    k: int,
    psi: np.ndarray,
) -> np.ndarray:
    """Return the bracket of every point among points and others, as `enmesh.neighbours.cross` does."""
    n, dims = points.shape
    sets = [
        (_on_device(a), _on_device(b), np.int32(len(a))) for a, b in ((points, spans), (others, other_spans))
    ]
    out = cupy.empty(n)
    _crossing(dims, k)((-(-n * TILE // 256),), (256,), (*sets[0], *sets[1], _on_device(psi), out))
    return out.get()


@functools.cache
def _crossing(dims: int, k: int) -> Any:
    options = ("-std=c++17", f"-DDIMS={dims}", f"-DK={k}")
    return cupy.RawModule(code=_source("cross"), options=options).get_function("brackets")


def _on_device(values: Any) -> Array:
    return cupy.asarray(values, dtype=np.float64, order="C")


def _kd_order(points: Array) -> Array:
    """Order of points (n, d) in which aligned runs of 32, 64, 128 ... are kd cells, cut along their widest axis."""
    n, dims = points.shape
    order, other = cupy.arange(n, dtype=np.int32), cupy.empty(n, np.int32)
    keys = cupy.empty(n, np.uint32)
    size = 2 * TILE << max(0, (-(-n // TILE) - 1).bit_length() - 1)
    while size > CELL:
        sizes = _integers((n, dims, size))
        _layout(np.float32, "halve")((-(-n // size),), (1024,), (points, order, *sizes, keys, other))
        order, other, size = other, order, size // 2
    _layout(np.float32, "arrange")((-(-n // size),), (1024,), (points, order, *_integers((n, dims, size))))
    return order


def _narrow(times: np.ndarray, theiler: int) -> np.ndarray:
    """Times as int32 with the same answers to "no more than theiler apart"."""
    times = np.asarray(times, dtype=np.int64)
    span = times - times.min()
    if span.max() < 2**31:
        return span.astype(np.int32)
    distinct, place = np.unique(times, return_inverse=True)
    steps = np.minimum(np.diff(distinct, prepend=distinct[0]), theiler + 1)
    return np.cumsum(steps)[place].astype(np.int32)


def whole(table: np.ndarray) -> Array:
    """Return a table of values on the device, in units of 2^-36; counts that do not occur may have no finite value."""
    return cupy.asarray(np.rint(np.where(np.isfinite(table), table, 0.0) / UNIT).astype(np.int64))


def _queries(dx: int, k: int, mode: int, real: Real) -> tuple[int, int]:
    """Points that a warp of ``many.cu`` serves, and warps an SM should hold.

    One point has the tightest reach; more share the loads of a wide x. Warps hide loads, but each must keep its points.
    """
    each = (dx + k + (k if mode == 2 else 0)) * np.dtype(real).itemsize // 4
    queries = max(q for q in (1, 2, 4) if q == 1 or (dx > 2 and q * each <= REGISTERS))
    return queries, 32 if queries * each <= CROWDED else 1


def _warps(width: int, k: int, real: Real) -> int:
    """Warps of ``one.cu`` that share a tile, limited by the shared memory of their queues and neighbours."""
    size = np.dtype(real).itemsize
    each = 64 * (-(-width * size // 16) * 16 + 8) + TILE * k * (size + 4)
    return max(w for w in (1, 2, 4, 8) if w == 1 or w * each <= 45_000)


def _pointer(array: Array | None) -> Any:
    return np.uintp(0) if array is None else array


def _integers(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(np.int32(v) if isinstance(v, int) else v for v in values)


def _source(*names: str) -> str:
    return "".join((Path(__file__).parent / f"{name}.cu").read_text() for name in names)


@functools.cache
def _kernel(name: str, real: Real, dims: tuple[int, ...], **shape: int) -> Any:
    """Compile a counting kernel for the given columns and shape; CuPy keeps it on disk."""
    values = dict(zip(("DX", "DY", "DZ"), dims), REAL=_c_name(real), DOUBLE=int(real == np.float64), **shape)
    options = ("-std=c++17", *(f"-D{key}={value}" for key, value in values.items()))
    return cupy.RawModule(code=_source("tiles", name), options=options).get_function(name)


@functools.cache
def _layout(real: Real, name: str) -> Any:
    options = ("-std=c++17", f"-DREAL={_c_name(real)}")
    return cupy.RawModule(code=_source("layout"), options=options).get_function(name)


def _c_name(real: Real) -> str:
    return "float" if real == np.float32 else "double"
