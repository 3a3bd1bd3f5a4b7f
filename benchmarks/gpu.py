"""GPU benchmark: KSG surrogates and single estimates, against the floor, the CPU index and JIDT.

    python benchmarks/gpu.py            every case of GPU.md, checked and timed
    python benchmarks/gpu.py --quick    leave out the CPU index

Every case is checked before it is timed: estimates in single precision against double, and counts in double against
the CPU. The floor is the larger of two times. Operations: each question and point must be compared in x with the
points in its (y, z) cube, to find the k-th neighbour, and with those in its z cube, to count n_xz, whatever the index;
one comparison is a subtraction and a maximum per column of x. Bytes: x, y and z once.
"""

import argparse
import time
from dataclasses import dataclass

import cupy
import numpy as np

import enmesh as em
from enmesh.neighbours import engine
from enmesh.neighbours.cuda import Resampled
from enmesh.surrogates import CircularShift, Permute

K = 4
LANES_PER_SM = 128
BANDWIDTH = 4.3e12
"""Bytes per second that a device-to-device copy reads and writes on an H200."""

JIDT_MS = {1: 330, 3: 770, 6: 1640}
"""JIDT, one surrogate of N = 10,000 on a CPU, by columns of the source."""


@dataclass(frozen=True)
class Case:
    name: str
    n: int
    dx: int
    surrogates: int
    target_ms: float
    draw: object = CircularShift()


CASES = [
    Case("200 surrogates, N = 10,000, dim 5", 10_000, 1, 200, 10),
    Case("200 surrogates, N = 10,000, dim 7", 10_000, 3, 200, 12),
    Case("200 surrogates, N = 10,000, dim 10", 10_000, 6, 200, 20),
    Case("200 permutations, N = 10,000, dim 7", 10_000, 3, 200, 12, Permute()),
    Case("200 surrogates, N = 1,000, dim 7", 1_000, 3, 200, 2),
    Case("1 estimate, N = 100,000, dim 7", 100_000, 3, 0, 8),
    Case("1 estimate, N = 1,000,000, dim 7", 1_000_000, 3, 0, 1000),
]


def normal_blocks(case, seed=1):
    """x, y and z of independent normal values: nothing clusters, so pruning has no luck."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(case.n, case.dx)), rng.normal(size=(case.n, 1)), rng.normal(size=(case.n, 3))


def plan(case, x, z):
    return case.draw.plan(x, z, starts=np.array([0, case.n]), span=3) if case.surrogates else None


def ask(prepared, case, x, draw):
    """Everything a user waits for once (y, z) is prepared: x goes in, values come out."""
    return prepared.surrogates(x, draw, 7).ask(0, case.surrogates)() if case.surrogates else prepared.cmi(x)


def median_ms(function, repeats):
    times = []
    for _ in range(repeats + 1):
        begin = time.perf_counter()
        function()
        cupy.cuda.runtime.deviceSynchronize()
        times.append(1e3 * (time.perf_counter() - begin))
    return float(np.median(times[1:]))


def kernel_ms(prepared, case, x, draw, repeats):
    """Time of the counting kernel alone, by device events."""
    neighbours = prepared._neighbours
    questions = Resampled(x, draw, 7).some(0, case.surrogates) if case.surrogates else x[None]
    (part,) = neighbours._batches(questions)
    tables = tuple(cupy.zeros(case.n + 1, np.int64) for _ in range(2))
    sums, times = cupy.zeros(len(part), np.int64), []
    laid = neighbours._lay(part, 32 if len(part) >= 8 else 1)
    neighbours._lay = lambda *_: laid
    for _ in range(repeats + 1):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        neighbours._launch(part, None, tables, sums, mode=1, k=K)
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(begin, end))
    del neighbours._lay
    return float(np.median(times[1:]))


def floor_ms(case, x, y, z, draw):
    """(operations, bytes) floors, from the mean counts of two questions."""
    question = x[draw(7, 0, 2)] if draw else x[None]
    _, n_yz, n_z = engine("cuda", "single")(y, z).ksg(question, K)
    questions = max(1, case.surrogates)
    device = cupy.cuda.Device().attributes
    rate = device["MultiProcessorCount"] * LANES_PER_SM * device["ClockRate"] * 1e3
    operations = questions * case.n * (n_yz.mean() + n_z.mean()) * 2 * case.dx
    moved = 4.0 * case.n * (questions * case.dx + 4)
    return 1e3 * operations / rate, 1e3 * moved / BANDWIDTH


def cpu_ms(case, x, y, z, draw):
    """The CPU index on one core, per question."""
    questions = x[draw(7, 0, 16)] if draw else x[None]
    index = engine("cpu")(y, z)
    engine("cpu")(y[:500], z[:500]).ksg(questions[:, :500], K)  # compiles
    begin = time.perf_counter()
    index.ksg(questions, K)
    return 1e3 * (time.perf_counter() - begin) / len(questions)


def check(case, x, y, z, draw, quick):
    """Largest difference of single from double; counts in double equal the CPU's."""
    values = [
        ask(em.KSG(device="cuda", precision=precision).prepare(y, z), case, x, draw)
        for precision in ("single", "double")
    ]
    if case.n <= 10_000 and not quick:
        questions = x[draw(7, 0, 10)]
        want, got = (engine(device)(y, z).ksg(questions, K) for device in ("cpu", "cuda"))
        np.testing.assert_array_equal(got, want)
    return float(np.abs(np.subtract(*values)).max())


def run(case, quick):
    x, y, z = normal_blocks(case)
    draw = plan(case, x, z)
    repeats = 5 if case.n == 1_000_000 else 20
    error = check(case, x, y, z, draw, quick)
    estimator = em.KSG(device="cuda")
    prepared = estimator.prepare(y, z)
    times = {
        "prepare": median_ms(lambda: estimator.prepare(y, z), repeats),
        "ask": median_ms(lambda: ask(prepared, case, x, draw), repeats),
        "kernel": kernel_ms(prepared, case, x, draw, repeats),
        "both": median_ms(lambda: ask(estimator.prepare(y, z), case, x, draw), repeats),
    }
    operations, moved = floor_ms(case, x, y, z, draw)
    questions = max(1, case.surrogates)
    pairs = questions * case.n**2 / (1e-3 * times["ask"])
    cpu = None if quick or case.n == 1_000_000 else questions * cpu_ms(case, x, y, z, draw)
    jidt = JIDT_MS[case.dx] * questions if case.n == 10_000 else None
    ratios = [f"{slow / times['ask']:9.0f}x" if slow else f"{'-':>10}" for slow in (cpu, jidt)]
    print(
        f"{case.name:36} {case.target_ms:7g} {times['both']:8.2f} {times['prepare']:8.2f} {times['ask']:8.2f} "
        f"{times['kernel']:8.2f} {operations:8.3f} {moved:8.3f} {times['kernel'] / max(operations, moved):6.1f}x "
        f"{pairs:9.2e} {ratios[0]} {ratios[1]} {error:9.1e}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    device = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    print(f"{device['name'].decode()}, {device['multiProcessorCount']} SM, CuPy {cupy.__version__}; times in ms")
    print(
        f"{'case':36} {'target':>7} {'all':>8} {'prepare':>8} {'ask':>8} {'kernel':>8} {'ops':>8} {'bytes':>8} "
        f"{'floor':>7} {'pairs/s':>9} {'CPU index':>10} {'JIDT':>10} {'error':>9}"
    )
    for case in CASES:
        run(case, quick)


if __name__ == "__main__":
    main()
