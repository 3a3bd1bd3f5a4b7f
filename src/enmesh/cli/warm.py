"""enmesh warm: compile the kernels ahead of the first run."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import enmesh as em
from enmesh.cli import arguments as a
from enmesh.errors import InputError


@a.with_options()
def warm(words: a.Given) -> None:
    """Compile the kernels now rather than in the first run; they are kept for this machine and this version.

    \b
    Examples
      enmesh warm
      NUMBA_CACHE_DIR=/scratch/kernels enmesh warm
    """
    start, kept = time.perf_counter(), True
    for name in _questions():
        seconds, compiled, kept = _warmed(name)
        print(f"{name}: {f'compiled in {seconds:.1f} s' if compiled else 'compiled already'}")
    if not kept:
        told = "no folder can be written to keep the kernels: every process will compile them anew"
        raise InputError(f"{told}; set NUMBA_CACHE_DIR to a folder that can be written")
    print(f"ready after {time.perf_counter() - start:.1f} s")


def _warmed(name: str) -> tuple[float, int, bool]:
    """Do what needs the kernels of that name: seconds, number of kernels compiled, and whether they were kept."""
    from enmesh.compiled import notice

    notice.quiet = True
    before, start = len(notice.compiled), time.perf_counter()
    _questions()[name]()
    return time.perf_counter() - start, len(notice.compiled) - before, not notice.unkept


def _questions() -> dict[str, Callable[[], object]]:
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
