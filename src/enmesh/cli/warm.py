"""enmesh warm: compile the kernels ahead of the first run."""

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from enmesh.errors import InputError

if TYPE_CHECKING:
    import numpy as np


class Warmed(NamedTuple):
    """What one piece of work took."""

    name: str
    seconds: float
    compiled: int
    kept: bool


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
    for result in results:
        done = f"compiled in {result.seconds:.1f} s" if result.compiled else "compiled already"
        print(f"{result.name}: {done}")
    if not all(result.kept for result in results):
        raise InputError(
            "no folder can be written to keep the kernels: every process will compile them anew; set NUMBA_CACHE_DIR "
            "to a folder that can be written"
        )
    print(f"ready after {time.perf_counter() - start:.1f} s")


def _warmed(name: str) -> Warmed:
    """Do a small piece of work that needs the kernels of that name."""
    from enmesh.compiled import notice

    notice.quiet = True
    before, start = len(notice.compiled), time.perf_counter()
    KERNELS[name]()
    return Warmed(name, time.perf_counter() - start, len(notice.compiled) - before, not notice.unkept)


def _blocks() -> tuple["np.ndarray", ...]:
    import numpy as np

    x, y, z = np.random.default_rng(0).normal(size=(3, 1000, 1))
    return x, y, z, np.stack([x] * 32)


def _ksg_surrogates() -> None:
    from enmesh import KSG

    _, y, z, batch = _blocks()
    KSG().prepare(y, z).cmi(batch)


def _ksg() -> None:
    from enmesh import KSG

    x, y, z, _ = _blocks()
    KSG(theiler=1).prepare(y, z).cmi(x)


def _kernel() -> None:
    from enmesh import Kernel

    _, y, z, batch = _blocks()
    Kernel().prepare(y, z).cmi(batch)


def _local_permutation() -> None:
    from enmesh import Gaussian, LocalPermute, Series, significance

    x, y, _, _ = _blocks()
    pair = Series([*zip(x[:, 0], y[:, 0])])
    significance(pair, 0, 1, estimator=Gaussian(), surrogate=LocalPermute(), n_surrogates=1)


def _systems() -> None:
    from enmesh import simulate

    graph = {"b": ["a"]}
    simulate.var(graph, n=50)
    simulate.coupled_flow(graph, n=50, system="lorenz")
    simulate.coupled_map(graph, n=50)
    simulate.coupled_map(graph, n=50, map="henon", coupling=0.05)


def _events() -> None:
    from enmesh import significance, simulate

    significance(simulate.coupled_events("a>b", duration=100), "a", "b", n_surrogates=1)


# The longest first, so that two processes are done at about the same time.
KERNELS: dict[str, Callable[[], object]] = {
    "KSG with surrogates": _ksg_surrogates,
    "one KSG estimate": _ksg,
    "box kernel with surrogates": _kernel,
    "events with surrogates": _events,
    "simulated systems": _systems,
    "local permutation": _local_permutation,
}
