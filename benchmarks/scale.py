"""What a large job costs, and what workers and screening save.

python benchmarks/scale.py cost        seconds per family and per edge test, by samples
python benchmarks/scale.py overhead    what the evaluator adds to a family of Gaussian TEA
python benchmarks/scale.py workers     KSG TEE with one worker, two threads and two processes, in turns
python benchmarks/scale.py large       100 nodes, 1,000 samples, Gaussian TEA from data to network
python benchmarks/scale.py screening   true edges lost by screening, 10 seeds, Gaussian; --ksg for KSG
"""

import argparse
import resource
import statistics
import tempfile
import time
from collections import Counter
from itertools import combinations
from pathlib import Path

import joblib
from joblib.externals.loky import get_reusable_executor

import enmesh as em
from enmesh.inference.evaluate import Evaluator
from enmesh.inference.screen import screen
from enmesh.inference.work import single_thread
from enmesh.measures import Transfers
from enmesh.scores import Link
from enmesh.tasks import run

GAUSSIAN = em.TEA(embedding=em.Embedding())
# 100 nodes have 9,900 pairs: at alpha = .99 about a hundred of them would be kept by chance.
STRICT = em.TEA(embedding=em.Embedding(), alpha=0.9999)


def sparse_var(n_nodes, n, seed, coupling=0.4):
    """Each node has up to 3 drivers, about one on average."""
    graph = em.simulate.random_dag(n_nodes, density=2 / n_nodes, max_parents=3, seed=seed)
    return em.simulate.var(graph, n=n, coupling=coupling, seed=seed)


def drivers(series):
    return {(series.index(p), series.index(t)) for t, parents in series.truth.items() for p in parents}


def families(n_nodes, most):
    return [
        (i, parents)
        for i in range(n_nodes)
        for size in range(most + 1)
        for parents in combinations([j for j in range(n_nodes) if j != i], size)
    ]


