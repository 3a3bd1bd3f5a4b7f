"""Neighbour counts that take ties as they are: how many other samples lie no farther than the k-th neighbour.

With states beside numbers many distances are equal, often 0: the k-th neighbour is then one of several. All of those at
its distance are counted, in the joint space as in the marginal ones. `enmesh.neighbours.cuda` does so on a GPU; here it
is done on the CPU, exact in float64, in one of two ways:

- a batch of questions: the samples are sorted by their distance in z once for all questions, each of which walks
  them until z alone is too far (`_walk`);
- few questions: trees.
"""

import numpy as np

FEW = 8  # fewer questions are asked one by one, of trees
SMALL = 1024  # up to so many samples a walk always wins


class TiedNeighbours:
    """Prepared (y, z), ``(n, dy)`` and ``(n, dz)``, compared in the max norm as they are."""

    def __init__(self, y: np.ndarray, z: np.ndarray):
        self.y = np.ascontiguousarray(y, dtype=np.float64)
        self.z = np.ascontiguousarray(z, dtype=np.float64)

    def tied(self, x: np.ndarray, k: int, far: float = np.inf) -> np.ndarray:
        """Count samples no farther than the k-th neighbour in (x, y, z), the sample itself left out.

        Parameters
        ----------
        x : (b, n, dx) array
            A batch of b questions.
        k : int
            Neighbours in (x, y, z), fewer than n.
        far : float
            A sample whose k-th neighbour is farther than this has no counts: all four are 0.

        Returns
        -------
        n_xyz, n_xz, n_yz, n_z : (4, b, n) int array
            n_xyz is k where there are no ties.
        """
        x = np.ascontiguousarray(x, dtype=np.float64)
        if len(x) < FEW and len(self.y) > SMALL:
            return np.stack([self._by_trees(one, k, far) for one in x], axis=1)
        from enmesh.neighbours.tied_kernels import walk

        out = np.zeros((4, *x.shape[:2]), np.int64)
        walk(x, self.y, self.z, k, far, out)
        return out

    def _by_trees(self, x: np.ndarray, k: int, far: float) -> np.ndarray:
        from scipy.spatial import cKDTree

        joint = np.hstack([x, self.y, self.z])
        tree = cKDTree(joint)
        reach = tree.query(joint, k=k + 1, p=np.inf)[0][:, k]
        out = np.full((4, len(x)), len(x) - 1)
        for row, blocks in zip(out, ((x, self.y, self.z), (x, self.z), (self.y, self.z), (self.z,))):
            points = np.hstack(blocks)
            if points.shape[1]:
                grown = tree if len(blocks) == 3 else cKDTree(points)
                row[:] = grown.query_ball_point(points, reach, p=np.inf, return_length=True) - 1
        return np.where(reach > far, 0, out)
