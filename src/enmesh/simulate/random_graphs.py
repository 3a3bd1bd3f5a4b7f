"""Random graphs to simulate on."""

from collections.abc import Sequence

import numpy as np

from enmesh.errors import InputError
from enmesh.options import whole
from enmesh.simulate.arguments import require_number


def random_dag(
    n_nodes: int,
    *,
    density: float = 0.5,
    max_parents: int | None = None,
    names: Sequence[str] | None = None,
    seed: int = 0,
) -> dict[str, tuple[str, ...]]:
    """Draw a directed acyclic graph ``{target: parents}``.

    Nodes get a random order; each earlier node drives each later one with probability ``density``; a node
    with more than ``max_parents`` keeps that many of them at random. The order of the result's keys is that
    of the names and says nothing about who drives whom.

    >>> random_dag(3, density=1.0, seed=1)
    {'x0': (), 'x1': ('x0',), 'x2': ('x0', 'x1')}
    """
    n_nodes = whole("n_nodes", n_nodes, 1)
    require_number("density", density, 0, 1)
    most = n_nodes if max_parents is None else whole("max_parents", max_parents, 0)
    names = [f"x{i}" for i in range(n_nodes)] if names is None else [str(name) for name in names]
    if len(set(names)) != n_nodes:
        raise InputError(f"{len(set(names))} different names for {n_nodes} nodes; give one per node")
    rng = np.random.default_rng(seed)
    rank = rng.permutation(n_nodes)
    drives = (rng.uniform(size=(n_nodes, n_nodes)) < density) & (rank[:, None] < rank)
    parents = [rng.permutation(np.flatnonzero(drives[:, target]))[:most] for target in range(n_nodes)]
    return {name: tuple(names[j] for j in sorted(chosen)) for name, chosen in zip(names, parents)}
