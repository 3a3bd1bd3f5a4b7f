"""Neighbour counts on the CPU: exact in float64, by trees or by lists.

Two strategies give the same counts:

- **trees** (`tree`): a question searches a tree over (x, y, z) for the k-th neighbour and counts in trees over
  (x, z), (y, z) and z. The last two are grown once. Best for few questions, and for low dimensions and many points.
- **lists** (`lists`): the neighbours of each point in (y, z) and in z are listed once per batch and walked by 32
  questions at a time. Best for many questions.

Which of them answers is decided by a model of what they cost (`model`). Only the speed depends on it. `plain` gives the
same counts without either.
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
Work = Callable[..., None]


class Neighbours:
    """Prepared (y, z): answers, for any x, the counts that KSG, the box kernel and ties need.

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
        """Return n_xz, n_yz, n_z, (b, n) int32 arrays: neighbours within the distance to the k-th joint neighbour.

        x is a batch of b questions, (b, n, dx). Algorithm 1 counts those strictly nearer than the k-th; 2 those within
        the k nearest's largest distance in each block, inclusive. The point itself is not counted.
        """
        width, dy, dz = x.shape[2], self.y.shape[1], self.z.shape[1]

        def ask(one: np.ndarray, out: np.ndarray) -> None:
            _, xz, (rx, ry, rz) = self._nearest(one, k, algorithm)
            out[0] = self._count(xz, width, rx, rz)
            out[1] = self._count(self._yz_tree, dy, ry, rz)
            out[2] = self._count(self._z_tree, 0, rz, rz)

        def walk(codes: Any, out: np.ndarray, lo: int, hi: int) -> None:
            from enmesh.neighbours import lists

            lists.ksg(self._listed, codes, k, algorithm, out, lo, hi)

        return tuple(self._answer(x, 3, ask, walk, model.Workload(len(self.y), width, dy, dz, k=k)))

    def within(self, x: np.ndarray, radius: float) -> tuple[np.ndarray, ...]:
        """Return n_xyz, n_xz, n_yz, n_z: points no farther than ``radius``, itself included unless theiler > 0."""
        radius = min(float(radius), np.finfo(float).max)
        half = np.full(len(self.y), radius)
        apart = self.theiler > 0
        n_yz, n_z = (self._count(grown, 0, half, half, apart) for grown in (self._yz_tree, self._z_tree))

        def ask(one: np.ndarray, out: np.ndarray) -> None:
            out[0], out[1] = (self._count(grown, 0, half, half, apart) for grown in self._joint(one))

        def walk(codes: Any, out: np.ndarray, lo: int, hi: int) -> None:
            from enmesh.neighbours import lists

            listed = self._listed._replace(spans=self._spans(self.theiler or -1))  # -1: itself is counted too
            lists.box(listed, codes, radius, out, lo, hi)

        widths = x.shape[2], self.y.shape[1], self.z.shape[1]
        problem = model.Workload(len(self.y), *widths, in_z=float(n_z.mean()))
        n_xyz, n_xz = self._answer(x, 2, ask, walk, problem)
        return n_xyz, n_xz, np.tile(n_yz, (len(x), 1)), np.tile(n_z, (len(x), 1))

    def tied(self, x: np.ndarray, k: int, far: float = np.inf) -> tuple[np.ndarray, ...]:
        """Return n_xyz, n_xz, n_yz, n_z: the points no farther than the k-th joint neighbour, k fewer than n.

        With states beside numbers many distances are equal: all those at the k-th's are counted, so that n_xyz is k
        where there are no ties. Where the k-th is farther than ``far`` all four are 0.
        """
        out = np.empty((4, *x.shape[:2]), np.int32)
        for s, one in enumerate(np.ascontiguousarray(x, dtype=np.float64)):
            joint, xz, (reach, _, _) = self._nearest(one, k, 1)
            reach = np.nextafter(reach, np.inf)
            for row, grown in zip(out, (joint, xz, self._yz_tree, self._z_tree)):
                row[s] = np.where(reach > far, 0, self._count(grown, 0, reach, reach))
        return tuple(out)

    def _answer(
        self, x: np.ndarray, kinds: int, ask: Work, walk: Work, problem: model.Workload
    ) -> np.ndarray:
        """Return (kinds, b, n) counts by ``ask(x[s], out)`` and ``walk(codes, out, lo, hi)``, as the model says."""
        x = np.ascontiguousarray(x, dtype=np.float64)
        b, n, width = x.shape
        out, listed = np.empty((kinds, b, n), np.int32), 0
        groups = MEMORY // (max(1, n * width) * model.GROUP * _PER_NUMBER)
        if width and self.z.shape[1] and groups:
            listed = model.for_lists(problem, b)
        for s in range(0, listed, groups * model.GROUP or 1):
            from enmesh.neighbours import lists

            questions = x[s : min(s + groups * model.GROUP, listed)]
            counts = np.empty((kinds, len(questions), n), np.int32)
            self._share(walk, lists.encode(questions, self._listed.tree.order), counts)
            out[:, s : s + len(questions)] = counts
        for s in range(listed, b):
            ask(x[s], out[:, s])
        return out

    @cached_property
    def _listed(self) -> "Points":
        """What lists are made from: the tree over z, y and z in its order, and what is not to be compared."""
        from enmesh.neighbours import lists

        assert self._z_tree is not None
        z, index = self._z_tree
        widths = self.y.shape[1], z.shape[1]
        return lists.Points(index, self.y[index.order], z[index.order], *widths, self._spans(self.theiler))

    def _spans(self, theiler: int) -> np.ndarray:
        """Return from when to before when each point is; points that overlap in time are not compared."""
        return np.column_stack([self.times, self.times + (theiler + 1)])

    @cached_property
    def _z_tree(self) -> Grown:
        return self._grow(self.z)[0]

    @cached_property
    def _yz_tree(self) -> Grown:
        return self._grow(np.hstack([self.y, self.z]))[0]

    def _joint(self, x: np.ndarray) -> list[Any]:
        """Return trees over (x, y, z) and (x, z)."""
        return self._grow(np.hstack([x, self.y, self.z]), np.hstack([x, self.z]))

    def _nearest(self, x: np.ndarray, k: int, algorithm: int) -> tuple[Any, Any, np.ndarray]:
        """Return the trees of x, and the radii (3, n) that its k nearest neighbours imply."""
        joint, xz = self._joint(x)
        how = tree.Search(k, algorithm, x.shape[1], x.shape[1] + self.y.shape[1])
        radii = np.empty((3, len(x)))
        self._share(tree.nearest, joint[1], self._spans(self.theiler), how, radii)
        return joint, xz, radii

    @cached_property
    def _windows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows in order of time, and for each row where its Theiler window starts and ends in that order."""
        rows = np.argsort(self.times, kind="stable")
        when = self.times[rows]
        start = np.searchsorted(when, self.times - self.theiler, side="left")
        return rows, start, np.searchsorted(when, self.times + self.theiler, side="right")

    def _grow(self, *blocks: np.ndarray) -> list[Any]:
        """Pair each block of points with a tree over it; one without axes is None."""

        def plant(points: np.ndarray) -> Grown:
            return (points, tree.grow(points)) if points.shape[1] else None

        if self.threads == 1 or len(blocks) == 1:
            return [plant(points) for points in blocks]
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(plant, blocks))

    def _share(self, work: Work, *args: Any) -> None:
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
        if exclude:
            tree.leave_out(points, rows, start, stop, cut, near, far, out)
        return out
