"""Neighbour counts on the CPU: exact in float64, by trees or by lists.

Two strategies give the same counts:

- **trees** (`tree`): a question searches a tree over (x, y, z) for the k-th neighbour and counts in trees over
  (x, z), (y, z) and z. The last two are grown once. Best for few questions, and for low dimensions and many points.
- **lists** (`lists`): the neighbours of each point in (y, z) and in z are listed once per batch and walked by 32
  questions at a time. Best for many questions.

Which of them answers is decided by a model of what they cost (`model`). Only the speed depends on it.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh.neighbours import model, tree

if TYPE_CHECKING:
    from enmesh.neighbours.lists import Points

MEMORY = 320 << 20  # bytes of x that are kept in walking order at once
_PER_NUMBER = 10  # bytes of a number of x in walking order: exact and rounded

Grown = tuple[np.ndarray, tree.Tree] | None
Ask = Callable[[np.ndarray, np.ndarray], None]  # one x (n, d), where its counts (kinds, n) go
Walk = Callable[
    [Any, np.ndarray, int, int], None
]  # codes of a batch, where its counts go, from and to which point


class Neighbours:
    """Prepared (y, z): answers, for any x, the counts that KSG and the box kernel need.

    Parameters
    ----------
    y, z : (n, dy) and (n, dz) arrays, dz >= 0
        Compared in the max norm, as they are.
    times : (n,) int array, optional
        When each point was sampled; by default its row.
    theiler : int
        Pairs no farther apart in time than this are not compared; 0 leaves out a point itself alone.
    threads : int
        Points are shared out among so many threads; the counts do not depend on it.
    """

    def __init__(
        self,
        y: np.ndarray,
        z: np.ndarray,
        *,
        times: np.ndarray | None = None,
        theiler: int = 0,
        threads: int = 1,
    ):
        self.y = np.ascontiguousarray(y, dtype=np.float64)
        self.z = np.ascontiguousarray(z, dtype=np.float64)
        self.times = np.arange(len(self.y)) if times is None else np.ascontiguousarray(times, dtype=np.int64)
        self.theiler, self.threads = int(theiler), int(threads)

    def ksg(self, x: np.ndarray, k: int, algorithm: int = 1) -> tuple[np.ndarray, ...]:
        """Count neighbours within the distance to the k-th joint neighbour.

        Parameters
        ----------
        x : (b, n, dx) array
            A batch of b questions.
        k : int
            Neighbours in (x, y, z).
        algorithm : {1, 2}
            1: strictly nearer than the k-th; 2: within the k nearest's largest distance in each block, inclusive.

        Returns
        -------
        n_xz, n_yz, n_z : (b, n) int32 arrays
            The point itself is not counted.
        """
        width, dy, dz = x.shape[2], self.y.shape[1], self.z.shape[1]
        how = tree.Search(k, algorithm, self.theiler, width, width + dy)

        def ask(one: np.ndarray, out: np.ndarray) -> None:
            joint, xz = self._grow(np.hstack([one, self.y, self.z]), np.hstack([one, self.z]))
            radii = np.empty((3, len(one)))
            self._share(tree.nearest, joint[1], self.times, how, radii)
            rx, ry, rz = radii
            out[0] = self._count(xz, width, rx, rz)
            out[1] = self._count(self._yz_tree, dy, ry, rz)
            out[2] = self._count(self._z_tree, 0, rz, rz)

        def walk(codes: Any, out: np.ndarray, lo: int, hi: int) -> None:
            from enmesh.neighbours import lists

            lists.ksg(self._listed, codes, k, algorithm, out, lo, hi)

        return tuple(self._answer(x, 3, ask, walk, model.Problem(len(self.y), width, dy, dz, k=k)))

    def within(self, x: np.ndarray, radius: float) -> tuple[np.ndarray, ...]:
        """Count the points no farther than ``radius``, a point itself included unless theiler > 0.

        Returns
        -------
        n_xyz, n_xz, n_yz, n_z : (b, n) int32 arrays
        """
        radius = min(float(radius), np.finfo(float).max)
        half = np.full(len(self.y), radius)
        apart = self.theiler > 0
        n_yz, n_z = (self._count(grown, 0, half, half, apart) for grown in (self._yz_tree, self._z_tree))

        def ask(one: np.ndarray, out: np.ndarray) -> None:
            joint, xz = self._grow(np.hstack([one, self.y, self.z]), np.hstack([one, self.z]))
            out[0], out[1] = (self._count(grown, 0, half, half, apart) for grown in (joint, xz))

        def walk(codes: Any, out: np.ndarray, lo: int, hi: int) -> None:
            from enmesh.neighbours import lists

            listed = self._listed._replace(theiler=self.theiler or -1)  # -1: not even itself is left out
            lists.box(listed, codes, radius, out, lo, hi)

        widths = x.shape[2], self.y.shape[1], self.z.shape[1]
        problem = model.Problem(len(self.y), *widths, in_z=float(n_z.mean()))
        n_xyz, n_xz = self._answer(x, 2, ask, walk, problem)
        return n_xyz, n_xz, np.tile(n_yz, (len(x), 1)), np.tile(n_z, (len(x), 1))

    def _answer(self, x: np.ndarray, kinds: int, ask: Ask, walk: Walk, problem: model.Problem) -> np.ndarray:
        """Return (kinds, b, n) counts by ``ask(x[s], out)`` and ``walk(codes, out, lo, hi)``, as the model says."""
        x = np.ascontiguousarray(x, dtype=np.float64)
        b, n, width = x.shape
        out = np.empty((kinds, b, n), np.int32)
        groups = MEMORY // (max(1, n * width) * model.GROUP * _PER_NUMBER)
        listed = model.for_lists(problem, b) if width and self.z.shape[1] and groups else 0
        if listed:
            self._walk(x[:listed], out, groups * model.GROUP, walk)
        for s in range(listed, b):
            ask(x[s], out[:, s])
        return out

    def _walk(self, x: np.ndarray, out: np.ndarray, most: int, walk: Walk) -> None:
        """Fill ``out[:, : len(x)]`` by lists, for at most so many questions at a time as memory allows."""
        from enmesh.neighbours import lists

        pieces = -(-len(x) // most)
        step = -(-len(x) // (pieces * model.GROUP)) * model.GROUP
        for s in range(0, len(x), step):
            some = x[s : s + step]
            counts = out if len(some) == out.shape[1] else np.empty((len(out), *some.shape[:2]), np.int32)
            self._share(walk, lists.encode(some, self._listed.tree.order), counts)
            if counts is not out:
                out[:, s : s + len(some)] = counts

    @cached_property
    def _listed(self) -> "Points":
        """What lists are made from: the tree over z, y and z in its order, and what is not to be compared."""
        from enmesh.neighbours import lists

        if self._z_tree is None:
            raise ValueError("lists are made around a condition z, and there is none")
        z, index = self._z_tree
        y, widths = self.y[index.order], (self.y.shape[1], z.shape[1])
        return lists.Points(index, y, z[index.order], *widths, self.times, self.theiler)

    @cached_property
    def _z_tree(self) -> Grown:
        return self._grow(self.z)[0]

    @cached_property
    def _yz_tree(self) -> Grown:
        return self._grow(np.hstack([self.y, self.z]))[0]

    @cached_property
    def _windows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows in order of time, and for each row where its Theiler window starts and ends in that order."""
        rows = np.argsort(self.times, kind="stable")
        when = self.times[rows]
        start = np.searchsorted(when, self.times - self.theiler, side="left")
        return rows, start, np.searchsorted(when, self.times + self.theiler, side="right")

    @cached_property
    def _alone(self) -> bool:
        """Whether nothing but the point itself lies in its Theiler window."""
        _, start, stop = self._windows
        return bool((stop - start == 1).all())

    def _grow(self, *blocks: np.ndarray) -> list[Any]:
        """Pair each block of points with a tree over it; one without axes is None."""

        def plant(points: np.ndarray) -> Grown:
            return (points, tree.grow(points)) if points.shape[1] else None

        if self.threads == 1 or len(blocks) == 1:
            return [plant(points) for points in blocks]
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(plant, blocks))

    def _share(self, work: Callable[..., None], *args: Any) -> None:
        """Run ``work(*args, lo, hi)`` over all points, in pieces when there are threads to share them."""
        n = len(self.y)
        if self.threads == 1:
            work(*args, 0, n)
            return
        cuts = np.linspace(0, n, 4 * self.threads + 1).astype(int)
        with ThreadPoolExecutor(self.threads) as pool:
            for job in [pool.submit(work, *args, int(lo), int(hi)) for lo, hi in pairwise(cuts)]:
                job.result()

    def _count(
        self, grown: Grown, cut: int, near: np.ndarray, far: np.ndarray, exclude: bool = True
    ) -> np.ndarray:
        """Points within ``near`` along the first ``cut`` axes and ``far`` along the others, both inclusive."""
        rows, start, stop = self._windows
        if grown is None:
            return (len(rows) - (stop - start) * exclude).astype(np.int32)
        points, index = grown
        out = np.empty(len(points), np.int32)
        self._share(tree.count, index, cut, near, far, out)
        if exclude and self._alone:  # a point is within any radius of itself, unless that is just below zero
            out -= (near >= 0) & (far >= 0)
        elif exclude:
            tree.leave_out(points, rows, start, stop, cut, near, far, out)
        return out
