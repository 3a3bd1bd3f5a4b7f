"""The obvious slow twins of every fast path: plain loops and whole distance matrices."""

import numpy as np

# --- neighbour counts under KSG and the box kernel ---------------------------------------------------------


def block_distances(a):
    """Max-norm distance between all pairs of rows of a (n, d); zero where d == 0."""
    n = len(a)
    return np.abs(a[:, None, :] - a[None, :, :]).max(axis=2, initial=0.0) if a.shape[1] else np.zeros((n, n))


def admissible_pairs(n, times, theiler):
    times = np.arange(n) if times is None else np.asarray(times)
    return (np.abs(times[:, None] - times[None, :]) > theiler) & ~np.eye(n, dtype=bool)


def ksg_counts(x, y, z, k, algorithm=1, times=None, theiler=0):
    """(n_xz, n_yz, n_z) for one x (n, dx), point by point."""
    n = len(x)
    dx, dy, dz = block_distances(x), block_distances(y), block_distances(z)
    allowed = admissible_pairs(n, times, theiler)
    counts = np.zeros((3, n), dtype=np.int64)
    for i in range(n):
        others = np.flatnonzero(allowed[i])
        joint = np.maximum(np.maximum(dx[i, others], dy[i, others]), dz[i, others])
        near = others[np.argsort(joint, kind="stable")[:k]]  # stable: the smaller index wins a tie
        if algorithm == 1:
            eps = np.sort(joint)[k - 1] if len(others) >= k else np.inf
            in_x, in_y, in_z = dx[i, others] < eps, dy[i, others] < eps, dz[i, others] < eps
            if z.shape[1] == 0:
                in_z[:] = True
        else:
            in_x = dx[i, others] <= dx[i, near].max(initial=0.0)
            in_y = dy[i, others] <= dy[i, near].max(initial=0.0)
            in_z = dz[i, others] <= dz[i, near].max(initial=0.0)
        counts[:, i] = (in_x & in_z).sum(), (in_y & in_z).sum(), in_z.sum()
    return counts


def box_counts(x, y, z, radius, times=None, theiler=0):
    """(n_xyz, n_xz, n_yz, n_z) for one x (n, dx): self included unless theiler > 0."""
    n = len(x)
    allowed = admissible_pairs(n, times, theiler) if theiler > 0 else np.ones((n, n), dtype=bool)
    in_x, in_y, in_z = (block_distances(a) <= radius for a in (x, y, z))
    sets = in_x & in_y & in_z, in_x & in_z, in_y & in_z, in_z
    return np.array([(s & allowed).sum(axis=1) for s in sets])
