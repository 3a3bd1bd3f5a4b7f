"""The neighbour engine against its naive twin: strategies, algorithms, ties, Theiler windows."""

import numpy as np
import pytest

from enmesh.neighbours import engine
from tests import naive


def sample(seed, n, dx, dy, dz, b=1, decimals=None):
    rng = np.random.default_rng(seed)
    x, y, z = rng.normal(size=(b, n, dx)), rng.normal(size=(n, dy)), rng.normal(size=(n, dz))
    return tuple(a if decimals is None else a.round(decimals) for a in (x, y, z))


@pytest.mark.parametrize("decimals", [None, 1, 0])
@pytest.mark.parametrize("theiler", [0, 5])
@pytest.mark.parametrize("algorithm", [1, 2])
@pytest.mark.parametrize("dims", [(1, 1, 0), (1, 1, 3), (3, 2, 2), (6, 1, 3)])
@pytest.mark.parametrize("b", [1, 9])
def test_ksg_counts_equal_naive(device, b, dims, algorithm, theiler, decimals):
    x, y, z = sample(1, 150, *dims, b=b, decimals=decimals)
    got = engine(device)(y, z, theiler=theiler).ksg(x, 4, algorithm)
    for s in range(b):
        want = naive.ksg_counts(x[s], y, z, 4, algorithm, theiler=theiler)
        np.testing.assert_array_equal([g[s] for g in got], want)


@pytest.mark.parametrize("theiler", [0, 5])
@pytest.mark.parametrize("dims", [(1, 1, 0), (1, 1, 3), (3, 2, 2), (6, 1, 3)])
@pytest.mark.parametrize("b", [1, 9])
def test_box_counts_equal_naive(device, b, dims, theiler):
    x, y, z = sample(2, 150, *dims, b=b, decimals=1)
    got = engine(device)(y, z, theiler=theiler).within(x, 0.5)
    for s in range(b):
        np.testing.assert_array_equal([g[s] for g in got], naive.box_counts(x[s], y, z, 0.5, theiler=theiler))
