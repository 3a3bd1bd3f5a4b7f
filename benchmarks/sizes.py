"""How the defaults of `infer` do as networks and records grow: links, lags, false links and cost.

    python benchmarks/sizes.py [--only NAME ...] [--seeds N] [--first-seed N] [--jobs N] [--limit SECONDS]
    python benchmarks/sizes.py --known-parents --only "Novelli var" ...     what a linear test could find at most

Every case runs in a process of its own, on one core, with cycles allowed. The networks of Novelli et al. (Network
Neuroscience 3, 827, 2019) are made from their settings: random graph of in-degree 3, own weight .5, incoming weights
that share .4, one delay of 1 to 5 for each link, noise .1; maps are 4 u (1 - u) of that sum, modulo 1.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import enmesh as em

Links = dict[tuple[int, int], int | None]


def random_var(nodes: int, n: int, links: int, lag: int, seed: int) -> tuple[em.Series, Links, dict]:
    """Random VAR: weights .3 of either sign, own weight .3, one lag for each link."""
    rng = np.random.default_rng(seed)
    truth: Links = {}
    while len(truth) < links:
        i, j = map(int, rng.integers(0, nodes, 2))
        if i != j:
            truth[i, j] = int(rng.integers(1, lag + 1))
    weights = np.zeros((lag, nodes, nodes))
    for (i, j), at in truth.items():
        weights[at - 1, j, i] = 0.3 * rng.choice([-1, 1])
    x = rng.normal(size=(n + 200, nodes))
    for t in range(lag, len(x)):
        x[t] += 0.3 * x[t - 1] + sum(weights[m] @ x[t - 1 - m] for m in range(lag))
    return em.Series(x[200:]), truth, {"max_lag": lag}


def novelli(kind: str, nodes: int, n: int, seed: int) -> tuple[em.Series, Links, dict]:
    """A network of Novelli et al. 2019: ``"var"`` or ``"map"``."""
    rng = np.random.default_rng(seed)
    linked = (rng.random((nodes, nodes)) < 3 / (nodes - 1)) & ~np.eye(nodes, dtype=bool)
    lags = np.where(linked, rng.integers(1, 6, (nodes, nodes)), 0)
    share = linked * (0.4 / np.maximum(linked.sum(0), 1))
    weights = np.stack([(share * (lags == m)).T for m in range(1, 6)])
    weights[0] += 0.5 * np.eye(nodes)
    x = np.empty((n + 2000, nodes))
    x[:5] = rng.random(nodes)
    noise = 0.1 * rng.normal(size=x.shape)
    for t in range(5, len(x)):
        u = sum(weights[m] @ x[t - 1 - m] for m in range(5))
        x[t] = (4 * u * (1 - u) + noise[t]) % 1 if kind == "map" else u + noise[t]
    return em.Series(x[2000:]), {(int(i), int(j)): int(lags[i, j]) for i, j in np.argwhere(linked)}, {}


def noisy_maps(nodes: int, n: int, seed: int) -> tuple[em.Series, Links, dict]:
    """Logistic maps with dynamical noise .05 on a random graph with up to two parents."""
    series = em.simulate.coupled_map(
        em.simulate.random_dag(nodes, max_parents=2, seed=seed), n=n, noise=0.05, seed=seed
    )
    place = {name: i for i, name in enumerate(series.names)}
    return series, {(place[s], place[t]): 1 for t, some in series.truth.items() for s in some}, {}


def lorenz96(
    forcing: float, n: int, seed: int, nodes: int = 10, step: float = 0.05, noise: float = 0.1
) -> tuple[em.Series, Links, dict]:
    """Ring of Lorenz (1996), by default sampled and with measurement noise as by Khanna and Tan (2020)."""
    rng = np.random.default_rng(seed)
    after, before, second = (np.roll(np.arange(nodes), by) for by in (-1, 1, 2))

    def slope(x: np.ndarray) -> np.ndarray:
        return (x[after] - x[second]) * x[before] - x + forcing

    x, found, h = forcing + rng.normal(size=nodes), [], 0.005
    for _ in range(500 + n):
        for _ in range(round(step / h)):
            a = slope(x)
            b = slope(x + h / 2 * a)
            c = slope(x + h / 2 * b)
            x = x + h / 6 * (a + 2 * b + 2 * c + slope(x + h * c))
        found.append(x)
    truth: Links = {((i + d) % nodes, i): None for i in range(nodes) for d in (1, -1, -2)}
    return em.Series(np.array(found[500:]) + noise * rng.normal(size=(n, nodes))), truth, {}


def unseen(kind: str, nodes: int, n: int, seed: int) -> tuple[em.Series, Links, dict]:
    """Nodes with linear memory that drive each other by ``"sines"``, or the noise of each other (``"variances"``)."""
    rng = np.random.default_rng(seed)
    linked = (rng.random((nodes, nodes)) < 1.5 / (nodes - 1)) & ~np.eye(nodes, dtype=bool)  # source, target
    x = rng.normal(size=(n + 300, nodes))
    for t in range(1, len(x)):
        if kind == "sines":
            x[t] = 0.4 * x[t - 1] + 0.7 * np.sin(3 * x[t - 1]) @ linked + 0.5 * x[t]
        else:
            x[t] = 0.3 * x[t - 1] + np.exp(0.4 * np.clip(x[t - 1] @ linked, -2, 2)) * x[t]
    return em.Series(x[300:]), {(int(i), int(j)): 1 for i, j in np.argwhere(linked)}, {}


def factors(seed: int, nodes: int = 25, n: int = 4000) -> tuple[em.Series, Links, dict]:
    """VAR(1) with 20 links whose noise has three common factors: correlations around .6."""
    rng = np.random.default_rng(seed)
    weights, truth = 0.3 * np.eye(nodes), {}
    while len(truth) < 20:
        i, j = map(int, rng.integers(0, nodes, 2))
        if i != j:
            truth[i, j], weights[j, i] = 1, 0.2
    noise = 0.9 * rng.normal(size=(n, 3)) @ rng.normal(size=(3, nodes)) + rng.normal(size=(n, nodes))
    x = np.zeros((n, nodes))
    for t in range(1, n):
        x[t] = weights @ x[t - 1] + noise[t]
    return em.Series(x), truth, {}


def measured(made: tuple[em.Series, Links, dict], noise: float, seed: int) -> tuple[em.Series, Links, dict]:
    """Add measurement noise of so many standard deviations."""
    series, truth, options = made
    x = series.values
    return em.Series(x + noise * x.std(axis=0) * np.random.default_rng([seed, 1]).normal(size=x.shape)), truth, options


CASES = {
    "VAR, 40 nodes, 60 links, lags to 10": lambda s: random_var(40, 1000, 60, 10, s),
    "VAR, 100 nodes, 80 links, lags to 5": lambda s: random_var(100, 1000, 80, 5, s),
    "VAR, 300 nodes, 240 links, lags to 5": lambda s: random_var(300, 1000, 240, 5, s),
    "VAR, 100 nodes, 80 links, lags to 20": lambda s: random_var(100, 1000, 80, 20, s),
    "VAR, 1000 nodes, 800 links, lags to 3": lambda s: random_var(1000, 1000, 800, 3, s),
    **{
        f"Novelli {kind}, {nodes} nodes, T = {n}": lambda s, k=kind, m=nodes, n=n: novelli(k, m, n, s)
        for kind in ("var", "map")
        for nodes, n in ((10, 1000), (10, 2000), (10, 4000), (10, 10000), (40, 1000), (100, 1000), (100, 10000))
    },
    **{
        f"noisy maps, {nodes} nodes, N = {n}": lambda s, m=nodes, n=n: noisy_maps(m, n, s)
        for nodes, n in ((10, 1000), (10, 5000), (10, 20000), (50, 2000), (100, 5000))
    },
    "Lorenz-96, F = 10, N = 1000": lambda s: lorenz96(10, 1000, s),
    "Lorenz-96, F = 40, N = 1000": lambda s: lorenz96(40, 1000, s),
    "Lorenz-96, F = 10, N = 1000, every .1, no noise": lambda s: lorenz96(10, 1000, s, step=0.1, noise=0.0),
    "Lorenz-96, F = 10, N = 8000": lambda s: lorenz96(10, 8000, s),
    "Lorenz-96, F = 40, N = 4000": lambda s: lorenz96(40, 4000, s),
    "Novelli var, 10 nodes, T = 10000, noise .3": lambda s: measured(novelli("var", 10, 10000, s), 0.3, s),
    "Novelli map, 10 nodes, T = 10000, noise .3": lambda s: measured(novelli("map", 10, 10000, s), 0.3, s),
    "links by sines, 6 nodes, N = 1000": lambda s: unseen("sines", 6, 1000, s),
    "links by sines, 12 nodes, N = 1000": lambda s: unseen("sines", 12, 1000, s),
    "links to variances, 6 nodes, N = 2000": lambda s: unseen("variances", 6, 2000, s),
    "25 series, common factors, N = 4000": factors,
}


def recall_of_known_parents(name: str, seed: int) -> tuple[int, int]:
    """Return how many links an F test finds that is told all other parents and all lags, at the level of the defaults
    for five lags, and how many there are."""
    from scipy.stats import f

    series, truth, _ = CASES[name](seed)
    x, nodes, lags = series.values - series.values.mean(axis=0), series.n_nodes, 5
    level = min(0.01, 1 / (nodes * (nodes - 1))) / lags

    def left(y: np.ndarray, columns: list[np.ndarray]) -> float:
        known = np.column_stack([np.ones(len(y)), *columns])
        return float(((y - known @ np.linalg.lstsq(known, y, rcond=None)[0]) ** 2).sum())

    found = 0
    for target in range(nodes):
        y, own = x[lags:, target], x[lags - 1 : -1, target]
        parents = [x[lags - lag : -lag, i] for (i, j), lag in truth.items() if j == target]
        whole, rest = left(y, [own, *parents]), len(y) - 2 - len(parents)
        for k in range(len(parents)):
            gain = left(y, [own, *parents[:k], *parents[k + 1 :]]) / whole - 1
            found += f.sf(gain * rest, 1, rest) <= level
    return found, len(truth)


def judged(name: str, seed: int) -> dict:
    """Infer one case; return its counts, CPU seconds and memory."""
    series, truth, options = CASES[name](seed)
    warnings.simplefilter("ignore")
    began = time.process_time()
    network = em.infer(series, acyclic=False, **options)
    spent = time.process_time() - began
    place = {node: i for i, node in enumerate(series.names)}
    lags = {(place[c.source], place[c.target]): c.lag for c in network.candidates if c.selected}
    true = lags.keys() & truth.keys()
    return {
        "counts": (len(true), len(lags) - len(true), len(truth) - len(true)),
        "lags": (sum(lags[pair] == truth[pair] for pair in true), sum(truth[pair] is not None for pair in true)),
        "seconds": spent,
        "gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def in_a_process(name: str, seed: int, limit: float) -> dict | None:
    """Judge one case on one core; None if it takes longer than the limit."""
    env = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        told = subprocess.run(
            [sys.executable, __file__, "--case", name, str(seed)],
            env=env, capture_output=True, text=True, timeout=limit, check=True,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None
    return json.loads(told.stdout.splitlines()[-1])


def row(name: str, found: list[dict | None]) -> str:
    """Return a line of the table."""
    done = [one for one in found if one is not None]
    if not done:
        return f"| {name} | {len(found)} | not within the limit | | | | |"
    true, false, missed = np.sum([one["counts"] for one in done], axis=0)
    right, timed = np.sum([one["lags"] for one in done], axis=0)
    precision, recall = true / max(1, true + false), true / max(1, true + missed)
    lags = f"{right} of {timed}" if timed else ""
    cost = f"{np.mean([one['seconds'] for one in done]):.1f}"
    unfinished = f" ({len(found) - len(done)} over the limit)" * (len(done) < len(found))
    counts = f"{true} / {false} / {missed}"
    memory = max(one["gib"] for one in done)
    found_share = f"{precision:.3f} | {recall:.3f}"
    return f"| {name} | {len(done)}{unfinished} | {found_share} | {counts} | {lags} | {cost} | {memory:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="*", default=[""], help="names, or beginnings of names")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=1000)
    parser.add_argument("--known-parents", action="store_true", help="of linear networks of one lag for each link")
    parser.add_argument("--case", nargs=2)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(judged(options.case[0], int(options.case[1])), default=int))
        return
    asked = options.only
    names = [name for name in CASES if any(name == one or (one not in CASES and name.startswith(one)) for one in asked)]
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    if options.known_parents:
        for name in names:
            found, there = np.sum([recall_of_known_parents(name, seed) for seed in seeds], axis=0)
            print(f"{name}: {found} of {there} links, {found / there:.3f}", flush=True)
        return
    print("| network | files | precision | recall | true / false / missed | right lags | CPU s a file | GiB |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        judging = {name: [pool.submit(in_a_process, name, seed, options.limit) for seed in seeds] for name in names}
        for name, futures in judging.items():
            print(row(name, [future.result() for future in futures]), flush=True)


if __name__ == "__main__":
    main()
