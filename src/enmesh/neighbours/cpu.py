"""Neighbour counts on the CPU: exact in float64, by trees or by lists; `plain` gives the same counts without either.

- **trees** (`tree`): a question searches a tree over (x, y, z) for the k-th neighbour and counts in trees over
  (x, z), (y, z) and z. The last two are grown once. Best for few questions, and for low dimensions and many points.
- **lists** (`lists`): the neighbours of each point in (y, z) and in z are listed once per batch and walked by 32
  questions at a time. Best for many questions.
"""

import logging
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from enmesh.neighbours import lists, plain, tree
from enmesh.neighbours.lanes import SHORTS
from enmesh.neighbours.plain import Array, finite

logger = logging.getLogger("enmesh.neighbours")

MEMORY = 320 << 20  # bytes of x that are kept in walking order at once
_PER_NUMBER = 10  # bytes of a number of x in walking order: exact and rounded
FEWEST, MOST = 4, 100  # questions for which lists are ever worth compiling, and beyond which they win no more

Work = Callable[..., Any]


def for_lists(n: int, dz: int, k: int, b: int) -> int:
    """Return how many of ``b`` questions lists should answer, trees the others; ``k`` is 0 for the box kernel.

    Lists win from a number of questions on that grows with the points, the less the more axes z has. The rule follows
    times that `benchmarks/neighbours_model.py` measures; counts are exact either way.
    """
    fewest = max(FEWEST, 2 + 0.8 * n ** (1 / (1 + dz)) if k else n ** (1 / (3 + dz)))
    if b < fewest or fewest > MOST:
        return 0
    rest = b % SHORTS if b > SHORTS else 0  # questions that fill no group
    return b - rest if rest < fewest / 2 else b


