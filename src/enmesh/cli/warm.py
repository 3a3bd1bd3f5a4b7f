"""enmesh warm: compile the kernels ahead of the first run."""

import os
import time

from enmesh.errors import InputError

# The longest first, so that two processes are done at about the same time.
KERNELS = (
    "KSG with surrogates",
    "one KSG estimate",
    "box kernel with surrogates",
    "events with surrogates",
    "simulated systems",
    "local permutation",
)


def warm() -> None:
    """Compile the kernels now rather than in the first run; they are kept for this machine and this version.

    \b
    Examples
      enmesh warm
      NUMBA_CACHE_DIR=/scratch/kernels enmesh warm
    """
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    start = time.perf_counter()
    workers = min(2, os.cpu_count() or 1)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        results = list(pool.map(_warmed, KERNELS))
    for name, (seconds, compiled, _) in zip(KERNELS, results):
        print(f"{name}: {f'compiled in {seconds:.1f} s' if compiled else 'compiled already'}")
    if not all(kept for *_, kept in results):
        raise InputError(
            "no folder can be written to keep the kernels: every process will compile them anew; set NUMBA_CACHE_DIR "
            "to a folder that can be written"
        )
    print(f"ready after {time.perf_counter() - start:.1f} s")


def _warmed(name: str) -> tuple[float, int, bool]:
    """Do what needs the kernels of that name: seconds, number of kernels compiled, and whether they were kept."""
    from enmesh.compiled import notice

    notice.quiet = True
    before, start = len(notice.compiled), time.perf_counter()
    _use(name)
    return time.perf_counter() - start, len(notice.compiled) - before, not notice.unkept


def _use(name: str) -> None:
    """Ask a small question that needs the kernels of that name."""
    import numpy as np

    import enmesh as em

    rng = np.random.default_rng(0)
    x, y, z = rng.normal(size=(3, 1000, 1))
    batch = np.stack([x] * 32)
    match name:
        case "KSG with surrogates":
            em.KSG().prepare(y, z).cmi(batch)
        case "one KSG estimate":
            em.KSG(theiler=1).prepare(y, z).cmi(x)
        case "box kernel with surrogates":
            em.Kernel().prepare(y, z).cmi(batch)
        case "events with surrogates":
            em.significance(em.simulate.coupled_events("a>b", duration=100), "a", "b", n_surrogates=1)
        case "simulated systems":
            em.simulate.var("a>b", n=50)
            em.simulate.coupled_flow("a>b", n=50, system="lorenz")
            em.simulate.coupled_map("a>b", n=50)
            em.simulate.coupled_map("a>b", n=50, map="henon", coupling=0.05)
        case "local permutation":
            pair, shuffled = em.Series(np.hstack([x, y])), em.LocalPermute()
            em.significance(pair, 0, 1, estimator=em.Gaussian(), surrogate=shuffled, n_surrogates=1)
        case _:
            raise ValueError(name)
