"""Where a whole inference spends its time: five coupled maps, KSG TEE, 199 surrogates, exact search.

    python benchmarks/profile_infer.py [--samples 1000] [--max-lag 5]
    python benchmarks/profile_infer.py --runs       CPU seconds, tests and fingerprint of several whole runs

With --max-lag the lags of own pasts and sources are found too, and tested as they were found. A fingerprint is that of
the parents and of the scores to the last bit.
"""

import argparse
import cProfile
import hashlib
import pstats
import time
import warnings
from pathlib import Path

import numpy as np

import enmesh as em
from enmesh.inference.evaluate import Evaluator

GRAPH = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"], "e": ["d"]}


def maps(samples=1000):
    return em.simulate.coupled_map(GRAPH, n=samples, coupling=0.3, noise=0.001, seed=0)


def twenty_maps():
    graph = {f"n{i}": [] for i in range(20)}
    for i in range(1, 20):
        graph[f"n{i}"] = [f"n{j}" for j in sorted({7 * i % i, (3 * i + 1) % i})]
    return em.simulate.coupled_map(graph, n=500, coupling=0.3, noise=0.001, seed=0)


def lorenz96(nodes=10, samples=1000, forcing=10.0, step=0.025):
    """Return a ring of nodes, two steps of Runge-Kutta a sample."""

    def change(x):
        return (np.roll(x, -1) - np.roll(x, 2)) * np.roll(x, 1) - x + forcing

    x, values = np.random.default_rng(0).normal(size=nodes), []
    for t in range(2 * (samples + 200)):
        k1 = change(x)
        k2 = change(x + step / 2 * k1)
        k3 = change(x + step / 2 * k2)
        k4 = change(x + step * k3)
        x = x + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        if t % 2:
            values.append(x)
    return em.Series(np.array(values[200:]))


def var(nodes, samples):
    graph = {f"n{i}": [f"n{j}" for j in range(max(0, i - 2), i)] for i in range(nodes)}
    return em.simulate.var(graph, n=samples, seed=0)


def neighbours():
    return {"score": em.TEE(estimator=em.KSG(), embedding=em.Embedding())}


RUNS = {
    "five maps, N = 1,000, KSG TEE at lag 1": (maps, neighbours),
    "Lorenz-96, 10 nodes, N = 1,000, KSG TEE at lag 1, feedback": (lorenz96, lambda: neighbours() | {"acyclic": False}),
    "20 maps, N = 500, KSG TEE at lag 1": (twenty_maps, neighbours),
    "five maps, N = 1,000, all defaults": (maps, dict),
    "VAR, 12 nodes, N = 800, all defaults": (lambda: var(12, 800), dict),
    "VAR, 100 nodes, N = 1,000, all defaults": (lambda: var(100, 1000), dict),
}


def fingerprint(network):
    scores = [(name, network.parents[name], float(network.local[name]).hex()) for name in network.names]
    return hashlib.sha256(repr(scores).encode()).hexdigest()[:8]


def print_runs():
    asked = []
    compute = Evaluator._compute

    def counted(self, questions):
        asked.append(sum(question.kind == "test" for question in questions))
        compute(self, questions)

    Evaluator._compute = counted
    print("| run | CPU s | tests | families scored | links | fingerprint |\n|---|---|---|---|---|---|")
    for name, (series, options) in RUNS.items():
        data, given = series(), options()
        asked.clear()
        began = time.process_time()
        network = em.infer(data, **given)
        seconds = time.process_time() - began
        counts = f"{sum(asked)} | {network.evaluated} | {len(network)}"
        print(f"| {name} | {seconds:.1f} | {counts} | {fingerprint(network)} |", flush=True)


def infer(samples, max_lag):
    if max_lag is not None:
        return em.infer(maps(samples), estimator="ksg", max_lag=max_lag)
    return em.infer(maps(samples), score=em.TEE(estimator=em.KSG()), search=em.Exact())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--max-lag", type=int)
    parser.add_argument("--runs", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore", em.HazardWarning)
    infer(200, options.max_lag)  # loads compiled code
    if options.runs:
        print_runs()
        return
    profile = cProfile.Profile()
    start = time.process_time()
    network = profile.runcall(infer, options.samples, options.max_lag)
    seconds = time.process_time() - start
    print(f"{seconds:.1f} s of CPU for {network.evaluated} families and {len(network.candidates)} edge tests\n")
    print("| seconds | share | calls | function |\n|---|---|---|---|")
    stats = pstats.Stats(profile).stats
    for (file, line, name), (_, calls, own, _, _) in sorted(stats.items(), key=lambda item: -item[1][2])[:12]:
        where = f"{Path(file).name}:{line} {name}" if line else name
        print(f"| {own:.2f} | {own / seconds:.0%} | {calls} | {where} |")


if __name__ == "__main__":
    main()