class Neighbours(plain.Neighbours):
    """Prepared (y, z): the counts of `enmesh.neighbours.plain.Neighbours`, many times faster."""

    def ksg(self, x: np.ndarray, k: int, algorithm: int = 1) -> tuple[np.ndarray, ...]:
        """Return n_xz, n_yz, n_z within the distance to the k-th joint neighbour."""

        def ask(one: np.ndarray, out: np.ndarray) -> None:
            _, xz, (rx, ry, rz) = self._nearest(one, k, algorithm)
            out[0] = self._count(xz, x.shape[2], rx, rz)
            out[1] = self._count(self._yz_tree, self.y.shape[1], ry, rz)
            out[2] = self._count(self._z_tree, 0, rz, rz)

        def walk(codes: lists.Codes, *where: Any) -> None:
            lists.ksg(self._listed, codes, k, algorithm, *where)

        return tuple(self._answer(x, 3, k, ask, walk))

    def within(self, x: np.ndarray, radius: float) -> tuple[np.ndarray, ...]:
        """Return n_xyz, n_xz, n_yz, n_z: points no farther than ``radius``, itself included unless theiler > 0."""
        radius, apart = min(float(radius), np.finfo(float).max), self.theiler > 0
        half = np.full(len(self.y), radius)

        def ask(one: np.ndarray, out: np.ndarray) -> None:
            out[0], out[1] = (self._count(grown, 0, half, half, apart) for grown in self._joint(one))

        def walk(codes: lists.Codes, *where: Any) -> None:
            listed = self._listed._replace(spans=self._spans(self.theiler or -1))  # -1: itself is counted too
            lists.box(listed, codes, radius, *where)

        known = (self._count(grown, 0, half, half, apart) for grown in (self._yz_tree, self._z_tree))
        return *self._answer(x, 2, 0, ask, walk), *(np.tile(counts, (len(x), 1)) for counts in known)

    def tied(self, x: np.ndarray, k: int, far: float = np.inf) -> tuple[np.ndarray, ...]:
        """Return n_xyz, n_xz, n_yz, n_z: the points no farther than the k-th joint neighbour, by trees."""
        out = np.empty((4, *x.shape[:2]), np.int32)
        for s, one in enumerate(np.ascontiguousarray(x, dtype=np.float64)):
            joint, xz, (reach, _, _) = self._nearest(one, k, 1)
            reach = np.nextafter(reach, np.inf)
            for row, grown in zip(out, (joint, xz, self._yz_tree, self._z_tree)):
                row[s] = np.where(reach > far, 0, self._count(grown, 0, reach, reach))
        return tuple(out)

    def _answer(self, x: np.ndarray, kinds: int, k: int, ask: Work, walk: Work) -> np.ndarray:
        """Return (kinds, b, n) counts, by ``walk(codes, out, lo, hi)`` of lists and ``ask(x[s], out)`` of trees."""
        x = finite(np.ascontiguousarray(x, dtype=np.float64))
        b, n, width = x.shape
        dz, listed, out = self.z.shape[1], 0, np.empty((kinds, b, n), np.int32)
        most = MEMORY // (max(1, n * width) * SHORTS * _PER_NUMBER) * SHORTS  # questions at a time
        if width and dz and most:
            listed = for_lists(n, dz, k, b)
        about = n, width, self.y.shape[1], dz, k, b, listed
        logger.debug("n=%d, dx=%d, dy=%d, dz=%d, k=%d, %d questions: %d by lists", *about)
        for s in range(0, listed, most or 1):
            questions = x[s : min(s + most, listed)]
            counts = np.empty((n, -(-len(questions) // SHORTS), kinds, SHORTS), np.int32)
            self._share(walk, lists.encode(questions, self._listed.tree.order), counts)
            found = counts.transpose(2, 1, 3, 0).reshape(kinds, -1, n)
            out[:, s : s + len(questions)] = found[:, : len(questions)]
        for s in range(listed, b):
            ask(x[s], out[:, s])
        return out

    @cached_property
    def _listed(self) -> lists.Points:
        """What lists are made from: the tree over z, y and z in its order, and what is not to be compared."""
        index = self._z_tree
        assert index is not None
        y, z = self.y[index.order], self.z[index.order]
        return lists.Points(index, y, z, y.shape[1], z.shape[1], self._spans(self.theiler))

    def _spans(self, theiler: int) -> np.ndarray:
        """Return from when to before when each point is; points that overlap in time are not compared."""
        return np.column_stack([self.times, self.times + (theiler + 1)])

    @cached_property
    def _z_tree(self) -> tree.Tree | None:
        return _grown(self.z)

    @cached_property
    def _yz_tree(self) -> tree.Tree | None:
        return _grown(np.hstack([self.y, self.z]))

    def _joint(self, x: np.ndarray) -> list[Any]:
        """Return trees over (x, y, z) and (x, z)."""
        return self._each(_grown, (np.hstack([x, self.y, self.z]), np.hstack([x, self.z])))

    def _nearest(self, x: np.ndarray, k: int, algorithm: int) -> tuple[Any, Any, np.ndarray]:
        """Return the trees of x, and the radii (3, n) that its k nearest neighbours imply."""
        joint, xz = self._joint(x)
        how = k, algorithm, x.shape[1], x.shape[1] + self.y.shape[1]
        radii = np.empty((3, len(x)))
        self._share(tree.nearest, joint, self._spans(self.theiler), how, radii)
        return joint, xz, radii

    @cached_property
    def _windows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows in order of time, and for each row where its Theiler window starts and ends in that order."""
        rows = np.argsort(self.times, kind="stable")
        when = self.times[rows]
        start = np.searchsorted(when, self.times - self.theiler, side="left")
        return rows, start, np.searchsorted(when, self.times + self.theiler, side="right")

    def _each(self, work: Work, items: Iterable[Any]) -> list[Any]:
        if self.threads == 1:
            return [work(item) for item in items]
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(work, items))

    def _share(self, work: Work, *args: Any) -> None:
        """Run ``work(*args, lo, hi)`` over all points, in pieces when there are threads to share them."""
        cuts = [0, len(self.y)]
        if self.threads > 1:
            cuts = np.linspace(0, len(self.y), 4 * self.threads + 1).astype(int).tolist()
        self._each(lambda piece: work(*args, *piece), pairwise(cuts))

    def _count(self, index: tree.Tree | None, cut: int, near: Array, far: Array, apart: bool = True) -> Array:
        """Points within ``near`` along the first ``cut`` axes and ``far`` along the others, both inclusive.

        Those near in time are left out if points must be ``apart``.
        """
        rows, start, stop = self._windows
        if index is None:
            return (len(rows) - (stop - start) * apart).astype(np.int32)
        out = np.empty(index.n, np.int32)
        self._share(tree.count, index, cut, near, far, out)
        if apart:
            tree.leave_out(index.rows, rows, start, stop, cut, near, far, out)
        return out


def _grown(points: np.ndarray) -> tree.Tree | None:
    """Return a tree over points; None if they have no axes."""
    return tree.grow(points) if points.shape[1] else None
