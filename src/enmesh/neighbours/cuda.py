"""Neighbour counts on an NVIDIA GPU, through CuPy.

Points (z, y) are put into kd order once and cut into tiles of 32 with bounding boxes. A question x is answered
in two passes over the tiles that can matter: the k nearest in (x, y, z), then the counts. Few questions go to
``one.cu`` (a lane is a point), many to ``many.cu`` (a lane is a question, so that everything about y and z is done
once for 32 of them). Means are summed on the device as whole numbers, which makes them the same for any batch.

Launches do not wait: sums stay on the device until they are fetched, and further questions can be put meanwhile.
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
BOX, TIED = 0, 3  # modes of the kernels, beside KSG's algorithms 1 and 2
UNIT = 2.0**-36  # resolution of summed values: 1.5e-11 nats each, and room for a million samples
REGISTERS = 56  # words a lane may hold for its points in ``many.cu``; more leave too few warps to hide loads
CROWDED = 40  # words up to which 32 warps fit an SM with next to none of them spilled
SMALL = 2**30  # bytes that are taken without asking how many are free, which takes long
FREE_SHARE = 0.5  # of the device memory that a batch may take
DRAWN = 96  # bytes of a row number of a surrogate while it is drawn


class Neighbours:
    """Prepared (y, z): the counts of `enmesh.neighbours.plain.Neighbours`, or sums of what tables say of them.

    ``precision`` is that of coordinates and distances: ``"single"``, or ``"double"``, which counts as the CPU does.
    ``residuals`` is a function of arrays (b, n, dx) on the device through which every x goes, surrogates included.

    A question x is (b, n, dx) or `Resampled`. Without ``tables`` its counts are returned; with (plus, minus), from
    `whole`, sums (b,) on the device of ``plus[n_z] - minus[n_xz] - minus[n_yz]``, and ``+ minus[n_xyz]`` where
    n_xyz is counted, 0 where that is 0; ``unit`` times a sum is a mean.
    """

    xp = cupy

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
        self.tiles, self.unit = -(-self.n // TILE), UNIT / self.n
        points = cupy.concatenate([_on_device(z), _on_device(y)], axis=1)
        # With no window and no time shared by two samples, a point keeps but itself from its neighbours.
        self.timed = self.theiler > 0 or (times is not None and not (np.diff(times) > 0).all())
        if self.timed:
            at = cupy.asarray(_narrow(np.arange(self.n) if times is None else times, self.theiler))
        else:
            at = cupy.zeros(self.n, np.int32)
        self._points = self._settle(points, at, _kd_order(points))

    def ksg(self, x: Any, k: int, algorithm: int = 1, tables: Any = None) -> Any:
        """Count (n_xz, n_yz, n_z) within the distance to the k-th neighbour."""
        return self._ask(x, tables, 3, k=k, mode=algorithm)

    def within(self, x: Any, radius: float, tables: Any = None) -> Any:
        """Count (n_xyz, n_xz, n_yz, n_z) no farther than ``radius``."""
        return self._ask(x, tables, 4, mode=BOX, radius=radius)

    def tied(self, x: Any, k: int, far: float, tables: Any = None) -> Any:
        """Count (n_xyz, n_xz, n_yz, n_z) no farther than the k-th neighbour; 0 where that is beyond ``far``."""
        return self._ask(x, tables, 4, k=k, mode=TIED, radius=far)

    def _ask(self, x: Any, tables: Any, kinds: int, **how: Any) -> Any:
        parts = []
        for questions in self._batches(x):
            if tables is None:
                counts = cupy.empty((kinds, len(questions), self.n), np.int32)
                self._launch(questions, counts, (None, None), None, **how)
                parts.append(counts.get())
            else:
                parts.append(cupy.zeros(len(questions), np.int64))
                self._launch(questions, None, tables, parts[-1], **how)
        return tuple(np.concatenate(parts, axis=1)) if tables is None else cupy.concatenate(parts)

    def _batches(self, x: Any) -> Iterator[Any]:
        """Yield the questions in parts that fit the free memory, on the device."""
        count, _, dims = x.shape
        working = 0 if self.residuals is None else 5 * 8 * dims  # x, its residuals, and what is between
        drawn = DRAWN if isinstance(x, Resampled) else 8 * dims
        each = self.n * (drawn + working + dims * np.dtype(self.real).itemsize + 16)
        size = count
        if size * each > SMALL:
            free = cupy.cuda.runtime.memGetInfo()[0] + cupy.get_default_memory_pool().free_bytes()
            size = max(TILE, int(free * FREE_SHARE) // each // TILE * TILE)
        for first in range(0, count, size):
            part = x[first : first + size]
            if self.residuals is not None:
                part = self.residuals(part.gathered() if isinstance(part, Resampled) else _on_device(part))
            yield part if isinstance(part, Resampled) else _on_device(part)

    def _launch(
        self, x: Any, counts: Array, tables: Any, sums: Array, *, mode: int, k: int = 1, radius: float = 0.0
    ) -> None:
        count, _, width = x.shape
        lanes = TILE if count >= MANY else 1
        dims = (width, *self.dims)
        if lanes > 1:
            queries, resident, warps = *_queries(width, k, mode, self.real), 1
            blocks = self.tiles * (TILE // queries)
        else:
            queries, resident, warps, blocks = TILE, 1, _warps(sum(dims), k, self.real), self.tiles
        timed = self.timed and not (mode == BOX and self.theiler == 0)
        shape = dict(zip(("DX", "DY", "DZ"), dims), DOUBLE=int(self.real == np.float64), K=k, MODE=mode)
        shape |= {"QUERIES": queries, "WARPS": warps, "RESIDENT": resident, "TIMED": int(timed)}
        kernel = _kernel("many" if lanes > 1 else "one", "tiles", self.real, **shape)
        answers = (count, *(_pointer(a) for a in (counts, *tables, sums)))
        arguments = (*self._points, self._lay(x, lanes), self.real(radius), *_integers(answers))
        kernel((blocks, -(-count // lanes)), (warps * TILE,), arguments)

    def _settle(self, points: Array, times: Array, order: Array) -> tuple[Any, ...]:
        """Copy the prepared side to kd order; the first arguments of every counting kernel."""
        dims, padded = points.shape[1], self.tiles * TILE
        at = cupy.empty((dims, padded), self.real)
        low, high = cupy.empty((2, dims, self.tiles), self.real)
        sorted_times, rows = cupy.empty((2, padded), np.int32)
        sizes = _integers((self.n, dims, self.tiles))
        out = (at, low, high, sorted_times, rows)
        settle = _kernel("settle", "layout", self.real)
        settle((-(-self.tiles // 8),), (256,), (points, times, order, *sizes, *out))
        span = max(TILE, 1 << (self.tiles - 1).bit_length())
        turn = cupy.argsort((low - high).min(axis=0)) if self.n > LONG else cupy.arange(self.tiles)
        turn = turn.astype(np.int32)
        return (*out, turn, *_integers((self.n, self.tiles, span, self.theiler)))

    def _lay(self, questions: Any, lanes: int) -> Array:
        """Copy x to kd order as (group, position, column, lane)."""
        x, rows, itself = questions, None, False
        if isinstance(questions, Resampled):
            x, rows, itself = questions.x, questions.rows(), questions.itself
        count, _, dims = questions.shape
        padded, order, groups = self.tiles * TILE, self._points[4], -(-count // lanes)
        out = cupy.empty((groups, padded, dims, lanes), self.real)
        if dims:
            sizes = _integers((self.n, dims, padded, count, lanes, int(itself)))
            lay = _kernel("lay", "layout", self.real)
            lay((-(-groups * padded * lanes // 256),), (256,), (x, _pointer(rows), order, *sizes, out))
        return out


class Resampled:
    """Questions about one x (n, dx): x if ``itself``, then ``count`` surrogates ``x[rows]``, drawn on the device."""

    def __init__(self, x: Any, draw: Draw, stream: int, first: int = 0, count: int = 0, itself: bool = False):
        self.x, self.draw, self.stream, self.first, self.itself = _on_device(x), draw, stream, first, itself
        self.shape = count + itself, *x.shape

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, part: slice) -> "Resampled":
        first, stop, _ = part.indices(len(self))
        itself = self.itself and first == 0
        return self.some(self.first + first - (self.itself and not itself), stop - first - itself, itself)

    def some(self, first: int, count: int, itself: bool = False) -> "Resampled":
        """Return surrogates ``first`` to ``first + count - 1``, after x if ``itself``."""
        return Resampled(self.x, self.draw, self.stream, first, count, itself)

    def rows(self) -> Array | None:
        """Return the rows (count, n) of the surrogates; None if there are none."""
        count = len(self) - self.itself
        drawn = self.draw(self.stream, self.first, count, cupy) if count else None
        return None if drawn is None else cupy.ascontiguousarray(drawn, dtype=np.int64)

    def gathered(self) -> Array:
        """Return the questions as they are, ``(count, n, dx)``."""
        rows = self.rows()
        return cupy.concatenate([self.x[None]] * self.itself + ([] if rows is None else [self.x[rows]]))


def brackets(points: Array, others: Array, spans: Array, other_spans: Array, k: int, psi: Array) -> Array:
    """Return the bracket of every point among points and others, as `enmesh.neighbours.cross` does."""
    n, dims = points.shape
    pairs = (points, spans), (others, other_spans)
    sets = [(_on_device(a), _on_device(b), np.int32(len(a))) for a, b in pairs]
    out, kernel = cupy.empty(n), _kernel("brackets", "cross", DIMS=dims, K=k)
    kernel((-(-n * TILE // 256),), (256,), (*sets[0], *sets[1], _on_device(psi), out))
    return out.get()


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
        halve = _kernel("halve", "layout", np.float32)
        halve((-(-n // size),), (1024,), (points, order, *sizes, keys, other))
        order, other, size = other, order, size // 2
    arrange = _kernel("arrange", "layout", np.float32)
    arrange((-(-n // size),), (1024,), (points, order, *_integers((n, dims, size))))
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


@functools.cache
def _kernel(name: str, file: str, real: Real = np.float64, **values: int) -> Any:
    """Compile a kernel for columns and shapes; CuPy keeps it on disk. A file of its own goes after ``tiles.cu``."""
    files = (file, name) if file == "tiles" else (file,)
    source = "".join((Path(__file__).parent / f"{part}.cu").read_text() for part in files)
    defined = {"REAL": "float" if real == np.float32 else "double"} | values
    options = ("-std=c++17", *(f"-D{key}={value}" for key, value in defined.items()))
    return cupy.RawModule(code=source, options=options).get_function(name)
