"""Compile the kernels now, so that no test does; they are kept for this machine and this version.

python tools/warm.py
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import enmesh as em


def questions() -> dict[str, Callable[[], object]]:
    """Return small questions that need the kernels of a name."""
    x, y, z = np.random.default_rng(0).normal(size=(3, 1000, 1))
    batch, pair = np.stack([x] * 32), em.Series(np.hstack([x, y]))
    local: Any = {"estimator": em.Gaussian(), "surrogate": em.LocalPermute(), "n_surrogates": 1}
    return {
        "KSG with surrogates": lambda: em.KSG().prepare(y, z).cmi(batch),
        "one KSG estimate": lambda: em.KSG(theiler=1).prepare(y, z).cmi(x),
        "box kernel with surrogates": lambda: em.Kernel().prepare(y, z).cmi(batch),
        "events with surrogates": lambda: em.significance(
            em.simulate.coupled_events("a>b", duration=100), "a", "b", n_surrogates=1
        ),
        "simulated systems": lambda: (
            em.simulate.var("a>b", n=50),
            em.simulate.coupled_flow("a>b", n=50, system="lorenz"),
            em.simulate.coupled_map("a>b", n=50),
            em.simulate.coupled_map("a>b", n=50, map="henon", coupling=0.05),
        ),
        "local permutation": lambda: em.significance(pair, 0, 1, **local),
    }


if __name__ == "__main__":
    for name, ask in questions().items():
        start = time.perf_counter()
        ask()
        print(f"{name}: {time.perf_counter() - start:.1f} s")