def seconds(work) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def megabytes() -> tuple[float, float]:
    """Peak memory of this process and of the largest worker."""
    return tuple(resource.getrusage(who).ru_maxrss / 1e3 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def cost():
    print("seconds on one core; KSG with 199 surrogates, kappa 1, `given` other parents\n")
    print(f"{'N':>7} {'Gaussian TEA family':>20} {'KSG test, given 0':>18} {'given 1':>8} {'given 2':>8}")
    for n in (300, 1000, 3000, 10_000):
        series = sparse_var(4, n, 0)
        linear = GAUSSIAN.bind(series)
        tee = em.TEE(estimator=em.KSG(), embedding=em.Embedding()).bind(series)
        with single_thread():
            linear.family_score(0, (1, 2))
            run(tee.test(Link(0, 3, ())))
            family = min(seconds(lambda scorer=linear: scorer.family_score(0, (1, 2))) for _ in range(20))
            tests = [
                min(seconds(lambda given=given, scorer=tee: run(scorer.test(Link(2, 3, given)))) for _ in range(3))
                for given in ((), (0,), (0, 1))
            ]
        print(f"{n:>7} {family:>20.6f} {tests[0]:>18.3f} {tests[1]:>8.3f} {tests[2]:>8.3f}", flush=True)


def overhead():
    series = sparse_var(20, 1000, 0)
    asked = families(20, 2)
    scorer = GAUSSIAN.bind(series)
    with single_thread():
        plain = min(seconds(lambda: [scorer.family_score(*family) for family in asked]) for _ in range(3))
    print(f"{len(asked)} families of Gaussian TEA: {plain / len(asked) * 1e6:.0f} us each by the scorer alone")
    for label, stored in (("evaluator", False), ("with a store", True)):
        times = []
        for _ in range(3):
            with tempfile.TemporaryDirectory() as folder:
                store = Path(folder) / "run.db" if stored else None
                with Evaluator(GAUSSIAN, series, store=store) as evaluate:
                    times.append(seconds(lambda evaluate=evaluate: evaluate(asked)))
        print(f"{label}: {(min(times) - plain) / len(asked) * 1e6:+.0f} us per family")


def workers(rounds=2):
    """Take turns, so that other work on the machine meets all alike.

    Where others compete for the cores, the ratio of wall times says little; seconds of CPU do not depend on them, and
    twice the ratio of those is what two free cores could give at most.
    """
    series = em.simulate.coupled_map({"a": [], "b": ["a"], "c": ["b"], "d": ["c"], "e": []}, n=1500, seed=0)
    score = em.TEE(estimator=em.KSG(), embedding=em.Embedding(dim=2), alpha=0.99, n_surrogates=399)
    asked = families(5, 3)
    arrangements = {
        "1 worker": {"n_jobs": 1},
        "2 threads": {"backend": "threading", "n_jobs": 2},
        "2 processes": {"backend": "loky", "n_jobs": 2},
    }
    wall, cpu = ({label: [] for label in arrangements} for _ in range(2))
    with Evaluator(score, series) as evaluate:
        evaluate(asked[:8])  # compile
    for number in range(rounds):
        found = set()
        for label, options in arrangements.items():
            began, spent = time.perf_counter(), cpu_seconds()
            with joblib.parallel_config(**options), Evaluator(score, series) as evaluate:
                found.add(evaluate(asked).tobytes())
            wall[label].append(time.perf_counter() - began)
            get_reusable_executor().shutdown(wait=True)  # their seconds count once they are gone
            cpu[label].append(cpu_seconds() - spent)
        now = {label: f"{wall[label][-1]:.1f} s, cpu {cpu[label][-1]:.1f} s" for label in arrangements}
        print(number, now, "same bits:", len(found) == 1, flush=True)
    for label in list(arrangements)[1:]:
        faster = statistics.median(one / two for one, two in zip(wall["1 worker"], wall[label]))
        at_most = 2 * statistics.median(one / two for one, two in zip(cpu["1 worker"], cpu[label]))
        print(f"{label}: {faster:.2f} times as fast as 1 worker; by seconds of CPU at most {at_most:.2f}")


def cpu_seconds() -> float:
    """Seconds of CPU of this process and of all workers that are gone."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def large(n_jobs):
    series = sparse_var(100, 1000, 0)
    began = time.perf_counter()
    network = em.infer(series, score=STRICT, n_jobs=n_jobs, max_parents=3)
    took = time.perf_counter() - began
    found = {(series.index(p), series.index(t)) for t, parents in network.parents.items() for p in parents}
    true = drivers(series)
    f1 = 2 * len(found & true) / (len(found) + len(true))
    here, worker = megabytes()
    print(f"{took:.0f} s, {network.evaluated:,} families, optimal: {network.optimal}, F1 {f1:.3f}")
    print(f"peak memory {here:.0f} MB here, {worker:.0f} MB in the largest worker")
    print(network.options["screening"])


def strengths(n_nodes, seed, coupling):
    """Transfer entropy of every true edge, alone or given the other parents, whichever is less; of a long series."""
    series = sparse_var(n_nodes, 100_000, seed, coupling)
    ask = Transfers(series, em.Gaussian(), em.Embedding())
    parents = {i: [j for j, k in drivers(series) if k == i] for _, i in drivers(series)}
    return {
        (j, i): min(ask.value((j,), i), ask.value((j,), i, [k for k in some if k != j]))
        for i, some in parents.items()
        for j in some
    }


def screening(ksg, n_jobs, coupling, seeds=10):
    n_nodes, n = (20, 500) if ksg else (100, 1000)
    score = em.TEE(estimator=em.KSG(), embedding=em.Embedding()) if ksg else GAUSSIAN
    counts = Counter()
    for seed in range(seeds):
        series = sparse_var(n_nodes, n, seed, coupling)
        began = time.perf_counter()
        with Evaluator(score, series, n_jobs=n_jobs) as evaluate:
            candidates, report = screen(evaluate)
        seconds_taken = time.perf_counter() - began
        gone = []
        for (j, i), strength in strengths(n_nodes, seed, coupling).items():
            kind = "detectable" if strength >= report["detectable"] else "weaker"
            counts[kind] += 1
            if j not in candidates[i]:
                counts[kind, "lost"] += 1
                gone.append(round(strength, 4))
        kept = sum(map(len, candidates)) / n_nodes
        print(
            f"seed {seed}: true edges lost, by transfer entropy: {gone}, {kept:.1f} candidates per node, "
            f"{report['tests']} tests at level {report['level']:.3g}, detectable {report['detectable']:.4f} nats, "
            f"{seconds_taken:.0f} s",
            flush=True,
        )
    for kind in ("detectable", "weaker"):
        print(f"{kind}: lost {counts[kind, 'lost']} of {counts[kind]} true edges")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["cost", "overhead", "workers", "large", "screening"])
    parser.add_argument("--ksg", action="store_true")
    parser.add_argument("--coupling", type=float, default=0.4)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    if given.what == "large":
        large(given.jobs)
    elif given.what == "screening":
        screening(given.ksg, given.jobs, given.coupling)
    else:
        {"cost": cost, "overhead": overhead, "workers": workers}[given.what]()


if __name__ == "__main__":
    main()
