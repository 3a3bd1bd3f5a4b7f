"""The false discovery rate of the q-values of `infer`: how many of the links with q up to .05 are false.

    python benchmarks/discoveries.py [--nodes 10 30] [--repetitions 200] [--first-seed N] [--jobs N]

Networks of which half of the targets follow their sources linearly and half by squares and products, with lags 1 to 3,
own memory and normal noise; 600 samples; cycles allowed. The rate is the mean over networks of the share of false links
among those with q up to .05 (0 where there are none).
"""

import argparse
import warnings

import numpy as np
from joblib import Parallel, delayed

import enmesh as em


def network(nodes: int, seed: int, n: int = 600) -> tuple[em.Series, set[tuple[str, str]]]:
    """Return a series and its links."""
    rng = np.random.default_rng([nodes, seed])
    links = {}
    for target in range(nodes):
        for source in rng.choice(nodes, int(rng.integers(0, 3)), replace=False):
            if source != target:
                links[int(source), target] = int(rng.integers(1, 4)), float(rng.uniform(0.2, 0.5))
    x = rng.normal(size=(n + 100, nodes))
    for t in range(3, len(x)):
        x[t] += 0.4 * x[t - 1]
        for (source, target), (lag, weight) in links.items():
            past = np.clip(x[t - lag, source], -4, 4)
            x[t, target] += weight * (past if target % 2 else 0.6 * (past**2 - 1))
    series = em.Series(x[100:])
    return series, {(series.names[i], series.names[j]) for i, j in links}


def one(nodes: int, seed: int) -> tuple[int, int, int]:
    """Return true and false discoveries, and the number of links."""
    warnings.simplefilter("ignore")
    series, truth = network(nodes, seed)
    found = em.infer(series, acyclic=False).edges
    sure = {(s, t) for s, t, q in found[["source", "target", "q_value"]].itertuples(index=False) if q <= 0.05}
    return len(sure & truth), len(sure - truth), len(truth)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nodes", type=int, nargs="*", default=[10, 30])
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    print("| nodes | networks | links found | false discovery rate | SE |\n|---|---|---|---|---|", flush=True)
    for nodes in options.nodes:
        seeds = range(options.first_seed, options.first_seed + options.repetitions)
        counts = np.array(Parallel(options.jobs)(delayed(one)(nodes, seed) for seed in seeds))
        shares = counts[:, 1] / np.maximum(1, counts[:, 0] + counts[:, 1])
        found = f"{counts[:, 0].sum()} of {counts[:, 2].sum()}"
        error = shares.std(ddof=1) / len(shares) ** 0.5
        print(f"| {nodes} | {len(shares)} | {found} | {shares.mean():.4f} | {error:.4f} |", flush=True)


if __name__ == "__main__":
    main()
